//! A document that is open, with all that its panels share.

use crate::brush::{Brush, Canvas, Stroke};
use crate::character::Character;
use crate::document::{ChangeError, Document};
use crate::jobs::{Baked, Crew, Done, Export, Finding, Job, Task};
use crate::opening::Opened;
use crate::pictures::{Kind, Reel};
use crate::player::{Player, Span};
use crate::shake::Grab;
use crate::shell::drawing::Drawing;
use crate::shell::gizmo::Held;
use crate::shell::orbit::Orbit;
use crate::shell::pick::Picked;
use crate::shell::portraits::Portraits;
use crate::why::Why;
use eframe::egui;
use glam::DVec3;
use sinew::{BoneId, DeformedMesh};
use sinew_liven::Style;
use sinew_render::View;
use std::path::PathBuf;
use std::sync::Arc;
use web_time::Instant;

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compare {
    /// The result alone.
    #[default]
    Result,
    /// The original alone.
    Base,
    /// Two pictures.
    SideBySide,
    /// One picture, the original left of a line.
    Wipe,
    /// The original as a veil.
    Ghost,
}

/// What the skin is coloured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// Its materials.
    #[default]
    Material,
    /// How far effects move it.
    Displacement,
    /// How much effects stretch it.
    Strain,
    /// The map that is painted.
    Map,
    /// What its parts are.
    Anatomy,
}

/// How the picture is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Showing {
    /// What is compared.
    pub compare: Compare,
    /// Colours.
    pub colour: Colour,
    /// Bones.
    pub skeleton: bool,
    /// Their names.
    pub names: bool,
    /// Edges.
    pub wire: bool,
    /// The centre of the selected bone.
    pub centre: bool,
    /// Moments before and after, while it stands still.
    pub onion: bool,
    /// Where the wipe is, as a share of the width.
    pub wipe: f32,
}

impl Default for Showing {
    fn default() -> Self {
        Self {
            compare: Compare::Result,
            colour: Colour::Material,
            skeleton: false,
            names: false,
            wire: false,
            centre: false,
            onion: false,
            wipe: 0.5,
        }
    }
}

/// What a job was begun for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// A style; its name is what the step is called.
    Style(Style),
    /// Gains for this recipe.
    Gains(Box<sinew::Recipe>),
    /// Findings, of this state of the document.
    Findings(u64),
    /// A file to write.
    File(PathBuf),
    /// A picture or film to write.
    Picture(PathBuf),
}

/// What pictures and films are to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filming {
    /// Which.
    pub kind: Kind,
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Frames per second.
    pub fps: f64,
}

impl Default for Filming {
    fn default() -> Self {
        Self { kind: Kind::Still, size: [960, 540], fps: 30.0 }
    }
}

/// A bone in the hand, and how far from the eye.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// What is held.
    pub grab: Grab,
    /// Along the line of sight, in scene units.
    pub depth: f64,
}

/// What people are told, and whether it is bad news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// In words.
    pub text: String,
    /// Whether something went wrong.
    pub is_error: bool,
}

/// A document that is open.
#[derive(Debug)]
pub struct Desk {
    /// The document.
    pub document: Document,
    /// It, in motion.
    pub player: Player,
    /// The skin at rest, to be painted on.
    pub canvas: Canvas,
    /// Jobs on it.
    pub crew: Crew,
    /// What each was begun for.
    pub purposes: Vec<(u64, Purpose)>,
    /// The camera.
    pub orbit: Orbit,
    /// How the picture is made.
    pub showing: Showing,
    /// Height of the ground.
    pub ground: f64,
    /// Seconds on the clip's clock.
    pub time: f64,
    /// Whether it plays.
    pub is_playing: bool,
    /// Times as fast.
    pub speed: f64,
    /// What was clicked.
    pub picked: Option<Picked>,
    /// The bone that is selected.
    pub bone: Option<BoneId>,
    /// Why the clicked point moves, at a state of the document and a time.
    pub why: Option<(u64, usize, f64, Why)>,
    /// The effect that bones have gains of.
    pub effect: usize,
    /// Effects that are not heard.
    pub muted: Vec<bool>,
    /// The only one heard.
    pub solo: Option<usize>,
    /// Whether poses arrive one by one, and the pointer shakes bones.
    pub is_live: bool,
    /// The bone in the hand.
    pub hand: Option<Hand>,
    /// The bone's centre, while it is dragged.
    pub held_centre: Option<Held>,
    /// Seconds since the last picture.
    elapsed: f64,
    /// Whether the pointer paints.
    pub is_painting: bool,
    /// The brush.
    pub brush: Brush,
    /// The map that is painted.
    pub map: Option<String>,
    /// Name of a map to be made.
    pub new_map: String,
    /// What is drawn over the picture.
    pub drawing: Drawing,
    /// The stroke being painted, and its gesture.
    pub stroke: Option<(Stroke, u64)>,
    /// Findings, and the state they are of.
    pub findings: Option<(u64, Vec<Finding>)>,
    /// How a file is exported.
    pub export: Export,
    /// The last bake.
    pub baked: Option<Baked>,
    /// Where the recipe is saved.
    pub recipe_path: String,
    /// Where the file is written.
    pub output_path: String,
    /// What pictures are to be.
    pub filming: Filming,
    /// What was said of the last style.
    pub account: Vec<String>,
    /// The text of the recipe, while it is edited by hand.
    pub edited: Option<String>,
    /// What bones are looked for.
    pub bone_filter: String,
    /// Displacement of the clicked vertex over the clip, at a state of the document.
    pub graph: Graph,
    /// The widget that is dragged, and the gesture it makes.
    gesture: Option<(egui::Id, u64)>,
    /// The state that the player plays.
    followed: Option<(u64, Vec<bool>, Option<usize>)>,
    /// Small pictures of this character.
    pub portraits: Portraits,
    /// What is to be told.
    pub notices: Vec<Notice>,
    /// Skins of moments before and after, in the order of [`ONIONS`]; empty where they are not shown.
    pub onions: Vec<DeformedMesh>,
    /// How long following the last change took, and the last frame, in milliseconds.
    pub costs: [f64; 2],
}

