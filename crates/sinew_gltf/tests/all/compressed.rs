//! Files packed by meshopt or Draco are what they were before, within what packing rounds; broken ones end in one
//! error.
//!
//! The truth is meshoptimizer's and Draco's own: streams that their encoders packed, with what their decoders say of
//! them (`tests/packed/streams.json`), and built-in characters packed by glTF-Transform (`tests/packed/*.glb`).
//! `cargo xtask packed` packs characters at hand anew and compares those.

use serde_json::{Value, json};
use sinew_gltf::{Asset, Document};
use sinew_testkit::glb::Builder;
use sinew_testkit::random::Random;
use sinew_testkit::spec::SpecFile;
use std::path::{Path, PathBuf};

fn packed_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packed")
}

fn bytes_of(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().expect("text").as_bytes();
    let value = |digit: u8| (digit as char).to_digit(16).expect("hexadecimal") as u8;
    digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

/// A file whose one buffer view is packed.
fn file_of(stream: &Value, bytes: &[u8], extension: &str) -> Vec<u8> {
    let mut file = Builder::new();
    file.bin = bytes.to_vec();
    let (count, stride) = (stream["count"].as_u64().expect("count"), stream["stride"].as_u64().expect("stride"));
    let packed = json!({
        "buffer": 0, "byteLength": bytes.len(), "byteStride": stride, "count": count,
        "mode": stream["mode"], "filter": stream["filter"],
    });
    let length = count * stride;
    file.push("/buffers", json!({"byteLength": length, "extensions": {extension: {"fallback": true}}}));
    file.push("/bufferViews", json!({"buffer": 1, "byteLength": length, "extensions": {extension: packed}}));
    file.set("/extensionsRequired", json!([extension]));
    file.glb()
}

/// Whether a filter computes its numbers, which the specification lets round either way.
fn is_rounded(stream: &Value) -> bool {
    ["OCTAHEDRAL", "QUATERNION", "COLOR"].contains(&stream["filter"].as_str().expect("a filter"))
}

/// The largest difference to what meshoptimizer unpacks, in units of the stored numbers.
fn off_by(stream: &Value, found: &[u8]) -> i32 {
    let truth = bytes_of(&stream["plain"]);
    assert_eq!(found.len(), truth.len());
    // Four numbers an element, of eight or sixteen bits.
    let wide = stream["stride"].as_u64() == Some(8) && is_rounded(stream);
    let difference = |a: &[u8], b: &[u8]| match wide {
        true => i16::from_le_bytes([a[0], a[1]]).wrapping_sub(i16::from_le_bytes([b[0], b[1]])).into(),
        false => i32::from(a[0].wrapping_sub(b[0]) as i8),
    };
    let size = if wide { 2 } else { 1 };
    found.chunks(size).zip(truth.chunks(size)).map(|(a, b)| difference(a, b).abs()).max().unwrap_or(0)
}

/// `SINEW_STREAMS` names a longer list than the one kept here.
fn streams() -> Vec<Value> {
    let path = std::env::var_os("SINEW_STREAMS").map_or_else(|| packed_folder().join("streams.json"), PathBuf::from);
    serde_json::from_slice(&std::fs::read(path).expect("streams")).expect("JSON")
}

#[test]
fn streams_unpack_to_the_bytes_that_meshoptimizer_gives() {
    for (number, stream) in streams().iter().enumerate() {
        for extension in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
            let bytes = file_of(stream, &bytes_of(&stream["stream"]), extension);
            let document = Document::from_slice("packed.glb", &bytes, None).unwrap_or_else(|e| panic!("{number}: {e}"));
            assert_eq!(document.buffers.len(), 1);
            let off = off_by(stream, &document.buffers[0]);
            assert!(off == 0 || off == 1 && is_rounded(stream), "stream {number}, {}: off by {off}", stream["filter"]);
            assert_eq!(document.json["buffers"], json!([{"byteLength": document.buffers[0].len()}]));
            assert!(document.json.get("extensionsRequired").is_none());
            assert!(document.json["bufferViews"][0].get("extensions").is_none());
            assert_eq!(document.warnings[0].code, "compression-unpacked");
        }
    }
}

#[test]
fn broken_streams_end_in_an_error_that_names_the_view() {
    let mut random = Random::new(5);
    for stream in &streams() {
        let sound = bytes_of(&stream["stream"]);
        for _ in 0..12 {
            let mut bytes = sound.clone();
            match random.below(3) {
                0 => bytes.truncate(random.below(bytes.len())),
                1 => bytes.extend((0..=random.below(20)).map(|_| random.bits() as u8)),
                _ => {
                    for _ in 0..=random.below(3) {
                        let at = random.below(bytes.len());
                        bytes[at] ^= 1 << random.below(8);
                    }
                }
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
            let is_longer_or_shorter = bytes.len() != sound.len();
            match Document::from_slice("bad.glb", &file_of(stream, &bytes, "EXT_meshopt_compression"), None) {
                Ok(_) => assert!(!is_longer_or_shorter, "{stream}: {} bytes accepted", bytes.len()),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.starts_with("bad.glb: buffer view 0 [/bufferViews/0]: is packed"), "{text}");
                }
            }
        }
    }
}

/// Files of a folder that hold NAME.FORM.glb, packed, beside NAME.plain.glb.
fn pairs(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut packed: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|e| e == "glb") && !path.to_string_lossy().ends_with(".plain.glb"))
        .collect();
    packed.sort();
    let plain = |packed: &PathBuf| {
        let name = packed.file_name().expect("a name").to_string_lossy();
        folder.join(format!("{}.plain.glb", name.split('.').next().expect("a name")))
    };
    packed.into_iter().map(|packed| (plain(&packed), packed)).collect()
}

