//! Ears, tails and the like that one bone moves, their own or that of the head, bend as rods when effects act on them.
//!
//! Such a part has nothing in it that could bend: effects shift it as a whole, and held at its root it would be sheared,
//! and stretched or pushed together along its length. Here it takes what effects do to it as one bend. With `G` the rigid
//! motion nearest to what happened to its root, U the mean of what its points were moved by beyond that, and `x` from 0 to
//! 1 the way along the part, cross-sections turn by `x φ` and stand on the arc that they turn along:
//!
//! `p' = c(x) + R(xφ) (Gp − r − xLa)`, `c(x) = r + L ∫₀ˣ R(ξφ) a dξ`
//!
//! with r where the root went, a towards the middle of the part and L its length. To first order the mean of that is
//! `φ × λ`, `λ = mean(x(Gp − r) − ½x²La)`, so that `φ = λ × U / λ²` keeps the mean of what effects did across the part. What
//! lies along it is given up: a rod does not get longer. Strain is curvature × distance from the middle line, and
//! nothing where the part is thin. What the root does beyond a rigid motion fades along the part.
//!
//! Flesh and cloth are no rods, nor is what is wider at its root than long: they keep what effects did.
//!
//! Oracles: a part on a tube, moved rigidly, moved a little and moved much (`tests/all/parts.rs`).

use super::GraphError;
use super::parts::{JoinedSkin, Part, Parts, smoothstep};
use super::rigid_pieces::{RigidMotion, fit};
use super::settle::Directions;
use crate::anatomy::Role;
use crate::recipe::Recipe;
use crate::rig::Rig;
use crate::simd::{LANES, Points};
use glam::{DQuat, DVec3};

/// Share of a part that one bone moves where it cannot bend by itself.
const STIFF: f64 = 0.9;
/// How long a rod is at least, in widths of its root.
const SLENDER: f64 = 0.75;
/// No rod is bent farther, in radians.
const FARTHEST: f64 = std::f64::consts::FRAC_PI_3;

/// The rods among the parts that effects act on.
#[derive(Debug)]
pub(super) struct Bending {
    rods: Vec<Rod>,
}

#[derive(Debug)]
struct Rod {
    /// Slots of its root and how much they count; together 1.
    root: Vec<(u32, f64)>,
    points: Vec<RodPoint>,
    /// Its length over the distance from the root to its middle.
    length: f64,
    /// Means of the way and its square.
    mean_way: [f64; 2],
}

#[derive(Debug)]
struct RodPoint {
    slot: u32,
    way: f64,
    source: u32,
    /// How much it counts; together 1.
    weight: f64,
}

impl Bending {
    /// `None` where nothing is a rod.
    pub fn build(rig: &Rig, recipe: &Recipe) -> Result<Option<Self>, GraphError> {
        let mut rods: Vec<Rod> = Vec::new();
        let mut taken = vec![false; rig.slots()];
        for effect in recipe.effects.iter().filter(|effect| !effect.parts.is_empty()) {
            for part in Parts::find(rig, &effect.parts, effect.effect.name())?.parts {
                if part.points.iter().any(|point| taken[point.slot as usize]) {
                    continue;
                }
                if let Some(rod) = Rod::of(rig, &rig.kept(), &part) {
                    rod.points.iter().for_each(|point| taken[point.slot as usize] = true);
                    rods.push(rod);
                }
            }
        }
        Ok((!rods.is_empty()).then_some(Self { rods }))
    }

    /// Bends the rods. `base` is where the base has all points, `points` where the effects have them. `directions` are
    /// turned too: in place, or from where the base has them.
    pub fn bend(&self, rig: &Rig, base: &Points, points: &mut Points, directions: &mut [Directions<'_>]) {
        for rod in &self.rods {
            rod.bend(rig, base, points, directions);
        }
    }
}

impl Rod {
    /// `None` where the part is no rod.
    fn of(rig: &Rig, skin: &JoinedSkin, part: &Part) -> Option<Self> {
        if matches!(part.role, Role::Cloth | Role::Flesh) || part.role.is_body() {
            return None;
        }
        let JoinedSkin { points, areas, .. } = skin;
        let at = |slot: u32| points[slot as usize];
        let around: f64 = part.root.iter().map(|&slot| areas[slot as usize]).sum();
        let mass: f64 = part.points.iter().map(|point| areas[point.slot as usize] * smoothstep(point.way)).sum();
        if !(around > 0.0 && mass > 0.0) {
            return None;
        }
        let root: Vec<(u32, f64)> = part.root.iter().map(|&slot| (slot, areas[slot as usize] / around)).collect();
        let mut rod = Self { root, points: Vec::new(), length: 0.0, mean_way: [0.0; 2] };
        let mut of_bone = vec![0.0; rig.skeleton().len()];
        for point in &part.points {
            let weight = areas[point.slot as usize] * smoothstep(point.way) / mass;
            for influence in rig.influences(point.slot as usize) {
                let bone = rig.palette()[influence.palette as usize].bone;
                of_bone[bone.index()] += weight * f64::from(influence.weight);
            }
            rod.mean_way[0] += weight * point.way;
            rod.mean_way[1] += weight * point.way * point.way;
            rod.points.push(RodPoint { slot: point.slot, way: point.way, source: point.source, weight });
        }
        let foot: DVec3 = rod.root.iter().map(|&(slot, weight)| at(slot) * weight).sum();
        let middle: DVec3 = rod.points.iter().map(|point| at(point.slot) * point.weight).sum();
        let axis = (middle - foot).normalize_or_zero();
        let length = rod.points.iter().map(|point| (at(point.slot) - foot).dot(axis)).fold(0.0, f64::max);
        let across = |&(slot, weight): &(u32, f64)| weight * (at(slot) - foot).reject_from(axis).length_squared();
        let radius = if axis == DVec3::ZERO { f64::INFINITY } else { rod.root.iter().map(across).sum::<f64>().sqrt() };
        if of_bone.into_iter().fold(0.0, f64::max) < STIFF || length < SLENDER * 2.0 * radius {
            return None;
        }
        rod.length = length / middle.distance(foot);
        rod.fill_rows(rig);
        Some(rod)
    }

