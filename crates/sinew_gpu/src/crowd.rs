//! A crowd on the GPU: characters of one rig, each with its own clip, time, place and gain, of which nothing else is
//! uploaded per frame.

use crate::character::buffer;
use crate::device::told;
use crate::{Gpu, GpuError};
use glam::{Vec3, Vec4};
use sinew::{DeformedMesh, LANES, Playing, Stage};
use sinew_shaders::{Bindings, CrowdMember, CrowdParams, Member, NONE, PackedCrowd, Stage as Shader, Swept, groups};
use std::sync::mpsc;
use wgpu::BufferUsages as Usage;

/// Layers of a dispatch that every device has: characters at once.
const MOST_AT_ONCE: u64 = 65_535;

/// A rig, a recipe and clips on the GPU, with memory for the frames of many characters.
#[derive(Debug)]
pub struct GpuCrowd {
    packed: PackedCrowd,
    members: wgpu::Buffer,
    deform: wgpu::BindGroup,
    pages: Vec<Page>,
    most: usize,
    per_page: usize,
    has_tangents: bool,
    bytes: u64,
    words: Vec<Member>,
    seen: Vec<u32>,
    /// Once something has been read back.
    read: Option<wgpu::Buffer>,
}

/// As many characters as fit into one buffer.
#[derive(Debug)]
struct Page {
    positions: wgpu::Buffer,
    normals: wgpu::Buffer,
    tangents: wgpu::Buffer,
    compose: wgpu::BindGroup,
    place: wgpu::BindGroup,
}

/// Vertex buffers with characters one after the other.
#[derive(Clone, Copy, Debug)]
pub struct CrowdPage<'a> {
    /// Positions, three numbers each.
    pub positions: &'a wgpu::Buffer,
    /// Normals, three numbers each.
    pub normals: &'a wgpu::Buffer,
    /// Tangents with handedness, four numbers each; `None` where the character has none.
    pub tangents: Option<&'a wgpu::Buffer>,
    /// Members in it, by their index, in this order.
    pub members: &'a [u32],
}

