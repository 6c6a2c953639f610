//! UDP sockets: many datagrams a call, the control messages of datagrams, and waiting for them.

pub(crate) mod messages;
pub(crate) mod multicast;
pub(crate) mod notes;
pub(crate) mod socket;
