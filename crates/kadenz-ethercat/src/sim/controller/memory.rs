//! Registers and process memory as bytes, and the registers that a MainDevice may write.

use super::chip::Chip;
use super::guard::Guards;
use crate::sim::{Pdi, PdiAccessError, PdiSendError, Time};
use crate::wire::sync_manager::{SyncManagerDirection, SyncManagerMode};
use crate::wire::{AlStatusCode, State, SyncManager, register};

/// First address that a SyncManager may guard: digital outputs are in registers.
pub(super) const GUARDED: u16 = register::OUTPUTS;

/// 4 KiB of registers, and the process memory behind them.
#[derive(Debug)]
pub(super) struct Memory {
    bytes: Box<[u8]>,
}

impl Memory {
    pub(super) fn new(ram_kib: u8) -> Self {
        let ram = usize::from(ram_kib.min(60)) * 1024;
        Self {
            bytes: vec![0; usize::from(register::RAM) + ram].into_boxed_slice(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// The byte behind the last.
    pub(super) fn end(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// The caller has checked that `start` and `length` are inside.
    pub(super) fn at(&self, start: u32, length: usize) -> &[u8] {
        &self.bytes[start as usize..start as usize + length]
    }

    /// The caller has checked that `start` and `length` are inside.
    pub(super) fn at_mut(&mut self, start: u32, length: usize) -> &mut [u8] {
        &mut self.bytes[start as usize..start as usize + length]
    }

    pub(super) fn array<const N: usize>(&self, register: u16) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.at(register.into(), N));
        bytes
    }

    pub(super) fn u8(&self, register: u16) -> u8 {
        self.bytes[usize::from(register)]
    }

    pub(super) fn u16(&self, register: u16) -> u16 {
        u16::from_le_bytes(self.array(register))
    }

    pub(super) fn u32(&self, register: u16) -> u32 {
        u32::from_le_bytes(self.array(register))
    }

    pub(super) fn u64(&self, register: u16) -> u64 {
        u64::from_le_bytes(self.array(register))
    }

    pub(super) fn set(&mut self, register: u16, bytes: &[u8]) {
        self.at_mut(register.into(), bytes.len())
            .copy_from_slice(bytes);
    }

    pub(super) fn set_u8(&mut self, register: u16, value: u8) {
        self.bytes[usize::from(register)] = value;
    }

    pub(super) fn set_u16(&mut self, register: u16, value: u16) {
        self.set(register, &value.to_le_bytes());
    }

    /// Increments an event counter, which stops at its maximum.
    pub(super) fn count(&mut self, register: u16) {
        let value = &mut self.bytes[usize::from(register)];
        *value = value.saturating_add(1);
    }
}

/// Registers that a MainDevice may write, each with its number of bytes.
const WRITABLE: [(u16, u16); 24] = [
    (register::STATION_ADDRESS, 2),
    (register::WRITE_PROTECTION, 2),
    (register::CONTROLLER_WRITE_PROTECTION, 2),
    (register::RESET, 2),
    (register::DL_CONTROL, 4),
    (register::READ_WRITE_OFFSET, 2),
    (register::AL_CONTROL, 2),
    (register::ECAT_EVENT_MASK, 2),
    (register::RX_ERRORS, 14),
    (register::LOST_LINKS, 4),
    (register::WATCHDOG_DIVIDER, 2),
    (register::WATCHDOG_PDI, 2),
    (register::WATCHDOG_PROCESS_DATA, 2),
    (register::WATCHDOG_PROCESS_DATA_COUNT, 2),
    (register::SII_CONFIGURATION, 1),
    (register::SII_CONTROL, 14),
    (register::FMMU, 16 * register::FMMU_SIZE),
    (register::SYNC_MANAGER, 16 * register::SYNC_MANAGER_SIZE),
    (register::DC_RECEIVE_TIME, 4),
    (register::DC_SYSTEM_TIME, 8),
    (register::DC_OFFSET, 12),
    (register::DC_SPEED_START, 6),
    (register::DC_CYCLIC_CONTROL, 48),
    (register::OUTPUTS, 256),
];

/// [`WRITABLE`] as one bit per register, for a look-up in constant time.
const MAP: [u64; 64] = {
    let mut map = [0; 64];
    let mut at = 0;
    while at < WRITABLE.len() {
        let (mut register, bytes) = WRITABLE[at];
        let end = register + bytes;
        while register < end {
            map[register as usize / 64] |= 1 << (register % 64);
            register += 1;
        }
        at += 1;
    }
    map
};

/// Whether a MainDevice may write a register.
pub(super) fn writable(register: u16) -> bool {
    if (register::DC_PULSE..register::DC_START_TIME).contains(&register) {
        return false;
    }
    let managers =
        register::SYNC_MANAGER..register::SYNC_MANAGER + 16 * register::SYNC_MANAGER_SIZE;
    if managers.contains(&register) && matches!(register % 8, 5 | 7) {
        return false;
    }
    MAP.get(usize::from(register) / 64)
        .is_some_and(|word| word & 1 << (register % 64) != 0)
}

// The application's view of its controller.

/// The rank of a state.
pub(super) const fn rank(state: State) -> u8 {
    match state {
        State::Init => 0,
        State::PreOp | State::Bootstrap => 1,
        State::SafeOp => 2,
        State::Op => 3,
    }
}

impl Chip {
    /// Checks that process data has this direction in a SyncManager.
    fn check(&self, number: u8, wanted: SyncManagerDirection) -> Result<usize, PdiAccessError> {
        let at = usize::from(number);
        if at >= self.guards.count() {
            return Err(PdiAccessError::Absent(number));
        }
        match self.guards.kind(at) {
            None => Err(PdiAccessError::Inactive(number)),
            Some((SyncManagerMode::Mailbox, _)) => Err(PdiAccessError::Mailbox(number)),
            Some((_, direction)) if direction != wanted => Err(PdiAccessError::Direction(number)),
            Some(_) => Ok(at),
        }
    }
}

impl Pdi for Chip {
    fn now(&self) -> Time {
        self.now
    }

    fn system_time(&self) -> u64 {
        if self.hardware.has_clock() {
            self.clock.system(&self.memory, self.now)
        } else {
            self.clock.local(self.now)
        }
    }

    fn state(&self) -> State {
        self.state
    }

    fn settle(&mut self, result: Result<(), AlStatusCode>) {
        if self.asked.is_some() {
            self.settled = Some(result);
        }
    }

    fn leave(&mut self, to: State, code: AlStatusCode) {
        if rank(to) >= rank(self.state) {
            return;
        }
        let from = self.left.map_or(self.state, |it| it.0);
        self.left = Some((from, to));
        (self.asked, self.settled) = (None, None);
        self.state = to;
        self.show(Some(code));
    }

    fn sync_manager(&self, number: u8) -> Option<SyncManager> {
        let exists = usize::from(number) < self.guards.count();
        exists.then(|| Guards::settings(&self.memory, number.into()))
    }

    fn outputs(&mut self, number: u8, into: &mut [u8]) -> Result<usize, PdiAccessError> {
        let at = self.check(number, SyncManagerDirection::Write)?;
        let Some(outputs) = self.guards.outputs(&mut self.memory, at) else {
            return Err(PdiAccessError::Inactive(number));
        };
        let length = outputs.len().min(into.len());
        into[..length].copy_from_slice(&outputs[..length]);
        Ok(length)
    }

    fn set_inputs(&mut self, number: u8, from: &[u8]) -> Result<(), PdiAccessError> {
        let at = self.check(number, SyncManagerDirection::Read)?;
        self.guards.set_inputs(&mut self.memory, at, from);
        Ok(())
    }

    fn send(&mut self, message: &[u8], after: u64) -> Result<(), PdiSendError> {
        let room = self.guards.answers().map_or(0, |it| it.1);
        if message.is_empty() || message.len() > room {
            return Err(PdiSendError::TooLong {
                length: message.len(),
                room,
            });
        }
        if self.outbox.push(message, self.now.after(after)) {
            Ok(())
        } else {
            Err(PdiSendError::Full(super::outbox::CAPACITY))
        }
    }

    fn room(&self) -> usize {
        self.outbox.room()
    }

    fn peek(&self, address: u16, into: &mut [u8]) {
        let there = self.memory.end().saturating_sub(address.into()) as usize;
        let (known, beyond) = into.split_at_mut(there.min(into.len()));
        known.copy_from_slice(self.memory.at(address.into(), known.len()));
        beyond.fill(0);
    }

    fn poke(&mut self, address: u16, from: &[u8]) {
        let there = self.memory.end().saturating_sub(address.into()) as usize;
        let length = there.min(from.len());
        self.memory.set(address, &from[..length]);
    }

    fn sync_cycles(&self) -> (Option<u32>, Option<u32>) {
        self.sync.cycles()
    }

    fn outputs_in_time(&self) -> bool {
        let off = self.memory.u16(register::WATCHDOG_PROCESS_DATA) == 0;
        off || self.memory.u16(register::WATCHDOG_STATUS) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_reports_is_not_written() {
        for read_only in [
            0x0000, 0x0008, 0x0012, 0x0110, 0x0130, 0x0210, 0x0805, 0x0807, 0x092C, 0x0982, 0x1000,
        ] {
            assert!(!writable(read_only), "{read_only:04X}");
        }
        for obeys in [
            0x0010, 0x0103, 0x0120, 0x0502, 0x060C, 0x0806, 0x0910, 0x0981, 0x09A4,
        ] {
            assert!(writable(obeys), "{obeys:04X}");
        }
    }

    #[test]
    fn a_counter_stops_at_its_end() {
        let mut memory = Memory::new(1);
        for _ in 0..300 {
            memory.count(register::LOST_LINKS);
        }
        assert_eq!(memory.u8(register::LOST_LINKS), 255);
        assert_eq!(memory.end(), 0x1400);
    }
}
