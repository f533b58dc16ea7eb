//! The body behind the nodes: joints and skin in the bind pose, which skin hangs together, which bone carries which, what
//! mirrors what, where up and left are.
//!
//! All in the bind pose, turned and scaled as the topmost joint stands: rigs are bound with their limbs apart, whatever
//! pose the file shows. The tree of nodes is what an exporter left of a rig: feet driven by targets hang on the root.
//! Where a bone's skin does not touch that of its parent, but nearly all of it that of another bone, that one carries it.

use super::names::Clue;
use super::role::{Role, Side};
use crate::bvh::Bvh;
use crate::maps::RestSurface;
use crate::rig::Rig;
use glam::{DAffine3, DVec3};
use std::collections::BTreeMap;

/// Share of a bone's seam below which its parent in the file does not carry it.
const TOUCHES: f64 = 0.1;
/// Share of a bone's seam from which another bone does.
const CARRIES: f64 = 0.4;
/// How far a mirrored joint may be from its partner, in sizes.
const MIRROR_TOLERANCE: f64 = 0.03;
/// How far from the plane a joint has a side, in sizes.
const OFF_PLANE: f64 = 0.012;

/// A character's axes: unit vectors, all along world axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    pub up: DVec3,
    pub left: DVec3,
    pub forward: DVec3,
    /// Coordinate of the middle plane along `left`.
    pub middle: f64,
    /// Whether the body mirrors itself.
    pub symmetric: bool,
}

/// One character as a body.
pub(super) struct Body {
    pub axes: Axes,
    /// Per bone, in the bind pose.
    pub joints: Vec<DVec3>,
    /// Per slot, in the bind pose.
    pub points: Vec<DVec3>,
    /// Skin per bone, by area and weight; riders left out.
    pub area: Vec<f64>,
    /// Middle of that skin.
    pub centre: Vec<DVec3>,
    /// Lowest and highest of the points that a bone moves most, along `up`.
    pub heights: Vec<[f64; 2]>,
    /// The same along `forward`.
    pub depths: Vec<[f64; 2]>,
    /// Who carries a bone with skin: a bone with skin.
    pub carrier: Vec<Option<usize>>,
    pub children: Vec<Vec<usize>>,
    /// The other half of a pair.
    pub partner: Vec<Option<usize>>,
    /// How much of the seam of a bone is with its carrier: 0 for pieces that touch nothing.
    pub seam: Vec<f64>,
    /// Whether its skin is connected to that of any bone it does not carry.
    pub sewn: Vec<bool>,
    /// Bones of this character that have skin.
    pub skinned: Vec<usize>,
    /// Ground and top of the skin, along `up`.
    pub ground: f64,
    pub height: f64,
    pub size: f64,
    /// Slots of the character.
    pub slots: Vec<usize>,
    /// Those of them that are its body: skin, and riders where they are its limbs.
    pub skin: Vec<usize>,
    /// The joint that carries a node; itself for a joint.
    pub owner: Vec<usize>,
    /// Per slot, a third of the area around it.
    pub areas: Vec<f64>,
    /// Per slot, the first slot at the same place: copies that the file keeps apart are one.
    pub place: Vec<u32>,
}

