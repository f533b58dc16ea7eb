//! The displacement that vortex samples give to what is around them.
//!
//! Source: KD 5.2, METHODS 6. `V(p) = Σ f(‖p−p_i‖/r_i) X_i × (p−p_i)`, `f(d) = (d²−1)²` inside the radius, 0 outside. Each
//! term turns spheres about p_i in themselves, so V is divergence-free whatever the samples. The skin follows the flow of
//! V over a unit of pseudo-time, in one step of Runge and Kutta's: four looks at the field, as METHODS' four substeps have,
//! and of fourth order. It depends on the samples as they are now and on nothing before, so what leaves comes back. The
//! paper's own accumulation is one step of Euler's for each instant.
//! Samples lie in a grid of cells as wide as the largest radius; some points at a time look at the cells around them and
//! keep the samples in reach, with a margin that the flow may use up before they look again. Cost is that of the points
//! and of the samples near them.
//! Oracle: divergence by central differences; the sum over all samples, without a grid.

use super::quad::{Four, PointQuad, Q3, QUAD, lane};
use crate::simd::{Level, Simd, dispatch, f64x4, prelude::*};
use glam::{DMat3, DVec3};

/// A vortex: where it is, how it turns what is around it, and how far it reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vortex {
    pub at: DVec3,
    pub vorticity: DVec3,
    pub reach: f64,
}

impl Vortex {
    /// Its part of the field.
    pub fn velocity(&self, p: DVec3) -> DVec3 {
        let away = p - self.at;
        let inside = 1.0 - away.length_squared() / (self.reach * self.reach);
        if inside > 0.0 { self.vorticity.cross(away) * (inside * inside) } else { DVec3::ZERO }
    }

    /// Its part of the field's gradient: `f [X]× + (X×d) ⊗ ∇f`.
    pub fn gradient(&self, p: DVec3) -> DMat3 {
        let away = p - self.at;
        let per_square = 1.0 / (self.reach * self.reach);
        let inside = 1.0 - away.length_squared() * per_square;
        if inside <= 0.0 {
            return DMat3::ZERO;
        }
        let fall = away * (-4.0 * inside * per_square);
        let turn = self.vorticity.cross(away);
        let column = |axis: DVec3| self.vorticity.cross(axis) * (inside * inside) + turn * fall.dot(axis);
        DMat3::from_cols(column(DVec3::X), column(DVec3::Y), column(DVec3::Z))
    }
}

/// Cells along a side, at most: beyond it they are made wider.
const MOST_CELLS: f64 = 64.0;
/// How far points may go before they look for samples again, in the largest radius.
const MARGIN: f64 = 0.15;

/// How points follow the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Its flow over a unit of time.
    Flow,
    /// One step of Euler's.
    Once,
}

/// Samples, sorted by cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct VortexField {
    vortices: Vec<Vortex>,
    sorted: Vec<Vortex>,
    reach: f64,
    corner: DVec3,
    cells_per_length: f64,
    cells: [i32; 3],
    /// Per cell, where its samples start; one more at the end.
    starts: Vec<u32>,
    ends: Vec<u32>,
}

/// The samples of some fields that four points may feel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Near {
    /// Per field.
    vortices: Vec<Vec<Vortex>>,
    /// Where points may be for the list to hold; nowhere at first.
    covered: Option<(DVec3, DVec3)>,
}

impl VortexField {
    /// Begins a new field, keeping memory.
    pub fn clear(&mut self) {
        self.vortices.clear();
    }

    /// Adds a sample. One that turns nothing, or is not finite, is left out.
    pub fn push(&mut self, vortex: Vortex) {
        let sound = vortex.at.is_finite() && vortex.vorticity.is_finite() && vortex.reach.is_finite();
        if sound && vortex.reach > 0.0 && vortex.vorticity != DVec3::ZERO {
            self.vortices.push(vortex);
        }
    }

