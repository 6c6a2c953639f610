//! The answer of a command: data for scripts, and a document of sentences, tables and charts for people.
//!
//! A command makes one value, its [`Answer`]. As JSON it is that value; for people it is its [`Document`],
//! which a terminal, a Markdown file and an HTML page show in ways of their own.
//!
//! ```
//! use kadenz_report::document::{Answer, Document, Table, Version};
//! use kadenz_report::text::Style;
//! use schemars::JsonSchema;
//! use serde::Serialize;
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Ports {
//!     version: Version<1>,
//!     ports: Vec<u16>,
//! }
//!
//! impl Answer for Ports {
//!     fn document(&self) -> Document {
//!         let rows = self.ports.iter().map(|port| vec![port.to_string()]);
//!         Document::new()
//!             .table(Table::new(&["port"], 0, rows.collect()))
//!             .sentence(format!("{} ports are open", self.ports.len()))
//!     }
//! }
//!
//! let ports = Ports { version: Version, ports: vec![7, 80] };
//! assert_eq!(serde_json::to_string(&ports)?, r#"{"version":1,"ports":[7,80]}"#);
//! let shown = ports.document().terminal(Style::plain());
//! assert_eq!(shown, " port\n    7\n   80\n\n2 ports are open");
//! assert!(ports.document().markdown().starts_with("| port |\n|-----:|\n"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod block;
mod line;
mod markdown;
mod table;
mod terminal;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::text::Text;

pub(crate) use block::{
    Chart, ChartControl, DocumentBlock, Drawing, Finding, Key, SvgElement, VerdictCard,
};
pub use line::DocumentLine;
pub use table::Table;
pub(crate) use table::{Bar, CellMark, Column, LineDrawing, Row, Split, TableCell};

/// The result of a command. Its JSON is the value itself, described by its [schema](crate::schema).
pub trait Answer: Serialize + JsonSchema {
    /// The result for people.
    fn document(&self) -> Document;
}

/// The version of an answer's JSON, a number that never changes within one version of its schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version<const N: u32>;

impl<const N: u32> Serialize for Version<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(N)
    }
}

impl<const N: u32> JsonSchema for Version<N> {
    fn schema_name() -> Cow<'static, str> {
        format!("Version{N}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": N })
    }
}

/// Sentences, tables, charts and listings, in the order in which they are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document(Vec<Part>);

/// A block, and where it is shown.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    /// The only medium that shows it.
    only: Option<Medium>,
    /// The most columns on a terminal, where it is fitted to the terminal's width.
    columns: Option<u16>,
    block: DocumentBlock,
}

/// The medium in which a document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A terminal, or a Markdown file.
    Terminal,
    /// An HTML page.
    Page,
}

