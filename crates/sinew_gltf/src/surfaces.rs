//! How surfaces look, for drawing: base colours, textures with their coordinates, vertex colours.
//!
//! Source: glTF 2.0 specification, chapters 3.8 (textures, images, samplers) and 3.9 (materials), KHR_texture_transform.
//!
//! A character is drawn even where its materials cannot be read: what is wrong becomes a warning, and the surface keeps
//! what was sound about it.

use crate::accessor::Accessors;
use crate::document::Document;
use crate::error::{Fault, Kind, REEXPORT};
use crate::uri;
use crate::view::View;
use glam::{DMat2, DVec2, Vec2};
use sinew::Warning;

/// What happens beyond a texture's border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextureWrap {
    /// It starts again.
    Repeat,
    /// It starts again, mirrored.
    Mirror,
    /// Its last row or column goes on.
    Clamp,
}

/// A texture as a primitive wears it.
#[derive(Clone, Debug, PartialEq)]
pub struct TextureUse {
    /// Index in [`Surfaces::images`].
    pub image: usize,
    /// Horizontally and vertically.
    pub wrap: [TextureWrap; 2],
    /// One per vertex; (0,0) is the top left corner.
    pub coordinates: Vec<Vec2>,
}

/// What a primitive looks like.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Linear RGBA, multiplied with texture and vertex colours.
    pub base_color: [f32; 4],
    /// Colour texture.
    pub texture: Option<TextureUse>,
    /// Linear RGBA, one per vertex.
    pub colors: Option<Vec<[f32; 4]>>,
    /// Whether faces are seen from behind.
    pub double_sided: bool,
    /// Where alpha is below, there is a hole; `None` where alpha has no meaning.
    pub alpha_cutoff: Option<f32>,
}

impl Default for Surface {
    /// glTF's default material.
    fn default() -> Self {
        Self { base_color: [1.0; 4], texture: None, colors: None, double_sided: false, alpha_cutoff: None }
    }
}

/// The looks of some of a file's meshes.
#[derive(Clone, Debug, Default)]
pub struct Surfaces {
    /// PNG or JPEG files, as many as the file lists; empty where none of the meshes wears it or it cannot be had.
    pub images: Vec<Vec<u8>>,
    mesh_of_node: Vec<Option<usize>>,
    meshes: Vec<Vec<Surface>>,
}

impl Surfaces {
    /// Reads what the meshes of `nodes` look like. Images beside the file are looked for in its folder only.
    pub fn read(document: &Document, nodes: impl IntoIterator<Item = usize>) -> (Self, Vec<Warning>) {
        let mut reader = Reader {
            document,
            accessors: Accessors::new(View::root(&document.json), &document.buffers, &document.limits),
            warnings: Vec::new(),
        };
        let mut surfaces = Self::default();
        for node in nodes {
            if let Err(fault) = reader.node(node, &mut surfaces) {
                reader.warn(fault);
            }
        }
        (surfaces, reader.warnings)
    }

    /// What a primitive of the mesh at `node` looks like, where that was read.
    pub fn get(&self, node: usize, primitive: usize) -> Option<&Surface> {
        let mesh = self.mesh_of_node.get(node).copied().flatten()?;
        self.meshes.get(mesh)?.get(primitive)
    }
}

struct Reader<'a> {
    document: &'a Document,
    accessors: Accessors<'a>,
    warnings: Vec<Warning>,
}

