//! What a subscription expects of the messages it receives.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use crate::provider::Stamps;

/// What a subscription expects; what breaks it is counted ([`Counters`](super::Counters)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contract {
    /// The longest span from one message to the next, as they arrive. Longer ones are counted.
    pub deadline: Option<Duration>,
    /// How old a message may be when it is asked for, from the kernel's stamp where there is one.
    /// Older ones are counted and not handed over.
    pub max_age: Option<Duration>,
}

/// What a contract says of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judgement {
    /// When the message was taken.
    pub(super) taken: MonotonicTime,
    /// Whether it came longer after the last one than allowed.
    pub(super) is_missed: bool,
    /// Whether it is too old to be handed over.
    pub(super) is_too_old: bool,
}

impl Contract {
    /// What it says of a message that is asked for now, `last` being when the one before was taken.
    pub(super) fn judge(
        &self,
        last: Option<MonotonicTime>,
        stamps: &Stamps,
        now: MonotonicTime,
    ) -> Judgement {
        Judgement {
            taken: stamps.taken,
            is_missed: self.missed(last, stamps.taken),
            is_too_old: self.too_old(stamps.kernel.unwrap_or(stamps.taken), now),
        }
    }

    fn missed(&self, last: Option<MonotonicTime>, this: MonotonicTime) -> bool {
        let (Some(deadline), Some(last)) = (self.deadline, last) else {
            return false;
        };
        this.remaining(last) > deadline
    }

    fn too_old(&self, came: MonotonicTime, now: MonotonicTime) -> bool {
        self.max_age.is_some_and(|most| now.remaining(came) > most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * MS)
    }

    #[test]
    fn a_span_is_missed_when_it_is_longer_than_the_deadline() {
        let contract = Contract {
            deadline: Some(Duration::from_millis(2)),
            ..Contract::default()
        };
        assert!(!contract.missed(None, at(100)));
        assert!(!contract.missed(Some(at(8)), at(10)));
        assert!(contract.missed(Some(at(7)), at(10)));
        assert!(!Contract::default().missed(Some(at(0)), at(10)));
    }

    #[test]
    fn a_message_is_too_old_when_it_waited_longer_than_allowed() {
        let contract = Contract {
            max_age: Some(Duration::from_millis(5)),
            ..Contract::default()
        };
        assert!(!contract.too_old(at(5), at(10)));
        assert!(contract.too_old(at(4), at(10)));
        assert!(!contract.too_old(at(11), at(10)), "stamped after the look");
    }
}
