//! A stage that follows another recipe, or another map, is to the bit the stage that is made by it.

use crate::common::{Subject, bits, effect, recipe};
use glam::DVec3;
use sinew::base::BASES;
use sinew::correct::CORRECTIONS;
use sinew::maps::PointMap;
use sinew::param::{ParamKind, ParamSpec, Values};
use sinew::recipe::*;
use sinew::registry::EFFECTS;
use sinew::table::{Cell, CellKind, Row, Tables};
use sinew::*;

/// Parameters that decide more than numbers.
const STRUCTURAL: &[(&str, &[&str])] = &[
    ("volume", &["scope"]),
    ("fold-over", &[]),
    ("muscles", &["shape", "samples", "reach"]),
    ("springs", &["attach", "smoothing", "history"]),
    ("bulge", &["attach", "smoothing"]),
];

/// Moments of the clip, in seconds.
const MOMENTS: [f64; 2] = [0.37, 0.7];

fn tube() -> Subject {
    Subject::zoo("tube:vertices=300,bones=5")
}

fn same(subject: &Subject, stage: &Stage, fresh: &Stage, case: &str) {
    assert_eq!(stage.filtered_signals(), fresh.filtered_signals(), "{case}");
    let motion = subject.motion(0, &MotionSettings::default(), fresh);
    for time in MOMENTS {
        let [found, expected] = [stage, fresh].map(|stage| bits(&subject.at(stage, &motion, time, &Cpu::serial())));
        assert!(found == expected, "{case} at {time}");
    }
}

/// There and back again.
fn follows(subject: &Subject, from: &Recipe, to: &Recipe, case: &str) -> Retuned {
    let (fresh_from, fresh_to) = (subject.stage(from), subject.stage(to));
    let mut stage = subject.stage(from);
    let there = stage.retune(to).expect(case);
    same(subject, &stage, &fresh_to, case);
    let back = stage.retune(from).expect(case);
    same(subject, &stage, &fresh_from, &format!("{case}, back"));
    assert_eq!(there, back, "{case}");
    assert_eq!(there.motion, fresh_from.filtered_signals() != fresh_to.filtered_signals(), "{case}");
    there
}

/// Every parameter with another value than it has; every other word of a choice.
fn others(specs: &'static [ParamSpec], values: &Values) -> Vec<(&'static str, Values)> {
    let mut all = Vec::new();
    for spec in specs {
        let now = values.number(spec.name);
        let given: Vec<f64> = match spec.kind {
            ParamKind::Number { min, max, .. } => {
                let near = if max - now >= now - min { now + 0.3 * (max.min(now + 2.0) - now) } else { 0.7 * now };
                let near = near.max(min);
                vec![if matches!(spec.name, "iterations" | "samples" | "smoothing" | "steps") {
                    near.round()
                } else {
                    near
                }]
            }
            ParamKind::Switch { .. } => vec![1.0 - now],
            ParamKind::Choice { words } => (0..words.len()).map(|k| k as f64).filter(|&k| k != now).collect(),
        };
        for value in given {
            let mut other = values.clone();
            other.set(spec.name, value).expect(spec.name);
            assert_ne!(&other, values, "{}", spec.name);
            all.push((spec.name, other));
        }
    }
    all
}

#[test]
fn every_parameter_of_every_effect() {
    let subject = tube();
    for entry in EFFECTS {
        let spec = effect(entry.name(), &[]);
        let from = Recipe { normals: Normals::Exact, ..recipe(vec![spec.clone()]) };
        for (name, values) in others(entry.params(), &spec.values) {
            let to = Recipe { effects: vec![EffectSpec { values, ..spec.clone() }], ..from.clone() };
            let retuned = follows(&subject, &from, &to, &format!("{name} of {}", entry.name()));
            assert!(!retuned.rebuilt, "{name} of {}", entry.name());
        }
    }
}

