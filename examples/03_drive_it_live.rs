//! Drive a character live: poses arrive one by one, from a game or a controller, and no clip is known ahead.
//!
//! `cargo run --release --example 03_drive_it_live`
#![allow(clippy::print_stdout)]

use glam::{DQuat, DVec3};
use sinew::recipe::EffectSpec;
use sinew::{Cpu, LocalTransform, Recipe, Rig, Stage, Workspace};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rig = Arc::new(Rig::build(&sinew_zoo::build("tube:bones=3")?.raw)?.0);
    let mut floppy = EffectSpec::new("floppy").ok_or("this build has no floppy")?;
    // A time filter, so that the skin is still on its way when the bone has stopped.
    floppy.values.set("rotation_filter", 0.2).map_err(|fault| format!("rotation_filter: {fault:?}"))?;
    let stage = Stage::new(&rig, &Recipe { effects: vec![floppy], ..Recipe::default() })?;

    // The history is the caller's: keep one per character, clone it to look ahead, reset it after a teleport.
    let mut live = stage.live();
    let (mut pose, mut workspace) = (rig.rest_pose(), Workspace::default());

    let root = rig.skeleton().bone_of_node(0).ok_or("a tube has a root")?;
    let mut local = pose.locals[root.index()].to_trs();
    let tip = (0..rig.vertex_count()).max_by(|&a, &b| height(&rig, a).total_cmp(&height(&rig, b))).unwrap_or(0);

    let dt = 1.0 / 60.0;
    for step in 0..48 {
        // Swing for half a second, then stand still.
        let time = (f64::from(step) * dt).min(0.5);
        local.rotation = DQuat::from_axis_angle(DVec3::Z, 0.5 * (std::f64::consts::TAU * time).sin());
        pose.locals[root.index()] = LocalTransform::Trs(local);
        live.at(&pose, dt, time, &mut workspace)?.deform(&Cpu::serial());
        if step % 4 == 0 {
            let p = workspace.mesh().world_position(0, tip);
            println!("{:5.3} s: tip at ({:+.3}, {:+.3})", f64::from(step) * dt, p.x, p.y);
        }
    }
    Ok(())
}

/// Rest height of a vertex.
fn height(rig: &Rig, vertex: usize) -> f32 {
    rig.rest().get(rig.point_of_vertex()[vertex] as usize).y
}
