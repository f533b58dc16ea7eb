//! Squash (VS 4.1): moving parts stretch along their motion and thin across it, keeping their volume.
//!
//! Translation: scale about the centroid c by `f = 1+s` along v and `1/√f` across it, `s = k‖v‖`. Rotation: medial axis
//! y through p_i and c; z = ω made orthogonal to y; x = y×z, the direction the limb swings; displacement
//! `(M diag(f, 1, 1/f) Mᵀ − I)(p − proj_axis p)` with `s = k‖ω⊥×r‖`, ω⊥ = ω − (ω·y)y, which is the paper's where ω is
//! across the axis and goes to 0 for a spin along it, where the paper's ‖ω×r‖ jumps (kept as `paper_spin`). A bone may
//! be switched to act about its centroid point: `f` along x, `1/√f` across. For `s < 0`, `f = 1/(1−s)`: positive, C1 and
//! the exact inverse of the positive case.
//!
//! Oracle: the matrices have determinant 1; no effect without skin, or where c = p_i, or along the axis.

use super::{At, BoneInput, Displacement, Input, Psi};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};
use crate::simd::{Limit, Simd, V3, f32x16, prelude::*, splat};
use glam::Vec3;

/// Stretch along the motion, thin across it.
#[derive(Clone, Copy, Debug)]
pub struct Squash {
    translation: f32,
    rotation: f32,
    limit: Limit,
    ease: f32,
    paper_spin: bool,
}

impl Displacement for Squash {
    const NAME: &'static str = "squash";
    const ABOUT: &'static str = "Squash and stretch: moving parts stretch along their motion and keep their volume";
    const PARAMS: &'static [ParamSpec] = &[
        ParamSpec::number("translation", "s", [-10.0, 10.0], 0.2, "How much a moving bone stretches what it carries"),
        ParamSpec::number("rotation", "s", [-10.0, 10.0], 0.2, "How much a turning bone stretches what it swings"),
        ParamSpec::number(
            "max_stretch",
            "",
            [0.0, 10.0],
            0.5,
            "The stretch never exceeds 1 + this, nor the thinning its inverse",
        ),
        ParamSpec::switch("soft", true, "Bend smoothly into the limit instead of cutting there"),
        ParamSpec::number(
            "ease",
            "",
            [0.0, 1.0],
            0.0,
            "Rounds the corner at zero speed; stretches below this fade out",
        ),
        ParamSpec::switch(
            "paper_spin",
            false,
            "Measure the swing by the whole rotation, as the paper: jumps for twists",
        ),
        ParamSpec::number("translation_filter", "", [0.001, 1.0], 1.0, "Time filter γ on velocity; 1 is none"),
        ParamSpec::number("rotation_filter", "", [0.001, 1.0], 1.0, "Time filter γ on angular velocity; 1 is none"),
    ];
    const INPUTS: &'static [Input] = &[
        Input::LowPass(Signal::LinearVelocity, "translation_filter"),
        Input::LowPass(Signal::AngularVelocity, "rotation_filter"),
    ];

    fn new(values: &Values) -> Self {
        Self {
            translation: values.number("translation") as f32,
            rotation: values.number("rotation") as f32,
            limit: Limit { max: values.number("max_stretch") as f32, soft: values.switch("soft") },
            ease: values.number("ease") as f32,
            paper_spin: values.switch("paper_spin"),
        }
    }

    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> Psi<S> {
        let per_size = 1.0 / bone.size;
        let moved =
            self.along(simd, bone, at, bone.linear_velocity, self.translation * bone.translation_gain * per_size);
        let k = self.rotation * bone.rotation_gain * per_size;
        moved.add(self.swing(simd, bone, at, k))
    }
}

/// The stretch f, its slope by s·gain, and the signed s before gain is 1.
#[derive(Clone, Copy)]
struct Stretch<S: Simd> {
    f: f32x16<S>,
    /// df/ds.
    slope: f32x16<S>,
}

impl Squash {
    /// f(s) for the signed, unbounded s.
    #[inline(always)]
    fn stretch<S: Simd>(&self, simd: S, s: f32x16<S>) -> Stretch<S> {
        let (one, zero) = (splat(simd, 1.0), splat(simd, 0.0));
        let size = s.abs();
        let ease = splat(simd, self.ease);
        let root = size.mul_add(size, ease * ease).sqrt();
        let eased = root - ease;
        let some = root.simd_gt(zero);
        let ease_slope = some.select(size, one) / some.select(root, one);
        let (share, slope) = self.limit.apply(simd, eased);
        let bounded = eased * share;
        let grown = one + bounded;
        let shrink = s.simd_lt(zero);
        let inverse = one / grown;
        // d(1/(1+u))/ds with u = −s: +f².
        let f = shrink.select(inverse, grown);
        let slope = slope * ease_slope * shrink.select(inverse * inverse, one);
        Stretch { f, slope }
    }

