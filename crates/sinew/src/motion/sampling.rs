//! A clip's pose at any time, as glTF says, and along the closing segment where a loop lacks its last key.

use crate::clip::{Curve, Interpolation, MorphCurve, slerp};
use crate::pose::{LocalTransform, Pose, Trs};
use crate::skeleton::BoneId;
use glam::{DQuat, DVec3, Quat, Vec3};

/// A bone's curves; channels without one keep their rest value.
#[derive(Clone, Debug)]
pub(super) struct BoneCurves {
    pub bone: BoneId,
    pub rest: Trs,
    pub translation: Option<Curve<Vec3>>,
    pub rotation: Option<Curve<Quat>>,
    pub scale: Option<Curve<Vec3>>,
    /// Placement at the end of the closing segment.
    pub closing: (DVec3, DQuat),
}

/// One mesh instance's morph weights.
#[derive(Clone, Debug)]
pub(super) struct MorphWeights {
    pub curve: MorphCurve,
    pub offset: usize,
    pub count: usize,
    /// Weights at the first key.
    pub first: Vec<f32>,
}

/// All curves of a clip.
#[derive(Clone, Debug)]
pub(super) struct PoseCurves {
    pub rest: Box<[LocalTransform]>,
    pub bones: Vec<BoneCurves>,
    pub morphs: Vec<MorphWeights>,
}

/// By parts, where a matrix too flat to hold a rotation counts as unturned.
pub(super) fn parts(local: LocalTransform) -> Trs {
    let trs = local.to_trs();
    if trs.rotation.is_finite() { trs } else { Trs { rotation: DQuat::IDENTITY, ..trs } }
}

/// From the last key (0) towards the end of the period (1); 0 up to the last key.
pub(super) fn into_closing(t: f64, last_key: f64, end: f64) -> f64 {
    if t > last_key && end > last_key { ((t - last_key) / (end - last_key)).min(1.0) } else { 0.0 }
}

impl BoneCurves {
    /// `closing` is how far into the closing segment `t` lies ([`into_closing`]).
    pub fn sample(&self, t: f64, closing: f64) -> Trs {
        let vector = |curve: &Option<Curve<Vec3>>, rest: DVec3, end: &dyn Fn(&Curve<Vec3>) -> DVec3| {
            let Some(curve) = curve else { return rest };
            let value = curve.sample(t);
            let held = closing == 0.0 || curve.interpolation() == Interpolation::Step;
            if held { value } else { value.lerp(end(curve), closing) }
        };
        let rotation = self.rotation.as_ref().map_or(self.rest.rotation, |curve| {
            let value = curve.sample(t);
            let held = closing == 0.0 || curve.interpolation() == Interpolation::Step;
            if held { value } else { slerp(value, self.closing.1, closing) }
        });
        let first = |curve: &Curve<Vec3>| curve.key_value(0).as_dvec3();
        Trs {
            translation: vector(&self.translation, self.rest.translation, &|_| self.closing.0),
            rotation,
            scale: vector(&self.scale, self.rest.scale, &first),
        }
    }
}

impl PoseCurves {
    /// Writes the pose at `t`. Bones without curves get their rest transform, morph weights without curves keep what
    /// `out` holds.
    pub fn sample(&self, t: f64, last_key: f64, end: f64, out: &mut Pose) {
        let closing = into_closing(t, last_key, end);
        out.locals.clear();
        out.locals.extend_from_slice(&self.rest);
        for curves in &self.bones {
            out.locals[curves.bone.index()] = LocalTransform::Trs(curves.sample(t, closing));
        }
        for morph in &self.morphs {
            let weights_end = morph.offset.saturating_add(morph.count);
            if out.morph_weights.len() < weights_end {
                out.morph_weights.resize(weights_end, 0.0);
            }
            let weights = &mut out.morph_weights[morph.offset..weights_end];
            morph.curve.sample(t, weights);
            if closing > 0.0 && morph.curve.interpolation() != Interpolation::Step {
                for (weight, first) in weights.iter_mut().zip(&morph.first) {
                    *weight += (first - *weight) * closing as f32;
                }
            }
        }
    }
}
