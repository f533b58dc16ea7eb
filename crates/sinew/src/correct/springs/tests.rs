//! The oracles of the springs, on an analytic tube of two bones.
#![allow(clippy::print_stdout, reason = "the figures are read by hand")]

use super::descent::{Scheme, Stop, Stopped};
use super::model::*;
use crate::topology::Adjacency;
use glam::{DMat3, DQuat, DVec3};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// A tube along +Y, radius 0.5, joints at 0, `half` and 2·`half`.
struct Tube {
    points: Vec<DVec3>,
    faces: Vec<[u32; 3]>,
    adjacency: Adjacency,
    anchors: Vec<DVec3>,
    half: f64,
    around: usize,
}

impl Tube {
    fn new(rings: usize, around: usize, half: f64) -> Self {
        let mut points = Vec::new();
        for ring in 0..rings {
            let y = 2.0 * half * ring as f64 / (rings - 1) as f64;
            for k in 0..around {
                let (sin, cos) = (TAU * k as f64 / around as f64).sin_cos();
                points.push(DVec3::new(0.5 * sin, y, 0.5 * cos));
            }
        }
        let at = |ring: usize, k: usize| (ring * around + k % around) as u32;
        let cells = (0..rings - 1).flat_map(|ring| (0..around).map(move |k| (ring, k)));
        let faces: Vec<[u32; 3]> = cells
            .flat_map(|(r, k)| [[at(r, k), at(r, k + 1), at(r + 1, k + 1)], [at(r, k), at(r + 1, k + 1), at(r + 1, k)]])
            .collect();
        let anchors = points.iter().map(|p| DVec3::Y * p.y).collect();
        Self { adjacency: Adjacency::new(points.len(), &faces), points, faces, anchors, half, around }
    }

    fn size(&self) -> f64 {
        (4.0 * self.half * self.half + 2.0).sqrt()
    }

    fn springs(&self, k: &Stiffness) -> Springs {
        let lines = vec![DVec3::Y; self.points.len()];
        let rest = SpringRest {
            points: &self.points,
            anchors: &self.anchors,
            lines: &lines,
            adjacency: &self.adjacency,
            faces: &self.faces,
            bridges: &[],
            factors: &[],
            blend_length: None,
        };
        Springs::new(&rest, k, BoneSpring::Place)
    }

    /// Share of the second bone, which rises over a stretch about the joint.
    fn share(&self, p: DVec3) -> f64 {
        ((p.y - self.half) / 1.5 + 0.5).clamp(0.0, 1.0)
    }

    /// What bones want with the second one turned.
    fn posed(&self, turn: DQuat) -> Posed {
        let joint = DVec3::Y * self.half;
        let mut posed = Posed::default();
        for (p, a) in self.points.iter().zip(&self.anchors) {
            let w = self.share(*p);
            let q = DQuat::IDENTITY.slerp(turn, w);
            posed.anchors.push(joint + (*a - joint).lerp(turn * (*a - joint), w));
            posed.aims.push(q * (*p - *a));
            posed.lines.push(q * DVec3::Y);
            posed.turns.push(q);
        }
        self.turn_edges(posed)
    }

    fn turn_edges(&self, mut posed: Posed) -> Posed {
        let lines = vec![DVec3::Y; self.points.len()];
        let stretches = vec![DMat3::IDENTITY; self.points.len()];
        let rest = (&self.points[..], &self.anchors[..], &lines[..]);
        self.springs(&Stiffness::default()).turned_edges(rest, (&posed.turns, &stretches), &mut posed.edges);
        posed
    }

    /// Each point with the bone that its attachment lies on.
    fn rigid(&self, turn: DQuat) -> Vec<DVec3> {
        let joint = DVec3::Y * self.half;
        let carried = |(p, a): (&DVec3, &DVec3)| if a.y > self.half { joint + turn * (*p - joint) } else { *p };
        self.points.iter().zip(&self.anchors).map(carried).collect()
    }

