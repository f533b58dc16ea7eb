//! Rigid pieces: a stone on a bending tube and a sword carried by it, against motions known beforehand and a second
//! formulation of the fit.

use crate::common::{Subject, bits, cuboid, effect, recipe};
use glam::{DVec3, Vec3};
use sinew::raw::{RawBinding, RawBone, RawMesh};
use sinew::recipe::{Normals, Riders, Rigid, Sewn};
use sinew::*;
use sinew_testkit::rigid_fit::{RigidFit, V, rigid_fit};

/// A tube with a stone on its skin and a sword on its third bone.
fn subject() -> Subject {
    let mut zoo = sinew_zoo::build("tube:vertices=800,bones=4").unwrap();
    let raw = &mut zoo.raw;
    let node = raw.bones.len();
    let local = LocalTransform::Trs(Trs::from_translation(DVec3::new(0.0, 0.25, -0.3)));
    raw.bones.push(RawBone { name: "stone".into(), parent: None, local: LocalTransform::Trs(Trs::IDENTITY) });
    raw.bones.push(RawBone { name: "Sword".into(), parent: Some(2), local });
    let mesh = |name: &str, node, binding, primitive| RawMesh {
        name: name.into(),
        node,
        binding,
        primitives: vec![primitive],
        morph_weights: Vec::new(),
    };
    let stone = cuboid(Vec3::new(0.28, 1.3, 0.0), Vec3::new(0.08, 0.12, 0.1), Some(2));
    raw.meshes.push(mesh("stone", node, RawBinding::Skin(0), stone));
    let sword = cuboid(Vec3::ZERO, Vec3::new(0.03, 0.02, 0.4), None);
    raw.meshes.push(mesh("Sword", node + 1, RawBinding::Node, sword));
    Subject::new(raw, zoo.clips)
}

fn only() -> Rigid {
    Rigid::Only(vec!["ston?".into(), "@prop".into()])
}

fn vertices(subject: &Subject, mesh: &str) -> std::ops::Range<usize> {
    let part = subject.rig.parts().iter().find(|part| part.name == mesh).expect("a mesh of that name");
    part.primitives[0].vertices.clone()
}

fn place(p: Vec3) -> V {
    p.as_dvec3().to_array()
}

fn fit_of(base: &DeformedMesh, moved: &DeformedMesh, vertices: impl Iterator<Item = usize>) -> RigidFit {
    let pairs: Vec<(V, V)> = vertices.map(|v| (place(base.positions[v]), place(moved.positions[v]))).collect();
    rigid_fit(&pairs)
}

fn lively(rigid: Rigid) -> Recipe {
    let effects = vec![effect("floppy", &[("rotation", 0.3), ("max_angle", 0.8)]), effect("squash", &[])];
    Recipe { rigid, sewn: Sewn::None, ..recipe(effects) }
}

#[test]
fn what_moves_all_skin_alike_moves_the_piece_so() {
    let subject = subject();
    let motion = BoneMotion { linear_velocity: DVec3::new(0.7, 0.2, -0.4), ..BoneMotion::default() };
    let moved = |rigid: Rigid, riders| {
        let shove = effect("floppy", &[("translation", 0.1), ("rotation", 0.0)]);
        let stage = subject.stage(&Recipe { rigid, riders, ..recipe(vec![shove]) });
        let mut kinematics = stage.at_rest();
        kinematics.set_steady(subject.bone("tube.1"), motion, stage.filtered_signals());
        subject.with(&stage, &subject.rig.rest_pose(), &kinematics, &Cpu::serial())
    };
    let rest = subject.posed(&Recipe::default(), &subject.rig.rest_pose());
    let (free, held) = (moved(Rigid::None, Riders::Move), moved(only(), Riders::Move));
    let by = free.positions[0] - rest.positions[0];
    assert!(by.length() > 0.01, "{by}");
    for vertex in vertices(&subject, "stone").chain(vertices(&subject, "Sword")) {
        let off = held.positions[vertex] - rest.positions[vertex] - by;
        assert!(off.length() < 2e-6, "{vertex}: {off}");
    }
    // Riders that are to stay still do, whatever their ground does.
    let still = moved(only(), Riders::Still);
    for vertex in vertices(&subject, "Sword") {
        assert_eq!(still.positions[vertex], rest.positions[vertex]);
    }
}

