//! What takes longer than a moment, away from the window: each job is given all it needs, and gives plain data back.

use crate::character::Character;
use crate::document::{ChangeError, Document};
use crate::drawn::{Drawn, posed_clip, takes_file};
use crate::pictures::Reel;
use crate::player::Gains;
use crate::portrait::{Portrait, Subject};
use serde::{Deserialize, Serialize};
use sinew::recipe::Strength;
use sinew::strength::{Solved, solve};
use sinew::{MotionSettings, RecipeFile, Rig};
use sinew_check::limits::{LIMITS, Unit};
use sinew_check::{Checker, ClipReport, Location};
use sinew_export::{BakedFile, Options, Shipping, Tolerance, bake_shipped};
use sinew_gltf::map_file::MapFile;
use sinew_gltf::{Asset, Packing, RawAsset, spring_nodes};
use sinew_liven::{Livened, Style, Wishes, liven};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Job {
    /// A recipe that suits the character.
    Liven(Style, Option<Strength>),
    /// Gains for the strengths that the recipe asks for.
    Solve,
    /// What people would see that is wrong, in all clips.
    Check,
    /// The file with its effects.
    Bake(Export),
    /// A small picture, on a clip by number.
    Portrait(Subject, usize),
    /// A picture or a film.
    Reel(Reel),
}

/// How a file is exported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Export {
    /// Share of the size that positions may differ by.
    pub tolerance: f64,
    /// Packed by meshopt.
    pub meshopt: bool,
    /// Bytes it may have at most.
    pub max_bytes: Option<u64>,
}

impl Default for Export {
    fn default() -> Self {
        Self { tolerance: 1e-3, meshopt: false, max_bytes: None }
    }
}

/// What a job has come to.
#[derive(Clone, Debug)]
pub enum Done {
    /// The text of a recipe, and an account of it in an animator's words.
    Livened {
        /// Recipe with its reasons.
        text: String,
        /// What was done, line by line.
        account: Vec<String>,
        /// Gains for its strengths.
        gains: Gains,
    },
    /// Gains.
    Solved(Gains),
    /// Findings.
    Checked(Vec<Finding>),
    /// A file.
    Baked(Baked),
    /// A small picture.
    Portrait(Portrait),
    /// The file of a picture or a film.
    Pictured(Vec<u8>),
    /// Why nothing came of it.
    Failed(String),
}

/// A file, ready to be written.
#[derive(Clone, Debug)]
pub struct Baked {
    /// The whole file (.glb).
    pub bytes: Vec<u8>,
    /// What there is to say, line by line.
    pub lines: Vec<String>,
    /// Targets, and the largest error with so many, as a share of the size.
    pub trade: Vec<(usize, f64)>,
}

/// Something that people would see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is, in words.
    pub text: String,
    /// Whether it is within what is allowed.
    pub passed: bool,
    /// The clip, by number.
    pub clip: usize,
    /// When it is worst.
    pub time: Option<f64>,
    /// The vertex where it is worst, among the rig's.
    pub vertex: Option<usize>,
}

/// All that a job needs.
#[derive(Clone, Debug)]
pub struct Task {
    /// On whom.
    pub character: Arc<Character>,
    pub(crate) recipe: RecipeFile,
    pub(crate) maps: Vec<MapFile>,
    pub(crate) drawn: Arc<Drawn>,
    pub(crate) job: Job,
}

impl Task {
    /// A job on the document as it is.
    pub fn new(document: &Document, job: Job) -> Self {
        // Maps of a document fit its character.
        let maps = document.map_files().unwrap_or_default();
        let (character, drawn) = (Arc::clone(document.character()), Arc::clone(document.drawn()));
        Self { character, recipe: document.recipe().clone(), maps, drawn, job }
    }

    /// Does it. `progress` is told what, how much of it is done, and of how much.
    pub fn run(&self, progress: &(dyn Fn(&str, usize, usize) + Sync)) -> Done {
        self.attempt(progress).unwrap_or_else(Done::Failed)
    }

