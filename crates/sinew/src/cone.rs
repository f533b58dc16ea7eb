//! A cone, and the cone nearest to a region of a surface: the proxy of centrifugal lift (AS 5; there set by hand).
//!
//! With h along the axis ê (towards the apex) and ρ the distance to it, the signed distance to a cone of half-angle β is
//! `ρ cos β + h sin β − δ`: a straight line in the (ρ, h) half-plane in Hesse's form. It has no pole, neither for a
//! cylinder (β = 0, apex at infinity) nor for a disc (β = 90°), and its gradient is the normal `n = cos β·r̂ + sin β·ê`.
//!
//! The fit minimises the weighted sum of its squares over axis direction, axis place, β and δ by Levenberg–Marquardt in
//! f64, in coordinates of unit spread. It starts from every direction that may be the axis: normals of a cone make one
//! angle with it, so it is a principal direction of their spread, and of the region's own. For each, the axis goes
//! where the lines along the normals meet, which also finds it for a part of a turn; the best result is taken.
//!
//! Oracle: exact cones are found again; rigid motion and scale of the region move the cone and nothing else.

use crate::maps::{PointMap, RestSurface};
use crate::skeleton::BoneId;
use glam::{DMat3, DVec3};
use std::f64::consts::FRAC_PI_2;

/// Narrower is a cylinder: its apex is put a million radii away instead of at infinity.
const LEAST_HALF_ANGLE: f64 = 1e-6;
/// A region flatter or straighter than this share of its size does not tell one cone from another.
const LEAST_SPREAD: f64 = 1e-5;
/// The narrow end: the radius that this share of the region stays below.
const NARROW_QUANTILE: f64 = 0.02;
const ROUNDS: usize = 60;

/// A cone.
///
/// # Invariants
/// The axis is a unit vector, the half-angle between 0 and π/2 (both excluded), the base radius not negative, all of it
/// finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    axis: DVec3,
    apex: DVec3,
    half_angle: f64,
    base_radius: f64,
}

/// A fitted cone and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConeFit {
    /// The cone.
    pub cone: Cone,
    /// Weighted root mean square of the points' distances to it, as a fraction of the region's size (twice the
    /// largest distance of its points from their mean).
    pub rms: f64,
    /// The largest of these distances, as the same fraction.
    pub largest: f64,
}

/// Why there is no cone.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ConeError {
    /// A field of a cone set by hand.
    #[error("the cone's {field} is {value}: give {remedy}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What would do.
        remedy: &'static str,
    },
    /// Csr of different lengths.
    #[error("the region has {points} points, {normals} normals and {weights} weights: give one of each per point")]
    Lengths {
        /// Points.
        points: usize,
        /// Normals.
        normals: usize,
        /// Weights.
        weights: usize,
    },
    /// A point, normal or weight that is not finite, or a negative weight.
    #[error("point {0} of the region has a position, normal or weight that is not a usable number")]
    NotUsable(usize),
    /// Too few points.
    #[error("the region has {0} points with weight; a cone needs at least 6: paint a larger region")]
    TooFew(usize),
    /// All points on a line or in one place.
    #[error("the region lies on a line: paint an area that goes around the limb or the skirt")]
    Straight,
    /// All points in a plane.
    #[error("the region is flat and has no clear axis: paint farther around, or set the cone by hand")]
    Flat,
    /// Bent so that no cone of use is near it.
    #[error("no cone fits the region: paint only the part that widens, or set the cone by hand")]
    NoCone,
    /// The bone has no frame at rest.
    #[error("the bone is scaled to nothing at rest, so a cone cannot be stored with it: choose another bone")]
    NoFrame,
}

impl Cone {
    /// A cone from its wide end along `axis` to its `apex`; the axis may have any length.
    pub fn new(axis: DVec3, apex: DVec3, half_angle: f64, base_radius: f64) -> Result<Self, ConeError> {
        let field = |field, value, remedy| Err(ConeError::Field { field, value, remedy });
        let Some(axis) = axis.try_normalize() else {
            return field("axis length", axis.length(), "a finite direction other than 0, 0, 0");
        };
        if !apex.is_finite() {
            return field("apex", apex.element_sum(), "finite coordinates");
        }
        if !(half_angle > 0.0 && half_angle < FRAC_PI_2) {
            return field("half-angle", half_angle, "an angle between 0 and π/2 radians, both excluded");
        }
        if !(base_radius >= 0.0 && base_radius.is_finite()) {
            return field("base radius", base_radius, "0 or a positive length");
        }
        Ok(Self { axis, apex, half_angle, base_radius })
    }

