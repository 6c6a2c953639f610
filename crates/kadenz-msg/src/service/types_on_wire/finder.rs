use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::requester::{FoundType, LookupStep, TypeRequester, WrongAnswer};
use super::{ANSWERS, Mismatch, QUESTIONS};
use crate::bus::{Bus, Publisher, RecvError, SendError, Subscription, SubscriptionOptions};
use crate::codec::DecodeError;
use crate::message::{Fingerprint, Message};
use crate::service::messages::{TypeAnswer, TypeQuery};
use crate::service::request::ClientError;

/// The maximum number of waiting answers.
const QUEUE: usize = 100;

/// The maximum number of answers of one look; the others wait for the next one.
const MAX_PER_POLL: usize = 100;

/// The duration of a wait before the next check whether to repeat a question.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Requests the types of fingerprints, and remembers them.
///
/// Bounded: 1000 types are kept, some 50 questions a second are sent, each at ever longer pauses.
///
/// # Real-time safety
/// Belongs to one thread; not real-time safe.
#[derive(Debug)]
pub struct TypeFinder {
    answers: Subscription<TypeAnswer>,
    answer: TypeAnswer,
    questions: Publisher<TypeQuery>,
    requester: TypeRequester,
    last_wrong: Option<WrongAnswer>,
    wrong: u64,
}

/// The present state of a fingerprint's lookup.
#[derive(Debug, Clone)]
pub enum LookupResult {
    /// The type of the fingerprint.
    Known(Arc<FoundType>),
    /// The type was requested, so many times, and no answer has arrived.
    Asked(u32),
}

/// The reason for which nothing was found, other than a missing answer.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The question was not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Nothing can be received.
    #[error(transparent)]
    Receive(#[from] RecvError),
}

impl TypeFinder {
    /// Returns a finder that knows no type yet.
    ///
    /// # Errors
    /// If the provider cannot send or receive.
    pub fn new(bus: &Bus) -> Result<Self, ClientError> {
        let queue = SubscriptionOptions::with_queue(QUEUE);
        Ok(Self {
            answers: bus.subscribe_with(ANSWERS, &queue)?,
            answer: TypeAnswer::default(),
            questions: bus.publisher(QUESTIONS)?,
            requester: TypeRequester::default(),
            last_wrong: None,
            wrong: 0,
        })
    }

    /// Returns the present state of a fingerprint's lookup; sends a question if one is due, and waits for
    /// nothing. For tools that receive many messages: call it for each message of an unknown type.
    ///
    /// # Errors
    /// If nothing can be sent or received.
    pub fn look(&mut self, fingerprint: Fingerprint) -> Result<LookupResult, FindError> {
        for _ in 0..MAX_PER_POLL {
            if !self.receive(Duration::ZERO)? {
                break;
            }
        }
        self.want(fingerprint, clock::now())
    }

    /// Requests the type of a fingerprint, and waits for the answer; `None` if no program answers within the
    /// timeout.
    ///
    /// # Errors
    /// If nothing can be sent or received.
    pub fn find(
        &mut self,
        fingerprint: Fingerprint,
        timeout: Duration,
    ) -> Result<Option<Arc<FoundType>>, FindError> {
        let until = clock::now() + timeout;
        loop {
            if let LookupResult::Known(found) = self.look(fingerprint)? {
                return Ok(Some(found));
            }
            let left = until.remaining(clock::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.receive(left.min(RETRY_INTERVAL))?;
        }
    }

    /// Returns how messages of a fingerprint differ from the expected type, field by field; `None` if no
    /// program describes the sent type within the timeout.
    ///
    /// # Errors
    /// As [`TypeFinder::find`].
    pub fn mismatch<M: Message>(
        &mut self,
        found: Fingerprint,
        timeout: Duration,
    ) -> Result<Option<Mismatch>, FindError> {
        let found = self.find(found, timeout)?;
        Ok(found.map(|found| Mismatch::between::<M>(found)))
    }

    /// As [`TypeFinder::mismatch`], from a subscription's error; `None` also if that is not a message of another
    /// type.
    ///
    /// # Errors
    /// As [`TypeFinder::find`].
    pub fn explain<M: Message>(
        &mut self,
        error: &RecvError,
        timeout: Duration,
    ) -> Result<Option<Mismatch>, FindError> {
        match error {
            RecvError::Decode {
                source: DecodeError::OtherType { found, .. },
                ..
            } => self.mismatch::<M>(*found, timeout),
            _ => Ok(None),
        }
    }

    /// Returns how many answers were not believed.
    #[must_use]
    pub fn wrong_answers(&self) -> u64 {
        self.wrong
    }

    /// Returns the reason for which the last wrong answer was not accepted.
    #[must_use]
    pub fn last_wrong_answer(&self) -> Option<&WrongAnswer> {
        self.last_wrong.as_ref()
    }

    fn want(
        &mut self,
        fingerprint: Fingerprint,
        now: MonotonicTime,
    ) -> Result<LookupResult, FindError> {
        match self.requester.want(fingerprint, now) {
            LookupStep::Known(found) => return Ok(LookupResult::Known(found)),
            LookupStep::Wait(times) => return Ok(LookupResult::Asked(times)),
            LookupStep::Ask => {}
        }
        self.questions.publish(&TypeQuery {
            fingerprint: fingerprint.0.cast_signed(),
        })?;
        match self.requester.want(fingerprint, now) {
            LookupStep::Wait(times) => Ok(LookupResult::Asked(times)),
            _ => Ok(LookupResult::Asked(1)),
        }
    }

    /// Waits for one answer; `false` after the timeout.
    fn receive(&mut self, timeout: Duration) -> Result<bool, FindError> {
        match self.answers.recv_into(&mut self.answer, timeout) {
            Ok(None) => return Ok(false),
            Ok(Some(_)) => {}
            Err(RecvError::Decode { .. }) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        if let Some(Err(wrong)) = self.requester.take_answer(&self.answer) {
            self.wrong += 1;
            self.last_wrong = Some(wrong);
        }
        Ok(true)
    }
}
