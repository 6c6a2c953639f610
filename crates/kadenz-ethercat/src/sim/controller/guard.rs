//! SyncManagers: mailboxes that are full or empty, and consistent process data.

use super::memory::{GUARDED, Memory};
use crate::description::Hardware;
use crate::wire::register::{SYNC_MANAGER, SYNC_MANAGER_SIZE};
use crate::wire::sync_manager::{
    PDI_CONTROL, STATUS, SyncManagerDirection, SyncManagerMode, SyncManagerStatus,
};
use crate::wire::{SyncManager, register};

const MAX: usize = Hardware::MAX as usize;

/// An active SyncManager.
#[derive(Debug, Clone, Copy)]
struct Guard {
    start: u32,
    end: u32,
    mode: SyncManagerMode,
    direction: SyncManagerDirection,
    raises_event: bool,
    feeds_watchdog: bool,
    /// The MainDevice has accessed the first byte and not yet the last.
    open: bool,
    /// The application has set inputs that the MainDevice has not begun to read.
    fresh: bool,
}

impl Guard {
    /// `None` for a SyncManager that is not active, or invalid in this memory.
    fn of(settings: SyncManager, memory_end: u32) -> Option<Self> {
        let validated = settings.active()
            && settings.length > 0
            && settings.start >= GUARDED
            && settings.end() <= memory_end;
        Some(Self {
            start: settings.start.into(),
            end: settings.end(),
            mode: settings.control.mode()?,
            direction: settings.control.direction()?,
            raises_event: settings.control.raises_main_event(),
            feeds_watchdog: settings.control.feeds_watchdog(),
            open: false,
            fresh: false,
        })
        .filter(|_| validated)
    }

    fn length(&self) -> usize {
        (self.end - self.start) as usize
    }
}

/// The effects of a MainDevice's accesses, a bit per SyncManager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AccessEffects {
    /// Whole buffers of outputs were written.
    pub(super) outputs: u16,
    /// Whole buffers of inputs were read.
    pub(super) inputs: u16,
    /// Mailboxes were filled.
    pub(super) filled: u16,
    /// Mailboxes were emptied.
    pub(super) emptied: u16,
    /// A message was requested again.
    pub(super) repeat: u16,
    /// The watchdog was fed.
    pub(super) fed: bool,
}

/// All SyncManagers of a controller.
#[derive(Debug)]
pub(super) struct Guards {
    all: [Option<Guard>; MAX],
    /// The settings when the registers were last read.
    settings: [SyncManager; MAX],
    count: usize,
    /// From the first guarded byte to behind the last; bytes outside are plain memory.
    hull: (u32, u32),
    /// The hidden copy of process data, at the same addresses as in memory: outputs for the application, inputs that
    /// the MainDevice does not see yet.
    shadow: Memory,
    pub(super) happened: AccessEffects,
}

fn registers_of(number: usize) -> u16 {
    SYNC_MANAGER + number as u16 * SYNC_MANAGER_SIZE
}

impl Guards {
    pub(super) fn new(hardware: &Hardware) -> Self {
        Self {
            all: [None; MAX],
            settings: [SyncManager::default(); MAX],
            count: usize::from(hardware.sync_managers.min(Hardware::MAX)),
            hull: (u32::MAX, 0),
            shadow: Memory::new(hardware.ram_kib),
            happened: AccessEffects::default(),
        }
    }

    pub(super) fn reset(&mut self) {
        self.all = [None; MAX];
        self.settings = [SyncManager::default(); MAX];
        self.hull = (u32::MAX, 0);
        self.happened = AccessEffects::default();
        self.shadow.clear();
    }

