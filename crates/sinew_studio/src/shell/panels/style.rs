//! Styles made for this character, ready-made recipes, and one slider for how strong.

use crate::jobs::Job;
use crate::portrait::Subject;
use crate::shell::desk::{Desk, Purpose};
use crate::shell::portraits::{card, is_pictured};
use crate::shell::widgets::slider;
use crate::words::style::*;
use eframe::egui;
use sinew::presets;
use sinew::recipe::{Place, Strength};
use sinew_liven::Style;

/// The strongest that the slider offers, in percent of the size.
pub const STRONGEST: f64 = 15.0;

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    strength(ui, desk);
    ui.separator();
    ui.strong(FITTED);
    ui.label(egui::RichText::new(FITTED_TEXT).small());
    let under_way = desk.progress(|purpose| matches!(purpose, Purpose::Style(_)));
    let has_clips = desk.document.clip_count() > 0;
    ui.add_enabled_ui(under_way.is_none() && has_clips, |ui| {
        let cards = Style::ALL.iter().map(|style| (Subject::Style(*style), style.name(), style.about()));
        if let Some(Subject::Style(style)) = gallery(ui, desk, cards) {
            let context = ui.ctx().clone();
            desk.begin(Job::Liven(style, None), Purpose::Style(style), &context);
        }
    });
    if let Some(progress) = under_way {
        ui.horizontal(|ui| {
            ui.spinner();
            ui.label(TRYING);
        });
        if progress.total > 0 {
            ui.add(egui::ProgressBar::new(progress.done as f32 / progress.total as f32).desired_width(220.0));
        }
    }
    for line in &desk.account {
        ui.label(egui::RichText::new(line).small());
    }
    ui.separator();
    ui.strong(READY);
    let cards = presets::names().iter().map(|preset| (Subject::Preset(preset.name), preset.name, preset.about));
    if let Some(Subject::Preset(name)) = gallery(ui, desk, cards) {
        desk.account.clear();
        desk.change(|document| document.choose_preset(name));
    }
    if ui.button(NOTHING).on_hover_text(NOTHING_TIP).clicked() {
        desk.account.clear();
        desk.change(|document| document.restyle(NOTHING, "version = 1\n"));
    }
}

/// Cards side by side, each with a picture of this character; gives the one that was chosen.
fn gallery<'a>(
    ui: &mut egui::Ui,
    desk: &mut Desk,
    cards: impl Iterator<Item = (Subject, &'a str, &'a str)>,
) -> Option<Subject> {
    let moves = !desk.character().asset.clips.is_empty();
    let clip = desk.pictured_clip();
    let mut chosen = None;
    ui.horizontal_wrapped(|ui| {
        let gap = ui.spacing().item_spacing.x;
        let width = ((ui.available_width() - gap) / 2.0 - 1.0).clamp(76.0, 150.0);
        for (subject, name, about) in cards {
            let response = if moves && is_pictured(&subject) {
                let picture = desk.portraits.look(subject, clip);
                card(ui, picture.as_ref(), &title(name), width)
            } else {
                ui.button(title(name))
            };
            if response.on_hover_text(about).clicked() {
                chosen = Some(subject);
            }
        }
    });
    chosen
}

/// A name as a heading has it.
pub fn title(name: &str) -> String {
    let mut text = name.replace('-', " ");
    if let Some(first) = text.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// The strength of the whole recipe, or, where effects have their own, a factor on all of these.
fn strength(ui: &mut egui::Ui, desk: &mut Desk) {
    let recipe = desk.document.recipe().recipe();
    let own: Vec<(usize, f64)> = (recipe.effects.iter().enumerate())
        .filter_map(|(index, effect)| Some((index, effect.strength?.share())))
        .collect();
    let whole = recipe.strength.map(Strength::share);
    let most_own = own.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let Some(held) = whole.or((most_own > 0.0).then_some(most_own)) else {
        return;
    };
    let mut percent = 100.0 * held;
    let bar = slider(&mut percent, 0.0..=STRONGEST).suffix(" %").max_decimals(1).text(STRENGTH);
    let response = ui.add(bar).on_hover_text(STRENGTH_TIP);
    if !desk.player.is_solved(&desk.document) {
        ui.label(egui::RichText::new("…").weak());
    }
    if !response.changed() {
        return;
    }
    let gesture = desk.gesture_of(&response);
    let share = |value: f64| Strength::new((value * 1e4).round() / 1e4);
    desk.change(|document| {
        document.edit(STRENGTH, gesture, |recipe| {
            if whole.is_some() {
                return share(percent / 100.0).map_or(Ok(()), |strength| recipe.set(Place::Strength, strength));
            }
            for (index, held_own) in &own {
                if let Some(strength) = share(held_own * percent / (100.0 * held)) {
                    recipe.set(Place::Effect(*index, "strength"), strength)?;
                }
            }
            Ok(())
        })
    });
}
