//! Ramps that the drive plans itself, a step at a time.

/// A set-point that moves towards a target with limited velocity and acceleration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Ramp {
    /// Where it is, in rad.
    pub(super) position: f64,
    /// How fast, in rad/s.
    pub(super) velocity: f64,
}

/// Limits of a ramp, at the joint.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Limits {
    /// rad/s.
    pub(super) velocity: f64,
    /// rad/s2.
    pub(super) acceleration: f64,
    /// rad/s2.
    pub(super) deceleration: f64,
}

impl Ramp {
    /// Towards a velocity.
    pub(super) fn towards_velocity(&mut self, wanted: f64, limits: &Limits, dt: f64) {
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

    /// Towards a position: as fast as it may go and still stop there.
    pub(super) fn towards_position(&mut self, target: f64, limits: &Limits, dt: f64) {
        let distance = target - self.position;
        // What is left may be braked within this velocity, half a step early so as not to overshoot.
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_ramp_arrives_within_its_limits(target in -10.0_f64..10.0, velocity in 0.1_f64..20.0, acceleration in 0.5_f64..100.0) {
            let limits = Limits { velocity, acceleration, deceleration: acceleration };
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
