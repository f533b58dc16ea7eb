//! How far apart two characters move: the largest distance between the same vertex of both, as plain linear blend
//! skinning with morph targets plays them, over evenly spaced moments of the clips they share.

use crate::Asset;
use sinew::rig::Part;
use sinew::{Clip, Cpu, DeformedMesh, Looping, MotionSettings, Playing, Recipe, Rig, Stage, Workspace};

/// Moments at which a clip is looked at.
const MOMENTS: u32 = 61;

/// The largest distance in one clip.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipDistance {
    /// Name of the clip, which may be empty; `None` for the default pose.
    pub clip: Option<String>,
    /// In scene units.
    pub distance: f64,
    /// As a share of the character's size.
    pub share: f64,
    /// When, in seconds.
    pub time: f64,
    /// The mesh node.
    pub node: usize,
    /// The primitive of its mesh.
    pub primitive: usize,
    /// The vertex.
    pub vertex: usize,
}

/// A clip as both play it: from its first key to its last.
fn played<'s>(stage: &'s Stage, clip: &Clip) -> Option<Playing<'s>> {
    stage.motion(clip, &MotionSettings { looping: Looping::No, ..MotionSettings::default() }).ok()
}

/// The largest distance in every clip both have (by name, or by number where names repeat), and in the default pose.
/// Only meshes on the same node with the same numbers of vertices are compared; none where nothing can be.
pub fn in_motion(first: &Asset, second: &Asset) -> Vec<ClipDistance> {
    let (rig, other_rig) = (&first.rig, &second.rig);
    let shared: Vec<(&Part, &Part)> = (rig.parts().iter())
        .filter_map(|part| Some((part, other_rig.parts().iter().find(|other| is_same(part, other))?)))
        .collect();
    let base = Recipe::default();
    let (Ok(stage), Ok(other_stage)) = (Stage::new(rig, &base), Stage::new(other_rig, &base)) else {
        return Vec::new();
    };
    if shared.is_empty() {
        return Vec::new();
    }
    let (mut a, mut b) = (Workspace::default(), Workspace::default());
    let mut distances = Vec::new();
    stage.resting(&mut a).deform(&Cpu::serial());
    other_stage.resting(&mut b).deform(&Cpu::serial());
    distances.extend(farthest(rig, [a.mesh(), b.mesh()], &shared, None, 0.0));
    for (number, clip) in first.clips.iter().enumerate() {
        let Some(other) = counterpart(clip, number, &second.clips) else { continue };
        let (Some(playing), Some(other_playing)) = (played(&stage, clip), played(&other_stage, other)) else {
            continue;
        };
        let spans = [clip.span(), other.span()].into_iter().flatten();
        let Some((start, end)) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { continue };
        let moments = (0..MOMENTS).filter_map(|moment| {
            let time = start + (end - start) * f64::from(moment) / f64::from(MOMENTS - 1);
            let meshes = [playing.frame(time, &mut a), other_playing.frame(time, &mut b)];
            farthest(rig, meshes, &shared, Some(&clip.name), time)
        });
        distances.extend(moments.reduce(|a, b| if b.distance > a.distance { b } else { a }));
    }
    distances
}

fn is_same(part: &Part, other: &Part) -> bool {
    let vertices = |part: &Part| part.primitives.iter().map(|p| p.vertices.len()).collect::<Vec<_>>();
    part.node == other.node && vertices(part) == vertices(other)
}

fn counterpart<'c>(clip: &Clip, number: usize, clips: &'c [Clip]) -> Option<&'c Clip> {
    let same = |other: &&Clip| other.name == clip.name;
    clips.get(number).filter(same).or_else(|| clips.iter().find(same))
}

fn farthest(
    rig: &Rig,
    [a, b]: [&DeformedMesh; 2],
    shared: &[(&Part, &Part)],
    clip: Option<&str>,
    time: f64,
) -> Option<ClipDistance> {
    let mut worst: Option<ClipDistance> = None;
    for (part, other) in shared {
        let size = rig.characters().get(part.character).map_or(1.0, |character| character.size);
        for (primitive, (x, y)) in part.primitives.iter().zip(&other.primitives).enumerate() {
            for (vertex, (x, y)) in x.vertices.clone().zip(y.vertices.clone()).enumerate() {
                let (p, q) = (a.world_position(part.character, x), b.world_position(other.character, y));
                let distance = p.distance(q);
                if distance.is_finite() && worst.as_ref().is_none_or(|worst| distance > worst.distance) {
                    let (clip, node) = (clip.map(str::to_owned), part.node);
                    worst =
                        Some(ClipDistance { clip, distance, share: distance / size, time, node, primitive, vertex });
                }
            }
        }
    }
    worst
}
