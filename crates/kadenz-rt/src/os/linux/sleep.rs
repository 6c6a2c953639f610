//! System calls, timers and a condition variable to sleep with, all on `CLOCK_MONOTONIC`. A function returns when
//! the kernel returns, also after a signal; callers loop.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::{io, ptr};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::clock::{span_of_ns, timespec_of_ns};
use super::errno;

/// A timer that fires once, at a point on the clock.
#[inline]
fn once_at(deadline_ns: u64) -> libc::itimerspec {
    libc::itimerspec {
        it_interval: timespec_of_ns(0),
        // Zero would disarm it.
        it_value: timespec_of_ns(deadline_ns.max(1)),
    }
}

/// Sleeps until a point on `CLOCK_MONOTONIC`. False when a signal ended the sleep.
#[inline]
pub(crate) fn nanosleep_until(deadline_ns: u64) -> bool {
    let deadline = timespec_of_ns(deadline_ns);
    // SAFETY: `deadline` is a live, normalised timespec; an absolute sleep writes no remainder, so
    // the last argument may be null.
    let outcome = unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const deadline,
            ptr::null_mut(),
        )
    };
    outcome == 0
}

/// Sleeps for a span. False when a signal ended the sleep.
#[inline]
pub(crate) fn nanosleep_for(span_ns: u64) -> bool {
    let span = timespec_of_ns(span_ns);
    // SAFETY: `span` is a live, normalised timespec; the remainder may be null.
    unsafe { libc::nanosleep(&raw const span, ptr::null_mut()) == 0 }
}

/// Waits on no descriptors for a span, with `ppoll`, whose timeout is in nanoseconds.
/// False when a signal ended the wait.
#[inline]
pub(crate) fn poll_for(span_ns: u64) -> bool {
    let span = timespec_of_ns(span_ns);
    // SAFETY: with a count of zero no descriptor is read through the null pointer; `span` is a
    // live timespec; a null mask leaves the signal mask as it is.
    unsafe { libc::ppoll(ptr::null_mut(), 0, &raw const span, ptr::null()) == 0 }
}

/// A one-shot timer on `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub(crate) struct TimerFd(OwnedFd);

impl TimerFd {
    /// Creates a timer that is not armed.
    pub(crate) fn create() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Self(timer))
    }

    /// Arms the timer for a point on the clock; a point in the past fires at once.
    #[inline]
    pub(crate) fn arm(&self, deadline_ns: u64) {
        let timer = Itimerspec {
            it_interval: span_of_ns(0),
            // Zero would disarm it.
            it_value: span_of_ns(deadline_ns.max(1)),
        };
        // With these arguments the call cannot fail.
        let _ = timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &timer);
    }

    /// Blocks until the timer has fired. False when a signal ended the wait.
    #[inline]
    pub(crate) fn wait(&self) -> bool {
        rustix::io::read(&self.0, &mut [0_u8; 8]) == Ok(8)
    }
}

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
        let timer = once_at(deadline_ns);
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
    rustix::thread::gettid().as_raw_pid()
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

/// A mutex and a condition variable that no thread signals.
///
/// Both stand in a box, because neither may move once it is in use.
pub(crate) struct TimedCondvar(Box<PosixCondvar>);

/// A condition variable of POSIX, and the mutex that it needs.
struct PosixCondvar {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condvar: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: a mutex and a condition variable of POSIX may be used from any thread; `wait` unlocks
// the mutex before it returns, so no thread owns it while the value is handed over.
unsafe impl Send for TimedCondvar {}

impl TimedCondvar {
    pub(crate) fn create() -> io::Result<Self> {
        let parts = Box::new(PosixCondvar {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condvar: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
        });
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before use and destroyed after it; the condition variable is
        // initialised at its final address, and no thread has used it yet.
        let outcome = unsafe {
            libc::pthread_condattr_init(attributes.as_mut_ptr());
            libc::pthread_condattr_setclock(attributes.as_mut_ptr(), libc::CLOCK_MONOTONIC);
            let outcome = libc::pthread_cond_init(parts.condvar.get(), attributes.as_ptr());
            libc::pthread_condattr_destroy(attributes.as_mut_ptr());
            outcome
        };
        if outcome != 0 {
            return Err(io::Error::from_raw_os_error(outcome));
        }
        Ok(Self(parts))
    }

    /// Waits until a point on the clock. Returns false when the wait ended earlier, which POSIX allows.
    #[inline]
    pub(crate) fn wait_until(&mut self, deadline_ns: u64) -> bool {
        let deadline = timespec_of_ns(deadline_ns);
        // SAFETY: both parts are initialised and stay where they are; this thread locks the mutex
        // before the wait and unlocks it after, and `&mut self` keeps every other thread away.
        let outcome = unsafe {
            libc::pthread_mutex_lock(self.0.mutex.get());
            let outcome = libc::pthread_cond_timedwait(
                self.0.condvar.get(),
                self.0.mutex.get(),
                &raw const deadline,
            );
            libc::pthread_mutex_unlock(self.0.mutex.get());
            outcome
        };
        outcome == libc::ETIMEDOUT
    }
}

impl Drop for TimedCondvar {
    fn drop(&mut self) {
        // SAFETY: both parts are initialised, no thread waits and no thread holds the mutex.
        unsafe {
            libc::pthread_cond_destroy(self.0.condvar.get());
            libc::pthread_mutex_destroy(self.0.mutex.get());
        }
    }
}
