#![expect(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::tuning::{self, Policy, Tuning};

#[test]
fn a_new_mutex_inherits_priority() {
    assert_eq!(RawMutex::protocol(), libc::PTHREAD_PRIO_INHERIT);
}

#[test]
fn one_thread_at_a_time_has_the_value() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 20_000;
    let mutex = PiMutex::new((0_u64, 0_u64)).unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let mut value = mutex.lock();
                    value.0 += 1;
                    assert_eq!(value.0, value.1 + 1, "another thread was inside");
                    value.1 += 1;
                }
            });
        }
    });
    assert_eq!(mutex.into_inner(), (THREADS * ROUNDS, THREADS * ROUNDS));
}

#[test]
fn a_locked_mutex_is_not_locked_by_trying() {
    let mut mutex = PiMutex::new(1).unwrap();
    {
        let guard = mutex.lock();
        thread::scope(|scope| {
            scope.spawn(|| assert!(mutex.try_lock().is_none()));
        });
        assert!(mutex.try_lock().is_none());
        assert_eq!(format!("{mutex:?} {guard:?}"), "PiMutex(<locked>) 1");
    }
    assert_eq!(mutex.try_lock().map(|value| *value), Some(1));
    *mutex.get_mut() = 2;
    assert_eq!(format!("{mutex:?}"), "PiMutex(2)");
}

#[test]
#[should_panic(expected = "holds the mutex already")]
fn locking_twice_panics_instead_of_waiting_for_ever() {
    let mutex = PiMutex::new(()).unwrap();
    let _first = mutex.lock();
    let _second = mutex.lock();
}

#[test]
fn a_panic_inside_unlocks() {
    let mutex = PiMutex::new(0).unwrap();
    thread::scope(|scope| {
        let panicked = scope.spawn(|| {
            let _guard = mutex.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panicked.join().is_err());
    });
    assert!(mutex.try_lock().is_some());
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "that a guard may be forgotten is what is tested"
)]
fn a_forgotten_guard_does_no_harm_when_the_mutex_goes() {
    let mutex = PiMutex::new(String::from("value")).unwrap();
    std::mem::forget(mutex.lock());
    drop(mutex);
}

/// The kernel's priority of a thread: below zero for real time (see `proc_pid_stat(5)`, field 18).
fn kernel_priority(thread: i32) -> i64 {
    stat_field(thread, 18).parse().unwrap()
}

/// A field of the thread's `stat`, counted from 1 as in the manual. The second may hold spaces.
fn stat_field(thread: i32, number: usize) -> String {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1.to_owned();
    after_name
        .split_whitespace()
        .nth(number - 3)
        .unwrap()
        .to_owned()
}

fn own_thread() -> i32 {
    rustix::thread::gettid().as_raw_pid()
}

const WAITER_PRIORITY: u8 = 50;

/// Runs `lock` on a new thread at SCHED_FIFO; returns false when the kernel refused that.
fn spawn_waiter(
    thread_id: &Arc<AtomicI32>,
    lock: impl FnOnce() + Send + 'static,
) -> thread::JoinHandle<bool> {
    let thread_id = Arc::clone(thread_id);
    thread::spawn(move || {
        let applied = tuning::apply(&Tuning {
            policy: Policy::Fifo(WAITER_PRIORITY),
            ..Tuning::default()
        });
        thread_id.store(own_thread(), Ordering::Release);
        let granted = applied.all_granted();
        lock();
        granted
    })
}

/// Waits until the waiter sleeps on the mutex. The time limit only ends a test that hangs.
fn wait_until_asleep(thread_id: &AtomicI32) {
    let start = Instant::now();
    loop {
        let waiter = thread_id.load(Ordering::Acquire);
        if waiter != 0 && stat_field(waiter, 3) == "S" {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the waiter never waited"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_waiter_of_high_priority_lifts_the_owner() {
    let mutex = Arc::new(PiMutex::new(()).unwrap());
    let waiter_id = Arc::new(AtomicI32::new(0));
    let owner = own_thread();
    let guard = mutex.lock();
    let waiter = {
        let mutex = Arc::clone(&mutex);
        spawn_waiter(&waiter_id, move || drop(mutex.lock()))
    };
    wait_until_asleep(&waiter_id);
    let while_waited_for = kernel_priority(owner);
    drop(guard);
    if !waiter.join().unwrap() {
        crate::testing::skip(
            "a_waiter_of_high_priority_lifts_the_owner",
            "the right to SCHED_FIFO; run as root or `sudo prlimit --pid $$ --rtprio=99`",
        );
        return;
    }
    assert_eq!(while_waited_for, -1 - i64::from(WAITER_PRIORITY));
    assert!(
        kernel_priority(owner) >= 0,
        "the priority was lent for good"
    );
}

/// Shows that the test above can fail: an ordinary mutex raises no priority.
#[test]
fn an_ordinary_mutex_does_not_lift_its_owner() {
    let mutex = Arc::new(Mutex::new(()));
    let waiter_id = Arc::new(AtomicI32::new(0));
    let guard = mutex.lock().unwrap();
    let waiter = {
        let mutex = Arc::clone(&mutex);
        spawn_waiter(&waiter_id, move || drop(mutex.lock().unwrap()))
    };
    wait_until_asleep(&waiter_id);
    assert!(kernel_priority(own_thread()) >= 0);
    drop(guard);
    waiter.join().unwrap();
}

#[test]
fn waiters_of_every_kind_get_their_turn() {
    let mutex = Arc::new(PiMutex::new(()).unwrap());
    let turns = Arc::new(AtomicU64::new(0));
    let guard = mutex.lock();
    let waiters: Vec<_> = (0..8)
        .map(|_| {
            let (mutex, turns) = (Arc::clone(&mutex), Arc::clone(&turns));
            thread::spawn(move || {
                let _guard = mutex.lock();
                turns.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    drop(guard);
    for waiter in waiters {
        waiter.join().unwrap();
    }
    assert_eq!(turns.load(Ordering::Relaxed), 8);
}
