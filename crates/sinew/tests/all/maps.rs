//! Maps made from the shape, against shapes that are known.

use glam::{DAffine3, DQuat, DVec3, Vec3};
use sinew::maps::bone_distance::bone_distance;
use sinew::maps::extremities::extremities;
use sinew::maps::mirror::{MirrorPlane, MirrorSide};
use sinew::maps::shape_diameter::{shape_diameter, shape_diameters};
use sinew::maps::{PointMap, RestSurface};
use sinew::pose::{LocalTransform, Trs};
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawSkin};
use sinew::{RawRig, Rig};
use std::f64::consts::{FRAC_PI_3, TAU};

/// A mesh on one bone at the origin.
fn rigid(positions: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> RawRig {
    let count = positions.len();
    let bone = |name: &str| RawBone { name: name.into(), parent: None, local: LocalTransform::Trs(Trs::IDENTITY) };
    RawRig {
        bones: vec![bone("bone"), bone("mesh")],
        skins: vec![RawSkin {
            name: "skin".into(),
            joints: vec![RawJoint { bone: 0, bone_from_rest: DAffine3::IDENTITY }],
        }],
        meshes: vec![RawMesh {
            name: "mesh".into(),
            node: 1,
            binding: RawBinding::Skin(0),
            primitives: vec![RawPrimitive {
                positions: positions.iter().map(|p| p.as_vec3()).collect(),
                influences: RawInfluences { per_vertex: 1, joints: vec![0; count], weights: vec![1.0; count] },
                triangles,
                color: [1.0; 4],
                ..RawPrimitive::default()
            }],
            morph_weights: Vec::new(),
        }],
        animated: Vec::new(),
    }
}

/// A grid over two angles, both closed; wound so that `point(u, v)`'s `∂u × ∂v` is outward.
fn closed_grid(columns: u32, rows: u32, point: impl Fn(f64, f64) -> DVec3) -> RawRig {
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..columns {
        for j in 0..rows {
            positions.push(point(TAU * f64::from(i) / f64::from(columns), TAU * f64::from(j) / f64::from(rows)));
            let at = |i: u32, j: u32| (i % columns) * rows + j % rows;
            triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
            triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    rigid(positions, triangles)
}

/// A ball of unit radius: an octahedron divided.
fn ball(scale: f64) -> RawRig {
    let mut positions: Vec<DVec3> = vec![DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z];
    let mut triangles = vec![[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]];
    for _ in 0..4 {
        let mut middles = std::collections::BTreeMap::new();
        let mut finer = Vec::new();
        for [a, b, c] in triangles {
            let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(a, b): (u32, u32)| {
                *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    positions.push((positions[a as usize] + positions[b as usize]).normalize());
                    positions.len() as u32 - 1
                })
            });
            finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        triangles = finer;
    }
    rigid(positions.into_iter().map(|p| p * scale).collect(), triangles)
}

/// The robust mean over thousands of rays from `point` into the solid where `inside` is negative, by marching.
fn true_diameter(point: DVec3, normal: DVec3, inside: impl Fn(DVec3) -> f64) -> f64 {
    let (u, v) = normal.any_orthonormal_pair();
    let mut lengths = Vec::new();
    for i in 0..40 {
        let (sin, cos) = ((f64::from(i) + 0.5) / 40.0 * FRAC_PI_3).sin_cos();
        for j in 0..72 {
            let (s, c) = (TAU * f64::from(j) / 72.0).sin_cos();
            let direction = -normal * cos + (u * c + v * s) * sin;
            let (mut t, mut step) = (1e-3, 1e-2);
            while step > 1e-6 {
                while inside(point + direction * (t + step)) < 0.0 {
                    t += step;
                }
                step *= 0.1;
            }
            lengths.push(t);
        }
    }
    lengths.sort_by(f64::total_cmp);
    let median = lengths[lengths.len() / 2];
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    let deviation = (lengths.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / lengths.len() as f64).sqrt();
    lengths.retain(|l| (l - median).abs() <= deviation);
    lengths.iter().sum::<f64>() / lengths.len() as f64
}

fn check_diameters(raw: &RawRig, scale: f64, tolerance: f64, truth: impl Fn(DVec3) -> Option<f64>) {
    let (rig, _) = Rig::build(raw).unwrap();
    let surface = RestSurface::new(&rig);
    let diameters = shape_diameters(&surface);
    let mut checked = 0;
    let (mut worst, mut square) = (0.0f64, 0.0);
    for slot in surface.all_slots().step_by(7) {
        if let Some(truth) = truth(surface.points()[slot] / scale) {
            let off = diameters[slot] / scale / truth - 1.0;
            worst = worst.max(off.abs());
            square += off * off;
            checked += 1;
        }
    }
    assert!(checked > 30);
    let rms = (square / f64::from(checked)).sqrt();
    assert!(worst < tolerance, "largest error {worst}, rms {rms}");
}

#[test]
fn diameter_of_a_ball() {
    for scale in [0.01, 1.0, 100.0] {
        // Chord 2 cos θ; the marched value at one point stands for all.
        let truth = true_diameter(DVec3::Y, DVec3::Y, |p| p.length() - 1.0);
        check_diameters(&ball(scale), scale, 0.03, |_| Some(truth));
        let raw = ball(scale);
        let (rig, _) = Rig::build(&raw).unwrap();
        let surface = RestSurface::new(&rig);
        // Equally thick all over: no part is softer, and it has no tips.
        let map = shape_diameter(&surface);
        assert!(surface.all_slots().all(|slot| map.at(slot) < 0.03));
        assert!(extremities(&surface).tips.is_empty());
    }
}

#[test]
fn diameter_of_a_tube() {
    for (spec, scale) in
        [("tube:vertices=4000,radius=0.05,length=1", 0.05), ("tube:vertices=4000,radius=5,length=100", 5.0)]
    {
        let truth = true_diameter(DVec3::X, DVec3::X, |p| DVec3::new(p.x, 0.0, p.z).length() - 1.0);
        let raw = sinew_zoo::build(spec).unwrap().raw;
        let low = raw.meshes[0].primitives[0].positions.iter().map(|p| p.y).fold(f32::INFINITY, f32::min);
        check_diameters(&raw, scale, 0.04, |p| {
            let along = p.y - f64::from(low) / scale;
            (along > 5.0 && along < 15.0).then_some(truth)
        });
    }
}

#[test]
fn diameter_of_a_ring() {
    let (large, small) = (1.0, 0.25);
    let inside = |p: DVec3| DVec3::new(DVec3::new(p.x, 0.0, p.z).length() - large, p.y, 0.0).length() - small;
    for scale in [0.02, 200.0] {
        let raw = closed_grid(96, 32, |u, v| {
            let radial = DVec3::new(u.cos(), 0.0, u.sin());
            (radial * (large - small * v.cos()) + DVec3::Y * (small * v.sin())) * scale
        });
        let truth = |p: DVec3| {
            let radial = DVec3::new(p.x, 0.0, p.z).normalize();
            let normal = (p - radial * large).normalize();
            Some(true_diameter(radial * large + normal * small, normal, inside))
        };
        check_diameters(&raw, scale, 0.06, truth);
    }
}

fn transformed(raw: &RawRig, place: DAffine3) -> RawRig {
    let mut raw = raw.clone();
    for bone in raw.bones.iter_mut().filter(|bone| bone.parent.is_none()) {
        bone.local = LocalTransform::Matrix(place * bone.local.to_affine());
    }
    raw
}

fn all_maps(surface: &RestSurface<'_>) -> [PointMap; 3] {
    [shape_diameter(surface), bone_distance(surface), extremities(surface).map]
}

#[test]
fn turning_moving_scaling_and_mirroring_the_character_changes_nothing() {
    for name in ["calf", "bird"] {
        let raw = sinew_zoo::build(name).unwrap().raw;
        let (rig, _) = Rig::build(&raw).unwrap();
        let here = all_maps(&RestSurface::new(&rig));
        for (scale, mirror) in [(0.01, 1.0), (1.0, -1.0), (100.0, 1.0)] {
            let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 2.1);
            let place = DAffine3::from_scale_rotation_translation(
                DVec3::new(mirror, 1.0, 1.0) * scale,
                turn,
                DVec3::new(3.0, -2.0, 7.0) * scale,
            );
            let (rig, _) = Rig::build(&transformed(&raw, place)).unwrap();
            let there = all_maps(&RestSurface::new(&rig));
            for (kind, (a, b)) in ["diameter", "bone distance", "extremities"].iter().zip(here.iter().zip(&there)) {
                let off = a.values().iter().flatten().zip(b.values().iter().flatten()).map(|(a, b)| (a - b).abs());
                // A ray past an edge may hit the one or the other side of it after rounding.
                let off = off.fold(0.0, f32::max);
                assert!(off < 1e-3, "{name}, {kind}, scale {scale}, mirror {mirror}: {off}");
            }
        }
    }
}

