//! Detects a step of the wall clock, or a suspend of the machine, from two clocks that drift apart.

use std::time::{Duration, Instant};

use crate::run::model::Warning;

/// The least step: NTP slews at most 0.5 ms in a second, and reading two clocks takes time.
const STEP_NS: i128 = 50_000_000;
/// Readings that lie further apart than this are ignored: the thread was off the CPU between them.
const READING: Duration = Duration::from_millis(10);

/// One reading of both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// Monotonic time since the start of the run.
    pub(super) at: Duration,
    /// Wall time, in ns since 1970.
    pub(super) wall_ns: i128,
}

impl Clocks {
    /// Reads both clocks; `None` if the thread was interrupted between them.
    pub(super) fn read(origin: Instant) -> Option<Self> {
        let before = Instant::now();
        let wall_ns = jiff::Timestamp::now().as_nanosecond();
        let together = before.elapsed() < READING;
        together.then(|| Self {
            at: before.saturating_duration_since(origin),
            wall_ns,
        })
    }
}

/// Compares the two clocks from reading to reading.
#[derive(Debug, Default)]
pub(super) struct ClockStep {
    last: Option<Clocks>,
    steps: u64,
    /// The largest step: its time and its size.
    largest: Option<(Duration, i128)>,
}

impl ClockStep {
    /// Takes a reading into account, and returns a new or changed warning if the wall clock stepped since the last.
    pub(super) fn observe(&mut self, now: Clocks) -> Option<Warning> {
        let last = self.last.replace(now)?;
        let passed = i128::try_from(now.at.saturating_sub(last.at).as_nanos()).ok()?;
        let step = now.wall_ns - last.wall_ns - passed;
        if step.abs() < STEP_NS + passed / 1000 {
            return None;
        }
        self.steps += 1;
        if self
            .largest
            .is_none_or(|(_, largest)| largest.abs() < step.abs())
        {
            self.largest = Some((now.at, step));
        }
        self.warning()
    }

    fn warning(&self) -> Option<Warning> {
        let (at, step) = self.largest?;
        let (at, step) = (at.as_secs_f64(), step as f64 / 1e9);
        let more = match self.steps {
            1 => String::new(),
            steps => format!("; it was the largest of {steps} such steps"),
        };
        Some(Warning::new(
            "clock_step",
            format!(
                "the wall clock moved by {step:+.3} s against the monotonic clock at {at:.1} s: it \
                 was set, or the machine slept{more}. Values and intervals are not touched, they \
                 count on the monotonic clock; wall times after it are off by that much"
            ),
            Some("let the clock settle before a run, and keep the machine from sleeping"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_ms: u64, wall_ms: i128) -> Clocks {
        Clocks {
            at: Duration::from_millis(at_ms),
            wall_ns: wall_ms * 1_000_000,
        }
    }

    #[test]
    fn slewing_is_not_a_step_and_setting_is() {
        let mut clocks = ClockStep::default();
        assert!(clocks.observe(look(0, 1_000_000)).is_none());
        assert!(clocks.observe(look(1000, 1_001_001)).is_none());
        assert!(
            clocks.observe(look(601_000, 1_601_301)).is_none(),
            "300 ms in 10 min is slewing"
        );
        let warning = clocks.observe(look(602_000, 5_202_301)).expect("an hour");
        assert_eq!(warning.id, "clock_step");
        assert!(warning.text.contains("+3600.000 s"), "{}", warning.text);
        assert!(
            clocks.observe(look(603_000, 5_203_301)).is_none(),
            "told once"
        );
        let warning = clocks
            .observe(look(604_000, 5_203_301))
            .expect("a second back");
        assert!(warning.text.contains("largest of 2"), "{}", warning.text);
    }

    #[test]
    fn both_clocks_can_be_read() {
        let origin = Instant::now();
        let clocks = (0..100)
            .find_map(|_| Clocks::read(origin))
            .expect("an uninterrupted look");
        assert!(clocks.wall_ns > 1_600_000_000_000_000_000);
    }
}
