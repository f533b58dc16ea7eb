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

use super::{Affine, At, BoneInput, Displacement, HARD, Input, MakerKind, Psi, Term, TermMaker};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};
use crate::simd::{Limit, Simd, V3, f32x16, prelude::*, splat};
use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DVec3, Vec3};

/// Stretch along the motion, thin across it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Squash {
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
        ParamSpec::switch("soft", true, "Ease into the limit instead of clamping"),
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
            "Measure the swing by the full rotation, as in the paper; jumps for twists",
        ),
        ParamSpec::number("translation_filter", "", [0.001, 1.0], 1.0, "Time filter γ on velocity; 1 is none"),
        ParamSpec::number("rotation_filter", "", [0.001, 1.0], 1.0, "Time filter γ on angular velocity; 1 is none"),
    ];
    const INPUTS: &'static [Input] = &[
        Input::LowPass(Signal::LinearVelocity, "translation_filter"),
        Input::LowPass(Signal::AngularVelocity, "rotation_filter"),
    ];
    const PAPER: Option<&'static [(&'static str, f64)]> = Some(&[("max_stretch", 10.0), HARD, ("paper_spin", 1.0)]);

    type Term = SquashTerm;

    fn new(values: &Values) -> Self {
        Self {
            translation: values.number("translation") as f32,
            rotation: values.number("rotation") as f32,
            limit: Limit::new(values.number("max_stretch") as f32, values.switch("soft")),
            ease: values.number("ease") as f32,
            paper_spin: values.switch("paper_spin"),
        }
    }

    fn term(&self, bone: &BoneInput) -> SquashTerm {
        let per_size = 1.0 / bone.size;
        let stretch = Stretch { limit: self.limit, ease: self.ease };
        SquashTerm {
            along: Along::new(bone, self.translation * bone.translation_gain * per_size, stretch),
            swung: Swung::new(bone, self.rotation * bone.rotation_gain * per_size, stretch, self.paper_spin),
        }
    }

    fn maker(&self) -> TermMaker {
        let Self { translation, rotation, limit, ease, paper_spin } = *self;
        let (max_length, soft, paper_spin) = (limit.max, limit.is_soft().into(), paper_spin.into());
        TermMaker { translation, rotation, max_length, soft, ease, paper_spin, ..TermMaker::of(MakerKind::Squash) }
    }
}

/// Both parts of a squash.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct SquashTerm {
    pub(super) along: Along,
    pub(super) swung: Swung,
}

impl Term for SquashTerm {
    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, at: &At<S>) -> Psi<S> {
        let mut psi = Psi::zero(simd);
        if self.swung.moves() {
            psi = self.swung.psi(simd, at);
        }
        if self.along.moves() {
            psi = psi.add(self.along.psi(simd, at));
        }
        psi
    }

    fn take_affine(&mut self, gain: f32) -> Affine {
        let along = std::mem::replace(&mut self.along, Along::zeroed());
        if along.moves() { along.affine(gain) } else { Affine::ZERO }
    }

    fn is_still(&self) -> bool {
        !self.along.moves() && !self.swung.moves()
    }
}

/// From the signed, unbounded s to the stretch f.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Stretch {
    pub(super) limit: Limit,
    pub(super) ease: f32,
}

impl Stretch {
    /// f(s) and df/ds.
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, s: f32x16<S>) -> (f32x16<S>, f32x16<S>) {
        let (one, zero) = (splat(simd, 1.0), splat(simd, 0.0));
        let (mut eased, mut ease_slope) = (s.abs(), one);
        // Below this its square would vanish.
        if self.ease > 1e-12 {
            let ease = splat(simd, self.ease);
            let root = eased.mul_add(eased, ease * ease).sqrt();
            (eased, ease_slope) = (root - ease, eased / root);
        }
        let (bounded, slope) = self.limit.apply(simd, eased);
        let grown = one + bounded;
        let shrink = s.simd_lt(zero);
        let inverse = one / grown;
        // d(1/(1+u))/ds with u = −s: +f².
        let slope = slope * ease_slope * shrink.select(inverse * inverse, one);
        (shrink.select(inverse, grown), slope)
    }

    /// f(s) of one number.
    fn apply_one(self, s: f32) -> f32 {
        let eased = s.hypot(self.ease) - self.ease;
        let grown = 1.0 + self.limit.apply_one(eased);
        if s < 0.0 { 1.0 / grown } else { grown }
    }
}

