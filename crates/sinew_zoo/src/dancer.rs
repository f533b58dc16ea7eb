//! A dancer in a wide skirt. The skirt hangs from the hips; near the legs it follows them.

use crate::ZooCharacter;
use crate::body::{Body, near, past};
use crate::lathe::lathe;
use crate::looping::{Loop, RATE};
use crate::solid::{ball, blend, ellipsoid, limb, v};
use crate::surface_nets::Surface;
use glam::{DQuat, DVec3, Quat, Vec3};
use sinew::clip::{Track, slerp};
use sinew::raw::RawBone;
use sinew::{Clip, Curve, Interpolation};
use std::cmp::Ordering;
use std::f64::consts::TAU;

pub(crate) const NAME: &str = "dancer";
pub(crate) const ABOUT: &str = "a dancer in a wide pleated skirt, twirling and swaying";

const SKIN: [f32; 3] = [0.80, 0.50, 0.36];
const DRESS: [f32; 3] = [0.62, 0.06, 0.14];
const HAIR: [f32; 3] = [0.07, 0.035, 0.025];
const SHOE: [f32; 3] = [0.45, 0.04, 0.10];
const EYE: [f32; 3] = [0.015, 0.012, 0.012];

struct Bones {
    hips: usize,
    spine: usize,
    chest: usize,
    neck: usize,
    head: usize,
    /// Upper arm, forearm, hand; left, right.
    arms: [[usize; 3]; 2],
    /// Thigh, shin, foot; left, right.
    legs: [[usize; 3]; 2],
}

/// With a third clip of so many seconds that never repeats, where asked for.
pub(crate) fn dancer(seconds: Option<f64>) -> ZooCharacter {
    let mut body = Body::root("hips", v(0.0, 0.98, 0.0));
    let bones = bones(&mut body);
    parts(&mut body);
    let mut clips = vec![twirl(&bones, body.bones()), sway(&bones, body.bones())];
    clips.extend(seconds.map(|seconds| dance(&clips[0], &clips[1], seconds)));
    body.finish(NAME, ABOUT, clips)
}

/// Shoulder, elbow, wrist, finger tips.
fn arm(side: f64) -> [DVec3; 4] {
    [
        v(side * 0.150, 1.385, -0.005),
        v(side * 0.385, 1.335, -0.005),
        v(side * 0.60, 1.325, 0.035),
        v(side * 0.705, 1.335, 0.060),
    ]
}

/// Hip, knee, ankle, toes.
fn leg(side: f64) -> [DVec3; 4] {
    [
        v(side * 0.078, 0.92, 0.0),
        v(side * 0.076, 0.52, 0.015),
        v(side * 0.073, 0.10, -0.01),
        v(side * 0.085, 0.035, 0.10),
    ]
}

fn bones(body: &mut Body) -> Bones {
    let hips = 0;
    let spine = body.bone("spine", hips, v(0.0, 1.07, 0.0), vec![past(v(0.0, 1.085, 0.0), DVec3::Y, 0.055)]);
    let chest = body.bone("chest", spine, v(0.0, 1.19, 0.0), vec![past(v(0.0, 1.20, 0.0), DVec3::Y, 0.075)]);
    let neck = body.bone("neck", chest, v(0.0, 1.43, -0.005), vec![past(v(0.0, 1.445, 0.0), DVec3::Y, 0.04)]);
    let head = body.bone("head", neck, v(0.0, 1.51, 0.005), vec![past(v(0.0, 1.505, 0.0), DVec3::Y, 0.042)]);
    let tags = [("L", 1.0), ("R", -1.0)];
    let arms = tags.map(|(tag, side)| {
        let [a, b, c, d] = arm(side);
        let out = v(side, 0.0, 0.0);
        let upper = vec![past(a + out * 0.02, out, 0.05), near(&[a, b, c, d], 0.065, 0.10)];
        let upper = body.bone(&format!("upper_arm.{tag}"), chest, a, upper);
        let forearm = body.bone(&format!("forearm.{tag}"), upper, b, vec![past(b, out, 0.045)]);
        [upper, forearm, body.bone(&format!("hand.{tag}"), forearm, c, vec![past(c, out, 0.045)])]
    });
    let legs = tags.map(|(tag, side)| {
        let [a, b, c, d] = leg(side);
        let out = v(side, 0.0, 0.0);
        let thigh = vec![
            past(a - DVec3::Y * 0.04, -DVec3::Y, 0.08),
            past(DVec3::ZERO, out, 0.04),
            near(&[a, b, c, d], 0.095, 0.19),
        ];
        let thigh = body.bone(&format!("thigh.{tag}"), hips, a, thigh);
        let shin =
            body.bone(&format!("shin.{tag}"), thigh, b, vec![past(b, -DVec3::Y, 0.055), past(DVec3::ZERO, out, 0.01)]);
        [thigh, shin, body.bone(&format!("foot.{tag}"), shin, c, vec![past(c, -DVec3::Y, 0.055)])]
    });
    Bones { hips, spine, chest, neck, head, arms, legs }
}

