//! The cyclic timer: is every wake-up on the beat, and is the rate kept?

use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::Sample;
use kadenz_rt::beat::{Beat, Interval};
use kadenz_rt::clock::MonotonicTime;

use crate::crew::Station;

/// How long a cyclic timer is watched.
#[derive(Clone, Copy, Debug)]
pub struct CyclicPlan {
    /// Time between two beats.
    pub interval: Interval,
    /// Beats to watch; with `None` until stopped.
    pub cycles: Option<u64>,
    /// How far the first beat lies behind the common start, so that two threads on one machine do
    /// not meet on every beat.
    pub phase: Duration,
}

/// What one wake-up gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CyclicSamples {
    /// Actual less intended time.
    pub lateness: Sample,
    /// Interval since the wake-up before, less the expected interval; none at the first.
    pub jitter: Option<Sample>,
}

/// Turns wake-up times into lateness and jitter. Sans-IO: it is handed every time it knows.
///
/// Lateness is against the beat, whatever happened before: after a stall of three seconds every
/// beat of these seconds is recorded as late as it was. Jitter is the thesis's
/// `timestamp[i] - timestamp[i-1] - 1/frequency` (section 4.2.1).
#[derive(Clone, Debug)]
pub struct CyclicMeter {
    origin: MonotonicTime,
    interval_ns: i64,
    previous: Option<MonotonicTime>,
    sequence: u64,
}

impl CyclicMeter {
    /// A meter for beats `interval` apart; sample times count from `origin`.
    pub fn new(origin: MonotonicTime, interval: Duration) -> Self {
        Self {
            origin,
            interval_ns: i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX),
            previous: None,
            sequence: 0,
        }
    }

    /// Takes one wake-up: it was meant for `intended` and came at `actual`.
    ///
    /// Real-time safety: no allocation, lock or system call.
    pub fn woke(&mut self, intended: MonotonicTime, actual: MonotonicTime) -> CyclicSamples {
        let sequence = self.sequence;
        let intended_ns = intended.since(self.origin);
        let actual_ns = actual.since(self.origin);
        let sample = |intended_ns: i64| Sample {
            sequence,
            intended_ns,
            actual_ns,
            value_ns: actual_ns - intended_ns,
        };
        let jitter = self
            .previous
            .map(|previous| sample(previous.since(self.origin) + self.interval_ns));
        self.previous = Some(actual);
        self.sequence += 1;
        CyclicSamples {
            lateness: sample(intended_ns),
            jitter,
        }
    }
}

/// Watches a cyclic timer from `start` on, until the plan is done or somebody stops it.
///
/// The beat is kept on `CLOCK_MONOTONIC`, and the station's clock must be that one.
///
/// Real-time safety: after the call it allocates nothing and takes no lock; its only system call
/// is the sleeper's.
pub fn cyclic(
    plan: &CyclicPlan,
    station: &mut Station<'_>,
    lateness: &mut SeriesRecorder,
    mut jitter: Option<&mut SeriesRecorder>,
) {
    let mut beat = Beat::at(station.start + plan.phase, plan.interval);
    let mut meter = CyclicMeter::new(station.origin, plan.interval.as_duration());
    let cycles = plan.cycles.unwrap_or(u64::MAX);
    for _ in 0..cycles {
        let intended = beat.next();
        station.sleeper.sleep_until(intended);
        let samples = meter.woke(intended, station.clock.now());
        lateness.record(samples.lateness);
        if let (Some(recorder), Some(sample)) = (jitter.as_deref_mut(), samples.jitter) {
            recorder.record(sample);
        }
        if station.stop.requested() {
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
    fn lateness_is_against_the_beat_and_jitter_against_the_wake_up_before() {
        let mut meter = CyclicMeter::new(at(1_000_000), Duration::from_millis(1));
        let first = meter.woke(at(2_000_000), at(2_000_050));
        assert_eq!(first.lateness.value_ns, 50);
        assert_eq!(first.lateness.intended_ns, 1_000_000);
        assert_eq!(first.jitter, None);
        let second = meter.woke(at(3_000_000), at(3_000_020));
        assert_eq!(second.lateness.value_ns, 20);
        assert_eq!(second.jitter.unwrap().value_ns, -30);
        assert_eq!(second.lateness.sequence, 1);
    }

    #[test]
    fn a_stall_is_seen_by_every_beat_it_covers() {
        let interval = Duration::from_millis(1);
        let mut meter = CyclicMeter::new(at(0), interval);
        let woken = at(3_000_000_000);
        let late: Vec<i64> = (1..=3000u64)
            .map(|n| meter.woke(at(n * 1_000_000), woken).lateness.value_ns)
            .collect();
        assert_eq!(late[0], 2_999_000_000);
        assert_eq!(late[1], 2_998_000_000);
        assert_eq!(late[2999], 0);
    }

    #[test]
    fn an_early_wake_up_is_negative() {
        let mut meter = CyclicMeter::new(at(0), Duration::from_millis(1));
        assert_eq!(
            meter.woke(at(1_000_000), at(100_000)).lateness.value_ns,
            -900_000
        );
    }
}
