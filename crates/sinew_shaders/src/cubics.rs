//! Clips as cubics: every number that a frame of a crowd is made of, piece by piece of each clip's time.
//!
//! Pieces begin at the keys, where curves have corners. On each, a number is the cubic through its values at the four zeros
//! of the Chebyshev polynomial T₄, which is as near as interpolation comes to the best one; what is left is largest where T₄
//! is, and there it is measured. A piece that misses by more than it may is cut in two.
//!
//! What was cut for the sake of one number is put together again for the others: those that move bones have one sequence of
//! pieces per clip, and each point that settles has its own.

use glam::DVec3;
use sinew::{Cpu, CrowdArrays, CrowdSample, NoCrowd, Playing, Workspace};

/// How far numbers may be off: lengths in sizes, motions in the largest there is of their kind.
const OFF: f64 = 1e-6;
/// The same of points that settle, which are nothing that others are made of.
const SETTLED_OFF: f64 = 3e-6;
/// The share of that for what is sampled; the rest is for pieces put together.
const SAMPLED: f64 = 0.5;
/// A piece is cut no more often: what is left is a jump, and a moment.
const CUTS: u32 = 12;
/// Where numbers are sampled.
const NODES: [f64; 4] =
    [-0.923_879_532_511_286_7, -0.382_683_432_365_089_8, 0.382_683_432_365_089_8, 0.923_879_532_511_286_7];
/// Where they are off the most.
const FARTHEST: [f64; 5] = [-1.0, -std::f64::consts::FRAC_1_SQRT_2, 0.0, std::f64::consts::FRAC_1_SQRT_2, 1.0];
/// What the ends of a piece are moved inwards by, of its half: a jump belongs to what follows.
const INWARDS: f64 = 1e-9;

/// Where the numbers of a frame stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub origin: usize,
    pub palette: usize,
    pub duals: usize,
    pub stretches: usize,
    pub effects: usize,
    /// Of one effect.
    pub effect_numbers: usize,
    pub settled: usize,
    pub end: usize,
}

impl Places {
    /// Of a bone: joint, centroid, and four signals.
    pub const BONE: usize = 18;
    /// Of an effect, before its bones: gain, and what turns its cone.
    pub const EFFECT: usize = 10;

    pub fn of(arrays: &CrowdArrays<'_>) -> Self {
        let entries = arrays.rig.rig.palette().len();
        let dual = usize::from(arrays.is_dual);
        let effect_numbers = Self::EFFECT + arrays.bones.len() * Self::BONE;
        let palette = 3;
        let duals = palette + 12 * entries;
        let stretches = duals + dual * 8 * entries;
        let effects = stretches + dual * 9 * entries;
        let settled = effects + arrays.effects.len() * effect_numbers;
        let end = settled + 3 * arrays.settling.len();
        Self { origin: 0, palette, duals, stretches, effects, effect_numbers, settled, end }
    }

    pub fn effect(&self, effect: usize) -> usize {
        self.effects + effect * self.effect_numbers
    }

    pub fn bone(&self, effect: usize, bone: usize) -> usize {
        self.effect(effect) + Self::EFFECT + bone * Self::BONE
    }
}

/// A stretch of a clip's time, and all numbers at its nodes.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub start: f64,
    pub stop: f64,
    pub nodes: [Vec<f32>; 4],
}

/// A stretch of a clip's time, and the cubics of some numbers.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    pub start: f64,
    pub stop: f64,
    pub cubics: Vec<[f32; 4]>,
}

/// The cubic through values at the nodes, by powers of the share from −1 to 1.
pub(crate) fn cubic(values: [f64; 4]) -> [f32; 4] {
    let sum = |polynomial: fn(f64) -> f64| {
        values.iter().zip(NODES).map(|(value, node)| value * polynomial(node)).sum::<f64>() / 2.0
    };
    let (a, b) = (sum(|_| 0.5), sum(|s| s));
    let (c, d) = (sum(|s| 2.0 * s * s - 1.0), sum(|s| (4.0 * s * s - 3.0) * s));
    [a - c, b - 3.0 * d, 2.0 * c, 4.0 * d].map(|power| power as f32)
}

/// Fits clips.
pub(crate) struct Fitter<'a> {
    arrays: &'a CrowdArrays<'a>,
    pub places: Places,
    /// What positions are relative to.
    pub origin: DVec3,
    size: f64,
    workspace: Workspace,
    sample: CrowdSample,
    off: Vec<f64>,
    /// Of the points that may settle: which do.
    pub settles: Vec<bool>,
}

impl<'a> Fitter<'a> {
    pub fn new(arrays: &'a CrowdArrays<'a>, origin: DVec3) -> Self {
        let places = Places::of(arrays);
        let size = arrays.rig.rig.characters()[0].size;
        let settles = vec![false; arrays.settling.len()];
        let (workspace, sample) = (Workspace::default(), CrowdSample::default());
        Self { arrays, places, origin, size, workspace, sample, off: Vec::new(), settles }
    }

