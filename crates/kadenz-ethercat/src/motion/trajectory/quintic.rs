//! A polynomial of the fifth degree: the least that can choose position, velocity and acceleration at both
//! ends.

use super::{Limits, Point, Trajectory};

/// A way whose position, velocity and acceleration are continuous.
///
/// Craig, "Introduction to Robotics", chapter 7.3, quintic polynomials. From rest to rest it is the way of
/// least jerk (Flash and Hogan, 1985).
///
/// ```
/// use kadenz_ethercat::motion::trajectory::{Limits, Quintic, Trajectory};
///
/// let way = Quintic::between(0.0, 1.0, Limits { velocity: 1.0, acceleration: 10.0 });
/// assert!((way.duration() - 1.875).abs() < 1e-9);
/// let half = way.at(way.duration() / 2.0);
/// assert!((half.position - 0.5).abs() < 1e-9 && (half.velocity - 1.0).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quintic {
    start: Point,
    end: Point,
    duration: f64,
    /// Of powers 0 to 5 of time over duration.
    coefficients: [f64; 6],
}

impl Quintic {
    /// From one point to another in so many seconds; in none, it is at the end at once.
    #[must_use]
    pub fn new(start: Point, end: Point, duration: f64) -> Self {
        let t = if duration.is_finite() {
            duration.max(0.0)
        } else {
            0.0
        };
        let (v0, v1) = (start.velocity * t, end.velocity * t);
        let (a0, a1) = (start.acceleration * t * t, end.acceleration * t * t);
        let way = end.position - start.position;
        Self {
            start,
            end,
            duration: t,
            coefficients: [
                start.position,
                v0,
                a0 / 2.0,
                10.0 * way - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
                -15.0 * way + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
                6.0 * way - 3.0 * (v0 + v1) - 0.5 * (a0 - a1),
            ],
        }
    }

    /// From rest to rest, as fast as the limits allow.
    ///
    /// The greatest velocity is 15/8 of the mean one, at half time; the greatest acceleration is
    /// 10/sqrt(3) times the way over the square of the duration.
    #[must_use]
    pub fn between(from: f64, to: f64, limits: Limits) -> Self {
        let way = (to - from).abs();
        let by_velocity = 1.875 * way / limits.velocity;
        let by_acceleration = (10.0 / 3.0_f64.sqrt() * way / limits.acceleration).sqrt();
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
