//! A segment behind a port in real time: passes frames and sends them back.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::tuning::{self, Tuning};

use super::{Passed, Segment, Time};
use crate::port::{Port, Side};
use crate::wire::{Datagrams, MAX_FRAME, Mac, RETURNED};

/// The time that a frame takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// The computer's own time: a MainDevice then measures itself and the computer, not the wire. Faults that delay
    /// frames add their delays.
    #[default]
    AtOnce,
    /// The time on a wire of 100 Mbit/s with all its hops, or the computer's where that is longer.
    AsWire,
}

/// Most frames that wait for their return: at 4 kHz those of a quarter of a second.
const MAX_UNDER_WAY: usize = 1_024;
/// Most frames received before control returns to the caller.
const MAX_AT_ONCE: usize = 256;
/// How long an idle segment sleeps at most, so that a request to stop takes effect.
const MAX_SLEEP: Duration = Duration::from_millis(20);

struct Late {
    at: Time,
    /// Its number among all that waited: of those that return at the same time, the first goes first.
    number: u64,
    side: Side,
    length: usize,
    bytes: [u8; MAX_FRAME],
}

/// Serves a segment.
///
/// # Real-time safety
/// After its creation it allocates nothing as long as the topology stays.
pub struct Server<P> {
    port: P,
    segment: Segment,
    pace: Pace,
    /// When this began, and the segment's time then.
    start: (MonotonicTime, Time),
    late: Vec<Late>,
    /// Frames that have waited.
    waited: u64,
    overflowed: u64,
    unsent: u64,
    echoes: Echoes,
    echoed: u64,
}

impl<P: Port> Server<P> {
    /// Creates a server of a segment behind a port; where the port has one side, a ring becomes a line. The segment's
    /// time continues. Allocates.
    pub fn new(port: P, mut segment: Segment, pace: Pace) -> Self {
        if !port.has_second() {
            segment.unplug_second();
        }
        let start = (port.now(), segment.now());
        let late = Vec::with_capacity(MAX_UNDER_WAY);
        Self {
            port,
            segment,
            pace,
            start,
            late,
            waited: 0,
            overflowed: 0,
            unsent: 0,
            echoes: Echoes::new(),
            echoed: 0,
        }
    }

    /// The segment, for inspection and faults.
    pub fn segment_mut(&mut self) -> &mut Segment {
        &mut self.segment
    }

    /// Frames that the port did not take.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Frames that were lost because 1024 were waiting.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Frames that were not passed, because a segment had passed them already: another one on the same wire, or this
    /// one in a loop.
    #[must_use]
    pub fn echoed(&self) -> u64 {
        self.echoed
    }

    /// The segment's time.
    #[must_use]
    pub fn now(&self) -> Time {
        let (began, time) = self.start;
        let since = self.port.now().since(began);
        time.after(u64::try_from(since).unwrap_or(0))
    }

    /// Waits for a frame or a due event, at most some milliseconds, and passes the received frames, a few hundred at
    /// most.
    ///
    /// # Errors
    /// When the port cannot wait.
    pub fn step(&mut self) -> io::Result<()> {
        let now = self.now();
        self.send_late(now);
        let next = self
            .late
            .iter()
            .map(|it| it.at)
            .fold(self.segment.due(), Time::min);
        let span = Duration::from_nanos(next.since(now)).min(MAX_SLEEP);
        self.port.wait(self.port.now() + span)?;
        let mut frame = [0; MAX_FRAME];
        // The limit lets the caller stop during a flood of frames.
        for _ in 0..MAX_AT_ONCE {
            let Some((side, length)) = self.port.receive_from(&mut frame) else {
                break;
            };
            self.pass(side, &mut frame[..length]);
        }
        let now = self.now();
        self.segment.advance(now);
        self.send_late(now);
        Ok(())
    }

    /// Runs `work` on the calling thread, and serves the segment on another with that tuning, until the work is done.
    /// If the port can no longer wait, the segment is silent from then on.
    ///
    /// # Panics
    /// When `work` panics, after the other thread has ended.
    pub fn serve_while<R>(mut self, tuning: &Tuning, work: impl FnOnce() -> R) -> R
    where
        P: Send,
    {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _applied = tuning::apply(tuning);
                while !done.load(Ordering::Relaxed) {
                    if self.step().is_err() {
                        break;
                    }
                }
            });
            let _ends = SetAtEnd(&done);
            work()
        })
    }

    fn pass(&mut self, side: Side, frame: &mut [u8]) {
        let now = self.now();
        if self.echoes.is_one(frame, now) {
            self.echoed += 1;
            return;
        }
        let Passed::Returned {
            side,
            at,
            held_ns,
            length,
            again,
        } = self.segment.pass_from(side, frame, now)
        else {
            return;
        };
        let frame = &frame[..length.min(frame.len())];
        for back in [Some(at), again].into_iter().flatten() {
            let due = match self.pace {
                Pace::AsWire => back,
                Pace::AtOnce => now.after(held_ns).after(back.since(at)),
            };
            if due > now {
                self.keep(due, side, frame);
            } else {
                self.send(side, frame, now);
            }
        }
    }

    /// Without room the frame is lost, as in a switch.
    fn keep(&mut self, at: Time, side: Side, frame: &[u8]) {
        if self.late.len() == MAX_UNDER_WAY {
            self.overflowed += 1;
            return;
        }
        self.waited += 1;
        let length = frame.len();
        let mut bytes = [0; MAX_FRAME];
        bytes[..length].copy_from_slice(frame);
        self.late.push(Late {
            at,
            number: self.waited,
            side,
            length,
            bytes,
        });
    }

    fn send_late(&mut self, now: Time) {
        while let Some(place) = first_due(&self.late, now) {
            let late = self.late.swap_remove(place);
            self.send(late.side, &late.bytes[..late.length], now);
        }
    }

    fn send(&mut self, side: Side, frame: &[u8], now: Time) {
        self.echoes.sent(frame, now);
        if self.port.send_by(side, frame).is_err() {
            self.unsent += 1;
        }
    }
}

