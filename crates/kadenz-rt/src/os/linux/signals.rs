//! Blocking signals and taking them one by one, and sending signals to a process.

use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use super::errno;

/// A set of signals that a thread blocks.
#[derive(Clone, Copy)]
pub(crate) struct Mask(libc::sigset_t);

impl Default for Mask {
    fn default() -> Self {
        Self::of(&[])
    }
}

impl Mask {
    /// The mask of these signals.
    pub(crate) fn of(signals: &[i32]) -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is there to be initialised, and is then changed; a number that is no
        // signal is refused and changes nothing.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(set.as_mut_ptr(), *signal);
            }
            Self(set.assume_init())
        }
    }

    /// Every signal that can be blocked, except for `one`.
    pub(crate) fn all_but(one: i32) -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is there to be initialised, and is then changed.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            libc::sigdelset(set.as_mut_ptr(), one);
            Self(set.assume_init())
        }
    }

    /// The kernel's own form of the mask: 64 signals, a bit each.
    pub(crate) fn bits(&self) -> u64 {
        (1..=64_i32)
            // SAFETY: the set was initialised; a number that is no signal is refused.
            .filter(|signal| unsafe { libc::sigismember(&raw const self.0, *signal) } == 1)
            .fold(0, |bits, signal| bits | (1 << (signal - 1)))
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mask({:#x})", self.bits())
    }
}

/// Blocks more signals in the calling thread; returns what it blocked before.
pub(crate) fn hold(more: &Mask) -> Result<Mask, i32> {
    change(libc::SIG_BLOCK, more)
}

/// Sets the signals that the calling thread blocks.
pub(crate) fn set_mask(mask: &Mask) -> Result<Mask, i32> {
    change(libc::SIG_SETMASK, mask)
}

fn change(how: i32, mask: &Mask) -> Result<Mask, i32> {
    let mut before = Mask::default();
    // SAFETY: both sets are live and initialised.
    match unsafe { libc::pthread_sigmask(how, &raw const mask.0, &raw mut before.0) } {
        0 => Ok(before),
        errno => Err(errno),
    }
}

/// Restores the default for SIGCHLD if the process that started this one had it ignored: the kernel would then
/// discard each child at once, with its exit status.
pub(crate) fn see_children_end() {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the structure is there to be written, zeroed memory is a valid value of it, and
    // without a new action nothing is changed.
    let ignored = unsafe {
        libc::sigaction(libc::SIGCHLD, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    };
    if ignored {
        // SAFETY: this installs no code, and a handler that other code has set stays.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// Makes this process ignore a signal.
pub(crate) fn ignore(signal: i32) -> std::io::Result<()> {
    // SAFETY: this installs no code.
    match unsafe { libc::signal(signal, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) signal: i32,
    /// Sent by a process (`kill`), and not by the kernel, for example for a terminal.
    pub(crate) by_process: bool,
}

/// Takes the next of the blocked signals, waiting for it up to `longest`.
pub(crate) fn next(of: &Mask, longest: Duration) -> Option<Arrived> {
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(longest.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: longest.subsec_nanos().into(),
    };
    let mut about = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the set is initialised and the time is live; `about` is there to be written, and
    // zeroed memory is a valid value of it.
    let (signal, about) = unsafe {
        let signal = libc::sigtimedwait(&raw const of.0, about.as_mut_ptr(), &raw const timeout);
        (signal, about.assume_init())
    };
    (signal > 0).then_some(Arrived {
        signal,
        // Codes above zero are the kernel's (sigaction(2)).
        by_process: about.si_code <= 0,
    })
}

/// Sends a signal to a process. The caller must know that the number still means that process.
pub(crate) fn send(pid: u32, signal: i32) -> Result<(), i32> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| libc::ESRCH)?;
    // SAFETY: the call takes numbers and no pointers.
    let outcome = unsafe { libc::kill(pid, signal) };
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

/// Whether there is a process of that number, of any user.
pub(crate) fn is_there(pid: u32) -> bool {
    send(pid, 0) != Err(libc::ESRCH)
}

/// Sends a signal to every process of a group. The caller must know that the number still means that group.
pub(crate) fn send_to_group(group: u32, signal: i32) -> Result<(), i32> {
    let group = libc::pid_t::try_from(group).map_err(|_| libc::ESRCH)?;
    // Zero and one mean other processes than those of a group.
    if group <= 1 {
        return Err(libc::ESRCH);
    }
    // SAFETY: the call takes numbers and no pointers.
    let outcome = unsafe { libc::kill(-group, signal) };
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

/// Sends a signal to the calling thread.
#[cfg(test)]
pub(crate) fn send_to_own_thread(signal: i32) -> Result<(), i32> {
    // SAFETY: the calling thread exists; the call takes no pointers.
    match unsafe { libc::pthread_kill(libc::pthread_self(), signal) } {
        0 => Ok(()),
        errno => Err(errno),
    }
}