impl GpuCrowd {
    /// Samples clips of a stage and uploads what does not change from frame to frame, with memory for as many characters
    /// as are to be seen at once.
    pub fn new(gpu: &Gpu, stage: &Stage, clips: &[Playing<'_>], most: usize) -> Result<Self, GpuError> {
        let packed = PackedCrowd::new(stage, clips)?;
        let params = packed.rig.params;
        let has_tangents = params.rest_tangents != NONE;
        let row = 4 * 3 * LANES as u64;
        let (vertices, rows, layers) = (u64::from(params.vertices), u64::from(params.rows), u64::from(params.layers));
        let limits = gpu.device().limits();
        let limit = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let vertex = if has_tangents { 16 } else { 12 };
        let of_one = [vertex * vertices, row * rows, row * layers, 4 * u64::from(params.head_words)];
        let left = limit.saturating_sub(4 * packed.frame.len() as u64);
        let fits = left / of_one.into_iter().max().unwrap_or(1).max(1);
        let per_page = fits.min(MOST_AT_ONCE).min(most.max(1) as u64) as usize;
        if per_page == 0 {
            let bytes = of_one.into_iter().max().unwrap_or(0) + 4 * packed.frame.len() as u64;
            return Err(GpuError::TooLarge { what: "vertices", bytes, limit });
        }
        let device = gpu.device();
        let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let mut bytes = 0;
        let mut make = |what: &'static str, words: usize, usage: Usage| {
            let made = buffer(gpu, what, words, usage)?;
            bytes += made.size();
            Ok::<_, GpuError>(made)
        };
        let written = Usage::STORAGE | Usage::COPY_DST;
        let shown = Usage::STORAGE | Usage::VERTEX | Usage::COPY_SRC;
        let uniform = Usage::UNIFORM | Usage::COPY_DST;
        let numbers = |rows: u32| per_page * rows as usize * 3 * LANES;
        let tangent_words = |words: usize| if has_tangents { words } else { 0 };
        let own_params = make("parameters", size_of_val(&params) / 4, uniform)?;
        let rig = make("indices", packed.rig.rig.len(), written)?;
        let shape = make("weights and shape", packed.rig.shape.len(), written)?;
        let tuned = make("gains", packed.rig.tuned.len(), written)?;
        let pieces = make("clips", 4 * packed.pieces.len(), written)?;
        let members = make("characters", most * Member::WORDS, written)?;
        let frame = make("bones of a frame", packed.frame_words(per_page), written)?;
        let base_points = make("points", numbers(params.rows), Usage::STORAGE)?;
        let points = make("points", numbers(params.rows), Usage::STORAGE)?;
        let normals = make("normals", numbers(params.layers), Usage::STORAGE)?;
        let tangents = make("tangents", tangent_words(numbers(params.layers)), Usage::STORAGE)?;
        let bind = |bindings: Bindings, uniform: &wgpu::Buffer, storage: &[&wgpu::Buffer]| {
            gpu.bind(bindings, uniform, storage)
        };
        let of_deform = [&rig, &shape, &tuned, &frame, &base_points, &points, &normals, &tangents];
        let deform = bind(Bindings::Deform, &own_params, &of_deform);
        let queue = gpu.queue();
        let mut pages = Vec::new();
        for first in (0..most.max(1)).step_by(per_page) {
            let here = per_page.min(most.max(1) - first) * params.vertices as usize;
            let page_params = make("parameters", CrowdParams::WORDS, uniform)?;
            let told = CrowdParams { first_member: first as u32, ..packed.params };
            queue.write_buffer(&page_params, 0, bytemuck::bytes_of(&told));
            let of_vertices = [
                make("vertices", 3 * here, shown)?,
                make("vertices", 3 * here, shown)?,
                make("vertices", tangent_words(4 * here), shown)?,
            ];
            let compose = bind(Bindings::Crowd, &page_params, &[&frame, &pieces, &members, &base_points, &points]);
            let [at, turned, along] = &of_vertices;
            let of_place = [&rig, &frame, &points, &normals, &tangents, at, turned, along];
            let place = bind(Bindings::Place, &page_params, &of_place);
            let [positions, normals, tangents] = of_vertices;
            pages.push(Page { positions, normals, tangents, compose, place });
        }
        pollster::block_on(scope.pop()).map_or(Ok(()), |error| Err(told(error)))?;
        queue.write_buffer(&own_params, 0, bytemuck::bytes_of(&params));
        for (buffer, bytes) in [
            (&rig, bytemuck::cast_slice(&packed.rig.rig)),
            (&shape, bytemuck::cast_slice(&packed.rig.shape)),
            (&tuned, bytemuck::cast_slice(&packed.rig.tuned)),
            (&pieces, bytemuck::cast_slice(&packed.pieces)),
            (&frame, bytemuck::cast_slice::<u32, u8>(&packed.frame)),
        ] {
            queue.write_buffer(buffer, 0, bytes);
        }
        gpu.check()?;
        let (words, seen) = (Vec::with_capacity(most), Vec::with_capacity(most));
        Ok(Self { packed, members, deform, pages, most, per_page, has_tangents, bytes, words, seen, read: None })
    }

