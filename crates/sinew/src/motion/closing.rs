//! The key that closes a loop, put into a copy of its clip where it is missing ([`super::LoopVerdict`]).
//!
//! Between its last key and that one the copy runs as the motion does ([`super::sampling`]): channels that end with the clip
//! go straight to where they began, those that end before hold till then, and steps are held to the end. A root that travels
//! goes on to where its next round begins. Channels that end where they began hold, and need no key.

use super::Motion;
use crate::clip::{Clip, Curve, CurveValue, Interpolation, MorphCurve};
use crate::skeleton::Skeleton;
use glam::{Quat, Vec3};

impl Motion {
    /// `clip` with the key that closes its loop, and how much later than its last that is, in seconds; `None` where none is
    /// missing. The motion was made from this clip and `skeleton`.
    pub fn closed(&self, clip: &Clip, skeleton: &Skeleton) -> Option<(Clip, f64)> {
        let timeline = &self.clock.timeline;
        // As files hold it.
        let end = f64::from(timeline.end as f32);
        if !timeline.loops || end <= timeline.last_key {
            return None;
        }
        let closing = Closing { last_key: timeline.last_key, end };
        let mut closed = clip.clone();
        for track in &mut closed.tracks {
            let bone = skeleton.bone_of_node(track.node)?;
            let placed = self.curves.bones.binary_search_by_key(&bone, |curves| curves.bone);
            let placed = placed.ok().map(|at| self.curves.bones[at].closing);
            if let Some(curve) = &mut track.translation {
                let value = placed.map_or(curve.key_value(0), |(place, _)| place.as_vec3());
                closing.vector(curve, value);
            }
            if let Some(curve) = &mut track.rotation {
                let value = placed.map_or(curve.key_value(0), |(_, turn)| turn.as_quat());
                closing.rotation(curve, value);
            }
            if let Some(curve) = &mut track.scale {
                closing.vector(curve, curve.key_value(0));
            }
            if let Some(curve) = &mut track.morph {
                let mut first = vec![0.0; curve.targets()];
                curve.sample(f64::NEG_INFINITY, &mut first);
                let (mut times, mut values) = (curve.times().to_vec(), curve.values().to_vec());
                if closing.extend(curve.interpolation(), &mut times, &mut values, &first) {
                    replace(curve, MorphCurve::new(curve.interpolation(), times, curve.targets(), values));
                }
            }
        }
        Some((closed, end - timeline.last_key))
    }
}

/// From the last key of a clip to the end of its period.
struct Closing {
    last_key: f64,
    end: f64,
}

/// Numbers beyond the range of f32 make no key: the curve stays open.
fn replace<C, E>(curve: &mut C, made: Result<C, E>) {
    if let Ok(made) = made {
        *curve = made;
    }
}

/// Key values with their tangents around them, where there are any.
fn numbers<T: CurveValue, const N: usize>(curve: &Curve<T>, of: impl Fn(T) -> [f32; N]) -> Vec<f32> {
    let keys = 0..curve.times().len();
    keys.flat_map(|key| match curve.key_tangents(key) {
        Some((before, after)) => vec![before, curve.key_value(key), after],
        None => vec![curve.key_value(key)],
    })
    .flat_map(of)
    .collect()
}

impl Closing {
    fn vector(&self, curve: &mut Curve<Vec3>, value: Vec3) {
        let (mut times, mut values) = (curve.times().to_vec(), numbers(curve, |v: Vec3| v.to_array()));
        if self.extend(curve.interpolation(), &mut times, &mut values, &value.to_array()) {
            let values = values.as_chunks().0.iter().map(|&v| Vec3::from_array(v)).collect();
            replace(curve, Curve::new(curve.interpolation(), times, values));
        }
    }

    fn rotation(&self, curve: &mut Curve<Quat>, value: Quat) {
        let last = curve.key_value(curve.times().len() - 1);
        // Cubic curves run between numbers, not along the shorter way.
        let value = if last.dot(value) < 0.0 { -value } else { value };
        let (mut times, mut values) = (curve.times().to_vec(), numbers(curve, |q: Quat| q.to_array()));
        if self.extend(curve.interpolation(), &mut times, &mut values, &value.to_array()) {
            let values = values.as_chunks().0.iter().map(|&q| Quat::from_array(q)).collect();
            replace(curve, Curve::new(curve.interpolation(), times, values));
        }
    }

    /// Adds keys of `closing.len()` numbers each, with tangents where they are cubic; tells whether any was needed.
    fn extend(
        &self,
        interpolation: Interpolation,
        times: &mut Vec<f64>,
        values: &mut Vec<f32>,
        closing: &[f32],
    ) -> bool {
        let width = closing.len();
        let is_cubic = interpolation == Interpolation::CubicSpline;
        let per_key = if is_cubic { 3 * width } else { width };
        let Some(from) = values.len().checked_sub(per_key) else { return false };
        let value = if is_cubic { from + width } else { from };
        let last = values[value..value + width].to_vec();
        if last == closing {
            return false;
        }
        let still = vec![0.0; width];
        let seconds = (self.end - self.last_key) as f32;
        let slope: Vec<f32> = closing.iter().zip(&last).map(|(to, from)| (to - from) / seconds).collect();
        let holds = times.last().is_some_and(|&last| last < self.last_key);
        if holds && interpolation != Interpolation::Step {
            if is_cubic {
                values.splice(from + 2 * width.., still.iter().copied());
                values.extend(still.iter().chain(&last).chain(&slope));
            } else {
                values.extend(&last);
            }
            times.push(self.last_key);
        } else if is_cubic {
            values.splice(from + 2 * width.., slope.iter().copied());
        }
        times.push(self.end);
        if is_cubic {
            values.extend(slope.iter().chain(closing).chain(&still));
        } else {
            values.extend(closing);
        }
        true
    }
}
