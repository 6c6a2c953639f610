//! Documents on a page.

mod findings;
mod verdict;

use super::markup::Markup;
use super::plot;
use crate::document::{
    Bar, CellMark, Document, DocumentBlock, DocumentLine, LineDrawing, Medium, Row, Table,
    TableCell,
};
use crate::figures::printed;

impl Document {
    /// The document as a part of an HTML page. Foreign names and texts are escaped. Icons are references to the symbols
    /// of Kadenz's own pages, and show nothing elsewhere; ids are unique within one document.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = Markup::default();
        write(&mut out, self);
        out.finish()
    }
}

/// Begins a section, with its title if it has one.
pub(super) fn open(out: &mut Markup, id: &str, title: &str) {
    out.tag("<section").attr("id", id).tag(">");
    if !title.is_empty() {
        out.element("h2", title);
    }
}

/// Writes a section with the blocks of a document.
pub(super) fn section(out: &mut Markup, id: &str, title: &str, document: &Document) {
    open(out, id, title);
    write(out, document);
    out.tag("</section>");
}

/// Writes the blocks of a document that a page shows.
pub(super) fn write(out: &mut Markup, document: &Document) {
    let mut context = BlockContext {
        heading: "h3",
        findings: 0,
    };
    blocks(out, document, &mut context);
}

/// What earlier blocks of the document decide about the next one.
struct BlockContext {
    /// The tag of a heading: the next level below the title of the section, or below the headline.
    heading: &'static str,
    /// The number of findings. Those of several runs are numbered on, so that no id comes twice.
    findings: usize,
}

fn blocks(out: &mut Markup, document: &Document, context: &mut BlockContext) {
    let blocks = document.blocks(Medium::Page);
    blocks.for_each(|it| block(out, it, context));
}

fn block(out: &mut Markup, block: &DocumentBlock, context: &mut BlockContext) {
    match block {
        DocumentBlock::Lead(text) => paragraph(out, "<p class=\"lead\">", text),
        DocumentBlock::Sentence(text) => paragraph(out, "<p>", text),
        DocumentBlock::Hint(text) => paragraph(out, "<p class=\"hint\">", text),
        DocumentBlock::Missing(names, why) => {
            named(out, "<p class=\"missing\">", names, ": </b>", why);
        }
        DocumentBlock::Headline(class, words) => {
            verdict::headline(out, class, words);
            context.heading = "h2";
        }
        DocumentBlock::Answer(name, text) => {
            named(out, "<p class=\"answer\">", name, "</b>: ", text);
        }
        DocumentBlock::Cards(all) => verdict::cards(out, all),
        DocumentBlock::Chart(it) => plot::chart(out, it),
        DocumentBlock::Drawing(it) => plot::drawing(out, it),
        DocumentBlock::OfSeries(number, text) => {
            out.tag("<p class=\"difference\"")
                .attr("data-series", number);
            out.tag(">").ticked(&printed(text)).tag("</p>");
        }
        DocumentBlock::Link(text, address, words) => link(out, text, address, words),
        DocumentBlock::Pairs(all) => pairs(out, "<dl class=\"pairs\">", all),
        DocumentBlock::Lines(lines) => {
            let lines = lines.iter().map(DocumentLine::plain);
            lines.for_each(|it| paragraph(out, "<p>", &it));
        }
        DocumentBlock::Table(it) => table(out, it),
        DocumentBlock::Listing(text) => {
            out.element("pre", text.plain());
        }
        DocumentBlock::Heading(text) => {
            out.element(context.heading, text);
        }
        DocumentBlock::List(items) => list(out, items),
        DocumentBlock::Code(sentence, code) => {
            paragraph(out, "<p class=\"hint\">", sentence);
            out.element("pre", code);
        }
        DocumentBlock::Copyable(id, what, code) => {
            out.copyable(id, what, code);
        }
        DocumentBlock::Findings(all) => findings::list(out, all, &mut context.findings),
        DocumentBlock::Notice(words, links) => findings::notice(out, words, links),
        DocumentBlock::Folded(summary, content) => {
            out.tag("<details>").element("summary", summary);
            blocks(out, content, context);
            out.tag("</details>");
        }
        DocumentBlock::Columns(class, all) => columns(out, class, all, context),
    }
}

