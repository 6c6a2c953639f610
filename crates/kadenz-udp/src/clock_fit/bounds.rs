//! The result of a fit.

use super::fit::{SLOPE_UNIT, scaled};
use super::{Exchange, Options};

/// A closed range: the lowest and the highest possible value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lowest possible value.
    pub lowest: i128,
    /// The highest possible value.
    pub highest: i128,
}

impl Span {
    pub(super) fn is_void(self) -> bool {
        self.highest < self.lowest
    }

    pub(super) fn moved(self, by: i128) -> Self {
        Self {
            lowest: self.lowest + by,
            highest: self.highest + by,
        }
    }

    fn widened(self, by: i128) -> Self {
        Self {
            lowest: self.lowest - by,
            highest: self.highest + by,
        }
    }

    /// The smallest span that holds this span and the other.
    fn with(self, other: Self) -> Self {
        Self {
            lowest: self.lowest.min(other.lowest),
            highest: self.highest.max(other.highest),
        }
    }

    /// The intersection of this span and the other; `None` if it is empty.
    pub(super) fn and(self, other: Self) -> Option<Self> {
        let both = Self {
            lowest: self.lowest.max(other.lowest),
            highest: self.highest.min(other.highest),
        };
        (!both.is_void()).then_some(both)
    }

    /// The gap between the two spans; 0 where they touch.
    pub(super) fn distance_from(self, other: Self) -> u64 {
        let apart = (self.lowest - other.highest).max(other.lowest - self.highest);
        u64::try_from(apart.max(0)).unwrap_or(u64::MAX)
    }

    fn within(self, least: i128, most: i128) -> Self {
        Self {
            lowest: self.lowest.clamp(least, most),
            highest: self.highest.clamp(least, most),
        }
    }

    fn estimate(self) -> Estimate {
        let middle = (self.lowest + self.highest).div_euclid(2);
        let error = (self.highest - middle).max(middle - self.lowest);
        Estimate {
            value_ns: saturated(middle),
            error_ns: u64::try_from(error).unwrap_or(u64::MAX),
        }
    }
}

/// A value in ns and its largest error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The middle between the lowest and the highest possible value.
    pub value_ns: i64,
    /// Half of the span between them, rounded up.
    pub error_ns: u64,
}

/// The duration of each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWay {
    /// From the controller to the device.
    pub there: Estimate,
    /// From the device to the controller.
    pub back: Estimate,
}

/// The known bounds of a device's clock: offset and drift against the controller's, each from the lowest to the
/// highest value that fits all observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    at: i128,
    offset: Span,
    slope: Span,
    options: Options,
}

impl Bounds {
    pub(super) fn new(at: i128, offset: Span, slope: Span, options: Options) -> Self {
        Self {
            at,
            offset,
            slope,
            options,
        }
    }

    /// By how much the device's clock is ahead of the controller's at `at_ns` of the latter; negative
    /// if it is behind.
    ///
    /// # Real-time safety
    /// Real-time safe.
    #[must_use]
    pub fn offset_at(&self, at_ns: u64) -> Estimate {
        self.offset_span_at(at_ns).estimate()
    }

    /// How much faster the device's clock runs, in ns a second (parts per billion).
    #[must_use]
    pub fn drift_ppb(&self) -> Estimate {
        let unit = SLOPE_UNIT / 1_000_000_000;
        let rounded_outwards = Span {
            lowest: self.slope.lowest.div_euclid(unit),
            highest: -(-self.slope.highest).div_euclid(unit),
        };
        rounded_outwards.estimate()
    }

    /// How long each way of an exchange took: never below 0, and never longer than the round trip.
    ///
    /// # Real-time safety
    /// Real-time safe.
    #[must_use]
    pub fn one_way(&self, exchange: &Exchange) -> OneWay {
        OneWay::of(exchange, self.offset_during(exchange), self.options)
    }

    /// By how much the device's clock is ahead, from the first to the last moment of an exchange.
    pub(super) fn offset_during(&self, exchange: &Exchange) -> Span {
        self.offset_span_at(exchange.sent_ns)
            .with(self.offset_span_at(exchange.received_ns))
    }

    fn offset_span_at(&self, at_ns: u64) -> Span {
        let distance = i128::from(at_ns) - self.at;
        let moves = [self.slope.lowest, self.slope.highest].map(|slope| Span {
            lowest: -scaled(-slope, distance),
            highest: scaled(slope, distance),
        });
        let [low, high] = moves;
        let moved = low.with(high);
        let wander = i128::from(self.options.wander_ppb) * (SLOPE_UNIT / 1_000_000_000);
        let sum = Span {
            lowest: self.offset.lowest + moved.lowest,
            highest: self.offset.highest + moved.highest,
        };
        sum.widened(scaled(wander, distance.abs()))
    }
}

impl OneWay {
    /// The duration of each way of an exchange, for an offset of the device's clock within `offset`.
    pub(super) fn of(exchange: &Exchange, offset: Span, options: Options) -> Self {
        let controller = i128::from(options.controller_resolution_ns);
        let device = i128::from(options.device_resolution_ns);
        let (t1, t4) = (
            i128::from(exchange.sent_ns),
            i128::from(exchange.received_ns),
        );
        let t2 = i128::from(exchange.device.received_ns);
        let t3 = i128::from(exchange.device.transmitted_ns);
        let most = (t4 - t1).max(0) + controller;
        let there = Span {
            lowest: t2 - t1 - offset.highest - controller,
            highest: t2 - t1 - offset.lowest + device,
        };
        let back = Span {
            lowest: t4 - t3 + offset.lowest - device,
            highest: t4 - t3 + offset.highest + controller,
        };
        Self {
            there: there.within(0, most).estimate(),
            back: back.within(0, most).estimate(),
        }
    }
}

fn saturated(value: i128) -> i64 {
    let limited = value.clamp(i64::MIN.into(), i64::MAX.into());
    i64::try_from(limited).unwrap_or_default()
}
