//! Outputs that other threads and processes set while the loop runs: actuator commands.
//!
//! As in \[Yoon2009\], the loop takes one request a cycle, and no other thread writes process data.
//!
//! Assumption: one loop obeys; any number of threads ask. Guarantee: the loop never waits, whatever the
//! asking threads do. It serves them one after the other, and each receives the cycle in which its value
//! went into the outputs. A value stays until it is set again: the image of all outputs goes out every
//! cycle.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_ethercat::control::output_requests::{OutputRequests, Change};
//!
//! let output_requests = OutputRequests::default();
//! let done = std::sync::atomic::AtomicBool::new(false);
//! let mut outputs = [0_u8; 2];
//! let cycle = std::thread::scope(|scope| {
//!     let asks = scope.spawn(|| {
//!         let lamp = Change { bit: 9, bits: 1, value: 1 };
//!         let cycle = output_requests.set(lamp, Duration::from_secs(10));
//!         done.store(true, std::sync::atomic::Ordering::Release);
//!         cycle
//!     });
//!     let mut number = 0;
//!     // The loop: here without a wire.
//!     while !done.load(std::sync::atomic::Ordering::Acquire) {
//!         number += 1;
//!         output_requests.obey(&mut outputs, number);
//!     }
//!     asks.join().unwrap()
//! })?;
//! assert_eq!(outputs, [0, 0b10]);
//! assert!(cycle > 0);
//! # Ok::<(), kadenz_ethercat::control::output_requests::OutputNotSet>(())
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::cyclic::{Controller, CycleContext};
use crate::wire::copy_bits;

/// The sleep of a thread before it looks again whether it was served.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// No request.
const FREE: u64 = 0;
/// A request is there.
const ASKED: u64 = 1;
/// The loop is executing the request.
const TAKEN: u64 = 2;
/// The loop has obeyed the request.
const DONE: u64 = 3;

/// A change of some bits in the image of all outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The number of the first bit in the image, from 0.
    pub bit: usize,
    /// The number of bits, at most 64.
    pub bits: u8,
    /// The new value; its lowest bit goes to the first bit.
    pub value: u64,
}

/// The loop did not set an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the loop took no request within {0:?}: it has stalled or ended; see `kadenz ethercat stats`"
)]
pub struct OutputNotSet(pub Duration);

/// The place where threads hand requests to the loop.
#[derive(Debug, Default)]
pub struct OutputRequests {
    /// Held by the asking thread: one after the other.
    asking: Mutex<()>,
    state: AtomicU64,
    bit: AtomicU64,
    bits: AtomicU64,
    value: AtomicU64,
    /// The cycle in which the loop obeyed the request.
    cycle: AtomicU64,
}