#[test]
fn left_and_right_are_alike() {
    for name in ["calf", "bird", "dancer"] {
        let raw = sinew_zoo::build(name).unwrap().raw;
        let (rig, _) = Rig::build(&raw).unwrap();
        let surface = RestSurface::new(&rig);
        let kinds = ["diameter", "bone distance", "extremities"];
        for (kind, map) in kinds.into_iter().zip(all_maps(&surface)) {
            let mut symmetric = map.clone();
            let report = symmetric.mirror(&surface, MirrorPlane::X, MirrorSide::Both);
            assert!(report.unmatched < 1e-3, "{name}: {report:?}");
            let off = |slot: usize| 2.0 * (map.at(slot) - symmetric.at(slot)).abs();
            let mut off: Vec<f32> = surface.all_slots().map(off).collect();
            off.sort_by(f32::total_cmp);
            // The meshes themselves are symmetric only to within their cells.
            let (mean, most) = (off.iter().sum::<f32>() / off.len() as f32, off[off.len() * 99 / 100]);
            assert!(mean < 0.01 && most < 0.08, "{name}, {kind}: mean {mean}, 99 % below {most}");
        }
    }
}

#[test]
fn the_calfs_extremities() {
    let raw = sinew_zoo::build("calf").unwrap().raw;
    let (rig, _) = Rig::build(&raw).unwrap();
    let surface = RestSurface::new(&rig);
    let found = extremities(&surface);
    let bone = |name: &str| {
        let bone = rig.skeleton().bones().find(|&bone| rig.skeleton().name(bone) == name).unwrap();
        surface.world().joint_origin(bone)
    };
    let mut left: Vec<DVec3> = found.tips.iter().map(|tip| surface.points()[tip.slot]).collect();
    let mut take = |what: &str, wanted: &dyn Fn(DVec3) -> bool| {
        let at = left.iter().position(|&p| wanted(p));
        assert!(at.is_some(), "no tip is the {what}: {left:?}");
        left.remove(at.unwrap())
    };
    let head = bone("head");
    for side in ["L", "R"] {
        let sign = if side == "L" { 1.0 } else { -1.0 };
        // Ears are what sticks out farthest to either side.
        take("ear", &|p| p.x * sign > 0.95 * rig.characters()[0].bounds[1].x && p.y > head.y - 0.2);
        for leg in ["front", "hind"] {
            let foot = bone(&format!("foot.{leg}.{side}"));
            take("hoof", &|p| p.y < 0.03 && (p - foot).length() < 0.15);
        }
    }
    take("tail", &|p| p.z < bone("tail.3").z + 0.05 && p.y < bone("tail.3").y);
    take("nose", &|p| p.z > rig.characters()[0].bounds[1].z - 0.05);
    assert!(left.is_empty(), "{left:?}");
    // The trunk is none of them.
    for slot in surface.all_slots().filter(|&slot| surface.points()[slot].distance(bone("spine")) < 0.2) {
        assert!(found.map.at(slot) < 0.05);
    }
}

