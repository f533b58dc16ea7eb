//! Layers put on files and taken off again, judged by an evaluator that reads the bytes straight by the specification.

use crate::common::{expected_positions, layer_weights, own_weights, random_layer};
use glam::Vec3;
use serde_json::{Value, json};
use sinew::raw::RawInfluences;
use sinew_gltf::layer::{
    ClipWeights, MorphLayer, NodeTargets, NodeWeights, PrimitiveTargets, RepairedSkin, Target, add,
};
use sinew_gltf::{Document, Packing, RawAsset, WriteError, export, strip};
use sinew_testkit::assets::assets;
use sinew_testkit::glb::Builder;
use sinew_testkit::random::Random;
use sinew_testkit::spec::SpecFile;

/// Largest difference, as a fraction of the largest coordinate: weights and keys are rounded to f32 once more.
const ROUNDED: f64 = 2e-6;

fn document(bytes: Vec<u8>) -> Document {
    Document::from_slice("test.glb", &bytes, None).unwrap_or_else(|e| panic!("{e}"))
}

/// Adds `layer`, compares positions and weights over all clips, strips, and compares the document.
fn round_trip(before: &Document, layer: &MorphLayer, what: &str) -> Document {
    let mut packed = before.clone();
    packed.pack().unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut with = before.clone();
    add(&mut with, layer).unwrap_or_else(|e| panic!("{what}: {e}"));
    let spec = SpecFile::from_bytes(&packed.to_glb().expect("writable"), None);
    let bytes = with.to_glb().expect("writable");
    let spec_with = SpecFile::from_bytes(&bytes, None);
    for node in spec.skinned_nodes().into_iter().chain(spec.unskinned_nodes()) {
        let mut moments = vec![(None, 0.0)];
        for (number, clip) in spec.clips().iter().enumerate() {
            let steps = (0..7).map(|n| clip.start + (clip.end - clip.start + 1.0) * f64::from(n) / 6.0 - 0.3);
            moments.extend(steps.map(|time| (Some(number), time)));
        }
        for (clip, time) in moments {
            let mut weights = own_weights(&spec, node, clip, time);
            let touched = layer.nodes.iter().any(|targets| targets.node == node);
            let own = if touched { target_count(&spec, node) } else { 0 };
            weights.resize(weights.len().max(own), 0.0);
            weights.extend(layer_weights(layer, node, clip, time));
            let found = own_weights(&spec_with, node, clip, time);
            for (n, weight) in weights.iter().enumerate() {
                let found = found.get(n).copied().unwrap_or(0.0);
                assert!((found - weight).abs() < 2e-6, "{what}: node {node} weight {n} is {found}, not {weight}");
            }
            let expected = expected_positions(&spec, layer, node, clip, time);
            let found = spec_with.positions(node, clip, time);
            let size = expected.iter().flatten().flatten().fold(0.0, |size: f64, x| size.max(x.abs()));
            for (a, b) in expected.iter().flatten().zip(found.iter().flatten()) {
                let gap = (0..3).map(|n| (a[n] - b[n]).abs()).fold(0.0, f64::max);
                assert!(gap <= ROUNDED * size, "{what}: node {node} clip {clip:?} time {time}: {a:?} {b:?}");
            }
        }
    }
    // From memory and from the bytes of a file alike.
    for mut stripped in [with.clone(), document(bytes)] {
        assert!(strip(&mut stripped).unwrap_or_else(|e| panic!("{what}: {e}")));
        assert_eq!(stripped.json.to_string(), packed.json.to_string(), "{what}");
        assert!(stripped.buffers == packed.buffers, "{what}: bytes differ");
        assert!(!strip(&mut stripped).expect("nothing to strip"));
    }
    packed_by_meshopt(before, layer, &spec_with, &packed, what);
    with
}

