//! Strength: gains that move the skin as far as is asked for, against characters whose answer is known.

use crate::common::{Subject, effect, recipe};
use glam::{DAffine3, DVec3, Vec3};
use sinew::clip::{Interpolation, Track};
use sinew::correct::surface_edit::Profile;
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawSkin};
use sinew::recipe::*;
use sinew::strength::{Finding, Outcome, Over, Solved, StrengthError, solve};
use sinew::*;

/// Seconds by which the skin lags behind.
const LAG: f64 = 0.1;

/// A tetrahedron on one bone, under a node of that scale.
fn subject(scale: f64, clips: Vec<Clip>) -> Subject {
    let bone = |name: &str, parent, scale: f64| RawBone {
        name: name.into(),
        parent,
        local: LocalTransform::Trs(Trs { scale: DVec3::splat(scale), ..Trs::IDENTITY }),
    };
    let raw = RawRig {
        bones: vec![bone("world", None, scale), bone("bone", Some(0), 1.0), bone("mesh", None, 1.0)],
        skins: vec![RawSkin {
            name: "skin".into(),
            joints: vec![RawJoint { bone: 1, bone_from_rest: DAffine3::IDENTITY }],
        }],
        meshes: vec![RawMesh {
            name: "mesh".into(),
            node: 2,
            binding: RawBinding::Skin(0),
            primitives: vec![RawPrimitive {
                positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z],
                influences: RawInfluences { per_vertex: 1, joints: vec![0; 4], weights: vec![1.0; 4] },
                triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
                color: [1.0; 4],
                ..RawPrimitive::default()
            }],
            morph_weights: Vec::new(),
        }],
        animated: vec![1],
    };
    Subject::new(&raw, clips)
}

/// From rest along x at a constant acceleration, for a second.
fn starting(name: &str, acceleration: f32) -> Clip {
    let [zero, way, speed] = [0.0, 0.5 * acceleration, acceleration].map(|x| Vec3::X * x);
    let curve =
        Curve::new(Interpolation::CubicSpline, vec![0.0, 1.0], vec![zero, zero, zero, speed, way, speed]).unwrap();
    Clip { name: name.into(), tracks: vec![Track { node: 1, translation: Some(curve), ..Track::default() }] }
}

/// Velocities as they are.
fn exact() -> MotionSettings {
    MotionSettings {
        looping: Looping::No,
        ends: Ends::Continue,
        smoothing: Smoothing::Box(0.0),
        ..MotionSettings::default()
    }
}

/// The skin lags by `LAG` times the velocity, without a limit that matters.
fn lag() -> EffectSpec {
    effect("floppy", &[("translation", LAG), ("rotation", 0.0), ("max_length", 10.0)])
}

fn solved(subject: &Subject, recipe: &Recipe) -> Solved {
    let clips: Vec<_> = subject.clips.iter().map(|clip| (clip, exact())).collect();
    solve(&subject.rig, recipe, &clips).expect("the recipe fits")
}

fn only(solved: &Solved) -> Finding {
    let found: Vec<_> = solved.findings().cloned().collect();
    let [finding] = &found[..] else { panic!("{found:?}") };
    finding.clone()
}

fn strength(share: f64) -> Option<Strength> {
    Some(Strength::new(share).expect("a share"))
}

/// The velocity that 95 of 100 frames, 61 of a second, do not exceed: that of the 58th.
const NEAR_LAST: f64 = 57.0 / 60.0;

fn near(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 2e-4
}

