//! Commands of this program that another command starts, each in a process of its own.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;
use std::{io, thread};

use anyhow::Context as _;
use kadenz_lab::stop::Stop;

/// Kept notes are read this far.
const MAX_NOTES: u64 = 1 << 20;
/// How often it is looked whether a child has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where a child's notes go.
#[derive(Clone, Copy)]
pub(super) enum Notes {
    /// To the user.
    Shown,
    /// Nowhere.
    Dropped,
    /// Into a file, for the error that may follow: a pipe that nobody reads would hold the child up.
    Kept,
}

/// A command of this program that runs. However this process ends, the child ends too and keeps
/// what it has: its standard input closes then.
pub(super) struct Running {
    child: Child,
    words: String,
    notes: Option<File>,
}

/// Starts `kadenz` with these arguments.
pub(super) fn start(arguments: &[String], stdout: Stdio, notes: Notes) -> anyhow::Result<Running> {
    let (stderr, notes) = match notes {
        Notes::Shown => (Stdio::inherit(), None),
        Notes::Dropped => (Stdio::null(), None),
        Notes::Kept => {
            let file = tempfile::tempfile().context("cannot make a temporary file")?;
            (file.try_clone()?.into(), Some(file))
        }
    };
    let words = format!("kadenz {}", arguments.join(" "));
    let program = std::env::current_exe().context("cannot find this program itself")?;
    let child = Command::new(program)
        .args(arguments)
        .arg("--until-stdin-closes")
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .with_context(|| format!("cannot start {words}"))?;
    Ok(Running {
        child,
        words,
        notes,
    })
}

impl Running {
    /// What was started, as one would type it.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// Waits for its end, which comes early if `stop` is requested.
    pub(super) fn wait(&mut self, stop: &Stop) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if stop.requested() {
                self.end();
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether it runs still.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Says a line on its standard input.
    pub(super) fn tell(&mut self, line: &str) -> io::Result<()> {
        match &mut self.child.stdin {
            Some(stdin) => writeln!(stdin, "{line}").and_then(|()| stdin.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Asks it to end.
    pub(super) fn end(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Asks it to end, and waits for what it has said.
    pub(super) fn finish(mut self) -> io::Result<Output> {
        self.end();
        let mut output = self.child.wait_with_output()?;
        if let Some(mut notes) = self.notes {
            notes.rewind()?;
            notes.take(MAX_NOTES).read_to_end(&mut output.stderr)?;
        }
        Ok(output)
    }
}
