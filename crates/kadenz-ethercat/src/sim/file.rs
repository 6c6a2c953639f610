//! A segment as a TOML file: its devices, their places and properties, and its faults with their times.
//!
//! Reading returns a complete [`SegmentPlan`]; [`SegmentPlan::build`] makes the segment of it, and
//! [`SegmentPlan::to_toml`] the file.

mod build;
mod check;
mod fault;
mod kinds;
mod print;
mod text;

use std::path::{Component, Path};
use std::sync::Arc;

use kadenz_rt::regular_file;

use super::Model;
use super::coe::Dictionary;
use super::fault::Planned;
use super::model::drive::{Drive, Parameters};
use super::model::{Device, Idle, sensor, stamp, terminal};
use crate::description::Description;
use crate::description::PortKind;
use crate::esi;
use crate::text_file;
use crate::wire::coe::Address;
use crate::wire::sii::{SiiError, checksum, word};

pub use crate::text_file::FileError;
pub use build::BuildError;
pub use print::PrintError;

/// Most devices of a file, and of a humanoid.
pub const MAX_DEVICES: usize = 200;

/// The kind of a device.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Beckhoff's coupler.
    Ek1100,
    /// Beckhoff's coupler with inputs and outputs.
    Ek1914,
    /// Eight outputs.
    El2828,
    /// Sixteen outputs.
    El2889,
    /// Four analog inputs.
    El3004,
    /// A CiA 402 drive.
    Drive(Box<Parameters>),
    /// An inertial measurement unit.
    Imu,
    /// A force and torque sensor.
    Force,
    /// A device that stamps events and commands; in a file it has the default settings.
    Stamp(stamp::StampSettings),
    /// A device of an ESI file; it holds its outputs.
    Described(Box<EsiDevice>),
}

/// A device of an ESI file. All devices of its kind share the description.
#[derive(Debug, Clone)]
pub struct EsiDevice {
    /// The file, as the segment file names it.
    pub file: String,
    /// The requested revision; `None` for the last one described.
    pub revision: Option<u32>,
    /// Its description, without its objects.
    pub description: Arc<Description>,
    /// The objects at power on, made of the description's.
    pub objects: Arc<Dictionary>,
}

impl Kind {
    /// The names that a file may use.
    pub(crate) const NAMES: [&'static str; 9] = [
        "ek1100", "ek1914", "el2828", "el2889", "el3004", "drive", "imu", "force", "stamp",
    ];

    /// Its name in a file; `None` for a device of an ESI file.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Ek1100 => "ek1100",
            Self::Ek1914 => "ek1914",
            Self::El2828 => "el2828",
            Self::El2889 => "el2889",
            Self::El3004 => "el3004",
            Self::Drive(_) => "drive",
            Self::Imu => "imu",
            Self::Force => "force",
            Self::Stamp(_) => "stamp",
            Self::Described(_) => return None,
        })
    }

    /// Whether the model is Kadenz's own: no vendor gives it a serial number, so its place in the file does.
    const fn is_own(&self) -> bool {
        matches!(
            self,
            Self::Drive(_) | Self::Imu | Self::Force | Self::Stamp(_)
        )
    }
}

/// The irregularities of a device's EEPROM. The default is a good one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Eeprom {
    /// Bytes of the memory; addresses behind them are not acknowledged. `None` for all, 0 for no EEPROM.
    pub length: Option<u32>,
    /// Bytes of one read, 4 or 8; `None` for the controller's own.
    pub read: Option<u8>,
    /// How long a read takes, in ns.
    pub busy_ns: Option<u64>,
    /// Bytes that differ from the maker's, by their addresses.
    pub spoiled: Vec<(u32, u8)>,
}

/// The place where a device is plugged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The device before it, by its place in [`SegmentPlan::devices`].
    pub device: usize,
    /// The port of that device, 1 to 3; on this device it is port 0.
    pub port: u8,
}

/// A device in its place.
#[derive(Debug, Clone)]
pub struct PlannedDevice {
    /// Its name, which is unique.
    pub name: String,
    /// Which model it is, with the model's own settings.
    pub kind: Kind,
    /// Where it is plugged in; `None` for the first, at the MainDevice.
    pub parent: Option<Parent>,
    /// The serial number in its SII.
    pub serial: u32,
    /// The station alias in its SII.
    pub alias: u16,
    /// How many ports it has, for models of Kadenz's own: 2 to 4.
    pub ports: u8,
    /// The delay from the device before it, each way, in ns.
    pub delay_ns: u64,
    /// The largest random addition to it, in ns.
    pub jitter_ns: u64,
    /// The drift of its clock, in parts per million.
    pub drift_ppm: f64,
    /// Seed of its noise.
    pub seed: u64,
    /// The irregularities of its EEPROM.
    pub eeprom: Eeprom,
}

