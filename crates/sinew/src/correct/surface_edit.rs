//! Surface edits that follow any pose (EX 5): lengths and turns of scale vectors against what stands there without them.
//!
//! A point at `v = a' + R s` (a' where it hangs, R its bone's axes) that is moved to v* is kept as
//! `ratio = ‖v* − a'‖/‖s‖` and `turn`, the least rotation from ŝ to `R⁻¹(v* − a')`; at any pose it is
//! `a' + R·turn(s)·ratio`. The angle to the bone that the thesis keeps fixes the point only up to a turn about the bone;
//! the whole rotation fixes it. The thesis measures against s⁰, the scale vector at bind; here it is the one of the
//! frame, so that base, effects and corrections stay alive under an edit, and a point that is not edited stays where it
//! is instead of jumping to where its bone alone would have it.
//!
//! Edits are keyed over time (ratios linearly, turns by the shortest arc) and may overlap: at a point they are the mean
//! of those that reach it, weighted by stiffness and by how far inside the edit the point lies, so an edit fades out of
//! another without a step. Set directly they reproduce exactly; as targets of springs they are approached as the
//! stiffness grows.
//!
//! Oracle: encode, then decode at the same pose gives v*; at a turned pose it turns along; a key is met at its time.

use crate::clip::{rotation_log, slerp};
use crate::recipe::KeyCurve;
use glam::{DQuat, DVec3};

/// A scale vector against what it was: how many times as long, and turned by what, in the bone's axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoded {
    /// Length over the length before.
    pub ratio: f64,
    /// Rotation from the direction before.
    pub turn: DQuat,
}

impl Encoded {
    /// No change.
    pub const IDENTITY: Self = Self { ratio: 1.0, turn: DQuat::IDENTITY };

    /// What puts a point with the scale vector `before`, in its bone's axes, at `edited`, if the bone has turned by
    /// `rotation` and the point hangs at `anchor`; `None` for a point on the skeleton, which has no scale vector.
    pub fn of(before: DVec3, rotation: DQuat, anchor: DVec3, edited: DVec3) -> Option<Self> {
        let length = before.length();
        let now = rotation.inverse() * (edited - anchor);
        let turn = match now.try_normalize() {
            Some(direction) => DQuat::from_rotation_arc(before.try_normalize()?, direction),
            None => DQuat::IDENTITY,
        };
        let ratio = now.length() / length;
        ratio.is_finite().then_some(Self { ratio, turn })
    }

    /// Where the point is at a pose.
    pub fn place(&self, before: DVec3, rotation: DQuat, anchor: DVec3) -> DVec3 {
        anchor + rotation * (self.turn * before) * self.ratio
    }

    /// A part of the change, or more than all of it.
    pub fn scaled(self, amount: f64) -> Self {
        if amount == 1.0 {
            return self;
        }
        let turn = DQuat::from_scaled_axis(rotation_log(self.turn) * amount);
        Self { ratio: (1.0 + (self.ratio - 1.0) * amount).max(0.0), turn }
    }

    /// Between two changes.
    pub fn between(self, other: Self, share: f64) -> Self {
        Self { ratio: self.ratio + (other.ratio - self.ratio) * share, turn: slerp(self.turn, other.turn, share) }
    }
}

/// One point of an edit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EditedPoint {
    /// The point.
    pub point: u32,
    /// How far inside the edit it lies: 1 where the artist held it, 0 at the border.
    pub weight: f64,
}

/// What an edit does to its points.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// One change per point and key, over time.
    Keyed(Vec<(f64, Vec<Encoded>)>),
    /// Growth of each point's scale vector at an amount of 1.
    Radial(Vec<f64>),
    /// A wave; per point, its fraction of the stroke and the share of the wave that it takes.
    Wave(Wave, Vec<(f64, f64)>),
}

