//! Documents written as GLB and read back.

use serde_json::{Value, json};
use sinew_gltf::{Container, Document, RawAsset};
use sinew_testkit::assets::assets;
use sinew_testkit::glb::{Builder, glb};
use sinew_testkit::spec::SpecFile;

#[test]
fn every_asset_reads_the_same_from_what_is_written() {
    for path in assets() {
        let document = Document::open(&path).unwrap_or_else(|e| panic!("{e}"));
        let bytes = document.to_glb().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let again = Document::from_slice("again.glb", &bytes, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.warnings, []);
        if document.container == Container::Glb {
            assert_eq!(again.json.to_string(), document.json.to_string(), "{}", path.display());
            assert!(again.buffers == document.buffers, "{}", path.display());
            assert_eq!(again.to_glb().expect("writable"), bytes);
        }
        let (before, after) = (SpecFile::open(&path), SpecFile::from_bytes(&bytes, None));
        for node in before.skinned_nodes() {
            for (clip, _) in before.clips().iter().enumerate().take(2) {
                assert_eq!(before.positions(node, Some(clip), 0.3), after.positions(node, Some(clip), 0.3));
            }
        }
        let (a, b) = (RawAsset::open(&path).expect("imports"), RawAsset::from_slice("b", &bytes).expect("imports"));
        assert_eq!(a.raw.bones.len(), b.raw.bones.len());
    }
}

/// A folder with a `.gltf` whose data lie in three files, two buffers and an image, and one missing image.
fn scattered() -> (tempfile::TempDir, Builder, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = Builder::rigged();
    // The second half of the views move to a buffer of their own, at an odd length so that alignment matters.
    let views = file.json["bufferViews"].as_array().expect("views").len();
    let split = file.json["bufferViews"][views / 2]["byteOffset"].as_u64().expect("an offset") as usize;
    let second = file.bin.split_off(split);
    for view in views / 2..views {
        let offset = file.json["bufferViews"][view]["byteOffset"].as_u64().expect("an offset") as usize - split;
        file.set(&format!("/bufferViews/{view}/buffer"), json!(1));
        file.set(&format!("/bufferViews/{view}/byteOffset"), json!(offset));
    }
    file.bin.extend([1, 2, 3]);
    file.set("/buffers/0/uri", json!("a b.bin"));
    file.set("/buffers/0/byteLength", json!(file.bin.len()));
    file.push("/buffers", json!({"uri": "second.bin", "byteLength": second.len()}));
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[7; 21]].concat();
    file.set(
        "/images",
        json!([{"uri": "skin.png", "name": "skin"}, {"uri": "gone.jpg"}, {"uri": "data:image/png;base64,"}]),
    );
    for (name, bytes) in [("a b.bin", &file.bin), ("second.bin", &second), ("skin.png", &png)] {
        std::fs::write(folder.path().join(name), bytes).expect("writable");
    }
    std::fs::write(folder.path().join("it.gltf"), file.json.to_string()).expect("writable");
    (folder, file, png)
}

#[test]
fn scattered_files_become_one() {
    let (folder, file, png) = scattered();
    let path = folder.path().join("it.gltf");
    let before = SpecFile::open(&path);
    let mut document = Document::open(&path).unwrap_or_else(|e| panic!("{e}"));
    let bytes = document.to_glb().unwrap_or_else(|e| panic!("{e}"));
    let after = SpecFile::from_bytes(&bytes, None);
    for time in [0.0, 0.4, 1.7] {
        assert_eq!(before.positions(0, Some(0), time), after.positions(0, Some(0), time));
    }
    let warnings = document.pack().expect("sound");
    assert_eq!(warnings.len(), 1);
    assert_eq!((warnings[0].code, warnings[0].subject.as_str()), ("image-left-outside", "image 1"));
    let again = Document::from_slice("again.glb", &bytes, None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.json, document.json);
    assert_eq!(again.buffers, document.buffers);
    assert_eq!(again.buffers.len(), 1);
    assert_eq!(again.buffers[0][..file.bin.len()], file.bin, "the first buffer stays where it was");
    let images = &again.json["images"];
    assert_eq!(images[0]["mimeType"], "image/png");
    assert_eq!(images[0]["name"], "skin");
    assert!(images[0].get("uri").is_none());
    assert_eq!(images[1], json!({"uri": "gone.jpg"}));
    let view = &again.json["bufferViews"][images[0]["bufferView"].as_u64().expect("an index") as usize];
    let start = view["byteOffset"].as_u64().expect("an offset") as usize;
    assert_eq!(again.buffers[0][start..start + png.len()], png);
}

#[test]
fn chunks_and_extensions_nobody_knows_are_kept() {
    let mut file = Builder::rigged();
    file.set("/extensionsUsed", json!(["VENDOR_thing"]));
    file.set("/extensions", json!({"VENDOR_thing": {"z": 1, "a": [1.25, -0.0, 1e-30, 12345678901234567u64]}}));
    let json = serde_json::to_vec(&{
        let mut json = file.json.clone();
        json["buffers"][0]["byteLength"] = file.bin.len().into();
        json
    })
    .expect("JSON");
    let bytes = glb(&[(*b"JSON", &json, b' '), (*b"BIN\0", &file.bin, 0), (*b"ODD\0", b"twelve bytes", 0)]);
    let document = Document::from_slice("odd.glb", &bytes, None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(document.to_glb().expect("writable"), bytes);
}

/// Random numbers in JSON, of every size, keep their value to the bit.
#[test]
fn numbers_survive_reading_and_writing() {
    let mut random = sinew_testkit::random::Random::new(3);
    for _ in 0..20_000 {
        let number = f64::from_bits(random.bits());
        if number.is_finite() {
            let text = Value::from(number).to_string();
            let read: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(read.as_f64().map(f64::to_bits), Some(number.to_bits()), "{text}");
        }
    }
}

#[test]
fn a_first_buffer_without_data_is_refused() {
    let mut file = Builder::rigged();
    file.push("/buffers", json!({"byteLength": 4, "uri": "data:application/octet-stream;base64,AAAAAA=="}));
    let mut document = Document::from_slice("x.glb", &file.glb(), None).expect("sound");
    document.buffers[0].clear();
    assert!(document.to_glb().is_err());
}
