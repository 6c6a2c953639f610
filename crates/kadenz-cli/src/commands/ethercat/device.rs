//! Selects the SubDevices of a command, and names them in its answer.

use std::str::FromStr;

#[cfg(target_os = "linux")]
use kadenz::ethercat::control::supervisor::DeviceStatus;
use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::main_device::survey::SurveyedDevice;
use kadenz::ethercat::value::number;
use kadenz::ethercat::wire::Configured;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output;

/// Selects SubDevices: by the position from 0, the name, the alias (`alias:7`), or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DeviceSelector {
    All,
    Position(u16),
    Alias(u16),
    Name(String),
}

impl FromStr for DeviceSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| {
            let read = number::unsigned(digits);
            read.ok_or_else(|| {
                format!("`{text}` is not a valid number of a device; take 0 to 65535")
            })
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

/// A SubDevice of a segment, or of a running loop.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct Device {
    /// Position from 0; with `--loop` the one at the loop's begin.
    pub(super) position: u16,
    /// Order number from its SII.
    pub(super) name: String,
    /// Long name from its SII.
    pub(super) description: String,
    #[serde(skip)]
    pub(super) alias: u16,
    #[serde(skip)]
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only a running loop is asked by it")
    )]
    pub(super) station: Configured,
}

impl From<&SubDevice> for Device {
    fn from(device: &SubDevice) -> Self {
        Self {
            position: device.position.0,
            name: device.name.clone(),
            description: device.long_name(),
            alias: device.alias,
            station: device.station,
        }
    }
}

impl From<&SurveyedDevice> for Device {
    fn from(met: &SurveyedDevice) -> Self {
        Self::from(&met.device)
    }
}

#[cfg(target_os = "linux")]
impl From<&DeviceStatus> for Device {
    fn from(device: &DeviceStatus) -> Self {
        Self {
            position: u16::try_from(device.device).unwrap_or(u16::MAX),
            name: device.name.clone(),
            description: device.description.clone(),
            alias: device.alias,
            station: Configured(device.station),
        }
    }
}

impl Device {
    /// The long name, or else the short one.
    pub(super) fn called(&self) -> &str {
        match self.description.as_str() {
            "" => &self.name,
            long => long,
        }
    }

    /// `device 8 (left knee)`.
    pub(super) fn label(&self) -> String {
        label(self.position, self.called())
    }
}

/// The label of a device, for errors and notes.
pub(super) fn label(position: u16, called: &str) -> String {
    format!("device {position} ({called})")
}

/// The same as [`Device::label`].
pub(super) fn label_of(device: &SubDevice) -> String {
    Device::from(device).label()
}

impl DeviceSelector {
    /// Positions of the selected devices among all devices.
    ///
    /// # Errors
    /// No device matches.
    pub(super) fn among<D: Into<Device>>(
        &self,
        all: impl IntoIterator<Item = D>,
    ) -> anyhow::Result<Vec<usize>> {
        let all: Vec<Device> = all.into_iter().map(Into::into).collect();
        self.places(&all)
    }

    /// Position of the one selected device among all devices.
    ///
    /// # Errors
    /// No device matches, or several do.
    pub(super) fn one_among<D: Into<Device>>(
        &self,
        all: impl IntoIterator<Item = D>,
    ) -> anyhow::Result<usize> {
        let all: Vec<Device> = all.into_iter().map(Into::into).collect();
        let found = self.places(&all)?;
        if let [one] = found[..] {
            return Ok(one);
        }
        let shown: Vec<String> = found
            .iter()
            .take(8)
            .map(|place| format!("{} ({})", place, all[*place].called()))
            .collect();
        let more = if found.len() > 8 { ", ..." } else { "" };
        anyhow::bail!(
            "{} devices are {self}; name one by its position: {}{more}",
            found.len(),
            shown.join(", ")
        )
    }

    fn places(&self, all: &[Device]) -> anyhow::Result<Vec<usize>> {
        let count = all.len();
        let places = |is_it: &dyn Fn(&Device) -> bool| -> Vec<usize> {
            (0..count).filter(|place| is_it(&all[*place])).collect()
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
                let by_long = places(&|it| same(&it.description));
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
}

impl std::fmt::Display for DeviceSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Position(position) => write!(f, "at position {position}"),
            Self::Alias(alias) => write!(f, "of alias {alias}"),
            Self::Name(name) => write!(f, "named `{name}`"),
        }
    }
}

/// Refuses to write a device's SII where there are objections; with `force` it only notes them.
pub(super) fn weigh(device: &Device, objections: &[String], force: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        force || objections.is_empty(),
        "{}: nothing was written: {}; --force writes it nevertheless",
        device.label(),
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
        assert_eq!("4".parse(), Ok(DeviceSelector::Position(4)));
        for all in ["all", "All"] {
            assert_eq!(all.parse(), Ok(DeviceSelector::All));
        }
        assert_eq!("ALIAS:7".parse(), Ok(DeviceSelector::Alias(7)));
        assert_eq!("alias:0x10".parse(), Ok(DeviceSelector::Alias(16)));
        assert_eq!(
            "left knee".parse(),
            Ok(DeviceSelector::Name("left knee".to_owned()))
        );
        for text in ["", "70000", "alias:x"] {
            assert!(text.parse::<DeviceSelector>().is_err(), "{text}");
        }
    }
}
