//! The order in which devices answer broadcasts, over a whole run.

use super::{Burst, BurstSlot, DeviceId};
use crate::memory::Memory;

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
