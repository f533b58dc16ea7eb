//! The skin that swings behind its bones: springs with history, as a function of the clip.
//!
//! What the correction finds without history is where the skin comes to rest. Here is how far it is from there, o, in bind
//! units and in axes that turn with the bones. The springs between neighbours and to the bones are those of
//! [`super::model`]; skin weighs by its area, so that fine and coarse meshes swing alike:
//! `M ö + 2ζω M ȯ + ω² K o = −M A`, `M_i = A_i/ℓ̄²`, `K = κ_b A_i/ℓ_i² + κ_s c_ij`. ω is that of skin as far from its bone as
//! skin is in the mean, ℓ̄; thick flesh swings slower and farther, in proportion to its distance. A is what the point feels,
//! the acceleration that bones carry it with ([`crate::motion`], as muscles feel it), each bone's in its own frame: bones
//! that stand still or travel evenly leave the skin at rest, whatever their pose.
//!
//! Steps are those of the L-stable method of second order with two equal stages (Alexander 1977): whatever is too stiff or
//! too fine to swing at this pace is where it rests. Both stages solve one matrix by conjugate gradients. A clip is run
//! through once, at [`STEPS`] a swing, when first asked for; a loop again and again until it comes round by [`CLOSED`] of
//! its largest offset, and its last node is its first. Every [`KEPT`]th node is kept, in f32, and read by the cubic through
//! values and rates: any frame, any order, the same bits.
//!
//! Heads, hands, feet and what is rigid do not swing: they are held [`FIRM`] times as hard.
//!
//! Oracles: the damped oscillator in closed form; energy that falls; loops that close to the bit; slow motion that leaves
//! the equilibrium alone.

use super::carried::Carrying;
use super::model::Springs;
use crate::anatomy::{Anatomy, Role};
use crate::correct::body::Surface;
use crate::motion::{Felt, FeltWork, Motion};
use crate::rig::Rig;
use crate::skeleton::{BoneId, Skeleton};
use glam::{DAffine3, DMat3, DVec3, Vec3};
use std::f64::consts::TAU;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Steps of a run per swing, and per second at least.
const STEPS: f64 = 40.0;
const LEAST_RATE: f64 = 90.0;
/// Steps between nodes that are kept.
const KEPT: usize = 3;
/// Most steps of a run, as many as filters keep.
const MOST_STEPS: usize = 65_536;
/// What a loop may miss its start by, of its largest offset; and how often it is run through for that.
const CLOSED: f64 = 1e-6;
const MOST_ROUNDS: usize = 200;
/// γ of the method.
const STAGE: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// Where conjugate gradients end, of the right side.
const SOLVED: f64 = 1e-8;
const MOST_ITERATIONS: usize = 400;
/// How much harder than flesh firm parts are held.
const FIRM: f64 = 1e4;
/// No skin is held less, of what holds skin of mean distance: nothing would bring it back.
const LEAST_HELD: f64 = 0.01;

/// How fast and how far skin swings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    pub hertz: f64,
    /// Damping ratio.
    pub damping: f64,
    /// Most offset, in distances to the bone.
    pub limit: f64,
}

/// A bone that skin hangs on.
#[derive(Clone, Copy, Debug)]
struct Carrier {
    bone: BoneId,
    bone_from_bind: DAffine3,
    bind_from_bone: DMat3,
}

/// The skin of one character as it swings.
#[derive(Clone, Debug)]
pub(crate) struct Swing {
    pace: Pace,
    carriers: Vec<Carrier>,
    /// Bones of each node, in offset form.
    weights: Vec<(u32, f64)>,
    weight_stops: Vec<u32>,
    bind: Vec<DVec3>,
    /// Distances to the bones.
    lengths: Vec<f64>,
    firm: Vec<bool>,
    mass: Vec<f64>,
    held: Vec<f64>,
    /// Neighbours of each node and how hard they pull, in offset form.
    spokes: Vec<(u32, f64)>,
    stops: Vec<u32>,
    fingerprint: u64,
}

/// Memory of steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct SwingWork {
    maps: Vec<DAffine3>,
    drive: Vec<DVec3>,
    right: Vec<DVec3>,
    first: Vec<DVec3>,
    aside: Vec<DVec3>,
    residual: Vec<DVec3>,
    direction: Vec<DVec3>,
    image: Vec<DVec3>,
    diagonal: Vec<f64>,
}