    /// All clips. What settles in any of them is looked at in all.
    pub fn fit(&mut self, clips: &[Playing<'_>]) -> Result<Vec<Vec<Piece>>, NoCrowd> {
        self.measure(clips)?;
        loop {
            let before = self.settles.clone();
            let fitted = clips.iter().map(|playing| self.fit_clip(playing)).collect::<Result<_, _>>()?;
            if before == self.settles {
                return Ok(fitted);
            }
        }
    }

    /// The numbers of a frame.
    fn numbers(&mut self, playing: &Playing<'_>, time: f64, out: &mut Vec<f32>) -> Result<(), NoCrowd> {
        let sample = &mut self.sample;
        playing.at(time, &mut self.workspace).sample(&Cpu::serial(), sample)?;
        if sample.is_morphed {
            return Err(NoCrowd::Morphs);
        }
        out.clear();
        out.extend((sample.origin - self.origin).as_vec3().to_array());
        for matrix in &sample.palette {
            let [x, y, z, t] = matrix.to_cols_array_2d();
            (0..3).for_each(|row| out.extend([x[row], y[row], z[row], t[row]].map(|v| v as f32)));
        }
        out.extend_from_slice(sample.duals.as_flattened());
        out.extend_from_slice(sample.stretches.as_flattened());
        for effect in &sample.effects {
            out.push(effect.gain);
            out.extend(effect.cone_turn.to_cols_array());
            for bone in &effect.bones {
                for vector in [bone.joint_origin, bone.centroid].iter().chain(&bone.signals) {
                    out.extend(vector.to_array());
                }
            }
        }
        for (settles, (by, has_settled)) in self.settles.iter_mut().zip(&sample.settled) {
            out.extend(by);
            *settles |= has_settled;
        }
        Ok(())
    }

    /// How far each number may be off.
    fn measure(&mut self, clips: &[Playing<'_>]) -> Result<(), NoCrowd> {
        let (places, length) = (self.places, OFF * self.size);
        let effects = self.arrays.effects.len();
        let mut largest = vec![[0.0f32; 4]; effects];
        let mut gains = vec![0.0f32; effects];
        let mut numbers = Vec::new();
        for playing in clips {
            let corners = playing.motion().corners();
            let between = corners.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect::<Vec<_>>();
            for time in corners.iter().chain(&between) {
                self.numbers(playing, *time, &mut numbers)?;
                for effect in 0..effects {
                    gains[effect] = gains[effect].max(numbers[places.effect(effect)].abs());
                    for bone in 0..self.arrays.bones.len() {
                        let at = places.bone(effect, bone) + 6;
                        for (signal, most) in largest[effect].iter_mut().enumerate() {
                            let own = &numbers[at + 3 * signal..at + 3 * signal + 3];
                            *most = own.iter().fold(*most, |most, number| most.max(number.abs()));
                        }
                    }
                }
            }
        }
        let off = &mut self.off;
        off.clear();
        off.resize(places.palette, length);
        let row = [OFF, OFF, OFF, length];
        off.extend(row.iter().cycle().take(places.duals - places.palette));
        let dual = [OFF, OFF, OFF, OFF, length, length, length, length];
        off.extend(dual.iter().cycle().take(places.stretches - places.duals));
        off.resize(places.effects, OFF);
        for effect in 0..effects {
            off.push(OFF * f64::from(gains[effect]));
            off.resize(places.bone(effect, 0), OFF);
            for _ in 0..self.arrays.bones.len() {
                off.resize(off.len() + 6, length);
                off.extend(largest[effect].iter().flat_map(|&most| [OFF * f64::from(most); 3]));
            }
        }
        off.resize(places.end, SETTLED_OFF * self.size);
        Ok(())
    }

    fn fit_clip(&mut self, playing: &Playing<'_>) -> Result<Vec<Piece>, NoCrowd> {
        let corners = playing.motion().corners();
        let mut fitted = Vec::new();
        if let [only] = corners[..] {
            fitted.push(self.piece(playing, only, only)?);
        }
        let mut to_fit: Vec<(f64, f64, u32)> = corners.windows(2).rev().map(|pair| (pair[0], pair[1], 0)).collect();
        let mut found = Vec::new();
        while let Some((start, stop, cuts)) = to_fit.pop() {
            let piece = self.piece(playing, start, stop)?;
            if cuts < CUTS && !self.is_near(playing, &piece, &mut found)? {
                let middle = 0.5 * (start + stop);
                to_fit.push((middle, stop, cuts + 1));
                to_fit.push((start, middle, cuts + 1));
                continue;
            }
            fitted.push(piece);
        }
        Ok(fitted)
    }

    /// Pieces of some numbers, each as long as one cubic holds for all of them.
    pub fn join(&self, pieces: &[Piece], numbers: &[usize]) -> Vec<Joined> {
        let mut joined = Vec::new();
        let mut first = 0;
        while first < pieces.len() {
            let mut known = self.joined(&pieces[first..=first], numbers);
            let (mut holds, mut fails) = (1, usize::MAX);
            // Twice as many while that holds, then between.
            while holds + 1 < fails && first + holds < pieces.len() {
                let wanted = if fails == usize::MAX { 2 * holds } else { holds + (fails - holds) / 2 };
                let count = wanted.min(pieces.len() - first);
                match self.joined(&pieces[first..first + count], numbers) {
                    Some(longer) => (holds, known) = (count, Some(longer)),
                    None => fails = count,
                }
            }
            joined.extend(known);
            first += holds;
        }
        joined
    }

    /// Pieces as one, where that holds; one alone always does.
    fn joined(&self, pieces: &[Piece], numbers: &[usize]) -> Option<Joined> {
        let (start, stop) = (pieces.first()?.start, pieces.last()?.stop);
        let mut cubics = Vec::with_capacity(numbers.len());
        if let [only] = pieces {
            let of = |&number: &usize| cubic(std::array::from_fn(|node| f64::from(only.nodes[node][number])));
            cubics.extend(numbers.iter().map(of));
            return Some(Joined { start, stop, cubics });
        }
        let read = NODES.map(|node| {
            let time = within(start, stop, node);
            let piece = &pieces[pieces.partition_point(|piece| piece.start <= time).saturating_sub(1)];
            (piece, weights(share_of(time, piece.start, piece.stop)))
        });
        for &number in numbers {
            let values = read.map(|(piece, weights)| at_node(piece, number, &weights));
            for piece in pieces {
                for (node, found) in NODES.iter().zip(&piece.nodes) {
                    let share = share_of(within(piece.start, piece.stop, *node), start, stop);
                    let by: f64 = weights(share).iter().zip(values).map(|(weight, value)| weight * value).sum();
                    let (value, off) = (found[number], (1.0 - SAMPLED) * self.off[number]);
                    if (by - f64::from(value)).abs() > off.max(2.0 * f64::from(f32::EPSILON * value.abs())) {
                        return None;
                    }
                }
            }
            cubics.push(cubic(values));
        }
        Some(Joined { start, stop, cubics })
    }

    fn piece(&mut self, playing: &Playing<'_>, start: f64, stop: f64) -> Result<Piece, NoCrowd> {
        let mut nodes = [const { Vec::new() }; 4];
        for (numbers, node) in nodes.iter_mut().zip(NODES) {
            self.numbers(playing, within(start, stop, node), numbers)?;
        }
        Ok(Piece { start, stop, nodes })
    }

    fn is_near(&mut self, playing: &Playing<'_>, piece: &Piece, found: &mut Vec<f32>) -> Result<bool, NoCrowd> {
        for share in FARTHEST {
            self.numbers(playing, within(piece.start, piece.stop, share), found)?;
            let weights = weights(share);
            let settled = self.places.settled;
            for (place, (&value, &off)) in found.iter().zip(&self.off).enumerate() {
                if place >= settled && !self.settles[(place - settled) / 3] {
                    continue;
                }
                let by = (0..4).map(|node| weights[node] * f64::from(piece.nodes[node][place])).sum::<f64>();
                // Numbers are single ones: closer than their rounding nothing comes.
                if (by - f64::from(value)).abs() > (SAMPLED * off).max(2.0 * f64::from(f32::EPSILON * value.abs())) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// A share of a stretch of time, from −1 to 1; never its very ends.
fn within(start: f64, stop: f64, share: f64) -> f64 {
    let half = 0.5 * (stop - start);
    start + half * (1.0 + share * (1.0 - INWARDS))
}

/// The share of a moment, from −1 to 1.
fn share_of(time: f64, start: f64, stop: f64) -> f64 {
    2.0 * (time - start) / (stop - start) - 1.0
}

fn at_node(piece: &Piece, number: usize, weights: &[f64; 4]) -> f64 {
    piece.nodes.iter().zip(weights).map(|(node, weight)| weight * f64::from(node[number])).sum()
}

/// How much each node counts at a share.
fn weights(share: f64) -> [f64; 4] {
    std::array::from_fn(|own| {
        let others = (0..4).filter(|&other| other != own);
        others.map(|other| (share - NODES[other]) / (NODES[own] - NODES[other])).product()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cubic is found again.
    #[test]
    fn cubics_are_exact() {
        let wanted = [0.25, -1.5, 0.75, 2.0f32];
        let at = |s: f64| wanted.iter().rev().fold(0.0, |sum, &power| sum * s + f64::from(power));
        let found = cubic(NODES.map(at));
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        for share in FARTHEST {
            let sum: f64 = weights(share).iter().zip(NODES).map(|(weight, node)| weight * at(node)).sum();
            assert!((sum - at(share)).abs() < 1e-12);
        }
    }
}
