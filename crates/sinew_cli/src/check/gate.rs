//! Gates: a measurement and the most it may be.

use super::Report;
use crate::args::share;
use crate::text::short;
use sinew::text::nearest;
use sinew_check::clip::VolumeDrift;
use sinew_check::limits::{LIMITS, Limit, Unit};
use sinew_check::seam::Seam;
use sinew_check::{ClipReport, Comparison};

/// What a gate looks at.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name on the command line.
    pub name: &'static str,
    unit: Unit,
    value: Value,
}

/// How a measure is found.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// Of everything.
    Whole(fn(&Report<'_>) -> f64),
    /// Of what effects do against the base: the worst clip.
    Effects(fn(&Comparison) -> f64),
}

/// All measures beside [`LIMITS`]. Where there is a recipe, volume, flips and collapsed are what it does; else what the
/// file does.
const MEASURES: [Measure; 14] = [
    Measure {
        name: "seam",
        unit: Unit::Share,
        value: Value::Whole(|r| most(r, |c| c.seam.as_ref().map_or(0.0, |s| s.gap.value))),
    },
    Measure {
        name: "kink",
        unit: Unit::Share,
        value: Value::Whole(|r| most(r, |c| c.seam.as_ref().map_or(0.0, Seam::excess_kink))),
    },
    Measure { name: "pop", unit: Unit::Share, value: Value::Whole(|r| most(r, first_frame_pop)) },
    Measure {
        name: "teleports",
        unit: Unit::Count,
        value: Value::Whole(|r| r.clips.iter().map(teleports).sum::<usize>() as f64),
    },
    Measure {
        name: "noise",
        unit: Unit::Share,
        value: Value::Whole(|r| most(r, |c| c.keys.noise.as_ref().map_or(0.0, |n| n.amplitude))),
    },
    Measure {
        name: "volume",
        unit: Unit::Share,
        value: Value::Whole(|r| most(r, |c| c.volumes.iter().map(drift).fold(0.0, f64::max))),
    },
    Measure { name: "flips", unit: Unit::Count, value: Value::Whole(|r| most(r, |c| triangles(r, c).turned as f64)) },
    Measure {
        name: "collapsed",
        unit: Unit::Count,
        value: Value::Whole(|r| most(r, |c| triangles(r, c).collapsed as f64)),
    },
    Measure {
        name: "displacement",
        unit: Unit::Share,
        value: Value::Whole(|r| most(r, |c| c.displacement.as_ref().map_or(0.0, |e| e.value))),
    },
    Measure {
        name: "cracks",
        unit: Unit::Share,
        value: Value::Whole(|r| most(r, |c| c.crack.as_ref().map_or(0.0, |e| e.value))),
    },
    Measure {
        name: "weights",
        unit: Unit::Count,
        value: Value::Whole(|r| r.weights.iter().map(|w| w.unnormalised + w.weightless).sum::<usize>() as f64),
    },
    Measure {
        name: "influences",
        unit: Unit::Count,
        value: Value::Whole(|r| r.weights.iter().map(|w| w.most_influences).max().unwrap_or(0) as f64),
    },
    Measure {
        name: "engines",
        unit: Unit::Count,
        value: Value::Whole(|r| r.engines.iter().filter(|(_, objections)| !objections.is_empty()).count() as f64),
    },
    Measure { name: "warnings", unit: Unit::Count, value: Value::Whole(|r| r.scene.warnings.len() as f64) },
];

fn most(report: &Report<'_>, value: impl Fn(&ClipReport) -> f64) -> f64 {
    report.clips.iter().map(value).fold(0.0, f64::max)
}

/// How far the character is thrown off at the first frame, by effects or by a key that does not belong.
fn first_frame_pop(clip: &ClipReport) -> f64 {
    let jumps = clip.keys.jumps.iter().filter(|jump| jump.is_first).map(|jump| jump.distance);
    jumps.fold(clip.first_frame.as_ref().map_or(0.0, |extreme| extreme.value), f64::max)
}

/// Jumps in the keys after the first interval.
fn teleports(clip: &ClipReport) -> usize {
    clip.keys.jumps.iter().filter(|jump| !jump.is_first).count()
}

fn drift(volume: &VolumeDrift) -> f64 {
    volume.effects.largest()
}

fn triangles<'c>(report: &Report<'_>, clip: &'c ClipReport) -> &'c sinew_check::surface::TriangleReport {
    if report.has_effects { &clip.effect_triangles } else { &clip.base_triangles }
}

/// A gate as asked for.
#[derive(Clone, Debug)]
pub struct Gate {
    measure: Measure,
    /// The most it may be; `None` switches it off.
    most: Option<f64>,
}

/// How a gate was met.
pub struct Outcome {
    /// The measure's name.
    pub name: &'static str,
    /// What was found.
    pub found: f64,
    /// What was allowed.
    pub most: f64,
    /// Whether what was found is allowed.
    pub passed: bool,
    /// The clip in which effects do worst by it, for measures of effects.
    pub clip: Option<usize>,
    unit: Unit,
}

impl From<&Limit> for Measure {
    fn from(limit: &Limit) -> Self {
        Self { name: limit.name, unit: limit.unit, value: Value::Effects(limit.value) }
    }
}

/// Everything a gate can be about.
fn measures() -> impl Iterator<Item = Measure> {
    MEASURES.into_iter().chain(LIMITS.iter().map(Measure::from))
}

/// Names of all gates, for help.
pub fn names() -> String {
    measures().map(|measure| measure.name).collect::<Vec<_>>().join(", ")
}

impl Gate {
    /// `NAME=LIMIT` or `NAME=off`.
    pub fn parse(given: &str) -> Result<Self, String> {
        let (name, most) = given.split_once('=').ok_or("give NAME=LIMIT, such as seam=0.1%, or NAME=off")?;
        let measure = measures().find(|measure| measure.name == name.trim()).ok_or_else(|| {
            let near = nearest(name, measures().map(|measure| measure.name));
            let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
            format!("there is no gate {name}; {near}Known: {}", names())
        })?;
        let most = if most.trim() == "off" { None } else { Some(share(most.trim())?) };
        Ok(Self { measure, most })
    }

    /// Gates to hold a report against: those asked for, and, of effects, those that hold by default; of several with one
    /// name the last.
    pub fn all(asked: &[Self], report: &Report<'_>) -> Vec<Self> {
        let defaults = LIMITS.iter().map(|limit| Self { measure: limit.into(), most: Some(limit.most) });
        let mut gates: Vec<Self> = if report.has_effects { defaults.collect() } else { Vec::new() };
        for gate in asked {
            gates.retain(|other| other.measure.name != gate.measure.name);
            gates.push(gate.clone());
        }
        gates
    }

    /// How the gate is met; `None` where it is off.
    pub fn judge(&self, report: &Report<'_>) -> Option<Outcome> {
        let Measure { name, unit, value } = self.measure;
        let most = self.most?;
        let (found, clip) = match value {
            Value::Whole(value) => (value(report), None),
            Value::Effects(value) => {
                let found = report.clips.iter().map(|clip| clip.comparison.as_ref().map_or(0.0, value));
                let worse = |worst: (f64, Option<usize>), (clip, found): (usize, f64)| {
                    if found > worst.0 { (found, Some(clip)) } else { worst }
                };
                found.enumerate().fold((0.0, None), worse)
            }
        };
        Some(Outcome { name, found, most, passed: found <= most, clip, unit })
    }
}

impl Outcome {
    /// A number as the measure tells it.
    pub fn words(&self, number: f64) -> String {
        match self.unit {
            Unit::Share => format!("{} %", short(100.0 * number)),
            Unit::Ratio => format!("{} ×", short(number)),
            Unit::Count => short_count(number),
        }
    }
}

/// A number of things; of a mean, with its first decimals.
fn short_count(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number}") } else { short(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_understood_or_refused_with_the_nearest_name() {
        let gate = Gate::parse("seam=0.1%").expect("sound");
        assert_eq!((gate.measure.name, gate.most), ("seam", Some(0.1 * 0.01)));
        assert_eq!(Gate::parse("flips = 3").map(|gate| gate.most), Ok(Some(3.0)));
        assert_eq!(Gate::parse("gap=off").map(|gate| gate.most), Ok(None));
        for (given, says) in [
            ("seam", "NAME=LIMIT"),
            ("flip=0", "did you mean flips?"),
            ("gaps=1%", "did you mean gap?"),
            ("flips=few", "give a fraction"),
        ] {
            let error = Gate::parse(given).expect_err("refused");
            assert!(error.contains(says), "{error}");
        }
    }
}