/// A vertex' displacement over the clip, made a few samples at a time.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// State of the document, clip and vertex that it is of.
    pub of: Option<(u64, usize, usize)>,
    /// In sizes.
    pub samples: Vec<f64>,
}

/// Seconds from the moment that is shown to those of onion skins, their colours (linear), and how opaque they are.
pub const ONIONS: [(f64, [f32; 3], f32); 4] = [
    (-0.2, [0.85, 0.30, 0.02], 0.16),
    (-0.1, [0.85, 0.30, 0.02], 0.28),
    (0.1, [0.02, 0.45, 0.25], 0.28),
    (0.2, [0.02, 0.45, 0.25], 0.16),
];

/// Samples of a graph.
pub const GRAPHED: usize = 96;
/// Of those, made between two pictures.
const AT_ONCE: usize = 6;

impl Desk {
    /// Sits down to what was opened.
    pub fn of(opened: Opened) -> Self {
        let Opened { document, mut player, canvas } = opened;
        let title = document.character().source.title();
        let recipe_path = document.default_path();
        let output_path = recipe_path.with_file_name(format!("{title}-lively.glb"));
        let start = player.span().start;
        player.frame(start);
        let mut desk = Self {
            canvas,
            player,
            crew: Crew::default(),
            purposes: Vec::new(),
            orbit: Orbit::around(DVec3::ZERO, 1.0, View::ThreeQuarter),
            showing: Showing::default(),
            ground: 0.0,
            time: start,
            is_playing: true,
            speed: 1.0,
            picked: None,
            bone: None,
            why: None,
            effect: 0,
            muted: Vec::new(),
            solo: None,
            is_live: false,
            hand: None,
            held_centre: None,
            elapsed: 0.0,
            is_painting: false,
            brush: Brush::default(),
            map: document.maps().keys().next().cloned(),
            new_map: String::new(),
            drawing: Drawing::default(),
            stroke: None,
            findings: None,
            export: Export::default(),
            baked: None,
            recipe_path: recipe_path.display().to_string(),
            output_path: output_path.display().to_string(),
            filming: Filming::default(),
            account: Vec::new(),
            edited: None,
            bone_filter: String::new(),
            graph: Graph::default(),
            gesture: None,
            followed: None,
            portraits: Portraits::default(),
            notices: Vec::new(),
            onions: Vec::new(),
            costs: [0.0; 2],
            document,
        };
        let warnings = desk.document.character().warnings.clone();
        warnings.into_iter().for_each(|text| desk.notices.push(Notice { text, is_error: false }));
        desk.frame_all();
        desk
    }

    /// The character.
    pub fn character(&self) -> &Arc<Character> {
        self.document.character()
    }

    /// Places the camera so that the whole clip is seen, and the ground under it.
    pub fn frame_all(&mut self) {
        let Span { start, length, .. } = self.player.span();
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let character = Arc::clone(self.document.character());
        for step in 0..8 {
            let mesh = self.player.frame(start + length * f64::from(step) / 8.0).base;
            for piece in &character.pieces {
                let origin = mesh.origins[piece.character];
                for place in mesh.positions[piece.vertices.clone()].iter().map(|p| p.as_dvec3() + origin) {
                    (low, high) = (low.min(place), high.max(place));
                }
            }
        }
        if low.is_finite() && high.is_finite() {
            self.ground = low.y;
            let orbit = Orbit::around(0.5 * (low + high), 0.5 * low.distance(high), View::ThreeQuarter);
            self.orbit = Orbit { azimuth: self.orbit.azimuth, elevation: self.orbit.elevation, ..orbit };
        }
    }

