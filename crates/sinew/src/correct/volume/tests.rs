//! The oracles in f64, below the rounding of positions: a cylinder of 16 × 16 points about the y axis, flat ends without
//! a centre, radius 1, length 6, two bones with their joint in the middle, `w₂ = clamp((y + 2)/4)`.

use super::correction_map::{CorrectionMap, MapPlan, Shape};
use super::segments;
use super::segments::{Nodes, SegmentScratch, Strip, change, prism, prism_terms, terms_at};
use super::sparse_lu::SparseLu;
use super::whole::{Aimed, Limits, Stretch, cubic, first_root, restore, target_volume};
use super::whole_rows::{Shares, VolumeRows, VolumeScratch};
use crate::correct::body::{Body, BodyFrame, Reach, Surface, volume};
use crate::correct::bound::RowsFrame;
use crate::correct::report::Outcome;
use crate::pose::{LocalTransform, Trs};
use crate::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawRig, RawSkin};
use crate::rig::Rig;
use crate::simd::{LANES, Level, Points};
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::f64::consts::TAU;

const AROUND: usize = 16;
const RINGS: usize = 16;
const EXACT: Limits = Limits { linear: false, gain: 1.0, local: 0.0, max_move: 1.0 };
const LINEAR: Limits = Limits { linear: true, ..EXACT };

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn direction(&mut self) -> DVec3 {
        loop {
            let v = DVec3::new(self.unit(), self.unit(), self.unit()) * 2.0 - 1.0;
            if (0.01..1.0).contains(&v.length()) {
                return v.normalize();
            }
        }
    }
}

fn restore_segments(
    surface: &Surface,
    body: &mut Body,
    gamma: &[f64],
    limits: &Limits,
    lu: &SparseLu,
    scratch: &mut SegmentScratch,
) {
    let strips = Strip::all(surface);
    let mut nodes = Nodes { surface, strips: &strips, body, gamma };
    assert!(segments::restore_segments(&mut nodes, surface, limits, lu, scratch));
}

fn places() -> Vec<DVec3> {
    (0..RINGS * AROUND)
        .map(|i| {
            let (ring, k) = (i / AROUND, i % AROUND);
            let (s, c) = (TAU * k as f64 / AROUND as f64).sin_cos();
            DVec3::new(c, -3.0 + 6.0 * ring as f64 / (RINGS - 1) as f64, -s)
        })
        .collect()
}

fn second_weight(p: DVec3) -> f64 {
    ((p.y + 2.0) / 4.0).clamp(0.0, 1.0)
}

fn side_faces() -> Vec<[u32; 3]> {
    let mut faces = Vec::new();
    for ring in 0..RINGS - 1 {
        for k in 0..AROUND {
            let at = |ring: usize, k: usize| (ring * AROUND + k % AROUND) as u32;
            let (a, b, c, d) = (at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k));
            faces.extend([[a, b, c], [a, c, d]]);
        }
    }
    faces
}

fn end_faces() -> Vec<[u32; 3]> {
    let top = ((RINGS - 1) * AROUND) as u32;
    (1..AROUND as u32 - 1).flat_map(|k| [[0, k + 1, k], [top, top + k, top + k + 1]]).collect()
}

fn bone(name: &str, parent: Option<usize>, translation: DVec3) -> RawBone {
    RawBone { name: name.to_owned(), parent, local: LocalTransform::Trs(Trs::from_translation(translation)) }
}

fn piece(places: &[DVec3], faces: Vec<[u32; 3]>) -> RawPrimitive {
    RawPrimitive {
        positions: places.iter().map(|p| p.as_vec3()).collect(),
        influences: RawInfluences {
            per_vertex: 2,
            joints: places.iter().flat_map(|_| [0, 1]).collect(),
            weights: places.iter().flat_map(|&p| [1.0 - second_weight(p) as f32, second_weight(p) as f32]).collect(),
        },
        triangles: faces,
        ..RawPrimitive::default()
    }
}

fn raw(pieces: Vec<RawPrimitive>) -> RawRig {
    let joints = [DVec3::Y * -3.0, DVec3::ZERO];
    let skin = RawSkin {
        name: "skin".to_owned(),
        joints: joints
            .iter()
            .enumerate()
            .map(|(bone, &at)| RawJoint { bone, bone_from_rest: DAffine3::from_translation(-at) })
            .collect(),
    };
    let mesh = |(index, piece): (usize, RawPrimitive)| RawMesh {
        name: format!("mesh {index}"),
        node: 2,
        binding: RawBinding::Skin(index),
        primitives: vec![piece],
        morph_weights: Vec::new(),
    };
    RawRig {
        bones: vec![
            bone("lower", None, joints[0]),
            bone("upper", Some(0), joints[1] - joints[0]),
            bone("mesh", None, DVec3::ZERO),
        ],
        skins: vec![skin; pieces.len()],
        meshes: pieces.into_iter().enumerate().map(mesh).collect(),
        animated: Vec::new(),
    }
}

