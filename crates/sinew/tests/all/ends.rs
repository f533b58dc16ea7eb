//! What effects do at the first and last frame of clips that do not loop.

use sinew::{Ends, Looping, MotionSettings, Recipe, RecipeFile, Rig, Stage, Workspace, presets};
use std::sync::Arc;

fn moved(name: &str, recipe: &Recipe, settings: &MotionSettings) -> Vec<(f64, f64)> {
    let character = sinew_zoo::build(name).unwrap();
    let rig = Arc::new(Rig::build(&character.raw).unwrap().0);
    let bare = Recipe { effects: Vec::new(), ..recipe.clone() };
    let (stage, base) = (Stage::new(&rig, recipe).unwrap(), Stage::new(&rig, &bare).unwrap());
    let (playing, still) = [&stage, &base].map(|stage| stage.motion(&character.clips[0], settings).unwrap()).into();
    let (start, end) = (playing.report().start, playing.report().last_key);
    let (mut with, mut without) = (Workspace::default(), Workspace::default());
    let size = rig.characters()[0].size;
    let at = |t: f64, with: &mut Workspace, without: &mut Workspace| {
        let (a, b) = (playing.frame(t, with), still.frame(t, without));
        let far = a.positions.iter().zip(&b.positions).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max);
        let is_same = a.positions == b.positions && a.normals == b.normals;
        (if is_same { 0.0 } else { f64::MIN_POSITIVE.max(far / size) }, t)
    };
    (0..=240).map(|k| at(start + (end - start) * f64::from(k) / 240.0, &mut with, &mut without)).collect()
}

#[test]
fn a_clip_that_does_not_loop_begins_and_ends_as_the_base() {
    for name in ["tube", "calf", "dancer"] {
        for preset in ["lively", "cartoon"] {
            let recipe = RecipeFile::parse(presets::get(preset).unwrap()).unwrap().recipe().without_strength();
            let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
            let faded = moved(name, &recipe, &settings);
            let (first, last) = (faded[0].0, faded[240].0);
            let most = faded.iter().map(|far| far.0).fold(0.0, f64::max);
            assert!(first == 0.0 && last == 0.0 && most > 1e-3, "{name}, {preset}: {first} {last} {most}");
            // Effects come and go without a pop: no step is larger than what a smooth rise over the fade has.
            let step = faded.windows(2).map(|pair| (pair[1].0 - pair[0].0).abs()).fold(0.0, f64::max);
            assert!(step < 0.25 * most, "{name}, {preset}: {step} of {most}");
            // In the middle nothing has changed.
            let going_on = moved(name, &recipe, &MotionSettings { ends: Ends::Continue, ..settings });
            assert!(going_on[0].0 > 0.0);
        }
    }
}
