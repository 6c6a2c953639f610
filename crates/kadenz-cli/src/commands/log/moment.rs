//! Points of time within a log.

use std::str::FromStr;

use jiff::Timestamp;
use kadenz::msg::log::{Entry, LogError, LogReader};
use kadenz::rt::clock::WallTime;

use crate::options::Span;

/// A time of day, or a span from the log's begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moment {
    At(WallTime),
    After(Span),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(span) = text.parse() {
            return Ok(Self::After(span));
        }
        let wrong = || {
            format!(
                "`{text}` is not a valid point of time; write a span from the log's begin like 90s, or a time \
                 like 2026-02-03T14:00:00Z or @1700000000.25"
            )
        };
        if let Some(seconds) = text.strip_prefix('@') {
            let ns = nanoseconds(seconds).ok_or_else(wrong)?;
            return Ok(Self::At(WallTime::from_unix_ns(ns)));
        }
        let time: Timestamp = text.parse().map_err(|_| wrong())?;
        let ns = i64::try_from(time.as_nanosecond()).map_err(|_| wrong())?;
        Ok(Self::At(WallTime::from_unix_ns(ns)))
    }
}

/// Seconds with up to nine decimal digits, exactly: a float would be off by 100 ns.
fn nanoseconds(seconds: &str) -> Option<i64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
    whole.checked_mul(1_000_000_000)?.checked_add(fraction)
}

impl Moment {
    /// The time of day, in a log that begins at this time.
    pub(crate) fn in_log(self, begin: WallTime) -> WallTime {
        match self {
            Self::At(time) => time,
            Self::After(span) => {
                let ns = i64::try_from(span.as_ns()).unwrap_or(i64::MAX);
                WallTime::from_unix_ns(begin.as_unix_ns().saturating_add(ns))
            }
        }
    }
}

/// Both ends of a part of a log; finds the log's begin only where they need it.
pub(crate) fn part(
    reader: &mut dyn LogReader,
    from: Option<Moment>,
    until: Option<Moment>,
) -> Result<(Option<WallTime>, Option<WallTime>), LogError> {
    let mut begin = WallTime::from_unix_ns(0);
    if from.is_some() || until.is_some() {
        let mut entry = Entry::default();
        if reader.read(&mut entry)? {
            begin = entry.log_time;
        }
        reader.seek(WallTime::from_unix_ns(i64::MIN))?;
    }
    let in_log = |moment: Option<Moment>| moment.map(|it| it.in_log(begin));
    Ok((in_log(from), in_log(until)))
}

/// `2026-02-03T14:00:00.25Z`.
pub(crate) fn shown(time: WallTime) -> String {
    match Timestamp::from_nanosecond(time.as_unix_ns().into()) {
        Ok(time) => time.to_string(),
        Err(_) => format!("{} ns", time.as_unix_ns()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_times_are_distinguished_and_shown_as_read() {
        let moment = |text: &str| text.parse::<Moment>().unwrap();
        let begin = WallTime::from_unix_ns(5);
        assert_eq!(moment("2us").in_log(begin).as_unix_ns(), 2005);
        let time = moment("2026-02-03T14:00:00.25Z").in_log(begin);
        assert_eq!(shown(time), "2026-02-03T14:00:00.25Z");
        assert_eq!(
            moment("@1700000000.25").in_log(begin).as_unix_ns(),
            1_700_000_000_250_000_000
        );
        // To the nanosecond, which a float is not.
        assert_eq!(
            moment("@1700000001.99").in_log(begin).as_unix_ns(),
            1_700_000_001_990_000_000
        );
        for nonsense in [
            "",
            "tomorrow",
            "17",
            "@",
            "@1e30",
            "@-1",
            "@1.0000000001",
            "-5s",
        ] {
            let error = nonsense.parse::<Moment>().unwrap_err();
            assert!(error.contains("90s"), "{error}");
        }
    }
}
