//! One question and its answer, with what both clocks said.

use core::fmt;

use super::bounds::Span;
use super::{MAX_DRIFT_PPB, Options};
use crate::wire::DeviceStamps;

/// The four times of a question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// `t1`: when the controller sent, by its clock.
    pub sent_ns: u64,
    /// `t2` and `t3`: when the device received and answered, by its own.
    pub device: DeviceStamps,
    /// `t4`: when the controller received.
    pub received_ns: u64,
}

/// The four times contradict each other: one of the clocks stepped, or the stamps are not of this
/// exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Implausible;

impl fmt::Display for Implausible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the device's stamps do not fit the round trip: its clock stepped, or does not count nanoseconds",
        )
    }
}

impl core::error::Error for Implausible {}

impl Exchange {
    /// How long the datagrams were on their way, both ways together: `(t4 - t1) - (t3 - t2)`
    /// (RFC 5905 section 8), and not below 0.
    ///
    /// # Errors
    /// [`Implausible`] if a clock ran backwards, or the device held the question for longer than the
    /// round trip took, beyond what its drift and `resolution_ns` explain.
    pub fn on_the_way_ns(&self, resolution_ns: u64) -> Result<u64, Implausible> {
        let stamps = &self.device;
        let round_trip = self.received_ns.checked_sub(self.sent_ns);
        let held = stamps.transmitted_ns.checked_sub(stamps.received_ns);
        let (round_trip, held) = round_trip.zip(held).ok_or(Implausible)?;
        let drift = u128::from(held) * u128::from(MAX_DRIFT_PPB) / 1_000_000_000;
        let explained = u128::from(round_trip) + drift + u128::from(resolution_ns);
        if u128::from(held) > explained {
            return Err(Implausible);
        }
        Ok(round_trip.saturating_sub(held))
    }

    /// By how much the device's clock is ahead, by this exchange alone: neither way takes less than no
    /// time.
    pub(super) fn offset_span(&self, options: Options) -> Span {
        let ahead = |device: u64, controller: u64| i128::from(device) - i128::from(controller);
        Span {
            lowest: ahead(self.device.transmitted_ns, self.received_ns)
                - i128::from(options.controller_resolution_ns),
            highest: ahead(self.device.received_ns, self.sent_ns)
                + i128::from(options.device_resolution_ns),
        }
    }
}
