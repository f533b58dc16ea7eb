//! Laplacian surface editing (Sorkine et al. 2004): details, as differences to the mean of the neighbours, are kept in
//! the sense of least squares while handles move.
//!
//! `L = I − D⁻¹A` is not symmetric, so `LᵀL` is factored; columns of held vertices go to the right side. It keeps
//! translations, not rotations: large turns shear the details, which is what [`crate::arap`] is for.
//!
//! Oracle: handles that do not move leave everything; translated handles translate everything; the answer is stationary
//! for the sum of squares.

use crate::arap::RegionError;
use crate::cholesky::Cholesky;
use glam::DVec3;
use sinew::strokes::Region;
use sinew::topology::Adjacency;

/// A region ready to be solved any number of times.
#[derive(Clone, Debug)]
pub struct Laplacian {
    passive: Vec<u32>,
    /// Rows of L that a passive vertex takes part in.
    rows: Vec<u32>,
    /// Per vertex of the mesh, its index among the passive ones.
    unknown: Vec<u32>,
    system: Cholesky,
}

impl Laplacian {
    /// Over all vertices of a mesh that `adjacency` covers.
    pub fn new(count: usize, adjacency: &Adjacency, region: &Region) -> Result<Self, RegionError> {
        let passive = region.passive().to_vec();
        let mut unknown = vec![u32::MAX; count];
        for (index, &vertex) in passive.iter().enumerate() {
            let slot = unknown.get_mut(vertex as usize).ok_or(RegionError::NoSuchVertex { vertex })?;
            *slot = index as u32;
        }
        let mut rows: Vec<u32> =
            passive.iter().flat_map(|&v| adjacency.of(v as usize).iter().copied().chain([v])).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut lower = Vec::new();
        for &row in &rows {
            let neighbours = adjacency.of(row as usize);
            let share = -1.0 / neighbours.len().max(1) as f64;
            let entries: Vec<(usize, f64)> = neighbours
                .iter()
                .map(|&n| (n, share))
                .chain([(row, 1.0)])
                .filter(|&(v, _)| unknown[v as usize] != u32::MAX)
                .map(|(v, value)| (unknown[v as usize] as usize, value))
                .collect();
            for &(a, x) in &entries {
                lower.extend(entries.iter().filter(|&&(b, _)| b <= a).map(|&(b, y)| (a, b, x * y)));
            }
        }
        let system = Cholesky::new(passive.len(), &lower).ok_or_else(|| match passive.first() {
            Some(&vertex) => RegionError::NothingHeld { vertex },
            None => RegionError::TooThin,
        })?;
        Ok(Self { passive, rows, unknown, system })
    }

    /// Moves the passive vertices of `points`, whose held ones are where they should be, so that the details of
    /// `before` are kept.
    pub fn solve(&self, adjacency: &Adjacency, before: &[DVec3], points: &mut [DVec3]) {
        let mut right = vec![DVec3::ZERO; self.passive.len()];
        for &row in &self.rows {
            let neighbours = adjacency.of(row as usize);
            let share = 1.0 / neighbours.len().max(1) as f64;
            let known = |v: u32| if self.unknown[v as usize] == u32::MAX { points[v as usize] } else { DVec3::ZERO };
            // δ less what the held vertices give.
            let mut left = before[row as usize] - known(row);
            for &n in neighbours {
                left -= (before[n as usize] - known(n)) * share;
            }
            let mut add = |v: u32, value: f64| {
                if let Some(right) = right.get_mut(self.unknown[v as usize] as usize) {
                    *right += left * value;
                }
            };
            add(row, 1.0);
            neighbours.iter().for_each(|&n| add(n, -share));
        }
        self.system.solve(&mut right);
        for (&vertex, p) in self.passive.iter().zip(&right) {
            points[vertex as usize] = *p;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tubes::tube;
    use sinew::strokes::Reach;

    fn residual(adjacency: &Adjacency, before: &[DVec3], points: &[DVec3]) -> f64 {
        let delta = |points: &[DVec3], i: usize| {
            let neighbours = adjacency.of(i);
            points[i] - neighbours.iter().map(|&n| points[n as usize]).sum::<DVec3>() / neighbours.len() as f64
        };
        (0..points.len()).map(|i| (delta(points, i) - delta(before, i)).length_squared()).sum()
    }

    #[test]
    fn details_are_kept_as_least_squares_says() {
        let (before, faces) = tube(4.0, 41);
        let adjacency = Adjacency::new(before.len(), &faces);
        let region = Region::grow(&before, &adjacency, &[320, 321], Reach::Rings(6));
        let solver = Laplacian::new(before.len(), &adjacency, &region).expect("held");
        let mut still = before.clone();
        solver.solve(&adjacency, &before, &mut still);
        assert!(still.iter().zip(&before).all(|(a, b)| a.distance(*b) < 1e-9));
        let mut points = before.clone();
        for &v in region.kinematic() {
            points[v as usize] += DVec3::new(0.4, 0.1, 0.0);
        }
        solver.solve(&adjacency, &before, &mut points);
        assert!(points.iter().enumerate().all(|(v, p)| region.passive().contains(&(v as u32))
            || region.kinematic().contains(&(v as u32))
            || *p == before[v]));
        let least = residual(&adjacency, &before, &points);
        for (k, &v) in region.passive().iter().enumerate() {
            let mut nudged = points.clone();
            nudged[v as usize] += DVec3::AXES[k % 3] * 1e-3;
            assert!(residual(&adjacency, &before, &nudged) > least);
        }
        // All held vertices of a region that is the whole mesh move alike: everything does.
        let ends: Vec<u32> = (0..16).chain(640..656).collect();
        let region = Region::grow(&before, &adjacency, &ends, Reach::Rings(1000));
        let solver = Laplacian::new(before.len(), &adjacency, &region).expect("held");
        let mut points = before.clone();
        for &v in region.kinematic() {
            points[v as usize] += DVec3::new(1.0, 2.0, 3.0);
        }
        solver.solve(&adjacency, &before, &mut points);
        assert!(points.iter().zip(&before).all(|(a, b)| a.distance(*b + DVec3::new(1.0, 2.0, 3.0)) < 1e-8));
    }
}