/// The same file with what was added packed: opened, it is the plain one to the bit, and plays alike.
fn packed_by_meshopt(before: &Document, layer: &MorphLayer, plays: &SpecFile, original: &Document, what: &str) {
    let mut with = before.clone();
    with.packing = Some(Packing::Meshopt);
    add(&mut with, layer).unwrap_or_else(|e| panic!("{what}: {e}"));
    let bytes = with.to_glb().expect("writable");
    assert_eq!(with.glb_bytes().ok(), Some(bytes.len() as u64), "{what}");
    let read = document(bytes.clone());
    assert_eq!(read.json, with.json, "{what}");
    assert!(read.buffers == with.buffers, "{what}: bytes differ");
    assert!(!read.warnings.iter().any(|warning| warning.code == "compression-unpacked"), "{what}");
    let json = Document::from_slice("test.glb", &read.to_glb().expect("writable"), None).expect("plain").json;
    assert!(!json.to_string().contains("meshopt"), "{what}: what is written again is plain");
    let spec = SpecFile::from_bytes(&read.to_glb().expect("writable"), None);
    for node in plays.skinned_nodes().into_iter().chain(plays.unskinned_nodes()) {
        let clip = (!plays.clips().is_empty()).then_some(0);
        assert_eq!(spec.positions(node, clip, 0.3), plays.positions(node, clip, 0.3), "{what}: node {node}");
    }
    for mut stripped in [with, read] {
        assert!(strip(&mut stripped).unwrap_or_else(|e| panic!("{what}: {e}")));
        assert_eq!(stripped.json.to_string(), original.json.to_string(), "{what}");
        assert!(stripped.buffers == original.buffers, "{what}: bytes differ");
    }
}

fn target_count(spec: &SpecFile, node: usize) -> usize {
    let mesh = spec.json()["nodes"][node]["mesh"].as_u64().expect("a mesh") as usize;
    spec.json()["meshes"][mesh]["primitives"][0]["targets"].as_array().map_or(0, Vec::len)
}

#[test]
fn every_asset() {
    let mut random = Random::new(41);
    let full = std::env::var("SINEW_FULL").as_deref() == Ok("1");
    for path in assets() {
        if !full && std::fs::metadata(&path).is_ok_and(|m| m.len() > 1_000_000) {
            continue;
        }
        let asset = RawAsset::open(&path).unwrap_or_else(|e| panic!("{e}"));
        let layer = random_layer(&asset.raw, &asset.document, true, &mut random);
        round_trip(&asset.document, &layer, &path.display().to_string());
    }
}

#[test]
fn every_built_in_character() {
    let mut random = Random::new(42);
    for name in sinew_zoo::names() {
        let character = sinew_zoo::build(name.name).expect("built in");
        let document = export(&character.raw, &character.clips).expect("exportable");
        let layer = random_layer(&character.raw, &document, true, &mut random);
        round_trip(&document, &layer, name.name);
    }
}

const VERTICES: usize = Builder::RIGGED_VERTICES;

/// The rigged tube with two targets of its own (the second without positions), default weights, names, a clip per
/// interpolation for them, and one without.
fn with_morphs() -> Builder {
    let mut file = Builder::rigged();
    let mut random = Random::new(7);
    let mut numbers = |count: usize| (0..count).map(|_| random.between(-1.0, 1.0) as f32).collect::<Vec<f32>>();
    let (bulge, shading, normals) = (numbers(3 * VERTICES), numbers(3 * VERTICES), numbers(3 * VERTICES));
    let bulge = file.accessor("VEC3", &bulge);
    let shading = file.accessor("VEC3", &shading);
    let normals = file.accessor("VEC3", &normals);
    file.set("/meshes/0/primitives/0/attributes/NORMAL", json!(normals));
    file.set("/meshes/0/primitives/0/targets", json!([{"POSITION": bulge}, {"NORMAL": shading}]));
    file.set("/meshes/0/weights", json!([0.25, 0.5]));
    file.set("/meshes/0/extras", json!({"note": "kept", "targetNames": ["bulge", "shading"]}));
    for (interpolation, per_key) in [("LINEAR", 1), ("STEP", 1), ("CUBICSPLINE", 3)] {
        let input = file.accessor("SCALAR", &[0.25f32, 0.5, 1.25, 2.0]);
        let output = numbers(4 * 2 * per_key);
        let output = file.accessor("SCALAR", &output);
        let sampler = json!({"input": input, "output": output, "interpolation": interpolation});
        let channel = json!({"sampler": 0, "target": {"node": 0, "path": "weights"}});
        file.push("/animations", json!({"name": interpolation, "samplers": [sampler], "channels": [channel]}));
    }
    file
}

