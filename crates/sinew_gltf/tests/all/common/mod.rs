//! Random layers, and what a file with one must look like, worked out from the file without it.

use glam::Vec3;
use serde_json::Value;
use sinew::RawRig;
use sinew_gltf::Document;
use sinew_gltf::layer::{ClipWeights, MorphLayer, NodeTargets, NodeWeights, PrimitiveTargets, Storage, Target};
use sinew_testkit::random::Random;
use sinew_testkit::spec::{Matrix, SpecFile, product, transformed};

/// Targets and weights for every mesh that moves, or for about half of them.
pub fn random_layer(raw: &RawRig, document: &Document, every_mesh: bool, random: &mut Random) -> MorphLayer {
    let mut layer = MorphLayer { recipe: "version = 1\n".into(), ..MorphLayer::default() };
    for mesh in raw.meshes.iter().filter(|_| every_mesh || random.below(2) == 0).collect::<Vec<_>>() {
        let count = 1 + random.below(3);
        // Dense, sparse and nothing at all, of numbers that the storage can hold.
        let vectors = |length: usize, storage: Storage, random: &mut Random| -> Vec<Vec3> {
            let share = [0, 1, 30, 100][random.below(4)];
            let number = |random: &mut Random| {
                let x = random.between(-1.0, 1.0);
                let held = match storage {
                    Storage::Float => x,
                    Storage::Byte => (127.0 * x).round(),
                    Storage::Short => (300.0 * x).round(),
                    Storage::NormalizedByte => (127.0 * x).round() / 127.0,
                    Storage::NormalizedShort => (32767.0 * x).round() / 32767.0,
                };
                held as f32
            };
            let vector = |_| match random.below(100) < share {
                true => Vec3::new(number(random), number(random), number(random)),
                false => Vec3::ZERO,
            };
            (0..length).map(vector).collect()
        };
        let target = |length: usize, random: &mut Random| {
            let whole = [Storage::Byte, Storage::Short, Storage::NormalizedByte, Storage::NormalizedShort];
            let position_storage = if random.below(3) == 0 { Storage::Float } else { whole[random.below(4)] };
            let direction_storage = if random.below(3) == 0 { Storage::Float } else { whole[2 + random.below(2)] };
            Target {
                positions: vectors(length, position_storage, random),
                normals: Some(vectors(length, direction_storage, random)),
                tangents: (random.below(2) == 0).then(|| vectors(length, direction_storage, random)),
                position_storage,
                direction_storage,
            }
        };
        let primitives = mesh.primitives.iter().map(|primitive| PrimitiveTargets {
            targets: (0..count).map(|_| target(primitive.positions.len(), random)).collect(),
        });
        let primitives = primitives.collect();
        let names = (0..count).map(|n| format!("sinew {n}")).collect();
        layer.nodes.push(NodeTargets { node: mesh.node, count, names, primitives });
    }
    let animations = document.json.get("animations").and_then(Value::as_array).map_or(0, Vec::len);
    for animation in (0..animations).filter(|_| random.below(3) > 0).collect::<Vec<_>>() {
        let nodes = layer.nodes.iter().map(|targets| {
            let keys = 1 + random.below(6);
            let mut time = 0.0;
            let times: Vec<f32> = (0..keys)
                .map(|_| {
                    time += random.between(0.05, 0.8);
                    time as f32
                })
                .collect();
            let weights = (0..keys * targets.count).map(|_| random.between(-1.0, 1.0) as f32).collect();
            NodeWeights { node: targets.node, times, weights }
        });
        let nodes = nodes.collect();
        layer.clips.push(ClipWeights { animation, nodes });
    }
    layer
}

/// The weights `layer` gives the targets of `node` at a time of a clip.
pub fn layer_weights(layer: &MorphLayer, node: usize, clip: Option<usize>, time: f64) -> Vec<f64> {
    let count = layer.nodes.iter().find(|targets| targets.node == node).map_or(0, |targets| targets.count);
    let curve = layer.clips.iter().filter(|weights| Some(weights.animation) == clip).flat_map(|weights| &weights.nodes);
    let Some(curve) = curve.into_iter().find(|weights| weights.node == node) else { return vec![0.0; count] };
    let key = |key: usize| curve.weights[key * count..(key + 1) * count].iter().map(|&w| f64::from(w));
    let after = curve.times.iter().position(|&t| f64::from(t) > time).unwrap_or(curve.times.len());
    if after == 0 || after == curve.times.len() {
        return key(after.saturating_sub(1)).collect();
    }
    let (t0, t1) = (f64::from(curve.times[after - 1]), f64::from(curve.times[after]));
    let s = (time - t0) / (t1 - t0);
    key(after - 1).zip(key(after)).map(|(a, b)| a + (b - a) * s).collect()
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_f64).collect())
}

