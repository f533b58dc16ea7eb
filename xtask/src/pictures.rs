//! `cargo xtask pictures`: draws the pictures of the manual anew, each by a command the manual shows, and the gallery.

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
    let mut gallery = cargo("run --release --quiet -p sinew_render --example expressive -- docs/gallery");
    match succeed(&mut gallery) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
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

    #[test]
    fn the_gallery_shows_every_picture_it_has() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/gallery");
        let captions = std::fs::read_to_string(format!("{folder}/README.md")).expect("captions");
        let mut pictures = 0;
        for entry in std::fs::read_dir(folder).expect("the gallery") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|ending| ending == "png") {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                assert!(captions.contains(&format!("]({name})")), "{name} is not shown");
                assert!(std::fs::metadata(&path).expect("a file").len() < 150_000, "{name} is too large to clone");
                pictures += 1;
            }
        }
        assert_eq!(captions.matches(".png)").count(), pictures);
    }
}
