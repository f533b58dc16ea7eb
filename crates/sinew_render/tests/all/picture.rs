//! What is seen, against lines of sight intersected with every triangle in f64; and that nothing depends on threads or
//! breaks on broken input.

use glam::{DAffine3, DQuat, DVec3, Vec2, Vec3};
use sinew_render::*;

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn point(&mut self, reach: f64) -> Vec3 {
        let mut v = || ((2.0 * self.unit() - 1.0) * reach) as f32;
        Vec3::new(v(), v(), v())
    }
}

fn size(w: u32, h: u32) -> Size {
    Size::new(w, h).unwrap()
}

fn lenses() -> [Lens; 2] {
    [Lens::Perspective { vertical_fov: 0.8 }, Lens::Orthographic { height: 3.5 }]
}

/// Möller–Trumbore: distance along the line and barycentrics.
fn intersect(origin: DVec3, direction: DVec3, t: [DVec3; 3]) -> Option<(f64, [f64; 3])> {
    let (e1, e2) = (t[1] - t[0], t[2] - t[0]);
    let p = direction.cross(e2);
    let det = e1.dot(p);
    let s = origin - t[0];
    let q = s.cross(e1);
    let (v, w) = (s.dot(p) / det, direction.dot(q) / det);
    (det != 0.0).then(|| (e2.dot(q) / det, [1.0 - v - w, v, w]))
}

fn corners(mesh: &Mesh<'_>, triangle: usize) -> [DVec3; 3] {
    mesh.triangles[triangle].map(|i| mesh.transform.transform_point3(mesh.positions[i as usize].as_dvec3()))
}

#[test]
fn every_pixel_sees_what_its_line_of_sight_meets_first() {
    let mut random = Random(11);
    let positions: Vec<Vec3> = (0..90).map(|_| random.point(1.6)).collect();
    let triangles: Vec<[u32; 3]> = (0..30).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    let eye = DVec3::new(0.3, 0.5, 3.0);
    for lens in lenses() {
        // The second eye is inside the cloud: triangles cross the near plane and the plane of the eye.
        for eye in [eye, eye * 0.3] {
            let mut mesh = Mesh::new(&positions, &[], &triangles);
            mesh.material.double_sided = true;
            let turn = DQuat::from_rotation_y(0.4);
            mesh.transform =
                DAffine3::from_scale_rotation_translation(DVec3::new(1.0, -0.8, 1.1), turn, DVec3::X * 0.1);
            let scene = Scene { meshes: vec![mesh], ..Scene::default() };
            let camera = Camera::look_at(eye, DVec3::ZERO, DVec3::Y, lens).unwrap();
            let size = size(80, 60);
            let view = Visibility::new(&scene, &camera, size, Antialias::Off);
            let (mut compared, mut largest) = (0, 0.0_f64);
            for y in 0..60 {
                for x in 0..80 {
                    let (origin, direction) = view.projector().ray(f64::from(x) + 0.5, f64::from(y) + 0.5);
                    let hits = (0..triangles.len()).filter_map(|t| {
                        let (depth, b) = intersect(origin, direction, corners(&mesh, t))?;
                        Some((depth, t, b))
                    });
                    // Coverage is decided on a grid of 1/256 pixel: leave out what is that close to a border.
                    let margin = |b: [f64; 3]| b.into_iter().fold(f64::INFINITY, f64::min);
                    let hits: Vec<_> = hits.filter(|h| h.0 > camera.near() && margin(h.2) > -0.02).collect();
                    if hits.iter().any(|h| margin(h.2) < 0.02) {
                        continue;
                    }
                    let first = hits.iter().min_by(|a, b| a.0.total_cmp(&b.0));
                    let second = hits.iter().filter(|h| Some(h.1) != first.map(|f| f.1)).map(|h| h.0).reduce(f64::min);
                    match (first, view.pick(x, y)) {
                        (None, None) => {}
                        (Some(&(depth, triangle, b)), Some(hit)) => {
                            if second.is_some_and(|s| (s - depth).abs() < 1e-5) {
                                continue;
                            }
                            assert_eq!(hit.triangle as usize, triangle, "pixel {x} {y}");
                            let error = (0..3).map(|i| (hit.barycentrics[i] - b[i]).abs()).fold(0.0, f64::max);
                            largest = largest.max(error).max((hit.depth - depth).abs());
                            compared += 1;
                        }
                        other => panic!("pixel {x} {y}: {other:?}"),
                    }
                }
            }
            assert!(compared > 300, "{compared}");
            assert!(largest < 1e-9, "{largest:e}");
        }
    }
}

