//! The log time of a message: its stamp by the monotonic clock as a time of the wall clock, which is never set back in
//! a log.

use kadenz_rt::clock::{ClockPair, MonotonicTime, WallTime};

/// Makes wall times of stamps, which go on evenly if the wall clock is set back.
///
/// A step is the change of the wall clock beyond that of the monotonic clock. A step back is added to all
/// later times, so that spans between messages stay right; a step forward first reduces that sum, and the log
/// follows the rest.
///
/// The two clocks cannot be read at once. Each reading gives bounds for the offset between them, and the offset changes
/// only where it lies outside: a thread that is held up between the clocks moves no message. A stamp that is not before
/// the latest one never gets an earlier time than that: readers of a log sort by time.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    /// The wall clock less the monotonic one.
    offset_ns: Option<i64>,
    added_ns: i64,
    /// The latest stamp, and its time.
    last: Option<(MonotonicTime, i64)>,
}

/// The minimum step: a shorter one is not distinguished from the time between two reads of clocks, and
/// slewing makes none.
const MIN_STEP_NS: i64 = 50_000_000;

/// A reading of the clocks that may be wrong by more is not evaluated.
const MAX_ERROR_NS: u64 = 2_500_000;

impl LogClock {
    /// Returns the log's time of a stamp, and by how many nanoseconds the wall clock was set back since the last one: 0
    /// if it was not.
    pub(super) fn time_of(&mut self, stamp: MonotonicTime, reading: ClockPair) -> (WallTime, u64) {
        let (offset_ns, back_ns) = self.offset(reading);
        let time = stamp.as_ns().cast_signed().saturating_add(offset_ns);
        let time = time.saturating_add(self.added_ns);
        let (latest, its_time) = self.last.unwrap_or((stamp, time));
        if stamp < latest {
            return (WallTime::from_unix_ns(time), back_ns);
        }
        let time = time.max(its_time);
        self.last = Some((stamp, time));
        (WallTime::from_unix_ns(time), back_ns)
    }

    /// Returns the offset after a reading, and by how many nanoseconds the wall clock was set back.
    fn offset(&mut self, reading: ClockPair) -> (i64, u64) {
        let (low, high) = reading.lead_ns();
        let [low, high] = [low, high].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        let known = self.offset_ns.unwrap_or(high);
        if reading.error_ns() > MAX_ERROR_NS {
            return (known, 0);
        }
        let is_step =
            known < low.saturating_sub(MIN_STEP_NS) || known.saturating_sub(MIN_STEP_NS) > high;
        let offset = match is_step {
            true => high,
            false => known.max(low).min(high),
        };
        let step = offset.saturating_sub(known);
        let mut back_ns = 0;
        if step < -MIN_STEP_NS {
            self.added_ns = self.added_ns.saturating_sub(step);
            back_ns = step.unsigned_abs();
        } else if step > MIN_STEP_NS {
            self.added_ns = self.added_ns.saturating_sub(step).max(0);
        }
        self.offset_ns = Some(offset);
        (offset, back_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn reading(before: MonotonicTime, wall_ns: i64, took_ns: i64) -> ClockPair {
        let wall = WallTime::from_unix_ns(wall_ns);
        ClockPair::from_readings(before, wall, before.offset_by_ns(took_ns))
    }

    fn time_and_step(clock: &mut LogClock, mono_ns: i64, wall_ns: i64) -> (i64, u64) {
        let stamp = MonotonicTime::from_ns(mono_ns.unsigned_abs());
        let (time, back_ns) = clock.time_of(stamp, reading(stamp, wall_ns, 100));
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
    fn a_thread_that_was_held_up_between_two_clocks_is_not_a_step() {
        let mut clock = LogClock::default();
        assert_eq!(time_and_step(&mut clock, S, 100 * S), (100 * S, 0));
        let stamp = MonotonicTime::from_ns(2 * S.unsigned_abs());
        let held_up = reading(stamp, 101 * S + S / 5, S / 4);
        let (time, back_ns) = clock.time_of(stamp, held_up);
        assert_eq!((time.as_unix_ns(), back_ns), (101 * S, 0));
        assert_eq!(time_and_step(&mut clock, 3 * S, 102 * S), (102 * S, 0));
    }

    #[test]
    fn messages_that_came_together_stay_in_their_order() {
        let mut clock = LogClock::default();
        let stamp = MonotonicTime::from_ns(S as u64);
        let mut time_at = |held_up_ns: i64, slewed_ns: i64| {
            let wall_ns = 100 * S + S / 10 + held_up_ns + slewed_ns;
            let before = stamp.offset_by_ns(S / 10);
            let reading = reading(before, wall_ns, held_up_ns + 100);
            clock.time_of(stamp, reading).0.as_unix_ns()
        };
        let times = [
            time_at(0, 0),
            time_at(3_000_000, 0),
            time_at(0, -700),
            time_at(0, 0),
        ];
        assert_eq!(times, [100 * S; 4]);
        // Earlier stamps keep their own time.
        let reading = reading(stamp, 100 * S, 100);
        let earlier = clock.time_of(stamp.offset_by_ns(-500), reading).0;
        assert!(earlier.as_unix_ns() < 100 * S);
    }
}
