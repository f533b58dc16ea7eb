//! Morph targets and their weights on top of a file: what a bake adds, and [`strip`](crate::strip()) takes back.
//!
//! Source: glTF 2.0 specification, chapters 3.7.2.2 (morph targets: `p + Σ w·Δ`, before skinning) and 3.11
//! (animations). Everything else in the file is left as it is. Where the file itself stands in the way:
//!
//! - A mesh on several nodes of which not all get the same targets is copied to the end of `meshes`.
//! - A mesh that has targets keeps them in front, with their default weights; ours follow, with weight 0.
//! - glTF readers take a target without NORMAL, where another has one, for a displacement by the normal itself
//!   (three.js does), so within a primitive all targets get the same attributes, filled up with zeros, which take no room.
//! - Displacements are stored as they are or as whole numbers (`KHR_mesh_quantization`), and in sparse accessors where
//!   these are smaller.
//! - A clip that animates the node's own targets gets one sampler for all of them (`merged_weights`); so do clips
//!   that get nothing new, because the number of weights per key must be the number of targets.
//! - Repaired skin weights replace JOINTS and WEIGHTS of their primitive.
//!
//! All of it is noted in `asset.extras.sinew` with what was there before (`note`). A document that has
//! such a note is stripped first.
//!
//! Oracle: the specification's evaluator reads base + Σ w·Δ back from random layers (`tests/layer.rs`).

use crate::accessor::Accessors;
use crate::animations::morph_curve;
use crate::document::Document;
use crate::edit::{Edit, Kind, Layout, Role};
use crate::error::{Fault, Kind as FaultKind, WriteError};
use crate::merged_weights::{Merged, Own, merge};
use crate::meshes::target_count;
use crate::strip::strip;
use crate::view::View;
use glam::Vec3;
use serde_json::{Map, Value, json};
use sinew::raw::RawInfluences;
use sinew::{Interpolation, Warning};
use std::collections::{HashMap, HashSet};

/// What is added to a file.
#[derive(Clone, Debug, Default)]
pub struct MorphLayer {
    /// Targets, for each mesh node that gets any.
    pub nodes: Vec<NodeTargets>,
    /// Weights, for each animation that moves them.
    pub clips: Vec<ClipWeights>,
    /// Skin weights to be replaced because the rig builder repaired them.
    pub repaired_skins: Vec<RepairedSkin>,
    /// The recipe behind it, kept in the file.
    pub recipe: String,
}

/// The targets of one mesh node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTargets {
    /// The node.
    pub node: usize,
    /// How many targets.
    pub count: usize,
    /// A name for each.
    pub names: Vec<String>,
    /// For each primitive of the node's mesh, in order.
    pub primitives: Vec<PrimitiveTargets>,
}

/// The targets of one primitive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrimitiveTargets {
    /// As many as the node's `count`.
    pub targets: Vec<Target>,
}

/// How displacements are stored. Whole numbers need `KHR_mesh_quantization` and are written where they are meant to decode
/// to: values between two of them are rounded, values beyond the largest are cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// As they are.
    #[default]
    Float,
    /// Whole numbers up to ±127. For positions alone.
    Byte,
    /// Whole numbers up to ±32767. For positions alone.
    Short,
    /// Multiples of 1/127 up to ±1.
    NormalizedByte,
    /// Multiples of 1/32767 up to ±1.
    NormalizedShort,
}

/// Displacements in the file's vertex order. Empty positions stand for zeros, for primitives that are not read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Added to rest positions.
    pub positions: Vec<Vec3>,
    /// Added to rest normals; ignored where the primitive has none.
    pub normals: Option<Vec<Vec3>>,
    /// Added to the directions of rest tangents; ignored where the primitive has none.
    pub tangents: Option<Vec<Vec3>>,
    /// How positions are stored.
    pub position_storage: Storage,
    /// How normals and tangents are stored; whole numbers are normalised ones.
    pub direction_storage: Storage,
}

/// Weights of one animation.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipWeights {
    /// The animation.
    pub animation: usize,
    /// For each node it moves.
    pub nodes: Vec<NodeWeights>,
}

