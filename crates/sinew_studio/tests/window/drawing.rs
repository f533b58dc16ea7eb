//! Strokes drawn with the pointer: what they make, that the commands make the same of them, and that they stay editable.

use super::{Outcome, bones_in_picture, click, open_by, screen};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use glam::Quat;
use sinew::{Clip, Curve, DeformedMesh};
use sinew_draw::edits::Edit;
use sinew_draw::pose_strokes::PoseStroke;
use sinew_studio::document::{Document, Values};
use sinew_studio::drawn::{Drawn, posed_clip};
use sinew_studio::shell::desk::{Desk, ONIONS};
use sinew_studio::shell::studio::Studio;
use std::collections::BTreeMap;
use std::path::Path;

/// The calf as a file, so that commands read the same numbers.
fn opened(folder: &Path) -> Result<Window, Box<dyn std::error::Error>> {
    let calf = sinew_zoo::build("calf")?;
    let file = folder.join("calf.glb");
    std::fs::write(&file, sinew_gltf::export(&calf.raw, &calf.clips)?.to_glb()?)?;
    open_by(|studio, context| studio.open(&file, context))
}

type Window = Harness<'static, Studio>;

fn stroke(harness: &mut Window, line: &[(f32, f32)]) {
    harness.drag_at(line[0].into());
    harness.step();
    for place in &line[1..] {
        harness.hover_at((*place).into());
        harness.step();
    }
    harness.drop_at(line[line.len() - 1].into());
    harness.run_steps(2);
}

fn desk(harness: &Window) -> Result<&Desk, &'static str> {
    harness.state().desk().ok_or("no desk")
}

fn mesh(harness: &mut Window) -> Result<DeformedMesh, &'static str> {
    let desk = harness.state_mut().desk_mut().ok_or("no desk")?;
    desk.draw_frame();
    Ok(desk.player.last().result.clone())
}

fn farthest(a: &DeformedMesh, b: &DeformedMesh) -> f32 {
    a.positions.iter().zip(&b.positions).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// All that counts of a document.
fn state(document: &Document) -> (String, BTreeMap<String, Vec<u32>>, Drawn) {
    let bits = |values: &Values| values.iter().map(|value| value.to_bits()).collect();
    let maps = document.maps().iter().map(|(name, values)| (name.clone(), bits(values))).collect();
    (document.text().to_string(), maps, (**document.drawn()).clone())
}

fn at(harness: &mut Window, tool: &str, time: f64) -> Outcome {
    click(harness, "Draw");
    click(harness, tool);
    harness.state_mut().desk_mut().ok_or("no desk")?.time = time;
    harness.run_steps(2);
    Ok(())
}

/// What `sinew edit` makes of the same strokes has the same maps and the same entries.
fn is_as_commanded(document: &Document, folder: &Path) -> Outcome {
    let calf = folder.join("calf.glb");
    let (strokes, recipe) = (folder.join("strokes.json"), folder.join("commanded.sinew.toml"));
    let edits: &Vec<Edit> = &document.drawn().edits;
    std::fs::write(&strokes, serde_json::to_string(&serde_json::json!({ "edits": edits }))?)?;
    let line = format!("sinew edit {} --edit {} -o {} --force", calf.display(), strokes.display(), recipe.display());
    assert_eq!(sinew_cli::run(line.split(' ').map(Into::into)), 0, "{line}");
    let commanded = Document::open_recipe(document.character().clone(), &recipe)?;
    assert_eq!(commanded.recipe().recipe().edits, document.recipe().recipe().edits);
    for (name, values) in document.maps() {
        // A map that is 0 everywhere has no file.
        let theirs = commanded.values_or_zero(name);
        assert!(values.iter().zip(&theirs).all(|(a, b)| a == b), "{name}");
    }
    assert!(commanded.maps().keys().all(|name| document.maps().contains_key(name)));
    Ok(())
}

/// Along the calf's side as the window shows it at first.
const SIDE: [(f32, f32); 4] = [(590.0, 340.0), (620.0, 345.0), (650.0, 347.0), (680.0, 345.0)];

#[test]
fn a_ridge_is_drawn_undone_and_made_by_the_command() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = opened(folder.path())?;
    at(&mut harness, "Bulge", 0.2)?;
    let (fresh, before) = (state(&desk(&harness)?.document), mesh(&mut harness)?);
    stroke(&mut harness, &SIDE);
    screen(&mut harness, "draw-1-bulge")?;
    let after = mesh(&mut harness)?;
    let size = desk(&harness)?.character().size() as f32;
    let moved = farthest(&before, &after) / size;
    assert!((0.01..0.03).contains(&moved), "a ridge of 2 % moves the skin by {moved}");
    let document = &desk(&harness)?.document;
    assert_eq!(document.drawn().edits.len(), 1);
    is_as_commanded(document, folder.path())?;
    let drawn = state(document);
    click(&mut harness, "Undo");
    assert_eq!(state(&desk(&harness)?.document), fresh);
    assert_eq!(farthest(&before, &mesh(&mut harness)?), 0.0);
    click(&mut harness, "Redo");
    assert_eq!(state(&desk(&harness)?.document), drawn);
    assert_eq!(farthest(&after, &mesh(&mut harness)?), 0.0);
    Ok(())
}

