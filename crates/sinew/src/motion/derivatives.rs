//! Rates of change of one channel in the frame of its bone's parent.
//!
//! Source: VS 3.1, AS 3. For a quaternion curve `u(t)` that is not normalised (CUBICSPLINE)
//! `ω = 2 vec(u̇ū)/|u|²` and `α = 2 vec(üū)/|u|² − 2ω(u·u̇)/|u|²`; between LINEAR rotation keys
//! `ω = log(q₁q₀⁻¹)/Δt` along the shorter arc, constant, so `α = 0`. A STEP key is an impulse of its log vector.
//! Oracle: central differences of the sampled curve.

use crate::clip::{Curve, Interpolation, rotation_log};
use glam::{DQuat, DVec3, Quat, Vec3};
use std::ops::{Add, AddAssign, Mul};

use super::timeline::{Ends, Timeline};

/// Key intervals shorter than this are jumps: no quotient by them says anything about a motion.
pub(super) const SHORTEST_INTERVAL_SECS: f64 = 1e-9;

/// A rate and its derivative by time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub rate: DVec3,
    pub derivative: DVec3,
}

impl Rates {
    pub fn rotated(self, by: DQuat) -> Self {
        Self { rate: by * self.rate, derivative: by * self.derivative }
    }

    /// Keys near the limits of their number format can overflow; a motion that cannot be told is none.
    pub fn or_zero(self) -> Self {
        if self.rate.is_finite() && self.derivative.is_finite() { self } else { Self::default() }
    }
}

impl AddAssign for Rates {
    fn add_assign(&mut self, other: Self) {
        self.rate += other.rate;
        self.derivative += other.derivative;
    }
}

/// A curve's keys in f64, free to be moved into another frame.
#[derive(Clone, Debug)]
pub(super) struct Keys<V> {
    pub interpolation: Interpolation,
    pub times: Vec<f64>,
    pub values: Vec<V>,
    /// In- and out-tangent per key; empty unless cubic.
    pub tangents: Vec<[V; 2]>,
}

impl From<&Curve<Vec3>> for Keys<DVec3> {
    fn from(curve: &Curve<Vec3>) -> Self {
        let keys = 0..curve.times().len();
        Self {
            interpolation: curve.interpolation(),
            times: curve.times().to_vec(),
            values: keys.clone().map(|k| curve.key_value(k).as_dvec3()).collect(),
            tangents: keys.filter_map(|k| curve.key_tangents(k)).map(|(a, b)| [a.as_dvec3(), b.as_dvec3()]).collect(),
        }
    }
}

impl From<&Curve<Quat>> for Keys<DQuat> {
    fn from(curve: &Curve<Quat>) -> Self {
        let keys = 0..curve.times().len();
        let cubic = curve.interpolation() == Interpolation::CubicSpline;
        let value = |k| {
            let q = curve.key_value(k).as_dquat();
            // The length of a cubic curve's keys is part of its shape.
            if cubic { q } else { q.normalize() }
        };
        Self {
            interpolation: curve.interpolation(),
            times: curve.times().to_vec(),
            values: keys.clone().map(value).collect(),
            tangents: keys.filter_map(|k| curve.key_tangents(k)).map(|(a, b)| [a.as_dquat(), b.as_dquat()]).collect(),
        }
    }
}

/// What a channel of a bone's motion holds.
pub(super) trait Value: Copy + PartialEq + Add<Output = Self> + Mul<f64, Output = Self> {
    const ZERO: Self;
    /// The straight way from `self` to `next`: a difference, or the rotation vector of the shorter arc.
    fn way_to(self, next: Self) -> DVec3;
    /// Rates of a curve with this value and these derivatives.
    fn rates(self, first: Self, second: Self) -> Rates;
    fn piece(cubic: Box<Cubic<Self>>) -> Piece;
}

impl Value for DVec3 {
    const ZERO: Self = DVec3::ZERO;
    fn way_to(self, next: Self) -> DVec3 {
        next - self
    }
    fn rates(self, first: Self, second: Self) -> Rates {
        Rates { rate: first, derivative: second }
    }
    fn piece(cubic: Box<Cubic<Self>>) -> Piece {
        Piece::Translation(cubic)
    }
}

