//! The normal filter (AS eq. 14): `ψ ↦ K χ (ψ·n) n` with the channels χ and n of a cone, computed once at rest.

use super::accumulate::{Block, Moved, outer, transposed};
use super::rig_arrays::ConeArrays;
use super::{Frame, GraphError, bones_called};
use crate::cone::{Cone, ConeError};
use crate::gradients::{Gradient, gradient_of};
use crate::hierarchy::Hierarchy;
use crate::maps::{PointMap, RestSurface};
use crate::propagated::Ancestry;
use crate::recipe::{ConeSpec, EffectSpec};
use crate::rig::Rig;
use crate::simd::{LANES, Lanes, Limit, Simd, V3, load, prelude::*, splat};
use crate::skeleton::BoneId;
use glam::{DVec3, Mat3, Vec3};

/// A cone with how well it fits the region it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedCone {
    /// Name of the bone that carries it.
    pub bone: String,
    /// In that bone's frame.
    pub cone: Cone,
    /// Root mean square and largest distance of the region from it, in sizes of the region; `None` when given by hand.
    pub residual: Option<(f64, f64)>,
    /// As [`ConeSpec::gain`].
    pub gain: f64,
    /// As [`ConeSpec::max_length`].
    pub max_length: f64,
}

impl FittedCone {
    /// The same as it is set by hand, to the bit.
    pub fn spec(&self) -> ConeSpec {
        let Self { bone, cone, gain, max_length, .. } = self;
        ConeSpec { bone: Some(bone.clone()), cone: Some(*cone), gain: *gain, max_length: *max_length }
    }
}

/// χ and n per point.
pub(super) struct ConeFilter {
    fitted: FittedCone,
    bone: BoneId,
    /// χ = max(0, ρ − r0) at rest, in scene units.
    reach: Vec<Lanes>,
    /// n in the bone's frame.
    normals: Vec<[Lanes; 3]>,
    gradients: Option<ChannelGradients>,
    gain: f32,
    max_length: f32,
    soft: bool,
}

struct ChannelGradients {
    reach: Vec<Gradient>,
    normals: [Vec<Gradient>; 3],
}

impl ConeFilter {
    /// The filter of an effect, if it has one. An effect that acts nowhere needs none, and none could be fitted.
    pub fn of_effect(
        rig: &Rig,
        tree: &Hierarchy,
        spec: &EffectSpec,
        gains: &[Lanes],
        exact: bool,
    ) -> Result<Option<Self>, GraphError> {
        let acts = gains.iter().flatten().any(|&gain| gain != 0.0);
        let cone = spec.cone.as_ref().filter(|_| acts);
        cone.map(|cone| Self::build(rig, tree, spec, cone, gains, exact)).transpose()
    }

    /// Follows other numbers; bone, cone and region are what they were.
    pub fn retune(&mut self, spec: &EffectSpec, cone: &ConeSpec) {
        let ConeSpec { gain, max_length, .. } = *cone;
        (self.fitted.gain, self.fitted.max_length) = (gain, max_length);
        (self.gain, self.max_length, self.soft) = (gain as f32, max_length as f32, soft(spec));
    }

    fn build(
        rig: &Rig,
        tree: &Hierarchy,
        spec: &EffectSpec,
        cone: &ConeSpec,
        gains: &[Lanes],
        exact: bool,
    ) -> Result<Self, GraphError> {
        let effect = spec.effect.name();
        let no_cone = |why: String| GraphError::NoCone { effect, why };
        let surface = RestSurface::new(rig);
        let bone = match &cone.bone {
            Some(pattern) => bones_called(rig, pattern, effect)?.next(),
            None => main_bone(rig, gains),
        };
        let bone = bone.ok_or_else(|| no_cone("the effect has no skin to act on".to_owned()))?;
        let world_from_bone = surface.world().world_from_bone(bone);
        let bone_from_world = world_from_bone.inverse();
        if !bone_from_world.is_finite() {
            return Err(no_cone(ConeError::NoFrame.to_string()));
        }
        let local: Vec<DVec3> = surface.points().iter().map(|&p| bone_from_world.transform_point3(p)).collect();
        // The bone's frame may be in other units than the scene.
        let unit = world_from_bone.matrix3.determinant().abs().cbrt();
        let (shape, residual) = match cone.cone {
            Some(cone) => (cone, None),
            None => {
                let region = region(rig, tree, gains, bone);
                let fit = Cone::fit_region(&surface, bone, &region).map_err(|error| no_cone(error.to_string()))?;
                (fit.cone, Some((fit.rms, fit.largest)))
            }
        };
        let rows = rig.rows().len();
        let reach: Vec<Lanes> = (0..rows)
            .map(|row| {
                std::array::from_fn(|lane| {
                    ((shape.radius_at(local[row * LANES + lane]) - shape.base_radius()).max(0.0) * unit) as f32
                })
            })
            .collect();
        let normals: Vec<[Lanes; 3]> = (0..rows)
            .map(|row| {
                let mut lanes = [[0.0; LANES]; 3];
                for lane in 0..LANES {
                    let n = shape.normal_at(local[row * LANES + lane]).as_vec3();
                    for axis in 0..3 {
                        lanes[axis][lane] = n[axis];
                    }
                }
                lanes
            })
            .collect();
        let gradients = exact.then(|| {
            let channel = |axis: usize| gradient_of(rig, &normals.iter().map(|n| n[axis]).collect::<Vec<_>>());
            ChannelGradients { reach: gradient_of(rig, &reach), normals: [channel(0), channel(1), channel(2)] }
        });
        let ConeSpec { gain, max_length, .. } = *cone;
        let bone_name = rig.skeleton().name(bone).to_owned();
        Ok(Self {
            fitted: FittedCone { bone: bone_name, cone: shape, residual, gain, max_length },
            bone,
            reach,
            normals,
            gradients,
            gain: gain as f32,
            max_length: max_length as f32,
            soft: soft(spec),
        })
    }