    /// Scale about the centroid: f along `direction`, 1/√f across, the same for all points of one gain.
    #[inline(always)]
    fn along<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>, motion: Vec3, k: f32) -> Psi<S> {
        let speed = motion.length();
        let has_skin = bone.centroid != bone.joint_origin;
        let direction = if speed > 0.0 && has_skin { motion / speed } else { Vec3::ZERO };
        let per_gain = splat(simd, if has_skin { k * speed } else { 0.0 });
        let Stretch { f, slope } = self.stretch(simd, at.gain * per_gain);
        let zero = V3::splat(simd, Vec3::ZERO);
        self.scale_about_point(simd, bone.centroid, direction, at, f, slope * per_gain, zero)
    }

    /// `(f − g) u u·q + (g − 1) q`, g = 1/√f, q = p − center; `df` by gain, `grad` the gradient of f by p.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "a formula with as many letters")]
    fn scale_about_point<S: Simd>(
        &self,
        simd: S,
        center: Vec3,
        direction: Vec3,
        at: &At<S>,
        f: f32x16<S>,
        df: f32x16<S>,
        grad: V3<S>,
    ) -> Psi<S> {
        let one = splat(simd, 1.0);
        let u = V3::splat(simd, direction);
        let q = at.p.sub(V3::splat(simd, center));
        let g = one / f.sqrt();
        let along = u.dot(q);
        let (stretch, thin) = (f - g, g - one);
        // dg/df = −½ f^(−3/2)
        let dg = splat(simd, -0.5) * g / f;
        let per_f = q.mul_add(dg, u.scale(along * (one - dg)));
        let mut dp = [u.scale(stretch * u.x), u.scale(stretch * u.y), u.scale(stretch * u.z)];
        dp[0].x += thin;
        dp[1].y += thin;
        dp[2].z += thin;
        Psi {
            d: q.mul_add(thin, u.scale(stretch * along)),
            dp: [grad.mul_add(per_f.x, dp[0]), grad.mul_add(per_f.y, dp[1]), grad.mul_add(per_f.z, dp[2])],
            dk: per_f.scale(df),
        }
    }

    /// Scale about the medial axis: f along the swing, 1/f along the rotation axis.
    #[inline(always)]
    fn swing<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>, k: f32) -> Psi<S> {
        let omega = bone.angular_velocity;
        let medial = bone.centroid - bone.joint_origin;
        let y = medial / medial.length();
        let across = omega - y * omega.dot(y);
        let rate = across.length();
        // No axis without skin; no swing for a spin along it (a millionth of it is rounding).
        let usable = y.is_finite() && rate > 1e-6 * omega.length() && rate.is_finite();
        let (y, z) = if usable { (y, across / rate) } else { (Vec3::ZERO, Vec3::ZERO) };
        let x = y.cross(z);
        let spin = if !usable {
            Vec3::ZERO
        } else if self.paper_spin {
            omega
        } else {
            across
        };
        let r = at.p.sub(V3::splat(simd, bone.joint_origin));
        // ‖spin × r‖ and its gradient (spin × r) × spin / ‖spin × r‖.
        let w = V3::splat(simd, spin);
        let speed = w.cross(r);
        let length = speed.length();
        let some = length.simd_gt(splat(simd, f32::MIN_POSITIVE));
        let one = splat(simd, 1.0);
        let grad = speed.cross(w).scale(some.select(one, splat(simd, 0.0)) / some.select(length, one));
        let k = splat(simd, k);
        let Stretch { f, slope } = self.stretch(simd, at.gain * k * length);
        let grad = grad.scale(slope * at.gain * k);
        let per_gain = slope * k * length;
        if bone.about_point {
            return self.scale_about_point(simd, bone.centroid, x, at, f, per_gain, grad);
        }
        let (x, z) = (V3::splat(simd, x), V3::splat(simd, z));
        let (along, aside) = (x.dot(r), z.dot(r));
        let inverse = one / f;
        let (stretch, thin) = (f - one, inverse - one);
        let per_f = x.scale(along).sub(z.scale(aside * inverse * inverse));
        Psi {
            d: z.mul_add(thin * aside, x.scale(stretch * along)),
            dp: [
                grad.mul_add(per_f.x, z.mul_add(thin * z.x, x.scale(stretch * x.x))),
                grad.mul_add(per_f.y, z.mul_add(thin * z.y, x.scale(stretch * x.y))),
                grad.mul_add(per_f.z, z.mul_add(thin * z.z, x.scale(stretch * x.z))),
            ],
            dk: per_f.scale(per_gain),
        }
    }
}
