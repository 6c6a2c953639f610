use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::*;
use crate::clock::now;
use crate::testing::skip;

/// Far longer than any datagram on loopback takes; ends a test that would hang.
pub(super) fn long() -> Wait {
    Wait::Until(now() + Duration::from_secs(60))
}

pub(super) fn pair() -> (UdpPort, UdpPort) {
    let device = UdpPort::open(&PortOptions::default()).unwrap();
    let controller = UdpPort::open(&PortOptions {
        peer: Some(device.local_address()),
        ..PortOptions::default()
    });
    (controller.unwrap(), device)
}

/// An address of this host on which no socket listens.
pub(super) fn closed_port() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

#[test]
fn datagrams_come_in_order_with_their_sender() {
    let (mut controller, mut device) = pair();
    for number in 0..10_u8 {
        assert_eq!(
            controller.send(&[number; 18]).unwrap().ordinal(),
            u64::from(number)
        );
    }
    let mut inbox = Inbox::new(4, 64);
    let mut seen = Vec::new();
    while seen.len() < 10 {
        let count = device.receive_batch(&mut inbox, long()).unwrap().count();
        assert!((1..=4).contains(&count));
        assert_eq!(count, inbox.len());
        for datagram in inbox.datagrams() {
            assert_eq!(datagram.from, controller.local_address());
            assert_eq!(datagram.bytes.len(), 18);
            seen.push(datagram.bytes[0]);
        }
    }
    assert_eq!(seen, Vec::from_iter(0..10));
}

#[test]
fn a_reply_is_made_in_place() {
    let (mut controller, mut device) = pair();
    controller.send(b"ping").unwrap();
    let mut inbox = Inbox::new(1, 64);
    device.receive_batch(&mut inbox, long()).unwrap();
    let datagram = inbox.datagram(0).unwrap();
    datagram.bytes[1] = b'o';
    device.send_to(datagram.bytes, datagram.from).unwrap();
    controller.receive_batch(&mut inbox, long()).unwrap();
    assert_eq!(inbox.datagram(0).unwrap().bytes, b"pong");
    assert_eq!(inbox.datagram(1), None);
}

#[test]
fn a_datagram_longer_than_its_slot_is_truncated_and_says_so() {
    let (mut controller, mut device) = pair();
    for length in [99, 100, 101, 1000] {
        controller.send(&vec![7; length]).unwrap();
        let mut inbox = Inbox::new(2, 100);
        device.receive_batch(&mut inbox, long()).unwrap();
        let datagram = inbox.datagram(0).unwrap();
        assert_eq!(datagram.whole_length, length);
        assert_eq!(datagram.bytes.len(), length.min(100));
        assert_eq!(datagram.truncated(), length > 100);
        assert!(datagram.bytes.iter().all(|byte| *byte == 7));
    }
}

#[test]
fn an_empty_datagram_is_one() {
    let (mut controller, mut device) = pair();
    controller.send(b"").unwrap();
    let mut inbox = Inbox::new(2, 100);
    let came = device.receive_batch(&mut inbox, long()).unwrap();
    assert_eq!(came, Reception::Datagrams(1));
    assert_eq!(inbox.datagram(0).unwrap().whole_length, 0);
}

#[test]
fn a_poll_finds_nothing_at_once_and_something_later() {
    let (mut controller, mut device) = pair();
    let mut inbox = Inbox::new(1, 100);
    let nothing = device.receive_batch(&mut inbox, Wait::Poll).unwrap();
    assert_eq!(nothing, Reception::Nothing);
    controller.send(b"here").unwrap();
    while device.receive_batch(&mut inbox, Wait::Poll).unwrap() == Reception::Nothing {}
    assert_eq!(inbox.datagram(0).unwrap().bytes, b"here");
}

#[test]
fn a_wait_ends_at_its_deadline_and_not_before() {
    let (_controller, mut device) = pair();
    let mut inbox = Inbox::new(1, 100);
    for span in [0, 1, 900_000, 3_000_000, 60_000_000].map(Duration::from_nanos) {
        let deadline = now() + span;
        let outcome = device.receive_batch(&mut inbox, Wait::Until(deadline));
        assert_eq!(outcome.unwrap(), Reception::Nothing);
        assert!(now() >= deadline);
    }
}

