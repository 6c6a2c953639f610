//! What the sending thread tells the receiving one: a bounded ring, no lock.

use kadenz_record::samples::{self, Sample, SampleConsumer, SampleProducer};

/// Beats that may wait to be told; more than a minute at 1 kHz.
const CAPACITY: usize = 1 << 17;

/// What happened at the sender. Times are ns since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// A beat's packets are about to be handed to the system.
    Leaving {
        sequence: u32,
        intended_ns: i64,
        sent_ns: i64,
    },
    /// They were: `accepted` of them, the first of which has this key among the port's transmit
    /// stamps, and `refused` others.
    Left {
        sequence: u32,
        first_key: u64,
        accepted: u32,
        refused: u32,
    },
    /// Nothing more will be sent.
    Over,
}

/// The sender's end.
pub(super) struct Announcer(SampleProducer);

/// The receiver's end.
pub(super) struct Announced(SampleConsumer);

/// Both ends of a ring.
pub(super) fn departures() -> (Announcer, Announced) {
    let (producer, consumer) = samples::ring(CAPACITY);
    (Announcer(producer), Announced(consumer))
}

/// The upper half of a sequence says what it is.
const LEFT: u64 = 1 << 32;
const OVER: u64 = 2 << 32;

impl Announcer {
    /// Tells it, before the packet can be answered. False if there is no room: the receiver has not
    /// run for a minute, and what is sent now would look like a stranger's.
    pub(super) fn tell(&mut self, departure: Departure) -> bool {
        self.0.push(departure.into())
    }
}

impl Announced {
    /// What was told longest ago.
    pub(super) fn next(&mut self) -> Option<Departure> {
        self.0.pop().map(Departure::from)
    }
}

impl From<Departure> for Sample {
    fn from(departure: Departure) -> Self {
        match departure {
            Departure::Leaving {
                sequence,
                intended_ns,
                sent_ns,
            } => Self {
                sequence: sequence.into(),
                intended_ns,
                actual_ns: sent_ns,
                value_ns: 0,
            },
            Departure::Left {
                sequence,
                first_key,
                accepted,
                refused,
            } => Self {
                sequence: LEFT | u64::from(sequence),
                intended_ns: first_key.cast_signed(),
                actual_ns: accepted.into(),
                value_ns: refused.into(),
            },
            Departure::Over => Self {
                sequence: OVER,
                ..Self::default()
            },
        }
    }
}

impl From<Sample> for Departure {
    fn from(sample: Sample) -> Self {
        let sequence = (sample.sequence & u64::from(u32::MAX)) as u32;
        match sample.sequence & !u64::from(u32::MAX) {
            0 => Self::Leaving {
                sequence,
                intended_ns: sample.intended_ns,
                sent_ns: sample.actual_ns,
            },
            LEFT => Self::Left {
                sequence,
                first_key: sample.intended_ns.cast_unsigned(),
                accepted: u32::try_from(sample.actual_ns).unwrap_or(u32::MAX),
                refused: u32::try_from(sample.value_ns).unwrap_or(u32::MAX),
            },
            _ => Self::Over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_is_heard() {
        let (mut announcer, mut announced) = departures();
        let all = [
            Departure::Leaving {
                sequence: u32::MAX,
                intended_ns: -1,
                sent_ns: i64::MAX,
            },
            Departure::Left {
                sequence: 7,
                first_key: u64::MAX,
                accepted: 40,
                refused: 1,
            },
            Departure::Over,
        ];
        for departure in all {
            assert!(announcer.tell(departure));
        }
        for departure in all {
            assert_eq!(announced.next(), Some(departure));
        }
        assert_eq!(announced.next(), None);
    }
}
