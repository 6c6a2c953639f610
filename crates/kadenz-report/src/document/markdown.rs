//! Documents as Markdown.

use super::block::named;
use super::{Chart, Document, DocumentBlock, DocumentLine, Finding, Medium};
use crate::text::visible;

impl Document {
    /// As Markdown, where each sentence is a paragraph. Nothing in it is taken for HTML.
    #[must_use]
    pub fn markdown(&self) -> String {
        let blocks = self.blocks(Medium::Terminal).map(|block| match block {
            DocumentBlock::Table(table) => {
                let notes = table.notes.iter().map(|it| escaped(it));
                let all: Vec<String> = [table.markdown()].into_iter().chain(notes).collect();
                all.join("\n\n")
            }
            DocumentBlock::Listing(text) => text
                .plain()
                .lines()
                .map(|line| format!("    {line}"))
                .collect::<Vec<_>>()
                .join("\n"),
            DocumentBlock::Heading(text) => format!("## {}", escaped(text)),
            DocumentBlock::List(items) => {
                let items = items.iter().map(|it| format!("- {}", escaped(it)));
                items.collect::<Vec<_>>().join("\n")
            }
            DocumentBlock::Lines(all) => lines(all.iter().cloned()),
            DocumentBlock::Findings(all) => lines(all.iter().flat_map(Finding::lines)),
            DocumentBlock::Code(sentence, code) => {
                format!("{}\n\n{}", escaped(sentence), fenced(code))
            }
            DocumentBlock::Lead(text)
            | DocumentBlock::Sentence(text)
            | DocumentBlock::OfSeries(_, text)
            | DocumentBlock::Chart(Chart { words: text, .. }) => escaped(text),
            DocumentBlock::Missing(names, why) => escaped(&named(names, why)),
            // Blocks of a page alone.
            DocumentBlock::Hint(_)
            | DocumentBlock::Answer(..)
            | DocumentBlock::Headline(..)
            | DocumentBlock::Cards(_)
            | DocumentBlock::Columns(..)
            | DocumentBlock::Copyable(..)
            | DocumentBlock::Drawing(_)
            | DocumentBlock::Link(..)
            | DocumentBlock::Notice(..)
            | DocumentBlock::Pairs(_)
            | DocumentBlock::Folded(..) => String::new(),
        });
        let blocks: Vec<String> = blocks.filter(|it| !it.is_empty()).collect();
        match blocks.is_empty() {
            true => String::new(),
            false => blocks.join("\n\n") + "\n",
        }
    }
}

/// Lines of a paragraph, each ended by two spaces.
fn lines(all: impl Iterator<Item = DocumentLine>) -> String {
    let lines: Vec<String> = all.map(|it| it.markdown()).collect();
    lines.join("  \n")
}

/// Text in which Markdown finds no HTML, links or emphasis, except for the code between two backticks. A last backtick
/// without a partner begins no code; where Markdown could pair backticks in another way, none does.
pub(super) fn escaped(text: &str) -> String {
    let text = visible(text);
    let text = text.trim();
    let is_odd = text.matches('`').count() % 2 == 1;
    let last = text.rsplit_once('`').filter(|_| is_odd);
    let (paired, rest) = last.map_or((text, None), |(paired, rest)| (paired, Some(rest)));
    let is_split = paired
        .split('`')
        .skip(1)
        .step_by(2)
        .any(|it| it.contains('\n'));
    if is_split || text.contains("``") || text.contains("\\`") {
        return escaped_text(text).replace('`', BACKTICK);
    }
    let parts = paired.split('`').enumerate();
    let parts = parts.map(|(number, part)| match number % 2 {
        0 => escaped_text(part),
        _ => part.to_owned(),
    });
    let paired = parts.collect::<Vec<_>>().join("`");
    let rest = rest.map(|it| [BACKTICK, &escaped_text(it)].concat());
    paired + &rest.unwrap_or_default()
}

/// A backtick that Markdown takes for text.
const BACKTICK: &str = "&#96;";

fn escaped_text(text: &str) -> String {
    text.replace('<', "&lt;")
        .replace("](", "]\\(")
        .replace('*', "\\*")
        .replace("__", "\\_\\_")
}

/// Code between lines of backticks that it does not hold itself.
fn fenced(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}text\n{}\n{fence}", visible(code))
}
