//! Where a body has flesh that swings by itself, and how much of its swing each place takes.
//!
//! The anatomy says what has flesh: the trunk, upper arms, legs down to the ankle, and bones of soft parts. Bones of one
//! part that hang together make one *mass*, which a twist bone or a spine of many vertebrae does not cut. What is rigid has none,
//! nor has skin that follows its bone stiffly all over, as machines do.
//!
//! A mass is held where it ends: at joints, at hands and heads, under what is rigid. From there its share grows along the
//! skin over a thickness of the limb. It is held by its bones as well, where they are near the skin: shins and backs stay,
//! calves and bellies swing. Between the bones of a mass shares are divided by the skin weights. Thin masses take less.
//! All of it follows from bind pose and weights, by lengths over lengths: any scale, any fineness, and both sides alike.

use super::body::{AllWays, Surface, Ways, smoothstep};
use crate::anatomy::{Anatomy, Role, Segment, Side};
use crate::control_points::DisjointSets;
use crate::edge_graph::EdgeGraph;
use crate::rig::Rig;
use crate::skeleton::BoneId;
use crate::topology::Adjacency;
use glam::{DAffine3, DVec3};

/// Thickness of a mass, in that of the thickest, from which it swings a little, and fully.
const THICK: [f64; 2] = [0.15, 0.4];
/// How far skin is from its bone, in the mean of its mass, from which it swings a little, and fully.
const DEEP: [f64; 2] = [0.3, 1.0];
/// Mean share of other bones in the skin of a mass: stiff, and soft enough.
const SOFT: [f64; 2] = [0.0, 0.02];

/// Flesh that one bone carries.
pub(super) struct Flesh {
    pub bone: BoneId,
    pub entry: u32,
    /// The skin of the mass it is a part of.
    pub nodes: Vec<u32>,
    /// Per node of the body: how much of this bone's swing it takes.
    pub shares: Vec<f64>,
}

/// What swings as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Trunk,
    Soft,
    UpperArm,
    UpperLeg,
    LowerLeg,
}

impl Part {
    fn of(role: Role, segment: Option<Segment>) -> Option<Self> {
        match (role, segment) {
            (Role::Spine, _) => Some(Self::Trunk),
            (Role::Flesh, _) => Some(Self::Soft),
            (Role::Arm, None | Some(Segment::Upper)) => Some(Self::UpperArm),
            (Role::Leg, None | Some(Segment::Upper)) => Some(Self::UpperLeg),
            (Role::Leg, Some(Segment::Lower)) => Some(Self::LowerLeg),
            _ => None,
        }
    }
}

/// One part of the body.
struct Mass {
    part: Part,
    side: Side,
    segments: Vec<usize>,
    /// Those of its skin alone, without what lies on it.
    nodes: Vec<u32>,
    centre: DVec3,
    thickness: f64,
    /// Mean share of other bones in its skin.
    blended: f64,
}

const NO_MASS: u32 = u32::MAX;

