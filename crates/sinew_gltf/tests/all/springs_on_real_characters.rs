//! Springs with random parameters on real characters: nothing diverges. `SINEW_FULL=1` runs the long sweep.

use sinew::param::ParamKind;
use sinew::recipe::CorrectionSpec;
use sinew::*;
use sinew_gltf::Asset;
use sinew_testkit::assets::asset;
use sinew_testkit::random::Random;
use std::sync::Arc;

#[test]
fn random_parameters_never_diverge() {
    let is_full = std::env::var_os("SINEW_FULL").is_some();
    let rounds = if is_full { 10_000 } else { 6 };
    for name in ["CesiumMan.glb", "Fox.glb", "KayKit_Knight.glb"] {
        let Some(path) = asset(name) else { return };
        let Asset { rig, clips, .. } = Asset::open(&path).expect("imports");
        let size = rig.characters()[0].size;
        let mut random = Random::new(7);
        for round in 0..rounds {
            let mut spec = CorrectionSpec::new("springs").expect("there is one");
            for param in spec.correction.params {
                let value = match param.kind {
                    // Stiffnesses over all orders of magnitude, 0 among them.
                    ParamKind::Number { min, max, .. } if param.name != "iterations" && param.name != "tolerance" => {
                        let value =
                            if random.below(6) == 0 { 0.0 } else { max * 10f64.powf(random.between(-5.0, 0.0)) };
                        value.max(min)
                    }
                    // With history every set runs through its whole clip.
                    ParamKind::Choice { words } if is_full || param.name != "history" => {
                        random.below(words.len()) as f64
                    }
                    _ => continue,
                };
                spec.values.set(param.name, value).expect("in range");
            }
            spec.values.set("iterations", 20.0).expect("in range");
            let values = spec.values.clone();
            let sprung = Recipe { corrections: vec![spec], ..Recipe::default() };
            let clip = &clips[random.below(clips.len())];
            let time = clip.span().map_or(0.0, |(from, to)| random.between(from, to));
            let mesh = [&Recipe::default(), &sprung].map(|recipe| at(&rig, clip, recipe, time));
            let moved = |v: usize| mesh[0].positions[v].distance(mesh[1].positions[v]);
            let most = (0..mesh[0].positions.len()).map(moved).fold(0.0, f32::max);
            assert!(mesh[1].positions.iter().chain(&mesh[1].normals).all(|v| v.is_finite()), "{name} {round}");
            assert!(f64::from(most) < size, "{name}, round {round}: moved by {most} of {size}; {values:?}");
        }
        println!("{name}: {rounds} sets, none diverges");
    }
}

fn at(rig: &Arc<Rig>, clip: &Clip, recipe: &Recipe, time: f64) -> DeformedMesh {
    let stage = Stage::new(rig, recipe).expect("the recipe fits");
    let playing = stage.motion(clip, &MotionSettings::default()).expect("the clip can be read");
    playing.frame(time, &mut Workspace::default()).clone()
}
