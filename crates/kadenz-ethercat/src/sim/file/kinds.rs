//! The kinds of devices, and the contents of their EEPROMs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;

use super::check::{Checker, Load};
use super::text::{self, DeviceSection};
use super::{Eeprom, EsiDevice, FileError, Kind, MAX, PlannedDevice};
use crate::description::Description;
use crate::description::PortKind;
use crate::esi::{Budget, Esi};
use crate::sim::coe::Dictionary;
use crate::sim::model::drive::{Motor, Parameters};
use crate::sim::model::stamp;

/// ESI files that were read.
pub(super) struct Loaded {
    files: HashMap<String, Vendors>,
    /// The memory budget for the objects of all.
    budget: Budget,
}

impl Default for Loaded {
    fn default() -> Self {
        Self {
            files: HashMap::new(),
            budget: Budget::of_a_file(),
        }
    }
}

/// An ESI file.
struct Vendors {
    esi: Esi,
    /// Bytes of its text.
    bytes: u64,
    /// Devices that are in the segment, by their places in the file.
    used: HashMap<usize, Shared>,
}

/// A description and its objects, shared by all devices of a kind.
type Shared = (Arc<Description>, Arc<Dictionary>);

impl Vendors {
    /// The place of a device; where it is missing, the error and its remedy.
    fn place(&self, product: u32, revision: Option<u32>) -> Result<usize, (String, String)> {
        self.esi.place(product, revision).map_err(|faulty| {
            if let Some(faulty) = faulty {
                let cause = format!("has product 0x{product:08X}, which cannot be read");
                return (cause, faulty.error.to_string());
            }
            let all = self.esi.devices.iter().map(|it| {
                let id = it.fixed.identity;
                format!("0x{:08X} revision 0x{:08X}", id.product, id.revision)
            });
            let all = all.collect::<Vec<_>>();
            let cause = format!("has no product 0x{product:08X} of that revision");
            (cause, format!("it has {}", all.join(", ")))
        })
    }

    fn shared(&mut self, place: usize) -> Shared {
        let make = || {
            let mut description = self.esi.devices[place].clone();
            let objects = description.dictionary();
            if let Some(coe) = &mut description.coe {
                coe.objects = Vec::new();
            }
            (Arc::new(description), Arc::new(objects))
        };
        self.used.entry(place).or_insert_with(make).clone()
    }
}

/// The largest EEPROM, in bytes.
const MAX_EEPROM: u32 = 512 * 1024;
/// Longest time that a read of it may take.
const MAX_BUSY_US: u64 = 60_000_000;

