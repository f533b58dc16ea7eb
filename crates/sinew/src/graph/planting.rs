//! Feet that stand stay where they stand.
//!
//! The lag of a foot in stance is −k × its velocity against the root: it goes back evenly under the body, so effects push it
//! forward, and it slides when the stance ends. Taking the motion from the foot instead would leave the foot alone and lean
//! the whole body by k × the walking speed. So the root stays what motion is measured by, and what effects do to the foot
//! is taken off again, fading along the leg:
//!
//! `u′(p) = u(p) − c f(p) U`, with U the displacement at the ankle, f from 1 there to 0 at the hip along the bones, and c how
//! firmly the foot stands ([`crate::stance`]). On the foot itself all of u is taken off. The leg keeps what is left: the lag of
//! a leg whose foot is held. Nothing is taken off a point that exceeds what effects did to it: what they leave alone stays.
//!
//! Nor does skin go through the ground that the base keeps above it. What effects take below, or farther below than the base has
//! it, is lifted as a whole, fading along the limb in the same way: to put each point back by itself would crush a sole. It does
//! nothing until a point touches, so that it is continuous in time.
//!
//! A *support* is a foot with its toes, a hand with its fingers, or any other bone: whatever touches the ground. Where several
//! hold a point, each counts by how firmly it stands, how far it reaches, and most if the point is its own.
//!
//! Oracles: a leg that swings as one about its hip, whose foot comes to rest and whose hip is untouched; walks made with known
//! contacts (`tests/all/planting.rs`).

use super::settle::{Displaced, set_repeated};
use super::{GraphError, bones_called};
use crate::anatomy::{Anatomy, Role};
use crate::hierarchy::Hierarchy;
use crate::maps::RestSurface;
use crate::recipe::{Planted, Recipe, Riders};
use crate::rig::Rig;
use crate::skeleton::BoneId;
use crate::stance::{Standing, smooth_step};
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;

/// The farthest that a support reaches along the bones, in sizes.
const LONGEST_REACH: f64 = 0.5;
/// How far one reaches that has no limb above it, in sizes.
const BODY_REACH: f64 = 0.15;
/// Share of a leg of one bone that is its foot.
const FOOT_OF_A_LEG: f64 = 1.0 / 3.0;
/// How far the skin around the ankle reaches, in extents of the foot.
const ANKLE: f64 = 0.3;
/// How much what is not its own counts to a support, against what is.
const STRANGERS: f64 = 0.02;

/// What may stand, and what it holds.
#[derive(Debug)]
pub(super) struct Planting {
    supports: Vec<Support>,
    /// Per bone.
    support_of: Vec<Option<u32>>,
    /// Slots that some support reaches, ascending, with the ends of their stretches of `holds`.
    reached: Vec<(u32, u32)>,
    holds: Vec<Hold>,
    /// Riders just follow their bones.
    riders_still: bool,
}

#[derive(Debug)]
struct Support {
    /// Whether it stays where it stands. What is soft lies on the ground and may slide; it only does not go through.
    stays: bool,
    /// Slots that follow it most.
    own: Vec<u32>,
    /// Slots where the limb goes on from it, and their shares of 1.
    ankle: Vec<(u32, f64)>,
}

/// What a support does to a point.
#[derive(Clone, Copy, Debug)]
struct Hold {
    support: u32,
    /// From 1 on it to 0 where it ends.
    reach: f32,
    /// From 1 where a point is its own to 0.
    own: f32,
}

/// What a support is at a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    firmness: f64,
    displaced: DVec3,
    lift: f32,
}

impl Planting {
    /// `None` where nothing may stand.
    pub fn build(rig: &Rig, tree: &Hierarchy, recipe: &Recipe) -> Result<Option<Self>, GraphError> {
        let mut may_stand = vec![recipe.planted == Planted::Auto; rig.skeleton().len()];
        if let Planted::Only(names) = &recipe.planted {
            for name in names {
                bones_called(rig, name, "planted")?.for_each(|bone| may_stand[bone.index()] = true);
            }
        }
        if !may_stand.contains(&true) {
            return Ok(None);
        }
        let anatomy = rig.kept::<Anatomy>();
        let finder = Finder::new(rig, tree, &anatomy);
        let mut planting = finder.planting(&may_stand);
        planting.riders_still = recipe.riders == Riders::Still;
        Ok((!planting.supports.is_empty()).then_some(planting))
    }