impl PlannedDevice {
    /// A device with defaults: two ports, a metre of cable, a true clock.
    #[must_use]
    pub fn new(name: &str, kind: Kind, parent: Option<Parent>) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            parent,
            serial: 0,
            alias: 0,
            ports: 2,
            delay_ns: 600,
            jitter_ns: 0,
            drift_ppm: 0.0,
            seed: 0,
            eeprom: Eeprom::default(),
        }
    }

    /// The defaults of a device at that place of a plan: its serial number and seed.
    #[must_use]
    pub(super) fn numbered(mut self, place: usize, seed: u64) -> Self {
        let number = place as u32 + 1;
        self.serial = if self.kind.is_own() { number } else { 0 };
        self.seed = seed ^ u64::from(number) << 32;
        self
    }

    /// Which of the ports 1 to 3 can take another device.
    #[must_use]
    pub(crate) fn free_ports(&self) -> Vec<u8> {
        let there: &[u8] = match (&self.kind, self.ports) {
            (Kind::Described(it), _) => {
                let ports = it.description.hardware.ports;
                let is_there = |port: &u8| ports[usize::from(*port)] != PortKind::Absent;
                return (1..4).filter(is_there).collect();
            }
            (Kind::Ek1100 | Kind::Ek1914, _) => &[1, 2],
            (_, 3) if self.branches() => &[1, 2],
            (_, 4..) if self.branches() => &[1, 2, 3],
            _ => &[1],
        };
        there.to_vec()
    }

    /// Whether it can have more than two ports.
    #[must_use]
    pub(crate) fn branches(&self) -> bool {
        matches!(self.kind, Kind::Drive(_) | Kind::Imu | Kind::Force)
    }

    /// Returns the model of the device.
    ///
    /// # Errors
    /// [`SiiError`] where its description does not fit into its memory.
    pub fn model(&self) -> Result<Model, SiiError> {
        let mut model = match &self.kind {
            Kind::Ek1100 => self.as_described(terminal::ek1100().description()),
            Kind::Ek1914 => self.as_described(terminal::ek1914().description()),
            Kind::El2828 => self.as_described(terminal::el2828().description()),
            Kind::El2889 => self.as_described(terminal::el2889().description()),
            Kind::El3004 => self.as_described(terminal::el3004().description()),
            Kind::Described(it) => self.of_a_file(it),
            Kind::Drive(it) => Drive::device(&self.name, self.serial, **it).model(),
            Kind::Imu => sensor::imu(&self.name, self.serial, self.seed).model(),
            Kind::Force => sensor::force(&self.name, self.serial, self.seed).model(),
            Kind::Stamp(it) => stamp::stamp(&self.name, self.serial, *it).model(),
        }?;
        if self.ports > 2 && self.branches() {
            let cable = PortKind::Cable;
            let last = if self.ports > 3 {
                cable
            } else {
                PortKind::Absent
            };
            model.hardware = model.hardware.with_ports([cable, cable, cable, last]);
        }
        self.write(&mut model);
        Ok(model)
    }

    /// A device without behaviour of its own, with its serial number.
    fn as_described(&self, description: &Description) -> Result<Model, SiiError> {
        let mut description = description.clone();
        description.fixed.identity.serial = self.serial;
        Device::new(description, Idle).model()
    }

    /// A device of an ESI file, with its serial number.
    fn of_a_file(&self, described: &EsiDevice) -> Result<Model, SiiError> {
        let mut description = Description::clone(&described.description);
        description.fixed.identity.serial = self.serial;
        let mut objects = Dictionary::clone(&described.objects);
        objects.set_number(SERIAL_NUMBER, self.serial.into());
        Device::with_objects(description, objects, Idle).model()
    }

    /// Writes the alias into the EEPROM, and then its irregularities.
    fn write(&self, model: &mut Model) {
        let at = |word: u16| usize::from(word) * 2;
        let alias = at(word::ALIAS);
        model.sii[alias..alias + 2].copy_from_slice(&self.alias.to_le_bytes());
        if let Some(first) = model.sii.first_chunk() {
            model.sii[at(word::CHECKSUM)] = checksum(first);
        }
        for (at, byte) in &self.eeprom.spoiled {
            if let Some(spoiled) = model.sii.get_mut(*at as usize) {
                *spoiled = *byte;
            }
        }
        if let Some(length) = self.eeprom.length {
            model.sii.truncate(length as usize);
        }
        if let Some(read) = self.eeprom.read {
            model.hardware.sii_read = read;
        }
    }
}

