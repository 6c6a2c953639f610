//! The requests and answers of service data objects (SDO).

use super::{Address, CoeError, Service, split, write};
use crate::wire::mailbox::{self, MailboxError, put};

/// Bytes of a mailbox besides the data in the first message of a transfer that is not expedited.
pub const TRANSFER_OVERHEAD: usize = mailbox::HEADER + super::HEADER + 8;
/// Bytes of a mailbox besides the data in a segment.
pub(crate) const SEGMENT_OVERHEAD: usize = mailbox::HEADER + super::HEADER + 1;

const COMPLETE: u8 = 1 << 4;
const TOGGLE: u8 = 1 << 4;
const EXPEDITED: u8 = 1 << 1;
const SIZE_SAID: u8 = 1 << 0;
const LAST: u8 = 1 << 0;
/// The least data of a segment; a count marks fewer bytes, which are padded.
const MIN_SEGMENT: usize = 7;

/// A request of the MainDevice. Either side may send [`Request::Abort`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// Requests a value.
    Upload {
        /// Index and sub-index of the entry.
        address: Address,
        /// Whether the value holds all entries from there.
        complete: bool,
    },
    /// Requests the next piece.
    UploadSegment {
        /// False in the first piece, then alternating.
        toggle: bool,
    },
    /// Writes a value, or its first piece.
    Download {
        /// Index and sub-index of the entry.
        address: Address,
        /// Whether the value holds all entries from there.
        complete: bool,
        /// Bytes of the whole value.
        size: u32,
        /// The value, or its first piece. A whole value of up to four bytes is expedited.
        data: &'a [u8],
    },
    /// Writes the next piece.
    DownloadSegment {
        /// False in the first piece, then alternating.
        toggle: bool,
        /// Whether this is the last piece.
        last: bool,
        /// The bytes of this piece.
        data: &'a [u8],
    },
    /// Aborts the transfer of a value.
    Abort {
        /// Index and sub-index of the entry.
        address: Address,
        /// The code by which the device aborted the transfer.
        code: Abort,
    },
}

/// An answer of the SubDevice, with its data borrowed or owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response<D> {
    /// A value, or its first piece.
    Upload {
        /// Index and sub-index of the entry.
        address: Address,
        /// Whether the value holds all entries from there.
        complete: bool,
        /// Bytes of the whole value.
        size: u32,
        /// The value, or its first piece. A whole value of up to four bytes is expedited.
        data: D,
    },
    /// The next piece.
    UploadSegment {
        /// The request's toggle bit.
        toggle: bool,
        /// Whether this is the last piece.
        last: bool,
        /// The bytes of this piece.
        data: D,
    },
    /// The SubDevice took the value, or its first piece.
    Download {
        /// Index and sub-index of the entry.
        address: Address,
        /// Whether the value holds all entries from there.
        complete: bool,
    },
    /// The SubDevice took the next piece.
    DownloadSegment {
        /// The request's toggle bit.
        toggle: bool,
    },
    /// Aborts the transfer; some devices send this as an answer.
    Abort {
        /// Index and sub-index of the entry.
        address: Address,
        /// The code by which the device aborted the transfer.
        code: Abort,
    },
}

fn address(head: &[u8; 8]) -> Address {
    Address::new(u16::from_le_bytes([head[1], head[2]]), head[3])
}

fn head(command: u8, address: Address, tail: u32) -> [u8; 8] {
    let (index, tail) = (address.index.to_le_bytes(), tail.to_le_bytes());
    [
        command,
        index[0],
        index[1],
        address.sub,
        tail[0],
        tail[1],
        tail[2],
        tail[3],
    ]
}

fn tail(head: &[u8; 8]) -> u32 {
    u32::from_le_bytes([head[4], head[5], head[6], head[7]])
}

/// Whether a message that initiates a transfer, with its header, states the value's length. An expedited one need
/// not: it carries four bytes, and the value's type says how many of them count.
pub(super) fn says_size(data: &[u8]) -> bool {
    let command = data.get(super::HEADER).copied().unwrap_or_default();
    command & (EXPEDITED | SIZE_SAID) != EXPEDITED
}

/// The value or first piece that an initiating message carries, and the size of the whole.
fn initiated(body: &[u8]) -> Result<(u32, &[u8]), CoeError> {
    let (head, rest) = split::<8>(body)?;
    if head[0] & EXPEDITED == 0 {
        let size = tail(head);
        // Padding is not data.
        let data = &rest[..rest.len().min(size as usize)];
        return Ok((size, data));
    }
    let unused = if head[0] & SIZE_SAID == 0 {
        0
    } else {
        usize::from(head[0] >> 2 & 3)
    };
    let size = 4 - unused;
    Ok((size as u32, &body[4..4 + size]))
}

