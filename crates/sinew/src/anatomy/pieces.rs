//! Pieces of skin that hang together: what each of them is.
//!
//! A piece is what triangles and shared places connect, whatever meshes it is split into; a mesh that rides on a bone is
//! one piece. Pieces tell worn things from the body they are worn on: a skirt moved by the thighs is cloth, and a sword is
//! no hand.

use super::BoneFinding;
use super::body::Body;
use super::names::{Clue, read};
use super::role::Role;
use crate::bvh::{Bvh, Groups};
use crate::control_points::DisjointSets;
use crate::csr::sorted;
use crate::rig::{PartKind, Rig};
use crate::skeleton::BoneId;
use glam::DVec3;
use std::collections::BTreeMap;

/// A connected piece of skin, or a mesh that rides on a bone.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The character it belongs to.
    pub character: usize,
    /// The mesh most of it comes from.
    pub mesh: String,
    /// The material most of it has.
    pub material: String,
    /// The bone that moves it most.
    pub bone: BoneId,
    /// Whether that bone alone moves it.
    pub rigid: bool,
    /// Whether it rides on a node.
    pub rider: bool,
    /// What it is; none where it is the body, whose points are what their bones are.
    pub role: Option<Role>,
    /// From 0 to 1.
    pub confidence: f64,
    /// Why, in a few words.
    pub reason: String,
    /// Its control points.
    pub points: usize,
    /// Its part of the character's skin, riders included.
    pub share: f64,
    /// Other pieces it lies on, ascending.
    pub touches: Vec<usize>,
}

/// Share of open edges from which a piece is a sheet.
const OPEN: f64 = 0.02;
/// Distance within which pieces touch, in sizes.
const CONTACT: f64 = 0.01;

/// Geometry of a piece.
struct Outline {
    slots: Vec<usize>,
    area: f64,
    low: DVec3,
    high: DVec3,
    centre: DVec3,
    /// Weight per joint, most first.
    joints: Vec<(usize, f64)>,
    open: f64,
}

/// Pieces of a rig, and per slot the piece it belongs to.
pub(super) fn pieces(rig: &Rig, bodies: &[Body], bones: &[BoneFinding]) -> (Vec<Piece>, Vec<Option<u32>>) {
    let mut of_slot: Vec<Option<u32>> = vec![None; rig.slots()];
    let mut found: Vec<Piece> = Vec::new();
    let sources = sources(rig);
    for (character, body) in bodies.iter().enumerate() {
        let first = found.len();
        let outlines = outlines(rig, body, &mut of_slot, first);
        let whole: f64 = outlines.iter().map(|outline| outline.area).sum();
        let touches = touches(body, &outlines);
        let head = head(rig, body, bones);
        let skins = Skins::new(rig, body, &outlines);
        let context = Context { rig, body, bones, outlines: &outlines, whole, head, skins };
        for (index, outline) in outlines.iter().enumerate() {
            let (mesh, material) = named(rig, &sources, &outline.slots);
            let rider = is_rider(rig, outline);
            let main = outline.joints.first().map_or(0, |&(bone, _)| bone);
            let carried = outline.slots.first().and_then(|&slot| rig.main_bone(slot)).filter(|_| rider);
            let Some(bone) = carried.or_else(|| rig.skeleton().bone(main)) else { continue };
            let all: f64 = outline.joints.iter().map(|(_, weight)| weight).sum();
            let share = outline.joints.first().map_or(0.0, |&(_, weight)| weight / all.max(f64::MIN_POSITIVE));
            let verdict = if rider {
                context.rider(outline, bone, &mesh, &material)
            } else {
                context.skin(index, share, &mesh, &material)
            };
            let (role, confidence, reason) = match verdict {
                Some((role, confidence, reason)) => (Some(role), confidence, reason),
                None => (None, 1.0, "skin of the body".to_owned()),
            };
            found.push(Piece {
                character,
                mesh,
                material,
                bone,
                rigid: share >= 0.999,
                rider,
                role,
                confidence,
                reason,
                points: outline.slots.len(),
                share: if whole > 0.0 { outline.area / whole } else { 0.0 },
                touches: touches[index].iter().map(|&other| first + other).collect(),
            });
        }
    }
    (found, of_slot)
}