fn parts(body: &mut Body) {
    let torso = [
        ellipsoid(v(0.0, 0.955, -0.005), v(0.120, 0.10, 0.092)),
        limb(&[(v(0.0, 0.98, 0.0), 0.088), (v(0.0, 1.10, 0.0), 0.080), (v(0.0, 1.25, 0.0), 0.095)]).flattened(
            DVec3::ZERO,
            DVec3::Z,
            0.92,
        ),
        ellipsoid(v(0.0, 1.29, 0.0), v(0.125, 0.105, 0.085)),
        limb(&[(v(0.0, 1.36, -0.005), 0.06), (v(0.0, 1.51, 0.005), 0.042)]),
        limb(&[
            (v(0.155, 1.388, -0.005), 0.046),
            (v(0.06, 1.405, -0.01), 0.050),
            (v(-0.06, 1.405, -0.01), 0.050),
            (v(-0.155, 1.388, -0.005), 0.046),
        ]),
    ];
    let limbs = [1.0, -1.0].into_iter().flat_map(|side| {
        let [a, b, c, d] = arm(side);
        let [e, f, g, h] = leg(side);
        [
            limb(&[(a, 0.047), (b, 0.036), (c, 0.026), (c.lerp(d, 0.45), 0.030), (d, 0.018)]),
            limb(&[(e, 0.078), (f, 0.055), (f.lerp(g, 0.3) - DVec3::Z * 0.012, 0.055), (g, 0.034), (h, 0.030)]),
        ]
    });
    let head = [
        ellipsoid(v(0.0, 1.615, 0.012), v(0.092, 0.115, 0.102)),
        ellipsoid(v(0.0, 1.565, 0.030), v(0.065, 0.062, 0.072)),
        ball(v(0.0, 1.598, 0.112), 0.016),
    ];
    let whole = blend(0.05, torso.clone().into_iter().chain(limbs));
    body.part(SKIN, 0.0255, blend(0.025, [whole, blend(0.03, head)]));

    body.surface(DRESS, dress());

    let hair = [
        ellipsoid(v(0.0, 1.640, -0.018), v(0.105, 0.112, 0.105)),
        ball(v(0.0, 1.745, -0.060), 0.056),
        ellipsoid(v(0.0, 1.570, -0.055), v(0.075, 0.075, 0.055)),
    ];
    body.part(HAIR, 0.026, blend(0.03, hair));
    for side in [1.0, -1.0] {
        body.part(EYE, 0.0072, ellipsoid(v(side * 0.038, 1.618, 0.106), v(0.012, 0.018, 0.010)));
        let [_, _, ankle, toes] = leg(side);
        let shoe = limb(&[(v(ankle.x, 0.045, ankle.z - 0.005), 0.044), (v(toes.x, 0.034, toes.z + 0.01), 0.038)]);
        body.part(SHOE, 0.025, shoe.above(0.0, 0.02));
    }
    let mouth: Vec<_> = (-2..=2)
        .map(|k| f64::from(k) / 2.0)
        .map(|s| (v(0.020 * s, 1.5545 + 0.006 * s * s, 0.1025 - 0.005 * s * s), 0.0052))
        .collect();
    body.part(DRESS, 0.0055, limb(&mouth));
}

/// Outline of the dress from the neckline down: half width, height, depth per width.
const DRESS_OUTLINE: [(f64, f64, f64); 17] = [
    (0.126, 1.345, 0.74),
    (0.139, 1.318, 0.73),
    (0.141, 1.280, 0.73),
    (0.132, 1.235, 0.76),
    (0.116, 1.185, 0.81),
    (0.103, 1.135, 0.86),
    (0.099, 1.085, 0.89),
    (0.107, 1.042, 0.91),
    (0.138, 1.000, 0.93),
    (0.172, 0.955, 0.95),
    (0.206, 0.905, 0.97),
    (0.239, 0.850, 0.99),
    (0.273, 0.792, 1.0),
    (0.305, 0.732, 1.0),
    (0.344, 0.672, 1.0),
    (0.382, 0.614, 1.0),
    (0.416, 0.560, 1.0),
];

