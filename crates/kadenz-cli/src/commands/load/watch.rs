//! Progress display while the load runs.

use std::time::Duration;

use indicatif::ProgressBar;
use kadenz::lab::load::LoadRates;
use kadenz::lab::stop::Stop;
use kadenz::rt::clock;

use super::report::number;
use super::work::Work;
use crate::options::bar;
use crate::output;

/// Interval at which a stop is polled.
const TICK: Duration = Duration::from_millis(50);
/// Seconds between two lines where there is no terminal.
const LINE_EVERY_S: u64 = 10;

/// Waits for the end, and meanwhile shows progress.
pub(super) fn until_the_end(work: &mut Work, duration: Option<Duration>, stop: &Stop) {
    output::note(&work.asked());
    let start = clock::now();
    let end = duration.map(|duration| start + duration);
    let mut line = LoadProgress::new();
    while !stop.requested() && !work.has_ended() {
        let now = clock::now();
        let left = end.map_or(TICK, |end| end.remaining(now));
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(TICK));
        let elapsed_ns = u64::try_from(clock::now().since(start)).unwrap_or(0);
        line.show(elapsed_ns / 1_000_000_000, work);
    }
}

/// One line that is renewed each second on a terminal; else a line now and then.
struct LoadProgress {
    bar: ProgressBar,
    every_s: u64,
    shown_s: u64,
}

impl LoadProgress {
    fn new() -> Self {
        let terminal = output::draws_progress();
        Self {
            bar: bar(terminal, None, "{spinner} {elapsed}  {wide_msg}"),
            every_s: if terminal { 1 } else { LINE_EVERY_S },
            shown_s: 0,
        }
    }

    fn show(&mut self, elapsed_s: u64, work: &Work) {
        if elapsed_s < self.shown_s + self.every_s {
            return;
        }
        self.shown_s = elapsed_s;
        let words: Vec<String> = work.rates().iter().map(latest).collect();
        let words = words.join("; ");
        if self.bar.is_hidden() {
            output::note(&format!("{elapsed_s} s: {words}"));
        } else {
            self.bar.set_message(words);
            self.bar.tick();
        }
    }
}

/// `disk 612 MB/s written`.
fn latest(load: &LoadRates) -> String {
    let rates = load.rates.iter();
    let rates: Vec<String> = rates
        .map(|rate| format!("{} {} {}", number(rate.last), rate.unit, rate.name))
        .collect();
    format!("{} {}", load.kind, rates.join(", "))
}