type Verdict = Option<(Role, f64, String)>;

struct Context<'a> {
    rig: &'a Rig,
    body: &'a Body,
    bones: &'a [BoneFinding],
    outlines: &'a [Outline],
    whole: f64,
    /// Box around the skin that bones of the head move most.
    head: Option<(DVec3, DVec3)>,
    skins: Skins,
}

/// What pieces are compared with: all of them together, so that each need not ask every other.
struct Skins {
    /// The largest area of one that does not ride.
    largest: f64,
    /// Middles of all.
    centres: Bvh,
    /// How many each bone moves.
    moved: Vec<usize>,
    /// Weight of each bone in those that do not ride, their points, and which is whose.
    weight: Vec<f64>,
    slots: Vec<usize>,
    tree: Bvh,
    groups: Groups,
}

impl Skins {
    fn new(rig: &Rig, body: &Body, outlines: &[Outline]) -> Self {
        let bones = rig.skeleton().len();
        let (mut moved, mut weight) = (vec![0; bones], vec![0.0; bones]);
        let (mut largest, mut slots, mut of) = (0.0f64, Vec::new(), Vec::new());
        for (index, outline) in outlines.iter().enumerate() {
            outline.joints.iter().for_each(|&(bone, _)| moved[bone] += 1);
            if is_rider(rig, outline) {
                continue;
            }
            largest = largest.max(outline.area);
            outline.joints.iter().for_each(|&(bone, own)| weight[bone] += own);
            slots.extend_from_slice(&outline.slots);
            of.resize(slots.len(), index as u32);
        }
        let tree = Bvh::of_points(&slots.iter().map(|&slot| body.points[slot]).collect::<Vec<_>>());
        let groups = tree.groups(of);
        let centres = Bvh::of_points(&outlines.iter().map(|outline| outline.centre).collect::<Vec<_>>());
        Self { largest, centres, moved, weight, slots, tree, groups }
    }
}

fn is_rider(rig: &Rig, outline: &Outline) -> bool {
    outline.slots.first().is_some_and(|&slot| rig.is_rider(slot))
}

