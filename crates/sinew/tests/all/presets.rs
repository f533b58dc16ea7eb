//! Presets: each fits every rig, and moves the skin as far as its first lines say and no farther.

use crate::common::Subject;
use glam::DVec3;
use sinew::recipe::{BaseSpec, Normals, RecipeFile};
use sinew::{Cpu, MotionSettings, Recipe, presets};

/// What a preset promises, in per cent of the character's size.
struct Promise {
    name: &'static str,
    /// Farthest move of the skin: of the middle one of the built-in characters, each at its liveliest.
    usual: [f64; 2],
    /// And of all of them.
    most: f64,
    /// Lowest point of a trotting calf below or above where it would be without.
    feet: f64,
    /// No edge gets longer by this factor, nor shorter.
    stretch: f64,
}

const PROMISES: &[Promise] = &[
    Promise { name: "subtle", usual: [0.5, 2.0], most: 6.0, feet: 0.5, stretch: 1.15 },
    Promise { name: "lively", usual: [2.0, 6.0], most: 20.0, feet: 1.0, stretch: 1.25 },
    Promise { name: "cartoon", usual: [5.0, 15.0], most: 40.0, feet: 2.0, stretch: 1.4 },
    Promise { name: "jelly", usual: [3.0, 10.0], most: 25.0, feet: 2.0, stretch: 1.3 },
    Promise { name: "heavy", usual: [3.0, 8.0], most: 20.0, feet: 2.0, stretch: 1.25 },
    Promise { name: "cloth-twirl", usual: [2.0, 10.0], most: 20.0, feet: 1.0, stretch: 1.4 },
    Promise { name: "ears-and-tail", usual: [2.0, 6.0], most: 25.0, feet: 1.0, stretch: 1.25 },
    Promise { name: "anticipate", usual: [2.0, 6.0], most: 20.0, feet: 2.0, stretch: 1.4 },
];

/// Moments of a clip.
const MOMENTS: usize = 16;

fn recipe(name: &str) -> (Recipe, MotionSettings) {
    let text = presets::get(name).unwrap_or_else(|| panic!("no preset {name}"));
    let file = RecipeFile::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    // Positions alone are looked at here.
    (Recipe { normals: Normals::Engine, ..file.recipe().clone() }, file.motion(""))
}

/// World positions at evenly spaced moments of a clip.
fn play(subject: &Subject, clip: usize, (recipe, settings): &(Recipe, MotionSettings)) -> Vec<Vec<DVec3>> {
    let stage = subject.stage(recipe);
    let motion = subject.motion(clip, settings, &stage);
    // All clips of the zoo start at 0.
    let end = subject.clips[clip].tracks.iter().flat_map(|track| {
        let turn = track.rotation.as_ref().and_then(|curve| curve.times().last().copied());
        turn.or_else(|| track.translation.as_ref().and_then(|curve| curve.times().last().copied()))
    });
    let end = end.fold(0.0, f64::max);
    let moment = |index: usize| {
        let mesh = subject.at(&stage, &motion, end * index as f64 / MOMENTS as f64, &Cpu::serial());
        mesh.positions.iter().map(|p| mesh.origins[0] + p.as_dvec3()).collect()
    };
    (0..MOMENTS).map(moment).collect()
}

fn base() -> (Recipe, MotionSettings) {
    (Recipe { base: BaseSpec::default(), ..Recipe::default() }, MotionSettings::default())
}

fn farthest(a: &[Vec<DVec3>], b: &[Vec<DVec3>]) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn lowest(points: &[DVec3]) -> f64 {
    points.iter().map(|p| p.y).fold(f64::INFINITY, f64::min)
}

/// Longest and shortest of all edges, each against what it was; edges that are but a point tell nothing.
fn stretch(subject: &Subject, before: &[Vec<DVec3>], after: &[Vec<DVec3>]) -> (f64, f64) {
    let least = 0.003 * subject.size();
    let (mut shortest, mut longest) = (1.0_f64, 1.0_f64);
    for (before, after) in before.iter().zip(after) {
        for triangle in subject.rig.triangles() {
            for corner in 0..3 {
                let (i, j) = (triangle[corner] as usize, triangle[(corner + 1) % 3] as usize);
                let length = before[i].distance(before[j]);
                if length > least {
                    let ratio = after[i].distance(after[j]) / length;
                    (shortest, longest) = (shortest.min(ratio), longest.max(ratio));
                }
            }
        }
    }
    (shortest, longest)
}

