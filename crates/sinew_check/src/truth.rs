//! Comparisons on skin made here, moved by known amounts.

use crate::compare::Skin;
use crate::crossing::cross;
use crate::crossings::{self, Boxes};
use crate::distortion::{self, WorstDistortion};
use crate::footing::{self, Lowest};
use crate::gaps::{Fitted, Gaps, WorstGap};
use crate::gauge::Gauge;
use crate::groups::{GroupKind, Grouping};
use crate::shape::{Shape, u32_of};
use crate::strain::{self, Strains};
use crate::thickness::{self, Thinnest};
use crate::tree::Tree;
use glam::{DAffine3, DQuat, DVec3, Vec3};
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawRig, RawSkin};
use sinew::{LocalTransform, Rig, Trs};

type Mesh = (Vec<DVec3>, Vec<[u32; 3]>);

/// A closed box, each side cut into `n` × `n` quads.
fn block(low: DVec3, high: DVec3, n: u32) -> Mesh {
    let (mut points, mut triangles) = (Vec::<DVec3>::new(), Vec::new());
    for (axis, side) in [0usize, 1, 2].into_iter().flat_map(|axis| [(axis, false), (axis, true)]) {
        let corner = |points: &mut Vec<DVec3>, i: u32, j: u32| {
            let mut at = DVec3::ZERO;
            at[axis] = f64::from(u32::from(side));
            at[(axis + 1) % 3] = f64::from(i) / f64::from(n);
            at[(axis + 2) % 3] = f64::from(j) / f64::from(n);
            let at = low + (high - low) * at;
            let known = points.iter().position(|p| p.distance(at) < 1e-9);
            u32_of(known.unwrap_or_else(|| {
                points.push(at);
                points.len() - 1
            }))
        };
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| corner(&mut points, i, j));
            triangles.extend(if side { [[a, b, c], [a, c, d]] } else { [[a, c, b], [a, d, c]] });
        }
    }
    (points, triangles)
}

/// An open strip along x from 0 to `length`, a tenth wide.
fn strip(length: f64, n: u32) -> Mesh {
    let points = (0..=n).flat_map(|i| [0.0, 0.1].map(|z| DVec3::new(length * f64::from(i) / f64::from(n), 0.0, z)));
    let quads = (0..n).flat_map(|i| [[2 * i, 2 * i + 1, 2 * i + 3], [2 * i, 2 * i + 3, 2 * i + 2]]);
    (points.collect(), quads.collect())
}

/// A rig of meshes, each on a bone of its own.
fn rig(meshes: &[Mesh]) -> Rig {
    let bone = |name: String| RawBone { name, parent: None, local: LocalTransform::Trs(Trs::IDENTITY) };
    let primitive = |(joint, (points, triangles)): (usize, &Mesh)| RawPrimitive {
        positions: points.iter().map(|p| p.as_vec3()).collect::<Vec<Vec3>>(),
        influences: RawInfluences {
            per_vertex: 1,
            joints: vec![u32_of(joint); points.len()],
            weights: vec![1.0; points.len()],
        },
        triangles: triangles.clone(),
        ..RawPrimitive::default()
    };
    let bones = meshes.len();
    let raw = RawRig {
        bones: (0..=bones).map(|n| bone(format!("bone {n}"))).collect(),
        skins: vec![RawSkin {
            name: "skin".into(),
            joints: (0..bones).map(|bone| RawJoint { bone, bone_from_rest: DAffine3::IDENTITY }).collect(),
        }],
        meshes: vec![RawMesh {
            name: "mesh".into(),
            node: bones,
            binding: RawBinding::Skin(0),
            primitives: meshes.iter().enumerate().map(primitive).collect(),
            morph_weights: Vec::new(),
        }],
        animated: (0..bones).collect(),
    };
    Rig::build(&raw).expect("sound").0
}

fn shape(rig: &Rig, meshes: &[Mesh]) -> Shape {
    let rest: Vec<DVec3> = meshes.iter().flat_map(|(points, _)| points.iter().copied()).collect();
    Shape::new(rig, &rest)
}

