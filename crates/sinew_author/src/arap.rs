//! As-rigid-as-possible surfaces (Sorkine and Alexa 2007), and their form on scale vectors (EX 4.1.1).
//!
//! `E = Σ_i Σ_j w_ij‖(p'_i − p'_j) − R_i(p_i − p_j)‖²` falls in two alternating steps: the rotations that fit each cell
//! best, then the positions, `Σ_j w_ij(p'_i − p'_j) = Σ_j ½w_ij(R_i + R_j)(p_i − p_j)`, by one factorisation that serves
//! as long as the region stays the same. Whatever is not passive is known and goes to the right side.
//!
//! The sum runs over the cells that passive vertices have a part in, and every cell has all its edges: that of a held
//! vertex turns mostly as the held surface around it does, so the surface leaves the border in its direction. Cells
//! further off do not depend on what is sought.
//!
//! On scale vectors the rotations are those of the bones: one solve. It shortens like linear blending, so lengths are
//! put back to those at rest if asked.
//!
//! Oracle: a dense solution with cells of the whole surface and rotations by quaternions; libigl's. Rigid motion of the
//! handles moves everything so, at energy 0; the energy never rises; the answer turns with the handles; a bar with
//! turned ends bends evenly.

use crate::cholesky::Cholesky;
use crate::cotangents::cotangent_weights;
use glam::{DMat3, DQuat, DVec3};
use sinew::polar::nearest_rotation;
use sinew::strokes::Region;

/// Why a region cannot be solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// A passive part that touches nothing that is held.
    #[error("vertex {vertex} and those joined to it are free but nothing holds them: hold at least one of them")]
    NothingHeld {
        /// One of the free vertices.
        vertex: u32,
    },
    /// The equations have no unique solution.
    #[error("the region has faces too thin to solve for: merge doubled vertices and remove faces without area")]
    TooThin,
    /// A vertex of the region or of a face that does not exist.
    #[error("vertex {vertex} does not exist")]
    NoSuchVertex {
        /// The vertex named.
        vertex: u32,
    },
}

/// A region ready to be solved any number of times.
#[derive(Clone, Debug)]
pub struct Arap {
    /// The passive vertices, then the known ones that are joined to them, then what else these are joined to.
    vertices: Vec<u32>,
    passive: usize,
    /// Neighbours of each cell, of the passive vertices and of those joined to them, in offset form: index in
    /// `vertices`, weight.
    stops: Vec<u32>,
    spokes: Vec<(u32, f64)>,
    system: Cholesky,
}

impl Arap {
    /// Weights of the rest shape, factored.
    pub fn new(rest: &[DVec3], triangles: &[[u32; 3]], region: &Region) -> Result<Self, RegionError> {
        let exists = |vertex: u32| {
            if (vertex as usize) < rest.len() { Ok(()) } else { Err(RegionError::NoSuchVertex { vertex }) }
        };
        triangles.iter().flatten().try_for_each(|&vertex| exists(vertex))?;
        let held = region.kinematic().iter().chain(region.fixed());
        region.passive().iter().chain(held).try_for_each(|&vertex| exists(vertex))?;
        let mut vertices = region.passive().to_vec();
        let passive = vertices.len();
        let mut local = vec![u32::MAX; rest.len()];
        for (index, &vertex) in vertices.iter().enumerate() {
            local[vertex as usize] = index as u32;
        }
        let weights = cotangent_weights(rest, triangles);
        // What has a cell, and then what the cells reach.
        let mut cells = passive;
        for _ in 0..2 {
            cells = vertices.len();
            for &([a, b], _) in &weights {
                for (from, to) in [(a, b), (b, a)] {
                    if (local[from as usize] as usize) < cells && local[to as usize] == u32::MAX {
                        local[to as usize] = vertices.len() as u32;
                        vertices.push(to);
                    }
                }
            }
        }
        let mut spokes: Vec<(u32, u32, f64)> = Vec::new();
        for &([a, b], weight) in &weights {
            let (a, b) = (local[a as usize], local[b as usize]);
            let of_cells = [(a, b, weight), (b, a, weight)].into_iter().filter(|spoke| (spoke.0 as usize) < cells);
            spokes.extend(of_cells);
        }
        spokes.sort_by_key(|spoke| (spoke.0, spoke.1));
        let mut stops = vec![0u32; cells];
        spokes.iter().for_each(|spoke| stops[spoke.0 as usize] += 1);
        let mut sum = 0;
        for stop in &mut stops {
            sum += *stop;
            *stop = sum;
        }
        if let Some(free) = floating(passive, cells, &spokes) {
            return Err(RegionError::NothingHeld { vertex: vertices[free] });
        }
        let mut lower = Vec::with_capacity(spokes.len());
        for &(a, b, weight) in spokes.iter().filter(|spoke| (spoke.0 as usize) < passive) {
            lower.push((a as usize, a as usize, weight));
            if b < a {
                lower.push((a as usize, b as usize, -weight));
            }
        }
        let system = Cholesky::new(passive, &lower).ok_or(RegionError::TooThin)?;
        let spokes = spokes.into_iter().map(|(_, to, weight)| (to, weight)).collect();
        Ok(Self { vertices, passive, stops, spokes, system })
    }

