//! Where the numbers of each kind of term stand, for whoever reads terms as bytes: a shader's structs must say the same.

use super::{SquashTerm, SwingTerm, Throw};
use std::mem::offset_of;

/// Kinds of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A shove and a turn.
    Swing,
    /// Both parts of a squash.
    Squash,
    /// Outward from an axis.
    Throw,
}

/// A kind of term as words of four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermLayout {
    /// How many.
    pub words: usize,
    /// Names of numbers and vectors, and the words they begin at; a vector is three.
    pub fields: &'static [(&'static str, usize)],
}

macro_rules! layout {
    ($term:ident: $($($field:ident).+),+ $(,)?) => {
        TermLayout {
            words: size_of::<$term>() / 4,
            fields: &[$((stringify!($($field).+), offset_of!($term, $($field).+) / 4)),+],
        }
    };
}

impl TermKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Swing, Self::Squash, Self::Throw];

    /// Its numbers.
    pub const fn layout(self) -> TermLayout {
        match self {
            Self::Swing => layout! {
                SwingTerm:
                shove.unit, shove.length, shove.limit.max, shove.limit.soft, shove.share,
                turn.origin, turn.unit, turn.rate, turn.limit.max, turn.limit.soft, turn.share,
            },
            Self::Squash => layout! {
                SquashTerm:
                along.center, along.direction, along.per_gain,
                along.stretch.limit.max, along.stretch.limit.soft, along.stretch.ease,
                swung.origin, swung.center, swung.about_point, swung.x, swung.z, swung.spin, swung.k,
                swung.stretch.limit.max, swung.stretch.limit.soft, swung.stretch.ease,
            },
            Self::Throw => layout! { Throw: origin, omega, k, limit.max, limit.soft },
        }
    }
}
