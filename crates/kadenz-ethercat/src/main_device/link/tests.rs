use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use super::*;
use crate::main_device::exchange::{
    BlockingExchange, Exchange as _, ExchangeError, FrameBuffer, Registers, RetryPolicy, Target,
};
use crate::wire::{Command, DatagramAddress, FrameWriter, mark_as_returned};

/// A wire that the test controls.
#[derive(Debug, Default, Clone)]
struct Hand(Rc<RefCell<Wire>>);

#[derive(Debug, Default)]
struct Wire {
    now_ns: u64,
    down: bool,
    sent: VecDeque<Vec<u8>>,
    coming: VecDeque<Vec<u8>>,
    /// Whether frames come back at once, each datagram with this working counter.
    answers: Option<u16>,
    /// How many are lost first.
    lose: u32,
}

impl Hand {
    fn take_sent(&self) -> Vec<u8> {
        self.0.borrow_mut().sent.pop_front().unwrap()
    }

    fn bring(&self, mut frame: Vec<u8>) {
        mark_as_returned(&mut frame);
        self.0.borrow_mut().coming.push_back(frame);
    }
}

impl Port for Hand {
    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(self.0.borrow().now_ns)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        let mut wire = self.0.borrow_mut();
        if wire.down {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        if wire.lose > 0 {
            wire.lose -= 1;
            return Ok(());
        }
        let mut frame = frame.to_vec();
        if let Some(count) = wire.answers {
            for datagram in crate::wire::DatagramsMut::of(&mut frame).unwrap() {
                let mut datagram = datagram.unwrap();
                datagram.count(count);
                datagram.data.fill(0x42);
            }
            mark_as_returned(&mut frame);
            wire.coming.push_back(frame);
        } else {
            wire.sent.push_back(frame);
        }
        Ok(())
    }

    fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        let coming = self.0.borrow_mut().coming.pop_front()?;
        frame[..coming.len()].copy_from_slice(&coming);
        Some(coming.len())
    }

    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
        let mut wire = self.0.borrow_mut();
        let waiting = !wire.coming.is_empty();
        if !waiting {
            wire.now_ns = wire.now_ns.max(until.as_ns());
        }
        Ok(waiting)
    }
}

fn frame() -> Vec<u8> {
    let mut buffer = [0; 60];
    let mut writer = FrameWriter::new(&mut buffer, [0; 6]).unwrap();
    writer
        .push(Command::Brd, 0, DatagramAddress::broadcast(0x0130), 2)
        .unwrap();
    writer
        .push(Command::Lrw, 0, DatagramAddress::from_raw(0), 4)
        .unwrap();
    let length = writer.finish();
    buffer[..length].to_vec()
}

fn link() -> (Link<Hand>, Hand) {
    let hand = Hand::default();
    (Link::new(hand.clone(), 1), hand)
}

#[test]
fn answers_find_their_questions_in_any_order() {
    let (mut link, hand) = link();
    let first = link.send(&mut frame()).unwrap();
    let second = link.send(&mut frame()).unwrap();
    let (one, two) = (hand.take_sent(), hand.take_sent());
    hand.bring(two);
    hand.bring(one);
    let mut buffer = [0; MAX_FRAME];
    let arrived = link.receive(&mut buffer).unwrap();
    assert!(Link::<Hand>::is_answer(&second, arrived) && !Link::<Hand>::is_answer(&first, arrived));
    assert!(Link::<Hand>::is_answer(
        &first,
        link.receive(&mut buffer).unwrap()
    ));
    assert_eq!(link.receive(&mut buffer), None);
    assert_eq!(
        link.counts(),
        LinkCounts {
            sent: 2,
            answered: 2,
            ..LinkCounts::default()
        }
    );
}

#[test]
fn a_flood_of_foreign_frames_blocks_no_caller() {
    let (mut link, hand) = link();
    let out = link.send(&mut frame()).unwrap();
    let answer = hand.take_sent();
    for _ in 0..300 {
        let mut other = answer.clone();
        other[7] = 9;
        hand.bring(other);
    }
    hand.bring(answer);
    let mut buffer = [0; MAX_FRAME];
    assert_eq!(
        link.receive(&mut buffer),
        None,
        "it looks at so many and no more"
    );
    assert_eq!(hand.0.borrow().coming.len(), 301 - MAX_IN_FLIGHT);
    let arrived = link.receive(&mut buffer).unwrap();
    assert!(Link::<Hand>::is_answer(&out, arrived));
    assert_eq!(link.counts().foreign, 300);
}

