//! Weights that are known on the skin, extended into the space about it.
//!
//! Source: KD 4.3. At x the value of the nearest point c of the surface, interpolated in its triangle, times
//! `(1 − (d/r)²)²`, d = ‖x − c‖: nothing beyond the reach r, about one limb radius, so that the jump of c in the middle of
//! the limb, where it is equally near to both sides, is not felt.
//! Oracle: gradients by central differences; the painted value on the surface itself.

use crate::bvh::Bvh;
use glam::DVec3;

/// Triangles with a weight at each corner.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceWeights {
    triangles: Vec<([DVec3; 3], [f64; 3])>,
    bvh: Bvh,
    reach: f64,
}

/// The nearest point of a triangle, and the gradient along the surface there of what its corners hold.
struct Nearest {
    at: DVec3,
    value: f64,
    gradient: DVec3,
}

impl SurfaceWeights {
    /// Triangles without weight or area, and what is not finite, are left out. `None` where none is left.
    pub fn new(triangles: impl IntoIterator<Item = ([DVec3; 3], [f64; 3])>, reach: f64) -> Option<Self> {
        let sound = |([a, b, c], weights): &([DVec3; 3], [f64; 3])| {
            let normal = (*b - *a).cross(*c - *a).length_squared();
            normal > 0.0 && normal.is_finite() && weights.iter().all(|w| w.is_finite()) && *weights != [0.0; 3]
        };
        let triangles: Vec<_> = triangles.into_iter().filter(sound).collect();
        let boxed = |([a, b, c], _): &([DVec3; 3], _)| (a.min(*b).min(*c), a.max(*b).max(*c));
        let bvh = Bvh::new(&triangles.iter().map(boxed).collect::<Vec<_>>());
        (reach > 0.0 && reach.is_finite() && !triangles.is_empty()).then_some(Self { triangles, bvh, reach })
    }

    /// Value and gradient.
    pub fn at(&self, x: DVec3) -> (f64, DVec3) {
        let square = self.reach * self.reach;
        let distance = |index: u32| Some((self.nearest(index, x).at - x).length_squared());
        let Some((index, distance)) = self.bvh.nearest(x, square, distance) else { return (0.0, DVec3::ZERO) };
        let nearest = self.nearest(index, x);
        let inside = 1.0 - distance / square;
        let fall = (x - nearest.at) * (-4.0 * inside / square);
        (nearest.value * inside * inside, nearest.gradient * (inside * inside) + fall * nearest.value)
    }

    /// By the regions of the triangle's plane that its corners, edges and inside are nearest to.
    fn nearest(&self, index: u32, x: DVec3) -> Nearest {
        let ([a, b, c], [wa, wb, wc]) = self.triangles[index as usize];
        let (ab, ac) = (b - a, c - a);
        let normal = ab.cross(ac);
        let from = x - a;
        let per_square = 1.0 / normal.length_squared();
        let v = from.cross(ac).dot(normal) * per_square;
        let w = ab.cross(from).dot(normal) * per_square;
        if v >= 0.0 && w >= 0.0 && v + w <= 1.0 {
            let gradient = (ac.cross(normal) * (wb - wa) + normal.cross(ab) * (wc - wa)) * per_square;
            return Nearest { at: a + ab * v + ac * w, value: wa + (wb - wa) * v + (wc - wa) * w, gradient };
        }
        let on_edge = |from: DVec3, to: DVec3, at_from: f64, at_to: f64| {
            let edge = to - from;
            let along = (x - from).dot(edge) / edge.length_squared();
            let inside = along > 0.0 && along < 1.0;
            let (along, slope) = (along.clamp(0.0, 1.0), at_to - at_from);
            let gradient = if inside { edge * (slope / edge.length_squared()) } else { DVec3::ZERO };
            Nearest { at: from + edge * along, value: at_from + slope * along, gradient }
        };
        let edges = [on_edge(a, b, wa, wb), on_edge(b, c, wb, wc), on_edge(c, a, wc, wa)];
        let [ab, bc, ca] = edges;
        let nearer = |one: Nearest, other: Nearest| {
            if (other.at - x).length_squared() < (one.at - x).length_squared() { other } else { one }
        };
        nearer(nearer(ab, bc), ca)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bent strip of four triangles.
    fn strip() -> Vec<([DVec3; 3], [f64; 3])> {
        let at = |k: usize| DVec3::new((k / 2) as f64, (k % 2) as f64, 0.3 * (k / 2 * (k / 2)) as f64);
        let weight = |k: usize| [0.2, 0.9, 0.5, 0.1, 1.0, 0.7][k];
        let triangle = |corners: [usize; 3]| (corners.map(at), corners.map(weight));
        [[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]].map(triangle).to_vec()
    }

    #[test]
    fn painted_values_stand_on_the_surface_and_fade_away_from_it() {
        let weights = SurfaceWeights::new(strip(), 0.5).unwrap();
        for ([a, b, c], [wa, wb, wc]) in strip() {
            let (value, _) = weights.at(a * 0.2 + b * 0.5 + c * 0.3);
            assert!((value - (wa * 0.2 + wb * 0.5 + wc * 0.3)).abs() < 1e-12);
            let up = (b - a).cross(c - a).normalize();
            let middle = (a + b + c) / 3.0;
            let (faded, _) = weights.at(middle + up * 0.25);
            assert!((faded - (wa + wb + wc) / 3.0 * 0.5625).abs() < 1e-12);
            assert_eq!(weights.at(middle + up * 0.6), (0.0, DVec3::ZERO));
        }
        assert!(SurfaceWeights::new([([DVec3::ZERO; 3], [1.0; 3])], 1.0).is_none());
        assert!(SurfaceWeights::new(strip(), 0.0).is_none());
    }

    #[test]
    fn gradients_are_those_of_the_values() {
        let weights = SurfaceWeights::new(strip(), 0.8).unwrap();
        let (h, mut compared) = (1e-6, 0);
        for k in 0..400 {
            let t = f64::from(k) * 0.37;
            let p = DVec3::new(1.0 + 1.6 * t.sin(), 0.5 + 1.1 * (1.7 * t).cos(), 0.4 + 0.6 * (0.9 * t).sin());
            let (_, exact) = weights.at(p);
            let slope = |axis: DVec3| {
                let (after, before) = (weights.at(p + axis * h), weights.at(p - axis * h));
                // Where the gradient itself jumps, between triangles, a difference tells neither side.
                let jumps = (after.1 - before.1).length() > 1e-3;
                (!jumps).then_some((after.0 - before.0) / (2.0 * h))
            };
            for axis in DVec3::AXES {
                if let Some(difference) = slope(axis) {
                    assert!((difference - exact.dot(axis)).abs() < 1e-5, "{p}: {difference} {exact}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 1000, "{compared}");
    }
}
