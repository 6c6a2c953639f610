//! An interface that is slower than its sender, in a network namespace of its own.

use std::process::Command;
use std::time::Duration;

use crate::clock::now;
use crate::net::port::{Outbox, PortOptions, SendError, StampSource, Stamping, UdpPort};
use crate::testing::skip;

/// Commands that make an interface which lets 800 kbit/s pass: 10 ms a datagram of 1000 bytes. No host is at the
/// other end of its cable, whose hardware address is made up.
const SLOW: [&str; 5] = [
    "ip link add slow0 type veth peer name slow1",
    "ip address add 10.9.8.1/24 dev slow0",
    "ip link set slow0 up",
    "ip link set slow1 up",
    "ip neighbour add 10.9.8.2 lladdr 02:00:00:00:00:02 dev slow0",
];

/// Moves the calling thread into a network namespace of its own, with a slow interface that queues so many bytes;
/// else returns what is missing.
fn enter(kept_back: usize) -> Result<(), String> {
    crate::os::linux::leave_network()
        .map_err(|error| format!("the right to make a network namespace ({error}); run as root"))?;
    let queue =
        format!("tc qdisc add dev slow0 root tbf rate 800kbit burst 1540 limit {kept_back}");
    for line in SLOW.into_iter().chain([queue.as_str()]) {
        let mut words = line.split(' ');
        // A child belongs to the network namespace of the thread that starts it.
        let outcome = Command::new(words.next().unwrap()).args(words).output();
        let done = outcome.is_ok_and(|it| it.status.success());
        if !done {
            return Err(format!(
                "`{line}`; install iproute2, on a kernel with veth and tbf"
            ));
        }
    }
    Ok(())
}

/// Sends more than passes, several times over, and returns the error; each stamp must belong to a datagram that was
/// sent, and each such datagram must get one.
fn overload(test: &str, kept_back: usize, send_buffer: Option<usize>) -> Option<SendError> {
    if let Err(missing) = enter(kept_back) {
        skip(test, &missing);
        return None;
    }
    let to = "10.9.8.2:6176".parse().unwrap();
    let mut port = UdpPort::open(&PortOptions {
        local: "10.9.8.1:0".parse().unwrap(),
        peer: Some(to),
        send_buffer,
        receive_stamps: Stamping::Software,
        transmit_stamps: Stamping::Software,
        ..PortOptions::default()
    })
    .unwrap();
    // Loopback is down here, so the kernel's answer counts.
    assert_eq!(port.granted().receive_stamps, Some(StampSource::Software));
    let mut outbox = Outbox::new(8, 1000);
    for _ in 0..8 {
        outbox.push(&[0; 1000], to).unwrap();
    }
    let (mut sent, mut stamped, mut refused) = (Vec::new(), Vec::new(), None);
    for _ in 0..6 {
        let left = port.send_batch(&mut outbox);
        assert!(left.sent > 0 && left.refused > 0, "{left:?}");
        assert_eq!(left.sent + left.refused, 8);
        for at in 0..8 {
            match outbox.outcome(at).unwrap() {
                Ok(key) => sent.push(key.ordinal()),
                Err(error) => refused = Some(error),
            }
        }
        // Some of them leave.
        std::thread::sleep(Duration::from_millis(15));
        stamped.extend(port.transmit_stamps().map(|it| it.key.ordinal()));
    }
    let end = now() + Duration::from_secs(60);
    while stamped.len() < sent.len() && now() < end {
        std::thread::sleep(Duration::from_millis(5));
        stamped.extend(port.transmit_stamps().map(|it| it.key.ordinal()));
    }
    assert_eq!(stamped, sent);
    refused
}

fn on_own_thread(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(test).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_full_queue_of_the_interface_is_reported_and_stamps_find_their_datagram() {
    on_own_thread(|| {
        let test = "a_full_queue_of_the_interface_is_reported_and_stamps_find_their_datagram";
        if let Some(refused) = overload(test, 2_500, None) {
            assert_eq!(refused, SendError::QueueFull);
        }
    });
}

#[test]
fn a_full_send_buffer_is_reported_and_stamps_find_their_datagram() {
    on_own_thread(|| {
        let test = "a_full_send_buffer_is_reported_and_stamps_find_their_datagram";
        if let Some(refused) = overload(test, 100_000, Some(4_096)) {
            assert_eq!(refused, SendError::BufferFull);
        }
    });
}
