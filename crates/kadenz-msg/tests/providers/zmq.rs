//! `zmq://`.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{More, Provider, Received, zmq::Zmq};

use kadenz_rt::clock;
use kadenz_rt::net::listener::raise_open_files;
use kadenz_rt::net::port::Wait;

use crate::ends::{channel, collect, free_port, inlet, join_all};
use crate::outside::{Program, beside, python};
use crate::promises::{Open, promises};
use crate::unique;

/// The bus at that address; since only one program can listen there, every handle is the same.
fn bus_at(url: &str) -> Open {
    let bus: Arc<dyn Provider> = Arc::new(Zmq::open(&Address::parse(url).unwrap()).unwrap());
    Box::new(move || Arc::clone(&bus))
}

#[test]
fn zeromq_over_tcp_keeps_its_promises() {
    promises(|| bus_at(&format!("zmq://127.0.0.1:{}", free_port())));
}

#[test]
fn zeromq_over_unix_sockets_keeps_its_promises() {
    let folder = tempfile::tempdir().unwrap();
    promises(|| bus_at(&format!("zmq://{}/{}", folder.path().display(), unique())));
}

const HOW: &str = "pip install pyzmq, and name that Python in KADENZ_PYTHON";

/// Starts the libzmq side.
fn libzmq(python: &Path, action: &str, place: &str) -> Program {
    let mut command = Command::new(python);
    Program::start(command.arg(beside("libzmq_end.py")).args([action, place]))
}

/// The addresses of a bus, each as a URL of Kadenz and as libzmq's.
fn places(folder: &Path) -> [(String, String); 2] {
    let port = free_port();
    let path = folder.join("socket");
    let path = path.display();
    [
        (
            format!("zmq://127.0.0.1:{port}"),
            format!("tcp://127.0.0.1:{port}"),
        ),
        (format!("zmq://{path}"), format!("ipc://{path}")),
    ]
}

#[test]
fn what_libzmq_publishes_is_received() {
    let Some(python) = python("what_libzmq_publishes_is_received", "zmq", HOW) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (ours, theirs) in places(folder.path()) {
        let bus = Zmq::open(&Address::parse(&ours).unwrap()).unwrap();
        let mut inlet = inlet(&bus, &["ARM_.*"]);
        let _libzmq = libzmq(&python, "publish", &theirs);
        let mut received = collect(&mut *inlet, 12);
        received.truncate(12);
        let lengths = |name: &str| {
            let of_it = received.iter().filter(|received| received.channel == name);
            of_it
                .map(|received| received.payload.len())
                .collect::<Vec<_>>()
        };
        assert!(lengths("ARM_LARGE").contains(&1_000_000));
        assert!(lengths("ARM_EMPTY").contains(&0));
        assert_eq!(lengths("LEG"), [0; 0], "libzmq was asked for ARM_ alone");
        let left = received
            .iter()
            .filter(|received| received.channel == "ARM_LEFT");
        let numbers: Vec<u32> = left
            .map(|received| {
                std::str::from_utf8(&received.payload)
                    .unwrap()
                    .parse()
                    .unwrap()
            })
            .collect();
        assert!(numbers.len() > 2);
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
        let counters = inlet.counters();
        assert_eq!((counters.malformed, counters.overrun), (0, 0));
    }
}

#[test]
fn libzmq_receives_what_is_published_in_two_frames() {
    let test = "libzmq_receives_what_is_published_in_two_frames";
    let Some(python) = python(test, "zmq", HOW) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (ours, theirs) in places(folder.path()) {
        let bus = Zmq::open(&Address::parse(&ours).unwrap()).unwrap();
        let mut outlet = bus.outlet().unwrap();
        let libzmq = libzmq(&python, "subscribe", &theirs);
        let expected = ["2 ARM_LEFT 200", "2 ARM 1000000", "2 ARM_RIGHT 0"];
        let end = clock::now() + Duration::from_secs(60);
        let mut lines = Vec::new();
        // Goes on for a while, so that the outlet must answer libzmq's heartbeats; libzmq disconnects otherwise.
        let least = clock::now() + Duration::from_millis(500);
        while clock::now() < least || !expected.iter().all(|it| lines.iter().any(|l| l == it)) {
            assert!(clock::now() < end, "{ours}: {lines:?}");
            outlet.publish(&channel("ARM_LEFT"), &[1; 200]).unwrap();
            outlet.publish(&channel("LEG"), &[2; 200]).unwrap();
            outlet
                .publish(&channel("ARM"), &vec![3; 1_000_000])
                .unwrap();
            outlet.publish(&channel("ARM_RIGHT"), &[]).unwrap();
            thread::sleep(Duration::from_millis(20));
            lines.extend(libzmq.lines());
        }
        let odd = lines.iter().find(|line| !expected.contains(&line.as_str()));
        assert_eq!(odd, None);
    }
}

