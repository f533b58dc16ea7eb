//! A square grid of numbers over a plane: drawn into by triangles, blurred, looked up between its cells. Shadows on the
//! ground and on the character are made of these; they are soft, so plain floating point is exact enough here.

use glam::{DVec2, DVec3, Vec2};
use rayon::prelude::*;

/// `N` numbers per cell.
pub struct Grid<const N: usize> {
    side: usize,
    origin: DVec2,
    cells_per_unit: f64,
    cells: Vec<[f32; N]>,
}

impl<const N: usize> Grid<N> {
    /// A grid over the square that starts at `origin`.
    pub fn new(side: usize, origin: DVec2, extent: f64, value: [f32; N]) -> Self {
        Self { side, origin, cells_per_unit: side as f64 / extent, cells: vec![value; side * side] }
    }

    /// A place in cells; cell (i, j) has its centre at (i + ½, j + ½).
    pub fn place(&self, p: DVec2) -> DVec2 {
        (p - self.origin) * self.cells_per_unit
    }

    /// Offers a value to each cell a triangle covers, interpolated between its corners `(x, y, value)`, and to the
    /// cells of the corners, so that slivers leave a trace.
    pub fn draw(&mut self, corners: [DVec3; 3], mut put: impl FnMut(&mut [f32; N], f32)) {
        let [a, b, c] = corners.map(|p| self.place(p.truncate()).extend(p.z).as_vec3());
        let side = self.side as f32;
        for p in [a, b, c] {
            if p.x >= 0.0 && p.y >= 0.0 && p.x < side && p.y < side {
                put(&mut self.cells[p.y as usize * self.side + p.x as usize], p.z);
            }
        }
        let area = (b - a).truncate().perp_dot((c - a).truncate());
        if !(area.abs() > 0.0 && area.is_finite()) {
            return;
        }
        let (low, high) = (a.min(b).min(c), a.max(b).max(c));
        // From the first cell whose centre is not left of the corner to before the first right of it.
        let range = |low: f32, high: f32| {
            let first = |v: f32| (v + 0.5).clamp(0.0, side) as usize;
            first(low)..first(high)
        };
        let inverse = 1.0 / area;
        for y in range(low.y, high.y) {
            for x in range(low.x, high.x) {
                let p = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
                let u = (c - b).truncate().perp_dot(p - b.truncate()) * inverse;
                let v = (a - c).truncate().perp_dot(p - c.truncate()) * inverse;
                let w = 1.0 - u - v;
                if u >= 0.0 && v >= 0.0 && w >= 0.0 {
                    put(&mut self.cells[y * self.side + x], a.z * u + b.z * v + c.z * w);
                }
            }
        }
    }

    /// Every cell by itself.
    pub fn map<const M: usize>(&self, f: impl Fn(&[f32; N]) -> [f32; M] + Sync) -> Grid<M> {
        let Self { side, origin, cells_per_unit, .. } = *self;
        Grid { side, origin, cells_per_unit, cells: self.cells.iter().map(f).collect() }
    }

    /// Cell by cell with a grid of the same kind.
    pub fn zip(&self, other: &Self, f: impl Fn([f32; N], [f32; N]) -> [f32; N]) -> Self {
        Self { cells: self.cells.iter().zip(&other.cells).map(|(a, b)| f(*a, *b)).collect(), ..*self }
    }

    /// Two box filters of `2 radius + 1` cells in each direction: a tent, smooth enough for shadows.
    pub fn blurred(&self, radius: usize) -> Self {
        let pass = |cells: &[[f32; N]]| {
            transpose(&box_rows(&box_rows(cells, self.side, radius), self.side, radius), self.side)
        };
        let cells = pass(&pass(&self.cells));
        Self { cells, ..*self }
    }

    /// The value at a place in the plane, between cells; `None` outside.
    pub fn at(&self, p: DVec2) -> Option<[f32; N]> {
        self.at_place(self.place(p).as_vec2())
    }

