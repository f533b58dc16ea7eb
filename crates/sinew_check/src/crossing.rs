//! Whether two triangles cross, exactly.
//!
//! Two triangles cross where points of the inside of one lie in the inside of the other. Corners of each must lie on both
//! sides of the other's plane; their plane sections then lie on one line, and overlap by more than a point if two more
//! signs agree (Guigue and Devillers, Fast and robust triangle-triangle overlap test, 2003). Touching, and lying in one
//! plane, is no crossing. Every sign is that of a determinant: in f64 where its error bound allows, else exactly, by sums
//! of numbers that do not overlap (Shewchuk, Adaptive precision floating-point arithmetic, 1997).

use glam::DVec3;
use std::cmp::Ordering;

/// Error bound of the determinant in f64, by the sum of the magnitudes of its terms (Shewchuk's o3derrboundA).
const FILTER: f64 = (7.0 + 56.0 * HALF_ULP) * HALF_ULP;
const HALF_ULP: f64 = f64::EPSILON / 2.0;

/// The side of the plane through a, b, c on which d lies: the sign of (a − d) · ((b − d) × (c − d)).
pub(crate) fn side(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> Ordering {
    let (ad, bd, cd) = (a - d, b - d, c - d);
    let (x, y, z) = (bd.y * cd.z, bd.z * cd.x, bd.x * cd.y);
    let (u, v, w) = (bd.z * cd.y, bd.x * cd.z, bd.y * cd.x);
    let determinant = ad.x * (x - u) + ad.y * (y - v) + ad.z * (z - w);
    let magnitude =
        ad.x.abs() * (x.abs() + u.abs()) + ad.y.abs() * (y.abs() + v.abs()) + ad.z.abs() * (z.abs() + w.abs());
    if determinant.abs() > FILTER * magnitude {
        return determinant.total_cmp(&0.0);
    }
    exact_side(a, b, c, d)
}

/// The same without rounding.
fn exact_side(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> Ordering {
    let rows = [a, b, c].map(|p| [0, 1, 2].map(|axis| difference(p[axis], d[axis])));
    let mut sum: Vec<f64> = Vec::new();
    for (i, j, k) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
        let minor = add(&product(&rows[1][j], &rows[2][k]), &negative(&product(&rows[1][k], &rows[2][j])));
        sum = add(&sum, &product(&rows[0][i], &minor));
    }
    // The last that is not zero outweighs all before it.
    sum.iter().rev().find(|&&x| x != 0.0).map_or(Ordering::Equal, |x| x.total_cmp(&0.0))
}

/// A sum and what rounding took from it.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let virtual_b = sum - a;
    (sum, (a - (sum - virtual_b)) + (b - virtual_b))
}

fn difference(a: f64, b: f64) -> Vec<f64> {
    let (sum, rest) = two_sum(a, -b);
    vec![rest, sum]
}

fn negative(a: &[f64]) -> Vec<f64> {
    a.iter().map(|x| -x).collect()
}

/// Sum of two expansions: parts that do not overlap, by growing magnitude.
fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sum = a.to_vec();
    for &x in b {
        let mut carry = x;
        for part in &mut sum {
            (carry, *part) = two_sum(carry, *part);
        }
        sum.push(carry);
    }
    sum.retain(|&x| x != 0.0);
    sum
}

fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sum = Vec::new();
    for &x in a {
        for &y in b {
            let high = x * y;
            sum = add(&sum, &[x.mul_add(y, -high), high]);
        }
    }
    sum
}

/// Turns a triangle until the corner alone on its side of the other's plane comes first, and tells whether that side is the
/// positive one; `None` where corners do not lie on both sides.
fn lone_first(triangle: [DVec3; 3], sides: [Ordering; 3]) -> Option<([DVec3; 3], bool)> {
    let [p, q, r] = triangle;
    let turned = [[p, q, r], [q, r, p], [r, p, q]];
    let count = |side: Ordering| sides.iter().filter(|&&s| s == side).count();
    let (above, below) = (count(Ordering::Greater), count(Ordering::Less));
    if above == 0 || below == 0 {
        return None;
    }
    let lone = if above == 1 { Ordering::Greater } else { Ordering::Less };
    let at = sides.iter().position(|&side| side == lone)?;
    Some((turned[at], lone == Ordering::Greater))
}