impl Document {
    /// Makes a document without blocks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it has no block.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(self, block: DocumentBlock) -> Self {
        self.push_on(None, block)
    }

    fn push_on(mut self, only: Option<Medium>, block: DocumentBlock) -> Self {
        self.0.push(Part {
            only,
            columns: None,
            block,
        });
        self
    }

    /// Adds a sentence. Sentences that follow each other are lines of one paragraph, unless the document is
    /// [fitted](Self::fitted).
    #[must_use]
    pub fn sentence(self, text: impl Into<String>) -> Self {
        self.push(DocumentBlock::Sentence(text.into()))
    }

    /// Adds a paragraph of several lines, unless there are none.
    #[must_use]
    pub fn lines(self, lines: impl IntoIterator<Item = DocumentLine>) -> Self {
        let lines: Vec<DocumentLine> = lines.into_iter().collect();
        match lines.is_empty() {
            true => self,
            false => self.push(DocumentBlock::Lines(lines)),
        }
    }

    /// Adds sentences, or none.
    #[must_use]
    pub fn sentences(self, all: impl IntoIterator<Item = impl Into<String>>) -> Self {
        all.into_iter().fold(self, Self::sentence)
    }

    /// Adds the main statement of a section.
    pub(crate) fn lead(self, text: impl Into<String>) -> Self {
        self.push(DocumentBlock::Lead(text.into()))
    }

    /// Adds a hint how to read the section, for a page.
    pub(crate) fn hint(self, text: impl Into<String>) -> Self {
        self.push_on(Some(Medium::Page), DocumentBlock::Hint(text.into()))
    }

    /// Adds the answer in a few words for a page, and the class of its icon.
    pub(crate) fn headline(self, class: &'static str, words: impl Into<String>) -> Self {
        let headline = DocumentBlock::Headline(class, words.into());
        self.push_on(Some(Medium::Page), headline)
    }

    /// Adds a sentence of the answer for a page, with the name of what it is about or nothing, unless there is no
    /// sentence.
    pub(crate) fn answer(self, name: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        match text.is_empty() {
            true => self,
            false => {
                let answer = DocumentBlock::Answer(name.to_owned(), text);
                self.push_on(Some(Medium::Page), answer)
            }
        }
    }

    /// Adds the verdicts of series for a page.
    pub(crate) fn cards(self, cards: Vec<VerdictCard>) -> Self {
        self.push_on(Some(Medium::Page), DocumentBlock::Cards(cards))
    }

    /// Adds why something is missing.
    pub(crate) fn missing(self, why: impl Into<String>) -> Self {
        self.push(DocumentBlock::Missing(String::new(), why.into()))
    }

    /// Adds why something of these names is missing.
    pub(crate) fn missing_of(self, names: &[String], why: &str) -> Self {
        self.push(DocumentBlock::Missing(names.join(", "), why.to_owned()))
    }

    /// Adds a chart with its words and its controls.
    pub(crate) fn chart(self, words: String, controls: Vec<ChartControl>) -> Self {
        let id = None;
        self.push(DocumentBlock::Chart(Chart {
            words,
            id,
            controls,
        }))
    }

    /// Adds a chart of this id with its words, in a section of several charts.
    pub(crate) fn chart_of_id(self, id: String, words: String) -> Self {
        let (id, controls) = (Some(id), Vec::new());
        self.push(DocumentBlock::Chart(Chart {
            words,
            id,
            controls,
        }))
    }

    /// Adds a drawing for a page.
    pub(crate) fn drawing(self, drawing: Drawing) -> Self {
        self.push_on(Some(Medium::Page), DocumentBlock::Drawing(drawing))
    }

    /// Adds a sentence on the series of this number, which a page shows while a chart shows the series.
    pub(crate) fn of_series(self, number: usize, text: String) -> Self {
        self.push(DocumentBlock::OfSeries(number, text))
    }

    /// Adds names and their values for a page, unless there are none.
    pub(crate) fn pairs(self, pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let pairs: Vec<_> = pairs.into_iter().collect();
        match pairs.is_empty() {
            true => self,
            false => self.push_on(Some(Medium::Page), DocumentBlock::Pairs(pairs)),
        }
    }

    /// Adds a sentence that ends with words which lead to an address, for a page.
    pub(crate) fn link(
        self,
        text: impl Into<String>,
        address: &'static str,
        words: &'static str,
    ) -> Self {
        let link = DocumentBlock::Link(text.into(), address, words);
        self.push_on(Some(Medium::Page), link)
    }

    /// Adds content that a page folds away under a summary, unless it is empty.
    pub(crate) fn folded(self, summary: String, content: Self) -> Self {
        match content.is_empty() {
            true => self,
            false => self.push_on(Some(Medium::Page), DocumentBlock::Folded(summary, content)),
        }
    }

    /// Adds content that only one medium shows.
    pub(crate) fn only(mut self, medium: Medium, other: Self) -> Self {
        let only = Some(medium);
        self.0
            .extend(other.0.into_iter().map(|it| Part { only, ..it }));
        self
    }

    /// Adds a table at the end.
    #[must_use]
    pub fn table(self, table: Table) -> Self {
        self.push(DocumentBlock::Table(table))
    }

    /// Adds text whose lines and spaces stay as they are; colours of a [`Text`] show on a terminal alone.
    #[must_use]
    pub fn listing(self, text: impl Into<Text>) -> Self {
        self.push(DocumentBlock::Listing(text.into()))
    }

    /// Adds the title of a part, which a terminal leaves out.
    #[must_use]
    pub fn heading(self, text: impl Into<String>) -> Self {
        self.push(DocumentBlock::Heading(text.into()))
    }

    /// Adds a list, unless it is empty.
    pub(crate) fn list(self, items: Vec<String>) -> Self {
        match items.is_empty() {
            true => self,
            false => self.push(DocumentBlock::List(items)),
        }
    }

    /// Adds code to type or to write into a file, after a sentence that introduces it.
    pub(crate) fn code(self, sentence: &str, code: &str) -> Self {
        self.push(DocumentBlock::Code(
            sentence.to_owned(),
            code.trim_end().to_owned(),
        ))
    }

    /// Adds code for a page, with a button that copies it: the id of the code, and the words for it.
    pub(crate) fn copyable(
        self,
        id: impl Into<String>,
        what: impl Into<String>,
        code: &str,
    ) -> Self {
        let copyable = DocumentBlock::Copyable(id.into(), what.into(), code.to_owned());
        self.push_on(Some(Medium::Page), copyable)
    }

    /// Adds documents for a page that stand side by side, in columns of this class.
    pub(crate) fn columns(self, class: &'static str, columns: Vec<Self>) -> Self {
        self.push_on(Some(Medium::Page), DocumentBlock::Columns(class, columns))
    }

    /// Adds what spoils or limits the result, unless nothing does.
    pub(crate) fn findings(self, findings: Vec<Finding>) -> Self {
        match findings.is_empty() {
            true => self,
            false => self.push(DocumentBlock::Findings(findings)),
        }
    }

    /// Adds for a page that nothing spoils or limits the result.
    pub(crate) fn no_findings(self) -> Self {
        self.push_on(Some(Medium::Page), DocumentBlock::Findings(Vec::new()))
    }

    /// Adds a warning with links to its reasons for a page, each an address and words, unless there are none.
    pub(crate) fn notice(self, words: &'static str, links: Vec<(String, String)>) -> Self {
        match links.is_empty() {
            true => self,
            false => self.push_on(Some(Medium::Page), DocumentBlock::Notice(words, links)),
        }
    }

    /// Adds the blocks of another document at the end.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Fits the blocks so far, and none that are added later, to the width of a terminal: each sentence is a paragraph,
    /// which is wrapped, and tables have lines and colours.
    #[must_use]
    pub fn fitted(self) -> Self {
        self.within(u16::MAX)
    }

    /// As [`fitted`](Self::fitted), to this many columns at most; a smaller number that a block already has stays.
    pub(crate) fn within(mut self, columns: u16) -> Self {
        for part in &mut self.0 {
            part.columns = Some(part.columns.map_or(columns, |it| it.min(columns)));
        }
        self
    }

    fn parts(&self, on: Medium) -> impl Iterator<Item = &Part> {
        let parts = self.0.iter();
        parts.filter(move |part| part.only.is_none_or(|it| it == on))
    }

    /// The blocks that a medium shows.
    pub(crate) fn blocks(&self, on: Medium) -> impl Iterator<Item = &DocumentBlock> {
        self.parts(on).map(|part| &part.block)
    }
}

impl From<String> for Document {
    fn from(sentence: String) -> Self {
        Self::new().sentence(sentence)
    }
}

#[cfg(test)]
mod tests;
