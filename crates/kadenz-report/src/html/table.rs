//! The table of series: the counts, the percentiles that the sample supports, and how far the worst lies.

use std::borrow::Cow;
use std::iter::once;

use super::blocks;
use super::markup::Markup;
use super::page::{Page, SeriesGroup, SeriesOnPage, kind_in_words};
use crate::document::{CellMark, Document, Table, TableCell};
use crate::figures::{count, plural, span};
use crate::sections::series::{FigureGroup, SeriesFigure, by_series};
use crate::statistics::{Percent, SampleFacts};

/// The section: one row per series with the most important figures, and everything else folded away.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    let document = match page.series.is_empty() {
        true => Document::new().missing("This run has no series."),
        false => by_group(page)
            .folded("All figures of every series".to_owned(), all_figures(page))
            .and(extremes(page)),
    };
    blocks::section(out, "series", "The figures", &document);
}

/// The main figures, in a table for each group of series; those after the first are folded away.
fn by_group(page: &Page<'_>) -> Document {
    let lead = "Below each percentile stands how many samples lie beyond it: what it rests on.";
    let mut document = Document::new().lead(lead);
    let number = |group| page.series.iter().filter(|it| it.group == group).count();
    let groups = SeriesGroup::ALL.map(|group| (group, number(group) as u64));
    let groups: Vec<_> = groups
        .into_iter()
        .filter(|(_, number)| *number > 0)
        .collect();
    for (place, &(group, number)) in groups.iter().enumerate() {
        let words = format!("{}: {}", group.name(), plural(number, "series", "series"));
        let caption = match groups.len() {
            1 => "All series".to_owned(),
            _ => words.clone(),
        };
        let of_group = |it: &SeriesOnPage<'_>| it.group == group;
        let table = table(page, caption, of_group, SeriesFigure::is_main);
        document = match place {
            0 => document.table(table),
            _ => document.folded(words, Document::new().table(table)),
        };
    }
    document
}

/// A table with a row for each series.
pub(super) fn table(
    page: &Page<'_>,
    caption: impl Into<Cow<'static, str>>,
    series: impl Fn(&SeriesOnPage<'_>) -> bool,
    figure: impl Fn(&SeriesFigure) -> bool,
) -> Table {
    let rows = page.series.iter().enumerate().filter(|(_, it)| series(it));
    let rows = rows.map(|(number, it)| {
        let name = TableCell::text(&it.label).marked(CellMark::Series(number));
        let kind = kind_in_words(it.summary.series.kind).to_owned();
        (name.noted(kind), it.summary)
    });
    by_series(caption, "Series", rows, figure).0
}

/// Every figure, with every percentile that some series supports, and the first that none does.
fn all_figures(page: &Page<'_>) -> Document {
    let most = page.series.iter().map(|s| s.summary.count).max();
    let carried = |it: &&Percent| it.is_carried_by(most.unwrap_or(0));
    let shown = Percent::REPORTED.iter().filter(carried).count() + 1;
    let shown = &Percent::REPORTED[..shown.min(Percent::REPORTED.len())];
    let is_shown = |group| matches!(group, FigureGroup::Percentile(it) if shown.contains(&it));
    let is_of = |of| move |group| group == of;
    let tables: [(_, &dyn Fn(FigureGroup) -> bool); 4] = [
        ("Samples", &is_of(FigureGroup::Samples)),
        ("Percentiles", &is_shown),
        ("Extremes and shape", &is_of(FigureGroup::Extremes)),
        ("Deadline", &is_of(FigureGroup::Deadline)),
    ];
    let tables =
        tables.map(|(caption, wanted)| table(page, caption, |_| true, |it| wanted(it.group)));
    let tables = tables.into_iter().filter(|it| it.columns.len() > 1);
    let document = tables.fold(Document::new(), Document::table);
    document
        .hint("Mean and deviation alone would hide what matters: (max − mean) / SD says how far.")
}

/// The ten highest and lowest samples of each series that kept its samples.
fn extremes(page: &Page<'_>) -> Document {
    let series = page.series.iter();
    let tables = series.filter_map(|it| Some(extremes_of(&it.label, it.summary.samples.as_ref()?)));
    let tables = tables.fold(Document::new(), Document::table);
    Document::new().folded("Highest and lowest samples".to_owned(), tables)
}

fn extremes_of(label: &str, facts: &SampleFacts) -> Table {
    let rows = facts.highest.iter().zip(&facts.lowest).map(|(high, low)| {
        let cells = [high, low].map(|it| [count(it.index), span(it.value_ns)]);
        cells.concat()
    });
    let rows = (1..).zip(rows).map(|(rank, cells)| {
        let cells = once(count(rank)).chain(cells);
        cells.map(TableCell::text).collect()
    });
    let caption = format!("Highest and lowest samples of {label}: sample number and value");
    Table::of(["Rank", "Highest", "Value", "Lowest", "Value"], rows).on_page("rows", caption)
}
