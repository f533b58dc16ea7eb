//! The deformer graph: base → sum of displacements → normals, built once from a recipe and evaluated for any frame.

mod evaluate;

pub use evaluate::{Cpu, DeformedMesh, Frame, Scratch, evaluate};

use crate::base::{Antipodality, Base};
use crate::displace::{At, BoneInput, Displacement};
use crate::motion::{FilteredSignal, Signal, TimeFilter};
use crate::normals::Fans;
use crate::recipe::{BaseSpec, BoneGain, EffectSpec, Recipe, Riders};
use crate::rig::{PartKind, Rig};
use crate::simd::{LANES, Lanes, Level, Simd, V3, dispatch, load, prelude::*, splat};
use crate::skeleton::BoneId;
use crate::text::{nearest, wildcard};
use std::ops::Range;

/// Why a recipe does not fit a rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// A map that no mesh carries.
    #[error("painted map \"{name}\" is not in the file{}", did_you_mean(.nearest))]
    UnknownMap {
        /// The map asked for.
        name: String,
        /// The nearest there is.
        nearest: Option<String>,
    },
    /// A bone pattern without a match.
    #[error("no bone is called \"{pattern}\" (effect {effect}){}", did_you_mean(.nearest))]
    UnknownBone {
        /// The pattern.
        pattern: String,
        /// The effect it stands in.
        effect: &'static str,
        /// The nearest name.
        nearest: Option<String>,
    },
}

pub(crate) fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!("; did you mean \"{name}\"?"))
}

/// A graph that needs nothing but the frame's own time: any frame, any order, any thread, same bits.
#[derive(Debug)]
pub struct FrameIndependentGraph {
    pub(crate) base: Base,
    pub(crate) effects: Vec<GraphEffect>,
    pub(crate) fans: Option<Fans>,
    filtered: Vec<FilteredSignal>,
}

/// One effect bound to a rig.
pub(crate) struct GraphEffect {
    node: Box<dyn DisplacementNode>,
    /// Global × painted, per row.
    gains: Vec<Lanes>,
    /// Per bone.
    bone_gains: Vec<BoneGain>,
    raw: bool,
    /// Per [`Signal`]: whether it is read, and the filtered list's entry if it is filtered.
    inputs: [Input; 4],
}

impl std::fmt::Debug for GraphEffect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphEffect").field("raw", &self.raw).field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Input {
    Unused,
    Smoothed,
    Filtered(usize),
}

impl FrameIndependentGraph {
    /// Binds a recipe to a rig.
    pub fn build(rig: &Rig, recipe: &Recipe) -> Result<Self, GraphError> {
        let base = match &recipe.base {
            BaseSpec::Lbs => Base::Lbs,
            BaseSpec::Rigid => Base::rigid(rig),
            BaseSpec::Dqs { pivot } => Base::Dqs(antipodality(rig, *pivot)),
            BaseSpec::Blend { factor, map, pivot } => {
                Base::Blend(painted(rig, map.as_deref(), *factor)?, antipodality(rig, *pivot))
            }
        };
        let mut filtered: Vec<FilteredSignal> = Vec::new();
        let effects = recipe
            .effects
            .iter()
            .map(|spec| GraphEffect::build(rig, recipe.riders, spec, &mut filtered))
            .collect::<Result<Vec<_>, _>>()?;
        let fans = (!effects.is_empty()).then(|| Fans::new(rig));
        Ok(Self { base, effects, fans, filtered })
    }

    /// The filtered signals its effects read: what [`crate::Motion::new`] must prepare.
    pub fn filtered_signals(&self) -> &[FilteredSignal] {
        &self.filtered
    }
}

fn antipodality(rig: &Rig, pivot: bool) -> Antipodality {
    if pivot { Antipodality::pivot(rig) } else { Antipodality::Parent }
}

/// `factor` times a painted map, per row.
fn painted(rig: &Rig, map: Option<&str>, factor: f64) -> Result<Vec<Lanes>, GraphError> {
    let factor = factor as f32;
    match map {
        None => Ok(vec![[factor; LANES]; rig.rows().len()]),
        Some(name) => match rig.maps().iter().find(|map| map.name == name) {
            Some(map) => Ok(map.values.iter().map(|row| row.map(|value| value * factor)).collect()),
            None => Err(GraphError::UnknownMap {
                name: name.to_owned(),
                nearest: nearest(name, rig.maps().iter().map(|map| map.name.as_str())),
            }),
        },
    }
}