fn write_initiated(
    room: &mut [u8],
    command: u8,
    at: Address,
    complete: bool,
    size: u32,
    data: &[u8],
) -> Result<usize, MailboxError> {
    let command = command | if complete { COMPLETE } else { 0 } | SIZE_SAID;
    let expedited = (1..=4).contains(&data.len()) && size as usize == data.len();
    if !expedited {
        let written = put(room, &head(command, at, size))?;
        return Ok(written + put(&mut room[written..], data)?);
    }
    let unused = 4 - data.len() as u8;
    let mut bytes = head(command | EXPEDITED | unused << 2, at, 0);
    bytes[4..4 + data.len()].copy_from_slice(data);
    put(room, &bytes)
}

fn segment(body: &[u8]) -> Result<(bool, bool, &[u8]), CoeError> {
    let (head, data) = split::<1>(body)?;
    let unused = usize::from(head[0] >> 1 & 7);
    let data = match data.len() {
        MIN_SEGMENT => &data[..MIN_SEGMENT - unused],
        _ => data,
    };
    Ok((head[0] & TOGGLE != 0, head[0] & LAST != 0, data))
}

fn write_segment(
    room: &mut [u8],
    toggle: bool,
    last: bool,
    data: &[u8],
) -> Result<usize, MailboxError> {
    let unused = MIN_SEGMENT.saturating_sub(data.len());
    let flags = if toggle { TOGGLE } else { 0 } | if last { LAST } else { 0 };
    let mut written = put(room, &[flags | (unused as u8) << 1])?;
    written += put(&mut room[written..], data)?;
    written += put(&mut room[written..], &[0; MIN_SEGMENT][..unused])?;
    Ok(written)
}

fn toggled(command: u8, toggle: bool) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[0] = command | if toggle { TOGGLE } else { 0 };
    bytes
}

impl<'a> Request<'a> {
    /// Reads what follows the header.
    ///
    /// # Errors
    /// [`CoeError::CutShort`], [`CoeError::Command`].
    pub fn read(body: &'a [u8]) -> Result<Self, CoeError> {
        let (head, _) = split::<8>(body)?;
        let complete = head[0] & COMPLETE != 0;
        Ok(match head[0] >> 5 {
            0 => {
                let (toggle, last, data) = segment(body)?;
                Self::DownloadSegment { toggle, last, data }
            }
            1 => {
                let (size, data) = initiated(body)?;
                Self::Download {
                    address: address(head),
                    complete,
                    size,
                    data,
                }
            }
            2 => Self::Upload {
                address: address(head),
                complete,
            },
            3 => Self::UploadSegment {
                toggle: head[0] & TOGGLE != 0,
            },
            4 => Self::Abort {
                address: address(head),
                code: Abort(tail(head)),
            },
            _ => return Err(CoeError::Command(head[0])),
        })
    }

    /// Writes the request with its header.
    ///
    /// # Errors
    /// [`MailboxError::NoRoom`] where data does not fit; see [`TRANSFER_OVERHEAD`].
    pub fn write(&self, data: &mut [u8]) -> Result<usize, MailboxError> {
        write(data, Service::SdoRequest, |room| match *self {
            Self::Upload {
                address, complete, ..
            } => put(
                room,
                &head(0x40 | if complete { COMPLETE } else { 0 }, address, 0),
            ),
            Self::UploadSegment { toggle } => put(room, &toggled(0x60, toggle)),
            Self::Download {
                address,
                complete,
                size,
                data,
            } => write_initiated(room, 0x20, address, complete, size, data),
            Self::DownloadSegment { toggle, last, data } => write_segment(room, toggle, last, data),
            Self::Abort { address, code } => put(room, &head(0x80, address, code.0)),
        })
    }
}

impl<'a> Response<&'a [u8]> {
    /// Reads what follows the header.
    ///
    /// # Errors
    /// [`CoeError::CutShort`], [`CoeError::Command`].
    pub fn read(body: &'a [u8]) -> Result<Self, CoeError> {
        let (head, _) = split::<8>(body)?;
        let complete = head[0] & COMPLETE != 0;
        Ok(match head[0] >> 5 {
            0 => {
                let (toggle, last, data) = segment(body)?;
                Self::UploadSegment { toggle, last, data }
            }
            1 => Self::DownloadSegment {
                toggle: head[0] & TOGGLE != 0,
            },
            2 => {
                let (size, data) = initiated(body)?;
                Self::Upload {
                    address: address(head),
                    complete,
                    size,
                    data,
                }
            }
            3 => Self::Download {
                address: address(head),
                complete,
            },
            4 => Self::Abort {
                address: address(head),
                code: Abort(tail(head)),
            },
            _ => return Err(CoeError::Command(head[0])),
        })
    }
}

