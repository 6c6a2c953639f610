use super::SleeperKind;

impl SleeperKind {
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
}
