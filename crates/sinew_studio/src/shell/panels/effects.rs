//! Effects with all that they say of themselves.

use crate::shell::desk::Desk;
use crate::shell::panels::style::{STRONGEST, title};
use crate::shell::widgets::{Owner, curve, params, reset, rounded, slider};
use crate::words::effects::*;
use eframe::egui;
use sinew::recipe::{EffectSpec, KeyCurve, Place, Strength};
use sinew::registry::EFFECTS;

/// The largest gain that the slider offers; larger ones can be typed.
const MOST_GAIN: f64 = 4.0;

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    egui::ComboBox::from_id_salt(ADD).selected_text(ADD).width(220.0).show_ui(ui, |ui| {
        for effect in EFFECTS {
            if ui.selectable_label(false, title(effect.name())).on_hover_text(effect.about()).clicked() {
                desk.change(|document| document.add_effect(&EffectSpec::of(effect)));
            }
        }
    });
    let effects = desk.document.recipe().recipe().effects.clone();
    if effects.is_empty() {
        ui.label(NONE);
    }
    for (index, effect) in effects.iter().enumerate() {
        ui.push_id(index, |ui| one(ui, desk, index, effect));
    }
}

fn one(ui: &mut egui::Ui, desk: &mut Desk, index: usize, effect: &EffectSpec) {
    ui.separator();
    ui.horizontal(|ui| {
        let name = egui::RichText::new(title(effect.effect.name())).strong();
        ui.label(name).on_hover_text(effect.effect.about());
        let mut is_solo = desk.solo == Some(index);
        if ui.toggle_value(&mut is_solo, SOLO).on_hover_text(SOLO_TIP).changed() {
            desk.solo = is_solo.then_some(index);
        }
        desk.muted.resize(desk.muted.len().max(index + 1), false);
        ui.toggle_value(&mut desk.muted[index], MUTE).on_hover_text(MUTE_TIP);
        if ui.small_button(REMOVE).on_hover_text(REMOVE_TIP).clicked() {
            desk.change(|document| {
                document.edit(&format!("Remove {}", effect.effect.name()), None, |recipe| recipe.remove_effect(index))
            });
            (desk.solo, desk.muted) = (None, Vec::new());
        }
    });
    if !effect.parts.is_empty() {
        ui.label(egui::RichText::new(effect.parts.join(", ")).small());
    }
    let keyed = effect.keys.iter().find(|(name, _)| name == "gain").map(|(_, curve)| curve.clone());
    match (effect.strength, keyed) {
        (Some(strength), _) => own_strength(ui, desk, index, strength),
        (None, Some(keys)) => keys_of(ui, desk, index, &keys),
        (None, None) => gain(ui, desk, index, effect),
    }
    map(ui, desk, index, effect);
    egui::CollapsingHeader::new(MORE).id_salt(index).show(ui, |ui| {
        params(ui, desk, Owner::Effect(index), &effect.values, effect.raw);
    });
}

fn own_strength(ui: &mut egui::Ui, desk: &mut Desk, index: usize, strength: Strength) {
    use crate::words::style::{STRENGTH, STRENGTH_TIP};
    let mut percent = 100.0 * strength.share();
    let bar = slider(&mut percent, 0.0..=STRONGEST).suffix(" %").max_decimals(1).text(STRENGTH);
    let response = ui.add(bar).on_hover_text(STRENGTH_TIP);
    if response.changed()
        && let Some(strength) = Strength::new((percent * 100.0).round() / 1e4)
    {
        let gesture = desk.gesture_of(&response);
        desk.change(|document| document.set(STRENGTH, gesture, Place::Effect(index, "strength"), strength));
    }
}

fn gain(ui: &mut egui::Ui, desk: &mut Desk, index: usize, effect: &EffectSpec) {
    ui.horizontal(|ui| {
        let mut gain = effect.gain;
        let bar = slider(&mut gain, 0.0..=MOST_GAIN.max(effect.gain)).max_decimals(3).text(GAIN);
        let response = ui.add(bar).on_hover_text(GAIN_TIP);
        if response.changed() {
            let gesture = desk.gesture_of(&response);
            let gain = rounded(gain, MOST_GAIN);
            desk.change(|document| document.set(GAIN, gesture, Place::Effect(index, "gain"), gain));
        }
        if effect.gain != 1.0 && reset(ui).clicked() {
            desk.change(|document| document.reset(GAIN, Place::Effect(index, "gain")));
        }
        if ui.small_button(KEYS).on_hover_text(KEYS_TIP).clicked() {
            let span = desk.player.span();
            let ends = vec![(span.start, effect.gain), (span.start + span.length.max(0.1), effect.gain)];
            if let Some(keys) = KeyCurve::new(ends) {
                desk.change(|document| document.set(KEYS, None, Place::Effect(index, "gain"), &keys));
            }
        }
    });
}

fn keys_of(ui: &mut egui::Ui, desk: &mut Desk, index: usize, keys: &KeyCurve) {
    let span = desk.player.span();
    let ends = [span.start, span.start + span.length.max(0.1)];
    let most = keys.keys().iter().map(|(_, value)| *value).fold(2.0, f64::max);
    if let Some((moved, response)) = curve(ui, keys, ends, most, desk.time) {
        let gesture = desk.gesture_of(&response);
        desk.change(|document| document.set(KEYS, gesture, Place::Effect(index, "gain"), &moved));
    }
    if reset(ui).clicked() {
        desk.change(|document| document.reset(GAIN, Place::Effect(index, "gain")));
    }
}

fn map(ui: &mut egui::Ui, desk: &mut Desk, index: usize, effect: &EffectSpec) {
    let names: Vec<String> = desk.document.map_names().into_iter().map(str::to_owned).collect();
    if names.is_empty() {
        return;
    }
    let held = effect.map.as_deref();
    let shown = held.unwrap_or(NO_MAP);
    egui::ComboBox::from_label(MAP)
        .selected_text(shown)
        .show_ui(ui, |ui| {
            if ui.selectable_label(held.is_none(), NO_MAP).clicked() {
                desk.change(|document| document.reset(MAP, Place::Effect(index, "map")));
            }
            for name in &names {
                if ui.selectable_label(held == Some(name), name).clicked() {
                    desk.change(|document| document.set(MAP, None, Place::Effect(index, "map"), name.as_str()));
                }
            }
        })
        .response
        .on_hover_text(MAP_TIP);
}
