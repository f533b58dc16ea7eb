//! The report for human eyes.

use super::{BoneReport, ClipReport, Finding, Report, Surface};
use crate::text::{Align, count, printable, quoted, short, table, wrap};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeSet;
use std::io::{self, Write};

const HEADING: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Bones shown unless all are asked for.
const MOST_BONES: usize = 200;
/// Steps of indentation; deeper bones tell their depth in numbers.
const DEEPEST_INDENT: usize = 32;

pub fn print(report: &Report<'_>, all_bones: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADING}{}{HEADING:#}", printable(report.file))?;
    writeln!(
        out,
        "  {}, {}, {}, {}, {}",
        count(report.characters.len(), "character", "characters"),
        count(report.meshes.len(), "mesh", "meshes"),
        count(report.bones.iter().filter(|bone| bone.joint).count(), "joint", "joints"),
        count(report.clips.len(), "clip", "clips"),
        if report.warnings.is_empty() {
            "no warnings".to_owned()
        } else {
            count(report.warnings.len(), "warning", "warnings")
        },
    )?;
    if let Some(anatomy) = &report.anatomy {
        return anatomy.print(out);
    }
    characters(report, out)?;
    meshes(report, out)?;
    bones(report, all_bones, out)?;
    follows(report, out)?;
    clips(&report.clips, out)?;
    maps(report, out)?;
    cones(report, out)?;
    warnings(&report.warnings, out)
}

