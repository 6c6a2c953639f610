//! Starting a program on Linux.

use std::ffi::CString;
use std::io::{self, PipeReader, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use super::{Launch, LaunchError, lock, measures};
use crate::os::linux::die_with_thread;
use crate::os::linux::launch::{ChildSettings, LaunchReport, prepare};
use crate::os::linux::signals::{self, ArrivedSignal, Mask};
use crate::tuning::Measure;
use crate::tuning::linux::rights::Rights;
use crate::tuning::linux::scheduling;

/// A program that was started. Dropping it leaves the program alone and restores the signal mask of the calling
/// thread.
#[derive(Debug)]
pub struct Program {
    child: Child,
    measures: Vec<Measure>,
    signals: HeldSignals,
    leads_a_group: bool,
}

/// The signals that [`Program::wait`] forwards, and the signal that reports the program's end.
const HELD: [i32; 7] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCHLD,
];

/// A signal ends the wait; this only bounds the cost of a lost one.
const MAX_WAIT: Duration = Duration::from_secs(1);

impl Program {
    /// Number of its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The requested tuning, and the tuning that the program had when it began.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Kills the program and its process group, where it leads one of its own ([`Launch::with_this_thread`]);
    /// otherwise does nothing.
    pub fn kill(&self) {
        if self.leads_a_group {
            // The kernel refuses only when the whole group has ended.
            let _ = signals::send_to_group(self.child.id(), libc::SIGKILL);
        }
    }

    /// Returns how the program has ended; `None` while it runs. Forwards no signals.
    ///
    /// # Errors
    /// When the system cannot report it.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits until the program ends, on the thread that started it.
    ///
    /// Meanwhile it forwards SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 to the program. SIGINT and SIGQUIT it forwards
    /// only if a process sent them: those from a terminal reach the program directly, which is in the same process
    /// group.
    ///
    /// # Errors
    /// When the system cannot report how the program ended.
    ///
    /// # Real-time safety
    /// Blocks; not real-time safe.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if let Some(arrived) = self.signals.next()
                && is_for_the_program(arrived)
            {
                // Refused only when the program has ended meanwhile, which the next look finds.
                let _ = signals::send(self.child.id(), arrived.signal);
            }
        }
    }
}

/// Passes termination signals on to a program that was started without [`start`](super::start), in a process that
/// has handlers for them.
#[derive(Debug)]
pub struct SignalRelay(());

/// Time for a program to end by a signal that it got itself.
const GRACE: Duration = Duration::from_secs(1);
/// How often a relay looks whether the program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl SignalRelay {
    /// Notes from now on each SIGHUP, SIGINT and SIGTERM that a process sends to this one, before the handler that
    /// this process has for it. A signal without a handler keeps its effect and is not noted.
    #[must_use]
    pub fn install() -> Self {
        signals::note_senders();
        Self(())
    }

    /// Waits until a program ends. If it still runs a second after a signal was noted, it gets the signal: `timeout` and
    /// systemd signal the whole group, and a program may take a second signal as a request to abort.
    ///
    /// # Errors
    /// When the system cannot report how the program ended.
    ///
    /// # Real-time safety
    /// Blocks; not real-time safe.
    pub fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let mut noted: Option<(i32, Instant)> = None;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if let Some(signal) = signals::take_noted() {
                noted = Some((signal, Instant::now()));
            }
            if let Some((signal, _)) = noted.take_if(|(_, since)| since.elapsed() > GRACE) {
                // Refused only when the program has ended meanwhile.
                let _ = signals::send(child.id(), signal);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

fn is_for_the_program(arrived: ArrivedSignal) -> bool {
    match arrived.signal {
        libc::SIGCHLD => false,
        libc::SIGINT | libc::SIGQUIT => arrived.by_process,
        _ => true,
    }
}

/// Signals that the calling thread holds back until this is dropped.
#[derive(Debug)]
struct HeldSignals {
    held: Mask,
    before: Mask,
}

impl HeldSignals {
    fn hold() -> io::Result<Self> {
        signals::see_children_end();
        let held = Mask::of(&HELD);
        let before = signals::hold(&held).map_err(io::Error::from_raw_os_error)?;
        Ok(Self { held, before })
    }

    fn next(&self) -> Option<ArrivedSignal> {
        signals::next(&self.held, MAX_WAIT)
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        // The mask was in force before, so it is not refused.
        let _ = signals::set_mask(&self.before);
    }
}

pub(super) fn start(mut command: Command, launch: &Launch) -> Result<Program, LaunchError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let unprepared = |source| LaunchError::Prepare {
        program: program.clone(),
        source,
    };
    let signals = HeldSignals::hold().map_err(unprepared)?;
    if launch.with_this_thread {
        command.process_group(0);
        die_with_thread(&mut command);
    }
    let lockable = launch.lock_memory.then(|| lock::may_be_held(&command));
    let orders = orders(launch, signals.before, lockable == Some(Ok(()))).map_err(unprepared)?;
    let (reader, writer) = io::pipe().map_err(unprepared)?;
    prepare(&mut command, orders, writer.as_raw_fd());
    let started = command.spawn();
    drop(writer);
    let report = read(reader);
    let rights = Rights::read();
    let mut measures = report.map_or_else(Vec::new, |it| measures::of(launch, &it, &rights));
    let mut child = started.map_err(|source| match source.raw_os_error() {
        Some(libc::ECANCELED) if launch.require && report.is_some() => LaunchError::NotGranted {
            measures: measures.clone(),
        },
        _ => LaunchError::Program { program, source },
    })?;
    if let Some(lockable) = lockable {
        let report = report.map(|it| it.trace);
        let (measure, held) = lock::lock(child.id(), lockable, report, signals.before, &rights);
        measures.insert(measures.len().min(1), measure);
        if launch.require && measures.iter().any(|measure| !measure.ok) {
            // The program was held until here, so none of it has run.
            child.kill().and_then(|()| child.wait()).ok();
            return Err(LaunchError::NotGranted { measures });
        }
        drop(held);
    }
    Ok(Program {
        child,
        measures,
        signals,
        leads_a_group: launch.with_this_thread,
    })
}

/// The settings that the program's process applies to itself.
fn orders(launch: &Launch, mask: Mask, stop_at_exec: bool) -> io::Result<ChildSettings> {
    Ok(ChildSettings {
        enter: launch.enter.as_deref().map(c_path).transpose()?,
        cpus: launch.cpus.as_ref().map(|cpus| *cpus.as_mask()),
        nice: launch.nice.map(i32::from),
        scheduling: launch.policy.map(scheduling::inherited),
        timer_slack_ns: launch.timer_slack_ns.map(|slack_ns| slack_ns.max(1)),
        raise_memory_lock_limit: launch.lock_memory,
        stop_at_exec,
        all_or_nothing: launch.require,
        mask,
    })
}

pub(super) fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn read(mut reader: PipeReader) -> Option<LaunchReport> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).ok()?;
    LaunchReport::from_bytes(&bytes)
}