/// Weights of one node's targets over time, straight between keys, held outside.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeWeights {
    /// The node, one of [`MorphLayer::nodes`].
    pub node: usize,
    /// Key times in seconds, increasing.
    pub times: Vec<f32>,
    /// Key by key, one weight for each of the node's targets.
    pub weights: Vec<f32>,
}

/// Influences that replace those of one primitive.
#[derive(Clone, Debug)]
pub struct RepairedSkin {
    /// The mesh node.
    pub node: usize,
    /// The primitive of its mesh.
    pub primitive: usize,
    /// Palette indices and weights, any number per vertex.
    pub influences: RawInfluences,
}

/// Bytes added, by what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerBytes {
    /// Displacements of positions.
    pub positions: usize,
    /// Of normals.
    pub normals: usize,
    /// Of tangents.
    pub tangents: usize,
    /// Weights and the times of their keys.
    pub weights: usize,
    /// Repaired skin weights.
    pub skins: usize,
    /// Text: accessors, channels, the note of it all.
    pub json: usize,
}

/// What was done, apart from appending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerReport {
    /// Bytes added to the buffer.
    pub bytes_added: usize,
    /// The same by what they hold, and the text beside the buffer.
    pub bytes: LayerBytes,
    /// Meshes that had to be copied: the mesh, its copy, and the nodes that now carry the copy.
    pub copied_meshes: Vec<(usize, usize, Vec<usize>)>,
    /// Weight channels whose sampler was replaced: animation and channel.
    pub replaced_channels: Vec<(usize, usize)>,
    /// Whether an earlier layer was taken off first.
    pub stripped: bool,
    /// What could not be packed.
    pub warnings: Vec<Warning>,
}

/// Displacements: f32, three per vertex.
pub(crate) const POSITIONS: Layout = Layout { role: Role::Vertex, kind: Kind::Vec3, bounds: true };
pub(crate) const DIRECTIONS: Layout = Layout { role: Role::Vertex, kind: Kind::Vec3, bounds: false };
pub(crate) const VECTORS: Layout = Layout { role: Role::Vertex, kind: Kind::Vec4, bounds: false };
pub(crate) const TIMES: Layout = Layout { role: Role::Plain, kind: Kind::Scalar, bounds: true };
pub(crate) const WEIGHTS: Layout = Layout { role: Role::Plain, kind: Kind::Scalar, bounds: false };

/// Adds `layer` to `document`, which is packed first, and stripped of an earlier layer. After an error it is unchanged.
pub fn add(document: &mut Document, layer: &MorphLayer) -> Result<LayerReport, WriteError> {
    let mut changed = document.clone();
    let stripped = strip(&mut changed)?;
    let warnings = changed.pack()?;
    let plan = Plan::new(&changed, layer)?;
    let text_before = changed.json.to_string().len();
    let mut edit = Edit::begin(&mut changed)?;
    edit.reserve(plan.bytes());
    let mut report = LayerReport { stripped, warnings, ..LayerReport::default() };
    // Copies are taken before the mesh itself is changed.
    for is_copied in [true, false] {
        for mesh in plan.meshes.iter().filter(|mesh| mesh.is_copied == is_copied) {
            mesh.write(&mut edit, &mut report)?;
        }
    }
    for channel in &plan.channels {
        channel.write(&mut edit, &mut report)?;
    }
    report.bytes_added = edit.bytes_added();
    edit.finish_with_note(&layer.recipe)?;
    report.bytes.json = changed.json.to_string().len().saturating_sub(text_before);
    *document = changed;
    Ok(report)
}

/// Everything that is to be done, checked against the document.
struct Plan<'a> {
    meshes: Vec<MeshPlan<'a>>,
    channels: Vec<ChannelPlan<'a>>,
}

/// One mesh to be changed, in place or as a copy.
struct MeshPlan<'a> {
    mesh: usize,
    is_copied: bool,
    nodes: Vec<usize>,
    variant: Variant<'a>,
    primitives: Vec<PrimitivePlan>,
    own_targets: usize,
}

