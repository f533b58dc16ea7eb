//! Skin weights that the rig builder repaired, as a file has to have them so that engines move the same skin.

use crate::layer::RepairedSkin;
use sinew::Rig;
use sinew::raw::{RawBinding, RawInfluences, RawRig};

/// Weights whose sum misses 1 by less play the same everywhere; the rig builder says nothing of them either.
const WORTH_REPAIRING: f64 = 1e-3;

/// The influences of primitives that engines would read otherwise than the rig builder did.
pub fn repaired_skins(raw: &RawRig, rig: &Rig) -> Vec<RepairedSkin> {
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
        let of_point = rig.influences(rig.point(vertex));
        let mut pairs: Vec<(f32, u32)> =
            of_point.map(|i| (i.weight, i.palette.saturating_sub(first_entry as u32))).collect();
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
