//! A pose that was drawn as a layer on a clip: how bones differ from it at one time, coming and going by an ease.
//!
//! A layer is plain data. Of each bone it keeps a rotation vector and a shift, in its parent's space; at a time with the
//! weight w the bone is turned by `exp(Σ w v)` and moved by `Σ w s` over all layers, so layers add up in any order, one
//! alone at its own time is the pose it was made of, and where all weights are 0 nothing is touched.
//!
//! As tracks, keys outside the eases stay; within them keys are added until what runs between them is the layer's own,
//! by the interpolation that the track has. A cubic track stays one: pieces are cut by its own derivative.
//!
//! Oracle: outside its ease the pose is that of the clip, to the bit; the written clip gives the same poses as the layer
//! (tests/layers.rs).

use crate::ease::{Cycle, Ease, EaseError};
use glam::{DQuat, DVec3, DVec4, Quat, Vec3};
use serde::{Deserialize, Serialize};
use sinew::clip::{CurveValue, KeySpan, Track, key_span, rotation_log};
use sinew::{BoneId, Clip, Curve, Interpolation, LocalTransform, Pose, Skeleton};

/// The shortest ease that is written into a file, seconds.
const SHORTEST: f64 = 1e-3;
/// How far the tracks may be from the layer: of a unit quaternion, and of the largest shift.
const TOLERANCE: f64 = 2e-4;
/// Halvings of a piece between two keys.
const HALVINGS: u32 = 8;
/// Keys a second where values are held.
const STEPS: f64 = 60.0;

/// What a layer does to one bone, in its parent's space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoneChange {
    /// Name of the bone.
    pub bone: String,
    /// Number of its node: tells bones of one name apart.
    pub node: usize,
    /// Rotation vector, radians.
    #[serde(default)]
    pub turn: [f64; 3],
    /// Way.
    #[serde(default)]
    pub shift: [f64; 3],
}

/// A pose on top of a clip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoseLayer {
    /// What the artist calls it.
    #[serde(default)]
    pub name: String,
    /// When it holds.
    pub ease: Ease,
    /// What it does.
    pub bones: Vec<BoneChange>,
}

/// Why a layer does not fit a character.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayerError {
    /// No such bone.
    #[error(
        "the layer \"{layer}\" moves the bone \"{bone}\", which the character has not; remove it, or rename one of them"
    )]
    NoSuchBone {
        /// The layer.
        layer: String,
        /// The bone.
        bone: String,
    },
    /// A node that clips cannot move.
    #[error(
        "the bone \"{bone}\" is placed by a matrix, which no clip can move; give it translation, rotation and scale"
    )]
    Matrix {
        /// The bone.
        bone: String,
    },
    /// A number that is none.
    #[error("the layer \"{layer}\" moves the bone \"{bone}\" by something that is not a number; draw it again")]
    NotFinite {
        /// The layer.
        layer: String,
        /// The bone.
        bone: String,
    },
    /// When it holds.
    #[error("the layer \"{layer}\": {fault}")]
    Ease {
        /// The layer.
        layer: String,
        /// What of it.
        fault: EaseError,
    },
}

impl PoseLayer {
    /// What takes the pose `before` to `after`, at the time of an ease.
    pub fn between(skeleton: &Skeleton, before: &Pose, after: &Pose, ease: Ease) -> Result<Self, LayerError> {
        let mut bones = Vec::new();
        for bone in skeleton.bones() {
            let [from, to] = [before, after].map(|pose| pose.locals[bone.index()]);
            if from == to {
                continue;
            }
            let name = skeleton.name(bone).to_owned();
            let LocalTransform::Trs(from) = from else { return Err(LayerError::Matrix { bone: name }) };
            let to = to.to_trs();
            let turn = rotation_log(to.rotation * from.rotation.conjugate()).to_array();
            let shift = (to.translation - from.translation).to_array();
            bones.push(BoneChange { bone: name, node: skeleton.node(bone), turn, shift });
        }
        Ok(Self { name: String::new(), ease, bones })
    }
}

/// What a layer of that number does to a bone: its turn and its shift.
type Change = (usize, DVec3, DVec3);

/// Layers on the bones of one skeleton.
#[derive(Clone, Debug)]
pub struct Layers {
    eases: Vec<Ease>,
    /// Of every bone that any of them moves.
    bones: Vec<(BoneId, Vec<Change>)>,
    cycle: Option<Cycle>,
}