#[test]
fn skin_is_pulled_its_knots_are_dragged_and_files_keep_it() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = opened(folder.path())?;
    at(&mut harness, "Pull", 0.2)?;
    let before = mesh(&mut harness)?;
    stroke(&mut harness, &SIDE);
    assert!(desk(&harness)?.drawing.waits(), "one line alone makes nothing");
    screen(&mut harness, "draw-2-region")?;
    stroke(&mut harness, &SIDE.map(|(x, y)| (x, y - 40.0)));
    screen(&mut harness, "draw-3-pulled")?;
    let pulled = mesh(&mut harness)?;
    assert!(farthest(&before, &pulled) > 0.0);
    let once = state(&desk(&harness)?.document);
    is_as_commanded(&desk(&harness)?.document, folder.path())?;

    // A second, overlapping edit is made on what the first has left.
    click(&mut harness, "Groove");
    stroke(&mut harness, &[(600.0, 320.0), (640.0, 330.0), (670.0, 325.0)]);
    assert_eq!(desk(&harness)?.document.drawn().edits.len(), 2);
    let twice = state(&desk(&harness)?.document);
    is_as_commanded(&desk(&harness)?.document, folder.path())?;

    // The first is changed by its last knot; both are made again, as one step.
    let name = desk(&harness)?.document.drawn().edits[0].name.clone();
    click(&mut harness, &name);
    let knot = SIDE[3];
    stroke(&mut harness, &[(knot.0, knot.1 - 40.0), (knot.0 + 4.0, knot.1 - 55.0), (knot.0 + 8.0, knot.1 - 70.0)]);
    screen(&mut harness, "draw-4-knot")?;
    let document = &desk(&harness)?.document;
    assert_ne!(document.drawn().edits[0], twice.2.edits[0], "the knot was not dragged");
    is_as_commanded(document, folder.path())?;
    let changed = state(document);
    let recipe = folder.path().join("calf.sinew.toml");
    harness.state_mut().desk_mut().ok_or("no desk")?.document.save(&recipe)?;
    let opened = Document::open_recipe(desk(&harness)?.character().clone(), &recipe)?;
    assert_eq!(opened.drawn().edits, changed.2.edits);
    assert_eq!(opened.recipe().recipe().edits, desk(&harness)?.document.recipe().recipe().edits);
    let document = &mut harness.state_mut().desk_mut().ok_or("no desk")?.document;
    // What saving has named.
    document.undo();
    document.undo();
    assert_eq!(state(document), twice);
    document.undo();
    assert_eq!(state(document), once);
    Ok(())
}

#[test]
fn the_outline_is_redrawn() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = opened(folder.path())?;
    at(&mut harness, "Outline", 0.2)?;
    harness.state_mut().desk_mut().ok_or("no desk")?.orbit.look_from(sinew_render::View::Side);
    harness.run_steps(2);
    screen(&mut harness, "draw-5-before")?;
    let before = mesh(&mut harness)?;
    stroke(&mut harness, &BACK);
    screen(&mut harness, "draw-6-outline")?;
    assert_eq!(desk(&harness)?.document.drawn().edits.len(), 1);
    assert!(farthest(&before, &mesh(&mut harness)?) > 0.0);
    is_as_commanded(&desk(&harness)?.document, folder.path())
}

/// Over the calf's back, seen from its side.
const BACK: [(f32, f32); 5] = [(590.0, 290.0), (610.0, 278.0), (640.0, 270.0), (670.0, 278.0), (690.0, 290.0)];

