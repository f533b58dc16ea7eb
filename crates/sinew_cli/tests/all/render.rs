//! `sinew render`: pictures show what `sinew frame` computes, are the same on any number of threads, and never half there.

use crate::common::{Folder, command, frame, sinew};
use sinew_testkit::glb::Builder;
use std::path::Path;

/// A decoded PNG: the first frame where there are several.
struct Picture {
    width: usize,
    height: usize,
    frames: u32,
    rgb: Vec<[u8; 3]>,
}

impl Picture {
    fn read(path: &str) -> Self {
        let mut decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).expect("a picture")));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().expect("a PNG");
        let frames = reader.info().animation_control().map_or(1, |control| control.num_frames);
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut bytes).expect("pixels");
        let channels = info.color_type.samples();
        let rgb = bytes.chunks_exact(channels).map(|p| [p[0], p[1], p[2]]).collect();
        Self { width: info.width as usize, height: info.height as usize, frames, rgb }
    }

    fn crop(&self, left: usize, top: usize, side: usize) -> Vec<[u8; 3]> {
        (0..side * side).map(|i| self.rgb[(top + i / side) * self.width + left + i % side]).collect()
    }

    /// Distinct colours: a picture of something has many.
    fn colors(&self) -> usize {
        self.rgb.iter().collect::<std::collections::HashSet<_>>().len()
    }
}

fn render(args: &[&str]) -> String {
    let run = sinew([&["render"], args].concat());
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{args:?}: {}", run.stderr);
    run.stderr
}

#[test]
fn a_contact_sheet_has_the_base_over_the_result() {
    let folder = Folder::new();
    let (effects, plain) = (folder.join("lively.png"), folder.join("plain.png"));
    let talk =
        render(&["zoo:calf", "--clip", "trot", "--preset", "lively", "--frames", "4", "--size", "64", "-o", &effects]);
    assert!(talk.contains("effects move the skin by up to"), "{talk}");
    render(&["zoo:calf", "--clip", "trot", "--frames", "4", "--size", "64", "-o", &plain]);
    let (effects, plain) = (Picture::read(&effects), Picture::read(&plain));
    // Four pictures of 64 pixels and the gaps beside them; one row more with its caption.
    assert_eq!((effects.width, plain.width), (4 * 68 + 4, 4 * 68 + 4));
    let row = effects.height - plain.height;
    assert!((64..110).contains(&row), "{row}");
    assert!(effects.colors() > 200 && plain.colors() > 200);
}

#[test]
fn beside_one_another_base_and_result_differ_by_the_effects_alone() {
    let folder = Folder::new();
    let at = ["--time", "0.3", "--compare", "--size", "96", "--clip", "trot"];
    for (name, recipe, equal) in [("same.png", &[][..], true), ("effects.png", &["--preset", "cartoon"], false)] {
        let path = folder.join(name);
        render(&[&["zoo:calf", "-o", &path], &at[..], recipe].concat());
        let picture = Picture::read(&path);
        assert_eq!(picture.width, 2 * 100 + 4);
        let (base, result) = (picture.crop(4, 4, 96), picture.crop(104, 4, 96));
        assert_eq!(base == result, equal, "{name}");
    }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    for name in ["sheet.png", "film.apng", "film.gif"] {
        let files = ["1", "2", "5"].map(|threads| {
            let path = folder.join(&format!("{threads}-{name}"));
            let run = command()
                .env("RAYON_NUM_THREADS", threads)
                .args(["render", "zoo:snail", "--preset", "jelly", "--frames", "5", "--size", "80", "--quiet"])
                .args(["--ghost", "--trajectories", "4", "--skeleton", "--wire", "-o", &path])
                .status();
            assert!(run.expect("the command starts").success());
            std::fs::read(path).expect("a file")
        });
        assert!(files[0] == files[1] && files[0] == files[2], "{name}");
    }
}

