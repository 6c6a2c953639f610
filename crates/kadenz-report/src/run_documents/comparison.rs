//! The answer of a comparison: sentences, further differences, and tables of the figures.

use std::collections::BTreeSet;

use super::brief::missing_values;
use super::sheet::coarse_note;
use crate::compare::{
    Candidate, Comparison, Difference, FigureComparison, Metric, SeriesComparison,
};
use crate::document::{Document, DocumentLine, Split, Table, TableCell};
use crate::sections::round_trips;
use crate::statistics::{Percent, Percentile};
use crate::summary::{SeriesSummary, Summary};

/// A comparison of `runs`: their differences, one table per series, series without a partner.
///
/// ```
/// use kadenz_report::run_documents::comparison;
/// use kadenz_report::compare::{CompareOptions, Comparison};
///
/// let runs = [];
/// let compared = Comparison::new(&runs, &CompareOptions::default());
/// assert_eq!(comparison(&compared, &runs).markdown(), "No two runs share a series.\n");
/// ```
#[must_use]
pub fn comparison(comparison: &Comparison, runs: &[Summary]) -> Document {
    let mut document = opening(comparison, runs, usize::MAX, usize::MAX);
    for series in &comparison.series {
        document = document.table(table(comparison, series, runs));
    }
    if comparison.series.is_empty() {
        document = document.sentence("No two runs share a series.");
    } else {
        let confidence = crate::numbers::percentage(comparison.confidence);
        let candidates = comparison.series.iter().flat_map(|s| &s.candidates);
        let mut figures = candidates.flat_map(|candidate| &candidate.figures);
        let mut note = String::new();
        if figures.any(|figure| figure.interval.is_ok()) {
            note = format!(
                "In brackets: {confidence} interval of the ratio, from how the intervals of each log \
                 differ. What changes more slowly than a run lasts, or from start to start, is not in it."
            );
        }
        if comparison.significant().next().is_some() {
            note.push_str(
                " An arrow marks figures of which chance hardly explains the difference, with all \
                 figures together taken into account.",
            );
        }
        if has_unmarked(comparison) {
            note.push_str(UNMARKED);
        }
        document = document
            .sentences((!note.is_empty()).then_some(note))
            .sentences(coarse_note(runs.iter().flat_map(|run| &run.series)));
    }
    let notes = comparison.alone.iter().chain(&comparison.unread);
    document.sentences(notes.cloned()).fitted()
}

/// Said where a figure differs by its own interval, but not by that of all figures together.
const UNMARKED: &str = " Where 1.00 is not in the brackets, but no arrow is there, the runs are too short for so many \
                        figures: measure longer.";

/// Whether the interval of a figure leaves out 1, and the figure is not marked.
fn has_unmarked(comparison: &Comparison) -> bool {
    let candidates = comparison.series.iter().flat_map(|it| &it.candidates);
    let mut figures = candidates.flat_map(|it| &it.figures);
    figures.any(|figure| {
        let apart = figure
            .interval
            .is_ok_and(|(low, high)| low > 1.0 || high < 1.0);
        apart && figure.significant != Some(true)
    })
}

/// The comparison in words, further differences, which are limited in number and in characters of each, and the round
/// trips by switch and host of runs that sent packets.
fn opening(comparison: &Comparison, runs: &[Summary], most: usize, characters: usize) -> Document {
    let answer = Some(comparison.answer(runs)).filter(|it| !it.is_empty());
    let named = |difference: &Difference| {
        let sentence = difference.sentence(&comparison.runs);
        let end = sentence.char_indices().nth(characters);
        let cut = end.map(|(end, _)| format!("{}...", &sentence[..end]));
        cut.unwrap_or(sentence)
    };
    let all = &comparison.differences;
    let heading = (!all.is_empty()).then(|| "The runs were taken differently:".to_owned());
    let lines = heading.into_iter().chain(all.iter().take(most).map(named));
    let lines = lines.chain(more(all.len(), most)).map(DocumentLine::from);
    Document::new()
        .sentences(answer)
        .lines(missing_values(runs))
        .lines(lines)
        .and(round_trips::of(&comparison.network, |run| {
            &comparison.runs[run]
        }))
}

