//! Draws the built-in characters and some solids: `cargo run --release -p sinew_render --example gallery -- DIR`.

use glam::{DAffine3, DVec3, Vec2, Vec3};
use sinew_render::*;
use std::path::Path;
use std::time::Instant;

type Error = Box<dyn std::error::Error>;

/// A mesh of the gallery's own.
struct Solid {
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    uvs: Vec<Vec2>,
    triangles: Vec<[u32; 3]>,
}

impl Solid {
    /// A grid over (u, v) in the unit square, bent by `point`.
    fn bent(columns: u32, rows: u32, point: impl Fn(f32, f32) -> Vec3) -> Self {
        let mut solid = Self { positions: vec![], normals: vec![], uvs: vec![], triangles: vec![] };
        for j in 0..=rows {
            for i in 0..=columns {
                let (u, v) = (i as f32 / columns as f32, j as f32 / rows as f32);
                let h = 1e-3;
                let across = point(u + h, v) - point(u - h, v);
                let along = point(u, v + h) - point(u, v - h);
                solid.positions.push(point(u, v));
                solid.normals.push(across.cross(along).normalize_or_zero());
                solid.uvs.push(Vec2::new(u, 1.0 - v));
            }
        }
        for j in 0..rows {
            for i in 0..columns {
                let a = j * (columns + 1) + i;
                let (b, c, d) = (a + 1, a + columns + 2, a + columns + 1);
                solid.triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        solid
    }

    fn sphere(radius: f32) -> Self {
        Self::bent(48, 32, |u, v| {
            let (a, b) = (u * std::f32::consts::TAU, (v - 0.5) * std::f32::consts::PI * 0.9999);
            Vec3::new(a.sin() * b.cos(), b.sin(), a.cos() * b.cos()) * radius
        })
    }

    fn torus(radius: f32, tube: f32) -> Self {
        Self::bent(64, 28, |u, v| {
            let (a, b) = (u * std::f32::consts::TAU, v * std::f32::consts::TAU);
            let r = radius + tube * b.cos();
            Vec3::new(a.sin() * r, tube * b.sin(), a.cos() * r)
        })
    }

    fn cube(half: f32) -> Self {
        let mut cube = Self { positions: vec![], normals: vec![], uvs: vec![], triangles: vec![] };
        for axis in 0..3 {
            for sign in [-1.0_f32, 1.0] {
                let mut n = [0.0; 3];
                n[axis] = sign;
                let n = Vec3::from(n);
                let u = Vec3::from([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]][axis])
                    * if axis == 1 { 1.0 } else { sign };
                let v = n.cross(u);
                let base = cube.positions.len() as u32;
                for (s, t) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                    cube.positions.push((n + u * s + v * t) * half);
                    cube.normals.push(n);
                    cube.uvs.push(Vec2::new(0.5 + 0.5 * s, 0.5 - 0.5 * t));
                }
                cube.triangles.extend([[base, base + 1, base + 2], [base, base + 2, base + 3]]);
            }
        }
        cube
    }

    fn mesh(&self, at: DVec3, color: [f32; 3]) -> Mesh<'_> {
        let [r, g, b] = color;
        Mesh {
            uvs: Some(&self.uvs),
            transform: DAffine3::from_translation(at),
            material: Material { base_color: [r, g, b, 1.0], ..Material::default() },
            ..Mesh::new(&self.positions, &self.normals, &self.triangles)
        }
    }
}

fn checker() -> Result<Texture, Error> {
    let size = Size::new(256, 256).ok_or("size")?;
    let pixel = |i: u32| {
        let (x, y) = (i % 256, i / 256);
        if (x / 32 + y / 32).is_multiple_of(2) { [233, 226, 208, 255] } else { [52, 116, 140, 255] }
    };
    let image = Image::from_pixels(size, (0..256 * 256).map(pixel).collect()).ok_or("pixels")?;
    Ok(Texture::new(&image, [Wrap::Repeat; 2]))
}

fn save(dir: &Path, name: &str, image: &Image) -> Result<(), Error> {
    let file = std::fs::File::create(dir.join(name))?;
    Ok(encode::write_png(std::io::BufWriter::new(file), image)?)
}

