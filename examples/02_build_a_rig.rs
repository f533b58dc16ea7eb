//! Build a rig in code: a ribbon of ten quads on two bones, bent by hand.
//!
//! `cargo run --release --example 02_build_a_rig`
#![allow(clippy::print_stdout)]

use glam::{DAffine3, DQuat, DVec3, Vec3};
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawSkin};
use sinew::{Cpu, LocalTransform, RawRig, Recipe, Rig, Stage, Trs, Workspace};
use std::sync::Arc;

/// A ribbon from y = 0 to 2; the upper bone takes over around y = 1.
fn ribbon() -> RawPrimitive {
    let mut ribbon = RawPrimitive { color: [1.0; 4], ..RawPrimitive::default() };
    ribbon.influences = RawInfluences { per_vertex: 2, ..RawInfluences::default() };
    for step in 0..=10u32 {
        let y = 0.2 * step as f32;
        let upper = ((y - 0.6) / 0.8).clamp(0.0, 1.0);
        for x in [-0.2, 0.2] {
            ribbon.positions.push(Vec3::new(x, y, 0.0));
            ribbon.influences.joints.extend([0, 1]);
            ribbon.influences.weights.extend([1.0 - upper, upper]);
        }
        if step < 10 {
            let [a, b, c, d] = [2 * step, 2 * step + 1, 2 * step + 2, 2 * step + 3];
            ribbon.triangles.extend([[a, b, d], [a, d, c]]);
        }
    }
    ribbon
}

fn raw_rig() -> RawRig {
    let bone = |name: &str, parent, height: f64| RawBone {
        name: name.to_owned(),
        parent,
        local: LocalTransform::Trs(Trs::from_translation(DVec3::Y * height)),
    };
    let joint =
        |bone, height: f64| RawJoint { bone, bone_from_rest: DAffine3::from_translation(DVec3::NEG_Y * height) };
    RawRig {
        bones: vec![bone("lower", None, 0.0), bone("upper", Some(0), 1.0), bone("mesh", None, 0.0)],
        skins: vec![RawSkin { name: "ribbon".to_owned(), joints: vec![joint(0, 0.0), joint(1, 1.0)] }],
        meshes: vec![RawMesh {
            name: "ribbon".to_owned(),
            node: 2,
            binding: RawBinding::Skin(0),
            primitives: vec![ribbon()],
            morph_weights: Vec::new(),
        }],
        animated: Vec::new(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rig, warnings) = Rig::build(&raw_rig())?;
    assert!(warnings.is_empty());
    let stage = Stage::new(&Arc::new(rig), &Recipe::default())?;
    let rig = stage.rig();

    // Bend the upper bone by a right angle.
    let mut pose = rig.rest_pose();
    let upper = rig.skeleton().bone_of_node(1).ok_or("there is a second node")?;
    let bend = Trs { rotation: DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2), ..Trs::from_translation(DVec3::Y) };
    pose.locals[upper.index()] = LocalTransform::Trs(bend);

    let mut workspace = Workspace::default();
    stage.posed(&pose, &stage.at_rest(), 0.0, &mut workspace)?.deform(&Cpu::serial());
    for pair in workspace.mesh().positions.chunks(2) {
        println!("{:.3?}  {:.3?}", pair[0].to_array(), pair[1].to_array());
    }
    Ok(())
}
