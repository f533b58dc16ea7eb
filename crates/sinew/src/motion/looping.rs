//! Whether a clip loops, and how.
//!
//! A loop is closed if every bone's gap between first and last key is at most 0.01 rad and 10⁻³ of the character's
//! size. If the gap is no larger than 1.5 × the largest key-to-key step, the closing key is missing and the period is
//! one key spacing longer. A root that ends elsewhere travels. Anything else is no loop.
//!
//! A few joints do not make a loop a motion with ends: where three quarters of the limbs that move close and the others
//! come back to within ten times what counts as closed (0.1 rad, a hundredth of the size), what they lack is spread
//! evenly over the clip as any residual is, and the worst of them is named.
//!
//! Three readings sharpen the rule. Steps are compared as speeds, since keys may be unevenly spaced: the gap crossed
//! in one key spacing may be no faster than 1.5 × the fastest key interval; and a bone that lacks one key of a cycle has
//! come most of the way back, so the gap may be no larger than ¾ of its largest distance from the first key (with few
//! keys, two above all, a gap of one step is no evidence). A closing key is missing for the whole clip or not at all: when
//! the other bones do close, a root that does not has travelled. And travel needs that evidence: when nothing but
//! roots moves, an open one (a door that opens) makes no loop. A *root* is a moving bone none of whose ancestors leaves
//! its first placement by more than what counts as closed: rounding in a root's keys does not make its child a limb.

use super::derivatives::{Keys, Value};
use crate::clip::Interpolation;
use crate::skeleton::BoneId;
use glam::{DMat3, DQuat, DVec3};
use std::fmt;

/// Largest turn between first and last key of a closed loop, in radians.
const CLOSED_ANGLE: f64 = 0.01;
/// Largest distance between first and last key of a closed loop, as a share of the character's size.
const CLOSED_SHARE_OF_SIZE: f64 = 1e-3;
/// What a few joints may lack, in units of what counts as closed.
const NEARLY_CLOSED: f64 = 10.0;
/// Of the limbs that move, at least this share closes where others nearly do.
const CLOSED_SHARE_OF_LIMBS: f64 = 0.75;
/// Residuals of closed loops are named from this share of the tolerance on.
const WORTH_A_WORD: f64 = 1e-3;
/// Largest gap that one missing key explains, in largest steps.
const MISSING_KEY_STEPS: f64 = 1.5;

/// Largest gap that one missing key explains, as a share of the largest distance from the first key: four keys around
/// a circle leave 0.71.
const MISSING_KEY_SHARE_OF_EXCURSION: f64 = 0.75;

/// Whether to treat a clip as a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looping {
    /// As the keys tell.
    #[default]
    Auto,
    /// As a loop, whatever the keys tell.
    Yes,
    /// As a motion with a beginning and an end.
    No,
}

/// How far apart a bone's first and last keys are.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// The bone.
    pub bone: BoneId,
    /// Its name.
    pub name: String,
    /// Turn in radians.
    pub angle: f64,
    /// World distance.
    pub distance: f64,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, angle, distance, .. } = self;
        write!(f, "bone \"{name}\" ends {distance:.2e} units and {:.2}° from where it began", angle.to_degrees())
    }
}

/// What was found about a clip's ends.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopVerdict {
    /// A clip without length: a pose.
    Pose,
    /// First and last key agree, but for a residual that is taken out of the motion evenly.
    Closed {
        /// The bone with the largest residual; `None` where it is a thousand times smaller than what counts as closed.
        residual: Option<Gap>,
    },
    /// The last key is one step short of the first.
    MissingClosingKey {
        /// How much longer than the keys the period is, in seconds.
        spacing: f64,
    },
    /// A loop whose root ends elsewhere.
    Travelling {
        /// The root that went farthest.
        root: Gap,
        /// How much longer than the keys the period is, in seconds; 0 unless the closing key is missing as well.
        spacing: f64,
    },
    /// Made a loop by the user though the keys do not close.
    Forced {
        /// The bone that is farthest from closing.
        open: Gap,
    },
    /// Not a loop.
    NotALoop {
        /// The bone that is farthest from closing; `None` where the user said that it is no loop.
        open: Option<Gap>,
    },
}

impl fmt::Display for LoopVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = |f: &mut fmt::Formatter<'_>, spacing: f64| {
            write!(
                f,
                "its closing key is missing: the period is {spacing:.4} s longer than the keys, and engines that do \
                 not know this will show a pop; repeat the first key at the end"
            )
        };
        match self {
            Self::Pose => write!(f, "a pose: the clip has no length"),
            Self::Closed { residual: None } => write!(f, "loops: first and last key agree"),
            Self::Closed { residual: Some(gap) } => write!(f, "loops: {gap}, which is spread evenly over the clip"),
            Self::MissingClosingKey { spacing } => {
                write!(f, "loops, but ")?;
                late(f, *spacing)
            }
            Self::Travelling { root, spacing } => {
                write!(f, "loops and travels: {root}")?;
                if *spacing > 0.0 {
                    write!(f, "; ")?;
                    late(f, *spacing)?;
                }
                Ok(())
            }
            Self::Forced { open } => write!(f, "treated as a loop as requested, although {open}"),
            Self::NotALoop { open: Some(gap) } => write!(f, "does not loop: {gap}"),
            Self::NotALoop { open: None } => write!(f, "does not loop, as requested"),
        }
    }
}

