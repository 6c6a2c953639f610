//! A line a second, and what happens to the segment.

use std::sync::Arc;

use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::notice::{Event, Subscription};
use kadenz_ethercat::control::timing::{Spread, Timing};
use kadenz_lab::crew::Watch;
use kadenz_record::run::folder::Progress as RunProgress;
use kadenz_record::run::model::TuningMeasure;
use kadenz_report::numbers;
use kadenz_rt::clock::{self, MonotonicTime};

use crate::options::Progress;
use crate::output;

/// Tells on standard error how the loop goes.
pub(super) struct Live {
    pub(super) timing: Arc<Timing>,
    pub(super) health: Arc<Health>,
    pub(super) notices: Subscription,
    pub(super) devices: u16,
    /// Names of the devices, by the steward's numbers.
    pub(super) names: Vec<String>,
    pub(super) begun: MonotonicTime,
    /// Whether all have been in OP yet.
    pub(super) was_well: bool,
    pub(super) quiet: bool,
    /// What tells of tuning that was refused.
    pub(super) progress: Progress,
    pub(super) shown_s: u64,
}

impl Live {
    /// That every device comes up at the start is told in one line; all that happens later in one each.
    fn tell_notices(&mut self) {
        while let Some(notice) = self.notices.try_next() {
            let starts = !self.was_well && matches!(notice.event, Event::State { code: 0, .. });
            if !self.quiet && !starts {
                let who = notice.device.as_ref().map(|it| self.names.get(it.device));
                let who = who
                    .flatten()
                    .map(|it| format!("{it}: "))
                    .unwrap_or_default();
                let at = MonotonicTime::from_ns(notice.at_ns).since(self.begun) as f64;
                output::note(&format!("{} s: {who}{}", seconds(at), notice.event));
            }
        }
        if !self.was_well && self.health.vitals().is_well(self.devices) {
            self.was_well = true;
            if !self.quiet {
                let took = clock::now().since(self.begun) as f64;
                output::note(&format!(
                    "{} s: all {} devices are in OP",
                    seconds(took),
                    self.devices
                ));
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

/// Seconds with two digits behind the point.
fn seconds(ns: f64) -> String {
    format!("{:.2}", ns / 1e9)
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
