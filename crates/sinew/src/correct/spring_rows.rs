//! The energy of [`super::springs`] in rows of 16 points and single precision: what frames are solved by.
//!
//! Every point computes its own half of every spring from a record of each neighbour, so nothing is scattered and rows
//! do not depend on each other; records of the last evaluation are read while the next points are made. Points are
//! ordered breadth-first along the surface, so that a row's neighbours lie in few lines of the cache. Lengths are in
//! extents of the skin, and angles come from `m = ‖ŝ_i − ŝ_j‖`: `2 sin θ = m√(4 − m²)`, and `θ/sin θ` is smooth in m², which
//! keeps small ones precise and costs one root. Where all springs of a skin are alike, what they share is not read.
//!
//! Nothing is compared with zero: squares begin at [`LEAST`], so that divisions are finite, and what is divided by a
//! vanishing length is then multiplied by a vector that is zero.
//!
//! Oracle: forces and energy of the f64 springs to rounding, and the same equilibrium.

use super::descent::{DescentScratch, Energy, Felt, Scheme, Solved, Stop, descend};
use super::springs::{BoneSpring, Edge, FIXED_STEPS, LEAST_LENGTH, SAFETY, SpringFrame, Springs};
use crate::half_rows::{
    HALF, Half, dot, lane_max, lane_sum, load_half, load_lanes, mul_add, scale, store_half, store_lanes, sub,
    transposed_blocks,
};
use crate::rings::in_blocks;
use crate::simd::{LANES, Lanes, Level, PointRow, Simd, dispatch, prelude::*};
use fearless_simd::f32x8;
use glam::DVec3;
use std::ops::Range;

/// Rows that a thread takes at a time, and whose products are summed in single precision before they are added up in
/// double.
const BLOCK: usize = 64;
/// Added to squares of lengths in extents and of sines.
const LEAST: f32 = 1e-36;
/// Angles with smaller `m²`, up to 45°, take a shorter polynomial.
const NARROW: f32 = 0.6;

/// Springs of eight points to one neighbour each.
#[derive(Clone, Debug)]
struct Spoke {
    to: [u32; HALF],
    length: [f32; HALF],
    angle: [f32; HALF],
}

/// Their stiffness: torsion, surface, lengths.
type Stiff = [[f32; HALF]; 3];

/// What neighbours read of a point: its place, its direction, the excess of its length, its length at rest.
type Record = [f32; 8];

/// The springs of a skin in rows.
#[derive(Clone, Debug)]
pub(super) struct SpringRows {
    /// Point of each slot; slots at the end repeat the last point without springs.
    order: Vec<u32>,
    points: usize,
    /// Bind units per extent.
    unit: f64,
    spokes: Vec<Spoke>,
    /// Per half row, where its spokes stop.
    stops: Vec<u32>,
    /// Per spoke; empty where all springs are alike.
    stiff: Vec<Stiff>,
    /// Torsion over both lengths at rest, surface, lengths.
    alike: [f32; 3],
    rest: Vec<Lanes>,
    absolute: Vec<Lanes>,
    /// Per point: stiffness of the anchor spring of those without a direction.
    anchored: Vec<f64>,
    /// `κ_b‖s⁰‖²`.
    bone: Vec<Lanes>,
    /// Angle that the bone spring holds.
    held: Vec<Lanes>,
    stiffness: Vec<Lanes>,
    kind: BoneSpring,
}

/// Memory of the solver.
#[derive(Clone, Debug, Default)]
pub(super) struct RowScratch {
    points: Vec<PointRow>,
    frame: RowFrame,
    descent: DescentScratch<Vec<PointRow>>,
}

/// A frame in rows.
#[derive(Clone, Debug, Default)]
struct RowFrame {
    anchors: Vec<PointRow>,
    /// Directions that the bone springs hold to.
    towards: Vec<PointRow>,
    /// Stiffness of edits; empty without any.
    pull: Vec<Lanes>,
    places: Vec<PointRow>,
    /// What a plain step multiplies forces by: the safety over bounds of stiffness, edits among them.
    gains: Vec<Lanes>,
    /// The same by one bound for all.
    fixed_gain: f32,
    /// Directions and lengths of scale vectors.
    hung: Vec<[Lanes; 4]>,
    /// Per slot.
    records: Vec<Record>,
    /// What each block feels, with twice its energy.
    felt: Vec<Felt>,
}

