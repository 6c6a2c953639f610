//! The header of every mailbox message (ETG.1000.4, chapter 5.6), and the answer to an invalid message.

/// Bytes before a message's data.
pub const HEADER: usize = 6;

numbered! {
    /// The protocol of a mailbox message.
    pub enum Protocol: u8 {
        /// Answer to an invalid message.
        Error = 0,
        /// ADS over EtherCAT.
        Aoe = 1,
        /// Ethernet over EtherCAT.
        Eoe = 2,
        /// CANopen over EtherCAT.
        Coe = 3,
        /// Files over EtherCAT.
        Foe = 4,
        /// Servo profile over EtherCAT.
        Soe = 5,
        /// A vendor's own.
        Voe = 15,
    }
}

/// Number of a message in its mailbox: 1 to 7, then 1 again. A message with the number of the one before
/// is its repetition; 0 is for devices that do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counter(u8);

impl Counter {
    /// Not counted.
    pub const NONE: Self = Self(0);

    /// From three bits.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 7)
    }

    /// Three bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The one after this; 1 after [`Counter::NONE`].
    #[must_use]
    pub const fn next(self) -> Self {
        Self(if self.0 == 7 { 1 } else { self.0 + 1 })
    }
}

/// The header of a mailbox message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of data that follow.
    pub length: u16,
    /// The sender's or receiver's station address; 0 for the MainDevice.
    pub station: u16,
    /// Channel, six bits; reserved.
    pub channel: u8,
    /// 0 lowest to 3 highest.
    pub priority: u8,
    /// Number of the protocol; of four bits.
    pub protocol: u8,
    /// Number of the message.
    pub counter: Counter,
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MailboxError {
    /// The header is incomplete, or the bytes are fewer than it states.
    #[error("the mailbox message is cut short: {have} bytes of {need}")]
    CutShort {
        /// Bytes that there are.
        have: usize,
        /// Bytes that there should be.
        need: usize,
    },
    /// The message does not fit into the mailbox.
    #[error("the mailbox message needs {need} bytes, and the mailbox has {room}")]
    NoRoom {
        /// Bytes of the message.
        need: usize,
        /// Bytes of the mailbox.
        room: usize,
    },
}

impl Header {
    /// The header of a message of that protocol and length, with the usual other fields.
    #[must_use]
    pub(crate) const fn new(protocol: Protocol, counter: Counter, length: u16) -> Self {
        Self {
            length,
            station: 0,
            channel: 0,
            priority: 0,
            protocol: protocol as u8,
            counter,
        }
    }

    /// Reads a header; returns it with the data that belongs to it.
    ///
    /// # Errors
    /// [`MailboxError::CutShort`].
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8]), MailboxError> {
        let short = |need| MailboxError::CutShort {
            have: bytes.len(),
            need,
        };
        let (head, data) = bytes
            .split_first_chunk::<HEADER>()
            .ok_or_else(|| short(HEADER))?;
        let header = Self {
            length: u16::from_le_bytes([head[0], head[1]]),
            station: u16::from_le_bytes([head[2], head[3]]),
            channel: head[4] & 0x3F,
            priority: head[4] >> 6,
            protocol: head[5] & 0x0F,
            counter: Counter::from_bits(head[5] >> 4),
        };
        let length = usize::from(header.length);
        let data = data.get(..length).ok_or_else(|| short(HEADER + length))?;
        Ok((header, data))
    }

    /// The protocol; `None` for an unknown number.
    #[must_use]
    pub const fn protocol(&self) -> Option<Protocol> {
        Protocol::from_number(self.protocol)
    }

    /// The header's bytes.
    #[must_use]
    pub(crate) const fn bytes(&self) -> [u8; HEADER] {
        let (length, station) = (self.length.to_le_bytes(), self.station.to_le_bytes());
        [
            length[0],
            length[1],
            station[0],
            station[1],
            (self.channel & 0x3F) | self.priority << 6,
            (self.protocol & 0x0F) | self.counter.bits() << 4,
        ]
    }
}

/// Writes a whole message whose data `fill` writes and measures; returns its length. [`set_counter`] sets the counter
/// later, where the sender does not know it yet.
///
/// # Errors
/// [`MailboxError::NoRoom`] for a buffer without room for a header; any error of `fill`.
pub fn write(
    buffer: &mut [u8],
    protocol: Protocol,
    counter: Counter,
    fill: impl FnOnce(&mut [u8]) -> Result<usize, MailboxError>,
) -> Result<usize, MailboxError> {
    let room = buffer.len();
    let (head, data) = buffer
        .split_first_chunk_mut::<HEADER>()
        .ok_or(MailboxError::NoRoom { need: HEADER, room })?;
    let limit = data.len().min(usize::from(u16::MAX));
    let length = fill(&mut data[..limit])?.min(limit);
    *head = Header::new(protocol, counter, length as u16).bytes();
    Ok(HEADER + length)
}

