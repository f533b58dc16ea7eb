//! A calf: four legs, a tail of three bones, ears on the head, which is one bone.

use crate::ZooCharacter;
use crate::body::{Body, near, past};
use crate::looping::Loop;
use crate::solid::{ball, blend, ellipsoid, limb, v};
use glam::{DQuat, DVec3};
use sinew::Clip;
use sinew::raw::RawBone;
use std::f64::consts::TAU;

pub(crate) const NAME: &str = "calf";
pub(crate) const ABOUT: &str = "a calf with big ears and a tufted tail, trotting and looking around";

const COAT: [f32; 3] = [0.62, 0.33, 0.15];
const MUZZLE: [f32; 3] = [0.86, 0.62, 0.50];
const HORN: [f32; 3] = [0.80, 0.72, 0.55];
const HOOF: [f32; 3] = [0.10, 0.07, 0.06];
const EYE: [f32; 3] = [0.015, 0.012, 0.012];
const GLINT: [f32; 3] = [0.95, 0.95, 0.95];

/// Nodes of the bones that the clips move.
struct Bones {
    hips: usize,
    spine: usize,
    chest: usize,
    neck: usize,
    head: usize,
    tail: [usize; 3],
    /// Upper leg, shin, foot; front left, front right, hind left, hind right.
    legs: [[usize; 3]; 4],
}

pub(crate) fn calf() -> ZooCharacter {
    let mut body = Body::root("hips", v(0.0, 0.70, -0.34));
    let bones = bones(&mut body);
    parts(&mut body);
    let clips = vec![trot(&bones, body.bones()), look(&bones, body.bones())];
    body.finish(NAME, ABOUT, clips)
}

fn bones(body: &mut Body) -> Bones {
    let hips = 0;
    let spine = body.bone("spine", hips, v(0.0, 0.72, -0.12), vec![past(v(0.0, 0.0, -0.14), DVec3::Z, 0.13)]);
    let chest = body.bone("chest", spine, v(0.0, 0.72, 0.12), vec![past(v(0.0, 0.0, 0.10), DVec3::Z, 0.11)]);
    let up = v(0.0, 0.80, 0.60);
    let neck = body.bone("neck", chest, v(0.0, 0.75, 0.30), vec![past(v(0.0, 0.79, 0.34), up, 0.09)]);
    let head = body.bone("head", neck, v(0.0, 0.90, 0.44), vec![past(v(0.0, 0.860, 0.410), up, 0.065)]);
    let t1 = body.bone("tail.1", hips, v(0.0, 0.78, -0.50), vec![past(v(0.0, 0.0, -0.555), -DVec3::Z, 0.06)]);
    let t2 = body.bone("tail.2", t1, v(0.0, 0.66, -0.62), vec![past(v(0.0, 0.64, 0.0), -DVec3::Y, 0.07)]);
    let t3 = body.bone("tail.3", t2, v(0.0, 0.50, -0.65), vec![past(v(0.0, 0.50, 0.0), -DVec3::Y, 0.07)]);
    let mut legs = [[0; 3]; 4];
    for (leg, bones) in legs.iter_mut().enumerate() {
        let side = if leg % 2 == 0 { 1.0 } else { -1.0 };
        let out = past(DVec3::ZERO, v(side, 0.0, 0.0), 0.055);
        let apart = || past(DVec3::ZERO, v(side, 0.0, 0.0), 0.02);
        let tag = if leg % 2 == 0 { "L" } else { "R" };
        *bones = if leg < 2 {
            let [a, b, c] = fore_leg(side);
            let region = near(&[a, b, c], 0.11, 0.19);
            let upper = vec![past(a - DVec3::Y * 0.06, -DVec3::Y, 0.09), out, region];
            let upper = body.bone(&format!("leg.front.{tag}"), chest, a, upper);
            let shin = body.bone(&format!("shin.front.{tag}"), upper, b, vec![past(b, -DVec3::Y, 0.075), apart()]);
            [
                upper,
                shin,
                body.bone(&format!("foot.front.{tag}"), shin, c, vec![past(c + DVec3::Y * 0.055, -DVec3::Y, 0.065)]),
            ]
        } else {
            let [a, b, c, d] = hind_leg(side);
            let region = near(&[a, b, c, d], 0.13, 0.20);
            let upper = vec![past(a - DVec3::Y * 0.08, -DVec3::Y, 0.10), out, region];
            let upper = body.bone(&format!("leg.hind.{tag}"), hips, a, upper);
            let shin = body.bone(&format!("shin.hind.{tag}"), upper, c, vec![past(c, -DVec3::Y, 0.075), apart()]);
            [
                upper,
                shin,
                body.bone(&format!("foot.hind.{tag}"), shin, d, vec![past(d + DVec3::Y * 0.055, -DVec3::Y, 0.065)]),
            ]
        };
    }
    Bones { hips, spine, chest, neck, head, tail: [t1, t2, t3], legs }
}