    fn cell(&self, index: usize) -> &[(u32, f64)] {
        let start = if index == 0 { 0 } else { self.stops[index - 1] as usize };
        &self.spokes[start..self.stops[index] as usize]
    }

    /// Moves the passive vertices of `points`, whose held ones are where they should be; returns the energy after each
    /// iteration. `rest` is the shape that the region was made for.
    pub fn solve(&self, rest: &[DVec3], points: &mut [DVec3], iterations: usize) -> Vec<f64> {
        let rest: Vec<DVec3> = self.vertices.iter().map(|&v| rest[v as usize]).collect();
        let mut now: Vec<DVec3> = self.vertices.iter().map(|&v| points[v as usize]).collect();
        let mut energies = Vec::with_capacity(iterations);
        let mut rotations: Vec<DMat3> = Vec::new();
        for _ in 0..iterations {
            self.fit(&rest, &now, &mut rotations);
            self.place(&rest, &rotations, &mut now);
            energies.push(self.energy(&rest, &rotations, &now));
        }
        for (&vertex, p) in self.vertices[..self.passive].iter().zip(&now) {
            points[vertex as usize] = *p;
        }
        energies
    }

    /// Scale vectors of the passive vertices for given rotations of all; those of held ones are where they should be.
    /// With `keep_lengths` they are as long as at rest.
    pub fn solve_scale_vectors(&self, rest: &[DVec3], rotations: &[DMat3], vectors: &mut [DVec3], keep_lengths: bool) {
        let of_region = |all: &[DVec3]| self.vertices.iter().map(|&v| all[v as usize]).collect::<Vec<DVec3>>();
        let (rest_local, mut now) = (of_region(rest), of_region(vectors));
        let rotations: Vec<DMat3> = self.vertices.iter().map(|&v| rotations[v as usize]).collect();
        self.place(&rest_local, &rotations, &mut now);
        for ((&vertex, s), rest) in self.vertices[..self.passive].iter().zip(&now).zip(&rest_local) {
            let direction = s.try_normalize().filter(|_| keep_lengths);
            vectors[vertex as usize] = direction.map_or(*s, |direction| direction * rest.length());
        }
    }

