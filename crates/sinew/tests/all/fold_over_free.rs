//! The base `fold-over-free` on built-in characters, through the whole pipeline.
use crate::common::{Subject, based, bits, largest_difference};
use glam::{DQuat, DVec3, Vec3};
use sinew::recipe::{BaseSpec, Place};
use sinew::table::{Cell, Row};
use sinew::{Cpu, DeformedMesh, LocalTransform, Pose, Recipe, RecipeFile, Stage, WorldPose};

fn spec(values: &[(&str, f64)]) -> BaseSpec {
    based("fold-over-free", values)
}

fn free(base: BaseSpec) -> Recipe {
    Recipe { base, ..Recipe::default() }
}

fn plain() -> Recipe {
    free(spec(&[]))
}

fn keeping_volume(values: &[(&str, f64)]) -> BaseSpec {
    spec(&[&[("alpha", 0.5), ("beta", 0.5)], values].concat())
}

fn of_space(mut base: BaseSpec) -> BaseSpec {
    base.values.choose("reach", "space").unwrap();
    base
}

fn with_limb(pattern: &str, cells: Vec<(&'static str, Cell)>) -> BaseSpec {
    let mut base = spec(&[]);
    base.tables.add("limbs", pattern, Row::of(cells)).unwrap();
    base
}

fn evaluate(subject: &Subject, recipe: &Recipe, pose: &Pose, cpu: &Cpu<'_>) -> DeformedMesh {
    let stage = subject.stage(recipe);
    subject.with(&stage, pose, &stage.at_rest(), cpu)
}

fn elbow(degrees: f64) -> [(&'static str, DQuat); 1] {
    [("forearm", DQuat::from_rotation_x(f64::to_radians(degrees)))]
}

#[test]
fn an_elbow_bent_by_150_degrees_does_not_fold_over() {
    let subject = Subject::zoo("arm");
    let pose = subject.turned(&elbow(150.0));
    let mut world = WorldPose::default();
    world.compose(subject.rig.skeleton(), &pose);
    let diagnosis = |spec: BaseSpec| {
        let stage = subject.stage(&free(spec));
        let found = stage.fold_over_free().unwrap().diagnose(&subject.rig, &world);
        println!("{found:?}");
        found
    };
    for base in [spec(&[]), of_space(spec(&[])), of_space(spec(&[("steps", 8.0)]))] {
        let still = diagnosis(base);
        assert!(still.smallest_determinant > 0.0, "{still:?}");
    }
    let kept = diagnosis(of_space(keeping_volume(&[("steps", 8.0)])));
    assert!(kept.smallest_determinant > 0.0 && kept.error < 0.02, "{kept:?}");
    // One step of the paper's is linear blending by the same weights.
    for linear in [spec(&[("method", 1.0), ("steps", 1.0)]), of_space(spec(&[("method", 1.0), ("steps", 1.0)]))] {
        assert!(diagnosis(linear).smallest_determinant < 0.0);
    }
}

#[test]
fn the_bound_asks_for_enough_steps() {
    let subject = Subject::zoo("arm");
    for (alpha, beta) in [(0.0, 0.0), (0.5, 0.5)] {
        let stage = subject.stage(&free(spec(&[("alpha", alpha), ("beta", beta)])));
        for degrees in [10.0, 60.0, 100.0, 130.0, 150.0] {
            let mut world = WorldPose::default();
            world.compose(subject.rig.skeleton(), &subject.turned(&elbow(degrees)));
            let found = stage.fold_over_free().unwrap().diagnose(&subject.rig, &world);
            println!("{degrees}°, alpha {alpha}: {found:?}");
            assert!(found.smallest_determinant > 0.0 && found.error < 0.002, "{degrees}: {found:?}");
        }
    }
}

#[test]
fn a_leg_does_not_feel_the_other_one() {
    let subject = Subject::zoo("dancer");
    let pose = subject.turned(&[("thigh.L", DQuat::from_rotation_x(-1.0)), ("shin.L", DQuat::from_rotation_x(1.2))]);
    let rest = evaluate(&subject, &Recipe::default(), &subject.rig.rest_pose(), &Cpu::serial());
    let standing = [subject.bone("shin.R"), subject.bone("foot.R")];
    let moved = |recipe: &Recipe| {
        let lifted = evaluate(&subject, recipe, &pose, &Cpu::serial());
        let stands = |&v: &usize| subject.rig.main_bone(subject.rig.point(v)).is_some_and(|b| standing.contains(&b));
        let apart = |v: usize| rest.world_position(0, v).distance(lifted.world_position(0, v));
        (0..rest.positions.len()).filter(stands).map(apart).fold(0.0, f64::max) / subject.size()
    };
    let [by_skin, by_space] = [moved(&plain()), moved(&free(of_space(spec(&[]))))];
    println!("the standing leg moves by {by_skin:.5} of the size along the skin, {by_space:.5} in space");
    assert!(by_skin < 2e-3 && by_space > 5.0 * by_skin, "{by_skin} {by_space}");
}

#[test]
fn fine_and_coarse_tubes_bend_alike() {
    let bent = |vertices: usize| {
        let subject = Subject::zoo(&format!("tube:vertices={vertices},bones=4,radius=0.1,length=1"));
        let bend = DQuat::from_rotation_z(0.8);
        let pose = subject.turned(&[("tube.2", bend), ("tube.3", bend)]);
        let place = |pose: &Pose| {
            let mesh = evaluate(&subject, &plain(), pose, &Cpu::serial());
            (0..mesh.positions.len()).map(|v| mesh.world_position(0, v)).collect::<Vec<_>>()
        };
        (place(&subject.rig.rest_pose()), place(&pose), subject.size())
    };
    let ((coarse_rest, coarse, size), (fine_rest, fine, _)) = (bent(500), bent(12_000));
    let mut most: f64 = 0.0;
    for (rest, place) in coarse_rest.iter().zip(&coarse) {
        let nearest =
            (0..fine.len()).min_by(|&a, &b| fine_rest[a].distance(*rest).total_cmp(&fine_rest[b].distance(*rest)));
        let nearest = nearest.expect("a tube");
        most = most.max(fine[nearest].distance(*place) - 1.5 * fine_rest[nearest].distance(*rest));
    }
    println!("apart by {:.5} of the size", most / size);
    assert!(most < 0.01 * size, "{}", most / size);
}

#[test]
fn a_limb_can_be_painted() {
    let mut zoo = sinew_zoo::build("tube:vertices=900,bones=2").unwrap();
    let primitive = &mut zoo.raw.meshes[0].primitives[0];
    let upper: Vec<f32> = primitive.positions.iter().map(|p| if p.y > 1.2 { 1.0 } else { 0.0 }).collect();
    primitive.maps.push(("upper".to_owned(), upper));
    let subject = Subject::new(&zoo.raw, zoo.clips);
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_z(0.6))]);
    let painted = |map: &str| free(with_limb("tube.2", vec![("map", Cell::Map(map.to_owned()))]));
    let (unknown, painted) = (painted("uper"), painted("upper"));
    let plain = evaluate(&subject, &plain(), &pose, &Cpu::serial());
    let painted = evaluate(&subject, &painted, &pose, &Cpu::serial());
    let moved = largest_difference(&plain, &painted) / subject.size();
    assert!(moved > 1e-3 && moved < 0.2, "{moved}");
    let error = Stage::new(&subject.rig, &unknown).unwrap_err();
    assert!(error.to_string().contains("upper"), "{error}");
}

