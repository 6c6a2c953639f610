//! Sticha's two timer suites, for every sleeper.
//!
//! Source: J. Sticha, *Validating the Real-Time Capabilities of the ROS Communication Middleware*
//! (2014), sections 4.1 (one-shot timer) and 4.2 (cyclic timer).

mod cyclic;
mod oneshot;
mod probe;
mod suite;

pub use cyclic::{CyclicMeter, CyclicPlan, CyclicSamples, cyclic};
pub use oneshot::{OneShotMeter, OneShotPlan, OneShotRecorders, OneShotSamples, oneshot};
pub use probe::{TimerProbe, cyclic_probe, oneshot_probe};
pub use suite::{SuitePlan, cyclic_suite, oneshot_suite};

use kadenz_rt::beat::Overrun;

use crate::measuring::ExperimentError;

/// A loop that stops at its first late wake-up measures no lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` ends a loop at the first late wake-up, which is what is measured; write catch-up, skip or relative",
    Overrun::Stop
)]
pub struct StopsError;

impl From<StopsError> for ExperimentError {
    fn from(error: StopsError) -> Self {
        Self::Timer(Box::new(error))
    }
}

/// The policy, where a loop goes on under it.
///
/// # Errors
/// [`StopsError`] for [`Overrun::Stop`].
pub fn going_on(policy: Overrun) -> Result<Overrun, StopsError> {
    match policy {
        Overrun::Stop => Err(StopsError),
        policy => Ok(policy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_stops_is_refused_with_those_that_go_on() {
        let refused = going_on(Overrun::Stop).unwrap_err().to_string();
        for policy in Overrun::GOING_ON {
            assert_eq!(going_on(policy), Ok(policy));
            assert!(refused.contains(&policy.to_string()), "{refused}");
        }
    }
}