/// Weights of the node's own targets in the file without the layer.
pub fn own_weights(spec: &SpecFile, node: usize, clip: Option<usize>, time: f64) -> Vec<f64> {
    let value = &spec.json()["nodes"][node];
    let mesh = &spec.json()["meshes"][value["mesh"].as_u64().expect("a mesh") as usize];
    clip.and_then(|clip| spec.channel(clip, node, "weights", time))
        .or_else(|| numbers(&value["weights"]))
        .or_else(|| numbers(&mesh["weights"]))
        .unwrap_or_default()
}

/// World positions of the vertices of a mesh node of the file `spec` as they must be once it has `layer`.
pub fn expected_positions(
    spec: &SpecFile,
    layer: &MorphLayer,
    node: usize,
    clip: Option<usize>,
    time: f64,
) -> Vec<Vec<[f64; 3]>> {
    let json = spec.json();
    let index = |value: &Value| value.as_u64().expect("an index") as usize;
    let value = &json["nodes"][node];
    let mesh = &json["meshes"][index(&value["mesh"])];
    let own = own_weights(spec, node, clip, time);
    let added = layer_weights(layer, node, clip, time);
    let targets = layer.nodes.iter().find(|targets| targets.node == node);
    let world = spec.node_world(node, clip, time);
    let palette: Option<Vec<Matrix>> = value.get("skin").map(|skin| {
        let skin = &json["skins"][index(skin)];
        let binds = skin.get("inverseBindMatrices").map(|binds| spec.accessor(index(binds)));
        let joints = skin["joints"].as_array().expect("joints").iter().enumerate();
        joints
            .map(|(number, joint)| {
                let world = spec.node_world(index(joint), clip, time);
                let bind = |binds: &[f64]| binds[16 * number..16 * number + 16].try_into().expect("a matrix");
                binds.as_ref().map_or(world, |binds| product(&world, &bind(binds)))
            })
            .collect()
    });
    let primitives = mesh["primitives"].as_array().expect("primitives").iter().enumerate();
    primitives
        .map(|(number, primitive)| {
            let attributes = &primitive["attributes"];
            let mut points = spec.accessor(index(&attributes["POSITION"])).to_vec();
            let own_targets = primitive["targets"].as_array().map_or(&[][..], |targets| targets);
            for (target, weight) in own_targets.iter().zip(&own) {
                let Some(deltas) = target.get("POSITION") else { continue };
                let deltas = spec.accessor(index(deltas));
                points.iter_mut().zip(deltas.iter()).for_each(|(p, d)| *p += weight * d);
            }
            let given = targets.map_or(&[][..], |targets| &targets.primitives[number].targets);
            for (target, weight) in given.iter().zip(&added) {
                let deltas = target.positions.iter().flat_map(|d| d.to_array());
                points.iter_mut().zip(deltas).for_each(|(p, d)| *p += weight * f64::from(d));
            }
            let points = points.chunks(3).map(|p| [p[0], p[1], p[2]]);
            let Some(palette) = &palette else { return points.map(|p| transformed(&world, &p)).collect() };
            let set = |name: &str, set: usize| attributes.get(format!("{name}_{set}")).map(|a| spec.accessor(index(a)));
            let sets: Vec<_> = (0..).map_while(|n| Some((set("JOINTS", n)?, set("WEIGHTS", n)?))).collect();
            points
                .enumerate()
                .map(|(vertex, p)| {
                    let (mut sum, mut total) = ([0.0; 3], 0.0);
                    for (joints, weights) in &sets {
                        for slot in 4 * vertex..4 * vertex + 4 {
                            if weights[slot] != 0.0 {
                                let moved = transformed(&palette[joints[slot] as usize], &p);
                                (0..3).for_each(|axis| sum[axis] += weights[slot] * moved[axis]);
                                total += weights[slot];
                            }
                        }
                    }
                    sum.map(|x| x / total)
                })
                .collect()
        })
        .collect()
}
