#![allow(unsafe_code)]

mod full_queue;
mod multicast;
mod refusals;

use std::time::Duration;

use super::super::tests::{closed_port, long, pair};
use std::net::SocketAddr;

use super::super::*;
use super::ExtendedCounter;
use crate::clock::{WallBridge, WallTime, now};

/// Waits until `look` returns a value, for at most a minute.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let end = now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(now() < end, "nothing came within a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn stamped() -> (UdpPort, UdpPort) {
    let options = PortOptions {
        receive_stamps: Stamping::Software,
        transmit_stamps: Stamping::Software,
        ..PortOptions::default()
    };
    let device = UdpPort::open(&options).unwrap();
    let controller = UdpPort::open(&PortOptions {
        peer: Some(device.local_address()),
        ..options
    });
    (controller.unwrap(), device)
}

#[test]
fn stamps_come_both_ways_and_in_order() {
    let (mut controller, mut device) = stamped();
    assert_eq!(
        controller.granted().transmit_stamps,
        Some(StampSource::Software)
    );
    assert_eq!(device.granted().receive_stamps, Some(StampSource::Software));
    let mut inbox = Inbox::new(4, 64);
    let mut bridge = WallBridge::new();
    for beat in 0..50_u64 {
        let before = now();
        let key = controller.send(b"stamped").unwrap();
        assert_eq!(key.ordinal(), beat);
        device.receive_batch(&mut inbox, long()).unwrap();
        let after = now();
        let received = inbox.datagram(0).unwrap().stamps.software.unwrap();
        let sent = until(|| controller.transmit_stamps().next());
        assert_eq!(sent.key, key);
        let KernelStamp::Software(sent) = sent.when else {
            panic!("loopback has no card");
        };
        let (Some(sent), Some(received)) = (bridge.translate(sent), bridge.translate(received))
        else {
            // Another program stepped this machine's clock; then the bridge gives no answer, as it should.
            assert!(bridge.steps() > 0);
            continue;
        };
        let slack_ns = (sent.error_ns + received.error_ns) as i64;
        assert!(
            sent.at.since(before) >= -slack_ns,
            "sent before it was sent"
        );
        assert!(
            received.at.since(sent.at) >= -slack_ns,
            "received before it left"
        );
        assert!(
            after.since(received.at) >= -slack_ns,
            "received after it was read"
        );
    }
    assert_eq!(controller.transmit_stamps_lost(), 0);
}

#[test]
fn without_a_wish_nothing_is_stamped() {
    let (mut controller, mut device) = pair();
    controller.send(b"bare").unwrap();
    let mut inbox = Inbox::new(1, 64);
    device.receive_batch(&mut inbox, long()).unwrap();
    assert_eq!(inbox.datagram(0).unwrap().stamps, Stamps::default());
    assert_eq!(controller.transmit_stamps().count(), 0);
    assert!(controller.granted().measures.is_empty());
}

#[test]
fn waiting_goes_on_while_transmit_stamps_come_and_keeps_them() {
    let (mut controller, _device) = stamped();
    let mut inbox = Inbox::new(1, 64);
    for _ in 0..5 {
        controller.send(b"unanswered").unwrap();
    }
    let deadline = now() + Duration::from_millis(5);
    let outcome = controller.receive_batch(&mut inbox, Wait::Until(deadline));
    assert_eq!(outcome.unwrap(), Reception::Nothing);
    assert!(now() >= deadline);
    // The wait itself has taken them out: otherwise they would have ended it again and again.
    let stamps = controller.system.error_queue.stamps();
    let keys: Vec<u64> = stamps.map(|stamp| stamp.key.ordinal()).collect();
    assert_eq!(keys, [0, 1, 2, 3, 4]);
}

#[test]
fn stamps_that_are_not_taken_are_counted() {
    let mut port = UdpPort::open(&PortOptions {
        transmit_stamps: Stamping::Software,
        transmit_stamps_kept: 3,
        ..PortOptions::default()
    })
    .unwrap();
    let to = port.local_address();
    let mut inbox = Inbox::new(1, 64);
    for _ in 0..5 {
        port.send_to(b"to myself", to).unwrap();
        port.receive_batch(&mut inbox, long()).unwrap();
    }
    let kept: Vec<u64> = port.transmit_stamps().map(|it| it.key.ordinal()).collect();
    assert_eq!(kept, [2, 3, 4]);
    assert_eq!(port.transmit_stamps_lost(), 2);
}