fn frame(scene: &Scene<'_>, view: View, size: Size) -> Camera {
    let mut framing = Framing::new(view, FramingLens::default(), size);
    for mesh in &scene.meshes {
        mesh.world_positions().for_each(|p| framing.include(p));
    }
    framing.camera()
}

#[allow(clippy::print_stderr)]
fn main() -> Result<(), Error> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let dir = Path::new(&dir);
    std::fs::create_dir_all(dir)?;
    let size = Size::new(512, 512).ok_or("size")?;
    let look = Look::default();

    let texture = checker()?;
    let (sphere, torus, cube) = (Solid::sphere(0.5), Solid::torus(0.5, 0.2), Solid::cube(0.42));
    let mut scene = Scene {
        meshes: vec![
            sphere.mesh(DVec3::new(-1.05, 0.5, 0.0), [0.75, 0.22, 0.14]),
            torus.mesh(DVec3::new(0.15, 0.2, 0.7), [0.80, 0.62, 0.20]),
            cube.mesh(DVec3::new(1.0, 0.42, -0.4), [1.0, 1.0, 1.0]),
        ],
        ..Scene::default()
    };
    scene.meshes[2].material.texture = Some(&texture);
    let wide = Size::new(768, 512).ok_or("size")?;
    let camera = frame(&scene, View::ThreeQuarter, wide);
    save(dir, "solids.png", &draw(&scene, &camera, wide, Antialias::Four, &look))?;

    for name in ["calf", "dancer", "bird", "snail", "arm", "flower"] {
        let character = sinew_zoo::build(name)?;
        let mut scene = Scene::default();
        let mut triangles = 0;
        for primitive in character.raw.meshes.iter().flat_map(|m| &m.primitives) {
            let normals = primitive.normals.as_deref().unwrap_or_default();
            let mut mesh = Mesh::new(&primitive.positions, normals, &primitive.triangles);
            mesh.material.base_color = primitive.color;
            triangles += primitive.triangles.len();
            scene.meshes.push(mesh);
        }
        for (view, tag) in
            [(View::ThreeQuarter, "34"), (View::Front, "front"), (View::Side, "side"), (View::Top, "top")]
        {
            if tag != "34" && name != "calf" {
                continue;
            }
            let camera = frame(&scene, view, size);
            let start = Instant::now();
            let visibility = Visibility::new(&scene, &camera, size, Antialias::Four);
            let seen = start.elapsed();
            let image = visibility.shade(&look);
            eprintln!("{name} {tag}: {triangles} triangles, {:?} + {:?}", seen, start.elapsed() - seen);
            save(dir, &format!("{name}-{tag}.png"), &image)?;
        }
    }
    features(dir, size)
}

