//! One suite for every sleeper that exists on this operating system.
//!
//! Nothing here limits how late a sleeper may be: that is measured, not tested. Where a test checks that short
//! timeouts are kept, it takes the best of many.

use std::thread;
use std::time::Duration;

use kadenz_rt::beat::Beat;
use kadenz_rt::clock::{MonotonicTime, now};
use kadenz_rt::sleep::{self, Sleeper, SleeperKind, SleeperOptions};

fn open(kind: SleeperKind) -> Box<dyn Sleeper> {
    sleep::open(kind, SleeperOptions::default()).unwrap_or_else(|error| panic!("{kind}: {error}"))
}

fn for_every_sleeper(check: impl Fn(SleeperKind, &mut dyn Sleeper)) {
    for kind in SleeperKind::available() {
        check(kind, open(kind).as_mut());
    }
}

/// How late a sleep ended, in nanoseconds; the suite's own reading of the same clock.
fn lateness_ns(sleeper: &mut dyn Sleeper, timeout: Duration) -> i64 {
    let deadline = now() + timeout;
    sleeper.sleep_until(deadline);
    now().since(deadline)
}

#[test]
fn none_returns_before_its_deadline() {
    let timeouts_us = [
        0, 1, 2, 5, 10, 37, 50, 51, 100, 250, 999, 1_000, 1_001, 1_500, 3_000,
    ];
    for_every_sleeper(|kind, sleeper| {
        for timeout_us in timeouts_us {
            for _ in 0..5 {
                let late_ns = lateness_ns(sleeper, Duration::from_micros(timeout_us));
                assert!(
                    late_ns >= 0,
                    "{kind}: {timeout_us} us ended {late_ns} ns early"
                );
            }
        }
    });
}

#[test]
fn timeouts_that_are_not_whole_microseconds_are_not_cut() {
    for_every_sleeper(|kind, sleeper| {
        for timeout_ns in [1, 999, 1_001, 123_457, 999_999, 1_000_001] {
            for _ in 0..5 {
                let late_ns = lateness_ns(sleeper, Duration::from_nanos(timeout_ns));
                assert!(
                    late_ns >= 0,
                    "{kind}: {timeout_ns} ns ended {late_ns} ns early"
                );
            }
        }
    });
}

/// A timer of whole milliseconds would end each of these 0.8 ms late or more.
#[test]
fn timeouts_below_a_millisecond_are_honoured() {
    for_every_sleeper(|kind, sleeper| {
        if cfg!(windows) && kind == SleeperKind::Condvar {
            eprintln!(
                "skipped: timeouts below a millisecond: Windows rounds the condition variable's"
            );
            return;
        }
        let best_ns = (0..300)
            .map(|_| lateness_ns(sleeper, Duration::from_micros(200)))
            .min();
        assert!(
            best_ns < Some(500_000),
            "{kind}: at best {best_ns:?} ns late"
        );
    });
}

#[test]
fn a_deadline_in_the_past_is_not_waited_for() {
    for_every_sleeper(|kind, sleeper| {
        let best_ns = (0..100)
            .map(|_| {
                let start = now();
                sleeper.sleep_until(start - Duration::from_secs(1));
                sleeper.sleep_until(MonotonicTime::default());
                now().since(start)
            })
            .min();
        assert!(best_ns < Some(1_000_000), "{kind}: at best {best_ns:?} ns");
    });
}

#[test]
fn a_span_is_slept_in_full() {
    for_every_sleeper(|kind, sleeper| {
        for span in [
            Duration::ZERO,
            Duration::from_micros(80),
            Duration::from_millis(2),
        ] {
            let start = now();
            sleeper.sleep_for(span);
            assert!(now() >= start + span, "{kind}: {span:?} were cut short");
        }
    });
}

#[test]
fn each_is_named_by_its_word() {
    for_every_sleeper(|kind, sleeper| {
        assert_eq!(sleeper.name(), kind.to_string());
        assert_eq!(sleeper.name().parse(), Ok(kind));
    });
}

#[test]
fn a_beat_is_kept_without_an_early_wake_up() {
    const CYCLES: u64 = 200;
    for_every_sleeper(|kind, sleeper| {
        let start = now();
        let mut beat = Beat::new(start, Duration::from_micros(500));
        for cycle in 1..=CYCLES {
            let intended = beat.next();
            sleeper.sleep_until(intended);
            assert!(now() >= intended, "{kind}: cycle {cycle} was early");
        }
        assert_eq!(beat.current(), start + Duration::from_micros(500 * CYCLES));
    });
}

#[test]
fn a_sleeper_may_move_between_threads() {
    for kind in SleeperKind::available() {
        let mut sleeper = open(kind);
        for _ in 0..3 {
            let moved = thread::spawn(move || {
                for _ in 0..5 {
                    assert!(lateness_ns(sleeper.as_mut(), Duration::from_micros(300)) >= 0);
                }
                sleeper
            });
            sleeper = moved.join().unwrap();
            assert!(lateness_ns(sleeper.as_mut(), Duration::from_micros(300)) >= 0);
        }
    }
}

#[test]
fn two_of_a_kind_on_one_thread_do_not_disturb_each_other() {
    for kind in SleeperKind::available() {
        let (mut first, mut second) = (open(kind), open(kind));
        for _ in 0..20 {
            assert!(
                lateness_ns(first.as_mut(), Duration::from_micros(150)) >= 0,
                "{kind}"
            );
            assert!(
                lateness_ns(second.as_mut(), Duration::from_micros(90)) >= 0,
                "{kind}"
            );
        }
        drop(first);
        assert!(
            lateness_ns(second.as_mut(), Duration::from_micros(90)) >= 0,
            "{kind}"
        );
    }
}

#[test]
fn many_threads_sleep_at_once() {
    for kind in SleeperKind::available() {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut sleeper = open(kind);
                    for _ in 0..20 {
                        let late_ns = lateness_ns(sleeper.as_mut(), Duration::from_micros(400));
                        assert!(late_ns >= 0, "{kind}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_sleeper_of_another_system_is_refused_by_name() {
    let absent = SleeperKind::ALL
        .into_iter()
        .filter(|kind| !kind.is_available());
    for kind in absent {
        let Err(error) = sleep::open(kind, SleeperOptions::default()) else {
            panic!("{kind} was opened");
        };
        let message = error.to_string();
        assert!(message.contains(kind.as_str()), "{message}");
        assert!(
            message.contains(SleeperKind::recommended().as_str()),
            "{message}"
        );
    }
}

#[test]
fn the_recommended_sleeper_is_there() {
    assert!(SleeperKind::recommended().is_available());
}

#[test]
fn any_margin_will_do_for_the_spinning_sleeper() {
    for margin in [
        Duration::ZERO,
        Duration::from_millis(1),
        Duration::from_secs(3600),
    ] {
        let options = SleeperOptions {
            spin_margin: margin,
        };
        let mut sleeper = sleep::open(SleeperKind::Spin, options).unwrap();
        for _ in 0..5 {
            assert!(lateness_ns(sleeper.as_mut(), Duration::from_micros(700)) >= 0);
        }
    }
}
