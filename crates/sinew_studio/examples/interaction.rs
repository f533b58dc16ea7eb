//! How long the studio takes from an event to the deformed skin, apart from drawing:
//!
//! `cargo run --release -p sinew_studio --no-default-features --example interaction`
#![allow(clippy::print_stdout)]

use sinew::recipe::{Place, Strength};
use sinew_draw::edits::{Edit, KindName};
use sinew_studio::brush::{Brush, Canvas, SkinPlace, Stroke};
use sinew_studio::character::Character;
use sinew_studio::document::Document;
use sinew_studio::jobs::{Done, Job, Task};
use sinew_studio::player::Player;
use std::time::Instant;

const ROUNDS: usize = 200;

/// Median and largest, in milliseconds.
fn told(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    println!("  {what:<34} {:>7.2} ms, at most {:>7.2} ms", times[times.len() / 2], times[times.len() - 1]);
}

fn timed(
    mut once: impl FnMut(usize) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let start = Instant::now();
        once(round)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["calf", "tube:vertices=10000"] {
        let mut document = Document::new(Character::built_in(name)?);
        document.choose_preset("lively")?;
        let mut player = Player::new(&document, 0)?;
        if let Done::Solved(gains) = Task::new(&document, Job::Solve).run(&|_, _, _| ()) {
            player.take_gains(document.recipe().recipe(), gains);
        }
        player.follow(&document)?;
        println!("{name}: {} vertices, lively", document.rig().vertex_count());
        let span = player.span();
        let at = |round: usize| span.start + span.length * round as f64 / ROUNDS as f64;
        told(
            "a frame, with and without effects",
            timed(|round| {
                player.frame(at(round));
                Ok(())
            })?,
        );
        let gesture = Some(document.gesture());
        told(
            "strength dragged, and a frame",
            timed(|round| {
                let strength = Strength::new(0.02 + 1e-4 * round as f64).ok_or("no strength")?;
                for index in 0..document.recipe().recipe().effects.len() {
                    if document.recipe().recipe().effects[index].strength.is_some() {
                        document.set("strength", gesture, Place::Effect(index, "strength"), strength)?;
                    }
                }
                player.follow(&document)?;
                player.frame(at(round));
                Ok(())
            })?,
        );
        document.make_map("soft", None)?;
        document.set("map", None, Place::Effect(0, "map"), "soft")?;
        player.follow(&document)?;
        let mut canvas = Canvas::new(document.rig());
        let mut stroke = Stroke::new(Brush::default(), &document.maps()["soft"]);
        let triangles = document.rig().point_triangles().to_vec();
        told(
            "a dab painted, and a frame",
            timed(|round| {
                let slots = triangles[(round * 37) % triangles.len()];
                let changed = stroke.to(&mut canvas, SkinPlace { slots, shares: [0.4, 0.3, 0.3] }, 1.0);
                document.paint("paint", gesture, "soft", changed)?;
                player.follow(&document)?;
                player.frame(at(round));
                Ok(())
            })?,
        );
        // Along a few edges of the skin, and so far up.
        let mesh = player.frame(at(ROUNDS / 4)).result;
        let adjacency = document.rig().adjacency();
        let mut slots = vec![triangles[triangles.len() / 3][0] as usize];
        while slots.len() < 8 {
            let next = adjacency.of(slots[slots.len() - 1]).iter().map(|&next| next as usize);
            slots.extend(next.filter(|next| !slots.contains(next)).take(1).collect::<Vec<_>>());
        }
        let vertex = |slot: &usize| document.rig().point_of_vertex().iter().position(|&other| other as usize == *slot);
        let line: Vec<[f64; 3]> =
            slots.iter().filter_map(vertex).map(|vertex| mesh.world_position(0, vertex).to_array()).collect();
        let up = 0.03 * document.character().size();
        for kind in [KindName::Bulge, KindName::Pull] {
            let moved = |share: f64| line.iter().map(move |&[x, y, z]| vec![x, y + up * share, z]);
            told(
                if kind == KindName::Pull {
                    "a stroke pulls skin, and a frame"
                } else {
                    "a stroke raises it, and a frame"
                },
                timed(|round| {
                    let clip = document.character().asset.clips.first().map(|clip| clip.name.clone());
                    let edit = Edit {
                        name: "line".to_owned(),
                        time: clip.is_some().then(|| at(ROUNDS / 4)),
                        clip,
                        kind,
                        from: line.iter().map(|place| place.to_vec()).collect(),
                        to: if kind == KindName::Pull {
                            moved(round as f64 / ROUNDS as f64).collect()
                        } else {
                            Vec::new()
                        },
                        ..Edit::default()
                    };
                    document.draw_edits("draw", gesture, 0, vec![edit], &player)?;
                    player.follow(&document)?;
                    player.frame(at(round));
                    Ok(())
                })?,
            );
        }
    }
    Ok(())
}
