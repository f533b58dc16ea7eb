//! A character livened, played at the full rate and baked: everything the table of the manual tells.

use sinew::anatomy::Role;
use sinew::strength::{Solved, solve};
use sinew::{Anatomy, Clip, DeformedMesh, Recipe, Rig, Stage, Workspace};
use sinew_check::limits::{LIMITS, Limit, Unit};
use sinew_check::{Checker, Given};
use sinew_export::{Options, bake_solved};
use sinew_gltf::{Asset, RawAsset};
use sinew_liven::judge::{ClipFigures, MOVES, figures, groups, most};
use sinew_liven::{Account, Livened, PlayedClip, Style, Wishes, liven};
use sinew_testkit::random::Random;
use sinew_testkit::rigid_fit::rigid_fit;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a rigid piece may bend by in a baked file, of its own size.
pub const BAKED_RIGID: f64 = 0.01;

/// A character in a style.
pub struct Measured {
    pub style: Style,
    pub account: Account,
    /// Clip by clip, at 60 frames a second.
    pub clips: Vec<ClipFigures>,
    /// The farthest that a rigid piece bends in the baked file, of its own size; `None` where it was not baked.
    pub baked_rigid: Option<f64>,
    /// Processor time of finding the recipe and baking it, over that of baking the recipe once it is there, on all threads: as the
    /// two commands take it. `None` where it was not baked, was too quick to tell, or this system does not tell.
    #[allow(dead_code, reason = "the table tells it, tests do not")]
    pub time_over_bake: Option<f64>,
}

/// Seconds of baking below which ticks of a hundredth tell nothing.
const TOLD: f64 = 0.1;

/// A (part, clip) pair that the clip moves.
pub struct Pair<'a> {
    pub role: Role,
    pub clip: &'a str,
    pub strength: f64,
}

/// The clips looked at: all of up to 20, else so many spread evenly from a seeded start.
pub fn sampled(count: usize, most: usize, seed: u64) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let start = Random::new(seed).below(count);
    let mut clips: Vec<usize> = (0..most).map(|n| (start + n * count / most) % count).collect();
    clips.sort_unstable();
    clips
}

/// Livens clips of a character and measures what came of it.
pub fn measure(asset: &Asset, chosen: &[usize], style: Style, is_baked: bool) -> Result<Measured, String> {
    let clips: Vec<PlayedClip<'_>> = asset.clips.iter().map(|clip| (clip, Default::default())).collect();
    let wishes = Wishes { style, ..Wishes::default() };
    let start = processor_time();
    let made = liven(&asset.rig, &clips, chosen, &[], &wishes, &|_, _| ()).map_err(|error| error.to_string())?;
    let livened = processor_time();
    let Livened { recipe, account, .. } = made;
    let solved = solve(&asset.rig, recipe.recipe(), &clips).map_err(|error| error.to_string())?;
    let found = processor_time();
    let mut time_over_bake = None;
    let seen = played(&asset.rig, recipe.recipe(), &clips, chosen, &solved)?;
    let baked_rigid = if is_baked && !chosen.is_empty() {
        let options = Options { best_effort: true, ..Options::default() };
        let begun = processor_time();
        let baked =
            bake_solved(asset, &recipe, chosen, Some(solved), &options, &|_| ()).map_err(|error| error.to_string())?;
        time_over_bake = match [start, livened, found, begun, processor_time()] {
            [Some(start), Some(livened), Some(found), Some(begun), Some(end)] => {
                let (solving, baking) = (found - livened, end - begun);
                (solving + baking >= TOLD).then(|| (livened - start + baking) / (solving + baking))
            }
            _ => None,
        };
        let again = RawAsset::from_document(&*asset.name, baked.document).and_then(RawAsset::check);
        Some(bend(asset, &again.map_err(|error| error.to_string())?, recipe.recipe(), chosen)?)
    } else {
        None
    };
    Ok(Measured { style, account, clips: seen, baked_rigid, time_over_bake })
}

/// Of this program, in seconds. Linux tells it, in hundredths.
fn processor_time() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything: the 12th and the 13th number.
    let behind = line.rsplit(')').next()?;
    let ticks = behind.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<Option<f64>>().map(|ticks| 0.01 * ticks)
}

