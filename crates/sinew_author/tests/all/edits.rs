//! Surface edits through the whole pipeline: exact where they were made, attached everywhere, blended where they meet.
use glam::{DQuat, DVec3};
use sinew::recipe::{CorrectionSpec, Drive, EditShape, EditSpec};
use sinew::strokes::{Reach, Sample, Stroke};
use sinew::*;
use sinew_author::{EditStage, Pulled, Solve};
use std::sync::Arc;

/// A character for as many recipes as a test tries.
struct Subject {
    rig: Arc<Rig>,
}

impl Subject {
    fn new(raw: &RawRig) -> Self {
        Self { rig: Arc::new(Rig::build(raw).expect("the rig builds").0) }
    }

    fn size(&self) -> f64 {
        self.rig.characters()[0].size
    }

    /// The rest pose with the second bone turned.
    fn turned(&self, turn: DQuat) -> Pose {
        let skeleton = self.rig.skeleton();
        let bone = skeleton.bones().find(|&bone| skeleton.name(bone) == "tube.2").expect("a second bone");
        let mut pose = self.rig.rest_pose();
        if let LocalTransform::Trs(trs) = &mut pose.locals[bone.index()] {
            trs.rotation *= turn;
        }
        pose
    }

    fn at(&self, recipe: &Recipe, pose: &Pose, time: f64) -> DeformedMesh {
        let stage = Stage::new(&self.rig, recipe).expect("the recipe fits");
        let mut workspace = Workspace::default();
        let posed = stage.posed(pose, &stage.at_rest(), time, &mut workspace);
        posed.expect("a pose of the rig").deform(&Cpu::serial());
        workspace.take_mesh()
    }

    fn posed(&self, recipe: &Recipe, pose: &Pose) -> DeformedMesh {
        self.at(recipe, pose, 0.0)
    }
}

fn stroke(points: &[DVec3]) -> Stroke {
    let samples: Vec<Sample> = points.iter().map(|&position| Sample { position, time_secs: 0.0 }).collect();
    Stroke::new(&samples).expect("finite")
}

fn world(subject: &Subject, pose: &Pose) -> WorldPose {
    let mut world = WorldPose::default();
    world.compose(subject.rig.skeleton(), pose);
    world
}

/// The zoo character with the shape of an edit painted on it, and what the edit made of its nodes.
struct Edited {
    subject: Subject,
    before: Vec<DVec3>,
    pulled: Pulled,
}

/// Pulls the skin of the tube outward around a height, at a pose.
fn edited(spec: &str, pose: impl Fn(&Subject) -> Pose, edits: &[(&str, f64)], solve: Solve) -> Edited {
    let mut zoo = sinew_zoo::build(spec).expect("a zoo character");
    let mut last = None;
    for &(name, height) in edits {
        let subject = Subject::new(&zoo.raw);
        let at = pose(&subject);
        let edit_stage = EditStage::new(&subject.rig, 0).expect("a surface");
        let mesh = subject.posed(&Recipe::default(), &at);
        let before = edit_stage.skin().points(&subject.rig, &mesh);
        let from = stroke(&[DVec3::new(-0.1, height, 0.18), DVec3::new(0.1, height, 0.18)]);
        let to = stroke(&[DVec3::new(-0.1, height + 0.03, 0.33), DVec3::new(0.1, height + 0.03, 0.33)]);
        let world = world(&subject, &at);
        let pulled = edit_stage
            .pull(&world, &subject.rig, &before, [&from, &to], Reach::Rings(6), solve)
            .expect("a region that is held");
        let changes = edit_stage.encode(&world, &subject.rig, &before, &pulled.points);
        for (ending, values) in edit_stage.maps(&subject.rig, &changes, &pulled.inside) {
            zoo.raw.meshes[0].primitives[0].maps.push((format!("{name}{ending}"), values));
        }
        last = Some((before, pulled));
    }
    let (before, pulled) = last.expect("an edit");
    Edited { subject: Subject::new(&zoo.raw), before, pulled }
}

fn shape(name: &str) -> EditSpec {
    EditSpec::new(EditShape::Shape(vec![(0.0, name.to_owned())]))
}

fn with(edits: Vec<EditSpec>) -> Recipe {
    Recipe { edits, ..Recipe::default() }
}

const TUBE: &str = "tube:vertices=3000,bones=2";

#[test]
fn an_edit_reproduces_where_it_was_made_for_every_solver() {
    let bend = |subject: &Subject| subject.turned(DQuat::from_rotation_z(-0.5));
    for solve in [Solve::Arap(10), Solve::Laplacian, Solve::ScaleVectors] {
        let Edited { subject, before, pulled } = edited(TUBE, bend, &[("bump", 0.8)], solve);
        let result = subject.posed(&with(vec![shape("bump")]), &bend(&subject));
        let nodes = EditStage::new(&subject.rig, 0).expect("a surface").skin().points(&subject.rig, &result);
        let off = nodes.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        let moved = before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        println!("{solve:?}: moved {:.4}, off {:.2e} of the size", moved / subject.size(), off / subject.size());
        assert!(moved > 0.05 * subject.size() && off < 2e-7 * subject.size());
        // What lies outside stays to the bit.
        let base = subject.posed(&Recipe::default(), &bend(&subject));
        let outside = EditStage::new(&subject.rig, 0).expect("a surface").skin().points(&subject.rig, &base);
        assert!(nodes.iter().zip(&outside).zip(&pulled.inside).all(|((a, b), i)| *i > 0.0 || a == b));
    }
}

