//! Weights that spread along the skin as heat does: `(L + A/d²) w_i = (A/d²) p_i`, L the cotangent Laplacian, A the area
//! of a point, d how far what it follows is, p_i how much of bone i it follows by itself:
//! what is given at a point reaches about d along the skin. The equation is unit-free. All
//! w_i solve one matrix and their right sides sum to its row sums, so the weights sum to 1 by themselves; negative
//! cotangents count as 0, which keeps every weight in [0, 1].
//!
//! The matrix is symmetric and, with sources on every piece, positive definite; conjugate gradients solve it to 1e-8 in
//! some dozens of steps, one right side per thread. The preconditioner is the modified incomplete factorisation without fill
//! `(D + L) D⁻¹ (D + Lᵀ)` (Gustafsson 1978), whose steps grow more slowly with the points than those of the diagonal alone: on a
//! tube of 300,000 points `bind` takes 14 s of processor time with it and 17 s without. A direct factorisation is not worth
//! a linear algebra library.
//!
//! Oracle: the residual; sums to 1.

use glam::DVec3;
use rayon::prelude::*;

/// A needle-like triangle conducts no better across than this.
const LARGEST_COTANGENT: f64 = 1e3;
const RESIDUAL: f64 = 1e-8;
const STEPS: usize = 3000;
/// Share of the dropped fill that the factorisation puts on its diagonal; all of it may leave nothing there.
const MODIFIED: f64 = 0.97;
/// A pivot that falls below this share of the diagonal is not trusted.
const LEAST_PIVOT: f64 = 0.1;

/// What a point of the skin follows by itself.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Bones with their shares, which sum to 1.
    pub weights: Vec<(u32, f64)>,
    /// How far that is.
    pub distance: f64,
}

/// What weights spread along.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skin<'a> {
    pub points: &'a [DVec3],
    pub faces: &'a [[u32; 3]],
    /// Pairs of points of different pieces, which conduct as an edge between two square faces does.
    pub bridges: &'a [(u32, u32)],
}

/// Weights per point of a skin; none on pieces without any source.
pub(crate) fn settle(skin: Skin<'_>, sources: &[Option<Source>]) -> Vec<Vec<(u32, f64)>> {
    let count = sources.len();
    let mut bones: Vec<u32> = sources.iter().flatten().flat_map(|source| &source.weights).map(|w| w.0).collect();
    bones.sort_unstable();
    bones.dedup();
    let matrix = Conduction::new(skin, sources);
    let settled = |&bone: &u32| {
        let given = |point: usize| {
            let weights = sources[point].iter().flat_map(|source| &source.weights);
            weights.filter(|w| w.0 == bone).map(|w| matrix.exchange[point] * w.1).sum()
        };
        matrix.solve(&(0..count).map(given).collect::<Vec<f64>>())
    };
    let settled: Vec<Vec<f64>> = bones.par_iter().map(settled).collect();
    let of_point = |point: usize| {
        let of_bones = bones.iter().zip(&settled).map(|(&bone, weights)| (bone, weights[point]));
        of_bones.filter(|&(_, weight)| weight > 0.0).collect()
    };
    (0..count).map(of_point).collect()
}

/// `L + A/d²`, rows in offset form.
struct Conduction {
    /// A/d² of each point.
    exchange: Vec<f64>,
    diagonal: Vec<f64>,
    /// D of the preconditioner.
    pivots: Vec<f64>,
    stops: Vec<u32>,
    /// Column and value, ascending in each row.
    others: Vec<(u32, f64)>,
}

