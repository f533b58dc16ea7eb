//! Volume and fold-over through the whole pipeline, on positions in f32. (The oracles in f64 are beside the solver.)

use crate::common::{Subject, bits, effect};
use glam::{DQuat, DVec3};
use sinew::correct::{CORRECTIONS, Measure, Outcome, VolumeReport};
use sinew::param::ParamKind;
use sinew::recipe::{CorrectionSpec, Place, RecipeFile};
use sinew::table::{Cell, Row};
use sinew::*;

fn correction(name: &str, words: &[(&str, &str)]) -> CorrectionSpec {
    let mut spec = CorrectionSpec::new(name).expect("a correction of that name");
    for (key, word) in words {
        spec.values.choose(key, word).expect("a word of the parameter");
    }
    spec
}

fn corrected(corrections: Vec<CorrectionSpec>) -> Recipe {
    Recipe { corrections, ..Recipe::default() }
}

/// Segments first, whose sums the defaults do not look at.
fn by_segments() -> CorrectionSpec {
    correction("volume", &[("scope", "both"), ("shape", "muscle")])
}

fn volume(scope: &str, shape: &str) -> Recipe {
    corrected(vec![correction("volume", &[("scope", scope), ("shape", shape)])])
}

/// Signed volume of closed primitives, about their mean.
fn enclosed(rig: &Rig, points: &[DVec3]) -> f64 {
    let mean = points.iter().sum::<DVec3>() / points.len() as f64;
    let tetrahedra = rig.triangles().iter().map(|corners| {
        let [a, b, c] = corners.map(|vertex| points[vertex as usize] - mean);
        a.dot(b.cross(c)) / 6.0
    });
    tetrahedra.sum()
}

fn points(mesh: &DeformedMesh) -> Vec<DVec3> {
    mesh.positions.iter().map(|p| p.as_dvec3()).collect()
}

fn rest_volume(subject: &Subject) -> f64 {
    let still = Kinematics::at_rest(subject.rig.skeleton().len(), 0);
    let base = subject.stage(&Recipe::default());
    enclosed(&subject.rig, &points(&subject.with(&base, &subject.rig.rest_pose(), &still, &Cpu::serial())))
}

fn whole(mesh: &DeformedMesh) -> &VolumeReport {
    mesh.corrected.volumes.iter().find(|report| report.measure == Measure::Whole).expect("a report on the whole")
}

#[test]
fn the_built_in_characters_keep_their_volume_through_their_clips() {
    for name in ["arm", "calf", "snail", "tube:vertices=1500,bones=9"] {
        let subject = Subject::zoo(name);
        let rest = rest_volume(&subject);
        for (scope, shape) in [("both", "bulge"), ("whole", "organic"), ("whole", "rubber")] {
            let stage = subject.stage(&volume(scope, shape));
            let base = subject.stage(&Recipe::default());
            for clip in 0..subject.clips.len() {
                let motion = subject.motion(clip, &MotionSettings::default(), &stage);
                let end = subject.clips[clip].span().map_or(0.0, |span| span.1);
                let mut lost = 0.0f64;
                for frame in 0..6 {
                    let time = end * f64::from(frame) / 6.0;
                    let out = subject.at(&stage, &motion, time, &Cpu::serial());
                    let before = enclosed(&subject.rig, &points(&subject.at(&base, &motion, time, &Cpu::serial())));
                    let after = enclosed(&subject.rig, &points(&out));
                    let report = whole(&out);
                    let (seen, aimed) = (report.before / before - 1.0, report.target / rest - 1.0);
                    assert!(seen.abs() < 1e-6 && aimed.abs() < 1e-6, "{name}: {seen} {aimed}");
                    let done = matches!(report.outcome, Outcome::Restored | Outcome::Still);
                    assert!(done, "{name} {scope} {shape} at {time}: {report:?}");
                    assert!((after / rest - 1.0).abs() < 1e-6, "{name} {scope} {shape} at {time}: {report:?}");
                    lost = lost.max((before / rest - 1.0).abs());
                }
                assert!(lost > 1e-4, "{name} clip {clip} loses {lost}");
            }
        }
    }
}

