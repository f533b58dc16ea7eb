//! How long the studio takes from an event to the deformed skin, apart from drawing:
//!
//! `cargo run --release -p sinew_studio --no-default-features --example interaction`
#![allow(clippy::print_stdout)]

use sinew::recipe::{Place, Strength};
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
    }
    Ok(())
}