impl GraphEffect {
    fn build(
        rig: &Rig,
        riders: Riders,
        spec: &EffectSpec,
        filtered: &mut Vec<FilteredSignal>,
    ) -> Result<Self, GraphError> {
        let mut gains = painted(rig, spec.map.as_deref(), spec.gain)?;
        if riders == Riders::Still {
            for part in rig.parts().iter().filter(|part| part.kind == PartKind::Rider) {
                for vertex in part.primitives.iter().flat_map(|primitive| primitive.vertices.clone()) {
                    let slot = rig.point_of_vertex()[vertex] as usize;
                    gains[slot / LANES][slot % LANES] = 0.0;
                }
            }
        }
        let skeleton = rig.skeleton();
        let mut bone_gains = vec![BoneGain { translation: 1.0, rotation: 1.0 }; skeleton.len()];
        for (pattern, gain) in &spec.bones {
            let mut found = false;
            for bone in skeleton.bones().filter(|&bone| wildcard(pattern, skeleton.name(bone))) {
                bone_gains[bone.index()] = *gain;
                found = true;
            }
            if !found {
                let names = skeleton.bones().map(|bone| skeleton.name(bone));
                return Err(GraphError::UnknownBone {
                    pattern: pattern.clone(),
                    effect: spec.effect.name(),
                    nearest: nearest(pattern, names),
                });
            }
        }
        let mut inputs = [Input::Unused; 4];
        for &(signal, gamma) in spec.effect.inputs() {
            let filter = TimeFilter::new(spec.values.number(gamma)).unwrap_or(TimeFilter::NONE);
            inputs[signal as usize] = if filter == TimeFilter::NONE {
                Input::Smoothed
            } else {
                let wanted = FilteredSignal { signal, filter: filter.into() };
                let known = filtered.iter().position(|entry| *entry == wanted);
                Input::Filtered(known.unwrap_or_else(|| {
                    filtered.push(wanted);
                    filtered.len() - 1
                }))
            };
        }
        Ok(Self { node: spec.effect.node(&spec.values), gains, bone_gains, raw: spec.raw, inputs })
    }

    /// Gathers the bones that move this effect at this frame.
    fn prepare(&self, frame: &Frame<'_>, origins: &[glam::DVec3], out: &mut MovingBones) {
        let skeleton = frame.rig.skeleton();
        out.inputs.clear();
        out.above.clear();
        out.nearest.clear();
        out.characters.clear();
        out.origins.clear();
        out.origins.extend_from_slice(origins);
        out.sizes.clear();
        out.sizes.extend(frame.rig.characters().iter().map(|c| if self.raw { 1.0 } else { c.size as f32 }));
        let signals =
            [Signal::LinearVelocity, Signal::AngularVelocity, Signal::LinearAcceleration, Signal::AngularAcceleration];
        for bone in skeleton.bones() {
            let above = skeleton.parent(bone).map_or(NONE, |parent| out.nearest[parent.index()]);
            let gain = self.bone_gains[bone.index()];
            let read = |signal: Signal| match self.inputs[signal as usize] {
                Input::Unused => glam::Vec3::ZERO,
                Input::Smoothed => frame.kinematics.bones[bone.index()].get(signal).as_vec3(),
                Input::Filtered(entry) => frame.kinematics.filtered[entry][bone.index()].as_vec3(),
            };
            let [v, omega, a, alpha] = signals.map(read);
            let still = [v, omega, a, alpha].iter().all(|&x| x == glam::Vec3::ZERO);
            if still || (gain.translation == 0.0 && gain.rotation == 0.0) {
                out.nearest.push(above);
                continue;
            }
            out.nearest.push(out.inputs.len() as u32);
            out.above.push(above);
            let character = frame.rig.character_of_bone(bone);
            let origin = origins.get(character).copied().unwrap_or_default();
            out.characters.push(character as u32);
            out.inputs.push(BoneInput {
                joint_origin: (frame.world.joint_origin(bone) - origin).as_vec3(),
                linear_velocity: v,
                angular_velocity: omega,
                linear_acceleration: a,
                angular_acceleration: alpha,
                translation_gain: gain.translation as f32,
                rotation_gain: gain.rotation as f32,
                size: out.sizes.get(character).copied().unwrap_or(1.0),
            });
        }
    }
}

const NONE: u32 = u32::MAX;

