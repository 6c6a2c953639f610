//! Tables, whose cells show text of others as it is and never obey it.

use std::ops::Range;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement};

use super::Style;
use super::text::{Text, one_line};

/// One cell: a line, in which nothing steers a terminal.
#[derive(Clone)]
pub(crate) struct Cell(comfy_table::Cell);

impl<T: ToString> From<T> for Cell {
    fn from(content: T) -> Self {
        Self::new(content)
    }
}

impl Cell {
    #[allow(
        clippy::needless_pass_by_value,
        reason = "what a row goes through is passed on as it is"
    )]
    pub(crate) fn new(content: impl ToString) -> Self {
        Self(comfy_table::Cell::new(one_line(&content.to_string())))
    }

    /// Good and bad in colour.
    pub(crate) fn judged(self, good: bool) -> Self {
        Self(self.0.fg(if good { Color::Green } else { Color::Red }))
    }

    pub(crate) fn bold(self) -> Self {
        Self(self.0.add_attribute(Attribute::Bold))
    }
}

pub(crate) struct Table(comfy_table::Table);

impl Table {
    pub(crate) fn new(style: Style) -> Self {
        let mut table = comfy_table::Table::new();
        table.set_width(style.width);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        if style.rich {
            table.load_style(UTF8_FULL_CONDENSED).enforce_styling();
        } else {
            table.load_style(ASCII_MARKDOWN).force_no_tty();
        }
        Self(table)
    }

    pub(crate) fn without_lines(&mut self) {
        self.0.load_style(NOTHING);
    }

    /// Columns without lines, as wide as what is in them.
    pub(crate) fn bare() -> Self {
        let mut table = Self::new(Style::plain());
        table.without_lines();
        table
            .0
            .set_content_arrangement(ContentArrangement::Disabled);
        table
    }

    pub(crate) fn set_header(&mut self, cells: impl IntoIterator<Item: Into<Cell>>) {
        self.0.set_header(row(cells));
    }

    pub(crate) fn add_row(&mut self, cells: impl IntoIterator<Item: Into<Cell>>) {
        self.0.add_row(row(cells));
    }

    /// Numbers, from this column on, stand at the right.
    pub(crate) fn align_right_from(&mut self, first: usize) {
        self.align_right(first..usize::MAX);
    }

    pub(crate) fn align_right(&mut self, columns: Range<usize>) {
        let columns = self
            .0
            .column_iter_mut()
            .take(columns.end)
            .skip(columns.start);
        for column in columns {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }

    /// The table as it is drawn. No cell holds an escape sequence, so those in it are its colours.
    pub(crate) fn text(&self) -> Text {
        Text::trusted(self.0.trim_fmt())
    }
}

/// Columns of these widths in as many tables as the room asks for; at least one column each.
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

fn row(cells: impl IntoIterator<Item: Into<Cell>>) -> Vec<comfy_table::Cell> {
    cells.into_iter().map(|cell| cell.into().0).collect()
}