/// A slow window sees the end of a stroke and the release in one picture.
#[test]
fn the_end_of_a_stroke_is_not_lost() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = opened(folder.path())?;
    at(&mut harness, "Bulge", 0.2)?;
    harness.drag_at(SIDE[0].into());
    harness.step();
    harness.hover_at(SIDE[1].into());
    harness.step();
    harness.hover_at(SIDE[2].into());
    harness.hover_at(SIDE[3].into());
    harness.drop_at(SIDE[3].into());
    harness.run_steps(3);
    let drawn = desk(&harness)?.document.drawn().clone();
    let points = &drawn.edits.first().ok_or("nothing was drawn")?.from;
    let [first, last] = [&points[0], &points[points.len() - 1]];
    let way = f64::from(SIDE[3].0 - SIDE[0].0);
    assert!((last[0] - first[0] - way).abs() < 0.02 * way, "{points:?}");
    Ok(())
}

#[test]
fn a_wave_runs_and_a_click_draws_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = opened(folder.path())?;
    at(&mut harness, "Wave", 0.2)?;
    stroke(&mut harness, &[SIDE[0], SIDE[0]]);
    assert!(desk(&harness)?.document.drawn().is_empty());
    stroke(&mut harness, &SIDE);
    assert_eq!(desk(&harness)?.document.recipe().recipe().edits.len(), 1);
    is_as_commanded(&desk(&harness)?.document, folder.path())?;
    click(&mut harness, "Remove stroke");
    assert!(desk(&harness)?.document.recipe().recipe().edits.is_empty());
    // Beside the character there is no skin: it is told, and nothing changes.
    stroke(&mut harness, &[(320.0, 600.0), (380.0, 640.0)]);
    assert!(desk(&harness)?.document.drawn().is_empty());
    assert!(harness.query_by_label_contains("does not touch the skin").is_some());
    Ok(())
}

#[test]
fn a_tail_is_posed_about_a_moment() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = opened(folder.path())?;
    at(&mut harness, "Pose", 0.3)?;
    let desk_mut = harness.state_mut().desk_mut().ok_or("no desk")?;
    desk_mut.orbit.look_from(sinew_render::View::Side);
    desk_mut.showing.skeleton = true;
    desk_mut.drawing.options.ease_in = 0.1;
    desk_mut.drawing.options.ease_out = 0.1;
    harness.run_steps(2);
    screen(&mut harness, "draw-7-tail")?;
    let tail: Vec<(f32, f32)> = bones_in_picture(&harness, "tail")?.iter().map(|place| (place.x, place.y)).collect();
    let before = mesh(&mut harness)?;
    stroke(&mut harness, &tail);
    let from = tail[0];
    let lifted: Vec<(f32, f32)> = tail.iter().map(|&(x, y)| (from.0 + (x - from.0), from.1 - (y - from.1))).collect();
    stroke(&mut harness, &lifted);
    screen(&mut harness, "draw-8-posed")?;
    let document = &desk(&harness)?.document;
    let pose = document.drawn().poses.first().ok_or("nothing was posed")?;
    assert!(pose.layer.bones.iter().any(|bone| bone.bone.starts_with("tail")), "{:?}", pose.layer.bones);
    assert!(pose.layer.bones.iter().all(|bone| bone.bone.starts_with("tail")), "{:?}", pose.layer.bones);

    // The command makes the same layer of the same strokes, to the bit.
    let (strokes, layers) = (folder.path().join("pose.json"), folder.path().join("layers.json"));
    let list: &Vec<PoseStroke> = &pose.strokes;
    std::fs::write(&strokes, serde_json::to_string(&serde_json::json!({ "strokes": list }))?)?;
    let posed = folder.path().join("posed.glb");
    let line = format!(
        "sinew pose {} --strokes {} --clip {} --time {} --ease-in 0.1 --ease-out 0.1 --save-layers {} -o {}",
        folder.path().join("calf.glb").display(),
        strokes.display(),
        pose.clip,
        pose.ease.time,
        layers.display(),
        posed.display()
    );
    assert_eq!(sinew_cli::run(line.split(' ').map(Into::into)), 0, "{line}");
    let theirs: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&layers)?)?;
    let ours = serde_json::to_value(vec![&pose.layer])?;
    assert_eq!(theirs["layers"][0]["bones"], ours[0]["bones"]);
    let clip: Clip =
        posed_clip(document.character(), document.drawn(), desk(&harness)?.player.clip()).ok_or("no clip")?;
    let commanded = sinew_gltf::Asset::open(&posed)?;
    let theirs = commanded.clips.iter().find(|other| other.name == clip.name).ok_or("no such clip")?;
    for track in &clip.tracks {
        let other = theirs.tracks.iter().find(|other| other.node == track.node).ok_or("no such track")?;
        let as_in_files = |curve: &Option<Curve<Quat>>| {
            let curve = curve.as_ref()?;
            let keys = curve.times().iter().enumerate();
            Some(keys.map(|(key, &time)| (time as f32, curve.key_value(key))).collect::<Vec<_>>())
        };
        assert!(as_in_files(&track.rotation) == as_in_files(&other.rotation), "node {}", track.node);
    }

    // It is there at its moment, and outside its ease nothing is touched, to the bit.
    assert!(farthest(&before, &mesh(&mut harness)?) > 0.01 * desk(&harness)?.character().size() as f32);
    let ease = desk(&harness)?.document.drawn().poses[0].ease;
    let outside = ease.time + ease.ease_out + 0.1;
    harness.state_mut().desk_mut().ok_or("no desk")?.time = outside;
    let with = mesh(&mut harness)?;
    click(&mut harness, "Undo");
    let without = mesh(&mut harness)?;
    assert_eq!(with.positions, without.positions);
    Ok(())
}

