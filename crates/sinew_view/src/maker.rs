//! Everything that is made on the device is made here, and counted.

use crate::data;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wgpu::{BufferUsages, TextureFormat, TextureUsages};

/// What has been made on a device so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Pipelines.
    pub pipelines: u64,
    /// Bind groups.
    pub bind_groups: u64,
    /// Buffers.
    pub buffers: u64,
    /// Textures.
    pub textures: u64,
}

/// A device that counts.
#[derive(Debug)]
pub struct Maker {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    /// As in [`Made`].
    counts: [AtomicU64; 4],
}

/// A texture's nature.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub format: TextureFormat,
    pub usage: TextureUsages,
    pub samples: u32,
    pub levels: u32,
}

impl Kind {
    /// Drawn to and read by shaders.
    pub const fn drawn(format: TextureFormat) -> Self {
        let usage = TextureUsages::RENDER_ATTACHMENT.union(TextureUsages::TEXTURE_BINDING);
        Self { format, usage, samples: 1, levels: 1 }
    }

    /// Written from here and read by shaders.
    pub const fn written(format: TextureFormat) -> Self {
        let usage = TextureUsages::COPY_DST.union(TextureUsages::TEXTURE_BINDING);
        Self { format, usage, samples: 1, levels: 1 }
    }

    /// Drawn to with four samples a pixel.
    pub const fn sampled(format: TextureFormat) -> Self {
        Self { format, usage: TextureUsages::RENDER_ATTACHMENT, samples: crate::SAMPLES, levels: 1 }
    }
}

impl Maker {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self { device: device.clone(), queue: queue.clone(), counts: Default::default() }
    }

    pub fn made(&self) -> Made {
        let [pipelines, bind_groups, buffers, textures] = [0, 1, 2, 3].map(|i: usize| self.counts[i].load(Relaxed));
        Made { pipelines, bind_groups, buffers, textures }
    }

    pub fn pipeline(&self, descriptor: &wgpu::RenderPipelineDescriptor<'_>) -> wgpu::RenderPipeline {
        self.counts[0].fetch_add(1, Relaxed);
        self.device.create_render_pipeline(descriptor)
    }

    pub fn bind_group(&self, layout: &wgpu::BindGroupLayout, entries: &[wgpu::BindingResource<'_>]) -> wgpu::BindGroup {
        self.counts[1].fetch_add(1, Relaxed);
        let entries = entries.iter().enumerate();
        let entries: Vec<_> = entries
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource: resource.clone() })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("sinew"), layout, entries: &entries })
    }

    pub fn buffer(&self, size: u64, usage: BufferUsages) -> wgpu::Buffer {
        self.counts[2].fetch_add(1, Relaxed);
        let label = Some("sinew");
        self.device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
    }

    pub fn texture(&self, [width, height]: [u32; 2], kind: Kind) -> wgpu::Texture {
        self.counts[3].fetch_add(1, Relaxed);
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("sinew"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: kind.levels,
            sample_count: kind.samples,
            dimension: wgpu::TextureDimension::D2,
            format: kind.format,
            usage: kind.usage,
            view_formats: &[],
        })
    }

    pub fn view(&self, size: [u32; 2], kind: Kind) -> wgpu::TextureView {
        self.texture(size, kind).create_view(&wgpu::TextureViewDescriptor::default())
    }
}

/// Views, then draws, in one buffer that grows by need. What is bound is looked at through offsets.
#[derive(Debug)]
pub struct Uniforms {
    buffer: wgpu::Buffer,
    pub group: wgpu::BindGroup,
    words: Vec<u8>,
    /// Bytes from view to view and from draw to draw.
    strides: [usize; 2],
    views: usize,
}

impl Uniforms {
    pub fn new(maker: &Maker, layout: &wgpu::BindGroupLayout, views: usize) -> Self {
        let step = maker.device.limits().min_uniform_buffer_offset_alignment as usize;
        let strides = [size_of::<data::View>(), size_of::<data::Draw>()].map(|size| size.next_multiple_of(step));
        let (buffer, group) = Self::make(maker, layout, views * strides[0] + 64 * strides[1]);
        Self { buffer, group, words: Vec::new(), strides, views }
    }

    fn make(maker: &Maker, layout: &wgpu::BindGroupLayout, size: usize) -> (wgpu::Buffer, wgpu::BindGroup) {
        let buffer = maker.buffer(size as u64, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
        let part = |size: usize| {
            let size = wgpu::BufferSize::new(size as u64);
            wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: &buffer, offset: 0, size })
        };
        let parts = [part(size_of::<data::View>()), part(size_of::<data::Draw>())];
        let group = maker.bind_group(layout, &parts);
        (buffer, group)
    }

    /// Forgets all draws.
    pub fn clear(&mut self) {
        self.words.clear();
        self.words.resize(self.views * self.strides[0], 0);
    }

    pub fn set_view(&mut self, index: usize, view: &data::View) {
        let at = index * self.strides[0];
        self.words[at..at + size_of::<data::View>()].copy_from_slice(bytemuck::bytes_of(view));
    }

    /// Adds a draw and gives its offset.
    pub fn push(&mut self, draw: &data::Draw) -> u32 {
        let at = self.words.len();
        self.words.extend_from_slice(bytemuck::bytes_of(draw));
        self.words.resize(at + self.strides[1], 0);
        at as u32
    }

    /// Bytes from draw to draw.
    pub fn draw_stride(&self) -> u32 {
        self.strides[1] as u32
    }

    /// Offsets of a view and a draw.
    pub fn offsets(&self, view: usize, draw: u32) -> [u32; 2] {
        [(view * self.strides[0]) as u32, draw]
    }

    /// Offsets where no draw is asked for.
    pub fn view_offsets(&self, view: usize) -> [u32; 2] {
        self.offsets(view, (self.views * self.strides[0]) as u32)
    }

    /// Sends everything; grows where it must.
    pub fn send(&mut self, maker: &Maker, layout: &wgpu::BindGroupLayout) {
        if self.words.len() as u64 > self.buffer.size() {
            (self.buffer, self.group) = Self::make(maker, layout, self.words.len().next_power_of_two());
        }
        maker.queue.write_buffer(&self.buffer, 0, &self.words);
    }
}
