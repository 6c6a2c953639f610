//! The sync unit: pulses at times of the distributed clocks.

use super::clock::LocalClock;
use super::memory::Memory;
use crate::sim::{Signal, Time};
use crate::wire::register::dc_activation::{CYCLIC, SYNC0, SYNC1};
use crate::wire::register::{
    DC_ACTIVATION, DC_ACTIVATION_STATUS, DC_OFFSET, DC_START_TIME, DC_SYNC0_CYCLE, DC_SYNC1_CYCLE,
};

/// SYNC0 and SYNC1, in system time and in the segment's.
#[derive(Debug)]
pub(super) struct SyncUnit {
    active: u8,
    cycle0: u32,
    /// SYNC1 pulses with every `every`-th SYNC0, and so many ns behind it.
    every: u32,
    behind: u32,
    /// SYNC0 pulses since the last one with a SYNC1.
    count: u32,
    next: [Option<u64>; 2],
    due: [Time; 2],
}

impl SyncUnit {
    pub(super) fn new() -> Self {
        Self {
            active: 0,
            cycle0: 0,
            every: 1,
            behind: 0,
            count: 0,
            next: [None; 2],
            due: [Time::NEVER; 2],
        }
    }

    /// Handles a write of the activation register. A start in the past never comes, as on real controllers.
    pub(super) fn activate(&mut self, memory: &mut Memory, clock: &LocalClock, now: Time) {
        let wanted = memory.u8(DC_ACTIVATION);
        let active = if wanted & CYCLIC == 0 {
            0
        } else {
            wanted & (SYNC0 | SYNC1)
        };
        if active == self.active && active != 0 {
            return;
        }
        *self = Self::new();
        self.active = active;
        memory.set_u8(DC_ACTIVATION_STATUS, active >> 1);
        if active == 0 {
            return;
        }
        self.cycle0 = memory.u32(DC_SYNC0_CYCLE);
        let cycle1 = memory.u32(DC_SYNC1_CYCLE);
        (self.every, self.behind) = match self.cycle0 {
            0 => (1, cycle1),
            cycle0 => ((cycle1 / cycle0).saturating_add(1), cycle1 % cycle0),
        };
        let start = memory.u64(DC_START_TIME);
        let ahead = start.wrapping_sub(clock.system(memory, now)) as i64;
        self.next[0] = Some(start).filter(|_| ahead >= 0);
        self.schedule(memory, clock, now);
    }

    /// Computes the times of the pulses again, after the clock's speed changed.
    pub(super) fn schedule(&mut self, memory: &Memory, clock: &LocalClock, now: Time) {
        if self.active == 0 {
            return;
        }
        let offset = memory.u64(DC_OFFSET);
        for (due, next) in self.due.iter_mut().zip(self.next) {
            *due = next.map_or(Time::NEVER, |system| {
                // A pulse that a correction of the clock jumped over comes at once.
                clock.when(system.wrapping_sub(offset), now).unwrap_or(now)
            });
        }
    }

    pub(super) fn due(&self) -> Time {
        self.due[0].min(self.due[1])
    }

    /// The pulse whose time has come; `None` for one that only counts.
    pub(super) fn pulse(
        &mut self,
        memory: &Memory,
        clock: &LocalClock,
        now: Time,
    ) -> Option<Signal> {
        if self.due[1] < self.due[0] {
            self.next[1] = None;
            self.due[1] = Time::NEVER;
            return Some(Signal::Sync1);
        }
        let at = self.next[0]?;
        self.next[0] = (self.cycle0 > 0).then(|| at.wrapping_add(self.cycle0.into()));
        if self.active & SYNC1 != 0 && self.count == 0 {
            self.next[1] = Some(at.wrapping_add(self.behind.into()));
        }
        self.count = (self.count + 1) % self.every;
        self.schedule(memory, clock, now);
        (self.active & SYNC0 != 0).then_some(Signal::Sync0)
    }

    /// Skips the pulses of a long time without an advance.
    pub(super) fn skip(&mut self, memory: &Memory, clock: &LocalClock, now: Time) {
        let Some(at) = self.next[0].filter(|_| self.cycle0 > 0) else {
            return;
        };
        let behind = clock.system(memory, now).wrapping_sub(at) as i64;
        if let Ok(behind) = u64::try_from(behind) {
            let missed = behind / u64::from(self.cycle0) + 1;
            self.next[0] = Some(at.wrapping_add(missed.wrapping_mul(self.cycle0.into())));
            self.count = (u64::from(self.count) + missed).rem_euclid(self.every.into()) as u32;
            self.next[1] = None;
        }
        self.schedule(memory, clock, now);
    }

    /// Cycles of SYNC0 and SYNC1, where they are active.
    pub(super) fn cycles(&self) -> (Option<u32>, Option<u32>) {
        let cycle1 = match self.cycle0 {
            0 => self.behind,
            cycle0 => cycle0.saturating_mul(self.every),
        };
        (
            (self.active & SYNC0 != 0).then_some(self.cycle0),
            (self.active & SYNC1 != 0).then_some(cycle1),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(cycle0: u32, cycle1: u32) -> (SyncUnit, Memory, LocalClock) {
        let (mut unit, mut memory) = (SyncUnit::new(), Memory::new(1));
        let clock = LocalClock::new(0, 0, Time::ZERO);
        memory.set(DC_START_TIME, &1_000_u64.to_le_bytes());
        memory.set(DC_SYNC0_CYCLE, &cycle0.to_le_bytes());
        memory.set(DC_SYNC1_CYCLE, &cycle1.to_le_bytes());
        memory.set_u8(DC_ACTIVATION, 7);
        unit.activate(&mut memory, &clock, Time::ZERO);
        (unit, memory, clock)
    }

    fn pulses(cycle0: u32, cycle1: u32, count: usize) -> Vec<(u64, Signal)> {
        let (mut unit, memory, clock) = started(cycle0, cycle1);
        let mut all = Vec::new();
        while all.len() < count && unit.due() != Time::NEVER {
            let due = unit.due();
            all.extend(unit.pulse(&memory, &clock, due).map(|it| (due.0, it)));
        }
        all
    }

    #[test]
    fn sync1_follows_every_sync0_or_every_so_manieth() {
        use Signal::{Sync0, Sync1};
        assert_eq!(
            pulses(100, 30, 4),
            [
                (1_000, Sync0),
                (1_030, Sync1),
                (1_100, Sync0),
                (1_130, Sync1)
            ]
        );
        assert_eq!(
            pulses(100, 100, 5),
            [
                (1_000, Sync0),
                (1_000, Sync1),
                (1_100, Sync0),
                (1_200, Sync0),
                (1_200, Sync1)
            ]
        );
        assert_eq!(pulses(0, 0, 9), [(1_000, Sync0), (1_000, Sync1)], "once");
    }

    #[test]
    fn a_start_that_is_past_never_comes() {
        let (mut unit, mut memory, clock) = started(100, 0);
        memory.set_u8(DC_ACTIVATION, 0);
        unit.activate(&mut memory, &clock, Time(2_000));
        memory.set_u8(DC_ACTIVATION, 3);
        unit.activate(&mut memory, &clock, Time(2_000));
        assert_eq!(unit.due(), Time::NEVER);
        assert_eq!(unit.cycles(), (Some(100), None));
    }

    #[test]
    fn pulses_before_a_late_advance_are_skipped() {
        let (mut unit, memory, clock) = started(1, 0);
        unit.skip(&memory, &clock, Time(1_000_000_000));
        assert_eq!(unit.due(), Time(1_000_000_001));
    }
}
