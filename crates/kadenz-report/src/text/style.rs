use std::io::IsTerminal as _;

/// Width that is assumed where there is no terminal to ask.
const PLAIN_WIDTH: u16 = 100;
/// Narrower than this no table is readable; it then runs over the edge.
const MIN_WIDTH: u16 = 32;

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns there are.
    pub width: u16,
    /// Lines and colours; without them tables are Markdown.
    pub rich: bool,
}

impl Style {
    /// Markdown, 100 columns wide: for files, pipes and tests.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            width: PLAIN_WIDTH,
            rich: false,
        }
    }

    /// What suits standard output: rich on a terminal of its width, else plain; `colour` says to be
    /// rich, or plain, whatever it is.
    #[must_use]
    pub fn of_stdout(colour: Option<bool>) -> Self {
        let stdout = std::io::stdout();
        let size = terminal_size::terminal_size_of(&stdout);
        // A pseudo-terminal whose size nobody set has no columns.
        let width = size.map(|(columns, _)| columns.0).filter(|&it| it > 0);
        Self {
            width: width.unwrap_or(PLAIN_WIDTH).max(MIN_WIDTH),
            rich: colour.unwrap_or_else(|| stdout.is_terminal()),
        }
    }
}
