//! Mapping and assignment of PDOs: the values that a MainDevice may write there, and the resulting layout of process
//! data.

use super::Dictionary;
use crate::description::{Entry, Object};
use crate::wire::coe::{Abort, Access, Address, object};
use crate::wire::copy_bits;
use crate::wire::sii::Direction;

/// Most bits of a SyncManager's process data: the capacity of a frame.
const MAX_BITS: u32 = 1486 * 8;

/// The kind of PDO object of an index, if it is one.
enum PdoObjectKind {
    Mapping(Direction),
    Assignment(Direction),
    Other,
}

fn kind(dictionary: &Dictionary, index: u16) -> PdoObjectKind {
    match index {
        0x1600..=0x17FF => PdoObjectKind::Mapping(Direction::Outputs),
        0x1A00..=0x1BFF => PdoObjectKind::Mapping(Direction::Inputs),
        // In devices with mailbox, SyncManager 2 holds the outputs; others state it in object 0x1C00.
        0x1C10..=0x1C2F => {
            let number = index - object::assignment(0);
            let usage = Address::new(object::SYNC_MANAGER_TYPES, (number + 1) as u8);
            match dictionary.number(usage) {
                Some(3) => PdoObjectKind::Assignment(Direction::Outputs),
                Some(4) => PdoObjectKind::Assignment(Direction::Inputs),
                _ => PdoObjectKind::Other,
            }
        }
        _ => PdoObjectKind::Other,
    }
}

/// Checks a value for a mapping or an assignment.
pub(super) fn check(dictionary: &Dictionary, address: Address, value: &[u8]) -> Result<(), Abort> {
    let number = || {
        let mut wide = [0; 4];
        let length = value.len().min(4);
        wide[..length].copy_from_slice(&value[..length]);
        u32::from_le_bytes(wide)
    };
    let check_one: fn(&Dictionary, Direction, u32) -> Result<u32, Abort>;
    let direction = match kind(dictionary, address.index) {
        PdoObjectKind::Other => return Ok(()),
        PdoObjectKind::Mapping(direction) => {
            check_one = mapped_bits;
            direction
        }
        PdoObjectKind::Assignment(direction) => {
            check_one = assigned_bits;
            direction
        }
    };
    let at = |sub| Address::new(address.index, sub);
    if address.sub > 0 {
        return match dictionary.number(at(0)) {
            Some(0) => check_one(dictionary, direction, number()).map(|_| ()),
            _ => Err(Abort::SUB_ZERO_NOT_CLEARED),
        };
    }
    let highest = dictionary
        .object(address.index)
        .map_or(0, Object::highest_sub);
    if number() > u32::from(highest) {
        return Err(Abort::VALUE_TOO_HIGH);
    }
    let mut bits = 0;
    for sub in 1..=number() as u8 {
        let one = dictionary.number(at(sub)).ok_or(Abort::NO_SUB_INDEX)?;
        bits += check_one(dictionary, direction, one as u32)?;
    }
    if bits > MAX_BITS {
        return Err(Abort::PDO_TOO_LONG);
    }
    Ok(())
}

/// Bits of a mapping's entry, if the object may be mapped.
fn mapped_bits(dictionary: &Dictionary, direction: Direction, mapped: u32) -> Result<u32, Abort> {
    let (address, bits) = split(mapped);
    if address.index < 0x1000 {
        // A gap: index 0, or the number of a type.
        return Ok(bits);
    }
    let entry = dictionary.entry(address)?;
    let wanted = match direction {
        Direction::Outputs => Access::RX_MAPPABLE,
        Direction::Inputs => Access::TX_MAPPABLE,
    };
    if !entry.access.any(wanted) || u32::from(entry.bits) != bits {
        return Err(Abort::NOT_MAPPABLE);
    }
    Ok(bits)
}

/// Bits of a PDO, if it may be assigned.
fn assigned_bits(dictionary: &Dictionary, direction: Direction, pdo: u32) -> Result<u32, Abort> {
    let index = u16::try_from(pdo).map_err(|_| Abort::NOT_MAPPABLE)?;
    let fits = match kind(dictionary, index) {
        PdoObjectKind::Mapping(its) => its == direction,
        _ => false,
    };
    if !fits || dictionary.object(index).is_none() {
        return Err(Abort::NOT_MAPPABLE);
    }
    Ok(mapping(dictionary, index).map(|(_, bits)| bits).sum())
}

