//! Tubes that the solvers are tried on.

use glam::DVec3;
use std::f64::consts::TAU;

/// A tube along +Y of radius 0.5, in rings of 16 points, with its faces.
pub fn tube(length: f64, rings: usize) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    const AROUND: usize = 16;
    let mut points = Vec::new();
    for ring in 0..rings {
        let centre = DVec3::Y * (length * (ring as f64 / (rings - 1) as f64));
        for k in 0..AROUND {
            let (sin, cos) = (TAU * k as f64 / AROUND as f64).sin_cos();
            points.push(centre + (DVec3::X * cos + DVec3::Z * sin) * 0.5);
        }
    }
    let at = |ring: usize, k: usize| (ring * AROUND + k % AROUND) as u32;
    let mut faces = Vec::new();
    for ring in 0..rings - 1 {
        for k in 0..AROUND {
            let [a, b, c, d] = [at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)];
            faces.extend([[a, c, b], [a, d, c]]);
        }
    }
    (points, faces)
}
