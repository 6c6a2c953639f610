use std::fmt;
use std::str::FromStr;

/// The sleepers Kadenz knows. Not every operating system has every one; see [`Self::available`].
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

    /// The sleeper to take when nothing speaks for another.
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
#[error("`{word}` is no sleeper; write one of {}", words())]
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
