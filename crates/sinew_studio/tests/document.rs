//! The document without a window: undone to the bit, saved whole, found again after a crash.

use sinew::maps::RestSurface;
use sinew::recipe::{CorrectionSpec, EffectSpec, Place};
use sinew::registry::EFFECTS;
use sinew_studio::brush::{Brush, Canvas, Falloff, Mode, Reach, SkinPlace, Stroke};
use sinew_studio::character::Character;
use sinew_studio::document::Document;
use sinew_studio::drawn::{Take, TakeTrack};
use sinew_studio::jobs::{Done, Export, Job, Task};
use sinew_studio::pictures::{Kind, Reel};
use sinew_studio::player::Player;
use sinew_studio::{handed, recovery, stored_zip, why, wire};
use std::collections::BTreeMap;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn calf() -> Result<Document, Box<dyn std::error::Error>> {
    Ok(Document::new(Character::built_in("calf")?))
}

fn full() -> bool {
    std::env::var_os("SINEW_FULL").is_some_and(|value| value == "1")
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn bits(document: &Document) -> (String, BTreeMap<String, Vec<u32>>) {
    let maps = document.maps().iter();
    let maps = maps.map(|(name, values)| (name.clone(), values.iter().map(|v| v.to_bits()).collect()));
    (document.text().to_string(), maps.collect())
}

/// What has gone to a worker and back is what it was.
#[test]
fn jobs_go_over_the_wire() -> Outcome {
    let mut document = calf()?;
    document.choose_preset("lively")?;
    document.make_map("belly", Some(document.values_or_zero("x").iter().map(|_| 0.123_456_79).collect()))?;
    document.set("map", None, Place::Effect(0, "map"), "belly")?;
    for job in [Job::Solve, Job::Bake(Export { tolerance: 0.017, ..Export::default() })] {
        let here = Task::new(&document, job);
        let text = wire::task_to_text(&here);
        let (kind, name) = wire::source_name(&document.character().source);
        let source = wire::named_source(kind, &name, Vec::new()).ok_or("no source")?;
        let there = wire::task_from_text(Character::reopen(&source)?, &text)?;
        let (text, bytes) = wire::done_to_text(there.run(&|_, _, _| ()));
        let (here, there) = (here.run(&|_, _, _| ()), wire::done_from_text(&text, bytes));
        assert_eq!(format!("{here:?}"), format!("{there:?}"));
        assert!(!matches!(here, Done::Failed(_)), "{here:?}");
    }
    Ok(())
}

/// A character whose buffer lies in a file of its own, as browsers hand it over: without folders.
#[test]
fn files_are_handed_over_together() -> Outcome {
    let calf = sinew_zoo::build("calf")?;
    let glb = sinew_gltf::export(&calf.raw, &calf.clips)?.to_glb()?;
    let length = u32::from_le_bytes(glb[12..16].try_into()?) as usize;
    let mut json: serde_json::Value = serde_json::from_slice(&glb[20..20 + length])?;
    json["buffers"][0]["uri"] = "data%20of/the%20calf.bin".into();
    let binary = glb[20 + length + 8..].to_vec();
    let files = vec![("the calf.bin".to_owned(), binary), ("calf.gltf".to_owned(), serde_json::to_vec(&json)?)];
    let source = handed::character_of(&files).ok_or("no character")?;
    let character = Character::reopen(&source)?;
    assert_eq!(source.title(), "calf");
    assert_eq!(character.asset.rig.vertex_count(), Character::built_in("calf")?.asset.rig.vertex_count());
    assert!(Character::reopen(&handed::character_of(&files[1..]).ok_or("no character")?).is_err());

    let mut document = Document::new(character.clone());
    document.choose_preset("lively")?;
    document.make_map("belly", None)?;
    document.paint("paint", None, "belly", [(3, 0.5)])?;
    let folder = tempfile::tempdir()?;
    let saved = document.save(&folder.path().join("calf.sinew.toml"))?;
    let name = |path: &std::path::PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let read = saved.iter().filter_map(|path| Some((name(path)?, std::fs::read(path).ok()?))).collect::<Vec<_>>();
    let packed = vec![("calf.zip".to_owned(), stored_zip::write(&read).ok_or("too large")?)];
    let read = handed::unpacked(packed);
    let again = handed::recipe_of(character.clone(), &read).ok_or("no recipe")??;
    assert_eq!(bits(&again), bits(&document));
    assert!(handed::recipe_of(character, &read[..1]).ok_or("no recipe")?.is_err());
    Ok(())
}

/// A clip made by hand is exported with the others, as the command exports it that takes it from its own file; and it is
/// there again when the recipe is opened.
#[test]
fn recorded_clips_are_exported() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut document = calf()?;
    document.choose_preset("lively")?;
    let skeleton = document.rig().skeleton();
    let bone = skeleton.bones().find(|&bone| skeleton.name(bone).contains("head")).ok_or("no head")?;
    let times: Vec<f64> = (0..16).map(|key| f64::from(key) / 30.0).collect();
    let turn = |time: &f64| glam::Quat::from_rotation_y((0.5 * (9.0 * time).sin()) as f32).to_array();
    let rotation = Some(times.iter().map(turn).collect());
    let tracks = vec![TakeTrack { node: skeleton.node(bone), rotation, ..TakeTrack::default() }];
    document.add_take(Take { name: "nod".to_owned(), times, tracks })?;
    assert!(document.add_take(document.drawn().takes[0].clone()).is_err(), "two clips of one name");
    let recipe = folder.path().join("calf.sinew.toml");
    let saved = document.save(&recipe)?;
    assert!(saved.iter().any(|path| path.ends_with("calf.takes.glb")), "{saved:?}");
    let Done::Baked(baked) = Task::new(&document, Job::Bake(Export::default())).run(&|_, _, _| ()) else {
        return Err("not baked".into());
    };
    let output = folder.path().join("out.glb");
    let line = document.command(&recipe, &output);
    assert_eq!(sinew_cli::run(line.split(' ').map(Into::into)), 0, "{line}");
    assert!(baked.bytes == std::fs::read(&output)?, "{line}");
    let exported = sinew_gltf::Asset::open(&output)?;
    assert_eq!(exported.clips.last().map(|clip| clip.name.as_str()), Some("nod"));
    let again = Document::open_recipe(Character::built_in("calf")?, &recipe)?;
    assert_eq!(again.drawn(), document.drawn());
    let names: Vec<_> = saved.iter().map(|path| path.display().to_string()).map(|name| (name, Vec::new())).collect();
    assert!(handed::character_of(&names).is_none(), "clips are no character");
    Ok(())
}

