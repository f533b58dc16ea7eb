//! Recipe files: meaning, faults, edits, the template.

use crate::common::based;
use glam::DVec3;
use sinew::base::BASES;
use sinew::cone::Cone;
use sinew::param::ParamKind;
use sinew::recipe::{
    BaseSpec, BoneGain, Centroid, Collide, ConeSpec, EFFECT_KEYS, EditError, EffectSpec, KeyCurve, Normals, Place,
    RecipeFile, Riders, Rigid, Sewn, TotalLimit,
};
use sinew::registry::EFFECTS;
use sinew::table::{Cell, Row};
use sinew::text::wildcard;
use sinew::{Ends, Looping, MotionSettings, Smoothing, Travel};

const V1: &str = include_str!("recipes/v1.sinew.toml");

fn blend(factor: f64, map: Option<&str>, pivot: bool) -> BaseSpec {
    let base = based("blend", &[("factor", factor), ("pivot", f64::from(u8::from(pivot)))]);
    BaseSpec { map: map.map(str::to_owned), ..base }
}

#[test]
fn version_1_means_what_it_says() {
    let file = RecipeFile::parse(V1).unwrap();
    let recipe = file.recipe();
    assert_eq!(recipe.base, blend(0.25, Some("twist"), true));
    assert_eq!((recipe.riders, recipe.normals), (Riders::Still, Normals::Faces));
    assert_eq!(file.maps(), ["belly.map.json", "maps/twist.map.json"]);

    let [first, second, third] = recipe.effects.as_slice() else { panic!("three effects") };
    assert_eq!(
        (first.effect.name(), first.gain, first.raw, first.map.as_deref()),
        ("floppy", 2.0, true, Some("belly"))
    );
    for (name, value) in [
        ("translation", 0.2),
        ("rotation", -0.3),
        ("max_length", 0.5),
        ("max_angle", 2.0),
        ("soft", 0.0),
        ("translation_filter", 0.6),
        ("rotation_filter", 0.8),
    ] {
        assert_eq!(first.values.number(name), value, "{name}");
    }
    let gain = |translation, rotation| BoneGain { translation, rotation, ..BoneGain::default() };
    let bones = [
        ("tail*", gain(2.0, 2.0)),
        ("ear.?", gain(0.0, 1.5)),
        ("head", gain(1.0, 3.0)),
        ("jaw", BoneGain { centroid: Some(Centroid::At(DVec3::new(0.0, 0.5, -1.0))), ..gain(1.0, 1.0) }),
        ("arm*", BoneGain { centroid: Some(Centroid::Offset(DVec3::X * 0.25)), about_point: true, ..gain(0.5, 1.0) }),
    ];
    assert_eq!((first.root, first.compensate), (-0.5, true));
    let shape = Cone::new(DVec3::Y, DVec3::Y * 1.5, 0.7, 0.2).ok();
    let cone = ConeSpec { bone: Some("hips".to_owned()), cone: shape, gain: 4.0, max_length: 0.5 };
    assert_eq!(first.cone, Some(cone));
    assert_eq!(first.keys, []);
    assert_eq!(first.bones, bones.map(|(name, gain)| (name.to_owned(), gain)));
    assert_eq!((second.gain, second.raw, &second.map, second.bones.len()), (1.0, false, &None, 0));
    for effect in [second, third] {
        for spec in effect.effect.params() {
            assert_eq!(effect.values.number(spec.name), spec.default(), "{}", spec.name);
        }
    }
    assert_eq!((second.root, second.compensate, &second.cone, second.keys.len()), (1.0, false, &None, 0));
    assert_eq!((third.gain, &third.cone), (1.0, &Some(ConeSpec::default())));
    let curve = |keys: &[(f64, f64)]| KeyCurve::new(keys.to_vec()).unwrap();
    let keys = [("rotation", curve(&[(0.25, 0.1)])), ("gain", curve(&[(0.0, 1.0), (0.5, -2.5)]))];
    assert_eq!(third.keys, keys.map(|(name, curve)| (name.to_owned(), curve)));

    let all = MotionSettings {
        looping: Looping::No,
        ends: Ends::Continue,
        travel: Travel::Keep,
        smoothing: Smoothing::Box(0.02),
        ..MotionSettings::default()
    };
    let runs =
        MotionSettings { looping: Looping::Yes, smoothing: Smoothing::Auto, teleports: vec![0.5, 1.0], ..all.clone() };
    let fast = MotionSettings { ends: Ends::Rest, teleports: Vec::new(), ..runs.clone() };
    assert_eq!(file.motion("Idle"), all);
    assert_eq!(file.motion("Run"), runs);
    assert_eq!(file.motion("Run.Fast"), fast);
    assert_eq!(file.clip_patterns().collect::<Vec<_>>(), ["Run*", "Run.Fast"]);
    assert_eq!(file.to_string(), V1);
}

#[test]
fn untouched_text_is_kept_to_the_byte() {
    let texts = [
        "version=1",
        "\u{feff}version = 1\r\n# ends with CR LF\r\n\r\n[motion]\r\n\tloop   =\t'no' # tab\r\n",
        "  version  =  1\nmotion.loop = \"no\"\nriders = \"still\"\nmotion.ends = \"rest\" # scattered\n\n\n   # end",
        "version = 1\neffect = [ {type='floppy',}, # one\n {  type = \"floppy\" , gain = 0x10 }\n]\n[ clip . 'a b' ]\nteleports = [\n1,\n 2.5e-1,\n]",
        "version = 1\n[effect.bones]\n",
    ];
    for text in &texts[..4] {
        assert_eq!(RecipeFile::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string(), *text);
    }
    assert!(RecipeFile::parse(texts[4]).is_err());
    let hex = RecipeFile::parse(texts[3]).unwrap();
    assert_eq!(hex.recipe().effects[1].gain, 16.0);
    assert_eq!(hex.motion("a b").teleports, [1.0, 0.25]);
}

#[test]
fn an_empty_recipe_means_the_defaults() {
    let empty = RecipeFile::default();
    let parsed = RecipeFile::parse(&empty.to_string()).unwrap();
    assert_eq!(format!("{empty:?}"), format!("{parsed:?}"));
    assert_eq!(parsed.recipe().base, BaseSpec::default());
    assert_eq!(parsed.motion("any"), MotionSettings::default());
}

#[test]
fn bases() {
    let base = |text: &str| RecipeFile::parse(&format!("version = 1\n{text}")).unwrap().recipe().base.clone();
    assert_eq!(base("base = \"lbs\""), BaseSpec::default());
    assert_eq!(base("base = \"rigid\""), based("rigid", &[]));
    assert_eq!(base("base = \"dqs\""), based("dqs", &[]));
    assert_eq!(base("base = \"blend\""), blend(0.5, None, false));
    assert_eq!(base("base = { type = \"dqs\", pivot = true }"), based("dqs", &[("pivot", 1.0)]));
    assert_eq!(base("[base]\ntype = \"blend\"\nfactor = 1\nmap = \"m\""), blend(1.0, Some("m"), false));
    assert_eq!(base("base.type = \"rigid\""), based("rigid", &[]));
}