/// A rig whose body is posed in f64, from the places it was made of instead of their f32 copies.
struct Stage {
    rig: Rig,
    surface: Surface,
    bind: Vec<DVec3>,
}

impl Stage {
    fn new(raw: &RawRig) -> Self {
        let (rig, _) = Rig::build(raw).unwrap();
        let surface = Surface::new(&rig, 0).unwrap();
        // The f32 places name the f64 ones.
        let exact = places();
        let nearest =
            |p: &DVec3| *exact.iter().min_by(|a, b| a.distance_squared(*p).total_cmp(&b.distance_squared(*p))).unwrap();
        let bind = surface.bind.iter().map(nearest).collect();
        Self { rig, surface, bind }
    }

    fn cylinder() -> Self {
        Self::new(&raw(vec![piece(&places(), side_faces().into_iter().chain(end_faces()).collect())]))
    }

    /// Bent or twisted at the joint, then moved as a whole.
    fn body(&self, rotation: DQuat, whole: DAffine3) -> Body {
        let transforms = [whole, whole * DAffine3::from_quat(rotation)];
        let palette: Vec<DAffine3> =
            self.rig.palette().iter().map(|entry| transforms[entry.bone.index().min(1)]).collect();
        let mut body = Body::default();
        let frame = BodyFrame {
            rig: &self.rig,
            world_from_rest: &palette,
            morphed_rest: None,
            effects_rest: false,
            reach: Reach::Always,
            points: self.rig.rest(),
        };
        body.pose(&self.surface, &frame);
        assert!(body.load(&self.surface, &frame));
        (body.noise, body.has_effects) = (0.0, false);
        body.set_morphed(self.bind.clone());
        let centre = body.centre();
        body.points = self
            .bind
            .iter()
            .map(|&p| {
                let w = second_weight(p);
                transforms[0].transform_point3(p).lerp(transforms[1].transform_point3(p), w) - centre
            })
            .collect();
        body.begin();
        self.surface.place_apexes(&mut body.points);
        body
    }

    fn bent(&self, degrees: f64) -> Body {
        self.body(DQuat::from_rotation_z(degrees.to_radians()), DAffine3::IDENTITY)
    }

    fn gamma(&self, shape: Shape, alpha: f64, beta: f64) -> Vec<f64> {
        let plan = MapPlan { shape, is_plain: true, alpha, beta, painted: None, bones_of: &|_| None };
        let mut gamma = CorrectionMap::new(&self.rig, &self.surface, &plan).gamma;
        if shape == Shape::Rubber {
            // The weights of the rig are f32, too.
            for (gamma, &p) in gamma.iter_mut().zip(&self.bind) {
                let w = second_weight(p);
                *gamma = (1.0 - w.max(1.0 - w)).powf(alpha);
            }
        }
        gamma
    }
}

#[test]
fn bending_loses_what_it_should() {
    let stage = Stage::cylinder();
    assert_eq!((stage.surface.nodes(), stage.surface.segments.len()), (256, 2));
    let rest = volume(stage.surface.shell(), &stage.bent(0.0).points);
    // Sixteen sides of a regular polygon.
    assert!((rest / (6.0 * 8.0 * (TAU / 16.0).sin()) - 1.0).abs() < 1e-14);
    for degrees in [10.0f64, 50.0, 90.0, 150.0] {
        let mut body = stage.bent(degrees);
        assert!((target_volume(&stage.surface, &mut body) / rest - 1.0).abs() < 1e-14);
        let lost = 1.0 - volume(stage.surface.shell(), &body.points) / rest;
        let expected = 0.11483 * (1.0 - degrees.to_radians().cos());
        assert!((lost - expected).abs() < 1e-5, "{degrees}°: {lost} instead of {expected}");
        // The same law to more digits: the loss is proportional to 1 − cos.
        let right = 1.0 - volume(stage.surface.shell(), &stage.bent(90.0).points) / rest;
        assert!((lost - right * (1.0 - degrees.to_radians().cos())).abs() < 1e-6);
    }
}

#[test]
fn the_linear_step_overshoots_and_the_exact_one_does_not() {
    let stage = Stage::cylinder();
    let gamma = stage.gamma(Shape::Rubber, 1.0, 1.0);
    for (degrees, overshoot) in [(10.0, 0.0002), (50.0, 0.09), (90.0, 0.86), (150.0, 3.5)] {
        let linear = restore(&stage.surface, &mut stage.bent(degrees), &gamma, &LINEAR);
        let percent = 100.0 * (linear.after / linear.target - 1.0);
        assert!(
            (percent - overshoot).abs() < 0.03 * overshoot + 6e-5,
            "{degrees}°: {percent} % instead of {overshoot} %"
        );
        assert_eq!(linear.outcome, Outcome::Linear);
        let mut body = stage.bent(degrees);
        let exact = restore(&stage.surface, &mut body, &gamma, &EXACT);
        assert!(
            (volume(stage.surface.shell(), &body.points) / exact.target - 1.0).abs() < 1e-12,
            "{degrees}°: {exact:?}"
        );
        assert_eq!(exact.outcome, Outcome::Restored);
    }
}

