//! The exchange of process data in a cycle: the outputs go out, the inputs come back.
//!
//! Neither allocates, locks nor waits, except for [`Cycle::exchange`] and [`Cycle::await_answers`], which wait for the
//! answers.

mod reference;

use std::cmp::Ordering;
use std::ops::Range;

use kadenz_rt::clock::MonotonicTime;

use super::acyclic::AcyclicQueue;
use super::layout::Layout;
use super::link::{Arrived, Link, Ticket};
use crate::port::Port;
use crate::wire::register::AL_STATUS;
use crate::wire::{
    AlStatus, Command, Configured, DatagramAddress, FrameWriter, MAX_FRAME, OverflowError, Slot,
};
use reference::Reference;

/// Bytes that the first frame carries besides process data: the state of all, and the reference clock.
pub const BESIDES: usize = 12 + 2 + 12 + 8;

/// From this many bytes of inputs on, a mark shows whether a SubDevice wrote them.
const MARKED: usize = 6;
/// The mark that alters such inputs on their way out where needed: no device's inputs change so all at once.
const MARK: u8 = 0xA5;

/// The outcome of a cycle's frames.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Frames that were sent.
    pub sent: u16,
    /// Frames that came back.
    pub answered: u16,
    /// Frames that came back with the right working counter.
    pub whole: u16,
    /// The working counters of all process data that came back.
    pub working_counter: u32,
    /// The expected working counters.
    pub expected: u32,
    /// The states of all SubDevices, ORed, and their number; `None` when that did not come back.
    pub states: Option<(AlStatus, u16)>,
    /// The reference clock, ns; `None` without one, when it did not come back, or while the reference is away or not
    /// set yet: then the cycle distributes no time.
    pub system_time_ns: Option<u64>,
}

impl Outcome {
    /// Whether every SubDevice took part.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole == self.sent && self.sent > 0
    }
}

/// A frame of the cycle, allocated before the loop.
#[derive(Debug)]
struct Carrier {
    bytes: Vec<u8>,
    data: Option<Slot>,
    states: Option<Slot>,
    reference: Option<Reference>,
    out: Option<Ticket>,
    result: FrameResult,
    /// Whether its inputs went out marked.
    marked: bool,
}

/// The result of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameResult {
    /// It did not come back, or is not to be believed.
    Missing,
    /// Some SubDevices took no part.
    Short,
    /// All SubDevices took part.
    Whole,
}

/// The process data of a segment, exchanged cycle by cycle.
///
/// # Real-time safety
/// [`Cycle::new`] allocates, nothing else does. [`Cycle::exchange`] and [`Cycle::await_answers`] wait for the frames,
/// until a given time; the other methods do not wait.
#[derive(Debug)]
pub struct Cycle {
    layout: Layout,
    carriers: Vec<Carrier>,
    outputs: Vec<u8>,
    inputs: Vec<u8>,
    /// Which SubDevices took part, of those whose frame came back short.
    part: Vec<bool>,
    outcome: Outcome,
    buffer: Box<[u8; MAX_FRAME]>,
}

