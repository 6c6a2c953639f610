//! CANopen over EtherCAT (ETG.1000.6, chapter 5.6): SDOs, SDO information, and emergencies. It reads requests and
//! answers from hostile bytes, and writes them into the caller's.
//!
//! [`Message`] is the data of a mailbox message of [`Protocol::Coe`](super::mailbox::Protocol::Coe);
//! [`client`] makes whole transfers of them.

pub mod client;
mod info;
mod sdo;

pub use info::{
    Access, EntryDescription, Info, InfoError, ListType, ObjectCode, ObjectDescription, Unit,
};
pub(crate) use sdo::SEGMENT_OVERHEAD;
pub use sdo::{Abort, Request, Response, TRANSFER_OVERHEAD};

use super::mailbox::{MailboxError, put};

/// Objects that assign process data (ETG.1000.6, table 67).
pub mod object {
    /// The use of each SyncManager, one in each sub-index from 1 on.
    pub const SYNC_MANAGER_TYPES: u16 = 0x1C00;

    /// The object that lists a SyncManager's PDOs.
    #[must_use]
    pub const fn assignment(manager: u8) -> u16 {
        0x1C10 + manager as u16
    }
}

/// Bytes of the header before every service.
pub const HEADER: usize = 2;

numbered! {
    /// The service of a CoE message.
    pub enum Service: u8 {
        /// The SubDevice reports an error.
        Emergency = 1,
        /// Requests or writes an object's value, or aborts a transfer.
        SdoRequest = 2,
        /// The answer to such a request.
        SdoResponse = 3,
        /// Process data in a mailbox.
        TxPdo = 4,
        /// Process data in a mailbox.
        RxPdo = 5,
        /// Requests process data.
        TxPdoRemote = 6,
        /// Requests process data.
        RxPdoRemote = 7,
        /// Describes the objects of the dictionary.
        SdoInformation = 8,
    }
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CoeError {
    /// Fewer bytes than the service takes.
    #[error("the CoE message is cut short: {have} bytes of {need}")]
    CutShort {
        /// Bytes that there are.
        have: usize,
        /// Bytes that there should be.
        need: usize,
    },
    /// A service that does not exist.
    #[error("there is no CoE service {0}")]
    Service(u8),
    /// A command of the service that does not exist.
    #[error("there is no SDO command 0x{0:02X}")]
    Command(u8),
}

/// Reads a message's header; returns the service and what follows the header.
///
/// # Errors
/// [`CoeError::CutShort`], [`CoeError::Service`].
pub fn read_header(data: &[u8]) -> Result<(Service, &[u8]), CoeError> {
    let (head, rest) = split::<HEADER>(data)?;
    let number = head[1] >> 4;
    let service = Service::from_number(number).ok_or(CoeError::Service(number))?;
    Ok((service, rest))
}

fn split<const N: usize>(data: &[u8]) -> Result<(&[u8; N], &[u8]), CoeError> {
    data.split_first_chunk().ok_or(CoeError::CutShort {
        have: data.len(),
        need: N,
    })
}

/// Writes the header and what `rest` writes behind it; returns the number of bytes of both.
fn write(
    data: &mut [u8],
    service: Service,
    rest: impl FnOnce(&mut [u8]) -> Result<usize, MailboxError>,
) -> Result<usize, MailboxError> {
    let length = put(data, &[0, (service as u8) << 4])?;
    Ok(length + rest(&mut data[HEADER..])?)
}

/// An entry of the object dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The index of the object in the dictionary.
    pub index: u16,
    /// Its entry; with complete access the first, 0 or 1.
    pub sub: u8,
}

impl Address {
    /// An entry of an object.
    #[must_use]
    pub const fn new(index: u16, sub: u8) -> Self {
        Self { index, sub }
    }
}

/// An object without sub-indexes.
impl From<u16> for Address {
    fn from(index: u16) -> Self {
        Self::new(index, 0)
    }
}

/// Index and sub-index.
impl From<(u16, u8)> for Address {
    fn from((index, sub): (u16, u8)) -> Self {
        Self::new(index, sub)
    }
}

/// The index in hexadecimal, the sub-index in decimal with two digits at least: `0x6000:01`, `0x1C32:11`.
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0x{:04X}:{:02}", self.index, self.sub)
    }
}

/// Type of an entry (ETG.1000.6, table 64).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataType(pub u16);