    /// Sorts the samples into cells: call it after the last one.
    pub fn build(&mut self) {
        let (mut low, mut high) = (DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY));
        self.reach = 0.0;
        for vortex in &self.vortices {
            (low, high) = (low.min(vortex.at), high.max(vortex.at));
            self.reach = self.reach.max(vortex.reach);
        }
        self.starts.clear();
        self.sorted.clear();
        self.cells = [0; 3];
        let Some(&first) = self.vortices.first() else { return };
        let width = self.reach.max((high - low).max_element() / (MOST_CELLS - 1.0));
        self.corner = low;
        self.cells_per_length = 1.0 / width;
        // At most 64 along each side.
        self.cells = self.cell(high).map(|last| last + 1);
        let count = self.cells.iter().map(|&cells| cells as usize).product::<usize>();
        self.starts.resize(count + 1, 0);
        for vortex in &self.vortices {
            let cell = self.index(self.cell(vortex.at));
            self.starts[cell + 1] += 1;
        }
        for cell in 0..count {
            self.starts[cell + 1] += self.starts[cell];
        }
        self.sorted.resize(self.vortices.len(), first);
        // Back to front, each to the end of what is left of its cell, keeps the order within cells.
        self.ends.clear();
        self.ends.extend_from_slice(&self.starts[1..]);
        for vortex in self.vortices.iter().rev() {
            let cell = self.index(self.cell(vortex.at));
            self.ends[cell] -= 1;
            self.sorted[self.ends[cell] as usize] = *vortex;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.vortices.is_empty()
    }

    fn cell(&self, p: DVec3) -> [i32; 3] {
        // Casts saturate: what is far off stays outside.
        ((p - self.corner) * self.cells_per_length).to_array().map(|v| v.floor() as i32)
    }

    /// Of a cell that is inside.
    fn index(&self, [x, y, z]: [i32; 3]) -> usize {
        ((z * self.cells[1] + y) * self.cells[0] + x) as usize
    }

    /// Adds the samples that reach into a box.
    fn reaching(&self, low: DVec3, high: DVec3, out: &mut Vec<Vortex>) {
        let (first, last) = (self.cell(low - self.reach), self.cell(high + self.reach));
        let first = first.map(|cell| cell.max(0));
        let last: [i32; 3] = std::array::from_fn(|axis| last[axis].min(self.cells[axis] - 1));
        if first[0] > last[0] {
            return;
        }
        for z in first[2]..=last[2] {
            for y in first[1]..=last[1] {
                // The cells of a line lie together.
                let start = self.starts[self.index([first[0], y, z])] as usize;
                let end = self.starts[self.index([last[0], y, z]) + 1] as usize;
                let reaches = |vortex: &&Vortex| {
                    let nearest = vortex.at.clamp(low, high);
                    nearest.distance_squared(vortex.at) < vortex.reach * vortex.reach
                };
                out.extend(self.sorted[start..end].iter().filter(reaches));
            }
        }
    }

    /// V.
    #[cfg(test)]
    pub fn velocity(&self, p: DVec3) -> DVec3 {
        let mut near = Vec::new();
        if p.is_finite() {
            self.reaching(p, p, &mut near);
        }
        near.iter().map(|vortex| vortex.velocity(p)).sum()
    }

    /// Where the flow takes a point.
    #[cfg(test)]
    pub fn carry(&self, p: DVec3) -> DVec3 {
        let mut quad = [[0.0; QUAD]; 3];
        (0..QUAD).for_each(|index| super::quad::set_lane(&mut quad, index, p));
        follow(std::slice::from_ref(self), &[[1.0; QUAD]], Level::new(), Follow::Flow, &mut quad, &mut Near::default());
        lane(&quad, 3)
    }
}

/// Takes four points along the sum of `fields`, of each as much as its share says, point by point. Points that are not
/// finite stay. `near` is for these fields: after a change of them, begin with a new [`Near::look`].
pub(crate) fn follow(
    fields: &[VortexField],
    shares: &[Four],
    level: Level,
    how: Follow,
    points: &mut PointQuad,
    near: &mut Near,
) {
    dispatch!(level, simd => follow_quad(simd, fields, shares, how, points, near));
}

