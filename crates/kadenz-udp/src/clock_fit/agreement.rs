//! Two clocks that somebody keeps to one time.

use core::fmt;

use super::bounds::{OneWay, Span};
use super::{Bounds, Exchange, Options};

/// The claim that a device's clock is ahead of the controller's by what lies in a span, because somebody
/// synchronises both (PTP, IEEE 1588; NTP, RFC 5905), and a check on that claim.
///
/// What exchanges prove narrows the claim, and where nothing of it is left, refutes it: no way takes
/// less than no time, whatever is said of clocks.
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
/// // A device that is a millisecond ahead seems to answer before it is asked.
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

/// The clocks are not within what is said of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradicted {
    /// By so much at least the device's clock is beyond what was claimed, in ns.
    pub apart_ns: u64,
}

impl fmt::Display for Contradicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the device's clock is at least {} ns beyond what is said of it: see that both clocks are \
             synchronised, and that the device stamps with that clock",
            self.apart_ns
        )
    }
}

impl core::error::Error for Contradicted {}

impl Agreement {
    /// The claim that the device's clock is ahead by what lies in `offset`. Of the options the clocks'
    /// resolutions count.
    #[must_use]
    pub fn new(offset: Span, options: Options) -> Self {
        Self { offset, options }
    }

    /// How long each way of an exchange took, by the clocks themselves, as far as neither the exchange
    /// nor `fit`, what is known from many, says better. Real-time safe.
    ///
    /// # Errors
    /// [`Contradicted`] where the claim cannot be true.
    pub fn one_way(
        &self,
        exchange: &Exchange,
        fit: Option<&Bounds>,
    ) -> Result<OneWay, Contradicted> {
        let alone = exchange.offset_span(self.options);
        // A fit that contradicts the exchange says nothing of its time.
        let known = fit
            .and_then(|fit| alone.and(fit.offset_during(exchange)))
            .unwrap_or(alone);
        let offset = known.and(self.offset).ok_or(Contradicted {
            apart_ns: known.distance_from(self.offset),
        })?;
        Ok(OneWay::of(exchange, offset, self.options))
    }
}
