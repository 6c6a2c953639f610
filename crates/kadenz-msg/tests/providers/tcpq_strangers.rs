//! Clients of a `tcpq://` server that mean it no good, beside honest ones.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use kadenz_msg::channel::{Channel, Pattern};
use kadenz_msg::provider::tcpq::{ServerOptions, Tcpq, TcpqServer};
use kadenz_msg::provider::{Provider, parameters::Address};
use kadenz_msg::wire::tcpq::{MAGIC_CLIENT, MessageHeader, greeting, push_subscription};
use kadenz_rt::clock;

use crate::ends::{channel, collect, joined, until_joined};

/// Long enough for any machine; whatever takes it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

fn serve(options: &ServerOptions) -> TcpqServer {
    let options = ServerOptions {
        address: ([127, 0, 0, 1], 0).into(),
        ..options.clone()
    };
    TcpqServer::start(&options).unwrap()
}

fn connect(server: &TcpqServer) -> TcpStream {
    let stranger = TcpStream::connect(server.address()).unwrap();
    stranger.set_read_timeout(Some(PATIENCE)).unwrap();
    stranger.set_write_timeout(Some(PATIENCE)).unwrap();
    stranger
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
    // Who is hung up on in the middle finds out when it reads.
    let _ = client.write_all(&words);
    client
}

/// Whether the server hung up on it, within patience.
fn is_hung_up_on(client: &mut TcpStream) -> bool {
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

/// Two honest clients reach each other.
fn assert_served(server: &TcpqServer) {
    let url = format!("tcpq://{}", server.address());
    let bus = Tcpq::open(&Address::parse(&url).unwrap()).unwrap();
    let (mut outlet, mut inlet) = joined(&bus, &["HONEST"]);
    outlet.publish(&channel("HONEST"), &[7; 5000]).unwrap();
    while collect(&mut *inlet, 1)[0].payload != [7; 5000] {}
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = clock::now() + PATIENCE;
    while !is_so() {
        assert!(clock::now() < end, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn header(bytes: usize) -> MessageHeader {
    MessageHeader::new(&Channel::new("BIG").unwrap(), bytes as u32)
}

#[test]
fn silent_connections_take_no_seat_from_those_that_greet() {
    let server = serve(&ServerOptions {
        clients: 8,
        ..ServerOptions::default()
    });
    let mut active = subscribed(&server, &["ACTIVE"]);
    active.write_all(header(0).bytes()).unwrap();
    until("it is not heard", || server.counters().messages == 1);
    let mut silent: Vec<_> = (0..100).map(|_| connect(&server)).collect();
    let mut idle: Vec<_> = (0..100).map(|_| greeted(&server)).collect();
    assert_served(&server);
    assert!(is_hung_up_on(&mut silent[0]) && is_hung_up_on(&mut idle[0]));
    active
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    assert!(!is_hung_up_on(&mut active));
}

#[test]
fn who_does_not_greet_in_time_is_hung_up_on_and_who_greeted_is_not() {
    let server = serve(&ServerOptions {
        greeting: Duration::from_millis(200),
        ..ServerOptions::default()
    });
    let mut silent = connect(&server);
    let mut slow = connect(&server);
    slow.write_all(&greeting(MAGIC_CLIENT)[..7]).unwrap();
    let mut idle = greeted(&server);
    assert!(is_hung_up_on(&mut silent) && is_hung_up_on(&mut slow));
    idle.set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    assert!(!is_hung_up_on(&mut idle));
    assert_eq!(server.counters().refused, 2);
}

#[test]
fn expressions_that_take_long_or_many_of_them_are_refused() {
    let server = serve(&ServerOptions::default());
    assert!(is_hung_up_on(&mut subscribed(
        &server,
        &["(?:[AB]?){4000}"]
    )));
    let many: Vec<String> = (0..1000).map(|it| format!("[{it}]+x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(is_hung_up_on(&mut subscribed(&server, &many)));
    let names: Vec<String> = (0..2000).map(|it| format!("CHANNEL_{it}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(is_hung_up_on(&mut subscribed(&server, &names)));
    assert_served(&server);
}

#[test]
fn many_who_take_all_expressions_give_way_to_one_who_wants_one() {
    let server = serve(&ServerOptions::default());
    let mut greedy = Vec::new();
    for client in 0..10 {
        let patterns: Vec<String> = (0..16).map(|it| format!("[{client}]{{{it}}}x")).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        greedy.push(subscribed(&server, &patterns));
    }
    until("nobody gave way", || server.counters().refused > 0);
    let url = format!("tcpq://{}", server.address());
    let bus = Tcpq::open(&Address::parse(&url).unwrap()).unwrap();
    let mut inlet = bus.inlet().unwrap();
    let pattern = Pattern::new("HONES[TY]").unwrap();
    inlet.want(&[pattern]).unwrap();
    let mut outlet = bus.outlet().unwrap();
    until_joined(&mut *outlet, &mut [&mut *inlet], &["HONEST"]);
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
    until("nobody came", || server.counters().clients == 20);
    let mut publisher = greeted(&server);
    // Subscriptions are heard before it, for they were sent before.
    thread::sleep(Duration::from_millis(100));
    publisher.write_all(header(BYTES).bytes()).unwrap();
    publisher.write_all(&vec![1; BYTES]).unwrap();
    let told = || {
        let counters = server.counters();
        counters.delivered + counters.dropped
    };
    until("the message did not come", || told() == 20);
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
fn parts_of_messages_without_end_cost_those_who_send_them() {
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
    until("nobody was hung up on", || server.counters().refused >= 15);
    assert_served(&server);
    drop(greedy);
}

#[test]
fn who_floods_does_not_keep_others_from_being_served() {
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
