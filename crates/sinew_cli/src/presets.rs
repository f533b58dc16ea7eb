//! `sinew presets [NAME]`: ready-made recipes, and the text of one to start from.

use crate::args::PresetsArgs;
use crate::fault::Fault;
use crate::output;
use crate::text::{Align, table};
use sinew::presets::{get, names};
use sinew::text::nearest;
use std::io::{self, Write};

pub fn run(options: &PresetsArgs) -> Result<(), Fault> {
    match &options.name {
        Some(name) => {
            let text = named(name)?;
            output::to_stdout(|out| out.write_all(text.as_bytes()))
        }
        None => output::text_to_stdout(list),
    }
}

/// The recipe of that name, or the names there are.
pub fn named(name: &str) -> Result<&'static str, Fault> {
    get(name).ok_or_else(|| {
        let known: Vec<_> = names().iter().map(|preset| preset.name).collect();
        let hint = nearest(name, known.iter().copied()).map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
        Fault::Usage(format!("there is no preset \"{name}\"{hint} There are: {}", known.join(", ")))
    })
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<_> = names().iter().map(|preset| vec![preset.name.to_owned(), preset.about.to_owned()]).collect();
    for line in table(&[("", Align::Left), ("", Align::Left)], &rows) {
        writeln!(out, "{line}")?;
    }
    writeln!(
        out,
        "\nUse one with `--preset NAME`; `sinew presets NAME > my.sinew.toml` gives you a recipe to start from."
    )
}