    /// Lanes without a point follow the one that they repeat.
    fn fill_rows(&mut self, rig: &Rig) {
        for place in 0..self.points.len() {
            let RodPoint { slot, way, source, .. } = self.points[place];
            let row = slot as usize / LANES;
            let filled = rig.rows()[row].filled as usize;
            if slot as usize % LANES + 1 == filled {
                let repeated = (row * LANES + filled) as u32..((row + 1) * LANES) as u32;
                self.points.extend(repeated.map(|slot| RodPoint { slot, way, source, weight: 0.0 }));
            }
        }
    }

    fn bend(&self, rig: &Rig, base: &Points, points: &mut Points, directions: &mut [Directions<'_>]) {
        let before = |slot: u32| base.get(slot as usize).as_dvec3();
        if self.points.iter().all(|point| base.get(point.slot as usize) == points.get(point.slot as usize)) {
            return;
        }
        let foot: DVec3 = self.root.iter().map(|&(slot, weight)| before(slot) * weight).sum();
        let carried = fit(&self.root, base, points).unwrap_or_else(|| RigidMotion::none_about(foot));
        let foot = carried.of(foot);
        let (mut middle, mut lever, mut moved) = (DVec3::ZERO, DVec3::ZERO, DVec3::ZERO);
        for &RodPoint { slot, way, weight, .. } in &self.points {
            let at = carried.of(before(slot));
            middle += weight * at;
            lever += weight * way * (at - foot);
            moved += weight * (points.get(slot as usize).as_dvec3() - at);
        }
        let (axis, length) = ((middle - foot).normalize_or_zero(), self.length * middle.distance(foot));
        lever -= 0.5 * self.mean_way[1] * length * axis;
        let squared = lever.length_squared();
        let turn = if squared > 0.0 { lever.cross(moved) / squared } else { DVec3::ZERO };
        if !turn.is_finite() {
            return;
        }
        // Bends smoothly into the limit.
        let turn = turn / (1.0 + turn.length_squared() / (FARTHEST * FARTHEST)).sqrt();
        for &RodPoint { slot, way, source, .. } in &self.points {
            let at = carried.of(before(slot));
            let bent = DQuat::from_scaled_axis(way * turn);
            let off = points.get(source as usize).as_dvec3() - carried.of(before(source));
            let to = foot + arc(axis, way * turn) * (way * length) + bent * (at - foot - way * length * axis);
            points.set(slot as usize, (to + (1.0 - smoothstep(way)) * off).as_vec3());
            let layers = rig.rows()[slot as usize / LANES].layers.clone();
            for slot in layers.map(|layer| layer as usize * LANES + slot as usize % LANES) {
                for Directions { base, result } in &mut *directions {
                    let at = base.map_or_else(|| result.get(slot), |base| base.get(slot)).as_dvec3();
                    result.set(slot, (bent * (carried.turn * at)).as_vec3());
                }
            }
        }
    }
}

/// The mean of a direction while it is turned, `∫₀¹ R(ξ·turn) a dξ`.
fn arc(direction: DVec3, turn: DVec3) -> DVec3 {
    let angle = turn.length();
    // The next terms of these series are below what f64 tells from 1.
    let (sine, versine) = match angle < 1e-4 {
        true => (1.0 - angle * angle / 6.0, 0.5 - angle * angle / 24.0),
        false => (angle.sin() / angle, (1.0 - angle.cos()) / (angle * angle)),
    };
    let along = turn * if angle > 0.0 { direction.dot(turn) / (angle * angle) } else { 0.0 };
    along + (direction - along) * sine + turn.cross(direction) * versine
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the sum of many small steps.
    #[test]
    fn an_arc_is_the_mean_of_its_directions() {
        for turn in [DVec3::ZERO, DVec3::new(1e-6, 0.0, 2e-6), DVec3::new(0.3, -0.8, 0.2), DVec3::new(0.0, 0.0, 2.9)] {
            let direction = DVec3::new(0.3, 0.7, -0.2);
            let steps = 2000;
            let at = |step: i32| (f64::from(step) + 0.5) / f64::from(steps);
            let sum: DVec3 = (0..steps).map(|step| DQuat::from_scaled_axis(at(step) * turn) * direction).sum();
            let off = arc(direction, turn).distance(sum / f64::from(steps));
            assert!(off < 1e-6, "{turn}: {off}");
        }
    }
}
