//! Outlets and inlets for the tests of the promises.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;
use std::{iter, process};

use kadenz_msg::arrival::{SenderId, Sequence};
use kadenz_msg::channel::{Channel, Pattern};
use kadenz_msg::provider::{Inlet, More, Outlet, Provider, Wait};
use kadenz_rt::clock;

/// The beginning of the messages by which an outlet and an inlet verify their connection.
pub(crate) const MARK: &[u8] = b"JOIN!";

/// The longest wait of a test.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A copy of a received message.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedMessage {
    pub(crate) channel: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) sender: SenderId,
    pub(crate) sequence: Option<Sequence>,
}

pub(crate) fn channel(name: &str) -> Channel {
    Channel::new(name).unwrap()
}

pub(crate) fn wants(patterns: &[&str]) -> Vec<Pattern> {
    let all = patterns.iter();
    all.map(|pattern| Pattern::new(pattern).unwrap()).collect()
}

pub(crate) fn inlet(provider: &dyn Provider, patterns: &[&str]) -> Box<dyn Inlet> {
    let mut inlet = provider.inlet().unwrap();
    inlet.want(&wants(patterns)).unwrap();
    inlet
}

/// A connected outlet and inlet on these channels.
pub(crate) fn joined_pair(
    provider: &dyn Provider,
    channels: &[&str],
) -> (Box<dyn Outlet>, Box<dyn Inlet>) {
    let mut outlet = provider.outlet().unwrap();
    let mut inlet = inlet(provider, channels);
    join_all(&mut *outlet, &mut [&mut *inlet], channels);
    (outlet, inlet)
}

/// Publishes to these channels until every inlet has received a message of each.
pub(crate) fn join_all(outlet: &mut dyn Outlet, inlets: &mut [&mut dyn Inlet], channels: &[&str]) {
    let mark = [MARK, &clock::now().as_ns().to_be_bytes()].concat();
    for inlet in inlets {
        for name in channels {
            let end = clock::now() + TIMEOUT;
            loop {
                assert!(clock::now() < end, "they do not find each other");
                outlet.publish(&channel(name), &mark).unwrap();
                let received = look(&mut **inlet, Duration::from_millis(20));
                let mut received = received.iter();
                if received.any(|received| received.payload == mark && received.channel == *name) {
                    break;
                }
            }
        }
    }
}

/// The messages of one wait; an error counts as no message, as in a bus.
pub(crate) fn look(inlet: &mut dyn Inlet, span: Duration) -> Vec<ReceivedMessage> {
    let mut all = Vec::new();
    let end = clock::now() + span;
    let outcome = inlet.receive(Wait::Until(end), &mut |arrival| {
        all.push(ReceivedMessage {
            channel: arrival.channel.to_owned(),
            sender: arrival.info.source.sender,
            sequence: arrival.info.source.sequence,
            payload: arrival.payload.bytes().to_vec(),
        });
        More::GoOn
    });
    if let Ok(kadenz_msg::provider::Received::Messages(count)) = outcome {
        assert_eq!(count, all.len());
    }
    all
}

/// Waits for `count` messages that are not marks of joining.
pub(crate) fn collect(inlet: &mut dyn Inlet, count: usize) -> Vec<ReceivedMessage> {
    let mut all = Vec::new();
    let end = clock::now() + TIMEOUT;
    while all.len() < count {
        assert!(clock::now() < end, "{} of {count} came: {all:?}", all.len());
        let received = look(inlet, Duration::from_millis(100));
        all.extend(received.into_iter().filter(|received| !is_mark(received)));
    }
    all
}

/// Wants a channel, nothing, and the channel again: no message of before may come, and none counts as lost.
pub(crate) fn a_new_subscription_gets_no_old_messages(provider: &dyn Provider) {
    let (mut outlet, mut inlet) = joined_pair(provider, &["A"]);
    outlet
        .publish(&channel("A"), b"wanted and not taken")
        .unwrap();
    inlet.want(&[]).unwrap();
    // More than wait in any inlet, of more than one sender.
    let mut other = provider.outlet().unwrap();
    for outlet in [&mut outlet, &mut other] {
        for _ in 0..1500 {
            outlet.publish(&channel("A"), b"not wanted").unwrap();
        }
    }
    inlet.want(&wants(&["A"])).unwrap();
    for outlet in [&mut outlet, &mut other] {
        outlet.publish(&channel("A"), b"new").unwrap();
    }
    let received = collect(&mut *inlet, 2);
    let payloads: Vec<&[u8]> = received.iter().map(|it| &*it.payload).collect();
    assert_eq!(payloads, [b"new", b"new"]);
    assert_eq!(inlet.counters().overrun, 0);
}

pub(crate) fn is_mark(received: &ReceivedMessage) -> bool {
    received.payload.starts_with(MARK)
}

/// A port of loopback that is free now, and that the system gives to no socket that asks for any: it lies below the
/// range `ip_local_port_range`, which begins at 32768.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first_of_process = (process::id() % 100) as u16 * 100;
    let ports = || 20_000 + first_of_process + NEXT.fetch_add(1, Ordering::Relaxed) % 100;
    let free = iter::repeat_with(ports)
        .take(100)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.expect("a free port")
}
