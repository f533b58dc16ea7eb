//! A bird on a single joint. No bone moves the wings: what they do when the body rises and falls is left to the
//! effects, as with the bird of Velocity Skinning, fig. 7.

use crate::ZooCharacter;
use crate::body::Body;
use crate::looping::Loop;
use crate::solid::{Solid, ball, blend, cone, ellipsoid, limb, v};
use glam::DQuat;
use sinew::Clip;
use sinew::raw::RawBone;
use std::f64::consts::TAU;

pub(crate) const NAME: &str = "bird";
pub(crate) const ABOUT: &str = "a bird on one joint, its wings spread for the effects to flap";

const FEATHERS: [f32; 3] = [0.10, 0.30, 0.55];
const BREAST: [f32; 3] = [0.90, 0.42, 0.18];
const BEAK: [f32; 3] = [0.95, 0.62, 0.10];
const EYE: [f32; 3] = [0.015, 0.012, 0.012];
const GLINT: [f32; 3] = [0.95, 0.95, 0.95];

/// Its one bone.
const BODY: usize = 0;

pub(crate) fn bird() -> ZooCharacter {
    let mut body = Body::root("body", v(0.0, 0.22, 0.0));
    parts(&mut body);
    let clips = vec![flap(body.bones()), hop(body.bones())];
    body.finish(NAME, ABOUT, clips)
}

/// The left wing: a leading edge and feathers fanning back from it, cut from a sheet.
fn wing() -> Solid {
    let shoulder = v(0.055, 0.25, 0.035);
    let wrist = v(0.20, 0.27, 0.065);
    let feathers = [
        (wrist, v(0.405, 0.285, 0.020), 0.030),
        (v(0.19, 0.27, 0.055), v(0.375, 0.283, -0.040), 0.029),
        (v(0.17, 0.27, 0.045), v(0.325, 0.280, -0.080), 0.029),
        (v(0.14, 0.265, 0.035), v(0.260, 0.275, -0.100), 0.029),
        (v(0.10, 0.26, 0.03), v(0.190, 0.270, -0.105), 0.029),
        (v(0.07, 0.25, 0.02), v(0.120, 0.262, -0.100), 0.029),
    ];
    let feathers = feathers.map(|(from, to, r)| cone(from, 0.034, to, r));
    let edge = limb(&[(shoulder, 0.045), (wrist, 0.036)]);
    blend(0.012, [edge].into_iter().chain(feathers)).sheet(v(0.2, 0.272, 0.0), v(-0.09, 1.0, 0.0), 0.0102, -0.30)
}

fn parts(body: &mut Body) {
    let tail = [-1.0, 0.0, 1.0].map(|side: f64| {
        cone(v(side * 0.012, 0.225, -0.10), 0.030, v(side * 0.062, 0.245, -0.255 + 0.012 * side.abs()), 0.030)
    });
    let tail = blend(0.012, tail).sheet(v(0.0, 0.235, -0.18), v(0.0, 1.0, 0.15), 0.0102, -0.8);
    let crest = limb(&[(v(0.0, 0.365, 0.09), 0.022), (v(0.0, 0.395, 0.055), 0.014), (v(0.0, 0.40, 0.02), 0.010)]);
    let trunk = [
        ellipsoid(v(0.0, 0.22, 0.0), v(0.082, 0.084, 0.125)).turned(DQuat::from_rotation_x(-0.30)),
        ball(v(0.0, 0.315, 0.105), 0.070),
        cone(v(0.0, 0.22, -0.05), 0.055, v(0.0, 0.232, -0.14), 0.024),
        crest,
    ];
    let wing = wing();
    let whole = trunk.into_iter().chain([tail, wing.mirrored(), wing]);
    body.part(FEATHERS, 0.0116, blend(0.035, whole));
    body.part(
        BREAST,
        0.018,
        ellipsoid(v(0.0, 0.222, 0.042), v(0.070, 0.075, 0.090)).turned(DQuat::from_rotation_x(-0.30)),
    );
    body.part(BEAK, 0.009, limb(&[(v(0.0, 0.312, 0.165), 0.020), (v(0.0, 0.302, 0.209), 0.009)]));
    for side in [1.0, -1.0] {
        body.part(EYE, 0.007, ball(v(side * 0.047, 0.332, 0.153), 0.0155));
        body.part(GLINT, 0.0035, ball(v(side * 0.0545, 0.3385, 0.1645), 0.0048));
        let leg = [(v(side * 0.03, 0.155, 0.0), 0.012), (v(side * 0.035, 0.105, 0.01), 0.0085)];
        let toe =
            |x: f64, z: f64| cone(v(side * 0.035, 0.102, 0.01), 0.0095, v(side * (0.035 + x), 0.092, 0.01 + z), 0.0082);
        let toes = [toe(-0.016, 0.034), toe(0.016, 0.034), toe(0.0, -0.03)];
        body.part(BEAK, 0.0078, blend(0.006, [limb(&leg)].into_iter().chain(toes)));
    }
}

/// Up and down, quick; the chest leads.
fn flap(rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("flap", 24, rest);
    clip.shift(BODY, |t| v(0.0, 0.075 * (TAU * 2.0 * t).sin(), 0.012 * (TAU * 2.0 * t).cos()));
    clip.turn(BODY, |t| {
        DQuat::from_rotation_x(-0.16 * (TAU * 2.0 * t + 0.9).sin()) * DQuat::from_rotation_z(0.05 * (TAU * t).sin())
    });
    clip.finish()
}

/// One hop to either side, rolling into it.
fn hop(rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("hop", 42, rest);
    // Two rounded arcs per loop: sharp at the ground, slow at the top, a dip between.
    let height = |t: f64| 1.0 - (TAU * t).cos().abs().powf(1.6);
    clip.shift(BODY, |t| v(0.07 * (TAU * t).sin(), 0.15 * (height(t) - 0.35), 0.0));
    clip.turn(BODY, |t| {
        DQuat::from_rotation_z(-0.55 * (TAU * t).cos())
            * DQuat::from_rotation_x(-0.20 * (TAU * 2.0 * t).sin())
            * DQuat::from_rotation_y(0.25 * (TAU * t).sin())
    });
    clip.finish()
}
