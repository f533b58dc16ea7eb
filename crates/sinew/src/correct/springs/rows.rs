//! The energy of [`super::model`] in rows of 16 points and single precision: what frames are solved by.
//!
//! Every point computes its own half of every spring from a record of each neighbour, so nothing is scattered and rows
//! do not depend on each other; records of the last evaluation are read while the next points are made. Points are
//! ordered breadth-first along the surface, so that a row's neighbours lie in few lines of the cache. Lengths are in
//! extents of the skin, and angles come from `m = ‖ŝ_i − ŝ_j‖`: `2 sin θ = m√(4 − m²)`, and `θ/sin θ` is smooth in m², which
//! keeps small ones precise and costs one root. Where all springs of a skin are alike, what they share is not read; where
//! only edges and places are held, no directions are made.
//!
//! Nothing is compared with zero: squares begin at [`super::kernels::LEAST`], so that divisions are finite, and what is divided by a
//! vanishing length is then multiplied by a vector that is zero.
//!
//! Oracle: forces and energy of the f64 springs to rounding, and the same equilibrium.

use super::descent::Evaluated;
use super::model::{BoneSpring, Edge, FIXED_STEPS, SAFETY, SpringFrame, Springs};
use crate::simd::{LANES, Lanes, PointRow};
use crate::simd8::HALF;
use glam::DVec3;
use std::ops::Range;

/// Rows that a thread takes at a time, and whose products are summed in single precision before they are added up in
/// double.
pub(super) const BLOCK: usize = 64;
/// Springs of eight points to one neighbour each.
#[derive(Clone, Debug)]
pub(super) struct Spoke {
    pub to: [u32; HALF],
    pub surface: [f32; HALF],
    pub angle: [f32; HALF],
}

/// Their stiffness by direction: torsion, lengths.
pub(super) type Stiff = [[f32; HALF]; 2];

/// Edges as bones turn them, of eight points to one neighbour each.
pub(super) type Turned = [[f32; HALF]; 3];

/// What neighbours read of a point: its place, its direction, the excess of its length, its length at rest.
pub(super) type Record = [f32; 8];

/// The springs of a skin in rows.
#[derive(Clone, Debug, Default)]
pub(super) struct SpringRows {
    /// Point of each slot; slots at the end repeat the last point without springs.
    pub order: Vec<u32>,
    /// Bind units per extent.
    pub unit: f64,
    pub spokes: Vec<Spoke>,
    /// Per half row, where its spokes stop.
    pub stops: Vec<u32>,
    /// Per spoke; empty where all springs are alike.
    pub stiff: Vec<Stiff>,
    /// Torsion over both lengths at rest, lengths.
    pub alike: [f32; 2],
    /// Whether no spring goes by directions and lengths of scale vectors.
    pub is_plain: bool,
    pub rest: Vec<Lanes>,
    pub absolute: Vec<Lanes>,
    /// Per point: stiffness of its place.
    pub placed: Vec<f64>,
    /// `κ_b‖s⁰‖²`.
    pub bone: Vec<Lanes>,
    /// Angle that the bone spring holds.
    pub held: Vec<Lanes>,
    pub stiffness: Vec<Lanes>,
    pub kind: BoneSpring,
}

/// A frame in rows.
#[derive(Clone, Debug, Default)]
pub(super) struct RowFrame {
    pub anchors: Vec<PointRow>,
    /// Per spoke.
    pub turned: Vec<Turned>,
    /// Directions that the bone springs hold to.
    pub towards: Vec<PointRow>,
    /// Stiffness of places and edits; empty without any.
    pub pull: Vec<Lanes>,
    pub places: Vec<PointRow>,
    /// What a plain step multiplies forces by: the safety over bounds of stiffness, edits among them.
    pub gains: Vec<Lanes>,
    /// The same by one bound for all.
    pub fixed_gain: f32,
    /// Directions and lengths of scale vectors.
    pub hung: Vec<[Lanes; 4]>,
    /// Per slot.
    pub records: Vec<Record>,
    /// What each block feels, with twice its energy.
    pub felt: Vec<Evaluated>,
}