/// A moving bone's channels in its parent's frame.
#[derive(Clone, Debug)]
pub(super) struct BoneKeys {
    pub bone: BoneId,
    pub name: String,
    pub translation: Option<Keys<DVec3>>,
    pub rotation: Option<Keys<DQuat>>,
    pub rest: (DVec3, DQuat),
    /// Whether no ancestor moves by more than what counts as closed.
    pub is_root: bool,
    /// The parent's 3×3 on the clip's first frame.
    pub world_from_parent: DMat3,
    /// Size of the bone's character; 0 where it has none.
    pub size: f64,
}

impl BoneKeys {
    pub fn first(&self) -> (DVec3, DQuat) {
        self.placement(|values| values.first().copied(), |values| values.first().copied())
    }

    pub fn last(&self) -> (DVec3, DQuat) {
        self.placement(|values| values.last().copied(), |values| values.last().copied())
    }

    fn placement(
        &self,
        of_translation: impl Fn(&[DVec3]) -> Option<DVec3>,
        of_rotation: impl Fn(&[DQuat]) -> Option<DQuat>,
    ) -> (DVec3, DQuat) {
        (
            self.translation.as_ref().and_then(|keys| of_translation(&keys.values)).unwrap_or(self.rest.0),
            self.rotation.as_ref().and_then(|keys| of_rotation(&keys.values)).unwrap_or(self.rest.1).normalize(),
        )
    }

    /// Whether the bone leaves its first placement by more than what counts as closed.
    pub fn leaves_its_place(&self) -> bool {
        let moves = self.moves();
        self.turns().is_some_and(|steps| steps.excursion > CLOSED_ANGLE)
            || moves.is_some_and(|steps| steps.excursion > self.tolerance(steps.excursion))
    }

    fn turns(&self) -> Option<Steps> {
        self.rotation.as_ref().map(|keys| Steps::new(keys, |way| way.length()))
    }

    fn moves(&self) -> Option<Steps> {
        self.translation.as_ref().map(|keys| Steps::new(keys, |way| (self.world_from_parent * way).length()))
    }

    /// World distance that counts as closed; a bone without a character has no size but its own path.
    fn tolerance(&self, excursion: f64) -> f64 {
        CLOSED_SHARE_OF_SIZE * if self.size > 0.0 && self.size.is_finite() { self.size } else { excursion }
    }

    fn gap(&self) -> Gap {
        let (first, last) = (self.first(), self.last());
        Gap {
            bone: self.bone,
            name: self.name.clone(),
            angle: first.1.way_to(last.1).length(),
            distance: (self.world_from_parent * (last.0 - first.0)).length(),
        }
    }
}

/// How one bone stands between its last key and its first.
struct Ending {
    gap: Gap,
    /// The gap in units of what still counts as closed.
    times_tolerance: f64,
    /// Closed, or one missing key explains the gap.
    within_a_step: bool,
}

impl Ending {
    fn closed(&self) -> bool {
        self.times_tolerance <= 1.0
    }

    fn new(keys: &BoneKeys, spacing: f64) -> Self {
        let gap = keys.gap();
        let (turns, moves) = (keys.turns(), keys.moves());
        let tolerance = keys.tolerance(moves.as_ref().map_or(0.0, |steps| steps.excursion));
        let in_tolerances = |distance: f64| if distance == 0.0 { 0.0 } else { distance / tolerance };
        let (angle, distance) = (gap.angle / CLOSED_ANGLE, in_tolerances(gap.distance));
        let explained = |tolerances: f64, gap: f64, steps: &Option<Steps>| {
            tolerances <= 1.0 || steps.as_ref().is_some_and(|steps| steps.explain(gap, spacing))
        };
        Self {
            times_tolerance: angle.max(distance),
            within_a_step: explained(angle, gap.angle, &turns) && explained(distance, gap.distance, &moves),
            gap,
        }
    }
}

/// The key-to-key steps of one channel.
struct Steps {
    jumps: bool,
    largest: f64,
    fastest: f64,
    /// Largest distance from the first key.
    excursion: f64,
}

impl Steps {
    fn new<V: Value>(keys: &Keys<V>, length: impl Fn(DVec3) -> f64) -> Self {
        let jumps = keys.interpolation == Interpolation::Step;
        let mut steps = Self { jumps, largest: 0.0, fastest: 0.0, excursion: 0.0 };
        for (times, values) in keys.times.windows(2).zip(keys.values.windows(2)) {
            let step = length(values[0].way_to(values[1]));
            steps.largest = steps.largest.max(step);
            steps.fastest = steps.fastest.max(step / (times[1] - times[0]));
            steps.excursion = steps.excursion.max(length(keys.values[0].way_to(values[1])));
        }
        steps
    }

