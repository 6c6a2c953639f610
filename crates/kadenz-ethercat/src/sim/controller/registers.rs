//! A MainDevice's reads and writes: bytes, and the effects of registers.

use super::chip::{AL_EVENT, Arrival, Chip, DL_EVENT};
use super::memory::{GUARDED, writable};
use crate::sim::Time;
use crate::wire::register::{self, pdi_control};

/// Registers of distributed clocks; a controller without clocks does not answer here.
const DC: std::ops::Range<u32> = register::DC_RECEIVE_TIME as u32..register::DC_END as u32;
/// The registers that need the clock's power.
const POWERED: std::ops::Range<u32> = register::DC_SYSTEM_TIME as u32..register::DC_END as u32;
/// The SII enables SYNC or latch.
const UNITS_IN_USE: u16 = pdi_control::SYNC | pdi_control::LATCH;
const SII: std::ops::Range<u32> = register::SII_CONTROL as u32..register::SII_DATA as u32 + 8;
/// The letters that reset a controller.
const RESET_WORD: &[u8; 3] = b"RES";

fn overlap(start: u32, end: u32, range: &std::ops::Range<u32>) -> bool {
    start < range.end && end > range.start
}

/// Whether `start..end` touches `length` bytes of a register.
fn touches(start: u32, end: u32, register: u16, length: u32) -> bool {
    let register = u32::from(register);
    overlap(start, end, &(register..register + length))
}

impl Chip {
    /// Reads, or adds bits by OR; returns false where no byte may be read.
    pub(super) fn read(
        &mut self,
        address: u16,
        into: &mut [u8],
        or: bool,
        arrival: &Arrival,
    ) -> bool {
        let start = u32::from(address);
        let end = start + into.len() as u32;
        if end > self.memory.end() || !self.answers(start, end) {
            return false;
        }
        if overlap(start, end, &DC) {
            self.refresh_clock(arrival.unit);
        }
        if address >= GUARDED {
            return self.guards.read(&mut self.memory, start, into, or);
        }
        let registers = into.len().min(usize::from(GUARDED - address));
        let (into, behind) = into.split_at_mut(registers);
        let from = self.memory.at(start, registers);
        if or {
            into.iter_mut()
                .zip(from)
                .for_each(|(into, from)| *into |= from);
        } else {
            into.copy_from_slice(from);
        }
        self.clear_events(start, end);
        if !behind.is_empty() {
            self.guards
                .read(&mut self.memory, GUARDED.into(), behind, or);
        }
        true
    }

    /// Writes; returns false where no byte may be written.
    pub(super) fn write(&mut self, address: u16, from: &[u8], arrival: &Arrival) -> bool {
        let start = u32::from(address);
        let end = start + from.len() as u32;
        if end > self.memory.end() || !self.answers(start, end) {
            return false;
        }
        if address >= GUARDED {
            return self.guards.write(&mut self.memory, start, from);
        }
        if overlap(start, end, &SII) && !self.sii.accessible(&self.memory) {
            return false;
        }
        let registers = from.len().min(usize::from(GUARDED - address));
        let mut written = from.is_empty();
        for (register, byte) in (address..GUARDED).zip(&from[..registers]) {
            if self.takes(register) {
                self.memory.set_u8(register, *byte);
                written = true;
            }
        }
        if written {
            self.obey(start, end.min(GUARDED.into()), from, arrival);
        }
        if registers < from.len() {
            written |= self
                .guards
                .write(&mut self.memory, GUARDED.into(), &from[registers..]);
        }
        written
    }

    /// Whether any register is there: a controller without clocks has none of theirs, and one whose clocks get no
    /// power has the receive times alone.
    fn answers(&self, start: u32, end: u32) -> bool {
        let powered = if self.has_powered_clock() {
            true
        } else {
            !overlap(start, end, &POWERED)
        };
        powered && (self.hardware.has_clock() || start < DC.start || end > DC.end)
    }

    /// Bits 10 and 11 of the PDI control word in the SII switch the clock's power.
    fn has_powered_clock(&self) -> bool {
        !self.hardware.saves_clock_power
            || self.memory.u16(register::PDI_CONTROL) & UNITS_IN_USE != 0
    }

    /// Whether a register may be written; the number of FMMUs and SyncManagers is limited.
    fn takes(&self, register: u16) -> bool {
        let beyond = |first: u16, size: u16, count: usize, most: u16| {
            let end = first + most * size;
            (first..end).contains(&register) && usize::from((register - first) / size) >= count
        };
        let fmmus = usize::from(self.hardware.fmmus);
        writable(register)
            && !self.holds(register)
            && !beyond(register::FMMU, register::FMMU_SIZE, fmmus, 16)
            && !beyond(
                register::SYNC_MANAGER,
                register::SYNC_MANAGER_SIZE,
                self.guards.count(),
                16,
            )
    }

    /// With firmware, AL control is a mailbox of one value: it takes the next value after the application has read
    /// the last (Beckhoff's ESC data sheet, section II, register 0x0120).
    fn holds(&self, register: u16) -> bool {
        let control = register::AL_CONTROL..register::AL_CONTROL + 2;
        self.unread && control.contains(&register)
    }

