//! Outlets and inlets as the promises use them.

use std::time::Duration;

use kadenz_msg::channel::{Channel, Pattern};
use kadenz_msg::provider::{Inlet, More, Outlet, Provider, SenderId, Sequence, Wait};
use kadenz_rt::clock;

/// The channel by which an outlet and an inlet find out that they have found each other.
pub(crate) const JOIN: &str = "JOIN";

/// No wait of a test is longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What arrived, copied.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) channel: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) sender: SenderId,
    pub(crate) sequence: Option<Sequence>,
}

pub(crate) fn channel(name: &str) -> Channel {
    Channel::new(name).unwrap()
}

/// The patterns, and [`JOIN`].
pub(crate) fn wants(patterns: &[&str]) -> Vec<Pattern> {
    let all = patterns.iter().chain([&JOIN]);
    all.map(|pattern| Pattern::new(pattern).unwrap()).collect()
}

pub(crate) fn inlet(provider: &dyn Provider, patterns: &[&str]) -> Box<dyn Inlet> {
    let mut inlet = provider.inlet().unwrap();
    inlet.want(&wants(patterns)).unwrap();
    inlet
}

/// An outlet and an inlet that have found each other.
pub(crate) fn joined(
    provider: &dyn Provider,
    patterns: &[&str],
) -> (Box<dyn Outlet>, Box<dyn Inlet>) {
    let mut outlet = provider.outlet().unwrap();
    let mut inlet = inlet(provider, patterns);
    until_joined(&mut *outlet, &mut [&mut *inlet]);
    (outlet, inlet)
}

/// Publishes until every one of these has received something of it.
pub(crate) fn until_joined(outlet: &mut dyn Outlet, inlets: &mut [&mut dyn Inlet]) {
    let mark = clock::now().as_ns().to_be_bytes();
    for inlet in inlets {
        let end = clock::now() + PATIENCE;
        loop {
            assert!(clock::now() < end, "they do not find each other");
            outlet.publish(&channel(JOIN), &mark).unwrap();
            let taken = look(&mut **inlet, Duration::from_millis(20));
            if taken.iter().any(|taken| taken.payload == mark) {
                break;
            }
        }
    }
}

/// What comes within one wait; errors count as nothing, as a bus takes them.
pub(crate) fn look(inlet: &mut dyn Inlet, span: Duration) -> Vec<Taken> {
    let mut all = Vec::new();
    let end = clock::now() + span;
    let outcome = inlet.receive(Wait::Until(end), &mut |arrival| {
        all.push(Taken {
            channel: arrival.channel.to_owned(),
            sender: arrival.sender,
            sequence: arrival.sequence,
            payload: arrival.payload.bytes().to_vec(),
        });
        More::GoOn
    });
    if let Ok(kadenz_msg::provider::Received::Messages(count)) = outcome {
        assert_eq!(count, all.len());
    }
    all
}

/// Waits for that many messages that are not of [`JOIN`].
pub(crate) fn collect(inlet: &mut dyn Inlet, count: usize) -> Vec<Taken> {
    let mut all = Vec::new();
    let end = clock::now() + PATIENCE;
    while all.len() < count {
        assert!(clock::now() < end, "{} of {count} came: {all:?}", all.len());
        let taken = look(inlet, Duration::from_millis(100));
        all.extend(taken.into_iter().filter(|taken| taken.channel != JOIN));
    }
    all
}
