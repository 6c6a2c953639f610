//! Commands of this program that another command starts, each in a process of its own.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;
use std::{io, thread};

use anyhow::Context as _;
use kadenz::lab::stop::Stop;

/// Longest kept notes that are read, in bytes.
const MAX_NOTES: u64 = 1 << 20;
/// Interval at which the end of a child is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Where a child's notes go.
#[derive(Clone, Copy)]
pub(super) enum Notes {
    /// To the user.
    Shown,
    /// Nowhere: they are discarded.
    Dropped,
    /// Into a file, for the error that may follow: a full pipe that no program reads would block the child.
    Kept,
}

/// A running command of this program. However this process ends, the child ends too and keeps its data: its standard
/// input closes then.
pub(super) struct Running {
    child: Child,
    words: String,
    notes: Option<File>,
}

/// Writes arguments as a user types them, in quotes where a shell would split them.
pub(super) fn as_typed(arguments: &[String]) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_=:/.,+@%{}".contains(it);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let words: Vec<String> = arguments.iter().map(quoted).collect();
    format!("kadenz {}", words.join(" "))
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
    let words = as_typed(arguments);
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
    /// The command as a user would type it.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// Waits for the child's end, which comes early if a stop is requested.
    pub(super) fn wait(&mut self, stop: &Stop) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if stop.requested() {
                self.end();
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Whether it still runs.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Writes a line to its standard input.
    pub(super) fn send_line(&mut self, line: &str) -> io::Result<()> {
        match &mut self.child.stdin {
            Some(stdin) => writeln!(stdin, "{line}").and_then(|()| stdin.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Requests its end by closing its standard input.
    pub(super) fn end(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Requests its end, and collects its output.
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

/// How long a load runs before a measurement begins beside it.
const SETTLE: Duration = Duration::from_secs(3);

/// Starts a `kadenz load` for a measurement, and waits until it is under way, or until a stop is requested.
///
/// # Errors
/// The load cannot be started, or ends before the measurement begins.
pub(super) fn start_load(words: &[String], stop: &Stop) -> io::Result<Running> {
    let started = start(words, Stdio::piped(), Notes::Kept);
    let mut load = started.map_err(io::Error::other)?;
    for _ in 0..SETTLE.as_millis() / POLL_INTERVAL.as_millis() {
        thread::sleep(POLL_INTERVAL);
        load = still_runs(load)?;
        if stop.requested() {
            break;
        }
    }
    Ok(load)
}

/// Returns the load if it still runs; else an error with its output.
pub(super) fn still_runs(mut load: Running) -> io::Result<Running> {
    if load.runs() {
        return Ok(load);
    }
    let words = load.words().to_owned();
    let said = load.finish()?;
    Err(failed(&words, &said.stderr))
}

/// The output of a failed command as an error of one line.
pub(super) fn failed(words: &str, stderr: &[u8]) -> io::Error {
    let said = String::from_utf8_lossy(stderr);
    let is_error = |line: &&str| line.starts_with("kadenz:") || line.starts_with("error:");
    let reason = said.lines().find(is_error).or(said.lines().last());
    io::Error::other(format!(
        "`{words}` ended: {}",
        reason.unwrap_or("it gave no reason")
    ))
}
