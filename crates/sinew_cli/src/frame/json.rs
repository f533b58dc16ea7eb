//! Frames as JSON: everything there is to know about them, written as they go.

use super::snapshot::Snapshot;
use crate::fault::Fault;
use crate::inspect::Finding;
use crate::output::Stopped;
use serde::{Serialize, Serializer};
use sinew::BoneMotion;
use sinew::correct::MuscleReport;
use sinew::kinodynamic::Diagnosis;
use sinew::rig::{Part, PartKind, Primitive};
use std::io::{self, Write};

/// One frame.
pub(super) fn write(snapshot: &Snapshot<'_>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document { scene: scene(snapshot), frame: frame(snapshot) })?;
    writeln!(out)
}

/// Several frames, each written before the next is made.
pub(super) fn write_all<'a>(
    snapshots: impl Iterator<Item = Result<Snapshot<'a>, Fault>>,
    out: &mut dyn Write,
) -> Result<(), Stopped> {
    for (index, snapshot) in snapshots.enumerate() {
        let snapshot = snapshot?;
        if index == 0 {
            let scene = serde_json::to_string(&scene(&snapshot)).map_err(io::Error::from)?;
            // Left open for the frames.
            write!(out, "{},\"frames\":[", scene.strip_suffix('}').unwrap_or(&scene))?;
        } else {
            write!(out, ",")?;
        }
        serde_json::to_writer(&mut *out, &frame(&snapshot)).map_err(io::Error::from)?;
    }
    Ok(writeln!(out, "]}}")?)
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    scene: SceneDocument<'a>,
    #[serde(flatten)]
    frame: FrameDocument<'a>,
}

/// What all frames have in common.
#[derive(Serialize)]
struct SceneDocument<'a> {
    file: &'a str,
    clip: Option<&'a str>,
    clip_index: Option<usize>,
    base: &'static str,
    characters: Vec<CharacterDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    muscles: Vec<MuscleDocument<'a>>,
    warnings: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct CharacterDocument<'a> {
    name: &'a str,
    /// Diagonal of the bounding box at the nodes' default transforms: what recipes call a size.
    size: f64,
}

#[derive(Serialize)]
struct FrameDocument<'a> {
    /// Seconds, as sampled: clamped to the clip or wrapped into it.
    time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fold_over_free: Option<DiagnosisDocument>,
    meshes: Vec<MeshDocument<'a>>,
    rigid_meshes: Vec<MeshDocument<'a>>,
    bones: Vec<BoneDocument<'a>>,
}

fn scene<'a>(snapshot: &Snapshot<'a>) -> SceneDocument<'a> {
    let characters = snapshot.scene.rig.characters().iter();
    SceneDocument {
        file: &snapshot.scene.name,
        clip: snapshot.clip.as_ref().map(|clip| clip.name),
        clip_index: snapshot.clip.as_ref().map(|clip| clip.index),
        base: snapshot.base,
        characters: characters.map(|c| CharacterDocument { name: &c.name, size: c.size }).collect(),
        muscles: snapshot.muscles.iter().map(|muscle| muscle_document(snapshot, muscle)).collect(),
        warnings: snapshot.scene.warnings.iter().map(Finding::from).collect(),
    }
}

fn frame<'a>(snapshot: &'a Snapshot<'a>) -> FrameDocument<'a> {
    let meshes = |kind: PartKind| -> Vec<MeshDocument<'a>> {
        let parts = snapshot.parts().into_iter().filter(|part| part.kind == kind);
        parts.map(|part| mesh(snapshot, part)).collect()
    };
    FrameDocument {
        time: snapshot.clip.as_ref().map(|clip| clip.time),
        fold_over_free: snapshot.diagnosis.map(DiagnosisDocument::from),
        meshes: meshes(PartKind::Skinned),
        rigid_meshes: meshes(PartKind::Rider),
        bones: bones(snapshot),
    }
}

#[derive(Serialize)]
struct DiagnosisDocument {
    steps: f64,
    steps_needed: f64,
    /// In sizes.
    error: f64,
    smallest_determinant: f64,
}

