//! `bind` as a user runs it.

use crate::common::{Folder, inspect, sinew};
use sinew_testkit::assets::asset;

#[test]
fn a_character_is_bound_anew() {
    let folder = Folder::new();
    let out = folder.join("arm.glb");
    let run = sinew(["bind", "zoo:arm", "-o", &out]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("bones") && run.stderr.contains("wrote"), "{}", run.stderr);
    assert_eq!(inspect(&out)["characters"][0]["points"], inspect("zoo:arm")["characters"][0]["points"]);
    assert_eq!(sinew(["bind", "zoo:arm", "-o", &out]).code, 1, "never overwritten unasked");
    let run = sinew(["bind", "zoo:arm", "--method", "distance", "--influences", "2", "-o", &out, "--force", "--quiet"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(sinew(["bind", "zoo:arm", "--method", "magic", "-o", &out]).code, 2);
    let run = sinew(["bind", "zoo:arm", "--skeleton", "hips", "-o", &folder.join("never.glb")]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("hips"), "{}", run.stderr);
    assert_eq!(folder.names(), ["arm.glb"]);
}

#[test]
fn a_real_character_is_bound_anew() {
    let Some(path) = asset("Quaternius_farm/Cow.gltf") else { return };
    let folder = Folder::new();
    let out = folder.join("cow.glb");
    let run = sinew(["bind", path.to_str().expect("UTF-8"), "-o", &out]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(inspect(&out)["clips"].as_array().map(Vec::len), Some(5));
}