    /// By weights of the second bone that rise over a stretch about the joint.
    fn blended(&self, turn: DQuat, dual: bool) -> Vec<DVec3> {
        let joint = DVec3::Y * self.half;
        let blend = |p: &DVec3| {
            let w = self.share(*p);
            let v = *p - joint;
            joint + if dual { DQuat::IDENTITY.lerp(turn, w) * v } else { v.lerp(turn * v, w) }
        };
        self.points.iter().map(blend).collect()
    }
}

#[derive(Default)]
struct Posed {
    anchors: Vec<DVec3>,
    aims: Vec<DVec3>,
    lines: Vec<DVec3>,
    turns: Vec<DQuat>,
    edges: Vec<DVec3>,
}

impl Posed {
    fn frame(&self) -> SpringFrame<'_> {
        let Self { anchors, aims, lines, edges, .. } = self;
        SpringFrame { anchors, aims, edges, lines, edits: &[] }
    }
}

fn apart(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn random(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64
}

fn energy_and_forces(springs: &Springs, frame: &SpringFrame<'_>, points: &[DVec3]) -> (f64, Vec<DVec3>) {
    let mut forces = Vec::new();
    let energy = springs.forces(frame, points, &mut Vec::new(), &mut Vec::new(), &mut Vec::new(), &mut forces);
    (energy, forces)
}

const KINDS: [BoneSpring; 3] = [BoneSpring::Place, BoneSpring::Direction, BoneSpring::Line];
/// Every spring at work.
const ALL: Stiffness = Stiffness { torsion: 1.0, surface: 0.7, length: 0.5, absolute: 1.0, bone: 3.0 };

#[test]
fn forces_are_minus_the_gradient_of_the_energy() {
    let tube = Tube::new(7, 6, 2.0);
    let posed = tube.posed(DQuat::from_rotation_x(0.7));
    let mut seed = 3;
    let mut points = tube.rigid(DQuat::from_rotation_x(0.7));
    for p in &mut points {
        *p += (DVec3::new(random(&mut seed), random(&mut seed), random(&mut seed)) - 0.5) * 0.3;
    }
    let edits: Vec<(f64, DVec3)> = points.iter().map(|p| (random(&mut seed), *p + DVec3::X * 0.1)).collect();
    for kind in KINDS {
        let mut springs =
            tube.springs(&Stiffness { torsion: 1.3, surface: 0.7, length: 0.9, absolute: 0.4, bone: 20.0 });
        springs.kind = kind;
        springs.stiffen(&[], None, &Stiffness { torsion: 1.3, surface: 0.7, length: 0.9, absolute: 0.4, bone: 20.0 });
        let frame = SpringFrame { edits: &edits, ..posed.frame() };
        let (_, forces) = energy_and_forces(&springs, &frame, &points);
        let h = 1e-6;
        for i in 0..points.len() {
            for axis in DVec3::AXES {
                let energy = |sign: f64| {
                    let mut moved = points.clone();
                    moved[i] += axis * (sign * h);
                    energy_and_forces(&springs, &frame, &moved).0
                };
                let slope = (energy(1.0) - energy(-1.0)) / (2.0 * h);
                assert!((slope + forces[i].dot(axis)).abs() < 1e-6 * (1.0 + slope.abs()), "{i} {slope} {}", forces[i]);
            }
        }
    }
}

#[test]
fn bind_is_a_fixed_point_and_so_is_any_rigid_motion_of_it() {
    let tube = Tube::new(21, 12, 2.0);
    for kind in KINDS {
        let mut springs = tube.springs(&ALL);
        springs.kind = kind;
        springs.stiffen(&[], None, &ALL);
        let posed = tube.posed(DQuat::IDENTITY);
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.4, 1.1, -0.3);
        let moved = |v: &Vec<DVec3>, by: DVec3| v.iter().map(|p| turn * *p + by).collect::<Vec<_>>();
        let whole = Posed {
            anchors: moved(&posed.anchors, DVec3::ONE),
            aims: moved(&posed.aims, DVec3::ZERO),
            lines: moved(&posed.lines, DVec3::ZERO),
            turns: vec![turn; tube.points.len()],
            edges: Vec::new(),
        };
        let whole = tube.turn_edges(whole);
        let mut points = moved(&tube.points, DVec3::ONE);
        let before = points.clone();
        springs.solve(&whole.frame(), &mut points, Scheme::Plain, &Stop::after(50));
        assert!(apart(&points, &before) < 1e-12);
    }
}

