//! What engines can play: the limits known of each, and what to do where a character exceeds them.

use sinew::Rig;
use sinew::rig::PartKind;

/// An engine's limits; `None` where none is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Name on the command line.
    pub name: &'static str,
    /// Name in sentences.
    pub title: &'static str,
    /// Morph targets per mesh, those the file already has included.
    pub max_targets: Option<usize>,
    /// Bones per vertex.
    pub max_influences: Option<usize>,
    /// Bones per skin.
    pub max_joints: Option<usize>,
    /// Vertices of a primitive with morph targets.
    pub max_morphed_vertices: Option<usize>,
    /// Whether it is known to read morph targets of whole numbers (`KHR_mesh_quantization`).
    pub reads_whole_numbers: bool,
    /// Whether it is known to read what meshopt has packed (`EXT_meshopt_compression`).
    pub reads_meshopt: bool,
}

/// All engines, by name.
pub const ENGINES: &[Engine] = &[
    // bevy_mesh 0.19, morph.rs: MAX_MORPH_WEIGHTS = 256 (64 before 0.18), and 2048² numbers per target image, nine a
    // vertex; Mesh::ATTRIBUTE_JOINT_WEIGHT has four; bevy_pbr, skin.rs: MAX_JOINTS = 256. The crate `gltf` reads morph
    // targets as f32 whatever they are.
    Engine {
        name: "bevy",
        title: "Bevy",
        max_targets: Some(256),
        max_influences: Some(4),
        max_joints: Some(256),
        max_morphed_vertices: Some(2048 * 2048 / 9),
        reads_whole_numbers: false,
        reads_meshopt: false,
    },
    // The glTF importer and exporter of Blender take any number (io_scene_gltf2, "Bone Influences": all).
    Engine {
        name: "blender",
        title: "Blender",
        max_targets: None,
        max_influences: None,
        max_joints: None,
        max_morphed_vertices: None,
        reads_whole_numbers: true,
        reads_meshopt: false,
    },
    // Mesh.ARRAY_FLAG_USE_8_BONE_WEIGHTS: four or eight; blend shapes live in buffers without a count of their own.
    Engine {
        name: "godot",
        title: "Godot 4",
        max_targets: None,
        max_influences: Some(8),
        max_joints: None,
        max_morphed_vertices: None,
        reads_whole_numbers: false,
        reads_meshopt: false,
    },
    // WebGLMorphtargets.js: a layer of an array texture and an element of a uniform array per target; WebGL 2
    // guarantees 256 layers and 256 uniform vectors, of which a lit skinned material takes up to about 60.
    // skinning_pars_vertex: one skinIndex and one skinWeight attribute of four. GLTFLoader unpacks meshopt once it is given a
    // decoder (setMeshoptDecoder).
    Engine {
        name: "three",
        title: "three.js",
        max_targets: Some(192),
        max_influences: Some(4),
        max_joints: None,
        max_morphed_vertices: None,
        reads_whole_numbers: true,
        reads_meshopt: true,
    },
    // Unity glTFast reads JOINTS_0 and WEIGHTS_0 alone; meshes take any number of blend shapes. Its package
    // com.unity.meshopt.decompress unpacks meshopt.
    Engine {
        name: "unity",
        title: "Unity",
        max_targets: None,
        max_influences: Some(4),
        max_joints: None,
        max_morphed_vertices: None,
        reads_whole_numbers: false,
        reads_meshopt: true,
    },
    // GPUSkinPublicDefs.h: MAX_TOTAL_INFLUENCES = 12 (8 before 5.0); joints are 16-bit.
    Engine {
        name: "unreal",
        title: "Unreal Engine 5",
        max_targets: None,
        max_influences: Some(12),
        max_joints: Some(65536),
        max_morphed_vertices: None,
        reads_whole_numbers: false,
        reads_meshopt: false,
    },
];

impl Engine {
    /// The engine of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ENGINES.iter().find(|engine| engine.name == name)
    }

    /// Targets it leaves for the mesh that has most of its own; `None` where there is no limit.
    pub fn targets_left(&self, rig: &Rig) -> Option<usize> {
        let own = rig.parts().iter().map(|part| part.morph_weights.len()).max().unwrap_or(0);
        self.max_targets.map(|most| most.saturating_sub(own))
    }

    /// What of the character itself the engine cannot play, with the remedy.
    pub fn objections(&self, rig: &Rig) -> Vec<String> {
        let mut objections = Vec::new();
        let title = self.title;
        if let Some(most) = self.max_influences {
            let found = most_influences(rig);
            if found > most {
                objections.push(format!(
                    "{title} takes {most} bones per vertex, but a vertex has {found}: limit the influences to {most} in \
                     the modelling tool (Blender: Weights, Limit Total) and export again"
                ));
            }
        }
        if let Some(most) = self.max_joints {
            let mut bones: Vec<_> = rig.palette().iter().map(|entry| entry.bone).collect();
            bones.sort_unstable();
            bones.dedup();
            if bones.len() > most {
                objections.push(format!(
                    "{title} takes {most} bones per skin, but there are {}: split the character or drop bones that move \
                     nothing",
                    bones.len()
                ));
            }
        }
        if let Some(most) = self.max_morphed_vertices {
            let primitives = rig.parts().iter().flat_map(|part| &part.primitives);
            let found = primitives.map(|primitive| primitive.vertices.len()).max().unwrap_or(0);
            if found > most {
                objections.push(format!(
                    "{title} takes {most} vertices in a mesh with morph targets, but one has {found}: split that mesh"
                ));
            }
        }
        objections
    }
}

/// The most bones any skinned vertex follows.
pub fn most_influences(rig: &Rig) -> usize {
    let skinned = rig.parts().iter().filter(|part| part.kind == PartKind::Skinned);
    let vertices = skinned.flat_map(|part| &part.primitives).flat_map(|primitive| primitive.vertices.clone());
    vertices.map(|vertex| rig.influences(rig.point(vertex)).count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_found_by_name_and_stand_in_order() {
        assert!(ENGINES.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert_eq!(Engine::named("bevy").and_then(|engine| engine.max_targets), Some(256));
        assert!(Engine::named("Bevy").is_none());
    }

    #[test]
    fn what_an_engine_cannot_play_is_named_with_the_remedy() {
        let mut character = sinew_zoo::build("tube:vertices=200,bones=6").unwrap();
        let rig = Rig::build(&character.raw).unwrap().0;
        assert!(most_influences(&rig) <= 4);
        assert!(ENGINES.iter().all(|engine| engine.objections(&rig).is_empty()));
        let influences = &mut character.raw.meshes[0].primitives[0].influences;
        let vertices = influences.joints.len() / influences.per_vertex;
        influences.per_vertex = 6;
        influences.joints = (0..vertices).flat_map(|_| 0..6).collect();
        influences.weights = vec![1.0 / 6.0; 6 * vertices];
        let rig = Rig::build(&character.raw).unwrap().0;
        let bevy = Engine::named("bevy").unwrap().objections(&rig);
        assert!(bevy.len() == 1 && bevy[0].contains("has 6: limit the influences to 4"), "{bevy:?}");
        assert!(Engine::named("godot").unwrap().objections(&rig).is_empty());
    }
}
