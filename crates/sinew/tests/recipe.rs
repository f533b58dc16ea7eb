//! Recipe files: meaning, faults, edits, the template.

use sinew::recipe::{BaseSpec, BoneGain, RecipeFile, Riders};
use sinew::{Ends, Looping, MotionSettings, Smoothing, Travel};

const V1: &str = include_str!("recipes/v1.sinew.toml");

#[test]
fn version_1_means_what_it_says() {
    let file = RecipeFile::parse(V1).unwrap();
    let recipe = file.recipe();
    assert_eq!(recipe.base, BaseSpec::Blend { factor: 0.25, map: Some("twist".into()), pivot: true });
    assert_eq!(recipe.riders, Riders::Still);
    assert_eq!(file.maps(), ["belly.map.json", "maps/twist.map.json"]);

    let [first, second] = recipe.effects.as_slice() else { panic!("two effects") };
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
    let gain = |translation, rotation| BoneGain { translation, rotation };
    let bones = [("tail*", gain(2.0, 2.0)), ("ear.?", gain(0.0, 1.5)), ("head", gain(1.0, 3.0))];
    assert_eq!(first.bones, bones.map(|(name, gain)| (name.to_owned(), gain)));
    assert_eq!((second.gain, second.raw, &second.map, second.bones.len()), (1.0, false, &None, 0));
    for spec in second.effect.params() {
        assert_eq!(second.values.number(spec.name), spec.default(), "{}", spec.name);
    }

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
    assert_eq!(parsed.recipe().base, BaseSpec::Lbs);
    assert_eq!(parsed.motion("any"), MotionSettings::default());
}

#[test]
fn bases() {
    let base = |text: &str| RecipeFile::parse(&format!("version = 1\n{text}")).unwrap().recipe().base.clone();
    let blend = |factor, map: Option<&str>, pivot| BaseSpec::Blend { factor, map: map.map(str::to_owned), pivot };
    assert_eq!(base("base = \"lbs\""), BaseSpec::Lbs);
    assert_eq!(base("base = \"rigid\""), BaseSpec::Rigid);
    assert_eq!(base("base = \"dqs\""), BaseSpec::Dqs { pivot: false });
    assert_eq!(base("base = \"blend\""), blend(0.5, None, false));
    assert_eq!(base("base = { type = \"dqs\", pivot = true }"), BaseSpec::Dqs { pivot: true });
    assert_eq!(base("[base]\ntype = \"blend\"\nfactor = 1\nmap = \"m\""), blend(1.0, Some("m"), false));
    assert_eq!(base("base.type = \"rigid\""), BaseSpec::Rigid);
}

/// Text after `version = 1`, and the whole message.
const FAULTS: &[(&str, &str)] = &[
    ("base = \"lbs", "line 2, column 12: not valid TOML: "),
    ("riders = \"move\"\nriders = \"move\"", "line 3, column 1: not valid TOML: duplicate key"),
    ("version = 1", "line 2, column 1: not valid TOML: duplicate key"),
    ("bse = \"lbs\"", "line 2, column 1: bse: no such key; did you mean \"base\"?"),
    ("qqq = 1", "line 2, column 1: qqq: no such key; give version, base, riders, maps, motion, clip or effect"),
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
    ("[[effect]]\ngain = 1", "line 2, column 1: effect[0]: the type of effect is missing; add type = \"floppy\""),
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
        "line 4, column 19: effect[0].rotation_filter: 0 is out of range; give 0.001 to 1 γ",
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
        "line 5, column 10: effect[0].bones.tail.gain: no such key; give translation or rotation",
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
    ("base = \"dq\"", "line 2, column 8: base: \"dq\" is not one of the choices; did you mean \"dqs\"?"),
    (
        "base = \"zzzz\"",
        "line 2, column 8: base: \"zzzz\" is not one of the choices; give \"lbs\", \"dqs\", \"blend\" or \"rigid\"",
    ),
    ("base = 1", "line 2, column 8: base: expected \"lbs\", \"dqs\", \"blend\" or \"rigid\", found the number 1"),
    (
        "base = { pivot = true }",
        "line 2, column 8: base: the type of base is missing; add type = \"lbs\", \"dqs\", \"blend\" or \"rigid\"",
    ),
    ("base = { type = \"lbs\", pivot = true }", "line 2, column 24: base.pivot: no such key; give type"),
    ("base = { type = \"blend\", factor = 1.5 }", "line 2, column 35: base.factor: 1.5 is out of range; give 0 to 1"),
    ("base = { type = \"blend\", factr = 1 }", "line 2, column 26: base.factr: no such key; did you mean \"factor\"?"),
    ("riders = \"stil\"", "line 2, column 10: riders: \"stil\" is not one of the choices; did you mean \"still\"?"),
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
    ("maps = ['C:\\a']", "line 2, column 9: maps[0]: \"C:\\a\" is not beside the recipe"),
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
    for (text, expected) in FAULTS {
        let message = RecipeFile::parse(&format!("version = 1\n{text}")).expect_err(text).to_string();
        let whole = !(expected.ends_with("TOML: ") || expected.ends_with("beside the recipe"));
        assert!(
            if whole { message == *expected } else { message.starts_with(expected) },
            "{text}\n{message}\n{expected}"
        );
    }
}

#[test]
fn versions() {
    for (text, expected) in [
        ("", "line 1, column 1: version: the recipe does not tell its version; add \"version = 1\" as its first line"),
        (
            "nonsense = 1\n[motion]\nversion = 1",
            "line 1, column 1: version: the recipe does not tell its version; add \"version = 1\" as its first line",
        ),
        (
            "future = 1\nversion = 7",
            "line 2, column 11: version: this recipe needs version 7 of the recipe format, this program knows up to \
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
