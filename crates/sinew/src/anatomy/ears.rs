//! Ears that no bone moves: pairs of flaps that stand away from the head.
//!
//! 1. On the skin of head and neck, *tips* are the peaks of centricity ([`extremities`](crate::maps::extremities)): of
//!    ears, horns, snout.
//! 2. What lies within a way `r` of a tip is cut off by a loop of length `L(r)` and has the area `A(r)`. `4πA/L²` is 1 on a
//!    plane, 2 for half a ball, more for all that is longer than wide, and falls where the flap meets the head: there its
//!    root is.
//! 3. An ear stands out more than half a ball does, is flat, hollow or angular in cross-section where horns, eye stalks
//!    and bulging eyes are round, has its like across the middle plane and grows from the upper part of the head.
//!
//! Nose, beak, chin and crest are single; hats and hair are pieces of their own; nostrils and eye sockets go inwards.
//! Cost `n log n` in the points of the head.

use super::body::Body;
use super::role::{Role, Side};
use super::{BoneFinding, Place};
use crate::edge_graph::EdgeGraph;
use crate::maps::extremities::{find_tips, measure_centricity};
use crate::rig::Rig;
use crate::topology::Adjacency;
use glam::DVec3;
use std::f64::consts::PI;

/// Samples of centricity: the head is simpler than a body.
const SAMPLES: usize = 16;
/// Loops that are measured around a tip.
const LEVELS: usize = 48;
/// `4πA/L²` that an ear exceeds: that of half a ball.
const STANDS_OUT: f64 = 2.0;
/// Share of the largest `4πA/L²` down to which a flap goes.
const ROOT: f64 = 0.95;
/// Share of the way to the root that is of the flap and not of the fillet around it.
const WITHIN: f64 = 0.9;
/// Volume over that of a round rod of the same girth, below that of a square rod (0.79): a leaf, a hollow, a pyramid of three
/// or four sides, but no cone.
const FLAT: f64 = 0.75;
/// Least length, over the root of the area of head and neck.
const LEAST: f64 = 0.1;
/// Share of the head's skin that lies below an ear's root at least.
const UPPER: f64 = 0.4;
/// How far mirrored tips and roots may be apart, in lengths.
const TWIN: f64 = 0.35;

/// The ears of one character.
pub(super) fn ears(rig: &Rig, character: usize, body: &Body, bones: &[BoneFinding], roles: &[Role]) -> Vec<Place> {
    let has_bones = body.skinned.iter().any(|&bone| bones[bone].role == Role::Ear);
    if !body.axes.symmetric || has_bones {
        return Vec::new();
    }
    let Some(head) = Head::new(rig, body, roles) else { return Vec::new() };
    let mut centricity = vec![0.0; head.points.len()];
    measure_centricity(&head.points, &head.areas, &head.graph, &head.bulk, SAMPLES, &mut centricity);
    let tips = find_tips(&head.graph, head.bulk.clone(), &centricity);
    let flaps: Vec<Flap> = tips.iter().filter_map(|tip| head.flap(body, tip.slot)).collect();
    // Of two such pairs the outer is the ears: horns grow between them.
    let off = |pair: &[&Flap; 2]| body.off_plane(pair[0].root).abs();
    let pairs = head.pairs(body, &flaps);
    let Some(pair) = pairs.into_iter().reduce(|a, b| if off(&b) > off(&a) { b } else { a }) else {
        return Vec::new();
    };
    let place = |flap: &Flap| Place {
        character,
        role: Role::Ear,
        side: body.side(head.points[flap.tip]),
        points: head.within(body, flap),
        confidence: 0.6,
        reason: "one of a pair of thin flaps that stand away from the head".into(),
    };
    let mut places: Vec<Place> = pair.iter().map(|flap| place(flap)).collect();
    places.sort_by_key(|place| place.side != Side::Left);
    places
}

/// The skin of head and neck, copies of one place joined.
struct Head {
    /// Per point, its first slot; ascending.
    slots: Vec<u32>,
    points: Vec<DVec3>,
    areas: Vec<f64>,
    triangles: Vec<[u32; 3]>,
    graph: EdgeGraph,
    /// Points of the largest connected part, ascending.
    bulk: Vec<usize>,
    /// Whether the rest of the body begins here.
    border: Vec<bool>,
    /// Height that [`UPPER`] of the head's skin lies below.
    low: f64,
    /// 1 where triangles run counter-clockwise seen from outside, −1 where they do not.
    turn: f64,
}

/// What stands around a tip.
struct Flap {
    tip: usize,
    /// From the tip to the root, along the skin.
    length: f64,
    /// Volume over that of a round rod of the same girth; below zero for a hollow in the head.
    fullness: f64,
    /// Middle of the loop around the root.
    root: DVec3,
    /// Ways from the tip, per point.
    ways: Vec<f64>,
}