impl Body {
    pub fn new(surface: &RestSurface<'_>, character: usize, clues: &[Clue]) -> Self {
        let rig = surface.rig();
        let (joints, points) = bind_pose(surface, character);
        let slots: Vec<usize> = surface.slots(character).collect();
        let areas = areas(rig, &points);
        let owner = owners(rig, &slots);
        let skin = body_slots(rig, &slots, &owner);
        let bones = joints.len();
        let (mut area, mut centre) = (vec![0.0; bones], vec![DVec3::ZERO; bones]);
        for &slot in &skin {
            for (bone, weight) in moved(rig, &owner, slot) {
                let mass = areas[slot] * weight;
                area[bone] += mass;
                centre[bone] += points[slot] * mass;
            }
        }
        let total: f64 = area.iter().sum();
        for bone in 0..bones {
            // A trace of weight is an exporter's rounding, not skin.
            if area[bone] > 1e-6 * total {
                centre[bone] /= area[bone];
            } else {
                (area[bone], centre[bone]) = (0.0, joints[bone]);
            }
        }
        let skinned: Vec<usize> = (0..bones).filter(|&bone| area[bone] > 0.0).collect();
        let bounds = skin.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), &slot| {
            (low.min(points[slot]), high.max(points[slot]))
        });
        let size = Some((bounds.1 - bounds.0).length()).filter(|size| size.is_finite() && *size > 0.0).unwrap_or(1.0);
        let (axes, partner) = axes(&joints, &centre, &skinned, clues, size);
        let mut heights = vec![[f64::INFINITY, f64::NEG_INFINITY]; bones];
        let mut depths = heights.clone();
        let mut all = [f64::INFINITY, f64::NEG_INFINITY];
        let widen = |[low, high]: &mut [f64; 2], at: f64| (*low, *high) = (low.min(at), high.max(at));
        for &slot in &skin {
            let height = points[slot].dot(axes.up);
            widen(&mut all, height);
            if let Some(bone) = rig.main_bone(slot).map(|bone| owner[bone.index()]) {
                widen(&mut heights[bone], height);
                widen(&mut depths[bone], points[slot].dot(axes.forward));
            }
        }
        let place = places(rig, &points, &slots, size);
        let mut body = Self {
            axes,
            joints,
            points,
            area,
            centre,
            heights,
            depths,
            carrier: vec![None; bones],
            children: vec![Vec::new(); bones],
            partner,
            seam: vec![0.0; bones],
            sewn: vec![false; bones],
            skinned,
            ground: if all[0].is_finite() { all[0] } else { 0.0 },
            height: if all[1] > all[0] { all[1] - all[0] } else { size },
            size,
            slots,
            owner,
            skin,
            place,
            areas,
        };
        body.find_carriers(rig);
        body
    }

    /// How high a place is: 0 on the ground, 1 at the top.
    pub fn level(&self, place: DVec3) -> f64 {
        (place.dot(self.axes.up) - self.ground) / self.height
    }

    /// How far to the left of the middle plane a place is.
    pub fn off_plane(&self, place: DVec3) -> f64 {
        place.dot(self.axes.left) - self.axes.middle
    }

    /// Which side a place is on.
    pub fn side(&self, place: DVec3) -> Side {
        let off = self.off_plane(place);
        if off > OFF_PLANE * self.size {
            Side::Left
        } else if off < -OFF_PLANE * self.size {
            Side::Right
        } else {
            Side::Middle
        }
    }

    /// A bone and all it carries.
    pub fn subtree(&self, bone: usize) -> Vec<usize> {
        let mut found = vec![bone];
        let mut next = 0;
        while next < found.len() {
            found.extend_from_slice(&self.children[found[next]]);
            next += 1;
        }
        found
    }

    fn find_carriers(&mut self, rig: &Rig) {
        let shared = shared_skin(rig, &self.areas, &self.owner, &self.skin);
        let skeleton = rig.skeleton();
        let mut seams: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.joints.len()];
        for (&(a, b), &amount) in &shared {
            seams[a].push((b, amount));
            seams[b].push((a, amount));
        }
        let above = |bone: usize| -> Vec<usize> {
            skeleton
                .bones()
                .nth(bone)
                .map_or(Vec::new(), |id| rig.hierarchy().ancestors(id).skip(1).map(|b| b.index()).collect())
        };
        for &bone in &self.skinned.clone() {
            let ancestors = above(bone);
            // Seams may have hung the parent on this bone already: no circle.
            let parent = ancestors.iter().copied().find(|&b| self.area[b] > 0.0 && !self.carried_by(b, bone));
            let below = |other: usize| other == bone || above(other).contains(&bone);
            let outward: Vec<(usize, f64)> = seams[bone].iter().copied().filter(|&(other, _)| !below(other)).collect();
            let whole: f64 = outward.iter().map(|(_, amount)| amount).sum();
            let with = |wanted: usize| outward.iter().find(|(b, _)| *b == wanted).map_or(0.0, |(_, amount)| *amount);
            self.sewn[bone] = whole > 0.0;
            let share = parent.map_or(0.0, |parent| if whole > 0.0 { with(parent) / whole } else { 0.0 });
            let most = outward.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
            let carrier = match (parent, most) {
                (Some(parent), _) if share >= TOUCHES => Some((parent, share)),
                (_, Some((other, amount))) if amount >= CARRIES * whole && !self.carried_by(other, bone) => {
                    Some((other, amount / whole))
                }
                (parent, _) => parent.map(|parent| (parent, share)),
            };
            if let Some((carrier, share)) = carrier {
                self.carrier[bone] = Some(carrier);
                self.seam[bone] = share;
            }
        }
        self.join_loose_bones(rig);
        for &bone in &self.skinned {
            if let Some(carrier) = self.carrier[bone] {
                self.children[carrier].push(bone);
            }
        }
    }

    fn carried_by(&self, bone: usize, carrier: usize) -> bool {
        std::iter::successors(Some(bone), |&b| self.carrier[b]).any(|b| b == carrier)
    }

    /// Bones that nothing carries, but for the one with the most below it, hang on the skin nearest to their joints.
    fn join_loose_bones(&mut self, rig: &Rig) {
        let mut below = vec![0.0; self.joints.len()];
        for &bone in &self.skinned {
            let top = std::iter::successors(Some(bone), |&b| self.carrier[b]).last().unwrap_or(bone);
            below[top] += self.area[bone];
        }
        let tops: Vec<usize> = self.skinned.iter().copied().filter(|&bone| self.carrier[bone].is_none()).collect();
        let Some(root) = tops.iter().copied().reduce(|a, b| if below[b] > below[a] { b } else { a }) else { return };
        for &bone in tops.iter().filter(|&&bone| bone != root) {
            let nearest = self
                .skin
                .iter()
                .filter_map(|&slot| {
                    let owner = self.owner[rig.main_bone(slot)?.index()];
                    Some((owner, self.points[slot].distance_squared(self.joints[bone])))
                })
                .filter(|&(other, _)| self.area[other] > 0.0 && !self.carried_by(other, bone))
                .fold(None, |best: Option<(usize, f64)>, found| match best {
                    Some(best) if best.1 <= found.1 => Some(best),
                    _ => Some(found),
                });
            self.carrier[bone] = Some(nearest.map_or(root, |(other, _)| other)).filter(|&other| other != bone);
        }
    }
}