/// The cable that closes a ring: from a device back to the MainDevice's second interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// The device, by its place in [`SegmentPlan::devices`].
    pub device: usize,
    /// Its port, 1 to 3.
    pub port: u8,
    /// The delay of the cable, each way, in ns.
    pub delay_ns: u64,
    /// The largest random addition to it, in ns.
    pub jitter_ns: u64,
}

impl Ring {
    /// A metre of cable.
    const fn new(device: usize, port: u8) -> Self {
        Self {
            device,
            port,
            delay_ns: 600,
            jitter_ns: 0,
        }
    }
}

/// The plan of a segment.
#[derive(Debug, Clone)]
pub struct SegmentPlan {
    /// Seed of everything random.
    pub seed: u64,
    /// The devices, each behind the one that it is plugged into.
    pub devices: Vec<PlannedDevice>,
    /// The cable back to the MainDevice's second interface, where it is a ring.
    pub ring: Option<Ring>,
    /// The planned faults. They name devices and cables by their places in `devices`, a cable by the device behind
    /// it; the cable that closes a ring has the number behind the last.
    pub faults: Vec<Planned>,
}

impl SegmentPlan {
    /// Reads a file, and the ESI files that it names, which are beside it.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = text_file::read_named(path, MAX)?;
        let file = path.display().to_string();
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&file, &text, &mut |name| {
            if !is_beside(Path::new(name)) {
                return Err("it does not lie beside the segment file".to_owned());
            }
            let bytes = regular_file::bytes(&folder.join(name), MAX);
            let bytes = bytes.map_err(|error| error.to_string())?;
            esi::decode(bytes).map_err(|error| error.to_string())
        })
    }

    /// Reads a text; `load` returns the text of an ESI file of that name.
    ///
    /// ```
    /// use kadenz_ethercat::sim::file::SegmentPlan;
    ///
    /// let text = r#"
    ///     [[device]]
    ///     name = "coupler"
    ///     model = "ek1100"
    ///     [[device]]
    ///     name = "valves"
    ///     model = "el2889"
    /// "#;
    /// let plan = SegmentPlan::parse("rack.toml", text, &mut |_| Err("no files here".to_owned()))?;
    /// assert_eq!(plan.devices[1].parent.map(|it| it.port), Some(1));
    /// # Ok::<(), kadenz_ethercat::sim::file::FileError>(())
    /// ```
    ///
    /// # Errors
    /// [`FileError`].
    pub fn parse(
        file: &str,
        text: &str,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, FileError> {
        check::plan(file, text, load)
    }

    /// Makes a ring of the segment, unless it is one, with a cable from the device that a frame from the first
    /// interface reaches last, back to the MainDevice's second interface. Returns whether that device has a free port
    /// for it.
    pub fn close_ring(&mut self) -> bool {
        if self.ring.is_none() {
            let last = last(&self.devices);
            let port = last.and_then(|it| self.devices[it].free_ports().first().copied());
            self.ring = last.zip(port).map(|(device, port)| Ring::new(device, port));
        }
        self.ring.is_some()
    }
}

/// The device that a frame from the MainDevice's first interface reaches last; it has no device behind it. `None`
/// where there are no devices.
fn last(devices: &[PlannedDevice]) -> Option<usize> {
    // A frame leaves a device by port 3, then 1, then 2.
    let order = |port: u8| [0, 2, 3, 1].get(usize::from(port)).copied();
    let behind = |device: usize| {
        let children = devices.iter().enumerate().filter_map(|(child, it)| {
            let parent = it.parent.filter(|it| it.device == device)?;
            Some((order(parent.port), child))
        });
        children.max().map(|(_, child)| child)
    };
    let mut last = (!devices.is_empty()).then_some(0)?;
    // Children follow their parents, so this ends.
    while let Some(next) = behind(last).filter(|next| *next > last) {
        last = next;
    }
    Some(last)
}

/// Whether a relative path stays within its folder.
fn is_beside(path: &Path) -> bool {
    let is_name = |it| matches!(it, Component::Normal(_) | Component::CurDir);
    path.components().all(is_name)
}

/// The entry of an identity that is each device's own.
const SERIAL_NUMBER: Address = Address::new(0x1018, 4);

/// Longest file that Kadenz reads, in bytes.
const MAX: u64 = 64 * 1024 * 1024;

#[cfg(test)]
mod tests;
