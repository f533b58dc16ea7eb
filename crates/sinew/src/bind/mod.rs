//! Skin weights for a mesh that has none, or bad ones.
//!
//! | file | what it holds |
//! |---|---|
//! | `shell` | the mesh: copies along seams joined, faces in a tree, pieces |
//! | `lines` | the bones as lines inside it; which bones move skin at all |
//! | `pieces` | which bones move which piece |
//! | `sight` | how far a bone is from the skin, and whether the way to it stays in the body |
//! | `distance` | the paper's weights: inverse distance to the bones in sight |
//! | `heat` | the nearest bone's temperature |
//! | `conduction` | how that spreads along the skin |
//! | `layers` | what clothing and other pieces without bones follow |
//!
//! The mesh is bound where it stands: rest positions and bind matrices of its skin, in whatever pose they were made.

pub(crate) mod conduction;
mod distance;
mod heat;
mod layers;
mod lines;
mod pieces;
mod shell;
mod sight;

use crate::limbs::Limbs;
use crate::raw::{RawBinding, RawInfluences, RawRig};
use conduction::{Skin, Source, settle};
use glam::DVec3;
use lines::joints_of_skin;
use rayon::prelude::*;
use shell::Shell;

/// How weights are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// `(l/d)^α` over all bones in sight (LV 5.1): d the distance to the bone, l its length.
    Distance {
        /// How fast influence falls off.
        alpha: f64,
        /// Count l; without it the border between two bones is half way, whatever their lengths.
        by_length: bool,
        /// Look at the angle between normal and way instead of casting a ray.
        normals_only: bool,
    },
    /// Heat from the nearest bone in sight, spread along the skin (Baran, Popović 2007). Smooth, and what is near in
    /// space but far along the skin stays apart.
    Heat,
}

impl Method {
    /// As the paper has it, with rays.
    pub const DISTANCE: Self = Self::Distance { alpha: 4.0, by_length: false, normals_only: false };
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BindOptions {
    /// How weights are found.
    pub method: Method,
    /// Most bones per vertex; 0 for as many as there are.
    pub influences: usize,
}

impl Default for BindOptions {
    fn default() -> Self {
        Self { method: Method::Heat, influences: 4 }
    }
}

/// What was bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindReport {
    /// Points, copies along seams counted once.
    pub points: usize,
    /// Points that no bone reaches on a way inside the body: they follow what their neighbours follow.
    pub out_of_sight: usize,
    /// Bones that move something.
    pub bones: usize,
}

/// Why a mesh was not bound.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BindError {
    /// No such skin.
    #[error("there is no skin {skin}; the file has {count}")]
    NoSkin {
        /// The skin asked for.
        skin: usize,
        /// Skins there are.
        count: usize,
    },
    /// A skin without joints.
    #[error("skin {skin} has no joints: give it a skeleton")]
    NoJoints {
        /// The skin.
        skin: usize,
    },
    /// A bind matrix that cannot be inverted.
    #[error(
        "the bind matrix of joint {joint} of skin {skin} is singular, so its bone has no position; bind the mesh again"
    )]
    FlatBind {
        /// The skin.
        skin: usize,
        /// Index in the skin.
        joint: usize,
    },
    /// Arrays that do not fit each other.
    #[error("mesh \"{mesh}\" has a triangle on a vertex that does not exist, or a position that is not finite")]
    BadMesh {
        /// The mesh.
        mesh: String,
    },
}

/// Replaces the weights of every mesh on a skin.
pub fn bind_skin(raw: &mut RawRig, skin: usize, options: &BindOptions) -> Result<BindReport, BindError> {
    let joints = joints_of_skin(raw, skin)?;
    let on_skin = |raw: &RawRig| -> Vec<usize> {
        (0..raw.meshes.len()).filter(|&mesh| raw.meshes[mesh].binding == RawBinding::Skin(skin)).collect()
    };
    let meshes = on_skin(raw);
    let mut shell = Shell::new(meshes.iter().map(|&mesh| &raw.meshes[mesh]))?;
    shell.set_aside_pieces_around_others(&joints.places_along());
    let (weights, out_of_sight) = weights(&shell, &lines::lines(&joints, &shell), options.method);
    let weights: Vec<Vec<(u32, f64)>> = weights.into_iter().map(|w| pruned(w, options.influences)).collect();
    let per_vertex = weights.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut bones: Vec<u32> = weights.iter().flatten().map(|&(bone, _)| bone).collect();
    bones.sort_unstable();
    bones.dedup();
    let mut vertex = 0;
    for mesh in meshes {
        for primitive in &mut raw.meshes[mesh].primitives {
            let mut influences = RawInfluences { per_vertex, ..RawInfluences::default() };
            for _ in 0..primitive.positions.len() {
                let found = &weights[shell.point_of_vertex(vertex)];
                vertex += 1;
                for k in 0..per_vertex {
                    let (bone, weight) = found.get(k).copied().unwrap_or((0, 0.0));
                    influences.joints.push(bone);
                    influences.weights.push(weight as f32);
                }
            }
            primitive.influences = influences;
        }
    }
    Ok(BindReport { points: shell.points().len(), out_of_sight, bones: bones.len() })
}