impl SpringRows {
    pub fn new(springs: &Springs, points: &[DVec3]) -> Self {
        let (low, high) = points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), &p| (l.min(p), h.max(p)));
        let extent = (high - low).length();
        let unit = if extent > 0.0 && extent.is_finite() { extent } else { 1.0 };
        let order = breadth_first(springs);
        let mut slot_of = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(slot, &point)| slot_of[point as usize] = slot as u32);
        let rows = order.len().div_ceil(LANES);
        let lanes = |row: usize, value: &dyn Fn(usize) -> f64| -> Lanes {
            std::array::from_fn(|lane| order.get(row * LANES + lane).map_or(0.0, |&point| value(point as usize) as f32))
        };
        let alike = Alike::of(springs);
        let (mut spokes, mut stops, mut stiff) = (Vec::new(), Vec::new(), Vec::new());
        for half in 0..2 * rows {
            let of = |lane: usize| order.get(half * HALF + lane).map_or(&[][..], |&point| springs.of(point as usize));
            for k in 0..(0..HALF).map(|lane| of(lane).len()).max().unwrap_or(0) {
                // A lane with fewer neighbours is its own, at the length and angle that it has.
                let own = |lane: usize| (half * HALF + lane) as u32;
                let mut spoke = Spoke { to: std::array::from_fn(own), length: [0.0; HALF], angle: [0.0; HALF] };
                let mut stiffness = [[0.0; HALF]; 3];
                for lane in 0..HALF {
                    let Some(&(edge, second)) = of(lane).get(k) else { continue };
                    let edge = &springs.edges[edge as usize];
                    spoke.to[lane] = slot_of[edge.ends[usize::from(!second)] as usize];
                    spoke.length[lane] = (edge.length / unit) as f32;
                    spoke.angle[lane] = edge.angle as f32;
                    stiffness[0][lane] = (edge.torsion / (unit * unit)) as f32;
                    stiffness[1][lane] = edge.surface as f32;
                    stiffness[2][lane] = edge.lengths as f32;
                }
                spokes.push(spoke);
                if alike.is_none() {
                    stiff.push(stiffness);
                }
            }
            stops.push(spokes.len() as u32);
        }
        let all = |value: &dyn Fn(usize) -> f64| (0..rows).map(|row| lanes(row, value)).collect::<Vec<Lanes>>();
        Self {
            // Slots at the end hang like the last point.
            rest: (0..rows)
                .map(|row| {
                    let point = |lane: usize| order[(row * LANES + lane).min(order.len() - 1)] as usize;
                    std::array::from_fn(|lane| (springs.rest[point(lane)] / unit) as f32)
                })
                .collect(),
            stiff,
            alike: alike.map_or([0.0; 3], |alike| alike.0.map(|stiffness| stiffness as f32)),
            absolute: all(&|i| if springs.rest[i] > 0.0 { springs.absolute[i] } else { 0.0 }),
            anchored: (0..springs.len())
                .map(|i| if springs.rest[i] > 0.0 { 0.0 } else { springs.absolute[i] })
                .collect(),
            bone: all(&|i| springs.bone[i] * (springs.rest[i] / unit).powi(2)),
            held: all(&|i| if springs.kind == BoneSpring::ToLine { springs.line_angle[i] } else { 0.0 }),
            stiffness: all(&|i| springs.stiffness[i]),
            kind: springs.kind,
            points: order.len(),
            order,
            unit,
            spokes,
            stops,
        }
    }

    /// As [`Springs::solve`].
    pub fn solve(
        &self,
        (level, pool): (Level, Option<&rayon::ThreadPool>),
        frame: &SpringFrame<'_>,
        points: &mut [DVec3],
        (scheme, stop): (Scheme, &Stop),
        scratch: &mut RowScratch,
    ) -> Solved {
        let RowScratch { points: rows, frame: row_frame, descent } = scratch;
        // About a point near them: far from it single precision would lose the shape.
        let middle = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
        self.rows_of(rows, |point| (points[point] - middle) / self.unit);
        self.load(frame, middle, row_frame);
        let stop = Stop {
            largest_move: stop.largest_move / self.unit,
            largest_force: stop.largest_force / self.unit,
            ..*stop
        };
        let mut energy = RowEnergy { springs: self, frame: row_frame, level, pool };
        let solved = match pool {
            // Threads are woken once.
            Some(pool) => pool.install(|| descend(&mut energy, rows, scheme, &stop, descent)),
            None => descend(&mut energy, rows, scheme, &stop, descent),
        };
        for (slot, &point) in self.order.iter().enumerate() {
            let [x, y, z] = &rows[slot / LANES];
            let lane = slot % LANES;
            let p = DVec3::new(f64::from(x[lane]), f64::from(y[lane]), f64::from(z[lane]));
            points[point as usize] = middle + p * self.unit;
        }
        Solved {
            energy: solved.energy * self.unit * self.unit,
            largest_move: solved.largest_move * self.unit,
            ..solved
        }
    }

    fn rows_of(&self, rows: &mut Vec<PointRow>, value: impl Fn(usize) -> DVec3) {
        rows.clear();
        rows.resize(self.rest.len(), [[0.0; LANES]; 3]);
        let last = self.points.saturating_sub(1);
        for slot in 0..rows.len() * LANES {
            let v = value(self.order[slot.min(last)] as usize).as_vec3();
            for axis in 0..3 {
                rows[slot / LANES][axis][slot % LANES] = v[axis];
            }
        }
    }

    fn load(&self, frame: &SpringFrame<'_>, middle: DVec3, out: &mut RowFrame) {
        self.rows_of(&mut out.anchors, |point| (frame.anchors[point] - middle) / self.unit);
        let towards = if self.kind == BoneSpring::ToLine { frame.lines } else { frame.aims };
        self.rows_of(&mut out.towards, |point| towards[point].normalize_or_zero());
        out.gains.clone_from(&self.stiffness);
        out.pull.clear();
        if !frame.edits.is_empty() || self.anchored.iter().any(|&stiffness| stiffness > 0.0) {
            // The two springs of a point to fixed places are one to their mean.
            let edit = |point: usize| frame.edits.get(point).copied().unwrap_or((0.0, DVec3::ZERO));
            let pull = |point: usize| self.anchored[point] + edit(point).0;
            self.rows_of(&mut out.places, |point| {
                let (edited, place) = edit(point);
                let anchored = (frame.anchors[point] + frame.aims[point]) * self.anchored[point];
                let total = pull(point);
                (if total > 0.0 { (anchored + place * edited) / total } else { middle } - middle) / self.unit
            });
            out.pull.resize(self.rest.len(), [0.0; LANES]);
            for (slot, &point) in self.order.iter().enumerate() {
                out.pull[slot / LANES][slot % LANES] = pull(point as usize) as f32;
                out.gains[slot / LANES][slot % LANES] += edit(point as usize).0 as f32;
            }
        }
        let mut largest = FIXED_STEPS as f32;
        for bound in out.gains.iter_mut().flatten() {
            largest = largest.max(*bound);
            // What nothing holds feels no force.
            *bound = if *bound > f32::MIN_POSITIVE { SAFETY as f32 / *bound } else { 0.0 };
        }
        out.fixed_gain = SAFETY as f32 / largest;
        out.hung.resize(self.rest.len(), [[0.0; LANES]; 4]);
        out.records.resize(self.rest.len() * LANES, [0.0; 8]);
        out.felt.resize(self.rest.len().div_ceil(BLOCK), Felt::default());
    }
}

