//! The offset of a device's clock from the controller's, and from it the duration of each way.
//!
//! # Method
//!
//! The controller sends at `t1`, the device receives at `t2` and answers at `t3` of its own clock, the controller
//! receives at `t4`. No way takes less than zero time, so the device's clock is ahead of the controller's by at
//! most `t2 - t1` at `t1`, and by at least `t3 - t4` at `t4`: two bounds that hold whatever queues were on the way,
//! and however asymmetric the two ways are. Halfway between them is the offset as NTP computes it (RFC 5905 section
//! 8).
//!
//! [`ClockFit`] keeps the exchange with the shortest round trip of each window, as NTP's clock filter
//! does (RFC 5905 section 10), and takes the offset as a straight line in time, as S. Moon, P. Skelly and
//! D. Towsley do (*Estimation and Removal of Clock Skew from Network Delay Measurements*, INFOCOM 1999).
//! [`Bounds`] are the lowest and the highest value that any line takes which keeps all bounds: the exact
//! solution of that linear program, in integers, rounded outwards.
//!
//! # Synchronised clocks
//!
//! Where PTP or NTP synchronises both clocks, their stamps give the duration of each way directly, as precisely as
//! the clocks agree. [`Agreement`] takes such a claim, narrows it by the bounds above, and reports where they
//! refute it.
//!
//! # Assumptions of the error bound
//!
//! The true offset is within the stated error if, over the windows kept,
//! - the readings of both clocks are rounded down by at most the stated resolutions,
//! - the device's frequency strays from a constant one by at most the stated wander, and
//! - that one differs from the controller's by at most [`MAX_DRIFT_PPB`].
//!
//! At the time of the exchange with the shortest round trip the error is at most half of the time that this
//! exchange spent on the way, the resolutions, and 2 % of the round trip; usually it is less, because each window
//! tightens the others. The bound does not assume that both ways took the same time, which cannot be known.

mod bounds;
mod fit;
pub mod sim;

use crate::wire::DeviceStamps;
pub use bounds::{Bounds, Estimate, OneWay, Span};
pub use fit::{ClockFit, FitSlot, NoFit, Options};

/// The largest assumed difference between the frequencies of a device's clock and the controller's: 2 %, the
/// tolerance of the RC oscillator inside a microcontroller. A crystal oscillator is hundreds of times better; a larger
/// difference means a clock in another unit.
pub const MAX_DRIFT_PPB: u32 = 20_000_000;

// Two clocks that PTP or NTP synchronises.

/// The claim that a device's clock is ahead of the controller's by an offset within a span, because PTP (IEEE 1588)
/// or NTP (RFC 5905) synchronises both, and a check of that claim.
///
/// The exchanges narrow the claim, and refute it where no offset of it remains: no way takes less than zero time,
/// whatever the claim.
///
/// ```
/// use kadenz_udp::clock_fit::{Agreement, Exchange, Options, Span};
/// use kadenz_udp::wire::DeviceStamps;
///
/// // Both clocks are within a microsecond, the way there takes 80 us, the way back 60 us.
/// let claim = Agreement::new(Span { lowest: -1_000, highest: 1_000 }, Options::default());
/// let device = DeviceStamps { received_ns: 1_080_000, transmitted_ns: 1_100_000 };
/// let exchange = Exchange { sent_ns: 1_000_000, device, received_ns: 1_160_000 };
/// let ways = claim.one_way(&exchange, None)?;
/// assert!(ways.there.value_ns.abs_diff(80_000) <= ways.there.error_ns);
/// assert!(ways.there.error_ns <= 1_002 && ways.back.error_ns <= 1_002);
///
/// // A device that is a millisecond ahead seems to answer before the question arrives.
/// let device = DeviceStamps { received_ns: 2_080_000, transmitted_ns: 2_100_000 };
/// let refuted = claim.one_way(&Exchange { device, ..exchange }, None).unwrap_err();
/// assert!((938_000..1_000_000).contains(&refuted.apart_ns));
/// # Ok::<(), kadenz_udp::clock_fit::Contradicted>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    offset: Span,
    options: Options,
}

/// The clocks do not keep the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the device's clock is at least {apart_ns} ns beyond what is said of it: see that both clocks are \
     synchronised, and that the device stamps with that clock"
)]
pub struct Contradicted {
    /// The least by which the device's clock is beyond the claimed span, in ns.
    pub apart_ns: u64,
}

impl Agreement {
    /// Makes the claim that the device's clock is ahead by an offset within `offset`. Of the options it uses the
    /// clocks' resolutions.
    #[must_use]
    pub fn new(offset: Span, options: Options) -> Self {
        Self { offset, options }
    }

    /// The duration of each way of an exchange, from the clocks themselves, narrowed by the exchange and by `fit`,
    /// the result of many exchanges.
    ///
    /// # Errors
    /// [`Contradicted`] where the claim is false.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub fn one_way(
        &self,
        exchange: &Exchange,
        fit: Option<&Bounds>,
    ) -> Result<OneWay, Contradicted> {
        let alone = exchange.offset_span(self.options);
        // A fit that contradicts the exchange has no bounds for its time.
        let known = fit
            .and_then(|fit| alone.and(fit.offset_during(exchange)))
            .unwrap_or(alone);
        let offset = known.and(self.offset).ok_or(Contradicted {
            apart_ns: known.distance_from(self.offset),
        })?;
        Ok(OneWay::of(exchange, offset, self.options))
    }
}

// One question and its answer, with the readings of both clocks.

/// The four times of a question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// `t1`: when the controller sent the question, by its clock.
    pub sent_ns: u64,
    /// `t2` and `t3`: when the device received and answered, by its own clock.
    pub device: DeviceStamps,
    /// `t4`: when the controller received the answer, by its clock.
    pub received_ns: u64,
}

/// The four times contradict each other: one of the clocks stepped, or the stamps belong to another exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the device's stamps do not fit the round trip: its clock stepped, or does not count nanoseconds"
)]
pub struct Implausible;

impl Exchange {
    /// The time that the datagrams spent on the way, both ways together: `(t4 - t1) - (t3 - t2)` (RFC 5905 section
    /// 8), and not below 0.
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

    /// The range of the device clock's lead by this exchange alone: no way takes less than zero time.
    fn offset_span(&self, options: Options) -> Span {
        let ahead = |device: u64, controller: u64| i128::from(device) - i128::from(controller);
        Span {
            lowest: ahead(self.device.transmitted_ns, self.received_ns)
                - i128::from(options.controller_resolution_ns),
            highest: ahead(self.device.received_ns, self.sent_ns)
                + i128::from(options.device_resolution_ns),
        }
    }
}
