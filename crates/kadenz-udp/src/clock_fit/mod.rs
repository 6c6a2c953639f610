//! How far a device's clock is from the controller's, and so how long each way took.
//!
//! # Method
//!
//! The controller sends at `t1`, the device receives at `t2` and answers at `t3` of its own clock, the
//! controller receives at `t4`. Neither way takes less than no time, so the device's clock is ahead of
//! the controller's by at most `t2 - t1` at `t1`, and by at least `t3 - t4` at `t4`: two bounds that hold
//! whatever queues were on the way, and however unlike the two ways are. Halfway between them is the
//! offset as NTP computes it (RFC 5905 section 8).
//!
//! [`ClockFit`] keeps the exchange with the shortest round trip of each window, as NTP's clock filter
//! does (RFC 5905 section 10), and takes the offset as a straight line in time, as S. Moon, P. Skelly and
//! D. Towsley do (*Estimation and Removal of Clock Skew from Network Delay Measurements*, INFOCOM 1999).
//! [`Bounds`] are the lowest and the highest value that any line takes which keeps all bounds: the exact
//! solution of that linear program, in integers, rounded outwards.
//!
//! # Clocks that somebody synchronises
//!
//! Where PTP or NTP keeps both clocks to one time, they tell each way by themselves, as well as they
//! agree. [`Agreement`] takes such a claim, narrows it by the bounds above, and says where they refute it.
//!
//! # What the error bound rests on
//!
//! The true offset is within the stated error if, over the windows kept,
//! - both clocks tell times rounded down by at most the stated resolutions,
//! - the device's frequency strays from a constant one by at most the stated wander, and
//! - that one differs from the controller's by at most [`MAX_DRIFT_PPB`].
//!
//! At the time of the exchange with the shortest round trip the error is at most half of what that spent
//! on the way, the resolutions, and 2 % of the round trip; usually it is less, because each window
//! tightens the others. Whether both ways took the same time is not assumed, and cannot be known.

mod agreement;
mod bounds;
mod exchange;
mod fit;
mod program;
pub mod sim;

pub use agreement::{Agreement, Contradicted};
pub use bounds::{Bounds, Estimate, OneWay, Span};
pub use exchange::{Exchange, Implausible};
pub use fit::{ClockFit, FitSlot, NoFit, Options};

/// The most that the frequency of a device's clock is taken to differ from the controller's: 2 %, what
/// the RC oscillator inside of a microcontroller keeps. Quartz is hundreds of times better; more is a
/// clock in another unit.
pub const MAX_DRIFT_PPB: u32 = 20_000_000;
