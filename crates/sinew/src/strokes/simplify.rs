//! The samples of a stroke that matter: Ramer (1972), Douglas and Peucker (1973).
//!
//! The sample farthest from the *segment* between two kept ones is kept if it is farther than the tolerance. (The
//! thesis' distance to the infinite line loses the far end of a stroke that turns back on itself.) EX takes 8 of 1080
//! lines of a window, or 1 % of the side of the volume that a 3D stroke is drawn in.
//!
//! Oracle: every dropped sample lies within the tolerance of the chord that replaced it; tolerance 0 keeps every corner.

use glam::DVec3;

/// Where the device was, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Position, in the stroke's space.
    pub position: DVec3,
    /// Time in seconds, on the device's clock.
    pub time_secs: f64,
}

/// Keeps the first and the last sample and those that lie farther than `tolerance` from the polyline without them.
pub fn simplify(samples: &[Sample], tolerance: f64) -> Vec<Sample> {
    let mut kept = vec![false; samples.len()];
    if let Some(last) = samples.len().checked_sub(1) {
        kept[0] = true;
        kept[last] = true;
        // A stack instead of recursion: the depth is that of the input.
        let mut spans = vec![(0, last)];
        while let Some((first, last)) = spans.pop() {
            let (a, b) = (samples[first].position, samples[last].position);
            let far = (first + 1..last).map(|i| (i, distance_to_segment(samples[i].position, a, b))).fold(
                None,
                |far: Option<(usize, f64)>, (i, d)| if far.is_none_or(|(_, f)| d > f) { Some((i, d)) } else { far },
            );
            if let Some((i, distance)) = far
                && distance > tolerance
            {
                kept[i] = true;
                spans.extend([(first, i), (i, last)]);
            }
        }
    }
    samples.iter().zip(kept).filter(|(_, kept)| *kept).map(|(sample, _)| *sample).collect()
}

/// Parameter in [0, 1] of the point of a segment that is nearest to `p`; 0 on a segment without length.
pub(crate) fn nearest_on_segment(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    let ab = b - a;
    let along = ((p - a).dot(ab) / ab.length_squared()).clamp(0.0, 1.0);
    if along.is_nan() { 0.0 } else { along }
}

fn distance_to_segment(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    p.distance(a.lerp(b, nearest_on_segment(p, a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<Sample> {
        let sample = |(i, (x, y)): (usize, (f64, f64))| Sample { position: DVec3::new(x, y, 0.0), time_secs: i as f64 };
        points.into_iter().enumerate().map(sample).collect()
    }

    #[test]
    fn what_is_dropped_lies_within_the_tolerance() {
        let wave = samples((0..500).map(|i| (f64::from(i) * 0.02, (f64::from(i) * 0.05).sin())));
        for tolerance in [0.3, 0.03, 0.003] {
            let kept = simplify(&wave, tolerance);
            assert!(kept.len() < wave.len() / 2);
            for sample in &wave {
                let span =
                    kept.windows(2).find(|w| w[0].time_secs <= sample.time_secs && sample.time_secs <= w[1].time_secs);
                let span = span.expect("times are kept in order");
                let away = distance_to_segment(sample.position, span[0].position, span[1].position);
                assert!(away <= tolerance, "{away} > {tolerance}");
            }
        }
    }

    #[test]
    fn a_stroke_that_turns_back_keeps_its_far_end() {
        let there_and_back = samples([(0.0, 0.0), (1.0, 0.0), (5.0, 0.0), (2.0, 0.0)]);
        let kept: Vec<f64> = simplify(&there_and_back, 0.1).iter().map(|s| s.time_secs).collect();
        assert_eq!(kept, [0.0, 2.0, 3.0]);
    }

    #[test]
    fn any_number_of_samples_and_duplicates_are_fine() {
        assert!(simplify(&[], 1.0).is_empty());
        assert_eq!(simplify(&samples([(1.0, 1.0)]), 1.0).len(), 1);
        assert_eq!(simplify(&samples([(1.0, 1.0); 5]), 0.0).len(), 2);
        let corners = samples([(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]);
        assert_eq!(simplify(&corners, 0.0), corners);
    }
}