/// How far the skin is from where it rests, and where it goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SwingState {
    offsets: Vec<DVec3>,
    rates: Vec<DVec3>,
    /// What it felt last.
    drive: Vec<DVec3>,
}

impl SwingState {
    fn clear(&mut self, nodes: usize) {
        for values in [&mut self.offsets, &mut self.rates, &mut self.drive] {
            values.clear();
            values.resize(nodes, DVec3::ZERO);
        }
    }
}

impl Swing {
    pub(super) fn new(rig: &Rig, surface: &Surface, carrying: &Carrying, anchors: &[DVec3]) -> Self {
        let bone_from_rest: Vec<DAffine3> = rig.palette().iter().map(|entry| entry.bone_from_rest).collect();
        let carrier = |entry: u32| {
            let bone_from_bind = surface.world_from_bind(entry, &bone_from_rest);
            let inverse = bone_from_bind.matrix3.inverse();
            let bind_from_bone = if inverse.is_finite() { inverse } else { DMat3::ZERO };
            Carrier { bone: rig.palette()[entry as usize].bone, bone_from_bind, bind_from_bone }
        };
        let nodes = surface.nodes();
        let (mut weights, mut weight_stops) = (Vec::new(), Vec::with_capacity(nodes));
        for node in 0..nodes {
            weights.extend_from_slice(carrying.of(node));
            weight_stops.push(weights.len() as u32);
        }
        let bind = surface.bind[..nodes].to_vec();
        Self {
            pace: Pace { hertz: 1.0, damping: 1.0, limit: 0.0 },
            carriers: (0..bone_from_rest.len() as u32).map(carrier).collect(),
            weights,
            weight_stops,
            lengths: bind.iter().zip(anchors).map(|(p, a)| p.distance(*a)).collect(),
            bind,
            firm: firm(rig, surface),
            mass: Vec::new(),
            held: Vec::new(),
            spokes: Vec::new(),
            stops: Vec::new(),
            fingerprint: 0,
        }
    }

    /// Swings on these springs at this pace.
    pub(super) fn tune(&mut self, springs: &Springs, pace: Pace) {
        self.pace = pace;
        let nodes = springs.len();
        let (mut far, mut area) = (0.0, 0.0);
        for node in (0..nodes).filter(|&node| springs.rest[node] > 0.0) {
            far += springs.areas[node] * springs.rest[node];
            area += springs.areas[node];
        }
        let mean = if far > 0.0 { far / area } else { 1.0 };
        self.mass.clear();
        self.mass.extend(springs.areas.iter().map(|area| area / (mean * mean)));
        self.held.clear();
        self.spokes.clear();
        self.stops.clear();
        for node in 0..nodes {
            let firmly = if self.firm[node] { FIRM } else { 1.0 };
            self.held.push(springs.held[node].max(LEAST_HELD * self.mass[node]) * firmly);
            for &(index, second) in springs.of(node) {
                let edge = &springs.edges[index as usize];
                self.spokes.push((edge.ends[usize::from(!second)], edge.surface));
            }
            self.stops.push(self.spokes.len() as u32);
        }
        self.fingerprint = self.hash();
    }

