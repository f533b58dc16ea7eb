//! The nodes of one character at one frame, in f64 about a point near them: what corrections read and move.

use super::clearance::Rooms;
use super::folds::smoothstep;
use super::pieces::volume;
use super::surface::Surface;
use super::ways::{Levels, Ways};
use crate::rig::Rig;
use crate::simd::Points;
use glam::{DAffine3, DMat3, DVec3};

/// One character at one frame. Where only some segments change, only they and their neighbours are at hand; what is
/// kept of the other nodes means nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// Nodes and apexes.
    pub points: Vec<DVec3>,
    /// Where they were before any correction.
    start: Vec<DVec3>,
    centre: DVec3,
    /// Per node, where volume is to be careful: shares of its moves, and how far it may go. Empty where it is not.
    pub ease: Vec<f64>,
    pub most: Vec<f64>,
    /// Per node, how far volume has moved it; empty where it has not.
    pub spent: Vec<f64>,
    /// Memory for whoever asks where skin folds.
    pub levels: Levels,
    crooks: Levels,
    careful: Careful,
    /// Nodes at hand; of those, nodes that volume may move; triangles at hand, which are all around the latter.
    pub nodes: Vec<u32>,
    pub free: Vec<u32>,
    pub triangles: Vec<u32>,
    /// What all other triangles add to the volume.
    rigid_volume: f64,
    /// Per segment: its triangles are at hand.
    pub active: Vec<bool>,
    /// Volume may move every node.
    pub all_free: bool,
    /// Per node: at hand; not to be moved by anything, because a triangle that is not at hand would move too.
    at_hand: Vec<bool>,
    pub pinned: Vec<bool>,
    /// Whether morph targets are active, and nodes at rest in bind space where they are.
    is_morphed: bool,
    morphed_bind: Vec<DVec3>,
    /// Per palette entry: from bind space to these points.
    pub from_bind: Vec<DAffine3>,
    /// Per node: the part of the volume around it that blending its bones takes, from 0; and the largest of all.
    pub bends: Vec<f64>,
    pub largest_bend: f64,
    bends_known: bool,
    /// Per segment: its bones move as one, and no effect moves it.
    pub still: Vec<bool>,
    /// What folds has yet to be opened.
    pub opens_later: bool,
    /// Whether anything but bones moves the skin.
    pub has_effects: bool,
    /// How far off a coordinate may be from rounding alone.
    pub noise: f64,
    pub size: f64,

    /// Twice the area vector of every triangle.
    pub areas: Vec<DVec3>,
    /// ∇V at nodes and apexes.
    pub gradients: Vec<DVec3>,
    pub normals: Vec<DVec3>,
    /// The next move at λ = 1, nodes and apexes.
    pub moves: Vec<DVec3>,
}

/// Memory of [`Body::take_care`].
#[derive(Clone, Debug, Default)]
struct Careful {
    /// Per node.
    places: Vec<DVec3>,
    goes_far: Vec<f64>,
    /// Per segment.
    scales: Vec<f64>,
    rooms: Rooms,
}

/// r of [`super::folds`] up to which volume leaves skin alone, and from which it moves it freely.
const OPEN: [f64; 2] = [0.8, 1.2];
/// r from which skin folds, so that volume keeps away from it, and up to which it does fully; how far away, in radii, and
/// the level from which it does not come near at all.
const FOLDING: [f64; 2] = [0.6, -0.2];
const AWAY: f64 = 2.0;
const HALF: f64 = 0.5;
/// r from which skin closes up so far that what is around it may touch, and up to which it does fully; how far around, in
/// radii.
const CLOSING: [f64; 2] = [0.7, 0.2];
const AROUND: f64 = 4.0;
/// Part of the volume that blending takes from which volume moves skin towards other skin, and from which far enough to
/// touch it.
const BENDS: [f64; 2] = [0.005, 0.02];
/// How far volume moves skin at most, in radii of the limb.
const MOST_MOVED: f64 = 0.22;

/// Bones whose transforms differ by less over the reach of a segment, in sizes, leave it rigid.
const STILL: f64 = 1e-7;

/// What corrections move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Segments that change, and what touches them.
    Moving,
    /// Anything, where something changes.
    Whole,
    /// Anything, at any time.
    Always,
}

