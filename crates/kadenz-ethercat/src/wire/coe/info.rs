//! SDO information: the objects of the dictionary and their descriptions (ETG.1000.6, chapter 5.6.3).

use std::fmt;

use super::{Abort, CoeError, DataType, Service, split, write};
use crate::wire::mailbox::{MailboxError, put};

const INCOMPLETE: u8 = 0x80;

/// The kind of a list of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListType(pub u16);

impl ListType {
    /// The number of objects in each of the five lists.
    pub const LENGTHS: Self = Self(0);
    /// All objects.
    pub const ALL: Self = Self(1);
    /// Objects that go into RxPDOs.
    pub const RX_MAPPABLE: Self = Self(2);
    /// Objects that go into TxPDOs.
    pub const TX_MAPPABLE: Self = Self(3);
    /// Objects to be stored when a device is replaced.
    pub const BACKUP: Self = Self(4);
    /// Objects that are settings.
    pub const SETTINGS: Self = Self(5);
}

numbered_or_other! {
    /// Kind of an object.
    pub enum ObjectCode {
        /// One value.
        Variable = 7,
        /// Values of one type.
        Array = 8,
        /// Values of several types.
        Record = 9,
    }
}

/// The access rights of an entry, in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(pub u16);

impl Access {
    /// Read in PREOP, SAFEOP and OP.
    pub const READ: Self = Self(0x0007);
    /// Written in all three.
    pub const WRITE: Self = Self(0x0038);
    /// Written in PREOP alone.
    pub const WRITE_PREOP: Self = Self(0x0008);
    /// Goes into RxPDOs.
    pub const RX_MAPPABLE: Self = Self(0x0040);
    /// Goes into TxPDOs.
    pub const TX_MAPPABLE: Self = Self(0x0080);
    /// Stored when a device is replaced.
    pub const BACKUP: Self = Self(0x0100);
    /// In the list of a device's settings ([`ListType::SETTINGS`]).
    pub const SETTING: Self = Self(0x0200);

    /// The rights of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any of the other's bits is set.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The description of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectDescription<D> {
    /// The index of the object.
    pub index: u16,
    /// The CoE type of the object.
    pub data_type: DataType,
    /// Highest sub-index.
    pub highest_sub: u8,
    /// Whether it is a variable, an array or a record.
    pub code: ObjectCode,
    /// The name in the dictionary, as the device sends it.
    pub name: D,
}

/// The description of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryDescription<D> {
    /// The index of the object.
    pub index: u16,
    /// The sub-index of the entry in the object, from 0.
    pub sub: u8,
    /// Which further values stand before the name: bit 3 unit, 4 default, 5 minimum, 6 maximum.
    pub values: u8,
    /// The CoE type of the entry.
    pub data_type: DataType,
    /// The length of the value in bits.
    pub bits: u16,
    /// In which states the entry is read and written, and whether PDOs may hold it.
    pub access: Access,
    /// The further values, then the name.
    pub data: D,
}

/// Why information was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("SDO information: {0}")]
pub struct InfoError(pub Abort);

/// A message of the service, request or response, with its data borrowed or owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Info<D> {
    /// Requests a list of object indices, or the lengths of the lists.
    ListRequest(ListType),
    /// A piece of a list: the first begins with two bytes of the list's type.
    List {
        /// Messages that follow this one.
        left: u16,
        /// The objects' indices, of two bytes each.
        data: D,
    },
    /// Requests the description of an object.
    ObjectRequest(u16),
    /// The description of an object.
    Object(ObjectDescription<D>),
    /// Requests the description of an entry.
    EntryRequest {
        /// The index of the object.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        sub: u8,
        /// Which further values are requested.
        values: u8,
    },
    /// The description of an entry.
    Entry(EntryDescription<D>),
    /// The information is not available.
    Error(InfoError),
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

impl<'a> Info<&'a [u8]> {
    /// Reads what follows CoE's header.
    ///
    /// # Errors
    /// [`CoeError::CutShort`], [`CoeError::Command`].
    pub fn read(body: &'a [u8]) -> Result<Self, CoeError> {
        let (head, data) = split::<4>(body)?;
        let left = u16_at(head, 2);
        Ok(match head[0] & !INCOMPLETE {
            1 => Self::ListRequest(ListType(u16_at(split::<2>(data)?.0, 0))),
            2 => Self::List { left, data },
            3 => Self::ObjectRequest(u16_at(split::<2>(data)?.0, 0)),
            4 => {
                let (it, name) = split::<6>(data)?;
                Self::Object(ObjectDescription {
                    index: u16_at(it, 0),
                    data_type: DataType(u16_at(it, 2)),
                    highest_sub: it[4],
                    code: ObjectCode::from_number(it[5]),
                    name,
                })
            }
            5 => {
                let (it, _) = split::<4>(data)?;
                Self::EntryRequest {
                    index: u16_at(it, 0),
                    sub: it[2],
                    values: it[3],
                }
            }
            6 => {
                let (it, data) = split::<10>(data)?;
                Self::Entry(EntryDescription {
                    index: u16_at(it, 0),
                    sub: it[2],
                    values: it[3],
                    data_type: DataType(u16_at(it, 4)),
                    bits: u16_at(it, 6),
                    access: Access(u16_at(it, 8)),
                    data,
                })
            }
            7 => {
                let (it, _) = split::<4>(data)?;
                Self::Error(InfoError(Abort(u32::from_le_bytes(*it))))
            }
            other => return Err(CoeError::Command(other)),
        })
    }
}

