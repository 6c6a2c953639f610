//! Network namespaces and the taps in them: frames between two hosts pass through this process, and nothing is left
//! afterwards.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use kadenz_rt::net::namespace::Namespace;
use kadenz_rt::net::tap::{Tap, TapPlan, TapWatch};

const HOSTS: [(Ipv4Addr, [u8; 6]); 2] = [
    (Ipv4Addr::new(10, 75, 255, 1), [2, 0, 0, 0, 0, 1]),
    (Ipv4Addr::new(10, 75, 255, 2), [2, 0, 0, 0, 0, 2]),
];

fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}

fn plan(host: usize) -> TapPlan {
    TapPlan {
        name: "eth0".to_owned(),
        hardware_address: HOSTS[host].1,
        address: HOSTS[host].0,
        neighbours: vec![HOSTS[1 - host]],
    }
}

/// Two hosts, or a report why there are none.
fn hosts(test: &str) -> Option<(Vec<Namespace>, Vec<Tap>)> {
    if !Path::new("/dev/net/tun").exists() {
        skip(test, "the driver of taps is missing: sudo modprobe tun");
        return None;
    }
    let networks = [Namespace::create(), Namespace::create()];
    let networks: Result<Vec<Namespace>, _> = networks.into_iter().collect();
    let networks = match networks {
        Ok(networks) => networks,
        Err(error) => {
            assert!(
                error.is_refusal() && error.to_string().contains("sudo"),
                "{error}"
            );
            skip(test, &error.to_string());
            return None;
        }
    };
    let tap = |host: usize| {
        networks[host]
            .run(|| Tap::create(&plan(host)))
            .unwrap()
            .unwrap()
    };
    let taps = vec![tap(0), tap(1)];
    Some((networks, taps))
}

fn socket(network: &Namespace) -> UdpSocket {
    let bind = || UdpSocket::bind("0.0.0.0:6176").unwrap();
    network.run(bind).unwrap()
}

/// Waits for a frame of the host at this place.
fn frame_of(host: usize, taps: &[Tap], watch: &mut TapWatch<'_>) -> Vec<u8> {
    let mut frame = [0; 1518];
    for _ in 0..600 {
        if watch.wait(Duration::from_millis(50)).unwrap() {
            let readable = watch.readable().any(|(place, _)| place == host);
            if let Some(length) = taps[host].receive(&mut frame).unwrap() {
                assert!(readable, "it was readable and not told");
                return frame[..length].to_vec();
            }
        }
    }
    panic!("host {host} has sent nothing");
}

#[test]
fn what_one_host_sends_the_other_receives() {
    let Some((networks, taps)) = hosts("what_one_host_sends_the_other_receives") else {
        return;
    };
    let (a, b) = (socket(&networks[0]), socket(&networks[1]));
    let mut watch = TapWatch::new(&taps);
    a.send_to(&[7; 200], (HOSTS[1].0, 6176)).unwrap();
    let frame = frame_of(0, &taps, &mut watch);
    // The host sent no ARP request: this is the datagram itself, and nothing else.
    assert_eq!(frame.len(), 14 + 20 + 8 + 200);
    assert_eq!(
        (&frame[..6], &frame[6..12]),
        (&HOSTS[1].1[..], &HOSTS[0].1[..])
    );
    assert_eq!(taps[0].receive(&mut [0; 1518]).unwrap(), None);
    taps[1].send(&frame).unwrap();
    let mut bytes = [0; 300];
    b.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let (length, from) = b.recv_from(&mut bytes).unwrap();
    assert_eq!((length, from.ip()), (200, HOSTS[0].0.into()));
}

#[test]
fn a_broadcast_is_one_frame_for_everybody() {
    let Some((networks, taps)) = hosts("a_broadcast_is_one_frame_for_everybody") else {
        return;
    };
    let a = socket(&networks[0]);
    a.set_broadcast(true).unwrap();
    a.send_to(&[7; 20], ("10.75.255.255", 6176)).unwrap();
    let frame = frame_of(0, &taps, &mut TapWatch::new(&taps));
    assert_eq!(frame[..6], [0xff; 6]);
}

#[test]
fn a_network_can_be_entered_by_the_number_of_its_descriptor() {
    let test = "a_network_can_be_entered_by_the_number_of_its_descriptor";
    let Some((networks, _taps)) = hosts(test) else {
        return;
    };
    let own = std::process::id();
    let again = Namespace::of_process(own, networks[0].descriptor()).unwrap();
    assert_eq!(again.inode().unwrap(), networks[0].inode().unwrap());
    let seen = again.run(|| std::fs::read_to_string("/proc/thread-self/net/dev").unwrap());
    assert!(seen.unwrap().contains("eth0"));
    // A descriptor of something else is refused, not entered.
    let error = Namespace::of_process(own, 0).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot open the testbed's network"),
        "{error}"
    );
}

#[test]
fn an_interface_goes_with_its_tap() {
    let Some((networks, taps)) = hosts("an_interface_goes_with_its_tap") else {
        return;
    };
    let interfaces = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    assert!(networks[0].run(interfaces).unwrap().contains("eth0"));
    drop(taps);
    assert!(!networks[0].run(interfaces).unwrap().contains("eth0"));
}
