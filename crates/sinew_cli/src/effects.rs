//! `sinew effects [NAME]`: effects, corrections and bases, in text or JSON; `--template`: all of them as a recipe.

use crate::args::EffectsArgs;
use crate::fault::Fault;
use crate::output;
use crate::text::{Align, table, wrap};
use serde_json::{Value, json};
use sinew::base::{BASES, BaseEntry};
use sinew::correct::{CORRECTIONS, Correction};
use sinew::displace::Input;
use sinew::param::{ParamKind, ParamSpec};
use sinew::recipe::{CORRECTION_KEYS, EFFECT_KEYS, EffectSpec, KeyKind, SharedKey};
use sinew::registry::{EFFECTS, Effect};
use sinew::table::{CellKind, CellSpec, RowKind, TableSpec};
use sinew::text::nearest;
use sinew::{RecipeFile, Signal};
use std::io::{self, Write};

/// What a recipe may ask for.
#[derive(Clone, Copy)]
enum Entry {
    Effect(&'static Effect),
    Correction(&'static Correction),
    Base(&'static BaseEntry),
}

/// A key that is no parameter.
struct Key {
    name: String,
    takes: String,
    about: String,
}

impl Key {
    fn new(name: impl Into<String>, takes: impl Into<String>, about: impl Into<String>) -> Self {
        Self { name: name.into(), takes: takes.into(), about: about.into() }
    }

    fn shared<S>(key: &SharedKey<S>) -> Vec<Self> {
        match key.kind {
            KeyKind::Param(kind) => {
                let (default, range) = ranges(kind, None);
                vec![Self::new(key.name, format!("{range}; {} by default", default.trim_end()), key.about)]
            }
            KeyKind::Share { example } => vec![Self::new(key.name, format!("share, such as {example}"), key.about)],
            KeyKind::Names { example } => vec![Self::new(key.name, format!("names, such as {example}"), key.about)],
            KeyKind::Map => vec![Self::new(key.name, "painted map", key.about)],
            KeyKind::Cells { cells, .. } => {
                let whole = Self::new(key.name, "true, false, table", key.about);
                std::iter::once(whole).chain(cells.iter().map(|cell| Self::cell(key.name, cell))).collect()
            }
            KeyKind::Table(table) => Self::table(table),
        }
    }

    fn table(table: &TableSpec) -> Vec<Self> {
        let whole = match table.row {
            RowKind::One(kind) => Self::new(table.key, format!("by bone: {}", takes(kind)), table.about),
            RowKind::Cells(_) => Self::new(table.key, "by bone: table", table.about),
        };
        std::iter::once(whole).chain(table.row.cells().iter().map(|cell| Self::cell(table.key, cell))).collect()
    }

    fn cell(key: &str, cell: &CellSpec) -> Self {
        Self::new(format!("  {key}.{}", cell.name), takes(cell.kind), cell.about)
    }
}

fn takes(kind: CellKind) -> String {
    match kind {
        CellKind::Number(range) => range.to_string(),
        CellKind::Keyed(range) => format!("{range}, or keys of it over time"),
        CellKind::Numbers { each, .. } => format!("{} numbers", each.len()),
        CellKind::Lists { each, .. } => format!("lists of {} numbers", each.len()),
        CellKind::Word(words) => words.join(", "),
        CellKind::Bones => "bone names".to_owned(),
        CellKind::Bone => "bone name".to_owned(),
        CellKind::Map => "painted map".to_owned(),
    }
}

impl Entry {
    fn all() -> impl Iterator<Item = Self> {
        let effects = EFFECTS.iter().copied().map(Self::Effect);
        effects.chain(CORRECTIONS.iter().map(Self::Correction)).chain(BASES.iter().map(Self::Base))
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Effect(_) => "effect",
            Self::Correction(_) => "correction",
            Self::Base(_) => "base",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Effect(effect) => effect.name(),
            Self::Correction(correction) => correction.name,
            Self::Base(base) => base.name,
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Effect(effect) => effect.about(),
            Self::Correction(correction) => correction.about,
            Self::Base(base) => base.about,
        }
    }

    fn params(self) -> &'static [ParamSpec] {
        match self {
            Self::Effect(effect) => effect.params(),
            Self::Correction(correction) => correction.params,
            Self::Base(base) => base.params,
        }
    }

    /// What a recipe takes beside the parameters.
    fn keys(self) -> Vec<Key> {
        let map = |mapped: Option<&str>| {
            mapped.map(|mapped| Key::new("map", "painted map", format!("painted map that multiplies the {mapped}")))
        };
        match self {
            Self::Effect(effect) => {
                let spec = EffectSpec::of(effect);
                EFFECT_KEYS.iter().filter(|key| key.applies_to(&spec)).flat_map(Key::shared).collect()
            }
            Self::Correction(correction) => {
                let mut keys: Vec<Key> = CORRECTION_KEYS.iter().flat_map(Key::shared).collect();
                keys.extend(map(correction.mapped));
                keys.extend(correction.tables.iter().flat_map(Key::table));
                if !correction.scaled.is_empty() {
                    let about = format!("painted maps that multiply {}", correction.scaled.join(", "));
                    keys.push(Key::new("maps", "painted maps", about));
                }
                keys
            }
            Self::Base(base) => map(base.mapped).into_iter().chain(base.tables.iter().flat_map(Key::table)).collect(),
        }
    }

    /// Where it stands in a recipe.
    fn place(self) -> String {
        match self {
            Self::Effect(_) => "An effect: [[effect]] in a recipe. Every effect also takes:".to_owned(),
            Self::Correction(_) => "A correction: [[correction]] in a recipe. It also takes:".to_owned(),
            Self::Base(base) => {
                let ends = if base.mapped.is_some() || !base.tables.is_empty() { " It also takes:" } else { "" };
                format!("A base: base = \"{0}\" in a recipe, or base = {{ type = \"{0}\", … }}.{ends}", base.name)
            }
        }
    }
}

pub fn run(options: &EffectsArgs) -> Result<(), Fault> {
    if options.template {
        return output::to_stdout(|out| out.write_all(RecipeFile::template().as_bytes()));
    }
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
        Fault::Usage(format!("there is no effect, correction or base \"{name}\"{hint} There are: {}", names.join(", ")))
    })
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<_> =
        Entry::all().map(|e| vec![e.name().to_owned(), e.kind().to_owned(), e.about().to_owned()]).collect();
    for line in table(&[("", Align::Left), ("", Align::Left), ("", Align::Left)], &rows) {
        writeln!(out, "{line}")?;
    }
    writeln!(
        out,
        "\n`sinew effects NAME` lists the parameters of one, `sinew effects --template` writes a recipe of all."
    )
}

