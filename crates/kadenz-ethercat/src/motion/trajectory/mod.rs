//! Where an axis is to be at each time: quintic, trapezoid, sine.
//!
//! Everything is at the joint's side and in SI units: rad, rad/s, rad/s2, s. Nothing here allocates; times
//! before the start give the start, those after the end the end, at rest.

mod quintic;
mod sine;
mod trapezoid;

#[cfg(test)]
mod tests;

pub use quintic::Quintic;
pub use sine::Sine;
pub use trapezoid::Trapezoid;

/// Where an axis is, and how it moves.
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
    /// At rest there.
    #[must_use]
    pub(crate) const fn at_rest(position: f64) -> Self {
        Self {
            position,
            velocity: 0.0,
            acceleration: 0.0,
        }
    }
}

/// What a move may not exceed.
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
    pub(crate) fn make_sense(&self) -> bool {
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

/// A way in time.
///
/// # Real-time safety
/// Real-time safe.
pub trait Trajectory {
    /// Where the axis is to be so many seconds after the start.
    fn at(&self, seconds: f64) -> Point;

    /// How long it takes in s; infinite for one without an end.
    fn duration(&self) -> f64;
}
