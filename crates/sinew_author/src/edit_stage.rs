//! Where surface edits are made: the welded surface of a character at a pose, pulled by strokes, and what was done to it
//! as maps that a recipe names (EX 5, 7.3).
//!
//! A stroke drawn on the skin marks the vertices that are held; where it should go says how far each of them moves: so that the
//! places under the stroke, which lie between vertices, come to lie where it was drawn, in the sense of least squares. The
//! region around them gives way as [`Solve`] says; it can be asked for before anything is solved. A bulge or a groove along a
//! stroke needs no solver: it raises the skin along its normals. What comes out is kept as changes of scale vectors
//! ([`sinew::correct::surface_edit`]), one per node, and written to every display copy.
//!
//! Oracle: an edit encoded and evaluated at its own pose is the surface it was made of (tests/edits.rs).

use crate::arap::{Arap, RegionError};
use crate::laplacian::Laplacian;
use glam::{DMat3, DVec3};
use sinew::attach::skin::AttachedSkin;
use sinew::clip::rotation_log;
use sinew::correct::surface_edit::Encoded;
use sinew::strokes::surface::SurfaceTree;
use sinew::strokes::{Reach, Region, Stroke, SurfaceStroke};
use sinew::{Rig, WorldPose};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How the region around what is held gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solve {
    /// As rigidly as possible, in so many iterations.
    Arap(usize),
    /// Keeping the details, as differences to the neighbours.
    Laplacian,
    /// On the scale vectors: they change evenly from what is held to the border.
    ScaleVectors,
}

/// A surface after a pull.
#[derive(Clone, Debug, PartialEq)]
pub struct Pulled {
    /// Where its nodes are.
    pub points: Vec<DVec3>,
    /// How far inside the edit each lies: 1 where it was held, 0 outside.
    pub inside: Vec<f64>,
}

/// Why a pull was not made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PullError {
    /// The stroke does not touch a surface.
    #[error("there is no surface to draw on")]
    NoSurface,
    /// Nothing lies near enough.
    #[error("no vertex of the skin lies within {width} of the stroke; make it wider")]
    TooNarrow {
        /// How far it reaches.
        width: f64,
    },
    /// The region cannot be solved.
    #[error(transparent)]
    Region(#[from] RegionError),
}

/// What an edit along a stroke reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    /// Vertices by what becomes of them.
    pub region: Region,
    /// How far inside each lies: 1 where it is held, 0 outside.
    pub inside: Vec<f64>,
    /// The stroke on the skin.
    laid: SurfaceStroke,
}

/// Places looked at along a stroke.
const PLACES: usize = 256;

/// The surface of one character.
#[derive(Clone, Debug)]
pub struct EditStage {
    skin: AttachedSkin,
}

impl EditStage {
    /// `None` for a character without faces or bones.
    pub fn new(rig: &Rig, character: usize) -> Option<Self> {
        Some(Self { skin: AttachedSkin::new(rig, character)? })
    }

    /// The skin that is edited.
    pub fn skin(&self) -> &AttachedSkin {
        &self.skin
    }

    /// Pulls what lies under the stroke `from` to `to`: points at the same fraction of their lengths belong together.
    pub fn pull(
        &self,
        world: &WorldPose,
        rig: &Rig,
        before: &[DVec3],
        [from, to]: [&Stroke; 2],
        reach: Reach,
        solve: Solve,
    ) -> Result<Pulled, PullError> {
        let (faces, adjacency) = (self.skin.triangles(), self.skin.adjacency());
        let Marked { region, inside, laid } = self.mark(before, from, reach)?;
        let mut moves = vec![DVec3::ZERO; before.len()];
        for &node in region.kinematic() {
            let t = from.nearest(before[node as usize]);
            moves[node as usize] = to.at(t) - from.at(t);
        }
        self.meet(before, &laid, [from, to], &mut moves);
        let mut points: Vec<DVec3> = before.iter().zip(&moves).map(|(p, by)| *p + *by).collect();
        match solve {
            Solve::Arap(iterations) => {
                Arap::new(before, faces, &region)?.solve(before, &mut points, iterations);
            }
            Solve::Laplacian => Laplacian::new(before.len(), adjacency, &region)?.solve(adjacency, before, &mut points),
            Solve::ScaleVectors => {
                let hung = self.skin.pose(rig, world);
                let anchor = |node: usize| hung.anchors[node] * hung.scale;
                let vectors = |points: &[DVec3]| -> Vec<DVec3> {
                    points.iter().enumerate().map(|(node, p)| *p - anchor(node)).collect()
                };
                let (rest, mut now) = (vectors(before), vectors(&points));
                let still = vec![DMat3::IDENTITY; before.len()];
                Arap::new(before, faces, &region)?.solve_scale_vectors(&rest, &still, &mut now, false);
                points = now.iter().enumerate().map(|(node, s)| anchor(node) + *s).collect();
            }
        }
        Ok(Pulled { points, inside })
    }

