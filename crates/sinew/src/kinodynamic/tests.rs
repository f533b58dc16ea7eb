//! Oracles of the kinematic part (KD 4), on a closed tube of length 8R with two bones.
#![allow(clippy::print_stdout, reason = "the figures are read by hand")]

use super::fold_over_free::{Anatomy, Method, Passage, PointScratch, SkinPoint};
use super::pose_path::Joint;
use super::tissue::Limb;
use crate::bvh::Bvh;
use crate::simd::Level;
use glam::{DAffine3, DMat3, DVec3};
use std::f64::consts::TAU;

/// A closed tube about the y axis, R = `scale`, from y = 0 to 8R.
struct Tube {
    points: Vec<DVec3>,
    triangles: Vec<[usize; 3]>,
}

impl Tube {
    fn new(rings: usize, around: usize, scale: f64) -> Self {
        let mut points = vec![DVec3::ZERO, DVec3::Y * (8.0 * scale)];
        for ring in 0..rings {
            let y = 8.0 * ring as f64 / (rings - 1) as f64;
            for k in 0..around {
                let (s, c) = (TAU * k as f64 / around as f64).sin_cos();
                points.push(DVec3::new(c, y, -s) * scale);
            }
        }
        let at = |ring: usize, k: usize| 2 + ring * around + k % around;
        let mut triangles = Vec::new();
        for k in 0..around {
            triangles.push([0, at(0, k + 1), at(0, k)]);
            triangles.push([1, at(rings - 1, k), at(rings - 1, k + 1)]);
            for ring in 0..rings - 1 {
                let [a, b, c, d] = [at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        Self { points, triangles }
    }

    fn volume(&self, points: &[DVec3]) -> f64 {
        let part = |&[a, b, c]: &[usize; 3]| points[a].dot(points[b].cross(points[c])) / 6.0;
        self.triangles.iter().map(part).sum()
    }

    /// Edges that pass through a triangle they do not touch.
    fn crossings(&self, points: &[DVec3]) -> usize {
        let corners = |t: u32| self.triangles[t as usize].map(|corner| points[corner]);
        let boxed = |t: usize| {
            let [a, b, c] = corners(t as u32);
            (a.min(b).min(c), a.max(b).max(c))
        };
        let bvh = Bvh::new(&(0..self.triangles.len()).map(boxed).collect::<Vec<_>>());
        let crosses = |u: usize, v: usize| {
            let (p, q) = (points[u], points[v]);
            let hit = |t: u32| {
                if self.triangles[t as usize].iter().any(|corner| [u, v].contains(corner)) {
                    return None;
                }
                let [a, b, c] = corners(t);
                let side = |x: DVec3, y: DVec3| (q - p).dot((x - p).cross(y - p));
                let sides = [side(a, b), side(b, c), side(c, a)];
                let normal = (b - a).cross(c - a);
                let through = sides.iter().all(|&s| s > 0.0) || sides.iter().all(|&s| s < 0.0);
                through.then(|| (a - p).dot(normal) / (q - p).dot(normal)).filter(|t| (0.0..=1.0).contains(t))
            };
            bvh.first_hit(p, q - p, hit).is_some()
        };
        let edges = self.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
        edges.filter(|&(u, v)| u < v && crosses(u, v)).count()
    }
}

fn anatomy(scale: f64, alpha: f64, beta: f64) -> Anatomy {
    let at = |y: f64| DVec3::Y * (y * scale);
    let joints = vec![
        Joint { parent: None, bind: DAffine3::IDENTITY },
        Joint { parent: Some(0), bind: DAffine3::from_translation(at(4.0)) },
    ];
    let limb = |joint, from, to| {
        let limb = Limb::new(joint, &[(at(from), at(to))], scale).unwrap();
        limb.with_volume(alpha, beta)
    };
    Anatomy::new(joints, vec![limb(0, 0.0, 4.0), limb(1, 4.0, 8.0)]).unwrap()
}

fn bent(scale: f64, degrees: f64) -> [DAffine3; 2] {
    let root = DAffine3::IDENTITY;
    [root, DAffine3::from_translation(DVec3::Y * (4.0 * scale)) * DAffine3::from_rotation_z(degrees.to_radians())]
}

fn way(anatomy: &Anatomy, world: &[DAffine3], method: Method, steps: f64) -> Passage<f64> {
    let mut passage = Passage::default();
    passage.lay(anatomy, world, method, steps);
    passage
}

fn carry_all(anatomy: &Anatomy, passage: &Passage<f64>, points: &[DVec3]) -> Vec<DVec3> {
    let mut points = points.to_vec();
    passage.carry_all(anatomy, &anatomy.everywhere(), Level::new(), &mut points, &mut PointScratch::default());
    points
}

fn carry(anatomy: &Anatomy, passage: &Passage<f64>, p: DVec3) -> DVec3 {
    carry_all(anatomy, passage, &[p])[0]
}

/// Smallest determinant of the Jacobian over points, by central differences.
fn smallest_determinant(map: &mut dyn FnMut(DVec3) -> DVec3, points: &[DVec3], h: f64) -> f64 {
    let mut determinant = |p: DVec3| {
        let column =
            |axis: DVec3, map: &mut dyn FnMut(DVec3) -> DVec3| (map(p + axis * h) - map(p - axis * h)) / (2.0 * h);
        DMat3::from_cols(column(DVec3::X, map), column(DVec3::Y, map), column(DVec3::Z, map)).determinant()
    };
    points.iter().map(|&p| determinant(p)).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_tube_bent_by_150_degrees_does_not_fold_over() {
    let tube = Tube::new(65, 24, 1.0);
    let world = bent(1.0, 150.0);
    for (alpha, beta) in [(0.0, 0.0), (0.5, 0.5)] {
        let anatomy = anatomy(1.0, alpha, beta);
        let passage = way(&anatomy, &world, Method::SecondOrder, 8.0);
        let smallest = smallest_determinant(&mut |p| carry(&anatomy, &passage, p), &tube.points, 1e-5);
        let crossings = tube.crossings(&carry_all(&anatomy, &passage, &tube.points));
        println!("alpha {alpha} beta {beta}: smallest determinant {smallest:.4}, crossings {crossings}");
        assert!(smallest > 0.03 || alpha > 0.0 && smallest > 0.0, "{alpha} {beta}: {smallest}");
        assert_eq!(crossings, 0);
    }
    // Linear blending by the same weights folds over: one step of the paper's.
    let anatomy = anatomy(1.0, 0.0, 0.0);
    let linear = way(&anatomy, &world, Method::Euler, 1.0);
    let smallest = smallest_determinant(&mut |p| carry(&anatomy, &linear, p), &tube.points, 1e-5);
    let crossings = tube.crossings(&carry_all(&anatomy, &linear, &tube.points));
    println!("linear blending: {smallest:.4}, crossings {crossings}");
    assert!(smallest < 0.0);
    // Weights kept per vertex lose the guarantee whatever the steps: each point turns by its share of the whole angle.
    let joint = DVec3::Y * 4.0;
    let mut kept = |p: DVec3| {
        let square = |low: f64, high: f64| p.distance_squared(DVec3::Y * p.y.clamp(low, high)) + 0.36;
        let [a, b] = [square(0.0, 4.0), square(4.0, 8.0)].map(|s| s.powi(-2));
        joint + DMat3::from_rotation_z(150.0_f64.to_radians() * b / (a + b)) * (p - joint)
    };
    let smallest = smallest_determinant(&mut kept, &tube.points, 1e-5);
    println!("weights kept per vertex: {smallest:.4}");
    assert!(smallest < 0.0);
}

/// Table of relative volume errors over 4, 8, 16, 32 steps.
fn volume_errors(tube: &Tube, method: Method) -> Vec<f64> {
    let anatomy = anatomy(1.0, 0.5, 0.5);
    let rest = tube.volume(&tube.points);
    let error = |steps: u32| {
        let passage = way(&anatomy, &bent(1.0, 90.0), method, f64::from(steps));
        tube.volume(&carry_all(&anatomy, &passage, &tube.points)) / rest - 1.0
    };
    [4, 8, 16, 32].map(error).to_vec()
}

#[test]
fn volume_is_kept_at_90_degrees_with_the_order_of_the_method() {
    let tube = Tube::new(100, 64, 1.0);
    let converged = volume_errors(&tube, Method::RungeKutta)[3];
    println!("floor of the mesh {converged:e}");
    assert!(converged.abs() < 3e-4);
    for (method, low, limits) in [(Method::Euler, 0.85, [0.04, 0.01]), (Method::SecondOrder, 1.7, [1e-3, 3e-4])] {
        let errors = volume_errors(&tube, method);
        let orders: Vec<f64> =
            errors.windows(2).map(|e| ((e[0] - converged) / (e[1] - converged)).abs().log2()).collect();
        println!("{method:?}: errors {errors:.6?}, orders {orders:.2?}");
        assert!(errors[1].abs() <= limits[0] && errors[3].abs() <= limits[1], "{method:?} {errors:?}");
        assert!(orders.iter().all(|&order| order >= low), "{method:?} {orders:?}");
    }
}

#[test]
fn the_velocity_is_divergence_free_where_alpha_and_beta_sum_to_one() {
    // Three joints, one of which slides as it turns, the last with a parent that has turned.
    let at = |y: f64| DAffine3::from_translation(DVec3::new(0.1 * y, y, 0.0));
    let joints = vec![
        Joint { parent: None, bind: at(0.0) },
        Joint { parent: Some(0), bind: at(2.0) },
        Joint { parent: Some(1), bind: at(4.0) },
    ];
    let world = [
        at(0.0),
        at(2.2) * DAffine3::from_rotation_z(0.9) * DAffine3::from_rotation_y(0.4),
        at(2.2) * DAffine3::from_rotation_z(0.9) * at(2.0) * DAffine3::from_rotation_x(1.1),
    ];
    let line = |joint: usize| {
        let from = joints[joint].bind.translation;
        [(from, from + DVec3::new(0.2, 2.0, 0.0))]
    };
    for (shares, free) in [
        ([(0.5, 0.5), (0.5, 0.5), (0.5, 0.5)], true),
        ([(0.2, 0.8), (0.9, 0.1), (0.5, 0.5)], true),
        ([(0.0, 0.0); 3], false),
    ] {
        let limb = |joint: usize| {
            let (alpha, beta) = shares[joint];
            Limb::new(joint, &line(joint), 0.8).unwrap().with_volume(alpha, beta)
        };
        let anatomy = Anatomy::new(joints.clone(), (0..3).map(limb).collect()).unwrap();
        let (size, mut scratch) = (6.0, PointScratch::<f64>::default());
        let h = 1e-4 * size;
        let (mut largest, mut divergence): (f64, f64) = (0.0, 0.0);
        for l in [0.0, 0.3, 0.8] {
            for k in 0..200 {
                let angle = f64::from(k) * 2.4;
                let radius = 0.3 + 0.9 * f64::from(k % 7) / 6.0;
                let p = DVec3::new(radius * angle.cos(), 6.0 * f64::from(k) / 200.0, radius * angle.sin());
                let mut velocity = |p: DVec3| Passage::velocity(&anatomy, &world, l, p, &mut scratch);
                // Fourth order, so that the difference itself does not hide what is looked for.
                let mut slope = |axis: DVec3| {
                    let near = velocity(p + axis * h) - velocity(p - axis * h);
                    let far = velocity(p + axis * (2.0 * h)) - velocity(p - axis * (2.0 * h));
                    (near * 8.0 - far) / (12.0 * h)
                };
                let gradient = DMat3::from_cols(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z));
                let norm = gradient.to_cols_array().iter().map(|g| g * g).sum::<f64>().sqrt();
                let trace = gradient.x_axis.x + gradient.y_axis.y + gradient.z_axis.z;
                largest = largest.max(norm);
                divergence = divergence.max(trace.abs());
            }
        }
        println!("{shares:?}: divergence {:.2e} of the largest gradient", divergence / largest);
        assert_eq!(divergence < 1e-6 * largest, free, "{shares:?}: {divergence:e} of {largest}");
    }
}

#[test]
fn scale_changes_nothing_but_the_scale() {
    let (small, large) = (Tube::new(20, 8, 1.0), Tube::new(20, 8, 100.0));
    let run = |scale: f64, tube: &Tube| {
        let anatomy = anatomy(scale, 0.3, 0.6);
        let passage = way(&anatomy, &bent(scale, 120.0), Method::SecondOrder, 8.0);
        carry_all(&anatomy, &passage, &tube.points)
    };
    for (a, b) in run(1.0, &small).iter().zip(run(100.0, &large)) {
        assert!((*a * 100.0 - b).length() < 1e-9);
    }
}

#[test]
fn frames_in_f32_are_those_in_f64() {
    // A chain of many joints, of characters as small and as large as they come, far from the origin.
    for scale in [0.02, 200.0] {
        let at = |y: f64| DVec3::new(9.0, y, -4.0) * scale;
        let step = 8.0 / 19.0;
        let origin = |joint: usize| at(step * joint as f64);
        let parent = |joint: usize| joint.checked_sub(1);
        let joint = |joint: usize| Joint { parent: parent(joint), bind: DAffine3::from_translation(origin(joint)) };
        let limb = |joint: usize| Limb::new(joint, &[(origin(joint), origin(joint + 1))], scale).unwrap();
        for (alpha, beta) in [(0.0, 0.0), (0.5, 0.5), (0.2, 0.7)] {
            let limbs = (0..19).map(|joint| limb(joint).with_volume(alpha, if joint < 9 { beta } else { 1.0 - alpha }));
            let anatomy = Anatomy::new((0..19).map(joint).collect(), limbs.collect()).unwrap();
            let bend = DAffine3::from_rotation_z(0.2) * DAffine3::from_rotation_y(0.1);
            let mut world = vec![DAffine3::from_translation(origin(0))];
            for joint in 1..19 {
                world.push(world[joint - 1] * DAffine3::from_translation(DVec3::Y * (step * scale)) * bend);
            }
            let mut points = Tube::new(40, 12, scale).points;
            points.iter_mut().for_each(|p| *p += at(0.0));
            let exact = carry_all(&anatomy, &way(&anatomy, &world, Method::SecondOrder, 8.0), &points);
            let mut frame = Passage::<f32>::default();
            frame.lay(&anatomy, &world, Method::SecondOrder, 8.0);
            let mut rounded = points.clone();
            let felt = anatomy.everywhere();
            frame.carry_all(&anatomy, &felt, Level::new(), &mut rounded, &mut PointScratch::default());
            let apart = exact.iter().zip(&rounded).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max) / (8.0 * scale);
            println!("scale {scale}, alpha {alpha} beta {beta}: f32 is {apart:.1e} of the size from f64");
            assert!(apart < 2e-6, "{apart:e}");
        }
    }
}

#[test]
fn a_point_far_inside_a_limb_goes_where_the_limb_goes() {
    // Two limbs so far apart that each owns its surroundings.
    let joints = vec![
        Joint { parent: None, bind: DAffine3::IDENTITY },
        Joint { parent: Some(0), bind: DAffine3::from_translation(DVec3::Y * 4e4) },
    ];
    let line = |y: f64| [(DVec3::Y * y, DVec3::Y * (y + 1.0))];
    let limbs = vec![Limb::new(0, &line(0.0), 1.0).unwrap(), Limb::new(1, &line(4e4), 1.0).unwrap()];
    let anatomy = Anatomy::new(joints, limbs).unwrap();
    let world = [
        DAffine3::from_translation(DVec3::X) * DAffine3::from_rotation_y(0.3),
        DAffine3::from_translation(DVec3::new(5.0, 4e4, 1.0)) * DAffine3::from_rotation_x(2.5),
    ];
    let p = DVec3::new(0.3, 4e4 + 0.4, 0.2);
    for method in [Method::Euler, Method::SecondOrder] {
        let carried = carry(&anatomy, &way(&anatomy, &world, method, 5.0), p);
        let expected = world[1].transform_point3(p - DVec3::Y * 4e4);
        assert!((world[0].transform_point3(carried) - expected).length() < 1e-7, "{method:?}");
    }
}

#[test]
fn limbs_that_only_slide_take_their_skin_along() {
    // Both limbs by the same way, so that every point goes it.
    let anatomy = anatomy(1.0, 0.5, 0.5);
    let slide = DVec3::new(0.3, -0.2, 0.7);
    let joints = vec![
        Joint { parent: None, bind: DAffine3::IDENTITY },
        Joint { parent: Some(0), bind: DAffine3::from_translation(DVec3::Y) },
        Joint { parent: Some(0), bind: DAffine3::from_translation(DVec3::Y * 5.0) },
    ];
    let limb = |joint, from: f64| {
        let line = [(DVec3::Y * from, DVec3::Y * (from + 3.0))];
        Limb::new(joint, &line, 1.0).unwrap()
    };
    let sliding = Anatomy::new(joints, vec![limb(1, 1.0), limb(2, 5.0)]).unwrap();
    let world = [0.0, 1.0, 5.0].map(|y| DVec3::Y * y + if y > 0.0 { slide } else { DVec3::ZERO });
    let world = world.map(DAffine3::from_translation);
    for p in [DVec3::new(0.4, 2.0, 0.3), DVec3::new(-0.2, 4.5, 0.9)] {
        for method in [Method::Euler, Method::SecondOrder, Method::RungeKutta] {
            let carried = carry(&sliding, &way(&sliding, &world, method, 4.0), p);
            assert!((carried - p - slide).length() < 1e-9, "{method:?}: {carried}");
            let still = carry(&anatomy, &way(&anatomy, &bent(1.0, 0.0), method, 4.0), p);
            assert!((still - p).length() < 1e-12, "{method:?}: {still}");
        }
    }
}

/// The bound's strain on a way of so many steps, of the most strained point.
fn strain(anatomy: &Anatomy, world: &[DAffine3], steps: f64, points: &[DVec3]) -> f64 {
    let way = way(anatomy, world, Method::SecondOrder, steps);
    let points: Vec<SkinPoint> = points.iter().map(|&at| SkinPoint { at, felt: anatomy.everywhere() }).collect();
    way.strain(anatomy, Level::new(), &anatomy.probes(&points), &mut PointScratch::default())
}

#[test]
fn steps_that_the_bound_asks_for_grow_with_the_bend() {
    let anatomy = anatomy(1.0, 0.0, 0.0);
    let tube = Tube::new(33, 12, 1.0);
    let needed = |degrees: f64| 2.0 * strain(&anatomy, &bent(1.0, degrees), 4.0, &tube.points);
    let table = [0.0, 30.0, 90.0, 150.0].map(needed);
    println!("steps needed at 0, 30, 90, 150 degrees: {table:.2?}");
    assert!(table[0] < 1e-9);
    assert!(table.windows(2).all(|n| n[0] < n[1]) && table[3] <= 16.0);
}

#[test]
fn the_bound_is_the_difference_of_two_limbs_times_the_gradient() {
    // By hand: velocities of both limbs, and the gradient of the weight by central differences.
    let anatomy = anatomy(1.0, 0.0, 0.0);
    let world = bent(1.0, 1e-3);
    let p = DVec3::new(0.9, 4.2, 0.3);
    let weight = |p: DVec3| {
        let square = |low: f64, high: f64| p.distance_squared(DVec3::Y * p.y.clamp(low, high)) + 0.36;
        let [a, b] = [square(0.0, 4.0), square(4.0, 8.0)].map(|s| s.powi(-2));
        b / (a + b)
    };
    let h = 1e-6;
    let gradient = DVec3::from(DVec3::AXES.map(|axis| (weight(p + axis * h) - weight(p - axis * h)) / (2.0 * h)));
    // The second limb turns about its joint, the first stays; ‖v_i − v̄‖ of both sum to ‖v_i − v_k‖, as weights do to 1.
    let velocity = DVec3::Z.cross(p - DVec3::Y * 4.0) * 1e-3_f64.to_radians();
    let expected = velocity.length() * gradient.length();
    let found = strain(&anatomy, &world, 1.0, &[p]);
    assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
}

#[test]
fn steps_of_any_length_end_at_the_pose_without_a_jump() {
    let anatomy = anatomy(1.0, 0.5, 0.5);
    let p = DVec3::new(0.8, 4.1, 0.5);
    let at = |steps: f64| carry(&anatomy, &way(&anatomy, &bent(1.0, 100.0), Method::SecondOrder, steps), p);
    for whole in [4.0, 5.0, 9.0] {
        assert!((at(whole + 1e-7) - at(whole)).length() < 1e-6);
        assert!((at(whole - 1e-7) - at(whole)).length() < 1e-6);
    }
    let exact = carry(&anatomy, &way(&anatomy, &bent(1.0, 100.0), Method::RungeKutta, 64.0), p);
    assert!((at(7.4) - exact).length() < 1.2 * (at(7.0) - exact).length());
    assert!((at(30.5) - exact).length() < 2e-3);
}