fn trees(shape: &Shape) -> Vec<Tree> {
    let of = |faces: &std::ops::Range<usize>| Tree::new(&shape.rest, &shape.triangles, faces.clone().map(u32_of));
    shape.faces.iter().map(of).collect()
}

/// Rest with the points on a bone moved.
fn moved(shape: &Shape, bone: u32, how: impl Fn(DVec3) -> DVec3) -> Vec<DVec3> {
    shape.rest.iter().zip(&shape.bone).map(|(&p, &of)| if of == bone { how(p) } else { p }).collect()
}

#[test]
fn a_foot_that_leaves_its_leg_is_seen_and_one_that_enters_it_opens_no_gap() {
    for scale in [0.02, 1.0, 200.0] {
        let leg = block(DVec3::new(0.0, 0.2, 0.0) * scale, DVec3::new(0.2, 1.2, 0.2) * scale, 4);
        let foot = block(DVec3::ZERO, DVec3::new(0.2, 0.2, 0.4) * scale, 4);
        let meshes = [leg, foot];
        let rig = rig(&meshes);
        let shape = shape(&rig, &meshes);
        let trees = trees(&shape);
        let gaps = Gaps::new(&shape, &trees);
        assert_eq!((shape.pieces.len(), &gaps.pairs[..]), (2, &[[0, 1]][..]));
        let gap = |base: &[DVec3], effects: &[DVec3]| {
            let mut worst = [WorstGap::NONE];
            let mut fitted = [Fitted::default(), Fitted::default()];
            gaps.look(&shape, &trees, [base, effects], 0.5, &mut fitted, &mut worst);
            (worst[0].point != u32::MAX).then_some(worst[0].gap * shape.sizes[0] / scale)
        };
        let down = |by: f64| moved(&shape, 1, move |p| p - DVec3::Y * by * scale);
        let near = |found: Option<f64>, expected: f64| found.is_some_and(|found| (found - expected).abs() < 1e-6);
        assert!(near(gap(&shape.rest, &down(0.05)), 0.05));
        assert!(near(gap(&down(0.05), &down(0.08)), 0.03), "the base parts by itself");
        assert_eq!(gap(&shape.rest, &down(-0.05)), None, "pushed in");
        assert_eq!(gap(&shape.rest, &shape.rest), None);
        assert_eq!(gap(&down(0.05), &shape.rest), None, "effects close a gap");
        // Both turned as one.
        let turn = DQuat::from_rotation_x(1.0);
        let turned: Vec<DVec3> = shape.rest.iter().map(|&p| turn * p).collect();
        assert_eq!(gap(&shape.rest, &turned), None);
    }
}

/// Sunk into each other with no point near the other's surface: edges that go through it tell.
#[test]
fn pieces_stuck_into_each_other_touch() {
    let leg = block(DVec3::new(0.0, 0.2, 0.0), DVec3::new(0.2, 1.2, 0.2), 1);
    let foot = block(DVec3::new(0.05, -0.3, 0.05), DVec3::new(0.15, 0.5, 0.15), 1);
    let meshes = [leg, foot];
    let rig = rig(&meshes);
    let shape = shape(&rig, &meshes);
    let trees = trees(&shape);
    let gaps = Gaps::new(&shape, &trees);
    assert_eq!(gaps.pairs, [[0, 1]]);
    let away = moved(&shape, 1, |p| p - DVec3::Y * 0.6);
    let mut worst = [WorstGap::NONE];
    gaps.look(&shape, &trees, [&shape.rest, &away], 0.0, &mut Default::default(), &mut worst);
    // Where it came out of the leg it is now 0.6 below; the leg's own rim is 0.3 above the foot's top.
    assert!((worst[0].gap * shape.sizes[0] - 0.6).abs() < 1e-6, "{worst:?}");
}

