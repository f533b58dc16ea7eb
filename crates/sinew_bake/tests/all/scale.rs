//! The size of a scene changes nothing: neither the number of targets nor the error as a share of the size.

use glam::DVec3;
use sinew::raw::RawBone;
use sinew::{LocalTransform, MotionSettings, RecipeFile, Rig, Trs};
use sinew_bake::report::Report;
use sinew_bake::{BakeClip, Options, Subject, Tolerance, bake};

/// The report of a bake of a character below a node of the given scale.
fn report(scale: f64) -> Report {
    let mut character = sinew_zoo::build("tube:vertices=600,bones=5").unwrap();
    let root = character.raw.bones.len();
    character.raw.bones.iter_mut().filter(|bone| bone.parent.is_none()).for_each(|bone| bone.parent = Some(root));
    let local = LocalTransform::Trs(Trs { scale: DVec3::splat(scale), ..Trs::IDENTITY });
    character.raw.bones.push(RawBone { name: "scale".into(), parent: None, local });
    let rig = std::sync::Arc::new(Rig::build(&character.raw).unwrap().0);
    let recipe = RecipeFile::parse(sinew::presets::get("jelly").unwrap()).unwrap();
    let clips: Vec<_> = character
        .clips
        .iter()
        .map(|clip| BakeClip { clip, settings: MotionSettings::default(), recipe: None })
        .collect();
    let options = Options { tolerance: Tolerance::OfSize(5e-4), ..Options::default() };
    let subject =
        Subject { raw: &character.raw, rig: &rig, recipe: &recipe.recipe().without_strength(), backend: None };
    bake(subject, &clips, &options, &|_| ()).unwrap().report
}

#[test]
fn large_and_small_scenes_are_baked_alike() {
    let plain = report(1.0);
    assert!(plain.groups[0].targets > 0);
    for scale in [1.0 / 128.0, 128.0] {
        let scaled = report(scale);
        let (a, b) = (&plain.groups[0], &scaled.groups[0]);
        assert!((b.size / a.size / scale - 1.0).abs() < 1e-6);
        assert_eq!(a.targets, b.targets);
        assert!((a.error.largest / a.size - b.error.largest / b.size).abs() < 2e-5, "{scale}");
        assert_eq!(plain.clips[0].samples, scaled.clips[0].samples);
    }
}