/// What a frame gives a body.
pub(crate) struct BodyFrame<'a> {
    pub rig: &'a Rig,
    /// Per palette entry, relative to the characters' origins.
    pub world_from_rest: &'a [DAffine3],
    /// Rest points with morph targets, where any is active.
    pub morphed_rest: Option<&'a Points>,
    /// No effect moves anything.
    pub effects_rest: bool,
    /// How far the corrections go.
    pub reach: Reach,
    pub points: &'a Points,
}

impl Body {
    /// Takes the frame's bones: what moves against what. Needs no point.
    pub fn pose(&mut self, surface: &Surface, frame: &BodyFrame<'_>) {
        self.size = frame.rig.characters()[surface.character].size;
        self.has_effects = !frame.effects_rest || frame.reach == Reach::Always;
        self.centre = DVec3::ZERO;
        self.from_bind.clear();
        let entries = 0..frame.world_from_rest.len() as u32;
        self.from_bind.extend(entries.map(|entry| surface.world_from_bind(entry, frame.world_from_rest)));
        self.still.clear();
        for (segment, entries) in surface.segments.iter().zip(surface.segment_entries.iter()) {
            let own = &self.from_bind[segment.entry as usize];
            let alike = |&entry: &u32| {
                let other = &self.from_bind[entry as usize];
                let shift = (other.transform_point3(segment.middle) - own.transform_point3(segment.middle)).length();
                let turn = (other.matrix3 - own.matrix3).to_cols_array().iter().fold(0.0f64, |m, v| m.max(v.abs()));
                shift + turn * segment.reach <= STILL * self.size
            };
            self.still.push(!self.has_effects && entries.iter().all(alike));
        }
        if frame.reach != Reach::Moving && !self.is_still() {
            self.still.fill(false);
        }
        self.is_morphed = frame.morphed_rest.is_some();
        if let Some(rest) = frame.morphed_rest {
            surface.bind_points(rest, &mut self.morphed_bind);
        }
    }

    /// Takes the frame's points after its bones; false if they are not finite.
    pub fn load(&mut self, surface: &Surface, frame: &BodyFrame<'_>) -> bool {
        let nodes = surface.nodes();
        self.choose(surface);
        self.points.resize(nodes, DVec3::ZERO);
        let mut sum = DVec3::ZERO;
        for &node in &self.nodes {
            let slots = surface.members.of(node as usize);
            let here: DVec3 = slots.iter().map(|&slot| frame.points.get(slot as usize).as_dvec3()).sum();
            let here = here / slots.len() as f64;
            self.points[node as usize] = here;
            sum += here;
        }
        self.centre = sum / self.nodes.len().max(1) as f64;
        let mut farthest = 0.0f64;
        let mut finite = true;
        for &node in &self.nodes {
            let p = &mut self.points[node as usize];
            farthest = farthest.max(p.abs().max_element());
            *p -= self.centre;
            finite &= p.is_finite();
        }
        self.noise = farthest * f64::from(f32::EPSILON) / 2.0;
        self.begin();
        surface.place_apexes(&mut self.points);
        for from_bind in &mut self.from_bind {
            from_bind.translation -= self.centre;
            finite &= from_bind.is_finite();
        }
        self.rigid_volume = self.rigid_volume(surface);
        self.bends_known = false;
        finite
    }

    /// Fills in `bends`, once per frame, for those who ask.
    pub fn measure_bends(&mut self, surface: &Surface) {
        if self.bends_known {
            return;
        }
        self.bends_known = true;
        self.bends.resize(surface.nodes(), 0.0);
        self.largest_bend = 0.0;
        for &node in &self.free {
            let bend = bend(surface.influences_of(node as usize), &self.from_bind);
            self.bends[node as usize] = bend;
            self.largest_bend = self.largest_bend.max(bend);
        }
    }

    /// Says which segments are at hand.
    pub fn activate(&mut self, surface: &Surface) {
        // A rest shape with morph targets has no sums that were made ahead.
        self.all_free = self.is_morphed || !self.still.contains(&true);
        self.active.clear();
        self.active.resize(surface.segments.len(), self.all_free);
        if self.all_free {
            return;
        }
        // Neighbours too: a still forearm may lie in the way of an upper arm.
        for (segment, neighbours) in surface.segment_neighbours.iter().enumerate() {
            for &neighbour in neighbours {
                let moves = !self.still[segment] || !self.still[neighbour as usize];
                self.active[segment] |= moves;
                self.active[neighbour as usize] |= moves;
            }
        }
    }

