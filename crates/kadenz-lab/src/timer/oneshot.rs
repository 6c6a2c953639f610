//! The one-shot timer: by how much does it miss a single timeout, and does it report that?

use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::Sample;
use kadenz_rt::clock::{self, MonotonicTime};

use crate::measuring_threads::LoopContext;

/// Parameters of a one-shot timer.
#[derive(Clone, Copy, Debug)]
pub struct OneShotPlan {
    /// The timeout that is set each time, 1 us to 1 h.
    pub timeout: Duration,
    /// Number of timeouts that are measured.
    pub repetitions: u64,
}

/// Samples of one timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OneShotSamples {
    /// `end - timeout - start`, both stamps taken by the caller around the call.
    pub measured: Sample,
    /// The timer's own value: the time at which it returned less the time it was set to.
    pub reported: Sample,
    /// Measured less reported.
    pub difference: Sample,
}

/// Turns the stamps of one timeout into Sticha's three values (section 4.1.1). Sans-IO.
#[derive(Clone, Debug)]
pub(crate) struct OneShotMeter {
    origin: MonotonicTime,
    timeout_ns: i64,
    sequence: u64,
}

impl OneShotMeter {
    /// A meter for timeouts of `timeout`; sample times count from `origin`.
    pub(crate) fn new(origin: MonotonicTime, timeout: Duration) -> Self {
        Self {
            origin,
            timeout_ns: i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX),
            sequence: 0,
        }
    }

    /// Takes one timeout: the caller's stamps `start` and `end`, and the lateness that the timer `reported`.
    ///
    /// # Real-time safety
    /// No allocation, lock or system call.
    pub(crate) fn fired(
        &mut self,
        start: MonotonicTime,
        end: MonotonicTime,
        reported_ns: i64,
    ) -> OneShotSamples {
        let intended_ns = start.since(self.origin) + self.timeout_ns;
        let actual_ns = end.since(self.origin);
        let measured_ns = actual_ns - intended_ns;
        let sequence = self.sequence;
        let sample = |value_ns: i64| Sample {
            sequence,
            intended_ns,
            actual_ns,
            value_ns,
        };
        self.sequence += 1;
        OneShotSamples {
            measured: sample(measured_ns),
            reported: sample(reported_ns),
            difference: sample(measured_ns - reported_ns),
        }
    }
}

/// The three series of a one-shot suite.
#[derive(Debug)]
pub struct OneShotRecorders {
    /// The caller's view.
    pub measured: SeriesRecorder,
    /// The timer's view.
    pub reported: SeriesRecorder,
    /// Measured less reported.
    pub difference: SeriesRecorder,
}

impl OneShotRecorders {
    /// Records all three values of a timer that fired.
    #[inline]
    pub(crate) fn record(&mut self, samples: &OneShotSamples) {
        self.measured.record(samples.measured);
        self.reported.record(samples.reported);
        self.difference.record(samples.difference);
    }
}

/// Sets a one-shot timer repeatedly until the plan is done or a stop is requested.
///
/// The context's clock takes the caller's stamps and need not be the one the timer runs on: Sticha took
/// `CLOCK_MONOTONIC_RAW`. The timer is set and reports on `CLOCK_MONOTONIC`.
///
/// # Real-time safety
/// After the call it allocates nothing and takes no lock; its only system call is the sleeper's.
pub fn oneshot(
    plan: &OneShotPlan,
    context: &mut LoopContext<'_>,
    recorders: &mut OneShotRecorders,
) {
    let mut meter = OneShotMeter::new(context.origin, plan.timeout);
    for _ in 0..plan.repetitions {
        let start = context.clock.now();
        let deadline = clock::now() + plan.timeout;
        context.sleeper.sleep_until(deadline);
        let reported_ns = clock::now().since(deadline);
        recorders.record(&meter.fired(start, context.clock.now(), reported_ns));
        if context.stop.requested() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ns)
    }

    #[test]
    fn the_three_values_of_sticha2014() {
        let mut meter = OneShotMeter::new(at(1_000), Duration::from_millis(1));
        let samples = meter.fired(at(11_000), at(1_112_000), 90_000);
        assert_eq!(samples.measured.value_ns, 101_000);
        assert_eq!(samples.reported.value_ns, 90_000);
        assert_eq!(samples.difference.value_ns, 11_000);
        assert_eq!(samples.measured.intended_ns, 1_010_000);
        assert_eq!(meter.fired(at(0), at(0), 0).measured.sequence, 1);
    }

    #[test]
    fn a_timeout_of_800_us_is_not_treated_as_1_ms() {
        let mut meter = OneShotMeter::new(at(0), Duration::from_micros(800));
        assert_eq!(
            meter.fired(at(0), at(1_000_000), 0).measured.value_ns,
            200_000
        );
    }
}
