//! What is imported, evaluated here in f64 in a few lines, against an evaluator that reads the same bytes straight by
//! the glTF specification.

use glam::{DAffine3, DQuat, DVec3};
use serde_json::json;
use sinew::raw::{RawBinding, RawMesh};
use sinew::{Clip, LocalTransform, RawRig};
use sinew_gltf::RawAsset;
use sinew_testkit::assets::assets;
use sinew_testkit::glb::Builder;
use sinew_testkit::spec::SpecFile;

/// Largest difference, as a fraction of the character's size, where everything stored is f32.
const EXACT: f64 = 1e-9;
/// The same where integers or morph weights are rounded to f32 on import.
const ROUNDED: f64 = 3e-7;

/// World transform of every node.
fn worlds(raw: &RawRig, clip: Option<&Clip>, time: f64) -> Vec<DAffine3> {
    let mut locals: Vec<LocalTransform> = raw.bones.iter().map(|bone| bone.local).collect();
    for track in clip.iter().flat_map(|clip| &clip.tracks) {
        let LocalTransform::Trs(mut trs) = locals[track.node] else {
            assert!(track.translation.is_none() && track.rotation.is_none() && track.scale.is_none());
            continue;
        };
        let sampled: (Option<DVec3>, Option<DQuat>, Option<DVec3>) = (
            track.translation.as_ref().map(|c| c.sample(time)),
            track.rotation.as_ref().map(|c| c.sample(time)),
            track.scale.as_ref().map(|c| c.sample(time)),
        );
        trs.translation = sampled.0.unwrap_or(trs.translation);
        trs.rotation = sampled.1.unwrap_or(trs.rotation);
        trs.scale = sampled.2.unwrap_or(trs.scale);
        locals[track.node] = LocalTransform::Trs(trs);
    }
    let world = |node: usize| {
        let mut world = locals[node].to_affine();
        let mut at = node;
        while let Some(parent) = raw.bones[at].parent {
            world = locals[parent].to_affine() * world;
            at = parent;
        }
        world
    };
    (0..raw.bones.len()).map(world).collect()
}

fn positions(raw: &RawRig, mesh: &RawMesh, worlds: &[DAffine3], clip: Option<&Clip>, time: f64) -> Vec<Vec<DVec3>> {
    let mut weights = mesh.morph_weights.clone();
    let track = clip.iter().flat_map(|clip| &clip.tracks).find(|track| track.node == mesh.node);
    if let Some(curve) = track.and_then(|track| track.morph.as_ref()) {
        curve.sample(time, &mut weights);
    }
    let palette: Option<Vec<DAffine3>> = match mesh.binding {
        RawBinding::Skin(skin) => {
            Some(raw.skins[skin].joints.iter().map(|joint| worlds[joint.bone] * joint.bone_from_rest).collect())
        }
        RawBinding::Node => None,
    };
    let place = |primitive: &sinew::raw::RawPrimitive| {
        let mut placed = Vec::new();
        for vertex in 0..primitive.positions.len() {
            let mut rest = primitive.positions[vertex].as_dvec3();
            for (morph, weight) in primitive.morphs.iter().zip(&weights) {
                let delta = morph.positions.as_ref().map_or(DVec3::ZERO, |deltas| deltas[vertex].as_dvec3());
                rest += f64::from(*weight) * delta;
            }
            let Some(palette) = &palette else {
                placed.push(worlds[mesh.node].transform_point3(rest));
                continue;
            };
            let influences = &primitive.influences;
            let range = vertex * influences.per_vertex..(vertex + 1) * influences.per_vertex;
            let (mut point, mut sum) = (DVec3::ZERO, 0.0);
            for (&joint, &weight) in influences.joints[range.clone()].iter().zip(&influences.weights[range]) {
                point += palette[joint as usize].transform_point3(rest) * f64::from(weight);
                sum += f64::from(weight);
            }
            placed.push(point / sum);
        }
        placed
    };
    mesh.primitives.iter().map(place).collect()
}