/// Joints and skin as they were bound, placed as the topmost joint stands in the file.
fn bind_pose(surface: &RestSurface<'_>, character: usize) -> (Vec<DVec3>, Vec<DVec3>) {
    let (rig, world) = (surface.rig(), surface.world());
    let skeleton = rig.skeleton();
    let mut riders = vec![false; rig.palette().len()];
    for slot in surface.slots(character).filter(|&slot| rig.is_rider(slot)) {
        rig.influences(slot).for_each(|influence| riders[influence.palette as usize] = true);
    }
    let mine = |entry: &usize| rig.palette()[*entry].character as usize == character && !riders[*entry];
    let usable = |matrix: DAffine3| matrix.is_finite() && matrix.matrix3.determinant() != 0.0;
    let entries: Vec<usize> = (0..rig.palette().len()).filter(mine).collect();
    let top = entries.iter().copied().min_by_key(|&entry| rig.palette()[entry].bone);
    let placed = top.map(|top| {
        let entry = &rig.palette()[top];
        (entry.space, world.world_from_bone(entry.bone) * entry.bone_from_rest)
    });
    let mut frames: Vec<Option<DAffine3>> = vec![None; skeleton.len()];
    if let Some((space, place)) = placed.filter(|(_, place)| usable(*place)) {
        for entry in entries.iter().map(|&entry| &rig.palette()[entry]) {
            if entry.space == space && usable(entry.bone_from_rest) {
                frames[entry.bone.index()] = Some(place * entry.bone_from_rest.inverse());
            }
        }
    }
    let mut bound: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
    for bone in skeleton.bones() {
        let local = skeleton.rest_locals()[bone.index()].to_affine();
        let hung = skeleton.parent(bone).map_or(local, |parent| bound[parent.index()] * local);
        bound.push(frames[bone.index()].unwrap_or(hung));
    }
    // Binds that put all joints on one spot say nothing.
    let spread = |places: &dyn Fn(usize) -> DVec3| {
        let bones = entries.iter().map(|&entry| places(rig.palette()[entry].bone.index()));
        let (low, high) = bones.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(a, b), p| (a.min(p), b.max(p)));
        (high - low).length()
    };
    let bones: Vec<_> = skeleton.bones().collect();
    let shown = spread(&|bone| world.joint_origin(bones[bone]));
    let as_bound = spread(&|bone| bound[bone].translation);
    if !as_bound.is_finite() || (shown.is_finite() && as_bound < 0.05 * shown) {
        return (bones.iter().map(|&bone| world.joint_origin(bone)).collect(), surface.points().to_vec());
    }
    let mut points = surface.points().to_vec();
    for slot in surface.slots(character) {
        let rest = rig.rest().get(slot).as_dvec3();
        let (mut sum, mut whole) = (DVec3::ZERO, 0.0);
        for influence in rig.influences(slot) {
            let entry = &rig.palette()[influence.palette as usize];
            let weight = f64::from(influence.weight);
            sum += (bound[entry.bone.index()] * entry.bone_from_rest).transform_point3(rest) * weight;
            whole += weight;
        }
        if whole > 0.0 && sum.is_finite() {
            points[slot] = sum / whole;
        }
    }
    (bound.iter().map(|frame| frame.translation).collect(), points)
}

