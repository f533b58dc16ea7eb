//! Mirroring: values from the other side of a plane of symmetry.
//!
//! Each point is matched to the point nearest to its mirror image, if that lies within half an edge's length of it and
//! faces the mirrored way; others keep their value and are reported. The plane is `x = 0`, `x` of the topmost bone or
//! the middle of the bounding box, whichever leaves the fewest points unmatched, unless given.

use super::{PointMap, RestSurface};
use crate::bvh::Bvh;
use glam::DVec3;

/// Where values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorSide {
    /// Both sides get the mean of the two.
    Both,
    /// The side of larger coordinates is copied to the other.
    FromPositive,
    /// The side of smaller coordinates is copied to the other.
    FromNegative,
}

/// A plane across one of the world's axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MirrorPlane {
    /// 0, 1 or 2 for x, y or z.
    axis: usize,
    at: Option<f64>,
}

impl MirrorPlane {
    /// Across x, where the character is most symmetric: the custom of modelling.
    pub const X: Self = Self { axis: 0, at: None };
    /// Across y.
    pub const Y: Self = Self { axis: 1, at: None };
    /// Across z.
    pub const Z: Self = Self { axis: 2, at: None };

    /// The same axis at a coordinate; `None` if that is not finite.
    pub fn at(self, coordinate: f64) -> Option<Self> {
        coordinate.is_finite().then_some(Self { at: Some(coordinate), ..self })
    }
}

/// How well the surface was symmetric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MirrorReport {
    /// Share of the control points without a counterpart.
    pub unmatched: f64,
}

impl PointMap {
    /// Makes the map symmetric, character by character.
    pub fn mirror(&mut self, surface: &RestSurface<'_>, plane: MirrorPlane, side: MirrorSide) -> MirrorReport {
        let rig = surface.rig();
        let mut values: Vec<f32> = self.values.iter().flatten().copied().collect();
        let (mut unmatched, mut all) = (0, 0);
        for (index, character) in rig.characters().iter().enumerate() {
            let slots: Vec<usize> = surface.slots(index).collect();
            let tree = Bvh::of_points(&slots.iter().map(|&slot| surface.points()[slot]).collect::<Vec<_>>());
            let middle = (character.bounds[0] + character.bounds[1])[plane.axis] * 0.5;
            let entries = rig.palette().iter().filter(|entry| entry.character as usize == index);
            // Parents come first, so the smallest is the topmost.
            let topmost = entries.map(|entry| entry.bone).min();
            let joint = topmost.map_or(middle, |bone| surface.world().joint_origin(bone)[plane.axis]);
            let candidates = plane.at.map_or_else(|| vec![0.0, joint, middle], |at| vec![at]);
            let tried = candidates.into_iter().map(|at| {
                let partners = partners(surface, &slots, &tree, plane.axis, at);
                (at, partners.iter().filter(|partner| partner.is_none()).count(), partners)
            });
            let Some((at, alone, partners)) = tried.min_by_key(|&(_, alone, _)| alone) else { continue };
            unmatched += alone;
            all += slots.len();
            for (&slot, partner) in slots.iter().zip(partners) {
                let Some(partner) = partner else { continue };
                let away = surface.points()[slot][plane.axis] - at;
                values[slot] = match side {
                    MirrorSide::Both => 0.5 * self.at(slot) + 0.5 * self.at(partner),
                    MirrorSide::FromPositive if away < 0.0 => self.at(partner),
                    MirrorSide::FromNegative if away > 0.0 => self.at(partner),
                    MirrorSide::FromPositive | MirrorSide::FromNegative => self.at(slot),
                };
            }
        }
        *self = Self::from_fn(rig, |slot| values[slot]);
        MirrorReport { unmatched: unmatched as f64 / f64::from(all.max(1) as u32) }
    }
}

/// The counterpart of each slot, if it has one.
fn partners(surface: &RestSurface<'_>, slots: &[usize], tree: &Bvh, axis: usize, at: f64) -> Vec<Option<usize>> {
    let (points, normals) = (surface.points(), surface.normals());
    let flip = |v: DVec3, about: f64| {
        let mut flipped = v;
        flipped[axis] = 2.0 * about - v[axis];
        flipped
    };
    let partner = |&slot: &usize| {
        let (image, facing) = (flip(points[slot], at), flip(normals[slot], 0.0));
        let within = 0.5 * surface.edge_length(slot);
        let found = tree.nearest(image, within * within, |index| {
            let other = slots[index as usize];
            let opposed = facing.dot(normals[other]) < 0.0;
            (!opposed).then(|| points[other].distance_squared(image))
        });
        found.map(|(index, _)| slots[index as usize])
    };
    slots.iter().map(partner).collect()
}