impl OutputRequests {
    /// Sets bits of the outputs; returns the number of the cycle that did. Waits for other asking
    /// threads, and for the loop's next cycle.
    ///
    /// # Errors
    /// [`OutputNotSet`] when the loop took no request in that time; the loop does not set the value later,
    /// then.
    ///
    /// # Real-time safety
    /// Not for the loop: it waits for the loop, and locks.
    pub fn set(&self, change: Change, timeout: Duration) -> Result<u64, OutputNotSet> {
        let _turn = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + timeout;
        // Only where the loop was stopped in the middle of an earlier request.
        while self.state.load(Ordering::Acquire) == TAKEN {
            pause_until(end).ok_or(OutputNotSet(timeout))?;
        }
        self.bit.store(change.bit as u64, Ordering::Relaxed);
        self.bits.store(u64::from(change.bits), Ordering::Relaxed);
        self.value.store(change.value, Ordering::Relaxed);
        self.state.store(ASKED, Ordering::Release);
        loop {
            if self.state.load(Ordering::Acquire) == DONE {
                self.state.store(FREE, Ordering::Relaxed);
                return Ok(self.cycle.load(Ordering::Relaxed));
            }
            if pause_until(end).is_some() {
                continue;
            }
            if self.change(ASKED, FREE) {
                return Err(OutputNotSet(timeout));
            }
            // The loop took the request just now: it is about to be done, unless it was stopped there.
            if Instant::now() > end + timeout {
                return Err(OutputNotSet(timeout));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Obeys a request, if there is one; returns whether there was. Bits beyond the outputs are left out.
    ///
    /// # Real-time safety
    /// Real-time safe: neither allocates, locks nor waits.
    pub fn obey(&self, outputs: &mut [u8], cycle: u64) -> bool {
        if self.state.load(Ordering::Relaxed) != ASKED || !self.change(ASKED, TAKEN) {
            return false;
        }
        let first = self.bit.load(Ordering::Relaxed) as usize;
        let count = self.bits.load(Ordering::Relaxed).min(64) as usize;
        let value = self.value.load(Ordering::Relaxed);
        copy_bits(&value.to_le_bytes(), 0, outputs, first, count);
        self.cycle.store(cycle, Ordering::Relaxed);
        self.state.store(DONE, Ordering::Release);
        true
    }

    fn change(&self, from: u64, to: u64) -> bool {
        let state = &self.state;
        let changed = state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
        changed.is_ok()
    }
}

/// For use as a part of the loop's controller, behind the parts that write outputs of their own.
impl Controller for &OutputRequests {
    fn beat(&mut self, context: &mut CycleContext<'_>) {
        let number = context.number();
        self.obey(context.outputs(), number);
    }
}

/// Sleeps a little; returns `None` when `end` has passed.
fn pause_until(end: Instant) -> Option<()> {
    (Instant::now() < end).then(|| std::thread::sleep(POLL_INTERVAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn each_request_takes_a_cycle_of_its_own_and_leaves_other_bits_alone() {
        let (output_requests, done) = (OutputRequests::default(), AtomicBool::new(false));
        let mut outputs = [0xFF_u8; 8];
        let mut obeyed = 0;
        let cycles = std::thread::scope(|scope| {
            let ask = |byte: usize| {
                let change = Change {
                    bit: byte * 8 + 3,
                    bits: 2,
                    value: 0b01,
                };
                output_requests.set(change, LONG).unwrap()
            };
            let all: Vec<_> = (0..8).map(|byte| scope.spawn(move || ask(byte))).collect();
            let end = scope.spawn(|| {
                let cycles: Vec<u64> = all.into_iter().map(|it| it.join().unwrap()).collect();
                done.store(true, Ordering::Relaxed);
                cycles
            });
            for cycle in 1.. {
                obeyed += u32::from(output_requests.obey(&mut outputs, cycle));
                if done.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::yield_now();
            }
            end.join().unwrap()
        });
        assert_eq!((outputs, obeyed), ([0b1110_1111; 8], 8));
        let mut distinct = cycles.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 8, "one a cycle: {cycles:?}");
    }

    #[test]
    fn a_request_that_no_loop_takes_is_withdrawn() {
        let output_requests = OutputRequests::default();
        let change = Change {
            bit: 0,
            bits: 8,
            value: 7,
        };
        let refused = output_requests.set(change, Duration::from_millis(1));
        assert_eq!(refused, Err(OutputNotSet(Duration::from_millis(1))));
        let mut outputs = [0];
        assert!(
            !output_requests.obey(&mut outputs, 1),
            "nothing is done later"
        );
        assert_eq!(outputs, [0]);
    }

    #[test]
    fn what_lies_beyond_the_outputs_is_left_out() {
        let output_requests = OutputRequests::default();
        let mut outputs = [0];
        std::thread::scope(|scope| {
            let wide = Change {
                bit: 4,
                bits: 64,
                value: u64::MAX,
            };
            let output_requests = &output_requests;
            let asks = scope.spawn(move || output_requests.set(wide, LONG));
            while !output_requests.obey(&mut outputs, 5) {
                std::thread::yield_now();
            }
            assert_eq!(asks.join().unwrap(), Ok(5));
        });
        assert_eq!(outputs, [0xF0]);
    }
}
