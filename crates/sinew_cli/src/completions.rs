//! `sinew completions SHELL`.

use crate::args::{Args, CompletionsArgs};
use crate::fault::Fault;
use crate::output;
use clap::CommandFactory;

pub fn run(options: &CompletionsArgs) -> Result<(), Fault> {
    // The generator panics where it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Args::command(), "sinew", &mut script);
    output::to_stdout(|out| out.write_all(&script))
}