#[test]
fn a_floor_that_runs_under_the_camera_ends_at_the_horizon() {
    let far = 1000.0;
    let positions = [[-far, -far], [far, -far], [far, far], [-far, far]].map(|[x, z]| Vec3::new(x, 0.0, z));
    let triangles = [[0, 2, 1], [0, 3, 2]];
    let scene = Scene { meshes: vec![Mesh::new(&positions, &[], &triangles)], ..Scene::default() };
    let lens = Lens::Perspective { vertical_fov: 1.0 };
    let camera = Camera::look_at(DVec3::new(0.0, 1.0, 0.0), DVec3::new(0.3, 1.0, -1.0), DVec3::Y, lens).unwrap();
    let size = size(120, 90);
    let view = Visibility::new(&scene, &camera, size, Antialias::Four);
    let buffers = view.buffers();
    for y in 0..90 {
        for x in 0..120 {
            let i = (y * 120 + x) as usize;
            // The floor's end is a fraction of a pixel below the horizon in the middle row.
            if y < 44 {
                assert!(buffers.hit[i].is_none() && buffers.depth[i] == f32::INFINITY);
            } else if y > 46 {
                assert!(buffers.hit[i].is_some(), "hole at {x} {y}");
                assert!(buffers.position[i].y.abs() < 1e-3);
                assert_eq!(buffers.normal[i], Vec3::Y);
            }
        }
    }
}

/// A bumpy ball: positions, normals, texture coordinates, triangles.
fn ball() -> (Vec<Vec3>, Vec<Vec3>, Vec<Vec2>, Vec<[u32; 3]>) {
    let (columns, rows) = (24_u32, 16_u32);
    let (mut positions, mut normals, mut uvs, mut triangles) = (vec![], vec![], vec![], vec![]);
    for j in 0..=rows {
        for i in 0..=columns {
            let (u, v) = (i as f32 / columns as f32, j as f32 / rows as f32);
            let (a, b) = (u * std::f32::consts::TAU, (v - 0.5) * std::f32::consts::PI);
            // Not the platform's functions: the golden picture must come from the same numbers everywhere.
            let (sin, cos) = (libm::sinf, libm::cosf);
            let n = Vec3::new(sin(a) * cos(b), sin(b), cos(a) * cos(b));
            positions.push(n * (1.0 + 0.1 * sin(5.0 * a) * cos(b)));
            normals.push(n);
            uvs.push(Vec2::new(3.0 * u, v));
        }
    }
    for j in 0..rows {
        for i in 0..columns {
            let a = j * (columns + 1) + i;
            triangles.extend([[a, a + 1, a + columns + 2], [a, a + columns + 2, a + columns + 1]]);
        }
    }
    (positions, normals, uvs, triangles)
}

fn checker() -> Texture {
    let pixel = |i: u32| if (i % 8 + i / 8).is_multiple_of(2) { [250, 240, 230, 255] } else { [30, 90, 120, 90] };
    Texture::new(&Image::from_pixels(size(8, 8), (0..64).map(pixel).collect()).unwrap(), [Wrap::Repeat, Wrap::Clamp])
}

/// Everything the crate can draw, in one scene.
fn everything<R>(use_scene: impl FnOnce(&Scene<'_>, &Camera) -> R) -> R {
    let (positions, normals, uvs, triangles) = ball();
    let texture = checker();
    let heat: Vec<f32> = positions.iter().map(|p| p.x * p.y).collect();
    let colors = Scale::fit(heat.iter().copied(), Palette::Viridis).colors(&heat);
    let plain = Mesh::new(&positions, &normals, &triangles);
    let at = |x: f64| DAffine3::from_translation(DVec3::new(x, 1.0, 0.0));
    let textured = Mesh {
        uvs: Some(&uvs),
        material: Material {
            texture: Some(&texture),
            alpha_cutoff: Some(0.6),
            double_sided: true,
            ..Material::default()
        },
        transform: at(-2.2),
        ..plain
    };
    let chart = Mesh {
        colors: Some(&colors),
        material: Material { base_color: [1.0; 4], finish: Finish::Chart, ..Material::default() },
        wire: Some(Wire::default()),
        transform: at(2.2),
        ..plain
    };
    let origins: Vec<DVec3> = (0..4).map(|i| DVec3::new(0.3 * f64::from(i), 0.4 * f64::from(i), 0.0)).collect();
    let (mut lines, dots) = skeleton(&origins, &[None, Some(0), Some(1), Some(2)], &SkeletonStyle::default());
    let path: Vec<DVec3> = (0..40).map(|i| DVec3::new(-3.0 + 0.15 * f64::from(i), 1.0, 1.2)).collect();
    lines.push(Line::trajectory(&path, [0.8, 0.1, 0.1], 3.0));
    let ghost = Ghost::new(Mesh { transform: at(0.5), ..plain });
    let scene =
        Scene { meshes: vec![textured, Mesh { transform: at(0.0), ..plain }, chart], ghosts: vec![ghost], lines, dots };
    let mut framing = Framing::new(View::ThreeQuarter, FramingLens::default(), size(200, 120));
    scene.meshes.iter().flat_map(Mesh::world_positions).for_each(|p| framing.include(p));
    use_scene(&scene, &framing.camera())
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    everything(|scene, camera| {
        for antialias in [Antialias::Off, Antialias::Four, Antialias::Eight] {
            let draw_with = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| draw(scene, camera, size(200, 120), antialias, &Look::default()))
            };
            let one = draw_with(1);
            for threads in [2, 3, 8] {
                assert_eq!(one, draw_with(threads));
            }
        }
    });
}

