//! The control loops of a drive: from set-points to torque.

use std::f64::consts::TAU;

use super::motor::{Ramp, RampLimits};
use super::objects::DriveSlots;
use super::{Motion, Motor, Parameters};
use crate::sim::coe::Dictionary;
use crate::wire::cia402::{Controlword, DriveState, OperationMode, Statusword};

/// A joint below this velocity, in rad/s, is at standstill.
const STANDS: f64 = 0.01;

/// The simulated axis of a drive. Positions are the encoder's, in rad; `home` is the objects' zero.
#[derive(Debug, Clone)]
pub(super) struct AxisModel {
    pub(super) motion: Motion,
    pub(super) mode: OperationMode,
    pub(super) word: Controlword,
    pub(super) home: f64,
    /// The present set-point of the position loop.
    pub(super) demand: f64,
    /// The last target, and the progress towards it.
    target: f64,
    target_velocity: f64,
    target_torque: f64,
    torque_offset: f64,
    ramp: Ramp,
    limits: RampLimits,
    quick_stop: RampLimits,
    /// Velocity of the demand between two cyclic targets.
    slope: f64,
    /// Remaining seconds of the way to the target.
    left: f64,
    /// Integral of the velocity loop in N m.
    integral: f64,
    following_for: f64,
    acknowledged: bool,
    homed: Option<bool>,
}

