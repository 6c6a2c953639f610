//! Commands that a task starts: echoed first, so that a developer can repeat them by hand.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::num::NonZero;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The stream of a line of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The command in the shell's syntax: set variables, program, arguments.
pub(crate) fn spelled(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = value?;
        Some(format!("{}={}", name.display(), quoted(value)))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    variables
        .chain(words.map(quoted))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Runs a command with this program's output streams; true if it ended with 0.
pub(crate) fn run(command: &mut Command) -> Result<bool> {
    eprintln!("$ {}", spelled(command));
    let status = command.stdin(Stdio::null()).status();
    Ok(started(status, command)?.success())
}

/// Runs a command as [`run`] does; it must end with 0.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    ensure!(run(command)?, "`{}` failed", spelled(command));
    Ok(())
}

/// The result of starting a command, with the command in its error.
fn started<T>(result: io::Result<T>, command: &Command) -> Result<T> {
    result.with_context(|| format!("cannot start `{}`", spelled(command)))
}

/// As [`run`], for a command beside which others run: its output is shown in one piece, when it has ended.
pub(crate) fn run_beside(command: &mut Command) -> Result<bool> {
    let result = started(command.stdin(Stdio::null()).output(), command)?;
    let [out, err] = [&result.stdout, &result.stderr].map(|it| String::from_utf8_lossy(it));
    eprintln!("$ {}\n{out}{err}", spelled(command));
    Ok(result.status.success())
}

/// Runs a command silently and returns its standard output; an error holds its error text.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let result = started(command.stdin(Stdio::null()).output(), command)?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        bail!(
            "`{}` ended with {}:\n{}",
            spelled(command),
            result.status,
            said.trim()
        );
    }
    Ok(String::from_utf8_lossy(&result.stdout).into_owned())
}

/// Runs a command that may also end with 1, as `kadenz` does when a limit was missed, and returns
/// its standard output.
pub(crate) fn answer(command: &mut Command) -> Result<String> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let result = started(command.output(), command)?;
    match result.status.code() {
        Some(0 | 1) => Ok(String::from_utf8_lossy(&result.stdout).into_owned()),
        _ => bail!("`{}` ended with {}", spelled(command), result.status),
    }
}

/// As [`output`], for a command that prints JSON.
pub(crate) fn json(command: &mut Command) -> Result<Value> {
    Ok(serde_json::from_str(&output(command)?)?)
}

/// Whether a command starts and ends with 0; discards its output.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let status = silent(command).status();
    status.is_ok_and(|status| status.success())
}

/// The command, without input and output.
pub(crate) fn silent(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

/// Runs a function on as many threads as there are CPUs; returns what each returned.
pub(crate) fn on_every_cpu<T: Send>(work: impl Fn() -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cpus()).map(|_| scope.spawn(&work)).collect();
        let joined = threads.into_iter().map(|it| it.join());
        joined
            .map(|it| it.unwrap_or_else(|_| bail!("a worker panicked")))
            .collect()
    })
}

/// The number of CPUs.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs a command and calls `on_line` with every line of both its streams, in the order of arrival.
pub(crate) fn tee(
    command: &mut Command,
    mut on_line: impl FnMut(Stream, &str),
) -> Result<ExitStatus> {
    eprintln!("$ {}", spelled(command));
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = started(command.spawn(), command)?;
    let (sender, lines) = sync_channel(1024);
    if let Some(out) = child.stdout.take() {
        forward(out, Stream::Out, sender.clone());
    }
    if let Some(err) = child.stderr.take() {
        forward(err, Stream::Err, sender);
    }
    // They end when both threads have dropped their senders.
    for (stream, line) in lines {
        on_line(stream, &line);
    }
    child
        .wait()
        .with_context(|| format!("cannot wait for `{}`", spelled(command)))
}

fn forward(stream: impl Read + Send + 'static, name: Stream, sender: SyncSender<(Stream, String)>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line)
                .trim_end_matches('\r')
                .to_owned();
            if sender.send((name, line)).is_err() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_spelled_so_that_a_shell_takes_it() {
        let mut command = Command::new("cargo");
        command
            .args(["test", "a b", "it's"])
            .env("RUSTFLAGS", "--cfg loom");
        assert_eq!(
            spelled(&command),
            r"RUSTFLAGS='--cfg loom' cargo test 'a b' 'it'\''s'"
        );
    }

    #[test]
    fn tee_hands_over_both_streams_and_the_status() {
        let mut seen = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let status = tee(&mut command, |stream, line| {
            seen.push((stream, line.to_owned()));
        });
        seen.sort_by(|a, b| a.1.cmp(&b.1));
        assert_eq!(
            seen,
            [(Stream::Out, "one".into()), (Stream::Err, "two".into())]
        );
        assert_eq!(status.expect("sh starts").code(), Some(3));
    }

    #[test]
    fn a_missed_limit_is_an_answer_and_a_failure_is_none() {
        let ending = |code: u8| {
            let script = format!("echo said; exit {code}");
            answer(Command::new("sh").args(["-c", &script]))
        };
        assert_eq!(ending(1).expect("an answer"), "said\n");
        assert!(ending(2).is_err());
    }

    #[test]
    fn the_error_of_a_failed_command_holds_what_it_said() {
        let error = output(Command::new("sh").args(["-c", "echo broken >&2; exit 1"]));
        let error = format!("{:#}", error.expect_err("it ended with 1"));
        assert!(error.contains("broken"), "{error}");
    }
}
