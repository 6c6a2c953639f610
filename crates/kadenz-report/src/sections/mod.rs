//! What a run says beside its series, each thing described once: a document that terminals and pages show.

pub(crate) mod budget;
pub(crate) mod messages;
pub(crate) mod packets;
pub(crate) mod round_trips;
pub(crate) mod testbed;
