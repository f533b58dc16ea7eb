//! Frames make nothing new on the device; sizes, places, wipes and what is not finite.

use crate::scenes::{self, Piece, built_in};
use crate::{Gpu, Staged, gpu};
use glam::{DAffine3, DVec3, Vec3};
use sinew_render::*;
use sinew_view::{Cut, Draw, Frame, Model, Picker, Renderer, Target, ViewError};
use wgpu::util::DeviceExt;

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).unwrap()
}

/// Mean of the largest difference of a channel, of 255.
fn apart(a: &Image, b: &Image) -> f64 {
    let largest = |(a, b): (&[u8; 4], &[u8; 4])| (0..4).map(|c| a[c].abs_diff(b[c])).max().unwrap_or(0);
    let sum: f64 = a.pixels().iter().zip(b.pixels()).map(|p| f64::from(largest(p))).sum();
    sum / a.pixels().len() as f64
}

fn picture(gpu: &Gpu, target: &mut Target, camera: &Camera, draws: &[Draw<'_>]) -> Image {
    gpu.submit(target, &Frame { camera, look: &Look::default(), draws, lines: &[], dots: &[] });
    target.read_back().unwrap()
}

/// Everything may change from frame to frame, and nothing is made but room for what has never been as much.
#[test]
fn frames_make_nothing() {
    let Some(gpu) = gpu() else { return };
    let renderer = Renderer::new(&gpu.device, &gpu.queue);
    assert_eq!(renderer.made().pipelines, Renderer::PIPELINES);
    let pieces = built_in("calf");
    let meshes: Vec<_> = pieces.iter().map(Piece::mesh).collect();
    let mut model = Model::new(&renderer, &meshes).unwrap();
    let base = Model::new(&renderer, &meshes).unwrap();
    let mut target = Target::new(&renderer, size(96, 80)).unwrap();
    let mut picker = Picker::new(&renderer);
    let mut made = None;
    for i in 0..6 {
        let gain = i as f32 / 6.0;
        for (m, positions) in scenes::swayed(&pieces, gain).iter().enumerate() {
            model.write(m, positions, &pieces[m].normals).unwrap();
            model.write_colors(m, &vec![[gain; 4]; positions.len()]).unwrap();
        }
        let view = View::Angles { azimuth: f64::from(gain), elevation: 0.3 };
        let scene = Scene { meshes: meshes.clone(), ..Scene::default() };
        let lens = if i % 2 == 0 { FramingLens::default() } else { FramingLens::Orthographic };
        let camera = scenes::framed(&scene, view, lens, target.size());
        let cut = Some(Cut { left: 10 * i, top: 0, width: 30, height: 80 });
        let draws = [
            Draw {
                transform: DAffine3::from_translation(DVec3::splat(f64::from(gain))),
                wire: Some(Wire { width: gain, ..Wire::default() }),
                paint: gain,
                finish: Some(if i % 2 == 0 { Finish::Chart } else { Finish::Flat }),
                cut,
                ..Draw::new(&model)
            },
            Draw { veil: Some(sinew_view::Veil::default()), ..Draw::new(&base) },
        ];
        let line = Line::new((0..40).map(|t| DVec3::splat(f64::from(t) * 0.02)), [1.0; 4], 2.0, gain);
        let look =
            Look { shadows: 1.0 - gain, occlusion: gain, ground: Ground::At(f64::from(-gain)), ..Look::default() };
        let (lines, dots) = ([line], []);
        let frame = Frame { camera: &camera, look: &look, draws: &draws, lines: &lines, dots: &dots };
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        renderer.draw(&mut encoder, &mut target, &frame).unwrap();
        let asked = picker.ask(&renderer, &mut encoder, &frame, target.size(), [48.5, 40.5]);
        gpu.queue.submit([encoder.finish()]);
        assert!(asked);
        gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        assert!(picker.answer().is_some());
        assert!(!target.resize(&renderer, target.size()).unwrap());
        // The first frame with a ghost makes its depth.
        let before = *made.get_or_insert(renderer.made());
        assert_eq!(renderer.made(), before, "frame {i}");
        assert_eq!(before.pipelines, Renderer::PIPELINES);
    }
}

/// A resized target draws what a new one of that size draws.
#[test]
fn sizes_change() {
    let Some(gpu) = gpu() else { return };
    let pieces = built_in("snail");
    let scene = Scene { meshes: pieces.iter().map(Piece::mesh).collect(), ..Scene::default() };
    let staged = Staged::new(gpu, &scene);
    let draws = staged.draws(&scene);
    let mut target = Target::new(&gpu.renderer, size(64, 64)).unwrap();
    for new in [size(200, 90), size(1, 1), size(77, 300)] {
        let camera = scenes::framed(&scene, View::Front, FramingLens::default(), new);
        assert!(target.resize(&gpu.renderer, new).unwrap());
        let found = picture(gpu, &mut target, &camera, &draws);
        let mut anew = Target::new(&gpu.renderer, new).unwrap();
        assert!(found == picture(gpu, &mut anew, &camera, &draws), "{new:?}");
    }
    let limit = gpu.device.limits().max_texture_dimension_2d;
    if let Some(large) = Size::new(limit + 1, 8) {
        let refused = target.resize(&gpu.renderer, large);
        assert_eq!(refused, Err(ViewError::Picture { width: limit + 1, height: 8, limit }));
    }
}

/// From 0.02 to 200 units, and far from the origin, the picture is the same.
#[test]
fn scale_and_place_change_nothing() {
    let Some(gpu) = gpu() else { return };
    let shown = size(240, 240);
    let picture_of = |scale: f32, offset: DVec3, lens: FramingLens| {
        let mut pieces = built_in("dancer");
        pieces.iter_mut().flat_map(|piece| &mut piece.positions).for_each(|p| *p *= scale);
        let mut scene = Scene { meshes: pieces.iter().map(Piece::mesh).collect(), ..Scene::default() };
        for mesh in &mut scene.meshes {
            mesh.transform = DAffine3::from_translation(offset * f64::from(scale));
        }
        scene.ghosts = scene.meshes.iter().map(|mesh| Ghost::new(*mesh)).collect();
        let camera = scenes::framed(&scene, View::ThreeQuarter, lens, shown);
        gpu.picture(&scene, &camera, shown, &Look::default())
    };
    for lens in [FramingLens::default(), FramingLens::Orthographic] {
        let expected = picture_of(1.0, DVec3::ZERO, lens);
        for (scale, offset) in
            [(0.01, DVec3::ZERO), (110.0, DVec3::ZERO), (1.0, DVec3::new(3e5, -2e5, 7e5)), (110.0, DVec3::splat(1e4))]
        {
            let apart = apart(&expected, &picture_of(scale, offset, lens));
            eprintln!("{lens:?}, scale {scale}, moved by {offset}: {apart:.4} of 255");
            assert!(apart < 0.05, "{apart}");
        }
    }
}

/// Left of a line one model, right of it another; as if each had been drawn by itself.
#[test]
fn wipes_cut_at_the_pixel() {
    let Some(gpu) = gpu() else { return };
    let shown = size(160, 120);
    let pieces = built_in("calf");
    let meshes: Vec<_> = pieces.iter().map(Piece::mesh).collect();
    let scene = Scene { meshes, ..Scene::default() };
    let camera = scenes::framed(&scene, View::Side, FramingLens::default(), shown);
    let model = Model::new(&gpu.renderer, &scene.meshes).unwrap();
    let mut moved = Model::new(&gpu.renderer, &scene.meshes).unwrap();
    for (m, positions) in scenes::swayed(&pieces, 0.3).iter().enumerate() {
        moved.write(m, positions, &pieces[m].normals).unwrap();
    }
    let mut target = Target::new(&gpu.renderer, shown).unwrap();
    let look = Look { shadows: 0.0, occlusion: 0.0, ..Look::default() };
    let mut draw = |draws: &[Draw<'_>]| {
        gpu.submit(&mut target, &Frame { camera: &camera, look: &look, draws, lines: &[], dots: &[] });
        target.read_back().unwrap()
    };
    let (left, right) = (draw(&[Draw::new(&model)]), draw(&[Draw::new(&moved)]));
    let line = 71;
    let wiped = draw(&[
        Draw { cut: Some(Cut { left: 0, top: 0, width: line, height: 120 }), ..Draw::new(&model) },
        Draw { cut: Some(Cut { left: line, top: 0, width: 9999, height: 9999 }), ..Draw::new(&moved) },
    ]);
    assert!(left != right);
    for y in 0..120 {
        for x in 0..160 {
            let expected = if x < line { &left } else { &right };
            assert_eq!(wiped.pixel(x, y), expected.pixel(x, y), "{x} {y}");
        }
    }
    // Nothing is drawn outside the picture.
    let nothing = draw(&[Draw { cut: Some(Cut { left: 160, top: 0, width: 5, height: 5 }), ..Draw::new(&model) }]);
    assert!(nothing == draw(&[]));
}

/// Painted colours are switched by a number; all of them are the picture of a mesh with those colours.
#[test]
fn paint_is_switched_by_a_number() {
    let Some(gpu) = gpu() else { return };
    let shown = size(160, 160);
    let pieces = built_in("snail");
    let scene = Scene { meshes: pieces.iter().map(Piece::mesh).collect(), ..Scene::default() };
    let camera = scenes::framed(&scene, View::ThreeQuarter, FramingLens::default(), shown);
    let mut model = Model::new(&gpu.renderer, &scene.meshes).unwrap();
    let mut target = Target::new(&gpu.renderer, shown).unwrap();
    let plain = picture(gpu, &mut target, &camera, &[Draw::new(&model)]);
    let mut heated = scene.clone();
    let colors: Vec<Vec<[f32; 4]>> = pieces
        .iter()
        .map(|piece| piece.positions.iter().map(|p| Palette::Inferno.linear(f64::from(p.y))).collect())
        .collect();
    for (m, mesh) in heated.meshes.iter_mut().enumerate() {
        mesh.material = Material { base_color: [1.0; 4], finish: Finish::Chart, ..Material::default() };
        mesh.colors = Some(&colors[m]);
        model.write_colors(m, &colors[m]).unwrap();
    }
    let expected = gpu.picture(&heated, &camera, shown, &Look::default());
    assert!(plain == picture(gpu, &mut target, &camera, &[Draw::new(&model)]));
    let painted = Draw { paint: 1.0, finish: Some(Finish::Chart), ..Draw::new(&model) };
    let found = picture(gpu, &mut target, &camera, &[painted]);
    // A mix of nothing and all may be rounded.
    let steps = expected.bytes().iter().zip(found.bytes()).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(steps <= Some(1), "{steps:?}");
    let half = picture(gpu, &mut target, &camera, &[Draw { paint: 0.5, ..painted }]);
    assert!(half != expected && half != plain);
}

/// Buffers that something else on the GPU has filled.
#[test]
fn buffers_are_drawn_as_points_that_were_written() {
    let Some(gpu) = gpu() else { return };
    let shown = size(160, 160);
    // More numbers than a row of a texture holds, and not a multiple of it.
    let piece = Piece::torus(0.5, 0.2);
    assert!(3 * piece.positions.len() > 2048);
    let other = Vec3::splat(9.0);
    let mut model = Model::new(&gpu.renderer, &[piece.mesh()]).unwrap();
    let scene = Scene { meshes: vec![piece.mesh()], ..Scene::default() };
    let camera = scenes::framed(&scene, View::ThreeQuarter, FramingLens::default(), shown);
    let mut target = Target::new(&gpu.renderer, shown).unwrap();
    let expected = picture(gpu, &mut target, &camera, &[Draw::new(&model)]);
    let bounds = model.bounds(0).unwrap();
    let zeros = vec![Vec3::ZERO; piece.positions.len()];
    model.write(0, &zeros, &[]).unwrap();
    assert!(expected != picture(gpu, &mut target, &camera, &[Draw::new(&model)]));
    let buffer = |list: &[Vec3]| {
        let list: Vec<Vec3> = [other; 5].into_iter().chain(list.iter().copied()).collect();
        let bytes: Vec<u8> = list.iter().flat_map(|v| v.to_array()).flat_map(f32::to_le_bytes).collect();
        let usage = wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_SRC;
        gpu.device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents: &bytes, usage })
    };
    let buffers = [buffer(&piece.positions), buffer(&piece.normals)];
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    model.copy(&mut encoder, 0, [&buffers[0], &buffers[1]], 5, bounds).unwrap();
    gpu.queue.submit([encoder.finish()]);
    assert!(expected == picture(gpu, &mut target, &camera, &[Draw::new(&model)]));
}