/// Writes a paragraph that begins with this tag.
fn paragraph(out: &mut Markup, open: &'static str, text: &str) {
    named(out, open, "", "", text);
}

/// Writes a paragraph after a name in bold type with this end, if there is a name.
fn named(out: &mut Markup, open: &'static str, name: &str, end: &'static str, text: &str) {
    out.tag(open);
    if !name.is_empty() {
        out.tag("<b>").text(name).tag(end);
    }
    out.ticked(&printed(text)).tag("</p>");
}

fn link(out: &mut Markup, text: &str, address: &str, words: &str) {
    out.tag("<p class=\"hint\">").text(text).tag(" <a");
    out.attr("href", address).tag(">");
    out.text(words).tag("</a>.</p>");
}

fn columns(out: &mut Markup, class: &str, columns: &[Document], context: &mut BlockContext) {
    out.tag("<div").attr("class", class).tag(">");
    for column in columns {
        out.tag("<div>");
        blocks(out, column, context);
        out.tag("</div>");
    }
    out.tag("</div>");
}

fn list(out: &mut Markup, items: &[String]) {
    out.tag("<ul class=\"sentences\">");
    for item in items {
        out.tag("<li>").ticked(&printed(item)).tag("</li>");
    }
    out.tag("</ul>");
}

/// Writes names and their values in a list that begins with this tag.
fn pairs(out: &mut Markup, open: &'static str, pairs: &[(String, String)]) {
    out.tag(open);
    for (name, value) in pairs {
        out.tag("<div>").element("dt", name);
        out.element("dd", value).tag("</div>");
    }
    out.tag("</dl>");
}

fn table(out: &mut Markup, table: &Table) {
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\"");
    if !table.caption.is_empty() {
        out.attr("aria-label", format!("Table: {}", table.caption));
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
    let columns: Vec<_> = table.columns_of(Medium::Page).collect();
    for (_, column) in &columns {
        let head = column.head(Medium::Page).unwrap_or_default();
        out.tag("<th scope=\"col\">").text(head).tag("</th>");
    }
    out.tag("</tr></thead>");
    let places: Vec<usize> = columns.iter().map(|(place, _)| *place).collect();
    for rows in table.rows.chunk_by(|_, next| !next.is_title) {
        out.tag("<tbody>");
        rows.iter().for_each(|it| row(out, it, &places));
        out.tag("</tbody>");
    }
    out.tag("</table></div>");
    if !table.key.is_empty() {
        out.tag("<p class=\"heat-key\">");
        plot::key(out, &table.key).tag("</p>");
    }
    let notes = table.notes.iter();
    notes.for_each(|it| paragraph(out, "<p class=\"hint\">", it));
}

/// A row with the cells of these columns.
fn row(out: &mut Markup, row: &Row, places: &[usize]) {
    out.tag("<tr");
    if let Some(class) = row.class.or(row.is_title.then_some("group")) {
        out.attr("class", class);
    }
    out.tag(">");
    let cells = places.iter().filter_map(|&place| row.cells.get(place));
    for (place, it) in cells.enumerate() {
        let (open, end) = match place {
            0 => ("<th", "</th>"),
            _ => ("<td", "</td>"),
        };
        out.tag(open);
        match place {
            0 if row.is_title => out.tag(" scope=\"rowgroup\"").attr("colspan", places.len()),
            0 => out.tag(" scope=\"row\""),
            _ => out,
        };
        if let Some(class) = &it.class {
            out.attr("class", class);
        }
        out.tag(">");
        cell(out, it);
        out.tag(end);
    }
    out.tag("</tr>");
}

fn cell(out: &mut Markup, cell: &TableCell) {
    words(out, cell);
    if let Some(words) = cell.tag {
        out.tag("<span class=\"chosen\">")
            .text(words)
            .tag("</span>");
    }
    if let Some((address, words)) = &cell.link {
        out.tag(" <a").attr("href", address).tag(">");
        out.text(words).tag("</a>");
    }
    if let Some(drawn) = cell.lines_of() {
        lines(out, drawn);
    }
    if !cell.bars_of().is_empty() {
        out.tag("<svg class=\"share\" aria-hidden=\"true\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\">");
        cell.bars_of().iter().for_each(|it| bar(out, it));
        out.tag("</svg>");
    }
    for note in &cell.notes {
        out.element("small", note);
    }
    if let Some(remedy) = &cell.remedy {
        findings::remedy(out, remedy);
    }
}

