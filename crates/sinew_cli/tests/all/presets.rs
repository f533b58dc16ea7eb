//! `sinew presets` and `--preset`: what is listed can be used, printed and used again, on real characters too.

use crate::common::{Folder, all, farthest, frame, inspect, sinew};
use sinew_testkit::assets::asset;

#[test]
fn a_printed_preset_is_a_recipe_that_does_the_same() {
    let folder = Folder::new();
    let list = sinew(["presets"]).stdout;
    for preset in sinew::presets::names() {
        assert!(
            list.lines().any(|line| line.trim_start().starts_with(preset.name) && line.ends_with(preset.about)),
            "{list}"
        );
        let text = sinew(["presets", preset.name]).stdout;
        assert_eq!(text, preset.text);
        let recipe = folder.write(&format!("{}.sinew.toml", preset.name), text);
        let at = ["--clip", "wave", "--time", "0.4"];
        let ready = frame("zoo:tube", &[&["--preset", preset.name], &at[..]].concat());
        let own = frame("zoo:tube", &[&["--recipe", &recipe], &at[..]].concat());
        assert_eq!(ready["meshes"], own["meshes"], "{}", preset.name);
        // A tube has neither ears nor cloth.
        let mesh = &ready["meshes"][0]["primitives"][0];
        let on_parts = ["ears-and-tail", "cloth-twirl"].contains(&preset.name);
        assert_eq!(mesh["positions"] == mesh["base_positions"], on_parts, "{}", preset.name);
    }
}

#[test]
fn presets_fit_real_characters() {
    let all_of_them =
        ["Fox.glb", "Spot_velocity_skinning.glb", "CesiumMan.glb", "MakeHuman_skirt.glb", "RobotExpressive.glb"];
    let sampled = if std::env::var_os("SINEW_FULL").is_some() { 5 } else { 2 };
    for name in &all_of_them[..sampled] {
        let Some(path) = asset(name) else { continue };
        let file = path.to_str().expect("a path in UTF-8");
        let report = inspect(file);
        let clip = &report["clips"][0];
        let time = clip["start"].as_f64().unwrap() + 0.37 * clip["length"].as_f64().unwrap();
        let size =
            report["characters"].as_array().unwrap().iter().map(|c| c["size"].as_f64().unwrap()).fold(0.0, f64::max);
        for preset in sinew::presets::names() {
            let frame = frame(file, &["--clip", "0", "--time", &time.to_string(), "--preset", preset.name]);
            let moved = farthest(&all(&frame["meshes"], "positions"), &all(&frame["meshes"], "base_positions"));
            assert!(moved < 0.3 * size, "{} on {name}: {moved} of {size}", preset.name);
        }
    }
}
