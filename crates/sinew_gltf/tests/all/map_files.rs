//! Painted maps through their files and back, and refused where they do not belong.

use glam::Vec3;
use sinew::RawRig;
use sinew_gltf::RawAsset;
use sinew_gltf::map_file::{MapFile, apply, hash_positions};
use sinew_testkit::glb::Builder;
use sinew_testkit::random::Random;

fn rig() -> RawRig {
    RawAsset::from_slice("tube", &Builder::rigged().glb()).unwrap_or_else(|e| panic!("{e}")).raw
}

fn painted(rig: &RawRig) -> MapFile {
    let mut random = Random::new(7);
    let values = (0..Builder::RIGGED_VERTICES).map(|_| random.between(-2.0, 2.0) as f32).collect();
    MapFile::new(rig, "Belly", 0, 0, values).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn text_keeps_every_bit() {
    let map = painted(&rig());
    let text = map.to_text();
    let back = MapFile::from_text("belly.json", &text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(back, map);
    assert_eq!(back.to_text(), text);
    assert_eq!(map.name(), "belly");
}

#[test]
fn the_hash_is_fnv_1a() {
    // By definition the hash of nothing is the offset basis, and that of one zero coordinate follows by hand.
    assert_eq!(hash_positions(&[]), 0xcbf2_9ce4_8422_2325);
    let zeros = (0..12).fold(0xcbf2_9ce4_8422_2325_u64, |hash, _| hash.wrapping_mul(0x0000_0100_0000_01b3));
    assert_eq!(hash_positions(&[Vec3::ZERO]), zeros);
    assert_eq!(hash_positions(&[-Vec3::ZERO]), zeros);
    assert_ne!(hash_positions(&[Vec3::X]), hash_positions(&[Vec3::Y]));
}

#[test]
fn applying_adds_and_replaces() {
    let mut rig = rig();
    let map = painted(&rig);
    apply(&mut rig, &map).unwrap_or_else(|e| panic!("{e}"));
    let other = MapFile::new(&rig, "belly", 0, 0, vec![1.0; Builder::RIGGED_VERTICES]).expect("fits");
    let ear = MapFile::new(&rig, "ear", 0, 0, vec![0.5; Builder::RIGGED_VERTICES]).expect("fits");
    apply(&mut rig, &other).unwrap_or_else(|e| panic!("{e}"));
    apply(&mut rig, &ear).unwrap_or_else(|e| panic!("{e}"));
    let maps = &rig.meshes[0].primitives[0].maps;
    assert_eq!(maps.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["belly", "ear"]);
    assert!(maps[0].1.iter().all(|v| *v == 1.0));
}

#[test]
fn a_map_of_another_mesh_is_refused_and_both_are_named() {
    let rig = rig();
    let map = painted(&rig);
    let mut moved = rig.clone();
    moved.meshes[0].primitives[0].positions[3].x += 0.001;
    let text = apply(&mut moved, &map).expect_err("other positions").to_string();
    for hash in [&rig, &moved].map(|r| hash_positions(&r.meshes[0].primitives[0].positions)) {
        assert!(text.contains(&format!("{hash:016x}")), "{text}");
    }
    let mut grown = rig.clone();
    grown.meshes[0].primitives[0].positions.push(Vec3::ZERO);
    let text = apply(&mut grown, &map).expect_err("more vertices").to_string();
    assert!(text.contains("20 vertices") && text.contains("has 21") && text.contains("belly"), "{text}");
    let mut bare = rig.clone();
    bare.meshes.clear();
    let text = apply(&mut bare, &map).expect_err("no mesh").to_string();
    assert!(text.contains("node 0") && text.contains("primitive 0"), "{text}");
    assert!(MapFile::new(&rig, "belly", 0, 0, vec![0.0; 3]).is_err());
    assert!(MapFile::new(&rig, "belly", 0, 1, vec![0.0; 20]).is_err());
    assert!(MapFile::new(&rig, "", 0, 0, vec![0.0; 20]).is_err());
    assert!(MapFile::new(&rig, "belly", 0, 0, vec![f32::NAN; 20]).is_err());
}

#[test]
fn malformed_text_is_refused() {
    let sound = r#"{"sinew_map":1,"name":"a","node":0,"primitive":0,"vertices":2,"positions":"00000000000000ff","values":[0,1]}"#;
    MapFile::from_text("a.json", sound).unwrap_or_else(|e| panic!("{e}"));
    for (from, to, part) in [
        ("\"sinew_map\":1,", "", "sinew_map"),
        ("\"sinew_map\":1", "\"sinew_map\":2", "update Sinew"),
        ("\"name\":\"a\"", "\"name\":\"\"", "name"),
        ("\"node\":0", "\"node\":-1", "node"),
        ("\"vertices\":2", "\"vertices\":3", "2 numbers for 3 vertices"),
        ("\"vertices\":2", "\"vertices\":4000000000", "4000000000 vertices"),
        ("00000000000000ff", "ff", "hexadecimal"),
        ("00000000000000ff", "+0000000000000ff", "hexadecimal"),
        ("[0,1]", "[0,1e300]", "values"),
        ("[0,1]", "[0,null]", "values"),
        ("[0,1]", "{}", "values"),
        ("\"node\"", "\"nodes\":0,\"node\"", "nodes"),
        ("}", "", "JSON text"),
    ] {
        let text = MapFile::from_text("a.json", &sound.replace(from, to)).expect_err(to).to_string();
        assert!(text.contains("a.json") && text.contains(part), "{text}");
    }
}

#[test]
fn saving_replaces_the_file_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("belly.json");
    std::fs::write(&path, "old").expect("written");
    let map = painted(&rig());
    map.save(&path).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(std::fs::read_to_string(&path).expect("there"), map.to_text());
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1, "nothing else is left behind");
    let text = map.save(&folder.path().join("missing/belly.json")).expect_err("no folder").to_string();
    assert!(text.contains("missing") && text.contains("cannot be written"), "{text}");
}