    /// The same for two that swing alike.
    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        [self.pace.hertz, self.pace.damping].map(f64::to_bits).hash(&mut hasher);
        for carrier in &self.carriers {
            carrier.bone.hash(&mut hasher);
            carrier.bone_from_bind.to_cols_array().map(f64::to_bits).hash(&mut hasher);
        }
        self.weight_stops.hash(&mut hasher);
        self.stops.hash(&mut hasher);
        for (index, weight) in self.weights.iter().chain(&self.spokes) {
            (index, weight.to_bits()).hash(&mut hasher);
        }
        for number in self.mass.iter().chain(&self.held) {
            number.to_bits().hash(&mut hasher);
        }
        self.bind.iter().for_each(|p| p.to_array().map(f64::to_bits).hash(&mut hasher));
        hasher.finish()
    }

    fn omega(&self) -> f64 {
        TAU * self.pace.hertz
    }

    fn nodes(&self) -> usize {
        self.mass.len()
    }

    fn of<'a, T>(list: &'a [T], stops: &[u32], node: usize) -> &'a [T] {
        let start = node.checked_sub(1).map_or(0, |before| stops[before] as usize);
        &list[start..stops[node] as usize]
    }

    /// What each node feels, in bind units, from what bones feel.
    fn drive(&self, felt: &[Felt], maps: &mut Vec<DAffine3>, out: &mut Vec<DVec3>) {
        maps.clear();
        maps.extend(self.carriers.iter().map(|carrier| {
            let Some(&[acceleration, x, y, z, ..]) = felt.get(carrier.bone.index()) else { return DAffine3::ZERO };
            let (strain, inverse) = (DMat3::from_cols(x, y, z), carrier.bind_from_bone);
            DAffine3 {
                matrix3: inverse * strain * carrier.bone_from_bind.matrix3,
                translation: inverse * (acceleration + strain * carrier.bone_from_bind.translation),
            }
        }));
        out.clear();
        out.extend(self.bind.iter().enumerate().map(|(node, &p)| {
            let of = |&(entry, w): &(u32, f64)| maps[entry as usize].transform_point3(p) * w;
            let felt: DVec3 = Self::of(&self.weights, &self.weight_stops, node).iter().map(of).sum();
            if felt.is_finite() { felt } else { DVec3::ZERO }
        }));
    }

    /// `K x` at a node.
    fn pull(&self, x: &[DVec3], node: usize) -> DVec3 {
        let here = x[node];
        let from = |&(other, pull): &(u32, f64)| (here - x[other as usize]) * pull;
        here * self.held[node] + Self::of(&self.spokes, &self.stops, node).iter().map(from).sum::<DVec3>()
    }

    /// Solves `(m M + k K) x = right` by conjugate gradients from `x`, each axis by itself.
    fn solve(&self, (m, k): (f64, f64), x: &mut [DVec3], work: &mut SwingWork) {
        let SwingWork { right, residual, direction, image, diagonal, .. } = work;
        diagonal.clear();
        diagonal.extend((0..self.nodes()).map(|node| {
            let pulls: f64 = Self::of(&self.spokes, &self.stops, node).iter().map(|spoke| spoke.1).sum();
            m * self.mass[node] + k * (self.held[node] + pulls)
        }));
        let inverse = |node: usize| if diagonal[node] > 0.0 { diagonal[node].recip() } else { 0.0 };
        let apply = |x: &[DVec3], node: usize| x[node] * (m * self.mass[node]) + self.pull(x, node) * k;
        residual.clear();
        residual.extend((0..self.nodes()).map(|node| right[node] - apply(x, node)));
        let size = |v: &[DVec3]| -> DVec3 { v.iter().enumerate().map(|(node, r)| *r * *r * inverse(node)).sum() };
        let enough = size(right) * (SOLVED * SOLVED);
        let mut left = size(residual);
        direction.clear();
        direction.extend(residual.iter().enumerate().map(|(node, r)| *r * inverse(node)));
        for _ in 0..MOST_ITERATIONS {
            if left.cmple(enough).all() {
                break;
            }
            image.clear();
            image.extend((0..self.nodes()).map(|node| apply(direction, node)));
            let across: DVec3 = direction.iter().zip(&*image).map(|(d, q)| *d * *q).sum();
            let step = quotient(left, across);
            for node in 0..self.nodes() {
                x[node] += direction[node] * step;
                residual[node] -= image[node] * step;
            }
            let now = size(residual);
            let turn = quotient(now, left);
            for node in 0..self.nodes() {
                direction[node] = residual[node] * inverse(node) + direction[node] * turn;
            }
            left = now;
        }
    }

    /// `secs` on, while what is felt goes evenly from the state's to `work.drive`.
    fn step(&self, state: &mut SwingState, secs: f64, work: &mut SwingWork) {
        let (omega, h) = (self.omega(), STAGE * secs);
        let (square, damping) = (omega * omega, 2.0 * self.pace.damping * omega);
        let matrix = (1.0 + h * damping, h * h * square);
        let later = (1.0 - STAGE) * secs;
        let drive = std::mem::take(&mut work.drive);
        let SwingState { offsets, rates, drive: before } = state;
        work.right.clear();
        work.right.extend((0..self.nodes()).map(|node| {
            let felt = before[node].lerp(drive[node], STAGE);
            (rates[node] - felt * h) * self.mass[node] - self.pull(offsets, node) * (h * square)
        }));
        let (mut first, mut aside) = (std::mem::take(&mut work.first), std::mem::take(&mut work.aside));
        first.clone_from(rates);
        self.solve(matrix, &mut first, work);
        aside.clear();
        aside.extend(offsets.iter().zip(&first).map(|(o, rate)| *o + *rate * later));
        work.right.clear();
        work.right.extend((0..self.nodes()).map(|node| {
            let rate = rates[node] + (first[node] - rates[node]) * (later / h);
            (rate - drive[node] * h) * self.mass[node] - self.pull(&aside, node) * (h * square)
        }));
        rates.copy_from_slice(&first);
        self.solve(matrix, rates, work);
        for (node, offset) in offsets.iter_mut().enumerate() {
            *offset = aside[node] + rates[node] * h;
        }
        before.clone_from(&drive);
        (work.drive, work.first, work.aside) = (drive, first, aside);
    }

    /// Where the skin hangs that has felt `work.drive` for ever.
    fn steady(&self, state: &mut SwingState, work: &mut SwingWork) {
        state.clear(self.nodes());
        state.drive.clone_from(&work.drive);
        work.right.clear();
        work.right.extend(work.drive.iter().zip(&self.mass).map(|(felt, mass)| -*felt * *mass));
        let square = self.omega() * self.omega();
        self.solve((0.0, square), &mut state.offsets, work);
    }

    /// The step of poses that arrive one by one: `secs` after the last, what bones feel held over them.
    pub fn follow(&self, felt: &[Felt], secs: f64, state: &mut SwingState, work: &mut SwingWork) {
        let mut drive = std::mem::take(&mut work.drive);
        self.drive(felt, &mut work.maps, &mut drive);
        work.drive = drive;
        if state.offsets.len() != self.nodes() {
            state.clear(self.nodes());
        } else if secs > 0.0 && secs.is_finite() {
            let steps = (secs * self.rate()).ceil().clamp(1.0, 1e4);
            state.drive.clone_from(&work.drive);
            for _ in 0..steps as usize {
                self.step(state, secs / steps, work);
            }
        }
    }

    fn rate(&self) -> f64 {
        (STEPS * self.pace.hertz).max(LEAST_RATE)
    }

    /// Intervals between nodes that are kept.
    fn intervals(&self, secs: f64) -> usize {
        let steps = (secs * self.rate()).ceil().clamp(1.0, MOST_STEPS as f64) as usize;
        steps.div_ceil(KEPT)
    }

    /// Bytes that a clip of this length takes.
    pub fn bytes(&self, secs: f64) -> u128 {
        (self.intervals(secs) as u128 + 1) * self.nodes() as u128 * size_of::<Kept>() as u128
    }

    /// The run over a clip, made when first asked for.
    pub fn run_over(&self, motion: &Motion, skeleton: &Skeleton) -> Arc<SwingRun> {
        motion.runs().get_or_make(self.fingerprint, || self.run(motion, skeleton))
    }

    fn run(&self, motion: &Motion, skeleton: &Skeleton) -> SwingRun {
        let (start, end, loops) = motion.span();
        let intervals = self.intervals(end - start);
        let (steps, mut kept) = (intervals * KEPT, Vec::new());
        let time = |step: usize| start + (end - start) * (step as f64 / steps as f64);
        let secs = (end - start) / steps as f64;
        let (mut state, mut work, mut felt) = (SwingState::default(), SwingWork::default(), FeltWork::default());
        let mut feel = |step: usize, work: &mut SwingWork| {
            let mut drive = std::mem::take(&mut work.drive);
            self.drive(motion.felt_at(time(step), skeleton, &mut felt), &mut work.maps, &mut drive);
            work.drive = drive;
        };
        let restart = |state: &mut SwingState, work: &mut SwingWork| match motion.continues() {
            true => self.steady(state, work),
            false => {
                state.clear(self.nodes());
                state.drive.clone_from(&work.drive);
            }
        };
        feel(0, &mut work);
        restart(&mut state, &mut work);
        let comes_round = loops && !motion.has_cut(f64::NEG_INFINITY, start);
        for _ in 0..MOST_ROUNDS {
            kept.clear();
            keep(&state, &mut kept);
            let before = state.clone();
            let mut largest = 0.0f64;
            for step in 1..=steps {
                // The end of a loop feels what its start does.
                feel(if comes_round && step == steps { 0 } else { step }, &mut work);
                if motion.has_cut(time(step - 1), time(step)) {
                    restart(&mut state, &mut work);
                } else {
                    self.step(&mut state, secs, &mut work);
                }
                largest = state.offsets.iter().map(|o| o.length_squared()).fold(largest, f64::max);
                if step % KEPT == 0 {
                    keep(&state, &mut kept);
                }
            }
            let apart = state.offsets.iter().zip(&before.offsets).map(|(a, b)| a.distance_squared(*b));
            if !comes_round || apart.fold(0.0, f64::max) <= CLOSED * CLOSED * largest {
                break;
            }
        }
        if comes_round {
            let nodes = self.nodes();
            kept.copy_within(..nodes, intervals * nodes);
        }
        SwingRun { start, end, intervals, kept: kept.into_boxed_slice() }
    }

    /// Offsets at a time of a clip, held back and faded as the clip's ends ask.
    pub fn at(&self, motion: &Motion, skeleton: &Skeleton, time: f64, out: &mut Vec<Vec3>) {
        out.clear();
        let (start, end, _) = motion.span();
        // A pose.
        if end <= start || motion.moving().is_empty() {
            return;
        }
        let run = self.run_over(motion, skeleton);
        let (time, presence) = (motion.sample_time(time), motion.presence(time));
        run.read(motion, time, self.nodes(), out);
        self.hold_back(presence, out);
    }

    /// Offsets of a state.
    pub fn read(&self, state: &SwingState, out: &mut Vec<Vec3>) {
        out.clear();
        out.extend(state.offsets.iter().map(|o| o.as_vec3()));
        self.hold_back(1.0, out);
    }

    /// No farther than the limit, however hard it is thrown.
    fn hold_back(&self, presence: f64, offsets: &mut [Vec3]) {
        for (offset, length) in offsets.iter_mut().zip(&self.lengths) {
            let (most, far) = (self.pace.limit * length, f64::from(offset.length()));
            let share = if far > 0.0 { most / most.hypot(far) } else { 0.0 };
            *offset *= (presence * share) as f32;
            if !offset.is_finite() {
                *offset = Vec3::ZERO;
            }
        }
    }

    /// Kinetic energy and that of the springs.
    #[cfg(test)]
    fn energy(&self, state: &SwingState) -> f64 {
        let square = self.omega() * self.omega();
        (0..self.nodes())
            .map(|node| {
                let stored = self.pull(&state.offsets, node).dot(state.offsets[node]) * square;
                0.5 * (stored + state.rates[node].length_squared() * self.mass[node])
            })
            .sum()
    }
}