/// The order of points by which neighbours lie close to each other.
fn breadth_first(springs: &Springs) -> Vec<u32> {
    let count = springs.len();
    let mut order: Vec<u32> = Vec::with_capacity(count);
    let mut seen = vec![false; count];
    for start in 0..count {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut next = order.len();
        order.push(start as u32);
        while let Some(&point) = order.get(next) {
            for &(edge, second) in springs.of(point as usize) {
                let other = springs.edges[edge as usize].ends[usize::from(!second)];
                if !std::mem::replace(&mut seen[other as usize], true) {
                    order.push(other);
                }
            }
            next += 1;
        }
    }
    order
}

/// Stiffness that all springs of a skin share, all of whose points hang: torsion over both lengths at rest, surface,
/// lengths.
struct Alike([f64; 3]);

impl Alike {
    fn of(springs: &Springs) -> Option<Self> {
        let of = |edge: &Edge| {
            let lengths: f64 = edge.ends.iter().map(|&end| springs.rest[end as usize]).product();
            [edge.torsion / lengths, edge.surface, edge.lengths]
        };
        let first = springs.edges.first().map(of)?;
        let same = |edge: &Edge| (0..3).all(|k| (of(edge)[k] - first[k]).abs() <= 1e-12 * first[k].abs());
        springs.edges.iter().all(same).then_some(Self(first))
    }
}