/// One target that moves everything along x, weighted over time in the given clips.
fn layer_on(node: usize, clips: &[usize]) -> MorphLayer {
    let positions = vec![Vec3::X; VERTICES];
    let target = Target { positions, normals: Some(vec![Vec3::Y; VERTICES]), ..Target::default() };
    let targets = vec![target.clone(), Target { positions: vec![Vec3::ZERO; VERTICES], ..target }];
    let weights = |node| NodeWeights { node, times: vec![0.1, 0.6, 2.5], weights: vec![0.0, 1.0, 0.5, -1.0, 1.0, 0.0] };
    MorphLayer {
        nodes: vec![NodeTargets {
            node,
            count: 2,
            names: vec!["a".into(), "b".into()],
            primitives: vec![PrimitiveTargets { targets }],
        }],
        clips: clips.iter().map(|&animation| ClipWeights { animation, nodes: vec![weights(node)] }).collect(),
        ..MorphLayer::default()
    }
}

#[test]
fn targets_of_the_file_keep_their_shape_and_motion() {
    let before = document(with_morphs().glb());
    for clips in [&[][..], &[0, 1, 2, 3], &[1, 3]] {
        let after = round_trip(&before, &layer_on(0, clips), &format!("{clips:?}"));
        let json = &after.json;
        assert_eq!(json["meshes"][0]["weights"], json!([0.25, 0.5, 0, 0]));
        assert_eq!(json["meshes"][0]["extras"]["targetNames"], json!(["bulge", "shading", "a", "b"]));
        assert_eq!(json["meshes"][0]["extras"]["note"], "kept");
        let targets = json["meshes"][0]["primitives"][0]["targets"].as_array().expect("targets");
        assert_eq!(targets.len(), 4);
        for target in targets {
            assert!(target["POSITION"].is_u64() && target["NORMAL"].is_u64(), "{target}");
        }
        for accessor in targets.iter().skip(2).map(|t| t["POSITION"].as_u64().expect("an index") as usize) {
            assert!(json["accessors"][accessor]["min"].is_array());
        }
    }
}

#[test]
fn nodes_keep_weights_of_their_own() {
    let file = with_morphs().with("/nodes/0/weights", json!([0.75]));
    let after = round_trip(&document(file.glb()), &layer_on(0, &[0, 2]), "node weights");
    assert_eq!(after.json["nodes"][0]["weights"], json!([0.75, 0, 0, 0]));
}

/// Three nodes carry one mesh.
fn shared(mut file: Builder) -> Builder {
    file.push("/nodes", json!({"name": "second", "mesh": 0, "skin": 0}));
    file.push("/nodes", json!({"name": "third", "mesh": 0, "translation": [3, 0, 0]}));
    file.with("/scenes/0/nodes", json!([0, 1, 3, 4]))
}

#[test]
fn a_shared_mesh_is_copied_only_where_it_must_be() {
    let before = document(shared(with_morphs()).glb());
    let meshes = |document: &Document| {
        let nodes = document.json["nodes"].as_array().expect("nodes");
        nodes.iter().filter_map(|node| node["mesh"].as_u64()).collect::<Vec<_>>()
    };
    // One of three: it gets a copy, and the others keep what they had.
    assert_eq!(meshes(&round_trip(&before, &layer_on(3, &[1]), "one")), [0, 1, 0]);
    // All alike: in place.
    let mut all = layer_on(0, &[1]);
    for node in [3, 4] {
        let one = layer_on(node, &[1]);
        all.nodes.extend(one.nodes);
        all.clips[0].nodes.extend(one.clips.into_iter().flat_map(|clip| clip.nodes));
    }
    assert_eq!(meshes(&round_trip(&before, &all, "all")), [0, 0, 0]);
    // One of them different.
    all.nodes[1].primitives[0].targets[0].positions[3] = Vec3::Z;
    let mut with = before.clone();
    let report = add(&mut with, &all).expect("sound");
    assert_eq!(report.copied_meshes, [(0, 1, vec![3])]);
    assert_eq!(meshes(&round_trip(&before, &all, "one differs")), [0, 1, 0]);
}

#[test]
fn equal_curves_and_equal_targets_are_stored_once() {
    let mut all = layer_on(0, &[0]);
    for node in [3, 4] {
        let one = layer_on(node, &[0]);
        all.nodes.extend(one.nodes);
        all.clips[0].nodes.extend(one.clips.into_iter().flat_map(|clip| clip.nodes));
    }
    let before = document(shared(Builder::rigged()).glb());
    let mut with = before.clone();
    let report = add(&mut with, &all).expect("sound");
    // Zeros and X over the vertices, which have no normals; three times and their weights; alignment.
    assert!(report.bytes_added <= 2 * 12 * VERTICES + 3 * 4 + 3 * 2 * 4 + 4, "{}", report.bytes_added);
    let samplers = with.json["animations"][0]["samplers"].as_array().expect("samplers").len();
    assert_eq!(samplers, before.json["animations"][0]["samplers"].as_array().expect("samplers").len() + 1);
}

