//! Numbers with units, as users write them: spans of time, sizes, speeds.
//!
//! A [`Kind`] of quantity is a table of units. Numbers are read as decimals, never as floating point, so that
//! `0.1us` is exactly 100 ns. A number without a unit is refused: a deadline of `400` could be microseconds or
//! milliseconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Units of time and how many picoseconds each is.
pub const TIME: &[(&str, u64)] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("\u{b5}s", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("m", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
    ("d", 86_400_000_000_000_000),
];

const DURATION: Kind = Kind {
    what: "duration",
    example: "400us",
    units: TIME.split_at(1).1,
};

const SIZE: Kind = Kind {
    what: "size",
    example: "200B or 1GiB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

/// A kind of quantity: its units with their scale.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, for the error: `link speed`.
    pub what: &'static str,
    /// A valid example, for the error: `100Mbit/s`.
    pub example: &'static str,
    /// Its units, each with its multiple of the smallest unit.
    pub units: &'static [(&'static str, u64)],
}

/// Why a text is not a quantity of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is {judged} {what}: {why}, for example {example}")]
pub struct ParseQuantityError {
    text: String,
    judged: &'static str,
    what: &'static str,
    why: String,
    example: &'static str,
}

impl Kind {
    /// Reads a whole number of the smallest unit: with the units of [`TIME`], `1.5ns` are 1500. Digits may be
    /// parted, `10_000us`, and a space may stand before the unit.
    ///
    /// # Errors
    /// [`ParseQuantityError`] where the text is not a number with one of the units, where the number has digits
    /// below the smallest unit, and where it is larger than 64 bits hold.
    pub fn read(&self, text: &str) -> Result<u64, ParseQuantityError> {
        let (number, scale) = self.split(text)?;
        let product = number.digits.checked_mul(scale.into());
        let product = product.ok_or_else(|| self.error(text, "it is too large; take less"))?;
        if !product.is_multiple_of(number.divisor) {
            return Err(self.error(text, "it has digits below the smallest unit"));
        }
        let read = u64::try_from(product / number.divisor);
        read.map_err(|_| self.error(text, "it is too large; take less"))
    }

    /// The error for a text that is a quantity and out of range.
    #[must_use]
    pub fn error(&self, text: &str, why: impl Into<String>) -> ParseQuantityError {
        ParseQuantityError {
            text: text.chars().take(40).collect(),
            judged: "out of range for a",
            what: self.what,
            why: why.into(),
            example: self.example,
        }
    }

    /// The error for a text that is not a quantity of this kind.
    fn misread(&self, text: &str, why: impl Into<String>) -> ParseQuantityError {
        ParseQuantityError {
            judged: "not a",
            ..self.error(text, why)
        }
    }

    fn split(&self, text: &str) -> Result<(Decimal, u64), ParseQuantityError> {
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'));
        let (number, unit) = trimmed.split_at(end.unwrap_or(trimmed.len()));
        if number.is_empty() {
            return Err(self.misread(
                text,
                "it does not begin with a number; write it with a unit",
            ));
        }
        let number = Decimal::read(number)
            .ok_or_else(|| self.misread(text, "it is not a decimal number of at most 20 digits"))?;
        // The Greek letter, which many keyboards write, for the sign of the same form.
        let unit = unit.trim().replace('\u{3bc}', "\u{b5}");
        let unit = unit.as_str();
        let known = self.units.iter().find(|(name, _)| *name == unit);
        let (_, scale) = known.ok_or_else(|| {
            let why = match unit {
                "" => "the unit is missing",
                _ => "its unit is unknown",
            };
            let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
            self.misread(text, format!("{why}; use one of {}", names.join(", ")))
        })?;
        Ok((number, *scale))
    }
}

/// A decimal number: `29.97` is 2997 over 100.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal {
    /// All its digits.
    pub(crate) digits: u128,
    /// The power of ten that they are divided by.
    pub(crate) divisor: u128,
}

impl Decimal {
    /// Reads digits with at most one point among them and `_` wherever it helps; no sign, no exponent.
    pub(crate) fn read(text: &str) -> Option<Self> {
        const MAX_DIGITS: usize = 20;
        let text = text.replace('_', "");
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{}{fraction}", whole.trim_start_matches('0'));
        let plain = whole.bytes().chain(fraction.bytes());
        if !plain.clone().all(|byte| byte.is_ascii_digit())
            || digits.len() > MAX_DIGITS
            || !text.bytes().any(|byte| byte.is_ascii_digit())
        {
            return None;
        }
        Some(Self {
            digits: digits.parse().unwrap_or(0),
            divisor: 10_u128.pow(fraction.len() as u32),
        })
    }
}

/// Reads a duration with its unit: `900ns`, `400us`, `1.5ms`, `10_000 us`, `2s`, `5min`, `1h`, `2d`. It is
/// rounded to whole nanoseconds.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(kadenz_rt::units::duration("400us"), Ok(Duration::from_micros(400)));
/// assert!(kadenz_rt::units::duration("400").is_err());
/// ```
///
/// # Errors
/// [`ParseQuantityError`] for anything else, and for more than 292 years: nanoseconds in 63 bits.
pub fn duration(text: &str) -> Result<Duration, ParseQuantityError> {
    let (number, ps) = DURATION.split(text)?;
    let ps_divisor = number.divisor * 1000;
    let total_ns = (number.digits * u128::from(ps) + ps_divisor / 2) / ps_divisor;
    if total_ns > i64::MAX as u128 {
        return Err(DURATION.error(text, "it is longer than 292 years; take less"));
    }
    Ok(Duration::from_nanos(total_ns as u64))
}