/// The flesh of a body, by ascending bone.
pub(super) fn flesh(rig: &Rig, surface: &Surface) -> Vec<Flesh> {
    let anatomy = rig.kept::<Anatomy>();
    let (mut masses, mass_of_node) = masses(rig, surface, &anatomy);
    let ways = rig.kept::<AllWays>().of(surface);
    for mass in &mut masses {
        let over_skin = |value: &dyn Fn(usize) -> f64| {
            mean(mass.nodes.iter().map(|&node| (value(node as usize), surface.areas[node as usize])))
        };
        let thickness = over_skin(&|node| ways.radii[node]);
        let blended = over_skin(&|node| 1.0 - surface.main_weight[node]);
        let centre = DVec3::from([0, 1, 2].map(|axis| over_skin(&|node| surface.bind[node][axis])));
        (mass.thickness, mass.blended, mass.centre) = (thickness, blended, centre);
    }
    let thickest = masses.iter().map(|mass| mass.thickness).fold(0.0, f64::max);
    let held = ways_from_ends(surface, &ways, &mass_of_node);
    let bone_from_rest: Vec<DAffine3> = rig.palette().iter().map(|entry| entry.bone_from_rest).collect();
    let joint = |entry: u32| surface.world_from_bind(entry, &bone_from_rest).inverse().translation;
    let mut found = Vec::new();
    for (index, mass) in masses.iter().enumerate() {
        let other = mirrored(&masses, mass).unwrap_or(mass);
        let [thick, soft] = [mass.thickness + other.thickness, mass.blended + other.blended].map(|sum| 0.5 * sum);
        let fleshy = smoothstep(SOFT, soft) * smoothstep(THICK, thick / thickest);
        // Not a number where nothing has a thickness.
        if fleshy.is_nan() || fleshy <= 0.0 {
            continue;
        }
        let lines = lines(rig, surface, mass, &joint);
        let depth = |node: usize| lines.iter().map(|line| distance(*line, surface.bind[node])).fold(f64::MAX, f64::min);
        let mean_depth = mean(mass.nodes.iter().map(|&node| (depth(node as usize), surface.areas[node as usize])));
        let ends = mass.nodes.iter().map(|&node| held[node as usize]).filter(|way| way.is_finite());
        let farthest = ends.fold(0.0, f64::max);
        // A mass as thick as it is long is free in its middle all the same.
        let span = if farthest > 0.0 { mass.thickness.min(farthest) } else { mass.thickness };
        let of_mass = |node: usize| mass_of_node[node] == index as u32;
        let shares: Vec<f64> = (0..surface.nodes())
            .map(|node| match of_mass(node) {
                true => fleshy * smoothstep([0.0, span], held[node]) * smoothstep(DEEP, depth(node) / mean_depth),
                false => 0.0,
            })
            .collect();
        let is_own = |entry: u32, segment: usize| rig.palette()[entry as usize].bone == surface.segments[segment].bone;
        for &segment in &mass.segments {
            let part = |node: usize| {
                let (mut own, mut all) = (0.0, 0.0);
                for &(entry, weight) in surface.influences_of(node) {
                    own += if is_own(entry, segment) { weight } else { 0.0 };
                    all += if mass.segments.iter().any(|&other| is_own(entry, other)) { weight } else { 0.0 };
                }
                if all > 0.0 { own / all } else { 0.0 }
            };
            let of_bone = |(node, &share): (usize, &f64)| if share > 0.0 { share * part(node) } else { 0.0 };
            let shares: Vec<f64> = shares.iter().enumerate().map(of_bone).collect();
            if shares.iter().any(|&share| share > 0.0) {
                let own = &surface.segments[segment];
                found.push(Flesh { bone: own.bone, entry: own.entry, nodes: mass.nodes.clone(), shares });
            }
        }
    }
    found.sort_by_key(|flesh| flesh.bone.index());
    found
}

/// The masses, and that of each node.
fn masses(rig: &Rig, surface: &Surface, anatomy: &Anatomy) -> (Vec<Mass>, Vec<u32>) {
    let segments = &surface.segments;
    let part_of = |segment: usize| {
        let finding = anatomy.bone(segments[segment].bone);
        Some((Part::of(finding.role, finding.segment)?, finding.side))
    };
    let mut sets = DisjointSets::new(segments.len());
    for (segment, neighbours) in surface.segment_neighbours.iter().enumerate() {
        for &other in neighbours.iter().filter(|&&other| part_of(other as usize) == part_of(segment)) {
            sets.union(segment as u32, other);
        }
    }
    let mut masses: Vec<Mass> = Vec::new();
    let mut mass_of_set = vec![NO_MASS; segments.len()];
    let mut mass_of_segment = vec![NO_MASS; segments.len()];
    for segment in 0..segments.len() {
        let Some((part, side)) = part_of(segment) else { continue };
        let mass = &mut mass_of_set[sets.find(segment as u32) as usize];
        if *mass == NO_MASS {
            *mass = masses.len() as u32;
            let (centre, segments, nodes) = (DVec3::ZERO, Vec::new(), Vec::new());
            masses.push(Mass { part, side, segments, nodes, centre, thickness: 0.0, blended: 0.0 });
        }
        mass_of_segment[segment] = *mass;
        masses[*mass as usize].segments.push(segment);
    }
    let is_rigid = |slot: usize| {
        let piece = anatomy.piece_of_point(slot).is_some_and(|piece| anatomy.pieces()[piece].rigid);
        piece || rig.is_rider(slot) || anatomy.role_of_point(slot).is_rigid()
    };
    let mut mass_of_node = vec![NO_MASS; surface.nodes()];
    for (node, slots) in surface.members.iter().enumerate() {
        let mass = mass_of_segment.get(surface.segment_of_node[node] as usize).copied().unwrap_or(NO_MASS);
        if mass == NO_MASS || slots.iter().any(|&slot| is_rigid(slot as usize)) {
            continue;
        }
        mass_of_node[node] = mass;
        let is_skin = |&slot: &u32| {
            let role = anatomy.role_of_point(slot as usize);
            role.is_body() || role == Role::Flesh
        };
        if slots.iter().all(is_skin) {
            masses[mass as usize].nodes.push(node as u32);
        }
    }
    (masses, mass_of_node)
}