fn stiffer(factor: f64) -> Row {
    Row::of([("bone", Cell::Number(factor))])
}

#[test]
fn every_parameter_of_every_base() {
    let subject = tube();
    let with = |base: BaseSpec| Recipe { base, ..recipe(vec![effect("floppy", &[])]) };
    for entry in BASES {
        let spec = BaseSpec::of(entry);
        for (name, values) in others(entry.params, &spec.values) {
            let to = with(BaseSpec { values, ..spec.clone() });
            let retuned = follows(&subject, &with(spec.clone()), &to, &format!("{name} of {}", entry.name));
            assert_eq!(retuned.rebuilt, (entry.name, name) != ("blend", "factor"), "{name} of {}", entry.name);
        }
    }
    for pair in BASES.windows(2) {
        let [from, to] = [0, 1].map(|k| with(BaseSpec::of(&pair[k])));
        assert!(follows(&subject, &from, &to, pair[1].name).rebuilt);
    }
}

#[test]
fn every_parameter_of_every_correction() {
    let subject = tube();
    for entry in CORRECTIONS {
        let structural = STRUCTURAL.iter().find(|(name, _)| *name == entry.name).expect(entry.name).1;
        let mut spec = CorrectionSpec::new(entry.name).unwrap();
        if entry.name == "springs" {
            spec.values.set("iterations", 6.0).unwrap();
            spec.tables.add("stiffness", "tube.2", stiffer(2.0)).unwrap();
        }
        if entry.name == "muscles" {
            spec.tables.add("muscles", "tube.2", Row::of([("flexed_by", Cell::Bones(vec!["tube.3".into()]))])).unwrap();
        }
        let with = |spec: CorrectionSpec| Recipe { corrections: vec![spec], ..recipe(vec![effect("floppy", &[])]) };
        for (name, values) in others(entry.params, &spec.values) {
            let to = with(CorrectionSpec { values, ..spec.clone() });
            let retuned = follows(&subject, &with(spec.clone()), &to, &format!("{name} of {}", entry.name));
            assert_eq!(retuned.rebuilt, structural.contains(&name), "{name} of {}", entry.name);
        }
        let half = with(CorrectionSpec { gain: 0.5, ..spec.clone() });
        assert!(!follows(&subject, &with(spec.clone()), &half, entry.name).rebuilt, "gain of {}", entry.name);
        let none = with(CorrectionSpec { gain: 0.0, ..spec.clone() });
        assert!(follows(&subject, &with(spec.clone()), &none, entry.name).rebuilt, "no {}", entry.name);
        if entry.name == "muscles" {
            for cell in entry.tables.iter().flat_map(|table| table.row.cells()) {
                let (CellKind::Number(range) | CellKind::Keyed(range)) = cell.kind else { continue };
                let at = |share: f64| {
                    let mut tables = Tables::none(entry.tables);
                    let value = Cell::Number(range.min + share * (range.max - range.min));
                    tables.add("muscles", "tube.2", Row::of([(cell.name, value)])).unwrap();
                    with(CorrectionSpec { tables, ..spec.clone() })
                };
                assert!(!follows(&subject, &at(0.2), &at(0.3), cell.name).rebuilt, "{} of a muscle", cell.name);
            }
        }
        if entry.name == "springs" {
            let mut tables = Tables::none(entry.tables);
            tables.add("stiffness", "tube.2", stiffer(0.5)).unwrap();
            let softer = with(CorrectionSpec { tables, ..spec.clone() });
            assert!(!follows(&subject, &with(spec), &softer, "factors").rebuilt);
        }
    }
}

