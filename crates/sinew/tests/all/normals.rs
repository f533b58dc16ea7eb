//! Closed-form normals against differences along the surface: analytic weights and maps, f64, no gradients of ours.

use crate::common::reference::{self, Bone, Knobs};
use crate::common::{Subject, based, effect, recipe};
use glam::{DAffine3, DVec3};
use sinew::recipe::{BaseSpec, Normals, Rigid, TotalLimit};
use sinew::*;
use sinew_zoo::ZooCharacter;

const KNOBS: Knobs =
    Knobs { translation: 0.1, rotation: 0.1, max_length: 0.4, max_angle: 0.8, soft: true, rest_time: 0.05 };

/// A map that rises from 0 to 1 over a fifth of the height, steeply; twice differentiable, so that differences mean
/// something at its ends too.
fn painted(p: DVec3, height: f64) -> f64 {
    let x = ((p.y / height - 0.4) / 0.2).clamp(0.0, 1.0);
    x * x * x * (x * (x * 6.0 - 15.0) + 10.0)
}

/// The surface as a function of the rest point: LBS by the analytic weights, then floppy and squash by hand.
struct Truth<'a> {
    zoo: &'a ZooCharacter,
    subject: &'a Subject,
    matrices: Vec<DAffine3>,
    bones: Vec<(BoneId, Bone)>,
    height: Option<f64>,
    max_total: Option<TotalLimit>,
}

impl Truth<'_> {
    fn at(&self, rest: DVec3) -> DVec3 {
        let skeleton = self.subject.rig.skeleton();
        let weights = self.zoo.weights_at(rest);
        let p: DVec3 = weights.iter().map(|&(j, w)| self.matrices[j].transform_point3(rest) * w).sum();
        let gain = self.height.map_or(1.0, |height| painted(rest, height));
        let mut sum = DVec3::ZERO;
        for (bone, motion) in &self.bones {
            let below = |&&(j, _): &&(usize, f64)| {
                let joint = skeleton.bone_of_node(j).unwrap();
                skeleton.ancestors(joint).any(|a| a == *bone)
            };
            let propagated: f64 = weights.iter().filter(below).map(|(_, w)| w).sum();
            if propagated > 0.0 {
                let moved = reference::floppy(&KNOBS, motion, p, gain) + reference::squash(&KNOBS, motion, p, gain);
                sum += moved * propagated;
            }
        }
        let Some(TotalLimit { length, soft }) = self.max_total else { return p + sum };
        let (most, wanted) = (length * self.subject.size(), sum.length());
        let bounded = if soft { wanted / (1.0 + (wanted / most).powi(4)).powf(0.25) } else { wanted.min(most) };
        p + sum.normalize_or_zero() * bounded
    }

    /// Normal by central differences along the tangent plane.
    fn normal(&self, rest: DVec3, normal: DVec3, h: f64) -> DVec3 {
        let e1 = normal.any_orthonormal_vector();
        let e2 = normal.cross(e1);
        let along = |e: DVec3| self.at(rest + e * h) - self.at(rest - e * h);
        along(e1).cross(along(e2)).normalize()
    }
}

/// Where the gradients of the closed form come from.
#[derive(Clone, Copy, PartialEq)]
enum Gradients {
    Fitted,
    Analytic,
}

/// Derivatives of the analytic weights and the map, by differences in space.
struct Analytic<'a> {
    zoo: &'a ZooCharacter,
    rig: &'a Rig,
    height: f64,
    h: f64,
}

impl Analytic<'_> {
    fn gradient(&self, vertex: usize, f: impl Fn(DVec3) -> f64) -> DVec3 {
        let p = self.zoo.raw.meshes[0].primitives.iter().flat_map(|primitive| &primitive.positions).nth(vertex);
        let p = p.unwrap().as_dvec3();
        DVec3::from_array(DVec3::AXES.map(|axis| (f(p + axis * self.h) - f(p - axis * self.h)) / (2.0 * self.h)))
    }
}

