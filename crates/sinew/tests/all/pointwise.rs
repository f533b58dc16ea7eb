//! The bases that place point by point, through the whole pipeline.
use crate::common::{Subject, based, bits, largest_difference};
use glam::{DQuat, DVec3};
use sinew::attach::hanging::{AttachBy, continuity};
use sinew::recipe::BaseSpec;
use sinew::table::{Cell, Row};
use sinew::*;
use std::f64::consts::{FRAC_PI_2, PI};

/// As printed.
fn irs(influence: f64, keep_distance: bool) -> BaseSpec {
    let distance = f64::from(u8::from(keep_distance));
    let mut base = based("incremental-rotation", &[("influence", influence), ("keep_distance", distance)]);
    base.values.choose("carried", "by-line").expect("a way");
    base
}

fn evenly() -> BaseSpec {
    based("incremental-rotation", &[])
}

fn all() -> [BaseSpec; 6] {
    [
        evenly(),
        irs(0.5, true),
        irs(0.0, false),
        based("centres-of-rotation", &[]),
        based("stretchable-twistable", &[("share", 0.5)]),
        based("scale-vectors", &[]),
    ]
}

fn posed(subject: &Subject, base: BaseSpec, pose: &Pose) -> DeformedMesh {
    let stage = subject.stage(&Recipe { base, ..Recipe::default() });
    let still = Kinematics::at_rest(subject.rig.skeleton().len(), 0);
    subject.with(&stage, pose, &still, &Cpu::serial())
}

fn changed(subject: &Subject, bone: &str, change: impl Fn(&mut Trs)) -> Pose {
    let mut pose = subject.rig.rest_pose();
    if let LocalTransform::Trs(trs) = &mut pose.locals[subject.bone(bone).index()] {
        change(trs);
    }
    pose
}

#[test]
fn at_rest_and_moved_as_a_whole_they_are_linear_blending() {
    for name in ["arm", "calf", "bird", "flower", "tube"] {
        let subject = Subject::zoo(name);
        let root = subject.rig.skeleton().bones().find(|&bone| subject.rig.is_root(bone)).expect("a root");
        let root = subject.rig.skeleton().name(root).to_owned();
        let whole = changed(&subject, &root, |trs| {
            trs.rotation = DQuat::from_rotation_y(2.5) * trs.rotation;
            trs.translation += DVec3::new(3.0, -1.0, 7.0);
            trs.scale *= 3.0;
        });
        for pose in [subject.rig.rest_pose(), whole] {
            let linear = posed(&subject, BaseSpec::default(), &pose);
            for base in all() {
                let off = largest_difference(&posed(&subject, base.clone(), &pose), &linear) / subject.size();
                assert!(off < 3e-6, "{name} {base:?}: {off}");
            }
        }
    }
}

/// Distance of the tube's skin from its axis, of two bones with the joint at height 1.
fn radii(mesh: &DeformedMesh, second: DQuat) -> impl Iterator<Item = (DVec3, f64)> {
    (0..mesh.positions.len()).map(move |v| {
        let p = mesh.world_position(0, v);
        let line = |from: DVec3, to: DVec3| {
            let t = ((p - from).dot(to - from) / (to - from).length_squared()).clamp(0.0, 1.0);
            p.distance(from.lerp(to, t))
        };
        (p, line(DVec3::ZERO, DVec3::Y).min(line(DVec3::Y, DVec3::Y + second * DVec3::Y)))
    })
}

#[test]
fn twists_keep_the_radius_where_linear_blending_loses_it() {
    let subject = Subject::zoo("tube:vertices=4000,bones=2");
    let pose = changed(&subject, "tube.2", |trs| trs.rotation *= DQuat::from_rotation_y(0.9 * PI));
    let thinnest = |base: BaseSpec| {
        let mesh = posed(&subject, base, &pose);
        let middle = radii(&mesh, DQuat::IDENTITY).filter(|(p, _)| (0.5..1.5).contains(&p.y));
        middle.map(|(_, radius)| radius / 0.2).fold(f64::INFINITY, f64::min)
    };
    assert!(thinnest(BaseSpec::default()) < 0.3);
    for base in all() {
        let least = thinnest(base.clone());
        println!("{base:?}: {least:.3}");
        // Twistable bones are blended linearly where their twists differ.
        let bound = if base.base.name == "stretchable-twistable" { 0.85 } else { 0.97 };
        assert!(least > bound, "{base:?} {least}");
    }
    // Twistable bones wind evenly over both.
    let mesh = posed(&subject, based("stretchable-twistable", &[("share", 0.5)]), &pose);
    for v in 0..mesh.positions.len() {
        let rest = subject.rig.rest().get(subject.rig.point_of_vertex()[v] as usize).as_dvec3();
        let p = mesh.world_position(0, v);
        if (0.6..1.4).contains(&rest.y) && rest.x.hypot(rest.z) > 0.1 {
            let turn = DQuat::from_rotation_y(0.9 * PI * rest.y / 2.0);
            let expected = turn * DVec3::new(rest.x, 0.0, rest.z);
            let off = DVec3::new(p.x, 0.0, p.z).distance(expected);
            assert!(off < 0.08, "{rest} → {p}, {off}");
        }
    }
}

