//! Volume kept by moving nodes along their normals (Rohmer, Hahmann, Cani 2008: LV eq. 1–5).
//!
//! `V = ⅙ Σ [p_i p_j p_k]` over the triangles of a closed surface, [xyz] = x·(y×z); its gradient at a node is a sixth of
//! the doubled area vectors around it. The smallest move along normals, measured by Σ ρ²/γ, that changes V by ΔV to
//! first order is
//!
//! `ρ_k = ΔV γ_k ⟨n_k,∇V_k⟩ / Σ_j γ_j ⟨n_j,∇V_j⟩²`.
//!
//! That is the paper's linear step. V is trilinear, so along any moves it is exactly a cubic in their factor λ:
//! `c1 = ⅙Σ([ubc]+[avc]+[abw])`, `c2 = ⅙Σ([avw]+[ubw]+[uvc])`, `c3 = ⅙Σ[uvw]` for corners a, b, c and moves u, v, w. The
//! *exact step* takes the smallest positive root if it is at most 1.5; else it goes half the way to the first turning
//! point of the cubic (at most ½), looks along the new normals and tries again.
//!
//! Every joint of a character lies in one volume, and the elbow's loss should not swell the knee: γ is multiplied by how
//! much volume blending takes at each node at this frame, `1 − det(Σ w_i R_i)`, as far as `local` says. (Not in the paper,
//! which cuts the body into segments for this; their volumes are estimates.) No node goes farther than its limb is thick
//! and other limbs leave room ([`Body::take_care`]); where bent joints cannot take all of it, what is left is spread over
//! all joints, as with `local` 0.
//!
//! The volume to be kept is that of the bind shape, morph targets included, times the scale that the bones have at the
//! frame: each segment's part of the volume by the determinant of its bone. Scaling a character or a limb is the
//! animator's doing and is left alone.
//!
//! Oracle: `tests` below, on the cylinder of LV 4; coefficients against finite differences.

use crate::correct::body::{Body, Surface, volume};
use crate::correct::report::{Outcome, Restored};
use glam::DVec3;

/// Rounds of the exact step.
pub(super) const ROUNDS: u32 = 12;
/// A root beyond it is not along these normals.
const LARGEST_ROOT: f64 = 1.5;
/// Effects change the volume away from joints too: `local` leaves this much for everywhere else while they act.
pub(super) const WITH_EFFECTS: f64 = 0.05;
/// Of the volume: what f64 leaves.
pub(super) const EXACT: f64 = 1e-13;

/// How far a correction goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The paper's single linear step.
    pub linear: bool,
    /// Share of the change that is taken back.
    pub gain: f64,
    /// From the map alone (0) to where bones bend against each other alone (1).
    pub local: f64,
    /// No node ends farther from where it was, in sizes of the character, or in reaches of its segment where that is
    /// corrected.
    pub max_move: f64,
}

/// c1, c2, c3 of `V(p + λ·move) − V(p)`.
pub(super) fn cubic(triangles: impl Iterator<Item = [u32; 3]>, points: &[DVec3], moves: &[DVec3]) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for corners in triangles {
        let [u, v, w] = corners.map(|node| moves[node as usize]);
        if u == DVec3::ZERO && v == DVec3::ZERO && w == DVec3::ZERO {
            continue;
        }
        let [a, b, c] = corners.map(|node| points[node as usize]);
        let (bc, vw) = (b.cross(c), v.cross(w));
        let mixed = v.cross(c) + b.cross(w);
        sums[0] += u.dot(bc) + a.dot(mixed);
        sums[1] += u.dot(mixed) + a.dot(vw);
        sums[2] += u.dot(vw);
    }
    sums.map(|sum| sum / 6.0)
}

/// The volume the bind shape has under the bones' scale at this frame.
pub(super) fn target_volume(surface: &Surface, body: &mut Body) -> f64 {
    let scale: f64 = surface
        .segments
        .iter()
        .map(|segment| segment.share * body.from_bind[segment.entry as usize].matrix3.determinant())
        .sum();
    // The moves are free here, and of the right length.
    let mut shape = std::mem::take(&mut body.moves);
    let target = body.morphed().map_or(surface.bind_volume, |morphed| {
        shape.clear();
        shape.extend(morphed.iter().map(|&p| p - surface.bind_centre));
        surface.place_apexes(&mut shape);
        volume(surface.shell(), &shape)
    });
    body.moves = shape;
    target * scale
}

