//! Skin weights as they come, made fit to use: finite, non-negative, on existing joints, summing to 1.

use crate::raw::RawInfluences;
use crate::warning::Warning;

/// A weight on a palette entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Influence {
    /// Palette index.
    pub palette: u32,
    /// Share in (0, 1].
    pub weight: f32,
}

impl Influence {
    /// The largest of some influences, the first among equals: the one rule for what a point follows most.
    pub(crate) fn largest(influences: impl IntoIterator<Item = Self>) -> Option<Self> {
        influences.into_iter().reduce(|best, next| if next.weight > best.weight { next } else { best })
    }
}

/// Any number of influences per vertex, in offset form.
///
/// # Invariants
/// Every vertex has at least one influence; palette indices ascend and are distinct; weights are positive and sum
/// to 1 up to rounding.
#[derive(Clone, Debug, Default)]
pub(crate) struct SkinWeights {
    ends: Vec<u32>,
    items: Vec<Influence>,
}

impl SkinWeights {
    /// The influences of one vertex.
    pub fn of(&self, vertex: usize) -> &[Influence] {
        let start = if vertex == 0 { 0 } else { self.ends[vertex - 1] as usize };
        &self.items[start..self.ends[vertex] as usize]
    }

    /// Adds a vertex that follows one palette entry rigidly.
    pub(crate) fn push_rigid(&mut self, palette: u32) {
        self.items.push(Influence { palette, weight: 1.0 });
        self.ends.push(self.items.len() as u32);
    }

    /// Adds the vertices of one primitive, repairing what is wrong and reporting it once per kind of fault.
    pub(crate) fn push_repaired(
        &mut self,
        raw: &RawInfluences,
        vertices: usize,
        palette: std::ops::Range<u32>,
        subject: &dyn Fn(usize) -> String,
        warnings: &mut Vec<Warning>,
    ) {
        let joints = palette.len() as u32;
        let mut missing = Tally::default();
        let mut idle = Tally::default();
        let mut twice = Tally::default();
        let mut invalid = Tally::default();
        let mut unnormalised = Tally::default();
        let mut weightless = Tally::default();
        let mut scratch: Vec<(u32, f64)> = Vec::with_capacity(raw.per_vertex);
        for vertex in 0..vertices {
            scratch.clear();
            for pair in vertex * raw.per_vertex..(vertex + 1) * raw.per_vertex {
                let (joint, weight) = (raw.joints[pair], raw.weights[pair]);
                if weight == 0.0 {
                    if joint >= joints {
                        idle.add(vertex, joint as f32);
                    }
                    continue;
                }
                if !weight.is_finite() || weight < 0.0 {
                    invalid.add(vertex, weight);
                } else if joint >= joints {
                    missing.add(vertex, joint as f32);
                } else {
                    match scratch.iter_mut().find(|(other, _)| *other == joint) {
                        Some((_, sum)) => {
                            *sum += f64::from(weight);
                            twice.add(vertex, joint as f32);
                        }
                        None => scratch.push((joint, f64::from(weight))),
                    }
                }
            }
            let sum: f64 = scratch.iter().map(|&(_, weight)| weight).sum();
            if sum > 0.0 && sum.is_finite() {
                // Quantised weights miss 1 by a few steps of 255 or 65535 in many good files.
                if (sum - 1.0).abs() > 1e-3 {
                    unnormalised.add(vertex, sum as f32);
                }
                scratch.sort_unstable_by_key(|&(joint, _)| joint);
                for &(joint, weight) in &scratch {
                    let weight = (weight / sum) as f32;
                    if weight > 0.0 {
                        self.items.push(Influence { palette: palette.start + joint, weight });
                    }
                }
                self.ends.push(self.items.len() as u32);
            } else {
                weightless.add(vertex, 0.0);
                self.push_rigid(palette.start);
            }
        }
        let remedy = "normalise the weights in the modelling tool and export again";
        missing.report(warnings, subject, "joint-out-of-range", "re-export the skin with all its joints", &|joint| {
            format!("names joint {joint}, but the skin has {joints}; that influence was dropped")
        });
        idle.report(warnings, subject, "unused-joint-out-of-range", "set joints of weight 0 to 0", &|joint| {
            format!("names joint {joint} with a weight of 0, but the skin has {joints}; it was ignored")
        });
        twice.report(warnings, subject, "joint-twice", "give each joint of a vertex one weight", &|joint| {
            format!("names joint {joint} more than once; its weights were added")
        });
        invalid
            .report(warnings, subject, "weight-invalid", remedy, &|w| format!("has a weight of {w}; it was dropped"));
        unnormalised.report(warnings, subject, "weights-not-normalised", remedy, &|sum| {
            format!("has weights that sum to {sum} instead of 1; they were normalised")
        });
        weightless.report(
            warnings,
            subject,
            "vertex-without-weights",
            "bind every vertex to at least one bone",
            &|_| "has no usable weight; it was bound to the skin's first joint".to_owned(),
        );
    }
}

/// Vertices with the same fault: the first is named, the rest are counted.
#[derive(Default)]
pub(crate) struct Tally {
    count: usize,
    first: usize,
    value: f32,
}

impl Tally {
    pub(crate) fn add(&mut self, vertex: usize, value: f32) {
        if self.count == 0 {
            (self.first, self.value) = (vertex, value);
        }
        self.count += 1;
    }

    pub(crate) fn report(
        &self,
        warnings: &mut Vec<Warning>,
        subject: &dyn Fn(usize) -> String,
        code: &'static str,
        remedy: &'static str,
        message: &dyn Fn(f32) -> String,
    ) {
        if self.count == 0 {
            return;
        }
        let mut message = message(self.value);
        if self.count > 1 {
            message += &format!(" (and {} more vertices like it)", self.count - 1);
        }
        warnings.push(Warning { code, subject: subject(self.first), message, remedy });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_and_names_what_it_repaired() {
        let raw = RawInfluences {
            per_vertex: 2,
            joints: vec![1, 0, 9, 0, 0, 1, 0, 0, 1, 1],
            weights: vec![0.25, 0.75, 0.5, 0.5, f32::NAN, -1.0, 1.0, 0.5, 0.5, 0.5],
        };
        let mut weights = SkinWeights::default();
        let mut warnings = Vec::new();
        weights.push_repaired(&raw, 5, 10..12, &|v| format!("vertex {v}"), &mut warnings);
        let of = |v| weights.of(v).iter().map(|i| (i.palette, i.weight)).collect::<Vec<_>>();
        assert_eq!(of(0), [(10, 0.75), (11, 0.25)]);
        assert_eq!(of(1), [(10, 1.0)]);
        assert_eq!(of(2), [(10, 1.0)]);
        assert_eq!(of(3), [(10, 1.0)]);
        assert_eq!(of(4), [(11, 1.0)]);
        let codes: Vec<_> = warnings.iter().map(|w| (w.code, w.subject.as_str())).collect();
        assert_eq!(
            codes,
            [
                ("joint-out-of-range", "vertex 1"),
                ("joint-twice", "vertex 3"),
                ("weight-invalid", "vertex 2"),
                ("weights-not-normalised", "vertex 1"),
                ("vertex-without-weights", "vertex 2")
            ]
        );
        assert!(warnings[3].message.contains("0.5") && warnings[3].message.contains("1 more"));
    }
}
