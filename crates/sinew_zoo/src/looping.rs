//! Clips sampled from periodic functions.

use glam::{DQuat, DVec3};
use sinew::clip::Track;
use sinew::raw::RawBone;
use sinew::{Clip, Curve, Interpolation};

/// Keys per second.
pub(crate) const RATE: f64 = 30.0;

/// A loop under construction: LINEAR keys, 30 per second, the last equal to the first.
pub(crate) struct Loop<'a> {
    bones: &'a [RawBone],
    frames: u32,
    clip: Clip,
}

impl<'a> Loop<'a> {
    /// A loop of `frames` thirtieths of a second over `bones`.
    pub fn new(name: &str, frames: u32, bones: &'a [RawBone]) -> Self {
        Self { bones, frames, clip: Clip { name: name.to_owned(), tracks: Vec::new() } }
    }

    /// Rotates bone `node` by `rotation(phase)`, phase ∈ [0, 1), after its rest rotation. The function is periodic
    /// and continuous as a quaternion: one full turn is not, two are.
    pub fn turn(&mut self, node: usize, rotation: impl Fn(f64) -> DQuat) {
        let rest = self.bones[node].local.to_trs().rotation;
        let values = self.sample(|phase| (rest * rotation(phase)).normalize().as_quat());
        self.track(node).rotation = Some(self.curve(values));
    }

    /// Moves bone `node` by `offset(phase)` from its rest translation.
    pub fn shift(&mut self, node: usize, offset: impl Fn(f64) -> DVec3) {
        let rest = self.bones[node].local.to_trs().translation;
        let values = self.sample(|phase| (rest + offset(phase)).as_vec3());
        self.track(node).translation = Some(self.curve(values));
    }

    /// The finished clip.
    pub fn finish(self) -> Clip {
        self.clip
    }

    fn sample<T: Copy>(&self, value: impl Fn(f64) -> T) -> Vec<T> {
        // The closing key is the first one again, not the function at phase 1, which rounds differently.
        (0..=self.frames).map(|frame| value(f64::from(frame % self.frames) / f64::from(self.frames))).collect()
    }

    fn curve<T: sinew::clip::CurveValue>(&self, values: Vec<T>) -> Curve<T> {
        let times = (0..=self.frames).map(|frame| f64::from(frame) / RATE).collect();
        Curve::new(Interpolation::Linear, times, values).expect("finite values at increasing times")
    }

    fn track(&mut self, node: usize) -> &mut Track {
        let at = self.clip.tracks.iter().position(|track| track.node == node).unwrap_or_else(|| {
            self.clip.tracks.push(Track { node, ..Track::default() });
            self.clip.tracks.len() - 1
        });
        &mut self.clip.tracks[at]
    }
}

/// Nodes that any of `clips` animates, each once, in order.
pub(crate) fn animated_nodes(clips: &[Clip]) -> Vec<usize> {
    let mut nodes: Vec<usize> = clips.iter().flat_map(|clip| clip.tracks.iter().map(|track| track.node)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
