//! Optimised centres of rotation (Le and Hodgins 2016).
//!
//! A point with weights w turns by the blended rotation about `p* = Σ_t s(w, w_t) A_t c_t / Σ_t s(w, w_t) A_t`, over the
//! triangles with mean weights w_t, areas A_t and middles c_t;
//! `s(w, v) = Σ_{j≠k} w_j w_k v_j v_k exp(−(w_j v_k − w_k v_j)²/σ²)`, σ = 0.1: triangles that are blended in the same
//! way. Skinned: `v' = R(v − p*) + Σ w_i T_i p*`, R the normalised sum of the bones' quaternions, with the signs that
//! the caller chose for them, times the blended stretch where bones are scaled. Points of one bone have no centre and
//! are rigid.
//!
//! Only triangles that share two bones with a point count, so they are listed by pairs of bones. Triangles whose
//! weights agree to a hundredth, a tenth of σ, are one piece with their mean weights: otherwise the cost would grow with the square of the
//! mesh.
//!
//! Oracle: on a tube bent at a joint the centres lie on the axis; twists keep the radius.

use super::incremental_rotation::Turned;
use super::pointwise::{Placing, Pointwise};
use super::{Base, BaseEntry};
use crate::correct::surface::Surface;
use crate::rig::Rig;
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::collections::BTreeMap;

const SIGMA: f64 = 0.1;
/// Weights that differ by less are taken together.
const ALIKE: f64 = 0.01;

/// Weights of one point: bones ascending, positive, summing to 1.
pub type Weights = [(u32, f64)];

/// The centre of each point; `None` where one bone holds it alone or nothing is like it.
pub fn centres<'a>(
    points: &[DVec3],
    triangles: &[[u32; 3]],
    weights: &(dyn Fn(usize) -> &'a Weights + 'a),
) -> Vec<Option<DVec3>> {
    #[derive(Default)]
    struct Piece {
        weights: Vec<(u32, f64)>,
        area: f64,
        /// Times the area.
        middle: DVec3,
    }
    let mut pieces: Vec<Piece> = Vec::new();
    let mut known: BTreeMap<Vec<(u32, u32)>, usize> = BTreeMap::new();
    for face in triangles {
        let [a, b, c] = face.map(|v| points[v as usize]);
        let mut mean: Vec<(u32, f64)> = Vec::new();
        for &corner in face {
            for &(bone, weight) in weights(corner as usize) {
                match mean.binary_search_by_key(&bone, |w| w.0) {
                    Ok(at) => mean[at].1 += weight / 3.0,
                    Err(at) => mean.insert(at, (bone, weight / 3.0)),
                }
            }
        }
        let area = 0.5 * (b - a).cross(c - a).length();
        let rounded = mean.iter().map(|&(bone, weight)| (bone, (weight / ALIKE).round() as u32)).collect();
        let index = *known.entry(rounded).or_insert(pieces.len());
        if index == pieces.len() {
            pieces.push(Piece { weights: mean.iter().map(|w| (w.0, 0.0)).collect(), ..Piece::default() });
        }
        let piece = &mut pieces[index];
        piece.area += area;
        piece.middle += (a + b + c) * (area / 3.0);
        piece.weights.iter_mut().zip(&mean).for_each(|(sum, w)| sum.1 += w.1 * area);
    }
    pieces.retain(|piece| piece.area > 0.0);
    for piece in &mut pieces {
        let area = piece.area;
        piece.weights.iter_mut().for_each(|w| w.1 /= area);
    }
    let mut by_pair: Vec<(u32, u32, u32)> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        for (k, &(b, _)) in piece.weights.iter().enumerate() {
            by_pair.extend(piece.weights[..k].iter().map(|&(a, _)| (a, b, index as u32)));
        }
    }
    by_pair.sort_unstable();
    let centre = |point: usize| {
        let own = weights(point);
        let (mut sum, mut total) = (DVec3::ZERO, 0.0);
        for (k, &(b, wb)) in own.iter().enumerate() {
            for &(a, wa) in &own[..k] {
                let first = by_pair.partition_point(|pair| (pair.0, pair.1) < (a, b));
                for &(_, _, index) in by_pair[first..].iter().take_while(|pair| (pair.0, pair.1) == (a, b)) {
                    let piece = &pieces[index as usize];
                    let of = |bone: u32| {
                        piece.weights.binary_search_by_key(&bone, |w| w.0).map_or(0.0, |at| piece.weights[at].1)
                    };
                    let (va, vb) = (of(a), of(b));
                    // Both orders of the pair give the same term.
                    let alike = 2.0 * wa * wb * va * vb * (-((wa * vb - wb * va) / SIGMA).powi(2)).exp();
                    sum += piece.middle * alike;
                    total += alike * piece.area;
                }
            }
        }
        let centre = sum / total;
        (total > 0.0 && centre.is_finite()).then_some(centre)
    };
    (0..points.len()).map(centre).collect()
}

