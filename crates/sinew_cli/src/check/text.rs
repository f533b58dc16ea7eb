//! What was measured, in words: what is sound in a line, what is not with its place and what to do about it.

use super::gate::Outcome;
use super::{Report, against_base};
use crate::text::{count, printable, quoted, short};
use anstyle::{AnsiColor, Style};
use sinew_check::clip::{Drift, SegmentDrift, VolumeDrift};
use sinew_check::limits::LIMITS;
use sinew_check::surface::TriangleReport;
use sinew_check::{ClipReport, Location};
use std::io::{self, Write};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Yellow.on_default();

/// Shares below this are not seen, and told as none.
const UNSEEN: f64 = 1e-4;
/// Effects of this share in a first frame are seen as a pop.
const POP: f64 = 5e-3;
/// Noise below this is not seen.
const VISIBLE_NOISE: f64 = 5e-4;
/// Points that part by less are not seen to.
const WORTH_A_WORD: f64 = 1e-3;
/// Jumps told one by one.
const MOST_JUMPS: usize = 5;
/// Of a segment's volume: what an eye may see.
const VISIBLE_VOLUME: f64 = 0.01;
/// Segments told of one clip.
const MOST_SEGMENTS: usize = 3;

pub fn tell(report: &Report<'_>, outcomes: &[Outcome], out: &mut dyn Write) -> io::Result<()> {
    let with = if report.recipe.is_empty() { String::new() } else { format!(" with {}", printable(report.recipe)) };
    writeln!(out, "{}{with}, at {} frames per second", printable(&report.scene.name), report.fps)?;
    weights(report, out)?;
    surfaces(report, out)?;
    engines(report, out)?;
    warnings(report, out)?;
    if report.clips.is_empty() {
        writeln!(out, "no clips")?;
    }
    for clip in &report.clips {
        tell_clip(clip, report.has_effects, out)?;
    }
    against_base::tell(report, out)?;
    if !outcomes.is_empty() {
        writeln!(out, "gates")?;
    }
    for outcome in outcomes {
        let (found, most) = (outcome.words(outcome.found), outcome.words(outcome.most));
        let place = against_base::worst_place(report, outcome).map_or(String::new(), |words| format!(": {words}"));
        if outcome.passed {
            good(out, &format!("{}: {found}, at most {most}", outcome.name))?;
        } else {
            let about = LIMITS.iter().find(|limit| limit.name == outcome.name);
            let about = about.map_or(String::new(), |limit| format!(" ({})", limit.about));
            bad(out, &format!("{}: {found}, more than {most}{about}{place}", outcome.name))?;
        }
    }
    Ok(())
}

pub(super) fn good(out: &mut dyn Write, words: &str) -> io::Result<()> {
    writeln!(out, "  {GOOD}✓{GOOD:#} {words}")
}

pub(super) fn bad(out: &mut dyn Write, words: &str) -> io::Result<()> {
    writeln!(out, "  {BAD}!{BAD:#} {words}")
}

pub(super) fn percent(share: f64) -> String {
    format!("{} %", short(100.0 * share))
}

/// `mesh "Body", vertex 12 (bone "tail"), at 0.25 s`.
pub(super) fn at(place: &Location) -> String {
    let primitive = if place.primitive == 0 { String::new() } else { format!(" primitive {}", place.primitive) };
    let (mesh, bone) = (quoted(&place.mesh), quoted(&place.bone));
    format!("mesh {mesh}{primitive} vertex {} (bone {bone}) at {} s", place.vertex, short(place.time))
}

fn weights(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "skin weights")?;
    let mut sound = 0;
    for w in &report.weights {
        let mesh = format!("mesh {}", quoted(&w.mesh));
        sound += usize::from(w.unnormalised == 0 && w.weightless == 0);
        if w.unnormalised > 0 {
            let sum = short(w.worst_sum);
            let many = count(w.unnormalised, "vertex has weights", "vertices have weights");
            bad(
                out,
                &format!("{mesh}: {many} that do not sum to 1 (one sums to {sum}); normalise them and export again"),
            )?;
        }
        if w.weightless > 0 {
            let many = count(w.weightless, "vertex follows", "vertices follow");
            bad(out, &format!("{mesh}: {many} no bone; paint weights there"))?;
        }
        if w.over_four > 0 {
            let many = count(w.over_four, "vertex follows", "vertices follow");
            bad(
                out,
                &format!("{mesh}: {many} more than 4 bones (up to {}); some engines drop the rest", w.most_influences),
            )?;
        }
    }
    if sound > 0 {
        good(out, &format!("{} normalised, no vertex without a bone", count(sound, "skinned mesh", "skinned meshes")))?;
    }
    Ok(())
}