impl SpringRows {
    /// Orders the points and measures the rest state.
    pub fn new(springs: &Springs, points: &[DVec3]) -> Self {
        let order = breadth_first(springs);
        let mut slot_of = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(slot, &point)| slot_of[point as usize] = slot as u32);
        let (mut spokes, mut stops) = (Vec::new(), Vec::new());
        for half in 0..2 * order.len().div_ceil(LANES) {
            let of = edges_of_half(springs, &order, half);
            for k in 0..(0..HALF).map(|lane| of(lane).len()).max().unwrap_or(0) {
                // A lane with fewer neighbours is its own, at the length and angle that it has.
                let mut to: [u32; HALF] = std::array::from_fn(|lane| (half * HALF + lane) as u32);
                for lane in 0..HALF {
                    if let Some(&(edge, second)) = of(lane).get(k) {
                        let ends = springs.edges[edge as usize].ends;
                        to[lane] = slot_of[ends[usize::from(!second)] as usize];
                    }
                }
                spokes.push(Spoke { to, surface: [0.0; HALF], angle: [0.0; HALF] });
            }
            stops.push(spokes.len() as u32);
        }
        let mut rows = Self { order, spokes, stops, ..Self::default() };
        rows.measure(springs, points);
        rows.stiffen(springs);
        rows
    }

    /// The same points at another rest state, in memory that is there.
    pub fn remeasure(&self, springs: &Springs, points: &[DVec3], out: &mut Self) {
        out.order.clone_from(&self.order);
        out.spokes.clone_from(&self.spokes);
        out.stops.clone_from(&self.stops);
        out.measure(springs, points);
        out.stiffen(springs);
    }

    /// Angles and lengths at rest.
    fn measure(&mut self, springs: &Springs, points: &[DVec3]) {
        let (low, high) = points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), &p| (l.min(p), h.max(p)));
        let extent = (high - low).length();
        let unit = if extent > 0.0 && extent.is_finite() { extent } else { 1.0 };
        let Self { order, spokes, stops, .. } = self;
        let mut start = 0;
        for (half, &stop) in stops.iter().enumerate() {
            let of = edges_of_half(springs, order, half);
            for (k, spoke) in spokes[start..stop as usize].iter_mut().enumerate() {
                for lane in 0..HALF {
                    let Some(&(edge, _)) = of(lane).get(k) else { continue };
                    let edge = &springs.edges[edge as usize];
                    spoke.angle[lane] = edge.angle as f32;
                }
            }
            start = stop as usize;
        }
        // Slots at the end hang like the last point.
        let rest = |slot: usize| (springs.rest[order[slot.min(order.len() - 1)] as usize] / unit) as f32;
        self.rest.clear();
        let rows = 0..order.len().div_ceil(LANES);
        self.rest.extend(rows.map(|row| std::array::from_fn(|lane| rest(row * LANES + lane))));
        self.unit = unit;
    }

    /// How stiff each spring is, and what the bones hold.
    pub fn stiffen(&mut self, springs: &Springs) {
        let unit = self.unit;
        let alike = Alike::of(springs);
        let Self { order, spokes, stops, stiff, .. } = self;
        stiff.clear();
        let mut start = 0;
        for (half, &stop) in stops.iter().enumerate() {
            let of = edges_of_half(springs, order, half);
            for (k, spoke) in spokes[start..stop as usize].iter_mut().enumerate() {
                let mut stiffness = [[0.0; HALF]; 2];
                for lane in 0..HALF {
                    let Some(&(edge, _)) = of(lane).get(k) else { continue };
                    let edge = &springs.edges[edge as usize];
                    spoke.surface[lane] = edge.surface as f32;
                    stiffness[0][lane] = (edge.torsion / (unit * unit)) as f32;
                    stiffness[1][lane] = edge.lengths as f32;
                }
                if alike.is_none() {
                    stiff.push(stiffness);
                }
            }
            start = stop as usize;
        }
        let rows = 0..order.len().div_ceil(LANES);
        let fill = |out: &mut Vec<Lanes>, value: &dyn Fn(usize) -> f64| {
            let of = |slot: usize| order.get(slot).map_or(0.0, |&point| value(point as usize) as f32);
            out.clear();
            out.extend(rows.clone().map(|row| std::array::from_fn(|lane| of(row * LANES + lane))));
        };
        fill(&mut self.absolute, &|i| springs.absolute[i]);
        fill(&mut self.bone, &|i| springs.bone[i] * (springs.rest[i] / unit).powi(2));
        fill(&mut self.held, &|i| if springs.kind == BoneSpring::Line { springs.line_angle[i] } else { 0.0 });
        fill(&mut self.stiffness, &|i| springs.stiffness[i]);
        self.placed.clone_from(&springs.place);
        self.is_plain = alike.as_ref().is_some_and(|alike| alike.0 == [0.0; 2])
            && springs.absolute.iter().chain(&springs.bone).all(|&stiffness| stiffness == 0.0);
        self.alike = alike.map_or([0.0; 2], |alike| alike.0.map(|stiffness| stiffness as f32));
        self.kind = springs.kind;
    }

    /// The spokes of a half row.
    pub fn spokes_of(&self, row: usize, half: usize) -> Range<usize> {
        let index = 2 * row + half;
        let start = index.checked_sub(1).map_or(0, |before| self.stops[before] as usize);
        start..self.stops[index] as usize
    }

    pub fn rows_of(&self, rows: &mut Vec<PointRow>, value: impl Fn(usize) -> DVec3) {
        rows.clear();
        rows.resize(self.rest.len(), [[0.0; LANES]; 3]);
        let last = self.order.len().saturating_sub(1);
        for slot in 0..rows.len() * LANES {
            let v = value(self.order[slot.min(last)] as usize).as_vec3();
            for axis in 0..3 {
                rows[slot / LANES][axis][slot % LANES] = v[axis];
            }
        }
    }

    pub fn load(&self, springs: &Springs, frame: &SpringFrame<'_>, middle: DVec3, out: &mut RowFrame) {
        self.rows_of(&mut out.anchors, |point| (frame.anchors[point] - middle) / self.unit);
        let towards = if self.kind == BoneSpring::Line { frame.lines } else { frame.aims };
        self.rows_of(&mut out.towards, |point| towards[point].normalize_or_zero());
        out.gains.clone_from(&self.stiffness);
        out.pull.clear();
        if !frame.edits.is_empty() || self.placed.iter().any(|&stiffness| stiffness > 0.0) {
            // The two springs of a point to fixed places are one to their mean.
            let edit = |point: usize| frame.edits.get(point).copied().unwrap_or((0.0, DVec3::ZERO));
            let pull = |point: usize| self.placed[point] + edit(point).0;
            self.rows_of(&mut out.places, |point| {
                let (edited, place) = edit(point);
                let placed = (frame.anchors[point] + frame.aims[point]) * self.placed[point];
                let total = pull(point);
                (if total > 0.0 { (placed + place * edited) / total } else { middle } - middle) / self.unit
            });
            out.pull.resize(self.rest.len(), [0.0; LANES]);
            for (slot, &point) in self.order.iter().enumerate() {
                out.pull[slot / LANES][slot % LANES] = pull(point as usize) as f32;
                out.gains[slot / LANES][slot % LANES] += edit(point as usize).0 as f32;
            }
        }
        out.turned.clear();
        out.turned.resize(self.spokes.len(), [[0.0; HALF]; 3]);
        let mut start = 0;
        for (half, &stop) in self.stops.iter().enumerate() {
            let of = edges_of_half(springs, &self.order, half);
            for (k, turned) in out.turned[start..stop as usize].iter_mut().enumerate() {
                for lane in 0..HALF {
                    let Some(&(edge, second)) = of(lane).get(k) else { continue };
                    let edge = frame.edges[edge as usize] / if second { -self.unit } else { self.unit };
                    (0..3).for_each(|axis| turned[axis][lane] = edge[axis] as f32);
                }
            }
            start = stop as usize;
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
        out.felt.resize(self.rest.len().div_ceil(BLOCK), Evaluated::default());
    }
}

/// Springs of each lane of a half row.
fn edges_of_half<'a>(springs: &'a Springs, order: &'a [u32], half: usize) -> impl Fn(usize) -> &'a [(u32, bool)] {
    move |lane| order.get(half * HALF + lane).map_or(&[][..], |&point| springs.of(point as usize))
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

/// Stiffness by direction that all springs of a skin share: torsion over both lengths at rest, lengths. Springs of
/// points without a direction have none.
struct Alike([f64; 2]);

impl Alike {
    fn of(springs: &Springs) -> Option<Self> {
        let of = |edge: &Edge| {
            let lengths: f64 = edge.ends.iter().map(|&end| springs.rest[end as usize]).product();
            [if lengths > 0.0 { edge.torsion / lengths } else { 0.0 }, edge.lengths]
        };
        let first = springs.edges.first().map(of)?;
        let same = |edge: &Edge| (0..2).all(|k| (of(edge)[k] - first[k]).abs() <= 1e-12 * first[k].abs());
        springs.edges.iter().all(same).then_some(Self(first))
    }
}
