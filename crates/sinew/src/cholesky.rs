//! A sparse symmetric positive definite system, factored once and solved for three columns at a time.
//!
//! The factorisation goes up row by row along the elimination tree (Davis 2006, *Direct Methods for Sparse Linear Systems*,
//! chapter 4). Unknowns are points in space, so they are ordered by nested dissection: halved along the longest side, what
//! lies between the halves last. For a surface of n points the factor has some n·log n entries.
//!
//! Oracle: dense elimination.

use crate::csr::Csr;
use glam::DVec3;

/// Points that are no longer halved.
const FEW: usize = 24;
const NONE: u32 = u32::MAX;

/// `LLᵀ` of a sparse matrix.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    /// The unknown at each place of the order.
    order: Vec<u32>,
    /// Columns of L in offset form: rows ascending, the diagonal first.
    starts: Vec<u32>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl Cholesky {
    /// Factors the matrix with this diagonal, and with `−weight` between the unknowns that edges join, each once. `None`
    /// where it is not positive definite.
    pub fn new(points: &[DVec3], diagonal: &[f64], edges: &[([u32; 2], f64)]) -> Option<Self> {
        let size = diagonal.len();
        let pairs: Vec<(u32, u32)> = edges.iter().flat_map(|&([a, b], _)| [(a, b), (b, a)]).collect();
        let order = dissected(points, &Csr::new(size, pairs));
        let mut place = vec![0u32; size];
        order.iter().enumerate().for_each(|(at, &unknown)| place[unknown as usize] = at as u32);
        // Above the diagonal, column by column.
        let mut upper: Vec<(u32, u32, f64)> = edges
            .iter()
            .map(|&([a, b], weight)| {
                let (a, b) = (place[a as usize], place[b as usize]);
                (a.max(b), a.min(b), -weight)
            })
            .filter(|entry| entry.0 != entry.1)
            .collect();
        upper.sort_by_key(|entry| (entry.0, entry.1));
        let mut first = vec![0u32; size + 1];
        upper.iter().for_each(|entry| first[entry.0 as usize + 1] += 1);
        (0..size).for_each(|k| first[k + 1] += first[k]);
        let column = |k: usize| &upper[first[k] as usize..first[k + 1] as usize];

        let mut tree = Tree { parent: vec![NONE; size], mark: vec![NONE; size], reach: Vec::new() };
        let mut ancestor = vec![NONE; size];
        for k in 0..size {
            for &(_, row, _) in column(k) {
                let mut i = row;
                while i != NONE && (i as usize) < k {
                    let next = std::mem::replace(&mut ancestor[i as usize], k as u32);
                    if next == NONE {
                        tree.parent[i as usize] = k as u32;
                    }
                    i = next;
                }
            }
        }
        let mut counts = vec![1u32; size];
        for k in 0..size {
            tree.reach(k, column(k));
            tree.reach.iter().for_each(|&i| counts[i as usize] += 1);
        }
        let mut starts = vec![0u32; size + 1];
        for k in 0..size {
            starts[k + 1] = starts[k].checked_add(counts[k])?;
        }
        let entries = starts[size] as usize;
        let (mut rows, mut values) = (vec![0u32; entries], vec![0.0; entries]);
        let mut next: Vec<u32> = starts[..size].to_vec();
        let mut x = vec![0.0; size];
        tree.mark.fill(NONE);
        for k in 0..size {
            tree.reach(k, column(k));
            column(k).iter().for_each(|&(_, row, value)| x[row as usize] += value);
            let mut pivot = diagonal[order[k] as usize];
            for &i in &tree.reach {
                let i = i as usize;
                let (start, end) = (starts[i] as usize, next[i] as usize);
                let entry = std::mem::take(&mut x[i]) / values[start];
                for (row, value) in rows[start + 1..end].iter().zip(&values[start + 1..end]) {
                    x[*row as usize] -= value * entry;
                }
                pivot -= entry * entry;
                (rows[end], values[end]) = (k as u32, entry);
                next[i] += 1;
            }
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            let start = next[k] as usize;
            (rows[start], values[start]) = (k as u32, pivot.sqrt());
            next[k] += 1;
        }
        Some(Self { order, starts, rows, values })
    }

    /// Replaces the right side by the solution. `memory` is scratch.
    pub fn solve(&self, columns: &mut [DVec3], memory: &mut Vec<DVec3>) {
        memory.clear();
        memory.extend(self.order.iter().map(|&unknown| columns[unknown as usize]));
        let x = &mut memory[..];
        let column = |k: usize| {
            let entries = self.starts[k] as usize..self.starts[k + 1] as usize;
            (&self.rows[entries.clone()], &self.values[entries])
        };
        for k in 0..x.len() {
            let (rows, values) = column(k);
            let here = x[k] / values[0];
            x[k] = here;
            rows[1..].iter().zip(&values[1..]).for_each(|(&row, value)| x[row as usize] -= here * *value);
        }
        for k in (0..x.len()).rev() {
            let (rows, values) = column(k);
            let below: DVec3 = rows[1..].iter().zip(&values[1..]).map(|(&row, value)| x[row as usize] * *value).sum();
            x[k] = (x[k] - below) / values[0];
        }
        self.order.iter().zip(&*x).for_each(|(&unknown, value)| columns[unknown as usize] = *value);
    }
}

/// The elimination tree, and which columns a row of the factor has entries in.
struct Tree {
    parent: Vec<u32>,
    mark: Vec<u32>,
    /// Ascending along every path to the root.
    reach: Vec<u32>,
}