/// Which slots are copies of one place. Riders are copies of riders alone.
fn places(rig: &Rig, points: &[DVec3], slots: &[usize], size: f64) -> Vec<u32> {
    let cell = 1e-5 * size;
    let key = |slot: usize| (rig.is_rider(slot), (points[slot] / cell).round().to_array().map(|x| x as i64));
    let mut keys: Vec<_> = slots.iter().map(|&slot| (key(slot), slot as u32)).collect();
    keys.sort_unstable();
    let mut place: Vec<u32> = (0..points.len() as u32).collect();
    for copies in keys.chunk_by(|a, b| a.0 == b.0) {
        copies.iter().for_each(|&(_, slot)| place[slot as usize] = copies[0].1);
    }
    place
}

/// What moves a point, with riders moved by the joint that carries them.
fn moved(rig: &Rig, owner: &[usize], slot: usize) -> Vec<(usize, f64)> {
    let bones = rig.influences(slot);
    bones.map(|i| (owner[rig.palette()[i.palette as usize].bone.index()], f64::from(i.weight))).collect()
}

/// The nearest joint of a skin at or above each bone; itself where there is none.
pub(crate) fn owners(rig: &Rig, slots: &[usize]) -> Vec<usize> {
    let mut is_joint = vec![false; rig.skeleton().len()];
    for &slot in slots.iter().filter(|&&slot| !rig.is_rider(slot)) {
        for influence in rig.influences(slot) {
            let space = rig.palette()[influence.palette as usize].space;
            // One weight makes its whole skin known.
            if !is_joint[rig.palette()[influence.palette as usize].bone.index()] {
                let same = rig.palette().iter().filter(|entry| entry.space == space);
                same.for_each(|entry| is_joint[entry.bone.index()] = true);
            }
        }
    }
    let mut owner: Vec<Option<usize>> = vec![None; is_joint.len()];
    for &bone in rig.hierarchy().order() {
        let above = rig.hierarchy().parent(bone).and_then(|parent| owner[parent.index()]);
        owner[bone.index()] = if is_joint[bone.index()] { Some(bone.index()) } else { above };
    }
    owner.into_iter().enumerate().map(|(bone, owner)| owner.unwrap_or(bone)).collect()
}

