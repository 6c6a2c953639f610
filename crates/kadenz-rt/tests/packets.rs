//! Raw frames over a cable in a network namespace of its own, and what ports receive and do not receive of them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::io;
use std::time::{Duration, Instant};

use kadenz_rt::clock::WallTime;
use kadenz_rt::net::cable::Cable;
use kadenz_rt::net::namespace::Namespace;
use kadenz_rt::net::packet::{PacketError, PacketPlan, PacketPort};

const ETHERTYPE: u16 = 0x88A4;
const OTHER: u16 = 0x88B5;

fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}

/// Runs with a cable in a network namespace of its own, or reports why it cannot.
fn with_cable(test: &str, work: impl FnOnce(&Cable) + Send) {
    match Namespace::create() {
        Ok(network) => network
            .run(|| work(&Cable::create("near", "far").unwrap()))
            .unwrap(),
        Err(error) => {
            assert!(error.is_refusal(), "{error}");
            skip(test, &error.to_string());
        }
    }
}

fn open(interface: &str, ethertype: u16, frames: usize) -> PacketPort {
    let interface = interface.to_owned();
    PacketPort::open(&PacketPlan {
        interface,
        ethertype,
        frames,
    })
    .unwrap()
}

fn frame(ethertype: u16, length: usize, mark: u8) -> Vec<u8> {
    let mut frame = vec![mark; length];
    frame[..6].fill(0xFF);
    frame[6..12].copy_from_slice(&[0x02, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
    frame
}

#[test]
fn what_is_sent_at_one_end_comes_out_at_the_other_as_it_was() {
    with_cable("what is sent comes out", |_| {
        let (near, mut far) = (open("near", ETHERTYPE, 64), open("far", ETHERTYPE, 64));
        let before = WallTime::now();
        for length in [29, 60, 1514] {
            near.send(&frame(ETHERTYPE, length, 7)).unwrap();
            assert!(far.wait(Duration::from_secs(10)).unwrap());
            let mut got = [0; 2000];
            let received = far.receive(&mut got).unwrap();
            assert_eq!(got[..received.length], frame(ETHERTYPE, length, 7));
            let (at, now) = (received.at.as_unix_ns(), WallTime::now().as_unix_ns());
            assert!(
                at >= before.as_unix_ns() && at <= now,
                "the kernel's stamp is of today"
            );
        }
        assert_eq!(far.receive(&mut [0; 2000]), None);
        assert_eq!(far.dropped().unwrap(), 0);
    });
}

#[test]
fn foreign_frames_and_those_of_this_end_are_not_seen() {
    with_cable("foreign frames", |_| {
        let (mut near, mut far) = (open("near", ETHERTYPE, 64), open("far", ETHERTYPE, 64));
        let other = open("near", OTHER, 64);
        other.send(&frame(OTHER, 60, 1)).unwrap();
        near.send(&frame(ETHERTYPE, 60, 2)).unwrap();
        let mut got = [0; 100];
        assert!(far.wait(Duration::from_secs(10)).unwrap());
        far.receive(&mut got).unwrap();
        assert_eq!(got[20], 2, "of the two that came, one is of the type");
        assert_eq!(
            (far.receive(&mut got), near.receive(&mut got)),
            (None, None)
        );
    });
}

#[test]
fn the_loopback_is_refused_with_what_to_take() {
    with_cable("the loopback is refused", |_| {
        let error = PacketPort::open(&PacketPlan {
            interface: "lo".to_owned(),
            ethertype: ETHERTYPE,
            frames: 64,
        })
        .unwrap_err();
        assert!(matches!(error, PacketError::Loopback { .. }), "{error}");
        assert!(
            error.to_string().contains("take another of far, near"),
            "{error}"
        );
    });
}

#[test]
fn a_port_waits_for_another_too() {
    with_cable("a port waits for another too", |_| {
        let (mut near, far) = (open("near", ETHERTYPE, 64), open("far", ETHERTYPE, 64));
        let mut other = open("near", OTHER, 64);
        other.watch_too(&near);
        far.send(&frame(ETHERTYPE, 60, 1)).unwrap();
        assert!(other.wait(Duration::from_secs(10)).unwrap());
        assert_eq!(other.receive(&mut [0; 100]), None);
        assert!(near.receive(&mut [0; 100]).is_some());
    });
}

#[test]
fn what_finds_no_room_is_counted_and_the_ring_goes_on() {
    with_cable("what finds no room", |_| {
        let (near, mut far) = (open("near", ETHERTYPE, 32), open("far", ETHERTYPE, 32));
        let sent = 50;
        for mark in 0..sent {
            near.send(&frame(ETHERTYPE, 60, mark)).unwrap();
        }
        let mut got = [0; 100];
        let mut marks = Vec::new();
        while far.wait(Duration::from_millis(200)).unwrap() {
            while far.receive(&mut got).is_some() {
                marks.push(got[20]);
            }
        }
        assert_eq!(
            marks,
            (0..marks.len() as u8).collect::<Vec<_>>(),
            "the first ones, in order"
        );
        assert_eq!(marks.len() as u64 + far.dropped().unwrap(), u64::from(sent));
        near.send(&frame(ETHERTYPE, 60, 99)).unwrap();
        assert!(far.wait(Duration::from_secs(10)).unwrap());
        far.receive(&mut got).unwrap();
        assert_eq!(got[20], 99);
    });
}

#[test]
fn a_pulled_cable_is_an_error_and_works_again_when_it_is_back() {
    with_cable("a pulled cable", |cable| {
        let (near, mut far) = (open("near", ETHERTYPE, 64), open("far", ETHERTYPE, 64));
        cable.set_up(false).unwrap();
        let error = near.send(&frame(ETHERTYPE, 60, 1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NetworkDown);
        cable.set_up(true).unwrap();
        let mut got = [0; 100];
        // The link needs a moment; frames sent before are lost, as on a real cable.
        for _ in 0..200 {
            let _ = near.send(&frame(ETHERTYPE, 60, 2));
            if far.wait(Duration::from_millis(50)).unwrap_or(false)
                && far.receive(&mut got).is_some()
            {
                return;
            }
        }
        panic!("nothing came after the cable was back");
    });
}

/// The CPU time of the calling thread; `None` where the kernel does not count it.
fn on_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(ns))
}

#[test]
fn at_an_interface_that_is_down_a_wait_is_one_and_takes_no_cpu() {
    with_cable("a wait at an interface that is down", |cable| {
        let (mut near, mut far) = (open("near", ETHERTYPE, 64), open("far", ETHERTYPE, 64));
        for opened_while_down in [false, true] {
            cable.set_up(false).unwrap();
            if opened_while_down {
                near = open("near", ETHERTYPE, 64);
            }
            let (start, before) = (Instant::now(), on_cpu());
            for _ in 0..10 {
                assert!(!near.wait(Duration::from_millis(20)).unwrap());
            }
            let (took, after) = (start.elapsed(), on_cpu());
            // A signal may end one of them.
            assert!(took > Duration::from_millis(150), "{took:?}");
            if let Some((before, after)) = before.zip(after) {
                let spent = after.saturating_sub(before);
                assert!(spent < took / 2, "{spent:?} of {took:?}");
            }
            cable.set_up(true).unwrap();
            let mut got = [0; 100];
            let came = (0..200).any(|_| {
                // If the first frame is refused, then not with the error from before.
                let sent = far.send(&frame(ETHERTYPE, 60, 2));
                let down = |error: &io::Error| error.kind() == io::ErrorKind::NetworkDown;
                assert!(!sent.as_ref().is_err_and(down), "{sent:?}");
                near.wait(Duration::from_millis(50)).unwrap() && near.receive(&mut got).is_some()
            });
            assert!(came, "it hears again");
            while far.receive(&mut got).is_some() {}
        }
    });
}

#[test]
fn the_first_frame_after_an_interface_was_down_is_sent() {
    with_cable("the first frame after an interface was down", |cable| {
        let near = open("near", ETHERTYPE, 64);
        for _ in 0..5 {
            cable.set_up(false).unwrap();
            cable.set_up(true).unwrap();
            let sent = near.send(&frame(ETHERTYPE, 60, 2));
            let down = |error: &io::Error| error.kind() == io::ErrorKind::NetworkDown;
            assert!(!sent.as_ref().is_err_and(down), "{sent:?}");
        }
    });
}

/// Waits until a port reports an error; until then it may wait.
fn until_gone(port: &mut PacketPort) -> io::Error {
    for _ in 0..500 {
        match port.wait(Duration::from_millis(20)) {
            Ok(ready) => assert!(!ready, "there is no frame"),
            Err(error) => return error,
        }
    }
    panic!("no error said that it is gone");
}

#[test]
fn an_interface_that_is_gone_is_reported() {
    with_cable("an interface that is gone", |_| {
        for at_once in [false, true] {
            let cable = Cable::create("one", "other").unwrap();
            let mut port = open("one", ETHERTYPE, 64);
            if !at_once {
                cable.set_up(false).unwrap();
                assert!(!port.wait(Duration::from_millis(20)).unwrap());
            }
            drop(cable);
            let error = until_gone(&mut port);
            assert_eq!(error.raw_os_error(), Some(19), "ENODEV, not {error}");
            assert!(port.wait(Duration::ZERO).is_err(), "and again");
        }
    });
}

#[test]
fn of_two_interfaces_that_are_waited_for_one_may_be_gone() {
    with_cable("one of two interfaces is gone", |_| {
        let (first, second) = (Cable::create("a", "a2"), Cable::create("b", "b2"));
        let (mut a, mut b) = (open("a", ETHERTYPE, 64), open("b", ETHERTYPE, 64));
        let far = open("b2", ETHERTYPE, 64);
        a.watch_too(&b);
        drop(first.unwrap());
        for _ in 0..5 {
            assert!(!a.wait(Duration::from_millis(20)).unwrap());
        }
        far.send(&frame(ETHERTYPE, 60, 3)).unwrap();
        assert!(a.wait(Duration::from_secs(10)).unwrap());
        assert!(b.receive(&mut [0; 100]).is_some());
        drop(second.unwrap());
        until_gone(&mut a);
    });
}

#[test]
fn a_frame_longer_than_the_buffer_is_cut() {
    with_cable("a long frame", |_| {
        let (near, mut far) = (open("near", ETHERTYPE, 64), open("far", ETHERTYPE, 64));
        near.send(&frame(ETHERTYPE, 500, 3)).unwrap();
        assert!(far.wait(Duration::from_secs(10)).unwrap());
        assert_eq!(far.receive(&mut [0; 100]).unwrap().length, 100);
    });
}

#[test]
fn errors_name_the_remedy() {
    let plan = PacketPlan {
        interface: "nowhere0".to_owned(),
        ethertype: ETHERTYPE,
        frames: 8,
    };
    let error = PacketPort::open(&plan).unwrap_err();
    assert!(matches!(error, PacketError::NoInterface { .. }));
    assert!(
        error.to_string().contains("`nowhere0`") && error.to_string().contains("lo"),
        "{error}"
    );
    with_cable("errors name the remedy", |_| {
        let taken = Cable::create("near", "third").unwrap_err().to_string();
        assert!(taken.contains("another"), "{taken}");
        let long = Cable::create("a-name-that-is-too-long", "b")
            .unwrap_err()
            .to_string();
        assert!(long.contains("15 bytes"), "{long}");
    });
}
