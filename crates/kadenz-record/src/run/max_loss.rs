//! How many packets a run may lose and still be kept.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most lost packets: a share (`0.1%`) or a number (`5`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MaxLoss {
    /// Share of all sent packets, 0 to 1.
    Share(f64),
    /// Number of lost packets.
    Packets(u64),
}

impl MaxLoss {
    /// Whether the loss exceeds this.
    #[must_use]
    pub fn exceeded_by(self, lost: u64, sent: u64) -> bool {
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
}