impl Layers {
    /// Looks their bones up. `cycle` is that of the clip if it loops.
    pub fn new(skeleton: &Skeleton, layers: &[PoseLayer], cycle: Option<Cycle>) -> Result<Self, LayerError> {
        let mut bones: Vec<(BoneId, Vec<Change>)> = Vec::new();
        for (index, layer) in layers.iter().enumerate() {
            layer.ease.check().map_err(|fault| LayerError::Ease { layer: layer.name.clone(), fault })?;
            for change in &layer.bones {
                let named = || skeleton.bones().filter(|&bone| skeleton.name(bone) == change.bone);
                let words = || (layer.name.clone(), change.bone.clone());
                let bone = named().find(|&bone| skeleton.node(bone) == change.node).or_else(|| named().next());
                let Some(bone) = bone else {
                    let (layer, bone) = words();
                    return Err(LayerError::NoSuchBone { layer, bone });
                };
                if matches!(skeleton.rest_locals()[bone.index()], LocalTransform::Matrix(_)) {
                    return Err(LayerError::Matrix { bone: change.bone.clone() });
                }
                let (turn, shift) = (DVec3::from(change.turn), DVec3::from(change.shift));
                if !turn.is_finite() || !shift.as_vec3().is_finite() {
                    let (layer, bone) = words();
                    return Err(LayerError::NotFinite { layer, bone });
                }
                match bones.iter_mut().find(|known| known.0 == bone) {
                    Some(known) => known.1.push((index, turn, shift)),
                    None => bones.push((bone, vec![(index, turn, shift)])),
                }
            }
        }
        Ok(Self { eases: layers.iter().map(|layer| layer.ease).collect(), bones, cycle })
    }

    /// How a bone differs at a time: rotation vector and way. Nothing but zeros outside all eases.
    fn change(&self, changes: &[Change], time: f64) -> (DVec3, DVec3) {
        let mut sum = (DVec3::ZERO, DVec3::ZERO);
        for &(layer, turn, shift) in changes {
            let weight = self.eases[layer].weight_in(time, self.cycle);
            if weight != 0.0 {
                sum = (sum.0 + turn * weight, sum.1 + shift * weight);
            }
        }
        sum
    }

    /// Puts the layers on the clip's pose at a time.
    pub fn apply(&self, time: f64, pose: &mut Pose) {
        for (bone, changes) in &self.bones {
            let (turn, shift) = self.change(changes, time);
            let Some(LocalTransform::Trs(local)) = pose.locals.get_mut(bone.index()) else { continue };
            if turn != DVec3::ZERO {
                local.rotation = (DQuat::from_scaled_axis(turn) * local.rotation).normalize();
            }
            if shift != DVec3::ZERO {
                local.translation += shift;
            }
        }
    }

    /// The clip with the layers in its tracks.
    pub fn clip(&self, skeleton: &Skeleton, clip: &Clip) -> Clip {
        let mut changed = clip.clone();
        let Some(ends) = clip.span() else { return changed };
        for (bone, changes) in &self.bones {
            let node = skeleton.node(*bone);
            let rest = skeleton.rest_locals()[bone.index()].to_trs();
            let index = changed.tracks.iter().position(|track| track.node == node).unwrap_or_else(|| {
                changed.tracks.push(Track { node, ..Track::default() });
                changed.tracks.len() - 1
            });
            let track = &mut changed.tracks[index];
            if changes.iter().any(|change| change.1 != DVec3::ZERO) {
                let before = Source::new(track.rotation.as_ref(), DVec4::from(rest.rotation), true, |q: Quat| {
                    DVec4::from(q.as_dquat())
                });
                let exact = |time: f64, side: Side| {
                    let turn = DQuat::from_scaled_axis(self.change(changes, time).0);
                    DVec4::from(turn * DQuat::from_vec4(before.at(time, side)))
                };
                let between = |a: DVec4, b: DVec4, s: f64| {
                    let [a, b] = [a, b].map(|q| DQuat::from_vec4(q).normalize());
                    DVec4::from(sinew::clip::slerp(a, b, s))
                };
                let keys = self.keys(&before, changes, ends, &exact, &between, TOLERANCE);
                let rounded = keys.curve(|v| DQuat::from_vec4(v).as_quat());
                track.rotation = rounded.or(track.rotation.take());
            }
            let farthest = changes.iter().map(|change| change.2.length()).fold(0.0, f64::max);
            if farthest > 0.0 {
                let before = Source::new(track.translation.as_ref(), rest.translation.extend(0.0), false, |v: Vec3| {
                    v.as_dvec3().extend(0.0)
                });
                let exact = |time: f64, side: Side| before.at(time, side) + self.change(changes, time).1.extend(0.0);
                let between = |a: DVec4, b: DVec4, s: f64| a.lerp(b, s);
                let keys = self.keys(&before, changes, ends, &exact, &between, TOLERANCE * farthest);
                let rounded = keys.curve(|v| v.truncate().as_vec3());
                track.translation = rounded.or(track.translation.take());
            }
        }
        changed
    }

