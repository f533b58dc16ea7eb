//! Livens every rigged, animated character of `SINEW_ASSETS`, measures what came of it at the full rate and in the baked file,
//! and writes the table of the manual: `cargo xtask liven-table`.

#![allow(clippy::print_stderr, reason = "a program that tells how far it is")]

#[path = "../tests/all/measured.rs"]
mod measured;

use measured::{Measured, measure, sampled, told};
use sinew::rig::PartKind;
use sinew_gltf::Asset;
use sinew_liven::Style;
use sinew_liven::judge::BOUNDED;
use sinew_testkit::assets::{assets, folder};
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Instant;

const SEED: u64 = 17;
const STYLES: [Style; 2] = [Style::Lively, Style::Cartoon];
/// Vertices: what has more is a finer copy of another character.
const LARGEST: usize = 40_000;

/// Of its bake: what livening may take.
const MOST_TIME: f64 = 2.0;

struct Row {
    name: String,
    style: Style,
    outcome: Result<Measured, String>,
    seconds: f64,
}

fn main() -> ExitCode {
    let Some(folder) = folder() else { return ExitCode::FAILURE };
    let out = std::env::args().nth(1).unwrap_or_else(|| "docs/liven.md".to_owned());
    // Parts of names with commas between them, for a look at a few.
    let only = std::env::args().nth(2).unwrap_or_default();
    let characters: Vec<(String, Asset)> = (assets().iter())
        .filter_map(|path| {
            let name = path.strip_prefix(&folder).unwrap_or(path).with_extension("").display().to_string();
            let asset = Asset::open_original(path).ok()?;
            let is_skinned = asset.rig.parts().iter().any(|part| part.kind == PartKind::Skinned);
            let is_rigged = !asset.clips.is_empty() && is_skinned;
            let fits = asset.rig.vertex_count() <= LARGEST && only.split(',').any(|word| name.contains(word));
            (is_rigged && fits).then_some((name, asset))
        })
        .collect();
    let work: Vec<(&(String, Asset), Style)> =
        characters.iter().flat_map(|character| STYLES.map(|style| (character, style))).collect();
    let start = Instant::now();
    // One after the other, for their processor time.
    let rows: Vec<Row> = (work.iter())
        .map(|((name, asset), style)| {
            let start = Instant::now();
            let clips = if asset.clips.len() <= 20 { 20 } else { 12 };
            let outcome = measure(asset, &sampled(asset.clips.len(), clips, SEED), *style, true);
            let seconds = start.elapsed().as_secs_f64();
            eprintln!("{name}, {style}: {seconds:.1} s");
            Row { name: name.clone(), style: *style, outcome, seconds }
        })
        .collect();
    let text = page(&rows);
    eprintln!("{:.0} s", start.elapsed().as_secs_f64());
    match std::fs::write(&out, text) {
        Ok(()) if rows.iter().all(|row| row.outcome.is_ok()) => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{out}: cannot be written ({error})");
            ExitCode::FAILURE
        }
    }
}

/// The page of the manual. Writing to a string cannot fail.
fn page(rows: &[Row]) -> String {
    let mut text = String::from(
        "# What `sinew liven` does to real characters\n\n\
         `cargo xtask liven-table` writes this page: every rigged, animated character at hand, all clips of those with up to 20,\n\
         12 of the others. Figures are those of `sinew check` at 60 frames a second, the worst of all clips, in percent of the\n\
         size but for strains (ratios) and crossings (new pairs of triangles a frame). In bold what is beyond the\n\
         [limit](commands.md#check). Time is that of the processor, of `sinew liven` over that of `sinew bake` with the recipe it\n\
         has found; blank where both are too quick to tell. Finer copies of characters, of more than 40,000 vertices, are left out.\n",
    );
    for style in STYLES {
        let [least, most] = style.range();
        let of_style: Vec<&Row> = rows.iter().filter(|row| row.style == style).collect();
        let _ = writeln!(text, "\n## `--style {style}`\n");
        let _ = writeln!(
            text,
            "Limits: strain {} and {}, gap 0.5, rigid 0.1 (in the baked file 1), slip 0.1, ground 0.2, crossings 5, depth 0.5, time 2; \
             soft parts {} to {} where a clip moves them.\n",
            style.strain()[0],
            style.strain()[1],
            told("", least),
            told("", most)
        );
        text.push_str(
            "| character | clips | strength by part | strain | worst | gap | rigid | baked | slip | ground | crossings | depth | time |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for row in &of_style {
            text.push_str(&line(row));
        }
        let _ = writeln!(text, "\n{}", pairs(&of_style, least, most));
        let lowered: Vec<String> = of_style.iter().flat_map(|row| lowered(row)).collect();
        if !lowered.is_empty() {
            let _ = writeln!(text, "\nLowered:\n\n{}", lowered.join("\n"));
        }
    }
    text
}