#[test]
fn muscles_are_drawn_where_the_recipe_has_some() {
    let folder = Folder::new();
    let recipe = folder.join("muscles.toml");
    std::fs::write(&recipe, "version = 1\n[[correction]]\ntype = \"muscles\"\n").expect("a file");
    let picture = |name: &str, options: &[&str]| {
        let path = folder.join(name);
        let fixed = ["zoo:calf", "--clip", "trot", "--time", "0.2", "--size", "64", "-o", &path];
        render(&[&fixed[..], options].concat());
        std::fs::read(path).expect("a picture")
    };
    let drawn = picture("drawn.png", &["--recipe", &recipe, "--muscles"]);
    assert_ne!(drawn, picture("plain.png", &["--recipe", &recipe]));
    assert_eq!(picture("none.png", &["--muscles"]), picture("base.png", &[]));
}

#[test]
fn a_film_of_a_loop_has_the_frames_of_one_period() {
    let folder = Folder::new();
    let path = folder.join("film.apng");
    // 0.8 s at 12 frames per second: ten frames, not 9.6.
    render(&["zoo:calf", "--clip", "trot", "--size", "48x32", "--fps", "12", "-o", &path]);
    let film = Picture::read(&path);
    assert_eq!((film.width, film.height, film.frames), (48, 32, 10));
    let path = folder.join("film.png");
    render(&["zoo:calf", "--clip", "trot", "--size", "32", "--frames", "3", "--as", "film", "-o", &path]);
    assert_eq!(Picture::read(&path).frames, 3);
}

/// A `.npy` file's shape and numbers, four bytes each.
fn npy(path: &Path) -> (Vec<usize>, Vec<[u8; 4]>) {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert!(end.is_multiple_of(64));
    let header = std::str::from_utf8(&bytes[10..end]).expect("ASCII");
    let shape = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).expect("a shape").0;
    let shape: Vec<usize> = shape.split(", ").map(|n| n.parse().expect("a number")).collect();
    let numbers: Vec<[u8; 4]> = bytes[end..].as_chunks::<4>().0.to_vec();
    assert_eq!(numbers.len(), shape.iter().product::<usize>());
    (shape, numbers)
}

#[test]
fn buffers_tell_where_on_the_frame_every_pixel_lies() {
    let folder = Folder::new();
    let out = folder.join("buffers");
    let at = ["--clip", "trot", "--time", "0.3", "--preset", "lively"];
    render(&[&["zoo:calf", "--buffers", &out, "--size", "48x40"], &at[..]].concat());
    let read = |name: &str| npy(&Path::new(&out).join(format!("0000.{name}.npy")));
    let floats = |name: &str| {
        let (shape, numbers) = read(name);
        (shape, numbers.into_iter().map(f32::from_le_bytes).collect::<Vec<f32>>())
    };
    let (shape, primitive) = read("primitive");
    let (_, position) = floats("position");
    let (_, weights) = floats("barycentrics");
    let (depth_shape, depth) = floats("depth");
    assert_eq!((shape, depth_shape), (vec![40, 48, 3], vec![40, 48]));
    let primitive: Vec<u32> = primitive.into_iter().map(u32::from_le_bytes).collect();

    let frame = frame("zoo:calf", &at);
    let mesh = &frame["meshes"][0];
    let mut seen = 0;
    for pixel in 0..48 * 40 {
        let [node, part, triangle] = [0, 1, 2].map(|c| primitive[3 * pixel + c]);
        assert_eq!(node == u32::MAX, depth[pixel].is_infinite());
        if node == u32::MAX {
            continue;
        }
        assert_eq!(u64::from(node), mesh["node"].as_u64().expect("a node"));
        let geometry = &mesh["primitives"][part as usize];
        let corner = |k: usize| {
            let index = geometry["indices"][3 * triangle as usize + k].as_u64().expect("an index");
            crate::common::triple(&geometry["positions"][index as usize])
        };
        let corners = [0, 1, 2].map(corner);
        for axis in 0..3 {
            let mixed: f64 = (0..3).map(|k| f64::from(weights[3 * pixel + k]) * corners[k][axis]).sum();
            assert!((mixed - f64::from(position[3 * pixel + axis])).abs() < 1e-5, "pixel {pixel}");
        }
        seen += 1;
    }
    assert!(seen > 200, "{seen} pixels show the calf");
    assert!(Picture::read(&format!("{out}/0000.color.png")).colors() > 50);
}