/// The bones that move an effect at one frame, each knowing the next one above it.
#[derive(Clone, Debug, Default)]
pub struct MovingBones {
    inputs: Vec<BoneInput>,
    above: Vec<u32>,
    /// Per bone of the skeleton: the nearest mover at or above it.
    nearest: Vec<u32>,
    /// Character of each mover, whose origin and size its input is given in.
    characters: Vec<u32>,
    origins: Vec<glam::DVec3>,
    sizes: Vec<f32>,
}

impl MovingBones {
    fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// A mover as the points of `character` see it: a bone above two characters is given in the terms of one.
    #[inline(always)]
    fn input(&self, mover: u32, character: u32) -> BoneInput {
        let input = self.inputs[mover as usize];
        let own = self.characters[mover as usize];
        if own == character { input } else { self.input_elsewhere(input, own as usize, character as usize) }
    }

    #[cold]
    fn input_elsewhere(&self, mut input: BoneInput, own: usize, character: usize) -> BoneInput {
        input.joint_origin += (self.origins[own] - self.origins[character]).as_vec3();
        input.size = self.sizes[character];
        input
    }

    fn nearest(&self, bone: Option<BoneId>) -> u32 {
        bone.map_or(NONE, |bone| self.nearest[bone.index()])
    }
}

/// A displacement as the graph holds it.
pub trait DisplacementNode: Send + Sync {
    /// Adds `Σ w̃ ψ` to `sum`.
    fn accumulate(&self, level: Level, block: &Block<'_>, sum: PointsSliceMut<'_>);
}

/// Consecutive rows as an effect reads them.
pub struct Block<'a> {
    rig: &'a Rig,
    rows: Range<usize>,
    /// Of all rows.
    gains: &'a [Lanes],
    moving: &'a MovingBones,
    /// Skinned points of these rows.
    p: PointsSlice<'a>,
}

/// Borrowed rows of points.
#[derive(Clone, Copy)]
pub struct PointsSlice<'a> {
    /// First coordinates.
    pub x: &'a [Lanes],
    /// Second coordinates.
    pub y: &'a [Lanes],
    /// Third coordinates.
    pub z: &'a [Lanes],
}

/// Mutably borrowed rows of points.
pub struct PointsSliceMut<'a> {
    /// First coordinates.
    pub x: &'a mut [Lanes],
    /// Second coordinates.
    pub y: &'a mut [Lanes],
    /// Third coordinates.
    pub z: &'a mut [Lanes],
}

pub(crate) struct Node<D>(pub D);

impl<D: Displacement> DisplacementNode for Node<D> {
    fn accumulate(&self, level: Level, block: &Block<'_>, sum: PointsSliceMut<'_>) {
        dispatch!(level, simd => accumulate_rows(simd, &self.0, block, sum));
    }
}

#[inline(always)]
fn accumulate_rows<S: Simd, D: Displacement>(simd: S, displacement: &D, block: &Block<'_>, sum: PointsSliceMut<'_>) {
    let Block { rig, gains, moving, p, .. } = *block;
    for (local, row) in block.rows.clone().enumerate() {
        let character = rig.rows()[row].character;
        let range = &rig.rows()[row].columns;
        let range = range.start as usize..range.end as usize;
        let at = At {
            p: V3 { x: load(simd, &p.x[local]), y: load(simd, &p.y[local]), z: load(simd, &p.z[local]) },
            gain: load(simd, &gains[row]),
        };
        let mut d = V3::splat(simd, glam::Vec3::ZERO);
        for (column, weights) in rig.columns()[range.clone()].iter().zip(&rig.column_weights()[range]) {
            let stop = moving.nearest(column.above);
            let mut mover = moving.nearest(Some(column.bottom));
            if mover == stop {
                continue;
            }
            let mut psi = V3::splat(simd, glam::Vec3::ZERO);
            while mover != stop {
                psi = psi.add(displacement.psi(simd, &moving.input(mover, character), &at));
                mover = moving.above[mover as usize];
            }
            d = if column.uniform { d.add(psi) } else { psi.mul_add(load(simd, weights), d) };
        }
        // A gain of 0 is the base to the bit, even where a speed beyond all range overflows.
        let active = !at.gain.simd_eq(splat(simd, 0.0));
        let zero = splat(simd, 0.0);
        for (out, d) in [(&mut sum.x[local], d.x), (&mut sum.y[local], d.y), (&mut sum.z[local], d.z)] {
            (load(simd, out) + active.select(d, zero)).store_array(out);
        }
    }
}
