//! Which object lies where in a device's process data, as the device tells.

use crate::main_device::device::{Piece, SubDevice};
use crate::main_device::exchange::Registers;
use crate::main_device::mailbox::Mail;
use crate::main_device::sdo::{self, SdoError};
use crate::wire::coe::Address;

use super::Field;
use super::commission::CommissionError;

/// The object that lists the PDOs of SyncManager 0; those of the others follow (ETG.1000.6, 0x1C10).
const ASSIGNMENT: u16 = 0x1C10;

/// An object in process data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// Which; index 0 for a gap.
    pub address: Address,
    /// Its bits.
    pub bits: u8,
    /// Its first bit in the device's outputs or inputs.
    pub at: usize,
}

/// All of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// From the MainDevice.
    pub outputs: Vec<Mapped>,
    /// To the MainDevice.
    pub inputs: Vec<Mapped>,
}

impl Mapping {
    /// Asks a device in PREOP or higher. Waits, allocates.
    ///
    /// # Errors
    /// [`CommissionError`]: no CoE, or an answer that is an error.
    pub fn learn(
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<Self, CommissionError> {
        let data = device.process_data.clone();
        Ok(Self {
            outputs: objects(registers, device, &data.outputs)?,
            inputs: objects(registers, device, &data.inputs)?,
        })
    }
}

/// The device's mailboxes, to ask for objects.
pub(super) fn mail(device: &mut SubDevice) -> Result<Mail<'_>, CommissionError> {
    if !device.has_coe() {
        return Err(CommissionError::NoCoe);
    }
    let (whose, mailboxes) = (device.whose(), device.mailboxes);
    let (counter, emergencies) = (&mut device.counter, &mut device.emergencies);
    Ok(Mail::of(whose, mailboxes, counter, emergencies).map_err(SdoError::from)?)
}

fn objects(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
    pieces: &[Piece],
) -> Result<Vec<Mapped>, CommissionError> {
    let mut mail = mail(device)?;
    let mut all = Vec::new();
    let mut start = 0;
    for piece in pieces {
        let mut at = start;
        let list = ASSIGNMENT + u16::from(piece.number);
        let [count] = sdo::get(registers, &mut mail, Address::new(list, 0))?;
        for place in 1..=count {
            let pdo = sdo::get(registers, &mut mail, Address::new(list, place))?;
            for (address, bits) in entries(registers, &mut mail, u16::from_le_bytes(pdo))? {
                all.push(Mapped { address, bits, at });
                at += usize::from(bits);
            }
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
        let list = ASSIGNMENT + u16::from(piece.number);
        let [count] = sdo::get(registers, &mut mail, Address::new(list, 0))?;
        let mut pdos = Vec::new();
        for place in 1..=count {
            let pdo = sdo::get(registers, &mut mail, Address::new(list, place))?;
            pdos.push(u16::from_le_bytes(pdo));
        }
        all.push((list, pdos));
    }
    Ok(all)
}

/// Objects and bits of a PDO.
pub(super) fn entries(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    pdo: u16,
) -> Result<Vec<(Address, u8)>, CommissionError> {
    let [count] = sdo::get(registers, mail, Address::new(pdo, 0))?;
    let mut all = Vec::new();
    for place in 1..=count {
        // Bits in the lowest byte, then the sub-index, then the index (ETG.1000.6, PDO mapping).
        let [bits, sub, low, high] = sdo::get(registers, mail, Address::new(pdo, place))?;
        all.push((Address::new(u16::from_le_bytes([low, high]), sub), bits));
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
