//! The window as a person sees it: every panel on every built-in character, at the size of a laptop's screen. Screens are
//! written to `target/tmp/studio`.

mod drawing;

use eframe::egui;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use sinew_render::{Image, Size, encode};
use sinew_studio::portrait::Subject;
use sinew_studio::shell::gizmo;
use sinew_studio::shell::studio::Studio;
use std::path::PathBuf;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn window(studio: Studio) -> Harness<'static, Studio> {
    Harness::builder()
        .with_size([1280.0, 720.0])
        .with_max_steps(4)
        .with_accessibility_check(false)
        .build_ui_state(|ui, studio: &mut Studio| studio.show(ui), studio)
}

/// Steps until something is so; jobs run on threads of their own.
fn until(harness: &mut Harness<'_, Studio>, what: &str, mut is_so: impl FnMut(&Studio) -> bool) -> Outcome {
    let start = Instant::now();
    while !is_so(harness.state()) {
        if start.elapsed() > Duration::from_secs(240) {
            return Err(format!("waited in vain: {what}").into());
        }
        harness.step();
        std::thread::sleep(Duration::from_millis(10));
    }
    harness.step();
    Ok(())
}

fn open(name: &str) -> Result<Harness<'static, Studio>, Box<dyn std::error::Error>> {
    open_by(|studio, context| studio.open_built_in(name, context))
}

fn open_by(
    open: impl FnOnce(&mut Studio, &egui::Context),
) -> Result<Harness<'static, Studio>, Box<dyn std::error::Error>> {
    let mut harness = window(Studio::new(None, None));
    harness.step();
    let context = harness.ctx.clone();
    open(harness.state_mut(), &context);
    until(&mut harness, "the character", |studio| studio.desk().is_some())?;
    if let Some(desk) = harness.state_mut().desk_mut() {
        desk.is_playing = false;
    }
    Ok(harness)
}

/// Draws a screen where there is something to draw with.
fn screen(harness: &mut Harness<'_, Studio>, name: &str) -> Outcome {
    if std::env::var_os("SINEW_SCREENS").is_none() {
        return Ok(());
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("studio");
    std::fs::create_dir_all(&folder)?;
    let picture = harness.render()?;
    let size = Size::new(picture.width(), picture.height()).ok_or("an empty picture")?;
    let pixels = picture.as_raw().as_chunks::<4>().0.to_vec();
    let image = Image::from_pixels(size, pixels).ok_or("a picture of another size")?;
    encode::write_png(std::fs::File::create(folder.join(format!("{name}.png")))?, &image)?;
    Ok(())
}

fn click(harness: &mut Harness<'_, Studio>, label: &str) {
    harness.get_by_label(label).click();
    harness.run_steps(2);
}

#[test]
fn a_style_is_chosen_painted_undone_and_exported() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = open("calf")?;
    screen(&mut harness, "1-open")?;
    click(&mut harness, "Jelly");
    until(&mut harness, "gains", |studio| {
        studio.desk().is_some_and(|desk| desk.document.recipe().recipe().adds() && !desk.crew.is_busy())
    })?;
    if let Some(desk) = harness.state_mut().desk_mut() {
        desk.time = 0.4;
    }
    harness.run_steps(2);
    screen(&mut harness, "2-jelly")?;
    click(&mut harness, "Effects");
    screen(&mut harness, "3-effects")?;
    click(&mut harness, "Paint");
    click(&mut harness, "New map");
    screen(&mut harness, "4-new-map")?;

    // A line drawn over the body with the pointer.
    let before = harness.state().desk().map(|desk| desk.document.maps()["map-1"].clone()).ok_or("no desk")?;
    let line = [(560.0, 330.0), (600.0, 340.0), (640.0, 350.0), (680.0, 360.0)];
    harness.drag_at(line[0].into());
    harness.step();
    for place in &line[1..] {
        harness.hover_at((*place).into());
        harness.step();
    }
    harness.drop_at(line[3].into());
    harness.run_steps(2);
    screen(&mut harness, "5-painted")?;
    let painted = |harness: &Harness<'_, Studio>| {
        harness.state().desk().map(|desk| desk.document.maps()["map-1"].clone()).unwrap_or_default()
    };
    let after = painted(&harness);
    assert!(after.iter().any(|value| *value > 0.1), "nothing was painted");
    assert_eq!(before.iter().filter(|value| **value != 0.0).count(), 0);
    click(&mut harness, "Undo");
    assert_eq!(painted(&harness), before, "one stroke is one step");
    click(&mut harness, "Redo");
    assert_eq!(painted(&harness), after);

    click(&mut harness, "Export");
    let (recipe, output) = (folder.path().join("calf.sinew.toml"), folder.path().join("out.glb"));
    if let Some(desk) = harness.state_mut().desk_mut() {
        desk.recipe_path = recipe.display().to_string();
        desk.output_path = output.display().to_string();
        desk.change(|document| document.set("map", None, sinew::recipe::Place::Effect(0, "map"), "map-1"));
    }
    harness.run_steps(2);
    let exports: Vec<_> = harness.query_all_by_label("Export").collect();
    exports.last().ok_or("no button")?.click();
    harness.run_steps(2);
    until(&mut harness, "the bake", |studio| studio.desk().is_some_and(|desk| desk.baked.is_some()))?;
    screen(&mut harness, "6-exported")?;
    let desk = harness.state().desk().ok_or("no desk")?;
    assert!(!desk.document.is_unsaved());
    let again = folder.path().join("again.glb");
    let line = desk.document.command(&recipe, &again);
    assert_eq!(sinew_cli::run(line.split(' ').map(Into::into)), 0, "{line}");
    assert!(std::fs::read(&output)? == std::fs::read(&again)?, "{line}");
    Ok(())
}