/// Pins the look: a change here is a change of every picture. After looking at them, put the new number in.
#[test]
fn the_golden_picture_is_unchanged() {
    let hash = everything(|scene, camera| {
        let image = draw(scene, camera, size(200, 120), Antialias::Four, &Look::default());
        // FNV-1a.
        image.bytes().iter().fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3))
    });
    assert_eq!(hash, 0xA010_FBC4_3F40_4C6F, "now 0x{hash:016X}");
}

#[test]
fn the_ghost_the_lines_and_the_shadow_are_seen() {
    everything(|scene, camera| {
        let full = draw(scene, camera, size(200, 120), Antialias::Four, &Look::default());
        let differing = |other: &Image| full.pixels().iter().zip(other.pixels()).filter(|(a, b)| a != b).count();
        let with = |change: &dyn Fn(&mut Scene<'_>, &mut Look)| {
            let (mut scene, mut look) = (scene.clone(), Look::default());
            change(&mut scene, &mut look);
            differing(&draw(&scene, camera, size(200, 120), Antialias::Four, &look))
        };
        assert_eq!(with(&|_, _| {}), 0);
        assert!(with(&|scene, _| scene.ghosts.clear()) > 300);
        assert!(with(&|scene, _| scene.lines.clear()) > 100);
        assert!(with(&|scene, _| scene.dots.clear()) > 20);
        assert!(with(&|_, look| look.ground = Ground::None) > 200);
        assert!(with(&|_, look| look.occlusion = 0.0) > 200);
        assert!(with(&|scene, _| scene.meshes[2].wire = None) > 200);
    });
}

#[test]
fn a_transparent_background_has_only_shadow_outside_the_meshes() {
    everything(|scene, camera| {
        let look = Look { background: Background::Transparent, ..Look::default() };
        let bare = Scene { meshes: scene.meshes.clone(), ..Scene::default() };
        let size = size(200, 120);
        let view = Visibility::new(&bare, camera, size, Antialias::Off);
        let (image, buffers) = (view.shade(&look), view.buffers());
        for (pixel, hit) in image.pixels().iter().zip(&buffers.hit) {
            assert_eq!(pixel[3] == 255, hit.is_some());
            assert!(hit.is_some() || pixel[..3] == [0; 3]);
        }
    });
}

#[test]
fn lines_are_hidden_dimmed_or_on_top() {
    let (positions, normals, _, triangles) = ball();
    let lens = Lens::Perspective { vertical_fov: 0.8 };
    let camera = Camera::look_at(DVec3::Z * 5.0, DVec3::ZERO, DVec3::Y, lens).unwrap();
    let middle = |z: f64, hidden: f32| {
        let line = Line::new([DVec3::new(-0.5, 0.0, z), DVec3::new(0.5, 0.0, z)], [1.0, 0.0, 0.0, 1.0], 5.0, hidden);
        let scene =
            Scene { meshes: vec![Mesh::new(&positions, &normals, &triangles)], lines: vec![line], ..Scene::default() };
        draw(&scene, &camera, size(65, 65), Antialias::Four, &Look::default()).pixel(32, 32).unwrap()
    };
    let red = |p: [u8; 4]| p[0] == 255 && p[1] == 0;
    assert!(red(middle(2.0, 0.0)) && red(middle(-2.0, 1.0)) && !red(middle(-2.0, 0.0)));
    let (none, half) = (middle(-2.0, 0.0), middle(-2.0, 0.5));
    assert!(half[1] < none[1] && !red(half));
}

