//! A comparison on one screen: a sentence, what else differs, and a table of the main figures.

use super::comparison::{ratio, shown};
use super::sheet;
use crate::compare::{Candidate, Comparison, FigureComparison, Metric};
use crate::sections::round_trips;
use crate::statistics::Percent;
use crate::summary::Summary;
use crate::text::Style;
use crate::text::table::{Cell, Table};
use crate::text::{Text, wrap};

/// Rows of the table, so that all of the answer fits into 25 lines.
const MAX_ROWS: usize = 8;
/// Differences that are shown.
const MAX_DIFFERENCES: usize = 3;
/// Characters of a difference that are shown.
const MAX_CHARACTERS: usize = 110;

/// The answer of a comparison in at most 25 lines of 80 columns; [`super::comparison`] has the rest.
/// Of two runs a row for each figure, of more a row for each run and series; of runs that sent packets
/// the tables of round trips instead.
#[must_use]
pub fn comparison_answer(comparison: &Comparison, runs: &[Summary], style: Style) -> Text {
    let mut parts = vec![Text::from(wrap(&comparison.answer(runs), style.width))];
    let named = |difference: &crate::compare::Difference| {
        let sentence = difference.sentence(&comparison.runs);
        match sentence.char_indices().nth(MAX_CHARACTERS) {
            Some((end, _)) => format!("{}...", &sentence[..end]),
            None => sentence,
        }
    };
    let differences = &comparison.differences;
    if !differences.is_empty() {
        let mut lines = vec!["The runs were taken differently:".to_owned()];
        let shown = differences.iter().take(MAX_DIFFERENCES).map(named);
        lines.extend(shown.map(|line| wrap(&line, style.width)));
        lines.extend(more(differences.len(), MAX_DIFFERENCES));
        parts.push(lines.join("\n").into());
    }
    let (header, rows) = match comparison.runs.len() {
        0..=2 => figures(comparison, runs),
        _ => trend(comparison, runs),
    };
    let any_marked = comparison
        .series
        .iter()
        .flat_map(|series| &series.candidates)
        .flat_map(|candidate| &candidate.figures)
        .any(|figure| figure.significant == Some(true));
    // Round trips by switch and host are what such runs are compared for.
    let round_trips = round_trips::of(&comparison.network, |run| &comparison.runs[run]);
    parts.extend(round_trips.parts(style));
    if !rows.is_empty() && comparison.network.is_empty() {
        let number = rows.len();
        let mut table = Table::new(style);
        table.set_header(header);
        for row in rows.into_iter().take(MAX_ROWS) {
            table.add_row(row);
        }
        table.align_right_from(1);
        let mut lines = vec![table.text()];
        lines.extend(more(number, MAX_ROWS).map(Text::from));
        if any_marked {
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

/// The main figures, in order of what a robot meets.
fn main(metric: Metric) -> bool {
    match metric {
        Metric::Percentile(percent) => {
            [Percent::P50, Percent::P99, Percent::P99_9].contains(&percent)
        }
        Metric::Mean | Metric::Max | Metric::Misses => true,
        _ => false,
    }
}

type Rows = (Vec<String>, Vec<Vec<Cell>>);

/// A row for each main figure of the candidate; of several series only the highest percentile and
/// the maximum, so that each has its rows.
fn figures(comparison: &Comparison, runs: &[Summary]) -> Rows {
    let mut rows = Vec::new();
    let one = comparison.series.len() == 1;
    for series in &comparison.series {
        let Some(candidate) = series.candidates.first() else {
            continue;
        };
        let highest = highest(candidate);
        let wanted = |figure: &&FigureComparison| {
            main(figure.metric) && (one || Some(figure.metric) == highest)
        };
        for figure in candidate.figures.iter().filter(wanted) {
            let name = match one {
                true => figure.metric.to_string(),
                false => format!("{} {}", series.name, figure.metric),
            };
            let value = |value, run: usize, place: usize| {
                let series = runs.get(run).and_then(|run| run.series.get(place));
                Cell::new(shown(figure.metric, value, series))
            };
            rows.push(vec![
                Cell::new(name),
                value(figure.baseline, 0, series.baseline),
                value(figure.candidate, candidate.run, candidate.series),
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

/// The highest main percentile that both runs carry.
fn highest(candidate: &Candidate) -> Option<Metric> {
    let metrics = candidate.figures.iter().map(|figure| figure.metric);
    metrics
        .filter(|&metric| main(metric) && matches!(metric, Metric::Percentile(_)))
        .max()
}

/// A row a run, series by series: the highest percentile, the maximum, and the ratio to the first.
fn trend(comparison: &Comparison, runs: &[Summary]) -> Rows {
    let mut rows = Vec::new();
    for series in &comparison.series {
        for (index, candidate) in series.candidates.iter().enumerate() {
            let Some(metric) = highest(candidate) else {
                continue;
            };
            let find = |metric| candidate.figures.iter().find(|f| f.metric == metric);
            let (Some(figure), max) = (find(metric), find(Metric::Max)) else {
                continue;
            };
            let mut row = |(run, place): (usize, usize),
                           value: &dyn Fn(&FigureComparison) -> f64,
                           ratio: Cell| {
                let of_run = runs.get(run).and_then(|run| run.series.get(place));
                let max = max.map(|it| Metric::Max.show(value(it)));
                rows.push(vec![
                    Cell::new(format!("{} {}", comparison.runs[run], series.name)),
                    Cell::new(format!("{metric} {}", shown(metric, value(figure), of_run))),
                    Cell::new(max.unwrap_or_default()),
                    ratio,
                ]);
            };
            if index == 0 {
                row(
                    (0, series.baseline),
                    &|figure| figure.baseline,
                    Cell::new(""),
                );
            }
            row(
                (candidate.run, candidate.series),
                &|figure| figure.candidate,
                ratio(figure),
            );
        }
    }
    let header = ["run", "percentile", "max", "ratio to the first"];
    (header.map(str::to_owned).to_vec(), rows)
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::Kind;

    use super::super::comparison;
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