#[test]
fn the_dancers_hem_is_soft_and_far_out_all_round() {
    let raw = sinew_zoo::build("dancer").unwrap().raw;
    let (rig, _) = Rig::build(&raw).unwrap();
    let surface = RestSurface::new(&rig);
    let (soft, far) = (shape_diameter(&surface), extremities(&surface).map);
    let dress = &rig.parts()[0].primitives[1];
    let mut hem = 0;
    for &slot in &rig.point_of_vertex()[dress.vertices.clone()] {
        let slot = slot as usize;
        if surface.points()[slot].y < 0.60 {
            hem += 1;
            assert!(soft.at(slot) > 0.6 && far.at(slot) > 0.6, "{} {}", soft.at(slot), far.at(slot));
        }
    }
    assert!(hem > 100);
}

#[test]
fn a_tube_has_two_ends() {
    for spec in ["tube:vertices=3000,length=4,radius=0.2", "tube:vertices=3000,length=400,radius=20"] {
        let raw = sinew_zoo::build(spec).unwrap().raw;
        let (rig, _) = Rig::build(&raw).unwrap();
        let surface = RestSurface::new(&rig);
        let found = extremities(&surface);
        let length = rig.characters()[0].bounds[1].y - rig.characters()[0].bounds[0].y;
        let mut heights: Vec<f64> = found
            .tips
            .iter()
            .map(|tip| (surface.points()[tip.slot].y - rig.characters()[0].bounds[0].y) / length)
            .collect();
        heights.sort_by(f64::total_cmp);
        assert_eq!(heights.len(), 2, "{heights:?}");
        assert!(heights[0] < 0.06 && heights[1] > 0.94, "{heights:?}");
        // Each end reaches to about the middle: mean distance falls from L/2 at the ends to L/4 there.
        for tip in &found.tips {
            assert!((0.2..0.4).contains(&(tip.length / length)), "{}", tip.length / length);
        }
    }
}

