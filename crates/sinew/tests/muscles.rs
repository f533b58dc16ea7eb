//! Vortex muscles on built-in characters, through the whole pipeline.

mod common;

use common::{Stage, bits, largest_difference};
use glam::DVec3;
use sinew::recipe::CorrectionSpec;
use sinew::{Cpu, DeformedMesh, MotionSettings, Recipe};

fn muscles(values: &[(&str, f64)], bones: &[(&str, &[&str])]) -> Recipe {
    let mut spec = CorrectionSpec::new("muscles").expect("muscles are a correction");
    for (name, value) in values {
        spec.values.set(name, *value).expect("a value in range");
    }
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    spec.bones = bones.iter().map(|&(bone, flexed_by)| (bone.to_owned(), owned(flexed_by))).collect();
    Recipe { corrections: vec![spec], ..Recipe::default() }
}

fn at(stage: &Stage, recipe: &Recipe, clip: usize, times: &[f64]) -> Vec<DeformedMesh> {
    let graph = stage.graph(recipe);
    let motion = stage.motion(clip, &MotionSettings::default(), &graph);
    times.iter().map(|&time| stage.at(&graph, &motion, time, &Cpu::serial())).collect()
}

/// Six times the volume, of a closed surface.
fn volume(stage: &Stage, mesh: &DeformedMesh) -> f64 {
    let at = |v: u32| mesh.positions[v as usize].as_dvec3();
    stage.rig.triangles().iter().map(|&[a, b, c]| at(a).dot(at(b).cross(at(c)))).sum()
}

#[test]
fn flesh_swings_keeps_its_volume_and_lets_itself_be_switched_off() {
    let stage = Stage::zoo("calf");
    let named = stage.graph(&muscles(&[], &[])).muscles();
    let names: Vec<&str> = named.iter().map(|muscle| stage.rig.skeleton().name(muscle.bone)).collect();
    println!("fleshy: {names:?}");
    assert!(!names.is_empty());
    let times: Vec<f64> = (0..8).map(|k| 0.09 * f64::from(k)).collect();
    let base = at(&stage, &Recipe::default(), 0, &times);
    let swung = at(&stage, &muscles(&[], &[]), 0, &times);
    let off = at(&stage, &muscles(&[("life", 1.0)], &[]), 0, &times);
    let mut farthest: f64 = 0.0;
    for k in 0..times.len() {
        let moved = largest_difference(&base[k], &swung[k]) / stage.size();
        farthest = farthest.max(moved);
        let kept = volume(&stage, &swung[k]) / volume(&stage, &base[k]) - 1.0;
        println!("{:.2} s: moved {moved:.4} of the size, volume {kept:+.2e}", times[k]);
        assert!(kept.abs() < 5e-3, "{kept}");
        assert!(largest_difference(&base[k], &off[k]) == 0.0);
    }
    assert!(farthest > 1e-3 && farthest < 0.3, "{farthest}");
}

#[test]
fn frames_stand_alone_and_loops_close() {
    let stage = Stage::zoo("calf");
    let graph = stage.graph(&muscles(&[], &[]));
    let motion = stage.motion(0, &MotionSettings::default(), &graph);
    let period = motion.report().period.expect("the trot loops");
    let frame = |t: f64| stage.at(&graph, &motion, t, &Cpu::serial());
    let (later, earlier) = (frame(0.5 * period), frame(0.2 * period));
    assert_eq!(bits(&earlier), bits(&frame(0.2 * period)));
    assert_eq!(bits(&later), bits(&frame(0.5 * period)));
    let seam = largest_difference(&frame(0.0), &frame(period * (1.0 - 1e-9)));
    assert!(seam < 1e-5 * stage.size(), "{seam}");
}

#[test]
fn scale_changes_nothing_but_the_scale() {
    let run = |spec: &str| {
        let stage = Stage::zoo(spec);
        let recipe = muscles(&[("gravity", 2.0)], &[("tube.2", &["tube.3"])]);
        let [base, swung] = [Recipe::default(), recipe].map(|recipe| at(&stage, &recipe, 0, &[0.4]).remove(0));
        let moved = base.positions.iter().zip(&swung.positions).map(|(a, b)| (*b - *a).as_dvec3());
        (moved.collect::<Vec<DVec3>>(), stage.size())
    };
    let (small, _) = run("tube:vertices=600,bones=3,radius=0.1,length=1");
    let (large, size) = run("tube:vertices=600,bones=3,radius=10,length=100");
    assert!(large.iter().any(|moved| moved.length() > 1e-3 * size));
    for (a, b) in small.iter().zip(&large) {
        assert!((*a * 100.0 - *b).length() < 1e-5 * size, "{a} {b}");
    }
}

#[test]
fn a_flexed_muscle_bulges() {
    let stage = Stage::zoo("arm");
    // The clip bends the elbow most in its middle.
    let still = [("life", 1.0), ("contraction", 1.0)];
    let recipe = muscles(&still, &[("upper_arm", &["forearm"])]);
    let width = |mesh: &DeformedMesh| {
        let rest = at(&stage, &Recipe::default(), 0, &[0.0]).remove(0);
        let band = rest.positions.iter().zip(&mesh.positions).filter(|(rest, _)| (0.14..0.22).contains(&rest.y));
        let widths: Vec<f64> = band.map(|(_, p)| f64::from(p.x.abs())).collect();
        widths.iter().sum::<f64>() / widths.len() as f64
    };
    let [straight, bent] = [0.0, 0.8].map(|t| at(&stage, &recipe, 0, &[t]).remove(0));
    let [plain_straight, plain_bent] = [0.0, 0.8].map(|t| at(&stage, &Recipe::default(), 0, &[t]).remove(0));
    let (relaxed, flexed) = (width(&straight) / width(&plain_straight), width(&bent) / width(&plain_bent));
    println!("width of the upper arm: {relaxed:.3} relaxed, {flexed:.3} flexed, of the plain skin's");
    assert!((relaxed - 1.0).abs() < 0.02 && flexed > 1.03, "{relaxed} {flexed}");
}
