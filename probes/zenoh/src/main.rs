//! Zenoh from peer to peer; the publisher listens. URL: an endpoint, as tcp/127.0.0.1:7671 or
//! unixsock-stream//tmp/FILE. With ?recv=queue behind it, the subscriber's own thread takes messages out of Zenoh's
//! FIFO channel, in place of a callback on Zenoh's thread.

#[path = "../../kadenz_probe.rs"]
mod kadenz_probe;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kadenz_probe::Probe;
use zenoh::handlers::FifoChannel;
use zenoh::{Config, Session, Wait as _};

fn open(way: &str, endpoint: &str) -> zenoh::Result<Session> {
    let mut config = Config::default();
    config.insert_json5(way, &format!("[\"{endpoint}\"]"))?;
    config.insert_json5("scouting/multicast/enabled", "false")?;
    zenoh::open(config).wait()
}

fn main() {
    let mut probe = Probe::open(&format!(
        "Zenoh {}",
        kadenz_probe::version(include_str!("../Cargo.lock"), "zenoh")
    ));
    let way = if probe.publishes {
        "listen/endpoints"
    } else {
        "connect/endpoints"
    };
    let url = probe.url.clone();
    let endpoint = url.strip_suffix("?recv=queue");
    let session = open(way, endpoint.unwrap_or(&url));
    let session = probe.must(session);
    match (probe.publishes, endpoint) {
        (true, _) => publish(probe, &session),
        (false, None) => receive(probe, &session),
        (false, Some(_)) => take(probe, &session),
    }
    let _ = session.close().wait();
}

fn publish(mut probe: Probe, session: &Session) {
    let publisher = session.declare_publisher(probe.channel.clone()).wait();
    let publisher = probe.must(publisher);
    probe.ready();
    while probe.next_beat() {
        let taken = publisher.put(probe.message()).wait().is_ok();
        probe.sent(taken);
    }
    probe.close();
}

/// Receives by a callback on Zenoh's own thread, which is its quickest way.
fn receive(probe: Probe, session: &Session) {
    let (orders, channel) = (Arc::clone(&probe.orders), probe.channel.clone());
    let shared = Arc::new(Mutex::new(probe));
    let given = Arc::clone(&shared);
    let came = move |sample: zenoh::sample::Sample| {
        let mut probe = lock(&given);
        probe.received(&sample.payload().to_bytes());
        probe.waits();
    };
    let subscriber = session.declare_subscriber(channel).callback(came).wait();
    let subscriber = lock(&shared).must(subscriber);
    lock(&shared).ready();
    while !orders.ended() {
        std::thread::sleep(kadenz_probe::POLL_TIMEOUT / 10);
    }
    drop(subscriber);
    lock(&shared).close();
}

/// Receives on the program's own thread, as programs do that need the message there.
fn take(mut probe: Probe, session: &Session) {
    let queue = FifoChannel::new(probe.queue);
    let subscriber = session
        .declare_subscriber(probe.channel.clone())
        .with(queue)
        .wait();
    let subscriber = probe.must(subscriber);
    probe.ready();
    while probe.waits() {
        if let Ok(Some(sample)) = subscriber.recv_timeout(kadenz_probe::POLL_TIMEOUT) {
            probe.received(&sample.payload().to_bytes());
        }
    }
    drop(subscriber);
    probe.close();
}

fn lock(shared: &Mutex<Probe>) -> MutexGuard<'_, Probe> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
