//! The table of series: one row per figure, one column per series, split into as many tables as the width requires.

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

/// The rows of each series: count, extremes, mean, deviation, percentiles, deadline and,
/// where there are raw samples, jitter and the places of the highest and lowest.
#[must_use]
pub fn sheet<S: Borrow<SeriesSummary>>(series: &[S], style: Style) -> Text {
    let series: Vec<&SeriesSummary> = series.iter().map(Borrow::borrow).collect();
    let columns: Vec<SheetColumn> = series.iter().map(|it| SheetColumn::new(it)).collect();
    let shown = columns.iter().flat_map(SheetColumn::shown);
    let label_width = shown.map(|it| width(&it.label)).max().unwrap_or(0) + MARGIN + 1;
    let room = usize::from(style.width).saturating_sub(label_width);
    let widths: Vec<usize> = columns.iter().map(|it| it.width() + MARGIN).collect();
    let tables = fitting(&widths, room).into_iter();
    let mut tables: Vec<Text> = tables.map(|range| table(&columns[range], style)).collect();
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

/// The explanation of the mark of a coarse log's percentiles; nothing where there is none.
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

fn table(columns: &[SheetColumn], style: Style) -> Text {
    let mut table = TextTable::new(style);
    let names = columns.iter().map(|column| column.name.clone());
    table.set_header(std::iter::once(String::new()).chain(names));
    for (place, SheetFigure { label, .. }) in columns[0].figures.iter().enumerate() {
        let row = || columns.iter().map(|column| &column.figures[place]);
        if row().any(|figure| figure.text.is_some()) {
            table
                .add_row(std::iter::once(TextCell::new(label)).chain(row().map(SheetFigure::cell)));
        }
    }
    table.align_right_from(1);
    table.text()
}

/// One figure of a series, without a text where the series has none.
struct SheetFigure {
    label: String,
    text: Option<String>,
    good: Option<bool>,
}

impl SheetFigure {
    fn cell(&self) -> TextCell {
        let cell = TextCell::new(self.text.as_deref().unwrap_or_default());
        match self.good.filter(|_| self.text.is_some()) {
            Some(good) => cell.judged(good),
            None => cell,
        }
    }
}

/// The figures of one series, in the same order for every series.
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
        let samples = series.samples.as_ref();
        column.add_values(series);
        column.add_verdict(series.verdict.as_ref());
        column.add_jitter(samples.and_then(|samples| samples.jitter.as_ref()));
        column.add_clusters(&series.early_clusters);
        column
    }

    fn shown(&self) -> impl Iterator<Item = &SheetFigure> {
        self.figures.iter().filter(|figure| figure.text.is_some())
    }

    fn width(&self) -> usize {
        let texts = self.figures.iter().filter_map(|it| it.text.as_ref());
        let widths = texts.chain([&self.name]).map(|text| width(text));
        widths.max().unwrap_or(0)
    }

    fn add(&mut self, label: impl Into<String>, text: Option<String>) {
        self.judge(label, text, None);
    }

    fn judge(&mut self, label: impl Into<String>, text: Option<String>, good: Option<bool>) {
        self.figures.push(SheetFigure {
            label: label.into(),
            text,
            good,
        });
    }

    fn add_values(&mut self, series: &SeriesSummary) {
        let counts = &series.series.counts;
        self.add("samples", Some(numbers::thousands(series.count)));
        self.add("early", some_count(counts.early));
        self.add("dropped", some_count(counts.dropped));
        let edge = |ns: Option<i64>| ns.map(|ns| numbers::value(ns as f64));
        self.add("min", edge(series.min_ns));
        self.add("mean", series.mean_ns.map(numbers::value));
        self.add("stddev", series.stddev_ns.map(numbers::value));
        self.add_percentiles(&series.percentiles);
        self.add("max", edge(series.max_ns));
        let deviations = series.max_in_stddevs.map(numbers::three_digits);
        self.add("(max-mean)/stddev", deviations);
        self.add("total hiccups", series.hiccup_total_ns.map(numbers::span));
    }

    fn add_percentiles(&mut self, rows: &[Percentile]) {
        for percent in Percent::LADDER {
            let row = rows.iter().find(|row| row.percent == percent);
            let text = row.map(|row| match row.beyond < FEW_BEYOND {
                true => format!("({}) {}", row.beyond, row.told()),
                false => row.told(),
            });
            self.rests_on_few |= row.is_some_and(|row| row.beyond < FEW_BEYOND);
            self.add(format!("{percent} %"), text);
        }
    }

    fn add_verdict(&mut self, verdict: Option<&Verdict>) {
        let told = |show: fn(&Verdict) -> String| verdict.map(show);
        self.add("deadline", told(|it| numbers::span(it.limit_ns as f64)));
        self.add("misses", told(|it| numbers::thousands(it.misses)));
        let missed = verdict.filter(|it| it.misses > 0);
        self.add("miss rate", missed.map(|it| numbers::percentage(it.rate)));
        let bound = told(|it| numbers::in_a_million(it.upper_bound_95));
        self.add("at most (95 %)", bound);
        let longest = verdict.and_then(|it| some_count(it.longest_run));
        self.add("longest run", longest);
        let per_hour = verdict.and_then(|it| it.misses_per_hour);
        let per_hour = per_hour.filter(|&number| number > 0.0);
        self.add("misses per hour", per_hour.map(numbers::per_hour));
        let (text, good) = match verdict.map(|it| it.standing) {
            Some(Standing::Kept) => (Some("yes"), Some(true)),
            Some(Standing::Missed) => (Some("no"), Some(false)),
            Some(Standing::TooFew) => (Some("too few samples"), None),
            None => (None, None),
        };
        self.judge("kept", text.map(str::to_owned), good);
    }

    fn add_jitter(&mut self, jitter: Option<&JitterFacts>) {
        let value = |of: fn(&JitterFacts) -> f64| jitter.map(|it| numbers::value(of(it)));
        self.add("jitter min", value(|it| it.min_ns as f64));
        self.add("jitter stddev", value(|it| it.stddev_ns));
        self.add("jitter max", value(|it| it.max_ns as f64));
        let catching_up = jitter.and_then(|it| some_count(it.catching_up));
        self.add("catching up", catching_up);
        let frequency = jitter.and_then(|it| it.frequency.as_ref());
        let mean = frequency.map(|it| numbers::value(it.mean_interval_ns));
        self.add("mean interval", mean);
        let kept = frequency.map(|it| match it.kept {
            true => "yes".to_owned(),
            false => format!("no: {} ppm", numbers::three_digits(it.error_ppm)),
        });
        self.judge("frequency kept", kept, frequency.map(|it| it.kept));
    }

    fn add_clusters(&mut self, clusters: &[Cluster]) {
        let words = |cluster: &Cluster| {
            let share = numbers::percentage(cluster.share);
            format!("{share} at {}", numbers::span(cluster.centre_ns as f64))
        };
        let text = clusters.iter().map(words).collect::<Vec<_>>().join(", ");
        let text = Some(text).filter(|_| !clusters.is_empty());
        self.judge("early clusters", text, Some(false));
    }
}

/// A number that is only shown where it is not zero.
fn some_count(count: u64) -> Option<String> {
    (count > 0).then(|| numbers::thousands(count))
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
