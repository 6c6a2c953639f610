//! The toolbox for MATLAB in GNU Octave: its own tests, and its page.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{HOME, has, install, programs, sh};

/// Installs the library, builds the bridge in a copy of the toolbox, and returns the lines that go before each script.
pub(crate) fn toolbox(folder: &Path) -> Option<String> {
    if !(has("octave-cli", "the toolbox for MATLAB") && has("mkoctfile", "the toolbox for MATLAB"))
    {
        return None;
    }
    install(&folder.join(".local"));
    let from = Path::new(HOME).join("../matlab");
    let copy = format!(
        "mkdir -p bindings && cp -r '{}' bindings/matlab",
        from.display()
    );
    sh(&copy, folder);
    let build = &programs("matlab.md", "sh")[0];
    let (_, build) = build.split_once('\n').unwrap();
    sh(
        &format!("rm -f bindings/matlab/*.mex bindings/matlab/*.oct\n{build}"),
        folder,
    );
    Some("addpath('bindings/matlab');".to_owned())
}

#[test]
fn the_toolbox_does_what_its_tests_say() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = toolbox(folder.path()) else {
        return;
    };
    let tests = "addpath('bindings/matlab/tests'); test_kadenz(pwd());";
    let printed = sh(
        &format!("octave-cli --eval \"{path} {tests}\" 2>&1 || true"),
        folder.path(),
    );
    assert!(printed.contains(" passed, 0 failed"), "{printed}");
}

#[test]
fn the_page_s_programs_run_as_printed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = toolbox(folder.path()) else {
        return;
    };
    let programs = programs("matlab.md", "matlab");
    let expected = [
        "lateness",
        "message =",
        "59 devices",
        "480 x 640 x 3",
        "scalar structure",
    ];
    assert_eq!(programs.len(), expected.len());
    for (program, expected) in programs.iter().zip(expected) {
        std::fs::write(folder.path().join("it.m"), format!("{path}\n{program}")).unwrap();
        let printed = sh("octave-cli it.m 2>&1", folder.path());
        assert!(
            printed.contains(expected) && !printed.contains("error: kadenz"),
            "{printed}"
        );
    }
}

#[test]
fn ctrl_c_ends_what_waits_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = toolbox(folder.path()) else {
        return;
    };
    let script = "sub = kadenz.Node('memq://').subscriber('A'); printf('waits\\n'); fflush(stdout); sub.receive();";
    let mut octave = Command::new("octave-cli")
        .args(["--eval", &(path + script)])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(octave.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(said, "waits\n");
    sh(&format!("kill -INT {}", octave.id()), folder.path());
    // The test hangs where this program does not end.
    octave.wait().unwrap();
}
