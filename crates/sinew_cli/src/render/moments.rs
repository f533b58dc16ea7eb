//! Which moments of a clip are drawn.

use super::scenery::Span;
use sinew_render::encode::FrameRate;

/// Times of a film, and the rate at which it plays in the clip's own time.
#[derive(Debug, PartialEq)]
pub struct Film {
    pub times: Vec<f64>,
    pub rate: FrameRate,
    /// Whether the clip is played to its end.
    pub whole: bool,
}

impl Span {
    /// `count` moments spread evenly: over a whole loop without its end, over a clip from its first to its last.
    pub fn spread(&self, count: usize) -> Vec<f64> {
        let steps = if self.loops { count } else { count.saturating_sub(1) };
        if steps == 0 || self.length <= 0.0 {
            return vec![self.start];
        }
        (0..count).map(|i| self.start + self.length * i as f64 / steps as f64).collect()
    }

    /// At most `limit` frames at about `rate`: those of a loop divide it evenly, or it would stumble at the seam.
    pub fn film(&self, rate: FrameRate, limit: usize) -> Film {
        let fps = rate.frames_per_second();
        let closes = self.loops && self.length > 0.0;
        // The last key counts where rounding puts it a hair beyond the last step.
        let count =
            if closes { (self.length * fps).round().max(1.0) } else { (self.length * fps + 1e-6).floor() + 1.0 };
        // A loop of one frame may have no rate of its own.
        let rate = FrameRate::new(count / self.length).filter(|_| closes).unwrap_or(rate);
        let time = |i: usize| match closes {
            true => self.start + self.length * i as f64 / count,
            false => self.start + i as f64 / fps,
        };
        Film { times: (0..limit.min(count as usize)).map(time).collect(), rate, whole: count as usize <= limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(fps: f64) -> FrameRate {
        FrameRate::new(fps).unwrap()
    }

    #[test]
    fn a_loop_is_divided_evenly_and_plays_as_long_as_the_clip() {
        let span = Span { start: 0.5, length: 0.71, loops: true };
        let film = span.film(rate(30.0), usize::MAX);
        assert_eq!(film.times.len(), 21);
        assert!(film.whole && !span.film(rate(30.0), 20).whole);
        assert!((film.times.len() as f64 / film.rate.frames_per_second() - span.length).abs() < 1e-12);
        let step = film.times[1] - film.times[0];
        assert!((film.times[20] + step - (span.start + span.length)).abs() < 1e-12);
        assert_eq!(span.film(rate(30.0), 5).times[..], film.times[..5]);
    }

    #[test]
    fn a_clip_has_its_first_and_its_last_key() {
        let span = Span { start: 1.0, length: 2.0, loops: false };
        let film = span.film(rate(24.0), usize::MAX);
        assert_eq!((film.times.len(), film.times[0], film.times[48]), (49, 1.0, 3.0));
        assert_eq!(span.spread(3), [1.0, 2.0, 3.0]);
        assert_eq!(span.spread(1), [1.0]);
    }

    #[test]
    fn an_endless_clip_costs_no_more_than_its_limit() {
        for loops in [false, true] {
            let film = Span { start: 0.0, length: 1e300, loops }.film(rate(30.0), 7);
            assert_eq!((film.times.len(), film.whole), (7, false));
        }
    }

    #[test]
    fn a_pose_is_one_moment() {
        for loops in [false, true] {
            let span = Span { start: 0.0, length: 0.0, loops };
            assert_eq!((span.spread(6), span.film(rate(30.0), 99).times), (vec![0.0], vec![0.0]));
        }
    }
}
