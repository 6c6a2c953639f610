//! The answers to one broadcast, and their order over a whole run.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// It answers another broadcast.
    #[error("the answer is to another broadcast: wait longer before the next")]
    OtherBroadcast,
    /// Its device has a place already.
    #[error("the device answered this broadcast before")]
    Again,
    /// Its device is not in the table.
    #[error("the device is not in the device table: add it there")]
    NotInTable,
}

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

// The order of the answers over many broadcasts.

/// The places of one device among the answers to broadcasts; 0 is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Broadcasts that the device answered.
    pub answers: u64,
    /// Broadcasts it answered before all others.
    pub first: u64,
    /// Broadcasts it answered after all others, with no answer missing.
    pub last: u64,
    /// The lowest place it ever had.
    pub lowest: usize,
    /// The highest place it ever had.
    pub highest: usize,
    sum: u64,
}

impl Places {
    /// Its mean place; `None` if it never answered.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.answers > 0).then(|| self.sum as f64 / self.answers as f64)
    }

    /// The sum of its places.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    fn enter(&mut self, place: usize) {
        self.lowest = if self.answers == 0 {
            place
        } else {
            self.lowest.min(place)
        };
        self.highest = self.highest.max(place);
        self.answers += 1;
        self.first += u64::from(place == 0);
        self.sum += widened(place);
    }
}

/// Memory for one device of a [`ReplyOrder`].
#[derive(Clone, Copy, Debug, Default)]
pub struct OrderSlot {
    places: Places,
    /// Sum of its places in the broadcasts that all devices answered.
    in_complete: u64,
}

/// The order in which devices answer over many broadcasts: always the same, as when each device takes a time of its
/// own or a switch serves its ports in turn, or a new one each time.
///
/// ```
/// use kadenz_udp::controller::{Burst, BurstSlot, DeviceId, OrderSlot, ReplyOrder};
/// use kadenz_udp::wire::Sequence;
///
/// let mut order = ReplyOrder::over([OrderSlot::default(); 3]);
/// let mut burst = Burst::over([BurstSlot::default(); 3]);
/// for number in 0..100 {
///     burst.begin(Sequence(number), 0);
///     for (after_ns, device) in [2, 0, 1].into_iter().enumerate() {
///         burst.answered(Sequence(number), DeviceId(device), after_ns as u64)?;
///     }
///     order.enter(&burst);
/// }
/// assert_eq!(order.concordance(), Some(1.0));
/// assert_eq!(order.places(DeviceId(2)).map(|it| it.first), Some(100));
/// # Ok::<(), kadenz_udp::controller::NoPlace>(())
/// ```
///
/// # Real-time safety
/// Entering a burst allocates nothing; it takes a time that grows with the number of devices.
#[derive(Clone, Debug)]
pub struct ReplyOrder<M> {
    slots: M,
    bursts: u64,
    complete: u64,
}

impl<M: Memory<OrderSlot>> ReplyOrder<M> {
    /// Makes an order for as many devices as there are slots.
    pub fn over(mut slots: M) -> Self {
        slots.as_mut().fill(OrderSlot::default());
        Self {
            slots,
            bursts: 0,
            complete: 0,
        }
    }

    /// Enters the answers to a broadcast, when no more are awaited.
    pub fn enter<B: Memory<BurstSlot>>(&mut self, burst: &Burst<B>) {
        let complete = burst.is_complete();
        let final_place = burst.answers().saturating_sub(1);
        for (place, (device, _)) in burst.order().enumerate() {
            let Some(slot) = self.slots.as_mut().get_mut(device.index()) else {
                continue;
            };
            slot.places.enter(place);
            if complete {
                slot.in_complete += widened(place);
                slot.places.last += u64::from(place == final_place);
            }
        }
        self.bursts += 1;
        self.complete += u64::from(complete);
    }

    /// The places of a device.
    #[must_use]
    pub fn places(&self, device: DeviceId) -> Option<Places> {
        self.slots
            .as_ref()
            .get(device.index())
            .map(|slot| slot.places)
    }

    /// Number of broadcasts that were entered.
    #[must_use]
    pub fn bursts(&self) -> u64 {
        self.bursts
    }

    /// Broadcasts that every device answered.
    #[must_use]
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// How alike the orders are, over the broadcasts that every device answered: 1 if they are always
    /// the same, near 0 if each is drawn independently. `None` for fewer than two broadcasts or two devices.
    ///
    /// This is Kendall's W: twelve times the squared deviations of the devices' sums of ranks from their
    /// mean, over `m^2 (n^3 - n)` for `m` orders of `n` (M. Kendall, B. Babington Smith, *The Problem of m
    /// Rankings*, Annals of Mathematical Statistics 10, 1939). With `m` random orders its mean is `1 / m`.
    #[must_use]
    pub fn concordance(&self) -> Option<f64> {
        let sums = self.slots.as_ref().iter().map(|slot| slot.in_complete);
        let devices = self.slots.as_ref().len();
        if devices < 2 || self.complete < 2 {
            return None;
        }
        let (orders, devices) = (self.complete as f64, devices as f64);
        let mean = orders * (devices - 1.0) / 2.0;
        let squares: f64 = sums
            .map(|sum| (sum as f64 - mean) * (sum as f64 - mean))
            .sum();
        Some(12.0 * squares / (orders * orders * devices * (devices * devices - 1.0)))
    }
}

/// A place is below the number of devices, so nothing is cut off.
fn widened(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX)
}
