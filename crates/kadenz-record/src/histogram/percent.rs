//! A percentile's name, kept exactly: `99.9` is a number of nines, not the nearest `f64`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Units of a billionth of a percent: enough to represent eleven nines.
const UNITS_PER_PERCENT: u64 = 1_000_000_000;
const WHOLE: u64 = 100 * UNITS_PER_PERCENT;

/// A percentage above 0 and below 100, exact to a billionth of a percent.
///
/// ```
/// use kadenz_record::histogram::Percent;
///
/// let p: Percent = "99.9".parse()?;
/// assert_eq!(p.to_string(), "99.9");
/// assert_eq!(p.rank(60_000), 59_940);
/// assert_eq!(p.beyond(60_000), 60);
/// assert!(!p.is_carried_by(999));
/// # Ok::<(), kadenz_record::histogram::ParsePercentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 100)))]
pub struct Percent(u64);

impl Percent {
    /// 50 %, the median.
    pub const P50: Self = Self(50 * UNITS_PER_PERCENT);
    /// 90 %.
    pub const P90: Self = Self(90 * UNITS_PER_PERCENT);
    /// 99 %.
    pub const P99: Self = Self(99 * UNITS_PER_PERCENT);
    /// 99.9 %.
    pub const P99_9: Self = Self(WHOLE - WHOLE / 1_000);
    /// 99.99 %.
    pub const P99_99: Self = Self(WHOLE - WHOLE / 10_000);
    /// 99.999 %.
    pub const P99_999: Self = Self(WHOLE - WHOLE / 100_000);

    /// The percentiles that every report names: 50, 90, 99, 99.9, 99.99 and so on to nine nines.
    pub const REPORTED: [Self; 10] = [
        Self::P50,
        Self::P90,
        Self::P99,
        Self::P99_9,
        Self::P99_99,
        Self(WHOLE - WHOLE / 100_000),
        Self(WHOLE - WHOLE / 1_000_000),
        Self(WHOLE - WHOLE / 10_000_000),
        Self(WHOLE - WHOLE / 100_000_000),
        Self(WHOLE - WHOLE / 1_000_000_000),
    ];

    /// As a fraction of one.
    #[must_use]
    pub fn fraction(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }

    /// What is left to one: 0.0001 for 99.99 %, exact except for one rounding.
    #[must_use]
    pub fn complement(self) -> f64 {
        (WHOLE - self.0) as f64 / WHOLE as f64
    }

    /// As a percentage: 99.99 for 99.99 %.
    #[must_use]
    pub fn percent(self) -> f64 {
        self.0 as f64 / UNITS_PER_PERCENT as f64
    }

    /// The rank, counted from 1, of the sample that is this percentile of `count` samples: the
    /// smallest that has at least this share of the samples at or below it.
    #[must_use]
    pub fn rank(self, count: u64) -> u64 {
        let scaled = u128::from(count) * u128::from(self.0);
        let rank = scaled.div_ceil(u128::from(WHOLE)) as u64;
        rank.max(1)
    }

    /// How many of `count` samples rank above this percentile: the samples it rests on.
    #[must_use]
    pub fn beyond(self, count: u64) -> u64 {
        count.saturating_sub(self.rank(count))
    }

    /// The fewest samples that can carry this percentile: 1,000 for 99.9 %.
    #[must_use]
    pub fn needed(self) -> u64 {
        WHOLE.div_ceil(WHOLE - self.0)
    }

    /// Whether `count` samples can carry this percentile: `count * (1 - p) >= 1`, so that at
    /// least one sample lies beyond it. A percentile that is not carried is not printed.
    #[must_use]
    pub fn is_carried_by(self, count: u64) -> bool {
        u128::from(count) * u128::from(WHOLE - self.0) >= u128::from(WHOLE)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / UNITS_PER_PERCENT, self.0 % UNITS_PER_PERCENT);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{rest:09}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// Why a text is not a percentile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParsePercentError {
    /// Not a decimal number.
    #[error("`{0}` is not a valid percentage; write a decimal number such as 99.9")]
    NotANumber(String),
    /// 0, 100 or beyond.
    #[error(
        "{0} % is not a valid percentile; it lies above 0 and below 100 (for the ends use min and max)"
    )]
    OutOfRange(String),
    /// More than nine digits after the point.
    #[error("`{0}` has more than nine digits after the point; nine are kept")]
    TooFine(String),
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> Self {
        percent.percent()
    }
}

impl TryFrom<f64> for Percent {
    type Error = ParsePercentError;

    fn try_from(percent: f64) -> Result<Self, ParsePercentError> {
        percent.to_string().parse()
    }
}

impl FromStr for Percent {
    type Err = ParsePercentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits_only(whole) || !digits_only(rest) || text.ends_with('.') {
            return Err(ParsePercentError::NotANumber(text.to_owned()));
        }
        if rest.len() > 9 {
            return Err(ParsePercentError::TooFine(text.to_owned()));
        }
        let out_of_range = || ParsePercentError::OutOfRange(text.to_owned());
        let whole: u64 = whole.parse().map_err(|_| out_of_range())?;
        let rest: u64 = format!("{rest:0<9}").parse().map_err(|_| out_of_range())?;
        let units = whole
            .checked_mul(UNITS_PER_PERCENT)
            .and_then(|units| units.checked_add(rest));
        match units {
            Some(units) if units > 0 && units < WHOLE => Ok(Self(units)),
            _ => Err(out_of_range()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reported_percentiles_print_their_nines() {
        let names: Vec<String> = Percent::REPORTED.iter().map(Percent::to_string).collect();
        assert_eq!(names[..5], ["50", "90", "99", "99.9", "99.99"]);
        assert_eq!(names[9], "99.9999999");
    }

    #[test]
    fn a_percentile_is_carried_from_exactly_one_sample_beyond() {
        for (index, percent) in Percent::REPORTED.iter().enumerate().skip(1) {
            let needed = 10_u64.pow(index as u32);
            assert!(percent.is_carried_by(needed), "{percent} by {needed}");
            assert!(
                !percent.is_carried_by(needed - 1),
                "{percent} by {}",
                needed - 1
            );
            assert_eq!(percent.beyond(needed), 1);
        }
        assert!(!Percent::P50.is_carried_by(1));
        assert!(Percent::P50.is_carried_by(2));
    }

    #[test]
    fn text_goes_there_and_back() {
        for text in ["50", "99.95", "0.000000001", "99.999999999"] {
            assert_eq!(text.parse::<Percent>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_percentile_is_refused_with_its_reason() {
        use ParsePercentError::{NotANumber, OutOfRange, TooFine};
        for text in ["", "abc", "9 9", "99.", ".5", "-1", "1e1"] {
            assert!(
                matches!(text.parse::<Percent>(), Err(NotANumber(_))),
                "{text}"
            );
        }
        for text in ["0", "100", "100.1", "99999999999999999999"] {
            assert!(
                matches!(text.parse::<Percent>(), Err(OutOfRange(_))),
                "{text}"
            );
        }
        assert!(matches!("1.0123456789".parse::<Percent>(), Err(TooFine(_))));
    }

    #[test]
    fn a_percentile_needs_as_many_samples_as_it_has_nines() {
        assert_eq!(Percent::P50.needed(), 2);
        for (nines, percent) in (1..).zip(&Percent::REPORTED[1..]) {
            assert_eq!(percent.needed(), 10_u64.pow(nines));
            assert!(percent.is_carried_by(percent.needed()));
            assert!(!percent.is_carried_by(percent.needed() - 1));
        }
    }
}
