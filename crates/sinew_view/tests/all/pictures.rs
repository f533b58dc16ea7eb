//! Pictures of the GPU beside those of the processor. They are written to `target/tmp/view` to be looked at: processor, GPU,
//! and eight times their difference.

use crate::{gpu, scenes};
use sinew_render::{Antialias, Image, Size, draw, encode};
use std::path::Path;

/// Mean and 99th percentile over all pixels of the largest difference of a channel, of 255.
fn difference(a: &Image, b: &Image) -> (f64, u8, Image) {
    let apart: Vec<[u8; 4]> =
        a.pixels().iter().zip(b.pixels()).map(|(a, b)| [0, 1, 2, 3].map(|c| a[c].abs_diff(b[c]))).collect();
    let mut largest: Vec<u8> = apart.iter().map(|d| d.iter().copied().max().unwrap_or(0)).collect();
    let mean = largest.iter().map(|&d| f64::from(d)).sum::<f64>() / largest.len() as f64;
    largest.sort_unstable();
    let shown = apart.iter().map(|d| [0, 1, 2].map(|c| d[c].max(d[3]).saturating_mul(8)));
    let shown = shown.map(|[r, g, b]| [r, g, b, 255]).collect();
    (mean, largest[largest.len() * 99 / 100], Image::from_pixels(a.size(), shown).unwrap())
}

fn write(name: &str, images: &[&Image]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("view");
    std::fs::create_dir_all(&folder).unwrap();
    let size = images[0].size();
    let mut page =
        Image::filled(Size::new(size.width() * images.len() as u32, size.height()).unwrap(), [128, 128, 128, 255]);
    for (i, image) in images.iter().enumerate() {
        page.paste(image, i as u32 * size.width(), 0);
    }
    let file = std::fs::File::create(folder.join(format!("{}.png", name.replace([' ', ','], "-")))).unwrap();
    encode::write_png(std::io::BufWriter::new(file), &page).unwrap();
}

/// How far apart pictures may be: twice what was measured on lavapipe, which leaves room for how drivers round and filter.
/// What differs are edges of wires and of texels (hardware weighs texels in eight bits, and cuts holes by the pixel, not by the
/// sample), and by one step where light is rounded to bytes twice.
fn bounds(name: &str) -> (f64, u8) {
    match name {
        "snail as heat with a wire" => (1.3, 16),
        "textured solids, parallel" => (1.0, 12),
        "dancer with a ghost" => (0.6, 6),
        _ => (0.5, 4),
    }
}

#[test]
fn scenes_look_the_same_on_both_sides() {
    let Some(gpu) = gpu() else { return };
    let size = Size::new(480, 480).unwrap();
    scenes::each(size, |name, scene, camera, look| {
        let expected = draw(scene, camera, size, Antialias::Four, look);
        let found = gpu.picture(scene, camera, size, look);
        let (mean, most, shown) = difference(&expected, &found);
        write(name, &[&expected, &found, &shown]);
        eprintln!("{name}: mean {mean:.3}, 99 % within {most}, of 255");
        let (most_mean, most_of_99) = bounds(name);
        assert!(mean <= most_mean && most <= most_of_99, "{name}: {mean} {most}");
    });
}
