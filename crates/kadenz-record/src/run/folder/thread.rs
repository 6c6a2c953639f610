//! The one thread that writes.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use super::clock_step::{ClockStep, Clocks};
use super::manifest::{self, RUN_JSON};
use super::progress::SeriesProgress;
use super::schedule::Schedule;
use super::series::SeriesWriter;
use super::shared::Shared;

/// What the writer thread works with.
pub(super) struct WriterThread {
    pub(super) shared: Arc<Shared>,
    pub(super) series: Vec<SeriesWriter>,
    pub(super) schedule: Schedule,
    pub(super) clock_step: ClockStep,
    /// Says stop, or hangs up when the run is given up.
    pub(super) stop: Receiver<()>,
}

impl WriterThread {
    /// Writes until told to stop; then once more, and hands the series back.
    pub(super) fn run(mut self) -> Vec<SeriesWriter> {
        loop {
            let sleep = self.schedule.sleep(self.shared.now());
            let stopped = self.stop.recv_timeout(sleep) != Err(RecvTimeoutError::Timeout);
            if stopped {
                self.flip();
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

    /// Empties the rings, and looks again the sooner the fuller they were.
    fn drain(&mut self) {
        let mut fullest: f64 = 0.0;
        for series in &mut self.series {
            if let Some((fullness, written)) = series.drain() {
                fullest = fullest.max(fullness);
                if let Some(written) = written {
                    self.shared.note(&series.samples_name, &written);
                }
            }
        }
        self.schedule.adapt(fullest);
    }

    /// Ends the interval of every series and writes it. All are flipped before any is written: a
    /// slow disk must not stretch an interval. The rings are emptied after the flip, so that no
    /// value of the interval lacks its sample.
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

    /// Writes `run.json` anew if something was added to it; it stays incomplete.
    fn refresh_run_json(&self) {
        let mut state = self.shared.lock();
        if !std::mem::take(&mut state.changed) {
            return;
        }
        let run = state.run.clone();
        drop(state);
        let path = self.shared.dir.join(RUN_JSON);
        let written: io::Result<()> = manifest::write(&*self.shared.disk, &path, &run, false);
        self.shared.lock().changed |= written.is_err();
        self.shared.note(RUN_JSON, &written);
    }
}
