//! Many characters in one call, and results in rows: the same bits as one frame by itself.

use crate::common::{Subject, bits, effect, recipe};
use sinew::recipe::CorrectionSpec;
use sinew::*;
use std::sync::Mutex;

#[test]
fn members_of_a_crowd_look_as_they_do_alone() {
    let subject = Subject::zoo("calf");
    let stage = subject.stage(&recipe(vec![effect("squash", &[]), effect("wobble", &[])]));
    let playing: Vec<_> =
        subject.clips.iter().map(|clip| stage.motion(clip, &MotionSettings::default()).unwrap()).collect();
    let members: Vec<_> =
        (0..40).map(|i| Member { playing: &playing[i % playing.len()], time: i as f64 * 0.13 }).collect();
    let mut workspace = Workspace::default();
    let alone: Vec<_> = members.iter().map(|m| bits(m.playing.frame(m.time, &mut workspace))).collect();
    let pools = [1, 2, 3].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    let scratch = CrowdScratch::default();
    for pool in [None].into_iter().chain(pools.iter().map(Some)) {
        let cpu = Cpu { pool, ..Cpu::serial() };
        let seen = Mutex::new(vec![0; members.len()]);
        evaluate_crowd(&members, &cpu, &scratch, |index, mesh| {
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
        let subject = Subject::zoo(character);
        let rig = &subject.rig;
        let (mut workspace, mut out) = (Workspace::default(), DeformedRows::default());
        for recipe in &recipes {
            let stage = subject.stage(recipe);
            let motion = subject.motion(0, &MotionSettings::default(), &stage);
            for (time, pool) in [(0.3, None), (0.7, Some(&pool)), (0.3, None)] {
                let cpu = Cpu { pool, ..Cpu::serial() };
                stage.resume(&motion).unwrap().at(time, &mut workspace).deform_rows(&cpu, &mut out);
                let vertices = subject.at(&stage, &motion, time, &Cpu::serial());
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
