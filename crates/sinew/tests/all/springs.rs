//! Springs and bulges through the whole pipeline. (The oracles of the solver are beside it.)
use crate::common::{Subject, based, bits, largest_difference};
use glam::{DQuat, DVec3};
use sinew::recipe::{BaseSpec, CorrectionSpec};
use sinew::*;
use std::f64::consts::{FRAC_PI_2, PI};

fn recipe(base: BaseSpec, name: &str, values: &[(&str, f64)], gain: f64) -> Recipe {
    let mut spec = CorrectionSpec::new(name).expect("a correction of that name");
    for (key, value) in values {
        spec.values.set(key, *value).expect("in range");
    }
    spec.gain = gain;
    Recipe { base, corrections: vec![spec], ..Recipe::default() }
}

fn bases() -> [BaseSpec; 3] {
    [based("rigid", &[]), BaseSpec::default(), based("dqs", &[])]
}

#[test]
fn rest_and_gain_zero_are_the_base_to_the_bit() {
    let subject = Subject::zoo("arm");
    let pose = subject.turned(&[("forearm", DQuat::from_rotation_x(1.0))]);
    for name in ["springs", "bulge"] {
        let base = subject.posed(&Recipe::default(), &pose);
        let none = subject.posed(&recipe(BaseSpec::default(), name, &[], 0.0), &pose);
        assert_eq!(none.positions, base.positions, "{name}");
    }
    let rest = subject.rig.rest_pose();
    let still = subject.posed(&Recipe::default(), &rest);
    let sprung = subject.posed(&recipe(BaseSpec::default(), "springs", &[], 1.0), &rest);
    assert_eq!(sprung.positions, still.positions);
}

