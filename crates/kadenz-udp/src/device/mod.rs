//! What answers: the device's side.

mod echo;

pub use echo::{Answer, Counts, Echo, PerSecond, Policy, RateLimit, Why};
