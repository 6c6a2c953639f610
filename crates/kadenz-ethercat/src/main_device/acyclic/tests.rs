use std::sync::atomic::AtomicU32;

use super::*;
use crate::main_device::exchange::{Registers, Target};
use crate::sim::Segment;
use crate::sim::WirePort;
use crate::sim::humanoid::humanoid;
use crate::wire::register::TYPE;

#[test]
fn a_thread_that_asks_again_and_again_keeps_no_other_waiting() {
    let queue = AcyclicQueue::default();
    let mut link = Link::new(WirePort::new(Segment::new(1)), 1);
    let mut frame = FrameBuffer::default();
    let request = |class| queue.request(&FrameBuffer::default(), RetryPolicy::default(), class);
    while request(SlotClass::Shared).is_some() {}
    let mut serve = || {
        // An empty frame is not sent, and counts as lost at once.
        queue.send_one(&mut link);
        let place = (0..SLOTS).find(|it| queue.take(*it, &mut frame).is_some());
        let place = place.unwrap();
        let class = match place {
            OWN => SlotClass::Own,
            _ => SlotClass::Shared,
        };
        // It asks again at once.
        assert_eq!(request(class), Some(place));
        place
    };
    let served: Vec<_> = (0..SHARED).map(|_| serve()).collect();
    assert_eq!(served, [0, 1, 2, 3]);

    // A client with a slot of its own waits for one of the others at most, and they for it.
    assert_eq!(request(SlotClass::Own), Some(OWN));
    assert_eq!(request(SlotClass::Own), None, "it has one");
    let served: Vec<_> = (0..6).map(|_| serve()).collect();
    assert_eq!(served, [OWN, 0, OWN, 1, OWN, 2]);
}

/// Runs a loop that only carries questions, until all asking threads are done.
fn carry(queue: &AcyclicQueue, link: &mut Link<WirePort>, asking: &AtomicU32) {
    let mut answer = [0; crate::wire::MAX_FRAME];
    while asking.load(Ordering::Acquire) > 0 {
        queue.send_one(link);
        let beat = link.now() + Duration::from_millis(1);
        while link.now() < beat {
            link.wait(beat).expect("a virtual wire waits");
            while let Some(arrived) = link.receive(&mut answer) {
                queue.deliver::<WirePort>(arrived, &answer[..arrived.length]);
            }
        }
        queue.expire(link);
        std::thread::yield_now();
    }
}

#[test]
fn no_answer_is_lost_however_many_ask_at_once() {
    const ASKING: u32 = 6;
    const TIMES: u32 = 100;
    let queue = AcyclicQueue::default();
    let mut link = Link::new(WirePort::new(humanoid(1).build().unwrap()), 1);
    let asking = AtomicU32::new(ASKING);
    // By the segment's time, so that a busy machine has no influence.
    let retry = RetryPolicy {
        answer: Duration::from_millis(5),
        tries: 1,
    };
    std::thread::scope(|scope| {
        for _ in 0..ASKING {
            scope.spawn(|| {
                let mut exchange = AcyclicClient::of(&queue, retry);
                let mut registers = Registers::by(&mut exchange);
                let lost = (0..TIMES)
                    .filter(|_| registers.get::<1>(Target::All(1), TYPE).is_err())
                    .count();
                asking.fetch_sub(1, Ordering::Release);
                assert_eq!(lost, 0, "answers that came were dropped");
            });
        }
        carry(&queue, &mut link, &asking);
    });
    assert_eq!(link.counts().lost, 0);
    assert_eq!(link.counts().answered, u64::from(ASKING * TIMES));
}

#[test]
fn a_search_for_a_free_slot_touches_none_in_the_loop_s_turn() {
    let queue = AcyclicQueue::default();
    let frame = FrameBuffer::default();
    let request = || queue.request(&frame, RetryPolicy::default(), SlotClass::Shared);
    while request().is_some() {}
    // The loop holds every question; a thread that locked one of them now would wait for this very
    // thread.
    let held = [0, 1, 2, 3].map(|it: usize| queue.slots[it].turn(SlotState::Asked).unwrap());
    assert_eq!(request(), None);
    let mut answer = FrameBuffer::default();
    assert_eq!(queue.take(0, &mut answer), None);
    held.iter().for_each(|it| it.to(SlotState::Sent));
    assert_eq!((request(), queue.take(0, &mut answer)), (None, None));
}

#[test]
fn the_end_of_the_loop_is_an_error_for_waiting_threads() {
    let queue = AcyclicQueue::default();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut exchange = AcyclicClient::of(&queue, RetryPolicy::default());
            Registers::by(&mut exchange).get::<1>(Target::All(1), TYPE)
        });
        while !queue.slots.iter().any(|it| it.is(SlotState::Asked)) {
            std::thread::yield_now();
        }
        queue.end();
        let error = waiting.join().unwrap().unwrap_err();
        assert!(matches!(error, ExchangeError::Ended), "{error}");
    });
    assert!(queue.slots.iter().all(|it| it.is(SlotState::Free)));
}
