//! The workload: `zoo:tube` in the middle of its wave, every bone moving.

use glam::{DQuat, DVec3, Mat4, Vec3};
use sinew::pose::LocalTransform;
use sinew::{
    BoneMotion, Clip, Kinematics, MotionSettings, Pose, Posed, RawRig, Recipe, Rig, Stage, Workspace, WorldPose,
};
use sinew_zoo::TubeOptions;
use std::sync::Arc;

/// Influences of every vertex.
pub const INFLUENCES: usize = 4;

/// When the wave is looked at.
pub const TIME: f64 = 0.37;

/// Everything a kernel reads: the rig for ours; for the baselines the same vertices as plain arrays.
pub struct Workload {
    /// The tube.
    pub rig: Arc<Rig>,
    clip: Clip,
    /// Rest positions.
    pub positions: Vec<Vec3>,
    /// Rest normals, unit length.
    pub normals: Vec<Vec3>,
    /// The bones that move the vertex.
    pub bones: Vec<[u16; INFLUENCES]>,
    /// Their weights; they sum to 1.
    pub weights: Vec<[f32; INFLUENCES]>,
    /// Per bone, the skinning matrix of the pose.
    pub world_from_bind: Vec<Mat4>,
}

/// What a kernel writes, one entry per vertex.
#[derive(Clone)]
pub struct Skinned {
    /// Skinned positions.
    pub positions: Vec<Vec3>,
    /// Skinned normals.
    pub normals: Vec<Vec3>,
}

impl Skinned {
    /// Room for every vertex of `work`.
    pub fn for_workload(work: &Workload) -> Self {
        Self { positions: vec![Vec3::ZERO; work.positions.len()], normals: vec![Vec3::ZERO; work.positions.len()] }
    }
}

/// A posed frame of a workload, with the signals a stage asks for.
pub struct PosedFrame {
    /// Local transforms.
    pub pose: Pose,
    /// World transforms.
    pub world: WorldPose,
    /// Velocities and accelerations.
    pub kinematics: Kinematics,
}

impl PosedFrame {
    /// Ready to be deformed, again and again.
    pub fn on<'w>(&self, stage: &'w Stage, workspace: &'w mut Workspace) -> Posed<'w> {
        stage.posed(&self.pose, &self.kinematics, TIME, workspace).expect("made for this stage")
    }

    /// Takes the motion from all bones but the last ones of the chain.
    pub fn hold_all_but_last(&mut self, moving: usize, rig: &Rig) {
        for entry in rig.palette().iter().rev().skip(moving) {
            let bone = entry.bone.index();
            self.kinematics.bones[bone] = BoneMotion::default();
            self.kinematics.filtered.iter_mut().for_each(|signal| signal[bone] = DVec3::ZERO);
        }
    }
}

impl Workload {
    /// About `vertices` vertices on a chain of `bones` bones.
    pub fn tube(vertices: usize, bones: usize) -> Self {
        let options = TubeOptions::default().with_vertices(vertices).and_then(|options| options.with_bones(bones));
        let zoo = sinew_zoo::tube(&options.expect("sizes the tube can have"));
        let RawRig { skins, meshes, .. } = &zoo.raw;
        let surface = &meshes[0].primitives[0];
        assert_eq!(surface.influences.per_vertex, INFLUENCES);
        let (rig, _) = Rig::build(&zoo.raw).expect("the tube is a sound rig");
        let chunks = |v: &[u32]| v.chunks_exact(INFLUENCES).map(|c| std::array::from_fn(|k| c[k] as u16)).collect();
        let mut work = Self {
            clip: zoo.clips[0].clone(),
            positions: surface.positions.clone(),
            normals: surface.normals.clone().expect("the tube has normals"),
            bones: chunks(&surface.influences.joints),
            weights: surface.influences.weights.as_chunks().0.to_vec(),
            world_from_bind: Vec::new(),
            rig: Arc::new(rig),
        };
        let base = Stage::new(&work.rig, &Recipe::default()).expect("an empty recipe fits");
        let world = work.frame(&base).world;
        let matrix = |joint: &sinew::raw::RawJoint| {
            let bone = work.rig.skeleton().bone_of_node(joint.bone).expect("a joint of the rig");
            Mat4::from((world.world_from_bone(bone) * joint.bone_from_rest).as_affine3())
        };
        work.world_from_bind = skins[0].joints.iter().map(matrix).collect();
        work
    }

    /// The tube at rest, nothing moving.
    pub fn still(&self, stage: &Stage) -> PosedFrame {
        let skeleton = self.rig.skeleton();
        let (pose, mut world) = (self.rig.rest_pose(), WorldPose::default());
        world.compose(skeleton, &pose);
        PosedFrame { pose, world, kinematics: stage.at_rest() }
    }

    /// The tube with its last bone bent by a radian, nothing moving.
    pub fn last_bent(&self, stage: &Stage) -> PosedFrame {
        let mut frame = self.still(stage);
        if let Some(last) = self.rig.palette().last()
            && let LocalTransform::Trs(trs) = &mut frame.pose.locals[last.bone.index()]
        {
            trs.rotation *= DQuat::from_rotation_x(1.0);
        }
        frame.world.compose(self.rig.skeleton(), &frame.pose);
        frame
    }

    /// The moment all kernels compute.
    pub fn frame(&self, stage: &Stage) -> PosedFrame {
        let playing = stage.motion(&self.clip, &MotionSettings::default()).expect("the wave can be read");
        let mut workspace = Workspace::default();
        playing.at(TIME, &mut workspace);
        PosedFrame {
            pose: workspace.pose().clone(),
            world: workspace.world().clone(),
            kinematics: workspace.kinematics().clone(),
        }
    }
}