#[test]
fn a_layer_replaces_the_one_before() {
    let before = document(with_morphs().glb());
    let mut once = before.clone();
    add(&mut once, &layer_on(0, &[2])).expect("sound");
    let mut twice = before.clone();
    add(&mut twice, &layer_on(0, &[0, 1])).expect("sound");
    assert!(add(&mut twice, &layer_on(0, &[2])).expect("sound").stripped);
    assert_eq!(once.json, twice.json);
    assert_eq!(once.buffers, twice.buffers);
}

#[test]
fn repaired_weights_replace_those_of_the_file() {
    let mut file = Builder::rigged();
    let joints = file.accessor("VEC4", &[0u8; 4 * VERTICES]);
    let weights = file.accessor("VEC4", &[0.5f32; 4 * VERTICES]);
    file.set("/meshes/0/primitives/0/attributes/JOINTS_1", json!(joints));
    file.set("/meshes/0/primitives/0/attributes/WEIGHTS_1", json!(weights));
    let before = document(file.glb());
    let influences = RawInfluences {
        per_vertex: 2,
        joints: (0..2 * VERTICES).map(|n| n as u32 % 2).collect(),
        weights: (0..2 * VERTICES).map(|n| if n % 2 == 0 { 0.25 } else { 0.75 }).collect(),
    };
    let layer =
        MorphLayer { repaired_skins: vec![RepairedSkin { node: 0, primitive: 0, influences }], ..layer_on(0, &[0]) };
    let mut with = before.clone();
    add(&mut with, &layer).expect("sound");
    let spec = SpecFile::from_bytes(&with.to_glb().expect("writable"), None);
    let attributes = &with.json["meshes"][0]["primitives"][0]["attributes"];
    assert!(attributes.get("WEIGHTS_1").is_none() && attributes.get("JOINTS_1").is_none());
    let found = spec.accessor(attributes["WEIGHTS_0"].as_u64().expect("an index") as usize);
    assert_eq!(found[..8], [0.25, 0.75, 0.0, 0.0, 0.25, 0.75, 0.0, 0.0]);
    strip(&mut with).expect("unchanged");
    assert_eq!(with.json, before.json);
    assert_eq!(with.buffers, before.buffers);
}

#[test]
fn what_others_changed_elsewhere_stays() {
    let before = document(with_morphs().glb());
    let mut with = before.clone();
    add(&mut with, &layer_on(0, &[0])).expect("sound");
    let rename = |document: &mut Document| {
        document.json["nodes"][1]["name"] = "renamed".into();
        document.json["meshes"][0]["extras"]["more"] = json!({"a": [1, 2]});
        document.json["asset"]["extras"]["author"] = "somebody".into();
        document.json["cameras"] = json!([{"type": "perspective"}]);
    };
    rename(&mut with);
    strip(&mut with).expect("untouched where it matters");
    let mut expected = before;
    expected.json["asset"]["extras"] = json!({});
    rename(&mut expected);
    assert_eq!(with.json, expected.json);
}

#[test]
fn what_others_changed_of_ours_is_not_guessed_at() {
    let mut sound = document(with_morphs().glb());
    add(&mut sound, &layer_on(0, &[0])).expect("sound");
    let last_accessor = sound.json["accessors"].as_array().expect("accessors").len() - 1;
    let change = |pointer: &str, value: Value| {
        let mut changed = sound.clone();
        *changed.json.pointer_mut(pointer).expect("there") = value;
        changed
    };
    let mut longer = sound.clone();
    longer.json["accessors"].as_array_mut().expect("accessors").push(json!({"componentType": 5126}));
    let mut more_bytes = sound.clone();
    more_bytes.buffers[0].extend([0; 4]);
    let mut borrowed = sound.clone();
    borrowed.json["meshes"].as_array_mut().expect("meshes").push(json!({
        "primitives": [{"attributes": {"POSITION": last_accessor}}]
    }));
    for (changed, says) in [
        (longer, "/accessors"),
        (more_bytes, "/buffers/0"),
        (borrowed, "/meshes/1/primitives/0/attributes/POSITION"),
        (change(&format!("/accessors/{last_accessor}/count"), json!(1)), "/accessors"),
        (change("/animations/0/channels/2/sampler", json!(0)), "/animations/0/channels"),
        (change("/meshes/0/weights", json!([1, 2])), "/meshes/0/weights"),
    ] {
        let mut after = changed.clone();
        match strip(&mut after) {
            Err(WriteError::Changed { element, .. }) => assert_eq!(element, says),
            other => panic!("{says}: {other:?}"),
        }
        assert_eq!(after.json, changed.json);
    }
    let newer = change("/asset/extras/sinew/version", json!(3));
    assert!(matches!(strip(&mut newer.clone()), Err(WriteError::Newer { found: 3, .. })));
}