struct RowEnergy<'a> {
    springs: &'a SpringRows,
    frame: &'a mut RowFrame,
    level: Level,
    pool: Option<&'a rayon::ThreadPool>,
}

impl Energy for RowEnergy<'_> {
    type Vectors = Vec<PointRow>;
    const ROUNDING: f64 = 1e-6;

    fn forces(&mut self, points: &Vec<PointRow>, forces: &mut Vec<PointRow>) -> Felt {
        forces.resize(points.len(), [[0.0; LANES]; 3]);
        let (springs, level) = (self.springs, self.level);
        let RowFrame { anchors, hung, records, .. } = &mut *self.frame;
        in_blocks(self.pool, (hung, BLOCK), (records, BLOCK * LANES), |block, hung, records| {
            let rows = block * BLOCK..block * BLOCK + hung.len();
            let (points, anchors, rest) = (&points[rows.clone()], &anchors[rows.clone()], &springs.rest[rows]);
            dispatch!(level, simd => hang(simd, points, anchors, rest, hung, records));
        });
        let mut felt = std::mem::take(&mut self.frame.felt);
        let frame = &*self.frame;
        in_blocks(self.pool, (forces, BLOCK), (&mut felt, 1), |block, forces, felt| {
            let first = block * BLOCK;
            felt[0] = if springs.stiff.is_empty() {
                dispatch!(level, simd => some_forces::<_, true>(simd, springs, frame, first, points, forces))
            } else {
                dispatch!(level, simd => some_forces::<_, false>(simd, springs, frame, first, points, forces))
            };
        });
        let all = felt.iter().fold(Felt::default(), |all, block| Felt {
            energy: all.energy + 0.5 * block.energy,
            largest_move: all.largest_move.max(block.largest_move),
            largest_force: all.largest_force.max(block.largest_force),
        });
        self.frame.felt = felt;
        all
    }

    fn plain_step(&self, points: &Vec<PointRow>, forces: &Vec<PointRow>, fixed: bool, k: f64, out: &mut Vec<PointRow>) {
        out.resize(points.len(), [[0.0; LANES]; 3]);
        let one = fixed.then_some(self.frame.fixed_gain);
        self.each(out, |rows, out| {
            let (points, forces, gains) = (&points[rows.clone()], &forces[rows.clone()], &self.frame.gains[rows]);
            dispatch!(self.level, simd => plain_step(simd, points, forces, (gains, one), k as f32, out));
        });
    }

    fn plain_square(&self, a: &Vec<PointRow>) -> f64 {
        let gains = &self.frame.gains;
        self.total(
            &mut [],
            &|rows, _| dispatch!(self.level, simd => plain_square(simd, &a[rows.clone()], &gains[rows])),
        )
    }

    fn plain_dot(&self, a: &mut Vec<PointRow>, k: f64, c: &Vec<PointRow>) -> f64 {
        let gains = &self.frame.gains;
        self.total(
            a,
            &|rows, a| dispatch!(self.level, simd => plain_dot(simd, a, &gains[rows.clone()], k as f32, &c[rows])),
        )
    }

    fn dot(&self, a: &Vec<PointRow>, b: &Vec<PointRow>) -> f64 {
        self.total(&mut [], &|rows, _| dispatch!(self.level, simd => dot_of(simd, &a[rows.clone()], &b[rows])))
    }

    fn sum(&self, a: &Vec<PointRow>, b: &Vec<PointRow>, k: f64, out: &mut Vec<PointRow>) {
        out.resize(a.len(), [[0.0; LANES]; 3]);
        self.each(out, |rows, out| {
            let (a, b) = (&a[rows.clone()], &b[rows]);
            dispatch!(self.level, simd => sum(simd, a, b, k as f32, out));
        });
    }

    fn add_dot(&self, a: &mut Vec<PointRow>, b: &Vec<PointRow>, k: f64, c: &Vec<PointRow>) -> f64 {
        self.total(a, &|rows, a| dispatch!(self.level, simd => add_dot(simd, a, &b[rows.clone()], k as f32, &c[rows])))
    }
}

