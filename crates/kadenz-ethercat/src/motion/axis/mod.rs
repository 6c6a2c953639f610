//! A drive of CiA 402 as an axis: SI units for its process data.

mod again;
mod commission;
mod mapping;
mod preset;
mod units;

pub use again::DriveSetup;
pub use commission::{CommissionError, commission, is_drive};
pub use units::UnitSettings;

use std::f64::consts::TAU;

use crate::wire::cia402::{Controlword, DriveState, Goal, OperationMode, Statusword};
use preset::Presets;
use units::Units;

/// The value that a drive gets as its set-point every cycle.
///
/// # Real-time safety
/// Its methods neither allocate, lock nor call the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Control {
    /// A position in rad (CSP).
    #[default]
    Position,
    /// A velocity in rad/s (CSV).
    Velocity,
    /// A torque in N m (CST).
    Torque,
}

impl Control {
    /// Its mode of operation.
    #[must_use]
    pub const fn mode(self) -> OperationMode {
        match self {
            Self::Position => OperationMode::CyclicPosition,
            Self::Velocity => OperationMode::CyclicVelocity,
            Self::Torque => OperationMode::CyclicTorque,
        }
    }

    /// Its name: position, velocity or torque.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::Velocity => "velocity",
            Self::Torque => "torque",
        }
    }
}

/// Bytes of a device's process data that hold a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    at: usize,
    /// 1, 2 or 4.
    length: usize,
}

impl Field {
    /// The number, signed; 0 where the data is too short.
    fn get(self, data: &[u8]) -> i32 {
        let Some(bytes) = data.get(self.at..self.at + self.length) else {
            return 0;
        };
        let mut word = [0; 4];
        word[..self.length].copy_from_slice(bytes);
        // Shifts up and down again, to extend the sign.
        let shift = 32 - 8 * self.length as u32;
        (i32::from_le_bytes(word) << shift) >> shift
    }

    /// A number within the range that its bytes can hold with a sign: NaN becomes 0, and a number beyond the range its
    /// end.
    fn clamp(self, number: f64) -> i32 {
        let shift = 32 - 8 * self.length as u32;
        (number.round() as i32).clamp(i32::MIN >> shift, i32::MAX >> shift)
    }

    fn put(self, data: &mut [u8], value: i32) {
        if let Some(bytes) = data.get_mut(self.at..self.at + self.length) {
            bytes.copy_from_slice(&value.to_le_bytes()[..self.length]);
        }
    }
}

/// The places of a drive's values in its process data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) controlword: Field,
    pub(super) target: Field,
    pub(super) mode: Option<Field>,
    pub(super) statusword: Field,
    pub(super) position: Field,
    pub(super) velocity: Option<Field>,
    pub(super) torque: Option<Field>,
    pub(super) error_code: Option<Field>,
}

/// The units of a drive's values at the joint. A negative factor is one of the opposite direction.
///
/// # Real-time safety
/// Its methods neither allocate, lock nor call the system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Units of position per turn of the joint.
    pub increments: f64,
    /// Units of velocity per turn of the joint a second; `None` where neither the drive nor the user states it.
    pub velocity: Option<f64>,
    /// The rated torque at the joint in N m; `None` where neither the drive nor the user states it.
    pub rated: Option<f64>,
    /// The limit of torque in thousandths of the rated one; `None` where the drive does not state it.
    pub most: Option<u16>,
}

impl Scale {
    /// How far the drive can count, in rad: its positions have 32 bits.
    #[must_use]
    pub(crate) fn farthest(&self) -> f64 {
        f64::from(i32::MAX) * TAU / self.increments.abs()
    }
}

/// The last values of a drive's inputs.
///
/// # Real-time safety
/// Its methods neither allocate, lock nor call the system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The statusword: the state of its power, and more.
    pub status: Statusword,
    /// The measured position, in rad.
    pub position: f64,
    /// In rad/s; `None` where it is not in the process data, or its unit is unknown.
    pub velocity: Option<f64>,
    /// In N m; `None` where it is not in the process data, or the rated torque is unknown.
    pub torque: Option<f64>,
    /// Its error code (object 0x603F); `None` where it is not in the process data.
    pub error_code: Option<u16>,
}

impl Reading {
    /// The state of its power.
    #[must_use]
    pub const fn state(&self) -> DriveState {
        self.status.state()
    }
}

/// A drive with the layout of its process data.
///
/// # Real-time safety
/// Reading and writing neither allocate, lock nor wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    device: usize,
    control: Control,
    fields: Fields,
    scale: Scale,
    /// The units that the drive reports.
    units: Units,
    presets: Presets,
}

impl Axis {
    /// The device's position.
    #[must_use]
    pub const fn device(&self) -> usize {
        self.device
    }

    /// The kind of its set-point.
    #[must_use]
    pub const fn control(&self) -> Control {
        self.control
    }

    /// The units of its values at the joint.
    #[must_use]
    pub const fn scale(&self) -> Scale {
        self.scale
    }

    /// The units that the drive reports.
    #[must_use]
    pub(crate) const fn units(&self) -> &Units {
        &self.units
    }

    /// Reads the drive's values from its inputs.
    #[must_use]
    pub fn read(&self, inputs: &[u8]) -> Reading {
        let get = |field: Field| f64::from(field.get(inputs));
        let both = |field: Option<Field>, scale: Option<f64>| field.zip(scale);
        let velocity = both(self.fields.velocity, self.scale.velocity);
        let torque = both(self.fields.torque, self.scale.rated);
        Reading {
            status: Statusword(self.fields.statusword.get(inputs) as u16),
            position: get(self.fields.position) * TAU / self.scale.increments,
            velocity: velocity.map(|(field, scale)| get(field) * TAU / scale),
            torque: torque.map(|(field, rated)| get(field) / 1000.0 * rated),
            error_code: self.fields.error_code.map(|it| it.get(inputs) as u16),
        }
    }

    /// Writes the values that the drive had at its commissioning to all mapped outputs that the axis does not write,
    /// such as limits and digital outputs. Call it once, before the first [`write`](Self::write): the image of the
    /// outputs keeps them.
    pub(crate) fn preset(&self, outputs: &mut [u8]) {
        self.presets.write(outputs);
    }

    /// Writes the controlword that brings the drive nearer to a goal, and a target in the unit of its control. Resets
    /// a fault where `reset` is set; the bit stays set as long, and counts as one reset.
    pub fn write(
        &self,
        outputs: &mut [u8],
        state: DriveState,
        goal: Goal,
        reset: bool,
        target: f64,
    ) {
        let word = if reset && state == DriveState::Fault {
            Controlword::FAULT_RESET
        } else {
            goal.controlword(state, false, Controlword::default())
        };
        self.fields.controlword.put(outputs, i32::from(word.0));
        let number = match self.control {
            Control::Position => target * self.scale.increments / TAU,
            Control::Velocity => target * self.scale.velocity.unwrap_or(0.0) / TAU,
            Control::Torque => self.thousandths(target),
        };
        let target = self.fields.target;
        target.put(outputs, target.clamp(number));
        if let Some(mode) = self.fields.mode {
            mode.put(outputs, i32::from(self.control.mode().number()));
        }
    }

    /// A torque at the joint in thousandths of the rated one, within the drive's limit; 16 bits hold 32 times the
    /// rated torque.
    fn thousandths(&self, torque: f64) -> f64 {
        let most = self.scale.most.map_or(f64::INFINITY, f64::from);
        let most = most.min(f64::from(i16::MAX));
        let rated = self.scale.rated.unwrap_or(f64::INFINITY);
        (torque / rated * 1000.0).clamp(-most, most)
    }
}