#[test]
fn a_bent_bar_is_told_by_how_much() {
    let bar = block(DVec3::new(-0.5, -0.01, -0.01), DVec3::new(0.5, 0.01, 0.01), 10);
    let meshes = [bar];
    let rig = rig(&meshes);
    let shape = shape(&rig, &meshes);
    assert!(shape.pieces[0].on_one_bone);
    let bend = |effects: &[DVec3]| {
        let mut worst = [WorstDistortion::default()];
        distortion::look(&shape, &shape.rest, effects, 0.0, &mut worst);
        worst[0].share
    };
    let turn = DQuat::from_rotation_z(0.7);
    let turned: Vec<DVec3> = shape.rest.iter().map(|&p| turn * p + DVec3::X).collect();
    assert!(bend(&turned) < 1e-9);
    // A parabola: nothing turns it nearer to straight, so what is left is its own height about its mean.
    let curve = |p: DVec3| p + DVec3::Y * 0.2 * p.x * p.x;
    let curved: Vec<DVec3> = shape.rest.iter().map(|&p| turn * curve(p)).collect();
    let mean = shape.rest.iter().map(|p| p.x * p.x).sum::<f64>() / shape.rest.len() as f64;
    let expected = 0.2 * f64::max(0.25 - mean, mean) / shape.pieces[0].size;
    assert!((bend(&curved) / expected - 1.0).abs() < 1e-3, "{} against {expected}", bend(&curved));
}

#[test]
fn a_stretched_strip_has_its_strain() {
    let meshes = [strip(2.0, 40), strip(2.0, 40)];
    let rig = rig(&meshes);
    let shape = shape(&rig, &meshes);
    let groups = Grouping::new(&rig, &shape, None);
    let look = |effects: &[DVec3]| {
        let mut strains = vec![Strains::default(); groups.len()];
        strain::look(&shape, &groups, &shape.rest, effects, 1.5, &mut strains);
        strains
    };
    for (factor, strain) in [(1.25, 1.25), (0.5, 2.0)] {
        let strains = look(&moved(&shape, 1, |p| p * DVec3::new(factor, 1.0, 1.0)));
        let worst = strains[0].worst.expect("an edge");
        assert!((worst.strain - strain).abs() < 1e-6 && worst.is_longer == (factor > 1.0), "{worst:?}");
        assert!((strains[0].percentile() / strain - 1.0).abs() < 2e-3, "{}", strains[0].percentile());
        let bones =
            || groups.names.iter().zip(&groups.kinds).enumerate().filter(|(_, (_, kind))| **kind == GroupKind::Bone);
        let of = |name: &str| &strains[bones().find(|(_, (n, _))| *n == name).expect("a bone with skin").0];
        assert_eq!(of("bone 0").worst.map(|worst| worst.strain), Some(1.0));
        assert!((of("bone 1").percentile() / strain - 1.0).abs() < 2e-3);
    }
}

#[test]
fn a_pressed_bar_is_as_thin_as_it_is() {
    let meshes = [block(DVec3::new(-1.0, -0.1, -0.1), DVec3::new(1.0, 0.1, 0.1), 6)];
    let rig = rig(&meshes);
    let shape = shape(&rig, &meshes);
    let calipers = thickness::calipers(&shape, &trees(&shape));
    assert!(calipers.len() > 20, "{}", calipers.len());
    let mut thinnest = Thinnest::NONE;
    let pressed = moved(&shape, 0, |p| p * DVec3::new(1.0, 0.4, 0.4));
    thickness::look(&shape, &calipers, &shape.rest, &pressed, 0.0, &mut thinnest);
    assert!((thinnest.ratio - 0.4).abs() < 1e-6, "{thinnest:?}");
}

/// All pairs, one by one.
fn brute(shape: &Shape, points: &[DVec3], within: bool) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let corners = |face: usize| shape.triangles[face].map(|p| points[p as usize]);
    for (a, one) in shape.triangles.iter().enumerate() {
        for (b, two) in shape.triangles.iter().enumerate().skip(a + 1) {
            let is_own = shape.piece[one[0] as usize] == shape.piece[two[0] as usize];
            if is_own == within && !one.iter().any(|p| two.contains(p)) && cross(corners(a), corners(b)) {
                pairs.push((u32_of(a), u32_of(b)));
            }
        }
    }
    pairs
}

