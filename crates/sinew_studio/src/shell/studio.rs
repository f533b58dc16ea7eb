//! The whole window: a bar, panels about the picture, time below, and what keys do.

use crate::character::Source;
use crate::document::Document;
use crate::handed::{self, File};
#[cfg(target_arch = "wasm32")]
use crate::opening::Step;
use crate::opening::{Opening, STEPS};
use crate::recovery::{Left, Recovery};
use crate::shell::desk::{Colour, Compare, Desk, Notice};
use crate::shell::panels::{bones, check, corrections, draw, effects, keep, paint, style, timeline, why};
use crate::shell::portraits::{Gallery, card};
use crate::shell::view::Easel;
use crate::words;
use eframe::egui::{self, Key, KeyboardShortcut, Modifiers};
use sinew_render::View;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// A panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The picture.
    Picture,
    /// Styles and presets.
    Style,
    /// Effects.
    Effects,
    /// Corrections.
    Corrections,
    /// Maps.
    Paint,
    /// Strokes.
    Draw,
    /// Bones.
    Bones,
    /// Causes.
    Why,
    /// Findings.
    Check,
    /// Files.
    Keep,
}

impl Pane {
    fn title(self) -> &'static str {
        match self {
            Self::Picture => words::TITLE,
            Self::Style => words::style::TAB,
            Self::Effects => words::effects::TAB,
            Self::Corrections => words::corrections::TAB,
            Self::Paint => words::paint::TAB,
            Self::Draw => words::draw::TAB,
            Self::Bones => words::bones::TAB,
            Self::Why => words::why::TAB,
            Self::Check => words::check::TAB,
            Self::Keep => words::keep::TAB,
        }
    }
}

/// Files in memory, or why there are none.
type Arrived = Result<Vec<File>, String>;

/// What is heard of a file that is being opened.
enum Tiding {
    /// What is being done, and how many steps are done.
    At(&'static str, usize),
    /// A document, or what is wrong.
    Over(Result<Box<Desk>, String>),
}

/// A file that is being opened.
struct Arrival {
    tidings: Receiver<Tiding>,
    what: &'static str,
    done: usize,
    /// What a crash has left of it: discarded once it is there.
    left: Option<Left>,
}

/// The window's state.
pub struct Studio {
    desk: Option<Box<Desk>>,
    easel: Easel,
    panes: egui_tiles::Tree<Pane>,
    opening: Option<Arrival>,
    /// Where files arrive that have no place on a disk.
    arriving: (Sender<Arrived>, Receiver<Arrived>),
    /// Folder of what survives a crash; none where there is no disk.
    state: Option<PathBuf>,
    recovery: Option<Recovery>,
    left: Vec<Left>,
    /// Pictures for those who have nothing open.
    gallery: Gallery,
    recent: Vec<PathBuf>,
    notices: Vec<Notice>,
    /// The page of the tour that is open.
    tour: Option<usize>,
    is_styled: bool,
}

impl std::fmt::Debug for Studio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Studio").field("desk", &self.desk).finish_non_exhaustive()
    }
}

const SAVE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);
const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);
const UNDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Z);
const REDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
/// Recent files that are offered.
const MOST_RECENT: usize = 8;

impl Studio {
    /// Nothing open. `state` is a folder of one's own for recovery and recent files; without a GPU pictures
    /// are drawn on the processor.
    pub fn new(state: Option<PathBuf>, gpu: Option<&eframe::egui_wgpu::RenderState>) -> Self {
        let recovery = state.as_deref().and_then(|folder| Recovery::new(folder).ok());
        #[cfg(target_arch = "wasm32")]
        let (recovery, crashed) = (recovery.or_else(|| Some(Recovery::of_tab())), crate::recovery::left_by_tabs());
        #[cfg(not(target_arch = "wasm32"))]
        let crashed = state.as_deref().map(crate::recovery::left).unwrap_or_default();
        let recent = state.as_deref().map(recent).unwrap_or_default();
        let is_first = state.as_deref().is_some_and(|folder| !folder.join("toured").exists());
        Self {
            desk: None,
            easel: Easel::new(gpu),
            panes: panes(),
            opening: None,
            arriving: channel(),
            recovery,
            left: crashed,
            gallery: Gallery::default(),
            recent,
            notices: Vec::new(),
            tour: is_first.then_some(0),
            is_styled: false,
            state,
        }
    }

    /// What is open.
    pub fn desk(&self) -> Option<&Desk> {
        self.desk.as_deref()
    }

