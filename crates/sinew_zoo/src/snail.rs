//! A snail: a soft foot, a shell that rides on it, and eyes on stalks of two bones each.

use crate::ZooCharacter;
use crate::body::{Body, near, past};
use crate::looping::Loop;
use crate::solid::{Solid, ball, blend, ellipsoid, limb, through, v};
use glam::{DQuat, DVec3};
use sinew::Clip;
use sinew::raw::RawBone;
use std::f64::consts::TAU;

pub(crate) const NAME: &str = "snail";
pub(crate) const ABOUT: &str = "a snail with eyes on stalks and a spiral shell, crawling and peering";

const FLESH: [f32; 3] = [0.72, 0.52, 0.30];
const SHELL: [f32; 3] = [0.48, 0.17, 0.08];
const WHITE: [f32; 3] = [0.92, 0.91, 0.88];
const PUPIL: [f32; 3] = [0.015, 0.012, 0.012];

/// Modelled 0.6 units long, made 7.5 cm.
const SCALE: f64 = 0.125;

struct Bones {
    body: usize,
    tail: [usize; 2],
    neck: usize,
    head: usize,
    shell: usize,
    /// Lower and upper half; left, right.
    stalks: [[usize; 2]; 2],
}

fn s(x: f64, y: f64, z: f64) -> DVec3 {
    v(x, y, z) * SCALE
}

pub(crate) fn snail() -> ZooCharacter {
    let mut body = Body::root("body", s(0.0, 0.05, -0.02));
    let bones = bones(&mut body);
    parts(&mut body);
    let clips = vec![crawl(&bones, body.bones()), peer(&bones, body.bones())];
    body.finish(NAME, ABOUT, clips)
}

/// Foot, middle and tip of an eye stalk.
fn stalk(side: f64) -> [DVec3; 3] {
    [s(side * 0.030, 0.235, 0.265), s(side * 0.050, 0.315, 0.285), s(side * 0.075, 0.395, 0.300)]
}

const SHELL_CENTER: DVec3 = DVec3::new(0.0, 0.228 * SCALE, -0.100 * SCALE);

fn bones(body: &mut Body) -> Bones {
    let root = 0;
    let back = -DVec3::Z;
    let t1 = vec![past(s(0.0, 0.0, -0.17), back, 0.06 * SCALE), past(s(0.0, 0.075, 0.0), -DVec3::Y, 0.02 * SCALE)];
    let t1 = body.bone("tail.1", root, s(0.0, 0.035, -0.15), t1);
    let t2 = body.bone("tail.2", t1, s(0.0, 0.025, -0.26), vec![past(s(0.0, 0.0, -0.26), back, 0.06 * SCALE)]);
    let up = v(0.0, 0.55, 0.83);
    let neck = body.bone(
        "neck",
        root,
        s(0.0, 0.075, 0.13),
        vec![past(s(0.0, 0.09, 0.15), up, 0.05 * SCALE), past(s(0.0, 0.0, 0.12), DVec3::Z, 0.03 * SCALE)],
    );
    let head = body.bone("head", neck, s(0.0, 0.145, 0.22), vec![past(s(0.0, 0.150, 0.225), up, 0.03 * SCALE)]);
    let shell = vec![
        past(s(0.0, 0.105, 0.0), DVec3::Y, 0.03 * SCALE),
        near(&[SHELL_CENTER, SHELL_CENTER + DVec3::Y * 0.001 * SCALE], 0.225 * SCALE, 0.27 * SCALE),
        past(s(0.0, 0.0, 0.125), back, 0.03 * SCALE),
    ];
    let shell = body.bone("shell", root, s(0.0, 0.09, -0.07), shell);
    let stalks = [("L", 1.0), ("R", -1.0)].map(|(tag, side)| {
        let [a, b, c] = stalk(side);
        let (low, high) = ((b - a).normalize(), (c - b).normalize());
        let out = past(DVec3::ZERO, v(side, 0.0, 0.0), 0.012 * SCALE);
        let lower =
            vec![past(a + low * 0.026 * SCALE, low, 0.026 * SCALE), out, near(&[a, b, c], 0.05 * SCALE, 0.08 * SCALE)];
        let lower = body.bone(&format!("stalk.1.{tag}"), head, a, lower);
        [lower, body.bone(&format!("stalk.2.{tag}"), lower, b, vec![past(b, high, 0.025 * SCALE)])]
    });
    Bones { body: root, tail: [t1, t2], neck, head, shell, stalks }
}

fn parts(body: &mut Body) {
    let foot = [
        limb(&[
            (s(0.0, 0.012, -0.345), 0.014 * SCALE),
            (s(0.0, 0.030, -0.22), 0.045 * SCALE),
            (s(0.0, 0.045, -0.05), 0.070 * SCALE),
            (s(0.0, 0.050, 0.10), 0.066 * SCALE),
            (s(0.0, 0.085, 0.17), 0.058 * SCALE),
            (s(0.0, 0.165, 0.235), 0.054 * SCALE),
            (s(0.0, 0.205, 0.262), 0.064 * SCALE),
        ]),
        ellipsoid(s(0.0, 0.012, -0.03), s(0.098, 0.034, 0.27)),
        ellipsoid(s(0.0, 0.085, -0.02), s(0.060, 0.060, 0.10)),
    ];
    let horns = [1.0, -1.0].into_iter().flat_map(|side| {
        let [a, b, c] = stalk(side);
        let feeler = [(s(side * 0.026, 0.185, 0.305), 0.016 * SCALE), (s(side * 0.046, 0.150, 0.355), 0.013 * SCALE)];
        [limb(&[(a, 0.021 * SCALE), (b, 0.0155 * SCALE), (c, 0.0155 * SCALE)]), limb(&feeler)]
    });
    let flesh = blend(0.03 * SCALE, [blend(0.06 * SCALE, foot)].into_iter().chain(horns));
    body.part(FLESH, 0.0145 * SCALE, flesh.above(0.0, 0.045 * SCALE));
    body.part(PUPIL, 0.0048 * SCALE, smile());
    body.part(SHELL, 0.0152 * SCALE, spiral());
    for side in [1.0, -1.0] {
        let eye = stalk(side)[2] + s(0.0, 0.012, 0.004);
        body.part(WHITE, 0.014 * SCALE, ball(eye, 0.033 * SCALE));
        body.part(PUPIL, 0.009 * SCALE, ball(eye + s(side * -0.002, 0.002, 0.0200), 0.0175 * SCALE));
    }
}

