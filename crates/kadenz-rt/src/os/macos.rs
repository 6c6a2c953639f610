//! macOS: Mach's absolute time, the time-constraint scheduling class, and facts by name (`sysctlbyname(3)`).

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use libc::{c_int, kern_return_t, mach_port_t};

// Declared here because the `libc` crate lacks the first and has deprecated the others.
unsafe extern "C" {
    fn mach_wait_until(deadline: u64) -> kern_return_t;
    fn mach_absolute_time() -> u64;
    fn mach_timebase_info(info: *mut Timebase) -> kern_return_t;
}

/// Nanoseconds a tick, as a fraction.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Timebase {
    numerator: u32,
    denominator: u32,
}

fn timebase() -> Timebase {
    static TIMEBASE: OnceLock<Timebase> = OnceLock::new();
    *TIMEBASE.get_or_init(|| {
        let mut timebase = Timebase {
            numerator: 1,
            denominator: 1,
        };
        // SAFETY: `timebase` has the layout of `mach_timebase_info_data_t` and is live.
        unsafe { mach_timebase_info(&raw mut timebase) };
        timebase
    })
}

/// Ticks of Mach's clock in a number of nanoseconds, rounded up so that no wait ends early.
fn ticks_of_ns(ns: u64) -> u64 {
    let Timebase {
        numerator,
        denominator,
    } = timebase();
    let ticks = (u128::from(ns) * u128::from(denominator)).div_ceil(u128::from(numerator.max(1)));
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// Does the first-time work of later calls now.
pub(crate) fn prepare() {
    timebase();
}

/// Waits for a span. Returns false when something else ended the wait.
#[inline]
pub(crate) fn wait_for(span_ns: u64) -> bool {
    // SAFETY: neither call takes pointers.
    unsafe { mach_wait_until(mach_absolute_time().saturating_add(ticks_of_ns(span_ns))) == 0 }
}

/// Sleeps for a span. Returns false when a signal ended the sleep.
#[inline]
pub(crate) fn nanosleep_for(span_ns: u64) -> bool {
    let span = libc::timespec {
        tv_sec: (span_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (span_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `span` is a live, normalised timespec; the remainder may be null.
    unsafe { libc::nanosleep(&raw const span, ptr::null_mut()) == 0 }
}

/// A reservation of the time-constraint class, in nanoseconds. A period of zero means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeConstraint {
    pub(crate) period_ns: u64,
    pub(crate) computation_ns: u64,
    pub(crate) constraint_ns: u64,
}

/// Puts the calling thread into the time-constraint class.
pub(crate) fn set_time_constraint(constraint: TimeConstraint) -> Result<(), c_int> {
    let ticks = |ns| u32::try_from(ticks_of_ns(ns)).unwrap_or(u32::MAX);
    let mut policy = libc::thread_time_constraint_policy {
        period: ticks(constraint.period_ns),
        computation: ticks(constraint.computation_ns),
        constraint: ticks(constraint.constraint_ns),
        preemptible: 1,
    };
    // SAFETY: the policy is live and of the size that its count says.
    let outcome = unsafe {
        libc::thread_policy_set(
            this_thread(),
            libc::THREAD_TIME_CONSTRAINT_POLICY as libc::thread_policy_flavor_t,
            (&raw mut policy).cast(),
            libc::THREAD_TIME_CONSTRAINT_POLICY_COUNT,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(outcome) }
}

/// Whether the calling thread is in the time-constraint class.
pub(crate) fn has_time_constraint() -> bool {
    let mut policy = MaybeUninit::<libc::thread_time_constraint_policy>::zeroed();
    let mut count = libc::THREAD_TIME_CONSTRAINT_POLICY_COUNT;
    let mut is_default: libc::boolean_t = 0;
    // SAFETY: the policy, its count and the flag are live; the kernel writes no more than `count`
    // says.
    let outcome = unsafe {
        libc::thread_policy_get(
            this_thread(),
            libc::THREAD_TIME_CONSTRAINT_POLICY as libc::thread_policy_flavor_t,
            policy.as_mut_ptr().cast(),
            &raw mut count,
            &raw mut is_default,
        )
    };
    outcome == 0 && is_default == 0
}

/// Puts the calling thread back into the ordinary class.
pub(crate) fn set_standard() {
    let mut none: libc::thread_standard_policy = libc::thread_standard_policy { no_data: 0 };
    // SAFETY: the standard policy holds no data, hence a count of zero.
    unsafe {
        libc::thread_policy_set(
            this_thread(),
            libc::THREAD_STANDARD_POLICY as libc::thread_policy_flavor_t,
            (&raw mut none).cast(),
            0,
        );
    }
}

fn this_thread() -> mach_port_t {
    // SAFETY: the calling thread exists; unlike `mach_thread_self` this takes no reference.
    unsafe { libc::pthread_mach_thread_np(libc::pthread_self()) }
}

/// The text behind a name, for example `kern.osrelease`; `None` when there is none.
pub(crate) fn sysctl_text(name: &str) -> Option<String> {
    let bytes = sysctl(name)?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_end_matches('\0').to_owned())
}

/// The number behind a name, for example `hw.memsize`; `None` when there is none.
pub(crate) fn sysctl_number(name: &str) -> Option<u64> {
    let bytes = sysctl(name)?;
    match bytes.len() {
        4 => Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?))),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

fn sysctl(name: &str) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    let mut bytes = vec![0_u8; 1024];
    let mut length = bytes.len();
    let none = std::ptr::null_mut();
    // SAFETY: the name ends with a zero; `length` says how many bytes may be written behind the
    // pointer, and both live through the call; nothing is set, so the last two are null and 0.
    let result = unsafe {
        libc::sysctlbyname(
            name.as_ptr(),
            bytes.as_mut_ptr().cast(),
            &raw mut length,
            none,
            0,
        )
    };
    bytes.truncate(length);
    (result == 0).then_some(bytes)
}