    /// What is open, to be changed.
    pub fn desk_mut(&mut self) -> Option<&mut Desk> {
        self.desk.as_deref_mut()
    }

    /// What is open, whether all of it is saved, and where.
    pub fn title(&self) -> String {
        let open = self.desk().map_or_else(String::new, |desk| {
            let unsaved = if desk.document.is_unsaved() { "*" } else { "" };
            format!("{} {unsaved}– ", desk.character().source.title())
        });
        format!("{open}{}", words::TITLE)
    }

    /// Whether something is being read or done.
    pub fn is_busy(&self) -> bool {
        self.is_opening() || self.desk().is_some_and(|desk| desk.crew.is_busy())
    }

    /// Whether there is a picture of a built-in character.
    pub fn is_seen(&self, name: &str) -> bool {
        self.gallery.of(name).is_some()
    }

    /// Whether a file is being read.
    pub fn is_opening(&self) -> bool {
        self.opening.is_some()
    }

    /// Opens a file of the disk, away from the window.
    pub fn open(&mut self, path: &Path, context: &egui::Context) {
        let name = path.display().to_string();
        if name.ends_with(crate::keep::EXTENSION) {
            let text = format!("{name}: is a recipe; open its character first, then drop the recipe");
            return self.notices.push(Notice { text, is_error: true });
        }
        self.begin_opening(Opening::new(Source::Path(path.to_owned())), None, context);
    }

    /// Opens what a command line names: a file, or a built-in character as zoo:NAME.
    pub fn open_argument(&mut self, argument: &std::ffi::OsStr, context: &egui::Context) {
        match argument.to_str().and_then(|text| text.strip_prefix("zoo:")) {
            Some(name) => self.open_built_in(name, context),
            None => self.open(Path::new(argument), context),
        }
    }

    /// Opens a built-in character.
    pub fn open_built_in(&mut self, name: &str, context: &egui::Context) {
        self.begin_opening(Opening::new(Source::BuiltIn(name.to_owned())), None, context);
    }

    /// On a thread; in a browser, which has none for this, with a picture of the window between two steps.
    fn begin_opening(&mut self, opening: Opening, left: Option<Left>, context: &egui::Context) {
        let (sender, tidings) = channel();
        self.opening = Some(Arrival { tidings, what: opening.what(), done: 0, left });
        let context = context.clone();
        let send = move |tiding: Tiding| {
            // Where nobody waits for it any more it is not needed.
            let _ = sender.send(tiding);
            context.request_repaint();
        };
        #[cfg(target_arch = "wasm32")]
        wasm_bindgen_futures::spawn_local(async move {
            let mut opening = opening;
            if let Source::Memory { name, bytes } = opening.source_mut()
                && bytes.is_empty()
            {
                *bytes = crate::browser::shelf::file(name).await.unwrap_or_default().into();
            }
            let over = loop {
                send(Tiding::At(opening.what(), opening.done()));
                crate::browser::pause().await;
                match opening.step() {
                    Ok(Step::More(next)) => opening = next,
                    Ok(Step::Done(opened)) => break Ok(Box::new(Desk::of(*opened))),
                    Err(error) => break Err(error.to_string()),
                }
            };
            send(Tiding::Over(over));
        });
        #[cfg(not(target_arch = "wasm32"))]
        std::thread::spawn(move || {
            let opened = opening.finish(&|what, done, _| send(Tiding::At(what, done)));
            let desk = opened.map(|opened| Box::new(Desk::of(*opened))).map_err(|error| error.to_string());
            send(Tiding::Over(desk));
        });
    }

    /// Opens what was handed over: a character with its files, or a recipe with its maps for the one that is open.
    pub fn take_files(&mut self, files: Vec<File>, context: &egui::Context) {
        let files: Vec<File> = handed::unpacked(files);
        if let Some(source) = handed::character_of(&files) {
            #[cfg(target_arch = "wasm32")]
            if let Source::Memory { name, bytes } = &source {
                crate::browser::shelf::keep_file(name, bytes);
            }
            return self.begin_opening(Opening::new(source), None, context);
        }
        let names = || files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let Some(desk) = &mut self.desk else {
            let text = format!("{}: open a character first (.glb, .gltf or .vrm)", names());
            return self.notices.push(Notice { text, is_error: true });
        };
        match handed::recipe_of(desk.character().clone(), &files) {
            Some(Ok(other)) => {
                desk.document.adopt_all("Open recipe", &other);
                desk.document.mark_saved();
            }
            Some(Err(text)) => desk.complain(text),
            None => desk.complain(format!("{}: is neither a character (.glb, .gltf, .vrm) nor a recipe", names())),
        }
    }

