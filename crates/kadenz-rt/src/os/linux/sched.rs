//! Scheduling of the calling thread.

use std::mem::MaybeUninit;
use std::num::NonZeroU64;

use rustix::process::{
    Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit,
};
use rustix::thread::{
    CpuSet, Pid, current_timer_slack, gettid, sched_getaffinity, sched_setaffinity,
    set_current_timer_slack,
};

use super::{errno, number};

/// `SCHED_FLAG_RESET_ON_FORK`: threads and processes this thread starts are ordinary ones.
pub(crate) const RESET_ON_FORK: u64 = 0x01;
/// `SCHED_DEADLINE`'s number.
pub(crate) const SCHED_DEADLINE: u32 = 6;
/// CPUs that fit into a mask.
pub(crate) const MAX_CPUS: usize = 1024;

/// `struct sched_attr` in its first version (see `sched_setattr(2)`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SchedAttr {
    pub(crate) size: u32,
    pub(crate) policy: u32,
    pub(crate) flags: u64,
    pub(crate) nice: i32,
    pub(crate) priority: u32,
    pub(crate) runtime_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) period_ns: u64,
}

const ATTR_SIZE: u32 = size_of::<SchedAttr>() as u32;

/// The kernel's scheduling attributes of the calling thread.
pub(crate) fn scheduling() -> Result<SchedAttr, i32> {
    let mut attr = SchedAttr::default();
    // SAFETY: thread 0 is the caller; the kernel writes at most the given size, which is that of the live `attr`.
    let outcome = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, ATTR_SIZE, 0) };
    if outcome == 0 { Ok(attr) } else { Err(errno()) }
}

/// Changes the scheduling of the calling thread; the error is the kernel's number.
pub(crate) fn set_scheduling(attr: &SchedAttr) -> Result<(), i32> {
    let attr = SchedAttr {
        size: ATTR_SIZE,
        ..*attr
    };
    // SAFETY: thread 0 is the caller; the kernel reads as many bytes of the live `attr` as its
    // `size` says.
    let outcome = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

/// A bit for each CPU.
pub(crate) type CpuMask = [u64; MAX_CPUS / 64];

/// The CPUs the calling thread may run on.
pub(crate) fn affinity() -> Result<CpuMask, i32> {
    affinity_of(0)
}

/// Sets the CPUs the calling thread may run on.
pub(crate) fn set_affinity(mask: &CpuMask) -> Result<(), i32> {
    set_affinity_of(0, mask)
}

/// The CPUs a thread may run on; thread 0 is the caller.
pub(crate) fn affinity_of(thread: u32) -> Result<CpuMask, i32> {
    let set = number(sched_getaffinity(pid(thread)?))?;
    let mut mask: CpuMask = [0; MAX_CPUS / 64];
    for cpu in (0..MAX_CPUS).filter(|cpu| set.is_set(*cpu)) {
        mask[cpu / 64] |= 1 << (cpu % 64);
    }
    Ok(mask)
}

/// Sets the CPUs a thread may run on; thread 0 is the caller.
pub(crate) fn set_affinity_of(thread: u32, mask: &CpuMask) -> Result<(), i32> {
    let mut set = CpuSet::new();
    for cpu in (0..MAX_CPUS).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1) {
        set.set(cpu);
    }
    number(sched_setaffinity(pid(thread)?, &set))
}

/// A thread's number as the calls take it: `None` is the caller.
fn pid(thread: u32) -> Result<Option<Pid>, i32> {
    Ok(Pid::from_raw(thread.try_into().map_err(|_| libc::ESRCH)?))
}

/// The number of the calling thread.
pub(crate) fn this_thread() -> u32 {
    gettid().as_raw_nonzero().get().unsigned_abs()
}

/// By how much the kernel may delay the calling thread's timers, in nanoseconds.
pub(crate) fn timer_slack_ns() -> u64 {
    current_timer_slack().unwrap_or(0)
}

/// Sets the calling thread's timer slack; zero means the thread's default.
pub(crate) fn set_timer_slack_ns(slack_ns: u64) -> Result<(), i32> {
    number(set_current_timer_slack(NonZeroU64::new(slack_ns)))
}

/// The calling thread's nice value, -20 (most of the processor) to 19.
pub(crate) fn nice() -> i32 {
    getpriority_process(None).unwrap_or(0)
}

/// Sets the calling thread's nice value.
pub(crate) fn set_nice(nice: i32) -> Result<(), i32> {
    number(setpriority_process(None, nice))
}

/// A resource whose use by this process the kernel limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitedResource {
    /// Highest real-time priority.
    RealTimePriority,
    /// Bytes that may be locked.
    LockedMemory,
}

/// Reads the soft limit; `None` for unlimited.
pub(crate) fn limit(which: LimitedResource) -> Option<u64> {
    let resource = match which {
        LimitedResource::RealTimePriority => Resource::Rtprio,
        LimitedResource::LockedMemory => Resource::Memlock,
    };
    getrlimit(resource).current
}

/// Raises the soft limit to the hard one, and returns that; `None` for unlimited.
pub(crate) fn raise_limit(resource: Resource) -> Result<Option<u64>, i32> {
    let maximum = getrlimit(resource).maximum;
    let current = maximum;
    number(setrlimit(resource, Rlimit { current, maximum })).map(|()| maximum)
}

/// The soft limit of locked memory of a process of this user, in bytes; `None` for unlimited.
pub(crate) fn memory_lock_limit_of(pid: u32) -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    let pid = libc::pid_t::try_from(pid).unwrap_or(0);
    // SAFETY: `limit` is there to be written, no new limit is given, and zeroed memory is a valid value if the call
    // fails: then nothing may be locked.
    let limit = unsafe {
        let none = std::ptr::null();
        libc::prlimit(pid, libc::RLIMIT_MEMLOCK, none, limit.as_mut_ptr());
        limit.assume_init()
    };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
