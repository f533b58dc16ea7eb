//! Draws buffers and picks; knows no deformer.

mod camera;
mod clip;
pub mod encode;
mod font;
mod grid;
mod ground;
mod heat;
mod image;
mod legend;
mod occlusion;
mod overlay;
mod pick;
mod raster;
mod scene;
mod setup;
mod shade;
mod shadow;
mod sheet;
mod srgb;
mod surface;
mod texture;
mod visibility;

pub use camera::{Camera, CameraError, Framing, FramingLens, Lens, Projected, Projector, View};
pub use font::{draw_text, draw_text_centered, text_width};
pub use heat::{Palette, Scale};
pub use image::{Image, MAX_SIDE, Size};
pub use legend::draw_legend;
pub use overlay::{Dot, Line, LinePoint, SkeletonStyle, skeleton};
pub use pick::{Buffers, Hit};
pub use scene::{Finish, Ghost, Material, Mesh, Scene, Wire};
pub use shade::{Background, Ground, Look};
pub use sheet::{Sheet, SheetError};
pub use srgb::{byte_from_linear, linear_from_byte, linear_rgb};
pub use texture::{Texture, TextureError, Wrap};
pub use visibility::{Antialias, Visibility};

/// A picture of a scene.
pub fn draw(scene: &Scene<'_>, camera: &Camera, size: Size, antialias: Antialias, look: &Look) -> Image {
    Visibility::new(scene, camera, size, antialias).shade(look)
}
