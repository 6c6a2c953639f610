//! The TSC of x86-64, scaled to nanoseconds by calibration against `CLOCK_MONOTONIC_RAW`.
#![allow(unsafe_code)]

use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc, CpuidResult};
use std::time::Duration;

use super::{Clock, MonotonicTime};
use crate::os::monotonic_raw_ns;

/// How long the calibration looks at both clocks. The two readings at each end are good to some
/// tens of nanoseconds, so the rate is good to about one part in a million.
const CALIBRATION: Duration = Duration::from_millis(50);
/// Pairs tried at each end of the calibration; the closest one is kept.
const PAIRS: usize = 64;
/// Fraction bits of the factor from ticks to nanoseconds.
const SHIFT: u32 = 32;

/// An invariant time stamp counter with its scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tsc {
    base_ticks: u64,
    base_ns: u64,
    /// Nanoseconds a tick, times 2^32.
    factor: u64,
}

impl Tsc {
    /// Checks that the counter can be trusted and measures its scale.
    pub(super) fn calibrate() -> Result<Self, String> {
        check_invariant()?;
        check_kernel_trust(&available_clock_sources())?;
        let (first_ticks, first_ns) = closest_pair();
        std::thread::sleep(CALIBRATION);
        let (last_ticks, last_ns) = closest_pair();
        let factor = factor(last_ticks.wrapping_sub(first_ticks), last_ns - first_ns)?;
        Ok(Self {
            base_ticks: last_ticks,
            base_ns: last_ns,
            factor,
        })
    }
}

impl Clock for Tsc {
    #[inline]
    fn now(&self) -> MonotonicTime {
        // The base lies in the past; a reading on another core may still be a few ticks behind it.
        let ticks = read_ticks().saturating_sub(self.base_ticks);
        let ns = (u128::from(ticks) * u128::from(self.factor)) >> SHIFT;
        MonotonicTime::from_ns(self.base_ns.saturating_add(ns as u64))
    }

    fn name(&self) -> &'static str {
        "TSC"
    }
}

#[inline]
fn read_ticks() -> u64 {
    // SAFETY: LFENCE is part of SSE2, which every x86-64 processor has, and touches no memory.
    unsafe { _mm_lfence() };
    // SAFETY: RDTSC exists on every x86-64 processor and reads no memory.
    unsafe { _rdtsc() }
}

#[allow(
    unused_unsafe,
    reason = "unsafe to call in the oldest supported Rust, safe in later ones"
)]
fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: CPUID exists on every x86-64 processor and reads no memory.
    unsafe { __cpuid(leaf) }
}

/// CPUID leaf 0x8000_0007, EDX bit 8: the counter runs at a constant rate in all power states
/// (AMD64 Architecture Programmer's Manual volume 3, and Intel SDM volume 3, "Invariant TSC").
fn check_invariant() -> Result<(), String> {
    const EXTENDED: u32 = 0x8000_0000;
    const POWER: u32 = 0x8000_0007;
    let has_leaf = cpuid(EXTENDED).eax >= POWER;
    if has_leaf && cpuid(POWER).edx & (1 << 8) != 0 {
        return Ok(());
    }
    Err(
        "the processor (or the virtual machine) does not declare its time stamp counter \
         invariant, so it may change rate or stop"
            .to_owned(),
    )
}

/// The kernel withdraws `tsc` from the list when its watchdog finds the cores out of step.
fn check_kernel_trust(available: &str) -> Result<(), String> {
    if available.is_empty() || available.split_whitespace().any(|source| source == "tsc") {
        return Ok(());
    }
    Err(format!(
        "the kernel does not trust the time stamp counter: its clock sources are `{}`",
        available.trim()
    ))
}

fn available_clock_sources() -> String {
    let path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Reads ticks between two readings of the system's clock; returns the pair with the shortest span between the
/// readings.
fn closest_pair() -> (u64, u64) {
    let mut best = (0, 0);
    let mut best_gap = u64::MAX;
    for _ in 0..PAIRS {
        let before = monotonic_raw_ns();
        let ticks = read_ticks();
        let after = monotonic_raw_ns();
        let gap = after - before;
        if gap < best_gap {
            best_gap = gap;
            best = (ticks, before + gap / 2);
        }
    }
    best
}

fn factor(ticks: u64, ns: u64) -> Result<u64, String> {
    let factor = (u128::from(ns) << SHIFT)
        .checked_div(u128::from(ticks))
        .unwrap_or(0);
    u64::try_from(factor)
        .ok()
        .filter(|factor| *factor > 0)
        .ok_or_else(|| {
            format!("the time stamp counter moved {ticks} ticks in {ns} ns, which is not a rate")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_at_3_ghz_scales_to_a_third_of_a_nanosecond() {
        let factor = factor(3_000_000_000, 1_000_000_000).unwrap();
        assert_eq!(factor, (1_u64 << SHIFT) / 3);
    }

    #[test]
    fn a_counter_that_stands_still_is_refused() {
        assert!(factor(0, 1_000).is_err());
    }

    #[test]
    fn a_counter_the_kernel_dropped_is_refused() {
        assert!(
            check_kernel_trust("kvm-clock acpi_pm \n")
                .unwrap_err()
                .contains("kvm-clock")
        );
        assert!(check_kernel_trust("tsc hpet acpi_pm \n").is_ok());
        assert!(check_kernel_trust("").is_ok());
    }
}
