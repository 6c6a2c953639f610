//! The options of the output.

use std::io;
use std::sync::OnceLock;

use clap::{ArgAction, Args, ValueEnum};
use kadenz::report::text::Style;

/// Amount and form of the output; every command takes these options.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OutputOptions {
    /// Print only the first sentence of a verdict, and neither progress nor notes; errors and requested data still
    /// appear
    #[arg(
        long,
        short,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Output"
    )]
    quiet: bool,

    /// Print more on standard error; in a build with zenoh:// or dds:// also their logs, as RUST_LOG=info does;
    /// -vv: debug, -vvv: trace
    #[arg(long, short, global = true, action = ArgAction::Count, help_heading = "Output")]
    verbose: u8,

    /// Draw tables with lines and colours: on a terminal unless NO_COLOR is set, always or never
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        help_heading = "Output"
    )]
    color: ColorOption,

    /// Print the answer as JSON on standard output; a command with repeated answers prints one per line (schemas:
    /// docs/json.md)
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,

    /// Print the answer as Markdown on standard output: for an issue, a wiki or a summary in CI
    #[arg(long, global = true, conflicts_with = "json", help_heading = "Output")]
    pub(super) markdown: bool,
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

/// Sets the options for the rest of the process, and starts logging in builds with a logging provider.
pub(crate) fn start(options: OutputOptions) {
    OPTIONS.get_or_init(|| options);
    #[cfg(feature = "log")]
    super::start_tracing(options.verbose);
}

pub(super) fn options() -> OutputOptions {
    OPTIONS.get().copied().unwrap_or_default()
}

/// Whether only the answer is printed.
pub(crate) fn is_quiet() -> bool {
    options().quiet
}

/// Whether the answer is printed as JSON.
pub(crate) fn is_json() -> bool {
    options().json
}

/// Whether the answer is for the person at the terminal, not for a script or a page.
pub(crate) fn is_for_people() -> bool {
    !options().json && !options().markdown
}

/// Whether more is printed than people usually want to read.
pub(crate) fn is_verbose() -> bool {
    options().verbose > 0
}

/// Columns of a line on standard error: those of the terminal, or 100 where there is none.
pub(crate) fn width_of_notes() -> usize {
    const WITHOUT: u16 = 100;
    const MIN: u16 = 32;
    let size = terminal_size::terminal_size_of(io::stderr());
    let columns = size.map(|(columns, _)| columns.0).filter(|&it| it > 0);
    usize::from(columns.unwrap_or(WITHOUT).max(MIN))
}

/// Style of standard output.
pub(super) fn style() -> Style {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    Style::of_stdout(match options().color {
        ColorOption::Auto => unwanted.then_some(false),
        ColorOption::Always => Some(true),
        ColorOption::Never => Some(false),
    })
}
