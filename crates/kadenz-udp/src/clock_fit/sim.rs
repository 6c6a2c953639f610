//! A simulated device's clock, exact to the billionth of a nanosecond, for tests in virtual time.

use super::{Estimate, Exchange};
use crate::wire::DeviceStamps;

/// True values are in billionths of a nanosecond, in which a drift in ppb is a whole number.
const FINE: i128 = 1_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// The true behaviour of a device's clock. Times are those of a perfect controller's clock.
///
/// ```
/// use kadenz_udp::clock_fit::sim::{Clock, TrueTimes};
///
/// let clock = Clock { start_ns: 0, offset_ns: 5_000, drifts_ppb: &[1000], resolution_ns: 250 };
/// assert_eq!(clock.reading_at(2_000_000_000), 2_000_007_000);
/// assert_eq!(clock.reading_at(2_000_000_249), 2_000_007_000, "it counts in steps of 250 ns");
///
/// let trip = TrueTimes { sent_ns: 0, there_ns: 80_000, held_ns: 20_000, back_ns: 60_000 };
/// assert_eq!(clock.exchange(&trip, 1).device.received_ns, 85_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock<'d> {
    /// The time from which on the drifts apply; no time is before it.
    pub start_ns: u64,
    /// The clock's lead at the start.
    pub offset_ns: i64,
    /// The drift in each second from the start, in ppb; the last one applies forever.
    pub drifts_ppb: &'d [i64],
    /// The clock's resolution; above 0.
    pub resolution_ns: u64,
}

/// The true times of a question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrueTimes {
    /// When the question was sent.
    pub sent_ns: u64,
    /// How long the question took to the device.
    pub there_ns: u64,
    /// How long the device held the question.
    pub held_ns: u64,
    /// How long the answer took.
    pub back_ns: u64,
}

/// A true value in billionths of a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrueValue(i128);

impl TrueValue {
    /// Makes the value of so many nanoseconds, or ppb.
    #[must_use]
    pub fn of(value: i64) -> Self {
        Self(i128::from(value) * FINE)
    }

    /// Whether the value is within the error of an estimate.
    #[must_use]
    pub fn is_within(self, estimate: Estimate) -> bool {
        let off = i128::from(estimate.value_ns) * FINE - self.0;
        off.abs() <= i128::from(estimate.error_ns) * FINE
    }
}

impl Clock<'_> {
    /// The clock's true lead.
    #[must_use]
    pub fn offset_at(&self, at_ns: u64) -> TrueValue {
        let mut offset = i128::from(self.offset_ns) * FINE;
        let mut left = at_ns.saturating_sub(self.start_ns);
        for (second, drift) in self.drifts_ppb.iter().enumerate() {
            let last = second + 1 == self.drifts_ppb.len();
            let span = if last { left } else { left.min(SECOND_NS) };
            offset += i128::from(*drift) * i128::from(span);
            left -= span;
        }
        TrueValue(offset)
    }

    /// The clock's reading: rounded down to its resolution, and not below 0.
    #[must_use]
    pub fn reading_at(&self, at_ns: u64) -> u64 {
        let fine = i128::from(at_ns) * FINE + self.offset_at(at_ns).0;
        let step = i128::from(self.resolution_ns.max(1));
        u64::try_from(fine.div_euclid(FINE * step) * step).unwrap_or(0)
    }

    /// The exchange that both clocks record of a trip; the resolution of the controller's is
    /// `controller_resolution_ns`.
    #[must_use]
    pub fn exchange(&self, trip: &TrueTimes, controller_resolution_ns: u64) -> Exchange {
        let rounded = |at_ns: u64| at_ns - at_ns % controller_resolution_ns.max(1);
        let received = trip.sent_ns + trip.there_ns;
        let answered = received + trip.held_ns;
        Exchange {
            sent_ns: rounded(trip.sent_ns),
            device: DeviceStamps {
                received_ns: self.reading_at(received),
                transmitted_ns: self.reading_at(answered),
            },
            received_ns: rounded(answered + trip.back_ns),
        }
    }
}
