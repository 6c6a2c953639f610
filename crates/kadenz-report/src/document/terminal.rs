//! Documents and tables on a terminal or in a pipe.

use std::ops::Range;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{CellAlignment, ContentArrangement};

use super::block::named;
use super::{
    Chart, Document, DocumentBlock, DocumentLine, Finding, Medium, Part, Split, Table, TableCell,
};
use crate::text::{Style, Text, one_line, wrap};

impl Document {
    /// For a terminal or a pipe. Where it is not [fitted](Self::fitted) to the width of the style, tables have columns
    /// without lines, which programs such as awk read too; paragraphs of [`lines`](Self::lines) keep to the width and
    /// have colours in any case. Control characters in foreign names and texts have no effect on the terminal.
    #[must_use]
    pub fn terminal(&self, style: Style) -> Text {
        let mut text = Text::default();
        let mut before: Option<&Part> = None;
        let parts = self.parts(Medium::Terminal);
        for part in parts.filter(|it| !matches!(it.block, DocumentBlock::Heading(_))) {
            let between = match before {
                None => "",
                Some(before) if before.is_line() && part.is_line() => "\n",
                Some(_) => "\n\n",
            };
            text = Text::join([text, part.drawn(style)], between);
            before = Some(part);
        }
        text
    }
}

impl Part {
    /// Whether it is a line of a paragraph.
    fn is_line(&self) -> bool {
        self.columns.is_none() && matches!(self.block, DocumentBlock::Sentence(_))
    }

    fn drawn(&self, style: Style) -> Text {
        let fitted = self.columns;
        let fitted = fitted.map(|columns| style.of_width(style.width.min(columns)));
        let words =
            |text: &str| fitted.map_or_else(|| text.into(), |it| wrap(text, it.width).into());
        let line = |it: &DocumentLine| it.drawn(fitted.unwrap_or(style));
        match &self.block {
            DocumentBlock::Table(table) => table.drawn(fitted),
            DocumentBlock::Listing(text) => text.clone(),
            DocumentBlock::Lead(text)
            | DocumentBlock::Sentence(text)
            | DocumentBlock::OfSeries(_, text)
            | DocumentBlock::Chart(Chart { words: text, .. }) => words(text),
            DocumentBlock::Missing(names, why) => words(&named(names, why)),
            DocumentBlock::Lines(lines) => Text::join(lines.iter().map(line), "\n"),
            DocumentBlock::Findings(all) => {
                let lines = all.iter().flat_map(Finding::lines);
                Text::join(lines.map(|it| line(&it)), "\n")
            }
            DocumentBlock::List(items) => Text::join(items.iter().map(|it| words(it)), "\n"),
            DocumentBlock::Code(sentence, code) => {
                let lines = code.lines().map(|line| format!("  {line}"));
                let lines = lines.map(|line| line.trim_end().to_owned());
                let all: Vec<String> = [sentence.clone()].into_iter().chain(lines).collect();
                all.join("\n").into()
            }
            DocumentBlock::Hint(_)
            | DocumentBlock::Answer(..)
            | DocumentBlock::Headline(..)
            | DocumentBlock::Cards(_)
            | DocumentBlock::Columns(..)
            | DocumentBlock::Copyable(..)
            | DocumentBlock::Drawing(_)
            | DocumentBlock::Heading(_)
            | DocumentBlock::Link(..)
            | DocumentBlock::Notice(..)
            | DocumentBlock::Pairs(_)
            | DocumentBlock::Folded(..) => Text::default(),
        }
    }
}

/// Border and padding of a column.
const MARGIN: usize = 3;

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

impl Table {
    /// The table for a terminal: with lines and colours, or without any.
    fn drawn(&self, style: Option<Style>) -> Text {
        let columns: Vec<usize> = self.columns_of(Medium::Terminal).map(|it| it.0).collect();
        let mut tables = match style.zip(self.split) {
            Some((style, split)) => self.parted(split, &columns, style),
            None => vec![self.of_columns(&columns, None, style)],
        };
        if let Some(last) = tables.pop() {
            let width = style.map_or(u16::MAX, |it| it.width);
            let notes = self.notes.iter().map(|it| wrap(it, width).into());
            tables.push(Text::join([last].into_iter().chain(notes), "\n"));
        }
        Text::join(tables, "\n\n")
    }