#[test]
fn the_gain_of_a_plain_lag_is_that_of_its_equation() {
    for (scale, acceleration, share) in [(1.0, 3.0f32, 0.04), (100.0, 3.0, 0.04), (1.0, 0.02, 0.01), (0.01, 50.0, 0.3)]
    {
        let subject = subject(scale, vec![starting("go", acceleration)]);
        let expected = share * subject.size() / (LAG * f64::from(acceleration) * scale * NEAR_LAST);
        let of_effect = recipe(vec![EffectSpec { strength: strength(share), ..lag() }]);
        let of_recipe = Recipe { strength: strength(share), ..recipe(vec![EffectSpec { gain: -0.5, ..lag() }]) };
        for (recipe, gain) in [(of_effect, expected), (of_recipe, expected / -0.5)] {
            let solved = solved(&subject, &recipe);
            let finding = only(&solved);
            assert_eq!((finding.outcome, &finding.over), (Outcome::Reached, &Over::All(1)));
            assert!(near(finding.gain, gain.abs()), "{scale} {acceleration}: {finding:?}, not {gain}");
            assert!(near(finding.reached, share), "{finding:?}");
            assert!(!solved.recipe(0).is_unsolved());
            let set = if recipe.strength.is_some() { -0.5 * finding.gain } else { finding.gain };
            assert_eq!(solved.recipe(0).effects[0].gain, set);
            assert!(near(visible(&subject, solved.recipe(0), 0), share));
        }
    }
}

/// Visible strength, measured by frames alone.
fn visible(subject: &Subject, recipe: &Recipe, clip: usize) -> f64 {
    let (stage, base) = (subject.stage(recipe), subject.stage(&recipe.base_only()));
    let motions = [&stage, &base].map(|stage| subject.motion(clip, &exact(), stage));
    let moved = |frame: u32| {
        let time = f64::from(frame) / 60.0;
        let [a, b] = [(&stage, &motions[0]), (&base, &motions[1])]
            .map(|(stage, motion)| subject.at(stage, motion, time, &Cpu::serial()));
        crate::common::largest_difference(&a, &b) / subject.size()
    };
    let mut all: Vec<f64> = (0..=60).map(moved).collect();
    all.sort_by(f64::total_cmp);
    all[57]
}

/// One rig, another size: the same gain. A clip keyed more densely: the same gain.
#[test]
fn neither_the_size_nor_the_number_of_keys_matters() {
    let asked = Recipe { strength: strength(0.04), ..recipe(vec![lag(), effect("squash", &[])]) };
    let gain = |scale: f64, clip: Clip| only(&solved(&subject(scale, vec![clip]), &asked)).gain;
    let one = gain(1.0, starting("go", 3.0));
    for scale in [0.01, 100.0] {
        assert!(near(gain(scale, starting("go", 3.0)), one), "{scale}");
    }
    let times: Vec<f64> = (0..=100).map(|key| f64::from(key) / 100.0).collect();
    let values = times.iter().flat_map(|&t| [3.0 * t, 1.5 * t * t, 3.0 * t].map(|x| Vec3::X * x as f32)).collect();
    let curve = Curve::new(Interpolation::CubicSpline, times, values).unwrap();
    let track = Track { node: 1, translation: Some(curve), ..Track::default() };
    let dense = Clip { name: "go".into(), tracks: vec![track] };
    assert!(near(gain(1.0, dense), one));
}

#[test]
fn together_the_liveliest_clip_decides_and_each_by_itself() {
    let clips = || vec![starting("walk", 1.0), starting("run", 4.0), starting("idle", 0.1)];
    let (forth, mut back) = (subject(1.0, clips()), subject(1.0, clips()));
    back.clips.reverse();
    let asked = Recipe { strength: strength(0.04), ..recipe(vec![lag()]) };
    let [gain, other] = [&forth, &back].map(|subject| only(&solved(subject, &asked)).gain);
    assert_eq!(gain.to_bits(), other.to_bits(), "the order of clips");
    let of_run = 0.04 * forth.size() / (LAG * 4.0 * NEAR_LAST);
    assert!(near(gain, of_run), "{gain} {of_run}");
    let without_idle = subject(1.0, vec![starting("walk", 1.0), starting("run", 4.0)]);
    assert_eq!(only(&solved(&without_idle, &asked)).gain.to_bits(), gain.to_bits());

    let each = solved(&forth, &Recipe { strength_over: StrengthOver::Each, ..asked });
    for (clip, speed) in [1.0, 4.0, 0.1].into_iter().enumerate() {
        let found = each.recipe(clip).effects[0].gain;
        assert!(near(found, of_run * 4.0 / speed), "{clip}: {found}");
    }
    let words: Vec<_> = each.findings().map(ToString::to_string).collect();
    assert!(words[1].ends_with("in clip \"run\""), "{words:?}");
}