/// Shoulder, knee, fetlock.
fn fore_leg(side: f64) -> [DVec3; 3] {
    [v(side * 0.105, 0.56, 0.25), v(side * 0.11, 0.33, 0.26), v(side * 0.11, 0.11, 0.25)]
}

/// Hip, stifle, hock, fetlock.
fn hind_leg(side: f64) -> [DVec3; 4] {
    [
        v(side * 0.11, 0.64, -0.33),
        v(side * 0.125, 0.47, -0.27),
        v(side * 0.12, 0.31, -0.39),
        v(side * 0.12, 0.11, -0.35),
    ]
}

fn parts(body: &mut Body) {
    let trunk = [
        limb(&[(v(0.0, 0.69, -0.35), 0.165), (v(0.0, 0.66, 0.0), 0.17), (v(0.0, 0.66, 0.25), 0.165)]),
        ellipsoid(v(0.0, 0.60, -0.04), v(0.17, 0.15, 0.26)),
        limb(&[(v(0.0, 0.70, 0.30), 0.13), (v(0.0, 0.88, 0.45), 0.09)]),
        limb(&[
            (v(0.0, 0.77, -0.46), 0.045),
            (v(0.0, 0.74, -0.58), 0.032),
            (v(0.0, 0.62, -0.635), 0.030),
            (v(0.0, 0.44, -0.65), 0.029),
        ]),
        ellipsoid(v(0.0, 0.40, -0.65), v(0.050, 0.085, 0.050)),
    ];
    let legs = [1.0, -1.0].into_iter().flat_map(|side| {
        let [a, b, c] = fore_leg(side);
        let [d, e, f, g] = hind_leg(side);
        let foot = |c: DVec3| v(c.x, 0.06, c.z + 0.015);
        [
            limb(&[(a, 0.09), (b, 0.052), (c, 0.040), (foot(c), 0.043)]),
            limb(&[(d, 0.125), (e, 0.09), (f, 0.050), (g, 0.040), (foot(g), 0.043)]),
        ]
    });
    let tilt = |side: f64| DQuat::from_rotation_z(side * -0.30) * DQuat::from_rotation_y(side * 0.35);
    let ears = [1.0, -1.0].map(|side| {
        let center = v(side * 0.205, 1.015, 0.46);
        ellipsoid(center, v(0.13, 0.070, 0.13)).turned(tilt(side)).sheet(center, tilt(side) * DVec3::Z, 0.030, -0.6)
    });
    let head = [
        ellipsoid(v(0.0, 0.99, 0.53), v(0.128, 0.122, 0.135)),
        limb(&[(v(0.0, 0.96, 0.58), 0.095), (v(0.0, 0.90, 0.72), 0.076)]),
        ellipsoid(v(0.0, 1.085, 0.53), v(0.05, 0.035, 0.05)),
    ];
    let head = blend(0.04, head.into_iter().chain(ears));
    body.part(COAT, 0.036, blend(0.07, trunk.into_iter().chain(legs).chain([head])));
    body.part(MUZZLE, 0.026, ellipsoid(v(0.0, 0.895, 0.745), v(0.089, 0.074, 0.064)));
    for side in [1.0, -1.0] {
        body.part(HORN, 0.013, limb(&[(v(side * 0.065, 1.08, 0.51), 0.024), (v(side * 0.078, 1.125, 0.50), 0.012)]));
        body.part(EYE, 0.016, ellipsoid(v(side * 0.099, 1.012, 0.618), v(0.029, 0.037, 0.030)));
        body.part(GLINT, 0.008, ball(v(side * 0.116, 1.028, 0.640), 0.010));
        body.part(EYE, 0.0075, ellipsoid(v(side * 0.032, 0.915, 0.798), v(0.013, 0.011, 0.009)));
        for leg in [fore_leg(side)[2], hind_leg(side)[3]] {
            let hoof = limb(&[(v(leg.x, 0.01, leg.z + 0.03), 0.055), (v(leg.x, 0.05, leg.z + 0.018), 0.046)]);
            body.part(HOOF, 0.024, hoof.above(0.0, 0.04));
        }
    }
}

