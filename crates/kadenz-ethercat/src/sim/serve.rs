//! A segment behind a port in real time: frames that come are passed and sent back.

use std::io;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::{Passed, Segment, Time};
use crate::port::Port;
use crate::wire::LONGEST_FRAME;

/// How long a frame is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// As long as the computer takes: a master then measures itself and the computer, not the wire. Only
    /// what faults delay comes later.
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
}

impl<P: Port> Server<P> {
    /// A segment behind a port. Its time goes on from where it is. Allocates.
    pub fn new(port: P, segment: Segment, pace: Pace) -> Self {
        let start = (port.now(), segment.now());
        let late = Vec::with_capacity(MOST_UNDER_WAY);
        Self {
            port,
            segment,
            pace,
            start,
            late,
            unsent: 0,
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
            let Some(length) = self.port.receive(&mut frame) else {
                break;
            };
            self.pass(&mut frame[..length]);
        }
        let now = self.now();
        self.segment.advance(now);
        self.send_late(now);
        Ok(())
    }

    fn pass(&mut self, frame: &mut [u8]) {
        let now = self.now();
        let Passed::Returned {
            at, length, again, ..
        } = self.segment.pass(frame, now)
        else {
            return;
        };
        let frame = &frame[..length.min(frame.len())];
        for at in [Some(at), again].into_iter().flatten() {
            let waits = self.pace == Pace::AsWire || at.since(now) > LONGEST_WAY_NS;
            if waits {
                self.keep(at, frame);
            } else {
                self.send(frame);
            }
        }
    }

    /// Where there is no room the frame is lost, as in a switch.
    fn keep(&mut self, at: Time, frame: &[u8]) {
        if self.late.len() == MOST_UNDER_WAY {
            self.unsent += 1;
            return;
        }
        let length = frame.len();
        let mut bytes = [0; LONGEST_FRAME];
        bytes[..length].copy_from_slice(frame);
        self.late.push(Late { at, length, bytes });
    }

    fn send_late(&mut self, now: Time) {
        while let Some(place) = first_due(&self.late, now) {
            let late = self.late.swap_remove(place);
            self.send(&late.bytes[..late.length]);
        }
    }

    fn send(&mut self, frame: &[u8]) {
        if self.port.send(frame).is_err() {
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
mod tests {
    use super::*;
    use crate::sim::humanoid::humanoid;

    /// A wire on which there is always one more frame.
    struct Flood(u32);

    impl Port for Flood {
        fn now(&self) -> MonotonicTime {
            MonotonicTime::from_ns(u64::from(self.0))
        }

        fn send(&mut self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
            self.0 += 1;
            assert!(self.0 < 100_000, "nobody could end it");
            frame[..60].fill(0);
            Some(60)
        }

        fn wait(&mut self, _: MonotonicTime) -> io::Result<bool> {
            Ok(true)
        }
    }

    #[test]
    fn a_segment_that_has_lived_goes_on_from_there() {
        let mut segment = humanoid(3).build().unwrap();
        segment.advance(Time(7_000));
        let server = Server::new(Flood(50), segment, Pace::AtOnce);
        assert_eq!(server.now(), Time(7_000));
    }

    #[test]
    fn a_flood_keeps_nobody_from_ending_it() {
        let segment = humanoid(3).build().unwrap();
        let mut server = Server::new(Flood(0), segment, Pace::AtOnce);
        for _ in 0..3 {
            server.step().unwrap();
        }
        assert_eq!(server.port.0 as usize, 3 * MOST_AT_ONCE);
    }
}
