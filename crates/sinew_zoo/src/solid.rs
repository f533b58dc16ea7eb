//! Solids by signed distance: negative inside, zero on the surface, smooth across joins.
//!
//! Primitives and blends after Inigo Quilez, "Distance functions" and "Smooth minimum" (cubic, C2). Distances of
//! ellipsoids, flattened solids and sheets are approximate; only their zero set is relied on.

use glam::{DQuat, DVec3};

/// A solid.
#[derive(Clone, Debug)]
pub(crate) enum Solid {
    /// The union of the hulls of successive balls, which lies within `reach` of `center`.
    Limb { hulls: Vec<Hull>, center: DVec3, reach: f64 },
    /// An ellipsoid with half-axes `radii`, then turned about its centre.
    Ellipsoid { center: DVec3, radii: DVec3, turn: DQuat },
    /// The union of parts, with joins rounded over a distance `k`.
    Blend { k: f64, parts: Vec<Solid> },
    /// The part of a solid above the plane `y = height`, with the edge rounded over `k`.
    Above { height: f64, k: f64, part: Box<Solid> },
    /// A solid made thinner by `factor` along a unit axis, about `center`.
    Flat { center: DVec3, axis: DVec3, factor: f64, part: Box<Solid> },
    /// A sheet of thickness `2 half` with a round rim: the outline is where its middle surface cuts another solid, and
    /// that surface is the plane through `center` across the unit `normal`, bowed up by `bow` × distance².
    Sheet { center: DVec3, normal: DVec3, half: f64, bow: f64, outline: Box<Solid> },
    /// The other side of the plane x = 0.
    Mirror(Box<Solid>),
}

/// The hull of two balls, which lies within `reach` of `middle`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hull {
    a: DVec3,
    ra: f64,
    b: DVec3,
    rb: f64,
    middle: DVec3,
    reach: f64,
}

use Solid::*;

pub(crate) fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

pub(crate) fn ball(center: DVec3, radius: f64) -> Solid {
    Ellipsoid { center, radii: DVec3::splat(radius), turn: DQuat::IDENTITY }
}

pub(crate) fn ellipsoid(center: DVec3, radii: DVec3) -> Solid {
    Ellipsoid { center, radii, turn: DQuat::IDENTITY }
}

pub(crate) fn blend(k: f64, parts: impl IntoIterator<Item = Solid>) -> Solid {
    Blend { k, parts: parts.into_iter().collect() }
}

/// A limb along a Catmull–Rom curve through the given balls.
pub(crate) fn limb(knots: &[(DVec3, f64)]) -> Solid {
    const STEPS: usize = 4;
    let last = knots.len() - 1;
    let mut balls = vec![knots[0]];
    for k in 0..last {
        // Beyond the ends the curve goes straight on.
        let beyond = |(p, r): (DVec3, f64), (q, s): (DVec3, f64)| (2.0 * p - q, 2.0 * r - s);
        let (b, c) = (knots[k], knots[k + 1]);
        let a = if k == 0 { beyond(b, c) } else { knots[k - 1] };
        let d = if k + 1 == last { beyond(c, b) } else { knots[k + 2] };
        let steps = if last == 1 { 1 } else { STEPS };
        for step in 1..=steps {
            let t = step as f64 / steps as f64;
            let (t2, t3) = (t * t, t * t * t);
            let [wa, wb, wc, wd] =
                [-t3 + 2.0 * t2 - t, 3.0 * t3 - 5.0 * t2 + 2.0, -3.0 * t3 + 4.0 * t2 + t, t3 - t2].map(|w| 0.5 * w);
            balls.push((a.0 * wa + b.0 * wb + c.0 * wc + d.0 * wd, a.1 * wa + b.1 * wb + c.1 * wc + d.1 * wd));
        }
    }
    through(balls)
}