#[test]
fn bone_distance_on_a_tube_is_the_radius() {
    let raw = sinew_zoo::build("tube:vertices=2000,bones=4,length=4,radius=0.2").unwrap().raw;
    let (rig, _) = Rig::build(&raw).unwrap();
    let surface = RestSurface::new(&rig);
    let map = bone_distance(&surface);
    let low = rig.characters()[0].bounds[0].y;
    for slot in surface.all_slots() {
        let p = surface.points()[slot];
        // Second bone, away from both joints: all points are at the largest distance, the radius.
        if (1.4..1.6).contains(&(p.y - low)) {
            assert!((map.at(slot) - 1.0).abs() < 0.05, "{p} {}", map.at(slot));
        }
        assert!((0.0..=1.0).contains(&map.at(slot)));
    }
}

#[test]
fn smoothing_keeps_the_range_and_constants() {
    let raw = sinew_zoo::build("bird").unwrap().raw;
    let (rig, _) = Rig::build(&raw).unwrap();
    let surface = RestSurface::new(&rig);
    let middle = 0.5 * (rig.characters()[0].bounds[0].y + rig.characters()[0].bounds[1].y);
    let mut step = PointMap::from_fn(&rig, |slot| if surface.points()[slot].y > middle { 0.75 } else { -0.25 });
    let roughness = |map: &PointMap| -> f32 {
        let edge = |slot: usize| rig.adjacency().of(slot).iter().map(move |&n| (slot, n as usize));
        surface.all_slots().flat_map(edge).map(|(a, b)| (map.at(a) - map.at(b)).powi(2)).sum()
    };
    let mut before = roughness(&step);
    for _ in 0..5 {
        step.smooth(&surface, 4);
        let after = roughness(&step);
        assert!(after < before);
        before = after;
        assert!(surface.all_slots().all(|slot| (-0.25..=0.75).contains(&step.at(slot))));
    }
    let mut constant = PointMap::from_fn(&rig, |_| 0.3);
    constant.smooth(&surface, 50);
    assert!(surface.all_slots().all(|slot| (constant.at(slot) - 0.3).abs() < 1e-6));
}

#[test]
fn mirroring_copies_one_side_to_the_other() {
    let raw = sinew_zoo::build("calf").unwrap().raw;
    let place = DAffine3::from_translation(DVec3::new(40.0, 0.0, 3.0));
    for raw in [raw.clone(), transformed(&raw, place)] {
        let (rig, _) = Rig::build(&raw).unwrap();
        let surface = RestSurface::new(&rig);
        let middle = 0.5 * (rig.characters()[0].bounds[0].x + rig.characters()[0].bounds[1].x);
        let mut map = PointMap::from_fn(&rig, |slot| {
            let p = surface.points()[slot];
            if p.x > middle { (p.y + 0.3 * p.z) as f32 } else { 0.0 }
        });
        let report = map.mirror(&surface, MirrorPlane::X, MirrorSide::FromPositive);
        assert!(report.unmatched < 1e-3, "{report:?}");
        let size = rig.characters()[0].size;
        let wrong = |slot: &usize| {
            let p = surface.points()[*slot];
            (f64::from(map.at(*slot)) - (p.y + 0.3 * p.z)).abs() > 0.02 * size
        };
        let off_plane = surface.all_slots().filter(|&slot| (surface.points()[slot].x - middle).abs() > 0.03 * size);
        let wrong = off_plane.filter(wrong).count();
        assert!(wrong as f64 <= 1e-3 * rig.characters()[0].points as f64, "{wrong} points");
        let far = MirrorPlane::X.at(middle + 10.0 * size).unwrap();
        let untouched = map.clone();
        assert_eq!(map.mirror(&surface, far, MirrorSide::Both).unmatched, 1.0);
        assert_eq!(map, untouched);
    }
}

