//! Frames as the bake sees them: what the effects do to every point, pulled back through the blended 3×3 that stands
//! between a morph and the world.

use crate::BakeFailure;
use crate::groups::{Group, Point};
use crate::matrix::Tall;
use crate::pull_back::PullBack;
use glam::Vec3;
use rayon::prelude::*;
use sinew::{Cpu, Outputs, Playing, Stage, Workspace};

/// What of a frame is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Positions,
    Directions,
}

/// How much each slot is stretched at the nodes' default transforms.
pub(crate) fn rest_stretch(stage: &Stage) -> Vec<f64> {
    let mut workspace = workspace(Wanted::Positions);
    stage.resting(&mut workspace).deform(&Cpu::serial());
    let engine = workspace.engine();
    let stretch = |point| engine.world_from_rest(point).to_cols_array().iter().map(|x| x * x).sum::<f64>().sqrt();
    (0..engine.len()).map(stretch).collect()
}

fn workspace(wanted: Wanted) -> Workspace {
    Workspace::with(Outputs { directions: wanted == Wanted::Directions, base: false, engine: true })
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

    /// Rest displacements in world lengths.
    pub fn in_world(&self, rest: &Tall) -> Tall {
        let count = self.group.points.len().max(1);
        let mut world = rest.clone();
        world.columns_mut().for_each(|column| {
            column.iter_mut().enumerate().for_each(|(i, x)| *x = (f64::from(*x) * self.scales[i % count]) as f32);
        });
        world
    }

    /// Pulls the frame in `workspace` back. `None` where something is not finite.
    pub fn pull(&self, workspace: &Workspace) -> Option<Pulled> {
        let count = self.group.points.len();
        let mut out = Pulled { x: vec![0.0; 3 * count], metric: vec![0.0; 6 * count], ..Pulled::default() };
        for (index, (point, &scale)) in self.group.points.iter().zip(&self.scales).enumerate() {
            let (slot, vertex) = (point.slot as usize, point.vertex as usize);
            let d = (workspace.mesh().positions[vertex] - workspace.engine().position(slot)).as_dvec3();
            let world_from_rest = workspace.engine().world_from_rest(slot);
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
    playing: &Playing<'_>,
    times: &[f64],
    wanted: Wanted,
    see: impl Fn(usize, &mut Workspace) -> Result<T, BakeFailure> + Sync,
) -> Result<Vec<T>, BakeFailure> {
    times
        .par_iter()
        .enumerate()
        .map_init(
            || workspace(wanted),
            |workspace, (index, &time)| {
                playing.frame(time, workspace);
                see(index, workspace)
            },
        )
        .collect()
}
