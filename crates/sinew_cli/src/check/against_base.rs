//! What effects do against the same frame without them, in an animator's words.

use super::Report;
use super::gate::Outcome;
use super::text::{at, bad, percent};
use crate::text::{quoted, short};
use sinew_check::compare::{Distortion, GroupFigures};
use sinew_check::groups::GroupKind;
use sinew_check::shape::Piece;
use sinew_check::{ClipReport, Comparison};
use std::io::{self, Write};

/// Bones and pieces told by name.
const MOST_NAMES: usize = 3;

/// `piece about bone "foot" of mesh "Body"`.
fn piece(report: &Report<'_>, index: usize) -> String {
    let words = |piece: &Piece| format!("the piece about bone {} of mesh {}", quoted(&piece.bone), quoted(&piece.mesh));
    report.pieces.get(index).map_or(String::new(), words)
}

/// How strong effects are seen to be, clip by clip, and pieces on one bone that bend.
pub fn tell(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let compared: Vec<(&ClipReport, &Comparison)> =
        report.clips.iter().filter_map(|clip| clip.comparison.as_ref().map(|found| (clip, found))).collect();
    if compared.is_empty() {
        return Ok(());
    }
    writeln!(out, "against the base")?;
    for (clip, found) in &compared {
        let of_kind = |kind| found.groups.iter().filter(move |group| group.kind == kind);
        let whole = |figure: fn(&GroupFigures) -> f64| of_kind(GroupKind::Character).map(figure).fold(0.0, f64::max);
        let mut bones: Vec<_> = of_kind(GroupKind::Bone).collect();
        bones.sort_by(|a, b| b.strength.total_cmp(&a.strength));
        let told = |group: &&GroupFigures| format!("{} {}", quoted(&group.name), percent(group.strength));
        let bones: Vec<_> = bones.iter().take(MOST_NAMES).map(told).collect();
        writeln!(
            out,
            "    clip {}: visible strength {} of the size, own motion {}; most at {}",
            quoted(&clip.name),
            percent(whole(|group| group.strength)),
            percent(whole(|group| group.motion)),
            bones.join(", ")
        )?;
    }
    bends(report, &compared, out)
}

/// Pieces on one bone that bend, each at its worst.
fn bends(report: &Report<'_>, compared: &[(&ClipReport, &Comparison)], out: &mut dyn Write) -> io::Result<()> {
    let mut worst: Vec<(&ClipReport, &Distortion)> =
        compared.iter().flat_map(|(clip, found)| found.distortions.iter().map(move |bend| (*clip, bend))).collect();
    worst.sort_by(|a, b| b.1.residual.value.total_cmp(&a.1.residual.value));
    let mut told: Vec<usize> = Vec::new();
    for (clip, bend) in worst {
        if told.contains(&bend.piece) {
            continue;
        }
        told.push(bend.piece);
        if told.len() <= MOST_NAMES {
            let (share, time) = (percent(bend.residual.value), short(bend.residual.place.time));
            let rigid = if bend.is_rigid { "" } else { "; if it is rigid, say so with --rigid" };
            let (piece, clip) = (piece(report, bend.piece), quoted(&clip.name));
            bad(
                out,
                &format!(
                    "{piece} hangs on one bone and bends by {share} of its size, in clip {clip} at {time} s{rigid}"
                ),
            )?;
        }
    }
    if told.len() > MOST_NAMES {
        writeln!(out, "    and {} more such pieces; --json lists all", told.len() - MOST_NAMES)?;
    }
    Ok(())
}

/// Where effects do worst by a gate.
pub fn worst_place(report: &Report<'_>, outcome: &Outcome) -> Option<String> {
    let clip = report.clips.get(outcome.clip?)?;
    let found = clip.comparison.as_ref()?;
    let words = match outcome.name {
        "strain" | "worst-strain" => {
            let wholes = found.groups.iter().filter(|group| group.kind == GroupKind::Character);
            let edge =
                wholes.filter_map(|group| group.worst_edge.as_ref()).max_by(|a, b| a.strain.total_cmp(&b.strain))?;
            let (how, times) = (if edge.is_longer { "longer" } else { "shorter" }, short(edge.strain));
            format!("an edge {times} times {how}, to vertex {}, {}", edge.other.vertex, at(&edge.place))
        }
        "gap" => {
            let gap = found.gaps.first()?;
            let [one, two] = gap.pieces.map(|index| piece(report, index));
            format!("{one} parts from {two}, {}", at(&gap.gap.place))
        }
        "rigid" => {
            let bend = found.distortions.iter().find(|bend| bend.is_rigid)?;
            format!("{} bends, {}", piece(report, bend.piece), at(&bend.residual.place))
        }
        "slip" => {
            let excess = |s: &&sinew_check::compare::Slip| s.effects - 1.1 * s.base;
            let slip = found.slips.iter().max_by(|a, b| excess(a).total_cmp(&excess(b)))?;
            let (base, effects) = (percent(slip.base), percent(slip.effects));
            let (from, to) = (short(slip.from), short(slip.to));
            format!(
                "bone {} stands from {from} to {to} s and slips by {effects}, without effects by {base}",
                quoted(&slip.bone)
            )
        }
        "ground" => at(&found.below_ground.as_ref()?.place),
        "tremble" => {
            let bone = found.worst_tremble()?;
            let (added, base) = (percent(bone.tremble), percent(bone.base_tremble));
            format!("bone {}: {added} of what effects add, {base} of its own motion", quoted(&bone.name))
        }
        "crossings" => {
            let crossings = &found.crossings;
            let place = crossings.worst.as_ref().map_or(String::new(), at);
            let counts = format!("{} new pairs in {} frames", crossings.within, crossings.frames);
            format!("{counts}, {} in the base; {place}", crossings.base_within)
        }
        "penetration" => {
            let (deepest, inside) = found.crossings.deepest.as_ref()?;
            format!("{} goes into {}", at(&deepest.place), piece(report, *inside))
        }
        "thinning" => at(&found.thinnest.as_ref()?.place),
        "jolt" => at(&found.jolt.as_ref()?.place),
        _ => return None,
    };
    Some(format!("clip {}: {words}", quoted(&clip.name)))
}
