//! The energy of [`super::springs`] in rows of 16 points and single precision: what frames are solved by.
//!
//! Every point computes its own half of every spring from a record of each neighbour, so nothing is scattered and rows
//! do not depend on each other; records of the last evaluation are read while the next points are made. Points are
//! ordered breadth-first along the surface, so that a row's neighbours lie in few lines of the cache. Lengths are in
//! extents of the skin, and angles come from half angles, `tan(θ/2) = m/√(4 − m²)` with `m = ‖ŝ_i − ŝ_j‖`, which keeps
//! small ones precise.
//!
//! Oracle: forces and energy of the f64 springs to rounding, and the same equilibrium.

use super::descent::{DescentScratch, Energy, Scheme, Solved, Stop, descend};
use super::springs::{BoneSpring, LEAST_LENGTH, SAFETY, SpringFrame, Springs};
use crate::simd::{LANES, Lanes, Level, PointRow, Simd, V3, dispatch, f32x4, f32x16, load, prelude::*, splat};
use glam::DVec3;

/// Rows whose products are summed in single precision before they are added up in double.
const BLOCK: usize = 64;

/// Springs of one row's lanes to one neighbour each.
#[derive(Clone, Debug)]
struct Spoke {
    to: [u32; LANES],
    length: Lanes,
    angle: Lanes,
    torsion: Lanes,
    surface: Lanes,
    lengths: Lanes,
}

/// What neighbours read of a point: x, y, z and the first coordinate of its direction; the other two, the excess of its
/// length, nothing.
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
    /// Per row, where its spokes stop.
    stops: Vec<u32>,
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
    directions: Vec<PointRow>,
    lengths: Vec<Lanes>,
    /// Per slot: position, direction, excess of length.
    records: Vec<Record>,
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
        let (mut spokes, mut stops) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let of = |lane: usize| order.get(row * LANES + lane).map_or(&[][..], |&point| springs.of(point as usize));
            for k in 0..(0..LANES).map(|lane| of(lane).len()).max().unwrap_or(0) {
                let mut spoke = Spoke {
                    // A lane with fewer neighbours is its own, without stiffness.
                    to: std::array::from_fn(|lane| (row * LANES + lane).min(order.len() - 1) as u32),
                    length: [0.0; LANES],
                    angle: [0.0; LANES],
                    torsion: [0.0; LANES],
                    surface: [0.0; LANES],
                    lengths: [0.0; LANES],
                };
                for lane in 0..LANES {
                    let Some(&(edge, second)) = of(lane).get(k) else { continue };
                    let edge = &springs.edges[edge as usize];
                    spoke.to[lane] = slot_of[edge.ends[usize::from(!second)] as usize];
                    spoke.length[lane] = (edge.length / unit) as f32;
                    spoke.angle[lane] = edge.angle as f32;
                    spoke.torsion[lane] = (edge.torsion / (unit * unit)) as f32;
                    spoke.surface[lane] = edge.surface as f32;
                    spoke.lengths[lane] = edge.lengths as f32;
                }
                spokes.push(spoke);
            }
            stops.push(spokes.len() as u32);
        }
        let all = |value: &dyn Fn(usize) -> f64| (0..rows).map(|row| lanes(row, value)).collect::<Vec<Lanes>>();
        Self {
            rest: all(&|i| springs.rest[i] / unit),
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
        level: Level,
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
        let solved = descend(&mut RowEnergy { springs: self, frame: row_frame, level }, rows, scheme, &stop, descent);
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
        rows.resize(self.stops.len(), [[0.0; LANES]; 3]);
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
            out.pull.resize(self.stops.len(), [0.0; LANES]);
            for (slot, &point) in self.order.iter().enumerate() {
                out.pull[slot / LANES][slot % LANES] = pull(point as usize) as f32;
                out.bounds[slot / LANES][slot % LANES] += edit(point as usize).0 as f32;
            }
        }
        for bound in out.bounds.iter_mut().flatten() {
            *bound = bound.max(f32::MIN_POSITIVE);
        }
        out.bound = out.bounds.iter().flatten().fold(0.0, |a: f64, &b| a.max(f64::from(b)));
        out.directions.resize(self.stops.len(), [[0.0; LANES]; 3]);
        out.lengths.resize(self.stops.len(), [0.0; LANES]);
        out.records.resize(self.stops.len() * LANES, [[0.0; 4]; 2]);
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

