//! Fractions of transforms: `M^l = exp(l·log M)` in closed form.
//!
//! Source: KD appendix B. A rigid transform is the exponential of a twist (r, τ), the velocity field
//! `r×p + τ`: `R = exp[r]×`, `t = V τ`, `V = I + (1−cos θ)/θ² [r]× + (θ−sin θ)/θ³ [r]×²`, and back
//! `V⁻¹ = I − ½[r]× + k[r]×²`, `k = (1 − (θ/2) cot(θ/2))/θ²`, θ = |r|. Series stand in for the quotients below 1e-2.
//! Transforms that scale or shear have no closed form here; their logarithm is taken by inverse scaling and squaring.
//! Oracle: `(M^½)² = M` to 1e-12 for θ from 1e-7 to π; `exp(log M) = M` for transforms that scale.

use crate::clip::rotation_log;
use glam::{DAffine3, DMat3, DMat4, DQuat, DVec3};

/// Below this angle quotients of differences lose digits and their series have lost none.
const SERIES_BELOW: f64 = 1e-2;
/// Transforms this close to rigid count as such.
const RIGID: f64 = 1e-12;

/// A velocity field of rigid motion: `angular × p + linear`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Twist {
    pub angular: DVec3,
    /// Velocity at the origin.
    pub linear: DVec3,
}

impl Twist {
    /// Of a rotation followed by a translation, by the shortest way.
    pub fn log(rotation: DQuat, translation: DVec3) -> Self {
        let r = rotation_log(rotation);
        let theta = r.length();
        let k = if theta < SERIES_BELOW {
            let square = theta * theta;
            1.0 / 12.0 + square / 720.0 + square * square / 30_240.0
        } else {
            let half = 0.5 * theta;
            (1.0 - half * half.cos() / half.sin()) / (theta * theta)
        };
        let across = r.cross(translation);
        Self { angular: r, linear: translation - across * 0.5 + r.cross(across) * k }
    }

    /// Where it takes things in a time of 1.
    pub fn exp(self) -> DAffine3 {
        let r = self.angular;
        let theta = r.length();
        let (a, b) = if theta < SERIES_BELOW {
            let square = theta * theta;
            (0.5 - square / 24.0 + square * square / 720.0, 1.0 / 6.0 - square / 120.0 + square * square / 5_040.0)
        } else {
            let half_sine = (0.5 * theta).sin() / theta;
            (2.0 * half_sine * half_sine, (theta - theta.sin()) / (theta * theta * theta))
        };
        let across = r.cross(self.linear);
        let translation = self.linear + across * a + r.cross(across) * b;
        DAffine3::from_rotation_translation(DQuat::from_scaled_axis(r), translation)
    }

    /// `l` times it.
    pub fn times(self, l: f64) -> Self {
        Self { angular: self.angular * l, linear: self.linear * l }
    }

    /// The same field as a generator.
    pub fn generator(self) -> Generator {
        let r = self.angular;
        let matrix =
            DMat3::from_cols(DVec3::new(0.0, r.z, -r.y), DVec3::new(-r.z, 0.0, r.x), DVec3::new(r.y, -r.x, 0.0));
        Generator(DAffine3 { matrix3: matrix, translation: self.linear })
    }
}

/// A velocity field that is affine in the point: `v(p) = A p + τ`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Generator(DAffine3);

impl Generator {
    pub const ZERO: Self = Self(DAffine3::ZERO);

    /// The field that takes things where `m` puts them in a time of 1, by the shortest way. A transform that has none
    /// (one that flattens space, or mirrors it) is answered by the straight way.
    pub fn log(m: DAffine3) -> Self {
        let gram = m.matrix3.transpose() * m.matrix3 - DMat3::IDENTITY;
        if gram.to_cols_array().iter().all(|entry| entry.abs() <= RIGID) && m.matrix3.determinant() > 0.0 {
            return Twist::log(DQuat::from_mat3(&m.matrix3).normalize(), m.translation).generator();
        }
        let general = general_log(DMat4::from(m));
        if general.is_finite() {
            return Self(DAffine3::from_mat4(general));
        }
        Self(DAffine3 { matrix3: m.matrix3 - DMat3::IDENTITY, translation: m.translation })
    }

    /// Velocity at a point.
    pub fn at(&self, p: DVec3) -> DVec3 {
        self.0.matrix3 * p + self.0.translation
    }

    /// Angular velocity: half the curl.
    pub fn angular(&self) -> DVec3 {
        let m = &self.0.matrix3;
        0.5 * DVec3::new(m.y_axis.z - m.z_axis.y, m.z_axis.x - m.x_axis.z, m.x_axis.y - m.y_axis.x)
    }

    /// The same field seen after `frame` has carried everything.
    pub fn carried(&self, frame: DAffine3) -> Self {
        let inverse = frame.inverse();
        let matrix3 = frame.matrix3 * self.0.matrix3 * inverse.matrix3;
        let translation = frame.matrix3 * (self.0.matrix3 * inverse.translation + self.0.translation);
        let carried = Self(DAffine3 { matrix3, translation });
        if carried.0.is_finite() { carried } else { Self::ZERO }
    }