    /// ê: unit, from the wide end to the apex.
    pub fn axis(&self) -> DVec3 {
        self.axis
    }

    /// The tip.
    pub fn apex(&self) -> DVec3 {
        self.apex
    }

    /// β, in radians.
    pub fn half_angle(&self) -> f64 {
        self.half_angle
    }

    /// r0: distance to the axis from which the lift starts.
    pub fn base_radius(&self) -> f64 {
        self.base_radius
    }

    /// Distance of `p` to the axis.
    pub fn radius_at(&self, p: DVec3) -> f64 {
        self.across(p).length()
    }

    /// Outward unit normal `cos β·r̂ + sin β·ê` on the side of the cone where `p` is; on the axis itself, ê.
    pub fn normal_at(&self, p: DVec3) -> DVec3 {
        match self.across(p).try_normalize() {
            Some(radial) => radial * self.half_angle.cos() + self.axis * self.half_angle.sin(),
            None => self.axis,
        }
    }

    /// Distance of `p` to the surface; beyond the apex, to the apex.
    pub fn distance(&self, p: DVec3) -> f64 {
        let from_apex = p - self.apex;
        let (along, radius) = (from_apex.dot(self.axis), self.radius_at(p));
        let (sin, cos) = self.half_angle.sin_cos();
        // The foot on the generating line lies on the other side of the apex.
        if radius * sin - along * cos < 0.0 { from_apex.length() } else { (radius * cos + along * sin).abs() }
    }

    fn across(&self, p: DVec3) -> DVec3 {
        let from_apex = p - self.apex;
        from_apex - self.axis * self.axis.dot(from_apex)
    }

    /// The cone nearest to a region: points, their normals (inward or outward, zero where unknown) and weights ≥ 0.
    pub fn fit(points: &[DVec3], normals: &[DVec3], weights: &[f64]) -> Result<ConeFit, ConeError> {
        let region = Region::new(points, normals, weights)?;
        let starts = region.axis_candidates().into_iter().filter_map(|axis| region.start(axis));
        let fitted = starts.map(|start| region.refine(start));
        let best = fitted.min_by(|a, b| a.1.total_cmp(&b.1)).ok_or(ConeError::NoCone)?;
        region.report(best.0)
    }

