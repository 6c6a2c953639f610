//! Scheduling of the calling thread.

use std::mem::MaybeUninit;

use super::errno;

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

/// What the kernel holds of the calling thread.
pub(crate) fn scheduling() -> Result<SchedAttr, i32> {
    let mut attr = SchedAttr::default();
    // SAFETY: thread 0 is the caller; the kernel writes at most the size it is told, which is that
    // of the live `attr`.
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
    let thread = libc::pid_t::try_from(thread).map_err(|_| libc::ESRCH)?;
    let mut mask: CpuMask = [0; MAX_CPUS / 64];
    // SAFETY: a thread that does not exist is refused; `mask` has the size that is given, and
    // `cpu_set_t` is but an array of bits of that size.
    let outcome =
        unsafe { libc::sched_getaffinity(thread, size_of::<CpuMask>(), (&raw mut mask).cast()) };
    if outcome == 0 { Ok(mask) } else { Err(errno()) }
}

/// Sets the CPUs a thread may run on; thread 0 is the caller.
pub(crate) fn set_affinity_of(thread: u32, mask: &CpuMask) -> Result<(), i32> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| libc::ESRCH)?;
    // SAFETY: a thread that does not exist is refused; `mask` is live and has the size that is
    // given.
    let outcome = unsafe {
        libc::sched_setaffinity(
            thread,
            size_of::<CpuMask>(),
            std::ptr::from_ref(mask).cast(),
        )
    };
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

/// The number of the calling thread.
pub(crate) fn this_thread() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    let thread = unsafe { libc::gettid() };
    thread.unsigned_abs()
}

/// By how much the kernel may delay the calling thread's timers, in nanoseconds.
pub(crate) fn timer_slack_ns() -> u64 {
    // SAFETY: this request takes no pointers.
    let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    u64::try_from(slack).unwrap_or(0)
}

/// Sets the calling thread's timer slack; zero asks for the thread's default.
pub(crate) fn set_timer_slack_ns(slack_ns: u64) -> Result<(), i32> {
    let slack = libc::c_ulong::try_from(slack_ns).unwrap_or(libc::c_ulong::MAX);
    // SAFETY: this request takes a number and no pointers.
    let outcome = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

/// The calling thread's nice value, -20 (most of the processor) to 19.
pub(crate) fn nice() -> i32 {
    // The system call itself counts from 40 down to 1, so that no value looks like an error.
    // SAFETY: process 0 is the caller; the call takes numbers and no pointers.
    let outcome = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) };
    20 - i32::try_from(outcome).unwrap_or(20)
}

/// Sets the calling thread's nice value.
pub(crate) fn set_nice(nice: i32) -> Result<(), i32> {
    // SAFETY: process 0 is the caller; the call takes numbers and no pointers.
    let outcome = unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, nice) };
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

/// A limit of this process that is in force; `None` when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Highest real-time priority.
    RealTimePriority,
    /// Bytes that may be locked.
    LockedMemory,
}

/// Reads the soft limit; `None` for unlimited.
pub(crate) fn limit(which: Limit) -> Option<u64> {
    let resource = match which {
        Limit::RealTimePriority => libc::RLIMIT_RTPRIO,
        Limit::LockedMemory => libc::RLIMIT_MEMLOCK,
    };
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: `limit` is there to be written, and zeroed memory is a valid value should the call
    // fail.
    let limit = unsafe {
        libc::getrlimit(resource, limit.as_mut_ptr());
        limit.assume_init()
    };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// The soft limit of locked memory of a process of this user, in bytes; `None` for unlimited.
pub(crate) fn memory_lock_limit_of(pid: u32) -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    let pid = libc::pid_t::try_from(pid).unwrap_or(0);
    // SAFETY: `limit` is there to be written, no new limit is given, and zeroed memory is a valid
    // value should the call fail: then nothing may be locked.
    let limit = unsafe {
        let none = std::ptr::null();
        libc::prlimit(pid, libc::RLIMIT_MEMLOCK, none, limit.as_mut_ptr());
        limit.assume_init()
    };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
