//! Flesh that lags behind, swings on, sags and bulges (KD 5, METHODS 6).
//!
//! Muscles are ellipsoids fitted to the nodes that follow a bone most, or to those of every fleshy segment where the recipe
//! names none. Each gives vortices to one field ([`crate::kinodynamic`]) that carries the skin: muscles that touch move
//! each other's skin. The sway of a limb is what the oscillators of [`crate::motion`] make of what it feels: run ahead over
//! the clip, so every frame stands alone and loops close. The field keeps volume; a painted map on it does not.
//!
//! Oracle: life 1 leaves the skin alone; the same bits in any frame order; loops close; size is all that scale changes
//! (tests/muscles.rs).

use super::surface::Surface;
use super::{Binding, Bound, Log, Place, Work};
use crate::kinodynamic::{Muscle, Shape, Sway};
use crate::motion::{Filter, FilteredSignal, Oscillator, Signal};
use crate::param::{ParamSpec, Values};
use crate::polar::{polar_rotation, principal_axes};
use crate::rig::Rig;
use crate::simd::LANES;
use crate::skeleton::BoneId;
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::f64::consts::TAU;

const SHAPES: &[&str] = &["ellipsoid", "capsule"];

pub(super) const MUSCLE_PARAMS: &[ParamSpec] = &[
    ParamSpec::choice("shape", SHAPES, "of the muscles fitted to the skin"),
    ParamSpec::number("frequency", "Hz", [0.1, 12.0], 3.0, "how fast the flesh swings; k_s = (2π·frequency)²"),
    ParamSpec::number(
        "damping",
        "",
        [0.01, 2.0],
        0.25,
        "how soon it stops; below 1 it rings; k_d = 4π·damping·frequency",
    ),
    ParamSpec::number(
        "density",
        "",
        [0.0, 1000.0],
        1000.0,
        "of the flesh, in densities of what is around it; 1 floats",
    ),
    ParamSpec::number("gravity", "× size/s²", [0.0, 50.0], 0.0, "pull towards the world's −y"),
    ParamSpec::number("life", "", [0.0, 2.0], 0.0, "1 goes with the bone, more leads it"),
    ParamSpec::number("stretch", "", [-1.0, 1.0], 0.0, "squash (below 0) and stretch along the longest axis"),
    ParamSpec::number("contraction", "", [-1.0, 1.5], 0.6, "bulge at half a turn of the bones that flex a muscle"),
    ParamSpec::number("limit", "× muscle radius", [0.01, 2.0], 0.5, "a muscle does not leave its place farther"),
    ParamSpec::number("reach", "× muscle radius", [1.5, 4.0], 2.0, "how far the skin is taken along"),
    ParamSpec::number("samples", "", [16.0, 400.0], 64.0, "vortices of each muscle"),
];

/// What muscles feel, in the order of [`felt_signals`].
pub(crate) const FELT: usize = 5;

/// The signals that a list of parameters asks for.
pub(crate) fn felt_signals(values: &Values) -> Option<[FilteredSignal; FELT]> {
    let filter = Filter::Oscillator(Oscillator::new(values.number("frequency"), values.number("damping"))?);
    let felt =
        [Signal::FeltAcceleration, Signal::FeltStrainX, Signal::FeltStrainY, Signal::FeltStrainZ, Signal::FeltUp];
    Some(felt.map(|signal| FilteredSignal { signal, filter }))
}

/// Share of the character's volume, and thickness in that of its thickest segment, that make a segment fleshy.
const FLESHY_SHARE: f64 = 0.05;
const FLESHY_THICKNESS: f64 = 0.5;
/// Radii of a muscle, in those of the ellipsoid through its skin.
const UNDER_THE_SKIN: f64 = 0.8;

/// The muscles of one character.
pub(super) struct Muscles {
    muscles: Vec<Placed>,
    signals: [usize; FELT],
    /// Per node: how much of the field moves it.
    shares: Vec<f64>,
    /// Of the felt accelerations and of gravity, in seconds squared and lengths.
    inertia: f64,
    gravity: f64,
    stretch: f64,
    contraction: f64,
    limit: f64,
}

struct Placed {
    bone: BoneId,
    muscle: Muscle,
    /// Bones whose bending contracts it, with their turns at rest.
    flexed_by: Vec<(BoneId, DQuat)>,
}

impl Muscles {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { rig, surface, values, gain, .. } = *binding;
        let number = |name: &str| values.number(name);
        let samples = number("samples") as usize;
        let capsule = values.word("shape") == "capsule";
        let shapes: Vec<Option<Shape>> = (0..surface.segments.len()).map(|s| flesh(rig, surface, s, capsule)).collect();
        let radius = |shape: &Option<Shape>| shape.map_or(0.0, |shape| shape.radius());
        let thickest = shapes.iter().map(radius).fold(0.0, f64::max);
        let mut muscles = Vec::new();
        for (segment, shape) in surface.segments.iter().zip(&shapes) {
            let named = binding.distances.iter().rev().find(|(bones, _)| bones.contains(&segment.bone));
            let fleshy = segment.share >= FLESHY_SHARE && radius(shape) >= FLESHY_THICKNESS * thickest;
            let flexed_by: &[BoneId] = match named {
                Some((_, flexed_by)) => flexed_by,
                None if binding.distances.is_empty() && fleshy => &[],
                None => continue,
            };
            let Some(muscle) = shape.and_then(|shape| Muscle::new(shape, samples, number("reach"))) else { continue };
            let muscle = if flexed_by.is_empty() { muscle } else { muscle.contractible() };
            let rest_turn = |&bone: &BoneId| {
                let local = rig.skeleton().rest_locals()[bone.index()].to_affine();
                (bone, turn(local.matrix3))
            };
            muscles.push(Placed { bone: segment.bone, muscle, flexed_by: flexed_by.iter().map(rest_turn).collect() });
        }
        let mut shares = vec![1.0; surface.nodes()];
        for (share, slots) in shares.iter_mut().zip(surface.members.iter()) {
            if let Some(painted) = binding.painted {
                let value = |&slot: &u32| f64::from(painted[slot as usize / LANES][slot as usize % LANES]).max(0.0);
                *share = slots.iter().map(value).sum::<f64>() / slots.len() as f64;
            }
            if slots.iter().any(|&slot| binding.is_rider[slot as usize]) {
                *share = 0.0;
            }
        }
        let stiffness = (TAU * number("frequency")).powi(2);
        let density = number("density");
        let strength = gain * (density - 1.0) / (density + 1.0) / stiffness;
        Self {
            muscles,
            signals: binding.signals,
            shares,
            inertia: strength * (1.0 - number("life")),
            gravity: strength * number("gravity") * rig.characters()[surface.character].size,
            stretch: gain * number("stretch"),
            contraction: gain * number("contraction"),
            limit: number("limit"),
        }
    }
}

