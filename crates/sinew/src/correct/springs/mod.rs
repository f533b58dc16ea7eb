//! Springs between neighbours, attachments and bones: the balance that any skin is drawn to.
//!
//! | file | what it holds |
//! |---|---|
//! | `model` | the springs of a skin, their energy and forces in f64 |
//! | `carried` | where bones take the skin |
//! | `net` | the springs of a character, and its frames as they want them |
//! | `descent` | how they come to rest |
//! | `rows`, `kernels`, `row_energy` | the same energy in rows of f32: what frames are solved by |
//! | `skin` | the correction |
//! | `oracle` | for tests: the f64 springs brought to rest |
//! | `swing` | with history: how far the skin is from rest, over a clip or driven live |

mod carried;
mod descent;
mod kernels;
mod model;
mod net;
#[cfg(test)]
mod oracle;
mod row_energy;
mod rows;
mod skin;
mod swing;
#[cfg(test)]
mod tests;

pub(super) use skin::SPRINGS;
pub(crate) use swing::{Swing, SwingState, SwingWork, Swung};