#[test]
fn combining() {
    let raw = ball(1.0);
    let (rig, _) = Rig::build(&raw).unwrap();
    let mut a = PointMap::from_fn(&rig, |_| 0.5);
    a.multiply(&PointMap::from_fn(&rig, |_| -0.5));
    assert_eq!(a, PointMap::from_fn(&rig, |_| -0.25));
    a.max(&PointMap::from_fn(&rig, |slot| if slot % 2 == 0 { 0.0 } else { -1.0 }));
    assert_eq!((a.at(0), a.at(1)), (0.0, -0.25));
    a.multiply(&PointMap::from_fn(&rig, |_| f32::NAN));
    assert_eq!(a, PointMap::from_fn(&rig, |_| 0.0));
}

/// Sheets, single points, degenerate faces, parts far apart: values in range and no panic.
#[test]
fn odd_meshes() {
    let sheet: Vec<DVec3> = (0..36).map(|k| DVec3::new(f64::from(k % 6), 0.0, f64::from(k / 6))).collect();
    let quads = |k: u32| [[k, k + 6, k + 7], [k, k + 7, k + 1]];
    let faces: Vec<[u32; 3]> = (0..30).filter(|k| k % 6 < 5).flat_map(quads).collect();
    let both: Vec<[u32; 3]> = faces.iter().flat_map(|&[a, b, c]| [[a, b, c], [a, c, b]]).collect();
    let mut apart: Vec<DVec3> = sheet.clone();
    apart.extend(sheet.iter().map(|p| *p + DVec3::new(100.0, 3.0, 0.0)));
    apart.push(DVec3::new(-5.0, 0.0, 0.0));
    let shifted: Vec<[u32; 3]> = faces.iter().copied().chain(faces.iter().map(|f| f.map(|v| v + 36))).collect();
    let cases = [
        (sheet.clone(), faces.clone()),
        (sheet.clone(), both),
        (apart, shifted),
        (vec![DVec3::ONE; 9], vec![[0, 1, 2], [3, 4, 5], [6, 6, 6]]),
        (vec![DVec3::ZERO], Vec::new()),
        ((0..9).map(|k| DVec3::X * f64::from(k)).collect(), vec![[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
    ];
    for (positions, triangles) in cases {
        let Ok((rig, _)) = Rig::build(&rigid(positions, triangles)) else { continue };
        let surface = RestSurface::new(&rig);
        for mut map in all_maps(&surface) {
            map.smooth(&surface, 3);
            map.mirror(&surface, MirrorPlane::Z, MirrorSide::Both);
            assert!(map.values().iter().flatten().all(|v| (0.0..=1.0).contains(v)));
        }
    }
    // A sheet has no thickness: softest.
    let (rig, _) = Rig::build(&rigid(sheet, faces)).unwrap();
    let surface = RestSurface::new(&rig);
    assert!(surface.all_slots().all(|slot| shape_diameter(&surface).at(slot) == 1.0));
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    let raw = sinew_zoo::build("snail").unwrap().raw;
    let (rig, _) = Rig::build(&raw).unwrap();
    let surface = RestSurface::new(&rig);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| all_maps(&surface))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn values_reach_every_vertex_of_a_primitive() {
    let raw = sinew_zoo::build("dancer").unwrap().raw;
    let (rig, _) = Rig::build(&raw).unwrap();
    let surface = RestSurface::new(&rig);
    let map = PointMap::from_fn(&rig, |slot| surface.points()[slot].y as f32);
    for (primitive, given) in rig.parts()[0].primitives.iter().zip(&raw.meshes[0].primitives) {
        let heights: Vec<f32> = given.positions.iter().map(|p: &Vec3| p.y).collect();
        let values = map.of_primitive(&rig, primitive);
        assert!(values.len() == heights.len());
        assert!(values.iter().zip(&heights).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
