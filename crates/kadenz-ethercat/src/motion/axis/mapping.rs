//! The layout of a device's process data, as the device reports it.

use crate::main_device::assignment::{self, AssignedEntry};
use crate::main_device::device::{Piece, SubDevice};
use crate::main_device::exchange::Registers;
use crate::main_device::mailbox::Mail;
use crate::main_device::sdo::SdoError;
use crate::wire::coe::{Address, object};
use crate::wire::sii::Direction;

use super::Field;
use super::commission::CommissionError;

/// An object in process data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// The object and sub-index; index 0 for a gap.
    pub address: Address,
    /// The length of the object in bits.
    pub bits: u8,
    /// Its first bit in the device's outputs or inputs.
    pub at: usize,
}

/// All mapped objects of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Objects that the MainDevice writes.
    pub outputs: Vec<Mapped>,
    /// Objects that the MainDevice reads.
    pub inputs: Vec<Mapped>,
}

impl Mapping {
    /// Reads the mapping of a device in PREOP or higher. Waits, allocates.
    ///
    /// # Errors
    /// [`CommissionError`]: the device has no CoE, or its answer is an error.
    pub(crate) fn learn(
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<Self, CommissionError> {
        mail(device)?;
        let data = device.process_data.clone();
        Ok(Self {
            outputs: objects(registers, device, &data.outputs, Direction::Outputs)?,
            inputs: objects(registers, device, &data.inputs, Direction::Inputs)?,
        })
    }
}

/// The device's mailboxes, to read and write objects.
pub(super) fn mail(device: &mut SubDevice) -> Result<Mail<'_>, CommissionError> {
    if !device.has_coe() {
        return Err(CommissionError::NoCoe);
    }
    Ok(device.mail().map_err(SdoError::from)?)
}

fn objects(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
    pieces: &[Piece],
    direction: Direction,
) -> Result<Vec<Mapped>, CommissionError> {
    let mut all = Vec::new();
    let mut start = 0;
    for piece in pieces {
        let mut at = start;
        let pdos = assignment::read(registers, device, piece.number, direction)?;
        for AssignedEntry { address, bits } in pdos.into_iter().flat_map(|it| it.entries) {
            all.push(Mapped { address, bits, at });
            at += usize::from(bits);
        }
        // Each SyncManager's data begins with a byte of its own.
        start += usize::from(piece.manager.length) * 8;
    }
    Ok(all)
}

/// The objects that assign PDOs to the device's process data, and the PDOs that each holds.
pub(super) fn lists(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
) -> Result<Vec<(u16, Vec<u16>)>, CommissionError> {
    let data = device.process_data.clone();
    let mut mail = mail(device)?;
    let mut all = Vec::new();
    for piece in data.outputs.iter().chain(&data.inputs) {
        // A SyncManager without a list keeps its PDOs.
        if let Some(pdos) = assignment::list(registers, &mut mail, piece.number)? {
            all.push((object::assignment(piece.number), pdos));
        }
    }
    Ok(all)
}

/// Where an object lies; `None` where it is not mapped.
pub(super) fn field(all: &[Mapped], index: u16) -> Result<Option<Field>, CommissionError> {
    let Some(found) = all.iter().find(|it| it.address.index == index) else {
        return Ok(None);
    };
    if found.at % 8 != 0 || !matches!(found.bits, 8 | 16 | 32) {
        return Err(CommissionError::Unaligned(index));
    }
    Ok(Some(Field {
        at: found.at / 8,
        length: usize::from(found.bits / 8),
    }))
}
