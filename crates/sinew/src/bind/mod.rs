//! Skin weights for a mesh that has none, or bad ones.
//!
//! | file | what it holds |
//! |---|---|
//! | `shell` | the mesh: copies along seams joined, faces in a tree |
//! | `lines` | the bones as lines inside it |
//! | `sight` | whether the way from the skin to a bone stays inside |
//! | `distance` | the paper's weights: inverse distance to the bones in sight |
//! | `heat` | weights as heat that flows from the bones along the skin |
//!
//! The mesh is bound where it stands: rest positions and bind matrices of its skin, in whatever pose they were made.

mod distance;
mod heat;
mod lines;
mod shell;
mod sight;

use crate::raw::{RawBinding, RawInfluences, RawRig};
use lines::lines_of_skin;
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
    /// Points that no bone reaches on a way inside the body: they follow the nearest bone rigidly, or what their
    /// neighbours follow.
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
    let lines = lines_of_skin(raw, skin)?;
    let on_skin = |raw: &RawRig| -> Vec<usize> {
        (0..raw.meshes.len()).filter(|&mesh| raw.meshes[mesh].binding == RawBinding::Skin(skin)).collect()
    };
    let meshes = on_skin(raw);
    let shell = Shell::new(meshes.iter().map(|&mesh| &raw.meshes[mesh]))?;
    let lines = lines::reach_into(lines, &shell);
    let (weights, out_of_sight) = match options.method {
        Method::Distance { alpha, by_length, normals_only } => {
            distance::weights(&shell, &lines, alpha, by_length, normals_only)
        }
        Method::Heat => heat::weights(&shell, &lines),
    };
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

/// Smaller shares are dropped: they move nothing that can be seen.
const LEAST_SHARE: f64 = 0.005;

/// The largest influences, by size, summing to 1.
fn pruned(mut weights: Vec<(u32, f64)>, most: usize) -> Vec<(u32, f64)> {
    weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let sum: f64 = weights.iter().map(|w| w.1).sum();
    weights.retain(|w| w.1 > LEAST_SHARE * sum);
    if most > 0 {
        weights.truncate(most);
    }
    let sum: f64 = weights.iter().map(|w| w.1).sum();
    weights.iter_mut().for_each(|w| w.1 /= sum);
    weights
}
