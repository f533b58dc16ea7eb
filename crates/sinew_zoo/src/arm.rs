//! An arm standing on its shoulder: upper arm, forearm, hand, five fingers of two bones each.

use crate::ZooCharacter;
use crate::body::{Body, near, past};
use crate::looping::Loop;
use crate::solid::{blend, ellipsoid, limb, through, v};
use glam::{DQuat, DVec3};
use sinew::Clip;
use sinew::raw::RawBone;
use std::f64::consts::TAU;

pub(crate) const NAME: &str = "arm";
pub(crate) const ABOUT: &str = "an arm with elbow, wrist and five fingers, bending and waving";

const SKIN: [f32; 3] = [0.72, 0.42, 0.28];

const ELBOW: DVec3 = DVec3::new(0.0, 0.29, 0.0);
const WRIST: DVec3 = DVec3::new(0.0, 0.535, 0.0);

struct Bones {
    upper_arm: usize,
    forearm: usize,
    hand: usize,
    /// First and second bone; index to little finger, then thumb.
    fingers: [[usize; 2]; 5],
}

struct Finger {
    name: &'static str,
    /// Knuckle, middle joint, tip.
    line: [DVec3; 3],
    radius: f64,
}

/// The palm faces +Z; the thumb is on the side of +X.
fn fingers() -> [Finger; 5] {
    let finger = |name, x: f64, y: f64, lean: f64, length: f64, radius: f64| {
        let knuckle = v(x, y, 0.0);
        let along = v(lean.sin(), lean.cos(), 0.05).normalize();
        Finger { name, line: [knuckle, knuckle + along * length * 0.52, knuckle + along * length], radius }
    };
    [
        finger("index", 0.0410, 0.632, 0.20, 0.094, 0.0118),
        finger("middle", 0.0135, 0.640, 0.055, 0.103, 0.0122),
        finger("ring", -0.0142, 0.636, -0.095, 0.095, 0.0117),
        finger("little", -0.0412, 0.622, -0.26, 0.077, 0.0106),
        Finger {
            name: "thumb",
            line: [v(0.040, 0.575, 0.010), v(0.074, 0.607, 0.022), v(0.094, 0.646, 0.030)],
            radius: 0.0130,
        },
    ]
}

pub(crate) fn arm() -> ZooCharacter {
    let mut body = Body::root("upper_arm", v(0.0, 0.02, 0.0));
    let bones = bones(&mut body);
    parts(&mut body);
    let clips = vec![bend(&bones, body.bones()), wave(&bones, body.bones())];
    body.finish(NAME, ABOUT, clips)
}

fn bones(body: &mut Body) -> Bones {
    let upper_arm = 0;
    let forearm = body.bone("forearm", upper_arm, ELBOW, vec![past(ELBOW, DVec3::Y, 0.05)]);
    let hand = body.bone("hand", forearm, WRIST, vec![past(WRIST, DVec3::Y, 0.03)]);
    let fingers = fingers().map(|finger| {
        let [a, b, c] = finger.line;
        let (first, second) = ((b - a).normalize(), (c - b).normalize());
        // The claim begins above the web and ends before the surface of the next finger: none follows its neighbour.
        let claim = vec![
            past(a + first * 0.032, first, 0.014),
            near(&[a, b, c], finger.radius + 0.0008, finger.radius + 0.0034),
        ];
        let one = body.bone(&format!("{}.1", finger.name), hand, a, claim);
        [one, body.bone(&format!("{}.2", finger.name), one, b, vec![past(b, second, 0.014)])]
    });
    Bones { upper_arm, forearm, hand, fingers }
}

