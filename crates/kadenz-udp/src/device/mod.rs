//! What answers: the device's side.

mod echo;

pub use echo::{Answer, Echo, EchoCounts, PerSecond, Policy, RateLimit, Why};
