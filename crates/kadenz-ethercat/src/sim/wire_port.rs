//! A segment in this process, in virtual time.

use std::io;

use kadenz_rt::clock::MonotonicTime;

use super::{Passed, Segment, Time};
use crate::port::{Port, Side};
use crate::wire::MAX_FRAME;

/// Frames that may be under way or wait to be received.
const SLOTS: usize = 256;

/// A slot for a frame that is under way or waits to be received.
struct WireSlot {
    at: Time,
    side: Side,
    length: usize,
    bytes: [u8; MAX_FRAME],
}

/// A port with a virtual segment behind it. No thread, no wire, no waiting: time is a number, which advances when the
/// caller waits on the port, by as long as that takes.
///
/// ```
/// use kadenz_ethercat::port::Port;
/// use kadenz_ethercat::sim::WirePort;
/// use kadenz_ethercat::sim::{Model, Passive, Segment};
/// use kadenz_ethercat::description::Hardware;
/// use kadenz_ethercat::wire::{DatagramAddress, Command, Datagrams, FrameWriter, register};
///
/// let model = Model { hardware: Hardware::et1100(), sii: Vec::new(), application: Box::new(Passive) };
/// let mut port = WirePort::new(Segment::line([model], 1)?);
///
/// let mut frame = [0_u8; 1514];
/// let mut writer = FrameWriter::new(&mut frame, [0x10; 6])?;
/// writer.push(Command::Brd, 0, DatagramAddress::broadcast(register::TYPE), 1)?;
/// let length = writer.finish();
/// port.send(&frame[..length])?;
/// assert_eq!(port.receive(&mut frame), None, "it is still under way");
///
/// let sent = port.now();
/// assert!(port.wait(sent + std::time::Duration::from_millis(1))?);
/// let length = port.receive(&mut frame).expect("it is back");
/// let datagram = Datagrams::of(&frame[..length])?.next().expect("one was sent")?;
/// assert_eq!(datagram.working_counter, 1);
/// assert!(port.now().since(sent) > 1_200, "two hops and the frame itself");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WirePort {
    segment: Segment,
    now: Time,
    /// Places for frames; those in use come first.
    slots: Vec<WireSlot>,
    used: usize,
    /// Whether the port also receives frames at the segment's second side.
    both: bool,
}

impl WirePort {
    /// A port at the segment's first side; unplugs a cable at the second. Allocates all it will need.
    #[must_use]
    pub fn new(mut segment: Segment) -> Self {
        segment.unplug_second();
        Self::at(segment, false)
    }

    /// A port at both sides of a segment that is a ring: it sends by the first, and receives from both. Allocates all
    /// it will need.
    #[must_use]
    pub fn ring(segment: Segment) -> Self {
        Self::at(segment, true)
    }

    fn at(segment: Segment, both: bool) -> Self {
        let slot = || WireSlot {
            at: Time::NEVER,
            side: Side::Primary,
            length: 0,
            bytes: [0; MAX_FRAME],
        };
        Self {
            now: segment.now(),
            segment,
            slots: (0..SLOTS).map(|_| slot()).collect(),
            used: 0,
            both,
        }
    }

    /// The segment, for inspection.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The segment, for changes: faults, devices' applications.
    pub fn segment_mut(&mut self) -> &mut Segment {
        &mut self.segment
    }

    /// Takes the segment, at this port's time. Frames under way are lost.
    #[must_use]
    pub fn into_segment(mut self) -> Segment {
        self.segment.advance(self.now);
        self.segment
    }

    /// The time by the segment's clock.
    #[must_use]
    pub fn time(&self) -> Time {
        self.now
    }

    /// Advances the time, and handles the segment's events that are due until then.
    pub(crate) fn elapse(&mut self, ns: u64) {
        self.now = self.now.after(ns);
        self.segment.advance(self.now);
    }

    /// The earliest frame.
    fn first(&self) -> Option<usize> {
        (0..self.used).min_by_key(|slot| self.slots[*slot].at)
    }

    fn keep(&mut self, at: Time, side: Side, frame: &[u8]) {
        let slot = &mut self.slots[self.used];
        slot.at = at;
        slot.side = side;
        slot.length = frame.len();
        slot.bytes[..frame.len()].copy_from_slice(frame);
        self.used += 1;
    }
}