impl Value for DQuat {
    const ZERO: Self = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    fn way_to(self, next: Self) -> DVec3 {
        // Equal keys must give no motion at all, not rounding: bones that rest are left out of everything.
        if self == next || self == -next {
            return DVec3::ZERO;
        }
        rotation_log(next.normalize() * self.normalize().conjugate())
    }
    fn rates(self, first: Self, second: Self) -> Rates {
        let inverse_square = 1.0 / self.length_squared();
        let vec = |q: DQuat| DVec3::new(q.x, q.y, q.z);
        let rate = vec(first * self.conjugate()) * (2.0 * inverse_square);
        let derivative =
            vec(second * self.conjugate()) * (2.0 * inverse_square) - rate * (2.0 * self.dot(first) * inverse_square);
        Rates { rate, derivative }.or_zero()
    }
    fn piece(cubic: Box<Cubic<Self>>) -> Piece {
        Piece::Rotation(cubic)
    }
}

/// One cubic Hermite segment.
#[derive(Clone, Debug)]
pub(super) struct Cubic<V> {
    start: f64,
    dt: f64,
    /// Value, out-tangent·Δt, next value, its in-tangent·Δt.
    control: [V; 4],
}

impl<V: Value> Cubic<V> {
    fn rates(&self, t: f64) -> Rates {
        let s = ((t - self.start) / self.dt).clamp(0.0, 1.0);
        let combine = |h: [f64; 4]| {
            self.control[0] * h[0] + self.control[1] * h[1] + self.control[2] * h[2] + self.control[3] * h[3]
        };
        let first = hermite_slope(s);
        let second = [12.0 * s - 6.0, 6.0 * s - 4.0, 6.0 - 12.0 * s, 6.0 * s - 2.0];
        let per_dt = 1.0 / self.dt;
        combine(crate::clip::hermite(s)).rates(combine(first) * per_dt, combine(second) * (per_dt * per_dt))
    }
}

impl Cubic<DVec3> {
    /// Through two rates with their derivatives.
    pub fn through(start: f64, from: Rates, dt: f64, to: Rates) -> Self {
        Self { start, dt, control: [from.rate, from.derivative * dt, to.rate, to.derivative * dt] }
    }

    /// Its value and slope.
    pub fn value(&self, t: f64) -> Rates {
        let s = ((t - self.start) / self.dt).clamp(0.0, 1.0);
        let combine = |h: [f64; 4]| {
            self.control[0] * h[0] + self.control[1] * h[1] + self.control[2] * h[2] + self.control[3] * h[3]
        };
        Rates { rate: combine(crate::clip::hermite(s)), derivative: combine(hermite_slope(s)) / self.dt }
    }
}

/// Slopes of the four cubic Hermite polynomials.
fn hermite_slope(s: f64) -> [f64; 4] {
    [6.0 * s * (s - 1.0), (3.0 * s - 4.0) * s + 1.0, 6.0 * s * (1.0 - s), (3.0 * s - 2.0) * s]
}

/// The rate between two breakpoints.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Constant(DVec3),
    /// The rate itself is the cubic.
    Rate(Box<Cubic<DVec3>>),
    Translation(Box<Cubic<DVec3>>),
    Rotation(Box<Cubic<DQuat>>),
}

impl Piece {
    pub fn rates(&self, t: f64) -> Rates {
        match self {
            Self::Constant(rate) => Rates { rate: *rate, derivative: DVec3::ZERO },
            Self::Rate(cubic) => cubic.value(t),
            Self::Translation(cubic) => cubic.rates(t),
            Self::Rotation(cubic) => cubic.rates(t),
        }
    }
}

/// The rate of a channel over the whole timeline: pieces between breakpoints, and impulses on them.
///
/// # Invariants
/// One more break than pieces, or none at all for a channel that never changes; breaks do not decrease; `jumps` is
/// empty or as long as `breaks`.
#[derive(Clone, Debug, Default)]
pub(super) struct RateCurve {
    pub breaks: Vec<f64>,
    pub pieces: Vec<Piece>,
    pub jumps: Vec<DVec3>,
    /// Mean rate to leave out: the residual of a loop that closes only nearly.
    pub drift: DVec3,
}