    /// The rotations of the cells, from those of the iteration before.
    fn fit(&self, rest: &[DVec3], now: &[DVec3], rotations: &mut Vec<DMat3>) {
        let fit = |i: usize| {
            let mut covariance = DMat3::ZERO;
            for &(j, weight) in self.cell(i) {
                let (before, after) = (rest[i] - rest[j as usize], (now[i] - now[j as usize]) * weight);
                covariance += DMat3::from_cols(after * before.x, after * before.y, after * before.z);
            }
            rotations.get(i).and_then(|last| refined_rotation(*last, covariance)).unwrap_or_else(|| {
                let nearest = nearest_rotation(covariance);
                refined_rotation(nearest, covariance).unwrap_or(nearest)
            })
        };
        *rotations = (0..self.stops.len()).map(fit).collect();
    }

    fn place(&self, rest: &[DVec3], rotations: &[DMat3], now: &mut [DVec3]) {
        let mut right: Vec<DVec3> = (0..self.passive)
            .map(|i| {
                let mut sum = DVec3::ZERO;
                for &(j, weight) in self.cell(i) {
                    let k = j as usize;
                    sum += (rotations[i] + rotations[k]) * (rest[i] - rest[k]) * (0.5 * weight);
                    if k >= self.passive {
                        sum += now[k] * weight;
                    }
                }
                sum
            })
            .collect();
        self.system.solve(&mut right);
        now[..self.passive].copy_from_slice(&right);
    }

    fn energy(&self, rest: &[DVec3], rotations: &[DMat3], now: &[DVec3]) -> f64 {
        let mut energy = 0.0;
        for (i, rotation) in rotations.iter().enumerate() {
            for &(j, weight) in self.cell(i) {
                let k = j as usize;
                energy += weight * ((now[i] - now[k]) - *rotation * (rest[i] - rest[k])).length_squared();
            }
        }
        energy
    }
}

/// As [`nearest_rotation`], from a rotation that is near it already: Newton's method on `tr(Rᵀm)`. With `a = m·Rᵀ` a
/// turn by ω changes it by `g·ω − ½ωᵀHω`, `g = Σ r_k × m_k` over the columns, `H = tr(a) − ½(a + aᵀ)`. Half turns away
/// from the nearest there are other rotations where g is nothing; only at the nearest itself is H positive definite.
/// `None` where it is not, or hardly: there `m` leaves a turn open.
fn refined_rotation(near: DMat3, m: DMat3) -> Option<DMat3> {
    const ROUNDS: usize = 8;
    const NOTHING: f64 = 1e-9;
    const NEAR: f64 = 0.5;
    /// Of the trace of H.
    const DEFINITE: f64 = 1e-6;
    let mut r = near;
    for _ in 0..ROUNDS {
        let gradient = r.x_axis.cross(m.x_axis) + r.y_axis.cross(m.y_axis) + r.z_axis.cross(m.z_axis);
        let a = m * r.transpose();
        let trace = a.x_axis.x + a.y_axis.y + a.z_axis.z;
        let hessian = DMat3::from_diagonal(DVec3::splat(trace)) - (a + a.transpose()) * 0.5;
        // Leading minors, in units of its trace.
        let h = hessian * (0.5 / trace);
        let minor = h.x_axis.x * h.y_axis.y - h.x_axis.y * h.x_axis.y;
        if !(trace > 0.0 && h.x_axis.x > DEFINITE && minor > DEFINITE && h.determinant() > DEFINITE) {
            return None;
        }
        let turn = hessian.inverse() * gradient;
        let angle = turn.length();
        if angle.is_nan() || angle >= NEAR {
            return None;
        }
        r = DMat3::from_quat(DQuat::from_scaled_axis(turn)) * r;
        // The error of what is left is the square of this.
        if angle < NOTHING {
            return Some(r);
        }
    }
    None
}

