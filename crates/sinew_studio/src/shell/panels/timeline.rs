//! Time: play, scrub, step, speed, clips.

use crate::shell::desk::Desk;
use crate::shell::widgets::slider;
use crate::words::live;
use crate::words::time::*;
use eframe::egui;

/// A step, in seconds.
pub const STEP: f64 = 1.0 / 30.0;

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    let names = desk.document.clip_names();
    if names.is_empty() {
        ui.label(NO_CLIP);
        return;
    }
    ui.horizontal(|ui| {
        // A recorded clip may just have been undone.
        let mut clip = desk.player.clip().min(names.len() - 1);
        let shown = names.get(clip).cloned().unwrap_or_default();
        let chosen = egui::ComboBox::from_id_salt(CLIP).selected_text(shown).width(150.0);
        let response = chosen.show_index(ui, &mut clip, names.len(), |index| names[index].clone());
        if response.changed() {
            desk.choose_clip(clip);
        }
        let takes = desk.document.drawn().takes.len();
        if let Some(name) = names.get(clip).filter(|_| clip + takes >= names.len())
            && ui.button(live::REMOVE).on_hover_text(live::REMOVE_TIP).clicked()
        {
            desk.document.remove_take(name);
        }
        if ui.button(BACK).on_hover_text(STEP_TIP).clicked() {
            step(desk, -STEP);
        }
        let sign = if desk.is_playing { PAUSE } else { PLAY };
        if ui.button(sign).on_hover_text(PLAY_TIP).clicked() {
            desk.is_playing = !desk.is_playing;
        }
        if ui.button(ON).on_hover_text(STEP_TIP).clicked() {
            step(desk, STEP);
        }
        let span = desk.player.span();
        let mut time = desk.time;
        ui.spacing_mut().slider_width = (ui.available_width() - 210.0).max(80.0);
        let bar = slider(&mut time, span.start..=span.start + span.length.max(1e-6));
        if ui.add(bar.suffix(" s").fixed_decimals(2)).changed() {
            desk.time = time;
            desk.is_playing = false;
        }
        ui.spacing_mut().slider_width = 60.0;
        ui.add(egui::DragValue::new(&mut desk.speed).range(0.05..=4.0).speed(0.01).prefix("× ").max_decimals(2))
            .on_hover_text(SPEED);
    });
}

/// Goes on by so many seconds, and stays there.
pub fn step(desk: &mut Desk, seconds: f64) {
    desk.is_playing = true;
    let speed = std::mem::replace(&mut desk.speed, 1.0);
    desk.advance(seconds);
    desk.speed = speed;
    desk.is_playing = false;
}