#[test]
fn three_starts_of_a_right_angle_end_in_one_shape() {
    let tube = Tube::new(41, 16, 2.0);
    let turn = DQuat::from_rotation_z(-FRAC_PI_2);
    let springs = tube.springs(&Stiffness::default());
    let posed = tube.posed(turn);
    let starts = [tube.rigid(turn), tube.blended(turn, false), tube.blended(turn, true)];
    let most_apart = |shapes: &[Vec<DVec3>; 3]| {
        [(0, 1), (1, 2), (0, 2)].into_iter().map(|(a, b)| apart(&shapes[a], &shapes[b])).fold(0.0, f64::max)
    };
    let before = most_apart(&starts);
    let solve = |scheme, stop: &Stop| {
        starts.clone().map(|mut points| {
            springs.solve(&posed.frame(), &mut points, scheme, stop);
            points
        })
    };
    let after_fifty = most_apart(&solve(Scheme::Plain, &Stop::after(50)));
    let stop = Stop::at_move(1e-6 * tube.size(), 20_000);
    let plain = solve(Scheme::Plain, &stop);
    let fast = solve(Scheme::Accelerated, &stop);
    println!(
        "apart, in sizes: starts {:.5}, after 50 {:.5}, converged {:.6}, accelerated {:.6}, plain to accelerated {:.6}",
        before / tube.size(),
        after_fifty / tube.size(),
        most_apart(&plain) / tube.size(),
        most_apart(&fast) / tube.size(),
        apart(&plain[0], &fast[0]) / tube.size(),
    );
    assert!(after_fifty <= 0.25 * before);
    assert!(most_apart(&plain) <= 1e-3 * tube.size());
    assert!(most_apart(&fast) <= 1e-3 * tube.size());
    assert!(apart(&plain[0], &fast[0]) <= 1e-3 * tube.size());
}

#[test]
fn a_twist_keeps_the_radius_and_spreads() {
    let tube = Tube::new(61, 16, 3.0);
    let twist = 0.75 * PI;
    let turn = DQuat::from_rotation_y(twist);
    let springs = tube.springs(&Stiffness::default());
    let posed = tube.posed(turn);
    for (name, mut points) in [("rigid", tube.rigid(turn)), ("lbs", tube.blended(turn, false))] {
        let stop = Stop::at_move(1e-6 * tube.size(), 20_000);
        springs.solve(&posed.frame(), &mut points, Scheme::Accelerated, &stop);
        let radius = points.iter().map(|p| p.x.hypot(p.z)).fold(f64::INFINITY, f64::min);
        let angle_of = |ring: usize| {
            let (p, rest) = (points[ring * tube.around], tube.points[ring * tube.around]);
            (p.x.atan2(p.z) - rest.x.atan2(rest.z)).rem_euclid(TAU)
        };
        let angles: Vec<f64> =
            (0..61).map(|ring| if angle_of(ring) > 1.5 * PI { angle_of(ring) - TAU } else { angle_of(ring) }).collect();
        println!(
            "{name}: least radius {:.4}, ends {:.3}° and {:.3}° off",
            radius / 0.5,
            angles[0].to_degrees(),
            (twist - angles[60]).to_degrees()
        );
        assert!(radius >= 0.95 * 0.5, "{name} {radius}");
        assert!(angles.windows(2).all(|pair| pair[1] >= pair[0] - 1e-6), "{name} {angles:?}");
        assert!(angles[0].abs() < 5f64.to_radians() && (angles[60] - twist).abs() < 5f64.to_radians(), "{name}");
    }
}