#[test]
fn many_programs_publish_to_one_that_listens() {
    let url = format!("zmq://127.0.0.1:{}?bind=inlet", free_port());
    let address = Address::parse(&url).unwrap();
    let programs = [(); 3].map(|()| Zmq::open(&address).unwrap());
    let mut outlets = programs.each_ref().map(|program| program.outlet().unwrap());
    let mut inlet = inlet(&programs[0], &["A"]);
    for outlet in &mut outlets {
        join_all(&mut **outlet, &mut [&mut *inlet], &["A"]);
    }
    for (number, outlet) in outlets.iter_mut().enumerate() {
        outlet.publish(&channel("A"), &[number as u8]).unwrap();
    }
    let received = collect(&mut *inlet, 3);
    let mut numbers: Vec<u8> = received
        .iter()
        .map(|received| received.payload[0])
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn two_programs_cannot_listen_at_one_address_and_get_the_remedy() {
    let url = format!("zmq://127.0.0.1:{}", free_port());
    let address = Address::parse(&url).unwrap();
    let first = Zmq::open(&address).unwrap();
    let _outlet = first.outlet().unwrap();
    let second = Zmq::open(&address).unwrap().outlet().unwrap_err();
    assert!(second.remedy.contains("bind=inlet"), "{second}");
}

/// Opens more silent connections than a listener has slots.
fn silent(port: u16) -> Vec<TcpStream> {
    raise_open_files().unwrap();
    let connect = |_| TcpStream::connect(("127.0.0.1", port)).unwrap();
    (0..1200).map(connect).collect()
}

#[test]
fn silent_peers_keep_no_subscriber_and_no_publisher_out() {
    for bind in ["outlet", "inlet"] {
        let port = free_port();
        let url = format!("zmq://127.0.0.1:{port}?bind={bind}");
        let listens = Zmq::open(&Address::parse(&url).unwrap()).unwrap();
        let connects = Zmq::open(&Address::parse(&url).unwrap()).unwrap();
        let (mut outlet, mut inlet, _silent);
        if bind == "outlet" {
            outlet = listens.outlet().unwrap();
            _silent = silent(port);
            inlet = self::inlet(&connects, &["A"]);
        } else {
            inlet = self::inlet(&listens, &["A"]);
            _silent = silent(port);
            outlet = connects.outlet().unwrap();
        }
        join_all(&mut *outlet, &mut [&mut *inlet], &["A"]);
        outlet.publish(&channel("A"), b"served").unwrap();
        while collect(&mut *inlet, 1)[0].payload != b"served" {}
    }
}

#[test]
fn a_subscriber_without_other_events_disconnects_a_silent_peer() {
    let port = free_port();
    let url = format!("zmq://127.0.0.1:{port}?bind=inlet");
    let listens = Zmq::open(&Address::parse(&url).unwrap()).unwrap();
    let mut inlet = self::inlet(&listens, &["A"]);
    let mut silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let end = clock::now() + Duration::from_secs(6);
    let received = inlet.receive(Wait::Until(end), &mut |_| More::GoOn);
    assert!(matches!(received, Ok(Received::Nothing)), "{received:?}");
    silent
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let greeting = std::io::copy(&mut silent, &mut std::io::sink());
    assert!(greeting.is_ok(), "it is connected still: {greeting:?}");
}