/// A span of time as users write it: `1ns`, `400us`, `1.5ms`, `10s`, `5min`, `48h`, `2d`. It is shown in the
/// largest unit that leaves a whole number, as it is read.
///
/// ```
/// use kadenz_rt::units::Span;
///
/// let span: Span = "1.5ms".parse()?;
/// assert_eq!(span.as_ns(), 1_500_000);
/// assert_eq!(span.to_string(), "1500us");
/// # Ok::<(), kadenz_rt::units::ParseQuantityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Span {
    /// In nanoseconds; saturates at 584 years.
    #[must_use]
    pub fn as_ns(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl FromStr for Span {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        duration(text).map(Self)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: [&str; 6] = ["ns", "us", "ms", "s", "min", "h"];
        let units = TIME.iter().map(|&(name, ps)| (name, ps / 1000));
        whole(
            f,
            self.as_ns(),
            units.filter(|(name, _)| SHOWN.contains(name)),
            "ns",
        )
    }
}

/// A number of bytes as users write it: `200B`, `512MiB`, `100MB`. It is shown as it is read.
///
/// ```
/// use kadenz_rt::units::ByteSize;
///
/// assert_eq!("1.5kB".parse(), Ok(ByteSize(1500)));
/// assert_eq!(ByteSize(64_000).to_string(), "64kB");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// Converts to a size in memory; `option` is the name of the option, for the error.
    ///
    /// # Errors
    /// [`ParseQuantityError`] from 1 TiB on, and where an address does not hold it.
    pub fn in_memory(self, option: &str) -> Result<usize, ParseQuantityError> {
        let bytes = usize::try_from(self.0).ok().filter(|_| self.0 < 1 << 40);
        let text = || format!("{option} {self}");
        bytes.ok_or_else(|| SIZE.error(&text(), "it is more than a memory holds; take less"))
    }
}

impl FromStr for ByteSize {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = SIZE.read(text)?;
        let fits = i64::try_from(bytes).is_ok();
        fits.then_some(Self(bytes))
            .ok_or_else(|| SIZE.error(text, "it is larger than any disk; take less"))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        whole(f, self.0, SIZE.units[..5].iter().copied(), "B")
    }
}

/// Writes a number in the largest of the units, which ascend, that leaves it whole.
fn whole(
    f: &mut fmt::Formatter<'_>,
    number: u64,
    units: impl Iterator<Item = (&'static str, u64)>,
    smallest: &str,
) -> fmt::Result {
    let fitting = units.filter(|(_, unit)| number >= *unit && number.is_multiple_of(*unit));
    let (name, unit) = fitting.last().unwrap_or((smallest, 1));
    write!(f, "{}{name}", number / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_understood() {
        let durations = [
            ("7ns", 7),
            ("400us", 400_000),
            ("400\u{b5}s", 400_000),
            ("400\u{3bc}s", 400_000),
            ("1.5ms", 1_500_000),
            (".5ms", 500_000),
            ("1.s", 1_000_000_000),
            ("0.1us", 100),
            ("0.6ns", 1),
            ("2 s", 2_000_000_000),
            ("5min", 300_000_000_000),
            ("1h", 3_600_000_000_000),
            ("0s", 0),
            ("10_000 ns", 10_000),
            ("2d", 172_800_000_000_000),
            ("0.00000000000000000001d", 0),
        ];
        for (text, ns) in durations {
            assert_eq!(duration(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused_with_an_example() {
        for text in [
            "",
            "400",
            "us",
            "-1ms",
            "nans",
            "infs",
            "1e300h",
            "1 day",
            "1kHz",
            "1..2s",
            "1xs",
            "NaNs",
            ".s",
            "_us",
            "999999999999999999999s",
            "1ps",
        ] {
            let error = duration(text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{text}`")) && error.contains("400us"),
                "{error}"
            );
        }
        let long = duration("9999999d").unwrap_err().to_string();
        assert_eq!(
            long,
            "`9999999d` is out of range for a duration: it is longer than 292 years; take less, for example 400us"
        );
        let digits = SIZE.read("0.5B").unwrap_err().to_string();
        assert!(digits.contains("out of range for a size"), "{digits}");
    }

    #[test]
    fn a_span_is_read_as_it_is_shown() {
        for text in ["0ns", "1ns", "400us", "90s", "2min", "48h", "999us"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn sizes_have_units() {
        let bytes = |text: &str| text.parse::<ByteSize>().unwrap().0;
        assert_eq!(bytes("1GiB"), 1 << 30);
        assert_eq!(bytes("1.5kB"), 1500);
        assert_eq!(bytes("10 MB"), 10_000_000);
        assert_eq!(bytes("200B"), 200);
    }

    #[test]
    fn a_size_is_read_as_it_is_shown() {
        for text in ["0B", "200B", "1500B", "64kB", "2MB"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_size_is_refused_with_an_example() {
        for text in [
            "",
            "1",
            "1024",
            "GiB",
            "-1GiB",
            "1..2MB",
            "1gib",
            "1.5B",
            "9999999999999999TB",
            "9223372036854775808B",
        ] {
            let error = text.parse::<ByteSize>().unwrap_err().to_string();
            assert!(error.contains("1GiB"), "{error}");
        }
    }
}