/// A table of a series with a pair of columns for each candidate.
fn table(comparison: &Comparison, series: &SeriesComparison, runs: &[Summary]) -> Table {
    let candidates = &series.candidates;
    let mut header = vec![series.name.clone(), comparison.runs[0].clone()];
    for candidate in candidates {
        header.push(comparison.runs[candidate.run].clone());
        header.push("ratio".to_owned());
    }
    let count = |run: usize, place: usize| {
        TableCell::count(series_at(runs, (run, place)).map(|it| it.count))
    };
    let mut samples = vec![TableCell::text("samples"), count(0, series.baseline)];
    for candidate in candidates {
        samples.push(count(candidate.run, candidate.series));
        samples.push(TableCell::text(""));
    }
    let mut table = Table::of(header, [samples]).split(Split::Pairs);
    // Every metric that some candidate shares with the baseline.
    let figures = candidates.iter().flat_map(|candidate| &candidate.figures);
    let metrics: BTreeSet<Metric> = figures.map(|figure| figure.metric).collect();
    for metric in metrics {
        let found = || candidates.iter().map(|candidate| candidate.figure(metric));
        let baseline = found().flatten().next().map(|figure| figure.baseline);
        let cell = |at: (usize, usize), figure: Option<f64>| {
            TableCell::text(figure.map_or_else(String::new, |it| shown(runs, at, metric, it)))
        };
        let name = TableCell::text(metric.to_string());
        let mut row = vec![name, cell((0, series.baseline), baseline)];
        for (figure, candidate) in found().zip(candidates) {
            let value = figure.map(|figure| figure.candidate);
            row.push(cell((candidate.run, candidate.series), value));
            row.push(figure.map_or_else(|| TableCell::text(""), ratio));
        }
        table.push(row);
    }
    table
}

/// The series in this place of this run.
fn series_at(runs: &[Summary], (run, place): (usize, usize)) -> Option<&SeriesSummary> {
    runs.get(run)?.series.get(place)
}

/// A figure of a series, marked where a coarse log gives an upper bound only.
fn shown(runs: &[Summary], at: (usize, usize), metric: Metric, figure: f64) -> String {
    let is_coarse =
        |it: &&Percentile| metric == Metric::Percentile(it.percent) && it.coarseness().is_some();
    let coarse = series_at(runs, at).and_then(|it| it.percentiles.iter().find(is_coarse));
    let edge = coarse.map_or("", |_| "<= ");
    format!("{edge}{}", metric.show(figure))
}

fn ratio(figure: &FigureComparison) -> TableCell {
    let Some(ratio) = figure.ratio else {
        return TableCell::text("");
    };
    let times = crate::compare::times(ratio);
    let Ok((low, high)) = figure.interval else {
        return TableCell::text(format!("{times}x"));
    };
    let (low, high) = (crate::compare::times(low), crate::compare::times(high));
    let text = format!("{times}x ({low} to {high})");
    match figure.significant {
        Some(true) if ratio > 1.0 => TableCell::text(format!("^ {text}")).judged(false),
        Some(true) => TableCell::text(format!("v {text}")).judged(true),
        _ => TableCell::text(text),
    }
}

/// Maximum number of rows, so that the whole answer fits into 25 lines.
const MAX_ROWS: usize = 8;
/// Differences that are shown.
const MAX_DIFFERENCES: usize = 3;
/// Characters of a difference that are shown.
const MAX_CHARACTERS: usize = 110;

/// The answer of a comparison in at most 25 lines of 80 columns; [`super::comparison`] has the rest. With two runs a
/// row for each figure, with more a row for each run and series; for runs that sent packets the tables of round trips
/// instead.
#[must_use]
pub fn comparison_answer(comparison: &Comparison, runs: &[Summary]) -> Document {
    let mut document = opening(comparison, runs, MAX_DIFFERENCES, MAX_CHARACTERS);
    let mut table = match comparison.runs.len() {
        0..=2 => figures(comparison, runs),
        _ => trend(comparison, runs),
    };
    if !table.rows.is_empty() && comparison.network.is_empty() {
        table.notes.extend(more(table.rows.len(), MAX_ROWS));
        if comparison.significant().next().is_some() {
            let legend = "^ slower, v faster: chance hardly explains it.";
            table.notes.push(legend.to_owned());
        }
        let coarse = coarse_note(runs.iter().flat_map(|run| &run.series));
        table.notes.extend(coarse);
        document = document.table(table.at_most(MAX_ROWS));
    }
    let notes = comparison.unread.iter().chain(&comparison.alone);
    document.sentences(notes.take(2).cloned()).fitted()
}

fn more(number: usize, shown: usize) -> Option<String> {
    let more = number.checked_sub(shown).filter(|&more| more > 0)?;
    Some(format!("and {more} more: see --details"))
}

/// The main figures, in order of their importance for a robot.
fn main(metric: Metric) -> bool {
    match metric {
        Metric::Percentile(percent) => {
            [Percent::P50, Percent::P99, Percent::P99_9].contains(&percent)
        }
        Metric::Mean | Metric::Max | Metric::Misses => true,
        _ => false,
    }
}

