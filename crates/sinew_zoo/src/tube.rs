//! A tube with rounded ends, standing on the ground along +Y: any resolution, any number of bones.
//!
//! Its surface is a cylinder between two hemispheres, sampled in `rings` rings of `around` points at equal steps of arc
//! length, and one point at each pole. Bones divide its length evenly; weights are B-splines ([`crate::weights`]).
//! The rest shape is analytic, so it serves wherever a test needs the truth: radius, axis and bones are known exactly.

use crate::looping::{Loop, animated_nodes};
use crate::weights::{Spline, WeightField};
use crate::{ZooCharacter, ZooError};
use glam::{DAffine3, DQuat, DVec3};
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawSkin};
use sinew::{LocalTransform, RawRig, Trs};
use std::f64::consts::{PI, TAU};
use std::ops::RangeInclusive;

/// What [`build`](crate::build) calls it.
pub(crate) const NAME: &str = "tube";
/// What it is, in a line.
pub(crate) const ABOUT: &str = "a rounded tube of any resolution and bone count, waving and twisting";

const VERTICES: RangeInclusive<usize> = 11..=(1 << 24);
const RINGS: RangeInclusive<usize> = 3..=(1 << 22);
const AROUND: RangeInclusive<usize> = 3..=(1 << 22);
const BONES: RangeInclusive<usize> = 1..=4096;
const INFLUENCES: RangeInclusive<usize> = 1..=4;
const METRES: RangeInclusive<f64> = 1e-3..=1e3;

/// The dimensions of a [`tube`].
///
/// # Invariants
/// Every number within the range its setter documents, so that [`tube`] cannot fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TubeOptions {
    rings: usize,
    around: usize,
    bones: usize,
    influences: usize,
    radius: f64,
    length: f64,
}

impl Default for TubeOptions {
    /// 1602 vertices, 4 bones, 4 influences; 2 m tall, 0.2 m in radius.
    fn default() -> Self {
        Self { rings: 50, around: 32, bones: 4, influences: 4, radius: 0.2, length: 2.0 }
    }
}

impl TubeOptions {
    /// Exactly `rings` rings (3 to 2²²) of `around` points (3 to 2²²); at most 2²⁴ vertices in all.
    pub fn with_grid(self, rings: usize, around: usize) -> Result<Self, ZooError> {
        let rings = within("rings", rings, &RINGS)?;
        let around = within("around", around, &AROUND)?;
        within("vertices", rings * around + 2, &VERTICES)?;
        Ok(Self { rings, around, ..self })
    }

    /// About `vertices` vertices (11 to 2²⁴) in cells as square as they can be for the radius and length already set.
    pub fn with_vertices(self, vertices: usize) -> Result<Self, ZooError> {
        let vertices = within("vertices", vertices, &VERTICES)?;
        let on_rings = (vertices - 2) as f64;
        // At most 2²⁴ under the root: the casts are exact.
        let around = (on_rings * TAU * self.radius / self.profile_length()).sqrt().round() as usize;
        let around = around.clamp(*AROUND.start(), (vertices - 2) / *RINGS.start());
        let rings = (on_rings / around as f64).round() as usize;
        self.with_grid(rings.max(*RINGS.start()), around)
    }

    /// Number of bones, 1 to 4096.
    pub fn with_bones(self, bones: usize) -> Result<Self, ZooError> {
        Ok(Self { bones: within("bones", bones, &BONES)?, ..self })
    }

    /// Influences per vertex, 1 to 4: weights are B-splines of one degree less (1: rigid, 2: C0, 3: C1, 4: C2).
    pub fn with_influences(self, influences: usize) -> Result<Self, ZooError> {
        Ok(Self { influences: within("influences", influences, &INFLUENCES)?, ..self })
    }

    /// Radius and length over all in metres, 0.001 to 1000; the length at least twice the radius.
    pub fn with_size(self, radius: f64, length: f64) -> Result<Self, ZooError> {
        let radius = within("radius", radius, &METRES)?;
        let length = within("length", length, &METRES)?;
        if length < 2.0 * radius {
            return Err(ZooError::OutOfRange {
                character: NAME,
                option: "length",
                given: length.to_string(),
                allowed: format!("at least {}, twice the radius", 2.0 * radius),
            });
        }
        Ok(Self { radius, length, ..self })
    }

    /// Rings of points between the poles.
    pub fn rings(&self) -> usize {
        self.rings
    }

    /// Points per ring.
    pub fn around(&self) -> usize {
        self.around
    }

    /// Number of bones.
    pub fn bones(&self) -> usize {
        self.bones
    }

    /// Most influences a vertex can have.
    pub fn influences(&self) -> usize {
        self.influences
    }

    /// Radius in metres.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Length over all in metres.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Vertices the tube will have.
    pub fn vertices(&self) -> usize {
        self.rings * self.around + 2
    }

    /// Arc length of the profile from pole to pole.
    fn profile_length(&self) -> f64 {
        PI * self.radius + (self.length - 2.0 * self.radius)
    }

    /// Distance from the axis, height, and the normal's parts along both, at arc length `s` of the profile.
    fn profile(&self, s: f64) -> [f64; 4] {
        let (r, quarter) = (self.radius, 0.5 * PI * self.radius);
        let from_top = self.profile_length() - s;
        let cap = |s: f64| (s / r).sin_cos();
        if s < quarter {
            let (sin, cos) = cap(s);
            [r * sin, r - r * cos, sin, -cos]
        } else if from_top < quarter {
            let (sin, cos) = cap(from_top);
            [r * sin, self.length - r + r * cos, sin, cos]
        } else {
            [r, r + (s - quarter), 1.0, 0.0]
        }
    }
}