    /// As many tables as the width requires, each with the first columns.
    fn parted(&self, split: Split, columns: &[usize], style: Style) -> Vec<Text> {
        let each = match split {
            Split::Filled => 1,
            Split::Pairs => 2,
        };
        let (first, others) = columns.split_at(each.min(columns.len()));
        let width = |columns: &[usize]| columns.iter().map(|&it| self.width(it)).sum::<usize>();
        let room = usize::from(style.width).saturating_sub(width(first) + 1);
        let groups: Vec<&[usize]> = others.chunks(each).collect();
        let widths: Vec<usize> = groups.iter().map(|it| width(it)).collect();
        let ranges = match split {
            Split::Pairs if width(others) > room => {
                (0..groups.len()).map(|it| it..it + 1).collect()
            }
            _ => fitting(&widths, room),
        };
        let tables = ranges.into_iter().map(|range| {
            let columns = [first, &groups[range].concat()].concat();
            self.of_columns(&columns, Some(each), Some(style))
        });
        tables.collect()
    }

    /// Characters of a column with its border.
    fn width(&self, column: usize) -> usize {
        let head = self.columns[column]
            .head(Medium::Terminal)
            .unwrap_or_default();
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        let widths = cells.map(|it| it.shown(Medium::Terminal).chars().count());
        MARGIN + widths.fold(head.chars().count(), usize::max)
    }

    /// A table of these columns; of a table that is split, without rows that have content in the repeated columns only.
    fn of_columns(&self, columns: &[usize], repeated: Option<usize>, style: Option<Style>) -> Text {
        let mut table = self.frame(style);
        table.set_header(columns.iter().map(|&it| {
            let head = one_line(self.columns[it].head(Medium::Terminal).unwrap_or_default());
            match self.without_lines {
                true => marked(&head, BOLD),
                false => head.into_owned(),
            }
        }));
        for row in self.rows_drawn() {
            let cells = || columns.iter().filter_map(|&it| row.cells.get(it));
            let has_content = |cell: &TableCell| !cell.shown(Medium::Terminal).is_empty();
            if repeated.is_none_or(|it| cells().skip(it).any(has_content)) {
                table.add_row(cells().map(|it| self.cell(it)));
            }
        }
        for (drawn, &column) in table.column_iter_mut().zip(columns) {
            if !self.columns[column].is_words {
                drawn.set_cell_alignment(CellAlignment::Right);
            }
        }
        // No cell holds an escape sequence, so those in the text are its colours.
        let mut text = table.trim_fmt();
        for (mark, colour) in COLOURS {
            let is_rich = style.is_some_and(|it| it.rich);
            text = text.replace(mark, if is_rich { colour } else { "" });
        }
        Text::trusted(text)
    }

    /// An empty table with the lines of the style.
    fn frame(&self, style: Option<Style>) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(match style {
            Some(style) if !self.without_lines && style.rich => UTF8_FULL_CONDENSED,
            Some(_) if !self.without_lines => ASCII_MARKDOWN,
            _ => NOTHING,
        });
        match style {
            Some(style) => table
                .set_width(style.width)
                .set_content_arrangement(ContentArrangement::Dynamic),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        table
    }

    fn cell(&self, cell: &TableCell) -> String {
        let words = cell.shown(Medium::Terminal);
        let words = one_line(&words);
        match cell.good {
            None => words.into_owned(),
            Some(true) => marked(&words, GOOD),
            Some(false) if self.without_lines => marked(&marked(&words, BAD), BOLD),
            Some(false) => marked(&words, BAD),
        }
    }
}

fn marked(words: &str, colour: char) -> String {
    format!("{colour}{words}{END}")
}

/// Columns of these widths in as many tables as the width requires; at least one column each.
fn fitting(widths: &[usize], room: usize) -> Vec<Range<usize>> {
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
