//! Many characters in one call: one rig and one graph, a clip and a time for each.
//!
//! Characters are independent, so whole characters are what threads share out; rig, graph and clips are read by all, and
//! memory grows with the number of threads, not of characters. Each result is handed over while it is still in the cache.

use super::{Cpu, DeformedMesh, Frame, FrameIndependentGraph, Scratch, evaluate};
use crate::motion::{Kinematics, Motion};
use crate::pose::{Pose, WorldPose};
use crate::rig::Rig;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// One character of a crowd.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    /// Its clip, made with the graph's filtered signals.
    pub motion: &'a Motion,
    /// The time in it.
    pub time: f64,
}

/// Memory for intermediate results, as much as there are threads. Reuse it; its contents mean nothing.
#[derive(Debug, Default)]
pub struct CrowdScratch {
    idle: Mutex<Vec<Worker>>,
}

#[derive(Debug, Default)]
struct Worker {
    pose: Pose,
    world: WorldPose,
    kinematics: Kinematics,
    scratch: Scratch,
    out: DeformedMesh,
}

impl CrowdScratch {
    fn take(&self) -> Worker {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn put(&self, worker: Worker) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }
}

/// Evaluates every member and hands each to `each` with its index, on the thread that made it, in no particular order.
/// What a member looks like does not depend on the others, nor on the threads.
pub fn evaluate_crowd(
    graph: &FrameIndependentGraph,
    rig: &Rig,
    members: &[Member<'_>],
    cpu: &Cpu<'_>,
    scratch: &CrowdScratch,
    each: impl Fn(usize, &DeformedMesh) + Sync,
) {
    let (rest, skeleton) = (rig.rest_pose(), rig.skeleton());
    let cpu_of_one = Cpu { level: cpu.level, pool: None };
    let evaluate_one = |index: usize| {
        let Member { motion, time } = members[index];
        let mut worker = scratch.take();
        let Worker { pose, world, kinematics, scratch: memory, out } = &mut worker;
        pose.locals.clone_from(&rest.locals);
        pose.morph_weights.clone_from(&rest.morph_weights);
        motion.pose(time, pose);
        world.compose(skeleton, pose);
        motion.kinematics(time, world, skeleton, kinematics);
        evaluate(graph, &Frame { rig, pose, world, kinematics, time }, &cpu_of_one, memory, out);
        each(index, out);
        scratch.put(worker);
    };
    match cpu.pool {
        None => (0..members.len()).for_each(evaluate_one),
        Some(pool) => pool.install(|| (0..members.len()).into_par_iter().for_each(evaluate_one)),
    }
}