impl RowEnergy<'_> {
    /// Runs `work` on fixed blocks of rows.
    fn each(&self, rows: &mut [PointRow], work: impl Fn(Range<usize>, &mut [PointRow]) + Sync) {
        let nothing = &mut vec![(); rows.len()][..];
        in_blocks(self.pool, (rows, BLOCK), (nothing, BLOCK), |block, rows, _| {
            work(block * BLOCK..block * BLOCK + rows.len(), rows);
        });
    }

    /// What `work` gives on fixed blocks of all rows, added up; it may write its block of `rows`, if there are any.
    fn total(&self, rows: &mut [PointRow], work: BlockSum<'_>) -> f64 {
        let on_threads = self.pool.is_some_and(|pool| pool.current_num_threads() > 1);
        total(0..self.springs.rest.len(), rows, on_threads, work)
    }
}

type BlockSum<'a> = &'a (dyn Fn(Range<usize>, &mut [PointRow]) -> f64 + Sync);

/// Halved again and again: the same sums on any number of threads.
fn total(range: Range<usize>, rows: &mut [PointRow], on_threads: bool, work: BlockSum<'_>) -> f64 {
    let blocks = range.len().div_ceil(BLOCK);
    if blocks <= 1 {
        return work(range, rows);
    }
    let half = blocks / 2 * BLOCK;
    let middle = range.start + half;
    let (left, right) = rows.split_at_mut(half.min(rows.len()));
    let mut first = || total(range.start..middle, left, on_threads, work);
    let mut second = || total(middle..range.end, right, on_threads, work);
    if on_threads {
        let (first, second) = rayon::join(first, second);
        first + second
    } else {
        first() + second()
    }
}

/// Directions and lengths of scale vectors, and the records that neighbours read.
#[inline(always)]
fn hang<S: Simd>(
    simd: S,
    points: &[PointRow],
    anchors: &[PointRow],
    rest: &[Lanes],
    hung: &mut [[Lanes; 4]],
    records: &mut [Record],
) {
    let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
    for (row, (hung, records)) in hung.iter_mut().zip(records.as_chunks_mut::<LANES>().0).enumerate() {
        for half in 0..2 {
            let p = load_half(simd, &points[row], half);
            let s = sub(p, load_half(simd, &anchors[row], half));
            let length = dot(s, s).sqrt();
            let is_long = length.simd_gt(zero);
            let inverse = is_long.select(one, zero) / is_long.select(length, one);
            let direction = scale(s, inverse);
            let rest = load_lanes(simd, &rest[row], half);
            store_lanes(direction[0], &mut hung[0], half);
            store_lanes(direction[1], &mut hung[1], half);
            store_lanes(direction[2], &mut hung[2], half);
            store_lanes(length, &mut hung[3], half);
            let first = transposed_blocks([p[0], p[1], p[2], direction[0]]);
            let second = transposed_blocks([direction[1], direction[2], length - rest, rest]);
            let (here, farther) = records[HALF * half..HALF * (half + 1)].split_at_mut(HALF / 2);
            for k in 0..HALF / 2 {
                let ((a, b), (c, d)) = (first[k].split(), second[k].split());
                a.combine(c).store_array(&mut here[k]);
                b.combine(d).store_array(&mut farther[k]);
            }
        }
    }
}

