//! The GPU draws and picks what the processor does, on whatever adapter there is, with a device that can do no more than
//! WebGL2.

#![allow(clippy::print_stderr, reason = "what was measured and what was skipped")]

mod frames;
mod picks;
mod pictures;
mod scenes;

use sinew_render::{Camera, Image, Look, Scene, Size};
use sinew_view::{Draw, Frame, Model, Renderer, Target, Veil};
use std::sync::OnceLock;

/// A device and a renderer.
pub(crate) struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) renderer: Renderer,
}

fn find() -> Result<Gpu, String> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .map_err(|error| format!("no GPU was found: {error}"))?;
    let info = adapter.get_info();
    eprintln!("adapter: {} ({:?}, {})", info.name, info.backend, info.driver_info);
    let descriptor = wgpu::DeviceDescriptor {
        required_limits: wgpu::Limits::downlevel_webgl2_defaults(),
        ..wgpu::DeviceDescriptor::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).map_err(|error| error.to_string())?;
    let renderer = Renderer::new(&device, &queue);
    Ok(Gpu { device, queue, renderer })
}

/// The adapter; `None` where there is none, which is said, and fails where nothing may be skipped.
pub(crate) fn gpu() -> Option<&'static Gpu> {
    static GPU: OnceLock<Result<Gpu, String>> = OnceLock::new();
    match GPU.get_or_init(find) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{error}, and CI=true allows no skipping");
            eprintln!("SKIPPED: {error}; `cargo xtask gpu` installs a driver that needs no GPU");
            None
        }
    }
}

/// A scene's meshes and ghosts as models.
pub(crate) struct Staged {
    pub(crate) solids: Vec<Model>,
    pub(crate) ghosts: Vec<Model>,
}

impl Staged {
    pub(crate) fn new(gpu: &Gpu, scene: &Scene<'_>) -> Self {
        let model = |mesh: &sinew_render::Mesh<'_>| Model::new(&gpu.renderer, std::slice::from_ref(mesh)).unwrap();
        let solids = scene.meshes.iter().map(model).collect();
        Self { solids, ghosts: scene.ghosts.iter().map(|ghost| model(&ghost.mesh)).collect() }
    }

    pub(crate) fn draws<'a>(&'a self, scene: &Scene<'_>) -> Vec<Draw<'a>> {
        let solids = self.solids.iter().zip(&scene.meshes).map(|(model, mesh)| Draw {
            transform: mesh.transform,
            wire: mesh.wire,
            ..Draw::new(model)
        });
        let ghosts = self.ghosts.iter().zip(&scene.ghosts).map(|(model, ghost)| Draw {
            transform: ghost.mesh.transform,
            veil: Some(Veil { tint: ghost.tint, opacity: ghost.opacity, through: ghost.through }),
            ..Draw::new(model)
        });
        solids.chain(ghosts).collect()
    }
}

impl Gpu {
    /// Draws a frame and waits for nothing.
    pub(crate) fn submit(&self, target: &mut Target, frame: &Frame<'_>) {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        self.renderer.draw(&mut encoder, target, frame).unwrap();
        self.queue.submit([encoder.finish()]);
    }

    /// A picture of a scene.
    pub(crate) fn picture(&self, scene: &Scene<'_>, camera: &Camera, size: Size, look: &Look) -> Image {
        let staged = Staged::new(self, scene);
        let mut target = Target::new(&self.renderer, size).unwrap();
        let draws = staged.draws(scene);
        self.submit(&mut target, &Frame { camera, look, draws: &draws, lines: &scene.lines, dots: &scene.dots });
        target.read_back().unwrap()
    }
}