fn surfaces(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let closed: usize = report.enclosures.iter().map(|e| e.closed_pieces).sum();
    let open: Vec<_> = report.enclosures.iter().filter(|e| e.open_pieces > 0).collect();
    writeln!(out, "surface")?;
    if closed > 0 {
        good(out, &format!("{} with a volume", count(closed, "closed piece", "closed pieces")))?;
    }
    if !open.is_empty() {
        let pieces: usize = open.iter().map(|e| e.open_pieces).sum();
        let names: Vec<_> = open.iter().take(4).map(|e| quoted(&e.mesh)).collect();
        let more = if open.len() > 4 { format!(" and {} more", open.len() - 4) } else { String::new() };
        let pieces = count(pieces, "open piece", "open pieces");
        writeln!(out, "    {pieces} without a volume, in {}{more}", names.join(", "))?;
    }
    if report.coincident > 0 {
        writeln!(out, "    {} touch others without being joined to them", count(report.coincident, "point", "points"))?;
    }
    Ok(())
}

fn engines(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "engines")?;
    let fine: Vec<_> = report.engines.iter().filter(|(_, o)| o.is_empty()).map(|(engine, _)| engine.title).collect();
    if !fine.is_empty() {
        good(out, &format!("within the limits of {}", fine.join(", ")))?;
    }
    report.engines.iter().flat_map(|(_, objections)| objections).try_for_each(|words| bad(out, words))
}

fn warnings(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "file")?;
    if report.scene.warnings.is_empty() {
        return good(out, "no warnings");
    }
    report.scene.warnings.iter().try_for_each(|warning| bad(out, &printable(&warning.to_string())))
}

fn tell_clip(clip: &ClipReport, has_effects: bool, out: &mut dyn Write) -> io::Result<()> {
    let length = clip.motion.last_key - clip.motion.start;
    writeln!(out, "clip {}: {} s, {}", quoted(&clip.name), short(length), count(clip.frames, "frame", "frames"))?;
    writeln!(out, "    {}", printable(&clip.motion.verdict.to_string()))?;
    seam(clip, out)?;
    keys(clip, out)?;
    if let Some(first) = clip.first_frame.as_ref().filter(|first| first.value > POP) {
        let (share, place) = (percent(first.value), at(&first.place));
        let remedy = "start the clip more slowly, or set ends = \"rest\"";
        bad(out, &format!("effects begin with a pop of {share} of the size: {place}; {remedy}"))?;
    }
    if let Some(displacement) = &clip.displacement {
        let share = percent(displacement.value);
        writeln!(out, "    effects move vertices by up to {share} of the size: {}", at(&displacement.place))?;
    }
    clip.volumes.iter().try_for_each(|volume| tell_volume(volume, has_effects, out))?;
    tell_segments(&clip.segments, has_effects, out)?;
    triangles(clip, &clip.base_triangles, 0, "", out)?;
    if has_effects {
        triangles(clip, &clip.effect_triangles, 1, " by the effects", out)?;
    }
    if let Some(parting) = clip.parting.as_ref().filter(|parting| parting.value > WORTH_A_WORD) {
        let share = percent(parting.value);
        writeln!(out, "    points that touch at rest separate by up to {share} of the size: {}", at(&parting.place))?;
    }
    if let Some(crack) = clip.crack.as_ref().filter(|crack| crack.value > UNSEEN) {
        let share = percent(crack.value);
        bad(out, &format!("effects pull touching points apart by {share} of the size: {}", at(&crack.place)))?;
    }
    Ok(())
}

fn seam(clip: &ClipReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(seam) = &clip.seam else { return Ok(()) };
    let what = if seam.travels { "effects" } else { "vertices" };
    if seam.gap.value > UNSEEN {
        let share = percent(seam.gap.value);
        bad(out, &format!("at the seam {what} jump by {share} of the size: {}", at(&seam.gap.place)))?;
    } else {
        good(out, &format!("at the seam {what} meet"))?;
    }
    if seam.excess_kink() > UNSEEN {
        let (kink, usual) = (percent(seam.kink.value), percent(seam.usual_kink));
        let place = at(&seam.kink.place);
        bad(
            out,
            &format!(
                "at the seam velocity changes by {kink} of the size per second, elsewhere by at most {usual}: {place}"
            ),
        )
    } else {
        good(out, "at the seam velocity changes no more than elsewhere")
    }
}

