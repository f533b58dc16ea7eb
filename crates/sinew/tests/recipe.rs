//! Recipe files: meaning, faults, edits, the template.

use sinew::recipe::{BaseSpec, BoneGain, RecipeFile, Riders};
use sinew::{Ends, Looping, MotionSettings, Smoothing, Travel};

const V1: &str = include_str!("recipes/v1.sinew.toml");

#[test]
fn version_1_means_what_it_says() {
    let file = RecipeFile::parse(V1).unwrap();
    let recipe = file.recipe();
    assert_eq!(recipe.base, BaseSpec::Blend { factor: 0.25, map: Some("twist".into()), pivot: true });
    assert_eq!(recipe.riders, Riders::Still);
    assert_eq!(file.maps(), ["belly.map.json", "maps/twist.map.json"]);

    let [first, second] = recipe.effects.as_slice() else { panic!("two effects") };
    assert_eq!(
        (first.effect.name(), first.gain, first.raw, first.map.as_deref()),
        ("floppy", 2.0, true, Some("belly"))
    );
    for (name, value) in [
        ("translation", 0.2),
        ("rotation", -0.3),
        ("max_length", 0.5),
        ("max_angle", 2.0),
        ("soft", 0.0),
        ("translation_filter", 0.6),
        ("rotation_filter", 0.8),
    ] {
        assert_eq!(first.values.number(name), value, "{name}");
    }
    let gain = |translation, rotation| BoneGain { translation, rotation };
    let bones = [("tail*", gain(2.0, 2.0)), ("ear.?", gain(0.0, 1.5)), ("head", gain(1.0, 3.0))];
    assert_eq!(first.bones, bones.map(|(name, gain)| (name.to_owned(), gain)));
    assert_eq!((second.gain, second.raw, &second.map, second.bones.len()), (1.0, false, &None, 0));
    for spec in second.effect.params() {
        assert_eq!(second.values.number(spec.name), spec.default(), "{}", spec.name);
    }

    let all = MotionSettings {
        looping: Looping::No,
        ends: Ends::Continue,
        travel: Travel::Keep,
        smoothing: Smoothing::Box(0.02),
        ..MotionSettings::default()
    };
    let runs =
        MotionSettings { looping: Looping::Yes, smoothing: Smoothing::Auto, teleports: vec![0.5, 1.0], ..all.clone() };
    let fast = MotionSettings { ends: Ends::Rest, teleports: Vec::new(), ..runs.clone() };
    assert_eq!(file.motion("Idle"), all);
    assert_eq!(file.motion("Run"), runs);
    assert_eq!(file.motion("Run.Fast"), fast);
    assert_eq!(file.clip_patterns().collect::<Vec<_>>(), ["Run*", "Run.Fast"]);
    assert_eq!(file.to_string(), V1);
}
