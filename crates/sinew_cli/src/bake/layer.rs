//! From what was baked to what is written: targets and curves by node and animation, and repaired skin weights.

use crate::load::Scene;
use sinew::Rig;
use sinew::raw::{RawBinding, RawInfluences, RawRig};
use sinew::simd::LANES;
use sinew_bake::Baked;
use sinew_gltf::layer::{ClipWeights, MorphLayer, NodeTargets, NodeWeights, PrimitiveTargets, RepairedSkin, Target};

/// Weights whose sum misses 1 by less play the same everywhere; the rig builder says nothing of them either.
const WORTH_REPAIRING: f64 = 1e-3;

/// The layer to add to the file; takes the targets out of `baked`.
pub fn morph_layer(scene: &Scene, baked: &mut Baked, animations: &[usize], recipe: String) -> MorphLayer {
    let parts = scene.rig.parts();
    let mut nodes = Vec::with_capacity(baked.parts.len());
    let mut node_of_part = Vec::with_capacity(baked.parts.len());
    for part in std::mem::take(&mut baked.parts) {
        let node = parts[part.part].node;
        let count = part.targets.len();
        let mut primitives = vec![PrimitiveTargets::default(); parts[part.part].primitives.len()];
        for target in part.targets {
            for (primitive, target) in primitives.iter_mut().zip(target) {
                let sinew_bake::PrimitiveTarget { positions, normals, tangents } = target;
                primitive.targets.push(Target { positions, normals, tangents });
            }
        }
        let names = (0..count).map(|target| format!("sinew_{target}")).collect();
        nodes.push(NodeTargets { node, count, names, primitives });
        node_of_part.push(node);
    }
    let mut clips = Vec::with_capacity(animations.len());
    for (&animation, curves) in animations.iter().zip(std::mem::take(&mut baked.clips)) {
        let weights = |(curve, &node): (sinew_bake::WeightCurve, &usize)| NodeWeights {
            node,
            times: curve.times.iter().map(|&time| time as f32).collect(),
            weights: curve.weights.concat(),
        };
        clips.push(ClipWeights { animation, nodes: curves.into_iter().zip(&node_of_part).map(weights).collect() });
    }
    MorphLayer { nodes, clips, repaired_skins: repaired_skins(&scene.raw, &scene.rig), recipe }
}

/// The influences of primitives that engines would read otherwise than the rig builder did.
fn repaired_skins(raw: &RawRig, rig: &Rig) -> Vec<RepairedSkin> {
    let mut repaired = Vec::new();
    for (part, mesh) in rig.parts().iter().zip(&raw.meshes) {
        let RawBinding::Skin(skin) = mesh.binding else { continue };
        let joints = raw.skins[skin].joints.len();
        let first: usize = raw.skins[..skin].iter().map(|skin| skin.joints.len()).sum();
        for (primitive, (built, source)) in part.primitives.iter().zip(&mesh.primitives).enumerate() {
            if needs_repair(&source.influences, joints) {
                let influences = influences(rig, built.vertices.clone(), first);
                repaired.push(RepairedSkin { node: part.node, primitive, influences });
            }
        }
    }
    repaired
}

fn needs_repair(influences: &RawInfluences, joints: usize) -> bool {
    if influences.per_vertex == 0 {
        return false;
    }
    let pairs = influences.weights.chunks(influences.per_vertex).zip(influences.joints.chunks(influences.per_vertex));
    pairs.into_iter().any(|(weights, indices)| {
        let is_bad = |(&weight, &joint): (&f32, &u32)| {
            weight != 0.0 && (!weight.is_finite() || weight < 0.0 || joint as usize >= joints)
        };
        let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        weights.iter().zip(indices).any(is_bad) || (sum - 1.0).abs() > WORTH_REPAIRING
    })
}

/// As the rig has them, the largest first: engines that take four take the first four.
fn influences(rig: &Rig, vertices: std::ops::Range<usize>, first_entry: usize) -> RawInfluences {
    let of_vertex = |vertex: usize| {
        let slot = rig.point_of_vertex()[vertex] as usize;
        let row = &rig.rows()[slot / LANES];
        let range = row.skin.start as usize..row.skin.end as usize;
        let entries = rig.skin_entries()[range.clone()].iter().zip(&rig.skin_weights()[range]);
        // A row may hold points of other skins, whose entries weigh nothing here.
        let mut pairs: Vec<(f32, u32)> = entries
            .map(|(&entry, weights)| (weights[slot % LANES], entry))
            .filter(|(weight, _)| *weight > 0.0)
            .map(|(weight, entry)| (weight, entry.saturating_sub(first_entry as u32)))
            .collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        pairs
    };
    let all: Vec<Vec<(f32, u32)>> = vertices.map(of_vertex).collect();
    let per_vertex = all.iter().map(Vec::len).max().unwrap_or(0);
    let padded = |pairs: &Vec<(f32, u32)>| {
        let mut pairs = pairs.clone();
        pairs.resize(per_vertex, (0.0, 0));
        pairs
    };
    let pairs: Vec<(f32, u32)> = all.iter().flat_map(padded).collect();
    RawInfluences {
        per_vertex,
        joints: pairs.iter().map(|pair| pair.1).collect(),
        weights: pairs.iter().map(|pair| pair.0).collect(),
    }
}
