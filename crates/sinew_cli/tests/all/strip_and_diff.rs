//! `strip` and `diff` as a user runs them.

use crate::common::{Folder, sinew};
use serde_json::{Value, json};
use sinew_testkit::assets::asset;
use sinew_testkit::glb::Builder;

#[test]
fn equal_files_end_in_0_and_different_ones_in_3() {
    let folder = Folder::new();
    let a = folder.write("a.glb", Builder::rigged().glb());
    let b = folder.write("b.gltf", Builder::rigged().embedded());
    let c = folder.write("c.glb", Builder::rigged().with("/nodes/2/translation", json!([0, 1.25, 0])).glb());
    let run = sinew(["diff", &a, &b]);
    assert_eq!((run.code, run.stdout.trim_end()), (0, format!("{a} and {b} are equal").as_str()));
    let run = sinew(["diff", &a, &c]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("node 2 \"upper\", translation: [0,1,0] → [0,1.25,0]  [/nodes/2/translation]"));
    assert!(run.stdout.contains("clip \"bend\": 0.2500 apart (10.21 % of size)"), "{}", run.stdout);
    let run = sinew(["diff", &a, &c, "--json"]);
    assert_eq!(run.code, 3);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(report["equal"], false);
    assert_eq!(report["differences"][0]["pointer"], "/nodes/2/translation");
    assert_eq!(report["motion"][1]["clip"], "bend");
    assert_eq!(sinew(["diff", &a, &c, "--tolerance", "25%"]).code, 0);
    assert_eq!(sinew(["diff", "zoo:arm", "zoo:arm"]).code, 0);
    assert_eq!(sinew(["diff", "zoo:arm", "zoo:bird"]).code, 3);
    assert_eq!(sinew(["diff", &a, "gone.glb"]).code, 1);
    assert_eq!(sinew(["diff", &a]).code, 2);
    assert_eq!(sinew(["diff", &a, &b, "--tolerance", "some"]).code, 2);
}

/// What the manual says of the JSON of a baked file, and of one that was baked and stripped.
#[test]
fn numbers_keep_their_values_and_members_their_order_whatever_the_spelling() {
    let folder = Folder::new();
    let spelled = r#"{"z":1.50,"b":1e2,"a":-0.0,"n":18446744073709551615,"f":0.1000000000000000055511151231257827,
        "s":5e-324,"m":-9223372036854775808,"l":123456789012345678901234567890,"t":"\u00e9","y":[0.30000000000000004]}"#;
    let extras = |json: &[u8]| {
        let json: Value = serde_json::from_slice(json).expect("JSON");
        json["extras"].to_string()
    };
    let text = String::from_utf8(Builder::rigged().embedded()).expect("text");
    let with = text.trim_end().strip_suffix('}').expect("an object").to_owned() + ",\"extras\":" + spelled + "}";
    let expected = extras(with.as_bytes());
    let file = folder.write("spelled.gltf", &with);
    let [baked, stripped] = ["baked.glb", "stripped.glb"].map(|name| folder.join(name));
    assert_eq!(sinew(["bake", &file, "--preset", "lively", "--fps", "8", "--best-effort", "-o", &baked]).code, 0);
    assert_eq!(sinew(["strip", &baked, "-o", &stripped]).code, 0);
    for glb in [&baked, &stripped] {
        let glb = std::fs::read(glb).expect("written");
        let length = u32::from_le_bytes(*glb[12..].first_chunk().expect("a length")) as usize;
        // Compared as text of values read to the last bit: 0 and −0, or the order of members, would show.
        assert_eq!(extras(&glb[20..20 + length]), expected);
    }
    assert_eq!(sinew(["diff", &file, &stripped]).code, 0);
}

#[test]
fn strip_writes_the_file_as_it_was() {
    let Some(cow) = asset("Quaternius_farm/Cow.gltf") else { return };
    let folder = Folder::new();
    let (cow, out) = (cow.to_str().expect("UTF-8"), folder.join("cow.glb"));
    let run = sinew(["strip", cow, "-o", &out]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("contains nothing that Sinew added"), "{}", run.stderr);
    assert_eq!(sinew(["diff", cow, &out]).code, 0);
    assert_eq!(sinew(["strip", cow, "-o", &out]).code, 1, "never overwritten unasked");
    assert_eq!(sinew(["strip", cow, "-o", &out, "--force", "--quiet"]).stderr, "");
    assert_eq!(folder.names(), ["cow.glb"]);
    let broken = folder.write("note.glb", {
        let note = json!({"sinew": {"version": 99}});
        Builder::rigged().with("/asset/extras", note).glb()
    });
    let run = sinew(["strip", &broken, "-o", &folder.join("never.glb")]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("update Sinew"), "{}", run.stderr);
    assert_eq!(folder.names(), ["cow.glb", "note.glb"]);
}
