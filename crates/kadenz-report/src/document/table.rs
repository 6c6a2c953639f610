//! Tables whose cells each medium writes in its own way.

use std::borrow::Cow;

use super::{Key, Medium};
use crate::figures;
use crate::numbers;
use crate::text::one_line;

/// Rows under a header. Each cell is one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Above it on a page, and its label for screen readers.
    pub(crate) caption: Cow<'static, str>,
    pub(crate) class: Option<&'static str>,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// What its colours mean, on a page.
    pub(crate) key: Key,
    /// Lines directly below it.
    pub(crate) notes: Vec<String>,
    /// Without lines and with a bold head, where a terminal draws it with colours.
    pub(super) without_lines: bool,
    pub(super) split: Option<Split>,
    max_drawn: Option<usize>,
}

/// How a table that is wider than a terminal becomes several, each with the first columns. Rows without content in the
/// others are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// The first column, and as many others as fit.
    Filled,
    /// The first two columns, and one pair of the others; all in one table if they fit.
    Pairs,
}

/// A column: its header in each medium, or absent where the medium does not show it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    drawn: Option<Cow<'static, str>>,
    page: Option<Cow<'static, str>>,
    /// Words stand at the left, numbers at the right.
    pub(super) is_words: bool,
}

impl Column {
    /// A column of numbers, with one header on a terminal and another on a page.
    pub(crate) fn new(
        drawn: impl Into<Cow<'static, str>>,
        page: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::of(Some(drawn.into()), Some(page.into()))
    }

    fn of(drawn: Option<Cow<'static, str>>, page: Option<Cow<'static, str>>) -> Self {
        Self {
            drawn,
            page,
            is_words: false,
        }
    }

    /// A column that only a terminal shows.
    pub(crate) fn on_terminal(head: &'static str) -> Self {
        Self::of(Some(head.into()), None)
    }

    /// A column that only a page shows.
    pub(crate) fn on_page(head: impl Into<Cow<'static, str>>) -> Self {
        Self::of(None, Some(head.into()))
    }

    /// Makes it a column of words.
    pub(crate) fn words(self) -> Self {
        Self {
            is_words: true,
            ..self
        }
    }

    pub(crate) fn head(&self, medium: Medium) -> Option<&str> {
        match medium {
            Medium::Terminal => self.drawn.as_deref(),
            Medium::Page => self.page.as_deref(),
        }
    }
}

/// A row: a cell for each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) class: Option<&'static str>,
    pub(crate) cells: Vec<TableCell>,
    /// Whether its only cell is the title of the rows below it.
    pub(crate) is_title: bool,
}

impl From<Vec<TableCell>> for Row {
    fn from(cells: Vec<TableCell>) -> Self {
        Self {
            cells,
            ..Self::default()
        }
    }
}

