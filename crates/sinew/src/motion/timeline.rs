//! Where a clip's motion lives in time: its span, its period, and the cuts in it.

/// What stands before and after a motion that does not loop, and on both sides of a teleport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// At rest: effects grow from nothing, and are nothing again on the last frame, without a pop on either.
    #[default]
    Rest,
    /// The motion goes on as it was: for clips cut from a longer one.
    Continue,
}

/// How long effects take to grow at the ends of a motion at rest, in seconds: about as long as what hangs takes to follow.
const LONGEST_FADE_SECS: f64 = 0.2;
/// The same as a share of the clip, where that is shorter.
const FADE_SHARE_OF_CLIP: f64 = 0.25;

/// Times in seconds; everything is a function of these.
///
/// # Invariants
/// `start < end`, `last_key ≤ end`; marks ascend within `[start, last_key]`; `0 ≤ box_secs ≤ (end − start)/8`.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub start: f64,
    /// The last key of the clip.
    pub last_key: f64,
    /// `last_key`, or later where a loop lacks its closing key.
    pub end: f64,
    pub loops: bool,
    pub marks: Vec<f64>,
    pub ends: Ends,
    /// Width of each of the three boxes that smooth rates; 0 = exact derivatives.
    pub box_secs: f64,
}

/// The stretch of motion seen from one moment: smoothing and filtering do not look beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Visible {
    pub from: f64,
    pub until: f64,
}

impl Visible {
    pub fn shifted(self, by: f64) -> Self {
        Self { from: self.from + by, until: self.until + by }
    }
}

impl Timeline {
    /// End minus start: the period of a loop.
    pub fn length(&self) -> f64 {
        self.end - self.start
    }

    /// How much of the motion effects are given at `t`, within the clip: all of it but near ends at rest, where it is 0.
    pub fn presence(&self, t: f64) -> f64 {
        if self.loops || self.ends == Ends::Continue {
            return 1.0;
        }
        let fade = LONGEST_FADE_SECS.min(FADE_SHARE_OF_CLIP * (self.last_key - self.start));
        let into = (t - self.start).min(self.last_key - t).max(0.0);
        if into >= fade {
            return 1.0;
        }
        let s = into / fade;
        s * s * (3.0 - 2.0 * s)
    }

    /// Half the smoothing window.
    pub fn reach(&self) -> f64 {
        1.5 * self.box_secs
    }

    /// Marks in `(after, until]`.
    pub fn marks_in(&self, after: f64, until: f64) -> &[f64] {
        let from = self.marks.partition_point(|&mark| mark <= after);
        let to = self.marks.partition_point(|&mark| mark <= until);
        &self.marks[from..to.max(from)]
    }

    /// What is seen at `t`; a mark belongs to what follows it.
    pub fn visible(&self, t: f64) -> Visible {
        let after = self.marks.partition_point(|&mark| mark <= t);
        let (before_all, after_all) = match (self.loops, self.marks.first(), self.marks.last()) {
            (true, Some(first), Some(last)) => (last - self.length(), first + self.length()),
            (true, _, _) => (f64::NEG_INFINITY, f64::INFINITY),
            (false, _, _) => (self.start, self.end),
        };
        Visible {
            from: after.checked_sub(1).map_or(before_all, |last| self.marks[last]),
            until: self.marks.get(after).copied().unwrap_or(after_all),
        }
    }

    /// `t` clamped to the clip, or wrapped into it where it loops; never wrapped at or before the last key, so that
    /// the pose there is the clip's own.
    pub fn sample_time(&self, t: f64) -> f64 {
        if t <= self.start || t.is_nan() {
            self.start
        } else if t <= self.last_key || (self.loops && t < self.end) {
            t
        } else if !self.loops {
            self.last_key
        } else {
            let into = (t - self.start).rem_euclid(self.length());
            if into < self.length() { self.start + into } else { self.start }
        }
    }
}
