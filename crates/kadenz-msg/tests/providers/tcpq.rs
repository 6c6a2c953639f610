//! `tcpq://`.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::tcpq::{ServerOptions, Tcpq, TcpqServer};
use kadenz_msg::provider::{Provider, PublishError};
use kadenz_rt::clock;

use crate::ends::{channel, collect, inlet, join_all, joined_pair, look, wants};
use crate::promises::{Open, promises};

fn server(port: u16) -> TcpqServer {
    let options = ServerOptions {
        address: ([127, 0, 0, 1], port).into(),
        ..ServerOptions::default()
    };
    TcpqServer::start(&options).unwrap()
}

fn client(server: &TcpqServer) -> Tcpq {
    let url = format!("tcpq://{}", server.address());
    Tcpq::open(&Address::parse(&url).unwrap()).unwrap()
}

#[test]
fn the_tcp_server_keeps_its_promises() {
    promises(|| {
        let server = server(0);
        let open: Open = Box::new(move || Arc::new(client(&server)) as Arc<dyn Provider>);
        open
    });
}

#[test]
fn a_server_that_goes_and_comes_is_found_again() {
    let first = server(0);
    let port = first.address().port();
    let bus = client(&first);
    let (mut outlet, mut inlet) = joined_pair(&bus, &["A"]);
    drop(first);
    let end = clock::now() + Duration::from_secs(10);
    while outlet.publish(&channel("A"), b"lost").is_ok() {
        assert!(clock::now() < end, "a server that is gone takes everything");
    }
    assert!(matches!(
        outlet.publish(&channel("A"), b"lost"),
        Err(PublishError::Refused { .. })
    ));
    let _second = server(port);
    loop {
        assert!(clock::now() < end, "it is not found again");
        let _ = outlet.publish(&channel("A"), b"again");
        let received = look(&mut *inlet, Duration::from_millis(50));
        if received.iter().any(|received| received.payload == b"again") {
            break;
        }
    }
    assert!(client(&_second).outlet().is_ok());
}

#[test]
fn a_client_that_does_not_read_loses_and_delays_no_other() {
    let server = server(0);
    let bus = client(&server);
    let (mut outlet, mut quick) = joined_pair(&bus, &["A"]);
    let mut slow = inlet(&bus, &["A"]);
    join_all(&mut *outlet, &mut [&mut *slow], &["A"]);
    let payload = vec![0; 1_000_000];
    for _ in 0..40 {
        outlet.publish(&channel("A"), &payload).unwrap();
        collect(&mut *quick, 1);
    }
    let counters = server.counters();
    assert!(counters.dropped > 0, "{counters:?}");
    let received = collect(&mut *slow, 1);
    assert_eq!(received[0].payload.len(), payload.len());
}

/// A server that reads nothing for a while, and then a message of so many bytes; returns its address, and whether
/// the whole message came.
fn slow_server(bytes: usize, pause: Duration) -> (String, JoinHandle<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcpq://{}?send_wait=1ms", listener.local_addr().unwrap());
    let reader = thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        client.write_all(b"\x28\x76\x17\xfa\0\0\x01\0").unwrap();
        thread::sleep(pause);
        client
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let mut all = vec![0; 8 + 12 + "A".len() + bytes];
        client.read_exact(&mut all).is_ok() && all.ends_with(&vec![1; bytes])
    });
    (url, reader)
}

#[test]
fn a_message_that_was_taken_arrives_whole_although_nothing_more_is_published() {
    const BYTES: usize = 16 << 20;
    let (url, reader) = slow_server(BYTES, Duration::from_millis(300));
    let bus = Tcpq::open(&Address::parse(&url).unwrap()).unwrap();
    let mut outlet = bus.outlet().unwrap();
    outlet.publish(&channel("A"), &vec![1; BYTES]).unwrap();
    assert!(reader.join().unwrap(), "the end of the message is missing");
    drop(outlet);
}

#[test]
fn a_message_that_was_taken_arrives_whole_although_the_outlet_is_dropped_at_once() {
    const BYTES: usize = 16 << 20;
    let (url, reader) = slow_server(BYTES, Duration::from_millis(100));
    let bus = Tcpq::open(&Address::parse(&url).unwrap()).unwrap();
    let mut outlet = bus.outlet().unwrap();
    outlet.publish(&channel("A"), &vec![1; BYTES]).unwrap();
    drop(outlet);
    assert!(reader.join().unwrap(), "the end of the message is missing");
}

#[test]
fn a_message_arrives_whole_although_the_outlet_is_dropped_before_the_server_greets() {
    // It fits into the buffers of both kernels together, but not into the server's.
    const BYTES: usize = 1 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcpq://{}", listener.local_addr().unwrap());
    let bus = Tcpq::open(&Address::parse(&url).unwrap()).unwrap();
    let mut outlet = bus.outlet().unwrap();
    outlet.publish(&channel("A"), &vec![1; BYTES]).unwrap();
    let dropping = thread::spawn(move || drop(outlet));
    let mut client = listener.accept().unwrap().0;
    thread::sleep(Duration::from_millis(200));
    client.write_all(b"\x28\x76\x17\xfa\0\0\x01\0").unwrap();
    thread::sleep(Duration::from_millis(50));
    let mut all = Vec::new();
    let read = client.read_to_end(&mut all);
    assert_eq!(
        (read.ok(), all.len()),
        (Some(all.len()), 8 + 12 + 1 + BYTES)
    );
    dropping.join().unwrap();
}

#[test]
fn a_channel_whose_name_is_an_expression_is_received_by_its_name_and_by_the_expression() {
    let server = server(0);
    let bus = client(&server);
    let (mut outlet, mut inlet) = joined_pair(&bus, &["P+OSE.1"]);
    for name in ["P+OSE-1", "PPOSE-1", "P+OSE.1"] {
        outlet.publish(&channel(name), name.as_bytes()).unwrap();
    }
    let names = collect(&mut *inlet, 2).into_iter().map(|it| it.channel);
    assert!(names.eq(["PPOSE-1", "P+OSE.1"]));
    inlet.want(&wants(&["OTHER"])).unwrap();
    join_all(&mut *outlet, &mut [&mut *inlet], &["OTHER"]);
    outlet.publish(&channel("P+OSE.1"), b"unwanted").unwrap();
    outlet.publish(&channel("OTHER"), b"wanted").unwrap();
    assert_eq!(collect(&mut *inlet, 1)[0].payload, b"wanted");
}

#[test]
fn an_unknown_client_is_disconnected_and_counted() {
    let server = server(0);
    let mut unknown = TcpStream::connect(server.address()).unwrap();
    unknown
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    unknown.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut said = Vec::new();
    // The connection may end with a reset, since the server has not read all bytes.
    let _ = unknown.read_to_end(&mut said);
    assert_eq!(said, b"\x28\x76\x17\xfa\0\0\x01\0");
    assert_eq!(server.counters().refused, 1);
    assert!(client(&server).outlet().is_ok());
}

#[test]
fn without_a_server_the_error_says_how_to_start_one() {
    let gone = server(0).address();
    let url = format!("tcpq://{gone}");
    let bus = Tcpq::open(&Address::parse(&url).unwrap()).unwrap();
    for error in [bus.outlet().err(), bus.inlet().err()] {
        let error = error.unwrap().to_string();
        assert!(error.contains("lcm.lcm.TCPService"), "{error}");
    }
}