/// An edit of some points.
///
/// # Invariants
/// A change for every point; times of keys ascend and there is one; weights and stiffness are finite and not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceEdit {
    points: Vec<EditedPoint>,
    change: Change,
    amount: KeyCurve,
    stiffness: f64,
}

impl SurfaceEdit {
    /// `None` where an invariant does not hold.
    pub fn new(points: Vec<EditedPoint>, change: Change, amount: KeyCurve, stiffness: f64) -> Option<Self> {
        let positive = |x: f64| x.is_finite() && x >= 0.0;
        let changes = match &change {
            Change::Keyed(keys) => {
                !keys.is_empty()
                    && keys.iter().all(|(time, changes)| time.is_finite() && changes.len() == points.len())
                    && keys.windows(2).all(|pair| pair[0].0 < pair[1].0)
            }
            Change::Radial(growths) => growths.len() == points.len(),
            Change::Wave(_, places) => places.len() == points.len(),
        };
        let sound = changes && positive(stiffness) && points.iter().all(|p| positive(p.weight));
        sound.then_some(Self { points, change, amount, stiffness })
    }

    /// Follows another amount and stiffness; not negative and finite, as recipes have it.
    pub(crate) fn retune(&mut self, amount: &KeyCurve, stiffness: f64) {
        self.amount.clone_from(amount);
        self.stiffness = stiffness;
    }

    /// Its points.
    pub fn points(&self) -> &[EditedPoint] {
        &self.points
    }

    /// How strongly it counts against others and against springs.
    pub fn stiffness(&self) -> f64 {
        self.stiffness
    }

    /// The change of one of its points at a time; the first and the last key hold beyond them.
    pub fn at(&self, index: usize, time_secs: f64) -> Encoded {
        let amount = self.amount.at(time_secs);
        let grown = |growth: f64| Encoded { ratio: (1.0 + growth).max(0.0), turn: DQuat::IDENTITY };
        match &self.change {
            Change::Keyed(keys) => keyed(keys, index, time_secs).scaled(amount),
            Change::Radial(growths) => grown(growths[index] * amount),
            Change::Wave(wave, places) => {
                let (fraction, share) = places[index];
                grown(wave.growth(fraction, time_secs) * share * amount)
            }
        }
    }
}

fn keyed(keys: &[(f64, Vec<Encoded>)], index: usize, time_secs: f64) -> Encoded {
    let next = keys.partition_point(|key| key.0 <= time_secs);
    match (next.checked_sub(1).map(|i| &keys[i]), keys.get(next)) {
        (Some((_, changes)), None) | (None, Some((_, changes))) => changes[index],
        (Some((from, before)), Some((to, after))) => {
            before[index].between(after[index], (time_secs - from) / (to - from))
        }
        (None, None) => Encoded::IDENTITY,
    }
}

/// The edits that reach a point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlap {
    weights: f64,
    /// Weighted sums.
    ratio: f64,
    turn: DVec3,
    last: Option<Encoded>,
    reached: u32,
}

impl Overlap {
    /// What several edits make of each of `count` points at a time.
    pub fn fill(edits: &[SurfaceEdit], count: usize, time_secs: f64, out: &mut Vec<Self>) {
        out.clear();
        out.resize(count, Self::default());
        for edit in edits {
            for (index, edited) in edit.points.iter().enumerate() {
                let Some(here) = out.get_mut(edited.point as usize) else { continue };
                let weight = edit.stiffness * edited.weight;
                let change = edit.at(index, time_secs);
                here.weights += weight;
                here.ratio += weight * change.ratio;
                here.turn += rotation_log(change.turn) * weight;
                here.last = Some(change);
                here.reached += 1;
            }
        }
    }

    /// Their mean and the stiffness it is held with; `None` where none reaches.
    pub fn mean(&self) -> Option<(Encoded, f64)> {
        let total = self.weights;
        match self.last? {
            // One edit alone stays to the bit.
            change if self.reached == 1 => Some((change, total)),
            change if total <= 0.0 => Some((change, 0.0)),
            _ => {
                let turn = DQuat::from_scaled_axis(self.turn / total);
                Some((Encoded { ratio: self.ratio / total, turn }, total))
            }
        }
    }
}