/// Compares all meshes at five times of every clip and in the default pose; returns how many positions were compared.
fn compare(asset: &RawAsset, spec: &SpecFile, tolerance: f64, what: &str) -> usize {
    let raw = &asset.raw;
    let skinned: Vec<usize> = raw.meshes.iter().filter(|m| m.binding != RawBinding::Node).map(|m| m.node).collect();
    assert_eq!(skinned, spec.skinned_nodes(), "{what}");
    let clips = spec.clips();
    assert_eq!(asset.clips.len(), clips.len(), "{what}");
    let mut moments = vec![(None, 0.0)];
    for (number, (clip, spec_clip)) in asset.clips.iter().zip(&clips).enumerate() {
        assert_eq!(clip.name, spec_clip.name, "{what}");
        assert_eq!(clip.span(), Some((spec_clip.start, spec_clip.end)), "{what}, clip {number}");
        for fraction in [-0.1, 0.0, 0.31, 0.5, 0.87] {
            moments.push((Some(number), spec_clip.start + fraction * (spec_clip.end - spec_clip.start)));
        }
    }
    let mut compared = 0;
    for (clip, time) in moments {
        let own_clip = clip.map(|clip| &asset.clips[clip]);
        let worlds = worlds(raw, own_clip, time);
        for mesh in &raw.meshes {
            let own = positions(raw, mesh, &worlds, own_clip, time);
            let other = spec.positions(mesh.node, clip, time);
            assert_eq!(own.len(), other.len(), "{what}");
            let all = other.iter().flatten().flatten();
            let size = all.fold(0.0, |size: f64, x| size.max(x.abs()));
            for (primitive, (own, other)) in own.iter().zip(&other).enumerate() {
                assert_eq!(own.len(), other.len(), "{what}");
                for (vertex, (a, b)) in own.iter().zip(other).enumerate() {
                    let gap = (*a - DVec3::from_array(*b)).abs().max_element();
                    assert!(
                        gap <= tolerance * size,
                        "{what}: {} primitive {primitive} vertex {vertex} clip {clip:?} time {time}: {a} against {b:?}",
                        mesh.name
                    );
                }
                compared += own.len();
            }
        }
    }
    compared
}

#[test]
fn every_asset() {
    for path in assets() {
        let asset = RawAsset::open(&path).unwrap_or_else(|e| panic!("{e}"));
        let has_morphs = asset.raw.meshes.iter().any(|m| !m.morph_weights.is_empty());
        let compared = compare(
            &asset,
            &SpecFile::open(&path),
            if has_morphs { ROUNDED } else { EXACT },
            &path.display().to_string(),
        );
        assert_eq!(compared == 0, asset.raw.meshes.is_empty(), "{}", path.display());
    }
}

fn check(file: &Builder, tolerance: f64, what: &str) -> RawAsset {
    let bytes = file.glb();
    let spec = SpecFile::from_bytes(&bytes, None);
    let asset = RawAsset::from_slice(what, &bytes).unwrap_or_else(|e| panic!("{e}"));
    assert!(compare(&asset, &spec, tolerance, what) > 0);
    asset
}

#[test]
fn the_built_file_is_sound() {
    let asset = check(&Builder::rigged(), EXACT, "rigged");
    assert_eq!(asset.warnings, []);
    let embedded = RawAsset::from_slice("embedded", &Builder::rigged().embedded()).expect("imports");
    assert_eq!(embedded.document.buffers, asset.document.buffers);
    assert_eq!(embedded.raw.meshes[0].primitives[0].positions, asset.raw.meshes[0].primitives[0].positions);
}

#[test]
fn step_and_cubic_curves() {
    let mut file = Builder::rigged();
    file.set("/animations/0/samplers/0/interpolation", json!("STEP"));
    let times = file.accessor("SCALAR", &[0.25f32, 1.0, 1.5]);
    let cubic: Vec<f32> = (0..27).map(|n| (n as f32 * 1.7).sin()).collect();
    let lifts = file.accessor("VEC3", &cubic);
    file.set("/animations/0/samplers/1", json!({"input": times, "output": lifts, "interpolation": "CUBICSPLINE"}));
    check(&file, EXACT, "STEP rotation, CUBICSPLINE translation");

    let mut file = Builder::rigged();
    let cubic: Vec<f32> = (0..36).map(|n| (n as f32 * 2.3).cos()).collect();
    let turns = file.accessor("VEC4", &cubic);
    file.set("/animations/0/samplers/0/output", json!(turns));
    file.set("/animations/0/samplers/0/interpolation", json!("CUBICSPLINE"));
    let scales = file.accessor("VEC3", &[1.0f32, 2.0, 0.5, -1.0, 1.0, 3.0, 0.1, 0.2, 4.0]);
    let sampler = file.push("/animations/0/samplers", json!({"input": 5, "output": scales}));
    file.push("/animations/0/channels", json!({"sampler": sampler, "target": {"node": 2, "path": "scale"}}));
    check(&file, EXACT, "CUBICSPLINE rotation, negative and uneven scale");
}