/// Diagonal pairs of legs in turn; the body lands twice per stride, the head and tail follow.
fn trot(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("trot", 24, rest);
    let wave = |phase: f64| (TAU * phase).sin();
    clip.shift(bones.hips, |t| v(0.0, 0.028 * wave(2.0 * t + 0.1), 0.0));
    clip.turn(bones.hips, |t| DQuat::from_rotation_x(0.03 * wave(2.0 * t)) * DQuat::from_rotation_z(0.03 * wave(t)));
    clip.turn(bones.spine, |t| DQuat::from_rotation_y(0.05 * wave(t + 0.1)));
    clip.turn(bones.chest, |t| DQuat::from_rotation_x(-0.04 * wave(2.0 * t + 0.1)));
    clip.turn(bones.neck, |t| DQuat::from_rotation_x(0.10 * wave(2.0 * t - 0.12)));
    clip.turn(bones.head, |t| DQuat::from_rotation_x(0.16 * wave(2.0 * t - 0.25)));
    for (k, &bone) in bones.tail.iter().enumerate() {
        let lag = 0.12 * k as f64;
        clip.turn(bone, |t| {
            DQuat::from_rotation_x(if k == 0 { 0.35 } else { 0.05 } + 0.10 * wave(2.0 * (t - lag)))
                * DQuat::from_rotation_z(0.28 * wave(t - lag))
        });
    }
    for (leg, &[upper, shin, foot]) in bones.legs.iter().enumerate() {
        let start = if leg == 0 || leg == 3 { 0.0 } else { 0.5 };
        let hind = leg >= 2;
        // Lifted while it swings forward.
        let lift = move |t: f64| (0.5 + 0.5 * wave(t + start + 0.25)).powi(2);
        clip.turn(upper, |t| DQuat::from_rotation_x(0.46 * wave(t + start) - if hind { 0.0 } else { 0.30 * lift(t) }));
        let bend = if hind { 0.85 } else { 1.15 };
        clip.turn(shin, |t| DQuat::from_rotation_x(bend * lift(t + 0.06)));
        clip.turn(foot, |t| DQuat::from_rotation_x(0.7 * lift(t) - 0.15 * wave(t + start)));
    }
    clip.finish()
}

/// Quick turns of the head to either side, with a pause between.
fn look(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("look", 54, rest);
    let wave = |phase: f64| (TAU * phase).sin();
    // A softened square wave: holds, then whips over.
    let snap = |phase: f64| (3.0 * wave(phase)).tanh();
    clip.shift(bones.hips, |t| v(0.0, 0.006 * wave(2.0 * t), 0.0));
    clip.turn(bones.chest, |t| DQuat::from_rotation_y(0.06 * snap(t)));
    clip.turn(bones.neck, |t| {
        DQuat::from_rotation_y(0.32 * snap(t + 0.02)) * DQuat::from_rotation_x(0.10 * wave(2.0 * t + 0.25))
    });
    clip.turn(bones.head, |t| {
        DQuat::from_rotation_y(0.55 * snap(t))
            * DQuat::from_rotation_z(-0.18 * snap(t - 0.03))
            * DQuat::from_rotation_x(-0.08 + 0.14 * wave(2.0 * t + 0.25))
    });
    for (k, &bone) in bones.tail.iter().enumerate() {
        let lag = 0.06 * k as f64;
        clip.turn(bone, |t| DQuat::from_rotation_z(0.32 * wave(2.0 * (t - lag))) * DQuat::from_rotation_x(0.08));
    }
    clip.finish()
}
