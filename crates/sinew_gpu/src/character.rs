//! A character on the GPU: uploaded once, deformed frame by frame.

use crate::crowd::read_vertices;
use crate::device::told;
use crate::{Gpu, GpuError};
use glam::{DVec3, Vec3, Vec4};
use sinew::{DeformedMesh, FramePlan, LANES, Retuned, Stage};
use sinew_shaders::{Bindings, FrameWork, NONE, PackedRig, Stage as Shader, groups};
use wgpu::BufferUsages as Usage;

/// A rig and a recipe on the GPU, with memory for a frame.
#[derive(Debug)]
pub struct GpuCharacter {
    packed: PackedRig,
    params: wgpu::Buffer,
    shape: wgpu::Buffer,
    tuned: wgpu::Buffer,
    frame: wgpu::Buffer,
    positions: wgpu::Buffer,
    normals: wgpu::Buffer,
    tangents: wgpu::Buffer,
    deform: wgpu::BindGroup,
    vertices: wgpu::BindGroup,
    has_tangents: bool,
    /// Of all its buffers, but for what is read back.
    bytes: u64,
    /// Whether the shape on the GPU is that of the last frame's morph targets.
    morphed: bool,
    origins: Vec<DVec3>,
    words: Vec<u32>,
    /// Once something has been read back.
    read: Option<wgpu::Buffer>,
}

impl GpuCharacter {
    /// Uploads what does not change from frame to frame.
    pub fn new(gpu: &Gpu, stage: &Stage) -> Result<Self, GpuError> {
        let arrays = stage.arrays()?;
        let packed = PackedRig::new(&arrays);
        let (rows, layers) = (packed.params.rows as usize, packed.params.layers as usize);
        let vertices = packed.params.vertices as usize;
        let has_tangents = packed.params.rest_tangents != NONE;
        let device = gpu.device();
        let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let make = |what: &'static str, words: usize, usage: Usage| buffer(gpu, what, words, usage);
        let shown = Usage::STORAGE | Usage::VERTEX | Usage::COPY_SRC;
        let written = Usage::STORAGE | Usage::COPY_DST;
        let tangent_words = |words: usize| if has_tangents { words } else { 0 };
        let params = make("parameters", size_of_val(&packed.params) / 4, Usage::UNIFORM | Usage::COPY_DST)?;
        let rig = make("indices", packed.rig.len(), written)?;
        let shape = make("weights and shape", packed.shape.len(), written)?;
        let tuned = make("gains", packed.tuned.len(), written)?;
        let frame = make("bones of a frame", packed.most_frame_words, written)?;
        let base_points = make("points", packed.base_words(), Usage::STORAGE)?;
        let points = make("points", rows * 3 * LANES, Usage::STORAGE)?;
        let layer_normals = make("normals", layers * 3 * LANES, Usage::STORAGE)?;
        let layer_tangents = make("tangents", tangent_words(layers * 3 * LANES), Usage::STORAGE)?;
        let positions = make("vertices", vertices * 3, shown)?;
        let normals = make("vertices", vertices * 3, shown)?;
        let tangents = make("vertices", tangent_words(vertices * 4), shown)?;
        pollster::block_on(scope.pop()).map_or(Ok(()), |error| Err(told(error)))?;
        let of_deform = [&rig, &shape, &tuned, &frame, &base_points, &points, &layer_normals, &layer_tangents];
        let of_vertices = [&rig, &shape, &points, &layer_normals, &layer_tangents, &positions, &normals, &tangents];
        let deform = gpu.bind(Bindings::Deform, &params, &of_deform);
        let vertices = gpu.bind(Bindings::Vertices, &params, &of_vertices);
        let bytes = of_deform.iter().chain(&of_vertices[5..]).map(|buffer| buffer.size()).sum::<u64>() + params.size();
        let queue = gpu.queue();
        queue.write_buffer(&rig, 0, bytemuck::cast_slice(&packed.rig));
        queue.write_buffer(&shape, 0, bytemuck::cast_slice(&packed.shape));
        let character = Self {
            packed,
            params,
            shape,
            tuned,
            frame,
            positions,
            normals,
            tangents,
            deform,
            vertices,
            has_tangents,
            bytes,
            morphed: false,
            origins: Vec::new(),
            words: Vec::new(),
            read: None,
        };
        character.write_tuned(gpu);
        gpu.check()?;
        Ok(character)
    }

    fn write_tuned(&self, gpu: &Gpu) {
        let Self { packed, params, tuned, .. } = self;
        gpu.queue().write_buffer(tuned, 0, bytemuck::cast_slice(&packed.tuned));
        gpu.queue().write_buffer(params, 0, bytemuck::bytes_of(&packed.params));
    }

    /// Follows a stage after [`Stage::retune`] or [`Stage::repaint`], which say what that came to: where only numbers and
    /// painted values have changed, buffers hold others; else everything is uploaded anew.
    pub fn retune(&mut self, gpu: &Gpu, stage: &Stage, retuned: Retuned) -> Result<(), GpuError> {
        let arrays = stage.arrays()?;
        if !retuned.rebuilt && self.packed.retune(&arrays) {
            self.write_tuned(gpu);
            return gpu.check();
        }
        *self = Self::new(gpu, stage)?;
        Ok(())
    }

