//! Vortex muscles on built-in characters, through the whole pipeline.
use crate::common::{Subject, bits, largest_difference};
use glam::DVec3;
use sinew::anatomy::{Anatomy, Role, Side};
use sinew::recipe::{CorrectionSpec, KeyCurve, Place};
use sinew::table::{Cell, Row};
use sinew::{
    Cpu, DeformedMesh, Filter, FilteredSignal, Kinematics, Motion, MotionSettings, Oscillator, Recipe, RecipeFile,
    Signal, WorldPose,
};

fn muscles(values: &[(&str, f64)], bones: &[(&str, &[&str])]) -> Recipe {
    let mut spec = CorrectionSpec::new("muscles").expect("muscles are a correction");
    for (name, value) in values {
        spec.values.set(name, *value).expect("a value in range");
    }
    for (bone, flexed_by) in bones {
        let flexed_by = flexed_by.iter().map(|&name| name.to_owned()).collect();
        spec.tables.add("bones", bone, Row::one(Cell::Bones(flexed_by))).expect("bones by bone");
    }
    Recipe { corrections: vec![spec], ..Recipe::default() }
}

fn at(subject: &Subject, recipe: &Recipe, clip: usize, times: &[f64]) -> Vec<DeformedMesh> {
    let stage = subject.stage(recipe);
    let motion = subject.motion(clip, &MotionSettings::default(), &stage);
    times.iter().map(|&time| subject.at(&stage, &motion, time, &Cpu::serial())).collect()
}

/// Six times the volume, of a closed surface.
fn volume(subject: &Subject, mesh: &DeformedMesh) -> f64 {
    let at = |v: u32| mesh.positions[v as usize].as_dvec3();
    subject.rig.triangles().iter().map(|&[a, b, c]| at(a).dot(at(b).cross(at(c)))).sum()
}

#[test]
fn flesh_swings_nearly_keeps_its_volume_and_lets_itself_be_switched_off() {
    let subject = Subject::zoo("calf");
    let named = subject.stage(&muscles(&[], &[])).muscles();
    let names: Vec<&str> = named.iter().map(|muscle| subject.rig.skeleton().name(muscle.bone)).collect();
    println!("fleshy: {names:?}");
    assert!(!names.is_empty());
    let times: Vec<f64> = (0..8).map(|k| 0.09 * f64::from(k)).collect();
    let base = at(&subject, &Recipe::default(), 0, &times);
    let swung = at(&subject, &muscles(&[], &[]), 0, &times);
    let off = at(&subject, &muscles(&[("life", 1.0)], &[]), 0, &times);
    let mut farthest: f64 = 0.0;
    for k in 0..times.len() {
        let moved = largest_difference(&base[k], &swung[k]) / subject.size();
        farthest = farthest.max(moved);
        let kept = volume(&subject, &swung[k]) / volume(&subject, &base[k]) - 1.0;
        println!("{:.2} s: moved {moved:.4} of the size, volume {kept:+.2e}", times[k]);
        // Flesh that is held at joints and bones is not carried by one field.
        assert!(kept.abs() < 3e-2, "{kept}");
        assert!(largest_difference(&base[k], &off[k]) == 0.0);
    }
    assert!(farthest > 1e-3 && farthest < 0.3, "{farthest}");
}

#[test]
fn muscles_that_nobody_names_are_where_flesh_is_on_both_sides_alike() {
    let has_flesh = |role: Role| matches!(role, Role::Spine | Role::Arm | Role::Leg | Role::Flesh);
    let mut all = 0;
    for name in ["calf", "dancer", "bird", "snail", "arm", "flower"] {
        let subject = Subject::zoo(name);
        let (rig, anatomy) = (&subject.rig, Anatomy::of(&subject.rig));
        let found = subject.stage(&muscles(&[], &[])).muscles();
        all += found.len();
        let names: Vec<&str> = found.iter().map(|muscle| rig.skeleton().name(muscle.bone)).collect();
        println!("{name}: {names:?}");
        assert!(found.iter().all(|muscle| has_flesh(anatomy.bone(muscle.bone).role)), "{name}");
        let [mut left, mut right] = [Side::Left, Side::Right].map(|side| {
            let findings = found.iter().map(|muscle| anatomy.bone(muscle.bone)).filter(|finding| finding.side == side);
            findings.map(|finding| (finding.role, finding.segment)).collect::<Vec<_>>()
        });
        left.sort();
        right.sort();
        assert_eq!(left, right, "{name}");
        for clip in 0..subject.clips.len() {
            let times = [0.21, 0.55];
            let base = at(&subject, &Recipe::default(), clip, &times);
            let swung = at(&subject, &muscles(&[], &[]), clip, &times);
            for (base, swung) in base.iter().zip(&swung) {
                for vertex in 0..rig.vertex_count() {
                    let bone = rig.main_bone(rig.point(vertex)).expect("a skinned character");
                    let moved = base.positions[vertex].distance(swung.positions[vertex]);
                    let role = anatomy.bone(bone).role;
                    let still = f64::from(moved) <= 1e-6 * subject.size();
                    assert!(still || has_flesh(role), "{name}: {role} moved by {moved}");
                }
            }
        }
    }
    assert!(all > 0);
}

