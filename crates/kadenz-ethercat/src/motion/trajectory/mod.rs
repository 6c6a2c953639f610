//! Trajectories of an axis: quintic, trapezoid, sine.
//!
//! All values are at the joint and in SI units: rad, rad/s, rad/s2, s. Nothing here allocates. Before its start a
//! trajectory is at its first point, after its end at its last, at rest.

use std::f64::consts::TAU;

/// Position and motion of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// In rad.
    pub position: f64,
    /// In rad/s.
    pub velocity: f64,
    /// In rad/s2.
    pub acceleration: f64,
}

impl Point {
    /// A point at rest.
    #[must_use]
    pub(crate) const fn at_rest(position: f64) -> Self {
        Self {
            position,
            velocity: 0.0,
            acceleration: 0.0,
        }
    }
}

/// Limits of a move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// In rad/s, above 0.
    pub velocity: f64,
    /// In rad/s2, above 0.
    pub acceleration: f64,
}

impl Limits {
    /// Whether both are finite and above 0.
    #[must_use]
    pub(crate) fn is_valid(&self) -> bool {
        let good = |it: f64| it.is_finite() && it > 0.0;
        good(self.velocity) && good(self.acceleration)
    }
}

impl Default for Limits {
    /// An unhurried move of a joint: a quarter turn a second, reached in a quarter of a second.
    fn default() -> Self {
        Self {
            velocity: std::f64::consts::FRAC_PI_2,
            acceleration: std::f64::consts::TAU,
        }
    }
}

/// A trajectory: a point for each time.
///
/// # Real-time safety
/// Real-time safe.
pub trait Trajectory {
    /// Returns the point at so many seconds after the start.
    fn at(&self, seconds: f64) -> Point;

    /// Its duration in s; infinite where it has no end.
    fn duration(&self) -> f64;
}

/// A trajectory whose position, velocity and acceleration are continuous.
///
/// Craig, "Introduction to Robotics", chapter 7.3, quintic polynomials. From rest to rest it is the trajectory of
/// least jerk (Flash and Hogan, 1985).
///
/// ```
/// use kadenz_ethercat::motion::trajectory::{Limits, Quintic, Trajectory};
///
/// let trajectory = Quintic::between(0.0, 1.0, Limits { velocity: 1.0, acceleration: 10.0 });
/// assert!((trajectory.duration() - 1.875).abs() < 1e-9);
/// let half = trajectory.at(trajectory.duration() / 2.0);
/// assert!((half.position - 0.5).abs() < 1e-9 && (half.velocity - 1.0).abs() < 1e-9);
/// ```
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quintic {
    start: Point,
    end: Point,
    duration: f64,
    /// Of powers 0 to 5 of time over duration.
    coefficients: [f64; 6],
}

impl Quintic {
    /// From one point to another in so many seconds; with none, it is at its end at once.
    #[must_use]
    pub fn new(start: Point, end: Point, duration: f64) -> Self {
        let t = if duration.is_finite() {
            duration.max(0.0)
        } else {
            0.0
        };
        let (v0, v1) = (start.velocity * t, end.velocity * t);
        let (a0, a1) = (start.acceleration * t * t, end.acceleration * t * t);
        let distance = end.position - start.position;
        Self {
            start,
            end,
            duration: t,
            coefficients: [
                start.position,
                v0,
                a0 / 2.0,
                10.0 * distance - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
                -15.0 * distance + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
                6.0 * distance - 3.0 * (v0 + v1) - 0.5 * (a0 - a1),
            ],
        }
    }

    /// From rest to rest, as fast as the limits allow.
    ///
    /// The greatest velocity is 15/8 of the mean one, at half time; the greatest acceleration is 10/sqrt(3) times the
    /// distance over the square of the duration.
    #[must_use]
    pub fn between(from: f64, to: f64, limits: Limits) -> Self {
        let distance = (to - from).abs();
        let by_velocity = 1.875 * distance / limits.velocity;
        let by_acceleration = (10.0 / 3.0_f64.sqrt() * distance / limits.acceleration).sqrt();
        let duration = by_velocity.max(by_acceleration);
        Self::new(Point::at_rest(from), Point::at_rest(to), duration)
    }
}

impl Trajectory for Quintic {
    fn at(&self, seconds: f64) -> Point {
        if seconds >= self.duration {
            return self.end;
        }
        if seconds <= 0.0 {
            return self.start;
        }
        let [c0, c1, c2, c3, c4, c5] = self.coefficients;
        let s = seconds / self.duration;
        let position = c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))));
        let slope = c1 + s * (2.0 * c2 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)));
        let bend = 2.0 * c2 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5));
        Point {
            position,
            velocity: slope / self.duration,
            acceleration: bend / (self.duration * self.duration),
        }
    }

    fn duration(&self) -> f64 {
        self.duration
    }
}

/// The fastest trajectory from rest to rest within limits of velocity and acceleration; its acceleration jumps. Where
/// the distance is too short for that velocity, its velocity is a triangle.
///
/// ```
/// use kadenz_ethercat::motion::trajectory::{Limits, Trajectory, Trapezoid};
///
/// let trajectory = Trapezoid::between(0.0, -2.0, Limits { velocity: 1.0, acceleration: 2.0 });
/// assert_eq!(trajectory.duration(), 2.5);
/// assert_eq!(trajectory.at(1.0).velocity, -1.0);
/// ```
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
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
        let distance = (to - from).abs();
        let sign = (to - from).signum();
        // v = sqrt(way * a) is the top of the triangle.
        let top = limits.velocity.min((distance * limits.acceleration).sqrt());
        let ramp = top / limits.acceleration;
        let cruise = if top > 0.0 {
            (distance / top - ramp).max(0.0)
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

/// A sine about a middle. It swells over its first period by a smooth step, and fades over its last, so that
/// it begins and ends at rest: position, velocity and acceleration are continuous.
///
/// ```
/// use kadenz_ethercat::motion::trajectory::{Sine, Trajectory};
///
/// let trajectory = Sine { middle: 0.5, amplitude: 0.2, frequency: 1.0, periods: None };
/// assert_eq!(trajectory.at(0.0).position, 0.5);
/// assert!((trajectory.at(7.25).position - 0.7).abs() < 1e-9);
/// ```
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sine {
    /// In rad.
    pub middle: f64,
    /// In rad.
    pub amplitude: f64,
    /// In Hz, above 0.
    pub frequency: f64,
    /// Number of periods, 2 or more; `None` for no end.
    pub periods: Option<u32>,
}

impl Sine {
    /// Bounds of its velocity and acceleration, swelling and fading with them.
    #[must_use]
    pub(crate) fn limits(&self) -> Limits {
        let (a, f) = (self.amplitude.abs(), self.frequency);
        let omega = TAU * f;
        // The step's slope is at most 15/8 a period, its bend 10/sqrt(3) a period squared.
        let bend = 10.0 / 3.0_f64.sqrt();
        Limits {
            velocity: a * (omega + 1.875 * f),
            acceleration: a * (omega * omega + 2.0 * 1.875 * f * omega + bend * f * f),
        }
    }

    /// The beginning, and then a sine without an end.
    fn fade_in(&self, t: f64) -> Point {
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
            return self.fade_in(seconds);
        }
        // The second half is the first one backwards, on the other side of the middle.
        let first = self.fade_in(duration - seconds);
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

#[cfg(test)]
mod tests;