    /// Tells people something.
    pub fn tell(&mut self, text: impl Into<String>) {
        self.notices.push(Notice { text: text.into(), is_error: false });
    }

    /// Tells people what went wrong.
    pub fn complain(&mut self, text: impl ToString) {
        let text = text.to_string();
        if self.notices.last().is_none_or(|last| last.text != text) {
            self.notices.push(Notice { text, is_error: true });
        }
    }

    /// Does something to the document; what is refused is told.
    pub fn change(&mut self, what: impl FnOnce(&mut Document) -> Result<(), ChangeError>) {
        if let Err(error) = what(&mut self.document) {
            self.complain(error);
        }
    }

    /// The gesture of a widget: the same as long as it is held.
    pub fn gesture_of(&mut self, response: &egui::Response) -> Option<u64> {
        if !(response.dragged() || response.drag_stopped()) {
            return None;
        }
        match self.gesture {
            Some((id, gesture)) if id == response.id && !response.drag_started() => Some(gesture),
            _ => {
                let gesture = self.document.gesture();
                self.gesture = Some((response.id, gesture));
                Some(gesture)
            }
        }
    }

    /// Begins a job.
    pub fn begin(&mut self, job: Job, purpose: Purpose, context: &egui::Context) {
        let context = context.clone();
        let number = self.crew.begin(Task::new(&self.document, job), move || context.request_repaint());
        self.purposes.push((number, purpose));
    }

    /// Whether a job of a kind is under way, and how far it is.
    pub fn progress(&self, is_it: impl Fn(&Purpose) -> bool) -> Option<crate::jobs::Progress> {
        self.purposes.iter().find(|(_, purpose)| is_it(purpose)).and_then(|(number, _)| self.crew.progress(*number))
    }

    /// Takes what jobs have come to, follows the document, and looks for what is to be begun.
    pub fn keep_up(&mut self, context: &egui::Context) {
        for (number, done) in self.crew.finished() {
            let Some(place) = self.purposes.iter().position(|(other, _)| *other == number) else { continue };
            let (_, purpose) = self.purposes.swap_remove(place);
            self.take(purpose, done);
        }
        let state = (self.document.history().revision(), self.muted.clone(), self.solo);
        if self.followed.as_ref() != Some(&state) {
            self.player.listen(self.muted.clone(), self.solo);
            let start = Instant::now();
            if let Err(error) = self.player.follow(&self.document) {
                self.complain(error);
            }
            self.costs[0] = start.elapsed().as_secs_f64() * 1e3;
            self.followed = Some(state);
        }
        if self.player.clip() > 0 && self.player.clip() >= self.document.clip_count() {
            // It was made by hand, and undone.
            self.choose_clip(0);
        }
        let is_solving = self.purposes.iter().any(|(_, purpose)| matches!(purpose, Purpose::Gains(_)));
        let is_held = context.input(|input| input.pointer.any_down());
        if !is_solving && !is_held && self.document.clip_count() > 0 && !self.player.is_solved(&self.document) {
            let recipe = self.document.recipe().recipe().clone();
            self.begin(Job::Solve, Purpose::Gains(Box::new(recipe)), context);
        }
        let (character, clip) = (Arc::clone(self.document.character()), self.pictured_clip());
        self.portraits.keep_up(&character, clip, !is_held && !self.crew.is_busy(), context);
    }

    /// The clip of the small pictures: of a recorded one there are none, and those of the first are shown.
    pub fn pictured_clip(&self) -> usize {
        let clip = self.player.clip();
        if clip < self.character().asset.clips.len() { clip } else { 0 }
    }

    /// The picture or film of what is shown: seen from the side that people look from, with the whole clip in view.
    pub fn reel(&self) -> Reel {
        let Filming { kind, size, fps } = self.filming;
        let degrees = |angle: f64| (angle.to_degrees() * 10.0).round() / 10.0;
        let yaw = degrees(self.orbit.azimuth).rem_euclid(360.0);
        Reel {
            kind,
            clip: self.player.clip(),
            time: (self.time * 1e3).round() / 1e3,
            view: [yaw, degrees(self.orbit.elevation)],
            size,
            fps,
            ghost: self.showing.compare == Compare::Ghost,
            skeleton: self.showing.skeleton,
            wire: self.showing.wire,
        }
    }

    /// Lets the player follow at the next chance, whether or not the document has changed.
    pub fn follow_anew(&mut self) {
        self.followed = None;
    }