/// The mass of the other side that one is the mirror image of: both swing alike, however a mesh or its weights differ a little.
fn mirrored<'a>(masses: &'a [Mass], mass: &Mass) -> Option<&'a Mass> {
    let of_side = |side: Side| mean_place(masses.iter().filter(|mass| mass.side == side).map(|mass| mass.centre));
    let (left, right) = (of_side(Side::Left)?, of_side(Side::Right)?);
    let across = (left - right).try_normalize()?;
    let image = mass.centre - across * (2.0 * (mass.centre - 0.5 * (left + right)).dot(across));
    let other = match mass.side {
        Side::Left => Side::Right,
        Side::Right => Side::Left,
        Side::Middle => return None,
    };
    let same = masses.iter().filter(|candidate| candidate.part == mass.part && candidate.side == other);
    same.min_by(|a, b| f64::total_cmp(&a.centre.distance(image), &b.centre.distance(image)))
}

fn mean_place(places: impl Iterator<Item = DVec3>) -> Option<DVec3> {
    let (sum, count) = places.fold((DVec3::ZERO, 0.0), |(sum, count), place| (sum + place, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// Per node of a mass: how far along the skin it is from where that ends; infinite where it does not.
fn ways_from_ends(surface: &Surface, ways: &Ways, mass_of_node: &[u32]) -> Vec<f64> {
    let (bind, caps) = (&surface.bind[..surface.nodes()], surface.first_cap..surface.first_sheet);
    let uncapped = surface.triangles.iter().enumerate().filter(|(t, _)| !caps.contains(t));
    let faces: Vec<[u32; 3]> = uncapped.map(|(_, &corners)| corners).collect();
    let all = EdgeGraph::new(bind, &Adjacency::new(bind.len(), &faces), &ways.bridges(&faces));
    let mass = |node: u32| mass_of_node[node as usize];
    // It ends in the middle of the edges that leave it.
    let end = |node: u32| {
        let leaving = all.of(node).iter().filter(|edge| mass(edge.0) != mass(node));
        let shortest = leaving.map(|edge| 0.5 * edge.1).fold(f64::INFINITY, f64::min);
        shortest.is_finite().then_some((node, shortest))
    };
    let sources = (0..bind.len() as u32).filter(|&node| mass(node) != NO_MASS).filter_map(end);
    let within = all.filtered(|a, b| mass(a) == mass(b) && mass(a) != NO_MASS);
    let mut held = vec![f64::INFINITY; bind.len()];
    let mut distances = held.clone();
    within.spread_from(sources, &mut distances, |node, distance, _| held[node as usize] = distance);
    held
}

/// The lines of a mass's bones in bind space: from joints to the next joints that carry skin, else through its middle.
fn lines(rig: &Rig, surface: &Surface, mass: &Mass, joint: &impl Fn(u32) -> DVec3) -> Vec<(DVec3, DVec3)> {
    let mut lines = Vec::new();
    for own in mass.segments.iter().map(|&segment| &surface.segments[segment]) {
        let from = joint(own.entry);
        let before = lines.len();
        for below in &surface.segments {
            if rig.skeleton().ancestors(below.bone).nth(1) == Some(own.bone) {
                lines.push((from, joint(below.entry)));
            }
        }
        if lines.len() == before {
            lines.push((from, from + (own.middle - from) * 2.0));
        }
    }
    lines
}

fn distance((from, to): (DVec3, DVec3), p: DVec3) -> f64 {
    let line = to - from;
    let along = ((p - from).dot(line) / line.length_squared()).clamp(0.0, 1.0);
    p.distance(if along.is_nan() { from } else { from + line * along })
}

/// The mean of values by weights; 0 without any.
fn mean(weighted: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, all) = weighted.fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
    if all > 0.0 { sum / all } else { 0.0 }
}