    fn attempt(&self, progress: &(dyn Fn(&str, usize, usize) + Sync)) -> Result<Done, String> {
        let failed = |error: &dyn std::fmt::Display| error.to_string();
        match &self.job {
            Job::Liven(style, strength) => self.liven(*style, *strength, progress),
            Job::Solve => {
                let asset = self.painted()?;
                let solved = self.recipe.solve(&asset.rig, &asset.clips).map_err(|error| failed(&error))?;
                Ok(Done::Solved(gains(&solved, asset.clips.len())))
            }
            Job::Check => self.check(progress),
            Job::Bake(export) => self.bake(export, progress),
            Job::Portrait(subject, clip) => self.draw_portrait(*subject, *clip),
            Job::Reel(reel) => self.draw_reel(*reel, progress),
        }
    }

    /// The document as it was when the task was made, without its history.
    pub(crate) fn document(&self) -> Result<Document, ChangeError> {
        let mut document = Document::with_recipe(Arc::clone(&self.character), &self.recipe.to_string(), &self.maps)?;
        let maps = document.maps().clone();
        document.set_all(self.recipe.clone(), (*self.drawn).clone(), maps);
        Ok(document)
    }

    /// The character with the poses drawn on its clips and what was painted on it, as the command reads it.
    fn painted(&self) -> Result<Asset, String> {
        let asset = &self.character.asset;
        let mut file = asset.document.clone().ok_or_else(|| format!("{}: lies in no file", asset.name))?;
        for (number, clip) in asset.clips.iter().enumerate() {
            if let Some(posed) = posed_clip(&self.character, &self.drawn, number) {
                file.replace_tracks(number, clip, &posed).map_err(|error| error.to_string())?;
            }
        }
        let mut raw = RawAsset::from_original(asset.name.clone(), file).map_err(|error| error.to_string())?;
        if let Some(takes) = takes_file(&self.character, &self.drawn)? {
            let takes = RawAsset::from_slice(TAKES, &takes).map_err(|error| error.to_string())?;
            raw = raw.with_clips_of(&[takes]).map_err(|error| error.to_string())?;
        }
        raw.paint(&self.maps).map_err(|error| error.to_string())?.check().map_err(|error| error.to_string())
    }