/// Stills and films are those of the command whose line is shown.
#[test]
fn pictures_are_those_of_the_command() -> Outcome {
    let folder = tempfile::tempdir()?;
    let calf = sinew_zoo::build("calf")?;
    let file = folder.path().join("calf.glb");
    std::fs::write(&file, sinew_gltf::export(&calf.raw, &calf.clips)?.to_glb()?)?;
    let mut document = Document::new(Character::open(&file)?);
    document.choose_preset("lively")?;
    let recipe = folder.path().join("calf.sinew.toml");
    document.save(&recipe)?;
    let still = Reel {
        kind: Kind::Still,
        clip: 0,
        time: 0.4,
        view: [33.5, 12.0],
        size: [160, 120],
        fps: 6.0,
        ghost: true,
        skeleton: true,
        wire: false,
    };
    let all = [still, Reel { kind: Kind::Gif, ghost: false, ..still }, Reel { kind: Kind::Apng, wire: true, ..still }];
    for reel in all {
        let Done::Pictured(bytes) = Task::reel(&document, reel).run(&|_, _, _| ()) else {
            return Err(format!("{reel:?}: nothing was drawn").into());
        };
        let output = folder.path().join(format!("out.{}", reel.kind.extension()));
        let line = reel.command(&document, &recipe, &output);
        assert_eq!(sinew_cli::run(line.split(' ').map(Into::into)), 0, "{line}");
        assert!(bytes == std::fs::read(&output)?, "{line}");
    }
    Ok(())
}

