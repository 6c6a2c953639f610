//! The figures of series, each described once, for the tables of terminals and pages.

use std::borrow::Cow;
use std::iter::once;

use crate::document::{Column, Table, TableCell};
use crate::figures::{bound, count, duration, percent, plural, rate, significant, span};
use crate::numbers;
use crate::statistics::{Cluster, JitterFacts, Percent, Percentile};
use crate::summary::SeriesSummary;
use crate::verdict::{Standing, Verdict};

/// With fewer samples than this beyond it, a percentile is printed with their number.
pub(crate) const FEW_BEYOND: u64 = 100;

/// A figure of a series. Its cell is absent where the series does not have it.
pub(crate) struct SeriesFigure {
    pub(crate) figure: Figure,
    pub(crate) head: Column,
    pub(crate) group: FigureGroup,
    pub(crate) cell: TableCell,
}

/// The figures that tables choose by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Samples,
    Mean,
    Deviation,
    Percentile(Percent),
    Max,
    MaxInDeviations,
    Misses,
    Other,
}

/// The table of a page in which a figure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FigureGroup {
    Samples,
    Percentile(Percent),
    Extremes,
    Deadline,
    Jitter,
}

impl SeriesFigure {
    /// The figures of a series, in the same order for every series.
    pub(crate) fn all(series: &SeriesSummary) -> Vec<Self> {
        let samples = series.samples.as_ref();
        let mut all = SeriesFigures(Vec::new());
        all.add_values(series);
        all.add_verdict(series.verdict.as_ref());
        all.add_jitter(samples.and_then(|it| it.jitter.as_ref()));
        all.add_early_clusters(&series.early_clusters);
        all.0
    }

    /// Whether it is one of the few that a reader looks for first.
    pub(crate) fn is_main(&self) -> bool {
        use Figure::{Max, Misses, Samples};
        const PERCENTILES: [Percent; 3] = [Percent::P50, Percent::P99, Percent::P99_9];
        match self.figure {
            Figure::Percentile(it) => PERCENTILES.contains(&it),
            it => matches!(it, Samples | Max | Misses),
        }
    }
}

/// A table with a row for each series, and the figures in its columns after the first. It has those of the wanted
/// figures that are not absent from every row.
pub(crate) fn by_series<'s>(
    caption: impl Into<Cow<'static, str>>,
    first: &'static str,
    rows: impl IntoIterator<Item = (TableCell, &'s SeriesSummary)>,
    wanted: impl Fn(&SeriesFigure) -> bool,
) -> (Table, Vec<Figure>) {
    let (names, rows): (Vec<TableCell>, Vec<_>) = rows
        .into_iter()
        .map(|(name, series)| (name, SeriesFigure::all(series)))
        .unzip();
    let is_there = |place: usize| rows.iter().any(|it| !it[place].cell.is_absent());
    let figures = rows.first().into_iter().flatten().enumerate();
    let figures = figures.filter(|(place, it)| wanted(it) && is_there(*place));
    let (places, figures): (Vec<usize>, Vec<&SeriesFigure>) = figures.unzip();
    let heads = figures.iter().map(|it| it.head.clone());
    let columns = once(Column::new(first, first).words()).chain(heads);
    let mut table = Table::captioned(caption, columns.collect());
    table.class = Some("rows");
    for (name, row) in names.into_iter().zip(&rows) {
        let cells = places.iter().map(|&it| row[it].cell.clone());
        table.push(once(name).chain(cells).collect::<Vec<_>>());
    }
    (table, figures.iter().map(|it| it.figure).collect())
}

struct SeriesFigures(Vec<SeriesFigure>);