impl Slopes for Analytic<'_> {
    fn weight(&self, vertex: usize, bone: BoneId) -> DVec3 {
        let node = self.rig.skeleton().node(bone);
        self.gradient(vertex, |p| {
            self.zoo.weights_at(p).into_iter().filter(|&(own, _)| own == node).map(|(_, weight)| weight).sum()
        })
    }

    fn gain(&self, _: &str, vertex: usize) -> DVec3 {
        self.gradient(vertex, |p| painted(p, self.height))
    }
}

fn errors(spec: &str, clip: usize, time: f64, steep_map: bool, normals: Normals, from: Gradients) -> (f64, f64, f64) {
    errors_within(None, spec, clip, time, steep_map, normals, from)
}

/// Angles between the library's normals and the truth: (mean, 99th percentile, largest), in radians.
fn errors_within(
    max_total: Option<TotalLimit>,
    spec: &str,
    clip: usize,
    time: f64,
    steep_map: bool,
    normals: Normals,
    from: Gradients,
) -> (f64, f64, f64) {
    let mut zoo = sinew_zoo::build(spec).unwrap();
    let height = zoo.raw.meshes[0].primitives[0].positions.iter().map(|p| f64::from(p.y)).fold(0.0, f64::max);
    for primitive in zoo.raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        let values = primitive.positions.iter().map(|p| painted(p.as_dvec3(), height) as f32).collect();
        primitive.maps.push(("steep".to_owned(), values));
    }
    let subject = Subject::new(&zoo.raw, zoo.clips.clone());
    let mut floppy =
        effect("floppy", &[("translation", 0.1), ("rotation", 0.1), ("max_length", 0.4), ("max_angle", 0.8)]);
    let mut squash = effect("squash", &[("translation", 0.1), ("rotation", 0.1), ("max_stretch", 0.4)]);
    if steep_map {
        (floppy.map, squash.map) = (Some("steep".to_owned()), Some("steep".to_owned()));
    }
    let mut stage = subject.stage(&Recipe { normals, max_total, rigid: Rigid::None, ..recipe(vec![floppy, squash]) });
    if from == Gradients::Analytic {
        let analytic = Analytic { zoo: &zoo, rig: &subject.rig, height, h: 1e-6 * subject.size() };
        stage = stage.with_slopes(&analytic);
    }
    let motion = subject.motion(clip, &MotionSettings::default(), &stage);
    let out = subject.at(&stage, &motion, time, &Cpu::serial());

    let skeleton = subject.rig.skeleton();
    let mut pose = subject.rig.rest_pose();
    motion.pose(time, &mut pose);
    let mut world = WorldPose::default();
    world.compose(skeleton, &pose);
    let mut kinematics = Kinematics::at_rest(skeleton.len(), 0);
    motion.kinematics(time, &world, skeleton, &mut kinematics);
    let bones = motion
        .moving()
        .iter()
        .map(|&bone| {
            let m = &kinematics.bones[bone.index()];
            let origin = world.joint_origin(bone);
            let centroid =
                subject.rig.centroid(bone).map_or(origin, |c| world.world_from_bone(bone).transform_point3(c));
            let (v, omega, a, alpha) =
                (m.linear_velocity, m.angular_velocity, m.linear_acceleration, m.angular_acceleration);
            (bone, Bone { origin, centroid, v, omega, a, alpha, size: subject.size() })
        })
        .collect();
    let joints = &zoo.raw.skins[0].joints;
    let matrices = joints
        .iter()
        .map(|joint| world.world_from_bone(skeleton.bone_of_node(joint.bone).unwrap()) * joint.bone_from_rest)
        .collect();
    let truth = Truth { zoo: &zoo, subject: &subject, matrices, bones, height: steep_map.then_some(height), max_total };
    let mut angles: Vec<f64> = Vec::new();
    let mut vertex = 0;
    for primitive in &zoo.raw.meshes[0].primitives {
        for (&p, &n) in primitive.positions.iter().zip(primitive.normals.as_ref().unwrap()) {
            let found = out.normals[vertex].as_dvec3();
            if vertex % (1 + out.normals.len() / 3_000) == 0 {
                let exact = truth.normal(p.as_dvec3(), n.as_dvec3(), 1e-5 * subject.size());
                angles.push(found.cross(exact).length().atan2(found.dot(exact)));
            }
            vertex += 1;
        }
    }
    angles.sort_by(f64::total_cmp);
    let mean = angles.iter().sum::<f64>() / angles.len() as f64;
    (mean, angles[angles.len() * 99 / 100], angles[angles.len() - 1])
}

