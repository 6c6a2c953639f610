//! A motor with its load, at the joint.

use std::f64::consts::TAU;

/// A joint: a motor behind its gear, with its load. All values are at the joint, in SI units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motor {
    /// Moment of inertia of rotor, gear and load in kg m2.
    pub inertia: f64,
    /// Viscous friction in N m s/rad.
    pub viscous: f64,
    /// Coulomb friction in N m; also the torque that holds the joint at standstill.
    pub coulomb: f64,
    /// Torque of gravity on the horizontal link in N m: mass, times 9.81, times distance. The link hangs
    /// down at position 0.
    pub gravity: f64,
    /// Torque of the load, the same everywhere, in N m.
    pub load: f64,
    /// Rated torque in N m, to which thousandths refer.
    pub rated: f64,
    /// Greatest torque in N m.
    pub peak: f64,
    /// Time constant of the current loop in s: torque follows as a first order lag.
    pub current_lag: f64,
    /// Increments of the encoder per turn of the joint.
    pub increments: u32,
    /// Greatest velocity in rad/s; above it the drive fails.
    pub overspeed: f64,
}

impl Motor {
    /// A knee of a humanoid of human size: 60 N m rated, 180 N m peak.
    #[must_use]
    pub const fn knee() -> Self {
        Self {
            inertia: 0.35,
            viscous: 0.8,
            coulomb: 1.5,
            gravity: 18.0,
            load: 0.0,
            rated: 60.0,
            peak: 180.0,
            current_lag: 0.000_5,
            increments: 1 << 20,
            overspeed: 25.0,
        }
    }

    /// A joint of an arm: 12 N m rated, 36 N m peak.
    #[must_use]
    pub const fn elbow() -> Self {
        Self {
            inertia: 0.05,
            viscous: 0.2,
            coulomb: 0.4,
            gravity: 4.0,
            rated: 12.0,
            peak: 36.0,
            ..Self::knee()
        }
    }

    /// A joint of a hand or head: 1.5 N m rated, 4.5 N m peak.
    #[must_use]
    pub const fn finger() -> Self {
        Self {
            inertia: 0.002,
            viscous: 0.02,
            coulomb: 0.05,
            gravity: 0.15,
            rated: 1.5,
            peak: 4.5,
            increments: 1 << 16,
            ..Self::knee()
        }
    }

    /// Whether the numbers are valid: finite, and positive where they must be.
    #[must_use]
    pub(crate) fn is_valid(&self) -> bool {
        let positive = [self.inertia, self.rated, self.peak, self.overspeed];
        let not_negative = [self.viscous, self.coulomb, self.current_lag];
        positive.iter().all(|it| it.is_finite() && *it > 0.0)
            && not_negative.iter().all(|it| it.is_finite() && *it >= 0.0)
            && self.gravity.is_finite()
            && self.load.is_finite()
            && self.increments > 0
    }

    /// Converts increments to radians.
    #[must_use]
    pub(crate) fn radians(&self, increments: f64) -> f64 {
        increments * TAU / f64::from(self.increments)
    }

    /// Converts radians to increments, not rounded.
    #[must_use]
    pub(crate) fn counts(&self, radians: f64) -> f64 {
        radians * f64::from(self.increments) / TAU
    }
}

/// Position and motion of a joint.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Motion {
    /// Position in rad.
    pub position: f64,
    /// Velocity in rad/s.
    pub velocity: f64,
    /// Torque of the motor in N m, behind the current loop.
    pub torque: f64,
}

impl Motion {
    /// Advances by `dt` seconds with a torque demand of `wanted` N m.
    ///
    /// Semi-implicit Euler: the step takes viscous friction at its end, so that no friction makes it unstable;
    /// Coulomb friction stops a joint, and never reverses it.
    pub(crate) fn step(&mut self, motor: &Motor, wanted: f64, dt: f64) {
        let wanted = wanted.clamp(-motor.peak, motor.peak);
        self.torque += (wanted - self.torque) * dt / (motor.current_lag + dt);
        let gravity = motor.gravity * self.position.sin();
        let pull = self.torque - gravity - motor.load;
        let free = self.velocity + dt * pull / motor.inertia;
        let rubbed = dt * motor.coulomb / motor.inertia;
        let slowed = if free.abs() <= rubbed {
            0.0
        } else {
            free - rubbed.copysign(free)
        };
        self.velocity = slowed / (1.0 + dt * motor.viscous / motor.inertia);
        self.position += self.velocity * dt;
    }
}

// Ramps that the drive plans itself, a step at a time.