#[test]
fn frames_stand_alone_and_loops_close() {
    let subject = Subject::zoo("calf");
    let stage = subject.stage(&muscles(&[], &[]));
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let period = motion.report().period.expect("the trot loops");
    let frame = |t: f64| subject.at(&stage, &motion, t, &Cpu::serial());
    let (later, earlier) = (frame(0.5 * period), frame(0.2 * period));
    assert_eq!(bits(&earlier), bits(&frame(0.2 * period)));
    assert_eq!(bits(&later), bits(&frame(0.5 * period)));
    let seam = largest_difference(&frame(0.0), &frame(period * (1.0 - 1e-9)));
    assert!(seam < 1e-5 * subject.size(), "{seam}");
}

#[test]
fn scale_changes_nothing_but_the_scale() {
    let run = |spec: &str| {
        let subject = Subject::zoo(spec);
        let recipe = muscles(&[("gravity", 2.0)], &[("tube.2", &["tube.3"])]);
        let [base, swung] = [Recipe::default(), recipe].map(|recipe| at(&subject, &recipe, 0, &[0.4]).remove(0));
        let moved = base.positions.iter().zip(&swung.positions).map(|(a, b)| (*b - *a).as_dvec3());
        (moved.collect::<Vec<DVec3>>(), subject.size())
    };
    let (small, _) = run("tube:vertices=600,bones=3,radius=0.1,length=1");
    let (large, size) = run("tube:vertices=600,bones=3,radius=10,length=100");
    assert!(large.iter().any(|moved| moved.length() > 1e-3 * size));
    for (a, b) in small.iter().zip(&large) {
        assert!((*a * 100.0 - *b).length() < 1e-5 * size, "{a} {b}");
    }
}

#[test]
fn a_flexed_muscle_bulges() {
    let subject = Subject::zoo("arm");
    // The clip bends the elbow most in its middle.
    let still = [("life", 1.0), ("contraction", 1.0)];
    let recipe = muscles(&still, &[("upper_arm", &["forearm"])]);
    let width = |mesh: &DeformedMesh| {
        let rest = at(&subject, &Recipe::default(), 0, &[0.0]).remove(0);
        let band = rest.positions.iter().zip(&mesh.positions).filter(|(rest, _)| (0.14..0.22).contains(&rest.y));
        let widths: Vec<f64> = band.map(|(_, p)| f64::from(p.x.abs())).collect();
        widths.iter().sum::<f64>() / widths.len() as f64
    };
    let [straight, bent] = [0.0, 0.8].map(|t| at(&subject, &recipe, 0, &[t]).remove(0));
    let [plain_straight, plain_bent] = [0.0, 0.8].map(|t| at(&subject, &Recipe::default(), 0, &[t]).remove(0));
    let (relaxed, flexed) = (width(&straight) / width(&plain_straight), width(&bent) / width(&plain_bent));
    println!("width of the upper arm: {relaxed:.3} relaxed, {flexed:.3} flexed, of the plain skin's");
    assert!((relaxed - 1.0).abs() < 0.02 && flexed > 1.03, "{relaxed} {flexed}");
}

const FLESH_SIGNALS: [Signal; 5] =
    [Signal::FleshAcceleration, Signal::FleshStrainX, Signal::FleshStrainY, Signal::FleshStrainZ, Signal::FleshUp];