/// On the front of the head.
fn smile() -> Solid {
    let corner = [-1.0, -0.6, 0.0, 0.6, 1.0_f64];
    limb(&corner.map(|t| (s(0.028 * t, 0.196 + 0.014 * t * t, 0.3245 - 0.0085 * t * t), 0.0052 * SCALE)))
}

/// Two tubes wound side by side, growing by 2.2 a turn: the whorls touch and the grooves between them show, and
/// towards the middle either side stands out. The mouth is in front, below, on the foot.
fn spiral() -> Solid {
    let (turns, steps) = (2.6, 44);
    let whorls = |side: f64| {
        let balls = (0..=steps).map(|k| f64::from(k) / f64::from(steps)).map(|t| {
            let grown = 2.2_f64.powf(-turns * (1.0 - t));
            let angle = TAU * turns * (1.0 - t) - 0.75;
            let center = v(0.0, angle.sin(), angle.cos()) * 0.142 * grown + v(side * 0.060 * (1.0 - grown), 0.0, 0.0);
            (SHELL_CENTER + center * SCALE, 0.064 * SCALE * grown.powf(0.92))
        });
        through(balls.collect())
    };
    let core = ellipsoid(SHELL_CENTER, s(0.070, 0.11, 0.11));
    blend(0.010 * SCALE, [whorls(1.0), whorls(-1.0), core])
}

/// A wave through the foot, the neck reaching and drawing back, the shell rocking behind, stalks nodding.
fn crawl(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("crawl", 54, rest);
    let wave = |t: f64| (TAU * t).sin();
    clip.shift(bones.body, |t| s(0.0, 0.010 + 0.010 * wave(t), 0.030 * wave(t - 0.1)));
    clip.turn(bones.tail[0], |t| {
        DQuat::from_rotation_x(0.10 * wave(t - 0.25)) * DQuat::from_rotation_y(0.12 * wave(t))
    });
    clip.turn(bones.tail[1], |t| {
        DQuat::from_rotation_x(0.16 * wave(t - 0.40)) * DQuat::from_rotation_y(0.22 * wave(t - 0.15))
    });
    clip.shift(bones.neck, |t| s(0.0, 0.0, 0.022 * wave(t + 0.15)));
    clip.turn(bones.neck, |t| DQuat::from_rotation_x(0.16 * wave(t + 0.1)) * DQuat::from_rotation_y(0.08 * wave(t)));
    clip.turn(bones.head, |t| {
        DQuat::from_rotation_x(-0.20 * wave(t + 0.05)) * DQuat::from_rotation_y(0.12 * wave(t - 0.1))
    });
    clip.turn(bones.shell, |t| DQuat::from_rotation_x(-0.10 * wave(t - 0.15)) * DQuat::from_rotation_z(0.05 * wave(t)));
    for (k, &[lower, upper]) in bones.stalks.iter().enumerate() {
        let side = if k == 0 { 1.0 } else { -1.0 };
        let lag = 0.08 * k as f64;
        clip.turn(lower, |t| {
            DQuat::from_rotation_x(0.28 * wave(t - 0.1 - lag)) * DQuat::from_rotation_z(-side * 0.10 * wave(2.0 * t))
        });
        clip.turn(upper, |t| DQuat::from_rotation_x(0.38 * wave(t - 0.22 - lag)));
    }
    clip.finish()
}

/// Looks left and right; one stalk leads, the other follows.
fn peer(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("peer", 60, rest);
    let wave = |t: f64| (TAU * t).sin();
    let snap = |t: f64| (2.2 * wave(t)).tanh();
    clip.turn(bones.neck, |t| {
        DQuat::from_rotation_y(0.22 * snap(t)) * DQuat::from_rotation_x(-0.10 + 0.06 * wave(2.0 * t))
    });
    clip.turn(bones.head, |t| DQuat::from_rotation_y(0.35 * snap(t + 0.02)) * DQuat::from_rotation_z(-0.14 * snap(t)));
    clip.turn(bones.shell, |t| DQuat::from_rotation_z(-0.05 * snap(t - 0.08)));
    for (k, &[lower, upper]) in bones.stalks.iter().enumerate() {
        let lag = 0.04 * k as f64;
        clip.turn(lower, |t| {
            DQuat::from_rotation_z(-0.30 * snap(t + 0.04 - lag)) * DQuat::from_rotation_x(0.12 * wave(2.0 * t + 0.25))
        });
        clip.turn(upper, |t| {
            DQuat::from_rotation_z(-0.30 * snap(t - lag)) * DQuat::from_rotation_x(0.25 * wave(2.0 * t + 0.15))
        });
    }
    clip.finish()
}
