//! Small pictures on the cards of styles, recipes and built-in characters: made in idle time, one after the other, and only
//! while somebody looks at the cards; kept until another character comes.

use crate::character::Character;
use crate::jobs::{Crew, Done, Task};
use crate::portrait::{Portrait, SIDES, Subject};
use eframe::egui::{self, Color32, Pos2, Rect, Sense, Vec2};
use sinew::presets;
use sinew_liven::Style;
use std::sync::Arc;

/// Of whom: a subject on a clip.
type Of = (Subject, usize);

/// Pictures of one character.
#[derive(Default)]
pub struct Portraits {
    crew: Crew,
    under_way: Option<(u64, Of)>,
    /// What was refused has no picture, and is not tried again.
    made: Vec<(Of, Option<egui::TextureHandle>)>,
    is_seen: bool,
}

impl std::fmt::Debug for Portraits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Portraits").field("under_way", &self.under_way).finish_non_exhaustive()
    }
}

/// What pictures are made of, in this order: recipes are quick to try, styles are not.
fn subjects() -> impl Iterator<Item = Subject> {
    let styles = Style::ALL.into_iter().map(Subject::Style);
    presets::names().iter().map(|preset| Subject::Preset(preset.name)).chain(styles).filter(is_pictured)
}

/// Whether there is a picture, or will be.
pub fn is_pictured(subject: &Subject) -> bool {
    // A tab has one worker, which people's own jobs would wait for, and styles take long.
    !(cfg!(target_arch = "wasm32") && matches!(subject, Subject::Style(_)))
}

impl Portraits {
    /// Somebody looks at the cards: what there is of this one.
    pub fn look(&mut self, subject: Subject, clip: usize) -> Option<egui::TextureHandle> {
        self.is_seen = true;
        self.made.iter().find(|(of, _)| *of == (subject, clip)).and_then(|(_, picture)| picture.clone())
    }

    /// Whether nothing is left to be made for a clip.
    pub fn is_done(&self, clip: usize) -> bool {
        subjects().all(|subject| self.made.iter().any(|(of, _)| *of == (subject, clip)))
    }

    /// Takes what was made, and begins the next where there is time for it.
    pub fn keep_up(&mut self, character: &Arc<Character>, clip: usize, is_idle: bool, context: &egui::Context) {
        for (number, done) in self.crew.finished() {
            let Some((_, of)) = self.under_way.take_if(|(known, _)| *known == number) else { continue };
            let picture = match done {
                Done::Portrait(portrait) => Some(texture(&portrait, context)),
                _ => None,
            };
            self.made.push((of, picture));
        }
        let is_seen = std::mem::take(&mut self.is_seen);
        if !is_seen || !is_idle || self.under_way.is_some() || character.asset.clips.is_empty() {
            return;
        }
        let next = subjects().find(|subject| self.made.iter().all(|(of, _)| *of != (*subject, clip)));
        if let Some(subject) = next {
            let woken = context.clone();
            let task = Task::portrait(character, subject, clip);
            let number = self.crew.begin(task, move || woken.request_repaint());
            self.under_way = Some((number, (subject, clip)));
        }
    }
}

fn texture(portrait: &Portrait, context: &egui::Context) -> egui::TextureHandle {
    let image = egui::ColorImage::from_rgba_unmultiplied([portrait.width, portrait.height], &portrait.pixels);
    context.load_texture("portrait", image, egui::TextureOptions::LINEAR)
}

/// Pictures of built-in characters, each with the same recipe.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Default)]
pub struct Gallery {
    arriving: Option<std::sync::mpsc::Receiver<(&'static str, Portrait)>>,
    made: Vec<(&'static str, egui::TextureHandle)>,
}

/// A tab has no thread to make pictures on while nothing is open: names alone.
#[cfg(target_arch = "wasm32")]
#[derive(Default)]
pub struct Gallery {
    made: Vec<(&'static str, egui::TextureHandle)>,
}

impl std::fmt::Debug for Gallery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gallery").finish_non_exhaustive()
    }
}

impl Gallery {
    /// Takes what has arrived; the first time, somebody begins to make it.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn keep_up(&mut self, context: &egui::Context) {
        let arriving = self.arriving.get_or_insert_with(|| {
            let (sender, arriving) = std::sync::mpsc::channel();
            let woken = context.clone();
            std::thread::spawn(move || {
                for exhibit in sinew_zoo::names() {
                    let Ok(character) = Character::built_in(exhibit.name) else { continue };
                    let task = Task::portrait(&character, Subject::Preset("lively"), 0);
                    let Done::Portrait(portrait) = task.run(&|_, _, _| ()) else { continue };
                    if sender.send((exhibit.name, portrait)).is_err() {
                        // Something was opened, and nobody looks any more.
                        return;
                    }
                    woken.request_repaint();
                }
            });
            arriving
        });
        while let Ok((name, portrait)) = arriving.try_recv() {
            self.made.push((name, texture(&portrait, context)));
        }
    }

    /// Takes what has arrived.
    #[cfg(target_arch = "wasm32")]
    pub fn keep_up(&mut self, _: &egui::Context) {}

    /// What there is of a character.
    pub fn of(&self, name: &str) -> Option<&egui::TextureHandle> {
        self.made.iter().find(|(known, _)| *known == name).map(|(_, picture)| picture)
    }
}

/// A button with a picture, or with room for one that is still to come.
pub fn card(ui: &mut egui::Ui, picture: Option<&egui::TextureHandle>, text: &str, width: f32) -> egui::Response {
    const LINE: f32 = 18.0;
    let height = width * SIDES[1] as f32 / SIDES[0] as f32;
    let (rect, response) = ui.allocate_exact_size(Vec2::new(width, height + LINE), Sense::click());
    let is_enabled = ui.is_enabled();
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, is_enabled, text));
    let visuals = *ui.style().interact(&response);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 4.0, visuals.weak_bg_fill);
    if let Some(picture) = picture {
        let whole = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
        let place = Rect::from_min_size(rect.min, Vec2::new(width, height)).shrink(2.0);
        painter.image(picture.id(), place, whole, Color32::WHITE);
    }
    let at = Pos2::new(rect.center().x, rect.bottom() - 0.5 * LINE);
    let font = egui::TextStyle::Button.resolve(ui.style());
    painter.text(at, egui::Align2::CENTER_CENTER, text, font, visuals.text_color());
    painter.rect_stroke(rect, 4.0, visuals.bg_stroke, egui::StrokeKind::Inside);
    response
}