#[test]
fn a_half_turn_is_restored() {
    let stage = Stage::cylinder();
    let gamma = stage.gamma(Shape::Rubber, 1.0, 1.0);
    let twisted = || stage.body(DQuat::from_rotation_y(std::f64::consts::PI), DAffine3::IDENTITY);
    let mut body = twisted();
    let exact = restore(&stage.surface, &mut body, &gamma, &EXACT);
    assert!((1.0 - exact.before / exact.target - 0.451).abs() < 5e-4, "{exact:?}");
    assert!((volume(stage.surface.shell(), &body.points) / exact.target - 1.0).abs() < 1e-12, "{exact:?}");
    // The first root.
    let mut body = twisted();
    body.differentiate(&stage.surface);
    let missing = exact.target - exact.before;
    assert_eq!(super::whole::aim(&stage.surface, &mut body, &gamma, 0.0, missing), Aimed::There);
    let root = first_root(cubic(stage.surface.shell(), &body.points, &body.moves).map(|c| c / missing)).unwrap();
    assert!((root - 0.694).abs() < 1e-3, "{root}");
}

#[test]
fn gradient_and_coefficients_agree_with_differences() {
    for open in [false, true] {
        let faces: Vec<_> = side_faces().into_iter().chain(end_faces().into_iter().filter(|_| !open)).collect();
        let stage = Stage::new(&raw(vec![piece(&places(), faces)]));
        let surface = &stage.surface;
        assert!(surface.encloses());
        assert_eq!(surface.first_sheet - surface.first_cap, if open { 32 } else { 0 });
        let mut body = stage.bent(70.0);
        body.differentiate(surface);
        let mut random = Random(5);
        for node in (0..256).step_by(5) {
            for axis in 0..3 {
                let moved = |step: f64| {
                    let mut points = body.points.clone();
                    points[node][axis] += step;
                    surface.place_apexes(&mut points);
                    volume(surface.shell(), &points)
                };
                // V is linear in one coordinate of one node, apexes included: any step will do.
                let difference = (moved(0.5) - moved(-0.5)) / 1.0;
                assert!((difference - body.gradients[node][axis]).abs() < 1e-11, "{node}.{axis}");
            }
        }
        let mut moves: Vec<DVec3> = (0..256).map(|_| random.direction() * 0.2).collect();
        surface.place_apexes(&mut moves);
        let [c1, c2, c3] = cubic(surface.shell(), &body.points, &moves);
        let at = |factor: f64| {
            let points: Vec<DVec3> = body.points.iter().zip(&moves).map(|(&p, &w)| p + w * factor).collect();
            volume(surface.shell(), &points)
        };
        for factor in [-2.0, -0.3, 0.7, 1.0, 3.0] {
            let expected = at(factor) - at(0.0);
            let found = ((c3 * factor + c2) * factor + c1) * factor;
            assert!((found - expected).abs() < 1e-11, "{found} {expected}");
        }
    }
}

#[test]
fn roots_are_the_first_ones() {
    let mut random = Random(11);
    let mut found = 0;
    for _ in 0..20_000 {
        let c = [random.unit() * 3.0 - 1.0, random.unit() * 8.0 - 4.0, random.unit() * 8.0 - 4.0];
        let value = |x: f64| ((c[2] * x + c[1]) * x + c[0]) * x - 1.0;
        let sampled = (0..=3000).map(|k| f64::from(k) * 5e-4).find(|&x| value(x) >= 0.0);
        match first_root(c) {
            Ok(root) => {
                found += 1;
                assert!(value(root).abs() < 1e-12 && root > 0.0 && root <= 1.5);
                // Between two samples the cubic may touch 0 and turn back.
                assert!(sampled.is_none_or(|first| root <= first + 1e-9), "{c:?}");
            }
            Err(turning) => assert!(sampled.is_none() && turning > 0.0, "{c:?}"),
        }
    }
    assert!(found > 5_000, "{found}");
    assert!((first_root([1.0, 0.0, 0.0]).unwrap() - 1.0).abs() < 1e-15);
}