/// Where joints lie in the picture whose names have a part.
fn bones_in_picture(harness: &Harness<'_, Studio>, part: &str) -> Result<Vec<egui::Pos2>, Box<dyn std::error::Error>> {
    let pictures = harness.query_all_by_label("Sinew Studio").map(|node| node.rect());
    let rect = pictures.max_by(|a, b| a.area().total_cmp(&b.area())).ok_or("no picture")?;
    let desk = harness.state().desk().ok_or("no desk")?;
    let size = Size::new(rect.width() as u32, rect.height() as u32).ok_or("no picture")?;
    let projector = desk.orbit.camera().projector(size);
    let skeleton = desk.document.rig().skeleton();
    let world = desk.player.last().world;
    let joints = skeleton.bones().filter(|&bone| skeleton.name(bone).contains(part));
    let places = joints.filter_map(|bone| projector.project(world.joint_origin(bone)).pixel());
    Ok(places.map(|[x, y]| egui::pos2(rect.left() + x as f32, rect.top() + y as f32)).collect())
}

/// Every panel of every built-in character draws, and what it shows stays within the window.
#[test]
fn every_panel_draws() -> Outcome {
    let all: Vec<&str> = sinew_zoo::names().iter().map(|entry| entry.name).collect();
    let full = std::env::var_os("SINEW_FULL").is_some_and(|value| value == "1");
    for name in all.iter().take(if full { all.len() } else { 2 }) {
        let mut harness = open(name)?;
        if let Some(desk) = harness.state_mut().desk_mut() {
            desk.change(|document| document.choose_preset("cartoon"));
            desk.showing.skeleton = true;
        }
        for pane in ["Style", "Effects", "Correct", "Paint", "Draw", "Bones", "Why", "Check", "Export"] {
            let tabs: Vec<_> = harness.query_all_by_label(pane).collect();
            tabs.first().ok_or("no tab")?.click();
            harness.run_steps(2);
            screen(&mut harness, &format!("{name}-{}", pane.to_lowercase()))?;
        }
    }
    Ok(())
}

/// A recipe does not change by being looked at, whatever digits its numbers have.
#[test]
fn looking_changes_nothing() -> Outcome {
    let mut harness = open("calf")?;
    let text = "version = 1\n[[effect]]\ntype = \"floppy\"\ngain = 0.123456789\nrotation = 0.0123456789\n\
                [[effect]]\ntype = \"squash\"\nstrength = \"3.14159 %\"\n\
                [[correction]]\ntype = \"volume\"\ngain = 0.987654321\n";
    if let Some(desk) = harness.state_mut().desk_mut() {
        desk.change(|document| document.replace("by hand", text));
        desk.is_playing = true;
    }
    for pane in ["Style", "Effects", "Correct", "Paint", "Draw", "Bones", "Why", "Check", "Export"] {
        let tabs: Vec<_> = harness.query_all_by_label(pane).collect();
        tabs.first().ok_or("no tab")?.click();
        harness.run_steps(3);
    }
    let desk = harness.state().desk().ok_or("no desk")?;
    assert_eq!(&**desk.document.text(), text);
    assert_eq!(desk.document.history().undoable(), Some("by hand"));
    assert!(desk.is_playing, "time stands still");
    Ok(())
}

