//! Pixels put into the world: they project to where they came from, on what the picture itself picks, in time.

use crate::common::{Photo, Subject};
use glam::{DVec2, DVec3};
use sinew::Recipe;
use sinew::strokes::surface::SurfaceTree;
use sinew_draw::screen::{depth_beyond, skin_under};
use sinew_draw::{CameraSpec, Plane, ScreenError, ScreenSample, ScreenStroke};
use sinew_render::View;

fn stroke(photo: &Photo, pixels: impl IntoIterator<Item = DVec2>) -> ScreenStroke {
    let sample = |(i, p): (usize, DVec2)| ScreenSample { pixel: p.into(), time_secs: i as f64, pressure: 0.5 };
    ScreenStroke::new(photo.projector(), pixels.into_iter().enumerate().map(sample).collect()).expect("finite")
}

#[test]
fn a_pixel_shows_the_skin_that_the_picture_picks() {
    let subject = Subject::zoo("calf");
    let stage = subject.edit_stage();
    let (_, points) = subject.frame(&Recipe::default(), subject.clips.first(), 0.2);
    let triangles = stage.skin().triangles();
    for view in [View::Front, View::Side, View::Top] {
        let photo = Photo::framing(&points, view, 240);
        let projector = photo.projector();
        let hits = photo.hits(triangles, &points);
        let tree = SurfaceTree::new(triangles, &points).expect("a surface");
        let reach = depth_beyond(&projector, &points);
        let (mut seen, mut differ) = (0, 0);
        for (index, hit) in hits.iter().enumerate() {
            let pixel = [(index % 240) as f64 + 0.5, (index / 240) as f64 + 0.5];
            let found = skin_under(&projector, &tree, pixel, reach);
            seen += usize::from(hit.is_some());
            match (hit, found) {
                (None, None) => {}
                (Some(hit), Some((place, depth))) => {
                    // The picture's own points are rounded to f32, which decides who covers an edge.
                    differ += usize::from((depth - hit.depth).abs() > 1e-4 * subject.size());
                    let p = place.at(triangles, &points).expect("a triangle");
                    let back = projector.project(p).pixel().expect("in front");
                    assert!(DVec2::from(back).distance(pixel.into()) < 1e-6);
                }
                _ => differ += 1,
            }
        }
        assert!(seen > 5000 && differ <= 3 + seen / 2000, "{differ} of {seen} pixels differ");
    }
}

#[test]
fn a_stroke_that_leaves_the_skin_falls_into_pieces() {
    let subject = Subject::zoo("calf");
    let stage = subject.edit_stage();
    let (_, points) = subject.frame(&Recipe::default(), None, 0.0);
    let triangles = stage.skin().triangles();
    let photo = Photo::framing(&points, View::Side, 800);
    let tree = SurfaceTree::new(triangles, &points).expect("a surface");
    let reach = depth_beyond(&photo.projector(), &points);
    // Across the legs, near the ground.
    let across = stroke(&photo, (0..400).map(|i| DVec2::new(f64::from(i) * 2.0, 640.0)));
    let pieces = across.on_skin(&tree, reach).expect("legs");
    assert!(pieces.len() >= 2, "{} pieces", pieces.len());
    for sample in pieces.iter().flatten() {
        let index = sample.sample.time_secs as usize;
        let pixel = photo.projector().project(sample.sample.position).pixel().expect("in front");
        assert!(DVec2::from(pixel).distance(across.samples()[index].pixel.into()) < 1e-6 && sample.pressure == 0.5);
        let on = sample.place.at(triangles, &points).expect("a triangle");
        assert!(on.distance(sample.sample.position) < 1e-9 * subject.size());
    }
    let beside = stroke(&photo, [DVec2::new(2.0, 2.0), DVec2::new(9.0, 2.0)]);
    assert_eq!(beside.on_skin(&tree, reach), Err(ScreenError::OffTheSkin));
}

#[test]
fn planes_are_met_where_the_line_of_sight_goes_through() {
    let subject = Subject::zoo("tube");
    let (_, points) = subject.frame(&Recipe::default(), None, 0.0);
    let photo = Photo::framing(&points, View::ThreeQuarter, 600);
    let projector = photo.projector();
    let middle = DVec3::new(0.1, 1.0, 0.2);
    let drawn =
        stroke(&photo, (0..30).map(|i| DVec2::new(100.0 + 13.0 * f64::from(i), 300.0 + f64::from(i * i) * 0.1)));
    for plane in
        [Plane::facing(&projector, &[middle]).expect("a plane"), Plane::new(middle, DVec3::Z).expect("a plane")]
    {
        for (sample, at) in drawn.samples().iter().zip(drawn.on_plane(&plane).expect("in front")) {
            let back = projector.project(at.position).pixel().expect("in front");
            assert!(DVec2::from(back).distance(sample.pixel.into()) < 1e-8);
            assert!((at.position - middle).dot(plane.normal()).abs() < 1e-9);
        }
    }
    let edge_on = Plane::new(projector.camera().eye(), projector.camera().up()).expect("a plane");
    assert!(matches!(drawn.on_plane(&edge_on), Err(ScreenError::OffThePlane { .. })));
    assert_eq!(Plane::new(middle, DVec3::ZERO), Err(ScreenError::NoPlane));
    // Cleaned, it keeps its ends and what bends.
    let clean = drawn.simplified(2.0);
    assert!(clean.samples().len() < 12 && clean.samples()[0] == drawn.samples()[0]);
    let spec: CameraSpec =
        serde_json::from_str(r#"{"eye": [0, 1, 5], "target": [0, 1, 0], "size": [0, 40]}"#).expect("a camera");
    assert_eq!(spec.projector(), Err(ScreenError::NoPicture { width: 0, height: 40 }));
    let spec = CameraSpec { target: spec.eye, size: [40, 40], ..spec };
    assert!(matches!(spec.projector(), Err(ScreenError::Camera(_))));
}

#[test]
fn the_echo_of_a_pointer_takes_less_than_four_milliseconds() {
    let subject = Subject::zoo("tube:vertices=10000");
    let stage = subject.edit_stage();
    let (_, points) = subject.frame(&Recipe::default(), None, 0.0);
    let triangles = stage.skin().triangles();
    let photo = Photo::framing(&points, View::Side, 1080);
    let tree = SurfaceTree::new(triangles, &points).expect("a surface");
    let reach = depth_beyond(&photo.projector(), &points);
    // A whole stroke again at each event: what is drawn smooth changes behind the pointer.
    let drawn = stroke(&photo, (0..500).map(|i| DVec2::new(540.0 + 20.0 * f64::from(i).sin(), 200.0 + f64::from(i))));
    let begun = std::time::Instant::now();
    let pieces = drawn.on_skin(&tree, reach).expect("on the tube");
    let took = begun.elapsed();
    println!("{} vertices, {} samples: {took:.0?}", points.len(), pieces.iter().map(Vec::len).sum::<usize>());
    let least = (0..5)
        .map(|_| {
            let begun = std::time::Instant::now();
            drawn.on_skin(&tree, reach).expect("on the tube");
            begun.elapsed()
        })
        .min();
    assert!(least.is_some_and(|took| took.as_secs_f64() < 4e-3), "{least:?} for 500 samples");
}
