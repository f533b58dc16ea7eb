//! What is wrong with a clip's keys themselves, whatever is done with them.
//!
//! *Jumps.* A bone that crosses more than a twentieth of the character, or turns by more than an eighth of a circle,
//! between two keys, at eight times the speed of the key intervals on both sides, was put elsewhere rather than moved. At
//! the first interval it is a first key that does not belong to the clip, such as a bind pose left at frame 0. Stepped
//! channels jump by intent.
//!
//! *Noise.* For white noise of variance σ² per key, third differences have variance (1 + 9 + 9 + 1) σ² = 20 σ², and
//! neighbouring second differences, correlated by −2/3, mostly point in opposite directions; for motion that keys
//! resolve, neither holds. So a channel of eight or more evenly spaced keys is noisy where at least 60 % of neighbouring
//! second differences oppose each other, and σ = √(mean |Δ³|² / 20). Turns count by the reach of the bone.
//!
//! Oracle: curves with a jump or noise of known size put in (tests below).

use glam::{DQuat, DVec3};
use sinew::clip::{Track, rotation_log};
use sinew::{Clip, Curve, Interpolation, Rig, WorldPose};

/// A distance that is a jump if it is fast enough, as a share of the size.
const JUMP_SHARE: f64 = 0.05;
/// An angle that is a jump if it is fast enough.
const JUMP_ANGLE: f64 = std::f64::consts::FRAC_PI_4;
/// How much faster than its neighbours a jump is.
const JUMP_SPEED: f64 = 8.0;
/// Fewest keys by which noise can be told from motion.
const FEWEST_KEYS: usize = 8;
/// Share of opposing second differences that makes noise.
const OPPOSING: f64 = 0.6;
/// How evenly keys must be spaced for differences to mean anything.
const EVEN: f64 = 0.01;

/// A jump between two keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Jump {
    /// The bone.
    pub bone: String,
    /// Its node.
    pub node: usize,
    /// When the interval begins, in seconds.
    pub time: f64,
    /// How far it moves what hangs on the bone (its own joint, for a translation), as a share of the character's size.
    pub distance: f64,
    /// Turn in radians; 0 for a translation.
    pub angle: f64,
    /// Whether it is the first interval of the clip.
    pub is_first: bool,
}

/// Noise in one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The bone.
    pub bone: String,
    /// Its node.
    pub node: usize,
    /// Whether it is in the rotation; else in the translation.
    pub is_rotation: bool,
    /// How far it moves what hangs on the bone (its own joint, for a translation), as a share of the character's size.
    pub amplitude: f64,
}

/// What was found in the keys of a clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyReport {
    /// Jumps, in the order of the tracks.
    pub jumps: Vec<Jump>,
    /// The noisiest channel.
    pub noise: Option<Noise>,
}

/// Looks at the keys of `clip`; intervals that hold one of `teleports` are known to jump.
pub fn keys(rig: &Rig, clip: &Clip, teleports: &[f64]) -> KeyReport {
    let mut report = KeyReport::default();
    let mut world = WorldPose::default();
    world.compose(rig.skeleton(), &rig.rest_pose());
    let start = clip.span().map_or(0.0, |(start, _)| start);
    for track in &clip.tracks {
        let Some(bone) = rig.skeleton().bone_of_node(track.node) else { continue };
        let size = rig.bone_sizes().get(bone.index()).copied().filter(|&size| size > 0.0).unwrap_or(1.0);
        let to_world = world.world_from_parent(rig.skeleton(), bone).matrix3;
        let reach = rig.segments(bone).length / size;
        let channels = [
            moves(track).map(|(times, steps)| {
                (false, times, steps.into_iter().map(|step| to_world * step / size).collect::<Vec<_>>())
            }),
            turns(track).map(|(times, steps)| (true, times, steps)),
        ];
        for (is_rotation, times, steps) in channels.into_iter().flatten() {
            let limit = if is_rotation { JUMP_ANGLE } else { JUMP_SHARE };
            let name = rig.skeleton().name(bone).to_owned();
            for interval in jumps(times, &steps, limit) {
                let (from, to) = (times[interval], times[interval + 1]);
                if teleports.iter().any(|mark| (from..=to).contains(mark)) {
                    continue;
                }
                let length = steps[interval].length();
                report.jumps.push(Jump {
                    bone: name.clone(),
                    node: track.node,
                    time: from,
                    distance: if is_rotation { length * reach } else { length },
                    angle: if is_rotation { length } else { 0.0 },
                    is_first: from == start,
                });
            }
            let amplitude = noise(times, &steps).map(|sigma| if is_rotation { sigma * reach } else { sigma });
            if let Some(amplitude) = amplitude.filter(|&a| a > report.noise.as_ref().map_or(0.0, |n| n.amplitude)) {
                report.noise = Some(Noise { bone: name, node: track.node, is_rotation, amplitude });
            }
        }
    }
    report
}

