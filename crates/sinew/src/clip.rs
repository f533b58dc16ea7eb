//! Animation curves as glTF defines them, checked once.

use glam::{DQuat, DVec3, Quat, Vec3};

/// How values run between keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Straight, or by the shortest great arc for rotations.
    Linear,
    /// Held until the next key.
    Step,
    /// Cubic Hermite; values come in threes: in-tangent, value, out-tangent.
    CubicSpline,
}

/// Values over time. Before the first key and after the last the curve holds.
///
/// # Invariants
/// At least one key; times finite and strictly increasing; values finite, one per key (three for
/// [`Interpolation::CubicSpline`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Curve<T> {
    interpolation: Interpolation,
    times: Vec<f64>,
    values: Vec<T>,
}

/// Why a curve was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// No keys at all.
    #[error("has no keys")]
    Empty,
    /// Times and values do not match.
    #[error("has {times} key times but {values} values (expected {expected})")]
    CountMismatch {
        /// Key times.
        times: usize,
        /// Values given.
        values: usize,
        /// Values needed.
        expected: usize,
    },
    /// A time that is not finite or not later than the one before.
    #[error("key {key} is at {time} s, which is not a finite time later than the key before it")]
    BadTime {
        /// Index of the key.
        key: usize,
        /// Its time in seconds.
        time: f64,
    },
    /// A value that is not finite, or a rotation of length zero.
    #[error("key {key} has a value that is not finite, or a rotation of length zero")]
    BadValue {
        /// Index of the key.
        key: usize,
    },
}

/// A value a curve can hold.
pub trait CurveValue: Copy {
    /// Whether it may stand in a curve (as a key value, not as a tangent).
    fn is_valid(self) -> bool;
    /// Whether it may stand as a tangent.
    fn is_valid_tangent(self) -> bool;
}

impl CurveValue for Vec3 {
    fn is_valid(self) -> bool {
        self.is_finite()
    }
    fn is_valid_tangent(self) -> bool {
        self.is_finite()
    }
}

impl CurveValue for Quat {
    fn is_valid(self) -> bool {
        self.is_finite() && self.length_squared() > f32::MIN_POSITIVE
    }
    fn is_valid_tangent(self) -> bool {
        self.is_finite()
    }
}

impl<T: CurveValue> Curve<T> {
    /// Checks the invariants.
    pub fn new(interpolation: Interpolation, times: Vec<f64>, values: Vec<T>) -> Result<Self, CurveError> {
        let per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        check_keys(&times, values.len(), per_key)?;
        for (index, value) in values.iter().enumerate() {
            let ok = if per_key == 3 && index % 3 != 1 { value.is_valid_tangent() } else { value.is_valid() };
            if !ok {
                return Err(CurveError::BadValue { key: index / per_key });
            }
        }
        Ok(Self { interpolation, times, values })
    }

    /// Key times in seconds.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// How values run between keys.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// The value of key `key` (without tangents).
    pub fn key_value(&self, key: usize) -> T {
        match self.interpolation {
            Interpolation::CubicSpline => self.values[3 * key + 1],
            _ => self.values[key],
        }
    }

    /// In- and out-tangent of key `key`; `None` unless cubic.
    pub fn key_tangents(&self, key: usize) -> Option<(T, T)> {
        (self.interpolation == Interpolation::CubicSpline).then(|| (self.values[3 * key], self.values[3 * key + 2]))
    }
}

fn check_keys(times: &[f64], values: usize, per_key: usize) -> Result<(), CurveError> {
    if times.is_empty() {
        return Err(CurveError::Empty);
    }
    let expected = times.len().saturating_mul(per_key);
    if values != expected {
        return Err(CurveError::CountMismatch { times: times.len(), values, expected });
    }
    let mut last = f64::NEG_INFINITY;
    for (key, &time) in times.iter().enumerate() {
        if !time.is_finite() || time <= last {
            return Err(CurveError::BadTime { key, time });
        }
        last = time;
    }
    Ok(())
}

