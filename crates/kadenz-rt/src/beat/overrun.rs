//! The policy of a loop for the beats that it missed.

use std::fmt;
use std::str::FromStr;

use super::Beat;
use crate::clock::MonotonicTime;

/// The policy of a loop that was not ready in time for a beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overrun {
    /// Serves every beat, the late ones at once, until the loop is on the beat again, as Sticha's timers do. This
    /// keeps the rate; after a stall the periods are almost zero.
    CatchUp,
    /// Leaves out the beats that have passed and continues with the next one: no command is sent twice within one
    /// cycle.
    #[default]
    Skip,
    /// Counts each period from the last wake-up: the loop of H. Yoon, J. Song and J. Lee, "Real-Time Performance
    /// Analysis in Linux-Based Robotic Systems" (2009), figure 4. No period is ever too short, and every delay adds to
    /// all that follow.
    Relative,
    /// Ends the loop at the first overrun.
    Stop,
}

impl Overrun {
    /// All policies, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::CatchUp, Self::Skip, Self::Relative, Self::Stop];
    /// The policies under which a loop continues: those that a measurement of lateness can use.
    pub const GOING_ON: [Self; 3] = [Self::CatchUp, Self::Skip, Self::Relative];
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CatchUp => "catch-up",
            Self::Skip => "skip",
            Self::Relative => "relative",
            Self::Stop => "stop",
        })
    }
}

/// Why a text names no such policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid overrun policy; write catch-up, skip, relative or stop")]
pub struct ParseOverrunError(String);

impl FromStr for Overrun {
    type Err = ParseOverrunError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let named = |policy: &Self| policy.to_string() == word;
        let policy = Self::ALL.into_iter().find(named);
        policy.ok_or_else(|| ParseOverrunError(word.to_owned()))
    }
}

/// The beat that a loop serves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it is due.
    pub intended: MonotonicTime,
    /// Whether the beat after the one before had passed already, so that its deadline was missed.
    pub is_late: bool,
    /// Beats left out before it.
    pub skipped: u64,
}

impl Beat {
    /// Moves on to the beat that a loop serves next when it is back at `now` and began its last cycle at `woken`.
    /// Only [`Overrun::Relative`] uses `woken`; `None` counts from the start. Returns `None` where the loop missed
    /// a beat and the policy ends it.
    ///
    /// A beat that is due at `now` itself is on time: it is neither late nor left out.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kadenz_rt::beat::{Beat, Overrun};
    /// use kadenz_rt::clock::MonotonicTime;
    ///
    /// let mut beat = Beat::new(MonotonicTime::from_ns(0), Duration::from_nanos(10));
    /// let back = MonotonicTime::from_ns(25);
    /// let step = beat.step(Overrun::Skip, None, back).unwrap();
    /// assert_eq!((step.intended.as_ns(), step.skipped), (30, 2));
    /// ```
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub fn step(
        &mut self,
        policy: Overrun,
        woken: Option<MonotonicTime>,
        now: MonotonicTime,
    ) -> Option<Step> {
        let next = self.next();
        let mut intended = match woken.filter(|_| policy == Overrun::Relative) {
            Some(woken) => woken + self.interval.as_duration(),
            None => next,
        };
        let is_late = now > intended;
        let mut skipped = 0;
        match policy {
            Overrun::Stop if is_late => return None,
            Overrun::Skip if is_late => {
                skipped = 1 + self.skip_to(now.offset_by_ns(-1));
                intended = self.next();
            }
            _ => {}
        }
        Some(Step {
            intended,
            is_late,
            skipped,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(ns: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ns)
    }

    /// The beat that a loop serves next after it served beat 1, at 10 ns, and is back at `now`.
    fn back(policy: Overrun, woken: u64, now: u64) -> Option<(u64, bool, u64)> {
        let mut beat = Beat::new(at(0), Duration::from_nanos(10));
        beat.next();
        let step = beat.step(policy, Some(at(woken)), at(now))?;
        Some((step.intended.as_ns(), step.is_late, step.skipped))
    }

    #[test]
    fn a_policy_is_read_as_it_is_shown() {
        for policy in Overrun::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        let refused = "slow".parse::<Overrun>().unwrap_err().to_string();
        assert!(refused.ends_with("write catch-up, skip, relative or stop"));
    }

    #[test]
    fn each_policy_goes_on_from_a_stall_in_its_own_way() {
        assert_eq!(back(Overrun::CatchUp, 12, 45), Some((20, true, 0)));
        assert_eq!(back(Overrun::Skip, 12, 45), Some((50, true, 3)));
        assert_eq!(back(Overrun::Relative, 12, 45), Some((22, true, 0)));
        assert_eq!(back(Overrun::Stop, 12, 45), None);
    }

    #[test]
    fn a_beat_that_is_due_now_is_on_time() {
        for policy in [Overrun::CatchUp, Overrun::Skip, Overrun::Stop] {
            assert_eq!(back(policy, 12, 20), Some((20, false, 0)), "{policy}");
        }
        assert_eq!(back(Overrun::Relative, 12, 22), Some((22, false, 0)));
        assert_eq!(back(Overrun::Stop, 12, 21), None);
        // Nor does it leave out a beat that falls on the end of a stall.
        assert_eq!(back(Overrun::Skip, 12, 40), Some((40, true, 2)));
        assert_eq!(back(Overrun::Skip, 12, 41), Some((50, true, 3)));
    }
}