/// What a mesh becomes on some of its nodes.
#[derive(Clone, Debug, Default)]
struct Variant<'a> {
    targets: Option<&'a NodeTargets>,
    /// By primitive.
    skins: Vec<(usize, &'a RawInfluences)>,
}

impl Variant<'_> {
    /// Whether two nodes can share a mesh.
    fn equals(&self, other: &Self) -> bool {
        let same_targets = match (self.targets, other.targets) {
            (Some(a), Some(b)) => (&a.names, &a.primitives) == (&b.names, &b.primitives),
            (a, b) => a.is_none() && b.is_none(),
        };
        let table = |&(primitive, skin): &(usize, &'_ RawInfluences)| (primitive, skin.per_vertex);
        same_targets
            && self.skins.iter().map(table).eq(other.skins.iter().map(table))
            && self
                .skins
                .iter()
                .zip(&other.skins)
                .all(|((_, a), (_, b))| a.joints == b.joints && a.weights == b.weights)
    }
}

/// What has to be known of a primitive before it is changed.
struct PrimitivePlan {
    vertices: usize,
    has_normals: bool,
    has_tangents: bool,
}

/// One weights channel to be added, or given another sampler.
struct ChannelPlan<'a> {
    animation: usize,
    /// The channel there is.
    channel: Option<usize>,
    node: usize,
    count: usize,
    own: Own,
    added: Option<&'a NodeWeights>,
}

fn content(element: String, fault: impl Into<String>) -> WriteError {
    WriteError::Content { element, fault: fault.into() }
}

impl<'a> Plan<'a> {
    fn new(document: &Document, layer: &'a MorphLayer) -> Result<Self, WriteError> {
        let root = View::root(&document.json);
        let accessors = Accessors::new(root.clone(), &document.buffers, &document.limits);
        let variants = variants(&root, layer)?;
        let mut meshes: Vec<MeshPlan<'a>> = Vec::new();
        for (mesh, users) in users_of_meshes(&root)? {
            let changed: Vec<usize> = users.iter().copied().filter(|node| variants.contains_key(node)).collect();
            // The mesh itself serves the first variant, unless somebody needs it as it is.
            let mut is_copied = changed.len() < users.len();
            let first_plan = meshes.len();
            for node in changed {
                let variant = &variants[&node];
                match meshes[first_plan..].iter_mut().find(|plan| plan.variant.equals(variant)) {
                    Some(plan) => plan.nodes.push(node),
                    None => {
                        meshes.push(MeshPlan::new(&root, mesh, is_copied, node, variant.clone(), &accessors)?);
                        is_copied = true;
                    }
                }
            }
        }
        let channels = channels(&root, layer, &accessors)?;
        Ok(Self { meshes, channels })
    }

    /// At most this much is written.
    fn bytes(&self) -> usize {
        let vectors = |v: &Option<Vec<Vec3>>| v.as_ref().map_or(0, Vec::len);
        let target = |t: &Target| 12 * (t.positions.len() + vectors(&t.normals) + vectors(&t.tangents));
        let targets = self.meshes.iter().filter_map(|mesh| mesh.variant.targets);
        let targets: usize = targets.flat_map(|t| &t.primitives).flat_map(|p| &p.targets).map(target).sum();
        let curves = self.channels.iter().filter_map(|channel| channel.added);
        targets + curves.map(|c| 4 * (c.times.len() + c.weights.len())).sum::<usize>()
    }
}

/// What becomes of each node's mesh.
fn variants<'a>(root: &View<'_>, layer: &'a MorphLayer) -> Result<HashMap<usize, Variant<'a>>, WriteError> {
    let mut variants: HashMap<usize, Variant<'a>> = HashMap::new();
    for targets in layer.nodes.iter().filter(|targets| targets.count > 0) {
        let variant = variants.entry(targets.node).or_default();
        if variant.targets.replace(targets).is_some() {
            return Err(content(format!("node {}", targets.node), "is given targets twice"));
        }
        let full = targets.primitives.iter().all(|primitive| primitive.targets.len() == targets.count);
        if targets.names.len() != targets.count || !full {
            let fault = format!("is given {} targets, but not as many names and displacements", targets.count);
            return Err(content(format!("node {}", targets.node), fault));
        }
    }
    for repaired in &layer.repaired_skins {
        let skins = &mut variants.entry(repaired.node).or_default().skins;
        if skins.iter().any(|(primitive, _)| *primitive == repaired.primitive) {
            let fault = format!("is given skin weights twice for primitive {}", repaired.primitive);
            return Err(content(format!("node {}", repaired.node), fault));
        }
        skins.push((repaired.primitive, &repaired.influences));
    }
    for &node in variants.keys() {
        root.entry("nodes", node)?.need("mesh")?.reference("meshes")?;
    }
    Ok(variants)
}

