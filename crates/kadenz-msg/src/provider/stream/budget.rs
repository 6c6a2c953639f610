//! A bound on what the peers of one listener may take together: memory in bytes, or anything that is
//! counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What there is, and how much of it is taken.
#[derive(Debug)]
pub(in crate::provider) struct Budget {
    limit: usize,
    taken: AtomicUsize,
}

impl Budget {
    pub(in crate::provider) fn new(limit: usize) -> Arc<Self> {
        let taken = AtomicUsize::new(0);
        Arc::new(Self { limit, taken })
    }

    /// A share of nothing, which may grow.
    pub(in crate::provider) fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: Arc::clone(self),
            amount: 0,
        }
    }

    /// A share of that size; `None` where it is not left.
    pub(in crate::provider) fn take(self: &Arc<Self>, amount: usize) -> Option<Share> {
        let mut share = self.share();
        share.resize(amount).then_some(share)
    }

    #[cfg(test)]
    pub(in crate::provider) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub(in crate::provider) struct Share {
    budget: Arc<Budget>,
    amount: usize,
}

impl Share {
    pub(in crate::provider) fn amount(&self) -> usize {
        self.amount
    }

    /// Takes more, or gives back; `false`, and nothing is changed, where more is not left. Real-time
    /// safe: no allocation, no lock, no system call.
    pub(in crate::provider) fn resize(&mut self, amount: usize) -> bool {
        let taken = &self.budget.taken;
        if amount <= self.amount {
            taken.fetch_sub(self.amount - amount, Ordering::Relaxed);
        } else {
            let more = amount - self.amount;
            let grown = |taken: usize| {
                let taken = taken.checked_add(more)?;
                (taken <= self.budget.limit).then_some(taken)
            };
            let taken = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
            if taken.is_err() {
                return false;
            }
        }
        self.amount = amount;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_exceed_the_budget_and_come_back_when_dropped() {
        let budget = Budget::new(100);
        let mut first = budget.take(60).unwrap();
        assert!(budget.take(41).is_none());
        let second = budget.take(40).unwrap();
        assert!(!first.resize(61));
        assert_eq!((first.amount(), budget.taken()), (60, 100));
        drop(second);
        assert!(first.resize(100) && !first.resize(usize::MAX));
        assert!(first.resize(1));
        drop(first);
        assert_eq!(budget.taken(), 0);
    }
}