    /// The cone nearest to where `map` is positive on a rig at rest, points counting by area and value, in the frame of
    /// `bone` (like centroids: the full inverse of its world transform, scale included).
    pub fn fit_region(surface: &RestSurface<'_>, bone: BoneId, map: &PointMap) -> Result<ConeFit, ConeError> {
        let bone_from_world = surface.world().world_from_bone(bone).inverse();
        if !bone_from_world.is_finite() {
            return Err(ConeError::NoFrame);
        }
        let normal_matrix = bone_from_world.matrix3.inverse().transpose();
        let (mut points, mut normals, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        // Areas relative to the whole, so that the units of the rig do not matter.
        let total: f64 = surface.areas().iter().sum();
        for slot in surface.all_slots().filter(|&slot| map.at(slot) > 0.0) {
            points.push(bone_from_world.transform_point3(surface.points()[slot]));
            normals.push((normal_matrix * surface.normals()[slot]).normalize_or_zero());
            weights.push(f64::from(map.at(slot)) * surface.areas()[slot] / total);
        }
        Self::fit(&points, &normals, &weights)
    }
}

/// Unknowns of the fit, in the region's own coordinates.
#[derive(Clone, Copy, Debug)]
struct Guess {
    axis: DVec3,
    /// A point on the axis, across from the region's middle.
    foot: DVec3,
    half_angle: f64,
    offset: f64,
}

impl Guess {
    /// Radial direction, ρ and h of a point.
    fn place(&self, p: DVec3) -> (DVec3, f64, f64) {
        let q = p - self.foot;
        let h = q.dot(self.axis);
        let across = q - self.axis * h;
        let radius = across.length();
        (if radius > 0.0 { across / radius } else { DVec3::ZERO }, radius, h)
    }
}

/// A region in coordinates of zero mean and unit spread, with weights that sum to 1.
struct Region {
    points: Vec<DVec3>,
    normals: Vec<DVec3>,
    weights: Vec<f64>,
    middle: DVec3,
    spread: f64,
}

impl Region {
    fn new(points: &[DVec3], normals: &[DVec3], weights: &[f64]) -> Result<Self, ConeError> {
        if points.len() != normals.len() || points.len() != weights.len() {
            return Err(ConeError::Lengths { points: points.len(), normals: normals.len(), weights: weights.len() });
        }
        let usable =
            |(p, (n, w)): (&DVec3, (&DVec3, &f64))| p.is_finite() && n.is_finite() && w.is_finite() && *w >= 0.0;
        if let Some(bad) = points.iter().zip(normals.iter().zip(weights)).position(|point| !usable(point)) {
            return Err(ConeError::NotUsable(bad));
        }
        let mine: Vec<usize> = (0..points.len()).filter(|&i| weights[i] > 0.0).collect();
        if mine.len() < 6 {
            return Err(ConeError::TooFew(mine.len()));
        }
        // Divided by the largest first: neither many huge nor many tiny weights leave the range of f64.
        let heaviest = weights.iter().copied().fold(0.0, f64::max);
        let total: f64 = mine.iter().map(|&i| weights[i] / heaviest).sum();
        let weights: Vec<f64> = mine.iter().map(|&i| weights[i] / heaviest / total).collect();
        let points: Vec<DVec3> = mine.iter().map(|&i| points[i]).collect();
        let middle: DVec3 = points.iter().zip(&weights).map(|(&p, &w)| p * w).sum();
        let extent = points.iter().map(|&p| (p - middle).abs().max_element()).fold(0.0, f64::max);
        // Rounding alone parts points in one place far from the origin.
        if extent <= 1e-12 * middle.abs().max_element() || !extent.is_finite() {
            return Err(ConeError::Straight);
        }
        let square: f64 =
            points.iter().zip(&weights).map(|(&p, &w)| ((p - middle) / extent).length_squared() * w).sum();
        let spread = extent * square.sqrt();
        let points: Vec<DVec3> = points.into_iter().map(|p| (p - middle) / spread).collect();
        let normals = mine.iter().map(|&i| normals[i].normalize_or_zero()).collect();
        let region = Self { points, normals, weights, middle, spread };
        let (variances, _) = eigen(region.covariance(&region.points, DVec3::ZERO));
        let told_apart = |variance: f64| variance > LEAST_SPREAD * LEAST_SPREAD;
        if !told_apart(variances.y) {
            return Err(ConeError::Straight);
        }
        if !told_apart(variances.x) {
            return Err(ConeError::Flat);
        }
        Ok(region)
    }

    fn covariance(&self, vectors: &[DVec3], mean: DVec3) -> DMat3 {
        let outer = |v: DVec3| DMat3::from_cols(v * v.x, v * v.y, v * v.z);
        vectors.iter().zip(&self.weights).fold(DMat3::ZERO, |sum, (&v, &w)| sum + outer(v - mean) * w)
    }

    /// Principal directions of the normals about their mean, of the normals, and of the points.
    fn axis_candidates(&self) -> Vec<DVec3> {
        let mean: DVec3 = self.normals.iter().zip(&self.weights).map(|(&n, &w)| n * w).sum();
        let spreads = [
            self.covariance(&self.normals, mean),
            self.covariance(&self.normals, DVec3::ZERO),
            self.covariance(&self.points, DVec3::ZERO),
        ];
        spreads.into_iter().flat_map(|spread| eigen(spread).1).collect()
    }

