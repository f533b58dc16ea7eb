//! Files: the recipe that is saved, the character that is exported, and the command that does the same.

use crate::jobs::Job;
use crate::pictures::Kind;
use crate::shell::desk::{Desk, Purpose};
use crate::shell::widgets::slider;
use crate::words::keep::*;
use eframe::egui;
use std::path::PathBuf;

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    path(ui, RECIPE, &mut desk.recipe_path);
    if ui.button(crate::words::bar::SAVE).on_hover_text(crate::words::bar::SAVE_TIP).clicked() {
        save(desk);
    }
    ui.separator();
    path(ui, FILE, &mut desk.output_path);
    let mut percent = 100.0 * desk.export.tolerance;
    let bar = slider(&mut percent, 0.01..=2.0).logarithmic(true).suffix(" %").max_decimals(3);
    if ui.add(bar.text(TOLERANCE)).on_hover_text(TOLERANCE_TIP).changed() {
        desk.export.tolerance = (percent * 1e3).round() / 1e5;
    }
    ui.checkbox(&mut desk.export.meshopt, MESHOPT).on_hover_text(MESHOPT_TIP);
    let under_way = desk.progress(|purpose| matches!(purpose, Purpose::File(_)));
    let can = under_way.is_none() && desk.document.clip_count() > 0;
    ui.add_enabled_ui(can, |ui| {
        // The recipe goes with it: what is exported is what the command makes of what is saved.
        if ui.button(EXPORT).on_hover_text(EXPORT_TIP).clicked() && save(desk) {
            let (path, context) = (PathBuf::from(&desk.output_path), ui.ctx().clone());
            desk.begin(Job::Bake(desk.export.clone()), Purpose::File(path), &context);
        }
    });
    if let Some(progress) = under_way {
        ui.horizontal(|ui| {
            ui.spinner();
            ui.label(if progress.what.is_empty() { BAKING.to_owned() } else { progress.what.clone() });
        });
        if progress.total > 0 {
            ui.add(egui::ProgressBar::new(progress.done as f32 / progress.total as f32).desired_width(220.0));
        }
    }
    if let Some(baked) = &desk.baked {
        baked.lines.iter().for_each(|line| drop(ui.label(line)));
        if !baked.trade.is_empty() {
            ui.label(TRADE);
            if let Some(error) = trade(ui, &baked.trade, desk.export.tolerance) {
                desk.export.tolerance = error;
            }
        }
    }
    ui.separator();
    pictures(ui, desk);
    ui.separator();
    ui.label(COMMAND);
    let mut line = desk.document.command(&PathBuf::from(&desk.recipe_path), &PathBuf::from(&desk.output_path));
    if desk.export.tolerance != 1e-3 {
        line.push_str(&format!(" --tolerance {}%", 100.0 * desk.export.tolerance));
    }
    if desk.export.meshopt {
        line.push_str(" --compress meshopt");
    }
    ui.add(egui::Label::new(egui::RichText::new(&line).monospace().small()).wrap());
    if ui.button(COPY).clicked() {
        ui.ctx().copy_text(line);
    }
    ui.separator();
    egui::CollapsingHeader::new(TEXT).show(ui, |ui| text(ui, desk));
}

