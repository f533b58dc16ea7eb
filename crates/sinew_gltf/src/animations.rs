//! Animations: one [`Clip`] each, channels gathered into one [`Track`] per node.
//!
//! Source: glTF 2.0 specification, chapter 3.11 and appendix C. Bad keys are dropped, because a curve without them is
//! what the animator sees in every viewer; counts that contradict each other are refused, because then no key can be
//! told from another.

use crate::accessor::Accessors;
use crate::error::Fault;
use crate::meshes::target_count;
use crate::nodes::UNIT_SLACK;
use crate::view::View;
use glam::{Quat, Vec3};
use sinew::clip::{CurveValue, MorphCurve, Track};
use sinew::{Clip, Curve, Interpolation, Warning};
use std::collections::HashMap;

pub(crate) fn read(
    root: &View<'_>,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Clip>, Fault> {
    root.list("animations")?.iter().map(|animation| read_clip(animation, accessors, warnings)).collect()
}

fn read_clip(animation: &View<'_>, accessors: &Accessors<'_>, warnings: &mut Vec<Warning>) -> Result<Clip, Fault> {
    let samplers = animation.list("samplers")?;
    let mut tracks: Vec<Track> = Vec::new();
    let mut track_of_node = HashMap::new();
    for channel in animation.list("channels")? {
        let target = channel.need("target")?;
        let mut skip = |code, message: String, remedy| {
            warnings.push(Warning { code, subject: channel.words(), message, remedy });
        };
        let path = target.need("path")?.text()?;
        let Some(node) = target.reference_at("node", "nodes")? else {
            let message = format!("animates \"{path}\" of something that is not a node; it was ignored");
            skip("channel-without-node", message, "ignore this unless you need that animation");
            continue;
        };
        let sampler = channel.need("sampler")?;
        let number = sampler.whole()?;
        let view = usize::try_from(number).ok().and_then(|n| samplers.get(n)).ok_or_else(|| {
            sampler.invalid(format!("names sampler {number}, but the animation has only {}", samplers.len()))
        })?;
        let index = *track_of_node.entry(node).or_insert_with(|| {
            tracks.push(Track { node, ..Track::default() });
            tracks.len() - 1
        });
        let track = &mut tracks[index];
        let taken = match path {
            "translation" => track.translation.is_some(),
            "rotation" => track.rotation.is_some(),
            "scale" => track.scale.is_some(),
            "weights" => track.morph.is_some(),
            _ => {
                let message = format!("animates \"{path}\", which Sinew does not know; it was ignored");
                skip("channel-path-unknown", message, "ignore this unless you need that animation");
                continue;
            }
        };
        if taken {
            let message = format!("animates {path} of node {node}, as a channel before it does; it was ignored");
            skip("channel-twice", message, "remove one of the two channels");
            continue;
        }
        match path {
            "translation" => track.translation = vec3_curve(&channel, view, accessors, warnings)?,
            "scale" => track.scale = vec3_curve(&channel, view, accessors, warnings)?,
            "rotation" => track.rotation = quat_curve(&channel, view, accessors, warnings)?,
            _ => {
                let targets = match animation.entry("nodes", node)?.reference_at("mesh", "meshes")? {
                    Some(mesh) => target_count(&animation.entry("meshes", mesh)?)?,
                    None => 0,
                };
                if targets == 0 {
                    let message = format!("animates morph weights of node {node}, which has none; it was ignored");
                    skip("channel-without-targets", message, "remove the channel, or export the shape keys");
                    continue;
                }
                track.morph = morph_curve(&channel, view, targets, accessors, warnings)?;
            }
        }
    }
    tracks.retain(|t| t.translation.is_some() || t.rotation.is_some() || t.scale.is_some() || t.morph.is_some());
    if tracks.is_empty() {
        warnings.push(Warning {
            code: "animation-empty",
            subject: animation.words(),
            message: "has no channel that can be played; it was kept as a clip of no length".into(),
            remedy: "remove the animation, or export it with its channels",
        });
    }
    Ok(Clip { name: animation.name(), tracks })
}

/// What every kind of curve needs first: interpolation, values per key, and the key times.
struct Keys {
    interpolation: Interpolation,
    per_key: usize,
    times: Vec<f64>,
}

impl Keys {
    fn read(sampler: &View<'_>, accessors: &Accessors<'_>) -> Result<Self, Fault> {
        let (interpolation, per_key) = match sampler.get("interpolation")? {
            None => (Interpolation::Linear, 1),
            Some(view) => match view.text()? {
                "LINEAR" => (Interpolation::Linear, 1),
                "STEP" => (Interpolation::Step, 1),
                "CUBICSPLINE" => (Interpolation::CubicSpline, 3),
                other => return Err(view.invalid(format!("is \"{other}\", not LINEAR, STEP or CUBICSPLINE"))),
            },
        };
        let input = accessors.open(&sampler.need("input")?)?;
        let times = input.floats::<1>()?.into_iter().map(|[time]| f64::from(time)).collect();
        Ok(Self { interpolation, per_key, times })
    }