/// Whether the insides of two triangles meet otherwise than in a common plane.
pub(crate) fn cross(one: [DVec3; 3], two: [DVec3; 3]) -> bool {
    let sides = |of: [DVec3; 3], plane: [DVec3; 3]| of.map(|p| side(plane[0], plane[1], plane[2], p));
    let Some(([p1, mut q1, mut r1], one_above)) = lone_first(one, sides(one, two)) else { return false };
    let Some(([p2, mut q2, mut r2], two_above)) = lone_first(two, sides(two, one)) else { return false };
    // Both lone corners on the positive side: turning a triangle over turns the sides of its plane.
    if !one_above {
        std::mem::swap(&mut q2, &mut r2);
    }
    if !two_above {
        std::mem::swap(&mut q1, &mut r1);
    }
    side(p1, q1, p2, q2) == Ordering::Less && side(p1, r1, r2, p2) == Ordering::Less
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers between −1 and 1 (xorshift).
    pub(crate) fn numbers(mut seed: u64) -> impl FnMut() -> f64 {
        seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    /// Loose triangles.
    pub(crate) fn soup(seed: u64, count: usize) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let mut next = numbers(seed);
        let mut points = Vec::new();
        for _ in 0..count {
            let middle = DVec3::new(next(), next(), next());
            points.extend((0..3).map(|_| middle + 0.4 * DVec3::new(next(), next(), next())));
        }
        (points, (0..count as u32).map(|n| [3 * n, 3 * n + 1, 3 * n + 2]).collect())
    }

    /// The plain way: an edge of one goes through the other, found by solving for where.
    fn pierces([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
        let (ab, ac, pq) = (b - a, c - a, q - p);
        let solve = glam::DMat3::from_cols(ab, ac, -pq);
        if solve.determinant() == 0.0 {
            return false;
        }
        let at = solve.inverse() * (p - a);
        at.x > 0.0 && at.y > 0.0 && at.x + at.y < 1.0 && at.z > 0.0 && at.z < 1.0
    }

    #[test]
    fn crossings_agree_with_edges_that_pierce() {
        let mut next = numbers(11);
        let mut found = 0;
        for _ in 0..20_000 {
            let mut triangle = || [0; 3].map(|_| DVec3::new(next(), next(), next()));
            let (one, two) = (triangle(), triangle());
            let edges = |t: [DVec3; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
            let expected = edges(one).iter().any(|&e| pierces(e, two)) || edges(two).iter().any(|&e| pierces(e, one));
            assert_eq!(cross(one, two), expected, "{one:?} {two:?}");
            assert_eq!(cross(two, one), expected);
            let [a, b, c] = two;
            assert_eq!(cross(one, [b, a, c]), expected);
            found += usize::from(expected);
        }
        assert!((1000..19_000).contains(&found), "{found}");
    }

    #[test]
    fn touching_is_no_crossing() {
        let v = DVec3::new;
        let flat = [v(0.0, 0.0, 0.0), v(4.0, 0.0, 0.0), v(0.0, 4.0, 0.0)];
        let moved = |t: [DVec3; 3], by: DVec3| t.map(|p| p + by);
        assert!(!cross(flat, flat));
        assert!(!cross(flat, moved(flat, v(0.5, 0.5, 0.0))), "in one plane");
        let upright = [v(1.0, 1.0, 0.0), v(2.0, 1.0, 0.0), v(1.0, 1.0, 3.0)];
        assert!(!cross(flat, upright), "an edge lies on it");
        assert!(!cross(flat, [v(1.0, 1.0, 0.0), v(1.0, 2.0, 1.0), v(2.0, 1.0, 1.0)]), "a corner touches it");
        assert!(!cross(flat, moved(upright, v(-1.0, -1.0, 1e-300))), "a hair above");
        assert!(cross(flat, moved(upright, v(0.0, 0.0, -1e-12))), "a hair through");
        // A corner on the plane, the others on both sides: the inside of the one goes through the inside of the other.
        assert!(cross(flat, [v(1.0, 1.0, 0.0), v(1.5, 1.0, 1.0), v(1.5, 1.0, -1.0)]));
        // Along an edge of the other only.
        assert!(!cross(flat, [v(1.0, 0.0, -1.0), v(1.0, 0.0, 1.0), v(1.0, -3.0, 0.0)]));
    }

    /// Nearly flat: what f64 rounds to either side is decided as whole numbers say.
    #[test]
    fn signs_are_exact() {
        let mut next = numbers(5);
        let mut whole = || (next() * 1e6).round();
        for _ in 0..5000 {
            let [a, b, c] = [0; 3].map(|_| [whole(), whole(), whole()]);
            // Near the plane: a + b − c is in it, and one step aside is not.
            let mut d = [0, 1, 2].map(|n| a[n] + b[n] - c[n]);
            d[2] += (whole() / 1e6).round();
            let row = |p: [f64; 3]| [0, 1, 2].map(|n| (p[n] - d[n]) as i128);
            let [x, y, z] = [row(a), row(b), row(c)];
            let expected = x[0] * (y[1] * z[2] - y[2] * z[1])
                + x[1] * (y[2] * z[0] - y[0] * z[2])
                + x[2] * (y[0] * z[1] - y[1] * z[0]);
            // The same at a place and a scale where differences round.
            let put = |p: [f64; 3]| DVec3::from_array(p) * 2f64.powi(-40);
            assert_eq!(side(put(a), put(b), put(c), put(d)), expected.cmp(&0));
            assert_eq!(exact_side(put(a), put(b), put(c), put(d)), expected.cmp(&0));
        }
    }
}
