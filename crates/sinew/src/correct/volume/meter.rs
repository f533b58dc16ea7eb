//! What has become of the volume of every segment at a frame, whatever moved it there.
//!
//! The change is the prism estimate that corrections by segment bring to zero; it is told beside the volume that the
//! segment has at rest under the scale of its bone, closed by fans where it meets its neighbours.
//!
//! Oracle: a limb blown up by a factor (tests); the sum over a character that bends little is its change of volume
//! (`segments`).

use super::segments::change;
use crate::correct::body::{Body, Surface};
use crate::correct::report::SegmentVolume;

/// The segments of one character at rest.
#[derive(Clone, Debug)]
pub(crate) struct VolumeMeter {
    volumes: Vec<f64>,
}

impl VolumeMeter {
    pub fn new(surface: &Surface) -> Self {
        Self { volumes: (0..surface.segments.len()).map(|segment| surface.segment_volume(segment).abs()).collect() }
    }

    pub fn measure(&self, surface: &Surface, body: &Body, out: &mut Vec<SegmentVolume>) {
        for (segment, (own, volume)) in surface.segments.iter().zip(&self.volumes).enumerate() {
            let scale = body.from_bind[own.entry as usize].matrix3.determinant().abs();
            let change = if body.still[segment] { 0.0 } else { change(surface, body, segment, &body.points) };
            out.push(SegmentVolume { character: surface.character, bone: own.bone, rest: volume * scale, change });
        }
    }
}
