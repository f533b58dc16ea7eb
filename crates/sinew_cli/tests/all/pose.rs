//! `sinew pose`: bones follow strokes, lengths are kept, equal strokes change nothing.

use crate::common::{Folder, frame, sinew, triple};
use serde_json::{Value, json};

fn origins(file: &str) -> Vec<[f64; 3]> {
    let bones = frame(file, &[])["bones"].as_array().expect("bones").clone();
    bones.iter().map(|bone| triple(&bone["origin"])).collect()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

fn pose(folder: &Folder, file: &str, strokes: &Value) -> crate::common::Run {
    let strokes = folder.write("strokes.json", strokes.to_string());
    sinew(["pose", file, "--strokes", &strokes, "-o", &folder.join("posed.glb"), "--force"])
}

#[test]
fn a_tube_bends_to_the_stroke_with_its_lengths_kept() {
    let folder = Folder::new();
    let arc: Vec<_> = (0..=40).map(|i| f64::from(i) / 40.0 * 1.5).collect();
    let arc: Vec<_> = arc.iter().map(|a| [2.0 / 1.5 * (1.0 - a.cos()), 2.0 / 1.5 * a.sin(), 0.0]).collect();
    let run =
        pose(&folder, "zoo:tube:bones=8", &json!({"strokes": [{"baseline": [[0, 0, 0], [0, 2, 0]], "offset": arc}]}));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("8 bones"), "{}", run.stderr);
    let (before, after) = (origins("zoo:tube:bones=8"), origins(&folder.join("posed.glb")));
    for bone in 1..8 {
        let (was, is) = (distance(before[bone - 1], before[bone]), distance(after[bone - 1], after[bone]));
        assert!((is / was - 1.0).abs() < 1e-6, "bone {bone}: {was} → {is}");
        let a = 1.5 * bone as f64 / 8.0;
        assert!(distance(after[bone], [2.0 / 1.5 * (1.0 - a.cos()), 2.0 / 1.5 * a.sin(), 0.0]) < 0.01, "bone {bone}");
    }
    // With stretching the joints lie on a stroke of any length.
    let line =
        json!({"strokes": [{"baseline": [[0, 0, 0], [0, 2, 0]], "offset": [[0, 0, 0], [3, 0, 0]], "stretch": true}]});
    assert_eq!(pose(&folder, "zoo:tube:bones=8", &line).code, 0);
    for (bone, at) in origins(&folder.join("posed.glb")).into_iter().enumerate().take(8) {
        assert!(distance(at, [3.0 * bone as f64 / 8.0, 0.0, 0.0]) < 1e-6, "bone {bone}: {at:?}");
    }
}

#[test]
fn an_equal_stroke_leaves_every_character_as_it_is() {
    let folder = Folder::new();
    for name in ["zoo:calf", "zoo:tube", "zoo:bird"] {
        let bounds = &crate::common::inspect(name)["characters"][0]["bounds"];
        let line = json!([bounds["min"], bounds["max"]]);
        let strokes = json!({"strokes": [{"baseline": line, "offset": line, "radius": 100}]});
        let run = pose(&folder, name, &strokes);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("0 nodes moved"), "{}", run.stderr);
    }
}

#[test]
fn faults_name_the_stroke_and_the_remedy() {
    let folder = Folder::new();
    let line = json!([[0, 0, 0], [0, 2, 0]]);
    for (strokes, words) in [
        (json!({"strokes": [{"baseline": [[9, 9, 9], [9, 9, 8]], "offset": line}]}), "stroke 1: no joint"),
        (json!({"strokes": [{"baseline": line, "offset": []}]}), "the offset: the stroke has no points"),
        (json!({"strokes": [{"baseline": [[0, 1]], "offset": line}]}), "point 0 has 2 numbers"),
        (json!({"strokes": [{"baseline": line, "offset": [[1e300, 0, 0], [0, 0, 0]]}]}), "not a usable number"),
        (json!({"strokes": [{"baseline": line, "offset": line, "radius": -1}]}), "the radius is -1"),
        (json!({"strokes": [{"baseline": line, "offset": line, "radios": 1}]}), "unknown field `radios`"),
        (json!({"strokes": [{"baseline": line, "offset": line, "normal": [0, 0, 0]}]}), "no direction"),
    ] {
        let run = pose(&folder, "zoo:tube", &strokes);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(words), "{} ∌ {words}", run.stderr);
        assert!(!std::path::Path::new(&folder.join("posed.glb")).exists(), "nothing is half-written");
    }
}