    fn take(&mut self, purpose: Purpose, done: Done) {
        match (purpose, done) {
            (_, Done::Failed(why)) => self.complain(why),
            (Purpose::Style(style), Done::Livened { text, account, gains }) => {
                self.change(|document| document.restyle(&format!("Style {style}"), &text));
                let recipe = self.document.recipe().recipe().clone();
                self.player.take_gains(&recipe, gains);
                self.account = account;
                self.follow_anew();
            }
            (Purpose::Gains(recipe), Done::Solved(gains)) => {
                self.player.take_gains(&recipe, gains);
                self.follow_anew();
            }
            (Purpose::Findings(state), Done::Checked(findings)) => self.findings = Some((state, findings)),
            (Purpose::File(path), Done::Baked(baked)) => {
                match crate::keep::write_bytes(&path, &baked.bytes) {
                    Ok(()) => self.tell(format!("{} {}", crate::words::keep::EXPORTED, path.display())),
                    Err(error) => self.complain(error),
                }
                self.baked = Some(baked);
            }
            (Purpose::Picture(path), Done::Pictured(bytes)) => match crate::keep::write_bytes(&path, &bytes) {
                Ok(()) => self.tell(format!("{} {}", crate::words::pictures::WROTE, path.display())),
                Err(error) => self.complain(error),
            },
            _ => {}
        }
    }

    /// Time goes on by so many seconds.
    pub fn advance(&mut self, seconds: f64) {
        self.elapsed = seconds;
        if !self.is_playing {
            return;
        }
        let Span { start, length, .. } = self.player.span();
        if length > 0.0 {
            self.time = start + (self.time - start + seconds * self.speed).rem_euclid(length);
        }
    }

    /// The frame at the time that is.
    pub fn draw_frame(&mut self) {
        let start = Instant::now();
        self.onions.clear();
        if self.showing.onion && !self.is_playing && !self.is_live {
            for (after, ..) in ONIONS {
                let time = self.time + after;
                let time = self.player.motion().map_or(time, |motion| motion.sample_time(time));
                let mesh = self.player.frame(time).result.clone();
                self.onions.push(mesh);
            }
        }
        if self.is_live {
            let (elapsed, grab) = (std::mem::take(&mut self.elapsed), self.hand.map(|hand| hand.grab));
            let outcome = self.player.shake(self.time, elapsed, grab.as_ref()).map(|_| ());
            if let Err(error) = outcome {
                self.complain(error);
                self.stop_live();
            }
        } else {
            self.player.frame(self.time);
        }
        self.costs[1] = start.elapsed().as_secs_f64() * 1e3;
    }

    /// Poses one by one, or the clip as it is again; what was recorded is kept.
    pub fn toggle_live(&mut self) {
        if self.is_live {
            self.keep_take();
            self.stop_live();
        } else {
            self.is_live = true;
        }
    }

    fn stop_live(&mut self) {
        (self.is_live, self.hand) = (false, None);
        self.player.stop_shaking();
    }

    /// Begins to record, or keeps what was recorded and shows it.
    pub fn toggle_recording(&mut self) {
        if self.player.recorded().is_none() {
            self.is_live = true;
            self.player.record();
        } else if self.keep_take() {
            self.stop_live();
            self.choose_clip(self.document.clip_count() - 1);
            self.is_playing = true;
        }
    }

    /// A clip of what was recorded; true where there is one.
    fn keep_take(&mut self) -> bool {
        let name = self.document.free_clip_name(crate::words::live::TAKE);
        let Some(take) = self.player.take(&name) else { return false };
        let kept = self.document.add_take(take);
        kept.map_err(|error| self.complain(error)).is_ok()
    }

    /// Another clip.
    pub fn choose_clip(&mut self, clip: usize) {
        self.hand = None;
        if let Err(error) = self.player.choose_clip(&self.document, clip) {
            self.complain(error);
        }
        self.time = self.player.span().start;
        self.follow_anew();
    }

    /// A few more samples of the clicked vertex' displacement; true while there are more to come.
    pub fn graph_on(&mut self) -> bool {
        let Some(picked) = self.picked else { return false };
        let of = (self.document.history().revision(), self.player.clip(), picked.vertex());
        if self.graph.of != Some(of) {
            self.graph = Graph { of: Some(of), samples: Vec::new() };
        }
        let rig = Arc::clone(self.document.rig());
        let Some(character) = rig.character_of_point(rig.point(picked.vertex())) else { return false };
        let size = rig.characters()[character].size;
        let Span { start, length, .. } = self.player.span();
        for _ in 0..AT_ONCE {
            let index = self.graph.samples.len();
            if index > GRAPHED {
                return false;
            }
            let frame = self.player.frame(start + length * index as f64 / GRAPHED as f64);
            let place = |mesh: &sinew::DeformedMesh| mesh.world_position(character, picked.vertex());
            self.graph.samples.push(place(frame.result).distance(place(frame.base)) / size);
        }
        true
    }
}
