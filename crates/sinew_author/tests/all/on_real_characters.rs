//! Surface edits and strokes on the skin of a real character, over every clip it has.
use glam::DVec3;
use sinew::recipe::{EditShape, EditSpec};
use sinew::strokes::surface::SurfaceTree;
use sinew::strokes::{Reach, Sample, Stroke, SurfaceStroke};
use sinew::*;
use sinew_author::{EditStage, Solve};
use sinew_gltf::{Asset, RawAsset};
use sinew_testkit::assets::asset;
use std::sync::Arc;

fn frame(clip: &Clip, stage: &Stage, time: f64) -> (WorldPose, DeformedMesh) {
    let playing = stage.motion(clip, &MotionSettings::default()).expect("the clip can be read");
    let mut workspace = Workspace::default();
    playing.frame(time, &mut workspace);
    (workspace.world().clone(), workspace.take_mesh())
}

fn stroke(points: &[DVec3]) -> Stroke {
    let samples: Vec<Sample> = points.iter().map(|&position| Sample { position, time_secs: 0.0 }).collect();
    Stroke::new(&samples).expect("finite")
}

#[test]
fn an_edit_reproduces_at_its_pose_and_stays_attached_over_every_clip() {
    let Some(path) = asset("CesiumMan.glb") else { return };
    let mut imported = RawAsset::open(&path).expect("imports");
    let rig = Arc::new(Rig::build(&imported.raw).expect("builds").0);
    let size = rig.characters()[0].size;
    let base = Stage::new(&rig, &Recipe::default()).expect("fits");
    let stage = EditStage::new(&rig, 0).expect("a surface");
    let made_at = 0.6;
    let (world, mesh) = frame(&imported.clips[0], &base, made_at);
    let before = stage.skin().points(&rig, &mesh);
    // From the farthest point to the front of the character, a hand's breadth outward.
    let middle = before.iter().sum::<DVec3>() / before.len() as f64;
    let top = before.iter().copied().max_by(|a, b| (a.x - middle.x).total_cmp(&(b.x - middle.x))).expect("points");
    let outward = DVec3::X * (0.06 * size);
    let (from, to) = (stroke(&[top]), stroke(&[top + outward]));
    let pulled = stage.pull(&world, &rig, &before, [&from, &to], Reach::Rings(5), Solve::Arap(20)).expect("a region");
    let changes = stage.encode(&world, &rig, &before, &pulled.points);
    for (ending, values) in stage.maps(&rig, &changes, &pulled.inside) {
        for part in rig.parts() {
            for (index, primitive) in part.primitives.iter().enumerate() {
                let mesh = imported.raw.meshes.iter_mut().find(|mesh| mesh.node == part.node).expect("a mesh");
                let values = values[primitive.vertices.clone()].to_vec();
                mesh.primitives[index].maps.push((format!("bump{ending}"), values));
            }
        }
    }
    let rig = Arc::new(Rig::build(&imported.raw).expect("builds").0);
    let edit = EditSpec::new(EditShape::Shape(vec![(0.0, "bump".to_owned())]));
    let edited = Stage::new(&rig, &Recipe { edits: vec![edit], ..Recipe::default() }).expect("fits");
    let base = Stage::new(&rig, &Recipe::default()).expect("fits");
    let stage = EditStage::new(&rig, 0).expect("a surface");
    let there = stage.skin().points(&rig, &frame(&imported.clips[0], &edited, made_at).1);
    let off = there.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max) / size;
    let made = before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max) / size;
    println!("at its own pose: moved {made:.4}, off {off:.2e} of the size");
    assert!(made > 0.05 && off < 5e-7);
    for clip in &imported.clips {
        let (start, end) = clip.span().expect("keys");
        let (mut least, mut most, mut jump) = (f64::INFINITY, 0.0f64, 0.0f64);
        let mut last: Option<Vec<DVec3>> = None;
        let frames = ((end - start) * 60.0) as usize;
        for i in 0..=frames {
            let time = start + i as f64 / 60.0;
            let plain = stage.skin().points(&rig, &frame(clip, &base, time).1);
            let now = stage.skin().points(&rig, &frame(clip, &edited, time).1);
            let moves: Vec<DVec3> = now.iter().zip(&plain).map(|(a, b)| *a - *b).collect();
            let largest = moves.iter().map(|d| d.length()).fold(0.0, f64::max) / size;
            (least, most) = (least.min(largest), most.max(largest));
            for (inside, d) in pulled.inside.iter().zip(&moves) {
                assert!(*inside > 0.0 || *d == DVec3::ZERO, "nothing moves outside");
            }
            if let Some(last) = &last {
                jump = jump.max(moves.iter().zip(last).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max) / size);
            }
            last = Some(moves);
        }
        println!("clip \"{}\": between {least:.4} and {most:.4} of the size, {jump:.4} from frame to frame", clip.name);
        assert!(least > 0.7 * made && most < 1.4 * made, "it neither fades nor grows");
        assert!(jump < 0.15 * made, "it does not pop");
    }
}

#[test]
fn strokes_on_the_skin_stay_on_it_through_every_clip() {
    let Some(path) = asset("CesiumMan.glb") else { return };
    let Asset { rig, clips, .. } = Asset::open(&path).expect("imports");
    let size = rig.characters()[0].size;
    let graph = Stage::new(&rig, &Recipe::default()).expect("fits");
    let stage = EditStage::new(&rig, 0).expect("a surface");
    let faces = stage.skin().triangles();
    let first = stage.skin().points(&rig, &frame(&clips[0], &graph, 0.0).1);
    let (low, high) = first.iter().fold((DVec3::MAX, DVec3::MIN), |(l, h), p| (l.min(*p), h.max(*p)));
    let tree = SurfaceTree::new(faces, &first).expect("corners exist");
    let laid = SurfaceStroke::lay(&stroke(&[low, 0.5 * (low + high), high]), &tree, 200).expect("a surface");
    let mut worst = 0.0f64;
    for clip in &clips {
        let (start, end) = clip.span().expect("keys");
        for i in 0..=((end - start) * 30.0) as usize {
            let points = stage.skin().points(&rig, &frame(clip, &graph, start + i as f64 / 30.0).1);
            let tree = SurfaceTree::new(faces, &points).expect("corners exist");
            for sample in laid.follow(faces, &points).expect("the same surface") {
                let nearest = tree.nearest(sample.position).and_then(|at| at.at(faces, &points)).expect("a surface");
                worst = worst.max(nearest.distance(sample.position) / size);
            }
        }
    }
    println!("farthest from the skin: {worst:.1e} of the size");
    assert!(worst < 1e-12);
}
