//! Weights as heat (Baran, Popović 2007, "Automatic rigging and animation of 3D characters").
//!
//! Each bone is held at temperature 1 and all others at 0; the skin over a bone takes its temperature with a conductance
//! 1/d², d the distance to the nearest bone in sight, and conducts along itself: `(L + A/d²) w_i = (A/d²) p_i`, L the
//! cotangent Laplacian, A the area of a point, p_i 1 where bone i is the nearest in sight, shared among equals. The
//! equation is unit-free. All w_i solve one matrix and their right sides sum to its row sums, so the weights sum to 1 by
//! themselves; negative cotangents count as 0, which keeps every weight in [0, 1].
//!
//! Why this one beside the paper's: influence spreads along the skin, so neighbouring fingers do not share it however
//! close they are, and it falls off smoothly where inverse distances have creases and far bones always have a say. Bounded
//! biharmonic weights need a mesh of the volume, which open and self-cutting characters do not have; geodesic voxels need
//! a resolution that fits the thinnest finger.
//!
//! The matrix is symmetric and, with sources on every piece, positive definite; conjugate gradients with the diagonal as
//! preconditioner solve it to 1e-8 in some hundred steps, one right side per thread. A direct factorisation is faster
//! for many bones, and a second once per character is not worth a linear algebra library.
//!
//! Pieces without any bone in sight (eyes, buttons) follow the bone nearest to their middle rigidly.
//!
//! Oracle: the residual; sums to 1; on a hand no finger follows its neighbour.

use super::shell::Shell;
use super::sight::{bones_by_distance, by_ray};
use crate::control_points::DisjointSets;
use crate::limbs::Limbs;
use glam::DVec3;
use rayon::prelude::*;

/// Distances this close, as a ratio, are equal.
const EQUAL: f64 = 1.0001;
const LEAST_DISTANCE: f64 = 1e-4;
/// A needle-like triangle conducts no better across than this.
const LARGEST_COTANGENT: f64 = 1e3;
const RESIDUAL: f64 = 1e-8;
const STEPS: usize = 3000;

/// Weights per point, and how many points see no bone.
pub(super) fn weights(shell: &Shell, limbs: &Limbs) -> (Vec<Vec<(u32, f64)>>, usize) {
    let count = shell.points().len();
    let sources: Vec<Option<Source>> = (0..count).into_par_iter().map(|point| source(shell, limbs, point)).collect();
    let out_of_sight = sources.iter().filter(|source| source.is_none()).count();

    let mut sets = DisjointSets::new(count);
    for &[a, b, c] in shell.faces() {
        sets.union(a, b);
        sets.union(b, c);
    }
    let piece_of: Vec<usize> = (0..count as u32).map(|point| sets.find(point) as usize).collect();
    let mut pieces: Vec<(DVec3, f64, bool)> = vec![(DVec3::ZERO, 0.0, false); count];
    for (point, source) in sources.iter().enumerate() {
        let piece = &mut pieces[piece_of[point]];
        *piece = (piece.0 + shell.points()[point], piece.1 + 1.0, piece.2 || source.is_some());
    }

    let matrix = Conduction::new(shell, &sources);
    let bones: Vec<u32> = {
        let mut bones: Vec<u32> = sources.iter().flatten().flat_map(|source| &source.bones).copied().collect();
        bones.sort_unstable();
        bones.dedup();
        bones
    };
    let temperatures: Vec<Vec<f64>> = bones
        .par_iter()
        .map(|bone| {
            let given = |point: usize| match &sources[point] {
                Some(source) if source.bones.contains(bone) => matrix.exchange[point] / source.bones.len() as f64,
                _ => 0.0,
            };
            matrix.solve(&(0..count).map(given).collect::<Vec<_>>())
        })
        .collect();
    let mut weights: Vec<Vec<(u32, f64)>> = vec![Vec::new(); count];
    for (point, weights) in weights.iter_mut().enumerate() {
        let (sum, points, heated) = pieces[piece_of[point]];
        if heated {
            let of_bone = bones.iter().zip(&temperatures).map(|(&bone, temperature)| (bone, temperature[point]));
            weights.extend(of_bone.filter(|&(_, weight)| weight > 0.0));
        }
        if weights.is_empty() {
            let nearest = bones_by_distance(limbs, sum / points);
            weights.extend(nearest.first().map(|&(bone, _, _)| (bone, 1.0)));
        }
    }
    (weights, out_of_sight)
}

/// The nearest bones in sight of a point.
struct Source {
    bones: Vec<u32>,
    distance: f64,
}

fn source(shell: &Shell, limbs: &Limbs, point: usize) -> Option<Source> {
    let mut bones = bones_by_distance(limbs, shell.points()[point]).into_iter();
    let mut in_sight = bones.by_ref().filter(|&(_, place, _)| by_ray(shell, point, place));
    let (nearest, _, distance) = in_sight.next()?;
    let mut source = Source { bones: vec![nearest], distance: distance.max(LEAST_DISTANCE * shell.size()) };
    let equals = in_sight.take_while(|&(_, _, d)| d <= distance * EQUAL);
    source.bones.extend(equals.map(|(bone, _, _)| bone));
    Some(source)
}

/// `L + A/d²`, rows in offset form.
struct Conduction {
    /// A/d² of each point.
    exchange: Vec<f64>,
    diagonal: Vec<f64>,
    stops: Vec<u32>,
    others: Vec<(u32, f64)>,
}

impl Conduction {
    fn new(shell: &Shell, sources: &[Option<Source>]) -> Self {
        let count = sources.len();
        let mut areas = vec![0.0; count];
        let mut edges: Vec<(u32, u32, f64)> = Vec::with_capacity(6 * shell.faces().len());
        for face in shell.faces() {
            let places = face.map(|v| shell.points()[v as usize]);
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
        edges.sort_unstable_by_key(|&(i, j, _)| (i, j));
        let exchange: Vec<f64> = sources
            .iter()
            .zip(&areas)
            .map(|(source, area)| source.as_ref().map_or(0.0, |source| area / (source.distance * source.distance)))
            .collect();
        let mut matrix = Self {
            diagonal: exchange.clone(),
            exchange,
            stops: vec![0; count],
            others: Vec::with_capacity(edges.len()),
        };
        for run in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let conductance: f64 = run.iter().map(|edge| edge.2).sum();
            matrix.diagonal[run[0].0 as usize] += conductance;
            matrix.others.push((run[0].1, -conductance));
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
        matrix
    }

    fn times(&self, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        let mut start = 0;
        for (row, &stop) in self.stops.iter().enumerate() {
            let stop = stop as usize;
            let others: f64 = self.others[start..stop].iter().map(|&(column, value)| value * x[column as usize]).sum();
            out.push(self.diagonal[row] * x[row] + others);
            start = stop;
        }
    }

    /// Preconditioned conjugate gradients.
    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut x = vec![0.0; b.len()];
        let mut residual = b.to_vec();
        let scaled = |residual: &[f64]| residual.iter().zip(&self.diagonal).map(|(r, d)| r / d).collect::<Vec<_>>();
        let mut z = scaled(&residual);
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
            z = scaled(&residual);
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
