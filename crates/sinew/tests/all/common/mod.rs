//! A character ready to be evaluated, for integration tests.
pub mod reference;

use glam::{DQuat, DVec3, Vec3};
use sinew::cone::Cone;
use sinew::raw::{RawInfluences, RawPrimitive};
use sinew::recipe::EffectSpec;
use sinew::*;
use std::sync::Arc;

/// A rig with its clips, for as many recipes as a test tries.
pub struct Subject {
    pub rig: Arc<Rig>,
    pub clips: Vec<Clip>,
}

impl Subject {
    pub fn new(raw: &RawRig, clips: Vec<Clip>) -> Self {
        let (rig, warnings) = Rig::build(raw).expect("the rig builds");
        assert!(warnings.is_empty(), "{warnings:?}");
        Self { rig: Arc::new(rig), clips }
    }

    pub fn zoo(spec: &str) -> Self {
        let zoo = sinew_zoo::build(spec).expect("a zoo character");
        Self::new(&zoo.raw, zoo.clips)
    }

    pub fn stage(&self, recipe: &Recipe) -> Stage {
        Stage::new(&self.rig, recipe).expect("the recipe fits")
    }

    pub fn motion(&self, clip: usize, settings: &MotionSettings, stage: &Stage) -> Arc<Motion> {
        Arc::clone(stage.motion(&self.clips[clip], settings).expect("the clip can be read").motion())
    }

    pub fn at(&self, stage: &Stage, motion: &Arc<Motion>, time: f64, cpu: &Cpu<'_>) -> DeformedMesh {
        let mut workspace = Workspace::default();
        stage.resume(motion).expect("made for this stage").at(time, &mut workspace).deform(cpu);
        finite(workspace)
    }

    pub fn with(&self, stage: &Stage, pose: &Pose, kinematics: &Kinematics, cpu: &Cpu<'_>) -> DeformedMesh {
        let mut workspace = Workspace::default();
        stage.posed(pose, kinematics, 0.0, &mut workspace).expect("fits the rig").deform(cpu);
        finite(workspace)
    }

    /// The rest pose with some bones turned.
    pub fn turned(&self, turns: &[(&str, DQuat)]) -> Pose {
        let mut pose = self.rig.rest_pose();
        for &(name, turn) in turns {
            if let LocalTransform::Trs(trs) = &mut pose.locals[self.bone(name).index()] {
                trs.rotation *= turn;
            }
        }
        pose
    }

    /// A pose that nothing moves, on one thread.
    pub fn posed(&self, recipe: &Recipe, pose: &Pose) -> DeformedMesh {
        let stage = self.stage(recipe);
        self.with(&stage, pose, &stage.at_rest(), &Cpu::serial())
    }

    pub fn size(&self) -> f64 {
        self.rig.characters()[0].size
    }

    pub fn bone(&self, name: &str) -> BoneId {
        let skeleton = self.rig.skeleton();
        skeleton.bones().find(|&bone| skeleton.name(bone) == name).expect("a bone of that name")
    }
}

fn finite(mut workspace: Workspace) -> DeformedMesh {
    let out = workspace.take_mesh();
    assert!(out.positions.iter().chain(&out.normals).all(|v| v.is_finite()));
    out
}

pub fn effect(name: &str, values: &[(&str, f64)]) -> EffectSpec {
    effect_at_scale(name, values, 1.0)
}

/// As [`effect`], for a tube `scale` times as large.
pub fn effect_at_scale(name: &str, values: &[(&str, f64)], scale: f64) -> EffectSpec {
    let mut spec = EffectSpec::new(name).expect("an effect of that name");
    for (key, value) in values {
        spec.values.set(key, *value).expect("a parameter in range");
    }
    // A cone about the tube's axis, wide end down, for the effects that need one.
    if let Some(cone) = &mut spec.cone {
        cone.cone = Cone::new(DVec3::Y, DVec3::Y * (4.0 * scale), 0.2, 0.01 * scale).ok();
    }
    spec
}

pub fn recipe(effects: Vec<EffectSpec>) -> Recipe {
    Recipe { effects, ..Recipe::default() }
}

/// Largest distance between two results of one rig, in world space.
pub fn largest_difference(a: &DeformedMesh, b: &DeformedMesh) -> f64 {
    let offset: DVec3 = a.origins[0] - b.origins[0];
    let apart = a.positions.iter().zip(&b.positions).map(|(a, b)| (a.as_dvec3() - b.as_dvec3() + offset).length());
    apart.fold(0.0, f64::max)
}

pub fn bits(mesh: &DeformedMesh) -> Vec<u32> {
    let vectors = mesh.positions.iter().chain(&mesh.normals);
    vectors.flat_map(|v| v.to_array()).map(f32::to_bits).collect()
}

/// A base of the list with parameters set.
pub fn based(name: &str, values: &[(&str, f64)]) -> sinew::recipe::BaseSpec {
    let base = sinew::recipe::BaseSpec::new(name).expect("a base of the list");
    values.iter().fold(base, |base, (name, value)| base.with(name, *value).expect("a value in range"))
}

/// A box with corners of its own on every side.
pub fn cuboid(centre: Vec3, half: Vec3, joint: Option<u32>) -> RawPrimitive {
    let mut primitive = RawPrimitive { color: [1.0; 4], ..RawPrimitive::default() };
    let mut normals = Vec::new();
    for axis in 0..3 {
        for sign in [-1.0f32, 1.0] {
            let [mut n, mut u, mut v] = [Vec3::ZERO; 3];
            (n[axis], u[(axis + 1) % 3], v[(axis + 2) % 3]) = (sign, sign, 1.0);
            let first = primitive.positions.len() as u32;
            for (a, b) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                primitive.positions.push(centre + half * (n + a * u + b * v));
                normals.push(n);
            }
            primitive.triangles.extend([[first, first + 1, first + 2], [first, first + 2, first + 3]]);
        }
    }
    primitive.normals = Some(normals);
    if let Some(joint) = joint {
        let count = primitive.positions.len();
        primitive.influences = RawInfluences { per_vertex: 1, joints: vec![joint; count], weights: vec![1.0; count] };
    }
    primitive
}
