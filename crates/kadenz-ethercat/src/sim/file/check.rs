//! Checks a file and makes a plan of it.

use std::ops::Range;

use toml::Spanned;

use super::kinds::Loaded;
use super::text::{self, DeviceSection, SegmentFile};
use super::{FileError, MAX_DEVICES, Parent, PlannedDevice, Ring, SegmentPlan, last};
use crate::sim::fault::MAX as MAX_FAULTS;
use crate::sim::is_same;
use crate::text_file::TextFile;

pub(super) type Load<'l> = &'l mut dyn FnMut(&str) -> Result<String, String>;

/// The name of the cable back to the MainDevice, where a device is named.
pub(super) const RING: &str = "ring";

/// A file that is being checked.
pub(super) struct Checker<'t> {
    pub(super) reader: TextFile<'t>,
    pub(super) seed: u64,
    pub(super) devices: Vec<PlannedDevice>,
    pub(super) has_ring: bool,
    /// The ESI files that were read.
    pub(super) loaded: Loaded,
}

pub(super) fn plan(file: &str, text: &str, load: Load<'_>) -> Result<SegmentPlan, FileError> {
    let reader = TextFile { file, text };
    let written: SegmentFile = reader.toml("docs/ethercat.md has every field")?;
    if written.device.is_empty() || written.device.len() > MAX_DEVICES {
        let cause = format!("it has {} devices", written.device.len());
        return Err(reader.error(None, cause, "write 1 to 200 tables [[device]]"));
    }
    if written.fault.len() > MAX_FAULTS {
        let cause = format!("it has {} faults", written.fault.len());
        return Err(reader.error(None, cause, "write 4096 at most; `every_ms` repeats one"));
    }
    let mut checker = Checker {
        reader,
        seed: written.seed,
        devices: Vec::new(),
        has_ring: written.ring.is_some(),
        loaded: Loaded::default(),
    };
    for device in &written.device {
        let placed = checker.device(device, load)?;
        checker.devices.push(placed);
    }
    let faults = written.fault.iter().map(|it| checker.fault(it));
    let faults = faults.collect::<Result<_, _>>()?;
    let ring = written.ring.as_ref().map(|it| checker.ring(it));
    let ring = ring.transpose()?;
    Ok(SegmentPlan {
        seed: written.seed,
        ring,
        devices: checker.devices,
        faults,
    })
}

