//! Files that differ in one known way, or only in how they are written.

use crate::common::random_layer;
use serde_json::{Value, json};
use sinew_gltf::diff::{Change, diff, in_motion};
use sinew_gltf::layer::add;
use sinew_gltf::{Asset, Document, RawAsset, export, strip};
use sinew_testkit::assets::assets;
use sinew_testkit::glb::Builder;
use sinew_testkit::random::Random;

// Accessors of `Builder::rigged`.
const POSITIONS: usize = 0;
const LIFTS: usize = 7;

fn document(file: &Builder) -> Document {
    Document::from_slice("test.glb", &file.glb(), None).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn same(a: &Builder, b: &Builder) {
    assert_eq!(diff(&document(a), &document(b), 0.0), []);
    assert_eq!(diff(&document(b), &document(a), 0.0), []);
}

/// The one difference, by pointer.
#[track_caller]
fn one(a: &Builder, b: &Builder, pointer: &str) -> Change {
    let found = diff(&document(a), &document(b), 0.0);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].pointer, pointer);
    found[0].change.clone()
}

fn rigged() -> Builder {
    Builder::rigged()
}

#[test]
fn how_a_file_is_written_does_not_count() {
    let plain = rigged();
    let spelled = rigged()
        .with("/nodes/1/translation", json!([0, 0.0, 0]))
        .with("/nodes/1/rotation", json!([0, 0, 0, 1]))
        .with("/nodes/1/scale", json!([1, 1, 1.0]))
        .with("/meshes/0/primitives/0/mode", json!(4))
        .with("/meshes/0/extras", json!({}))
        .with("/animations/0/samplers/0/interpolation", json!("LINEAR"))
        .with("/accessors/0/normalized", json!(false))
        .with("/accessors/0/byteOffset", json!(0))
        .with("/accessors/0/min", json!([-0.5, 0, -0.5]))
        .with("/extensionsUsed", json!([]));
    same(&plain, &spelled);
    let material = |material: Value| rigged().with("/materials", json!([material]));
    same(
        &material(json!({"name": "m"})),
        &material(json!({"pbrMetallicRoughness": {"metallicFactor": 1}, "alphaMode": "OPAQUE", "name": "m"})),
    );
    // The other way round, and with a hole in the middle.
    let mut moved = rigged();
    let old = moved.bin.clone();
    moved.bin.splice(0..0, [9; 64]);
    for view in 0..moved.json["bufferViews"].as_array().expect("views").len() {
        let offset = moved.json["bufferViews"][view]["byteOffset"].as_u64().expect("an offset");
        moved.set(&format!("/bufferViews/{view}/byteOffset"), json!(offset + 64));
    }
    assert_eq!(moved.bin[64..], old);
    same(&plain, &moved);
    // Accessors in another order.
    let mut swapped = rigged();
    let accessors = swapped.json["accessors"].as_array_mut().expect("accessors");
    let last = accessors.len();
    accessors.push(accessors[POSITIONS].clone());
    accessors[POSITIONS] = accessors[LIFTS].clone();
    accessors[LIFTS] = json!({"componentType": 5126, "type": "SCALAR", "count": 1});
    let mut unswapped = rigged();
    unswapped.push("/accessors", json!({"componentType": 5126, "type": "SCALAR", "count": 1}));
    let swapped = swapped
        .with("/meshes/0/primitives/0/attributes/POSITION", json!(last))
        .with("/animations/0/samplers/1/output", json!(POSITIONS));
    same(&unswapped, &swapped);
    let used = |list: Value| rigged().with("/extensionsUsed", list);
    same(&used(json!(["A_b", "C_d"])), &used(json!(["C_d", "A_b"])));
}

