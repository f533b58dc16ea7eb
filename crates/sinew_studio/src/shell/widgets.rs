//! Widgets that panels share: parameters by what they say of themselves, keys over time, small graphs.

use crate::document::Document;
use crate::shell::desk::Desk;
use crate::words;
use eframe::egui::{self, Color32, Pos2, Rect, Sense, Stroke, Vec2};
use sinew::param::{ParamKind, ParamSpec, Values};
use sinew::recipe::{KeyCurve, Literal, Place};

/// Where a parameter stands.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// The base.
    Base,
    /// An effect, by index.
    Effect(usize),
    /// A correction, by index.
    Correction(usize),
}

impl Owner {
    /// The place of a key.
    pub fn place(self, key: &str) -> Place<'_> {
        match self {
            Self::Base => Place::BaseKey(key),
            Self::Effect(index) => Place::Effect(index, key),
            Self::Correction(index) => Place::Correction(index, key),
        }
    }
}

/// A slider that leaves a value alone until people move it: egui's own rounds what it is shown, and a recipe would change by
/// being looked at.
pub fn slider(value: &mut f64, range: std::ops::RangeInclusive<f64>) -> egui::Slider<'_> {
    egui::Slider::new(value, range).clamping(egui::SliderClamping::Edits)
}

/// A number with as many digits as a slider has steps, so that the recipe's text stays readable.
pub fn rounded(value: f64, range: f64) -> f64 {
    if !value.is_finite() || range <= 0.0 || !range.is_finite() {
        return value;
    }
    let digits = (4.0 - range.log10().ceil()).clamp(0.0, 12.0) as i32;
    let power = 10f64.powi(digits);
    (value * power).round() / power
}

/// All parameters of a base, an effect or a correction.
pub fn params(ui: &mut egui::Ui, desk: &mut Desk, owner: Owner, values: &Values, raw: bool) {
    for spec in values.specs() {
        ui.push_id(spec.name, |ui| param(ui, desk, owner, values, spec, raw));
    }
}

fn param(ui: &mut egui::Ui, desk: &mut Desk, owner: Owner, values: &Values, spec: &'static ParamSpec, raw: bool) {
    let kind = if raw { spec.raw_kind() } else { spec.kind };
    let label = spec.name.replace('_', " ");
    ui.horizontal(|ui| {
        let value = values.number(spec.name);
        match kind {
            ParamKind::Number { unit, min, max, .. } => {
                let mut shown = value;
                let suffix = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                let span = (max - min).min(1e6);
                let bar = slider(&mut shown, min..=max.min(min + 1e6))
                    .logarithmic(span > 50.0)
                    .smallest_positive(1e-3)
                    .suffix(suffix)
                    .max_decimals(4)
                    .text(&label);
                ui.spacing_mut().slider_width = 78.0;
                let response = ui.add(bar).on_hover_text(spec.about);
                if response.changed() {
                    let gesture = desk.gesture_of(&response);
                    set(desk, owner, spec.name, gesture, rounded(shown, span.min(10.0)));
                }
                if let Some(word) = spec.word_for_zero {
                    let mut is_auto = value == 0.0;
                    if ui.toggle_value(&mut is_auto, word).on_hover_text(spec.about).changed() {
                        match is_auto {
                            true => set(desk, owner, spec.name, None, word),
                            false => set(desk, owner, spec.name, None, min.max(1e-3)),
                        }
                    }
                }
            }
            ParamKind::Switch { .. } => {
                let mut on = values.switch(spec.name);
                if ui.checkbox(&mut on, &label).on_hover_text(spec.about).changed() {
                    set(desk, owner, spec.name, None, on);
                }
            }
            ParamKind::Choice { words } => {
                let held = values.word(spec.name);
                egui::ComboBox::from_label(&label)
                    .selected_text(held)
                    .width(110.0)
                    .show_ui(ui, |ui| {
                        for word in words {
                            if ui.selectable_label(*word == held, *word).clicked() {
                                set(desk, owner, spec.name, None, *word);
                            }
                        }
                    })
                    .response
                    .on_hover_text(spec.about);
            }
        }
        if value != spec.default() && reset(ui).clicked() {
            desk.change(|document| document.reset(&format!("Reset {label}"), owner.place(spec.name)));
        }
    });
}

/// Back to the default.
pub fn reset(ui: &mut egui::Ui) -> egui::Response {
    ui.small_button(words::effects::RESET).on_hover_text(words::effects::RESET_TIP)
}

fn set(desk: &mut Desk, owner: Owner, key: &'static str, gesture: Option<u64>, value: impl Into<Literal>) {
    desk.change(|document: &mut Document| document.set(&key.replace('_', " "), gesture, owner.place(key), value));
}

