//! The program's output: text for people and data for scripts.
//!
//! Everything that the program writes passes this module, so that no text of a run, a log, a message or an argument
//! controls a terminal: words are written as [`visible`] shows them, and strings in JSON have JSON's escapes for the
//! same characters. Only [`Text`] has colours.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is the one place of the program that speaks"
)]

mod options;
mod reply;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::{ExitCode, Stdio};
use std::sync::OnceLock;

use kadenz::report::document::{Answer, Document, Table};
use kadenz::report::text::{Text, is_hidden, one_line, visible};
use kadenz::rt::tuning::Measure;
use serde::Serialize;

pub(crate) use options::{
    OutputOptions, is_for_people, is_json, is_quiet, is_verbose, start, width_of_notes,
};
use options::{options, style};
pub(crate) use reply::Reply;

/// Result of a command, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command did everything, and every limit was kept: exit code 0.
    Kept,
    /// A limit was missed: exit code 1.
    Missed,
    /// The command did a part of its task only, and has printed the reason: exit code 2.
    Incomplete,
    /// The exit code of a started program.
    Program(u8),
}

impl Outcome {
    /// Missed, if a limit was missed.
    pub(crate) const fn missed_if(missed: bool) -> Self {
        if missed { Self::Missed } else { Self::Kept }
    }

    /// The same outcome, or incomplete if something was left out.
    pub(crate) const fn or_incomplete(self, incomplete: bool) -> Self {
        if incomplete { Self::Incomplete } else { self }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Kept => 0,
            Outcome::Missed => 1,
            Outcome::Incomplete => 2,
            Outcome::Program(code) => code,
        })
    }
}

/// Whether progress is redrawn: on a terminal, except with `--quiet`.
pub(crate) fn draws_progress() -> bool {
    io::stderr().is_terminal() && !is_quiet()
}

/// Whether standard output is a terminal.
pub(crate) fn is_shown_now() -> bool {
    io::stdout().is_terminal()
}

/// Destination of a started program's output that is not data.
pub(crate) fn of_notes() -> Stdio {
    io::stderr().into()
}

/// Standard output for a command that draws a whole screen, which must show foreign text as [`name`] does.
pub(crate) fn screen() -> io::Stdout {
    io::stdout()
}

/// A name or other foreign text as part of a line.
pub(crate) fn name(text: &str) -> Cow<'_, str> {
    one_line(text)
}

/// A column of a table: its header, and the text of its cells.
pub(crate) type Column<T> = (&'static str, fn(&T) -> String);

/// A table with a row for each item; the first columns, `words` of them, hold words.
pub(crate) fn table<T>(columns: &[Column<T>], words: usize, items: &[T]) -> Table {
    let head: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let row = |item| columns.iter().map(|(_, cell)| cell(item)).collect();
    Table::new(&head, words, items.iter().map(row).collect())
}

/// A document for people: as Markdown with `--markdown`, else for a terminal.
fn drawn(document: &Document) -> Text {
    match options().markdown {
        true => Text::from(document.markdown()),
        false => document.terminal(style()),
    }
}

/// Result of printing one of many answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// It was written.
    Something,
    /// The answer holds no text for people.
    Nothing,
    /// The reader has closed the output.
    Unread,
}

#[cfg(target_os = "linux")]
impl Printed {
    /// Whether a reader still takes the output.
    pub(crate) fn is_read(self) -> bool {
        self != Self::Unread
    }
}

/// Prints one answer of a continuing command, with `--json` as a line.
pub(crate) fn next_answer(answer: &impl Answer) -> anyhow::Result<Printed> {
    let is_read = if is_json() {
        json_line(answer)?
    } else {
        let text = drawn(&answer.document());
        if text.is_empty() {
            return Ok(Printed::Nothing);
        }
        let mut out = io::stdout().lock();
        is_taken(writeln!(out, "{text}").and_then(|()| out.flush()))
    };
    Ok(match is_read {
        true => Printed::Something,
        false => Printed::Unread,
    })
}

/// Prints text before the answer on standard output, for people; returns whether a reader still takes the output.
#[must_use]
pub(crate) fn live(text: &str) -> bool {
    !is_for_people() || print_line(text)
}

/// Prints a part of an answer's document before the rest is known; [`Reply::in_parts`] has the whole JSON.
pub(crate) fn part(document: impl FnOnce() -> Document) {
    if !is_json() {
        show(&drawn(&document()));
    }
}

/// The first error of standard output, except that its reader has closed it.
static UNWRITTEN: OnceLock<String> = OnceLock::new();

/// Whether standard output took what was written to it. A closed output (`| head`) is not an error; [`end`] reports
/// others.
fn is_taken(written: io::Result<()>) -> bool {
    let Err(error) = written else {
        return true;
    };
    if error.kind() != io::ErrorKind::BrokenPipe {
        UNWRITTEN.get_or_init(|| error.to_string());
    }
    false
}

/// The exit code of the program: this one, or 2, with an error, where standard output did not take everything.
pub(crate) fn end(code: ExitCode) -> ExitCode {
    let Some(reason) = UNWRITTEN.get() else {
        return code;
    };
    let reason = reason.split(" (os error").next().unwrap_or(reason);
    complain(&format!(
        "kadenz: cannot write the answer to standard output: {reason}; make room there or write it elsewhere"
    ));
    ExitCode::from(2)
}