#[test]
fn causes_are_told_of_what_is_clicked() -> Outcome {
    let mut harness = open("calf")?;
    if let Some(desk) = harness.state_mut().desk_mut() {
        desk.change(|document| document.choose_preset("jelly"));
        desk.time = 0.4;
    }
    until(&mut harness, "gains", |studio| studio.desk().is_some_and(|desk| !desk.crew.is_busy()))?;
    harness.drag_at([640.0, 370.0].into());
    harness.step();
    harness.drop_at([640.0, 370.0].into());
    harness.run_steps(2);
    click(&mut harness, "Why");
    harness.run_steps(4);
    screen(&mut harness, "7-why")?;
    let desk = harness.state().desk().ok_or("no desk")?;
    assert!(desk.picked.is_some(), "nothing was hit");
    let (_, _, _, why) = desk.why.as_ref().ok_or("nothing was told")?;
    assert!(why.whole > 0.0 && !why.causes.is_empty());
    Ok(())
}

/// What cannot be opened is told, and the window goes on.
#[test]
fn bad_files_are_told() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("bad.glb");
    std::fs::write(&path, b"glTF")?;
    let mut harness = window(Studio::new(None, None));
    harness.step();
    let context = harness.ctx.clone();
    harness.state_mut().open(&path, &context);
    until(&mut harness, "the refusal", |studio| !studio.is_opening())?;
    assert!(harness.query_by_label_contains("bad.glb").is_some());
    assert!(harness.state().desk().is_none());
    Ok(())
}

/// Files as people have them open, and draw.
#[test]
fn documents_open_on_real_files() -> Outcome {
    let full = std::env::var_os("SINEW_FULL").is_some_and(|value| value == "1");
    let names =
        ["Fox", "CesiumMan", "RobotExpressive", "Knight", "Rat", "Cow", "Frog", "Snake", "Spot", "Velociraptor"];
    let mut seen = 0;
    for file in sinew_testkit::assets::assets() {
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if !names.iter().any(|name| stem.contains(name)) || (!full && seen >= 2) {
            continue;
        }
        seen += 1;
        let mut harness = window(Studio::new(None, None));
        harness.step();
        let context = harness.ctx.clone();
        harness.state_mut().open(&file, &context);
        until(&mut harness, "the character", |studio| !studio.is_opening())?;
        assert!(harness.state().desk().is_some(), "{}", file.display());
        harness.run_steps(2);
        screen(&mut harness, &format!("real-{stem}"))?;
    }
    assert!(seen > 0 || sinew_testkit::assets::folder().is_none());
    Ok(())
}

/// Pictures come of themselves while the cards are seen, change nothing, and are made once for each clip.
#[test]
fn cards_show_this_character() -> Outcome {
    let mut harness = open("calf")?;
    until(&mut harness, "the pictures", |studio| studio.desk().is_some_and(|desk| desk.portraits.is_done(0)))?;
    screen(&mut harness, "0-cards")?;
    let desk = harness.state_mut().desk_mut().ok_or("no desk")?;
    for style in sinew_liven::Style::ALL {
        assert!(desk.portraits.look(Subject::Style(style), 0).is_some(), "{style}");
    }
    for preset in sinew::presets::names() {
        assert!(desk.portraits.look(Subject::Preset(preset.name), 0).is_some(), "{}", preset.name);
    }
    assert!(!desk.document.is_unsaved() && desk.document.history().undoable().is_none());
    click(&mut harness, "Jelly");
    let desk = harness.state().desk().ok_or("no desk")?;
    assert_eq!(desk.document.history().undoable(), Some("jelly"));
    assert!(desk.portraits.is_done(0), "pictures of the character do not depend on the document");
    Ok(())
}

/// Before anything is open, built-in characters are seen, and a card opens one.
#[test]
fn built_in_characters_are_seen() -> Outcome {
    let mut harness = window(Studio::new(None, None));
    harness.step();
    let names = sinew_zoo::names();
    until(&mut harness, "the gallery", |studio| names.iter().all(|exhibit| studio.is_seen(exhibit.name)))?;
    screen(&mut harness, "0-welcome")?;
    click(&mut harness, "Calf");
    until(&mut harness, "the calf", |studio| studio.desk().is_some())
}