#[test]
fn integer_curves() {
    let quaternions: [f64; 12] = [0.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, -0.8, 0.5, 0.5, -0.5, 0.5];
    let mut files = vec![Builder::rigged(); 2];
    let bytes: Vec<i8> = quaternions.iter().map(|x| (x * 127.0).round() as i8).collect();
    let shorts: Vec<i16> = quaternions.iter().map(|x| (x * 32767.0).round() as i16).collect();
    let outputs = [files[0].normalized("VEC4", &bytes), files[1].normalized("VEC4", &shorts)];
    for (file, output) in files.iter_mut().zip(outputs) {
        file.set("/animations/0/samplers/0/output", json!(output));
        check(file, ROUNDED, "integer rotations");
    }
}

fn with_attribute(key: &str, accessor: impl FnOnce(&mut Builder) -> usize) -> Builder {
    let mut file = Builder::rigged();
    let index = accessor(&mut file);
    file.set(&format!("/meshes/0/primitives/0/attributes/{key}"), json!(index));
    file
}

#[test]
fn integer_attributes() {
    let n = Builder::RIGGED_VERTICES;
    let joints: Vec<u32> = (0..4 * n).map(|i| (i % 2) as u32).collect();
    let u16s: Vec<u16> = joints.iter().map(|&j| j as u16).collect();
    check(&with_attribute("JOINTS_0", |f| f.accessor("VEC4", &u16s)), EXACT, "u16 joints");
    let u8s: Vec<u8> = (0..4 * n).map(|i| (i * 37 % 251) as u8).collect();
    check(&with_attribute("WEIGHTS_0", |f| f.normalized("VEC4", &u8s)), ROUNDED, "u8 weights");
    let u16s: Vec<u16> = (0..4 * n).map(|i| (i * 7919 % 65521) as u16).collect();
    check(&with_attribute("WEIGHTS_0", |f| f.normalized("VEC4", &u16s)), ROUNDED, "u16 weights");
    // KHR_mesh_quantization: positions as any integers, normalised or not.
    let i8s: Vec<i8> = (0..3 * n).map(|i| (i * 41 + 128) as u8 as i8).collect();
    assert!(i8s.contains(&i8::MIN), "the one value that normalising has to clamp");
    check(&with_attribute("POSITION", |f| f.normalized("VEC3", &i8s)), ROUNDED, "i8 positions");
    check(&with_attribute("POSITION", |f| f.accessor("VEC3", &i8s)), EXACT, "plain i8 positions");
    let i16s: Vec<i16> = (0..3 * n).map(|i| (i * 7919 + 32768) as u16 as i16).collect();
    check(&with_attribute("POSITION", |f| f.normalized("VEC3", &i16s)), ROUNDED, "i16 positions");
    let u8s: Vec<u8> = i8s.iter().map(|&i| i as u8).collect();
    check(&with_attribute("POSITION", |f| f.accessor("VEC3", &u8s)), EXACT, "plain u8 positions");
    let mut file = with_attribute("POSITION", |f| f.normalized("VEC3", &i16s));
    file.set("/extensionsRequired", json!(["KHR_mesh_quantization"]));
    check(&file, ROUNDED, "quantization required");
}

