//! Cloth stays outside the body: a curtain that is blown against a post.

use crate::common::{Subject, bits, effect, recipe};
use glam::{DQuat, DVec3, Vec3};
use sinew::clip::Track;
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawRig, RawSkin};
use sinew::recipe::{Collide, Normals, Planted, Sewn};
use sinew::*;

/// Thickness of the post, and how far it stands from the curtain at rest.
const RADIUS: f32 = 0.15;
const CLEAR: f32 = 0.05;
/// How far it swings by itself: not as far as the post.
const SWING: f64 = 0.03;
/// Cells of the curtain across and down.
const CELLS: u32 = 16;

/// A post that stands at the origin, and a curtain called a cape beside it, hung on a bone that swings about x: its lower
/// end goes toward the post and away from it. All of it `scale` times as large, each mesh cut `fine` times as fine.
fn curtain(scale: f32, fine: u32) -> Subject {
    let bone = |name: &str, parent, at: DVec3| RawBone {
        name: name.into(),
        parent,
        local: LocalTransform::Trs(Trs::from_translation(at * f64::from(scale))),
    };
    let bones = vec![
        bone("post", None, DVec3::ZERO),
        bone("rail", Some(0), DVec3::new(0.0, 2.0, f64::from(RADIUS + CLEAR))),
        bone("cape", Some(1), DVec3::ZERO),
    ];
    let one = |joint: u32, points: usize| RawInfluences {
        per_vertex: 1,
        joints: vec![joint; points],
        weights: vec![1.0; points],
    };
    let (around, up) = (24 * fine, 24 * fine);
    let mut post = RawPrimitive { color: [1.0; 4], ..RawPrimitive::default() };
    for (row, k) in (0..=up).flat_map(|row| (0..around).map(move |k| (row, k))) {
        let angle = std::f32::consts::TAU * k as f32 / around as f32;
        let at = Vec3::new(RADIUS * angle.cos(), 2.4 * row as f32 / up as f32, RADIUS * angle.sin());
        post.positions.push(at * scale);
    }
    for (row, k) in (0..up).flat_map(|row| (0..around).map(move |k| (row, k))) {
        let [a, b] = [row * around + k, row * around + (k + 1) % around];
        post.triangles.extend([[a, a + around, b + around], [a, b + around, b]]);
    }
    let cells = CELLS * fine;
    let mut cape = RawPrimitive { color: [1.0; 4], ..RawPrimitive::default() };
    for (row, k) in (0..=cells).flat_map(|row| (0..=cells).map(move |k| (row, k))) {
        let at = Vec3::new(k as f32 / cells as f32 - 0.5, 2.0 - 1.6 * row as f32 / cells as f32, RADIUS + CLEAR);
        cape.positions.push(at * scale);
    }
    for (row, k) in (0..cells).flat_map(|row| (0..cells).map(move |k| (row, k))) {
        let [a, b] = [row * (cells + 1) + k, row * (cells + 1) + k + 1];
        cape.triangles.extend([[a, b, b + cells + 1], [a, b + cells + 1, a + cells + 1]]);
    }
    post.influences = one(0, post.positions.len());
    cape.influences = one(2, cape.positions.len());
    let from_rest = |at: Vec3| glam::DAffine3::from_translation(-at.as_dvec3() * f64::from(scale));
    let rail = Vec3::new(0.0, 2.0, RADIUS + CLEAR);
    let joint = |bone: usize, at: Vec3| RawJoint { bone, bone_from_rest: from_rest(at) };
    let mesh = |name: &str, primitive| RawMesh {
        name: name.into(),
        node: 0,
        binding: RawBinding::Skin(0),
        primitives: vec![primitive],
        morph_weights: Vec::new(),
    };
    let raw = RawRig {
        bones,
        skins: vec![RawSkin {
            joints: vec![joint(0, Vec3::ZERO), joint(1, rail), joint(2, rail)],
            ..Default::default()
        }],
        meshes: vec![mesh("post", post), mesh("cape", cape)],
        ..Default::default()
    };
    let times: Vec<f64> = (0..=32).map(|k| f64::from(k) / 32.0).collect();
    let swing = |t: &f64| DQuat::from_rotation_x(SWING * (std::f64::consts::TAU * t).sin()).as_quat();
    let turns = times.iter().map(swing).collect();
    let rotation = Curve::new(Interpolation::Linear, times, turns).expect("finite values at increasing times");
    let track = Track { node: 2, rotation: Some(rotation), ..Track::default() };
    Subject::new(&raw, vec![Clip { name: "swing".into(), tracks: vec![track] }])
}