/// Restores the volume that the body encloses.
pub(super) fn restore(surface: &Surface, body: &mut Body, gamma: &[f64], limits: &Limits) -> Restored {
    let target = target_volume(surface, body);
    if body.is_still() {
        return Restored { target, before: target, after: target, rounds: 0, outcome: Outcome::Still };
    }
    let before = body.volume(surface);
    let wanted = before + (target - before) * limits.gain;
    let mut restored = Restored { target, before, after: before, rounds: 0, outcome: Outcome::Restored };
    let mut local = limits.local;
    body.spent.clear();
    let close = |volume: f64| (wanted - volume).abs() <= EXACT * target.abs().max(before.abs());
    while !close(restored.after) {
        if restored.rounds == ROUNDS {
            restored.outcome = Outcome::NotReached;
            break;
        }
        restored.rounds += 1;
        let missing = wanted - restored.after;
        body.differentiate(surface);
        if restored.rounds == 1 && missing.abs() <= rounding(surface, body, gamma) {
            restored.rounds = 0;
            break;
        }
        let aimed = aim(surface, body, gamma, local, missing);
        if aimed == Aimed::Nowhere {
            restored.outcome = if restored.rounds == 1 { Outcome::NothingMayMove } else { Outcome::MoveBound };
            break;
        }
        let [c1, c2, c3] = cubic(body.shell(surface), &body.points, &body.moves).map(|c| c / missing);
        let root = first_root([c1, c2, c3]);
        // Beyond 1 the moves would go farther than they may.
        let is_short = aimed == Aimed::Short && !root.is_ok_and(|root| root <= 1.0);
        let factor = match root {
            _ if limits.linear || is_short => 1.0,
            Ok(root) => root,
            Err(turning) => 0.5 * turning.min(1.0),
        };
        let allowed = body.bounded(&body.free, factor, |_| limits.max_move * body.size);
        body.step(surface, allowed);
        body.spend(allowed);
        let after = body.volume(surface);
        let stuck = (wanted - after).abs() >= (wanted - restored.after).abs();
        restored.after = after;
        if allowed < factor || (is_short && local == 0.0) {
            restored.outcome = Outcome::MoveBound;
            break;
        }
        if is_short {
            local = 0.0;
            continue;
        }
        if limits.linear {
            restored.outcome = Outcome::Linear;
            break;
        }
        if stuck && restored.rounds > 1 && (wanted - after).abs() <= 1e3 * EXACT * target.abs() {
            break;
        }
    }
    restored
}

/// How much volume the rounding of f32 positions makes: each node errs by itself.
fn rounding(surface: &Surface, body: &Body, gamma: &[f64]) -> f64 {
    let free = body.free.iter().map(|&node| node as usize);
    let free = free.filter(|&node| gamma[node] > 0.0 && surface.has_inside[node]);
    let squares: f64 = free.map(|node| body.gradients[node].length_squared()).sum();
    body.noise * squares.sqrt()
}

/// What moves do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aimed {
    /// There are none.
    Nowhere,
    /// They change the volume by less than what is missing: nothing may go farther.
    Short,
    /// They change it by what is missing, to first order.
    There,
}

/// Share of what all moves could do together that they are stretched to.
const STRETCHED: f64 = 0.8;
/// Moves shorter than this part of the longest may go less far than those: what hardly may move hardly does.
const SHORT: f64 = 0.1;
/// Steps towards the factor on moves, and the change of it that does not matter: the cubic is exact.
const NEWTON_STEPS: usize = 30;
const CLOSE: f64 = 1e-6;

/// A factor on moves that takes none of them beyond what it may.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    factor: f64,
    longest: f64,
}

