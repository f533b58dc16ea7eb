//! `sinew diff A B`: how two files differ, in what they mean and in how they move.

use crate::args::DiffArgs;
use crate::fault::Fault;
use crate::load;
use crate::output;
use crate::talk::Talk;
use crate::text::{count, printable, quoted, short};
use serde_json::{Value, json};
use sinew_gltf::diff::{Change, ClipDistance, Difference, diff, in_motion};
use sinew_gltf::{Asset, Document, RawAsset};
use std::io::{self, Write};

/// Differences told as text; JSON has all of them.
const MOST_TOLD: usize = 40;
/// Characters of a JSON value told as text.
const LONGEST_VALUE: usize = 60;

pub fn run(options: &DiffArgs, talk: &Talk) -> Result<(), Fault> {
    let names = [options.first.to_string(), options.second.to_string()];
    let (first, second) = (load::document(&options.first)?, load::document(&options.second)?);
    let differences = diff(&first, &second, options.tolerance);
    let distances = if differences.is_empty() { Vec::new() } else { distances(&names, first, second, talk) };
    if options.json {
        output::to_stdout(|out| {
            serde_json::to_writer_pretty(&mut *out, &as_json(&names, &differences, &distances))?;
            writeln!(out)
        })?;
    } else {
        output::text_to_stdout(|out| tell(&names, &differences, &distances, out))?;
    }
    if differences.is_empty() { Ok(()) } else { Err(Fault::Findings) }
}

/// Distances in motion, where both files can be read as characters.
fn distances(names: &[String; 2], first: Document, second: Document, talk: &Talk) -> Vec<ClipDistance> {
    let read = |name: &str, document: Document| -> Option<Asset> {
        let asset = RawAsset::from_document(name, document).and_then(RawAsset::check);
        asset.map_err(|error| talk.note(&format!("not compared in motion: {error}"))).ok()
    };
    match (read(&names[0], first), read(&names[1], second)) {
        (Some(first), Some(second)) => in_motion(&first, &second),
        _ => Vec::new(),
    }
}

fn as_json(names: &[String; 2], differences: &[Difference], distances: &[ClipDistance]) -> Value {
    let difference = |difference: &Difference| {
        let mut json = json!({"pointer": difference.pointer, "element": difference.element});
        let (kind, details) = match &difference.change {
            Change::OnlyInFirst => ("only-in-first", json!({})),
            Change::OnlyInSecond => ("only-in-second", json!({})),
            Change::Value { first, second } => ("value", json!({"first": first, "second": second})),
            Change::Shape { first, second } => ("shape", json!({"first": first, "second": second})),
            Change::Numbers { differing, of, largest, element } => {
                // Not every number has a finite distance to every other.
                let largest = if largest.is_finite() { json!(largest) } else { Value::Null };
                ("numbers", json!({"differing": differing, "of": of, "largest": largest, "at": element}))
            }
            Change::Bytes { first, second } => ("bytes", json!({"first_bytes": first, "second_bytes": second})),
        };
        json["kind"] = kind.into();
        for (key, value) in details.as_object().into_iter().flatten() {
            json[key] = value.clone();
        }
        json
    };
    let distance = |d: &ClipDistance| {
        json!({
            "clip": d.clip,
            "distance": d.distance, "share_of_size": d.share, "time": d.time,
            "node": d.node, "primitive": d.primitive, "vertex": d.vertex,
        })
    };
    json!({
        "first": names[0],
        "second": names[1],
        "equal": differences.is_empty(),
        "differences": differences.iter().map(difference).collect::<Vec<_>>(),
        "motion": distances.iter().map(distance).collect::<Vec<_>>(),
    })
}

fn tell(
    names: &[String; 2],
    differences: &[Difference],
    distances: &[ClipDistance],
    out: &mut dyn Write,
) -> io::Result<()> {
    let [first, second] = [printable(&names[0]), printable(&names[1])];
    if differences.is_empty() {
        return writeln!(out, "{first} and {second} are equal");
    }
    writeln!(out, "{first} and {second}: {}", count(differences.len(), "difference", "differences"))?;
    for difference in differences.iter().take(MOST_TOLD) {
        let what = match &difference.change {
            Change::OnlyInFirst => format!("only in {first}"),
            Change::OnlyInSecond => format!("only in {second}"),
            Change::Value { first, second } => format!("{} → {}", value(first), value(second)),
            Change::Shape { first, second } => format!("{first} → {second}"),
            Change::Numbers { differing, of, largest, element } => {
                format!("{differing} of {of} numbers differ, by up to {} (element {element})", short(*largest))
            }
            Change::Bytes { first, second } => format!("other bytes ({first} → {second} of them)"),
        };
        writeln!(out, "  {}: {what}  [{}]", printable(&difference.element), printable(&difference.pointer))?;
    }
    if differences.len() > MOST_TOLD {
        writeln!(out, "  and {} more; --json lists all", differences.len() - MOST_TOLD)?;
    }
    if distances.is_empty() {
        return Ok(());
    }
    writeln!(out, "in motion, at most:")?;
    for d in distances {
        let clip = d.clip.as_ref().map_or("default pose".into(), |clip| format!("clip {}", quoted(clip)));
        if d.distance == 0.0 {
            writeln!(out, "  {clip}: no vertex apart")?;
            continue;
        }
        let place = format!("node {}, primitive {}, vertex {}", d.node, d.primitive, d.vertex);
        let share = short(100.0 * d.share);
        writeln!(out, "  {clip}: {} apart ({share} % of size) at {} s, {place}", short(d.distance), short(d.time))?;
    }
    Ok(())
}

fn value(json: &Value) -> String {
    let text = printable(&json.to_string());
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