/// Meshes in order, each with the nodes that carry it.
fn users_of_meshes(root: &View<'_>) -> Result<Vec<(usize, Vec<usize>)>, Fault> {
    let mut users = vec![Vec::new(); root.length("meshes")?];
    for (node, view) in root.list("nodes")?.iter().enumerate() {
        if let Some(mesh) = view.reference_at("mesh", "meshes")? {
            users[mesh].push(node);
        }
    }
    Ok(users.into_iter().enumerate().collect())
}

impl<'a> MeshPlan<'a> {
    fn new(
        root: &View<'_>,
        mesh: usize,
        is_copied: bool,
        node: usize,
        variant: Variant<'a>,
        accessors: &Accessors<'_>,
    ) -> Result<Self, WriteError> {
        let view = root.entry("meshes", mesh)?;
        let mut primitives = Vec::new();
        for primitive in view.need("primitives")?.entries()? {
            let attributes = primitive.need("attributes")?;
            let vertices = match attributes.get("POSITION")? {
                Some(position) => accessors.open(&position)?.count,
                None => 0,
            };
            for target in primitive.list("targets")? {
                target.members()?;
            }
            primitives.push(PrimitivePlan {
                vertices,
                has_normals: attributes.get("NORMAL")?.is_some(),
                has_tangents: attributes.get("TANGENT")?.is_some(),
            });
        }
        let subject = |primitive: usize| format!("node {node}, primitive {primitive}");
        if let Some(targets) = variant.targets {
            if targets.primitives.len() != primitives.len() {
                let fault =
                    format!("is given {} primitives, but its mesh has {}", targets.primitives.len(), primitives.len());
                return Err(content(format!("node {node}"), fault));
            }
            for (number, (plan, given)) in primitives.iter().zip(&targets.primitives).enumerate() {
                for target in &given.targets {
                    let wrong = |length: usize| length != 0 && length != plan.vertices;
                    let directions = target.normals.iter().chain(&target.tangents);
                    if wrong(target.positions.len()) || directions.clone().any(|d| d.len() != target.positions.len()) {
                        let fault =
                            format!("is given displacements of other counts than its {} vertices", plan.vertices);
                        return Err(content(subject(number), fault));
                    }
                    if matches!(target.direction_storage, Storage::Byte | Storage::Short) {
                        return Err(content(
                            subject(number),
                            "is given directions as whole numbers, which reach ±1 only",
                        ));
                    }
                    if !std::iter::once(&target.positions).chain(directions).flatten().all(|d| d.is_finite()) {
                        return Err(content(subject(number), "is given a displacement that is not finite"));
                    }
                }
            }
        }
        for &(number, skin) in &variant.skins {
            let vertices = primitives.get(number).map_or(0, |plan| plan.vertices);
            let pairs = skin.per_vertex.checked_mul(vertices);
            if pairs.is_none_or(|pairs| pairs == 0 || skin.joints.len() != pairs || skin.weights.len() != pairs) {
                return Err(content(subject(number), "is given skin weights of another number than its vertices"));
            }
            if !skin.weights.iter().all(|weight| weight.is_finite()) {
                return Err(content(subject(number), "is given a skin weight that is not finite"));
            }
        }
        let own_targets = target_count(&view)?;
        Ok(Self { mesh, is_copied, nodes: vec![node], variant, primitives, own_targets })
    }

