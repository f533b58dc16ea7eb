//! A clip frame by frame, for point caches: no targets, every vertex where it belongs.

use crate::stage::{Stage, Wanted, each_frame};
use crate::{BakeClip, BakeFailure, Subject};
use sinew::{DeformedMesh, Motion};

/// Frames held at a time.
const FRAMES: usize = 8;
/// More frames than any cache holds.
const MOST_FRAMES: f64 = 1e6;

/// Moments of a clip, `fps` a second from its first key to its last, which is met even where it lies between two.
pub fn frame_times(subject: Subject<'_>, clip: &BakeClip<'_>, fps: f64) -> Result<Vec<f64>, BakeFailure> {
    let report = motion(subject, clip, &[])?.report().clone();
    let length = report.last_key - report.start;
    let frames = (length * fps - 1e-3).ceil().max(0.0);
    if frames.is_nan() || frames > MOST_FRAMES {
        return Err(BakeFailure::TooManyFrames { clip: clip.clip.name.clone(), seconds: length, fps });
    }
    Ok((0..=frames as usize).map(|frame| (report.start + frame as f64 / fps).min(report.last_key)).collect())
}

fn motion(
    subject: Subject<'_>,
    clip: &BakeClip<'_>,
    filtered: &[sinew::FilteredSignal],
) -> Result<Motion, BakeFailure> {
    let rig = subject.rig;
    let (skeleton, layout) = (rig.skeleton(), rig.morph_layout());
    Ok(Motion::new(skeleton, rig.bone_sizes(), &layout, clip.clip, &clip.settings, filtered)?)
}

/// Evaluates a clip at the given times on all cores and hands the frames over in order; `see` may end it with an error.
pub fn play<E: From<BakeFailure>>(
    subject: Subject<'_>,
    clip: &BakeClip<'_>,
    times: &[f64],
    mut see: impl FnMut(usize, &DeformedMesh) -> Result<(), E>,
) -> Result<(), E> {
    let stage = Stage::new(subject).map_err(BakeFailure::from)?;
    let motion = motion(subject, clip, stage.filtered_signals())?;
    for (block, times) in times.chunks(FRAMES).enumerate() {
        let meshes = each_frame(&stage, &motion, times, Wanted::Directions, |place, workspace| {
            let mesh = std::mem::take(&mut workspace.deformed);
            if let Some(vertex) = mesh.positions.iter().position(|position| !position.is_finite()) {
                let holds = |part: &&sinew::rig::Part| part.primitives.iter().any(|p| p.vertices.contains(&vertex));
                let part = subject.rig.parts().iter().find(holds);
                return Err(BakeFailure::NotFinite {
                    clip: clip.clip.name.clone(),
                    time: times[place],
                    mesh: part.map_or(String::new(), |part| part.name.clone()),
                });
            }
            Ok(mesh)
        })?;
        for (place, mesh) in meshes.iter().enumerate() {
            see(block * FRAMES + place, mesh)?;
        }
    }
    Ok(())
}
