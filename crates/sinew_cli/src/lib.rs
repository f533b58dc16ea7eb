//! The `sinew` command: a thin skin over the libraries. Flags become plain values (`args`), a character is loaded in
//! one place (`load`), each command is a module of its own, and here alone exit codes are decided. What is public
//! serves the program itself and tests that run command lines without starting processes.

mod args;
mod bake;
mod bind;
mod check;
mod completions;
mod demo;
mod diff;
mod edit;
mod effects;
mod fault;
mod frame;
mod gpu;
mod gpu_check;
mod inspect;
mod limits;
mod liven;
mod load;
mod map;
mod output;
mod played;
mod pose;
mod presets;
mod progress;
mod recipe;
mod render;
mod strip;
mod talk;
mod text;

use args::{Args, Command};
use clap::Parser;
use fault::Fault;
use sinew_gltf::obj;
use std::ffi::OsString;
use talk::Talk;

const FAILURE: u8 = 1;
const USAGE: u8 = 2;
const FINDINGS: u8 = 3;
/// The status of a run that was interrupted.
pub const INTERRUPTED: i32 = 130;

/// Runs a command line, the program's name first, and gives the exit status.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(help_or_error) => {
            // Where help cannot be written, nobody reads it.
            let _ = help_or_error.print();
            return u8::try_from(help_or_error.exit_code()).unwrap_or(USAGE);
        }
    };
    let talk = Talk::new(args.quiet);
    limits::choose(args.limits);
    let outcome = match &args.command {
        Command::Liven(options) => liven::run(options, &talk),
        Command::Inspect(options) => inspect::run(options, &talk),
        Command::Effects(options) => effects::run(options),
        Command::Presets(options) => presets::run(options),
        Command::Frame(options) => frame::run(options, &talk),
        Command::Map(options) => map::run(options, &talk),
        Command::Render(options) => render::run(options, &talk),
        Command::Bake(options) => bake::run(options, &talk),
        Command::Pose(options) => pose::run(options, &talk),
        Command::Edit(options) => edit::run(options, &talk),
        Command::Check(options) => check::run(options, &talk),
        Command::Diff(options) => diff::run(options, &talk),
        Command::Strip(options) => strip::run(options, &talk),
        Command::Demo(options) => demo::run(options, &talk),
        Command::Bind(options) => bind::run(options, &talk),
        Command::GpuCheck(options) => gpu_check::run(options, &talk),
        Command::Completions(options) => completions::run(options),
    };
    match outcome {
        // A reader that has seen enough (`sinew … | head`) is no failure.
        Ok(()) | Err(Fault::BrokenPipe) => 0,
        Err(Fault::Findings) => FINDINGS,
        Err(Fault::Failed(message)) => {
            talk.error(&message);
            FAILURE
        }
        Err(Fault::Usage(message)) => {
            talk.error(&message);
            USAGE
        }
    }
}
