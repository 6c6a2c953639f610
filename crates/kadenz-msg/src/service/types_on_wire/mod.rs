//! Types on the wire: programs that publish describe their types, and a program that receives a message of an
//! unknown type requests the description.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bus::Bus;
//! use kadenz_msg::message::Message;
//! use kadenz_msg::service::messages::Heartbeat;
//! use kadenz_msg::service::types_on_wire::TypeFinder;
//! use kadenz_rt::tuning::Tuning;
//!
//! let bus = Bus::open("memq://")?;
//! let _publisher = bus.publisher::<Heartbeat>("BEAT")?; // its type is known to the bus now
//! let _responder = bus.serve_types(Tuning::default())?; // and described to other programs
//!
//! let mut finder = TypeFinder::new(&bus)?;
//! let found = finder.find(Heartbeat::FINGERPRINT, Duration::from_secs(5))?.expect("the bus describes it");
//! assert_eq!(found.name, "kadenz.heartbeat");
//! let payload = Heartbeat { number: 7, ..Heartbeat::default() }.encode()?;
//! assert_eq!(found.types.decode(&payload)?.to_json()["number"], 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A question is a fingerprint on the channel `KADENZ/TYPES/ASK`; the answer is the type's name and its text
//! as `.lcm`, with all that it contains, on `KADENZ/TYPES/TELL`. If many programs publish a type, one
//! answers: each waits for a moment, and stays silent if another one has sent the same answer. An answer is
//! accepted if its text has the requested fingerprint, by the receiver's own computation; the parts outside
//! of a fingerprint (the name of the type, constants and comments) are as the answer states.
//!
//! [`TypeFinder::mismatch`] names field by field how a received type differs from the expected one.

mod announcer;
mod finder;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod known;
mod requester;
mod responder;

use std::fmt;
use std::sync::Arc;

use crate::message::{Fingerprint, Message};
use crate::types::Types;
use crate::types::change::{TypeChange, changes_of};
pub use announcer::{NotAnnouncedError, TypeAnnouncer};
pub use finder::{FindError, LookupResult, TypeFinder};
pub use known::KnownTypes;
pub use requester::{FoundType, WrongAnswer};
pub use responder::{AnnounceError, TypeResponder};

/// The channel of questions.
pub const QUESTIONS: &str = "KADENZ/TYPES/ASK";

/// The channel of answers.
pub const ANSWERS: &str = "KADENZ/TYPES/TELL";

/// The maximum length of a text in an answer, in bytes.
pub const MAX_TEXT: usize = 256 << 10;

/// The difference between a sent type and the expected one.
#[derive(Debug, Clone)]
pub struct Mismatch {
    /// The name of the type that is expected.
    pub expected_name: &'static str,
    /// The fingerprint of the expected type.
    pub expected: Fingerprint,
    /// The type that is sent.
    pub sent: Arc<FoundType>,
    /// The changes that make the sent type the expected one, the type itself first. Empty if the names
    /// differ, as two types, or if the expected type has no text of its own.
    pub changes: Vec<TypeChange>,
}

impl Mismatch {
    fn between<M: Message>(sent: Arc<FoundType>) -> Self {
        let expected = Types::from_text(M::DESCRIPTION).unwrap_or_default();
        let is_known = sent.name == M::NAME && expected.get(M::NAME).is_some();
        let changes = match is_known {
            true => changes_of(M::NAME, &sent.types, &expected),
            false => Vec::new(),
        };
        Self {
            expected_name: M::NAME,
            expected: M::FINGERPRINT,
            sent,
            changes,
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, expected) = (self.expected_name, self.expected);
        let (sent_name, sent) = (&self.sent.name, self.sent.fingerprint);
        if sent_name != name {
            return write!(
                out,
                "{sent_name} ({sent}) is sent, and {name} ({expected}) is expected: two types, one channel"
            );
        }
        write!(
            out,
            "{name} is sent as {sent} and expected as {expected}; from the one sent to the one expected"
        )?;
        for (index, change) in self.changes.iter().enumerate() {
            out.write_str(if index == 0 { ": " } else { "; " })?;
            if change.name.to_string() != name {
                write!(out, "in {}: ", change.name)?;
            }
            let mut said: Vec<String> = change.changes.iter().map(ToString::to_string).collect();
            said.extend(change.through.iter().map(|it| format!("{it} changed")));
            out.write_str(&said.join(", "))?;
        }
        Ok(())
    }
}
