//! Clips that do not loop begin and end as the base, in the file too: no target is on there.

use sinew::{Clip, Looping, MotionSettings, RawRig, RecipeFile, Rig, presets};
use sinew_bake::{BakeClip, Options, Subject, bake};
use sinew_gltf::Asset;
use sinew_testkit::assets::asset;
use std::sync::Arc;

fn begins_and_ends_with_nothing(raw: &RawRig, rig: &Arc<Rig>, clips: &[Clip]) {
    let recipe = RecipeFile::parse(presets::get("lively").unwrap()).unwrap();
    let recipe = recipe.recipe().without_strength();
    let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
    let clips: Vec<_> = clips.iter().map(|clip| BakeClip { clip, settings: settings.clone(), recipe: None }).collect();
    let baked =
        bake(Subject { raw, rig, recipe: &recipe, backend: None }, &clips, &Options::default(), &|_| ()).unwrap();
    assert!(baked.report.within_tolerance() && baked.report.most_targets() > 0);
    for curve in baked.clips.iter().flatten() {
        for end in [curve.weights.first(), curve.weights.last()] {
            assert!(end.unwrap().iter().all(|weight| *weight == 0.0), "{end:?}");
        }
        assert!(curve.weights.iter().flatten().any(|weight| *weight > 0.0));
    }
    assert!(baked.report.clips.iter().all(|clip| clip.seam.is_none()));
}

#[test]
fn of_a_made_rig() {
    let character = sinew_zoo::build("tube:vertices=300,bones=5").unwrap();
    let rig = Arc::new(Rig::build(&character.raw).unwrap().0);
    begins_and_ends_with_nothing(&character.raw, &rig, &character.clips);
}

#[test]
fn of_a_fox_that_walks_once() {
    let Some(path) = asset("Fox.glb") else { return };
    let fox = Asset::open_original(path).unwrap();
    let walk: Vec<Clip> = fox.clips.iter().filter(|clip| clip.name == "Walk").cloned().collect();
    begins_and_ends_with_nothing(&fox.raw, &fox.rig, &walk);
}
