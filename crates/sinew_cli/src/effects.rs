//! `sinew effects [NAME]`: the registry and the corrections, in text or JSON.

use crate::args::EffectsArgs;
use crate::fault::Fault;
use crate::output;
use crate::text::{Align, table, wrap};
use serde_json::{Value, json};
use sinew::Signal;
use sinew::correct::{CORRECTIONS, Correction};
use sinew::displace::Input;
use sinew::param::{ParamKind, ParamSpec};
use sinew::registry::{EFFECTS, Effect};
use sinew::text::nearest;
use std::io::{self, Write};

/// What a recipe may ask for.
#[derive(Clone, Copy)]
enum Entry {
    Effect(&'static Effect),
    Correction(&'static Correction),
}

impl Entry {
    fn all() -> impl Iterator<Item = Self> {
        EFFECTS.iter().copied().map(Self::Effect).chain(CORRECTIONS.iter().map(Self::Correction))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Effect(effect) => effect.name(),
            Self::Correction(correction) => correction.name,
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Effect(effect) => effect.about(),
            Self::Correction(correction) => correction.about,
        }
    }

    fn params(self) -> &'static [ParamSpec] {
        match self {
            Self::Effect(effect) => effect.params(),
            Self::Correction(correction) => correction.params,
        }
    }

    /// What its section in a recipe takes beside the parameters.
    fn also(self) -> &'static str {
        match self {
            Self::Effect(effect) if effect.paper().is_some() => {
                "In a recipe every effect also takes gain, root, raw, map, compensate, cone and bones. With raw = true \
                 lengths (× size) are in scene units and have no upper bound; form = \"paper\" is the paper's own form: \
                 raw, hard limits, no filter."
            }
            Self::Effect(_) => {
                "In a recipe every effect also takes gain, root, raw, map, compensate, cone and bones. With raw = true \
                 lengths (× size) are in scene units and have no upper bound."
            }
            Self::Correction(correction) if correction.takes_maps => {
                "A correction: [[correction]] in a recipe. It also takes gain, map and bones."
            }
            Self::Correction(_) => "A correction: [[correction]] in a recipe. It also takes gain.",
        }
    }
}

pub fn run(options: &EffectsArgs) -> Result<(), Fault> {
    let one = options.name.as_deref().map(named).transpose()?;
    if options.json {
        let value = one.map_or_else(|| Entry::all().map(describe).collect(), describe);
        return output::to_stdout(|out| writeln!(out, "{value:#}"));
    }
    output::text_to_stdout(|out| match one {
        Some(entry) => print(entry, out),
        None => list(out),
    })
}

fn named(name: &str) -> Result<Entry, Fault> {
    Entry::all().find(|entry| entry.name() == name).ok_or_else(|| {
        let names: Vec<_> = Entry::all().map(Entry::name).collect();
        let hint = nearest(name, names.iter().copied()).map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
        Fault::Usage(format!("there is no effect \"{name}\"{hint} There are: {}", names.join(", ")))
    })
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<_> = Entry::all().map(|e| vec![e.name().to_owned(), e.about().to_owned()]).collect();
    for line in table(&[("", Align::Left), ("", Align::Left)], &rows) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\n`sinew effects NAME` lists the parameters of one.")
}

fn print(entry: Entry, out: &mut dyn Write) -> io::Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}", entry.name())?;
    for line in wrap(entry.about(), 2) {
        writeln!(out, "{line}")?;
    }
    let params = entry.params();
    let row = |param: &ParamSpec| {
        let (default, range) = match param.kind {
            ParamKind::Number { unit, min, max, default } => (format!("{default} {unit}"), format!("{min} to {max}")),
            ParamKind::Switch { default } => (default.to_string(), "true, false".to_owned()),
            ParamKind::Choice { words } => (words.first().copied().unwrap_or_default().to_owned(), words.join(", ")),
        };
        vec![param.name.to_owned(), default, range]
    };
    let rows: Vec<_> = params.iter().map(row).collect();
    let columns = [("parameter", Align::Left), ("default", Align::Left), ("range", Align::Left)];
    let lines = table(&columns, &rows);
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) + 2;
    let abouts = std::iter::once("").chain(params.iter().map(|param| param.about));
    writeln!(out)?;
    for (line, about) in lines.iter().zip(abouts) {
        // The last column runs on below itself.
        let mut about = wrap(about, width).into_iter();
        let first = about.next().unwrap_or_default();
        writeln!(out, "{}", format!("{line:<width$}{}", first.trim_start()).trim_end())?;
        about.try_for_each(|line| writeln!(out, "{line}"))?;
    }
    writeln!(out)?;
    wrap(entry.also(), 0).into_iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn describe(entry: Entry) -> Value {
    let params: Vec<_> = entry.params().iter().map(describe_param).collect();
    let kind = match entry {
        Entry::Effect(_) => "effect",
        Entry::Correction(_) => "correction",
    };
    let describe_input = |input: &Input| {
        let filter: Vec<_> = input.params().collect();
        let kind = match input {
            Input::LowPass(..) => "low-pass",
            Input::Derivative(..) => "derivative",
            Input::Oscillator(..) => "oscillator",
        };
        json!({ "signal": key(input.signal()), "filter": kind, "params": filter })
    };
    let inputs: Vec<_> = match entry {
        Entry::Effect(effect) => effect.inputs().iter().map(describe_input).collect(),
        Entry::Correction(_) => Vec::new(),
    };
    json!({ "name": entry.name(), "kind": kind, "about": entry.about(), "params": params, "inputs": inputs })
}

fn describe_param(param: &ParamSpec) -> Value {
    match param.kind {
        ParamKind::Number { unit, min, max, default } => json!({
            "name": param.name,
            "kind": "number",
            "unit": unit,
            "min": min,
            "max": max,
            "default": default,
            "about": param.about,
        }),
        ParamKind::Switch { default } => {
            json!({ "name": param.name, "kind": "switch", "default": default, "about": param.about })
        }
        ParamKind::Choice { words } => json!({
            "name": param.name,
            "kind": "choice",
            "words": words,
            "default": words.first(),
            "about": param.about,
        }),
    }
}

/// A signal as frames and motion files call it.
fn key(signal: Signal) -> &'static str {
    match signal {
        Signal::LinearVelocity => "linear_velocity",
        Signal::AngularVelocity => "angular_velocity",
        Signal::LinearAcceleration => "linear_acceleration",
        Signal::AngularAcceleration => "angular_acceleration",
        Signal::FeltAcceleration => "felt_acceleration",
        Signal::FeltStrainX => "felt_strain_x",
        Signal::FeltStrainY => "felt_strain_y",
        Signal::FeltStrainZ => "felt_strain_z",
        Signal::FeltUp => "felt_up",
    }
}
