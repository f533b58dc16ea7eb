//! Overlapping action in keys: a chain keyed with a known delay from bone to bone, one keyed as one, one that springs move.

use glam::{Quat, Vec3};
use sinew::anatomy::Role;
use sinew::clip::Track;
use sinew::{BoneId, Clip, Curve, Interpolation, MotionSettings, Rig};
use sinew_liven::plan::Moved;
use sinew_liven::secondary::Own;
use sinew_liven::survey::{Survey, survey};
use sinew_liven::{Wishes, plan};
use std::f64::consts::TAU;
use std::sync::Arc;

const BONES: usize = 8;

/// A tube whose bones from the fourth on are a tail, each turned like the one before it, `delay` later.
fn tail(delay: f64) -> (Arc<Rig>, Clip) {
    let mut raw = sinew_zoo::build(&format!("tube:bones={BONES}")).expect("a tube").raw;
    for (node, bone) in raw.bones.iter_mut().enumerate().take(BONES) {
        bone.name = if node < 3 { format!("spine{node}") } else { format!("tail{node}") };
    }
    let times: Vec<f64> = (0..=60).map(|key| f64::from(key) / 30.0).collect();
    let track = |node: usize| {
        let turn = |&t: &f64| Quat::from_axis_angle(Vec3::X, 0.2 * (TAU * (t - delay * node as f64)).sin() as f32);
        let keys = times.iter().map(turn).collect();
        let rotation = Curve::new(Interpolation::Linear, times.clone(), keys).expect("sound keys");
        Track { node, rotation: Some(rotation), ..Track::default() }
    };
    let clip = Clip { name: "swing".into(), tracks: (0..BONES).map(track).collect() };
    raw.animated = (0..BONES).collect();
    let (rig, _) = Rig::build(&raw).expect("a sound rig");
    (Arc::new(rig), clip)
}

fn found(delay: f64, sprung: bool) -> Survey {
    let (rig, clip) = tail(delay);
    let is_tail = |bone: &BoneId| sprung && rig.skeleton().name(*bone).starts_with("tail");
    let springs: Vec<BoneId> = rig.skeleton().bones().filter(is_tail).collect();
    let survey = survey(&rig, &[(&clip, MotionSettings::default())], &springs).expect("a survey");
    assert!(survey.parts.iter().any(|part| part.role == Role::Tail), "the tail is found");
    survey
}

fn own(survey: &Survey) -> Own {
    survey.parts.iter().find(|part| part.role == Role::Tail).expect("a tail").own
}

#[test]
fn keyed_overlap_is_found_with_its_delay_and_gets_less() {
    let strength = |survey: &Survey| {
        let plan = plan::plan(survey, &Wishes::default());
        let layer = plan.layers.iter().find(|layer| layer.moved == Moved::Part(Role::Tail)).expect("a layer");
        layer.effects.iter().map(|effect| effect.strength).sum::<f64>()
    };
    let together = found(0.0, false);
    assert_eq!(own(&together), Own::Plain);
    for delay in [0.05, 0.1] {
        let overlapping = found(delay, false);
        let Own::Overlaps { delay: told } = own(&overlapping) else { panic!("{:?}", own(&overlapping)) };
        assert!((told - delay).abs() < 0.02, "{told} {delay}");
        assert!(strength(&overlapping) < 0.7 * strength(&together));
    }
}

#[test]
fn what_springs_move_is_left_to_them() {
    let sprung = found(0.0, true);
    assert_eq!(own(&sprung), Own::Sprung);
    let plan = plan::plan(&sprung, &Wishes::default());
    assert!(plan.layers.iter().all(|layer| layer.moved != Moved::Part(Role::Tail)));
    assert!(plan.remarks.iter().any(|remark| remark.contains("springs")), "{:?}", plan.remarks);
}