#[test]
fn incremental_rotation_keeps_its_distance_in_a_bend_and_rigid_is_its_first_case() {
    let subject = Subject::zoo("tube:vertices=4000,bones=2");
    let turn = DQuat::from_rotation_z(-FRAC_PI_2);
    let pose = changed(&subject, "tube.2", |trs| trs.rotation *= turn);
    let spread = |base: BaseSpec| {
        let mesh = posed(&subject, base, &pose);
        let outer = |p: DVec3| (p - DVec3::Y).dot(DVec3::new(-1.0, 1.0, 0.0)) > 0.0;
        let middle = radii(&mesh, turn).filter(|(p, _)| p.distance(DVec3::Y) < 0.5 && outer(*p));
        middle.map(|(_, r)| r / 0.2).fold((f64::INFINITY, 0.0f64), |(l, h), r| (l.min(r), h.max(r)))
    };
    let (kept, free) = (spread(irs(0.5, true)), spread(irs(0.5, false)));
    println!(
        "outer side at a right angle: {kept:.4?} with the correction, {free:.4?} without, {:.4?} linear",
        spread(BaseSpec::default())
    );
    assert!(kept.0 > 0.999 && kept.1 < 1.001);
    // Without influence every point goes with the bone that it hangs on.
    let mesh = posed(&subject, irs(0.0, false), &pose);
    for v in 0..mesh.positions.len() {
        let rest = subject.rig.rest().get(subject.rig.point_of_vertex()[v] as usize).as_dvec3();
        let turned = DVec3::Y + turn * (rest - DVec3::Y);
        let near = mesh.world_position(0, v).distance(rest).min(mesh.world_position(0, v).distance(turned));
        assert!(near < 1e-6 || (rest.y - 1.0).abs() < 0.1, "{rest}");
    }
}

#[test]
fn bones_that_stretch_take_the_skin_along() {
    let subject = Subject::zoo("tube:vertices=4000,bones=2");
    let pose = changed(&subject, "tube.2", |trs| trs.translation *= 1.5);
    for base in
        [evenly(), irs(0.5, true), based("stretchable-twistable", &[("share", 0.5)]), based("scale-vectors", &[])]
    {
        let mesh = posed(&subject, base.clone(), &pose);
        for v in 0..mesh.positions.len() {
            let rest = subject.rig.rest().get(subject.rig.point_of_vertex()[v] as usize).as_dvec3();
            let p = mesh.world_position(0, v);
            if (0.3..0.6).contains(&rest.y) {
                // Weights of the second bone reach this far; attachments do not.
                let by_line = base.base.name == "incremental-rotation" && base.values.word("carried") == "by-line";
                let bound = if by_line { 0.01 } else { 0.1 };
                assert!((p.y - 1.5 * rest.y).abs() < bound, "{base:?} {rest} → {p}");
                assert!((p.x.hypot(p.z) - 0.2).abs() < 1e-3, "{base:?} {rest} → {p}");
            }
        }
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let subject = Subject::zoo("calf");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
    for base in all() {
        let stage = subject.stage(&Recipe { base: base.clone(), ..Recipe::default() });
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let serial = Cpu::serial();
        let one = subject.at(&stage, &motion, 0.3, &serial);
        let three = subject.at(&stage, &motion, 0.3, &Cpu { pool: Some(&pool), ..serial });
        assert_eq!(bits(&one), bits(&three), "{base:?}");
    }
}

/// Files may bind in centimetres what stands in metres: the gap is a share of the character all the same.
#[test]
fn the_gap_is_told_in_sizes_whatever_the_units_of_the_bind() {
    let zoo = sinew_zoo::build("arm").expect("a zoo character");
    let subject = Subject::new(&zoo.raw, zoo.clips.clone());
    let mut raw = zoo.raw.clone();
    for joint in raw.skins.iter_mut().flat_map(|skin| &mut skin.joints) {
        joint.bone_from_rest *= glam::DAffine3::from_scale(DVec3::splat(0.01));
    }
    for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        primitive.positions.iter_mut().for_each(|p| *p *= 100.0);
    }
    let centimetres = Subject::new(&raw, zoo.clips);
    assert!((centimetres.size() / subject.size() - 1.0).abs() < 1e-6, "the same character in the world");
    for &(name, by) in AttachBy::NAMES {
        let [here, there] =
            [&subject, &centimetres].map(|subject| continuity(&subject.rig, 0, by).expect("skin that hangs"));
        assert!((here / there - 1.0).abs() < 1e-4, "{name}: {here} {there}");
    }
}