/// Skin, and riders where joints without skin carry so many that they are the body: a robot's limbs, not two swords.
fn body_slots(rig: &Rig, slots: &[usize], owner: &[usize]) -> Vec<usize> {
    const LIMBS: usize = 4;
    let mut has_skin = vec![false; owner.len()];
    let main = |slot: usize| rig.main_bone(slot).map(|bone| owner[bone.index()]);
    for bone in slots.iter().filter(|&&slot| !rig.is_rider(slot)).filter_map(|&slot| main(slot)) {
        has_skin[bone] = true;
    }
    let bare = |slot: usize| rig.is_rider(slot) && main(slot).is_some_and(|bone| !has_skin[bone]);
    let mut carriers: Vec<usize> = slots.iter().filter(|&&slot| bare(slot)).filter_map(|&slot| main(slot)).collect();
    carriers.sort_unstable();
    carriers.dedup();
    let with_skin = has_skin.iter().filter(|&&has| has).count();
    let limbs = with_skin == 0 || (carriers.len() >= LIMBS && 4 * carriers.len() >= with_skin);
    slots.iter().copied().filter(|&slot| !rig.is_rider(slot) || (limbs && bare(slot))).collect()
}

fn areas(rig: &Rig, points: &[DVec3]) -> Vec<f64> {
    let mut areas = vec![0.0; points.len()];
    for face in rig.point_triangles() {
        let [a, b, c] = face.map(|slot| points[slot as usize]);
        let third = (b - a).cross(c - a).length() / 6.0;
        face.iter().for_each(|&slot| areas[slot as usize] += third);
    }
    areas
}

/// How much skin two bones share: where both move a point, and across edges.
fn shared_skin(rig: &Rig, areas: &[f64], owner: &[usize], skin: &[usize]) -> BTreeMap<(usize, usize), f64> {
    let mut shared: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut add = |a: usize, b: usize, amount: f64| {
        if a != b {
            *shared.entry((a.min(b), a.max(b))).or_insert(0.0) += amount;
        }
    };
    let mut by: Vec<Vec<(usize, f64)>> = vec![Vec::new(); areas.len()];
    skin.iter().for_each(|&slot| by[slot] = moved(rig, owner, slot));
    for &slot in skin {
        let here = &by[slot];
        for (i, &(a, wa)) in here.iter().enumerate() {
            here[i + 1..].iter().for_each(|&(b, wb)| add(a, b, 2.0 * areas[slot] * wa * wb));
        }
        for &next in rig.adjacency().of(slot).iter().filter(|&&next| next as usize > slot) {
            let there = &by[next as usize];
            let area = (areas[slot] * areas[next as usize]).sqrt() / 3.0;
            for &(a, wa) in here {
                there.iter().for_each(|&(b, wb)| add(a, b, area * wa * wb));
            }
        }
    }
    shared
}

