//! Why did this move: every cause as a bar, and a way to its slider.

use crate::shell::desk::{Desk, GRAPHED};
use crate::shell::panels::bones::name_of;
use crate::shell::panels::style::title;
use crate::shell::widgets::{bar, graph};
use crate::words::why::*;
use eframe::egui::{self, Color32};

/// Colours of causes, told apart by lightness too.
const COLORS: [Color32; 5] = [
    Color32::from_rgb(230, 159, 0),
    Color32::from_rgb(86, 180, 233),
    Color32::from_rgb(0, 158, 115),
    Color32::from_rgb(204, 121, 167),
    Color32::from_rgb(0, 114, 178),
];

/// Shows the panel; gives true when people want to see the slider of [`Desk::effect`].
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) -> bool {
    let Some(picked) = desk.picked else {
        ui.label(NONE);
        return false;
    };
    let vertex = picked.vertex();
    let state = desk.document.history().revision();
    let is_known = (desk.why.as_ref()).is_some_and(|(of, other, time, _)| {
        *of == state && *other == vertex && (desk.is_playing || *time == desk.time)
    });
    if !is_known && desk.stroke.is_none() {
        match crate::why::why(&desk.document, &desk.player, vertex, desk.time) {
            Ok(why) => desk.why = Some((state, vertex, desk.time, why)),
            Err(error) => desk.complain(error),
        }
    }
    let mut go = None;
    if let Some((_, _, time, why)) = &desk.why {
        ui.label(format!("{:.2} % {WHOLE} ({time:.2} s)", 100.0 * why.whole));
        let most = why.causes.iter().map(|cause| cause.share).fold(why.whole.max(why.rest).max(1e-9), f64::max);
        for (index, cause) in why.causes.iter().enumerate() {
            let text = format!("{} {:.2} %", title(cause.name), 100.0 * cause.share);
            let color = COLORS[index % COLORS.len()];
            if bar(ui, (cause.share / most) as f32, color, &text).on_hover_text(GO).clicked() {
                go = Some(cause.effect);
            }
            for (bone, share) in cause.bones.iter().take(3) {
                ui.label(egui::RichText::new(format!("   {} {:.2} %", name_of(desk, *bone), 100.0 * share)).small());
            }
        }
        bar(ui, (why.rest / most) as f32, Color32::GRAY, &format!("{REST} {:.2} %", 100.0 * why.rest));
    }
    ui.separator();
    ui.label(OVER_CLIP);
    if desk.graph_on() {
        ui.ctx().request_repaint();
    }
    let span = desk.player.span();
    let now = if span.length > 0.0 { ((desk.time - span.start) / span.length) as f32 } else { 0.0 };
    graph(ui, &desk.graph.samples, GRAPHED, now, span.loops);
    desk.effect = go.unwrap_or(desk.effect);
    go.is_some()
}
