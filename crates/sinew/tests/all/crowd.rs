//! Many characters in one call, and results in rows: the same bits as one frame by itself.

use crate::common::{Stage, bits, effect, recipe};
use sinew::recipe::CorrectionSpec;
use sinew::*;
use std::sync::Mutex;

#[test]
fn members_of_a_crowd_look_as_they_do_alone() {
    let stage = Stage::zoo("calf");
    let graph = stage.graph(&recipe(vec![effect("squash", &[]), effect("wobble", &[])]));
    let motions: Vec<_> =
        (0..stage.clips.len()).map(|clip| stage.motion(clip, &MotionSettings::default(), &graph)).collect();
    let members: Vec<_> =
        (0..40).map(|i| Member { motion: &motions[i % motions.len()], time: i as f64 * 0.13 }).collect();
    let alone: Vec<_> = members.iter().map(|m| bits(&stage.at(&graph, m.motion, m.time, &Cpu::serial()))).collect();
    let pools = [1, 2, 3].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    let scratch = CrowdScratch::default();
    for pool in [None].into_iter().chain(pools.iter().map(Some)) {
        let cpu = Cpu { pool, ..Cpu::serial() };
        let seen = Mutex::new(vec![0; members.len()]);
        evaluate_crowd(&graph, &stage.rig, &members, &cpu, &scratch, |index, mesh| {
            // What is done with a member may use the same threads.
            let (found, _) = rayon::join(|| bits(mesh), || ());
            assert_eq!(found, alone[index], "member {index}");
            seen.lock().unwrap()[index] += 1;
        });
        assert!(seen.into_inner().unwrap().iter().all(|&times| times == 1));
    }
}

#[test]
fn rows_hold_what_vertices_hold() {
    let volume = CorrectionSpec::new("volume").unwrap();
    let recipes = [
        Recipe::default(),
        recipe(vec![effect("squash", &[]), effect("floppy", &[])]),
        Recipe { corrections: vec![volume], ..Recipe::default() },
    ];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for character in ["tube:vertices=1500,bones=9", "dancer", "bird"] {
        let stage = Stage::zoo(character);
        let rig = &stage.rig;
        let (mut scratch, mut out) = (Scratch::default(), DeformedRows::default());
        for recipe in &recipes {
            let graph = stage.graph(recipe);
            let motion = stage.motion(0, &MotionSettings::default(), &graph);
            for (time, pool) in [(0.3, None), (0.7, Some(&pool)), (0.3, None)] {
                let cpu = Cpu { pool, ..Cpu::serial() };
                let mut pose = rig.rest_pose();
                motion.pose(time, &mut pose);
                let mut world = WorldPose::default();
                world.compose(rig.skeleton(), &pose);
                let mut kinematics = Kinematics::default();
                motion.kinematics(time, &world, rig.skeleton(), &mut kinematics);
                let frame = Frame { rig, pose: &pose, world: &world, kinematics: &kinematics, time };
                evaluate_rows(&graph, &frame, &cpu, &mut scratch, &mut out);
                let vertices = stage.at(&graph, &motion, time, &Cpu::serial());
                assert_eq!(out.origins, vertices.origins);
                for vertex in 0..rig.vertex_count() {
                    let (point, normal) = (rig.point_of_vertex()[vertex], rig.layer_slot_of_vertex()[vertex]);
                    assert_eq!(out.points.get(point as usize), vertices.positions[vertex]);
                    assert_eq!(out.normals.get(normal as usize), vertices.normals[vertex]);
                }
            }
        }
    }
}
