//! A character as renderers want it: what is drawn of it, what that wears, its bones as lines, its parts in colours.
//!
//! Where `sinew` and `sinew_gltf`, which draw nothing, meet `sinew_render`, which knows no characters.

mod anatomy_colors;
mod bones;
mod pieces;
mod wardrobe;

pub use anatomy_colors::AnatomyColors;
pub use bones::Bones;
pub use pieces::Piece;
pub use wardrobe::{Garment, Wardrobe};