/// Weights per point, and how many points see none of their bones.
fn weights(shell: &Shell, lines: &[Option<lines::Line>], method: Method) -> (Vec<Vec<(u32, f64)>>, usize) {
    let limbs = Limbs::from_lines(lines.iter().map(|line| match line {
        Some(line) => (line.joint, line.ends.clone()),
        None => (DVec3::ZERO, Vec::new()),
    }));
    let bones = pieces::bones_of_pieces(shell, lines);
    let source = |point: usize| {
        let bones = &bones[shell.piece_of(point)];
        match method {
            Method::Distance { alpha, by_length, normals_only } => {
                distance::source(shell, &limbs, bones, point, (alpha, by_length, normals_only))
            }
            Method::Heat => heat::source(shell, &limbs, bones, point),
        }
    };
    let sources: Vec<Option<Source>> = (0..shell.points().len()).into_par_iter().map(source).collect();
    let skin = Skin { points: shell.points(), faces: shell.faces(), bridges: &[] };
    let mut weights = settle(skin, &sources);
    let mut is_bound = vec![false; shell.piece_count()];
    for (point, source) in sources.iter().enumerate() {
        is_bound[shell.piece_of(point)] |= source.is_some();
    }
    let is_bound_point = |point: usize| is_bound[shell.piece_of(point)];
    let out_of_sight = (0..sources.len()).filter(|&point| is_bound_point(point) && sources[point].is_none()).count();
    if is_bound.contains(&false) {
        let beneath = layers::sources(shell, &is_bound, &weights);
        let layers = settle(skin, &beneath);
        for (point, (layer, beneath)) in layers.into_iter().zip(beneath).enumerate() {
            if !is_bound_point(point) {
                // A point without a face has nothing to conduct along.
                let alone = || beneath.map_or_else(Vec::new, |source| source.weights);
                weights[point] = if layer.is_empty() { alone() } else { layer };
            }
        }
    }
    // Nothing to lie on: the nearest bone.
    let moving: Vec<usize> = (0..lines.len()).filter(|&bone| lines[bone].is_some()).collect();
    for (weights, &p) in weights.iter_mut().zip(shell.points()).filter(|(weights, _)| weights.is_empty()) {
        let nearest = moving.iter().min_by(|&&a, &&b| limbs.distance(a, p).total_cmp(&limbs.distance(b, p)));
        weights.push((nearest.copied().unwrap_or(0) as u32, 1.0));
    }
    (weights, out_of_sight)
}

/// Smaller shares fade out, to nothing at half of this: they move nothing that can be seen, and artists paint none.
const LEAST_SHARE: f64 = 0.05;

/// The largest influences, by size, summing to 1. They change continuously along the skin: what is dropped has faded out,
/// and where there are too many, all are lowered by the first that is dropped.
fn pruned(mut weights: Vec<(u32, f64)>, most: usize) -> Vec<(u32, f64)> {
    weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let sum: f64 = weights.iter().map(|w| w.1).sum();
    let dropped = if most > 0 { weights.get(most).map_or(0.0, |w| w.1) } else { 0.0 };
    let lowered = |weight: f64| (weight - dropped) * (2.0 * weight / (LEAST_SHARE * sum) - 1.0).clamp(0.0, 1.0);
    let largest = weights.first().copied();
    weights.iter_mut().for_each(|w| w.1 = lowered(w.1));
    weights.retain(|w| w.1 > 0.0);
    let sum: f64 = weights.iter().map(|w| w.1).sum();
    weights.iter_mut().for_each(|w| w.1 /= sum);
    // All alike: nothing tells them apart.
    if weights.is_empty() {
        weights.extend(largest.map(|(bone, _)| (bone, 1.0)));
    }
    weights
}