/// A second stroke at the moment of the selected pose becomes part of it, and can be taken off again, to the bit.
#[test]
fn a_pose_is_of_several_strokes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = opened(folder.path())?;
    at(&mut harness, "Pose", 0.3)?;
    harness.state_mut().desk_mut().ok_or("no desk")?.orbit.look_from(sinew_render::View::Side);
    harness.run_steps(2);
    let limb = |harness: &Window, name: &str| -> Result<Vec<(f32, f32)>, Box<dyn std::error::Error>> {
        Ok(bones_in_picture(harness, name)?.iter().map(|place| (place.x, place.y)).collect())
    };
    let turned = |line: &[(f32, f32)], by: f32| -> Vec<(f32, f32)> {
        let (from, (sin, cos)) = (line[0], by.sin_cos());
        let turn = |&(x, y): &(f32, f32)| (x - from.0, y - from.1);
        line.iter().map(turn).map(|(x, y)| (from.0 + cos * x - sin * y, from.1 + sin * x + cos * y)).collect()
    };
    let line = limb(&harness, "tail")?;
    stroke(&mut harness, &line);
    stroke(&mut harness, &turned(&line, 0.5));
    let once = mesh(&mut harness)?;
    let line = limb(&harness, "front.L")?;
    stroke(&mut harness, &line);
    stroke(&mut harness, &turned(&line, 0.4));
    let twice = mesh(&mut harness)?;
    screen(&mut harness, "draw-9-two-strokes")?;
    let drawn = desk(&harness)?.document.drawn().clone();
    assert_eq!((drawn.poses.len(), drawn.poses[0].strokes.len()), (1, 2));
    assert!(farthest(&once, &twice) > 0.01 * desk(&harness)?.character().size() as f32);
    click(&mut harness, "Remove last");
    assert_eq!(desk(&harness)?.document.drawn().poses[0].strokes.len(), 1);
    assert_eq!(mesh(&mut harness)?.positions, once.positions);
    click(&mut harness, "Undo");
    assert_eq!(mesh(&mut harness)?.positions, twice.positions);

    // At another moment a stroke is a pose of its own.
    harness.state_mut().desk_mut().ok_or("no desk")?.time = 0.5;
    harness.run_steps(2);
    let line = limb(&harness, "hind.L")?;
    stroke(&mut harness, &line);
    stroke(&mut harness, &turned(&line, -0.4));
    assert_eq!(desk(&harness)?.document.drawn().poses.len(), 2);
    Ok(())
}

/// Onion skins are the result at their moments, seen while it stands still.
#[test]
fn onion_skins_are_other_moments() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut harness = opened(folder.path())?;
    let desk_mut = harness.state_mut().desk_mut().ok_or("no desk")?;
    desk_mut.change(|document| document.choose_preset("lively"));
    (desk_mut.time, desk_mut.showing.onion) = (0.5, true);
    harness.run_steps(2);
    screen(&mut harness, "onion")?;
    let desk_mut = harness.state_mut().desk_mut().ok_or("no desk")?;
    desk_mut.draw_frame();
    let onions = desk_mut.onions.clone();
    assert_eq!(onions.len(), ONIONS.len());
    for (mesh, (after, ..)) in onions.iter().zip(ONIONS) {
        assert_eq!(mesh.positions, desk_mut.player.frame(0.5 + after).result.positions);
    }
    desk_mut.is_playing = true;
    desk_mut.draw_frame();
    assert!(desk_mut.onions.is_empty());
    Ok(())
}