/// Clips at 60 frames a second, held against their bases.
fn played(
    rig: &Arc<Rig>,
    recipe: &Recipe,
    clips: &[PlayedClip<'_>],
    chosen: &[usize],
    solved: &Solved,
) -> Result<Vec<ClipFigures>, String> {
    if !recipe.adds() || clips.is_empty() {
        return Ok(Vec::new());
    }
    let mut checker = Checker::new(rig, solved.recipe(0)).map_err(|error| error.to_string())?;
    let given =
        Given { groups: Some(groups(rig, &Anatomy::of(rig))), rigid: checker.rigid_pieces(), ..Given::default() };
    let mut seen = Vec::new();
    for &index in chosen {
        let (clip, settings) = &clips[index];
        checker.retune(solved.recipe(index)).map_err(|error| error.to_string())?;
        let report = checker.clip_given(clip, settings, 60.0, &given, &|_| ()).map_err(|error| error.to_string())?;
        seen.extend(report.comparison.map(|comparison| figures(&clip.name, &comparison)));
    }
    Ok(seen)
}

/// The farthest that a rigid piece of the baked file is from a rigid motion of the original's, of its size.
fn bend(before: &Asset, after: &Asset, recipe: &Recipe, chosen: &[usize]) -> Result<f64, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let solved = recipe.without_strength();
    let rigid = Stage::new(&before.rig, &solved).map_err(|error| words(&error))?.rigid_points();
    let anatomy = Anatomy::of(&before.rig);
    let mut pieces: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for vertex in 0..before.rig.vertex_count() {
        let slot = before.rig.point(vertex);
        if let Some(piece) = anatomy.piece_of_point(slot).filter(|_| rigid.binary_search(&slot).is_ok()) {
            pieces.entry(piece).or_default().push(vertex);
        }
    }
    pieces.retain(|_, vertices| vertices.len() > 2);
    let stages = [before, after].map(|asset| Stage::new(&asset.rig, &Recipe::default()));
    let [Ok(old), Ok(new)] = &stages else { return Err("the baked file cannot be played".to_owned()) };
    let mut workspaces = [Workspace::default(), Workspace::default()];
    let mut worst = 0.0f64;
    for &clip in chosen.iter().filter(|_| !pieces.is_empty()) {
        let (clips, settings): ([&Clip; 2], _) = ([&before.clips[clip], &after.clips[clip]], Default::default());
        let one = old.motion(clips[0], &settings).map_err(|error| words(&error))?;
        let two = new.motion(clips[1], &settings).map_err(|error| words(&error))?;
        let (start, end) = (one.report().start, one.report().last_key);
        for frame in 0..8 {
            let time = start + (end - start) * f64::from(frame) / 8.0;
            let [a, b] = &mut workspaces;
            let (a, b) = (one.frame(time, a), two.frame(time, b));
            for vertices in pieces.values() {
                let at = |mesh: &DeformedMesh, rig: &Rig, vertex: usize| {
                    mesh.world_position(rig.character_of_point(rig.point(vertex)).unwrap_or(0), vertex).to_array()
                };
                let pairs: Vec<_> = vertices.iter().map(|&v| (at(a, &before.rig, v), at(b, &after.rig, v))).collect();
                let bound = |pick: fn(f64, f64) -> f64, from: f64, axis: usize| {
                    pairs.iter().map(|(p, _)| p[axis]).fold(from, pick)
                };
                let side = |axis| bound(f64::max, f64::MIN, axis) - bound(f64::min, f64::MAX, axis);
                let size = (0..3).map(|axis| side(axis).powi(2)).sum::<f64>().sqrt();
                if size > 0.0 {
                    worst = worst.max(rigid_fit(&pairs).residual / size);
                }
            }
        }
    }
    Ok(worst)
}

impl Measured {
    /// The worst clip by a gate.
    pub fn worst(&self, gate: &str) -> f64 {
        let of =
            |clip: &ClipFigures| clip.gates.iter().find(|(name, _)| *name == gate).map_or(0.0, |(_, value)| *value);
        self.clips.iter().map(of).fold(0.0, f64::max)
    }

    /// The largest strain of 99.9 of 100 edges, of the whole and of any part.
    pub fn strain(&self) -> f64 {
        let parts = self.clips.iter().flat_map(|clip| &clip.parts).map(|part| part.strain);
        parts.fold(self.worst("strain"), f64::max)
    }

    /// Gates that are not met, with what was found and the most that is allowed.
    pub fn broken(&self) -> Vec<(&'static str, f64, f64)> {
        // Trembling and jolts are told by `sinew check`, and are no part of this.
        let told = |limit: &&Limit| !matches!(limit.name, "tremble" | "jolt" | "thinning");
        let found = |limit: &Limit| {
            let value = if limit.name == "strain" { self.strain() } else { self.worst(limit.name) };
            (limit.name, value, most(limit, self.style))
        };
        let baked = self.baked_rigid.map(|value| ("rigid in the baked file", value, BAKED_RIGID));
        LIMITS.iter().filter(told).map(found).chain(baked).filter(|(_, value, most)| value > most).collect()
    }

    /// Parts that are soft in clips that move them.
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let of = |clip: &'_ ClipFigures| {
            let soft = clip.parts.iter().filter(|part| part.role.is_soft() && part.motion > MOVES);
            soft.map(|part| (part.role, part.strength)).collect::<Vec<_>>()
        };
        let pair = |(clip, (role, strength))| Pair { role, clip, strength };
        self.clips.iter().flat_map(|clip| of(clip).into_iter().map(|p| (clip.name.as_str(), p))).map(pair).collect()
    }

    /// Least and most strength of each soft role, over all clips.
    pub fn strengths(&self) -> BTreeMap<Role, [f64; 2]> {
        let mut all: BTreeMap<Role, [f64; 2]> = BTreeMap::new();
        for part in self.clips.iter().flat_map(|clip| &clip.parts).filter(|part| part.role.is_soft()) {
            let range = all.entry(part.role).or_insert([part.strength; 2]);
            *range = [range[0].min(part.strength), range[1].max(part.strength)];
        }
        all
    }

    /// The largest strength of everything in any clip.
    pub fn strength(&self) -> f64 {
        self.clips.iter().map(|clip| clip.strength).fold(0.0, f64::max)
    }
}

/// A figure as its unit tells it.
pub fn told(limit: &str, value: f64) -> String {
    match LIMITS.iter().find(|known| known.name == limit).map(|known| known.unit) {
        Some(Unit::Ratio) => format!("{value:.2}"),
        Some(Unit::Count) => format!("{value:.1}"),
        _ => format!("{:.2}", 100.0 * value),
    }
}