fn within<T: PartialOrd + Copy + std::fmt::Display>(
    option: &'static str,
    given: T,
    allowed: &RangeInclusive<T>,
) -> Result<T, ZooError> {
    if allowed.contains(&given) {
        return Ok(given);
    }
    Err(ZooError::OutOfRange {
        character: NAME,
        option,
        given: given.to_string(),
        allowed: format!("from {} to {}", allowed.start(), allowed.end()),
    })
}

/// Builds a tube with two loops, `wave` and `twist`; every bone moves in both.
pub fn tube(options: &TubeOptions) -> ZooCharacter {
    let step = options.length / options.bones as f64;
    let mut bones: Vec<RawBone> = (0..options.bones)
        .map(|bone| RawBone {
            name: format!("tube.{}", bone + 1),
            parent: bone.checked_sub(1),
            local: LocalTransform::Trs(Trs::from_translation(if bone == 0 { DVec3::ZERO } else { DVec3::Y * step })),
        })
        .collect();
    let clips = vec![wave(&bones), twist(&bones)];
    let joints = (0..options.bones)
        .map(|bone| RawJoint { bone, bone_from_rest: DAffine3::from_translation(DVec3::Y * (-step * bone as f64)) })
        .collect();
    let node = bones.len();
    bones.push(RawBone { name: NAME.to_owned(), parent: None, local: LocalTransform::Trs(Trs::IDENTITY) });
    let spline = Spline { bones: options.bones, length: options.length, influences: options.influences };
    let mesh = RawMesh {
        name: NAME.to_owned(),
        node,
        binding: RawBinding::Skin(0),
        primitives: vec![surface(options, &spline)],
        morph_weights: Vec::new(),
    };
    ZooCharacter {
        name: NAME.to_owned(),
        about: ABOUT,
        raw: RawRig {
            animated: animated_nodes(&clips),
            bones,
            skins: vec![RawSkin { name: NAME.to_owned(), joints }],
            meshes: vec![mesh],
        },
        clips,
        field: WeightField::from_spline(spline),
    }
}

fn surface(options: &TubeOptions, spline: &Spline) -> RawPrimitive {
    let (rings, around) = (options.rings, options.around);
    let count = options.vertices();
    let mut positions = Vec::with_capacity(count);
    let mut normals = Vec::with_capacity(count);
    let mut influences = RawInfluences {
        per_vertex: options.influences,
        joints: vec![0; count * options.influences],
        weights: vec![0.0; count * options.influences],
    };
    let directions: Vec<(f64, f64)> = (0..around).map(|j| (TAU * j as f64 / around as f64).sin_cos()).collect();
    // Ring 0 and ring `rings + 1` are the poles.
    for ring in 0..=rings + 1 {
        let s = options.profile_length() * ring as f64 / (rings + 1) as f64;
        let pole = ring == 0 || ring == rings + 1;
        let [mut out, y, mut normal_out, normal_up] = options.profile(s);
        if pole {
            (out, normal_out) = (0.0, 0.0);
        }
        let weights = spline.weights(y);
        for &(sin, cos) in &directions[..if pole { 1 } else { around }] {
            let first = positions.len() * options.influences;
            for (slot, &(bone, weight)) in weights.iter().enumerate() {
                // At most 4096 bones.
                influences.joints[first + slot] = bone as u32;
                influences.weights[first + slot] = weight as f32;
            }
            positions.push(DVec3::new(out * sin, y, out * cos).as_vec3());
            normals.push(DVec3::new(normal_out * sin, normal_up, normal_out * cos).normalize().as_vec3());
        }
    }
    RawPrimitive {
        positions,
        normals: Some(normals),
        influences,
        triangles: triangles(rings, around),
        color: [0.30, 0.55, 0.62, 1.0],
        ..RawPrimitive::default()
    }
}

fn triangles(rings: usize, around: usize) -> Vec<[u32; 3]> {
    let mut triangles = Vec::with_capacity(2 * rings * around);
    // At most 2²⁴ vertices.
    let at = |ring: usize, j: usize| (1 + ring * around + j % around) as u32;
    let top = (1 + rings * around) as u32;
    for j in 0..around {
        triangles.push([0, at(0, j + 1), at(0, j)]);
    }
    for ring in 0..rings - 1 {
        for j in 0..around {
            let [a, b, c, d] = [at(ring, j), at(ring, j + 1), at(ring + 1, j + 1), at(ring + 1, j)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    for j in 0..around {
        triangles.push([at(rings - 1, j), at(rings - 1, j + 1), top]);
    }
    triangles
}

/// A wave running up the tube, rocking it sideways and, at a third of the size, to and fro.
fn wave(bones: &[RawBone]) -> sinew::Clip {
    let mut clip = Loop::new("wave", 48, bones);
    let count = bones.len() as f64;
    for bone in 0..bones.len() {
        let lag = 0.5 * (bone as f64 + 0.5) / count;
        let most = 1.7 / count;
        clip.turn(bone, |phase| {
            let angle = TAU * (phase - lag);
            DQuat::from_rotation_z(most * angle.sin()) * DQuat::from_rotation_x(most / 3.0 * (2.0 * angle).cos())
        });
    }
    clip.finish()
}

/// Wound up one way, then the other; 150° between the ends.
fn twist(bones: &[RawBone]) -> sinew::Clip {
    let mut clip = Loop::new("twist", 45, bones);
    let count = bones.len() as f64;
    for bone in 0..bones.len() {
        clip.turn(bone, |phase| DQuat::from_rotation_y((5.0 / 6.0) * PI / count * (TAU * phase).sin()));
    }
    clip.finish()
}
