//! Progress display of a measurement.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kadenz::lab::measuring_threads::Watch;
use kadenz::record::recorder::Counts;
use kadenz::record::run::folder::Progress as RunProgress;
use kadenz::record::run::model::TuningMeasure;
use kadenz::report::numbers;

use crate::output;

/// A bar on a terminal; elsewhere a line at intervals; silent with `--json` to a script.
pub(crate) struct Progress {
    bar: ProgressBar,
    words: &'static str,
    shown_s: u64,
    terminal: bool,
}

/// A bar of this length, or a spinner without one, from a template; hidden unless `is_drawn`. Dropping it clears it.
pub(crate) fn bar(is_drawn: bool, length: Option<u64>, template: &str) -> ProgressBar {
    let bar = match length {
        _ if !is_drawn => ProgressBar::hidden(),
        Some(length) => ProgressBar::new(length),
        None => ProgressBar::new_spinner(),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Seconds between two lines where there is no terminal.
const LINE_EVERY_S: u64 = 15;
/// Interval between two movements of a bar during a step.
const TICK: Duration = Duration::from_millis(250);

impl Progress {
    /// Progress of a measurement with the duration `total`, if it is known.
    pub(crate) fn new(words: &'static str, total: Option<Duration>) -> Self {
        let length = total.map(|total| u64::try_from(total.as_millis()).unwrap_or(u64::MAX));
        let terminal = output::draws_progress();
        let template = if total.is_some() {
            "{spinner} {prefix} [{bar:10}] {percent}%, {eta} left  {wide_msg}"
        } else {
            "{spinner} {prefix} {elapsed}  {wide_msg}"
        };
        let bar = bar(terminal, length, template).with_prefix(words);
        if !terminal {
            let lasting = total
                .map(|total| format!(" for {}", numbers::span(total.as_nanos() as f64)))
                .unwrap_or_default();
            output::note(&format!("{words}{lasting} ..."));
        }
        Self {
            bar,
            words,
            shown_s: 0,
            terminal,
        }
    }
}

impl Watch for Progress {
    fn tick(&mut self, progress: &RunProgress) {
        let elapsed = progress.elapsed;
        let worst: Vec<String> = progress
            .series
            .iter()
            .filter(|series| series.counts.recorded > 0)
            .take(4)
            .map(|series| short(&series.name, &series.counts))
            .collect();
        let words = worst.join("  ");
        if self.terminal {
            self.bar
                .set_position(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
            self.bar.set_message(words);
        } else if elapsed.as_secs() >= self.shown_s + LINE_EVERY_S {
            self.shown_s = elapsed.as_secs();
            output::note(&format!("{} {} s: {words}", self.words, self.shown_s));
        }
    }

    fn tuned(&mut self, series: &[String], measures: &[TuningMeasure]) {
        for measure in measures.iter().filter(|measure| !measure.ok) {
            // The answer holds the remedy.
            let text = format!(
                "{}: {} was not granted, {} is in force ({})",
                series.first().map_or("", String::as_str),
                measure.requested,
                measure.granted,
                measure.reason.as_deref().unwrap_or("no reason was given")
            );
            self.bar.suspend(|| output::note(&text));
        }
    }
}

/// Progress of this many steps: a bar on a terminal; elsewhere a line at the beginning, and after each quarter.
pub(crate) struct Steps {
    bar: ProgressBar,
    words: &'static str,
    total: usize,
    terminal: bool,
    noted_at: Instant,
}

impl Steps {
    /// Progress of work that has not begun.
    pub(crate) fn new(words: &'static str, total: usize) -> Self {
        let steps = Self::drawn(words, total, "{eta} left");
        steps.done(0);
        steps
    }

    /// Progress of work that was partly done before, where the caller estimates the remaining time.
    pub(crate) fn timed(words: &'static str, total: usize, done: usize) -> Self {
        let steps = Self::drawn(words, total, "{wide_msg}");
        steps.bar.set_position(done as u64);
        if steps.terminal {
            steps.bar.enable_steady_tick(TICK);
        }
        steps
    }

    fn drawn(words: &'static str, total: usize, end: &str) -> Self {
        let terminal = output::draws_progress();
        let template = format!("{{spinner}} {{prefix}} [{{bar:30}}] {{pos}} of {{len}}, {end}");
        Self {
            bar: bar(terminal, Some(total as u64), &template).with_prefix(words),
            words,
            total,
            terminal,
            noted_at: Instant::now(),
        }
    }

    /// Sets the number of finished steps, the text of the last one, and the remaining time. Without a terminal it
    /// prints a line after each quarter, and after 15 s without a line.
    pub(crate) fn done_and_left(&mut self, count: usize, left: Option<Duration>, last: &str) {
        self.bar.set_position(count as u64);
        let left = left.map(|it| format!("{} left", numbers::span(it.as_nanos() as f64)));
        let left = left.unwrap_or_default();
        self.bar.set_message(format!("{left}  {last}"));
        let is_quarter = count.is_multiple_of(self.total.div_ceil(4));
        let is_due = is_quarter || self.noted_at.elapsed().as_secs() >= LINE_EVERY_S;
        if is_due && count < self.total && !self.terminal {
            self.noted_at = Instant::now();
            output::note(&format!(
                "{}: {count} of {}, {left}",
                self.words, self.total
            ));
        }
    }

    /// Prints text other than progress.
    pub(crate) fn suspend(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    /// Sets the number of finished steps.
    pub(crate) fn done(&self, count: usize) {
        self.bar.set_position(count as u64);
        let is_due = count < self.total && count.is_multiple_of(self.total.div_ceil(4));
        if is_due && !self.terminal {
            output::note(&format!("{}: {count} of {} ...", self.words, self.total));
        }
    }
}

/// How long work may take before a note.
const SILENCE: Duration = Duration::from_secs(2);

/// Runs work without counted steps, and notes that it continues once it takes more than two seconds.
pub(crate) fn waiting<T>(words: &str, work: impl FnOnce() -> T) -> T {
    let (working, done) = mpsc::sync_channel::<()>(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if done.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                spin(words, &done);
            }
        });
        // The sender is dropped when the work returns or panics: the other thread then ends.
        let _working = working;
        work()
    })
}

fn spin(words: &str, done: &mpsc::Receiver<()>) {
    if !output::draws_progress() {
        return output::note(&format!("{words} ..."));
    }
    let bar = bar(true, None, "{spinner} {prefix} {elapsed}").with_prefix(words.to_owned());
    while done.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        bar.tick();
    }
}

/// `realtime max 0.031 ms, 0 misses`.
fn short(name: &str, counts: &Counts) -> String {
    let max_ms = counts.max_ns.unwrap_or(0) as f64 / 1e6;
    let misses = if counts.misses > 0 {
        format!(", {} misses", counts.misses)
    } else {
        String::new()
    };
    format!("{name} max {max_ms:.3} ms{misses}")
}