    /// Follows another word for riders.
    pub fn retune(&mut self, riders: Riders) {
        self.riders_still = riders == Riders::Still;
    }

    /// Names the points that it reads or moves.
    pub fn touched(&self, touch: &mut impl FnMut(u32)) {
        for support in &self.supports {
            support.own.iter().for_each(|&slot| touch(slot));
            support.ankle.iter().for_each(|&(slot, _)| touch(slot));
        }
        self.reached.iter().for_each(|&(slot, _)| touch(slot));
    }

    /// Takes off what effects do to what stands.
    pub fn hold(&self, rig: &Rig, standing: &Standing, held: &mut Vec<Held>, moved: &mut Displaced<'_>) {
        held.clear();
        held.resize(self.supports.len(), Held::default());
        let mut any = false;
        for &(bone, firmness) in &standing.bones {
            if let Some(support) = self.support_of[bone.index()] {
                let held = &mut held[support as usize];
                held.firmness = 1.0 - (1.0 - held.firmness) * (1.0 - firmness);
                any = true;
            }
        }
        if !any {
            return;
        }
        for (held, support) in held.iter_mut().zip(&self.supports).filter(|(held, _)| held.firmness > 0.0) {
            held.firmness *= f64::from(u8::from(support.stays));
            held.displaced = support.ankle.iter().map(|&(slot, share)| moved.by(slot as usize) * share).sum();
        }
        let mut from = 0;
        for &(slot, to) in &self.reached {
            let (slot, holds) = (slot as usize, &self.holds[from..to as usize]);
            from = to as usize;
            let by = moved.by(slot);
            if by == DVec3::ZERO || (self.riders_still && rig.is_rider(slot)) {
                continue;
            }
            if let Some(taken) = taken_off(by, holds, held) {
                set_repeated(rig, slot, moved.base.get(slot) + (by - taken).as_vec3(), moved.points);
            }
        }
    }

    /// Lifts what effects take through the ground. `floors` are by character, above the origin of its points.
    pub fn lift(
        &self,
        rig: &Rig,
        floors: impl Iterator<Item = Option<f32>> + Clone,
        held: &mut Vec<Held>,
        moved: &mut Displaced<'_>,
    ) {
        held.clear();
        held.resize(self.supports.len(), Held::default());
        let mut deepest = 0.0f32;
        for (held, support) in held.iter_mut().zip(&self.supports) {
            let of = support.own.first().and_then(|&slot| rig.character_of_point(slot as usize));
            let Some(floor) = of.and_then(|of| floors.clone().nth(of).flatten()) else { continue };
            held.lift = support.own.iter().map(|&slot| sunk(moved, slot as usize, floor)).fold(0.0, f32::max);
            deepest = deepest.max(held.lift);
        }
        if deepest == 0.0 {
            return;
        }
        let mut from = 0;
        for &(slot, to) in &self.reached {
            let (slot, holds) = (slot as usize, &self.holds[from..to as usize]);
            from = to as usize;
            if self.riders_still && rig.is_rider(slot) {
                continue;
            }
            let lift = holds.iter().map(|hold| hold.reach * held[hold.support as usize].lift).fold(0.0, f32::max);
            if lift > 0.0 {
                set_repeated(rig, slot, moved.points.get(slot) + Vec3::Y * lift, moved.points);
            }
        }
    }
}

/// How far effects take a point below the ground, or farther below it than the base has it; none is below 0.
pub(super) fn sunk(moved: &Displaced<'_>, slot: usize, floor: f32) -> f32 {
    moved.base.get(slot).y.min(floor) - moved.points.get(slot).y
}

/// What supports take off the displacement of a point; `None` where none of them stands.
fn taken_off(by: DVec3, holds: &[Hold], held: &[Held]) -> Option<DVec3> {
    let (mut sum, mut all, mut free) = (DVec3::ZERO, 0.0, 1.0);
    for hold in holds {
        let Held { firmness, displaced, .. } = held[hold.support as usize];
        let (own, reach) = (f64::from(hold.own), f64::from(hold.reach));
        let strength = firmness * reach;
        if strength <= 0.0 {
            continue;
        }
        // No more than effects did.
        let most = reach * displaced.length();
        let share = if most > by.length() { by.length() / most } else { 1.0 };
        let count = strength * (STRANGERS + own);
        sum += (by * own + displaced * (share * (1.0 - own))) * count;
        all += count;
        free *= 1.0 - strength;
    }
    (all > 0.0).then(|| sum * ((1.0 - free) / all))
}