/// Where a time falls among the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeySpan {
    /// At or before the first key, at or after the last, or exactly on a key: that key's value holds.
    At(usize),
    /// Between key `key` and the next, at fraction `s` ∈ (0, 1).
    Between {
        /// The key before.
        key: usize,
        /// Fraction of the way to the next.
        s: f64,
    },
}

/// Finds `time` among sorted key `times`.
pub fn key_span(times: &[f64], time: f64) -> KeySpan {
    let after = times.partition_point(|&t| t <= time);
    if after == 0 {
        KeySpan::At(0)
    } else if after == times.len() || times[after - 1] == time {
        KeySpan::At(after - 1)
    } else {
        let (t0, t1) = (times[after - 1], times[after]);
        KeySpan::Between { key: after - 1, s: (time - t0) / (t1 - t0) }
    }
}

/// The four cubic Hermite basis values at `s` for (value0, tangent0·Δt, value1, tangent1·Δt).
pub(crate) fn hermite(s: f64) -> [f64; 4] {
    let (s2, s3) = (s * s, s * s * s);
    [2.0 * s3 - 3.0 * s2 + 1.0, s3 - 2.0 * s2 + s, 3.0 * s2 - 2.0 * s3, s3 - s2]
}

impl Curve<Vec3> {
    /// Value at `time`, evaluated in f64.
    pub fn sample(&self, time: f64) -> DVec3 {
        let value = |key| self.key_value(key).as_dvec3();
        match key_span(&self.times, time) {
            KeySpan::At(key) => value(key),
            KeySpan::Between { key, s } => match self.interpolation {
                Interpolation::Step => value(key),
                Interpolation::Linear => value(key) * (1.0 - s) + value(key + 1) * s,
                Interpolation::CubicSpline => {
                    let dt = self.times[key + 1] - self.times[key];
                    let [h0, h1, h2, h3] = hermite(s);
                    value(key) * h0
                        + self.values[3 * key + 2].as_dvec3() * (h1 * dt)
                        + value(key + 1) * h2
                        + self.values[3 * key + 3].as_dvec3() * (h3 * dt)
                }
            },
        }
    }
}

impl Curve<Quat> {
    /// Unit rotation at `time`, evaluated in f64: shortest arc for linear curves, normalised for cubic ones.
    pub fn sample(&self, time: f64) -> DQuat {
        let unit = |key| self.key_value(key).as_dquat().normalize();
        match key_span(&self.times, time) {
            KeySpan::At(key) => unit(key),
            KeySpan::Between { key, s } => match self.interpolation {
                Interpolation::Step => unit(key),
                Interpolation::Linear => slerp(unit(key), unit(key + 1), s),
                Interpolation::CubicSpline => {
                    let u = self.sample_unnormalised(key, s);
                    if u.length_squared() > f64::MIN_POSITIVE { u.normalize() } else { unit(key) }
                }
            },
        }
    }

    /// The Hermite polynomial of a cubic curve between `key` and the next, before normalisation.
    pub(crate) fn sample_unnormalised(&self, key: usize, s: f64) -> DQuat {
        let dt = self.times[key + 1] - self.times[key];
        let [h0, h1, h2, h3] = hermite(s);
        self.key_value(key).as_dquat() * h0
            + self.values[3 * key + 2].as_dquat() * (h1 * dt)
            + self.key_value(key + 1).as_dquat() * h2
            + self.values[3 * key + 3].as_dquat() * (h3 * dt)
    }
}

/// Spherical interpolation along the shorter arc; exact at both ends for any angle.
pub fn slerp(a: DQuat, b: DQuat, s: f64) -> DQuat {
    let arc = rotation_log(b * a.conjugate()) * s;
    (DQuat::from_scaled_axis(arc) * a).normalize()
}

/// The rotation vector (axis × angle, angle ≤ π) of a unit quaternion, whatever its sign.
pub fn rotation_log(q: DQuat) -> DVec3 {
    let q = if q.w < 0.0 { -q } else { q };
    let v = DVec3::new(q.x, q.y, q.z);
    let sine = v.length();
    let half = sine.atan2(q.w);
    // Below this the quotient half/sine is 1 to the last bit.
    let per_sine = if sine < 1e-9 { 1.0 } else { half / sine };
    v * (2.0 * per_sine)
}

