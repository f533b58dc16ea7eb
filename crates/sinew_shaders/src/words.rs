//! Structs of words that both sides read: one list of names makes the Rust struct and the shader's text.

use std::fmt::Write;

/// Defines a struct of `u32` words, in this order, and tells the names to shaders.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u32),+
        }

        impl $name {
            /// Its words, by name.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),+];
            /// How many.
            pub const WORDS: usize = Self::FIELDS.len();
        }
    };
}
pub(crate) use words;

/// `const PREFIX_FIELD: u32 = …u;` for every word.
pub(crate) fn places<'a>(prefix: &str, fields: impl IntoIterator<Item = (&'a str, usize)>, words: usize) -> String {
    let mut text = String::new();
    for (field, word) in fields {
        // Names may be paths within a struct.
        let field = field.replace(' ', "").replace('.', "_").to_uppercase();
        let _ = writeln!(text, "const {prefix}_{field}: u32 = {word}u;");
    }
    let _ = writeln!(text, "const {prefix}_WORDS: u32 = {words}u;");
    text
}

/// A struct of words, as a uniform.
pub(crate) fn uniform(name: &str, fields: &[&str]) -> String {
    let mut text = format!("struct {name} {{\n");
    for field in fields {
        let _ = writeln!(text, "    {field}: u32,");
    }
    text.push_str("}\n");
    text
}
