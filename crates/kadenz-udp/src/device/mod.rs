//! The device's side: it answers probes.

mod echo;

pub use echo::{Answer, Echo, EchoCounts, PerSecond, Policy, RateLimit, Why};
