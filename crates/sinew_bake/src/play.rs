//! A clip frame by frame, for point caches: no targets, every vertex where it belongs.

use crate::pulled::{Wanted, each_frame};
use crate::{BakeClip, BakeFailure, Subject};
use sinew::{DeformedMesh, Motion};

/// Frames held at a time.
const FRAMES: usize = 8;
/// More frames than any cache holds.
const MOST_FRAMES: f64 = 1e6;

/// Moments of a clip, `fps` a second from its first key to its last, which is met even where it lies between two.
pub fn frame_times(subject: Subject<'_>, clip: &BakeClip<'_>, fps: f64) -> Result<Vec<f64>, BakeFailure> {
    let motion = Motion::new(subject.rig.puppet(), clip.clip, &clip.settings, &[])?;
    let report = motion.report();
    let length = report.last_key - report.start;
    let frames = (length * fps - 1e-3).ceil().max(0.0);
    if frames.is_nan() || frames > MOST_FRAMES {
        return Err(BakeFailure::TooManyFrames { clip: clip.clip.name.clone(), seconds: length, fps });
    }
    Ok((0..=frames as usize).map(|frame| (report.start + frame as f64 / fps).min(report.last_key)).collect())
}

/// Evaluates a clip at the given times on all cores and hands the frames over in order; `see` may end it with an error.
pub fn play<E: From<BakeFailure>>(
    subject: Subject<'_>,
    clip: &BakeClip<'_>,
    times: &[f64],
    mut see: impl FnMut(usize, &DeformedMesh) -> Result<(), E>,
) -> Result<(), E> {
    let stage = subject.stage(clip.recipe.unwrap_or(subject.recipe)).map_err(BakeFailure::from)?;
    let playing = stage.motion(clip.clip, &clip.settings).map_err(BakeFailure::from)?;
    for (block, times) in times.chunks(FRAMES).enumerate() {
        let meshes = each_frame(
            &playing,
            times,
            |_| Wanted::Directions,
            |place, workspace| {
                let mesh = workspace.take_mesh();
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
            },
        )?;
        for (place, mesh) in meshes.iter().enumerate() {
            see(block * FRAMES + place, mesh)?;
        }
    }
    Ok(())
}
