//! Foreign programs that the tests compare with where they are installed.

#![allow(
    dead_code,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "each test takes what it needs, a panic is its answer, and skips must be seen"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Reports what a test lacks; fails where nothing may be skipped.
pub(crate) fn skip(test: &str, lack: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} may not be skipped here: {lack}"
    );
    eprintln!("skipped: {test}: {lack}");
}

/// A file of the golden data.
pub(crate) fn conformance(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance")
        .join(path)
}

/// Whether a program succeeds with `arguments`.
pub(crate) fn answers(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The jar of Java's HdrHistogram, if it and a Java are installed; otherwise reports a skipped test.
pub(crate) fn hdrhistogram_jar(test: &str) -> Option<PathBuf> {
    let jar = std::env::var_os("KADENZ_HDRHISTOGRAM_JAR").map(PathBuf::from);
    let jar = jar.filter(|jar| jar.is_file() && answers("java", &["-version"]));
    if jar.is_none() {
        skip(
            test,
            "java and KADENZ_HDRHISTOGRAM_JAR, the HdrHistogram 2.2.2 of Maven Central",
        );
    }
    jar
}

/// A Python that has pyarrow; reports a skipped test and returns `None` where there is none.
pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("KADENZ_PYTHON").map_or(PathBuf::from("python3"), PathBuf::from);
    if answers(&python, &["-c", "import pyarrow"]) {
        return Some(python);
    }
    skip(
        test,
        "a Python with pyarrow, named in KADENZ_PYTHON (pip install pyarrow)",
    );
    None
}

/// Runs a program that must succeed; returns its output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out.into_owned()
}