fn words(out: &mut Markup, cell: &TableCell) {
    let words = cell.shown(Medium::Page);
    match cell.mark {
        None => out.text(words),
        Some(CellMark::Standing(true)) => {
            out.tag("<span class=\"yes\">").icon("kept");
            out.text(words).tag("</span>")
        }
        Some(CellMark::Standing(false)) => {
            out.tag("<span class=\"no\">").icon("missed");
            out.text(words).tag("</span>")
        }
        Some(CellMark::Sign(sign)) => {
            out.tag("<span class=\"sign\" aria-hidden=\"true\">")
                .text(sign);
            out.tag("</span> ").text(words)
        }
        Some(CellMark::Series(number)) => {
            plot::mark(out, number);
            out.text(words)
        }
    };
}

/// Width and height of lines, in their own units.
const SIZE: (f64, f64) = (160.0, 40.0);

fn lines(out: &mut Markup, lines: &LineDrawing) {
    out.tag("<svg class=\"shape\" role=\"img\" preserveAspectRatio=\"none\"")
        .attr("viewBox", format!("0 0 {} {}", SIZE.0, SIZE.1))
        .attr("aria-label", &lines.words);
    out.tag(">");
    for (open, values) in [
        ("<polyline class=\"most\"", &lines.most),
        ("<polyline", &lines.typical),
    ] {
        if !values.is_empty() {
            let points = points(values, lines.scale);
            out.tag(open).attr("points", points).tag("/>");
        }
    }
    out.tag("</svg>");
}

/// The corners of a line through values on a scale.
fn points(values: &[i64], (low, high): (i64, i64)) -> String {
    let wide = SIZE.0 / (values.len().max(2) - 1) as f64;
    let rise = (SIZE.1 - 2.0) / high.saturating_sub(low).max(1) as f64;
    let point = |(index, value): (usize, &i64)| {
        let up = (*value.max(&low)).saturating_sub(low) as f64 * rise;
        format!("{:.1},{:.1}", index as f64 * wide, SIZE.1 - 1.0 - up)
    };
    let all: Vec<String> = values.iter().enumerate().map(point).collect();
    all.join(" ")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(typical: Vec<i64>, most: Vec<i64>, scale: (i64, i64)) -> String {
        let mut out = Markup::default();
        let words = "up <and> down".to_owned();
        let drawn = LineDrawing {
            words,
            scale,
            typical,
            most,
        };
        lines(&mut out, &drawn);
        out.finish()
    }

    #[test]
    fn lines_are_drawn_between_the_ends_of_their_scale() {
        let drawn = drawn(vec![100, 300, 100], vec![120, 500, 120], (100, 500));
        for points in [
            "0.0,37.1 80.0,1.0 160.0,37.1",
            "0.0,39.0 80.0,20.0 160.0,39.0",
        ] {
            assert!(drawn.contains(&format!("points=\"{points}\"")), "{drawn}");
        }
        assert!(drawn.contains("aria-label=\"up &lt;and&gt; down\""));
    }

    #[test]
    fn lines_from_end_to_end_of_the_numbers_are_drawn() {
        let ends = vec![i64::MIN, 0, i64::MAX];
        let drawn = drawn(ends.clone(), ends, (i64::MIN, i64::MAX));
        assert!(drawn.contains("<polyline class=\"most\""));
    }

    #[test]
    fn a_title_of_rows_begins_a_group_of_them() {
        let row = |words: &str| Row::from(vec![TableCell::text(words), TableCell::unknown(None)]);
        let mut table = Table::of(["Measure", "Asked"], []);
        table.rows = vec![
            Row::title("<beat>"),
            row("policy"),
            Row::title("b"),
            row("c"),
        ];
        let text = Document::new().table(table).html();
        let first = "<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"2\">&lt;beat&gt;</th></tr><tr>";
        assert!(text.contains(first), "{text}");
        assert_eq!(text.matches("<tbody>").count(), 2, "{text}");
    }
}
