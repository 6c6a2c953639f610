//! A segment as a TOML file: which devices, where, how good, and what goes wrong when.
//!
//! Reading gives a [`Plan`], in which everything exists; [`Plan::build`] makes the segment of it.

mod build;
mod check;
mod text;

use std::path::{Component, Path};

use super::Model;
use super::model::drive::{Drive, Parameters};
use super::model::{Description, Device, Idle, sensor, stamp, terminal};
use crate::text_file;
use crate::wire::sii::SiiError;

pub use build::BuildError;

/// Most devices of a file, and of a humanoid.
pub const MOST_DEVICES: usize = 200;

/// What a device is.
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
    /// A device that stamps events and commands; a file gives it the defaults.
    Stamp(stamp::Settings),
    /// What an ESI file describes; it holds its outputs.
    Described(Box<Description>),
}

impl Kind {
    /// The names that a file may use.
    pub const NAMES: [&'static str; 9] = [
        "ek1100", "ek1914", "el2828", "el2889", "el3004", "drive", "imu", "force", "stamp",
    ];
}

/// Where a device is plugged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The device before it, by its place in [`Plan::devices`].
    pub device: usize,
    /// The port there, 1 to 3; here it is port 0.
    pub port: u8,
}

/// A device in its place.
#[derive(Debug, Clone)]
pub struct Placed {
    /// Its name, no two alike.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Where it is plugged in; `None` for the first, at the MainDevice.
    pub parent: Option<Parent>,
    /// Its serial number, for models of Kadenz's own.
    pub serial: u32,
    /// Alias of its station.
    pub alias: u16,
    /// How many ports it has, for models of Kadenz's own: 2 to 4.
    pub ports: u8,
    /// What a frame takes from the device before it, each way, in ns.
    pub delay_ns: u64,
    /// What chance adds at most, in ns.
    pub jitter_ns: u64,
    /// How much faster than true its clock runs, in parts per million.
    pub drift_ppm: f64,
    /// Seed of its noise.
    pub seed: u64,
}

impl Placed {
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
        }
    }

    /// Which of the ports 1 to 3 something can be plugged into.
    #[must_use]
    pub fn free_ports(&self) -> &'static [u8] {
        match (&self.kind, self.ports) {
            (Kind::Ek1100 | Kind::Ek1914, _) => &[1, 2],
            (_, 3) if self.branches() => &[1, 2],
            (_, 4..) if self.branches() => &[1, 2, 3],
            _ => &[1],
        }
    }

    /// Whether it can have more than two ports.
    #[must_use]
    pub fn branches(&self) -> bool {
        matches!(self.kind, Kind::Drive(_) | Kind::Imu | Kind::Force)
    }

    /// The device itself.
    ///
    /// # Errors
    /// [`SiiError`] where its description does not fit into its memory.
    pub fn model(&self) -> Result<Model, SiiError> {
        let mut model = match &self.kind {
            Kind::Ek1100 => terminal::ek1100().model(),
            Kind::Ek1914 => terminal::ek1914().model(),
            Kind::El2828 => terminal::el2828().model(),
            Kind::El2889 => terminal::el2889().model(),
            Kind::El3004 => terminal::el3004().model(),
            Kind::Drive(it) => Drive::device(&self.name, self.serial, **it).model(),
            Kind::Imu => sensor::imu(&self.name, self.serial, self.seed).model(),
            Kind::Force => sensor::force(&self.name, self.serial, self.seed).model(),
            Kind::Stamp(it) => stamp::stamp(&self.name, self.serial, *it).model(),
            Kind::Described(it) => Device::new((**it).clone(), Idle).model(),
        }?;
        let alias = self.alias.to_le_bytes();
        model.sii[8..10].copy_from_slice(&alias);
        if let Some(first) = model.sii.first_chunk() {
            model.sii[14] = crate::wire::sii::checksum(first);
        }
        if self.ports > 2 && self.branches() {
            let cable = super::PortKind::Cable;
            let last = if self.ports > 3 {
                cable
            } else {
                super::PortKind::Absent
            };
            model.hardware = model.hardware.with_ports([cable, cable, cable, last]);
        }
        Ok(model)
    }
}

/// When a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Once, so many ms after the start.
    AtMs(u64),
    /// Again and again, so many ms apart.
    EveryMs(u64),
    /// With the frame of that number, from 1.
    Frame(u64),
    /// With each frame, by that probability.
    Chance(f64),
}

/// What goes wrong. Cables are named by the device behind them, by its place in [`Plan::devices`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What {
    /// A frame gets lost.
    Lose,
    /// A frame's check sequence is wrong.
    Corrupt,
    /// So many ns late.
    Delay(u64),
    /// Twice, the second so many ns later.
    Duplicate(u64),
    /// Only so many bytes are left.
    Truncate(u16),
    /// Working counters differ by so much.
    Skew(i16),
    /// A cable is cut.
    Cut(usize),
    /// A cable is whole again.
    Heal(usize),
    /// A cable is cut, and whole again so many ms later.
    Flap(usize, u64),
    /// A device loses power.
    PowerOff(usize),
    /// A device gets power.
    PowerOn(usize),
    /// A device loses power, and has it again so many ms later.
    PowerCycle(usize, u64),
    /// Something inside a device fails, by that error code.
    Fail(usize, u16),
}

/// A line of the script of faults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planned {
    /// When.
    pub when: When,
    /// What.
    pub what: What,
}

/// A segment as it is to be.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Seed of all chance.
    pub seed: u64,
    /// The devices, each behind the one that it is plugged into.
    pub devices: Vec<Placed>,
    /// What goes wrong.
    pub faults: Vec<Planned>,
}

/// What is wrong with a file, where, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{at}: {cause}; {remedy}", at = self.place())]
pub struct FileError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; `None` where no line is to blame.
    pub line: Option<usize>,
    /// What is wrong.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
}

impl FileError {
    fn place(&self) -> String {
        self.line.map_or_else(String::new, |it| format!(":{it}"))
    }
}

impl Plan {
    /// Reads a file, and the ESI files that it names, which lie beside it.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let file = path.display().to_string();
        let text = text_file::read(path, LONGEST).map_err(|error| FileError {
            file: file.clone(),
            line: None,
            cause: format!("it cannot be read: {error}"),
            remedy: "check the path, and that you may read it".to_owned(),
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&file, &text, &mut |name| {
            if !is_beside(Path::new(name)) {
                return Err("it does not lie beside the segment's file".to_owned());
            }
            text_file::read(&folder.join(name), LONGEST).map_err(|error| error.to_string())
        })
    }

    /// Reads a text; `load` gives the text of an ESI file of that name.
    ///
    /// ```
    /// use kadenz_ethercat::sim::file::Plan;
    ///
    /// let text = r#"
    ///     [[device]]
    ///     name = "coupler"
    ///     model = "ek1100"
    ///     [[device]]
    ///     name = "valves"
    ///     model = "el2889"
    /// "#;
    /// let plan = Plan::parse("rack.toml", text, &mut |_| Err("no files here".to_owned()))?;
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
}

/// Whether a path leads into the folder that it counts from, and no further up.
fn is_beside(path: &Path) -> bool {
    let is_name = |it| matches!(it, Component::Normal(_) | Component::CurDir);
    path.components().all(is_name)
}

/// Longest file that is read.
const LONGEST: u64 = 64 * 1024 * 1024;

#[cfg(test)]
mod tests;