/// Meters ask for nodes, in f64; without them volumes are restored in rows. Clips where everything moves, and poses where
/// little does.
#[test]
fn rows_and_nodes_agree() {
    for name in ["arm", "calf", "tube:vertices=1500,bones=9"] {
        let subject = Subject::zoo(name);
        let size = subject.rig.characters()[0].size;
        let cube = rest_volume(&subject);
        for (scope, shape) in [("both", "bulge"), ("segments", "muscle"), ("whole", "organic")] {
            let recipe = volume(scope, shape);
            let (in_rows, in_nodes) = (subject.stage(&recipe), subject.stage(&recipe).metered());
            let motion = subject.motion(0, &MotionSettings::default(), &in_rows);
            let last = subject.rig.palette().last().expect("a bone").bone;
            let turn = subject.turned(&[(subject.rig.skeleton().name(last), DQuat::from_rotation_x(0.8))]);
            let still = Kinematics::at_rest(subject.rig.skeleton().len(), 0);
            let frames = [&in_rows, &in_nodes].map(|stage| {
                let posed = subject.with(stage, &turn, &still, &Cpu::serial());
                let times = [0.1, 0.35, 0.8].map(|time| subject.at(stage, &motion, time, &Cpu::serial()));
                times.into_iter().chain([posed])
            });
            let [rows, nodes] = frames;
            for (frame, (rows, nodes)) in rows.zip(nodes).enumerate() {
                for (a, b) in rows.positions.iter().zip(&nodes.positions) {
                    let apart = f64::from(a.distance(*b)) / size;
                    assert!(apart < 1e-5, "{name} {scope} {frame}: {apart}");
                }
                for (a, b) in rows.corrected.volumes.iter().zip(&nodes.corrected.volumes) {
                    let case = || format!("{name} {scope} {frame}: {a:?} {b:?}");
                    assert_eq!(a.measure, b.measure, "{}", case());
                    // Rounding positions changes a volume by up to 2e-7 of the whole here: whether that much can be
                    // mended is chance.
                    let is_rounding = [a, b].iter().all(|r| r.before.abs().max(r.after.abs()) < 3e-7 * cube);
                    // Newton may end astray once next to nothing is left.
                    let is_done = [a, b].iter().all(|r| (r.after - r.target).abs() < 1e-8 * cube);
                    assert!(a.outcome == b.outcome || is_rounding || is_done, "{}", case());
                    let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * cube;
                    assert!(close(a.before, b.before) && close(a.after, b.after), "{}", case());
                    assert!((a.largest_move - b.largest_move).abs() < 1e-5 * size, "{}", case());
                }
                assert_eq!(rows.corrected.volumes.len(), nodes.corrected.volumes.len());
            }
        }
    }
}

#[test]
fn any_order_and_any_thread_count_give_the_same_bits() {
    let subject = Subject::zoo("arm");
    let mut recipe = corrected(vec![by_segments(), correction("fold-over", &[])]);
    recipe.effects.push(effect("floppy", &[]));
    let stage = subject.stage(&recipe);
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let times = [0.3, 0.8, 1.2];
    let forward: Vec<_> = times.iter().map(|&t| subject.at(&stage, &motion, t, &Cpu::serial())).collect();
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for (frame, &time) in times.iter().enumerate().rev() {
            let out = subject.at(&stage, &motion, time, &Cpu { pool: Some(&pool), ..Cpu::serial() });
            assert_eq!(bits(&out), bits(&forward[frame]));
            assert_eq!(out.corrected, forward[frame].corrected);
        }
    }
    // Memory that another rig left behind.
    let mut workspace = Workspace::default();
    for subject in [Subject::zoo("tube:vertices=300,bones=4"), Subject::zoo("arm")] {
        let stage = subject.stage(&recipe);
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let fresh = subject.at(&stage, &motion, 0.8, &Cpu::serial());
        assert_eq!(bits(stage.resume(&motion).unwrap().frame(0.8, &mut workspace)), bits(&fresh));
    }
}

