//! The GPU, and the pipelines made once for all characters.

use crate::GpuError;
use sinew_shaders::{Bindings, Stage};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A device with Sinew's pipelines.
#[derive(Debug)]
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    layouts: [wgpu::BindGroupLayout; Bindings::ALL.len()],
    pipelines: [wgpu::ComputePipeline; Gpu::PIPELINES],
    trouble: Trouble,
    made: AtomicU64,
}

/// What a device has said of itself.
#[derive(Clone, Debug, Default)]
struct Trouble(Arc<Mutex<Option<GpuError>>>);

impl Trouble {
    /// Keeps the first: what follows follows from it. A loss is worse than what it leads to.
    fn note(&self, error: GpuError) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() || matches!(error, GpuError::Lost(_)) {
            *held = Some(error);
        }
    }

    fn check(&self) -> Result<(), GpuError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            // It stays lost.
            Some(lost @ GpuError::Lost(_)) => Err(lost.clone()),
            _ => held.take().map_or(Ok(()), Err),
        }
    }
}

impl Gpu {
    /// Pipelines that there are, all made at once; nothing that is made later adds one.
    pub const PIPELINES: usize = Stage::ALL.len();

    /// The fastest GPU there is; `WGPU_BACKEND` chooses among interfaces to them.
    pub fn new() -> Result<Self, GpuError> {
        let wanted = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        let known = wgpu::Instance::enabled_backend_features();
        let looked_for: Vec<_> = (wanted.backends & known).iter_names().map(|(name, _)| name.to_lowercase()).collect();
        let looked_for = looked_for.join(", ");
        let none = |why: String| GpuError::NoAdapter { looked_for: looked_for.clone(), why };
        if known.is_empty() {
            return Err(none("this program was built without any interface to one".to_owned()));
        }
        let instance = wgpu::Instance::new(wanted);
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..wgpu::RequestAdapterOptions::default()
        };
        let adapter =
            pollster::block_on(instance.request_adapter(&options)).map_err(|error| none(error.to_string()))?;
        // As much in one piece as it can hold; everything else as every device has it.
        let most = adapter.limits();
        let limits = wgpu::Limits {
            max_buffer_size: most.max_buffer_size,
            max_storage_buffer_binding_size: most.max_storage_buffer_binding_size,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..wgpu::DeviceDescriptor::default() };
        let unusable = |why: String| GpuError::NoDevice { adapter: adapter.get_info().name, why };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).map_err(|error| unusable(error.to_string()))?;
        let trouble = Trouble::default();
        let lost = trouble.clone();
        device.set_device_lost_callback(move |_, why| lost.note(GpuError::Lost(why)));
        let failed = trouble.clone();
        device.on_uncaptured_error(Arc::new(move |error| failed.note(told(error))));
        Self::build(device, queue, trouble)
    }

    /// With the device of a program that has one. It tells of loss and errors as that program has asked it to.
    pub fn with_device(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, GpuError> {
        Self::build(device, queue, Trouble::default())
    }

    fn build(device: wgpu::Device, queue: wgpu::Queue, trouble: Trouble) -> Result<Self, GpuError> {
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let layouts = Bindings::ALL.map(|bindings| layout(&device, bindings));
        let pipelines = Stage::ALL.map(|stage| pipeline(&device, &layouts[place_of(stage.bindings())], stage));
        pollster::block_on(scope.pop()).map_or(Ok(()), |error| Err(told(error)))?;
        trouble.check()?;
        let made = AtomicU64::new(pipelines.len() as u64);
        Ok(Self { device, queue, layouts, pipelines, trouble, made })
    }

    /// What it is called, and by which interface it is reached.
    pub fn name(&self) -> String {
        let info = self.device.adapter_info();
        format!("{} ({:?}, {})", info.name, info.backend, info.driver_info)
    }

    /// Pipelines, buffers and bind groups made so far, for all characters.
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub(crate) fn note_made(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Its queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// Binds a uniform and storage buffers.
    pub(crate) fn bind(
        &self,
        bindings: Bindings,
        uniform: &wgpu::Buffer,
        storage: &[&wgpu::Buffer],
    ) -> wgpu::BindGroup {
        let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: uniform.as_entire_binding() }];
        for (index, buffer) in storage.iter().enumerate() {
            let resource = buffer.as_entire_binding();
            entries.push(wgpu::BindGroupEntry { binding: index as u32 + 1, resource });
        }
        let layout = &self.layouts[place_of(bindings)];
        self.note_made();
        let descriptor = wgpu::BindGroupDescriptor { label: Some("sinew"), layout, entries: &entries };
        self.device.create_bind_group(&descriptor)
    }

    pub(crate) fn pipeline(&self, stage: Stage) -> &wgpu::ComputePipeline {
        let index = Stage::ALL.iter().position(|&other| other == stage);
        &self.pipelines[index.unwrap_or(0)]
    }

    /// Whether it has reported anything since it was last asked.
    pub fn check(&self) -> Result<(), GpuError> {
        self.trouble.check()
    }

    /// Waits until everything asked for is done.
    pub(crate) fn wait(&self) -> Result<(), GpuError> {
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.check()?;
        waited.map(|_| ()).map_err(|error| GpuError::Failed(error.to_string()))
    }
}

/// An error in our words.
pub(crate) fn told(error: wgpu::Error) -> GpuError {
    match error {
        wgpu::Error::OutOfMemory { .. } => GpuError::OutOfMemory,
        other => GpuError::Failed(other.to_string()),
    }
}

fn place_of(bindings: Bindings) -> usize {
    Bindings::ALL.iter().position(|&other| other == bindings).unwrap_or(0)
}

fn layout(device: &wgpu::Device, bindings: Bindings) -> wgpu::BindGroupLayout {
    let entry = |binding: u32, ty: wgpu::BufferBindingType| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    };
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform)];
    for (index, &written) in bindings.written().iter().enumerate() {
        entries.push(entry(index as u32 + 1, wgpu::BufferBindingType::Storage { read_only: !written }));
    }
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("sinew"), entries: &entries })
}

fn pipeline(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, stage: Stage) -> wgpu::ComputePipeline {
    let label = Some(stage.entry_point());
    let source = wgpu::ShaderSource::Wgsl(stage.source().into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(layout)],
        ..wgpu::PipelineLayoutDescriptor::default()
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&layout),
        module: &module,
        entry_point: Some(stage.entry_point()),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    })
}
