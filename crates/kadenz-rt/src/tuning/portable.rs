//! Tuning on systems other than Linux, which lack most of it.

use super::{Measure, Note};

/// A measure that this operating system cannot take.
pub(super) fn absent(name: &'static str, requested: String, why: &str, remedy: &str) -> Measure {
    Measure::noted(
        name,
        requested,
        "nothing",
        false,
        Some(Note::new(why, remedy)),
    )
}

/// Locked memory, where the operating system cannot lock all of a process.
pub(super) fn no_memory_lock() -> Measure {
    super::prefault();
    absent(
        "memory_lock",
        "all current and future pages".to_owned(),
        "this operating system cannot lock all memory of a process; stack and heap have been touched",
        "keep enough memory free, or measure on Linux",
    )
}

/// The latency of idle processors, which only Linux lets a process bound.
pub(super) fn no_dma_latency(latency_us: u32) -> Measure {
    absent(
        "cpu_dma_latency",
        format!("{latency_us} us"),
        "only Linux lets a process bound the wake-up latency of idle processors",
        "choose the power plan for highest performance",
    )
}
