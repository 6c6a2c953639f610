//! Access to devices: on a segment at an interface, or through a running loop; and bytes of their memory for people.

use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::main_device::discover;
use kadenz::ethercat::main_device::exchange::{Registers, Target};
use kadenz::ethercat::main_device::survey::SurveyedDevice;
#[cfg(target_os = "linux")]
use kadenz::ethercat::running_loop::control_socket::LoopExchange;
use kadenz::ethercat::value::hex;
use kadenz::ethercat::wire::Position;

use super::device::{Device, DeviceSelector};
#[cfg(target_os = "linux")]
use super::running_loop::RunningLoop;
use super::segment::{Segment, SegmentOrLoop};

/// Location of the devices: commands read and write registers and SII of both in the same way.
pub(super) enum DeviceAccess {
    Segment(Box<Segment>),
    #[cfg(target_os = "linux")]
    Loop(Box<RunningLoop>),
}

impl DeviceAccess {
    pub(super) fn open(place: &SegmentOrLoop) -> anyhow::Result<Self> {
        if let Some(name) = &place.running {
            #[cfg(target_os = "linux")]
            return Ok(Self::Loop(Box::new(RunningLoop::open(name.as_deref())?)));
            #[cfg(not(target_os = "linux"))]
            anyhow::bail!("--loop {} needs Linux", name.as_deref().unwrap_or_default());
        }
        Ok(Self::Segment(Box::new(place.segment.open()?)))
    }

    /// Name of the interface, or `sim:59`, `loop:robot`.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Segment(segment) => segment.name().to_owned(),
            #[cfg(target_os = "linux")]
            Self::Loop(running) => running.segment(),
        }
    }

    /// The selected devices.
    pub(super) fn among(&mut self, which: &DeviceSelector) -> anyhow::Result<Vec<Device>> {
        let all = self.devices()?;
        let places = which.among(all.iter().cloned())?;
        Ok(places.into_iter().map(|it| all[it].clone()).collect())
    }

    /// The one selected device.
    pub(super) fn one(&mut self, which: &DeviceSelector) -> anyhow::Result<Device> {
        let mut all = self.devices()?;
        let place = which.one_among(all.iter().cloned())?;
        Ok(all.swap_remove(place))
    }

    fn devices(&mut self) -> anyhow::Result<Vec<Device>> {
        match self {
            Self::Segment(segment) => Ok(segment.survey()?.iter().map(Device::from).collect()),
            #[cfg(target_os = "linux")]
            Self::Loop(running) => running.devices(),
        }
    }

    /// All devices with their states. For a device that is gone from a loop: the data that the loop had when it
    /// began, and no state.
    pub(super) fn survey(&mut self) -> anyhow::Result<Vec<SurveyedDevice>> {
        match self {
            Self::Segment(segment) => Ok(segment.survey()?),
            #[cfg(target_os = "linux")]
            Self::Loop(running) => running.survey(),
        }
    }

    /// All devices with their SII: on a segment the present one, of a loop that of the loop's start.
    pub(super) fn sub_devices(&mut self) -> anyhow::Result<Vec<SubDevice>> {
        match self {
            Self::Segment(segment) => {
                Ok(segment.survey()?.into_iter().map(|it| it.device).collect())
            }
            #[cfg(target_os = "linux")]
            Self::Loop(running) => {
                let all = running.client.devices()?;
                all.iter().map(|it| running.sub_device(it)).collect()
            }
        }
    }

    /// A device and its SII, as for [`sub_devices`](Self::sub_devices).
    pub(super) fn sii(&mut self, which: &DeviceSelector) -> anyhow::Result<(Device, Vec<u8>)> {
        match self {
            Self::Segment(segment) => {
                let mut met = segment.survey()?;
                let device = met.swap_remove(which.one_among(&met)?).device;
                Ok((Device::from(&device), device.sii))
            }
            #[cfg(target_os = "linux")]
            Self::Loop(running) => {
                let device = running.device(which)?;
                let bytes = running.client.sii(device.position.into())?;
                Ok((device, bytes))
            }
        }
    }

    /// Accesses the registers of a device.
    pub(super) fn ask<R>(
        &mut self,
        device: &Device,
        work: impl FnOnce(&mut Registers<'_>, Target) -> R,
    ) -> R {
        match self {
            Self::Segment(segment) => {
                let target = Target::At(Position(device.position));
                segment.ask(|registers| work(registers, target))
            }
            #[cfg(target_os = "linux")]
            Self::Loop(running) => {
                let number = device.position.into();
                let mut exchange = LoopExchange::new(&mut running.client, number, device.station);
                let target = exchange.target();
                work(&mut Registers::by(&mut exchange), target)
            }
        }
    }

    /// Reads bytes of registers; `None` where the device does not answer there.
    pub(super) fn read(
        &mut self,
        device: &Device,
        address: u16,
        length: u16,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; usize::from(length)];
        let read = |registers: &mut Registers<'_>, target| {
            registers.count_reading(target, address, &mut bytes)
        };
        let count = self.ask(device, read)?;
        Ok((count > 0).then_some(bytes))
    }

    /// Writes bytes of registers; returns whether the device accepted them.
    pub(super) fn write(
        &mut self,
        device: &Device,
        address: u16,
        bytes: &[u8],
    ) -> anyhow::Result<bool> {
        let count = self.ask(device, |registers, target| {
            registers.count_writing(target, address, bytes)
        })?;
        Ok(count > 0)
    }

    /// The present SII of a device.
    pub(super) fn memory(&mut self, device: &Device) -> anyhow::Result<Vec<u8>> {
        Ok(self.ask(device, discover::memory)?)
    }

    /// Suffix for an answer about a written SII: the running loop still uses the old one.
    pub(super) const fn when_it_counts(&self) -> &'static str {
        match self {
            Self::Segment(_) => "",
            #[cfg(target_os = "linux")]
            Self::Loop(_) => {
                "; this loop keeps the device's data from its start, so restart it then"
            }
        }
    }

    /// Refuses an interface on which another MainDevice exchanges frames. A loop sends its own frames.
    pub(super) fn ensure_alone(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Segment(segment) => Ok(segment.ensure_alone()?),
            #[cfg(target_os = "linux")]
            Self::Loop(_) => Ok(()),
        }
    }
}

/// `10000001 00000000`: each byte from its highest bit down.
pub(super) fn binary(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    digits.join(" ")
}

/// Rows of 16 bytes, each behind its address, which counts units of this many bytes from `first` on.
pub(super) fn hex_rows(bytes: &[u8], first: usize, unit: usize) -> String {
    let rows = (first..).step_by(16 / unit).zip(bytes.chunks(16));
    let rows = rows.map(|(address, row)| {
        let printable = |byte: &u8| match byte.is_ascii_graphic() || *byte == b' ' {
            true => char::from(*byte),
            false => '.',
        };
        let text: String = row.iter().map(printable).collect();
        format!("0x{address:04X}  {:<47}  {text}", hex(row))
    });
    rows.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_rows_and_bits() {
        let bytes: Vec<u8> = (0x41..0x52).collect();
        let rows = hex_rows(&bytes, 0x0130, 1);
        let mut lines = rows.lines();
        let first = "0x0130  41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50  ABCDEFGHIJKLMNOP";
        assert_eq!(lines.next(), Some(first));
        assert!(lines.next().unwrap().starts_with("0x0140  51 "), "{rows}");
        assert!(hex_rows(&bytes, 0, 2).contains("\n0x0008  51"), "words");
        assert_eq!(binary(&[0x81, 2]), "10000001 00000010");
    }
}
