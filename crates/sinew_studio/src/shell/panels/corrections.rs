//! The skinning under everything, and what is mended after the effects.

use crate::shell::desk::Desk;
use crate::shell::panels::style::title;
use crate::shell::widgets::{Owner, params, slider};
use crate::words::corrections::*;
use crate::words::effects::{GAIN, GAIN_TIP, REMOVE, REMOVE_TIP};
use eframe::egui;
use sinew::base::BASES;
use sinew::correct::{CORRECTIONS, Measure, Outcome};
use sinew::recipe::{CorrectionSpec, Place};

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    let base = desk.document.recipe().recipe().base.clone();
    egui::ComboBox::from_label(BASE)
        .selected_text(base.base.name)
        .show_ui(ui, |ui| {
            for entry in BASES {
                if ui.selectable_label(entry.name == base.base.name, entry.name).on_hover_text(entry.about).clicked() {
                    desk.change(|document| document.set(BASE, None, Place::Base, entry.name));
                }
            }
        })
        .response
        .on_hover_text(BASE_TIP);
    ui.push_id("base", |ui| params(ui, desk, Owner::Base, &base.values, false));
    ui.separator();
    egui::ComboBox::from_id_salt(ADD).selected_text(ADD).width(220.0).show_ui(ui, |ui| {
        for correction in CORRECTIONS {
            let chosen = ui.selectable_label(false, title(correction.name)).on_hover_text(correction.about).clicked();
            if let (true, Some(spec)) = (chosen, CorrectionSpec::new(correction.name)) {
                desk.change(|document| document.add_correction(&spec));
            }
        }
    });
    let corrections = desk.document.recipe().recipe().corrections.clone();
    if corrections.is_empty() {
        ui.label(NONE);
    }
    for (index, correction) in corrections.iter().enumerate() {
        ui.push_id(index, |ui| one(ui, desk, index, correction));
    }
    state(ui, desk);
}

fn one(ui: &mut egui::Ui, desk: &mut Desk, index: usize, spec: &CorrectionSpec) {
    ui.separator();
    ui.horizontal(|ui| {
        ui.label(egui::RichText::new(title(spec.correction.name)).strong()).on_hover_text(spec.correction.about);
        if ui.small_button(REMOVE).on_hover_text(REMOVE_TIP).clicked() {
            let label = format!("Remove {}", spec.correction.name);
            desk.change(|document| document.edit(&label, None, |recipe| recipe.remove_correction(index)));
        }
    });
    let mut gain = spec.gain;
    let response = ui.add(slider(&mut gain, 0.0..=1.0).max_decimals(3).text(GAIN)).on_hover_text(GAIN_TIP);
    if response.changed() {
        let gesture = desk.gesture_of(&response);
        let gain = (gain * 1e3).round() / 1e3;
        desk.change(|document| document.set(GAIN, gesture, Place::Correction(index, "gain"), gain));
    }
    params(ui, desk, Owner::Correction(index), &spec.values, false);
}

/// What corrections did at this frame: contacts, and the volumes that could not be restored.
fn state(ui: &mut egui::Ui, desk: &Desk) {
    let corrected = &desk.player.last().result.corrected;
    let skeleton = desk.document.rig().skeleton();
    for contact in corrected.contacts.iter().filter(|contact| contact.points > 0) {
        ui.label(format!("{} {CONTACTS}", contact.points));
    }
    for volume in &corrected.volumes {
        let of = match volume.measure {
            Measure::Whole => WHOLE.to_owned(),
            Measure::Segment(bone) => skeleton.name(bone).to_owned(),
        };
        let why = match volume.outcome {
            Outcome::Still | Outcome::Restored | Outcome::Linear | Outcome::NoEstimate => continue,
            Outcome::NothingMayMove => NOTHING_MAY_MOVE,
            Outcome::MoveBound => MOVE_BOUND,
            Outcome::NotReached => NOT_REACHED,
            Outcome::Open => OPEN,
        };
        ui.label(egui::RichText::new(format!("{of}: {why}")).small());
    }
}
