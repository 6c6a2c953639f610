//! The objects in the process data of a SubDevice, entry by entry.
//!
//! Read by CoE where the SubDevice has it and answers, as the mapping may differ from the default; else
//! from its SII. Names come from the SII, and from the object dictionary where the SII has none.

use super::assignment;
use super::configure::ConfigureError;
use super::device::SubDevice;
use super::dictionary::{self, DictionaryError};
use super::exchange::Registers;
use super::layout::Share;
use super::mailbox::Mail;
use super::sdo::SdoError;

use crate::value::{EntryType, bits_at};
use crate::wire::coe::{Address, DataType};
use crate::wire::sii::{Direction, Image};

/// An entry of a PDO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedEntry {
    /// The object; `None` for padding bits.
    pub address: Option<Address>,
    /// Bits that it takes.
    pub bits: u8,
    /// Its type, where the SII or the dictionary has it.
    pub data_type: Option<DataType>,
    /// Its name; empty where neither the SII nor the dictionary has one.
    pub name: String,
}

/// A PDO with its entries, as it is mapped now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedPdo {
    /// The index of its object in the dictionary.
    pub index: u16,
    /// Its name; empty where the SII has none.
    pub name: String,
    /// Its entries, one behind the other, bit by bit.
    pub entries: Vec<MappedEntry>,
}

impl MappedPdo {
    /// Bits of all entries.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.entries.iter().map(|it| u32::from(it.bits)).sum()
    }
}

/// The mapping of one SyncManager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedManager {
    /// The number of the SyncManager, from 0.
    pub number: u8,
    /// Whether the MainDevice reads or writes its data.
    pub direction: Direction,
    /// Its PDOs, one behind the other.
    pub pdos: Vec<MappedPdo>,
}

impl MappedManager {
    /// Bits of all entries.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.pdos.iter().map(MappedPdo::bits).sum()
    }
}

/// Reads the present mapping, in PREOP or higher. Waits, allocates.
///
/// # Errors
/// [`ConfigureError`].
pub fn read(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
) -> Result<Vec<MappedManager>, ConfigureError> {
    let by_sii = by_sii(&device.sii);
    if !device.has_coe() {
        return Ok(by_sii.into_iter().filter(|it| it.bits() > 0).collect());
    }
    let mut managers = Vec::new();
    let mut asks = true;
    for known in by_sii {
        let names = assignment::by_sii(&device.sii, known.direction);
        let pdos = assignment::read(registers, device, known.number, known.direction)?;
        let mut mail = device.mail().map_err(SdoError::from)?;
        let pdos = pdos.into_iter();
        let pdos = pdos
            .map(|it| named(registers, &mut mail, it, &names, &mut asks))
            .collect();
        let manager = MappedManager { pdos, ..known };
        if manager.bits() > 0 {
            managers.push(manager);
        }
    }
    Ok(managers)
}

/// The SyncManagers of process data, with the PDOs that the SII assigns to each.
fn by_sii(sii: &[u8]) -> Vec<MappedManager> {
    let Ok(image) = Image::of(sii) else {
        return Vec::new();
    };
    let numbered = (0_u8..16).zip(image.sync_managers());
    let managers = numbered.filter_map(|(number, default)| {
        let direction = default.usage.direction()?;
        let pdos = assignment::by_sii(sii, direction).into_iter();
        let pdos = pdos.filter(|(manager, _)| *manager == number);
        Some(MappedManager {
            number,
            direction,
            pdos: pdos.map(|(_, pdo)| pdo).collect(),
        })
    });
    managers.collect()
}

