//! The segment of a cell's loop.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context as _;

use crate::commands::ethercat::{Virtual, check_cycle, check_interface};

/// A segment of the fieldbus, as the user types it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bus {
    /// In the measuring process: this many devices of the humanoid, or a file.
    Virtual(Virtual),
    /// The interface of a segment.
    Interface(String),
}

impl Bus {
    /// Options for `kadenz ethercat run`.
    pub(super) fn words(&self) -> [String; 2] {
        let option = match self {
            Self::Virtual(_) => "--sim",
            Self::Interface(_) => "--interface",
        };
        [option.to_owned(), self.to_string()]
    }

    /// Refuses a segment that no round could be measured with, before the first round begins.
    pub(super) fn check(&self, cycle: Duration) -> anyhow::Result<()> {
        check_cycle(cycle).context("--rate is the cycle of the bus")?;
        match self {
            Self::Virtual(segment) => segment
                .plan()
                .and_then(|plan| Ok(plan.build().map(drop)?))
                .with_context(|| format!("--bus {self}")),
            Self::Interface(interface) => {
                check_interface(interface).with_context(|| format!("--bus {self}"))
            }
        }
    }
}

impl FromStr for Bus {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let is_number = word.parse::<i64>().is_ok();
        if is_number || word.ends_with(".toml") {
            return word.parse().map(Self::Virtual);
        }
        if word.is_empty() {
            return Err("name a number of devices, a segment file, or an interface".to_owned());
        }
        Ok(Self::Interface(word.to_owned()))
    }
}

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Virtual(Virtual::Humanoid(devices)) => write!(f, "{devices}"),
            Self::Virtual(Virtual::File(path)) => write!(f, "{}", path.display()),
            Self::Interface(interface) => f.write_str(interface),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_segment_is_a_count_a_file_or_an_interface() {
        for (word, option) in [
            ("59", "--sim"),
            ("arm.toml", "--sim"),
            ("veth0", "--interface"),
        ] {
            let bus: Bus = word.parse().unwrap();
            assert_eq!(bus.words(), [option, word]);
            assert_eq!(bus.to_string().parse(), Ok(bus));
        }
        for word in ["", "0", "201", "-3"] {
            assert!(word.parse::<Bus>().is_err(), "{word}");
        }
    }

    #[test]
    fn what_no_round_could_be_measured_with_is_refused_before_the_first() {
        let refused = |word: &str, cycle| {
            let bus: Bus = word.parse().unwrap();
            let error = bus.check(cycle).unwrap_err();
            format!("{error:#}")
        };
        assert!(refused("59", Duration::from_micros(10)).contains("20us to 1s"));
        assert!(refused("59", Duration::from_secs(2)).contains("20us to 1s"));
        assert!(refused("/no/such.toml", MS).contains("/no/such.toml"));
        assert!(refused("no-such-if0", MS).contains("no-such-if0"));
        "59".parse::<Bus>().unwrap().check(MS).unwrap();
    }
}
