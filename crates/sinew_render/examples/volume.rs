//! A bent arm and a twisted tube without and with their volume kept:
//! `cargo run --release -p sinew_render --example volume -- FILE.png`.

use glam::{DQuat, DVec3};
use sinew::recipe::CorrectionSpec;
use sinew::*;
use sinew_render::*;
use std::sync::Arc;

type Error = Box<dyn std::error::Error>;

/// A character bent by hand.
struct Subject {
    rig: Arc<Rig>,
    pose: Pose,
    color: [f32; 4],
    /// Only what is this near to a joint, in sizes, is framed.
    around: (DVec3, f64),
}

impl Subject {
    fn new(spec: &str, bone: &str, turn: DQuat, near: f64) -> Result<Self, Error> {
        let zoo = sinew_zoo::build(spec)?;
        let rig = Arc::new(Rig::build(&zoo.raw)?.0);
        let mut pose = rig.rest_pose();
        let bone = rig.skeleton().bones().find(|&b| rig.skeleton().name(b) == bone).ok_or("no such bone")?;
        if let LocalTransform::Trs(trs) = &mut pose.locals[bone.index()] {
            trs.rotation *= turn;
        }
        let mut world = WorldPose::default();
        world.compose(rig.skeleton(), &pose);
        let color = zoo.raw.meshes[0].primitives[0].color;
        Ok(Self { around: (world.joint_origin(bone), near), rig, pose, color })
    }

    fn picture(&self, corrections: Vec<CorrectionSpec>, view: View, size: Size) -> Result<Image, Error> {
        let stage = Stage::new(&self.rig, &Recipe { corrections, ..Recipe::default() })?;
        let mut workspace = Workspace::default();
        stage.posed(&self.pose, &stage.at_rest(), 0.0, &mut workspace)?.deform(&Cpu::serial());
        let out = workspace.mesh();
        let mut mesh = Mesh::new(&out.positions, &out.normals, self.rig.triangles());
        mesh.material.base_color = self.color;
        mesh.wire = Some(Wire::default());
        let mut framing = Framing::new(view, FramingLens::default(), size);
        let reach = self.around.1 * self.rig.characters()[0].size;
        for vertex in 0..out.positions.len() {
            let p = out.world_position(0, vertex);
            if p.distance(self.around.0) < reach {
                framing.include(p);
            }
        }
        let scene = Scene { meshes: vec![mesh], ..Scene::default() };
        Ok(draw(&scene, &framing.camera(), size, Antialias::Eight, &Look::default()))
    }
}

fn main() -> Result<(), Error> {
    let file = std::env::args().nth(1).ok_or("name a PNG file to write")?;
    let size = Size::new(480, 480).ok_or("size")?;
    let volume = |scope: &str, shape: &str| -> Result<CorrectionSpec, Error> {
        let mut spec = CorrectionSpec::new("volume").ok_or("no volume")?;
        spec.values.choose("scope", scope).map_err(|_| "no such scope")?;
        spec.values.choose("shape", shape).map_err(|_| "no such shape")?;
        Ok(spec)
    };
    let contact = || CorrectionSpec::new("fold-over").ok_or("no fold-over");
    let elbow = |degrees: f64| Subject::new("arm", "forearm", DQuat::from_rotation_x(degrees.to_radians()), 0.2);
    let tube = "tube:vertices=3000,bones=2,radius=0.2";
    let subjects = [
        ("elbow 90°", elbow(90.0)?, View::Side),
        ("elbow 140°", elbow(140.0)?, View::Side),
        ("elbow 140°, above", elbow(140.0)?, View::ThreeQuarter),
        ("twist 150°", Subject::new(tube, "tube.2", DQuat::from_rotation_y(2.6), 1.0)?, View::Front),
    ];
    let mut cells = Vec::new();
    for (_, subject, view) in &subjects {
        cells.push(vec![
            subject.picture(vec![], *view, size)?,
            subject.picture(vec![volume("whole", "rubber")?], *view, size)?,
            subject.picture(vec![volume("whole", "organic")?], *view, size)?,
            subject.picture(vec![volume("whole", "organic")?, contact()?], *view, size)?,
            subject.picture(vec![volume("both", "muscle")?, contact()?], *view, size)?,
        ]);
    }
    let columns = ["LBS", "rubber", "organic", "organic, fold-over", "segments, fold-over"].map(String::from);
    let rows: Vec<String> = subjects.iter().map(|(name, _, _)| (*name).to_owned()).collect();
    let sheet = Sheet { title: "volume and fold-over", columns: &columns, rows: &rows, cells: &cells };
    let file = std::fs::File::create(file)?;
    Ok(encode::write_png(std::io::BufWriter::new(file), &sheet.compose()?)?)
}
