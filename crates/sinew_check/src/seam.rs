//! Where a loop comes round.
//!
//! With frames x₀ … x_N from the first key to the last, 1/f apart: the *gap* is |x_N − x₀|, what a player shows when it
//! starts over; the *kink* is f |(x₁ − x₀) − (x_N − x_{N−1})|, how much the velocity changes there. A velocity changes at
//! every key of a linear curve, so a kink is told beside the largest change between other frames, f |x_{k+1} − 2x_k +
//! x_{k−1}|.
//!
//! A loop that travels ends elsewhere by intent: of it the displacements by effects are compared, in the frame of the
//! character's root.

use crate::location::{Extreme, Worst};
use crate::positions::{Positions, Subject};
use glam::DVec3;

/// The seam of a loop. Shares of the size; velocities per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Seam {
    /// Largest distance of a vertex between the last frame and the first.
    pub gap: Extreme,
    /// Largest change of a vertex's velocity from the last frame to the first.
    pub kink: Extreme,
    /// Largest change of a vertex's velocity at any other frame.
    pub usual_kink: f64,
    /// Whether displacements were compared instead of positions, because the loop travels.
    pub travels: bool,
}

/// Elsewhere frames need not fall on keys, where velocities change most; at the seam they do.
const SLACK: f64 = 1.1;

impl Seam {
    /// What the velocity changes at the seam beyond what it changes elsewhere.
    pub fn excess_kink(&self) -> f64 {
        if self.kink.value > SLACK * self.usual_kink { self.kink.value - self.usual_kink } else { 0.0 }
    }
}

/// The frames around the seam: the first two, the last two.
pub(crate) struct Around {
    pub first: Positions,
    pub second: Positions,
    pub last_but_one: Positions,
    pub last: Positions,
}

impl Around {
    pub fn seam(&self, subject: &Subject, travels: bool, times: (f64, f64), fps: f64, usual_kink: f64) -> Seam {
        let value = |frame: &Positions, vertex: usize| -> DVec3 {
            if !travels {
                return frame.effects[vertex];
            }
            let turn = frame.turns[subject.character_of_vertex[vertex]];
            let back = if turn.determinant() == 0.0 { turn } else { turn.inverse() };
            // Scale of the root cancels out again, so that shares stay shares.
            let scale = turn.determinant().abs().cbrt();
            back * (frame.effects[vertex] - frame.base[vertex]) * scale
        };
        let (mut gap, mut kink) = (Worst::default(), Worst::default());
        let (start, end) = times;
        for vertex in 0..self.first.base.len() {
            let size = subject.size(vertex);
            let [first, second, before, last] =
                [&self.first, &self.second, &self.last_but_one, &self.last].map(|frame| value(frame, vertex));
            gap.see(last.distance(first) / size, vertex, end);
            kink.see(((second - first) - (last - before)).length() * fps / size, vertex, start);
        }
        Seam { gap: gap.extreme(subject.rig()), kink: kink.extreme(subject.rig()), usual_kink, travels }
    }
}