fn motion(subject: &Subject, clip: usize, filter: Filter, settings: &MotionSettings) -> Motion {
    let filtered = FLESH_SIGNALS.map(|signal| FilteredSignal { signal, filter });
    let (rig, clip) = (&subject.rig, &subject.clips[clip]);
    Motion::new(rig.puppet(), clip, settings, &filtered).unwrap()
}

fn world_at(subject: &Subject, motion: &Motion, t: f64) -> WorldPose {
    let mut pose = subject.rig.rest_pose();
    motion.pose(t, &mut pose);
    let mut world = WorldPose::default();
    world.compose(subject.rig.skeleton(), &pose);
    world
}

fn kinematics_at(subject: &Subject, motion: &Motion, t: f64) -> Kinematics {
    let mut kinematics = Kinematics::at_rest(subject.rig.skeleton().len(), FLESH_SIGNALS.len());
    motion.kinematics(t, &world_at(subject, motion, t), subject.rig.skeleton(), &mut kinematics);
    kinematics
}

#[test]
fn loops_are_periodic_in_position_and_velocity() {
    let subject = Subject::zoo("calf");
    let oscillator = Oscillator::new(3.0, 0.25).unwrap();
    let motion = motion(&subject, 0, oscillator.into(), &MotionSettings::default());
    let (period, start) = (motion.report().period.unwrap(), motion.report().start);
    let stiffness = oscillator.angular_frequency().powi(2);
    let (mut jump, mut kink): (f64, f64) = (0.0, 0.0);
    let (h, end) = (1e-5, start + period * (1.0 - 1e-13));
    let times = [start, start + h, start + 2.0 * h, end, end - h, end - 2.0 * h];
    let at = times.map(|t| kinematics_at(&subject, &motion, t));
    for bone in subject.rig.skeleton().bones() {
        // Displacements of flesh at the joint, in sizes.
        let [a0, a1, a2, b0, b1, b2] =
            std::array::from_fn(|k| at[k].filtered[0][bone.index()] / (stiffness * subject.size()));
        jump = jump.max((a0 - b0).length());
        let after = (a1 * 4.0 - a2 - a0 * 3.0) / (2.0 * h);
        let before = (b0 * 3.0 - b1 * 4.0 + b2) / (2.0 * h);
        kink = kink.max((after - before).length());
    }
    println!("at the seam: {jump:.1e} sizes, {kink:.1e} sizes per second");
    assert!(jump < 1e-6 && kink < 1e-6, "{jump:e} {kink:e}");
}

#[test]
fn windows_that_grow_come_to_the_run_ahead() {
    let subject = Subject::zoo("calf");
    let named: &[(&str, &[&str])] = &[("chest", &[]), ("hips", &[])];
    let with = |history: f64, window: f64| {
        let recipe = muscles(&[("history", history), ("window", window), ("gravity", 1.0)], named);
        at(&subject, &recipe, 0, &[0.3]).remove(0)
    };
    let (whole, base) = (with(0.0, 0.0), at(&subject, &Recipe::default(), 0, &[0.3]).remove(0));
    let windows = [0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0];
    let table = windows.map(|window| largest_difference(&with(1.0, window), &whole) / subject.size());
    for (window, error) in windows.iter().zip(&table) {
        println!("window {window:>5} s: {error:.2e} sizes from the run ahead");
    }
    // ω₀ζ = 4.7 per second: each second leaves less than a hundredth.
    assert!(table[0] > 1e-4 && table[5] < 2e-4 * table[1].max(table[0]) + 1e-6 && table[6] < 1e-6, "{table:?}");
    // Accumulated instants depend on the path, and keep some of it: the paper's form, for who wants it.
    let accumulated = largest_difference(&with(2.0, 1.0), &with(1.0, 1.0)) / subject.size();
    let moved = largest_difference(&base, &whole) / subject.size();
    println!("accumulated over 1 s: {accumulated:.2e} sizes from the flow, which moves {moved:.2e}");
    assert!(accumulated < 0.7 * moved, "{accumulated} {moved}");
}

