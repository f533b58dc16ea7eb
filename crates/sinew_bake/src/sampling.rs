//! When clips are looked at: at samples, evenly spaced from the first key to the last, both ends included, and half-way
//! between them, where errors are measured as well.

use crate::BakeFailure;
use sinew::{LoopVerdict, MotionReport};

/// Samples over all clips: beyond it, a number in the file is more likely wrong than meant.
const MOST_SAMPLES: usize = 1 << 20;

/// The moments of one clip. Times are exact in f32, as the file will hold them, and ascend.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// Samples at even places, midpoints at odd ones.
    pub times: Vec<f64>,
    /// Whether the last sample shows what the first does.
    pub closes: bool,
}

impl Grid {
    /// Samples a clip at `fps` or slightly more, so that both ends are met.
    pub fn new(report: &MotionReport, fps: f64, clip: &str) -> Result<Self, BakeFailure> {
        let (start, end) = (report.start, report.last_key);
        let wanted = (end - start) * fps;
        if wanted.is_nan() || wanted > MOST_SAMPLES as f64 {
            return Err(BakeFailure::TooManyFrames { clip: clip.to_owned(), seconds: end - start, fps });
        }
        // A clip of 2 s keyed in f32 is 1.9999999 s long.
        let intervals = (wanted - 1e-3).ceil().max(if end > start { 1.0 } else { 0.0 }) as usize;
        let at = |place: usize| match place {
            0 => start,
            place if place == 2 * intervals => end,
            place => f64::from((start + (end - start) * place as f64 / (2 * intervals) as f64) as f32),
        };
        let mut times: Vec<f64> = vec![start];
        for interval in 0..intervals {
            let (middle, next) = (at(2 * interval + 1), at(2 * interval + 2));
            // Late in a long recording, f32 may not tell the moments apart.
            if times.last().is_some_and(|&last| last < middle) && middle < next {
                times.extend([middle, next]);
            }
        }
        let closes = match report.verdict {
            LoopVerdict::Closed { .. } => true,
            LoopVerdict::Travelling { spacing, .. } => spacing == 0.0,
            _ => false,
        };
        Ok(Self { closes: closes && times.len() > 1, times })
    }

    /// The place that shows what `place` shows: a loop shows at its end what it shows at its start, bit for bit.
    pub fn shown(&self, place: usize) -> usize {
        if self.closes && place + 1 == self.times.len() { 0 } else { place }
    }

    /// The place of `time`, if it is a sample or a midpoint.
    pub fn place(&self, time: f64) -> Option<usize> {
        self.times.binary_search_by(|other| other.total_cmp(&time)).ok()
    }

    /// Whether there is a sample at `time`.
    pub fn is_sample(&self, time: f64) -> bool {
        self.place(time).is_some_and(|place| place.is_multiple_of(2))
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.times.len().div_ceil(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(start: f64, last_key: f64) -> MotionReport {
        MotionReport {
            start,
            last_key,
            period: None,
            verdict: LoopVerdict::Closed { residual: None },
            smoothing_box: 0.0,
            key_spacing: None,
            moving_bones: 1,
        }
    }

    #[test]
    fn both_ends_are_samples_and_times_are_exact_in_f32() {
        for (start, end, samples) in
            [(0.0, 2.0, 121), (f64::from(1.0 / 24.0f32), 2.0, 119), (0.5, 0.5, 1), (0.0, 0.001, 2)]
        {
            let grid = Grid::new(&report(start, end), 60.0, "clip").unwrap();
            assert_eq!(grid.samples(), samples, "{start} {end}");
            assert_eq!(grid.times.len(), 2 * samples - 1);
            assert_eq!((grid.times[0], *grid.times.last().unwrap()), (start, end));
            assert!(grid.times.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(grid.times.iter().skip(1).rev().skip(1).all(|&time| f64::from(time as f32) == time));
            assert_eq!(grid.closes, samples > 1);
        }
    }

    #[test]
    fn absurd_lengths_are_refused_before_anything_is_allocated() {
        assert!(matches!(Grid::new(&report(0.0, 1e30), 60.0, "x"), Err(BakeFailure::TooManyFrames { .. })));
        let late = Grid::new(&report(3e7, 3e7 + 8.0), 60.0, "x").unwrap();
        assert!(late.times.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(*late.times.last().unwrap(), 3e7 + 8.0);
    }
}
