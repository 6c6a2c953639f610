//! The loop and whoever works beside it end together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kadenz_ethercat::main_device::acyclic::AcyclicQueue;

/// Whoever works beside the loop, and the loop. When it parts, also by a panic, all are told to end, and the loop is
/// waited for until its axes are at rest: with the program it would go in the middle of a move.
pub(super) struct ShutdownGuard<'c> {
    pub(super) halt: &'c AtomicBool,
    pub(super) at_work: &'c AtomicBool,
    pub(super) queue: &'c AcyclicQueue,
    pub(super) patience: Duration,
}

impl Drop for ShutdownGuard<'_> {
    fn drop(&mut self) {
        self.halt.store(true, Ordering::Relaxed);
        let end = Instant::now() + self.patience;
        while self.at_work.load(Ordering::Acquire) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.queue.end();
    }
}

/// The loop's thread is at work as long as this lives.
pub(super) struct AtWork<'f>(&'f AtomicBool);

impl<'f> AtWork<'f> {
    pub(super) fn begin(flag: &'f AtomicBool) -> Self {
        flag.store(true, Ordering::Release);
        Self(flag)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use kadenz_ethercat::main_device::acyclic::AcyclicClient;
    use kadenz_ethercat::main_device::exchange::{
        Exchange as _, ExchangeError, FrameBuffer, RetryPolicy,
    };
    use kadenz_lab::measuring_threads;

    use super::*;

    /// What tells how it goes, and fails at that for the second time.
    struct Failing(u32);

    impl measuring_threads::Watch for Failing {
        fn tick(&mut self, _: &kadenz_record::run::folder::Progress) {
            self.0 += 1;
            assert!(self.0 < 2, "it fails");
        }
    }

    #[test]
    fn a_panic_beside_the_loop_ends_all_once_the_axes_are_at_rest() {
        let (halt, at_work, at_rest) = <(AtomicBool, AtomicBool, AtomicBool)>::default();
        let queue = AcyclicQueue::default();
        let is_over = || halt.load(Ordering::Relaxed);
        let until_over = || {
            while !is_over() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let progress = kadenz_record::run::folder::Progress::default();
        let mut watch = Failing(0);
        std::thread::scope(|scope| {
            let at_work_now = AtWork::begin(&at_work);
            // The loop, whose axes take their time.
            let (until_over, at_rest) = (&until_over, &at_rest);
            scope.spawn(move || {
                until_over();
                std::thread::sleep(Duration::from_millis(200));
                at_rest.store(true, Ordering::Relaxed);
                drop(at_work_now);
            });
            let together = || {
                let guard = ShutdownGuard {
                    halt: &halt,
                    at_work: &at_work,
                    queue: &queue,
                    patience: Duration::from_secs(60),
                };
                std::thread::scope(|scope| {
                    let _parts = guard;
                    scope.spawn(until_over);
                    for _ in 0..2 {
                        measuring_threads::Watch::tick(&mut watch, &progress);
                    }
                });
            };
            // Without that this waits for ever.
            assert!(catch_unwind(AssertUnwindSafe(together)).is_err());
            assert!(
                at_rest.load(Ordering::Relaxed),
                "the program would have gone"
            );
        });
        let mut way = AcyclicClient::of(&queue, RetryPolicy::default());
        let asked = way.exchange_once(&mut FrameBuffer::default());
        assert!(matches!(asked, Err(ExchangeError::Ended)), "{asked:?}");
    }
}