#[test]
fn twice_the_resolution_is_the_same_shape() {
    let shape = |rings: usize, around: usize| {
        let tube = Tube::new(rings, around, 2.0);
        let turn = DQuat::from_rotation_z(-FRAC_PI_2);
        let mut points = tube.rigid(turn);
        let stop = Stop::at_move(1e-6 * tube.size(), 20_000);
        tube.springs(&Stiffness::default()).solve(&tube.posed(turn).frame(), &mut points, Scheme::Accelerated, &stop);
        (tube, points)
    };
    let (tube, coarse) = shape(41, 16);
    let (_, fine) = shape(81, 32);
    let worst =
        (0..coarse.len()).map(|i| coarse[i].distance(fine[2 * (i / 16) * 32 + 2 * (i % 16)])).fold(0.0, f64::max);
    println!("coarse to fine: {:.5} of the size", worst / tube.size());
    assert!(worst <= 0.01 * tube.size());
}

#[test]
fn no_parameters_in_range_diverge() {
    let rounds = if std::env::var_os("SINEW_FULL").is_some() { 10_000 } else { 500 };
    let tube = Tube::new(9, 6, 2.0);
    let mut seed = 11;
    for round in 0..rounds {
        let mut k = || 10f64.powf(6.0 * random(&mut seed) - 4.0);
        let k = Stiffness { torsion: k(), surface: k(), length: k(), absolute: k(), bone: k() };
        let springs = tube.springs(&k);
        let turn =
            DQuat::from_euler(glam::EulerRot::YXZ, 6.0 * random(&mut seed), 6.0 * random(&mut seed), random(&mut seed));
        let posed = tube.posed(turn);
        let mut points = if round % 2 == 0 { tube.rigid(turn) } else { tube.blended(turn, false) };
        let scheme = if round % 4 < 2 { Scheme::Plain } else { Scheme::Accelerated };
        let first = energy_and_forces(&springs, &posed.frame(), &points).0;
        let solved = springs.solve(&posed.frame(), &mut points, scheme, &Stop::after(30));
        assert!(solved.energy <= first && points.iter().all(|p| p.is_finite()), "round {round}: {k:?}");
        assert!(points.iter().all(|p| p.length() < 3.0 * tube.size()), "round {round}: {k:?}");
    }
}

#[test]
fn acceleration_needs_a_third_of_the_updates() {
    for (name, turn, rings, around) in [
        ("bend 41×16", DQuat::from_rotation_z(-FRAC_PI_2), 41, 16),
        ("bend 81×32", DQuat::from_rotation_z(-FRAC_PI_2), 81, 32),
        ("twist 61×16", DQuat::from_rotation_y(0.75 * PI), 61, 16),
    ] {
        let tube = Tube::new(rings, around, 2.0);
        let springs = tube.springs(&Stiffness::default());
        let posed = tube.posed(turn);
        for digits in [4, 6] {
            let stop = Stop::at_move(0.1f64.powi(digits) * tube.size(), 100_000);
            let count = |scheme| {
                let mut points = tube.rigid(turn);
                let clock = std::time::Instant::now();
                let solved = springs.solve(&posed.frame(), &mut points, scheme, &stop);
                (solved, clock.elapsed().as_secs_f64() * 1e3)
            };
            let ((plain, plain_ms), (fast, fast_ms)) = (count(Scheme::Plain), count(Scheme::Accelerated));
            println!(
                "{name}, residual 1e-{digits}: plain {} evaluations {plain_ms:.1} ms, accelerated {} {fast_ms:.1} ms; energies {:.9} {:.9}",
                plain.evaluations, fast.evaluations, plain.energy, fast.energy
            );
            assert_eq!((plain.stopped, fast.stopped), (Stopped::Move, Stopped::Move));
            if digits == 6 {
                assert!(3 * fast.evaluations <= plain.evaluations);
                assert!((plain.energy - fast.energy).abs() <= 1e-4 * plain.energy);
            }
        }
    }
}

