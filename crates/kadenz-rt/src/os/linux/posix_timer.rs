//! A POSIX timer whose signal is waited for by the thread that armed it.

use std::mem::MaybeUninit;
use std::{io, ptr};

use super::clock::timespec_of_ns;
use super::errno;

/// A one-shot timer on `CLOCK_MONOTONIC` that signals one thread.
///
/// The signal is blocked in that thread and taken with `sigtimedwait`, so no handler runs. It stays
/// blocked there for good: another timer of the thread may need that, and to unblock it while it is
/// pending would end the process.
#[derive(Debug)]
pub(crate) struct PosixTimer {
    timer: libc::timer_t,
    thread: libc::pid_t,
}

// SAFETY: a timer id is a number of the process, not of a thread (`timer_t` is a pointer in type
// only), so any thread may arm and delete the timer.
unsafe impl Send for PosixTimer {}

impl PosixTimer {
    /// Creates a timer that signals the calling thread.
    pub(crate) fn create() -> io::Result<Self> {
        let thread = current_thread();
        // SAFETY: all-zero is a valid sigevent.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        event.sigev_notify_thread_id = thread;
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: `event` and `timer` live for the call, which reads the one and writes the other.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0
        {
            return Err(io::Error::last_os_error());
        }
        block_signal();
        Ok(Self { timer, thread })
    }

    /// Whether the calling thread is the one this timer signals.
    #[inline]
    pub(crate) fn belongs_here(&self) -> bool {
        self.thread == current_thread()
    }

    /// Arms the timer for a point on the clock; a point in the past fires at once.
    #[inline]
    pub(crate) fn arm(&self, deadline_ns: u64) {
        let timer = libc::itimerspec {
            it_interval: timespec_of_ns(0),
            // Zero would disarm it.
            it_value: timespec_of_ns(deadline_ns.max(1)),
        };
        // SAFETY: the timer exists as long as `self`; `timer` is live and normalised; the old
        // value may be null. With these arguments the call cannot fail.
        unsafe {
            libc::timer_settime(
                self.timer,
                libc::TIMER_ABSTIME,
                &raw const timer,
                ptr::null_mut(),
            )
        };
    }

    /// Blocks until the timer's signal comes, another signal does, or `at_most_ns` have passed.
    #[inline]
    pub(crate) fn wait(&self, at_most_ns: u64) {
        let set = signal_set();
        let span = timespec_of_ns(at_most_ns);
        // SAFETY: `set` and `span` are live; the information about the signal may be null.
        let outcome =
            unsafe { libc::sigtimedwait(&raw const set, ptr::null_mut(), &raw const span) };
        debug_assert!(outcome >= 0 || matches!(errno(), libc::EINTR | libc::EAGAIN));
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: the timer was created by `create` and is deleted only here.
        unsafe { libc::timer_delete(self.timer) };
    }
}

fn current_thread() -> libc::pid_t {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// A real-time signal far from those that libraries take from the low end.
fn signal() -> libc::c_int {
    libc::SIGRTMAX() - 3
}

fn signal_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the whole set it is given, and cannot fail.
    let mut set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    // SAFETY: `set` is initialised and the signal number is valid.
    unsafe { libc::sigaddset(&raw mut set, signal()) };
    set
}

/// Blocks the timers' signal in this thread.
fn block_signal() {
    let set = signal_set();
    // SAFETY: `set` is live, and the old mask may be null.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) };
}
