//! The intersection of the intervals that exchanges prove, in the time unit that they state.

/// The error of a stamp, because clocks tick in whole nanoseconds.
const TICK_NS: i128 = 1;

/// The maximum distance of a stamp from zero: 146 years.
const MAX_STAMP_NS: i64 = i64::MAX / 2;

/// The four stamps of a query and its answer, in nanoseconds: the outer two by this clock, the inner two by
/// the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Before the query was sent, by our clock.
    pub sent_ns: i64,
    /// After the query had arrived, by the other clock.
    pub received_ns: i64,
    /// Before the answer was sent, by the other clock.
    pub answered_ns: i64,
    /// After the answer had arrived, by this clock.
    pub returned_ns: i64,
}

/// Stamps that no clocks within the allowed drift can have given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the stamps {exchange:?} cannot be: time ran backwards, or the answer took longer there than its whole way here; a clock was set meanwhile, or drifts more than {drift_ppm} ppm"
)]
pub struct ImpossibleExchange {
    /// The four stamps that contradict each other.
    pub exchange: Exchange,
    /// The drift that was allowed for.
    pub drift_ppm: u32,
}

impl Exchange {
    /// Returns how long query and answer were under way, without the time between them.
    #[must_use]
    pub fn round_trip_ns(&self) -> u64 {
        let whole = i128::from(self.returned_ns) - i128::from(self.sent_ns);
        let there = i128::from(self.answered_ns) - i128::from(self.received_ns);
        u64::try_from(whole - there).unwrap_or(0)
    }

    /// Returns the interval that it proves of the offset at the arrival of the answer.
    fn bounds(&self, drift_ppm: u32) -> Option<Bounds> {
        let stamps = [
            self.sent_ns,
            self.received_ns,
            self.answered_ns,
            self.returned_ns,
        ];
        let are_times = stamps
            .iter()
            .all(|it| (-MAX_STAMP_NS..=MAX_STAMP_NS).contains(it));
        let run_on = self.sent_ns <= self.returned_ns && self.received_ns <= self.answered_ns;
        if !are_times || !run_on {
            return None;
        }
        let proven = Bounds {
            least_ns: i128::from(self.answered_ns) - i128::from(self.returned_ns) - TICK_NS,
            most_ns: i128::from(self.received_ns) - i128::from(self.sent_ns) + TICK_NS,
            at_ns: self.sent_ns,
        };
        // Both inner stamps were taken somewhere between the outer ones.
        let bounds = proven.aged(self.returned_ns, drift_ppm);
        (bounds.least_ns <= bounds.most_ns).then_some(bounds)
    }
}

/// The interval of the offset at a time of this clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    least_ns: i128,
    most_ns: i128,
    at_ns: i64,
}

impl Bounds {
    /// Returns the interval at a later time; at an earlier one unchanged.
    fn aged(&self, at_ns: i64, drift_ppm: u32) -> Self {
        let span = i128::from(at_ns) - i128::from(self.at_ns);
        if span <= 0 {
            return *self;
        }
        let drift = drift_ns(span, drift_ppm);
        Self {
            least_ns: self.least_ns - drift,
            most_ns: self.most_ns + drift,
            at_ns,
        }
    }
}

/// Returns the maximum drift between two clocks within a span, rounded up.
fn drift_ns(span_ns: i128, drift_ppm: u32) -> i128 {
    (span_ns * i128::from(drift_ppm) + 999_999) / 1_000_000
}

/// The interval that many exchanges prove of an offset that drifts.
///
/// As every interval widens at the same pace from its exchange on, one interval holds all of them:
/// intersecting the widened old one with the new one is as good as keeping every exchange.
///
/// ```
/// use kadenz_msg::service::clock_offset::{Exchange, OffsetFit};
///
/// let mut fit = OffsetFit::new(100);
/// // The other clock is 1,000,000 ns ahead; 40 ns there, 60 ns back.
/// fit.add(Exchange {
///     sent_ns: 0,
///     received_ns: 1_000_040,
///     answered_ns: 1_000_040,
///     returned_ns: 100,
/// })?;
/// let estimate = fit.at(100).expect("one exchange was added");
/// assert!(estimate.least_ns() <= 1_000_000 && 1_000_000 <= estimate.most_ns());
/// assert!(estimate.error_ns <= 55);
/// # Ok::<(), kadenz_msg::service::clock_offset::ImpossibleExchange>(())
/// ```
///
/// # Real-time safety
/// Sans-IO; real-time safe.
#[derive(Debug, Clone)]
pub struct OffsetFit {
    drift_ppm: u32,
    known: Option<Bounds>,
    restarts: u64,
}