/// By axes; 0 where there is nothing to divide by.
fn quotient(a: DVec3, b: DVec3) -> DVec3 {
    DVec3::select(b.cmpgt(DVec3::ZERO), a / b, DVec3::ZERO)
}

/// Nodes of what is firm: rigid pieces, heads, hands and feet.
fn firm(rig: &Rig, surface: &Surface) -> Vec<bool> {
    let anatomy = rig.kept::<Anatomy>();
    let is_firm = |&slot: &u32| {
        let slot = slot as usize;
        let role = anatomy.role_of_point(slot);
        let piece = anatomy.piece_of_point(slot).is_some_and(|piece| anatomy.pieces()[piece].rigid);
        let bony = matches!(role, Role::Head | Role::Jaw | Role::Hand | Role::Foot);
        piece || bony || role.is_rigid() || rig.is_rider(slot)
    };
    surface.members.iter().map(|slots| slots.iter().any(is_firm)).collect()
}

/// Offset and rate of a node.
type Kept = [Vec3; 2];

fn keep(state: &SwingState, kept: &mut Vec<Kept>) {
    kept.extend(state.offsets.iter().zip(&state.rates).map(|(offset, rate)| [offset.as_vec3(), rate.as_vec3()]));
}

/// A clip run through.
#[derive(Debug)]
pub(crate) struct SwingRun {
    start: f64,
    end: f64,
    intervals: usize,
    /// Node of the run by node of the run.
    kept: Box<[Kept]>,
}