#[test]
fn a_fine_tube_has_exact_normals_at_joints_and_map_borders() {
    for steep_map in [false, true] {
        for clip in [0, 1] {
            let (_, _, largest) =
                errors("tube:vertices=100000,bones=4", clip, 0.37, steep_map, Normals::Exact, Gradients::Fitted);
            assert!(largest <= 1e-3, "clip {clip}, map {steep_map}: largest {largest}");
        }
    }
}

#[test]
fn a_limit_on_the_sum_is_in_the_normals_too() {
    // The sum of both effects reaches three times as far here.
    for soft in [true, false] {
        let limit = Some(TotalLimit { length: 0.02, soft });
        let spec = "tube:vertices=10000,bones=4";
        let within = |limit| errors_within(limit, spec, 0, 0.37, true, Normals::Exact, Gradients::Analytic);
        let (_, most, largest) = within(limit);
        // Where a limit cuts, it leaves a crease.
        assert!(most <= 1e-3 && (largest <= 1e-3 || !soft), "soft {soft}: {most}, {largest}");
    }
}

#[test]
fn without_the_gradients_normals_are_wrong_there() {
    let (_, _, exact) = errors("tube:vertices=10000,bones=4", 0, 0.37, true, Normals::Exact, Gradients::Fitted);
    let (_, _, engine) = errors("tube:vertices=10000,bones=4", 0, 0.37, true, Normals::Engine, Gradients::Fitted);
    assert!(engine > 10.0 * exact, "{engine} without, {exact} with");
}

#[test]
fn errors_fall_with_the_square_of_the_edge_length() {
    let coarse = errors("tube:vertices=4000,bones=4", 0, 0.37, false, Normals::Exact, Gradients::Fitted).1;
    let fine = errors("tube:vertices=16000,bones=4", 0, 0.37, false, Normals::Exact, Gradients::Fitted).1;
    assert!(fine < 0.5 * coarse, "{coarse} → {fine}");
}

#[test]
fn zoo_characters_have_good_normals_at_their_own_resolution() {
    for spec in ["calf", "arm", "dancer"] {
        for steep_map in [false, true] {
            let (mean, most, _) = errors(spec, 0, 0.31, steep_map, Normals::Exact, Gradients::Fitted);
            assert!(mean < 0.02 && most < 0.25, "{spec}: mean {mean}, 99 of 100 below {most}");
        }
    }
}

#[test]
fn from_analytic_weights_the_closed_form_is_exact_on_every_zoo_character() {
    for name in sinew_zoo::names().iter().map(|entry| entry.name) {
        for steep_map in [false, true] {
            let (_, _, largest) = errors(name, 0, 0.31, steep_map, Normals::Exact, Gradients::Analytic);
            assert!(largest <= 1e-3, "{name}, map {steep_map}: largest {largest}");
        }
    }
}