#[test]
fn balanced_clips_are_between_the_two() {
    let clips = || vec![starting("walk", 1.0), starting("still", 0.03), starting("run", 4.0), starting("idle", 0.1)];
    let (forth, mut back) = (subject(1.0, clips()), subject(1.0, clips()));
    back.clips.reverse();
    let of_run = 0.04 * forth.size() / (LAG * 4.0 * NEAR_LAST);
    let of_recipe = Recipe { strength: strength(0.04), ..recipe(vec![lag()]) };
    let of_effect = recipe(vec![EffectSpec { strength: strength(0.04), ..lag() }]);
    for asked in [of_recipe, of_effect] {
        let asked = Recipe { strength_over: StrengthOver::Balanced, ..asked };
        let (found, reversed) = (solved(&forth, &asked), solved(&back, &asked));
        // By gain: twice as strong at twice the gain, so that S √q takes the gain 1/√q; what is still stays.
        let expected = [(0.25f64, Outcome::Balanced), (1.0, Outcome::Still), (1.0, Outcome::Reached)];
        for (clip, (share, outcome)) in expected.into_iter().chain([(0.025, Outcome::Balanced)]).enumerate() {
            let gain = found.recipe(clip).effects[0].gain;
            assert!(near(gain, of_run / share.sqrt()), "{clip}: {gain} {of_run}");
            assert_eq!(gain.to_bits(), reversed.recipe(3 - clip).effects[0].gain.to_bits(), "the order of clips");
            let [finding] = found.findings_of(clip) else { panic!("{:?}", found.findings_of(clip)) };
            assert_eq!((finding.outcome, finding.gain), (outcome, gain));
            assert!(near(finding.reached, visible(&forth, found.recipe(clip), clip)), "{finding:?}");
            if outcome != Outcome::Still {
                assert!(near(finding.reached, 0.04 * share.sqrt()), "{finding:?}");
            }
        }
        let words = found.findings_of(0)[0].to_string();
        assert!(words.contains(" gives 2 % in clip \"walk\""), "{words}");
        assert_eq!(found.findings().count(), 4);
    }
    // One clip is its own liveliest.
    let one = subject(1.0, vec![starting("walk", 1.0)]);
    let asked = Recipe { strength: strength(0.04), strength_over: StrengthOver::Balanced, ..recipe(vec![lag()]) };
    assert!(near(only(&solved(&one, &asked)).reached, 0.04));
}

/// An effect on parts is as strong as it is there; one without anything to act on has no gain to be told.
#[test]
fn strength_is_that_of_the_part() {
    let tube = Subject::zoo("tube:vertices=400,bones=5");
    let on = |parts: &[&str]| EffectSpec {
        strength: strength(0.01),
        parts: parts.iter().map(|&part| part.to_owned()).collect(),
        ..effect("floppy", &[])
    };
    let asked = Recipe { rigid: Rigid::None, ..recipe(vec![on(&["tube.5"]), on(&["@wing"]), on(&["tube.2"])]) };
    let found = solved(&tube, &asked);
    let effects: Vec<_> = found.findings().map(|finding| finding.effect.map(|effect| effect.0)).collect();
    assert_eq!(effects, [Some(0), Some(2)]);
    for finding in found.findings() {
        assert!(near(finding.reached, 0.01), "{finding}");
    }
    assert_eq!(found.recipe(0).effects[1].gain, 1.0);
}

/// A limit bends what is linear without it; where it holds, the strength is not reached, and that is said.
#[test]
fn limits_are_solved_through_and_told() {
    let subject = subject(1.0, vec![starting("go", 3.0)]);
    let per_gain = LAG * 3.0 * NEAR_LAST / subject.size();
    let limited = |share: f64, soft: bool| {
        let max_total = Some(TotalLimit { length: 0.05, soft });
        let asked = Recipe { max_total, strength: strength(share), ..recipe(vec![lag()]) };
        let solved = solved(&subject, &asked);
        (only(&solved), visible(&subject, solved.recipe(0), 0))
    };
    let mut before = 0.0;
    for share in [0.01, 0.02, 0.03, 0.04, 0.045, 0.049] {
        let (finding, seen) = limited(share, true);
        assert_eq!(finding.outcome, Outcome::Reached, "{share}");
        assert!(near(seen, share) && near(finding.reached, share), "{share}: {finding:?} {seen}");
        assert!(finding.gain > before && finding.gain >= share / per_gain * (1.0 - 2e-4), "{finding:?}");
        before = finding.gain;
    }
    for share in [0.06, 1.0] {
        let (finding, seen) = limited(share, false);
        let Outcome::TooWeak { most } = finding.outcome else { panic!("{finding:?}") };
        assert!(near(most, 0.05) && near(finding.reached, 0.045) && near(seen, 0.045), "{finding:?} {seen}");
        assert!(near(finding.gain, 0.045 / per_gain), "{finding:?}");
        assert!(finding.to_string().contains("not reached, the largest gain gives 5 %"), "{finding}");
    }
}

