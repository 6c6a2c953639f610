//! Properties that the suite of `sleepers.rs` cannot see from outside: signals and the scheduler's counts.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kadenz_rt::clock::{MonotonicTime, now};
use kadenz_rt::sleep::{self, SleeperKind, SleeperOptions};

static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_signal(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Installs a handler that interrupts system calls rather than restarting them.
fn interrupt_on(signal: libc::c_int) {
    // SAFETY: all-zero is a valid action: no flags, nothing masked.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = count_signal as *const () as usize;
    // SAFETY: the action is live and its handler only counts in an atomic.
    let outcome = unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    assert_eq!(outcome, 0);
}

/// Sends signals to the calling thread, one a millisecond, while `work` runs.
fn under_signals(work: impl FnOnce()) {
    // SAFETY: the call takes nothing.
    let target = unsafe { libc::pthread_self() };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                // SAFETY: the target is the thread that waits for this scope, so it is alive.
                unsafe { libc::pthread_kill(target, libc::SIGUSR1) };
                thread::sleep(Duration::from_millis(1));
            }
        });
        work();
        done.store(true, Ordering::Release);
    });
}

#[test]
fn signals_do_not_end_a_sleep() {
    interrupt_on(libc::SIGUSR1);
    for kind in SleeperKind::available() {
        let mut sleeper = sleep::open(kind, SleeperOptions::default()).unwrap();
        let before = SIGNALS.load(Ordering::Relaxed);
        under_signals(|| {
            while SIGNALS.load(Ordering::Relaxed) < before + 5 {
                let deadline = now() + Duration::from_millis(10);
                sleeper.sleep_until(deadline);
                assert!(now() >= deadline, "{kind} was woken by a signal");
            }
        });
    }
}

/// How often the calling thread has gone to sleep voluntarily.
fn voluntary_switches() -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the usage is there to be written, and zeroed memory is a valid value.
    unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
        usage.assume_init().ru_nvcsw
    }
}

/// A real-time thread that never sleeps is stopped by the RT throttle.
#[test]
fn the_spinning_sleeper_sleeps_even_when_it_is_late() {
    const CYCLES: i64 = 200;
    let mut sleeper = sleep::open(SleeperKind::Spin, SleeperOptions::default()).unwrap();
    let before = voluntary_switches();
    for _ in 0..CYCLES {
        sleeper.sleep_until(MonotonicTime::default());
    }
    let slept = voluntary_switches() - before;
    // On a stalled machine a timer of 5 us may expire before the kernel has descheduled the thread.
    assert!(
        slept >= CYCLES / 2,
        "slept {slept} times in {CYCLES} cycles"
    );
}

/// Processor time of the calling thread.
fn cpu_time_ns() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time is there to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Even when every cycle is too short for its work and margin, the thread leaves the 5 % that keep the RT throttle
/// from acting.
#[test]
fn the_spinning_sleeper_leaves_time_to_others_when_overloaded() {
    let mut sleeper = sleep::open(SleeperKind::Spin, SleeperOptions::default()).unwrap();
    let (start, start_cpu_ns) = (now(), cpu_time_ns());
    while now() < start + Duration::from_millis(200) {
        let busy_until = now() + Duration::from_millis(2);
        while now() < busy_until {
            std::hint::spin_loop();
        }
        sleeper.sleep_until(busy_until);
    }
    let (elapsed_ns, used_ns) = (now().since(start), cpu_time_ns() - start_cpu_ns);
    assert!(
        used_ns * 100 <= elapsed_ns * 95,
        "used {used_ns} ns of {elapsed_ns} ns"
    );
}
