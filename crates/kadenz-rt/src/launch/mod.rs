//! Starting any program under a chosen tuning: one step for what `chrt`, `taskset`, `cset` and `ulimit` do by hand,
//! with the granted settings read back.
//!
//! [`start`] starts the program and reports its settings; [`Program::wait`] waits for it and forwards termination
//! signals. [`Awake`] keeps the program's CPUs from idling meanwhile.
//!
//! Unlike [`tuning::apply`](crate::tuning::apply), which tunes one thread, these settings are inherited: by the
//! program across `exec`, and by the threads and processes that it starts. The exception is `SCHED_DEADLINE`: the
//! kernel lets such a thread start no thread with the same policy, so the threads of the program are ordinary ones.
//!
//! Linux only; elsewhere [`start`] refuses.
//!
//! ```
//! use std::process::Command;
//!
//! use kadenz_rt::launch::{self, Launch};
//! use kadenz_rt::tuning::Policy;
//!
//! let launch = Launch { policy: Some(Policy::Fifo(80)), ..Launch::default() };
//! match launch::start(Command::new("true"), &launch) {
//!     Ok(mut program) => {
//!         for measure in program.measures() {
//!             println!("{}: {} asked, {} granted", measure.name, measure.requested, measure.granted);
//!         }
//!         println!("{}", program.wait()?);
//!     }
//!     Err(error) => println!("{error}"),
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(target_os = "linux")]
mod awake;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod lock;
#[cfg(target_os = "linux")]
mod measures;
#[cfg(not(target_os = "linux"))]
mod refused;
#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests;

use std::io;
use std::path::PathBuf;
use std::process::Command;

#[cfg(target_os = "linux")]
pub use awake::Awake;
#[cfg(target_os = "linux")]
pub use linux::{Program, SignalRelay};
#[cfg(not(target_os = "linux"))]
pub use refused::{Awake, Program, SignalRelay};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use refused as system;

use crate::tuning::{CpuSet, Measure, Policy};

/// The tuning that a program is started with. The default requests nothing: the program gets the settings of this
/// process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// P: scheduling policy and priority.
    pub policy: Option<Policy>,
    /// M: lock all memory of the program, also what it maps later. `mlockall(2)` is not inherited through `exec`,
    /// so the program is stopped before its first instruction and the call is made in its name; see decision 0120.
    pub lock_memory: bool,
    /// C: the CPUs the program may run on.
    pub cpus: Option<CpuSet>,
    /// Nice value, -20 to 19: the share of the processor under `SCHED_OTHER`.
    pub nice: Option<i8>,
    /// By how much the kernel may delay the program's timers, in nanoseconds.
    pub timer_slack_ns: Option<u64>,
    /// C: a cgroup's `cgroup.procs` or `tasks`, into which the program's process writes itself before everything
    /// else: a shield.
    pub enter: Option<PathBuf>,
    /// Start the program only if everything is granted.
    pub require: bool,
    /// The program leads a process group of its own, so that Ctrl-C at the terminal does not reach it, and the
    /// kernel kills it when the thread that started it ends in any way.
    pub with_this_thread: bool,
}

/// Why a program does not run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The system could not execute it. The kind of the source says whether it was not found.
    #[error("cannot start `{program}`: {source}")]
    Program {
        /// As it was named.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// Not everything was granted, and [`Launch::require`] was set. Nothing of the program has run.
    #[error("not started: {}", refusals(.measures))]
    NotGranted {
        /// The requested settings and those that would have been in force.
        measures: Vec<Measure>,
    },
    /// The system refused something that the start needs.
    #[error("cannot prepare the start of `{program}`: {source}")]
    Prepare {
        /// As it was named.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The operating system lacks the calls for it.
    #[error(
        "only Linux lets a program be started under a tuning (sched_setattr(2), sched_setaffinity(2), mlockall(2) are \
         missing here); start the program by itself, or run it on Linux"
    )]
    Unsupported,
}

fn refusals(measures: &[Measure]) -> String {
    let refused = measures.iter().filter(|measure| !measure.ok);
    let named: Vec<String> = refused
        .map(|measure| {
            let reason = measure.reason.as_deref().unwrap_or("no reason was given");
            format!("{} was not granted ({reason})", measure.requested)
        })
        .collect();
    named.join("; ")
}

/// Starts a program as `launch` says, as far as the kernel grants it.
///
/// From here on until the [`Program`] is dropped, the calling thread holds back the signals that [`Program::wait`]
/// forwards (SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2): call this before other threads are started, as
/// those do not hold them back. With [`Launch::lock_memory`] the calling thread traces the program until its memory
/// is locked.
///
/// # Errors
/// [`LaunchError`]; nothing of the program has run then.
///
/// # Real-time safety
/// Not real-time safe: allocates and blocks until the program has been executed.
pub fn start(command: Command, launch: &Launch) -> Result<Program, LaunchError> {
    system::start(command, launch)
}

/// Lets a pipe hold so many bytes before its writer waits; returns how many it holds then. Where the system has no
/// such call, the pipe stays as it is.
///
/// # Errors
/// The system grants no pipe of that size: see `/proc/sys/fs/pipe-max-size`.
pub fn enlarge_pipe(pipe: &io::PipeReader, bytes: usize) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::pipe::fcntl_setpipe_size(pipe, bytes)?);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (pipe, bytes);
        Err(io::ErrorKind::Unsupported.into())
    }
}