impl Context<'_> {
    fn rider(&self, outline: &Outline, bone: BoneId, mesh: &str, material: &str) -> Verdict {
        let told = telling(mesh, material).or_else(|| telling(self.rig.skeleton().name(bone), ""));
        if let Some((role, word)) = told {
            return Some((role, 0.9, format!("rides on a bone and is called \"{word}\"")));
        }
        let joint = self.body.owner[bone.index()];
        if outline.slots.first().is_some_and(|slot| self.body.skin.binary_search(slot).is_ok()) {
            return Some((Role::Mechanical, 0.6, "a stiff part that is the limb itself".into()));
        }
        // A place for things moves no skin: what it hangs on tells.
        let skeleton = self.rig.skeleton();
        let known = |bone: &BoneId| !matches!(self.bones[bone.index()].role, Role::Helper | Role::Unknown);
        let above = skeleton.bone(joint).and_then(|joint| self.rig.hierarchy().ancestors(joint).find(known));
        let carrier = &self.bones[above.map_or(joint, BoneId::index)];
        let sheet =
            outline.open > OPEN && (outline.high - outline.low).dot(self.body.axes.up).abs() > 0.3 * self.body.height;
        match carrier.role {
            Role::Hand | Role::Prop => Some((Role::Prop, 0.8, "held by a hand or hung on a place for things".into())),
            Role::Spine | Role::Neck if sheet => {
                Some((Role::Cloth, 0.45, "an open sheet that hangs on the trunk".into()))
            }
            role if role.is_body() => Some((Role::Prop, 0.6, format!("rides on the {role} without being sewn to it"))),
            _ => None,
        }
    }

    fn skin(&self, index: usize, share: f64, mesh: &str, material: &str) -> Verdict {
        let outline = &self.outlines[index];
        let &(main, _) = outline.joints.first()?;
        // The body itself may be called anything.
        let body_bones = outline.joints.iter().filter(|&&(bone, _)| self.bones[bone].role.is_body()).count();
        let largest = outline.area >= self.skins.largest;
        let bulk = outline.area > 0.5 * self.whole || (largest && body_bones >= 3);
        let carrier = &self.bones[main];
        if !carrier.role.is_body()
            && !matches!(carrier.role, Role::Unknown | Role::Helper)
            && carrier.confidence >= 0.5
            && share >= 0.6
        {
            return Some((carrier.role, carrier.confidence, format!("moved by a bone of the {}", carrier.role)));
        }
        if let Some((role, word)) = telling(mesh, material).filter(|_| !bulk) {
            // What bends with several bones is no stiff thing, whatever it is called.
            if !role.is_rigid() || share >= 0.9 {
                return Some((role, 0.85, format!("a piece of its own, called \"{word}\"")));
            }
        }
        if bulk {
            return None;
        }
        if self.is_eye(index) {
            return Some((Role::Eye, 0.55, "one of two small balls or domes on the head".into()));
        }
        if share >= 0.999 && carrier.role == Role::Hand && carrier.confidence >= 0.4 && self.is_held(outline, main) {
            return Some((Role::Prop, 0.5, "stiff, larger than the hand it moves with, and not sewn to it".into()));
        }
        if share < 0.9 && outline.open > OPEN && self.is_loose(index) {
            return Some((Role::Cloth, 0.5, "an open sheet that hangs loosely about the body".into()));
        }
        None
    }

    /// Round, small, of the head alone, in front, with a twin: a ball, or the dome of one that is set into the face.
    fn is_eye(&self, index: usize) -> bool {
        let outline = &self.outlines[index];
        let axes = &self.body.axes;
        let (Some(&(main, _)), Some((low, high))) = (outline.joints.first(), self.head) else { return false };
        let of_head = |&&(bone, _): &&(usize, f64)| matches!(self.bones[bone].role, Role::Head | Role::Neck);
        let all: f64 = outline.joints.iter().map(|joint| joint.1).sum();
        let on_head: f64 = outline.joints.iter().filter(of_head).map(|joint| joint.1).sum();
        let carrier = &self.bones[main];
        if on_head < 0.99 * all || carrier.role != Role::Head || carrier.confidence < 0.4 {
            return false;
        }
        let extent = outline.high - outline.low;
        let [wide, tall, deep] = [axes.left, axes.up, axes.forward].map(|axis| extent.dot(axis).abs());
        let (face, most) = (wide.max(tall), extent.max_element());
        let skin = outline.area / (std::f64::consts::PI * most * most);
        let ball = extent.min_element() > 0.7 * most && (0.6..1.4).contains(&skin);
        let dome = outline.open > OPEN && wide.min(tall) > 0.7 * face && deep < face && (0.25..1.0).contains(&skin);
        let size = high - low;
        let ahead = (outline.centre - 0.5 * (low + high)).dot(axes.forward) / size.dot(axes.forward).abs();
        // A ball may lie anywhere but in the rear quarter, as in a frog; a dome faces forward.
        let in_front = ahead > if ball { -0.25 } else { 0.25 };
        let small = most < 0.35 * size.max_element();
        let mirrored = outline.centre - 2.0 * self.body.off_plane(outline.centre) * axes.left;
        let is_twin = |other: u32| {
            let o = &self.outlines[other as usize];
            let away = o.centre.distance(mirrored);
            let like = away < 0.25 * most && (0.8..1.25).contains(&(o.area / outline.area));
            (other as usize != index && like).then_some(away * away)
        };
        let twin = self.skins.centres.nearest(mirrored, (0.25 * most).powi(2), is_twin).is_some();
        (ball || dome) && small && in_front && twin
    }

    /// Longer than the rest of the hand's skin.
    fn is_held(&self, outline: &Outline, hand: usize) -> bool {
        let skin = self.skins.moved[hand] - usize::from(outline.joints.iter().any(|&(bone, _)| bone == hand));
        let reach = self.body.joints[hand];
        let far = outline.slots.iter().map(|&slot| self.body.points[slot].distance(reach)).fold(0.0, f64::max);
        skin > 0 && far > 0.15 * self.body.height
    }

    /// A sheet of some size over trunk or legs that have skin of their own, and away from it.
    fn is_loose(&self, index: usize) -> bool {
        let outline = &self.outlines[index];
        let hangs =
            outline.joints.iter().take(4).any(|&(bone, _)| matches!(self.bones[bone].role, Role::Spine | Role::Leg));
        let tall = (outline.high - outline.low).dot(self.body.axes.up).abs() > 0.12 * self.body.height;
        let all: f64 = outline.joints.iter().map(|joint| joint.1).sum();
        let under = |bone: usize, own: f64| (self.skins.weight[bone] - own).max(0.0);
        let over: f64 = outline.joints.iter().map(|&(bone, weight)| weight.min(under(bone, weight))).sum();
        if !hangs || !tall || over < 0.5 * all {
            return false;
        }
        let Skins { slots, tree, groups, .. } = &self.skins;
        let away = |slot: &usize| {
            let p = self.body.points[*slot];
            let to = |i: u32| self.body.points[slots[i as usize]].distance_squared(p);
            tree.nearest_other(groups, index as u32, p, f64::INFINITY, to).map(|(_, d)| d.sqrt())
        };
        let mut far: Vec<f64> = outline.slots.iter().filter_map(away).collect();
        far.sort_by(f64::total_cmp);
        far.get(far.len() * 3 / 4).is_some_and(|&d| d > 0.02 * self.body.height)
    }
}