#[test]
fn every_change_is_found_where_it_is() {
    let plain = rigged();
    let moved = rigged().with("/nodes/2/translation", json!([0, 1.5, 0]));
    let change = one(&plain, &moved, "/nodes/2/translation");
    assert_eq!(change, Change::Value { first: json!([0, 1, 0]), second: json!([0, 1.5, 0]) });
    let poked = rigged().poke(POSITIONS, 4, 0.25f32);
    let change = one(&plain, &poked, "/meshes/0/primitives/0/attributes/POSITION");
    let of = 3 * Builder::RIGGED_VERTICES;
    assert_eq!(change, Change::Numbers { differing: 1, of, largest: 0.25, element: 1 });
    let nan = rigged().poke(LIFTS, 4, f32::NAN);
    let change = one(&plain, &nan, "/animations/0/samplers/1/output");
    assert_eq!(change, Change::Numbers { differing: 1, of: 9, largest: f64::INFINITY, element: 1 });
    same(&nan, &nan.clone());
    let step = rigged().with("/animations/0/samplers/0/interpolation", json!("STEP"));
    assert_eq!(one(&plain, &step, "/animations/0/samplers/0/interpolation"), Change::OnlyInSecond);
    assert_eq!(one(&step, &plain, "/animations/0/samplers/0/interpolation"), Change::OnlyInFirst);
    let mut longer = rigged();
    longer.push("/nodes", json!({"name": "more"}));
    assert_eq!(one(&plain, &longer, "/nodes/3"), Change::OnlyInSecond);
    let unlit = rigged().with("/materials", json!([{"extensions": {"KHR_materials_unlit": {}}}]));
    let lit = rigged().with("/materials", json!([{}]));
    assert_eq!(one(&lit, &unlit, "/materials/0/extensions"), Change::OnlyInSecond);
    let mut short = rigged();
    let output = short.accessor("VEC3", &[0.0f32; 6]);
    let input = short.accessor("SCALAR", &[0.0f32, 1.0]);
    short.set("/animations/0/samplers/1", json!({"input": input, "output": output}));
    let found = diff(&document(&plain), &document(&short), 0.0);
    assert!(found.iter().any(|d| matches!(&d.change, Change::Shape { first, second }
        if first == "3 FLOAT VEC3" && second == "2 FLOAT VEC3")));
}

#[test]
fn tolerances_are_shares() {
    let (plain, poked) = (document(&rigged()), document(&rigged().poke(POSITIONS, 1, 2e-4f32)));
    assert_eq!(diff(&plain, &poked, 0.99e-4).len(), 1, "2e-4 of the largest coordinate, 2");
    assert_eq!(diff(&plain, &poked, 1.01e-4), []);
    let moved = document(&rigged().with("/nodes/2/translation", json!([0, 1.001, 0])));
    assert_eq!(diff(&plain, &moved, 0.9e-3).len(), 1);
    assert_eq!(diff(&plain, &moved, 1.1e-3), []);
}

#[test]
fn pictures_are_compared_by_their_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[7; 21]].concat();
    std::fs::write(folder.path().join("skin.png"), &png).expect("writable");
    let file = rigged().with("/images", json!([{"uri": "skin.png"}]));
    let outside = Document::from_slice("a.gltf", &file.embedded(), Some(folder.path())).expect("sound");
    let mut inside = outside.clone();
    inside.pack().expect("sound");
    assert_ne!(outside.json, inside.json);
    assert_eq!(diff(&outside, &inside, 0.0), []);
    let last = inside.buffers[0].len() - 1;
    inside.buffers[0][last] ^= 1;
    let found = diff(&outside, &inside, 0.0);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].pointer.as_str(), &found[0].change), ("/images/0", &Change::Bytes { first: 29, second: 29 }));
}

