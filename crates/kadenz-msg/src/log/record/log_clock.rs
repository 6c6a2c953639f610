//! The log time of a message: that of the wall clock, which never goes back in a log.

use kadenz_rt::clock::{MonotonicTime, WallTime};

/// Makes wall times that go on evenly if the wall clock is set back.
///
/// A step is the change of the wall clock beyond that of the monotonic clock. A step back is added to all
/// later times, so that spans between messages stay right; a step forward first reduces that sum, and the log
/// follows the rest.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    last: Option<(MonotonicTime, WallTime)>,
    added_ns: i64,
}

/// The minimum step: a shorter one is not distinguished from the time between two reads of clocks, and
/// slewing makes none.
const MIN_STEP_NS: i64 = 50_000_000;

/// If reading the clocks took longer, the reading is not evaluated.
const MAX_READ_NS: i64 = 5_000_000;

/// The clocks, read one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) before: MonotonicTime,
    pub(super) wall: WallTime,
    pub(super) after: MonotonicTime,
}

impl LogClock {
    /// Returns the log's time at that moment, and by how many nanoseconds the wall clock was set back since
    /// the last one: 0 if it was not.
    pub(super) fn at(&mut self, reading: Reading) -> (WallTime, u64) {
        let wall_ns = reading.wall.as_unix_ns();
        let mut back_ns = 0;
        if reading.after.since(reading.before) <= MAX_READ_NS {
            let (mono, wall) = self.last.unwrap_or((reading.before, reading.wall));
            let passed = reading.before.since(mono);
            let step = wall_ns
                .saturating_sub(wall.as_unix_ns())
                .saturating_sub(passed);
            if step < -MIN_STEP_NS {
                self.added_ns = self.added_ns.saturating_sub(step);
                back_ns = step.unsigned_abs();
            } else if step > MIN_STEP_NS {
                self.added_ns = self.added_ns.saturating_sub(step).max(0);
            }
            self.last = Some((reading.before, reading.wall));
        }
        let time = wall_ns.saturating_add(self.added_ns);
        (WallTime::from_unix_ns(time), back_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn reading(mono_ns: i64, wall_ns: i64) -> Reading {
        let before = MonotonicTime::from_ns(mono_ns.unsigned_abs());
        Reading {
            before,
            wall: WallTime::from_unix_ns(wall_ns),
            after: before.offset_by_ns(100),
        }
    }

    fn time_and_step(clock: &mut LogClock, mono_ns: i64, wall_ns: i64) -> (i64, u64) {
        let (time, back_ns) = clock.at(reading(mono_ns, wall_ns));
        (time.as_unix_ns(), back_ns)
    }

    #[test]
    fn a_clock_that_is_set_back_is_reported_once_and_spans_stay() {
        let mut clock = LogClock::default();
        assert_eq!(time_and_step(&mut clock, S, 100 * S), (100 * S, 0));
        assert_eq!(time_and_step(&mut clock, 2 * S, 101 * S), (101 * S, 0));
        // An hour back, a second later.
        assert_eq!(
            time_and_step(&mut clock, 3 * S, 102 * S - 3600 * S),
            (102 * S, 3600 * 1_000_000_000)
        );
        assert_eq!(
            time_and_step(&mut clock, 4 * S, 103 * S - 3600 * S),
            (103 * S, 0)
        );
        // The clock is set right again: the log goes on with the clock's own time.
        assert_eq!(time_and_step(&mut clock, 5 * S, 104 * S), (104 * S, 0));
        assert_eq!(time_and_step(&mut clock, 6 * S, 105 * S), (105 * S, 0));
    }

    #[test]
    fn a_clock_that_is_set_forward_or_slewed_is_followed() {
        let mut clock = LogClock::default();
        assert_eq!(time_and_step(&mut clock, S, 100 * S), (100 * S, 0));
        assert_eq!(time_and_step(&mut clock, 2 * S, 500 * S), (500 * S, 0));
        let slewed = 501 * S - 500_000;
        assert_eq!(time_and_step(&mut clock, 3 * S, slewed), (slewed, 0));
    }

    #[test]
    fn a_thread_that_was_held_up_between_two_clocks_is_no_step() {
        let mut clock = LogClock::default();
        assert_eq!(time_and_step(&mut clock, S, 100 * S), (100 * S, 0));
        let mut held_up = reading(2 * S, 101 * S + S / 5);
        held_up.after = held_up.before.offset_by_ns(S / 4);
        assert_eq!(clock.at(held_up).1, 0);
        assert_eq!(time_and_step(&mut clock, 3 * S, 102 * S), (102 * S, 0));
    }
}
