//! The mapping from transmit stamps to the datagrams they belong to.

use std::sync::atomic::{AtomicU64, Ordering};

use super::TransmitKey;

/// A stamp carries 32 bits: the key that the port gave its datagram (`SCM_TS_OPT_ID`, Linux 6.13), or how many
/// datagrams the kernel has counted on the socket (`SOF_TIMESTAMPING_OPT_ID`). This type extends either to 64 bits.
/// It counts a datagram before the datagram is sent, so that a stamp that another handle receives meanwhile is
/// known. One thread counts; any thread may look up.
///
/// Where the kernel counts and refuses a datagram, its count is in doubt, and begins from zero again
/// ([`Keys::restart`]). The kernel then stamps datagrams that wait in a queue later, with counts from before the
/// restart. As a queue keeps their order, counts are taken to be theirs until a lower count shows that they are
/// over. If the queue holds datagrams from before more than one refusal, some stamps find no datagram.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Datagrams counted.
    sent: AtomicU64,
    /// Datagrams counted when the kernel began to count from zero.
    base: AtomicU64,
    /// The kernel's count that is due next.
    due: AtomicU64,
    before: Before,
}

/// Datagrams from before the last restart whose stamps have not come.
#[derive(Debug, Default)]
struct Before {
    base: AtomicU64,
    /// The kernel's counts that may still come: from this one on,
    due: AtomicU64,
    /// and before this one.
    end: AtomicU64,
}

impl Keys {
    /// Counts datagrams that are about to be sent, and returns the key of the first.
    pub(super) fn count(&self, datagrams: u64) -> TransmitKey {
        TransmitKey::new(self.sent.fetch_add(datagrams, Ordering::AcqRel))
    }

    /// Makes the kernel's count begin from zero: with the refused datagram if that is tried again, else with the
    /// next one.
    pub(super) fn restart(&self, refused: TransmitKey, again: bool) {
        let base = load(&self.base);
        let counted = refused.ordinal().saturating_sub(base);
        let due = load(&self.due);
        if due < counted {
            self.before.base.store(base, Ordering::Release);
            self.before.due.store(due, Ordering::Release);
            self.before.end.store(counted, Ordering::Release);
        }
        self.due.store(0, Ordering::Release);
        let next = refused.ordinal() + u64::from(!again);
        self.base.store(next, Ordering::Release);
    }

    /// The datagram that the kernel's count stands for: the last one sent that it can stand for. `None` where no
    /// such datagram was sent.
    pub(super) fn look_up(&self, kernel: u32) -> Option<TransmitKey> {
        self.look_up_before(kernel).or_else(|| {
            let base = load(&self.base);
            let at = widened(kernel, load(&self.sent).checked_sub(base)?)?;
            self.due.fetch_max(at + 1, Ordering::AcqRel);
            Some(TransmitKey::new(base + at))
        })
    }

    fn look_up_before(&self, kernel: u32) -> Option<TransmitKey> {
        let (due, end) = (load(&self.before.due), load(&self.before.end));
        if due >= end {
            return None;
        }
        match widened(kernel, end) {
            Some(at) if at >= due => {
                self.before.due.store(at + 1, Ordering::Release);
                Some(TransmitKey::new(load(&self.before.base) + at))
            }
            _ => {
                self.before.due.store(end, Ordering::Release);
                None
            }
        }
    }
}

fn load(number: &AtomicU64) -> u64 {
    number.load(Ordering::Acquire)
}

/// The last of the counts from 0 up to `counted` that ends in these 32 bits.
fn widened(kernel: u32, counted: u64) -> Option<u64> {
    let last = counted.checked_sub(1)?;
    let back = u64::from((last as u32).wrapping_sub(kernel));
    last.checked_sub(back)
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
        for kernel in 0..5 {
            keys.look_up(kernel);
        }
        let refused = keys.count(1);
        keys.restart(refused, false);
        assert_eq!(keys.look_up(4), None);
        keys.count(1);
        assert_eq!(keys.look_up(0), Some(TransmitKey::new(6)));
        assert_eq!(keys.look_up(4), None);
    }

    #[test]
    fn what_waited_in_a_queue_at_a_restart_keeps_its_key() {
        for stamped in 0..4 {
            let keys = Keys::default();
            keys.count(4);
            let look_up = |kernel: u32| keys.look_up(kernel).unwrap().ordinal();
            let before: Vec<u64> = (0..stamped).map(look_up).collect();
            // Twice: a refusal without a datagram in between changes nothing.
            let refused = keys.count(10);
            keys.restart(refused, true);
            keys.restart(refused, true);
            let waiting: Vec<u64> = (stamped..4).map(look_up).collect();
            let after: Vec<u64> = (0..10).map(look_up).collect();
            let all = [before, waiting, after].concat();
            assert_eq!(all, Vec::from_iter(0..14), "{stamped} stamped");
        }
    }
}