/// Key times, and the way from each key to the next.
type Steps<'t> = (&'t [f64], Vec<DVec3>);

fn moves(track: &Track) -> Option<Steps<'_>> {
    let curve = track.translation.as_ref().filter(|curve| is_moving(curve))?;
    let value = |key: usize| curve.key_value(key).as_dvec3();
    Some((curve.times(), (1..curve.times().len()).map(|key| value(key) - value(key - 1)).collect()))
}

fn turns(track: &Track) -> Option<Steps<'_>> {
    let curve = track.rotation.as_ref().filter(|curve| is_moving(curve))?;
    let value = |key: usize| -> DQuat { curve.key_value(key).as_dquat().normalize() };
    let way = |key: usize| rotation_log(value(key) * value(key - 1).conjugate());
    Some((curve.times(), (1..curve.times().len()).map(way).collect()))
}

fn is_moving<T: sinew::clip::CurveValue>(curve: &Curve<T>) -> bool {
    curve.interpolation() != Interpolation::Step && curve.times().len() > 2
}

/// Intervals that cross more than `limit` at many times the speed of those beside them.
fn jumps(times: &[f64], steps: &[DVec3], limit: f64) -> Vec<usize> {
    let speed = |interval: usize| steps[interval].length() / (times[interval + 1] - times[interval]);
    let is_jump = |&interval: &usize| {
        let before = interval.checked_sub(1).map_or(0.0, speed);
        let after = if interval + 1 < steps.len() { speed(interval + 1) } else { 0.0 };
        steps[interval].length() > limit && speed(interval) > JUMP_SPEED * before.max(after)
    };
    (0..steps.len()).filter(is_jump).collect()
}

/// Standard deviation of the noise in a channel that has any.
fn noise(times: &[f64], steps: &[DVec3]) -> Option<f64> {
    let spacing = (times.last()? - times.first()?) / (times.len() - 1) as f64;
    let is_even = times.windows(2).all(|pair| (pair[1] - pair[0] - spacing).abs() <= EVEN * spacing);
    if times.len() < FEWEST_KEYS || !is_even {
        return None;
    }
    let second: Vec<DVec3> = steps.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let pairs = || second.windows(2);
    let opposing = pairs().filter(|pair| pair[0].dot(pair[1]) < 0.0).count();
    if (opposing as f64) < OPPOSING * pairs().len() as f64 {
        return None;
    }
    let squares: f64 = pairs().map(|pair| (pair[1] - pair[0]).length_squared()).sum();
    Some((squares / (20.0 * pairs().len() as f64)).sqrt()).filter(|&sigma| sigma > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(count: usize) -> Vec<f64> {
        (0..count).map(|n| n as f64 / 24.0).collect()
    }

    fn steps(values: &[DVec3]) -> Vec<DVec3> {
        values.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// A smooth swing.
    fn swing(count: usize) -> Vec<DVec3> {
        (0..count).map(|n| DVec3::new((n as f64 * 0.3).sin(), (n as f64 * 0.2).cos(), 0.0)).collect()
    }

    #[test]
    fn a_jump_is_found_and_a_swing_is_none() {
        let mut values = swing(40);
        assert_eq!(jumps(&times(40), &steps(&values), 0.05), [0usize; 0]);
        values[20..].iter_mut().for_each(|v| v.z += 5.0);
        assert_eq!(jumps(&times(40), &steps(&values), 0.05), [19]);
        let mut bind_pose = swing(40);
        bind_pose[0].z = 9.0;
        assert_eq!(jumps(&times(40), &steps(&bind_pose), 0.05), [0]);
    }

    #[test]
    fn noise_is_told_from_motion_and_its_size_is_right() {
        // A small congruential generator: any sequence without structure does.
        let mut state = 12345u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        assert_eq!(noise(&times(400), &steps(&swing(400))), None);
        let jitter = 0.2;
        let mut values = swing(400);
        values.iter_mut().for_each(|v| *v += jitter * DVec3::new(uniform(), uniform(), uniform()));
        let sigma = noise(&times(400), &steps(&values)).expect("noisy");
        // Three axes of variance 1/12 each.
        let expected = jitter * (3.0f64 / 12.0).sqrt();
        assert!((sigma / expected - 1.0).abs() < 0.15, "{sigma} {expected}");
        assert_eq!(noise(&times(5), &steps(&values[..5])), None, "too few to tell");
    }
}
