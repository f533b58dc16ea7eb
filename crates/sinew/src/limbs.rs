//! Bones as lines: from a joint to each child joint, at any pose.

use crate::pose::WorldPose;
use crate::rig::Rig;
use glam::DVec3;

/// What the line of a bone without child joints is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// The joint alone.
    Point,
    /// From the joint through the centroid of the skin that it moves, half as far again: a fingertip's own line, without
    /// which all its skin would be equally far from the last two joints.
    Skin,
}

/// The lines of all bones at one pose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limbs {
    joints: Vec<DVec3>,
    ends: Vec<DVec3>,
    /// Per bone, where its ends stop.
    stops: Vec<u32>,
}

impl Limbs {
    pub fn at(rig: &Rig, world: &WorldPose, leaf: Leaf) -> Self {
        let mut limbs = Self::default();
        limbs.pose(rig, world, leaf, DVec3::ZERO);
        limbs
    }

    /// From joints and, for each, the far ends of its lines.
    pub fn from_lines(lines: impl Iterator<Item = (DVec3, Vec<DVec3>)>) -> Self {
        let mut limbs = Self::default();
        for (joint, ends) in lines {
            limbs.joints.push(joint);
            limbs.ends.extend(ends);
            limbs.stops.push(limbs.ends.len() as u32);
        }
        limbs
    }

    pub fn len(&self) -> usize {
        self.joints.len()
    }

    /// Length of the longest line of a bone.
    pub fn length(&self, bone: usize) -> f64 {
        self.ends_of(bone).iter().map(|end| end.distance(self.joints[bone])).fold(0.0, f64::max)
    }

    /// Puts the lines where the bones are, relative to `origin`, reusing memory.
    pub fn pose(&mut self, rig: &Rig, world: &WorldPose, leaf: Leaf, origin: DVec3) {
        self.joints.clear();
        self.ends.clear();
        self.stops.clear();
        for bone in rig.skeleton().bones() {
            let from_bone = world.world_from_bone(bone);
            let place = |p: DVec3| from_bone.transform_point3(p) - origin;
            self.joints.push(from_bone.translation - origin);
            let ends = &rig.segments(bone).ends;
            self.ends.extend(ends.iter().map(|&end| place(end)));
            if ends.is_empty()
                && leaf == Leaf::Skin
                && let Some(centroid) = rig.centroid(bone)
            {
                self.ends.push(place(centroid * 1.5));
            }
            self.stops.push(self.ends.len() as u32);
        }
    }

    fn ends_of(&self, bone: usize) -> &[DVec3] {
        let start = bone.checked_sub(1).map_or(0, |before| self.stops[before] as usize);
        &self.ends[start..self.stops[bone] as usize]
    }

    /// The point of a bone that is nearest to `p`; the first of equals.
    pub fn closest(&self, bone: usize, p: DVec3) -> DVec3 {
        let joint = self.joints[bone];
        let mut closest = joint;
        for &end in self.ends_of(bone) {
            let line = end - joint;
            let along = ((p - joint).dot(line) / line.length_squared()).clamp(0.0, 1.0);
            // Joints on one another: 0/0.
            let candidate = if along.is_nan() { joint } else { joint + line * along };
            if p.distance_squared(candidate) < p.distance_squared(closest) {
                closest = candidate;
            }
        }
        closest
    }

    pub fn distance(&self, bone: usize, p: DVec3) -> f64 {
        p.distance(self.closest(bone, p))
    }
}
