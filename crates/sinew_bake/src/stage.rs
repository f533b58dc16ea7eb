//! One frame as the bake sees it: where every vertex belongs, where the engine's own skinning puts it, and the blended
//! 3×3 that stands between a morph and the world.

use crate::groups::{Group, Point};
use crate::pull_back::PullBack;
use crate::{BakeFailure, Subject};
use glam::{DMat3, Vec3};
use rayon::prelude::*;
use sinew::graph::GraphError;
use sinew::recipe::{BaseSpec, Normals};
use sinew::simd::LANES;
use sinew::{
    Cpu, DeformedMesh, Frame, FrameIndependentGraph, Kinematics, Motion, Pose, Recipe, Rig, Scratch, WorldPose,
    evaluate,
};

/// What the frames of one bake have in common.
pub(crate) struct Stage<'a> {
    pub subject: Subject<'a>,
    /// With effects, normals as cheap as possible.
    positions: FrameIndependentGraph,
    /// With effects, normals as asked for.
    directions: FrameIndependentGraph,
    /// As an engine skins it.
    engine: FrameIndependentGraph,
    rest: Pose,
}

/// What of a frame is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Positions,
    Directions,
}

/// Memory for a frame; one per thread.
pub(crate) struct Workspace {
    pose: Pose,
    world: WorldPose,
    kinematics: Kinematics,
    scratch: Scratch,
    palette: Vec<DMat3>,
    /// With effects.
    pub deformed: DeformedMesh,
    /// As an engine skins it.
    pub engine: DeformedMesh,
    /// The blended 3×3 per slot.
    pub world_from_rest: Vec<DMat3>,
}

impl<'a> Stage<'a> {
    pub fn new(subject: Subject<'a>) -> Result<Self, GraphError> {
        let Subject { rig, recipe, .. } = subject;
        let engine = Recipe { base: BaseSpec::Lbs, normals: Normals::Engine, ..recipe.base_only() };
        let positions = Recipe { normals: Normals::Engine, ..recipe.clone() };
        Ok(Self {
            subject,
            positions: FrameIndependentGraph::build(rig, &positions)?,
            directions: FrameIndependentGraph::build(rig, recipe)?,
            engine: FrameIndependentGraph::build(rig, &engine)?,
            rest: rig.rest_pose(),
        })
    }

    /// Signals the motions must prepare.
    pub fn filtered_signals(&self) -> &[sinew::FilteredSignal] {
        self.directions.filtered_signals()
    }

    pub fn workspace(&self) -> Workspace {
        Workspace {
            pose: self.rest.clone(),
            world: WorldPose::default(),
            kinematics: Kinematics::at_rest(self.subject.rig.skeleton().len(), self.filtered_signals().len()),
            scratch: Scratch::default(),
            palette: Vec::new(),
            deformed: DeformedMesh::default(),
            engine: DeformedMesh::default(),
            world_from_rest: Vec::new(),
        }
    }

    /// Evaluates the frame at `time` into `workspace`.
    pub fn frame(&self, motion: &Motion, time: f64, wanted: Wanted, workspace: &mut Workspace) {
        let rig = self.subject.rig;
        let Workspace { pose, world, kinematics, scratch, palette, deformed, engine, world_from_rest } = workspace;
        pose.morph_weights.clone_from(&self.rest.morph_weights);
        motion.pose(time, pose);
        world.compose(rig.skeleton(), pose);
        motion.kinematics(time, world, rig.skeleton(), kinematics);
        let frame = Frame { rig, pose, world, kinematics, time };
        let graph = match wanted {
            Wanted::Positions => &self.positions,
            Wanted::Directions => &self.directions,
        };
        evaluate(graph, &frame, &Cpu::serial(), scratch, deformed);
        evaluate(&self.engine, &frame, &Cpu::serial(), scratch, engine);
        blend_matrices(rig, world, palette, world_from_rest);
    }

    /// Weight of each of the file's own morph targets in the frame last evaluated.
    pub fn morph_weights<'w>(&self, workspace: &'w Workspace) -> &'w [f32] {
        &workspace.pose.morph_weights
    }

    /// How much each slot is stretched at the nodes' default transforms.
    pub fn rest_stretch(&self) -> Vec<f64> {
        let rig = self.subject.rig;
        let mut world = WorldPose::default();
        world.compose(rig.skeleton(), &self.rest);
        let (mut palette, mut matrices) = (Vec::new(), Vec::new());
        blend_matrices(rig, &world, &mut palette, &mut matrices);
        matrices.iter().map(|matrix| matrix.to_cols_array().iter().map(|x| x * x).sum::<f64>().sqrt()).collect()
    }
}

/// `Σ w_i T_i` without translation, per slot.
fn blend_matrices(rig: &Rig, world: &WorldPose, palette: &mut Vec<DMat3>, out: &mut Vec<DMat3>) {
    palette.clear();
    palette.extend(rig.palette().iter().map(|e| world.world_from_bone(e.bone).matrix3 * e.bone_from_rest.matrix3));
    out.clear();
    out.resize(rig.rows().len() * LANES, DMat3::ZERO);
    for (row, out) in rig.rows().iter().zip(out.chunks_exact_mut(LANES)) {
        let skin = row.skin.start as usize..row.skin.end as usize;
        for (&entry, weights) in rig.skin_entries()[skin.clone()].iter().zip(&rig.skin_weights()[skin]) {
            for (out, &weight) in out.iter_mut().zip(weights) {
                if weight != 0.0 {
                    *out += palette[entry as usize] * f64::from(weight);
                }
            }
        }
    }
}

/// A group ready to be pulled back.
#[derive(Debug)]
pub(crate) struct PulledGroup {
    pub group: Group,
    /// World length of a unit of rest length per point: rest displacements are kept multiplied by it.
    pub scales: Vec<f64>,
}