#[test]
fn what_cannot_be_reached_has_a_gain_all_the_same() {
    let still = starting("still", 0.0);
    let asked = |share| Recipe { strength: strength(share), ..recipe(vec![lag()]) };
    let finding = only(&solved(&subject(1.0, vec![still]), &asked(0.04)));
    assert_eq!((finding.gain, finding.reached, finding.outcome), (1.0, 0.0, Outcome::Still));
    let finding = only(&solved(&subject(1.0, Vec::new()), &asked(0.04)));
    assert_eq!((finding.gain, finding.outcome, &finding.over), (1.0, Outcome::Still, &Over::All(0)));
    // A motion so small that the largest gain there is does not do.
    let slow = subject(1.0, vec![starting("slow", 1e-3)]);
    let finding = only(&solved(&slow, &asked(0.5)));
    assert!(matches!(finding.outcome, Outcome::TooWeak { .. }) && near(finding.gain, 90.0), "{finding:?}");
    let finding = only(&solved(&slow, &asked(0.0)));
    assert_eq!((finding.gain, finding.outcome), (0.0, Outcome::Reached));
    // What corrections and edits do alone.
    let moving = subject(1.0, vec![starting("go", 3.0)]);
    let grown = EditSpec { amount: KeyCurve::constant(0.5), ..EditSpec::new(EditShape::Radial(Profile::Even)) };
    let finding = only(&solved(&moving, &Recipe { edits: vec![grown], ..asked(1e-6) }));
    assert_eq!((finding.gain, finding.outcome), (0.0, Outcome::TooStrong), "{finding}");
}

/// Effects with a strength are measured alone; the recipe's strength scales them together.
#[test]
fn effects_first_then_the_recipe() {
    let subject = subject(1.0, vec![starting("go", 3.0)]);
    let asks = |share| EffectSpec { strength: strength(share), ..lag() };
    let asked = Recipe { strength: strength(0.06), ..recipe(vec![asks(0.03), asks(0.01), lag()]) };
    let solved = solved(&subject, &asked);
    let unit = subject.size() / (LAG * 3.0 * NEAR_LAST);
    let found: Vec<_> = solved.findings().collect();
    assert!(near(found[0].gain, 0.03 * unit) && near(found[1].gain, 0.01 * unit), "{found:?}");
    let factor = 0.06 / (0.03 + 0.01 + 1.0 / unit);
    assert!(near(found[2].gain, factor), "{found:?}");
    let gains: Vec<f64> = solved.recipe(0).effects.iter().map(|effect| effect.gain).collect();
    assert!(near(gains[0], 0.03 * unit * factor) && near(gains[2], factor), "{gains:?}");
    assert!(near(visible(&subject, solved.recipe(0), 0), 0.06));
}