#[test]
fn it_turns_with_its_bone_and_keeps_its_distance() {
    let rest = |subject: &Subject| subject.rig.rest_pose();
    let Edited { subject, .. } =
        edited("tube:vertices=3000,bones=2,influences=1", rest, &[("bump", 1.6)], Solve::Arap(10));
    let recipe = with(vec![shape("bump")]);
    let [still, base_still] = [&recipe, &Recipe::default()].map(|recipe| subject.posed(recipe, &rest(&subject)));
    for angle in [0.4, -1.2, 2.0] {
        let turn = DQuat::from_rotation_x(angle);
        let pose = subject.turned(turn);
        let [moved, base_moved] = [&recipe, &Recipe::default()].map(|recipe| subject.posed(recipe, &pose));
        let follow = |p: DVec3| DVec3::Y + turn * (p - DVec3::Y);
        let mut seen = 0;
        for v in 0..still.positions.len() {
            let (p, base) = (still.world_position(0, v), base_still.world_position(0, v));
            // Where the skin is rigid with the second bone, so is the edit.
            let is_rigid = base_moved.world_position(0, v).distance(follow(base)) < 1e-6;
            if is_rigid && base.y > 1.6 {
                assert!(moved.world_position(0, v).distance(follow(p)) < 1e-5 * subject.size(), "{base} → {p}");
                seen += usize::from(p.distance(base) > 1e-3);
            }
        }
        assert!(seen > 10, "{seen}");
    }
}

#[test]
fn springs_approach_an_edit_as_its_stiffness_grows() {
    let bend = |subject: &Subject| subject.turned(DQuat::from_rotation_z(-0.5));
    let Edited { subject, pulled, .. } = edited("tube:vertices=800,bones=2", bend, &[("bump", 0.8)], Solve::Arap(10));
    let edit_stage = EditStage::new(&subject.rig, 0).expect("a surface");
    let mut springs = CorrectionSpec::new("springs").expect("there are springs");
    springs.values.set("iterations", 1000.0).expect("in range");
    springs.values.set("tolerance", 1e-5).expect("in range");
    let mut last = f64::INFINITY;
    for stiffness in [0.1, 1.0, 10.0, 100.0, 1e4] {
        let edit = EditSpec { stiffness, drive: Drive::Springs, ..shape("bump") };
        let recipe = Recipe { corrections: vec![springs.clone()], ..with(vec![edit]) };
        let nodes = edit_stage.skin().points(&subject.rig, &subject.posed(&recipe, &bend(&subject)));
        let held = pulled.inside.iter().enumerate().filter(|(_, inside)| **inside == 1.0);
        let off = held.map(|(i, _)| nodes[i].distance(pulled.points[i])).fold(0.0, f64::max) / subject.size();
        println!("stiffness {stiffness}: {off:.6} of the size away");
        assert!(off < last);
        last = off;
    }
    assert!(last < 1e-4);
    let alone = with(vec![EditSpec { drive: Drive::Springs, ..shape("bump") }]);
    assert!(Stage::new(&subject.rig, &alone).is_err(), "springs that are not there");
}

#[test]
fn overlapping_edits_step_no_more_than_the_larger_alone() {
    let rest = |subject: &Subject| subject.rig.rest_pose();
    let Edited { subject, .. } = edited(TUBE, rest, &[("low", 0.75), ("high", 0.9)], Solve::Arap(10));
    let edit_stage = EditStage::new(&subject.rig, 0).expect("a surface");
    for pose in [rest(&subject), subject.turned(DQuat::from_rotation_z(-1.0))] {
        let base = edit_stage.skin().points(&subject.rig, &subject.posed(&Recipe::default(), &pose));
        // The largest difference of the displacements of neighbours.
        let step = |edits: Vec<EditSpec>| {
            let nodes = edit_stage.skin().points(&subject.rig, &subject.posed(&with(edits), &pose));
            let d: Vec<DVec3> = nodes.iter().zip(&base).map(|(a, b)| *a - *b).collect();
            let edges = edit_stage.skin().triangles().iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
            edges.map(|(a, b)| d[a as usize].distance(d[b as usize])).fold(0.0, f64::max)
        };
        let (low, high) = (step(vec![shape("low")]), step(vec![shape("high")]));
        let both = step(vec![shape("low"), shape("high")]);
        let stiff = step(vec![EditSpec { stiffness: 5.0, ..shape("low") }, shape("high")]);
        println!("alone {low:.4} and {high:.4}, together {both:.4}, the first stiffer {stiff:.4}");
        assert!(both <= low.max(high) * 1.000_001 && stiff <= low.max(high) * 1.000_001);
    }
}

#[test]
fn edits_are_keyed() {
    let rest = |subject: &Subject| subject.rig.rest_pose();
    let Edited { subject, pulled, before } = edited(TUBE, rest, &[("bump", 1.0)], Solve::Arap(10));
    let keyed = with(vec![EditSpec::new(EditShape::Shape(vec![(0.2, String::new()), (0.6, "bump".to_owned())]))]);
    let largest = |time: f64| {
        let [a, b] = [&keyed, &Recipe::default()].map(|recipe| subject.at(recipe, &rest(&subject), time));
        let apart = (0..a.positions.len()).map(|v| a.world_position(0, v).distance(b.world_position(0, v)));
        apart.fold(0.0, f64::max)
    };
    let top = before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert_eq!(largest(0.1), 0.0);
    assert!((largest(0.4) / (0.5 * top) - 1.0).abs() < 0.15, "{}", largest(0.4) / top);
    assert!((largest(0.9) / top - 1.0).abs() < 0.15);
}
