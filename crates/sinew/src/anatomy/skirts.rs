//! Skirts without names and without bones of their own: skin that goes around both legs at once.
//!
//! At several heights between hips and ankles a plane cuts a piece of skin. It is a skirt's where the cut goes all the way
//! around both legs and nowhere between them, and where other skin lies within, on both sides: trousers go between the legs,
//! and a body whose legs are the skirt has nothing within. It has a hem, or an inner side: the lower end of a trunk that legs
//! are stuck into has neither. The skirt is what hangs below the highest such cut; above it a dress is part of the body it
//! lies on.

use super::body::Body;
use super::role::{Role, Side};
use super::{BoneFinding, Place};
use crate::rig::Rig;
use glam::DVec3;
use std::f64::consts::TAU;

/// Heights looked at, from the hips to the ankles.
const CUTS: usize = 12;
/// Cuts of a skirt at least.
const LEAST: usize = 2;
/// Directions from the middle, each of which a cut must show in.
const SECTORS: usize = 12;

/// Of the way around the legs, what is hem at least.
const HEM: f64 = 0.5;
/// The inner side of cloth with two sides, of its outer side, at least.
const INNER: f64 = 0.3;

/// A leg, from its joint at the hip down, as points.
type Leg = Vec<DVec3>;

/// The skirts of a character; `pieces` is the piece of each slot.
pub(super) fn skirts(
    rig: &Rig,
    character: usize,
    body: &Body,
    bones: &[BoneFinding],
    points: &[Role],
    pieces: &[Option<u32>],
) -> Vec<Place> {
    let Some(legs) = legs(body, bones) else { return Vec::new() };
    let up = body.axes.up;
    let height = |p: DVec3| p.dot(up);
    let [top, bottom] = [0, 1].map(|end| {
        let ends = legs.iter().filter_map(|leg| if end == 0 { leg.first() } else { leg.last() });
        ends.map(|&p| height(p)).sum::<f64>() / 2.0
    });
    if top - bottom <= 0.1 * body.height {
        return Vec::new();
    }
    let mut of_piece: Vec<(u32, usize)> =
        body.slots.iter().filter_map(|&slot| pieces[slot].map(|piece| (piece, slot))).collect();
    of_piece.sort_unstable();
    let cut = |slots: &mut dyn Iterator<Item = usize>, level: f64| -> Vec<DVec3> {
        let mut found = Vec::new();
        for slot in slots {
            let (from, below) = (body.points[slot], height(body.points[slot]) < level);
            for &other in rig.adjacency().of(slot) {
                let to = body.points[other as usize];
                if below && height(to) >= level {
                    found.push(from.lerp(to, (level - height(from)) / (height(to) - height(from))));
                }
            }
        }
        found
    };
    let mut places = Vec::new();
    for members in of_piece.chunk_by(|a, b| a.0 == b.0) {
        // What is worn on hands, feet or head is none, and what has a role of its own is known.
        let is_of = |role: Role| members.iter().filter(|member| points[member.1] == role).count();
        if 20 * (is_of(Role::Spine) + is_of(Role::Leg)) < 19 * members.len() {
            continue;
        }
        let mut cuts: Vec<f64> = Vec::new();
        for k in 0..CUTS {
            let level = top + (bottom - top) * (k as f64 + 0.5) / CUTS as f64;
            let Some(pair) = at_level(&legs, level, up) else { continue };
            let own = cut(&mut members.iter().map(|member| member.1), level);
            if goes_around(&own, pair, up) {
                let within = cut(&mut body.skin.iter().copied().filter(|&s| pieces[s] != pieces[members[0].1]), level);
                if are_within(&within, &own, pair, up) {
                    cuts.push(level);
                }
            }
        }
        if cuts.len() < LEAST {
            continue;
        }
        let waist = cuts[0];
        let mut slots: Vec<u32> =
            members.iter().map(|m| m.1).filter(|&s| height(body.points[s]) < waist).map(|s| s as u32).collect();
        slots.sort_unstable();
        if !hangs(rig, body, &slots) {
            continue;
        }
        let reason = "goes around both legs, which have skin of their own".to_owned();
        let side = Side::Middle;
        places.push(Place { character, role: Role::Cloth, side, points: slots, confidence: 0.6, reason });
    }
    places
}

