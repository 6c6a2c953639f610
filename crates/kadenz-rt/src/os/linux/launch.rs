//! The steps that a started program's process takes between `fork` and `exec`.
//!
//! Another thread may have held the allocator's lock when this process was copied, so nothing here
//! allocates: only system calls, and memory that was prepared before.

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::number;
use super::sched::{
    CpuMask, SchedAttr, affinity, nice, raise_limit, scheduling, set_affinity, set_nice,
    set_scheduling, set_timer_slack_ns, timer_slack_ns,
};
use super::signals::{Mask, set_mask};

/// The settings that the process applies to itself. A setting of `None` stays as it is.
#[derive(Debug, Default)]
pub(crate) struct ChildSettings {
    /// A cgroup's list of processes or tasks to write itself into.
    pub(crate) enter: Option<CString>,
    pub(crate) cpus: Option<CpuMask>,
    pub(crate) nice: Option<i32>,
    pub(crate) scheduling: Option<SchedAttr>,
    pub(crate) timer_slack_ns: Option<u64>,
    /// Raise the limit of locked memory as far as the process may.
    pub(crate) raise_memory_lock_limit: bool,
    /// Stop at the first instruction of the program, so that the parent can act on it.
    pub(crate) stop_at_exec: bool,
    /// Start the program only if every step succeeded.
    pub(crate) all_or_nothing: bool,
    /// The signal mask that the program starts with.
    pub(crate) mask: Mask,
}

/// The step was not requested.
const NOT_ASKED: i32 = -1;

/// The result of one step: the kernel's error number, 0 for success, [`NOT_ASKED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct StepErrno(i32);

impl StepErrno {
    fn of(outcome: Option<Result<(), i32>>) -> Self {
        Self(match outcome {
            None => NOT_ASKED,
            Some(Ok(())) => 0,
            Some(Err(errno)) => errno,
        })
    }

    /// The outcome; a step that was not requested counts as success.
    pub(crate) fn outcome(self) -> Result<(), i32> {
        if self.0 > 0 { Err(self.0) } else { Ok(()) }
    }
}

/// The results of the steps, and the settings of the process right before it becomes the program. All of them
/// survive execve(2).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct LaunchReport {
    pub(crate) enter: StepErrno,
    pub(crate) affinity: StepErrno,
    pub(crate) nice: StepErrno,
    pub(crate) policy: StepErrno,
    pub(crate) timer_slack: StepErrno,
    pub(crate) trace: StepErrno,
    pub(crate) cpus_in_force: CpuMask,
    pub(crate) scheduling_in_force: SchedAttr,
    pub(crate) timer_slack_in_force_ns: u64,
    pub(crate) nice_in_force: i32,
    _padding: i32,
}

impl LaunchReport {
    /// Reads what [`prepare`]'s process has written; returns `None` when the process ended before it wrote.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == size_of::<Self>())
            // SAFETY: there are as many bytes as the structure has, which holds only integers: any bytes are a
            // value of it; they need not be aligned.
            .then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    fn anything_refused(&self, orders: &ChildSettings) -> bool {
        let steps = [
            self.enter,
            self.affinity,
            self.nice,
            self.policy,
            self.timer_slack,
            self.trace,
        ];
        let narrower = orders
            .cpus
            .is_some_and(|wanted| wanted != self.cpus_in_force);
        let slacker = orders
            .timer_slack_ns
            .is_some_and(|wanted| wanted < self.timer_slack_in_force_ns);
        narrower || slacker || steps.iter().any(|step| step.outcome().is_err())
    }
}

/// Makes the process of `command` carry out `orders` and write its [`LaunchReport`] to `report`, a pipe that must
/// stay open until the command was started. The command may be started once.
pub(crate) fn prepare(command: &mut Command, orders: ChildSettings, report: RawFd) {
    let steps = move || {
        let found = carry_out(&orders);
        // SAFETY: the report is live and its size is given. It fits into the pipe at once, so the
        // call neither blocks nor splits it; the descriptor is the writing end of a pipe.
        unsafe { libc::write(report, (&raw const found).cast(), size_of::<LaunchReport>()) };
        if orders.all_or_nothing && found.anything_refused(&orders) {
            return Err(io::Error::from_raw_os_error(libc::ECANCELED));
        }
        Ok(())
    };
    // SAFETY: the steps are system calls on memory that was prepared before: they neither allocate
    // nor take a lock that another thread could have held when the process was copied.
    unsafe { command.pre_exec(steps) };
}

fn carry_out(orders: &ChildSettings) -> LaunchReport {
    let enter = StepErrno::of(orders.enter.as_deref().map(enter));
    // After the cgroup, which may allow other CPUs; before the policy, as a SCHED_DEADLINE thread
    // may not change it any more.
    let affinity_step = StepErrno::of(orders.cpus.as_ref().map(set_affinity));
    let nice_step = StepErrno::of(orders.nice.map(set_nice));
    if orders.raise_memory_lock_limit {
        raise_memory_lock_limit();
    }
    let policy = StepErrno::of(orders.scheduling.map(|wanted| set_policy(&wanted)));
    // After the policy: the kernel sets the slack to zero for a real-time one.
    let timer_slack = StepErrno::of(orders.timer_slack_ns.map(set_timer_slack_ns));
    let trace = StepErrno::of(orders.stop_at_exec.then(super::trace::ask_to_be_traced));
    if trace != StepErrno(0) {
        let _ = set_mask(&orders.mask);
    }
    LaunchReport {
        enter,
        affinity: affinity_step,
        nice: nice_step,
        policy,
        timer_slack,
        trace,
        cpus_in_force: affinity().unwrap_or_default(),
        scheduling_in_force: scheduling().unwrap_or_default(),
        timer_slack_in_force_ns: timer_slack_ns(),
        nice_in_force: nice(),
        _padding: 0,
    }
}

/// Sets the policy. An ordinary policy keeps the nice value, which may just have been set.
fn set_policy(wanted: &SchedAttr) -> Result<(), i32> {
    let nice = nice();
    set_scheduling(&SchedAttr { nice, ..*wanted })
}

/// Writes the calling process (or thread, into a list of tasks) into a cgroup.
pub(crate) fn enter(list: &std::ffi::CStr) -> Result<(), i32> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = number(rustix::fs::open(list, flags, Mode::empty()))?;
    // Zero stands for the writing process or thread (cgroups(7)).
    number(rustix::io::write(file, b"0"))?;
    Ok(())
}

/// Removes the limit where that is allowed, else raises it to the hard limit.
fn raise_memory_lock_limit() {
    let none = Rlimit {
        current: None,
        maximum: None,
    };
    if setrlimit(Resource::Memlock, none).is_err() {
        let _ = raise_limit(Resource::Memlock);
    }
}