#[test]
fn what_waits_is_taken_though_the_deadline_has_passed() {
    let (mut controller, mut device) = pair();
    controller.send(b"here").unwrap();
    let mut inbox = Inbox::new(1, 100);
    // Another system's socket may take a moment to deliver it.
    device.receive_batch(&mut inbox, long()).unwrap();
    controller.send(b"again").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let past = Wait::Until(now() - Duration::from_secs(1));
    let came = device.receive_batch(&mut inbox, past).unwrap();
    assert_eq!(came, Reception::Datagrams(1));
}

#[test]
fn an_error_or_an_end_leaves_no_old_datagrams_in_the_inbox() {
    let (mut controller, mut device) = pair();
    controller.send(b"here").unwrap();
    let mut inbox = Inbox::new(1, 100);
    device.receive_batch(&mut inbox, long()).unwrap();
    device.receive_batch(&mut inbox, Wait::Poll).unwrap();
    assert!(inbox.is_empty());
    assert_eq!(inbox.datagrams().len(), 0);
}

#[test]
fn a_wake_ends_one_wait_whenever_it_comes() {
    let (mut controller, mut device) = pair();
    let mut inbox = Inbox::new(1, 100);
    let waker = device.waker();
    // Before the wait, and several times: one wait ends.
    waker.wake();
    waker.clone().wake();
    let outcome = device.receive_batch(&mut inbox, Wait::Forever);
    assert_eq!(outcome.unwrap(), Reception::Woken);
    let soon = Wait::Until(now() + Duration::from_millis(1));
    let outcome = device.receive_batch(&mut inbox, soon);
    assert_eq!(outcome.unwrap(), Reception::Nothing);
    // During the wait.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            waker.wake();
        });
        let outcome = device.receive_batch(&mut inbox, Wait::Forever);
        assert_eq!(outcome.unwrap(), Reception::Woken);
    });
    // A flood does not hide the wake, and datagrams that came meanwhile are still there.
    controller.send(b"flood").unwrap();
    waker.wake();
    let outcome = device.receive_batch(&mut inbox, long());
    assert_eq!(outcome.unwrap(), Reception::Woken);
    let outcome = device.receive_batch(&mut inbox, long());
    assert_eq!(outcome.unwrap(), Reception::Datagrams(1));
}

#[test]
fn the_wake_of_a_waker_that_is_gone_ends_a_wait() {
    let (_controller, mut device) = pair();
    let mut inbox = Inbox::new(1, 100);
    let waker = device.waker();
    std::thread::spawn(move || waker.wake()).join().unwrap();
    let outcome = device.receive_batch(&mut inbox, Wait::Forever);
    assert_eq!(outcome.unwrap(), Reception::Woken);
    let soon = Wait::Until(now() + Duration::from_millis(1));
    let outcome = device.receive_batch(&mut inbox, soon);
    assert_eq!(outcome.unwrap(), Reception::Nothing);
}

#[test]
fn what_comes_during_a_long_wait_ends_it() {
    let (mut controller, mut device) = pair();
    let mut inbox = Inbox::new(4, 100);
    // While a waker exists, the port waits in another way.
    for waker in [None, Some(device.waker())] {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                controller.send(b"at last").unwrap();
            });
            let outcome = device.receive_batch(&mut inbox, long());
            assert_eq!(outcome.unwrap(), Reception::Datagrams(1), "{waker:?}");
        });
        assert_eq!(inbox.datagram(0).unwrap().bytes, b"at last");
    }
}