fn blown(collide: Collide) -> Recipe {
    let effects = vec![effect("floppy", &[("rotation", 2.0), ("max_angle", 0.25), ("max_length", 1.0)])];
    Recipe { collide, sewn: Sewn::None, planted: Planted::None, normals: Normals::Engine, ..recipe(effects) }
}

/// Vertices of the curtain, at the size of a post of 2.4 m.
fn places(subject: &Subject, recipe: &Recipe, time: f64, scale: f32) -> Vec<DVec3> {
    let stage = subject.stage(recipe);
    let frame = subject.at(&stage, &subject.motion(0, &MotionSettings::default(), &stage), time, &Cpu::serial());
    let cape = subject.rig.parts().iter().find(|part| part.name == "cape").expect("a mesh of that name");
    let at = |v: usize| (frame.origins[0] + frame.positions[v].as_dvec3()) / f64::from(scale);
    cape.primitives[0].vertices.clone().map(at).collect()
}

/// From the axis of the post.
fn distance(p: DVec3) -> f64 {
    p.x.hypot(p.z)
}

fn farthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

const TIMES: [f64; 8] = [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];

#[test]
fn a_curtain_blown_against_a_post_lies_on_it() {
    let subject = curtain(1.0, 1);
    let size = subject.rig.characters()[0].size;
    let (mut deepest, mut most) = (f64::INFINITY, 0.0f64);
    let mut apart = 0;
    for time in TIMES {
        let [free, held] = [Collide::None, Collide::Auto].map(|collide| places(&subject, &blown(collide), time, 1.0));
        let base = places(&subject, &Recipe::default(), time, 1.0);
        assert!(base.iter().all(|&p| distance(p) > f64::from(RADIUS)), "the base is to be outside at {time}");
        most = most.max(farthest(&base, &held));
        deepest = free.iter().map(|&p| distance(p)).fold(deepest, f64::min);
        for (v, &p) in held.iter().enumerate() {
            assert!(distance(p) > f64::from(RADIUS) - 2e-3 * size, "{v} at {time}: {}", distance(p));
        }
        // Where it is blown away from the post nothing is changed.
        let is_away = free.iter().zip(&base).all(|(free, base)| free.z >= base.z);
        assert!(!is_away || free == held, "{time}");
        apart += usize::from(is_away);
    }
    println!("deepest {deepest:.3} of {RADIUS} without; moved by {most:.3}");
    assert!(deepest < 0.5 * f64::from(RADIUS) && most > 0.1 && apart > 0, "{deepest}, {most}, {apart}");
}

#[test]
fn the_same_at_any_size_fineness_and_number_of_threads_and_without_jumps() {
    let [one, large, fine] = [(1.0, 1), (100.0, 1), (1.0, 2)].map(|(scale, fine)| curtain(scale, fine));
    let size = one.rig.characters()[0].size;
    let recipe = blown(Collide::Auto);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for time in TIMES {
        let here = places(&one, &recipe, time, 1.0);
        assert!(farthest(&here, &places(&large, &recipe, time, 100.0)) < 1e-5 * size, "{time}");
        let finer = places(&fine, &recipe, time, 1.0);
        let shared = |row: u32, k: u32| finer[(2 * row * (2 * CELLS + 1) + 2 * k) as usize];
        let cells = (0..=CELLS).flat_map(|row| (0..=CELLS).map(move |k| (row, k)));
        let shared: Vec<DVec3> = cells.map(|(row, k)| shared(row, k)).collect();
        let apart = farthest(&here, &shared) / size;
        println!("{time}: {:.3} % apart", 100.0 * apart);
        assert!(apart < 0.01, "{time}: {apart}");
        let stage = one.stage(&recipe);
        let motion = one.motion(0, &MotionSettings::default(), &stage);
        let frames = [None, Some(&pool)].map(|pool| one.at(&stage, &motion, time, &Cpu { pool, ..Cpu::serial() }));
        assert_eq!(bits(&frames[0]), bits(&frames[1]));
    }
    // Contact comes and goes without a jump: no point is faster than without.
    let step = |collide: Collide, time: f64| {
        let [from, to] = [time, time + 1e-3].map(|time| places(&one, &blown(collide), time, 1.0));
        farthest(&from, &to)
    };
    let fastest = (0..32).map(|k| step(Collide::None, f64::from(k) / 32.0)).fold(0.0, f64::max);
    for time in (0..32).map(|k| f64::from(k) / 32.0) {
        assert!(step(Collide::Auto, time) < 1.5 * fastest, "{time}");
    }
}