/// `2 sin θ` and `θ` of unit vectors whose difference has the square length `m2`. Polynomials in `m2` for `θ/(2 sin θ)`, below
/// 7e-8 up to [`NARROW`] and 9e-8 up to a right angle; what is beyond is measured from the other side.
#[inline(always)]
fn angle<S: Simd>(simd: S, m2: f32x8<S>) -> [f32x8<S>; 2] {
    if m2.simd_gt(f32x8::splat(simd, NARROW)).any_true() {
        return any_angle(simd, m2);
    }
    let sines = ((f32x8::splat(simd, 4.0) - m2) * m2).sqrt();
    let m4 = m2 * m2;
    let a = f32x8::splat(simd, 0.083_333_515).mul_add(m2, f32x8::splat(simd, 0.5));
    let b = f32x8::splat(simd, 3.595_363_6e-3).mul_add(m2, f32x8::splat(simd, 0.016_663_218));
    let c = f32x8::splat(simd, 2.803_595_3e-4).mul_add(m2, f32x8::splat(simd, 7.199_439e-4));
    [sines, c.mul_add(m4, b).mul_add(m4, a) * sines]
}

#[inline(always)]
fn any_angle<S: Simd>(simd: S, m2: f32x8<S>) -> [f32x8<S>; 2] {
    let is_wide = m2.simd_gt(f32x8::splat(simd, 2.0));
    let other = f32x8::splat(simd, 4.0) - m2;
    let sines = (other * m2).max(f32x8::splat(simd, LEAST)).sqrt();
    let u = m2.min(other);
    let (u2, u4) = (u * u, (u * u) * (u * u));
    let a = f32x8::splat(simd, 0.083_333_895).mul_add(u, f32x8::splat(simd, 0.5));
    let b = f32x8::splat(simd, 3.627_356_4e-3).mul_add(u, f32x8::splat(simd, 0.016_657_611));
    let c = f32x8::splat(simd, 4.841_505_7e-4).mul_add(u, f32x8::splat(simd, 6.202_72e-4));
    let d = f32x8::splat(simd, 2.053_853_2e-4).mul_add(u, f32x8::splat(simd, -2.746_159e-4));
    let e = f32x8::splat(simd, 1.109_117_3e-5).mul_add(u, f32x8::splat(simd, -6.534_642e-5));
    let p = e.mul_add(u4, d.mul_add(u2, c)).mul_add(u4, b.mul_add(u2, a));
    let theta = p * sines;
    [sines, is_wide.select(f32x8::splat(simd, std::f32::consts::PI) - theta, theta)]
}

/// Squares of lengths, from [`LEAST`].
#[inline(always)]
fn square<S: Simd>(simd: S, [x, y, z]: Half<S>) -> f32x8<S> {
    z.mul_add(z, y.mul_add(y, x.mul_add(x, f32x8::splat(simd, LEAST))))
}

/// The records of eight neighbours, turned in registers.
#[inline(always)]
fn gather<S: Simd>(simd: S, records: &[Record], to: &[u32; HALF]) -> [f32x8<S>; 8] {
    let none = f32x8::splat(simd, 0.0);
    let mut first = [none; 4];
    let mut second = [none; 4];
    for k in 0..HALF / 2 {
        let (a, b) = (&records[to[k] as usize], &records[to[k + HALF / 2] as usize]);
        let (a, b) = (f32x8::load_array_ref(simd, a), f32x8::load_array_ref(simd, b));
        let ((a0, a1), (b0, b1)) = (a.split(), b.split());
        first[k] = a0.combine(b0);
        second[k] = a1.combine(b1);
    }
    let ([a, b, c, d], [e, f, g, h]) = (transposed_blocks(first), transposed_blocks(second));
    [a, b, c, d, e, f, g, h]
}

/// Forces on some rows, and what they feel with twice their part of the energy.
#[inline(always)]
fn some_forces<S: Simd, const ALIKE: bool>(
    simd: S,
    springs: &SpringRows,
    frame: &RowFrame,
    first: usize,
    points: &[PointRow],
    forces: &mut [PointRow],
) -> Felt {
    let mut energy = 0.0;
    let [mut longest, mut largest] = [f32x8::splat(simd, 0.0); 2];
    for (local, forces) in forces.iter_mut().enumerate() {
        let row = first + local;
        let mut energies = f32x8::splat(simd, 0.0);
        for half in 0..2 {
            let mut force = [f32x8::splat(simd, 0.0); 3];
            energies += half_forces::<S, ALIKE>(simd, springs, frame, row, half, &points[row], &mut force);
            let square = dot(force, force);
            let gain = load_lanes(simd, &frame.gains[row], half);
            longest = longest.max(square * gain * gain);
            largest = largest.max(square);
            store_half(force, forces, half);
        }
        energy += lane_sum(energies);
    }
    let [longest, largest] = [longest, largest].map(|square| f64::from(lane_max(square)).sqrt());
    Felt { energy, largest_move: longest, largest_force: largest }
}