/// Tight above the waist, a bell with eight pleats below; around the hem the lining runs back up inside.
fn dress() -> Surface {
    let outside = DRESS_OUTLINE.len();
    lathe(64, 2 * outside + 1, |angle, row| {
        let knot = if row <= outside { row.min(outside - 1) } else { 2 * outside - row };
        let (width, height, depth) = DRESS_OUTLINE[knot];
        // Cloth is thin; where it lies against the body the lining may as well be out of sight inside it.
        let (inwards, downwards) = if height > 1.03 { (0.030, 0.0) } else { (0.012, 0.0075) };
        let (inwards, downwards) = match row.cmp(&outside) {
            Ordering::Less => (0.0, 0.0),
            Ordering::Equal => (0.5 * inwards - 0.003, 0.5 * downwards + 0.005),
            Ordering::Greater => (inwards, downwards),
        };
        let below = ((1.03 - height) / 0.47).max(0.0);
        let pleat = (8.0 * angle).cos();
        let bump = |at: f64| (-((angle - at) / 0.36).powi(2) - ((height - 1.283) / 0.042).powi(2)).exp();
        let bust = 0.024 * (bump(0.52) + bump(TAU - 0.52));
        let radius = width + bust + 0.034 * below.powf(1.4) * pleat - inwards;
        let y = height - downwards + 0.012 * below * below * pleat;
        v(radius * angle.sin(), y, radius * depth * angle.cos())
    })
}

/// Two turns, pushed off twice; the arms close to spin up and open to slow down.
fn twirl(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("twirl", 54, rest);
    let wave = |t: f64| (TAU * t).sin();
    let push = |t: f64| 0.5 - 0.5 * (2.0 * TAU * t).cos();
    clip.shift(bones.hips, |t| v(0.0, 0.02 * push(t) - 0.012, 0.0));
    clip.turn(bones.hips, |t| DQuat::from_rotation_y(2.0 * TAU * t - 0.42 * wave(2.0 * t)));
    clip.turn(bones.spine, |t| DQuat::from_rotation_y(0.16 * wave(2.0 * t)) * DQuat::from_rotation_x(-0.05));
    clip.turn(bones.chest, |t| DQuat::from_rotation_y(0.14 * wave(2.0 * t - 0.1)) * DQuat::from_rotation_x(-0.06));
    clip.turn(bones.neck, |t| DQuat::from_rotation_y(0.25 * wave(2.0 * t + 0.12)));
    clip.turn(bones.head, |t| DQuat::from_rotation_y(0.35 * wave(2.0 * t + 0.12)) * DQuat::from_rotation_x(-0.08));
    for (k, &[upper, forearm, hand]) in bones.arms.iter().enumerate() {
        let side = if k == 0 { 1.0 } else { -1.0 };
        // One arm rises over the head, the other rounds in front of the body.
        let raise = if k == 0 { 0.95 } else { 0.10 };
        clip.turn(upper, |t| {
            DQuat::from_rotation_z(side * (raise * push(t + 0.1) + 0.05))
                * DQuat::from_rotation_y(-side * 0.35 * push(t))
        });
        clip.turn(forearm, |t| {
            DQuat::from_rotation_z(side * 0.75 * raise * push(t + 0.06))
                * DQuat::from_rotation_y(-side * (0.25 + 0.75 * (1.0 - raise) * push(t)))
        });
        clip.turn(hand, |t| DQuat::from_rotation_z(side * 0.25 * wave(2.0 * t)));
    }
    // She stands on the left leg; the right foot is drawn up to the knee.
    let [thigh, shin, foot] = bones.legs[1];
    clip.turn(thigh, |t| DQuat::from_rotation_z(-0.32 * push(t)) * DQuat::from_rotation_x(-0.55 * push(t) - 0.05));
    clip.turn(shin, |t| DQuat::from_rotation_x(1.25 * push(t) + 0.05));
    clip.turn(foot, |t| DQuat::from_rotation_x(0.75 * push(t)));
    let [thigh, shin, foot] = bones.legs[0];
    clip.turn(thigh, |t| DQuat::from_rotation_x(-0.10 * (1.0 - push(t))));
    clip.turn(shin, |t| DQuat::from_rotation_x(0.20 * (1.0 - push(t))));
    clip.turn(foot, |t| DQuat::from_rotation_x(0.35 * push(t) - 0.10 * (1.0 - push(t))));
    clip.finish()
}

