//! Conventions every command keeps: exit codes, what goes to stdout and what to stderr, colour, files never
//! overwritten, pipes closed early, interrupts.

use crate::common::{Folder, command, sinew};
use sinew_testkit::glb::Builder;
use std::io::Read;
use std::process::Stdio;

#[test]
fn exit_codes() {
    for (code, args) in [
        (0, &["--help"][..]),
        (0, &["--version"]),
        (0, &["help", "frame"]),
        (0, &["effects"]),
        (0, &["effects", "--template"]),
        (0, &["presets"]),
        (0, &["presets", "lively"]),
        (0, &["frame", "zoo:tube", "-o", "-", "--preset", "jelly"]),
        (0, &["inspect", "zoo:tube"]),
        (1, &["inspect", "no-such-file.glb"]),
        (1, &["frame", "no-such-file.glb", "-o", "-"]),
        (1, &["frame", "zoo:tube", "-o", "-", "--recipe", "no-such.sinew.toml"]),
        (1, &["frame", "zoo:tube", "-o", "-", "--motion", "no-such.toml"]),
        (1, &["frame", "zoo:tube", "-o", "no-such-folder/frame.obj"]),
        (2, &[]),
        (2, &["dance"]),
        (2, &["inspect"]),
        (2, &["inspect", "zoo:tube", "--no-such-flag"]),
        (2, &["inspect", "zoo:unicorn"]),
        (2, &["inspect", "zoo:tube:bones=0"]),
        (2, &["effects", "no-such-effect"]),
        (2, &["effects", "floppy", "--template"]),
        (2, &["presets", "no-such-preset"]),
        (2, &["frame", "zoo:tube", "-o", "-", "--preset", "no-such-preset"]),
        (2, &["frame", "zoo:tube", "-o", "-", "--preset", "lively", "--recipe", "mine.sinew.toml"]),
        (2, &["frame", "zoo:tube"]),
        (2, &["frame", "zoo:tube", "-o", "frame.xyz"]),
        (2, &["frame", "zoo:tube", "-o", "-", "--time", "NaN"]),
        (2, &["frame", "zoo:tube", "-o", "-", "--time", "soon"]),
        (2, &["frame", "zoo:tube", "-o", "-", "--base", "cubist"]),
        (2, &["frame", "zoo:tube", "-o", "-", "--loop", "maybe"]),
        (2, &["frame", "zoo:tube", "-o", "-", "--clip", "no such clip"]),
        (2, &["frame", "zoo:tube", "-o", "-", "--clip", "99"]),
        (2, &["completions", "teletype"]),
    ] {
        let run = sinew(args);
        assert_eq!(run.code, code, "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout.is_empty(), code != 0, "{args:?}: data on stdout only where there is some");
        assert_eq!(run.stderr.is_empty(), code == 0, "{args:?}: talk on stderr only where there is some");
    }
}

#[test]
fn errors_name_the_thing_and_what_is_nearest() {
    for (args, expected) in [
        (&["effects", "flopy"][..], "did you mean \"floppy\"?"),
        (&["presets", "livly"], "did you mean \"lively\"? There are: subtle, lively, cartoon, "),
        (&["frame", "zoo:tube", "--preset", "jely", "-o", "-"], "did you mean \"jelly\"?"),
        (&["inspect", "zoo:tub"], "did you mean \"tube\"?"),
        (&["frame", "zoo:tube", "--clip", "wav", "-o", "-"], "did you mean \"wave\"? Clips: 0 \"wave\", 1 \"twist\""),
        (&["inspect", "no-such-file.glb"], "no-such-file.glb: "),
    ] {
        let run = sinew(args);
        assert!(run.stderr.starts_with("error: ") && run.stderr.contains(expected), "{args:?}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
}

/// A file that draws a warning.
fn dirty(folder: &Folder) -> String {
    let builder = Builder::rigged().with("/nodes/0/translation", serde_json::json!([1, 0, 0]));
    folder.write("dirty.glb", builder.glb())
}

#[test]
fn warnings_go_to_stderr_and_quiet_silences_them() {
    let folder = Folder::new();
    let file = dirty(&folder);
    let args = ["frame", &file, "-o", "-"];
    let run = sinew(args);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("warning: ") && run.stderr.contains("[skinned-mesh-transform]"), "{}", run.stderr);
    let frame: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(frame["warnings"][0]["code"], "skinned-mesh-transform");
    let quiet = sinew(args.iter().chain(&["--quiet"]));
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
    assert_eq!(quiet.stdout, run.stdout);
    // In a report they are data.
    let report = sinew(["inspect", &file]);
    assert!(report.stdout.contains("skinned-mesh-transform") && report.stderr.is_empty());
}

#[test]
fn errors_are_told_even_when_quiet() {
    let run = sinew(["inspect", "no-such-file.glb", "--quiet"]);
    assert!(run.code == 1 && run.stderr.starts_with("error: "));
}

#[test]
fn colour_only_where_asked_and_never_with_no_color() {
    let run = |variables: &[(&str, &str)], args: &[&str]| {
        let output = command().args(args).envs(variables.iter().copied()).output().unwrap();
        [output.stdout, output.stderr].concat().contains(&0x1b)
    };
    for args in [&["inspect", "zoo:tube"][..], &["effects", "floppy"], &["inspect", "no-such-file.glb"]] {
        assert!(!run(&[], args), "{args:?}: a pipe is no terminal");
        assert!(run(&[("CLICOLOR_FORCE", "1")], args), "{args:?}: asked for");
        assert!(!run(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], args), "{args:?}: forbidden");
    }
}

#[test]
fn files_are_never_overwritten_without_force() {
    let folder = Folder::new();
    let target = folder.write("frame.obj", "precious");
    let refused = sinew(["frame", "zoo:tube", "-o", &target]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("frame.obj") && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    assert_eq!(sinew(["frame", "zoo:tube", "-o", &target, "--force"]).code, 0);
    assert!(std::fs::read_to_string(&target).unwrap().starts_with("o tube\nv "));
    assert_eq!(folder.names(), ["frame.obj"], "nothing is left behind");
}

#[test]
fn a_failure_leaves_no_file() {
    let folder = Folder::new();
    assert_eq!(sinew(["frame", "zoo:tube", "--clip", "nope", "-o", &folder.join("frame.json")]).code, 2);
    assert_eq!(sinew(["frame", "zoo:tube", "-o", folder.path().to_str().unwrap(), "--format", "obj"]).code, 1);
    assert!(folder.names().is_empty());
}

#[cfg(unix)]
#[test]
fn new_files_have_the_permissions_of_new_files_and_links_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let plain = folder.write("plain", "");
    let target = folder.join("frame.ply");
    assert_eq!(sinew(["frame", "zoo:tube", "-o", &target]).code, 0);
    let mode = |path: &str| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&target), mode(&plain));
    let link = folder.join("link.ply");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(sinew(["frame", "zoo:tube", "-o", &link]).code, 1);
    assert_eq!(sinew(["frame", "zoo:tube", "-o", &link, "--force"]).code, 0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_closed_pipe_is_no_failure() {
    for args in [
        &["frame", "zoo:tube", "-o", "-"][..],
        &["frame", "zoo:tube:vertices=20000", "--format", "obj", "-o", "-"],
        &["frame", "zoo:tube:vertices=20000", "--format", "ply", "-o", "-"],
        &["inspect", "zoo:tube:bones=2000", "--json"],
        &["inspect", "zoo:tube:bones=4000", "--all"],
        &["completions", "bash"],
        &["effects", "--json"],
        &["--help"],
    ] {
        let mut child = command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let _ = stdout.read(&mut [0; 16]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_with_130() {
    // Nobody reads the pipe, so the command is stuck in its output when the signal comes.
    let mut child = command()
        .args(["frame", "zoo:tube:vertices=20000", "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = sinew(["completions", shell]);
        assert_eq!(run.code, 0, "{shell}");
        for word in ["inspect", "effects", "presets", "frame", "completions"] {
            assert!(run.stdout.contains(word), "{shell} {word}");
        }
    }
}

#[test]
fn names_from_files_cannot_command_the_terminal() {
    let folder = Folder::new();
    let builder = Builder::rigged()
        .with("/nodes/1/name", serde_json::json!("lower\u{1b}[31m\nred"))
        .with("/animations/0/name", serde_json::json!("\u{9b}31m"));
    let file = folder.write("rude.glb", builder.glb());
    for args in [&["inspect", &file][..], &["frame", &file, "--clip", "x", "-o", "-"]] {
        let run = sinew(args);
        let said = run.stdout + &run.stderr;
        assert!(!said.contains(['\u{1b}', '\u{9b}']), "{said:?}");
    }
}