#[test]
fn every_scheme_of_convergence_stops_for_its_own_reason() {
    let tube = Tube::new(21, 12, 2.0);
    let turn = DQuat::from_rotation_z(-1.0);
    let (springs, posed) = (tube.springs(&Stiffness::default()), tube.posed(turn));
    let stopped = |stop: Stop| {
        let mut points = tube.rigid(turn);
        springs.solve(&posed.frame(), &mut points, Scheme::Plain, &stop).stopped
    };
    assert_eq!(stopped(Stop::after(3)), Stopped::Iterations);
    assert_eq!(stopped(Stop::at_move(1e-3, 1000)), Stopped::Move);
    assert_eq!(stopped(Stop { largest_force: 1e-2, ..Stop::after(1000) }), Stopped::Force);
    assert_eq!(stopped(Stop { energy_share: 1e-3, ..Stop::after(1000) }), Stopped::Energy);
}

#[test]
fn an_edit_is_approached_as_its_stiffness_grows() {
    let tube = Tube::new(21, 12, 2.0);
    let (springs, posed) = (tube.springs(&Stiffness::default()), tube.posed(DQuat::IDENTITY));
    let mut last = f64::INFINITY;
    for k in [0.1, 1.0, 10.0, 100.0, 1e4] {
        let place = tube.points[130] + DVec3::X * 0.2;
        let mut edits = vec![(0.0, DVec3::ZERO); tube.points.len()];
        edits[130] = (k, place);
        let frame = SpringFrame { edits: &edits, ..posed.frame() };
        let mut points = tube.points.clone();
        let stop = Stop::at_move(1e-8, 5000);
        springs.solve(&frame, &mut points, Scheme::Accelerated, &stop);
        let away = points[130].distance(place);
        assert!(away < last, "{k}: {away}");
        last = away;
    }
    assert!(last < 1e-3 * 0.2);
}

#[test]
fn points_on_the_bone_and_points_on_each_other_are_finite() {
    let tube = Tube::new(9, 6, 2.0);
    let springs = tube.springs(&Stiffness::default());
    let posed = tube.posed(DQuat::from_rotation_y(PI));
    let mut collapsed = posed.anchors.clone();
    let solved = springs.solve(&posed.frame(), &mut collapsed, Scheme::Accelerated, &Stop::after(20));
    assert!(solved.energy.is_finite() && collapsed.iter().all(|p| p.is_finite()));
    let flat = SpringRest {
        points: &tube.anchors,
        anchors: &tube.anchors,
        lines: &vec![DVec3::Y; tube.points.len()],
        adjacency: &tube.adjacency,
        faces: &tube.faces,
        bridges: &[],
        factors: &[],
        blend_length: None,
    };
    let springs = Springs::new(&flat, &Stiffness::default(), BoneSpring::Place);
    let mut points = tube.anchors.clone();
    springs.solve(&posed.frame(), &mut points, Scheme::Plain, &Stop::after(5));
    assert!(points.iter().all(|p| p.is_finite()) && springs.len() == points.len());
    assert!(springs.safe_fixed_step() > 0.0);
}