/// Forces on eight points; twice their parts of the energy.
#[inline(always)]
fn half_forces<S: Simd, const ALIKE: bool>(
    simd: S,
    springs: &SpringRows,
    frame: &RowFrame,
    row: usize,
    half: usize,
    points: &PointRow,
    force: &mut Half<S>,
) -> f32x8<S> {
    let (zero, one, a_half) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0), f32x8::splat(simd, 0.5));
    let p = load_half(simd, points, half);
    let [dx, dy, dz, length] = &frame.hung[row];
    let direction = [load_lanes(simd, dx, half), load_lanes(simd, dy, half), load_lanes(simd, dz, half)];
    let (length, rest) = (load_lanes(simd, length, half), load_lanes(simd, &springs.rest[row], half));
    let excess = length - rest;
    let mut across = [zero; 3];
    let mut pull = across;
    // Springs to neighbours are counted at both ends: `shared` is halved.
    let [mut bent, mut along, mut shared] = [zero; 3];
    let start = if row + half == 0 { 0 } else { springs.stops[2 * row + half - 1] as usize };
    let stop = springs.stops[2 * row + half] as usize;
    let stiff_rest = rest * f32x8::splat(simd, springs.alike[0]);
    for (index, spoke) in springs.spokes[start..stop].iter().enumerate() {
        let [px, py, pz, dx, dy, dz, their_excess, their_rest] = gather(simd, &frame.records, &spoke.to);
        let (torsion, surface, lengths) = if ALIKE {
            (stiff_rest * their_rest, f32x8::splat(simd, springs.alike[1]), f32x8::splat(simd, springs.alike[2]))
        } else {
            let [torsion, surface, lengths] = &springs.stiff[start + index];
            (
                f32x8::load_array_ref(simd, torsion),
                f32x8::load_array_ref(simd, surface),
                f32x8::load_array_ref(simd, lengths),
            )
        };
        let edge = sub([px, py, pz], p);
        let apart = sub([dx, dy, dz], direction);
        let m2 = square(simd, apart);
        let long = square(simd, edge).sqrt();
        let [sines, theta] = angle(simd, m2);
        // Both are divided by at once.
        let inverse = one / (long * sines);
        let slope = their_excess - excess;
        let risen = lengths * slope;
        along += risen;
        shared = risen.mul_add(slope, shared);
        let stretch = long - f32x8::load_array_ref(simd, &spoke.length);
        let stretched = surface * stretch;
        shared = stretched.mul_add(stretch, shared);
        pull = mul_add(edge, stretched * (inverse * sines), pull);
        let turn = theta - f32x8::load_array_ref(simd, &spoke.angle);
        let twisted = torsion * turn;
        shared = twisted.mul_add(turn, shared);
        let moment = twisted * (inverse * long);
        // ŝ_j − ŝ_i cos θ without the cancellation: ŝ_j − ŝ_i, and m²/2 of ŝ_i.
        across = mul_add(apart, moment, across);
        bent = m2.mul_add(moment, bent);
    }
    let absolute = load_lanes(simd, &springs.absolute[row], half);
    let far = absolute * excess;
    along -= far;
    let mut own = far * excess;
    let towards = load_half(simd, &frame.towards[row], half);
    let apart = sub(towards, direction);
    let m2 = square(simd, apart);
    let [sines, theta] = angle(simd, m2);
    let has_both = (dot(towards, towards) * dot(direction, direction)).simd_gt(a_half);
    let bone = has_both.select(load_lanes(simd, &springs.bone[row], half), zero);
    let turn = theta - load_lanes(simd, &springs.held[row], half);
    let reach = length.max(rest * f32x8::splat(simd, LEAST_LENGTH as f32)).max(f32x8::splat(simd, LEAST.sqrt()));
    let inverse = one / (sines * reach);
    let twisted = bone * turn;
    own = twisted.mul_add(turn, own);
    let moment = twisted * (inverse * reach);
    across = mul_add(apart, moment, across);
    bent = m2.mul_add(moment, bent);
    // The moments lack the two of `2 sin θ`.
    let lever = inverse * sines;
    let along = bent.mul_add(lever, along);
    let lever = lever + lever;
    *force = mul_add(direction, along, mul_add(across, lever, pull));
    if !frame.pull.is_empty() {
        let stiffness = load_lanes(simd, &frame.pull[row], half);
        let away = sub(load_half(simd, &frame.places[row], half), p);
        *force = mul_add(away, stiffness, *force);
        own = stiffness.mul_add(dot(away, away), own);
    }
    shared.mul_add(a_half, own)
}