    fn write(&self, edit: &mut Edit<'_>, report: &mut LayerReport) -> Result<(), WriteError> {
        let mut mesh = self.mesh;
        if self.is_copied {
            let copy = edit.json().pointer(&format!("/meshes/{mesh}")).cloned().unwrap_or_default();
            mesh = edit.push("/meshes", copy)?;
            for node in &self.nodes {
                edit.set(&format!("/nodes/{node}/mesh"), mesh.into())?;
            }
            report.copied_meshes.push((self.mesh, mesh, self.nodes.clone()));
        }
        let at = format!("/meshes/{mesh}");
        let before = edit.bytes_added();
        for &(primitive, skin) in &self.variant.skins {
            write_skin(edit, &format!("{at}/primitives/{primitive}/attributes"), skin)?;
        }
        report.bytes.skins += edit.bytes_added() - before;
        let Some(targets) = self.variant.targets else { return Ok(()) };
        for (number, (plan, given)) in self.primitives.iter().zip(&targets.primitives).enumerate() {
            write_targets(edit, &format!("{at}/primitives/{number}"), plan, &given.targets, &mut report.bytes)?;
        }
        self.name_targets(edit, &at, &targets.names)?;
        extend_weights(edit, &at, self.own_targets, targets.count)?;
        for node in &self.nodes {
            extend_weights(edit, &format!("/nodes/{node}"), self.own_targets, targets.count)?;
        }
        Ok(())
    }

    /// `extras.targetNames`, where Blender and three.js look for names. Unnamed targets get the names Blender gives.
    fn name_targets(&self, edit: &mut Edit<'_>, mesh: &str, names: &[String]) -> Result<(), WriteError> {
        let extras = format!("{mesh}/extras");
        edit.create(&extras, Value::Object(Map::new()))?;
        if !edit.json().pointer(&extras).is_some_and(Value::is_object) {
            return Ok(());
        }
        let at = format!("{extras}/targetNames");
        let own = edit.json().pointer(&at).and_then(Value::as_array).cloned().unwrap_or_default();
        let own = (0..self.own_targets)
            .map(|target| own.get(target).cloned().unwrap_or_else(|| format!("target_{target}").into()));
        let all = own.chain(names.iter().map(|name| name.as_str().into())).collect();
        edit.set(&at, Value::Array(all))
    }
}

/// Default weights, where the element at `at` has any: its own for its own targets, 0 for those added.
fn extend_weights(edit: &mut Edit<'_>, at: &str, own: usize, added: usize) -> Result<(), WriteError> {
    let at = format!("{at}/weights");
    let Some(weights) = edit.json().pointer(&at).and_then(Value::as_array) else { return Ok(()) };
    let zeros = std::iter::repeat(json!(0));
    let own = weights.iter().cloned().chain(zeros.clone()).take(own);
    let all = own.chain(zeros.take(added)).collect();
    edit.set(&at, Value::Array(all))
}

fn write_targets(
    edit: &mut Edit<'_>,
    primitive: &str,
    plan: &PrimitivePlan,
    given: &[Target],
    bytes: &mut LayerBytes,
) -> Result<(), WriteError> {
    let at = format!("{primitive}/targets");
    let own = edit.json().pointer(&at).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut targets: Vec<Map<String, Value>> =
        own.into_iter().map(|target| if let Value::Object(target) = target { target } else { Map::new() }).collect();
    let has = |targets: &[Map<String, Value>], key: &str| targets.iter().any(|target| target.contains_key(key));
    let normals = plan.has_normals && (has(&targets, "NORMAL") || given.iter().any(|t| t.normals.is_some()));
    let tangents = plan.has_tangents && (has(&targets, "TANGENT") || given.iter().any(|t| t.tangents.is_some()));
    let own_count = targets.len();
    targets.resize_with(own_count + given.len(), Map::new);
    // A primitive without positions has nothing that could be displaced.
    if plan.vertices > 0 {
        let given = |target: usize| target.checked_sub(own_count).and_then(|target| given.get(target));
        let positions = |t: usize| given(t).map(|t| (t.positions.as_slice(), t.position_storage));
        bytes.positions += fill(edit, &mut targets, "POSITION", POSITIONS, plan.vertices, positions)?;
        if normals {
            let of = |t: usize| given(t).and_then(|t| Some((t.normals.as_deref()?, t.direction_storage)));
            bytes.normals += fill(edit, &mut targets, "NORMAL", DIRECTIONS, plan.vertices, of)?;
        }
        if tangents {
            let of = |t: usize| given(t).and_then(|t| Some((t.tangents.as_deref()?, t.direction_storage)));
            bytes.tangents += fill(edit, &mut targets, "TANGENT", DIRECTIONS, plan.vertices, of)?;
        }
    }
    edit.set(&at, targets.into_iter().map(Value::Object).collect())
}