    /// Takes what was opened.
    fn take_opened(&mut self) {
        let Some(arrival) = &mut self.opening else { return };
        let opened = loop {
            match arrival.tidings.try_recv() {
                Ok(Tiding::At(what, done)) => (arrival.what, arrival.done) = (what, done),
                Ok(Tiding::Over(opened)) => break opened,
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    break Err("the file could not be read; its reader stopped".to_owned());
                }
            }
        };
        let left = self.opening.take().and_then(|arrival| arrival.left);
        match opened {
            Ok(desk) => {
                if let Some(left) = left {
                    left.discard();
                }
                self.seat(desk);
            }
            Err(text) => {
                self.left.extend(left);
                self.notices.push(Notice { text, is_error: true });
            }
        }
    }

    fn seat(&mut self, desk: Box<Desk>) {
        if let Source::Path(path) = &desk.character().source {
            self.recent.retain(|known| known != path);
            self.recent.insert(0, path.clone());
            self.recent.truncate(MOST_RECENT);
            if let Some(folder) = &self.state {
                let lines: Vec<String> = self.recent.iter().map(|path| path.display().to_string()).collect();
                // Nothing is lost with it but a list.
                let _ = crate::keep::write_bytes(&folder.join("recent"), lines.join("\n").as_bytes());
            }
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.forget();
        }
        self.easel.clear();
        self.gallery = Gallery::default();
        self.desk = Some(desk);
    }

    /// Opens a recipe with its maps on the character that is open.
    pub fn open_recipe(&mut self, path: &Path) {
        let Some(desk) = &mut self.desk else {
            let text = format!("{}: open its character first", path.display());
            return self.notices.push(Notice { text, is_error: true });
        };
        match Document::open_recipe(desk.document.character().clone(), path) {
            Ok(other) => {
                desk.document.adopt_all("Open recipe", &other);
                desk.recipe_path = path.display().to_string();
                desk.document.mark_saved();
            }
            Err(error) => desk.complain(error),
        }
    }

    /// One picture of the window.
    pub fn show(&mut self, ui: &mut egui::Ui) {
        let context = ui.ctx().clone();
        if !std::mem::replace(&mut self.is_styled, true) {
            // Notes are to be read too.
            let small = || (egui::TextStyle::Small, egui::FontId::proportional(11.0));
            context.all_styles_mut(|style| style.text_styles.extend([small()]));
        }
        self.take_opened();
        while let Ok(arrived) = self.arriving.1.try_recv() {
            match arrived {
                Ok(files) => self.take_files(files, &context),
                Err(text) => self.notices.push(Notice { text, is_error: true }),
            }
        }
        self.drops(&context);
        self.keys(&context);
        if let Some(desk) = &mut self.desk {
            let seconds = f64::from(context.input(|input| input.stable_dt).min(0.1));
            desk.advance(seconds);
            desk.keep_up(&context);
            self.notices.append(&mut desk.notices);
            if desk.is_playing || desk.is_live || desk.crew.is_busy() {
                context.request_repaint();
            }
            if let Some(recovery) = &mut self.recovery
                && let Err(error) = recovery.keep(&desk.document)
            {
                self.notices.push(Notice { text: error.to_string(), is_error: true });
                self.recovery = None;
            }
        }
        #[cfg(target_arch = "wasm32")]
        crate::browser::announce(&self.title(), self.is_busy());
        egui::Panel::top("bar").show(ui, |ui| self.bar(ui));
        self.tell(ui);
        if self.desk.is_some() {
            egui::Panel::bottom("time").show(ui, |ui| {
                if let Some(desk) = &mut self.desk {
                    timeline::show(ui, desk);
                }
            });
        }
        egui::CentralPanel::default().show(ui, |ui| match &mut self.desk {
            None => self.welcome(ui),
            Some(desk) => {
                let mut panels = Panels { desk, easel: &mut self.easel, wanted: None };
                self.panes.ui(&mut panels, ui);
                if let Some(wanted) = panels.wanted {
                    self.panes.make_active(|_, tile| matches!(tile, egui_tiles::Tile::Pane(pane) if *pane == wanted));
                }
            }
        });
        self.show_tour(&context);
    }

    fn bar(&mut self, ui: &mut egui::Ui) {
        let context = ui.ctx().clone();
        ui.horizontal(|ui| {
            ui.strong(words::TITLE);
            if ui.button(words::bar::OPEN).on_hover_text(words::bar::OPEN_TIP).clicked() {
                self.ask_for_file(&context);
            }
            let mut chosen = None;
            ui.menu_button(words::bar::GALLERY, |ui| {
                for exhibit in sinew_zoo::names() {
                    if ui.button(style::title(exhibit.name)).on_hover_text(exhibit.about).clicked() {
                        chosen = Some(exhibit.name);
                        ui.close();
                    }
                }
            })
            .response
            .on_hover_text(words::bar::GALLERY_TIP);
            if let Some(name) = chosen {
                self.open_built_in(name, &context);
            }
            if let Some(desk) = &mut self.desk {
                if ui.button(words::bar::SAVE).on_hover_text(words::bar::SAVE_TIP).clicked() {
                    keep::save(desk);
                }
                let undo = desk.document.history().undoable().map(str::to_owned);
                let redo = desk.document.history().redoable().map(str::to_owned);
                let button = ui.add_enabled(undo.is_some(), egui::Button::new(words::bar::UNDO));
                if button.on_hover_text(undo.unwrap_or_default()).clicked() {
                    desk.document.undo();
                }
                let button = ui.add_enabled(redo.is_some(), egui::Button::new(words::bar::REDO));
                if button.on_hover_text(redo.unwrap_or_default()).clicked() {
                    desk.document.redo();
                }
                ui.separator();
                ui.label(desk.character().source.title());
                if desk.document.is_unsaved() {
                    ui.label(words::bar::UNSAVED);
                }
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button(words::bar::TOUR).on_hover_text(words::bar::TOUR_TIP).clicked() {
                    self.tour = Some(0);
                }
                if ui.button(words::bar::THEME).clicked() {
                    let is_dark = context.global_style().visuals.dark_mode;
                    context.set_theme(if is_dark { egui::Theme::Light } else { egui::Theme::Dark });
                }
                if let Some(arrival) = &self.opening {
                    let share = arrival.done as f32 / STEPS as f32;
                    ui.add(egui::ProgressBar::new(share).desired_width(260.0).text(arrival.what));
                    ui.label(words::welcome::LOADING);
                }
            });
        });
    }

    /// What people are told, newest first, until they have read it.
    fn tell(&mut self, ui: &mut egui::Ui) {
        if self.notices.is_empty() {
            return;
        }
        egui::Panel::bottom("notices").show(ui, |ui| {
            let mut read = None;
            egui::ScrollArea::vertical().max_height(72.0).show(ui, |ui| {
                for (index, notice) in self.notices.iter().enumerate().rev() {
                    ui.horizontal(|ui| {
                        if ui.small_button(words::CLOSE).clicked() {
                            read = Some(index);
                        }
                        let text = egui::RichText::new(&notice.text);
                        let color = ui.visuals().error_fg_color;
                        ui.add(egui::Label::new(if notice.is_error { text.color(color) } else { text }).wrap());
                    });
                }
            });
            if let Some(index) = read {
                self.notices.remove(index);
            }
        });
    }

    fn welcome(&mut self, ui: &mut egui::Ui) {
        let context = ui.ctx().clone();
        let (mut path, mut built_in, mut restored, mut discarded) = (None, None, None, None);
        ui.vertical_centered(|ui| {
            ui.add_space(40.0);
            ui.heading(words::welcome::HEADING);
            ui.label(words::welcome::TEXT);
            ui.add_space(12.0);
            self.gallery.keep_up(&context);
            ui.horizontal_wrapped(|ui| {
                for exhibit in sinew_zoo::names() {
                    let name = style::title(exhibit.name);
                    // A tab has no thread to draw on while nothing is open.
                    let response = match cfg!(target_arch = "wasm32") {
                        true => ui.button(name),
                        false => card(ui, self.gallery.of(exhibit.name), &name, 118.0),
                    };
                    if response.on_hover_text(exhibit.about).clicked() {
                        built_in = Some(exhibit.name);
                    }
                }
            });
            if !self.left.is_empty() {
                ui.add_space(16.0);
                ui.strong(words::welcome::LEFT);
                for (index, left) in self.left.iter().enumerate() {
                    ui.horizontal(|ui| {
                        ui.label(left.source.title());
                        if ui.button(words::welcome::RESTORE).clicked() {
                            restored = Some(index);
                        }
                        if ui.button(words::welcome::DISCARD).clicked() {
                            discarded = Some(index);
                        }
                    });
                }
            }
            if !self.recent.is_empty() {
                ui.add_space(16.0);
                ui.strong(words::welcome::RECENT);
                for known in &self.recent {
                    if ui.button(known.display().to_string()).clicked() {
                        path = Some(known.clone());
                    }
                }
            }
        });
        if let Some(path) = path {
            self.open(&path, &context);
        }
        if let Some(name) = built_in {
            self.open_built_in(name, &context);
        }
        if let Some(index) = discarded {
            self.left.remove(index).discard();
        }
        if let Some(index) = restored {
            let left = self.left.remove(index);
            self.begin_opening(Opening::again(left.clone()), Some(left), &context);
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn drops(&mut self, context: &egui::Context) {
        let dropped = context.input(|input| input.raw.dropped_files.clone());
        if !dropped.is_empty() {
            crate::browser::files::take(dropped, self.arriving.0.clone(), context.clone());
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn ask_for_file(&mut self, context: &egui::Context) {
        let accepted = ".glb,.gltf,.vrm,.bin,.png,.jpg,.jpeg,.toml,.json,.zip";
        crate::browser::files::choose(accepted, self.arriving.0.clone(), context.clone());
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn drops(&mut self, context: &egui::Context) {
        for file in context.input(|input| input.raw.dropped_files.clone()) {
            if file.path().extension().is_some_and(|extension| extension == "toml") {
                self.open_recipe(file.path());
            } else {
                self.open(file.path(), context);
            }
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn ask_for_file(&mut self, context: &egui::Context) {
        let chosen = rfd::FileDialog::new().add_filter("Characters", &handed::CHARACTERS).pick_file();
        if let Some(path) = chosen {
            self.open(&path, context);
        }
    }

    fn keys(&mut self, context: &egui::Context) {
        let pressed = |shortcut: &KeyboardShortcut| context.input_mut(|input| input.consume_shortcut(shortcut));
        if pressed(&OPEN) {
            self.ask_for_file(context);
        }
        // Redo first: undo's keys are among its own.
        let (redo, undo, save) = (pressed(&REDO), pressed(&UNDO), pressed(&SAVE));
        let Some(desk) = &mut self.desk else { return };
        if redo {
            desk.document.redo();
        }
        if undo {
            desk.document.undo();
        }
        if save {
            keep::save(desk);
        }
        if context.egui_wants_keyboard_input() {
            return;
        }
        let down = |key: Key| context.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        if down(Key::Space) {
            desk.is_playing = !desk.is_playing;
        }
        if down(Key::ArrowLeft) {
            timeline::step(desk, -timeline::STEP);
        }
        if down(Key::ArrowRight) {
            timeline::step(desk, timeline::STEP);
        }
        if down(Key::F) {
            desk.frame_all();
        }
        if down(Key::B) {
            desk.is_painting = !desk.is_painting && desk.map.is_some();
        }
        if down(Key::K) {
            desk.showing.skeleton = !desk.showing.skeleton;
        }
        if down(Key::G) {
            let ghost = desk.showing.compare == Compare::Ghost;
            desk.showing.compare = if ghost { Compare::Result } else { Compare::Ghost };
        }
        if down(Key::H) {
            let heat = desk.showing.colour == Colour::Displacement;
            desk.showing.colour = if heat { Colour::Material } else { Colour::Displacement };
        }
        if down(Key::O) {
            desk.showing.onion = !desk.showing.onion;
        }
        if down(Key::L) {
            desk.toggle_live();
        }
        if down(Key::R) {
            desk.toggle_recording();
        }
        if down(Key::OpenBracket) {
            desk.brush.radius = (desk.brush.radius * 0.8).max(0.005);
        }
        if down(Key::CloseBracket) {
            desk.brush.radius = (desk.brush.radius * 1.25).min(0.5);
        }
        for (key, view) in
            [(Key::Num1, View::Front), (Key::Num3, View::Side), (Key::Num7, View::Top), (Key::Num9, View::Back)]
        {
            if down(key) {
                desk.orbit.look_from(view);
            }
        }
    }

    fn show_tour(&mut self, context: &egui::Context) {
        let Some(page) = self.tour else { return };
        let Some((heading, text)) = words::TOUR.get(page) else {
            self.tour = None;
            return;
        };
        let mut next = Some(page);
        egui::Window::new(words::bar::TOUR)
            .collapsible(false)
            .resizable(false)
            .anchor(egui::Align2::CENTER_BOTTOM, [0.0, -70.0])
            .show(context, |ui| {
                ui.set_width(360.0);
                ui.heading(*heading);
                ui.label(*text);
                ui.horizontal(|ui| {
                    let last = page + 1 == words::TOUR.len();
                    if ui.button(if last { words::TOUR_END } else { words::TOUR_NEXT }).clicked() {
                        next = if last { None } else { Some(page + 1) };
                    }
                    if !last && ui.button(words::TOUR_SKIP).clicked() {
                        next = None;
                    }
                    ui.label(format!("{} / {}", page + 1, words::TOUR.len()));
                });
            });
        self.tour = next;
        if let (None, Some(folder)) = (next, &self.state) {
            // At worst it is shown once more.
            let _ = crate::keep::write_bytes(&folder.join("toured"), b"");
        }
    }
}

impl eframe::App for Studio {
    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        self.show(ui);
    }

    fn on_exit(&mut self) {
        if let Some(recovery) = &mut self.recovery
            && self.desk.as_ref().is_none_or(|desk| !desk.document.is_unsaved())
        {
            recovery.forget();
        }
    }
}

/// The files opened last.
fn recent(folder: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(folder.join("recent")).unwrap_or_default();
    text.lines().map(PathBuf::from).filter(|path| path.exists()).take(MOST_RECENT).collect()
}

/// Panels as they stand at first: what is done left, the picture in the middle, what is seen right.
fn panes() -> egui_tiles::Tree<Pane> {
    let mut tiles = egui_tiles::Tiles::default();
    let mut tabs = |panes: &[Pane]| {
        let children = panes.iter().map(|&pane| tiles.insert_pane(pane)).collect();
        tiles.insert_tab_tile(children)
    };
    let left = tabs(&[Pane::Style, Pane::Effects, Pane::Corrections, Pane::Paint, Pane::Draw]);
    let right = tabs(&[Pane::Bones, Pane::Why, Pane::Check, Pane::Keep]);
    let middle = tiles.insert_pane(Pane::Picture);
    let root = tiles.insert_horizontal_tile(vec![left, middle, right]);
    if let Some(egui_tiles::Tile::Container(egui_tiles::Container::Linear(linear))) = tiles.get_mut(root) {
        linear.shares.set_share(left, 0.62);
        linear.shares.set_share(middle, 1.6);
        linear.shares.set_share(right, 0.62);
    }
    egui_tiles::Tree::new(egui::Id::unique("panes"), root, tiles)
}

/// Panels over the desk.
struct Panels<'a> {
    desk: &'a mut Desk,
    easel: &'a mut Easel,
    /// A panel to be brought to the front.
    wanted: Option<Pane>,
}

impl egui_tiles::Behavior<Pane> for Panels<'_> {
    fn pane_ui(&mut self, ui: &mut egui::Ui, _: egui_tiles::TileId, pane: &mut Pane) -> egui_tiles::UiResponse {
        let desk = &mut *self.desk;
        if *pane == Pane::Picture {
            self.easel.show(ui, desk);
            return egui_tiles::UiResponse::None;
        }
        egui::Frame::new().inner_margin(6.0).show(ui, |ui| {
            if *pane == Pane::Bones {
                return bones::show(ui, desk);
            }
            egui::ScrollArea::vertical().id_salt(pane.title()).auto_shrink([false, false]).show(ui, |ui| {
                ui.spacing_mut().slider_width = 90.0;
                match pane {
                    Pane::Style => style::show(ui, desk),
                    Pane::Effects => effects::show(ui, desk),
                    Pane::Corrections => corrections::show(ui, desk),
                    Pane::Paint => paint::show(ui, desk),
                    Pane::Draw => draw::show(ui, desk),
                    Pane::Why => {
                        if why::show(ui, desk) {
                            self.wanted = Some(Pane::Effects);
                        }
                    }
                    Pane::Check => check::show(ui, desk),
                    Pane::Keep => keep::show(ui, desk),
                    Pane::Picture | Pane::Bones => {}
                }
            });
        });
        egui_tiles::UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> egui::WidgetText {
        pane.title().into()
    }

    fn simplification_options(&self) -> egui_tiles::SimplificationOptions {
        egui_tiles::SimplificationOptions { all_panes_must_have_tabs: false, ..Default::default() }
    }
}
