//! A datagram at one controller.

use std::ops::Range;

use super::{Arrival, SubDeviceController};
use crate::wire::{Command, DatagramAddress, MAX_FRAME, register};

/// The role of a controller for a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) enum Role {
    /// The datagram addresses it.
    Meant,
    /// It is one of many: all of a broadcast, or those that a multiple write passes.
    OneOfMany,
}

impl SubDeviceController {
    /// Executes a datagram on registers; returns the increment of its working counter.
    pub(in crate::sim) fn serve(
        &mut self,
        command: Command,
        role: Role,
        address: DatagramAddress,
        data: &mut [u8],
        arrival: &Arrival,
    ) -> u16 {
        use Command::{Armw, Brd, Brw, Bwr, Frmw};
        let at = address.register();
        let chip = &mut self.chip;
        let grown = match (command, role) {
            (Armw | Frmw, Role::OneOfMany) | (Bwr, _) => u16::from(chip.write(at, data, arrival)),
            (Armw | Frmw, Role::Meant) => u16::from(chip.read(at, data, false, arrival)),
            (Brd, _) => u16::from(chip.read(at, data, true, arrival)),
            (Brw, _) => self.exchange(at, data, true, arrival),
            _ => match (command.reads(), command.writes()) {
                (true, true) => self.exchange(at, data, false, arrival),
                (true, false) => u16::from(chip.read(at, data, false, arrival)),
                (false, true) => u16::from(chip.write(at, data, arrival)),
                (false, false) => 0,
            },
        };
        if command != Brd && self.chip.marks.index {
            self.note_addresses();
        }
        grown
    }

    /// Reads and writes at once: the previous value goes out, the datagram's comes in.
    fn exchange(&mut self, at: u16, data: &mut [u8], or: bool, arrival: &Arrival) -> u16 {
        let mut copy = [0; MAX_FRAME];
        let Some(came) = copy.get_mut(..data.len()) else {
            return 0;
        };
        came.copy_from_slice(data);
        let read = self.chip.read(at, data, or, arrival);
        let written = self.chip.write(at, came, arrival);
        u16::from(read) + 2 * u16::from(written)
    }

    /// Executes a logical datagram; returns the increment of its working counter.
    pub(in crate::sim) fn serve_logical(
        &mut self,
        command: Command,
        logical: u32,
        data: &mut [u8],
    ) -> u16 {
        let chip = &mut self.chip;
        chip.mapping
            .serve(command, logical, data, &mut chip.memory, &mut chip.guards)
    }

    /// Whether a datagram by configured address addresses it.
    pub(in crate::sim) fn is(&self, station: u16) -> bool {
        self.addresses.contains(&Some(station))
    }

    /// Station address and, where it is enabled, alias.
    pub(in crate::sim) fn addresses(&self) -> [Option<u16>; 2] {
        self.addresses
    }

    pub(super) fn note_addresses(&mut self) {
        let memory = &self.chip.memory;
        let alias = memory.u16(register::STATION_ALIAS);
        self.addresses = [
            Some(memory.u16(register::STATION_ADDRESS)),
            self.dl_control().alias().then_some(alias),
        ];
    }

    /// The range of logical bytes that holds all of its own.
    pub(in crate::sim) fn logical_hull(&self) -> Range<u64> {
        self.chip.mapping.hull()
    }

    /// Events that a passing datagram collects.
    pub(in crate::sim) fn events(&self) -> u16 {
        self.chip.events()
    }

    /// Whether its addresses or FMMUs changed since the last call; and whether the settings of its ports did.
    pub(in crate::sim) fn take_changes(&mut self) -> (bool, bool) {
        let marks = &mut self.chip.marks;
        (
            std::mem::take(&mut marks.index),
            std::mem::take(&mut marks.ports),
        )
    }
}
