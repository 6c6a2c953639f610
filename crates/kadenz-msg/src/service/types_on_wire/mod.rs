//! Types on the wire: programs that publish tell what their messages look like, and whoever hears a
//! message of an unknown type asks.
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
//! let _teller = bus.tell_types(Tuning::default())?; // and told to whoever asks
//!
//! let mut finder = TypeFinder::new(&bus)?;
//! let found = finder.find(Heartbeat::FINGERPRINT, Duration::from_secs(5))?.expect("it is told");
//! assert_eq!(found.name, "kadenz.heartbeat");
//! let payload = Heartbeat { number: 7, ..Heartbeat::default() }.encode()?;
//! assert_eq!(found.types.decode(&payload)?.to_json()["number"], 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A question is a fingerprint on the channel `KADENZ/TYPES/ASK`; the answer is the type's name and its
//! text as `.lcm`, with all that it is made of, on `KADENZ/TYPES/TELL`. Where many programs publish a
//! type, one tells it: each waits for a moment, and stays silent where another one has said the same.
//! An answer is believed where its text has the fingerprint that was asked for, by our own computation;
//! what a fingerprint leaves out (the name of the type, constants and comments) is as the teller says.
//!
//! [`TypeFinder::mismatch`] names field by field how a type that comes differs from the one expected.

mod asker;
mod finder;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod mismatch;
mod teller;
mod telling;

pub use asker::{FoundType, WrongAnswer};
pub use finder::{FindError, FinderError, Look, TypeFinder};
pub use mismatch::Mismatch;
pub use telling::{AnnounceError, TypeResponder};

/// Where questions go.
pub const ASK: &str = "KADENZ/TYPES/ASK";

/// Where answers go.
pub const TELL: &str = "KADENZ/TYPES/TELL";

/// The longest text that is told and believed, in bytes.
pub const MAX_TEXT: usize = 256 << 10;
