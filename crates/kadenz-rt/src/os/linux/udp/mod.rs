//! UDP sockets: many datagrams a call, what the kernel notes beside them, and waiting for them.

pub(crate) mod messages;
pub(crate) mod multicast;
pub(crate) mod notes;
pub(crate) mod socket;
