//! A model on the GPU: triangles, materials and textures once; points, normals and painted colours whenever they change.
//!
//! Everything lies in textures that shaders fetch from: every device has those in the vertex stage, storage buffers not.

use crate::data::{HAS_COLORS, HAS_NORMALS, HAS_PAINT, HAS_TEXTURE};
use crate::maker::{Kind, Maker};
use crate::{Renderer, ViewError};
use glam::{DVec3, Vec3};
use sinew_render::{Finish, Material, Mesh, Texture, Wrap, byte_from_linear};
use std::sync::Arc;
use wgpu::{AddressMode, TextureFormat};

/// Texels in a row of a texture that holds a list.
pub const ROW: u32 = 2048;

/// Meshes to draw.
#[derive(Debug)]
pub struct Model {
    maker: Arc<Maker>,
    pub(crate) parts: Vec<Part>,
}

/// A mesh.
#[derive(Debug)]
pub(crate) struct Part {
    triangles: Vec<[u32; 3]>,
    vertices: usize,
    indices: wgpu::Texture,
    positions: wgpu::Texture,
    normals: wgpu::Texture,
    paint: wgpu::Texture,
    pub group: wgpu::BindGroup,
    /// The box around all finite points, in the mesh's space.
    pub bounds: Option<[DVec3; 2]>,
    /// As in [`crate::data`].
    pub facts: u32,
    pub base_color: [f32; 4],
    pub double_sided: bool,
    pub alpha_cutoff: Option<f32>,
    pub finish: Finish,
    /// Whether triangles with points that are not finite are taken out of the list on the GPU.
    mended: bool,
}

impl Part {
    /// Number of corners to draw.
    pub fn corners(&self) -> u32 {
        if self.bounds.is_some() { 3 * self.triangles.len() as u32 } else { 0 }
    }
}

