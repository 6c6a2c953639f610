//! Tables whose cells show foreign text without executing its control characters.

use std::ops::Range;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{CellAlignment, ContentArrangement};

use super::{Style, Text, one_line};

/// Where the colours of a cell begin and end while a table is drawn. These characters take no room, and no foreign text
/// contains one: [`one_line`] replaces them by their numbers.
const GOOD: char = '\u{2061}';
const BAD: char = '\u{2062}';
const BOLD: char = '\u{2063}';
const END: char = '\u{2064}';
const COLOURS: [(char, &str); 4] = [
    (GOOD, "\u{1b}[32m"),
    (BAD, "\u{1b}[31m"),
    (BOLD, "\u{1b}[1m"),
    (END, "\u{1b}[0m"),
];

/// One cell: a line without control characters.
#[derive(Clone)]
pub(crate) struct TextCell(String);

impl<T: ToString> From<T> for TextCell {
    fn from(content: T) -> Self {
        Self::new(content)
    }
}

impl TextCell {
    #[allow(
        clippy::needless_pass_by_value,
        reason = "what a row goes through is passed on as it is"
    )]
    pub(crate) fn new(content: impl ToString) -> Self {
        Self(one_line(&content.to_string()).into_owned())
    }

    /// Colours the cell as good or bad.
    pub(crate) fn judged(self, good: bool) -> Self {
        self.within(if good { GOOD } else { BAD })
    }

    pub(crate) fn bold(self) -> Self {
        self.within(BOLD)
    }

    fn within(self, colour: char) -> Self {
        Self(format!("{colour}{}{END}", self.0))
    }
}

/// A table for a terminal.
pub(crate) struct TextTable {
    drawn: comfy_table::Table,
    is_rich: bool,
}

impl TextTable {
    pub(crate) fn new(style: Style) -> Self {
        let mut drawn = comfy_table::Table::new();
        drawn.set_width(style.width);
        drawn.set_content_arrangement(ContentArrangement::Dynamic);
        drawn.load_style(if style.rich {
            UTF8_FULL_CONDENSED
        } else {
            ASCII_MARKDOWN
        });
        Self {
            drawn,
            is_rich: style.rich,
        }
    }

    pub(crate) fn without_lines(&mut self) {
        self.drawn.load_style(NOTHING);
    }

    /// A table without lines, with columns as wide as their content.
    pub(crate) fn bare() -> Self {
        let mut table = Self::new(Style::plain());
        table.without_lines();
        table
            .drawn
            .set_content_arrangement(ContentArrangement::Disabled);
        table
    }

    pub(crate) fn set_header(&mut self, cells: impl IntoIterator<Item: Into<TextCell>>) {
        self.drawn.set_header(row(cells));
    }

    pub(crate) fn add_row(&mut self, cells: impl IntoIterator<Item: Into<TextCell>>) {
        self.drawn.add_row(row(cells));
    }

    /// Aligns the columns from this one on, which hold numbers, to the right.
    pub(crate) fn align_right_from(&mut self, first: usize) {
        self.align_right(first..usize::MAX);
    }

    pub(crate) fn align_right(&mut self, columns: Range<usize>) {
        let columns = self
            .drawn
            .column_iter_mut()
            .take(columns.end)
            .skip(columns.start);
        for column in columns {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }

    /// The table as it is drawn. No cell holds an escape sequence, so those in it are its colours.
    pub(crate) fn text(&self) -> Text {
        let mut text = self.drawn.trim_fmt();
        for (mark, colour) in COLOURS {
            text = text.replace(mark, if self.is_rich { colour } else { "" });
        }
        Text::trusted(text)
    }
}

/// Columns of these widths in as many tables as the width requires; at least one column each.
pub(crate) fn fitting(widths: &[usize], room: usize) -> Vec<Range<usize>> {
    let mut tables: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    for (column, width) in widths.iter().enumerate() {
        match tables.last_mut().filter(|_| used + width <= room) {
            Some(table) => {
                table.end += 1;
                used += width;
            }
            None => {
                tables.push(column..column + 1);
                used = *width;
            }
        }
    }
    tables
}

fn row(cells: impl IntoIterator<Item: Into<TextCell>>) -> Vec<String> {
    cells.into_iter().map(|cell| cell.into().0).collect()
}
