//! The processor's time stamp counter.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod x86_64;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) use x86_64::Tsc;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) use absent::Tsc;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod absent {
    use super::super::{Clock, MonotonicTime};

    /// Stands where no TSC can be had; it cannot be made.
    pub(in super::super) enum Tsc {}

    impl Tsc {
        pub(in super::super) fn calibrate() -> Result<Self, String> {
            Err("the time stamp counter is supported on Linux on x86-64 only".to_owned())
        }
    }

    impl Clock for Tsc {
        fn now(&self) -> MonotonicTime {
            match *self {}
        }

        fn name(&self) -> &'static str {
            match *self {}
        }
    }
}
