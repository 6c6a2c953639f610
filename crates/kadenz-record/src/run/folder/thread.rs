//! The one writer thread.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::RUN_JSON;
use super::clock_step::{ClockStep, Clocks};
use super::running::{RunContext, SeriesProgress};
use super::series::SeriesWriter;

/// The data of the writer thread.
pub(super) struct WriterThread {
    pub(super) shared: Arc<RunContext>,
    pub(super) series: Vec<SeriesWriter>,
    pub(super) schedule: Schedule,
    pub(super) clock_step: ClockStep,
    /// Receives the stop message; disconnected when the run is dropped.
    pub(super) stop: Receiver<()>,
}

impl WriterThread {
    /// Writes until it receives the stop message; then once more, and returns the series.
    pub(super) fn run(mut self) -> Vec<SeriesWriter> {
        loop {
            let sleep = self.schedule.sleep(self.shared.now());
            let stopped = self.stop.recv_timeout(sleep) != Err(RecvTimeoutError::Timeout);
            if stopped {
                self.flip();
                // A run that is dropped has no other last `run.json`.
                self.refresh_run_json();
                return self.series;
            }
            if self.schedule.flip_due(self.shared.now()) {
                self.flip();
                self.look_at_clocks();
                self.refresh_run_json();
            } else {
                self.drain();
            }
            self.publish();
        }
    }

    /// Empties the rings; the fuller they were, the sooner it checks them again.
    fn drain(&mut self) {
        let mut fullest: f64 = 0.0;
        for series in &mut self.series {
            let Some(drained) = series.drain() else {
                continue;
            };
            fullest = fullest.max(drained.fullness);
            if let Some(written) = drained.written {
                self.shared.note(&series.samples_name, &written);
            }
            if drained.dropped > 0 {
                let name = &series.samples_name;
                self.shared.note_dropped(name, drained.dropped);
            }
        }
        self.schedule.adapt(fullest);
    }

    /// Ends the interval of every series and writes it. All are flipped before any is written: a slow disk must not
    /// lengthen an interval. The rings are emptied after the flip, so that no value of the interval lacks its
    /// sample.
    fn flip(&mut self) {
        self.welcome();
        for series in &mut self.series {
            series.flip(|| self.shared.now());
        }
        self.drain();
        for series in &mut self.series {
            if let Some(written) = series.write_samples() {
                self.shared.note(&series.samples_name, &written);
            }
            let written = series.write_interval();
            self.shared.note(&series.hlog_name, &written);
        }
    }

    /// Takes over the series that were added since the last flip.
    fn welcome(&mut self) {
        let newcomers = std::mem::take(&mut self.shared.lock().newcomers);
        for mut series in newcomers {
            for (file, written) in series.write_headers() {
                self.shared.note(file, &written);
            }
            if series.keeps_samples() {
                self.schedule.drain_too();
            }
            self.series.push(series);
        }
    }

    fn publish(&self) {
        let series = self.series.iter().map(SeriesProgress::of).collect();
        self.shared.lock().series = series;
    }

    fn look_at_clocks(&mut self) {
        let warning = Clocks::read(self.shared.origin).and_then(|now| self.clock_step.observe(now));
        if let Some(warning) = warning {
            self.shared.warn(warning);
        }
    }

    /// Writes `run.json` again if it has changed; it stays incomplete.
    fn refresh_run_json(&self) {
        let mut state = self.shared.lock();
        if !std::mem::take(&mut state.changed) {
            return;
        }
        let run = state.run.clone();
        drop(state);
        let path = self.shared.dir.join(RUN_JSON);
        let written: io::Result<()> = super::write(&*self.shared.disk, &path, &run, false);
        self.shared.lock().changed |= written.is_err();
        self.shared.note(RUN_JSON, &written);
    }
}

// When the writer thread wakes, in times since the start of the run; it reads no clock.