/// Styles come and go, what was drawn on the character stays.
#[test]
fn styles_leave_edits_alone() -> Outcome {
    use sinew::correct::surface_edit::Profile;
    use sinew::recipe::{EditShape, EditSpec};
    let mut document = calf()?;
    document.edit("edit", None, |recipe| recipe.add_edit(&EditSpec::new(EditShape::Radial(Profile::SineInOut))))?;
    let edits = document.recipe().recipe().edits.clone();
    document.choose_preset("cartoon")?;
    document.choose_preset("jelly")?;
    assert_eq!(document.recipe().recipe().edits, edits);
    document.undo();
    document.undo();
    assert_eq!(document.recipe().recipe().edits, edits);
    Ok(())
}

fn random_action(document: &mut Document, dice: &mut Dice, canvas: &mut Canvas) {
    let effects = document.recipe().recipe().effects.len();
    let names: Vec<String> = document.maps().keys().cloned().collect();
    // What is refused leaves the document as it was, which is checked like everything else.
    match dice.below(12) {
        0 => drop(document.choose_preset(["lively", "cartoon", "jelly"][dice.below(3)])),
        1 => drop(EffectSpec::new(EFFECTS[dice.below(EFFECTS.len())].name()).map(|e| document.add_effect(&e))),
        2 => drop(document.edit("remove", None, |recipe| recipe.remove_effect(dice.below(effects + 1)))),
        3 | 4 => {
            let gesture = Some(document.gesture());
            for _ in 0..1 + dice.below(5) {
                let place = Place::Effect(dice.below(effects.max(1)), "gain");
                drop(document.set("gain", gesture, place, dice.share() * 3.0));
            }
        }
        5 => drop(document.make_map(["belly", "tail", "soft"][dice.below(3)], None)),
        6 => drop(names.first().map(|name| document.delete_map(name))),
        7 => drop(names.first().map(|name| document.set("map", None, Place::Effect(0, "map"), name.as_str()))),
        8 => drop(CorrectionSpec::new("volume").map(|c| document.add_correction(&c))),
        9 => _ = document.undo(),
        10 => _ = document.redo(),
        _ => {
            let Some(name) = names.get(dice.below(names.len())) else { return };
            stroke(document, name, dice, canvas);
        }
    }
}

fn stroke(document: &mut Document, name: &str, dice: &mut Dice, canvas: &mut Canvas) {
    let brush = Brush {
        mode: [Mode::Add, Mode::Subtract, Mode::Smooth, Mode::Erase][dice.below(4)],
        radius: 0.02 + 0.1 * dice.share(),
        strength: dice.share(),
        falloff: [Falloff::Smooth, Falloff::Linear, Falloff::Hard][dice.below(3)],
        reach: [Reach::Skin, Reach::Ball][dice.below(2)],
        mirror: dice.below(4) == 0,
        bone: None,
    };
    let triangles = document.rig().point_triangles().to_vec();
    let gesture = Some(document.gesture());
    let mut stroke = Stroke::new(brush, &document.maps()[name]);
    for _ in 0..1 + dice.below(4) {
        let slots = triangles[dice.below(triangles.len())];
        let place = SkinPlace { slots, shares: [0.2, 0.3, 0.5] };
        let changed = stroke.to(canvas, place, dice.share());
        drop(document.paint("paint", gesture, name, changed));
    }
}

#[test]
fn random_actions_are_undone_to_the_bit() -> Outcome {
    let (rounds, actions) = if full() { (10, 2000) } else { (2, 300) };
    for round in 0..rounds {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (round + 1));
        let mut document = calf()?;
        let mut canvas = Canvas::new(document.rig());
        let start = bits(&document);
        let mut seen = Vec::new();
        for _ in 0..actions {
            random_action(&mut document, &mut dice, &mut canvas);
        }
        while document.undo() {
            seen.push(bits(&document));
        }
        assert_eq!(bits(&document), start);
        assert!(!document.is_unsaved());
        // And forward again over the same states.
        seen.pop();
        while let Some(state) = seen.pop() {
            assert!(document.redo());
            assert_eq!(bits(&document), state);
        }
    }
    Ok(())
}

#[test]
fn random_strokes_are_undone_to_the_bit() -> Outcome {
    let strokes = if full() { 5000 } else { 300 };
    let mut document = calf()?;
    let mut canvas = Canvas::new(document.rig());
    document.make_map("soft", None)?;
    let start = bits(&document);
    let mut dice = Dice(77);
    for _ in 0..strokes {
        stroke(&mut document, "soft", &mut dice, &mut canvas);
        assert!(document.maps()["soft"].iter().all(|value| (-1.0..=1.0).contains(value)));
    }
    assert_ne!(bits(&document), start);
    while document.history().undoable() != Some("New map soft") {
        assert!(document.undo());
    }
    assert_eq!(bits(&document), start);
    Ok(())
}

