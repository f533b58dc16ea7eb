//! Strokes on the skin: the drawn curve is met, edits keep their lengths and turns over the clip, and overlaps stay smooth.
//! `SINEW_FULL=1` draws more of them.

use crate::common::{Photo, Subject, is_full};
use glam::{DVec2, DVec3};
use sinew::Recipe;
use sinew::strokes::surface::SurfaceTree;
use sinew::strokes::{Reach, Sample, Stroke};
use sinew_author::Solve;
use sinew_draw::screen::depth_beyond;
use sinew_draw::{ScreenSample, ScreenStroke};
use sinew_render::View;
use sinew_testkit::random::Random;

/// A line drawn over a picture at random, where it lies on the skin, and the same moved outward in a hump.
fn drawn(subject: &Subject, points: &[DVec3], random: &mut Random, height: f64) -> Option<[Stroke; 2]> {
    let stage = subject.edit_stage();
    let (triangles, size) = (stage.skin().triangles(), subject.size());
    let azimuth = random.between(0.0, std::f64::consts::TAU);
    let photo = Photo::framing(points, View::Angles { azimuth, elevation: random.between(-0.3, 0.6) }, 1080);
    let tree = SurfaceTree::new(triangles, points)?;
    let mut at = || DVec2::new(random.between(200.0, 880.0), random.between(100.0, 980.0));
    let (a, b) = (at(), at());
    let bend = (b - a).perp() * 0.15;
    let pixel = |i: u32| {
        let t = f64::from(i) / 60.0;
        (a + (b - a) * t + bend * (std::f64::consts::PI * t).sin()).into()
    };
    let samples = (0..=60).map(|i| ScreenSample { pixel: pixel(i), time_secs: f64::from(i), pressure: 1.0 }).collect();
    let stroke = ScreenStroke::new(photo.projector(), samples).ok()?;
    let pieces = stroke.on_skin(&tree, depth_beyond(&photo.projector(), points)).ok()?;
    let piece = pieces.into_iter().max_by_key(Vec::len).filter(|piece| piece.len() > 8)?;
    let places: Vec<Sample> = piece.iter().map(|sample| sample.sample).collect();
    let from = Stroke::new(&places).ok().filter(|from| (0.1..0.5).contains(&(from.length() / size)))?;
    // Outward by what lies under it on average.
    let normal = piece.iter().map(|s| {
        let [a, b, c] = triangles[s.place.triangle as usize].map(|v| points[v as usize]);
        (b - a).cross(c - a).normalize_or_zero()
    });
    let outward = normal.sum::<DVec3>().try_normalize()?;
    let to = (0..=40).map(|i| {
        let t = f64::from(i) / 40.0;
        let position = from.at(t) + outward * (height * size * (0.5 + 0.5 * (std::f64::consts::PI * t).sin()));
        Sample { position, time_secs: t }
    });
    let to = Stroke::new(&to.collect::<Vec<_>>()).ok()?;
    Some([from, to])
}

fn subjects() -> Vec<Subject> {
    let (zoo, real): (&[_], &[_]) = match is_full() {
        true => (&["calf", "dancer"], &["CesiumMan_sub3.glb", "MakeHuman_skirt.glb"]),
        false => (&["calf"], &["MakeHuman_skirt.glb"]),
    };
    zoo.iter().map(|name| Subject::zoo(name)).chain(real.iter().filter_map(|file| Subject::real(file))).collect()
}

#[test]
fn the_drawn_curve_is_met_and_the_edit_keeps_its_lengths_and_turns() {
    let solves = [Solve::Arap(20), Solve::Laplacian, Solve::ScaleVectors];
    for subject in subjects() {
        let (stage, size) = (subject.edit_stage(), subject.size());
        let clip = &subject.clips[0];
        let (start, end) = clip.span().expect("keys");
        let time = start + 0.4 * (end - start);
        let (world, before) = subject.frame(&Recipe::default(), Some(clip), time);
        let mut random = Random::new(5);
        let strokes = if is_full() { 10 } else { 3 };
        for k in 0..strokes {
            let [from, to] = (0..200).find_map(|_| drawn(&subject, &before, &mut random, 0.03)).expect("on the skin");
            let solve = solves[k % 3];
            let reach = [Reach::Rings(4), Reach::Distance(0.06 * size), Reach::Geodesic(0.06 * size)][(k / 3 + k) % 3];
            let marked = stage.mark(&before, &from, reach).expect("a region");
            let pulled =
                stage.pull(&world, &subject.rig, &before, [&from, &to], reach, solve).expect("a region that is held");
            assert_eq!(marked.inside, pulled.inside, "what is shown before is what is solved");
            let (edited, recipe) = subject.with_edit("drawn", &world, &before, &pulled);
            let (_, there) = edited.frame(&recipe, Some(clip), time);
            let tree = SurfaceTree::new(stage.skin().triangles(), &there).expect("a surface");
            let off = (0..=100).map(|i| to.at(f64::from(i) / 100.0)).map(|p| {
                tree.nearest(p).and_then(|at| at.at(stage.skin().triangles(), &there)).expect("a place").distance(p)
            });
            let off = off.fold(0.0, f64::max) / size;
            // Lengths and turns against the attachments, in sizes, over the clip.
            let changes = stage.encode(&world, &subject.rig, &before, &pulled.points);
            let mut strayed = 0.0f64;
            for i in 0..=6 {
                let t = start + (end - start) * f64::from(i) / 6.0;
                let (at, plain) = edited.frame(&Recipe::default(), Some(clip), t);
                let (_, now) = edited.frame(&recipe, Some(clip), t);
                let hung = edited.edit_stage().skin().pose(&edited.rig, &at);
                for (node, change) in changes.iter().enumerate().filter(|(node, _)| pulled.inside[*node] > 0.0) {
                    let (anchor, axes) = (hung.anchors[node] * hung.scale, hung.axes[node]);
                    let [s, edited] = [plain[node], now[node]].map(|p| axes.inverse() * (p - anchor));
                    strayed = strayed.max((change.turn * s * change.ratio).distance(edited) / size);
                }
            }
            println!("{} {solve:?} {reach:?}: off {:.3} %, strayed {strayed:.1e}", subject.name, 100.0 * off);
            assert!(off < 0.002, "the curve is not met");
            assert!(strayed < 1e-6, "the edit does not keep its lengths and turns");
        }
    }
}

