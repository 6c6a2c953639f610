use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::*;
use crate::sim::CableId;
use crate::sim::fault::{Fault, FrameFault, Planned, When, WireFault};
use crate::sim::humanoid::humanoid;
use crate::wire::{Command, DatagramAddress, Datagrams, FrameWriter};

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
        assert!(self.0 < 100_000, "the server did not return");
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
fn a_flood_does_not_keep_the_caller_from_ending_it() {
    let segment = humanoid(3).build().unwrap();
    let mut server = Server::new(Flood(0), segment, Pace::AtOnce);
    for _ in 0..3 {
        server.step().unwrap();
    }
    assert_eq!(server.port.0 as usize, 3 * MAX_AT_ONCE);
}

/// An end of a wire, operated by the test.
#[derive(Clone, Default)]
struct Hand(Rc<RefCell<Ends>>);

#[derive(Default)]
struct Ends {
    comes: VecDeque<(Side, Vec<u8>)>,
    went: Vec<(Side, Vec<u8>)>,
    second: bool,
    /// Nanoseconds since the beginning.
    now: u64,
}

impl Hand {
    fn bring(&self, side: Side, frame: &[u8]) {
        self.0.borrow_mut().comes.push_back((side, frame.to_vec()));
    }

    fn take(&self) -> Vec<(Side, Vec<u8>)> {
        std::mem::take(&mut self.0.borrow_mut().went)
    }

    /// How many frames have left at that time.
    fn gone_at(&self, now: u64, server: &mut Server<Self>) -> usize {
        self.0.borrow_mut().now = now;
        server.step().unwrap();
        self.take().len()
    }
}

impl Port for Hand {
    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(1 + self.0.borrow().now)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.send_by(Side::Primary, frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        self.receive_from(frame).map(|it| it.1)
    }

    fn wait(&mut self, _: MonotonicTime) -> io::Result<bool> {
        Ok(true)
    }

    fn has_second(&self) -> bool {
        self.0.borrow().second
    }

    fn send_by(&mut self, side: Side, frame: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().went.push((side, frame.to_vec()));
        Ok(())
    }

    fn receive_from(&mut self, frame: &mut [u8]) -> Option<(Side, usize)> {
        let (side, bytes) = self.0.borrow_mut().comes.pop_front()?;
        frame[..bytes.len()].copy_from_slice(&bytes);
        Some((side, bytes.len()))
    }
}

/// Counts the devices.
fn question(source: u8) -> [u8; 60] {
    let mut frame = [0; 60];
    let mut writer = FrameWriter::new(&mut frame, [source; 6]).unwrap();
    let address = DatagramAddress::broadcast(0);
    writer.push(Command::Brd, 1, address, 1).unwrap();
    writer.finish();
    frame
}

fn counted(frame: &[u8]) -> u16 {
    let datagram = Datagrams::of(frame).unwrap().next().unwrap();
    datagram.unwrap().working_counter
}

#[test]
fn two_segments_on_one_wire_do_not_answer_each_other_forever() {
    // One address is a network card's; the other has the mark of a returned frame from the beginning.
    for source in [0x10, 0x52] {
        let hands = [Hand::default(), Hand::default()];
        let mut servers = hands.each_ref().map(|hand| {
            let segment = humanoid(3).build().unwrap();
            Server::new(hand.clone(), segment, Pace::AtOnce)
        });
        for hand in &hands {
            hand.bring(Side::Primary, &question(source));
        }
        let mut answers = 0;
        for _ in 0..100 {
            for (at, server) in servers.iter_mut().enumerate() {
                server.step().unwrap();
                for (side, frame) in hands[at].take() {
                    answers += 1;
                    hands[1 - at].bring(side, &frame);
                }
            }
        }
        assert_eq!(answers, 2, "{source:02x}");
        assert!(servers.iter().all(|it| it.echoed() == 1));
    }
}

fn ring(second: bool) -> (Hand, Server<Hand>) {
    let hand = Hand::default();
    hand.0.borrow_mut().second = second;
    let mut plan = humanoid(5);
    assert!(plan.close_ring());
    let server = Server::new(hand.clone(), plan.build().unwrap(), Pace::AtOnce);
    (hand, server)
}

#[test]
fn a_ring_is_answered_at_its_other_end_and_at_both_where_it_is_cut() {
    let (hand, mut server) = ring(true);
    let ask = |server: &mut Server<Hand>| {
        for (source, side) in [(0x10, Side::Primary), (0x04, Side::Redundant)] {
            hand.bring(side, &question(source));
        }
        server.step().unwrap();
        let answers = hand.take().into_iter();
        let mut answers: Vec<_> = answers
            .map(|(side, it)| (side as u8, counted(&it)))
            .collect();
        answers.sort_unstable();
        answers
    };
    // Round, and the other way round, where no device processes the frame.
    assert_eq!(ask(&mut server), [(0, 0), (1, 5)]);
    let now = server.now();
    let cut = Fault::Wire(WireFault::Cut(CableId(3)));
    server.segment_mut().inject(cut, now);
    let [(0, near), (1, far)] = ask(&mut server)[..] else {
        panic!("each side hears its own");
    };
    assert!(near > 0 && far > 0 && near + far == 5, "{near} {far}");
}

