//! Sticha's two timer suites, for every sleeper.
//!
//! Source: J. Sticha, *Validating the Real-Time Capabilities of the ROS Communication Middleware*
//! (2014), sections 4.1 (one-shot timer) and 4.2 (cyclic timer).

mod cyclic;
mod oneshot;
mod suite;

use std::fmt;
use std::str::FromStr;

pub use cyclic::{CyclicMeter, CyclicPlan, CyclicSamples, cyclic};
pub use oneshot::{OneShotMeter, OneShotPlan, OneShotRecorders, OneShotSamples, oneshot};
pub use suite::{SuitePlan, cyclic_suite, oneshot_suite};

// What a loop does with the beats that it missed.

/// What a loop does after a wake-up that came late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Serves every beat it missed at once, until it is on the beat again: what Sticha's timers
    /// do. The rate is kept, and after a stall intervals are next to nothing.
    #[default]
    CatchUp,
    /// Leaves the missed beats out and goes on with the next one: what a control loop does that must
    /// not send the same command thrice. A missed beat is recorded as late as it would have been
    /// served, so that no stall is hidden; intervals are between real wake-ups.
    Skip,
    /// Counts each period from the last wake-up: the loop of H. Yoon, J. Song and J. Lee,
    /// "Real-Time Performance Analysis in Linux-Based Robotic Systems" (2009), figure 4. No period
    /// is ever too short, every delay adds to all that follow, and a stall is one long period.
    Relative,
}

impl Pace {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::CatchUp, Self::Skip, Self::Relative];
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CatchUp => "catch-up",
            Self::Skip => "skip",
            Self::Relative => "relative",
        })
    }
}

/// A word that names no pace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid pace; write catch-up, skip or relative")]
pub struct ParsePaceError(String);

impl FromStr for Pace {
    type Err = ParsePaceError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let named = |pace: &Self| pace.to_string() == word;
        let pace = Self::ALL.into_iter().find(named);
        pace.ok_or_else(|| ParsePaceError(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_read_as_it_is_shown() {
        for pace in Pace::ALL {
            assert_eq!(pace.to_string().parse(), Ok(pace));
        }
        assert!("slow".parse::<Pace>().is_err());
    }
}
