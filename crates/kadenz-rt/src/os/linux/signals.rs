//! Blocking signals and taking them one by one, and sending signals to a process.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};

use super::number;

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
        // SAFETY: the set is there to be initialised, and is then changed; a number that is not a
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
            // SAFETY: the set was initialised; a number that is not a signal is refused.
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
pub(crate) struct ArrivedSignal {
    pub(crate) signal: i32,
    /// Sent by a process (`kill`), and not by the kernel, for example for a terminal.
    pub(crate) by_process: bool,
}

/// Takes the next of the blocked signals, waiting for it up to `longest`.
pub(crate) fn next(of: &Mask, longest: Duration) -> Option<ArrivedSignal> {
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
    (signal > 0).then_some(ArrivedSignal {
        signal,
        // Codes above zero are the kernel's (sigaction(2)).
        by_process: about.si_code <= 0,
    })
}

/// The signals whose senders are noted.
const NOTED: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
/// The handlers that this process had for them.
static HANDLERS: [AtomicPtr<()>; NOTED.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; NOTED.len()];
/// The last of these signals that a process sent; 0 for none.
static SENT: AtomicI32 = AtomicI32::new(0);

/// Notes which of these signals a process sends, and then calls the handler that the signal has now. Signals without a
/// plain handler stay as they are.
pub(crate) fn note_senders() {
    for (signal, handler) in NOTED.into_iter().zip(&HANDLERS) {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the structure is there to be written, zeroed memory is a valid value of it, and
        // without a new action nothing is changed.
        let mut action = unsafe {
            libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
            action.assume_init()
        };
        let is_plain = action.sa_flags & libc::SA_SIGINFO == 0;
        let is_handled = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
        if is_plain && is_handled {
            handler.store(action.sa_sigaction as *mut (), Ordering::Release);
            action.sa_sigaction = note_sender as *const () as usize;
            action.sa_flags |= libc::SA_SIGINFO;
            // SAFETY: the new handler has the form that SA_SIGINFO requires, and calls only an atomic store and the
            // handler that was installed before.
            unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
        }
    }
}

/// The last signal that a process sent since the last call.
pub(crate) fn take_noted() -> Option<i32> {
    Some(SENT.swap(0, Ordering::Relaxed)).filter(|it| *it != 0)
}

extern "C" fn note_sender(signal: i32, about: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid structure.
    if unsafe { (*about).si_code } <= 0 {
        SENT.store(signal, Ordering::Relaxed);
    }
    let handler = NOTED.iter().position(|it| *it == signal);
    let handler = handler.map_or(ptr::null_mut(), |it| HANDLERS[it].load(Ordering::Acquire));
    if !handler.is_null() {
        // SAFETY: it was installed for this signal without SA_SIGINFO, so it has this form.
        let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
        handler(signal);
    }
}

/// Sends a signal to a process. The caller must know that the number still means that process.
pub(crate) fn send(pid: u32, signal: i32) -> Result<(), i32> {
    number(kill_process(process(pid)?, named(signal)?))
}

/// Whether there is a process of that number, of any user.
pub(crate) fn is_there(pid: u32) -> bool {
    let outcome = process(pid).and_then(|pid| number(test_kill_process(pid)));
    outcome != Err(libc::ESRCH)
}

/// Sends a signal to every process of a group. The caller must know that the number still means that group.
pub(crate) fn send_to_group(group: u32, signal: i32) -> Result<(), i32> {
    let group = process(group)?;
    // The kernel takes -1 for every process, and not for a group.
    if group.is_init() {
        return Err(libc::ESRCH);
    }
    number(kill_process_group(group, named(signal)?))
}

/// No process has the number zero, which kill(2) takes for the caller's own group.
fn process(pid: u32) -> Result<Pid, i32> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.ok_or(libc::ESRCH)
}

/// A signal that has a name; the C library keeps some of the others for itself.
fn named(signal: i32) -> Result<Signal, i32> {
    Signal::from_named_raw(signal).ok_or(libc::EINVAL)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signal_goes_to_the_callers_own_group_or_to_all_processes() {
        assert_eq!(send(0, libc::SIGTERM), Err(libc::ESRCH));
        assert_eq!(send(u32::MAX, libc::SIGTERM), Err(libc::ESRCH));
        assert!(!is_there(0));
        for group in [0, 1, u32::MAX] {
            assert_eq!(send_to_group(group, libc::SIGTERM), Err(libc::ESRCH));
        }
    }
}
