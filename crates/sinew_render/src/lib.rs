//! Draws buffers and picks; knows no deformer.
//!
//! A reference rasteriser on the CPU. Meshes are borrowed slices, a camera is given or framed automatically, and the
//! result is a picture, or what each pixel sees: depth, normal, position, triangle and barycentrics.
//!
//! ```
//! use glam::Vec3;
//! use sinew_render::*;
//!
//! let positions = [Vec3::new(-1.0, 0.0, 0.0), Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.5, 0.0)];
//! let scene = Scene { meshes: vec![Mesh::new(&positions, &[Vec3::Z; 3], &[[0, 1, 2]])], ..Scene::default() };
//! let size = Size::new(64, 64).ok_or("empty picture")?;
//! let mut framing = Framing::new(View::Front, FramingLens::default(), size);
//! framing.include_points(&positions); // for a clip: the points of every frame
//! let camera = framing.camera();
//!
//! let view = Visibility::new(&scene, &camera, size, Antialias::Four);
//! assert_eq!(view.pick(32, 40).map(|hit| hit.triangle), Some(0));
//! encode::write_png(Vec::new(), &view.shade(&Look::default()))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Exact.** Coverage is decided in integers with the top-left rule: of triangles that share an edge exactly one
//! covers each sample. Barycentrics are those of the line of sight through the pixel's centre, in f64.
//!
//! **Deterministic.** The same bits at every thread count. Only IEEE operations, and functions from `libm` where
//! others would call the platform's; colours add up lane by lane.
//!
//! **Free of scale.** Every length is a part of the scene's size or a number of pixels.
//!
//! | module | what it holds |
//! |---|---|
//! | `camera` | lenses, views, framing |
//! | `scene`, `overlay` | what is drawn |
//! | `clip`, `raster`, `setup`, `visibility` | which triangle each sample sees |
//! | `surface`, `texture` | values at a point of a triangle |
//! | `shade`, `shadow`, `ground`, `occlusion`, `grid` | light |
//! | [`studio`] | what the look is tuned by |
//! | `pick` | buffers and picking |
//! | `heat`, `legend`, `font`, `sheet` | palettes, scale bars, letters, contact sheets |
//! | [`encode`] | PNG, APNG, GIF, MP4 |

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
pub mod studio;
mod surface;
mod texture;
mod visibility;

pub use camera::{Camera, CameraError, Framing, FramingLens, Lens, Projected, Projector, View};
pub use font::{draw_text, draw_text_centered, text_width};
pub use heat::{Palette, Scale};
pub use image::{Image, MAX_SIDE, Size};
pub use legend::{draw_color_key, draw_legend};
pub use overlay::{Dot, Line, LinePoint, SkeletonStyle, Stroke, StrokeEnd, skeleton};
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