impl Head {
    fn new(rig: &Rig, body: &Body, roles: &[Role]) -> Option<Self> {
        let mut inside = vec![false; rig.slots()];
        let mut areas = vec![0.0; rig.slots()];
        for &slot in &body.skin {
            let place = body.place[slot] as usize;
            inside[place] |= matches!(roles[slot], Role::Head | Role::Neck);
            areas[place] += body.areas[slot];
        }
        let slots: Vec<u32> = (0..inside.len() as u32).filter(|&slot| inside[slot as usize]).collect();
        let mut local = vec![u32::MAX; rig.slots()];
        slots.iter().zip(0..).for_each(|(&slot, point)| local[slot as usize] = point);
        let points: Vec<DVec3> = slots.iter().map(|&slot| body.points[slot as usize]).collect();
        let areas: Vec<f64> = slots.iter().map(|&slot| areas[slot as usize]).collect();
        let mut border = vec![false; slots.len()];
        let mut triangles = Vec::new();
        for face in rig.point_triangles() {
            let face = face.map(|slot| local[body.place[slot as usize] as usize]);
            if face.iter().all(|&p| p != u32::MAX) {
                triangles.push(face);
            } else {
                face.iter().filter(|&&p| p != u32::MAX).for_each(|&p| border[p as usize] = true);
            }
        }
        let graph = EdgeGraph::new(&points, &Adjacency::new(points.len(), &triangles), &[]);
        let bulk = bulk(&graph, &areas);
        let of_head = |&p: &usize| roles[slots[p] as usize] == Role::Head;
        let mut heights: Vec<(f64, f64)> =
            bulk.iter().copied().filter(of_head).map(|p| (points[p].dot(body.axes.up), areas[p])).collect();
        heights.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut above: f64 = heights.iter().map(|(_, area)| UPPER * area).sum();
        let low = heights.iter().find(|(_, area)| {
            above -= area;
            above <= 0.0
        });
        let low = low?.0;
        let middle = bulk.iter().map(|&p| points[p]).sum::<DVec3>() / bulk.len() as f64;
        let volume: f64 = triangles
            .iter()
            .map(|face| face.map(|p| points[p as usize] - middle))
            .map(|[a, b, c]| a.dot(b.cross(c)))
            .sum();
        Some(Self { slots, points, areas, triangles, graph, bulk, border, low, turn: volume.signum() })
    }

    fn flap(&self, body: &Body, tip: usize) -> Option<Flap> {
        let mut ways = vec![f64::INFINITY; self.points.len()];
        self.graph.spread(&[tip as u32], &mut ways.clone(), |p, way, _| ways[p as usize] = way);
        // An ear stays on its side, and on the head.
        let side = body.off_plane(self.points[tip]).signum();
        let beyond = |p: &usize| body.off_plane(self.points[*p]) * side <= 0.0 || self.border[*p];
        let far = (0..ways.len()).filter(beyond).map(|p| ways[p]).fold(f64::INFINITY, f64::min);
        if !(far.is_finite() && far > 0.0) {
            return None;
        }
        let step = far / LEVELS as f64;
        let loops = self.loops(&ways, step, self.points[tip]);
        let root = root(&loops)?;
        let stands = loops[root].standing() > STANDS_OUT;
        let fullness = self.turn * fullness(&loops[..=root], step, self.points[tip]);
        let middle = loops[root].middle / loops[root].length;
        let length = (root + 1) as f64 * step;
        (stands && fullness > 0.0).then_some(Flap { tip, length, fullness, root: middle, ways })
    }