/// A bone at a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurningBone {
    /// From bind to the pose.
    pub transform: DAffine3,
    /// The rotation in it, on the side that it is to be blended on.
    pub rotation: DQuat,
    /// What is left of its linear part without the rotation.
    pub stretch: DMat3,
}

/// Skins one point.
pub fn skin(p: DVec3, centre: Option<DVec3>, weights: &Weights, bones: &[TurningBone]) -> DVec3 {
    let blend = |p: DVec3| {
        weights.iter().map(|&(bone, w)| bones[bone as usize].transform.transform_point3(p) * w).sum::<DVec3>()
    };
    let Some(centre) = centre else { return blend(p) };
    let (mut turn, mut stretch) = (DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DMat3::ZERO);
    for &(bone, w) in weights {
        turn += bones[bone as usize].rotation * w;
        stretch += bones[bone as usize].stretch * w;
    }
    // Opposite rotations cancel: the linear blend is as good as any.
    if turn.length() < 1e-9 { blend(p) } else { turn.normalize() * (stretch * (p - centre)) + blend(centre) }
}

/// The base `centres-of-rotation`.
pub const CENTRES_OF_ROTATION: BaseEntry = BaseEntry {
    name: "centres-of-rotation",
    about: "Rotates around optimised centres of rotation: twists and bends keep their volume",
    params: &[],
    mapped: None,
    tables: &[],
    bind: |binding| {
        Base::Pointwise(Box::new(Pointwise::new(binding.rig, |surface| Some(Centres::new(binding.rig, surface)))))
    },
};

#[derive(Debug)]
struct Centres {
    centres: Vec<Option<DVec3>>,
    bones: TurningBones,
}

/// Palette entries of a surface and their parents, parents first.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurningBones(Vec<(u32, Option<u32>)>);

impl TurningBones {
    pub fn new(rig: &Rig, surface: &Surface) -> Self {
        let mine = |&&entry: &&u32| rig.palette()[entry as usize].character as usize == surface.character;
        let entries = rig.palette_order().iter().filter(mine);
        Self(entries.map(|&entry| (entry, rig.palette()[entry as usize].parent)).collect())
    }

    /// Every entry at a pose.
    pub fn pose(&self, from_bind: &[DAffine3], bones: &mut Vec<TurningBone>) {
        bones.clear();
        bones.extend(from_bind.iter().map(|transform| {
            let Turned { rotation, stretch } = Turned::of(transform.matrix3);
            TurningBone { transform: *transform, rotation, stretch }
        }));
        // Signs of the rotations by the parent, root to leaf.
        for &(entry, parent) in &self.0 {
            let side = parent.map_or(DQuat::IDENTITY, |parent| bones[parent as usize].rotation);
            let bone = &mut bones[entry as usize];
            if bone.rotation.dot(side) < 0.0 {
                bone.rotation = -bone.rotation;
            }
        }
    }
}

