//! Foreign programs.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Reports a test as skipped; fails where nothing may be skipped.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn skip(test: &str, what: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none(),
        "{test} needs {what}"
    );
    eprintln!("skipped: {test}: {what}");
}

/// A Python that has a module; reports a skipped test and returns `None` where there is none.
pub(crate) fn python(test: &str, module: &str, how: &str) -> Option<PathBuf> {
    let named = std::env::var_os("KADENZ_PYTHON").map(PathBuf::from);
    let all = named.into_iter().chain([PathBuf::from("/usr/bin/python3")]);
    let mut having = all.filter(|python| {
        let import = format!("import {module}");
        let output = Command::new(python).args(["-c", &import]).output();
        output.is_ok_and(|output| output.status.success())
    });
    let found = having.next();
    if found.is_none() {
        skip(test, &format!("a Python with {module} ({how})"));
    }
    found
}

/// A program that ends with the test.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = sync_channel(10_000);
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // No test reads more lines than fit.
                let _ = sender.try_send(line);
            }
        });
        Self { child, lines }
    }

    /// The lines that the program has printed since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file beside these tests.
pub(crate) fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/providers")
        .join(name)
}