    /// What lies within each multiple of `step` of the tip.
    fn loops(&self, ways: &[f64], step: f64, tip: DVec3) -> Vec<Loop> {
        let mut loops = vec![Loop::default(); LEVELS];
        // Whole triangles, where they first are within.
        let mut whole = vec![Loop::default(); LEVELS];
        for face in &self.triangles {
            let [p, q, r] = face.map(|p| self.points[p as usize] - tip);
            let (facing, volume) = ((q - p).cross(r - p) / 2.0, p.dot(q.cross(r)) / 6.0);
            let area = facing.length();
            let mut corners = face.map(|p| (ways[p as usize], self.points[p as usize]));
            corners.sort_by(|a, b| a.0.total_cmp(&b.0));
            let [(low, a), (mid, b), (high, c)] = corners;
            // The first loop that is not nearer than a way.
            let level = |way: f64| ((way / step).ceil() - 1.0).max(0.0) as usize;
            if !high.is_finite() || area <= 0.0 {
                continue;
            }
            if let Some(found) = whole.get_mut(level(high)) {
                found.add(area, facing, volume);
            }
            for (number, found) in loops.iter_mut().enumerate().take(level(high)).skip(level(low)) {
                let way = (number + 1) as f64 * step;
                // Loops run along edges where those are all at one way.
                let cut = |from: (f64, DVec3), to: (f64, DVec3)| {
                    let span = to.0 - from.0;
                    from.1.lerp(to.1, if span > 0.0 { ((way - from.0) / span).clamp(0.0, 1.0) } else { 0.0 })
                };
                let long = cut((low, a), (high, c));
                let (short, share) = if way < mid {
                    let short = cut((low, a), (mid, b));
                    (short, (short - a).cross(long - a).length() / (2.0 * area))
                } else {
                    let short = cut((mid, b), (high, c));
                    (short, 1.0 - (short - c).cross(long - c).length() / (2.0 * area))
                };
                found.add(share * area, share * facing, share * volume);
                let length = short.distance(long);
                found.length += length;
                found.middle += 0.5 * (short + long) * length;
            }
        }
        let mut sum = Loop::default();
        for (found, whole) in loops.iter_mut().zip(whole) {
            sum.add(whole.area, whole.facing, whole.volume);
            found.add(sum.area, sum.facing, sum.volume);
        }
        loops
    }

    /// Thin flaps that mirror each other and grow from the upper part of the head.
    fn pairs<'f>(&self, body: &Body, flaps: &'f [Flap]) -> Vec<[&'f Flap; 2]> {
        let least = LEAST * self.bulk.iter().map(|&p| self.areas[p]).sum::<f64>().sqrt();
        let fits = |flap: &&Flap| flap.fullness < FLAT && flap.root.dot(body.axes.up) > self.low && flap.length > least;
        let mirrored = |p: DVec3| p - 2.0 * body.off_plane(p) * body.axes.left;
        let alike = |a: &Flap, b: &Flap| {
            let reach = TWIN * a.length.min(b.length);
            self.points[b.tip].distance(mirrored(self.points[a.tip])) < reach
                && b.root.distance(mirrored(a.root)) < reach
        };
        let mut pairs = Vec::new();
        for (i, a) in flaps.iter().enumerate().filter(|(_, flap)| fits(flap)) {
            let twin = flaps[i + 1..].iter().filter(fits).find(|b| alike(a, b));
            pairs.extend(twin.map(|b| [a, b]));
        }
        pairs
    }

    /// All slots of a flap, copies included, ascending.
    fn within(&self, body: &Body, flap: &Flap) -> Vec<u32> {
        let is_within = |slot: &&usize| {
            let point = self.slots.binary_search(&body.place[**slot]);
            point.is_ok_and(|p| flap.ways[p] < WITHIN * flap.length)
        };
        body.skin.iter().filter(is_within).map(|&slot| slot as u32).collect()
    }
}

/// The last loop before the flap widens into the head.
fn root(loops: &[Loop]) -> Option<usize> {
    let best = (0..loops.len()).reduce(|a, b| if loops[b].standing() > loops[a].standing() { b } else { a })?;
    let enough = ROOT * loops[best].standing();
    (best..loops.len()).take_while(|&level| loops[level].standing() >= enough).last()
}

/// Volume over that of a round rod of the same girth, of what the last of some loops around a tip cuts off.
fn fullness(loops: &[Loop], step: f64, tip: DVec3) -> f64 {
    let Some(root) = loops.last().filter(|root| root.length > 0.0) else { return 0.0 };
    let section = |l: &Loop| l.length * l.length / (4.0 * PI);
    let rod = step * (loops.iter().map(section).sum::<f64>() - 0.5 * section(root));
    // Closed by a fan about the middle of the loop, which has no volume seen from there.
    let middle = root.middle / root.length;
    (root.volume - (middle - tip).dot(root.facing) / 3.0) / rod
}

/// Points of the connected part with the most skin.
fn bulk(graph: &EdgeGraph, areas: &[f64]) -> Vec<usize> {
    let mut seen = vec![false; areas.len()];
    let mut best: (f64, Vec<usize>) = (0.0, Vec::new());
    for first in 0..areas.len() {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        let mut part = vec![first];
        let mut next = 0;
        while let Some(&point) = part.get(next) {
            for &(to, _) in graph.of(point as u32) {
                if !std::mem::replace(&mut seen[to as usize], true) {
                    part.push(to as usize);
                }
            }
            next += 1;
        }
        let area: f64 = part.iter().map(|&p| areas[p]).sum();
        if area > best.0 {
            best = (area, part);
        }
    }
    best.1.sort_unstable();
    best.1
}

