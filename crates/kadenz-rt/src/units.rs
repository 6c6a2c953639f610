//! Numbers with units, as users write them.

use std::time::Duration;

/// Units of a duration, and how many nanoseconds each is.
const DURATION_UNITS: [(&str, f64); 9] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("m", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// It does not begin with a number.
    #[error("`{0}` is not a duration: it does not begin with a number; write it like 400us")]
    NoNumber(String),
    /// There is nothing behind the number. Nobody can tell what it means.
    #[error("`{0}` is not a duration: the unit is missing; use one of {known}, for example 400us", known = known())]
    NoUnit(String),
    /// What stands behind the number is not a unit of time.
    #[error("`{0}` is not a duration: its unit is unknown; use one of {known}, for example 400us", known = known())]
    UnknownUnit(String),
    /// Nanoseconds in 63 bits do not hold it.
    #[error("`{0}` is longer than 292 years")]
    TooLong(String),
}

fn known() -> String {
    DURATION_UNITS.map(|(unit, _)| unit).join(", ")
}

/// Reads a duration with its unit: `900ns`, `400us`, `1.5ms`, `10_000 us`, `2s`, `5min`, `1h`, `2d`. It is
/// rounded to whole nanoseconds. A number without a unit is refused: a deadline of `400` has cost somebody a
/// robot before.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(kadenz_rt::units::duration("400us"), Ok(Duration::from_micros(400)));
/// assert!(kadenz_rt::units::duration("400").is_err());
/// ```
///
/// # Errors
/// [`ParseDurationError`] for anything else.
pub fn duration(text: &str) -> Result<Duration, ParseDurationError> {
    let whole = || text.to_owned();
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'));
    let (number, unit) = trimmed.split_at(end.unwrap_or(trimmed.len()));
    let number = number.replace('_', "").parse::<f64>();
    let number = number.map_err(|_| ParseDurationError::NoNumber(whole()))?;
    let unit = unit.trim();
    let known = DURATION_UNITS.iter().find(|(name, _)| *name == unit);
    let (_, unit_ns) = known.ok_or_else(|| match unit {
        "" => ParseDurationError::NoUnit(whole()),
        _ => ParseDurationError::UnknownUnit(whole()),
    })?;
    let total_ns = (number * unit_ns).round();
    if total_ns >= i64::MAX as f64 {
        return Err(ParseDurationError::TooLong(whole()));
    }
    Ok(Duration::from_nanos(total_ns as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_understood() {
        let durations = [
            "7ns",
            "400us",
            "400\u{b5}s",
            "1.5ms",
            "2 s",
            "5min",
            "1h",
            "0s",
            "10_000 ns",
            "2d",
        ];
        let nanoseconds = durations.map(|text| duration(text).unwrap().as_nanos());
        let expected = [
            7,
            400_000,
            400_000,
            1_500_000,
            2_000_000_000,
            300_000_000_000,
            3_600_000_000_000,
            0,
            10_000,
            172_800_000_000_000,
        ];
        assert_eq!(nanoseconds, expected);
    }

    #[test]
    fn what_is_not_a_duration_is_refused_with_an_example() {
        for text in [
            "", "400", "us", "-1ms", "nans", "infs", "1e300h", "1 day", "1kHz", "1..2s", "1xs",
            "NaNs",
        ] {
            let error = duration(text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{text}`")) && error.contains("400us"),
                "{error}"
            );
        }
        let long = duration("9999999d").unwrap_err().to_string();
        assert_eq!(long, "`9999999d` is longer than 292 years");
    }
}