fn split(mapped: u32) -> (Address, u32) {
    let address = Address::new((mapped >> 16) as u16, (mapped >> 8) as u8);
    (address, mapped & 0xFF)
}

/// Numbers of an object from sub-index 1 up to the count in sub-index 0.
fn counted(dictionary: &Dictionary, index: u16) -> impl Iterator<Item = u32> {
    let count = dictionary.number(Address::new(index, 0)).unwrap_or(0);
    (1..=count.clamp(0, 255) as u8)
        .map_while(move |sub| dictionary.number(Address::new(index, sub)))
        .map(|number| number as u32)
}

fn mapping(dictionary: &Dictionary, pdo: u16) -> impl Iterator<Item = (Address, u32)> {
    counted(dictionary, pdo).map(split)
}

/// The place of one value in the process data and in the dictionary.
#[derive(Debug, Clone, Copy)]
struct ProcessMapEntry {
    /// Its first bit in the process data.
    bit: usize,
    bits: usize,
    /// Its first byte among the dictionary's values.
    value: usize,
}

/// The places of all values of a SyncManager's PDOs. Made when process data begins.
///
/// # Real-time safety
/// Once made, it allocates nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessMap {
    pieces: Vec<ProcessMapEntry>,
    bits: usize,
}

impl ProcessMap {
    /// The map of an assignment object, such as 0x1C12, by its present value. Empty where there is no such object.
    #[must_use]
    pub(crate) fn of(dictionary: &Dictionary, assignment: u16) -> Self {
        let mut map = Self::default();
        for pdo in counted(dictionary, assignment) {
            for (address, bits) in mapping(dictionary, pdo as u16) {
                map.push(dictionary, address, bits as usize);
            }
        }
        map
    }

    fn push(&mut self, dictionary: &Dictionary, address: Address, bits: usize) {
        if let Some(slot) = dictionary.slot(address).filter(|_| address.index >= 0x1000) {
            self.pieces.push(ProcessMapEntry {
                bit: self.bits,
                bits: bits.min(64),
                value: slot.start as usize,
            });
        }
        self.bits += bits;
    }

    /// Bytes of the process data.
    #[must_use]
    pub(crate) const fn bytes(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// Copies values from process data to the dictionary.
    ///
    /// # Real-time safety
    /// It allocates nothing.
    pub(crate) fn take(&self, data: &[u8], dictionary: &mut Dictionary) {
        let values = dictionary.raw_mut();
        for piece in &self.pieces {
            copy_bits(data, piece.bit, values, piece.value * 8, piece.bits);
        }
    }

    /// Copies values from the dictionary to process data.
    ///
    /// # Real-time safety
    /// It allocates nothing.
    pub(crate) fn put(&self, dictionary: &Dictionary, data: &mut [u8]) {
        let values = dictionary.raw();
        for piece in &self.pieces {
            copy_bits(values, piece.value * 8, data, piece.bit, piece.bits);
        }
    }
}

/// Values one behind the other, in the layout of complete access.
#[derive(Default)]
pub(super) struct Bits {
    pub(super) bytes: Vec<u8>,
    pub(super) bit: usize,
}

impl Bits {
    pub(super) fn put(&mut self, value: &[u8], entry: &Entry) {
        let bits = if entry.sub == 0 {
            16
        } else {
            width(entry, value.len())
        };
        // A value of 8 bits may stand in 16.
        let padded = [value, &[0]].concat();
        let end = self.bit + bits;
        self.bytes.resize(end.div_ceil(8), 0);
        copy_bits(&padded, 0, &mut self.bytes, self.bit, bits);
        self.bit = end;
    }

    pub(super) fn take(&mut self, entry: &Entry, length: usize) -> Option<Vec<u8>> {
        let mut value = vec![0; length];
        let end = self.bit + width(entry, length);
        if end > self.bytes.len() * 8 {
            return None;
        }
        copy_bits(&self.bytes, self.bit, &mut value, 0, end - self.bit);
        self.bit = end;
        Some(value)
    }
}

fn width(entry: &Entry, bytes: usize) -> usize {
    usize::from(entry.bits).min(bytes * 8)
}