/// How often the pointer is asked changes nothing where the path is the same; and a dab reaches as far as its radius.
#[test]
fn dabs_reach_as_far_as_they_say() -> Outcome {
    let document = calf()?;
    let rig = document.rig();
    let surface = RestSurface::new(rig);
    let size = rig.characters()[0].size;
    let mut canvas = Canvas::new(rig);
    let slots = rig.point_triangles()[100];
    let place = SkinPlace { slots, shares: [1.0, 0.0, 0.0] };
    let center = surface.points()[slots[0] as usize];
    let brush = Brush { reach: Reach::Ball, strength: 1.0, radius: 0.1, falloff: Falloff::Linear, ..Brush::default() };
    let zero = vec![0.0; rig.slots()];
    let painted: BTreeMap<usize, f32> = Stroke::new(brush, &zero).to(&mut canvas, place, 1.0).into_iter().collect();
    for slot in surface.all_slots() {
        let wanted = (1.0 - surface.points()[slot].distance(center) / (0.1 * size)).max(0.0);
        let found = f64::from(painted.get(&slot).copied().unwrap_or(0.0));
        assert!((wanted - found).abs() < 1e-5, "{slot}: {wanted} {found}");
    }
    let along = Brush { reach: Reach::Skin, ..brush };
    let skin = Stroke::new(along, &zero).to(&mut canvas, place, 1.0);
    assert!(skin.len() <= painted.len() && !skin.is_empty());
    // The way along the skin is never shorter than the straight one.
    assert!(skin.iter().all(|(slot, value)| *value <= painted[slot] + 1e-5));
    Ok(())
}