/// Gives every target that lacks it the attribute `key`: the displacements there are, else zeros. Returns the bytes.
fn fill<'t>(
    edit: &mut Edit<'_>,
    targets: &mut [Map<String, Value>],
    key: &str,
    layout: Layout,
    vertices: usize,
    displacements: impl Fn(usize) -> Option<(&'t [Vec3], Storage)>,
) -> Result<usize, WriteError> {
    let before = edit.bytes_added();
    for (number, target) in targets.iter_mut().enumerate().filter(|(_, target)| !target.contains_key(key)) {
        let accessor = match displacements(number).filter(|(given, _)| !given.is_empty()) {
            Some((given, storage)) => write_vectors(edit, layout, given, storage)?,
            None => write_vectors(edit, layout, &vec![Vec3::ZERO; vertices], Storage::Float)?,
        };
        target.insert(key.to_owned(), accessor.into());
    }
    Ok(edit.bytes_added() - before)
}

fn write_vectors(edit: &mut Edit<'_>, layout: Layout, given: &[Vec3], storage: Storage) -> Result<usize, WriteError> {
    fn whole<T: Copy>(given: &[Vec3], unit: f64, number: impl Fn(f64) -> T) -> Vec<[T; 3]> {
        given.iter().map(|vector| vector.to_array().map(|x| number((f64::from(x) * unit).round()))).collect()
    }
    // Casts from floats are cut off at the ends; the one below −MAX is no number of glTF's.
    let byte = |x: f64| (x as i8).max(-i8::MAX);
    let short = |x: f64| (x as i16).max(-i16::MAX);
    if storage != Storage::Float {
        edit.require("KHR_mesh_quantization")?;
    }
    match storage {
        Storage::Float => edit.vectors(layout, false, &given.iter().map(Vec3::to_array).collect::<Vec<_>>()),
        Storage::Byte => edit.vectors(layout, false, &whole(given, 1.0, byte)),
        Storage::Short => edit.vectors(layout, false, &whole(given, 1.0, short)),
        Storage::NormalizedByte => edit.vectors(layout, true, &whole(given, f64::from(i8::MAX), byte)),
        Storage::NormalizedShort => edit.vectors(layout, true, &whole(given, f64::from(i16::MAX), short)),
    }
}

/// Four pairs a set, unused ones 0. Sets the primitive has beyond these are removed.
pub(crate) fn write_skin(edit: &mut Edit<'_>, attributes: &str, skin: &RawInfluences) -> Result<(), WriteError> {
    let sets = skin.per_vertex.div_ceil(4);
    let vertices = skin.joints.len() / skin.per_vertex;
    for set in 0.. {
        let (joints, weights) = (format!("{attributes}/JOINTS_{set}"), format!("{attributes}/WEIGHTS_{set}"));
        if set >= sets {
            if edit.json().pointer(&joints).is_none() && edit.json().pointer(&weights).is_none() {
                break;
            }
            edit.remove(&joints)?;
            edit.remove(&weights)?;
            continue;
        }
        let slots = || {
            (0..vertices).flat_map(move |vertex| {
                (4 * set..4 * set + 4)
                    .map(move |slot| (slot < skin.per_vertex).then_some(vertex * skin.per_vertex + slot))
            })
        };
        let weight = |slot: Option<usize>| slot.map_or(0.0, |slot| skin.weights[slot]);
        // Readers warn of joints named without weight.
        let joint = |slot: Option<usize>| slot.filter(|&s| skin.weights[s] != 0.0).map_or(0, |slot| skin.joints[slot]);
        let joint_accessor = write_joints(edit, slots().map(joint).collect())?;
        let weight_accessor = edit.accessor(VECTORS, slots().map(weight))?;
        edit.set(&joints, joint_accessor.into())?;
        edit.set(&weights, weight_accessor.into())?;
    }
    Ok(())
}

