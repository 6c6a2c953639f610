//! Frames on their way: which are out, which came back, and counts of all others.
//!
//! Every frame carries a sequence number in its source address, which SubDevices and cables leave as it is,
//! and its index in every datagram. A frame that comes back counts as the answer to the one that is out
//! under its index only if the sequence matches too: late and duplicate frames, and those of another
//! MainDevice on the same cable, are counted and dropped.

use std::io;

use kadenz_rt::clock::MonotonicTime;
use serde::{Deserialize, Serialize};

use crate::port::Port;
use crate::wire::{Datagrams, FrameError, MAX_FRAME, Mac};

/// Frames that may be out at once: as many as there are indices.
pub(crate) const MAX_IN_FLIGHT: usize = 256;

/// Counts of frames, answered or not. All since the link was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkCounts {
    /// Frames handed to the wire.
    pub sent: u64,
    /// Frames that the wire did not take.
    pub refused: u64,
    /// Frames that came back in time.
    pub answered: u64,
    /// Frames given up: nothing came back in time.
    pub lost: u64,
    /// Frames that came back after they were given up, or a second time.
    pub late: u64,
    /// Frames of other programs.
    pub foreign: u64,
    /// Frames of ours that came back cut short or changed where nothing may change.
    pub damaged: u64,
}

/// A frame that is out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    index: u8,
    sequence: u32,
}

/// An answer that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The index by which the frame was recognised.
    pub index: u8,
    /// Its length in bytes.
    pub length: usize,
    sequence: u32,
}

/// A frame that is out.
#[derive(Debug, Clone, Copy)]
struct SentFrame {
    sequence: u32,
    /// Bytes that its headers promise.
    length: u16,
}

/// Sends frames and finds their answers.
///
/// # Real-time safety
/// It neither allocates, locks nor waits, except for `wait`.
#[derive(Debug)]
pub struct Link<P> {
    port: P,
    source: u8,
    sequence: u32,
    next: u8,
    out: [Option<SentFrame>; MAX_IN_FLIGHT],
    counts: LinkCounts,
}

/// The reason why a frame was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// As many are out as there are indices.
    #[error("256 frames are out and none came back; the wire is broken or far too slow")]
    AllOut,
    /// The bytes are not a frame of datagrams.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The wire did not take the frame.
    #[error("the interface accepted no frame: {0}; is the interface up, and the cable plugged in?")]
    Refused(#[from] io::Error),
}

/// Bytes of a source address before the sequence.
const SEQUENCE_AT: usize = 8;

impl<P: Port> Link<P> {
    /// A link over a port; the process's number distinguishes it from those of other programs.
    pub fn of_process(port: P) -> Self {
        Self::new(port, 0x80 | (std::process::id() & 0x7F) as u8)
    }

    /// A link over a port. `source` distinguishes several MainDevices on one cable.
    pub fn new(port: P, source: u8) -> Self {
        Self {
            port,
            source,
            sequence: 0,
            next: 0,
            out: [None; MAX_IN_FLIGHT],
            counts: LinkCounts::default(),
        }
    }

    /// The counts of frames since the link was made.
    #[must_use]
    pub fn counts(&self) -> LinkCounts {
        self.counts
    }

    /// The time by the port's clock.
    #[must_use]
    pub fn now(&self) -> MonotonicTime {
        self.port.now()
    }

    /// Returns the port alone. Frames that are out are lost.
    #[must_use]
    pub(crate) fn into_port(self) -> P {
        self.port
    }

    /// The port that sends and receives the frames.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }

    /// Sends a frame that a [`FrameWriter`](crate::wire::FrameWriter) made. The link writes its own source
    /// address and index into the frame.
    ///
    /// # Errors
    /// [`SendError`]; the frame is not out then.
    pub(crate) fn send(&mut self, frame: &mut [u8]) -> Result<Ticket, SendError> {
        let index = self.free_index().ok_or(SendError::AllOut)?;
        let length = address_datagrams(frame, index)?;
        self.sequence = self.sequence.wrapping_add(1);
        frame[6..12].copy_from_slice(&self.source(self.sequence));
        if let Err(error) = self.port.send(frame) {
            self.counts.refused += 1;
            return Err(error.into());
        }
        let sequence = self.sequence;
        self.out[usize::from(index)] = Some(SentFrame { sequence, length });
        self.next = index.wrapping_add(1);
        self.counts.sent += 1;
        Ok(Ticket { index, sequence })
    }

