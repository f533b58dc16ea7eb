//! Running programs from the root of the workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

/// The root of the workspace.
pub fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The target directory this program was built in, wherever the configuration puts it.
pub fn target_dir() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    exe.ancestors().nth(2).map_or_else(|| root().join("target"), Path::to_owned)
}

/// `program`, to be run at the root.
pub fn program(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The cargo that runs this program, with `args` separated by spaces.
pub fn cargo(args: &str) -> Command {
    let mut cargo = program(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    cargo.args(args.split_whitespace());
    cargo
}

/// Runs to the end with output going straight through; anything but success is an error in words.
pub fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} ended with {status}", describe(command))),
        Err(error) => Err(format!("{} does not start: {error}", describe(command))),
    }
}

/// Whether the program starts and succeeds, quietly.
pub fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Python in an environment of its own, with a module that `package` holds.
pub fn python(folder: &Path, module: &str, package: &str) -> Result<Command, String> {
    let python = folder.join("bin/python");
    let find = format!("import importlib.util as u; exit(not u.find_spec('{module}'))");
    if !works(Command::new(&python).args(["-c", &find])) {
        succeed(program("python3").args(["-m", "venv"]).arg(folder))?;
        succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet", package]))?;
    }
    Ok(program(&python.to_string_lossy()))
}

/// What the program prints on stdout, if it succeeds.
pub fn stdout(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// The command as one would type it.
pub fn describe(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Ends this program as another one ended.
pub fn exit_like(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
