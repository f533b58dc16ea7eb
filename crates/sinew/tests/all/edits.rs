//! Surface edits through the whole pipeline: exact where they were made, attached everywhere, blended where they meet.
use crate::common::{Subject, largest_difference};
use glam::{DQuat, DVec3};
use sinew::correct::edit_stage::{EditStage, Pulled, Solve};
use sinew::correct::surface_edit::Profile;
use sinew::recipe::{CorrectionSpec, Drive, EditShape, EditSpec, KeyCurve};
use sinew::strokes::{Reach, Sample, Stroke};
use sinew::*;

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
        let subject = Subject::new(&zoo.raw, zoo.clips.clone());
        let at = pose(&subject);
        let edit_stage = EditStage::new(&subject.rig, 0).expect("a surface");
        let mesh = subject.posed(&Recipe::default(), &at);
        let before = edit_stage.points(&subject.rig, &mesh);
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
    Edited { subject: Subject::new(&zoo.raw, zoo.clips), before, pulled }
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
    let bend = |subject: &Subject| subject.turned(&[("tube.2", DQuat::from_rotation_z(-0.5))]);
    for solve in [Solve::Arap(10), Solve::Laplacian, Solve::ScaleVectors] {
        let Edited { subject, before, pulled } = edited(TUBE, bend, &[("bump", 0.8)], solve);
        let result = subject.posed(&with(vec![shape("bump")]), &bend(&subject));
        let nodes = EditStage::new(&subject.rig, 0).expect("a surface").points(&subject.rig, &result);
        let off = nodes.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        let moved = before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        println!("{solve:?}: moved {:.4}, off {:.2e} of the size", moved / subject.size(), off / subject.size());
        assert!(moved > 0.05 * subject.size() && off < 2e-7 * subject.size());
        // What lies outside stays to the bit.
        let base = subject.posed(&Recipe::default(), &bend(&subject));
        let outside = EditStage::new(&subject.rig, 0).expect("a surface").points(&subject.rig, &base);
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
        let pose = subject.turned(&[("tube.2", turn)]);
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
    let bend = |subject: &Subject| subject.turned(&[("tube.2", DQuat::from_rotation_z(-0.5))]);
    let Edited { subject, pulled, .. } = edited("tube:vertices=800,bones=2", bend, &[("bump", 0.8)], Solve::Arap(10));
    let edit_stage = EditStage::new(&subject.rig, 0).expect("a surface");
    let mut springs = CorrectionSpec::new("springs").expect("there are springs");
    springs.values.set("iterations", 2000.0).expect("in range");
    springs.values.set("tolerance", 1e-5).expect("in range");
    let mut last = f64::INFINITY;
    for stiffness in [0.1, 1.0, 10.0, 100.0, 1e4] {
        let edit = EditSpec { stiffness, drive: Drive::Springs, ..shape("bump") };
        let recipe = Recipe { corrections: vec![springs.clone()], ..with(vec![edit]) };
        let nodes = edit_stage.points(&subject.rig, &subject.posed(&recipe, &bend(&subject)));
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
    for pose in [rest(&subject), subject.turned(&[("tube.2", DQuat::from_rotation_z(-1.0))])] {
        let base = edit_stage.points(&subject.rig, &subject.posed(&Recipe::default(), &pose));
        // The largest difference of the displacements of neighbours.
        let step = |edits: Vec<EditSpec>| {
            let nodes = edit_stage.points(&subject.rig, &subject.posed(&with(edits), &pose));
            let d: Vec<DVec3> = nodes.iter().zip(&base).map(|(a, b)| *a - *b).collect();
            let edges = edit_stage.triangles().iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
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
fn edits_are_keyed_and_radial_ones_follow_their_profile() {
    let rest = |subject: &Subject| subject.rig.rest_pose();
    let Edited { subject, pulled, before } = edited(TUBE, rest, &[("bump", 1.0)], Solve::Arap(10));
    let edit_stage = EditStage::new(&subject.rig, 0).expect("a surface");
    let keyed = EditSpec::new(EditShape::Shape(vec![(0.2, String::new()), (0.6, "bump".to_owned())]));
    let stage = subject.stage(&with(vec![keyed]));
    let motion_of = |stage: &Stage| subject.motion(0, &MotionSettings::default(), stage);
    let base_graph = subject.stage(&Recipe::default());
    let largest = |time: f64| {
        let motion = motion_of(&stage);
        let plain = motion_of(&base_graph);
        let (a, b) =
            (subject.at(&stage, &motion, time, &Cpu::serial()), subject.at(&base_graph, &plain, time, &Cpu::serial()));
        largest_difference(&a, &b)
    };
    let top = before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert_eq!(largest(0.1), 0.0);
    assert!((largest(0.4) / (0.5 * top) - 1.0).abs() < 0.15, "{}", largest(0.4) / top);
    assert!((largest(0.9) / top - 1.0).abs() < 0.15);
    // Radial: distances to the bone grow as the profile says, at any pose of the first bone.
    let amount = KeyCurve::constant(0.5);
    let radial = EditSpec { amount, ..EditSpec::new(EditShape::Radial(Profile::Even)) };
    let radial = EditSpec { bones: vec!["tube.1".to_owned()], ..radial };
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_z(-0.8))]);
    let (base, grown) = (subject.posed(&Recipe::default(), &pose), subject.posed(&with(vec![radial]), &pose));
    for v in 0..base.positions.len() {
        let (p, q) = (base.world_position(0, v), grown.world_position(0, v));
        if (0.3..0.5).contains(&p.y) {
            assert!((q.x.hypot(q.z) / p.x.hypot(p.z) - 1.5).abs() < 0.02, "{p} → {q}");
        }
        if q.y > 1.4 && p.distance(DVec3::Y) > 0.5 {
            assert!(p.distance(q) < 1e-6, "on the other bone: {p} → {q}");
        }
    }
    assert!(!edit_stage.triangles().is_empty());
}

#[test]
fn a_wave_travels_along_its_stroke() {
    let subject = Subject::zoo("tube:vertices=6000,bones=2");
    let wave = EditSpec::new(EditShape::Wave {
        along: vec![DVec3::new(0.0, 0.2, 0.2), DVec3::new(0.0, 1.8, 0.2)],
        reach: 0.2,
        crests: 4.0,
        frequency_hz: 2.0,
    });
    let stage = subject.stage(&with(vec![wave]));
    let crest = |time: f64| {
        let mut workspace = Workspace::default();
        let posed = stage.posed(&subject.rig.rest_pose(), &stage.at_rest(), time, &mut workspace);
        posed.unwrap().deform(&Cpu::serial());
        let out = workspace.mesh();
        let near = (0..out.positions.len()).map(|v| out.world_position(0, v));
        // The highest point near the middle of the stroke, on its side.
        let near = near.filter(|p| (0.8..1.2).contains(&p.y) && p.z > 0.15 && p.x.abs() < 0.02);
        near.max_by(|a, b| a.z.total_cmp(&b.z)).expect("skin there")
    };
    let (first, later) = (crest(0.0), crest(0.05));
    assert!(first.z > 0.22 && later.z > 0.22, "{first} {later}");
    // In a tenth of a period of half a second a crest runs a tenth of its length of 0.4.
    assert!((later.y - first.y - 0.04).abs() < 0.025, "{first} → {later}");
}