#[test]
fn every_key_that_effects_share() {
    let subject = tube();
    let gain = |translation: f64| BoneGain { translation, ..BoneGain::default() };
    let key = |value: f64| KeyCurve::new(vec![(0.0, 0.0), (0.5, value)]).unwrap();
    let mut floppy = effect("floppy", &[]);
    floppy.bones = vec![("tube.?".to_owned(), gain(0.5))];
    floppy.keys = vec![("gain".to_owned(), key(1.0)), ("rotation".to_owned(), key(0.2))];
    let mut lift = effect("centrifugal-lift", &[]);
    lift.cone = Some(ConeSpec { bone: Some("tube.3".to_owned()), ..lift.cone.unwrap() });
    let from = Recipe { normals: Normals::Exact, ..recipe(vec![floppy, lift]) };
    type Case = (&'static str, bool, fn(&mut Recipe));
    let cases: &[Case] = &[
        ("gain", false, |recipe| recipe.effects[0].gain = -0.4),
        ("gain of 0", false, |recipe| recipe.effects[0].gain = 0.0),
        ("gain with a cone", false, |recipe| recipe.effects[1].gain = 0.7),
        ("gain of 0 with a cone", false, |recipe| recipe.effects[1].gain = 0.0),
        ("root", false, |recipe| recipe.effects[0].root = 0.3),
        ("raw", false, |recipe| recipe.effects[0].raw = true),
        ("parts", true, |recipe| recipe.effects[0].parts = vec!["tube.3".to_owned(), "tube.4".to_owned()]),
        ("compensate", true, |recipe| recipe.effects[0].compensate = true),
        ("bone", false, |recipe| recipe.effects[0].bones[0].1.rotation = 2.0),
        ("centroid", false, |recipe| recipe.effects[0].bones[0].1.centroid = Some(Centroid::Offset(DVec3::X))),
        ("bones", true, |recipe| recipe.effects[0].bones[0].0 = "tube.1".to_owned()),
        ("keys", false, |recipe| recipe.effects[0].keys[0].1 = KeyCurve::constant(0.3)),
        ("keyed", true, |recipe| _ = recipe.effects[0].keys.pop()),
        ("cone gain", false, |recipe| recipe.effects[1].cone.as_mut().unwrap().gain = 3.0),
        ("cone limit", false, |recipe| recipe.effects[1].cone.as_mut().unwrap().max_length = 0.02),
        ("cone bone", true, |recipe| recipe.effects[1].cone.as_mut().unwrap().bone = None),
        ("max_total", false, |recipe| recipe.max_total = Some(TotalLimit { length: 0.01, soft: true })),
        ("max_strain", false, |recipe| recipe.max_strain = MaxStrain::new(1.1).unwrap()),
        ("riders", false, |recipe| recipe.riders = Riders::Still),
        ("rigid", true, |recipe| recipe.rigid = Rigid::None),
        ("sewn", true, |recipe| recipe.sewn = Sewn::None),
        ("collide", true, |recipe| recipe.collide = Collide::None),
        ("normals", true, |recipe| recipe.normals = Normals::Faces),
        ("one effect less", true, |recipe| _ = recipe.effects.pop()),
    ];
    for (case, rebuilt, change) in cases {
        let mut to = from.clone();
        change(&mut to);
        assert_eq!(follows(&subject, &from, &to, case).rebuilt, *rebuilt, "{case}");
    }
    // The same on some parts alone.
    let mut from = from;
    from.effects.iter_mut().for_each(|effect| effect.parts = vec!["tube.3".to_owned(), "tube.4".to_owned()]);
    for (case, rebuilt, change) in cases.iter().filter(|(case, ..)| *case != "parts") {
        let mut to = from.clone();
        change(&mut to);
        assert_eq!(follows(&subject, &from, &to, case).rebuilt, *rebuilt, "{case} of parts");
    }
}

#[test]
fn edits() {
    let subject = tube();
    let edit =
        |drive: Drive| EditSpec { drive, ..EditSpec::new(EditShape::Radial(correct::surface_edit::Profile::Bulge)) };
    let mut springs = CorrectionSpec::new("springs").unwrap();
    springs.values.set("iterations", 4.0).unwrap();
    let from = Recipe {
        corrections: vec![springs],
        edits: vec![edit(Drive::Direct), edit(Drive::Springs)],
        ..Recipe::default()
    };
    type Case = (&'static str, bool, fn(&mut Recipe));
    let cases: &[Case] = &[
        ("amount", false, |recipe| recipe.edits[0].amount = KeyCurve::constant(0.6)),
        ("amount of springs", false, |recipe| recipe.edits[1].amount = KeyCurve::constant(0.6)),
        ("stiffness", false, |recipe| recipe.edits[1].stiffness = 3.0),
        ("bones", false, |recipe| recipe.edits[0].bones = vec!["tube.1".to_owned()]),
        ("bones of springs", false, |recipe| recipe.edits[1].bones = vec!["tube.1".to_owned()]),
        ("profile", false, |recipe| {
            recipe.edits[1].shape = EditShape::Radial(correct::surface_edit::Profile::Even);
        }),
        ("none", true, |recipe| recipe.edits[0].amount = KeyCurve::constant(0.0)),
        ("drive", true, |recipe| recipe.edits[0].drive = Drive::Springs),
        ("attach", true, |recipe| recipe.corrections[0].values.choose("attach", "nearest").unwrap()),
    ];
    for (case, rebuilt, change) in cases {
        let mut to = from.clone();
        change(&mut to);
        assert_eq!(follows(&subject, &from, &to, case).rebuilt, *rebuilt, "{case}");
    }
}

#[test]
fn presets_to_presets() {
    let subject = tube();
    let parse = |preset: &presets::Preset| RecipeFile::parse(preset.text).unwrap().recipe().without_strength();
    for from in presets::names() {
        for to in presets::names() {
            let retuned = follows(&subject, &parse(from), &parse(to), &format!("{} to {}", from.name, to.name));
            assert!(from != to || !retuned.rebuilt);
        }
    }
}

/// Against a rig that has the map from the start.
#[test]
fn painted_maps() {
    let names = ["all", "bump.length"];
    let value = |vertex: usize, k: usize| ((vertex * (k + 3)) as f32 * 0.37).sin() * 0.5 + 0.6;
    let painted = |k: usize| {
        let mut zoo = sinew_zoo::build("tube:vertices=300,bones=5").unwrap();
        for primitive in zoo.raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
            let values: Vec<f32> = (0..primitive.positions.len()).map(|vertex| value(vertex, k)).collect();
            primitive.maps = names.iter().map(|name| ((*name).to_owned(), values.clone())).collect();
        }
        Subject { rig: std::sync::Arc::new(Rig::build(&zoo.raw).unwrap().0), clips: zoo.clips }
    };
    let (first, second) = (painted(0), painted(1));
    let recipe = |text: &str| RecipeFile::parse(&format!("version = 1\n{text}")).unwrap().recipe().clone();
    let effects = "[[effect]]\ntype = 'floppy'\nmap = 'all'\n[[effect]]\ntype = 'squash'\n";
    let cases = [
        (effects.to_owned(), false),
        (format!("normals = 'exact'\nbase = {{ type = 'blend', factor = 0.7, map = 'all' }}\n{effects}"), false),
        ("[[effect]]\ntype = 'centrifugal-lift'\nmap = 'all'\ncone = { bone = 'tube.3', axis = [0, 1, 0], apex = [0, 4, 0], half_angle = 0.2, base_radius = 0.01 }".to_owned(), false),
        ("base = { type = 'fold-over-free', limbs = { 'tube.2' = { map = 'all' } } }".to_owned(), true),
        ("[[correction]]\ntype = 'volume'\nmap = 'all'".to_owned(), false),
        (
            "[[correction]]\ntype = 'volume'\nscope = 'both'\nmap = 'all'\n[[correction]]\ntype = 'bulge'".to_owned(),
            false,
        ),
        ("[[correction]]\ntype = 'bulge'\nmap = 'all'".to_owned(), false),
        (
            "[[correction]]\ntype = 'springs'\niterations = 5\nmap = 'all'\nmaps = { torsion = 'all' }".to_owned(),
            false,
        ),
        ("[[correction]]\ntype = 'muscles'\nmap = 'all'".to_owned(), false),
        ("[[correction]]\ntype = 'muscles'\n[correction.muscles]\n'tube.2' = { map = 'all' }".to_owned(), true),
        ("[[edit]]\ntype = 'shape'\nshape = 'bump'".to_owned(), false),
        ("[[edit]]\ntype = 'radial'\nprofile = 'bulge'\nmap = 'all'".to_owned(), false),
        ("[[effect]]\ntype = 'floppy'".to_owned(), false),
    ];
    for (text, rebuilt) in cases {
        let recipe = recipe(&text);
        let mut stage = first.stage(&recipe);
        for name in names {
            let map = second.rig.maps().iter().find(|map| map.name == name).unwrap();
            let retuned = stage.repaint(name, PointMap::from_vertex_map(&first.rig, map)).unwrap();
            assert_eq!(retuned.rebuilt, rebuilt && name == "all", "{text}");
        }
        same(&first, &stage, &second.stage(&recipe), &text);
        // What is painted stays where the recipe is bound anew.
        let faces = Recipe { normals: Normals::Faces, ..recipe.clone() };
        let _ = stage.retune(&faces).unwrap();
        same(&first, &stage, &second.stage(&faces), &text);
    }
    let mut stage = first.stage(&Recipe::default());
    let other = Subject::zoo("tube:vertices=600,bones=5");
    let error = stage.repaint("all", PointMap::from_fn(&other.rig, |_| 1.0)).unwrap_err();
    assert!(error.to_string().contains("make it from this rig"), "{error}");
}

#[test]
fn on_an_error_the_stage_is_as_it_was() {
    let subject = tube();
    let from = recipe(vec![effect("floppy", &[]), effect("squash", &[])]);
    let broken: &[fn(&mut Recipe)] = &[
        |recipe| recipe.effects[0].map = Some("nowhere".to_owned()),
        |recipe| recipe.effects[1].bones = vec![("nobody".to_owned(), BoneGain::default())],
        |recipe| recipe.effects[1].keys = vec![("rotation_filter".to_owned(), KeyCurve::constant(1.0))],
        |recipe| {
            let shape = EditShape::Radial(correct::surface_edit::Profile::Even);
            recipe.edits = vec![EditSpec { drive: Drive::Springs, ..EditSpec::new(shape) }];
        },
    ];
    for breaks in broken {
        let mut stage = subject.stage(&from);
        let mut to = from.clone();
        to.effects[0].gain = 0.2;
        breaks(&mut to);
        assert!(stage.retune(&to).is_err());
        assert_eq!(stage.recipe().effects[0].gain, 1.0);
        same(&subject, &stage, &subject.stage(&from), "error");
    }
}

/// Found after the map was painted.
#[test]
fn a_cone_that_no_longer_fits_leaves_the_stage_as_it_was() {
    let mut zoo = sinew_zoo::build("dancer").unwrap();
    let primitives = &mut zoo.raw.meshes[0].primitives;
    let reach = |p: &sinew::raw::RawPrimitive| {
        p.positions.iter().filter(|v| v.y < 0.8).map(|v| v.x.hypot(v.z)).fold(0.0, f32::max)
    };
    let dress = (0..primitives.len()).max_by(|&a, &b| reach(&primitives[a]).total_cmp(&reach(&primitives[b]))).unwrap();
    let heights = || primitives[dress].positions.iter().map(|p| p.y);
    let (low, high) = (heights().fold(f32::MAX, f32::min), heights().fold(f32::MIN, f32::max));
    let waist = low + 0.5 * (high - low);
    for (index, primitive) in primitives.iter_mut().enumerate() {
        let skirt = |p: &glam::Vec3| if index == dress { ((waist - p.y) / (waist - low)).clamp(0.0, 1.0) } else { 0.0 };
        primitive.maps = vec![("skirt".to_owned(), primitive.positions.iter().map(skirt).collect())];
    }
    let subject = Subject::new(&zoo.raw, zoo.clips.clone());
    let mut lift = EffectSpec::new("centrifugal-lift").unwrap();
    lift.map = Some("skirt".to_owned());
    let recipe = recipe(vec![lift]);
    let own = PointMap::from_vertex_map(&subject.rig, &subject.rig.maps()[0]);
    let faint = PointMap::from_fn(&subject.rig, |slot| 0.5 * own.at(slot));
    let mut stage = subject.stage(&recipe);
    assert!(!stage.repaint("skirt", faint.clone()).unwrap().rebuilt);
    let one = PointMap::from_fn(&subject.rig, |slot| if slot == 0 { 1.0 } else { 0.0 });
    assert!(matches!(stage.repaint("skirt", one), Err(GraphError::NoCone { .. })));
    assert_eq!(stage.painted()[0].values, faint.values());
    let mut fresh = subject.stage(&recipe);
    let _ = fresh.repaint("skirt", faint).unwrap();
    same(&subject, &stage, &fresh, "skirt");
}

/// Exact derivatives belong to the recipe they were given for; meters stay.
#[test]
fn meters_stay() {
    let subject = tube();
    let [from, to] = ["floppy", "squash"].map(|name| recipe(vec![effect(name, &[])]));
    let mut stage = subject.stage(&from).metered();
    assert!(stage.retune(&to).unwrap().rebuilt);
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    assert!(!subject.at(&stage, &motion, 0.4, &Cpu::serial()).corrected.segments.is_empty());
}

/// A slider moves one number sixty times a second.
#[test]
fn numbers_are_followed_without_allocating() {
    let subject = tube();
    let lively = RecipeFile::parse(presets::get("lively").unwrap()).unwrap().recipe().without_strength();
    let mut volume = Recipe { corrections: vec![CorrectionSpec::new("volume").unwrap()], ..lively.clone() };
    volume.edits = vec![EditSpec::new(EditShape::Radial(correct::surface_edit::Profile::Even))];
    let springs = Recipe { corrections: vec![CorrectionSpec::new("springs").unwrap()], ..Recipe::default() };
    type Case<'a> = (&'static str, &'a Recipe, fn(&mut Recipe));
    let cases: &[Case<'_>] = &[
        ("amount", &lively, |recipe| recipe.effects[0].values.set("rotation", 0.09).unwrap()),
        ("gain of a part", &lively, |recipe| recipe.effects[0].gain = 0.9),
        ("gain", &lively, |recipe| recipe.effects.last_mut().unwrap().gain = 0.9),
        ("root", &lively, |recipe| recipe.effects[1].root = 0.9),
        ("total", &lively, |recipe| recipe.max_total = Some(TotalLimit { length: 0.1, soft: false })),
        ("volume", &volume, |recipe| recipe.corrections[0].gain = 0.5),
        ("alpha", &volume, |recipe| recipe.corrections[0].values.set("alpha", 2.0).unwrap()),
        ("edit", &volume, |recipe| recipe.edits[0].amount = KeyCurve::constant(0.5)),
        ("torsion", &springs, |recipe| recipe.corrections[0].values.set("torsion", 2.0).unwrap()),
        ("springs", &springs, |recipe| recipe.corrections[0].gain = 0.5),
    ];
    for (case, from, change) in cases {
        let mut to = (*from).clone();
        change(&mut to);
        let mut stage = subject.stage(from);
        let told = allocation_counter::measure(|| {
            assert!(!stage.retune(&to).unwrap().rebuilt);
            assert!(!stage.retune(from).unwrap().rebuilt);
        });
        assert_eq!(told.count_total, 0, "{case}: {told:?}");
    }
}