#[test]
fn prisms_close_and_their_terms_agree_with_moved_corners() {
    let mut random = Random(3);
    for _ in 0..200 {
        let mut triangle = || std::array::from_fn(|_| random.direction() * 2.0);
        let (rest, deformed): ([DVec3; 3], [DVec3; 3]) = (triangle(), triangle());
        let found = prism(rest, deformed);
        // By the surface itself, quads split in four at their centroids.
        let mut faces = vec![deformed, [rest[0], rest[2], rest[1]]];
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            let quad = [rest[i], rest[j], deformed[j], deformed[i]];
            let middle = quad.iter().sum::<DVec3>() / 4.0;
            faces.extend((0..4).map(|k| [quad[k], quad[(k + 1) % 4], middle]));
        }
        let direct: f64 = faces.iter().map(|[a, b, c]| a.dot(b.cross(*c)) / 6.0).sum();
        assert!((found - direct).abs() < 1e-12);
        let moves: [DVec3; 3] = triangle();
        let terms = prism_terms(rest, deformed, moves);
        let at = |factors: [f64; 3]| {
            prism(rest, std::array::from_fn(|corner| deformed[corner] + moves[corner] * factors[corner]))
        };
        for factors in [[0.0; 3], [-0.7, 1.3, 0.4], [1.0, 0.0, -2.0], [0.3, -0.6, 1.7]] {
            let (value, slopes) = terms_at(&terms, factors);
            assert!((value - at(factors)).abs() < 1e-12);
            for corner in 0..3 {
                // Linear in one factor: any step will do.
                let moved = |step: f64| at(std::array::from_fn(|k| factors[k] + if k == corner { step } else { 0.0 }));
                assert!((moved(0.5) - moved(-0.5) - slopes[corner]).abs() < 1e-12);
            }
        }
    }
    let [a, b, c] = [DVec3::ZERO, DVec3::X, DVec3::Y];
    assert!((prism([a, b, c], [a, b, c].map(|p| p + DVec3::Z * 2.0)) - 1.0).abs() < 1e-15);
}