impl RateCurve {
    /// `closing` is the value reached at the timeline's end by a segment after the last key, where one is missing.
    pub fn build<V: Value>(keys: &Keys<V>, timeline: &Timeline, closing: Option<V>, drift: DVec3) -> Self {
        let mut builder = Builder::new(timeline);
        let (Some(&first), Some(&last)) = (keys.times.first(), keys.values.last()) else {
            return Self::default();
        };
        builder.push(first, Piece::Constant(DVec3::ZERO), DVec3::ZERO);
        for (key, pair) in keys.times.windows(2).enumerate() {
            let way = keys.values[key].way_to(keys.values[key + 1]);
            builder.interval(pair[1], keys.interpolation, way, |dt| Cubic {
                start: pair[0],
                dt,
                control: [
                    keys.values[key],
                    keys.tangents[key][1] * dt,
                    keys.values[key + 1],
                    keys.tangents[key + 1][0] * dt,
                ],
            });
        }
        builder.push(timeline.last_key, Piece::Constant(DVec3::ZERO), DVec3::ZERO);
        if let Some(closing) = closing {
            let along = match keys.interpolation {
                Interpolation::Step => Interpolation::Step,
                _ => Interpolation::Linear,
            };
            let way = last.way_to(closing);
            builder.interval(timeline.end, along, way, |dt| Cubic { start: timeline.last_key, dt, control: [last; 4] });
        }
        let mut curve = builder.curve;
        if curve.jumps.iter().all(|&jump| jump == DVec3::ZERO) {
            curve.jumps = Vec::new();
        }
        let still = |piece: &Piece| matches!(piece, Piece::Constant(rate) if *rate == DVec3::ZERO);
        if curve.jumps.is_empty() && curve.pieces.iter().all(still) {
            return Self::default();
        }
        curve.drift = drift;
        curve
    }

    /// Whether the channel never changes.
    pub fn is_still(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Exact rates just after `t`, impulses left out.
    pub fn exact(&self, t: f64) -> Rates {
        self.exact_in(self.breaks.partition_point(|&b| b <= t), t)
    }

    /// Exact rates just before `t`.
    pub fn exact_before(&self, t: f64) -> Rates {
        self.exact_in(self.breaks.partition_point(|&b| b < t), t)
    }

    fn exact_in(&self, breaks_before: usize, t: f64) -> Rates {
        let Some(last) = self.pieces.len().checked_sub(1) else {
            return Rates::default();
        };
        let mut rates = self.pieces[breaks_before.saturating_sub(1).min(last)].rates(t);
        rates.rate -= self.drift;
        rates
    }
}

/// Lays pieces one after the other, leaving out the key intervals that hold a teleport.
struct Builder<'a> {
    timeline: &'a Timeline,
    curve: RateCurve,
    /// A piece after a teleport that waits for the rate it is to continue backwards.
    waiting: Option<usize>,
}

impl<'a> Builder<'a> {
    fn new(timeline: &'a Timeline) -> Self {
        let curve = RateCurve { breaks: vec![timeline.start], jumps: vec![DVec3::ZERO], ..RateCurve::default() };
        Self { timeline, curve, waiting: None }
    }

    fn now(&self) -> f64 {
        self.curve.breaks.last().copied().unwrap_or(self.timeline.start)
    }

    fn push(&mut self, until: f64, piece: Piece, jump_at_end: DVec3) {
        if until <= self.now() {
            return;
        }
        if let Some(waiting) = self.waiting.take() {
            self.curve.pieces[waiting] = Piece::Constant(piece.rates(self.now()).rate);
        }
        self.curve.breaks.push(until);
        self.curve.pieces.push(piece);
        self.curve.jumps.push(jump_at_end);
    }

    fn interval<V: Value>(
        &mut self,
        until: f64,
        interpolation: Interpolation,
        way: DVec3,
        cubic: impl FnOnce(f64) -> Cubic<V>,
    ) {
        let dt = until - self.now();
        let held = Piece::Constant(DVec3::ZERO);
        let marks = self.timeline.marks_in(self.now(), until);
        if let (Some(&first_mark), Some(&last_mark)) = (marks.first(), marks.last()) {
            match self.timeline.ends {
                Ends::Rest => self.push(until, held, DVec3::ZERO),
                Ends::Continue => {
                    let before = self.curve.pieces.last().map_or(DVec3::ZERO, |piece| piece.rates(self.now()).rate);
                    self.push(first_mark, Piece::Constant(before), DVec3::ZERO);
                    self.push(last_mark, held.clone(), DVec3::ZERO);
                    if last_mark < until {
                        self.push(until, held, DVec3::ZERO);
                        self.waiting = Some(self.curve.pieces.len() - 1);
                    }
                }
            }
            return;
        }
        if dt < SHORTEST_INTERVAL_SECS {
            self.push(until, held, way);
            return;
        }
        match interpolation {
            Interpolation::Step => self.push(until, held, way),
            Interpolation::Linear => self.push(until, Piece::Constant(way / dt), DVec3::ZERO),
            Interpolation::CubicSpline => {
                let cubic = cubic(dt);
                let [value, out, next, into] = cubic.control;
                let still = value == next && out == V::ZERO && into == V::ZERO;
                self.push(until, if still { held } else { V::piece(Box::new(cubic)) }, DVec3::ZERO);
            }
        }
    }
}
