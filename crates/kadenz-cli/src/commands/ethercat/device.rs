//! Which SubDevice is meant, and how it is told.

use std::str::FromStr;

use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::survey::Surveyed;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output;

/// Names a SubDevice: by its position from 0, its name, its alias (`alias:7`), or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Which {
    All,
    Position(u16),
    Alias(u16),
    Name(String),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| {
            let read = match digits.strip_prefix("0x") {
                Some(hex) => u16::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            read.map_err(|_| format!("`{text}` is no number of a device, which go up to 65535"))
        };
        if text.is_empty() {
            return Err("a device is a position from 0, a name, alias:N, or all".to_owned());
        }
        let lower = text.to_lowercase();
        if lower == "all" {
            return Ok(Self::All);
        }
        if let Some(alias) = lower.strip_prefix("alias:") {
            return number(alias).map(Self::Alias);
        }
        if text.bytes().all(|it| it.is_ascii_digit()) {
            return number(text).map(Self::Position);
        }
        Ok(Self::Name(text.to_owned()))
    }
}

/// How people know it: by its long name, or else its short one.
pub(super) fn called(device: &SubDevice) -> String {
    let long = device.long_name();
    if long.is_empty() {
        device.name.clone()
    } else {
        long
    }
}

/// What a device is known by.
pub(super) struct Known {
    pub(super) position: u16,
    pub(super) alias: u16,
    pub(super) name: String,
    pub(super) long: String,
}

impl Known {
    pub(super) fn of(device: &SubDevice) -> Self {
        Self {
            position: device.position.0,
            alias: device.alias,
            name: device.name.clone(),
            long: device.long_name(),
        }
    }

    fn called(&self) -> &str {
        match self.long.as_str() {
            "" => &self.name,
            long => long,
        }
    }
}

fn known(met: &[Surveyed]) -> Vec<Known> {
    met.iter().map(|it| Known::of(&it.device)).collect()
}

impl Which {
    /// Places of those that are meant.
    ///
    /// A name that nobody has, or that several have, is an error that names whom there is.
    pub(super) fn among(&self, met: &[Surveyed]) -> anyhow::Result<Vec<usize>> {
        self.among_known(&known(met))
    }

    /// The place of the one that is meant.
    pub(super) fn one_among(&self, met: &[Surveyed]) -> anyhow::Result<usize> {
        self.one_among_known(&known(met))
    }

    /// The one of these that is meant.
    pub(super) fn one_of(&self, devices: &[SubDevice]) -> anyhow::Result<usize> {
        let known: Vec<_> = devices.iter().map(Known::of).collect();
        self.one_among_known(&known)
    }

    /// As [`among`](Self::among).
    pub(super) fn among_known(&self, known: &[Known]) -> anyhow::Result<Vec<usize>> {
        let count = known.len();
        let places = |is_it: &dyn Fn(&Known) -> bool| -> Vec<usize> {
            (0..count).filter(|place| is_it(&known[*place])).collect()
        };
        let found = match self {
            Self::All => return Ok((0..count).collect()),
            Self::Position(position) => {
                let found = places(&|it| it.position == *position);
                anyhow::ensure!(
                    !found.is_empty(),
                    "there is no device at position {position}: the last of {count} is at {}",
                    count.saturating_sub(1)
                );
                found
            }
            Self::Alias(alias) => places(&|it| it.alias == *alias && *alias != 0),
            Self::Name(name) => {
                let name = name.to_lowercase();
                let same = |it: &str| it.to_lowercase() == name;
                let by_long = places(&|it| same(&it.long));
                match by_long.is_empty() {
                    true => places(&|it| same(&it.name)),
                    false => by_long,
                }
            }
        };
        anyhow::ensure!(
            !found.is_empty(),
            "no device is {self}; `kadenz ethercat scan` lists them by position and name"
        );
        Ok(found)
    }

    /// As [`one_among`](Self::one_among).
    pub(super) fn one_among_known(&self, known: &[Known]) -> anyhow::Result<usize> {
        let found = self.among_known(known)?;
        if let [one] = found[..] {
            return Ok(one);
        }
        let shown: Vec<String> = found
            .iter()
            .take(8)
            .map(|place| format!("{} ({})", place, known[*place].called()))
            .collect();
        let more = if found.len() > 8 { ", ..." } else { "" };
        anyhow::bail!(
            "{} devices are {self}; name one by its position: {}{more}",
            found.len(),
            shown.join(", ")
        )
    }
}

impl std::fmt::Display for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Position(position) => write!(f, "at position {position}"),
            Self::Alias(alias) => write!(f, "of alias {alias}"),
            Self::Name(name) => write!(f, "named `{name}`"),
        }
    }
}

/// A SubDevice in JSON.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct ToldDevice {
    pub(super) position: u16,
    pub(super) name: String,
    pub(super) description: String,
}

impl ToldDevice {
    pub(super) fn of(device: &SubDevice) -> Self {
        Self {
            position: device.position.0,
            name: device.name.clone(),
            description: device.long_name(),
        }
    }

    /// How people know it: by its long name, or else its short one.
    pub(super) fn called(&self) -> &str {
        match self.description.as_str() {
            "" => &self.name,
            long => long,
        }
    }
}

/// Before what went wrong with a SubDevice.
pub(super) fn whose(device: &SubDevice) -> String {
    format!("device {} ({})", device.position.0, called(device))
}

/// Refuses to write a device's memory where something speaks against it; by force that is only told.
pub(super) fn weigh(device: &SubDevice, objections: &[String], force: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        force || objections.is_empty(),
        "{}: nothing was written: {}; --force writes it all the same",
        whose(device),
        objections.join("; ")
    );
    for objection in objections {
        output::note(&format!("forced, though {objection}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_a_position_a_name_or_an_alias() {
        assert_eq!("4".parse(), Ok(Which::Position(4)));
        for all in ["all", "All"] {
            assert_eq!(all.parse(), Ok(Which::All));
        }
        assert_eq!("ALIAS:7".parse(), Ok(Which::Alias(7)));
        assert_eq!("alias:0x10".parse(), Ok(Which::Alias(16)));
        assert_eq!("left knee".parse(), Ok(Which::Name("left knee".to_owned())));
        for text in ["", "70000", "alias:x"] {
            assert!(text.parse::<Which>().is_err(), "{text}");
        }
    }
}
