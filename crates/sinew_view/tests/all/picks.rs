//! Picks agree with the rasteriser's, but where two triangles are equally right.

use crate::scenes::{self, Piece, built_in};
use crate::{Gpu, Staged, gpu};
use glam::{DVec3, Vec3};
use sinew_render::{Antialias, FramingLens, Hit, Look, Mesh, Projector, Scene, Size, View, Visibility};
use sinew_testkit::random::Random;
use sinew_view::{Frame, Picked, Picker, Ray, pick, refine};

/// The rasteriser works on a grid of so many steps a pixel; nearer to an edge than one, either triangle is right.
const GRID: f64 = 256.0;

fn corners(mesh: &Mesh<'_>, triangle: u32) -> [DVec3; 3] {
    mesh.triangles[triangle as usize].map(|v| mesh.transform.transform_point3(mesh.positions[v as usize].as_dvec3()))
}

/// Whether a place lies within a grid step of an edge of a triangle, as the picture shows it.
fn is_at_edge(projector: &Projector, corners: [DVec3; 3], [x, y]: [f64; 2]) -> bool {
    let [a, b, c] = corners.map(|p| projector.project(p).pixel().unwrap_or([f64::NAN; 2]));
    [[a, b], [b, c], [c, a]].into_iter().any(|[p, q]| {
        let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
        let t = (((x - p[0]) * dx + (y - p[1]) * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
        (x - p[0] - t * dx).hypot(y - p[1] - t * dy) < 1.5 / GRID
    })
}

/// What the processor's pick finds among meshes.
fn nearest(scene: &Scene<'_>, ray: &Ray) -> Option<Hit> {
    let hits = scene.meshes.iter().enumerate().filter_map(|(m, mesh)| {
        let hit = pick(ray, mesh.positions, mesh.triangles, mesh.material.double_sided)?;
        let (triangle, barycentrics, depth) = (hit.triangle, hit.barycentrics, hit.depth);
        Some(Hit { mesh: m as u32, triangle, barycentrics, depth })
    });
    hits.min_by(|a, b| a.depth.total_cmp(&b.depth))
}

/// Why two answers may differ; panics where they may not.
fn excuse(
    scene: &Scene<'_>,
    projector: &Projector,
    place: [f64; 2],
    a: Option<(u32, u32)>,
    b: Option<(u32, u32)>,
) -> &'static str {
    let near_edge = [a, b]
        .into_iter()
        .flatten()
        .any(|(mesh, triangle)| is_at_edge(projector, corners(&scene.meshes[mesh as usize], triangle), place));
    if near_edge {
        return "edge";
    }
    if let (Some(a), Some(b)) = (a, b) {
        let ray = Ray::through(projector, place[0], place[1]);
        let depth = |(mesh, triangle): (u32, u32)| {
            refine(&ray, corners(&scene.meshes[mesh as usize], triangle)).map_or(f64::NAN, |(_, depth)| depth)
        };
        if (depth(a) - depth(b)).abs() < 1e-6 * depth(a) {
            return "depth";
        }
    }
    panic!("at {place:?}: {a:?} and {b:?}");
}

fn wait(gpu: &Gpu, picker: &mut Picker) -> Option<Picked> {
    loop {
        if let Some(answer) = picker.answer() {
            return answer;
        }
        gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    }
}

/// Ten thousand places by ray; by a pass on the GPU one in eight, or all with `SINEW_FULL=1`.
#[test]
fn picks_are_the_rasterisers() {
    let gpu = gpu();
    let size = Size::new(640, 480).unwrap();
    let mut random = Random::new(21);
    let (mut edges, mut depths, mut hits, mut places, mut asked) = ([0; 2], [0; 2], 0, 0, 0);
    let is_full = std::env::var_os("SINEW_FULL").is_some_and(|full| full == "1");
    for (name, view) in
        [("calf", View::ThreeQuarter), ("dancer", View::Front), ("bird", View::Top), ("snail", View::Side)]
    {
        let pieces = built_in(name);
        let mut scene = Scene { meshes: pieces.iter().map(Piece::mesh).collect(), ..Scene::default() };
        for mesh in scene.meshes.iter_mut().step_by(2) {
            mesh.material.double_sided = true;
        }
        let lens = if name == "bird" { FramingLens::Orthographic } else { FramingLens::default() };
        let camera = scenes::framed(&scene, view, lens, size);
        let seen = Visibility::new(&scene, &camera, size, Antialias::Off);
        let projector = seen.projector();
        let mut of_gpu = gpu.map(|gpu| (gpu, Staged::new(gpu, &scene), Picker::new(&gpu.renderer)));
        for i in 0..2500 {
            let (x, y) = (random.below(640) as u32, random.below(480) as u32);
            let place = [f64::from(x) + 0.5, f64::from(y) + 0.5];
            let expected = seen.pick(x, y);
            let ray = Ray::through(projector, place[0], place[1]);
            let found = nearest(&scene, &ray);
            places += 1;
            hits += usize::from(expected.is_some());
            let id = |hit: &Hit| (hit.mesh, hit.triangle);
            let mut count = |side: usize, other: Option<(u32, u32)>| match excuse(
                &scene,
                projector,
                place,
                expected.as_ref().map(id),
                other,
            ) {
                "edge" => edges[side] += 1,
                _ => depths[side] += 1,
            };
            if expected.as_ref().map(id) != found.as_ref().map(id) {
                count(0, found.as_ref().map(id));
            } else if let (Some(a), Some(b)) = (expected, found) {
                assert!((a.depth - b.depth).abs() < 1e-9 * a.depth, "{name} {place:?}");
                let apart = |i: usize| (a.barycentrics[i] - b.barycentrics[i]).abs();
                assert!((0..3).all(|i| apart(i) < 1e-6), "{name} {place:?}: {a:?} {b:?}");
            }
            let Some((gpu, staged, picker)) = of_gpu.as_mut().filter(|_| is_full || i % 8 == 0) else { continue };
            asked += 1;
            let draws = staged.draws(&scene);
            let frame = Frame { camera: &camera, look: &Look::default(), draws: &draws, lines: &[], dots: &[] };
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            assert!(picker.ask(&gpu.renderer, &mut encoder, &frame, size, place));
            gpu.queue.submit([encoder.finish()]);
            let answer = wait(gpu, picker);
            let picked = answer.map(|picked| (picked.draw, picked.triangle));
            if expected.as_ref().map(id) != picked {
                count(1, picked);
            } else if let (Some(hit), Some((mesh, triangle))) = (expected, picked) {
                let (weights, depth) = refine(&ray, corners(&scene.meshes[mesh as usize], triangle)).unwrap();
                assert!((hit.depth - depth).abs() < 1e-9 * depth, "{name} {place:?}");
                assert!((0..3).all(|i| (hit.barycentrics[i] - weights[i]).abs() < 1e-6), "{name} {place:?}");
            }
        }
    }
    eprintln!("{places} picks, {hits} on a surface, {asked} of them by the GPU too");
    for (side, who) in ["ray", "GPU"].into_iter().enumerate() {
        eprintln!("{who}: {} differ at an edge, {} at equal depth", edges[side], depths[side]);
    }
    assert!(hits > places / 8);
    assert!(edges.iter().chain(&depths).all(|&differ| differ < places / 200), "{edges:?} {depths:?}");
}

/// No ray slips between triangles, and what is not finite or out of range is not met.
#[test]
fn rays_meet_shared_edges_and_leave_alone_what_is_broken() {
    let corner = |i: u32| Vec3::new((i % 3) as f32 - 1.0, (i / 3) as f32 - 1.0, 0.0);
    let mut positions: Vec<Vec3> = (0..9).map(corner).collect();
    let mut triangles = Vec::new();
    for (x, y) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let a = 3 * y + x;
        triangles.extend([[a, a + 1, a + 4], [a, a + 4, a + 3]]);
    }
    let ray = |x: f64, y: f64, down: f64| Ray {
        origin: DVec3::new(x, y, 2.0 * down),
        direction: DVec3::new(0.0, 0.0, -down),
        near: 1e-3,
    };
    for i in -8..=8 {
        for j in -8..=8 {
            let (x, y) = (f64::from(i) / 8.0, f64::from(j) / 8.0);
            let hit = pick(&ray(x, y, 1.0), &positions, &triangles, false).unwrap();
            assert_eq!(hit.depth, 2.0);
            assert!(pick(&ray(x, y, -1.0), &positions, &triangles, false).is_none(), "from behind");
            assert!(pick(&ray(x, y, -1.0), &positions, &triangles, true).is_some());
        }
    }
    positions[4] = Vec3::NAN;
    triangles.push([0, 1, 99]);
    assert!(pick(&ray(0.1, 0.3, 1.0), &positions, &triangles, true).is_none());
    assert!(pick(&Ray { direction: DVec3::NAN, ..ray(0.0, 0.0, 1.0) }, &positions, &triangles, true).is_none());
}