    /// Says which segments, nodes and triangles are at hand.
    fn choose(&mut self, surface: &Surface) {
        self.activate(surface);
        let nodes = surface.nodes();
        let count = surface.segments.len();
        for list in [&mut self.nodes, &mut self.free, &mut self.triangles] {
            list.clear();
        }
        for flags in [&mut self.at_hand, &mut self.pinned] {
            flags.clear();
            flags.resize(nodes, false);
        }
        if self.all_free {
            self.nodes.extend(0..nodes as u32);
            self.free.extend(0..nodes as u32);
            self.triangles.extend(0..surface.triangles.len() as u32);
            return;
        }
        for segment in (0..count).filter(|&segment| !self.active[segment]) {
            for &node in surface.segment_borders.of(segment) {
                self.pinned[node as usize] = true;
            }
        }
        let active = || (0..count).filter(|&segment| self.active[segment]);
        let corners = active().flat_map(|segment| surface.segment_corners.of(segment)).copied();
        for node in corners.chain(surface.ring_nodes()) {
            let at_hand = &mut self.at_hand[node as usize];
            if !*at_hand {
                *at_hand = true;
                self.nodes.push(node);
                let still = self.still[surface.segment_of_node[node as usize] as usize];
                if !still && !self.pinned[node as usize] {
                    self.free.push(node);
                }
            }
        }
        self.triangles.extend(active().flat_map(|segment| surface.segment_triangles.of(segment)));
        self.triangles.extend(surface.first_cap as u32..surface.first_sheet as u32);
    }

    /// The points, without apexes, are where moves are counted from.
    pub fn begin(&mut self) {
        self.start.resize(self.points.len(), DVec3::ZERO);
        for &node in &self.nodes {
            self.start[node as usize] = self.points[node as usize];
        }
    }

    /// What the points are relative to, itself relative to the character's origin.
    pub fn centre(&self) -> DVec3 {
        self.centre
    }

    /// Nodes at rest in bind space.
    pub fn bind<'a>(&'a self, surface: &'a Surface) -> &'a [DVec3] {
        self.morphed().unwrap_or(&surface.bind)
    }

    /// The same, where morph targets are active.
    pub fn morphed(&self) -> Option<&[DVec3]> {
        self.is_morphed.then_some(&self.morphed_bind)
    }

    #[cfg(test)]
    pub fn set_morphed(&mut self, bind: Vec<DVec3>) {
        (self.is_morphed, self.morphed_bind) = (true, bind);
    }

    /// Whether nothing but rigid motion happened to the whole body.
    pub fn is_still(&self) -> bool {
        self.still.iter().all(|&still| still)
    }

    /// Whether a node is at hand with its faces.
    pub fn is_at_hand(&self, surface: &Surface, node: u32) -> bool {
        self.active[surface.segment_of_node[node as usize] as usize]
    }

