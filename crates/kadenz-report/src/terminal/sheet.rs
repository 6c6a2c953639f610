//! The table of series: a row a figure, a column a series, as many tables as the width asks for.

use std::borrow::Borrow;

use crate::numbers;
use crate::statistics::{Cluster, Extreme, JitterFacts, Percent, Percentile};
use crate::summary::SeriesSummary;
use crate::text::Style;
use crate::text::table::{TextCell, TextTable, fitting};
use crate::text::{Text, wrap};
use crate::verdict::{Standing, Verdict};

/// With fewer samples than this beyond it, a percentile is printed with their number.
const FEW_BEYOND: u64 = 100;
/// Border and padding of a column.
const MARGIN: usize = 3;

/// What a table says of each series: count, extremes, mean, deviation, percentiles, deadline and,
/// where there are raw samples, jitter and the places of the highest and lowest.
#[must_use]
pub fn sheet<S: Borrow<SeriesSummary>>(series: &[S], style: Style) -> Text {
    let series: Vec<&SeriesSummary> = series.iter().map(Borrow::borrow).collect();
    let columns: Vec<SheetColumn> = series.iter().map(|it| SheetColumn::new(it)).collect();
    let labels = labels(&columns);
    let label_width = labels.iter().map(|label| width(label)).max().unwrap_or(0) + MARGIN + 1;
    let room = usize::from(style.width).saturating_sub(label_width);
    let widths: Vec<usize> = columns.iter().map(|it| it.width() + MARGIN).collect();
    let tables = fitting(&widths, room).into_iter();
    let mut tables: Vec<Text> = tables
        .map(|range| table(&labels, &columns[range], style))
        .collect();
    if columns.iter().any(|column| column.rests_on_few) {
        let note = format!(
            "(n): only n samples lie beyond this percentile; beyond the others lie {FEW_BEYOND} or \
             more."
        );
        tables.push(wrap(&note, style.width).into());
    }
    tables.extend(coarse_note(series.iter().copied(), style));
    tables.extend(
        series
            .iter()
            .filter_map(|series| extremes(series, style))
            .map(Text::from),
    );
    Text::join(tables, "\n\n")
}

/// What the mark of a coarse log's percentiles says; nothing where there is none.
pub(super) fn coarse_note<'s>(
    series: impl IntoIterator<Item = &'s SeriesSummary>,
    style: Style,
) -> Option<Text> {
    let percentiles = series.into_iter().flat_map(|it| &it.percentiles);
    let coarsest = percentiles
        .filter_map(Percentile::coarseness)
        .reduce(f64::max)?;
    let share = numbers::percentage(coarsest);
    let note = format!(
        "<=: the log is coarse, and this is the upper edge of what it counts as one; the value may lie \
         up to {share} lower."
    );
    Some(wrap(&note, style.width).into())
}

fn table(labels: &[&'static str], columns: &[SheetColumn], style: Style) -> Text {
    let mut table = TextTable::new(style);
    let names = columns.iter().map(|column| column.name.clone());
    table.set_header(std::iter::once(String::new()).chain(names));
    for &label in labels {
        let cells: Vec<Option<&SheetFigure>> =
            columns.iter().map(|column| column.find(label)).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![TextCell::new(label)];
        row.extend(
            cells
                .into_iter()
                .map(|figure| figure.map_or_else(|| TextCell::new(""), SheetFigure::cell)),
        );
        table.add_row(row);
    }
    table.align_right_from(1);
    table.text()
}

/// All labels in the order of the figures.
fn labels(columns: &[SheetColumn]) -> Vec<&'static str> {
    FIRST
        .into_iter()
        .chain(PERCENTILE_LABELS)
        .chain(REST)
        .filter(|label| columns.iter().any(|column| column.find(label).is_some()))
        .collect()
}

const PERCENTILE_LABELS: [&str; 10] = [
    "50 %",
    "90 %",
    "99 %",
    "99.9 %",
    "99.99 %",
    "99.999 %",
    "99.9999 %",
    "99.99999 %",
    "99.999999 %",
    "99.9999999 %",
];

/// Before the percentiles.
const FIRST: [&str; 6] = ["samples", "early", "dropped", "min", "mean", "stddev"];

/// Behind them.
const REST: [&str; 17] = [
    "max",
    "(max-mean)/stddev",
    "total hiccups",
    "deadline",
    "misses",
    "miss rate",
    "at most (95 %)",
    "longest run",
    "misses per hour",
    "kept",
    "jitter min",
    "jitter stddev",
    "jitter max",
    "catching up",
    "mean interval",
    "frequency kept",
    "early clusters",
];

/// One figure of a series.
struct SheetFigure {
    label: &'static str,
    text: String,
    good: Option<bool>,
}

impl SheetFigure {
    fn cell(&self) -> TextCell {
        let cell = TextCell::new(&self.text);
        match self.good {
            Some(good) => cell.judged(good),
            None => cell,
        }
    }
}

/// The figures of one series.
struct SheetColumn {
    name: String,
    figures: Vec<SheetFigure>,
    rests_on_few: bool,
}

impl SheetColumn {
    fn new(series: &SeriesSummary) -> Self {
        let mut column = Self {
            name: series.series.name.clone(),
            figures: Vec::new(),
            rests_on_few: false,
        };
        column.add_values(series);
        column.add_percentiles(&series.percentiles);
        if let Some(verdict) = &series.verdict {
            column.add_verdict(verdict);
        }
        if let Some(jitter) = series
            .samples
            .as_ref()
            .and_then(|samples| samples.jitter.as_ref())
        {
            column.add_jitter(jitter);
        }
        column.add_clusters(&series.early_clusters);
        column
    }