/// The shortest interval; below it a line for each flip costs more than it is worth.
const MIN_INTERVAL: Duration = Duration::from_millis(1);
/// The range of the time between two checks of the rings.
const DRAIN: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(5)..=Duration::from_millis(200);
/// The first such time, while it is unknown how fast the rings fill.
const FIRST_DRAIN: Duration = Duration::from_millis(20);

/// The schedule of flips and drains.
#[derive(Debug)]
pub(super) struct Schedule {
    start: Duration,
    interval: Duration,
    next_flip: Duration,
    /// Time until the next check of the rings; `None` where there are none.
    drain: Option<Duration>,
}

impl Schedule {
    /// Flips every `interval` after `start`, and drains rings in between if there are any.
    pub(super) fn new(start: Duration, interval: Duration, rings: bool) -> Self {
        let interval = interval.max(MIN_INTERVAL);
        Self {
            start,
            interval,
            next_flip: start + interval,
            drain: rings.then_some(FIRST_DRAIN),
        }
    }

    /// Adds drains, as there are rings from now on.
    pub(super) fn drain_too(&mut self) {
        self.drain.get_or_insert(FIRST_DRAIN);
    }

    /// How long to sleep at `now`.
    pub(super) fn sleep(&self, now: Duration) -> Duration {
        let flip = self.next_flip.saturating_sub(now);
        self.drain.map_or(flip, |drain| flip.min(drain))
    }

    /// Whether it is time to flip. If so, the next flip is the next whole interval after `now`: a
    /// writer that was stalled makes one long interval, not many short ones.
    pub(super) fn flip_due(&mut self, now: Duration) -> bool {
        if now < self.next_flip {
            return false;
        }
        let interval = self.interval.as_nanos();
        let into = now.saturating_sub(self.start).as_nanos() % interval;
        let left = u64::try_from(interval - into).unwrap_or(u64::MAX);
        self.next_flip = now.saturating_add(Duration::from_nanos(left));
        true
    }

    /// Drains the rings more often when they were found full, less often when empty.
    pub(super) fn adapt(&mut self, fullness: f64) {
        self.drain = self.drain.map(|drain| {
            let wanted = match fullness {
                full if full > 0.5 => drain / 4,
                half if half > 0.2 => drain / 2,
                empty if empty < 0.05 => drain * 2,
                _ => drain,
            };
            wanted.clamp(*DRAIN.start(), *DRAIN.end())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn flips_stay_on_the_grid_and_a_stall_is_one_interval() {
        let mut schedule = Schedule::new(ms(13), ms(1000), true);
        assert!(!schedule.flip_due(ms(1012)));
        assert!(schedule.flip_due(ms(1014)));
        assert!(!schedule.flip_due(ms(2012)));
        assert!(schedule.flip_due(ms(5500)), "3.5 s late");
        assert!(!schedule.flip_due(ms(6012)));
        assert!(schedule.flip_due(ms(6013)));
    }

    #[test]
    fn sleeps_to_the_flip_or_the_drain() {
        let schedule = Schedule::new(ms(0), ms(1000), true);
        assert_eq!(schedule.sleep(ms(0)), ms(20));
        assert_eq!(schedule.sleep(ms(990)), ms(10));
        assert_eq!(schedule.sleep(ms(1200)), ms(0));
        let without_rings = Schedule::new(ms(0), ms(1000), false);
        assert_eq!(without_rings.sleep(ms(100)), ms(900));
        let mut with_a_newcomer = without_rings;
        with_a_newcomer.drain_too();
        assert_eq!(with_a_newcomer.sleep(ms(100)), ms(20));
    }

    #[test]
    fn full_rings_are_looked_at_more_often() {
        let mut schedule = Schedule::new(ms(0), ms(1000), true);
        schedule.adapt(0.3);
        assert_eq!(schedule.sleep(ms(0)), ms(10));
        for _ in 0..5 {
            schedule.adapt(0.9);
        }
        assert_eq!(schedule.sleep(ms(0)), ms(5));
        for _ in 0..9 {
            schedule.adapt(0.01);
        }
        assert_eq!(schedule.sleep(ms(0)), ms(200));
    }
}
