//! Sticha's two timer suites, for every sleeper.
//!
//! Source: J. Sticha, *Validating the Real-Time Capabilities of the ROS Communication Middleware*
//! (2014), sections 4.1 (one-shot timer) and 4.2 (cyclic timer).

mod cyclic;
mod oneshot;
mod pace;
mod suite;

pub use cyclic::{CyclicMeter, CyclicPlan, CyclicSamples, cyclic};
pub use oneshot::{OneShotMeter, OneShotPlan, OneShotRecorders, OneShotSamples, oneshot};
pub use pace::{Pace, ParsePaceError};
pub use suite::{SuitePlan, cyclic_suite, oneshot_suite};
