//! Where surface edits are made: the welded surface of a character at a pose, pulled by strokes, and what was done to it
//! as maps that a recipe names (EX 5, 7.3).
//!
//! A stroke drawn on the skin marks the vertices that are held; where it should go says how far each of them moves. The
//! region around them gives way as [`Solve`] says. What comes out is kept as changes of scale vectors
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
    /// The region cannot be solved.
    #[error(transparent)]
    Region(#[from] RegionError),
}

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
        /// Places looked at along the stroke.
        const PLACES: usize = 256;
        let (faces, adjacency) = (self.skin.triangles(), self.skin.adjacency());
        let tree = SurfaceTree::new(faces, before).ok_or(PullError::NoSurface)?;
        let laid = SurfaceStroke::lay(from, &tree, PLACES).ok_or(PullError::NoSurface)?;
        let seeds = laid.corners(faces);
        let region = Region::grow(before, adjacency, &seeds, reach);
        let mut points = before.to_vec();
        for &node in region.kinematic() {
            let t = from.nearest(before[node as usize]);
            points[node as usize] += to.at(t) - from.at(t);
        }
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
        Ok(Pulled { points, inside: self.depths(&region) })
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

    /// 1 at what is held, falling with every ring towards the border of the region.
    fn depths(&self, region: &Region) -> Vec<f64> {
        let mut rings = vec![u32::MAX; self.skin.bind().len()];
        region.fixed().iter().for_each(|&node| rings[node as usize] = 0);
        let mut front = region.fixed().to_vec();
        let mut deepest = 0;
        while !front.is_empty() {
            let mut next = Vec::new();
            for &node in &front {
                for &n in self.skin.adjacency().of(node as usize) {
                    if rings[n as usize] == u32::MAX && region.passive().binary_search(&n).is_ok() {
                        rings[n as usize] = rings[node as usize] + 1;
                        deepest = deepest.max(rings[n as usize]);
                        next.push(n);
                    }
                }
            }
            front = next;
        }
        let mut inside = vec![0.0; rings.len()];
        for &node in region.passive() {
            let ring = rings[node as usize];
            inside[node as usize] = if ring == u32::MAX { 1.0 } else { f64::from(ring) / f64::from(deepest + 1) };
        }
        region.kinematic().iter().for_each(|&node| inside[node as usize] = 1.0);
        inside
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
