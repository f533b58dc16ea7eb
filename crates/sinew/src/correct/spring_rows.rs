//! The energy of [`super::springs`] in rows of 16 points and single precision: what frames are solved by.
//!
//! Every point computes its own half of every spring from a record of each neighbour, so nothing is scattered and rows
//! do not depend on each other; records of the last evaluation are read while the next points are made. Points are
//! ordered breadth-first along the surface, so that a row's neighbours lie in few lines of the cache. Lengths are in
//! extents of the skin, and angles come from `m = ‖ŝ_i − ŝ_j‖`: `2 sin θ = m√(4 − m²)`, and `θ/sin θ` is smooth in m², which
//! keeps small ones precise and costs one root. Where all springs of a skin are alike, what they share is not read.
//!
//! Oracle: forces and energy of the f64 springs to rounding, and the same equilibrium.

use super::descent::{DescentScratch, Energy, Scheme, Solved, Stop, descend};
use super::springs::{BoneSpring, Edge, LEAST_LENGTH, SAFETY, SpringFrame, Springs};
use crate::half_rows::{
    HALF, Half, deinterleaved, dot, interleaved, lane_max, lane_sum, load_half, load_lanes, mul_add, scale, store_half,
    store_lanes, sub,
};
use crate::rings::in_blocks;
use crate::simd::{LANES, Lanes, Level, PointRow, Simd, dispatch, f32x4, prelude::*};
use fearless_simd::f32x8;
use glam::DVec3;

/// Rows that a thread takes at a time, and whose products are summed in single precision before they are added up in
/// double.
const BLOCK: usize = 64;
/// Lengths in extents and sines below it are none.
const NONE: f32 = 1e-18;

/// Springs of eight points to one neighbour each.
#[derive(Clone, Debug)]
struct Spoke {
    to: [u32; HALF],
    length: [f32; HALF],
    angle: [f32; HALF],
}

/// Their stiffness: torsion, surface, lengths.
type Stiff = [[f32; HALF]; 3];

/// What neighbours read of a point: x, y, z and the first coordinate of its direction; the other two, the excess of its
/// length, its length at rest.
type Record = [[f32; 4]; 2];

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
    /// Bounds of stiffness, edits among them.
    bounds: Vec<Lanes>,
    /// The largest of them.
    bound: f64,
    /// Directions and lengths of scale vectors.
    hung: Vec<[Lanes; 4]>,
    /// Per slot: position, direction, excess of length, length at rest.
    records: Vec<Record>,
    /// Energy of each block.
    energies: Vec<f64>,
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
        out.bounds.clone_from(&self.stiffness);
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
                out.bounds[slot / LANES][slot % LANES] += edit(point as usize).0 as f32;
            }
        }
        for bound in out.bounds.iter_mut().flatten() {
            *bound = bound.max(f32::MIN_POSITIVE);
        }
        out.bound = out.bounds.iter().flatten().fold(0.0, |a: f64, &b| a.max(f64::from(b)));
        out.hung.resize(self.rest.len(), [[0.0; LANES]; 4]);
        out.records.resize(self.rest.len() * LANES, [[0.0; 4]; 2]);
        out.energies.resize(self.rest.len().div_ceil(BLOCK), 0.0);
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

/// Stiffness that all springs of a skin share: torsion over both lengths at rest, surface, lengths.
struct Alike([f64; 3]);