#[test]
fn dividers_can_be_moved_and_the_gap_is_told() {
    let subject = Subject::zoo("arm");
    for &(name, by) in AttachBy::NAMES {
        let gap = continuity(&subject.rig, 0, by).expect("skin that hangs");
        println!("{name}: {gap:.4}");
        assert!(gap > 0.0 && gap < 0.2, "{name}");
    }
    let planar = |divider: Option<&str>| {
        let mut base = irs(0.0, false);
        base.values.set("smoothing", 0.0).unwrap();
        base.values.choose("attach", "planar").unwrap();
        if let Some(bone) = divider {
            let row = Row::of([("turn", Cell::Numbers(vec![20.0, 0.0, 0.0])), ("shift", Cell::Number(0.2))]);
            base.tables.add("dividers", bone, row).unwrap();
        }
        base
    };
    let pose = changed(&subject, "forearm", |trs| trs.rotation *= DQuat::from_rotation_x(0.8));
    let (as_found, moved) = (posed(&subject, planar(None), &pose), posed(&subject, planar(Some("forearm")), &pose));
    assert!(largest_difference(&as_found, &moved) > 0.01 * subject.size());
    let stage = subject.stage(&Recipe { base: planar(None), ..Recipe::default() });
    assert_eq!(stage.pointwise().expect("such a base").gaps().count(), 1);
    let unknown = Recipe { base: planar(Some("elbow")), ..Recipe::default() };
    assert!(Stage::new(&subject.rig, &unknown).is_err());
}

#[test]
fn the_last_line_ends_at_the_joint_of_the_tip() {
    let build = |tip: Option<f64>| {
        let mut raw = sinew_zoo::build("tube:vertices=600,bones=2").expect("built in").raw;
        let last = raw.bones.iter().position(|bone| bone.name == "tube.2").expect("a last bone");
        if let Some(y) = tip {
            let local = LocalTransform::Trs(Trs { translation: DVec3::Y * y, ..Trs::IDENTITY });
            raw.bones.push(sinew::raw::RawBone { name: "tip".into(), parent: Some(last), local });
        }
        let rig = Rig::build(&raw).expect("sound").0;
        let anchors = sinew::attach::skin::AttachedSkin::new(&rig, 0).expect("a skin").anchors();
        anchors.iter().map(|a| a.y).fold(0.0, f64::max)
    };
    // The tube is 2 long, and its second bone begins in the middle. Smoothing draws the last rings together a little.
    let (without, with) = (build(None), build(Some(1.0)));
    assert!(without < 1.85 && with > 1.9, "{without} {with}");
    // A joint far out, or behind the skin, is no tip.
    assert_eq!(build(Some(9.0)), without);
    assert_eq!(build(Some(-1.0)), without);
}

#[test]
fn skin_keeps_to_the_piece_of_one_bone_that_lies_on_it() {
    let mut raw = sinew_zoo::build("tube:vertices=4000,bones=2").expect("built in").raw;
    // The tube is 2 long, its second bone begins in the middle, and no weights are shared.
    let skin = &mut raw.meshes[0].primitives[0];
    let joints = skin.positions.iter().map(|p| u32::from(p.y > 1.0)).collect();
    skin.influences = sinew::raw::RawInfluences { per_vertex: 1, joints, weights: vec![1.0; skin.positions.len()] };
    let mut plate = skin.clone();
    plate.positions.iter_mut().for_each(|p| (p.x, p.z) = (1.02 * p.x, 1.02 * p.z));
    plate.influences.joints.fill(1);
    let covers = |p: &glam::Vec3| (1.02..1.2).contains(&p.y) && p.x < -0.1;
    plate.triangles.retain(|t| t.iter().all(|&v| covers(&skin.positions[v as usize])));
    let (count, mut under) = (skin.positions.len(), plate.triangles.concat());
    under.sort_unstable();
    under.dedup();
    assert!(under.len() > 20);
    raw.meshes[0].primitives.push(plate);
    let subject = Subject::new(&raw, Vec::new());
    let pose = changed(&subject, "tube.2", |trs| trs.rotation *= DQuat::from_rotation_z(-1.0));
    let mesh = posed(&subject, evenly(), &pose);
    let gap = |&v: &u32| mesh.world_position(0, v as usize).distance(mesh.world_position(0, v as usize + count));
    let widest = under.iter().map(gap).fold(0.0, f64::max);
    println!("{widest:.4} apart, 0.004 at rest");
    assert!(widest < 0.02, "{widest}");
}
