//! The sender's record of the probes it sent, so that it can check what comes back.

use crate::memory::Memory;
use crate::wire::{Packet, RunId, Sequence, Stamp};

/// The probe that was sent under a sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// The beat at which it should have been sent: ns of the sender's monotonic clock.
    pub intended_ns: u64,
    /// Its stamp: when it was handed to the network, by the same clock.
    pub stamp: Stamp,
}

/// One slot of an [`Outstanding`].
#[derive(Clone, Copy, Debug, Default)]
pub struct OutstandingSlot(Option<(Sequence, Sending)>);

/// Why the sender rejects an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReply {
    /// It belongs to another run, which sent from the same port before.
    #[error("the answer belongs to the run {:08x}", .0.0)]
    OtherRun(RunId),
    /// No probe was sent under this number, or so long ago that it is forgotten.
    #[error(
        "nothing was sent under the number {}, or it is forgotten: remember more sendings", .0.0
    )]
    Unknown(Sequence),
    /// It returns another stamp than that of its probe.
    #[error(
        "the device returned the stamp {} and was sent {}: it must return the header as it came",
        returned.0, sent.0
    )]
    Stamp {
        /// The stamp of the probe.
        sent: Stamp,
        /// The stamp of the answer.
        returned: Stamp,
    },
}

/// A ring of the last probes sent: as many as it has slots.
///
/// ```
/// use kadenz_udp::controller::{Outstanding, OutstandingSlot, Sending};
/// use kadenz_udp::wire::{RunId, Sequence, Stamp};
///
/// let mut outstanding = Outstanding::over(vec![OutstandingSlot::default(); 1024], RunId(7));
/// let sending = Sending { intended_ns: 10_000_000, stamp: Stamp(10_004_000) };
/// outstanding.sent(Sequence(1), sending);
/// assert_eq!(outstanding.find(Sequence(1)), Some(sending));
/// assert_eq!(outstanding.find(Sequence(1025)), None, "another number of the same slot");
/// ```
///
/// # Real-time safety
/// Real-time safe: reads or writes one slot.
#[derive(Clone, Debug)]
pub struct Outstanding<M> {
    slots: M,
    run: RunId,
}

impl<M: Memory<OutstandingSlot>> Outstanding<M> {
    /// Makes a ring over these slots for the probes of a run. A power of two of them stays right when the numbers
    /// wrap; other sizes forget a few probes then.
    pub fn over(slots: M, run: RunId) -> Self {
        Self { slots, run }
    }

    /// Remembers a probe and forgets the one in its slot.
    pub fn sent(&mut self, sequence: Sequence, sending: Sending) {
        let slots = self.slots.as_mut();
        let at = index(sequence, slots.len());
        if let Some(slot) = slots.get_mut(at) {
            slot.0 = Some((sequence, sending));
        }
    }

    /// The probe that was sent under this number, if it is remembered.
    #[must_use]
    pub fn find(&self, sequence: Sequence) -> Option<Sending> {
        let slots = self.slots.as_ref();
        let (held, sending) = slots.get(index(sequence, slots.len()))?.0?;
        (held == sequence).then_some(sending)
    }

    /// Returns the probe that an answer belongs to.
    ///
    /// # Errors
    /// [`InvalidReply`] if the answer is of another run, of a number that was not sent, or returns another stamp.
    pub fn verify(&self, answer: &Packet<'_>) -> Result<Sending, InvalidReply> {
        if answer.run() != self.run {
            return Err(InvalidReply::OtherRun(answer.run()));
        }
        let unknown = InvalidReply::Unknown(answer.sequence());
        let sending = self.find(answer.sequence()).ok_or(unknown)?;
        if sending.stamp != answer.stamp() {
            return Err(InvalidReply::Stamp {
                sent: sending.stamp,
                returned: answer.stamp(),
            });
        }
        Ok(sending)
    }
}

/// The place of a number in a ring; out of range if the ring has no slot.
fn index(sequence: Sequence, slots: usize) -> usize {
    let sequence = usize::try_from(sequence.0).unwrap_or(usize::MAX);
    sequence.checked_rem(slots).unwrap_or(usize::MAX)
}