/// A free vertex of a part that no spoke joins to a held one.
fn floating(passive: usize, cells: usize, spokes: &[(u32, u32, f64)]) -> Option<usize> {
    let mut reached = vec![false; passive];
    let mut front: Vec<u32> = (passive as u32..cells as u32).collect();
    while let Some(v) = front.pop() {
        let first = spokes.partition_point(|spoke| spoke.0 < v);
        for &(_, to, _) in spokes[first..].iter().take_while(|spoke| spoke.0 == v) {
            let newly = reached.get_mut(to as usize).is_some_and(|reached| !std::mem::replace(reached, true));
            if newly {
                front.push(to);
            }
        }
    }
    reached.iter().position(|&reached| !reached)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tubes::tube;
    use sinew::strokes::Reach;
    use sinew::topology::Adjacency;
    use std::f64::consts::FRAC_PI_2;

    struct Bar {
        points: Vec<DVec3>,
        faces: Vec<[u32; 3]>,
        region: Region,
    }

    /// A tube along +Y, length 8, radius 0.5, held at both ends.
    fn bar() -> Bar {
        let (points, faces) = tube(8.0, 65);
        let adjacency = Adjacency::new(points.len(), &faces);
        let held: Vec<u32> =
            (0..points.len() as u32).filter(|&v| !(0.5..=7.5).contains(&points[v as usize].y)).collect();
        let region = Region::grow(&points, &adjacency, &held, Reach::Rings(1000));
        Bar { points, faces, region }
    }

    #[test]
    fn rigid_handles_move_everything_rigidly_at_no_energy() {
        let bar = bar();
        let arap = Arap::new(&bar.points, &bar.faces, &bar.region).expect("held");
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.5, 1.2, -2.0);
        let whole: Vec<DVec3> = bar.points.iter().map(|p| turn * *p + DVec3::ONE).collect();
        let mut points = bar.points.clone();
        for &v in bar.region.kinematic() {
            points[v as usize] = whole[v as usize];
        }
        let energies = arap.solve(&bar.points, &mut points, 400);
        let worst = points.iter().zip(&whole).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(worst < 1e-3, "{worst}, energy {:?}", energies.last());
        assert!(energies.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)));
    }

    #[test]
    fn a_bar_with_a_turned_end_bends_evenly_and_turns_with_its_handles() {
        let bar = bar();
        let arap = Arap::new(&bar.points, &bar.faces, &bar.region).expect("held");
        // The far end on a quarter circle of the bar's own length.
        let radius = 8.0 / FRAC_PI_2;
        let bend = |p: DVec3| {
            let (sin, cos) = (p.y / radius).sin_cos();
            DVec3::new(radius - (radius - p.x) * cos, (radius - p.x) * sin, p.z)
        };
        let end = |p: DVec3| {
            let tip = bend(DVec3::Y * 8.0);
            tip + DQuat::from_rotation_z(-FRAC_PI_2) * (p - DVec3::Y * 8.0)
        };
        let solve = |whole: DQuat| {
            let mut points: Vec<DVec3> = bar.points.iter().map(|p| whole * *p).collect();
            for &v in bar.region.kinematic() {
                let p = bar.points[v as usize];
                points[v as usize] = whole * if p.y > 4.0 { end(p) } else { p };
            }
            let energies = arap.solve(&bar.points, &mut points, 300);
            assert!(energies.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "the energy rises");
            points
        };
        let bent = solve(DQuat::IDENTITY);
        let worst = bent.iter().zip(&bar.points).map(|(a, p)| a.distance(bend(*p))).fold(0.0, f64::max);
        assert!(worst < 0.15, "{worst} off the circle on a bar of length 8");
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, 1.0, -0.7, 0.4);
        let turned = solve(turn);
        let worst = turned.iter().zip(&bent).map(|(a, b)| a.distance(turn * *b)).fold(0.0, f64::max);
        assert!(worst < 1e-9, "{worst}");
    }

    #[test]
    fn what_is_refined_is_the_nearest_rotation_from_wherever() {
        let mut random = sinew_testkit::random::Random::new(3);
        let mut found = 0;
        for _ in 0..2000 {
            let m = DMat3::from_cols_array(&std::array::from_fn(|_| random.between(-1.0, 1.0)));
            let nearest = nearest_rotation(m);
            let axis = DVec3::from_array(std::array::from_fn(|_| random.between(-1.0, 1.0))).normalize_or(DVec3::X);
            for angle in [0.0, 0.1, 0.6, 2.0, std::f64::consts::PI] {
                let from = DMat3::from_axis_angle(axis, angle) * nearest;
                if let Some(refined) = refined_rotation(from, m) {
                    let off = (refined - nearest).to_cols_array().into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
                    assert!(off < 1e-6, "{off:e} from {angle} away");
                    found += 1;
                }
            }
            // The other rotations where the gradient is nothing lie half a turn about the principal axes away.
            let flat = DMat3::from_diagonal(DVec3::new(1.0, random.between(0.1, 1.0), 0.0));
            for half in DVec3::AXES.map(|axis| DMat3::from_axis_angle(axis, std::f64::consts::PI)) {
                assert_eq!(refined_rotation(half, flat), None);
            }
        }
        assert!(found > 2000, "{found}");
        for m in [DMat3::ZERO, DMat3::from_diagonal(DVec3::X), DMat3::from_diagonal(DVec3::new(1.0, 1.0, -1.0))] {
            assert_eq!(refined_rotation(DMat3::IDENTITY, m), None, "a turn is left open");
        }
    }

    #[test]
    fn held_vertices_stay_bit_for_bit_and_unheld_ones_are_refused() {
        let bar = bar();
        let arap = Arap::new(&bar.points, &bar.faces, &bar.region).expect("held");
        let mut points: Vec<DVec3> = bar.points.iter().map(|p| *p * 1.1).collect();
        let before = points.clone();
        arap.solve(&bar.points, &mut points, 3);
        assert!(bar.region.kinematic().iter().all(|&v| points[v as usize] == before[v as usize]));
        let adjacency = Adjacency::new(bar.points.len() + 3, &[[0, 1, 2]]);
        let apart = Region::grow(&bar.points, &adjacency, &[0], Reach::Rings(1));
        assert!(Arap::new(&bar.points, &[[0, 1, 2]], &apart).is_ok());
        assert!(matches!(Arap::new(&bar.points, &[[3, 4, 5]], &apart), Err(RegionError::NothingHeld { .. })));
        assert!(matches!(Arap::new(&bar.points[..2], &[[0, 1, 2]], &apart), Err(RegionError::NoSuchVertex { .. })));
    }

    #[test]
    fn scale_vectors_follow_the_bones_and_keep_their_lengths() {
        let bar = bar();
        let arap = Arap::new(&bar.points, &bar.faces, &bar.region).expect("held");
        let vectors: Vec<DVec3> = bar.points.iter().map(|p| DVec3::new(p.x, 0.0, p.z)).collect();
        let turn = DMat3::from_rotation_z(-FRAC_PI_2);
        let solve = |rotations: &dyn Fn(DVec3) -> DMat3, keep: bool| {
            let rotations: Vec<DMat3> = bar.points.iter().map(|&p| rotations(p)).collect();
            let mut moved: Vec<DVec3> = vectors.iter().zip(&rotations).map(|(s, r)| *r * *s).collect();
            arap.solve_scale_vectors(&vectors, &rotations, &mut moved, keep);
            moved
        };
        let all = solve(&|_| turn, false);
        assert!(all.iter().zip(&vectors).all(|(a, s)| a.distance(turn * *s) < 1e-9), "one rotation turns them all");
        let bend = |p: DVec3| if p.y > 4.0 { turn } else { DMat3::IDENTITY };
        let shortest = |moved: &[DVec3]| moved.iter().map(|s| s.length() / 0.5).fold(f64::INFINITY, f64::min);
        let (short, kept) = (solve(&bend, false), solve(&bend, true));
        assert!(shortest(&short) < 0.8, "half-way they shorten as linear blending does");
        assert!((shortest(&kept) - 1.0).abs() < 1e-9);
    }
}