/// All vertices in the world.
fn points(file: &SpecFile, clip: Option<usize>, time: f64) -> Vec<[f64; 3]> {
    let nodes = file.skinned_nodes().into_iter().chain(file.unskinned_nodes());
    nodes.flat_map(|node| file.positions(node, clip, time)).flatten().collect()
}

/// The largest distance from a point of `from` to its nearest of `to`.
fn farthest(from: &[[f64; 3]], to: &[[f64; 3]]) -> f64 {
    let squared = |p: &[f64; 3], q: &[f64; 3]| (0..3).map(|n| (p[n] - q[n]).powi(2)).sum::<f64>();
    let nearest = |p: &[f64; 3]| to.iter().map(|q| squared(p, q)).fold(f64::INFINITY, f64::min);
    from.iter().map(nearest).fold(0.0, f64::max).sqrt()
}

/// Positions have 14 bits of their extent, weights 8 of one, rotations 16: a vertex between two bones that stand at a
/// right angle a third of the body apart is off by less than this share of the size.
const ROUNDING: f64 = 2e-3;

/// `SINEW_PACKED` names a folder of other files in packed and plain form.
#[test]
fn packed_files_move_as_plain_ones_do() {
    let folder = std::env::var_os("SINEW_PACKED").map_or_else(packed_folder, PathBuf::from);
    let pairs = pairs(&folder);
    assert!(pairs.len() >= 6, "{} files", pairs.len());
    for (plain_path, packed_path) in pairs {
        let name = packed_path.display();
        let document = Document::open(&packed_path).unwrap_or_else(|error| panic!("{error}"));
        let is_packed = document.warnings.iter().any(|w| w.code == "compression-unpacked");
        assert!(is_packed || name.to_string().contains(".quant."), "{name}: {:?}", document.warnings);
        let text = document.json.to_string();
        assert!(!text.contains("_compression"), "{name} still names its compression");
        let written = document.to_glb().expect("a file");
        let again = Document::from_slice("again.glb", &written, None).unwrap_or_else(|error| panic!("{error}"));
        assert!(again.warnings.is_empty(), "{name}: {:?}", again.warnings);
        Asset::open(&packed_path).unwrap_or_else(|error| panic!("{error}"));
        let (plain, packed) = (SpecFile::open(&plain_path), SpecFile::from_bytes(&written, None));
        let clips = plain.clips();
        assert_eq!(clips.len(), packed.clips().len(), "{name}");
        let mut worst = 0.0f64;
        let moments = clips.iter().take(3).enumerate().flat_map(|(clip, times)| {
            [0.0, 0.3, 0.7].map(|part| (Some(clip), times.start + part * (times.end - times.start)))
        });
        for (clip, time) in std::iter::once((None, 0.0)).chain(moments) {
            let (a, b) = (points(&plain, clip, time), points(&packed, clip, time));
            let bound = |pick: fn(f64, f64) -> f64, n: usize| a.iter().map(|p| p[n]).reduce(pick).expect("points");
            let size = (0..3).map(|n| (bound(f64::max, n) - bound(f64::min, n)).powi(2)).sum::<f64>().sqrt();
            worst = worst.max(farthest(&a, &b).max(farthest(&b, &a)) / size);
        }
        println!("{name}: off by {:.4} % of the size at most", 100.0 * worst);
        assert!(worst < ROUNDING, "{name} is off by {worst} of the size");
    }
}

#[test]
fn broken_files_end_in_one_error() {
    let mut random = Random::new(11);
    let rounds = if std::env::var_os("SINEW_FULL").is_some() { 20_000 } else { 250 };
    for (_, path) in pairs(&packed_folder()) {
        let sound = std::fs::read(&path).expect("a file");
        let json = 20 + u32::from_le_bytes(sound[12..16].try_into().expect("four bytes")) as usize;
        let mut refused = 0;
        for _ in 0..rounds {
            let mut bytes = sound.clone();
            for _ in 0..=random.below(3) {
                // Among the packed numbers, which a mutation of the text would seldom reach.
                let at = json + 8 + random.below(bytes.len() - json - 8);
                match random.below(3) {
                    0 => bytes[at] = random.bits() as u8,
                    1 => bytes[at..].iter_mut().take(16).for_each(|byte| *byte = 0xff),
                    _ => bytes[at] ^= 1 << random.below(8),
                }
            }
            if let Err(error) = Asset::from_slice("bad.glb", &bytes) {
                let text = error.to_string();
                assert!(text.starts_with("bad.glb: ") && text.contains("; "), "{text}");
                refused += 1;
            }
        }
        println!("{}: {refused} of {rounds} refused", path.display());
    }
}

#[test]
fn plain_data_beside_the_packed_is_used() {
    let stream = &streams()[0];
    let bytes = file_of(stream, &[1, 2, 3, 4], "EXT_meshopt_compression");
    assert!(Document::from_slice("bad.glb", &bytes, None).is_err());
    let length = stream["count"].as_u64().expect("count") * stream["stride"].as_u64().expect("stride");
    let mut file = Builder::new();
    file.bin = vec![7; length as usize + 4];
    let packed =
        json!({"buffer": 0, "byteOffset": length, "byteLength": 4, "byteStride": 4, "count": 1, "mode": "INDICES"});
    file.push(
        "/bufferViews",
        json!({"buffer": 0, "byteLength": length, "extensions": {"EXT_meshopt_compression": packed}}),
    );
    let document = Document::from_slice("plain.glb", &file.glb(), None).expect("a file");
    assert!(document.buffers == [vec![7; length as usize]], "the stream goes, the plain bytes stay");
}
