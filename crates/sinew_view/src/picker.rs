//! Picking on the GPU: a picture of one pixel whose colour is the number of what is seen.

use crate::frame::{Frame, columns};
use crate::maker::{Kind, Maker, Uniforms};
use crate::pipelines;
use crate::renderer::begin;
use crate::{Renderer, data};
use sinew_render::Size;
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{BufferUsages, LoadOp, TextureUsages};

/// What a pixel sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    /// Index in [`Frame::draws`].
    pub draw: u32,
    /// Index of the mesh in the model.
    pub mesh: u32,
    /// Index of the triangle in the mesh. [`crate::refine`] gives the point of it.
    pub triangle: u32,
}

/// What has become of the mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    None,
    Underway,
    Mapped,
    Failed,
}

/// Asks what a place of the picture sees; the answer comes some frames later.
#[derive(Debug)]
pub struct Picker {
    maker: Arc<Maker>,
    uniforms: Uniforms,
    ids: wgpu::Texture,
    id_view: wgpu::TextureView,
    depth: wgpu::TextureView,
    buffer: wgpu::Buffer,
    answer: Arc<Mutex<Answer>>,
}

impl Picker {
    /// Everything it needs, made once.
    pub fn new(renderer: &Renderer) -> Self {
        let maker = Arc::clone(&renderer.maker);
        let kind = Kind::drawn(pipelines::IDS);
        let ids = maker.texture([1; 2], Kind { usage: kind.usage | TextureUsages::COPY_SRC, ..kind });
        Self {
            uniforms: Uniforms::new(&maker, &renderer.layouts.uniforms, 1),
            id_view: ids.create_view(&wgpu::TextureViewDescriptor::default()),
            ids,
            depth: maker.view([1; 2], Kind::drawn(pipelines::DEPTH)),
            buffer: maker.buffer(16, BufferUsages::COPY_DST | BufferUsages::MAP_READ),
            answer: Arc::new(Mutex::new(Answer::None)),
            maker,
        }
    }

    /// Asks what a frame shows at a place of a picture of a size (the centre of a pixel is at ½). One question at a time:
    /// `false` while the answer to the last is underway or not taken.
    pub fn ask(
        &mut self,
        renderer: &Renderer,
        encoder: &mut wgpu::CommandEncoder,
        frame: &Frame<'_>,
        size: Size,
        [x, y]: [f64; 2],
    ) -> bool {
        if self.state() != Answer::None || !(x.is_finite() && y.is_finite()) {
            return false;
        }
        let projector = frame.camera.projector(size);
        let (mut clip, _) = frame.clip(&projector, size);
        // One pixel is the whole picture.
        let [width, height] = [f64::from(size.width()), f64::from(size.height())];
        let w = clip[3];
        for i in 0..4 {
            clip[0][i] = width * clip[0][i] - (2.0 * x - width) * w[i];
            clip[1][i] = height * clip[1][i] - (height - 2.0 * y) * w[i];
        }
        self.uniforms.clear();
        self.uniforms.set_view(0, &data::View { clip: columns(clip), ..data::View::default() });
        let asked = || {
            let draws = frame.draws.iter().enumerate();
            draws
                .filter(|(_, draw)| draw.veil.is_none() && draw.cut.is_none_or(|cut| cut.holds([x, y])))
                .flat_map(|(d, draw)| draw.model.parts.iter().enumerate().map(move |(m, part)| (d, draw, m, part)))
                .filter(|(.., part)| part.corners() > 0)
        };
        let mut first = None;
        for (d, draw, m, part) in asked() {
            let offset = self.uniforms.push(&draw.data(part, frame.camera.eye(), [d as u32, m as u32]));
            first.get_or_insert(offset);
        }
        self.uniforms.send(&self.maker, &renderer.layouts.uniforms);
        {
            let depth = Some((&self.depth, LoadOp::Clear(0.0)));
            let clear = LoadOp::Clear(wgpu::Color::TRANSPARENT);
            let mut pass = begin(encoder, Some(&self.id_view), clear, depth, None);
            let mut offset = first.unwrap_or(0);
            for (.., part) in asked() {
                pass.set_pipeline(renderer.pipelines.pick.of(part.double_sided));
                pass.set_bind_group(0, &self.uniforms.group, &self.uniforms.offsets(0, offset));
                pass.set_bind_group(1, &part.group, &[]);
                pass.draw(0..part.corners(), 0..1);
                offset += self.uniforms.draw_stride();
            }
        }
        let layout = wgpu::TexelCopyBufferLayout::default();
        let to = wgpu::TexelCopyBufferInfo { buffer: &self.buffer, layout };
        encoder.copy_texture_to_buffer(self.ids.as_image_copy(), to, self.ids.size());
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Answer::Underway;
        let answer = Arc::clone(&self.answer);
        encoder.map_buffer_on_submit(&self.buffer, wgpu::MapMode::Read, .., move |result| {
            let told = if result.is_ok() { Answer::Mapped } else { Answer::Failed };
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = told;
        });
        true
    }

    fn state(&self) -> Answer {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, once it is there: what is seen, or `Some(None)` for the background. Waits for nothing.
    pub fn answer(&mut self) -> Option<Option<Picked>> {
        _ = self.maker.device.poll(wgpu::PollType::Poll);
        let state = self.state();
        if state == Answer::None || state == Answer::Underway {
            return None;
        }
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Answer::None;
        if state == Answer::Failed {
            return Some(None);
        }
        let picked = self.buffer.get_mapped_range(..).ok().and_then(|view| {
            let [draw, mesh, triangle, is_seen]: [u32; 4] = bytemuck::pod_read_unaligned(&view[..16]);
            (is_seen == 1).then_some(Picked { draw, mesh, triangle })
        });
        self.buffer.unmap();
        Some(picked)
    }
}