    /// The number of SyncManagers.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Applies a MainDevice's writes to the registers.
    pub(super) fn reload(&mut self, memory: &mut Memory) {
        for number in 0..MAX {
            let at = registers_of(number);
            if number >= self.count {
                memory.set(at, &[0; 8]);
                continue;
            }
            let old = self.settings[number];
            let mut new = SyncManager::from_bytes(memory.array(at));
            if old.active() && new.active() {
                // A mailbox cannot move while it is active.
                (new.start, new.length, new.control) = (old.start, old.length, old.control);
            }
            if (old.activate ^ new.activate) & SyncManager::REPEAT != 0 {
                self.happened.repeat |= 1 << number;
            }
            if old.active() != new.active() {
                new.status = SyncManagerStatus(0);
                self.all[number] = Guard::of(new, memory.end());
                if self.all[number].is_some_and(|it| it.mode == SyncManagerMode::Buffered) {
                    new.status = SyncManagerStatus(SyncManagerStatus::NOTHING_WRITTEN);
                }
            }
            self.settings[number] = new;
            memory.set(at, &new.to_bytes());
        }
        self.measure();
    }

    /// The application's answer to a repeat request.
    pub(super) fn set_pdi_control(&mut self, memory: &mut Memory, number: usize, bits: u8) {
        memory.set_u8(registers_of(number) + PDI_CONTROL, bits);
        self.settings[number].pdi_control = bits;
    }

    fn measure(&mut self) {
        self.hull = self
            .all
            .iter()
            .flatten()
            .fold((u32::MAX, 0), |(start, end), it| {
                (start.min(it.start), end.max(reserved_end(it)))
            });
    }

    /// The guard of a byte, or the next guarded byte.
    fn find(&self, address: u32) -> (Option<usize>, u32) {
        let mut next = u32::MAX;
        for (number, guard) in self.all[..self.count].iter().enumerate() {
            let Some(guard) = guard else { continue };
            if (guard.start..guard.end).contains(&address) {
                return (Some(number), guard.end);
            }
            if guard.start > address {
                next = next.min(guard.start);
            }
        }
        (None, next)
    }

    /// Whether plain bytes are the second or third buffer of process data, which no access may reach.
    fn hidden(&self, start: u32, end: u32) -> bool {
        self.all[..self.count]
            .iter()
            .flatten()
            .any(|it| start < reserved_end(it) && end > it.end)
    }

    /// Splits an access into the parts of each SyncManager and the unguarded ones; returns whether any part was
    /// granted.
    fn pieces(
        &mut self,
        memory: &mut Memory,
        address: u32,
        length: usize,
        mut one: impl FnMut(&mut Self, &mut Memory, Option<usize>, u32, std::ops::Range<usize>) -> bool,
    ) -> bool {
        let end = address + length as u32;
        if end <= self.hull.0 || address >= self.hull.1 {
            return one(self, memory, None, address, 0..length);
        }
        let (mut at, mut granted) = (address, false);
        while at < end {
            let (guard, until) = self.find(at);
            let until = until.min(end);
            if guard.is_some() || !self.hidden(at, until) {
                let range = (at - address) as usize..(until - address) as usize;
                granted |= one(self, memory, guard, at, range);
            }
            at = until;
        }
        granted
    }

    /// Reads for a MainDevice; `or` for a broadcast, which adds bits. Addresses are inside the memory.
    pub(super) fn read(
        &mut self,
        memory: &mut Memory,
        address: u32,
        into: &mut [u8],
        or: bool,
    ) -> bool {
        let length = into.len();
        self.pieces(memory, address, length, |this, memory, guard, at, range| {
            if let Some(number) = guard
                && !this.begin_read(memory, number, at)
            {
                return false;
            }
            let from = memory.at(at, range.len());
            let into = &mut into[range.clone()];
            if or {
                into.iter_mut()
                    .zip(from)
                    .for_each(|(into, from)| *into |= from);
            } else {
                into.copy_from_slice(from);
            }
            if let Some(number) = guard {
                this.end_read(memory, number, at + range.len() as u32);
            }
            true
        })
    }