    /// The value at a [`Grid::place`].
    pub fn at_place(&self, place: Vec2) -> Option<[f32; N]> {
        let q = place - 0.5;
        let limit = (self.side - 1) as f32;
        if !(q.x >= 0.0 && q.y >= 0.0 && q.x < limit && q.y < limit) {
            return None;
        }
        // By way of i32, which has an instruction of its own.
        let (x, y) = (q.x as i32 as usize, q.y as i32 as usize);
        let (fx, fy) = (q.x - x as f32, q.y - y as f32);
        let i = y * self.side + x;
        let (top, bottom) = (self.cells.get(i..i + 2)?, self.cells.get(i + self.side..i + self.side + 2)?);
        Some(std::array::from_fn(|n| {
            let upper = top[0][n] + (top[1][n] - top[0][n]) * fx;
            upper + (bottom[0][n] + (bottom[1][n] - bottom[0][n]) * fx - upper) * fy
        }))
    }
}

/// Mean over a window along each row, cells beyond the border repeating the last.
fn box_rows<const N: usize>(cells: &[[f32; N]], side: usize, radius: usize) -> Vec<[f32; N]> {
    let mut out = vec![[0.0; N]; cells.len()];
    let window = 2 * radius + 1;
    let scale = 1.0 / window as f64;
    out.par_chunks_mut(side).with_min_len(64).zip(cells.par_chunks(side)).for_each(|(out, row)| {
        let (first, last) = (row[0], row[side - 1]);
        let mut wide = vec![first; radius];
        wide.extend_from_slice(row);
        wide.resize(side + window, last);
        // In f64: a running sum in f32 would drift along the row.
        let mut sum = [0.0_f64; N];
        wide[..window].iter().for_each(|cell| (0..N).for_each(|n| sum[n] += f64::from(cell[n])));
        for ((cell, leave), enter) in out.iter_mut().zip(&wide).zip(&wide[window..]) {
            *cell = sum.map(|s| (s * scale) as f32);
            (0..N).for_each(|n| sum[n] += f64::from(enter[n]) - f64::from(leave[n]));
        }
    });
    out
}

fn transpose<const N: usize>(cells: &[[f32; N]], side: usize) -> Vec<[f32; N]> {
    let mut out = vec![[0.0; N]; cells.len()];
    for (column, turned) in out.chunks_mut(side).enumerate() {
        for (cell, row) in turned.iter_mut().zip(cells.chunks(side)) {
            *cell = row[column];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_leaves_its_plane() {
        let mut grid = Grid::new(16, DVec2::new(-1.0, -1.0), 2.0, [f32::NAN]);
        let z = |x: f64, y: f64| 3.0 + x - 2.0 * y;
        let corner = |x: f64, y: f64| DVec3::new(x, y, z(x, y));
        grid.draw([corner(-3.0, -3.0), corner(-3.0, 9.0), corner(9.0, -3.0)], |cell, v| cell[0] = v);
        for (x, y) in [(0.0, 0.0), (0.3, -0.8), (-0.77, 0.51)] {
            let [got] = grid.at(DVec2::new(x, y)).unwrap();
            assert!((f64::from(got) - z(x, y)).abs() < 1e-5);
        }
        assert!(grid.at(DVec2::new(1.0, 0.0)).is_none() && grid.at(DVec2::NAN).is_none());
    }

    #[test]
    fn blur_keeps_the_sum_and_a_plane() {
        let mut grid = Grid::new(32, DVec2::ZERO, 32.0, [0.0]);
        grid.draw([DVec3::new(16.2, 16.2, 1.0); 3], |cell, v| cell[0] = v);
        let soft = grid.blurred(3);
        let sum: f32 = soft.cells.iter().map(|c| c[0]).sum();
        assert!((sum - 1.0).abs() < 1e-5);
        let flat = Grid::new(8, DVec2::ZERO, 1.0, [0.7]).blurred(2);
        assert!(flat.cells.iter().all(|c| (c[0] - 0.7).abs() < 1e-6));
    }
}
