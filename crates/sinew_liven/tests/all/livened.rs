//! Built-in characters: recipes that read and play, wishes that are kept, strengths that are met, the same on any thread count.

use crate::measured::measure;
use sinew::anatomy::Role;
use sinew::strength::solve;
use sinew::{Clip, MotionSettings, RecipeFile, Rig};
use sinew_gltf::Asset;
use sinew_liven::plan::Moved;
use sinew_liven::{Livened, Parts, Style, Wishes, liven};
use std::sync::Arc;

fn character(name: &str) -> (Arc<Rig>, Vec<Clip>) {
    let zoo = sinew_zoo::build(name).expect("a character");
    let asset = Asset::from_raw(name, zoo.raw, zoo.clips).expect("sound");
    (asset.rig, asset.clips)
}

fn livened(name: &str, wishes: &Wishes) -> Livened {
    let (rig, clips) = character(name);
    let clips: Vec<_> = clips.iter().map(|clip| (clip, MotionSettings::default())).collect();
    let all: Vec<usize> = (0..clips.len()).collect();
    liven(&rig, &clips, &all, &[], wishes, &|_, _| ()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn moved(livened: &Livened) -> Vec<Moved> {
    livened.account.parts.iter().map(|part| part.moved).collect()
}

#[test]
fn every_style_makes_a_recipe_that_says_why() {
    for style in Style::ALL {
        let made = livened("calf", &Wishes { style, ..Wishes::default() });
        let text = made.recipe.to_string();
        assert!(text.contains(&format!("--style {style}")) && text.lines().all(|line| line.chars().count() <= 120));
        assert_eq!(
            RecipeFile::parse(&text).map(|file| file.recipe().effects.len()).ok(),
            Some(made.recipe.recipe().effects.len())
        );
        // Left and right share what is said of their role.
        assert!(made.recipe.recipe().effects.iter().all(|effect| effect.strength.is_some()));
        assert!(!made.account.lines().is_empty());
    }
}

#[test]
fn wishes_are_kept() {
    let all = moved(&livened("calf", &Wishes::default()));
    assert!(all.contains(&Moved::Part(Role::Tail)) && all.contains(&Moved::Body), "{all:?}");
    let only = Wishes { only: Parts::parse("tail").expect("a part"), ..Wishes::default() };
    assert_eq!(moved(&livened("calf", &only)), [Moved::Part(Role::Tail)]);
    let keep = Wishes { keep: Parts::parse("tails, body").expect("parts"), ..Wishes::default() };
    let kept = moved(&livened("calf", &keep));
    assert!(!kept.contains(&Moved::Part(Role::Tail)) && !kept.contains(&Moved::Body), "{kept:?}");
    let none = Wishes { only: Parts::parse("wings").expect("parts"), ..Wishes::default() };
    let nothing = livened("calf", &none);
    assert!(!nothing.recipe.recipe().adds());
    assert!(nothing.account.remarks.iter().any(|remark| remark.contains("wing")), "{:?}", nothing.account.remarks);
}

#[test]
fn what_is_not_understood_gets_a_careful_recipe_and_a_sentence() {
    for name in ["tube", "tube:bones=161", "tube:bones=1", "arm"] {
        let made = livened(name, &Wishes::default());
        assert!(!made.account.remarks.is_empty(), "{name}");
        let most = made.account.clips.iter().map(|clip| clip.strength).fold(0.0, f64::max);
        assert!(most <= 0.02, "{name}: {most}");
    }
}

#[test]
fn no_clip_is_no_error() {
    let (rig, _) = character("calf");
    let made = liven(&rig, &[], &[], &[], &Wishes::default(), &|_, _| ()).expect("a recipe");
    assert!(made.account.clips.is_empty());
}

#[test]
fn gates_hold_and_strengths_are_seen() {
    let zoo = sinew_zoo::build("calf").expect("a calf");
    let asset = Asset::exported("calf", &zoo.raw, &zoo.clips).expect("sound");
    let all: Vec<usize> = (0..asset.clips.len()).collect();
    for style in [Style::Lively, Style::Cartoon] {
        let measured = measure(&asset, &all, style, true).expect("measured");
        assert!(
            measured.broken().is_empty(),
            "{style}: {:?}\n{}",
            measured.broken(),
            measured.account.lines().join("\n")
        );
        assert!(!measured.pairs().is_empty());
    }
}

#[test]
fn the_same_on_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| livened("calf", &Wishes::default()).recipe.to_string())
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn a_recipe_plays_other_clips_than_it_was_made_on() {
    let (rig, clips) = character("calf");
    let first = [(&clips[0], MotionSettings::default())];
    let made = liven(&rig, &first, &[0], &[], &Wishes::default(), &|_, _| ()).expect("a recipe");
    let all: Vec<_> = clips.iter().map(|clip| (clip, MotionSettings::default())).collect();
    assert!(solve(&rig, made.recipe.recipe(), &all).is_ok());
}