impl Tree {
    fn reach(&mut self, k: usize, column: &[(u32, u32, f64)]) {
        self.reach.clear();
        self.mark[k] = k as u32;
        for &(_, row, _) in column {
            let mut i = row;
            while i != NONE && self.mark[i as usize] != k as u32 {
                self.reach.push(i);
                self.mark[i as usize] = k as u32;
                i = self.parent[i as usize];
            }
        }
        // A parent comes after all its children.
        self.reach.sort_unstable();
    }
}

/// Nested dissection: both halves first, then those of one half that touch the other.
fn dissected(points: &[DVec3], neighbours: &Csr) -> Vec<u32> {
    let mut order: Vec<u32> = (0..neighbours.len() as u32).collect();
    let mut side = vec![0u32; order.len()];
    let mut parts = vec![(0usize, order.len())];
    let mut stamp = 0;
    while let Some((from, to)) = parts.pop() {
        if to - from <= FEW {
            continue;
        }
        let part = &mut order[from..to];
        let at = |&v: &u32| points.get(v as usize).copied().unwrap_or(DVec3::ZERO);
        let (low, high) = part.iter().map(at).fold((DVec3::MAX, DVec3::MIN), |(l, h), p| (l.min(p), h.max(p)));
        let sides = high - low;
        let axis = if sides.x >= sides.y && sides.x >= sides.z {
            0
        } else if sides.y >= sides.z {
            1
        } else {
            2
        };
        part.sort_by(|a, b| at(a)[axis].total_cmp(&at(b)[axis]).then(a.cmp(b)));
        let half = part.len() / 2;
        stamp += 2;
        part[..half].iter().for_each(|&v| side[v as usize] = stamp - 1);
        part[half..].iter().for_each(|&v| side[v as usize] = stamp);
        let touches = |v: u32| neighbours.of(v as usize).iter().any(|&n| side[n as usize] == stamp);
        let (inner, between): (Vec<u32>, Vec<u32>) = part[..half].iter().partition(|&&v| !touches(v));
        let other = part[half..].to_vec();
        let (first, second) = (inner.len(), inner.len() + other.len());
        part[..first].copy_from_slice(&inner);
        part[first..second].copy_from_slice(&other);
        part[second..].copy_from_slice(&between);
        parts.extend([(from, from + first), (from + first, from + second)]);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Gauss–Jordan with pivots, in the order given.
    fn dense(mut a: Vec<Vec<f64>>, mut b: Vec<DVec3>) -> Vec<DVec3> {
        let n = b.len();
        for k in 0..n {
            let best = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
            a.swap(k, best);
            b.swap(k, best);
            for i in (0..n).filter(|&i| i != k) {
                let factor = a[i][k] / a[k][k];
                let (row, right) = (a[k].clone(), b[k]);
                a[i].iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
                b[i] -= right * factor;
            }
        }
        (0..n).map(|k| b[k] / a[k][k]).collect()
    }

    #[test]
    fn solutions_are_those_of_dense_elimination() {
        let mut seed = 11;
        for size in [1, 2, 25, 60, 150] {
            let points: Vec<DVec3> =
                (0..size).map(|_| DVec3::new(random(&mut seed), random(&mut seed), random(&mut seed))).collect();
            let (mut edges, mut diagonal) = (Vec::new(), vec![0.0; size]);
            let mut matrix = vec![vec![0.0; size]; size];
            for a in 0..size {
                for b in 0..a {
                    if points[a].distance(points[b]) < 0.3 {
                        let weight = random(&mut seed);
                        edges.push(([a as u32, b as u32], weight));
                        (matrix[a][b], matrix[b][a]) = (-weight, -weight);
                        diagonal[a] += weight;
                        diagonal[b] += weight;
                    }
                }
                diagonal[a] += 0.01 + random(&mut seed);
            }
            (0..size).for_each(|k| matrix[k][k] = diagonal[k]);
            let right: Vec<DVec3> =
                (0..size).map(|_| DVec3::new(random(&mut seed), -random(&mut seed), random(&mut seed))).collect();
            let mut found = right.clone();
            Cholesky::new(&points, &diagonal, &edges).expect("definite").solve(&mut found, &mut Vec::new());
            for (found, expected) in found.iter().zip(dense(matrix, right)) {
                assert!(found.distance(expected) < 1e-10 * (1.0 + expected.length()), "{found} {expected}");
            }
        }
    }

    #[test]
    fn what_is_not_definite_is_refused_and_nothing_is_solved() {
        assert!(Cholesky::new(&[DVec3::ZERO, DVec3::X], &[1.0, 1.0], &[([0, 1], 2.0)]).is_none());
        assert!(Cholesky::new(&[DVec3::ZERO], &[f64::NAN], &[]).is_none());
        Cholesky::new(&[], &[], &[]).expect("nothing").solve(&mut [], &mut Vec::new());
    }

    #[test]
    fn a_grid_fills_in_little() {
        let side = 60u32;
        let points: Vec<DVec3> =
            (0..side * side).map(|i| DVec3::new(f64::from(i % side), f64::from(i / side), 0.0)).collect();
        let mut edges = Vec::new();
        for i in 0..side * side {
            edges.extend((i % side + 1 < side).then_some(([i, i + 1], 1.0)));
            edges.extend((i / side + 1 < side).then_some(([i, i + side], 1.0)));
        }
        let diagonal = vec![4.01; points.len()];
        let factor = Cholesky::new(&points, &diagonal, &edges).expect("definite");
        // Row by row each point would have as many as the grid is wide.
        assert!(factor.values.len() < side as usize / 2 * points.len(), "{} entries", factor.values.len());
    }
}