#[test]
fn broken_input_draws_nothing_and_never_panics() {
    let bad = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e38, -1e38, 1e-40, 0.0];
    let mut positions = vec![];
    for x in bad {
        for y in bad {
            positions.push(Vec3::new(x, y, 0.0));
        }
    }
    let count = positions.len() as u32;
    let mut triangles: Vec<[u32; 3]> = (0..count).map(|i| [i, (i * 7 + 3) % count, (i * 11 + 5) % count]).collect();
    triangles.extend([[0, 0, 0], [u32::MAX, 0, 1], [count, 1, 2], [1, 1, 2]]);
    let short_normals = [Vec3::NAN];
    let short_colors = [[f32::NAN; 4]];
    let short_uvs = [Vec2::NAN];
    let texture = checker();
    for transform in [
        DAffine3::IDENTITY,
        DAffine3::ZERO,
        DAffine3::from_scale(DVec3::splat(1e300)),
        DAffine3::from_translation(DVec3::NAN),
    ] {
        let mut mesh = Mesh::new(&positions, &short_normals, &triangles);
        mesh.colors = Some(&short_colors);
        mesh.uvs = Some(&short_uvs);
        mesh.material.texture = Some(&texture);
        mesh.material.double_sided = true;
        mesh.material.alpha_cutoff = Some(f32::NAN);
        mesh.transform = transform;
        mesh.wire = Some(Wire { color: [f32::NAN; 3], opacity: f32::NAN, width: f32::NAN });
        let mut solid = mesh;
        solid.material.alpha_cutoff = None;
        let bad_line = Line::new([DVec3::NAN, DVec3::ZERO, DVec3::splat(1e300)], [f32::NAN; 4], f32::NAN, f32::NAN);
        let dot = Dot { position: DVec3::INFINITY, color: [1.0; 4], diameter: -3.0, hidden: 2.0 };
        let scene = Scene {
            meshes: vec![mesh, solid],
            ghosts: vec![Ghost::new(solid)],
            lines: vec![bad_line],
            dots: vec![dot],
        };
        for lens in lenses() {
            let camera = Camera::look_at(DVec3::new(0.1, 0.2, 3.0), DVec3::ZERO, DVec3::Y, lens).unwrap();
            let view = Visibility::new(&scene, &camera, size(33, 17), Antialias::Eight);
            for look in [Look::default(), Look { ground: Ground::At(f64::NAN), shadows: f32::NAN, ..Look::default() }] {
                view.shade(&look);
            }
            let buffers = view.buffers();
            assert!(buffers.normal.iter().all(|n| n.is_finite()));
            assert!(view.pick(33, 0).is_none() && view.pick(0, u32::MAX).is_none());
        }
    }
    let nothing = Scene {
        meshes: vec![Mesh::new(&[], &[], &[]), Mesh::new(&[Vec3::NAN; 3], &[], &[[0, 1, 2]])],
        ..Scene::default()
    };
    let camera = Framing::new(View::Front, FramingLens::default(), size(8, 8)).camera();
    let view = Visibility::new(&nothing, &camera, size(8, 8), Antialias::Four);
    assert!(view.buffers().hit.iter().all(Option::is_none));
}

#[test]
fn size_changes_nothing() {
    // The same scene 0.02 and 200 units tall gives the same picture up to rounding.
    let (positions, normals, _, triangles) = ball();
    let picture = |scale: f64| {
        let mut mesh = Mesh::new(&positions, &normals, &triangles);
        mesh.transform = DAffine3::from_scale(DVec3::splat(scale));
        let scene = Scene { meshes: vec![mesh], ghosts: vec![Ghost::new(mesh)], ..Scene::default() };
        let mut framing = Framing::new(View::ThreeQuarter, FramingLens::default(), size(96, 96));
        mesh.world_positions().for_each(|p| framing.include(p));
        draw(&scene, &framing.camera(), size(96, 96), Antialias::Four, &Look::default())
    };
    let reference = picture(1.0);
    for scale in [0.01, 100.0] {
        let other = picture(scale);
        let pairs = reference.bytes().iter().zip(other.bytes());
        let off = pairs.filter(|(a, b)| a.abs_diff(**b) > 2).count();
        assert!(off * 500 < reference.bytes().len(), "{scale}: {off}");
    }
}
