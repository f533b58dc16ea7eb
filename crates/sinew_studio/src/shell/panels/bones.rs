//! Bones as a tree, what each of them is, and the gains that effects have for it.

use crate::shell::desk::Desk;
use crate::shell::panels::style::title;
use crate::shell::widgets::{reset, rounded, slider};
use crate::words::bones::*;
use eframe::egui;
use sinew::recipe::{BoneGain, HierarchySpec, Place};
use sinew::text::wildcard;
use sinew::{Anatomy, BoneId};
use std::sync::Arc;

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    selected(ui, desk);
    ui.separator();
    ui.add(egui::TextEdit::singleline(&mut desk.bone_filter).hint_text(FILTER).desired_width(f32::INFINITY));
    let character = Arc::clone(desk.character());
    let skeleton = character.asset.rig.skeleton();
    let filter = desk.bone_filter.to_lowercase();
    let rows: Vec<(usize, usize)> = tree(&character.bones.parents)
        .into_iter()
        .filter(|(row, _)| skeleton.name(character.bones.joints[*row]).to_lowercase().contains(&filter))
        .collect();
    let height = ui.text_style_height(&egui::TextStyle::Body) + 4.0;
    egui::ScrollArea::vertical().id_salt("bones").auto_shrink([false, false]).show_rows(
        ui,
        height,
        rows.len(),
        |ui, shown| {
            for (row, depth) in rows[shown].iter().copied() {
                let bone = character.bones.joints[row];
                ui.horizontal(|ui| {
                    ui.add_space(8.0 * depth.min(12) as f32);
                    if ui.selectable_label(desk.bone == Some(bone), skeleton.name(bone)).clicked() {
                        desk.bone = Some(bone);
                        desk.showing.skeleton = true;
                    }
                });
            }
        },
    );
}

/// Rows with their depths, each followed by what hangs on it.
fn tree(parents: &[Option<usize>]) -> Vec<(usize, usize)> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (row, parent) in parents.iter().enumerate().rev() {
        match parent {
            Some(parent) => children[*parent].push(row),
            None => open.push((row, 0)),
        }
    }
    let mut rows = Vec::with_capacity(parents.len());
    while let Some((row, depth)) = open.pop() {
        rows.push((row, depth));
        open.extend(children[row].iter().map(|&child| (child, depth + 1)));
    }
    rows
}

fn selected(ui: &mut egui::Ui, desk: &mut Desk) {
    let Some(bone) = desk.bone else {
        ui.label(NONE);
        return;
    };
    let rig = desk.document.rig().clone();
    let name = rig.skeleton().name(bone).to_owned();
    ui.strong(&name);
    let anatomy = Anatomy::of(&rig);
    let part = anatomy.bone(bone);
    ui.label(format!("{ROLE}: {} ({:.0} %)", part.role, 100.0 * part.confidence))
        .on_hover_text(part.reason.to_string());
    follows(ui, desk, bone);
    let effects = desk.document.recipe().recipe().effects.clone();
    if effects.is_empty() {
        return;
    }
    desk.effect = desk.effect.min(effects.len() - 1);
    egui::ComboBox::from_label(GAIN_OF).selected_text(title(effects[desk.effect].effect.name())).show_index(
        ui,
        &mut desk.effect,
        effects.len(),
        |index| title(effects[index].effect.name()),
    );
    let held = own_gain(&effects[desk.effect].bones, &name);
    let mut gain = held;
    let turns = ui.add(slider(&mut gain.rotation, -2.0..=4.0).max_decimals(2).text(ROTATION));
    let moves = ui.add(slider(&mut gain.translation, -2.0..=4.0).max_decimals(2).text(TRANSLATION));
    let about = ui.checkbox(&mut gain.about_point, ABOUT_POINT);
    let about = about.union(centre(ui, desk, &mut gain));
    let effect = desk.effect;
    for response in [turns, moves, about] {
        if response.changed() {
            let gesture = desk.gesture_of(&response);
            (gain.rotation, gain.translation) = (rounded(gain.rotation, 4.0), rounded(gain.translation, 4.0));
            desk.change(|document| document.set(&format!("Gain of {name}"), gesture, Place::Bone(effect, &name), gain));
        }
    }
    if effects[effect].bones.iter().any(|(pattern, _)| *pattern == name) && reset(ui).clicked() {
        desk.change(|document| document.reset(&format!("Gain of {name}"), Place::Bone(effect, &name)));
    }
}

/// The bone's centre: shown in the picture to be moved, or back where the skin has it.
fn centre(ui: &mut egui::Ui, desk: &mut Desk, gain: &mut BoneGain) -> egui::Response {
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut desk.showing.centre, CENTRE).on_hover_text(CENTRE_TIP);
        let mut response = ui.add_enabled(gain.centroid.is_some(), egui::Button::new(CENTRE_OF_SKIN).small());
        if response.clicked() {
            gain.centroid = None;
            response.mark_changed();
        }
        response
    })
    .inner
}

/// What bones follow: as the body has it, or another one.
fn follows(ui: &mut egui::Ui, desk: &mut Desk, bone: BoneId) {
    let rig = desk.document.rig().clone();
    let skeleton = rig.skeleton();
    let name = skeleton.name(bone);
    let told = match &desk.document.recipe().recipe().hierarchy {
        HierarchySpec::Told(lines) => {
            lines.iter().rev().find(|(pattern, _)| wildcard(pattern, name)).map(|(_, other)| other.clone())
        }
        HierarchySpec::Body | HierarchySpec::Plain => None,
    };
    let shown = told.clone().unwrap_or_else(|| AS_BODY.to_owned());
    let mut chosen: Option<Option<String>> = None;
    egui::ComboBox::from_label(FOLLOWS)
        .selected_text(shown)
        .width(130.0)
        .show_ui(ui, |ui| {
            if ui.selectable_label(told.is_none(), AS_BODY).clicked() {
                chosen = Some(None);
            }
            for &other in desk.character().bones.joints.iter().filter(|other| **other != bone) {
                let other = skeleton.name(other);
                if ui.selectable_label(told.as_deref() == Some(other), other).clicked() {
                    chosen = Some(Some(other.to_owned()));
                }
            }
        })
        .response
        .on_hover_text(FOLLOWS_TIP);
    match chosen {
        Some(Some(other)) => {
            desk.change(|document| {
                document.set(&format!("{FOLLOWS} {other}"), None, Place::Follows(name), other.as_str())
            });
        }
        Some(None) if told.is_some() => {
            desk.change(|document| document.reset(&format!("{FOLLOWS} {AS_BODY}"), Place::Follows(name)));
        }
        _ => {}
    }
}

/// What the last line that matches a bone says.
pub fn own_gain(lines: &[(String, BoneGain)], name: &str) -> BoneGain {
    let last = lines.iter().rev().find(|(pattern, _)| wildcard(pattern, name));
    last.map_or_else(BoneGain::default, |(_, gain)| *gain)
}

/// Name of a bone.
pub fn name_of(desk: &Desk, bone: BoneId) -> String {
    desk.document.rig().skeleton().name(bone).to_owned()
}
