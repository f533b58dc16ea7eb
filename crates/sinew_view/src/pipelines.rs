//! All pipelines, made once.

use crate::data;
use crate::maker::Maker;
use crate::shaders::Module;
use wgpu::{
    BindGroupLayout, BindingType, ColorWrites, CompareFunction, Face, PrimitiveTopology, RenderPipeline, ShaderModule,
    ShaderStages, TextureFormat, TextureSampleType,
};

/// Linear light in eight bits: blended and resolved as light by the hardware.
pub const LIGHT: TextureFormat = TextureFormat::Rgba8UnormSrgb;
/// What is shown: sRGB values that the hardware takes as plain numbers.
pub const SHOWN: TextureFormat = TextureFormat::Rgba8Unorm;
pub const DEPTH: TextureFormat = TextureFormat::Depth32Float;
pub const NORMALS: TextureFormat = TextureFormat::Rgb10a2Unorm;
/// Two numbers of 16 bits.
pub const PACKED: TextureFormat = TextureFormat::Rgba8Unorm;
pub const IDS: TextureFormat = TextureFormat::Rgba32Uint;

/// What pipelines are bound to.
#[derive(Debug)]
pub struct Layouts {
    /// View and draw, by offsets.
    pub uniforms: BindGroupLayout,
    /// Lists of a mesh, its texture and sampler.
    pub mesh: BindGroupLayout,
    /// Shadows sharp and soft, contact, occlusion, depth, and what reads depth.
    pub screen: BindGroupLayout,
    /// Radius, two sources, and what reads those that are depths.
    pub filter: BindGroupLayout,
}

impl Layouts {
    pub fn new(device: &wgpu::Device) -> Self {
        let both = ShaderStages::VERTEX_FRAGMENT;
        let uniform = |size: usize, has_dynamic_offset: bool| BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset,
            min_binding_size: wgpu::BufferSize::new(size as u64),
        };
        let texture = |sample_type: TextureSampleType| BindingType::Texture {
            sample_type,
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        };
        let loaded = texture(TextureSampleType::Float { filterable: false });
        let filtered = texture(TextureSampleType::Float { filterable: true });
        let layout = |entries: &[(ShaderStages, BindingType)]| {
            let entry = |(binding, &(visibility, ty)): (usize, &(ShaderStages, BindingType))| {
                wgpu::BindGroupLayoutEntry { binding: binding as u32, visibility, ty, count: None }
            };
            let entries: Vec<_> = entries.iter().enumerate().map(entry).collect();
            device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("sinew"), entries: &entries })
        };
        let (vertex, fragment) = (ShaderStages::VERTEX, ShaderStages::FRAGMENT);
        let sampler = BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
        let nearest = BindingType::Sampler(wgpu::SamplerBindingType::NonFiltering);
        Self {
            uniforms: layout(&[
                (both, uniform(size_of::<data::View>(), true)),
                (both, uniform(size_of::<data::Draw>(), true)),
            ]),
            mesh: layout(&[
                (vertex, texture(TextureSampleType::Uint)),
                (vertex, loaded),
                (vertex, loaded),
                (vertex, loaded),
                (vertex, loaded),
                (vertex, loaded),
                (fragment, filtered),
                (fragment, sampler),
            ]),
            screen: layout(&[
                (fragment, loaded),
                (fragment, loaded),
                (fragment, loaded),
                (fragment, loaded),
                (fragment, loaded),
                (fragment, nearest),
            ]),
            filter: layout(&[
                (fragment, uniform(size_of::<data::Filter>(), false)),
                (fragment, loaded),
                (fragment, loaded),
                (fragment, nearest),
            ]),
        }
    }
}

/// Faces seen from the front alone, and from both sides.
#[derive(Debug)]
pub struct Sided([RenderPipeline; 2]);

impl Sided {
    pub fn of(&self, double_sided: bool) -> &RenderPipeline {
        &self.0[usize::from(double_sided)]
    }
}

