//! What people would see that is wrong, with a way to the clip, the time and the place.

use crate::document::Document;
use crate::jobs::{Finding, Job};
use crate::shell::desk::{Desk, Purpose};
use crate::shell::pick::Picked;
use crate::words::check::*;
use eframe::egui;
use glam::DVec3;
use sinew::recipe::{EditError, Place, Strength};

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, desk: &mut Desk) {
    let state = desk.document.history().revision();
    let under_way = desk.progress(|purpose| matches!(purpose, Purpose::Findings(_)));
    ui.add_enabled_ui(under_way.is_none() && desk.document.clip_count() > 0, |ui| {
        if ui.button(RUN).clicked() {
            let context = ui.ctx().clone();
            desk.begin(Job::Check, Purpose::Findings(state), &context);
        }
    });
    if let Some(progress) = under_way {
        ui.horizontal(|ui| {
            ui.spinner();
            ui.label(RUNNING);
        });
        if progress.total > 0 {
            ui.add(egui::ProgressBar::new(progress.done as f32 / progress.total as f32).desired_width(220.0));
        }
    }
    let Some((of, findings)) = desk.findings.clone() else { return };
    if of != state {
        ui.label(STALE);
    }
    let failed: Vec<&Finding> = findings.iter().filter(|finding| !finding.passed).collect();
    if failed.is_empty() {
        ui.label(FINE);
        return;
    }
    if ui.button(LOWER).on_hover_text(LOWER_TIP).clicked() {
        desk.change(lower);
    }
    let mut clip = usize::MAX;
    for finding in failed {
        if finding.clip != clip {
            clip = finding.clip;
            ui.strong(desk.document.clip_names().get(clip).cloned().unwrap_or_default());
        }
        if ui.add(egui::Button::new(&finding.text).wrap()).clicked() {
            go(desk, finding);
        }
    }
}

/// To where it is worst.
fn go(desk: &mut Desk, finding: &Finding) {
    if desk.player.clip() != finding.clip {
        desk.choose_clip(finding.clip);
    }
    if let Some(time) = finding.time {
        desk.time = time;
        desk.is_playing = false;
    }
    desk.draw_frame();
    let Some(vertex) = finding.vertex else { return };
    let rig = desk.document.rig().clone();
    let Some(character) = rig.character_of_point(rig.point(vertex)) else { return };
    let point: DVec3 = desk.player.last().result.world_position(character, vertex);
    desk.picked = Some(Picked { vertices: [vertex; 3], shares: [1.0, 0.0, 0.0], point });
    desk.bone = rig.main_bone(rig.point(vertex));
    desk.orbit.target = point;
}

/// Every gain and strength by a fifth.
fn lower(document: &mut Document) -> Result<(), crate::document::ChangeError> {
    const FACTOR: f64 = 0.8;
    let recipe = document.recipe().recipe().clone();
    let less = |strength: Strength| Strength::new((strength.share() * FACTOR * 1e5).round() / 1e5);
    document.edit(LOWER, None, |file| {
        if let Some(strength) = recipe.strength.and_then(less) {
            file.set(Place::Strength, strength)?;
        }
        for (index, effect) in recipe.effects.iter().enumerate() {
            match effect.strength {
                Some(strength) => {
                    if let Some(strength) = less(strength) {
                        file.set(Place::Effect(index, "strength"), strength)?;
                    }
                }
                None if recipe.strength.is_none() && effect.keys.is_empty() => {
                    file.set(Place::Effect(index, "gain"), (effect.gain * FACTOR * 1e4).round() / 1e4)?;
                }
                None => {}
            }
        }
        Ok::<(), EditError>(())
    })
}