impl SeriesFigures {
    /// Adds a figure with its names on a terminal and on a page; a medium without a name does not show it.
    fn add(&mut self, place: (FigureGroup, Figure), names: [&'static str; 2], cell: TableCell) {
        let head = match names {
            ["", page] => Column::on_page(page),
            [drawn, ""] => Column::on_terminal(drawn),
            [drawn, page] => Column::new(drawn, page),
        };
        let (group, figure) = place;
        self.0.push(SeriesFigure {
            figure,
            head,
            group,
            cell,
        });
    }

    fn add_values(&mut self, series: &SeriesSummary) {
        let group = FigureGroup::Samples;
        let samples = TableCell::count(series.count);
        self.add((group, Figure::Samples), ["samples", "Samples"], samples);
        let mut add = |names, cell| self.add((group, Figure::Other), names, cell);
        let counts = &series.series.counts;
        let interval = series.series.expected_interval_ns.map(|ns| ns as f64);
        let share = counts.early as f64 / series.count.max(1) as f64;
        let early = some(counts.early).map(|it| it.noted(rate(share)));
        let dropped = some(counts.dropped);
        let dropped = dropped.map(|it| it.noted("counted nevertheless".to_owned()));
        let beyond = some(counts.saturated);
        add(["", "Expected interval"], time(interval, "none stated"));
        add(["early", "Early (below zero)"], early.unwrap_or_else(zero));
        add(
            ["dropped", "Dropped raw samples"],
            dropped.unwrap_or_else(zero),
        );
        add(["", "Beyond the histogram"], beyond.unwrap_or_else(zero));
        self.add_shape(series);
    }

    /// Extremes, mean, deviation, and the percentiles between them.
    fn add_shape(&mut self, series: &SeriesSummary) {
        let group = FigureGroup::Extremes;
        let mut add = |figure, names, cell| self.add((group, figure), names, cell);
        let value = |ns| time(ns, "nothing recorded");
        let [min, max] = [series.min_ns, series.max_ns].map(|it| it.map(|ns| ns as f64));
        add(Figure::Other, ["min", "Smallest"], value(min));
        add(Figure::Mean, ["mean", "Mean"], value(series.mean_ns));
        let names = ["stddev", "Standard deviation (SD)"];
        add(Figure::Deviation, names, value(series.stddev_ns));
        self.add_percentiles(&series.percentiles);

        let mut add = |figure, names, cell| self.add((group, figure), names, cell);
        let deviations = |it| TableCell::either(numbers::three_digits(it), significant(it, 3));
        let equal = || TableCell::unknown("all values are equal".to_owned());
        let deviations = series.max_in_stddevs.map_or_else(equal, deviations);
        add(Figure::Max, ["max", "Largest"], value(max));
        let names = ["(max-mean)/stddev", "(max − mean) / SD"];
        add(Figure::MaxInDeviations, names, deviations);
        let hiccups = series.hiccup_total_ns.map(in_words);
        let hiccups = hiccups.unwrap_or_else(|| absent().noted("not hiccups".to_owned()));
        let names = ["total hiccups", "All hiccups together"];
        add(Figure::Other, names, hiccups);
    }

    fn add_percentiles(&mut self, rows: &[Percentile]) {
        for at in Percent::REPORTED {
            let row = rows.iter().find(|row| row.percent == at);
            let needed = || plural(at.needed(), "sample", "samples");
            let missing = || TableCell::unknown(format!("needs {}", needed()));
            self.0.push(SeriesFigure {
                figure: Figure::Percentile(at),
                head: Column::new(format!("{at} %"), percent(at.percent())),
                group: FigureGroup::Percentile(at),
                cell: row.map_or_else(missing, percentile),
            });
        }
    }

    fn add_verdict(&mut self, verdict: Option<&Verdict>) {
        let group = FigureGroup::Deadline;
        let limit = verdict.map(|it| in_words(it.limit_ns as f64));
        let limit = limit.unwrap_or_else(|| absent().noted("none stated".to_owned()));
        self.add((group, Figure::Other), ["deadline", "Limit"], limit);
        let misses = verdict.map(|it| {
            let limit = duration(it.limit_ns as f64);
            TableCell::count(it.misses).noted(format!("of {limit}"))
        });
        let misses = misses.unwrap_or_else(absent);
        self.add((group, Figure::Misses), ["misses", "Misses"], misses);
        let mut add = |names, cell: fn(&Verdict) -> TableCell| {
            let cell = verdict.map_or_else(absent, cell);
            self.add((group, Figure::Other), names, cell);
        };
        add(["miss rate", "Rate of misses"], |it| {
            let drawn = (it.misses > 0).then(|| numbers::percentage(it.rate));
            TableCell::either(drawn.unwrap_or_default(), rate(it.rate))
        });
        add(["at most (95 %)", "Upper bound of the rate, 95 %"], |it| {
            TableCell::text(bound(it.upper_bound_95))
        });
        add(["most consecutive misses", "Longest run of misses"], |it| {
            let Some(run) = it.known_run() else {
                return TableCell::unknown("a histogram has no order".to_owned());
            };
            let drawn = (run > 0).then(|| count(run));
            TableCell::either(drawn.unwrap_or_default(), count(run))
        });
        add(["misses per hour", ""], |it| {
            let hourly = it.misses_per_hour.filter(|&number| number > 0.0);
            TableCell::text(hourly.map(numbers::per_hour).unwrap_or_default())
        });
        add(["kept", ""], |it| match it.standing {
            Standing::Kept => TableCell::text("yes").judged(true),
            Standing::Missed => TableCell::text("no").judged(false),
            Standing::ValuesLost(loss) => {
                TableCell::text(format!("no, {}", loss.words())).judged(false)
            }
            Standing::TooFew => TableCell::text("too few samples"),
        });
    }

    fn add_jitter(&mut self, jitter: Option<&JitterFacts>) {
        let place = (FigureGroup::Jitter, Figure::Other);
        let mut add = |names, cell| self.add(place, names, cell);
        let value = |of: fn(&JitterFacts) -> f64| TableCell::time(jitter.map(of));
        let frequency = jitter.and_then(|it| it.frequency.as_ref());
        add(
            ["", "Intervals"],
            TableCell::count(jitter.map(|it| it.count)),
        );
        add(["jitter min", "Shortest"], value(|it| it.min_ns as f64));
        add(["", "Mean"], value(|it| it.mean_ns));
        add(["jitter stddev", "SD"], value(|it| it.stddev_ns));
        add(["jitter max", "Longest"], value(|it| it.max_ns as f64));
        let caught_up = jitter.and_then(|it| some(it.catching_up));
        add(["beats caught up", ""], caught_up.unwrap_or_else(absent));
        let mean = frequency.map(|it| it.mean_interval_ns);
        add(["mean interval", ""], TableCell::time(mean));
        let kept = frequency.map(|it| {
            let ppm = significant((it.error_ppm * 100.0).round() / 100.0, 3);
            let (drawn, word) = match it.kept {
                true => ("yes".to_owned(), "kept"),
                false => (
                    format!("no: {} ppm", numbers::three_digits(it.error_ppm)),
                    "not kept",
                ),
            };
            let page = format!("{word} ({} ppm off)", ppm.replace('-', "−"));
            TableCell::either(drawn, page).judged(it.kept)
        });
        add(["frequency kept", "Frequency"], kept.unwrap_or_else(absent));
    }

    fn add_early_clusters(&mut self, clusters: &[Cluster]) {
        let drawn = clusters.iter().map(|it| {
            let share = numbers::percentage(it.share);
            format!("{share} at {}", numbers::span(it.centre_ns as f64))
        });
        let page = clusters.iter();
        let page = page.map(|it| format!("{} near {}", rate(it.share), span(it.centre_ns)));
        let [drawn, page] = [drawn.collect::<Vec<_>>(), page.collect()].map(|it| it.join(", "));
        let cell = TableCell::either(drawn, page).judged(false);
        let cell = (!clusters.is_empty()).then_some(cell);
        let cell = cell.unwrap_or_else(|| TableCell::absent("none"));
        let names = ["early clusters", "Groups of early wake-ups"];
        self.add((FigureGroup::Samples, Figure::Other), names, cell);
    }
}

/// A figure that a series does not have.
fn absent() -> TableCell {
    TableCell::absent("—")
}

/// A zero, which only a page shows, and only beside another number.
fn zero() -> TableCell {
    TableCell::absent("0")
}

/// A number that is only shown where it is not zero.
fn some(count: u64) -> Option<TableCell> {
    (count > 0).then(|| TableCell::count(count))
}

fn time(ns: Option<f64>, missing: &str) -> TableCell {
    let missing = ns.is_none().then(|| missing.to_owned());
    TableCell::time(ns).noted(missing)
}

/// A time as in a sentence.
fn in_words(ns: f64) -> TableCell {
    TableCell::either(numbers::span(ns), duration(ns))
}

fn percentile(row: &Percentile) -> TableCell {
    let drawn = match row.beyond < FEW_BEYOND {
        true => format!("({}) {}", row.beyond, row.words()),
        false => row.words(),
    };
    let beyond = format!("{} beyond", count(row.beyond));
    let value = span(row.value_ns);
    match row.coarseness() {
        None => TableCell::either(drawn, value).noted(beyond),
        Some(_) => TableCell::either(drawn, format!("{} to {value}", span(row.at_least_ns)))
            .noted(format!("{beyond}; the log is coarse")),
    }
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::{Kind, Series};

    use super::*;
    use crate::document::Document;
    use crate::testing::{named, series_of};

    #[test]
    fn a_histogram_shows_no_run_of_misses_and_ends_where_its_program_ended_it() {
        let judged = Series {
            deadline_ns: Some(400_000),
            ..named("thread0", Kind::Lateness)
        };
        let mut series = series_of(judged, &[(100_000, 50), (500_000, 3)]);
        series.series.counts.saturated = 3;
        let page = |series: &SeriesSummary| {
            let table = by_series("", "", [(TableCell::text("a"), series)], |_| true).0;
            Document::new().table(table).html()
        };
        let sampled = page(&series);
        assert!(sampled.contains("Beyond the histogram"), "{sampled}");
        assert!(!sampled.contains("a histogram has no order"), "{sampled}");
        if let Some(verdict) = &mut series.verdict {
            verdict.longest_run = 0;
        }
        let of_a_histogram = page(&series);
        assert!(
            of_a_histogram.contains("a histogram has no order"),
            "{of_a_histogram}"
        );
    }
}