/// See [`Pipelines::COUNT`].
#[derive(Debug)]
pub struct Pipelines {
    pub solid: Sided,
    pub normals: Sided,
    pub ghost_depth: Sided,
    pub ghost: Sided,
    pub pick: Sided,
    /// For shadows: triangles, and their corners, so that slivers leave a trace.
    pub place: [RenderPipeline; 2],
    pub background: RenderPipeline,
    pub stroke_hidden: RenderPipeline,
    pub stroke_seen: RenderPipeline,
    pub moments: RenderPipeline,
    pub soften: RenderPipeline,
    pub contact: RenderPipeline,
    pub contact_darkness: RenderPipeline,
    pub occlusion: RenderPipeline,
    pub occlusion_mean: RenderPipeline,
    pub present: RenderPipeline,
}

/// What becomes of the colour that was there.
#[derive(Clone, Copy)]
enum Onto {
    Replace,
    /// The new one is multiplied by its alpha.
    Over,
    Keep,
}

/// What tells pipelines apart.
#[derive(Clone, Copy)]
struct Recipe<'a> {
    module: &'a ShaderModule,
    vertex: &'a str,
    fragment: Option<&'a str>,
    layouts: &'a [Option<&'a BindGroupLayout>],
    color: Option<(TextureFormat, Onto)>,
    depth: Option<(CompareFunction, bool)>,
    samples: u32,
    cull: bool,
    topology: PrimitiveTopology,
    buffers: &'a [Option<wgpu::VertexBufferLayout<'a>>],
}

