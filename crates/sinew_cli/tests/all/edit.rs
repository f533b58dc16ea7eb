//! `sinew edit`: strokes on the skin become shapes that a recipe names and every command plays.

use crate::common::{Folder, Run, frame, sinew};
use serde_json::{Value, json};

const TUBE: &str = "zoo:tube:vertices=1200,bones=2";

fn edit(folder: &Folder, edits: &Value, options: &[&str]) -> Run {
    let edits = folder.write("edits.json", edits.to_string());
    let output = folder.join("tube.sinew.toml");
    sinew([&["edit", TUBE, "--edit", &edits, "-o", &output, "--force"], options].concat())
}

fn bump(name: &str, height: f64) -> Value {
    json!({
        "name": name, "clip": "wave", "time": 0.3, "rings": 3,
        "from": [[-0.1, height, 0.2], [0.1, height, 0.2]], "to": [[-0.1, height, 0.35], [0.1, height, 0.35]]
    })
}

/// The farthest that any vertex lies from where it is without the recipe.
fn farthest(frame: &Value) -> f64 {
    let primitive = &frame["meshes"][0]["primitives"][0];
    let list = |key: &str| primitive[key].as_array().expect("positions").clone();
    let distance = |a: &Value, b: &Value| {
        let (a, b) = (crate::common::triple(a), crate::common::triple(b));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    };
    list("positions").iter().zip(&list("base_positions")).map(|(a, b)| distance(a, b)).fold(0.0, f64::max)
}

#[test]
fn an_edit_is_played_by_every_command() {
    let folder = Folder::new();
    let run = edit(&folder, &json!({"edits": [bump("low", 0.6), bump("high", 1.2)]}), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let recipe = folder.join("tube.sinew.toml");
    let text = std::fs::read_to_string(&recipe).expect("a recipe");
    assert!(text.contains("shape = \"low\"") && text.contains("shape = \"high\""), "{text}");
    let at = |time: &str| farthest(&frame(TUBE, &["--clip", "wave", "--time", time, "--recipe", &recipe]));
    assert!((at("0.3") - 0.15).abs() < 0.02, "{}", at("0.3"));
    assert!((0.1..0.2).contains(&at("0.0")), "{}", at("0.0"));
    let picture = folder.join("picture.png");
    let run =
        sinew(["render", TUBE, "--clip", "wave", "--time", "0.3", "--recipe", &recipe, "--size", "64", "-o", &picture]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let baked = folder.join("baked.glb");
    let run =
        sinew(["bake", TUBE, "--clip", "wave", "--fps", "12", "--recipe", &recipe, "--tolerance", "1%", "-o", &baked]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // A second edit on top of the recipe keeps the first.
    let run = edit(&folder, &json!({"edits": [bump("third", 0.9)]}), &["--recipe", &recipe]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read_to_string(&recipe).expect("a recipe");
    assert_eq!(text.matches("[[edit]]").count(), 3, "{text}");
}

#[test]
fn faults_name_the_edit_and_the_remedy() {
    let folder = Folder::new();
    let with = |key: &str, value: Value| {
        let mut edit = bump("bump", 0.6);
        edit[key] = value;
        json!({"edits": [edit]})
    };
    for (edits, words) in [
        (with("from", json!([])), "edit \"bump\": the from: the stroke has no points"),
        (with("clip", json!("walk")), "there is no clip"),
        (with("distance", json!(0.1)), "give only one of them"),
        (with("name", json!("a/b")), "give it a name"),
        (with("stiffness", json!(-1)), "the stiffness is -1"),
        (with("sovle", json!("arap")), "unknown field `sovle`"),
        (with("solve", json!("glue")), "glue"),
        (with("to", json!([[1e99, 0, 0]])), "too far away"),
    ] {
        let run = edit(&folder, &edits, &[]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(words), "{} ∌ {words}", run.stderr);
        assert!(!std::path::Path::new(&folder.join("tube.sinew.toml")).exists(), "nothing is half-written");
    }
}

#[test]
fn outlines_bulges_and_waves_are_drawn_through_a_camera() {
    let folder = Folder::new();
    let camera = json!({"eye": [0, 1, 8], "target": [0, 1, 0], "height": 2.7, "size": [1080, 1080]});
    // 400 pixels a unit; the tube's right outline is 0.2 or so from its axis.
    let hump = |i: i32| {
        let t = f64::from(i) / 40.0;
        [540.0 + 80.0 + 30.0 * (std::f64::consts::PI * t).sin().powi(2), 400.0 + 280.0 * t]
    };
    let outline: Vec<_> = (0..=40).map(hump).collect();
    let edits = json!({"edits": [
        {"name": "outline", "kind": "silhouette", "camera": camera, "to": outline},
        {"name": "vein", "kind": "bulge", "camera": camera, "from": [[520, 300], [560, 380]], "height": 0.02, "width": 0.08,
         "key": {"time": 0.5, "ease_in": 0.2, "ease_out": 0.2}},
        {"name": "ripple", "kind": "wave", "camera": camera, "from": [[540, 700], [540, 900]], "width": 0.1}
    ]});
    let run = edit(&folder, &edits, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let recipe = folder.join("tube.sinew.toml");
    let text = std::fs::read_to_string(&recipe).expect("a recipe");
    for words in ["shape = \"outline\"", "shape = \"vein\"", "type = \"wave\""] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(farthest(&frame(TUBE, &["--clip", "wave", "--time", "0.5", "--recipe", &recipe])) > 0.02);
    for (edits, words) in [
        (json!({"edits": [{"name": "a", "kind": "silhouette", "to": [[1, 1, 0]]}]}), "give the camera"),
        (
            json!({"edits": [{"name": "a", "camera": camera, "from": [[1, 1], [2, 2]], "to": [[1, 1]]}]}),
            "touch the skin",
        ),
        (
            json!({"edits": [{"name": "a", "character": 7, "from": [[0, 0, 0]], "to": [[0, 0, 0]]}]}),
            "no such character",
        ),
    ] {
        let run = edit(&folder, &edits, &[]);
        assert!(run.code == 1 && run.stderr.contains(words), "{} ∌ {words}", run.stderr);
    }
}
