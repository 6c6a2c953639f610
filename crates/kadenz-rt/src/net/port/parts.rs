//! What an inbox and an outbox need for the calls of their system.

#[cfg(target_os = "linux")]
use crate::os::linux::udp::messages::Messages;

/// What an inbox needs for its calls.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct InboxParts(pub(super) Messages);

#[cfg(target_os = "linux")]
impl InboxParts {
    pub(super) fn new(slots: usize) -> Self {
        Self(Messages::for_receiving(slots))
    }
}

/// What an outbox needs for its calls.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct OutboxParts(pub(super) Messages);

#[cfg(target_os = "linux")]
impl OutboxParts {
    pub(super) fn new(slots: usize) -> Self {
        Self(Messages::for_sending(slots))
    }
}

/// Room for any datagram: not every system tells how long one was that did not fit.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct InboxParts(pub(super) Box<[u8]>);

#[cfg(not(target_os = "linux"))]
impl InboxParts {
    pub(super) fn new(_slots: usize) -> Self {
        Self(super::inbox::touched(super::inbox::MAX_DATAGRAM))
    }
}

/// Nothing.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct OutboxParts;

#[cfg(not(target_os = "linux"))]
impl OutboxParts {
    pub(super) fn new(_slots: usize) -> Self {
        Self
    }
}