/// The effect of an exchange on the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitOutcome {
    /// The interval is narrower.
    Narrowed,
    /// The exchange did not narrow the interval.
    Kept,
    /// The exchange contradicted the interval, as a clock stepped or drifts more than was allowed for. The
    /// old interval was forgotten, and the exchange alone counts.
    Restarted,
}

/// The difference between the other clock and this one, with its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The other clock less this one, in nanoseconds: the middle of the interval.
    pub offset_ns: i64,
    /// The maximum error, in either direction.
    pub error_ns: u64,
}

/// How long a message took from there to here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneWay {
    /// The latency in nanoseconds; negative only within the error.
    pub latency_ns: i64,
    /// The maximum error, in either direction.
    pub error_ns: u64,
}

impl OffsetFit {
    /// Returns a fit without an exchange, of clocks that drift apart by at most that many parts per million.
    #[must_use]
    pub fn new(drift_ppm: u32) -> Self {
        Self {
            drift_ppm,
            known: None,
            restarts: 0,
        }
    }

    /// Adds the interval that an exchange proves.
    ///
    /// # Errors
    /// If its stamps are impossible; the interval stays.
    pub fn add(&mut self, exchange: Exchange) -> Result<FitOutcome, ImpossibleExchange> {
        let drift_ppm = self.drift_ppm;
        let Some(new) = exchange.bounds(drift_ppm) else {
            return Err(ImpossibleExchange {
                exchange,
                drift_ppm,
            });
        };
        let Some(old) = self.known else {
            self.known = Some(new);
            return Ok(FitOutcome::Narrowed);
        };
        let at_ns = old.at_ns.max(new.at_ns);
        let (old, new) = (old.aged(at_ns, drift_ppm), new.aged(at_ns, drift_ppm));
        let both = Bounds {
            least_ns: old.least_ns.max(new.least_ns),
            most_ns: old.most_ns.min(new.most_ns),
            at_ns,
        };
        if both.least_ns > both.most_ns {
            self.restarts += 1;
            self.known = Some(new);
            return Ok(FitOutcome::Restarted);
        }
        self.known = Some(both);
        Ok(if both == old {
            FitOutcome::Kept
        } else {
            FitOutcome::Narrowed
        })
    }

    /// Returns the offset at a time of this clock, now or later; `None` before the first exchange. For times
    /// before the last exchange, the offset at that exchange.
    #[must_use]
    pub fn at(&self, ours_ns: i64) -> Option<Estimate> {
        let bounds = self.known?.aged(ours_ns, self.drift_ppm);
        let offset = (bounds.least_ns + bounds.most_ns).div_euclid(2);
        let error = (bounds.most_ns - offset).max(offset - bounds.least_ns);
        Some(Estimate {
            offset_ns: i64::try_from(offset).ok()?,
            error_ns: u64::try_from(error).ok()?,
        })
    }

    /// Returns the offset when an added exchange has returned.
    pub(super) fn known_after(&self, exchange: Exchange) -> Estimate {
        self.at(exchange.returned_ns).unwrap_or(Estimate {
            offset_ns: 0,
            error_ns: u64::MAX,
        })
    }

    /// Returns the latency of a message that the other clock stamped when it was sent and this clock when it
    /// arrived; `None` before the first exchange.
    #[must_use]
    pub fn one_way(&self, sent_theirs_ns: i64, received_ours_ns: i64) -> Option<OneWay> {
        let estimate = self.at(received_ours_ns)?;
        let sent_ours = i128::from(sent_theirs_ns) - i128::from(estimate.offset_ns);
        let latency = i128::from(received_ours_ns) - sent_ours;
        // The offset was another one when the message was sent, by its own drift.
        let drift = drift_ns(latency.abs(), self.drift_ppm) + TICK_NS;
        Some(OneWay {
            latency_ns: i64::try_from(latency).ok()?,
            error_ns: estimate.error_ns.checked_add(u64::try_from(drift).ok()?)?,
        })
    }

    /// Returns how often an exchange contradicted the interval.
    #[must_use]
    pub fn restarts(&self) -> u64 {
        self.restarts
    }
}

impl Estimate {
    /// The least that the offset can be.
    #[must_use]
    pub fn least_ns(&self) -> i64 {
        self.offset_ns.saturating_sub_unsigned(self.error_ns)
    }

    /// The most that the offset can be.
    #[must_use]
    pub fn most_ns(&self) -> i64 {
        self.offset_ns.saturating_add_unsigned(self.error_ns)
    }
}

#[cfg(test)]
mod tests;