#[test]
fn bends_from_three_bases_come_together() {
    let subject = Subject::zoo("tube:vertices=2000,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_z(-FRAC_PI_2))]);
    let starts = bases().map(|base| subject.posed(&Recipe { base, ..Recipe::default() }, &pose));
    let most = |shapes: &[DeformedMesh; 3]| {
        [(0, 1), (1, 2), (0, 2)]
            .into_iter()
            .map(|(a, b)| largest_difference(&shapes[a], &shapes[b]))
            .fold(0.0, f64::max)
    };
    let converged = [("iterations", 2000.0), ("tolerance", 1e-6)];
    let ends = bases().map(|base| subject.posed(&recipe(base, "springs", &converged, 1.0), &pose));
    let fifty = [("iterations", 50.0), ("tolerance", 0.0)];
    let fifty = bases().map(|base| subject.posed(&recipe(base, "springs", &fifty, 1.0), &pose));
    println!(
        "apart in sizes: {:.4} before, {:.4} after 50, {:.6} converged",
        most(&starts) / subject.size(),
        most(&fifty) / subject.size(),
        most(&ends) / subject.size()
    );
    assert!(most(&starts) > 0.02 * subject.size());
    assert!(most(&fifty) <= 0.25 * most(&starts));
    assert!(most(&ends) <= 1e-3 * subject.size());
}

#[test]
fn a_twist_keeps_its_radius_where_linear_blending_loses_it() {
    let subject = Subject::zoo("tube:vertices=2000,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_y(0.75 * PI))]);
    let thinnest = |mesh: &DeformedMesh| {
        let middle = (0..mesh.positions.len()).map(|v| mesh.world_position(0, v)).filter(|p| (p.y - 1.0).abs() < 0.7);
        middle.map(|p| p.x.hypot(p.z)).fold(f64::INFINITY, f64::min) / 0.2
    };
    let converged = [("iterations", 2000.0), ("tolerance", 1e-6)];
    for base in bases() {
        let before = thinnest(&subject.posed(&Recipe { base: base.clone(), ..Recipe::default() }, &pose));
        let after = thinnest(&subject.posed(&recipe(base.clone(), "springs", &converged, 1.0), &pose));
        println!("{base:?}: {before:.3} → {after:.3}");
        assert!(after >= 0.95);
    }
}

#[test]
fn size_and_place_do_not_matter() {
    let subject = Subject::zoo("arm");
    let pose = subject.turned(&[("forearm", DQuat::from_rotation_x(1.3))]);
    for name in ["springs", "bulge"] {
        let recipe = recipe(BaseSpec::default(), name, &[], 1.0);
        let plain = subject.posed(&recipe, &pose);
        let mut moved = pose.clone();
        let root = subject.rig.skeleton().bones().find(|&bone| subject.rig.is_root(bone)).expect("a root");
        let turn = DQuat::from_rotation_y(0.8);
        if let LocalTransform::Trs(trs) = &mut moved.locals[root.index()] {
            (trs.translation, trs.rotation, trs.scale) = (
                turn * trs.translation * 100.0 + DVec3::new(500.0, 0.0, -70.0),
                turn * trs.rotation,
                trs.scale * 100.0,
            );
        }
        let large = subject.posed(&recipe, &moved);
        for v in 0..plain.positions.len() {
            let expected = turn * plain.world_position(0, v) * 100.0 + DVec3::new(500.0, 0.0, -70.0);
            let off = large.world_position(0, v).distance(expected) / (100.0 * subject.size());
            assert!(off < 1e-4, "{name}, vertex {v}: {off}");
        }
    }
}

#[test]
fn a_bulge_grows_limbs_by_its_profile() {
    let subject = Subject::zoo("tube:vertices=2000,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_z(0.4))]);
    let base = subject.posed(&Recipe::default(), &pose);
    let even = subject.posed(&recipe(BaseSpec::default(), "bulge", &[("amount", 0.5), ("profile", 5.0)], 1.0), &pose);
    // On the first bone, away from the joint: the axis is y.
    for v in 0..base.positions.len() {
        let (p, q) = (base.world_position(0, v), even.world_position(0, v));
        if (0.3..0.5).contains(&p.y) {
            assert!((q.x.hypot(q.z) / p.x.hypot(p.z) - 1.5).abs() < 0.02, "{p} → {q}");
        }
    }
    let bulge = subject.posed(&recipe(BaseSpec::default(), "bulge", &[], 1.0), &subject.rig.rest_pose());
    let widest = (0..base.positions.len())
        .map(|v| bulge.world_position(0, v))
        .filter(|p| (0.3..0.6).contains(&p.y))
        .map(|p| p.x.hypot(p.z) / 0.2)
        .fold(0.0, f64::max);
    assert!((widest - 1.25).abs() < 0.02, "{widest}");
}

#[test]
fn the_same_bits_on_any_thread_count_and_in_any_order() {
    let subject = Subject::zoo("calf");
    let recipe = recipe(BaseSpec::default(), "springs", &[], 1.0);
    let stage = subject.stage(&recipe);
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let first = subject.at(&stage, &motion, 0.3, &Cpu::serial());
    subject.at(&stage, &motion, 0.7, &Cpu::serial());
    assert_eq!(bits(&subject.at(&stage, &motion, 0.3, &Cpu::serial())), bits(&first));
}

#[test]
fn live_springs_swing_and_come_to_the_same_rest() {
    use sinew::correct::springs::{LiveSprings, Stiffness, Swing};
    let subject = Subject::zoo("tube:vertices=300,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_z(-0.8))]);
    let steps = [("iterations", 2000.0), ("tolerance", 1e-7)];
    let [rigid, rest] = [based("rigid", &[]), BaseSpec::default()]
        .map(|base| subject.posed(&recipe(base, "springs", &steps, 1.0), &pose));
    // A tube this coarse rests in several shapes; the swinging one is no farther from one than they are from each other.
    let spread = largest_difference(&rigid, &rest) / subject.size();
    println!("two starts rest {spread:.2e} of the size apart");
    assert!(spread < 3e-3, "{spread}");
    let swing = Swing { frequency: 60.0, damping: 6.0 };
    for rate in [24.0, 120.0] {
        let mut live = LiveSprings::new(&subject.rig, 0, &Stiffness::default(), swing).expect("skin that hangs");
        let mut world = WorldPose::default();
        let mut first = None;
        for frame in 0..(30.0 * rate) as usize {
            let pose = if frame == 0 { subject.rig.rest_pose() } else { pose.clone() };
            world.compose(subject.rig.skeleton(), &pose);
            let mut mesh = subject.posed(&Recipe::default(), &pose);
            live.step(&subject.rig, &world, 1.0 / rate, &mut mesh);
            if frame == 1 {
                first = Some(largest_difference(&mesh, &rest));
            }
            if frame + 1 == (30.0 * rate) as usize {
                let off = largest_difference(&mesh, &rest) / subject.size();
                println!("at {rate} frames a second: {off:.2e} of the size from the equilibrium");
                assert!(off < 1.2 * spread, "at {rate} frames a second: {off}");
            }
        }
        assert!(first.expect("a second frame") > 0.005 * subject.size(), "it starts elsewhere");
        live.reset();
        let mut mesh = subject.posed(&Recipe::default(), &pose);
        let before = mesh.clone();
        live.step(&subject.rig, &world, 0.0, &mut mesh);
        assert!(largest_difference(&mesh, &before) < 1e-6 * subject.size());
    }
}

#[test]
fn normals_are_those_of_the_skin_where_the_base_was_torn() {
    let subject = Subject::zoo("tube:vertices=2400,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_y(0.75 * PI))]);
    let mesh = subject.posed(&recipe(based("rigid", &[]), "springs", &[("iterations", 400.0)], 1.0), &pose);
    for v in 0..mesh.positions.len() {
        let p = mesh.world_position(0, v);
        if (0.5..1.5).contains(&p.y) {
            let outward = DVec3::new(p.x, 0.0, p.z).normalize();
            let cosine = mesh.normals[v].as_dvec3().dot(outward);
            assert!(cosine > 0.9, "{p}: {} {cosine}", mesh.normals[v]);
        }
    }
}