#[test]
fn every_preset_is_promised_and_describes_itself() {
    assert_eq!(presets::names().len(), PROMISES.len());
    for (preset, promise) in presets::names().iter().zip(PROMISES) {
        let (name, text) = (preset.name, preset.text);
        assert_eq!(name, promise.name);
        assert!(!preset.about.is_empty() && preset.about.len() < 80);
        assert!(text.starts_with(&format!("# {name}: ")), "{name} tells its name");
        let [least, usual] = promise.usual;
        let line = format!(
            "# Farthest move of the skin: usually {least} to {usual} % of the character's size, on long whips up to {} %.",
            promise.most
        );
        assert!(text.lines().any(|found| found == line), "{name}: {line}");
        assert!(text.lines().all(|line| line.chars().count() <= 120));
        // Nothing that a rig may lack.
        let file = RecipeFile::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(file.maps(), [""; 0]);
        for effect in &file.recipe().effects {
            assert!(effect.bones.is_empty() && effect.map.is_none() && effect.cone.is_none() && !effect.raw, "{name}");
        }
    }
    assert_eq!(presets::get("livly"), None);
}

#[test]
fn presets_move_the_zoo_as_far_as_they_promise() {
    let stages: Vec<Subject> = sinew_zoo::names().iter().map(|entry| Subject::zoo(entry.name)).collect();
    let bases: Vec<Vec<_>> =
        stages.iter().map(|s| (0..s.clips.len()).map(|clip| play(s, clip, &base())).collect()).collect();
    for promise in PROMISES {
        let recipe = recipe(promise.name);
        let mut peaks = Vec::new();
        for ((subject, bases), entry) in stages.iter().zip(&bases).zip(sinew_zoo::names()) {
            let mut peak = 0.0_f64;
            for (clip, base) in bases.iter().enumerate() {
                let moved = play(subject, clip, &recipe);
                peak = peak.max(100.0 * farthest(base, &moved) / subject.size());
                let (shortest, longest) = stretch(subject, base, &moved);
                let what = format!("{} on {} {}", promise.name, entry.name, subject.clips[clip].name);
                assert!(longest < promise.stretch && shortest > 1.0 / promise.stretch, "{what}: {shortest} {longest}");
            }
            assert!(peak <= promise.most, "{} on {}: {peak} %", promise.name, entry.name);
            peaks.push(peak);
        }
        peaks.sort_by(f64::total_cmp);
        let usual = peaks[peaks.len() / 2];
        assert!((promise.usual[0]..=promise.usual[1]).contains(&usual), "{}: {usual} % of {peaks:?}", promise.name);
    }
}

#[test]
fn feet_stay_near_the_floor() {
    let calf = Subject::zoo("calf");
    let clip = |name: &str| calf.clips.iter().position(|clip| clip.name == name).expect("a clip of the calf");
    let (trot, look) = (clip("trot"), clip("look"));
    let (trotting, looking) = (play(&calf, trot, &base()), play(&calf, look, &base()));
    for promise in PROMISES {
        let recipe = recipe(promise.name);
        for (base, moved) in trotting.iter().zip(play(&calf, trot, &recipe)) {
            let off = 100.0 * (lowest(&moved) - lowest(base)).abs() / calf.size();
            assert!(off <= promise.feet, "{}: {off} %", promise.name);
        }
        // It stands while it looks around.
        for (base, moved) in looking.iter().zip(play(&calf, look, &recipe)) {
            let floor = lowest(base) + 0.03 * calf.size();
            for (before, after) in base.iter().zip(&moved).filter(|(before, _)| before.y < floor) {
                let slid = 100.0 * before.distance(*after) / calf.size();
                assert!(slid < 0.4, "{}: a foot slides by {slid} %", promise.name);
            }
        }
    }
}

#[test]
fn presets_are_free_of_scale() {
    let (small, large) = (Subject::zoo("tube:radius=0.02,length=0.2"), Subject::zoo("tube:radius=20,length=200"));
    for promise in PROMISES {
        let recipe = recipe(promise.name);
        let [small, large] = [&small, &large].map(|subject| {
            let peak = farthest(&play(subject, 0, &base()), &play(subject, 0, &recipe));
            peak / subject.size()
        });
        assert!((small - large).abs() < 1e-4 * large, "{}: {small} {large}", promise.name);
    }
}
