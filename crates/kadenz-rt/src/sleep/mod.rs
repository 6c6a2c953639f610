//! Sleepers: ways to wait for a point in time, behind one trait.
//!
//! Every sleeper waits against the sleep clock that [`clock::now`](crate::clock::now) reads, takes
//! timeouts in nanoseconds without rounding them to milliseconds, goes back to sleep when a signal
//! wakes it, and returns only when the deadline has been reached. Where the mechanism underneath
//! returned earlier, [`Sleeper::early_returns`] counts it.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_rt::clock;
//! use kadenz_rt::sleep::{self, SleeperKind, SleeperOptions};
//!
//! let mut sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default()).unwrap();
//! let deadline = clock::now() + Duration::from_micros(300);
//! sleeper.sleep_until(deadline);
//! assert!(clock::now() >= deadline);
//! ```

use std::time::Duration;

use crate::clock::{MonotonicTime, now};

#[cfg(target_os = "linux")]
mod condvar;
#[cfg(not(target_os = "linux"))]
mod condvar_std;
mod kind;
#[cfg(target_os = "macos")]
mod mach_wait;
#[cfg(target_os = "linux")]
mod nanosleep;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod nanosleep_relative;
mod open;
#[cfg(target_os = "linux")]
mod poll;
#[cfg(target_os = "linux")]
mod posix_timer;
mod recommended;
mod spin;
mod std_sleep;
#[cfg(target_os = "linux")]
mod timerfd;
#[cfg(windows)]
mod waitable_timer;

pub use kind::{ParseSleeperKindError, SleeperKind};
pub use open::open;

/// A way to wait for a point in time.
///
/// Real-time safety: once made, a sleeper neither allocates nor logs, and takes no lock that
/// another thread can hold.
pub trait Sleeper: Send {
    /// Returns once `deadline` has been reached on the sleep clock; at once when it has passed.
    fn sleep_until(&mut self, deadline: MonotonicTime);

    /// Returns once `span` has passed.
    fn sleep_for(&mut self, span: Duration) {
        self.sleep_until(now() + span);
    }

    /// The word users write for this sleeper, as [`SleeperKind`] shows it.
    fn name(&self) -> &'static str;

    /// How often the mechanism returned before the deadline and was sent back to sleep.
    ///
    /// Signals count here too. Zero for mechanisms that cannot return early.
    fn early_returns(&self) -> u64;
}

/// What a sleeper may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SleeperOptions {
    /// How long before the deadline [`SleeperKind::Spin`] stops sleeping and starts spinning.
    pub spin_margin: Duration,
}

impl SleeperOptions {
    /// 50 us: above the wake-up latency of an idle machine, and a twentieth of a 1 ms cycle.
    pub const DEFAULT_SPIN_MARGIN: Duration = Duration::from_micros(50);
}

impl Default for SleeperOptions {
    fn default() -> Self {
        Self {
            spin_margin: Self::DEFAULT_SPIN_MARGIN,
        }
    }
}

/// Why a sleeper could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSleeperError {
    /// This operating system has no such mechanism.
    #[error("this operating system has no `{0}` sleeper; `{recommended}` is there", recommended = SleeperKind::recommended())]
    Unavailable(SleeperKind),
    /// The kernel refused to make what the sleeper needs.
    #[error("the kernel refused what the `{kind}` sleeper needs: {source}; `{recommended}` needs nothing", recommended = SleeperKind::recommended())]
    Refused {
        /// The sleeper asked for.
        kind: SleeperKind,
        /// What the kernel said.
        source: std::io::Error,
    },
}