    /// Copies the next answer that has come into `frame`; `None` when there is none now. Other frames are
    /// counted and dropped, up to [`MAX_IN_FLIGHT`] a call: a flood of foreign frames blocks no caller.
    pub(crate) fn receive(&mut self, frame: &mut [u8; MAX_FRAME]) -> Option<Arrived> {
        for _ in 0..MAX_IN_FLIGHT {
            let length = self.port.receive(frame)?;
            if let Some(arrived) = self.match_reply(&frame[..length]) {
                self.out[usize::from(arrived.index)] = None;
                self.counts.answered += 1;
                return Some(arrived);
            }
        }
        None
    }

    /// Waits for frames; returns whether there is one. See [`Port::wait`].
    ///
    /// # Errors
    /// As the port's.
    pub(crate) fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
        self.port.wait(until)
    }

    /// Whether an answer belongs to this ticket.
    #[must_use]
    pub(crate) fn is_answer(ticket: &Ticket, arrived: Arrived) -> bool {
        (ticket.index, ticket.sequence) == (arrived.index, arrived.sequence)
    }

    /// Whether the frame is still out.
    #[must_use]
    pub(crate) fn is_out(&self, ticket: &Ticket) -> bool {
        self.out[usize::from(ticket.index)].is_some_and(|it| it.sequence == ticket.sequence)
    }

    /// Gives a frame up: if it comes after all, it counts as late.
    pub(crate) fn give_up(&mut self, ticket: &Ticket) {
        let Ticket { index, sequence } = *ticket;
        let out = &mut self.out[usize::from(index)];
        if out.is_some_and(|it| it.sequence == sequence) {
            *out = None;
            self.counts.lost += 1;
        }
    }

    /// Gives up every frame that is out; for a caller that takes over a link from an earlier user.
    pub(crate) fn discard_all(&mut self) {
        for out in &mut self.out {
            self.counts.lost += u64::from(out.take().is_some());
        }
    }

    /// The next index under which no frame is out. Indices are used in turn, so that one that was given up
    /// is used again as late as possible.
    fn free_index(&self) -> Option<u8> {
        (0..=u8::MAX)
            .map(|ahead| self.next.wrapping_add(ahead))
            .find(|index| self.out[usize::from(*index)].is_none())
    }

    /// The source address of a frame. SubDevices change its first byte
    /// ([`mark_as_returned`](crate::wire::mark_as_returned)), so our frame differs from its echo.
    fn source(&self, sequence: u32) -> Mac {
        let [a, b, c, d] = sequence.to_be_bytes();
        [0x10, self.source, a, b, c, d]
    }

    /// Whether a frame is the answer to one that is out; if not, it is counted.
    fn match_reply(&mut self, frame: &[u8]) -> Option<Arrived> {
        let ours = frame.len() >= 12 && frame[6] | 0x02 == 0x12 && frame[7] == self.source;
        if !ours {
            self.counts.foreign += 1;
            return None;
        }
        let sequence = u32::from_be_bytes([
            frame[SEQUENCE_AT],
            frame[SEQUENCE_AT + 1],
            frame[SEQUENCE_AT + 2],
            frame[SEQUENCE_AT + 3],
        ]);
        let first = Datagrams::of(frame)
            .ok()
            .and_then(|mut it| it.next())
            .and_then(Result::ok);
        let Some(index) = first.map(|it| it.index) else {
            self.counts.damaged += 1;
            return None;
        };
        match self.out[usize::from(index)] {
            Some(out) if out.sequence == sequence => {
                let whole = declared_length(frame) == Some(out.length);
                if !whole {
                    self.counts.damaged += 1;
                }
                whole.then_some(Arrived {
                    index,
                    sequence,
                    length: frame.len(),
                })
            }
            _ => {
                self.counts.late += 1;
                None
            }
        }
    }
}

/// Bytes of datagrams that the EtherCAT header promises.
fn declared_length(frame: &[u8]) -> Option<u16> {
    let field = frame.get(14..16)?;
    Some(u16::from_le_bytes([field[0], field[1]]) & 0x07FF)
}

/// Writes the index into every datagram; returns the number of their bytes.
fn address_datagrams(frame: &mut [u8], index: u8) -> Result<u16, FrameError> {
    for datagram in crate::wire::DatagramsMut::of(frame)? {
        datagram?.set_index(index);
    }
    Ok(declared_length(frame).unwrap_or(0))
}

#[cfg(test)]
mod tests;