impl SwingRun {
    fn read(&self, motion: &Motion, time: f64, nodes: usize, out: &mut Vec<Vec3>) {
        let at = |index: usize| self.start + (self.end - self.start) * (index as f64 / self.intervals as f64);
        let place = (time - self.start) / (self.end - self.start) * self.intervals as f64;
        let index = (place.max(0.0) as usize).min(self.intervals - 1);
        let (begin, end) = (at(index), at(index + 1));
        let share = ((time - begin) / (end - begin)).clamp(0.0, 1.0);
        let [from, to] = [index, index + 1].map(|index| &self.kept[index * nodes..][..nodes]);
        let both = from.iter().zip(to);
        if motion.has_cut(begin, end) {
            // What was before a cut goes on as it went; after it the skin starts to swing anew.
            let since = motion.has_cut(begin, time);
            let secs = (time - begin) as f32;
            out.extend(both.map(|(a, b)| if since { b[0] * share as f32 } else { a[0] + a[1] * secs }));
            return;
        }
        let (s, rest, secs) = (share, 1.0 - share, end - begin);
        let [a, b, c, d] =
            [rest * rest * (1.0 + 2.0 * s), s * s * (3.0 - 2.0 * s), secs * s * rest * rest, -secs * s * s * rest]
                .map(|factor| factor as f32);
        out.extend(both.map(|(from, to)| from[0] * a + to[0] * b + from[1] * c + to[1] * d));
    }
}

