//! Constant acceleration, constant velocity, constant deceleration.

use super::{Limits, Point, Trajectory};

/// The fastest way from rest to rest within limits of velocity and acceleration; its acceleration jumps.
/// Where the way is too short for the velocity, a triangle.
///
/// ```
/// use kadenz_ethercat::motion::trajectory::{Limits, Trajectory, Trapezoid};
///
/// let way = Trapezoid::between(0.0, -2.0, Limits { velocity: 1.0, acceleration: 2.0 });
/// assert_eq!(way.duration(), 2.5);
/// assert_eq!(way.at(1.0).velocity, -1.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trapezoid {
    from: f64,
    to: f64,
    /// Of the middle piece, signed.
    velocity: f64,
    acceleration: f64,
    /// Duration of the first piece, and of the last.
    ramp: f64,
    /// Duration of the middle.
    cruise: f64,
}

impl Trapezoid {
    /// From rest to rest.
    #[must_use]
    pub fn between(from: f64, to: f64, limits: Limits) -> Self {
        let way = (to - from).abs();
        let sign = (to - from).signum();
        // v = sqrt(way * a) is the top of the triangle.
        let top = limits.velocity.min((way * limits.acceleration).sqrt());
        let ramp = top / limits.acceleration;
        let cruise = if top > 0.0 {
            (way / top - ramp).max(0.0)
        } else {
            0.0
        };
        Self {
            from,
            to,
            velocity: sign * top,
            acceleration: sign * limits.acceleration,
            ramp,
            cruise,
        }
    }
}

impl Trajectory for Trapezoid {
    fn at(&self, seconds: f64) -> Point {
        let left = self.duration() - seconds;
        if left <= 0.0 {
            return Point::at_rest(self.to);
        }
        if seconds <= 0.0 {
            return Point::at_rest(self.from);
        }
        let (v, a) = (self.velocity, self.acceleration);
        if seconds < self.ramp {
            return Point {
                position: self.from + a * seconds * seconds / 2.0,
                velocity: a * seconds,
                acceleration: a,
            };
        }
        if left < self.ramp {
            return Point {
                position: self.to - a * left * left / 2.0,
                velocity: a * left,
                acceleration: -a,
            };
        }
        Point {
            position: self.from + v * (seconds - self.ramp / 2.0),
            velocity: v,
            acceleration: 0.0,
        }
    }

    fn duration(&self) -> f64 {
        2.0 * self.ramp + self.cruise
    }
}