    /// Makes a frame: writes what its bones do and submits the work. Nothing is waited for.
    pub fn deform(&mut self, gpu: &Gpu, plan: &FramePlan<'_>) -> Result<(), GpuError> {
        let work = self.write(gpu, plan)?;
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("sinew") });
        self.encode(gpu, work, &mut encoder);
        gpu.queue().submit([encoder.finish()]);
        gpu.check()
    }

    /// Writes what the bones of a frame do; for [`GpuCharacter::encode`] as part of a program's own commands.
    pub fn write(&mut self, gpu: &Gpu, plan: &FramePlan<'_>) -> Result<FrameWork, GpuError> {
        if plan.palette[0].len() != self.packed.palette || plan.effects().len() != self.packed.params.effects as usize {
            return Err(GpuError::ForeignPlan);
        }
        let work = self.packed.pack_frame(plan, &mut self.words);
        if self.words.len() > self.packed.most_frame_words {
            return Err(GpuError::ForeignPlan);
        }
        let queue = gpu.queue();
        queue.write_buffer(&self.frame, 0, bytemuck::cast_slice(&self.words));
        if plan.rest.morphed || self.morphed {
            let params = &self.packed.params;
            let write = |place: u32, rows: &[sinew::PointRow]| {
                queue.write_buffer(&self.shape, 4 * u64::from(place), bytemuck::cast_slice(rows));
            };
            write(params.rest, plan.rest.points);
            write(params.rest_normals, plan.rest.normals);
            if let Some(tangents) = plan.rest.tangents {
                write(params.rest_tangents, tangents);
            }
            let bind = if plan.bind.is_empty() { self.packed.bind() } else { plan.bind.as_flattened() };
            if !bind.is_empty() {
                queue.write_buffer(&self.shape, 4 * u64::from(params.bind), bytemuck::cast_slice(bind));
            }
            self.morphed = plan.rest.morphed;
        }
        self.origins.clear();
        self.origins.extend_from_slice(plan.origins);
        Ok(work)
    }

    /// Adds the work of a frame to a program's commands, after [`GpuCharacter::write`], which says what there is to do.
    pub fn encode(&self, gpu: &Gpu, work: FrameWork, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for shader in Shader::FRAME {
            let invocations = self.packed.invocations(shader, work);
            if invocations > 0 {
                let [x, y] = groups(invocations);
                let bound = match shader.bindings() {
                    Bindings::Vertices => &self.vertices,
                    _ => &self.deform,
                };
                pass.set_pipeline(gpu.pipeline(shader));
                pass.set_bind_group(0, bound, &[]);
                pass.dispatch_workgroups(x, y, 1);
            }
        }
    }

    /// Positions of vertices, three numbers each, relative to [`GpuCharacter::origins`]: a vertex buffer.
    pub fn positions(&self) -> &wgpu::Buffer {
        &self.positions
    }

    /// Normals, three numbers each: a vertex buffer.
    pub fn normals(&self) -> &wgpu::Buffer {
        &self.normals
    }

    /// Tangents with handedness, four numbers each: a vertex buffer; `None` where the character has none.
    pub fn tangents(&self) -> Option<&wgpu::Buffer> {
        self.has_tangents.then_some(&self.tangents)
    }

    /// Per character: the point its positions are relative to.
    pub fn origins(&self) -> &[DVec3] {
        &self.origins
    }

    /// Bytes it takes on the GPU.
    pub fn device_bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes uploaded for the last frame, but for morph targets.
    pub fn frame_bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// Waits for the last frame and reads it.
    pub fn read_back(&mut self, gpu: &Gpu, out: &mut DeformedMesh) -> Result<(), GpuError> {
        let vertices = self.packed.params.vertices as usize;
        out.origins.clone_from(&self.origins);
        out.corrected = sinew::correct::CorrectionReport::default();
        out.positions.resize(vertices, Vec3::ZERO);
        out.normals.resize(vertices, Vec3::ZERO);
        out.tangents.resize(if self.has_tangents { vertices } else { 0 }, Vec4::ZERO);
        if vertices == 0 {
            return gpu.check();
        }
        let three = 12 * vertices as u64;
        let four = 16 * out.tangents.len() as u64;
        let size = 2 * three + four;
        let device = gpu.device();
        if self.read.is_none() {
            let usage = Usage::MAP_READ | Usage::COPY_DST;
            self.read = Some(buffer(gpu, "vertices", size as usize / 4, usage)?);
        }
        let Some(read) = &self.read else { return Ok(()) };
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("sinew") });
        encoder.copy_buffer_to_buffer(&self.positions, 0, read, 0, three);
        encoder.copy_buffer_to_buffer(&self.normals, 0, read, three, three);
        if four > 0 {
            encoder.copy_buffer_to_buffer(&self.tangents, 0, read, 2 * three, four);
        }
        gpu.queue().submit([encoder.finish()]);
        read_vertices(gpu, read, [three, three, four], out)
    }
}

/// A buffer of words; never empty, for none may be bound that is.
pub(crate) fn buffer(gpu: &Gpu, what: &'static str, words: usize, usage: Usage) -> Result<wgpu::Buffer, GpuError> {
    let size = 4 * words.max(4) as u64;
    let limits = gpu.device().limits();
    let bound = if usage.contains(Usage::STORAGE) { limits.max_storage_buffer_binding_size } else { u64::MAX };
    let limit = limits.max_buffer_size.min(bound);
    if size > limit {
        return Err(GpuError::TooLarge { what, bytes: size, limit });
    }
    let descriptor = wgpu::BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false };
    gpu.note_made();
    Ok(gpu.device().create_buffer(&descriptor))
}
