//! What is drawn to, with everything that depends on its size.

use crate::data;
use crate::maker::{Kind, Maker, Uniforms};
use crate::pipelines::{self, Layouts};
use crate::{Renderer, ViewError};
use sinew_render::studio::{OCCLUSION_STEP, blur_radii, shadow_side};
use sinew_render::{Image, Size};
use std::sync::{Arc, mpsc};
use wgpu::{BufferUsages, TextureUsages, TextureView};

/// A picture on the GPU. One frame is drawn to it per submission; as many targets as there are views.
#[derive(Debug)]
pub struct Target {
    pub(crate) maker: Arc<Maker>,
    pub(crate) size: Size,
    /// Cells along a side of grids of shadows.
    pub(crate) side: u32,
    pub(crate) uniforms: Uniforms,
    pub(crate) strokes: Vec<data::Stroke>,
    pub(crate) stroke_buffer: wgpu::Buffer,
    /// Draw, mesh and offset of each mesh to draw.
    pub(crate) items: Vec<[u32; 3]>,
    pub(crate) sheets: Sheets,
    shown: wgpu::Texture,
}

/// A filter's pass: what it reads, and where it draws to.
#[derive(Debug)]
pub(crate) struct Step {
    pub group: wgpu::BindGroup,
    pub to: TextureView,
}

/// Textures of one size.
#[derive(Debug)]
pub(crate) struct Sheets {
    /// Four samples a pixel.
    pub color: TextureView,
    pub depth: TextureView,
    /// Of ghosts; once there were some.
    pub ghost_depth: Option<TextureView>,
    pub resolved: TextureView,
    /// One sample a pixel.
    pub solid_depth: TextureView,
    pub solid_normals: TextureView,
    pub light_depth: TextureView,
    pub ground_depth: TextureView,
    pub screen: wgpu::BindGroup,
    pub shadow_steps: [Step; 4],
    pub ground_steps: [Step; 4],
    pub occlusion_steps: [Step; 2],
    pub present: Step,
}

impl Target {
    /// A picture of a size.
    pub fn new(renderer: &Renderer, size: Size) -> Result<Self, ViewError> {
        let maker = Arc::clone(&renderer.maker);
        check(&maker, size)?;
        let uniforms = Uniforms::new(&maker, &renderer.layouts.uniforms, 3);
        let stroke_buffer = stroke_buffer(&maker, 256);
        let (sheets, shown) = Sheets::new(&maker, &renderer.layouts, size);
        let side = shadow_side(size.height()) as u32;
        let (strokes, items) = (Vec::new(), Vec::new());
        Ok(Self { maker, size, side, uniforms, strokes, stroke_buffer, items, sheets, shown })
    }

    /// Its size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Takes another size; whether it had another. If so, [`Target::view`] is another too.
    pub fn resize(&mut self, renderer: &Renderer, size: Size) -> Result<bool, ViewError> {
        if size == self.size {
            return Ok(false);
        }
        check(&self.maker, size)?;
        (self.sheets, self.shown) = Sheets::new(&self.maker, &renderer.layouts, size);
        (self.size, self.side) = (size, shadow_side(size.height()) as u32);
        Ok(true)
    }

    /// The picture, for `egui_wgpu::Renderer::register_native_texture` and the like: sRGB-encoded values, multiplied by
    /// alpha, in a texture of format `Rgba8Unorm`, which hands them out as they are.
    pub fn view(&self) -> TextureView {
        self.shown.create_view(&wgpu::TextureViewDescriptor::default())
    }

    /// The picture, for copies.
    pub fn texture(&self) -> &wgpu::Texture {
        &self.shown
    }

    /// The picture as bytes. Waits for the GPU: for files and tests, not for frames, and not on the web.
    pub fn read_back(&self) -> Result<Image, ViewError> {
        let (width, height) = (self.size.width(), self.size.height());
        let stride = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let bytes = u64::from(stride) * u64::from(height);
        let buffer = self.maker.buffer(bytes, BufferUsages::COPY_DST | BufferUsages::MAP_READ);
        let mut encoder = self.maker.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(stride), rows_per_image: None };
        encoder.copy_texture_to_buffer(
            self.shown.as_image_copy(),
            wgpu::TexelCopyBufferInfo { buffer: &buffer, layout },
            self.shown.size(),
        );
        self.maker.queue.submit([encoder.finish()]);
        let (tell, told) = mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |result| _ = tell.send(result));
        let failed = |error: String| ViewError::Device(error);
        self.maker.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| failed(error.to_string()))?;
        told.recv().map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
        let view = buffer.get_mapped_range(..).map_err(|error| failed(error.to_string()))?;
        let rows = view.chunks_exact(stride as usize);
        let pixels = rows.flat_map(|row| row[..4 * width as usize].chunks_exact(4)).map(|p| {
            let straight = |c: u8| match p[3] {
                0 => 0,
                255 => c,
                alpha => (f32::from(c) * 255.0 / f32::from(alpha) + 0.5) as u8,
            };
            [straight(p[0]), straight(p[1]), straight(p[2]), p[3]]
        });
        let image = Image::from_pixels(self.size, pixels.collect());
        image.ok_or_else(|| failed("the picture came back incomplete".to_owned()))
    }

    /// Makes the depth of ghosts, where there is none yet.
    pub(crate) fn need_ghosts(&mut self) {
        let size = [self.size.width(), self.size.height()];
        let make = || self.maker.view(size, Kind::sampled(pipelines::DEPTH));
        self.sheets.ghost_depth.get_or_insert_with(make);
    }

    /// Sends strokes; makes room where there is none.
    pub(crate) fn send_strokes(&mut self) {
        let bytes: &[u8] = bytemuck::cast_slice(&self.strokes);
        if bytes.len() as u64 > self.stroke_buffer.size() {
            self.stroke_buffer = stroke_buffer(&self.maker, self.strokes.len().next_power_of_two());
        }
        if !bytes.is_empty() {
            self.maker.queue.write_buffer(&self.stroke_buffer, 0, bytes);
        }
    }
}