/// Text after `version = 1`, and the whole message; BASES and EFFECTS stand for all there are.
const FAULTS: &[(&str, &str)] = &[
    ("base = \"lbs", "line 2, column 12: not valid TOML: "),
    ("riders = \"move\"\nriders = \"move\"", "line 3, column 1: not valid TOML: duplicate key"),
    ("version = 1", "line 2, column 1: not valid TOML: duplicate key"),
    ("bse = \"lbs\"", "line 2, column 1: bse: no such key; did you mean \"base\"?"),
    (
        "qqq = 1",
        "line 2, column 1: qqq: no such key; give version, base, riders, rigid, sewn, collide, planted, normals, max_total, max_strain, strength, strength_over, maps, hierarchy, motion, clip, effect, correction or edit",
    ),
    ("[[efect]]\ntype = \"floppy\"", "line 2, column 3: efect: no such key; did you mean \"effect\"?"),
    (
        "[effect]\ntype = \"floppy\"",
        "line 2, column 2: effect: expected sections [[effect]], with two brackets, found a table",
    ),
    ("effect = 3", "line 2, column 10: effect: expected sections [[effect]], with two brackets, found the number 3"),
    (
        "effect = [3]",
        "line 2, column 11: effect[0]: expected a table such as { type = \"floppy\" }, found the number 3",
    ),
    ("[[effect]]\ngain = 1", "line 2, column 1: effect[0]: the type of effect is missing; add type = EFFECTS"),
    (
        "[[effect]]\ntype = \"flopy\"",
        "line 3, column 8: effect[0].type: \"flopy\" is not one of the choices; did you mean \"floppy\"?",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[[effect]]\ntype = \"floppy\"\n  rotaton = 1",
        "line 6, column 3: effect[1].rotaton: no such key; did you mean \"rotation\"?",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ntranslation = 12",
        "line 4, column 15: effect[0].translation: 12 is out of range; give -10 to 10 s",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nmax_length = -0.5",
        "line 4, column 14: effect[0].max_length: -0.5 is out of range; give 0 to 10 × size",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation_filter = 0",
        "line 4, column 19: effect[0].rotation_filter: 0 is out of range; give 0.001 to 1",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation = nan",
        "line 4, column 12: effect[0].rotation: NaN is out of range; give -10 to 10 s",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation = \"0.1\"",
        "line 4, column 12: effect[0].rotation: expected a number, -10 to 10 s, found the text \"0.1\"",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nsoft = 1",
        "line 4, column 8: effect[0].soft: expected true or false, found the number 1",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nraw = \"yes\"",
        "line 4, column 7: effect[0].raw: expected true or false, found the text \"yes\"",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ngain = -inf",
        "line 4, column 8: effect[0].gain: -inf is out of range; give -100 to 100",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nmap = 3",
        "line 4, column 7: effect[0].map: expected the name of a painted map in quotes, found the number 3",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nmap = \"\"",
        "line 4, column 7: effect[0].map: the name is empty; name a painted map or leave the key out",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nsmoothing = 0",
        "line 4, column 1: effect[0].smoothing: this key belongs under [motion], or under [clip.\"NAME\"] for one clip",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nbones = 2",
        "line 4, column 9: effect[0].bones: expected a table of gains by bone name, such as { \"tail*\" = 2.0 }, \
         found the number 2",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.bones]\n\"tail*\" = 101",
        "line 5, column 11: effect[0].bones.\"tail*\": 101 is out of range; give -100 to 100",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.bones]\ntail = { rotaton = 1 }",
        "line 5, column 10: effect[0].bones.tail.rotaton: no such key; did you mean \"rotation\"?",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.bones]\ntail = { gain = 1 }",
        "line 5, column 10: effect[0].bones.tail.gain: no such key; give translation, rotation, centroid, \
         centroid_offset or squash_about",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.bones]\near.L = 2.0",
        "line 5, column 1: effect[0].bones.ear: a name with a dot needs quotes: \"ear.L\"",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.bones]\nupper.arm.L = { rotation = 1 }",
        "line 5, column 1: effect[0].bones.upper: a name with a dot needs quotes: \"upper.arm.L\"",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.bones]\ntail = [1, 2]",
        "line 5, column 8: effect[0].bones.tail: expected a number, -100 to 100, found a list",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nroot = 101",
        "line 4, column 8: effect[0].root: 101 is out of range; give -100 to 100",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ncompensate = 1",
        "line 4, column 14: effect[0].compensate: expected true or false, found the number 1",
    ),
    ("[motion]\nroot = 1", "line 3, column 1: motion.root: this key belongs under [[effect]]"),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation = []",
        "line 4, column 12: effect[0].rotation: expected a number, -10 to 10 s, found an empty list",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation = [0.1, 0.2]",
        "line 4, column 13: effect[0].rotation[0]: expected a key [seconds, value], such as [0.5, 0.2], found the \
         number 0.1",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ngain = [[0, 1], [1, 2, 3]]",
        "line 4, column 17: effect[0].gain[1]: expected a key [seconds, value], such as [0.5, 0.2], found a list",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation = [[0, 1], [1, 11]]",
        "line 4, column 25: effect[0].rotation[1][1]: 11 is out of range; give -10 to 10 s",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation = [[-1, 1]]",
        "line 4, column 14: effect[0].rotation[0][0]: -1 is out of range; give at least 0 s",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation = [[0, 1],\n [0.5, 1],\n [0.5, 2]]",
        "line 6, column 2: effect[0].rotation[2]: this key, at 0.5 s, does not come after the one before it, at 0.5 s; \
         sort the keys by time",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nrotation_filter = [[0, 1]]",
        "line 4, column 19: effect[0].rotation_filter: this cannot be keyed: filters run over the whole clip ahead of \
         time; give one number",
    ),
    (
        "[[effect]]\ntype = \"wobble\"\ndamping = [[0, 1]]",
        "line 4, column 11: effect[0].damping: this cannot be keyed: filters run over the whole clip ahead of time; \
         give one number",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\nsoft = [[0, 1]]",
        "line 4, column 8: effect[0].soft: expected true or false, found a list",
    ),
    (
        "[[effect]]\ntype = \"squash\"\nbones = { a = { centroid = [0, 1] } }",
        "line 4, column 28: effect[0].bones.a.centroid: expected three numbers, such as [0.0, 0.5, 0.0], found a list",
    ),
    (
        "[[effect]]\ntype = \"squash\"\nbones = { a = { centroid_offset = [0, 1, inf] } }",
        "line 4, column 42: effect[0].bones.a.centroid_offset[2]: inf is out of range; give -1000000000 to 1000000000",
    ),
    (
        "[[effect]]\ntype = \"squash\"\n[effect.bones.a]\ncentroid_offset = [0, 0, 1]\ncentroid = [0, 0, 1]",
        "line 6, column 1: effect[0].bones.a.centroid: \"centroid_offset\" already sets this; keep one of the \
         two",
    ),
    (
        "[[effect]]\ntype = \"squash\"\nbones.a.squash_about = \"pont\"",
        "line 4, column 24: effect[0].bones.a.squash_about: \"pont\" is not one of the choices; did you mean \"point\"?",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ncone = 3",
        "line 4, column 8: effect[0].cone: expected true, false or a table such as { bone = \"hips\", gain = 10.0 }, \
         found the number 3",
    ),
    (
        "[[effect]]\ntype = \"centrifugal-lift\"\ncone = false",
        "line 4, column 8: effect[0].cone: centrifugal-lift needs a cone; write true, or leave the key out",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ncone = { bne = \"hips\" }",
        "line 4, column 10: effect[0].cone.bne: no such key; did you mean \"bone\"?",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ncone = { half_angel = 0.4 }",
        "line 4, column 10: effect[0].cone.half_angel: no such key; did you mean \"half_angle\"?",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ncone = { radius = 0.4 }",
        "line 4, column 10: effect[0].cone.radius: no such key; did you mean \"base_radius\"?",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ncone = { bone = \"\" }",
        "line 4, column 17: effect[0].cone.bone: the name is empty; name a bone or leave the key out",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.cone]\ngain = 1001",
        "line 5, column 8: effect[0].cone.gain: 1001 is out of range; give -1000 to 1000",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.cone]\nmax_length = -1",
        "line 5, column 14: effect[0].cone.max_length: -1 is out of range; give 0 to 10 × size",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\ncone = { bone = \"a\", axis = [0, 1, 0], base_radius = 1 }",
        "line 4, column 8: effect[0].cone: part of the cone set by hand is missing; add apex and half_angle",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n\
         cone = { axis = [0, 1, 0], base_radius = 1, apex = [0, 0, 0], half_angle = 1 }",
        "line 4, column 8: effect[0].cone: the bone that carries the cone is missing; add bone = \"NAME\"",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.cone]\nbone = \"a\"\naxis = [0, 0, 0]\nbase_radius = 1\n\
         apex = [0, 0, 0]\nhalf_angle = 1",
        "line 6, column 8: effect[0].cone.axis: the cone's axis length is 0: give a finite direction other than 0, 0, 0",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.cone]\nbone = \"a\"\naxis = [0, 1, 0]\nbase_radius = 1\n\
         apex = [0, 0, 0]\nhalf_angle = 1.6",
        "line 9, column 14: effect[0].cone.half_angle: the cone's half-angle is 1.6: give an angle between 0 and π/2 \
         radians, both excluded",
    ),
    (
        "[[effect]]\ntype = \"floppy\"\n[effect.cone]\nbone = \"a\"\naxis = [0, 1, 0]\nbase_radius = -1\n\
         apex = [0, 0, 0]\nhalf_angle = 1",
        "line 7, column 15: effect[0].cone.base_radius: -1 is out of range; give 0 to 1000000000",
    ),
    ("base = \"dq\"", "line 2, column 8: base: \"dq\" is not one of the choices; did you mean \"dqs\"?"),
    ("base = \"zzzz\"", "line 2, column 8: base: \"zzzz\" is not one of the choices; give BASES"),
    ("base = 1", "line 2, column 8: base: expected BASES, found the number 1"),
    ("base = { pivot = true }", "line 2, column 8: base: the type of base is missing; add type = BASES"),
    ("base = { type = \"lbs\", pivot = true }", "line 2, column 24: base.pivot: no such key; give type"),
    ("base = { type = \"blend\", factor = 1.5 }", "line 2, column 35: base.factor: 1.5 is out of range; give 0 to 1"),
    ("base = { type = \"blend\", factr = 1 }", "line 2, column 26: base.factr: no such key; did you mean \"factor\"?"),
    ("riders = \"stil\"", "line 2, column 10: riders: \"stil\" is not one of the choices; did you mean \"still\"?"),
    ("normals = \"face\"", "line 2, column 11: normals: \"face\" is not one of the choices; did you mean \"faces\"?"),
    ("normals = true", "line 2, column 11: normals: expected \"auto\", \"engine\", \"exact\" or \"faces\", found true"),
    (
        "[motion]\nnormals = \"auto\"",
        "line 3, column 1: motion.normals: this key belongs at the top of the file, before the first [section]",
    ),
    ("rigid = \"autp\"", "line 2, column 9: rigid: \"autp\" is not one of the choices; did you mean \"auto\"?"),
    (
        "rigid = true",
        "line 2, column 9: rigid: expected \"auto\", \"none\" or a list such as [\"@prop\", \"Sword*\"], found true",
    ),
    (
        "rigid = [\"@eye\", 3]",
        "line 2, column 18: rigid[1]: expected a role, bone or mesh in quotes, found the number 3",
    ),
    ("sewn = \"nome\"", "line 2, column 8: sewn: \"nome\" is not one of the choices; did you mean \"none\"?"),
    ("rigid = [\"\"]", "line 2, column 10: rigid[0]: the name is empty; name a role, bone or mesh or remove it"),
    ("riders = false", "line 2, column 10: riders: expected \"move\" or \"still\", found false"),
    (
        "maps = \"a.json\"",
        "line 2, column 8: maps: expected a list of map files, such as [\"belly.map.json\"], found the text \"a.json\"",
    ),
    (
        "maps = [\"a.json\",\n 2]",
        "line 3, column 2: maps[1]: expected the path of a map file in quotes, found the number 2",
    ),
    (
        "maps = [\"../a.json\"]",
        "line 2, column 9: maps[0]: \"../a.json\" is not beside the recipe; give a path relative to it, without \"..\"",
    ),
    ("maps = ['C:\\a']", "line 2, column 9: maps[0]: \"C:\\\\a\" is not beside the recipe"),
    ("maps = ['/a']", "line 2, column 9: maps[0]: \"/a\" is not beside the recipe"),
    ("motion = 1", "line 2, column 10: motion: expected a section [motion], found the number 1"),
    ("[motion]\nlop = \"no\"", "line 3, column 1: motion.lop: no such key; did you mean \"loop\"?"),
    ("[motion]\nloop = true", "line 3, column 8: motion.loop: expected \"auto\", \"yes\" or \"no\", found true"),
    (
        "[motion]\nends = \"rst\"",
        "line 3, column 8: motion.ends: \"rst\" is not one of the choices; did you mean \"rest\"?",
    ),
    (
        "[motion]\ntravel = 1979-05-27",
        "line 3, column 10: motion.travel: expected \"subtract\" or \"keep\", found a date",
    ),
    ("[motion]\nsmoothing = 2", "line 3, column 13: motion.smoothing: 2 is out of range; give 0 to 1 s"),
    (
        "[motion]\nsmoothing = \"off\"",
        "line 3, column 13: motion.smoothing: expected \"auto\" or 0 to 1 s, found the text \"off\"",
    ),
    ("[motion]\nteleports = [1]", "line 3, column 1: motion.teleports: this key belongs under [clip.\"NAME\"]"),
    (
        "[motion]\nbase = \"dqs\"",
        "line 3, column 1: motion.base: this key belongs at the top of the file, before the first [section]",
    ),
    ("clip = 1", "line 2, column 8: clip: expected sections [clip.\"NAME\"], found the number 1"),
    ("[clip]\nRun = 1", "line 3, column 7: clip.Run: expected a section [clip.\"NAME\"], found the number 1"),
    ("[clip.\"a b\"]\nlooop = \"no\"", "line 3, column 1: clip.\"a b\".looop: no such key; did you mean \"loop\"?"),
    ("[clip.Run.Fast]\nloop = \"no\"", "line 2, column 7: clip.Run: a name with a dot needs quotes: \"Run.Fast\""),
    (
        "[clip.Run]\nteleports = 1",
        "line 3, column 13: clip.Run.teleports: expected a list of seconds, such as [0.5], found the number 1",
    ),
    (
        "[clip.Run]\nteleports = [0, -1]",
        "line 3, column 17: clip.Run.teleports[1]: -1 is out of range; give at least 0 s",
    ),
    (
        "[clip.Run]\nteleports = [inf]",
        "line 3, column 14: clip.Run.teleports[0]: inf is out of range; give at least 0 s",
    ),
];

