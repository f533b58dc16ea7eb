//! glTF 2.0 in and out: a `.glb` or `.gltf` file becomes a [`sinew::RawRig`] with its [`sinew::Clip`]s, gets morph
//! targets on top, and is written as one GLB.
//!
//! ```no_run
//! let asset = sinew_gltf::import("fox.glb".as_ref())?;
//! println!("{} bones, {} clips", asset.raw.bones.len(), asset.clips.len());
//! for warning in &asset.warnings {
//!     eprintln!("{warning}");
//! }
//! # Ok::<(), sinew_gltf::ImportError>(())
//! ```
//!
//! | step | what it does |
//! |---|---|
//! | [`import`], or [`open`] and [`interpret`] | a file, taken apart and understood |
//! | [`export()`] | a rig made in code, as a document |
//! | [`bind::bind`] | new skin weights, made from the shape |
//! | [`layer::add`], [`strip()`] | morph targets and weights put on a document, and taken off without a trace |
//! | [`Document::to_glb`] | a document as one file |
//! | [`diff`](mod@diff) | how two documents differ |
//!
//! Read are nodes, skins, animations, and those meshes that move: skinned ones, and *riders*, unskinned meshes at or
//! below a joint or an animated ancestor of one. Other meshes, cameras and lights are left alone; the whole JSON
//! and all buffers are kept in [`Document`], from which [`Surfaces`] reads materials and images for drawing.
//!
//! A file is repaired with a [`Warning`] where every viewer would show the same thing all the same, and refused with
//! an [`ImportError`] where guessing would move vertices.
//!
//! # Repaired, with a warning
//!
//! | finding | what is done | code |
//! |---|---|---|
//! | GLB longer than its header says | the rest is ignored | `trailing-bytes` |
//! | node rotation not of length 1 | normalised | `rotation-not-unit` |
//! | node with a matrix and translation, rotation or scale | the matrix is used | `node-matrix-and-parts` |
//! | animated node given by a matrix | taken apart; shear is lost | `animated-matrix` |
//! | last row of a matrix off (0, 0, 0, 1) by up to 0.01 | set to (0, 0, 0, 1) | `matrix-not-affine` |
//! | inverse bind matrix that flattens space | kept | `bind-matrix-singular` |
//! | skinned mesh with a transform its joints do not share | the transform is ignored, as glTF says | `skinned-mesh-transform` |
//! | joints that are not in their mesh's scene | used all the same | `joints-outside-scene` |
//! | skin that no mesh uses | kept | `skin-unused` |
//! | primitive of points or lines | no triangles; vertices kept if they have positions and, on a skin, weights | `primitive-without-faces` |
//! | primitive without positions | left empty | `primitive-without-positions` |
//! | corners that do not make whole triangles | those left over are ignored | `incomplete-triangle` |
//! | normals or tangents that are not finite | the attribute is dropped | `direction-not-finite` |
//! | morph displacements that are not finite | set to zero | `morph-not-finite` |
//! | more or fewer morph weights than targets | cut, or filled with zeros | `morph-weight-count` |
//! | integer weights not marked as normalised | read as normalised | `weights-not-marked-normalised` |
//! | custom attribute of type UNSIGNED_INT | ignored | `attribute-unsigned-int` |
//! | painted map without a name, or with one already taken | ignored | `map-name` |
//! | channel without a node, or for an unknown property | ignored | `channel-without-node`, `channel-path-unknown` |
//! | morph channel of a node without morph targets | ignored | `channel-without-targets` |
//! | second channel for the same property of a node | ignored | `channel-twice` |
//! | channel without keys | ignored | `channel-without-keys` |
//! | key time not finite, or not after the key before | the key is dropped | `key-times-not-increasing` |
//! | key value not finite, or a rotation of length zero | the key is dropped | `key-value-not-finite` |
//!
//! Skin weights pass as they are: the rig builder normalises and reports them.
//!
//! # Refused
//!
//! | finding | error |
//! |---|---|
//! | file, or a buffer beside it, that cannot be read | [`ImportError::Io`] |
//! | neither GLB nor JSON; GLB version other than 2; header or chunk lengths beyond the file; no JSON chunk | [`ImportError::Container`] |
//! | JSON that cannot be parsed, is nested deeper than 128 levels, or holds NaN or Infinity | [`ImportError::Container`] |
//! | URI with a scheme other than `data:`, absolute, or leading out of the asset's folder (also by a link) | [`ImportError::Uri`] |
//! | data URI that is not sound base64; buffer that is no plain file | [`ImportError::Uri`] |
//! | glTF version other than 2.x | [`ImportError::Unsupported`] |
//! | required extension that touches geometry and is not known; Draco and meshopt compression | [`ImportError::Unsupported`] |
//! | member missing or of the wrong kind; number beyond the range of f32; index out of range | [`ImportError::Invalid`] |
//! | buffer with fewer bytes than it declares | [`ImportError::Invalid`] |
//! | accessor or buffer view that reaches outside; byteStride shorter than an element; unknown types | [`ImportError::Invalid`] |
//! | sparse indices that do not increase or are out of range | [`ImportError::Invalid`] |
//! | node that is its own child or ancestor, listed twice, or under two parents | [`ImportError::Invalid`] |
//! | node rotation of length zero; matrix that is not affine; animated matrix that flattens space | [`ImportError::Invalid`] |
//! | skin without joints, with fewer matrices than joints, or with a matrix that is not finite | [`ImportError::Invalid`] |
//! | position or painted value that is not finite | [`ImportError::Invalid`] |
//! | attributes of a primitive, or morph targets, of different counts | [`ImportError::Invalid`] |
//! | skinned primitive without joints and weights, or with one and not the other | [`ImportError::Invalid`] |
//! | vertex index out of range; primitive restart; unknown mode | [`ImportError::Invalid`] |
//! | animation with unknown interpolation, or key and value counts that do not match | [`ImportError::Invalid`] |
//! | more numbers once unpacked than 2²⁶ and 16 per byte of buffer | [`ImportError::TooLarge`] |

