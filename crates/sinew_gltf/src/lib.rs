//! Files in and out. glTF 2.0: a `.glb` or `.gltf` file becomes a [`sinew::Rig`] with its [`sinew::Clip`]s, gets morph
//! targets on top, and is written as one GLB. Painted maps as files of their own, and the formats that modelling tools
//! take a moving mesh by.
//!
//! ```no_run
//! let asset = sinew_gltf::Asset::open("fox.glb")?;
//! println!("{} bones, {} clips", asset.rig.skeleton().len(), asset.clips.len());
//! for warning in &asset.warnings {
//!     eprintln!("{warning}");
//! }
//! # Ok::<(), sinew_gltf::ImportError>(())
//! ```
//!
//! | step | what it does |
//! |---|---|
//! | [`Asset::open`], [`Asset::from_slice`] | the door in: a file, read and checked |
//! | [`RawAsset`] | the same before it is checked, to be changed or painted on |
//! | [`Document::open`] | a file taken apart without asking what it means |
//! | [`RawAsset::with_clips_of`] | clips of other files, on this one's bones |
//! | [`export()`] | a rig made in code, as a document |
//! | [`bind::bind`] | new skin weights, made from the shape |
//! | [`layer::add`], [`strip()`] | morph targets and weights put on a document, and taken off without a trace |
//! | [`Document::save`], [`Document::to_glb`] | the door out: a document as one file |
//! | [`map_file`], [`obj`], [`pc2`], [`mdd`] | painted maps; meshes and point caches |
//! | [`diff`](mod@diff) | how two documents differ |
//!
//! Read are nodes, skins, animations, and those meshes that move: skinned ones, and *riders*, unskinned meshes at or
//! below a joint or an animated ancestor of one; in a file without skins, those of every tree of nodes that is animated. Other meshes, cameras and lights are left alone; the whole JSON
//! and all buffers are kept in [`Document`], from which [`Surfaces`] reads materials and images for drawing.
//!
//! A file is repaired with a [`sinew::Warning`] where every viewer would show the same thing all the same, and refused with
//! an [`ImportError`] where guessing would move vertices.
//!
//! # Repaired, with a warning
//!
//! | finding | what is done | code |
//! |---|---|---|
//! | GLB longer than its header says | the rest is ignored | `trailing-bytes` |
//! | packed by Draco or meshopt | unpacked; what is written is not compressed | `compression-unpacked` |
//! | required extension that is not known, and that nothing that is read uses | ignored | `extension-unknown` |
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
//! | mesh without primitives, primitive of no vertices | left empty | `mesh-empty`, `primitive-without-vertices` |
//! | joint listed twice by a skin | both are kept | `skin-joint-twice` |
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
//! | animation without a channel that can be played | kept as a clip of no length | `animation-empty` |
//! | key rotation not of length 1 | normalised | `key-rotation-not-unit` |
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
//! | data URI that is not sound base64; buffer that is no plain file; file that is a device or a pipe | [`ImportError::Uri`] |
//! | glTF version other than 2.x | [`ImportError::Unsupported`] |
//! | required extension that is not known and is used by what is read | [`ImportError::Unsupported`] |
//! | Draco or meshopt stream that is broken | [`ImportError::Invalid`] |
//! | the same that holds more than its accessors declare | [`ImportError::TooLarge`] |
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
//! | more bytes, numbers, vertices, bones or seconds than [`Limits`] | [`ImportError::TooLarge`] |
//! | nodes, skins or meshes that make no character, found when it is checked | [`ImportError::Rig`] |
//! | baked effects that another program has changed, where the original is asked for | [`ImportError::Write`] |

pub use asset::{Asset, RawAsset};
pub use document::{Container, Document};
pub use encode::{PackedBytes, Packing};
pub use error::{ImportError, WriteError};
pub use export::export;
pub use limits::Limits;
pub use posed::set_transforms;
pub use repaired_skins::repaired_skins;
pub use springs::spring_nodes;
pub use strip::strip;
pub use surfaces::{Surface, Surfaces, TextureUse, TextureWrap};
pub use vrm::humanoid;

mod accessor;
mod animations;
mod asset;
mod audit;
pub mod bind;
mod borrowed;
mod changed_tracks;
mod closing;
mod decode;
pub mod diff;
mod document;
mod edit;
mod encode;
mod error;
mod export;
mod extensions;
mod fnv;
mod import;
pub mod layer;
mod limits;
pub mod map_file;
pub mod mdd;
mod merged_weights;
mod meshes;
mod nodes;
mod note;
pub mod obj;
pub mod pc2;
mod posed;
mod references;
mod repaired_skins;
mod skins;
mod springs;
mod strip;
mod surfaces;
mod uri;
mod view;
mod vrm;
mod whole_file;
mod write;
