//! Distributed clocks: the local clock, its drift, and the control loop that makes it follow the reference.
//!
//! The controller's clock counts local time. System time is local time plus the offset of register 0x0920. A write of
//! the reference's time to 0x0910 is compared with the local system time minus the delay of register 0x0928, and the
//! loop changes the clock's speed by the difference. The loop has a proportional and an integral part; real
//! controllers have other numbers, but the same kind of loop.

use super::memory::Memory;
use crate::sim::Time;
use crate::wire::register;

/// Most by which the loop changes the clock's speed, in parts per billion.
const MAX_SLEW: i64 = 500_000;

/// The fraction of the difference that the loop removes until the next write is expected, as a divisor.
const PROPORTIONAL: i64 = 8;

/// The fraction of the difference by which the loop corrects the rate permanently, as a divisor.
const INTEGRAL: i64 = 64;

const BILLION: i128 = 1_000_000_000;

/// The local clock of a controller: its oscillator drifts, and the loop corrects it.
#[derive(Debug)]
pub(super) struct LocalClock {
    /// How much faster than the segment's time the oscillator runs, in parts per billion.
    drift: i64,
    /// The loop's permanent correction, in parts per billion.
    rate: i64,
    /// The correction that removes the present difference, and for how many nanoseconds.
    slew: i64,
    slew_span: u64,
    /// The time from which `local` counts.
    anchor: Time,
    local: u64,
    /// When the reference's time was last written.
    fed: Option<Time>,
    /// Mean difference to the reference, in ns times 16; positive where this clock is ahead.
    difference: i64,
}

impl LocalClock {
    pub(super) fn new(drift: i64, start: u64, now: Time) -> Self {
        Self {
            drift: drift.clamp(-MAX_SLEW, MAX_SLEW),
            rate: 0,
            slew: 0,
            slew_span: 0,
            anchor: now,
            local: start,
            fed: None,
            difference: 0,
        }
    }

    /// Local time at a time of the segment; before the last correction, extrapolated with the present speed.
    pub(super) fn local(&self, at: Time) -> u64 {
        let elapsed = i128::from(at.0) - i128::from(self.anchor.0);
        let slewed = elapsed.clamp(0, self.slew_span.into());
        let gained = (elapsed * i128::from(self.drift + self.rate)
            + slewed * i128::from(self.slew))
            / BILLION;
        self.local.wrapping_add((elapsed + gained) as u64)
    }

    /// The segment's time at which the local time is `local`, by the present correction; `None` where that is past.
    pub(super) fn when(&self, local: u64, now: Time) -> Option<Time> {
        let ahead = local.wrapping_sub(self.local(now)) as i64;
        let ahead = u64::try_from(ahead).ok()?;
        let span = i128::from(ahead) * BILLION / (BILLION + i128::from(self.drift + self.rate));
        let about = now.after(u64::try_from(span).unwrap_or(u64::MAX));
        // The estimate ignores the slew, which may end in between; `short` corrects that.
        let short = local.wrapping_sub(self.local(about)) as i64;
        Some(Time(about.0.saturating_add_signed(short)).max(now))
    }

    fn anchor_at(&mut self, now: Time) {
        self.local = self.local(now);
        self.slew_span = self.slew_span.saturating_sub(now.since(self.anchor));
        self.anchor = self.anchor.max(now);
    }

    /// Feeds the reference's time; `ahead` is how far this clock is before it, in ns.
    pub(super) fn feed(&mut self, ahead: i64, filter: u8, now: Time) {
        self.anchor_at(now);
        let bounded = ahead.clamp(-(1 << 40), 1 << 40);
        self.difference += (bounded * 16 - self.difference) >> filter.min(8);
        let since = self.fed.replace(now).map_or(0, |fed| now.since(fed));
        if since == 0 {
            return;
        }
        let error = (i128::from(bounded) * BILLION / i128::from(since)) as i64;
        let limited = |value: i64| value.clamp(-MAX_SLEW, MAX_SLEW);
        self.slew = limited(-error / PROPORTIONAL);
        self.slew_span = since;
        self.rate = limited(self.rate - limited(error) / INTEGRAL);
    }

    /// Resets the loop, as a write to register 0x0930 does.
    pub(super) fn reset_loop(&mut self, now: Time) {
        self.anchor_at(now);
        self.slew = 0;
        self.fed = None;
        self.difference = 0;
    }

    /// Register 0x092C: sign and magnitude; the sign is set where this clock is behind.
    pub(super) fn difference(&self) -> u32 {
        let mean = self.difference / 16;
        let magnitude = mean.unsigned_abs().min(0x7FFF_FFFF) as u32;
        magnitude | u32::from(mean < 0) << 31
    }

    /// Sets the oscillator's drift from now on, in parts per billion, as of a cold or a warm one.
    pub(super) fn set_drift(&mut self, drift: i64, now: Time) {
        self.anchor_at(now);
        self.drift = drift.clamp(-MAX_SLEW, MAX_SLEW);
    }

    /// System time: local time and the offset in the registers.
    pub(super) fn system(&self, memory: &Memory, at: Time) -> u64 {
        self.local(at).wrapping_add(memory.u64(register::DC_OFFSET))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_drifts_by_the_set_rate() {
        let fast = LocalClock::new(50_000, 1_000, Time::ZERO);
        assert_eq!(fast.local(Time(1_000_000_000)), 1_000_050_000 + 1_000);
        let slow = LocalClock::new(-50_000, 0, Time::ZERO);
        assert_eq!(slow.local(Time(1_000_000_000)), 999_950_000);
    }

    #[test]
    fn a_time_ahead_is_met_within_a_nanosecond_and_the_past_never() {
        let clock = LocalClock::new(123_456, 77, Time(500));
        let target = clock.local(Time(1_000_000_500));
        let when = clock.when(target, Time(1_000)).unwrap();
        assert!(clock.local(when).abs_diff(target) <= 1);
        assert_eq!(clock.when(76, Time(1_000)), None);
    }

    /// Fed each millisecond, the clock is within 20 ns of the reference after a second, with any drift within the
    /// loop's range and an initial error of some microseconds.
    #[test]
    fn the_loop_takes_drift_and_difference_away() {
        for (drift, start) in [(100_000, 0), (-100_000, 3_000), (20_000, -5_000_i64 as u64)] {
            let mut clock = LocalClock::new(drift, start, Time::ZERO);
            let mut worst = 0;
            for step in 1..2_000 {
                let now = Time(step * 1_000_000);
                let ahead = clock.local(now).wrapping_sub(now.0) as i64;
                if step > 1_000 {
                    worst = worst.max(ahead.abs());
                }
                clock.feed(ahead, 4, now);
            }
            assert!(worst <= 20, "{drift} ppb: {worst} ns");
        }
    }

    #[test]
    fn hostile_times_do_not_break_the_loop() {
        let mut clock = LocalClock::new(0, u64::MAX - 5, Time::ZERO);
        for (step, ahead) in [i64::MAX, i64::MIN, 0, i64::MIN, 1].into_iter().enumerate() {
            clock.feed(ahead, 255, Time(step as u64));
            let _ = (clock.difference(), clock.local(Time(u64::MAX)));
        }
    }

    #[test]
    fn the_register_has_a_sign_and_a_magnitude() {
        let mut clock = LocalClock::new(0, 0, Time::ZERO);
        clock.feed(-160, 0, Time(10));
        assert_eq!(clock.difference(), 0x8000_0000 | 160);
        clock.feed(160, 0, Time(20));
        assert_eq!(clock.difference(), 160);
    }
}
