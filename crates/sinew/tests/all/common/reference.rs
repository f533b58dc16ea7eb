//! The displacements a second time: in f64, from the formulas as printed, by other means than the library's
//! (matrix exponentials for rotations, explicit bases for squash).
use glam::{DMat3, DVec3};

/// One bone's motion.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bone {
    pub origin: DVec3,
    pub centroid: DVec3,
    pub v: DVec3,
    pub omega: DVec3,
    pub a: DVec3,
    pub alpha: DVec3,
    pub size: f64,
}

/// Gains and limits, scale-free.
#[derive(Clone, Copy, Debug)]
pub struct Knobs {
    pub translation: f64,
    pub rotation: f64,
    pub max_length: f64,
    pub max_angle: f64,
    pub soft: bool,
    pub rest_time: f64,
}

impl Knobs {
    /// As values of an effect that swings.
    pub fn swing(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("translation", self.translation),
            ("rotation", self.rotation),
            ("max_length", self.max_length),
            ("max_angle", self.max_angle),
            ("soft", f64::from(u8::from(self.soft))),
        ]
    }

    /// As values of one that knows setting off from braking.
    pub fn inertia(&self) -> Vec<(&'static str, f64)> {
        let mut values = self.swing();
        values.push(("rest_time", self.rest_time));
        values
    }
}

/// Numbers that follow from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn signed(&mut self, most: f64) -> f64 {
        (self.next() * 2.0 - 1.0) * most
    }

    pub fn vector(&mut self, most: f64) -> DVec3 {
        DVec3::new(self.signed(most), self.signed(most), self.signed(most))
    }
}

fn cross_matrix(v: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0))
}

/// Matrix exponential by scaling, Taylor and squaring.
pub fn exponential(m: DMat3) -> DMat3 {
    let halvings = 12;
    let small = m * (0.5f64).powi(halvings);
    let (mut sum, mut term) = (DMat3::IDENTITY, DMat3::IDENTITY);
    for k in 1..12 {
        term = term * small * (1.0 / f64::from(k));
        sum += term;
    }
    for _ in 0..halvings {
        sum *= sum;
    }
    sum
}

pub fn limited(x: f64, max: f64, soft: bool) -> f64 {
    if soft { x / (1.0 + (x / max).abs().powi(4)).powf(0.25) } else { x.clamp(-max, max) }
}

fn shove(u: DVec3, gain: f64, max: f64, soft: bool) -> DVec3 {
    let length = (u * gain).length();
    if length == 0.0 { DVec3::ZERO } else { u * gain * (limited(length, max, soft) / length) }
}

fn turn(axis: DVec3, r: DVec3, gain: f64, max: f64, soft: bool) -> DVec3 {
    if axis == DVec3::ZERO {
        return DVec3::ZERO;
    }
    let angle = limited(gain * axis.cross(r).length(), max, soft);
    exponential(cross_matrix(axis.normalize() * angle)) * r - r
}

pub fn floppy(k: &Knobs, b: &Bone, p: DVec3, gain: f64) -> DVec3 {
    shove(b.v * -k.translation, gain, k.max_length * b.size, k.soft)
        + turn(b.omega * (-k.rotation / b.size), p - b.origin, gain, k.max_angle, k.soft)
}

fn indicator(a: DVec3, b: DVec3, time: f64) -> f64 {
    if b == DVec3::ZERO { 0.0 } else { (-a.dot(b) / (time * b.length_squared())).clamp(0.0, 1.0) }
}

fn inertia(k: &Knobs, b: &Bone, p: DVec3, gain: f64, share: impl Fn(f64) -> f64) -> DVec3 {
    let moved = shove(b.a * -k.translation, gain, k.max_length * b.size, k.soft);
    let turned = turn(b.alpha * (-k.rotation / b.size), p - b.origin, gain, k.max_angle, k.soft);
    moved * share(indicator(b.v, b.a, k.rest_time)) + turned * share(indicator(b.omega, b.alpha, k.rest_time))
}

pub fn followthrough(k: &Knobs, b: &Bone, p: DVec3, gain: f64) -> DVec3 {
    inertia(k, b, p, gain, |d| d)
}

pub fn acceleration_drag(k: &Knobs, b: &Bone, p: DVec3, gain: f64) -> DVec3 {
    inertia(k, b, p, gain, |d| 1.0 - d)
}

/// `−K ω×(ω×r)`, bounded.
pub fn centrifugal_stretch(stretch: f64, k: &Knobs, b: &Bone, p: DVec3, gain: f64) -> DVec3 {
    let raw = b.omega.cross(b.omega.cross(p - b.origin)) * (-stretch * gain);
    let length = raw.length();
    if length == 0.0 { DVec3::ZERO } else { raw * (limited(length, k.max_length * b.size, k.soft) / length) }
}

fn stretch(s: f64, max: f64, soft: bool) -> f64 {
    let bounded = limited(s, max, soft);
    if bounded >= 0.0 { 1.0 + bounded } else { 1.0 / (1.0 - bounded) }
}

/// Squash with `max_length` standing for the largest stretch.
pub fn squash(k: &Knobs, b: &Bone, p: DVec3, gain: f64) -> DVec3 {
    let mut d = DVec3::ZERO;
    if b.v != DVec3::ZERO {
        let f = stretch(gain * k.translation / b.size * b.v.length(), k.max_length, k.soft);
        let x = b.v.normalize();
        let y = x.any_orthonormal_vector();
        let m = DMat3::from_cols(x, y, x.cross(y));
        let s = DMat3::from_diagonal(DVec3::new(f, f.powf(-0.5), f.powf(-0.5)));
        d += (m * s * m.transpose() - DMat3::IDENTITY) * (p - b.centroid);
    }
    let y = (b.centroid - b.origin).normalize();
    let across = b.omega - y * b.omega.dot(y);
    if across.length() > 1e-6 * b.omega.length() {
        let z = across.normalize();
        let x = y.cross(z);
        let r = p - b.origin;
        let f = stretch(gain * k.rotation / b.size * across.cross(r).length(), k.max_length, k.soft);
        let m = DMat3::from_cols(x, y, z);
        let s = DMat3::from_diagonal(DVec3::new(f, 1.0, 1.0 / f));
        d += (m * s * m.transpose() - DMat3::IDENTITY) * (r - y * r.dot(y));
    }
    d
}
