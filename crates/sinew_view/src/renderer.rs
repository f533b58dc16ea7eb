//! The passes of a frame.

use crate::ViewError;
use crate::frame::{CAMERA, Cut, Draw, Frame, GROUND, LIGHT, Plan};
use crate::maker::{Made, Maker};
use crate::pipelines::{Layouts, Pipelines, Sided};
use crate::target::{Step, Target};
use std::sync::Arc;
use wgpu::{CommandEncoder, LoadOp, RenderPass, RenderPipeline, StoreOp, TextureView};

/// A device with all pipelines, made once.
#[derive(Debug)]
pub struct Renderer {
    pub(crate) maker: Arc<Maker>,
    pub(crate) layouts: Layouts,
    pub(crate) pipelines: Pipelines,
}

/// Depth that nothing is behind: of pictures, and of shadows.
const FARTHEST: f32 = 0.0;
const LOWEST: f32 = 1.0;

impl Renderer {
    /// Pipelines of a renderer; nothing that is drawn later makes another.
    pub const PIPELINES: u64 = Pipelines::COUNT;

    /// Makes all pipelines. Limits as low as `downlevel_webgl2_defaults` do, and no feature is asked for.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let maker = Arc::new(Maker::new(device, queue));
        let layouts = Layouts::new(device);
        let pipelines = Pipelines::new(&maker, &layouts);
        Self { maker, layouts, pipelines }
    }

    /// What has been made on the device so far: by this renderer, its models, targets and pickers.
    pub fn made(&self) -> Made {
        self.maker.made()
    }

    /// Draws a frame. Nothing is made on the device but more room for more lines or models than there ever were, and the
    /// depth of the first ghost; nothing is waited for.
    pub fn draw(&self, encoder: &mut CommandEncoder, target: &mut Target, frame: &Frame<'_>) -> Result<(), ViewError> {
        let plan = frame.plan(target.size, target.side);
        target.uniforms.clear();
        for (index, view) in plan.views.iter().enumerate() {
            target.uniforms.set_view(index, view);
        }
        target.items.clear();
        let eye = frame.camera.eye();
        for (d, draw) in frame.draws.iter().enumerate() {
            for (m, part) in draw.model.parts.iter().enumerate().filter(|(_, part)| part.corners() > 0) {
                let ids = [d as u32, m as u32];
                let offset = target.uniforms.push(&draw.data(part, eye, ids));
                target.items.push([ids[0], ids[1], offset]);
            }
        }
        frame.strokes(target.size, &mut target.strokes);
        target.uniforms.send(&self.maker, &self.layouts.uniforms);
        target.send_strokes();
        if plan.has_ghosts {
            target.need_ghosts();
        }
        self.encode(encoder, target, frame, &plan);
        Ok(())
    }

    fn encode(&self, encoder: &mut CommandEncoder, target: &Target, frame: &Frame<'_>, plan: &Plan) {
        let (sheets, pipelines) = (&target.sheets, &self.pipelines);
        if plan.has_shadows {
            self.shadow(encoder, target, frame, LIGHT, &sheets.light_depth);
            let [first, rest @ ..] = &sheets.shadow_steps;
            self.filter(encoder, target, &pipelines.moments, first);
            rest.iter().for_each(|step| self.filter(encoder, target, &pipelines.soften, step));
        }
        if plan.has_ground {
            self.shadow(encoder, target, frame, GROUND, &sheets.ground_depth);
            let [first, second, third, last] = &sheets.ground_steps;
            self.filter(encoder, target, &pipelines.contact, first);
            self.filter(encoder, target, &pipelines.soften, second);
            self.filter(encoder, target, &pipelines.soften, third);
            self.filter(encoder, target, &pipelines.contact_darkness, last);
        }
        let solids = |draw: &Draw<'_>| draw.veil.is_none();
        let ghosts = |draw: &Draw<'_>| draw.veil.is_some();
        if plan.has_occlusion || plan.has_ghosts {
            let depth = Some((&sheets.solid_depth, LoadOp::Clear(FARTHEST)));
            let mut pass = begin(encoder, Some(&sheets.solid_normals), LoadOp::Clear(wgpu::Color::BLACK), depth, None);
            self.meshes(&mut pass, target, frame, &pipelines.normals, solids);
        }
        if plan.has_occlusion {
            let [rough, mean] = &sheets.occlusion_steps;
            self.filter(encoder, target, &pipelines.occlusion, rough);
            self.filter(encoder, target, &pipelines.occlusion_mean, mean);
        }
        let load = LoadOp::Load;
        let resolve = |is_last: bool| is_last.then_some(&sheets.resolved);
        {
            let depth = Some((&sheets.depth, LoadOp::Clear(FARTHEST)));
            let clear = LoadOp::Clear(wgpu::Color::TRANSPARENT);
            let mut pass = begin(encoder, Some(&sheets.color), clear, depth, resolve(!plan.has_ghosts));
            pass.set_bind_group(2, &sheets.screen, &[]);
            pass.set_bind_group(0, &target.uniforms.group, &target.uniforms.view_offsets(CAMERA));
            pass.set_pipeline(&pipelines.background);
            pass.draw(0..3, 0..1);
            self.meshes(&mut pass, target, frame, &pipelines.solid, solids);
            if !plan.has_ghosts {
                self.strokes(&mut pass, target);
            }
        }
        if let Some(ghost_depth) = sheets.ghost_depth.as_ref().filter(|_| plan.has_ghosts) {
            let depth = Some((ghost_depth, LoadOp::Clear(FARTHEST)));
            let mut pass = begin(encoder, Some(&sheets.color), load, depth, None);
            pass.set_bind_group(2, &sheets.screen, &[]);
            self.meshes(&mut pass, target, frame, &pipelines.ghost_depth, ghosts);
            self.meshes(&mut pass, target, frame, &pipelines.ghost, ghosts);
            drop(pass);
            let depth = Some((&sheets.depth, LoadOp::Load));
            let mut pass = begin(encoder, Some(&sheets.color), load, depth, resolve(true));
            self.strokes(&mut pass, target);
        }
        self.filter(encoder, target, &pipelines.present, &sheets.present);
    }

    /// Depths of what throws shadows, seen along a direction.
    fn shadow(&self, encoder: &mut CommandEncoder, target: &Target, frame: &Frame<'_>, view: usize, to: &TextureView) {
        let depth = Some((to, LoadOp::Clear(LOWEST)));
        let mut pass = begin(encoder, None, LoadOp::Load, depth, None);
        for pipeline in &self.pipelines.place {
            pass.set_pipeline(pipeline);
            for &[d, m, offset] in &target.items {
                let draw = &frame.draws[d as usize];
                if draw.veil.is_none() && draw.casts_shadow {
                    let part = &draw.model.parts[m as usize];
                    pass.set_bind_group(0, &target.uniforms.group, &target.uniforms.offsets(view, offset));
                    pass.set_bind_group(1, &part.group, &[]);
                    pass.draw(0..part.corners(), 0..1);
                }
            }
        }
    }

    fn filter(&self, encoder: &mut CommandEncoder, target: &Target, pipeline: &RenderPipeline, step: &Step) {
        let mut pass = begin(encoder, Some(&step.to), LoadOp::Clear(wgpu::Color::TRANSPARENT), None, None);
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &target.uniforms.group, &target.uniforms.view_offsets(CAMERA));
        pass.set_bind_group(1, &step.group, &[]);
        pass.draw(0..3, 0..1);
    }

    fn meshes(
        &self,
        pass: &mut RenderPass<'_>,
        target: &Target,
        frame: &Frame<'_>,
        pipelines: &Sided,
        wanted: impl Fn(&Draw<'_>) -> bool,
    ) {
        let whole = Cut::whole(target.size);
        for &[d, m, offset] in &target.items {
            let draw = &frame.draws[d as usize];
            let Some(cut) = draw.cut.unwrap_or(whole).within(target.size).filter(|_| wanted(draw)) else { continue };
            let part = &draw.model.parts[m as usize];
            pass.set_scissor_rect(cut.left, cut.top, cut.width, cut.height);
            pass.set_pipeline(pipelines.of(part.double_sided));
            pass.set_bind_group(0, &target.uniforms.group, &target.uniforms.offsets(CAMERA, offset));
            pass.set_bind_group(1, &part.group, &[]);
            pass.draw(0..part.corners(), 0..1);
        }
        pass.set_scissor_rect(0, 0, whole.width, whole.height);
    }

    /// What is hidden first: what is seen is in front of it.
    fn strokes(&self, pass: &mut RenderPass<'_>, target: &Target) {
        if target.strokes.is_empty() {
            return;
        }
        pass.set_bind_group(0, &target.uniforms.group, &target.uniforms.view_offsets(CAMERA));
        pass.set_vertex_buffer(0, target.stroke_buffer.slice(..));
        for pipeline in [&self.pipelines.stroke_hidden, &self.pipelines.stroke_seen] {
            pass.set_pipeline(pipeline);
            pass.draw(0..6, 0..target.strokes.len() as u32);
        }
    }
}

pub(crate) fn begin<'a>(
    encoder: &'a mut CommandEncoder,
    color: Option<&TextureView>,
    load: LoadOp<wgpu::Color>,
    depth: Option<(&TextureView, LoadOp<f32>)>,
    resolve_target: Option<&TextureView>,
) -> RenderPass<'a> {
    let ops = wgpu::Operations { load, store: StoreOp::Store };
    let color = color.map(|view| wgpu::RenderPassColorAttachment { view, depth_slice: None, resolve_target, ops });
    let attachments = [color];
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some("sinew"),
        color_attachments: if attachments[0].is_some() { &attachments } else { &[] },
        depth_stencil_attachment: depth.map(|(view, load)| wgpu::RenderPassDepthStencilAttachment {
            view,
            depth_ops: Some(wgpu::Operations { load, store: StoreOp::Store }),
            stencil_ops: None,
        }),
        ..wgpu::RenderPassDescriptor::default()
    })
}