/// Every asset equals itself packed, and what a layer leaves behind once stripped; with the layer it differs, and in
/// motion by what the layer does.
#[test]
fn every_asset() {
    let mut random = Random::new(77);
    let (mut moving, mut seen) = (0, 0);
    for path in assets() {
        if std::fs::metadata(&path).is_ok_and(|m| m.len() > 1_000_000) {
            continue;
        }
        let asset = Asset::open(&path).unwrap_or_else(|e| panic!("{e}"));
        let document = asset.document.clone().expect("read from a file");
        let mut with = document.clone();
        let layer = random_layer(&asset.raw, &document, true, &mut random);
        add(&mut with, &layer).unwrap_or_else(|e| panic!("{e}"));
        let found = diff(&document, &with, 0.0);
        assert!(!found.is_empty());
        let layered =
            RawAsset::from_document("with", with.clone()).and_then(RawAsset::check).unwrap_or_else(|e| panic!("{e}"));
        let distances = in_motion(&asset, &layered);
        // A layer of nothing but zeros is one, too.
        let moves = distances.iter().any(|d| d.distance > 0.0);
        assert!(!moves || layer.clips.iter().any(|clip| !clip.nodes.is_empty()), "{}", path.display());
        (moving, seen) = (moving + usize::from(moves), seen + usize::from(!layer.clips.is_empty()));
        strip(&mut with).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(diff(&document, &with, 0.0), [], "{}", path.display());
    }
    assert!(2 * moving >= seen, "{moving} of {seen} layers move something");
}

#[test]
fn motion_is_compared_in_the_clips_both_have() {
    let plain = Asset::from_slice("a", &rigged().glb()).expect("sound");
    // The lower joint is lifted by 1 at 0.5 s; here by 1.5.
    let higher = Asset::from_slice("b", &rigged().poke(LIFTS, 4, 1.5f32).glb()).expect("sound");
    let distances = in_motion(&plain, &higher);
    assert_eq!(distances.len(), 2);
    assert_eq!((distances[0].clip.as_deref(), distances[0].distance), (None, 0.0));
    assert_eq!(distances[1].clip.as_deref(), Some("bend"));
    assert!((distances[1].distance - 0.5).abs() < 1e-6 && (distances[1].time - 0.5).abs() < 1e-9, "{distances:?}");
    let size = 6f64.sqrt();
    assert!((distances[1].share - 0.5 / size).abs() < 1e-6);
    let renamed = rigged().with("/animations/0/name", json!("other"));
    let renamed = Asset::from_slice("b", &renamed.glb()).expect("sound");
    assert_eq!(in_motion(&plain, &renamed).len(), 1);
}

#[test]
fn large_files_are_compared_quickly() {
    let character = sinew_zoo::build("tube:vertices=300000,bones=4").expect("built in");
    let a = export(&character.raw, &character.clips).expect("exportable");
    let mut b = a.clone();
    b.buffers[0].splice(0..0, [0; 8]);
    for view in b.json["bufferViews"].as_array_mut().expect("views") {
        view["byteOffset"] = (view["byteOffset"].as_u64().expect("an offset") + 8).into();
    }
    let start = std::time::Instant::now();
    assert_eq!(diff(&a, &b, 0.0), []);
    assert!(start.elapsed().as_secs_f64() < 1.0, "{:?}", start.elapsed());
}

/// One JSON value put wrong in one of the files: nothing panics.
#[test]
fn broken_documents_are_compared_all_the_same() {
    let sound = document(&rigged().with("/images", json!([{"uri": "x.png"}])));
    let mut pointers = vec![String::new()];
    let mut next = 0;
    while next < pointers.len() {
        let here = pointers[next].clone();
        match sound.json.pointer(&here) {
            Some(Value::Object(members)) => pointers.extend(members.keys().map(|key| format!("{here}/{key}"))),
            Some(Value::Array(entries)) => pointers.extend((0..entries.len()).map(|n| format!("{here}/{n}"))),
            _ => {}
        }
        next += 1;
    }
    for pointer in &pointers {
        for value in [json!(null), json!(-1), json!(1e30), json!(7), json!("x"), json!([]), json!({}), json!([{}])] {
            let mut bent = sound.clone();
            *bent.json.pointer_mut(pointer).expect("there") = value;
            let _ = diff(&sound, &bent, 0.0);
            let _ = diff(&bent, &sound, 1e-3);
        }
    }
}
