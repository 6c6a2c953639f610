//! Prints a plan as a file.

use std::fmt::{Display, Write as _};

use super::check::RING;
use super::kinds::MOTORS;
use super::{Eeprom, Kind, PlannedDevice, Ring, SegmentPlan};
use crate::sim::fault::{Fault, FrameFault, Planned, When, WireFault};
use crate::sim::model::drive::Parameters;
use crate::sim::model::stamp;
use crate::sim::{CableId, DeviceId, Time};

/// A plan has a property that a file cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} cannot be written to a segment file; set it by the library, after the file was read"
)]
pub struct PrintError {
    what: String,
}

impl PrintError {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

/// Appends a line; writing to a text does not fail.
macro_rules! line {
    ($text:expr, $($arguments:tt)*) => {{
        let _ = writeln!($text, $($arguments)*);
    }};
}

impl SegmentPlan {
    /// The file that gives this plan when it is read; ESI files that it names must be beside it.
    ///
    /// ```
    /// use kadenz_ethercat::sim::{file::SegmentPlan, humanoid::humanoid};
    ///
    /// let text = humanoid(12).to_toml()?;
    /// let again = SegmentPlan::parse("robot.toml", &text, &mut |_| Err("no files".to_owned()))?;
    /// assert_eq!(again.to_toml()?, text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PrintError`]: code made the plan, with a property that no file can express.
    pub fn to_toml(&self) -> Result<String, PrintError> {
        let mut text = String::from(
            "# A virtual EtherCAT segment: kadenz ethercat sim FILE.toml --interface veth0\n\
             # Each device is plugged into its parent's port; docs/ethercat.md has every field.\n",
        );
        line!(text, "seed = {}", self.seed);
        if let Some(ring) = &self.ring {
            text.push('\n');
            self.ring(&mut text, ring);
        }
        for (place, placed) in self.devices.iter().enumerate() {
            text.push('\n');
            self.device(&mut text, place, placed)?;
        }
        for planned in &self.faults {
            text.push('\n');
            line!(text, "[[fault]]");
            self.what(&mut text, planned.fault);
            when(&mut text, planned)?;
        }
        Ok(text)
    }

    fn name(&self, device: usize) -> String {
        let name = self.devices.get(device).map_or("", |it| it.name.as_str());
        quoted(name)
    }

    fn ring(&self, text: &mut String, ring: &Ring) {
        line!(text, "[ring]");
        line!(text, "device = {}", self.name(ring.device));
        line!(text, "port = {}", ring.port);
        cable(text, ring.delay_ns, ring.jitter_ns);
    }

    fn device(
        &self,
        text: &mut String,
        place: usize,
        placed: &PlannedDevice,
    ) -> Result<(), PrintError> {
        line!(text, "[[device]]");
        line!(text, "name = {}", quoted(&placed.name));
        kind(text, placed)?;
        if let Some(parent) = placed.parent {
            line!(text, "parent = {}", self.name(parent.device));
            line!(text, "port = {}", parent.port);
        }
        let usual = PlannedDevice::new("", placed.kind.clone(), None).numbered(place, self.seed);
        if placed.ports != usual.ports {
            line!(text, "ports = {}", placed.ports);
        }
        if placed.alias != usual.alias {
            line!(text, "alias = {}", placed.alias);
        }
        if placed.serial != 0 || usual.serial != 0 {
            line!(text, "serial = {}", placed.serial);
        }
        cable(text, placed.delay_ns, placed.jitter_ns);
        if placed.drift_ppm != usual.drift_ppm {
            line!(text, "drift_ppm = {:?}", placed.drift_ppm);
        }
        if placed.seed != usual.seed {
            line!(text, "seed = {}", placed.seed);
        }
        if placed.eeprom != usual.eeprom {
            line!(text, "eeprom = {{ {} }}", eeprom(&placed.eeprom));
        }
        if let Kind::Drive(parameters) = &placed.kind {
            let fields = drive(parameters)
                .ok_or_else(|| PrintError::new(format!("the motor of `{}`", placed.name)))?;
            line!(text, "drive = {{ {fields} }}");
        }
        Ok(())
    }