    fn find(&self, label: &str) -> Option<&SheetFigure> {
        self.figures.iter().find(|figure| figure.label == label)
    }

    fn width(&self) -> usize {
        let texts = self.figures.iter().map(|figure| width(&figure.text));
        texts.chain([width(&self.name)]).max().unwrap_or(0)
    }

    fn add(&mut self, label: &'static str, text: String) {
        self.figures.push(SheetFigure {
            label,
            text,
            good: None,
        });
    }

    fn judge(&mut self, label: &'static str, text: String, good: bool) {
        self.figures.push(SheetFigure {
            label,
            text,
            good: Some(good),
        });
    }

    fn add_value(&mut self, label: &'static str, ns: Option<f64>) {
        if let Some(ns) = ns {
            self.add(label, numbers::value(ns));
        }
    }

    fn add_values(&mut self, series: &SeriesSummary) {
        let counts = &series.series.counts;
        self.add("samples", numbers::thousands(series.count));
        for (label, count) in [("early", counts.early), ("dropped", counts.dropped)] {
            if count > 0 {
                self.add(label, numbers::thousands(count));
            }
        }
        self.add_value("min", series.min_ns.map(|ns| ns as f64));
        self.add_value("mean", series.mean_ns);
        self.add_value("stddev", series.stddev_ns);
        self.add_value("max", series.max_ns.map(|ns| ns as f64));
        if let Some(deviations) = series.max_in_stddevs {
            self.add("(max-mean)/stddev", numbers::three_digits(deviations));
        }
        if let Some(total) = series.hiccup_total_ns {
            self.add("total hiccups", numbers::span(total));
        }
    }

    fn add_percentiles(&mut self, rows: &[Percentile]) {
        for (percent, label) in Percent::LADDER.into_iter().zip(PERCENTILE_LABELS) {
            let Some(row) = rows.iter().find(|row| row.percent == percent) else {
                continue;
            };
            let value = row.told();
            if row.beyond < FEW_BEYOND {
                self.rests_on_few = true;
                self.add(label, format!("({}) {value}", row.beyond));
            } else {
                self.add(label, value);
            }
        }
    }

    fn add_verdict(&mut self, verdict: &Verdict) {
        self.add("deadline", numbers::span(verdict.limit_ns as f64));
        self.add("misses", numbers::thousands(verdict.misses));
        if verdict.misses > 0 {
            self.add("miss rate", numbers::percentage(verdict.rate));
        }
        self.add(
            "at most (95 %)",
            numbers::in_a_million(verdict.upper_bound_95),
        );
        if verdict.longest_run > 0 {
            self.add("longest run", numbers::thousands(verdict.longest_run));
        }
        if let Some(per_hour) = verdict.misses_per_hour.filter(|&number| number > 0.0) {
            self.add("misses per hour", numbers::per_hour(per_hour));
        }
        match verdict.standing {
            Standing::Kept => self.judge("kept", "yes".to_owned(), true),
            Standing::Missed => self.judge("kept", "no".to_owned(), false),
            Standing::TooFew => self.add("kept", "too few samples".to_owned()),
        }
    }

    fn add_jitter(&mut self, jitter: &JitterFacts) {
        self.add_value("jitter min", Some(jitter.min_ns as f64));
        self.add_value("jitter stddev", Some(jitter.stddev_ns));
        self.add_value("jitter max", Some(jitter.max_ns as f64));
        if jitter.catching_up > 0 {
            self.add("catching up", numbers::thousands(jitter.catching_up));
        }
        if let Some(frequency) = &jitter.frequency {
            self.add_value("mean interval", Some(frequency.mean_interval_ns));
            let text = if frequency.kept {
                "yes".to_owned()
            } else {
                format!("no: {} ppm", numbers::three_digits(frequency.error_ppm))
            };
            self.judge("frequency kept", text, frequency.kept);
        }
    }

    fn add_clusters(&mut self, clusters: &[Cluster]) {
        let words = |cluster: &Cluster| {
            let share = numbers::percentage(cluster.share);
            format!("{share} at {}", numbers::span(cluster.centre_ns as f64))
        };
        if !clusters.is_empty() {
            let text = clusters.iter().map(words).collect::<Vec<_>>().join(", ");
            self.judge("early clusters", text, false);
        }
    }
}

/// The ten highest and lowest samples with their index, as Sticha's test suites print them.
fn extremes(series: &SeriesSummary, style: Style) -> Option<String> {
    let samples = series
        .samples
        .as_ref()
        .filter(|samples| samples.count > 0)?;
    let list = |extremes: &[Extreme]| {
        let one = |e: &Extreme| format!("{} [{}]", numbers::span(e.value_ns as f64), e.index);
        extremes.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let name = &series.series.name;
    let highest = format!("{name}, highest [index]: {}", list(&samples.highest));
    let lowest = format!("{name}, lowest [index]: {}", list(&samples.lowest));
    Some(format!(
        "{}\n{}",
        wrap(&highest, style.width),
        wrap(&lowest, style.width)
    ))
}

fn width(text: &str) -> usize {
    text.chars().count()
}
