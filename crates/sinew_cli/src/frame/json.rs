//! A frame as JSON: everything there is to know about it, written as it goes.

use super::snapshot::Snapshot;
use crate::inspect::Finding;
use serde::{Serialize, Serializer};
use sinew::BoneMotion;
use sinew::correct::MuscleReport;
use sinew::kinodynamic::Diagnosis;
use sinew::rig::{Part, PartKind, Primitive};
use std::io::{self, Write};

pub(super) fn write(snapshot: &Snapshot<'_>, out: &mut dyn Write) -> io::Result<()> {
    let meshes = |kind: PartKind| -> Vec<MeshDocument<'_>> {
        let parts = snapshot.parts().into_iter().filter(|part| part.kind == kind);
        parts.map(|part| mesh(snapshot, part)).collect()
    };
    let document = Document {
        file: &snapshot.scene.name,
        clip: snapshot.clip.as_ref().map(|clip| clip.name),
        clip_index: snapshot.clip.as_ref().map(|clip| clip.index),
        time: snapshot.clip.as_ref().map(|clip| clip.time),
        base: snapshot.base,
        fold_over_free: snapshot.diagnosis.map(DiagnosisDocument::from),
        muscles: snapshot.muscles.iter().map(|muscle| muscle_document(snapshot, muscle)).collect(),
        meshes: meshes(PartKind::Skinned),
        rigid_meshes: meshes(PartKind::Rider),
        bones: bones(snapshot),
        warnings: snapshot.scene.warnings.iter().map(Finding::from).collect(),
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}

#[derive(Serialize)]
struct Document<'a> {
    file: &'a str,
    clip: Option<&'a str>,
    clip_index: Option<usize>,
    /// Seconds, as sampled: clamped to the clip or wrapped into it.
    time: Option<f64>,
    base: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fold_over_free: Option<DiagnosisDocument>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    muscles: Vec<MuscleDocument<'a>>,
    meshes: Vec<MeshDocument<'a>>,
    rigid_meshes: Vec<MeshDocument<'a>>,
    bones: Vec<BoneDocument<'a>>,
    warnings: Vec<Finding<'a>>,
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
    let MuscleReport { bone, samples, contraction_residual } = *muscle;
    MuscleDocument { bone: snapshot.scene.rig.skeleton().name(bone), samples, contraction_residual }
}

#[derive(Serialize)]
struct MeshDocument<'a> {
    node: usize,
    name: &'a str,
    primitives: Vec<PrimitiveDocument<'a>>,
}

struct PrimitiveDocument<'a> {
    snapshot: &'a Snapshot<'a>,
    part: &'a Part,
    primitive: &'a Primitive,
}

fn mesh<'a>(snapshot: &'a Snapshot<'a>, part: &'a Part) -> MeshDocument<'a> {
    let primitives = part.primitives.iter().map(|primitive| PrimitiveDocument { snapshot, part, primitive });
    MeshDocument { node: part.node, name: &part.name, primitives: primitives.collect() }
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
    // Relative to the parent, in world axes.
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
            centroid: rig
                .centroid(bone)
                .map(|centroid| snapshot.world.world_from_bone(bone).transform_point3(centroid).to_array()),
            linear_velocity: motion.linear_velocity.to_array(),
            angular_velocity: motion.angular_velocity.to_array(),
            linear_acceleration: motion.linear_acceleration.to_array(),
            angular_acceleration: motion.angular_acceleration.to_array(),
        }
    };
    bones.map(document).collect()
}