pub use document::{Container, Document};
pub use error::{ImportError, WriteError};
pub use export::export;
pub use posed::set_transforms;
pub use strip::strip;
pub use surfaces::{Surface, Surfaces, TextureUse, TextureWrap};

mod accessor;
mod animations;
mod audit;
pub mod bind;
pub mod diff;
mod document;
mod edit;
mod error;
mod export;
mod fnv;
pub mod layer;
pub mod map_file;
pub mod mdd;
mod merged_weights;
mod meshes;
mod nodes;
mod note;
pub mod pc2;
mod posed;
mod references;
mod skins;
mod strip;
mod surfaces;
mod uri;
mod view;
mod write;

use accessor::Accessors;
use audit::{below, flags, upwards};
use error::{Fault, Kind};
use sinew::raw::{RawBinding, RawBone, RawMesh, RawSkin};
use sinew::{Clip, LocalTransform, RawRig, Warning};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use view::View;

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Asset {
    /// All nodes as bones (a bone's index is its glTF node index), all skins, and every mesh instance that is skinned
    /// or rides on something that moves.
    pub raw: RawRig,
    /// One per animation, in the file's order.
    pub clips: Vec<Clip>,
    /// What was repaired or looks wrong.
    pub warnings: Vec<Warning>,
    /// The file as it was, for writing it later.
    pub document: Document,
}

/// Reads the file at `path`, and the buffers it keeps beside it.
pub fn import(path: &Path) -> Result<Asset, ImportError> {
    let (document, warnings) = open(path)?;
    interpret(&path.display().to_string(), document, warnings)
}

/// Takes the file at `path` apart without asking what it means: enough to strip it, compare it, or write it elsewhere.
pub fn open(path: &Path) -> Result<(Document, Vec<Warning>), ImportError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| {
        let remedy = "check the path and that the file may be read";
        Fault::new(Kind::Io(source), "the file", "", remedy).in_file(&name)
    })?;
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => Path::new("."),
    };
    open_bytes(&name, bytes, Some(folder))
}

/// As [`import`], from bytes already in memory. `name` stands for the file in messages; `folder` is where its buffers
/// may lie (without one, a file that keeps buffers outside is refused).
pub fn import_bytes(name: &str, bytes: Vec<u8>, folder: Option<&Path>) -> Result<Asset, ImportError> {
    let (document, warnings) = open_bytes(name, bytes, folder)?;
    interpret(name, document, warnings)
}

/// As [`open`], from bytes already in memory.
pub fn open_bytes(name: &str, bytes: Vec<u8>, folder: Option<&Path>) -> Result<(Document, Vec<Warning>), ImportError> {
    let mut warnings = Vec::new();
    let document = Document::open(&bytes, folder, &mut warnings).map_err(|fault| fault.in_file(name))?;
    Ok((document, warnings))
}

/// Reads characters and clips out of a document, which may have been changed since it was opened. `name` stands for
/// the file in messages; `warnings` are those so far.
pub fn interpret(name: &str, document: Document, warnings: Vec<Warning>) -> Result<Asset, ImportError> {
    read(document, warnings).map_err(|fault| fault.in_file(name))
}

fn read(document: Document, mut warnings: Vec<Warning>) -> Result<Asset, Fault> {
    let root = View::root(&document.json);
    let accessors = Accessors::new(root.clone(), &document.buffers);
    let mut bones = nodes::read(&root, &mut warnings)?;
    let skins = skins::read(&root, &accessors, &mut warnings)?;
    let clips = animations::read(&root, &accessors, &mut warnings)?;
    let animated = animated_nodes(bones.len(), &clips);
    decompose_animated(&root, &mut bones, &animated, &mut warnings)?;
    let meshes = instances(&root, &bones, &skins, &animated, &accessors, &mut warnings)?;
    let raw = RawRig { bones, skins, meshes, animated };
    audit::audit(&root, &raw, &mut warnings)?;
    Ok(Asset { raw, clips, warnings, document })
}