impl Row {
    /// The title of the rows below it.
    pub(crate) fn title(words: impl Into<String>) -> Self {
        Self {
            is_title: true,
            ..vec![TableCell::text(words)].into()
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TableCell {
    value: Value,
    /// Whether it is good, where it is judged.
    pub(super) good: Option<bool>,
    /// Before the words, on a page.
    pub(crate) mark: Option<CellMark>,
    /// In a frame after the words, on a page.
    pub(crate) tag: Option<&'static str>,
    /// An address on the page and the words that lead to it, after the words.
    pub(crate) link: Option<(String, &'static str)>,
    /// In small letters below it, on a page.
    pub(crate) notes: Vec<String>,
    /// The remedy of a refusal, on a page.
    pub(crate) remedy: Option<String>,
    /// Its classes on a page.
    pub(crate) class: Option<String>,
}

/// What a page shows before the words of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellMark {
    /// The icon of what was kept or granted, or of what was not; the words have its colour.
    Standing(bool),
    /// A sign that the words do not need.
    Sign(&'static str),
    /// The line of the series with this number, as in the charts.
    Series(usize),
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    /// One text on a terminal and another on a page.
    Either(String, String),
    Count(Option<u64>),
    /// What there is none of: nothing on a terminal, and this on a page beside rows that have it.
    Absent(&'static str),
    /// A span in nanoseconds.
    Span(Option<f64>),
    Bars(Vec<Bar>),
    Lines(LineDrawing),
}

impl Default for Value {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Lines through values on one scale, which only a page draws.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LineDrawing {
    /// For screen readers.
    pub(crate) words: String,
    /// The lowest and the highest value of the scale.
    pub(crate) scale: (i64, i64),
    pub(crate) typical: Vec<i64>,
    /// Its 90th percentile or the like, paler; may be empty.
    pub(crate) most: Vec<i64>,
}

/// A part of a bar: its length in percent of the whole, and its class. A bar longer than the whole is cut off.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    pub(crate) percent: f64,
    pub(crate) class: &'static str,
}

/// Text on a page for an unknown value.
const UNKNOWN: &str = "—";

impl TableCell {
    fn of(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::of(Value::Text(text.into()))
    }

    /// Other words on a terminal than on a page.
    pub(crate) fn either(drawn: impl Into<String>, page: impl Into<String>) -> Self {
        Self::of(Value::Either(drawn.into(), page.into()))
    }

    pub(crate) fn count(count: impl Into<Option<u64>>) -> Self {
        Self::of(Value::Count(count.into()))
    }

    /// A time in nanoseconds.
    pub(crate) fn span(ns: Option<i64>) -> Self {
        Self::time(ns.map(|ns| ns as f64))
    }

    /// A time in nanoseconds and their fractions.
    pub(crate) fn time(ns: Option<f64>) -> Self {
        Self::of(Value::Span(ns))
    }

    /// An unknown value, and the reason on a page.
    pub(crate) fn unknown(reason: impl Into<Option<String>>) -> Self {
        Self::count(None).noted(reason)
    }

    /// What there is none of: nothing on a terminal, and this on a page beside rows that have it.
    pub(crate) fn absent(page: &'static str) -> Self {
        Self::of(Value::Absent(page))
    }

    /// Whether there is none of it, or it is unknown and no reason says why.
    pub(crate) fn is_absent(&self) -> bool {
        match self.value {
            Value::Absent(_) => true,
            Value::Count(None) | Value::Span(None) => self.notes.is_empty(),
            _ => false,
        }
    }

    /// What was kept or granted, or was not: with an icon on a page.
    pub(crate) fn standing(words: &str, good: bool) -> Self {
        Self::text(words)
            .judged(good)
            .marked(CellMark::Standing(good))
    }

    /// A bar, which only a page shows.
    pub(crate) fn bars(bars: Vec<Bar>) -> Self {
        Self::of(Value::Bars(bars))
    }

    pub(crate) fn tagged(self, tag: Option<&'static str>) -> Self {
        Self { tag, ..self }
    }

    pub(crate) fn of_class(self, class: impl Into<String>) -> Self {
        let class = Some(class.into());
        Self { class, ..self }
    }

    /// Lines, which only a page shows.
    pub(crate) fn lines(lines: LineDrawing) -> Self {
        Self::of(Value::Lines(lines))
    }

    /// Adds a note below the others.
    pub(crate) fn noted(mut self, note: impl Into<Option<String>>) -> Self {
        self.notes.extend(note.into());
        self
    }

    pub(crate) fn marked(self, mark: CellMark) -> Self {
        let mark = Some(mark);
        Self { mark, ..self }
    }

    /// Marks the cell as good or bad, which a terminal colours, or as neither.
    pub(crate) fn judged(self, good: impl Into<Option<bool>>) -> Self {
        let good = good.into();
        Self { good, ..self }
    }

    /// The text in a medium; empty for a drawing, and in a terminal for a value that is absent.
    pub(crate) fn shown(&self, medium: Medium) -> Cow<'_, str> {
        let page = medium == Medium::Page;
        let unknown = if page { UNKNOWN } else { "" };
        let shown = match &self.value {
            Value::Text(text) => return text.into(),
            Value::Either(drawn, on_page) => return if page { on_page } else { drawn }.into(),
            Value::Absent(words) => return if page { words } else { "" }.into(),
            Value::Count(count) => count.map(numbers::thousands),
            Value::Span(ns) if page => ns.map(figures::duration),
            Value::Span(ns) => ns.map(numbers::value),
            Value::Bars(_) | Value::Lines(_) => return "".into(),
        };
        shown.map_or(unknown.into(), Cow::Owned)
    }

    /// The bars that it draws; empty for another value.
    pub(crate) fn bars_of(&self) -> &[Bar] {
        match &self.value {
            Value::Bars(bars) => bars,
            _ => &[],
        }
    }

    /// The lines that it draws; `None` for another value.
    pub(crate) fn lines_of(&self) -> Option<&LineDrawing> {
        match &self.value {
            Value::Lines(lines) => Some(lines),
            _ => None,
        }
    }
}

impl Table {
    /// A table with this many columns of words at the left; the others are numbers, aligned to the right.
    #[must_use]
    pub fn new(head: &[&str], words: usize, rows: Vec<Vec<String>>) -> Self {
        let rows = rows.into_iter();
        let rows = rows.map(|row| row.into_iter().map(TableCell::text).collect());
        let mut table = Self::of(head.iter().map(|&it| it.to_owned()), rows);
        for (place, column) in table.columns.iter_mut().enumerate() {
            column.is_words = place < words;
        }
        table
    }

    /// A table with a column of words, and columns of numbers.
    pub(crate) fn of(
        head: impl IntoIterator<Item: Into<Cow<'static, str>>>,
        rows: impl IntoIterator<Item = Vec<TableCell>>,
    ) -> Self {
        let heads = head.into_iter().map(Into::into).enumerate();
        let columns = heads.map(|(place, head): (_, Cow<'static, str>)| Column {
            is_words: place == 0,
            ..Column::new(head.clone(), head)
        });
        Self {
            columns: columns.collect(),
            rows: rows.into_iter().map(Row::from).collect(),
            ..Self::default()
        }
    }

    /// An empty table with a caption.
    pub(crate) fn captioned(caption: impl Into<Cow<'static, str>>, columns: Vec<Column>) -> Self {
        Self {
            caption: caption.into(),
            columns,
            ..Self::default()
        }
    }

    /// Gives it a class and a caption.
    pub(crate) fn on_page(
        self,
        class: &'static str,
        caption: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            class: Some(class),
            caption: caption.into(),
            ..self
        }
    }

    /// Limits the rows on a terminal.
    pub(crate) fn at_most(self, rows: usize) -> Self {
        Self {
            max_drawn: Some(rows),
            ..self
        }
    }

    /// Takes the lines away, and makes the head bold.
    pub(crate) fn without_lines(self) -> Self {
        Self {
            without_lines: true,
            ..self
        }
    }

    /// Becomes several tables where a terminal is too narrow.
    pub(crate) fn split(self, split: Split) -> Self {
        Self {
            split: Some(split),
            ..self
        }
    }

    pub(crate) fn push(&mut self, row: impl Into<Row>) {
        self.rows.push(row.into());
    }

    /// The columns of a medium, each with its place in a row.
    pub(crate) fn columns_of(&self, medium: Medium) -> impl Iterator<Item = (usize, &Column)> {
        let all = self.columns.iter().enumerate();
        all.filter(move |(_, column)| column.head(medium).is_some())
    }

    pub(super) fn rows_drawn(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().take(self.max_drawn.unwrap_or(usize::MAX))
    }

    pub(super) fn markdown(&self) -> String {
        let escaped = |it: &str| super::markdown::escaped(&one_line(it)).replace('|', "\\|");
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let columns: Vec<(usize, &Column)> = self.columns_of(Medium::Terminal).collect();
        let heads = || columns.iter().filter_map(|(_, it)| it.drawn.as_deref());
        let rule = columns.iter().zip(heads()).map(|((_, column), head)| {
            let dashes = "-".repeat(head.chars().count() + 1);
            let end = if column.is_words { '-' } else { ':' };
            format!("{dashes}{end}|")
        });
        let mut lines = vec![
            line(heads().map(escaped).collect()),
            format!("|{}", rule.collect::<String>()),
        ];
        lines.extend(self.rows_drawn().map(|row| {
            let cells = columns
                .iter()
                .filter_map(|&(place, _)| row.cells.get(place));
            line(
                cells
                    .map(|it| escaped(&it.shown(Medium::Terminal)))
                    .collect(),
            )
        }));
        lines.join("\n")
    }
}
