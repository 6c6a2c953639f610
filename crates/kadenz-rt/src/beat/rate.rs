use std::fmt;
use std::str::FromStr;

use super::{Interval, IntervalError};
use crate::units::Decimal;

/// How often a loop runs, as users write it: `1kHz`, `250Hz`, `29.97Hz`, `30000/1001Hz`, `0.5Hz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    interval: Interval,
}

/// Why a word is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseRateError {
    /// Not a number, or a unit other than Hz, kHz and MHz.
    #[error("`{0}` is no rate; write it like 1kHz, 250Hz, 29.97Hz or 30000/1001Hz")]
    Malformed(String),
    /// A number, but none that a loop can keep.
    #[error("`{rate}` is no rate a loop can keep: {source}")]
    OutOfRange {
        /// What was written.
        rate: String,
        /// What is wrong with it.
        source: IntervalError,
    },
}

impl Rate {
    /// The rate whose interval is given.
    #[must_use]
    pub const fn of_interval(interval: Interval) -> Self {
        Self { interval }
    }

    /// The exact time between two beats.
    #[must_use]
    pub const fn interval(self) -> Interval {
        self.interval
    }

    /// Beats a second.
    #[must_use]
    pub const fn as_hz_f64(self) -> f64 {
        self.interval.as_hz_f64()
    }
}

impl FromStr for Rate {
    type Err = ParseRateError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let malformed = || ParseRateError::Malformed(word.to_owned());
        let (number, hertz) = split_unit(word.trim()).ok_or_else(malformed)?;
        let (dividend, divisor) = number.split_once('/').unwrap_or((number, "1"));
        let dividend = Decimal::read(dividend).ok_or_else(malformed)?;
        let divisor = Decimal::read(divisor).ok_or_else(malformed)?;
        // rate = hertz * (dividend.digits / dividend.divisor) / (divisor.digits / divisor.divisor)
        let cycles = dividend.digits.checked_mul(divisor.divisor);
        let cycles = cycles.and_then(|n| n.checked_mul(hertz));
        let seconds = divisor.digits.checked_mul(dividend.divisor);
        let (cycles, seconds) = lowest_terms(
            cycles.ok_or_else(malformed)?,
            seconds.ok_or_else(malformed)?,
        );
        let span_ns = seconds.checked_mul(1_000_000_000);
        let span_ns = span_ns.and_then(|it| u64::try_from(it).ok());
        let span_ns = span_ns.ok_or_else(malformed)?;
        let cycles = u64::try_from(cycles).map_err(|_| malformed())?;
        match Interval::from_fraction(span_ns, cycles) {
            Ok(interval) => Ok(Self { interval }),
            Err(source) => Err(ParseRateError::OutOfRange {
                rate: word.to_owned(),
                source,
            }),
        }
    }
}

/// Splits `1.5 kHz` into its number and the hertz its unit stands for.
fn split_unit(word: &str) -> Option<(&str, u128)> {
    let units = [
        ("MHz", 1_000_000),
        ("kHz", 1_000),
        ("khz", 1_000),
        ("KHz", 1_000),
        ("Hz", 1),
        ("hz", 1),
    ];
    let (unit, hertz) = units.into_iter().find(|(unit, _)| word.ends_with(unit))?;
    Some((word[..word.len() - unit.len()].trim_end(), hertz))
}

fn lowest_terms(mut a: u128, mut b: u128) -> (u128, u128) {
    let (first, second) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let divisor = a.max(1);
    (first / divisor, second / divisor)
}

impl fmt::Display for Rate {
    /// Prints `1 kHz`, `250 Hz` or `29.97 Hz`, and with `{:#}` without the space, as an option takes it; rates
    /// without a short decimal are rounded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hertz = self.as_hz_f64();
        let (number, unit) = match hertz {
            1_000_000.0.. => (hertz / 1e6, "MHz"),
            1_000.0.. => (hertz / 1e3, "kHz"),
            _ => (hertz, "Hz"),
        };
        let text = format!("{number:.6}");
        write!(
            f,
            "{}{}{unit}",
            text.trim_end_matches('0').trim_end_matches('.'),
            if f.alternate() { "" } else { " " }
        )
    }
}