impl Model {
    /// Uploads meshes with their materials; positions and normals may be rewritten later. Transforms and wires are the
    /// draws' ([`crate::Draw`]).
    pub fn new(renderer: &Renderer, meshes: &[Mesh<'_>]) -> Result<Self, ViewError> {
        let maker = Arc::clone(&renderer.maker);
        let parts = meshes.iter().enumerate().map(|(i, mesh)| part(renderer, i, mesh)).collect::<Result<_, _>>()?;
        let mut model = Self { maker, parts };
        for (i, mesh) in meshes.iter().enumerate() {
            model.write(i, mesh.positions, mesh.normals)?;
        }
        Ok(model)
    }

    /// How many meshes there are.
    pub fn meshes(&self) -> usize {
        self.parts.len()
    }

    /// Triangles of a mesh, for [`crate::pick`]; none where there is no such mesh.
    pub fn triangles(&self, mesh: usize) -> &[[u32; 3]] {
        self.parts.get(mesh).map_or(&[], |part| &part.triangles)
    }

    /// The box around all finite points of a mesh, in its space.
    pub fn bounds(&self, mesh: usize) -> Option<[DVec3; 2]> {
        self.parts.get(mesh)?.bounds
    }

    /// Other positions and normals; without normals, faces have their own.
    pub fn write(&mut self, mesh: usize, positions: &[Vec3], normals: &[Vec3]) -> Result<(), ViewError> {
        let (maker, part) = self.part(mesh, positions.len())?;
        write_list(maker, &part.positions, bytemuck::cast_slice(positions), 4);
        let has_normals = normals.len() == positions.len();
        if has_normals {
            write_list(maker, &part.normals, bytemuck::cast_slice(normals), 4);
        }
        part.facts = part.facts & !HAS_NORMALS | if has_normals { HAS_NORMALS } else { 0 };
        let (mut low, mut high, mut broken) = (Vec3::INFINITY, Vec3::NEG_INFINITY, false);
        for p in positions {
            if p.is_finite() {
                (low, high) = (low.min(*p), high.max(*p));
            } else {
                broken = true;
            }
        }
        part.bounds = low.cmple(high).all().then(|| [low.as_dvec3(), high.as_dvec3()]);
        if broken || part.mended {
            let whole = |&t: &[u32; 3]| t.iter().all(|&v| positions.get(v as usize).is_some_and(|p| p.is_finite()));
            let kept: Vec<[u32; 3]> = part.triangles.iter().map(|t| if whole(t) { *t } else { [0; 3] }).collect();
            write_list(maker, &part.indices, bytemuck::cast_slice(&kept), 4);
            part.mended = broken;
        }
        Ok(())
    }

    /// Positions and normals that something else on the GPU has made: tightly packed, three `f32` each, from a vertex on.
    /// The buffers must have `COPY_SRC`; `bounds` is the box around all points, in the mesh's space: what lies outside may
    /// be cut off and throws no shadow.
    pub fn copy(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        mesh: usize,
        [positions, normals]: [&wgpu::Buffer; 2],
        first_vertex: usize,
        bounds: [DVec3; 2],
    ) -> Result<(), ViewError> {
        let vertices = self.parts.get(mesh).map_or(0, |part| part.vertices);
        let (_, part) = self.part(mesh, vertices)?;
        copy_list(encoder, positions, first_vertex, &part.positions, vertices);
        copy_list(encoder, normals, first_vertex, &part.normals, vertices);
        part.facts |= HAS_NORMALS;
        part.bounds = Some(bounds).filter(|[low, high]| low.is_finite() && high.is_finite() && low.cmple(*high).all());
        Ok(())
    }

    /// Painted colours, linear RGBA per vertex: heat and maps. [`crate::Draw::paint`] says how much of them is seen.
    pub fn write_colors(&mut self, mesh: usize, colors: &[[f32; 4]]) -> Result<(), ViewError> {
        let (maker, part) = self.part(mesh, colors.len())?;
        write_list(maker, &part.paint, bytemuck::cast_slice(colors), 16);
        part.facts |= HAS_PAINT;
        Ok(())
    }

    fn part(&mut self, mesh: usize, found: usize) -> Result<(&Maker, &mut Part), ViewError> {
        let meshes = self.parts.len();
        let part = self.parts.get_mut(mesh).ok_or(ViewError::NoMesh { mesh, meshes })?;
        let expected = part.vertices;
        if found == expected { Ok((&self.maker, part)) } else { Err(ViewError::Vertices { mesh, expected, found }) }
    }
}

fn part(renderer: &Renderer, index: usize, mesh: &Mesh<'_>) -> Result<Part, ViewError> {
    let maker = &*renderer.maker;
    let vertices = mesh.positions.len();
    let in_range = |t: &[u32; 3]| t.iter().all(|&v| (v as usize) < vertices);
    // Numbers of triangles stay as they are.
    let triangles: Vec<_> = mesh.triangles.iter().map(|t| if in_range(t) { *t } else { [0; 3] }).collect();
    let list = |elements: usize, format: TextureFormat| list_texture(maker, index, elements, format);
    let uvs = mesh.uvs.filter(|uvs| uvs.len() == vertices && mesh.material.texture.is_some());
    let colors = mesh.colors.filter(|colors| colors.len() == vertices);
    let indices = list(3 * triangles.len(), TextureFormat::R32Uint)?;
    let positions = list(3 * vertices, TextureFormat::R32Float)?;
    let normals = list(3 * vertices, TextureFormat::R32Float)?;
    let uv_list = list(uvs.map_or(0, <[_]>::len), TextureFormat::Rg32Float)?;
    let color_list = list(colors.map_or(0, <[_]>::len), TextureFormat::Rgba32Float)?;
    let paint = list(vertices, TextureFormat::Rgba32Float)?;
    write_list(maker, &indices, bytemuck::cast_slice(&triangles), 4);
    write_list(maker, &uv_list, bytemuck::cast_slice(uvs.unwrap_or_default()), 8);
    write_list(maker, &color_list, bytemuck::cast_slice(colors.unwrap_or_default()), 16);
    let texture = mesh.material.texture.filter(|_| uvs.is_some());
    let (picture, sampler) = picture(maker, texture);
    let lists = [&indices, &positions, &normals, &uv_list, &color_list, &paint, &picture];
    let views = lists.map(|texture| texture.create_view(&wgpu::TextureViewDescriptor::default()));
    let mut entries: Vec<_> = views.iter().map(wgpu::BindingResource::TextureView).collect();
    entries.push(wgpu::BindingResource::Sampler(&sampler));
    let group = maker.bind_group(&renderer.layouts.mesh, &entries);
    let Material { base_color, double_sided, alpha_cutoff, finish, .. } = mesh.material;
    let facts = if texture.is_some() { HAS_TEXTURE } else { 0 } | if colors.is_some() { HAS_COLORS } else { 0 };
    Ok(Part {
        triangles,
        vertices,
        indices,
        positions,
        normals,
        paint,
        group,
        bounds: None,
        facts,
        base_color,
        double_sided,
        alpha_cutoff,
        finish,
        mended: false,
    })
}

fn list_texture(
    maker: &Maker,
    mesh: usize,
    elements: usize,
    format: TextureFormat,
) -> Result<wgpu::Texture, ViewError> {
    let limit = maker.device.limits().max_texture_dimension_2d;
    let (width, rows) = (elements.clamp(1, ROW as usize) as u32, elements.div_ceil(ROW as usize).max(1));
    if rows > limit as usize {
        return Err(ViewError::Mesh { mesh, elements, limit: limit as usize * ROW as usize });
    }
    Ok(maker.texture([width, rows as u32], Kind::written(format)))
}

/// Whole rows, then what is left: width, height, first row and first byte of each.
fn pieces(elements: usize, bytes: usize) -> impl Iterator<Item = (wgpu::Extent3d, u32, usize)> {
    let row = ROW as usize;
    let (rows, rest) = (elements / row, elements % row);
    let extent = |width: usize, height: usize| wgpu::Extent3d {
        width: width as u32,
        height: height as u32,
        depth_or_array_layers: 1,
    };
    let whole = (rows > 0).then(|| (extent(row, rows), 0, 0));
    let left = (rest > 0).then(|| (extent(rest, 1), rows as u32, rows * row * bytes));
    whole.into_iter().chain(left)
}

fn layout(offset: usize, bytes: usize) -> wgpu::TexelCopyBufferLayout {
    wgpu::TexelCopyBufferLayout { offset: offset as u64, bytes_per_row: Some(ROW * bytes as u32), rows_per_image: None }
}

fn row_of(texture: &wgpu::Texture, row: u32) -> wgpu::TexelCopyTextureInfo<'_> {
    wgpu::TexelCopyTextureInfo {
        texture,
        mip_level: 0,
        origin: wgpu::Origin3d { x: 0, y: row, z: 0 },
        aspect: wgpu::TextureAspect::All,
    }
}

