//! The bones that move an effect at one frame.

use super::collapsed::{Collapsed, Stretches};
use super::plan::EffectPlan;
use super::terms::Prepared;
use super::{Frame, GraphEffect, Source};
use crate::displace::BoneInput;
use crate::motion::Signal;
use crate::param::Values;
use crate::recipe::Centroid;
use crate::skeleton::BoneId;
use glam::{DVec3, Vec3};

pub(super) const NONE: u32 = u32::MAX;

/// What one effect reads at one frame: the bones that move it, each knowing the next one above it, and keyed values.
#[derive(Clone, Debug, Default)]
pub(super) struct MovingBones {
    /// Of the movers, then of what [`MovingBones::elsewhere`] says.
    inputs: Vec<BoneInput>,
    pub(super) above: Vec<u32>,
    /// Per bone of the skeleton: the nearest mover at or above it.
    nearest: Vec<u32>,
    /// Character of each mover, whose origin and size its input is given in.
    characters: Vec<u32>,
    /// Per mover: where its terms for the points of each character begin; [`NONE`] where only its own has points that it
    /// moves. A bone above two characters moves each in that one's terms.
    elsewhere: Vec<u32>,
    sizes: Vec<f32>,
    /// Parameters at this time, where any is keyed.
    values: Option<Values>,
    /// Factor on all gains at this time.
    pub(super) gain: f32,
    /// The rotation of the cone's bone.
    pub(super) cone_turn: glam::Mat3,
    /// What each mover does.
    pub(super) prepared: Prepared,
    bones: Vec<BoneId>,
}

impl GraphEffect {
    /// Gathers what this effect reads at this frame. What it does alike to all points goes to `collapsed`.
    pub(super) fn prepare(
        &self,
        frame: &Frame<'_>,
        origins: &[DVec3],
        stretches: &Stretches,
        collapsed: &mut Collapsed,
        out: &mut MovingBones,
    ) {
        let hierarchy = stretches.tree.hierarchy();
        out.inputs.clear();
        out.bones.clear();
        out.above.clear();
        out.nearest.clear();
        out.nearest.resize(hierarchy.len(), NONE);
        out.characters.clear();
        out.elsewhere.clear();
        out.sizes.clear();
        out.sizes.extend(frame.rig.characters().iter().map(|c| if self.raw { 1.0 } else { c.size as f32 }));
        out.gain = self.gain_keys.as_ref().map_or(1.0, |curve| curve.at(frame.time) as f32);
        self.key_values(frame.time, &mut out.values);
        if let Some(cone) = &self.cone {
            out.cone_turn = cone.turn(frame);
        }
        for &bone in hierarchy.order() {
            let gain = self.bone_gains[bone.index()];
            let signals = self.signals(frame, bone);
            let still = signals.iter().all(|&x| x == Vec3::ZERO);
            if still || (gain.translation == 0.0 && gain.rotation == 0.0) {
                continue;
            }
            let character = frame.rig.character_of_bone(bone);
            let origin = origins.get(character).copied().unwrap_or_default();
            let [joint_origin, centroid] = self.places(frame, origin, stretches, bone);
            let [v, omega, a, alpha] = signals;
            out.characters.push(character as u32);
            out.bones.push(bone);
            out.inputs.push(BoneInput {
                joint_origin,
                centroid,
                linear_velocity: v,
                angular_velocity: omega,
                linear_acceleration: a,
                angular_acceleration: alpha,
                translation_gain: gain.translation as f32,
                rotation_gain: gain.rotation as f32,
                about_point: gain.about_point,
                size: out.sizes.get(character).copied().unwrap_or(1.0),
            });
        }
        for mover in 0..out.bones.len() {
            let is_shared = stretches.is_shared(out.bones[mover]);
            out.elsewhere.push(if is_shared { out.inputs.len() as u32 } else { NONE });
            if is_shared {
                let own = origins[out.characters[mover] as usize];
                for (origin, &size) in origins.iter().zip(&out.sizes) {
                    let mut input = out.inputs[mover];
                    let offset = (own - *origin).as_vec3();
                    input.joint_origin += offset;
                    input.centroid += offset;
                    input.size = size;
                    out.inputs.push(input);
                }
            }
        }
        let alike = self.alike.filter(|_| out.inputs.len() == out.bones.len());
        let gain = alike.map(|gain| gain * out.gain);
        self.node.prepare(out.values.as_ref(), &out.inputs, gain, &mut out.prepared);
        let mut movers = out.bones.iter().enumerate().peekable();
        for &bone in hierarchy.order() {
            let above = hierarchy.parent(bone).map_or(NONE, |parent| out.nearest[parent.index()]);
            let mut nearest = above;
            if let Some((mover, _)) = movers.next_if(|&(_, &moving)| moving == bone) {
                collapsed.add(bone, out.prepared.affine[mover]);
                out.above.push(above);
                if !out.prepared.still[mover] {
                    nearest = mover as u32;
                }
            }
            out.nearest[bone.index()] = nearest;
        }
    }

