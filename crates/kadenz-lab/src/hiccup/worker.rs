//! The loop that sleeps and records.

use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::Sample;
use kadenz_rt::clock;

use super::meter::HiccupMeter;
use crate::measuring_threads::LoopContext;

/// How hiccups are measured.
#[derive(Clone, Copy, Debug)]
pub struct HiccupPlan {
    /// How long each sleep is meant to be (jHiccup's `-r`).
    pub resolution: Duration,
    /// How long to measure; with `None` until stopped.
    pub duration: Option<Duration>,
}

/// Where the two values of a sleep go.
#[derive(Debug)]
pub struct HiccupRecorders {
    /// jHiccup's value.
    pub hiccup: SeriesRecorder,
    /// The value against the intended time.
    pub lateness: SeriesRecorder,
}

/// Measures hiccups from `start` on, until the plan is done or somebody stops it.
///
/// Real-time safety: after the call it allocates nothing and takes no lock; its only system call
/// is the sleeper's.
pub fn hiccup(plan: &HiccupPlan, context: &mut LoopContext<'_>, recorders: &mut HiccupRecorders) {
    context.sleeper.sleep_until(context.start);
    let resolution_ns = i64::try_from(plan.resolution.as_nanos()).unwrap_or(i64::MAX);
    let mut meter = HiccupMeter::new(resolution_ns.unsigned_abs());
    let end = plan.duration.map(|duration| context.start + duration);
    let mut sequence = 0;
    let mut previous = context.clock.now();
    while !context.stop.requested() {
        // Sleepers sleep on CLOCK_MONOTONIC; the context's clock may be another one.
        let armed = clock::now();
        if end.is_some_and(|end| armed >= end) {
            break;
        }
        context.sleeper.sleep_until(armed + plan.resolution);
        let now = context.clock.now();
        let values = meter.woke(now.since(previous));
        let actual_ns = now.since(context.origin);
        for (recorder, value) in [
            (&mut recorders.hiccup, values.hiccup_ns),
            (&mut recorders.lateness, values.lateness_ns),
        ] {
            let sample = |value_ns: i64| Sample {
                sequence,
                intended_ns: actual_ns - value_ns,
                actual_ns,
                value_ns,
            };
            let (last, count) = meter.last_omitted(value);
            recorder.record_left_out(sample(value), sample(last), count);
        }
        sequence += 1;
        previous = now;
    }
}