#[test]
fn stamps_that_are_not_taken_cost_no_datagram() {
    let (mut controller, mut device) = stamped();
    let mut inbox = Inbox::new(64, 64);
    let mut answered = 0;
    for _ in 0..2_000 {
        controller.send(b"spinning").unwrap();
        device.receive_batch(&mut inbox, Wait::Poll).unwrap();
        let datagram = inbox.datagram(0).unwrap();
        device.send_to(datagram.bytes, datagram.from).unwrap();
        answered += controller
            .receive_batch(&mut inbox, Wait::Poll)
            .unwrap()
            .count();
    }
    assert_eq!(answered, 2_000);
    assert_eq!((controller.dropped(), device.dropped()), (Some(0), Some(0)));
    // Nor may a stamp be lost before the port has reached its limit.
    let kept = controller.transmit_stamps().count() as u64;
    assert_eq!(kept, 1024);
    assert_eq!(kept + controller.transmit_stamps_lost(), 2_000);
}

#[test]
fn ipv6_stamps_and_counts_the_same() {
    let wish = PortOptions {
        local: (std::net::Ipv6Addr::LOCALHOST, 0).into(),
        receive_stamps: Stamping::Software,
        transmit_stamps: Stamping::Software,
        receive_buffer: Some(8192),
        type_of_service: Some(0xb8),
        fragmentation: Fragmentation::Forbid,
        ..PortOptions::default()
    };
    let Ok(mut port) = UdpPort::open(&wish) else {
        let missing = "an IPv6 loopback address; `ip -6 address add ::1/128 dev lo`";
        crate::testing::skip("ipv6_stamps_and_counts_the_same", missing);
        return;
    };
    assert!(port.granted().all_granted(), "{:?}", port.granted());
    let mut sender = UdpPort::open(&wish).unwrap();
    let to = port.local_address();
    let mut keys = Vec::new();
    for _ in 0..300 {
        sender.send_to(&[6; 200], to).unwrap();
        // In so small a buffer there is room for few stamps.
        keys.extend(sender.transmit_stamps().map(|it| it.key.ordinal()));
    }
    assert_eq!(keys, Vec::from_iter(0..300));
    let mut inbox = Inbox::new(64, 256);
    let mut received = 0;
    while let Reception::Datagrams(count) = port.receive_batch(&mut inbox, Wait::Poll).unwrap() {
        received += count as u64;
        assert!(inbox.datagrams().all(|it| it.stamps.software.is_some()));
    }
    assert_eq!(port.dropped(), Some(300 - received));
    assert!(received < 300);
    let closed = std::net::UdpSocket::bind("[::1]:0")
        .unwrap()
        .local_addr()
        .unwrap();
    sender.send_to(b"anyone?", closed).unwrap();
    let reported = until(|| sender.network_errors().next());
    assert_eq!(
        (reported.to, reported.error),
        (closed, ReceiveError::Refused)
    );
}

#[test]
fn a_port_may_move_to_the_thread_that_uses_it() {
    fn is_send<T: Send>(_: &T) {}
    let (mut controller, mut device) = pair();
    let mut inbox = Inbox::new(2, 64);
    let outbox = Outbox::new(2, 64);
    is_send(&outbox);
    controller.send(b"before the move").unwrap();
    // The boxes that the calls point to move with it.
    let mut inbox = std::thread::spawn(move || {
        device.receive_batch(&mut inbox, long()).unwrap();
        inbox
    })
    .join()
    .unwrap();
    assert_eq!(inbox.datagram(0).unwrap().bytes, b"before the move");
}

fn refusals_among_datagrams(controller: &mut UdpPort, to: SocketAddr) {
    let mut outbox = Outbox::new(4, 65_535);
    for length in [10, 65_508, 20, 65_508] {
        outbox.push(&vec![0; length], to).unwrap();
    }
    for beat in 0..3_u64 {
        let left = controller.send_batch(&mut outbox);
        assert_eq!((left.sent, left.refused), (2, 2));
        assert_eq!(outbox.outcome(1), Some(Err(SendError::TooLong)));
        assert_eq!(outbox.outcome(2), Some(Ok(TransmitKey::new(beat * 4 + 2))));
        assert_eq!(outbox.outcome(3), Some(Err(SendError::TooLong)));
    }
    let stamps = controller.transmit_stamps();
    let keys: Vec<u64> = stamps.map(|it| it.key.ordinal()).collect();
    assert_eq!(keys, [0, 2, 4, 6, 8, 10]);
}