/// Per character: how high the ground is above its origin.
pub(super) fn floors<'a>(
    standing: &'a Standing,
    origins: &'a [DVec3],
) -> impl Iterator<Item = Option<f32>> + Clone + 'a {
    standing.ground.iter().zip(origins).map(|(ground, origin)| ground.map(|y| (y - origin.y) as f32))
}

struct Finder<'a> {
    rig: &'a Rig,
    tree: &'a Hierarchy,
    anatomy: &'a Anatomy,
    surface: RestSurface<'a>,
    children: Vec<Vec<BoneId>>,
    /// Points that follow each bone at all, and those that follow it most.
    influenced: Vec<Vec<(u32, f64)>>,
    own: Vec<Vec<u32>>,
    /// Whether a bone or one below it moves skin.
    moves_skin: Vec<bool>,
}

/// How far a support reaches on the skin of a bone.
#[derive(Clone, Copy, Debug)]
enum Reach {
    Even(f64),
    /// From one place to another.
    Along {
        from: DVec3,
        to: DVec3,
        at_from: f64,
        at_to: f64,
    },
}

impl Reach {
    fn at(self, p: DVec3) -> f64 {
        match self {
            Self::Even(reach) => reach,
            Self::Along { from, to, at_from, at_to } => {
                let (way, length) = (to - from, from.distance_squared(to));
                let t = if length > 0.0 { ((p - from).dot(way) / length).clamp(0.0, 1.0) } else { 0.0 };
                (at_from + (at_to - at_from) * t).clamp(0.0, 1.0)
            }
        }
    }
}

impl<'a> Finder<'a> {
    fn new(rig: &'a Rig, tree: &'a Hierarchy, anatomy: &'a Anatomy) -> Self {
        let bones = rig.skeleton().len();
        let surface = RestSurface::new(rig);
        let (mut influenced, mut own) = (vec![Vec::new(); bones], vec![Vec::new(); bones]);
        for slot in surface.all_slots() {
            for influence in rig.influences(slot) {
                let bone = rig.palette()[influence.palette as usize].bone;
                influenced[bone.index()].push((slot as u32, f64::from(influence.weight)));
            }
            if let Some(bone) = rig.main_bone(slot) {
                own[bone.index()].push(slot as u32);
            }
        }
        let mut children = vec![Vec::new(); bones];
        let mut moves_skin: Vec<bool> = influenced.iter().map(|slots| !slots.is_empty()).collect();
        for &bone in tree.order().iter().rev() {
            if let Some(parent) = tree.parent(bone) {
                children[parent.index()].push(bone);
                moves_skin[parent.index()] |= moves_skin[bone.index()];
            }
        }
        Self { rig, tree, anatomy, surface, children, influenced, own, moves_skin }
    }

    fn joint(&self, bone: BoneId) -> DVec3 {
        self.surface.world().world_from_bone(bone).translation
    }

    fn role(&self, bone: BoneId) -> Role {
        self.anatomy.bone(bone).role
    }

    /// Whether several limbs hang on it.
    fn is_trunk(&self, bone: BoneId) -> bool {
        match self.role(bone) {
            Role::Leg | Role::Foot | Role::Arm | Role::Hand => false,
            Role::Spine | Role::Neck | Role::Head | Role::Jaw => true,
            _ => {
                let branches = self.children[bone.index()].iter().filter(|child| self.moves_skin[child.index()]);
                self.tree.parent(bone).is_none() || branches.count() > 1
            }
        }
    }

