//! Materials for drawing: colours, textures and coordinates as the specification defines them; nothing that is wrong with
//! them keeps a character from being drawn.

use serde_json::json;
use sinew_gltf::{RawAsset, Surface, Surfaces, TextureWrap};
use sinew_testkit::glb::{Builder, base64};

/// Enough to be told from another file; decoding is not this crate's part.
const IMAGE: &[u8] = b"\x89PNG not really";

fn textured() -> Builder {
    let mut file = Builder::rigged();
    let uvs: Vec<f32> = (0..Builder::RIGGED_VERTICES).flat_map(|v| [v as f32 / 8.0, 0.25]).collect();
    let uvs = file.accessor("VEC2", &uvs);
    let view = file.view(IMAGE);
    file.set("/meshes/0/primitives/0/attributes/TEXCOORD_0", json!(uvs));
    file.set("/meshes/0/primitives/0/material", json!(0));
    file.set("/images", json!([{"bufferView": view, "mimeType": "image/png"}]));
    file.set("/samplers", json!([{"wrapS": 33071, "wrapT": 33648}]));
    file.set("/textures", json!([{"source": 0, "sampler": 0}]));
    let pbr = json!({"baseColorFactor": [0.5, 0.25, 1, 1], "baseColorTexture": {"index": 0}});
    file.set("/materials", json!([{"pbrMetallicRoughness": pbr, "doubleSided": true, "alphaMode": "MASK"}]));
    file
}

fn read(file: &Builder) -> (Surface, Surfaces, Vec<String>) {
    let asset = RawAsset::from_slice("test.glb", &file.glb()).expect("the geometry is sound");
    let (surfaces, warnings) = Surfaces::read(&asset.document, asset.raw.meshes.iter().map(|m| m.node));
    let surface = surfaces.get(0, 0).expect("the one primitive").clone();
    (surface, surfaces, warnings.iter().map(ToString::to_string).collect())
}

#[test]
fn a_material_is_read_whole() {
    let (surface, surfaces, warnings) = read(&textured());
    assert_eq!(warnings, [""; 0]);
    assert_eq!(surface.base_color, [0.5, 0.25, 1.0, 1.0]);
    assert!(surface.double_sided && surface.alpha_cutoff == Some(0.5) && surface.colors.is_none());
    let texture = surface.texture.expect("a texture");
    assert_eq!(texture.wrap, [TextureWrap::Clamp, TextureWrap::Mirror]);
    assert_eq!((texture.coordinates.len(), texture.coordinates[8].to_array()), (Builder::RIGGED_VERTICES, [1.0, 0.25]));
    assert_eq!(surfaces.images, [IMAGE]);
    assert!(surfaces.get(0, 1).is_none() && surfaces.get(1, 0).is_none() && surfaces.get(99, 0).is_none());
}

#[test]
fn a_primitive_without_material_has_the_default_one() {
    assert_eq!(read(&Builder::rigged()).0, Surface::default());
}

#[test]
fn texture_coordinates_are_placed_as_the_extension_says() {
    // A quarter turn takes (u, v) to (v, −u) in the extension's matrix; scale before it, offset after.
    let transform = json!({"offset": [0.5, 2], "rotation": std::f64::consts::FRAC_PI_2, "scale": [3, 4]});
    let extensions = json!({"KHR_texture_transform": transform});
    let file = textured().with("/materials/0/pbrMetallicRoughness/baseColorTexture/extensions", extensions);
    let uv = read(&file).0.texture.expect("a texture").coordinates[8];
    assert!((uv - glam::Vec2::new(0.5 + 4.0 * 0.25, 2.0 - 3.0)).length() < 1e-6, "{uv}");
}

#[test]
fn vertex_colours_of_three_or_four_parts() {
    let mut file = Builder::rigged();
    let bytes = vec![51u8; 4 * Builder::RIGGED_VERTICES];
    let four = file.normalized("VEC4", &bytes);
    let three = file.accessor("VEC3", &[0.5f32; 3 * Builder::RIGGED_VERTICES]);
    for (accessor, want) in [(four, [0.2; 4]), (three, [0.5, 0.5, 0.5, 1.0])] {
        file.set("/meshes/0/primitives/0/attributes/COLOR_0", json!(accessor));
        let colors = read(&file).0.colors.expect("colours");
        assert!(colors.len() == Builder::RIGGED_VERTICES && (0..4).all(|c| (colors[3][c] - want[c]).abs() < 1e-6));
    }
}

#[test]
fn images_in_data_uris_are_read() {
    let uri = format!("data:image/png;base64,{}", base64(IMAGE));
    assert_eq!(read(&textured().with("/images/0", json!({"uri": uri}))).1.images, [IMAGE]);
}

#[test]
fn what_is_wrong_is_told_and_the_rest_is_kept() {
    for (pointer, value, told) in [
        ("/images/0", json!({"uri": "../secret.png"}), "leaves the asset's folder"),
        ("/images/0", json!({"uri": "skin.png"}), "no folder to look in"),
        ("/images/0/bufferView", json!(99), "names buffer view 99"),
        ("/textures/0/source", json!(7), "names image 7"),
        ("/textures/0", json!({}), "has no PNG or JPEG"),
        ("/materials/0/pbrMetallicRoughness/baseColorTexture/index", json!(5), "names texture 5"),
        ("/meshes/0/primitives/0/attributes/TEXCOORD_0", json!(99), "names accessor 99"),
    ] {
        let (surface, _, warnings) = read(&textured().with(pointer, value));
        assert!(surface.double_sided && surface.base_color[1] == 0.25 && surface.texture.is_none(), "{pointer}");
        assert_eq!(warnings.len(), 1, "{pointer}: {warnings:?}");
        assert!(warnings[0].contains(told) && warnings[0].contains("[surface-unreadable]"), "{pointer}: {warnings:?}");
    }
    let mut file = textured();
    let last = file.json["bufferViews"].as_array().expect("views").len() - 1;
    file.set(&format!("/bufferViews/{last}/byteLength"), json!(1u64 << 40));
    assert!(read(&file).2[0].contains("reaches outside its buffer"));
}