impl Stretch {
    /// The one with which moves do `missing` to first order; `moves` are their lengths, what they do and how far they may
    /// go.
    pub fn new(missing: f64, moves: impl Iterator<Item = (f64, f64, f64)> + Clone) -> (Self, Aimed) {
        let longest = moves.clone().map(|(length, ..)| length).fold(0.0, f64::max);
        let mut stretch = Self { factor: 0.0, longest };
        let (mut slope, mut all) = (0.0, 0.0);
        for (length, does, most) in moves.clone().filter(|&(length, ..)| length > 0.0) {
            slope += does;
            all += does / length * stretch.most(length, most);
        }
        let wanted = missing.abs().min(STRETCHED * all);
        if !(slope > 0.0 && wanted > 0.0 && (missing / slope).is_finite()) {
            return (stretch, Aimed::Nowhere);
        }
        let aimed = if wanted < missing.abs() { Aimed::Short } else { Aimed::There };
        // Increasing and concave: Newton comes from below.
        stretch.factor = wanted / slope;
        for _ in 0..NEWTON_STEPS {
            let (mut value, mut slope) = (0.0, 0.0);
            for (length, does, most) in moves.clone() {
                let part = stretch.of(length, most) / stretch.factor;
                value += stretch.factor * does * part;
                slope += does * part * part;
            }
            let step = (wanted - value) / slope;
            stretch.factor += step;
            let goes_on = step > CLOSE * stretch.factor;
            if !goes_on {
                break;
            }
        }
        stretch.factor *= missing.signum();
        (stretch, aimed)
    }

    fn most(&self, length: f64, most: f64) -> f64 {
        most * (length / (SHORT * self.longest)).min(1.0)
    }

    /// What a move is multiplied by: λ/(1 + λ|m|/most).
    pub fn of(&self, length: f64, most: f64) -> f64 {
        match length > 0.0 {
            true => self.factor / (1.0 + self.factor.abs() * length / self.most(length, most)),
            false => self.factor,
        }
    }
}

/// The moves that change the volume by `missing` to first order.
pub(super) fn aim(surface: &Surface, body: &mut Body, gamma: &[f64], local: f64, missing: f64) -> Aimed {
    body.measure_bends(surface);
    body.clear_moves(surface);
    let spread = (1.0 - local).max(if body.has_effects { WITH_EFFECTS } else { 0.0 });
    for &node in &body.free {
        let node = node as usize;
        let lever = body.normals[node].dot(body.gradients[node]);
        let free = surface.has_inside[node];
        let bend = if body.largest_bend > 0.0 { body.bends[node] / body.largest_bend } else { 1.0 };
        let share =
            if free { gamma[node] * body.ease_of(node) * (spread + (1.0 - spread) * bend) * lever } else { 0.0 };
        body.moves[node] = body.normals[node] * share;
    }
    let each = body.free.iter().map(|&node| {
        let node = node as usize;
        let w = body.moves[node];
        (w.length(), w.dot(body.gradients[node]), body.left_of(node))
    });
    let (stretch, aimed) = Stretch::new(missing, each);
    let mut finite = true;
    for &node in &body.free {
        let most = body.left_of(node as usize);
        let w = &mut body.moves[node as usize];
        *w *= stretch.of(w.length(), most);
        finite &= w.is_finite();
    }
    surface.place_apexes(&mut body.moves);
    if finite { aimed } else { Aimed::Nowhere }
}

/// The smallest positive root of `c3λ³ + c2λ² + c1λ = 1` if it is small enough, else the first turning point (or
/// infinity).
pub(super) fn first_root([c1, c2, c3]: [f64; 3]) -> Result<f64, f64> {
    let value = |x: f64| ((c3 * x + c2) * x + c1) * x - 1.0;
    let slope = |x: f64| (3.0 * c3 * x + 2.0 * c2) * x + c1;
    // The turning points, by the form that does not cancel.
    let discriminant = c2 * c2 - 3.0 * c3 * c1;
    let mut turning = [f64::INFINITY; 2];
    if discriminant > 0.0 {
        let q = -(c2 + c2.signum() * discriminant.sqrt());
        turning = [q / (3.0 * c3), c1 / q].map(|x| if x.is_finite() && x > 0.0 { x } else { f64::INFINITY });
        turning.sort_unstable_by(f64::total_cmp);
    }
    let mut low = 0.0;
    for end in [turning[0].min(LARGEST_ROOT), turning[1].min(LARGEST_ROOT), LARGEST_ROOT] {
        if value(end) >= 0.0 {
            // Monotone in between: Newton, kept inside by bisection.
            let (mut a, mut b, mut x) = (low, end, 0.5 * (low + end));
            for _ in 0..100 {
                let v = value(x);
                if v >= 0.0 {
                    b = x
                } else {
                    a = x
                }
                let newton = x - v / slope(x);
                let next = if newton > a && newton < b { newton } else { 0.5 * (a + b) };
                if next == x || b - a <= f64::EPSILON * b {
                    break;
                }
                x = next;
            }
            return Ok(x);
        }
        low = end;
    }
    Err(turning[0])
}