#[test]
fn every_shape_and_option_moves_flesh_and_keeps_its_volume() {
    let subject = Subject::zoo("calf");
    let base = at(&subject, &Recipe::default(), 0, &[0.3]).remove(0);
    let plain = at(&subject, &muscles(&[], &[("chest", &[])]), 0, &[0.3]).remove(0);
    for values in [vec![("shape", 1.0)], vec![("shape", 2.0)], vec![("stiffening", 50.0)], vec![("stretch", 0.3)]] {
        let swung = at(&subject, &muscles(&values, &[("chest", &[])]), 0, &[0.3]).remove(0);
        let moved = largest_difference(&base, &swung) / subject.size();
        let other = largest_difference(&plain, &swung) / subject.size();
        let kept = volume(&subject, &swung) / volume(&subject, &base) - 1.0;
        println!("{values:?}: moved {moved:.4} of the size, {other:.4} from an ellipsoid's, volume {kept:+.1e}");
        assert!(moved > 1e-3 && moved < 0.2 && other > 1e-5 && kept.abs() < 5e-3, "{values:?}");
    }
}

#[test]
fn a_wind_from_above_is_gravity_and_what_pulls_up_lifts_as_far() {
    let subject = Subject::zoo("calf");
    let times = [0.1, 0.37, 0.8];
    let base = at(&subject, &muscles(&[("life", 1.0)], &[]), 0, &times);
    let pulled = |values: &[(&str, f64)]| {
        let all: Vec<(&str, f64)> = values.iter().copied().chain([("life", 1.0), ("limit", 2.0)]).collect();
        at(&subject, &muscles(&all, &[]), 0, &times)
    };
    let down = pulled(&[("gravity", 3.0)]);
    let wind = pulled(&[("wind", 3.0), ("wind_lift", -90.0), ("gusts", 0.0)]);
    let lifted = pulled(&[("gravity", 3.0), ("tilt", 180.0)]);
    let sideways = [0.0, 90.0].map(|heading| pulled(&[("gravity", 3.0), ("tilt", 90.0), ("heading", heading)]));
    for k in 0..times.len() {
        let far = largest_difference(&base[k], &down[k]);
        assert!(far > 1e-3 * subject.size(), "{far}");
        assert!(largest_difference(&down[k], &wind[k]) < 1e-5 * subject.size());
        let up = largest_difference(&base[k], &lifted[k]);
        assert!((up / far - 1.0).abs() < 0.2, "{up} {far}");
        assert!(largest_difference(&sideways[0][k], &sideways[1][k]) > 0.5 * far);
    }
    // Gusts go round with the loop.
    let gusty = muscles(&[("wind", 3.0), ("gusts", 1.0), ("gust_rate", 0.7)], &[]);
    let stage = subject.stage(&gusty);
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let period = motion.report().period.expect("it loops");
    let start = motion.report().start;
    let frame = |time: f64| subject.at(&stage, &motion, time, &Cpu::serial());
    assert_eq!(bits(&frame(start)), bits(&frame(start + period)));
    let calm = at(&subject, &muscles(&[("wind", 3.0), ("gusts", 0.0)], &[]), 0, &[start + 0.3 * period]);
    assert!(largest_difference(&frame(start + 0.3 * period), &calm[0]) > 1e-4 * subject.size());
}

#[test]
fn a_contraction_is_full_where_it_is_told_to_be() {
    let subject = Subject::zoo("arm");
    let bent = |degrees: f64, full_at: f64| {
        let values = [("life", 1.0), ("full_at", full_at)];
        let pose = subject.turned(&[("forearm", glam::DQuat::from_rotation_x(degrees.to_radians()))]);
        let contracted = subject.posed(&muscles(&values, &[("upper_arm", &["forearm"])]), &pose);
        largest_difference(&contracted, &subject.posed(&Recipe::default(), &pose))
    };
    let [half, full, beyond] = [bent(50.0, 100.0), bent(100.0, 100.0), bent(140.0, 100.0)];
    println!("{half:.4} half-way, {full:.4} full, {beyond:.4} beyond");
    assert!(half < 0.6 * full && bent(100.0, 180.0) < 0.75 * full);
    assert!((beyond / full - 1.0).abs() < 0.15, "{beyond} {full}");
}

