//! Characters that are drawn on, and pictures of them.

use glam::{DVec2, DVec3, Vec3};
use sinew::recipe::{EditShape, EditSpec};
use sinew::{Clip, Cpu, MotionSettings, RawRig, Recipe, Rig, Stage, Workspace, WorldPose};
use sinew_author::EditStage;
use sinew_gltf::RawAsset;
use sinew_render::*;
use std::sync::Arc;

/// A character with its clips.
pub struct Subject {
    pub name: String,
    pub raw: RawRig,
    pub clips: Vec<Clip>,
    pub rig: Arc<Rig>,
}

impl Subject {
    pub fn new(name: &str, raw: RawRig, clips: Vec<Clip>) -> Self {
        let rig = Arc::new(Rig::build(&raw).expect("the rig builds").0);
        Self { name: name.to_owned(), raw, clips, rig }
    }

    pub fn zoo(spec: &str) -> Self {
        let zoo = sinew_zoo::build(spec).expect("a zoo character");
        Self::new(spec, zoo.raw, zoo.clips)
    }

    /// A real character; `None` where there are none.
    pub fn real(file: &str) -> Option<Self> {
        let asset = RawAsset::open(&sinew_testkit::assets::asset(file)?).expect("imports");
        Some(Self::new(file, asset.raw, asset.clips))
    }

    pub fn size(&self) -> f64 {
        self.rig.characters()[0].size
    }

    pub fn edit_stage(&self) -> EditStage {
        EditStage::new(&self.rig, 0).expect("a surface")
    }

    /// World transforms and nodes of the skin at a time of a clip, or at rest.
    pub fn frame(&self, recipe: &Recipe, clip: Option<&Clip>, time: f64) -> (WorldPose, Vec<DVec3>) {
        let stage = Stage::new(&self.rig, recipe).expect("the recipe fits");
        let mut workspace = Workspace::default();
        match clip {
            Some(clip) => {
                let playing = stage.motion(clip, &MotionSettings::default()).expect("the clip can be read");
                playing.frame(time, &mut workspace);
            }
            None => stage.resting(&mut workspace).deform(&Cpu::serial()),
        }
        let world = workspace.world().clone();
        (world, self.edit_stage().skin().points(&self.rig, &workspace.take_mesh()))
    }

    /// The same character with an edit of its nodes at a pose painted on it, and a recipe that plays it.
    pub fn with_edit(
        &self,
        name: &str,
        world: &WorldPose,
        before: &[DVec3],
        after: &sinew_author::Pulled,
    ) -> (Self, Recipe) {
        let stage = self.edit_stage();
        let changes = stage.encode(world, &self.rig, before, &after.points);
        let mut raw = self.raw.clone();
        for (ending, values) in stage.maps(&self.rig, &changes, &after.inside) {
            for part in self.rig.parts() {
                let mesh = raw.meshes.iter_mut().find(|mesh| mesh.node == part.node).expect("a mesh");
                for (index, primitive) in part.primitives.iter().enumerate() {
                    let values = values[primitive.vertices.clone()].to_vec();
                    mesh.primitives[index].maps.push((format!("{name}{ending}"), values));
                }
            }
        }
        let edit = EditSpec::new(EditShape::Shape(vec![(0.0, name.to_owned())]));
        let recipe = Recipe { edits: vec![edit], ..Recipe::default() };
        (Self::new(&self.name, raw, self.clips.clone()), recipe)
    }
}

/// A square picture of a surface: which pixels it covers, and how it looks.
pub struct Photo {
    pub size: Size,
    pub camera: Camera,
}

impl Photo {
    pub fn framing(points: &[DVec3], view: View, side: u32) -> Self {
        let size = Size::new(side, side).expect("a size");
        let mut framing = Framing::new(view, FramingLens::default(), size);
        points.iter().for_each(|p| framing.include(*p));
        Self { size, camera: framing.camera() }
    }

    pub fn projector(&self) -> Projector {
        self.camera.projector(self.size)
    }

    fn positions(points: &[DVec3]) -> Vec<Vec3> {
        points.iter().map(|p| p.as_vec3()).collect()
    }

    /// What each pixel sees.
    pub fn hits(&self, triangles: &[[u32; 3]], points: &[DVec3]) -> Vec<Option<Hit>> {
        let positions = Self::positions(points);
        let normals = vec![Vec3::Z; positions.len()];
        let mut mesh = Mesh::new(&positions, &normals, triangles);
        mesh.material.double_sided = true;
        let scene = Scene { meshes: vec![mesh], ..Scene::default() };
        Visibility::new(&scene, &self.camera, self.size, Antialias::Off).buffers().hit
    }

    /// Draws it with lines of pixels on top, in colours.
    pub fn draw(&self, triangles: &[[u32; 3]], points: &[DVec3], lines: &[(&[DVec2], [u8; 3])]) -> Image {
        let positions = Self::positions(points);
        let mut normals = vec![DVec3::ZERO; points.len()];
        for face in triangles {
            let [a, b, c] = face.map(|v| points[v as usize]);
            face.iter().for_each(|&v| normals[v as usize] += (b - a).cross(c - a));
        }
        let normals: Vec<Vec3> = normals.iter().map(|n| n.normalize_or(DVec3::Z).as_vec3()).collect();
        let mut mesh = Mesh::new(&positions, &normals, triangles);
        mesh.material.double_sided = true;
        let scene = Scene { meshes: vec![mesh], ..Scene::default() };
        let mut image = Visibility::new(&scene, &self.camera, self.size, Antialias::Four).shade(&Look::default());
        for (line, color) in lines {
            for pair in line.windows(2) {
                let steps = pair[0].distance(pair[1]).ceil().max(1.0) as usize;
                for i in 0..=steps {
                    let p = pair[0].lerp(pair[1], i as f64 / steps as f64);
                    image.blend(p.x as i64, p.y as i64, *color, 1.0);
                }
            }
        }
        image
    }
}

/// The long sweep?
pub fn is_full() -> bool {
    std::env::var_os("SINEW_FULL").is_some()
}