/// Enough points for several blocks of rows: what runs in rows, normals from faces, and springs.
#[test]
fn blocks_on_threads_give_the_same_bits() {
    let subject = Subject::zoo("tube:vertices=4000,bones=5");
    let pools = [1, 2, 3].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    let springs = corrected(vec![correction("springs", &[])]);
    for mut recipe in [volume("whole", "organic"), volume("both", "bulge"), springs] {
        for effects in [vec![], vec![effect("floppy", &[])]] {
            recipe.effects = effects;
            let stage = subject.stage(&recipe);
            let motion = subject.motion(0, &MotionSettings::default(), &stage);
            let alone = subject.at(&stage, &motion, 0.4, &Cpu::serial());
            let of_whole = |report: &&VolumeReport| report.measure == Measure::Whole;
            let mut wholes = alone.corrected.volumes.iter().filter(of_whole);
            assert!(wholes.all(|report| report.outcome == Outcome::Restored));
            for pool in &pools {
                let out = subject.at(&stage, &motion, 0.4, &Cpu { pool: Some(pool), ..Cpu::serial() });
                assert_eq!(bits(&out), bits(&alone));
                assert_eq!(out.corrected, alone.corrected);
            }
        }
    }
}

#[test]
fn what_is_still_is_left_to_the_bit() {
    let subject = Subject::zoo("arm");
    let both = corrected(vec![by_segments(), correction("fold-over", &[])]);
    let base = Recipe { normals: recipe::Normals::Engine, ..Recipe::default() };
    // At rest, and turned as a whole.
    for turn in [DQuat::IDENTITY, DQuat::from_rotation_x(0.7)] {
        let pose = subject.turned(&[("upper_arm", turn)]);
        let out = subject.posed(&both, &pose);
        assert_eq!(bits(&out), bits(&subject.posed(&base, &pose)));
        assert!(out.corrected.volumes.iter().all(|report| report.outcome == Outcome::Still && report.rounds == 0));
        assert!(out.corrected.contacts.iter().all(|contact| contact.points == 0));
    }
    // A finger alone.
    let pose = subject.turned(&[("index.2", DQuat::from_rotation_x(1.2))]);
    let plain = subject.posed(&base, &pose);
    let by_segments = subject.posed(&volume("segments", "bulge"), &pose);
    let moving = |report: &VolumeReport| match report.measure {
        Measure::Segment(bone) if report.outcome != Outcome::Still => Some(subject.rig.skeleton().name(bone)),
        _ => None,
    };
    let moving: Vec<&str> = by_segments.corrected.volumes.iter().filter_map(moving).collect();
    assert!(moving.contains(&"index.1") && moving.contains(&"index.2") && moving.len() <= 4, "{moving:?}");
    only_near_a_finger(&subject, &by_segments, &plain, &moving);
    for recipe in [volume("whole", "organic"), volume("both", "bulge"), both.clone()] {
        let out = subject.posed(&recipe, &pose);
        only_near_a_finger(&subject, &out, &plain, &moving);
        let rest = rest_volume(&subject);
        let [before, after] = [&plain, &out].map(|mesh| enclosed(&subject.rig, &points(mesh)) / rest);
        assert!((before - 1.0).abs() > 1e-5 && (after - 1.0).abs() < 1e-6, "{before} {after}");
        assert!((whole(&out).before / rest - before).abs() < 1e-6 && (whole(&out).after / rest - after).abs() < 1e-6);
    }
    // Off is off.
    let mut off = both.clone();
    off.corrections.iter_mut().for_each(|spec| spec.gain = 0.0);
    assert_eq!(bits(&subject.posed(&off, &pose)), bits(&plain));
}

