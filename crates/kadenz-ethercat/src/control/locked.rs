//! A process image behind a lock, as in \[Yoon2009\]: the real-time task waits for at most one reader.
//!
//! The writer of [`process_image`](super::process_image) waits for no reader, and other processes can read it; this one
//! is for comparison, and for readers that must never read twice.
//!
//! Assumption: one thread writes, and its priority is not below the readers'. Guarantee: after the writer asked for the
//! lock, at most one reader enters before it, however many there are and however they are scheduled; that reader runs
//! at the writer's priority until it leaves, since the lock inherits priority ([`PiMutex`]).
//!
//! Why at most one: readers pass a gate one by one, and behind it look whether the writer has asked. A reader that had
//! looked just before goes in; the next one sees that it must give way. So between the writer's asking and its turn
//! there is only the one reader that was past the gate, in the lock or about to enter.
//!
//! ```
//! use kadenz_ethercat::control::locked::Locked;
//!
//! let image = Locked::new(4)?;
//! assert_eq!(image.publish(&[1, 2, 3, 4]), 0, "there was no reader to wait for");
//! let mut inputs = [0; 4];
//! assert_eq!(image.read(&mut inputs), 1, "the first image");
//! assert_eq!(inputs, [1, 2, 3, 4]);
//! # Ok::<(), kadenz_rt::pi_mutex::CreatePiMutexError>(())
//! ```

use std::time::Duration;

use kadenz_rt::pi_mutex::{CreatePiMutexError, PiMutex};

use crate::sync::{AtomicU64, Ordering};

/// The sleep of a reader that gives way: the writer's time in the lock is far shorter.
const READER_BACKOFF: Duration = Duration::from_micros(20);

/// The last image, and its number.
#[derive(Debug)]
struct NumberedImage {
    bytes: Box<[u8]>,
    number: u64,
}

/// A process image behind a lock.
///
/// # Real-time safety
/// [`Locked::publish`] waits for at most one reader. [`Locked::new`] allocates, and [`Locked::read`] waits for the
/// writer and for other readers: neither is for the loop. [`Locked::bytes`] takes the lock of the image. The other
/// methods are wait-free.
#[derive(Debug)]
pub struct Locked {
    /// The number of writers that have asked and are not done: 0 or 1.
    asking: AtomicU64,
    /// Readers that were in the lock and are done, since the beginning. Changed only within the lock.
    served: AtomicU64,
    /// Readers that the writer waited for, since the beginning.
    waits: AtomicU64,
    /// 1 once there will be no more images.
    ended: AtomicU64,
    /// Held by the one reader that may go in.
    gate: PiMutex<()>,
    last: PiMutex<NumberedImage>,
}

impl Locked {
    /// A process image of `bytes` bytes, all zero. Allocates.
    ///
    /// # Errors
    /// Where the operating system has no priority inheritance.
    pub fn new(bytes: usize) -> Result<Self, CreatePiMutexError> {
        let last = NumberedImage {
            bytes: vec![0; bytes].into_boxed_slice(),
            number: 0,
        };
        Ok(Self {
            asking: AtomicU64::new(0),
            served: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            gate: PiMutex::new(())?,
            last: PiMutex::new(last)?,
        })
    }