/// Scale about the centroid: f along the motion, 1/√f across, the same for all points of one gain.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Along {
    pub(super) center: Vec3,
    pub(super) direction: Vec3,
    /// s per gain; 0 moves nothing.
    pub(super) per_gain: f32,
    pub(super) stretch: Stretch,
}

impl Along {
    fn new(bone: &BoneInput, k: f32, stretch: Stretch) -> Self {
        let speed = bone.linear_velocity.length();
        let (center, per_gain) = (bone.centroid, k * speed);
        let moves = per_gain != 0.0 && per_gain.is_finite() && center != bone.joint_origin;
        if moves { Self { center, direction: bone.linear_velocity / speed, per_gain, stretch } } else { Self::zeroed() }
    }

    #[inline(always)]
    fn moves(&self) -> bool {
        self.per_gain != 0.0
    }

    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, at: &At<S>) -> Psi<S> {
        let per_gain = splat(simd, self.per_gain);
        let (f, slope) = self.stretch.apply(simd, at.gain * per_gain);
        let zero = V3::splat(simd, Vec3::ZERO);
        scale_about_point(simd, self.center, self.direction, at, f, slope * per_gain, zero)
    }

    /// What it does to points of one gain.
    fn affine(&self, gain: f32) -> Affine {
        let f = f64::from(self.stretch.apply_one(gain * self.per_gain));
        let g = 1.0 / f.sqrt();
        let u = self.direction.as_dvec3();
        let matrix =
            DMat3::from_cols(u * u.x, u * u.y, u * u.z) * (f - g) + DMat3::from_diagonal(DVec3::splat(g - 1.0));
        Affine { matrix, shift: -(matrix * self.center.as_dvec3()) }
    }
}

/// `(f − g) u u·q + (g − 1) q`, g = 1/√f, q = p − center; `df` by gain, `grad` the gradient of f by p.
#[inline(always)]
fn scale_about_point<S: Simd>(
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
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Swung {
    pub(super) origin: Vec3,
    /// Where it acts about a point instead, and 1 if it does.
    pub(super) center: Vec3,
    pub(super) about_point: u32,
    pub(super) x: Vec3,
    pub(super) z: Vec3,
    /// s is k·gain·‖spin × r‖; k = 0 moves nothing.
    pub(super) spin: Vec3,
    pub(super) k: f32,
    pub(super) stretch: Stretch,
}

impl Swung {
    fn new(bone: &BoneInput, k: f32, stretch: Stretch, paper_spin: bool) -> Self {
        let omega = bone.angular_velocity;
        let medial = bone.centroid - bone.joint_origin;
        let y = medial / medial.length();
        let across = omega - y * omega.dot(y);
        let rate = across.length();
        // No axis without skin; no swing for a spin along it (a millionth of it is rounding).
        let usable = k != 0.0 && y.is_finite() && rate > 1e-6 * omega.length() && rate.is_finite();
        let z = across / rate;
        if !usable {
            return Self::zeroed();
        }
        Self {
            origin: bone.joint_origin,
            center: bone.centroid,
            about_point: bone.about_point.into(),
            x: y.cross(z),
            z,
            spin: if paper_spin { omega } else { across },
            k,
            stretch,
        }
    }

    #[inline(always)]
    fn moves(&self) -> bool {
        self.k != 0.0
    }

    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, at: &At<S>) -> Psi<S> {
        let r = at.p.sub(V3::splat(simd, self.origin));
        // ‖spin × r‖ and its gradient (spin × r) × spin / ‖spin × r‖.
        let w = V3::splat(simd, self.spin);
        let speed = w.cross(r);
        let length = speed.length();
        let some = length.simd_gt(splat(simd, f32::MIN_POSITIVE));
        let one = splat(simd, 1.0);
        let grad = speed.cross(w).scale(some.select(one, splat(simd, 0.0)) / some.select(length, one));
        let k = splat(simd, self.k);
        let (f, slope) = self.stretch.apply(simd, at.gain * k * length);
        let grad = grad.scale(slope * at.gain * k);
        let per_gain = slope * k * length;
        if self.about_point != 0 {
            return scale_about_point(simd, self.center, self.x, at, f, per_gain, grad);
        }
        let (x, z) = (V3::splat(simd, self.x), V3::splat(simd, self.z));
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