#[test]
fn pieces_keep_their_shape_and_go_with_the_skin_under_them() {
    let subject = subject();
    let size = subject.size();
    let frame = |recipe: &Recipe, time: f64, cpu: &Cpu<'_>| {
        let stage = subject.stage(recipe);
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        subject.at(&stage, &motion, time, cpu)
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let (mut bent, mut turned) = (0.0f64, 0.0f64);
    for time in [0.2, 0.55, 0.9, 1.3] {
        let base = frame(&Recipe::default(), time, &Cpu::serial());
        let free = frame(&lively(Rigid::None), time, &Cpu::serial());
        let held = frame(&lively(only()), time, &Cpu::serial());
        let threads = frame(&lively(only()), time, &Cpu { pool: Some(&pool), ..Cpu::serial() });
        assert_eq!(bits(&held), bits(&threads));
        for mesh in ["stone", "Sword"] {
            let own = vertices(&subject, mesh);
            bent = bent.max(fit_of(&base, &free, own.clone()).residual / size);
            let fit = fit_of(&base, &held, own.clone());
            assert!(fit.residual < 1e-6 * size, "{mesh} at {time}: {:e}", fit.residual);
            // Everything else is where it was.
            let skin = vertices(&subject, "tube");
            assert_eq!(held.positions[skin.clone()], free.positions[skin.clone()]);
            // The skin around it, all alike, is not what it was fitted to, but near.
            let centre = Vec3::from_array(fit.from.map(|x| x as f32));
            let near = skin.filter(|&v| base.positions[v].distance(centre) < 0.35);
            let ground = fit_of(&base, &free, near);
            let apart = (0..3).map(|a| (fit.to[a] - ground.of(fit.from)[a]).powi(2)).sum::<f64>().sqrt();
            assert!(apart < 0.02 * size, "{mesh} at {time}: {apart}");
            let angle = |r: &RigidFit| {
                (0.5f64 * (r.rotation[0][0] + r.rotation[1][1] + r.rotation[2][2] - 1.0)).min(1.0).acos()
            };
            turned = turned.max(angle(&fit));
            assert!(
                (angle(&fit) - angle(&ground)).abs() < 0.05 + 0.25 * angle(&ground),
                "{mesh} at {time}: {} {}",
                angle(&fit),
                angle(&ground)
            );
            // Normals turn with it, however they are made.
            for normals in [Normals::Exact, Normals::Engine, Normals::Faces] {
                let held = frame(&Recipe { normals, ..lively(only()) }, time, &Cpu::serial());
                for v in own.clone() {
                    let n = base.normals[v].as_dvec3();
                    let expected: Vec<f64> = (0..3).map(|a| DVec3::from_array(fit.rotation[a]).dot(n)).collect();
                    let off = DVec3::from_slice(&expected).distance(held.normals[v].as_dvec3());
                    assert!(off < 1e-4, "{mesh} {normals:?} at {time}: {off}");
                }
            }
        }
    }
    assert!(bent > 1e-4 && turned > 0.05, "nothing to hold: {bent} {turned}");
}

#[test]
fn nothing_at_work_is_the_base_to_the_bit() {
    let subject = subject();
    let frame = |recipe: &Recipe| {
        let stage = subject.stage(recipe);
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        subject.at(&stage, &motion, 0.4, &Cpu::serial())
    };
    for normals in [Normals::Auto, Normals::Exact, Normals::Engine] {
        let mut quiet = Recipe { normals, ..lively(only()) };
        quiet.effects.iter_mut().for_each(|effect| effect.gain = 0.0);
        let base = frame(&Recipe { normals, ..Recipe::default() });
        assert_eq!(bits(&frame(&quiet)), bits(&base), "{normals:?}");
    }
    let (some, none) = (frame(&lively(Rigid::Only(Vec::new()))), frame(&lively(Rigid::None)));
    assert_eq!(bits(&some), bits(&none));
}

#[test]
fn names_and_roles() {
    let subject = subject();
    let build = |names: &[&str]| {
        Stage::new(&subject.rig, &lively(Rigid::Only(names.iter().map(|&name| name.into()).collect())))
    };
    assert!(build(&["Sword", "@prop"]).unwrap().absent_roles().is_empty());
    assert_eq!(build(&["@wing"]).unwrap().absent_roles(), [anatomy::Role::Wing]);
    let wrong = build(&["Swort"]).unwrap_err().to_string();
    assert!(wrong.contains("\"Swort\"") && wrong.contains("did you mean \"Sword\"?"), "{wrong}");
    let wrong = build(&["@prob"]).unwrap_err().to_string();
    assert!(wrong.contains("\"@prob\"") && wrong.contains("did you mean \"@prop\"?"), "{wrong}");

    // A role is all bones that have it; one that is not there is nobody and no error.
    let gained = |pattern: &str, gain: f64| {
        let mut spec = effect("floppy", &[("rotation", 0.3)]);
        let gain = recipe::BoneGain { translation: gain, rotation: gain, ..recipe::BoneGain::default() };
        spec.bones.push((pattern.into(), gain));
        let stage = subject.stage(&Recipe { rigid: Rigid::None, ..self::recipe(vec![spec]) });
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        (bits(&subject.at(&stage, &motion, 0.4, &Cpu::serial())), stage.absent_roles())
    };
    let anatomy = Anatomy::of(&subject.rig);
    let role = anatomy.bone(subject.bone("tube.3")).role;
    let alike = |bone: &str| anatomy.bone(subject.bone(bone)).role == role;
    let (all, none) = (gained("tube.*", 1.0).0, gained("tube.*", 0.0).0);
    assert_ne!(all, none);
    if ["tube.1", "tube.2", "tube.4"].into_iter().all(alike) {
        assert_eq!(gained(&format!("@{role}"), 0.0), (none, Vec::new()));
    }
    assert_eq!(gained("@wing", 0.0), (all, vec![anatomy::Role::Wing]));
}
