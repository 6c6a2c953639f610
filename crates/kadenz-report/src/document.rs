//! What a command answers: data for scripts, and a document of sentences and tables for people.
//!
//! A command makes one value, its [`Answer`]. As JSON it is that value; for people it is its [`Document`],
//! which a terminal and a Markdown file show in ways of their own.
//!
//! ```
//! use kadenz_report::document::{Answer, Document, Table, Version};
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
//! assert_eq!(ports.document().terminal(), " port\n    7\n   80\n\n2 ports are open");
//! assert!(ports.document().markdown().starts_with("| port |\n|-----:|\n"));
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::terminal::{Text, columns, one_line, visible};

/// What a command came to. Its JSON is the value itself, described by its [schema](crate::schema).
pub trait Answer: Serialize + JsonSchema {
    /// The same for people.
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

/// Sentences, tables and listings, in the order in which they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document(Vec<Block>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Block {
    Sentence(String),
    Table(Table),
    Listing(String),
}

impl Document {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sentence. Sentences that follow each other are lines of one paragraph.
    #[must_use]
    pub fn sentence(mut self, text: impl Into<String>) -> Self {
        self.0.push(Block::Sentence(text.into()));
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.0.push(Block::Table(table));
        self
    }

    /// Adds text whose lines and spaces stay as they are.
    #[must_use]
    pub fn listing(mut self, text: impl Into<String>) -> Self {
        self.0.push(Block::Listing(text.into()));
        self
    }

    /// For a terminal or a pipe: columns without lines, which programs such as awk read too. What came with
    /// names and texts of others steers no terminal.
    #[must_use]
    pub fn terminal(&self) -> Text {
        let mut text = Text::default();
        let mut before: Option<&Block> = None;
        for block in &self.0 {
            let between = match (before, block) {
                (None, _) => "",
                (Some(Block::Sentence(_)), Block::Sentence(_)) => "\n",
                _ => "\n\n",
            };
            let shown = match block {
                Block::Sentence(text) | Block::Listing(text) => text.as_str().into(),
                Block::Table(table) => columns(&table.head, table.words, &table.rows),
            };
            text = Text::join([text, shown], between);
            before = Some(block);
        }
        text
    }

    /// As Markdown, where each sentence is a paragraph. Nothing in it is taken for HTML.
    #[must_use]
    pub fn markdown(&self) -> String {
        let blocks = self.0.iter().map(|block| match block {
            Block::Sentence(text) => visible(text).trim().replace('<', "&lt;"),
            Block::Table(table) => table.markdown(),
            Block::Listing(text) => visible(text)
                .lines()
                .map(|line| format!("    {line}"))
                .collect::<Vec<_>>()
                .join("\n"),
        });
        blocks.collect::<Vec<_>>().join("\n\n") + "\n"
    }
}

impl From<String> for Document {
    fn from(sentence: String) -> Self {
        Self::new().sentence(sentence)
    }
}

/// Rows under a head. Each cell is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    head: Vec<String>,
    words: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose first so many columns are words; the others are numbers, which stand at the right.
    #[must_use]
    pub fn new(head: &[&str], words: usize, rows: Vec<Vec<String>>) -> Self {
        Self {
            head: head.iter().map(|&it| it.to_owned()).collect(),
            words,
            rows,
        }
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells = cells
                .iter()
                .map(|it| one_line(it).replace('|', "\\|").replace('<', "&lt;"));
            format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = self.head.iter().enumerate().map(|(column, name)| {
            let dashes = "-".repeat(name.chars().count() + 1);
            let end = if column < self.words { '-' } else { ':' };
            format!("{dashes}{end}|")
        });
        let mut lines = vec![line(&self.head), format!("|{}", rule.collect::<String>())];
        lines.extend(self.rows.iter().map(|row| line(row)));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        Document::new()
            .sentence("two devices")
            .sentence("of one segment")
            .table(Table::new(
                &["name", "bytes"],
                1,
                vec![
                    vec!["left|knee".to_owned(), "12".to_owned()],
                    vec!["<b>\u{1b}[2J\n".to_owned(), "3".to_owned()],
                ],
            ))
            .listing("0000  01 02\n0010  03")
    }

    #[test]
    fn a_terminal_gets_columns_and_nothing_that_steers_it() {
        let shown = document().terminal();
        assert_eq!(
            shown,
            [
                "two devices",
                "of one segment",
                "",
                " name               bytes",
                " left|knee             12",
                " <b>\\u{1b}[2J\\u{a}      3",
                "",
                "0000  01 02",
                "0010  03",
            ]
            .join("\n")
            .as_str()
        );
    }

    #[test]
    fn markdown_is_a_table_whose_cells_make_no_columns_and_no_html() {
        assert_eq!(
            document().markdown(),
            "two devices\n\nof one segment\n\n\
             | name | bytes |\n|------|------:|\n\
             | left\\|knee | 12 |\n\
             | &lt;b>\\u{1b}[2J\\u{a} | 3 |\n\n    0000  01 02\n    0010  03\n"
        );
    }

    #[test]
    fn an_empty_document_shows_nothing() {
        assert_eq!(Document::new().terminal(), "");
    }
}
