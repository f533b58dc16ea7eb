//! Bones scaled to about nothing hide what they carry: that costs nothing and fails nothing.

use glam::{Quat, Vec3};
use sinew::clip::Track;
use sinew::{Clip, Curve, Interpolation, MotionSettings, RecipeFile, Rig, presets};
use sinew_bake::report::Report;
use sinew_bake::{BakeClip, Options, Subject, bake};

/// A tube that swings; its last bone is at `least` of its size from 0.4 s on, and back at the end.
fn report(least: f32) -> Report {
    let mut character = sinew_zoo::build("tube:vertices=400,bones=6,influences=2").unwrap();
    let times: Vec<f64> = (0..=20).map(|key| f64::from(key) / 20.0).collect();
    let swing = times.iter().map(|time| Quat::from_rotation_x(0.5 * (std::f32::consts::TAU * *time as f32).sin()));
    let swing = Curve::new(Interpolation::Linear, times.clone(), swing.collect()).unwrap();
    let size = |time: f64| match time {
        time if time < 0.35 => 1.0,
        time if time < 0.45 => 0.1f32.max(least),
        time if time < 0.9 => least,
        _ => 1.0,
    };
    let hide = times.iter().map(|&time| Vec3::splat(size(time))).collect();
    let hide = Curve::new(Interpolation::Linear, times, hide).unwrap();
    let track = |node: usize, rotation, scale| Track { node, rotation, scale, ..Track::default() };
    let clip = Clip {
        name: "hide".into(),
        tracks: (0..5).map(|node| track(node, Some(swing.clone()), None)).chain([track(5, None, Some(hide))]).collect(),
    };
    character.raw.animated = (0..6).collect();
    let rig = std::sync::Arc::new(Rig::build(&character.raw).unwrap().0);
    let recipe = RecipeFile::parse(presets::get("lively").unwrap()).unwrap();
    let recipe = recipe.recipe().without_strength();
    let subject = Subject { raw: &character.raw, rig: &rig, recipe: &recipe, backend: None };
    let clips = [BakeClip { clip: &clip, settings: MotionSettings::default(), recipe: None }];
    bake(subject, &clips, &Options::default(), &|_| ()).unwrap().report
}

#[test]
fn what_is_hidden_is_baked_with_hardly_more_targets_than_what_is_not() {
    let plain = report(1.0);
    for least in [0.0, 1e-6, 1e-3] {
        let hidden = report(least);
        assert!(hidden.within_tolerance(), "{least}: {}", hidden.largest_share());
        let (a, b) = (&plain.groups[0], &hidden.groups[0]);
        assert!(b.targets <= 2 * a.targets, "{least}: {} targets for {}", b.targets, a.targets);
        // More targets never make it worse by more than the way a displacement may grow where skin shrinks.
        assert!(b.curve.iter().all(|point| point.largest <= 5.0 * b.displacement.length), "{least}: {:?}", b.curve);
    }
}
