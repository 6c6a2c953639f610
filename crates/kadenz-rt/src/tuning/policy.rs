use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::units::{self, Span};

/// How the kernel chooses when a thread runs. It is a property of one thread, not of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// `SCHED_OTHER`: shares the processor fairly.
    #[default]
    Other,
    /// `SCHED_FIFO` with a priority from 1 to 99: runs until it sleeps or a higher one wakes.
    Fifo(u8),
    /// `SCHED_RR` with a priority from 1 to 99: as FIFO, taking turns with its equals.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`: `runtime` of processor time in each `period`, complete by `deadline`.
    Deadline {
        /// Processor time a period.
        runtime: Duration,
        /// The deadline for it, from the start of a period.
        deadline: Duration,
        /// Time between two starts.
        period: Duration,
    },
}

impl Policy {
    /// Whether threads of this policy run before all ordinary ones.
    #[must_use]
    pub const fn is_real_time(self) -> bool {
        !matches!(self, Self::Other)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.pad("SCHED_OTHER"),
            Self::Fifo(priority) => write!(f, "SCHED_FIFO {priority}"),
            Self::RoundRobin(priority) => write!(f, "SCHED_RR {priority}"),
            Self::Deadline {
                runtime,
                deadline,
                period,
            } if deadline == period => {
                write!(f, "SCHED_DEADLINE {}/{}", Span(*runtime), Span(*period))
            }
            Self::Deadline {
                runtime,
                deadline,
                period,
            } => {
                let [runtime, deadline, period] = [*runtime, *deadline, *period].map(Span);
                write!(f, "SCHED_DEADLINE {runtime}/{deadline}/{period}")
            }
        }
    }
}

/// Why a text is not a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParsePolicyError {
    /// No policy has that name.
    #[error(
        "`{0}` is not a valid scheduling policy; write other, fifo:80, rr:80 or deadline:200us/1ms"
    )]
    Unknown(String),
    /// Not a number from 1 to 99.
    #[error(
        "`{0}` is not a valid real-time priority; write a number from 1 (lowest) to 99 (highest)"
    )]
    Priority(String),
    /// Not two or three times.
    #[error(
        "`{0}` is not a valid deadline reservation; write deadline:RUNTIME/PERIOD or deadline:RUNTIME/DEADLINE/PERIOD with \
         1.024us <= runtime <= deadline <= period, for example deadline:200us/1ms"
    )]
    Deadline(String),
}

impl FromStr for Policy {
    type Err = ParsePolicyError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let (name, argument) = word.split_once(':').unwrap_or((word, ""));
        match name.to_ascii_lowercase().as_str() {
            "other" if !word.contains(':') => Ok(Self::Other),
            "fifo" if !argument.is_empty() => priority(argument).map(Self::Fifo),
            "rr" if !argument.is_empty() => priority(argument).map(Self::RoundRobin),
            "deadline" => deadline(argument),
            _ => Err(ParsePolicyError::Unknown(word.to_owned())),
        }
    }
}

fn priority(word: &str) -> Result<u8, ParsePolicyError> {
    let number = word
        .parse()
        .ok()
        .filter(|priority| (1..=99).contains(priority));
    number.ok_or_else(|| ParsePolicyError::Priority(word.to_owned()))
}

fn deadline(word: &str) -> Result<Policy, ParsePolicyError> {
    let spans: Result<Vec<Duration>, _> = word.split('/').map(units::duration).collect();
    let (runtime, deadline, period) = match spans.as_deref() {
        Ok(&[runtime, period]) => (runtime, period, period),
        Ok(&[runtime, deadline, period]) => (runtime, deadline, period),
        _ => return Err(ParsePolicyError::Deadline(word.to_owned())),
    };
    // The kernel's resolution: runtimes below 1024 ns are refused (sched(7)).
    if runtime < Duration::from_nanos(1024) || runtime > deadline || deadline > period {
        return Err(ParsePolicyError::Deadline(word.to_owned()));
    }
    Ok(Policy::Deadline {
        runtime,
        deadline,
        period,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_word_is_read_or_refused_without_panic(
            word in "(fifo:|rr:|deadline:)?[0-9a-zA-Z./:\u{b5}-]{0,24}",
        ) {
            let _ = word.parse::<Policy>();
        }
    }

    #[test]
    fn policies_are_read_as_users_write_them() {
        assert_eq!("other".parse(), Ok(Policy::Other));
        assert_eq!("fifo:80".parse(), Ok(Policy::Fifo(80)));
        assert_eq!("rr:1".parse(), Ok(Policy::RoundRobin(1)));
        let runtime = Duration::from_micros(200);
        let period = Duration::from_millis(1);
        assert_eq!(
            "deadline:200us/1ms".parse(),
            Ok(Policy::Deadline {
                runtime,
                deadline: period,
                period
            })
        );
        let deadline = Duration::from_micros(500);
        assert_eq!(
            "deadline:200us/0.5ms/1ms".parse(),
            Ok(Policy::Deadline {
                runtime,
                deadline,
                period
            })
        );
    }

    #[test]
    fn words_that_are_not_policies_are_refused() {
        for word in [
            "",
            "fifo",
            "fifo:0",
            "fifo:100",
            "fifo:x",
            "rr:",
            "other:3",
            "batch",
            "deadline",
            "deadline:1ms",
        ] {
            assert!(word.parse::<Policy>().is_err(), "{word}");
        }
        for word in [
            "deadline:2ms/1ms",
            "deadline:500ns/1ms",
            "deadline:0us/1ms",
            "deadline:-1us/1ms",
            "deadline:nans/1s",
        ] {
            assert!(word.parse::<Policy>().is_err(), "{word}");
        }
    }

    #[test]
    fn policies_are_shown_as_the_kernel_names_them() {
        assert_eq!(Policy::Fifo(80).to_string(), "SCHED_FIFO 80");
        assert_eq!(Policy::Other.to_string(), "SCHED_OTHER");
        let policy: Policy = "deadline:200us/1ms".parse().unwrap();
        assert_eq!(policy.to_string(), "SCHED_DEADLINE 200us/1ms");
    }
}