struct RowEnergy<'a> {
    springs: &'a SpringRows,
    frame: &'a mut RowFrame,
    level: Level,
}

impl Energy for RowEnergy<'_> {
    type Vectors = Vec<PointRow>;
    const ROUNDING: f64 = 1e-6;

    fn forces(&mut self, points: &Vec<PointRow>, forces: &mut Vec<PointRow>) -> f64 {
        forces.resize(points.len(), [[0.0; LANES]; 3]);
        let (springs, frame) = (self.springs, &mut *self.frame);
        dispatch!(self.level, simd => hang(simd, springs, frame, points));
        dispatch!(self.level, simd => all_forces(simd, springs, frame, points, forces))
    }

    fn largest(&self, forces: &Vec<PointRow>) -> (f64, f64) {
        dispatch!(self.level, simd => largest(simd, self.frame, forces))
    }

    fn plain(&self, forces: &Vec<PointRow>, fixed: bool, out: &mut Vec<PointRow>) {
        out.resize(forces.len(), [[0.0; LANES]; 3]);
        let one = fixed.then(|| self.frame.bound.max(super::springs::FIXED_STEPS) as f32);
        dispatch!(self.level, simd => plain(simd, &self.frame.bounds, one, forces, out));
    }

    fn dot(&self, a: &Vec<PointRow>, b: &Vec<PointRow>) -> f64 {
        dispatch!(self.level, simd => dot(simd, a, b))
    }

    fn sum(&self, a: &Vec<PointRow>, b: &Vec<PointRow>, k: f64, out: &mut Vec<PointRow>) {
        out.resize(a.len(), [[0.0; LANES]; 3]);
        dispatch!(self.level, simd => sum(simd, a, b, k as f32, out));
    }

    fn add(&self, a: &mut Vec<PointRow>, b: &Vec<PointRow>, k: f64) {
        dispatch!(self.level, simd => add(simd, a, b, k as f32));
    }
}

/// Directions and lengths of scale vectors, and the records that neighbours read.
#[inline(always)]
fn hang<S: Simd>(simd: S, springs: &SpringRows, frame: &mut RowFrame, points: &[PointRow]) {
    let (zero, one) = (splat(simd, 0.0), splat(simd, 1.0));
    for row in 0..points.len() {
        let p = V3::load(simd, &points[row]);
        let s = p.sub(V3::load(simd, &frame.anchors[row]));
        let length = s.length();
        let is_long = length.simd_gt(zero);
        let inverse = is_long.select(one, zero) / is_long.select(length, one);
        let direction = s.scale(inverse);
        direction.store(&mut frame.directions[row]);
        length.store_array(&mut frame.lengths[row]);
        let excess = (length - load(simd, &springs.rest[row])).to_array();
        let [dx, dy, dz] = &frame.directions[row];
        let [px, py, pz] = &points[row];
        let records = &mut frame.records[row * LANES..(row + 1) * LANES];
        for lane in 0..LANES {
            records[lane] = [[px[lane], py[lane], pz[lane], dx[lane]], [dy[lane], dz[lane], excess[lane], 0.0]];
        }
    }
}

/// `θ` between unit vectors whose difference has the square length `m2`, and its sine.
#[inline(always)]
fn angle<S: Simd>(simd: S, m2: f32x16<S>) -> (f32x16<S>, f32x16<S>) {
    let (zero, one) = (splat(simd, 0.0), splat(simd, 1.0));
    let q2 = (splat(simd, 4.0) - m2).max(zero);
    let (m, q) = (m2.sqrt(), q2.sqrt());
    let steep = m.simd_gt(q);
    let bottom = steep.select(m, q);
    let x = steep.select(q, m) / bottom.simd_gt(zero).select(bottom, one);
    let x2 = x * x;
    // Minimax for atan(x)/x on [0, 1], below 2e-7.
    let p = splat(simd, 0.002_823_639);
    let p = p.mul_add(x2, splat(simd, -0.015_956_903));
    let p = p.mul_add(x2, splat(simd, 0.042_504_99));
    let p = p.mul_add(x2, splat(simd, -0.074_890_09));
    let p = p.mul_add(x2, splat(simd, 0.106_347_93));
    let p = p.mul_add(x2, splat(simd, -0.142_027_36));
    let p = p.mul_add(x2, splat(simd, 0.199_926_96));
    let p = p.mul_add(x2, splat(simd, -0.333_331_02));
    let half = (p * x2).mul_add(x, x);
    let half = steep.select(splat(simd, std::f32::consts::FRAC_PI_2) - half, half);
    (half + half, m * q * splat(simd, 0.5))
}

