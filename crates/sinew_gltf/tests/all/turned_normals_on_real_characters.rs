//! Normals of real characters: exactly the base's where no effect acts, hardly turned where one acts a little, and never
//! against the faces where those of engines are not. One clip and moment per character, chosen by seed; `SINEW_FULL`
//! takes five of every clip.

use glam::Vec3;
use sinew::maps::PointMap;
use sinew::recipe::{EffectSpec, Normals};
use sinew::*;
use sinew_gltf::Asset;
use sinew_testkit::assets::{asset, assets};
use sinew_testkit::random::Random;
use std::collections::HashMap;
use std::sync::Arc;

/// Effects that move, turn and stretch, all with this gain.
fn recipe(gain: f64, normals: Normals) -> Recipe {
    let effect = |name: &&str| EffectSpec { gain, ..EffectSpec::new(name).expect("an effect") };
    let effects = ["floppy", "squash", "follow-through", "acceleration-drag", "wobble"].iter().map(effect).collect();
    Recipe { effects, normals, ..Recipe::default() }
}

/// A frame of a recipe, and of its base alone.
fn frame(rig: &Arc<Rig>, recipe: &Recipe, clip: &Clip, time: f64) -> (DeformedMesh, DeformedMesh) {
    frame_of(&Stage::new(rig, recipe).expect("the recipe fits"), clip, time)
}

fn frame_of(stage: &Stage, clip: &Clip, time: f64) -> (DeformedMesh, DeformedMesh) {
    let mut workspace = Workspace::with(Outputs { base: true, ..Outputs::default() });
    stage.motion(clip, &MotionSettings::default()).expect("reads").frame(time, &mut workspace);
    (workspace.take_mesh(), workspace.take_base())
}

/// Runs over real characters: name, rig, clip, time.
fn each(mut f: impl FnMut(&str, &Arc<Rig>, &Clip, f64)) {
    let full = std::env::var_os("SINEW_FULL").is_some();
    let mut random = Random::new(11);
    for path in assets() {
        let Asset { rig, clips: all, .. } = Asset::open(&path).expect("opens");
        if all.is_empty() || (rig.vertex_count() > 60_000 && !full) {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let clips = if full { all.iter().collect() } else { vec![&all[random.below(all.len())]] };
        for clip in clips {
            let (start, end) = clip.span().unwrap_or((0.0, 0.0));
            for _ in 0..if full { 5 } else { 1 } {
                f(&format!("{name}, {}", clip.name), &rig, clip, start + (end - start) * random.between(0.0, 1.0));
            }
        }
    }
}

/// Area vectors of the faces around every smooth corner: copies of a point that share a normal share their faces, else
/// a seam of the texture would show.
fn faces(rig: &Rig, mesh: &DeformedMesh, engine: &DeformedMesh) -> Vec<Vec3> {
    let corner = |v: usize| (rig.point_of_vertex()[v], engine.normals[v].to_array().map(f32::to_bits));
    let mut sums = HashMap::new();
    for corners in rig.triangles() {
        let [a, b, c] = corners.map(|v| mesh.positions[v as usize]);
        corners.iter().for_each(|&v| *sums.entry(corner(v as usize)).or_insert(Vec3::ZERO) += (b - a).cross(c - a));
    }
    (0..rig.vertex_count()).map(|v| sums.get(&corner(v)).copied().unwrap_or_default()).collect()
}

/// Vertices whose normals stand against their faces where those of engines do not.
fn inward(rig: &Arc<Rig>, normals: Normals, clip: &Clip, time: f64) -> (usize, usize) {
    let (found, _) = frame(rig, &recipe(1.0, normals), clip, time);
    let (engine, _) = frame(rig, &recipe(1.0, Normals::Engine), clip, time);
    let faces = faces(rig, &found, &engine);
    let against = |normal: Vec3, face: Vec3| normal.dot(face) < 0.0;
    let worse = |&v: &usize| against(found.normals[v], faces[v]) && engine.normals[v].dot(faces[v]) > 0.0;
    ((0..faces.len()).filter(worse).count(), faces.len())
}

#[test]
fn gain_zero_is_the_base_in_normals_to_the_bit() {
    let bits = |list: &[Vec3]| list.iter().flat_map(|v| v.to_array().map(f32::to_bits)).collect::<Vec<_>>();
    each(|name, rig, clip, time| {
        let (found, base) = frame(rig, &recipe(0.0, Normals::Auto), clip, time);
        let (plain, _) = frame(rig, &Recipe::default(), clip, time);
        assert!(bits(&found.positions) == bits(&plain.positions), "{name} at {time}");
        for other in [&base, &plain] {
            assert!(bits(&found.normals) == bits(&other.normals), "{name} at {time}");
            assert!(found.tangents == other.tangents, "{name} at {time}");
        }
    });
}

#[test]
#[allow(clippy::print_stderr, reason = "the figures are the point")]
fn a_small_gain_or_painted_value_hardly_turns_a_normal() {
    let mut largest = 0.0f32;
    let apart = |(found, base): &(DeformedMesh, DeformedMesh)| {
        let pairs = found.normals.iter().zip(&base.normals);
        pairs.map(|(a, b)| a.cross(*b).length().atan2(a.dot(*b))).fold(0.0, f32::max).to_degrees()
    };
    each(|name, rig, clip, time| {
        let by_gain = apart(&frame(rig, &recipe(1e-4, Normals::Auto), clip, time));
        let mut painted = recipe(1.0, Normals::Auto);
        painted.effects.iter_mut().for_each(|effect| effect.map = Some("faint".to_owned()));
        let mut stage = Stage::new(rig, &Recipe::default()).expect("plain");
        let faint = PointMap::from_fn(rig, |_| 1e-4);
        let _ = stage.repaint("faint", faint).and_then(|_| stage.retune(&painted)).expect("the recipe fits");
        let by_map = apart(&frame_of(&stage, clip, time));
        eprintln!("{name} at {time:.3}: {by_gain:.4}° by gain, {by_map:.4}° by map");
        largest = largest.max(by_gain).max(by_map);
    });
    assert!(largest <= 0.1, "{largest}°");
}

#[test]
#[allow(clippy::print_stderr, reason = "the figures are the point")]
fn normals_do_not_turn_against_faces() {
    let mut most = [0.0f64; 2];
    each(|name, rig, clip, time| {
        for (normals, most) in [Normals::Auto, Normals::Exact].into_iter().zip(&mut most) {
            let (count, all) = inward(rig, normals, clip, time);
            eprintln!("{name} at {time:.3}, {normals:?}: {count} of {all}");
            *most = most.max(count as f64 / all as f64);
        }
    });
    eprintln!("{most:?}");
    assert!(most.iter().all(|&share| share <= 0.0), "{most:?}");
}

/// Where it was seen first.
#[test]
#[allow(clippy::print_stderr, reason = "the figures are the point")]
fn a_dancing_robot_and_a_running_fox() {
    for (file, clip, time) in [("RobotExpressive.glb", "Dance", 0.9), ("Fox.glb", "Run", 0.3)] {
        let Some(path) = asset(file) else { return };
        let Asset { rig, clips, .. } = Asset::open(&path).expect("opens");
        let clip = clips.iter().find(|other| other.name == clip).expect("the clip");
        for normals in [Normals::Auto, Normals::Exact] {
            let (count, all) = inward(&rig, normals, clip, time);
            eprintln!("{file}, {normals:?}: {count} of {all}");
            assert_eq!(count, 0, "{file}, {normals:?}");
        }
    }
}