    /// The cone about a direction: the axis where the normals' lines meet, then the best line through (ρ, h).
    fn start(&self, axis: DVec3) -> Option<Guess> {
        let (u, v) = axis.any_orthonormal_pair();
        let flat = |p: DVec3| [p.dot(u), p.dot(v)];
        // Σ w (|n|² I − n nᵀ)(c − p) = 0 in the plane across the axis, drawn a little towards the middle: a flat
        // patch, where lines are parallel, must not send the axis to infinity.
        let (mut a, mut b, mut d, mut right) = (1e-9, 0.0, 1e-9, [0.0; 2]);
        for ((&p, &n), &w) in self.points.iter().zip(&self.normals).zip(&self.weights) {
            let ([px, py], [nx, ny]) = (flat(p), flat(n));
            let (m00, m01, m11) = (w * ny * ny, -w * nx * ny, w * nx * nx);
            (a, b, d) = (a + m00, b + m01, d + m11);
            right = [right[0] + m00 * px + m01 * py, right[1] + m01 * px + m11 * py];
        }
        let determinant = a * d - b * b;
        let foot =
            u * ((right[0] * d - right[1] * b) / determinant) + v * ((right[1] * a - right[0] * b) / determinant);
        let mut guess = Guess { axis, foot, half_angle: 0.0, offset: 0.0 };
        let (mut mean, mut square) = ([0.0; 2], [0.0; 3]);
        for (&p, &w) in self.points.iter().zip(&self.weights) {
            let (_, radius, h) = guess.place(p);
            mean = [mean[0] + w * radius, mean[1] + w * h];
            square = [square[0] + w * radius * radius, square[1] + w * radius * h, square[2] + w * h * h];
        }
        let [rr, rh, hh] =
            [square[0] - mean[0] * mean[0], square[1] - mean[0] * mean[1], square[2] - mean[1] * mean[1]];
        // (cos β, sin β) is across the line, the direction of most spread.
        guess.half_angle = fold_angle(0.5 * (2.0 * rh).atan2(rr - hh) + FRAC_PI_2);
        guess.offset = mean[0] * guess.half_angle.cos() + mean[1] * guess.half_angle.sin();
        (guess.foot.is_finite() && guess.offset.is_finite()).then_some(guess)
    }

    fn error(&self, guess: &Guess) -> f64 {
        let (sin, cos) = guess.half_angle.sin_cos();
        let square = |(&p, &w): (&DVec3, &f64)| {
            let (_, radius, h) = guess.place(p);
            let distance = radius * cos + h * sin - guess.offset;
            w * distance * distance
        };
        self.points.iter().zip(&self.weights).map(square).sum()
    }

    /// Levenberg–Marquardt: turns of the axis, shifts across it, half-angle, offset.
    fn refine(&self, mut guess: Guess) -> (Guess, f64) {
        let mut error = self.error(&guess);
        let mut damping = 1e-3;
        for _ in 0..ROUNDS {
            let (u, v) = guess.axis.any_orthonormal_pair();
            let (sin, cos) = guess.half_angle.sin_cos();
            let (mut matrix, mut right) = ([[0.0; 6]; 6], [0.0; 6]);
            for (&p, &w) in self.points.iter().zip(&self.weights) {
                let (radial, radius, h) = guess.place(p);
                let lever = radius * sin - h * cos;
                let [ru, rv] = [radial.dot(u), radial.dot(v)];
                let gradient = [ru * lever, rv * lever, -cos * ru, -cos * rv, -lever, -1.0];
                let distance = radius * cos + h * sin - guess.offset;
                for (i, &g) in gradient.iter().enumerate() {
                    right[i] -= w * g * distance;
                    for (j, &k) in gradient.iter().enumerate() {
                        matrix[i][j] += w * g * k;
                    }
                }
            }
            let mut improved = false;
            while damping < 1e12 {
                let mut damped = matrix;
                for (i, row) in damped.iter_mut().enumerate() {
                    // The floor keeps unknowns that do not matter (the place of a disc's axis) where they are.
                    row[i] += damping * row[i].max(1e-12);
                }
                let Some(step) = solve(damped, right) else {
                    damping *= 10.0;
                    continue;
                };
                let axis = (guess.axis + u * step[0] + v * step[1]).normalize();
                let moved = Guess {
                    axis,
                    foot: guess.foot + u * step[2] + v * step[3],
                    half_angle: guess.half_angle + step[4],
                    offset: guess.offset + step[5],
                };
                let new_error = self.error(&moved);
                if new_error < error {
                    (guess, error, improved) = (moved, new_error, true);
                    damping = (damping * 0.1).max(1e-15);
                    break;
                }
                damping *= 10.0;
            }
            if !improved {
                break;
            }
        }
        (guess, error)
    }