/// Palette indices, four per vertex, in the smallest of the two types glTF allows.
fn write_joints(edit: &mut Edit<'_>, joints: Vec<u32>) -> Result<usize, WriteError> {
    if let Some(bytes) = joints.iter().map(|&joint| u8::try_from(joint).ok()).collect::<Option<Vec<u8>>>() {
        return edit.accessor(VECTORS, bytes);
    }
    let shorts = joints.iter().map(|&joint| u16::try_from(joint).ok()).collect::<Option<Vec<u16>>>();
    let shorts = shorts.ok_or_else(|| content("skin weights".into(), "name a joint beyond the 65536 glTF can"))?;
    edit.accessor(VECTORS, shorts)
}

/// Every channel that has to be written: those of clips that move the targets, and those that animate the same nodes'
/// own targets and must keep up with their number.
fn channels<'a>(
    root: &View<'_>,
    layer: &'a MorphLayer,
    accessors: &Accessors<'_>,
) -> Result<Vec<ChannelPlan<'a>>, WriteError> {
    let counts: HashMap<usize, usize> =
        layer.nodes.iter().filter(|t| t.count > 0).map(|targets| (targets.node, targets.count)).collect();
    let mut added: HashMap<(usize, usize), &NodeWeights> = HashMap::new();
    let mut order = Vec::new();
    for clip in &layer.clips {
        root.entry("animations", clip.animation)?;
        for weights in &clip.nodes {
            check_weights(clip.animation, weights, counts.get(&weights.node).copied())?;
            order.push((clip.animation, weights.node));
            if added.insert((clip.animation, weights.node), weights).is_some() {
                let element = format!("animation {}, node {}", clip.animation, weights.node);
                return Err(content(element, "is given weights twice"));
            }
        }
    }
    let mut plans = Vec::new();
    let mut served = HashSet::new();
    for (animation, view) in root.list("animations")?.iter().enumerate() {
        let samplers = view.list("samplers")?;
        for (number, channel) in view.list("channels")?.iter().enumerate() {
            let target = channel.need("target")?;
            refuse_pointer(&target, root, &counts)?;
            let Some(node) = target.reference_at("node", "nodes")? else { continue };
            let Some(&count) = counts.get(&node).filter(|_| target.get("path").is_ok_and(is_weights)) else { continue };
            let sampler = channel.need("sampler")?;
            let sampler = usize::try_from(sampler.whole()?)
                .ok()
                .and_then(|n| samplers.get(n))
                .ok_or_else(|| sampler.invalid(format!("is none of the animation's {} samplers", samplers.len())))?;
            let mesh = root.entry("nodes", node)?.need("mesh")?.reference("meshes")?;
            let own_targets = target_count(&root.entry("meshes", mesh)?)?;
            let curve = match own_targets {
                0 => None,
                // The import has warned of keys it dropped.
                _ => morph_curve(channel, sampler, own_targets, accessors, &mut Vec::new())?,
            };
            let own = curve.map_or_else(|| default_weights(root, node).map(Own::Constant), |c| Ok(Own::Animated(c)))?;
            let added = added.get(&(animation, node)).copied();
            served.insert((animation, node));
            plans.push(ChannelPlan { animation, channel: Some(number), node, count, own, added });
        }
    }
    for (animation, node) in order.into_iter().filter(|key| !served.contains(key)) {
        let own = Own::Constant(default_weights(root, node)?);
        let (count, added) = (counts[&node], added.get(&(animation, node)).copied());
        plans.push(ChannelPlan { animation, channel: None, node, count, own, added });
    }
    Ok(plans)
}

fn is_weights(path: Option<View<'_>>) -> bool {
    path.is_some_and(|path| path.text().is_ok_and(|path| path == "weights"))
}