    /// Fills in where volume is to be careful; `moves` where what is about to move skin is not volume, but moves these nodes.
    pub fn take_care(
        &mut self,
        surface: &Surface,
        ways: &Ways,
        moves: Option<&dyn Fn(usize) -> bool>,
        place: impl Fn(&Self, u32) -> DVec3,
    ) {
        let [mut levels, mut crooks] = [&mut self.levels, &mut self.crooks].map(std::mem::take);
        crooks.begin(surface);
        let [mut ease, mut most] = [&mut self.ease, &mut self.most].map(std::mem::take);
        let Careful { mut places, mut scales, mut goes_far, mut rooms } = std::mem::take(&mut self.careful);
        places.clear();
        places.extend((0..surface.nodes() as u32).map(|node| place(self, node)));
        ease.clear();
        ease.resize(surface.nodes(), 1.0);
        let at_most = |corners: [u32; 3], r: f64| {
            let at_most = smoothstep(OPEN, r);
            corners.iter().for_each(|&node| ease[node as usize] = at_most.min(ease[node as usize]));
            if self.opens_later {
                return;
            }
            crooks.fold(ways, corners, smoothstep(CLOSING, r), AROUND);
        };
        levels.measure((surface, self, ways), FOLDING, AWAY, |node| places[node as usize], at_most);
        crooks.spread(ways);
        for &node in &levels.reached {
            ease[node as usize] *= 1.0 - smoothstep([0.0, HALF], levels.levels[node as usize]);
        }
        scales.clear();
        scales.extend((0..surface.segments.len()).map(|segment| self.scale(surface, segment)));
        most.clear();
        let radii = ways.radii.iter().zip(&surface.segment_of_node);
        most.extend(radii.map(|(radius, &segment)| MOST_MOVED * radius * scales[segment as usize]));
        let freedom = ways.freedom(surface, MOST_MOVED);
        for ((ease, most), freedom) in ease.iter_mut().zip(&mut most).zip(freedom) {
            *ease *= freedom;
            *most *= freedom;
        }
        let clearance = ways.clearance(surface, MOST_MOVED);
        let is_moved = |node: usize| moves.map_or(ease[node] > 0.0, |moves| moves(node));
        let is_moved = |node: usize| is_moved(node) && self.is_at_hand(surface, node as u32);
        clearance.begin(surface, &places, |segment| self.active[segment], &most, &mut rooms);
        clearance.lower_elsewhere(surface, &places, is_moved, &mut rooms, &mut most);
        if !self.opens_later {
            goes_far.clear();
            goes_far.resize(surface.nodes(), 0.0);
            for node in crooks.reached.iter().map(|&node| node as usize).filter(|&node| is_moved(node)) {
                let bends = || smoothstep(BENDS, bend(surface.influences_of(node), &self.from_bind));
                goes_far[node] = if moves.is_some() { 1.0 } else { bends() };
            }
            let folds = (surface, self.bind(surface), &crooks);
            clearance.lower_at_folds(folds, &places, (&goes_far, &scales), &mut rooms, &mut most);
        }
        self.careful = Careful { places, scales, goes_far, rooms };
        (self.ease, self.most) = (ease, most);
        (self.levels, self.crooks) = (levels, crooks);
    }

    /// How long what is 1 in bind space is under the bone of a segment.
    fn scale(&self, surface: &Surface, segment: usize) -> f64 {
        self.from_bind[surface.segments[segment].entry as usize].matrix3.determinant().abs().cbrt()
    }

    /// How far from 1 volume may move a node: less where skin is folded, or about to be.
    pub fn ease_of(&self, node: usize) -> f64 {
        self.ease.get(node).copied().unwrap_or(1.0)
    }

    /// How far volume may move a node.
    pub fn most_of(&self, node: usize) -> f64 {
        self.most.get(node).copied().unwrap_or(f64::INFINITY)
    }

    /// How far volume may move a node yet.
    pub fn left_of(&self, node: usize) -> f64 {
        (self.most_of(node) - self.spent.get(node).copied().unwrap_or(0.0)).max(0.0)
    }

    /// Takes `factor` times the moves off how far volume may move nodes.
    pub fn spend(&mut self, factor: f64) {
        self.spent.resize(self.points.len(), 0.0);
        for &node in &self.free {
            self.spent[node as usize] += (self.moves[node as usize] * factor).length();
        }
    }

    /// The part of a move of that length that a node may take where skin touches, after [`Self::take_care`]: all of it
    /// where none does, and towards no farther than half the way to what it touches.
    pub fn part_of(&self, node: usize, length: f64) -> f64 {
        let (most, whole) = (self.most[node], self.careful.rooms.whole[node]);
        if most < whole { (1.0 + length * (most.recip() - whole.recip())).recip() } else { 1.0 }
    }

    /// How far a node has come.
    pub fn moved(&self, node: usize) -> DVec3 {
        self.points[node] - self.start[node]
    }

    pub fn largest_move(&self) -> f64 {
        self.nodes.iter().map(|&node| self.moved(node as usize).length_squared()).fold(0.0, f64::max).sqrt()
    }

    /// What the triangles that are not at hand add to the volume.
    fn rigid_volume(&self, surface: &Surface) -> f64 {
        let rigid = surface.segments.iter().zip(&self.active).filter(|(_, active)| !**active);
        rigid.map(|(segment, _)| segment.rigid_volume(&self.from_bind[segment.entry as usize])).sum()
    }

    /// Corners of the triangles at hand that bound the inside.
    pub fn shell<'a>(&'a self, surface: &'a Surface) -> impl Iterator<Item = [u32; 3]> + 'a {
        let bounds = |&&t: &&u32| (t as usize) < surface.first_sheet;
        self.triangles.iter().filter(bounds).map(|&t| surface.triangles[t as usize])
    }

    /// The volume inside.
    pub fn volume(&self, surface: &Surface) -> f64 {
        self.rigid_volume + volume(self.shell(surface), &self.points)
    }

