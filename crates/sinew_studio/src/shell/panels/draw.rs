//! Strokes: which tool, how they are made into something, and what was drawn so far.

use crate::shell::desk::Desk;
use crate::shell::drawing::{Item, Options, ReachBy, Tool, go, remove, remove_last};
use crate::shell::widgets::slider;
use crate::words::draw::*;
use eframe::egui;
use sinew_draw::edits::SolveName;

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    ui.label(egui::RichText::new(TEXT).small());
    ui.horizontal_wrapped(|ui| {
        for tool in Tool::ALL {
            let (name, tip) = tool.words();
            let is_it = desk.drawing.tool == Some(tool);
            if ui.selectable_label(is_it, name).on_hover_text(tip).clicked() {
                desk.drawing.cancel();
                desk.drawing.tool = (!is_it).then_some(tool);
                desk.is_painting = false;
            }
        }
    });
    if let Some(tool) = desk.drawing.tool {
        let text = if desk.drawing.waits() { SECOND } else { tool.words().1 };
        ui.label(egui::RichText::new(text).small());
        ui.separator();
        options(ui, tool, &mut desk.drawing.options);
        if tool == Tool::Pose && matches!(desk.drawing.selected, Some(Item::Pose(_))) {
            ui.checkbox(&mut desk.drawing.options.joins, JOIN).on_hover_text(JOIN_TIP);
        }
    }
    ui.separator();
    drawn(ui, desk);
}

fn percent(ui: &mut egui::Ui, share: &mut f64, most: f64, text: &str) {
    let mut percent = 100.0 * *share;
    if ui.add(slider(&mut percent, 0.1..=most).suffix(" %").max_decimals(1).text(text)).changed() {
        *share = (percent * 10.0).round() / 1e3;
    }
}

fn options(ui: &mut egui::Ui, tool: Tool, options: &mut Options) {
    match tool {
        Tool::Pose => {
            ui.checkbox(&mut options.stretch, STRETCH);
            ui.checkbox(&mut options.on_line, ON_LINE);
        }
        Tool::Pull => {
            ui.label(REACH);
            ui.horizontal_wrapped(|ui| {
                for (by, name) in
                    [(ReachBy::Rings, RINGS), (ReachBy::Distance, DISTANCE), (ReachBy::Geodesic, GEODESIC)]
                {
                    ui.selectable_value(&mut options.by, by, name);
                }
            });
            match options.by {
                ReachBy::Rings => {
                    let mut rings = options.rings as f64;
                    ui.add(slider(&mut rings, 1.0..=20.0).max_decimals(0));
                    options.rings = rings.round() as usize;
                }
                ReachBy::Distance | ReachBy::Geodesic => percent(ui, &mut options.reach, 50.0, ""),
            }
            ui.label(SOLVE);
            ui.horizontal_wrapped(|ui| {
                for (solve, name) in
                    [(SolveName::Arap, RIGID), (SolveName::Laplacian, SMOOTH), (SolveName::ScaleVectors, VECTORS)]
                {
                    ui.selectable_value(&mut options.solve, solve, name);
                }
            });
        }
        Tool::Bulge | Tool::Groove | Tool::Wave => {
            percent(ui, &mut options.height, 10.0, HEIGHT);
            percent(ui, &mut options.width, 30.0, WIDTH);
        }
        Tool::Silhouette => {}
    }
    if tool != Tool::Pose {
        ui.checkbox(&mut options.by_springs, SPRINGS);
        ui.checkbox(&mut options.is_keyed, KEYED);
    }
    if tool == Tool::Pose || options.is_keyed {
        ui.add(slider(&mut options.ease_in, 0.0..=2.0).suffix(" s").max_decimals(2).text(EASE_IN));
        ui.add(slider(&mut options.ease_out, 0.0..=2.0).suffix(" s").max_decimals(2).text(EASE_OUT));
    }
}

fn drawn(ui: &mut egui::Ui, desk: &mut Desk) {
    ui.strong(DRAWN);
    let all = desk.document.drawn().clone();
    if all.is_empty() {
        ui.label(NOTHING);
        return;
    }
    let edits = all.edits.iter().enumerate().map(|(number, edit)| (Item::Edit(number), edit.name.clone()));
    let poses = all.poses.iter().enumerate();
    let poses = poses.map(|(number, pose)| {
        let strokes = match pose.strokes.len() {
            0 | 1 => String::new(),
            count => format!(" ({count} {STROKES})"),
        };
        (Item::Pose(number), format!("{}, {}{strokes}", pose.layer.name, pose.clip))
    });
    let (mut removed, mut shortened) = (None, None);
    for (item, name) in edits.chain(poses) {
        ui.horizontal_wrapped(|ui| {
            if ui.selectable_label(desk.drawing.selected == Some(item), name).on_hover_text(GO_TIP).clicked() {
                go(desk, item);
            }
            if let Item::Pose(number) = item
                && all.poses[number].strokes.len() > 1
                && ui.small_button(REMOVE_LAST).clicked()
            {
                shortened = Some(number);
            }
            if ui.small_button(REMOVE).clicked() {
                removed = Some(item);
            }
        });
    }
    if let Some(number) = shortened {
        remove_last(desk, number);
    }
    if let Some(item) = removed {
        remove(desk, item);
    }
}