impl AxisModel {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Self {
            motion: Motion {
                position: parameters.start,
                ..Motion::default()
            },
            mode: OperationMode::None,
            word: Controlword::default(),
            home: 0.0,
            demand: parameters.start,
            target: parameters.start,
            target_velocity: 0.0,
            target_torque: 0.0,
            torque_offset: 0.0,
            ramp: Ramp::default(),
            limits: RampLimits::default(),
            quick_stop: RampLimits::default(),
            slope: 0.0,
            left: 0.0,
            integral: 0.0,
            following_for: 0.0,
            acknowledged: false,
            homed: None,
        }
    }

    /// Clears set-points; the joint stays where it is, and so does home: encoders are absolute.
    pub(super) fn power_on(&mut self) {
        self.mode = OperationMode::None;
        self.word = Controlword::default();
        self.hold();
    }

    /// Holds the present position.
    fn hold(&mut self) {
        self.demand = self.motion.position;
        self.target = self.demand;
        self.target_velocity = 0.0;
        self.target_torque = 0.0;
        self.ramp = Ramp {
            position: self.demand,
            velocity: self.motion.velocity,
        };
        self.slope = 0.0;
        self.left = 0.0;
        self.integral = self.motion.torque;
        self.following_for = 0.0;
        self.acknowledged = false;
    }

    /// Begins to apply torque.
    pub(super) fn enable(&mut self, motor: &Motor) {
        self.hold();
        // The torque that holds the link where it hangs, so that it does not sag.
        self.integral = motor.gravity * self.motion.position.sin() + motor.load;
    }

    /// Changes the mode, where it is another.
    pub(super) fn choose(&mut self, mode: OperationMode) {
        if mode != self.mode {
            self.mode = mode;
            let integral = self.integral;
            self.hold();
            self.integral = integral;
            self.homed = None;
        }
    }

    /// Takes set-points from the objects.
    pub(super) fn take(
        &mut self,
        slots: &DriveSlots,
        objects: &Dictionary,
        motor: &Motor,
        cycle_ns: u32,
    ) {
        let (turn, turn_velocity) = slots.signs(objects);
        let radians = |slot| motor.radians(objects.get(slot) as f64);
        let torque = |slot| objects.get(slot) as f64 / 1000.0 * motor.rated;
        self.torque_offset = torque(slots.torque_offset);
        self.target_torque = torque(slots.target_torque);
        self.target_velocity =
            turn_velocity * (radians(slots.target_velocity) + radians(slots.velocity_offset));
        self.limits = RampLimits {
            velocity: radians(slots.profile_velocity),
            acceleration: radians(slots.acceleration),
            deceleration: radians(slots.deceleration),
        };
        self.quick_stop = RampLimits {
            deceleration: radians(slots.quick_stop_deceleration),
            ..self.limits
        };
        let target = turn * radians(slots.target_position) + self.home;
        match self.mode {
            OperationMode::CyclicPosition => {
                self.target = target + turn * radians(slots.position_offset);
                self.left = f64::from(cycle_ns) * 1e-9;
                self.slope = (self.target - self.demand) / self.left.max(1e-6);
            }
            OperationMode::ProfilePosition => self.set_point(target),
            OperationMode::Homing => {
                let offset = turn * radians(slots.home_offset);
                self.homing(objects.get(slots.homing_method), offset);
            }
            _ => {}
        }
    }

    /// The handshake of profile position: a rising bit 4 takes the target, which the drive acknowledges until the bit
    /// falls.
    fn set_point(&mut self, target: f64) {
        let asked = self.word.has(Controlword::NEW_SET_POINT);
        if asked && !self.acknowledged {
            self.target = if self.word.has(Controlword::RELATIVE) {
                self.target + target - self.home
            } else {
                target
            };
        }
        self.acknowledged = asked;
    }

    /// Methods 35 and 37 take the present position as home. Others need switches that this axis does not have.
    fn homing(&mut self, method: i64, offset: f64) {
        let asked = self.word.has(Controlword::NEW_SET_POINT);
        if asked && self.homed.is_none() {
            let known = matches!(method, 35 | 37);
            if known {
                self.home = self.motion.position - offset;
            }
            self.homed = Some(known);
        } else if !asked {
            self.homed = None;
        }
    }

    /// One step of the drive's loops and of the motor.
    pub(super) fn step(&mut self, parameters: &Parameters, state: DriveState, limit: f64, dt: f64) {
        let motor = &parameters.motor;
        let wanted = match state {
            DriveState::OperationEnabled => self.follow(parameters, dt),
            DriveState::QuickStopActive | DriveState::FaultReactionActive => {
                self.ramp.towards_velocity(0.0, &self.quick_stop, dt);
                self.velocity_loop(parameters, self.ramp.velocity, dt)
            }
            _ => {
                self.hold();
                self.integral = 0.0;
                0.0
            }
        };
        let limit = limit.min(motor.peak);
        let wanted = wanted.clamp(-limit, limit);
        self.integral = self.integral.clamp(-limit, limit);
        self.motion.step(motor, wanted, dt);
        if self.following().abs() > 0.0 {
            self.following_for += dt;
        }
        if !matches!(
            state,
            DriveState::QuickStopActive | DriveState::FaultReactionActive
        ) && !matches!(
            self.mode,
            OperationMode::ProfilePosition | OperationMode::ProfileVelocity
        ) {
            self.ramp = Ramp {
                position: self.motion.position,
                velocity: self.motion.velocity,
            };
        }
    }

    /// The torque of the mode.
    fn follow(&mut self, parameters: &Parameters, dt: f64) -> f64 {
        let halted = self.word.has(Controlword::HALT);
        match self.mode {
            OperationMode::CyclicTorque | OperationMode::ProfileTorque if !halted => {
                self.demand = self.motion.position;
                self.target_torque + self.torque_offset
            }
            OperationMode::CyclicVelocity if !halted => {
                self.demand = self.motion.position;
                self.velocity_loop(parameters, self.target_velocity, dt)
            }
            OperationMode::ProfileVelocity => {
                let wanted = if halted { 0.0 } else { self.target_velocity };
                self.ramp.towards_velocity(wanted, &self.limits, dt);
                self.demand = self.motion.position;
                self.velocity_loop(parameters, self.ramp.velocity, dt)
            }
            OperationMode::ProfilePosition => {
                if halted {
                    self.ramp.towards_velocity(0.0, &self.limits, dt);
                } else {
                    self.ramp.towards_position(self.target, &self.limits, dt);
                }
                self.demand = self.ramp.position;
                self.position_loop(parameters, self.ramp.velocity, dt)
            }
            OperationMode::CyclicPosition if !halted => {
                let slope = if self.left > 0.0 { self.slope } else { 0.0 };
                if self.left > dt {
                    self.demand += slope * dt;
                } else {
                    self.demand = self.target;
                }
                self.left -= dt;
                self.position_loop(parameters, slope, dt)
            }
            _ => self.position_loop(parameters, 0.0, dt),
        }
    }

    fn position_loop(&mut self, parameters: &Parameters, feed_forward: f64, dt: f64) -> f64 {
        let gain = TAU * parameters.bandwidth;
        let wanted = feed_forward + gain * (self.demand - self.motion.position);
        self.velocity_loop(parameters, wanted, dt)
    }

    /// PI with the inertia as its gain; the integral compensates friction and gravity.
    fn velocity_loop(&mut self, parameters: &Parameters, wanted: f64, dt: f64) -> f64 {
        let error = wanted - self.motion.velocity;
        let bandwidth = TAU * parameters.bandwidth * 4.0;
        let gain = parameters.motor.inertia * bandwidth;
        self.integral += gain * bandwidth / 8.0 * error * dt;
        gain * error + self.integral + self.torque_offset
    }

    /// The following error of the position loop.
    pub(super) fn following(&self) -> f64 {
        self.demand - self.motion.position
    }

    /// Whether it exceeds `window` for longer than `timeout` seconds.
    pub(super) fn has_following_error(&mut self, window: f64, timeout: f64) -> bool {
        if self.following().abs() <= window {
            self.following_for = 0.0;
        }
        self.following_for > timeout
    }

    /// Whether the joint is at standstill.
    pub(super) fn stands(&self) -> bool {
        self.motion.velocity.abs() < STANDS
    }

    /// The mode's bits of the statusword.
    pub(super) fn bits(&self, state: DriveState) -> u16 {
        if state != DriveState::OperationEnabled {
            return 0;
        }
        let reached = |it: bool| if it { Statusword::TARGET_REACHED } else { 0 };
        match self.mode {
            OperationMode::CyclicPosition
            | OperationMode::CyclicVelocity
            | OperationMode::CyclicTorque => Statusword::MODE_12,
            OperationMode::ProfilePosition => {
                let there = self.ramp.position == self.target && self.following().abs() < 0.01;
                reached(there)
                    | if self.acknowledged {
                        Statusword::MODE_12
                    } else {
                        0
                    }
            }
            OperationMode::ProfileVelocity => {
                reached((self.motion.velocity - self.target_velocity).abs() < 0.05)
                    | if self.stands() {
                        Statusword::MODE_12
                    } else {
                        0
                    }
            }
            OperationMode::Homing => match self.homed {
                Some(true) => Statusword::MODE_12 | Statusword::TARGET_REACHED,
                Some(false) => Statusword::MODE_13 | Statusword::TARGET_REACHED,
                None => 0,
            },
            OperationMode::None | OperationMode::ProfileTorque => 0,
        }
    }
}