/// Sets a flag at its end, also by a panic.
struct SetAtEnd<'f>(&'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The earliest frame whose time has come.
fn first_due(late: &[Late], now: Time) -> Option<usize> {
    let due = late.iter().enumerate().filter(|(_, it)| it.at <= now);
    let first = due.min_by_key(|(_, it)| (it.at, it.number));
    first.map(|(place, _)| place)
}

// Detection of frames that a segment has passed already: those of this one that a loop brings back, and those that
// another segment on the same wire has answered. If passed, they would circulate forever.

/// How many MainDevices' addresses are kept: as many as may have frames under way at a time.
const SLOTS: usize = 256;
/// How long a frame that no device counted is kept. A sender that repeats such a frame within this time gets no
/// answer, which would have carried no data.
const REMEMBERED_NS: u64 = 100_000;

/// The addresses and frames seen.
#[derive(Debug)]
struct Echoes {
    /// Source addresses of MainDevices without the mark of a returned frame, each in its slot.
    known: [Option<Mac>; SLOTS],
    /// The last frame that went back with the mark, and that no device had counted.
    uncounted: Option<(Time, u64)>,
}

impl Echoes {
    fn new() -> Self {
        Self {
            known: [None; SLOTS],
            uncounted: None,
        }
    }

    /// Whether a received frame was passed already, by this segment or another.
    ///
    /// The first device of a segment sets a bit of the source address. Where the same address came without that bit,
    /// this is proof. Where an address has the bit from the beginning (of a virtual machine, or of a cable in
    /// memory), the frame was passed if a device counted it, since MainDevices send zeros, or if it equals a frame
    /// that was sent a moment ago.
    fn is_one(&mut self, frame: &[u8], now: Time) -> bool {
        let Some(source) = source(frame) else {
            return false;
        };
        let mut unmarked = source;
        unmarked[0] &= !RETURNED;
        let known = &mut self.known[slot(unmarked)];
        if source == unmarked {
            *known = Some(source);
            return false;
        }
        *known == Some(unmarked)
            || is_counted(frame)
            || self
                .uncounted
                .is_some_and(|(at, it)| now.since(at) <= REMEMBERED_NS && it == frame_hash(frame))
    }

    /// Notes a frame that is sent back.
    fn sent(&mut self, frame: &[u8], now: Time) {
        let marked = source(frame).is_some_and(|it| it[0] & RETURNED != 0);
        if marked && !is_counted(frame) {
            self.uncounted = Some((now, frame_hash(frame)));
        }
    }
}

/// Consecutive addresses, as those of [`Link`](crate::main_device::link::Link), have slots of their own.
fn slot(source: Mac) -> usize {
    let folded = source.into_iter().fold(0_u8, |all, byte| all ^ byte);
    folded.into()
}

fn source(frame: &[u8]) -> Option<Mac> {
    frame.get(6..)?.first_chunk().copied()
}

/// Whether some device executed a datagram.
fn is_counted(frame: &[u8]) -> bool {
    Datagrams::of(frame).is_ok_and(|all| all.flatten().any(|it| it.working_counter != 0))
}

/// A hash of all bytes (FNV-1a, by Fowler, Noll and Vo).
fn frame_hash(frame: &[u8]) -> u64 {
    frame.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod echo_tests {
    use super::*;
    use crate::wire::{Command, DatagramAddress, FrameWriter, mark_as_returned};

    fn frame(source: u8, index: u8) -> [u8; 60] {
        let mut frame = [0; 60];
        let mut writer = FrameWriter::new(&mut frame, [source; 6]).unwrap();
        writer
            .push(Command::Brd, index, DatagramAddress::broadcast(0), 1)
            .unwrap();
        writer.finish();
        frame
    }

    #[test]
    fn what_a_main_device_sends_is_none_and_what_came_of_it_is_one() {
        let mut echoes = Echoes::new();
        let sent: Vec<_> = (0..=255)
            .map(|index| {
                let mut frame = frame(0x10, index);
                // As Kadenz's MainDevice counts its frames.
                frame[11] = index;
                frame
            })
            .collect();
        let returned = |frame: &[u8; 60]| {
            let mut frame = *frame;
            mark_as_returned(&mut frame);
            frame
        };
        assert!(
            !echoes.is_one(&returned(&sent[0]), Time(0)),
            "no address is known"
        );
        assert!(!sent.iter().any(|it| echoes.is_one(it, Time(0))));
        let late = Time(u64::MAX);
        assert!(sent.iter().all(|it| echoes.is_one(&returned(it), late)));
    }

    #[test]
    fn with_an_address_that_bears_the_mark_the_counts_of_devices_decide() {
        let mut echoes = Echoes::new();
        let mut one = frame(0x52, 1);
        for at in 0..3 {
            assert!(
                !echoes.is_one(&one, Time(at)),
                "a MainDevice may repeat itself"
            );
        }
        echoes.sent(&one, Time(0));
        assert!(
            echoes.is_one(&one, Time(REMEMBERED_NS)),
            "no device counted it"
        );
        assert!(!echoes.is_one(&frame(0x52, 2), Time(0)));
        assert!(!echoes.is_one(&one, Time(REMEMBERED_NS + 1)));
        // The working counter, behind a header of 10 bytes and one of data.
        one[16 + 10 + 1] = 3;
        assert!(echoes.is_one(&one, Time(u64::MAX)));
        assert!(!echoes.is_one(&[0; 8], Time(0)), "nothing panics");
    }
}