/// A row for each main figure of the candidate; with several series only the highest percentile and the marked figures,
/// so that each series has rows.
fn figures(comparison: &Comparison, runs: &[Summary]) -> Table {
    let mut rows = Vec::new();
    let one = comparison.series.len() == 1;
    for series in &comparison.series {
        let Some(candidate) = series.candidates.first() else {
            continue;
        };
        let highest = highest(candidate).map(|figure| figure.metric);
        let wanted = |figure: &&FigureComparison| {
            let is_first = Some(figure.metric) == highest || figure.significant == Some(true);
            main(figure.metric) && (one || is_first)
        };
        for figure in candidate.figures.iter().filter(wanted) {
            let name = match one {
                true => figure.metric.to_string(),
                false => format!("{} {}", series.name, figure.metric),
            };
            let value = |at: (usize, usize), value: f64| {
                TableCell::text(shown(runs, at, figure.metric, value))
            };
            rows.push(vec![
                TableCell::text(name),
                value((0, series.baseline), figure.baseline),
                value((candidate.run, candidate.series), figure.candidate),
                ratio(figure),
            ]);
        }
    }
    let mut header = vec![match comparison.series.first() {
        Some(series) if one => series.name.clone(),
        _ => "series".to_owned(),
    }];
    header.extend(comparison.runs.iter().cloned());
    header.push("ratio".to_owned());
    Table::of(header, rows)
}

/// The highest main percentile that both runs support.
fn highest(candidate: &Candidate) -> Option<&FigureComparison> {
    let is_main =
        |it: &&FigureComparison| main(it.metric) && matches!(it.metric, Metric::Percentile(_));
    let figures = candidate.figures.iter();
    figures.filter(is_main).max_by_key(|it| it.metric)
}

/// One row per run, series by series: the highest percentile, the maximum, and the ratio to the first.
fn trend(comparison: &Comparison, runs: &[Summary]) -> Table {
    let mut rows = Vec::new();
    for series in &comparison.series {
        for (index, candidate) in series.candidates.iter().enumerate() {
            let Some(figure) = highest(candidate) else {
                continue;
            };
            let max = candidate.figure(Metric::Max);
            let mut row = |at: (usize, usize), value: fn(&FigureComparison) -> f64, ratio| {
                let max = max.map(|it| Metric::Max.show(value(it)));
                let percentile = shown(runs, at, figure.metric, value(figure));
                rows.push(vec![
                    TableCell::text(format!("{} {}", comparison.runs[at.0], series.name)),
                    TableCell::text(format!("{} {percentile}", figure.metric)),
                    TableCell::text(max.unwrap_or_default()),
                    ratio,
                ]);
            };
            if index == 0 {
                row((0, series.baseline), |it| it.baseline, TableCell::text(""));
            }
            let at = (candidate.run, candidate.series);
            row(at, |it| it.candidate, ratio(figure));
        }
    }
    let header = ["run", "percentile", "max", "ratio to the first"];
    Table::of(header, rows)
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::Kind;

    use super::*;
    use crate::compare::CompareOptions;
    use crate::testing::{named, of_a_coarse_log, run_of, series_of};
    use crate::text::Style;

    #[test]
    fn a_comparison_marks_percentiles_of_coarse_logs() {
        let coarse = || run_of("coarse", vec![of_a_coarse_log()]);
        let fine = || {
            let series = series_of(named("hiccup", Kind::Hiccup), &[(150_000, 200_000)]);
            run_of("fine", vec![series])
        };
        let options = CompareOptions::default();
        for runs in [vec![coarse(), fine()], vec![fine(), coarse(), fine()]] {
            let compared = Comparison::new(&runs, &options);
            for text in [
                comparison_answer(&compared, &runs),
                comparison(&compared, &runs),
            ] {
                let text = text.terminal(Style::plain());
                assert!(text.contains("<= 1"), "{text}");
                assert!(text.contains("may lie up to"), "{text}");
            }
        }
        let runs = [fine(), coarse(), fine()];
        let trend = |runs: &[Summary]| {
            let page = crate::html::render(runs);
            let (_, trend) = page.split_once("<section id=\"trend\">").unwrap();
            trend.split_once("</section>").unwrap().0.to_owned()
        };
        assert!(trend(&runs).contains("; the log is coarse</small>"));
        let runs = [fine(), fine(), fine()];
        let compared = Comparison::new(&runs, &options);
        let text = comparison_answer(&compared, &runs).terminal(Style::plain());
        assert!(!text.contains("<="));
        assert!(!trend(&runs).contains("coarse"));
    }

    #[test]
    fn a_figure_that_differs_without_an_arrow_is_explained() {
        let runs = ["a", "b"].map(|name| {
            let series = series_of(named("hiccup", Kind::Hiccup), &[(150_000, 200_000)]);
            run_of(name, vec![series])
        });
        let shown = |significant| {
            let mut compared = Comparison::new(&runs, &CompareOptions::default());
            let figure = &mut compared.series[0].candidates[0].figures[0];
            figure.interval = Ok((11.7, 11.8));
            figure.significant = significant;
            comparison(&compared, &runs).markdown()
        };
        let explained = "the runs are too short for so many figures";
        assert!(shown(None).contains(explained), "{}", shown(None));
        assert!(shown(Some(false)).contains(explained));
        assert!(!shown(Some(true)).contains(explained));
    }
}
