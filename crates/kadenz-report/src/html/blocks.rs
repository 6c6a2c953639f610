//! Documents on a page.

use super::markup::Markup;
use crate::document::{Bar, Document, DocumentBlock, Medium, Table, TableCell};
use crate::figures::printed;

impl Document {
    /// The document as a part of an HTML page: paragraphs, tables and preformatted text. Foreign names and texts are
    /// escaped.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = Markup::default();
        write(&mut out, self);
        out.finish()
    }
}

/// Writes the blocks of a document that a page shows.
pub(super) fn write(out: &mut Markup, document: &Document) {
    for block in document.blocks(Medium::Page) {
        match block {
            DocumentBlock::Lead(text) => paragraph(out, "<p class=\"lead\">", text),
            DocumentBlock::Sentence(text) => paragraph(out, "<p>", text),
            DocumentBlock::Hint(text) => paragraph(out, "<p class=\"hint\">", text),
            DocumentBlock::Lines(lines) => {
                lines
                    .iter()
                    .for_each(|it| paragraph(out, "<p>", &it.plain()));
            }
            DocumentBlock::Table(it) => {
                table(out, it);
                it.notes
                    .iter()
                    .for_each(|it| paragraph(out, "<p class=\"hint\">", it));
            }
            DocumentBlock::Listing(text) => {
                out.element("pre", text.plain());
            }
            DocumentBlock::Heading(text) => {
                out.element("h3", text);
            }
            DocumentBlock::List(items) => {
                out.tag("<ul class=\"sentences\">");
                for item in items {
                    out.element("li", printed(item));
                }
                out.tag("</ul>");
            }
            DocumentBlock::Code(sentence, code) => {
                paragraph(out, "<p class=\"hint\">", sentence);
                out.element("pre", code);
            }
            DocumentBlock::Folded(summary, content) => {
                out.tag("<details>").element("summary", summary);
                write(out, content);
                out.tag("</details>");
            }
        }
    }
}

fn paragraph(out: &mut Markup, open: &'static str, text: &str) {
    out.tag(open).text(printed(text)).tag("</p>");
}

fn table(out: &mut Markup, table: &Table) {
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\"");
    if !table.label.is_empty() {
        out.attr("aria-label", &table.label);
    }
    out.tag("><table");
    if let Some(class) = table.class {
        out.attr("class", class);
    }
    out.tag(">");
    if !table.caption.is_empty() {
        out.element("caption", &table.caption);
    }
    out.tag("<thead><tr>");
    for (_, column) in table.columns_of(Medium::Page) {
        let head = column.head(Medium::Page).unwrap_or_default();
        out.tag("<th scope=\"col\">").text(head).tag("</th>");
    }
    out.tag("</tr></thead><tbody>");
    for row in &table.rows {
        out.tag("<tr");
        if let Some(class) = row.class {
            out.attr("class", class);
        }
        out.tag(">");
        let places = table.columns_of(Medium::Page).map(|(place, _)| place);
        let mut cells = places.filter_map(|place| row.cells.get(place));
        if let Some(first) = cells.next() {
            out.tag("<th scope=\"row\">");
            cell(out, first);
            out.tag("</th>");
        }
        for it in cells {
            out.tag("<td>");
            cell(out, it);
            out.tag("</td>");
        }
        out.tag("</tr>");
    }
    out.tag("</tbody></table></div>");
}

pub(super) fn cell(out: &mut Markup, cell: &TableCell) {
    out.text(cell.shown(Medium::Page));
    if !cell.bars_of().is_empty() {
        out.tag("<svg class=\"share\" aria-hidden=\"true\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\">");
        cell.bars_of().iter().for_each(|it| bar(out, it));
        out.tag("</svg>");
    }
    if let Some(note) = &cell.note {
        out.element("small", note);
    }
}

/// A bar as long as its part of the whole; a longer one is cut off and marked.
fn bar(out: &mut Markup, bar: &Bar) {
    let over = if bar.percent > 100.0 { " over" } else { "" };
    out.tag("<rect height=\"1\"")
        .attr("class", format!("{}{over}", bar.class));
    // A bar without width would be invisible.
    out.attr("width", format!("{:.2}", bar.percent.clamp(0.25, 100.0)));
    out.tag("/>");
}
