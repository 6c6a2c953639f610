//! The table of series: one row per figure, one column per series.

use std::borrow::Borrow;
use std::iter::once;

use crate::document::{Document, DocumentLine, Split, Table, TableCell};
use crate::numbers;
use crate::statistics::{Cluster, Extreme, JitterFacts, Percent, Percentile};
use crate::summary::SeriesSummary;
use crate::verdict::{Standing, Verdict};

/// With fewer samples than this beyond it, a percentile is printed with their number.
const FEW_BEYOND: u64 = 100;

/// The rows of each series: count, extremes, mean, deviation, percentiles, deadline and,
/// where there are raw samples, jitter and the places of the highest and lowest.
pub(super) fn sheet<S: Borrow<SeriesSummary>>(series: &[S]) -> Document {
    let series = || series.iter().map(Borrow::borrow);
    let columns: Vec<SheetColumn> = series().map(SheetColumn::new).collect();
    let few = columns.iter().any(|column| column.rests_on_few).then(|| {
        format!(
            "(n): only n samples lie beyond this percentile; beyond the others lie {FEW_BEYOND} or \
             more."
        )
    });
    let document = Document::new()
        .table(table(&columns))
        .sentences(few)
        .sentences(coarse_note(series()));
    series().map(extremes).fold(document, Document::lines)
}

/// The explanation of the mark of a coarse log's percentiles; nothing where there is none.
pub(super) fn coarse_note<'s>(
    series: impl IntoIterator<Item = &'s SeriesSummary>,
) -> Option<String> {
    let percentiles = series.into_iter().flat_map(|it| &it.percentiles);
    let coarsest = percentiles
        .filter_map(Percentile::coarseness)
        .reduce(f64::max)?;
    let share = numbers::percentage(coarsest);
    Some(format!(
        "<=: the log is coarse, and this is the upper edge of what it counts as one; the value may lie \
         up to {share} lower."
    ))
}

fn table(columns: &[SheetColumn]) -> Table {
    let names = columns.iter().map(|column| column.name.clone());
    let mut table = Table::of(once(String::new()).chain(names), []).split(Split::Filled);
    let labels = columns.first().map(|it| it.figures.iter());
    for (place, (label, _)) in labels.into_iter().flatten().enumerate() {
        let row = || columns.iter().map(|column| column.figures[place].1.clone());
        if row().any(|cell| cell.is_some()) {
            let cells = row().map(|cell| cell.unwrap_or(TableCell::text("")));
            let cells = once(TableCell::text(label)).chain(cells);
            table.push(cells.collect::<Vec<_>>());
        }
    }
    table
}

/// The figures of one series, in the same order for every series.
struct SheetColumn {
    name: String,
    /// The label of each, and its cell where the series has it.
    figures: Vec<(String, Option<TableCell>)>,
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

    fn add(&mut self, label: impl Into<String>, text: Option<String>) {
        self.judge(label, text, None);
    }

    fn judge(&mut self, label: impl Into<String>, text: Option<String>, good: Option<bool>) {
        let cell = text.map(|it| TableCell::text(it).judged(good));
        self.figures.push((label.into(), cell));
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
                true => format!("({}) {}", row.beyond, row.words()),
                false => row.words(),
            });
            self.rests_on_few |= row.is_some_and(|row| row.beyond < FEW_BEYOND);
            self.add(format!("{percent} %"), text);
        }
    }

    fn add_verdict(&mut self, verdict: Option<&Verdict>) {
        let of_verdict = |show: fn(&Verdict) -> String| verdict.map(show);
        self.add(
            "deadline",
            of_verdict(|it| numbers::span(it.limit_ns as f64)),
        );
        self.add("misses", of_verdict(|it| numbers::thousands(it.misses)));
        let missed = verdict.filter(|it| it.misses > 0);
        self.add("miss rate", missed.map(|it| numbers::percentage(it.rate)));
        let bound = of_verdict(|it| numbers::in_a_million(it.upper_bound_95));
        self.add("at most (95 %)", bound);
        let longest = verdict.and_then(|it| some_count(it.longest_run));
        self.add("most consecutive misses", longest);
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
        self.add("beats caught up", catching_up);
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
fn extremes(series: &SeriesSummary) -> Vec<DocumentLine> {
    let samples = series.samples.as_ref();
    let Some(samples) = samples.filter(|samples| samples.count > 0) else {
        return Vec::new();
    };
    let list = |which: &str, extremes: &[Extreme]| {
        let one = |e: &Extreme| format!("{} [{}]", numbers::span(e.value_ns as f64), e.index);
        let all = extremes.iter().map(one).collect::<Vec<_>>().join(", ");
        format!("{}, {which} [index]: {all}", series.series.name).into()
    };
    vec![
        list("highest", &samples.highest),
        list("lowest", &samples.lowest),
    ]
}
