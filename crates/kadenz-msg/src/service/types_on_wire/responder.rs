use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::tuning::Tuning;

use super::{ANSWERS, MAX_TEXT, QUESTIONS};
use crate::bus::{
    AdvertiseError, Aggregator, Bus, PublishedType, Publisher, RecvError, SubscribeError,
    SubscriptionOptions, TunedThread,
};
use crate::message::{Fingerprint, Message};
use crate::service::messages::{TypeAnswer, TypeQuery};
use crate::types::Types;

/// The maximum number of waiting questions and answers of other programs.
const QUEUE: usize = 100;

/// The interval at which the thread checks whether it must end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Describes this bus's types to other programs. Dropping it ends that.
#[derive(Debug)]
pub struct TypeResponder {
    answers: Arc<AtomicU64>,
    _thread: TunedThread,
}

/// The reason for which types are not described.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    /// There is no type of that name.
    #[error("there is no type {name:?} among those given")]
    Unknown {
        /// The name of the type.
        name: String,
    },
    /// The text is too long to be accepted by a receiver.
    #[error("the text of {name} has {length} bytes; {MAX_TEXT} are possible")]
    TooLong {
        /// The name of the type.
        name: String,
        /// The length of its text in bytes.
        length: usize,
    },
    /// Questions cannot be received.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// Answers cannot be sent.
    #[error(transparent)]
    Advertise(#[from] AdvertiseError),
}

impl Bus {
    /// Makes a type known to this bus, for the answers of [`Bus::serve_types`]. Types of
    /// [publishers](Bus::publisher) are known already; those of [`Bus::publish`] are not.
    ///
    /// # Real-time safety
    /// Not real-time safe; does nothing for a type that has no text of its own.
    pub fn announce<M: Message>(&self) {
        self.published().add::<M>();
    }

    /// The same for a type that is known only at run time.
    ///
    /// # Errors
    /// If there is no such type, or its text is longer than 256 KiB.
    pub fn announce_type(&self, types: &Types, name: &str) -> Result<(), AnnounceError> {
        let found = types.fingerprint(name).zip(types.text_of(name));
        let name = name.to_owned();
        let Some((fingerprint, text)) = found else {
            return Err(AnnounceError::Unknown { name });
        };
        if text.len() > MAX_TEXT {
            let length = text.len();
            return Err(AnnounceError::TooLong { name, length });
        }
        self.published().add_type(PublishedType {
            fingerprint,
            name: Cow::Owned(name),
            text: Cow::Owned(text),
        });
        Ok(())
    }

    /// Answers questions about the types that this bus publishes or that were [announced](Bus::announce), now
    /// or later, on a thread of its own with the given tuning, which receives [beside](Bus::beside) this bus.
    /// Waits until the thread is tuned.
    ///
    /// # Errors
    /// If the provider cannot send or receive, or no thread can be started.
    pub fn serve_types(&self, tuning: Tuning) -> Result<TypeResponder, AnnounceError> {
        let queue = SubscriptionOptions::with_queue(QUEUE);
        let mut received = self.beside().aggregator_with(QUESTIONS, &queue)?;
        received.add(ANSWERS)?;
        let answers = Arc::new(AtomicU64::new(0));
        let mut answering = TypeAnswerThread {
            publisher: self.publisher(ANSWERS).map_err(AnnounceError::Advertise)?,
            bus: self.clone(),
            received,
            schedule: AnswerSchedule::default(),
            answers: Arc::clone(&answers),
        };
        let thread = TunedThread::start("kadenz-types", tuning, move |stop| {
            while !stop.load(Ordering::Acquire) && answering.go_on() {}
        });
        Ok(TypeResponder {
            answers,
            _thread: thread.map_err(SubscribeError::Thread)?,
        })
    }
}

impl TypeResponder {
    /// Returns how many answers it has sent.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }
}

/// The state of the thread.
struct TypeAnswerThread {
    bus: Bus,
    received: Aggregator,
    publisher: Publisher<TypeAnswer>,
    schedule: AnswerSchedule,
    answers: Arc<AtomicU64>,
}

impl TypeAnswerThread {
    /// Reads questions and sends answers for a while; `false` if no further message will arrive.
    fn go_on(&mut self) -> bool {
        let now = clock::now();
        while let Some(fingerprint) = self.schedule.due(now) {
            self.answer(fingerprint);
        }
        let due = self.schedule.next_due().map(|it| it.remaining(now));
        let wait = due.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
        match self.receive(wait) {
            Ok(()) => true,
            Err(RecvError::Ended) => false,
            Err(_) => {
                // A broken connection does not recover within microseconds.
                std::thread::sleep(POLL_INTERVAL);
                true
            }
        }
    }