fn stroke_buffer(maker: &Maker, strokes: usize) -> wgpu::Buffer {
    let bytes = strokes * size_of::<data::Stroke>();
    maker.buffer(bytes as u64, BufferUsages::VERTEX | BufferUsages::COPY_DST)
}

fn check(maker: &Maker, size: Size) -> Result<(), ViewError> {
    let limit = maker.device.limits().max_texture_dimension_2d;
    let (width, height) = (size.width(), size.height());
    if width.max(height) > limit { Err(ViewError::Picture { width, height, limit }) } else { Ok(()) }
}

impl Sheets {
    fn new(maker: &Maker, layouts: &Layouts, size: Size) -> (Self, wgpu::Texture) {
        let whole = [size.width(), size.height()];
        let nodes = whole.map(|s| s.div_ceil(OCCLUSION_STEP as u32));
        let side = shadow_side(size.height());
        let square = [side as u32; 2];
        let drawn = |size: [u32; 2], format: wgpu::TextureFormat| maker.view(size, Kind::drawn(format));
        let packed = |size: [u32; 2]| drawn(size, pipelines::PACKED);
        let color = maker.view(whole, Kind::sampled(pipelines::LIGHT));
        let depth = maker.view(whole, Kind::sampled(pipelines::DEPTH));
        let resolved = drawn(whole, pipelines::LIGHT);
        let solid_depth = drawn(whole, pipelines::DEPTH);
        let solid_normals = drawn(whole, pipelines::NORMALS);
        let [rough, open] = [nodes; 2].map(packed);
        let [light_depth, ground_depth] = [square; 2].map(|size| drawn(size, pipelines::DEPTH));
        let [passing, sharp, soft, near, contact] = [square; 5].map(packed);
        let kind = Kind::drawn(pipelines::SHOWN);
        let shown = maker.texture(whole, Kind { usage: kind.usage | TextureUsages::COPY_SRC, ..kind });
        let shown_view = shown.create_view(&wgpu::TextureViewDescriptor::default());

        let nearest = maker.device.create_sampler(&wgpu::SamplerDescriptor::default());
        let step = |from: [&TextureView; 2], to: &TextureView, step: [i32; 2], radius: usize| {
            let filter = data::Filter { step, radius: radius as i32, unused: 0 };
            let held = maker.buffer(size_of::<data::Filter>() as u64, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
            maker.queue.write_buffer(&held, 0, bytemuck::bytes_of(&filter));
            let [a, b] = from.map(wgpu::BindingResource::TextureView);
            let nearest = wgpu::BindingResource::Sampler(&nearest);
            Step {
                group: maker.bind_group(&layouts.filter, &[held.as_entire_binding(), a, b, nearest]),
                to: to.clone(),
            }
        };
        let [r_sharp, r_soft, r_near, r_wide] = blur_radii(side);
        let (across, down) = ([1, 0], [0, 1]);
        let shadow_steps = [
            step([&light_depth; 2], &passing, across, r_sharp),
            step([&passing; 2], &sharp, down, r_sharp),
            step([&sharp; 2], &passing, across, r_soft),
            step([&passing; 2], &soft, down, r_soft),
        ];
        let ground_steps = [
            step([&ground_depth; 2], &passing, across, r_near),
            step([&passing; 2], &near, down, r_near),
            step([&near; 2], &passing, across, r_wide),
            step([&passing, &near], &contact, down, r_wide),
        ];
        let occlusion_steps =
            [step([&solid_depth, &solid_normals], &rough, [0; 2], 0), step([&rough, &solid_depth], &open, [0; 2], 0)];
        let present = step([&resolved; 2], &shown_view, [0; 2], 0);
        let [sharp, soft, contact, open, depth_of_solids] =
            [&sharp, &soft, &contact, &open, &solid_depth].map(wgpu::BindingResource::TextureView);
        let nearest = wgpu::BindingResource::Sampler(&nearest);
        let screen = maker.bind_group(&layouts.screen, &[sharp, soft, contact, open, depth_of_solids, nearest]);
        let sheets = Self {
            color,
            depth,
            ghost_depth: None,
            resolved,
            solid_depth,
            solid_normals,
            light_depth,
            ground_depth,
            screen,
            shadow_steps,
            ground_steps,
            occlusion_steps,
            present,
        };
        (sheets, shown)
    }
}