#[test]
fn recipes_hold_the_base() {
    let limb = vec![
        ("alpha", Cell::Number(0.1)),
        ("capsules", Cell::Lists(vec![vec![0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.03]])),
        ("tissue", Cell::Lists(vec![vec![0.0, 0.1, 0.0, 0.05, 0.1, 0.05]])),
        ("map", Cell::Map("belly".to_owned())),
    ];
    for spec in [spec(&[]), of_space(spec(&[("steps", 12.0)])), with_limb("fore*", limb)] {
        let mut file = RecipeFile::parse("version = 1\nbase = \"lbs\"\n").unwrap();
        file.set(Place::Base, &spec).unwrap();
        let again = RecipeFile::parse(&file.to_string()).unwrap();
        assert_eq!(again.recipe().base, spec, "{file}");
    }
    let steps = |steps: &str| {
        let text = format!("version = 1\nbase = {{ type = \"fold-over-free\", steps = {steps} }}\n");
        RecipeFile::parse(&text).map(|file| file.recipe().base.values.number("steps")).map_err(|e| e.to_string())
    };
    assert_eq!((steps("\"auto\""), steps("12")), (Ok(0.0), Ok(12.0)));
    assert!(steps("0").unwrap_err().contains("1 to 64"));
    let wrong = "version = 1\nbase = { type = \"fold-over-free\", steps = \"many\" }\n";
    assert!(RecipeFile::parse(wrong).unwrap_err().to_string().contains("steps"));
}