#[test]
fn muscles_have_shapes_and_maps_of_their_own() {
    let mut zoo = sinew_zoo::build("tube:vertices=900,bones=4").unwrap();
    let primitive = &mut zoo.raw.meshes[0].primitives[0];
    let front: Vec<f32> = primitive.positions.iter().map(|p| if p.x > 0.0 { 1.0 } else { 0.0 }).collect();
    primitive.maps.push(("front".to_owned(), front.clone()));
    let subject = Subject::new(&zoo.raw, zoo.clips);
    let shapes = [
        None,
        Some(("shape", Cell::Word("region"))),
        Some(("ellipsoid", Cell::Numbers(vec![0.0, 0.2, 0.0, 0.15, 0.25, 0.15]))),
        Some(("capsule", Cell::Numbers(vec![0.0, 0.1, 0.0, 0.0, 0.4, 0.0, 0.12]))),
    ];
    let base = at(&subject, &Recipe::default(), 0, &[0.4]).remove(0);
    for shape in shapes {
        let run = |map: Option<&str>| {
            let mut recipe = muscles(&[], &[]);
            let map = map.map(|map| ("map", Cell::Map(map.to_owned())));
            let row = Row::of(shape.clone().into_iter().chain(map));
            recipe.corrections[0].tables.add("muscles", "tube.3", row).expect("a muscle");
            assert_eq!(subject.stage(&recipe).muscles().len(), 1);
            at(&subject, &recipe, 0, &[0.4]).remove(0)
        };
        let (all, half) = (run(None), run(Some("front")));
        assert!(largest_difference(&base, &all) > 1e-4 * subject.size(), "{shape:?}");
        assert!(largest_difference(&base, &half) > 1e-4 * subject.size(), "{shape:?}");
        for (vertex, painted) in front.iter().enumerate() {
            assert!(*painted > 0.0 || half.positions[vertex] == base.positions[vertex], "{shape:?}, vertex {vertex}");
        }
    }
}

