//! Skin that folds into its neighbour at a bending joint is brought back to the border between the two (LV 5.4).
//!
//! A node belongs to the bone of its segment if that bone is also the nearest one at rest. If at the frame the bone of
//! a neighbouring segment is nearer, the node has crossed over: it goes back towards the closest point of its own bone
//! until it is nearer to it again. Both sides end on the border, where they touch; the volume that this takes is put
//! back elsewhere by the volume correction, which leaves nodes in contact alone. That is the bulge.
//!
//! The paper steps by a fixed Δs, which must be smaller than the flesh and is slow where the flesh is wide. Here a step
//! is a part of the way to the bone, so it is as wide as the flesh, and the last step is bisected. On the outside of the
//! bend the joint itself is the closest point of both bones; nothing folds there, the way leads nowhere, and nodes whose
//! way does not cross the border well before the bone are left alone.
//!
//! Only pairs of segments that share triangles and whose lines are bent against each other are looked at; a twist alone
//! moves no border.
//!
//! Oracle: no triangle of one segment cuts one of the other (tests/volume.rs).

use super::body::surface::Segment;
use super::body::{Body, Reach, Surface};
use super::bound::{AtRest, Binding, Bound, Log, PosedBones, Work};
use super::entry::{Correction, no_signals};
use crate::csr::Csr;
use crate::limbs::{Leaf, Limbs};
use crate::param::ParamSpec;
use glam::DVec3;

/// Steps from the skin to the bone, and how many of them may be taken.
const STEPS: u32 = 16;
const MOST_STEPS: u32 = 15;
const BISECTIONS: u32 = 30;
/// Nearer by this factor is nearer: both sides stop just short of the border.
const CLEARANCE: f64 = 0.999;
/// Distances that differ by less are equal.
const ON_THE_BORDER: f64 = 1e-9;

/// The correction `fold-over`.
pub(super) const FOLD_OVER: Correction = Correction {
    name: "fold-over",
    about: "keeps skin in contact where a joint bends, instead of passing through itself",
    params: PARAMS,
    mapped: None,
    tables: &[],
    scaled: &[],
    signals: no_signals,
    bind: |binding| Box::new(FoldOver::bind(binding)),
};

const PARAMS: &[ParamSpec] = &[ParamSpec::number(
    "angle",
    "rad",
    [0.0, std::f64::consts::PI],
    0.15,
    "joints that bend less than this are skipped",
)];

/// Two segments that meet, and the nodes of the first that are its own at rest.
#[derive(Clone, Debug)]
struct Pair {
    own: u32,
    other: u32,
}

/// The pairs of one surface.
#[derive(Clone, Debug)]
pub(super) struct FoldOver {
    pairs: Vec<Pair>,
    /// Nodes of each pair.
    nodes: Csr,
    /// Cosine of the angle from which a joint counts as bent.
    straight: f64,
    gain: f64,
}

impl FoldOver {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { rig, surface, .. } = *binding;
        let rest = rig.kept::<AtRest>();
        let limbs = Limbs::at(rig, &rest.world, Leaf::Skin);
        let mut meeting: Vec<(u32, u32)> = Vec::new();
        for (own, others) in surface.segment_neighbours.iter().enumerate() {
            for &other in others.iter().filter(|&&other| other != own as u32) {
                meeting.extend([(own as u32, other), (other, own as u32)]);
            }
        }
        meeting.sort_unstable();
        meeting.dedup();
        let mut nodes = Vec::new();
        for (pair, &(own, other)) in meeting.iter().enumerate() {
            let [bone, neighbour] = [own, other].map(|segment| surface.segments[segment as usize].bone);
            for &node in surface.segment_nodes.of(own as usize) {
                let p = rest.points[surface.members.of(node as usize)[0] as usize];
                // What lies on the border itself is kept there.
                if limbs.distance(bone.index(), p) <= (1.0 + ON_THE_BORDER) * limbs.distance(neighbour.index(), p) {
                    nodes.push((pair as u32, node));
                }
            }
        }
        let nodes = Csr::new(meeting.len(), nodes);
        let pairs = meeting.into_iter().map(|(own, other)| Pair { own, other }).collect();
        Self { pairs, nodes, straight: straight(binding), gain: binding.gain }
    }

    /// Brings back what has crossed over and holds it there; tells how many nodes.
    fn bring_back(&self, place: &PosedBones<'_>, surface: &Surface, body: &mut Body, limbs: &mut Limbs) -> usize {
        let mut found = 0;
        limbs.pose(place.rig, place.world, Leaf::Skin, place.origin + body.centre());
        for (index, pair) in self.pairs.iter().enumerate() {
            let [own, other] = [pair.own, pair.other].map(|segment| &surface.segments[segment as usize]);
            let turned = |bone: &Segment, by: &Segment| {
                // Where the line of one bone would be if it had followed the other.
                let line = limbs.direction(bone.bone.index());
                if line == DVec3::ZERO {
                    return 1.0;
                }
                let [from, to] = [bone, by].map(|segment| body.from_bind[segment.entry as usize].matrix3);
                line.dot((to * (from.inverse() * line)).normalize_or_zero())
            };
            // Not a number where a bone is scaled to nothing.
            let bent = turned(own, other).min(turned(other, own)) < self.straight;
            let still = body.still[pair.own as usize] && body.still[pair.other as usize];
            if self.nodes.of(index).is_empty() || still || !bent {
                continue;
            }
            for &node in self.nodes.of(index) {
                // A part of the way was asked for, and it has been gone.
                if (self.gain < 1.0 && body.held[node as usize]) || body.pinned[node as usize] {
                    continue;
                }
                let p = body.points[node as usize];
                let closest = limbs.closest(own.bone.index(), p);
                let crossed = |p: DVec3| p.distance(closest) > CLEARANCE * limbs.distance(other.bone.index(), p);
                // What is just short of the border stays as it is, and so does what is beside the joint itself.
                if p.distance(closest) <= (1.0 + ON_THE_BORDER) * limbs.distance(other.bone.index(), p) {
                    continue;
                }
                let Some(back) = way_back(|part| crossed(p.lerp(closest, part))) else { continue };
                body.points[node as usize] = p.lerp(closest, back * self.gain);
                body.held[node as usize] = true;
                found += 1;
            }
        }
        if found > 0 {
            surface.place_apexes(&mut body.points);
        }
        found
    }
}

fn straight(binding: &Binding<'_>) -> f64 {
    binding.values.number("angle").cos()
}

impl Bound for FoldOver {
    fn retune(&mut self, binding: &Binding<'_>, _: bool) {
        (self.straight, self.gain) = (straight(binding), binding.gain);
    }

    fn apply(&self, place: &PosedBones<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        let Work { body, memory } = work;
        let still = body.is_still();
        let points = if still { 0 } else { memory.with(|limbs| self.bring_back(place, surface, body, limbs)) };
        log.contacts(points);
        points
    }

    fn makes_contacts(&self) -> bool {
        true
    }

    fn reach(&self) -> Reach {
        Reach::Moving
    }
}

/// The part of the way to the bone at which the node is back.
fn way_back(crossed: impl Fn(f64) -> bool) -> Option<f64> {
    let step = 1.0 / f64::from(STEPS);
    let back = (1..=MOST_STEPS).map(|k| f64::from(k) * step).find(|&part| !crossed(part))?;
    let (mut over, mut back) = (back - step, back);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (over + back);
        if crossed(middle) { over = middle } else { back = middle }
    }
    Some(back)
}
