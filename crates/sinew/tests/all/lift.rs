//! Centrifugal lift on the dancer: the skirt rises, the waist does not.

use crate::common::{Subject, bits, effect, largest_difference, recipe};
use glam::DVec3;
use sinew::cone::Cone;
use sinew::recipe::{ConeSpec, EffectSpec, Literal, RecipeFile};
use sinew::*;

/// A limit that cuts leaves what is below it alone, and stops the rest right there.
#[test]
fn the_cone_takes_the_effects_soft() {
    let subject = Subject::zoo("tube:vertices=1500,bones=9");
    for (name, key) in [("centrifugal-lift", "stretch"), ("floppy", "rotation")] {
        let moved = |max_length: f64, soft: f64| {
            let mut spec = effect(name, &[(key, 0.1), ("soft", soft)]);
            let cone = Cone::new(DVec3::Y, DVec3::Y * 4.0, 0.2, 0.01).ok();
            spec.cone = Some(ConeSpec { bone: Some("tube.1".to_owned()), cone, gain: 10.0, max_length });
            let (stage, base) = (subject.stage(&recipe(vec![spec])), subject.stage(&Recipe::default()));
            let settings = MotionSettings::default();
            let at = |stage| subject.at(stage, &subject.motion(0, &settings, stage), 0.3, &Cpu::serial());
            let (moved, plain) = (at(&stage), at(&base));
            let apart = moved.positions.iter().zip(&plain.positions).map(|(a, b)| a.distance(*b));
            apart.map(|d| f64::from(d) / subject.size()).collect::<Vec<_>>()
        };
        let free = moved(10.0, 0.0);
        let most = free.iter().copied().fold(0.0, f64::max);
        assert!(most > 1e-3, "{name} moves {most}");
        let (hard, soft) = (moved(0.5 * most, 0.0), moved(0.5 * most, 1.0));
        for (free, hard) in free.iter().zip(&hard) {
            assert!((hard - free.min(0.5 * most)).abs() < 2e-6, "{name}: {free} {hard}");
        }
        let softer = free.iter().zip(&soft).map(|(free, soft)| free.min(0.5 * most) - soft).fold(0.0, f64::max);
        assert!(softer > 0.02 * most, "{name}: {softer}");
    }
}

#[test]
fn a_spun_dancer_lifts_her_skirt_and_not_her_waist() {
    let mut zoo = sinew_zoo::build("dancer").unwrap();
    // The skirt: the lower part of the dress, which is the primitive that reaches widest below the hips.
    let primitives = &mut zoo.raw.meshes[0].primitives;
    let reach = |p: &sinew::raw::RawPrimitive| {
        p.positions.iter().filter(|v| v.y < 0.8).map(|v| v.x.hypot(v.z)).fold(0.0, f32::max)
    };
    let dress = (0..primitives.len()).max_by(|&a, &b| reach(&primitives[a]).total_cmp(&reach(&primitives[b]))).unwrap();
    let (low, high) =
        primitives[dress].positions.iter().fold((f32::MAX, f32::MIN), |(low, high), p| (low.min(p.y), high.max(p.y)));
    let waist = low + 0.5 * (high - low);
    for (index, primitive) in primitives.iter_mut().enumerate() {
        let skirt = |p: &glam::Vec3| if index == dress { ((waist - p.y) / (waist - low)).clamp(0.0, 1.0) } else { 0.0 };
        let values = primitive.positions.iter().map(skirt).collect();
        primitive.maps.push(("skirt".to_owned(), values));
    }
    let subject = Subject::new(&zoo.raw, zoo.clips.clone());
    let twirl = subject.clips.iter().position(|clip| clip.name == "twirl").unwrap();
    let mut lift = EffectSpec::new("centrifugal-lift").unwrap();
    lift.map = Some("skirt".to_owned());
    let stage = subject.stage(&recipe(vec![lift]));
    let (name, fitted) = stage.cones().next().expect("a cone was fitted");
    assert_eq!(name, "centrifugal-lift");
    let (rms, _) = fitted.residual.expect("fitted, not given");
    assert!(rms < 0.1, "the cone misses the skirt by {rms}");

    // What was found can be written into a recipe, and is then the same cone to the bit.
    let text = format!("version = 1\n[[effect]]\ntype = \"{name}\"\ncone = {}\n", Literal::from(&fitted.spec()));
    let mut pasted = RecipeFile::parse(&text).expect("a recipe").recipe().clone();
    pasted.effects[0].map = Some("skirt".to_owned());
    let pasted = subject.stage(&pasted);
    let found = pasted.cones().next().expect("a cone by hand").1;
    assert_eq!((&found.bone, found.cone, found.residual), (&fitted.bone, fitted.cone, None));
    let motion = subject.motion(twirl, &MotionSettings::default(), &stage);
    let [by_hand, by_fit] = [&pasted, &stage].map(|stage| bits(&subject.at(stage, &motion, 0.4, &Cpu::serial())));
    assert!(by_hand == by_fit);

    let base = subject.stage(&Recipe::default());
    let (lifted, plain) = (0..12)
        .map(|k| 0.1 * f64::from(k))
        .map(|t| {
            let at = |stage: &Stage, motion: &std::sync::Arc<Motion>| subject.at(stage, motion, t, &Cpu::serial());
            (at(&stage, &motion), at(&base, &subject.motion(twirl, &MotionSettings::default(), &base)))
        })
        .max_by(|a, b| largest_difference(&a.0, &a.1).total_cmp(&largest_difference(&b.0, &b.1)))
        .unwrap();
    assert!(largest_difference(&lifted, &plain) > 0.01 * subject.size());
    let part = &subject.rig.parts()[0].primitives;
    let (mut hem, mut hem_count) = (0.0, 0);
    for (index, primitive) in part.iter().enumerate() {
        for (k, vertex) in primitive.vertices.clone().enumerate() {
            let rise = f64::from(lifted.positions[vertex].y - plain.positions[vertex].y);
            let rest = zoo.raw.meshes[0].primitives[index].positions[k];
            if index != dress || rest.y >= waist {
                assert!(lifted.positions[vertex] == plain.positions[vertex], "the waist and the body stay");
            } else if rest.y < low + 0.1 * (waist - low) {
                hem += rise;
                hem_count += 1;
            }
        }
    }
    assert!(hem / f64::from(hem_count) > 0.003 * subject.size(), "the hem rises by {}", hem / f64::from(hem_count));
}
