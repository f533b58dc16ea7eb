//! Whether a part swings already: keyed by hand, or by springs of the player.
//!
//! Overlapping action shows in the keys of a chain: each bone does what the one before it did, a moment later. With ω the
//! angular velocity of a bone against its parent, the correlation of ω of a bone and of the next one down the chain,
//! `C(τ) = Σ ω(t)·ω'(t + τ) / √(Σω² Σω'²)`, then has its peak at a positive τ. A chain that is keyed as one has it at 0,
//! one that is not keyed has no energy.
//!
//! Oracle: a chain that is keyed with a known delay, and one without (`tests/all/secondary.rs`).

use crate::LivenError;
use crate::survey::PlayedClip;
use glam::DVec3;
use sinew::anatomy::{Anatomy, Role};
use sinew::{BoneId, Stage, Workspace};

/// Frames a second.
const RATE: f64 = 60.0;
/// Frames of a clip, at most.
const MOST_FRAMES: f64 = 240.0;
/// Clips looked at, at most: spread evenly.
const MOST_CLIPS: usize = 16;
/// The delays of overlapping action, in seconds: less is keyed as one, more is another motion.
const DELAYS: [f64; 2] = [0.025, 0.25];
/// What a correlation must be to tell of one motion.
const ALIKE: f64 = 0.6;
/// How much better a delay must fit than none.
const BETTER: f64 = 0.02;
/// Radians a second, root mean square: a bone that turns less has no motion of its own.
const TURNS: f64 = 0.15;

/// What the bones of a part do by themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Own {
    /// Nothing, or they turn as one.
    Plain,
    /// Each follows the one before it by so many seconds, on average.
    Overlaps {
        /// The delay from bone to bone.
        delay: f64,
    },
    /// The player swings them.
    Sprung,
}

/// What the bones of `role` do; `main` are the bones its points follow most.
pub(crate) fn own_motion(
    stage: &Stage,
    clips: &[PlayedClip<'_>],
    anatomy: &Anatomy,
    role: Role,
    main: &[BoneId],
    sprung: &[BoneId],
) -> Result<Own, LivenError> {
    let swung = main.iter().filter(|bone| sprung.contains(bone)).count();
    if 2 * swung > main.len() {
        return Ok(Own::Sprung);
    }
    let skeleton = stage.rig().skeleton();
    let is_of = |bone: BoneId| anatomy.bone(bone).role == role && main.contains(&bone);
    let links: Vec<(BoneId, BoneId)> = (skeleton.bones())
        .filter(|&bone| is_of(bone))
        .filter_map(|bone| Some((stage.hierarchy().parent(bone).filter(|&above| is_of(above))?, bone)))
        .collect();
    if links.is_empty() {
        return Ok(Own::Plain);
    }
    // Energy of links in all, of those that overlap, and of these times the delay.
    let (mut all, mut overlapping, mut delays) = (0.0, 0.0, 0.0);
    let step = clips.len().div_ceil(MOST_CLIPS).max(1);
    let mut workspace = Workspace::default();
    for (clip, settings) in clips.iter().step_by(step) {
        let playing = stage.motion(clip, settings)?;
        let (start, end) = (playing.report().start, playing.report().last_key);
        let steps = ((end - start) * RATE).ceil().clamp(0.0, MOST_FRAMES) as usize;
        if steps < 8 {
            continue;
        }
        let spacing = (end - start) / steps as f64;
        let mut turns: Vec<[Vec<DVec3>; 2]> = vec![[Vec::new(), Vec::new()]; links.len()];
        for frame in 0..steps {
            let posed = playing.at(start + spacing * frame as f64, &mut workspace);
            let turn = |bone: BoneId| posed.kinematics().bones[bone.index()].angular_velocity;
            for (turns, &(above, bone)) in turns.iter_mut().zip(&links) {
                turns[0].push(turn(above));
                turns[1].push(turn(bone));
            }
        }
        for [above, below] in &turns {
            let energy = |turns: &[DVec3]| turns.iter().map(|turn| turn.length_squared()).sum::<f64>();
            let (up, down) = (energy(above), energy(below));
            let least = TURNS * TURNS * steps as f64;
            if !(up.is_finite() && down.is_finite() && up > least && down > least) {
                continue;
            }
            all += down;
            if let Some(delay) = delay(above, below, spacing, playing.report().period.is_some()) {
                overlapping += down;
                delays += down * delay;
            }
        }
    }
    // Most of what moves must overlap.
    Ok(if all > 0.0 && overlapping > 0.5 * all { Own::Overlaps { delay: delays / overlapping } } else { Own::Plain })
}

/// The delay at which one series repeats another, where there is one.
fn delay(first: &[DVec3], later: &[DVec3], spacing: f64, loops: bool) -> Option<f64> {
    let count = first.len();
    let alike = |later: &[DVec3], shift: isize| {
        let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
        for (n, a) in first.iter().enumerate() {
            let at = n as isize + shift;
            let at = if loops { Some(at.rem_euclid(count as isize) as usize) } else { usize::try_from(at).ok() };
            if let Some(b) = at.and_then(|at| later.get(at)) {
                both += a.dot(*b);
                one += a.length_squared();
                other += b.length_squared();
            }
        }
        if one > 0.0 && other > 0.0 { both / (one * other).sqrt() } else { 0.0 }
    };
    let correlation = |shift: isize| alike(later, shift);
    // A quarter of a period later a motion has nothing to do with itself, and half of one later it is the other way round:
    // what is that late may as well be keyed against it.
    let farthest = ((DELAYS[1] / spacing) as usize).min(count / 2) as isize;
    let most = (1..=farthest).find(|&shift| alike(first, shift) <= 0.0).unwrap_or(farthest);
    let (best, at) = (-most..=most)
        .map(|shift| (correlation(shift), shift))
        .fold((f64::NEG_INFINITY, 0), |best, next| if next.0 > best.0 { next } else { best });
    let delay = at as f64 * spacing;
    (best >= ALIKE && best >= correlation(0) + BETTER && delay >= DELAYS[0]).then_some(delay)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn wave(delay: f64, seconds: f64, period: f64) -> Vec<DVec3> {
        let count = (seconds * 60.0) as usize;
        (0..count).map(|n| DVec3::X * (TAU * (n as f64 / 60.0 - delay) / period).sin()).collect()
    }

    #[test]
    fn a_delay_is_found_as_it_is() {
        for loops in [true, false] {
            for expected in [0.05, 0.1, 0.2] {
                let found = delay(&wave(0.0, 2.0, 1.0), &wave(expected, 2.0, 1.0), 1.0 / 60.0, loops);
                assert!(found.is_some_and(|found| (found - expected).abs() < 0.02), "{found:?} {expected}");
            }
        }
    }

    #[test]
    fn together_ahead_against_or_unlike_is_no_delay() {
        let first = wave(0.0, 2.0, 1.0);
        assert_eq!(delay(&wave(0.0, 2.0, 0.4), &wave(0.2, 2.0, 0.4), 1.0 / 60.0, true), None);
        assert_eq!(delay(&first, &first, 1.0 / 60.0, true), None);
        assert_eq!(delay(&first, &wave(-0.1, 2.0, 1.0), 1.0 / 60.0, true), None);
        let other: Vec<DVec3> = wave(0.1, 2.0, 1.0).iter().map(|turn| DVec3::Y * turn.x).collect();
        assert_eq!(delay(&first, &other, 1.0 / 60.0, true), None);
        assert_eq!(delay(&first, &vec![DVec3::ZERO; first.len()], 1.0 / 60.0, true), None);
    }
}
