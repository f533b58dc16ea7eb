//! Everything measured, for programs.

use super::Report;
use super::gate::Outcome;
use serde_json::{Value, json};
use sinew_check::clip::{Drift, SegmentDrift, VolumeDrift};
use sinew_check::compare::{GroupFigures, StrainedEdge};
use sinew_check::groups::GroupKind;
use sinew_check::keys::{Jump, Noise};
use sinew_check::shape::Piece;
use sinew_check::surface::{Enclosure, TriangleReport};
use sinew_check::weights::WeightReport;
use sinew_check::{ClipReport, Comparison, Extreme, Location};

pub fn report(report: &Report<'_>, outcomes: &[Outcome]) -> Value {
    let warning =
        |w: &sinew::Warning| json!({"code": w.code, "subject": w.subject, "message": w.message, "remedy": w.remedy});
    let size = |c: &sinew::rig::Character| json!({"name": c.name, "size": c.size});
    json!({
        "file": report.scene.name,
        "recipe": if report.recipe.is_empty() { Value::Null } else { report.recipe.into() },
        "fps": report.fps,
        "characters": report.scene.rig.characters().iter().map(size).collect::<Vec<_>>(),
        "weights": report.weights.iter().map(weights).collect::<Vec<_>>(),
        "pieces": report.pieces.iter().map(piece).collect::<Vec<_>>(),
        "surfaces": report.enclosures.iter().map(enclosure).collect::<Vec<_>>(),
        "coincident_vertices": report.coincident,
        "clips": report.clips.iter().map(|c| clip(c, report.has_effects)).collect::<Vec<_>>(),
        "engines": report.engines.iter()
            .map(|(engine, objections)| json!({"engine": engine.name, "objections": objections})).collect::<Vec<_>>(),
        "warnings": report.scene.warnings.iter().map(warning).collect::<Vec<_>>(),
        "gates": outcomes.iter()
            .map(|o| json!({"name": o.name, "found": o.found, "most": o.most, "passed": o.passed}))
            .collect::<Vec<_>>(),
        "passed": outcomes.iter().all(|o| o.passed),
    })
}

fn weights(w: &WeightReport) -> Value {
    json!({
        "node": w.node, "mesh": w.mesh, "vertices": w.vertices, "unnormalised": w.unnormalised,
        "worst_sum": w.worst_sum, "weightless": w.weightless, "over_four": w.over_four,
        "most_influences": w.most_influences,
    })
}

fn enclosure(e: &Enclosure) -> Value {
    json!({
        "node": e.node, "mesh": e.mesh, "closed_pieces": e.closed_pieces, "open_pieces": e.open_pieces,
        "volume": e.volume,
    })
}

fn clip(c: &ClipReport, has_effects: bool) -> Value {
    let motion = &c.motion;
    let seam = c.seam.as_ref().map(|seam| {
        json!({
            "gap": extreme(&seam.gap), "kink": extreme(&seam.kink), "usual_kink": seam.usual_kink,
            "excess_kink": seam.excess_kink(), "travels": seam.travels,
        })
    });
    let pair = |effects: Value, base: Value| {
        if has_effects { json!({"base": base, "effects": effects}) } else { json!({"base": base}) }
    };
    let triangles = |t: &TriangleReport, n: usize| {
        json!({
            "turned": t.turned, "first_turned": c.first_turned[n].as_ref().map(place),
            "collapsed": t.collapsed, "first_collapsed": c.first_collapsed[n].as_ref().map(place),
        })
    };
    let volume = |v: &VolumeDrift| {
        let mut json = pair(drift(&v.effects), drift(&v.base));
        json["node"] = v.node.into();
        json["mesh"] = v.mesh.as_str().into();
        json
    };
    let segment = |s: &SegmentDrift| {
        let mut json = pair(drift(&s.effects), drift(&s.base));
        json["bone"] = s.bone.as_str().into();
        json["share"] = s.share.into();
        json
    };
    json!({
        "name": c.name,
        "frames": c.frames,
        "start": motion.start,
        "end": motion.last_key,
        "loops": motion.period.is_some(),
        "loop_note": motion.verdict.to_string(),
        "seam": seam,
        "first_frame_displacement": c.first_frame.as_ref().map(extreme),
        "jumps": c.keys.jumps.iter().map(jump).collect::<Vec<_>>(),
        "noise": c.keys.noise.as_ref().map(noise),
        "displacement": c.displacement.as_ref().map(extreme),
        "volumes": c.volumes.iter().map(volume).collect::<Vec<_>>(),
        "segments": c.segments.iter().map(segment).collect::<Vec<_>>(),
        "triangles": pair(triangles(&c.effect_triangles, 1), triangles(&c.base_triangles, 0)),
        "parting": c.parting.as_ref().map(extreme),
        "crack": c.crack.as_ref().map(extreme),
        "against_base": c.comparison.as_ref().map(comparison),
    })
}

