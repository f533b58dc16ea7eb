//! `sinew effects [NAME]`: the registry, in text or JSON.

use crate::args::EffectsArgs;
use crate::fault::Fault;
use crate::output;
use crate::text::{Align, table, wrap};
use serde_json::{Value, json};
use sinew::Signal;
use sinew::displace::Input;
use sinew::param::{ParamKind, ParamSpec};
use sinew::registry::{EFFECTS, Effect, find};
use sinew::text::nearest;
use std::io::{self, Write};

pub fn run(options: &EffectsArgs) -> Result<(), Fault> {
    let one = options.name.as_deref().map(named).transpose()?;
    if options.json {
        let value = one.map_or_else(|| EFFECTS.iter().map(|effect| describe(*effect)).collect(), describe);
        return output::to_stdout(|out| writeln!(out, "{value:#}"));
    }
    output::text_to_stdout(|out| match one {
        Some(effect) => print(effect, out),
        None => list(out),
    })
}

fn named(name: &str) -> Result<&'static dyn Effect, Fault> {
    find(name).ok_or_else(|| {
        let names: Vec<_> = EFFECTS.iter().map(|effect| effect.name()).collect();
        let hint = nearest(name, names.iter().copied()).map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
        Fault::Usage(format!("there is no effect \"{name}\"{hint} There are: {}", names.join(", ")))
    })
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<_> = EFFECTS.iter().map(|e| vec![e.name().to_owned(), e.about().to_owned()]).collect();
    for line in table(&[("", Align::Left), ("", Align::Left)], &rows) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\n`sinew effects NAME` lists the parameters of one.")
}

fn print(effect: &dyn Effect, out: &mut dyn Write) -> io::Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}", effect.name())?;
    for line in wrap(effect.about(), 2) {
        writeln!(out, "{line}")?;
    }
    let params = effect.params();
    let row = |param: &ParamSpec| {
        let (default, range) = match param.kind {
            ParamKind::Number { unit, min, max, default } => (format!("{default} {unit}"), format!("{min} to {max}")),
            ParamKind::Switch { default } => (default.to_string(), "true, false".to_owned()),
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
    writeln!(out, "\nIn a recipe every effect also takes gain, raw, map and bones.")
}

fn describe(effect: &dyn Effect) -> Value {
    let params: Vec<_> = effect.params().iter().map(describe_param).collect();
    let describe_input = |input: &Input| {
        let filter: Vec<_> = input.params().collect();
        let kind = match input {
            Input::LowPass(..) => "low-pass",
            Input::Derivative(..) => "derivative",
            Input::Oscillator(..) => "oscillator",
        };
        json!({ "signal": key(input.signal()), "filter": kind, "params": filter })
    };
    let inputs: Vec<_> = effect.inputs().iter().map(describe_input).collect();
    json!({ "name": effect.name(), "about": effect.about(), "params": params, "inputs": inputs })
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
    }
}

/// A signal as frames and motion files call it.
fn key(signal: Signal) -> &'static str {
    match signal {
        Signal::LinearVelocity => "linear_velocity",
        Signal::AngularVelocity => "angular_velocity",
        Signal::LinearAcceleration => "linear_acceleration",
        Signal::AngularAcceleration => "angular_acceleration",
    }
}