#[test]
fn keys_still_fit_after_refusals() {
    let (mut controller, device) = stamped();
    refusals_among_datagrams(&mut controller, device.local_address());
}

#[test]
fn keys_still_fit_after_refusals_where_the_kernel_counts() {
    let (mut controller, device) = stamped();
    controller.system.stamping = controller.system.stamping.counting().into();
    refusals_among_datagrams(&mut controller, device.local_address());
}

#[test]
fn keys_still_fit_after_a_closed_port_where_the_kernel_counts() {
    let mut port = UdpPort::open(&PortOptions {
        peer: Some(closed_port()),
        transmit_stamps: Stamping::Software,
        ..PortOptions::default()
    })
    .unwrap();
    port.system.stamping = port.system.stamping.counting().into();
    let mut sent = Vec::new();
    for _ in 0..6 {
        // Each datagram that leaves comes back as an error, which the next call returns.
        sent.extend(port.send(b"anyone?").ok().map(TransmitKey::ordinal));
    }
    assert_eq!(sent, [0, 2, 4]);
    let keys: Vec<u64> = port.transmit_stamps().map(|it| it.key.ordinal()).collect();
    assert_eq!(keys, sent);
}

#[test]
fn an_overflow_is_counted_to_the_datagram() {
    let mut device = UdpPort::open(&PortOptions {
        receive_buffer: Some(8192),
        ..PortOptions::default()
    })
    .unwrap();
    let (mut controller, _) = pair();
    let to = device.local_address();
    let sent = 500;
    for _ in 0..sent {
        controller.send_to(&[1; 200], to).unwrap();
    }
    let mut inbox = Inbox::new(16, 256);
    let mut received = 0;
    // Loopback delivers within the sender's call, so any datagram that is not there now was dropped.
    while let Reception::Datagrams(count) = device.receive_batch(&mut inbox, Wait::Poll).unwrap() {
        received += count as u64;
        // Datagrams that still found room came before the first that did not.
        assert!(inbox.datagrams().all(|it| it.dropped_before == Some(0)));
    }
    let dropped = sent - received;
    assert!(
        received > 0 && dropped > 0,
        "{received} received, {dropped} dropped"
    );
    assert_eq!(device.dropped(), Some(dropped));
    controller.send_to(b"after", to).unwrap();
    device.receive_batch(&mut inbox, long()).unwrap();
    assert_eq!(inbox.datagram(0).unwrap().dropped_before, Some(dropped));
}

#[test]
fn a_closed_port_of_the_peer_is_reported() {
    let mut port = UdpPort::open(&PortOptions {
        peer: Some(closed_port()),
        ..PortOptions::default()
    })
    .unwrap();
    let mut inbox = Inbox::new(1, 64);
    port.send(b"anyone?").unwrap();
    let outcome = port.receive_batch(&mut inbox, long());
    assert_eq!(outcome, Err(ReceiveError::Refused));
    // The port goes on: the next datagram leaves, and the one after it fails by that.
    port.send(b"still closed?").unwrap();
    assert_eq!(until(|| port.send(b"?").err()), SendError::Refused);
}

#[test]
fn closed_ports_of_many_are_distinguished_and_disturb_no_other() {
    let (_, mut device) = pair();
    let mut port = UdpPort::open(&PortOptions::default()).unwrap();
    let closed = [closed_port(), closed_port()];
    let mut outbox = Outbox::new(8, 8);
    for to in [
        closed[0],
        device.local_address(),
        closed[1],
        device.local_address(),
    ] {
        outbox.push(b"all", to).unwrap();
    }
    let left = port.send_batch(&mut outbox);
    assert_eq!((left.sent, left.refused), (4, 0));
    let mut inbox = Inbox::new(8, 8);
    let soon = Wait::Until(now() + Duration::from_millis(2));
    assert_eq!(port.receive_batch(&mut inbox, soon), Ok(Reception::Nothing));
    let reported: Vec<NetworkError> = port.network_errors().collect();
    let expected = closed.map(|to| NetworkError {
        to,
        error: ReceiveError::Refused,
    });
    assert_eq!(reported, expected);
    assert_eq!(device.receive_batch(&mut inbox, long()).unwrap().count(), 2);
}

