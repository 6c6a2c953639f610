//! Reading clocks.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::time::Duration;

use libc::{clockid_t, timespec};

/// The sleep clock's name as runs record it.
pub(crate) const MONOTONIC_NAME: &str = "CLOCK_MONOTONIC";

const NS_A_SECOND: u64 = 1_000_000_000;

/// Nanoseconds on `CLOCK_MONOTONIC`.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds on `CLOCK_MONOTONIC_RAW`.
#[inline]
pub(crate) fn monotonic_raw_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// Processor time this thread has used, in nanoseconds.
#[inline]
pub(crate) fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Resolution of `CLOCK_MONOTONIC`.
pub(crate) fn monotonic_resolution() -> Option<Duration> {
    resolution(libc::CLOCK_MONOTONIC)
}

/// The kernel's tick, which its coarse timers count.
pub(crate) fn tick() -> Option<Duration> {
    resolution(libc::CLOCK_MONOTONIC_COARSE)
}

fn resolution(clock: clockid_t) -> Option<Duration> {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a live timespec for the call to write to.
    let result = unsafe { libc::clock_getres(clock, &raw mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[inline]
fn read(clock: clockid_t) -> u64 {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a live timespec for the call to write to. The three clocks above exist on
    // every Linux that Rust supports, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * NS_A_SECOND + time.tv_nsec as u64
}

/// A number of nanoseconds as a `timespec`.
#[inline]
pub(crate) fn timespec_of_ns(ns: u64) -> timespec {
    // Both parts fit: u64::MAX ns are 18 billion seconds, and the rest is below a billion.
    timespec {
        tv_sec: (ns / NS_A_SECOND) as libc::time_t,
        tv_nsec: (ns % NS_A_SECOND) as libc::c_long,
    }
}

/// The kernel's state of the wall clock's discipline: `adjtimex(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Discipline {
    /// `STA_*` of `timex.h`.
    pub(crate) status: i32,
    /// `TIME_*` of `timex.h`, the call's return value.
    pub(crate) state: i32,
    /// Largest error in microseconds, as set by the daemon that disciplines the clock; the kernel adds 500 a second
    /// (`ntp.c`, `MAXFREQ`).
    pub(crate) max_error_us: i64,
}

/// Reads without changing anything; returns `None` where that is forbidden, as in some sandboxes.
pub(crate) fn discipline() -> Option<Discipline> {
    let mut timex = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: zeroed integers are a `timex` that asks for no change (`modes` 0); it lives while the
    // call writes to it.
    let state = unsafe { libc::adjtimex(timex.as_mut_ptr()) };
    if state < 0 {
        return None;
    }
    // SAFETY: it was all zeros, which is a valid value, before the kernel wrote its own.
    let timex = unsafe { timex.assume_init() };
    Some(Discipline {
        status: timex.status,
        state,
        max_error_us: timex.maxerror,
    })
}

// The clocks of network cards, `/dev/ptpN`. Layouts: `ptp_clock.h` of the kernel's user interface.

/// Readings requested at once; the tightest counts.
const READINGS: usize = 5;

/// A clock that can be read.
#[derive(Debug)]
pub(crate) struct Device {
    file: File,
    method: Method,
}

/// How the clock is read beside the system's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// The hardware reads both at one moment.
    Precise,
    /// The card's clock is read between two readings of the system's.
    Sandwich,
}

/// Both clocks at one moment, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) device_ns: i64,
    /// `CLOCK_REALTIME`.
    pub(crate) system_ns: i64,
    /// Span between the two readings of the system's clock.
    pub(crate) width_ns: u64,
}

impl Device {
    /// Opens a clock and finds out how it can be read.
    pub(crate) fn open(path: &str) -> io::Result<Self> {
        let file = File::open(path)?;
        if precise(&file).is_ok() {
            return Ok(Self {
                file,
                method: Method::Precise,
            });
        }
        sandwich(&file)?;
        Ok(Self {
            file,
            method: Method::Sandwich,
        })
    }

    /// Reads both clocks; `None` when the driver no longer answers.
    pub(crate) fn pair(&self) -> Option<Reading> {
        match self.method {
            Method::Precise => precise(&self.file),
            Method::Sandwich => sandwich(&self.file),
        }
        .ok()
    }
}

fn precise(file: &File) -> io::Result<Reading> {
    let mut answer = MaybeUninit::<libc::ptp_sys_offset_precise>::zeroed();
    // SAFETY: the command writes a structure of this type, which is live, zeroed and may hold any
    // numbers.
    let answer = unsafe {
        ask(
            file,
            libc::PTP_SYS_OFFSET_PRECISE,
            answer.as_mut_ptr().cast(),
        )?;
        answer.assume_init()
    };
    Ok(Reading {
        device_ns: ns(&answer.device),
        system_ns: ns(&answer.sys_realtime),
        width_ns: 0,
    })
}

fn sandwich(file: &File) -> io::Result<Reading> {
    let mut answer = MaybeUninit::<libc::ptp_sys_offset_extended>::zeroed();
    // SAFETY: the command reads the number of readings from a structure of this type, which is live
    // and zeroed, and writes as many, fewer than fit; it may hold any numbers.
    let answer = unsafe {
        (*answer.as_mut_ptr()).n_samples = READINGS as libc::c_uint;
        ask(
            file,
            libc::PTP_SYS_OFFSET_EXTENDED,
            answer.as_mut_ptr().cast(),
        )?;
        answer.assume_init()
    };
    tightest(&answer.ts[..READINGS]).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Each reading holds the system's clock, the device's and the system's again; returns the one with the least time
/// between the first and the last.
fn tightest(readings: &[[libc::ptp_clock_time; 3]]) -> Option<Reading> {
    let readings = readings.iter().map(|[before, device, after]| {
        let (before, after) = (ns(before), ns(after));
        let width_ns = before.abs_diff(after);
        Reading {
            device_ns: ns(device),
            system_ns: before.saturating_add_unsigned(width_ns / 2),
            width_ns,
        }
    });
    readings.min_by_key(|reading| reading.width_ns)
}

/// # Safety
/// `data` must lead to a live structure of the command's type.
unsafe fn ask(file: &File, command: libc::Ioctl, data: *mut libc::c_void) -> io::Result<()> {
    // SAFETY: the descriptor is open; for the pointer the caller answers.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), command, data) };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn ns(time: &libc::ptp_clock_time) -> i64 {
    time.sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.nsec.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(sec: i64, nsec: u32) -> libc::ptp_clock_time {
        libc::ptp_clock_time {
            sec,
            nsec,
            reserved: 0,
        }
    }

    #[test]
    fn the_tightest_reading_counts_and_states_its_width() {
        let readings = [
            [time(100, 0), time(7, 5), time(100, 9_000)],
            [time(100, 999_999_900), time(8, 6), time(101, 1_000)],
            [time(102, 0), time(9, 7), time(102, 4_000)],
        ];
        let expected = Reading {
            device_ns: 8_000_000_006,
            system_ns: 101_000_000_450,
            width_ns: 1_100,
        };
        assert_eq!(tightest(&readings), Some(expected));
        assert_eq!(tightest(&[]), None);
    }
}