    fn receive(&mut self, wait: Duration) -> Result<(), RecvError> {
        let Some(raw) = self.received.next_message(wait)? else {
            return Ok(());
        };
        let now = clock::now();
        if let Ok(query) = raw.decode::<TypeQuery>() {
            let fingerprint = Fingerprint(query.fingerprint.cast_unsigned());
            if self.bus.published().find(fingerprint).is_some() {
                self.schedule.asked(fingerprint, now);
            }
        } else if let Ok(answer) = raw.decode::<TypeAnswer>() {
            let fingerprint = Fingerprint(answer.fingerprint.cast_unsigned());
            let ours = self.bus.published().find(fingerprint);
            // Another answer to the question does not keep this program silent.
            if ours.is_some_and(|it| it.name == answer.name && it.text == answer.text) {
                self.schedule.answered(fingerprint, now);
            }
        }
        Ok(())
    }

    fn answer(&mut self, fingerprint: Fingerprint) {
        let Some(published) = self.bus.published().find(fingerprint) else {
            return;
        };
        let answer = TypeAnswer {
            fingerprint: fingerprint.0.cast_signed(),
            name: published.name.into_owned(),
            text: published.text.into_owned(),
        };
        // A program without an answer repeats its question.
        if self.publisher.publish(&answer).is_ok() {
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// The times of answers; sans-IO.

/// The time in which other programs may answer first. Each program waits for a random part of it.
const WAIT: Duration = Duration::from_millis(20);

/// The minimum time between two answers about one type, however many questions arrive.
const REST: Duration = Duration::from_millis(400);

/// The questions about known types: the waiting and the given answers, a place a type.
#[derive(Debug, Default)]
pub(super) struct AnswerSchedule {
    types: BTreeMap<Fingerprint, Turn>,
    drawing: RandomState,
}

#[derive(Debug, Clone, Copy)]
enum Turn {
    /// The answer is due then.
    Due(MonotonicTime),
    /// Answered, by any program; pauses until then.
    Rests(MonotonicTime),
}

impl AnswerSchedule {
    /// Notes a question about a type that this program knows.
    pub(super) fn asked(&mut self, fingerprint: Fingerprint, now: MonotonicTime) {
        match self.types.get(&fingerprint) {
            Some(Turn::Due(_)) => return,
            Some(Turn::Rests(until)) if now < *until => return,
            _ => {}
        }
        let drawn = self.drawing.hash_one((fingerprint, now)) % wait_ns();
        let due = now + Duration::from_nanos(drawn);
        self.types.insert(fingerprint, Turn::Due(due));
    }

    /// Notes that another program gave the same answer.
    pub(super) fn answered(&mut self, fingerprint: Fingerprint, now: MonotonicTime) {
        self.types.insert(fingerprint, Turn::Rests(now + REST));
    }

    /// Returns a type to describe now; it counts as described then.
    pub(super) fn due(&mut self, now: MonotonicTime) -> Option<Fingerprint> {
        let mut types = self.types.iter();
        let due = types.find(|(_, turn)| matches!(turn, Turn::Due(due) if *due <= now));
        let fingerprint = *due?.0;
        self.answered(fingerprint, now);
        Some(fingerprint)
    }

    /// Returns the time of the next answer.
    pub(super) fn next_due(&self) -> Option<MonotonicTime> {
        let turns = self.types.values();
        let due = turns.filter_map(|turn| match turn {
            Turn::Due(due) => Some(*due),
            Turn::Rests(_) => None,
        });
        due.min()
    }
}

fn wait_ns() -> u64 {
    u64::try_from(WAIT.as_nanos()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: Fingerprint = Fingerprint(7);

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_type_is_described_within_the_wait_and_not_again_before_it_has_rested() {
        let mut schedule = AnswerSchedule::default();
        schedule.asked(TYPE, at(0));
        schedule.asked(TYPE, at(1));
        assert!(schedule.next_due().unwrap() < at(20));
        assert_eq!(schedule.due(at(20)), Some(TYPE));
        assert_eq!((schedule.due(at(20)), schedule.next_due()), (None, None));
        for ms in 21..420 {
            schedule.asked(TYPE, at(ms));
            assert_eq!(
                schedule.due(at(ms)),
                None,
                "a flood of questions has one answer"
            );
        }
        schedule.asked(TYPE, at(420));
        assert_eq!(schedule.due(at(440)), Some(TYPE));
    }

    #[test]
    fn a_program_that_receives_the_same_answer_stays_silent() {
        let mut schedule = AnswerSchedule::default();
        schedule.asked(TYPE, at(0));
        schedule.answered(TYPE, at(0));
        schedule.asked(TYPE, at(100));
        assert_eq!((schedule.due(at(300)), schedule.next_due()), (None, None));
    }

    #[test]
    fn programs_wait_for_different_moments() {
        let dues = (0..20).map(|_| {
            let mut schedule = AnswerSchedule::default();
            schedule.asked(TYPE, at(0));
            schedule.next_due().unwrap()
        });
        let dues: std::collections::BTreeSet<_> = dues.collect();
        assert!(dues.len() > 15, "{dues:?}");
    }
}