    /// The keys of one property of a bone.
    fn keys(
        &self,
        before: &Source,
        changes: &[Change],
        (first, last): (f64, f64),
        exact: &dyn Fn(f64, Side) -> DVec4,
        between: &dyn Fn(DVec4, DVec4, f64) -> DVec4,
        tolerance: f64,
    ) -> Keys {
        // The eases within the clip, those that come around a loop too.
        let mut spans: Vec<[f64; 3]> = Vec::new();
        for ease in changes.iter().map(|change| &self.eases[change.0]) {
            for by in [-1.0, 0.0, 1.0] {
                let around = self.cycle.map_or(0.0, |(_, period)| by * period);
                let [start, end] = [ease.time - ease.ease_in.max(SHORTEST), ease.time + ease.ease_out.max(SHORTEST)];
                let moved = [start, ease.time, end].map(|t| t + around);
                let is_new = by == 0.0 || self.cycle.is_some();
                if is_new && moved[0] < last && moved[2] > first {
                    spans.push(moved.map(|t| t.clamp(first, last)));
                }
            }
        }
        let is_inside = |t: f64| spans.iter().any(|span| span[0] < t && t < span[2]);
        let sides = |t: f64| {
            [spans.iter().any(|span| span[0] < t && t <= span[2]), spans.iter().any(|span| span[0] <= t && t < span[2])]
        };
        let mut times: Vec<f64> = before.times.iter().copied().chain(spans.iter().flatten().copied()).collect();
        times.sort_by(f64::total_cmp);
        times.dedup_by(|next, kept| *next - *kept < 0.1 * SHORTEST);
        let mut keys = Keys { interpolation: before.interpolation, times: Vec::new(), values: Vec::new() };
        for (index, &time) in times.iter().enumerate() {
            keys.push(time, before, sides(time), exact);
            let Some(&next) = times.get(index + 1) else { continue };
            if !is_inside(0.5 * (time + next)) {
                continue;
            }
            if before.interpolation == Interpolation::Step {
                let count = ((next - time) * STEPS).ceil() as u32;
                for i in 1..count {
                    keys.push(time + (next - time) * f64::from(i) / f64::from(count), before, [true; 2], exact);
                }
                continue;
            }
            // Halved until what runs between two keys is what it should be.
            let mut stack = vec![(time, next, 0)];
            while let Some((a, b, depth)) = stack.pop() {
                let (from, to) = (exact(a, Side::After), exact(b, Side::Before));
                let off = |s: f64| {
                    let t = a + (b - a) * s;
                    let run = if before.interpolation == Interpolation::CubicSpline {
                        let [h0, h1, h2, h3] = hermite(s);
                        let slopes = [slope(exact, a, b - a), slope(exact, b, a - b)].map(|v| v * (b - a));
                        from * h0 + slopes[0] * h1 + to * h2 + slopes[1] * h3
                    } else {
                        between(from, to, s)
                    };
                    let meant = exact(t, Side::After);
                    // Quaternions of either sign are one rotation.
                    run.distance(meant).min(if before.turns { run.distance(-meant) } else { f64::INFINITY })
                };
                let is_off = [0.25, 0.5, 0.75].into_iter().any(|s| off(s) > tolerance);
                if depth < HALVINGS && b - a > 2.0 * SHORTEST && is_off {
                    let middle = 0.5 * (a + b);
                    stack.extend([(middle, b, depth + 1), (a, middle, depth + 1)]);
                } else if b != next {
                    keys.push(b, before, [true; 2], exact);
                }
            }
        }
        keys
    }
}

/// Which side of a key counts, where both differ.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Before,
    After,
}

