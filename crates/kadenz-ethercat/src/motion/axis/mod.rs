//! A drive of CiA 402 as an axis: SI units in and out of its process data.

mod again;
mod commission;
mod mapping;

pub use again::DriveSetup;
pub use commission::{CommissionError, commission, is_drive};
pub use mapping::{Mapped, Mapping};

use std::f64::consts::TAU;

use crate::wire::cia402::{Controlword, DriveState, Goal, Mode, Statusword};

/// What is asked of a drive every cycle.
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
    pub const fn mode(self) -> Mode {
        match self {
            Self::Position => Mode::CyclicPosition,
            Self::Velocity => Mode::CyclicVelocity,
            Self::Torque => Mode::CyclicTorque,
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
        // Shifted up and down again, the sign spreads.
        let shift = 32 - 8 * self.length as u32;
        (i32::from_le_bytes(word) << shift) >> shift
    }

    fn put(self, data: &mut [u8], value: i32) {
        if let Some(bytes) = data.get_mut(self.at..self.at + self.length) {
            bytes.copy_from_slice(&value.to_le_bytes()[..self.length]);
        }
    }
}

/// Where a drive's numbers lie in its process data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) controlword: Field,
    pub(super) target: Field,
    pub(super) mode: Option<Field>,
    pub(super) statusword: Field,
    pub(super) position: Field,
    pub(super) velocity: Option<Field>,
    pub(super) torque: Option<Field>,
}

/// Units of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Increments a turn of the joint.
    pub increments: f64,
    /// Rated torque in N m.
    pub rated: f64,
}

/// What a drive told last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// State of its power, and more.
    pub status: Statusword,
    /// In rad.
    pub position: f64,
    /// In rad/s; `None` where it is not in the process data.
    pub velocity: Option<f64>,
    /// In N m; `None` where it is not in the process data.
    pub torque: Option<f64>,
}

impl Reading {
    /// The state of its power.
    #[must_use]
    pub const fn state(&self) -> DriveState {
        self.status.state()
    }
}

/// A drive whose process data is known. Reading and writing neither allocate, lock nor wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    device: usize,
    control: Control,
    fields: Fields,
    scale: Scale,
    /// What was sent last, for the edge of a fault's reset.
    word: Controlword,
}

impl Axis {
    /// The device's position.
    #[must_use]
    pub const fn device(&self) -> usize {
        self.device
    }

    /// What is asked of it.
    #[must_use]
    pub const fn control(&self) -> Control {
        self.control
    }

    /// Its units.
    #[must_use]
    pub const fn scale(&self) -> Scale {
        self.scale
    }

    /// What the drive tells in its inputs.
    #[must_use]
    pub fn read(&self, inputs: &[u8]) -> Reading {
        let radians = |field: Field| f64::from(field.get(inputs)) * TAU / self.scale.increments;
        let torque = |field: Field| f64::from(field.get(inputs)) / 1000.0 * self.scale.rated;
        Reading {
            status: Statusword(self.fields.statusword.get(inputs) as u16),
            position: radians(self.fields.position),
            velocity: self.fields.velocity.map(radians),
            torque: self.fields.torque.map(torque),
        }
    }

    /// Writes the controlword that brings the drive nearer to a goal, and a target in the unit of its
    /// control. A fault is reset only where `reset` says so.
    pub fn write(
        &mut self,
        outputs: &mut [u8],
        state: DriveState,
        goal: Goal,
        reset: bool,
        target: f64,
    ) {
        self.word = goal.controlword(state, reset, self.word);
        self.fields.controlword.put(outputs, i32::from(self.word.0));
        let number = match self.control {
            Control::Position | Control::Velocity => target * self.scale.increments / TAU,
            // Thousandths of the rated torque fit into 16 bits up to 32 times of it.
            Control::Torque => {
                (target / self.scale.rated * 1000.0).clamp(f64::from(i16::MIN), f64::from(i16::MAX))
            }
        };
        // What is no number becomes 0, what is too large the largest.
        self.fields.target.put(outputs, number.round() as i32);
        if let Some(mode) = self.fields.mode {
            mode.put(outputs, i32::from(self.control.mode().number()));
        }
    }
}