/// Prints text on standard output. A closed output (`| head`) is not an error.
pub(crate) fn say(text: &str) {
    show(&Text::from(text));
}

/// As [`say`], with colours.
pub(crate) fn show(text: &Text) {
    let mut out = io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    is_taken(write!(out, "{text}{newline}").and_then(|()| out.flush()));
}

/// Writes bytes unchanged to standard output, which must not be a terminal.
///
/// # Errors
/// Standard output is a terminal.
pub(crate) fn raw(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    anyhow::ensure!(
        !out.is_terminal(),
        "bytes would steer the terminal; send them into a file (> FILE) or a program (| xxd)"
    );
    is_taken(out.write_all(bytes).and_then(|()| out.flush()));
    Ok(())
}

/// As [`say`], for continuing output; returns whether a reader still takes it.
#[must_use]
pub(crate) fn print_line(text: &str) -> bool {
    let mut out = io::stdout().lock();
    let text = visible(text);
    is_taken(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Writes data other than JSON to standard output: exact in a file or a pipe, and on a terminal as [`visible`] shows
/// it; returns whether a reader still takes the output.
pub(crate) fn data(text: &str) -> bool {
    let mut out = io::stdout().lock();
    let text = match out.is_terminal() {
        true => visible(text),
        false => Cow::Borrowed(text),
    };
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    is_taken(write!(out, "{text}{newline}").and_then(|()| out.flush()))
}

/// Writes data to standard output, a line for each value; returns whether a reader still takes the output.
pub(crate) fn json_line<T: Serialize>(value: &T) -> anyhow::Result<bool> {
    Ok(print_line(&escaped_json(&serde_json::to_string(value)?)))
}

/// Prints text on standard error: progress and notes, so that standard output stays data.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        complain(text);
    }
}

/// Prints the settings that the system refused, each with its remedy.
pub(crate) fn note_refused<'m>(measures: impl IntoIterator<Item = &'m Measure>) {
    for measure in measures.into_iter().filter(|it| !it.ok) {
        let reason = measure.reason.as_deref().unwrap_or("no reason was given");
        let remedy = measure.remedy.as_ref();
        let remedy = remedy.map_or_else(String::new, |it| format!("; remedy: {it}"));
        note(&format!(
            "{} not granted, {} in force ({reason}){remedy}",
            measure.requested, measure.granted
        ));
    }
}

/// Prints text on standard error even with `--quiet`: why something was not done.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(text));
}

/// Prints JSON on standard output.
pub(crate) fn say_json(json: &str) {
    say(&escaped_json(json));
}

/// JSON with escapes such as `\u202e` in its strings, which are the only place for such characters. The data stays
/// the same.
fn escaped_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |it: char| is_hidden(it) && it != '\n';
    if !json.chars().any(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Prints help or the version.
pub(crate) fn help(requested: &clap::Error) {
    is_taken(requested.print().and_then(|()| io::stdout().flush()));
}

/// Prints an error with its causes, each once.
pub(crate) fn error(error: &anyhow::Error) {
    complain(&format!("kadenz: {}", with_causes(error)));
}

/// The text of an error with its causes, each once.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Log filter unless `RUST_LOG` states another. rustdds warns of conditions that are usual on one host, such as a
/// loopback without multicast.
#[cfg(feature = "log")]
const USUAL_LOG: &str = "warn,rustdds=off";

/// `RUST_LOG` selects the log level, then the number of `--verbose`; by default warnings.
#[cfg(feature = "log")]
fn start_tracing(verbose: u8) {
    use tracing_subscriber::EnvFilter;

    let usual = || match verbose {
        0 => EnvFilter::new(USUAL_LOG),
        1 => EnvFilter::new("info"),
        2 => EnvFilter::new("debug"),
        _ => EnvFilter::new("trace"),
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| usual());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Visible(io::stderr()))
        .with_ansi(false)
        .without_time()
        .init();
}

/// Writes log lines as [`visible`] shows them: they contain foreign names and texts.
#[cfg(any(test, feature = "log"))]
struct Visible<W>(W);

#[cfg(any(test, feature = "log"))]
impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(visible(&text).as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_the_same_and_steers_no_terminal() {
        let hostile = serde_json::json!({
            "a\u{9b}31m": ["\u{1b}]0;x\u{7}", "\u{7f}\u{85}\u{202e}\u{2028}\u{e0001}", "plain \u{1f980}"],
        });
        let written = serde_json::to_string_pretty(&hostile).unwrap();
        let escaped = escaped_json(&written);
        assert!(escaped.chars().all(|it| it == '\n' || !is_hidden(it)));
        assert!(escaped.contains("\\u202e") && escaped.contains("\\udb40\\udc01"));
        let read: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read, hostile);
    }

    #[test]
    fn what_is_logged_steers_no_terminal() {
        let mut written = Vec::new();
        let name = "\u{1b}[2J\u{9b}2J";
        writeln!(Visible(&mut written), "from {name}").unwrap();
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "from \\u{1b}[2J\\u{9b}2J\n"
        );
    }
}