impl Alike {
    fn of(springs: &Springs) -> Option<Self> {
        let hangs = |edge: &Edge| edge.ends.iter().all(|&end| springs.rest[end as usize] > 0.0);
        let of = |edge: &Edge| {
            let lengths: f64 = edge.ends.iter().map(|&end| springs.rest[end as usize]).product();
            [edge.torsion / lengths, edge.surface, edge.lengths]
        };
        let first = springs.edges.iter().find(|edge| hangs(edge)).map(of)?;
        let same = |edge: &Edge| {
            let alike = |k: usize| (of(edge)[k] - first[k]).abs() <= 1e-12 * first[k].abs();
            alike(1) && (!hangs(edge) || alike(0) && alike(2))
        };
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

    fn forces(&mut self, points: &Vec<PointRow>, forces: &mut Vec<PointRow>) -> f64 {
        forces.resize(points.len(), [[0.0; LANES]; 3]);
        let (springs, level) = (self.springs, self.level);
        let RowFrame { anchors, hung, records, .. } = &mut *self.frame;
        in_blocks(self.pool, (hung, BLOCK), (records, BLOCK * LANES), |block, hung, records| {
            let rows = block * BLOCK..block * BLOCK + hung.len();
            let (points, anchors, rest) = (&points[rows.clone()], &anchors[rows.clone()], &springs.rest[rows]);
            dispatch!(level, simd => hang(simd, points, anchors, rest, hung, records));
        });
        let mut energies = std::mem::take(&mut self.frame.energies);
        let frame = &*self.frame;
        in_blocks(self.pool, (forces, BLOCK), (&mut energies, 1), |block, forces, energy| {
            energy[0] = dispatch!(level, simd => some_forces(simd, springs, frame, block * BLOCK, points, forces));
        });
        let energy = energies.iter().sum::<f64>();
        self.frame.energies = energies;
        0.5 * energy
    }

    fn largest(&self, forces: &Vec<PointRow>) -> (f64, f64) {
        dispatch!(self.level, simd => largest(simd, self.frame, forces))
    }

    fn plain(&self, forces: &Vec<PointRow>, fixed: bool, out: &mut Vec<PointRow>) {
        out.resize(forces.len(), [[0.0; LANES]; 3]);
        let one = fixed.then(|| self.frame.bound.max(super::springs::FIXED_STEPS) as f32);
        self.each(out, |block, out| {
            let (bounds, forces) = (&self.frame.bounds[block * BLOCK..], &forces[block * BLOCK..]);
            dispatch!(self.level, simd => plain(simd, bounds, one, forces, out));
        });
    }

    fn dot(&self, a: &Vec<PointRow>, b: &Vec<PointRow>) -> f64 {
        match self.pool {
            Some(pool) if pool.current_num_threads() > 1 => pool.install(|| product(self.level, true, a, b)),
            _ => product(self.level, false, a, b),
        }
    }

    fn sum(&self, a: &Vec<PointRow>, b: &Vec<PointRow>, k: f64, out: &mut Vec<PointRow>) {
        out.resize(a.len(), [[0.0; LANES]; 3]);
        self.each(out, |block, out| {
            let (a, b) = (&a[block * BLOCK..], &b[block * BLOCK..]);
            dispatch!(self.level, simd => sum(simd, a, b, k as f32, out));
        });
    }

    fn add(&self, a: &mut Vec<PointRow>, b: &Vec<PointRow>, k: f64) {
        self.each(a, |block, a| {
            let b = &b[block * BLOCK..];
            dispatch!(self.level, simd => add(simd, a, b, k as f32));
        });
    }
}

impl RowEnergy<'_> {
    /// Runs `work` on fixed blocks of rows.
    fn each(&self, rows: &mut [PointRow], work: impl Fn(usize, &mut [PointRow]) + Sync) {
        let nothing = &mut vec![(); rows.len()][..];
        in_blocks(self.pool, (rows, BLOCK), (nothing, BLOCK), |block, rows, _| work(block, rows));
    }
}

/// The scalar product of two vectors, halved again and again: the same sums on any number of threads.
fn product(level: Level, on_threads: bool, a: &[PointRow], b: &[PointRow]) -> f64 {
    let blocks = a.len().div_ceil(BLOCK);
    if blocks <= 1 {
        return dispatch!(level, simd => dot_of(simd, a, b));
    }
    let ((a0, a1), (b0, b1)) = (a.split_at(blocks / 2 * BLOCK), b.split_at(blocks / 2 * BLOCK));
    let (first, second) = (|| product(level, on_threads, a0, b0), || product(level, on_threads, a1, b1));
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
            let first = interleaved(p[0], p[1], p[2], direction[0]);
            let second = interleaved(direction[1], direction[2], length - rest, rest);
            let records = records[HALF * half..HALF * (half + 1)].as_chunks_mut::<2>().0;
            for (two, (first, second)) in records.iter_mut().zip(first.into_iter().zip(second)) {
                let ((a, b), (c, d)) = (first.split(), second.split());
                a.store_array(&mut two[0][0]);
                b.store_array(&mut two[1][0]);
                c.store_array(&mut two[0][1]);
                d.store_array(&mut two[1][1]);
            }
        }
    }
}

/// `θ` between unit vectors whose difference has the square length `m2`, from the double of its sine. Polynomial in `m2` for
/// `θ/sin θ` up to a right angle, below 9e-8; what is beyond is measured from the other side.
#[inline(always)]
fn angle<S: Simd>(simd: S, m2: f32x8<S>, two_sines: f32x8<S>) -> f32x8<S> {
    let is_wide = m2.simd_gt(f32x8::splat(simd, 2.0));
    let u = m2.min(f32x8::splat(simd, 4.0) - m2);
    let p = f32x8::splat(simd, 1.655_856_4e-5);
    let p = p.mul_add(u, f32x8::splat(simd, -8.141_78e-5));
    let p = p.mul_add(u, f32x8::splat(simd, 2.316_806_6e-4));
    let p = p.mul_add(u, f32x8::splat(simd, -2.002_274_1e-4));
    let p = p.mul_add(u, f32x8::splat(simd, 5.748_674e-4));
    let p = p.mul_add(u, f32x8::splat(simd, 1.498_466_7e-3));
    let p = p.mul_add(u, f32x8::splat(simd, 7.161_054e-3));
    let p = p.mul_add(u, f32x8::splat(simd, 0.033_331_912));
    let p = p.mul_add(u, f32x8::splat(simd, 0.166_666_69));
    let p = p.mul_add(u, f32x8::splat(simd, 1.0));
    let theta = p * two_sines * f32x8::splat(simd, 0.5);
    is_wide.select(f32x8::splat(simd, std::f32::consts::PI) - theta, theta)
}