/// Box around the skin that bones of the head move most.
fn head(rig: &Rig, body: &Body, bones: &[BoneFinding]) -> Option<(DVec3, DVec3)> {
    let of_head =
        |&&slot: &&usize| rig.main_bone(slot).is_some_and(|bone| bones[body.owner[bone.index()]].role == Role::Head);
    let points = body.skin.iter().filter(of_head).map(|&slot| body.points[slot]);
    points.fold(None, |found: Option<(DVec3, DVec3)>, p| {
        Some(found.map_or((p, p), |(low, high)| (low.min(p), high.max(p))))
    })
}

/// What a mesh or material is called, where that is more than a part of the body.
fn telling(mesh: &str, material: &str) -> Option<(Role, String)> {
    let useful = |clue: Clue| {
        let role = clue.role.filter(|role| !role.is_body() && !matches!(role, Role::Flesh | Role::Jaw))?;
        (!clue.weak).then_some((role, clue.word))
    };
    useful(read(mesh)).or_else(|| useful(read(material)))
}

/// Part and primitive of a slot's first vertex.
fn sources(rig: &Rig) -> Vec<Option<(usize, usize)>> {
    let mut sources = vec![None; rig.slots()];
    for (index, part) in rig.parts().iter().enumerate() {
        for (number, primitive) in part.primitives.iter().enumerate() {
            for vertex in primitive.vertices.clone() {
                sources[rig.point(vertex)].get_or_insert((index, number));
            }
        }
    }
    sources
}

/// Mesh and material that most points of a piece have.
fn named(rig: &Rig, sources: &[Option<(usize, usize)>], slots: &[usize]) -> (String, String) {
    let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for source in slots.iter().filter_map(|&slot| sources[slot]) {
        *counts.entry(source).or_insert(0) += 1;
    }
    let most = counts.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
    most.map_or_else(Default::default, |((part, primitive), _)| {
        let part = &rig.parts()[part];
        (part.name.clone(), part.primitives[primitive].material.clone())
    })
}

fn outlines(rig: &Rig, body: &Body, of_slot: &mut [Option<u32>], first: usize) -> Vec<Outline> {
    let mut sets = DisjointSets::new(rig.slots());
    for face in rig.point_triangles() {
        sets.union(face[0], face[1]);
        sets.union(face[0], face[2]);
    }
    for part in rig.parts().iter().filter(|part| part.kind == PartKind::Rider) {
        let mut slots = part.primitives.iter().flat_map(|p| p.vertices.clone()).map(|vertex| rig.point(vertex) as u32);
        if let Some(one) = slots.next() {
            slots.for_each(|slot| sets.union(one, slot));
        }
    }
    for &slot in body.slots.iter().filter(|&&slot| !rig.is_rider(slot)) {
        sets.union(slot as u32, body.place[slot]);
    }
    let mut number: BTreeMap<u32, usize> = BTreeMap::new();
    let mut outlines: Vec<Outline> = Vec::new();
    for &slot in &body.slots {
        let root = sets.find(slot as u32);
        let index = *number.entry(root).or_insert_with(|| {
            outlines.push(Outline {
                slots: Vec::new(),
                area: 0.0,
                low: DVec3::INFINITY,
                high: DVec3::NEG_INFINITY,
                centre: DVec3::ZERO,
                joints: Vec::new(),
                open: 0.0,
            });
            outlines.len() - 1
        });
        of_slot[slot] = Some((first + index) as u32);
        outlines[index].slots.push(slot);
    }
    measure(rig, body, of_slot, first, &mut outlines);
    outlines
}

