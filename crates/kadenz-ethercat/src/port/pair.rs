//! A cable within the process: what one end sends the other receives, in real time, without any
//! privileges.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::Thread;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::Port;
use crate::wire::MAX_FRAME;

/// Frames that may wait at an end.
const SLOTS: usize = 64;
/// The longest sleep of an end that waits, where the other end does not wake it.
const MAX_SLEEP: Duration = Duration::from_millis(1);

/// Room for one frame of a lane.
#[derive(Debug)]
struct LaneSlot {
    length: usize,
    bytes: [u8; MAX_FRAME],
}

/// One direction. By the two counts, each slot belongs to the writer or to the reader, so its lock is
/// never contended; the lock is there because safe Rust needs one.
#[derive(Debug)]
struct Lane {
    slots: Vec<Mutex<LaneSlot>>,
    /// Frames put in, and taken out, since the beginning.
    put: AtomicUsize,
    taken: AtomicUsize,
    /// Whether the reader sleeps, and the reader's thread.
    sleeps: AtomicBool,
    reader: Mutex<Option<Thread>>,
}

impl Lane {
    fn new() -> Arc<Self> {
        let slot = || {
            Mutex::new(LaneSlot {
                length: 0,
                bytes: [0; MAX_FRAME],
            })
        };
        Arc::new(Self {
            slots: (0..SLOTS).map(|_| slot()).collect(),
            put: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            sleeps: AtomicBool::new(false),
            reader: Mutex::new(None),
        })
    }

    fn put(&self, frame: &[u8]) -> io::Result<()> {
        let put = self.put.load(Ordering::Relaxed);
        if put.wrapping_sub(self.taken.load(Ordering::Acquire)) == SLOTS {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut slot = match self.slots[put % SLOTS].try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
        };
        let room = slot.bytes.get_mut(..frame.len());
        room.ok_or(io::ErrorKind::InvalidInput)?
            .copy_from_slice(frame);
        slot.length = frame.len();
        drop(slot);
        self.put.store(put.wrapping_add(1), Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst)
            && let Ok(reader) = self.reader.try_lock()
            && let Some(reader) = &*reader
        {
            reader.unpark();
        }
        Ok(())
    }

    fn has_frame(&self) -> bool {
        self.put.load(Ordering::SeqCst) != self.taken.load(Ordering::Relaxed)
    }

    fn take(&self, to: &mut [u8]) -> Option<usize> {
        if !self.has_frame() {
            return None;
        }
        let taken = self.taken.load(Ordering::Relaxed);
        let slot = match self.slots[taken % SLOTS].try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let length = slot.length.min(to.len());
        to[..length].copy_from_slice(&slot.bytes[..length]);
        drop(slot);
        self.taken.store(taken.wrapping_add(1), Ordering::Release);
        Some(length)
    }

    fn sleep(&self, span: Duration) {
        let this = std::thread::current();
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if reader.as_ref().is_none_or(|it| it.id() != this.id()) {
            *reader = Some(this);
        }
        drop(reader);
        self.sleeps.store(true, Ordering::SeqCst);
        if !self.has_frame() {
            std::thread::park_timeout(span.min(MAX_SLEEP));
        }
        self.sleeps.store(false, Ordering::SeqCst);
    }
}

/// One end of a cable within the process; see [`pair`].
#[derive(Debug)]
pub struct PairPort {
    out: Arc<Lane>,
    into: Arc<Lane>,
}

/// Returns a cable within the process: a loop at one end, a [`Server`](crate::sim::serve::Server) of a
/// segment at the other, each on a thread of its own. Allocates all that the cable will need, 200 KiB.
///
/// As on a network interface, sending wakes the other end if it sleeps, which is a system call; polling
/// for a frame makes no system call.
///
/// ```
/// use kadenz_ethercat::port::{Port, pair};
///
/// let (mut near, mut far) = pair();
/// near.send(&[1; 60])?;
/// let mut frame = [0; 1514];
/// assert_eq!(far.receive(&mut frame), Some(60));
/// assert_eq!(near.receive(&mut frame), None, "no frame came");
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn pair() -> (PairPort, PairPort) {
    let (there, back) = (Lane::new(), Lane::new());
    let near = PairPort {
        out: Arc::clone(&there),
        into: Arc::clone(&back),
    };
    let far = PairPort {
        out: back,
        into: there,
    };
    (near, far)
}

impl Port for PairPort {
    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.out.put(frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        self.into.take(frame)
    }

    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
        loop {
            if self.into.has_frame() {
                return Ok(true);
            }
            let left = until.remaining(clock::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.into.sleep(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_device::bring_up;
    use crate::main_device::exchange::{BlockingExchange, Registers, RetryPolicy};
    use crate::main_device::link::Link;
    use crate::sim::humanoid::humanoid;
    use crate::sim::serve::{Pace, Server};

    #[test]
    fn frames_cross_in_their_order_whichever_end_is_slower() {
        let (mut near, mut far) = pair();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..10_000_u32 {
                    while near.send(&number.to_le_bytes()).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
            let mut frame = [0; 64];
            for number in 0..10_000_u32 {
                let end = far.now() + Duration::from_secs(10);
                assert!(far.wait(end).unwrap());
                assert_eq!(far.receive(&mut frame), Some(4));
                assert_eq!(frame[..4], number.to_le_bytes());
            }
        });
    }

    #[test]
    fn what_finds_no_room_is_refused_and_nothing_is_lost_of_what_did() {
        let (mut near, mut far) = pair();
        let sent = (0..1_000).take_while(|_| near.send(&[7; 60]).is_ok());
        assert_eq!(sent.count(), SLOTS);
        assert!(near.send(&[0; MAX_FRAME + 1]).is_err());
        let mut frame = [0; 20];
        for _ in 0..SLOTS {
            assert_eq!(
                far.receive(&mut frame),
                Some(20),
                "what does not fit is cut"
            );
        }
        assert_eq!(far.receive(&mut frame), None);
        assert!(near.send(&[0; MAX_FRAME + 1]).is_err());
        assert!(!near.wait(near.now() + Duration::from_millis(2)).unwrap());
    }

    #[test]
    fn a_segment_at_the_other_end_is_one_in_real_time() {
        let (near, far) = pair();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let segment = humanoid(12).build().unwrap();
                let mut server = Server::new(far, segment, Pace::AtOnce);
                while !done.load(Ordering::Relaxed) {
                    server.step().unwrap();
                }
            });
            let mut link = Link::new(near, 1);
            let mut exchange = BlockingExchange {
                link: &mut link,
                retry: RetryPolicy {
                    answer: Duration::from_millis(500),
                    tries: 20,
                },
            };
            let found = bring_up::find(&mut Registers::by(&mut exchange)).map(|it| it.len());
            done.store(true, Ordering::Relaxed);
            assert_eq!(found.unwrap(), 12);
        });
    }
}