/// Twice the sine of an angle as in [`angle`].
#[inline(always)]
fn two_sines<S: Simd>(simd: S, m2: f32x8<S>) -> f32x8<S> {
    ((f32x8::splat(simd, 4.0) - m2) * m2).max(f32x8::splat(simd, 0.0)).sqrt()
}

/// The records of eight neighbours, turned in registers.
#[inline(always)]
fn gather<S: Simd>(simd: S, records: &[Record], to: &[u32; HALF]) -> [f32x8<S>; 8] {
    let none = f32x8::splat(simd, 0.0);
    let mut first = [none; 4];
    let mut second = [none; 4];
    for (k, &[a, b]) in to.as_chunks::<2>().0.iter().enumerate() {
        let (a, b) = (&records[a as usize], &records[b as usize]);
        first[k] = f32x4::load_array_ref(simd, &a[0]).combine(f32x4::load_array_ref(simd, &b[0]));
        second[k] = f32x4::load_array_ref(simd, &a[1]).combine(f32x4::load_array_ref(simd, &b[1]));
    }
    let ([a, b, c, d], [e, f, g, h]) = (deinterleaved(first), deinterleaved(second));
    [a, b, c, d, e, f, g, h]
}

/// Forces on some rows; twice their part of the energy.
#[inline(always)]
fn some_forces<S: Simd>(
    simd: S,
    springs: &SpringRows,
    frame: &RowFrame,
    first: usize,
    points: &[PointRow],
    forces: &mut [PointRow],
) -> f64 {
    let mut energy = 0.0;
    for (local, forces) in forces.iter_mut().enumerate() {
        let row = first + local;
        let [mut force, mut other] = [[f32x8::splat(simd, 0.0); 3]; 2];
        let energies = half_forces(simd, springs, frame, row, 0, &points[row], &mut force)
            + half_forces(simd, springs, frame, row, 1, &points[row], &mut other);
        energy += lane_sum(energies);
        store_half(force, forces, 0);
        store_half(other, forces, 1);
        let used = springs.points - (row * LANES).min(springs.points);
        if used < LANES {
            for axis in forces {
                axis[used..].fill(0.0);
            }
        }
    }
    energy
}