/// Angles between the faces at each edge, in degrees.
fn creases(triangles: &[[u32; 3]], points: &[DVec3]) -> Vec<f64> {
    let mut sides: Vec<([u32; 2], usize)> = Vec::new();
    for (face, &[a, b, c]) in triangles.iter().enumerate() {
        sides.extend([[a, b], [b, c], [c, a]].map(|[a, b]| ([a.min(b), a.max(b)], face)));
    }
    sides.sort_unstable();
    let normal = |face: usize| {
        let [a, b, c] = triangles[face].map(|v| points[v as usize]);
        (b - a).cross(c - a)
    };
    let pairs = sides.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    pairs.map(|pair| normal(pair[0].1).angle_between(normal(pair[1].1)).to_degrees()).collect()
}

/// On a plain limb. Where a stroke runs around a tip or over small pieces, one edit alone creases already.
#[test]
fn overlapping_bulges_make_no_crease() {
    for name in ["tube:vertices=6000,bones=3"] {
        let subject = Subject::zoo(name);
        let (stage, size) = (subject.edit_stage(), subject.size());
        let triangles = stage.skin().triangles();
        let (world, before) = subject.frame(&Recipe::default(), None, 0.0);
        let mut random = Random::new(11);
        for _ in 0..if is_full() { 8 } else { 3 } {
            let [from, _] = (0..400).find_map(|_| drawn(&subject, &before, &mut random, 0.02)).expect("on the skin");
            let aside = from.tangent(0.5) * (0.3 * from.length());
            // The second is drawn beside the first, on the skin.
            let tree = SurfaceTree::new(triangles, &before).expect("a surface");
            let place = |i: u32| {
                let near = tree.nearest(from.at(f64::from(i) / 40.0) + aside).and_then(|at| at.at(triangles, &before));
                Sample { position: near.expect("a place"), time_secs: 0.0 }
            };
            let second_from = Stroke::new(&(0..=40).map(place).collect::<Vec<_>>()).expect("finite");
            let raise =
                |along: &Stroke| stage.relief(&before, along, 0.015 * size, 0.12 * size).expect("vertices about it");
            let (first, second) = (raise(&from), raise(&second_from));
            let (one, recipe) = subject.with_edit("first", &world, &before, &first);
            let alone = one.frame(&recipe, None, 0.0).1;
            let (two, more) = one.with_edit("second", &world, &before, &second);
            let other = two.frame(&more, None, 0.0).1;
            let both = Recipe { edits: [recipe.edits, more.edits].concat(), ..Recipe::default() };
            let overlapping = two.frame(&both, None, 0.0).1;
            let [base, a, b, ab] = [&before, &alone, &other, &overlapping].map(|p| creases(triangles, p));
            let sharper = (0..ab.len()).map(|i| ab[i] - base[i].max(a[i]).max(b[i])).fold(f64::NEG_INFINITY, f64::max);
            let shared = first.inside.iter().zip(&second.inside).filter(|(a, b)| **a > 0.0 && **b > 0.0).count();
            println!("{name}: {shared} vertices of both, {sharper:.2}° sharper than either alone");
            assert!(shared > 10 && sharper < 5.0);
        }
    }
}

#[test]
fn a_bulge_rises_along_the_stroke_and_a_groove_sinks() {
    let subject = Subject::zoo("calf");
    let (stage, size) = (subject.edit_stage(), subject.size());
    let (world, before) = subject.frame(&Recipe::default(), None, 0.0);
    let mut random = Random::new(3);
    let [from, _] = (0..200).find_map(|_| drawn(&subject, &before, &mut random, 0.03)).expect("on the skin");
    for height in [0.02 * size, -0.02 * size] {
        let raised = stage.relief(&before, &from, height, 0.08 * size).expect("vertices about the stroke");
        let moved = before.iter().zip(&raised.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!((0.8..=1.0 + 1e-9).contains(&(moved / height.abs())), "{moved}");
        // Outside it stays to the bit, and it goes along the normals.
        assert!(before.iter().zip(&raised.points).zip(&raised.inside).all(|((a, b), i)| *i > 0.0 || a == b));
        let (edited, recipe) = subject.with_edit("relief", &world, &before, &raised);
        let there = edited.frame(&recipe, None, 0.0).1;
        assert!(there.iter().zip(&raised.points).all(|(a, b)| a.distance(*b) < 1e-6 * size));
    }
    assert!(stage.relief(&before, &from, 0.1, 1e-9 * size).is_err());
}