/// How scale vectors grow along a bone (EX 5.1, fig. 22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Most in the middle, nothing at both ends: the thesis' `−(½ − t)² + 1.25` at a growth of ¼.
    Bulge,
    /// Evenly from the first joint to the last.
    Linear,
    /// Slowly, then fast.
    CubicIn,
    /// Fast, then slowly.
    QuarticOut,
    /// Slowly at both ends.
    SineInOut,
    /// The same all along.
    Even,
}

impl Profile {
    /// Every profile by its name in recipes.
    pub const NAMES: &[(&str, Self)] = &[
        ("bulge", Self::Bulge),
        ("linear", Self::Linear),
        ("cubic-in", Self::CubicIn),
        ("quartic-out", Self::QuarticOut),
        ("sine-in-out", Self::SineInOut),
        ("even", Self::Even),
    ];

    /// Share of the growth at a place along the bone; 1 at most.
    pub fn at(self, t: f64) -> f64 {
        let t = t.clamp(0.0, 1.0);
        match self {
            Self::Bulge => 1.0 - 4.0 * (0.5 - t).powi(2),
            Self::Linear => t,
            Self::CubicIn => t.powi(3),
            Self::QuarticOut => 1.0 - (1.0 - t).powi(4),
            Self::SineInOut => 0.5 - 0.5 * (std::f64::consts::PI * t).cos(),
            Self::Even => 1.0,
        }
    }

    /// Length over the length before, for a growth of `amount` at the profile's top; never negative.
    pub fn ratio(self, t: f64, amount: f64) -> f64 {
        (1.0 + amount * self.at(t)).max(0.0)
    }
}

/// A wave that runs along a stroke.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// Crests along the stroke.
    pub crests: f64,
    /// How often it runs the length of one crest, per second.
    pub frequency_hz: f64,
}

