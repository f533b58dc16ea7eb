//! Gates: a measurement and the most it may be.

use super::Report;
use crate::args::share;
use crate::text::short;
use sinew::text::nearest;
use sinew_check::ClipReport;
use sinew_check::clip::VolumeDrift;
use sinew_check::seam::Seam;

/// What a gate looks at.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name on the command line.
    pub name: &'static str,
    /// Whether it is a share of something, told in percent; else a number of things.
    is_share: bool,
    value: fn(&Report<'_>) -> f64,
}

/// All measures. Where there is a recipe, volume, flips and collapsed are what it does; else what the file does.
const MEASURES: [Measure; 14] = [
    Measure { name: "seam", is_share: true, value: |r| most(r, |c| c.seam.as_ref().map_or(0.0, |s| s.gap.value)) },
    Measure { name: "kink", is_share: true, value: |r| most(r, |c| c.seam.as_ref().map_or(0.0, Seam::excess_kink)) },
    Measure { name: "pop", is_share: true, value: |r| most(r, first_frame_pop) },
    Measure { name: "teleports", is_share: false, value: |r| r.clips.iter().map(teleports).sum::<usize>() as f64 },
    Measure {
        name: "noise",
        is_share: true,
        value: |r| most(r, |c| c.keys.noise.as_ref().map_or(0.0, |n| n.amplitude)),
    },
    Measure { name: "volume", is_share: true, value: |r| most(r, |c| c.volumes.iter().map(drift).fold(0.0, f64::max)) },
    Measure { name: "flips", is_share: false, value: |r| most(r, |c| triangles(r, c).turned as f64) },
    Measure { name: "collapsed", is_share: false, value: |r| most(r, |c| triangles(r, c).collapsed as f64) },
    Measure {
        name: "displacement",
        is_share: true,
        value: |r| most(r, |c| c.displacement.as_ref().map_or(0.0, |e| e.value)),
    },
    Measure { name: "cracks", is_share: true, value: |r| most(r, |c| c.crack.as_ref().map_or(0.0, |e| e.value)) },
    Measure {
        name: "weights",
        is_share: false,
        value: |r| r.weights.iter().map(|w| w.unnormalised + w.weightless).sum::<usize>() as f64,
    },
    Measure {
        name: "influences",
        is_share: false,
        value: |r| r.weights.iter().map(|w| w.most_influences).max().unwrap_or(0) as f64,
    },
    Measure {
        name: "engines",
        is_share: false,
        value: |r| r.engines.iter().filter(|(_, objections)| !objections.is_empty()).count() as f64,
    },
    Measure { name: "warnings", is_share: false, value: |r| r.scene.warnings.len() as f64 },
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
    most: f64,
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
    is_share: bool,
}

impl Gate {
    /// `NAME=MOST`.
    pub fn parse(given: &str) -> Result<Self, String> {
        let (name, most) = given.split_once('=').ok_or("give NAME=LIMIT, such as seam=0.1%")?;
        let measure = MEASURES.iter().find(|measure| measure.name == name.trim()).ok_or_else(|| {
            let names = || MEASURES.iter().map(|measure| measure.name);
            let near = nearest(name, names()).map_or(String::new(), |near| format!("did you mean {near}? "));
            format!("there is no gate {name}; {near}Known: {}", names().collect::<Vec<_>>().join(", "))
        })?;
        Ok(Self { measure: *measure, most: share(most.trim())? })
    }

    pub fn judge(&self, report: &Report<'_>) -> Outcome {
        let found = (self.measure.value)(report);
        let Measure { name, is_share, .. } = self.measure;
        Outcome { name, found, most: self.most, passed: found <= self.most, is_share }
    }
}

impl Outcome {
    /// A number as the measure tells it.
    pub fn words(&self, number: f64) -> String {
        if self.is_share { format!("{} %", short(100.0 * number)) } else { format!("{number}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_understood_or_refused_with_the_nearest_name() {
        let gate = Gate::parse("seam=0.1%").expect("sound");
        assert_eq!((gate.measure.name, gate.most), ("seam", 0.1 * 0.01));
        assert_eq!(Gate::parse("flips = 3").map(|gate| gate.most), Ok(3.0));
        for (given, says) in
            [("seam", "NAME=LIMIT"), ("flip=0", "did you mean flips?"), ("flips=few", "give a fraction")]
        {
            let error = Gate::parse(given).expect_err("refused");
            assert!(error.contains(says), "{error}");
        }
    }
}
