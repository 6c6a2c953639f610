//! Zenoh by itself, from peer to peer. URL: an endpoint, as tcp/127.0.0.1:7671; the publisher listens.

#[path = "../../common/peer.rs"]
mod peer;

use std::process::ExitCode;

use zenoh::{Config, Wait as _};

fn open(way: &str, endpoint: &str) -> zenoh::Session {
    let mut config = Config::default();
    let endpoints = format!("[\"{endpoint}\"]");
    config.insert_json5(way, &endpoints).expect("an endpoint");
    config.insert_json5("scouting/multicast/enabled", "false").expect("known");
    zenoh::open(config).wait().expect("a session")
}

fn main() -> ExitCode {
    peer::run(
        |wishes| {
            let session = open("listen/endpoints", &wishes.url);
            let publisher = session.declare_publisher("peer").wait().expect("a publisher");
            move |message: &[u8]| {
                let _ = publisher.put(message).wait();
                let _ = &session;
            }
        },
        |wishes| {
            let session = open("connect/endpoints", &wishes.url);
            let subscriber = session.declare_subscriber("peer").wait().expect("a subscriber");
            move |timeout, heard| {
                if let Ok(Some(sample)) = subscriber.recv_timeout(timeout) {
                    heard.message(&sample.payload().to_bytes());
                }
                let _ = &session;
            }
        },
    )
}
