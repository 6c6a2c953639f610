//! M, which belongs to the process.

use std::sync::{Mutex, PoisonError};

use super::*;
use crate::os::linux::memory::thread_faults;
use crate::tuning::linux::memory::locked_kb;
use crate::tuning::prefault::STACK_PREFAULT;

/// Locked memory belongs to the process, so its tests take turns.
static MEMORY: Mutex<()> = Mutex::new(());

#[test]
fn memory_is_locked_until_the_last_guard_goes() {
    let _turn = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    on_own_thread(|| {
        let wish = Tuning {
            lock_memory: true,
            ..Tuning::default()
        };
        let first = apply(&wish);
        let measure = measure(&first, "memory_lock");
        if !measure.ok {
            return skip_for("memory_is_locked_until_the_last_guard_goes", measure);
        }
        assert!(locked_kb("self") > 0);
        let second = apply(&wish);
        drop(first);
        assert!(
            locked_kb("self") > 0,
            "the first guard unlocked under the second"
        );
        drop(second);
        assert_eq!(locked_kb("self"), 0);
    });
}

#[test]
fn memory_beyond_the_limit_is_refused_with_the_remedy() {
    let _turn = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    on_own_thread(|| {
        give_up_capabilities();
        if sched::limit(sched::LimitedResource::LockedMemory).is_none() {
            let missing = "a finite RLIMIT_MEMLOCK; `ulimit -l 8192`";
            return skip(
                "memory_beyond_the_limit_is_refused_with_the_remedy",
                missing,
            );
        }
        let applied = apply(&Tuning {
            lock_memory: true,
            ..Tuning::default()
        });
        let measure = measure(&applied, "memory_lock");
        assert!(!measure.ok);
        assert!(
            measure
                .reason
                .as_deref()
                .unwrap()
                .contains("RLIMIT_MEMLOCK")
        );
        assert!(measure.remedy.as_deref().unwrap().contains("prlimit"));
    });
}

#[test]
fn touched_and_locked_memory_does_not_fault() {
    let _turn = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    on_own_thread(|| {
        let applied = apply(&Tuning {
            lock_memory: true,
            ..Tuning::default()
        });
        if !applied.all_granted() {
            return skip(
                "touched_and_locked_memory_does_not_fault",
                "the right to lock memory; `ulimit -l unlimited`",
            );
        }
        use_stack();
        let before = thread_faults();
        use_stack();
        let after = thread_faults();
        assert_eq!(after, before);
    });
}

/// Uses a large part of the memory that was touched in advance.
#[inline(never)]
fn use_stack() {
    let mut bytes = [0_u8; STACK_PREFAULT / 2];
    std::hint::black_box(&mut bytes);
}