    /// The keys worth keeping, in order: a later time than the last one kept, and a value that `is_valid`.
    /// Dropped keys are reported.
    fn sound(&self, channel: &View<'_>, is_valid: impl Fn(usize) -> bool, warnings: &mut Vec<Warning>) -> Vec<usize> {
        let mut kept = Vec::with_capacity(self.times.len());
        let mut last = f64::NEG_INFINITY;
        let (mut bad_times, mut bad_values) = (Dropped::default(), Dropped::default());
        for (key, &time) in self.times.iter().enumerate() {
            if !time.is_finite() || time <= last {
                bad_times.add(key);
            } else if !is_valid(key) {
                bad_values.add(key);
            } else {
                kept.push(key);
                last = time;
            }
        }
        let mut report = |dropped: Dropped, code, what: &str, remedy| {
            if let Some(key) = dropped.first {
                let message = format!(
                    "key {key} at {} s {what}; {} such keys of {} were dropped{}",
                    self.times[key],
                    dropped.count,
                    self.times.len(),
                    if kept.is_empty() { ", which leaves none: the channel was ignored" } else { "" }
                );
                warnings.push(Warning { code, subject: channel.words(), message, remedy });
            }
        };
        let bake = "bake the animation and export again";
        report(bad_times, "key-times-not-increasing", "is not a finite time later than the key before it", bake);
        report(bad_values, "key-value-not-finite", "has a value that is not finite or a rotation of length zero", bake);
        if self.times.is_empty() {
            warnings.push(Warning {
                code: "channel-without-keys",
                subject: channel.words(),
                message: "has no keys; it was ignored".into(),
                remedy: "remove the channel",
            });
        }
        kept
    }

    fn kept_times(&self, kept: &[usize]) -> Vec<f64> {
        kept.iter().map(|&key| self.times[key]).collect()
    }
}

#[derive(Default)]
struct Dropped {
    first: Option<usize>,
    count: usize,
}

impl Dropped {
    fn add(&mut self, key: usize) {
        self.first.get_or_insert(key);
        self.count += 1;
    }
}

fn vec3_curve(
    channel: &View<'_>,
    sampler: &View<'_>,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Curve<Vec3>>, Fault> {
    curve(channel, sampler, accessors, warnings, Vec3::from_array)
}

fn quat_curve(
    channel: &View<'_>,
    sampler: &View<'_>,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Curve<Quat>>, Fault> {
    let found = curve(channel, sampler, accessors, warnings, Quat::from_array)?;
    let Some(turns) = &found else { return Ok(found) };
    let mut long = Dropped::default();
    for key in 0..turns.times().len() {
        if (f64::from(turns.key_value(key).length()) - 1.0).abs() > UNIT_SLACK {
            long.add(key);
        }
    }
    if let Some(key) = long.first {
        let message = format!(
            "key {key} at {} s has a rotation of length {}; {} such keys of {} were normalised",
            turns.times()[key],
            turns.key_value(key).length(),
            long.count,
            turns.times().len()
        );
        let remedy = "export rotations as unit quaternions";
        warnings.push(Warning { code: "key-rotation-not-unit", subject: channel.words(), message, remedy });
    }
    Ok(found)
}

fn curve<T: CurveValue, const N: usize>(
    channel: &View<'_>,
    sampler: &View<'_>,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
    value: impl Fn([f32; N]) -> T,
) -> Result<Option<Curve<T>>, Fault> {
    let keys = Keys::read(sampler, accessors)?;
    let output = accessors.open(&sampler.need("output")?)?;
    let per_key = keys.per_key;
    output.expect_count(keys.times.len().saturating_mul(per_key), &expectation(&keys, per_key))?;
    let values: Vec<T> = output.floats::<N>()?.into_iter().map(value).collect();
    let is_valid = |key: usize| match &values[key * per_key..(key + 1) * per_key] {
        [before, value, after] => before.is_valid_tangent() && value.is_valid() && after.is_valid_tangent(),
        values => values.iter().all(|v| v.is_valid()),
    };
    let kept = keys.sound(channel, is_valid, warnings);
    if kept.is_empty() {
        return Ok(None);
    }
    let values = kept.iter().flat_map(|&key| &values[key * per_key..(key + 1) * per_key]).copied().collect();
    finish(channel, Curve::new(keys.interpolation, keys.kept_times(&kept), values))
}

pub(crate) fn morph_curve(
    channel: &View<'_>,
    sampler: &View<'_>,
    targets: usize,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<MorphCurve>, Fault> {
    let keys = Keys::read(sampler, accessors)?;
    let output = accessors.open(&sampler.need("output")?)?;
    let per_key = keys.per_key.saturating_mul(targets);
    output.expect_count(keys.times.len().saturating_mul(per_key), &expectation(&keys, per_key))?;
    let values: Vec<f32> = output.floats::<1>()?.into_iter().map(|[value]| value).collect();
    let is_valid = |key: usize| values[key * per_key..(key + 1) * per_key].iter().all(|v| v.is_finite());
    let kept = keys.sound(channel, is_valid, warnings);
    if kept.is_empty() {
        return Ok(None);
    }
    let values = kept.iter().flat_map(|&key| &values[key * per_key..(key + 1) * per_key]).copied().collect();
    finish(channel, MorphCurve::new(keys.interpolation, keys.kept_times(&kept), targets, values))
}

fn expectation(keys: &Keys, per_key: usize) -> String {
    format!("input, with {} keys of {per_key} values each,", keys.times.len())
}

fn finish<T>(channel: &View<'_>, curve: Result<T, sinew::clip::CurveError>) -> Result<Option<T>, Fault> {
    curve.map(Some).map_err(|error| channel.invalid(error.to_string()))
}
