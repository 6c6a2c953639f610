//! The operating system's own clocks.

use super::{Clock, MonotonicTime, OpenClockError};

/// The sleep clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> MonotonicTime {
        super::now()
    }

    fn name(&self) -> &'static str {
        crate::os::MONOTONIC_NAME
    }

    fn to_sleep_clock(&self, deadline: MonotonicTime) -> MonotonicTime {
        deadline
    }
}

#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
struct MonotonicRaw;

#[cfg(target_os = "linux")]
impl Clock for MonotonicRaw {
    #[inline]
    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(crate::os::monotonic_raw_ns())
    }

    fn name(&self) -> &'static str {
        "CLOCK_MONOTONIC_RAW"
    }
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::unnecessary_wraps,
    reason = "fails on the other operating systems"
)]
pub(super) fn open_raw() -> Result<Box<dyn Clock>, OpenClockError> {
    Ok(Box::new(MonotonicRaw))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_raw() -> Result<Box<dyn Clock>, OpenClockError> {
    Err(OpenClockError::Unavailable {
        clock: super::ClockKind::MonotonicRaw,
        reason: "only Linux has CLOCK_MONOTONIC_RAW".to_owned(),
    })
}
