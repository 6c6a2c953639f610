//! How often pairs of runs of one source are marked, and whether a real shift is found.

use kadenz_record::hlog::writer::IntervalLogWriter;

use super::*;
use crate::statistics::random::Random;

/// Samples of a second.
const RATE: usize = 100;
const CONFIDENCE: f64 = 0.95;

/// How the level of a run changes besides its noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LevelNoise {
    Independent,
    /// AR(1) from second to second, correlated by 0.8.
    Autoregressive,
    /// Twice as high for a second on average, then three seconds not.
    Telegraph,
    /// A level of its own for 3 s on average.
    Levels,
    /// Drifts by more than it scatters, and does not come back.
    Drift,
}

/// Makes runs of `seconds` with a level that `noise` changes.
struct LevelSource {
    random: Random,
    noise: LevelNoise,
    bad: bool,
    level: f64,
}

impl LevelSource {
    fn gaussian(random: &mut Random) -> f64 {
        (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    fn run(&mut self, seconds: usize, scale: f64) -> (SeriesSummary, Cells) {
        self.level = 0.8 + 0.4 * self.random.unit();
        let mut state = Self::gaussian(&mut self.random);
        let mut values: Vec<Vec<i64>> = Vec::new();
        for _ in 0..seconds {
            let innovation = Self::gaussian(&mut self.random);
            state = match self.noise {
                LevelNoise::Drift => state + innovation,
                _ => 0.8 * state + 0.6 * innovation,
            };
            let sample = |_| (50_000.0 * scale * self.value(state)) as i64;
            values.push((0..RATE).map(sample).collect());
        }
        let cells: Cells = values
            .chunks(seconds.div_ceil(crate::compare::interval::MAX_CELLS))
            .map(|cell| buckets(cell.concat()))
            .collect();
        (summary(buckets(values.concat())), cells)
    }

    fn value(&mut self, state: f64) -> f64 {
        let once_in =
            |random: &mut Random, seconds: f64| random.unit() * seconds * (RATE as f64) < 1.0;
        let level = match self.noise {
            LevelNoise::Independent => 1.0,
            LevelNoise::Autoregressive | LevelNoise::Drift => (0.1 * state).exp(),
            LevelNoise::Telegraph => {
                let lasts = if self.bad { 1.0 } else { 3.0 };
                self.bad ^= once_in(&mut self.random, lasts);
                if self.bad { 2.0 } else { 1.0 }
            }
            LevelNoise::Levels => {
                if once_in(&mut self.random, 3.0) {
                    self.level = 0.8 + 0.4 * self.random.unit();
                }
                self.level
            }
        };
        let tail = if self.random.below(100) < 3 { 3.0 } else { 1.0 };
        level * tail * (0.9 + 0.2 * self.random.unit())
    }
}

/// Values in buckets of a thousandth at most, as a histogram of three digits holds them.
fn buckets(mut values: Vec<i64>) -> Vec<SignedBucket> {
    values.sort_unstable();
    let mut buckets: Vec<SignedBucket> = Vec::new();
    for value in values {
        match buckets.last_mut() {
            Some(last) if value <= last.high_ns => last.count += 1,
            _ => {
                let width = 1 << (value.max(1).ilog2().saturating_sub(10));
                let low_ns = value / width * width;
                buckets.push(SignedBucket {
                    low_ns,
                    high_ns: low_ns + width - 1,
                    count: 1,
                });
            }
        }
    }
    buckets
}

fn summary(distribution: Vec<SignedBucket>) -> SeriesSummary {
    let count = count(&distribution);
    let middles = distribution
        .iter()
        .map(|b| b.low_ns.midpoint(b.high_ns) as f64 * b.count as f64);
    SeriesSummary {
        count,
        mean_ns: Some(middles.sum::<f64>() / count as f64),
        max_ns: distribution.last().map(|bucket| bucket.high_ns),
        distribution,
        ..Default::default()
    }
}

/// Over pairs of runs: figures compared, marked, outside of their own interval, without one.
#[derive(Debug, Default)]
struct Seen {
    figures: u32,
    marked: u32,
    outside: u32,
    refused: u32,
}

fn seen(noise: LevelNoise, seconds: usize, pairs: u64, shift: f64) -> Seen {
    let mut source = LevelSource {
        random: Random::new(pairs, seconds as u64),
        noise,
        bad: false,
        level: 1.0,
    };
    let percents = Percent::REPORTED.map(Metric::Percentile);
    let mut seen = Seen::default();
    for _ in 0..pairs {
        let (before, after) = (source.run(seconds, 1.0), source.run(seconds, shift));
        let metrics = percents.iter().chain([&Metric::Mean]);
        let figures = metrics.filter_map(|&metric| {
            let ours = Estimate::new(&before.0, &before.1, metric);
            let theirs = Estimate::new(&after.0, &after.1, metric);
            match (ours, theirs) {
                (Err(NoInterval::FewBeyond), _) | (_, Err(NoInterval::FewBeyond)) => None,
                (ours, theirs) => Some(ours.and_then(|ours| Ok((ours, theirs?)))),
            }
        });
        let figures: Vec<_> = figures.collect();
        let all = 1.0 - (1.0 - CONFIDENCE) / figures.len() as f64;
        for figure in &figures {
            let within = |confidence| {
                let (ours, theirs) = figure.as_ref().map_err(|reason| *reason)?;
                ratio(ours, theirs, confidence)
            };
            let outside = |(low, high)| low > 1.0 || high < 1.0;
            seen.figures += 1;
            seen.refused += u32::from(within(CONFIDENCE).is_err());
            seen.outside += u32::from(within(CONFIDENCE).is_ok_and(outside));
            seen.marked += u32::from(within(all).is_ok_and(outside));
        }
    }
    seen
}

const STEADY: [LevelNoise; 4] = [
    LevelNoise::Independent,
    LevelNoise::Autoregressive,
    LevelNoise::Telegraph,
    LevelNoise::Levels,
];

#[test]
fn runs_of_one_source_are_hardly_ever_marked() {
    for (seconds, pairs) in [(10, 100), (60, 40), (600, 8)] {
        for noise in STEADY {
            let seen = seen(noise, seconds, pairs, 1.0);
            let rate = f64::from(seen.marked) / f64::from(seen.figures);
            assert!(rate <= 0.06, "{noise:?} for {seconds} s: {seen:?}");
            assert!(seen.refused * 4 < seen.figures, "{noise:?}: {seen:?}");
        }
    }
}

#[test]
fn a_shift_of_five_percent_is_found_in_a_minute() {
    let seen = seen(LevelNoise::Independent, 60, 20, 1.05);
    assert!(seen.marked * 10 >= seen.figures * 7, "{seen:?}");
}

#[test]
fn what_drifts_through_the_whole_run_is_not_marked() {
    let seen = seen(LevelNoise::Drift, 60, 30, 1.0);
    assert!(seen.refused > seen.figures / 4, "{seen:?}");
    assert!(
        f64::from(seen.marked) <= 0.06 * f64::from(seen.figures),
        "{seen:?}"
    );
}

#[test]
fn of_early_values_there_is_no_ratio() {
    let cell = vec![SignedBucket {
        low_ns: -210,
        high_ns: -209,
        count: 100,
    }];
    let cells = vec![cell; 20];
    let series = summary(cells.concat());
    for metric in [Metric::Mean, Metric::Percentile(Percent::P50)] {
        let estimate = || Estimate::new(&series, &cells, metric).ok().unwrap();
        let within = ratio(&estimate(), &estimate(), CONFIDENCE);
        assert_eq!(within, Err(NoInterval::NotPositive), "{metric}");
    }
}

/// The table in decision 0323.
#[test]
#[ignore = "prints a table of a minute's simulation"]
fn table_of_how_often_runs_of_one_source_are_marked() {
    for (seconds, pairs) in [(10, 1000), (60, 400), (600, 100)] {
        for (noise, shift) in STEADY
            .map(|noise| (noise, 1.0))
            .into_iter()
            .chain([(LevelNoise::Drift, 1.0), (LevelNoise::Independent, 1.05)])
        {
            let seen = seen(noise, seconds, pairs, shift);
            let share = |part: u32| 100.0 * f64::from(part) / f64::from(seen.figures);
            println!(
                "| {seconds} s | {noise:?} x {shift} | {:.1} % | {:.1} % | {:.1} % |",
                share(seen.marked),
                share(seen.outside),
                share(seen.refused)
            );
        }
    }
}

fn log(intervals: u64) -> IntervalLog<std::io::Cursor<Vec<u8>>> {
    let mut writer = IntervalLogWriter::new(Vec::new(), 0.0).unwrap();
    for second in 0..intervals {
        let mut histogram = Histogram::new();
        histogram.record_n(1000, second + 1);
        writer.append(None, second as f64, 1.0, &histogram).unwrap();
        writer
            .append(Some(EARLY_TAG), second as f64, 1.0, &histogram)
            .unwrap();
    }
    IntervalLog::from_reader(std::io::Cursor::new(writer.into_inner()))
}

fn counts(cells: &Cells) -> Vec<u64> {
    cells
        .iter()
        .map(|cell| crate::statistics::count(cell))
        .collect()
}

#[test]
fn early_lines_stay_with_their_interval() {
    let cells = cut(log(3), 1);
    assert_eq!(counts(&cells), [2, 4, 6]);
    assert_eq!((cells[1][0].high_ns, cells[1][1].low_ns), (-1000, 1000));
}

#[test]
fn a_long_run_makes_no_more_cells_than_are_needed() {
    let cells = cut(log(900), 900_usize.div_ceil(MAX_CELLS));
    assert_eq!(cells.len(), 300);
    assert_eq!(counts(&cells)[0], 2 * (1 + 2 + 3));
    assert_eq!(counts(&cells).iter().sum::<u64>(), 900 * 901);
}
