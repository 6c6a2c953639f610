//! A batch of register accesses in few frames: a frame costs a cycle, however many accesses it
//! carries.

use std::ops::Range;

use crate::main_device::exchange::{Exchange, ExchangeResult, FrameBuffer, Target};
use crate::wire::{DATAGRAM_OVERHEAD, Datagrams, ETHERNET_HEADER, FrameError, MAX_FRAME, Slot};

/// Bytes of datagrams in the longest frame.
pub(super) const MAX: usize = MAX_FRAME - ETHERNET_HEADER - 2;

/// An access to one register.
#[derive(Debug)]
struct RegisterAccess {
    target: Target,
    register: u16,
    writes: bool,
    /// The range in [`Batch::bytes`]: what is written, or room for what is read.
    bytes: Range<usize>,
    working_counter: u16,
}

/// Names one access of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct AccessId(usize);

/// Register accesses and, once they were sent, their answers.
#[derive(Debug)]
pub(super) struct Batch {
    /// Bytes of datagrams in a frame, except for a group that is longer.
    frame_bytes: usize,
    accesses: Vec<RegisterAccess>,
    bytes: Vec<u8>,
    /// The first access of each group that must be in one frame.
    groups: Vec<usize>,
}

impl Batch {
    /// An empty batch; its frames carry `frame_bytes` of datagrams.
    pub(super) fn of(frame_bytes: usize) -> Self {
        Self {
            frame_bytes: frame_bytes.min(MAX),
            accesses: Vec::new(),
            bytes: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Puts what follows, up to the next call, into one frame.
    pub(super) fn together(&mut self) {
        self.groups.push(self.accesses.len());
    }

    pub(super) fn read(&mut self, target: Target, register: u16, length: usize) -> AccessId {
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        self.push(target, register, false, start)
    }

    pub(super) fn write(&mut self, target: Target, register: u16, bytes: &[u8]) -> AccessId {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.push(target, register, true, start)
    }

    fn push(&mut self, target: Target, register: u16, writes: bool, start: usize) -> AccessId {
        self.accesses.push(RegisterAccess {
            target,
            register,
            writes,
            bytes: start..self.bytes.len(),
            working_counter: 0,
        });
        AccessId(self.accesses.len() - 1)
    }

    /// The working counter of an access.
    pub(super) fn working_counter(&self, AccessId(number): AccessId) -> u16 {
        self.accesses[number].working_counter
    }

    /// The bytes read, where exactly one SubDevice answered.
    pub(super) fn answer<const N: usize>(&self, AccessId(number): AccessId) -> Option<[u8; N]> {
        let access = &self.accesses[number];
        let bytes = self.bytes[access.bytes.clone()].try_into().ok()?;
        (access.working_counter == 1).then_some(bytes)
    }

    /// Whether exactly one SubDevice did every access of a range.
    pub(super) fn all_did(&self, from: AccessId, behind: AccessId) -> bool {
        let accesses = &self.accesses[from.0..behind.0];
        accesses.iter().all(|it| it.working_counter == 1)
    }

    /// The number of the next access.
    pub(super) fn next(&self) -> AccessId {
        AccessId(self.accesses.len())
    }

    /// Sends all and takes in the answers.
    pub(super) fn send(&mut self, exchange: &mut dyn Exchange) -> ExchangeResult {
        let mut frame = FrameBuffer::default();
        let mut start = 0;
        while start < self.accesses.len() {
            let end = self.end_of_frame(start);
            let slots = self.fill(&mut frame, start..end)?;
            exchange.exchange(&mut frame)?;
            self.take_in(&frame, start, &slots)?;
            start = end;
        }
        Ok(())
    }

    /// The end of a frame with as many groups as fit, at least one.
    fn end_of_frame(&self, start: usize) -> usize {
        let ends = self.groups.iter().copied().filter(|it| *it > start);
        let ends = ends.chain([self.accesses.len()]);
        let mut fitting = None;
        for end in ends {
            let accesses = &self.accesses[start..end];
            let need: usize = accesses
                .iter()
                .map(|it| it.bytes.len() + DATAGRAM_OVERHEAD)
                .sum();
            if need > self.frame_bytes && fitting.is_some() {
                break;
            }
            fitting = Some(end);
        }
        fitting.unwrap_or(self.accesses.len())
    }

    fn fill(&self, frame: &mut FrameBuffer, accesses: Range<usize>) -> ExchangeResult<Vec<Slot>> {
        let slots = frame.write(|writer| {
            let mut slots = Vec::with_capacity(accesses.len());
            for access in &self.accesses[accesses] {
                let (command, address, _) = match access.writes {
                    true => access.target.writing(access.register),
                    false => access.target.reading(access.register),
                };
                let slot = writer.push(command, 0, address, access.bytes.len())?;
                if access.writes {
                    let bytes = &self.bytes[access.bytes.clone()];
                    writer.data(slot).copy_from_slice(bytes);
                }
                slots.push(slot);
            }
            Ok(slots)
        })?;
        Ok(slots)
    }

    fn take_in(&mut self, frame: &FrameBuffer, start: usize, slots: &[Slot]) -> ExchangeResult {
        let mut answers = Datagrams::of(frame.bytes())?;
        for (access, slot) in self.accesses[start..].iter_mut().zip(slots) {
            let answer = answers.next().ok_or(FrameError::Overrun)??;
            if answer.data.len() != slot.length() {
                return Err(FrameError::Overrun.into());
            }
            access.working_counter = answer.working_counter;
            if !access.writes {
                self.bytes[access.bytes.clone()].copy_from_slice(answer.data);
            }
        }
        Ok(())
    }
}
