//! Surface edits through the whole pipeline: exact where they were made, attached everywhere, blended where they meet.
use glam::{DQuat, DVec3};
use sinew::recipe::{CorrectionSpec, Drive, EditShape, EditSpec};
use sinew::strokes::{Reach, Sample, Stroke};
use sinew::*;
use sinew_author::{EditStage, Pulled, Solve};

/// A character ready to be evaluated.
struct Stage {
    rig: Rig,
}

impl Stage {
    fn new(raw: &RawRig) -> Self {
        Self { rig: Rig::build(raw).expect("the rig builds").0 }
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
        let graph = FrameIndependentGraph::build(&self.rig, recipe).expect("the recipe fits");
        let kinematics = Kinematics::at_rest(self.rig.skeleton().len(), graph.filtered_signals().len());
        let world = &world(self, pose);
        let mut out = DeformedMesh::default();
        let frame = Frame { rig: &self.rig, pose, world, kinematics: &kinematics, time };
        evaluate(&graph, &frame, &Cpu::serial(), &mut Scratch::default(), &mut out);
        out
    }

    fn posed(&self, recipe: &Recipe, pose: &Pose) -> DeformedMesh {
        self.at(recipe, pose, 0.0)
    }
}

fn stroke(points: &[DVec3]) -> Stroke {
    let samples: Vec<Sample> = points.iter().map(|&position| Sample { position, time_secs: 0.0 }).collect();
    Stroke::new(&samples).expect("finite")
}

fn world(stage: &Stage, pose: &Pose) -> WorldPose {
    let mut world = WorldPose::default();
    world.compose(stage.rig.skeleton(), pose);
    world
}

/// The zoo character with the shape of an edit painted on it, and what the edit made of its nodes.
struct Edited {
    stage: Stage,
    before: Vec<DVec3>,
    pulled: Pulled,
}

/// Pulls the skin of the tube outward around a height, at a pose.
fn edited(spec: &str, pose: impl Fn(&Stage) -> Pose, edits: &[(&str, f64)], solve: Solve) -> Edited {
    let mut zoo = sinew_zoo::build(spec).expect("a zoo character");
    let mut last = None;
    for &(name, height) in edits {
        let stage = Stage::new(&zoo.raw);
        let at = pose(&stage);
        let edit_stage = EditStage::new(&stage.rig, 0).expect("a surface");
        let mesh = stage.posed(&Recipe::default(), &at);
        let before = edit_stage.skin().points(&stage.rig, &mesh);
        let from = stroke(&[DVec3::new(-0.1, height, 0.18), DVec3::new(0.1, height, 0.18)]);
        let to = stroke(&[DVec3::new(-0.1, height + 0.03, 0.33), DVec3::new(0.1, height + 0.03, 0.33)]);
        let world = world(&stage, &at);
        let pulled = edit_stage
            .pull(&world, &stage.rig, &before, [&from, &to], Reach::Rings(6), solve)
            .expect("a region that is held");
        let changes = edit_stage.encode(&world, &stage.rig, &before, &pulled.points);
        for (ending, values) in edit_stage.maps(&stage.rig, &changes, &pulled.inside) {
            zoo.raw.meshes[0].primitives[0].maps.push((format!("{name}{ending}"), values));
        }
        last = Some((before, pulled));
    }
    let (before, pulled) = last.expect("an edit");
    Edited { stage: Stage::new(&zoo.raw), before, pulled }
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
    let bend = |stage: &Stage| stage.turned(DQuat::from_rotation_z(-0.5));
    for solve in [Solve::Arap(10), Solve::Laplacian, Solve::ScaleVectors] {
        let Edited { stage, before, pulled } = edited(TUBE, bend, &[("bump", 0.8)], solve);
        let result = stage.posed(&with(vec![shape("bump")]), &bend(&stage));
        let nodes = EditStage::new(&stage.rig, 0).expect("a surface").skin().points(&stage.rig, &result);
        let off = nodes.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        let moved = before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        println!("{solve:?}: moved {:.4}, off {:.2e} of the size", moved / stage.size(), off / stage.size());
        assert!(moved > 0.05 * stage.size() && off < 2e-7 * stage.size());
        // What lies outside stays to the bit.
        let base = stage.posed(&Recipe::default(), &bend(&stage));
        let outside = EditStage::new(&stage.rig, 0).expect("a surface").skin().points(&stage.rig, &base);
        assert!(nodes.iter().zip(&outside).zip(&pulled.inside).all(|((a, b), i)| *i > 0.0 || a == b));
    }
}

