//! Files that are wrong, each in one way: every one ends in the documented error or repair, and none in a panic.

use serde_json::{Value, json};
use sinew_gltf::{ImportError, RawAsset};
use sinew_testkit::assets::assets;
use sinew_testkit::glb::{Builder, glb};
use sinew_testkit::random::Random;
use std::time::{Duration, Instant};

// Accessors of `Builder::rigged`.
const POSITIONS: usize = 0;
const WEIGHTS: usize = 2;
const INDICES: usize = 3;
const BINDS: usize = 4;
const TIMES: usize = 5;
const TURNS: usize = 6;

const PRIMITIVE: &str = "/meshes/0/primitives/0";

/// No single file may take longer.
const PATIENCE: Duration = Duration::from_secs(10);

fn attempt(bytes: Vec<u8>) -> Result<RawAsset, ImportError> {
    let start = Instant::now();
    let result = RawAsset::from_slice("bad.glb", &bytes);
    assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
    result
}

/// The file is refused with a message that names the file, all of `parts`, and a remedy.
#[track_caller]
fn refused(bytes: Vec<u8>, parts: &[&str]) -> ImportError {
    let error = attempt(bytes).err().unwrap_or_else(|| panic!("accepted, but should say {parts:?}"));
    let text = error.to_string();
    for part in [&["bad.glb: ", "; "][..], parts].concat() {
        assert!(text.contains(part), "\"{text}\" does not say \"{part}\"");
    }
    error
}

/// The file is accepted with a warning of this code that names all of `parts`.
#[track_caller]
fn repaired(bytes: Vec<u8>, code: &str, parts: &[&str]) -> RawAsset {
    let asset = attempt(bytes).unwrap_or_else(|error| panic!("{error}"));
    let found = asset.warnings.iter().find(|w| w.code == code);
    let text = found.unwrap_or_else(|| panic!("no {code} among {:?}", asset.warnings)).to_string();
    for part in parts {
        assert!(text.contains(part), "\"{text}\" does not say \"{part}\"");
    }
    asset
}

fn rigged() -> Builder {
    Builder::rigged()
}

