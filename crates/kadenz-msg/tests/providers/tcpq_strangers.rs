//! Faulty and hostile clients of a `tcpq://` server, beside honest ones.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use kadenz_msg::channel::Channel;
use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::tcpq::{ServerOptions, Tcpq, TcpqServer};
use kadenz_msg::wire::Header;
use kadenz_msg::wire::tcpq::{
    MAGIC_CLIENT, MAGIC_SERVER, greeting, message_header, push_subscription,
};
use kadenz_rt::clock;

use crate::ends::{channel, collect, joined_pair};

/// Longer than any machine needs; an operation that takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(20);

fn serve(options: &ServerOptions) -> TcpqServer {
    let options = ServerOptions {
        address: ([127, 0, 0, 1], 0).into(),
        ..options.clone()
    };
    TcpqServer::start(&options).unwrap()
}

fn connect(server: &TcpqServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    stream
}

fn greeted(server: &TcpqServer) -> TcpStream {
    let mut client = connect(server);
    client.write_all(&greeting(MAGIC_CLIENT)).unwrap();
    client
}

fn subscribed(server: &TcpqServer, patterns: &[&str]) -> TcpStream {
    let mut client = greeted(server);
    let mut words = Vec::new();
    for pattern in patterns {
        push_subscription(&mut words, pattern, true).unwrap();
    }
    // A client that is disconnected meanwhile notices it when it reads.
    let _ = client.write_all(&words);
    client
}

/// Whether the server closes the connection within the client's read timeout.
fn is_disconnected(client: &mut TcpStream) -> bool {
    let mut room = [0; 4096];
    loop {
        match client.read(&mut room) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => {
                let waits = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
                return !waits.contains(&error.kind());
            }
        }
    }
}

/// Asserts that two honest clients reach each other.
fn assert_served(server: &TcpqServer) {
    let url = format!("tcpq://{}", server.address());
    let bus = Tcpq::open(&Address::parse(&url).unwrap()).unwrap();
    let (mut outlet, mut inlet) = joined_pair(&bus, &["HONEST"]);
    outlet.publish(&channel("HONEST"), &[7; 5000]).unwrap();
    while collect(&mut *inlet, 1)[0].payload != [7; 5000] {}
}