    /// Bytes of a process image.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.last.lock().bytes.len()
    }

    /// Publishes bytes; returns the number of readers that it waited for, which were in the lock when it asked or
    /// entered before it: 0 or 1. Bytes beyond a process image's are left out, missing ones stay as they were.
    ///
    /// # Real-time safety
    /// Real-time safe except for the wait for that one reader, which copies a process image.
    pub fn publish(&self, bytes: &[u8]) -> u64 {
        self.asking.fetch_add(1, Ordering::SeqCst);
        let before = self.served.load(Ordering::SeqCst);
        let mut last = self.last.lock();
        let waited = self.served.load(Ordering::SeqCst) - before;
        let length = bytes.len().min(last.bytes.len());
        last.bytes[..length].copy_from_slice(&bytes[..length]);
        last.number += 1;
        drop(last);
        self.asking.fetch_sub(1, Ordering::SeqCst);
        self.waits.fetch_add(waited, Ordering::Relaxed);
        waited
    }

    /// How often publishing waited for a reader, since the process image was made.
    pub fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// Sets whether the last image is final. Wait-free.
    pub fn end(&self, is: bool) {
        self.ended.store(u64::from(is), Ordering::Release);
    }

    /// Whether the writer marked the last image as final. Wait-free.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) != 0
    }

    /// Copies the last image and returns its number, from 1, or 0 where there is none yet. Waits for other readers, and
    /// gives way to the writer. Bytes beyond a process image's stay as they were.
    pub fn read(&self, to: &mut [u8]) -> u64 {
        loop {
            let gate = self.gate.lock();
            if self.asking.load(Ordering::SeqCst) == 0 {
                let last = self.last.lock();
                return self.copy(&last, to);
            }
            drop(gate);
            std::thread::sleep(READER_BACKOFF);
        }
    }

    fn copy(&self, last: &NumberedImage, to: &mut [u8]) -> u64 {
        let length = to.len().min(last.bytes.len());
        to[..length].copy_from_slice(&last.bytes[..length]);
        self.served.fetch_add(1, Ordering::SeqCst);
        last.number
    }
}

#[cfg(all(test, target_os = "linux", not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Runs readers that read all the time, by `read`, until the writer is done; returns how often they read.
    fn beside_readers(
        image: &Locked,
        readers: usize,
        read: impl Fn(&Locked, &mut [u8]) -> u64 + Sync,
        write: impl FnOnce(&AtomicU64),
    ) -> u64 {
        let (done, times) = (AtomicBool::new(false), AtomicU64::new(0));
        let reading = || {
            let mut last = 0;
            let mut bytes = [0; 64];
            while !done.load(Ordering::Relaxed) {
                let number = read(image, &mut bytes);
                assert!(number >= last, "time goes on");
                assert!(bytes.iter().all(|it| *it == number as u8), "one image");
                last = number;
                times.fetch_add(1, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..readers {
                scope.spawn(reading);
            }
            write(&times);
            done.store(true, Ordering::Relaxed);
        });
        times.into_inner()
    }

    #[test]
    fn the_writer_waits_for_at_most_one_of_many_readers() {
        for readers in [1, 2, 8, 32] {
            let image = Locked::new(64).unwrap();
            let mut most = 0;
            let end = std::time::Instant::now() + Duration::from_secs(10);
            let read = beside_readers(&image, readers, Locked::read, |reads| {
                let mut number = 0_u64;
                // On a busy machine readers begin late.
                let is_late =
                    || reads.load(Ordering::Relaxed) == 0 && std::time::Instant::now() < end;
                while number < 2_000 || is_late() {
                    number += 1;
                    most = most.max(image.publish(&[number as u8; 64]));
                    if number.is_multiple_of(16) {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
            });
            assert!(most <= 1, "{readers} readers: it waited for {most}");
            assert!(read > 0, "readers get in, too");
        }
    }

    /// A check of the instrument itself: it sees more than one reader where none gives way.
    #[test]
    fn readers_that_do_not_give_way_are_counted() {
        let image = Locked::new(64).unwrap();
        let rude = |image: &Locked, to: &mut [u8]| image.copy(&image.last.lock(), to);
        let end = std::time::Instant::now() + Duration::from_secs(10);
        let mut most = 0;
        beside_readers(&image, 8, rude, |_| {
            let mut number = 0_u64;
            while most <= 1 && std::time::Instant::now() < end {
                number += 1;
                most = most.max(image.publish(&[number as u8; 64]));
            }
        });
        assert!(most > 1, "8 readers got in before it no more than once");
    }

    #[test]
    fn publishing_allocates_nothing() {
        let image = Locked::new(64).unwrap();
        let counted = allocation_counter::measure(|| {
            image.publish(&[1; 64]);
            image.read(&mut [0; 64]);
        });
        assert_eq!(counted.count_total, 0);
    }
}