#[test]
fn an_outbox_leaves_in_order_and_stays_filled() {
    let (mut controller, mut device) = pair();
    let to = device.local_address();
    let mut outbox = Outbox::new(3, 8);
    assert_eq!(outbox.push(b"too long for it", to), Err(OutboxFull::Bytes));
    for word in [b"one", b"two", b"six"] {
        outbox.push(word, to).unwrap();
    }
    assert_eq!(outbox.push(b"x", to), Err(OutboxFull::Slots));
    assert_eq!(outbox.outcome(0), None);
    let mut inbox = Inbox::new(1, 8);
    for beat in 0..3 {
        outbox.bytes_mut(1).unwrap()[2] = b'0' + beat;
        let left = controller.send_batch(&mut outbox);
        assert_eq!((left.sent, left.refused), (3, 0));
        let last = outbox.outcome(2).unwrap().unwrap();
        assert_eq!(last.ordinal(), u64::from(beat) * 3 + 2);
        for expected in [*b"one", [b't', b'w', b'0' + beat], *b"six"] {
            device.receive_batch(&mut inbox, long()).unwrap();
            assert_eq!(inbox.datagram(0).unwrap().bytes, expected);
        }
    }
}

#[test]
fn without_a_peer_nothing_is_sent_to_it() {
    let (_controller, mut device) = pair();
    assert_eq!(device.send(b"no peer"), Err(SendError::NoPeer));
}

#[test]
fn a_datagram_longer_than_udp_carries_is_refused() {
    let (mut controller, mut device) = pair();
    assert_eq!(controller.send(&[0; 65_508]), Err(SendError::TooLong));
    assert_eq!(controller.send(b"next").unwrap().ordinal(), 1);
    let mut inbox = Inbox::new(1, 8);
    device.receive_batch(&mut inbox, long()).unwrap();
    assert_eq!(inbox.datagram(0).unwrap().bytes, b"next");
}

#[test]
fn an_address_that_is_taken_names_the_remedy() {
    let device = UdpPort::open(&PortOptions::default()).unwrap();
    let local = device.local_address();
    let error = UdpPort::open(&PortOptions {
        local,
        ..PortOptions::default()
    })
    .unwrap_err();
    assert!(matches!(error, OpenPortError::Address { .. }), "{error}");
    assert!(error.to_string().contains("ss -ulpn"), "{error}");
}

#[test]
fn an_address_and_a_peer_of_two_families_are_refused() {
    let error = UdpPort::open(&PortOptions {
        peer: Some(SocketAddr::from((Ipv6Addr::LOCALHOST, 9))),
        ..PortOptions::default()
    })
    .unwrap_err();
    assert!(matches!(error, OpenPortError::Families { .. }), "{error}");
}

#[test]
fn ipv6_does_the_same() {
    let local = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let options = PortOptions {
        local,
        ..PortOptions::default()
    };
    let Ok(mut device) = UdpPort::open(&options) else {
        skip(
            "ipv6_does_the_same",
            "an IPv6 loopback address; `ip -6 address add ::1/128 dev lo`",
        );
        return;
    };
    let mut controller = UdpPort::open(&PortOptions {
        peer: Some(device.local_address()),
        ..options
    })
    .unwrap();
    controller.send(b"six").unwrap();
    let mut inbox = Inbox::new(1, 8);
    device.receive_batch(&mut inbox, long()).unwrap();
    let datagram = inbox.datagram(0).unwrap();
    assert_eq!(datagram.bytes, b"six");
    assert_eq!(datagram.from, controller.local_address());
}

#[test]
fn a_second_handle_receives_while_the_first_sends() {
    let (mut controller, mut device) = pair();
    let mut receiver = controller.try_clone().unwrap();
    controller.send(b"out").unwrap();
    let mut inbox = Inbox::new(1, 8);
    device.receive_batch(&mut inbox, long()).unwrap();
    let from = inbox.datagram(0).unwrap().from;
    device.send_to(b"back", from).unwrap();
    receiver.receive_batch(&mut inbox, long()).unwrap();
    assert_eq!(inbox.datagram(0).unwrap().bytes, b"back");
}

#[test]
fn an_inbox_of_nothing_has_a_slot_and_one_of_too_much_a_limit() {
    assert_eq!(Inbox::new(0, 0).slots(), 1);
    assert_eq!(Inbox::new(5000, 1).slots(), 1024);
    assert_eq!(Outbox::new(0, 0).slots(), 1);
}