#[test]
fn every_fault_is_told_with_place_and_remedy() {
    let one_of = |names: Vec<&str>| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let (last, rest) = quoted.split_last().unwrap();
        format!("{} or {last}", rest.join(", "))
    };
    let bases = one_of(BASES.iter().map(|base| base.name).collect());
    let effects = one_of(EFFECTS.iter().map(|effect| effect.name()).collect());
    let mut wrong = Vec::new();
    for (text, expected) in FAULTS {
        let expected = &expected.replace("BASES", &bases).replace("EFFECTS", &effects);
        let message = RecipeFile::parse(&format!("version = 1\n{text}")).expect_err(text).to_string();
        let whole = !(expected.ends_with("TOML: ") || expected.ends_with("beside the recipe"));
        if !if whole { message == *expected } else { message.starts_with(expected) } {
            wrong.push(format!("{text}\n{message}\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn versions() {
    for (text, expected) in [
        ("", "line 1, column 1: version: the recipe has no version; add \"version = 1\" as its first line"),
        (
            "nonsense = 1\n[motion]\nversion = 1",
            "line 1, column 1: version: the recipe has no version; add \"version = 1\" as its first line",
        ),
        (
            "future = 1\nversion = 7",
            "line 2, column 11: version: this recipe needs version 7 of the recipe format, but this program reads up to \
             version 1; update Sinew",
        ),
        (
            "version = 0",
            "line 1, column 11: version: there is no version 0 of the recipe format; write \"version = 1\"",
        ),
        ("version = \"1\"", "line 1, column 11: version: expected the whole number 1, found the text \"1\""),
        ("\u{feff}version = 1.0", "line 1, column 11: version: expected the whole number 1, found the number 1"),
    ] {
        assert_eq!(RecipeFile::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn of_several_faults_the_first_in_the_file_is_told() {
    let text = "version = 1\n[[effect]]\ntype = \"floppy\"\nö = 1\nrotation = 99\n[motion]\nloop = 1\n";
    assert!(RecipeFile::parse(text).unwrap_err().to_string().contains("not valid TOML"), "bare keys are ASCII");
    let text = text.replace("ö = 1", "map = \"ö\"\nö=1").replace("ö=1", "max_angle = \"ö\" # ö");
    let error = RecipeFile::parse(&text).unwrap_err();
    assert_eq!((error.line, error.column, error.path.as_str()), (5, 13, "effect[0].max_angle"));
    let error = RecipeFile::parse(&text.replace("max_angle = \"ö\" # ö", "")).unwrap_err();
    assert_eq!((error.line, error.column, error.path.as_str()), (6, 12, "effect[0].rotation"));
    let error = RecipeFile::parse("version = 1\nbase = { type = \"blend\", map = \"öö\", factor = 2 }").unwrap_err();
    assert_eq!((error.line, error.column), (2, 47), "columns count characters");
}

type Edit<'a> = &'a dyn Fn(&mut RecipeFile) -> Result<(), EditError>;

/// `before` and `after` start with `version = 1`.
fn check_edit(before: &str, edit: Edit<'_>, after: &str) {
    let mut file = RecipeFile::parse(&format!("version = 1\n{before}")).unwrap_or_else(|e| panic!("{before}: {e}"));
    edit(&mut file).unwrap_or_else(|error| panic!("{before}: {error}"));
    assert_eq!(file.to_string(), format!("version = 1\n{after}"), "after editing {before:?}");
    let again = RecipeFile::parse(&file.to_string()).unwrap();
    assert_eq!(format!("{again:?}"), format!("{file:?}"), "the meaning follows the text");
}

#[test]
fn setting_a_value_changes_that_value_alone() {
    let comments = "# one\n  base   =  \"lbs\"# two\n\n[[ effect ]] # three\ntype = 'floppy'\n gain=1 # four\n# five";
    check_edit(comments, &|f| f.set(Place::Effect(0, "gain"), 0.5), &comments.replace("gain=1", "gain=0.5"));
    check_edit(comments, &|f| f.set(Place::Base, "dqs"), &comments.replace("\"lbs\"", "\"dqs\""));
    let blend = blend(0.25, Some("a\"b"), true);
    check_edit(
        comments,
        &|f| f.set(Place::Base, &blend),
        &comments.replace("\"lbs\"", "{ type = \"blend\", factor = 0.25, map = 'a\"b', pivot = true }"),
    );
    check_edit(
        "effect = [{ type = \"floppy\" }, { type = \"floppy\", soft = true, bones = { \"a*\" = 1 } }]",
        &|f| f.set(Place::Bone(1, "a*"), BoneGain { translation: 2.0, rotation: 3.0, ..BoneGain::default() }),
        "effect = [{ type = \"floppy\" }, { type = \"floppy\", soft = true, bones = { \"a*\" = { translation = 2.0, \
         rotation = 3.0 } } }]",
    );
    check_edit(
        "maps = [\n  \"a\", # old\n]\nriders = \"move\"\n",
        &|f| f.set(Place::Maps, ["b", "c"].as_slice()),
        "maps = [\"b\", \"c\"]\nriders = \"move\"\n",
    );
    check_edit("riders = \"move\"", &|f| f.set(Place::Riders, Riders::Still), "riders = \"still\"");
    check_edit(
        "rigid = \"auto\"",
        &|f| f.set(Place::Rigid, &Rigid::Only(vec!["@prop".into(), "Sword*".into()])),
        "rigid = [\"@prop\", \"Sword*\"]",
    );
    check_edit("collide = \"auto\"", &|f| f.set(Place::Collide, Collide::None), "collide = \"none\"");
    check_edit("sewn = \"auto\"", &|f| f.set(Place::Sewn, Sewn::None), "sewn = \"none\"");
    check_edit("rigid = [\"@eye\"]", &|f| f.set(Place::Rigid, &Rigid::None), "rigid = \"none\"");
    check_edit("normals = 'auto'", &|f| f.set(Place::Normals, Normals::Exact), "normals = \"exact\"");
    let curve = KeyCurve::new(vec![(0.0, 1.0), (0.5, -2.0)]).unwrap();
    check_edit(
        comments,
        &|f| f.set(Place::Effect(0, "gain"), &curve),
        &comments.replace("gain=1", "gain=[[0.0, 1.0], [0.5, -2.0]]"),
    );
    let cone = "[[effect]]\ntype = \"squash\"\ncone = { bone = 'b' } # c\n";
    check_edit(
        cone,
        &|f| f.set(Place::Effect(0, "cone"), &ConeSpec { gain: 2.0, ..ConeSpec::default() }),
        &cone.replace("bone = 'b'", "gain = 2.0"),
    );
    check_edit(
        cone,
        &|f| f.set(Place::Effect(0, "cone"), &ConeSpec::default()),
        &cone.replace("{ bone = 'b' }", "true"),
    );
}

#[test]
fn a_new_key_is_written_like_its_neighbours() {
    // On a line, after the section's last key and in its indent.
    check_edit(
        "[[effect]]\n  type = \"floppy\" # why\n\n# next\n[motion]\n",
        &|f| f.set(Place::Effect(0, "soft"), false),
        "[[effect]]\n  type = \"floppy\" # why\n  soft = false\n\n# next\n[motion]\n",
    );
    check_edit("[motion] # m", &|f| f.set(Place::Motion("loop"), "no"), "[motion] # m\nloop = \"no\"");
    check_edit("[motion]\r\n", &|f| f.set(Place::Motion("loop"), "no"), "[motion]\r\nloop = \"no\"\r\n");
    check_edit(
        "# c\n[motion]\n",
        &|f| f.set(Place::Riders, "still"),
        "# c\n[motion]\n".replace("# c", "riders = \"still\"\n# c").as_str(),
    );
    // In a section of its own at the end.
    check_edit("# c\n", &|f| f.set(Place::Motion("smoothing"), 0.0), "# c\n\n[motion]\nsmoothing = 0.0\n");
    check_edit(
        "[clip.Run]\nloop = \"no\"",
        &|f| f.set(Place::Clip("a.b*", "teleports"), [0.5].as_slice()),
        "[clip.Run]\nloop = \"no\"\n\n[clip.\"a.b*\"]\nteleports = [0.5]\n",
    );
    // Dotted among dotted.
    check_edit(
        "motion.loop = \"no\" # c\nriders = \"move\"\n",
        &|f| f.set(Place::Motion("ends"), "rest"),
        "motion.loop = \"no\" # c\nmotion.ends = \"rest\"\nriders = \"move\"\n",
    );
    check_edit(
        "[clip]\nRun.loop = \"no\"\n[[effect]]\ntype = \"floppy\"\n[effect.bones.a]\nrotation = 2\n",
        &|f| f.set(Place::Clip("Walk", "loop"), "no").and_then(|()| f.set(Place::Bone(0, "b"), 3.0)),
        "[clip]\nRun.loop = \"no\"\nWalk.loop = \"no\"\n[[effect]]\ntype = \"floppy\"\nbones.b = 3.0\n[effect.bones.a]\nrotation = 2\n",
    );
    // Between braces.
    check_edit(
        "effect = [{ type = \"floppy\", }]\nclip = { }",
        &|f| f.set(Place::Bone(0, "ear.L"), 2.0).and_then(|()| f.set(Place::Clip("Run", "loop"), "no")),
        "effect = [{ type = \"floppy\", bones.\"ear.L\" = 2.0, }]\nclip = { Run.loop = \"no\" }",
    );
    // Bones without and with their section, and not those of the next effect.
    let effects = "[[effect]]\ntype = \"floppy\"\n[effect.bones]\na = 1\n[[effect]]\ntype = \"floppy\"\n";
    check_edit(effects, &|f| f.set(Place::Bone(0, "b"), 2.0), &effects.replace("a = 1\n", "a = 1\nb = 2.0\n"));
    check_edit(effects, &|f| f.set(Place::Bone(1, "*"), 2.0), &format!("{effects}bones.\"*\" = 2.0\n"));
}

#[test]
fn a_table_over_several_lines_becomes_one_value() {
    for before in [
        "[motion]\n[base]\ntype = \"blend\"\nfactor = 1\n[[effect]]\ntype = \"floppy\"\n",
        "base.type = \"blend\"\nbase.factor = 1\n[motion]\n[[effect]]\ntype = \"floppy\"\n",
    ] {
        let after = "base = \"dqs\"\n[motion]\n[[effect]]\ntype = \"floppy\"\n";
        check_edit(before, &|f| f.set(Place::Base, "dqs"), after);
    }
    check_edit(
        "effect = [{ bones.a.rotation = 1, type = \"floppy\", bones.a.translation = 2 }]",
        &|f| f.set(Place::Bone(0, "a"), 3.0),
        "effect = [{ type = \"floppy\", bones.a = 3.0 }]",
    );
}

#[test]
fn removing_keys_and_effects() {
    check_edit("# a\nbase = \"dqs\" # b\n# c\n", &|f| f.unset(Place::Base), "# a\n# c\n");
    check_edit("base = { type = \"dqs\" }", &|f| f.unset(Place::Base), "");
    check_edit("# a", &|f| f.unset(Place::Clip("x", "loop")), "# a");
    check_edit(
        "clip.x.loop = \"no\"\nclip.y.loop = \"no\"",
        &|f| f.unset(Place::Clip("x", "loop")),
        "clip.y.loop = \"no\"",
    );
    check_edit(
        "effect = [{ gain = 1 # , \n , type = \"floppy\", raw = true, }]",
        &|f| f.unset(Place::Effect(0, "gain")).and_then(|()| f.unset(Place::Effect(0, "raw"))),
        "effect = [{ type = \"floppy\", }]",
    );
    check_edit("motion = { loop = \"no\", }", &|f| f.unset(Place::Motion("loop")), "motion = {}");

    let [one, two, three] = [
        "\n# the tail\n[[effect]]\ntype = \"floppy\" # 1\n\n[effect.bones]\na = 1\n",
        "\n# stays\n\n# 2\n[[effect]]\n# inside\ntype = \"floppy\"\n# end of 2\n",
        "\n[motion]\n[[effect]]\ntype = \"floppy\"\n[clip.x]\n[effect.bones]\nb = 1",
    ];
    check_edit(&[one, two, three].concat(), &|f| f.remove_effect(0), &[two, three].concat());
    check_edit(&[one, two, three].concat(), &|f| f.remove_effect(1), &[one, "\n# stays\n# end of 2\n", three].concat());
    check_edit(&[one, two, three].concat(), &|f| f.remove_effect(2), &[one, two, "\n[motion]\n[clip.x]\n"].concat());
    let list = "effect = [\n { type = \"floppy\" }, # 1\n { type = \"floppy\", gain = 2 },\n]";
    check_edit(list, &|f| f.remove_effect(0), "effect = [ # 1\n { type = \"floppy\", gain = 2 },\n]");
    check_edit(list, &|f| f.remove_effect(1), "effect = [\n { type = \"floppy\" },\n]");
}

#[test]
fn adding_an_effect_and_removing_it_leaves_no_trace() {
    let mut spec = EffectSpec::new("floppy").unwrap();
    check_edit("# a\n", &|f| f.add_effect(&spec), "# a\n\n[[effect]]\ntype = \"floppy\"\n");
    spec.values.set("soft", 0.0).unwrap();
    spec.values.set("rotation", 2.0).unwrap();
    spec.bones = vec![("ear.?".to_owned(), BoneGain { translation: 0.0, rotation: 2.0, ..BoneGain::default() })];
    let centre = BoneGain { centroid: Some(Centroid::Offset(DVec3::Y)), about_point: true, ..BoneGain::default() };
    let moved = BoneGain { centroid: Some(Centroid::At(DVec3::X)), translation: 3.0, ..BoneGain::default() };
    spec.bones.extend([("head".to_owned(), centre), ("jaw".to_owned(), moved)]);
    (spec.gain, spec.raw, spec.map) = (-1.5, true, Some("belly".to_owned()));
    (spec.root, spec.compensate) = (0.5, true);
    let shape = Cone::new(DVec3::Z, DVec3::new(0.0, 1.5, 0.1), 0.7, 0.2).ok();
    spec.cone = Some(ConeSpec { bone: Some("hips".to_owned()), cone: shape, max_length: 0.5, ..ConeSpec::default() });
    spec.keys = vec![("translation".to_owned(), KeyCurve::new(vec![(0.0, 0.1), (0.5, 0.3)]).unwrap())];
    for before in ["version = 1\n", "version = 1\r\n# c\r\n", V1, "version = 1\neffect = [{ type = \"floppy\" }]"] {
        let mut file = RecipeFile::parse(before).unwrap();
        file.add_effect(&spec).unwrap();
        let added = file.recipe().effects.last().unwrap();
        assert_eq!(format!("{added:?}"), format!("{spec:?}"), "{file}");
        assert!(!before.contains('\r') || !file.to_string().replace("\r\n", "").contains('\n'));
        file.remove_effect(file.recipe().effects.len() - 1).unwrap();
        assert_eq!(file.to_string(), before);
    }
    // A keyed gain multiplies the constant one; the file holds their product.
    let mut spec = EffectSpec::new("centrifugal-lift").unwrap();
    spec.gain = 2.0;
    spec.keys = vec![("gain".to_owned(), KeyCurve::new(vec![(0.0, 0.5), (1.0, 3.0)]).unwrap())];
    check_edit(
        "# a\n",
        &|f| f.add_effect(&spec),
        "# a\n\n[[effect]]\ntype = \"centrifugal-lift\"\ngain = [[0.0, 1.0], [1.0, 6.0]]\n",
    );
    let mut file = RecipeFile::parse("version = 1\neffect = []").unwrap();
    file.add_effect(&EffectSpec::new("floppy").unwrap()).unwrap();
    assert_eq!(file.to_string(), "version = 1\neffect = [{ type = \"floppy\" }]");
}

#[test]
fn what_would_not_be_a_recipe_is_refused_and_changes_nothing() {
    let mut file = RecipeFile::parse(V1).unwrap();
    let meaning = format!("{file:?}");
    let message = |result: Result<(), EditError>| result.unwrap_err().to_string();
    assert_eq!(
        message(file.set(Place::Effect(1, "rotation"), 99.0)),
        "effect[1].rotation: 99 is out of range; give -10 to 10 s"
    );
    assert_eq!(
        message(file.set(Place::Effect(0, "rotation"), f64::NAN)),
        "effect[0].rotation: NaN is out of range; give -10 to 10 s"
    );
    assert_eq!(
        message(file.set(Place::Effect(0, "rotaton"), 1.0)),
        "effect[0].rotaton: no such key; did you mean \"rotation\"?"
    );
    assert_eq!(
        message(file.set(Place::Motion("loop"), "perhaps")),
        "motion.loop: \"perhaps\" is not one of the choices; give \"auto\", \"yes\" or \"no\""
    );
    assert!(message(file.unset(Place::Effect(0, "type"))).starts_with("effect[0]: the type of effect is missing"));
    assert_eq!(message(file.set(Place::Bone(3, "a"), 1.0)), "there is no effect 3; the recipe has 3, counted from 0");
    assert_eq!(message(file.remove_effect(9)), "there is no effect 9; the recipe has 3, counted from 0");
    assert_eq!(format!("{file:?}"), meaning);
}

#[test]
fn the_template_lists_everything_and_does_nothing() {
    let text = RecipeFile::template();
    let file = RecipeFile::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(file.recipe().base, BaseSpec::default());
    assert_eq!(file.motion("any"), MotionSettings::default());
    assert_eq!(file.recipe().effects.len(), EFFECTS.len());
    for (spec, effect) in file.recipe().effects.iter().zip(EFFECTS) {
        assert_eq!((spec.effect.name(), spec.gain), (effect.name(), 0.0));
        let default = EffectSpec::of(effect);
        assert_eq!(format!("{:?}", EffectSpec { gain: 1.0, ..spec.clone() }), format!("{default:?}"));
        assert!(text.contains(effect.about()));
        for param in effect.params() {
            let line =
                text.lines().find(|line| line.starts_with(&format!("{} = ", param.name)) && line.contains(param.about));
            let line = line.unwrap_or_else(|| panic!("{} is not listed", param.name));
            if let ParamKind::Number { unit, min, max, .. } = param.kind {
                assert!(line.contains(format!("{min} to {max} {unit}").trim_end()), "{line}");
            }
        }
    }
    assert!(file.recipe().edits.iter().all(|edit| edit.amount.keys() == [(0.0, 0.0)]));
    // So are the other bases, each on its line.
    let others: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let others = others.into_iter().filter(|line| line.starts_with("base = "));
    let others: Vec<BaseSpec> = others
        .map(|line| RecipeFile::parse(&format!("version = 1\n{line}")).unwrap_or_else(|e| panic!("{line}: {e}")))
        .map(|file| file.recipe().base.clone())
        .collect();
    assert_eq!(others.len() + 1, BASES.len());
    for (spec, base) in others.iter().zip(&BASES[1..]) {
        assert_eq!((spec.base, &spec.values), (base, &BaseSpec::of(base).values));
        assert_eq!(spec.map.is_some(), base.mapped.is_some());
        assert!(base.tables.iter().all(|table| !spec.tables.rows(table.key).is_empty()), "{}", base.name);
        assert!(text.contains(base.about) && base.params.iter().all(|param| text.contains(param.about)));
    }
    // What stands in comments is valid as well.
    let example = |line: &str| {
        line.strip_prefix("# ").filter(|line| line.starts_with(['[', '"']) || line.contains(" = ")).map(str::to_owned)
    };
    let live: Vec<String> = text
        .lines()
        .filter(|line| !line.starts_with("# base = "))
        .map(|line| example(line).unwrap_or_else(|| line.to_owned()))
        .collect();
    let live = RecipeFile::parse(&live.join("\n")).unwrap_or_else(|error| panic!("{}\n{error}", live.join("\n")));
    assert_eq!(live.recipe().effects[0].bones.len(), 3);
    assert!(live.recipe().effects.iter().all(|spec| spec.cone.as_ref().is_some_and(|cone| cone.bone.is_some())));
    assert_eq!(live.motion("NAME").teleports, [0.5]);
}

#[test]
fn keys_of_the_base_are_set_one_by_one() {
    let pivot = |f: &mut RecipeFile| f.set(Place::BaseKey("pivot"), true);
    check_edit("base = 'dqs' # b\n", &pivot, "base = { type = 'dqs', pivot = true } # b\n");
    check_edit("base = { type = \"dqs\" }\n", &pivot, "base = { type = \"dqs\", pivot = true }\n");
    check_edit("[base]\ntype = \"dqs\" # b\n", &pivot, "[base]\ntype = \"dqs\" # b\npivot = true\n");
    check_edit("base.type = \"dqs\"\n", &pivot, "base.type = \"dqs\"\nbase.pivot = true\n");
    check_edit(
        "base = { type = \"blend\", factor = 0.5, map = \"m\" }\n",
        &|f| f.set(Place::BaseKey("factor"), 0.25),
        "base = { type = \"blend\", factor = 0.25, map = \"m\" }\n",
    );
    check_edit(
        "base = { type = \"blend\", factor = 0.5 }\n",
        &|f| f.unset(Place::BaseKey("factor")),
        "base = { type = \"blend\" }\n",
    );
    let text = "version = 1\nbase = \"dqs\"\n";
    let mut file = RecipeFile::parse(text).unwrap();
    let error = file.set(Place::BaseKey("pivt"), true).unwrap_err().to_string();
    assert_eq!(error, "base.pivt: no such key; did you mean \"pivot\"?");
    assert_eq!(file.to_string(), text, "nothing has changed");
    // Every parameter and every table of every base.
    for base in BASES {
        let mut file = RecipeFile::default();
        file.set(Place::Base, base.name).unwrap();
        for param in base.params {
            let (literal, value) = match param.kind {
                ParamKind::Number { max, .. } => (sinew::recipe::Literal::from(max), max),
                ParamKind::Switch { default } => ((!default).into(), f64::from(u8::from(!default))),
                ParamKind::Choice { words } => (words[words.len() - 1].into(), (words.len() - 1) as f64),
            };
            file.set(Place::BaseKey(param.name), literal).unwrap();
            assert_eq!(file.recipe().base.values.number(param.name), value, "{file}");
        }
        let whole = file.recipe().base.clone();
        let mut again = RecipeFile::default();
        again.set(Place::Base, &whole).unwrap();
        assert_eq!(again.recipe().base, whole, "{again}");
    }
    let mut file = RecipeFile::parse("version = 1\nbase = \"incremental-rotation\"\n").unwrap();
    file.set(Place::BaseRow("joints", "elbow.L"), 0.25).unwrap();
    assert_eq!(file.recipe().base.tables.rows("joints")[0].1.number(""), Some(0.25), "{file}");
    let error = file.set(Place::BaseRow("joints", "elbow.L"), 2.0).unwrap_err().to_string();
    assert_eq!(error, "base.joints.\"elbow.L\": 2 is out of range; give 0 to 1");
}

/// One word is a paper's exact form; what is said beside it counts.
#[test]
fn a_papers_form_is_one_key() {
    let one = |effect: &str, lines: &str| {
        let text = format!("version = 1\n[[effect]]\ntype = \"{effect}\"\n{lines}\n");
        RecipeFile::parse(&text).map(|file| file.recipe().effects[0].clone())
    };
    for effect in EFFECTS {
        let name = effect.name();
        let Some(paper) = EffectSpec::paper(effect) else {
            let error = one(name, "form = \"paper\"").expect_err("beyond the papers").to_string();
            assert!(error.contains("effect[0].form") && error.contains("does not come from a paper"), "{error}");
            continue;
        };
        assert_eq!(format!("{:?}", one(name, "form = \"paper\"").unwrap()), format!("{paper:?}"));
        assert_eq!(
            format!("{:?}", one(name, "form = \"scale-free\"").unwrap()),
            format!("{:?}", EffectSpec::of(effect))
        );
        assert!(paper.raw && !paper.values.switch("soft"), "{name}");
        for param in effect.params() {
            let value = paper.values.number(param.name);
            match param.name {
                "max_length" => assert!(value >= 1e30, "{name}"),
                "paper_spin" | "paper_indicator" => assert_eq!(value, 1.0, "{name}"),
                other if other.ends_with("filter") => assert_eq!(value, 1.0, "{name}: {other}"),
                _ => {}
            }
        }
        assert!(paper.cone.as_ref().is_none_or(|cone| cone.max_length >= 1e30), "{name}");
        let own = one(name, "form = \"paper\"\nraw = false\nsoft = true\ncone = { max_length = 0.2 }").unwrap();
        assert!(!own.raw && own.values.switch("soft") && own.cone.unwrap().max_length == 0.2, "{name}");
        // Written out it means the same.
        let mut file = RecipeFile::parse("version = 1\n").unwrap();
        file.add_effect(&paper).unwrap();
        let written = RecipeFile::parse(&file.to_string()).unwrap_or_else(|error| panic!("{file}\n{error}"));
        assert_eq!(format!("{:?}", written.recipe().effects[0]), format!("{paper:?}"));
    }
}

#[test]
fn lengths_of_raw_effects_are_in_scene_units() {
    let parse = |lines: &str| {
        RecipeFile::parse(&format!("version = 1\n[[effect]]\ntype = \"floppy\"\n{lines}\n"))
            .map(|file| file.recipe().effects[0].clone())
            .map_err(|error| error.to_string())
    };
    assert_eq!(parse("raw = true\nmax_length = 500").unwrap().values.number("max_length"), 500.0);
    assert_eq!(parse("max_length = 500\nraw = true").unwrap().values.number("max_length"), 500.0);
    assert_eq!(parse("raw = true\ncone = { max_length = 500 }").unwrap().cone.unwrap().max_length, 500.0);
    for (lines, unit) in [
        ("max_length = 500", "0 to 10 × size"),
        ("cone = { max_length = 500 }", "0 to 10 × size"),
        ("raw = true\nmax_length = -1", "scene units"),
        ("raw = true\ncone = { max_length = -1 }", "scene units"),
    ] {
        let error = parse(lines).expect_err(lines);
        assert!(error.contains(unit) && error.contains("max_length"), "{error}");
    }
}

#[test]
fn a_tree_is_a_word_or_bones_with_what_they_follow() {
    use sinew::recipe::HierarchySpec::{Body, Plain, Told};
    let parse = |text: &str| {
        RecipeFile::parse(&format!("version = 1\n{text}"))
            .map(|file| file.recipe().hierarchy.clone())
            .map_err(|error| error.to_string())
    };
    assert_eq!(parse(""), Ok(Body));
    assert_eq!(parse("hierarchy = \"plain\""), Ok(Plain));
    let told = Told(vec![("foot.L".into(), "shin.L".into()), ("eye*".into(), "head".into())]);
    assert_eq!(parse("[hierarchy]\n\"foot.L\" = \"shin.L\"\n\"eye*\" = \"head\""), Ok(told));
    let fault = parse("hierarchy = \"plane\"").unwrap_err();
    assert!(fault.contains("line 2, column 13") && fault.contains("did you mean \"plain\""), "{fault}");
    let fault = parse("[hierarchy]\nfoot.L = \"shin.L\"").unwrap_err();
    assert!(fault.contains("line 3") && fault.contains("\"foot.L\""), "{fault}");
    for (text, place) in [("hierarchy = 3", "line 2, column 13"), ("[hierarchy]\nfoot = 3", "line 3, column 8")] {
        let fault = parse(text).unwrap_err();
        assert!(fault.contains(place) && fault.contains("\"foot.L\" = \"shin.L\""), "{fault}");
    }
    let fault = parse("[hierarchy]\nfoot = \"\"").unwrap_err();
    assert!(fault.contains("name the bone it follows"), "{fault}");
    let mut file = RecipeFile::parse("version = 1\n").unwrap();
    file.set(Place::Follows("foot.L"), "shin.L").unwrap();
    assert_eq!(file.recipe().hierarchy, Told(vec![("foot.L".into(), "shin.L".into())]));
}

/// A bone that is not there is told with where its name stands and the nearest there is.
#[test]
fn a_misspelt_bone_is_told_with_its_place() {
    let subject = crate::common::Subject::zoo("tube:vertices=100,bones=3");
    for (text, place) in [
        ("[hierarchy]\n\"tueb.2\" = \"tube.1\"", "hierarchy"),
        ("[hierarchy]\n\"tube.2\" = \"tueb.1\"", "hierarchy"),
        ("[[effect]]\ntype = \"floppy\"\nbones.\"tueb.2\" = 2.0", "floppy"),
        ("[[edit]]\ntype = \"radial\"\nbones = [\"tueb.2\"]", "edit"),
    ] {
        let file = RecipeFile::parse(&format!("version = 1\n{text}\n")).unwrap_or_else(|error| panic!("{error}"));
        let error = sinew::Stage::new(&subject.rig, file.recipe()).expect_err(text).to_string();
        assert!(error.contains(&format!("({place}); did you mean \"tube.")), "{error}");
    }
}

#[test]
fn a_limit_on_the_sum_is_a_number_or_a_table() {
    let parse = |line: &str| {
        RecipeFile::parse(&format!("version = 1\n{line}\n"))
            .map(|file| file.recipe().max_total)
            .map_err(|error| error.to_string())
    };
    assert_eq!(parse(""), Ok(None));
    assert_eq!(parse("max_total = 0.5"), Ok(Some(TotalLimit { length: 0.5, soft: true })));
    let hard = TotalLimit { length: 0.5, soft: false };
    assert_eq!(parse("max_total = { length = 0.5, soft = false }"), Ok(Some(hard)));
    assert!(parse("max_total = -1").unwrap_err().contains("0 to 10 × size"));
    assert!(parse("max_total = { soft = false }").unwrap_err().contains("add length"));
    assert!(parse("max_total = { length = 1, hard = true }").unwrap_err().contains("hard"));
    assert!(parse("max_strain = 4").unwrap_err().contains("1.01 to 3"));
    let mut file = RecipeFile::parse("version = 1\n").unwrap();
    file.set(Place::MaxTotal, hard).unwrap();
    assert_eq!(file.recipe().max_total, Some(hard));
    file.set(Place::MaxTotal, 0.25).unwrap();
    assert_eq!(file.to_string(), "version = 1\nmax_total = 0.25\n");
}

#[test]
fn parameters_do_not_hide_the_keys_of_every_effect() {
    for effect in EFFECTS {
        for param in effect.params() {
            assert!(
                param.name != "type" && EFFECT_KEYS.iter().all(|key| key.name != param.name),
                "{} of {}",
                param.name,
                effect.name()
            );
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

const COMPACT: &str = "version = 1\nbase.type = \"blend\"\nmotion.loop = \"no\"\nbase.factor = 0.5\nclip = { Run.loop = \"yes\" }\n\
    effect = [{ type = \"floppy\", bones.\"a.b\".rotation = 1 }, # c\n { type = 'floppy', bones = { b = 2, }, }]\n";

/// One per word: what the format is made of.
const SCRAPS: &str = "[ ] [[ ]] { } = . , # \" ' \"\"\" ''' \\u12 é \0 -1e999 nan 1 true 1979-05-27T07:32:00Z 0x7fffffffffffffff \\n \\r\\n \\r \
    \u{feff} version=1\\n effect type \"floppy\" bones motion clip [effect.bones]\\n [[effect]]\\n []\\n [.]\\n";

fn scrap(random: &mut Random) -> String {
    let scraps: Vec<&str> = SCRAPS.split(' ').collect();
    scraps[random.below(scraps.len())].replace("\\n", "\n").replace("\\r", "\r")
}

fn soup(random: &mut Random) -> String {
    let scraps: Vec<String> = (0..1 + random.below(30)).map(|_| scrap(random)).collect();
    format!("version = 1\n{}", scraps.concat())
}

fn mutated(random: &mut Random, text: &str) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(text.len() + 1);
        let until = (at + random.below(12)).min(text.len());
        match random.below(4) {
            0 => drop(text.drain(at..until)),
            1 => drop(text.splice(at..at, scrap(random).chars())),
            2 => {
                let piece: Vec<char> = text[at..until].to_vec();
                let to = random.below(text.len() + 1);
                drop(text.splice(to..to, piece));
            }
            _ => {
                let lines: Vec<String> =
                    text.iter().collect::<String>().split_inclusive('\n').map(str::to_owned).collect();
                let mut lines = if lines.is_empty() { vec![String::new()] } else { lines };
                let (a, b) = (random.below(lines.len()), random.below(lines.len()));
                lines.swap(a, b);
                text = lines.concat().chars().collect();
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn no_text_and_no_edit_panics() {
    let rounds = if std::env::var_os("SINEW_FULL").is_some_and(|full| full == "1") { 400_000 } else { 20_000 };
    let seeds = [V1.to_owned(), V1.replace('\n', "\r\n"), COMPACT.to_owned(), RecipeFile::template()];
    let mut random = Random(7);
    let (mut valid, mut edited) = (0, 0);
    for round in 0..rounds {
        let text = match round % 5 {
            4 => soup(&mut random),
            seed => mutated(&mut random, &seeds[seed]),
        };
        let Ok(mut file) = RecipeFile::parse(&text) else { continue };
        valid += 1;
        assert_eq!(file.to_string(), text);
        let index = random.below(3);
        let gain = random.below(9) as f64;
        let result = match random.below(10) {
            0 => file.set(Place::Base, "rigid").map(|()| assert_eq!(file.recipe().base, based("rigid", &[]))),
            1 => file.unset(Place::Base).map(|()| assert_eq!(file.recipe().base, BaseSpec::default())),
            2 => file.set(Place::Motion("smoothing"), gain / 9.0).map(|()| {
                let overridden = file.clip_patterns().any(|pattern| wildcard(pattern, ""));
                assert!(overridden || file.motion("").smoothing == Smoothing::Box(gain / 9.0), "{text}\n{file}");
            }),
            3 => file
                .set(Place::Clip("Run", "loop"), "no")
                .map(|()| assert!(file.clip_patterns().any(|name| name == "Run"))),
            4 => file
                .set(Place::Effect(index, "gain"), gain)
                .map(|()| assert_eq!(file.recipe().effects[index].gain, gain)),
            5 => {
                let gain = BoneGain { translation: gain, rotation: 1.0, ..BoneGain::default() };
                let name = ["tail*", "a.b", "new"][random.below(3)];
                file.set(Place::Bone(index, name), gain).map(|()| {
                    assert!(file.recipe().effects[index].bones.contains(&(name.to_owned(), gain)), "{text}\n{file}")
                })
            }
            6 => file
                .unset(Place::Effect(index, "bones"))
                .map(|()| assert!(file.recipe().effects[index].bones.is_empty())),
            7 => {
                let count = file.recipe().effects.len();
                file.remove_effect(index).map(|()| assert_eq!(file.recipe().effects.len(), count - 1))
            }
            8 => {
                let cone = ConeSpec { gain, ..ConeSpec::default() };
                file.set(Place::Effect(index, "cone"), &cone)
                    .map(|()| assert_eq!(file.recipe().effects[index].cone, Some(cone)))
            }
            _ => file.add_effect(&EffectSpec::new("floppy").unwrap()),
        };
        match result {
            Ok(()) => edited += 1,
            Err(EditError::NoSuchEffect { .. } | EditError::NoSuchCorrection { .. } | EditError::NoSuchEdit { .. }) => {
            }
            Err(EditError::Refused(error)) => panic!("refused: {error}\n{text}"),
        }
    }
    assert!(
        valid > rounds / 10 && edited > valid / 2,
        "{valid} of {rounds} valid, {edited} edited: the seeds are worn"
    );
}

#[test]
fn nesting_without_end_is_refused() {
    for depth in [100, 1_000, 50_000] {
        let repeat = |piece: &str| piece.repeat(depth);
        for bomb in [
            format!("maps = {}", repeat("[")),
            format!("maps = {}{}", repeat("["), repeat("]")),
            format!("base = {}1{}", repeat("{a="), repeat("}")),
            format!("base = {}", repeat("{a=[")),
            format!("{}a = 1", repeat("a.")),
            format!("[{}a]", repeat("a.")),
            format!("[[{}a]]", repeat("a.")),
            repeat("[[effect]]\n[effect.bones.a]\n"),
        ] {
            let error = RecipeFile::parse(&format!("version = 1\n{bomb}")).unwrap_err();
            assert!(error.to_string().len() < 2_000);
        }
    }
}

#[test]
fn bases_that_hang_and_edits_are_read_and_written_back() {
    let text = r#"
version = 1
[base]
type = "incremental-rotation"
influence = 0.3
keep_distance = false
attach = "planar"
smoothing = 2
joints."elbow*" = 0.1
dividers."arm.L" = { turn = [0, 0, 20], shift = 0.1 }

[[correction]]
type = "springs"
until = "energy"
stiffness."belly*" = 0.5
stiffness."tail" = { torsion = 2.0 }
maps.torsion = "soft"

[[edit]]
type = "shape"
shape = [[0.0, ""], [0.5, "biceps"]]
drive = "springs"
stiffness = 10

[[edit]]
type = "radial"
profile = "linear"
amount = [[0.0, 0.0], [1.0, 0.4]]
bones = ["arm*"]

[[edit]]
type = "wave"
along = [[0, 0, 0], [0, 1, 0]]
"#;
    let file = RecipeFile::parse(text).unwrap();
    let recipe = file.recipe();
    let BaseSpec { base, values, tables, .. } = &recipe.base;
    assert_eq!((base.name, values.word("attach")), ("incremental-rotation", "planar"));
    assert_eq!((values.number("influence"), values.switch("keep_distance")), (0.3, false));
    assert_eq!(values.number("smoothing"), 2.0);
    assert_eq!(tables.rows("joints"), [("elbow*".to_owned(), Row::one(Cell::Number(0.1)))]);
    let divider = &tables.rows("dividers")[0].1;
    assert_eq!((divider.numbers("turn"), divider.number("shift")), (Some([0.0, 0.0, 20.0]), Some(0.1)));
    let springs = &recipe.corrections[0];
    assert_eq!(springs.values.word("until"), "energy");
    let factors = springs.tables.rows("stiffness");
    assert_eq!((factors[0].1.cells().len(), factors[0].1.number("bone")), (5, Some(0.5)));
    assert_eq!(factors[1].1, Row::of([("torsion", Cell::Number(2.0))]));
    assert_eq!(springs.painted, [("torsion", "soft".to_owned())]);
    assert_eq!(recipe.edits.len(), 3);
    assert_eq!(recipe.edits[1].amount.at(0.5), 0.2);
    // What is written back means the same.
    let mut again = RecipeFile::default();
    again.set(Place::Base, &recipe.base).unwrap();
    again.add_correction(springs).unwrap();
    recipe.edits.iter().for_each(|edit| again.add_edit(edit).unwrap());
    assert_eq!(again.recipe().base, recipe.base);
    assert_eq!(again.recipe().edits, recipe.edits);
    assert_eq!(again.recipe().corrections[0].tables, springs.tables, "{again}");
    again.set(Place::Edit(1, "amount"), 0.7).unwrap();
    assert_eq!(again.recipe().edits[1].amount.at(0.0), 0.7);
    again.remove_edit(0).unwrap();
    assert_eq!(again.remove_edit(2), Err(EditError::NoSuchEdit { index: 2, count: 2 }));
    for base in [based("centres-of-rotation", &[]), based("stretchable-twistable", &[("share", 0.25)])] {
        again.set(Place::Base, &base).unwrap();
        assert_eq!(again.recipe().base, base);
    }
    for (fault, words) in [
        ("[[edit]]\namount = 1", "the type of edit is missing"),
        ("[[edit]]\ntype = \"wave\"", "the stroke that the wave runs along is missing"),
        ("[[edit]]\ntype = \"radial\"\nshape = \"a\"", "no such key"),
        ("[[edit]]\ntype = \"shape\"\nshape = [[0.5, \"a\"], [0.5, \"b\"]]", "0.5"),
        ("[[correction]]\ntype = \"volume\"\nmaps.torsion = \"a\"", "maps"),
        ("base = { type = \"incremental-rotation\", smoothing = 10 }", "10 is out of range"),
    ] {
        let error = RecipeFile::parse(&format!("version = 1\n{fault}")).unwrap_err().to_string();
        assert!(error.contains(words), "{fault}: {error}");
    }
}
