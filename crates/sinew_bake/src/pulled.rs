//! Frames as the bake sees them: what the effects do to every point, pulled back through the blended 3×3 that stands
//! between a morph and the world.

use crate::field::{Field, Kind};
use crate::groups::{Group, Point};
use crate::lanes::larger;
use crate::matrix::Tall;
use crate::pull_back::{PullBack, Regular};
use crate::{BakeFailure, Subject};
use fearless_simd::{Level, dispatch};
use glam::{DMat3, DVec3, Mat3, Vec3};
use rayon::prelude::*;

use sinew::{Cpu, LANES, Outputs, Playing, Stage, Workspace};

/// Points whose errors are summed at a time: few enough that those of all targets stay in the second cache.
pub(crate) const TILE: usize = 512;

/// What of a frame is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Positions,
    Directions,
}

fn outputs(wanted: Wanted) -> Outputs {
    Outputs { directions: wanted == Wanted::Directions, base: false, engine: true }
}

/// Frames of each clip looked at for points that are hidden at rest.
const LOOKS: usize = 16;

/// How much each slot is stretched at the nodes' default transforms; where it is next to nothing, as of a prop that clips
/// take out, at the most in some frames of the clips.
pub(crate) fn stretches(stage: &Stage, motions: &[Playing<'_>]) -> Vec<f64> {
    let mut workspace = Workspace::with(outputs(Wanted::Positions));
    stage.resting(&mut workspace).deform(&Cpu::serial());
    let of_slots = |workspace: &Workspace| -> Vec<f64> {
        (0..workspace.engine().len()).map(|point| stretch(workspace.engine().world_from_rest(point))).collect()
    };
    let mut stretches = of_slots(&workspace);
    let top = stretches.iter().copied().fold(0.0, f64::max);
    let is_hidden: Vec<bool> = stretches.iter().map(|&stretch| stretch < SEEN.0 * top).collect();
    if !is_hidden.contains(&true) {
        return stretches;
    }
    for motion in motions {
        let (start, end) = (motion.report().start, motion.report().last_key);
        for look in 0..LOOKS {
            motion.frame(start + (end - start) * look as f64 / LOOKS as f64, &mut workspace);
            let here = of_slots(&workspace);
            let hidden = stretches.iter_mut().zip(&is_hidden).zip(here).filter(|((_, is_hidden), _)| **is_hidden);
            hidden.for_each(|((stretch, _), here)| *stretch = stretch.max(here));
        }
    }
    stretches
}

/// Of a matrix: 1 for a rotation.
fn stretch(world_from_rest: DMat3) -> f64 {
    let squares: f64 = world_from_rest.to_cols_array().iter().map(|x| x * x).sum();
    (squares / 3.0).sqrt()
}

/// Skin shrunk to less than the first share of its size is not seen, from the second on it is seen as any other: bones
/// scaled to about nothing hide what they carry, and what no morph can move there nobody misses.
const SEEN: (f64, f64) = (0.05, 0.2);

/// How much skin of that stretch is seen, from 0 to 1.
fn seen(stretch: f64) -> f64 {
    let share = ((stretch - SEEN.0) / (SEEN.1 - SEEN.0)).clamp(0.0, 1.0);
    share * share * (3.0 - 2.0 * share)
}

/// A group ready to be pulled back.
#[derive(Debug)]
pub(crate) struct PulledGroup {
    pub group: Group,
    /// World length of a unit of rest length per point: rest displacements are kept multiplied by it.
    pub scales: Vec<f64>,
    /// Normals and tangents of its vertices.
    pub fields: Vec<Field>,
}

/// The displacements of one group at one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulled {
    /// Rest displacements in world lengths: x of all points, y, z.
    pub x: Vec<f32>,
    /// AᵀA of what carries such a displacement into the world, by which lengths there are found: planes of xx, yy, zz, xy, xz, yz.
    pub metric: Vec<f32>,
    /// Points where skinning is too flat.
    pub flattened: Vec<Flattened>,
    /// Length of the largest displacement in the world, and its point.
    pub largest: (f64, usize),
    /// Per field, the right morph of its directions, x y z each; empty where directions were not wanted.
    pub deltas: Vec<Vec<f32>>,
}