fn check_weights(animation: usize, weights: &NodeWeights, count: Option<usize>) -> Result<(), WriteError> {
    let refuse = |fault: String| Err(content(format!("animation {animation}, node {}", weights.node), fault));
    let Some(count) = count else { return refuse("is given weights, but no targets".into()) };
    let (keys, found) = (weights.times.len(), weights.weights.len());
    if keys == 0 || Some(found) != keys.checked_mul(count) {
        return refuse(format!("is given {found} weights for {keys} keys of {count} targets"));
    }
    let increase = weights.times.windows(2).all(|pair| pair[0] < pair[1]);
    if !increase || !weights.times.iter().chain(&weights.weights).all(|x| x.is_finite()) {
        return refuse("is given key times that do not increase, or numbers that are not finite".into());
    }
    Ok(())
}

/// A channel of KHR_animation_pointer over all weights of a mesh or node would have the wrong number of them.
fn refuse_pointer(target: &View<'_>, root: &View<'_>, counts: &HashMap<usize, usize>) -> Result<(), WriteError> {
    let pointer = target.value().pointer("/extensions/KHR_animation_pointer/pointer").and_then(Value::as_str);
    let Some(owner) = pointer.and_then(|pointer| pointer.strip_suffix("/weights")) else { return Ok(()) };
    for &node in counts.keys() {
        let mesh = root.entry("nodes", node)?.reference_at("mesh", "meshes")?;
        let meshes = mesh.map(|mesh| format!("/meshes/{mesh}"));
        if owner == format!("/nodes/{node}") || meshes.as_deref() == Some(owner) {
            let fault = format!("animates all morph weights of {owner} by KHR_animation_pointer");
            let remedy = "export morph animations as plain weights channels";
            return Err(Fault::new(FaultKind::Unsupported, target.element(), fault, remedy).into());
        }
    }
    Ok(())
}

/// The weights a node's own targets have where nothing animates them.
fn default_weights(root: &View<'_>, node: usize) -> Result<Vec<f32>, Fault> {
    let view = root.entry("nodes", node)?;
    let mesh = root.entry("meshes", view.need("mesh")?.reference("meshes")?)?;
    let holder = if view.get("weights")?.is_some() { &view } else { &mesh };
    let mut weights = Vec::new();
    for weight in holder.list("weights")? {
        weights.push(weight.number()? as f32);
    }
    weights.resize(target_count(&mesh)?, 0.0);
    Ok(weights)
}

pub(crate) fn interpolation_name(interpolation: Interpolation) -> &'static str {
    match interpolation {
        Interpolation::Linear => "LINEAR",
        Interpolation::Step => "STEP",
        Interpolation::CubicSpline => "CUBICSPLINE",
    }
}

impl ChannelPlan<'_> {
    fn write(&self, edit: &mut Edit<'_>, report: &mut LayerReport) -> Result<(), WriteError> {
        let Merged { interpolation, times, values } = merge(&self.own, self.added, self.count);
        let before = edit.bytes_added();
        let times_count = times.len().max(1);
        let input = edit.accessor(TIMES, times)?;
        let output = edit.rows(WEIGHTS, values.len() / times_count, values)?;
        report.bytes.weights += edit.bytes_added() - before;
        let interpolation = interpolation_name(interpolation);
        let at = format!("/animations/{}", self.animation);
        let sampler = json!({"input": input, "output": output, "interpolation": interpolation});
        let samplers = edit.json().pointer(&format!("{at}/samplers")).and_then(Value::as_array);
        // An equal sampler can only be one of ours: its accessors are new.
        let sampler = match samplers.and_then(|samplers| samplers.iter().position(|s| *s == sampler)) {
            Some(shared) => shared,
            None => edit.push(&format!("{at}/samplers"), sampler)?,
        };
        match self.channel {
            Some(channel) => {
                report.replaced_channels.push((self.animation, channel));
                edit.set(&format!("{at}/channels/{channel}/sampler"), sampler.into())
            }
            None => {
                let target = json!({"node": self.node, "path": "weights"});
                edit.push(&format!("{at}/channels"), json!({"sampler": sampler, "target": target})).map(drop)
            }
        }
    }
}
