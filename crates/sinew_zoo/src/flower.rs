//! A flower in a pot: a stem of four bones, two leaves, a head of petals on one bone.

use crate::ZooCharacter;
use crate::body::{Body, any, near, past};
use crate::lathe::lathe;
use crate::looping::Loop;
use crate::solid::{blend, cone, ellipsoid, limb, v};
use crate::surface_nets::Surface;
use glam::{DQuat, DVec3};
use sinew::Clip;
use sinew::raw::RawBone;
use std::f64::consts::TAU;

pub(crate) const NAME: &str = "flower";
pub(crate) const ABOUT: &str = "a flower in a pot, swaying and twirling, petals and leaves free to flutter";

const POT: [f32; 3] = [0.66, 0.24, 0.12];
const SOIL: [f32; 3] = [0.07, 0.035, 0.02];
const STEM: [f32; 3] = [0.16, 0.42, 0.09];
const PETAL: [f32; 3] = [0.93, 0.30, 0.48];
const FACE: [f32; 3] = [0.10, 0.035, 0.015];
const CENTRE: [f32; 3] = [0.98, 0.66, 0.10];

struct Bones {
    pot: usize,
    stem: [usize; 4],
    head: usize,
    leaves: [usize; 2],
}

/// Where the stem runs: out of the pot, leaning a little, up to the head.
const STEM_LINE: [DVec3; 6] = [
    DVec3::new(0.0, 0.06, 0.0),
    DVec3::new(0.0, 0.145, 0.0),
    DVec3::new(0.010, 0.26, -0.008),
    DVec3::new(0.012, 0.37, -0.014),
    DVec3::new(0.004, 0.48, -0.010),
    DVec3::new(0.0, 0.565, 0.012),
];
/// Middle of the head.
const HEAD: DVec3 = DVec3::new(0.0, 0.60, 0.045);
/// Tilt of the face about X, from straight up towards +Z.
const FACING: f64 = 1.02;

pub(crate) fn flower() -> ZooCharacter {
    let mut body = Body::root("pot", DVec3::ZERO);
    let bones = bones(&mut body);
    parts(&mut body);
    let clips = vec![sway(&bones, body.bones()), twirl(&bones, body.bones())];
    body.finish(NAME, ABOUT, clips)
}

fn bones(body: &mut Body) -> Bones {
    // The pot's rim stands higher than the foot of the stem and is not the stem's.
    let core = near(&[STEM_LINE[0], STEM_LINE[1] + DVec3::Y * 0.1], 0.02, 0.06);
    let above = past(v(0.0, 0.19, 0.0), DVec3::Y, 0.025);
    let rooted = past(v(0.0, 0.15, 0.0), DVec3::Y, 0.03);
    let mut stem = [0; 4];
    stem[0] = body.bone("stem.1", 0, STEM_LINE[1], vec![rooted, any([core, above])]);
    let facing = DQuat::from_rotation_x(FACING) * DVec3::Y;
    // The lower petals hang beside the stem, but they are the head's.
    let petals = || near(&[HEAD + facing * 0.06, HEAD + facing * 0.061], 0.155, 0.185);
    for k in 1..4 {
        let joint = STEM_LINE[k + 1];
        let factors = vec![any([past(joint, DVec3::Y, 0.045), petals()])];
        stem[k] = body.bone(&format!("stem.{}", k + 1), stem[k - 1], joint, factors);
    }
    let neck = HEAD - facing * 0.042;
    let head = vec![past(neck, facing, 0.022), petals()];
    let head = body.bone("head", stem[3], neck, head);
    let leaves = [1.0, -1.0].map(|side| {
        let [root, tip] = leaf_line(side);
        let out = v(side, 0.35, 0.0).normalize();
        let factors = vec![past(root + out * 0.022, out, 0.018), near(&[root, tip], 0.05, 0.08)];
        let name = if side > 0.0 { "leaf.L" } else { "leaf.R" };
        body.bone(name, stem[if side > 0.0 { 0 } else { 1 }], root, factors)
    });
    Bones { pot: 0, stem, head, leaves }
}

/// Root and tip of a leaf.
fn leaf_line(side: f64) -> [DVec3; 2] {
    if side > 0.0 {
        [v(0.010, 0.235, -0.006), v(0.165, 0.305, 0.030)]
    } else {
        [v(0.010, 0.325, -0.012), v(-0.135, 0.400, 0.020)]
    }
}