#[test]
fn segments_are_restored_and_the_whole_is_near() {
    let stage = Stage::cylinder();
    let lu = SparseLu::new(&stage.surface.segment_neighbours);
    for shape in [Shape::Muscle, Shape::Bulge, Shape::Rubber, Shape::Organic] {
        let gamma = stage.gamma(shape, 1.0, 1.0);
        for degrees in [10.0, 50.0, 90.0, 150.0] {
            let mut body = stage.bent(degrees);
            let rest = target_volume(&stage.surface, &mut body);
            let before = volume(stage.surface.shell(), &body.points) / rest - 1.0;
            let mut scratch = SegmentScratch::default();
            restore_segments(&stage.surface, &mut body, &gamma, &EXACT, &lu, &mut scratch);
            for (segment, report) in scratch.reports.iter().enumerate() {
                let left = change(&stage.surface, &body, segment, &body.points);
                assert!(left.abs() < 1e-9 * rest, "{shape:?} {degrees}°: {report:?}");
                assert_eq!(report.outcome, Outcome::Restored);
                assert!(report.before < -1e-5 * rest);
            }
            let after = volume(stage.surface.shell(), &body.points) / rest - 1.0;
            // Maps that do not vanish where segments meet leave steps there.
            let fades = matches!(shape, Shape::Muscle | Shape::Bulge);
            assert!(after.abs() < if fades { 0.05 } else { 0.2 } * before.abs(), "{shape:?} {degrees}°: {after}");
            if shape == Shape::Muscle && degrees <= 90.0 {
                assert!(after.abs() < 2e-3, "{degrees}°: {after}");
            }
            let exact = restore(&stage.surface, &mut body, &gamma, &EXACT);
            assert_eq!(exact.outcome, Outcome::Restored);
            assert!((exact.after / rest - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn small_bends_change_the_sum_of_the_segments_by_what_they_change_the_whole() {
    let stage = Stage::cylinder();
    let mut body = stage.bent(1.0);
    let whole = volume(stage.surface.shell(), &body.points) - target_volume(&stage.surface, &mut body);
    let sum: f64 = (0..2).map(|segment| change(&stage.surface, &body, segment, &body.points)).sum();
    assert!((sum / whole - 1.0).abs() < 0.2, "{sum} {whole}");
}

/// 400 poses and maps; all 10,000 if `SINEW_FULL` is set.
#[test]
fn random_poses_and_maps_are_restored() {
    let stage = Stage::cylinder();
    let lu = SparseLu::new(&stage.surface.segment_neighbours);
    let mut random = Random(2008);
    let count = if std::env::var_os("SINEW_FULL").is_some() { 10_000 } else { 400 };
    let mut missed = Vec::new();
    let mut segments_missed = 0;
    for case in 0..count {
        let rotation = DQuat::from_axis_angle(random.direction(), random.unit() * 0.95 * std::f64::consts::PI);
        let shape = [Shape::Even, Shape::Rubber, Shape::Organic, Shape::Muscle, Shape::Bulge][case % 5];
        let mut gamma = stage.gamma(shape, random.unit() * 3.0, random.unit() * 3.0);
        if case % 2 == 0 {
            gamma.iter_mut().for_each(|gamma| *gamma *= random.unit());
        }
        let mut body = stage.body(rotation, DAffine3::IDENTITY);
        let done = restore(&stage.surface, &mut body, &gamma, &EXACT);
        let error = volume(stage.surface.shell(), &body.points) / done.target - 1.0;
        assert!(body.points.iter().all(|p| p.is_finite()));
        match done.outcome {
            Outcome::Restored => assert!(error.abs() < 1e-10, "case {case}: {error}"),
            _ => missed.push((case, done)),
        }
        let mut body = stage.body(rotation, DAffine3::IDENTITY);
        let mut scratch = SegmentScratch::default();
        restore_segments(&stage.surface, &mut body, &gamma, &EXACT, &lu, &mut scratch);
        assert!(body.points.iter().all(|p| p.is_finite()));
        for (segment, report) in scratch.reports.iter().enumerate() {
            let left = change(&stage.surface, &body, segment, &body.points) / done.target;
            match report.outcome {
                Outcome::Restored => assert!(left.abs() < 1e-8, "case {case}: {report:?}"),
                _ => segments_missed += 1,
            }
        }
    }
    assert!(missed.len() * 200 <= count, "{} of {count}: {missed:#?}", missed.len());
    assert!(segments_missed * 20 <= 2 * count, "{segments_missed} of {} segments", 2 * count);
}

#[test]
fn place_turn_and_size_change_nothing() {
    let stage = Stage::cylinder();
    let lu = SparseLu::new(&stage.surface.segment_neighbours);
    let gamma = stage.gamma(Shape::Bulge, 1.0, 1.0);
    let run = |whole: DAffine3| {
        let mut body = stage.body(DQuat::from_rotation_z(1.9), whole);
        body.size *= whole.matrix3.determinant().abs().cbrt();
        let mut scratch = SegmentScratch::default();
        restore_segments(&stage.surface, &mut body, &gamma, &EXACT, &lu, &mut scratch);
        let done = restore(&stage.surface, &mut body, &gamma, &EXACT);
        assert_eq!(done.outcome, Outcome::Restored);
        let centre = body.centre();
        body.points.iter().map(|&p| p + centre).collect::<Vec<_>>()
    };
    let still = run(DAffine3::IDENTITY);
    let turn = DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -1.0).normalize(), 2.0));
    for scale in [0.003, 1.0, 40.0] {
        let whole = DAffine3 { matrix3: turn * scale, translation: DVec3::new(7.0, -3.0, 5.0) * scale };
        for (a, b) in run(whole).iter().zip(&still) {
            assert!(a.distance(whole.transform_point3(*b)) < 1e-9 * scale);
        }
    }
}

#[test]
fn skins_that_share_a_border_are_one_body_and_sheets_have_no_inside() {
    let cylinder = Stage::cylinder();
    let faces: Vec<_> = side_faces().into_iter().chain(end_faces()).collect();
    let (lower, upper): (Vec<_>, Vec<_>) = faces.into_iter().partition(|face| face.iter().all(|&v| v < 144));
    // Vertices without faces would be nodes of their own.
    let lower = piece(&places()[..144], lower);
    let upper = piece(&places()[128..], upper.into_iter().map(|face| face.map(|v| v - 128)).collect());
    let two = Stage::new(&raw(vec![lower, upper]));
    assert_eq!(two.surface.nodes(), 256);
    assert_eq!(two.surface.first_cap, two.surface.first_sheet);
    let mut bodies = [cylinder.bent(80.0), two.bent(80.0)];
    let volumes = [volume(cylinder.surface.shell(), &bodies[0].points), volume(two.surface.shell(), &bodies[1].points)];
    assert!((volumes[0] / volumes[1] - 1.0).abs() < 1e-13, "{volumes:?}");
    let targets = [&cylinder, &two].map(|stage| stage.surface.clone());
    let targets: Vec<f64> = targets.iter().zip(&mut bodies).map(|(s, body)| target_volume(s, body)).collect();
    assert!((targets[0] / targets[1] - 1.0).abs() < 1e-13, "{targets:?}");

    // Half a tube is a gutter.
    let gutter: Vec<_> = side_faces().into_iter().filter(|f| f.iter().all(|&v| v % 16 <= 6)).collect();
    let stage = Stage::new(&raw(vec![piece(&places(), gutter)]));
    assert!(!stage.surface.encloses());
    let mut body = stage.bent(60.0);
    let mut scratch = SegmentScratch::default();
    let lu = SparseLu::new(&stage.surface.segment_neighbours);
    let gamma = stage.gamma(Shape::Bulge, 1.0, 1.0);
    restore_segments(&stage.surface, &mut body, &gamma, &EXACT, &lu, &mut scratch);
    assert!(scratch.reports.iter().all(|report| report.outcome == Outcome::Restored && report.before != 0.0));
    assert!((0..2).all(|segment| change(&stage.surface, &body, segment, &body.points).abs() < 1e-9));
}

#[test]
fn segments_add_up_to_the_whole() {
    let Stage { surface, .. } = Stage::cylinder();
    let parts = [0, 1].map(|segment| surface.segment_volume(segment));
    assert!(((parts[0] + parts[1]) / surface.bind_volume - 1.0).abs() < 1e-12, "{parts:?}");
    assert!(parts.iter().all(|part| (part / surface.bind_volume - 0.5).abs() < 0.05), "{parts:?}");
}

#[test]
fn a_local_correction_stays_where_the_bones_bend() {
    let stage = Stage::cylinder();
    let gamma = stage.gamma(Shape::Even, 1.0, 1.0);
    for (local, rigid_part_moves) in [(0.0, true), (1.0, false)] {
        let mut body = stage.bent(70.0);
        let done = restore(&stage.surface, &mut body, &gamma, &Limits { local, ..EXACT });
        assert_eq!(done.outcome, Outcome::Restored);
        assert!((volume(stage.surface.shell(), &body.points) / done.target - 1.0).abs() < 1e-12);
        let rigid = (0..256).filter(|&node| stage.surface.main_weight[node] == 1.0);
        let moved = rigid.map(|node| body.moved(node).length()).fold(0.0, f64::max);
        assert_eq!(moved > 1e-3, rigid_part_moves, "{moved}");
    }
}

#[test]
fn the_bound_holds_and_is_told() {
    let stage = Stage::cylinder();
    let gamma = stage.gamma(Shape::Rubber, 1.0, 1.0);
    let mut body = stage.bent(120.0);
    let done = restore(&stage.surface, &mut body, &gamma, &Limits { max_move: 0.02, ..EXACT });
    assert_eq!(done.outcome, Outcome::MoveBound);
    assert!(done.after > done.before && done.after < done.target);
    assert!((body.largest_move() / (0.02 * body.size) - 1.0).abs() < 1e-9);
    let nothing = restore(&stage.surface, &mut stage.bent(120.0), &vec![0.0; 256], &EXACT);
    assert_eq!(nothing.outcome, Outcome::NothingMayMove);
    assert_eq!(nothing.after, nothing.before);
}

/// A frame of a stage in rows: its upper bone turned, in linear blending.
fn blended(stage: &Stage, transforms: [DAffine3; 2]) -> (Vec<DAffine3>, Points) {
    let rig = &stage.rig;
    let palette = rig.palette().iter().map(|entry| transforms[entry.bone.index().min(1)]).collect();
    let mut points = Points::zeros(rig.rows().len());
    for slot in 0..rig.rows().len() * LANES {
        let p = rig.rest().get(slot).as_dvec3();
        let ends = transforms.map(|transform| transform.transform_point3(p));
        points.set(slot, ends[0].lerp(ends[1], second_weight(p)).as_vec3());
    }
    (palette, points)
}

/// Closed, open at both ends, of two skins, with a sheet, a sheet alone; at rest of another shape; then the whole.
#[test]
fn segments_of_rows_are_restored_like_those_of_nodes() {
    let faces: Vec<_> = side_faces().into_iter().chain(end_faces()).collect();
    let (lower, upper): (Vec<_>, Vec<_>) = faces.iter().copied().partition(|face| face.iter().all(|&v| v < 144));
    let lower = piece(&places()[..144], lower);
    let upper = piece(&places()[128..], upper.into_iter().map(|face| face.map(|v| v - 128)).collect());
    let gutter: Vec<_> = side_faces().into_iter().filter(|f| f.iter().all(|&v| v % 16 <= 6)).collect();
    let wider: Vec<DVec3> = places().iter().map(|&p| p * DVec3::new(1.5, 1.0, 1.5)).collect();
    let stages = [
        vec![piece(&places(), faces.clone())],
        vec![piece(&places(), side_faces())],
        vec![lower, upper],
        vec![piece(&places(), faces.clone()), piece(&wider, gutter.clone())],
        vec![piece(&places(), side_faces()), piece(&wider, gutter.clone())],
        vec![piece(&wider, gutter)],
    ];
    for (kind, stage) in stages.into_iter().map(|pieces| Stage::new(&raw(pieces))).enumerate() {
        let (rig, surface) = (&stage.rig, &stage.surface);
        let lu = SparseLu::new(&surface.segment_neighbours);
        let plan = MapPlan {
            shape: Shape::Organic,
            is_plain: true,
            alpha: 1.0,
            beta: 1.0,
            painted: None,
            bones_of: &|_| None,
        };
        let gamma = CorrectionMap::new(rig, surface, &plan).gamma;
        let (rows, mut shares) = (VolumeRows::new(rig, surface, true), Shares::default());
        shares.set(&rows, surface, &gamma);
        let (mut scratch, mut reports) = (VolumeScratch::default(), [(); 2].map(|()| SegmentScratch::default()));
        for degrees in [0.5f64, 20.0, 90.0, 150.0, 180.0] {
            let bounded = Limits { max_move: 0.01, ..EXACT };
            let half = Limits { gain: 0.5, ..EXACT };
            for (limits, morphs) in [(EXACT, false), (EXACT, true), (LINEAR, false), (bounded, false), (half, false)] {
                let turn = if degrees == 180.0 { DQuat::from_rotation_y } else { DQuat::from_rotation_z };
                let (palette, points) =
                    blended(&stage, [DAffine3::IDENTITY, DAffine3::from_quat(turn(degrees.to_radians()))]);
                let mut morphed = rig.rest().clone();
                for slot in 0..rig.rows().len() * LANES {
                    let p = morphed.get(slot);
                    morphed.set(slot, p * (1.0 + 0.1 * (3.0 * p.y).sin()));
                }
                let frame = |points| BodyFrame {
                    rig,
                    world_from_rest: &palette,
                    morphed_rest: morphs.then_some(&morphed),
                    effects_rest: true,
                    reach: Reach::Whole,
                    points,
                };
                let mut body = Body::default();
                body.pose(surface, &frame(&points));
                let target = target_volume(surface, &mut body);
                let mut in_rows = points.clone();
                let how = RowsFrame { rig, world_from_rest: &palette, level: Level::new(), pool: None };
                let mut taken = rows.take(&shares, surface, &mut body, &how, &mut in_rows, &mut scratch).unwrap();
                assert!(segments::restore_segments(&mut taken, surface, &limits, &lu, &mut reports[0]));
                let whole = surface.encloses().then(|| taken.restore(target, &limits).unwrap());
                let mut moved = Vec::new();
                taken.store(&mut moved);

                let mut body = Body::default();
                body.pose(surface, &frame(&points));
                assert!(body.load(surface, &frame(&points)));
                let before = body.volume(surface);
                restore_segments(surface, &mut body, &gamma, &limits, &lu, &mut reports[1]);
                let size = body.size;
                let volume = surface.segments.iter().map(|segment| segment.reach.powi(3)).sum::<f64>();
                let case = |segment: usize| {
                    format!("{kind} at {degrees}°: {:?} {:?}", reports[0].reports[segment], reports[1].reports[segment])
                };
                for (segment, expected) in reports[1].reports.iter().enumerate() {
                    let found = &reports[0].reports[segment];
                    assert_eq!(found.outcome, expected.outcome, "{}", case(segment));
                    assert!((found.before - expected.before).abs() < 2e-7 * volume, "{}", case(segment));
                    assert!((found.after - expected.after).abs() < 2e-7 * volume, "{}", case(segment));
                }
                if let Some(whole) = whole {
                    let expected = restore(surface, &mut body, &gamma, &limits);
                    assert_eq!(whole.outcome, expected.outcome, "{kind} at {degrees}°: {whole:?} {expected:?}");
                    assert!((whole.before - before).abs() < 3e-7 * expected.target.abs(), "{whole:?} {before}");
                    assert!((whole.after - expected.after).abs() < 3e-7 * expected.target.abs(), "{whole:?}");
                }
                for (segment, found) in moved.iter().enumerate() {
                    let nodes = surface.segment_nodes.of(segment).iter();
                    let expected = nodes.map(|&node| body.moved(node as usize).length()).fold(0.0, f64::max);
                    assert!((found - expected).abs() < 1e-3 * expected + 2e-6 * size, "{}", case(segment));
                }
                let mut in_nodes = points.clone();
                body.store(surface, &mut in_nodes);
                for slot in 0..rig.rows().len() * LANES {
                    let apart = in_rows.get(slot).distance(in_nodes.get(slot));
                    assert!(f64::from(apart) < 4e-6 * size, "{}: slot {slot} by {apart}", case(0));
                }
            }
        }
    }
}

/// Closed, open at both ends, of two skins; with and without effects, by one and by many rounds.
#[test]
fn rows_are_restored_like_nodes() {
    let faces: Vec<_> = side_faces().into_iter().chain(end_faces()).collect();
    let (lower, upper): (Vec<_>, Vec<_>) = faces.iter().copied().partition(|face| face.iter().all(|&v| v < 144));
    let lower = piece(&places()[..144], lower);
    let upper = piece(&places()[128..], upper.into_iter().map(|face| face.map(|v| v - 128)).collect());
    let stages = [vec![piece(&places(), faces)], vec![piece(&places(), side_faces())], vec![lower, upper]];
    for (kind, stage) in stages.into_iter().map(|pieces| Stage::new(&raw(pieces))).enumerate() {
        let (rig, surface) = (&stage.rig, &stage.surface);
        let gamma = stage.gamma(Shape::Organic, 1.0, 1.0);
        let (rows, mut shares) = (VolumeRows::new(rig, surface, false), Shares::default());
        shares.set(&rows, surface, &gamma);
        let mut scratch = VolumeScratch::default();
        for degrees in [0.5f64, 20.0, 90.0, 150.0, 180.0] {
            let bounded = Limits { max_move: 0.01, ..EXACT };
            let all = [(EXACT, true), (Limits { local: 1.0, ..EXACT }, false), (LINEAR, false), (bounded, false)];
            for (limits, effects) in all {
                let turn = if degrees == 180.0 { DQuat::from_rotation_y } else { DQuat::from_rotation_z };
                let (palette, points) =
                    blended(&stage, [DAffine3::IDENTITY, DAffine3::from_quat(turn(degrees.to_radians()))]);
                let frame = |points| BodyFrame {
                    rig,
                    world_from_rest: &palette,
                    morphed_rest: None,
                    effects_rest: !effects,
                    reach: Reach::Whole,
                    points,
                };
                let mut body = Body::default();
                body.pose(surface, &frame(&points));
                let mut in_rows = points.clone();
                let how = RowsFrame { rig, world_from_rest: &palette, level: Level::new(), pool: None };
                let target = target_volume(surface, &mut body);
                let mut taken = rows.take(&shares, surface, &mut body, &how, &mut in_rows, &mut scratch).unwrap();
                let found = taken.restore(target, &limits).unwrap();
                let largest = taken.store(&mut Vec::new());
                let mut body = Body::default();
                body.pose(surface, &frame(&points));
                assert!(body.load(surface, &frame(&points)));
                let expected = restore(surface, &mut body, &gamma, &limits);
                let mut in_nodes = points.clone();
                body.store(surface, &mut in_nodes);
                let case = format!("{kind} at {degrees}°: {found:?} {expected:?}");
                assert_eq!(found.outcome, expected.outcome, "{case}");
                let (volume, size) = (expected.target.abs(), body.size);
                for (a, b) in
                    [(found.target, expected.target), (found.before, expected.before), (found.after, expected.after)]
                {
                    assert!((a - b).abs() < 3e-7 * volume, "{case}");
                }
                assert!((largest - body.largest_move()).abs() < 1e-4 * body.largest_move() + 1e-6 * size, "{case}");
                for slot in 0..rig.rows().len() * LANES {
                    let apart = in_rows.get(slot).distance(in_nodes.get(slot));
                    assert!(f64::from(apart) < 2e-6 * size, "{case}: slot {slot} by {apart}");
                }
                let mut again = Body::default();
                again.pose(surface, &frame(&in_rows));
                assert!(again.load(surface, &frame(&in_rows)));
                assert!((again.volume(surface) / found.after - 1.0).abs() < 3e-7, "{case} {}", again.volume(surface));
            }
        }
    }
}

#[test]
fn faces_on_the_inside_of_a_bend_fold_when_they_should() {
    let stage = Stage::cylinder();
    let smallest = |body: &Body| {
        let mut smallest = f64::INFINITY;
        let at = |node: u32| body.points[node as usize];
        stage.surface.folds.measure(&stage.surface, body, at, |_, r| smallest = smallest.min(r));
        smallest
    };
    // Weights change over 2L = 4 on a tube of radius 1.
    for degrees in [0.0f64, 60.0, 90.0, 120.0, 150.0] {
        let expected = 1.0 - 0.5 * (0.5 * degrees.to_radians()).tan();
        let found = smallest(&stage.bent(degrees));
        assert!(
            (found - expected).abs() < 0.08 * (1.0 + (1.0 - expected)),
            "{degrees}°: {found} instead of {expected}"
        );
    }
    let twisted = stage.body(DQuat::from_rotation_y(2.4), DAffine3::IDENTITY);
    assert!(smallest(&twisted) > 0.8, "a twist folds nothing: {}", smallest(&twisted));
}

#[test]
fn moves_are_stretched_to_what_they_may_do_and_no_farther() {
    let mut random = Random(7);
    for _ in 0..50 {
        let moves: Vec<(f64, f64, f64)> =
            (0..40).map(|_| (0.2 + random.unit(), 0.1 + random.unit(), 0.05 + random.unit())).collect();
        // All of them are longer than a tenth of the longest, but for one.
        let all: f64 = moves.iter().map(|&(length, does, most)| does / length * most).sum();
        let idle = (1e-9, 1e-9, 1.0);
        for (part, there) in [(-0.5, true), (0.01, true), (0.75, true), (0.85, false), (3.0, false)] {
            let (stretch, aimed) = Stretch::new(part * all, moves.iter().copied().chain([idle]));
            let done: f64 = moves.iter().map(|&(length, does, most)| does * stretch.of(length, most)).sum();
            let expected = if there { part } else { 0.8 };
            assert_eq!(aimed, if there { Aimed::There } else { Aimed::Short });
            assert!((done / all - expected).abs() < 1e-4, "{done} of {all} instead of {expected}");
            assert!(stretch.of(idle.0, idle.2) * idle.0 < 1e-6);
            assert!(moves.iter().all(|&(length, _, most)| stretch.of(length, most).abs() * length <= most));
        }
    }
}
