//! The displacement that vortex samples give to what is around them.
//!
//! Source: KD 5.2, METHODS 6. `V(p) = Σ f(‖p−p_i‖/r_i) X_i × (p−p_i)`, `f(d) = (d²−1)²` inside the radius, 0 outside. Each
//! term turns spheres about p_i in themselves, so V is divergence-free whatever the samples. The skin follows the flow of
//! V over a unit of pseudo-time, in [`SUBSTEPS`] steps of the midpoint rule: it depends on the samples as they are now and
//! on nothing before, so what leaves comes back.
//! Samples lie in a grid of cells as wide as the largest radius; a point looks at the 27 cells around it.
//! Oracle: divergence by central differences; the sum over all samples, without a grid.

use glam::DVec3;

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
}

/// Steps of the flow.
const SUBSTEPS: u32 = 4;
/// Cells along a side, at most: beyond it they are made wider.
const MOST_CELLS: f64 = 64.0;

/// Samples, sorted by cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct VortexField {
    vortices: Vec<Vortex>,
    sorted: Vec<Vortex>,
    corner: DVec3,
    cells_per_length: f64,
    cells: [i32; 3],
    /// Per cell, where its samples start; one more at the end.
    starts: Vec<u32>,
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
        let mut reach: f64 = 0.0;
        for vortex in &self.vortices {
            (low, high) = (low.min(vortex.at), high.max(vortex.at));
            reach = reach.max(vortex.reach);
        }
        self.starts.clear();
        self.sorted.clear();
        self.cells = [0; 3];
        if self.vortices.is_empty() {
            return;
        }
        let width = reach.max((high - low).max_element() / (MOST_CELLS - 1.0));
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
        self.sorted.resize(self.vortices.len(), self.vortices[0]);
        // Back to front, each to the end of what is left of its cell, keeps the order within cells.
        let mut ends: Vec<u32> = self.starts[1..].to_vec();
        for vortex in self.vortices.iter().rev() {
            let cell = self.index(self.cell(vortex.at));
            ends[cell] -= 1;
            self.sorted[ends[cell] as usize] = *vortex;
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

    /// V.
    pub fn velocity(&self, p: DVec3) -> DVec3 {
        let middle = self.cell(p);
        let low = middle.map(|cell| cell.saturating_sub(1).max(0));
        let high: [i32; 3] = std::array::from_fn(|axis| middle[axis].saturating_add(1).min(self.cells[axis] - 1));
        let mut sum = DVec3::ZERO;
        if low[0] > high[0] {
            return sum;
        }
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                // The cells of a line lie together.
                let first = self.starts[self.index([low[0], y, z])];
                let last = self.starts[self.index([high[0], y, z]) + 1];
                for vortex in &self.sorted[first as usize..last as usize] {
                    sum += vortex.velocity(p);
                }
            }
        }
        sum
    }

    /// Where the flow takes a point.
    pub fn carry(&self, p: DVec3) -> DVec3 {
        let dt = 1.0 / f64::from(SUBSTEPS);
        let mut p = p;
        for _ in 0..SUBSTEPS {
            let velocity = self.velocity(p);
            if velocity == DVec3::ZERO {
                return p;
            }
            p += self.velocity(p + velocity * (0.5 * dt)) * dt;
        }
        p
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