    fn planting(&self, may_stand: &[bool]) -> Planting {
        let bones = self.rig.skeleton().len();
        let mut support_of = vec![None; bones];
        let mut members: Vec<Vec<BoneId>> = Vec::new();
        for &bone in self.tree.order() {
            if !may_stand[bone.index()] || self.own[bone.index()].is_empty() {
                continue;
            }
            // Toes belong to their foot, and fingers to their hand.
            let role = self.role(bone);
            let above = self
                .tree
                .parent(bone)
                .filter(|&parent| matches!(role, Role::Foot | Role::Hand) && self.role(parent) == role);
            let support = match above.and_then(|parent| support_of[parent.index()]) {
                Some(support) => support,
                None => {
                    members.push(Vec::new());
                    members.len() as u32 - 1
                }
            };
            members[support as usize].push(bone);
            support_of[bone.index()] = Some(support);
        }
        let mut holds: BTreeMap<u32, Vec<Hold>> = BTreeMap::new();
        let mut supports = Vec::with_capacity(members.len());
        for (support, members) in members.iter().enumerate() {
            supports.push(self.support(support as u32, members, &mut holds));
        }
        let mut planting =
            Planting { supports, support_of, reached: Vec::new(), holds: Vec::new(), riders_still: false };
        for (slot, holds) in holds {
            planting.holds.extend(holds);
            planting.reached.push((slot, planting.holds.len() as u32));
        }
        planting
    }

    fn support(&self, support: u32, members: &[BoneId], holds: &mut BTreeMap<u32, Vec<Hold>>) -> Support {
        let (top, points) = (members[0], self.surface.points());
        let chain = self.limb_above(top);
        let size = self.rig.characters()[self.rig.character_of_bone(top)].size;
        let joint = self.joint(top);
        let own = || members.iter().flat_map(|bone| &self.own[bone.index()]).copied();
        let is_leg = chain.is_empty() && !self.is_trunk(top) && self.tree.parent(top).is_some();
        let (reaches, own_by_reach) = if is_leg {
            (self.reaches_of_a_leg(members, own()), true)
        } else {
            (self.reaches(members, &chain, size), false)
        };
        // By point: how far it is reached, and how much it belongs.
        let mut found: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
        for (&bone, &reach) in &reaches {
            let is_member = members.contains(&bone);
            for &(slot, weight) in &self.influenced[bone.index()] {
                let sums = found.entry(slot).or_default();
                sums[0] += weight * reach.at(points[slot as usize]);
                sums[1] += if is_member { weight } else { 0.0 };
            }
        }
        for (&slot, &[reach, belongs]) in found.iter().filter(|(_, sums)| sums[0] > 0.0) {
            let own = if own_by_reach { 1.0 - (1.0 - reach) / FOOT_OF_A_LEG } else { 2.0 * belongs };
            let (reach, own) = (reach.min(1.0) as f32, smooth_step(own) as f32);
            holds.entry(slot).or_default().push(Hold { support, reach, own });
        }
        // Where the limb goes on: around the joint, or, of a leg of one bone, its foot.
        let extent = own().map(|slot| points[slot as usize].distance(joint)).fold(0.0, f64::max);
        let near = |slot: u32| {
            let reach = found.get(&slot).map_or(0.0, |sums| sums[0]);
            let away = points[slot as usize].distance(joint) / (ANKLE * extent).max(f64::MIN_POSITIVE);
            if own_by_reach { reach.powi(4) } else { (1.0 + away * away).powi(-2) }
        };
        let counts: Vec<(u32, f64)> = own().map(|slot| (slot, near(slot) * self.weight(slot))).collect();
        let all: f64 = counts.iter().map(|count| count.1).sum();
        let even = 1.0 / counts.len().max(1) as f64;
        let share = |(slot, count): (u32, f64)| (slot, if all > 0.0 { count / all } else { even });
        let stays = !self.role(top).is_soft();
        Support { stays, own: own().collect(), ankle: counts.into_iter().map(share).collect() }
    }

    /// What a point counts by itself.
    fn weight(&self, slot: u32) -> f64 {
        self.surface.areas()[slot as usize]
    }

    /// The bones between a support and the trunk, from below.
    fn limb_above(&self, top: BoneId) -> Vec<BoneId> {
        if self.is_trunk(top) {
            return Vec::new();
        }
        self.tree.ancestors(top).skip(1).take_while(|&bone| !self.is_trunk(bone)).collect()
    }

    /// Of a leg or another limb that is one bone: along it, all of its foot.
    fn reaches_of_a_leg(&self, members: &[BoneId], own: impl Iterator<Item = u32> + Clone) -> BTreeMap<BoneId, Reach> {
        let (joint, points) = (self.joint(members[0]), self.surface.points());
        let farthest = own
            .map(|slot| points[slot as usize])
            .reduce(|a, b| if b.distance_squared(joint) > a.distance_squared(joint) { b } else { a });
        let to = farthest.unwrap_or(joint);
        let along = Reach::Along { from: joint, to, at_from: 0.0, at_to: 1.0 / (1.0 - FOOT_OF_A_LEG) };
        members.iter().map(|&bone| (bone, along)).collect()
    }