#[test]
fn the_camera_stands_where_it_is_told() {
    let folder = Folder::new();
    let depth = |view: &str| {
        let out = folder.join(&view.replace(',', "_"));
        render(&["zoo:calf", "--clip", "trot", "--time", "0", "--size", "64", "--view", view, "--buffers", &out]);
        let (_, numbers) = npy(&Path::new(&out).join("0000.depth.npy"));
        let seen = numbers.into_iter().map(f32::from_le_bytes).filter(|d| d.is_finite());
        seen.fold((0.0_f32, 0), |(sum, count), d| (sum + d, count + 1))
    };
    let (near, far) = (depth("30,10,3"), depth("30,10,6"));
    let mean = |(sum, count): (f32, i32)| sum / count as f32;
    let size = crate::common::inspect("zoo:calf")["characters"][0]["size"].as_f64().expect("a size") as f32;
    // Three sizes farther away everything is three sizes deeper, and covers about a quarter of the pixels.
    assert!(((mean(far) - mean(near)) / size - 3.0).abs() < 0.1, "{} {}", mean(near), mean(far));
    assert!((0.2..0.35).contains(&(far.1 as f32 / near.1 as f32)), "{} {}", near.1, far.1);
}

#[test]
fn heat_maps_are_drawn_and_unknown_ones_named() {
    let folder = Folder::new();
    let path = folder.join("heat.png");
    render(&["zoo:calf", "--preset", "lively", "--time", "0.2", "--heat", "--size", "128", "-o", &path]);
    assert!(Picture::read(&path).colors() > 200);
    let run = sinew(["render", "zoo:calf", "--heat", "displacment", "-o", &folder.join("no.png")]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("did you mean \"displacement\"?"), "{}", run.stderr);
}

#[test]
fn anatomy_is_drawn_in_colours_with_a_key() {
    let folder = Folder::new();
    let path = folder.join("anatomy.png");
    render(&["zoo:calf", "--time", "0.2", "--anatomy", "--size", "256", "-o", &path]);
    assert!(Picture::read(&path).colors() > 200);
    assert_eq!(sinew(["render", "zoo:calf", "--anatomy", "--heat", "-o", &path]).code, 2);
}

/// A character that wears a green picture of that side.
fn dressed_in_green(side: u32) -> Builder {
    let mut image = Vec::new();
    let mut encoder = png::Encoder::new(&mut image, side, side);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&[20, 230, 20].repeat((side * side) as usize)).expect("pixels");
    writer.finish().expect("a file");
    let mut file = Builder::rigged();
    let uvs = file.accessor("VEC2", &[0.5f32; 2 * Builder::RIGGED_VERTICES]);
    let view = file.view(&image);
    file.set("/meshes/0/primitives/0/attributes/TEXCOORD_0", uvs.into());
    file.set("/meshes/0/primitives/0/material", 0.into());
    file.set("/images", serde_json::json!([{"bufferView": view, "mimeType": "image/png"}]));
    file.set("/textures", serde_json::json!([{"source": 0}]));
    let material = serde_json::json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}});
    file.set("/materials", serde_json::json!([material]));
    file
}

fn greens(picture: &str) -> usize {
    let picture = Picture::read(picture);
    picture.rgb.iter().filter(|[r, g, b]| *g > 60 && g / 3 > *r && g / 3 > *b).count()
}

#[test]
fn textures_colour_the_picture() {
    let folder = Folder::new();
    let mut file = dressed_in_green(1);
    let (green, out) = (folder.write("green.glb", file.glb()), folder.join("green.png"));
    render(&[&green, "--time", "0", "--size", "64", "-o", &out]);
    assert!(greens(&out) > 300, "{} green pixels", greens(&out));
    // A texture that cannot be decoded is told, and the character drawn all the same.
    let view = file.view(b"GIF89a");
    file.set("/images/0/bufferView", view.into());
    let broken = folder.write("broken.glb", file.glb());
    let talk = render(&[&broken, "--time", "0", "--size", "64", "--force", "-o", &out]);
    assert!(talk.contains("[texture-unreadable]"), "{talk}");
}

