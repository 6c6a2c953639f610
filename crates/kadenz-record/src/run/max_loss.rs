//! How many packets a run may lose and still be kept.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most lost packets: a percentage (`0.1%`) or a number (`5`), also in JSON as this text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = "^([0-9]+|[0-9]+(\\.[0-9]+)?%)$")))]
pub enum MaxLoss {
    /// Percentage of all sent packets, 0 to 100.
    Percent(f64),
    /// Number of lost packets.
    Packets(u64),
}

impl MaxLoss {
    /// Whether the loss exceeds this.
    #[must_use]
    pub fn exceeded_by(self, lost: u64, sent: u64) -> bool {
        match self {
            Self::Percent(percent) => lost as f64 * 100.0 > percent * sent as f64,
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
        (0.0..=100.0)
            .contains(&percent)
            .then_some(Self::Percent(percent))
            .ok_or_else(wrong)
    }
}

impl fmt::Display for MaxLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Packets(packets) => write!(f, "{packets}"),
        }
    }
}

impl From<MaxLoss> for String {
    fn from(loss: MaxLoss) -> Self {
        loss.to_string()
    }
}

impl TryFrom<String> for MaxLoss {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_a_percentage_or_a_number() {
        let loss = |text: &str| text.parse::<MaxLoss>();
        assert_eq!(loss("0.5%"), Ok(MaxLoss::Percent(0.5)));
        assert_eq!(loss("3"), Ok(MaxLoss::Packets(3)));
        for text in ["", "%", "-1", "101%", "1.5", "NaN%"] {
            assert!(loss(text).is_err(), "{text}");
        }
        let half = MaxLoss::Percent(50.0);
        assert!(!half.exceeded_by(50, 100) && half.exceeded_by(51, 100));
        assert!(MaxLoss::Packets(0).exceeded_by(1, 100));
    }
}