    /// By the distance along the bones: all of the support, nothing at the end of its limb.
    fn reaches(&self, members: &[BoneId], chain: &[BoneId], size: f64) -> BTreeMap<BoneId, Reach> {
        let apart = |a: BoneId, b: BoneId| self.joint(a).distance(self.joint(b));
        let way = |chain: &[BoneId]| {
            let links = std::iter::once(&members[0]).chain(chain).collect::<Vec<_>>();
            links.windows(2).map(|link| apart(*link[0], *link[1])).sum::<f64>()
        };
        let reach = if chain.is_empty() { BODY_REACH * size } else { way(chain).min(LONGEST_REACH * size) };
        let mut reaches: BTreeMap<BoneId, Reach> = members.iter().map(|&bone| (bone, Reach::Even(1.0))).collect();
        if reach <= 0.0 {
            return reaches;
        }
        let left = |distance: f64| 1.0 - distance / reach;
        let mut open: Vec<(BoneId, f64)> = members.iter().map(|&bone| (bone, 0.0)).collect();
        while let Some((bone, distance)) = open.pop() {
            for next in self.tree.parent(bone).into_iter().chain(self.children[bone.index()].iter().copied()) {
                let away = distance + apart(bone, next);
                if reaches.contains_key(&next) {
                    continue;
                }
                let on_chain = chain.contains(&next);
                if left(away) <= 0.0 && !on_chain {
                    continue;
                }
                let even = Reach::Even(left(away).max(0.0));
                let along = Reach::Along {
                    from: self.joint(next),
                    to: self.joint(bone),
                    at_from: left(away),
                    at_to: left(distance),
                };
                reaches.insert(next, if on_chain { along } else { even });
                open.push((next, away));
            }
        }
        reaches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(support: u32, reach: f32, own: f32) -> Hold {
        Hold { support, reach, own }
    }

    #[test]
    fn what_stands_is_taken_off_whole_and_what_is_far_not_at_all() {
        let by = DVec3::new(0.2, -0.1, 0.3);
        let foot = Held { firmness: 1.0, displaced: DVec3::new(0.25, 0.0, 0.3), lift: 0.0 };
        assert_eq!(taken_off(by, &[hold(0, 1.0, 1.0)], &[foot]), Some(by));
        assert_eq!(taken_off(by, &[hold(0, 1.0, 1.0)], &[Held { firmness: 0.0, ..foot }]), None);
        let half = taken_off(by, &[hold(0, 0.5, 0.0)], &[foot]).unwrap();
        assert!(half.distance(foot.displaced * 0.5) < 1e-12);
        // Two supports at once: its own one decides, and together they take off no more than there is.
        let other = Held { firmness: 1.0, displaced: DVec3::new(-9.0, 0.0, 0.0), lift: 0.0 };
        let both = taken_off(by, &[hold(0, 1.0, 1.0), hold(1, 1.0, 0.0)], &[foot, other]).unwrap();
        assert!(both.distance(by) < 0.05 * by.length(), "{both}");
        // A point that effects leave alone stays.
        assert_eq!(taken_off(DVec3::ZERO, &[hold(0, 0.5, 0.0)], &[foot]), Some(DVec3::ZERO));
        let little = taken_off(by * 1e-3, &[hold(0, 0.5, 0.0)], &[foot]).unwrap();
        assert!(little.length() <= by.length() * 1.001e-3);
    }

    #[test]
    fn reach_runs_along_a_bone_and_ends_at_its_ends() {
        let along = Reach::Along { from: DVec3::ZERO, to: DVec3::Y * 2.0, at_from: 0.25, at_to: 0.75 };
        for (y, wanted) in [(-3.0, 0.25), (0.0, 0.25), (1.0, 0.5), (2.0, 0.75), (9.0, 0.75)] {
            assert!((along.at(DVec3::new(1.0, y, 0.0)) - wanted).abs() < 1e-12);
        }
        let none = Reach::Along { from: DVec3::ONE, to: DVec3::ONE, at_from: 0.5, at_to: 1.0 };
        assert_eq!(none.at(DVec3::ZERO), 0.5);
    }
}