#[test]
fn shells() {
    let sound = rigged().glb();
    refused(Vec::new(), &["neither GLB nor glTF"]);
    refused(b"PK\x03\x04 a zip file".to_vec(), &["neither GLB nor glTF"]);
    refused(b"glTX".iter().chain(&sound[4..]).copied().collect(), &["neither GLB nor glTF"]);
    refused(b"glTF".to_vec(), &["GLB header", "4 of its 12 bytes"]);
    refused(sound[..sound.len() - 100].to_vec(), &["GLB header", "truncated"]);
    let lying = |at: usize, number: u32| {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        bytes
    };
    refused(lying(4, 1), &["GLB header", "version 1"]);
    refused(lying(8, u32::MAX), &["GLB header", "4294967295 bytes"]);
    refused(lying(8, 12), &["GLB file", "no JSON chunk"]);
    refused(lying(12, u32::MAX), &["GLB chunk 0", "4294967295 bytes"]);
    refused(lying(16, 7), &["GLB chunk 0", "not the JSON chunk"]);
    let longer: Vec<u8> = sound.iter().copied().chain([0; 8]).collect();
    repaired(longer, "trailing-bytes", &["GLB header"]);
    let other =
        glb(&[(*b"JSON", br#"{"asset":{"version":"2.0"}}"#, b' '), (*b"BIN\0", b"", 0), (*b"KEEP", b"abcd", 0)]);
    let asset = attempt(other).expect("unknown chunks are legal");
    assert_eq!(asset.document.other_chunks, [(u32::from_le_bytes(*b"KEEP"), b"abcd".to_vec())]);
}

#[test]
fn json_text() {
    refused(b"{\"asset\": {\"version\": \"2.0\"}".to_vec(), &["JSON text", "line 1"]);
    refused(b"{\"asset\": {\"version\": \"2.0\"}, \"x\": NaN}".to_vec(), &["JSON text", "NaN"]);
    refused(b"{\"asset\": {\"version\": \"2.0\"}, \"x\": 1e999}".to_vec(), &["JSON text"]);
    refused(b"{\"a\": \"\xff\xfe\"}".to_vec(), &["JSON text"]);
    refused(vec![b'['; 1_000_000], &["neither GLB nor glTF"]);
    refused(format!("{{\"a\":{}", "[".repeat(1_000_000)).into_bytes(), &["JSON text", "recursion limit"]);
    refused(b"{}".to_vec(), &["\"asset\""]);
    refused(rigged().with("/asset/version", json!("1.0")).glb(), &["/asset/version", "glTF 2.x"]);
    refused(rigged().with("/asset/minVersion", json!("3.0")).glb(), &["/asset/minVersion", "3.0"]);
    refused(rigged().with("/asset/version", json!(2)).glb(), &["/asset/version", "a number, but text"]);
    refused(rigged().with("/nodes", json!({})).glb(), &["/nodes", "not an array"]);
    refused(rigged().with("/nodes/1", json!(7)).glb(), &["node 1", "/nodes/1", "not an object"]);
    refused(rigged().with("/nodes/2/translation", json!([0, 1])).glb(), &["node 2 \"upper\"", "2 numbers"]);
    refused(rigged().with("/nodes/2/translation", json!([0, 1e300, 0])).glb(), &["/translation/1", "out of range"]);
    refused(rigged().with("/nodes/2/children", json!([-1])).glb(), &["node 2 \"upper\"", "-1"]);
    refused(rigged().with("/nodes/0/mesh", json!(1.5)).glb(), &["node 0 \"Tube\"", "1.5"]);
}

#[test]
fn extensions() {
    let requiring = |name: &str| rigged().with("/extensionsRequired", json!([name])).glb();
    repaired(requiring("ACME_wobble"), "extension-unknown", &["ACME_wobble"]);
    let used = rigged().with("/extensionsRequired", json!(["ACME_wobble"]));
    let used = used.with("/nodes/2/extensions", json!({"ACME_wobble": {}}));
    let error = refused(used.glb(), &["ACME_wobble", "node 2 \"upper\"", "export without"]);
    assert!(matches!(error, ImportError::Unsupported { .. }));
    attempt(requiring("KHR_materials_unlit")).expect("materials do not touch geometry");
    let draco = json!({"KHR_draco_mesh_compression": {"bufferView": 0}});
    let fallback = rigged().with(&format!("{PRIMITIVE}/extensions"), draco);
    attempt(fallback.glb()).expect("plain accessors beside the compressed ones serve");
    let bare = fallback.without(&format!("/accessors/{POSITIONS}/bufferView"));
    refused(bare.glb(), &["mesh 0 \"TubeMesh\", primitive 0", "has no \"attributes\""]);
    let mut stray =
        bare.with(&format!("{PRIMITIVE}/extensions/KHR_draco_mesh_compression/attributes"), json!({"POSITION": 0}));
    refused(stray.glb(), &["mesh 0 \"TubeMesh\", primitive 0", "KHR_draco", "gltf-transform"]);
    stray.set(&format!("{PRIMITIVE}/extensions/KHR_draco_mesh_compression/bufferView"), json!(99));
    refused(stray.glb(), &["names buffer view 99"]);
    let mut meshopt = rigged();
    meshopt.push("/buffers", json!({"byteLength": 1000}));
    meshopt.set("/bufferViews/0/buffer", json!(1));
    refused(meshopt.glb(), &["POSITION", "accessor 0", "no data"]);
    meshopt.set("/bufferViews/0/extensions", json!({"EXT_meshopt_compression": {}}));
    refused(meshopt.glb(), &["buffer view 0", "EXT_meshopt_compression", "has no \"buffer\""]);
    let packed = |count: u64, stride: u64, mode: &str| {
        let length = 240;
        json!({"EXT_meshopt_compression":
            {"buffer": 0, "byteLength": length, "count": count, "byteStride": stride, "mode": mode}})
    };
    for (count, stride, mode, fault) in [
        (20, 12, "ATTRIBUTES", "its stream does not begin as its mode says"),
        (20, 12, "TRIANGLES", "is packed as TRIANGLES of 12 bytes"),
        (60, 4, "WOBBLES", "the mode \"WOBBLES\""),
        (1 << 60, 12, "ATTRIBUTES", "but is packed as"),
    ] {
        meshopt.set("/bufferViews/0/extensions", packed(count, stride, mode));
        refused(meshopt.glb(), &["buffer view 0", fault, "gltf-transform"]);
    }
    meshopt.set("/bufferViews/0/byteLength", json!(1u64 << 45));
    meshopt.set("/bufferViews/0/extensions", packed(1 << 43, 4, "ATTRIBUTES"));
    refused(meshopt.glb(), &["buffer view 0", "beyond the limit"]);
}

#[test]
fn buffers_and_uris() {
    let uri = |uri: &str| rigged().gltf(uri);
    refused(uri("http://example.org/a.bin"), &["buffer 0", "/buffers/0/uri", "scheme"]);
    refused(uri("file:///etc/passwd"), &["buffer 0", "scheme"]);
    refused(uri("/etc/passwd"), &["buffer 0", "absolute"]);
    refused(uri("C:\\a.bin"), &["buffer 0", "scheme"]);
    refused(uri("../a.bin"), &["buffer 0", "leaves the asset's folder"]);
    refused(uri("x/%2e%2e/%2e%2e/a.bin"), &["buffer 0", "leaves the asset's folder"]);
    refused(uri("a.bin"), &["buffer 0", "no folder"]);
    refused(uri("data:text/plain,hello"), &["buffer 0", "not base64"]);
    refused(uri("data:application/octet-stream;base64"), &["buffer 0", "comma"]);
    refused(uri("data:application/octet-stream;base64,@@@@"), &["buffer 0", "invalid base64"]);
    refused(uri("data:application/octet-stream;base64,AAAA"), &["buffer 0", "there are 3"]);
    let declared = rigged().with("/buffers/0/byteLength", json!(48_000_000_000u64));
    refused(declared.glb(), &["buffer 0", "48000000000 bytes"]);
    refused(rigged().with("/buffers", json!([])).glb(), &["buffer view 4", "names buffer 0, but the file has only 0"]);
    let bin_less = rigged().with("/buffers/0/byteLength", json!(1000)).json.to_string().into_bytes();
    refused(glb(&[(*b"JSON", &bin_less, b' ')]), &["no data"]);
}

#[test]
fn files_beside_the_asset() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (folder.path().join("asset"), folder.path().join("outside"));
    std::fs::create_dir_all(inside.join("sub dir")).expect("a folder");
    std::fs::create_dir_all(&outside).expect("a folder");
    let file = rigged();
    std::fs::write(inside.join("sub dir/tube.bin"), &file.bin).expect("written");
    std::fs::write(outside.join("tube.bin"), &file.bin).expect("written");
    let path = inside.join("tube.gltf");
    let attempt = |uri: &str| {
        std::fs::write(&path, file.gltf(uri)).expect("written");
        RawAsset::open(&path)
    };
    let asset = attempt("sub%20dir/tube.bin").expect("percent-encoded names");
    assert_eq!(asset.document.buffers[0], file.bin);
    let text = attempt("missing.bin").expect_err("not there").to_string();
    assert!(text.contains("tube.gltf") && text.contains("missing.bin") && text.contains("put the file back"), "{text}");
    let text = attempt("sub%20dir").expect_err("a folder").to_string();
    assert!(text.contains("not a plain file"), "{text}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.join("tube.bin"), inside.join("link.bin")).expect("a link");
        let text = attempt("link.bin").expect_err("leads out").to_string();
        assert!(text.contains("link.bin") && text.contains("through a link"), "{text}");
    }
    let image = json!([{"uri": "nowhere.png"}]);
    std::fs::write(&path, file.clone().with("/images", image).gltf("sub%20dir/tube.bin")).expect("written");
    RawAsset::open(&path).expect("images are none of our business");
    let text = RawAsset::open("no/such/file.glb").expect_err("not there").to_string();
    assert!(text.contains("no/such/file.glb") && text.contains("check the path"), "{text}");
}

#[test]
fn accessors() {
    let positions = |key: &str, value: Value| rigged().with(&format!("/accessors/{POSITIONS}/{key}"), value).glb();
    let words =
        ["mesh 0 \"TubeMesh\", primitive 0, POSITION", "/meshes/0/primitives/0/attributes/POSITION", "accessor 0"];
    let refused_position = |key: &str, value: Value, part: &str| {
        refused(positions(key, value), &[&words[..], &[part]].concat());
    };
    refused_position("count", json!(21), "needs 252 bytes");
    refused_position("count", json!(4_000_000_000u64), "needs 48000000000 bytes");
    refused_position("count", json!(u64::MAX), "elements");
    refused_position("byteOffset", json!(4), "from byte 4 on");
    refused_position("byteOffset", json!(u64::MAX), "needs 240 bytes");
    refused_position("componentType", json!(5124), "componentType 5124");
    refused_position("componentType", json!(5125), "UNSIGNED_INT");
    refused_position("type", json!("VEC9"), "VEC9");
    refused_position("type", json!("VEC2"), "VEC2, but VEC3 is expected");
    refused(positions("bufferView", json!(99)), &["accessor 0", "names buffer view 99"]);
    let view = |key: &str, value: Value| rigged().with(&format!("/bufferViews/0/{key}"), value).glb();
    refused(view("byteOffset", json!(1_000_000)), &["POSITION", "buffer view 0", "bytes 1000000"]);
    refused(view("byteOffset", json!(u64::MAX)), &["POSITION", "buffer view 0"]);
    refused(view("byteLength", json!(48_000_000_000u64)), &["POSITION", "48000000000"]);
    refused(view("byteStride", json!(4)), &["POSITION", "byteStride 4"]);
    refused(view("byteStride", json!(u64::MAX)), &["POSITION", "accessor 0"]);
    refused(view("buffer", json!(3)), &["buffer view 0", "names buffer 3"]);
    let attribute = |key: &str, value: Value| rigged().with(&format!("{PRIMITIVE}/attributes/{key}"), value).glb();
    refused(attribute("POSITION", json!(77)), &["POSITION", "names accessor 77"]);
    // Zeros cost nothing to declare, so what they unpack to is limited.
    let zeros = rigged().without(&format!("/accessors/{POSITIONS}/bufferView"));
    let zeros = zeros.with(&format!("/accessors/{POSITIONS}/count"), json!(4_000_000_000u64));
    let error = refused(zeros.glb(), &["POSITION", "12000000000 more numbers"]);
    assert!(matches!(error, ImportError::TooLarge { .. }));
}

#[test]
fn sparse_accessors() {
    let mut file = rigged();
    let (places, values) = (file.view(&[1u8, 3]), file.view(&[0.0f32; 6]));
    let sparse = json!({
        "count": 2,
        "indices": {"bufferView": places, "componentType": 5121},
        "values": {"bufferView": values},
    });
    file.set("/accessors/0/sparse", sparse);
    attempt(file.glb()).expect("sound");
    let broken = |key: &str, value: Value| file.clone().with(&format!("/accessors/0/sparse/{key}"), value).glb();
    refused(broken("count", json!(3)), &["accessor 0", "3 elements"]);
    refused(broken("count", json!(4_000_000_000u64)), &["accessor 0", "4000000000"]);
    refused(broken("indices/componentType", json!(5126)), &["accessor 0", "componentType 5126"]);
    refused(broken("values/bufferView", json!(50)), &["names buffer view 50"]);
    let poked = |bytes: [u8; 2]| {
        let mut file = file.clone();
        let at = file.json.pointer(&format!("/bufferViews/{places}/byteOffset")).and_then(Value::as_u64);
        let at = at.expect("an offset") as usize;
        file.bin[at..at + 2].copy_from_slice(&bytes);
        file.glb()
    };
    refused(poked([1, 200]), &["accessor 0", "sparse index 200"]);
    refused(poked([3, 1]), &["accessor 0", "sparse index 1 after 3"]);
}

#[test]
fn node_trees() {
    let children = |node: usize, list: Value| rigged().with(&format!("/nodes/{node}/children"), list).glb();
    refused(children(2, json!([2])), &["node 2 \"upper\"", "/nodes/2/children/0", "its own child"]);
    refused(children(2, json!([1])), &["is its own ancestor", "cycle"]);
    refused(children(1, json!([2, 2])), &["node 1 \"lower\"", "twice"]);
    refused(children(0, json!([2])), &["node 2", "child of node 0 already"]);
    refused(children(1, json!([3])), &["node 1 \"lower\"", "names node 3", "only 3"]);
    let mut below = rigged().with("/nodes/2/children", json!([3]));
    below.push("/nodes", json!({"children": [4]}));
    below.push("/nodes", json!({"children": [1]}));
    refused(below.glb(), &["cycle"]);
    refused(rigged().with("/scenes/0/nodes", json!([9])).glb(), &["scene 0", "names node 9"]);
    refused(rigged().with("/scene", json!(4)).glb(), &["/scene", "names scene 4"]);
    refused(rigged().with("/nodes/0/mesh", json!(4)).glb(), &["node 0 \"Tube\"", "names mesh 4"]);
    refused(rigged().with("/nodes/0/skin", json!(4)).glb(), &["node 0 \"Tube\"", "names skin 4"]);
    refused(rigged().with("/nodes/1/rotation", json!([0, 0, 0, 0])).glb(), &["node 1 \"lower\"", "length zero"]);
    let asset = repaired(
        rigged().with("/nodes/1/rotation", json!([0, 0, 0, 3])).glb(),
        "rotation-not-unit",
        &["node 1 \"lower\"", "length 3"],
    );
    assert_eq!(asset.raw.bones[1].local.to_trs().rotation, glam::DQuat::IDENTITY);
    let matrix = |last: [f64; 4]| {
        let mut matrix = glam::DMat4::IDENTITY.to_cols_array();
        (0..4).for_each(|n| matrix[4 * n + 3] = last[n]);
        let mut file = rigged().with("/scenes/0/nodes", json!([0, 3]));
        file.push("/nodes", json!({"name": "top", "children": [1], "matrix": matrix}));
        file
    };
    refused(matrix([0.0, 1.0, 0.0, 1.0]).glb(), &["node 3 \"top\"", "last row"]);
    repaired(matrix([1e-4, 0.0, 0.0, 1.0]).glb(), "matrix-not-affine", &["node 3 \"top\""]);
    let both = matrix([0.0, 0.0, 0.0, 1.0]).with("/nodes/3/scale", json!([1, 1, 1]));
    repaired(both.glb(), "node-matrix-and-parts", &["node 3 \"top\""]);
    let animated = matrix([0.0, 0.0, 0.0, 1.0]).with("/animations/0/channels/1/target/node", json!(3));
    let asset = repaired(animated.glb(), "animated-matrix", &["node 3 \"top\""]);
    assert!(matches!(asset.raw.bones[3].local, sinew::LocalTransform::Trs(_)));
    let flat = animated.with("/nodes/3/matrix/0", json!(0));
    refused(flat.glb(), &["node 3 \"top\"", "singular"]);
}

#[test]
fn skins() {
    refused(rigged().with("/skins/0/joints", json!([])).glb(), &["skin 0 \"Skin\"", "no joints"]);
    refused(rigged().without("/skins/0/joints").glb(), &["skin 0 \"Skin\"", "\"joints\""]);
    refused(rigged().with("/skins/0/joints", json!([1, 8])).glb(), &["skin 0 \"Skin\", joint 1", "names node 8"]);
    refused(rigged().with("/skins/0/joints", json!([1, 2, 0])).glb(), &["skin 0 \"Skin\"", "2 matrices for 3 joints"]);
    refused(rigged().poke(BINDS, 17, f32::NAN).glb(), &["skin 0 \"Skin\", joint 1", "not finite"]);
    refused(rigged().poke(BINDS, 3, f32::INFINITY).glb(), &["skin 0 \"Skin\", joint 0", "not finite"]);
    refused(rigged().poke(BINDS, 16 + 15, 0.0f32).glb(), &["skin 0 \"Skin\", joint 1", "last row"]);
    repaired(rigged().poke(BINDS, 3, 1e-3f32).glb(), "matrix-not-affine", &["skin 0 \"Skin\", joint 0"]);
    repaired(rigged().poke(BINDS, 16, 0.0f32).glb(), "bind-matrix-singular", &["skin 0 \"Skin\", joint 1"]);
    let mut unused = rigged();
    unused.push("/skins", json!({"name": "Spare", "joints": [2]}));
    repaired(unused.glb(), "skin-unused", &["skin 1 \"Spare\""]);
    let apart = rigged().with("/scenes/0/nodes", json!([0]));
    repaired(apart.glb(), "joints-outside-scene", &["skin 0 \"Skin\"", "node 1 \"lower\""]);
    let moved = rigged().with("/nodes/0/translation", json!([0, 0, 1]));
    repaired(moved.glb(), "skinned-mesh-transform", &["node 0 \"Tube\"", "a transform"]);
    let mut animated = rigged();
    animated.push("/animations/0/channels", json!({"sampler": 1, "target": {"node": 0, "path": "translation"}}));
    repaired(animated.glb(), "skinned-mesh-transform", &["node 0 \"Tube\"", "animation"]);
}

#[test]
fn vertices() {
    let vertex = &["mesh 0 \"TubeMesh\", primitive 0, POSITION"][..];
    refused(rigged().poke(POSITIONS, 7, f32::NAN).glb(), &[vertex, &["vertex 2"]].concat());
    refused(rigged().poke(POSITIONS, 0, f32::NEG_INFINITY).glb(), &[vertex, &["vertex 0"]].concat());
    let shorter = |accessor: usize| rigged().with(&format!("/accessors/{accessor}/count"), json!(19)).glb();
    refused(shorter(WEIGHTS), &["WEIGHTS_0", "19 elements, but POSITION has 20"]);
    let attribute = |key: &str, value: Value| rigged().with(&format!("{PRIMITIVE}/attributes/{key}"), value);
    refused(attribute("JOINTS_0", json!(WEIGHTS)).glb(), &["JOINTS_0", "FLOAT, but unsigned integers are expected"]);
    refused(attribute("WEIGHTS_0", json!(INDICES)).glb(), &["WEIGHTS_0"]);
    refused(attribute("JOINTS_1", json!(1)).glb(), &["primitive 0", "JOINTS_1 but no WEIGHTS_1"]);
    refused(attribute("WEIGHTS_1", json!(WEIGHTS)).glb(), &["primitive 0", "WEIGHTS_1 but no JOINTS_1"]);
    let bare = rigged().without(&format!("{PRIMITIVE}/attributes/JOINTS_0"));
    refused(bare.glb(), &["WEIGHTS_0 but no JOINTS_0"]);
    let bare = bare.without(&format!("{PRIMITIVE}/attributes/WEIGHTS_0"));
    refused(bare.glb(), &["mesh 0 \"TubeMesh\", primitive 0", "no JOINTS_0", "paint skin weights"]);
    // NaN and negative weights pass: normalising them is the rig builder's work.
    let odd = rigged().poke(WEIGHTS, 0, f32::NAN).poke(WEIGHTS, 4, -1.0f32);
    let asset = attempt(odd.glb()).expect("weights are not judged here");
    assert!(asset.raw.meshes[0].primitives[0].influences.weights[0].is_nan());
    let mut plain = rigged();
    let weights = plain.accessor("VEC4", &[255u8, 0, 0, 0].repeat(Builder::RIGGED_VERTICES));
    plain.set(&format!("{PRIMITIVE}/attributes/WEIGHTS_0"), json!(weights));
    let asset = repaired(plain.glb(), "weights-not-marked-normalised", &["primitive 0, WEIGHTS_0"]);
    assert_eq!(asset.raw.meshes[0].primitives[0].influences.weights[..4], [1.0, 0.0, 0.0, 0.0]);
    let normals = attribute("NORMAL", json!(POSITIONS));
    let mut normals_nan = normals.clone();
    let bad = normals_nan.accessor("VEC3", &[f32::NAN; 3 * Builder::RIGGED_VERTICES]);
    normals_nan.set(&format!("{PRIMITIVE}/attributes/NORMAL"), json!(bad));
    let asset = repaired(normals_nan.glb(), "direction-not-finite", &["NORMAL, vertex 0"]);
    assert!(asset.raw.meshes[0].primitives[0].normals.is_none());
    assert!(attempt(normals.glb()).expect("sound").raw.meshes[0].primitives[0].normals.is_some());
}

#[test]
fn faces() {
    let primitive = |key: &str, value: Value| rigged().with(&format!("{PRIMITIVE}/{key}"), value);
    refused(rigged().poke(INDICES, 5, 20u16).glb(), &["indices", "accessor 3", "vertex 20 at place 5"]);
    refused(rigged().poke(INDICES, 5, u16::MAX).glb(), &["indices", "primitive-restart value 65535"]);
    refused(primitive("indices", json!(POSITIONS)).glb(), &["indices", "accessor 0"]);
    refused(primitive("mode", json!(7)).glb(), &["primitive 0", "mode 7"]);
    refused(primitive("material", json!(0)).glb(), &["primitive 0", "names material 0"]);
    let cut = rigged().with(&format!("/accessors/{INDICES}/count"), json!(95));
    let asset = repaired(cut.glb(), "incomplete-triangle", &["mesh 0 \"TubeMesh\", primitive 0", "95 corners"]);
    assert_eq!(asset.raw.meshes[0].primitives[0].triangles.len(), 31);
    for (mode, name) in [(0, "points"), (1, "lines"), (2, "lines"), (3, "lines")] {
        let asset = repaired(primitive("mode", json!(mode)).glb(), "primitive-without-faces", &["primitive 0", name]);
        let kept = &asset.raw.meshes[0].primitives[0];
        assert!(kept.triangles.is_empty());
        assert_eq!((kept.positions.len(), kept.influences.per_vertex), (Builder::RIGGED_VERTICES, 4));
    }
    let mut second = rigged();
    second.push("/meshes/0/primitives", json!({"attributes": {"POSITION": POSITIONS}, "mode": 0}));
    let asset = repaired(second.glb(), "primitive-without-faces", &["primitive 1"]);
    assert!(asset.raw.meshes[0].primitives[1].positions.is_empty());
    let mut empty = rigged();
    empty.push("/meshes/0/primitives", json!({"attributes": {}}));
    repaired(empty.glb(), "primitive-without-positions", &["mesh 0 \"TubeMesh\", primitive 1"]);
    refused(rigged().without("/meshes/0/primitives").glb(), &["mesh 0 \"TubeMesh\"", "\"primitives\""]);
}

#[test]
fn morph_targets() {
    let target = format!("{PRIMITIVE}/targets");
    let sound = rigged().with(&target, json!([{"POSITION": POSITIONS}]));
    attempt(sound.glb()).expect("sound");
    refused(rigged().with(&target, json!([{"POSITION": INDICES}])).glb(), &["/targets/0/POSITION", "96 elements"]);
    let mut uneven = sound.clone();
    let second = json!({"attributes": uneven.json.pointer(&format!("{PRIMITIVE}/attributes"))});
    uneven.push("/meshes/0/primitives", second);
    refused(uneven.glb(), &["primitive 1", "0 morph targets, but primitive 0 has 1"]);
    let mut bad = sound.clone();
    let deltas = bad.accessor("VEC3", &[f32::INFINITY; 3 * Builder::RIGGED_VERTICES]);
    bad.set(&format!("{target}/0/POSITION"), json!(deltas));
    let asset = repaired(bad.glb(), "morph-not-finite", &["targets", "vertex 0", "20 such displacements"]);
    let deltas = asset.raw.meshes[0].primitives[0].morphs[0].positions.as_ref().expect("kept");
    assert!(deltas.iter().all(|d| *d == glam::Vec3::ZERO));
    let asset = repaired(
        sound.clone().with("/nodes/0/weights", json!([0.5, 0.5])).glb(),
        "morph-weight-count",
        &["node 0 \"Tube\"", "2 morph weights for 1"],
    );
    assert_eq!(asset.raw.meshes[0].morph_weights, [0.5]);
    let target = json!({"node": 0, "path": "weights"});
    let two = rigged().with(&format!("{PRIMITIVE}/targets"), json!([{}, {}]));
    let two = two.with("/animations/0/channels/0/target", target.clone());
    let short = two.with("/animations/0/samplers/0/output", json!(TIMES));
    refused(short.glb(), &["animation 0 \"bend\", sampler 0", "3 keys of 2 values"]);
    let stray = rigged().with("/animations/0/channels/0/target", target);
    repaired(stray.glb(), "channel-without-targets", &["animation 0 \"bend\", channel 0", "node 0"]);
}

#[test]
fn animations() {
    let channel = "animation 0 \"bend\", channel 0";
    let sampler = |key: &str, value: Value| rigged().with(&format!("/animations/0/samplers/0/{key}"), value).glb();
    refused(sampler("interpolation", json!("BEZIER")), &["animation 0 \"bend\", sampler 0", "BEZIER"]);
    refused(sampler("interpolation", json!("CUBICSPLINE")), &["sampler 0", "3 elements", "3 keys of 3 values"]);
    refused(sampler("output", json!(7)), &["sampler 0", "VEC3, but VEC4 is expected"]);
    refused(sampler("input", json!(TURNS)), &["sampler 0", "VEC4, but SCALAR is expected"]);
    let target = |key: &str, value: Value| rigged().with(&format!("/animations/0/channels/0/{key}"), value);
    refused(target("sampler", json!(2)).glb(), &[channel, "names sampler 2"]);
    refused(target("target/node", json!(3)).glb(), &[channel, "names node 3"]);
    refused(rigged().without("/animations/0/channels/0/target").glb(), &[channel, "\"target\""]);
    let nodeless = rigged().without("/animations/0/channels/0/target/node");
    let asset = repaired(nodeless.glb(), "channel-without-node", &[channel]);
    assert_eq!(asset.raw.animated, [1]);
    repaired(target("target/path", json!("pointer")).glb(), "channel-path-unknown", &[channel, "pointer"]);
    let mut twice = rigged();
    twice.push("/animations/0/channels", json!({"sampler": 0, "target": {"node": 2, "path": "rotation"}}));
    repaired(twice.glb(), "channel-twice", &["animation 0 \"bend\", channel 2", "rotation of node 2"]);

    let times = |times: [f32; 3]| {
        let file = rigged().poke(TIMES, 0, times[0]).poke(TIMES, 1, times[1]).poke(TIMES, 2, times[2]);
        file.glb()
    };
    let key_times = |asset: &RawAsset| asset.clips[0].tracks[0].rotation.as_ref().expect("kept").times().to_vec();
    let asset = repaired(times([0.0, 2.0, 1.0]), "key-times-not-increasing", &[channel, "key 2 at 1 s"]);
    assert_eq!(key_times(&asset), [0.0, 2.0]);
    let asset = repaired(times([0.0, 0.0, 1.0]), "key-times-not-increasing", &[channel, "key 1 at 0 s"]);
    assert_eq!(key_times(&asset), [0.0, 1.0]);
    let asset = repaired(times([f32::NAN, 0.5, 1.0]), "key-times-not-increasing", &[channel, "key 0 at NaN s"]);
    assert_eq!(key_times(&asset), [0.5, 1.0]);
    let asset = repaired(times([f32::NAN; 3]), "key-times-not-increasing", &[channel, "the channel was ignored"]);
    assert!(asset.clips[0].tracks.is_empty() && asset.raw.animated.is_empty());
    let asset = attempt(times([0.0, 1.0, 3600.0])).expect("long clips are legal");
    assert_eq!(key_times(&asset), [0.0, 1.0, 3600.0]);
    refused(times([0.0, 1.0, 3e9]), &["animation 0", "3000000000 seconds", "beyond the limit of 3600", "--limits"]);

    let asset = repaired(
        rigged().poke(TURNS, 5, f32::NAN).glb(),
        "key-value-not-finite",
        &[channel, "key 1 at 0.5 s", "1 such keys of 3"],
    );
    assert_eq!(key_times(&asset), [0.0, 2.0]);
    let zero = rigged().poke(TURNS, 3, 0.0f32);
    repaired(zero.glb(), "key-value-not-finite", &[channel, "key 0 at 0 s", "length zero"]);
    let keyless = rigged().with("/accessors/5/count", json!(0)).with("/accessors/6/count", json!(0));
    let keyless = keyless.with("/accessors/7/count", json!(0));
    repaired(keyless.glb(), "channel-without-keys", &[channel]);
}

#[test]
fn painted_maps_and_custom_attributes() {
    let n = Builder::RIGGED_VERTICES;
    let key = |name: &str| format!("{PRIMITIVE}/attributes/{name}");
    let mut file = rigged();
    let signed: Vec<f32> = (0..n).map(|i| i as f32 - 10.0).collect();
    let (floats, bytes) = (file.accessor("SCALAR", &signed), file.normalized("SCALAR", &vec![51u8; n]));
    let shorts = file.normalized("SCALAR", &vec![u16::MAX; n]);
    file.set(&key("_SINEW_BELLY"), json!(floats));
    file.set(&key("_SINEW_Tail"), json!(bytes));
    file.set(&key("_SINEW_EAR"), json!(shorts));
    let asset = attempt(file.glb()).expect("sound");
    assert_eq!(asset.warnings, []);
    let maps = &asset.raw.meshes[0].primitives[0].maps;
    assert_eq!(maps[0], ("belly".into(), signed));
    assert_eq!((maps[1].0.as_str(), maps[1].1[0]), ("tail", 0.2));
    assert_eq!((maps[2].0.as_str(), maps[2].1[0]), ("ear", 1.0));
    repaired(file.clone().with(&key("_SINEW_belly"), json!(floats)).glb(), "map-name", &["_SINEW_belly"]);
    repaired(file.clone().with(&key("_SINEW_"), json!(floats)).glb(), "map-name", &["_SINEW_"]);
    let bad = file.clone().poke(floats, 4, f32::NAN);
    refused(bad.glb(), &["_SINEW_BELLY", "vertex 4"]);
    refused(file.clone().with(&key("_SINEW_X"), json!(POSITIONS)).glb(), &["_SINEW_X", "VEC3, but SCALAR is expected"]);
    let plain = file.accessor("SCALAR", &vec![1u8; n]);
    refused(file.clone().with(&key("_SINEW_X"), json!(plain)).glb(), &["_SINEW_X", "UNSIGNED_BYTE", "FLOAT"]);
    refused(file.clone().with(&key("_SINEW_X"), json!(INDICES)).glb(), &["_SINEW_X", "96 elements"]);
    let ids = file.accessor("SCALAR", &vec![1u32; n]);
    repaired(file.with(&key("_ID"), json!(ids)).glb(), "attribute-unsigned-int", &["primitive 0, _ID", "UNSIGNED_INT"]);
}

#[test]
fn large_but_legal() {
    const DEPTH: usize = 65_000;
    let mut file = rigged();
    let nodes: Vec<Value> =
        (3..DEPTH).map(|node| if node + 1 < DEPTH { json!({"children": [node + 1]}) } else { json!({}) }).collect();
    for node in nodes {
        file.push("/nodes", node);
    }
    file.set("/nodes/2/children", json!([3]));
    let asset = attempt(file.glb()).expect("nested nodes");
    assert_eq!(asset.raw.bones.len(), DEPTH);
    assert_eq!(asset.raw.bones[DEPTH - 1].parent, Some(DEPTH - 2));

    const JOINTS: usize = 10_000;
    let mut file = rigged().without("/skins/0/inverseBindMatrices");
    let first = 3;
    for node in 0..JOINTS {
        file.push("/nodes", json!({"name": format!("joint {node}")}));
    }
    file.set("/skins/0/joints", json!((first..first + JOINTS).collect::<Vec<_>>()));
    let asset = attempt(file.glb()).expect("many joints");
    assert_eq!(asset.raw.skins[0].joints.len(), JOINTS);
}

#[test]
fn a_mesh_on_very_many_nodes_is_refused_before_it_fills_the_memory() {
    let mut file = rigged();
    let big: Vec<f32> = vec![0.5; 3 * 100_000];
    let position = file.accessor("VEC3", &big);
    file.push("/meshes", json!({"primitives": [{"attributes": {"POSITION": position}}]}));
    let first = 3;
    for _ in 0..2_000 {
        file.push("/nodes", json!({"mesh": 1}));
    }
    file.set("/nodes/2/children", json!((first..first + 2_000).collect::<Vec<_>>()));
    refused(file.glb(), &["for this file", "--limits"]);
}

/// Things that cost nothing to write down must cost little to read, however often they are named.
#[test]
fn repetition_does_not_multiply() {
    const MANY: usize = 50_000;
    let mut primitives = rigged();
    primitives.push("/meshes", json!({"primitives": vec![json!({"attributes": {}}); 2_000]}));
    let nodes = primitives.json.pointer_mut("/nodes").and_then(Value::as_array_mut).expect("nodes");
    nodes.extend((0..MANY).map(|_| json!({"mesh": 1, "skin": 0})));
    refused(primitives.glb(), &["for this file"]);

    let scenes = rigged().with("/scenes", json!(vec![json!({"nodes": [0, 1]}); MANY]));
    let mut scenes = scenes;
    let nodes = scenes.json.pointer_mut("/nodes").and_then(Value::as_array_mut).expect("nodes");
    nodes.extend((0..MANY).map(|_| json!({})));
    attempt(scenes.glb()).expect("legal");

    let long = "x".repeat(1_000_000);
    let mut names = rigged().with("/animations/0/name", json!(long)).with("/meshes/0/name", json!(long));
    let nodes = names.json.pointer_mut("/nodes").and_then(Value::as_array_mut).expect("nodes");
    nodes.extend((0..MANY).map(|_| json!({"mesh": 0, "skin": 0})));
    let channels = names.json.pointer_mut("/animations/0/channels").and_then(Value::as_array_mut).expect("channels");
    channels.extend((0..MANY).map(|_| json!({"sampler": 0, "target": {"path": "rotation"}})));
    refused(names.glb(), &["for this file"]);
}

/// Peak memory of this process, where the system tells it.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1024 * line.split_whitespace().nth(1)?.parse::<u64>().ok()?)
}

/// Flips bytes, overwrites words with extreme values and cuts the end off.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const EXTREMES: [u32; 8] = [0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0x7f80_0000, 0x7fc0_0000, 0x0000_ffff];
    const DIGITS: &[u8] = b"0123456789-.eE[]{},:\"ntf";
    for _ in 0..1 + random.below(4) {
        if bytes.len() < 4 {
            return;
        }
        let at = random.below(bytes.len() - 3);
        match random.below(10) {
            0..=3 => bytes[at] ^= 1 << random.below(8),
            4..=6 => bytes[at] = DIGITS[random.below(DIGITS.len())],
            7 => bytes[at..at + 4].copy_from_slice(&EXTREMES[random.below(EXTREMES.len())].to_le_bytes()),
            8 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                if random.below(8) == 0 {
                    bytes.truncate(at);
                }
            }
        }
    }
}

