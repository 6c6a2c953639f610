//! Words for people and data for scripts: who says what, where.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is the one place of the program that speaks"
)]

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{ArgAction, Args, ValueEnum};
use kadenz_report::terminal::Style;
use serde::Serialize;
use tracing_subscriber::EnvFilter;

/// How much is said, and how; every command takes it.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OutputOptions {
    /// Say the first sentence of a verdict only, and neither progress nor notes; errors, and data that
    /// was asked for, still come
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Log more on standard error, as RUST_LOG=info does; twice as debug, thrice as trace
    #[arg(long, short, global = true, action = ArgAction::Count)]
    verbose: u8,

    /// Whether to draw tables with lines and colours: on a terminal unless NO_COLOR is set, always or
    /// never
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    color: ColorOption,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ColorOption {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

static OPTIONS: OnceLock<OutputOptions> = OnceLock::new();

/// Takes the options for the rest of the process, and starts logging.
pub(crate) fn start(options: OutputOptions) {
    let options = OPTIONS.get_or_init(|| options);
    start_tracing(options.verbose);
}

fn options() -> OutputOptions {
    OPTIONS.get().copied().unwrap_or_default()
}

/// Whether no more is to be said than the answer.
pub(crate) fn is_quiet() -> bool {
    options().quiet
}

/// Whether more is to be said than people usually want to read.
pub(crate) fn is_verbose() -> bool {
    options().verbose > 0
}

/// Columns of a line on standard error: those of the terminal, or 100 where there is none.
pub(crate) fn width_of_notes() -> usize {
    const WITHOUT: u16 = 100;
    const LEAST: u16 = 32;
    let is_terminal = std::io::stderr().is_terminal();
    let size = crossterm::terminal::size().ok().filter(|_| is_terminal);
    usize::from(size.map_or(WITHOUT, |(columns, _)| columns).max(LEAST))
}

/// How to draw on standard output.
pub(crate) fn style() -> Style {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    Style::of_stdout(match options().color {
        ColorOption::Auto => unwanted.then_some(false),
        ColorOption::Always => Some(true),
        ColorOption::Never => Some(false),
    })
}

/// What a command came to, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything that was asked for holds: exit code 0.
    Kept,
    /// A limit was missed: exit code 1.
    Missed,
    /// What was asked for was done in part only, and the reason has been said: exit code 2.
    Incomplete,
    /// A started program's own exit code.
    Program(u8),
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

/// Text on standard output. A reader who has gone (`| head`) is no error.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(out, "{text}{newline}").and_then(|()| out.flush());
}

/// Bytes on standard output as they are.
pub(crate) fn raw(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// As [`say`], for what goes on and on: whether somebody still reads.
#[must_use]
pub(crate) fn tell(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
}

/// Data on standard output, a line for each value; whether somebody still reads.
pub(crate) fn json_line<T: Serialize>(value: &T) -> anyhow::Result<bool> {
    Ok(tell(&serde_json::to_string(value)?))
}

/// Text on standard error: progress and notes, so that standard output stays data.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        complain(text);
    }
}

/// Text on standard error that also those read who want to read nothing: why something was not done.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Data on standard output.
pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    say(&serde_json::to_string_pretty(value)?);
    Ok(())
}

/// An error with its causes, each once.
pub(crate) fn error(error: &anyhow::Error) {
    let mut text = format!("kadenz: {error}");
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    complain(&text);
}

/// Help and version go out as asked for; wrong arguments are exit code 2.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// What is logged unless `RUST_LOG` says otherwise. rustdds warns of what is usual on one host, such as
/// a host without multicast on its loopback.
const USUAL_LOG: &str = "warn,rustdds=off";

/// `RUST_LOG` decides what is told, then how often `--verbose` was given; by default warnings.
fn start_tracing(verbose: u8) {
    let usual = || match verbose {
        0 => EnvFilter::new(USUAL_LOG),
        1 => EnvFilter::new("info"),
        2 => EnvFilter::new("debug"),
        _ => EnvFilter::new("trace"),
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| usual());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .init();
}
