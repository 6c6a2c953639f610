//! A segment behind a port in real time: frames that come are passed and sent back.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::tuning::{self, Tuning};

use super::{Passed, Segment, Time};
use crate::port::{Port, Side};
use crate::wire::{Datagrams, MAX_FRAME, Mac, RETURNED};

/// How long a frame is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// As long as the computer takes: a master then measures itself and the computer, not the wire. Only
    /// what faults delay comes later, by as much as they do.
    #[default]
    AtOnce,
    /// As long as on a wire of 100 Mbit/s with all its hops, or what the computer takes where that is more.
    AsWire,
}

/// Frames that may wait until they are back: at 4 kHz those of a quarter of a second.
const MAX_UNDER_WAY: usize = 1_024;
/// Frames that are taken in before the caller is heard again.
const MAX_AT_ONCE: usize = 256;
/// How long an idle segment sleeps at most, so that who stops it is heard.
const MAX_SLEEP: Duration = Duration::from_millis(20);

struct Late {
    at: Time,
    /// Which it is of all that waited: of those that are back at the same time, the first goes first.
    number: u64,
    side: Side,
    length: usize,
    bytes: [u8; MAX_FRAME],
}

/// Serves a segment. After it was made it allocates nothing as long as nothing is plugged otherwise.
pub struct Server<P> {
    port: P,
    segment: Segment,
    pace: Pace,
    /// When this began, and what time it was on the segment then.
    start: (MonotonicTime, Time),
    late: Vec<Late>,
    /// Frames that have waited.
    waited: u64,
    crowded: u64,
    unsent: u64,
    echoes: Echoes,
    echoed: u64,
}

impl<P: Port> Server<P> {
    /// A segment behind a port; where that has one side, a ring is a line. Its time goes on from where it is.
    /// Allocates.
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
            crowded: 0,
            unsent: 0,
            echoes: Echoes::new(),
            echoed: 0,
        }
    }

    /// The segment, to be looked at and to let things go wrong.
    pub fn segment_mut(&mut self) -> &mut Segment {
        &mut self.segment
    }

    /// Frames that the port did not take.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Frames that were lost since 1024 were late at a time.
    #[must_use]
    pub fn crowded(&self) -> u64 {
        self.crowded
    }

    /// Frames that were not passed, since a segment had passed them already: another one on the same wire, or
    /// this one in a loop.
    #[must_use]
    pub fn echoed(&self) -> u64 {
        self.echoed
    }

    /// What time it is on the segment.
    #[must_use]
    pub fn now(&self) -> Time {
        let (began, time) = self.start;
        let since = self.port.now().since(began);
        time.after(u64::try_from(since).unwrap_or(0))
    }

    /// Waits for a frame or for what is due, at most some milliseconds, and passes those that have come, a
    /// few hundred at most.
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
        // A flood keeps nobody from ending this.
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

    /// Does `work` on the calling thread, and serves the segment on another, tuned so, until the work is done. Where
    /// the port cannot wait any more, the segment is silent from then on.
    ///
    /// # Panics
    /// When `work` does, after the other thread has ended.
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

    /// Where there is no room the frame is lost, as in a switch.
    fn keep(&mut self, at: Time, side: Side, frame: &[u8]) {
        if self.late.len() == MAX_UNDER_WAY {
            self.crowded += 1;
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

/// The earliest whose time has come.
fn first_due(late: &[Late], now: Time) -> Option<usize> {
    let due = late.iter().enumerate().filter(|(_, it)| it.at <= now);
    let first = due.min_by_key(|(_, it)| (it.at, it.number));
    first.map(|(place, _)| place)
}

// Frames that a segment has passed already, met again: those of this one that a loop brings back, and those
// that another segment on the same wire has answered. Were they passed, they would go to and fro for ever.

/// MainDevices' frames that are remembered: as many as may be out at a time.
const SLOTS: usize = 256;
/// For how long a frame is remembered that nobody counted. Whoever sends the like again so soon is told
/// nothing, which an answer would not have done either.
const REMEMBERED_NS: u64 = 100_000;

/// What was seen and sent.
#[derive(Debug)]
struct Echoes {
    /// Addresses without the mark of a frame that came back, each in its slot: of MainDevices.
    known: [Option<Mac>; SLOTS],
    /// The last frame that went back with the mark, and without having been counted by anybody.
    uncounted: Option<(Time, u64)>,
}

impl Echoes {
    fn new() -> Self {
        Self {
            known: [None; SLOTS],
            uncounted: None,
        }
    }

    /// Whether a frame that comes was passed already, by this segment or another.
    ///
    /// The first device of a segment sets a bit of the source address. Where the same address came without
    /// it, that says enough. An address may bear the bit from the beginning (that of a virtual machine, or of
    /// a cable in memory): then it was passed if somebody counted, since MainDevices send zeros, or if it is
    /// what was sent a moment ago.
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
                .is_some_and(|(at, it)| now.since(at) <= REMEMBERED_NS && it == likeness(frame))
    }

    /// A frame is sent back.
    fn sent(&mut self, frame: &[u8], now: Time) {
        let marked = source(frame).is_some_and(|it| it[0] & RETURNED != 0);
        if marked && !is_counted(frame) {
            self.uncounted = Some((now, likeness(frame)));
        }
    }
}

/// Addresses that count up, as those of [`Link`](crate::main_device::link::Link) do, have slots of their own.
fn slot(source: Mac) -> usize {
    let folded = source.into_iter().fold(0_u8, |all, byte| all ^ byte);
    folded.into()
}

fn source(frame: &[u8]) -> Option<Mac> {
    frame.get(6..)?.first_chunk().copied()
}

/// Whether some device did what a datagram asks.
fn is_counted(frame: &[u8]) -> bool {
    Datagrams::of(frame).is_ok_and(|all| all.flatten().any(|it| it.working_counter != 0))
}

/// A number of all bytes (FNV-1a, by Fowler, Noll and Vo).
fn likeness(frame: &[u8]) -> u64 {
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
                // As our own MainDevice counts its frames.
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
            "nobody is known"
        );
        assert!(!sent.iter().any(|it| echoes.is_one(it, Time(0))));
        let late = Time(u64::MAX);
        assert!(sent.iter().all(|it| echoes.is_one(&returned(it), late)));
    }

    #[test]
    fn with_an_address_that_bears_the_mark_it_counts_whether_somebody_counted() {
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
            "nobody counted it"
        );
        assert!(!echoes.is_one(&frame(0x52, 2), Time(0)));
        assert!(!echoes.is_one(&one, Time(REMEMBERED_NS + 1)));
        // The working counter, behind a header of 10 bytes and one of data.
        one[16 + 10 + 1] = 3;
        assert!(echoes.is_one(&one, Time(u64::MAX)));
        assert!(!echoes.is_one(&[0; 8], Time(0)), "nothing panics");
    }
}