/// Nothing that damage on the way can do to a file makes the importer panic, hang or fill the memory.
#[test]
fn damaged_files_never_panic() {
    let full = std::env::var("SINEW_FULL").as_deref() == Ok("1");
    let mut sources = vec![(rigged().glb(), 4_000), (rigged().embedded(), 4_000)];
    for path in assets() {
        let bytes = std::fs::read(&path).expect("readable");
        if bytes.len() < 60_000 {
            sources.push((bytes, 300));
        }
    }
    let mut random = Random::new(20);
    let mut imported = 0;
    for (sound, rounds) in sources {
        // In a GLB most bytes are data; aim half of the damage at the JSON in front.
        let front = sound.windows(4).position(|w| w == b"BIN\0").unwrap_or(sound.len());
        for round in 0..rounds * if full { 25 } else { 1 } {
            let mut bytes = sound.clone();
            if round % 2 == 0 && front < sound.len() {
                let mut json = bytes[20..front - 4].to_vec();
                mutate(&mut json, &mut random);
                bytes = glb(&[(*b"JSON", &json, b' '), (*b"BIN\0", &sound[front + 4..], 0)]);
            } else {
                mutate(&mut bytes, &mut random);
            }
            imported += usize::from(attempt(bytes).is_ok());
        }
    }
    assert!(imported > 1000, "the damage was so heavy that only {imported} files got past the shell");
    if let Some(peak) = peak_bytes() {
        assert!(peak < 1 << 30, "peak memory {peak}");
    }
}

