//! The account of a bake, for people and for programs.

use crate::fault::Fault;
use crate::load::Scene;
use crate::output::{text_to_stdout, to_stdout};
use crate::talk::Talk;
use crate::text::{count, quoted};
use serde_json::{Map, Value, json};
use sinew::strength::{Finding, Outcome, Over};
use sinew_bake::report::{AngleError, GroupReport, Report, Shortfall, TradePoint, listed, thinned};
use sinew_export::{ClosedClip, Oversize, PackedBytes, SizePoint};
use sinew_gltf::layer::{LayerBytes, LayerReport};
use std::path::Path;

/// Clips an account for people lists.
const MOST_CLIPS: usize = 20;

/// Everything there is to tell.
pub struct Account<'a> {
    pub scene: &'a Scene,
    pub output: &'a Path,
    pub fps: f64,
    pub is_json: bool,
    /// The recipe or preset, as the user named it.
    pub recipe: &'a str,
    pub report: &'a Report,
    pub added: &'a LayerReport,
    /// Node and primitive.
    pub repaired: &'a [(usize, usize)],
    /// Gains found for strengths.
    pub strength: &'a [Finding],
    /// Loops that got their closing keys.
    pub closed: &'a [ClosedClip],
    pub packed: Option<PackedBytes>,
    /// What was tried for the sake of size, and how much is allowed.
    pub sizes: &'a [SizePoint],
    pub max_bytes: Option<u64>,
    /// Of the file before and after.
    pub bytes: (u64, u64),
    pub seconds: f64,
}