    fn what(&self, text: &mut String, fault: Fault) {
        let cable = |CableId(it): CableId| match usize::from(it) {
            it if it == self.devices.len() => Some(quoted(RING)),
            it => Some(self.name(it)),
        };
        let device = |DeviceId(it): DeviceId| Some(self.name(it.into()));
        let after = |after: Option<u16>| after.map(|it| format!("after = {it}"));
        let value = |value: &dyn Display| Some(format!("value = {value}"));
        let (name, device, more) = match fault {
            Fault::Frame(FrameFault::Lose { after: it }) => ("lose", None, after(it)),
            Fault::Frame(FrameFault::Corrupt { after: it }) => ("corrupt", None, after(it)),
            Fault::Frame(FrameFault::Garble { bits }) => ("garble", None, value(&bits)),
            Fault::Frame(FrameFault::Truncate { length }) => ("truncate", None, value(&length)),
            Fault::Frame(FrameFault::Delay { ns }) => ("delay", None, value(&ns)),
            Fault::Frame(FrameFault::Duplicate { ns }) => ("duplicate", None, value(&ns)),
            Fault::Frame(FrameFault::Skew { by }) => ("skew", None, value(&by)),
            Fault::Wire(fault) => match fault {
                WireFault::Cut(it) => ("cut", cable(it), None),
                WireFault::Heal(it) => ("heal", cable(it), None),
                WireFault::Flap(it, ns) => ("flap", cable(it), value(&ms(ns))),
                WireFault::PowerOff(it) => ("power-off", device(it), None),
                WireFault::PowerOn(it) => ("power-on", device(it), None),
                WireFault::PowerCycle(it, ns) => ("power-cycle", device(it), value(&ms(ns))),
                WireFault::Leave(it, state, code) => {
                    let more = format!("state = \"{}\"\nvalue = 0x{:X}", state.name(), code.0);
                    ("leave", device(it), Some(more))
                }
                WireFault::Fail(it, code) => ("fail", device(it), value(&format!("0x{code:X}"))),
                WireFault::Drift(it, ppm) => ("drift", device(it), value(&format!("{ppm:?}"))),
                WireFault::Spoil(it, address, byte) => {
                    let more = format!("address = 0x{address:X}\nvalue = 0x{byte:X}");
                    ("spoil", device(it), Some(more))
                }
            },
        };
        line!(text, "what = \"{name}\"");
        if let Some(device) = device {
            line!(text, "device = {device}");
        }
        if let Some(more) = more {
            line!(text, "{more}");
        }
    }
}

fn when(text: &mut String, planned: &Planned) -> Result<(), PrintError> {
    match planned.when {
        When::At(at) => line!(text, "at_ms = {}", ms(at.0)),
        When::Every { first, period } if first.0 == period => {
            line!(text, "every_ms = {}", ms(period));
        }
        When::Every { .. } => {
            return Err(PrintError::new(
                "a fault that begins otherwise than it goes on",
            ));
        }
        When::Frame(number) => line!(text, "frame = {number}"),
        When::Frames(first, end) => {
            let frames = end.saturating_sub(first);
            line!(text, "frame = {first}\nframes = {frames}");
        }
        When::Chance(probability) => line!(text, "chance = {probability:?}"),
        When::During {
            from,
            until,
            probability,
        } => {
            line!(text, "at_ms = {}", ms(from.0));
            if until != Time::NEVER {
                line!(text, "for_ms = {}", ms(until.since(from)));
            }
            if until == Time::NEVER || probability != 1.0 {
                line!(text, "chance = {probability:?}");
            }
        }
    }
    if planned.frames > 1 {
        line!(text, "frames = {}", planned.frames);
    }
    Ok(())
}

fn kind(text: &mut String, placed: &PlannedDevice) -> Result<(), PrintError> {
    match &placed.kind {
        Kind::Described(it) => {
            line!(text, "esi = {}", quoted(&it.file));
            let product = it.description.fixed.identity.product;
            line!(text, "product = 0x{product:08X}");
            if let Some(revision) = it.revision {
                line!(text, "revision = 0x{revision:08X}");
            }
        }
        Kind::Stamp(settings) if *settings != stamp::StampSettings::default() => {
            let what = format!("how `{}` stamps", placed.name);
            return Err(PrintError::new(what));
        }
        kind => line!(text, "model = \"{}\"", kind.name().unwrap_or_default()),
    }
    Ok(())
}

fn cable(text: &mut String, delay_ns: u64, jitter_ns: u64) {
    let usual = Ring::new(0, 0);
    if delay_ns != usual.delay_ns {
        line!(text, "delay_ns = {delay_ns}");
    }
    if jitter_ns != usual.jitter_ns {
        line!(text, "jitter_ns = {jitter_ns}");
    }
}

fn eeprom(eeprom: &Eeprom) -> String {
    let mut fields = Vec::new();
    let mut number = |name: &str, value: Option<u64>| {
        fields.extend(value.map(|it| format!("{name} = {it}")));
    };
    number("length", eeprom.length.map(u64::from));
    number("read", eeprom.read.map(u64::from));
    number("busy_us", eeprom.busy_ns.map(|it| it / 1_000));
    if !eeprom.spoiled.is_empty() {
        let bytes = eeprom.spoiled.iter();
        let bytes: Vec<_> = bytes
            .map(|(at, byte)| format!("[0x{at:X}, 0x{byte:X}]"))
            .collect();
        fields.push(format!("spoiled = [{}]", bytes.join(", ")));
    }
    fields.join(", ")
}

/// The nearest motor, and the differences from it; `None` where a difference has no key.
fn drive(parameters: &Parameters) -> Option<String> {
    let motor = &parameters.motor;
    let found = MOTORS.iter().find(|(_, it)| it.rated == motor.rated);
    let (name, usual) = found.unwrap_or(&MOTORS[1]);
    if (motor.current_lag, motor.overspeed) != (usual.current_lag, usual.overspeed) {
        return None;
    }
    let of = Parameters::default();
    let mut fields = vec![format!("motor = \"{name}\"")];
    let numbers = [
        ("inertia", motor.inertia, usual.inertia),
        ("viscous", motor.viscous, usual.viscous),
        ("coulomb", motor.coulomb, usual.coulomb),
        ("gravity", motor.gravity, usual.gravity),
        ("load", motor.load, usual.load),
        ("rated", motor.rated, usual.rated),
        ("peak", motor.peak, usual.peak),
        ("start", parameters.start, of.start),
        ("bandwidth", parameters.bandwidth, of.bandwidth),
        (
            "following_error",
            parameters.following_error,
            of.following_error,
        ),
    ];
    // Zeros of different sign differ too.
    let differing = numbers
        .iter()
        .filter(|(_, is, usual)| is.to_bits() != usual.to_bits());
    fields.extend(differing.map(|(name, is, _)| format!("{name} = {is:?}")));
    if motor.increments != usual.increments {
        fields.push(format!("increments = {}", motor.increments));
    }
    Some(fields.join(", "))
}

/// Milliseconds, with a point where a fraction is left.
fn ms(ns: u64) -> String {
    if ns.is_multiple_of(1_000_000) {
        (ns / 1_000_000).to_string()
    } else {
        format!("{:?}", ns as f64 / 1e6)
    }
}

/// A text in TOML's notation, which is JSON's except that TOML escapes DEL too.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007F")
}
