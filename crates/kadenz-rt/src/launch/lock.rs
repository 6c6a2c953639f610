//! M: memory locked in another program, before its first instruction.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::linux::c_path;
use crate::host::Root;
use crate::os::linux::launch::StepErrno;
use crate::os::linux::memory::has_file_capabilities;
use crate::os::linux::sched::memory_lock_limit_of;
use crate::os::linux::signals::Mask;
use crate::os::linux::trace::{CallError, HeldProcess};
use crate::tuning::linux::rights::{Rights, effective_capabilities};
use crate::tuning::linux::{kernel_says, memory};
use crate::tuning::{ALL_PAGES, Measure, Note};

/// Set-user-ID and set-group-ID.
const SET_ID: u32 = 0o6000;

/// Why a program must not be stopped at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldRefusal {
    /// It gains rights at its start, but not when it is traced; then it would fail.
    GainsRights,
    /// It is a script that `env` starts: a second `exec` starts the interpreter, without locks.
    StartedByEnv,
}

/// Whether the program may be stopped at its start, and whether that is useful.
pub(super) fn may_be_held(command: &Command) -> Result<(), HoldRefusal> {
    match find(command) {
        Some(file) if gains_rights(&file) => Err(HoldRefusal::GainsRights),
        Some(file) if interpreter(&file).is_some_and(|it| it.ends_with("/env")) => {
            Err(HoldRefusal::StartedByEnv)
        }
        _ => Ok(()),
    }
}

/// The program that executes a script: the first word after `#!`, of which execve(2) reads up to 255 bytes.
fn interpreter(file: &Path) -> Option<String> {
    let mut start = Vec::new();
    let file = File::open(file).ok()?;
    file.take(255).read_to_end(&mut start).ok()?;
    let line = String::from_utf8_lossy(start.strip_prefix(b"#!")?).into_owned();
    let word = line.lines().next()?.split_whitespace().next()?;
    Some(word.to_owned())
}

fn gains_rights(file: &Path) -> bool {
    let set_id = file
        .metadata()
        .is_ok_and(|about| about.permissions().mode() & SET_ID != 0);
    set_id || c_path(file).is_ok_and(|path| has_file_capabilities(&path))
}

/// The file that `execvp` executes: as named where there is a slash, else the first in `PATH`.
fn find(command: &Command) -> Option<PathBuf> {
    let name = Path::new(command.get_program());
    if name.components().count() > 1 || name.is_absolute() {
        return Some(name.to_owned());
    }
    let own = command
        .get_envs()
        .find_map(|(key, value)| (key == OsStr::new("PATH")).then_some(value?.to_owned()));
    let path = own.or_else(|| env::var_os("PATH"))?;
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Locks the memory of a program that has just been executed, and returns the measure. The program stays stopped
/// until the second returned value is dropped.
pub(super) fn lock(
    pid: u32,
    may_be_held: Result<(), HoldRefusal>,
    traced: Option<StepErrno>,
    mask: Mask,
    rights: &Rights,
) -> (Measure, Option<HeldProcess>) {
    let traced = traced.map_or(Err(libc::EPERM), StepErrno::outcome);
    let held = match (may_be_held, traced) {
        (Err(why), _) => return (refused(not_held(why)), None),
        (Ok(()), Err(errno)) => return (refused(not_traced(errno)), None),
        (Ok(()), Ok(())) => HeldProcess::at_exec(pid, mask),
    };
    let Some(mut held) = held else {
        return (refused(call_note(CallError::Ended)), None);
    };
    let measure = match lock_held(pid, &mut held, rights) {
        Ok(locked_kb) => {
            let granted = format!("{ALL_PAGES} ({locked_kb} kB at its start)");
            Measure::noted("memory_lock", ALL_PAGES, granted, true, None)
        }
        Err(note) => refused(note),
    };
    (measure, Some(held))
}

fn lock_held(pid: u32, held: &mut HeldProcess, rights: &Rights) -> Result<u64, Note> {
    let status = Root::system().read(&format!("/proc/{pid}/status"));
    let capabilities = effective_capabilities(&status.unwrap_or_default());
    // A capability of a user namespace does not count here.
    let may = Rights::may_lock(capabilities) && !rights.user_namespace;
    let limit = if may { None } else { memory_lock_limit_of(pid) };
    if let Some(limit) = limit {
        return Err(limited(limit));
    }
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE;
    let answer = held
        .call(libc::SYS_mlockall, u64::from(flags.cast_unsigned()))
        .map_err(call_note)?;
    if answer < 0 {
        let errno = i32::try_from(-answer).unwrap_or(libc::EINVAL);
        return Err(memory::refusal(errno, limit));
    }
    Ok(memory::locked_kb(&pid.to_string()))
}

fn refused(note: Note) -> Measure {
    let granted = "nothing locked from outside";
    Measure::noted("memory_lock", ALL_PAGES, granted, false, Some(note))
}

const LOCK_ITSELF: &str = "let the program call mlockall(MCL_CURRENT | MCL_FUTURE) itself";

fn limited(limit: u64) -> Note {
    Note::new(
        format!(
            "RLIMIT_MEMLOCK is {} kB for the program, and CAP_IPC_LOCK is missing: with pages to come locked as well, \
             allocations beyond the limit would fail",
            limit / 1024
        ),
        memory::REMEDY,
    )
}

fn not_held(why: HoldRefusal) -> Note {
    match why {
        HoldRefusal::GainsRights => Note::new(
            "the program gains rights at its start (set-user-ID or file capabilities), which it would not while it is \
             held to lock its memory",
            "start the program inside it: `sudo kadenz run --lock -- PROGRAM` instead of `kadenz run --lock -- sudo \
             PROGRAM`",
        ),
        HoldRefusal::StartedByEnv => Note::new(
            "the program is a script that `env` starts, and a lock does not outlive the `exec` of its interpreter",
            "name the interpreter: `kadenz run --lock -- python3 SCRIPT`",
        ),
    }
}

fn not_traced(errno: i32) -> Note {
    let (reason, remedy) = match errno {
        libc::EPERM => (
            "the program may not be traced: another one (strace, gdb) traces it already, or a container or the setting \
             kernel.yama.ptrace_scope forbids it"
                .to_owned(),
            "start it outside the other tracer; in a container add --cap-add=SYS_PTRACE; else let the program call \
             mlockall(MCL_CURRENT | MCL_FUTURE) itself",
        ),
        _ => (
            format!("the program cannot be traced: {}", kernel_says(errno)),
            LOCK_ITSELF,
        ),
    };
    Note::new(reason, remedy)
}

fn call_note(error: CallError) -> Note {
    match error {
        CallError::OtherCode => Note::new("the program's code is not of 64 bits", LOCK_ITSELF),
        CallError::Unsupported => Note::new(
            "locking another program's memory is written for x86_64 and aarch64 only",
            LOCK_ITSELF,
        ),
        CallError::Ended => Note::new(
            "the program ended before its first instruction",
            "start it by itself to see why",
        ),
        CallError::Refused(errno) => Note::new(
            format!(
                "the program cannot be changed while it is held: {}",
                kernel_says(errno)
            ),
            LOCK_ITSELF,
        ),
    }
}