    /// The cone in the caller's coordinates, axis towards the apex, with its residual.
    fn report(&self, guess: Guess) -> Result<ConeFit, ConeError> {
        let mut guess = Guess { half_angle: fold_angle(guess.half_angle), ..guess };
        // The turn that takes the angle to (−π/2, π/2] takes the sign of the distance with it.
        let mean = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            self.points
                .iter()
                .zip(&self.weights)
                .map(|(&p, &w)| {
                    let (_, radius, h) = guess.place(p);
                    w * f(radius, h)
                })
                .sum()
        };
        let (sin, cos) = guess.half_angle.sin_cos();
        guess.offset = mean(&|radius, h| radius * cos + h * sin);
        if guess.half_angle < 0.0 {
            guess.axis = -guess.axis;
            guess.half_angle = -guess.half_angle;
        }
        guess.half_angle = guess.half_angle.clamp(LEAST_HALF_ANGLE, FRAC_PI_2 - LEAST_HALF_ANGLE);
        let apex = guess.foot + guess.axis * (guess.offset / guess.half_angle.sin());
        let mut radii: Vec<(f64, f64)> =
            self.points.iter().zip(&self.weights).map(|(&p, &w)| (guess.place(p).1, w)).collect();
        radii.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        let narrow = radii.iter().find(|(_, w)| {
            below += w;
            below >= NARROW_QUANTILE
        });
        let base_radius = narrow.map_or(0.0, |&(radius, _)| radius);
        let cone = Cone::new(guess.axis, self.middle + apex * self.spread, guess.half_angle, base_radius * self.spread)
            .map_err(|_| ConeError::NoCone)?;
        let local = Cone { apex, ..cone };
        let size = 2.0 * self.points.iter().map(|p| p.length()).fold(0.0, f64::max);
        let distances = self.points.iter().map(|&p| local.distance(p) / size);
        let largest = distances.clone().fold(0.0, f64::max);
        let rms = distances.zip(&self.weights).map(|(d, w)| w * d * d).sum::<f64>().sqrt();
        Ok(ConeFit { cone, rms, largest })
    }
}

/// The same line through the origin, in (−π/2, π/2].
fn fold_angle(angle: f64) -> f64 {
    let half_turns = (angle / (2.0 * FRAC_PI_2)).round();
    angle - half_turns * 2.0 * FRAC_PI_2
}

/// Eigenvalues of a symmetric matrix, ascending, and unit eigenvectors (Jacobi's rotations).
fn eigen(matrix: DMat3) -> (DVec3, [DVec3; 3]) {
    let mut a = matrix.to_cols_array_2d();
    let mut vectors = [DVec3::X, DVec3::Y, DVec3::Z];
    for _ in 0..20 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
            let (s, c) = angle.sin_cos();
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            let (rp, rq) = (a[p], a[q]);
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * rp[k] - s * rq[k], s * rp[k] + c * rq[k]);
            }
            (vectors[p], vectors[q]) = (vectors[p] * c - vectors[q] * s, vectors[p] * s + vectors[q] * c);
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
    (DVec3::from_array(order.map(|i| a[i][i])), order.map(|i| vectors[i].normalize_or(DVec3::Y)))
}

/// Solves a symmetric positive definite system by Cholesky; `None` where it is not.
fn solve(mut m: [[f64; 6]; 6], mut b: [f64; 6]) -> Option<[f64; 6]> {
    for i in 0..6 {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| m[i][k] * m[j][k]).sum();
            let rest = m[i][j] - dot;
            if i == j {
                if rest <= 0.0 || rest.is_nan() {
                    return None;
                }
                m[i][i] = rest.sqrt();
            } else {
                m[i][j] = rest / m[j][j];
            }
        }
    }
    for i in 0..6 {
        let dot: f64 = (0..i).map(|k| m[i][k] * b[k]).sum();
        b[i] = (b[i] - dot) / m[i][i];
    }
    for i in (0..6).rev() {
        let dot: f64 = (i + 1..6).map(|k| m[k][i] * b[k]).sum();
        b[i] = (b[i] - dot) / m[i][i];
    }
    b.iter().all(|x| x.is_finite()).then_some(b)
}
