//! The springs of a character: what they join, and its frames as they want them.

use super::carried::{Carried, Carrying};
use super::model::{BoneSpring, SpringFrame, SpringRest, Springs, Stiffness};
use super::rows::SpringRows;
use super::swing::Swing;
use crate::attach::hanging::{HangPlan, Hanging, Hung};
use crate::bvh::Bvh;
use crate::control_points::DisjointSets;
use crate::correct::body::Surface;
use crate::rig::{OfRig, Rig};
use crate::topology::Adjacency;
use glam::{DAffine3, DVec3};
use std::sync::{Arc, OnceLock};

/// Points of different pieces are joined if they share at least so much of the bones that carry them: a sleeve and its
/// arm, not a sword and the thigh beside it.
const ALIKE: f64 = 0.5;

/// What the springs of a skin join.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub hanging: Arc<Hanging>,
    joined: Arc<Joined>,
    pub springs: Springs,
    pub rows: SpringRows,
}

/// What does not depend on the stiffness.
#[derive(Debug)]
struct Joined {
    carrying: Carrying,
    /// Attachment points and directions of lines at bind.
    anchors: Vec<DVec3>,
    lines: Vec<DVec3>,
    faces: Vec<[u32; 3]>,
    adjacency: Adjacency,
    bridges: Vec<(u32, u32, f64)>,
}

/// A frame of a skin.
#[derive(Clone, Debug, Default)]
pub(super) struct NetFrame {
    pub hung: Hung,
    carried: Carried,
    edges: Vec<DVec3>,
}

impl NetFrame {
    /// With edits; in bind units.
    pub fn with<'a>(&'a self, edits: &'a [(f64, DVec3)]) -> SpringFrame<'a> {
        let Carried { anchors, aims, .. } = &self.carried;
        SpringFrame { anchors, aims, edges: &self.edges, lines: &self.hung.directions, edits }
    }

    /// An offset at bind, as the bones of a node turn and stretch it.
    pub fn swung(&self, node: usize, offset: DVec3) -> DVec3 {
        self.carried.turns[node] * (self.carried.stretches[node] * offset)
    }
}

impl Net {
    /// Springs of some stiffness.
    pub fn new(rig: &Rig, surface: &Surface, hanging: Arc<Hanging>) -> Self {
        let carrying = Carrying::new(rig, surface, &hanging);
        let bridges = bridges(surface, &hanging.adjacency, &carrying);
        let faces = surface.faces();
        let joined: Vec<[u32; 3]> = faces.iter().copied().chain(bridges.iter().map(|&(a, b, _)| [a, b, b])).collect();
        let adjacency = Adjacency::new(surface.nodes(), &joined);
        let (anchors, lines) = (hanging.anchors(), hanging.directions());
        let joined = Arc::new(Joined { carrying, anchors, lines, faces, adjacency, bridges });
        let mut net = Self { hanging, joined, springs: Springs::default(), rows: SpringRows::default() };
        net.springs = Springs::new(&net.rest(&surface.bind, &[]), &Stiffness::default(), BoneSpring::default());
        net.rows = SpringRows::new(&net.springs, &surface.bind);
        net
    }

    pub fn stiffen(&mut self, factors: &[Stiffness], stiffness: &Stiffness, kind: BoneSpring) {
        self.springs.kind = kind;
        self.springs.stiffen(factors, None, stiffness);
        self.rows.stiffen(&self.springs);
    }

    /// How its skin swings; to be tuned.
    pub fn swing(&self, rig: &Rig, surface: &Surface) -> Swing {
        Swing::new(rig, surface, &self.joined.carrying, &self.joined.anchors)
    }

    /// At these points.
    pub fn rest<'a>(&'a self, points: &'a [DVec3], factors: &'a [Stiffness]) -> SpringRest<'a> {
        let Joined { anchors, lines, faces, adjacency, bridges, .. } = &*self.joined;
        SpringRest { points, anchors, lines, adjacency, faces, bridges, factors, blend_length: None }
    }

    /// Where bones want a skin with these points at bind; false where a bone is flattened.
    pub fn pose(&self, from_bind: &[DAffine3], bind: &[DVec3], out: &mut NetFrame) -> bool {
        let NetFrame { hung, carried, edges } = out;
        if !self.hanging.pose(from_bind, bind, hung) {
            return false;
        }
        let Joined { carrying, anchors, lines, .. } = &*self.joined;
        carrying.pose(from_bind, bind, hung.scale, carried);
        self.springs.turned_edges((bind, anchors, lines), (&carried.turns, &carried.stretches), edges);
        true
    }
}

/// Pairs of points on different pieces: each point with the nearest of another piece within its edges' mean length,
/// where the same bones carry both.
fn bridges(surface: &Surface, adjacency: &Adjacency, carrying: &Carrying) -> Vec<(u32, u32, f64)> {
    let bind = &surface.bind;
    let mut pieces = DisjointSets::new(bind.len());
    for point in 0..bind.len() {
        adjacency.of(point).iter().for_each(|&other| pieces.union(point as u32, other));
    }
    let piece: Vec<u32> = (0..bind.len() as u32).map(|point| pieces.find(point)).collect();
    if piece.iter().all(|&p| p == piece[0]) {
        return Vec::new();
    }
    let tree = Bvh::of_points(bind);
    let pieces = tree.groups(piece.clone());
    let alike = |a: usize, b: usize| -> f64 {
        let share =
            |&(entry, w): &(u32, f64)| carrying.of(b).iter().find(|other| other.0 == entry).map(|other| other.1.min(w));
        carrying.of(a).iter().filter_map(share).sum()
    };
    let mut pairs: Vec<(u32, u32, f64)> = Vec::new();
    for (point, p) in bind.iter().enumerate() {
        let neighbours = adjacency.of(point);
        let edges: f64 = neighbours.iter().map(|&n| bind[n as usize].distance(*p)).sum();
        let within = edges / neighbours.len().max(1) as f64;
        let away = |j: u32| bind[j as usize].distance_squared(*p);
        if let Some((j, _)) = tree.nearest_other(&pieces, piece[point], *p, within * within, away) {
            let share = alike(point, j as usize);
            if share >= ALIKE {
                pairs.push((j.min(point as u32), j.max(point as u32), share));
            }
        }
    }
    pairs.sort_unstable_by_key(|pair| (pair.0, pair.1));
    pairs.dedup_by_key(|pair| (pair.0, pair.1));
    pairs
}

/// What the springs of each character join that hangs as the default plan says, made when first asked for.
struct Nets(Vec<OnceLock<Option<Net>>>);

impl OfRig for Nets {
    fn of(rig: &Rig) -> Self {
        Self(rig.characters().iter().map(|_| OnceLock::new()).collect())
    }
}

impl Net {
    /// A copy, to be made as stiff as asked; `None` for a skin without bones.
    pub fn planned(rig: &Rig, surface: &Surface, plan: &HangPlan<'_>) -> Option<Self> {
        let net = || Some(Self::new(rig, surface, Hanging::planned(rig, surface, plan)?));
        if !plan.is_default() {
            return net();
        }
        rig.kept::<Nets>().0.get(surface.character)?.get_or_init(net).clone()
    }
}