/// Weights of one mesh instance's morph targets over time.
///
/// # Invariants
/// As [`Curve`], with `targets` values per key (three times as many for cubic curves: all in-tangents of the key,
/// all values, all out-tangents, as glTF stores them).
#[derive(Clone, Debug, PartialEq)]
pub struct MorphCurve {
    interpolation: Interpolation,
    times: Vec<f64>,
    targets: usize,
    values: Vec<f32>,
}

impl MorphCurve {
    /// Checks the invariants.
    pub fn new(
        interpolation: Interpolation,
        times: Vec<f64>,
        targets: usize,
        values: Vec<f32>,
    ) -> Result<Self, CurveError> {
        let per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        check_keys(&times, values.len(), targets.saturating_mul(per_key))?;
        if let Some(bad) = values.iter().position(|v| !v.is_finite()) {
            return Err(CurveError::BadValue { key: bad / (targets * per_key).max(1) });
        }
        Ok(Self { interpolation, times, targets, values })
    }

    /// Key times in seconds.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// How values run between keys.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// Number of targets.
    pub fn targets(&self) -> usize {
        self.targets
    }

    /// All weights, key by key; for cubic curves all in-tangents of the key, all values, all out-tangents.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Weights at `time`, written to `out` (as many as targets; a shorter `out` takes the first ones).
    pub fn sample(&self, time: f64, out: &mut [f32]) {
        let n = self.targets;
        let (stride, offset) = if self.interpolation == Interpolation::CubicSpline { (3 * n, n) } else { (n, 0) };
        let value = |key: usize, target: usize| f64::from(self.values[key * stride + offset + target]);
        let place = key_span(&self.times, time);
        for (target, out) in out.iter_mut().enumerate().take(n) {
            *out = match place {
                KeySpan::At(key) => value(key, target),
                KeySpan::Between { key, s } => match self.interpolation {
                    Interpolation::Step => value(key, target),
                    Interpolation::Linear => value(key, target) * (1.0 - s) + value(key + 1, target) * s,
                    Interpolation::CubicSpline => {
                        let dt = self.times[key + 1] - self.times[key];
                        let [h0, h1, h2, h3] = hermite(s);
                        let out_tangent = f64::from(self.values[key * stride + 2 * n + target]);
                        let in_tangent = f64::from(self.values[(key + 1) * stride + target]);
                        value(key, target) * h0
                            + out_tangent * h1 * dt
                            + value(key + 1, target) * h2
                            + in_tangent * h3 * dt
                    }
                },
            } as f32;
        }
    }
}

/// The curves of one node.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Node animated (index into [`crate::RawRig::bones`]).
    pub node: usize,
    /// Translation in the parent's space.
    pub translation: Option<Curve<Vec3>>,
    /// Rotation in the parent's space.
    pub rotation: Option<Curve<Quat>>,
    /// Scale along the local axes.
    pub scale: Option<Curve<Vec3>>,
    /// Weights of the morph targets of the mesh the node carries.
    pub morph: Option<MorphCurve>,
}

/// A named animation: at most one track per node.
#[derive(Clone, Debug, Default)]
pub struct Clip {
    /// Name as written; may be empty.
    pub name: String,
    /// Tracks in any order.
    pub tracks: Vec<Track>,
}

impl Clip {
    /// First and last key time over all channels; `None` for a clip without channels.
    pub fn span(&self) -> Option<(f64, f64)> {
        self.tracks
            .iter()
            .flat_map(|track| {
                let ends = |times: &[f64]| Some((*times.first()?, *times.last()?));
                [
                    track.translation.as_ref().and_then(|c| ends(c.times())),
                    track.rotation.as_ref().and_then(|c| ends(c.times())),
                    track.scale.as_ref().and_then(|c| ends(c.times())),
                    track.morph.as_ref().and_then(|c| ends(c.times())),
                ]
            })
            .flatten()
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}