/// An effect is measured alone, so that it does not matter which others there are.
#[test]
fn gains_of_some_effects_are_those_of_a_recipe_of_them_alone() {
    let subject = subject(1.0, vec![starting("walk", 1.0), starting("run", 4.0)]);
    let asks = |share| EffectSpec { strength: strength(share), ..lag() };
    let (first, second) = (asks(0.02), EffectSpec { strength: strength(0.01), ..effect("wobble", &[]) });
    for over in [StrengthOver::All, StrengthOver::Each, StrengthOver::Balanced] {
        let of = |effects| Recipe { strength_over: over, ..recipe(effects) };
        let all = solved(&subject, &of(vec![first.clone(), second.clone(), asks(0.05)]));
        let some = all.of_effects(|effect| effect != 0).expect("the recipe asks for none");
        let alone = solved(&subject, &of(vec![second.clone(), asks(0.05)]));
        for clip in 0..2 {
            let gains =
                |solved: &Solved| solved.recipe(clip).effects.iter().map(|e| e.gain.to_bits()).collect::<Vec<_>>();
            assert_eq!(gains(&some), gains(&alone), "{over:?}");
            assert_eq!(some.findings_of(clip), alone.findings_of(clip), "{over:?}");
        }
    }
    let scaled = Recipe { strength: strength(0.06), ..recipe(vec![first, second]) };
    assert!(solved(&subject, &scaled).of_effects(|_| true).is_none(), "all have a part in it");
}

#[test]
fn threads_do_not_matter() {
    let subject = Subject::zoo("calf");
    let asked = Recipe { strength: strength(0.03), ..recipe(vec![effect("squash", &[]), effect("wobble", &[])]) };
    let gain = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| only(&solved(&subject, &asked)).gain.to_bits())
    };
    assert_eq!(gain(1), gain(3));
}

#[test]
fn a_stage_refuses_what_is_not_solved() {
    let subject = subject(1.0, vec![starting("go", 3.0)]);
    let of_recipe = Recipe { strength: strength(0.04), ..recipe(vec![lag()]) };
    let of_effect = recipe(vec![EffectSpec { strength: strength(0.04), ..lag() }]);
    let mut stage = subject.stage(&recipe(vec![lag()]));
    for (asked, words) in [(of_recipe, "the recipe asks"), (of_effect, "effect floppy asks")] {
        for error in [Stage::new(&subject.rig, &asked).map(|_| ()), stage.retune(&asked).map(|_| ())] {
            let error = error.expect_err("not solved").to_string();
            assert!(error.starts_with(words) && error.contains("strength::solve"), "{error}");
        }
        assert!(Stage::new(&subject.rig, &asked.without_strength()).is_ok());
        assert!(Stage::new(&subject.rig, &asked.base_only()).is_ok());
    }
    let unknown = EffectSpec { map: Some("belly".into()), strength: strength(0.04), ..lag() };
    let error = solve(&subject.rig, &recipe(vec![unknown]), &[]).expect_err("no such map");
    assert!(matches!(error, StrengthError::Graph(GraphError::UnknownMap { .. })));
}

/// Gains by clip multiply what is found, whatever that was measured over; the last line that matches wins.
#[test]
fn gains_by_clip_multiply_what_is_found() {
    let clips = || vec![starting("walk", 1.0), starting("run fast", 4.0), starting("run", 2.0)];
    let subject = subject(1.0, clips());
    let own = vec![("run*".to_owned(), 0.5), ("run fast".to_owned(), 0.0)];
    let with = |effect: EffectSpec| EffectSpec { clips: own.clone(), ..effect };
    let plain = recipe(vec![EffectSpec { gain: 0.3, ..lag() }]);
    let asked = recipe(vec![EffectSpec { strength: strength(0.04), ..lag() }]);
    for over in [StrengthOver::All, StrengthOver::Each, StrengthOver::Balanced] {
        for without in [&plain, &asked] {
            let without = Recipe { strength_over: over, ..without.clone() };
            let named = Recipe { effects: without.effects.iter().cloned().map(with).collect(), ..without.clone() };
            assert!(named.is_unsolved() && named.has_own_gains());
            assert!(Stage::new(&subject.rig, &named).is_err(), "a stage does not know the clip");
            let (bare, found) = (solved(&subject, &without), solved(&subject, &named));
            let settings: Vec<_> = subject.clips.iter().map(|clip| (clip, MotionSettings::default())).collect();
            let later = bare.in_clips(&named, &settings);
            for (clip, factor) in [(0, 1.0), (1, 0.0), (2, 0.5)] {
                let gain = |solved: &Solved| solved.recipe(clip).effects[0].gain;
                assert_eq!(gain(&found), factor * gain(&bare), "{over:?}, clip {clip}");
                assert_eq!(gain(&later).to_bits(), gain(&found).to_bits());
                assert!(Stage::new(&subject.rig, found.recipe(clip)).is_ok());
            }
        }
    }
    assert!(Stage::new(&subject.rig, solve(&subject.rig, &recipe(vec![with(lag())]), &[]).unwrap().recipe(0)).is_ok());
}