/// What a flattened point leaves undone in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flattened {
    pub point: usize,
    pub left: Vec3,
    /// What carries its rest displacements, in world lengths, into the world.
    carry: Mat3,
}

/// How directions of a point come back from the world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turned {
    pub world_from_rest: Mat3,
    pub rest_from_world: Mat3,
    /// Whether they can be told there.
    pub is_told: bool,
}

impl PulledGroup {
    /// `place_of_slot` tells where a group has a slot of the rig.
    pub fn new(subject: Subject<'_>, group: Group, stretches: &[f64], place_of_slot: &[u32]) -> Self {
        let own = |point: &Point| stretches[point.slot as usize];
        let top = group.points.iter().map(own).fold(0.0, f64::max);
        // Where nothing is ever stretched, rest lengths count as world lengths.
        let least = if top > 0.0 { 1e-3 * top } else { 1.0 };
        let scales = group.points.iter().map(|point| own(point).max(least)).collect();
        let field = |&kind: &Kind| Field::new(subject, &group.parts, place_of_slot, kind);
        let fields = Kind::ALL.iter().filter_map(field).collect();
        Self { group, scales, fields }
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
        dispatch!(Level::new(), _simd => self.pull_here(workspace))
    }

    #[inline(always)]
    fn pull_here(&self, workspace: &Workspace) -> Option<Pulled> {
        let count = self.group.points.len();
        let mut out = Pulled { x: vec![0.0; 3 * count], metric: vec![0.0; 6 * count], ..Pulled::default() };
        let mut turned = vec![Turned::default(); if workspace.outputs.directions { count } else { 0 }];
        let mut largest = (0.0f32, 0);
        for first in (0..count).step_by(LANES) {
            let points = self.group.points[first..].iter().zip(&self.scales[first..]).take(LANES);
            let (mut a, mut d, len) = ([[0.0f32; LANES]; 9], [[0.0f32; LANES]; 3], points.len());
            for (lane, (point, &scale)) in points.enumerate() {
                let rows = (workspace.engine().world_from_rest(point.slot as usize) * (1.0 / scale)).transpose();
                rows.to_cols_array().iter().enumerate().for_each(|(entry, &x)| a[entry][lane] = x as f32);
                moved(workspace, point).to_array().iter().enumerate().for_each(|(axis, &x)| d[axis][lane] = x);
            }
            let metric = metric(&a);
            let regular = Regular::new(&a);
            let mut x = [[0.0f32; LANES]; 3];
            let (mut squares, mut is_plain) = ([0.0f32; LANES], [false; LANES]);
            for lane in 0..LANES {
                let d = d.map(|d| d[lane]);
                for (axis, x) in x.iter_mut().enumerate() {
                    let row = |entry: usize| regular.inverses[3 * axis + entry][lane] * d[entry];
                    x[lane] = row(0) + row(1) + row(2);
                }
                squares[lane] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                let stretch = metric[0][lane] + metric[1][lane] + metric[2][lane];
                is_plain[lane] = regular.is_regular[lane] && stretch > 3.0 * (SEEN.1 * SEEN.1) as f32;
            }
            for (plane, values) in out.metric.chunks_exact_mut(count).zip(&metric) {
                plane[first..first + len].copy_from_slice(&values[..len]);
            }
            for (plane, values) in out.x.chunks_exact_mut(count).zip(&x) {
                plane[first..first + len].copy_from_slice(&values[..len]);
            }
            for lane in 0..len {
                let index = first + lane;
                if !is_plain[lane] {
                    let (square, here) = self.pull_one(workspace, index, &mut out)?;
                    squares[lane] = square;
                    turned.get_mut(index).into_iter().for_each(|turned| *turned = here);
                } else if let Some(turned) = turned.get_mut(index) {
                    let rows = |entries: &[[f32; LANES]; 9]| {
                        Mat3::from_cols_array(&std::array::from_fn(|entry| entries[entry][lane])).transpose()
                    };
                    let (world_from_rest, rest_from_world) = (rows(&a), rows(&regular.inverses));
                    *turned = Turned { world_from_rest, rest_from_world, is_told: true };
                }
                if squares[lane] > largest.0 {
                    largest = (squares[lane], index);
                }
            }
        }
        out.largest = (f64::from(largest.0).sqrt(), largest.1);
        if !(is_finite(&out.metric) && is_finite(&out.x)) {
            return None;
        }
        if workspace.outputs.directions {
            out.deltas = self.fields.iter().map(|field| field.deltas(workspace, &turned)).collect();
        }
        Some(out)
    }

