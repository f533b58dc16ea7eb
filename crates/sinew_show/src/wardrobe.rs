//! What a character wears: its materials and decoded textures.

use glam::Vec2;
use sinew::Warning;
use sinew::rig::Primitive;
use sinew_gltf::{Asset, Document, Limits, Surface, Surfaces, TextureUse, TextureWrap};
use sinew_render::{Material, Texture, TextureError, Wrap};
use std::collections::BTreeMap;

/// Materials and textures of a scene.
#[derive(Debug, Default)]
pub struct Wardrobe {
    surfaces: Surfaces,
    textures: BTreeMap<(usize, [TextureWrap; 2]), Texture>,
}

/// One primitive's part of it.
#[derive(Clone, Copy, Debug)]
pub struct Garment<'a> {
    /// What it looks like.
    pub material: Material<'a>,
    /// Where its texture lies.
    pub uvs: Option<&'a [Vec2]>,
    /// Vertex colours, linear.
    pub colors: Option<&'a [[f32; 4]]>,
}

impl Wardrobe {
    /// Reads the scene's materials from its file; what cannot be read is told and left out.
    pub fn open(scene: &Asset, document: Option<&Document>) -> (Self, Vec<Warning>) {
        let Some(document) = document else { return <_>::default() };
        let nodes = scene.rig.parts().iter().map(|part| part.node);
        let (surfaces, mut warnings) = Surfaces::read(document, nodes);
        let mut textures = BTreeMap::new();
        let uses = scene.rig.parts().iter().flat_map(|part| {
            let surfaces = &surfaces;
            (0..part.primitives.len()).filter_map(move |i| surfaces.get(part.node, i)?.texture.as_ref())
        });
        let mut worn: Vec<(usize, [TextureWrap; 2])> =
            uses.map(|TextureUse { image, wrap, .. }| (*image, *wrap)).collect();
        worn.sort_unstable();
        worn.dedup();
        let unreadable = |image: usize, error: TextureError| Warning {
            code: "texture-unreadable",
            subject: format!("image {image}"),
            message: format!("{error}; the surface is drawn without it"),
            remedy: "save the image as PNG or JPEG and export again",
        };
        let limits = document.limits;
        let planned =
            planned(&worn.iter().map(|&(image, _)| surfaces.images[image].as_slice()).collect::<Vec<_>>(), &limits);
        let mut broken = Vec::new();
        for ((image, wrap), halvings) in worn.into_iter().zip(planned) {
            if broken.contains(&image) {
                continue;
            }
            let bytes = &surfaces.images[image];
            let decode = |times| Texture::decode_halved(bytes, wrap.map(wrap_of), times, limits.whole_pixels());
            match halvings.and_then(decode) {
                Ok(texture) => {
                    textures.insert((image, wrap), texture);
                }
                Err(error) => {
                    broken.push(image);
                    warnings.push(unreadable(image, error));
                }
            }
        }
        (Self { surfaces, textures }, warnings)
    }

    /// What the primitive with number `index` of the mesh at `node` wears.
    pub fn garment(&self, node: usize, index: usize, primitive: &Primitive) -> Garment<'_> {
        let plain = Garment { material: Material::default(), uvs: None, colors: None };
        match self.surfaces.get(node, index) {
            // Nothing is said about it: clay.
            Some(surface) if *surface == Surface::default() => plain,
            Some(surface) => {
                let worn = surface.texture.as_ref().and_then(|t| Some((t, self.textures.get(&(t.image, t.wrap))?)));
                let material = Material {
                    base_color: surface.base_color,
                    texture: worn.map(|(_, texture)| texture),
                    double_sided: surface.double_sided,
                    alpha_cutoff: surface.alpha_cutoff,
                    ..Material::default()
                };
                let uvs = worn.map(|(used, _)| used.coordinates.as_slice());
                Garment { material, uvs, colors: surface.colors.as_deref() }
            }
            None => Garment { material: Material { base_color: primitive.color, ..Material::default() }, ..plain },
        }
    }
}

/// How often each picture is halved when it is decoded, so that all together fit: the largest first, to the same size. What
/// is beyond the pixels that may be decoded at all is refused.
fn planned(pictures: &[&[u8]], limits: &Limits) -> Vec<Result<u32, TextureError>> {
    let mut left = limits.pixels;
    let sizes: Vec<Result<u64, TextureError>> = pictures
        .iter()
        .map(|bytes| {
            let size = Texture::size_of(bytes)?;
            let (width, height) = (size.width() as usize, size.height() as usize);
            let pixels = width as u64 * height as u64;
            left = left.checked_sub(pixels).ok_or(TextureError::TooLarge { width, height, limit: limits.pixels })?;
            Ok(pixels)
        })
        .collect();
    let halvings = |pixels: u64, most: u64| (0..31).find(|times| pixels >> (2 * times) <= most).unwrap_or(31);
    let fits = |most: &u64| {
        let kept = sizes.iter().flatten().map(|&pixels| pixels >> (2 * halvings(pixels, *most)));
        kept.sum::<u64>() <= limits.kept_pixels()
    };
    let most = (0..63).map(|times| u64::MAX >> times).find(fits).unwrap_or(1);
    sizes.into_iter().map(|size| size.map(|pixels| halvings(pixels, most))).collect()
}

fn wrap_of(wrap: TextureWrap) -> Wrap {
    match wrap {
        TextureWrap::Repeat => Wrap::Repeat,
        TextureWrap::Mirror => Wrap::Mirror,
        TextureWrap::Clamp => Wrap::Clamp,
    }
}
