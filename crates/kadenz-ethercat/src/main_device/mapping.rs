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
        let entries = self.pdos.iter().flat_map(|it| &it.entries);
        entries.map(|it| u32::from(it.bits)).sum()
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
        let names = pdos_of(&device.sii, known.direction);
        let pdos = assignment::read(registers, device, known.number, known.direction)?;
        let mut mail = device.mail().map_err(SdoError::from)?;
        let pdos = pdos.iter();
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
        let of_it = image
            .pdos(direction)
            .zip(pdos_of(sii, direction))
            .filter(|(it, _)| it.header.sync_manager == number);
        Some(MappedManager {
            number,
            direction,
            pdos: of_it.map(|(_, pdo)| pdo).collect(),
        })
    });
    managers.collect()
}

/// Every PDO in the SII, assigned or not.
fn pdos_of(sii: &[u8], direction: Direction) -> Vec<MappedPdo> {
    let Ok(image) = Image::of(sii) else {
        return Vec::new();
    };
    let text = |number: u8| image.string(number).map(|it| it.to_string());
    let pdos = image.pdos(direction).map(|pdo| MappedPdo {
        index: pdo.header.index,
        name: text(pdo.header.name).unwrap_or_default(),
        entries: pdo
            .entries
            .map(|it| MappedEntry {
                address: (it.index != 0).then(|| Address::new(it.index, it.sub)),
                bits: it.bits,
                data_type: (it.data_type != 0).then(|| DataType(u16::from(it.data_type))),
                name: text(it.name).unwrap_or_default(),
            })
            .collect(),
    });
    pdos.collect()
}

/// A PDO with the names and types of its entries: from the SII, else from the object dictionary. `asks` becomes false
/// where the SubDevice does not answer for its dictionary: each question takes the whole time for an answer then.
fn named(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    pdo: &assignment::AssignedPdo,
    names: &[MappedPdo],
    asks: &mut bool,
) -> MappedPdo {
    let known = names.iter().find(|it| it.index == pdo.index);
    let mut entry = |it: &assignment::AssignedEntry| {
        let address = (it.address.index != 0).then_some(it.address);
        let mut entry = MappedEntry {
            address,
            bits: it.bits,
            data_type: None,
            name: String::new(),
        };
        let in_sii = known.and_then(|it| it.entries.iter().find(|it| it.address == address));
        match (in_sii, address) {
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
        entry
    };
    MappedPdo {
        index: pdo.index,
        name: known.map(|it| it.name.clone()).unwrap_or_default(),
        entries: pdo.entries.iter().map(&mut entry).collect(),
    }
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