/// A limb straight from ball to ball.
pub(crate) fn through(balls: Vec<(DVec3, f64)>) -> Solid {
    let center = balls.iter().map(|ball| ball.0).sum::<DVec3>() / balls.len() as f64;
    let reach = balls.iter().map(|ball| ball.0.distance(center) + ball.1).fold(0.0, f64::max);
    let hulls = balls.windows(2).map(|w| {
        let [(a, ra), (b, rb)] = [w[0], w[1]];
        Hull { a, ra, b, rb, middle: 0.5 * (a + b), reach: 0.5 * a.distance(b) + ra.max(rb) }
    });
    Limb { hulls: hulls.collect(), center, reach }
}

/// The hull of a ball at `a` and a ball at `b`.
pub(crate) fn cone(a: DVec3, ra: f64, b: DVec3, rb: f64) -> Solid {
    through(vec![(a, ra), (b, rb)])
}

impl Solid {
    /// An ellipsoid turned about its centre; anything else stays as it is.
    pub fn turned(self, by: DQuat) -> Self {
        match self {
            Ellipsoid { center, radii, turn } => Ellipsoid { center, radii, turn: by * turn },
            other => other,
        }
    }

    pub fn flattened(self, center: DVec3, axis: DVec3, factor: f64) -> Self {
        Flat { center, axis: axis.normalize(), factor, part: Box::new(self) }
    }

    pub fn sheet(self, center: DVec3, normal: DVec3, half: f64, bow: f64) -> Self {
        Sheet { center, normal: normal.normalize(), half, bow, outline: Box::new(self) }
    }

    pub fn mirrored(&self) -> Self {
        Mirror(Box::new(self.clone()))
    }

    pub fn above(self, height: f64, k: f64) -> Self {
        Above { height, k, part: Box::new(self) }
    }

    /// Signed distance of `p`.
    pub fn distance(&self, p: DVec3) -> f64 {
        match self {
            Ellipsoid { center, radii, turn } => {
                let q = turn.conjugate() * (p - *center);
                let (k0, k1) = ((q / *radii).length(), (q / (*radii * *radii)).length());
                // At the centre the quotient is 0/0.
                if k1 == 0.0 { -radii.min_element() } else { k0 * (k0 - 1.0) / k1 }
            }
            Limb { hulls, .. } => hulls.iter().fold(f64::INFINITY, |nearest, hull| {
                let worth = nearest + hull.reach;
                if worth <= 0.0 || p.distance_squared(hull.middle) >= worth * worth {
                    return nearest;
                }
                nearest.min(cone_distance(p - hull.a, hull.b - hull.a, hull.ra, hull.rb))
            }),
            Blend { k, parts } => parts.iter().fold(f64::INFINITY, |nearest, part| match part {
                // Too far to count: the smooth minimum would return `nearest` itself.
                Limb { center, reach, .. } if p.distance(*center) - reach > nearest + k => nearest,
                _ => smooth_min(nearest, part.distance(p), *k),
            }),
            Above { height, k, part } => -smooth_min(-part.distance(p), p.y - height, *k),
            Flat { center, axis, factor, part } => {
                let along = (p - *center).dot(*axis);
                factor * part.distance(p + *axis * (along / factor - along))
            }
            Mirror(part) => part.distance(v(-p.x, p.y, p.z)),
            Sheet { center, normal, half, bow, outline } => {
                let up = (p - *center).dot(*normal);
                let foot = p - *normal * up;
                let up = up - bow * foot.distance_squared(*center);
                let beyond = (outline.distance(foot) + half).max(0.0);
                beyond.hypot(up) - half
            }
        }
    }