#[inline(always)]
fn plain_step<S: Simd>(
    simd: S,
    points: &[PointRow],
    forces: &[PointRow],
    (gains, one): (&[Lanes], Option<f32>),
    k: f32,
    out: &mut [PointRow],
) {
    let k = f32x8::splat(simd, k);
    for (((p, f), gain), out) in points.iter().zip(forces).zip(gains).zip(out) {
        for half in 0..2 {
            let gain = match one {
                Some(gain) => f32x8::splat(simd, gain),
                None => load_lanes(simd, gain, half),
            };
            store_half(mul_add(load_half(simd, f, half), k * gain, load_half(simd, p, half)), out, half);
        }
    }
}

#[inline(always)]
fn plain_square<S: Simd>(simd: S, a: &[PointRow], gains: &[Lanes]) -> f64 {
    let mut sums = [f32x8::splat(simd, 0.0); 2];
    for (a, gain) in a.iter().zip(gains) {
        for half in 0..2 {
            let a = load_half(simd, a, half);
            sums[half] = dot(a, a).mul_add(load_lanes(simd, gain, half), sums[half]);
        }
    }
    lane_sum(sums[0]) + lane_sum(sums[1])
}

#[inline(always)]
fn plain_dot<S: Simd>(simd: S, a: &mut [PointRow], gains: &[Lanes], k: f32, c: &[PointRow]) -> f64 {
    let k = f32x8::splat(simd, k);
    let mut sums = [f32x8::splat(simd, 0.0); 2];
    for ((a, gain), c) in a.iter_mut().zip(gains).zip(c) {
        for half in 0..2 {
            let scaled = scale(load_half(simd, a, half), k * load_lanes(simd, gain, half));
            store_half(scaled, a, half);
            sums[half] += dot(scaled, load_half(simd, c, half));
        }
    }
    lane_sum(sums[0]) + lane_sum(sums[1])
}

#[inline(always)]
fn dot_of<S: Simd>(simd: S, a: &[PointRow], b: &[PointRow]) -> f64 {
    let mut sums = [f32x8::splat(simd, 0.0); 2];
    for (a, b) in a.iter().zip(b) {
        for half in 0..2 {
            sums[half] += dot(load_half(simd, a, half), load_half(simd, b, half));
        }
    }
    lane_sum(sums[0]) + lane_sum(sums[1])
}

#[inline(always)]
fn sum<S: Simd>(simd: S, a: &[PointRow], b: &[PointRow], k: f32, out: &mut [PointRow]) {
    let k = f32x8::splat(simd, k);
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        for half in 0..2 {
            store_half(mul_add(load_half(simd, b, half), k, load_half(simd, a, half)), out, half);
        }
    }
}

#[inline(always)]
fn add_dot<S: Simd>(simd: S, a: &mut [PointRow], b: &[PointRow], k: f32, c: &[PointRow]) -> f64 {
    let k = f32x8::splat(simd, k);
    let mut sums = [f32x8::splat(simd, 0.0); 2];
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        for half in 0..2 {
            let added = mul_add(load_half(simd, b, half), k, load_half(simd, a, half));
            store_half(added, a, half);
            sums[half] += dot(added, load_half(simd, c, half));
        }
    }
    lane_sum(sums[0]) + lane_sum(sums[1])
}
