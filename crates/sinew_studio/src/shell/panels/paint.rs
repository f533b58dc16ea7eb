//! Maps: made, painted, filled, started from the shape, and given to effects.

use crate::brush::{Falloff, Mode, Reach, island};
use crate::document::Values;
use crate::shell::desk::{Colour, Desk};
use crate::shell::panels::style::title;
use crate::shell::widgets::slider;
use crate::words::paint::*;
use eframe::egui;
use sinew::Rig;
use sinew::maps::bone_distance::bone_distance;
use sinew::maps::extremities::extremities;
use sinew::maps::shape_diameter::{shape_diameters, softness};
use sinew::maps::{PointMap, RestSurface};
use sinew::recipe::Place;

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    choose(ui, desk);
    let Some(name) = desk.map.clone() else {
        ui.label(NONE);
        return;
    };
    ui.separator();
    if ui.toggle_value(&mut desk.is_painting, TOOL).on_hover_text(TOOL_TIP).changed() && desk.is_painting {
        desk.showing.colour = Colour::Map;
    }
    brush(ui, desk);
    ui.separator();
    whole(ui, desk, &name);
    ui.separator();
    used_by(ui, desk, &name);
}

fn choose(ui: &mut egui::Ui, desk: &mut Desk) {
    let drawn = desk.document.drawn().clone();
    let names = desk.document.map_names().into_iter().filter(|name| !drawn.is_made_of(name));
    let names: Vec<String> = names.map(str::to_owned).collect();
    // Maps come and go by undo and redo.
    if desk.map.as_ref().is_none_or(|map| !names.contains(map)) {
        desk.map = names.first().cloned();
    }
    if !names.is_empty() {
        let shown = desk.map.clone().unwrap_or_default();
        egui::ComboBox::from_label(MAP).selected_text(shown).show_ui(ui, |ui| {
            for name in &names {
                if ui.selectable_label(desk.map.as_ref() == Some(name), name).clicked() {
                    desk.map = Some(name.clone());
                    desk.showing.colour = Colour::Map;
                }
            }
        });
    }
    ui.horizontal(|ui| {
        let field = egui::TextEdit::singleline(&mut desk.new_map).hint_text(NAME).desired_width(110.0);
        let entered = ui.add(field).lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if ui.button(NEW).clicked() || entered {
            let mut name = desk.new_map.trim().to_lowercase().replace(' ', "-");
            if name.is_empty() {
                name = (1..).map(|k| format!("map-{k}")).find(|name| !names.contains(name)).unwrap_or_default();
            }
            desk.change(|document| document.make_map(&name, None));
            if desk.document.maps().contains_key(&name) {
                desk.map = Some(name);
                desk.new_map.clear();
                desk.showing.colour = Colour::Map;
                desk.is_painting = true;
            }
        }
    });
}

fn brush(ui: &mut egui::Ui, desk: &mut Desk) {
    let brush = &mut desk.brush;
    ui.horizontal_wrapped(|ui| {
        for (mode, name) in [(Mode::Add, ADD), (Mode::Subtract, SUBTRACT), (Mode::Smooth, SMOOTH), (Mode::Erase, ERASE)]
        {
            ui.selectable_value(&mut brush.mode, mode, name);
        }
    });
    let mut percent = 100.0 * brush.radius;
    if ui.add(slider(&mut percent, 0.5..=50.0).logarithmic(true).suffix(" %").max_decimals(1).text(RADIUS)).changed() {
        brush.radius = percent / 100.0;
    }
    ui.add(slider(&mut brush.strength, 0.0..=1.0).max_decimals(2).text(STRENGTH));
    ui.horizontal(|ui| {
        ui.label(FALLOFF);
        for (falloff, name) in [(Falloff::Smooth, ROUND), (Falloff::Linear, LINEAR), (Falloff::Hard, HARD)] {
            ui.selectable_value(&mut brush.falloff, falloff, name);
        }
    });
    ui.horizontal(|ui| {
        ui.label(REACH);
        ui.selectable_value(&mut brush.reach, Reach::Skin, ALONG_SKIN);
        ui.selectable_value(&mut brush.reach, Reach::Ball, BALL);
    });
    ui.checkbox(&mut brush.mirror, MIRROR).on_hover_text(MIRROR_TIP);
    let mut by_bone = brush.bone.is_some();
    let bone = desk.bone;
    ui.add_enabled_ui(bone.is_some(), |ui| {
        if ui.checkbox(&mut by_bone, BY_BONE).changed() {
            desk.brush.bone = if by_bone { bone } else { None };
        }
    });
}

