//! A servo drive of CiA 402 with its motor: profile position and velocity, homing, and the three cyclic
//! modes.
//!
//! ```
//! use kadenz_ethercat::sim::model::drive::{Drive, Parameters};
//!
//! let drive = Drive::device("left knee", 7, Parameters::default());
//! assert_eq!(drive.description().default_bytes(2), 8, "bytes of its outputs");
//! let model = drive.model()?;
//! # assert_eq!(model.sii.len(), 4096);
//! # Ok::<(), kadenz_ethercat::wire::sii::SiiError>(())
//! ```

mod axis;
mod motor;
mod objects;

pub use motor::{Motion, Motor};
pub use objects::description;

use super::{Behaviour, Device, Moment};
use crate::sim::Time;
use crate::sim::coe::Dictionary;
use crate::wire::State;
use crate::wire::cia402::{
    Controlword, DriveState, Machine, MachineOutcome, OperationMode, Statusword, error_code, object,
};
use crate::wire::coe::{Abort, Address, Emergency};
use axis::AxisModel;
use objects::DriveSlots;

/// Vendor of Kadenz's own virtual devices: the letters KADZ. The ETG has not assigned this number.
pub const VENDOR: u32 = 0x4B41_445A;

/// A drive's settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// The model of the motor and its joint.
    pub motor: Motor,
    /// Position of the joint at power on, in rad.
    pub start: f64,
    /// Bandwidth of the position loop in Hz; the velocity loop has four times as much.
    pub bandwidth: f64,
    /// Following error that counts as a fault, in rad.
    pub following_error: f64,
    /// Turns of the motor per number of turns of the joint (object 0x6091). All other values are at the joint.
    pub gear: [u32; 2],
    /// Object 0x607E: bit 7 reverses positions, bit 6 velocities. The default until a MainDevice writes another.
    pub polarity: u8,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            motor: Motor::elbow(),
            start: 0.0,
            bandwidth: 10.0,
            following_error: 0.5,
            gear: [1, 1],
            polarity: 0,
        }
    }
}

/// Longest step of the simulation, in nanoseconds: the drive's own loop at 8 kHz.
const STEP_NS: u64 = 125_000;
/// Longest time that is simulated at once, so that a pause costs no more than 800 steps.
const MAX_NS: u64 = 100_000_000;
/// How often it steps without cycles from the MainDevice.
const PERIOD_NS: u64 = 1_000_000;

/// The behaviour of a CiA 402 drive with a simulated joint.
#[derive(Debug)]
pub struct Drive {
    parameters: Parameters,
    machine: Machine,
    axis: AxisModel,
    slots: Option<DriveSlots>,
    now: Option<Time>,
    /// A requested failure, which no reset ends.
    failing: Option<u16>,
}