/// Nothing but the skin of some bones is other than in the base.
fn only_near_a_finger(subject: &Subject, out: &DeformedMesh, plain: &DeformedMesh, moving: &[&str]) {
    let changed = out.positions.iter().zip(&plain.positions).filter(|(a, b)| a != b).count();
    assert!(changed > 10);
    for (vertex, (a, b)) in out.positions.iter().zip(&plain.positions).enumerate() {
        let bone = subject.rig.main_bone(subject.rig.point(vertex)).expect("an influence");
        let name = subject.rig.skeleton().name(bone);
        assert!(a == b || moving.contains(&name), "vertex {vertex} of {name}");
    }
}

/// Pairs of triangles around a joint that cut each other and share no point: between the two bones' own, and all.
fn cuts(subject: &Subject, mesh: &DeformedMesh, bones: [&str; 2]) -> [usize; 2] {
    let bones = bones.map(|name| subject.bone(name));
    let bone_of = |v: u32| subject.rig.main_bone(subject.rig.point(v as usize));
    let faces: Vec<&[u32; 3]> = subject
        .rig
        .triangles()
        .iter()
        .filter(|corners| corners.iter().all(|&v| bone_of(v).is_some_and(|bone| bones.contains(&bone))))
        .collect();
    assert!(faces.len() > 100);
    let places: Vec<[DVec3; 3]> =
        faces.iter().map(|corners| corners.map(|v| mesh.positions[v as usize].as_dvec3())).collect();
    let bounds = |t: &[DVec3; 3]| (t[0].min(t[1]).min(t[2]), t[0].max(t[1]).max(t[2]));
    let through = |edges: &[DVec3; 3], face: &[DVec3; 3]| (0..3).any(|k| crosses(edges[k], edges[(k + 1) % 3], face));
    let [mut between, mut all] = [0; 2];
    for (i, a) in places.iter().enumerate() {
        let (low, high) = bounds(a);
        for (j, b) in places.iter().enumerate().skip(i + 1) {
            let (other_low, other_high) = bounds(b);
            let near = low.cmple(other_high).all() && other_low.cmple(high).all();
            let share = || {
                let point = |v: u32| subject.rig.point(v as usize);
                faces[i].iter().any(|&v| faces[j].iter().any(|&other| point(v) == point(other)))
            };
            if near && (through(a, b) || through(b, a)) && !share() {
                let of = |face: &[u32; 3]| face.map(bone_of);
                let is_own = |face: &[u32; 3]| of(face).iter().all(|&bone| bone == of(face)[0]);
                let apart = is_own(faces[i]) && is_own(faces[j]) && bone_of(faces[i][0]) != bone_of(faces[j][0]);
                between += usize::from(apart);
                all += 1;
            }
        }
    }
    [between, all]
}

/// Whether a line from `p` to `q` goes through the inside of a face.
fn crosses(p: DVec3, q: DVec3, [a, b, c]: &[DVec3; 3]) -> bool {
    let side = |x: DVec3| (x - a).dot((b - a).cross(c - a));
    let (from, to) = (side(p), side(q));
    if from * to >= 0.0 {
        return false;
    }
    let hit = p + (q - p) * (from / (from - to));
    let normal = (b - a).cross(c - a);
    [(a, b), (b, c), (c, a)].iter().all(|(u, v)| (**v - **u).cross(hit - **u).dot(normal) > 0.0)
}

#[test]
fn a_bent_arm_touches_itself_and_does_not_cut_itself() {
    let subject = Subject::zoo("arm");
    let rest = rest_volume(&subject);
    let names = ["upper_arm", "forearm"];
    let alone = corrected(vec![correction("fold-over", &[])]);
    let guarded = corrected(vec![by_segments(), correction("fold-over", &[])]);
    for degrees in [60.0f64, 110.0, 130.0, 145.0] {
        let pose = subject.turned(&[("forearm", DQuat::from_rotation_x(degrees.to_radians()))]);
        let [plain, fold_over, out] = [&Recipe::default(), &alone, &guarded].map(|recipe| subject.posed(recipe, &pose));
        let [linear, contact, both] = [&plain, &fold_over, &out].map(|mesh| cuts(&subject, mesh, names));
        assert_eq!(contact, [0; 2], "{degrees}°");
        assert_eq!(both, [0; 2], "{degrees}°");
        let points_in_contact = out.corrected.contacts[0].points;
        if degrees >= 130.0 {
            assert!(linear[0] > 0 && linear[1] > 50, "{degrees}°: linear blending cuts: {linear:?}");
            assert!(points_in_contact > 10, "{degrees}°: {points_in_contact}");
        }
        let report = whole(&out);
        let left = (enclosed(&subject.rig, &points(&out)) / rest - 1.0).abs();
        assert!(left < 1e-6, "{degrees}°: {left} {report:?}");
    }
    // What does not fold is left to the bit.
    for degrees in [0.0f64, 40.0] {
        let pose = subject.turned(&[("forearm", DQuat::from_rotation_x(degrees.to_radians()))]);
        let out = subject.posed(&alone, &pose);
        assert_eq!(out.corrected.contacts[0].points, 0, "{degrees}°");
        assert_eq!(out.positions, subject.posed(&Recipe::default(), &pose).positions, "{degrees}°");
    }
}