/// One muscle with keys of its own.
fn alone(values: &[(&str, f64)], cells: &[(&'static str, Cell)]) -> Recipe {
    let mut recipe = muscles(values, &[]);
    recipe.corrections[0].tables.add("muscles", "tube.3", Row::of(cells.iter().cloned())).expect("a muscle");
    recipe
}

#[test]
fn settings_of_a_muscle_are_those_of_all_for_it_alone() {
    let subject = Subject::zoo("tube:vertices=600,bones=4");
    let settings = [
        ("frequency", 2.0),
        ("damping", 0.1),
        ("density", 3.0),
        ("gravity", 1.5),
        ("life", 0.2),
        ("stretch", 0.1),
        ("stiffening", 5.0),
        ("limit", 0.6),
    ];
    for history in [0.0, 1.0, 2.0] {
        let with = |mut values: Vec<(&str, f64)>, cells: &[(&'static str, Cell)]| {
            values.push(("history", history));
            at(&subject, &alone(&values, cells), 0, &[0.4]).remove(0)
        };
        let cells: Vec<_> = settings.iter().map(|&(name, value)| (name, Cell::Number(value))).collect();
        let (of_all, of_one) = (with(settings.to_vec(), &[]), with(Vec::new(), &cells));
        assert_eq!(bits(&of_all), bits(&of_one));
        let plain = with(Vec::new(), &[]);
        for cell in &cells {
            let other = largest_difference(&plain, &with(Vec::new(), std::slice::from_ref(cell)));
            // The paths of muscles that are not bound by their limit do not feel it.
            assert!(other > 0.0 || cell.0 == "limit", "{}", cell.0);
        }
    }
    // Beside another of another pace both keep theirs.
    let mut both = alone(&[], &[("frequency", Cell::Number(1.0)), ("life", Cell::Number(1.0))]);
    let own = Row::of([("frequency", Cell::Number(2.0)), ("damping", Cell::Number(0.1))]);
    both.corrections[0].tables.add("muscles", "tube.3", own.clone()).expect("a muscle");
    let mut one = muscles(&[], &[]);
    one.corrections[0].tables.add("muscles", "tube.3", own).expect("a muscle");
    let [both, one] = [both, one].map(|recipe| at(&subject, &recipe, 0, &[0.4]).remove(0));
    assert!(largest_difference(&both, &one) < 1e-6 * subject.size());
}

#[test]
fn settings_of_a_muscle_are_keyed_over_time() {
    let subject = Subject::zoo("tube:vertices=600,bones=4");
    let at = |cell: (&'static str, Cell)| at(&subject, &alone(&[], &[cell]), 0, &[0.4]).remove(0);
    let plain = at(("life", Cell::Number(0.0)));
    for (name, value) in [("density", 3.0), ("gravity", 1.5), ("life", 0.25), ("stretch", 0.125), ("stiffening", 5.0)] {
        let keys = KeyCurve::new(vec![(0.0, 0.0), (0.8, 2.0 * value)]).expect("keys");
        let (keyed, constant) = (at((name, Cell::Keyed(keys))), at((name, Cell::Number(value))));
        assert_eq!(bits(&keyed), bits(&constant), "{name}");
        assert!(largest_difference(&keyed, &plain) > 0.0, "{name}");
    }
    // What is run ahead over a clip has one pace.
    let mut tables = muscles(&[], &[]).corrections.remove(0).tables;
    let keys = KeyCurve::new(vec![(0.0, 1.0), (1.0, 2.0)]).expect("keys");
    tables.add("muscles", "tube.3", Row::of([("frequency", Cell::Keyed(keys))])).expect_err("no number");
}

#[test]
fn a_contraction_goes_where_it_is_painted() {
    let mut zoo = sinew_zoo::build("tube:vertices=2500,bones=3").unwrap();
    let primitive = &mut zoo.raw.meshes[0].primitives[0];
    let (low, high) =
        primitive.positions.iter().fold((f32::MAX, f32::MIN), |(low, high), p| (low.min(p.y), high.max(p.y)));
    let (middle, half) = (0.5 * (low + high), 0.25 * (high - low));
    let radius = primitive.positions.iter().map(|p| p.x).fold(0.0, f32::max);
    let painted: Vec<f32> = primitive
        .positions
        .iter()
        .map(|p| 0.2 * (p.x / radius).max(0.0).powi(2) * (1.0 - ((p.y - middle) / half).powi(2)).max(0.0))
        .collect();
    primitive.maps.push(("out".to_owned(), painted.clone()));
    primitive.maps.push(("in".to_owned(), painted.iter().map(|value| -value).collect()));
    let subject = Subject::new(&zoo.raw, zoo.clips);
    let posed = |recipe: &Recipe| subject.posed(recipe, &subject.rig.rest_pose());
    let base = posed(&Recipe::default());
    let pushed = |map: &str, contraction: f64| {
        let cells = [("target", Cell::Map(map.to_owned())), ("contraction", Cell::Number(contraction))];
        let mut recipe = muscles(&[("life", 1.0)], &[]);
        recipe.corrections[0].tables.add("muscles", "tube.2", Row::of(cells)).expect("a muscle");
        let mesh = posed(&recipe);
        let along = |v: usize| f64::from(mesh.positions[v].x - base.positions[v].x);
        let mean = |chosen: &dyn Fn(f32, f32) -> bool| {
            let of: Vec<f64> =
                (0..painted.len()).filter(|&v| chosen(painted[v], base.positions[v].x)).map(along).collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        let [there, across] = [mean(&|painted, _| painted > 0.15), mean(&|_, x| x < -0.9 * radius)];
        (there / f64::from(radius), across / f64::from(radius))
    };
    let (out, far) = pushed("out", 1.0);
    let (inwards, _) = pushed("in", 1.0);
    let (half, _) = pushed("out", 0.5);
    println!("pushed out by {out:.3} radii, {far:.3} on the other side; in by {inwards:.3}; half {half:.3}");
    assert!(out > 0.06 && far.abs() < 0.3 * out, "{out} {far}");
    assert!((inwards / out + 1.0).abs() < 0.2 && (half / out - 0.5).abs() < 0.1, "{inwards} {half}");
}

#[test]
fn a_muscle_is_stretched_along_the_axis_it_is_given() {
    let subject = Subject::zoo("tube:vertices=900,bones=3");
    let still = [("life", 1.0), ("stretch", 0.4)];
    let along =
        |axis: [f64; 3]| at(&subject, &alone(&still, &[("axis", Cell::Numbers(axis.to_vec()))]), 0, &[0.0]).remove(0);
    let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(along);
    let base = at(&subject, &Recipe::default(), 0, &[0.0]).remove(0);
    for (one, other) in [(&x, &y), (&y, &z), (&z, &x), (&x, &base)] {
        assert!(largest_difference(one, other) > 1e-4 * subject.size());
    }
    // The opposite direction is the same axis.
    assert!(largest_difference(&x, &along([-1.0, 0.0, 0.0])) < 1e-6 * subject.size());
}

#[test]
fn recipes_hold_muscles() {
    let text = "version = 1\n\n[[correction]]\ntype = \"muscles\"\nhistory = \"window\"   # short\nwindow = 0.25\n\
                [correction.muscles]\n\"arm.?\" = { flexed_by = [\"fore*\"], map = \"biceps\" }\n\
                belly = { capsule = [0, 0, 0, 0, 1, 0, 0.2] }\n";
    let mut file = RecipeFile::parse(text).unwrap();
    let specs = file.recipe().corrections.clone();
    assert_eq!((specs[0].values.word("history"), specs[0].values.number("window")), ("window", 0.25));
    let arm = Row::of([("flexed_by", Cell::Bones(vec!["fore*".to_owned()])), ("map", Cell::Map("biceps".to_owned()))]);
    let muscles = specs[0].tables.rows("muscles");
    assert_eq!(muscles[0], ("arm.?".to_owned(), arm));
    assert_eq!(muscles[1].1.numbers("capsule"), Some([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.2]));
    // Written out and read back.
    file.set(Place::Correction(0, "window"), 0.5).unwrap();
    assert_eq!(file.to_string(), text.replace("0.25", "0.5"));
    file.add_correction(&specs[0]).unwrap();
    assert_eq!(file.recipe().corrections[1].tables, specs[0].tables);
    let row = Row::of([("shape", Cell::Word("region"))]);
    file.set(Place::CorrectionRow(1, "muscles", "tail"), &row).unwrap();
    assert_eq!(file.recipe().corrections[1].tables.rows("muscles").last(), Some(&("tail".to_owned(), row)));
    for (wrong, told) in [
        ("muscles.belly = { capsule = [1, 2] }", "ends, radius"),
        ("muscles.belly = { shape = \"ball\" }", "\"ellipsoid\", \"capsule\" or \"region\""),
        ("muscles.belly = { paint = \"x\" }", "paint"),
        ("muscles.belly = 2", "a table"),
    ] {
        let text = format!("version = 1\n[[correction]]\ntype = \"muscles\"\n{wrong}\n");
        let error = RecipeFile::parse(&text).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let elsewhere = "version = 1\n[[correction]]\ntype = \"volume\"\nmuscles.belly = {}\n";
    assert!(RecipeFile::parse(elsewhere).unwrap_err().to_string().contains("muscles"));
}

#[test]
fn a_contraction_that_the_vortices_cannot_do_is_reported() {
    let subject = Subject::zoo("arm");
    let report = subject.stage(&muscles(&[], &[("upper_arm", &["forearm"])])).muscles();
    println!("{report:?}");
    assert!(report.len() == 1 && report[0].contraction_residual > 0.0 && report[0].contraction_residual < 0.3);
    assert_eq!(subject.stage(&muscles(&[], &[("upper_arm", &[])])).muscles()[0].contraction_residual, 0.0);
}

#[test]
fn the_biceps_of_the_manual_bulges_and_leaves_the_forearm_alone() {
    let subject = Subject::zoo("arm");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recipes/biceps.sinew.toml");
    let text = std::fs::read_to_string(path).expect("the recipe of the manual");
    let recipe = RecipeFile::parse(&text).expect("a recipe").recipe().clone();
    let missed = subject.stage(&recipe).muscles()[0].contraction_residual;
    let [straight, bent] = [0.0, 0.8].map(|t| at(&subject, &recipe, 0, &[t]).remove(0));
    let [plain, plain_bent] = [0.0, 0.8].map(|t| at(&subject, &Recipe::default(), 0, &[t]).remove(0));
    assert!(largest_difference(&straight, &plain) < 1e-3 * subject.size());
    let skeleton = subject.rig.skeleton();
    let (mut upper, mut fore): (f32, f32) = (0.0, 0.0);
    for vertex in 0..subject.rig.vertex_count() {
        let moved = bent.positions[vertex].distance(plain_bent.positions[vertex]);
        let bone = subject.rig.main_bone(subject.rig.point(vertex)).expect("a skinned arm");
        let most = if skeleton.name(bone) == "upper_arm" { &mut upper } else { &mut fore };
        *most = most.max(moved);
    }
    println!("missed {missed:.3}; the upper arm moves by {upper:.4}, the rest by {fore:.4}");
    assert!(missed < 0.25 && f64::from(upper) > 0.01 * subject.size() && fore < 0.5 * upper);
}