/// A loop around a tip, and what is within.
#[derive(Clone, Copy, Default)]
struct Loop {
    area: f64,
    /// Sum of normals times area.
    facing: DVec3,
    /// Between the tip and the skin.
    volume: f64,
    length: f64,
    /// Times the length.
    middle: DVec3,
}

impl Loop {
    fn add(&mut self, area: f64, facing: DVec3, volume: f64) {
        self.area += area;
        self.facing += facing;
        self.volume += volume;
    }

    fn standing(&self) -> f64 {
        if self.length > 0.0 { 4.0 * PI * self.area / (self.length * self.length) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 1.0 / LEVELS as f64;

    /// A cone with its tip up, of slant length 1 and the given sine of half its opening, squeezed along z; with the ways
    /// from its tip before it was squeezed.
    fn cone(sine: f64, squeezed: f64) -> (Head, Vec<f64>) {
        const AROUND: u32 = 96;
        const RINGS: u32 = 24;
        let cosine = (1.0 - sine * sine).sqrt();
        let (mut points, mut ways, mut triangles) = (vec![DVec3::ZERO], vec![0.0], Vec::new());
        for ring in 1..=RINGS {
            let way = f64::from(ring) / f64::from(RINGS);
            for k in 0..AROUND {
                let (s, c) = (f64::from(k) / f64::from(AROUND) * 2.0 * PI).sin_cos();
                points.push(DVec3::new(c * sine, -cosine, -s * sine * squeezed) * way);
                ways.push(way);
            }
        }
        let at = |ring: u32, k: u32| if ring == 0 { 0 } else { 1 + (ring - 1) * AROUND + k % AROUND };
        for ring in 0..RINGS {
            for k in 0..AROUND {
                let [a, b, c, d] = [at(ring, k), at(ring + 1, k), at(ring + 1, k + 1), at(ring, k + 1)];
                triangles.extend([[a, b, c], [a, c, d]].into_iter().filter(|t| t[0] != t[2]));
            }
        }
        let graph = EdgeGraph::new(&points, &Adjacency::new(points.len(), &triangles), &[]);
        let head = Head {
            slots: Vec::new(),
            areas: vec![0.0; points.len()],
            border: vec![false; points.len()],
            points,
            triangles,
            graph,
            bulk: Vec::new(),
            low: 0.0,
            turn: 1.0,
        };
        (head, ways)
    }

    /// Loops around the tip of a cone are circles of `2πr sin α` about `πr² sin α`, and its volume is `π sin²α cos α/3`.
    #[test]
    fn a_cone_stands_out_as_its_sine_says_and_is_full_as_its_cosine_does() {
        for sine in [0.2f64, 0.4, 0.7, 1.0] {
            let (head, ways) = cone(sine, 1.0);
            let loops = head.loops(&ways, STEP, DVec3::ZERO);
            for level in &loops[2..LEVELS - 1] {
                assert!((level.standing() * sine - 1.0).abs() < 0.01, "{sine}: {}", level.standing());
            }
            let full = fullness(&loops[..LEVELS - 1], STEP, DVec3::ZERO);
            let cosine = (1.0 - sine * sine).sqrt();
            assert!((full - cosine).abs() < 0.01, "{sine}: {full}");
        }
    }

    /// Three times as wide as thick, its sections hold less than a square's of the same girth: 4π·πab/L², Ramanujan's L.
    #[test]
    fn a_flap_is_less_full_than_a_horn() {
        let (head, ways) = cone(0.3, 1.0 / 3.0);
        let full = fullness(&head.loops(&ways, STEP, DVec3::ZERO)[..LEVELS - 1], STEP, DVec3::ZERO);
        let (a, b) = (1.0f64, 1.0 / 3.0);
        let girth = PI * (3.0 * (a + b) - ((3.0 * a + b) * (a + 3.0 * b)).sqrt());
        let expected = 4.0 * PI * PI * a * b / (girth * girth) * (1.0 - 0.09f64).sqrt();
        assert!((full - expected).abs() < 0.02 && full < FLAT, "{full}, expected {expected}");
    }

    /// The cut is where the loops begin to widen, whatever comes after.
    #[test]
    fn the_root_is_where_the_girth_begins_to_grow() {
        let flap = |level: usize| {
            let r = (level + 1) as f64;
            // A rod of girth 1 up to the 20th loop, then a plane around it.
            let beyond = (r - 20.0).max(0.0);
            Loop {
                area: r.min(20.0) + beyond + PI * beyond * beyond,
                length: 1.0 + 2.0 * PI * beyond,
                ..Loop::default()
            }
        };
        let loops: Vec<Loop> = (0..LEVELS).map(flap).collect();
        assert_eq!(root(&loops), Some(19));
    }
}