    /// A read of the states ends their events.
    fn clear_events(&mut self, start: u32, end: u32) {
        for (register, event) in [
            (register::AL_STATUS, AL_EVENT),
            (register::DL_STATUS, DL_EVENT),
        ] {
            if touches(start, end, register, 2) {
                let events = self.memory.u16(register::ECAT_EVENT) & !event;
                self.memory.set_u16(register::ECAT_EVENT, events);
            }
        }
    }

    /// The effects of registers. Few are written at a time, and in groups.
    fn obey(&mut self, start: u32, end: u32, from: &[u8], arrival: &Arrival) {
        let touches = |register, length| touches(start, end, register, length);
        self.marks.stirred = true;
        if start < 0x0400 {
            self.handle_link_write(start, end, from);
        } else if start < 0x0600 {
            if touches(register::WATCHDOG_DIVIDER, 0x22) {
                self.watchdog.reload(&mut self.memory, self.now);
            }
            if touches(register::WATCHDOG_PROCESS_DATA_COUNT, 2) {
                self.memory
                    .set(register::WATCHDOG_PROCESS_DATA_COUNT, &[0; 2]);
            }
            if touches(register::SII_CONTROL, 2) {
                self.sii.obey(&mut self.memory, self.now);
            }
        }
        if touches(register::FMMU, 0x100) {
            self.mapping.reload(&mut self.memory);
            self.marks.index = true;
        }
        if touches(
            register::SYNC_MANAGER,
            16 * u32::from(register::SYNC_MANAGER_SIZE),
        ) {
            self.guards.reload(&mut self.memory);
        }
        if overlap(start, end, &DC) {
            self.handle_clock_write(start, end, from, arrival);
        }
    }

    fn handle_link_write(&mut self, start: u32, end: u32, from: &[u8]) {
        let touches = |register, length| touches(start, end, register, length);
        if touches(register::STATION_ADDRESS, 2) {
            self.marks.index = true;
        }
        if touches(register::RESET, 1) {
            let byte = from[(u32::from(register::RESET) - start) as usize];
            self.reset_word = match RESET_WORD.get(self.reset_word) {
                Some(next) if *next == byte => self.reset_word + 1,
                _ => usize::from(byte == RESET_WORD[0]),
            };
            self.marks.reset |= self.reset_word == RESET_WORD.len();
        }
        if touches(register::DL_CONTROL, 4) {
            self.marks.ports = true;
            self.marks.index = true;
        }
        if touches(register::AL_CONTROL, 2) && !self.unread {
            self.marks.al_control = true;
            self.unread = !self.emulates();
        }
        if touches(register::RX_ERRORS, 12) {
            self.memory.set(register::RX_ERRORS, &[0; 12]);
        }
        if touches(register::PROCESSING_UNIT_ERRORS, 2) {
            self.memory.set(register::PROCESSING_UNIT_ERRORS, &[0; 2]);
        }
        if touches(register::LOST_LINKS, 4) {
            self.memory.set(register::LOST_LINKS, &[0; 4]);
        }
    }

    fn handle_clock_write(&mut self, start: u32, end: u32, from: &[u8], arrival: &Arrival) {
        let touches = |register, length| touches(start, end, register, length);
        if touches(register::DC_RECEIVE_TIME, 4) {
            self.latch(arrival);
        }
        if touches(register::DC_SYSTEM_TIME, 8) {
            self.follow(start, from, arrival.unit);
        }
        if touches(register::DC_SPEED_START, 2) {
            self.clock.reset_loop(self.now);
        }
        if touches(register::DC_ACTIVATION, 1) {
            self.sync.activate(&mut self.memory, &self.clock, self.now);
        } else {
            self.sync.schedule(&self.memory, &self.clock, self.now);
        }
    }

    /// Latches when the frame arrived at each port, in local time, which is without the offset.
    fn latch(&mut self, arrival: &Arrival) {
        for (register, at) in (register::DC_RECEIVE_TIME..).step_by(4).zip(arrival.ports) {
            if at != Time::NEVER {
                let local = self.clock.local(at) as u32;
                self.memory.set(register, &local.to_le_bytes());
            }
        }
        let unit = self.clock.local(arrival.unit);
        self.memory
            .set(register::DC_RECEIVE_TIME_UNIT, &unit.to_le_bytes());
    }

    /// Takes the reference's system time: eight bytes of it, or the lower four.
    fn follow(&mut self, start: u32, from: &[u8], at: Time) {
        let offset = u32::from(register::DC_SYSTEM_TIME).checked_sub(start);
        let Some(reference) = offset.and_then(|it| from.get(it as usize..)) else {
            return;
        };
        let own = self
            .clock
            .system(&self.memory, at)
            .wrapping_sub(self.memory.u32(register::DC_DELAY).into());
        let ahead = if let Some(long) = reference.first_chunk() {
            own.wrapping_sub(u64::from_le_bytes(*long)) as i64
        } else if let Some(short) = reference.first_chunk() {
            i64::from((own as u32).wrapping_sub(u32::from_le_bytes(*short)) as i32)
        } else {
            return;
        };
        let filter = self.memory.u8(register::DC_FILTER) & 0x0F;
        self.clock.feed(ahead, filter, at);
    }

    /// Updates the registers that are clocks.
    fn refresh_clock(&mut self, at: Time) {
        let system = self.clock.system(&self.memory, at);
        self.memory
            .set(register::DC_SYSTEM_TIME, &system.to_le_bytes());
        let difference = self.clock.difference();
        self.memory
            .set(register::DC_DIFFERENCE, &difference.to_le_bytes());
    }
}
