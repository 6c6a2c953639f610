//! Numbers with units, as users type them: `400us`, `48h`, `0.1%`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use kadenz_rt::units::{self, ParseDurationError};

/// A span of time with its unit: `1ns`, `400us`, `1.5ms`, `10s`, `5min`, `48h`, `2d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, ParseDurationError> {
        units::duration(text).map(Self)
    }
}

impl Span {
    /// The span in nanoseconds.
    pub(crate) fn as_ns(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.as_ns();
        let (divisor, unit) = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "min"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
        ]
        .into_iter()
        .find(|(divisor, _)| ns >= *divisor && ns.is_multiple_of(*divisor))
        .unwrap_or((1, "ns"));
        write!(f, "{}{unit}", ns / divisor)
    }
}

/// How many packets may be lost: a share (`0.1%`) or a number (`5`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MaxLoss {
    /// Of all that were sent, 0 to 1.
    Share(f64),
    /// So many.
    Packets(u64),
}

impl MaxLoss {
    /// Whether more were lost than may be.
    pub(crate) fn exceeded_by(self, lost: u64, sent: u64) -> bool {
        match self {
            Self::Share(share) => lost as f64 > share * sent as f64,
            Self::Packets(packets) => lost > packets,
        }
    }
}

impl FromStr for MaxLoss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a share of packets, as 0.1%, and not a number of them, as 5")
        };
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Self::Packets).map_err(|_| wrong());
        };
        let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
        let share = Self::Share(percent / 100.0);
        (0.0..=100.0)
            .contains(&percent)
            .then_some(share)
            .ok_or_else(wrong)
    }
}

impl fmt::Display for MaxLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{}%", share * 100.0),
            Self::Packets(packets) => write!(f, "{packets}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_a_share_or_a_number() {
        let loss = |text: &str| text.parse::<MaxLoss>();
        assert_eq!(loss("0.5%"), Ok(MaxLoss::Share(0.005)));
        assert_eq!(loss("3"), Ok(MaxLoss::Packets(3)));
        for text in ["", "%", "-1", "101%", "1.5", "NaN%"] {
            assert!(loss(text).is_err(), "{text}");
        }
        let half = MaxLoss::Share(0.5);
        assert!(!half.exceeded_by(50, 100) && half.exceeded_by(51, 100));
        assert!(MaxLoss::Packets(0).exceeded_by(1, 100));
    }

    #[test]
    fn what_is_shown_can_be_typed_again() {
        for text in ["1ns", "400us", "90s", "2min", "48h", "999us"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
    }
}
