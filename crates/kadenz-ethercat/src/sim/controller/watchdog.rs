//! The process data watchdog: outputs that come too late.

use super::memory::Memory;
use crate::sim::Time;
use crate::wire::register::{
    WATCHDOG_DIVIDER, WATCHDOG_PDI, WATCHDOG_PROCESS_DATA, WATCHDOG_PROCESS_DATA_COUNT,
    WATCHDOG_STATUS,
};

/// When outputs are late.
#[derive(Debug)]
pub(super) struct Watchdog {
    due: Time,
}

impl Watchdog {
    pub(super) fn new() -> Self {
        Self { due: Time::NEVER }
    }

    /// As after power on: ticks of 100 us, both watchdogs at 100 ms, not yet fed.
    pub(super) fn reset(&mut self, memory: &mut Memory) {
        self.due = Time::NEVER;
        memory.set_u16(WATCHDOG_DIVIDER, 2498);
        memory.set_u16(WATCHDOG_PDI, 1000);
        memory.set_u16(WATCHDOG_PROCESS_DATA, 1000);
    }

    /// Outputs came.
    pub(super) fn feed(&mut self, memory: &mut Memory, now: Time) {
        let ticks = u64::from(memory.u16(WATCHDOG_PROCESS_DATA));
        let tick_ns = (u64::from(memory.u16(WATCHDOG_DIVIDER)) + 2) * 40;
        self.due = match ticks {
            0 => Time::NEVER,
            _ => now.after(ticks * tick_ns),
        };
        memory.set_u16(WATCHDOG_STATUS, 1);
    }

    /// The registers were written: a running watchdog takes the new time, one of 0 is off.
    pub(super) fn reload(&mut self, memory: &mut Memory, now: Time) {
        if self.due != Time::NEVER || memory.u16(WATCHDOG_PROCESS_DATA) == 0 {
            self.feed(memory, now);
        }
    }

    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Nothing came in time.
    pub(super) fn expire(&mut self, memory: &mut Memory) {
        self.due = Time::NEVER;
        memory.set_u16(WATCHDOG_STATUS, 0);
        memory.count(WATCHDOG_PROCESS_DATA_COUNT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_expires_when_the_registers_say_and_is_off_at_zero() {
        let (mut memory, mut watchdog) = (Memory::new(1), Watchdog::new());
        watchdog.reset(&mut memory);
        assert_eq!(watchdog.due(), Time::NEVER, "not before it was fed once");
        watchdog.feed(&mut memory, Time(7));
        assert_eq!(watchdog.due(), Time(100_000_007));
        watchdog.expire(&mut memory);
        assert_eq!(memory.u16(WATCHDOG_STATUS), 0);
        assert_eq!(memory.u8(WATCHDOG_PROCESS_DATA_COUNT), 1);
        memory.set_u16(WATCHDOG_PROCESS_DATA, 0);
        watchdog.reload(&mut memory, Time(8));
        assert_eq!(
            (watchdog.due(), memory.u16(WATCHDOG_STATUS)),
            (Time::NEVER, 1)
        );
    }
}