impl Checker<'_> {
    pub(super) fn kind(
        &mut self,
        device: &DeviceSection,
        start: Range<usize>,
        load: Load<'_>,
    ) -> Result<Kind, FileError> {
        let kind = match (&device.model, &device.esi) {
            (Some(model), None) => {
                for (key, at) in [("product", &device.product), ("revision", &device.revision)] {
                    if let Some(at) = at {
                        let cause = format!("a model has no `{key}`");
                        return Err(self.error(Some(at.span()), cause, "remove it, or take `esi`"));
                    }
                }
                self.model(model, device)?
            }
            (None, Some(esi)) => self.described(esi, device, load)?,
            _ => {
                let cause = "it has not exactly one of model and esi";
                let remedy = "write either model = \"...\" or esi = \"...\" with product = ...";
                return Err(self.error(Some(start), cause, remedy));
            }
        };
        if let (Some(drive), false) = (&device.drive, matches!(kind, Kind::Drive(_))) {
            let cause = "only model = \"drive\" has a `drive`";
            return Err(self.error(Some(drive.span()), cause, "remove it"));
        }
        Ok(kind)
    }

    fn model(&self, model: &Spanned<String>, device: &DeviceSection) -> Result<Kind, FileError> {
        Ok(match model.get_ref().to_ascii_lowercase().as_str() {
            "ek1100" => Kind::Ek1100,
            "ek1914" => Kind::Ek1914,
            "el2828" => Kind::El2828,
            "el2889" => Kind::El2889,
            "el3004" => Kind::El3004,
            "imu" => Kind::Imu,
            "force" => Kind::Force,
            "stamp" => Kind::Stamp(stamp::StampSettings::default()),
            "drive" => Kind::Drive(Box::new(self.parameters(device.drive.as_ref())?)),
            other => {
                let cause = format!("there is no model \"{other}\"");
                let remedy = format!("there are {}", Kind::NAMES.join(", "));
                return Err(self.error(Some(model.span()), cause, remedy));
            }
        })
    }

    fn parameters(
        &self,
        drive: Option<&Spanned<text::DriveSection>>,
    ) -> Result<Parameters, FileError> {
        let mut parameters = Parameters::default();
        let Some(written) = drive else {
            return Ok(parameters);
        };
        let drive = written.get_ref();
        let motor = &mut parameters.motor;
        if let Some(name) = &drive.motor {
            let words = ("there is no motor", "there are knee, elbow, finger");
            *motor = self.reader.one_of(name, &MOTORS, words)?;
        }
        let set = |to: &mut f64, from: Option<f64>| *to = from.unwrap_or(*to);
        set(&mut motor.inertia, drive.inertia);
        set(&mut motor.viscous, drive.viscous);
        set(&mut motor.coulomb, drive.coulomb);
        set(&mut motor.gravity, drive.gravity);
        set(&mut motor.load, drive.load);
        set(&mut motor.rated, drive.rated);
        set(&mut motor.peak, drive.peak);
        motor.increments = drive.increments.unwrap_or(motor.increments);
        set(&mut parameters.start, drive.start);
        set(&mut parameters.bandwidth, drive.bandwidth);
        set(&mut parameters.following_error, drive.following_error);
        let positive = [parameters.bandwidth, parameters.following_error];
        let fine = parameters.motor.is_valid()
            && parameters.start.is_finite()
            && positive.iter().all(|it| it.is_finite() && *it > 0.0);
        if !fine {
            let remedy = "inertia, rated, peak, bandwidth and following_error are above 0, frictions not below";
            return Err(self.error(Some(written.span()), "no motor has such numbers", remedy));
        }
        Ok(parameters)
    }

    fn described(
        &mut self,
        esi: &Spanned<String>,
        device: &DeviceSection,
        load: Load<'_>,
    ) -> Result<Kind, FileError> {
        let name = esi.get_ref();
        let Some(product) = &device.product else {
            let cause = "which product of the ESI file?";
            return Err(self.error(Some(esi.span()), cause, "write product = 0x..."));
        };
        let mut file = match self.loaded.files.remove(name) {
            Some(file) => file,
            None => self.load(esi, load)?,
        };
        let revision = device.revision.as_ref().map(|it| *it.get_ref());
        let product = *product.get_ref();
        let place = file.place(product, revision);
        let place = place.map_err(|(cause, remedy)| {
            self.error(Some(esi.span()), format!("{name} {cause}"), remedy)
        })?;
        let (description, objects) = file.shared(place);
        self.loaded.files.insert(name.clone(), file);
        if description.hardware.ports[0] == PortKind::Absent {
            let cause =
                format!("product 0x{product:08X} of {name} has no port 0 to be plugged in by");
            let remedy = "fix its Physics: Y is a cable, K a contact, a blank no port";
            return Err(self.error(Some(esi.span()), cause, remedy));
        }
        Ok(Kind::Described(Box::new(EsiDevice {
            file: name.clone(),
            revision,
            description,
            objects,
        })))
    }

    /// The devices of an ESI file, shared by all that name it.
    fn load(&mut self, esi: &Spanned<String>, load: Load<'_>) -> Result<Vendors, FileError> {
        let (at, name) = (Some(esi.span()), esi.get_ref());
        let text = load(name).map_err(|cause| {
            let cause = format!("{name} cannot be read: {cause}");
            let remedy = "look at that file; its path is from this file's folder";
            self.error(at.clone(), cause, remedy)
        })?;
        let bytes = text.len() as u64;
        let before: u64 = self.loaded.files.values().map(|it| it.bytes).sum();
        if before + bytes > MAX {
            let most = MAX >> 20;
            let cause = format!("the ESI files up to {name} have more than {most} MiB");
            let remedy = "take fewer, or keep only the devices that are needed";
            return Err(self.error(at, cause, remedy));
        }
        let read = Esi::read_within(&text, Some(&mut self.loaded.budget));
        let esi =
            read.map_err(|error| self.error(at, format!("{name}: {error}"), "fix that file"))?;
        Ok(Vendors {
            esi,
            bytes,
            used: HashMap::new(),
        })
    }

    /// The irregularities of a device's EEPROM; fails where its content does not fit into it.
    pub(super) fn eeprom(
        &self,
        device: &DeviceSection,
        placed: &mut PlannedDevice,
        start: Range<usize>,
    ) -> Result<(), FileError> {
        let length = match (&device.eeprom, &placed.kind) {
            (None, kind) if !matches!(kind, Kind::Described(_)) => return Ok(()),
            _ => placed.model().map(|it| it.sii.len()).map_err(|error| {
                let cause = format!("its description does not fit into its EEPROM: {error}");
                let remedy = "fix ByteSize of its Eeprom in the ESI file";
                self.error(Some(start), cause, remedy)
            })?,
        };
        let Some(written) = &device.eeprom else {
            return Ok(());
        };
        let (eeprom, at) = (written.get_ref(), Some(written.span()));
        if eeprom.length.is_some_and(|it| it > MAX_EEPROM) {
            let remedy = "write at most 524288 bytes, 0 for none";
            return Err(self.error(at, "no EEPROM is so long", remedy));
        }
        if eeprom.read.is_some_and(|it| it != 4 && it != 8) {
            let cause = "a read gives 4 or 8 bytes";
            return Err(self.error(at, cause, "write read = 4, or read = 8"));
        }
        if eeprom.busy_us.is_some_and(|it| it > MAX_BUSY_US) {
            let cause = "no EEPROM is busy for so long";
            return Err(self.error(at, cause, "write at most 60000000, a minute"));
        }
        if let Some((address, _)) = eeprom.spoiled.iter().find(|it| it.0 as usize >= length) {
            let cause = format!("its EEPROM has no byte {address}");
            return Err(self.error(at, cause, format!("it has {length}, from 0 on")));
        }
        placed.eeprom = Eeprom {
            length: eeprom.length,
            read: eeprom.read,
            busy_ns: eeprom.busy_us.map(|it| it * 1_000),
            spoiled: eeprom.spoiled.clone(),
        };
        Ok(())
    }
}

/// The motors that a file may name.
pub(super) const MOTORS: [(&str, Motor); 3] = [
    ("knee", Motor::knee()),
    ("elbow", Motor::elbow()),
    ("finger", Motor::finger()),
];