    /// What an edit along a stroke would reach.
    pub fn mark(&self, before: &[DVec3], from: &Stroke, reach: Reach) -> Result<Marked, PullError> {
        let (faces, adjacency) = (self.skin.triangles(), self.skin.adjacency());
        let tree = SurfaceTree::new(faces, before).ok_or(PullError::NoSurface)?;
        let laid = SurfaceStroke::lay(from, &tree, PLACES).ok_or(PullError::NoSurface)?;
        let region = Region::grow(before, adjacency, &laid.corners(faces), reach);
        Ok(Marked { inside: self.depths(before, &region), region, laid })
    }

    /// Changes moves of vertices so that the places under a stroke go to `to`, or, if it was not drawn on the skin, as far as `to`
    /// is from `from`: by the mean of what is missing at the places that a vertex has a share in, again and again.
    fn meet(&self, before: &[DVec3], laid: &SurfaceStroke, [from, to]: [&Stroke; 2], moves: &mut [DVec3]) {
        const ITERATIONS: usize = 200;
        /// Of its length: farther from the skin, on the whole, a stroke was not drawn on it.
        const OFF: f64 = 0.05;
        let faces = self.skin.triangles();
        let last = (laid.points().len() - 1) as f64;
        let places: Vec<(DVec3, f64)> = (laid.points().iter().enumerate())
            .filter_map(|(index, place)| Some((place.at(faces, before)?, index as f64 / last)))
            .collect();
        let away = places.iter().map(|(place, t)| place.distance(from.at(*t))).sum::<f64>() / places.len() as f64;
        let is_on = away <= OFF * from.length();
        let rows: Vec<([(usize, f64); 3], DVec3)> = (laid.points().iter().zip(&places))
            .map(|(point, &(place, t))| {
                let face = faces[point.triangle as usize];
                let shares = std::array::from_fn(|k| (face[k] as usize, point.barycentric[k]));
                (shares, to.at(t) - if is_on { place } else { from.at(t) })
            })
            .collect();
        let mut sums = vec![(DVec3::ZERO, 0.0); moves.len()];
        for _ in 0..ITERATIONS {
            for (shares, wanted) in &rows {
                let left = *wanted - shares.iter().map(|&(node, share)| moves[node] * share).sum::<DVec3>();
                for &(node, share) in shares {
                    sums[node].0 += left * share;
                    sums[node].1 += share;
                }
            }
            for (by, sum) in moves.iter_mut().zip(&mut sums) {
                let (left, weight) = std::mem::take(sum);
                if weight > 0.0 {
                    *by += left / weight;
                }
            }
        }
    }

    /// Raises the skin along a stroke by `height`, or lowers it below 0, fading out at `width` from it.
    pub fn relief(&self, before: &[DVec3], along: &Stroke, height: f64, width: f64) -> Result<Pulled, PullError> {
        let Marked { region, .. } = self.mark(before, along, Reach::Distance(width))?;
        let mut normals = vec![DVec3::ZERO; before.len()];
        for face in self.skin.triangles() {
            let [a, b, c] = face.map(|node| before[node as usize]);
            face.iter().for_each(|&node| normals[node as usize] += (b - a).cross(c - a));
        }
        let (mut points, mut inside) = (before.to_vec(), vec![0.0; before.len()]);
        for &node in region.kinematic().iter().chain(region.passive()) {
            let node = node as usize;
            let away = along.at(along.nearest(before[node])).distance(before[node]) / width;
            if away < 1.0 {
                inside[node] = (1.0 - away * away).powi(2);
                points[node] += normals[node].normalize_or_zero() * (height * inside[node]);
            }
        }
        if points == before { Err(PullError::TooNarrow { width }) } else { Ok(Pulled { points, inside }) }
    }