/// Half a degree more never moves the skin by much more than linear blending does.
#[test]
fn contact_comes_gradually() {
    let subject = Subject::zoo("arm");
    let recipes =
        [Recipe::default(), corrected(vec![correction("fold-over", &[])]), volume("whole", "organic")].map(|recipe| {
            let at = |degrees: f64| {
                let pose = subject.turned(&[("forearm", DQuat::from_rotation_x(degrees.to_radians()))]);
                points(&subject.posed(&recipe, &pose))
            };
            let way = |step: u32| {
                let [a, b] = [step, step + 1].map(|step| at(90.0 + 0.5 * f64::from(step)));
                a.iter().zip(&b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
            };
            (0..140).map(way).fold(0.0, f64::max)
        });
    let [linear, fold_over, organic] = recipes;
    assert!(fold_over < 2.0 * linear && organic < 2.0 * linear, "{linear} {fold_over} {organic}");
}

#[test]
fn every_end_of_every_range_stays_finite() {
    let subject = Subject::zoo("tube:vertices=300,bones=4");
    let pose = subject
        .turned(&[("tube.2", DQuat::from_rotation_z(2.5)), ("tube.3", DQuat::from_rotation_y(std::f64::consts::PI))]);
    for entry in CORRECTIONS {
        for param in entry.params {
            let ends = match param.kind {
                ParamKind::Number { min, max, .. } => vec![min, max],
                ParamKind::Switch { .. } => vec![0.0, 1.0],
                ParamKind::Choice { words } => (0..words.len()).map(|index| index as f64).collect(),
            };
            for value in ends {
                let mut spec = correction(entry.name, &[]);
                spec.values.set(param.name, value).unwrap();
                let out = subject.posed(&corrected(vec![spec]), &pose);
                let reports = &out.corrected.volumes;
                assert!(reports.iter().all(|r| [r.before, r.after, r.largest_move].iter().all(|v| v.is_finite())));
            }
        }
    }
    // Collapsed, blown up, far away.
    for scale in [0.0, 1e-12, 1e12, -1.0] {
        let mut pose = pose.clone();
        if let LocalTransform::Trs(trs) = &mut pose.locals[subject.bone("tube.3").index()] {
            trs.scale = DVec3::splat(scale);
        }
        subject.posed(&corrected(vec![by_segments(), correction("fold-over", &[])]), &pose);
    }
}

fn counted(names: &[&str]) -> Row {
    Row::one(Cell::Bones(names.iter().map(|&name| name.to_owned()).collect()))
}

#[test]
fn the_bones_that_count_can_be_chosen_and_unknown_names_are_told() {
    let subject = Subject::zoo("arm");
    let pose = subject.turned(&[("forearm", DQuat::from_rotation_x(1.5))]);
    let all = volume("whole", "organic");
    let mut some = all.clone();
    some.corrections[0].tables.add("bones", "forearm", counted(&["hand"])).unwrap();
    assert!(bits(&subject.posed(&some, &pose)) != bits(&subject.posed(&all, &pose)));
    some.corrections[0].tables.add("bones", "forearm", counted(&["hant"])).unwrap();
    let error = Stage::new(&subject.rig, &some).unwrap_err().to_string();
    assert!(error.contains("hant") && error.contains("hand") && error.contains("volume"), "{error}");
    let mut painted = all;
    painted.corrections[0].map = Some("belly".to_owned());
    assert!(Stage::new(&subject.rig, &painted).is_err());
}

#[test]
fn a_painted_map_says_where() {
    let mut zoo = sinew_zoo::build("tube:vertices=1500,bones=4").unwrap();
    let primitive = &mut zoo.raw.meshes[0].primitives[0];
    let half: Vec<f32> = primitive.positions.iter().map(|p| if p.x > 0.0 { 1.0 } else { -1.0 }).collect();
    primitive.maps.push(("half".to_owned(), half.clone()));
    let subject = Subject::new(&zoo.raw, zoo.clips);
    let pose = subject.turned(&[("tube.3", DQuat::from_rotation_z(1.2))]);
    let mut recipe = volume("whole", "rubber");
    recipe.corrections[0].map = Some("half".to_owned());
    let (out, plain) = (subject.posed(&recipe, &pose), subject.posed(&Recipe::default(), &pose));
    assert_eq!(whole(&out).outcome, Outcome::Restored);
    for (vertex, painted) in half.iter().enumerate() {
        assert!(*painted > 0.0 || out.positions[vertex] == plain.positions[vertex], "vertex {vertex}");
    }
}

#[test]
fn recipes_hold_corrections() {
    let text = "version = 1\n\n[[correction]]\ntype = \"volume\"\nshape = \"organic\"   # fat\nalpha = 2\n\
                [correction.bones]\n\"belly*\" = [\"spine*\", \"hips\"]\n\n[[correction]]\ntype = \"fold-over\"\n";
    let mut file = RecipeFile::parse(text).unwrap();
    let specs = &file.recipe().corrections;
    assert_eq!((specs[0].correction.name, specs[0].values.word("shape")), ("volume", "organic"));
    assert_eq!((specs[0].values.number("alpha"), specs[0].values.word("step")), (2.0, "exact"));
    assert_eq!(specs[0].tables.rows("bones"), [("belly*".to_owned(), counted(&["spine*", "hips"]))]);
    file.set(Place::Correction(0, "shape"), "rubber").unwrap();
    assert_eq!(file.to_string(), text.replace("organic", "rubber"));
    file.remove_correction(1).unwrap();
    assert!(file.remove_correction(1).unwrap_err().to_string().contains("no correction 1"));
    let mut spec = correction("volume", &[("scope", "whole")]);
    spec.gain = 0.5;
    spec.tables.add("bones", "a.b", counted(&["c"])).unwrap();
    file.add_correction(&spec).unwrap();
    let added = &file.recipe().corrections[1];
    assert_eq!((added.gain, added.values.word("scope"), &added.tables), (0.5, "whole", &spec.tables));

    for (wrong, told) in [
        ("type = \"volum\"", "volume"),
        ("type = \"volume\"\nshape = \"rubbr\"", "rubber"),
        ("type = \"volume\"\nalpha = 9", "0 to 8"),
        ("type = \"fold-over\"\nmap = \"a\"", "map"),
        ("type = \"volume\"\nbones = { a = \"b\" }", "list"),
        ("gain = 0.5", "type"),
    ] {
        let error = RecipeFile::parse(&format!("version = 1\n[[correction]]\n{wrong}\n")).unwrap_err().to_string();
        assert!(error.contains(told), "{wrong}: {error}");
    }
    let template = RecipeFile::parse(&RecipeFile::template()).unwrap();
    assert_eq!(template.recipe().corrections.len(), CORRECTIONS.len());
    for (spec, correction) in template.recipe().corrections.iter().zip(CORRECTIONS) {
        assert_eq!((spec.correction, spec.gain), (correction, 0.0));
        assert_eq!(spec.values, sinew::param::Values::defaults(correction.params));
        assert!(RecipeFile::template().contains(correction.about));
    }
}