impl DataType {
    /// One bit.
    pub const BOOLEAN: Self = Self(0x0001);
    /// An integer of 8 bits.
    pub const INTEGER8: Self = Self(0x0002);
    /// An integer of 16 bits.
    pub const INTEGER16: Self = Self(0x0003);
    /// An integer of 32 bits.
    pub const INTEGER32: Self = Self(0x0004);
    /// 8 bits without sign.
    pub const UNSIGNED8: Self = Self(0x0005);
    /// 16 bits without sign.
    pub const UNSIGNED16: Self = Self(0x0006);
    /// 32 bits without sign.
    pub const UNSIGNED32: Self = Self(0x0007);
    /// A floating-point number of 32 bits (IEEE 754).
    pub const REAL32: Self = Self(0x0008);
    /// A text in ASCII.
    pub const VISIBLE_STRING: Self = Self(0x0009);
    /// A string of bytes.
    pub const OCTET_STRING: Self = Self(0x000A);
    /// UTF-16, or other values of 16 bits.
    pub const UNICODE_STRING: Self = Self(0x000B);
    /// An integer of 24 bits.
    pub const INTEGER24: Self = Self(0x0010);
    /// A floating-point number of 64 bits (IEEE 754).
    pub const REAL64: Self = Self(0x0011);
    /// An integer of 40 bits.
    pub const INTEGER40: Self = Self(0x0012);
    /// An integer of 48 bits.
    pub const INTEGER48: Self = Self(0x0013);
    /// An integer of 56 bits.
    pub const INTEGER56: Self = Self(0x0014);
    /// An integer of 64 bits.
    pub const INTEGER64: Self = Self(0x0015);
    /// 24 bits without sign.
    pub const UNSIGNED24: Self = Self(0x0016);
    /// 40 bits without sign.
    pub const UNSIGNED40: Self = Self(0x0018);
    /// 48 bits without sign.
    pub const UNSIGNED48: Self = Self(0x0019);
    /// 56 bits without sign.
    pub const UNSIGNED56: Self = Self(0x001A);
    /// 64 bits without sign.
    pub const UNSIGNED64: Self = Self(0x001B);
    /// The record of a PDO's mapping.
    pub const PDO_MAPPING: Self = Self(0x0021);
    /// The record of an identity.
    pub const IDENTITY: Self = Self(0x0023);
    /// The record of a SyncManager's settings.
    pub const SYNC_PARAMETER: Self = Self(0x0029);
    /// 8 bits, each with a meaning of its own.
    pub const BITARR8: Self = Self(0x002D);
    /// 16 of them.
    pub const BITARR16: Self = Self(0x002E);
    /// 32 of them.
    pub const BITARR32: Self = Self(0x002F);
    /// Two bits.
    pub const BIT2: Self = Self(0x0031);

    /// Bits of a value; `None` for texts, records and unknown types.
    #[must_use]
    pub const fn bits(self) -> Option<u16> {
        Some(match self.0 {
            0x01 => 1,
            0x02 | 0x05 | 0x1E | 0x2D => 8,
            0x03 | 0x06 | 0x1F | 0x2E => 16,
            0x04 | 0x07 | 0x08 | 0x20 | 0x2F => 32,
            0x10 | 0x16 => 24,
            0x11 | 0x15 | 0x1B => 64,
            0x12 | 0x18 => 40,
            0x13 | 0x19 => 48,
            0x14 | 0x1A => 56,
            // BIT1 to BIT16 number their length.
            bits @ 0x30..=0x3F => bits - 0x2F,
            _ => return None,
        })
    }
}

/// An error message of a SubDevice (ETG.1000.6, table 50).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Emergency {
    /// The error; 0 where the last one is over. The upper byte is the class.
    pub code: u16,
    /// Object 0x1001.
    pub register: u8,
    /// The vendor's own.
    pub data: [u8; 5],
}

impl Emergency {
    /// Reads what follows the header.
    ///
    /// # Errors
    /// [`CoeError::CutShort`].
    pub fn read(body: &[u8]) -> Result<Self, CoeError> {
        let ([low, high, register, data @ ..], _) = split::<8>(body)?;
        Ok(Self {
            code: u16::from_le_bytes([*low, *high]),
            register: *register,
            data: *data,
        })
    }

    /// Writes the message with its header.
    ///
    /// # Errors
    /// [`MailboxError::NoRoom`].
    pub fn write(&self, data: &mut [u8]) -> Result<usize, MailboxError> {
        let [low, high] = self.code.to_le_bytes();
        let [a, b, c, d, e] = self.data;
        write(data, Service::Emergency, |rest| {
            put(rest, &[low, high, self.register, a, b, c, d, e])
        })
    }
}

/// A message of any of these services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// The SubDevice reports an error.
    Emergency(Emergency),
    /// Requests or writes a value, or aborts a transfer.
    Request(Request<'a>),
    /// The answer to such a request.
    Response(Response<&'a [u8]>),
    /// A request or response about the dictionary itself.
    Info(Info<&'a [u8]>),
    /// Process data; its bytes.
    Pdo(Service, &'a [u8]),
}

impl<'a> Message<'a> {
    /// Reads a mailbox message's data.
    ///
    /// # Errors
    /// [`CoeError`].
    pub fn read(data: &'a [u8]) -> Result<Self, CoeError> {
        let (service, body) = read_header(data)?;
        Ok(match service {
            Service::Emergency => Self::Emergency(Emergency::read(body)?),
            Service::SdoRequest => Self::Request(Request::read(body)?),
            Service::SdoResponse => Self::Response(Response::read(body)?),
            Service::SdoInformation => Self::Info(Info::read(body)?),
            other => Self::Pdo(other, body),
        })
    }
}

#[cfg(test)]
mod tests;