    pub fn times(self, k: f64) -> Self {
        Self(DAffine3 { matrix3: self.0.matrix3 * k, translation: self.0.translation * k })
    }

    /// Where the flow over a time of `t` takes `p`: the exponential series, to the last bit of what half a radian needs.
    #[cfg(test)]
    fn flow(&self, t: f64, p: DVec3) -> DVec3 {
        let mut term = self.at(p) * t;
        let mut sum = p + term;
        for k in 2..=10 {
            term = self.0.matrix3 * term * (t / f64::from(k));
            sum += term;
        }
        sum
    }
}

impl From<Generator> for DAffine3 {
    fn from(field: Generator) -> Self {
        field.0
    }
}

/// Logarithm of a matrix near the positive ones: square roots until it is near the identity, then the series of the
/// inverse hyperbolic tangent.
fn general_log(mut m: DMat4) -> DMat4 {
    const ROOTS: i32 = 4;
    for _ in 0..ROOTS {
        // Denman–Beavers: quadratic convergence.
        let (mut root, mut inverse) = (m, DMat4::IDENTITY);
        for _ in 0..12 {
            (root, inverse) = ((root + inverse.inverse()) * 0.5, (inverse + root.inverse()) * 0.5);
        }
        m = root;
    }
    let y = (m - DMat4::IDENTITY) * (m + DMat4::IDENTITY).inverse();
    let square = y * y;
    let (mut power, mut sum) = (y, y);
    for k in 1..16 {
        power *= square;
        sum += power * (1.0 / f64::from(2 * k + 1));
    }
    sum * 2.0 * f64::powi(2.0, ROOTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(a: DAffine3, b: DAffine3) -> f64 {
        a.to_cols_array().iter().zip(b.to_cols_array()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    fn axes() -> [DVec3; 4] {
        [DVec3::X, DVec3::new(0.3, -0.5, 0.9), DVec3::new(-1.0, 2.0, 0.1), DVec3::new(1e-9, 0.0, 1.0)]
            .map(DVec3::normalize)
    }

    #[test]
    fn half_a_transform_twice_is_the_whole() {
        for axis in axes() {
            for theta in [0.0, 1e-7, 1e-5, 1e-3, 0.0099, 0.0101, 0.5, 2.0, 3.0, std::f64::consts::PI] {
                let t = DVec3::new(0.7, -1.3, 0.4);
                let m = DAffine3::from_rotation_translation(DQuat::from_axis_angle(axis, theta), t);
                let twist = Twist::log(DQuat::from_axis_angle(axis, theta), t);
                let half = twist.times(0.5).exp();
                assert!(worst(half * half, m) < 1e-12, "{axis} {theta}: {:e}", worst(half * half, m));
                assert!(worst(twist.exp(), m) < 1e-12);
                let third = twist.times(1.0 / 3.0).exp();
                assert!(worst(third * third * third, m) < 1e-12);
            }
        }
    }

    #[test]
    fn a_hinge_turns_about_its_joint() {
        // A fraction of a turn about a point leaves the point where it is.
        let pivot = DVec3::new(1.0, 2.0, -3.0);
        let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 2.6);
        let twist = Twist::log(turn, pivot - turn * pivot);
        for l in [0.1, 0.5, 0.9] {
            assert!((twist.times(l).exp().transform_point3(pivot) - pivot).length() < 1e-12);
        }
    }

    #[test]
    fn the_flow_of_a_logarithm_ends_where_the_transform_does() {
        let turn = DQuat::from_scaled_axis(DVec3::new(0.2, 0.4, -0.1));
        let p = DVec3::new(0.3, 1.0, -2.0);
        for scale in [DVec3::ONE, DVec3::splat(1.3), DVec3::new(1.0, 0.7, 1.2)] {
            let m = DAffine3::from_scale_rotation_translation(scale, turn, DVec3::new(0.5, 0.0, 0.2));
            let generator = Generator::log(m);
            assert!((generator.flow(1.0, p) - m.transform_point3(p)).length() < 1e-9, "{scale}");
            // Two halves, by another route than one whole.
            let half = generator.flow(0.5, generator.flow(0.5, p));
            assert!((half - m.transform_point3(p)).length() < 1e-10, "{scale}");
        }
        let flat = Generator::log(DAffine3::from_scale(DVec3::new(1.0, 0.0, 1.0)));
        assert!(flat.at(p).is_finite());
    }

    #[test]
    fn a_carried_field_is_the_field_in_other_axes() {
        let field = Twist { angular: DVec3::new(0.1, 0.7, -0.4), linear: DVec3::new(1.0, -2.0, 0.3) };
        let frame = DAffine3::from_scale_rotation_translation(
            DVec3::splat(2.5),
            DQuat::from_scaled_axis(DVec3::new(-0.9, 0.3, 0.2)),
            DVec3::new(4.0, 0.0, 1.0),
        );
        let p = DVec3::new(0.2, -0.6, 1.4);
        let carried = field.generator().carried(frame);
        let expected = frame.transform_vector3(field.generator().at(p));
        assert!((carried.at(frame.transform_point3(p)) - expected).length() < 1e-13);
        assert!((carried.angular() - frame.transform_vector3(field.angular) / 2.5).length() < 1e-13);
    }
}