impl<D: AsRef<[u8]>> Info<D> {
    fn body(&self, room: &mut [u8]) -> Result<usize, MailboxError> {
        match *self {
            Self::ListRequest(list) => put(room, &list.0.to_le_bytes()),
            Self::List { ref data, .. } => put(room, data.as_ref()),
            Self::ObjectRequest(index) => put(room, &index.to_le_bytes()),
            Self::Object(ref it) => {
                let ([a, b], [c, d]) = (it.index.to_le_bytes(), it.data_type.0.to_le_bytes());
                let written = put(room, &[a, b, c, d, it.highest_sub, it.code.number()])?;
                Ok(written + put(&mut room[written..], it.name.as_ref())?)
            }
            Self::EntryRequest { index, sub, values } => {
                let [a, b] = index.to_le_bytes();
                put(room, &[a, b, sub, values])
            }
            Self::Entry(ref it) => {
                let ([a, b], [c, d]) = (it.index.to_le_bytes(), it.data_type.0.to_le_bytes());
                let ([e, f], [g, h]) = (it.bits.to_le_bytes(), it.access.0.to_le_bytes());
                let written = put(room, &[a, b, it.sub, it.values, c, d, e, f, g, h])?;
                Ok(written + put(&mut room[written..], it.data.as_ref())?)
            }
            Self::Error(error) => put(room, &error.0.0.to_le_bytes()),
        }
    }

    /// Writes the message with its headers.
    ///
    /// # Errors
    /// [`MailboxError::NoRoom`].
    pub fn write(&self, data: &mut [u8]) -> Result<usize, MailboxError> {
        let (operation, left) = match self {
            Self::ListRequest(_) => (1, 0),
            Self::List { left, .. } => (2, *left),
            Self::ObjectRequest(_) => (3, 0),
            Self::Object(_) => (4, 0),
            Self::EntryRequest { .. } => (5, 0),
            Self::Entry(_) => (6, 0),
            Self::Error(_) => (7, 0),
        };
        let incomplete = if left > 0 { INCOMPLETE } else { 0 };
        let [low, high] = left.to_le_bytes();
        write(data, Service::SdoInformation, |room| {
            let written = put(room, &[operation | incomplete, 0, low, high])?;
            Ok(written + self.body(&mut room[written..])?)
        })
    }
}

// Units of objects.

/// A unit in a device's dictionary: a power of ten, a numerator and a denominator (ETG.1004, whose numbers are those
/// of CiA 303-2).
///
/// ```
/// use kadenz_ethercat::wire::coe::Unit;
///
/// assert_eq!(Unit(0xFDB4_4700).to_string(), "mrev/min");
/// assert_eq!(Unit(0xFE01_0300).to_string(), "cm/s");
/// assert_eq!(Unit(0x0777_0000).to_string(), "unit 0x07770000", "what is not known");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Unit(pub u32);

impl Unit {
    /// The bit of an entry's value information that requests its unit, and is set where the unit was sent
    /// (ETG.1000.6, get entry description).
    pub const IN_VALUES: u8 = 0x08;
}

/// Symbols of the numbers that devices of robots use.
const SYMBOLS: [(u8, &str); 21] = [
    (0x01, "m"),
    (0x02, "kg"),
    (0x03, "s"),
    (0x04, "A"),
    (0x05, "K"),
    (0x10, "rad"),
    (0x20, "Hz"),
    (0x21, "N"),
    (0x22, "Pa"),
    (0x23, "J"),
    (0x24, "W"),
    (0x25, "C"),
    (0x26, "V"),
    (0x27, "F"),
    (0x28, "ohm"),
    (0x2D, "degC"),
    (0x41, "deg"),
    (0x47, "min"),
    (0x48, "h"),
    (0xB4, "rev"),
    (0xB5, "inc"),
];

const PREFIXES: [(i8, &str); 9] = [
    (-9, "n"),
    (-6, "u"),
    (-3, "m"),
    (-2, "c"),
    (-1, "d"),
    (0, ""),
    (3, "k"),
    (6, "M"),
    (9, "G"),
];

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, denominator, numerator, prefix] = self.0.to_le_bytes();
        let prefix = PREFIXES.iter().find(|it| it.0 == prefix as i8);
        let (Some((_, prefix)), Some(above)) = (prefix, symbol(numerator)) else {
            return write!(f, "unit 0x{:08X}", self.0);
        };
        match (denominator, symbol(denominator)) {
            (0, _) => write!(f, "{prefix}{above}"),
            (_, Some(below)) => write!(f, "{prefix}{above}/{below}"),
            (_, None) => write!(f, "unit 0x{:08X}", self.0),
        }
    }
}

fn symbol(number: u8) -> Option<&'static str> {
    let found = SYMBOLS.iter().find(|it| it.0 == number);
    found.map(|(_, symbol)| *symbol)
}
