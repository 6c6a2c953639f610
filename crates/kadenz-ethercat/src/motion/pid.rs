//! A PID regulator.

/// The gains of a regulator. Their units are those of its output over those of its input: a regulator from position
/// in rad to torque in N m has `proportional` in N m/rad, `integral` in N m/(rad s), `derivative` in N m s/rad.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Gains {
    /// Gain of the error.
    pub proportional: f64,
    /// Gain of the error's integral over time.
    pub integral: f64,
    /// Gain of the measured value's derivative, with the opposite sign.
    pub derivative: f64,
    /// Time constant of the derivative's filter, in s; zero for none.
    pub filter: f64,
    /// Limit of the output's magnitude; `None` for no limit.
    pub limit: Option<f64>,
}

impl Gains {
    /// Whether all are finite and none is negative.
    #[must_use]
    pub(crate) fn is_valid(&self) -> bool {
        let limit = self.limit.unwrap_or(0.0);
        [
            self.proportional,
            self.integral,
            self.derivative,
            self.filter,
            limit,
        ]
        .iter()
        .all(|it| it.is_finite() && *it >= 0.0)
    }
}

/// A regulator with anti-windup and a filtered derivative.
///
/// The derivative acts on the measured value, so that a step of the set-point gives no kick, behind a first-order lag
/// (backward Euler). The integral gives back what the limit cuts off, as far as the integral has caused it (clamping;
/// Astrom and Murray, "Feedback Systems", section 11.4).
///
/// ```
/// use kadenz_ethercat::motion::pid::{Gains, Pid};
///
/// let mut pid = Pid::new(Gains { proportional: 2.0, integral: 1.0, ..Gains::default() });
/// assert_eq!(pid.step(1.0, 0.0, 0.5), 2.5);
/// assert_eq!(pid.step(1.0, 0.0, 0.5), 3.0);
/// ```
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pid {
    gains: Gains,
    sum: f64,
    slope: f64,
    before: Option<f64>,
}

impl Pid {
    /// Creates a regulator without history.
    #[must_use]
    pub const fn new(gains: Gains) -> Self {
        Self {
            gains,
            sum: 0.0,
            slope: 0.0,
            before: None,
        }
    }

    /// Forgets what it has summed up so far; the gains stay.
    pub const fn reset(&mut self) {
        *self = Self::new(self.gains);
    }

    /// Returns the output for a set-point and a measured value, `seconds` after the last.
    pub fn step(&mut self, wanted: f64, measured: f64, seconds: f64) -> f64 {
        let gains = self.gains;
        let error = wanted - measured;
        if let (Some(before), true) = (self.before, seconds > 0.0) {
            let raw = (measured - before) / seconds;
            self.slope += (raw - self.slope) * seconds / (gains.filter + seconds);
        }
        self.before = Some(measured);
        let direct = gains.proportional * error - gains.derivative * self.slope;
        let more = gains.integral * error * seconds.max(0.0);
        let wanted = direct + self.sum + more;
        let Some(limit) = gains.limit else {
            self.sum += more;
            return wanted;
        };
        let output = wanted.clamp(-limit, limit);
        // The integral grows only where that does not deepen the saturation.
        let cut = wanted - output;
        if cut * more <= 0.0 {
            self.sum += more;
        } else if cut.abs() < more.abs() {
            self.sum += more - cut;
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DT: f64 = 0.001;

    fn pid(proportional: f64, integral: f64, derivative: f64) -> Gains {
        Gains {
            proportional,
            integral,
            derivative,
            ..Gains::default()
        }
    }

    #[test]
    fn a_constant_error_is_summed_over_time() {
        let mut pid = Pid::new(pid(0.5, 3.0, 0.0));
        let last = (0..2000).map(|_| pid.step(0.2, 0.0, DT)).last().unwrap();
        assert!((last - (0.5 * 0.2 + 3.0 * 0.2 * 2.0)).abs() < 1e-9);
    }

    #[test]
    fn the_slope_of_a_ramp_comes_through_a_first_order_lag() {
        let gains = Gains {
            filter: 0.01,
            ..pid(0.0, 0.0, 4.0)
        };
        let mut pid = Pid::new(gains);
        for step in 0..50 {
            let measured = 0.3 * DT * f64::from(step);
            let output = pid.step(0.0, measured, DT);
            // Backward Euler of a lag: 1 - (tau / (tau + dt))^n.
            let reached = 1.0 - (0.01_f64 / 0.011).powi(step);
            assert!((output + 4.0 * 0.3 * reached).abs() < 1e-9, "{step}");
        }
    }

    #[test]
    fn a_step_of_what_is_wanted_gives_no_kick() {
        let mut pid = Pid::new(pid(1.0, 0.0, 100.0));
        pid.step(0.0, 0.0, DT);
        assert_eq!(pid.step(1.0, 0.0, DT), 1.0);
    }

    #[test]
    fn a_closed_loop_is_what_its_equation_says() {
        // dy/dt = u - y with u by a PI of kp = ki = k: the pole cancels the zero, which leaves y = 1 - exp(-k t).
        let k = 3.0;
        let mut pid = Pid::new(pid(k, k, 0.0));
        let mut y = 0.0_f64;
        let dt = 0.000_01;
        for step in 1..=100_000 {
            let u = pid.step(1.0, y, dt);
            y += dt * (u - y);
            let expected = 1.0 - (-k * dt * f64::from(step)).exp();
            assert!((y - expected).abs() < 1e-3, "{step}: {y} {expected}");
        }
    }

    #[test]
    fn a_long_stay_at_the_limit_does_not_wind_up() {
        let gains = Gains {
            limit: Some(1.0),
            ..pid(1.0, 10.0, 0.0)
        };
        let mut pid = Pid::new(gains);
        for _ in 0..10_000 {
            assert!(pid.step(100.0, 0.0, DT) <= 1.0);
        }
        // The first error of the other sign takes effect at once; a wound up integral would take minutes.
        assert!(pid.step(-1.0, 0.0, DT) < 0.0);
    }

    proptest! {
        #[test]
        fn the_limit_holds_whatever_comes(
            steps in prop::collection::vec((-1e6_f64..1e6, -1e6_f64..1e6, 0.0_f64..1.0), 1..200),
            gains in (0.0_f64..1e3, 0.0_f64..1e3, 0.0_f64..1e3), limit in 0.0_f64..100.0
        ) {
            let mut pid = Pid::new(Gains { limit: Some(limit), ..pid(gains.0, gains.1, gains.2) });
            for (wanted, measured, dt) in steps {
                let output = pid.step(wanted, measured, dt);
                prop_assert!(output.abs() <= limit);
            }
        }
    }
}