#[inline(always)]
fn follow_quad<S: Simd>(
    simd: S,
    fields: &[VortexField],
    shares: &[Four],
    how: Follow,
    points: &mut PointQuad,
    near: &mut Near,
) {
    let mut p = Q3::load(simd, points);
    match how {
        Follow::Once => p = p.add(velocity(simd, fields, shares, p, near)),
        Follow::Flow => {
            let k1 = velocity(simd, fields, shares, p, near);
            // Nothing near, and so nothing on the way.
            if near.vortices.iter().all(Vec::is_empty) {
                return;
            }
            let (half, two) = (f64x4::splat(simd, 0.5), f64x4::splat(simd, 2.0));
            let sixth = f64x4::splat(simd, 1.0 / 6.0);
            let k2 = velocity(simd, fields, shares, k1.mul_add(half, p), near);
            let k3 = velocity(simd, fields, shares, k2.mul_add(half, p), near);
            let k4 = velocity(simd, fields, shares, k3.add(p), near);
            p = k2.add(k3).mul_add(two, k1.add(k4)).mul_add(sixth, p);
        }
    }
    p.store(points);
}

#[inline(always)]
fn velocity<S: Simd>(simd: S, fields: &[VortexField], shares: &[Four], p: Q3<S>, near: &mut Near) -> Q3<S> {
    let mut here = [[0.0; QUAD]; 3];
    p.store(&mut here);
    near.cover(fields, &here);
    let zero = Q3::splat(simd, DVec3::ZERO);
    let mut all = zero;
    for (vortices, share) in near.vortices.iter().zip(shares) {
        let mut sum = zero;
        for vortex in vortices {
            let away = p.sub(Q3::splat(simd, vortex.at));
            let per_square = f64x4::splat(simd, -1.0 / (vortex.reach * vortex.reach));
            let inside = away.dot(away).mul_add(per_square, f64x4::splat(simd, 1.0)).max(zero.x);
            sum = Q3::splat(simd, vortex.vorticity).cross(away).mul_add(inside * inside, sum);
        }
        all = sum.mul_add(f64x4::load_array_ref(simd, share), all);
    }
    all
}

impl Near {
    /// Looks for samples anew, unless those known hold for all points.
    fn cover(&mut self, fields: &[VortexField], points: &PointQuad) {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for index in 0..QUAD {
            let p = lane(points, index);
            if p.is_finite() {
                (low, high) = (low.min(p), high.max(p));
            }
        }
        if !self.covered.is_some_and(|(l, h)| low.cmpge(l).all() && high.cmple(h).all()) {
            self.look(fields, low, high);
        }
    }

