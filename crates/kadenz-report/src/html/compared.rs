//! The comparison of several runs: the difference first, and with more than two the trend of each percentile from run
//! to run.

use std::iter::once;

use super::page::{Page, SeriesOnPage};
use crate::compare::{CompareOptions, Comparison};
use crate::document::{Document, LineDrawing, Row, Table, TableCell};
use crate::figures::{significant, span};
use crate::sections::series::{Figure, SeriesFigure, by_series};
use crate::summary::SeriesSummary;

/// The first sentence of the comparison, and the others.
pub(super) fn headline(page: &Page<'_>) -> (Document, Document) {
    let comparison = Comparison::new(page.summaries, &CompareOptions::default());
    let answer = comparison.answer(page.summaries);
    let (first, rest) = answer.split_once(". ").unwrap_or((&answer, ""));
    let last = comparison.runs.len().saturating_sub(1);
    let candidates = comparison.series.iter().flat_map(|it| &it.candidates);
    let figures = candidates
        .filter(|it| it.run == last)
        .flat_map(|it| &it.figures);
    let marked = figures.filter(|it| it.significant == Some(true));
    let slower: Vec<bool> = marked.filter_map(|it| Some(it.ratio? > 1.0)).collect();
    let class = match (slower.contains(&true), slower.contains(&false)) {
        (true, _) => "mixed",
        (false, true) => "kept",
        (false, false) => "unknown",
    };
    let headline = Document::new().headline(class, first.trim_end_matches('.'));
    (headline, Document::new().answer("", rest))
}

/// The names of series that every run has; those with a deadline, if there are any.
fn names<'p>(page: &'p Page<'_>) -> impl Iterator<Item = &'p str> {
    let judged = page.judged().next().is_some();
    let first = page.series.iter().filter(move |it| {
        it.run == 0 && it.summary.count > 0 && (it.summary.verdict.is_some() || !judged)
    });
    let names = first.map(|it| it.summary.series.name.as_str());
    names.filter(|name| of_runs(page, name).count() == page.runs.len())
}

/// The series of this name, in the order of the runs.
fn of_runs<'p, 'a>(
    page: &'p Page<'a>,
    name: &'p str,
) -> impl Iterator<Item = &'p SeriesOnPage<'a>> {
    let same = move |it: &&SeriesOnPage<'_>| it.summary.series.name == name;
    page.series
        .iter()
        .filter(same)
        .filter(|it| it.summary.count > 0)
}

/// A table for each series; nothing for fewer than three runs.
pub(super) fn trend(page: &Page<'_>) -> Document {
    let names = names(page).filter(|_| page.runs.len() > 2);
    let tables = names.map(|name| table(page, name));
    tables.fold(Document::new(), Document::table)
}

fn table(page: &Page<'_>, name: &str) -> Table {
    let series: Vec<_> = of_runs(page, name).collect();
    let rows = series
        .iter()
        .map(|it| (TableCell::text(&page.runs[it.run].label), it.summary));
    let (mut table, figures) = by_series(name.to_owned(), "Run", rows, SeriesFigure::is_main);
    let of = |title: &str, figure: &dyn Fn(&SeriesSummary) -> Option<i64>| {
        let values: Option<Vec<i64>> = series.iter().map(|it| figure(it.summary)).collect();
        values.map_or(TableCell::unknown(None), |values| line(title, values))
    };
    let lines = figures.into_iter().map(|figure| match figure {
        Figure::Percentile(it) => of(&format!("{it} %"), &|series| series.percentile(it)),
        Figure::Max => of("Largest", &|series| series.max_ns),
        _ => TableCell::default(),
    });
    let cells: Vec<_> = once(TableCell::text("First to last"))
        .chain(lines)
        .collect();
    table.push(Row {
        class: Some("whole"),
        ..cells.into()
    });
    table
}

/// A line through the values, and by how much the last differs from the first.
fn line(title: &str, values: Vec<i64>) -> TableCell {
    let spans: Vec<String> = values.iter().map(|&ns| span(ns)).collect();
    let change = match (values.first(), values.last()) {
        (Some(&first), Some(&last)) if first > 0 => {
            let change = 100.0 * (last as f64 / first as f64 - 1.0);
            let sign = if change < 0.0 { "−" } else { "+" };
            Some(format!("{sign}{}\u{a0}%", significant(change.abs(), 2)))
        }
        _ => None,
    };
    let lines = LineDrawing {
        words: format!("{title} over the runs: {}", spans.join(", ")),
        scale: (0, values.iter().copied().max().unwrap_or(0)),
        typical: values,
        most: Vec::new(),
    };
    TableCell::lines(lines).noted(change)
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::Kind;

    use super::*;
    use crate::testing::{named, run_of, series_of};

    fn run(folder: &str, typical_ns: i64, misses: u64) -> crate::summary::Summary {
        let mut series = named("wakeup", Kind::Lateness);
        series.deadline_ns = Some(400_000);
        run_of(
            folder,
            vec![series_of(series, &[(typical_ns, 5000), (500_000, misses)])],
        )
    }

    #[test]
    fn the_headline_is_the_first_sentence_of_the_terminal() {
        let runs = [run("before", 50_000, 2), run("after", 60_000, 9)];
        let said = Comparison::new(&runs, &CompareOptions::default()).answer(&runs);
        let (headline, rest) = headline(&Page::of(&runs));
        let (first, further) = said.split_once(". ").unwrap();
        assert_eq!(
            first,
            "after misses 9 of 5,009 deadlines, before 2 of 5,002"
        );
        assert!(headline.html().contains(first));
        assert_eq!(rest, Document::new().answer("", further));
        assert!(further.starts_with("The runs are too short"), "{further}");
    }

    #[test]
    fn three_runs_have_a_trend_and_two_have_none() {
        let runs = ["a", "b", "c"].map(|it| run(it, 50_000, 1));
        assert!(trend(&Page::of(&runs[..2])).is_empty());
        let page = trend(&Page::of(&runs)).html();
        assert_eq!(page.matches("<th scope=\"row\">").count(), 4, "{page}");
        assert!(
            page.contains("50 % over the runs: 50.02\u{a0}µs, 50.02\u{a0}µs, 50.02\u{a0}µs"),
            "{page}"
        );
    }
}