#[test]
fn a_signal_ends_the_wait() {
    extern "C" fn nothing(_: libc::c_int) {}
    let (_controller, mut device) = pair();
    // SAFETY: the handler does nothing, and nothing else in this process uses SIGURG.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut());
    }
    // SAFETY: the call takes nothing.
    let waiting = unsafe { libc::pthread_self() } as usize;
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Acquire) {
                // SAFETY: the thread that waits outlives this scope.
                unsafe { libc::pthread_kill(waiting as libc::pthread_t, libc::SIGURG) };
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut inbox = Inbox::new(1, 64);
        let outcome = device.receive_batch(&mut inbox, Wait::Forever);
        over.store(true, std::sync::atomic::Ordering::Release);
        assert_eq!(outcome, Ok(Reception::Interrupted));
    });
}

#[test]
fn what_is_asked_for_is_read_back() {
    let port = UdpPort::open(&PortOptions {
        receive_buffer: Some(100_000),
        send_buffer: Some(50_000),
        type_of_service: Some(0xb8),
        priority: Some(6),
        fragmentation: Fragmentation::Forbid,
        broadcast: true,
        ..PortOptions::default()
    })
    .unwrap();
    let granted = port.granted();
    assert!(granted.all_granted(), "{granted:?}");
    assert!(granted.receive_buffer.unwrap() >= 100_000);
    assert!(granted.send_buffer.unwrap() >= 50_000);
    assert_eq!(granted.measures.len(), 6);
}

#[test]
fn where_fragments_are_forbidden_a_long_datagram_is_refused() {
    let mut port = UdpPort::open(&PortOptions {
        fragmentation: Fragmentation::Forbid,
        ..PortOptions::default()
    })
    .unwrap();
    let to = port.local_address();
    let path = "/sys/class/net/lo/mtu";
    let mtu = std::fs::read_to_string(path).unwrap_or_default();
    if mtu.trim() != "65536" {
        let test = "where_fragments_are_forbidden_a_long_datagram_is_refused";
        crate::testing::skip(
            test,
            "a loopback interface with its usual MTU; `ip link set lo mtu 65536`",
        );
        return;
    }
    // An IPv4 packet is at most 65,535 bytes, so loopback never fragments one.
    assert!(port.send_to(&[0; 65_507], to).is_ok());
    assert_eq!(port.send_to(&[0; 65_508], to), Err(SendError::TooLong));
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let error = UdpPort::open(&PortOptions {
        interface: Some("nowhere0".to_owned()),
        ..PortOptions::default()
    })
    .unwrap_err();
    assert!(error.to_string().contains("nowhere0"), "{error}");
}

#[test]
fn a_card_that_cannot_stamp_leaves_the_kernel_to_do_it() {
    let (_, device) = pair();
    let port = UdpPort::open(&PortOptions {
        peer: Some(device.local_address()),
        receive_stamps: Stamping::Hardware,
        ..PortOptions::default()
    })
    .unwrap();
    let granted = port.granted();
    assert_eq!(
        granted.receive_stamps,
        Some(StampSource::Software),
        "{granted:?}"
    );
    let [measure] = &port.granted().measures[..] else {
        panic!("{:?}", port.granted());
    };
    assert!(!measure.ok && measure.granted == "software");
    assert!(
        measure.reason.as_ref().unwrap().contains("lo"),
        "{measure:?}"
    );
    assert!(measure.remedy.as_ref().unwrap().contains("ethtool -T"));
}

#[test]
fn drops_are_followed_beyond_32_bits_and_backwards() {
    let mut drops = ExtendedCounter::default();
    assert_eq!(drops.total(3), 3);
    assert_eq!(drops.total(u32::MAX / 2), u64::from(u32::MAX / 2));
    assert_eq!(drops.total(u32::MAX - 1), u64::from(u32::MAX - 1));
    assert_eq!(drops.total(4), (1 << 32) + 4);
    // A datagram that was queued before the last reading.
    assert_eq!(drops.total(u32::MAX), u64::from(u32::MAX));
    assert_eq!(drops.total(5), (1 << 32) + 5);
}

#[test]
fn wall_time_of_a_stamp_is_of_today() {
    let (mut controller, mut device) = stamped();
    let before = WallTime::now();
    controller.send(b"when?").unwrap();
    let mut inbox = Inbox::new(1, 64);
    device.receive_batch(&mut inbox, long()).unwrap();
    let stamp = inbox.datagram(0).unwrap().stamps.software.unwrap();
    let apart_ns = stamp.as_unix_ns().abs_diff(before.as_unix_ns());
    // In nanoseconds since 1970 and not in another unit.
    assert!(apart_ns < 3_600_000_000_000, "{apart_ns}");
}
