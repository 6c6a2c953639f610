//! Numbers with units, as users write them.

use std::time::Duration;

/// Units of a duration, and how many nanoseconds each is.
const DURATION_UNITS: [(&str, f64); 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("ms", 1e6),
    ("min", 60e9),
    ("h", 3600e9),
    // Last: other units end with it.
    ("s", 1e9),
];

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a duration; write a number with its unit: 900ns, 400us, 1.5ms, 2s, 5min or 1h"
)]
pub struct ParseDurationError(String);

/// Reads a duration with its unit: `900ns`, `400us`, `1.5ms`, `2s`, `5min`, `1h`. It is rounded to whole
/// nanoseconds. A number without a unit is refused, because nobody can tell what it means.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(kadenz_rt::units::duration("400us"), Ok(Duration::from_micros(400)));
/// assert!(kadenz_rt::units::duration("400").is_err());
/// ```
///
/// # Errors
/// [`ParseDurationError`] for anything else, and above 292 years.
pub fn duration(text: &str) -> Result<Duration, ParseDurationError> {
    parse(text).ok_or_else(|| ParseDurationError(text.to_owned()))
}

fn parse(text: &str) -> Option<Duration> {
    let mut units = DURATION_UNITS.into_iter();
    let (number, unit_ns) = units.find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
    let number: f64 = number.trim().parse().ok()?;
    let total_ns = (number * unit_ns).round();
    (0.0..i64::MAX as f64)
        .contains(&total_ns)
        .then(|| Duration::from_nanos(total_ns as u64))
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
        ];
        assert_eq!(nanoseconds, expected);
    }

    #[test]
    fn what_is_not_a_duration_is_refused_with_an_example() {
        for text in [
            "", "400", "us", "-1ms", "nans", "infs", "1e300h", "1 day", "1kHz",
        ] {
            let error = duration(text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{text}`")) && error.contains("400us"),
                "{error}"
            );
        }
    }
}