    /// A box that holds the solid: low and high corner.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        match self {
            Ellipsoid { center, radii, .. } => (*center - radii.max_element(), *center + radii.max_element()),
            Blend { k, parts } => {
                let empty = (DVec3::INFINITY, DVec3::NEG_INFINITY);
                let grow = |(low, high): (DVec3, DVec3), part: &Solid| {
                    let (l, h) = part.bounds();
                    (low.min(l), high.max(h))
                };
                let (low, high) = parts.iter().fold(empty, grow);
                (low - *k, high + *k)
            }
            Above { part, .. } => part.bounds(),
            Flat { center, part, .. } => {
                let (low, high) = part.bounds();
                (low.min(*center), high.max(*center))
            }
            Mirror(part) => {
                let (low, high) = part.bounds();
                (v(-high.x, low.y, low.z), v(-low.x, high.y, high.z))
            }
            Limb { center, reach, .. } => (*center - *reach, *center + *reach),
            Sheet { center, half, bow, outline, .. } => {
                let (low, high) = outline.bounds();
                let reach = (*center - low).max(high - *center).length();
                let rise = half + bow.abs() * reach * reach;
                (low - rise, high + rise)
            }
        }
    }

    /// Distance and its gradient from four points around `p`, the corners of a tetrahedron of size `step`.
    pub fn distance_and_gradient(&self, p: DVec3, step: f64) -> (f64, DVec3) {
        let corners = [v(1.0, -1.0, -1.0), v(-1.0, -1.0, 1.0), v(-1.0, 1.0, -1.0), v(1.0, 1.0, 1.0)];
        let (mut sum, mut slope) = (0.0, DVec3::ZERO);
        for corner in corners {
            let distance = self.distance(p + corner * step);
            sum += distance;
            slope += corner * distance;
        }
        (sum / 4.0, slope / (4.0 * step))
    }
}

/// Minimum of two distances, rounded where they differ by less than `k`.
fn smooth_min(a: f64, b: f64, k: f64) -> f64 {
    let low = a.min(b);
    if low.is_infinite() || a.max(b).is_infinite() {
        return low;
    }
    let h = (k - (a - b).abs()).max(0.0) / k;
    low - h * h * h * k / 6.0
}

/// Distance of `p` to the hull of a ball at the origin and one at `axis`.
fn cone_distance(p: DVec3, axis: DVec3, ra: f64, rb: f64) -> f64 {
    let l2 = axis.length_squared();
    let taper = ra - rb;
    let a2 = l2 - taper * taper;
    let y = p.dot(axis);
    let z = y - l2;
    let x2 = (p * l2 - axis * y).length_squared();
    let (y2, z2) = (y * y * l2, z * z * l2);
    let k = taper.signum() * taper * taper * x2;
    if z.signum() * a2 * z2 > k {
        (x2 + z2).sqrt() / l2 - rb
    } else if y.signum() * a2 * y2 < k {
        (x2 + y2).sqrt() / l2 - ra
    } else {
        ((x2 * a2 / l2).sqrt() + y * taper) / l2 - ra
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hull of two balls is the union of all balls between them.
    #[test]
    fn cone_is_a_union_of_balls() {
        let (b, ra, rb) = (v(0.3, 0.7, -0.2), 0.2, 0.05);
        let hull = cone(DVec3::ZERO, ra, b, rb);
        for i in 0..500 {
            let t = f64::from(i);
            let p = v((t * 0.7).sin(), (t * 1.3).cos(), (t * 2.1).sin());
            let swept = (0..=4000)
                .map(|k| f64::from(k) / 4000.0)
                .map(|s| p.distance(b * s) - (ra + (rb - ra) * s))
                .fold(f64::INFINITY, f64::min);
            assert!((hull.distance(p) - swept).abs() < 1e-6, "{p}: {} {swept}", hull.distance(p));
        }
    }

    #[test]
    fn blends_only_add() {
        let (a, b) = (ball(v(0.0, 0.0, 0.0), 0.5), ball(v(0.6, 0.0, 0.0), 0.4));
        let both = blend(0.1, [a.clone(), b.clone()]);
        for i in 0..200 {
            let p = v(f64::from(i) * 0.01 - 0.7, 0.3, 0.1);
            let plain = a.distance(p).min(b.distance(p));
            assert!(both.distance(p) <= plain && both.distance(p) >= plain - 0.1 / 6.0);
        }
    }
}
