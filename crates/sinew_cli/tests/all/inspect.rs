//! `sinew inspect`: what it prints can be put into a recipe.

use crate::common::{Folder, all, frame, inspect, json, sinew};

#[test]
fn smoothing_is_told_in_the_unit_a_recipe_takes() {
    let folder = Folder::new();
    let smoothing = inspect("zoo:tube")["clips"][0]["smoothing"].as_f64().expect("seconds");
    assert!(smoothing > 0.0);
    let effect = "[[effect]]\ntype = \"floppy\"\n";
    let auto = folder.write("auto.sinew.toml", format!("version = 1\n{effect}"));
    let set = format!("version = 1\n[motion]\nsmoothing = {smoothing}\n{effect}");
    let set = folder.write("set.sinew.toml", set);
    let options = ["--clip", "wave", "--time", "0.4", "--recipe"];
    let [auto, told] = [&auto, &set].map(|recipe| frame("zoo:tube", &[&options[..], &[recipe]].concat()));
    assert_eq!(auto["bones"], told["bones"]);
    assert_eq!(all(&auto["meshes"], "positions"), all(&told["meshes"], "positions"));
    // What a recipe says is what is told.
    let text = folder.write("quarter.sinew.toml", "version = 1\n[motion]\nsmoothing = 0.0625\n");
    assert_eq!(json(["inspect", "zoo:tube", "--json", "--recipe", &text])["clips"][0]["smoothing"], 0.0625);
}

/// Between neighbours on the same character, so that it is less than all of it.
#[test]
fn the_gap_of_attachments_is_told_in_percent_of_the_size() {
    for character in ["zoo:arm", "zoo:calf"] {
        let gap = inspect(character)["characters"][0]["attachment_gap"].as_f64().expect("a share");
        assert!(gap > 0.0 && gap < 1.0, "{character}: {gap}");
        let text = sinew(["inspect", character]).stdout;
        let told = text.split("gaps up to ").nth(1).and_then(|rest| rest.split(" %").next()).expect("percent");
        let percent: f64 = told.parse().expect("a number");
        assert!((percent - 100.0 * gap).abs() <= 0.01 * percent, "{character}: {told} % for {gap}");
    }
}

#[test]
fn the_fitted_cone_is_printed_as_a_recipe_takes_it() {
    let folder = Folder::new();
    let lift = "version = 1\n[[effect]]\ntype = \"centrifugal-lift\"\n";
    let fitted = folder.write("fitted.sinew.toml", lift);
    let report = json(["inspect", "zoo:dancer", "--json", "--recipe", &fitted]);
    let cone = &report["cones"][0];
    assert_eq!(cone["effect"], "centrifugal-lift");
    assert!(cone["fit_error"].as_f64().is_some_and(|error| error > 0.0), "{cone}");
    let line = cone["recipe"].as_str().expect("a line");
    let text = sinew(["inspect", "zoo:dancer", "--recipe", &fitted]).stdout;
    assert!(text.contains(line), "{text}");

    let pasted = folder.write("pasted.sinew.toml", format!("{lift}{line}\n"));
    let options = ["--clip", "twirl", "--time", "0.4", "--recipe"];
    let [by_fit, by_hand] = [&fitted, &pasted].map(|recipe| frame("zoo:dancer", &[&options[..], &[recipe]].concat()));
    assert_eq!(by_fit["meshes"], by_hand["meshes"]);
    assert_ne!(all(&by_fit["meshes"], "positions"), all(&by_fit["meshes"], "base_positions"));
    let report = json(["inspect", "zoo:dancer", "--json", "--recipe", &pasted]);
    assert!(report["cones"][0]["fit_error"].is_null());
    assert_eq!(inspect("zoo:dancer")["cones"], serde_json::json!([]));
}

#[test]
fn anatomy_is_told_in_words_and_as_json() {
    let report = json(["inspect", "zoo:calf", "--anatomy", "--json"]);
    let bones = report["anatomy"]["bones"].as_array().expect("bones");
    let role = |wanted: &str| bones.iter().any(|bone| bone["role"] == wanted);
    assert!(role("spine") && role("head") && role("leg") && role("tail"), "{bones:?}");
    assert!(bones.iter().all(|bone| bone["reason"].as_str().is_some_and(|reason| !reason.is_empty())));
    let text = sinew(["inspect", "zoo:calf", "--anatomy"]).stdout;
    assert!(text.contains("tail") && text.contains("Pieces"), "{text}");
    assert!(inspect("zoo:calf").get("anatomy").is_none());
}