/// How far the skins of a frame are from where they rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Swung {
    skins: Vec<SwungSkin>,
    /// Those in use.
    count: usize,
}

#[derive(Clone, Debug, Default)]
struct SwungSkin {
    character: usize,
    correction: usize,
    offsets: Vec<Vec3>,
}

impl Swung {
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Room for the offsets of a character's skin by one correction.
    pub fn begin(&mut self, character: usize, correction: usize) -> &mut Vec<Vec3> {
        if self.count == self.skins.len() {
            self.skins.push(SwungSkin::default());
        }
        self.count += 1;
        let skin = &mut self.skins[self.count - 1];
        (skin.character, skin.correction) = (character, correction);
        skin.offsets.clear();
        &mut skin.offsets
    }

    /// Empty where nothing swings.
    pub fn of(&self, character: usize, correction: usize) -> &[Vec3] {
        let is_it = |skin: &&SwungSkin| (skin.character, skin.correction) == (character, correction);
        self.skins[..self.count].iter().find(is_it).map_or(&[], |skin| &skin.offsets)
    }
}

#[cfg(test)]
#[allow(clippy::print_stdout, reason = "the figures are read by hand")]
mod tests {
    use super::super::model::{BoneSpring, SpringRest, Stiffness};
    use super::*;
    use crate::attach::tests::tube;
    use crate::topology::Adjacency;

    const PACE: Pace = Pace { hertz: 2.0, damping: 0.15, limit: 1.0 };

    /// A tube along +Y of one bone, radius 0.5.
    fn swing(rings: usize, around: usize, pace: Pace) -> Swing {
        let (points, faces) = tube(|t| (DVec3::Y * (4.0 * t), DVec3::X, DVec3::Z), 0.5, rings, around);
        let anchors: Vec<DVec3> = points.iter().map(|p| DVec3::Y * p.y).collect();
        let lines = vec![DVec3::Y; points.len()];
        let adjacency = Adjacency::new(points.len(), &faces);
        let rest = SpringRest {
            points: &points,
            anchors: &anchors,
            lines: &lines,
            adjacency: &adjacency,
            faces: &faces,
            bridges: &[],
            factors: &[],
            blend_length: None,
        };
        let springs = Springs::new(&rest, &Stiffness::default(), BoneSpring::Place);
        let mut swing = Swing {
            pace,
            carriers: Vec::new(),
            weights: Vec::new(),
            weight_stops: vec![0; points.len()],
            lengths: vec![0.5; points.len()],
            firm: vec![false; points.len()],
            bind: points,
            mass: Vec::new(),
            held: Vec::new(),
            spokes: Vec::new(),
            stops: Vec::new(),
            fingerprint: 0,
        };
        swing.tune(&springs, pace);
        swing
    }

    fn still(swing: &Swing) -> SwingState {
        let mut state = SwingState::default();
        state.clear(swing.nodes());
        state
    }

