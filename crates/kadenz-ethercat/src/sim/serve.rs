//! A segment behind a port in real time: frames that come are passed and sent back.

mod echo;

use std::io;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::{Passed, Segment, Side, Time};
use crate::port::Port;
use crate::wire::LONGEST_FRAME;
use echo::Echoes;

/// How long a frame is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// As long as the computer takes: a master then measures itself and the computer, not the wire. Only
    /// what faults delay comes later.
    ///
    /// A fault that delays a frame by less than the longest way there is, 2 ms, is not told from a long way:
    /// it delays nothing at this pace.
    #[default]
    AtOnce,
    /// As long as on a wire of 100 Mbit/s with all its hops, or what the computer takes where that is more.
    AsWire,
}

/// Frames that may wait until they are back.
const MOST_UNDER_WAY: usize = 64;
/// Frames that are taken in before the caller is heard again.
const MOST_AT_ONCE: usize = 256;
/// How long an idle segment sleeps at most, so that who stops it is heard.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// A frame that needs longer than this is delayed by a fault: what the longest frame takes through the
/// most devices.
const LONGEST_WAY_NS: u64 = 2_000_000;

struct Late {
    at: Time,
    side: Side,
    length: usize,
    bytes: [u8; LONGEST_FRAME],
}

/// Serves a segment. After it was made it allocates nothing as long as nothing is plugged otherwise.
pub struct Server<P> {
    port: P,
    segment: Segment,
    pace: Pace,
    /// When this began, and what time it was on the segment then.
    start: (MonotonicTime, Time),
    late: Vec<Late>,
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
        let late = Vec::with_capacity(MOST_UNDER_WAY);
        Self {
            port,
            segment,
            pace,
            start,
            late,
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
        let span = Duration::from_nanos(next.since(now)).min(LONGEST_SLEEP);
        self.port.wait(self.port.now() + span)?;
        let mut frame = [0; LONGEST_FRAME];
        // A flood keeps nobody from ending this.
        for _ in 0..MOST_AT_ONCE {
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

    fn pass(&mut self, side: Side, frame: &mut [u8]) {
        let now = self.now();
        if self.echoes.is_one(frame, now) {
            self.echoed += 1;
            return;
        }
        let Passed::Returned {
            side,
            at,
            length,
            again,
        } = self.segment.pass_from(side, frame, now)
        else {
            return;
        };
        let frame = &frame[..length.min(frame.len())];
        for at in [Some(at), again].into_iter().flatten() {
            let waits = self.pace == Pace::AsWire || at.since(now) > LONGEST_WAY_NS;
            if waits {
                self.keep(at, side, frame);
            } else {
                self.send(side, frame, now);
            }
        }
    }

    /// Where there is no room the frame is lost, as in a switch.
    fn keep(&mut self, at: Time, side: Side, frame: &[u8]) {
        if self.late.len() == MOST_UNDER_WAY {
            self.unsent += 1;
            return;
        }
        let length = frame.len();
        let mut bytes = [0; LONGEST_FRAME];
        bytes[..length].copy_from_slice(frame);
        self.late.push(Late {
            at,
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

/// The earliest whose time has come.
fn first_due(late: &[Late], now: Time) -> Option<usize> {
    let due = late.iter().enumerate().filter(|(_, it)| it.at <= now);
    due.min_by_key(|(_, it)| it.at).map(|(place, _)| place)
}

#[cfg(test)]
mod tests;