    fn liven(
        &self,
        style: Style,
        strength: Option<Strength>,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<Done, String> {
        let asset = self.painted()?;
        let chosen: Vec<usize> = (0..asset.clips.len()).collect();
        let made = livened(&asset, &chosen, style, strength, progress)?;
        let gains = match &made.solved {
            Some(solved) => gains(solved, asset.clips.len()),
            None => Gains::default(),
        };
        Ok(Done::Livened { text: made.recipe.to_string(), account: made.account.lines(), gains })
    }

    /// A style that was tried on one clip alone: its recipe, and gains for this clip.
    pub(crate) fn styled(&self, style: Style, clip: usize) -> Result<(String, Gains), String> {
        let asset = self.painted()?;
        let made = livened(&asset, &[clip], style, None, &|_, _, _| ())?;
        let gains = match &made.solved {
            Some(solved) => gains(solved, asset.clips.len()),
            None => Gains::default(),
        };
        Ok((made.recipe.to_string(), gains))
    }

    fn bake(&self, export: &Export, progress: &(dyn Fn(&str, usize, usize) + Sync)) -> Result<Done, String> {
        let asset = self.painted()?;
        let chosen: Vec<usize> = (0..asset.clips.len()).collect();
        let options = Options { tolerance: Tolerance::OfSize(export.tolerance), ..Options::default() };
        let packing = export.meshopt.then_some(Packing::Meshopt);
        let shipping = Shipping { packing, max_bytes: export.max_bytes, backend: None };
        let tell = |at: sinew_export::Progress| progress(at.what, at.done, at.total);
        let baked = bake_shipped(&asset, &self.recipe, &chosen, None, &options, &shipping, &tell)
            .map_err(|error| error.to_string())?;
        let bytes = baked.document.to_glb().map_err(|error| error.to_string())?;
        // What cannot be read again is not written.
        Asset::from_slice(&asset.name, &bytes).map_err(|error| error.to_string())?;
        let (lines, trade) = (account(&baked, bytes.len()), trade(&baked));
        Ok(Done::Baked(Baked { bytes, lines, trade }))
    }

    fn check(&self, progress: &(dyn Fn(&str, usize, usize) + Sync)) -> Result<Done, String> {
        let asset = self.painted()?;
        let settings: Vec<_> = asset.clips.iter().map(|clip| (clip, self.recipe.motion(&clip.name))).collect();
        let solved = solve(&asset.rig, self.recipe.recipe(), &settings).map_err(|error| error.to_string())?;
        let mut findings = Vec::new();
        for (index, (clip, settings)) in settings.iter().enumerate() {
            progress("checking", index, asset.clips.len());
            let checker = Checker::new(&asset.rig, solved.recipe(index)).map_err(|error| error.to_string())?;
            let report = checker.clip(clip, settings, CHECKED_FPS, &|_| ()).map_err(|error| error.to_string())?;
            findings.extend(judged(&asset.rig, index, &report));
        }
        Ok(Done::Checked(findings))
    }
}

fn livened(
    asset: &Asset,
    chosen: &[usize],
    style: Style,
    strength: Option<Strength>,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<Livened, String> {
    if asset.clips.is_empty() {
        return Err(format!("{}: there is no clip, and effects add to motion", asset.name));
    }
    let skeleton = asset.rig.skeleton();
    let sprung: Vec<_> = (asset.document.iter().flat_map(|document| spring_nodes(&document.json)))
        .filter_map(|node| skeleton.bone_of_node(node))
        .collect();
    let clips: Vec<_> = asset.clips.iter().map(|clip| (clip, MotionSettings::default())).collect();
    let wishes = Wishes { style, strength, ..Wishes::default() };
    let told = |done: usize, total: usize| progress("trying", done, total);
    liven(&asset.rig, &clips, chosen, &sprung, &wishes, &told).map_err(|error| error.to_string())
}

/// What the file of clips made by hand is called in messages.
const TAKES: &str = "clips made by hand";

/// Frames per second that are looked at.
const CHECKED_FPS: f64 = 30.0;

fn gains(solved: &Solved, clips: usize) -> Gains {
    let of = |clip: usize| solved.recipe(clip).effects.iter().map(|effect| effect.gain).collect();
    Gains { by_clip: (0..clips.max(1)).map(of).collect() }
}

fn account(baked: &BakedFile, bytes: usize) -> Vec<String> {
    let report = &baked.report;
    let mut lines = vec![
        format!("{} clips, {} morph targets", report.clips.len(), report.most_targets()),
        format!("largest error {:.3} % of the size", 100.0 * report.largest_share()),
        format!("{:.2} MB", bytes as f64 / 1e6),
    ];
    lines.extend(baked.strength.iter().map(ToString::to_string));
    lines.extend(baked.added.warnings.iter().map(ToString::to_string));
    lines
}

fn trade(baked: &BakedFile) -> Vec<(usize, f64)> {
    let most = baked.report.groups.iter().max_by_key(|group| group.targets);
    most.map_or_else(Vec::new, |group| {
        group.curve.iter().map(|point| (point.targets, point.largest / group.size)).collect()
    })
}

/// Figures of one clip against what they may be, worst first.
fn judged(rig: &Rig, clip: usize, report: &ClipReport) -> Vec<Finding> {
    let Some(comparison) = &report.comparison else { return Vec::new() };
    let told = |unit: Unit, value: f64| match unit {
        Unit::Share => format!("{:.2} %", 100.0 * value),
        Unit::Ratio => format!("× {value:.2}"),
        Unit::Count => format!("{value:.1}"),
    };
    let finding = |limit: &sinew_check::limits::Limit| {
        let value = (limit.value)(comparison);
        let at = (limit.at)(comparison);
        let text = format!("{}: {} (at most {})", limit.about, told(limit.unit, value), told(limit.unit, limit.most));
        let vertex = at.and_then(|(_, place)| place).and_then(|place| vertex_of(rig, place));
        Finding { text, passed: value <= limit.most, clip, time: at.map(|(time, _)| time), vertex }
    };
    let mut findings: Vec<Finding> = LIMITS.iter().map(finding).collect();
    findings.sort_by_key(|finding| finding.passed);
    findings
}

fn vertex_of(rig: &Rig, place: &Location) -> Option<usize> {
    let part = rig.parts().iter().find(|part| part.node == place.node)?;
    Some(part.primitives.get(place.primitive)?.vertices.start + place.vertex)
}

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// What is being done.
    pub what: String,
    /// How much of it.
    pub done: usize,
    /// Of how much; 0 where that is not known.
    pub total: usize,
}

/// Away from the window: in a worker of the browser.
#[cfg(all(target_arch = "wasm32", feature = "window"))]
use crate::browser::worker::elsewhere;

/// Away from the window: on a thread.
#[cfg(not(target_arch = "wasm32"))]
fn elsewhere(
    task: Task,
    tell: impl Fn(&str, usize, usize) + Send + Sync + 'static,
    end: impl FnOnce(Done) + Send + 'static,
) {
    std::thread::spawn(move || end(task.run(&tell)));
}

/// Where there is neither thread nor window.
#[cfg(all(target_arch = "wasm32", not(feature = "window")))]
fn elsewhere(task: Task, tell: impl Fn(&str, usize, usize) + Send + Sync + 'static, end: impl FnOnce(Done)) {
    end(task.run(&tell));
}

/// Runs jobs on threads of their own, in a browser in a worker, and hands over what comes of them.
#[derive(Debug)]
pub struct Crew {
    sender: Sender<(u64, Done)>,
    receiver: Receiver<(u64, Done)>,
    running: Vec<(u64, Arc<Mutex<Progress>>)>,
    count: u64,
}

impl Default for Crew {
    fn default() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver, running: Vec::new(), count: 0 }
    }
}

