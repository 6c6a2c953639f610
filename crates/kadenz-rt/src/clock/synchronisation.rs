//! Whether somebody keeps the wall clock true.

/// What the system says of its wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Synchronisation {
    /// Somebody keeps it: a PTP or NTP daemon.
    Kept {
        /// How far it may be from true time, in nanoseconds, as that daemon set it, and 500 us more for
        /// each second since. linuxptp's `phc2sys` sets it to 0 at each update: then it is a
        /// saw-tooth, and only says that the clock is kept.
        within_ns: u64,
    },
    /// Nobody does: it runs as its quartz does.
    Free,
    /// The system does not say.
    Unknown,
}

/// What the system says of its wall clock now: `adjtimex(2)` on Linux, nothing elsewhere.
///
/// One system call that changes nothing and needs no right. Real-time safe: no allocation, no lock.
///
/// ```
/// use kadenz_rt::clock::{self, Synchronisation};
///
/// match clock::synchronisation() {
///     Synchronisation::Kept { within_ns } => println!("true within {within_ns} ns"),
///     Synchronisation::Free => println!("nobody keeps it; see `chronyc tracking` or ptp4l's log"),
///     Synchronisation::Unknown => println!("the system does not say"),
/// }
/// ```
#[must_use]
pub fn synchronisation() -> Synchronisation {
    #[cfg(target_os = "linux")]
    {
        use crate::os::linux::clock;
        clock::discipline().map_or(Synchronisation::Unknown, |it| {
            of(it.status, it.state, it.max_error_us)
        })
    }
    #[cfg(not(target_os = "linux"))]
    Synchronisation::Unknown
}

/// `STA_UNSYNC` of Linux's `timex.h`.
#[cfg(any(target_os = "linux", test))]
const UNSYNC: i32 = 0x0040;
/// `TIME_ERROR` of Linux's `timex.h`.
#[cfg(any(target_os = "linux", test))]
const ERROR: i32 = 5;

#[cfg(any(target_os = "linux", test))]
fn of(status: i32, state: i32, max_error_us: i64) -> Synchronisation {
    if status & UNSYNC != 0 || state == ERROR {
        return Synchronisation::Free;
    }
    let within_us = u64::try_from(max_error_us).unwrap_or(0);
    Synchronisation::Kept {
        within_ns: within_us.saturating_mul(1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_kept_unless_the_kernel_says_it_is_not() {
        let kept = |within_ns| Synchronisation::Kept { within_ns };
        assert_eq!(of(0, 0, 120), kept(120_000));
        // STA_PLL and STA_NANO, and a leap second to come.
        assert_eq!(of(0x2001, 1, 0), kept(0));
        assert_eq!(of(0x2041, 5, 16_000_000), Synchronisation::Free);
        assert_eq!(of(0x0040, 0, 1), Synchronisation::Free);
        assert_eq!(of(0, 5, 1), Synchronisation::Free);
        assert_eq!(of(0, 0, i64::MAX), kept(u64::MAX));
    }

    #[test]
    fn this_system_answers() {
        let told = synchronisation();
        assert!(cfg!(target_os = "linux") || told == Synchronisation::Unknown);
    }
}