#[test]
fn recipes_have_gains_by_clip() {
    let text = "version = 1\n[[effect]]\ntype = \"floppy\"\n[effect.clips]\n\"Idle*\" = 0.0\nRun = 0.7 # less\n";
    let mut file = RecipeFile::parse(text).unwrap();
    assert_eq!(file.recipe().effects[0].clips, [("Idle*".to_owned(), 0.0), ("Run".to_owned(), 0.7)]);
    assert_eq!(file.clip_patterns().collect::<Vec<_>>(), ["Idle*", "Run"]);
    let spec = EffectSpec { clips: vec![("Wa*".into(), 2.0)], ..EffectSpec::new("squash").unwrap() };
    file.add_effect(&spec).unwrap();
    let again = RecipeFile::parse(&file.to_string()).unwrap();
    assert_eq!(again.recipe().effects[1].clips, spec.clips);
    let error = RecipeFile::parse(&text.replace("0.7", "700")).unwrap_err().to_string();
    assert!(error.contains("effect[0].clips.Run") && error.contains("-100 to 100"), "{error}");
    let error = RecipeFile::parse(&text.replace("effect.clips", "effect.clip")).unwrap_err().to_string();
    assert!(error.contains("effect[0].clip: no such key") && error.contains("\"clips\""), "{error}");
}

#[test]
fn recipes_say_it_in_percent_or_as_a_number() {
    let text =
        "version = 1\nstrength = \"4 %\"\nstrength_over = \"each\"\n[[effect]]\ntype = \"floppy\"\nstrength = 0.02\n";
    let mut file = RecipeFile::parse(text).unwrap();
    let recipe = file.recipe();
    assert_eq!((recipe.strength, recipe.strength_over), (strength(0.04), StrengthOver::Each));
    assert_eq!(recipe.effects[0].strength, strength(0.02));
    file.set(Place::Strength, Strength::new(0.125).unwrap()).unwrap();
    file.set(Place::StrengthOver, StrengthOver::All).unwrap();
    file.set(Place::Effect(0, "strength"), Strength::new(0.03).unwrap()).unwrap();
    let changed = text.replace("4 %", "12.5 %").replace("each", "all").replace("0.02", "\"3 %\"");
    assert_eq!(file.to_string(), changed);
    file.add_effect(&EffectSpec { strength: strength(0.05), ..EffectSpec::new("squash").unwrap() }).unwrap();
    assert_eq!(file.recipe().effects[1].strength, strength(0.05));
    file.unset(Place::Strength).unwrap();
    assert_eq!(file.recipe().strength, None);

    let effect = "version = 1\n[[effect]]\ntype = \"floppy\"\n";
    for (text, error) in [
        (
            format!("{effect}strength = \"4 %\"\ngain = 2"),
            "line 5, column 1: effect[0].gain: \"strength\" already sets this; keep one of the two",
        ),
        (
            format!("{effect}gain = [[0, 1], [1, 2]]\nstrength = 0.04"),
            "line 5, column 1: effect[0].strength: \"gain\" already sets this; keep one of the two",
        ),
        ("version = 1\nstrength = 4".into(), "line 2, column 12: strength: 4 is out of range; give 0 to 1 × size"),
        (
            "version = 1\nstrength = \"much\"".into(),
            "line 2, column 12: strength: expected a share of the character's size, such as \"4 %\" or 0.04, from 0 to 1, found",
        ),
        (
            format!("{effect}strength = [[0, 0.1]]"),
            "line 4, column 12: effect[0].strength: expected a share of the character's size, such as \"4 %\" or 0.04, found",
        ),
        (
            "version = 1\nstrength_over = \"al\"".into(),
            "line 2, column 17: strength_over: \"al\" is not one of the choices; did you mean \"all\"?",
        ),
    ] {
        let found = RecipeFile::parse(&text).expect_err(&text).to_string();
        assert!(found.starts_with(error), "{found}\n{error}");
    }
}