/// The displacements of one group at one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulled {
    /// Rest displacements in world lengths: x of all points, y, z.
    pub x: Vec<f32>,
    /// Per point, what such a displacement is in the world: six planes of the symmetric G, |A u|² = xᵀ G x.
    pub metric: Vec<f32>,
    /// Points where skinning is too flat.
    pub flattened: Vec<Flattened>,
    /// Length of the largest displacement in the world, and its point.
    pub largest: (f64, usize),
}

/// What a flattened point leaves undone: |A e + ρ|² = eᵀ G e + 2 e·h + |ρ|².
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flattened {
    pub point: usize,
    pub h: Vec3,
    pub left: f32,
}

impl PulledGroup {
    pub fn new(group: Group, rest_stretch: &[f64]) -> Self {
        let own = |point: &Point| rest_stretch[point.slot as usize] / 3f64.sqrt();
        let top = group.points.iter().map(own).fold(0.0, f64::max);
        // Where nothing is stretched at rest (a prop scaled to nothing), rest lengths count as world lengths.
        let least = if top > 0.0 { 1e-3 * top } else { 1.0 };
        let scales = group.points.iter().map(|point| own(point).max(least)).collect();
        Self { group, scales }
    }

    /// Pulls the frame in `workspace` back. `None` where something is not finite.
    pub fn pull(&self, workspace: &Workspace) -> Option<Pulled> {
        let count = self.group.points.len();
        let mut out = Pulled { x: vec![0.0; 3 * count], metric: vec![0.0; 6 * count], ..Pulled::default() };
        for (index, (point, &scale)) in self.group.points.iter().zip(&self.scales).enumerate() {
            let (slot, vertex) = (point.slot as usize, point.vertex as usize);
            let d = (workspace.deformed.positions[vertex] - workspace.engine.positions[vertex]).as_dvec3();
            let world_from_rest = workspace.world_from_rest[slot];
            let pull = PullBack::new(world_from_rest, scale);
            let u = pull.rest_from_world * d;
            if !(u.is_finite() && world_from_rest.is_finite()) {
                return None;
            }
            if d.length() > out.largest.0 {
                out.largest = (d.length(), index);
            }
            let x = u * scale;
            let scaled = world_from_rest * (1.0 / scale);
            let gram = scaled.transpose() * scaled;
            (0..3).for_each(|axis| out.x[axis * count + index] = x[axis] as f32);
            let six = [gram.x_axis.x, gram.y_axis.y, gram.z_axis.z, gram.x_axis.y, gram.x_axis.z, gram.y_axis.z];
            six.iter().enumerate().for_each(|(plane, &value)| out.metric[plane * count + index] = value as f32);
            if pull.flattened {
                let left = d - world_from_rest * u;
                let h = (scaled.transpose() * left).as_vec3();
                out.flattened.push(Flattened { point: index, h, left: left.length_squared() as f32 });
            }
        }
        out.metric.iter().all(|x| x.is_finite()).then_some(out)
    }
}

impl Pulled {
    /// Largest and summed length in the world of what a rest displacement `e` off the right one leaves.
    pub fn world_error(&self, e: &[f32]) -> WorldError {
        let count = self.x.len() / 3;
        let plane = |index: usize| &self.metric[index * count..(index + 1) * count];
        let (xx, yy, zz, xy, xz, yz) = (plane(0), plane(1), plane(2), plane(3), plane(4), plane(5));
        let (ex, ey, ez) = (&e[..count], &e[count..2 * count], &e[2 * count..3 * count]);
        let mut squares = vec![0.0f32; count];
        for i in 0..count {
            let (x, y, z) = (ex[i], ey[i], ez[i]);
            squares[i] =
                xx[i] * x * x + yy[i] * y * y + zz[i] * z * z + 2.0 * (xy[i] * x * y + xz[i] * x * z + yz[i] * y * z);
        }
        for flat in &self.flattened {
            let i = flat.point;
            squares[i] += 2.0 * flat.h.dot(Vec3::new(ex[i], ey[i], ez[i])) + flat.left;
        }
        let mut error = WorldError::default();
        for (point, square) in squares.iter().enumerate() {
            let length = square.max(0.0).sqrt();
            error.sum += f64::from(length);
            if length > error.largest {
                (error.largest, error.point) = (length, point);
            }
        }
        error
    }

    /// Per point, a bound of the stretch from rest displacements to the world, squared.
    pub fn stretch_bounds(&self) -> impl Iterator<Item = f32> + '_ {
        let count = self.x.len() / 3;
        (0..count).map(move |i| {
            let at = |plane: usize| self.metric[plane * count + i];
            let (xy, xz, yz) = (at(3).abs(), at(4).abs(), at(5).abs());
            (at(0) + xy + xz).max(at(1) + xy + yz).max(at(2) + xz + yz)
        })
    }
}

/// Errors of one frame, in world lengths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorldError {
    pub largest: f32,
    pub point: usize,
    pub sum: f64,
}

/// Evaluates many frames of one clip on all cores, in order; `see` gets each frame's workspace.
pub(crate) fn each_frame<T: Send>(
    stage: &Stage<'_>,
    motion: &Motion,
    times: &[f64],
    wanted: Wanted,
    see: impl Fn(usize, &mut Workspace) -> Result<T, BakeFailure> + Sync,
) -> Result<Vec<T>, BakeFailure> {
    times
        .par_iter()
        .enumerate()
        .map_init(
            || stage.workspace(),
            |workspace, (index, &time)| {
                stage.frame(motion, time, wanted, workspace);
                see(index, workspace)
            },
        )
        .collect()
}