fn heading(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n{HEADING}{text}{HEADING:#}")
}

fn lines(out: &mut dyn Write, lines: Vec<String>) -> io::Result<()> {
    lines.into_iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn characters(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (index, character) in report.characters.iter().enumerate() {
        heading(out, &format!("Character {index} {}", quoted(character.name)))?;
        let (min, max) = (character.bounds.min, character.bounds.max);
        let sides: Vec<_> = min.iter().zip(max).map(|(min, max)| short(max - min)).collect();
        writeln!(out, "  size     {} across ({})", short(character.size), sides.join(" × "))?;
        // What the size swallows is rounding.
        let coordinate = |x: f64| short(if x.abs() < 1e-9 * character.size { 0.0 } else { x });
        let corner = |point: [f64; 3]| point.map(coordinate).join(", ");
        writeln!(out, "  bounds   ({}) to ({})", corner(min), corner(max))?;
        write!(out, "  points   {}", count(character.control_points, "control point", "control points"))?;
        if character.coincident_points > 0 {
            write!(out, ", {} of them touch another one without being joined to it", character.coincident_points)?;
        }
        writeln!(out, "\n  surface  {}", surface(&character.surface))?;
        if let Some(gap) = character.attachment_gap {
            writeln!(out, "  attached with gaps up to {} % of the size", short(100.0 * gap))?;
        }
    }
    Ok(())
}

fn surface(surface: &Surface) -> String {
    let faults = [
        (surface.boundary_edges, "boundary edge", "boundary edges"),
        (surface.non_manifold_edges, "non-manifold edge", "non-manifold edges"),
        (
            surface.flipped_edges,
            "edge between faces of opposite orientation",
            "edges between faces of opposite orientation",
        ),
        (surface.degenerate_triangles, "degenerate triangle", "degenerate triangles"),
    ];
    let faults: Vec<_> = faults.iter().filter(|fault| fault.0 > 0).map(|&(n, one, many)| count(n, one, many)).collect();
    let edges = count(surface.edges, "edge", "edges");
    let state = if surface.closed { "closed" } else { "not closed" };
    if faults.is_empty() { format!("{state}, {edges}") } else { format!("{state}, {edges}: {}", faults.join(", ")) }
}

fn meshes(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    if report.meshes.is_empty() {
        return Ok(());
    }
    heading(out, "Meshes")?;
    let row = |mesh: &super::MeshReport<'_>| {
        let numbers = [mesh.vertices, mesh.control_points, mesh.triangles, mesh.influences, mesh.morph_targets];
        let mut row = vec![mesh.node.to_string(), printable(mesh.name), mesh.kind.to_owned()];
        row.extend(numbers.map(|n| n.to_string()));
        row
    };
    let rows: Vec<_> = report.meshes.iter().map(row).collect();
    let columns = [
        ("node", Align::Right),
        ("name", Align::Left),
        ("kind", Align::Left),
        ("vertices", Align::Right),
        ("points", Align::Right),
        ("triangles", Align::Right),
        ("influences", Align::Right),
        ("morphs", Align::Right),
    ];
    lines(out, table(&columns, &rows))
}

fn bones(report: &Report<'_>, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let bones = &report.bones;
    if bones.is_empty() {
        return Ok(());
    }
    let carriers: BTreeSet<usize> = report.meshes.iter().map(|mesh| mesh.node).collect();
    let joints = bones.iter().filter(|bone| bone.joint).count();
    let others = count(bones.len() - joints, "other node", "other nodes");
    heading(out, &format!("Bones: {}, {others}", count(joints, "joint", "joints")))?;
    let order = depth_first(bones);
    let below = descendants(bones, &order);
    let deepest = if all || bones.len() <= MOST_BONES { usize::MAX } else { deepest_shown(bones) };
    let shown: Vec<_> =
        order.iter().map(|&at| (&bones[at], below[at])).filter(|(bone, _)| bone.depth <= deepest).collect();
    let most = if all { usize::MAX } else { MOST_BONES };
    let width = bones.len().saturating_sub(1).to_string().len();
    for (bone, below) in shown.iter().take(most) {
        let indent = "  ".repeat(bone.depth.min(DEEPEST_INDENT));
        write!(out, "  {:>width$}  {indent}", bone.node)?;
        if bone.depth > DEEPEST_INDENT {
            write!(out, "[depth {}] ", bone.depth)?;
        }
        write!(out, "{}", if bone.name.is_empty() { "(unnamed)".to_owned() } else { printable(bone.name) })?;
        if !bone.joint {
            write!(out, " {FAINT}({}){FAINT:#}", if carriers.contains(&bone.node) { "mesh" } else { "no joint" })?;
        }
        if bone.depth == deepest && *below > 0 {
            write!(out, "  … {below} below")?;
        }
        writeln!(out)?;
    }
    if bones.len() > shown.len().min(most) {
        writeln!(out, "  {} of {} shown; --all shows every one", shown.len().min(most), bones.len())?;
    }
    Ok(())
}

fn follows(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    if report.follows.is_empty() {
        return Ok(());
    }
    heading(out, "Effects follow the body where the file's tree does not")?;
    for follow in &report.follows {
        let percent = |part: Option<f64>| short(100.0 * part.unwrap_or(0.0));
        let why = match follow.reason {
            "skin" => format!("{} % of the skin it shares", percent(follow.share)),
            "touch" => format!("{} % of the skin it touches", percent(follow.share)),
            _ => "the recipe says so".to_owned(),
        };
        let in_file = follow.in_file.map_or_else(|| "none".to_owned(), printable);
        writeln!(
            out,
            "  {} follows {} ({why}; file's parent: {in_file})",
            printable(follow.name),
            printable(follow.followed)
        )?;
        if follow.strays.is_some() {
            let (here, there) = (percent(follow.strays), percent(follow.strays_in_file));
            writeln!(
                out,
                "    {FAINT}strays by {here} % of the size there, by {there} % in the file's parent{FAINT:#}"
            )?;
        }
    }
    Ok(())
}

/// Positions in `bones`, each parent before its children, siblings in order; without recursion, for depth has no end.
fn depth_first(bones: &[BoneReport<'_>]) -> Vec<usize> {
    let mut children = vec![Vec::new(); bones.len()];
    let mut stack = Vec::new();
    for (at, bone) in bones.iter().enumerate().rev() {
        match bone.parent {
            Some(parent) => children[parent].push(at),
            None => stack.push(at),
        }
    }
    let mut order = Vec::with_capacity(bones.len());
    while let Some(at) = stack.pop() {
        order.push(at);
        stack.append(&mut children[at]);
    }
    order
}

/// Bones below each.
fn descendants(bones: &[BoneReport<'_>], parents_first: &[usize]) -> Vec<usize> {
    let mut below = vec![0; bones.len()];
    for &at in parents_first.iter().rev() {
        if let Some(parent) = bones[at].parent {
            below[parent] += below[at] + 1;
        }
    }
    below
}

/// The depth down to which not too many bones stand.
fn deepest_shown(bones: &[BoneReport<'_>]) -> usize {
    let mut depths: Vec<_> = bones.iter().map(|bone| bone.depth).collect();
    depths.sort_unstable();
    depths.get(MOST_BONES).map_or(usize::MAX, |&first_beyond| first_beyond.saturating_sub(1))
}

fn clips(clips: &[ClipReport<'_>], out: &mut dyn Write) -> io::Result<()> {
    if clips.is_empty() {
        return Ok(());
    }
    heading(out, "Clips")?;
    let seconds = |secs: f64| format!("{} s", short(secs));
    let row = |clip: &ClipReport<'_>| {
        vec![
            clip.index.to_string(),
            if clip.name.is_empty() { "(unnamed)".to_owned() } else { printable(clip.name) },
            seconds(clip.length),
            format!("{} to {}", short(clip.start), seconds(clip.end)),
            clip.interpolations.join(" "),
            clip.moving_bones.to_string(),
            seconds(clip.smoothing),
            loop_word(clip).to_owned(),
        ]
    };
    let rows: Vec<_> = clips.iter().map(row).collect();
    let columns = [
        ("", Align::Right),
        ("name", Align::Left),
        ("length", Align::Right),
        ("keys", Align::Left),
        ("interpolation", Align::Left),
        ("moving", Align::Right),
        ("smoothing", Align::Right),
        ("loops", Align::Left),
    ];
    let mut rows = table(&columns, &rows).into_iter();
    lines(out, rows.by_ref().take(1).collect())?;
    let indent = 4 + clips.len().saturating_sub(1).to_string().len();
    for (line, clip) in rows.zip(clips) {
        writeln!(out, "{line}")?;
        if clip.loop_kind != "closed" {
            lines(out, wrap(&printable(&clip.loop_note), indent))?;
        }
    }
    Ok(())
}

fn loop_word(clip: &ClipReport<'_>) -> &'static str {
    match (clip.loop_kind, clip.loops) {
        ("pose", _) => "pose",
        (_, true) => "yes",
        (_, false) => "no",
    }
}

fn maps(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    if report.maps.is_empty() {
        return Ok(());
    }
    heading(out, "Painted maps")?;
    let row = |map: &super::MapReport<'_>| {
        let nodes: Vec<_> = map.meshes.iter().map(usize::to_string).collect();
        let range = format!("{} to {}", short(f64::from(map.min)), short(f64::from(map.max)));
        vec![printable(map.name), range, nodes.join(" ")]
    };
    let rows: Vec<_> = report.maps.iter().map(row).collect();
    lines(out, table(&[("name", Align::Left), ("values", Align::Left), ("mesh nodes", Align::Left)], &rows))
}

fn cones(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    if report.cones.is_empty() {
        return Ok(());
    }
    heading(out, "Cones")?;
    for cone in &report.cones {
        let fit = match (cone.fit_error, cone.largest_fit_error) {
            (Some(rms), Some(largest)) => {
                let [rms, largest] = [rms, largest].map(|error| short(100.0 * error));
                format!("off the skin by {rms} % of the region's size, {largest} % at worst")
            }
            _ => "set by hand".to_owned(),
        };
        writeln!(out, "  {} on {}: {fit}", cone.effect, quoted(&cone.bone))?;
        // On one line, whatever its length: it is there to be pasted.
        writeln!(out, "    {}", printable(&cone.recipe))?;
    }
    Ok(())
}

fn warnings(warnings: &[Finding<'_>], out: &mut dyn Write) -> io::Result<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    heading(out, "Warnings")?;
    for warning in warnings {
        writeln!(out, "  {WARNING}{}{WARNING:#}  {}", warning.code, printable(warning.subject))?;
        lines(out, wrap(&printable(warning.message), 4))?;
        lines(out, wrap(&format!("→ {}", printable(warning.remedy)), 4))?;
    }
    Ok(())
}
