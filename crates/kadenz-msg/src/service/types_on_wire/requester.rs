//! The times of questions, and the answers that are accepted; sans-IO.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::MAX_TEXT;
use crate::message::Fingerprint;
use crate::service::messages::TypeAnswer;
use crate::types::{Types, TypesError};

/// The maximum number of fingerprints that are known or requested; the one looked up longest ago makes room.
const MAX_TYPES: usize = 1000;

/// The limit of all questions together: so many at once, and one more in each of these spans.
const BURST: u32 = 20;
const SPAN: Duration = Duration::from_millis(20);

/// The pause after a question before the same is repeated: twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The number of wrong answers to one question that are parsed: each costs as much as reading a text.
const MAX_WRONG_ANSWERS: u32 = 10;

/// A type from an answer, whose text has the fingerprint.
#[derive(Debug)]
pub struct FoundType {
    /// The fingerprint of the type, computed from its text.
    pub fingerprint: Fingerprint,
    /// Its name, by the answer.
    pub name: String,
    /// The type and all types that it contains.
    pub types: Types,
    /// The text of the answer.
    pub text: String,
}

/// The reason for which an answer is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum WrongAnswer {
    /// Its text is too long.
    #[error("the text has {length} bytes, more than {MAX_TEXT}")]
    TooLong {
        /// The length of the text in bytes.
        length: usize,
    },
    /// Its text is not a description.
    #[error("the text is not a valid description: {0}")]
    Text(#[from] TypesError),
    /// Its text does not describe the type that it names.
    #[error("the text does not describe {name}")]
    NotThere {
        /// The name that the answer gives the type.
        name: String,
    },
    /// Its text has another fingerprint.
    #[error("the text of {name} has the fingerprint {found}, not {asked}")]
    OtherFingerprint {
        /// The name that the answer gives the type.
        name: String,
        /// The fingerprint of the text.
        found: Fingerprint,
        /// The fingerprint that was requested.
        asked: Fingerprint,
    },
}

impl FoundType {
    /// Parses an answer.
    fn of(answer: &TypeAnswer) -> Result<Self, WrongAnswer> {
        let asked = Fingerprint(answer.fingerprint.cast_unsigned());
        let length = answer.text.len();
        if length > MAX_TEXT {
            return Err(WrongAnswer::TooLong { length });
        }
        let types = Types::from_text(&answer.text)?;
        let name = answer.name.clone();
        match types.fingerprint(&name) {
            None => Err(WrongAnswer::NotThere { name }),
            Some(found) if found != asked => {
                Err(WrongAnswer::OtherFingerprint { name, found, asked })
            }
            Some(fingerprint) => Ok(Self {
                fingerprint,
                name,
                types,
                text: answer.text.clone(),
            }),
        }
    }
}

/// The known types, and the open lookups.
#[derive(Debug, Default)]
pub(super) struct TypeRequester {
    entries: BTreeMap<Fingerprint, TypeLookup>,
    /// The time until which the sent questions have used up their share.
    spent_until: MonotonicTime,
}

/// The progress of a type's lookup, and the time of the last call for it.
#[derive(Debug)]
struct TypeLookup {
    state: LookupState,
    wanted: MonotonicTime,
}

/// Whether a type is known, or how often it was requested.
#[derive(Debug)]
enum LookupState {
    Known(Arc<FoundType>),
    Asked {
        times: u32,
        again: MonotonicTime,
        wrong: u32,
    },
}

/// The next step for a fingerprint.
#[derive(Debug)]
pub(super) enum LookupStep {
    /// None: the type is known.
    Known(Arc<FoundType>),
    /// Ask now.
    Ask,
    /// Wait: the type was requested, so many times, or too many requests are open.
    Wait(u32),
}

impl TypeRequester {
    /// Returns the next step for a fingerprint that the caller needs. A question counts as sent.
    pub(super) fn want(&mut self, fingerprint: Fingerprint, now: MonotonicTime) -> LookupStep {
        if !self.entries.contains_key(&fingerprint) {
            self.make_room();
        }
        let entry = self.entries.entry(fingerprint).or_insert(TypeLookup {
            state: LookupState::Asked {
                times: 0,
                again: now,
                wrong: 0,
            },
            wanted: now,
        });
        entry.wanted = now;
        let (times, again, wrong) = match &mut entry.state {
            LookupState::Known(found) => return LookupStep::Known(Arc::clone(found)),
            LookupState::Asked {
                times,
                again,
                wrong,
            } => (times, again, wrong),
        };
        let spent_until = self.spent_until.max(now);
        if now < *again || spent_until > now + SPAN * BURST {
            return LookupStep::Wait(*times);
        }
        self.spent_until = spent_until + SPAN;
        let pause = FIRST_PAUSE.saturating_mul(1 << (*times).min(16));
        *again = now + pause.min(MAX_PAUSE);
        *times = times.saturating_add(1);
        *wrong = 0;
        LookupStep::Ask
    }

    /// Takes an answer; `None` if there was no question, or enough wrong answers arrived.
    pub(super) fn take_answer(
        &mut self,
        answer: &TypeAnswer,
    ) -> Option<Result<Arc<FoundType>, WrongAnswer>> {
        let fingerprint = Fingerprint(answer.fingerprint.cast_unsigned());
        let entry = self.entries.get_mut(&fingerprint)?;
        let LookupState::Asked { wrong, .. } = &mut entry.state else {
            return None;
        };
        if *wrong >= MAX_WRONG_ANSWERS {
            return None;
        }
        match FoundType::of(answer) {
            Ok(found) => {
                let found = Arc::new(found);
                entry.state = LookupState::Known(Arc::clone(&found));
                Some(Ok(found))
            }
            Err(error) => {
                *wrong += 1;
                Some(Err(error))
            }
        }
    }

    fn make_room(&mut self) {
        if self.entries.len() < MAX_TYPES {
            return;
        }
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.wanted);
        if let Some(fingerprint) = oldest.map(|(fingerprint, _)| *fingerprint) {
            self.entries.remove(&fingerprint);
        }
    }
}

#[cfg(test)]
mod tests;