impl From<Diagnosis> for DiagnosisDocument {
    fn from(found: Diagnosis) -> Self {
        Self {
            steps: found.steps,
            steps_needed: found.steps_needed,
            error: found.error,
            smallest_determinant: found.smallest_determinant,
        }
    }
}

#[derive(Serialize)]
struct MuscleDocument<'a> {
    bone: &'a str,
    samples: usize,
    contraction_residual: f64,
}

fn muscle_document<'a>(snapshot: &Snapshot<'a>, muscle: &MuscleReport) -> MuscleDocument<'a> {
    let MuscleReport { bone, samples, contraction_residual, .. } = *muscle;
    MuscleDocument { bone: snapshot.scene.rig.skeleton().name(bone), samples, contraction_residual }
}

#[derive(Serialize)]
struct MeshDocument<'a> {
    node: usize,
    name: &'a str,
    /// Whose it is, of `characters`.
    character: usize,
    primitives: Vec<PrimitiveDocument<'a>>,
}

struct PrimitiveDocument<'a> {
    snapshot: &'a Snapshot<'a>,
    part: &'a Part,
    primitive: &'a Primitive,
}

fn mesh<'a>(snapshot: &'a Snapshot<'a>, part: &'a Part) -> MeshDocument<'a> {
    let primitives = part.primitives.iter().map(|primitive| PrimitiveDocument { snapshot, part, primitive });
    MeshDocument { node: part.node, name: &part.name, character: part.character, primitives: primitives.collect() }
}

impl Serialize for PrimitiveDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let Self { snapshot, part, primitive } = *self;
        let normals = &snapshot.deformed.normals[primitive.vertices.clone()];
        let mut fields = serializer.serialize_struct("primitive", 4)?;
        fields.serialize_field("positions", &Seq(|| snapshot.positions(&snapshot.deformed, part, primitive)))?;
        fields.serialize_field("base_positions", &Seq(|| snapshot.positions(&snapshot.skinned, part, primitive)))?;
        fields.serialize_field("normals", &Seq(|| normals.iter().map(|normal| normal.to_array())))?;
        fields.serialize_field("indices", &Seq(|| snapshot.triangles(primitive).flatten()))?;
        fields.end()
    }
}

/// An array written from an iterator, so that no list of it is ever held.
struct Seq<F>(F);

impl<F: Fn() -> I, I: IntoIterator<Item: Serialize>> Serialize for Seq<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

#[derive(Serialize)]
struct BoneDocument<'a> {
    node: usize,
    name: &'a str,
    parent: Option<usize>,
    /// World position of the joint.
    origin: [f64; 3],
    /// World centroid of what the bone moves; `null` where it moves no skin.
    centroid: Option<[f64; 3]>,
    /// The bone it follows instead of its parent, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<usize>,
    // Relative to the parent, or to what it follows, in world axes.
    linear_velocity: [f64; 3],
    angular_velocity: [f64; 3],
    linear_acceleration: [f64; 3],
    angular_acceleration: [f64; 3],
}

fn bones<'a>(snapshot: &'a Snapshot<'a>) -> Vec<BoneDocument<'a>> {
    let rig = &snapshot.scene.rig;
    let skeleton = rig.skeleton();
    let bones = (0..skeleton.len()).filter_map(|node| Some((node, skeleton.bone_of_node(node)?)));
    let document = |(node, bone)| {
        let motion: &BoneMotion = &snapshot.kinematics.bones[sinew::BoneId::index(bone)];
        BoneDocument {
            node,
            name: skeleton.name(bone),
            parent: skeleton.parent(bone).map(|parent| skeleton.node(parent)),
            origin: snapshot.world.joint_origin(bone).to_array(),
            follows: snapshot.hierarchy.followed(bone).map(|followed| skeleton.node(followed)),
            centroid: snapshot.centroids[sinew::BoneId::index(bone)]
                .map(|centroid| snapshot.world.world_from_bone(bone).transform_point3(centroid).to_array()),
            linear_velocity: motion.linear_velocity.to_array(),
            angular_velocity: motion.angular_velocity.to_array(),
            linear_acceleration: motion.linear_acceleration.to_array(),
            angular_acceleration: motion.angular_acceleration.to_array(),
        }
    };
    bones.map(document).collect()
}
