//! Tests of the languages over the library for C: C and C++ themselves, and the toolbox for MATLAB in GNU Octave.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod c_and_cpp;
mod hardware_in_the_loop;
mod octave;

use std::path::{Path, PathBuf};
use std::process::Command;

const HOME: &str = env!("CARGO_MANIFEST_DIR");

/// Whether a program is installed; where it is not, the test prints what it skips.
fn has(program: &str, what: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: {what}: no {program}: apt-get install {program}");
        assert!(
            std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
            "no {program}"
        );
    }
    is_there
}

/// libkadenz.so: the one that `cargo xtask test` built with the workspace, or else a new build.
fn library() -> PathBuf {
    if let Some(library) = std::env::var_os("KADENZ_C_LIBRARY") {
        return library.into();
    }
    // target/debug/deps/c_and_cpp-...
    let deps = std::env::current_exe().unwrap();
    let library = deps
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("libkadenz.so");
    let built = Command::new(env!("CARGO"))
        .args(["build", "-p", "kadenz-c"])
        .status()
        .unwrap();
    assert!(
        built.success() && library.is_file(),
        "{} is not there",
        library.display()
    );
    library
}

/// The programs on a page, in a language, in their order.
fn programs(page: &str, language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(Path::new(HOME).join("../../docs").join(page)).unwrap();
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    blocks
        .map(|it| it.split("```").next().unwrap().to_owned())
        .collect()
}

/// Installs the library below a folder.
fn install(prefix: &Path) {
    let mut xtask = Command::new(env!("CARGO"));
    xtask.args(["run", "-q", "-p", "xtask", "--", "install-c", "--library"]);
    let installed = xtask.arg(library()).arg("--prefix").arg(prefix).status();
    assert!(installed.unwrap().success());
}

fn sh(script: &str, folder: &Path) -> String {
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
