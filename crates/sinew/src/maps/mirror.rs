//! Mirroring: values from the other side of a plane of symmetry.
//!
//! Each point is matched to the place on the surface nearest to its mirror image (between vertices too: meshes are
//! seldom as symmetric as the body), if that lies within half an edge's length and faces the mirrored way; others keep
//! their value and are reported. Unless given, the plane is at 0, at the topmost bone or in the middle of the bounding
//! box, whichever leaves the fewest points unmatched.

use super::{PointMap, RestSurface};
use crate::bvh::Bvh;
use crate::triangle::{nearest_in, nearest_on};
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

/// Where the other side of a body is.
#[derive(Clone, Debug)]
pub struct MirrorImages {
    /// By slot; `None` for points without a counterpart.
    places: Vec<Option<MirrorPlace>>,
    /// Signed distance of each slot from the plane.
    away: Vec<f64>,
    /// Share of the control points without a counterpart.
    unmatched: f64,
}

impl MirrorImages {
    /// Finds them, character by character.
    pub fn new(surface: &RestSurface<'_>, plane: MirrorPlane) -> Self {
        let rig = surface.rig();
        let mut images = Self { places: vec![None; rig.slots()], away: vec![0.0; rig.slots()], unmatched: 0.0 };
        let (mut unmatched, mut all) = (0, 0);
        for (index, character) in rig.characters().iter().enumerate() {
            let slots: Vec<usize> = surface.slots(index).collect();
            let sheet = Sheet::new(surface, index);
            let middle = (character.bounds[0] + character.bounds[1])[plane.axis] * 0.5;
            let entries = rig.palette().iter().filter(|entry| entry.character as usize == index);
            // Parents come first, so the smallest is the topmost.
            let topmost = entries.map(|entry| entry.bone).min();
            let joint = topmost.map_or(middle, |bone| surface.world().joint_origin(bone)[plane.axis]);
            let candidates = plane.at.map_or_else(|| vec![0.0, joint, middle], |at| vec![at]);
            let tried = candidates.into_iter().map(|at| {
                let partners: Vec<_> = slots.iter().map(|&slot| sheet.partner(slot, plane.axis, at)).collect();
                (at, partners.iter().filter(|partner| partner.is_none()).count(), partners)
            });
            let Some((at, alone, partners)) = tried.min_by_key(|&(_, alone, _)| alone) else { continue };
            unmatched += alone;
            all += slots.len();
            for (&slot, partner) in slots.iter().zip(partners) {
                images.places[slot] = partner;
                images.away[slot] = surface.points()[slot][plane.axis] - at;
            }
        }
        images.unmatched = unmatched as f64 / f64::from(all.max(1) as u32);
        images
    }

    /// Where the mirror image of a slot's point lies on the surface.
    pub fn of(&self, slot: usize) -> Option<&MirrorPlace> {
        self.places.get(slot)?.as_ref()
    }
}

impl PointMap {
    /// Makes the map symmetric, character by character.
    pub fn mirror(&mut self, surface: &RestSurface<'_>, plane: MirrorPlane, side: MirrorSide) -> MirrorReport {
        let images = MirrorImages::new(surface, plane);
        let mirrored = |slot: usize| {
            let Some(place) = images.of(slot) else { return self.at(slot) };
            let there =
                place.iter().map(|&(slot, share)| share * f64::from(self.at(slot as usize))).sum::<f64>() as f32;
            match side {
                MirrorSide::Both => 0.5 * self.at(slot) + 0.5 * there,
                MirrorSide::FromPositive if images.away[slot] < 0.0 => there,
                MirrorSide::FromNegative if images.away[slot] > 0.0 => there,
                MirrorSide::FromPositive | MirrorSide::FromNegative => self.at(slot),
            }
        };
        *self = Self::from_fn(surface.rig(), mirrored);
        MirrorReport { unmatched: images.unmatched }
    }
}

/// Slots of a face's corners and their shares in a place on it.
pub type MirrorPlace = [(u32, f64); 3];

/// The faces of one character.
struct Sheet<'s> {
    surface: &'s RestSurface<'s>,
    faces: Vec<[u32; 3]>,
    tree: Bvh,
}

impl<'s> Sheet<'s> {
    fn new(surface: &'s RestSurface<'s>, character: usize) -> Self {
        let faces = surface.faces_of(character);
        let tree = surface.tree(&faces);
        Self { surface, faces, tree }
    }

    /// Where the surface is nearest to the mirror image of `slot`, if it is near enough.
    fn partner(&self, slot: usize, axis: usize, at: f64) -> Option<MirrorPlace> {
        let flip = |v: DVec3, about: f64| {
            let mut flipped = v;
            flipped[axis] = 2.0 * about - v[axis];
            flipped
        };
        let (image, facing) = (flip(self.surface.points()[slot], at), flip(self.surface.normals()[slot], 0.0));
        let corners = |face: u32| self.faces[face as usize].map(|slot| self.surface.points()[slot as usize]);
        let within = 0.5 * self.surface.edge_length(slot);
        let (face, _) = self.tree.nearest(image, within * within, |face| {
            let [a, b, c] = corners(face);
            let opposed = facing.dot((b - a).cross(c - a)) < 0.0;
            (!opposed).then(|| nearest_on(image, [a, b, c]).distance_squared(image))
        })?;
        let shares = nearest_in(image, corners(face));
        let slots = self.faces[face as usize];
        Some([0, 1, 2].map(|k| (slots[k], shares[k])))
    }
}