#[test]
fn at_one_interface_a_ring_is_a_line() {
    let (hand, mut server) = ring(false);
    hand.bring(Side::Primary, &question(0x10));
    server.step().unwrap();
    let answers = hand.take();
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].0, counted(&answers[0].1)), (Side::Primary, 5));
}

/// A line with one cable on which frames take 3 ms.
fn long_line(pace: Pace) -> (Hand, Server<Hand>) {
    let hand = Hand::default();
    let mut plan = humanoid(3);
    plan.devices[1].delay_ns = 3_000_000;
    let server = Server::new(hand.clone(), plan.build().unwrap(), pace);
    (hand, server)
}

/// Injects a fault on that many frames, which then arrive.
fn struck(hand: &Hand, server: &mut Server<Hand>, fault: FrameFault, frames: u64) {
    let first = server.segment_mut().counts().frames + 1;
    let when = When::Frames(first, first + frames);
    let planned = Planned::new(when, Fault::Frame(fault));
    server.segment_mut().faults().add_line(planned).unwrap();
    for _ in 0..frames {
        hand.bring(Side::Primary, &question(0x10));
    }
}

#[test]
fn at_once_a_fault_delays_as_long_as_it_says_and_the_wire_does_not() {
    let (hand, mut server) = long_line(Pace::AtOnce);
    hand.bring(Side::Primary, &question(0x10));
    assert_eq!(hand.gone_at(0, &mut server), 1, "without a fault");
    let mut start = 0;
    for ns in [1, 500_000, 30_000_000] {
        start += 100_000_000;
        hand.gone_at(start, &mut server);
        struck(&hand, &mut server, FrameFault::Delay { ns }, 1);
        assert_eq!(hand.gone_at(start, &mut server), 0, "{ns}");
        assert_eq!(hand.gone_at(start + ns - 1, &mut server), 0, "{ns}");
        assert_eq!(hand.gone_at(start + ns, &mut server), 1, "{ns}");
        struck(&hand, &mut server, FrameFault::Duplicate { ns }, 1);
        let start = start + ns;
        assert_eq!(hand.gone_at(start, &mut server), 1, "the first, {ns}");
        assert_eq!(hand.gone_at(start + ns - 1, &mut server), 0, "{ns}");
        assert_eq!(hand.gone_at(start + ns, &mut server), 1, "again, {ns}");
    }
    assert_eq!(server.segment_mut().counts().frame_faults, 6);
}

#[test]
fn as_on_a_wire_a_delay_comes_to_the_way() {
    let (hand, mut server) = long_line(Pace::AsWire);
    struck(&hand, &mut server, FrameFault::Delay { ns: 500_000 }, 1);
    for (at, gone) in [(0, 0), (6_400_000, 0), (6_600_000, 1)] {
        assert_eq!(hand.gone_at(at, &mut server), gone, "at {at}");
    }
}

#[test]
fn many_frames_may_be_late_at_a_time_and_those_too_many_are_counted() {
    const LATE_NS: u64 = 100_000_000;
    for (frames, overflowed) in [(200, 0), (1_025, 1)] {
        let (hand, mut server) = long_line(Pace::AtOnce);
        struck(
            &hand,
            &mut server,
            FrameFault::Delay { ns: LATE_NS },
            frames,
        );
        for _ in 0..=frames as usize / MAX_AT_ONCE {
            assert_eq!(hand.gone_at(0, &mut server), 0);
        }
        let came = hand.gone_at(LATE_NS, &mut server) as u64;
        assert_eq!(
            (came, server.overflowed()),
            (frames - overflowed, overflowed)
        );
        assert_eq!((server.unsent(), server.echoed()), (0, 0));
    }
}

#[test]
fn frames_that_are_late_come_in_their_order() {
    let (hand, mut server) = long_line(Pace::AtOnce);
    for index in 0..100 {
        let mut frame = question(0x10);
        frame[11] = index;
        hand.bring(Side::Primary, &frame);
    }
    let planned = Planned::new(
        When::Frames(1, 101),
        Fault::Frame(FrameFault::Delay { ns: 9 }),
    );
    server.segment_mut().faults().add_line(planned).unwrap();
    server.step().unwrap();
    hand.0.borrow_mut().now = 9;
    server.step().unwrap();
    let came: Vec<u8> = hand.take().iter().map(|it| it.1[11]).collect();
    assert_eq!(came, (0..100).collect::<Vec<u8>>());
}

#[test]
fn the_segment_s_thread_ends_with_a_loop_that_panics() {
    let (near, far) = crate::port::pair();
    let server = Server::new(far, humanoid(1).build().unwrap(), Pace::AtOnce);
    let work = || server.serve_while(&Tuning::default(), || panic!("the loop fails"));
    // Without the flag this would wait forever.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    assert!(ended.is_err());
    drop(near);
}
