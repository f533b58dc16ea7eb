//! Presets: each fits every rig, and moves the skin as far as its first lines say and no farther.

use crate::common::Subject;
use glam::DVec3;
use sinew::anatomy::Role;
use sinew::recipe::{BaseSpec, Normals, RecipeFile, Strength};
use sinew::strength::{Outcome, Solved};
use sinew::{Anatomy, Cpu, MotionSettings, Recipe, presets};

/// What a preset promises, in per cent of the character's size.
struct Promise {
    name: &'static str,
    /// In the liveliest clip: the parts that it names, and everything else.
    about: [Option<f64>; 2],
    /// Lowest point of a trotting calf below or above where it would be without.
    feet: f64,
    /// No edge gets longer by this factor, nor shorter.
    stretch: f64,
}

const PROMISES: &[Promise] = &[
    Promise { name: "subtle", about: [Some(1.5), Some(0.7)], feet: 0.5, stretch: 1.5 },
    Promise { name: "lively", about: [Some(4.0), Some(1.5)], feet: 1.0, stretch: 1.7 },
    Promise { name: "cartoon", about: [Some(8.0), Some(3.0)], feet: 2.0, stretch: 2.3 },
    Promise { name: "jelly", about: [None, Some(4.0)], feet: 4.0, stretch: 1.7 },
    Promise { name: "heavy", about: [Some(1.0), Some(2.0)], feet: 2.0, stretch: 1.7 },
    Promise { name: "cloth-twirl", about: [Some(5.0), None], feet: 0.0, stretch: 1.7 },
    Promise { name: "ears-and-tail", about: [Some(3.5), None], feet: 0.0, stretch: 1.6 },
    Promise { name: "anticipate", about: [None, Some(3.0)], feet: 2.0, stretch: 1.6 },
];

/// Moments of a clip.
const MOMENTS: usize = 16;

