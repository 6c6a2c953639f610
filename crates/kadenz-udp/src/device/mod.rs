//! What answers: the device's side.

mod echo;
mod policy;
mod rate;

pub use echo::{Answer, Counts, Echo, Why};
pub use policy::Policy;
pub use rate::{PerSecond, RateLimit};
