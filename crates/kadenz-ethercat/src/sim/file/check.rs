//! From what is written to what can be built.

use toml::Spanned;

use super::text::{Device, Drive, Fault, File};
use super::{FileError, Kind, MOST_DEVICES, Parent, Placed, Plan, Planned, What, When};
use crate::esi::Esi;
use crate::sim::model::drive::{Motor, Parameters};

type Load<'l> = &'l mut dyn FnMut(&str) -> Result<String, String>;

/// Where errors are.
struct Reader<'t> {
    file: &'t str,
    text: &'t str,
}

pub(super) fn plan(file: &str, text: &str, load: Load<'_>) -> Result<Plan, FileError> {
    let reader = Reader { file, text };
    let written: File = toml::from_str(text).map_err(|error| {
        let start = error.span().map(|it| it.start);
        let cause = error.message().trim().replace('\n', " ");
        reader.error(start, cause, "docs/ethercat.md has every field")
    })?;
    if written.device.is_empty() || written.device.len() > MOST_DEVICES {
        let cause = format!("it has {} devices", written.device.len());
        return Err(reader.error(None, cause, "write 1 to 200 tables [[device]]"));
    }
    let mut devices: Vec<Placed> = Vec::new();
    for device in &written.device {
        let placed = reader.device(device, &devices, written.seed, load)?;
        devices.push(placed);
    }
    let faults = written.fault.iter().map(|it| reader.fault(it, &devices));
    let faults = faults.collect::<Result<_, _>>()?;
    Ok(Plan {
        seed: written.seed,
        devices,
        faults,
    })
}

fn place(devices: &[Placed], name: &str) -> Option<usize> {
    devices.iter().position(|it| it.name == name)
}