#[test]
fn crossed_bars_cross_as_all_pairs_say_and_as_deep_as_they_are() {
    let one = block(DVec3::new(-1.0, -0.1, -0.11), DVec3::new(1.0, 0.1, 0.1), 8);
    let two = block(DVec3::new(-0.12, 0.2, -1.0), DVec3::new(0.1, 0.4, 1.0), 8);
    let meshes = [one, two];
    let rig = rig(&meshes);
    let skin = Skin::new(&rig, &meshes.iter().flat_map(|(points, _)| points.iter().copied()).collect::<Vec<_>>());
    let (shape, trees) = (&skin.shape, trees(&skin.shape));
    let lowered = moved(shape, 1, |p| p - DVec3::Y * 0.15);
    let found = crossings::all(shape, &trees, &lowered, &mut Boxes::default(), |_, _| true).expect("few");
    assert_eq!(found, [brute(shape, &lowered, true), brute(shape, &lowered, false)]);
    assert!(found[0].is_empty() && found[1].len() > 20, "{}", found[1].len());
    let none = [Vec::new(), Vec::new()];
    let crossed = crossings::look(shape, &trees, &none, &shape.rest, &lowered, &mut Default::default());
    assert_eq!((crossed.between, crossed.within), ([0, found[1].len()], [0, 0]));
    let depth = crossed.deepest.expect("a point inside").depth;
    assert!((depth * shape.sizes[0] - 0.05).abs() < 1e-6, "{}", depth * shape.sizes[0]);
    let same = crossings::look(shape, &trees, &none, &lowered, &lowered, &mut Default::default());
    assert_eq!((same.between[1], same.deepest), (0, None), "the base does the same");
    let known = crossings::look(shape, &trees, &found, &shape.rest, &lowered, &mut Default::default());
    assert_eq!(known.between[1], 0, "they cross at rest");
}

#[test]
fn a_crowd_of_triangles_at_one_place_is_given_up() {
    // A thousand triangles around one place, each turned by a little more than the one before.
    let corner = |n: u32| {
        let turn = glam::DQuat::from_rotation_y(f64::from(n) * 1e-3);
        [DVec3::X, DVec3::Y, DVec3::NEG_X].map(|p| turn * p + DVec3::Y * f64::from(n) * 1e-5)
    };
    let points: Vec<DVec3> = (0..1000).flat_map(corner).collect();
    let meshes = [(points, (0..1000).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect())];
    let rig = rig(&meshes);
    assert!(Skin::new(&rig, &meshes[0].0).is_crowded());
}

#[test]
fn a_folded_strip_crosses_itself() {
    let meshes = [strip(2.0, 41)];
    let rig = rig(&meshes);
    let shape = shape(&rig, &meshes);
    let trees = trees(&shape);
    // Around a loop and through where it came from.
    let fold = |p: DVec3| {
        let angle = 7.0 * p.x / 2.0;
        DVec3::new(angle.sin(), angle.cos() + 0.3 * p.x, p.z + 0.013 * p.x)
    };
    let folded = moved(&shape, 0, fold);
    let expected = brute(&shape, &folded, true);
    let all = |points: &[DVec3]| {
        crossings::all(&shape, &trees, points, &mut Boxes::default(), |_, _| true).expect("few triangles at one place")
    };
    assert!(all(&shape.rest).iter().all(Vec::is_empty));
    let straight = moved(&shape, 0, |p| fold(DVec3::new(p.x * 0.5, p.y, p.z)));
    assert!(all(&straight)[0].is_empty());
    let through = moved(&shape, 0, |p| {
        let angle = 7.0 * p.x / 2.0;
        DVec3::new(angle.sin() * (1.0 + 0.2 * (p.x - 1.0)), angle.cos() * (1.3 - 0.3 * p.x), p.z)
    });
    let found = all(&through);
    assert_eq!(found[0], brute(&shape, &through, true));
    assert_eq!(all(&folded)[0], expected);
    assert!(found[0].len() + expected.len() > 0, "a loop of more than a turn crosses itself");
}

