//! Progress display while a matrix is measured.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use kadenz::lab::matrix::{Visit, series_names};
use kadenz::record::run::model::Run;
use kadenz::report::numbers;

use crate::options::bar;
use crate::output;

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(15);

/// A bar on a terminal, elsewhere a line at intervals, with the remaining time.
pub(super) struct MatrixProgress {
    bar: Option<ProgressBar>,
    estimate: Estimate,
    /// When the first round began.
    begun: Option<Instant>,
    noted_at: Instant,
}

/// Estimate of the remaining time, from the rounds measured since the start.
struct Estimate {
    total: usize,
    /// Rounds that an earlier attempt had finished; unknown before the first round.
    before: Option<usize>,
}

impl Estimate {
    /// Nanoseconds left after this many rounds of the whole matrix, `elapsed` after the start.
    fn left_ns(&mut self, done: usize, elapsed: Duration) -> f64 {
        let before = *self.before.get_or_insert(done.saturating_sub(1));
        let measured = done.saturating_sub(before).max(1);
        let left = self.total.saturating_sub(done);
        elapsed.as_nanos() as f64 / measured as f64 * left as f64
    }
}

impl MatrixProgress {
    pub(super) fn new(total: usize) -> Self {
        let bar = output::draws_progress().then(|| {
            let template = "{spinner} [{bar:30}] {pos} of {len} rounds  {msg}";
            let bar = bar(true, Some(total as u64), template);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self {
            bar,
            estimate: Estimate {
                total,
                before: None,
            },
            begun: None,
            noted_at: Instant::now(),
        }
    }

    pub(super) fn begins(&mut self) {
        self.begun.get_or_insert_with(Instant::now);
    }

    /// Reports a failed round, which is tried again.
    pub(super) fn repeats(&self, visit: &Visit, error: &std::io::Error) {
        let words = format!("{} is measured again: {error}", visit.cell);
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(&words)),
            None => output::note(&words),
        }
    }

    pub(super) fn taken(&mut self, visit: &Visit, done: usize, run: &Run) {
        let Some(begun) = self.begun else { return };
        let left_ns = self.estimate.left_ns(done, begun.elapsed());
        let words = format!("{} left  {}", coarse(left_ns), worst(visit, run));
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            bar.set_message(words);
        } else if self.noted_at.elapsed() >= LINE_EVERY {
            self.noted_at = Instant::now();
            output::note(&format!(
                "{done} of {} rounds, {words}",
                self.estimate.total
            ));
        }
    }
}

/// A coarse span: whole seconds, or whole minutes.
fn coarse(ns: f64) -> String {
    let seconds = (ns / 1e9).round();
    let whole = if seconds < 90.0 {
        seconds
    } else {
        (seconds / 60.0).round() * 60.0
    };
    numbers::span(whole.max(1.0) * 1e9)
}

/// `heavy PMC: latest 0.031 ms, 0 misses`.
fn worst(visit: &Visit, run: &Run) -> String {
    let [name, _] = series_names(visit);
    let series = run.series.iter().find(|series| series.name == name);
    let counts = series.map(|series| series.counts).unwrap_or_default();
    format!(
        "{} {}: latest {}, {} misses",
        visit.load.name(),
        visit.cell,
        numbers::value(counts.max_ns.unwrap_or(0) as f64),
        numbers::thousands(counts.misses)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_counts_the_rounds_of_this_attempt_only() {
        let second = Duration::from_secs(1);
        let left = |before: usize| {
            let mut estimate = Estimate {
                total: 10,
                before: None,
            };
            [1, 2, 3].map(|it| estimate.left_ns(before + it, second * it as u32) / 1e9)
        };
        assert_eq!(left(0), [9.0, 8.0, 7.0]);
        assert_eq!(left(5), [4.0, 3.0, 2.0]);
    }
}
