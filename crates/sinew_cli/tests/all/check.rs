//! `check` as a user runs it: findings on characters with known faults, gates and exit codes.

use crate::common::{Folder, sinew};
use serde_json::{Value, json};
use sinew_testkit::assets::asset;
use sinew_testkit::glb::Builder;

// Accessors of `Builder::rigged`.
const WEIGHTS: usize = 2;

/// The report, whatever gates say of it.
fn check(args: &[&str]) -> Value {
    let run = sinew([&["check"], args, &["--json", "--quiet"]].concat());
    assert!([0, 3].contains(&run.code), "{}: {}", run.code, run.stderr);
    serde_json::from_str(&run.stdout).expect("JSON")
}

#[test]
fn a_sound_character_is_said_to_be() {
    let run = sinew(["check", "zoo:arm", "--clip", "wave", "--fps", "30"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for words in ["1 skinned mesh normalised", "at the seam vertices meet", "no jumps between keys", "no warnings"] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("! "), "{}", run.stdout);
}

/// A forearm bent far under linear blending folds the crook of the elbow through itself.
#[test]
fn a_fold_is_found_where_it_is() {
    let report = check(&["zoo:arm", "--clip", "bend", "--fps", "30"]);
    let triangles = &report["clips"][0]["triangles"]["base"];
    assert!(triangles["turned"].as_u64().is_some_and(|turned| (1..500).contains(&turned)), "{triangles}");
    let bone = triangles["first_turned"]["bone"].as_str().expect("a bone");
    assert!(["upper_arm", "forearm"].contains(&bone), "{bone}");
}

#[test]
fn effects_are_measured_with_a_recipe_and_only_then() {
    let plain = check(&["zoo:calf", "--clip", "0", "--fps", "30"]);
    let lively = check(&["zoo:calf", "--clip", "0", "--fps", "30", "--preset", "lively"]);
    assert_eq!(plain["recipe"], Value::Null);
    assert_eq!(plain["clips"][0]["displacement"], Value::Null);
    assert_eq!(lively["recipe"], "preset lively");
    let displacement = &lively["clips"][0]["displacement"];
    assert!(displacement["share"].as_f64().expect("a share") > 1e-3, "{displacement}");
    assert!(displacement["bone"].as_str().is_some_and(|bone| !bone.is_empty()));
    assert_eq!(plain["clips"].as_array().expect("clips").len(), 1);
    assert!(plain["clips"][0]["volumes"][0].get("effects").is_none());
    assert!(lively["clips"][0]["volumes"][0]["effects"]["least"].is_f64());
}

#[test]
fn gates_decide_the_exit_code() {
    let run = |gates: &[&str]| sinew([&["check", "zoo:arm", "--clip", "wave", "--quiet"], gates].concat());
    assert_eq!(run(&["--gate", "seam=0.1%", "--gate", "flips=0", "--gate", "weights=0"]).code, 0);
    let failed = run(&["--gate", "seam=0.1%", "--gate", "influences=1"]);
    assert_eq!(failed.code, 3);
    assert!(failed.stdout.contains("! influences: ") && failed.stdout.contains(", more than 1"), "{}", failed.stdout);
    assert!(failed.stdout.contains("✓ seam: "));
    let json = run(&["--gate", "influences=1", "--json"]);
    assert_eq!(json.code, 3);
    let report: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!((&report["passed"], &report["gates"][0]["name"]), (&json!(false), &json!("influences")));
    for bad in ["seam", "seam=lots", "sem=1"] {
        assert_eq!(run(&["--gate", bad]).code, 2, "{bad}");
    }
    assert_eq!(sinew(["check", "zoo:arm", "--fps", "0"]).code, 2);
    assert_eq!(sinew(["check", "zoo:arm", "--clip", "no such clip"]).code, 2);
    assert_eq!(sinew(["check", "gone.glb"]).code, 1);
}

/// Gates on effects hold without being asked for, can be set and switched off, and are silent without effects.
#[test]
fn effects_are_gated_by_default() {
    let arm = ["zoo:arm", "--clip", "wave", "--fps", "30"];
    assert_eq!(check(&arm)["gates"], json!([]));
    let with = |more: &[&str]| check(&[&arm[..], &["--preset", "lively"], more].concat());
    let report = with(&[]);
    let gates = report["gates"].as_array().expect("gates");
    let names: Vec<&str> = gates.iter().filter_map(|gate| gate["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "strain",
            "worst-strain",
            "gap",
            "rigid",
            "slip",
            "ground",
            "tremble",
            "crossings",
            "penetration",
            "thinning",
            "jolt"
        ]
    );
    let groups = report["clips"][0]["against_base"]["groups"].as_array().expect("groups");
    let whole = groups.iter().find(|group| group["kind"] == "character").expect("a character");
    let displacement = report["clips"][0]["displacement"]["share"].as_f64().expect("a share");
    let strength = whole["strength"].as_f64().expect("a share");
    assert!(strength > 0.0 && strength <= displacement, "{strength} {displacement}");
    let fewer = with(&["--gate", "gap=off", "--gate", "strain=1"]);
    let gates = fewer["gates"].as_array().expect("gates");
    assert!(gates.iter().all(|gate| gate["name"] != "gap"));
    let strain = gates.iter().find(|gate| gate["name"] == "strain").expect("set");
    assert_eq!((&strain["most"], &strain["passed"], &fewer["passed"]), (&json!(1.0), &json!(false), &json!(false)));
    let text = sinew([&["check"], &arm[..], &["--preset", "lively", "--gate", "strain=1", "-q"]].concat());
    assert_eq!(text.code, 3);
    assert!(text.stdout.contains("! strain: ") && text.stdout.contains("visible strength"), "{}", text.stdout);
}

#[test]
fn faults_put_in_are_found() {
    let folder = Folder::new();
    // One vertex whose weights sum to 1.5.
    let file = Builder::rigged().poke(WEIGHTS, 0, 1.5f32);
    let report = check(&[&folder.write("weights.glb", file.glb())]);
    assert_eq!(report["weights"][0]["unnormalised"], 1);
    assert_eq!(report["weights"][0]["worst_sum"], 1.5);
    assert_eq!(report["warnings"][0]["code"], "weights-not-normalised");
    // A tube without lids.
    assert_eq!(report["surfaces"][0]["open_pieces"], 1);
    assert_eq!(report["clips"][0]["volumes"], json!([]));
    // A root that is put elsewhere in the middle of a slow walk.
    let mut file = Builder::rigged();
    let keys = 24;
    let times: Vec<f32> = (0..keys).map(|n| n as f32 / 24.0).collect();
    let places = (0..keys).flat_map(|n| [n as f32 * 0.01 + if n > 11 { 5.0 } else { 0.0 }, 0.0, 0.0]);
    let (times, places) = (file.accessor("SCALAR", &times), file.accessor("VEC3", &places.collect::<Vec<f32>>()));
    file.set("/animations/0/samplers/1", json!({"input": times, "output": places}));
    let jumping = folder.write("jump.glb", file.glb());
    let jumps = check(&[&jumping])["clips"][0]["jumps"].clone();
    assert_eq!(jumps.as_array().expect("jumps").len(), 1, "{jumps}");
    assert_eq!((&jumps[0]["bone"], &jumps[0]["first"]), (&json!("lower"), &json!(false)));
    assert!((jumps[0]["time"].as_f64().expect("a time") - 11.0 / 24.0).abs() < 1e-6);
    assert_eq!(sinew(["check", &jumping, "--quiet", "--gate", "teleports=0"]).code, 3);
    // Declared, it is no fault.
    let recipe = folder.write("jump.sinew.toml", "version = 1\n[clip.\"bend\"]\nteleports = [0.47]\n");
    assert_eq!(sinew(["check", &jumping, "--quiet", "--gate", "teleports=0", "--recipe", &recipe]).code, 0);
}

/// The dirtiest of the real characters: weights that sum to as much as 1.755.
#[test]
fn a_dirty_character_is_told_what_is_wrong() {
    let Some(robot) = asset("RobotExpressive.glb") else { return };
    let report = check(&[robot.to_str().expect("UTF-8"), "--clip", "Dance", "--fps", "10"]);
    let weights = report["weights"].as_array().expect("weights");
    let unnormalised: u64 = weights.iter().map(|w| w["unnormalised"].as_u64().expect("a number")).sum();
    assert_eq!(unnormalised, 752);
    let worst = weights.iter().map(|w| w["worst_sum"].as_f64().expect("a sum")).fold(0.0, f64::max);
    assert!((worst - 1.755).abs() < 1e-3);
    assert_eq!(sinew(["check", robot.to_str().expect("UTF-8"), "--clip", "0", "--gate", "weights=0", "-q"]).code, 3);
}

/// Effects as strong everywhere as they used to be.
const BLIND: &str = "
[[effect]]
type = 'floppy'
translation = 0.02
rotation = 0.12
[[effect]]
type = 'wobble'
translation = 0.4
rotation = 2.0
frequency = 3.5
damping = 0.3
";

/// By the file's own tree and with nothing rigid, effects tear the rat's feet from its legs and bend the knight's swords:
/// eyes see it, and so does the check.
#[test]
fn what_eyes_see_on_real_characters_is_found() {
    let found = |report: &Value, name: &str| {
        let gates = report["gates"].as_array().expect("gates");
        let gate = gates.iter().find(|gate| gate["name"] == name).expect("holds by default");
        (gate["found"].as_f64().expect("a number"), gate["passed"].as_bool().expect("a verdict"))
    };
    let folder = Folder::new();
    let blind = folder.write("blind.sinew.toml", format!("version = 1\nhierarchy = 'plain'\nrigid = 'none'{BLIND}"));
    if let Some(rat) = asset("Quaternius_Rat.glb") {
        let rat = rat.to_str().expect("UTF-8");
        let with = |more: &[&str]| check(&[&[rat, "--clip", "RatArmature|Rat_Attack", "--fps", "30"], more].concat());
        let report = with(&["--recipe", &blind]);
        let (torn, passed) = found(&report, "worst-strain");
        assert!(torn > 2.0 && !passed, "{torn}");
        let groups = report["clips"][0]["against_base"]["groups"].as_array().expect("groups");
        let bone = groups[0]["worst_edge"]["bone"].as_str().expect("a bone");
        assert!(bone.contains("Foot") || bone.contains("LowLeg"), "{bone}");
        let (whole, passed) = found(&with(&["--preset", "lively"]), "worst-strain");
        assert!(whole < 2.0 && passed, "{whole}");
    }
    if let Some(knight) = asset("KayKit_Knight.glb") {
        let knight = knight.to_str().expect("UTF-8");
        let with = |more: &[&str]| check(&[&[knight, "--clip", "1H_Melee_Attack_Chop", "--fps", "30"], more].concat());
        assert_eq!(found(&with(&["--recipe", &blind]), "rigid"), (0.0, true), "nothing is said to be rigid");
        let (bend, passed) = found(&with(&["--recipe", &blind, "--rigid", "*Sword*"]), "rigid");
        assert!(bend > 0.05 && !passed, "{bend}");
        let (bend, passed) = found(&with(&["--preset", "cartoon", "--rigid", "*Sword*"]), "rigid");
        assert!(bend < 1e-3 && passed, "{bend}");
    }
}

/// The gain is found by one program and its strength measured by another.
#[test]
fn a_strength_asked_for_is_the_one_measured() {
    let strengths = |args: &[&str]| -> Vec<f64> {
        let report = check(&[&["zoo:calf", "--preset", "lively", "--strength", "3%"], args].concat());
        let clips = report["clips"].as_array().expect("clips").clone();
        let whole = |clip: &Value| {
            let groups = clip["against_base"]["groups"].as_array().expect("groups").clone();
            groups.iter().find(|group| group["kind"] == "character").expect("a character")["strength"].as_f64()
        };
        clips.iter().map(|clip| whole(clip).expect("a strength")).collect()
    };
    let balanced = strengths(&[]).into_iter().fold(0.0, f64::max);
    assert!((balanced - 0.03).abs() < 0.03 * 0.03, "{balanced}");
    let together = strengths(&["--strength-over", "all"]);
    let liveliest = together.iter().copied().fold(0.0, f64::max);
    assert!((liveliest - 0.03).abs() < 0.02 * 0.03, "{together:?}");
    let each = strengths(&["--strength-over", "each"]);
    assert!(each.iter().all(|found| (found - 0.03).abs() < 0.02 * 0.03), "{each:?}");
    let run = sinew(["check", "zoo:calf", "--clip", "0", "--strength", "3%"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("give --preset or --recipe"), "{}", run.stderr);
}