impl<'a> Reader<'a> {
    fn warn(&mut self, fault: Fault) {
        let message = match fault.kind {
            Kind::Io(error) => format!("cannot be read ({error}); the surface is drawn without it"),
            _ => format!("{}; the surface is drawn without it", fault.fault),
        };
        let warning = Warning { code: "surface-unreadable", subject: fault.element, message, remedy: fault.remedy };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn node(&mut self, node: usize, surfaces: &mut Surfaces) -> Result<(), Fault> {
        let root = View::root(&self.document.json);
        let Some(mesh) = root.entry("nodes", node)?.reference_at("mesh", "meshes")? else { return Ok(()) };
        // Both lists are as long as the file's own at most: the indices were checked against them.
        if surfaces.mesh_of_node.len() <= node {
            surfaces.mesh_of_node.resize(node + 1, None);
        }
        surfaces.mesh_of_node[node] = Some(mesh);
        if surfaces.meshes.len() <= mesh {
            surfaces.meshes.resize(mesh + 1, Vec::new());
        }
        if surfaces.meshes[mesh].is_empty() {
            for primitive in root.entry("meshes", mesh)?.list("primitives")? {
                let mut surface = Surface::default();
                if let Err(fault) = self.primitive(&primitive, &mut surface, &mut surfaces.images) {
                    self.warn(fault);
                }
                surfaces.meshes[mesh].push(surface);
            }
        }
        Ok(())
    }

    /// Fills in what can be read, simple things first.
    fn primitive(
        &mut self,
        primitive: &View<'a>,
        surface: &mut Surface,
        images: &mut Vec<Vec<u8>>,
    ) -> Result<(), Fault> {
        let attributes = primitive.need("attributes")?;
        surface.colors = match attributes.get("COLOR_0")? {
            Some(reference) => Some(self.colors(&reference)?),
            None => None,
        };
        let Some(material) = primitive.reference_at("material", "materials")? else { return Ok(()) };
        let material = primitive.entry("materials", material)?;
        surface.double_sided = material.get("doubleSided")?.map_or(Ok(false), |v| v.truth())?;
        let mode = material.get("alphaMode")?.map_or(Ok("OPAQUE"), |v| v.text())?;
        let cutoff = material.get("alphaCutoff")?.map_or(Ok(0.5), |v| v.number())?;
        surface.alpha_cutoff = match mode {
            "MASK" => Some(cutoff as f32),
            // Nothing is drawn half transparent: what is mostly there is there.
            "BLEND" => Some(0.5),
            _ => None,
        };
        let (parts, [color, texture]) = match extension(&material, "KHR_materials_pbrSpecularGlossiness")? {
            Some(parts) => (Some(parts), ["diffuseFactor", "diffuseTexture"]),
            None => (material.get("pbrMetallicRoughness")?, ["baseColorFactor", "baseColorTexture"]),
        };
        let Some(parts) = parts else { return Ok(()) };
        if let Some(color) = parts.numbers_at::<4>(color)? {
            surface.base_color = color.map(|c| c as f32);
        }
        if let Some(info) = parts.get(texture)? {
            surface.texture = self.texture(&info, &attributes, images)?;
        }
        Ok(())
    }

    fn colors(&self, reference: &View<'a>) -> Result<Vec<[f32; 4]>, Fault> {
        let accessor = self.accessors.open(reference)?;
        match accessor.floats::<4>() {
            Ok(colors) => Ok(colors),
            Err(_) => Ok(accessor.floats::<3>()?.into_iter().map(|[r, g, b]| [r, g, b, 1.0]).collect()),
        }
    }

    fn texture(
        &self,
        info: &View<'a>,
        attributes: &View<'a>,
        images: &mut Vec<Vec<u8>>,
    ) -> Result<Option<TextureUse>, Fault> {
        let texture = info.need("index")?.reference("textures")?;
        let texture = info.entry("textures", texture)?;
        let Some(image) = texture.reference_at("source", "images")? else {
            let fault = texture.invalid("has no PNG or JPEG image").remedy("export textures as PNG or JPEG as well");
            return Err(fault);
        };
        let transform = extension(info, "KHR_texture_transform")?;
        let own = transform.as_ref().map_or(Ok(None), |t| t.whole_at("texCoord"))?;
        let set = own.or(info.whole_at("texCoord")?).unwrap_or(0);
        let Some(coordinates) = attributes.get(&format!("TEXCOORD_{set}"))? else { return Ok(None) };
        let coordinates = self.accessors.open(&coordinates)?.floats::<2>()?.into_iter().map(Vec2::from_array);
        let place = transform.map_or(Ok((DMat2::IDENTITY, DVec2::ZERO)), |t| placement(&t))?;
        let coordinates = coordinates.map(|uv| (place.0 * uv.as_dvec2() + place.1).as_vec2()).collect();
        let wrap = match texture.reference_at("sampler", "samplers")? {
            None => [TextureWrap::Repeat; 2],
            Some(sampler) => {
                let sampler = texture.entry("samplers", sampler)?;
                [wrap(sampler.whole_at("wrapS")?), wrap(sampler.whole_at("wrapT")?)]
            }
        };
        if images.len() <= image {
            images.resize(image + 1, Vec::new());
        }
        if images[image].is_empty() {
            images[image] = self.image(&texture.entry("images", image)?)?;
        }
        Ok(Some(TextureUse { image, wrap, coordinates }))
    }

    fn image(&self, image: &View<'a>) -> Result<Vec<u8>, Fault> {
        if let Some(uri) = image.get("uri")? {
            return uri::resolve_whole(&uri, self.document.folder.as_deref(), self.document.limits.file_bytes);
        }
        let view = image.need("bufferView")?.reference("bufferViews")?;
        let view = image.entry("bufferViews", view)?;
        let buffer = view.need("buffer")?.reference("buffers")?;
        let start = usize::try_from(view.whole_at("byteOffset")?.unwrap_or(0)).ok();
        let length = usize::try_from(view.need("byteLength")?.whole()?).ok();
        let range = start.zip(length).and_then(|(start, length)| Some(start..start.checked_add(length)?));
        let bytes = range.and_then(|range| self.document.buffers.get(buffer)?.get(range));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| view.invalid("reaches outside its buffer").remedy(REEXPORT))
    }
}

fn extension<'a>(holder: &View<'a>, name: &str) -> Result<Option<View<'a>>, Fault> {
    holder.get("extensions")?.map_or(Ok(None), |extensions| extensions.get(name))
}

/// KHR_texture_transform: scale, then turn, then offset.
fn placement(transform: &View<'_>) -> Result<(DMat2, DVec2), Fault> {
    let offset = transform.numbers_at::<2>("offset")?.unwrap_or([0.0; 2]);
    let scale = transform.numbers_at::<2>("scale")?.unwrap_or([1.0; 2]);
    let (sin, cos) = transform.get("rotation")?.map_or(Ok(0.0), |v| v.number())?.sin_cos();
    let turn = DMat2::from_cols(DVec2::new(cos, -sin), DVec2::new(sin, cos));
    Ok((turn * DMat2::from_diagonal(DVec2::from_array(scale)), DVec2::from_array(offset)))
}

/// glTF's codes, which are OpenGL's.
fn wrap(code: Option<u64>) -> TextureWrap {
    match code {
        Some(33071) => TextureWrap::Clamp,
        Some(33648) => TextureWrap::Mirror,
        _ => TextureWrap::Repeat,
    }
}