impl Crew {
    /// Begins a job, and gives its number. `wake` is called whenever there is something to look at.
    pub fn begin(&mut self, task: Task, wake: impl Fn() + Send + Sync + 'static) -> u64 {
        self.count += 1;
        let number = self.count;
        let progress = Arc::new(Mutex::new(Progress::default()));
        self.running.push((number, Arc::clone(&progress)));
        let sender = self.sender.clone();
        let wake = Arc::new(wake);
        let heard = Arc::clone(&wake);
        let tell = move |what: &str, done: usize, total: usize| {
            *progress.lock().unwrap_or_else(PoisonError::into_inner) = Progress { what: what.to_owned(), done, total };
            heard();
        };
        let end = move |done: Done| {
            // Nobody may be listening any more.
            let _ = sender.send((number, done));
            wake();
        };
        elsewhere(task, tell, end);
        number
    }

    /// What has come to an end since it was last asked for.
    pub fn finished(&mut self) -> Vec<(u64, Done)> {
        let done: Vec<(u64, Done)> = self.receiver.try_iter().collect();
        self.running.retain(|(number, _)| done.iter().all(|(ended, _)| ended != number));
        done
    }

    /// How far a job is; `None` once it has ended.
    pub fn progress(&self, number: u64) -> Option<Progress> {
        let (_, progress) = self.running.iter().find(|(running, _)| *running == number)?;
        Some(progress.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Whether anything is being done.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }
}
