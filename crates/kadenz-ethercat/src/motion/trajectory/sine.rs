//! To and fro.

use std::f64::consts::TAU;

use super::{Limits, Point, Trajectory};

/// A sine about a middle. It swells over its first period by a smooth step, and fades over its last, so that
/// it begins and ends at rest: position, velocity and acceleration are continuous.
///
/// ```
/// use kadenz_ethercat::motion::trajectory::{Sine, Trajectory};
///
/// let way = Sine { middle: 0.5, amplitude: 0.2, frequency: 1.0, periods: None };
/// assert_eq!(way.at(0.0).position, 0.5);
/// assert!((way.at(7.25).position - 0.7).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sine {
    /// In rad.
    pub middle: f64,
    /// In rad.
    pub amplitude: f64,
    /// In Hz, above 0.
    pub frequency: f64,
    /// How often, 2 or more; `None` for ever.
    pub periods: Option<u32>,
}

impl Sine {
    /// Bounds of its velocity and acceleration, swelling and fading with them.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let (a, f) = (self.amplitude.abs(), self.frequency);
        let omega = TAU * f;
        // The step's slope is at most 15/8 a period, its bend 10/sqrt(3) a period squared.
        let bend = 10.0 / 3.0_f64.sqrt();
        Limits {
            velocity: a * (omega + 1.875 * f),
            acceleration: a * (omega * omega + 2.0 * 1.875 * f * omega + bend * f * f),
        }
    }

    /// Swelling, and then for ever.
    fn swelling(&self, t: f64) -> Point {
        let omega = TAU * self.frequency;
        let (sin, cos) = (omega * t).sin_cos();
        // 10 s^3 - 15 s^4 + 6 s^5 and its derivatives.
        let s = (t * self.frequency).min(1.0);
        let f = self.frequency;
        let swell = s * s * s * (10.0 + s * (6.0 * s - 15.0));
        let slope = f * 30.0 * s * s * (1.0 + s * (s - 2.0));
        let bend = f * f * 60.0 * s * (1.0 + s * (2.0 * s - 3.0));
        let a = self.amplitude;
        Point {
            position: self.middle + a * swell * sin,
            velocity: a * (slope * sin + swell * omega * cos),
            acceleration: a
                * (bend * sin + 2.0 * slope * omega * cos - swell * omega * omega * sin),
        }
    }
}

impl Trajectory for Sine {
    fn at(&self, seconds: f64) -> Point {
        let duration = self.duration();
        if seconds <= 0.0 || seconds >= duration {
            return Point::at_rest(self.middle);
        }
        if seconds <= duration / 2.0 {
            return self.swelling(seconds);
        }
        // The second half is the first one backwards, on the other side of the middle.
        let first = self.swelling(duration - seconds);
        Point {
            position: 2.0 * self.middle - first.position,
            velocity: first.velocity,
            acceleration: -first.acceleration,
        }
    }

    fn duration(&self) -> f64 {
        self.periods
            .map_or(f64::INFINITY, |it| f64::from(it.max(2)) / self.frequency)
    }
}
