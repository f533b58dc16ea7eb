//! What a character wears: its materials and decoded textures.

use crate::load::Scene;
use glam::Vec2;
use sinew::Warning;
use sinew::rig::Primitive;
use sinew_gltf::{Document, Surface, Surfaces, TextureUse, TextureWrap};
use sinew_render::{Material, Texture, Wrap};
use std::collections::BTreeMap;

/// Materials and textures of a scene.
#[derive(Default)]
pub struct Wardrobe {
    surfaces: Surfaces,
    textures: BTreeMap<(usize, [TextureWrap; 2]), Texture>,
}

/// One primitive's part of it.
#[derive(Clone, Copy)]
pub struct Garment<'a> {
    pub material: Material<'a>,
    pub uvs: Option<&'a [Vec2]>,
    pub colors: Option<&'a [[f32; 4]]>,
}

impl Wardrobe {
    /// Reads the scene's materials from its file; what cannot be read is told and left out.
    pub fn open(scene: &Scene, document: Option<&Document>) -> (Self, Vec<Warning>) {
        let Some(document) = document else { return <_>::default() };
        let nodes = scene.rig.parts().iter().map(|part| part.node);
        let (surfaces, mut warnings) = Surfaces::read(document, nodes);
        let mut textures = BTreeMap::new();
        let uses = scene.rig.parts().iter().flat_map(|part| {
            let surfaces = &surfaces;
            (0..part.primitives.len()).filter_map(move |i| surfaces.get(part.node, i)?.texture.as_ref())
        });
        let mut broken = Vec::new();
        for TextureUse { image, wrap, .. } in uses {
            if textures.contains_key(&(*image, *wrap)) || broken.contains(image) {
                continue;
            }
            match Texture::decode(&surfaces.images[*image], wrap.map(wrap_of)) {
                Ok(texture) => {
                    textures.insert((*image, *wrap), texture);
                }
                Err(error) => {
                    broken.push(*image);
                    warnings.push(Warning {
                        code: "texture-unreadable",
                        subject: format!("image {image}"),
                        message: format!("{error}; the surface is drawn without it"),
                        remedy: "save the image as PNG or JPEG and export again",
                    });
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

fn wrap_of(wrap: TextureWrap) -> Wrap {
    match wrap {
        TextureWrap::Repeat => Wrap::Repeat,
        TextureWrap::Mirror => Wrap::Mirror,
        TextureWrap::Clamp => Wrap::Clamp,
    }
}