/// A property as the clip has it, or at rest.
struct Source {
    interpolation: Interpolation,
    times: Vec<f64>,
    values: Vec<DVec4>,
    /// In and out, of cubic ones.
    tangents: Vec<[DVec4; 2]>,
    rest: DVec4,
    /// Whether the values are quaternions.
    turns: bool,
}

impl Source {
    fn new<T: CurveValue>(curve: Option<&Curve<T>>, rest: DVec4, turns: bool, number: impl Fn(T) -> DVec4) -> Self {
        let interpolation = curve.map_or(Interpolation::Linear, Curve::interpolation);
        let mut source =
            Self { interpolation, times: Vec::new(), values: Vec::new(), tangents: Vec::new(), rest, turns };
        if let Some(curve) = curve {
            source.times = curve.times().to_vec();
            let keys = 0..curve.times().len();
            source.values = keys.clone().map(|key| number(curve.key_value(key))).collect();
            let tangents = keys.filter_map(|key| curve.key_tangents(key));
            source.tangents = tangents.map(|(into, out)| [number(into), number(out)]).collect();
        }
        source
    }

    /// Quaternions of linear tracks by the shortest arc, those of cubic ones as their polynomial gives them.
    fn at(&self, time: f64, side: Side) -> DVec4 {
        if self.times.is_empty() {
            return self.rest;
        }
        match key_span(&self.times, time) {
            KeySpan::At(key) if self.interpolation == Interpolation::Step && side == Side::Before => {
                self.values[key.saturating_sub(usize::from(self.times[key] == time))]
            }
            KeySpan::At(key) => self.values[key],
            KeySpan::Between { key, s } => {
                let [a, b] = [self.values[key], self.values[key + 1]];
                match self.interpolation {
                    Interpolation::Step => a,
                    Interpolation::Linear if self.turns => {
                        let [a, b] = [a, b].map(|q| DQuat::from_vec4(q).normalize());
                        DVec4::from(sinew::clip::slerp(a, b, s))
                    }
                    Interpolation::Linear => a.lerp(b, s),
                    Interpolation::CubicSpline => {
                        let length = self.times[key + 1] - self.times[key];
                        let [h0, h1, h2, h3] = hermite(s);
                        let (out, into) = (self.tangents[key][1], self.tangents[key + 1][0]);
                        a * h0 + out * (h1 * length) + b * h2 + into * (h3 * length)
                    }
                }
            }
        }
    }
}

/// The four cubic Hermite basis values for (value, tangent, next value, next tangent).
fn hermite(s: f64) -> [f64; 4] {
    let (s2, s3) = (s * s, s * s * s);
    [2.0 * s3 - 3.0 * s2 + 1.0, s3 - 2.0 * s2 + s, 3.0 * s2 - 2.0 * s3, s3 - s2]
}

/// The derivative towards one side, whose sign and size `reach` gives.
fn slope(exact: &dyn Fn(f64, Side) -> DVec4, time: f64, reach: f64) -> DVec4 {
    let h = 1e-4 * reach;
    let side = if h > 0.0 { Side::After } else { Side::Before };
    (exact(time, side) * -3.0 + exact(time + h, side) * 4.0 - exact(time + 2.0 * h, side)) / (2.0 * h)
}

/// Keys on their way into a curve.
struct Keys {
    interpolation: Interpolation,
    times: Vec<f64>,
    /// With tangents around them where cubic.
    values: Vec<DVec4>,
}

impl Keys {
    /// A key; `changed` tells whether a layer reaches the piece before and the one after it.
    fn push(&mut self, time: f64, before: &Source, changed: [bool; 2], exact: &dyn Fn(f64, Side) -> DVec4) {
        let key = before.times.binary_search_by(|t| t.total_cmp(&time)).ok();
        self.times.push(time);
        // Where no layer has a weight, that is the key's own, to the bit.
        let value = exact(time, Side::After);
        if self.interpolation != Interpolation::CubicSpline {
            self.values.push(value);
            return;
        }
        // On the side that stays, a key's own tangent.
        let tangent = |side: usize, reach: f64| match key {
            Some(key) if !changed[side] => before.tangents[key][side],
            _ => slope(exact, time, reach),
        };
        self.values.extend([tangent(0, -SHORTEST), value, tangent(1, SHORTEST)]);
    }

    fn curve<T: CurveValue>(self, rounded: impl Fn(DVec4) -> T) -> Option<Curve<T>> {
        Curve::new(self.interpolation, self.times, self.values.into_iter().map(rounded).collect()).ok()
    }
}