impl Recipe<'_> {
    fn make(&self, maker: &Maker) -> RenderPipeline {
        let layout = maker.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("sinew"),
            bind_group_layouts: self.layouts,
            ..wgpu::PipelineLayoutDescriptor::default()
        });
        let compilation_options = wgpu::PipelineCompilationOptions::default;
        let targets = [self.color.map(|(format, onto)| {
            let blend = matches!(onto, Onto::Over).then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING);
            let write_mask = if matches!(onto, Onto::Keep) { ColorWrites::empty() } else { ColorWrites::ALL };
            wgpu::ColorTargetState { format, blend, write_mask }
        })];
        let cull_mode = self.cull.then_some(Face::Back);
        maker.pipeline(&wgpu::RenderPipelineDescriptor {
            label: self.fragment.or(Some(self.vertex)),
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module: self.module,
                entry_point: Some(self.vertex),
                compilation_options: compilation_options(),
                buffers: self.buffers,
            },
            primitive: wgpu::PrimitiveState { topology: self.topology, cull_mode, ..wgpu::PrimitiveState::default() },
            depth_stencil: self.depth.map(|(compare, write)| wgpu::DepthStencilState {
                format: DEPTH,
                depth_write_enabled: Some(write),
                depth_compare: Some(compare),
                stencil: wgpu::StencilState::default(),
                bias: wgpu::DepthBiasState::default(),
            }),
            multisample: wgpu::MultisampleState { count: self.samples, ..wgpu::MultisampleState::default() },
            fragment: self.fragment.map(|entry_point| wgpu::FragmentState {
                module: self.module,
                entry_point: Some(entry_point),
                compilation_options: compilation_options(),
                targets: &targets,
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}

impl Pipelines {
    /// How many there are; nothing that is drawn later makes another.
    pub const COUNT: u64 = 22;

    pub fn new(maker: &Maker, layouts: &Layouts) -> Self {
        let module = |module: Module| {
            let source = wgpu::ShaderSource::Wgsl(module.source().into());
            maker.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("sinew"), source })
        };
        let [scene, background, filter, stroke, present, pick] =
            [Module::Scene, Module::Background, Module::Filter, Module::Stroke, Module::Present, Module::Pick]
                .map(module);
        let of_mesh = [Some(&layouts.uniforms), Some(&layouts.mesh)];
        let on_screen = [Some(&layouts.uniforms), Some(&layouts.mesh), Some(&layouts.screen)];
        let behind = [Some(&layouts.uniforms), None, Some(&layouts.screen)];
        let of_filter = [Some(&layouts.uniforms), Some(&layouts.filter)];

        // Larger is nearer.
        let nearest = Some((CompareFunction::Greater, true));
        let mesh = Recipe {
            module: &scene,
            vertex: "corner",
            fragment: None,
            layouts: &of_mesh,
            color: None,
            depth: nearest,
            samples: crate::SAMPLES,
            cull: true,
            topology: PrimitiveTopology::TriangleList,
            buffers: &[],
        };
        let sided = |recipe: Recipe<'_>| {
            Sided([Recipe { cull: true, ..recipe }, Recipe { cull: false, ..recipe }].map(|recipe| recipe.make(maker)))
        };
        let place = |topology: PrimitiveTopology| {
            let depth = Some((CompareFunction::Less, true));
            Recipe { vertex: "place", depth, samples: 1, cull: false, topology, ..mesh }.make(maker)
        };
        let filtered = |fragment: &str| {
            let (vertex, color, depth) = ("filter_corner", Some((PACKED, Onto::Replace)), None);
            let layouts = &of_filter;
            let fragment = Some(fragment);
            Recipe { module: &filter, vertex, fragment, layouts, color, depth, samples: 1, cull: false, ..mesh }
                .make(maker)
        };
        let attributes = wgpu::vertex_attr_array![
            0 => Float32x4, 1 => Float32x4, 2 => Float32x4, 3 => Float32x4, 4 => Float32x4, 5 => Float32x4
        ];
        let strokes = [Some(wgpu::VertexBufferLayout {
            array_stride: size_of::<data::Stroke>() as u64,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &attributes,
        })];
        let drawn = |fragment: &str, compare: CompareFunction| {
            Recipe {
                module: &stroke,
                vertex: "stroke_corner",
                fragment: Some(fragment),
                layouts: &of_filter[..1],
                color: Some((LIGHT, Onto::Over)),
                depth: Some((compare, false)),
                cull: false,
                buffers: &strokes,
                ..mesh
            }
            .make(maker)
        };
        Self {
            solid: sided(Recipe {
                fragment: Some("solid"),
                layouts: &on_screen,
                color: Some((LIGHT, Onto::Replace)),
                ..mesh
            }),
            normals: sided(Recipe {
                fragment: Some("solid_normal"),
                color: Some((NORMALS, Onto::Replace)),
                samples: 1,
                ..mesh
            }),
            ghost_depth: sided(Recipe { fragment: Some("ghost_depth"), color: Some((LIGHT, Onto::Keep)), ..mesh }),
            ghost: sided(Recipe {
                fragment: Some("ghost"),
                layouts: &on_screen,
                color: Some((LIGHT, Onto::Over)),
                depth: Some((CompareFunction::Equal, false)),
                ..mesh
            }),
            pick: sided(Recipe {
                module: &pick,
                vertex: "pick_corner",
                fragment: Some("pick"),
                color: Some((IDS, Onto::Replace)),
                samples: 1,
                ..mesh
            }),
            place: [PrimitiveTopology::TriangleList, PrimitiveTopology::PointList].map(place),
            background: Recipe {
                module: &background,
                vertex: "background_corner",
                fragment: Some("background"),
                layouts: &behind,
                color: Some((LIGHT, Onto::Replace)),
                depth: Some((CompareFunction::Always, false)),
                cull: false,
                ..mesh
            }
            .make(maker),
            stroke_hidden: drawn("stroke_hidden", CompareFunction::Less),
            stroke_seen: drawn("stroke_seen", CompareFunction::GreaterEqual),
            moments: filtered("moments"),
            soften: filtered("soften"),
            contact: filtered("contact"),
            contact_darkness: filtered("contact_darkness"),
            occlusion: filtered("occlusion"),
            occlusion_mean: filtered("occlusion_mean"),
            present: Recipe {
                module: &present,
                vertex: "present_corner",
                fragment: Some("present"),
                layouts: &of_filter,
                color: Some((SHOWN, Onto::Replace)),
                depth: None,
                samples: 1,
                cull: false,
                ..mesh
            }
            .make(maker),
        }
    }
}