/// Stills and films of what is shown.
fn pictures(ui: &mut egui::Ui, desk: &mut Desk) {
    use crate::words::pictures::*;
    ui.strong(TITLE).on_hover_text(TITLE_TIP);
    ui.horizontal_wrapped(|ui| {
        for (kind, name) in Kind::ALL.into_iter().zip(KINDS) {
            ui.selectable_value(&mut desk.filming.kind, kind, name);
        }
    });
    ui.horizontal_wrapped(|ui| {
        let [width, height] = &mut desk.filming.size;
        ui.add(egui::DragValue::new(width).range(16..=4096).prefix(WIDTH));
        ui.add(egui::DragValue::new(height).range(16..=4096).prefix(HEIGHT));
        if desk.filming.kind != Kind::Still {
            ui.add(egui::DragValue::new(&mut desk.filming.fps).range(1.0..=120.0).max_decimals(2).suffix(FPS));
        }
    });
    let reel = desk.reel();
    let recipe = PathBuf::from(&desk.recipe_path);
    let stem = desk.character().source.title();
    let path = recipe.with_file_name(format!("{stem}.{}", reel.kind.extension()));
    let under_way = desk.progress(|purpose| matches!(purpose, Purpose::Picture(_)));
    ui.add_enabled_ui(under_way.is_none(), |ui| {
        // As an export: the recipe is saved, so that the command below makes the same.
        if ui.button(MAKE).on_hover_text(MAKE_TIP).clicked() && save(desk) {
            let context = ui.ctx().clone();
            desk.begin(Job::Reel(reel), Purpose::Picture(path.clone()), &context);
        }
    });
    if let Some(progress) = under_way {
        let share = progress.done as f32 / progress.total.max(1) as f32;
        ui.add(egui::ProgressBar::new(share).desired_width(220.0).text(DRAWING));
    }
    let line = reel.command(&desk.document, &recipe, &path);
    ui.add(egui::Label::new(egui::RichText::new(&line).monospace().small()).wrap());
    if ui.small_button(COPY).clicked() {
        ui.ctx().copy_text(line);
    }
}

fn path(ui: &mut egui::Ui, label: &str, held: &mut String) {
    ui.label(label);
    ui.add(egui::TextEdit::singleline(held).desired_width(f32::INFINITY));
}

/// Saves the recipe with its maps; true where that was done.
pub fn save(desk: &mut Desk) -> bool {
    let path = PathBuf::from(&desk.recipe_path);
    match desk.document.save(&path) {
        Ok(_) => desk.tell(format!("{SAVED} {}", path.display())),
        Err(error) => desk.complain(error),
    }
    !desk.document.is_unsaved()
}

/// Error by number of targets, both by orders of magnitude; a click picks an error.
fn trade(ui: &mut egui::Ui, points: &[(usize, f64)], tolerance: f64) -> Option<f64> {
    let (rect, response) =
        ui.allocate_exact_size(egui::vec2(ui.available_width().min(260.0), 90.0), egui::Sense::click());
    let painter = ui.painter_at(rect);
    let visuals = ui.visuals();
    painter.rect_filled(rect, 3.0, visuals.extreme_bg_color);
    let most = points.iter().map(|(targets, _)| *targets).max().unwrap_or(1).max(1) as f32;
    let (low, high) = (1e-5f64.log10(), 1e-1f64.log10());
    let height = |error: f64| ((error.max(1e-5).log10() - low) / (high - low)).clamp(0.0, 1.0) as f32;
    let at = |&(targets, error): &(usize, f64)| {
        egui::pos2(rect.left() + rect.width() * targets as f32 / most, rect.bottom() - rect.height() * height(error))
    };
    painter.line(points.iter().map(at).collect(), egui::Stroke::new(1.5, visuals.selection.bg_fill));
    let y = rect.bottom() - rect.height() * height(tolerance);
    painter.hline(rect.x_range(), y, egui::Stroke::new(1.0, visuals.weak_text_color()));
    let at = response.interact_pointer_pos().filter(|_| response.clicked())?;
    let share = f64::from((rect.bottom() - at.y) / rect.height());
    let error = 10f64.powf(low + (high - low) * share);
    Some((error * 1e5).round().max(1.0) / 1e5)
}

fn text(ui: &mut egui::Ui, desk: &mut Desk) {
    let mut text = desk.edited.clone().unwrap_or_else(|| desk.document.text().to_string());
    let field = egui::TextEdit::multiline(&mut text).code_editor().desired_width(f32::INFINITY).desired_rows(12);
    if ui.add(field).changed() {
        desk.edited = Some(text.clone());
    }
    if desk.edited.is_some() && ui.button(APPLY).clicked() {
        desk.change(|document| document.replace(TEXT, &text));
        if **desk.document.text() == *text {
            desk.edited = None;
        }
    }
}