fn measure(rig: &Rig, body: &Body, of_slot: &[Option<u32>], first: usize, outlines: &mut [Outline]) {
    let mine =
        |slot: u32| of_slot[slot as usize].map(|piece| piece as usize).filter(|&p| p >= first).map(|p| p - first);
    let mut edges: Vec<(u32, (u32, usize))> = Vec::new();
    let mut joints: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); outlines.len()];
    for face in rig.point_triangles() {
        let Some(piece) = mine(face[0]).filter(|&piece| piece < outlines.len()) else { continue };
        let [a, b, c] = face.map(|slot| body.points[slot as usize]);
        let area = (b - a).cross(c - a).length() / 2.0;
        let outline = &mut outlines[piece];
        outline.area += area;
        outline.centre += (a + b + c) / 3.0 * area;
        for (i, slot) in face.iter().enumerate() {
            let next = face[(i + 1) % 3];
            // Copies of one place are one corner, so that a seam is no hem.
            let (p, q) = (body.place[*slot as usize], body.place[next as usize]);
            if p != q {
                edges.push((p.min(q), (p.max(q), piece)));
            }
            for influence in rig.influences(*slot as usize) {
                let bone = body.owner[rig.palette()[influence.palette as usize].bone.index()];
                *joints[piece].entry(bone).or_insert(0.0) += area / 3.0 * f64::from(influence.weight);
            }
        }
    }
    let mut counts = vec![(0usize, 0usize); outlines.len()];
    for faces in sorted(edges).chunk_by(|a, b| (a.0, a.1.0) == (b.0, b.1.0)) {
        let (all, open) = &mut counts[faces[0].1.1];
        *all += 1;
        *open += usize::from(faces.len() == 1);
    }
    for (index, outline) in outlines.iter_mut().enumerate() {
        for &slot in &outline.slots {
            (outline.low, outline.high) = (outline.low.min(body.points[slot]), outline.high.max(body.points[slot]));
        }
        let middle = 0.5 * (outline.low + outline.high);
        outline.centre = if outline.area > 0.0 { outline.centre / outline.area } else { middle };
        outline.open = counts[index].1 as f64 / counts[index].0.max(1) as f64;
        if joints[index].is_empty() {
            for &slot in &outline.slots {
                for influence in rig.influences(slot) {
                    let bone = body.owner[rig.palette()[influence.palette as usize].bone.index()];
                    *joints[index].entry(bone).or_insert(0.0) += f64::from(influence.weight);
                }
            }
        }
        outline.joints = joints[index].iter().map(|(&bone, &weight)| (bone, weight)).collect();
        outline.joints.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    }
}

/// Which pieces lie on which.
fn touches(body: &Body, outlines: &[Outline]) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); outlines.len()];
    if outlines.len() < 2 {
        return found;
    }
    let all: Vec<(usize, DVec3)> = outlines
        .iter()
        .enumerate()
        .flat_map(|(index, outline)| outline.slots.iter().map(move |&slot| (index, body.points[slot])))
        .collect();
    let tree = Bvh::of_points(&all.iter().map(|&(_, p)| p).collect::<Vec<_>>());
    let groups = tree.groups(all.iter().map(|&(index, _)| index as u32).collect());
    let within = (CONTACT * body.size).powi(2);
    for &(piece, p) in &all {
        let away = |i: u32| all[i as usize].1.distance_squared(p);
        if let Some((i, _)) = tree.nearest_other(&groups, piece as u32, p, within, away) {
            let other = all[i as usize].0;
            found[piece].push(other);
            found[other].push(piece);
        }
    }
    for list in &mut found {
        list.sort_unstable();
        list.dedup();
    }
    found
}