#[test]
fn a_mirrored_dab_paints_both_sides() -> Outcome {
    let document = calf()?;
    let rig = document.rig();
    let surface = RestSurface::new(rig);
    let mut canvas = Canvas::new(rig);
    let (slot, _) = (surface.all_slots().map(|slot| (slot, surface.points()[slot].x)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .ok_or("no points")?;
    let place = SkinPlace { slots: [slot as u32; 3], shares: [1.0, 0.0, 0.0] };
    let brush = Brush { mirror: true, ..Brush::default() };
    let painted = Stroke::new(brush, &vec![0.0; rig.slots()]).to(&mut canvas, place, 1.0);
    let sum = |side: f64| -> f32 {
        painted.iter().filter(|(slot, _)| surface.points()[*slot].x * side > 0.0).map(|(_, value)| value).sum()
    };
    assert!(sum(1.0) > 0.0 && (sum(-1.0) / sum(1.0) - 1.0).abs() < 0.05, "{} {}", sum(1.0), sum(-1.0));
    Ok(())
}

/// The player follows every change to the bit as a fresh one plays.
#[test]
fn following_is_playing_anew() -> Outcome {
    let mut document = calf()?;
    let mut canvas = Canvas::new(document.rig());
    let mut player = Player::new(&document, 0)?;
    let mut dice = Dice(5);
    let steps = if full() { 400 } else { 60 };
    for _ in 0..steps {
        random_action(&mut document, &mut dice, &mut canvas);
        if player.follow(&document).is_err() {
            // A recipe that names a map which is gone cannot be played, by either.
            assert!(Player::new(&document, 0).is_err());
            document.undo();
            player.follow(&document)?;
        }
        let time = 2.0 * dice.share();
        let here = player.frame(time).result.positions.clone();
        let mut fresh = Player::new(&document, 0)?;
        assert_eq!(here, fresh.frame(time).result.positions);
    }
    Ok(())
}

/// A deleted map is named nowhere; one that something is made of stays.
#[test]
fn deleted_maps_leave_no_names() -> Outcome {
    let mut document = calf()?;
    document.make_map("soft", None)?;
    let text = "version = 1\nbase = { type = \"blend\", factor = 0.5, map = \"soft\" }\n\
                [[effect]]\ntype = \"floppy\"\nmap = \"soft\"\n[[correction]]\ntype = \"volume\"\nmap = \"soft\"\n";
    document.replace("by hand", text)?;
    Player::new(&document, 0)?.follow(&document)?;
    let before = bits(&document);
    document.delete_map("soft")?;
    assert!(!document.text().contains("soft"), "{}", document.text());
    Player::new(&document, 0)?;
    document.undo();
    assert_eq!(bits(&document), before);
    document.replace("by hand", "version = 1\n[[correction]]\ntype = \"springs\"\nmaps = { torsion = \"soft\" }\n")?;
    let refused = document.delete_map("soft").map_err(|error| error.to_string());
    assert!(refused.is_err_and(|words| words.contains("springs")));
    assert!(document.maps().contains_key("soft"));
    Ok(())
}

/// What is exported is what the command bakes of the saved recipe, byte for byte; opened again it plays the same.
#[test]
fn saved_files_say_the_same() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut document = calf()?;
    document.choose_preset("jelly")?;
    document.make_map("belly", None)?;
    let mut canvas = Canvas::new(document.rig());
    let mut dice = Dice(9);
    for _ in 0..8 {
        stroke(&mut document, "belly", &mut dice, &mut canvas);
    }
    document.set("map", None, Place::Effect(0, "map"), "belly")?;
    let path = folder.path().join("calf.sinew.toml");
    let written = document.save(&path)?;
    assert!(written.len() >= 2 && !document.is_unsaved());
    let again = Document::open_recipe(document.character().clone(), &path)?;
    assert_eq!(bits(&again), bits(&document));

    let Done::Baked(baked) = Task::new(&document, Job::Bake(Export::default())).run(&|_, _, _| ()) else {
        return Err("not baked".into());
    };
    let out = folder.path().join("calf.glb");
    let line = document.command(&path, &out);
    let status = sinew_cli::run(line.split(' ').map(Into::into));
    assert_eq!(status, 0, "{line}");
    assert!(std::fs::read(&out)? == baked.bytes, "{line}");
    Ok(())
}

#[test]
fn foreign_maps_are_left_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut document = calf()?;
    document.make_map("belly", None)?;
    let node = document.map_files()?[0].node();
    let foreign = folder.path().join(format!("calf.belly.{node}.0.map.json"));
    std::fs::write(&foreign, "mine")?;
    assert!(document.save(&folder.path().join("calf.sinew.toml")).is_err());
    assert_eq!(std::fs::read_to_string(&foreign)?, "mine");
    assert!(!folder.path().join("calf.sinew.toml").exists());
    Ok(())
}

#[test]
fn what_a_crash_leaves_is_found_again() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut document = calf()?;
    document.choose_preset("lively")?;
    document.make_map("tail", None)?;
    let mut canvas = Canvas::new(document.rig());
    stroke(&mut document, "tail", &mut Dice(3), &mut canvas);
    let text = recovery::to_text(&document)?;
    // Of a process that is no more.
    std::fs::write(folder.path().join("4294967295.recovery"), text)?;
    std::fs::write(folder.path().join("1234.recovery"), "torn")?;
    let left = recovery::left(folder.path());
    assert_eq!(left.len(), 1);
    assert_eq!(bits(&left[0].restore()?), bits(&document));
    left[0].discard();
    assert!(recovery::left(folder.path()).is_empty());
    Ok(())
}

/// Causes add up to what is seen where nothing but effects is at work.
#[test]
fn causes_add_up() -> Outcome {
    let mut document = calf()?;
    let text = "version = 1\nrigid = \"none\"\nsewn = \"none\"\ncollide = \"none\"\nplanted = \"none\"\n\
                [[effect]]\ntype = \"floppy\"\ngain = 0.2\n[[effect]]\ntype = \"squash\"\ngain = 0.1\n";
    document.replace("by hand", text)?;
    let player = Player::new(&document, 0)?;
    let vertex = document.rig().vertex_count() / 2;
    let why = why::why(&document, &player, vertex, 0.35)?;
    assert_eq!(why.causes.len(), 2, "{why:?}");
    assert!(why.whole > 0.0 && why.rest < 1e-6 + 0.01 * why.whole, "{why:?}");
    let most = &why.causes[0];
    assert!(!most.bones.is_empty() && most.bones[0].1 > 0.0, "{why:?}");
    Ok(())
}
