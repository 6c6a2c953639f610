//! What a player sleeps on: the sleep clock, or a clock of its own in tests.

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::sleep::{self, OpenSleeperError, Sleeper, SleeperKind, SleeperOptions};

/// A clock, and a way to sleep on it.
pub trait Timing {
    /// What the clock shows.
    fn now(&self) -> MonotonicTime;

    /// Returns once the clock shows that time; at once where it has passed.
    fn sleep_until(&mut self, deadline: MonotonicTime);
}

/// The sleep clock.
pub struct SleepClock(Box<dyn Sleeper>);

impl SleepClock {
    /// By the sleeper that is recommended for this system.
    ///
    /// # Errors
    /// Where the kernel refuses one.
    pub fn open() -> Result<Self, OpenSleeperError> {
        let sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default())?;
        Ok(Self(sleeper))
    }
}

impl Timing for SleepClock {
    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    fn sleep_until(&mut self, deadline: MonotonicTime) {
        self.0.sleep_until(deadline);
    }
}

/// A clock that moves when somebody sleeps on it, and only then.
#[derive(Debug, Clone, Default)]
pub struct VirtualTime(MonotonicTime);

impl VirtualTime {
    /// Lets time pass, as a slow receiver does.
    pub fn pass_ns(&mut self, ns: i64) {
        self.0 = self.0.offset_by_ns(ns);
    }
}

impl Timing for VirtualTime {
    fn now(&self) -> MonotonicTime {
        self.0
    }

    fn sleep_until(&mut self, deadline: MonotonicTime) {
        self.0 = self.0.max(deadline);
    }
}
