//! The normals, or tangents, of all vertices of a group: what they are at rest, what they should be, and by how much a
//! played frame misses them.

use crate::Subject;
use crate::pulled::{Pulled, Turned};
use glam::Vec3;
use sinew::Workspace;
use sinew::raw::RawMorph;
use std::ops::Range;

/// Which directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Tangent,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Normal, Self::Tangent];
}

/// Directions of one kind.
#[derive(Debug)]
pub(crate) struct Field {
    kind: Kind,
    vertices: Vec<u32>,
    /// The point of the group that each vertex lies at.
    points: Vec<u32>,
    /// At rest, without the file's own morphs.
    rest: Vec<Vec3>,
    /// The file's own morphs: index of the weight, and displacements by place in `vertices`.
    morphs: Vec<(usize, Vec<(u32, Vec3)>)>,
    /// Part, primitive, and places in `vertices`.
    primitives: Vec<(usize, usize, Range<usize>)>,
}

/// Angles of one frame between what is played and what is wanted, in radians.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Angles {
    pub vertices: usize,
    pub largest: f64,
    pub sum: f64,
    pub largest_before: f64,
    pub sum_before: f64,
}

impl Field {
    /// The directions of all primitives that have them; `None` where none has.
    pub fn new(subject: Subject<'_>, parts: &[usize], place_of_slot: &[u32], kind: Kind) -> Option<Self> {
        let Subject { raw, rig, .. } = subject;
        let mut field = Self {
            kind,
            vertices: Vec::new(),
            points: Vec::new(),
            rest: Vec::new(),
            morphs: Vec::new(),
            primitives: Vec::new(),
        };
        for &part in parts {
            let morph_weights = rig.parts()[part].morph_weights.clone();
            for (number, primitive) in rig.parts()[part].primitives.iter().enumerate() {
                let has = match kind {
                    Kind::Normal => primitive.has_normals,
                    Kind::Tangent => primitive.has_tangents,
                };
                if !has {
                    continue;
                }
                let start = field.vertices.len();
                field.vertices.extend(primitive.vertices.clone().map(|vertex| vertex as u32));
                field.primitives.push((part, number, start..field.vertices.len()));
                let own = raw.meshes.get(part).and_then(|mesh| mesh.primitives.get(number));
                let own = own.map_or(&[][..], |primitive| &primitive.morphs);
                for (weight, morph) in morph_weights.clone().zip(own) {
                    let places = displacements(morph, kind).iter().enumerate().filter(|(_, d)| **d != Vec3::ZERO);
                    field.morphs.push((weight, places.map(|(at, &d)| ((start + at) as u32, d)).collect()));
                }
            }
        }
        let rest = |&vertex: &u32| match kind {
            Kind::Normal => Some(rig.rest_normal(vertex as usize)),
            Kind::Tangent => rig.rest_tangent(vertex as usize),
        };
        field.points = field.vertices.iter().map(|&vertex| place_of_slot[rig.point(vertex as usize)]).collect();
        field.rest = field.vertices.iter().map(rest).collect::<Option<_>>()?;
        (!field.vertices.is_empty()).then_some(field)
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of directions.
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// At rest, with the file's own morphs.
    fn morphed(&self, morph_weights: &[f32]) -> Vec<Vec3> {
        let mut rest = self.rest.clone();
        for (weight, displacements) in &self.morphs {
            let weight = morph_weights.get(*weight).copied().unwrap_or(0.0);
            displacements.iter().for_each(|&(place, d)| rest[place as usize] += weight * d);
        }
        rest
    }

    fn wanted(&self, workspace: &Workspace, vertex: usize) -> Vec3 {
        match self.kind {
            Kind::Normal => workspace.mesh().normals[vertex],
            Kind::Tangent => workspace.mesh().tangents[vertex].truncate(),
        }
    }

    /// The right morph at this frame, x y z per direction; `turned` is per point.
    pub fn deltas(&self, workspace: &Workspace, turned: &[Turned]) -> Vec<f32> {
        let rest = self.morphed(&workspace.pose().morph_weights);
        let mut out = Vec::with_capacity(3 * self.len());
        for ((&vertex, &point), rest) in self.vertices.iter().zip(&self.points).zip(rest) {
            let Turned { world_from_rest, rest_from_world, is_told } = turned[point as usize];
            let length = (world_from_rest * rest).length();
            let delta = rest_from_world * (self.wanted(workspace, vertex as usize) * length) - rest;
            // Where skinning is flat, a direction cannot be told: it stays as it is.
            let delta = if is_told && delta.is_finite() { delta } else { Vec3::ZERO };
            out.extend(delta.to_array());
        }
        out
    }

    /// Angles in the world between what two morphs of the directions make of them; `wanted` is the right one.
    pub fn angles(&self, pulled: &Pulled, morph_weights: &[f32], wanted: &[f32], played: &[f32]) -> Angles {
        let mut angles = Angles { vertices: self.len(), ..Angles::default() };
        let rest = self.morphed(morph_weights);
        let morphs = wanted.chunks_exact(3).zip(played.chunks_exact(3));
        for ((&point, rest), (wanted, played)) in self.points.iter().zip(rest).zip(morphs) {
            let product = |u: Vec3, v: Vec3| pulled.product(point as usize, u.as_dvec3(), v.as_dvec3());
            let [wanted, played] = [wanted, played].map(|morph| rest + Vec3::from_slice(morph));
            let of_wanted = product(wanted, wanted);
            let after = angle(product(played, played), of_wanted, product(played, wanted));
            let before = angle(product(rest, rest), of_wanted, product(rest, wanted));
            angles.largest = angles.largest.max(after);
            angles.largest_before = angles.largest_before.max(before);
            angles.sum += after;
            angles.sum_before += before;
        }
        angles
    }

    /// The displacements of one primitive in a target; `None` where it has no such directions.
    pub fn of_primitive(&self, part: usize, primitive: usize, target: &[f32]) -> Option<Vec<Vec3>> {
        let (_, _, places) = self.primitives.iter().find(|(p, number, _)| (*p, *number) == (part, primitive))?;
        Some(target[3 * places.start..3 * places.end].chunks_exact(3).map(Vec3::from_slice).collect())
    }
}

fn displacements(morph: &RawMorph, kind: Kind) -> &[Vec3] {
    let own = match kind {
        Kind::Normal => &morph.normals,
        Kind::Tangent => &morph.tangents,
    };
    own.as_deref().unwrap_or_default()
}

/// Between two directions, from the squares of their lengths and their product; 0 where one has no length.
fn angle(a: f64, b: f64, cosine: f64) -> f64 {
    let sine = (a * b - cosine * cosine).max(0.0).sqrt();
    let (small, large) = (sine.min(cosine.abs()), sine.max(cosine.abs()));
    if !(large > 0.0 && large.is_finite()) {
        return 0.0;
    }
    let acute = arctangent((small / large) as f32);
    let steep = if sine > cosine.abs() { std::f32::consts::FRAC_PI_2 - acute } else { acute };
    f64::from(if cosine < 0.0 { std::f32::consts::PI - steep } else { steep })
}

/// For 0 to 1, within 1.2e-5 (Hastings, Approximations for Digital Computers, 1955): angles are shown to a hundredth of a degree,
/// and the library's is what a look at all normals would spend most time on.
fn arctangent(x: f32) -> f32 {
    let square = x * x;
    let series = 0.180_141 + square * (-0.085_133 + square * 0.020_835_1);
    x * (0.999_866 + square * (-0.330_299_5 + square * series))
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    #[test]
    fn angles_are_those_of_the_library() {
        for degrees in 0..=180 {
            let truth = f64::from(degrees).to_radians();
            let (a, b) = (DVec3::new(0.0, 3e-3, 0.0), DVec3::new(0.0, truth.cos(), truth.sin()));
            let found = angle(a.dot(a), b.dot(b), a.dot(b));
            assert!((found - truth).abs() < 2e-5, "{degrees}: {found}");
        }
        assert_eq!(angle(0.0, 1.0, 0.0), 0.0);
        assert_eq!(angle(f64::NAN, 1.0, f64::NAN), 0.0);
    }
}
