//! The PDOs that a SyncManager carries and their mapping: read from the SubDevice by CoE, else from its
//! SII.

use super::device::SubDevice;
use super::exchange::Registers;
use super::mailbox::Mail;
use super::mapping::{MappedEntry, MappedPdo};
use super::sdo::{self, SdoError};
use crate::wire::coe::{Address, DataType, object};
use crate::wire::sii::{Direction, Image};

/// An entry of a PDO's mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AssignedEntry {
    /// The object; index 0 for padding bits.
    pub address: Address,
    /// Bits that it takes.
    pub bits: u8,
}

impl From<AssignedEntry> for MappedEntry {
    /// Without a name and a type.
    fn from(AssignedEntry { address, bits }: AssignedEntry) -> Self {
        Self {
            address: (address.index != 0).then_some(address),
            bits,
            data_type: None,
            name: String::new(),
        }
    }
}

/// Reads the PDOs of a SyncManager, in PREOP or higher, one behind the other. By CoE where the SubDevice
/// has it, as the mapping may differ from the default. Parts that the SubDevice refuses to tell, often all
/// of them where the process data is fixed, come from its SII, with its names. Waits, allocates.
///
/// # Errors
/// [`SdoError`], for example for a PDO that neither the SubDevice nor its SII describes.
pub(crate) fn read(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
    manager: u8,
    direction: Direction,
) -> Result<Vec<MappedPdo>, SdoError> {
    let known = by_sii(&device.sii, direction);
    if device.has_coe() {
        let mut mail = device.mail()?;
        if let Some(assigned) = list(registers, &mut mail, manager)? {
            let pdos = assigned.into_iter();
            return pdos
                .map(|index| pdo(registers, &mut mail, index, &known))
                .collect();
        }
    }
    let default = known.into_iter().filter(|it| it.0 == manager);
    Ok(default.map(|it| it.1).collect())
}

/// The PDOs that are assigned to a SyncManager by the SubDevice's own list; `None` where it has none.
/// Waits, allocates.
///
/// # Errors
/// [`SdoError`] when it does not answer.
pub(crate) fn list(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    manager: u8,
) -> Result<Option<Vec<u16>>, SdoError> {
    sdo::optional(read_list(registers, mail, object::assignment(manager)))
}

fn read_list(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    list: u16,
) -> Result<Vec<u16>, SdoError> {
    let [count] = sdo::get(registers, mail, Address::new(list, 0))?;
    let mut pdos = Vec::new();
    for place in 1..=count {
        let pdo = u16::from_le_bytes(sdo::get(registers, mail, Address::new(list, place))?);
        // A place may hold none.
        if pdo != 0 {
            pdos.push(pdo);
        }
    }
    Ok(pdos)
}

/// The mapping of a PDO, read from the SubDevice. Waits, allocates.
///
/// # Errors
/// [`SdoError`]: it does not answer, or has no such PDO.
pub(crate) fn entries(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    pdo: u16,
) -> Result<Vec<AssignedEntry>, SdoError> {
    let [count] = sdo::get(registers, mail, Address::new(pdo, 0))?;
    let mut entries = Vec::new();
    for place in 1..=count {
        // Bits in the lowest byte, then the sub-index, then the index (ETG.1000.6, PDO mapping).
        let [bits, sub, low, high] = sdo::get(registers, mail, Address::new(pdo, place))?;
        let address = Address::new(u16::from_le_bytes([low, high]), sub);
        entries.push(AssignedEntry { address, bits });
    }
    Ok(entries)
}

fn pdo(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    index: u16,
    known: &[(u8, MappedPdo)],
) -> Result<MappedPdo, SdoError> {
    match entries(registers, mail, index) {
        Ok(entries) => Ok(MappedPdo {
            index,
            name: String::new(),
            entries: entries.into_iter().map(MappedEntry::from).collect(),
        }),
        Err(error) if error.abort().is_some() => {
            let in_sii = known.iter().find(|it| it.1.index == index);
            in_sii.map(|it| it.1.clone()).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// Every PDO that the SII knows, assigned or not, with the SyncManager that carries it by default.
pub(super) fn by_sii(sii: &[u8], direction: Direction) -> Vec<(u8, MappedPdo)> {
    let Ok(image) = Image::of(sii) else {
        return Vec::new();
    };
    let text = |number: u8| image.string(number).map(|it| it.to_string());
    let pdos = image.pdos(direction).map(|pdo| {
        let entries = pdo.entries.map(|it| MappedEntry {
            address: (it.index != 0).then(|| Address::new(it.index, it.sub)),
            bits: it.bits,
            data_type: (it.data_type != 0).then(|| DataType(u16::from(it.data_type))),
            name: text(it.name).unwrap_or_default(),
        });
        let mapped = MappedPdo {
            index: pdo.header.index,
            name: text(pdo.header.name).unwrap_or_default(),
            entries: entries.collect(),
        };
        (pdo.header.sync_manager, mapped)
    });
    pdos.collect()
}

#[cfg(test)]
mod tests;