    /// Looks for the samples that points of a box feel, and may feel soon.
    pub fn look(&mut self, fields: &[VortexField], low: DVec3, high: DVec3) {
        let reach = fields.iter().map(|field| field.reach).fold(0.0, f64::max);
        let (low, high) = (low - MARGIN * reach, high + MARGIN * reach);
        self.covered = Some((low, high));
        self.vortices.resize_with(fields.len(), Vec::new);
        for (vortices, field) in self.vortices.iter_mut().zip(fields) {
            vortices.clear();
            if low.is_finite() && high.is_finite() {
                field.reaching(low, high, vortices);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(seed: u64, count: usize) -> (VortexField, Vec<Vortex>) {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let mut vector = |size: f64| DVec3::new(random(), random(), random()) * size;
        let vortices: Vec<Vortex> = (0..count)
            .map(|k| Vortex { at: vector(4.0), vorticity: vector(1.0), reach: 0.3 + 0.1 * (k % 5) as f64 })
            .collect();
        let mut field = VortexField::default();
        vortices.iter().for_each(|&vortex| field.push(vortex));
        field.build();
        (field, vortices)
    }

    #[test]
    fn the_grid_finds_every_sample_in_reach() {
        let (field, vortices) = field(3, 300);
        for k in 0..500 {
            let t = f64::from(k) / 40.0;
            let p = DVec3::new(3.0 * t.sin(), 3.0 * (1.7 * t).cos(), 2.5 * (0.6 * t).sin());
            let all: DVec3 = vortices.iter().map(|vortex| vortex.velocity(p)).sum();
            assert!((field.velocity(p) - all).length() < 1e-13, "{p}");
        }
        for p in [DVec3::splat(1e300), DVec3::splat(-1e9), DVec3::new(2e9, 0.0, 0.0), DVec3::splat(f64::NAN)] {
            assert_eq!(field.velocity(p), DVec3::ZERO);
        }
        let mut empty = VortexField::default();
        empty.build();
        assert_eq!(empty.carry(DVec3::ONE), DVec3::ONE);
    }

    #[test]
    fn eight_points_follow_the_field_as_each_alone() {
        // Over the sum of all samples, without grid, margin or lanes.
        let ((field, vortices), (other, others)) = (field(3, 300), field(8, 90));
        for k in 0..60 {
            let mut quad = [[0.0; QUAD]; 3];
            let mut share = [0.0; QUAD];
            for index in 0..QUAD {
                let t = f64::from(k) + 0.06 * index as f64;
                let p = DVec3::new(2.0 * t.sin(), 2.0 * (1.7 * t).cos(), 1.5 * (0.6 * t).sin());
                super::super::quad::set_lane(&mut quad, index, p);
                share[index] = 0.3 * index as f64 - 0.5;
            }
            let start = quad;
            let shares = [[1.0; QUAD], share];
            follow(
                &[field.clone(), other.clone()],
                &shares,
                Level::new(),
                Follow::Flow,
                &mut quad,
                &mut Near::default(),
            );
            let mut once = start;
            follow(
                &[field.clone(), other.clone()],
                &shares,
                Level::new(),
                Follow::Once,
                &mut once,
                &mut Near::default(),
            );
            for index in 0..QUAD {
                let velocity = |p: DVec3| -> DVec3 {
                    let own: DVec3 = vortices.iter().map(|vortex| vortex.velocity(p)).sum();
                    own + others.iter().map(|vortex| vortex.velocity(p)).sum::<DVec3>() * share[index]
                };
                let mut p = lane(&start, index);
                assert!((lane(&once, index) - p - velocity(p)).length() < 1e-12);
                // The flow itself: small steps of the midpoint rule.
                let moved = velocity(p).length();
                for _ in 0..200 {
                    p += velocity(p + velocity(p) * 0.0025) * 0.005;
                }
                assert!((lane(&quad, index) - p).length() < 2e-2 * moved + 1e-9, "{k} {index}");
            }
        }
    }

    #[test]
    fn gradients_are_those_of_the_field() {
        let (_, vortices) = field(4, 20);
        for vortex in &vortices {
            let p = vortex.at + DVec3::new(0.11, -0.07, 0.15);
            let gradient = vortex.gradient(p);
            for (axis, column) in DVec3::AXES.into_iter().zip([gradient.x_axis, gradient.y_axis, gradient.z_axis]) {
                let h = 1e-6;
                let difference = (vortex.velocity(p + axis * h) - vortex.velocity(p - axis * h)) / (2.0 * h);
                assert!((difference - column).length() < 1e-8);
            }
        }
    }

    #[test]
    fn the_field_is_divergence_free() {
        let (field, vortices) = field(5, 200);
        let h = 1e-4 * 4.0;
        let (mut divergence, mut largest): (f64, f64) = (0.0, 0.0);
        for k in 0..300 {
            let t = f64::from(k) / 30.0;
            let p = DVec3::new(2.0 * t.sin(), 2.0 * (1.3 * t).cos(), 2.0 * (0.7 * t).sin());
            // Second derivatives jump at the samples' borders, which differences across them feel.
            if vortices.iter().any(|vortex| (p.distance(vortex.at) - vortex.reach).abs() < 4.0 * h) {
                continue;
            }
            let slope = |axis: DVec3| {
                let near = field.velocity(p + axis * h) - field.velocity(p - axis * h);
                let far = field.velocity(p + axis * (2.0 * h)) - field.velocity(p - axis * (2.0 * h));
                (near * 8.0 - far) / (12.0 * h)
            };
            let [x, y, z] = DVec3::AXES.map(slope);
            divergence = divergence.max((x.x + y.y + z.z).abs());
            largest = largest.max((x.length_squared() + y.length_squared() + z.length_squared()).sqrt());
        }
        assert!(divergence < 1e-6 * largest, "{:e}", divergence / largest);
    }

    #[test]
    fn the_flow_turns_back_when_the_samples_do() {
        let (forth, vortices) = field(9, 60);
        let mut back = VortexField::default();
        vortices.iter().for_each(|&vortex| back.push(Vortex { vorticity: -vortex.vorticity, ..vortex }));
        back.build();
        for k in 0..50 {
            let p = DVec3::new(f64::from(k) / 25.0 - 1.0, 0.3, -0.2);
            let there = forth.carry(p);
            assert!((back.carry(there) - p).length() < 0.02 * (there - p).length() + 1e-15);
        }
    }
}