impl Checker<'_> {
    pub(super) fn error(
        &self,
        at: Option<Range<usize>>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> FileError {
        self.reader.error(at, cause, remedy)
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.devices.iter().position(|it| is_same(&it.name, name))
    }

    /// A name must be usable in commands, and unique.
    fn ensure_name(&self, written: &Spanned<String>) -> Result<(), FileError> {
        let name = written.get_ref();
        let is_taken = |it: &PlannedDevice| is_same(&it.name, name);
        let has_other_meaning = |it: &str| ["all", RING].contains(&it) || it.starts_with("alias:");
        let cause = if name.is_empty() || self.devices.iter().any(is_taken) {
            format!("the name \"{name}\" is empty or another device's")
        } else if name.chars().any(char::is_control) {
            "the name has control characters".to_owned()
        } else if has_other_meaning(&name.to_lowercase()) || name.parse::<u64>().is_ok() {
            format!("\"{name}\" means something else where a device is named")
        } else {
            return Ok(());
        };
        let remedy = "give each device a name of its own";
        Err(self.error(Some(written.span()), cause, remedy))
    }

    fn device(
        &mut self,
        written: &Spanned<DeviceSection>,
        load: Load<'_>,
    ) -> Result<PlannedDevice, FileError> {
        let device = written.get_ref();
        self.ensure_name(&device.name)?;
        let kind = self.kind(device, written.span(), load)?;
        let parent = self.parent(device, written.span())?;
        let placed = PlannedDevice::new(device.name.get_ref(), kind, parent);
        let mut placed = placed.numbered(self.devices.len(), self.seed);
        placed.serial = device.serial.unwrap_or(placed.serial);
        placed.seed = device.seed.unwrap_or(placed.seed);
        placed.alias = device.alias;
        placed.delay_ns = device.delay_ns.unwrap_or(placed.delay_ns);
        placed.jitter_ns = device.jitter_ns;
        if let Some(ports) = &device.ports {
            placed.ports = *ports.get_ref();
            self.ensure_ports(&placed, ports.span())?;
        }
        if let Some(drift) = &device.drift_ppm {
            // Drops the sign of a zero.
            placed.drift_ppm = *drift.get_ref() + 0.0;
            if placed.drift_ppm.is_nan() || placed.drift_ppm.abs() > 10_000.0 {
                let remedy = "oscillators are within 100 ppm; write at most 10000";
                return Err(self.error(Some(drift.span()), "no clock drifts so much", remedy));
            }
        }
        self.eeprom(device, &mut placed, written.span())?;
        Ok(placed)
    }

    fn ensure_ports(&self, placed: &PlannedDevice, at: Range<usize>) -> Result<(), FileError> {
        if !(2..=4).contains(&placed.ports) {
            return Err(self.error(Some(at), "a device has 2 to 4 ports", "write 2, 3 or 4"));
        }
        if placed.ports > 2 && !placed.branches() {
            let cause = "only drive, imu and force can have more than two ports";
            return Err(self.error(Some(at), cause, "leave `ports` out"));
        }
        Ok(())
    }

    /// The default is the device before, at its first free port.
    fn parent(
        &self,
        device: &DeviceSection,
        start: Range<usize>,
    ) -> Result<Option<Parent>, FileError> {
        let at = match &device.parent {
            Some(parent) => self.place(parent.get_ref()).ok_or_else(|| {
                let cause = format!("no device above is named \"{}\"", parent.get_ref());
                let remedy = "write the parent's table before its children's";
                self.error(Some(parent.span()), cause, remedy)
            })?,
            None if !self.devices.is_empty() => self.devices.len() - 1,
            None => match &device.port {
                None => return Ok(None),
                Some(port) => {
                    let cause =
                        "the first device is plugged into the MainDevice, which has no `port`";
                    return Err(self.error(Some(port.span()), cause, "leave `port` out"));
                }
            },
        };
        let port = self.port(at, device.port.as_ref(), start)?;
        Ok(Some(Parent { device: at, port }))
    }

    /// A free port of a device: the requested one, or the first.
    fn port(
        &self,
        device: usize,
        wanted: Option<&Spanned<u8>>,
        start: Range<usize>,
    ) -> Result<u8, FileError> {
        let taken = |port: u8| {
            let parent = Some(Parent { device, port });
            self.devices.iter().any(|it| it.parent == parent)
        };
        let mut free = self.devices[device].free_ports();
        free.retain(|it| !taken(*it));
        let port = wanted.map_or_else(|| free.first().copied(), |it| Some(*it.get_ref()));
        port.filter(|it| free.contains(it)).ok_or_else(|| {
            let place = wanted.map_or(start, Spanned::span);
            let cause = format!("\"{}\" has no such port free", self.devices[device].name);
            let remedy = format!("free are {free:?}; ports = 4 gives a drive or sensor more");
            self.error(Some(place), cause, remedy)
        })
    }

    /// The default is the device that frames reach last.
    fn ring(&self, written: &Spanned<text::RingSection>) -> Result<Ring, FileError> {
        let ring = written.get_ref();
        let device = match &ring.device {
            None => last(&self.devices).unwrap_or(0),
            Some(name) => self.place(name.get_ref()).ok_or_else(|| {
                let cause = format!("no device is named \"{}\"", name.get_ref());
                self.error(Some(name.span()), cause, "write the name of one")
            })?,
        };
        let port = self.port(device, ring.port.as_ref(), written.span())?;
        let usual = Ring::new(device, port);
        Ok(Ring {
            delay_ns: ring.delay_ns.unwrap_or(usual.delay_ns),
            jitter_ns: ring.jitter_ns,
            ..usual
        })
    }
}