/// The records of sixteen neighbours, turned four by four in registers.
#[inline(always)]
fn gather<S: Simd>(simd: S, records: &[Record], to: &[u32; LANES]) -> [f32x16<S>; 7] {
    let none = f32x4::splat(simd, 0.0);
    let mut columns = [[none; 4]; 8];
    for (four, to) in to.as_chunks::<4>().0.iter().enumerate() {
        let [a, b, c, d] =
            [&records[to[0] as usize], &records[to[1] as usize], &records[to[2] as usize], &records[to[3] as usize]];
        for half in 0..2 {
            let [a, b, c, d] = [
                f32x4::load_array_ref(simd, &a[half]),
                f32x4::load_array_ref(simd, &b[half]),
                f32x4::load_array_ref(simd, &c[half]),
                f32x4::load_array_ref(simd, &d[half]),
            ];
            let ((ac0, ac1), (bd0, bd1)) = (a.interleave(c), b.interleave(d));
            let ((x, y), (z, w)) = (ac0.interleave(bd0), ac1.interleave(bd1));
            columns[4 * half][four] = x;
            columns[4 * half + 1][four] = y;
            columns[4 * half + 2][four] = z;
            columns[4 * half + 3][four] = w;
        }
    }
    let mut out = [splat(simd, 0.0); 7];
    for (out, [a, b, c, d]) in out.iter_mut().zip(columns) {
        *out = a.combine(b).combine(c.combine(d));
    }
    out
}

#[inline(always)]
fn all_forces<S: Simd>(
    simd: S,
    springs: &SpringRows,
    frame: &RowFrame,
    points: &[PointRow],
    forces: &mut [PointRow],
) -> f64 {
    let mut energy = 0.0;
    let mut first = 0;
    for row in 0..points.len() {
        let last = springs.stops[row] as usize;
        energy += row_forces(simd, springs, frame, row, first..last, &points[row], &mut forces[row]);
        first = last;
    }
    0.5 * energy
}