/// Heat map, ghost, skeleton, trajectory and wire, on a contact sheet; a turntable as GIF and animated PNG.
fn features(dir: &Path, size: Size) -> Result<(), Error> {
    let calf = sinew_zoo::build("calf")?;
    let parts: Vec<_> = calf.raw.meshes.iter().flat_map(|m| &m.primitives).collect();
    let sway = |p: Vec3, gain: f32| p + Vec3::new(0.35 * p.y * p.y, 0.0, 0.25 * p.y) * gain;
    let swayed: Vec<Vec<Vec3>> =
        parts.iter().map(|part| part.positions.iter().map(|p| sway(*p, 0.6)).collect()).collect();
    let moved: Vec<Vec<f32>> = parts
        .iter()
        .zip(&swayed)
        .map(|(part, to)| part.positions.iter().zip(to).map(|(a, b)| a.distance(*b)).collect())
        .collect();
    let signed: Vec<Vec<f32>> = parts
        .iter()
        .zip(&moved)
        .map(|(part, m)| part.positions.iter().zip(m).map(|(p, m)| m * p.z).collect())
        .collect();
    let solid = |i: usize| {
        let mut mesh = Mesh::new(&swayed[i], parts[i].normals.as_deref().unwrap_or_default(), &parts[i].triangles);
        mesh.material.base_color = parts[i].color;
        mesh
    };
    let base = |i: usize| Mesh { positions: &parts[i].positions, ..solid(i) };
    let scene = Scene { meshes: (0..parts.len()).map(solid).collect(), ..Scene::default() };
    let mut framing = Framing::new(View::ThreeQuarter, FramingLens::default(), size);
    for i in 0..parts.len() {
        framing.include_points(&swayed[i]);
        framing.include_points(&parts[i].positions);
    }
    let camera = framing.camera();
    let look = Look { ground: Ground::At(0.0), ..Look::default() };
    let picture = |scene: &Scene<'_>| draw(scene, &camera, size, Antialias::Eight, &look);

    let mut ghosted = scene.clone();
    ghosted.ghosts = (0..parts.len()).map(|i| Ghost::new(base(i))).collect();
    let mut wired = scene.clone();
    wired.meshes.iter_mut().for_each(|m| m.wire = Some(Wire::default()));

    let heat = |values: &[Vec<f32>], label: &str| {
        let scale = Scale::fit(values.iter().flatten().copied(), Palette::Viridis);
        let colors: Vec<_> = values.iter().map(|v| scale.colors(v)).collect();
        let mut heated = scene.clone();
        for (mesh, colors) in heated.meshes.iter_mut().zip(&colors) {
            mesh.material = Material { base_color: [1.0; 4], finish: Finish::Chart, ..Material::default() };
            mesh.colors = Some(colors);
        }
        let mut image = picture(&heated);
        draw_legend(&mut image, &scale, label);
        image
    };

    let mut boned = scene.clone();
    let bones = &calf.raw.bones;
    let mut origins = vec![DVec3::ZERO; bones.len()];
    let mut world = vec![DAffine3::IDENTITY; bones.len()];
    for (i, bone) in bones.iter().enumerate() {
        world[i] = bone.parent.map_or(DAffine3::IDENTITY, |p| world[p]) * bone.local.to_affine();
        origins[i] = sway(world[i].translation.as_vec3(), 0.6).as_dvec3();
    }
    let joints: Vec<usize> = calf.raw.skins[0].joints.iter().map(|j| j.bone).collect();
    let joint_origins: Vec<_> = joints.iter().map(|&j| origins[j]).collect();
    let parents: Vec<_> =
        joints.iter().map(|&j| bones[j].parent.and_then(|p| joints.iter().position(|&k| k == p))).collect();
    (boned.lines, boned.dots) = skeleton(&joint_origins, &parents, &SkeletonStyle::default());
    for start in parts[0].positions.iter().step_by(97) {
        let path: Vec<DVec3> = (0..30).map(|t| sway(*start, 0.6 * (t as f32 / 29.0)).as_dvec3()).collect();
        boned.lines.push(Line::trajectory(&path, [0.75, 0.05, 0.10], 2.0));
    }

    let cells = [
        vec![picture(&scene), picture(&ghosted), picture(&wired)],
        vec![heat(&moved, "displacement, m"), heat(&signed, "painted map (signed)"), picture(&boned)],
    ];
    let columns = ["t = 0.00 s", "t = 0.25 s", "t = 0.50 s"].map(String::from);
    let rows = ["Result, ghost of the base, wire", "Heat maps, skeleton & paths"].map(String::from);
    let sheet = Sheet { title: "zoo:calf · lively (0.1 %)", columns: &columns, rows: &rows, cells: &cells };
    save(dir, "sheet.png", &sheet.compose()?)?;

    let small = Size::new(256, 256).ok_or("size")?;
    let frames: Vec<Image> = (0..24)
        .map(|t| {
            let azimuth = f64::from(t) / 24.0 * std::f64::consts::TAU;
            let mut framing = Framing::new(View::Angles { azimuth, elevation: 0.2 }, FramingLens::default(), small);
            swayed.iter().for_each(|p| framing.include_points(p));
            draw(&scene, &framing.camera(), small, Antialias::Four, &look)
        })
        .collect();
    let rate = encode::FrameRate::new(24.0).ok_or("rate")?;
    encode::write_gif(std::fs::File::create(dir.join("turn.gif"))?, &frames, rate)?;
    let file = std::io::BufWriter::new(std::fs::File::create(dir.join("turn.png"))?);
    let mut film = encode::ApngWriter::new(file, small, rate, frames.len() as u32)?;
    for frame in &frames {
        film.frame(frame)?;
    }
    Ok(film.finish()?)
}
