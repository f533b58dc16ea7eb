//! Bones as a tree, what each of them is, and the gains that effects have for it.

use crate::shell::desk::Desk;
use crate::shell::panels::style::title;
use crate::shell::widgets::{reset, rounded, slider};
use crate::words::bones::*;
use eframe::egui;
use sinew::recipe::{BoneGain, Place};
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

/// What the last line that matches a bone says.
fn own_gain(lines: &[(String, BoneGain)], name: &str) -> BoneGain {
    let last = lines.iter().rev().find(|(pattern, _)| wildcard(pattern, name));
    last.map_or_else(BoneGain::default, |(_, gain)| *gain)
}

/// Name of a bone.
pub fn name_of(desk: &Desk, bone: BoneId) -> String {
    desk.document.rig().skeleton().name(bone).to_owned()
}