/// Keys over time, to be dragged. Gives the curve as it becomes.
pub fn curve(
    ui: &mut egui::Ui,
    held: &KeyCurve,
    span: [f64; 2],
    most: f64,
    now: f64,
) -> Option<(KeyCurve, egui::Response)> {
    let (rect, response) =
        ui.allocate_exact_size(Vec2::new(ui.available_width().min(250.0), 84.0), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, words::effects::KEYS));
    let length = (span[1] - span[0]).max(1e-9);
    let to_screen = |(time, value): (f64, f64)| {
        let x = rect.left() + rect.width() * ((time - span[0]) / length) as f32;
        Pos2::new(x, rect.bottom() - rect.height() * (value / most).clamp(0.0, 1.0) as f32)
    };
    let from_screen = |at: Pos2| {
        let time = span[0] + length * f64::from(((at.x - rect.left()) / rect.width()).clamp(0.0, 1.0));
        let value = most * f64::from(((rect.bottom() - at.y) / rect.height()).clamp(0.0, 1.0));
        (rounded(time, 1.0), rounded(value, 1.0))
    };
    let visuals = ui.visuals().clone();
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 3.0, visuals.extreme_bg_color);
    let mut line: Vec<Pos2> = Vec::new();
    let keys = held.keys();
    if let (Some(first), Some(last)) = (keys.first(), keys.last()) {
        line.push(to_screen((span[0].min(first.0), first.1)));
        line.extend(keys.iter().map(|&key| to_screen(key)));
        line.push(to_screen((span[1].max(last.0), last.1)));
    }
    painter.line(line, Stroke::new(1.5, visuals.text_color()));
    let x = to_screen((now, 0.0)).x;
    painter.vline(x, rect.y_range(), Stroke::new(1.0, visuals.weak_text_color()));
    let near = |at: Pos2| {
        let away = |key: &(f64, f64)| to_screen(*key).distance(at);
        let nearest = (0..keys.len()).min_by(|&a, &b| away(&keys[a]).total_cmp(&away(&keys[b])))?;
        (away(&keys[nearest]) < 12.0).then_some(nearest)
    };
    let memory = response.id.with("key");
    let mut changed: Option<Vec<(f64, f64)>> = None;
    if response.drag_started()
        && let Some(at) = ui.input(|input| input.pointer.press_origin())
    {
        ui.data_mut(|data| data.insert_temp(memory, near(at)));
    }
    if response.dragged()
        && let Some(at) = response.interact_pointer_pos()
        && let Some(Some(index)) = ui.data(|data| data.get_temp::<Option<usize>>(memory))
        && index < keys.len()
    {
        let mut moved = keys.to_vec();
        let (time, value) = from_screen(at);
        // Keys stay in their order.
        let low = index.checked_sub(1).map_or(f64::NEG_INFINITY, |before| keys[before].0 + 1e-3);
        let high = keys.get(index + 1).map_or(f64::INFINITY, |after| after.0 - 1e-3);
        moved[index] = (if low < high { time.clamp(low, high) } else { keys[index].0 }, value);
        changed = Some(moved);
    }
    if let Some(at) = response.interact_pointer_pos() {
        if response.double_clicked() && near(at).is_none() {
            let mut more = keys.to_vec();
            more.push(from_screen(at));
            more.sort_by(|a, b| a.0.total_cmp(&b.0));
            more.dedup_by(|a, b| a.0 == b.0);
            changed = Some(more);
        } else if response.secondary_clicked()
            && keys.len() > 1
            && let Some(index) = near(at)
        {
            let mut fewer = keys.to_vec();
            fewer.remove(index);
            changed = Some(fewer);
        }
    }
    for &key in keys {
        painter.circle_filled(to_screen(key), 4.5, visuals.selection.bg_fill);
        painter.circle_stroke(to_screen(key), 4.5, Stroke::new(1.0, visuals.strong_text_color()));
    }
    let response = response.on_hover_text(words::effects::KEYS_TIP);
    Some((KeyCurve::new(changed?)?, response))
}

/// A small graph of shares of the size; a loop's seam is where its end meets its beginning.
pub fn graph(ui: &mut egui::Ui, samples: &[f64], whole: usize, now: f32, loops: bool) {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(ui.available_width().min(260.0), 80.0), Sense::hover());
    let most = samples.iter().copied().fold(1e-4, f64::max);
    let visuals = ui.visuals();
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 3.0, visuals.extreme_bg_color);
    let at = |index: usize, value: f64| {
        let x = rect.left() + rect.width() * index as f32 / whole.max(1) as f32;
        Pos2::new(x, rect.bottom() - 2.0 - (rect.height() - 16.0) * (value / most) as f32)
    };
    let line: Vec<Pos2> = samples.iter().enumerate().map(|(index, &value)| at(index, value)).collect();
    painter.line(line, Stroke::new(1.5, visuals.selection.bg_fill));
    painter.vline(rect.left() + rect.width() * now, rect.y_range(), Stroke::new(1.0, visuals.weak_text_color()));
    let font = egui::FontId::proportional(10.0);
    let text = format!("{:.2} %", 100.0 * most);
    painter.text(rect.left_top() + Vec2::splat(3.0), egui::Align2::LEFT_TOP, text, font.clone(), visuals.text_color());
    if let (true, Some(first), Some(last)) = (loops && samples.len() > whole, samples.first(), samples.last()) {
        let seam = format!("seam {:.4} %", 100.0 * (first - last).abs());
        let corner = rect.right_top() + Vec2::new(-3.0, 3.0);
        painter.text(corner, egui::Align2::RIGHT_TOP, seam, font, visuals.text_color());
    }
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, words::why::OVER_CLIP));
}

/// A bar whose length is a share.
pub fn bar(ui: &mut egui::Ui, share: f32, color: Color32, text: &str) -> egui::Response {
    let size = Vec2::new(ui.available_width().min(260.0), 16.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let filled = Rect::from_min_size(rect.min, Vec2::new(rect.width() * share.clamp(0.0, 1.0), rect.height()));
    ui.painter().rect_filled(rect, 2.0, ui.visuals().extreme_bg_color);
    ui.painter().rect_filled(filled, 2.0, color);
    let font = egui::FontId::proportional(11.0);
    ui.painter().text(
        rect.left_center() + Vec2::new(4.0, 0.0),
        egui::Align2::LEFT_CENTER,
        text,
        font,
        ui.visuals().strong_text_color(),
    );
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, text));
    response
}
