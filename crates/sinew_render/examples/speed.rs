//! Times a frame of about five thousand triangles, best of some rounds:
//! `cargo run --release -p sinew_render --example speed -- ROUNDS`.

use glam::Vec3;
use sinew_render::*;
use std::time::{Duration, Instant};

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (columns, rows) = (64_u32, 40_u32);
    let (mut positions, mut normals, mut triangles) = (vec![], vec![], vec![]);
    for j in 0..=rows {
        for i in 0..=columns {
            let a = i as f32 / columns as f32 * std::f32::consts::TAU;
            let b = (j as f32 / rows as f32 - 0.5) * std::f32::consts::PI * 0.999;
            let n = Vec3::new(a.sin() * b.cos(), b.sin(), a.cos() * b.cos());
            positions.push(n * (1.0 + 0.15 * (3.0 * a).sin() * (4.0 * b).cos()));
            normals.push(n);
        }
    }
    for j in 0..rows {
        for i in 0..columns {
            let a = j * (columns + 1) + i;
            triangles.extend([[a, a + 1, a + columns + 2], [a, a + columns + 2, a + columns + 1]]);
        }
    }
    let scene = Scene { meshes: vec![Mesh::new(&positions, &normals, &triangles)], ..Scene::default() };
    let size = Size::new(512, 512).ok_or("size")?;
    let mut framing = Framing::new(View::ThreeQuarter, FramingLens::default(), size);
    framing.include_points(&positions);
    let camera = framing.camera();
    let plain = Look { shadows: 0.0, occlusion: 0.0, ..Look::default() };
    let rounds = std::env::args().nth(1).map_or(Ok(40), |n| n.parse::<u32>())?;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let best = |work: &(dyn Fn() + Sync)| {
            let once = |_| {
                let start = Instant::now();
                pool.install(work);
                start.elapsed()
            };
            (0..rounds).map(once).min().unwrap_or(Duration::ZERO)
        };
        let seen = best(&|| drop(Visibility::new(&scene, &camera, size, Antialias::Four)));
        let view = Visibility::new(&scene, &camera, size, Antialias::Four);
        let plain = best(&|| drop(view.shade(&plain)));
        let full = best(&|| drop(view.shade(&Look::default())));
        println!(
            "{threads} thread(s), {} triangles, 512 × 512: visibility {seen:?}, plain light {plain:?}, default look {full:?}",
            triangles.len()
        );
    }
    Ok(())
}
