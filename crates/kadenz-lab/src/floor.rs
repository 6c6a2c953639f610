//! The machine's floor: what it takes from a thread that never sleeps.
//!
//! A thread reads the clock as fast as it can in short windows. The longest gap between two
//! readings of a window is time that this thread did not spend: an interrupt, a hypervisor, system
//! management mode, another thread. No measurement on this machine can be better than that.

use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::Sample;
use kadenz_rt::clock::{self, Clock, MonotonicTime};

use crate::measuring_threads::LoopContext;

/// How the noise floor is probed.
#[derive(Clone, Copy, Debug)]
pub struct FloorPlan {
    /// How long one window is; each gives one sample, its longest gap.
    pub window: Duration,
    /// Windows spun through without a sleep.
    pub windows_per_burst: u32,
    /// Sleep between two bursts, so that real-time throttling never sets in.
    pub pause: Duration,
    /// How long to probe.
    pub duration: Duration,
}

impl Default for FloorPlan {
    /// Windows of 1 ms, 5 of them, 5 ms of sleep, for 2 s.
    fn default() -> Self {
        Self {
            window: Duration::from_millis(1),
            windows_per_burst: 5,
            pause: Duration::from_millis(5),
            duration: Duration::from_secs(2),
        }
    }
}

/// Finds the longest gap between two readings of a window. Sans-IO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GapMeter {
    previous: MonotonicTime,
    longest_ns: i64,
    longest_end: MonotonicTime,
}

impl GapMeter {
    /// A meter that begins with the reading `now`.
    pub(crate) fn new(now: MonotonicTime) -> Self {
        Self {
            previous: now,
            longest_ns: 0,
            longest_end: now,
        }
    }

    /// Takes the next reading.
    ///
    /// # Real-time safety
    /// No allocation, lock or system call.
    pub(crate) fn read(&mut self, now: MonotonicTime) {
        let gap_ns = now.since(self.previous);
        if gap_ns > self.longest_ns {
            self.longest_ns = gap_ns;
            self.longest_end = now;
        }
        self.previous = now;
    }
}

/// Probes the noise floor from `start` on.
///
/// # Real-time safety
/// After the call it allocates nothing and takes no lock.
pub fn floor(plan: &FloorPlan, context: &mut LoopContext<'_>, recorder: &mut SeriesRecorder) {
    context.sleeper.sleep_until(context.start);
    let end = context.start + plan.duration;
    let mut sequence = 0;
    let mut now = clock::now();
    while now < end && !context.stop.requested() {
        for _ in 0..plan.windows_per_burst {
            let gap = spin_window(plan.window, context.clock);
            let actual_ns = gap.longest_end.since(context.origin);
            recorder.record(Sample {
                sequence,
                intended_ns: actual_ns - gap.longest_ns,
                actual_ns,
                value_ns: gap.longest_ns,
            });
            sequence += 1;
        }
        now = clock::now();
        context.sleeper.sleep_until(now + plan.pause);
    }
}

fn spin_window(window: Duration, clock: &dyn Clock) -> GapMeter {
    let begin = clock.now();
    let end = begin + window;
    let mut gap = GapMeter::new(begin);
    while gap.previous < end {
        gap.read(clock.now());
    }
    gap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_kept() {
        let at = MonotonicTime::from_ns;
        let mut gap = GapMeter::new(at(100));
        for ns in [130, 160, 5160, 5190] {
            gap.read(at(ns));
        }
        assert_eq!(gap.longest_ns, 5000);
        assert_eq!(gap.longest_end, at(5160));
    }
}
