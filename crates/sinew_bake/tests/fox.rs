//! The trade of targets against error on a real character.

use sinew::{MotionSettings, Recipe, RecipeFile, Rig};
use sinew_bake::report::thinned;
use sinew_bake::{BakeClip, Baked, Options, Subject, Tolerance, bake};
use sinew_testkit::assets::asset;

fn preset(name: &str) -> Recipe {
    RecipeFile::parse(sinew::presets::get(name).unwrap()).unwrap().recipe().clone()
}

fn bake_fox(recipe: &Recipe, clips: &[&str], tolerance: f64) -> Option<Baked> {
    let fox = sinew_gltf::import(&asset("Fox.glb")?).unwrap();
    let rig = Rig::build(&fox.raw).unwrap().0;
    let clips: Vec<BakeClip<'_>> = fox
        .clips
        .iter()
        .filter(|clip| clips.is_empty() || clips.contains(&clip.name.as_str()))
        .map(|clip| BakeClip { clip, settings: MotionSettings::default() })
        .collect();
    let options = Options { tolerance: Tolerance::OfSize(tolerance), ..Options::default() };
    Some(
        bake(Subject { raw: &fox.raw, rig: &rig, recipe }, &clips, &options, &|_| ())
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
    let mut recipe = preset("ears-and-tail");
    let Some(first) = bake_fox(&recipe, &["Run"], 1e-3) else { return };
    let group = &first.report.groups[0];
    // Gains act almost linearly: some more than needed, then it is asserted.
    let factor = (0.055 * group.size / group.displacement.length).max(1.0);
    recipe.effects.iter_mut().for_each(|effect| effect.gain *= factor);
    let baked = bake_fox(&recipe, &["Run"], 1e-3).unwrap();
    tell(&baked);
    let group = &baked.report.groups[0];
    assert!(group.displacement.length >= 0.05 * group.size);
    assert!(group.targets <= 24, "{} targets", group.targets);
    assert!(group.error.largest <= 1e-3 * group.size);
}

#[test]
fn all_clips_lively() {
    let Some(baked) = bake_fox(&preset("lively"), &[], 2e-3) else { return };
    tell(&baked);
    let group = &baked.report.groups[0];
    assert!(group.targets <= 64, "{} targets", group.targets);
    assert!(group.error.largest <= 2e-3 * group.size);
}