fn print(entry: Entry, out: &mut dyn Write) -> io::Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}", entry.name())?;
    for line in wrap(entry.about(), 2) {
        writeln!(out, "{line}")?;
    }
    let params = entry.params();
    if !params.is_empty() {
        let row = |param: &ParamSpec| {
            let (default, range) = ranges(param.kind, param.word_for_zero);
            vec![param.name.to_owned(), default, range]
        };
        let columns = [("parameter", Align::Left), ("default", Align::Left), ("range", Align::Left)];
        explained(&columns, &params.iter().map(row).collect::<Vec<_>>(), params.iter().map(|param| param.about), out)?;
    }
    writeln!(out)?;
    wrap(&entry.place(), 0).into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let keys = entry.keys();
    if keys.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = keys.iter().map(|key| vec![key.name.clone(), key.takes.clone()]).collect();
    explained(&[("key", Align::Left), ("takes", Align::Left)], &rows, keys.iter().map(|key| key.about.as_str()), out)
}

/// Default and range in words.
fn ranges(kind: ParamKind, word_for_zero: Option<&str>) -> (String, String) {
    match kind {
        ParamKind::Number { unit, min, max, default } => match word_for_zero {
            Some(word) => (word.to_owned(), format!("{word}, {min} to {max} {unit}").trim_end().to_owned()),
            None => (format!("{default} {unit}"), format!("{min} to {max}")),
        },
        ParamKind::Switch { default } => (default.to_string(), "true, false".to_owned()),
        ParamKind::Choice { words } => (words.first().copied().unwrap_or_default().to_owned(), words.join(", ")),
    }
}

/// A table whose last column runs on below itself.
fn explained<'a>(
    columns: &[(&str, Align)],
    rows: &[Vec<String>],
    abouts: impl Iterator<Item = &'a str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = table(columns, rows);
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) + 2;
    writeln!(out)?;
    for (line, about) in lines.iter().zip(std::iter::once("").chain(abouts)) {
        let mut about = wrap(about, width).into_iter();
        let first = about.next().unwrap_or_default();
        writeln!(out, "{}", format!("{line:<width$}{}", first.trim_start()).trim_end())?;
        about.try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

fn describe(entry: Entry) -> Value {
    let params: Vec<_> = entry.params().iter().map(describe_param).collect();
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
        Entry::Correction(_) | Entry::Base(_) => Vec::new(),
    };
    let key = |key: Key| json!({ "name": key.name.trim_start(), "takes": key.takes, "about": key.about });
    let keys: Vec<_> = entry.keys().into_iter().map(key).collect();
    json!({
        "name": entry.name(),
        "kind": entry.kind(),
        "about": entry.about(),
        "params": params,
        "keys": keys,
        "inputs": inputs,
    })
}

fn describe_param(param: &ParamSpec) -> Value {
    match param.kind {
        ParamKind::Number { unit, min, max, default } => json!({
            "name": param.name,
            "kind": "number",
            "unit": unit,
            "min": min,
            "max": max,
            "default": param.word_for_zero.map_or_else(|| json!(default), |word| json!(word)),
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
        Signal::FleshAcceleration => "felt_acceleration",
        Signal::FleshStrainX => "felt_strain_x",
        Signal::FleshStrainY => "felt_strain_y",
        Signal::FleshStrainZ => "felt_strain_z",
        Signal::FleshUp => "felt_up",
        Signal::FleshRight => "felt_right",
        Signal::FleshFront => "felt_front",
    }
}