impl Cycle {
    /// Makes the frames. `reference` is the SubDevice whose clock all others follow; while it is away, and until it is
    /// in SAFEOP again, they follow none. Allocates.
    ///
    /// # Errors
    /// [`OverflowError`] for a layout whose frames have no room for [`BESIDES`].
    pub fn new(layout: Layout, reference: Option<Configured>) -> Result<Self, OverflowError> {
        let frames = layout.frames.len().max(1);
        let carriers = (0..frames).map(|frame| Carrier::new(&layout, frame, reference));
        let carriers = carriers.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            outputs: vec![0; layout.outputs],
            inputs: vec![0; layout.inputs],
            part: vec![false; layout.shares.len()],
            layout,
            carriers,
            outcome: Outcome::default(),
            buffer: Box::new([0; MAX_FRAME]),
        })
    }

    /// The layout of all SubDevices' process data.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The outputs that go out with the next [`send`](Self::send).
    pub(crate) fn outputs_mut(&mut self) -> &mut [u8] {
        &mut self.outputs
    }

    /// The outputs as they were written last.
    #[must_use]
    pub fn outputs(&self) -> &[u8] {
        &self.outputs
    }

    /// The inputs that came last. Those of a frame that did not come back stay as they were, and so do, in one whose
    /// working counter is too low, those of SubDevices that took no part.
    #[must_use]
    pub fn inputs(&self) -> &[u8] {
        &self.inputs
    }

    /// Whether a SubDevice took part in the cycle that ended last, as far as is known: it has its outputs, and its
    /// inputs are new. In a frame whose working counter is too low this is unknown at first; where the next one's is
    /// too, it shows for all with six bytes of inputs or more. A SubDevice that gave inputs and took no outputs cannot
    /// be identified beside SubDevices of fewer bytes, which may be those that are missing.
    #[must_use]
    pub fn took_part(&self, device: usize) -> bool {
        let frame = self.layout.shares.get(device).and_then(|it| it.frame);
        match frame.map(|it| self.carriers[it].result) {
            None | Some(FrameResult::Missing) => false,
            Some(FrameResult::Short) => self.part[device],
            Some(FrameResult::Whole) => true,
        }
    }

    /// Inputs to read and outputs to write.
    pub fn images(&mut self) -> (&[u8], &mut [u8]) {
        (&self.inputs, &mut self.outputs)
    }

    /// Sends the outputs. A frame that the wire does not take counts as sent and not answered.
    pub fn send<P: Port>(&mut self, link: &mut Link<P>) {
        self.outcome = Outcome::default();
        for (frame, carrier) in self.carriers.iter_mut().enumerate() {
            carrier.marked = carrier.result == FrameResult::Short;
            carrier.result = FrameResult::Missing;
            if let (Some(slot), Some(plan)) = (carrier.data, self.layout.frames.get(frame)) {
                let outputs = &self.outputs[plan.outputs.clone()];
                let data = &mut carrier.bytes[slot.range()];
                data[..outputs.len()].copy_from_slice(outputs);
                // A SubDevice that takes no part leaves its inputs as they went out: as they were last.
                let inputs = &mut data[outputs.len()..];
                inputs.copy_from_slice(&self.inputs[plan.inputs.clone()]);
                if carrier.marked {
                    mark(&self.layout, frame, inputs);
                }
                self.outcome.expected += u32::from(plan.expected);
            }
            if let Some(reference) = &mut carrier.reference {
                reference.write_request(&mut carrier.bytes, link.now());
            }
            self.outcome.sent += 1;
            carrier.out = link.send(&mut carrier.bytes).ok();
            if carrier.out.is_none() {
                carrier.miss();
            }
        }
    }

    /// Takes in the frames that have come. Answers to other threads' questions go to the queue.
    pub fn receive<P: Port>(&mut self, link: &mut Link<P>, queue: &AcyclicQueue) {
        while let Some(arrived) = link.receive(&mut self.buffer) {
            let is_it = |it: &Carrier| {
                it.out
                    .as_ref()
                    .is_some_and(|it| Link::<P>::is_answer(it, arrived))
            };
            match self.carriers.iter().position(is_it) {
                Some(frame) => self.take_in(frame, arrived),
                None => queue.deliver::<P>(arrived, &self.buffer[..arrived.length]),
            }
        }
    }

    /// Whether every frame came back.
    #[must_use]
    pub(crate) fn is_back(&self) -> bool {
        self.carriers.iter().all(|it| it.out.is_none())
    }

    /// Ends the cycle: gives up frames that are still out, and returns the outcome.
    pub fn finish<P: Port>(&mut self, link: &mut Link<P>) -> Outcome {
        for carrier in &mut self.carriers {
            if let Some(ticket) = carrier.out.take() {
                link.give_up(&ticket);
                carrier.miss();
            }
        }
        self.outcome
    }

    /// Sends the outputs and waits for the inputs, until `latest`.
    pub fn exchange<P: Port>(
        &mut self,
        link: &mut Link<P>,
        queue: &AcyclicQueue,
        latest: MonotonicTime,
    ) -> Outcome {
        self.send(link);
        self.await_answers(link, queue, latest)
    }

    /// Waits for the answers to the sent frames, until `latest`, and ends the cycle.
    pub fn await_answers<P: Port>(
        &mut self,
        link: &mut Link<P>,
        queue: &AcyclicQueue,
        latest: MonotonicTime,
    ) -> Outcome {
        self.receive(link, queue);
        while !self.is_back() && link.now() < latest {
            if link.wait(latest).is_err() {
                break;
            }
            self.receive(link, queue);
        }
        self.finish(link)
    }

    fn take_in(&mut self, frame: usize, arrived: Arrived) {
        let carrier = &mut self.carriers[frame];
        carrier.out = None;
        carrier.result = FrameResult::Whole;
        let bytes = &self.buffer[..arrived.length];
        self.outcome.answered += 1;
        if let Some(slot) = carrier.states {
            self.outcome.states = states(slot, bytes);
        }
        if let Some(reference) = &mut carrier.reference {
            self.outcome.system_time_ns = reference.read_reply(bytes);
        }
        let (Some(slot), Some(plan)) = (carrier.data, self.layout.frames.get(frame)) else {
            self.outcome.whole += 1;
            return;
        };
        let got = slot.working_counter(bytes).unwrap_or(0);
        self.outcome.working_counter += u32::from(got);
        let inputs = slot.range().start + plan.outputs.len()..slot.range().end;
        match got.cmp(&plan.expected) {
            Ordering::Equal => {
                self.outcome.whole += 1;
                self.inputs[plan.inputs.clone()].copy_from_slice(&bytes[inputs]);
            }
            Ordering::Less => {
                carrier.result = FrameResult::Short;
                self.take_in_short(frame, got, inputs);
            }
            // More SubDevices than all cannot have taken part: that frame is not to be believed.
            Ordering::Greater => carrier.result = FrameResult::Missing,
        }
    }

    /// Takes over the inputs of a frame in which some took no part. Marked inputs show which SubDevices took part.
    fn take_in_short(&mut self, frame: usize, got: u16, came: Range<usize>) {
        let plan = &self.layout.frames[frame];
        let (came, marked) = (&self.buffer[came], self.carriers[frame].marked);
        let (mut absent, mut unknown) = (0, 0);
        for (share, part) in self.layout.shares.iter().zip(&mut self.part) {
            if share.frame != Some(frame) {
                continue;
            }
            let own = share.inputs.clone();
            let came = &came[own.start - plan.inputs.start..own.end - plan.inputs.start];
            let before = &mut self.inputs[own];
            let is_marked = marked && before.len() >= MARKED;
            let is_absent =
                is_marked && before.iter().zip(came).all(|(it, came)| it ^ MARK == *came);
            *part = is_marked && !is_absent;
            absent += share.expected() * u16::from(is_absent);
            unknown += share.expected() * u16::from(!is_marked);
            if !is_absent && got > 0 {
                before.copy_from_slice(came);
            }
        }
        // Then some gave inputs and took no outputs, and nothing shows which of this frame they are.
        if plan.expected - got > absent + unknown {
            for (share, part) in self.layout.shares.iter().zip(&mut self.part) {
                *part &= share.frame != Some(frame);
            }
        }
    }
}

