//! Sends measurements to a logging server.

use std::net::SocketAddr;
use std::time::Duration;

use kadenz_rt::clock;
use kadenz_rt::net::port::{Inbox, UdpPort, Wait};
use kadenz_udp::controller::DeviceKey;
use kadenz_udp::record::{
    Batcher, DEFAULT_BATCH_BYTES, Handshake, HandshakeEvent, Measurement, Outcome, Position,
};
use kadenz_udp::wire::{EncodeError, RunId, Sequence, Stamp, Token};

use super::packet_counts::ProbeReply;

/// How long a measurement waits at most for others of the same batch.
const FLUSH_AFTER_NS: i64 = 100_000_000;
/// How often the controller sends its hello before it measures, and its last batch at the end, and how long
/// the server has to answer each time.
const TRIES: u32 = 5;
const REPLY_TIMEOUT: Duration = Duration::from_millis(100);
/// Answers that one call takes: 18 bytes, and 16 of a tag.
const SLOTS: usize = 16;
const ANSWER_BYTES: usize = 34;

/// Counts of the measurements that were sent to the logging server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SentMeasurements {
    /// Measurements that could not be sent.
    pub(super) failed: u64,
    pub(super) batches: u64,
    /// Batches that the server acknowledged.
    pub(super) kept: u64,
    /// How often the server reported that it has no room.
    pub(super) refused: u64,
}

/// Packs measurements into batches and sends them from the receiving thread: packing writes some fifty bytes; sending
/// and checking for answers are one system call each that never waits, once in twenty measurements.
pub(super) struct MeasurementSender {
    port: UdpPort,
    inbox: Inbox,
    handshake: Handshake,
    batcher: Batcher<Vec<u8>>,
    last_flush_ns: i64,
    waiting: u64,
    so_far: SentMeasurements,
    welcome: bool,
}

impl MeasurementSender {
    /// A connection to the server that is the port's peer.
    ///
    /// # Errors
    /// [`EncodeError`] never happens: a batch of the usual size holds a measurement.
    pub(super) fn new(
        port: UdpPort,
        run: RunId,
        token: Option<Token>,
    ) -> Result<Self, EncodeError> {
        Ok(Self {
            port,
            inbox: Inbox::new(SLOTS, ANSWER_BYTES),
            handshake: Handshake::new(run, token.clone()),
            batcher: Batcher::over(vec![0; DEFAULT_BATCH_BYTES], run, token)?,
            last_flush_ns: 0,
            waiting: 0,
            so_far: SentMeasurements::default(),
            welcome: false,
        })
    }

    /// Introduces this run to the server before the measurement: this takes half a second at most, where the server
    /// does not answer.
    pub(super) fn introduce(&mut self) {
        for _ in 0..TRIES {
            // A server that is not there yet may be there when a batch is sent.
            let _ = self.port.send(self.handshake.hello());
            let until = clock::now() + REPLY_TIMEOUT;
            while clock::now() < until && !self.welcome && self.so_far.refused == 0 {
                self.receive(Wait::Until(until));
            }
            if self.welcome || self.so_far.refused > 0 {
                return;
            }
        }
    }

    pub(super) fn measured(&mut self, from: SocketAddr, reply: &ProbeReply) {
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
            self.send(reply.received_ns);
            // An empty batch has room.
            let _ = self.batcher.push(&measurement);
        }
        self.waiting += 1;
    }

    /// Sends what has waited long enough.
    pub(super) fn flush_if_due(&mut self, now_ns: i64) {
        if !self.batcher.is_empty() && now_ns - self.last_flush_ns >= FLUSH_AFTER_NS {
            self.send(now_ns);
        }
    }

    /// Sends the last batch, also an empty one, which announces the end: repeatedly while its answer is missing.
    pub(super) fn finish(&mut self, now_ns: i64) {
        let stamp = Stamp(now_ns.cast_unsigned());
        let number = self.batcher.sequence();
        let last = self.batcher.finish(stamp, Position::Last).to_vec();
        self.so_far.batches += 1;
        let mut sent = false;
        for _ in 0..TRIES {
            sent |= self.port.send(&last).is_ok();
            let until = clock::now() + REPLY_TIMEOUT;
            while clock::now() < until {
                if self.receive(Wait::Until(until)) == Some(number) {
                    return;
                }
            }
            if !self.welcome {
                break;
            }
        }
        if !sent {
            self.so_far.failed += self.waiting;
        }
    }

    /// Counts of the measurements so far.
    pub(super) fn so_far(&self) -> SentMeasurements {
        self.so_far
    }

    fn send(&mut self, now_ns: i64) {
        let stamp = Stamp(now_ns.cast_unsigned());
        let sent = self.port.send(self.batcher.finish(stamp, Position::Within));
        self.so_far.batches += 1;
        if sent.is_err() {
            self.so_far.failed += self.waiting;
        }
        self.waiting = 0;
        self.last_flush_ns = now_ns;
        self.receive(Wait::Poll);
    }

    /// Takes the server's answers; returns the number of the last batch that it acknowledged now.
    fn receive(&mut self, wait: Wait) -> Option<Sequence> {
        let mut kept = None;
        let mut asked = false;
        if self.port.receive_batch(&mut self.inbox, wait).is_err() {
            // No server listens there. The next call may find one, and must not follow at once.
            if let Wait::Until(until) = wait {
                let left_ns = until.since(clock::now());
                std::thread::sleep(Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0)));
            }
            return None;
        }
        for datagram in self.inbox.datagrams() {
            match self.handshake.receive(datagram.bytes) {
                HandshakeEvent::Nothing => {}
                HandshakeEvent::AskedAgain => (asked, self.welcome) = (true, false),
                HandshakeEvent::Welcome => self.welcome = true,
                HandshakeEvent::Refused => self.so_far.refused += 1,
                HandshakeEvent::Kept(number) => {
                    self.so_far.kept += 1;
                    kept = Some(number);
                }
            }
        }
        if asked {
            let _ = self.port.send(self.handshake.hello());
        }
        kept
    }
}
