//! The base `fold-over-free` on built-in characters, through the whole pipeline.

mod common;

use common::{Stage, bits, largest_difference};
use glam::{DQuat, DVec3};
use sinew::kinodynamic::{FoldOverFreeSpec, LimbSpec, Method};
use sinew::recipe::BaseSpec;
use sinew::{Cpu, DeformedMesh, Kinematics, LocalTransform, Pose, Recipe, WorldPose};

fn free(spec: FoldOverFreeSpec) -> Recipe {
    Recipe { base: BaseSpec::FoldOverFree(spec), ..Recipe::default() }
}

fn still_volume() -> FoldOverFreeSpec {
    FoldOverFreeSpec { alpha: 0.0, beta: 0.0, ..FoldOverFreeSpec::default() }
}

/// The pose with bones turned further about their own axes.
fn turned(stage: &Stage, turns: &[(&str, DQuat)]) -> Pose {
    let mut pose = stage.rig.rest_pose();
    for &(name, turn) in turns {
        let local = &mut pose.locals[stage.bone(name).index()];
        let mut trs = local.to_trs();
        trs.rotation = trs.rotation * turn;
        *local = LocalTransform::Trs(trs);
    }
    pose
}

fn evaluate(stage: &Stage, recipe: &Recipe, pose: &Pose, cpu: &Cpu<'_>) -> DeformedMesh {
    let graph = stage.graph(recipe);
    stage.with(&graph, pose, &Kinematics::at_rest(stage.rig.skeleton().len(), 0), cpu)
}

fn elbow(degrees: f64) -> [(&'static str, DQuat); 1] {
    [("forearm", DQuat::from_rotation_x(f64::to_radians(degrees)))]
}

#[test]
fn an_elbow_bent_by_150_degrees_does_not_fold_over() {
    let stage = Stage::zoo("arm");
    let pose = turned(&stage, &elbow(150.0));
    let mut world = WorldPose::default();
    world.compose(stage.rig.skeleton(), &pose);
    let diagnosis = |spec: FoldOverFreeSpec| {
        let graph = stage.graph(&free(spec.clone()));
        let found = graph.fold_over_free().unwrap().diagnose(&stage.rig, &world);
        println!("{spec:?}: {found:?}");
        found
    };
    for steps in [Some(8), None] {
        let still = diagnosis(FoldOverFreeSpec { steps, ..still_volume() });
        assert!(still.smallest_determinant > 0.0, "{still:?}");
    }
    let kept = diagnosis(FoldOverFreeSpec { steps: Some(8), ..FoldOverFreeSpec::default() });
    assert!(kept.smallest_determinant > 0.0 && kept.error < 0.02, "{kept:?}");
    // One step of the paper's is linear blending by the same weights.
    let linear = diagnosis(FoldOverFreeSpec { method: Method::Euler, steps: Some(1), ..still_volume() });
    assert!(linear.smallest_determinant < 0.0);
}

#[test]
fn the_bind_pose_and_the_motion_of_the_whole_deform_nothing() {
    for name in ["arm", "calf", "dancer", "snail", "bird"] {
        let stage = Stage::zoo(name);
        let root = stage.rig.skeleton().bones().next().unwrap();
        let mut pose = stage.rig.rest_pose();
        let mut trs = pose.locals[root.index()].to_trs();
        trs.rotation = DQuat::from_rotation_y(2.0) * DQuat::from_rotation_x(0.4) * trs.rotation;
        trs.translation += DVec3::new(0.3, 0.1, -0.2);
        pose.locals[root.index()] = LocalTransform::Trs(trs);
        for pose in [stage.rig.rest_pose(), pose] {
            let lbs = evaluate(&stage, &Recipe::default(), &pose, &Cpu::serial());
            let free = evaluate(&stage, &free(FoldOverFreeSpec::default()), &pose, &Cpu::serial());
            assert!(largest_difference(&lbs, &free) < 1e-5 * stage.size(), "{name}");
            let turned = lbs.normals.iter().zip(&free.normals).map(|(a, b)| a.angle_between(*b)).fold(0.0, f32::max);
            assert!(turned < 2e-2, "{name}: normals off by {turned}");
        }
    }
}

#[test]
fn every_thread_count_gives_the_same_bits() {
    let stage = Stage::zoo("arm");
    let pose = turned(&stage, &elbow(100.0));
    let recipe = free(FoldOverFreeSpec::default());
    let alone = evaluate(&stage, &recipe, &pose, &Cpu::serial());
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let cpu = Cpu { pool: Some(&pool), ..Cpu::serial() };
        assert_eq!(bits(&alone), bits(&evaluate(&stage, &recipe, &pose, &cpu)));
    }
}

#[test]
fn scale_changes_nothing_but_the_scale() {
    let run = |spec: &str| {
        let stage = Stage::zoo(spec);
        let bend = DQuat::from_rotation_z(0.9);
        let pose = turned(&stage, &[("tube.2", bend), ("tube.3", bend)]);
        (evaluate(&stage, &free(FoldOverFreeSpec::default()), &pose, &Cpu::serial()), stage.size())
    };
    let (small, _) = run("tube:vertices=600,bones=3,radius=0.1,length=1");
    let (large, size) = run("tube:vertices=600,bones=3,radius=10,length=100");
    for (a, b) in small.positions.iter().zip(&large.positions) {
        let (a, b) = (a.as_dvec3() + small.origins[0], b.as_dvec3() + large.origins[0]);
        assert!((a * 100.0 - b).length() < 1e-6 * size);
    }
}

#[test]
fn limbs_can_be_edited() {
    let stage = Stage::zoo("arm");
    let pose = turned(&stage, &elbow(90.0));
    let plain = evaluate(&stage, &free(FoldOverFreeSpec::default()), &pose, &Cpu::serial());
    let edits = [
        LimbSpec { radius: Some(2.0), ..LimbSpec::default() },
        LimbSpec { bone: Some(1.0), ..LimbSpec::default() },
        LimbSpec { alpha: Some(0.0), beta: Some(0.0), ..LimbSpec::default() },
        LimbSpec { tissue: vec![[0.0, 0.1, 0.0, 0.2, 0.3, 0.2]], ..LimbSpec::default() },
        LimbSpec { capsules: vec![[0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1]], ..LimbSpec::default() },
    ];
    for edit in edits {
        let spec = FoldOverFreeSpec { limbs: vec![("fore*".to_owned(), edit.clone())], ..FoldOverFreeSpec::default() };
        let edited = evaluate(&stage, &free(spec), &pose, &Cpu::serial());
        let moved = largest_difference(&plain, &edited) / stage.size();
        assert!(moved > 1e-4 && moved < 0.5, "{edit:?}: {moved}");
    }
    let unknown =
        FoldOverFreeSpec { limbs: vec![("knee".to_owned(), LimbSpec::default())], ..FoldOverFreeSpec::default() };
    assert!(sinew::FrameIndependentGraph::build(&stage.rig, &free(unknown)).is_err());
}