#[test]
fn layers_that_do_not_fit_are_refused() {
    let before = document(with_morphs().glb());
    let bend = |change: &dyn Fn(&mut MorphLayer)| {
        let mut layer = layer_on(0, &[0]);
        change(&mut layer);
        let mut after = before.clone();
        let error = add(&mut after, &layer).err().unwrap_or_else(|| panic!("accepted {layer:?}"));
        assert_eq!(after.json, before.json, "{error}");
    };
    bend(&|l| l.nodes[0].node = 1);
    bend(&|l| l.nodes[0].node = 99);
    bend(&|l| l.nodes[0].count = 3);
    bend(&|l| l.nodes[0].names.clear());
    bend(&|l| l.nodes[0].primitives.clear());
    bend(&|l| l.nodes[0].primitives[0].targets[0].positions.truncate(3));
    bend(&|l| l.nodes[0].primitives[0].targets[0].positions[2].x = f32::NAN);
    bend(&|l| l.nodes.push(l.nodes[0].clone()));
    bend(&|l| l.clips[0].animation = 9);
    bend(&|l| l.clips.push(l.clips[0].clone()));
    bend(&|l| l.clips[0].nodes[0].node = 3);
    bend(&|l| l.clips[0].nodes[0].times[1] = 0.0);
    bend(&|l| l.clips[0].nodes[0].times[2] = f32::INFINITY);
    bend(&|l| l.clips[0].nodes[0].weights.truncate(5));
    bend(&|l| l.clips[0].nodes[0].weights[0] = f32::NAN);
}

#[test]
fn a_pointer_to_all_weights_is_refused() {
    let mut file = with_morphs();
    let pointer = json!({"KHR_animation_pointer": {"pointer": "/meshes/0/weights"}});
    file.set("/animations/1/channels/0/target", json!({"path": "pointer", "extensions": pointer}));
    let error = add(&mut document(file.glb()), &layer_on(0, &[0])).expect_err("would break the pointer");
    assert!(error.to_string().contains("KHR_animation_pointer"), "{error}");
}

/// A sound file with a layer, with one JSON value put wrong, everywhere in turn: nothing panics, and a document that
/// was refused is unchanged.
#[test]
fn every_json_value_replaced_never_panics() {
    let mut sound = document(with_morphs().glb());
    add(&mut sound, &layer_on(0, &[0, 2])).expect("sound");
    let mut pointers = vec![String::new()];
    let mut next = 0;
    while next < pointers.len() {
        let here = pointers[next].clone();
        match sound.json.pointer(&here) {
            Some(Value::Object(members)) => pointers.extend(members.keys().map(|key| format!("{here}/{key}"))),
            Some(Value::Array(entries)) => pointers.extend((0..entries.len().min(6)).map(|n| format!("{here}/{n}"))),
            _ => {}
        }
        next += 1;
    }
    let layer = layer_on(0, &[0, 1]);
    for pointer in &pointers {
        for value in [json!(null), json!(-1), json!(1e30), json!(7), json!("x"), json!([]), json!({}), json!([{}])] {
            let mut bent = sound.clone();
            *bent.json.pointer_mut(pointer).expect("there") = value;
            let mut stripped = bent.clone();
            if strip(&mut stripped).is_err() {
                assert_eq!(stripped.json, bent.json);
            }
            let mut layered = stripped.clone();
            if add(&mut layered, &layer).is_err() {
                assert_eq!(layered.json, stripped.json);
            }
            let _ = layered.to_glb();
            let _ = RawAsset::from_document("bent.glb", layered);
        }
    }
}
