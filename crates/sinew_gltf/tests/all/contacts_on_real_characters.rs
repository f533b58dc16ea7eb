//! Contacts against what an eye sees: six clips, twelve frames of each, labelled foot by foot from pictures of the base
//! (`sinew render --frames 12 --view -75,3`) before anything was compared.

use sinew::{MotionSettings, Recipe, Stage};
use sinew_gltf::Asset;
use sinew_testkit::assets::asset;

/// A foot by its bones, and what it does at twelve even moments: `x` stands, `.` does not, `?` cannot be told.
type Foot = (&'static [&'static str], &'static str);

const LABELS: [(&str, usize, &[Foot]); 6] = [
    (
        "CesiumMan.glb",
        0,
        &[(&["leg_joint_L_3", "leg_joint_L_5"], ".....?xxx?.."), (&["leg_joint_R_3", "leg_joint_R_5"], "xxx?.......?")],
    ),
    ("Quaternius_Velociraptor.glb", 5, &[(&["BackFoot.R"], "x..xxxxxxxxx"), (&["BackFoot.L"], "xxx?..xxxxxx")]),
    ("KayKit_Knight.glb", 72, &[(&["foot.r", "toes.r"], "?....??xxxxx"), (&["foot.l", "toes.l"], "?xxxx????...")]),
    (
        "Fox.glb",
        1,
        &[
            (&["b_RightFoot01_021", "b_RightFoot02_022"], "xxxxxx??...?"),
            (&["b_RightHand_08"], "??....?xxxxx"),
            (&["b_LeftFoot01_017", "b_LeftFoot02_018"], "??....??xxxx"),
            (&["b_LeftHand_011"], "xxxxxx??...?"),
        ],
    ),
    (
        "Quaternius_farm/Cow.gltf",
        0,
        &[
            (&["BackFoot.R"], ".??xx......."),
            (&["BackFoot.L"], "xx..??xxxxxx"),
            (&["FrontFoot.R"], "x?.xxxxxxxxx"),
            (&["FrontFoot.L"], "xxx..?xxxxxx"),
        ],
    ),
    ("Quaternius_knight/KnightCharacter.gltf", 1, &[(&["Foot.R"], "..?xx......?"), (&["Foot.L"], "........?xx?")]),
];

#[test]
fn feet_stand_where_the_eye_sees_them_stand() {
    let (mut right, mut all) = (0, 0);
    for (file, clip, feet) in LABELS {
        let Some(path) = asset(file) else { return };
        let asset = Asset::open(&path).expect("opens");
        let stage = Stage::new(&asset.rig, &Recipe::default()).expect("fits");
        let clip = &asset.clips[clip];
        let playing = stage.motion(clip, &MotionSettings::default()).expect("reads");
        let report = playing.report();
        let length = report.period.unwrap_or(report.last_key - report.start);
        for (bones, seen) in feet {
            assert!(
                bones.iter().all(|name| stage
                    .rig()
                    .skeleton()
                    .bones()
                    .any(|b| stage.rig().skeleton().name(b) == *name))
            );
            let found: String = (0..12)
                .map(|n| {
                    let t = report.start + length * f64::from(n) / 12.0;
                    let mut own = playing
                        .contacts()
                        .iter()
                        .filter(|contact| bones.contains(&stage.rig().skeleton().name(contact.bone)));
                    let covers = |from: f64, to: f64| [t, t + length].iter().any(|t| (from..=to).contains(t));
                    if own.any(|contact| covers(contact.from, contact.to)) { 'x' } else { '.' }
                })
                .collect();
            let told = seen.chars().zip(found.chars()).filter(|(seen, _)| *seen != '?');
            let (agree, count) = told.fold((0, 0), |(r, n), (seen, found)| (r + usize::from(seen == found), n + 1));
            println!("{file} \"{}\" {}: seen {seen}, found {found}: {agree} of {count}", clip.name, bones[0]);
            (right, all) = (right + agree, all + count);
        }
    }
    println!("{right} of {all} frames");
    assert!(10 * right >= 9 * all, "{right} of {all}");
}