    #[test]
    fn a_skin_that_is_pushed_as_a_whole_is_one_damped_oscillator() {
        for damping in [0.05, 0.3, 1.0 - 1e-9] {
            let swing = swing(21, 12, Pace { damping, ..PACE });
            let (omega, secs) = (TAU * PACE.hertz, 1.0 / swing.rate());
            let push = DVec3::new(1.0, 0.0, -0.5);
            let (mut state, mut work) = (still(&swing), SwingWork::default());
            state.drive.fill(push);
            let mut worst = 0.0f64;
            for step in 1..=200 {
                work.drive = vec![push; swing.nodes()];
                swing.step(&mut state, secs, &mut work);
                let t = secs * f64::from(step);
                let under = omega * (1.0 - damping * damping).sqrt();
                let phase = (under * t).cos() + damping * omega / under * (under * t).sin();
                let expected = -push / (omega * omega) * (1.0 - (-damping * omega * t).exp() * phase);
                let off = |o: &DVec3| (*o - expected).length() * omega * omega / push.length();
                worst = state.offsets.iter().map(off).fold(worst, f64::max);
            }
            println!("damping {damping}: off by {worst:.1e} of where it settles, over five swings");
            assert!(worst < 0.03, "{worst}");
        }
    }

    #[test]
    fn finer_steps_come_to_the_closed_form_by_the_square() {
        let push = DVec3::X;
        let error = |refined: f64| {
            let swing = swing(21, 12, PACE);
            let (omega, secs) = (TAU * PACE.hertz, 1.0 / (swing.rate() * refined));
            let (mut state, mut work) = (still(&swing), SwingWork::default());
            state.drive.fill(push);
            let steps = (0.6 / secs).round();
            for _ in 0..steps as usize {
                work.drive = vec![push; swing.nodes()];
                swing.step(&mut state, secs, &mut work);
            }
            let (t, under) = (steps * secs, omega * (1.0 - PACE.damping * PACE.damping).sqrt());
            let phase = (under * t).cos() + PACE.damping * omega / under * (under * t).sin();
            let expected = -push / (omega * omega) * (1.0 - (-PACE.damping * omega * t).exp() * phase);
            state.offsets.iter().map(|o| (*o - expected).length()).fold(0.0, f64::max)
        };
        let [one, two] = [1.0, 2.0].map(error);
        println!("{one:.2e} off, {two:.2e} with steps half as long");
        assert!(two < 0.3 * one, "{one} {two}");
    }

    #[test]
    fn energy_falls_where_nothing_drives() {
        let swing = swing(15, 10, Pace { damping: 0.02, ..PACE });
        let (mut state, mut work) = (still(&swing), SwingWork::default());
        let mut seed = 5u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        state.offsets.iter_mut().for_each(|o| *o = DVec3::new(random(), random(), random()));
        state.rates.iter_mut().for_each(|o| *o = DVec3::new(random(), random(), random()) * 10.0);
        let mut before = swing.energy(&state);
        let first = before;
        for _ in 0..400 {
            work.drive = vec![DVec3::ZERO; swing.nodes()];
            swing.step(&mut state, 1.0 / swing.rate(), &mut work);
            let now = swing.energy(&state);
            assert!(now <= before * (1.0 + 1e-6), "{before} → {now}");
            before = now;
        }
        assert!(before < 0.5 * first);
    }

    #[test]
    fn fine_and_coarse_skins_swing_alike_and_hang_where_steady_says() {
        // Pulled apart along the tube: neighbours feel each other.
        let pull = |p: DVec3| DVec3::new((p.y - 2.0).powi(2), 0.0, 0.3 * p.x);
        let hang = |rings: usize, around: usize| {
            let swing = swing(rings, around, Pace { damping: 0.7, ..PACE });
            let drive: Vec<DVec3> = swing.bind.iter().map(|&p| pull(p)).collect();
            let (mut state, mut steady, mut work) = (still(&swing), SwingState::default(), SwingWork::default());
            work.drive.clone_from(&drive);
            swing.steady(&mut steady, &mut work);
            state.drive.clone_from(&drive);
            for _ in 0..600 {
                work.drive.clone_from(&drive);
                swing.step(&mut state, 1.0 / swing.rate(), &mut work);
            }
            let largest = steady.offsets.iter().map(|o| o.length()).fold(0.0, f64::max);
            let apart = state.offsets.iter().zip(&steady.offsets).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(apart < 1e-5 * largest, "{apart} of {largest}");
            let middle = swing.bind.iter().zip(&steady.offsets).filter(|(p, _)| p.y < 0.05).map(|(_, o)| o.x);
            let (sum, count) = middle.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
            sum / count
        };
        let [coarse, fine] = [hang(21, 10), hang(61, 30)];
        println!("the end hangs {coarse:.5} off, {fine:.5} on a finer mesh");
        assert!((coarse / fine - 1.0).abs() < 0.03, "{coarse} {fine}");
    }
}
