//! `cargo xtask pictures`: draws the pictures of the manual anew, each by a command the manual shows.

use std::process::ExitCode;

use crate::command::{cargo, succeed};

/// What follows `sinew render`, with the file under `docs/pictures` at the end.
const PICTURES: [&str; 6] = [
    "zoo:flower --clip sway --preset cartoon --compare --size 190 --fps 15 -o docs/pictures/flower.gif",
    "zoo:calf --clip look --preset cartoon --size 130 -o docs/pictures/calf.png",
    "zoo:arm --clip wave --preset lively --time 0.45 --ghost --trajectories 8 --size 300 -o docs/pictures/arm-ghost.png",
    "zoo:arm --clip wave --preset lively --time 0.45 --heat --skeleton --size 300 -o docs/pictures/arm-heat.png",
    "zoo:calf --clip trot --recipe docs/recipes/belly.sinew.toml --view side --frames 3 --size 150 -o docs/pictures/calf-belly.png",
    "zoo:arm --clip bend --recipe docs/recipes/biceps.sinew.toml --view side --time 0.8 --compare --size 200 -o docs/pictures/arm-biceps.png",
];

pub fn run() -> ExitCode {
    for picture in PICTURES {
        let mut draw = cargo("run --release --quiet -- render --quiet --force");
        if let Err(fault) = succeed(draw.args(picture.split_whitespace())) {
            eprintln!("{fault}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_shows_every_picture_and_its_command() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let manual = std::fs::read_to_string(format!("{root}/README.md")).expect("the manual");
        let mut bytes = 0;
        for picture in PICTURES {
            let (_, file) = picture.rsplit_once(' ').expect("a file at the end");
            assert!(manual.contains(&format!("]({file})")), "{file} is not shown");
            assert!(manual.contains(&format!("sinew render {picture}\n")), "{picture}");
            bytes += std::fs::metadata(format!("{root}/{file}")).expect("a picture").len();
        }
        assert!(bytes < 400_000, "{bytes} bytes are too many to clone");
    }
}
