//! Hands measurements on to a logging server.

use std::net::SocketAddr;

use kadenz_rt::net::port::UdpPort;
use kadenz_udp::controller::DeviceKey;
use kadenz_udp::record::{Batcher, DEFAULT_BATCH_BYTES, Measurement, Outcome, Position};
use kadenz_udp::wire::{RunId, Sequence, Stamp, Token, Unfit};

use super::books::Reply;

/// A measurement waits this long at most for others to travel with.
const FLUSH_AFTER_NS: i64 = 100_000_000;

/// Packs measurements into batches and sends them, from the receiving thread: packing writes some
/// fifty bytes, sending is one system call that never waits, and once in twenty measurements.
pub(super) struct HandOn {
    port: UdpPort,
    batcher: Batcher<Vec<u8>>,
    last_flush_ns: i64,
    waiting: u64,
    failed: u64,
}

impl HandOn {
    /// To the server that the port's peer is.
    ///
    /// # Errors
    /// [`Unfit`] never: a batch of the usual size holds a measurement.
    pub(super) fn new(port: UdpPort, run: RunId, token: Option<Token>) -> Result<Self, Unfit> {
        Ok(Self {
            port,
            batcher: Batcher::over(vec![0; DEFAULT_BATCH_BYTES], run, token)?,
            last_flush_ns: 0,
            waiting: 0,
            failed: 0,
        })
    }

    /// Takes a measurement.
    pub(super) fn measured(&mut self, from: SocketAddr, reply: &Reply) {
        let measurement = Measurement {
            device: DeviceKey::from(from),
            sequence: Sequence(reply.sequence),
            intended_ns: reply.intended_ns.cast_unsigned(),
            sent_ns: reply.sent_ns.cast_unsigned(),
            outcome: Outcome::Answered {
                received_ns: reply.received_ns.cast_unsigned(),
                device: reply.device_stamps,
            },
        };
        if self.batcher.push(&measurement).is_err() {
            self.send(reply.received_ns, Position::Within);
            // An empty batch has room.
            let _ = self.batcher.push(&measurement);
        }
        self.waiting += 1;
    }

    /// Sends what has waited long enough.
    pub(super) fn flush_if_due(&mut self, now_ns: i64) {
        if !self.batcher.is_empty() && now_ns - self.last_flush_ns >= FLUSH_AFTER_NS {
            self.send(now_ns, Position::Within);
        }
    }

    /// Sends the last batch, also an empty one: it says that it is the last.
    pub(super) fn finish(&mut self, now_ns: i64) {
        self.send(now_ns, Position::Last);
    }

    /// Measurements that could not be sent.
    pub(super) fn failed(&self) -> u64 {
        self.failed
    }

    fn send(&mut self, now_ns: i64, position: Position) {
        let stamp = Stamp(now_ns.cast_unsigned());
        let sent = self.port.send(self.batcher.finish(stamp, position));
        if sent.is_err() {
            self.failed += self.waiting;
        }
        self.waiting = 0;
        self.last_flush_ns = now_ns;
    }
}
