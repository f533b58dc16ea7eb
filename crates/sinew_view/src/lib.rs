//! Draws on the GPU what `sinew_render` draws on the processor: the same scenes, cameras and look, by wgpu. Knows no deformer.
//!
//! ```
//! # fn show(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<(), Box<dyn std::error::Error>> {
//! use glam::Vec3;
//! use sinew_render::{Framing, FramingLens, Look, Mesh, Size, View};
//! use sinew_view::{Draw, Frame, Model, Renderer, Target};
//!
//! let renderer = Renderer::new(device, queue);
//! let size = Size::new(640, 480).ok_or("empty picture")?;
//! let mut target = Target::new(&renderer, size)?; // `target.view()` is what user interfaces show
//! let positions = [Vec3::new(-1.0, 0.0, 0.0), Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.5, 0.0)];
//! let mut model = Model::new(&renderer, &[Mesh::new(&positions, &[Vec3::Z; 3], &[[0, 1, 2]])])?;
//! let mut framing = Framing::new(View::Front, FramingLens::default(), size);
//! framing.include_points(&positions);
//!
//! // Every frame: points, then a picture.
//! model.write(0, &positions, &[Vec3::Z; 3])?;
//! let (camera, look) = (framing.camera(), Look::default());
//! let frame = Frame { camera: &camera, look: &look, draws: &[Draw::new(&model)], lines: &[], dots: &[] };
//! let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
//! renderer.draw(&mut encoder, &mut target, &frame)?;
//! queue.submit([encoder.finish()]);
//! # Ok(())
//! # }
//! ```
//!
//! **Everywhere.** Render pipelines alone, uniforms and textures, within the limits of WebGL2: no compute, no storage buffers,
//! no features. Meshes lie in textures and are fetched corner by corner, so triangles know their numbers and edges on every
//! device. Numbers for shadows and occlusion are packed into eight-bit channels, two of 16 bits, which every device draws to.
//!
//! **The same look.** Lights, shadows, darkness under feet and in crevices are ported term by term, with the constants of
//! [`sinew_render::studio`]. Light is summed and resolved (four samples a pixel) as light, and encoded at the end.
//!
//! **Nothing per frame.** Pipelines are made once ([`Renderer::PIPELINES`]), models and targets when they are made or resized;
//! [`Renderer::made`] counts. A frame writes into what is there and waits for nothing.
//!
//! **Free of scale.** What shaders get is relative to the eye, rounded after that; the depth buffer holds 1/depth, scaled to
//! the nearest point of all boxes.
//!
//! | module | what it holds |
//! |---|---|
//! | `frame`, `data` | what is drawn, and the words shaders are given |
//! | `model`, `target`, `maker` | what lies on the device |
//! | `renderer`, `pipelines`, `shaders` | the passes |
//! | `pick`, `picker` | picking, on the processor and on the GPU |

mod data;
mod error;
mod frame;
mod maker;
mod model;
mod pick;
mod picker;
mod pipelines;
mod renderer;
mod shaders;
mod target;

pub use error::ViewError;
pub use frame::{Cut, Draw, Frame, Veil};
pub use maker::Made;
pub use model::Model;
pub use pick::{Ray, RayHit, pick, refine};
pub use picker::{Picked, Picker};
pub use renderer::Renderer;
pub use target::Target;

/// Samples a pixel.
const SAMPLES: u32 = 4;