#[test]
fn it_turns_with_its_bone_and_keeps_its_distance() {
    let rest = |stage: &Stage| stage.rig.rest_pose();
    let Edited { stage, .. } =
        edited("tube:vertices=3000,bones=2,influences=1", rest, &[("bump", 1.6)], Solve::Arap(10));
    let recipe = with(vec![shape("bump")]);
    let [still, base_still] = [&recipe, &Recipe::default()].map(|recipe| stage.posed(recipe, &rest(&stage)));
    for angle in [0.4, -1.2, 2.0] {
        let turn = DQuat::from_rotation_x(angle);
        let pose = stage.turned(turn);
        let [moved, base_moved] = [&recipe, &Recipe::default()].map(|recipe| stage.posed(recipe, &pose));
        let follow = |p: DVec3| DVec3::Y + turn * (p - DVec3::Y);
        let mut seen = 0;
        for v in 0..still.positions.len() {
            let (p, base) = (still.world_position(0, v), base_still.world_position(0, v));
            // Where the skin is rigid with the second bone, so is the edit.
            let is_rigid = base_moved.world_position(0, v).distance(follow(base)) < 1e-6;
            if is_rigid && base.y > 1.6 {
                assert!(moved.world_position(0, v).distance(follow(p)) < 1e-5 * stage.size(), "{base} → {p}");
                seen += usize::from(p.distance(base) > 1e-3);
            }
        }
        assert!(seen > 10, "{seen}");
    }
}

#[test]
fn springs_approach_an_edit_as_its_stiffness_grows() {
    let bend = |stage: &Stage| stage.turned(DQuat::from_rotation_z(-0.5));
    let Edited { stage, pulled, .. } = edited("tube:vertices=800,bones=2", bend, &[("bump", 0.8)], Solve::Arap(10));
    let edit_stage = EditStage::new(&stage.rig, 0).expect("a surface");
    let mut springs = CorrectionSpec::new("springs").expect("there are springs");
    springs.values.set("iterations", 2000.0).expect("in range");
    springs.values.set("tolerance", 1e-5).expect("in range");
    let mut last = f64::INFINITY;
    for stiffness in [0.1, 1.0, 10.0, 100.0, 1e4] {
        let edit = EditSpec { stiffness, drive: Drive::Springs, ..shape("bump") };
        let recipe = Recipe { corrections: vec![springs.clone()], ..with(vec![edit]) };
        let nodes = edit_stage.skin().points(&stage.rig, &stage.posed(&recipe, &bend(&stage)));
        let held = pulled.inside.iter().enumerate().filter(|(_, inside)| **inside == 1.0);
        let off = held.map(|(i, _)| nodes[i].distance(pulled.points[i])).fold(0.0, f64::max) / stage.size();
        println!("stiffness {stiffness}: {off:.6} of the size away");
        assert!(off < last);
        last = off;
    }
    assert!(last < 1e-4);
    let alone = with(vec![EditSpec { drive: Drive::Springs, ..shape("bump") }]);
    assert!(FrameIndependentGraph::build(&stage.rig, &alone).is_err(), "springs that are not there");
}

#[test]
fn overlapping_edits_step_no_more_than_the_larger_alone() {
    let rest = |stage: &Stage| stage.rig.rest_pose();
    let Edited { stage, .. } = edited(TUBE, rest, &[("low", 0.75), ("high", 0.9)], Solve::Arap(10));
    let edit_stage = EditStage::new(&stage.rig, 0).expect("a surface");
    for pose in [rest(&stage), stage.turned(DQuat::from_rotation_z(-1.0))] {
        let base = edit_stage.skin().points(&stage.rig, &stage.posed(&Recipe::default(), &pose));
        // The largest difference of the displacements of neighbours.
        let step = |edits: Vec<EditSpec>| {
            let nodes = edit_stage.skin().points(&stage.rig, &stage.posed(&with(edits), &pose));
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
    let rest = |stage: &Stage| stage.rig.rest_pose();
    let Edited { stage, pulled, before } = edited(TUBE, rest, &[("bump", 1.0)], Solve::Arap(10));
    let keyed = with(vec![EditSpec::new(EditShape::Shape(vec![(0.2, String::new()), (0.6, "bump".to_owned())]))]);
    let largest = |time: f64| {
        let [a, b] = [&keyed, &Recipe::default()].map(|recipe| stage.at(recipe, &rest(&stage), time));
        let apart = (0..a.positions.len()).map(|v| a.world_position(0, v).distance(b.world_position(0, v)));
        apart.fold(0.0, f64::max)
    };
    let top = before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert_eq!(largest(0.1), 0.0);
    assert!((largest(0.4) / (0.5 * top) - 1.0).abs() < 0.15, "{}", largest(0.4) / top);
    assert!((largest(0.9) / top - 1.0).abs() < 0.15);
}