/// `bytes` per element.
fn write_list(maker: &Maker, texture: &wgpu::Texture, list: &[u8], bytes: usize) {
    for (extent, row, first) in pieces(list.len() / bytes, bytes) {
        maker.queue.write_texture(row_of(texture, row), &list[first..], layout(0, bytes), extent);
    }
}

fn copy_list(
    encoder: &mut wgpu::CommandEncoder,
    buffer: &wgpu::Buffer,
    first_vertex: usize,
    texture: &wgpu::Texture,
    vertices: usize,
) {
    for (extent, row, first) in pieces(3 * vertices, 4) {
        let layout = layout(12 * first_vertex + first, 4);
        encoder.copy_buffer_to_texture(wgpu::TexelCopyBufferInfo { buffer, layout }, row_of(texture, row), extent);
    }
}

/// All levels of a texture, from the finest that the device holds; white where there is none.
fn picture(maker: &Maker, texture: Option<&Texture>) -> (wgpu::Texture, wgpu::Sampler) {
    let limit = maker.device.limits().max_texture_dimension_2d as usize;
    let format = TextureFormat::Rgba8UnormSrgb;
    let levels: Vec<_> = texture.map_or_else(
        || vec![(1, 1, vec![255; 4])],
        |texture| {
            let fits = texture.levels().skip_while(|(width, height, _)| (*width).max(*height) > limit);
            let bytes = |texels: &[[f32; 4]]| {
                let of = |&[r, g, b, a]: &[f32; 4]| {
                    let [r, g, b] = [r, g, b].map(byte_from_linear);
                    [r, g, b, (a.clamp(0.0, 1.0) * 255.0 + 0.5) as u8]
                };
                texels.iter().flat_map(of).collect::<Vec<u8>>()
            };
            fits.map(|(width, height, texels)| (width, height, bytes(texels))).collect()
        },
    );
    let (width, height) = levels.first().map_or((1, 1), |level| (level.0 as u32, level.1 as u32));
    let held = maker.texture([width, height], Kind { levels: levels.len().max(1) as u32, ..Kind::written(format) });
    for (i, (width, height, bytes)) in levels.iter().enumerate() {
        let to = wgpu::TexelCopyTextureInfo { mip_level: i as u32, ..row_of(&held, 0) };
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * *width as u32), rows_per_image: None };
        let size = wgpu::Extent3d { width: *width as u32, height: *height as u32, depth_or_array_layers: 1 };
        maker.queue.write_texture(to, bytes, layout, size);
    }
    let [u, v] = texture.map_or([Wrap::Clamp; 2], Texture::wrap).map(|wrap| match wrap {
        Wrap::Repeat => AddressMode::Repeat,
        Wrap::Mirror => AddressMode::MirrorRepeat,
        Wrap::Clamp => AddressMode::ClampToEdge,
    });
    let sampler = maker.device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("sinew"),
        address_mode_u: u,
        address_mode_v: v,
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        mipmap_filter: wgpu::MipmapFilterMode::Linear,
        ..wgpu::SamplerDescriptor::default()
    });
    (held, sampler)
}