fn file(name: &str) -> RecipeFile {
    let text = presets::get(name).unwrap_or_else(|| panic!("no preset {name}"));
    RecipeFile::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn solved(subject: &Subject, name: &str) -> Solved {
    file(name).solve(&subject.rig, &subject.clips).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// World positions at evenly spaced moments of a clip.
fn play(subject: &Subject, clip: usize, recipe: &Recipe) -> Vec<Vec<DVec3>> {
    // Positions alone are looked at here.
    let stage = subject.stage(&Recipe { normals: Normals::Engine, ..recipe.clone() });
    let motion = subject.motion(clip, &MotionSettings::default(), &stage);
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

fn base() -> Recipe {
    Recipe { base: BaseSpec::default(), ..Recipe::default() }
}

fn farthest(a: &[Vec<DVec3>], b: &[Vec<DVec3>], counts: impl Fn(usize) -> bool) -> f64 {
    let of_moment = |(a, b): (&Vec<DVec3>, &Vec<DVec3>)| {
        let apart = a.iter().zip(b).enumerate().filter(|(vertex, _)| counts(*vertex)).map(|(_, (a, b))| a.distance(*b));
        apart.fold(0.0, f64::max)
    };
    a.iter().zip(b).map(of_moment).fold(0.0, f64::max)
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
        let told = text.lines().find(|line| line.starts_with("# In the liveliest clip")).expect("how far it moves");
        for about in promise.about.into_iter().flatten() {
            assert!(told.contains(&format!("about {about} %")), "{name}: {told}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 120));
        // Nothing that a rig may lack, and everything by its strength; without clips the gains are those of the file.
        let file = file(name);
        assert_eq!(file.maps(), [""; 0]);
        for effect in &file.recipe().effects {
            assert!(effect.bones.is_empty() && effect.map.is_none() && effect.cone.is_none() && !effect.raw, "{name}");
            assert!(effect.strength.is_some() && effect.parts.iter().all(|part| part.starts_with('@')), "{name}");
            assert!(promise.about[0].is_some() || effect.parts.is_empty(), "{name}");
            assert!(promise.about[1].is_some() || !effect.parts.is_empty(), "{name}");
        }
    }
    assert_eq!(presets::get("livly"), None);
}

/// Strengths are reached, what acts on parts alone moves nothing else, and what all effects together move a part and the
/// rest by is near what the preset says.
#[test]
fn presets_move_the_zoo_as_far_as_they_promise() {
    let mut broken: Vec<String> = Vec::new();
    let zoo: Vec<(&str, Subject)> =
        sinew_zoo::names().iter().map(|entry| (entry.name, Subject::zoo(entry.name))).collect();
    for promise in PROMISES {
        let file = file(promise.name);
        let effects = &file.recipe().effects;
        let roles: Vec<Role> = effects
            .iter()
            .flat_map(|effect| &effect.parts)
            .filter_map(|part| Role::from_name(part.strip_prefix('@')?))
            .collect();
        let mut seen = [Vec::new(), Vec::new()];
        for (name, subject) in &zoo {
            let solved = solved(subject, promise.name);
            for finding in solved.findings() {
                let of_parts = finding.effect.is_some_and(|(effect, _)| !effects[effect].parts.is_empty());
                let fine = match finding.outcome {
                    Outcome::Reached | Outcome::Balanced | Outcome::Still => true,
                    // A part may be too short for it.
                    Outcome::TooWeak { .. } => of_parts,
                    Outcome::TooStrong => false,
                };
                assert!(fine, "{} on {name}: {finding}", promise.name);
            }
            let anatomy = Anatomy::of(&subject.rig);
            let is_part = |vertex: usize| roles.contains(&anatomy.role_of_point(subject.rig.point(vertex)));
            let mut peaks = [0.0_f64; 2];
            for clip in 0..subject.clips.len() {
                let (base, moved) = (play(subject, clip, &base()), play(subject, clip, solved.recipe(clip)));
                for (peak, of_part) in peaks.iter_mut().zip([true, false]) {
                    let far = farthest(&base, &moved, |vertex| is_part(vertex) == of_part);
                    *peak = peak.max(100.0 * far / subject.size());
                }
                let (shortest, longest) = stretch(subject, &base, &moved);
                let what = format!("{} on {name} {}", promise.name, subject.clips[clip].name);
                println!("{what}: {peaks:.2?} {shortest:.3} {longest:.3}");
                if longest >= promise.stretch || shortest <= 1.0 / promise.stretch {
                    broken.push(format!("{what}: {shortest:.3} {longest:.3}, {} promised", promise.stretch));
                }
            }
            for ((peak, seen), of_part) in peaks.into_iter().zip(&mut seen).zip([true, false]) {
                if (0..subject.rig.vertex_count()).any(|vertex| is_part(vertex) == of_part) {
                    seen.push(peak);
                }
            }
        }
        for (mut seen, about) in seen.into_iter().zip(promise.about) {
            seen.sort_by(f64::total_cmp);
            println!("{}: about {about:?}, seen {seen:.2?}", promise.name);
            let Some(middle) = seen.get(seen.len() / 2) else { continue };
            let is_kept = match about {
                Some(about) => (0.5 * about..=1.7 * about).contains(middle),
                None => *middle < 0.5,
            };
            if !is_kept {
                broken.push(format!("{}: {seen:?} where {about:?} is promised", promise.name));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn feet_stay_near_the_floor() {
    let calf = Subject::zoo("calf");
    let clip = |name: &str| calf.clips.iter().position(|clip| clip.name == name).expect("a clip of the calf");
    let (trot, look) = (clip("trot"), clip("look"));
    let (trotting, looking) = (play(&calf, trot, &base()), play(&calf, look, &base()));
    for promise in PROMISES {
        let solved = solved(&calf, promise.name);
        for (base, moved) in trotting.iter().zip(play(&calf, trot, solved.recipe(trot))) {
            let off = 100.0 * (lowest(&moved) - lowest(base)).abs() / calf.size();
            assert!(off <= promise.feet, "{}: {off} %", promise.name);
        }
        // It stands while it looks around.
        for (base, moved) in looking.iter().zip(play(&calf, look, solved.recipe(look))) {
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
        let [small, large] = [&small, &large].map(|subject| {
            let moved = play(subject, 0, solved(subject, promise.name).recipe(0));
            farthest(&play(subject, 0, &base()), &moved, |_| true) / subject.size()
        });
        assert!((small - large).abs() <= 1e-3 * large, "{}: {small} {large}", promise.name);
    }
}

/// The whole recipe can still be made weaker or stronger.
#[test]
fn a_preset_is_as_strong_as_it_is_told() {
    let calf = Subject::zoo("calf");
    let mut lively = file("lively");
    lively.set(sinew::recipe::Place::Strength, Strength::new(0.02).expect("a share")).expect("a key of recipes");
    let solved = lively.solve(&calf.rig, &calf.clips).expect("fits");
    let whole = solved.findings().filter(|finding| finding.effect.is_none());
    let most = whole.map(|finding| finding.reached).fold(0.0, f64::max);
    assert!((most - 0.02).abs() <= 0.02 * 0.02, "{most}");
}