#[test]
fn a_planted_foot_is_found_and_its_slip_is_what_is_added() {
    let meshes = [block(DVec3::ZERO, DVec3::new(0.2, 1.0, 0.4), 2)];
    let rig = rig(&meshes);
    let shape = shape(&rig, &meshes);
    let times: Vec<f64> = (0..=60).map(|n| f64::from(n) / 60.0).collect();
    // Stands for half a second, going back at 0.3 per second as on a treadmill, then goes forward through the air.
    let place = |t: f64| {
        if t <= 0.5 {
            DVec3::new(0.1, 0.0, -0.3 * t)
        } else {
            DVec3::new(0.1, 0.4 * (t - 0.5), -0.15 + 0.3 * (t - 0.5))
        }
    };
    let velocity = |t: f64| if t <= 0.5 { DVec3::new(0.0, 0.0, -0.3) } else { DVec3::new(0.0, 0.4, 0.3) };
    let lowest: Vec<_> =
        times.iter().map(|&t| vec![Some(Lowest { place: place(t), velocity: velocity(t) }), None]).collect();
    let contacts = footing::detect(&shape, &[0, 0], &times, &lowest, &[0.0]);
    assert_eq!(contacts.len(), 1, "{contacts:?}");
    assert!((contacts[0].from, contacts[0].bone) == (0.0, 0) && (contacts[0].to - 0.5).abs() < 1e-9, "{contacts:?}");
    let own: Vec<f64> = times.iter().copied().filter(|&t| t <= 0.5).collect();
    let wave = |t: f64| 0.03 * (2.0 * std::f64::consts::PI * 4.0 * t).sin();
    let places: Vec<[DVec3; 2]> = own.iter().map(|&t| [place(t), place(t) + DVec3::X * wave(t)]).collect();
    let ([base, effects], _) = footing::slip(&own, &places);
    assert!(base < 1e-12 && (effects - 0.06).abs() < 1e-3, "{base} {effects}");
    assert_eq!(footing::sole(&shape, 0, &shape.rest).len(), 9, "the underside");
}

#[test]
fn a_gauge_tells_what_was_done_to_a_bar() {
    let (bar, other) =
        (block(DVec3::ZERO, DVec3::new(1.0, 0.1, 0.1), 8), block(DVec3::splat(2.0), DVec3::splat(2.5), 2));
    let rig = rig(&[bar.clone(), other.clone()]);
    let rest: Vec<DVec3> = bar.0.iter().chain(&other.0).copied().collect();
    let mut gauge = Gauge::new(&rig, &rest);
    assert!(gauge.is_nearly_closed());
    let moved = |how: &dyn Fn(DVec3) -> DVec3| -> Vec<DVec3> {
        rest.iter().enumerate().map(|(k, &p)| if k < bar.0.len() { how(p) } else { p }).collect()
    };
    let still = gauge.read(&rest);
    assert_eq!((still.within, still.between), (0, 0));
    assert!((still.stretch - 1.0).abs() < 1e-9 && (still.thinnest - 1.0).abs() < 1e-9, "{still:?}");
    let wide = DVec3::new(1.2, 0.5, 1.0);
    let pressed = gauge.read(&moved(&|p| p * wide));
    assert!((pressed.stretch - 1.2).abs() < 1e-6 && (pressed.thinnest - 0.5).abs() < 1e-6, "{pressed:?}");
    let volume = (0.01 * 0.6 + 0.125) / (0.01 + 0.125);
    assert!((pressed.volume - volume).abs() < 1e-6, "{pressed:?}");
    // The bar is bent back through itself, and pushed into the other.
    let folded = gauge.read(&moved(&|p| if p.x > 0.5 { DVec3::new(1.01 - p.x, p.y + 0.03, p.z + 0.02) } else { p }));
    assert!(folded.within > 0 && folded.between == 0, "{folded:?}");
    assert!(gauge.read(&moved(&|p| p + 2.1)).between > 0);
}