    /// As plain data.
    pub fn arrays(&self) -> ConeArrays<'_> {
        let Self { reach, normals, gain, max_length, soft, .. } = self;
        let gradients = self.gradients.as_ref().map(|gradients| {
            let [x, y, z] = &gradients.normals;
            [&gradients.reach[..], x, y, z]
        });
        ConeArrays { reach, normals, gain: *gain, max_length: *max_length, soft: *soft, gradients }
    }

    pub fn fitted(&self) -> &FittedCone {
        &self.fitted
    }

    /// The rotation that carries the normals at this frame.
    pub fn turn(&self, frame: &Frame<'_>) -> Mat3 {
        crate::polar::polar_rotation(frame.world.world_from_bone(self.bone).matrix3).as_mat3()
    }

    /// Filters what one row was moved by.
    #[inline(always)]
    pub(super) fn apply<S: Simd, const DERIVATIVES: bool>(
        &self,
        simd: S,
        block: &Block<'_>,
        row: usize,
        moved: Moved<S>,
    ) -> Moved<S> {
        let size = block.moving.size(block.rig.rows()[row].character);
        let turn = block.moving.cone_turn;
        let local = &self.normals[row];
        let n = carry(simd, turn, V3::load(simd, local));
        let k = splat(simd, self.gain / size);
        let reach = load(simd, &self.reach[row]);
        let along = moved.d.dot(n);
        let length = k * reach * along;
        let limit = Limit::new((self.max_length * size).min(f32::MAX), self.soft);
        let (bounded, slope) = limit.apply(simd, length.abs());
        let lift = bounded.copysign(length);
        let mut out = Moved { d: n.scale(lift), ..moved };
        if DERIVATIVES {
            // d' = g(K χ (d·n)) n.
            let lever = slope * k * reach;
            let (a, b) = (transposed(&moved.a, n).scale(lever), transposed(&moved.b, n).scale(lever));
            let zero = V3::splat(simd, Vec3::ZERO);
            (out.a, out.b) = ([zero; 3], [zero; 3]);
            outer(&mut out.a, n, a);
            outer(&mut out.b, n, b);
            if let Some(gradients) = &self.gradients {
                outer(&mut out.b, n.scale(slope * k * along), V3::load(simd, &gradients.reach[row]));
                for axis in 0..3 {
                    let column = V3::splat(simd, turn.col(axis));
                    let gradient = V3::load(simd, &gradients.normals[axis][row]);
                    outer(&mut out.b, n.scale(lever * moved.d.dot(column)), gradient);
                    outer(&mut out.b, column.scale(lift), gradient);
                }
            }
        }
        out
    }
}

#[inline(always)]
fn carry<S: Simd>(simd: S, turn: Mat3, v: V3<S>) -> V3<S> {
    let [x, y, z] = [V3::splat(simd, turn.x_axis), V3::splat(simd, turn.y_axis), V3::splat(simd, turn.z_axis)];
    z.mul_add(v.z, y.mul_add(v.y, x.scale(v.x)))
}

fn soft(spec: &EffectSpec) -> bool {
    let bends = spec.effect.params().iter().any(|param| param.name == "soft");
    !bends || spec.values.switch("soft")
}

/// The bone that carries most of the gain, directly.
fn main_bone(rig: &Rig, gains: &[Lanes]) -> Option<BoneId> {
    let mut share = vec![0.0f64; rig.skeleton().len()];
    for (row, data) in rig.rows().iter().enumerate() {
        for entry in data.skin.start as usize..data.skin.end as usize {
            let bone = rig.palette()[rig.skin_entries()[entry] as usize].bone;
            for lane in 0..data.filled as usize {
                share[bone.index()] += f64::from(rig.skin_weights()[entry][lane] * gains[row][lane].abs());
            }
        }
    }
    rig.skeleton()
        .bones()
        .filter(|b| share[b.index()] > 0.0)
        .max_by(|a, b| share[a.index()].total_cmp(&share[b.index()]).then(b.cmp(a)))
}

/// The region the effect acts on: points that are painted, by how much the bone and its descendants move them.
fn region(rig: &Rig, tree: &Hierarchy, gains: &[Lanes], bone: BoneId) -> PointMap {
    let ancestry = Ancestry::new(tree);
    PointMap::from_fn(rig, |slot| {
        let (row, lane) = (slot / LANES, slot % LANES);
        let skin = &rig.rows()[row].skin;
        let carried: f32 = (skin.start as usize..skin.end as usize)
            .filter(|&entry| ancestry.is_at_or_below(rig.palette()[rig.skin_entries()[entry] as usize].bone, bone))
            .map(|entry| rig.skin_weights()[entry][lane])
            .sum();
        (carried * gains[row][lane]).abs()
    })
}