    fn begin_read(&mut self, memory: &mut Memory, number: usize, at: u32) -> bool {
        let Some(guard) = &mut self.all[number] else {
            return false;
        };
        if guard.direction != SyncManagerDirection::Read {
            return false;
        }
        let status = registers_of(number) + STATUS;
        if at == guard.start {
            if guard.mode == SyncManagerMode::Mailbox
                && !SyncManagerStatus(memory.u8(status)).full()
            {
                return false;
            }
            guard.open = true;
            if guard.mode == SyncManagerMode::Buffered && std::mem::take(&mut guard.fresh) {
                let (start, length) = (guard.start, guard.length());
                memory
                    .at_mut(start, length)
                    .copy_from_slice(self.shadow.at(start, length));
            }
            let value = memory.u8(status) & !SyncManagerStatus::WRITTEN;
            memory.set_u8(status, value);
            clear_event(memory, number);
        }
        guard.open
    }

    fn end_read(&mut self, memory: &mut Memory, number: usize, end: u32) {
        let Some(guard) = &mut self.all[number] else {
            return;
        };
        if end != guard.end {
            return;
        }
        guard.open = false;
        let status = registers_of(number) + STATUS;
        let value = memory.u8(status) & !SyncManagerStatus::FULL | SyncManagerStatus::READ;
        memory.set_u8(status, value);
        match guard.mode {
            SyncManagerMode::Mailbox => self.happened.emptied |= 1 << number,
            SyncManagerMode::Buffered => self.happened.inputs |= 1 << number,
        }
    }

    /// Writes for a MainDevice. Addresses are inside the memory.
    pub(super) fn write(&mut self, memory: &mut Memory, address: u32, from: &[u8]) -> bool {
        self.pieces(
            memory,
            address,
            from.len(),
            |this, memory, guard, at, range| {
                if let Some(number) = guard
                    && !this.begin_write(memory, number, at)
                {
                    return false;
                }
                memory
                    .at_mut(at, range.len())
                    .copy_from_slice(&from[range.clone()]);
                if let Some(number) = guard {
                    this.end_write(memory, number, at + range.len() as u32);
                }
                true
            },
        )
    }

    fn begin_write(&mut self, memory: &mut Memory, number: usize, at: u32) -> bool {
        let Some(guard) = &mut self.all[number] else {
            return false;
        };
        if guard.direction != SyncManagerDirection::Write {
            return false;
        }
        let status = registers_of(number) + STATUS;
        if guard.mode == SyncManagerMode::Mailbox && SyncManagerStatus(memory.u8(status)).full() {
            return false;
        }
        if at == guard.start {
            guard.open = true;
            let value = memory.u8(status) & !SyncManagerStatus::READ;
            memory.set_u8(status, value);
            clear_event(memory, number);
        }
        guard.open
    }

    fn end_write(&mut self, memory: &mut Memory, number: usize, end: u32) {
        let Some(guard) = &mut self.all[number] else {
            return;
        };
        if end != guard.end {
            return;
        }
        guard.open = false;
        let status = registers_of(number) + STATUS;
        self.happened.fed |= guard.feeds_watchdog;
        match guard.mode {
            SyncManagerMode::Mailbox => {
                memory.set_u8(status, SyncManagerStatus::FULL | SyncManagerStatus::WRITTEN);
                self.happened.filled |= 1 << number;
            }
            SyncManagerMode::Buffered => {
                let (start, length) = (guard.start, guard.length());
                self.shadow
                    .at_mut(start, length)
                    .copy_from_slice(memory.at(start, length));
                memory.set_u8(
                    status,
                    next_buffer(memory.u8(status)) | SyncManagerStatus::WRITTEN,
                );
                self.happened.outputs |= 1 << number;
            }
        }
    }

    /// Returns the newest complete outputs, for the application.
    pub(super) fn outputs(&mut self, memory: &mut Memory, number: usize) -> Option<&[u8]> {
        let guard = self.all[number].filter(|it| it.mode == SyncManagerMode::Buffered)?;
        let status = registers_of(number) + STATUS;
        let value = memory.u8(status) & !SyncManagerStatus::WRITTEN | SyncManagerStatus::READ;
        memory.set_u8(status, value);
        raise_event(memory, number, &guard);
        Some(self.shadow.at(guard.start, guard.length()))
    }

