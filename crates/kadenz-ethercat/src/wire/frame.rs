//! Ethernet frames that carry EtherCAT datagrams: read, changed in passing, written.

use super::{Command, DatagramAddress};

/// An Ethernet hardware address (MAC).
pub type Mac = [u8; 6];
/// EtherCAT's number among the Ethernet types.
pub const ETHERTYPE: u16 = 0x88A4;
/// Bytes of an Ethernet header.
pub const ETHERNET_HEADER: usize = 14;
/// Bytes before a frame's first datagram.
const HEADER: usize = ETHERNET_HEADER + 2;
/// Bytes of a datagram besides its data: its header and the working counter.
pub(crate) const DATAGRAM_OVERHEAD: usize = DATAGRAM_HEADER + COUNTER;
const DATAGRAM_HEADER: usize = 10;
const COUNTER: usize = 2;
/// The shortest frame that real hardware sends, without its check sequence.
pub const MIN_FRAME: usize = 60;
/// The longest frame, without its check sequence.
pub const MAX_FRAME: usize = 1514;
const LENGTH_BITS: u16 = 0x07FF;
const CIRCULATED: u16 = 1 << 14;
const MORE: u16 = 1 << 15;
/// Type of the datagrams that SubDevices handle, in the EtherCAT header's upper four bits.
const TYPE_DATAGRAMS: u16 = 1;

/// Why bytes are not a frame of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The headers are incomplete, or the bytes are fewer than the headers state.
    #[error("the frame is cut short: {have} bytes of {need}")]
    CutShort {
        /// Bytes that there are.
        have: usize,
        /// Bytes that there should be.
        need: usize,
    },
    /// The frame is of another protocol.
    #[error("the frame is of another protocol, Ethernet type 0x{0:04X}")]
    Foreign(u16),
    /// The frame is EtherCAT, but holds no datagrams.
    #[error("the frame is of EtherCAT's type {0}, not datagrams")]
    Type(u16),
    /// A datagram reaches over the end, or announces another where none is.
    #[error("a datagram reaches over the frame's end")]
    Overrun,
    /// A command that does not exist.
    #[error("there is no command {0}")]
    Command(u8),
}

/// A datagram does not fit into the rest of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{need} more bytes do not fit into the frame, {left} are left")]
pub struct OverflowError {
    /// Bytes that the datagram takes.
    pub need: usize,
    /// Bytes that are left.
    pub left: usize,
}

/// Checks the headers; returns where the datagrams end.
fn end_of_datagrams(bytes: &[u8]) -> Result<usize, FrameError> {
    let header = bytes.get(..HEADER).ok_or(FrameError::CutShort {
        have: bytes.len(),
        need: HEADER,
    })?;
    let ethertype = u16::from_be_bytes([header[12], header[13]]);
    if ethertype != ETHERTYPE {
        return Err(FrameError::Foreign(ethertype));
    }
    let field = u16::from_le_bytes([header[14], header[15]]);
    if field >> 12 != TYPE_DATAGRAMS {
        return Err(FrameError::Type(field >> 12));
    }
    let need = HEADER + usize::from(field & LENGTH_BITS);
    if bytes.len() < need {
        return Err(FrameError::CutShort {
            have: bytes.len(),
            need,
        });
    }
    Ok(need)
}

/// Length of the data of the datagram that begins here, and whether another follows.
fn length_field(datagram: &[u8]) -> Result<(usize, bool), FrameError> {
    let header = datagram.get(..DATAGRAM_HEADER).ok_or(FrameError::Overrun)?;
    let field = u16::from_le_bytes([header[6], header[7]]);
    let data = usize::from(field & LENGTH_BITS);
    if datagram.len() < data + DATAGRAM_OVERHEAD {
        return Err(FrameError::Overrun);
    }
    Ok((data, field & MORE != 0))
}

/// A received datagram of an EtherCAT frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// What the datagram asks of the SubDevices.
    pub command: Command,
    /// The index by which the MainDevice recognises the datagram.
    pub index: u8,
    /// The address of the SubDevices that it is for.
    pub address: DatagramAddress,
    /// Whether the frame circulated in a ring.
    pub circulated: bool,
    /// The events of all SubDevices that it passed, by OR.
    pub events: u16,
    /// The bytes that were read or are to be written.
    pub data: &'a [u8],
    /// The working counter. Each SubDevice that reads or writes adds 1; for a command that does both, a read adds 1 and
    /// a write 2.
    pub working_counter: u16,
}

