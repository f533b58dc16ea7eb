//! Velocities and accelerations of bones relative to their parents, in world axes.
//!
//! Source: VS 3.1–3.2, AS 3. Linear rates go to world axes by the parent's full 3×3 (rotation and scale); angular
//! ones by `det(Q)·Q`, Q the orthogonal polar factor of it, because ω is a pseudovector and a mirror reverses it.
//! Angular acceleration is the derivative of the parent-frame ω, so that a steady relative spin gives 0.
//! Oracle: for one influence on any chain without node scale, the velocity `Σ v_i + ω_i×r_i` and the acceleration
//! `Σ a_i + α_i×r_i + ω_i×(ω_i×r_i) + 2Ω_i×(v_i + ω_i×r_i)` match differences of world positions.

use super::filter::FilteredSignal;
use crate::memory::Memory;
use crate::polar::polar_rotation;
use crate::skeleton::BoneId;
use glam::{DMat3, DQuat, DVec3};

/// One of the four rates of a bone's motion, or a part of what its flesh feels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// v: length units per second.
    LinearVelocity,
    /// ω: radians per second.
    AngularVelocity,
    /// a: length units per second squared.
    LinearAcceleration,
    /// α: radians per second squared.
    AngularAcceleration,
    /// Acceleration of the joint itself, in the bone's own frame. What is felt can be read through a filter alone.
    FleshAcceleration,
    /// How that changes along the bone's x axis, per second squared.
    FleshStrainX,
    /// How it changes along the y axis.
    FleshStrainY,
    /// How it changes along the z axis.
    FleshStrainZ,
    /// The world's y axis in the bone's own frame.
    FleshUp,
    /// The world's x axis there.
    FleshRight,
    /// The world's z axis there.
    FleshFront,
}

/// How a bone moves relative to its parent. All values are legal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoneMotion {
    /// v of the joint.
    pub linear_velocity: DVec3,
    /// ω about the joint.
    pub angular_velocity: DVec3,
    /// a of the joint.
    pub linear_acceleration: DVec3,
    /// α about the joint.
    pub angular_acceleration: DVec3,
}

impl Signal {
    /// Whether it is there without any motion, as the way up is.
    pub(super) fn lasts(self) -> bool {
        matches!(self, Self::FleshUp | Self::FleshRight | Self::FleshFront)
    }
}

impl BoneMotion {
    /// The rate named by `signal`; 0 for what is felt, which depends on the bones above.
    pub fn get(&self, signal: Signal) -> DVec3 {
        match signal {
            Signal::LinearVelocity => self.linear_velocity,
            Signal::AngularVelocity => self.angular_velocity,
            Signal::LinearAcceleration => self.linear_acceleration,
            Signal::AngularAcceleration => self.angular_acceleration,
            _ => DVec3::ZERO,
        }
    }
}

/// The motion of all bones at one moment, in world axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kinematics {
    /// Smoothed, not filtered; per bone of the skeleton.
    pub bones: Vec<BoneMotion>,
    /// Per entry of the filtered list, one vector per bone of the skeleton.
    pub filtered: Vec<Vec<DVec3>>,
    /// What filters work in.
    pub(super) memory: Memory,
}

impl Kinematics {
    /// No motion.
    pub fn at_rest(bones: usize, filtered: usize) -> Self {
        let filtered = vec![vec![DVec3::ZERO; bones]; filtered];
        Self { bones: vec![BoneMotion::default(); bones], filtered, memory: Memory::default() }
    }

    /// Sets one bone as if it had moved like this for ever: every filter has settled.
    /// `filtered` is the list the columns of [`Kinematics::filtered`] stand for.
    pub fn set_steady(&mut self, bone: BoneId, motion: BoneMotion, filtered: &[FilteredSignal]) {
        if let Some(slot) = self.bones.get_mut(bone.index()) {
            *slot = motion;
        }
        for (column, entry) in self.filtered.iter_mut().zip(filtered) {
            if let Some(slot) = column.get_mut(bone.index()) {
                *slot = entry.filter.steady(motion.get(entry.signal));
            }
        }
    }

    /// Weakens all motion by a factor. Which way is up is no motion and stays.
    pub(super) fn scale(&mut self, factor: f64, filtered: &[FilteredSignal]) {
        for bone in &mut self.bones {
            bone.linear_velocity *= factor;
            bone.angular_velocity *= factor;
            bone.linear_acceleration *= factor;
            bone.angular_acceleration *= factor;
        }
        for (column, _) in self.filtered.iter_mut().zip(filtered).filter(|(_, entry)| !entry.signal.lasts()) {
            column.iter_mut().for_each(|value| *value *= factor);
        }
    }

    /// All zero, of the given size, keeping memory.
    pub(crate) fn reset(&mut self, bones: usize, filtered: usize) {
        self.bones.clear();
        self.bones.resize(bones, BoneMotion::default());
        self.filtered.resize_with(filtered, Vec::new);
        for column in &mut self.filtered {
            column.clear();
            column.resize(bones, DVec3::ZERO);
        }
    }
}

/// Takes parent-frame rates to world axes.
pub(super) struct WorldAxes {
    linear: DMat3,
    angular: DMat3,
}

impl WorldAxes {
    /// `turn` carries the frame the rates are given in to the parent's frame.
    pub fn new(world_from_parent: DMat3, turn: DQuat) -> Self {
        let turn = DMat3::from_quat(turn);
        Self { linear: world_from_parent * turn, angular: polar_rotation(world_from_parent) * turn }
    }

    pub fn map(&self, signal: Signal, rate: DVec3) -> DVec3 {
        let mapped = match signal {
            Signal::LinearVelocity | Signal::LinearAcceleration => self.linear * rate,
            Signal::AngularVelocity | Signal::AngularAcceleration => self.angular * rate,
            _ => rate,
        };
        // A chain of scales can overflow; a motion that cannot be told is none.
        if mapped.is_finite() { mapped } else { DVec3::ZERO }
    }

    pub fn map_all(&self, motion: &BoneMotion) -> BoneMotion {
        let map = |signal| self.map(signal, motion.get(signal));
        BoneMotion {
            linear_velocity: map(Signal::LinearVelocity),
            angular_velocity: map(Signal::AngularVelocity),
            linear_acceleration: map(Signal::LinearAcceleration),
            angular_acceleration: map(Signal::AngularAcceleration),
        }
    }
}
