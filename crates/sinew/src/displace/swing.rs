//! What floppy, follow-through, drag, wobble and jerk share: a vector moves the skin, another turns it about the joint,
//! each within its limit.

use super::shove::Shove;
use super::turn::Turn;
use super::{Affine, At, BoneInput, MakerKind, Psi, Split, Term, TermMaker};
use crate::param::Values;
use crate::simd::{Limit, Simd, V3};
use bytemuck::{Pod, Zeroable};
use glam::Vec3;

/// Gains and limits of a moving and a turning part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swing {
    translation: f32,
    rotation: f32,
    max_length: f32,
    max_angle: f32,
    soft: bool,
}

/// What drives it at one bone: a vector for each part, and the share of each to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drive {
    pub linear: Vec3,
    pub angular: Vec3,
    pub shares: (f32, f32),
}

impl Swing {
    /// From the parameters `translation`, `rotation`, `max_length`, `max_angle` and `soft`; gains times `factor`.
    pub fn new(values: &Values, factor: f64) -> Self {
        Self {
            translation: (values.number("translation") * factor) as f32,
            rotation: (values.number("rotation") * factor) as f32,
            max_length: values.number("max_length") as f32,
            max_angle: values.number("max_angle") as f32,
            soft: values.switch("soft"),
        }
    }

    /// Its numbers.
    pub fn maker(&self, kind: MakerKind) -> TermMaker {
        let Self { translation, rotation, max_length, max_angle, soft } = *self;
        TermMaker { translation, rotation, max_length, max_angle, soft: soft.into(), ..TermMaker::of(kind) }
    }

    /// What it does at one bone, each part times its share.
    pub fn term(&self, bone: &BoneInput, drive: Drive) -> SwingTerm {
        let along = drive.linear * (self.translation * bone.translation_gain);
        // The axis' length is the angle per gain and distance.
        let axis = drive.angular * (self.rotation * bone.rotation_gain / bone.size);
        let length = bone.length_limit(self.max_length, self.soft);
        let angle = Limit::new(self.max_angle, self.soft);
        SwingTerm {
            shove: Shove::new(along, length, drive.shares.0),
            turn: Turn::new(bone.joint_origin, axis, angle, drive.shares.1),
        }
    }
}

/// A shove and a turn.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct SwingTerm {
    pub(super) shove: Shove,
    pub(super) turn: Turn,
}

impl Term for SwingTerm {
    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, at: &At<S>) -> Psi<S> {
        let mut psi = Psi::zero(simd);
        if self.turn.moves() {
            psi = self.turn.psi(simd, at);
        }
        if self.shove.moves() {
            psi = psi.add(self.shove.psi(simd, at));
        }
        psi
    }

    #[inline(always)]
    fn split<S: Simd>(&self, simd: S, at: &At<S>) -> Split<S> {
        let zero = V3::splat(simd, Vec3::ZERO);
        let mut split = Split { shift: zero, spin: zero, arm: zero };
        if self.shove.moves() {
            split.shift = self.shove.psi(simd, at).d;
        }
        if self.turn.moves() {
            (split.spin, split.arm) = self.turn.spin(simd, at);
        }
        split
    }

    fn take_affine(&mut self, gain: f32) -> Affine {
        let shove = std::mem::replace(&mut self.shove, Shove::zeroed());
        if shove.moves() { shove.affine(gain) } else { Affine::ZERO }
    }

    fn is_still(&self) -> bool {
        !self.shove.moves() && !self.turn.moves()
    }
}
