//! Many characters in one call, each with its own clip and time.
//!
//! Characters are independent, so whole characters are what threads share out; stages and clips are read by all, and
//! memory grows with the number of threads, not of characters. Each result is handed over while it is still in the cache.

use crate::graph::{Cpu, DeformedMesh};
use crate::stage::{Playing, Workspace};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// One character of a crowd.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Its clip, on its stage.
    pub playing: &'a Playing<'a>,
    /// The time in it.
    pub time: f64,
}

/// Memory for intermediate results, as much as there are threads. Reuse it; its contents mean nothing.
#[derive(Debug, Default)]
pub struct CrowdScratch {
    idle: Mutex<Vec<Workspace>>,
}

impl CrowdScratch {
    fn take(&self) -> Workspace {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn put(&self, workspace: Workspace) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
    }
}

/// Evaluates every member and hands each to `each` with its index, on the thread that made it, in no particular order.
/// What a member looks like does not depend on the others, nor on the threads.
pub fn evaluate_crowd(
    members: &[Member<'_>],
    cpu: &Cpu<'_>,
    scratch: &CrowdScratch,
    each: impl Fn(usize, &DeformedMesh) + Sync,
) {
    let cpu_of_one = Cpu { level: cpu.level, pool: None };
    let evaluate_one = |(index, member): (usize, &Member<'_>)| {
        let mut workspace = scratch.take();
        member.playing.at(member.time, &mut workspace).deform(&cpu_of_one);
        each(index, workspace.mesh());
        scratch.put(workspace);
    };
    match cpu.pool {
        None => members.iter().enumerate().for_each(evaluate_one),
        Some(pool) => pool.install(|| members.par_iter().enumerate().for_each(evaluate_one)),
    }
}