impl Port for WirePort {
    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(self.now.0)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.send_by(Side::Primary, frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        self.receive_from(frame).map(|it| it.1)
    }

    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
        let until = Time(until.as_ns()).max(self.now);
        let first = self.first().map_or(Time::NEVER, |it| self.slots[it].at);
        self.now = first.min(until).max(self.now);
        self.segment.advance(self.now);
        Ok(first <= self.now)
    }

    fn has_second(&self) -> bool {
        self.both
    }

    fn send_by(&mut self, side: Side, frame: &[u8]) -> io::Result<()> {
        // A frame may come back twice.
        if self.used + 2 > SLOTS {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut bytes = [0; MAX_FRAME];
        let Some(copy) = bytes.get_mut(..frame.len()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        copy.copy_from_slice(frame);
        if let Passed::Returned {
            side,
            at,
            length,
            again,
            ..
        } = self.segment.pass_from(side, copy, self.now)
            && (self.both || side == Side::Primary)
        {
            let came = &copy[..length.min(frame.len())];
            for at in [Some(at), again].into_iter().flatten() {
                self.keep(at, side, came);
            }
        }
        Ok(())
    }

    fn receive_from(&mut self, frame: &mut [u8]) -> Option<(Side, usize)> {
        let slot = self.first().filter(|it| self.slots[*it].at <= self.now)?;
        let length = self.slots[slot].length.min(frame.len());
        frame[..length].copy_from_slice(&self.slots[slot].bytes[..length]);
        let side = self.slots[slot].side;
        self.used -= 1;
        self.slots.swap(slot, self.used);
        Some((side, length))
    }
}

impl std::fmt::Debug for WirePort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WirePort")
            .field("now", &self.now)
            .field("under_way", &self.used)
            .field("segment", &self.segment)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Hardware;
    use crate::sim::fault::{Fault, FrameFault};
    use crate::sim::{Model, Passive};
    use crate::wire::{Command, DatagramAddress, FrameWriter};

    fn port() -> WirePort {
        let model = Model {
            hardware: Hardware::et1100(),
            sii: Vec::new(),
            application: Box::new(Passive),
        };
        WirePort::new(Segment::line([model], 1).unwrap())
    }

    fn frame(index: u8) -> [u8; 60] {
        let mut frame = [0; 60];
        let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
        writer
            .push(Command::Brd, index, DatagramAddress::broadcast(0), 1)
            .unwrap();
        writer.finish();
        frame
    }

    fn in_ns(port: &WirePort, ns: u64) -> MonotonicTime {
        MonotonicTime::from_ns(port.time().0 + ns)
    }

    #[test]
    fn a_late_frame_is_overtaken() {
        let mut port = port();
        let late = Fault::Frame(FrameFault::Delay { ns: 500_000 });
        port.segment_mut().inject(late, Time::ZERO);
        port.send(&frame(1)).unwrap();
        port.send(&frame(2)).unwrap();
        let mut indices = Vec::new();
        let mut bytes = [0; 100];
        while port.wait(in_ns(&port, 1_000_000)).unwrap() {
            assert_eq!(port.receive(&mut bytes), Some(60));
            indices.push(bytes[17]);
        }
        assert_eq!(indices, [2, 1]);
    }

    #[test]
    fn a_lost_frame_is_waited_for_in_vain_and_a_double_comes_twice() {
        let mut port = port();
        let lose = Fault::Frame(FrameFault::Lose { after: None });
        port.segment_mut().inject(lose, Time::ZERO);
        port.send(&frame(1)).unwrap();
        let until = in_ns(&port, 1_000_000);
        assert!(!port.wait(until).unwrap());
        assert_eq!(port.now(), until);
        let double = Fault::Frame(FrameFault::Duplicate { ns: 10 });
        let now = port.time();
        port.segment_mut().inject(double, now);
        port.send(&frame(2)).unwrap();
        port.elapse(1_000_000);
        let mut bytes = [0; 100];
        assert_eq!(port.receive(&mut bytes), Some(60));
        assert_eq!(port.receive(&mut bytes), Some(60));
        assert_eq!(port.receive(&mut bytes), None);
    }

    #[test]
    fn what_is_too_long_or_too_much_is_not_sent() {
        let mut port = port();
        assert!(port.send(&[0; MAX_FRAME + 1]).is_err());
        let sent = (0..1_000).take_while(|_| port.send(&frame(0)).is_ok());
        assert_eq!(sent.count(), SLOTS - 1);
    }
}
