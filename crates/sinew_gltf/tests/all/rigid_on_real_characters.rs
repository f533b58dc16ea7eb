//! What does not bend, on real characters with the strongest preset: swords, helmets, eyes and parts of machines keep
//! their shape and stay where they are held, capes bend.

use sinew::anatomy::Role;
use sinew::recipe::{Collide, Rigid, Sewn};
use sinew::*;
use sinew_gltf::Asset;
use sinew_testkit::assets::asset;
use sinew_testkit::rigid_fit::{V, rigid_fit};
use std::sync::Arc;

struct Played {
    rig: Arc<Rig>,
    base: DeformedMesh,
    free: DeformedMesh,
    held: DeformedMesh,
}

/// Frames of one clip, spread over it.
fn played(file: &str, clip: &str, frames: usize) -> Vec<Played> {
    let Some(path) = asset(file) else { return Vec::new() };
    let Asset { rig, clips, .. } = Asset::open(&path).expect("opens");
    let clip = clips.iter().find(|found| found.name.contains(clip)).expect("a clip of that name");
    let cartoon = RecipeFile::parse(presets::get("cartoon").expect("a preset")).expect("parses");
    let cartoon = cartoon.recipe().without_strength();
    let stage = |rigid: Rigid| {
        Stage::new(&rig, &Recipe { rigid, sewn: Sewn::None, collide: Collide::None, ..cartoon.clone() }).expect("fits")
    };
    let (free, held) = (stage(Rigid::None), stage(Rigid::Auto));
    let frame = |stage: &Stage, time: f64| {
        let mut workspace = Workspace::with(Outputs { base: true, ..Outputs::default() });
        let playing = stage.motion(clip, &MotionSettings::default()).expect("plays");
        let report = playing.report();
        playing.frame(report.start + time * (report.last_key - report.start), &mut workspace);
        (workspace.take_base(), workspace.take_mesh())
    };
    let at = |i: usize| {
        let time = (i as f64 + 0.5) / frames as f64;
        let ((base, free), (_, held)) = (frame(&free, time), frame(&held, time));
        Played { rig: Arc::clone(&rig), base, free, held }
    };
    (0..frames).map(at).collect()
}

fn place(p: glam::Vec3) -> V {
    p.as_dvec3().to_array()
}

impl Played {
    fn vertices(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.rig.vertex_count()).filter(|&vertex| wanted(self.rig.point(vertex))).collect()
    }

    fn mesh(&self, name: &str) -> Vec<usize> {
        let parts = self.rig.parts().iter().filter(|part| part.name == name);
        parts.flat_map(|part| part.primitives.iter().flat_map(|primitive| primitive.vertices.clone())).collect()
    }

    /// How far some vertices are from moving as one, in their own size.
    fn bend(&self, vertices: &[usize], moved: &DeformedMesh) -> f64 {
        let pairs: Vec<(V, V)> =
            vertices.iter().map(|&v| (place(self.base.positions[v]), place(moved.positions[v]))).collect();
        let low = vertices.iter().map(|&v| self.base.positions[v]).reduce(glam::Vec3::min).expect("vertices");
        let high = vertices.iter().map(|&v| self.base.positions[v]).reduce(glam::Vec3::max).expect("vertices");
        rigid_fit(&pairs).residual / f64::from((high - low).length())
    }

    /// Mean distance of vertices of a piece, those nearest to some others in the base, to their neighbours there: more than
    /// in the base, in sizes.
    fn gap(&self, piece: &[usize], under: &[usize]) -> f64 {
        let base = &self.base.positions;
        let mut pairs: Vec<(f32, usize, usize)> = piece
            .iter()
            .filter_map(|&v| {
                let near = under.iter().map(|&u| (base[u].distance(base[v]), v, u));
                near.reduce(|a, b| if b.0 < a.0 { b } else { a })
            })
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        pairs.truncate(8);
        let sum = |points: &[glam::Vec3]| {
            pairs.iter().map(|&(_, v, u)| f64::from(points[v].distance(points[u]))).sum::<f64>() / pairs.len() as f64
        };
        (sum(&self.held.positions) - sum(base)) / self.rig.characters()[0].size
    }
}

#[test]
fn a_knights_sword_stays_straight_and_in_his_hand() {
    let mut bent = 0.0f64;
    for frame in played("KayKit_Knight.glb", "1H_Melee_Attack_Chop", 6) {
        let anatomy = Anatomy::of(&frame.rig);
        let skin = |role: Role| frame.vertices(|slot| anatomy.role_of_point(slot) == role && !frame.rig.is_rider(slot));
        for (mesh, under) in [("1H_Sword", Role::Hand), ("Knight_Helmet", Role::Head), ("Round_Shield", Role::Hand)] {
            let own = frame.mesh(mesh);
            bent = bent.max(frame.bend(&own, &frame.free));
            let (bend, gap) = (frame.bend(&own, &frame.held), frame.gap(&own, &skin(under)));
            println!("{mesh}: bend {bend:.1e} of its size, gap {:.3} % of the knight's", 100.0 * gap);
            assert!(bend < 1e-5, "{mesh}: {bend:e}");
            assert!(gap < 0.005, "{mesh}: {gap}");
        }
        let cape = frame.mesh("Knight_Cape");
        let unheld = cape.iter().all(|&v| frame.held.positions[v] == frame.free.positions[v]);
        assert!(unheld, "the cape is soft");
    }
    assert!(bent > 0.005 || sinew_testkit::assets::folder().is_none(), "nothing to hold: {bent}");
}

#[test]
fn eyes_and_parts_of_machines_keep_their_shape() {
    for (file, clip) in [("Quaternius_Snake.glb", ""), ("RobotExpressive.glb", "Dance"), ("Fox.glb", "Run")] {
        for frame in played(file, clip, 3) {
            let anatomy = Anatomy::of(&frame.rig);
            for (index, piece) in anatomy.pieces().iter().enumerate() {
                let own = frame.vertices(|slot| anatomy.piece_of_point(slot) == Some(index));
                if piece.rigid {
                    let bend = frame.bend(&own, &frame.held);
                    assert!(bend < 1e-5, "{file} {}: {bend:e}", piece.mesh);
                } else {
                    assert!(own.iter().all(|&v| frame.held.positions[v] == frame.free.positions[v]), "{file}");
                }
            }
        }
    }
}