    /// The skin of a pose by ARAP on its scale vectors (EX 4.1.1): one solve, with the rotations of the bones; what
    /// hangs in the middle of its bone is held.
    pub fn skin_by_scale_vectors(
        &self,
        rig: &Rig,
        world: &WorldPose,
        keep_lengths: bool,
    ) -> Result<Vec<DVec3>, RegionError> {
        /// Of a bone's length: what is held.
        const HELD: f64 = 0.1;
        let hung = self.skin.pose(rig, world);
        let bind = self.skin.bind();
        // A character flattened to nothing has no scale vectors.
        if hung.aims.len() != bind.len() {
            return Ok(hung.anchors);
        }
        let rest: Vec<DVec3> = bind.iter().zip(self.skin.anchors()).map(|(p, anchor)| *p - anchor).collect();
        let in_the_middle = |node: &u32| (self.skin.attachments()[*node as usize].t - 0.5).abs() < HELD;
        let seeds: Vec<u32> = (0..rest.len() as u32).filter(in_the_middle).collect();
        let region = Region::grow(bind, self.skin.adjacency(), &seeds, Reach::Rings(usize::MAX));
        let mut vectors = hung.aims.clone();
        let rotation = |node: usize| self.skin.turn(&hung, node);
        let rotations: Vec<DMat3> = (0..rest.len()).map(rotation).collect();
        Arap::new(bind, self.skin.triangles(), &region)?.solve_scale_vectors(
            &rest,
            &rotations,
            &mut vectors,
            keep_lengths,
        );
        let place = |(anchor, s): (&DVec3, &DVec3)| (*anchor + *s) * hung.scale;
        Ok(hung.anchors.iter().zip(&vectors).map(place).collect())
    }

    /// 1 at what is held, falling to 0 at the border of the region by the share of the way between them along the skin; evenly at
    /// both ends, so that edits mixed by it do not crease where one of them begins.
    fn depths(&self, points: &[DVec3], region: &Region) -> Vec<f64> {
        let [from_border, from_held] = [region.fixed(), region.kinematic()].map(|seeds| self.ways(points, seeds));
        let mut inside = vec![0.0; points.len()];
        for &node in region.passive() {
            let (out, into) = (from_border[node as usize], from_held[node as usize]);
            let share = if out.is_finite() { out / (out + into) } else { 1.0 };
            // Vertices on one place are on both.
            inside[node as usize] =
                if share.is_nan() { 1.0 } else { share.powi(3) * (share * (6.0 * share - 15.0) + 10.0) };
        }
        region.kinematic().iter().for_each(|&node| inside[node as usize] = 1.0);
        inside
    }

    /// The shortest way along edges from any of some vertices to every other (Dijkstra 1959); infinite where there is none.
    fn ways(&self, points: &[DVec3], seeds: &[u32]) -> Vec<f64> {
        let mut ways = vec![f64::INFINITY; points.len()];
        // Lengths are not negative: their bits are in their order.
        let mut front: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        for &seed in seeds {
            ways[seed as usize] = 0.0;
            front.push(Reverse((0, seed)));
        }
        while let Some(Reverse((bits, node))) = front.pop() {
            let way = f64::from_bits(bits);
            if way > ways[node as usize] {
                continue;
            }
            for &next in self.skin.adjacency().of(node as usize) {
                let sum = way + points[node as usize].distance(points[next as usize]);
                if sum < ways[next as usize] {
                    ways[next as usize] = sum;
                    front.push(Reverse((sum.to_bits(), next)));
                }
            }
        }
        ways
    }

    /// What was done to each node at a pose; [`Encoded::IDENTITY`] where nothing was, or where it has no scale vector.
    pub fn encode(&self, world: &WorldPose, rig: &Rig, before: &[DVec3], after: &[DVec3]) -> Vec<Encoded> {
        let hung = self.skin.pose(rig, world);
        let encode = |(node, (&before, &after)): (usize, (&DVec3, &DVec3))| {
            let (anchor, axes) = (hung.anchors[node] * hung.scale, hung.axes[node]);
            let moved = (before != after).then(|| Encoded::of(axes.inverse() * (before - anchor), axes, anchor, after));
            moved.flatten().unwrap_or(Encoded::IDENTITY)
        };
        before.iter().zip(after).enumerate().map(encode).collect()
    }

    /// The maps of a shape for a recipe, by the ending of their names, with a value for each vertex of the rig.
    pub fn maps(&self, rig: &Rig, changes: &[Encoded], inside: &[f64]) -> [(&'static str, Vec<f32>); 5] {
        let turn = |axis: usize| self.skin.map(rig, |node| rotation_log(changes[node].turn)[axis]);
        [
            ("", self.skin.map(rig, |node| inside[node])),
            (".length", self.skin.map(rig, |node| changes[node].ratio - 1.0)),
            (".turn.x", turn(0)),
            (".turn.y", turn(1)),
            (".turn.z", turn(2)),
        ]
    }
}
