//! After the first frame of a character nothing more is allocated, whatever the recipe: a frame takes the memory that is
//! there. On one thread; a pool allocates for itself.

use crate::common::{Subject, effect, recipe};
use sinew::base::BASES;
use sinew::correct::{CORRECTIONS, surface_edit::Profile};
use sinew::raw::RawMorph;
use sinew::recipe::{BaseSpec, CorrectionSpec, EditShape, EditSpec, EffectSpec, Normals};
use sinew::registry::EFFECTS;
use sinew::*;

/// Every base, effect, correction and preset, surface edits, and all kinds of normals.
fn recipes() -> Vec<(String, Recipe)> {
    let mut all: Vec<(String, Recipe)> = Vec::new();
    let mut add = |name: &str, recipe: Recipe| all.push((name.to_owned(), recipe));
    for base in BASES {
        add(base.name, Recipe { base: BaseSpec::of(base), ..recipe(vec![effect("floppy", &[])]) });
    }
    for name in EFFECTS.iter().map(|effect| effect.name()) {
        for normals in [Normals::Auto, Normals::Engine, Normals::Exact, Normals::Faces] {
            add(&format!("{name}, {normals:?}"), Recipe { normals, ..recipe(vec![effect(name, &[])]) });
        }
    }
    let edit = || EditSpec::new(EditShape::Radial(Profile::Even));
    for correction in CORRECTIONS {
        let corrections = vec![CorrectionSpec::new(correction.name).expect("a correction")];
        let effects = vec![EffectSpec::new("squash").expect("an effect")];
        add(correction.name, Recipe { corrections: corrections.clone(), effects, ..Recipe::default() });
        add(&format!("{}, edited", correction.name), Recipe { corrections, edits: vec![edit()], ..Recipe::default() });
    }
    for preset in presets::names() {
        let file = RecipeFile::parse(preset.text).expect("a preset");
        add(preset.name, file.recipe().without_strength());
    }
    all
}

/// A tube with a morph target that swells it by half its weight.
fn morphing() -> Subject {
    let mut zoo = sinew_zoo::build("tube:vertices=400,bones=5").expect("a zoo character");
    let mesh = &mut zoo.raw.meshes[0];
    for primitive in &mut mesh.primitives {
        let swell = primitive.positions.iter().map(|p| glam::Vec3::new(p.x, 0.0, p.z)).collect();
        primitive.morphs.push(RawMorph { positions: Some(swell), ..RawMorph::default() });
    }
    mesh.morph_weights = vec![0.5];
    Subject::new(&zoo.raw, zoo.clips)
}

#[test]
fn frames_after_the_first_allocate_nothing() {
    let mut faults = Vec::new();
    for (kind, subject) in [("plain", Subject::zoo("tube:vertices=400,bones=5")), ("morphing", morphing())] {
        for (name, recipe) in recipes() {
            let stage = subject.stage(&recipe);
            let playing = stage.motion(&subject.clips[0], &MotionSettings::default()).expect("the clip can be read");
            for outputs in [Outputs::default(), Outputs { base: true, engine: true, directions: true }] {
                let mut workspace = Workspace::with(outputs);
                playing.frame(0.0, &mut workspace);
                let told = allocation_counter::measure(|| {
                    for time in [0.4, 0.1, 0.7] {
                        playing.frame(time, &mut workspace);
                    }
                });
                if told.count_total > 0 {
                    faults.push(format!("{kind}, {name}, {outputs:?}: {told:?}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
