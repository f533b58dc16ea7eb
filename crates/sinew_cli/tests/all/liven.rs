//! `sinew liven`: the file it writes, the recipe it writes, what it says, and what it refuses.

use crate::common::{Folder, json, sinew};
use sinew_testkit::glb::Builder;

#[test]
fn the_file_is_what_its_recipe_bakes_and_strip_takes_it_off() {
    let folder = Folder::new();
    let [made, recipe, again] = ["made.glb", "made.sinew.toml", "again.glb"].map(|name| folder.join(name));
    let run = sinew(["liven", "zoo:calf", "-o", &made, "--recipe-out", &recipe]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for word in ["tail: ", "body: ", "nothing for face"] {
        assert!(run.stdout.contains(word), "{word}: {}", run.stdout);
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{}", run.stdout);
    assert_eq!(sinew(["bake", "zoo:calf", "--recipe", &recipe, "-o", &again, "--quiet"]).code, 0);
    assert!(std::fs::read(&made).expect("a file") == std::fs::read(&again).expect("a file"), "other bytes");
    let text = std::fs::read_to_string(&recipe).expect("a recipe");
    assert!(
        text.starts_with("# Made by `sinew liven --style lively`") && text.contains("parts = [\"@tail\"]"),
        "{text}"
    );
    // Nothing is overwritten unasked.
    let refused = sinew(["liven", "zoo:calf", "-o", &made]);
    assert!(refused.code == 1 && refused.stderr.contains("already exists"), "{}", refused.stderr);
}

#[test]
fn programs_are_told_as_much() {
    let folder = Folder::new();
    let report =
        json(["liven", "zoo:calf", "-o", &folder.join("out.glb"), "--only", "tails", "--style", "cartoon", "--json"]);
    let told = &report["liven"];
    assert_eq!(told["style"], "cartoon");
    let parts: Vec<&str> =
        told["parts"].as_array().expect("a list").iter().filter_map(|p| p["part"].as_str()).collect();
    assert_eq!(parts, ["tail"]);
    assert_eq!(told["clips"].as_array().map(Vec::len), report["clips"].as_array().map(Vec::len));
    assert!(told["recipe"].as_str().is_some_and(|text| text.contains("@tail")));
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let folder = Folder::new();
    let out = folder.join("out.glb");
    let mut rigged = Builder::rigged();
    rigged.json.as_object_mut().expect("an object").remove("animations");
    let still = folder.write("still.glb", rigged.glb());
    for (args, code, says) in [
        (["zoo:calf", "--only", "tial"], 2, "did you mean tail?"),
        (["zoo:calf", "--style", "livly"], 2, "lively"),
        (["zoo:calf", "--strength", "4"], 2, "4%"),
        ([&still, "--style", "lively"], 1, "there is no clip"),
    ] {
        let run = sinew([&["liven"], &args[..], &["-o", &out]].concat());
        assert!(run.code == code && run.stderr.contains(says), "{args:?}: {} {}", run.code, run.stderr);
    }
    assert_eq!(folder.names(), ["still.glb"]);
}