#[test]
fn the_bind_pose_and_the_motion_of_the_whole_deform_nothing() {
    for name in ["arm", "calf", "dancer", "snail", "bird"] {
        let subject = Subject::zoo(name);
        let root = subject.rig.skeleton().bones().next().unwrap();
        let mut pose = subject.rig.rest_pose();
        let mut trs = pose.locals[root.index()].to_trs();
        trs.rotation = DQuat::from_rotation_y(2.0) * DQuat::from_rotation_x(0.4) * trs.rotation;
        trs.translation += DVec3::new(0.3, 0.1, -0.2);
        pose.locals[root.index()] = LocalTransform::Trs(trs);
        for pose in [subject.rig.rest_pose(), pose] {
            let lbs = evaluate(&subject, &Recipe::default(), &pose, &Cpu::serial());
            let free = evaluate(&subject, &plain(), &pose, &Cpu::serial());
            assert!(largest_difference(&lbs, &free) < 1e-5 * subject.size(), "{name}");
            let turned = lbs.normals.iter().zip(&free.normals).map(|(a, b)| a.angle_between(*b)).fold(0.0, f32::max);
            assert!(turned < 2e-2, "{name}: normals off by {turned}");
        }
    }
}

#[test]
fn every_thread_count_gives_the_same_bits() {
    let subject = Subject::zoo("arm");
    let pose = subject.turned(&elbow(100.0));
    let recipe = plain();
    let alone = evaluate(&subject, &recipe, &pose, &Cpu::serial());
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let cpu = Cpu { pool: Some(&pool), ..Cpu::serial() };
        assert_eq!(bits(&alone), bits(&evaluate(&subject, &recipe, &pose, &cpu)));
    }
}

#[test]
fn scale_changes_nothing_but_the_scale() {
    let run = |spec: &str| {
        let subject = Subject::zoo(spec);
        let bend = DQuat::from_rotation_z(0.9);
        let pose = subject.turned(&[("tube.2", bend), ("tube.3", bend)]);
        (evaluate(&subject, &plain(), &pose, &Cpu::serial()), subject.size())
    };
    let (small, _) = run("tube:vertices=600,bones=3,radius=0.1,length=1");
    let (large, size) = run("tube:vertices=600,bones=3,radius=10,length=100");
    let apart = |(a, b): (&Vec3, &Vec3)| {
        let (a, b) = (a.as_dvec3() + small.origins[0], b.as_dvec3() + large.origins[0]);
        (a * 100.0 - b).length() / size
    };
    let apart = small.positions.iter().zip(&large.positions).map(apart).fold(0.0, f64::max);
    assert!(apart < 1e-6, "{apart:e}");
}

#[test]
fn limbs_can_be_edited() {
    let subject = Subject::zoo("arm");
    let pose = subject.turned(&elbow(90.0));
    let plain = evaluate(&subject, &plain(), &pose, &Cpu::serial());
    let edits = [
        vec![("radius", Cell::Number(2.0))],
        vec![("bone", Cell::Number(1.0))],
        vec![("alpha", Cell::Number(0.5)), ("beta", Cell::Number(0.5))],
        vec![("tissue", Cell::Lists(vec![vec![0.0, 0.1, 0.0, 0.2, 0.3, 0.2]]))],
        vec![("capsules", Cell::Lists(vec![vec![0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1]]))],
    ];
    for edit in edits {
        let edited = evaluate(&subject, &free(with_limb("fore*", edit.clone())), &pose, &Cpu::serial());
        let moved = largest_difference(&plain, &edited) / subject.size();
        assert!(moved > 1e-4 && moved < 0.5, "{edit:?}: {moved}");
    }
    assert!(Stage::new(&subject.rig, &free(with_limb("knee", Vec::new()))).is_err());
}
