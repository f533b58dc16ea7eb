//! The trade of targets against error, and tolerances kept, on real characters.

use sinew::{MotionSettings, Recipe, RecipeFile};
use sinew_bake::report::thinned;
use sinew_bake::{BakeClip, Baked, Options, Subject, Tolerance, bake};
use sinew_testkit::assets::asset;

fn preset(name: &str) -> Recipe {
    RecipeFile::parse(sinew::presets::get(name).unwrap()).unwrap().recipe().clone()
}

fn bake_file(file: &str, recipe: &Recipe, clips: &[&str], tolerance: f64) -> Option<Baked> {
    let file = sinew_gltf::Asset::open(asset(file)?).unwrap();
    let settings: Vec<_> = file.clips.iter().map(|clip| (clip, MotionSettings::default())).collect();
    let solved = sinew::strength::solve(&file.rig, recipe, &settings).unwrap();
    let clips: Vec<BakeClip<'_>> = (settings.into_iter().enumerate())
        .filter(|(_, (clip, _))| clips.is_empty() || clips.contains(&clip.name.as_str()))
        .map(|(index, (clip, settings))| BakeClip { clip, settings, recipe: Some(solved.recipe(index)) })
        .collect();
    let recipe = solved.recipe(0);
    let options = Options { tolerance: Tolerance::OfSize(tolerance), ..Options::default() };
    Some(
        bake(Subject { raw: &file.raw, rig: &file.rig, recipe, backend: None }, &clips, &options, &|_| ())
            .unwrap_or_else(|failure| panic!("{failure}")),
    )
}

#[allow(clippy::print_stderr)]
fn tell(baked: &Baked) {
    let group = &baked.report.groups[0];
    let share = |length: f64| 100.0 * length / group.size;
    for point in thinned(&group.curve) {
        eprintln!("{:>4} {:>8.4} % {:>8.5} %", point.targets, share(point.largest), share(point.mean));
    }
    eprintln!(
        "{} targets, displacement {:.2} %, error {:.4} % (mean {:.5} %), normals {:?}",
        group.targets,
        share(group.displacement.length),
        share(group.error.largest),
        share(group.error.mean),
        group.normals
    );
    for clip in &baked.report.clips {
        eprintln!(
            "{} samples {} keys {} ({} between) seam {:?}",
            clip.name, clip.samples, clip.keys, clip.keys_between, clip.seam
        );
    }
}

#[test]
fn ears_and_tail_of_one_clip_take_few_targets() {
    let mut recipe = preset("ears-and-tail").without_strength();
    let Some(first) = bake_file("Fox.glb", &recipe, &["Run"], 1e-3) else { return };
    let group = &first.report.groups[0];
    // Gains act almost linearly: some more than needed, then it is asserted.
    let factor = (0.055 * group.size / group.displacement.length).max(1.0);
    recipe.effects.iter_mut().for_each(|effect| effect.gain *= factor);
    let baked = bake_file("Fox.glb", &recipe, &["Run"], 1e-3).unwrap();
    tell(&baked);
    let group = &baked.report.groups[0];
    assert!(group.displacement.length >= 0.05 * group.size);
    assert!(group.targets <= 24, "{} targets", group.targets);
    assert!(group.error.largest <= 1e-3 * group.size);
}

/// Meshes with targets of their own have keys of their own, between samples too.
#[test]
fn fast_motion_of_many_meshes_stays_within_the_tolerance() {
    let Some(baked) = bake_file("KayKit_Knight.glb", &preset("lively"), &["Jump_Start"], 1e-3) else { return };
    assert!(baked.report.groups.iter().filter(|group| group.targets > 0).count() > 5);
    assert!(baked.report.clips[0].keys_between > 0);
    assert!(baked.report.within_tolerance());
}

#[test]
fn all_clips_lively() {
    let Some(baked) = bake_file("Fox.glb", &preset("lively"), &[], 2e-3) else { return };
    tell(&baked);
    let group = &baked.report.groups[0];
    assert!(group.targets <= 64, "{} targets", group.targets);
    assert!(group.error.largest <= 2e-3 * group.size);
}
