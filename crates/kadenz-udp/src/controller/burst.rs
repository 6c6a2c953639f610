//! The answers to one broadcast.

use core::fmt;

use super::DeviceId;
use crate::memory::Memory;
use crate::wire::Sequence;

/// Memory for one device of a [`Burst`].
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstSlot {
    /// Whether the device whose number is the slot's own has answered.
    answered: bool,
    /// The device whose answer took this place, and the time of the answer.
    came: Option<(DeviceId, u64)>,
}

/// The place of an answer among those to the same broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// 0 for the first.
    pub place: usize,
    /// The time from the broadcast to this answer.
    pub round_trip_ns: u64,
}

/// Why an answer has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// It answers another broadcast.
    OtherBroadcast,
    /// Its device has a place already.
    Again,
    /// Its device is not in the table.
    NotInTable,
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherBroadcast => {
                "the answer is to another broadcast: wait longer before the next"
            }
            Self::Again => "the device answered this broadcast before",
            Self::NotInTable => "the device is not in the device table: add it there",
        })
    }
}

impl core::error::Error for NoPlace {}

/// The answers to one broadcast: the devices that answered, their order, and the times of the first and the last
/// answer.
///
/// ```
/// use kadenz_udp::controller::{Burst, BurstSlot, DeviceId};
/// use kadenz_udp::wire::Sequence;
///
/// let mut burst = Burst::over([BurstSlot::default(); 3]);
/// burst.begin(Sequence(5), 1_000_000);
/// burst.answered(Sequence(5), DeviceId(2), 1_180_000)?;
/// let second = burst.answered(Sequence(5), DeviceId(0), 1_182_000)?;
/// assert_eq!((second.place, second.round_trip_ns), (1, 182_000));
/// assert_eq!((burst.first_ns(), burst.last_ns()), (Some(180_000), Some(182_000)));
/// assert_eq!(burst.missing().collect::<Vec<_>>(), [DeviceId(1)]);
/// # Ok::<(), kadenz_udp::controller::NoPlace>(())
/// ```
///
/// # Real-time safety
/// Real-time safe: [`answered`](Self::answered) takes the same time for each device,
/// [`begin`](Self::begin) a time that grows with their number.
#[derive(Clone, Debug)]
pub struct Burst<M> {
    slots: M,
    broadcast: Option<(Sequence, u64)>,
    answers: usize,
}

impl<M: Memory<BurstSlot>> Burst<M> {
    /// Makes a burst for as many devices as there are slots.
    pub fn over(slots: M) -> Self {
        let mut burst = Self {
            slots,
            broadcast: None,
            answers: 0,
        };
        burst.slots.as_mut().fill(BurstSlot::default());
        burst
    }

    /// Discards the previous answers; a broadcast was sent at `sent_ns`.
    pub fn begin(&mut self, sequence: Sequence, sent_ns: u64) {
        self.slots.as_mut().fill(BurstSlot::default());
        self.broadcast = Some((sequence, sent_ns));
        self.answers = 0;
    }

    /// The broadcast whose answers these are.
    #[must_use]
    pub fn sequence(&self) -> Option<Sequence> {
        self.broadcast.map(|(sequence, _)| sequence)
    }

    /// Assigns its place to an answer that came at `received_ns`.
    ///
    /// # Errors
    /// [`NoPlace`] if it answers another broadcast, is a second answer, or comes from an unknown device.
    pub fn answered(
        &mut self,
        sequence: Sequence,
        device: DeviceId,
        received_ns: u64,
    ) -> Result<Place, NoPlace> {
        let this = self.broadcast.filter(|(it, _)| *it == sequence);
        let (_, sent_ns) = this.ok_or(NoPlace::OtherBroadcast)?;
        let slots = self.slots.as_mut();
        let own = slots.get_mut(device.index()).ok_or(NoPlace::NotInTable)?;
        if own.answered {
            return Err(NoPlace::Again);
        }
        own.answered = true;
        let place = self.answers;
        if let Some(slot) = slots.get_mut(place) {
            slot.came = Some((device, received_ns));
        }
        self.answers += 1;
        Ok(Place {
            place,
            round_trip_ns: received_ns.saturating_sub(sent_ns),
        })
    }

    /// The devices that answered, in the order of their answers, each with its round trip in ns.
    pub fn order(&self) -> impl Iterator<Item = (DeviceId, u64)> + '_ {
        let sent_ns = self.broadcast.map_or(0, |(_, sent_ns)| sent_ns);
        let came = self.slots.as_ref().iter().map_while(|slot| slot.came);
        came.map(move |(device, at_ns)| (device, at_ns.saturating_sub(sent_ns)))
    }

    /// The time from the broadcast to the first answer.
    #[must_use]
    pub fn first_ns(&self) -> Option<u64> {
        self.order().map(|(_, round_trip_ns)| round_trip_ns).min()
    }

    /// The time from the broadcast to the last answer so far.
    #[must_use]
    pub fn last_ns(&self) -> Option<u64> {
        self.order().map(|(_, round_trip_ns)| round_trip_ns).max()
    }

    /// The devices that have not answered.
    pub fn missing(&self) -> impl Iterator<Item = DeviceId> + '_ {
        let slots = (0..).map(DeviceId).zip(self.slots.as_ref());
        slots.filter(|(_, slot)| !slot.answered).map(|(id, _)| id)
    }

    /// How many devices answered.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.answers
    }

    /// Whether all devices answered.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.answers == self.slots.as_ref().len()
    }
}