    /// Pulls back one point that may be flat or hidden; tells the square of its displacement as far as it is seen.
    fn pull_one(&self, workspace: &Workspace, index: usize, out: &mut Pulled) -> Option<(f32, Turned)> {
        let (count, point, scale) = (self.group.points.len(), &self.group.points[index], self.scales[index]);
        let world_from_rest = workspace.engine().world_from_rest(point.slot as usize);
        let seen = seen(stretch(world_from_rest) / scale);
        let d = moved(workspace, point).as_dvec3() * seen;
        let pull = PullBack::new(world_from_rest, scale);
        let u = pull.rest_from_world * d;
        if !(u.is_finite() && world_from_rest.is_finite()) {
            return None;
        }
        (0..3).for_each(|axis| out.x[axis * count + index] = (u[axis] * scale) as f32);
        let carry = (world_from_rest * (1.0 / scale)).as_mat3();
        if pull.flattened && seen > 0.0 && d != DVec3::ZERO {
            let left = (d - world_from_rest * u).as_vec3();
            out.flattened.push(Flattened { point: index, left, carry });
        }
        let rest_from_world = (pull.rest_from_world * scale).as_mat3();
        let is_told = !pull.flattened && seen > 0.0;
        Some((d.length_squared() as f32, Turned { world_from_rest: carry, rest_from_world, is_told }))
    }
}

/// What the effects do to a point.
#[inline(always)]
fn moved(workspace: &Workspace, point: &Point) -> Vec3 {
    workspace.mesh().positions[point.vertex as usize] - workspace.engine().position(point.slot as usize)
}

/// AᵀA: xx, yy, zz, xy, xz, yz.
#[inline(always)]
fn metric(a: &[[f32; LANES]; 9]) -> [[f32; LANES]; 6] {
    let mut metric = [[0.0; LANES]; 6];
    for (plane, [p, q]) in metric.iter_mut().zip([[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]]) {
        for lane in 0..LANES {
            plane[lane] = a[p][lane] * a[q][lane] + a[p + 3][lane] * a[q + 3][lane] + a[p + 6][lane] * a[q + 6][lane];
        }
    }
    metric
}

#[inline(always)]
fn is_finite(numbers: &[f32]) -> bool {
    // Nothing times a number is nothing; times what is no number it is not.
    let (chunks, last) = numbers.as_chunks::<LANES>();
    let mut left = [0.0f32; LANES];
    for chunk in chunks {
        (0..LANES).for_each(|lane| left[lane] += 0.0 * chunk[lane]);
    }
    left.iter().chain(last).all(|x| x.is_finite())
}

impl Pulled {
    /// Number of points.
    fn len(&self) -> usize {
        self.metric.len() / 6
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        4 * (self.x.len() + self.metric.len() + self.deltas.iter().map(Vec::len).sum::<usize>())
    }

    /// The product in the world of two vectors that a point's matrix carries there.
    pub fn product(&self, point: usize, u: DVec3, v: DVec3) -> f64 {
        let count = self.len();
        let [xx, yy, zz, xy, xz, yz] = std::array::from_fn(|plane| f64::from(self.metric[plane * count + point]));
        let carried =
            DVec3::new(xx * v.x + xy * v.y + xz * v.z, xy * v.x + yy * v.y + yz * v.z, xz * v.x + yz * v.y + zz * v.z);
        u.dot(carried)
    }

    /// Largest and summed length in the world of what a rest displacement `e` off the right one leaves.
    pub fn world_error(&self, e: &[f32]) -> WorldError {
        let count = self.len();
        let mut error = WorldError::default();
        for first in (0..count).step_by(TILE) {
            let points = first..(first + TILE).min(count);
            let plane = |axis: usize| &e[axis * count..][points.clone()];
            self.add_world_error(first, [plane(0), plane(1), plane(2)], &mut error);
        }
        error
    }