impl<D: AsRef<[u8]>> Response<D> {
    /// Writes the answer with its header. An abort goes out as a request, as the standard requires.
    ///
    /// # Errors
    /// [`MailboxError::NoRoom`] where data does not fit; see [`TRANSFER_OVERHEAD`].
    pub fn write(&self, data: &mut [u8]) -> Result<usize, MailboxError> {
        // An abort is a request, also of the server.
        let service = match self {
            Self::Abort { .. } => Service::SdoRequest,
            _ => Service::SdoResponse,
        };
        write(data, service, |room| match *self {
            Self::Upload {
                address,
                complete,
                size,
                ref data,
            } => write_initiated(room, 0x40, address, complete, size, data.as_ref()),
            Self::UploadSegment {
                toggle,
                last,
                ref data,
            } => write_segment(room, toggle, last, data.as_ref()),
            Self::Download { address, complete } => put(
                room,
                &head(0x60 | if complete { COMPLETE } else { 0 }, address, 0),
            ),
            Self::DownloadSegment { toggle } => put(room, &toggled(0x20, toggle)),
            Self::Abort { address, code } => put(room, &head(0x80, address, code.0)),
        })
    }
}

// Reasons to abort a transfer.

/// An abort code (ETG.1000.6, table 41; CiA 301).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("SDO abort 0x{0:08X}: {text}", text = self.text().unwrap_or("vendor specific"))]
pub struct Abort(pub u32);

codes! {
    Abort;
    TOGGLE = 0x0503_0000, "toggle bit not changed";
    TIMEOUT = 0x0504_0000, "SDO protocol timeout";
    COMMAND = 0x0504_0001, "client or server command specifier not valid or unknown";
    OUT_OF_MEMORY = 0x0504_0005, "out of memory";
    UNSUPPORTED_ACCESS = 0x0601_0000, "unsupported access to an object";
    WRITE_ONLY = 0x0601_0001, "attempt to read a write only object";
    READ_ONLY = 0x0601_0002, "attempt to write a read only object";
    SUB_ZERO_NOT_CLEARED = 0x0601_0003, "the entry cannot be written while sub-index 0 is not 0";
    NO_COMPLETE_ACCESS = 0x0601_0004, "complete access is not supported for this object";
    LONGER_THAN_MAILBOX = 0x0601_0005, "the object is longer than the mailbox";
    MAPPED = 0x0601_0006, "the object is mapped to an RxPDO, download is blocked";
    NO_OBJECT = 0x0602_0000, "the object does not exist in the object dictionary";
    NOT_MAPPABLE = 0x0604_0041, "the object cannot be mapped to the PDO";
    PDO_TOO_LONG = 0x0604_0042, "number and length of the mapped objects exceed the PDO";
    PARAMETERS_INCOMPATIBLE = 0x0604_0043, "general parameter incompatibility";
    INTERNAL_INCOMPATIBLE = 0x0604_0047, "general internal incompatibility in the device";
    HARDWARE = 0x0606_0000, "access failed by a hardware error";
    LENGTH = 0x0607_0010, "data type does not match, length of the parameter does not match";
    TOO_LONG = 0x0607_0012, "data type does not match, the parameter is too long";
    TOO_SHORT = 0x0607_0013, "data type does not match, the parameter is too short";
    NO_SUB_INDEX = 0x0609_0011, "the sub-index does not exist";
    VALUE = 0x0609_0030, "the value is out of range";
    VALUE_TOO_HIGH = 0x0609_0031, "the value is too high";
    VALUE_TOO_LOW = 0x0609_0032, "the value is too low";
    MAXIMUM_BELOW_MINIMUM = 0x0609_0036, "the maximum is less than the minimum";
    GENERAL = 0x0800_0000, "general error";
    CANNOT_STORE = 0x0800_0020, "data cannot be transferred or stored to the application";
    LOCAL_CONTROL = 0x0800_0021, "data cannot be transferred or stored because of local control";
    STATE = 0x0800_0022, "data cannot be transferred or stored in the present device state";
    NO_DICTIONARY = 0x0800_0023, "the object dictionary cannot be made or is not there";
}
