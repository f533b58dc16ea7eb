//! The part of a surface that an edit reaches (EX 4.2.2, 7.3): *kinematic* vertices are put where the edit says,
//! *passive* ones give way, *static* ones around them stay and hold the border.
//!
//! Oracle: on a regular grid, rings are the cells of the grid's own distances; the three sets are disjoint, and every
//! neighbour of a passive vertex is in one of them.

use crate::bvh::Bvh;
use crate::edge_graph::EdgeGraph;
use crate::topology::Adjacency;
use glam::DVec3;

/// How far a region grows from its seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// So many edges; EX takes 4.
    Rings(usize),
    /// A straight distance from the nearest seed, without leaving the connected surface.
    Distance(f64),
    /// A distance along the edges.
    Geodesic(f64),
}

/// Disjoint sets of vertices, each ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    kinematic: Vec<u32>,
    passive: Vec<u32>,
    fixed: Vec<u32>,
}

impl Region {
    /// Grows from `seeds`; those that are no vertices are passed over.
    pub fn grow(points: &[DVec3], adjacency: &Adjacency, seeds: &[u32], reach: Reach) -> Self {
        let mut kinematic: Vec<u32> = seeds.iter().copied().filter(|&seed| (seed as usize) < points.len()).collect();
        kinematic.sort_unstable();
        kinematic.dedup();
        let mut inside = vec![false; points.len()];
        match reach {
            Reach::Geodesic(most) => {
                let graph = EdgeGraph::new(points, adjacency, &[]);
                graph.spread(&kinematic, &mut vec![f64::INFINITY; points.len()], |vertex, distance, _| {
                    inside[vertex as usize] = distance <= most;
                });
            }
            Reach::Rings(_) | Reach::Distance(_) => {
                let places: Vec<DVec3> = kinematic.iter().map(|&seed| points[seed as usize]).collect();
                let tree = Bvh::of_points(&places);
                let near = |vertex: u32, within: f64| {
                    let p = points[vertex as usize];
                    tree.nearest(p, within * within, |seed| Some(places[seed as usize].distance_squared(p))).is_some()
                };
                let mut front = kinematic.clone();
                front.iter().for_each(|&seed| inside[seed as usize] = true);
                let mut ring = 0;
                while !front.is_empty() && !matches!(reach, Reach::Rings(rings) if ring == rings) {
                    let mut next = Vec::new();
                    for &vertex in &front {
                        for &n in adjacency.of(vertex as usize) {
                            let takes = match reach {
                                Reach::Distance(most) => near(n, most),
                                _ => true,
                            };
                            if takes && !inside[n as usize] {
                                inside[n as usize] = true;
                                next.push(n);
                            }
                        }
                    }
                    front = next;
                    ring += 1;
                }
            }
        }
        let all = |set: &dyn Fn(u32) -> bool| (0..points.len() as u32).filter(|&v| set(v)).collect::<Vec<_>>();
        let is_seed = |v: u32| kinematic.binary_search(&v).is_ok();
        let passive = all(&|v| inside[v as usize] && !is_seed(v));
        let touches = |v: u32| adjacency.of(v as usize).iter().any(|&n| inside[n as usize]);
        let fixed = all(&|v| !inside[v as usize] && touches(v));
        Self { kinematic, passive, fixed }
    }

    /// Vertices that the edit puts somewhere.
    pub fn kinematic(&self) -> &[u32] {
        &self.kinematic
    }

    /// Vertices that give way.
    pub fn passive(&self) -> &[u32] {
        &self.passive
    }

    /// Vertices around them that stay.
    pub fn fixed(&self) -> &[u32] {
        &self.fixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square grid of `n` × `n` points, each cell cut along one diagonal.
    fn grid(n: u32) -> (Vec<DVec3>, Adjacency) {
        let points: Vec<DVec3> = (0..n * n).map(|i| DVec3::new(f64::from(i % n), f64::from(i / n), 0.0)).collect();
        let faces: Vec<[u32; 3]> = (0..n - 1)
            .flat_map(|y| (0..n - 1).map(move |x| y * n + x))
            .flat_map(|a| [[a, a + 1, a + n + 1], [a, a + n + 1, a + n]])
            .collect();
        let adjacency = Adjacency::new(points.len(), &faces);
        (points, adjacency)
    }

    fn check_roles(region: &Region, adjacency: &Adjacency) {
        let sets = [region.kinematic(), region.passive(), region.fixed()];
        let has = |v: &u32| sets.iter().filter(|set| set.binary_search(v).is_ok()).count();
        assert!(sets.iter().flat_map(|set| set.iter()).all(|v| has(v) == 1));
        for &v in region.passive() {
            assert!(adjacency.of(v as usize).iter().all(|n| has(n) == 1));
        }
    }

    #[test]
    fn rings_distance_and_geodesic_on_a_grid() {
        let n = 21;
        let (points, adjacency) = grid(n);
        let middle = (n * n) / 2;
        let at = |v: u32| points[v as usize] - points[middle as usize];
        for rings in [0, 1, 4] {
            let region = Region::grow(&points, &adjacency, &[middle], Reach::Rings(rings));
            check_roles(&region, &adjacency);
            // Along the diagonal that cells are cut by, one edge covers both steps.
            let hops = |d: DVec3| if d.x * d.y > 0.0 { d.x.abs().max(d.y.abs()) } else { d.x.abs() + d.y.abs() };
            let expected = (0..n * n).filter(|&v| hops(at(v)) <= rings as f64 && v != middle).count();
            assert_eq!(region.passive().len(), expected);
        }
        let round = Region::grow(&points, &adjacency, &[middle, middle, 9999], Reach::Distance(3.5));
        check_roles(&round, &adjacency);
        assert_eq!(round.kinematic(), [middle]);
        assert_eq!(round.passive().len() + 1, (0..n * n).filter(|&v| at(v).length() <= 3.5).count());
        let along = Region::grow(&points, &adjacency, &[middle], Reach::Geodesic(3.0));
        check_roles(&along, &adjacency);
        let way = |d: DVec3| {
            let (a, b) = (d.x.abs().min(d.y.abs()), d.x.abs().max(d.y.abs()));
            if d.x * d.y > 0.0 { b - a + a * 2.0f64.sqrt() } else { a + b }
        };
        assert_eq!(along.passive().len() + 1, (0..n * n).filter(|&v| way(at(v)) <= 3.0 + 1e-12).count());
    }

    #[test]
    fn a_distance_does_not_jump_to_another_piece() {
        let (mut points, _) = grid(5);
        let above: Vec<DVec3> = points.iter().map(|p| *p + DVec3::Z * 0.1).collect();
        points.extend(above);
        let face = |a: u32| [[a, a + 1, a + 6], [a, a + 6, a + 5]];
        let cells = || (0..4u32).flat_map(|y| (0..4).map(move |x| y * 5 + x));
        let faces: Vec<[u32; 3]> = cells().chain(cells().map(|a| a + 25)).flat_map(face).collect();
        let adjacency = Adjacency::new(50, &faces);
        let region = Region::grow(&points, &adjacency, &[12], Reach::Distance(1.2));
        assert!(region.passive().iter().chain(region.fixed()).all(|&v| v < 25));
        assert_eq!(Region::grow(&points, &adjacency, &[], Reach::Rings(4)), Region::default());
    }
}