/// A PDO with the names and types of its entries: from the SII, else from the object dictionary. `asks` becomes false
/// where the SubDevice does not answer for its dictionary: each question takes the whole time for an answer then.
fn named(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    mut pdo: MappedPdo,
    names: &[(u8, MappedPdo)],
    asks: &mut bool,
) -> MappedPdo {
    let known = names.iter().find(|(_, it)| it.index == pdo.index);
    let known = known.map(|(_, it)| it);
    for entry in &mut pdo.entries {
        let mut in_sii = known.into_iter().flat_map(|it| &it.entries);
        let in_sii = in_sii.find(|it| it.address == entry.address);
        match (in_sii, entry.address) {
            (Some(known), _) => {
                (entry.data_type, entry.name) = (known.data_type, known.name.clone());
            }
            // A SubDevice without that service has no names, and works nevertheless.
            (None, Some(address)) if *asks => match dictionary::entry(registers, mail, address) {
                Ok(described) => {
                    (entry.data_type, entry.name) = (Some(described.data_type), described.name);
                }
                Err(DictionaryError::Refused(_)) => {}
                Err(_) => *asks = false,
            },
            (None, _) => {}
        }
    }
    pdo.name = known.map(|it| it.name.clone()).unwrap_or_default();
    pdo
}

/// An entry with its place in the process data of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedEntry {
    /// The index of its device, in the order of the layout.
    pub device: usize,
    /// The SyncManager that carries it.
    pub manager: u8,
    /// Whether the MainDevice reads or writes it.
    pub direction: Direction,
    /// The PDO that it is in.
    pub pdo: u16,
    /// The mapped entry: its address, type and name.
    pub entry: MappedEntry,
    /// Its first bit in the image of its direction.
    pub bit: usize,
    /// Its first bit in the logical memory.
    pub logical_bit: u64,
}

impl PlacedEntry {
    /// Its type; `None` where the device reports none that Kadenz knows.
    #[must_use]
    pub fn entry_type(&self) -> Option<EntryType> {
        self.entry.data_type.and_then(EntryType::of)
    }

    /// Its bits in the images of all inputs and all outputs, shifted to begin with a byte; bits beyond the image are 0.
    /// Allocates.
    #[must_use]
    pub fn value(&self, (inputs, outputs): (&[u8], &[u8])) -> Vec<u8> {
        let image = match self.direction {
            Direction::Outputs => outputs,
            Direction::Inputs => inputs,
        };
        bits_at(image, self.bit, self.entry.bits.into())
    }
}

/// The process data of a segment, entry by entry: of one that a tool has
/// [opened](super::segment::OpenSegment::process_data), or of a running loop's
/// [catalogue](crate::control::catalogue::Catalogue::process_data).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessDataMap {
    /// Bytes of all outputs.
    pub outputs: usize,
    /// Bytes of all inputs.
    pub inputs: usize,
    /// Frames of process data in a cycle; `None` of a running loop, which does not report it.
    pub frames: Option<usize>,
    /// The entries, device by device.
    pub entries: Vec<PlacedEntry>,
}

/// The entries of a device, one bit behind the other; each SyncManager begins with a byte of its own.
/// Allocates.
#[must_use]
pub fn placed(device: usize, managers: &[MappedManager], share: &Share) -> Vec<PlacedEntry> {
    let mut placed = Vec::new();
    let mut outputs = (share.outputs.start, u64::from(share.logical_outputs.0));
    let mut inputs = (share.inputs.start, u64::from(share.logical_inputs.0));
    for manager in managers {
        let start = match manager.direction {
            Direction::Outputs => &mut outputs,
            Direction::Inputs => &mut inputs,
        };
        let mut bit = 0;
        for pdo in &manager.pdos {
            for entry in &pdo.entries {
                placed.push(PlacedEntry {
                    device,
                    manager: manager.number,
                    direction: manager.direction,
                    pdo: pdo.index,
                    entry: entry.clone(),
                    bit: start.0 * 8 + bit,
                    logical_bit: start.1 * 8 + bit as u64,
                });
                bit += usize::from(entry.bits);
            }
        }
        let bytes = bit.div_ceil(8);
        *start = (start.0 + bytes, start.1 + bytes as u64);
    }
    placed
}

#[cfg(test)]
mod tests;