#[test]
fn rows_have_the_same_energy_and_end_in_the_same_shape() {
    use super::row_energy::RowScratch;
    use super::rows::SpringRows;
    use crate::simd::Level;
    use std::ops::MulAssign;
    let (mut seed, scale) = (5, 37.0);
    // An odd number of points, on a skin of another size and far from the origin.
    let tube = Tube::new(21, 11, 2.0);
    let far = DVec3::new(900.0, -400.0, 20.0);
    let turn = DQuat::from_rotation_z(-1.2);
    for (kind, k) in KINDS.map(|kind| (kind, ALL)).into_iter().chain([(BoneSpring::Place, Stiffness::default())]) {
        let mut springs = tube.springs(&k);
        springs.kind = kind;
        springs.stiffen(&[], None, &k);
        if kind == BoneSpring::Line {
            // Springs that differ.
            for (index, edge) in springs.edges.iter_mut().enumerate() {
                [&mut edge.torsion, &mut edge.surface, &mut edge.lengths][index % 3].mul_assign(0.8);
            }
        }
        let rows = SpringRows::new(&springs, &tube.points);
        let mut posed = tube.posed(turn);
        posed.anchors.iter_mut().for_each(|a| *a += far);
        let mut start = tube.blended(turn, false);
        for p in &mut start {
            *p += (DVec3::new(random(&mut seed), random(&mut seed), random(&mut seed)) - 0.5) * 0.1 + far;
        }
        let edits: Vec<(f64, DVec3)> =
            start.iter().enumerate().map(|(i, p)| (if i % 7 == 0 { 0.5 } else { 0.0 }, *p + DVec3::X * 0.1)).collect();
        for edits in [&[][..], &edits] {
            let frame = SpringFrame { edits, ..posed.frame() };
            for level in [Level::baseline(), Level::new()] {
                for (scheme, stop) in [
                    (Scheme::Plain, Stop::after(1)),
                    (Scheme::Fixed, Stop::after(3)),
                    (Scheme::Accelerated, Stop::at_move(1e-6 * tube.size(), 5000)),
                ] {
                    let (mut exact, mut fast) = (start.clone(), start.clone());
                    let a = springs.solve(&frame, &mut exact, scheme, &stop);
                    let b = rows.solve(
                        &springs,
                        (level, None),
                        &frame,
                        &mut fast,
                        (scheme, &stop),
                        &mut RowScratch::default(),
                    );
                    let off = apart(&exact, &fast) / tube.size();
                    assert!(
                        off < if scheme == Scheme::Accelerated { 1e-4 } else { 1e-6 },
                        "{kind:?} {scheme:?} {off:e}"
                    );
                    // Rows join the two springs of a point to fixed places, which changes the energy by a constant.
                    if edits.is_empty() || kind != BoneSpring::Place {
                        assert!((a.energy - b.energy).abs() < 1e-4 * a.energy, "{scheme:?} {} {}", a.energy, b.energy);
                    }
                    assert_eq!(a.stopped, b.stopped, "{scheme:?}");
                }
            }
        }
    }
    // Lengths may be of any size.
    for scale in [scale, 1e-6, 1e6] {
        let large: Vec<DVec3> = tube.points.iter().map(|p| *p * scale).collect();
        let anchors: Vec<DVec3> = tube.anchors.iter().map(|p| *p * scale).collect();
        let rest = SpringRest {
            points: &large,
            anchors: &anchors,
            lines: &vec![DVec3::Y; large.len()],
            adjacency: &tube.adjacency,
            faces: &tube.faces,
            bridges: &[],
            factors: &[],
            blend_length: None,
        };
        let springs = Springs::new(&rest, &Stiffness::default(), BoneSpring::Place);
        let rows = SpringRows::new(&springs, &large);
        let posed = tube.posed(turn);
        let scaled = |v: &Vec<DVec3>| v.iter().map(|p| *p * scale).collect::<Vec<DVec3>>();
        let (anchors, aims, edges) = (scaled(&posed.anchors), scaled(&posed.aims), scaled(&posed.edges));
        let frame = SpringFrame { anchors: &anchors, aims: &aims, edges: &edges, lines: &posed.lines, edits: &[] };
        let mut points = scaled(&tube.rigid(turn));
        let stop = Stop::at_move(1e-5 * scale * tube.size(), 1000);
        let solved = rows.solve(
            &springs,
            (Level::new(), None),
            &frame,
            &mut points,
            (Scheme::Accelerated, &stop),
            &mut RowScratch::default(),
        );
        assert_eq!(solved.stopped, Stopped::Move, "{scale}");
        let mut unit = tube.rigid(turn);
        let stop = Stop::at_move(1e-5 * tube.size(), 1000);
        tube.springs(&Stiffness::default()).solve(&posed.frame(), &mut unit, Scheme::Accelerated, &stop);
        assert!(apart(&scaled(&unit), &points) < 1e-2 * scale * tube.size(), "{scale}");
    }
}