impl Conduction {
    fn new(Skin { points, faces, bridges }: Skin<'_>, sources: &[Option<Source>]) -> Self {
        let count = sources.len();
        let mut areas = vec![0.0; count];
        let mut edges: Vec<(u32, u32, f64)> = Vec::with_capacity(6 * faces.len());
        for face in faces {
            let places = face.map(|v| points[v as usize]);
            let doubled = (places[1] - places[0]).cross(places[2] - places[0]).length();
            for k in 0..3 {
                areas[face[k] as usize] += doubled / 6.0;
                let (i, j) = (face[(k + 1) % 3], face[(k + 2) % 3]);
                let (u, v) = (places[(k + 1) % 3] - places[k], places[(k + 2) % 3] - places[k]);
                let cotangent = (u.dot(v) / doubled).clamp(0.0, LARGEST_COTANGENT);
                // 0/0 where the face is a point.
                let half = if cotangent.is_nan() { 0.0 } else { 0.5 * cotangent };
                edges.extend([(i, j, half), (j, i, half)]);
            }
        }
        edges.extend(bridges.iter().flat_map(|&(i, j)| [(i, j, 1.0), (j, i, 1.0)]));
        edges.sort_unstable_by_key(|&(i, j, _)| (i, j));
        let exchange: Vec<f64> = sources
            .iter()
            .zip(&areas)
            .map(|(source, area)| source.as_ref().map_or(0.0, |source| area / (source.distance * source.distance)))
            .collect();
        let mut matrix = Self {
            diagonal: exchange.clone(),
            exchange,
            pivots: Vec::new(),
            stops: vec![0; count],
            others: Vec::with_capacity(edges.len()),
        };
        for run in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let flow: f64 = run.iter().map(|edge| edge.2).sum();
            matrix.diagonal[run[0].0 as usize] += flow;
            matrix.others.push((run[0].1, -flow));
            matrix.stops[run[0].0 as usize] += 1;
        }
        let mut sum = 0;
        for stop in &mut matrix.stops {
            sum += *stop;
            *stop = sum;
        }
        // A point without faces, or on a piece without sources, keeps what it is given: nothing.
        for diagonal in matrix.diagonal.iter_mut().filter(|diagonal| **diagonal == 0.0) {
            *diagonal = 1.0;
        }
        matrix.pivots = matrix.factorised();
        matrix
    }

    /// Columns and values of a row beside its diagonal.
    fn row(&self, row: usize) -> &[(u32, f64)] {
        let start = row.checked_sub(1).map_or(0, |before| self.stops[before] as usize);
        &self.others[start..self.stops[row] as usize]
    }

    fn factorised(&self) -> Vec<f64> {
        let above = |row: usize| self.row(row).iter().filter(move |other| other.0 as usize > row).map(|other| other.1);
        let sums: Vec<f64> = (0..self.stops.len()).map(|row| above(row).sum()).collect();
        let mut pivots: Vec<f64> = Vec::with_capacity(self.stops.len());
        for row in 0..self.stops.len() {
            let mut pivot = self.diagonal[row];
            for &(column, value) in self.row(row).iter().take_while(|other| (other.0 as usize) < row) {
                let column = column as usize;
                pivot -= value * (value + MODIFIED * (sums[column] - value)) / pivots[column];
            }
            pivots.push(if pivot > LEAST_PIVOT * self.diagonal[row] { pivot } else { self.diagonal[row] });
        }
        pivots
    }

    /// Solves with the preconditioner in place of the matrix.
    fn precondition(&self, residual: &[f64], out: &mut Vec<f64>) {
        out.clear();
        for row in 0..residual.len() {
            let below = self.row(row).iter().take_while(|other| (other.0 as usize) < row);
            let sum: f64 = below.map(|&(column, value)| value * out[column as usize]).sum();
            out.push((residual[row] - sum) / self.pivots[row]);
        }
        for row in (0..residual.len()).rev() {
            let above = self.row(row).iter().rev().take_while(|other| other.0 as usize > row);
            let sum: f64 = above.map(|&(column, value)| value * out[column as usize]).sum();
            out[row] -= sum / self.pivots[row];
        }
    }

    fn times(&self, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        for row in 0..x.len() {
            let others: f64 = self.row(row).iter().map(|&(column, value)| value * x[column as usize]).sum();
            out.push(self.diagonal[row] * x[row] + others);
        }
    }

    /// Preconditioned conjugate gradients.
    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut x = vec![0.0; b.len()];
        let mut residual = b.to_vec();
        let mut z = Vec::with_capacity(b.len());
        self.precondition(&residual, &mut z);
        let mut direction = z.clone();
        let mut product = Vec::with_capacity(b.len());
        let mut energy = dot(&residual, &z);
        let enough = energy * RESIDUAL * RESIDUAL;
        for _ in 0..STEPS {
            self.times(&direction, &mut product);
            let curvature = dot(&direction, &product);
            if !(energy > enough && curvature > 0.0) {
                break;
            }
            let step = energy / curvature;
            for i in 0..x.len() {
                x[i] += step * direction[i];
                residual[i] -= step * product[i];
            }
            self.precondition(&residual, &mut z);
            let next = dot(&residual, &z);
            let keep = next / energy;
            for i in 0..x.len() {
                direction[i] = z[i] + keep * direction[i];
            }
            energy = next;
        }
        x
    }
}
