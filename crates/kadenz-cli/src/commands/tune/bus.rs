//! The segment that the loop of a cell drives.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A segment of the field bus, as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bus {
    /// In the measuring process: so many devices of the humanoid, or a file.
    Virtual(String),
    /// At the other end of an interface.
    Interface(String),
}

impl Bus {
    /// As `kadenz ethercat run` takes it.
    pub(super) fn words(&self) -> [String; 2] {
        let (option, place) = match self {
            Self::Virtual(place) => ("--sim", place),
            Self::Interface(place) => ("--interface", place),
        };
        [option.to_owned(), place.clone()]
    }
}

impl FromStr for Bus {
    type Err = Infallible;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let is_count = word.bytes().all(|it| it.is_ascii_digit());
        Ok(if is_count || word.ends_with(".toml") {
            Self::Virtual(word.to_owned())
        } else {
            Self::Interface(word.to_owned())
        })
    }
}

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Virtual(place) | Self::Interface(place)) = self;
        f.write_str(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_a_count_a_file_or_an_interface() {
        for (word, option) in [
            ("59", "--sim"),
            ("arm.toml", "--sim"),
            ("veth0", "--interface"),
        ] {
            let Ok(bus) = word.parse::<Bus>();
            assert_eq!(bus.words(), [option, word]);
            assert_eq!(bus.to_string(), word);
        }
    }
}