    /// Whether one missing key after `spacing` seconds explains `gap`.
    fn explain(&self, gap: f64, spacing: f64) -> bool {
        let step = if self.jumps { self.largest } else { self.fastest * spacing };
        gap <= MISSING_KEY_STEPS * step && gap <= MISSING_KEY_SHARE_OF_EXCURSION * self.excursion
    }
}

/// The verdict, and what it means for each bone.
pub(super) struct Judgement {
    pub verdict: LoopVerdict,
    /// Seconds from the last key to the end of the period.
    pub spacing: f64,
    /// Per bone given: whether it goes on from where it ends instead of coming back.
    pub goes_on: Vec<bool>,
}

impl Judgement {
    pub fn loops(&self) -> bool {
        !matches!(self.verdict, LoopVerdict::Pose | LoopVerdict::NotALoop { .. })
    }
}

/// Judges a clip by its moving bones; `spacing` is the clip's key spacing.
pub(super) fn judge(bones: &[BoneKeys], spacing: f64, looping: Looping) -> Judgement {
    let endings: Vec<Ending> = bones.iter().map(|keys| Ending::new(keys, spacing)).collect();
    let worst = |keep: &dyn Fn(&BoneKeys, &Ending) -> bool| {
        let kept = bones.iter().zip(&endings).filter(|(keys, ending)| keep(keys, ending));
        kept.map(|(_, ending)| ending)
            .reduce(|a, b| if b.times_tolerance > a.times_tolerance { b } else { a })
            .map(|ending| ending.gap.clone())
    };
    let nothing_goes_on = vec![false; bones.len()];
    if looping == Looping::No {
        return Judgement { verdict: LoopVerdict::NotALoop { open: None }, spacing: 0.0, goes_on: nothing_goes_on };
    }
    let Some(worst_open) = worst(&|_, ending| !ending.closed()) else {
        let verdict = LoopVerdict::Closed { residual: worst(&|_, ending| ending.times_tolerance > WORTH_A_WORD) };
        return Judgement { verdict, spacing: 0.0, goes_on: nothing_goes_on };
    };
    let limbs = || bones.iter().zip(&endings).filter(|(keys, _)| !keys.is_root).map(|(_, ending)| ending);
    let limbs_show_a_loop = bones.iter().any(|keys| !keys.is_root && keys.leaves_its_place());
    let limbs_close = limbs().all(Ending::closed);
    if endings.iter().all(|ending| ending.within_a_step) && !(limbs_close && limbs_show_a_loop) {
        let verdict = LoopVerdict::MissingClosingKey { spacing };
        return Judgement { verdict, spacing, goes_on: nothing_goes_on };
    }
    let evidence = limbs_show_a_loop || looping == Looping::Yes;
    let travelling = |spacing: f64, comes_back: &dyn Fn(&Ending) -> bool| {
        let goes_on = endings.iter().map(|ending| !comes_back(ending)).collect();
        let root = worst(&|_, ending| !comes_back(ending)).unwrap_or_else(|| worst_open.clone());
        Judgement { verdict: LoopVerdict::Travelling { root, spacing }, spacing, goes_on }
    };
    if limbs_close && evidence {
        return travelling(0.0, &Ending::closed);
    }
    if limbs().all(|ending| ending.within_a_step) && evidence {
        return travelling(spacing, &|ending| ending.within_a_step);
    }
    let nearly = |ending: &Ending| ending.times_tolerance <= NEARLY_CLOSED;
    let moving = bones.iter().zip(&endings).filter(|(keys, _)| !keys.is_root && keys.leaves_its_place());
    let (closed, all) =
        moving.fold((0, 0), |(closed, all), (_, ending)| (closed + i32::from(ending.closed()), all + 1));
    if limbs_show_a_loop && limbs().all(nearly) && f64::from(closed) >= CLOSED_SHARE_OF_LIMBS * f64::from(all) {
        return if endings.iter().all(nearly) {
            let verdict = LoopVerdict::Closed { residual: Some(worst_open) };
            Judgement { verdict, spacing: 0.0, goes_on: nothing_goes_on }
        } else {
            travelling(0.0, &nearly)
        };
    }
    let open = worst(&|keys, ending| !keys.is_root && !ending.within_a_step).unwrap_or(worst_open);
    if looping == Looping::Yes {
        let goes_on = endings.iter().map(|ending| !ending.closed()).collect();
        return Judgement { verdict: LoopVerdict::Forced { open }, spacing: 0.0, goes_on };
    }
    Judgement { verdict: LoopVerdict::NotALoop { open: Some(open) }, spacing: 0.0, goes_on: nothing_goes_on }
}
