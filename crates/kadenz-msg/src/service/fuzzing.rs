//! Messages of unknown programs to the services, for fuzzing: their rules, fed with any messages at any time.
//!
//! Each function panics if a service breaks its guarantees. Compiled only with `cfg(fuzzing)` or for tests.
//! Bytes are cut into messages: a byte of the kind, a byte of time, two of the length.

use kadenz_rt::clock::MonotonicTime;

use super::clock_offset::{Exchange, OffsetFit};
use super::heartbeat::{Event, HeartbeatOptions, HeartbeatWatch, Liveness};
use super::messages::{Heartbeat, ParameterAnswer, ParameterQuery, Reply, Request};
use crate::message::Message;

pub use super::parameters::fuzzing::parameters;
pub use super::types_on_wire::fuzzing::types_on_wire;

/// A message as another program may send it.
pub(super) struct FuzzedMessage<'a> {
    /// The kind of the message.
    pub(super) kind: u8,
    /// The time of its arrival.
    pub(super) at: MonotonicTime,
    /// Its bytes, without a fingerprint.
    pub(super) body: &'a [u8],
}

impl FuzzedMessage<'_> {
    /// The bytes of a message of a type, which begins with the fingerprint.
    pub(super) fn as_message<M: Message>(&self) -> Vec<u8> {
        [&M::FINGERPRINT.0.to_be_bytes(), self.body].concat()
    }
}

/// Cuts bytes into messages, one after the other in time.
pub(super) fn said(mut bytes: &[u8]) -> impl Iterator<Item = FuzzedMessage<'_>> {
    let mut ns = 0;
    std::iter::from_fn(move || {
        let ([kind, pause, high, low], behind) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        let (body, rest) = behind.split_at(length);
        bytes = rest;
        // Up to a quarter of a second, and now and then an hour.
        ns += match *pause {
            255 => 3_600_000_000_000,
            pause => u64::from(pause) * 1_000_000,
        };
        Some(FuzzedMessage {
            kind: *kind,
            at: MonotonicTime::from_ns(ns),
            body,
        })
    })
}

/// Beats of any program: memory stays bounded, and each node's life follows from its last beat.
pub fn heartbeats(bytes: &[u8]) {
    let options = HeartbeatOptions {
        most_nodes: 4,
        ..HeartbeatOptions::default()
    };
    let mut watch = HeartbeatWatch::new(options);
    let mut last_events = std::collections::BTreeMap::new();
    for said in said(bytes) {
        if said.kind & 1 == 0 {
            watch.look(said.at, |node, event| {
                last_events.insert(node.name.clone(), event);
            });
            assert!(watch.next_look().is_none_or(|next| next > said.at));
        } else if let Ok(beat) = Heartbeat::decode(&said.as_message::<Heartbeat>())
            && let Some(event) = watch.add(&beat, said.at)
            && event != Event::Doubled
        {
            let received = watch.nodes().find(|it| beat.name.starts_with(&it.name));
            assert!(received.is_some() || beat.name.len() > 63);
            last_events.extend(
                watch
                    .nodes()
                    .filter(|it| it.last_received == said.at && it.instance == beat.instance)
                    .map(|it| (it.name.clone(), event)),
            );
        }
        assert!(watch.nodes().count() <= options.most_nodes);
        for node in watch.nodes() {
            assert!(node.name.len() <= 63 && node.state.len() <= 200);
            let expected = match last_events.get(&node.name) {
                Some(Event::Late) => Liveness::Late,
                Some(Event::Died) => Liveness::Dead,
                _ => Liveness::Alive,
            };
            assert_eq!(node.life, expected, "{}", node.name);
        }
    }
}

/// Stamps of any program: the result is an interval, which holds the interval that the last exchange proved.
pub fn clock_offsets(bytes: &[u8]) {
    let mut fit = OffsetFit::new(super::clock_offset::DRIFT_PPM);
    for stamps in bytes.chunks_exact(32) {
        let mut stamps = stamps.chunks_exact(8);
        let mut next = || {
            let stamp = stamps.next().and_then(|it| it.first_chunk());
            stamp.map_or(0, |it| i64::from_be_bytes(*it))
        };
        let exchange = Exchange {
            sent_ns: next(),
            received_ns: next(),
            answered_ns: next(),
            returned_ns: next(),
        };
        let before = fit.at(exchange.returned_ns);
        let added = fit.add(exchange);
        let Ok(added) = added else {
            assert_eq!(fit.at(exchange.returned_ns), before, "what is known stays");
            continue;
        };
        let after = fit.at(exchange.returned_ns);
        if let Some(after) = after {
            assert!(after.least_ns() <= after.most_ns(), "{added:?} {after:?}");
        }
        assert!(exchange.round_trip_ns() <= exchange.returned_ns.abs_diff(exchange.sent_ns));
    }
}

/// Every message that a program of this crate decodes is encoded to an equal one, or holds a NUL within a
/// text.
pub fn messages(bytes: &[u8]) {
    for said in said(bytes) {
        match said.kind % 5 {
            0 => round::<Request>(&said),
            1 => round::<Reply>(&said),
            2 => round::<ParameterQuery>(&said),
            3 => round::<ParameterAnswer>(&said),
            _ => round::<Heartbeat>(&said),
        }
    }
}

fn round<M: Message + Default>(said: &FuzzedMessage<'_>) {
    let Ok(message) = M::decode(&said.as_message::<M>()) else {
        return;
    };
    let Ok(encoded) = message.encode() else {
        assert!(said.body.contains(&0), "only a NUL within a text");
        return;
    };
    let again = M::decode(&encoded).and_then(|it| it.encode().map_err(|_| unreachable()));
    assert_eq!(again.as_deref(), Ok(&encoded[..]));
}

fn unreachable() -> crate::codec::DecodeError {
    crate::codec::DecodeError::NoNul { member: "" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Bytes that are cut into such messages.
    fn said() -> impl Strategy<Value = Vec<u8>> {
        let message = (
            any::<u8>(),
            any::<u8>(),
            prop::collection::vec(any::<u8>(), 0..80),
        );
        prop::collection::vec(message, 0..12).prop_map(|all| {
            all.into_iter()
                .flat_map(|(kind, pause, body)| {
                    [vec![kind, pause, 0, body.len() as u8], body].concat()
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in said()) {
            super::heartbeats(&bytes);
            super::clock_offsets(&bytes);
            super::messages(&bytes);
            super::parameters(&bytes);
            super::types_on_wire(&bytes);
        }
    }
}