impl Reader<'_> {
    fn error(
        &self,
        at: Option<usize>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> FileError {
        let before = at.and_then(|it| self.text.as_bytes().get(..it));
        FileError {
            file: self.file.to_owned(),
            line: before.map(|it| it.iter().filter(|byte| **byte == b'\n').count() + 1),
            cause: cause.into(),
            remedy: remedy.into(),
        }
    }

    /// A name must be one that can be said to commands, and nobody else's.
    fn name(&self, written: &Spanned<String>, devices: &[Placed]) -> Result<(), FileError> {
        let name = written.get_ref();
        let is_taken = |it: &Placed| it.name.to_lowercase() == name.to_lowercase();
        let cause = if name.is_empty() || devices.iter().any(is_taken) {
            format!("the name \"{name}\" is empty or another device's")
        } else if name.chars().any(char::is_control) {
            "the name has characters that nobody can type".to_owned()
        } else if name == "all" || name.starts_with("alias:") || name.parse::<u64>().is_ok() {
            format!("\"{name}\" means something else where a device is named")
        } else {
            return Ok(());
        };
        let at = Some(written.span().start);
        Err(self.error(at, cause, "give each device a name of its own"))
    }

    fn device(
        &self,
        written: &Spanned<Device>,
        devices: &[Placed],
        seed: u64,
        load: Load<'_>,
    ) -> Result<Placed, FileError> {
        let device = written.get_ref();
        let start = Some(written.span().start);
        let name = device.name.get_ref();
        self.name(&device.name, devices)?;
        let kind = match (&device.model, &device.esi) {
            (Some(model), None) => self.kind(model, device)?,
            (None, Some(esi)) => self.described(esi, device, load)?,
            _ => {
                let remedy = "write either model = \"...\" or esi = \"...\" with product = ...";
                return Err(self.error(start, "it has not exactly one of model and esi", remedy));
            }
        };
        let mut placed = Placed::new(name, kind, None);
        let number = devices.len() as u32;
        placed.serial = device.serial.unwrap_or(number + 1);
        placed.seed = seed ^ u64::from(number + 1) << 32;
        placed.alias = device.alias;
        placed.delay_ns = device.delay_ns.unwrap_or(placed.delay_ns);
        placed.jitter_ns = device.jitter_ns;
        if let Some(ports) = &device.ports {
            placed.ports = *ports.get_ref();
            if !(2..=4).contains(&placed.ports) {
                let at = Some(ports.span().start);
                return Err(self.error(at, "a device has 2 to 4 ports", "write 2, 3 or 4"));
            }
            if placed.ports > 2 && !placed.branches() {
                let at = Some(ports.span().start);
                let cause = "only drive, imu and force can have more than two ports";
                return Err(self.error(at, cause, "leave `ports` out"));
            }
        }
        if let Some(drift) = &device.drift_ppm {
            placed.drift_ppm = *drift.get_ref();
            if placed.drift_ppm.is_nan() || placed.drift_ppm.abs() > 10_000.0 {
                let at = Some(drift.span().start);
                let remedy = "quartzes are within 100 ppm; write at most 10000";
                return Err(self.error(at, "no clock drifts so much", remedy));
            }
        }
        placed.parent = self.parent(device, start, devices)?;
        Ok(placed)
    }

    /// By default the device before, at its first port that is free.
    fn parent(
        &self,
        device: &Device,
        start: Option<usize>,
        devices: &[Placed],
    ) -> Result<Option<Parent>, FileError> {
        let at = match &device.parent {
            Some(parent) => {
                let name = parent.get_ref();
                place(devices, name).ok_or_else(|| {
                    let at = Some(parent.span().start);
                    let cause = format!("no device above is named \"{name}\"");
                    self.error(at, cause, "write the parent's table before its children's")
                })?
            }
            None if devices.is_empty() => return Ok(None),
            None => devices.len() - 1,
        };
        let taken = |port: u8| {
            let parent = Some(Parent { device: at, port });
            devices.iter().any(|it| it.parent == parent)
        };
        let free: Vec<u8> = devices[at].free_ports().to_vec();
        let free: Vec<u8> = free.into_iter().filter(|it| !taken(*it)).collect();
        let wanted = device.port.as_ref();
        let port = wanted.map_or_else(|| free.first().copied(), |it| Some(*it.get_ref()));
        match port.filter(|it| free.contains(it)) {
            Some(port) => Ok(Some(Parent { device: at, port })),
            None => {
                let place = wanted.map(|it| it.span().start).or(start);
                let cause = format!("\"{}\" has no such port free", devices[at].name);
                let remedy = format!("free are {free:?}; ports = 4 gives a drive or sensor more");
                Err(self.error(place, cause, remedy))
            }
        }
    }

    fn kind(&self, model: &Spanned<String>, device: &Device) -> Result<Kind, FileError> {
        Ok(match model.get_ref().to_ascii_lowercase().as_str() {
            "ek1100" => Kind::Ek1100,
            "ek1914" => Kind::Ek1914,
            "el2828" => Kind::El2828,
            "el2889" => Kind::El2889,
            "el3004" => Kind::El3004,
            "imu" => Kind::Imu,
            "force" => Kind::Force,
            "stamp" => Kind::Stamp(crate::sim::model::stamp::Settings::default()),
            "drive" => Kind::Drive(Box::new(self.parameters(device.drive.as_ref())?)),
            other => {
                let at = Some(model.span().start);
                let remedy = format!("there are {}", Kind::NAMES.join(", "));
                return Err(self.error(at, format!("there is no model \"{other}\""), remedy));
            }
        })
    }

    fn parameters(&self, drive: Option<&Spanned<Drive>>) -> Result<Parameters, FileError> {
        let mut parameters = Parameters::default();
        let Some(written) = drive else {
            return Ok(parameters);
        };
        let drive = written.get_ref();
        let motor = &mut parameters.motor;
        if let Some(name) = &drive.motor {
            *motor = match name.get_ref().as_str() {
                "knee" => Motor::knee(),
                "elbow" => Motor::elbow(),
                "finger" => Motor::finger(),
                other => {
                    let at = Some(name.span().start);
                    let cause = format!("there is no motor \"{other}\"");
                    return Err(self.error(at, cause, "there are knee, elbow, finger"));
                }
            };
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
        let fine = parameters.motor.makes_sense()
            && parameters.start.is_finite()
            && positive.iter().all(|it| it.is_finite() && *it > 0.0);
        if !fine {
            let at = Some(written.span().start);
            let remedy = "inertia, rated, peak, bandwidth and following_error are above 0, frictions not below";
            return Err(self.error(at, "no motor has such numbers", remedy));
        }
        Ok(parameters)
    }

    fn described(
        &self,
        esi: &Spanned<String>,
        device: &Device,
        load: Load<'_>,
    ) -> Result<Kind, FileError> {
        let at = Some(esi.span().start);
        let name = esi.get_ref();
        let Some(product) = &device.product else {
            return Err(self.error(
                at,
                "which product of the ESI file?",
                "write product = 0x...",
            ));
        };
        let text = load(name).map_err(|cause| {
            let remedy = "the path is from this file's folder";
            self.error(at, format!("{name} cannot be read: {cause}"), remedy)
        })?;
        let read = Esi::read(&text)
            .map_err(|error| self.error(at, format!("{name}: {error}"), "mend that file"))?;
        let product = *product.get_ref();
        let found = read.find(product, device.revision).ok_or_else(|| {
            let all = read.devices.iter().map(|it| {
                let id = it.fixed.identity;
                format!("0x{:08X} revision 0x{:08X}", id.product, id.revision)
            });
            let all = all.collect::<Vec<_>>();
            let cause = format!("{name} has no product 0x{product:08X} of that revision");
            self.error(at, cause, format!("it has {}", all.join(", ")))
        })?;
        Ok(Kind::Described(Box::new(found.clone())))
    }

    fn fault(&self, written: &Spanned<Fault>, devices: &[Placed]) -> Result<Planned, FileError> {
        let fault = written.get_ref();
        let start = Some(written.span().start);
        let when = match (fault.at_ms, fault.every_ms, fault.frame, fault.chance) {
            (Some(at), None, None, None) => When::AtMs(at),
            (None, Some(every), None, None) if every > 0 => When::EveryMs(every),
            (None, None, Some(frame), None) if frame > 0 => When::Frame(frame),
            (None, None, None, Some(chance)) if (0.0..=1.0).contains(&chance) => {
                When::Chance(chance)
            }
            _ => {
                let remedy =
                    "write one of at_ms, every_ms and frame, above 0, or chance, from 0 to 1";
                return Err(self.error(start, "the fault does not say when", remedy));
            }
        };
        let device = || {
            let name = fault.device.as_ref();
            let found = name.and_then(|it| place(devices, it.get_ref()));
            let at = name.map(|it| it.span().start).or(start);
            found.ok_or_else(|| {
                self.error(at, "it names no device", "write device = \"...\" as above")
            })
        };
        let what = self.what(fault, start, &device)?;
        let by_frame = matches!(
            what,
            What::Lose
                | What::Corrupt
                | What::Delay(_)
                | What::Duplicate(_)
                | What::Truncate(_)
                | What::Skew(_)
        );
        if !by_frame && matches!(when, When::Frame(_) | When::Chance(_)) {
            let remedy = "write at_ms or every_ms; frame and chance are for faults of frames";
            return Err(self.error(start, "it is no fault of a frame", remedy));
        }
        Ok(Planned { when, what })
    }

    fn what(
        &self,
        fault: &Fault,
        start: Option<usize>,
        device: &dyn Fn() -> Result<usize, FileError>,
    ) -> Result<What, FileError> {
        let needs = |what: &str| {
            let cause = format!("\"{what}\" needs a value that fits");
            let remedy = "write value = ...: ns for delay and duplicate, ms for flap and power-cycle, bytes for truncate, a difference for skew, an error code for fail";
            self.error(start, cause, remedy)
        };
        fn value<T: TryFrom<i64>>(fault: &Fault) -> Option<T> {
            T::try_from(fault.value?).ok()
        }
        let name = fault.what.get_ref().as_str();
        let missing = || needs(name);
        Ok(match name {
            "lose" => What::Lose,
            "corrupt" => What::Corrupt,
            "delay" => What::Delay(value(fault).ok_or_else(missing)?),
            "duplicate" => What::Duplicate(value(fault).ok_or_else(missing)?),
            "truncate" => What::Truncate(value(fault).ok_or_else(missing)?),
            "skew" => What::Skew(value(fault).ok_or_else(missing)?),
            "cut" => What::Cut(device()?),
            "heal" => What::Heal(device()?),
            "flap" => What::Flap(device()?, value(fault).ok_or_else(missing)?),
            "power-off" => What::PowerOff(device()?),
            "power-on" => What::PowerOn(device()?),
            "power-cycle" => What::PowerCycle(device()?, value(fault).ok_or_else(missing)?),
            "fail" => What::Fail(device()?, value(fault).ok_or_else(missing)?),
            other => {
                let at = Some(fault.what.span().start);
                let remedy = "there are lose, corrupt, delay, duplicate, truncate, skew, cut, heal, flap, power-off, power-on, power-cycle, fail";
                return Err(self.error(at, format!("there is no fault \"{other}\""), remedy));
            }
        })
    }
}