fn piece(p: &Piece) -> Value {
    json!({"mesh": p.mesh, "bone": p.bone, "points": p.points, "on_one_bone": p.on_one_bone, "size": p.size})
}

fn comparison(c: &Comparison) -> Value {
    let kind = |kind| match kind {
        GroupKind::Character => "character",
        GroupKind::Mesh => "mesh",
        GroupKind::Bone => "bone",
        GroupKind::Given => "group",
    };
    let edge = |e: &StrainedEdge| {
        let mut json = place(&e.place);
        json["strain"] = e.strain.into();
        json["longer"] = e.is_longer.into();
        json["other_vertex"] = e.other.vertex.into();
        json
    };
    let group = |g: &GroupFigures| {
        json!({
            "kind": kind(g.kind), "name": g.name, "strain": g.strain, "worst_edge": g.worst_edge.as_ref().map(edge),
            "strength": g.strength, "motion": g.motion, "tremble": g.tremble, "base_tremble": g.base_tremble,
        })
    };
    let with = |mut json: Value, key: &str, value: Value| {
        json[key] = value;
        json
    };
    json!({
        "groups": c.groups.iter().map(group).collect::<Vec<_>>(),
        "gaps": c.gaps.iter().map(|g| with(extreme(&g.gap), "pieces", json!(g.pieces))).collect::<Vec<_>>(),
        "distortions": c.distortions.iter()
            .map(|d| with(with(extreme(&d.residual), "piece", d.piece.into()), "rigid", d.is_rigid.into()))
            .collect::<Vec<_>>(),
        "slips": c.slips.iter()
            .map(|s| json!({
                "bone": s.bone, "from": s.from, "to": s.to, "base": s.base, "effects": s.effects, "time": s.time,
            }))
            .collect::<Vec<_>>(),
        "below_ground": c.below_ground.as_ref().map(extreme),
        "crossings": {
            "frames": c.crossings.frames,
            "within": {"base": c.crossings.base_within, "new": c.crossings.within},
            "worst": c.crossings.worst.as_ref().map(place),
            "between": {"base": c.crossings.base_between, "new": c.crossings.between},
            "deepest": c.crossings.deepest.as_ref()
                .map(|(deepest, piece)| with(extreme(deepest), "inside_piece", (*piece).into())),
        },
        "thinnest": c.thinnest.as_ref().map(extreme),
        "jolt": c.jolt.as_ref().map(extreme),
    })
}

fn extreme(e: &Extreme) -> Value {
    let mut json = place(&e.place);
    json["share"] = e.value.into();
    json
}

fn place(p: &Location) -> Value {
    json!({
        "node": p.node, "mesh": p.mesh, "primitive": p.primitive, "vertex": p.vertex, "bone": p.bone, "time": p.time,
    })
}

fn drift(d: &Drift) -> Value {
    json!({"least": d.least, "least_time": d.least_time, "most": d.most, "most_time": d.most_time})
}

fn jump(j: &Jump) -> Value {
    json!({
        "bone": j.bone, "node": j.node, "time": j.time, "distance": j.distance, "angle": j.angle, "first": j.is_first,
    })
}

fn noise(n: &Noise) -> Value {
    json!({
        "bone": n.bone, "node": n.node, "channel": if n.is_rotation { "rotation" } else { "translation" },
        "amplitude": n.amplitude,
    })
}