/// Waits until a condition holds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = clock::now() + TIMEOUT;
    while !is_so() {
        assert!(clock::now() < end, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Reads `bytes` bytes, without a greeting before them.
fn message(client: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut all = vec![0; bytes];
    client.read_exact(&mut all).unwrap();
    if all.starts_with(&greeting(MAGIC_SERVER)) {
        all.drain(..8);
        let mut rest = [0; 8];
        client.read_exact(&mut rest).unwrap();
        all.extend_from_slice(&rest);
    }
    all
}

fn header(bytes: usize) -> Header {
    message_header(&Channel::new("BIG").unwrap(), bytes as u32)
}

#[test]
fn silent_connections_take_no_slot_from_clients_that_greet() {
    let server = serve(&ServerOptions {
        clients: 8,
        ..ServerOptions::default()
    });
    let mut active = subscribed(&server, &["ACTIVE"]);
    active.write_all(header(0).bytes()).unwrap();
    until("it is not received", || server.counters().messages == 1);
    let mut silent: Vec<_> = (0..100).map(|_| connect(&server)).collect();
    let mut idle: Vec<_> = (0..100).map(|_| greeted(&server)).collect();
    assert_served(&server);
    assert!(is_disconnected(&mut silent[0]) && is_disconnected(&mut idle[0]));
    active
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    assert!(!is_disconnected(&mut active));
}

#[test]
fn a_client_without_a_greeting_is_disconnected_and_one_that_greeted_is_not() {
    let server = serve(&ServerOptions {
        handshake_timeout: Duration::from_millis(200),
        ..ServerOptions::default()
    });
    let mut silent = connect(&server);
    let mut slow = connect(&server);
    slow.write_all(&greeting(MAGIC_CLIENT)[..7]).unwrap();
    let mut idle = greeted(&server);
    assert!(is_disconnected(&mut silent) && is_disconnected(&mut slow));
    idle.set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    assert!(!is_disconnected(&mut idle));
    assert_eq!(server.counters().refused, 2);
}

#[test]
fn expressions_that_take_long_or_many_of_them_are_refused() {
    let server = serve(&ServerOptions::default());
    assert!(is_disconnected(&mut subscribed(
        &server,
        &["(?:[AB]?){4000}"]
    )));
    let many: Vec<String> = (0..1000).map(|it| format!("[{it}]+x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(is_disconnected(&mut subscribed(&server, &many)));
    let names: Vec<String> = (0..2000).map(|it| format!("CHANNEL_{it}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(is_disconnected(&mut subscribed(&server, &names)));
    assert_served(&server);
}

#[test]
fn a_client_keeps_its_expressions_when_there_is_no_room_for_more() {
    let server = serve(&ServerOptions::default());
    let mut honest = subscribed(&server, &["HONES[TY]", "ARM[0-9]", "LEG[0-9]"]);
    until("it is not there", || server.counters().clients == 1);
    // All clients together have more expressions than the server allows, and each fewer than the honest one.
    let patterns: Vec<String> = (0..100).map(|it| format!("[X]{{{it}}}")).collect();
    let _greedy: Vec<_> = patterns
        .iter()
        .map(|it| subscribed(&server, &[it]))
        .collect();
    until("no client is refused", || server.counters().refused == 39);
    assert!(is_disconnected(&mut subscribed(&server, &["["])));
    let header = message_header(&channel("HONEST"), 0);
    honest.write_all(header.bytes()).unwrap();
    assert_eq!(message(&mut honest, header.bytes().len()), header.bytes());
}

#[test]
fn a_pattern_subscribed_to_again_and_again_is_one_and_ends_with_the_last() {
    let server = serve(&ServerOptions::default());
    let mut client = subscribed(&server, &["ARM|LEG"; 2000]);
    client.read_exact(&mut [0; 8]).unwrap();
    let end = |client: &mut TcpStream, times: usize| {
        let mut words = Vec::new();
        for _ in 0..times {
            push_subscription(&mut words, "ARM|LEG", false).unwrap();
        }
        client.write_all(&words).unwrap();
    };
    let [arm, done] = ["ARM", "DONE"].map(|it| message_header(&channel(it), 0));
    end(&mut client, 1999);
    client.write_all(arm.bytes()).unwrap();
    end(&mut client, 1);
    let mut words = arm.bytes().to_vec();
    push_subscription(&mut words, "DONE", true).unwrap();
    words.extend_from_slice(done.bytes());
    client.write_all(&words).unwrap();
    let mut came = vec![0; arm.bytes().len() + done.bytes().len()];
    client.read_exact(&mut came).unwrap();
    assert_eq!(came, [arm.bytes(), done.bytes()].concat());
}

#[test]
fn a_slow_client_is_skipped_each_message_is_counted_and_it_is_served_again() {
    const BYTES: usize = 100_000;
    let server = serve(&ServerOptions::default());
    let mut slow = subscribed(&server, &["BIG"]);
    slow.read_exact(&mut [0; 8]).unwrap();
    let mut publisher = greeted(&server);
    let big = [header(BYTES).bytes(), &vec![1; BYTES]].concat();
    let mut sent = 0;
    while server.counters().dropped < 10 {
        publisher.write_all(&big).unwrap();
        sent += 1;
        until("it is not received", || server.counters().messages == sent);
        assert!(sent < 1000, "{:?}", server.counters());
    }
    let counters = server.counters();
    assert_eq!(counters.delivered + counters.dropped, sent);
    let clients = server.clients();
    let counts = (clients[0].delivered, clients[0].dropped);
    assert_eq!(counts, (counters.delivered, counters.dropped));
    for _ in 0..counters.delivered {
        assert_eq!(message(&mut slow, big.len()), big);
    }
    // The server has emptied the client's queue while the client read.
    publisher.write_all(&big).unwrap();
    assert_eq!(message(&mut slow, big.len()), big);
    assert_eq!(server.clients()[0].dropped, counters.dropped);
}

#[test]
fn a_message_is_held_once_for_all_that_do_not_read_it() {
    const BYTES: usize = 16 << 20;
    let options = ServerOptions {
        longest: BYTES,
        ..ServerOptions::default()
    };
    let server = serve(&ServerOptions {
        memory: options.least_memory(),
        ..options
    });
    let mut slow: Vec<_> = (0..20).map(|_| subscribed(&server, &["BIG"])).collect();
    until("not all clients came", || server.counters().clients == 20);
    let mut publisher = greeted(&server);
    // The server reads the subscriptions first, which the clients sent before.
    thread::sleep(Duration::from_millis(100));
    publisher.write_all(header(BYTES).bytes()).unwrap();
    publisher.write_all(&vec![1; BYTES]).unwrap();
    let handled = || {
        let counters = server.counters();
        counters.delivered + counters.dropped
    };
    until("the message did not come", || handled() == 20);
    let counters = server.counters();
    assert_eq!(
        (counters.delivered, counters.dropped),
        (20, 0),
        "{counters:?}"
    );
    for client in &mut slow {
        let mut all = vec![0; 8 + header(BYTES).bytes().len() + BYTES];
        client.read_exact(&mut all).unwrap();
        assert!(all[all.len() - BYTES..].iter().all(|byte| *byte == 1));
    }
    assert_served(&server);
}

#[test]
fn endless_parts_of_messages_cost_the_clients_that_send_them() {
    const BYTES: usize = 1 << 20;
    let options = ServerOptions {
        longest: BYTES,
        ..ServerOptions::default()
    };
    let server = serve(&ServerOptions {
        memory: options.least_memory(),
        ..options
    });
    let part = vec![0; BYTES - 1000];
    let greedy: Vec<_> = (0..20)
        .map(|_| {
            let mut client = greeted(&server);
            let _ = client.write_all(header(BYTES).bytes());
            let _ = client.write_all(&part);
            client
        })
        .collect();
    until("too few clients were disconnected", || {
        server.counters().refused >= 15
    });
    assert_served(&server);
    drop(greedy);
}

#[test]
fn parts_of_messages_that_are_never_completed_give_way_to_one_that_is() {
    const BYTES: usize = 1 << 20;
    const IDLE: Duration = Duration::from_millis(200);
    let options = ServerOptions {
        longest: BYTES,
        idle_timeout: IDLE,
        ..ServerOptions::default()
    };
    let server = serve(&ServerOptions {
        memory: options.least_memory(),
        ..options
    });
    let part = [header(BYTES).bytes(), &vec![0; 700_000]].concat();
    let mut begun: Vec<_> = (0..2).map(|_| greeted(&server)).collect();
    for client in &mut begun {
        client.write_all(&part).unwrap();
    }
    let mut honest = greeted(&server);
    thread::sleep(3 * IDLE);
    honest.write_all(header(BYTES).bytes()).unwrap();
    honest.write_all(&vec![1; BYTES]).unwrap();
    until("it is not received", || server.counters().messages == 1);
    assert!(server.counters().refused >= 1);
}

#[test]
fn an_idle_client_gives_its_slot_to_a_newcomer_and_a_served_one_does_not() {
    const IDLE: Duration = Duration::from_millis(200);
    let server = serve(&ServerOptions {
        clients: 3,
        idle_timeout: IDLE,
        ..ServerOptions::default()
    });
    let mut quiet = [(); 2].map(|()| subscribed(&server, &["QUIET"]));
    let mut served = subscribed(&server, &["SERVED"]);
    served.read_exact(&mut [0; 8]).unwrap();
    let round_trip = |client: &mut TcpStream, name: &str| {
        let ping = message_header(&channel(name), 0);
        client.write_all(ping.bytes()).unwrap();
        assert_eq!(message(client, ping.bytes().len()), ping.bytes());
    };
    thread::sleep(3 * IDLE);
    let mut newcomers = Vec::new();
    for quiet in &mut quiet {
        round_trip(&mut served, "SERVED");
        let mut newcomer = subscribed(&server, &["NEW"]);
        round_trip(&mut newcomer, "NEW");
        newcomers.push(newcomer);
        assert!(is_disconnected(quiet));
    }
    round_trip(&mut served, "SERVED");
}

#[test]
fn a_flooding_client_does_not_keep_others_from_being_served() {
    let server = serve(&ServerOptions::default());
    let flood = header(0).bytes().repeat(4000);
    let streams: Vec<_> = (0..4).map(|_| greeted(&server)).collect();
    thread::scope(|scope| {
        for stream in &streams {
            let flood = &flood;
            scope.spawn(move || {
                let mut stream = stream;
                while stream.write_all(flood).is_ok() {}
            });
        }
        until("no flood", || server.counters().messages > 10_000);
        assert_served(&server);
        for stream in &streams {
            stream.shutdown(std::net::Shutdown::Both).unwrap();
        }
    });
}

#[test]
fn a_server_is_not_begun_with_less_memory_than_a_message_needs() {
    let error = TcpqServer::start(&ServerOptions {
        address: ([127, 0, 0, 1], 0).into(),
        memory: 100 << 20,
        ..ServerOptions::default()
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidInput);
}