fn parts(body: &mut Body) {
    body.surface(POT, pot());
    body.part(SOIL, 0.02, ellipsoid(v(0.0, 0.118, 0.0), v(0.088, 0.024, 0.088)));

    let radii = [0.014, 0.014, 0.0125, 0.0115, 0.0115, 0.013];
    let line: Vec<_> = STEM_LINE.into_iter().zip(radii).collect();
    let leaves = [1.0, -1.0].map(|side| {
        let [root, tip] = leaf_line(side);
        let out = (tip - root).normalize();
        let normal = v(-0.35 * side, 1.0, 0.25).normalize();
        let normal = (normal - out * normal.dot(out)).normalize();
        let middle = root.lerp(tip, 0.6);
        let blade = [cone(root, 0.012, middle, 0.040), cone(middle, 0.040, tip, 0.010)];
        blend(0.02, [blend(0.03, blade).sheet(middle, normal, 0.0083, -0.9), cone(root, 0.008, middle, 0.008)])
    });
    let turn = DQuat::from_rotation_x(FACING);
    let calyx = ellipsoid(HEAD - turn * DVec3::Y * 0.020, v(0.036, 0.024, 0.036)).turned(turn);
    body.part(STEM, 0.0092, blend(0.02, [limb(&line)].into_iter().chain(leaves).chain([calyx])));

    let petals = (0..8).map(|k| {
        let around = DQuat::from_rotation_y(TAU * f64::from(k) / 8.0);
        let cup = turn * around * DQuat::from_rotation_x(-0.30);
        let out = cup * DVec3::Z;
        let normal = cup * DVec3::Y;
        let blade = [
            cone(HEAD + out * 0.03, 0.018, HEAD + out * 0.100, 0.031),
            cone(HEAD + out * 0.100, 0.031, HEAD + out * 0.130, 0.020),
        ];
        blend(0.02, blade).sheet(HEAD + out * 0.075, normal, 0.0080, 1.6)
    });
    let hub = ellipsoid(HEAD, v(0.058, 0.020, 0.058)).turned(turn);
    body.part(PETAL, 0.0088, blend(0.012, [hub].into_iter().chain(petals)));
    body.part(CENTRE, 0.011, ellipsoid(HEAD + turn * DVec3::Y * 0.020, v(0.054, 0.022, 0.054)).turned(turn));
    for side in [1.0, -1.0] {
        body.part(
            FACE,
            0.0055,
            ellipsoid(HEAD + turn * v(side * 0.019, 0.0385, -0.010), v(0.0065, 0.006, 0.009)).turned(turn),
        );
    }
    let smile = [-1.0, -0.6, 0.0, 0.6, 1.0_f64]
        .map(|s| (HEAD + turn * v(0.023 * s, 0.0402 - 0.0012 * s * s, 0.022 - 0.012 * s * s), 0.0038));
    body.part(FACE, 0.0042, limb(&smile));
}

/// Outside down, inside up, with a hole in the bottom as pots have.
fn pot() -> Surface {
    let profile = [
        (0.106, 0.156),
        (0.110, 0.150),
        (0.110, 0.128),
        (0.104, 0.120),
        (0.098, 0.117),
        (0.092, 0.085),
        (0.085, 0.050),
        (0.078, 0.012),
        (0.073, 0.003),
        (0.066, 0.0),
        (0.038, 0.0),
        (0.020, 0.002),
        (0.020, 0.014),
        (0.038, 0.016),
        (0.064, 0.018),
        (0.075, 0.060),
        (0.084, 0.110),
        (0.089, 0.150),
        (0.093, 0.156),
    ];
    lathe(36, profile.len(), |angle, row| {
        let (radius, height) = profile[row];
        v(radius * angle.sin(), height, radius * angle.cos())
    })
}

/// Side to side, the bend running up the stem.
fn sway(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("sway", 48, rest);
    for (k, &bone) in bones.stem.iter().enumerate() {
        let lag = 0.06 * k as f64;
        clip.turn(bone, |t| {
            DQuat::from_rotation_z(0.20 * (TAU * (t - lag)).sin())
                * DQuat::from_rotation_x(0.05 * (TAU * 2.0 * (t - lag)).sin())
        });
    }
    clip.turn(bones.head, |t| {
        DQuat::from_rotation_z(0.30 * (TAU * (t - 0.24)).sin()) * DQuat::from_rotation_x(0.10 * (TAU * 2.0 * t).sin())
    });
    for (k, &bone) in bones.leaves.iter().enumerate() {
        clip.turn(bone, |t| DQuat::from_rotation_z(0.22 * (TAU * (t - 0.15 - 0.08 * k as f64)).sin()));
    }
    clip.finish()
}

/// Two turns on the spot, pot and all, fast and slow by turns; the stem leans out.
fn twirl(bones: &Bones, rest: &[RawBone]) -> Clip {
    let mut clip = Loop::new("twirl", 60, rest);
    let spin = |t: f64| 2.0 * TAU * t - 0.35 * (2.0 * TAU * t).sin();
    clip.turn(bones.pot, |t| DQuat::from_rotation_y(spin(t)));
    for &bone in &bones.stem {
        clip.turn(bone, |t| DQuat::from_rotation_z(0.10 + 0.06 * (TAU * t).sin()));
    }
    clip.turn(bones.head, |t| DQuat::from_rotation_z(-0.30 + 0.18 * (2.0 * TAU * t).sin()));
    for &bone in &bones.leaves {
        clip.turn(bone, |t| DQuat::from_rotation_y(-0.25 - 0.15 * (2.0 * TAU * t).cos()));
    }
    clip.finish()
}