/// A sound tree with one value put wrong, everywhere in turn.
#[test]
fn every_json_value_replaced_never_panics() {
    let mut file = rigged();
    let (places, values) = (file.view(&[1u8, 3]), file.view(&[0.0f32; 6]));
    let sparse = json!({
        "count": 2,
        "indices": {"bufferView": places, "componentType": 5121},
        "values": {"bufferView": values},
    });
    file.set("/accessors/0/sparse", sparse);
    file.set(&format!("{PRIMITIVE}/targets"), json!([{"POSITION": POSITIONS}]));
    file.set("/nodes/1/rotation", json!([0, 0, 0, 1]));
    file.set("/buffers/0/byteLength", json!(file.bin.len()));
    let wrong = [
        json!(null),
        json!(-1),
        json!(0),
        json!(1),
        json!(3),
        json!(1.5),
        json!(5126),
        json!(5121),
        json!(u64::MAX),
        json!(1e300),
        json!(true),
        json!("x"),
        json!("SCALAR"),
        json!("VEC4"),
        json!([]),
        json!([0]),
        json!({}),
    ];
    let mut tried = 0;
    let mut pointers = vec![String::new()];
    while let Some(pointer) = pointers.pop() {
        match file.json.pointer(&pointer) {
            Some(Value::Object(object)) => pointers.extend(object.keys().map(|key| format!("{pointer}/{key}"))),
            Some(Value::Array(array)) => pointers.extend((0..array.len()).map(|index| format!("{pointer}/{index}"))),
            _ => {}
        }
        if pointer.is_empty() {
            continue;
        }
        for wrong in &wrong {
            let broken = file.clone().with(&pointer, wrong.clone());
            if let Err(error) = attempt(broken.glb()) {
                let text = error.to_string();
                assert!(text.starts_with("bad.glb: ") && text.contains("; "), "{text}");
            }
            tried += 1;
        }
    }
    assert!(tried > 1000);
}
