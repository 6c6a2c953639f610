//! A line a second, and what happens to the segment.

use std::sync::Arc;

use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::notice::Subscription;
use kadenz_ethercat::control::timing::{Spread, Timing};
use kadenz_lab::crew::Watch;
use kadenz_record::run::folder::Progress as RunProgress;
use kadenz_record::run::model::TuningMeasure;
use kadenz_report::numbers;

use crate::options::Progress;
use crate::output;

/// Tells on standard error how the loop goes.
pub(super) struct Live {
    pub(super) timing: Arc<Timing>,
    pub(super) health: Arc<Health>,
    pub(super) notices: Subscription,
    pub(super) devices: u16,
    pub(super) quiet: bool,
    /// What tells of tuning that was refused.
    pub(super) progress: Progress,
    pub(super) shown_s: u64,
}

impl Live {
    fn tell_notices(&mut self) {
        while let Some(notice) = self.notices.try_next() {
            if !self.quiet {
                output::note(&notice.to_string());
            }
        }
    }

    fn line(&self) -> String {
        let snapshot = self.timing.snapshot();
        let vitals = self.health.vitals();
        let state = match vitals.is_well(self.devices) {
            true => format!("{} devices in OP", self.devices),
            false => format!(
                "{} of {} devices answer, not all in OP",
                vitals.answered, self.devices
            ),
        };
        let mut line = format!(
            "{} s: {} cycles, period {}, wake-up {}, exchange {}; {state}",
            self.shown_s,
            numbers::thousands(snapshot.cycles),
            tail(&snapshot.period),
            tail(&snapshot.wake_up),
            tail(&snapshot.exchange),
        );
        let frames = &snapshot.frames;
        for (count, what) in [
            (snapshot.overruns, "overruns"),
            (frames.lost, "frames lost"),
            (frames.late, "late"),
            (frames.working_counter_mismatches, "wrong working counters"),
        ] {
            if count > 0 {
                line.push_str(&format!(", {} {what}", numbers::thousands(count)));
            }
        }
        line
    }
}

/// `p99.9 1.012 ms, max 1.034 ms`, or what the sample carries.
fn tail(spread: &Spread) -> String {
    let shown = |ns: Option<u64>| ns.map(|ns| numbers::value(ns as f64));
    let percentiles = [
        ("p99.9", spread.p999_ns),
        ("p99", spread.p99_ns),
        ("p50", spread.p50_ns),
    ];
    let carried = percentiles
        .into_iter()
        .find_map(|(name, ns)| Some((name, shown(ns)?)));
    match (carried, shown(spread.max_ns)) {
        (Some((name, value)), Some(max)) => format!("{name} {value} max {max}"),
        (None, Some(max)) => format!("max {max}"),
        _ => "-".to_owned(),
    }
}

impl Watch for Live {
    fn tick(&mut self, progress: &RunProgress) {
        self.tell_notices();
        let elapsed = progress.elapsed.as_secs();
        if elapsed > self.shown_s {
            self.shown_s = elapsed;
            if !self.quiet {
                output::note(&self.line());
            }
        }
    }

    fn tuned(&mut self, series: &[String], measures: &[TuningMeasure]) {
        self.progress.tuned(series, measures);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.tell_notices();
    }
}