/// Triangles with a corner that is not finite are left out, and come back with it; the rest is drawn as ever.
#[test]
fn what_is_not_finite_is_left_out() {
    let Some(gpu) = gpu() else { return };
    let shown = size(120, 120);
    let piece = Piece::torus(0.5, 0.2);
    let scene = Scene { meshes: vec![piece.mesh()], ..Scene::default() };
    let camera = scenes::framed(&scene, View::ThreeQuarter, FramingLens::default(), shown);
    let mut model = Model::new(&gpu.renderer, &scene.meshes).unwrap();
    let mut target = Target::new(&gpu.renderer, shown).unwrap();
    let whole = picture(gpu, &mut target, &camera, &[Draw::new(&model)]);
    let mut broken = piece.positions.clone();
    broken[700] = Vec3::new(f32::NAN, 0.0, f32::INFINITY);
    model.write(0, &broken, &piece.normals).unwrap();
    let found = picture(gpu, &mut target, &camera, &[Draw::new(&model)]);
    let bad = Scene { meshes: vec![Mesh { positions: &broken, ..piece.mesh() }], ..Scene::default() };
    let expected = sinew_render::draw(&bad, &camera, shown, Antialias::Four, &Look::default());
    assert!(found != whole && apart(&found, &expected) < 1.5, "{}", apart(&found, &expected));
    model.write(0, &piece.positions, &piece.normals).unwrap();
    assert!(whole == picture(gpu, &mut target, &camera, &[Draw::new(&model)]));
    let wrong = model.write(0, &broken[1..], &[]);
    assert_eq!(wrong, Err(ViewError::Vertices { mesh: 0, expected: broken.len(), found: broken.len() - 1 }));
    assert!(matches!(model.write_colors(3, &[]), Err(ViewError::NoMesh { mesh: 3, meshes: 1 })));
    // Nothing but what is not finite, and nothing at all.
    model.write(0, &vec![Vec3::NAN; broken.len()], &[]).unwrap();
    let empty = Model::new(&gpu.renderer, &[Mesh::new(&[], &[], &[]), Mesh::new(&[], &[], &[[0, 1, 2]])]).unwrap();
    assert!(
        picture(gpu, &mut target, &camera, &[])
            == picture(gpu, &mut target, &camera, &[Draw::new(&model), Draw::new(&empty)])
    );
}