/// The datagrams of a frame, in their order. After an error nothing follows.
///
/// # Real-time safety
/// Real-time safe: it borrows the frame, and allocates nothing.
#[derive(Debug, Clone)]
pub struct Datagrams<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Datagrams<'a> {
    /// Reads a frame from its Ethernet header on. Bytes behind the datagrams are padding.
    ///
    /// # Errors
    /// [`FrameError`] where it holds no datagrams.
    pub fn of(frame: &'a [u8]) -> Result<Self, FrameError> {
        let end = end_of_datagrams(frame)?;
        Ok(Self {
            rest: Some(&frame[HEADER..end]),
        })
    }

    fn read(&mut self, bytes: &'a [u8]) -> Result<Datagram<'a>, FrameError> {
        let (length, more) = length_field(bytes)?;
        let (datagram, behind) = bytes.split_at(length + DATAGRAM_OVERHEAD);
        if more {
            self.rest = Some(behind);
        }
        let field = u16::from_le_bytes([datagram[6], datagram[7]]);
        Ok(Datagram {
            command: Command::from_number(datagram[0]).ok_or(FrameError::Command(datagram[0]))?,
            index: datagram[1],
            address: DatagramAddress::from_raw(u32::from_le_bytes([
                datagram[2],
                datagram[3],
                datagram[4],
                datagram[5],
            ])),
            circulated: field & CIRCULATED != 0,
            events: u16::from_le_bytes([datagram[8], datagram[9]]),
            data: &datagram[DATAGRAM_HEADER..DATAGRAM_HEADER + length],
            working_counter: u16::from_le_bytes([
                datagram[DATAGRAM_HEADER + length],
                datagram[DATAGRAM_HEADER + length + 1],
            ]),
        })
    }
}

impl<'a> Iterator for Datagrams<'a> {
    type Item = Result<Datagram<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.rest.take()?;
        let read = self.read(bytes);
        if read.is_err() {
            self.rest = None;
        }
        Some(read)
    }
}

/// A datagram on its way: a SubDevice changes it in place.
///
/// # Real-time safety
/// Real-time safe: it borrows the frame, and allocates nothing.
#[derive(Debug)]
pub struct DatagramMut<'a> {
    header: &'a mut [u8],
    /// The bytes that were read or are to be written.
    pub data: &'a mut [u8],
    counter: &'a mut [u8],
}

impl DatagramMut<'_> {
    /// The command; `None` for an unknown number.
    #[must_use]
    pub fn command(&self) -> Option<Command> {
        Command::from_number(self.header[0])
    }

    /// The index by which the MainDevice recognises the datagram.
    #[must_use]
    pub fn index(&self) -> u8 {
        self.header[1]
    }

    /// The address of the SubDevices that it is for.
    #[must_use]
    pub fn address(&self) -> DatagramAddress {
        DatagramAddress::from_raw(u32::from_le_bytes([
            self.header[2],
            self.header[3],
            self.header[4],
            self.header[5],
        ]))
    }

    pub(crate) fn set_command(&mut self, command: Command) {
        self.header[0] = command.number();
    }

    pub(crate) fn set_index(&mut self, index: u8) {
        self.header[1] = index;
    }

    /// Replaces the address that the SubDevices compare with theirs.
    pub(crate) fn set_address(&mut self, address: DatagramAddress) {
        self.header[2..6].copy_from_slice(&address.raw().to_le_bytes());
    }

    /// Whether the frame circulated in a ring.
    #[must_use]
    pub(crate) fn circulated(&self) -> bool {
        u16::from_le_bytes([self.header[6], self.header[7]]) & CIRCULATED != 0
    }

    /// Marks the datagram as one that circulates in a ring.
    pub(crate) fn set_circulated(&mut self) {
        let field = u16::from_le_bytes([self.header[6], self.header[7]]) | CIRCULATED;
        self.header[6..8].copy_from_slice(&field.to_le_bytes());
    }

    /// Adds events by OR.
    pub(crate) fn add_events(&mut self, events: u16) {
        let field = u16::from_le_bytes([self.header[8], self.header[9]]) | events;
        self.header[8..10].copy_from_slice(&field.to_le_bytes());
    }

    /// The working counter. Each SubDevice that reads or writes adds 1; for a command that does both, a read adds 1 and
    /// a write 2.
    #[must_use]
    pub fn working_counter(&self) -> u16 {
        u16::from_le_bytes([self.counter[0], self.counter[1]])
    }

    /// Adds to the working counter; wraps around as hardware does.
    pub fn count(&mut self, more: u16) {
        let counter = self.working_counter().wrapping_add(more);
        self.counter.copy_from_slice(&counter.to_le_bytes());
    }
}

/// The datagrams of a frame, for changes in place. After an error nothing follows.
///
/// # Real-time safety
/// Real-time safe: it borrows the frame, and allocates nothing.
#[derive(Debug)]
pub struct DatagramsMut<'a> {
    rest: Option<&'a mut [u8]>,
}

impl<'a> DatagramsMut<'a> {
    /// Reads a frame from its Ethernet header on.
    ///
    /// # Errors
    /// [`FrameError`] where it holds no datagrams.
    pub fn of(frame: &'a mut [u8]) -> Result<Self, FrameError> {
        let end = end_of_datagrams(frame)?;
        Ok(Self {
            rest: Some(&mut frame[HEADER..end]),
        })
    }
}

impl<'a> Iterator for DatagramsMut<'a> {
    type Item = Result<DatagramMut<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.rest.take()?;
        let (length, more) = match length_field(bytes) {
            Ok(field) => field,
            Err(error) => return Some(Err(error)),
        };
        let (datagram, behind) = bytes.split_at_mut(length + DATAGRAM_OVERHEAD);
        if more {
            self.rest = Some(behind);
        }
        let (header, tail) = datagram.split_at_mut(DATAGRAM_HEADER);
        let (data, counter) = tail.split_at_mut(length);
        Some(Ok(DatagramMut {
            header,
            data,
            counter,
        }))
    }
}

