//! Which datagram a transmit stamp is of.

use std::sync::atomic::{AtomicU64, Ordering};

use super::TransmitKey;

/// The kernel counts a socket's datagrams with 32 bits, from when stamps are turned on
/// (`SOF_TIMESTAMPING_OPT_ID`); this follows it with 64.
///
/// A datagram is counted before it is sent and uncounted when it was not, so that a stamp that comes
/// meanwhile, on another handle, is known. One thread counts; any may look up.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Datagrams sent.
    sent: AtomicU64,
    /// Datagrams sent when the kernel began to count from zero.
    base: AtomicU64,
}

impl Keys {
    /// Counts datagrams that are about to be sent; the key of the first.
    pub(super) fn count(&self, datagrams: u64) -> TransmitKey {
        TransmitKey::new(self.sent.fetch_add(datagrams, Ordering::AcqRel))
    }

    /// Takes back those of them that were not sent.
    pub(super) fn uncount(&self, datagrams: u64) {
        self.sent.fetch_sub(datagrams, Ordering::AcqRel);
    }

    /// The kernel begins to count from zero.
    pub(super) fn restart(&self) {
        self.base
            .store(self.sent.load(Ordering::Acquire), Ordering::Release);
    }

    /// The datagram that the kernel's count means: the last one sent that it can mean. `None` where no
    /// such datagram was sent since the kernel began to count; then the count is of before.
    pub(super) fn look_up(&self, kernel: u32) -> Option<TransmitKey> {
        let (sent, base) = (
            self.sent.load(Ordering::Acquire),
            self.base.load(Ordering::Acquire),
        );
        let counted = sent.checked_sub(base)?;
        let last = counted.checked_sub(1)?;
        let back = u64::from((last as u32).wrapping_sub(kernel));
        (back <= last).then(|| TransmitKey::new(sent - 1 - back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_means_the_last_datagram_it_can() {
        let keys = Keys::default();
        assert_eq!(keys.look_up(0), None);
        assert_eq!(keys.count(3).ordinal(), 0);
        assert_eq!(keys.look_up(2), Some(TransmitKey::new(2)));
        assert_eq!(keys.look_up(3), None);
        keys.uncount(1);
        assert_eq!(keys.look_up(2), None);
    }

    #[test]
    fn a_count_is_followed_beyond_32_bits() {
        let keys = Keys::default();
        let sent = (1 << 32) + 10;
        keys.count(sent);
        assert_eq!(keys.look_up(9), Some(TransmitKey::new(sent - 1)));
        assert_eq!(
            keys.look_up(u32::MAX),
            Some(TransmitKey::new(u64::from(u32::MAX)))
        );
    }

    #[test]
    fn counts_of_before_a_restart_are_not_taken_for_later_ones() {
        let keys = Keys::default();
        keys.count(5);
        keys.restart();
        assert_eq!(keys.look_up(4), None);
        keys.count(1);
        assert_eq!(keys.look_up(0), Some(TransmitKey::new(5)));
        assert_eq!(keys.look_up(4), None);
    }
}