fn parts(body: &mut Body) {
    let bone = limb(&[
        (v(0.0, 0.060, 0.0), 0.060),
        (v(0.0, 0.13, 0.002), 0.049),
        (v(0.0, 0.20, 0.004), 0.042),
        (v(0.0, 0.275, 0.0), 0.0365),
        (v(0.0, 0.345, 0.002), 0.0405),
        (v(0.0, 0.43, 0.0), 0.034),
        (v(0.0, 0.51, 0.0), 0.0255),
        (v(0.0, 0.56, 0.0), 0.026),
    ]);
    let muscles = [
        ellipsoid(v(0.0, 0.180, 0.022), v(0.031, 0.070, 0.031)),
        ellipsoid(v(0.0, 0.170, -0.018), v(0.031, 0.078, 0.030)),
        ellipsoid(v(0.008, 0.345, 0.006), v(0.034, 0.065, 0.032)),
        ellipsoid(v(0.0, 0.284, -0.020), v(0.021, 0.026, 0.021)),
    ];
    let palm = blend(
        0.02,
        [
            limb(&[(v(0.010, 0.565, 0.0), 0.030), (v(0.032, 0.622, 0.0), 0.020)]),
            limb(&[(v(-0.010, 0.565, 0.0), 0.030), (v(-0.032, 0.612, 0.0), 0.020)]),
            limb(&[(v(0.0, 0.565, 0.0), 0.030), (v(0.0, 0.625, 0.0), 0.021)]),
        ],
    )
    .flattened(DVec3::ZERO, DVec3::Z, 0.80);
    let fingers = fingers().map(|finger| {
        let ([a, b, c], r) = (finger.line, finger.radius);
        through(vec![(a, 1.03 * r), (b, r), (c, 0.86 * r)])
    });
    let hand = blend(0.009, [palm].into_iter().chain(fingers));
    body.part(SKIN, 0.0074, blend(0.035, [bone, hand].into_iter().chain(muscles)));
}

/// The elbow from straight to 110° and back, the hand closing to a fist on the way.
fn bend(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("bend", 48, rest);
    let bent = |t: f64| 0.5 - 0.5 * (TAU * t).cos();
    clip.turn(bones.upper_arm, |t| DQuat::from_rotation_x(-0.12 * bent(t)));
    clip.turn(bones.forearm, |t| DQuat::from_rotation_x(110_f64.to_radians() * bent(t)));
    clip.turn(bones.hand, |t| DQuat::from_rotation_x(0.35 * bent(t - 0.06) - 0.10));
    for (k, &[one, two]) in bones.fingers.iter().enumerate() {
        let curl = move |t: f64| bent(t - 0.03 - 0.02 * k as f64);
        if k < 4 {
            clip.turn(one, |t| DQuat::from_rotation_x(0.75 * curl(t)));
            clip.turn(two, |t| DQuat::from_rotation_x(1.05 * curl(t)));
        } else {
            clip.turn(one, |t| DQuat::from_rotation_y(-0.55 * curl(t)) * DQuat::from_rotation_z(0.15 * curl(t)));
            clip.turn(two, |t| DQuat::from_rotation_z(0.50 * curl(t)) * DQuat::from_rotation_x(0.25 * curl(t)));
        }
    }
    clip.finish()
}

/// Hello: the forearm swings from side to side, hand and fingers trailing.
fn wave(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("wave", 30, rest);
    let side = |t: f64| (TAU * t).sin();
    clip.turn(bones.upper_arm, |t| DQuat::from_rotation_z(0.10 * side(t + 0.05)));
    clip.turn(bones.forearm, |t| DQuat::from_rotation_z(0.42 * side(t)) * DQuat::from_rotation_x(0.18));
    clip.turn(bones.hand, |t| DQuat::from_rotation_z(0.38 * side(t - 0.10)) * DQuat::from_rotation_x(-0.12));
    for (k, &[one, two]) in bones.fingers.iter().enumerate() {
        let lag = 0.16 + 0.02 * k as f64;
        clip.turn(one, |t| DQuat::from_rotation_z(0.10 * side(t - lag)) * DQuat::from_rotation_x(0.08));
        clip.turn(two, |t| DQuat::from_rotation_x(0.12 + 0.10 * side(t - lag)));
    }
    clip.finish()
}