    /// Sets inputs, for the application.
    pub(super) fn set_inputs(&mut self, memory: &mut Memory, number: usize, from: &[u8]) {
        let Some(guard) = &mut self.all[number] else {
            return;
        };
        let length = guard.length().min(from.len());
        self.shadow
            .at_mut(guard.start, length)
            .copy_from_slice(&from[..length]);
        guard.fresh = true;
        let guard = *guard;
        let status = registers_of(number) + STATUS;
        memory.set_u8(
            status,
            next_buffer(memory.u8(status)) | SyncManagerStatus::WRITTEN,
        );
        raise_event(memory, number, &guard);
    }

    /// Mode and direction of an active SyncManager.
    pub(super) fn kind(&self, number: usize) -> Option<(SyncManagerMode, SyncManagerDirection)> {
        let guard = self.all.get(number)?.as_ref()?;
        Some((guard.mode, guard.direction))
    }

    /// The mailbox that the MainDevice reads: its number and its length.
    pub(super) fn answers(&self) -> Option<(usize, usize)> {
        self.all.iter().enumerate().find_map(|(number, guard)| {
            let guard = guard.as_ref()?;
            let answers = (guard.mode, guard.direction)
                == (SyncManagerMode::Mailbox, SyncManagerDirection::Read);
            answers.then(|| (number, guard.length()))
        })
    }

    /// Whether a mailbox holds a message.
    pub(super) fn full(memory: &Memory, number: usize) -> bool {
        SyncManagerStatus(memory.u8(registers_of(number) + STATUS)).full()
    }

    /// Puts a message into a mailbox that the MainDevice reads.
    pub(super) fn fill(&mut self, memory: &mut Memory, number: usize, message: &[u8]) {
        let Some(guard) = self.all[number] else {
            return;
        };
        let length = guard.length().min(message.len());
        memory
            .at_mut(guard.start, length)
            .copy_from_slice(&message[..length]);
        memory.set_u8(
            registers_of(number) + STATUS,
            SyncManagerStatus::FULL | SyncManagerStatus::WRITTEN,
        );
        raise_event(memory, number, &guard);
    }

    /// Takes the message out of a mailbox that the MainDevice writes.
    pub(super) fn empty(&mut self, memory: &mut Memory, number: usize, into: &mut Vec<u8>) {
        let Some(guard) = self.all[number] else {
            return;
        };
        into.clear();
        into.extend_from_slice(memory.at(guard.start, guard.length()));
        memory.set_u8(registers_of(number) + STATUS, SyncManagerStatus::READ);
        raise_event(memory, number, &guard);
    }

    /// A SyncManager's registers.
    pub(super) fn settings(memory: &Memory, number: usize) -> SyncManager {
        SyncManager::from_bytes(memory.array(registers_of(number)))
    }
}

/// The end of the third buffer. Digital outputs in registers have one buffer alone.
fn reserved_end(guard: &Guard) -> u32 {
    let three = guard.mode == SyncManagerMode::Buffered && guard.start >= u32::from(register::RAM);
    if three {
        guard.start + 3 * guard.length() as u32
    } else {
        guard.end
    }
}

fn next_buffer(status: u8) -> u8 {
    let next = SyncManagerStatus(status)
        .last_buffer()
        .map_or(0, |it| (it + 1) % 3);
    status & !SyncManagerStatus::NOTHING_WRITTEN | next << 4
}

fn raise_event(memory: &mut Memory, number: usize, guard: &Guard) {
    if guard.raises_event && number < 8 {
        let events = memory.u16(register::ECAT_EVENT) | 1 << (4 + number);
        memory.set_u16(register::ECAT_EVENT, events);
    }
}

fn clear_event(memory: &mut Memory, number: usize) {
    if number < 8 {
        let events = memory.u16(register::ECAT_EVENT) & !(1 << (4 + number));
        memory.set_u16(register::ECAT_EVENT, events);
    }
}