impl Centres {
    fn new(rig: &Rig, surface: &Surface) -> Self {
        let weights: Vec<Vec<(u32, f64)>> = (0..surface.nodes())
            .map(|node| {
                let mut weights = surface.influences_of(node).to_vec();
                weights.sort_by_key(|weight| weight.0);
                weights
            })
            .collect();
        let centres = centres(&surface.bind, &surface.faces(), &|node| &weights[node]);
        Self { centres, bones: TurningBones::new(rig, surface) }
    }
}

impl Placing for Centres {
    type Posed = Vec<TurningBone>;

    fn pose(&self, from_bind: &[DAffine3], bones: &mut Vec<TurningBone>) {
        self.bones.pose(from_bind, bones);
    }

    fn place(&self, bones: &Vec<TurningBone>, node: usize, bind: DVec3, influences: &[(u32, f64)]) -> DVec3 {
        skin(bind, self.centres[node], influences, bones)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::tests::tube;
    use std::f64::consts::PI;

    type Tube = (Vec<DVec3>, Vec<[u32; 3]>, Vec<Vec<(u32, f64)>>);

    fn bone(transform: DAffine3, rotation: DQuat) -> TurningBone {
        TurningBone { transform, rotation, stretch: DMat3::IDENTITY }
    }

    fn weighted() -> Tube {
        let (points, faces) = tube(|t| (DVec3::Y * (4.0 * t), DVec3::X, DVec3::Z), 0.5, 81, 24);
        let weight = |p: &DVec3| {
            let w = ((p.y - 1.0) / 2.0).clamp(0.0, 1.0);
            [(0, 1.0 - w), (1, w)].into_iter().filter(|x| x.1 > 0.0).collect()
        };
        let weights = points.iter().map(weight).collect();
        (points, faces, weights)
    }

    #[test]
    fn on_a_tube_the_centres_are_on_the_axis_and_a_twist_keeps_the_radius() {
        let (points, faces, weights) = weighted();
        let centres = centres(&points, &faces, &|v| &weights[v]);
        let joint = DVec3::Y * 2.0;
        let turn = DQuat::from_rotation_y(PI * 0.9);
        let about = DAffine3::from_translation(joint) * DAffine3::from_quat(turn) * DAffine3::from_translation(-joint);
        let bones = [bone(DAffine3::IDENTITY, DQuat::IDENTITY), bone(about, turn)];
        for (i, p) in points.iter().enumerate() {
            if let Some(centre) = centres[i] {
                assert!(centre.x.hypot(centre.z) < 0.5 * 0.01, "{centre}");
                let away = if (1.3..2.7).contains(&p.y) { (centre.y - p.y).abs() } else { 0.0 };
                assert!(away < 0.1, "{centre} of {p}");
            } else {
                assert_eq!(weights[i].len(), 1);
            }
            let skinned = skin(*p, centres[i], &weights[i], &bones);
            assert!((skinned.x.hypot(skinned.z) - 0.5).abs() < 0.5 * 0.01, "{p} → {skinned}");
        }
    }

    #[test]
    fn points_of_one_bone_are_rigid_and_opposite_rotations_stay_finite() {
        let (points, faces, weights) = weighted();
        let centres = centres(&points, &faces, &|v| &weights[v]);
        let about = DAffine3::from_rotation_translation(DQuat::from_rotation_x(1.0), DVec3::ONE);
        let bones = [bone(DAffine3::IDENTITY, DQuat::IDENTITY), bone(about, DQuat::from_rotation_x(1.0))];
        let last = points.len() - 1;
        assert!(
            skin(points[last], centres[last], &weights[last], &bones).distance(about.transform_point3(points[last]))
                < 1e-12
        );
        let opposite = [bones[0], bone(about, DQuat::from_xyzw(0.0, 0.0, 0.0, -1.0))];
        assert!(skin(points[900], centres[900], &weights[900], &opposite).is_finite());
    }
}