impl Account<'_> {
    /// To stdout, or to stderr where the file itself went to stdout.
    pub fn tell(&self, stdout_is_taken: bool, talk: &Talk) -> Result<(), Fault> {
        if self.is_json {
            return to_stdout(|out| writeln!(out, "{:#}", self.json()));
        }
        let lines = self.lines();
        if stdout_is_taken {
            lines.iter().for_each(|line| talk.note(line));
            return Ok(());
        }
        text_to_stdout(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
    }

    fn lines(&self) -> Vec<String> {
        let Self { report, bytes: (before, after), .. } = self;
        let mut lines = vec![format!(
            "{}: {} of {} at {} per second, {}",
            self.output.display(),
            count(report.frames, "frame", "frames"),
            count(report.clips.len(), "clip", "clips"),
            self.fps,
            self.recipe
        )];
        lines.extend(self.strength.iter().map(|finding| format!("  {finding}")));
        for group in &report.groups {
            lines.extend(self.group_lines(group));
        }
        let mut clips = report.clips.iter();
        for clip in clips.by_ref().take(MOST_CLIPS) {
            let seam = clip.seam.map_or(String::new(), |seam| {
                format!(", seam {:.4} % and {:.3} %/s", 100.0 * seam.position, 100.0 * seam.velocity)
            });
            let between = match clip.keys_between {
                0 => String::new(),
                some => format!(" ({some} between samples)"),
            };
            lines.push(format!(
                "  clip {}: {} samples, {} keys{between}, error {:.4} %{seam}",
                quoted(&clip.name),
                clip.samples,
                clip.keys,
                100.0 * clip.largest_share
            ));
        }
        if clips.len() > 0 {
            lines.push(format!("  and {} more clips; --json lists all", clips.len()));
        }
        for ClosedClip { name, seconds } in self.closed.iter().take(MOST_CLIPS) {
            let name = quoted(name);
            lines.push(format!(
                "  clip {name}: its closing key was missing; the copy has it, {seconds:.4} s after the last"
            ));
        }
        for (node, primitive) in self.repaired {
            lines.push(format!("  node {node}, primitive {primitive}: repaired skin weights replace the file's"));
        }
        for (mesh, copy, nodes) in &self.added.copied_meshes {
            lines.push(format!("  mesh {mesh} is copied as mesh {copy} for {}", count(nodes.len(), "node", "nodes")));
        }
        if !self.added.replaced_channels.is_empty() {
            let channels = count(self.added.replaced_channels.len(), "weight channel", "weight channels");
            lines.push(format!("  {channels} of the file's own morphs: existing values kept, new ones appended"));
        }
        if let Some(PackedBytes { plain, packed }) = self.packed {
            lines.push(format!("  packed by meshopt: {plain} bytes as {packed}"));
        }
        if let Some(most) = self.max_bytes {
            lines.push(self.size_line(most));
        }
        let kinds = self.kinds().into_iter().filter(|(_, bytes)| *bytes > 0);
        let kinds: Vec<String> = kinds.map(|(kind, bytes)| format!("{kind} {bytes}")).collect();
        lines.push(format!("  {before} bytes before, {after} after ({}), {:.1} s", kinds.join(", "), self.seconds));
        lines
    }

    /// What it costs to keep within `most` bytes.
    fn size_line(&self, most: u64) -> String {
        let tried = |point: &SizePoint| format!("{:.3} %: {}", 100.0 * point.largest_share, point.bytes);
        let tried: Vec<String> = self.sizes.iter().map(tried).collect();
        let error = 100.0 * self.report.largest_share();
        match self.report.within_tolerance() {
            true => format!("  within the {most} bytes allowed, and within the tolerance"),
            false => format!(
                "  within the {most} bytes allowed the error is {error:.4} % of the size, beyond the tolerance of {}; error \
                 and bytes: {}",
                self.report.tolerance,
                tried.join(", ")
            ),
        }
    }

    /// Bytes added, by what they hold.
    fn kinds(&self) -> [(&'static str, usize); 6] {
        let LayerBytes { positions, normals, tangents, weights, skins, json } = self.added.bytes;
        [
            ("positions", positions),
            ("normals", normals),
            ("tangents", tangents),
            ("weights", weights),
            ("skins", skins),
            ("json", json),
        ]
    }

    fn group_lines(&self, group: &GroupReport) -> Vec<String> {
        let share = |length: f64| 100.0 * length / group.size;
        let names = listed(&group.names);
        if group.targets == 0 {
            return vec![format!(
                "  mesh {names}: no targets needed, moved by {:.4} % of the size at most",
                share(group.displacement.length)
            )];
        }
        let mut lines = vec![format!(
            "  mesh {names}: {}, moved by up to {:.2} % of the size; error {:.4} % at most, {:.5} % on average",
            count(group.targets, "target", "targets"),
            share(group.displacement.length),
            share(group.error.largest),
            share(group.error.mean)
        )];
        if group.error_between > self.report.tolerance.units(group.size) {
            lines.push(format!(
                "    fast motion between samples: error {:.4} % there; raise --fps if that matters",
                share(group.error_between)
            ));
        }
        for (what, angle) in [("normals", group.normals), ("tangents", group.tangents)] {
            if let Some(AngleError { largest, mean, largest_before, mean_before }) = angle {
                lines.push(format!(
                    "    {what} {:.2}° off at most, {:.3}° on average (without the bake {:.2}°, {:.3}°)",
                    largest.to_degrees(),
                    mean.to_degrees(),
                    largest_before.to_degrees(),
                    mean_before.to_degrees()
                ));
            }
        }
        if let Some(flat) = &group.flattened {
            lines.push(format!(
                "    skinning squeezes {} flat (bones {}; first in clip {} at {:.3} s): {:.4} % of the size is lost there",
                count(flat.points, "point", "points"),
                listed(&flat.bones),
                quoted(&self.report.clips[flat.clip].name),
                flat.time,
                share(flat.left)
            ));
        }
        let curve: Vec<String> =
            thinned(&group.curve).map(|point| format!("{}: {:.3}", point.targets, share(point.largest))).collect();
        lines.push(format!("    targets and error in %: {}", curve.join(", ")));
        lines
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let Self { report, added, bytes: (before, after), .. } = self;
        let clip_name = |clip: usize| report.clips.get(clip).map(|clip| clip.name.clone());
        let groups: Vec<Value> = (report.groups.iter())
            .map(|group| {
                let angle = |angle: Option<AngleError>| {
                    angle.map(|angle| {
                        json!({
                            "largest_degrees": angle.largest.to_degrees(),
                            "mean_degrees": angle.mean.to_degrees(),
                            "largest_degrees_without_bake": angle.largest_before.to_degrees(),
                            "mean_degrees_without_bake": angle.mean_before.to_degrees(),
                        })
                    })
                };
                let located = |at: &sinew_bake::report::Located| {
                    let node = self.scene.rig.parts().get(at.part).map(|part| part.node);
                    json!({"clip": clip_name(at.clip), "time": at.time, "node": node, "vertex": at.vertex})
                };
                json!({
                    "meshes": group.names,
                    "nodes": group.parts.iter().map(|&part| self.scene.rig.parts()[part].node).collect::<Vec<_>>(),
                    "size": group.size,
                    "points": group.points,
                    "targets": group.targets,
                    "largest_displacement": group.displacement.length,
                    "largest_displacement_at": located(&group.displacement),
                    "largest_error": group.error.largest,
                    "largest_error_at": located(&group.error.at),
                    "mean_error": group.error.mean,
                    "largest_error_between": group.error_between,
                    "normals": angle(group.normals),
                    "tangents": angle(group.tangents),
                    "flattened": group.flattened.as_ref().map(|flat| json!({
                        "points": flat.points,
                        "point_frames": flat.times,
                        "bones": flat.bones,
                        "clip": clip_name(flat.clip),
                        "time": flat.time,
                        "lost": flat.left,
                    })),
                    "trade": trade(&group.curve),
                })
            })
            .collect();
        let clips: Vec<Value> = (report.clips.iter())
            .map(|clip| {
                json!({
                    "name": clip.name,
                    "samples": clip.samples,
                    "keys": clip.keys,
                    "keys_between_samples": clip.keys_between,
                    "largest_error_share": clip.largest_share,
                    "seam": clip.seam.map(|seam| json!({
                        "position_share": seam.position,
                        "velocity_share_per_second": seam.velocity,
                    })),
                })
            })
            .collect();
        json!({
            "file": self.output.display().to_string(),
            "recipe": self.recipe,
            "strength": self.strength.iter().map(strength).collect::<Vec<_>>(),
            "fps": self.fps,
            "tolerance": report.tolerance.to_string(),
            "within_tolerance": report.within_tolerance(),
            "frames": report.frames,
            "targets": report.most_targets(),
            "largest_error_share": report.largest_share(),
            "meshes": groups,
            "clips": clips,
            "repaired_skins": self.repaired.iter().map(|(node, primitive)| json!({"node": node, "primitive": primitive})).collect::<Vec<_>>(),
            "copied_meshes": added.copied_meshes.iter().map(|(mesh, copy, nodes)| json!({"mesh": mesh, "copy": copy, "nodes": nodes})).collect::<Vec<_>>(),
            "replaced_channels": added.replaced_channels.iter().map(|(clip, channel)| json!({"animation": clip, "channel": channel})).collect::<Vec<_>>(),
            "closing_keys_added": self.closed.iter().map(|clip| json!({"clip": clip.name, "seconds_after_last": clip.seconds})).collect::<Vec<_>>(),
            "packed": self.packed.map(|bytes| json!({"by": "meshopt", "plain": bytes.plain, "packed": bytes.packed})),
            "sizes": sizes(self.sizes),
            "bytes_before": before,
            "bytes_after": after,
            "bytes_added": self.kinds().into_iter().map(|(kind, bytes)| (kind.to_owned(), bytes.into())).collect::<Map<_, _>>(),
            "seconds": self.seconds,
        })
    }
}

/// A gain found for a strength.
fn strength(finding: &Finding) -> Value {
    let (outcome, most) = match finding.outcome {
        Outcome::Reached => ("reached", None),
        Outcome::Balanced => ("balanced", None),
        Outcome::Still => ("still", None),
        Outcome::TooWeak { most } => ("too-weak", Some(most)),
        Outcome::TooStrong => ("too-strong", None),
    };
    let (clip, clips) = match &finding.over {
        Over::All(count) => (None, *count),
        Over::Clip(name) => (Some(name), 1),
    };
    json!({
        "effect": finding.effect.map(|(index, _)| index),
        "type": finding.effect.map(|(_, name)| name),
        "wanted": finding.wanted.share(),
        "reached": finding.reached,
        "gain": finding.gain,
        "outcome": outcome,
        "most": most,
        "clip": clip,
        "clips": clips,
    })
}

/// What would do, for programs.
pub fn shortfall(shortfall: &Shortfall) -> Value {
    let groups: Vec<Value> = (shortfall.groups.iter())
        .map(|group| {
            json!({
                "meshes": group.names,
                "size": group.size,
                "targets_that_would_do": group.would_do,
                "obstacle": group.obstacle,
                "trade": trade(&group.curve),
            })
        })
        .collect();
    json!({
        "within_tolerance": false,
        "tolerance": shortfall.tolerance.to_string(),
        "max_targets": shortfall.max_targets,
        "meshes": groups,
    })
}

/// What was tried for the sake of size, for programs.
pub fn oversize(oversize: &Oversize) -> Value {
    json!({"within_size": false, "max_size": oversize.max_bytes, "sizes": sizes(&oversize.tried)})
}

fn sizes(tried: &[SizePoint]) -> Vec<Value> {
    let point = |point: &SizePoint| {
        json!({
            "tolerance": point.tolerance.to_string(),
            "targets": point.targets,
            "largest_error_share": point.largest_share,
            "bytes": point.bytes,
        })
    };
    tried.iter().map(point).collect()
}

fn trade(curve: &[TradePoint]) -> Vec<Value> {
    let point = |point: &TradePoint| json!({"targets": point.targets, "largest": point.largest, "mean": point.mean});
    curve.iter().map(point).collect()
}