/// A set-point that moves towards a target with limited velocity and acceleration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Ramp {
    /// Its position, in rad.
    pub(super) position: f64,
    /// Its velocity, in rad/s.
    pub(super) velocity: f64,
}

/// Limits of a ramp, at the joint.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct RampLimits {
    /// rad/s.
    pub(super) velocity: f64,
    /// rad/s2.
    pub(super) acceleration: f64,
    /// rad/s2.
    pub(super) deceleration: f64,
}

impl Ramp {
    /// Steps towards a velocity.
    pub(super) fn towards_velocity(&mut self, wanted: f64, limits: &RampLimits, dt: f64) {
        let speeds_up = wanted.abs() > self.velocity.abs() && wanted * self.velocity >= 0.0;
        let most = dt
            * if speeds_up {
                limits.acceleration
            } else {
                limits.deceleration
            };
        self.velocity += (wanted - self.velocity).clamp(-most, most);
        self.position += self.velocity * dt;
    }

    /// Steps towards a position, as fast as a stop there allows.
    pub(super) fn towards_position(&mut self, target: f64, limits: &RampLimits, dt: f64) {
        let distance = target - self.position;
        // The remaining distance allows braking from this velocity, half a step early so as not to overshoot.
        let half = limits.deceleration * dt / 2.0;
        let brake = (half * half + 2.0 * limits.deceleration * distance.abs()).sqrt() - half;
        let wanted = brake.min(limits.velocity).copysign(distance);
        let arrives = distance.abs() <= (wanted * dt).abs().max(1e-9)
            && self.velocity.abs() <= limits.deceleration * dt * 2.0;
        if arrives {
            *self = Self {
                position: target,
                velocity: 0.0,
            };
        } else {
            self.towards_velocity(wanted, limits, dt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(motor: &Motor, torque: f64, seconds: f64) -> Motion {
        let mut motion = Motion::default();
        for _ in 0..(seconds / 0.000_125) as usize {
            motion.step(motor, torque, 0.000_125);
        }
        motion
    }

    #[test]
    fn a_torque_below_friction_moves_nothing() {
        assert_eq!(run(&Motor::knee(), 1.4, 1.0).position, 0.0);
        assert!(run(&Motor::knee(), 1.6, 1.0).position > 0.0);
    }

    #[test]
    fn a_free_axis_runs_as_fast_as_its_friction_lets_it() {
        let motor = Motor {
            gravity: 0.0,
            ..Motor::elbow()
        };
        let motion = run(&motor, 1.4, 3.0);
        let expected = (1.4 - motor.coulomb) / motor.viscous;
        assert!((motion.velocity - expected).abs() < 0.01, "{motion:?}");
    }

    #[test]
    fn a_link_comes_to_rest_where_gravity_holds_it() {
        let motor = Motor {
            coulomb: 0.0,
            ..Motor::elbow()
        };
        let motion = run(&motor, 2.0, 20.0);
        assert!((motion.position.sin() * motor.gravity - 2.0).abs() < 0.01);
        assert!(motion.velocity.abs() < 0.001);
    }

    #[test]
    fn no_step_is_too_long_to_stay_finite() {
        let mut motion = Motion::default();
        for _ in 0..1000 {
            motion.step(&Motor::finger(), 4.5, 0.01);
        }
        assert!(motion.position.is_finite() && motion.velocity.abs() < 1000.0);
    }

    #[test]
    fn torque_follows_as_a_first_order_lag() {
        let mut motion = Motion::default();
        for _ in 0..500 {
            motion.step(&Motor::knee(), 10.0, 0.000_001);
        }
        let expected = 10.0 * (1.0 - (-1.0_f64).exp());
        assert!((motion.torque - expected).abs() < 0.01, "{}", motion.torque);
    }
}

#[cfg(test)]
mod profile_tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_ramp_arrives_within_its_limits(target in -10.0_f64..10.0, velocity in 0.1_f64..20.0, acceleration in 0.5_f64..100.0) {
            let limits = RampLimits { velocity, acceleration, deceleration: acceleration };
            let mut ramp = Ramp::default();
            let dt = 0.000_125;
            let seconds = target.abs() / velocity + velocity / acceleration + 2.0 * (target.abs() / acceleration).sqrt() + 0.5;
            for _ in 0..(seconds / dt) as usize {
                let before = ramp.velocity;
                ramp.towards_position(target, &limits, dt);
                prop_assert!(ramp.velocity.abs() <= velocity * 1.000_001);
                prop_assert!((ramp.velocity - before).abs() <= acceleration * dt * 2.001);
            }
            prop_assert_eq!(ramp, Ramp { position: target, velocity: 0.0 });
        }
    }
}