    /// v, ω, a and α of a bone, as far as this effect reads them.
    pub(super) fn signals(&self, frame: &Frame<'_>, bone: BoneId) -> [Vec3; 4] {
        let signals =
            [Signal::LinearVelocity, Signal::AngularVelocity, Signal::LinearAcceleration, Signal::AngularAcceleration];
        signals.map(|signal| match self.inputs[signal as usize] {
            Source::Unused => Vec3::ZERO,
            Source::Smoothed => frame.kinematics.bones[bone.index()].get(signal).as_vec3(),
            Source::Filtered(entry) => frame.kinematics.filtered[entry][bone.index()].as_vec3(),
        })
    }

    /// A bone's joint and the centroid of what it moves, relative to an origin.
    pub(super) fn places(&self, frame: &Frame<'_>, origin: DVec3, stretches: &Stretches, bone: BoneId) -> [Vec3; 2] {
        let gain = &self.bone_gains[bone.index()];
        let joint_origin = frame.world.joint_origin(bone);
        let centroid = match (gain.centroid, stretches.tree.centroid(bone)) {
            (Some(Centroid::At(c)), _) => Some(c),
            (Some(Centroid::Offset(offset)), Some(c)) => Some(c + offset),
            (_, c) => c,
        };
        let centroid = centroid.map_or(joint_origin, |c| frame.world.world_from_bone(bone).transform_point3(c));
        [(joint_origin - origin).as_vec3(), (centroid - origin).as_vec3()]
    }

    fn key_values(&self, time: f64, out: &mut Option<Values>) {
        if self.keys.is_empty() {
            *out = None;
            return;
        }
        let values = out.get_or_insert_with(|| self.values.clone());
        values.clone_from(&self.values);
        for (name, curve) in &self.keys {
            // A value beyond the range between two keys in it cannot be; one that was set beyond it stays at the last.
            let _ = values.set(name, curve.at(time));
        }
    }
}

impl MovingBones {
    /// As plain data.
    pub(super) fn plan(&self) -> EffectPlan<'_> {
        let Self { above, nearest, characters, elsewhere, sizes, gain, cone_turn, prepared, .. } = self;
        let (kind, terms) = prepared.terms.words();
        let (gain, cone_turn, acts) = (*gain, *cone_turn, !self.is_empty());
        EffectPlan { acts, gain, kind, terms, nearest, above, characters, elsewhere, sizes, cone_turn }
    }

    /// Whether nothing moves that the points would have to look at one by one.
    pub(super) fn is_empty(&self) -> bool {
        self.gain == 0.0 || self.prepared.still.iter().all(|&still| still)
    }

    /// Whether nothing moves.
    pub(super) fn is_at_rest(&self) -> bool {
        self.gain == 0.0 || self.inputs.is_empty()
    }

    /// The place of a mover's term for the points of a character.
    #[inline(always)]
    pub(super) fn term_of(&self, mover: u32, character: u32) -> usize {
        let mover = mover as usize;
        match self.elsewhere[mover] {
            _ if self.characters[mover] == character => mover,
            NONE => mover,
            first => first as usize + character as usize,
        }
    }

    #[inline(always)]
    pub(super) fn nearest(&self, bone: Option<BoneId>) -> u32 {
        bone.map_or(NONE, |bone| self.nearest[bone.index()])
    }

    #[inline(always)]
    pub(super) fn size(&self, character: u32) -> f32 {
        self.sizes[character as usize]
    }
}