    /// Area vectors, gradients and normals of the points as they are.
    pub fn differentiate(&mut self, surface: &Surface) {
        let points = &self.points;
        self.areas.resize(surface.triangles.len(), DVec3::ZERO);
        for &t in &self.triangles {
            let [a, b, c] = surface.triangles[t as usize].map(|node| points[node as usize]);
            self.areas[t as usize] = (b - a).cross(c - a);
        }
        self.gradients.resize(points.len(), DVec3::ZERO);
        self.normals.resize(points.len(), DVec3::ZERO);
        let caps = surface.first_cap as u32..surface.first_sheet as u32;
        for node in self.free.iter().copied().chain(surface.nodes() as u32..points.len() as u32) {
            let (mut faces, mut closed) = (DVec3::ZERO, DVec3::ZERO);
            for &t in surface.corners.of(node as usize) {
                let area = self.areas[t as usize];
                closed += area;
                if !caps.contains(&t) {
                    faces += area;
                }
            }
            self.gradients[node as usize] = closed / 6.0;
            self.normals[node as usize] = unit(faces);
        }
        surface.share_apexes(&mut self.gradients);
    }

    /// No node at hand is to move.
    pub fn clear_moves(&mut self, surface: &Surface) {
        self.moves.resize(surface.nodes(), DVec3::ZERO);
        for &node in &self.nodes {
            self.moves[node as usize] = DVec3::ZERO;
        }
    }

    /// Adds `factor` times the moves.
    pub fn step(&mut self, surface: &Surface, factor: f64) {
        for &node in &self.free {
            self.points[node as usize] += self.moves[node as usize] * factor;
        }
        surface.place_apexes(&mut self.points);
    }

    /// The largest part of `factor` on the moves that leaves each of some nodes within its bound of where it started.
    pub fn bounded<'a>(
        &self,
        nodes: impl IntoIterator<Item = &'a u32>,
        factor: f64,
        bound: impl Fn(u32) -> f64,
    ) -> f64 {
        let way = |&node: &u32| (self.moved(node as usize), self.moves[node as usize], bound(node));
        bounded(nodes.into_iter().map(way), factor)
    }

    /// Writes what moved back to the points it was loaded from.
    pub fn store(&self, surface: &Surface, points: &mut Points) {
        for &node in &self.nodes {
            let moved = self.moved(node as usize);
            if moved != DVec3::ZERO {
                for &slot in surface.members.of(node as usize) {
                    let p = points.get(slot as usize).as_dvec3() + moved;
                    points.set(slot as usize, p.as_vec3());
                }
            }
        }
    }
}

/// The largest part of `factor` that takes nothing farther than it may: of all ways so far, what is added to them at 1, and
/// the bound.
pub(crate) fn bounded(ways: impl Iterator<Item = (DVec3, DVec3, f64)>, factor: f64) -> f64 {
    let sign = factor.signum();
    let mut allowed = factor.abs();
    for (moved, w, bound) in ways {
        let w = w * sign;
        if w == DVec3::ZERO || (moved + w * allowed).length_squared() <= bound * bound {
            continue;
        }
        // |moved + s·w| = bound.
        let (a, b, c) = (w.length_squared(), moved.dot(w), moved.length_squared() - bound * bound);
        let root = (b * b - a * c).max(0.0).sqrt();
        allowed = allowed.min(((root - b) / a).max(0.0));
    }
    allowed * sign
}

/// `1 − det(Σ w_i R_i) / Σ w_i det(R_i)`: 0 where one bone has all the weight or all move alike, towards 1 where a twist
/// collapses the skin.
fn bend(influences: &[(u32, f64)], from_bind: &[DAffine3]) -> f64 {
    if influences.len() < 2 {
        return 0.0;
    }
    let (mut blended, mut unblended) = (DMat3::ZERO, 0.0);
    for &(entry, weight) in influences {
        let matrix = from_bind[entry as usize].matrix3;
        blended += matrix * weight;
        unblended += matrix.determinant() * weight;
    }
    let lost = 1.0 - blended.determinant() / unblended;
    if lost > 0.0 && lost.is_finite() { lost } else { 0.0 }
}

/// Scaled first: a long vector squared may leave the range, and so may a short one.
pub(crate) fn unit(v: DVec3) -> DVec3 {
    (v / v.abs().max_element()).try_normalize().unwrap_or(DVec3::ZERO)
}
