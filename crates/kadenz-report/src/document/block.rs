//! The blocks of a document.

use std::iter::once;

use super::{Document, DocumentLine, Table};
use crate::text::Text;

/// A paragraph, a table or another part of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DocumentBlock {
    /// The main statement of a section.
    Lead(String),
    Sentence(String),
    /// A paragraph of several lines.
    Lines(Vec<DocumentLine>),
    /// How to read a page's section.
    Hint(String),
    /// The class of an answer's icon, and the answer in a few words, for a page.
    Headline(&'static str, String),
    /// The name of what a sentence of the answer is about, or nothing, and the sentence, for a page.
    Answer(String, String),
    /// The verdicts of series, for a page.
    Cards(Vec<VerdictCard>),
    /// Names, or nothing, and why something is missing.
    Missing(String, String),
    /// Names and their values.
    Pairs(Vec<(String, String)>),
    /// A sentence that ends with words which lead to an address, for a page.
    Link(String, &'static str, &'static str),
    Table(Table),
    /// A chart of a page, whose words take its place in a Markdown file and on a terminal.
    Chart(Chart),
    /// A drawing, for a page.
    Drawing(Drawing),
    /// The number of a series, and a sentence on it, which a page shows while a chart shows the series.
    OfSeries(usize, String),
    Listing(Text),
    /// The title of a part, which a terminal leaves out.
    Heading(String),
    List(Vec<String>),
    /// A sentence that introduces code, and the code to type or to write into a file.
    Code(String, String),
    /// The id of code, the words for it, and the code, with a button of a page that copies it.
    Copyable(String, String, String),
    /// What spoils or limits the result.
    Findings(Vec<Finding>),
    /// A warning, and the addresses and words of links to its reasons, for a page.
    Notice(&'static str, Vec<(String, String)>),
    /// Content that a page unfolds on request.
    Folded(String, Document),
    /// The class of columns, and their content, which a page shows side by side.
    Columns(&'static str, Vec<Document>),
}

/// The verdict on a series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerdictCard {
    /// The name of the series.
    pub(crate) title: String,
    /// The class of the icon.
    pub(crate) class: &'static str,
    /// The verdict in a few words.
    pub(crate) words: &'static str,
    pub(crate) misses: u64,
    /// The number of samples.
    pub(crate) count: u64,
    /// What the verdict rests on, in sentences.
    pub(crate) basis: String,
    /// Names and their values.
    pub(crate) facts: Vec<(String, String)>,
}

/// A measure or a warning that a reader must know, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) remedy: Option<String>,
    /// Whether it makes the result doubtful.
    pub(crate) is_serious: bool,
    /// The series, or the runs of a comparison, that it concerns; empty for the only run.
    pub(crate) concerned: Vec<String>,
}

impl Finding {
    /// Its lines on a terminal and in Markdown, with the remedy below the text.
    pub(super) fn lines(&self) -> impl Iterator<Item = DocumentLine> {
        let remedy = self.remedy.as_ref().map(|it| format!("remedy: {it}"));
        let remedy = remedy.unwrap_or_default();
        let remedy = remedy.lines().map(|it| DocumentLine::labelled("", 2, it));
        let remedy: Vec<DocumentLine> = remedy.collect();
        once(format!("warning: {}", self.text).into()).chain(remedy)
    }
}

/// A chart, which the scripts of a page draw from the page's data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    /// What it shows, in sentences with figures: for screen readers, Markdown files and terminals.
    pub(crate) words: String,
    /// Its id, in a section of several charts.
    pub(crate) id: Option<String>,
    pub(crate) controls: Vec<ChartControl>,
}

/// The names of what is drawn, each after the class of its sign.
pub(crate) type Key = Vec<(&'static str, &'static str)>;

/// A control of a chart. Those above it are in their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ChartControl {
    /// The series, each with a button that shows or hides it.
    Legend,
    Key(Key),
    /// A choice between a linear and a logarithmic scale.
    Scale,
    /// A choice of times around the largest value; a hint says how charts zoom.
    Spans,
    /// A choice of one series: the number and the name of each.
    Series(Vec<(usize, String)>),
    /// The wheel and the keyboard zoom.
    Zoom,
}

/// Elements of SVG, which a page shows without a script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawing {
    pub(crate) class: &'static str,
    /// What it shows, for screen readers.
    pub(crate) words: &'static str,
    /// Width and height.
    pub(crate) size: (f64, f64),
    /// From the back to the front.
    pub(crate) elements: Vec<SvgElement>,
}

/// The name of an element of SVG, its attributes, and its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SvgElement(
    pub(crate) &'static str,
    pub(crate) Vec<(&'static str, String)>,
    pub(crate) String,
);

/// A text after the name of what it is about, or nothing.
pub(super) fn named(name: &str, text: &str) -> String {
    match name {
        "" => text.to_owned(),
        _ => format!("{name}: {text}"),
    }
}
