//! Cotangent weights of edges (Pinkall and Polthier 1993): `w_ij = ½(cot α + cot β)`, α and β the angles opposite the
//! edge; as libigl's `cotmatrix` has them off its diagonal.
//!
//! Faces without area, whose cotangents are infinite, count for nothing; where there are any, every edge gets a
//! millionth of the mean weight, so that no vertex hangs in the air.
//!
//! Oracle: a regular grid gives 1 along its sides and 0 along its diagonals; `Σ w_ij(p_i − p_j)` is the gradient of the
//! area.

use glam::DVec3;

/// Area below this share of an edge squared is none.
const NO_AREA: f64 = 1e-10;
const LEAST_WEIGHT: f64 = 1e-6;

/// Edges with their weights, ends ascending, sorted.
pub(crate) fn cotangent_weights(points: &[DVec3], triangles: &[[u32; 3]]) -> Vec<([u32; 2], f64)> {
    let mut parts: Vec<([u32; 2], f64)> = Vec::with_capacity(3 * triangles.len());
    let mut flat = false;
    for &face in triangles {
        for k in 0..3 {
            let [i, j, apex] = [face[k], face[(k + 1) % 3], face[(k + 2) % 3]];
            if i == j {
                continue;
            }
            let [a, b] = [i, j].map(|v| points[v as usize] - points[apex as usize]);
            let area = a.cross(b).length();
            let has_area = area > NO_AREA * (a.length_squared() + b.length_squared());
            flat |= !has_area;
            let half_cotangent = if has_area { 0.5 * a.dot(b) / area } else { 0.0 };
            parts.push(([i.min(j), i.max(j)], half_cotangent));
        }
    }
    // Sums run in the order of the faces.
    parts.sort_by_key(|part| part.0);
    let sum = |run: &[([u32; 2], f64)]| (run[0].0, run.iter().map(|part| part.1).sum::<f64>());
    let mut weights: Vec<([u32; 2], f64)> = parts.chunk_by(|a, b| a.0 == b.0).map(sum).collect();
    if flat {
        let mean = weights.iter().map(|weight| weight.1.abs()).sum::<f64>() / weights.len().max(1) as f64;
        let least = LEAST_WEIGHT * if mean > 0.0 { mean } else { 1.0 };
        weights.iter_mut().for_each(|weight| weight.1 += least);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_grid_has_weights_of_one_and_none() {
        let points: Vec<DVec3> = (0..9).map(|i| DVec3::new(f64::from(i % 3), f64::from(i / 3), 0.0)).collect();
        let faces: Vec<[u32; 3]> =
            [0, 1, 3, 4].into_iter().flat_map(|a| [[a, a + 1, a + 4], [a, a + 4, a + 3]]).collect();
        for ([a, b], w) in cotangent_weights(&points, &faces) {
            let side = points[a as usize].distance(points[b as usize]);
            let border = |v: u32| v != 4;
            let expected = if side > 1.1 {
                0.0
            } else if border(a) && border(b) {
                0.5
            } else {
                1.0
            };
            assert!((w - expected).abs() < 1e-12, "{a} {b} {w}");
        }
    }

    #[test]
    fn they_are_the_gradient_of_the_area() {
        let mut points = vec![DVec3::new(0.1, 0.2, 0.5)];
        for k in 0..5 {
            let (sin, cos) = (f64::from(k) * 1.25).sin_cos();
            points.push(DVec3::new(cos, sin, 0.2 * f64::from(k % 2)));
        }
        let faces: Vec<[u32; 3]> = (0..5).map(|k| [0, 1 + k, 1 + (k + 1) % 5]).collect();
        let area = |points: &[DVec3]| {
            let of = |f: &[u32; 3]| {
                let [a, b, c] = f.map(|v| points[v as usize]);
                0.5 * (b - a).cross(c - a).length()
            };
            faces.iter().map(of).sum::<f64>()
        };
        let gradient: DVec3 = cotangent_weights(&points, &faces)
            .iter()
            .filter(|(ends, _)| ends[0] == 0)
            .map(|(ends, w)| (points[0] - points[ends[1] as usize]) * *w)
            .sum();
        for axis in DVec3::AXES {
            let at = |h: f64| {
                let mut moved = points.clone();
                moved[0] += axis * h;
                area(&moved)
            };
            assert!(((at(1e-6) - at(-1e-6)) / 2e-6 - gradient.dot(axis)).abs() < 1e-8);
        }
        let flat = cotangent_weights(&points, &[[0, 1, 2], [2, 2, 3]]);
        assert!(flat.iter().all(|(_, w)| w.is_finite()));
    }
}