/// Sets the counter of a complete message. Does nothing to bytes that are too short for one.
pub fn set_counter(message: &mut [u8], counter: Counter) {
    if let Some(byte) = message.get_mut(5) {
        *byte = *byte & 0x0F | counter.bits() << 4;
    }
}

/// Why a SubDevice rejected a message (ETG.1000.4, table 30).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorDetail(pub u16);

codes! {
    ErrorDetail;
    SYNTAX = 1, "syntax of the mailbox header is wrong";
    UNSUPPORTED_PROTOCOL = 2, "the protocol is not supported";
    INVALID_CHANNEL = 3, "the channel is invalid";
    SERVICE_NOT_SUPPORTED = 4, "the service is not supported";
    INVALID_HEADER = 5, "the protocol's header is wrong";
    SIZE_TOO_SHORT = 6, "the message is too short";
    NO_MORE_MEMORY = 7, "no memory is left";
    INVALID_SIZE = 8, "the size is invalid";
}

impl ErrorDetail {
    /// Reads the error from a message's data.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<Self> {
        match data {
            [1, 0, low, high, ..] => Some(Self(u16::from_le_bytes([*low, *high]))),
            _ => None,
        }
    }

    /// Writes the whole error message.
    ///
    /// # Errors
    /// [`MailboxError::NoRoom`].
    pub fn write(self, counter: Counter, buffer: &mut [u8]) -> Result<usize, MailboxError> {
        write(buffer, Protocol::Error, counter, |data| {
            let [low, high] = self.0.to_le_bytes();
            put(data, &[1, 0, low, high])
        })
    }
}

impl std::fmt::Display for ErrorDetail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.text().unwrap_or("vendor specific");
        write!(f, "0x{:04X}, {text}", self.0)
    }
}

/// Copies bytes to the front of data; returns how many.
pub(crate) fn put(data: &mut [u8], bytes: &[u8]) -> Result<usize, MailboxError> {
    let room = data.len() + HEADER;
    match data.get_mut(..bytes.len()) {
        Some(front) => front.copy_from_slice(bytes),
        None => {
            return Err(MailboxError::NoRoom {
                need: bytes.len() + HEADER,
                room,
            });
        }
    }
    Ok(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(data in prop::collection::vec(any::<u8>(), 0..200), number in 0_u8..8) {
            let mut buffer = [0xAA; 256];
            let length = write(&mut buffer, Protocol::Coe, Counter::NONE, |room| put(room, &data)).unwrap();
            set_counter(&mut buffer, Counter::from_bits(number));
            let (header, read) = Header::read(&buffer).unwrap();
            prop_assert_eq!((length, read), (data.len() + HEADER, &data[..]));
            prop_assert_eq!((header.protocol(), header.counter.bits()), (Some(Protocol::Coe), number));
        }

        #[test]
        fn six_bytes_are_the_same_again(bytes in any::<[u8; 6]>()) {
            let mut long = vec![0; 6 + 65536];
            long[..6].copy_from_slice(&bytes);
            long[5] &= 0x7F;
            let (header, data) = Header::read(&long).unwrap();
            prop_assert_eq!(&header.bytes()[..], &long[..6]);
            prop_assert_eq!(data.len(), usize::from(header.length));
        }
    }

    #[test]
    fn a_counter_never_comes_back_to_none() {
        let mut counter = Counter::NONE;
        for expected in [1, 2, 3, 4, 5, 6, 7, 1, 2] {
            counter = counter.next();
            assert_eq!(counter.bits(), expected);
        }
    }

    #[test]
    fn an_error_says_what_it_means() {
        let mut buffer = [0; 10];
        let length = ErrorDetail::UNSUPPORTED_PROTOCOL
            .write(Counter::from_bits(3), &mut buffer)
            .unwrap();
        let (header, data) = Header::read(&buffer[..length]).unwrap();
        assert_eq!(header.protocol(), Some(Protocol::Error));
        let detail = ErrorDetail::read(data).unwrap();
        assert_eq!(detail.to_string(), "0x0002, the protocol is not supported");
        assert!(
            ErrorDetail::SYNTAX
                .write(Counter::NONE, &mut [0; 9])
                .is_err()
        );
    }

    #[test]
    fn a_message_longer_than_its_mailbox_is_refused() {
        let bytes = [5, 0, 0, 0, 0, 3, 1, 2, 3, 4];
        assert_eq!(
            Header::read(&bytes),
            Err(MailboxError::CutShort { have: 10, need: 11 })
        );
    }
}
