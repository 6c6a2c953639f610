//! Timekeepers, which wait for the beats of a loop: a sleeper, or virtual time, which advances at once.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::sleep::{self, OpenSleeperError, Sleeper, SleeperKind, SleeperOptions};

use crate::port::Port as _;
use crate::sim::WirePort;

/// Waits until a time by a port's clock.
///
/// # Real-time safety
/// An implementation must neither allocate, lock nor log, and waits for nothing but the time.
pub trait Timekeeper<P> {
    /// Returns once the time has come; at once when it has passed.
    fn wait_until(&mut self, port: &mut P, time: MonotonicTime);
}

/// Sleeps by the computer's clock, and spins for the last piece. For ports in real time only: the clock of
/// a [`WirePort`] would stand still.
///
/// # Real-time safety
/// Waiting is real-time safe as the [`Sleeper`] is. [`RealTime::open`] is not: it allocates.
pub struct RealTime {
    sleeper: Box<dyn Sleeper>,
}

impl RealTime {
    /// A timekeeper that sleeps, and spins for `spin` before each beat; zero for sleeping alone.
    ///
    /// # Errors
    /// [`OpenSleeperError`] where the system refuses what that needs.
    pub fn open(spin: Duration) -> Result<Self, OpenSleeperError> {
        let kind = if spin.is_zero() {
            SleeperKind::recommended()
        } else {
            SleeperKind::Spin
        };
        let options = SleeperOptions { spin_margin: spin };
        Ok(Self::by(sleep::open(kind, options)?))
    }

    /// A timekeeper with a sleeper of the caller's choice.
    #[must_use]
    pub fn by(sleeper: Box<dyn Sleeper>) -> Self {
        Self { sleeper }
    }
}

impl<P> Timekeeper<P> for RealTime {
    fn wait_until(&mut self, _: &mut P, time: MonotonicTime) {
        self.sleeper.sleep_until(time);
    }
}

impl std::fmt::Debug for RealTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RealTime")
            .field(&self.sleeper.name())
            .finish()
    }
}

/// Advances the virtual segment's time; always punctual.
#[derive(Debug, Clone, Copy, Default)]
pub struct VirtualTime;

impl Timekeeper<WirePort> for VirtualTime {
    fn wait_until(&mut self, port: &mut WirePort, time: MonotonicTime) {
        let left = time.remaining(port.now()).as_nanos();
        port.elapse(u64::try_from(left).unwrap_or(u64::MAX));
    }
}