    /// Makes a frame of those that are seen, and says how many those are. Nothing is waited for.
    pub fn deform(&mut self, gpu: &Gpu, members: &[CrowdMember], planes: &[Vec4]) -> Result<usize, GpuError> {
        self.look(members, planes);
        self.write(gpu)?;
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("sinew") });
        self.encode(gpu, &mut encoder);
        gpu.queue().submit([encoder.finish()]);
        gpu.check()?;
        Ok(self.seen.len())
    }

    /// Sees which members are not behind one of the `planes` (which point inwards; none means all), and what these are
    /// told, as the first of three steps; [`GpuCrowd::deform`] takes all of them.
    pub fn look(&mut self, members: &[CrowdMember], planes: &[Vec4]) {
        self.packed.pack_members(members, planes, &mut self.words, &mut self.seen);
    }

    /// Uploads that.
    pub fn write(&self, gpu: &Gpu) -> Result<(), GpuError> {
        if self.words.len() > self.most {
            return Err(GpuError::Crowded { seen: self.words.len(), most: self.most });
        }
        gpu.queue().write_buffer(&self.members, 0, bytemuck::cast_slice(&self.words));
        Ok(())
    }

    /// Adds the work to a program's commands.
    pub fn encode(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for (page, here) in self.pages.iter().zip(self.seen.chunks(self.per_page)) {
            for shader in Shader::CROWD {
                let invocations = self.packed.invocations(shader);
                if invocations > 0 {
                    let [x, y] = groups(invocations);
                    let bound = match shader.bindings() {
                        Bindings::Crowd => &page.compose,
                        Bindings::Place => &page.place,
                        Bindings::Deform | Bindings::Vertices => &self.deform,
                    };
                    pass.set_pipeline(gpu.pipeline(shader));
                    pass.set_bind_group(0, bound, &[]);
                    pass.dispatch_workgroups(x, y, here.len() as u32);
                }
            }
        }
    }

    /// What has been made of the last frame.
    pub fn pages(&self) -> impl Iterator<Item = CrowdPage<'_>> {
        self.pages.iter().zip(self.seen.chunks(self.per_page)).map(|(page, members)| {
            let Page { positions, normals, tangents, .. } = page;
            CrowdPage { positions, normals, tangents: self.has_tangents.then_some(tangents), members }
        })
    }

    /// The members that are seen, by their index, ascending.
    pub fn seen(&self) -> &[u32] {
        &self.seen
    }

    /// What a clip sweeps, which decides whether a member is seen; `None` where there is no such clip.
    pub fn swept(&self, clip: usize) -> Option<Swept> {
        self.packed.swept(clip)
    }

    /// As it is packed.
    pub fn packed(&self) -> &PackedCrowd {
        &self.packed
    }

    /// Dispatches of a frame in which all characters are seen.
    pub fn dispatches(&self) -> usize {
        self.pages.len() * Shader::CROWD.into_iter().filter(|&stage| self.packed.invocations(stage) > 0).count()
    }

    /// Bytes it takes on the GPU.
    pub fn device_bytes(&self) -> u64 {
        self.bytes
    }

    /// Of those: clips.
    pub fn clip_bytes(&self) -> u64 {
        size_of_val(&self.packed.pieces[..]) as u64
    }

    /// Bytes uploaded for the last frame.
    pub fn frame_bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// Waits for the last frame and reads one of those seen, by its place in [`GpuCrowd::seen`].
    ///
    /// # Panics
    /// Where there is no such place in the crowd's memory.
    pub fn read_back(&mut self, gpu: &Gpu, place: usize, out: &mut DeformedMesh) -> Result<(), GpuError> {
        let vertices = self.packed.params.vertices as usize;
        out.origins.clear();
        out.origins.push(glam::DVec3::ZERO);
        out.corrected = sinew::correct::CorrectionReport::default();
        out.positions.resize(vertices, Vec3::ZERO);
        out.normals.resize(vertices, Vec3::ZERO);
        out.tangents.resize(if self.has_tangents { vertices } else { 0 }, Vec4::ZERO);
        if vertices == 0 {
            return gpu.check();
        }
        let (page, place) = (&self.pages[place / self.per_page], (place % self.per_page) as u64);
        let (three, four) = (12 * vertices as u64, 16 * out.tangents.len() as u64);
        let size = 2 * three + four;
        if self.read.is_none() {
            self.read = Some(buffer(gpu, "vertices", size as usize / 4, Usage::MAP_READ | Usage::COPY_DST)?);
        }
        let Some(read) = &self.read else { return Ok(()) };
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("sinew") });
        encoder.copy_buffer_to_buffer(&page.positions, place * three, read, 0, three);
        encoder.copy_buffer_to_buffer(&page.normals, place * three, read, three, three);
        if four > 0 {
            encoder.copy_buffer_to_buffer(&page.tangents, place * four, read, 2 * three, four);
        }
        gpu.queue().submit([encoder.finish()]);
        read_vertices(gpu, read, [three, three, four], out)
    }
}

/// Waits for what has been copied to a buffer, and takes it: bytes of positions, normals and tangents.
pub(crate) fn read_vertices(
    gpu: &Gpu,
    read: &wgpu::Buffer,
    [positions, normals, tangents]: [u64; 3],
    out: &mut DeformedMesh,
) -> Result<(), GpuError> {
    let size = positions + normals + tangents;
    let (tell, told) = mpsc::channel();
    read.map_async(wgpu::MapMode::Read, 0..size, move |result| _ = tell.send(result));
    gpu.wait()?;
    let mapped = told.recv().map_err(|error| GpuError::Failed(error.to_string()))?;
    mapped.map_err(|error| GpuError::Failed(error.to_string()))?;
    {
        let view = read.get_mapped_range(0..size).map_err(|error| GpuError::Failed(error.to_string()))?;
        let (positions, rest) = view.split_at(positions as usize);
        let (normals, tangents) = rest.split_at(normals as usize);
        bytemuck::cast_slice_mut::<_, u8>(&mut out.positions).copy_from_slice(positions);
        bytemuck::cast_slice_mut::<_, u8>(&mut out.normals).copy_from_slice(normals);
        bytemuck::cast_slice_mut::<_, u8>(&mut out.tangents).copy_from_slice(tangents);
    }
    read.unmap();
    gpu.check()
}