/// The pixel at which a camera that looks along −Z from `eye` shows a place, as any textbook has it.
fn pixel(eye: [f64; 3], fov: f64, size: [f64; 2], p: [f64; 3]) -> [f64; 2] {
    let scale = 0.5 * size[1] / (0.5 * fov.to_radians()).tan() / (eye[2] - p[2]);
    [0.5 * size[0] + scale * (p[0] - eye[0]), 0.5 * size[1] - scale * (p[1] - eye[1])]
}

#[test]
fn pixels_of_a_camera_pose_like_the_places_they_show() {
    let folder = Folder::new();
    let arc: Vec<_> = (0..=40).map(|i| f64::from(i) / 40.0 * 1.5).collect();
    let arc: Vec<_> = arc.iter().map(|a| [2.0 / 1.5 * (1.0 - a.cos()), 2.0 / 1.5 * a.sin(), 0.0]).collect();
    let show = |p: [f64; 3]| pixel([0.0, 1.0, 6.0], 30.0, [1600.0, 900.0], p);
    let camera = json!({"eye": [0, 1, 6], "target": [0, 1, 0], "fov": 30, "size": [1600, 900]});
    let in_world =
        json!({"strokes": [{"baseline": [[0, 0, 0], [0, 2, 0]], "offset": arc, "tolerance": 0, "fit": "curve"}]});
    let pixels: Vec<_> = arc.iter().map(|&p| show(p)).collect();
    let in_picture = json!({"strokes": [{
        "camera": camera, "baseline": [show([0.0; 3]), show([0.0, 2.0, 0.0])], "offset": pixels, "tolerance": 0, "fit": "curve"
    }]});
    let [world, picture] = [in_world, in_picture].map(|strokes| {
        let run = pose(&folder, "zoo:tube:bones=8", &strokes);
        assert_eq!(run.code, 0, "{}", run.stderr);
        origins(&folder.join("posed.glb"))
    });
    assert!(world.iter().zip(&picture).all(|(a, b)| distance(*a, *b) < 1e-5), "{world:?}\n{picture:?}");
    let beside = json!({"strokes": [{"camera": camera, "baseline": [[1, 1], [9, 9]], "offset": [[1, 1], [9, 9]]}]});
    let run = pose(&folder, "zoo:tube:bones=8", &beside);
    assert!(run.code == 1 && run.stderr.contains("no joint matching"), "{}", run.stderr);
}

#[test]
fn a_pose_at_a_time_of_a_clip_comes_and_goes_as_a_layer() {
    let folder = Folder::new();
    let tube = "zoo:tube:bones=6";
    let strokes =
        json!({"strokes": [{"baseline": [[0, 0, 0], [0, 2, 0]], "offset": [[0, 0, 0], [1.5, 1.2, 0]], "radius": 9}]});
    let strokes = folder.write("strokes.json", strokes.to_string());
    let (out, layers) = (folder.join("layered.glb"), folder.join("layers.json"));
    let eases = ["--clip", "wave", "--time", "0.5", "--ease-in", "0.2", "--ease-out", "0.1"];
    let args = ["pose", tube, "--strokes", &strokes, "-o", &out, "--force", "--save-layers", &layers];
    let run = sinew([&args[..], &eases[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let at = |file: &str, time: &str| {
        let bones = frame(file, &["--clip", "wave", "--time", time])["bones"].as_array().expect("bones").clone();
        bones.iter().map(|bone| triple(&bone["origin"])).collect::<Vec<_>>()
    };
    let apart = |time: &str, other: &str| {
        let (a, b) = (at(tube, time), at(other, time));
        a.iter().zip(&b).map(|(a, b)| distance(*a, *b)).fold(0.0, f64::max)
    };
    for outside in ["0.0", "0.25", "0.65", "0.9"] {
        assert!(apart(outside, &out) < 1e-6, "{outside}: {}", apart(outside, &out));
    }
    let whole = apart("0.5", &out);
    assert!(whole > 0.5 && apart("0.4", &out) > 0.1 && apart("0.4", &out) < whole, "{whole}");
    // The layers alone give the same file; a second one on top adds up.
    let again = folder.join("again.glb");
    let run = sinew([&["pose", tube, "--layers", &layers, "-o", &again][..], &eases[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(std::fs::read(&out).expect("a file"), std::fs::read(&again).expect("a file"));
    let run = sinew([&["pose", tube, "-o", &again, "--force", "--clip", "wave", "--layers", &layers][..]].concat());
    assert_eq!(run.code, 2, "a clip without a time: {}", run.stderr);
}
