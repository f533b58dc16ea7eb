//! Where skinning squeezes points flat no morph can be seen: that is found, named, and does no harm.

use glam::Quat;
use sinew::clip::Track;
use sinew::{Clip, Curve, Interpolation, MotionSettings, RecipeFile, Rig};
use sinew_bake::{BakeClip, BakeFailure, Options, Subject, Tolerance, bake};
use std::f32::consts::PI;

#[test]
fn a_half_turn_about_the_limb_is_reported_and_stays_finite() {
    let mut character = sinew_zoo::build("tube:vertices=300,bones=2,influences=2").unwrap();
    // The candy wrapper: at ½ and ½, half a turn takes the whole ring to the axis.
    let influences = &mut character.raw.meshes[0].primitives[0].influences;
    for weights in influences.weights.chunks_mut(influences.per_vertex) {
        if weights[0] > 0.2 && weights[0] < 0.8 {
            weights[..2].copy_from_slice(&[0.5, 0.5]);
        }
    }
    let times = vec![0.0, 0.5, 1.0];
    let turns = [0.0, 0.5 * PI, PI].map(Quat::from_rotation_y).to_vec();
    let rotation = Curve::new(Interpolation::Linear, times, turns).unwrap();
    let track = Track { node: 1, translation: None, rotation: Some(rotation), scale: None, morph: None };
    let clip = Clip { name: "wring".into(), tracks: vec![track] };
    character.raw.animated = vec![1];
    let rig = std::sync::Arc::new(Rig::build(&character.raw).unwrap().0);
    let recipe = RecipeFile::parse("version = 1\nbase = \"dqs\"\n").unwrap();
    let subject = Subject { raw: &character.raw, rig: &rig, recipe: recipe.recipe(), backend: None };
    let clips = [BakeClip { clip: &clip, settings: MotionSettings::default(), recipe: None }];
    let strict = Options { tolerance: Tolerance::OfSize(1e-3), ..Options::default() };
    let Err(BakeFailure::Shortfall(shortfall)) = bake(subject, &clips, &strict, &|_| ()) else {
        panic!("a collapsed ring cannot be restored")
    };
    let words = shortfall.to_string();
    assert!(words.contains("squeezes") && words.contains("\"wring\""), "{words}");
    assert_eq!(shortfall.groups[0].would_do, None);

    let baked = bake(subject, &clips, &Options { best_effort: true, ..strict }, &|_| ()).unwrap();
    let flat = baked.report.groups[0].flattened.as_ref().unwrap();
    assert!(flat.points > 0 && !flat.bones.is_empty() && flat.left > 0.01);
    assert!(!baked.report.within_tolerance());
    for target in baked.parts.iter().flat_map(|part| &part.targets).flatten() {
        let size = baked.report.groups[0].size as f32;
        // Never more than fifty times what is seen, and what is seen is a radius.
        assert!(target.positions.iter().all(|p| p.is_finite() && p.length() < 50.0 * 0.2 * size));
        assert!(target.normals.iter().flatten().all(|n| n.is_finite()));
    }
    assert!(baked.clips[0].iter().flat_map(|curve| curve.weights.iter().flatten()).all(|w| w.abs() <= 1.0 + 1e-6));
}
