//! The table of a comparison.

use super::sheet;
use crate::compare::{Candidate, Comparison, FigureComparison, Metric, SeriesComparison};
use crate::sections::round_trips;
use crate::statistics::Percentile;
use crate::summary::{SeriesSummary, Summary};
use crate::text::Style;
use crate::text::table::{Cell, Table};
use crate::text::{Text, wrap};

/// A comparison of `runs`: what differs between them, a table a series, what stands alone.
///
/// ```
/// use kadenz_report::compare::{CompareOptions, Comparison};
/// use kadenz_report::terminal::comparison;
/// use kadenz_report::text::Style;
///
/// let runs = [];
/// let compared = Comparison::new(&runs, &CompareOptions::default());
/// assert_eq!(comparison(&compared, &runs, Style::plain()), "No two runs share a series.");
/// ```
#[must_use]
pub fn comparison(comparison: &Comparison, runs: &[Summary], style: Style) -> Text {
    let mut parts = vec![Text::from(wrap(&comparison.answer(runs), style.width))];
    parts.retain(|part| !part.is_empty());
    let differing: Vec<String> = comparison
        .differences
        .iter()
        .map(|difference| wrap(&difference.sentence(&comparison.runs), style.width))
        .collect();
    if !differing.is_empty() {
        let heading = "The runs were taken differently:";
        parts.push(format!("{heading}\n{}", differing.join("\n")).into());
    }
    let round_trips = round_trips::of(&comparison.network, |run| &comparison.runs[run]);
    parts.extend(round_trips.parts(style));
    for series in &comparison.series {
        parts.extend(tables(comparison, series, runs, style));
    }
    if comparison.series.is_empty() {
        parts.push("No two runs share a series.".into());
    } else {
        let confidence = crate::numbers::percentage(comparison.confidence);
        let intervals = || {
            let candidates = comparison.series.iter().flat_map(|s| &s.candidates);
            candidates.flat_map(|candidate| &candidate.figures)
        };
        let mut note = String::new();
        if intervals().any(|figure| figure.interval.is_ok()) {
            note = format!(
                "In brackets: {confidence} interval of the ratio, from how the intervals of each log \
                 differ. What changes more slowly than a run lasts, or from start to start, is not in it."
            );
        }
        if intervals().any(|figure| figure.significant == Some(true)) {
            note.push_str(
                " An arrow marks figures of which chance hardly explains the difference, with all \
                 figures together taken into account.",
            );
        }
        parts.extend((!note.is_empty()).then(|| wrap(&note, style.width).into()));
        parts.extend(sheet::coarse_note(
            runs.iter().flat_map(|run| &run.series),
            style,
        ));
    }
    parts.extend(
        (comparison.alone.iter())
            .chain(&comparison.unread)
            .map(|sentence| wrap(sentence, style.width).into()),
    );
    Text::join(parts, "\n\n")
}

/// One table for all candidates where the width allows it, else a table each; cells are wrapped
/// only where that is too wide as well.
fn tables(
    comparison: &Comparison,
    series: &SeriesComparison,
    runs: &[Summary],
    style: Style,
) -> Vec<Text> {
    let wide = Style {
        width: u16::MAX,
        ..style
    };
    let fits = |table: &Text| {
        let width = table.lines().map(visible_width).max().unwrap_or(0);
        width <= usize::from(style.width)
    };
    let together = table(comparison, series, &series.candidates, runs, wide);
    if fits(&together) {
        return vec![together];
    }
    let one = |candidate: &Candidate| {
        let alone = std::slice::from_ref(candidate);
        let whole = table(comparison, series, alone, runs, wide);
        if fits(&whole) {
            whole
        } else {
            table(comparison, series, alone, runs, style)
        }
    };
    series.candidates.iter().map(one).collect()
}

/// Characters of a line without its colours.
pub(super) fn visible_width(line: &str) -> usize {
    let mut within_escape = false;
    let seen = line.chars().filter(|&character| {
        let shown = !within_escape && character != '\u{1b}';
        within_escape = (within_escape || character == '\u{1b}') && character != 'm';
        shown
    });
    seen.count()
}

fn table(
    comparison: &Comparison,
    series: &SeriesComparison,
    candidates: &[Candidate],
    runs: &[Summary],
    style: Style,
) -> Text {
    let mut table = Table::new(style);
    let mut header = vec![series.name.clone(), comparison.runs[0].clone()];
    for candidate in candidates {
        header.push(comparison.runs[candidate.run].clone());
        header.push("ratio".to_owned());
    }
    table.set_header(header);
    let count = |run: usize, place: usize| {
        let series = runs.get(run).and_then(|run| run.series.get(place));
        series.map_or_else(String::new, |series| {
            crate::numbers::thousands(series.count)
        })
    };
    let mut samples = vec![Cell::new("samples"), Cell::new(count(0, series.baseline))];
    for candidate in candidates {
        samples.push(Cell::new(count(candidate.run, candidate.series)));
        samples.push(Cell::new(""));
    }
    table.add_row(samples);
    for metric in metrics(candidates) {
        let found: Vec<Option<&FigureComparison>> = candidates
            .iter()
            .map(|candidate| {
                candidate
                    .figures
                    .iter()
                    .find(|figure| figure.metric == metric)
            })
            .collect();
        let baseline = found.iter().flatten().next().map(|figure| figure.baseline);
        let told = |run: usize, place: usize, figure: Option<f64>| {
            let series = runs.get(run).and_then(|run| run.series.get(place));
            Cell::new(figure.map_or_else(String::new, |it| shown(metric, it, series)))
        };
        let mut row = vec![Cell::new(metric), told(0, series.baseline, baseline)];
        for (figure, candidate) in found.into_iter().zip(candidates) {
            let value = figure.map(|figure| figure.candidate);
            row.push(told(candidate.run, candidate.series, value));
            row.push(figure.map_or_else(|| Cell::new(""), ratio));
        }
        table.add_row(row);
    }
    table.align_right_from(1);
    table.text()
}

/// A figure of a series, marked where a coarse log gives an upper bound only.
pub(super) fn shown(metric: Metric, figure: f64, series: Option<&SeriesSummary>) -> String {
    let is_coarse =
        |it: &&Percentile| metric == Metric::Percentile(it.percent) && it.coarseness().is_some();
    let coarse = series.and_then(|it| it.percentiles.iter().find(is_coarse));
    let edge = coarse.map_or("", |_| "<= ");
    format!("{edge}{}", metric.show(figure))
}

/// Every metric that some candidate shares with the baseline.
fn metrics(candidates: &[Candidate]) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = candidates
        .iter()
        .flat_map(|candidate| candidate.figures.iter().map(|figure| figure.metric))
        .collect();
    metrics.sort_unstable();
    metrics.dedup();
    metrics
}

pub(super) fn ratio(figure: &FigureComparison) -> Cell {
    let Some(ratio) = figure.ratio else {
        return Cell::new("");
    };
    let times = crate::compare::times(ratio);
    let Ok((low, high)) = figure.interval else {
        return Cell::new(format!("{times}x"));
    };
    let (low, high) = (crate::compare::times(low), crate::compare::times(high));
    let text = format!("{times}x ({low} to {high})");
    match figure.significant {
        Some(true) if ratio > 1.0 => Cell::new(format!("^ {text}")).judged(false),
        Some(true) => Cell::new(format!("v {text}")).judged(true),
        _ => Cell::new(text),
    }
}