/// Weight from hip to hip, arms following like waves.
fn sway(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("sway", 48, rest);
    let wave = |t: f64| (TAU * t).sin();
    clip.shift(bones.hips, |t| v(0.055 * wave(t), -0.012 + 0.014 * wave(2.0 * t + 0.25), 0.0));
    clip.turn(bones.hips, |t| {
        DQuat::from_rotation_z(-0.13 * wave(t + 0.02)) * DQuat::from_rotation_y(0.30 * wave(t - 0.05))
    });
    clip.turn(bones.spine, |t| DQuat::from_rotation_z(0.12 * wave(t - 0.05)) * DQuat::from_rotation_y(-0.18 * wave(t)));
    clip.turn(bones.chest, |t| DQuat::from_rotation_z(0.12 * wave(t - 0.10)) * DQuat::from_rotation_y(-0.15 * wave(t)));
    clip.turn(bones.neck, |t| DQuat::from_rotation_z(-0.08 * wave(t - 0.15)));
    clip.turn(bones.head, |t| DQuat::from_rotation_z(-0.16 * wave(t - 0.2)) * DQuat::from_rotation_y(0.15 * wave(t)));
    for (k, &[upper, forearm, hand]) in bones.arms.iter().enumerate() {
        let side = if k == 0 { 1.0 } else { -1.0 };
        let start = if k == 0 { 0.0 } else { 0.5 };
        clip.turn(upper, |t| {
            DQuat::from_rotation_z(side * (-0.15 + 0.50 * wave(t + start - 0.08))) * DQuat::from_rotation_y(-side * 0.3)
        });
        clip.turn(forearm, |t| {
            DQuat::from_rotation_z(side * (0.15 + 0.40 * wave(t + start - 0.18))) * DQuat::from_rotation_y(-side * 0.35)
        });
        clip.turn(hand, |t| DQuat::from_rotation_z(side * 0.45 * wave(t + start - 0.30)));
    }
    for (k, &[thigh, shin, foot]) in bones.legs.iter().enumerate() {
        let start = if k == 0 { 0.0 } else { 0.5 };
        // The free leg bends and rises onto the toes.
        let free = move |t: f64| (0.5 - 0.5 * wave(t + start)).powi(2);
        clip.turn(thigh, |t| DQuat::from_rotation_z(0.09 * wave(t)) * DQuat::from_rotation_x(-0.28 * free(t) - 0.05));
        clip.turn(shin, |t| DQuat::from_rotation_x(0.55 * free(t) + 0.10));
        clip.turn(foot, |t| DQuat::from_rotation_x(0.25 * free(t) - 0.05));
    }
    clip.finish()
}

/// Both loops blended bone by bone, each bone at a pace of its own: paces and blends are multiples of the golden ratio,
/// so that no moment comes back. The hips only twirl: half-way to a full turn there is no middle.
fn dance(twirl: &Clip, sway: &Clip, seconds: f64) -> Clip {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let frames = (seconds * RATE).round().max(1.0) as usize;
    let times: Vec<f64> = (0..=frames).map(|frame| frame as f64 / RATE).collect();
    let length = |clip: &Clip| clip.span().map_or(1.0, |(start, end)| end - start);
    let (period, other_period) = (length(twirl), length(sway));
    let track = |(bone, track): (usize, &Track)| {
        let own = (GOLDEN * bone as f64).fract();
        let places = times.iter().map(|&time| {
            let pace = (0.85 + 0.3 * own) * time;
            let share =
                if bone == 0 { 0.0 } else { 0.5 - 0.5 * (TAU * (GOLDEN * (0.2 + 0.1 * own) * time + own)).cos() };
            (pace.rem_euclid(period), (GOLDEN * pace + own).rem_euclid(other_period), share)
        });
        let places: Vec<(f64, f64, f64)> = places.collect();
        let other = sway.tracks.iter().find(|other| other.node == track.node)?;
        let turn = |a: &Curve<Quat>, b: &Curve<Quat>| {
            let values = places.iter().map(|&(at, other, share)| slerp(a.sample(at), b.sample(other), share).as_quat());
            Curve::new(Interpolation::Linear, times.clone(), values.collect()).ok()
        };
        let shift = |a: &Curve<Vec3>, b: &Curve<Vec3>| {
            let values = places.iter().map(|&(at, other, s)| a.sample(at).lerp(b.sample(other), s).as_vec3());
            Curve::new(Interpolation::Linear, times.clone(), values.collect()).ok()
        };
        Some(Track {
            node: track.node,
            rotation: track.rotation.as_ref().zip(other.rotation.as_ref()).and_then(|(a, b)| turn(a, b)),
            translation: track.translation.as_ref().zip(other.translation.as_ref()).and_then(|(a, b)| shift(a, b)),
            ..Track::default()
        })
    };
    Clip { name: "dance".to_owned(), tracks: twirl.tracks.iter().enumerate().filter_map(track).collect() }
}
