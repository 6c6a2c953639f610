//! The tasks for which a real-time task waits at a shared lock (figure 3 of Yoon).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use kadenz_lab::inversion::{self, Event, InversionError, Lock};

/// The order of events; reports a skipped test and returns `None` where real-time priorities are refused.
fn order(test: &str, lock: Lock) -> Option<Vec<Event>> {
    match inversion::stage(lock) {
        Ok(order) => {
            assert_eq!(order.len(), 4, "{order:?}");
            Some(order)
        }
        Err(missing @ InversionError::Refused { .. }) => {
            let message = format!("skipped: {test}: {missing}");
            let nothing = std::env::var_os("KADENZ_SKIP_NOTHING");
            assert!(nothing.is_none_or(|value| value != "1"), "{message}");
            eprintln!("{message}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn place(order: &[Event], event: Event) -> usize {
    order.iter().position(|it| *it == event).unwrap()
}

#[test]
fn with_inheritance_it_waits_for_one_critical_section_alone() {
    let test = "with_inheritance_it_waits_for_one_critical_section_alone";
    for _ in 0..5 {
        let Some(order) = order(test, Lock::PriorityInheriting) else {
            return;
        };
        assert_eq!(
            order[..2],
            [Event::HolderDone, Event::RealTimeIn],
            "{order:?}"
        );
    }
}

/// Shows that the test above can fail: without a raised priority, the holder waits for the middle task to end.
#[test]
fn without_inheritance_it_waits_for_a_task_that_wants_no_lock() {
    let test = "without_inheritance_it_waits_for_a_task_that_wants_no_lock";
    for _ in 0..5 {
        let Some(order) = order(test, Lock::Ordinary) else {
            return;
        };
        let middle = place(&order, Event::MiddleDone);
        assert!(middle < place(&order, Event::HolderDone), "{order:?}");
        assert!(middle < place(&order, Event::RealTimeIn), "{order:?}");
    }
}
