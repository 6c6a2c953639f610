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

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::clock::{MonotonicTime, now};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod portable;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux::make;
#[cfg(target_os = "macos")]
use macos::make;
#[cfg(windows)]
use windows::make;

/// A way to wait for a point in time.
///
/// # Real-time safety
/// Once made, a sleeper neither allocates nor logs, and takes no lock that another thread can hold.
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

/// Options of a sleeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SleeperOptions {
    /// How long before the deadline [`SleeperKind::Spin`] stops sleeping and starts spinning.
    pub spin_margin: Duration,
}

impl SleeperOptions {
    /// 50 us: above the wake-up latency of an idle machine, and a twentieth of a 1 ms cycle.
    pub(crate) const DEFAULT_SPIN_MARGIN: Duration = Duration::from_micros(50);
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
        /// The sleeper that was requested.
        kind: SleeperKind,
        /// The kernel's error.
        source: std::io::Error,
    },
}

/// Makes a sleeper. All that it will ever allocate is allocated here.
///
/// # Errors
/// Where this operating system has no such mechanism, or refuses one more timer or descriptor.
///
/// # Real-time safety
/// Not real-time safe: it allocates, and may ask the system for a timer.
pub fn open(
    kind: SleeperKind,
    options: SleeperOptions,
) -> Result<Box<dyn Sleeper>, OpenSleeperError> {
    if !kind.is_available() {
        return Err(OpenSleeperError::Unavailable(kind));
    }
    make(kind, options).map_err(|source| OpenSleeperError::Refused { kind, source })
}

/// A system with only the sleepers of the standard library.
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "as on other systems, where it can fail"
)]
fn make(kind: SleeperKind, options: SleeperOptions) -> std::io::Result<Box<dyn Sleeper>> {
    use portable::{Condvar, Spin, StdSleep};
    Ok(match kind {
        SleeperKind::Condvar => boxed(Condvar::new()),
        SleeperKind::Spin => Box::new(Spin::new(Waiter::new(StdSleep), options.spin_margin)),
        _ => boxed(StdSleep),
    })
}

/// The system's way to wait. A [`Waiter`] makes a sleeper of it.
trait WaitPrimitive: Send {
    const KIND: SleeperKind;

    /// Prepares to wait; returns false where there is nothing to wait for, or the wait is already over.
    #[inline]
    fn begin(&mut self, _deadline: MonotonicTime) -> bool {
        true
    }

    /// Waits once. Returns false when the wait ended before the deadline.
    fn wait(&mut self, deadline: MonotonicTime) -> bool;
}

/// Waits once, with `wait`, for the nanoseconds until the deadline; not at all when it has passed. Returns false
/// when the wait ended before the deadline, by the clock and not by what `wait` returns.
#[inline]
fn wait_for_rest<T>(deadline: MonotonicTime, wait: impl FnOnce(u64) -> T) -> bool {
    let time = now();
    if time >= deadline {
        return true;
    }
    let _ = wait(deadline.as_ns() - time.as_ns());
    now() >= deadline
}

/// Waits until the deadline has passed, and counts the early returns.
struct Waiter<W> {
    wait: W,
    early_returns: u64,
}

impl<W: WaitPrimitive> Waiter<W> {
    fn new(wait: W) -> Self {
        Self {
            wait,
            early_returns: 0,
        }
    }
}

fn boxed<W: WaitPrimitive + 'static>(wait: W) -> Box<dyn Sleeper> {
    Box::new(Waiter::new(wait))
}

impl<W: WaitPrimitive> Sleeper for Waiter<W> {
    #[inline]
    fn sleep_until(&mut self, deadline: MonotonicTime) {
        if self.wait.begin(deadline) {
            while !self.wait.wait(deadline) {
                self.early_returns += 1;
            }
        }
    }

    fn name(&self) -> &'static str {
        W::KIND.as_str()
    }

    fn early_returns(&self) -> u64 {
        self.early_returns
    }
}

/// The sleepers of Kadenz. Not every operating system has every one; see [`Self::available`].
///
/// # Real-time safety
/// Real-time safe, except for [`SleeperKind::available`], and parsing, whose error allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SleeperKind {
    /// `clock_nanosleep` with an absolute deadline. Linux.
    Nanosleep,
    /// `nanosleep` with the span that remains. Linux and macOS.
    NanosleepRelative,
    /// A timer read through a file descriptor. Linux.
    Timerfd,
    /// `timer_create` with a signal to the waiting thread. Linux.
    PosixTimer,
    /// [`std::thread::sleep`]. Everywhere.
    Std,
    /// A condition variable's timed wait. Everywhere.
    Condvar,
    /// `ppoll` on no descriptors, its timeout in nanoseconds. Linux.
    Poll,
    /// The recommended sleeper until a margin before the deadline, then a spin. Everywhere.
    Spin,
    /// A high-resolution waitable timer. Windows.
    WaitableTimer,
    /// `mach_wait_until`. macOS.
    MachWait,
}

impl SleeperKind {
    /// Every kind, in the order help texts show them.
    pub const ALL: [Self; 10] = [
        Self::Nanosleep,
        Self::NanosleepRelative,
        Self::Timerfd,
        Self::PosixTimer,
        Self::Std,
        Self::Condvar,
        Self::Poll,
        Self::Spin,
        Self::WaitableTimer,
        Self::MachWait,
    ];

    /// The sleeper to use by default.
    ///
    /// Linux: the absolute `clock_nanosleep`, one system call a cycle, where a delay between
    /// reading the clock and falling asleep cannot shift the wake-up. macOS: `mach_wait_until`,
    /// absolute as well. Windows: the high-resolution waitable timer. Elsewhere: the standard
    /// library.
    #[must_use]
    pub const fn recommended() -> Self {
        if cfg!(target_os = "linux") {
            Self::Nanosleep
        } else if cfg!(target_os = "macos") {
            Self::MachWait
        } else if cfg!(windows) {
            Self::WaitableTimer
        } else {
            Self::Std
        }
    }

    /// The kinds that exist on this operating system, in the order of [`Self::ALL`].
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|kind| kind.is_available())
            .collect()
    }

    /// Whether this kind exists on this operating system.
    #[must_use]
    pub const fn is_available(self) -> bool {
        match self {
            Self::Std | Self::Condvar | Self::Spin => true,
            Self::NanosleepRelative => cfg!(any(target_os = "linux", target_os = "macos")),
            Self::Nanosleep | Self::Timerfd | Self::PosixTimer | Self::Poll => {
                cfg!(target_os = "linux")
            }
            Self::WaitableTimer => cfg!(windows),
            Self::MachWait => cfg!(target_os = "macos"),
        }
    }

    /// The word users write.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nanosleep => "nanosleep",
            Self::NanosleepRelative => "nanosleep-relative",
            Self::Timerfd => "timerfd",
            Self::PosixTimer => "posix-timer",
            Self::Std => "std",
            Self::Condvar => "condvar",
            Self::Poll => "poll",
            Self::Spin => "spin",
            Self::WaitableTimer => "waitable-timer",
            Self::MachWait => "mach-wait",
        }
    }
}

impl fmt::Display for SleeperKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no sleeper.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a valid sleeper; write one of {}", words())]
pub struct ParseSleeperKindError {
    word: String,
}

fn words() -> String {
    SleeperKind::ALL.map(SleeperKind::as_str).join(", ")
}

impl FromStr for SleeperKind {
    type Err = ParseSleeperKindError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| ParseSleeperKindError {
            word: word.to_owned(),
        })
    }
}