#[test]
fn late_second_foreign_and_damaged_frames_are_counted_and_answer_nothing() {
    let (mut link, hand) = link();
    let lost = link.send(&mut frame()).unwrap();
    let late = hand.take_sent();
    link.give_up(&lost);
    // Others use every index once more, so that the late one's is out again.
    let again: Vec<Ticket> = (0..256).map(|_| link.send(&mut frame()).unwrap()).collect();
    hand.bring(late);
    let sent = hand.take_sent();
    hand.bring(sent.clone());
    hand.bring(sent.clone());
    let mut other = sent.clone();
    other[7] = 9;
    hand.bring(other);
    hand.bring(vec![1, 2, 3]);
    let mut damaged = hand.take_sent();
    damaged[14] -= 1;
    hand.bring(damaged);
    let mut cut = hand.take_sent();
    cut.truncate(20);
    hand.bring(cut);
    let mut buffer = [0; MAX_FRAME];
    let arrived = link.receive(&mut buffer).unwrap();
    assert!(Link::<Hand>::is_answer(&again[0], arrived) && !link.is_out(&again[0]));
    assert_eq!(link.receive(&mut buffer), None);
    let counts = link.counts();
    assert_eq!(
        (counts.lost, counts.late, counts.foreign, counts.damaged),
        (1, 2, 2, 2)
    );
    assert!(link.is_out(&again[1]), "a damaged answer does not count");
}

#[test]
fn with_every_index_out_nothing_more_is_sent() {
    let (mut link, _hand) = link();
    let out: Vec<Ticket> = (0..256).map(|_| link.send(&mut frame()).unwrap()).collect();
    assert!(matches!(link.send(&mut frame()), Err(SendError::AllOut)));
    out.iter().for_each(|ticket| link.give_up(ticket));
    assert!(link.send(&mut frame()).is_ok());
    assert_eq!(link.counts().lost, 256);
    link.discard_all();
    assert_eq!(
        link.counts().lost,
        257,
        "frames that were given up free their indices"
    );
}

#[test]
fn a_wire_that_is_down_is_an_error_that_names_the_remedy() {
    let (mut link, hand) = link();
    hand.0.borrow_mut().down = true;
    let error = link.send(&mut frame()).unwrap_err();
    assert!(error.to_string().contains("plugged in"), "{error}");
    assert_eq!(
        link.counts(),
        LinkCounts {
            refused: 1,
            ..LinkCounts::default()
        }
    );
}

#[test]
fn a_lost_question_is_asked_again_and_at_last_given_up() {
    let (mut link, hand) = link();
    hand.0.borrow_mut().answers = Some(1);
    hand.0.borrow_mut().lose = 2;
    let retry = RetryPolicy {
        answer: Duration::from_millis(1),
        tries: 3,
    };
    let mut waiting = BlockingExchange {
        link: &mut link,
        retry,
    };
    let value = Registers::by(&mut waiting).get_u16(Target::At(crate::wire::Position(0)), 0x0130);
    assert_eq!(value.unwrap(), 0x4242);
    hand.0.borrow_mut().lose = 3;
    let mut buffer = FrameBuffer::default();
    buffer
        .write(|it| it.push(Command::Brd, 0, DatagramAddress::broadcast(0), 1))
        .unwrap();
    assert!(matches!(
        waiting.exchange(&mut buffer),
        Err(ExchangeError::Lost(_, 3))
    ));
    assert_eq!(link.counts().lost, 5);
}

#[test]
fn a_working_counter_that_is_not_as_it_should_be_is_an_error() {
    let (mut link, hand) = link();
    hand.0.borrow_mut().answers = Some(2);
    let mut waiting = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut waiting);
    let error = registers.put_u16(Target::All(3), 0x0120, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Bwr of register 0x0120: working counter 2 of 3 for every one of 3 SubDevices; is it on the segment, with power, and are the cables whole?"
    );
    assert!(registers.put_u16(Target::All(2), 0x0120, 1).is_ok());
}