fn line(row: &Row) -> String {
    let measured = match &row.outcome {
        Ok(measured) => measured,
        Err(error) => return format!("| {} | **{error}** | | | | | | | | | | | |\n", row.name),
    };
    let broken = measured.broken();
    let cell = |gate: &str, value: f64| {
        let words = told(gate, value);
        if broken.iter().any(|(name, ..)| *name == gate) { format!("**{words}**") } else { words }
    };
    let mut parts: Vec<String> = (measured.strengths().iter())
        .map(|(role, [low, high])| format!("{role} {}–{}", told("", *low), told("", *high)))
        .collect();
    parts.push(format!("all {}", told("", measured.strength())));
    let gate = |name: &str| cell(name, measured.worst(name));
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        row.name,
        measured.clips.len(),
        parts.join(", "),
        cell("strain", measured.strain()),
        gate("worst-strain"),
        gate("gap"),
        gate("rigid"),
        measured.baked_rigid.map_or(String::new(), |bend| cell("rigid in the baked file", bend)),
        gate("slip"),
        gate("ground"),
        gate("crossings"),
        gate("penetration"),
        measured.time_over_bake.map_or(String::new(), |time| match time > MOST_TIME {
            true => format!("**{time:.2}**"),
            false => format!("{time:.2}"),
        }),
    )
}

/// How many (part, clip) pairs have the strength they should have, and those that have not.
fn pairs(rows: &[&Row], least: f64, most: f64) -> String {
    let (mut all, mut short) = (0, Vec::new());
    for row in rows {
        let Ok(measured) = &row.outcome else { continue };
        for pair in measured.pairs() {
            all += 1;
            if pair.strength < least || pair.strength > most {
                let part = measured.account.parts.iter().find(|part| part.moved.name() == pair.role.name());
                let why = part.map_or("not moved", |part| {
                    let lowered = part.lowered.iter().find(|lowered| lowered.clip == pair.clip);
                    let is_bounded = part.falls_short || part.reasons.iter().any(|why| why == BOUNDED);
                    lowered.map_or(if is_bounded { "its own length" } else { "calm clip" }, |lowered| lowered.gate)
                });
                let (strength, clip) = (told("", pair.strength), pair.clip);
                short.push(format!("{} {} {strength} in {clip} ({why})", row.name, pair.role));
            }
        }
    }
    let beyond = if short.is_empty() { String::new() } else { format!(": {}", short.join("; ")) };
    format!("Of {all} pairs of a soft part and a clip that moves it, {} are beyond their range{beyond}.", short.len())
}

fn lowered(row: &Row) -> Vec<String> {
    let Ok(measured) = &row.outcome else { return Vec::new() };
    let mut lines = Vec::new();
    for part in measured.account.parts.iter().filter(|part| !part.lowered.is_empty()) {
        let reasons: Vec<String> = part.lowered.iter().map(ToString::to_string).collect();
        lines.push(format!("- {}, {}: {}", row.name, part.moved.name(), reasons.join("; ")));
    }
    if row.seconds > 120.0 {
        eprintln!("{}: {:.0} s", row.name, row.seconds);
    }
    lines
}