/// Alters inputs on their way out: a SubDevice that takes no part leaves them so.
fn mark(layout: &Layout, frame: usize, inputs: &mut [u8]) {
    let start = layout.frames[frame].inputs.start;
    for share in layout.shares.iter().filter(|it| it.frame == Some(frame)) {
        if share.inputs.len() >= MARKED {
            let own = share.inputs.start - start..share.inputs.end - start;
            inputs[own].iter_mut().for_each(|it| *it ^= MARK);
        }
    }
}

impl Carrier {
    fn new(
        layout: &Layout,
        frame: usize,
        reference: Option<Configured>,
    ) -> Result<Self, OverflowError> {
        let mut bytes = vec![0; MAX_FRAME];
        let mut writer = FrameWriter::new(&mut bytes, [0; 6])?;
        let (mut states, mut clock) = (None, None);
        if frame == 0 {
            if let Some(station) = reference {
                clock = Some(Reference::push(&mut writer, station)?);
            }
            states =
                Some(writer.push(Command::Brd, 0, DatagramAddress::broadcast(AL_STATUS), 2)?);
        }
        let data = match layout.frames.get(frame) {
            Some(plan) => Some(writer.push(
                Command::Lrw,
                0,
                DatagramAddress::logical(plan.logical),
                plan.length(),
            )?),
            None => None,
        };
        let length = writer.finish();
        bytes.truncate(length);
        Ok(Self {
            bytes,
            data,
            states,
            reference: clock,
            out: None,
            result: FrameResult::Missing,
            marked: false,
        })
    }

    /// Notes that nothing came back.
    fn miss(&mut self) {
        if let Some(reference) = &mut self.reference {
            reference.miss();
        }
    }
}

fn states(slot: Slot, bytes: &[u8]) -> Option<(AlStatus, u16)> {
    let data = bytes.get(slot.range())?;
    let status = AlStatus(u16::from_le_bytes([data[0], data[1]]));
    Some((status, slot.working_counter(bytes)?))
}