/// The two legs of one who has two.
fn legs(body: &Body, bones: &[BoneFinding]) -> Option<[Leg; 2]> {
    let is_leg = |bone: usize| matches!(bones[bone].role, Role::Leg | Role::Foot);
    let is_first = |&bone: &usize| {
        bones[bone].role == Role::Leg && body.carrier[bone].is_none_or(|carrier| bones[carrier].role != Role::Leg)
    };
    let first: Vec<usize> = body.skinned.iter().copied().filter(is_first).collect();
    let [left, right] = first[..] else { return None };
    let down = |from: usize| {
        let next = |&bone: &usize| body.children[bone].iter().copied().find(|&child| is_leg(child));
        std::iter::successors(Some(from), next).take_while(|&bone| is_leg(bone)).map(|bone| body.joints[bone]).collect()
    };
    Some([down(left), down(right)])
}

/// Where the two legs are at a height.
fn at_level(legs: &[Leg; 2], level: f64, up: DVec3) -> Option<[DVec3; 2]> {
    let at = |leg: &Leg| {
        leg.windows(2).find_map(|pair| {
            let [a, b] = [pair[0].dot(up), pair[1].dot(up)];
            (a >= level && b < level).then(|| pair[0].lerp(pair[1], (a - level) / (a - b)))
        })
    };
    Some([at(&legs[0])?, at(&legs[1])?])
}

/// Distance and direction from the middle between two legs, on the plane.
fn around(p: DVec3, pair: [DVec3; 2], up: DVec3) -> (f64, f64) {
    let middle = 0.5 * (pair[0] + pair[1]);
    let across = (pair[1] - pair[0]).reject_from(up).normalize_or_zero();
    let (x, y) = ((p - middle).dot(across), (p - middle).dot(up.cross(across)));
    (x.hypot(y), y.atan2(x))
}

/// Whether a cut shows in all directions, and nowhere nearer than the legs.
fn goes_around(cut: &[DVec3], pair: [DVec3; 2], up: DVec3) -> bool {
    let apart = 0.5 * (pair[1] - pair[0]).reject_from(up).length();
    let mut seen = [false; SECTORS];
    for &p in cut {
        let (far, angle) = around(p, pair, up);
        if far <= apart {
            return false;
        }
        seen[sector(angle)] = true;
    }
    apart > 0.0 && seen.iter().all(|&seen| seen)
}

/// Whether there is skin within a cut about either leg.
fn are_within(skin: &[DVec3], cut: &[DVec3], pair: [DVec3; 2], up: DVec3) -> bool {
    let mut reach = [0.0f64; SECTORS];
    for &p in cut {
        let (far, angle) = around(p, pair, up);
        reach[sector(angle)] = reach[sector(angle)].max(far);
    }
    let mut seen = [false; 2];
    for &p in skin {
        let (far, angle) = around(p, pair, up);
        if far < reach[sector(angle)] {
            seen[usize::from(angle.cos() > 0.0)] = true;
        }
    }
    seen == [true; 2]
}

fn sector(angle: f64) -> usize {
    (((angle / TAU + 1.0).fract() * SECTORS as f64) as usize).min(SECTORS - 1)
}

/// Whether skin has a hem or an inner side; `slots` ascend.
fn hangs(rig: &Rig, body: &Body, slots: &[u32]) -> bool {
    let up = body.axes.up;
    let at = |slot: u32| body.points[slot as usize];
    let middle = slots.iter().map(|&slot| at(slot)).sum::<DVec3>() / slots.len().max(1) as f64;
    let away = |p: DVec3| (p - middle).reject_from(up);
    let is_below = |slot: u32| slots.binary_search(&slot).is_ok();
    let (mut edges, mut sides): (Vec<[u32; 2]>, [f64; 2]) = (Vec::new(), [0.0; 2]);
    for corners in rig.point_triangles().iter().filter(|corners| corners.iter().any(|&slot| is_below(slot))) {
        let [a, b, c] = corners.map(at);
        let normal = (b - a).cross(c - a);
        sides[usize::from(normal.dot(away((a + b + c) / 3.0)) < 0.0)] += normal.reject_from(up).length();
        let [a, b, c] = corners.map(|slot| body.place[slot as usize]);
        edges.extend([[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]));
    }
    edges.sort_unstable();
    let alone = edges.chunk_by(|a, b| a == b).filter(|edge| edge.len() == 1).map(|edge| edge[0]);
    // Where it is cut off at the waist, one end of an edge is above.
    let hem: f64 = alone.filter(|edge| edge.iter().all(|&s| is_below(s))).map(|[a, b]| at(a).distance(at(b))).sum();
    let radius = slots.iter().map(|&slot| away(at(slot)).length()).sum::<f64>() / slots.len().max(1) as f64;
    // Which side is out depends on the way triangles go around.
    let [outer, inner] = [sides[0].max(sides[1]), sides[0].min(sides[1])];
    hem >= HEM * TAU * radius || inner >= INNER * outer
}