impl Drive {
    /// Creates a drive at standstill.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            machine: Machine::default(),
            axis: AxisModel::new(&parameters),
            slots: None,
            now: None,
            failing: None,
        }
    }

    /// The whole device, by name and serial number.
    #[must_use]
    pub fn device(name: &str, serial: u32, parameters: Parameters) -> Device<Self> {
        Device::new(
            description(name, serial, &parameters),
            Self::new(parameters),
        )
    }

    /// Position and motion of the joint.
    #[must_use]
    pub const fn motion(&self) -> Motion {
        self.axis.motion
    }

    /// The state of its power.
    #[must_use]
    pub const fn state(&self) -> DriveState {
        self.machine.state()
    }

    fn stays_in_quick_stop(slots: &DriveSlots, objects: &Dictionary) -> bool {
        objects.get(slots.quick_stop_option) >= 5
    }

    /// Goes to fault; returns the emergency of a new fault.
    fn fault(&mut self, code: u16, objects: &mut Dictionary) -> Option<Emergency> {
        if self.machine.fault() == MachineOutcome::Same {
            return None;
        }
        let register = error_register(code);
        let slots = self.slots.as_ref()?;
        objects.set(slots.error_code, i64::from(code));
        objects.set(slots.error_register, i64::from(register));
        Some(Emergency {
            code,
            register,
            data: [0; 5],
        })
    }

    fn obey(&mut self, objects: &mut Dictionary) -> Option<Emergency> {
        let slots = *self.slots.as_ref()?;
        let stays = Self::stays_in_quick_stop(&slots, objects);
        // Outside OP no outputs come; the object holds the value that an SDO wrote.
        let word = Controlword(objects.get(slots.controlword) as u16);
        let outcome = self.machine.control(word, stays);
        self.axis.word = word;
        match outcome {
            MachineOutcome::Changed(DriveState::Fault, DriveState::SwitchOnDisabled) => {
                objects.set(slots.error_code, 0);
                objects.set(slots.error_register, 0);
                if let Some(code) = self.failing {
                    return self.fault(code, objects);
                }
                return Some(Emergency {
                    code: error_code::NONE,
                    register: 0,
                    data: [0; 5],
                });
            }
            MachineOutcome::Changed(_, DriveState::OperationEnabled) => {
                self.axis.enable(&self.parameters.motor);
            }
            _ => {}
        }
        let mode = objects.get(slots.mode) as i8;
        let mode = OperationMode::from_number(mode).unwrap_or(OperationMode::None);
        self.axis.choose(mode);
        None
    }

    /// Advances to the present in steps of the drive's own loop.
    fn go_on(&mut self, moment: &Moment, objects: &Dictionary) {
        let Some(slots) = self.slots else { return };
        let elapsed = moment.now.since(self.now.unwrap_or(moment.now));
        self.now = Some(moment.now);
        let mut left = elapsed.min(MAX_NS);
        let limit = objects.get(slots.torque_limit) as f64 / 1000.0 * self.parameters.motor.rated;
        while left > 0 {
            let piece = left.min(STEP_NS);
            left -= piece;
            let state = self.machine.state();
            self.axis
                .step(&self.parameters, state, limit, piece as f64 * 1e-9);
        }
    }

    fn watch(&mut self, moment: &Moment, objects: &mut Dictionary) -> Option<Emergency> {
        let slots = *self.slots.as_ref()?;
        let window = self
            .parameters
            .motor
            .radians(objects.get(slots.following_window) as f64);
        let timeout = objects.get(slots.following_timeout) as f64 / 1000.0;
        let stays = Self::stays_in_quick_stop(&slots, objects);
        if self.axis.stands() {
            self.machine.stopped(stays);
        }
        if self.machine.state() != DriveState::OperationEnabled || moment.state != State::Op {
            return None;
        }
        if self.axis.motion.velocity.abs() > self.parameters.motor.overspeed {
            return self.fault(error_code::OVERSPEED, objects);
        }
        if self.axis.has_following_error(window, timeout) {
            return self.fault(error_code::FOLLOWING_ERROR, objects);
        }
        None
    }

    fn report(&self, objects: &mut Dictionary) {
        let Some(slots) = &self.slots else { return };
        let motor = &self.parameters.motor;
        let motion = self.axis.motion;
        let whole = |number: f64| number.round() as i64;
        let home = self.axis.home;
        let (turn, turn_velocity) = slots.signs(objects);
        let position = |radians: f64| whole(turn * motor.counts(radians));
        let velocity = whole(turn_velocity * motor.counts(motion.velocity));
        objects.set(slots.position, position(motion.position - home));
        objects.set(slots.velocity, velocity);
        objects.set(slots.torque, whole(motion.torque / motor.rated * 1000.0));
        objects.set(slots.position_demand, position(self.axis.demand - home));
        objects.set(slots.following_error, position(self.axis.following()));
        objects.set(slots.mode_display, i64::from(self.axis.mode.number()));
        let state = self.machine.state();
        let bits = Statusword::VOLTAGE | Statusword::REMOTE | self.axis.bits(state);
        objects.set(slots.statusword, i64::from(Statusword::new(state, bits).0));
    }
}

/// Object 0x1001 of an error code's class (CiA 301).
const fn error_register(code: u16) -> u8 {
    1 | match code >> 12 {
        0x2 => 0x02,
        0x3 => 0x04,
        0x4 => 0x08,
        0x7 => 0x10,
        0x8 => 0x20,
        _ => 0,
    }
}

impl Behaviour for Drive {
    fn power_on(&mut self, objects: &mut Dictionary) {
        self.slots = DriveSlots::of(objects);
        self.machine = Machine::default();
        self.axis.power_on();
        self.report(objects);
    }

    fn step(&mut self, moment: Moment, objects: &mut Dictionary) -> Option<Emergency> {
        let slots = *self.slots.as_ref()?;
        // The last set-point holds until now; then the new one takes effect.
        self.go_on(&moment, objects);
        let obeyed = self.obey(objects);
        if moment.fresh || moment.state != State::Op {
            self.axis
                .take(&slots, objects, &self.parameters.motor, moment.cycle_ns);
        }
        let watched = self.watch(&moment, objects);
        self.report(objects);
        obeyed.or(watched)
    }

    fn check(&self, _: &Dictionary, address: Address, value: &[u8]) -> Result<(), Abort> {
        match (address.index, value) {
            (object::MODE, [mode]) if OperationMode::from_number(mode.cast_signed()).is_none() => {
                Err(Abort::VALUE)
            }
            // A joint under torque would reverse.
            (object::POLARITY, _) if self.machine.state().has_torque() => Err(Abort::STATE),
            _ => Ok(()),
        }
    }

    fn process_data_lost(&mut self, objects: &mut Dictionary) -> Option<Emergency> {
        // A drive that was switched off before it left OP reports no error.
        if self.machine.state().has_torque() {
            return self.fault(error_code::COMMUNICATION, objects);
        }
        self.machine.control(Controlword::DISABLE_VOLTAGE, false);
        None
    }

    fn fail(&mut self, code: u16, objects: &mut Dictionary) -> Option<Emergency> {
        if code == error_code::NONE {
            self.failing = None;
            return None;
        }
        self.failing = Some(code);
        self.fault(code, objects)
    }

    fn period_ns(&self) -> Option<u64> {
        Some(PERIOD_NS)
    }
}

#[cfg(test)]
mod tests;
