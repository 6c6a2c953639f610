//! A comparison on one screen: a sentence, further differences, and a table of the main figures.

use std::collections::BTreeSet;

use super::sheet;
use crate::compare::{
    Candidate, Comparison, Difference, FigureComparison, Metric, SeriesComparison,
};
use crate::sections::round_trips;
use crate::statistics::{Percent, Percentile};
use crate::summary::{SeriesSummary, Summary};
use crate::text::table::{TextCell, TextTable};
use crate::text::{Style, Text, wrap};

/// A comparison of `runs`: their differences, one table per series, series without a partner.
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
    parts.extend(differences(comparison, usize::MAX, usize::MAX, style));
    let round_trips = round_trips::of(&comparison.network, |run| &comparison.runs[run]);
    parts.extend(round_trips.parts(style));
    for series in &comparison.series {
        parts.extend(tables(comparison, series, runs, style));
    }
    if comparison.series.is_empty() {
        parts.push("No two runs share a series.".into());
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

/// Further differences between the runs, limited in number and in characters of each.
fn differences(
    comparison: &Comparison,
    most: usize,
    characters: usize,
    style: Style,
) -> Option<Text> {
    let named = |difference: &Difference| {
        let sentence = difference.sentence(&comparison.runs);
        let end = sentence.char_indices().nth(characters);
        let cut = end.map(|(end, _)| format!("{}...", &sentence[..end]));
        wrap(&cut.unwrap_or(sentence), style.width)
    };
    let all = &comparison.differences;
    let heading = "The runs were taken differently:".to_owned();
    let lines = [heading]
        .into_iter()
        .chain(all.iter().take(most).map(named));
    let lines: Vec<String> = lines.chain(more(all.len(), most)).collect();
    (!all.is_empty()).then(|| lines.join("\n").into())
}

/// One table for all candidates where the width allows it, otherwise a table each; cells are wrapped only where that is
/// too wide as well.
fn tables(
    comparison: &Comparison,
    series: &SeriesComparison,
    runs: &[Summary],
    style: Style,
) -> Vec<Text> {
    let wide = style.of_width(u16::MAX);
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
    let mut table = TextTable::new(style);
    let mut header = vec![series.name.clone(), comparison.runs[0].clone()];
    for candidate in candidates {
        header.push(comparison.runs[candidate.run].clone());
        header.push("ratio".to_owned());
    }
    table.set_header(header);
    let count = |run: usize, place: usize| {
        let series = series_at(runs, (run, place));
        series.map_or_else(String::new, |it| crate::numbers::thousands(it.count))
    };
    let first = count(0, series.baseline);
    let mut samples = vec![TextCell::new("samples"), TextCell::new(first)];
    for candidate in candidates {
        samples.push(TextCell::new(count(candidate.run, candidate.series)));
        samples.push(TextCell::new(""));
    }
    table.add_row(samples);
    // Every metric that some candidate shares with the baseline.
    let figures = candidates.iter().flat_map(|candidate| &candidate.figures);
    let metrics: BTreeSet<Metric> = figures.map(|figure| figure.metric).collect();
    for metric in metrics {
        let found = || candidates.iter().map(|candidate| candidate.figure(metric));
        let baseline = found().flatten().next().map(|figure| figure.baseline);
        let told = |at: (usize, usize), figure: Option<f64>| {
            TextCell::new(figure.map_or_else(String::new, |it| shown(runs, at, metric, it)))
        };
        let mut row = vec![TextCell::new(metric), told((0, series.baseline), baseline)];
        for (figure, candidate) in found().zip(candidates) {
            let value = figure.map(|figure| figure.candidate);
            row.push(told((candidate.run, candidate.series), value));
            row.push(figure.map_or_else(|| TextCell::new(""), ratio));
        }
        table.add_row(row);
    }
    table.align_right_from(1);
    table.text()
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

fn ratio(figure: &FigureComparison) -> TextCell {
    let Some(ratio) = figure.ratio else {
        return TextCell::new("");
    };
    let times = crate::compare::times(ratio);
    let Ok((low, high)) = figure.interval else {
        return TextCell::new(format!("{times}x"));
    };
    let (low, high) = (crate::compare::times(low), crate::compare::times(high));
    let text = format!("{times}x ({low} to {high})");
    match figure.significant {
        Some(true) if ratio > 1.0 => TextCell::new(format!("^ {text}")).judged(false),
        Some(true) => TextCell::new(format!("v {text}")).judged(true),
        _ => TextCell::new(text),
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
pub fn comparison_answer(comparison: &Comparison, runs: &[Summary], style: Style) -> Text {
    let mut parts = vec![Text::from(wrap(&comparison.answer(runs), style.width))];
    parts.extend(differences(
        comparison,
        MAX_DIFFERENCES,
        MAX_CHARACTERS,
        style,
    ));
    let (header, rows) = match comparison.runs.len() {
        0..=2 => figures(comparison, runs),
        _ => trend(comparison, runs),
    };
    // Such runs are compared for their round trips by switch and host.
    let round_trips = round_trips::of(&comparison.network, |run| &comparison.runs[run]);
    parts.extend(round_trips.parts(style));
    if !rows.is_empty() && comparison.network.is_empty() {
        let number = rows.len();
        let mut table = TextTable::new(style);
        table.set_header(header);
        for row in rows.into_iter().take(MAX_ROWS) {
            table.add_row(row);
        }
        table.align_right_from(1);
        let mut lines = vec![table.text()];
        lines.extend(more(number, MAX_ROWS).map(Text::from));
        if comparison.significant().next().is_some() {
            lines.push("^ slower, v faster: chance hardly explains it.".into());
        }
        lines.extend(sheet::coarse_note(
            runs.iter().flat_map(|run| &run.series),
            style,
        ));
        parts.push(Text::join(lines, "\n"));
    }
    let notes = comparison.unread.iter().chain(&comparison.alone);
    parts.extend(
        notes
            .take(2)
            .map(|sentence| wrap(sentence, style.width).into()),
    );
    parts.retain(|part| !part.is_empty());
    Text::join(parts, "\n\n")
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

/// The header of a table, and its rows.
type ComparisonTable = (Vec<String>, Vec<Vec<TextCell>>);

/// A row for each main figure of the candidate; with several series only the highest percentile and the maximum, so
/// that each series has rows.
fn figures(comparison: &Comparison, runs: &[Summary]) -> ComparisonTable {
    let mut rows = Vec::new();
    let one = comparison.series.len() == 1;
    for series in &comparison.series {
        let Some(candidate) = series.candidates.first() else {
            continue;
        };
        let highest = highest(candidate).map(|figure| figure.metric);
        let wanted = |figure: &&FigureComparison| {
            main(figure.metric) && (one || Some(figure.metric) == highest)
        };
        for figure in candidate.figures.iter().filter(wanted) {
            let name = match one {
                true => figure.metric.to_string(),
                false => format!("{} {}", series.name, figure.metric),
            };
            let value = |at: (usize, usize), value: f64| {
                TextCell::new(shown(runs, at, figure.metric, value))
            };
            rows.push(vec![
                TextCell::new(name),
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
    (header, rows)
}

/// The highest main percentile that both runs support.
fn highest(candidate: &Candidate) -> Option<&FigureComparison> {
    let is_main =
        |it: &&FigureComparison| main(it.metric) && matches!(it.metric, Metric::Percentile(_));
    let figures = candidate.figures.iter();
    figures.filter(is_main).max_by_key(|it| it.metric)
}

/// One row per run, series by series: the highest percentile, the maximum, and the ratio to the first.
fn trend(comparison: &Comparison, runs: &[Summary]) -> ComparisonTable {
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
                    TextCell::new(format!("{} {}", comparison.runs[at.0], series.name)),
                    TextCell::new(format!("{} {percentile}", figure.metric)),
                    TextCell::new(max.unwrap_or_default()),
                    ratio,
                ]);
            };
            if index == 0 {
                row((0, series.baseline), |it| it.baseline, TextCell::new(""));
            }
            let at = (candidate.run, candidate.series);
            row(at, |it| it.candidate, ratio(figure));
        }
    }
    let header = ["run", "percentile", "max", "ratio to the first"];
    (header.map(str::to_owned).to_vec(), rows)
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::Kind;

    use super::*;
    use crate::compare::CompareOptions;
    use crate::testing::{named, of_a_coarse_log, run_of, series_of};

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
                comparison_answer(&compared, &runs, Style::plain()),
                comparison(&compared, &runs, Style::plain()),
            ] {
                assert!(text.contains("<= 1"), "{text}");
                assert!(text.contains("may lie up to"), "{text}");
            }
        }
        let runs = [fine(), coarse(), fine()];
        let page = crate::html::render(&runs);
        assert!(page.contains("<td>≤"), "the trend");
        let runs = [fine(), fine(), fine()];
        let compared = Comparison::new(&runs, &options);
        assert!(!comparison_answer(&compared, &runs, Style::plain()).contains("<="));
        assert!(!crate::html::render(&runs).contains("<td>≤"));
    }
}