#[test]
fn more_influence_sets() {
    let n = Builder::RIGGED_VERTICES;
    let mut file = Builder::rigged();
    for set in 1..4 {
        let joints: Vec<u8> = (0..4 * n).map(|i| (i / set % 2) as u8).collect();
        let weights: Vec<f32> = (0..4 * n).map(|i| 0.1 + (i * set % 7) as f32).collect();
        let (joints, weights) = (file.accessor("VEC4", &joints), file.accessor("VEC4", &weights));
        file.set(&format!("/meshes/0/primitives/0/attributes/JOINTS_{set}"), json!(joints));
        file.set(&format!("/meshes/0/primitives/0/attributes/WEIGHTS_{set}"), json!(weights));
    }
    let asset = check(&file, EXACT, "four sets");
    assert_eq!(asset.raw.meshes[0].primitives[0].influences.per_vertex, 16);
}

#[test]
fn interleaved_and_sparse() {
    let n = Builder::RIGGED_VERTICES;
    let mut file = Builder::rigged();
    let interleaved: Vec<f32> = (0..5 * n).map(|i| (i as f32 * 0.77).sin()).collect();
    let view = file.view(&interleaved);
    file.set(&format!("/bufferViews/{view}/byteStride"), json!(20));
    let entry = json!({"bufferView": view, "byteOffset": 8, "componentType": 5126, "type": "VEC3", "count": n});
    let strided = file.push("/accessors", entry.clone());
    file.set("/meshes/0/primitives/0/attributes/POSITION", json!(strided));
    check(&file, EXACT, "interleaved");

    let (places, values) = (file.view(&[1u16, 4, 19]), file.view(&[9.0f32, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]));
    let sparse = json!({
        "count": 3,
        "indices": {"bufferView": places, "componentType": 5123},
        "values": {"bufferView": values},
    });
    file.set(&format!("/accessors/{strided}/sparse"), sparse.clone());
    let asset = check(&file, EXACT, "sparse over interleaved");
    assert_eq!(asset.raw.meshes[0].primitives[0].positions[4].to_array(), [6.0, 5.0, 4.0]);

    // Morph targets are where sparse accessors without a buffer view occur.
    let zeros = json!({"componentType": 5126, "type": "VEC3", "count": n, "sparse": sparse});
    let delta = file.push("/accessors", zeros);
    file.set("/meshes/0/primitives/0/targets", json!([{"POSITION": delta, "NORMAL": delta}, {}]));
    file.set("/meshes/0/weights", json!([0.5, 1]));
    let asset = check(&file, EXACT, "sparse morph, the mesh's weights");
    assert_eq!(asset.raw.meshes[0].morph_weights, [0.5, 1.0]);
    assert!(asset.raw.meshes[0].primitives[0].morphs[1].positions.is_none());
    file.set("/nodes/0/weights", json!([-2, 0.25]));
    let (times, weights) = (5, file.accessor("SCALAR", &[0.0f32, 1.0, 0.25, 2.0, -1.0, 0.5]));
    let sampler = file.push("/animations/0/samplers", json!({"input": times, "output": weights}));
    file.push("/animations/0/channels", json!({"sampler": sampler, "target": {"node": 0, "path": "weights"}}));
    let asset = check(&file, ROUNDED, "animated morph weights");
    assert_eq!(asset.raw.meshes[0].morph_weights, [-2.0, 0.25]);
}

#[test]
fn no_binds_matrix_nodes_and_instances() {
    let mut file = Builder::rigged().without("/skins/0/inverseBindMatrices");
    check(&file, EXACT, "no inverse bind matrices");
    let root = json!({
        "name": "root", "children": [1],
        "matrix": [2, 0.5, 0, 0, 0, -1, 0, 0, 0, 0.25, 3, 0, 5, 6, 7, 1],
    });
    file.push("/nodes", root);
    file.set("/scenes/0/nodes", json!([0, 3]));
    check(&file, EXACT, "sheared and mirrored matrix above the joints");
    // The same mesh again: with the skin, and riding on a joint.
    file.push("/nodes", json!({"name": "twin", "mesh": 0, "skin": 0}));
    file.push("/nodes", json!({"name": "rider", "mesh": 0, "translation": [1, 2, 3], "scale": [1, -2, 0.5]}));
    file.set("/nodes/2/children", json!([5]));
    let asset = check(&file, EXACT, "instances");
    let names: Vec<&str> = asset.raw.meshes.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["Tube", "twin", "rider"]);
    assert_eq!(asset.raw.meshes[2].binding, RawBinding::Node);
    assert_eq!(asset.raw.meshes[2].primitives[0].influences.per_vertex, 0);
    assert_eq!(asset.raw.animated, [1, 2]);
}

