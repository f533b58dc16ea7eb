//! Springs with history, for what is driven live: the skin swings behind its bones and comes to rest where
//! [`super::model`] has its equilibrium.
//!
//! Results depend on what was before, so this is no part of a graph: the caller steps it after evaluating a frame, and
//! resets it on a cut. Any frame rate is stable and comes to the same rest.
//!
//! Oracle: a character that stands still ends in the shape of the correction `springs`.

use super::model::{BoneSpring, SpringScratch, SpringState, Stiffness, Swing};
use super::net::{Net, NetFrame};
use crate::attach::hanging::HangPlan;
use crate::attach::skin::AttachedSkin;
use crate::graph::DeformedMesh;
use crate::pose::WorldPose;
use crate::rig::Rig;
use glam::DVec3;

/// The swinging skin of one character.
#[derive(Clone, Debug)]
pub struct LiveSprings {
    skin: AttachedSkin,
    net: Net,
    frame: NetFrame,
    swing: Swing,
    state: SpringState,
    scratch: SpringScratch,
}

impl LiveSprings {
    /// `None` for a character without faces or bones.
    pub fn new(rig: &Rig, character: usize, stiffness: &Stiffness, swing: Swing) -> Option<Self> {
        let skin = AttachedSkin::new(rig, character)?;
        let mut net = Net::planned(rig, skin.surface(), &HangPlan::default())?;
        net.stiffen(&[], stiffness, BoneSpring::default());
        let (frame, state, scratch) = (NetFrame::default(), SpringState::default(), SpringScratch::default());
        Some(Self { skin, net, frame, swing, state, scratch })
    }

    /// Forgets what was: the next frame starts at its skin, at rest.
    pub fn reset(&mut self) {
        self.state = SpringState::default();
    }

    /// `dt_secs` after the last frame: moves the positions of an evaluated frame to where the skin swings. Normals are
    /// left as they are.
    pub fn step(&mut self, rig: &Rig, world: &WorldPose, dt_secs: f64, mesh: &mut DeformedMesh) {
        if !self.net.pose(&self.skin.palette_from_bind(rig, world), self.skin.bind(), &mut self.frame) {
            return;
        }
        let scale = self.frame.hung.scale;
        let skinned: Vec<DVec3> = self.skin.points(rig, mesh).iter().map(|p| *p / scale).collect();
        let frame = self.frame.with(&[]);
        self.net.springs.swing(&frame, &skinned, (&self.swing, dt_secs), &mut self.state, &mut self.scratch);
        let nodes: Vec<DVec3> = self.state.points().iter().map(|p| *p * scale).collect();
        if nodes.iter().all(|p| p.is_finite()) {
            self.skin.put(rig, &nodes, mesh);
        }
    }
}
