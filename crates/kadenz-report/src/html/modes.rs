//! Recurring modes: periodic interference, one row per mode.

use crate::document::{Document, LineDrawing, Table, TableCell};
use crate::figures::{count, printed, significant, span};
use crate::modes::{ABOUT, Mode, SeriesModes, Shape, confidence, describe, extent};
use crate::summary::Summary;
use crate::summary::recurring::shapes;

/// What the section is about.
pub(super) const LEAD: &str = "What comes again and again. A latency that recurs has a cause with a period of its \
     own: a timer, a table that is aged, a lease that is renewed.";

/// How to read it.
pub(super) const HINT: &str = "Seen: how many occurrences there were, of as many as the period asks for. Confidence: \
     one less the probability that chance alone makes such a mode anywhere in the record; below 98 % no mode is \
     reported.";

const HEAD: [&str; 8] = [
    "What recurs",
    "Series",
    "Period",
    "Lasts",
    "Height",
    "Seen",
    "Confidence",
    "Looks",
];

/// The modes of a run; nothing where no series was searched.
pub(super) fn of(run: &Summary) -> Vec<Document> {
    let searched = run
        .by_themselves()
        .filter_map(|series| series.modes.as_ref());
    let searched: Vec<&SeriesModes> = searched.collect();
    if searched.is_empty() {
        return Vec::new();
    }
    let rows = searched.iter().flat_map(|series| rows(run, series));
    let caption = "Recurring modes, the most certain of each series first";
    let table = Table::of(HEAD, rows).on_page("modes", caption);
    let document = match table.rows.is_empty() {
        true => Document::new(),
        false => Document::new().table(table),
    };
    vec![searched.into_iter().fold(document, without)]
}

fn rows<'m>(
    run: &Summary,
    series: &'m SeriesModes,
) -> impl Iterator<Item = Vec<TableCell>> + use<'m> {
    let described = run.named(&series.series);
    let shapes = described.map_or_else(Vec::new, |it| shapes(&run.folder, &it.series, series));
    let shapes = shapes.into_iter().chain(std::iter::repeat(None));
    let modes = series.modes.iter().zip(shapes);
    modes.map(|(mode, shape)| row(series, mode, shape.as_ref()))
}

fn row(series: &SeriesModes, mode: &Mode, shape: Option<&Shape>) -> Vec<TableCell> {
    let seconds = |seconds: f64| format!("{}\u{a0}s", significant(seconds, 4));
    let stray = mode.stray_s > ABOUT * mode.period_s;
    let stray = stray.then(|| format!("strays by {}", seconds(mode.stray_s)));
    let seen = format!("{} of {}", count(mode.occurrences), count(mode.expected));
    vec![
        TableCell::text(printed(&describe(mode, series.kind))),
        TableCell::text(&series.series),
        TableCell::text(seconds(mode.period_s)).noted(stray),
        TableCell::text(seconds(mode.duration_s)),
        TableCell::span(Some(mode.height_ns)),
        TableCell::text(seen),
        TableCell::text(confidence(mode.confidence)),
        shape.map_or_else(|| TableCell::unknown(None), picture),
    ]
}

/// An occurrence, drawn.
fn picture(shape: &Shape) -> TableCell {
    let low = shape.bins.iter().map(|it| it.0).min().unwrap_or(0);
    let high = shape.bins.iter().map(|it| it.1).max().unwrap_or(0);
    let lasting = significant(shape.span_s, 3);
    TableCell::lines(LineDrawing {
        words: format!(
            "Median and 90th percentile over {lasting} s around an occurrence, from {} to {}",
            span(low),
            span(high)
        ),
        scale: (low, high),
        typical: shape.bins.iter().map(|it| it.0).collect(),
        most: shape.bins.iter().map(|it| it.1).collect(),
    })
}

/// Adds that nothing recurs in a series, and notes on it.
fn without(document: Document, series: &SeriesModes) -> Document {
    let name = &series.series;
    let nothing = format!("{name}: nothing recurs in {}.", extent(series));
    let nothing = series.modes.is_empty().then_some(nothing);
    let notes = series.notes.iter().map(|note| format!("{name}: {note}."));
    notes.fold(document.sentences(nothing), Document::hint)
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::Kind;

    use super::*;
    use crate::html;
    use crate::modes::ModeKind;
    use crate::summary::Summary;
    use crate::testing::{self, named, run_of, series_of};

    fn searched(modes: Vec<Mode>) -> SeriesModes {
        SeriesModes {
            notes: vec!["the samples were <cut> off".into()],
            ..testing::searched("rtt", Kind::Latency, modes)
        }
    }

    fn ramp() -> Mode {
        Mode {
            stray_s: 40.0,
            occurrences: 23,
            expected: 24,
            confidence: 0.998_76,
            ..testing::mode_of(ModeKind::Ramp, 3_590.0, 10)
        }
    }

    fn page(modes: Option<SeriesModes>) -> String {
        let mut series = series_of(named("rtt", Kind::Latency), &[(193_000, 100)]);
        series.modes = modes;
        let run: Summary = run_of("night", vec![series]);
        html::render(&[run])
    }

    #[test]
    fn a_mode_is_a_row_with_its_words_and_figures() {
        let page = page(Some(searched(vec![ramp()])));
        let row = concat!(
            "<th scope=\"row\">about once an hour a ramp of up to 150\u{a0}µs over 10 packets</th>",
            "<td>rtt</td><td>3590\u{a0}s<small>strays by 40\u{a0}s</small></td>",
            "<td>0.1\u{a0}s</td><td>150\u{a0}µs</td><td>23 of 24</td><td>99.87 %</td>",
            "<td>—</td></tr>",
        );
        assert!(page.contains(row), "{}", around(&page));
        assert!(page.contains("were &lt;cut&gt; off"));
        assert!(page.contains("<a href=\"#modes\">Modes</a>"));
    }

    #[test]
    fn a_search_that_found_nothing_says_so_and_none_says_nothing() {
        let nothing = page(Some(searched(Vec::new())));
        assert!(
            nothing.contains("rtt: nothing recurs in 8,640,000 samples over 24 h."),
            "{}",
            around(&nothing)
        );
        let unasked = page(None);
        assert!(!unasked.contains("id=\"modes\"") && !unasked.contains("#modes"));
    }

    #[test]
    fn an_occurrence_is_described_for_screen_readers() {
        let shape = Shape {
            bins: vec![(100, 120), (300, 500), (100, 120)],
            span_s: 0.03,
        };
        let drawn = Document::new()
            .table(Table::of(["", ""], [vec![picture(&shape)]]))
            .html();
        assert!(
            drawn.contains("over 0.03 s around an occurrence, from 100\u{a0}ns"),
            "{drawn}"
        );
    }

    /// The section alone: a page is long.
    fn around(page: &str) -> &str {
        let start = page.find("<section id=\"modes\"").unwrap_or(0);
        &page[start..page.len().min(start + 3000)]
    }
}
