//! Devices of a loop that runs, by its control socket.

use anyhow::Context as _;
use kadenz_ethercat::control::control_socket::{
    self, Answer, Client, ClientError, LoopExchange, Question,
};
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::Registers;
use kadenz_ethercat::wire::{Configured, Position};

use super::device::{Known, ToldDevice, Which};

#[cfg(test)]
pub(super) mod scripted;

/// A loop that runs, and its devices.
pub(super) struct ControlClient {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) pid: u32,
}

impl ControlClient {
    /// Connects to the loop of that name; without one, to the one that runs.
    pub(super) fn of(name: Option<&str>) -> anyhow::Result<Self> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => the_one(&control_socket::running()?)?,
        };
        let mut client = connect(&name)?;
        match client.ask(&Question::Hello {})? {
            Answer::Hello { name, pid, .. } => Ok(Self { client, name, pid }),
            _ => Err(nonsense(&name)),
        }
    }

    /// How all devices are.
    pub(super) fn devices(&mut self) -> anyhow::Result<Vec<DeviceStatus>> {
        match self.client.ask(&Question::Devices {})? {
            Answer::Devices(devices) => Ok(devices),
            _ => Err(nonsense(&self.name)),
        }
    }

    /// The one device that is meant.
    pub(super) fn device(&mut self, which: &Which) -> anyhow::Result<DeviceStatus> {
        let devices = self.devices()?;
        let place = which.one_among_known(&known(&devices))?;
        devices.into_iter().nth(place).context("no such device")
    }

    /// A device as its memory told of it when the loop began.
    pub(super) fn known_device(&mut self, device: &DeviceStatus) -> anyhow::Result<SubDevice> {
        let question = Question::Sii {
            device: device.device,
        };
        let answer = self.client.ask(&question).with_context(|| whose(device))?;
        let Answer::Bytes(memory) = answer else {
            return Err(nonsense(&self.name));
        };
        let (position, station) = (Position(number(device)), Configured(device.station));
        Ok(SubDevice {
            alias: device.alias,
            ..SubDevice::of_memory(position, station, memory)
        })
    }

    /// All of them.
    pub(super) fn known_devices(&mut self) -> anyhow::Result<Vec<SubDevice>> {
        let devices = self.devices()?;
        devices.iter().map(|it| self.known_device(it)).collect()
    }

    /// Asks the registers of one of them.
    pub(super) fn ask<R>(
        &mut self,
        device: &SubDevice,
        work: impl FnOnce(&mut Registers<'_>) -> R,
    ) -> R {
        let number = usize::from(device.position.0);
        let mut exchange = LoopExchange::new(&mut self.client, number, device.station);
        work(&mut Registers::by(&mut exchange))
    }

    /// As people call it, where else an interface is named.
    pub(super) fn segment(&self) -> String {
        format!("loop:{}", self.name)
    }
}

/// Its control socket answers what was not asked.
pub(super) fn nonsense(name: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "the control socket of {name} answers nonsense; is it of another version of Kadenz?"
    )
}

/// Where there is none of that name, those that there are can be named.
fn connect(name: &str) -> anyhow::Result<Client> {
    Client::connect(name).map_err(|error| {
        let running = control_socket::running().unwrap_or_default();
        match error {
            ClientError::Nobody(_) if !running.is_empty() => {
                let others = running.join(", ");
                anyhow::Error::from(error)
                    .context(format!("no loop is named {name}; there is {others}"))
            }
            error => error.into(),
        }
    })
}

/// The loop that is meant where none was named.
fn the_one(running: &[String]) -> anyhow::Result<String> {
    match running {
        [one] => Ok(one.clone()),
        [] => anyhow::bail!(
            "no loop of this user runs; start one with `kadenz ethercat run`, or ask as the user who did"
        ),
        several => anyhow::bail!(
            "{} loops run; name one of {}",
            several.len(),
            several.join(", ")
        ),
    }
}

/// What devices are known by: numbers are the positions at which they were when the loop began.
pub(super) fn known(devices: &[DeviceStatus]) -> Vec<Known> {
    let known = devices.iter().map(|it| Known {
        position: number(it),
        alias: it.alias,
        name: it.name.clone(),
        long: it.description.clone(),
    });
    known.collect()
}

fn number(device: &DeviceStatus) -> u16 {
    u16::try_from(device.device).unwrap_or(u16::MAX)
}

/// Before what went wrong with a device.
pub(super) fn whose(device: &DeviceStatus) -> String {
    format!("device {} ({})", device.device, called(device))
}

/// How people know it.
pub(super) fn called(device: &DeviceStatus) -> &str {
    match device.description.as_str() {
        "" => &device.name,
        long => long,
    }
}

impl ToldDevice {
    /// Its number is the position at which it was when the loop began.
    pub(super) fn asked(device: &DeviceStatus) -> Self {
        Self {
            position: number(device),
            name: device.name.clone(),
            description: device.description.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_loop_needs_no_name_and_none_or_several_are_told() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
            the_one(&names).map_err(|it| it.to_string())
        };
        assert_eq!(of(&["robot"]), Ok("robot".to_owned()));
        assert!(of(&[]).unwrap_err().contains("kadenz ethercat run"));
        assert!(of(&["a", "b"]).unwrap_err().contains("name one of a, b"));
    }
}
