//! The layout of a device's process data, as the device reports it.

use std::iter::repeat;

use crate::main_device::assignment;
use crate::main_device::device::{Piece, SubDevice};
use crate::main_device::exchange::Registers;
use crate::main_device::layout::Share;
use crate::main_device::mailbox::Mail;
use crate::main_device::mapping::{MappedManager, PlacedEntry, placed};
use crate::main_device::sdo::SdoError;
use crate::wire::coe::{Address, object};
use crate::wire::sii::Direction;

use super::Field;
use super::commission::CommissionError;

/// Reads the places of all mapped entries of a device in PREOP or higher, in its own outputs and inputs, so that two of
/// them compare equal where the layout is the same: without names and types, which not every answer has, and whatever PDO
/// holds an entry. Waits, allocates.
///
/// # Errors
/// [`CommissionError`]: the device has no CoE, or its answer is an error.
pub(super) fn learn(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
) -> Result<Vec<PlacedEntry>, CommissionError> {
    mail(device)?;
    let data = device.process_data.clone();
    let outputs = data.outputs.iter().zip(repeat(Direction::Outputs));
    let inputs = data.inputs.iter().zip(repeat(Direction::Inputs));
    let mut managers = Vec::new();
    for (Piece { number, .. }, direction) in outputs.chain(inputs) {
        managers.push(MappedManager {
            number: *number,
            direction,
            pdos: assignment::read(registers, device, *number, direction)?,
        });
    }
    let mut all = placed(0, &managers, &Share::default());
    for it in &mut all {
        (it.pdo, it.manager) = (0, 0);
        (it.entry.data_type, it.entry.name) = (None, String::new());
    }
    Ok(all)
}

/// The device's mailboxes, to read and write objects.
pub(super) fn mail(device: &mut SubDevice) -> Result<Mail<'_>, CommissionError> {
    if !device.has_coe() {
        return Err(CommissionError::NoCoe);
    }
    Ok(device.mail().map_err(SdoError::from)?)
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

/// The entry of an object; `None` where it is not mapped.
pub(super) fn find(all: &[PlacedEntry], direction: Direction, index: u16) -> Option<&PlacedEntry> {
    let is_it = |address: Address| address.index == index;
    let mut all = all.iter().filter(|it| it.direction == direction);
    all.find(|it| it.entry.address.is_some_and(is_it))
}

/// Where an object lies; `None` where it is not mapped.
pub(super) fn field(
    all: &[PlacedEntry],
    direction: Direction,
    index: u16,
) -> Result<Option<Field>, CommissionError> {
    let Some(PlacedEntry { bit, entry, .. }) = find(all, direction, index) else {
        return Ok(None);
    };
    if bit % 8 != 0 || !matches!(entry.bits, 8 | 16 | 32) {
        return Err(CommissionError::Unaligned(index));
    }
    Ok(Some(Field {
        at: bit / 8,
        length: usize::from(entry.bits / 8),
    }))
}