/// A muscle of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuscleReport {
    /// The bone that carries it.
    pub bone: BoneId,
    /// What of its contraction the vortices cannot do: 0 nothing, 1 all of it. 0 for muscles that nothing flexes.
    pub contraction_residual: f64,
}

impl Bound for Muscles {
    fn muscles(&self) -> Vec<MuscleReport> {
        let report = |placed: &Placed| MuscleReport {
            bone: placed.bone,
            contraction_residual: placed.muscle.contraction_residual(),
        };
        self.muscles.iter().map(report).collect()
    }

    fn apply(&self, place: &Place<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        // Displacements are made once, however often contacts are sought.
        if log.next_volume.is_some() {
            return 0;
        }
        let Work { body, field, .. } = work;
        field.clear();
        for Placed { bone, muscle, flexed_by } in &self.muscles {
            let felt = self.signals.map(|signal| {
                let column = place.kinematics.filtered.get(signal);
                column.and_then(|column| column.get(bone.index())).copied().unwrap_or_default()
            });
            let [acceleration, x, y, z, up] = felt;
            let stretch = muscle.stretch(self.stretch);
            let sway = Sway {
                offset: acceleration * -self.inertia - up * self.gravity + stretch.offset,
                strain: DMat3::from_cols(x, y, z) * -self.inertia + stretch.strain,
            };
            let bent = flexed_by.iter().map(|&(bone, rest)| {
                let above = place.world.world_from_parent(place.rig.skeleton(), bone).matrix3;
                let now = turn(above.inverse() * place.world.world_from_bone(bone).matrix3);
                // Half of 1 − cos of the angle between.
                1.0 - (now.dot(rest)).powi(2).min(1.0)
            });
            let contraction = self.contraction * bent.sum::<f64>().min(1.0);
            let mut world_from_limb = place.world.world_from_bone(*bone);
            world_from_limb.translation -= place.origin + body.centre();
            muscle.emit(&sway, self.limit, contraction, world_from_limb, field);
        }
        field.build();
        if field.is_empty() {
            return 0;
        }
        for (node, &share) in self.shares.iter().enumerate() {
            let p = body.points[node];
            let carried = field.carry(p);
            if share != 0.0 && !body.held[node] && carried.is_finite() {
                body.points[node] = p.lerp(carried, share);
            }
        }
        surface.place_apexes(&mut body.points);
        0
    }
}

fn turn(axes: DMat3) -> DQuat {
    DQuat::from_mat3(&polar_rotation(axes)).normalize()
}

/// The ellipsoid under the skin of a segment, in its bone's frame, or the capsule in its place.
fn flesh(rig: &Rig, surface: &Surface, segment: usize, capsule: bool) -> Option<Shape> {
    let nodes = surface.segment_nodes.of(segment);
    let entry = surface.segments[segment].entry;
    let bone_from_rest: Vec<DAffine3> = rig.palette().iter().map(|entry| entry.bone_from_rest).collect();
    let bone_from_bind = surface.world_from_bind(entry, &bone_from_rest);
    let places: Vec<DVec3> = nodes.iter().map(|&n| bone_from_bind.transform_point3(surface.bind[n as usize])).collect();
    let count = places.len() as f64;
    let centre = places.iter().sum::<DVec3>() / count;
    let mut spread = DMat3::ZERO;
    for place in &places {
        let d = *place - centre;
        spread += DMat3::from_cols(d * d.x, d * d.y, d * d.z) * (1.0 / count);
    }
    let (axes, squares) = principal_axes(spread);
    // On the surface of an ellipsoid the mean square along an axis is about a third of the radius squared.
    let radii = DVec3::from(squares.map(|square| UNDER_THE_SKIN * (3.0 * square.max(0.0)).sqrt()));
    let longest = (0..3).max_by(|&a, &b| f64::total_cmp(&radii[a], &radii[b])).unwrap_or(0);
    let radius = 0.5 * (radii.element_sum() - radii[longest]);
    let along = axes.col(longest) * (radii[longest] - radius);
    let shape = if capsule {
        Shape::Capsule { from: centre - along, to: centre + along, radius }
    } else {
        Shape::Ellipsoid(DAffine3 { matrix3: axes * DMat3::from_diagonal(radii), translation: centre })
    };
    (count >= 4.0 && centre.is_finite() && radii.is_finite() && radii.min_element() > 0.0).then_some(shape)
}