fn keys(clip: &ClipReport, out: &mut dyn Write) -> io::Result<()> {
    for jump in clip.keys.jumps.iter().take(MOST_JUMPS) {
        let how = if jump.angle > 0.0 {
            format!("turns by {}°", short(jump.angle.to_degrees()))
        } else {
            format!("moves by {} of the size", percent(jump.distance))
        };
        let remedy = if jump.is_first {
            "the first key does not belong to the clip: remove it".to_owned()
        } else {
            format!("if that is intended, set teleports = [{}] in the recipe", short(jump.time))
        };
        bad(out, &format!("bone {} {how} between two keys at {} s; {remedy}", quoted(&jump.bone), short(jump.time)))?;
    }
    if clip.keys.jumps.len() > MOST_JUMPS {
        writeln!(out, "    and {} more such jumps; --json lists all", clip.keys.jumps.len() - MOST_JUMPS)?;
    }
    if let Some(noise) = clip.keys.noise.as_ref().filter(|noise| noise.amplitude > VISIBLE_NOISE) {
        let channel = if noise.is_rotation { "rotation" } else { "translation" };
        let (bone, share) = (quoted(&noise.bone), percent(noise.amplitude));
        bad(
            out,
            &format!("the {channel} of bone {bone} jitters by {share} of the size from key to key; smooth the curve"),
        )?;
    }
    if clip.keys.jumps.is_empty() && clip.motion.moving_bones > 0 {
        good(out, "no jumps between keys")?;
    }
    Ok(())
}

fn range(drift: &Drift) -> String {
    format!("{:+.2} % to {:+.2} %", 100.0 * drift.least, 100.0 * drift.most)
}

/// The segments that change most in the base, as an eye sees it: by volume, not by their own share of it.
fn tell_segments(segments: &[SegmentDrift], has_effects: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut worst: Vec<&SegmentDrift> =
        segments.iter().filter(|s| s.base.largest().max(s.effects.largest()) > VISIBLE_VOLUME).collect();
    let seen = |segment: &SegmentDrift| segment.share * segment.base.largest();
    worst.sort_by(|a, b| seen(b).total_cmp(&seen(a)));
    for segment in worst.iter().take(MOST_SEGMENTS) {
        let effects = if has_effects { format!("; with effects {}", range(&segment.effects)) } else { String::new() };
        writeln!(out, "    volume around bone {}: {}{effects}", quoted(&segment.bone), range(&segment.base))?;
    }
    if worst.len() > MOST_SEGMENTS {
        let more = count(worst.len() - MOST_SEGMENTS, "bone whose part is", "bones whose parts are");
        writeln!(out, "    and around {more} smaller; --json lists all")?;
    }
    Ok(())
}

fn tell_volume(volume: &VolumeDrift, has_effects: bool, out: &mut dyn Write) -> io::Result<()> {
    let effects = if has_effects { format!("; with effects {}", range(&volume.effects)) } else { String::new() };
    writeln!(out, "    volume of mesh {}: {}{effects}", quoted(&volume.mesh), range(&volume.base))
}

fn triangles(clip: &ClipReport, found: &TriangleReport, n: usize, by: &str, out: &mut dyn Write) -> io::Result<()> {
    if found.turned > 0 {
        let place = clip.first_turned[n].as_ref().map_or(String::new(), |place| format!(", first at {}", at(place)));
        bad(out, &format!("{} flipped{by}{place}", count(found.turned, "triangle is", "triangles are")))?;
    }
    if found.collapsed > 0 {
        let place = clip.first_collapsed[n].as_ref().map_or(String::new(), |place| format!(", first at {}", at(place)));
        bad(out, &format!("{} collapsed{by}{place}", count(found.collapsed, "triangle is", "triangles are")))?;
    }
    if found.turned == 0 && found.collapsed == 0 {
        good(out, &format!("no triangle is flipped or collapsed{by}"))?;
    }
    Ok(())
}