/// Limits are lowered so far that 26,843 pixels may be decoded and 1,677 kept.
#[test]
fn textures_beyond_what_is_kept_are_halved_and_beyond_the_limit_left_out() {
    let folder = Folder::new();
    let out = folder.join("out.png");
    for (side, is_worn) in [(100, true), (200, false)] {
        let file = folder.write("dressed.glb", dressed_in_green(side).without("/animations").glb());
        let talk = render(&[&file, "--size", "64", "--limits", "1e-4", "--force", "-o", &out]);
        assert_eq!(greens(&out) > 300, is_worn, "{side}: {talk}");
        let is_told = talk.contains(&format!("{side} × {side} pixels, beyond the limit of 26843; make it smaller"));
        assert_eq!(is_told, !is_worn, "{side}: {talk}");
        render(&[&file, "--size", "64", "--force", "-o", &out]);
        assert!(greens(&out) > 300, "{side}");
    }
}

#[test]
fn an_mp4_needs_ffmpeg_and_says_so() {
    let folder = Folder::new();
    let path = folder.join("film.mp4");
    let args = ["render", "zoo:tube", "--frames", "3", "--size", "31", "-o", &path];
    let run: crate::common::Run = command().env("PATH", folder.path()).args(args).output().expect("it starts").into();
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("film.mp4") && run.stderr.contains("apt install ffmpeg"), "{}", run.stderr);
    assert_eq!(folder.names(), [""; 0], "nothing is left behind");
    // With ffmpeg there is a film.
    let run = sinew(args);
    if run.code == 0 {
        let bytes = std::fs::read(&path).expect("a film");
        assert_eq!(&bytes[4..8], b"ftyp");
    } else {
        assert!(run.stderr.contains("apt install ffmpeg"), "{}", run.stderr);
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let folder = Folder::new();
    let taken = folder.write("taken.png", "mine");
    let unskinned = folder.write("plain.gltf", r#"{"asset":{"version":"2.0"},"nodes":[{}]}"#);
    let out = folder.join("out.png");
    for (code, args, told) in [
        (2, &["zoo:tube"][..], "--output"),
        (2, &["zoo:tube", "-o", "film.avi"], "use .png, .apng, .gif or .mp4"),
        (2, &["zoo:tube", "-o", "film.gif", "--as", "sheet"], "use the extension .png"),
        (2, &["zoo:tube", "-o", "film.gif", "--time", "1"], "--time is for stills"),
        (2, &["zoo:tube", "-o", &out, "--size", "0"], "pixels from 1 to"),
        (2, &["zoo:tube", "-o", &out, "--view", "above"], "give front, back, side"),
        (2, &["zoo:tube", "-o", &out, "--fps", "0"], "frames per second"),
        (2, &["zoo:tube", "-o", &out, "--frames", "0"], "0"),
        (2, &["zoo:tube", "-o", &out, "--frames", "9000"], "fewer --frames"),
        (2, &["zoo:tube", "-o", &out, "--clip", "wav"], "did you mean \"wave\"?"),
        (2, &["zoo:tube", "-o", "-", "--as", "film", "--preset", "livly"], "did you mean \"lively\"?"),
        (1, &["zoo:tube", "-o", &taken], "already exists"),
        (1, &[&unskinned, "-o", &out], "nothing to draw"),
        (1, &["no-such.glb", "-o", &out], "no-such.glb"),
        (1, &["zoo:tube", "-o", "no-such-folder/x.png"], "does not exist"),
        (1, &["zoo:tube", "--buffers", "no-such-folder/x", "--size", "8"], "cannot be made"),
    ] {
        let run = sinew([&["render"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{args:?}: {}", run.stderr);
    }
    assert_eq!(std::fs::read(taken).expect("still there"), b"mine");
    assert_eq!(folder.names(), ["plain.gltf", "taken.png"]);
}

#[test]
fn a_png_goes_to_stdout() {
    let run =
        command().args(["render", "zoo:tube", "--time", "0", "--size", "16", "-o", "-", "-q"]).output().expect("runs");
    assert!(run.status.success() && run.stderr.is_empty() && run.stdout.starts_with(b"\x89PNG"));
}