/// Forces on one row; twice its part of the energy.
#[inline(always)]
fn row_forces<S: Simd>(
    simd: S,
    springs: &SpringRows,
    frame: &RowFrame,
    row: usize,
    spokes: std::ops::Range<usize>,
    points: &PointRow,
    forces: &mut PointRow,
) -> f64 {
    let (zero, one, half) = (splat(simd, 0.0), splat(simd, 1.0), splat(simd, 0.5));
    let p = V3::load(simd, points);
    let direction = V3::load(simd, &frame.directions[row]);
    let (length, rest) = (load(simd, &frame.lengths[row]), load(simd, &springs.rest[row]));
    let excess = length - rest;
    let mut across = V3 { x: zero, y: zero, z: zero };
    let mut pull = across;
    let mut along = zero;
    // Springs to neighbours are counted at both ends.
    let mut shared = zero;
    for spoke in &springs.spokes[spokes] {
        let [px, py, pz, dx, dy, dz, their_excess] = gather(simd, &frame.records, &spoke.to);
        let edge = V3 { x: px, y: py, z: pz }.sub(p);
        let long = edge.length();
        let stretch = long - load(simd, &spoke.length);
        let surface = load(simd, &spoke.surface);
        let is_long = long.simd_gt(zero);
        let tension = is_long.select(surface * stretch, zero) / is_long.select(long, one);
        pull = edge.mul_add(tension, pull);
        let apart = V3 { x: dx, y: dy, z: dz }.sub(direction);
        let m2 = apart.dot(apart);
        let (theta, sine) = angle(simd, m2);
        let turn = theta - load(simd, &spoke.angle);
        let torsion = load(simd, &spoke.torsion);
        let turned = sine.simd_gt(zero);
        let moment = turned.select(torsion * turn, zero) / turned.select(sine, one);
        // ŝ_j − ŝ_i cos θ without the cancellation.
        across = direction.mul_add(m2 * half, apart).mul_add(moment, across);
        let slope = their_excess - excess;
        let lengths = load(simd, &spoke.lengths);
        along = lengths.mul_add(slope, along);
        shared = (torsion * turn).mul_add(turn, shared);
        shared = (lengths * slope).mul_add(slope, shared);
        shared = (surface * stretch).mul_add(stretch, shared);
    }
    let absolute = load(simd, &springs.absolute[row]);
    along -= absolute * excess;
    let mut own = absolute * excess * excess;
    let towards = V3::load(simd, &frame.towards[row]);
    let apart = towards.sub(direction);
    let m2 = apart.dot(apart);
    let (theta, sine) = angle(simd, m2);
    let has_both = (towards.dot(towards) * direction.dot(direction)).simd_gt(half);
    let bone = has_both.select(load(simd, &springs.bone[row]), zero);
    let turn = theta - load(simd, &springs.held[row]);
    let turned = sine.simd_gt(zero);
    let moment = turned.select(bone * turn, zero) / turned.select(sine, one);
    across = direction.mul_add(m2 * half, apart).mul_add(moment, across);
    own = (bone * turn).mul_add(turn, own);
    let least = rest * splat(simd, LEAST_LENGTH as f32);
    let reach = length.max(least);
    let hangs = reach.simd_gt(zero);
    let lever = hangs.select(one, zero) / hangs.select(reach, one);
    let mut force = direction.mul_add(along, across.mul_add(lever, pull));
    if !frame.pull.is_empty() {
        let stiffness = load(simd, &frame.pull[row]);
        let away = V3::load(simd, &frame.places[row]).sub(p);
        force = away.mul_add(stiffness, force);
        own = stiffness.mul_add(away.dot(away), own);
    }
    // Slots at the end that repeat the last point have neither springs nor weight.
    let used = springs.points - (row * LANES).min(springs.points);
    let mut energy = 0.0;
    for &lane in &shared.mul_add(half, own).to_array()[..used.min(LANES)] {
        energy += f64::from(lane);
    }
    force.store(forces);
    for axis in forces {
        axis[used.min(LANES)..].fill(0.0);
    }
    energy
}

#[inline(always)]
fn largest<S: Simd>(simd: S, frame: &RowFrame, forces: &[PointRow]) -> (f64, f64) {
    let (mut step, mut force) = (splat(simd, 0.0), splat(simd, 0.0));
    for (row, bound) in forces.iter().zip(&frame.bounds) {
        let f = V3::load(simd, row).length();
        force = force.max(f);
        step = step.max(f / load(simd, bound));
    }
    let most = |lanes: Lanes| f64::from(lanes.into_iter().fold(0.0, f32::max));
    (SAFETY * most(step.to_array()), most(force.to_array()))
}

#[inline(always)]
fn plain<S: Simd>(simd: S, bounds: &[Lanes], one: Option<f32>, forces: &[PointRow], out: &mut [PointRow]) {
    let safety = splat(simd, SAFETY as f32);
    for ((row, bound), out) in forces.iter().zip(bounds).zip(out) {
        let bound = match one {
            Some(bound) => splat(simd, bound),
            None => load(simd, bound),
        };
        V3::load(simd, row).scale(safety / bound).store(out);
    }
}

#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[PointRow], b: &[PointRow]) -> f64 {
    let mut total = 0.0;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let mut sum = splat(simd, 0.0);
        for (a, b) in a.iter().zip(b) {
            sum += V3::load(simd, a).dot(V3::load(simd, b));
        }
        for lane in sum.to_array() {
            total += f64::from(lane);
        }
    }
    total
}

#[inline(always)]
fn sum<S: Simd>(simd: S, a: &[PointRow], b: &[PointRow], k: f32, out: &mut [PointRow]) {
    let k = splat(simd, k);
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        V3::load(simd, b).mul_add(k, V3::load(simd, a)).store(out);
    }
}

#[inline(always)]
fn add<S: Simd>(simd: S, a: &mut [PointRow], b: &[PointRow], k: f32) {
    let k = splat(simd, k);
    for (a, b) in a.iter_mut().zip(b) {
        V3::load(simd, b).mul_add(k, V3::load(simd, a)).store(a);
    }
}
