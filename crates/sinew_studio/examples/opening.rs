//! How long each step of opening a character takes: between two of them a browser's tab answers.
//!
//! `cargo run --release -p sinew_studio --no-default-features --example opening -- FILE…`
#![allow(clippy::print_stdout)]

use sinew_studio::character::Source;
use sinew_studio::opening::{Opening, Step};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sources: Vec<Source> = std::env::args().skip(1).map(|path| Source::Path(path.into())).collect();
    if sources.is_empty() {
        sources = ["calf", "tube:vertices=10000"].map(|name| Source::BuiltIn(name.to_owned())).into();
    }
    for source in sources {
        let title = source.argument();
        let mut opening = Opening::new(source);
        let mut steps: Vec<(&str, f64)> = Vec::new();
        let vertices = loop {
            let what = opening.what();
            let start = Instant::now();
            let step = opening.step()?;
            steps.push((what, start.elapsed().as_secs_f64() * 1e3));
            match step {
                Step::More(next) => opening = next,
                Step::Done(opened) => break opened.document.rig().vertex_count(),
            }
        };
        let whole: f64 = steps.iter().map(|(_, time)| time).sum();
        let longest = steps.iter().map(|(_, time)| *time).fold(0.0, f64::max);
        println!("{title}: {vertices} vertices, {whole:.0} ms, at most {longest:.0} ms at once");
        steps.iter().for_each(|(what, time)| println!("  {what:<38} {time:>8.1} ms"));
    }
    Ok(())
}