/// Forces on eight points; twice their parts of the energy.
#[inline(always)]
fn half_forces<S: Simd>(
    simd: S,
    springs: &SpringRows,
    frame: &RowFrame,
    row: usize,
    half: usize,
    points: &PointRow,
    force: &mut Half<S>,
) -> f32x8<S> {
    let (zero, one, a_half) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0), f32x8::splat(simd, 0.5));
    let none = f32x8::splat(simd, NONE);
    let p = load_half(simd, points, half);
    let [dx, dy, dz, length] = &frame.hung[row];
    let direction = [load_lanes(simd, dx, half), load_lanes(simd, dy, half), load_lanes(simd, dz, half)];
    let (length, rest) = (load_lanes(simd, length, half), load_lanes(simd, &springs.rest[row], half));
    let excess = length - rest;
    let mut across = [zero; 3];
    let mut pull = across;
    let mut along = zero;
    // Springs to neighbours are counted at both ends.
    let mut shared = zero;
    let start = if row + half == 0 { 0 } else { springs.stops[2 * row + half - 1] as usize };
    let stop = springs.stops[2 * row + half] as usize;
    for (index, spoke) in springs.spokes[start..stop].iter().enumerate() {
        let [px, py, pz, dx, dy, dz, their_excess, their_rest] = gather(simd, &frame.records, &spoke.to);
        let (torsion, surface, lengths) = match springs.stiff.get(start + index) {
            Some([torsion, surface, lengths]) => (
                f32x8::load_array_ref(simd, torsion),
                f32x8::load_array_ref(simd, surface),
                f32x8::load_array_ref(simd, lengths),
            ),
            None => {
                let both = rest * their_rest;
                let lengths = both.simd_gt(zero).select(f32x8::splat(simd, springs.alike[2]), zero);
                (both * f32x8::splat(simd, springs.alike[0]), f32x8::splat(simd, springs.alike[1]), lengths)
            }
        };
        let edge = sub([px, py, pz], p);
        let apart = sub([dx, dy, dz], direction);
        let m2 = dot(apart, apart);
        let (long, sines) = (dot(edge, edge).sqrt(), two_sines(simd, m2));
        // Both are divided by at once.
        let (is_long, turned) = (long.simd_gt(none), sines.simd_gt(none));
        let (safe_long, safe_sines) = (is_long.select(long, one), turned.select(sines, one));
        let inverse = one / (safe_long * safe_sines);
        let stretch = long - f32x8::load_array_ref(simd, &spoke.length);
        let tension = is_long.select(surface * stretch, zero) * (inverse * safe_sines);
        pull = mul_add(edge, tension, pull);
        let turn = angle(simd, m2, sines) - f32x8::load_array_ref(simd, &spoke.angle);
        let moment = turned.select(torsion * turn, zero) * (inverse * safe_long);
        let moment = moment + moment;
        // ŝ_j − ŝ_i cos θ without the cancellation.
        across = mul_add(mul_add(direction, m2 * a_half, apart), moment, across);
        let slope = their_excess - excess;
        along = lengths.mul_add(slope, along);
        shared = (torsion * turn).mul_add(turn, shared);
        shared = (lengths * slope).mul_add(slope, shared);
        shared = (surface * stretch).mul_add(stretch, shared);
    }
    let absolute = load_lanes(simd, &springs.absolute[row], half);
    along -= absolute * excess;
    let mut own = absolute * excess * excess;
    let towards = load_half(simd, &frame.towards[row], half);
    let apart = sub(towards, direction);
    let m2 = dot(apart, apart);
    let sines = two_sines(simd, m2);
    let has_both = (dot(towards, towards) * dot(direction, direction)).simd_gt(a_half);
    let bone = has_both.select(load_lanes(simd, &springs.bone[row], half), zero);
    let turn = angle(simd, m2, sines) - load_lanes(simd, &springs.held[row], half);
    let turned = sines.simd_gt(none);
    let reach = length.max(rest * f32x8::splat(simd, LEAST_LENGTH as f32));
    let hangs = reach.simd_gt(none);
    let (safe_sines, safe_reach) = (turned.select(sines, one), hangs.select(reach, one));
    let inverse = one / (safe_sines * safe_reach);
    let moment = turned.select(bone * turn, zero) * (inverse * safe_reach);
    across = mul_add(mul_add(direction, m2 * a_half, apart), moment + moment, across);
    own = (bone * turn).mul_add(turn, own);
    let lever = hangs.select(inverse * safe_sines, zero);
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
fn largest<S: Simd>(simd: S, frame: &RowFrame, forces: &[PointRow]) -> (f64, f64) {
    let (mut step, mut force) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 0.0));
    for (row, bound) in forces.iter().zip(&frame.bounds) {
        for half in 0..2 {
            let f = load_half(simd, row, half);
            let f = dot(f, f).sqrt();
            force = force.max(f);
            step = step.max(f / load_lanes(simd, bound, half));
        }
    }
    (SAFETY * f64::from(lane_max(step)), f64::from(lane_max(force)))
}

#[inline(always)]
fn plain<S: Simd>(simd: S, bounds: &[Lanes], one: Option<f32>, forces: &[PointRow], out: &mut [PointRow]) {
    let safety = f32x8::splat(simd, SAFETY as f32);
    for ((row, bound), out) in forces.iter().zip(bounds).zip(out) {
        for half in 0..2 {
            let bound = match one {
                Some(bound) => f32x8::splat(simd, bound),
                None => load_lanes(simd, bound, half),
            };
            store_half(scale(load_half(simd, row, half), safety / bound), out, half);
        }
    }
}

#[inline(always)]
fn dot_of<S: Simd>(simd: S, a: &[PointRow], b: &[PointRow]) -> f64 {
    let [mut first, mut second] = [f32x8::splat(simd, 0.0); 2];
    for (a, b) in a.iter().zip(b) {
        first += dot(load_half(simd, a, 0), load_half(simd, b, 0));
        second += dot(load_half(simd, a, 1), load_half(simd, b, 1));
    }
    lane_sum(first) + lane_sum(second)
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
fn add<S: Simd>(simd: S, a: &mut [PointRow], b: &[PointRow], k: f32) {
    let k = f32x8::splat(simd, k);
    for (a, b) in a.iter_mut().zip(b) {
        for half in 0..2 {
            store_half(mul_add(load_half(simd, b, half), k, load_half(simd, a, half)), a, half);
        }
    }
}