/// Riders are unskinned meshes at or below a joint, or at or below an animated ancestor of one; all else is scenery.
#[test]
fn riders_and_scenery() {
    let mesh = |name: &str| json!({"name": name, "mesh": 1, "translation": [1, 0, 0]});
    let mut file = Builder::rigged();
    file.push("/meshes", json!({"name": "Box", "primitives": [{"attributes": {"POSITION": 0}}]}));
    file.push("/nodes", json!({"name": "stage", "children": [4, 5]})); // 3
    file.push("/nodes", json!({"name": "cart", "children": [1, 6]})); // 4
    file.push("/nodes", mesh("floor")); // 5
    file.push("/nodes", mesh("lantern on the cart")); // 6
    file.push("/nodes", mesh("sword")); // 7
    file.push("/nodes", json!({"name": "hand", "children": [7]})); // 8
    file.set("/nodes/2/children", json!([8]));
    file.set("/nodes/2/mesh", json!(1));
    file.set("/scenes/0/nodes", json!([0, 3]));
    let riders = |file: &Builder, what: &str| -> Vec<String> {
        let asset = check(file, EXACT, what);
        let riders = asset.raw.meshes.iter().filter(|m| m.binding == RawBinding::Node);
        riders.map(|m| m.name.clone()).collect()
    };
    assert_eq!(riders(&file, "a cart at rest"), ["upper", "sword"]);
    file.set("/animations/0/channels/1/target/node", json!(4));
    assert_eq!(riders(&file, "a rolling cart"), ["upper", "lantern on the cart", "sword"]);
    // An animated node that no joint hangs from carries scenery.
    file.set("/animations/0/channels/1/target/node", json!(5));
    assert_eq!(riders(&file, "a moving floor"), ["upper", "sword"]);
    // A mesh without a node name goes by its own.
    let file = file.without("/nodes/7/name");
    assert_eq!(riders(&file, "a nameless sword"), ["upper", "Box"]);
}

/// The triangles a primitive of the given mode means, by the specification's own words: for a strip
/// `p_i = {v_i, v_(i+1+i%2), v_(i+2-i%2)}`, for a fan `p_i = {v_(i+1), v_(i+2), v_0}`.
#[test]
fn strips_fans_and_no_indices() {
    let file = Builder::rigged();
    let triangles = |file: &Builder, what: &str| check(file, EXACT, what).raw.meshes[0].primitives[0].triangles.clone();
    let mut strip = file.clone();
    let index = strip.accessor("SCALAR", &[3u8, 1, 4, 2, 5]);
    strip.set("/meshes/0/primitives/0/indices", json!(index));
    strip.set("/meshes/0/primitives/0/mode", json!(5));
    assert_eq!(triangles(&strip, "strip"), [[3, 1, 4], [1, 2, 4], [4, 2, 5]]);
    strip.set("/meshes/0/primitives/0/mode", json!(6));
    assert_eq!(triangles(&strip, "fan"), [[1, 4, 3], [4, 2, 3], [2, 5, 3]]);
    let plain = file.clone().without("/meshes/0/primitives/0/indices");
    let listed = triangles(&plain, "no indices");
    assert_eq!(listed.len(), Builder::RIGGED_VERTICES / 3);
    assert_eq!(listed[1], [3, 4, 5]);
    let strip = plain.with("/meshes/0/primitives/0/mode", json!(5));
    assert_eq!(triangles(&strip, "strip without indices")[..2], [[0, 1, 2], [1, 3, 2]]);
    let indices: Vec<u32> = vec![0, 1, 2, 2, 1, 3];
    let mut wide = file.clone();
    let index = wide.accessor("SCALAR", &indices);
    wide.set("/meshes/0/primitives/0/indices", json!(index));
    assert_eq!(triangles(&wide, "u32 indices"), [[0, 1, 2], [2, 1, 3]]);
}
