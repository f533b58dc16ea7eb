//! Whether a program stands what once brought it down: each check says in words what is wrong, so that the same checks
//! show how an older program fails.

pub mod load;
pub mod write;