    /// The same of some points, from `first` on and at most [`TILE`] of them, beside what `error` holds.
    pub fn add_world_error(&self, first: usize, e: [&[f32]; 3], error: &mut WorldError) {
        dispatch!(Level::new(), _simd => self.add_world_error_here(first, e, error));
    }

    /// The same within a loop that was dispatched.
    #[inline(always)]
    pub fn add_world_error_here(&self, first: usize, [ex, ey, ez]: [&[f32]; 3], error: &mut WorldError) {
        let (count, len) = (self.len(), ex.len().min(TILE));
        let (ex, ey, ez) = (&ex[..len], &ey[..len], &ez[..len]);
        let mut lengths = [0.0f32; TILE];
        let squares = &mut lengths[..len];
        let plane = |plane: usize| &self.metric[plane * count + first..][..len];
        let [xx, yy, zz, xy, xz, yz] = [plane(0), plane(1), plane(2), plane(3), plane(4), plane(5)];
        for i in 0..len {
            let (x, y, z) = (ex[i], ey[i], ez[i]);
            let square =
                x * (xx[i] * x + 2.0 * (xy[i] * y + xz[i] * z)) + y * (yy[i] * y + 2.0 * yz[i] * z) + zz[i] * z * z;
            // Rounding may leave less than nothing.
            squares[i] = larger(square, 0.0);
        }
        let flat = self.flattened.partition_point(|flat| flat.point < first);
        for flat in self.flattened[flat..].iter().take_while(|flat| flat.point < first + len) {
            let i = flat.point - first;
            squares[i] = (flat.carry * Vec3::new(ex[i], ey[i], ez[i]) + flat.left).length_squared();
        }
        // Lanes of their own, which the compiler may keep in one register.
        let (mut sums, mut tops) = ([0.0f32; LANES], [0.0f32; LANES]);
        for chunk in lengths[..len.next_multiple_of(LANES)].chunks_exact_mut(LANES) {
            for lane in 0..LANES {
                let length = chunk[lane].sqrt();
                chunk[lane] = length;
                sums[lane] += length;
                tops[lane] = larger(length, tops[lane]);
            }
        }
        error.sum += sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
        let top = tops.iter().copied().fold(0.0, f32::max);
        if top > error.largest {
            error.largest = top;
            error.point = first + lengths.iter().position(|&length| length == top).unwrap_or(0);
        }
    }

    /// Raises a bound per point, squared, to that of the stretch from rest displacements to the world: the largest sum of a
    /// row of AᵀA without signs.
    pub fn raise_stretch_bounds(&self, bounds: &mut [f32]) {
        #[inline(always)]
        fn here(metric: [&[f32]; 6], bounds: &mut [f32]) {
            let count = bounds.len();
            let [xx, yy, zz, xy, xz, yz] = metric.map(|plane| &plane[..count]);
            for i in 0..count {
                let (xy, xz, yz) = (xy[i].abs(), xz[i].abs(), yz[i].abs());
                let [x, y, z] = [xx[i] + xy + xz, yy[i] + xy + yz, zz[i] + xz + yz];
                bounds[i] = larger(x, larger(y, larger(z, bounds[i])));
            }
        }
        let count = self.len();
        let planes = std::array::from_fn(|plane| &self.metric[plane * count..][..count]);
        dispatch!(Level::new(), _simd => here(planes, bounds));
    }
}

/// Errors of one frame, in world lengths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorldError {
    pub largest: f32,
    pub point: usize,
    pub sum: f64,
}

/// Evaluates many frames of one clip on all cores, in order; `see` gets each frame's workspace, with what is wanted of it.
pub(crate) fn each_frame<T: Send>(
    playing: &Playing<'_>,
    times: &[f64],
    wanted: impl Fn(usize) -> Wanted + Sync,
    see: impl Fn(usize, &mut Workspace) -> Result<T, BakeFailure> + Sync,
) -> Result<Vec<T>, BakeFailure> {
    times
        .par_iter()
        .enumerate()
        .map_init(Workspace::default, |workspace, (index, &time)| {
            workspace.outputs = outputs(wanted(index));
            playing.frame(time, workspace);
            see(index, workspace)
        })
        .collect()
}
