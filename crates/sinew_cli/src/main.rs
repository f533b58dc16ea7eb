//! The program `sinew`: the command line of the process, and interrupts.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Without a handler an interrupt still ends the program, but may leave a half-written file behind.
    let _ = ctrlc::set_handler(|| {
        sinew_files::discard_unfinished();
        std::process::exit(sinew_cli::INTERRUPTED);
    });
    ExitCode::from(sinew_cli::run(std::env::args_os()))
}