/// What is done to all of a map at once.
fn whole(ui: &mut egui::Ui, desk: &mut Desk, name: &str) {
    let rig = desk.document.rig().clone();
    let values = desk.document.values_or_zero(name);
    let mut wanted: Option<(&str, Values)> = None;
    ui.horizontal_wrapped(|ui| {
        if ui.button(FILL).on_hover_text(FILL_TIP).clicked() {
            let mut filled = values.clone();
            let slots: Vec<usize> = match (desk.brush.bone.and(desk.bone), desk.picked) {
                (Some(bone), _) => (0..rig.slots()).filter(|&slot| rig.main_bone(slot) == Some(bone)).collect(),
                (None, Some(picked)) => island(&rig, rig.point(picked.vertex())),
                (None, None) => (0..rig.slots()).collect(),
            };
            slots.into_iter().for_each(|slot| filled[slot] = 1.0);
            wanted = Some((FILL, filled));
        }
        if ui.button(CLEAR).clicked() {
            wanted = Some((CLEAR, vec![0.0; values.len()]));
        }
        if ui.button(INVERT).clicked() {
            wanted = Some((INVERT, values.iter().map(|value| (1.0 - value).clamp(-1.0, 1.0)).collect()));
        }
        if ui.button(SMOOTH_ALL).clicked() {
            let mut map = PointMap::from_fn(&rig, |slot| values[slot]);
            map.smooth(&RestSurface::new(&rig), 2);
            wanted = Some((SMOOTH_ALL, flat(&map)));
        }
    });
    ui.label(START);
    ui.horizontal_wrapped(|ui| {
        let made: [(&'static str, Make); 3] = [
            (THIN, |rig| {
                let surface = RestSurface::new(rig);
                softness(&surface, &shape_diameters(&surface))
            }),
            (TIPS, |rig| extremities(&RestSurface::new(rig)).map),
            (FAR, |rig| bone_distance(&RestSurface::new(rig))),
        ];
        for (label, make) in made {
            if ui.button(label).clicked() {
                wanted = Some((label, flat(&make(&rig))));
            }
        }
    });
    if let Some((label, values)) = wanted {
        if !desk.document.maps().contains_key(name) {
            desk.change(|document| document.make_map(name, None));
        }
        desk.change(|document| document.paint(label, None, name, values.into_iter().enumerate()));
        desk.showing.colour = Colour::Map;
    }
    if ui.button(DELETE).clicked() {
        desk.change(|document| document.delete_map(name));
    }
}

/// Makes a map from the shape.
type Make = fn(&Rig) -> PointMap;

fn flat(map: &PointMap) -> Values {
    map.values().as_flattened().to_vec()
}

fn used_by(ui: &mut egui::Ui, desk: &mut Desk, name: &str) {
    let effects = desk.document.recipe().recipe().effects.clone();
    if effects.is_empty() {
        return;
    }
    ui.label(USED_BY);
    for (index, effect) in effects.iter().enumerate() {
        let mut on = effect.map.as_deref() == Some(name);
        if ui.checkbox(&mut on, title(effect.effect.name())).changed() {
            desk.change(|document| match on {
                true => document.set(MAP, None, Place::Effect(index, "map"), name),
                false => document.reset(MAP, Place::Effect(index, "map")),
            });
        }
    }
}