/// Nodes that some clip moves, in order. Morph weights alone move no node.
fn animated_nodes(count: usize, clips: &[Clip]) -> Vec<usize> {
    let tracks = clips.iter().flat_map(|clip| &clip.tracks);
    let moving = tracks.filter(|t| t.translation.is_some() || t.rotation.is_some() || t.scale.is_some());
    let moves = flags(count, moving.map(|track| track.node));
    (0..count).filter(|&node| moves[node]).collect()
}

/// Curves act on parts, so an animated node cannot stay a matrix.
fn decompose_animated(
    root: &View<'_>,
    bones: &mut [RawBone],
    animated: &[usize],
    warnings: &mut Vec<Warning>,
) -> Result<(), Fault> {
    for &node in animated {
        if let LocalTransform::Matrix(matrix) = bones[node].local {
            let view = root.entry("nodes", node)?;
            let parts = bones[node].local.to_trs();
            if !parts.to_affine().is_finite() {
                let fault = view.invalid("is animated, but its matrix flattens space and cannot be taken apart");
                return Err(fault.remedy("give the node translation, rotation and scale instead of a matrix"));
            }
            let lost = (parts.to_affine().matrix3 - matrix.matrix3).to_cols_array();
            let lost = lost.iter().fold(0.0, |worst: f64, x| worst.max(x.abs()));
            warnings.push(Warning {
                code: "animated-matrix",
                subject: view.words(),
                message: format!(
                    "is given by a matrix and animated; it was taken apart into translation, rotation and scale \
                     (shear lost: {lost:.1e})"
                ),
                remedy: "export animated nodes with translation, rotation and scale",
            });
            bones[node].local = LocalTransform::Trs(parts);
        }
    }
    Ok(())
}

/// One mesh per node that carries one and is skinned or rides, in node order, in a scene or not.
fn instances(
    root: &View<'_>,
    bones: &[RawBone],
    skins: &[RawSkin],
    animated: &[usize],
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<RawMesh>, Fault> {
    let rides = riders(bones, skins, animated);
    // A mesh on several nodes is read, and its faults reported, once.
    let mut first_instance: HashMap<(usize, bool), usize> = HashMap::new();
    let mut instances: Vec<RawMesh> = Vec::new();
    for (node, view) in root.list("nodes")?.iter().enumerate() {
        let skin = view.reference_at("skin", "skins")?;
        let Some(mesh) = view.reference_at("mesh", "meshes")? else { continue };
        let binding = match skin {
            Some(skin) => RawBinding::Skin(skin),
            None if rides[node] => RawBinding::Node,
            None => continue,
        };
        let mesh_view = root.entry("meshes", mesh)?;
        let primitives = match first_instance.entry((mesh, skin.is_some())) {
            Entry::Occupied(first) => {
                let primitives = &instances[*first.get()].primitives;
                accessors.budget.take(primitives.iter().map(meshes::numbers).sum(), || view.element())?;
                primitives.clone()
            }
            Entry::Vacant(first) => {
                first.insert(instances.len());
                meshes::read(&mesh_view, skin.is_some(), accessors, warnings)?
            }
        };
        let name = if view.name().is_empty() { mesh_view.name() } else { view.name() };
        accessors.budget.take(name.len() as u64, || view.element())?;
        let morph_weights = morph_weights(view, &mesh_view, warnings)?;
        instances.push(RawMesh { name, node, binding, primitives, morph_weights });
    }
    Ok(instances)
}

/// Which nodes carry a mesh along with a character: joints, animated ancestors of joints, and all below them.
fn riders(bones: &[RawBone], skins: &[RawSkin], animated: &[usize]) -> Vec<bool> {
    let moves = flags(bones.len(), animated.iter().copied());
    let mut carries = vec![false; bones.len()];
    let mut seen = vec![false; bones.len()];
    for joint in skins.iter().flat_map(|skin| &skin.joints) {
        carries[joint.bone] = true;
        for node in upwards(bones, joint.bone) {
            if std::mem::replace(&mut seen[node], true) {
                break;
            }
            carries[node] |= moves[node];
        }
    }
    below(bones, carries)
}

/// The node's own weights, else the mesh's, else zeros.
fn morph_weights(node: &View<'_>, mesh: &View<'_>, warnings: &mut Vec<Warning>) -> Result<Vec<f32>, Fault> {
    let targets = meshes::target_count(mesh)?;
    let holder = if node.get("weights")?.is_some() { node } else { mesh };
    let mut weights = Vec::new();
    for weight in holder.list("weights")? {
        weights.push(weight.number()? as f32);
    }
    if !weights.is_empty() && weights.len() != targets {
        warnings.push(Warning {
            code: "morph-weight-count",
            subject: holder.words(),
            message: format!("has {} morph weights for {targets} targets; missing ones are 0", weights.len()),
            remedy: "export the shape keys again",
        });
    }
    weights.resize(targets, 0.0);
    Ok(weights)
}