/// A bone is taken on the picture and shaken: the document is as it was, effects follow, and what is recorded is a clip.
#[test]
fn a_bone_is_shaken_and_recorded() -> Outcome {
    let mut harness = open("calf")?;
    let desk = harness.state_mut().desk_mut().ok_or("no desk")?;
    desk.change(|document| document.choose_preset("jelly"));
    (desk.time, desk.is_playing) = (0.4, false);
    until(&mut harness, "gains", |studio| studio.desk().is_some_and(|desk| !desk.crew.is_busy()))?;
    let revision =
        |harness: &Harness<'_, Studio>| harness.state().desk().map(|desk| desk.document.history().revision());
    let before = revision(&harness);
    click(&mut harness, "Live");
    let head = bones_in_picture(&harness, "head")?.first().copied().ok_or("no head")?;
    let shake = |harness: &mut Harness<'_, Studio>, name: Option<&str>| -> Outcome {
        harness.drag_at(head);
        harness.step();
        for step in 0..24 {
            harness.hover_at(head + egui::vec2(60.0 * (0.6 * step as f32).sin(), -8.0));
            harness.step();
        }
        let desk = harness.state().desk().ok_or("no desk")?;
        let hand = desk.hand.ok_or("nothing is held")?;
        let world = desk.player.last().world;
        let held = world.world_from_bone(hand.grab.bone).transform_point3(hand.grab.held);
        assert!(held.distance(hand.grab.to) < 0.3 * desk.character().size(), "the head is left behind");
        if let Some(name) = name {
            screen(harness, name)?;
        }
        harness.drop_at(head);
        harness.run_steps(4);
        Ok(())
    };
    shake(&mut harness, Some("8-shaken"))?;
    assert_eq!(revision(&harness), before, "the document is left alone");
    assert!(harness.state().desk().is_some_and(|desk| desk.hand.is_none()));
    click(&mut harness, "Record");
    shake(&mut harness, None)?;
    harness.get_by_label_contains("Stop").click();
    harness.run_steps(3);
    let desk = harness.state_mut().desk_mut().ok_or("no desk")?;
    assert_eq!(desk.document.clip_names().last().map(String::as_str), Some("shake 1"));
    assert!(!desk.is_live && desk.player.clip() + 1 == desk.document.clip_count());
    assert!(desk.player.span().length > 0.2, "{:?}", desk.player.span());
    desk.is_playing = false;
    screen(&mut harness, "9-recorded")?;
    click(&mut harness, "Undo");
    let desk = harness.state().desk().ok_or("no desk")?;
    assert!(desk.document.drawn().takes.is_empty() && desk.player.clip() == 0);
    Ok(())
}

/// The centre of a bone's squash is drawn to where the pointer goes, along an axis it stays on it, and undone it is the
/// skin's again.
#[test]
fn a_bones_centre_is_moved_in_the_picture() -> Outcome {
    let mut harness = open("calf")?;
    let desk = harness.state_mut().desk_mut().ok_or("no desk")?;
    let text = "version = 1\n[[effect]]\ntype = \"squash\"\n";
    desk.change(|document| document.replace("squash", text));
    let skeleton = desk.document.rig().skeleton();
    let head = skeleton.bones().find(|&bone| skeleton.name(bone).contains("head"));
    (desk.bone, desk.time, desk.showing.centre) = (head, 0.4, true);
    click(&mut harness, "Bones");
    let seen = |harness: &Harness<'_, Studio>| -> Result<[egui::Pos2; 4], Box<dyn std::error::Error>> {
        let pictures = harness.query_all_by_label("Sinew Studio").map(|node| node.rect());
        let rect = pictures.max_by(|a, b| a.area().total_cmp(&b.area())).ok_or("no picture")?;
        Ok(gizmo::handles(harness.state().desk().ok_or("no desk")?, rect).ok_or("no handles")?)
    };
    let place = |harness: &Harness<'_, Studio>| {
        harness.state().desk().and_then(gizmo::centre).map(|(_, place)| place).ok_or("no centre")
    };
    let drag = |harness: &mut Harness<'_, Studio>, from: egui::Pos2, by: egui::Vec2| {
        harness.drag_at(from);
        harness.step();
        harness.hover_at(from + 0.5 * by);
        harness.step();
        harness.hover_at(from + by);
        harness.step();
        harness.drop_at(from + by);
        harness.run_steps(2);
    };
    let (before, [dot, ..]) = (place(&harness)?, seen(&harness)?);
    screen(&mut harness, "10-centre")?;
    let by = egui::vec2(24.0, -18.0);
    drag(&mut harness, dot, by);
    let [now, ends @ ..] = seen(&harness)?;
    assert!(now.distance(dot + by) < 1.5, "{now:?} for {:?}", dot + by);
    let moved = place(&harness)?;
    drag(&mut harness, ends[1], egui::vec2(6.0, -20.0));
    let along = place(&harness)? - moved;
    assert!(along.y.abs() > 0.0 && along.x.abs().max(along.z.abs()) < 0.01 * along.y.abs(), "{along}");
    screen(&mut harness, "11-centre-moved")?;
    let desk = harness.state().desk().ok_or("no desk")?;
    assert!(desk.document.text().contains("centroid"), "{}", desk.document.text());
    click(&mut harness, "Undo");
    assert!(place(&harness)?.distance(moved) < 1e-12, "one drag is one step");
    click(&mut harness, "Undo");
    assert_eq!(place(&harness)?, before);
    assert_eq!(harness.state().desk().map(|desk| desk.document.text().to_string()).as_deref(), Some(text));
    Ok(())
}