impl Wave {
    /// Growth of scale vectors, from −1 to 1, at a fraction of the stroke and a time. It fades at both ends of the
    /// stroke.
    pub fn growth(&self, fraction: f64, time_secs: f64) -> f64 {
        let phase = std::f64::consts::TAU * (self.crests * fraction - self.frequency_hz * time_secs);
        phase.sin() * Profile::Bulge.at(fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(ratio: f64, turn: f64) -> Encoded {
        Encoded { ratio, turn: DQuat::from_rotation_x(turn) }
    }

    #[test]
    fn an_edit_reproduces_where_it_was_made_and_follows_elsewhere() {
        let rest = DVec3::new(0.3, 0.1, -0.2);
        let (rotation, anchor) = (DQuat::from_euler(glam::EulerRot::XYZ, 0.4, 1.9, -1.0), DVec3::new(1.0, 2.0, 3.0));
        for edited in [DVec3::new(1.5, 2.2, 2.7), anchor - rotation * rest, anchor + rotation * rest * 7.0] {
            let encoded = Encoded::of(rest, rotation, anchor, edited).expect("a scale vector");
            assert!(encoded.place(rest, rotation, anchor).distance(edited) < 1e-12);
            let turn = DQuat::from_rotation_y(0.7);
            let moved = encoded.place(rest, turn * rotation, turn * anchor);
            assert!(moved.distance(turn * edited) < 1e-12);
        }
        assert_eq!(Encoded::of(DVec3::ZERO, rotation, anchor, anchor + 1.0), None);
        let flat = Encoded::of(rest, rotation, anchor, anchor).expect("a scale vector");
        assert_eq!(flat.place(rest, rotation, anchor), anchor);
    }

    #[test]
    fn keys_are_met_and_held_beyond_the_ends() {
        let edit = |keys, stiffness| {
            let points = vec![EditedPoint { point: 4, weight: 1.0 }];
            SurfaceEdit::new(points, Change::Keyed(keys), KeyCurve::constant(1.0), stiffness)
        };
        let keys = vec![(1.0, vec![change(1.0, 0.0)]), (3.0, vec![change(2.0, 1.0)])];
        let two = edit(keys.clone(), 1.0).expect("sound");
        assert_eq!(
            (two.at(0, 0.0), two.at(0, 1.0), two.at(0, 9.0)),
            (change(1.0, 0.0), change(1.0, 0.0), change(2.0, 1.0))
        );
        let middle = two.at(0, 2.0);
        assert!((middle.ratio - 1.5).abs() < 1e-12 && rotation_log(middle.turn).distance(DVec3::X * 0.5) < 1e-12);
        assert!(edit(vec![keys[1].clone(), keys[0].clone()], 1.0).is_none());
        assert!(edit(Vec::new(), 1.0).is_none());
        assert!(edit(keys, f64::NAN).is_none());
    }

    #[test]
    fn overlapping_edits_step_no_more_than_one_alone() {
        // Two bumps on a line of points, each fading to nothing at its border.
        let bump = |middle: i32, height: f64| {
            let inside = |i: i32| 1.0 - f64::from((i - middle).abs()) / 20.0;
            let reach: Vec<i32> = (0..100).filter(|&i| inside(i) > 0.0).collect();
            let points = reach.iter().map(|&i| EditedPoint { point: i as u32, weight: inside(i) }).collect();
            let smooth = |x: f64| x * x * (3.0 - 2.0 * x);
            let key =
                reach.iter().map(|&i| change(1.0 + height * smooth(inside(i)), 0.3 * smooth(inside(i)))).collect();
            SurfaceEdit::new(points, Change::Keyed(vec![(0.0, key)]), KeyCurve::constant(1.0), 1.0).expect("sound")
        };
        let largest_step = |edits: &[SurfaceEdit]| {
            let mut all = Vec::new();
            Overlap::fill(edits, 100, 0.0, &mut all);
            let ratio = |i: usize| all[i].mean().map_or(1.0, |(change, _)| change.ratio);
            (1..100).map(|i| (ratio(i) - ratio(i - 1)).abs()).fold(0.0, f64::max)
        };
        let (first, second) = (bump(40, 1.0), bump(55, 0.6));
        let alone = largest_step(std::slice::from_ref(&first));
        assert!(largest_step(&[first.clone(), second]) <= alone + 1e-12);
        let mut all = Vec::new();
        Overlap::fill(std::slice::from_ref(&first), 100, 0.0, &mut all);
        assert_eq!(all[40].mean().expect("reached").0, first.at(19, 0.0));
        assert!(all[0].mean().is_none());
    }

    #[test]
    fn profiles_are_the_thesis_and_a_wave_travels() {
        for t in [0.0f64, 0.2, 0.5, 0.9, 1.0] {
            assert!((Profile::Bulge.ratio(t, 0.25) - (1.25 - (0.5 - t).powi(2))).abs() < 1e-15);
        }
        for &(name, profile) in Profile::NAMES {
            let values: Vec<f64> = (0..=100).map(|i| profile.at(f64::from(i) / 100.0)).collect();
            assert!(values.iter().all(|v| (0.0..=1.0).contains(v)), "{name}");
            assert!(values.windows(2).all(|w| (w[1] - w[0]).abs() < 0.05), "{name}");
        }
        let wave = Wave { crests: 3.0, frequency_hz: 2.0 };
        assert_eq!((wave.growth(0.0, 0.3), Profile::Even.ratio(0.5, -9.0)), (0.0, 0.0));
        // What is at a place now is a quarter of a crest further a quarter of a period later.
        let shape = |x: f64, t: f64| wave.growth(x, t) / Profile::Bulge.at(x);
        assert!((shape(0.3, 0.1) - shape(0.3 + 0.25 / 3.0, 0.1 + 0.25 / 2.0)).abs() < 1e-12);
    }
}
