//! The way from the bind pose to a pose: `L_i(l) = Π_{j∈A(i)} (R_j R_Bj⁻¹)^l R_Bj`, l from 0 to 1.
//!
//! Source: KD 4.1. R_j is a joint's transform relative to the nearest joint above it, taken apart as rigid ×
//! stretch; the rigid part runs along its screw, the stretch apart from it, geometrically where its sign is kept.
//! Everything is relative to the first joint, whose motion is that of the whole character and deforms nothing.

use super::fractional::{Generator, Twist};
use crate::polar::polar_rotation;
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// A joint in its bind pose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joint {
    /// Index of the nearest joint above it; smaller than its own.
    pub parent: Option<usize>,
    /// `L_B`.
    pub bind: DAffine3,
}

/// A transform as rigid × stretch.
#[derive(Clone, Copy, Debug)]
struct Parts {
    rotation: DQuat,
    translation: DVec3,
    stretch: DMat3,
}

impl Parts {
    fn of(m: DAffine3) -> Self {
        let q = polar_rotation(m.matrix3);
        Self {
            rotation: DQuat::from_mat3(&q).normalize(),
            translation: m.translation,
            stretch: q.transpose() * m.matrix3,
        }
    }
}

/// The way of one joint.
#[derive(Clone, Copy, Debug)]
struct Way {
    parent: Option<usize>,
    bind: Parts,
    stretch: DMat3,
    twist: Twist,
}

/// The way of all joints to one pose.
#[derive(Clone, Debug, Default)]
pub(crate) struct PosePath {
    ways: Vec<Way>,
}

impl PosePath {
    /// `world[j]` is `L_j` of the pose, in any frame. Memory is reused.
    pub fn set(&mut self, joints: &[Joint], world: &[DAffine3]) {
        self.ways.clear();
        let root = joints.iter().zip(world).map(|(joint, &world)| joint.bind * world.inverse()).next();
        let root = root.filter(|root| root.is_finite()).unwrap_or(DAffine3::IDENTITY);
        for (joint, &here) in joints.iter().zip(world) {
            let (bind_above, above) = match joint.parent {
                Some(parent) => (joints[parent].bind, world[parent]),
                None => (DAffine3::IDENTITY, root.inverse()),
            };
            let relative = |above: DAffine3, here: DAffine3| {
                let relative = above.inverse() * here;
                Parts::of(if relative.is_finite() { relative } else { DAffine3::IDENTITY })
            };
            let (bind, pose) = (relative(bind_above, joint.bind), relative(above, here));
            let turn = (pose.rotation * bind.rotation.conjugate()).normalize();
            let twist = Twist::log(turn, pose.translation - turn * bind.translation);
            self.ways.push(Way { parent: joint.parent, bind, stretch: pose.stretch, twist });
        }
    }

    /// `L_i(l)` of all joints, the first at its bind pose throughout.
    pub fn at(&self, l: f64, out: &mut Vec<DAffine3>) {
        out.clear();
        for way in &self.ways {
            let stretch =
                if way.bind.stretch == way.stretch { way.stretch } else { mix(way.bind.stretch, way.stretch, l) };
            let rigid = DAffine3::from_rotation_translation(way.bind.rotation, way.bind.translation);
            let local = way.twist.times(l).exp() * rigid * DAffine3::from_mat3(stretch);
            out.push(way.parent.map_or(local, |parent| out[parent] * local));
        }
    }

    /// The velocity that joint `j` alone gives to what it carries, per unit of l, at the poses `here` of all joints.
    pub fn joint_field(&self, j: usize, here: &[DAffine3]) -> Generator {
        let field = self.ways[j].twist.generator();
        self.ways[j].parent.map_or(field, |parent| field.carried(here[parent]))
    }

    /// Angle in radians that joint `j` turns by.
    pub fn angle(&self, j: usize) -> f64 {
        self.ways[j].twist.angular.length()
    }
}

/// From `a` to `b`, geometrically on the diagonal where signs agree.
fn mix(a: DMat3, b: DMat3, l: f64) -> DMat3 {
    let mut mixed = a * (1.0 - l) + b * l;
    for axis in 0..3 {
        let (from, to) = (a.col(axis)[axis], b.col(axis)[axis]);
        if from * to > 0.0 {
            mixed.col_mut(axis)[axis] = from * (to / from).powf(l);
        }
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain with scales, a mirror and a joint that slides.
    fn chain() -> (Vec<Joint>, Vec<DAffine3>) {
        let at = |y: f64| DAffine3::from_translation(DVec3::Y * y);
        let mirror = DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0));
        let joints = vec![
            Joint { parent: None, bind: at(0.5) },
            Joint { parent: Some(0), bind: at(1.0) * DAffine3::from_rotation_x(0.2) },
            Joint { parent: Some(1), bind: at(2.0) * mirror },
            Joint { parent: Some(0), bind: at(1.5) },
            Joint { parent: None, bind: at(3.0) },
        ];
        let turn = |x: f64, z: f64| DAffine3::from_rotation_x(x) * DAffine3::from_rotation_z(z);
        let root = DAffine3::from_scale(DVec3::splat(100.0)) * at(7.0) * turn(2.0, 3.0);
        let a = root * at(0.6) * turn(1.5, 0.3) * DAffine3::from_scale(DVec3::new(1.2, 1.2, 1.2));
        let b = a * at(1.1) * turn(-2.0, 1.0) * mirror;
        let c = root * at(1.0) * DAffine3::from_scale(DVec3::new(1.0, 0.5, 2.0));
        let d = root * at(2.0) * turn(0.1, 0.0);
        (joints, vec![root, a, b, c, d])
    }

    #[test]
    fn the_way_leads_from_the_bind_pose_to_the_pose() {
        let (joints, world) = chain();
        let mut path = PosePath::default();
        path.set(&joints, &world);
        let mut here = Vec::new();
        let worst = |a: DAffine3, b: DAffine3| {
            a.to_cols_array().iter().zip(b.to_cols_array()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        path.at(0.0, &mut here);
        for (joint, here) in joints.iter().zip(&here) {
            assert!(worst(joint.bind, *here) < 1e-13);
        }
        path.at(1.0, &mut here);
        let whole = world[0] * joints[0].bind.inverse();
        for (&world, &here) in world.iter().zip(&here) {
            assert!(worst(whole * here, world) < 1e-10, "{}", worst(whole * here, world));
        }
    }

    #[test]
    fn joint_fields_add_up_to_the_velocity_of_a_limb() {
        let (joints, mut world) = chain();
        // Without stretches, which no joint's field holds.
        world[1] = world[0] * DAffine3::from_translation(DVec3::Y * 0.6) * DAffine3::from_rotation_x(1.3);
        world[2] = world[1]
            * DAffine3::from_translation(DVec3::Y)
            * DAffine3::from_rotation_z(-2.0)
            * DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0));
        let mut path = PosePath::default();
        path.set(&joints, &world);
        let (l, h, local) = (0.37, 1e-6, DVec3::new(0.2, 0.4, -0.1));
        let (mut here, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        path.at(l, &mut here);
        path.at(l - h, &mut before);
        path.at(l + h, &mut after);
        let p = here[2].transform_point3(local);
        let moved = (after[2].transform_point3(local) - before[2].transform_point3(local)) / (2.0 * h);
        let sum: DVec3 = [0, 1, 2].iter().map(|&j| path.joint_field(j, &here).at(p)).sum();
        assert!((moved - sum).length() < 1e-8, "{moved} {sum}");
    }
}