/// The bit of a source address' first byte that the first SubDevice's hardware sets.
pub(crate) const RETURNED: u8 = 0x02;

/// Marks a frame as one that came back, by [`RETURNED`], as the first SubDevice's hardware does. Masters take
/// a frame with their own source address for their own echo and ignore it.
pub(crate) fn mark_as_returned(frame: &mut [u8]) {
    if let Some(first) = frame.get_mut(6) {
        *first |= RETURNED;
    }
}

/// The place of a datagram's data in a frame, to find it again when the frame is back.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    start: u16,
    length: u16,
}

impl Slot {
    /// Bytes of its data.
    #[must_use]
    pub const fn length(self) -> usize {
        self.length as usize
    }

    /// Where its data is in the frame's bytes.
    #[must_use]
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }

    /// The working counter behind its data; `None` where the frame is too short.
    #[must_use]
    pub fn working_counter(self, frame: &[u8]) -> Option<u16> {
        let end = self.range().end;
        frame
            .get(end..end + COUNTER)
            .map(|it| u16::from_le_bytes([it[0], it[1]]))
    }
}

/// Writes a frame into the caller's buffer, one datagram after the other.
///
/// ```
/// use kadenz_ethercat::wire::{DatagramAddress, Command, Datagrams, FrameWriter, register};
///
/// let mut buffer = [0_u8; 128];
/// let mut writer = FrameWriter::new(&mut buffer, [0x10; 6])?;
/// writer.push(Command::Brd, 7, DatagramAddress::broadcast(register::AL_STATUS), 2)?;
/// let length = writer.finish();
///
/// let datagram = Datagrams::of(&buffer[..length])?.next().expect("one was pushed")?;
/// assert_eq!((datagram.command, datagram.index, datagram.data), (Command::Brd, 7, &[0, 0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// It allocates nothing.
#[derive(Debug)]
pub struct FrameWriter<'b> {
    buffer: &'b mut [u8],
    /// Where the next datagram begins.
    end: usize,
    /// Where the last datagram begins, if there is one.
    last: Option<usize>,
}

impl<'b> FrameWriter<'b> {
    /// Begins a broadcast frame from `source`.
    ///
    /// # Errors
    /// [`OverflowError`] for a buffer without room for the headers.
    pub fn new(buffer: &'b mut [u8], source: Mac) -> Result<Self, OverflowError> {
        if buffer.len() < HEADER {
            return Err(OverflowError {
                need: HEADER,
                left: buffer.len(),
            });
        }
        let room = buffer.len().min(MAX_FRAME);
        let buffer = &mut buffer[..room];
        buffer[..6].fill(0xFF);
        buffer[6..12].copy_from_slice(&source);
        buffer[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        Ok(Self {
            buffer,
            end: HEADER,
            last: None,
        })
    }

    /// Bytes of data that one more datagram may have.
    #[must_use]
    pub fn room(&self) -> usize {
        (self.buffer.len() - self.end).saturating_sub(DATAGRAM_OVERHEAD)
    }

    /// Appends a datagram whose data is zero, and returns its place.
    ///
    /// # Errors
    /// [`OverflowError`] where it does not fit; the frame stays as it was.
    pub fn push(
        &mut self,
        command: Command,
        index: u8,
        address: DatagramAddress,
        length: usize,
    ) -> Result<Slot, OverflowError> {
        let left = self.buffer.len() - self.end;
        let overflow = OverflowError {
            need: length + DATAGRAM_OVERHEAD,
            left,
        };
        let field = u16::try_from(length).map_err(|_| overflow)?;
        if overflow.need > left {
            return Err(overflow);
        }
        if let Some(last) = self.last {
            self.buffer[last + 7] |= (MORE >> 8) as u8;
        }
        let start = self.end + DATAGRAM_HEADER;
        let datagram = &mut self.buffer[self.end..self.end + length + DATAGRAM_OVERHEAD];
        datagram.fill(0);
        datagram[0] = command.number();
        datagram[1] = index;
        datagram[2..6].copy_from_slice(&address.raw().to_le_bytes());
        datagram[6..8].copy_from_slice(&field.to_le_bytes());
        self.last = Some(self.end);
        self.end += overflow.need;
        Ok(Slot {
            start: start as u16,
            length: field,
        })
    }

    /// The data of a datagram that was pushed.
    pub fn data(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.buffer[slot.range()]
    }

    /// Completes the headers; returns the frame's length, padded to [`MIN_FRAME`] where the buffer has the room.
    pub fn finish(self) -> usize {
        let length = (self.end - HEADER) as u16;
        let field = length | TYPE_DATAGRAMS << 12;
        self.buffer[14..16].copy_from_slice(&field.to_le_bytes());
        let padded = self.end.max(MIN_FRAME).min(self.buffer.len());
        self.buffer[self.end..padded].fill(0);
        padded
    }
}

#[cfg(test)]
mod tests;