#[test]
fn bases_and_modes_agree_on_a_rigid_motion() {
    let subject = Subject::zoo("tube:vertices=600,bones=3");
    let mut pose = subject.rig.rest_pose();
    let root = subject.bone("tube.1");
    pose.locals[root.index()] = LocalTransform::Trs(Trs {
        rotation: glam::DQuat::from_scaled_axis(DVec3::new(0.5, 1.0, -2.0)),
        ..pose.locals[root.index()].to_trs()
    });
    let still = Kinematics::at_rest(subject.rig.skeleton().len(), 0);
    let with = |base: BaseSpec, normals| {
        let stage = subject.stage(&Recipe { base, normals, ..Recipe::default() });
        subject.with(&stage, &pose, &still, &Cpu::serial()).normals
    };
    let engine = with(BaseSpec::default(), Normals::Engine);
    for base in [BaseSpec::default(), based("dqs", &[]), based("dqs", &[("pivot", 1.0)]), based("rigid", &[])] {
        for normals in [Normals::Exact, Normals::Faces, Normals::Auto] {
            for (a, b) in with(base.clone(), normals).iter().zip(&engine) {
                assert!(a.distance(*b) < 1e-5, "{base:?} {normals:?}");
            }
        }
    }
}

/// Exact base normals of LBS and DQS against differences of the base itself, evaluated on a rig whose rest points are
/// shifted along the surface: the library's own positions, its normals unseen.
#[test]
fn a_mirrored_character_keeps_its_outside() {
    let subject = Subject::zoo("tube:vertices=600,bones=3");
    let mut pose = subject.rig.rest_pose();
    let root = subject.bone("tube.1");
    let local = pose.locals[root.index()].to_trs();
    pose.locals[root.index()] = LocalTransform::Trs(Trs { scale: local.scale * DVec3::new(-1.0, 1.0, 1.0), ..local });
    let still = Kinematics::at_rest(subject.rig.skeleton().len(), 0);
    let with = |normals| {
        let stage = subject.stage(&Recipe { normals, ..Recipe::default() });
        subject.with(&stage, &pose, &still, &Cpu::serial()).normals
    };
    for (exact, engine) in with(Normals::Exact).iter().zip(with(Normals::Engine)) {
        assert!(exact.distance(engine) < 1e-5, "{exact} instead of {engine}");
    }
}

#[test]
fn exact_base_normals_are_those_of_the_skinned_surface() {
    for base in [BaseSpec::default(), based("dqs", &[]), based("blend", &[("factor", 0.5)])] {
        let zoo = sinew_zoo::build("tube:vertices=20000,bones=3").unwrap();
        let surface = &zoo.raw.meshes[0].primitives[0];
        let subject = Subject::new(&zoo.raw, zoo.clips.clone());
        let stage = subject.stage(&Recipe { base: base.clone(), normals: Normals::Exact, ..Recipe::default() });
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let found = subject.at(&stage, &motion, 0.4, &Cpu::serial()).normals;
        let h = 1e-3 * subject.size() as f32;
        let shifted = |axis: usize, sign: f32| {
            let mut raw = zoo.raw.clone();
            let primitive = &mut raw.meshes[0].primitives[0];
            for (vertex, p) in primitive.positions.iter_mut().enumerate() {
                let n = surface.normals.as_ref().unwrap()[vertex];
                let e1 = n.any_orthonormal_vector();
                *p += if axis == 0 { e1 } else { n.cross(e1) } * (sign * h);
                let mut weights = zoo.weights_at(p.as_dvec3());
                weights.resize(4, (0, 0.0));
                for (k, (joint, weight)) in weights.into_iter().enumerate() {
                    primitive.influences.joints[4 * vertex + k] = joint as u32;
                    primitive.influences.weights[4 * vertex + k] = weight as f32;
                }
            }
            let subject = Subject::new(&raw, zoo.clips.clone());
            let stage = subject.stage(&Recipe { base: base.clone(), ..Recipe::default() });
            let motion = subject.motion(0, &MotionSettings::default(), &stage);
            subject.at(&stage, &motion, 0.4, &Cpu::serial()).positions
        };
        let sides = [[shifted(0, 1.0), shifted(0, -1.0)], [shifted(1, 1.0), shifted(1, -1.0)]];
        let mut largest = 0.0f32;
        for (vertex, n) in found.iter().enumerate() {
            let along = |axis: usize| sides[axis][0][vertex] - sides[axis][1][vertex];
            largest = largest.max(along(0).cross(along(1)).normalize().angle_between(*n));
        }
        assert!(largest < 4e-3, "{base:?}: {largest}");
    }
}
