//! Exact normals of coarse real characters against face normals of the same surface cut sixteen times finer.

use glam::Vec3;
use sinew::raw::{RawInfluences, RawPrimitive};
use sinew::recipe::{EffectSpec, Normals};
use sinew::*;
use sinew_testkit::assets::asset;
use std::collections::HashMap;
use std::sync::Arc;

/// Cuts every triangle in four at its edges' middles; the first vertices stay what they were.
pub(crate) fn subdivided(coarse: &RawPrimitive) -> RawPrimitive {
    let mut fine =
        RawPrimitive { normals: None, tangents: None, morphs: Vec::new(), maps: Vec::new(), ..coarse.clone() };
    let per_vertex = 2 * coarse.influences.per_vertex;
    let pad = |influences: &RawInfluences, v: usize| -> Vec<(u32, f32)> {
        let range = v * influences.per_vertex..(v + 1) * influences.per_vertex;
        range.map(|i| (influences.joints[i], influences.weights[i])).collect()
    };
    let mut rows: Vec<Vec<(u32, f32)>> = (0..coarse.positions.len()).map(|v| pad(&coarse.influences, v)).collect();
    // Copies along a seam share their middles, or the finer surface would come apart there.
    let mut middles: HashMap<[u32; 2], u32> = HashMap::new();
    fine.triangles.clear();
    for &[a, b, c] in &coarse.triangles {
        let mut middle = |a: u32, b: u32| {
            *middles.entry([a.min(b), a.max(b)]).or_insert_with(|| {
                let (i, j) = (a as usize, b as usize);
                let position = (coarse.positions[i] + coarse.positions[j]) * 0.5;
                let mut merged: Vec<(u32, f32)> = Vec::new();
                for (joint, weight) in pad(&coarse.influences, i).into_iter().chain(pad(&coarse.influences, j)) {
                    match merged.iter_mut().find(|(other, _)| *other == joint) {
                        Some((_, sum)) => *sum += 0.5 * weight,
                        None => merged.push((joint, 0.5 * weight)),
                    }
                }
                fine.positions.push(position);
                rows.push(merged);
                fine.positions.len() as u32 - 1
            })
        };
        let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
        fine.triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    fine.influences = RawInfluences { per_vertex, joints: Vec::new(), weights: Vec::new() };
    for mut row in rows {
        row.sort_by_key(|&(joint, _)| joint);
        row.resize(per_vertex, (0, 0.0));
        fine.influences.joints.extend(row.iter().map(|r| r.0));
        fine.influences.weights.extend(row.iter().map(|r| r.1));
    }
    fine
}

/// Area-weighted normals of the faces around each control point of the first `count` vertices.
fn face_normals(rig: &Rig, mesh: &DeformedMesh, count: usize) -> Vec<Vec3> {
    let mut sums: HashMap<u32, Vec3> = HashMap::new();
    for t in rig.triangles() {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
        for &v in t {
            *sums.entry(rig.point_of_vertex()[v as usize]).or_default() += (b - a).cross(c - a);
        }
    }
    (0..count).map(|v| sums.get(&rig.point_of_vertex()[v]).copied().unwrap_or_default().normalize_or_zero()).collect()
}

#[test]
#[allow(clippy::print_stderr, reason = "the figures are the point")]
fn exact_normals_agree_with_the_finer_surface() {
    for (name, bound) in [("CesiumMan.glb", 0.05), ("Fox.glb", 0.08)] {
        let Some(path) = asset(name) else { return };
        let mut imported = sinew_gltf::RawAsset::open(&path).expect("imports");
        // Smooth normals from the faces, on both surfaces: the angle that effects add is what is compared.
        let coarse_raw = imported.raw.clone();
        for primitive in imported.raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
            *primitive = subdivided(&subdivided(primitive));
        }
        let count = coarse_raw.meshes[0].primitives[0].positions.len();
        let at = |raw: &RawRig, normals: Normals, effects: bool| {
            let (rig, _) = Rig::build(raw).expect("builds");
            let effects = if effects {
                ["floppy", "squash"].iter().filter_map(|name| EffectSpec::new(name)).collect()
            } else {
                Vec::new()
            };
            let rig = Arc::new(rig);
            let stage = Stage::new(&rig, &Recipe { normals, effects, ..Recipe::default() }).expect("fits");
            let clip = &imported.clips[imported.clips.len() - 1];
            let playing = stage.motion(clip, &MotionSettings::default()).expect("reads");
            let time = playing.report().start + 0.4 * (playing.report().last_key - playing.report().start);
            let out = playing.frame(time, &mut Workspace::default()).clone();
            (rig, out)
        };
        // The turn that base and effects give the finer surface's normals, from rest to the frame.
        let (fine_rig, fine) = at(&imported.raw, Normals::Engine, true);
        let after = face_normals(&fine_rig, &fine, count);
        let rest_points = DeformedMesh {
            positions: imported.raw.meshes[0].primitives[0].positions.clone(),
            ..DeformedMesh::default()
        };
        let before = face_normals(&fine_rig, &rest_points, count);
        // The same rest normals carried by ours.
        let mut carried_raw = coarse_raw.clone();
        carried_raw.meshes[0].primitives[0].normals = Some(before);
        let angles = |normals: Normals| {
            let (_, ours) = at(&carried_raw, normals, true);
            let mut angles: Vec<f32> = (0..count)
                .filter(|&v| after[v] != Vec3::ZERO)
                .map(|v| ours.normals[v].angle_between(after[v]))
                .filter(|angle| angle.is_finite())
                .collect();
            angles.sort_by(f32::total_cmp);
            (angles[angles.len() / 2], angles[angles.len() * 95 / 100])
        };
        let (exact, engine) = (angles(Normals::Exact), angles(Normals::Engine));
        eprintln!("{name}: median and 95 % angle in rad: exact {exact:?}, blended matrix {engine:?}");
        assert!(exact.0 < bound && exact.0 < engine.0, "{name}: exact {exact:?}, blended matrix {engine:?}");
    }
}