/// Where up and left are, and which joints are pairs. Names tell left from right, and up where feet are named; else the
/// body's own mirror plane does, and y is up as glTF has it.
fn axes(
    joints: &[DVec3],
    centre: &[DVec3],
    skinned: &[usize],
    clues: &[Clue],
    size: f64,
) -> (Axes, Vec<Option<usize>>) {
    let middle_of = |axis: DVec3| {
        let mut along: Vec<f64> = skinned.iter().map(|&bone| joints[bone].dot(axis)).collect();
        along.sort_by(f64::total_cmp);
        along.get(along.len() / 2).copied().unwrap_or(0.0)
    };
    let sum_of = |wanted: &dyn Fn(usize) -> bool| {
        let chosen: Vec<usize> = skinned.iter().copied().filter(|&bone| wanted(bone)).collect();
        let sum: DVec3 = chosen.iter().map(|&bone| joints[bone]).sum();
        (!chosen.is_empty()).then(|| sum / chosen.len() as f64)
    };
    let on = |side: Side| sum_of(&|bone| clues[bone].side == Some(side));
    let named = on(Side::Left).zip(on(Side::Right)).map(|(left, right)| left - right);
    let named = named.filter(|across| across.length() > 2.0 * OFF_PLANE * size).map(dominant);
    let candidates = [DVec3::X, DVec3::Z, DVec3::Y];
    let pairs_of = |axis: DVec3| pairs(joints, centre, skinned, axis, middle_of(axis), size);
    let (left, partner) = match named {
        Some(left) => (left, pairs_of(left)),
        None => {
            let mut best = (DVec3::X, pairs_of(DVec3::X));
            let count = |pairs: &[Option<usize>]| pairs.iter().flatten().count();
            for axis in &candidates[1..] {
                let found = pairs_of(*axis);
                if count(&found) > count(&best.1) {
                    best = (*axis, found);
                }
            }
            best
        }
    };
    let across = left.abs();
    let mut up = if across == DVec3::Y { DVec3::Z } else { DVec3::Y };
    let named_so = |role: Role| -> Vec<DVec3> {
        let called = |&bone: &usize| clues[bone].role == Some(role) && !clues[bone].control;
        skinned.iter().copied().filter(called).map(|bone| joints[bone]).collect()
    };
    let (feet, legs) = (named_so(Role::Foot), named_so(Role::Leg));
    if !feet.is_empty() && !legs.is_empty() {
        let mean = |places: &[DVec3]| places.iter().sum::<DVec3>() / places.len() as f64;
        let rise = mean(&legs) - mean(&feet);
        // Feet stand on one level, however far the legs are spread: that tells up from behind in a frog.
        let level = |axis: DVec3| {
            let heights = feet.iter().map(|p| p.dot(axis));
            let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), h| (a.min(h), b.max(h)));
            rise.dot(axis).abs() / (high - low + 0.02 * size)
        };
        let best = candidates.into_iter().filter(|&axis| axis != across);
        let best = best.reduce(|a, b| if level(b) > level(a) { b } else { a }).unwrap_or(up);
        if rise.dot(best).abs() > 0.05 * size {
            up = best * rise.dot(best).signum();
        }
    }
    let forward = left.cross(up);
    // Without names the front is where glTF has it.
    let turned = named.is_none() && forward.dot(DVec3::ONE) < 0.0;
    let (left, forward) = if turned { (-left, -forward) } else { (left, forward) };
    let symmetric = partner.iter().flatten().count() >= 2;
    (Axes { up, left, forward, middle: middle_of(left), symmetric }, partner)
}

/// The world axis a vector runs along most.
fn dominant(v: DVec3) -> DVec3 {
    let axis = v.abs().max_position();
    let mut unit = DVec3::ZERO;
    unit[axis] = v[axis].signum();
    unit
}

/// Joints that are each other's nearest mirror image, with skin that mirrors as well.
fn pairs(
    joints: &[DVec3],
    centre: &[DVec3],
    skinned: &[usize],
    axis: DVec3,
    middle: f64,
    size: f64,
) -> Vec<Option<usize>> {
    let mirrored = |p: DVec3| p - 2.0 * (p.dot(axis) - middle) * axis;
    let reach = MIRROR_TOLERANCE * size;
    // Skin is painted less evenly than joints are placed.
    let apart =
        |a: usize, b: usize| joints[b].distance(mirrored(joints[a])).max(0.4 * centre[b].distance(mirrored(centre[a])));
    let off = |bone: usize| {
        let from = |p: DVec3| (p.dot(axis) - middle).abs();
        from(joints[bone]).max(from(centre[bone])) > OFF_PLANE * size
    };
    let sides: Vec<usize> = skinned.iter().copied().filter(|&bone| off(bone)).collect();
    let tree = Bvh::of_points(&sides.iter().map(|&bone| joints[bone]).collect::<Vec<_>>());
    let nearest = |bone: usize| {
        let other = |i: u32| Some(sides[i as usize]).filter(|&other| other != bone);
        let found = tree.nearest(mirrored(joints[bone]), reach * reach, |i| Some(apart(bone, other(i)?).powi(2)));
        found.map(|(i, _)| sides[i as usize])
    };
    let mut partner = vec![None; joints.len()];
    for &bone in &sides {
        if let Some(other) = nearest(bone)
            && nearest(other) == Some(bone)
        {
            partner[bone] = Some(other);
        }
    }
    partner
}
