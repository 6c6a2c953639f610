//! The logging server: measurements of many controllers in one run.
//!
//! One thread receives and records; it allocates nothing, takes no lock and waits for no disk. Other threads do the
//! work that must wait: the run's writer thread persists, and a registrar makes the files of a new device. Until it
//! has, the device's own values wait in a bounded buffer; the series of all devices gets them at once.
//!
//! A controller is welcomed when it has shown that it receives at the address that it sends from. Until then the server
//! keeps none of its data and makes no file for it ([`kadenz_udp::record::Handshake`]).
//!
//! Memory is bounded whatever comes, by limits of streams, devices and waiting values. Data beyond a limit is counted.

mod experiment;
mod streams;

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use kadenz_record::run::folder::{RunningRun, SeriesRecorder, SeriesSpec};
use kadenz_record::run::labels::{DEVICE, VALUE, labels};
use kadenz_record::run::model::{Kind, Series, Warning};
use kadenz_record::run::network::RTT;
use kadenz_record::samples::Sample;
use kadenz_rt::net::port::{Datagram, Inbox, UdpPort, Wait};
use kadenz_udp::controller::DeviceKey;
use kadenz_udp::device::RateLimit;
use kadenz_udp::record::{Batch, Cookies, ServerReply, server_reply};
use kadenz_udp::wire::{self, Packet, Refused, Token};

use crate::measuring_threads::LoopContext;
use streams::{BatchOutcome, MeasuredSample, Streams};

pub use experiment::{LogPlan, log};

// Makes the series of a new device, on a thread that may wait.

/// A request to make the series of a new device.
#[derive(Debug)]
struct Request {
    /// Its place among the server's devices.
    place: usize,
    device: String,
    /// Description of its values.
    description: String,
}

/// The series of a device.
#[derive(Debug)]
struct DeviceSeries {
    place: usize,
    recorder: SeriesRecorder,
}

/// Serves requests until all senders are gone.
fn serve(
    running: &RunningRun,
    requests: &Receiver<Request>,
    granted: &SyncSender<DeviceSeries>,
    raw: bool,
) {
    for request in requests {
        let series = Series {
            name: format!("{}.{RTT}", request.device),
            labels: labels([(VALUE, RTT), (DEVICE, &request.device)]),
            description: request.description,
            kind: Kind::Latency,
            unit: "ns".to_owned(),
            ..Series::default()
        };
        match running.series(SeriesSpec { series, raw }) {
            Ok(recorder) => {
                let place = request.place;
                // Full only if the server has ended.
                let _ = granted.try_send(DeviceSeries { place, recorder });
            }
            Err(error) => running.add_warning(Warning::new(
                "series_refused",
                format!("a device has no series of its own: {error}"),
                Some("its values stand in the series of all devices"),
            )),
        }
    }
}

/// Datagrams that one call takes.
const SLOTS: usize = 256;
/// The longest batch that is taken; none of our senders makes a longer one.
const MAX_BATCH: usize = 9_000;
/// Values of new devices that may wait for their series.
const WAITING: usize = 1 << 15;
/// How often the thread checks for a stop request.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Counts of taken and of refused datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogServerCounts {
    /// Batches that were taken.
    batches: u64,
    /// Measurements that were taken.
    measurements: u64,
    /// Datagrams of other programs, truncated or broken ones.
    malformed: u64,
    /// Datagrams of senders that do not know the token.
    wrong_token: u64,
    /// Datagrams beyond the rate limit.
    too_fast: u64,
    /// Values that are in the series of all devices only: there is no room for their own.
    without_place: u64,
}

/// The receiving side.
struct LogServer {
    port: UdpPort,
    inbox: Inbox,
    responder: Responder,
    /// Ends when this many streams have announced their end.
    until_ended: Option<usize>,
}

/// Parses datagrams and records their content.
struct Responder {
    token: Option<Token>,
    cookies: Cookies,
    limit: Option<RateLimit>,
    streams: Streams,
    all: [SeriesRecorder; 2],
    each: Vec<Option<SeriesRecorder>>,
    waiting: Vec<(usize, Sample)>,
    requests: SyncSender<Request>,
    granted: Receiver<DeviceSeries>,
    counts: LogServerCounts,
}

impl LogServer {
    /// An inbox that holds any batch, and an empty waiting buffer.
    fn rooms() -> (Inbox, Vec<(usize, Sample)>) {
        (Inbox::new(SLOTS, MAX_BATCH), Vec::with_capacity(WAITING))
    }

    /// Receives until a stop is requested, or all awaited streams have ended.
    ///
    /// # Real-time safety
    /// Waits for no disk and takes no lock. It allocates for a new device or stream, and for nothing else.
    fn run(&mut self, context: &mut LoopContext<'_>) {
        while !context.stop.requested() && !self.is_done() {
            let until = context.clock.now() + POLL_INTERVAL;
            // An error of an earlier datagram does not concern later ones.
            let _ = self.port.receive_batch(&mut self.inbox, Wait::Until(until));
            self.responder.welcome();
            let now_ns = context.clock.now().since(context.origin);
            for datagram in self.inbox.datagrams() {
                // To process a full inbox of the largest batches takes too long after a stop request.
                if context.stop.requested() {
                    break;
                }
                let from = datagram.from;
                if let Some(answer) = self.responder.answer(datagram, now_ns) {
                    // A controller handles a lost answer like any other loss.
                    let _ = self.port.send_to(answer, from);
                }
            }
        }
        self.responder.wait_for_series(context);
    }

    fn is_done(&self) -> bool {
        self.until_ended
            .is_some_and(|wanted| self.responder.streams.ended() >= wanted)
    }
}

impl Responder {
    /// Takes the content of a datagram, and makes its answer in the datagram's bytes: one at most, and never longer.
    fn answer<'d>(&mut self, datagram: Datagram<'d>, now_ns: i64) -> Option<&'d [u8]> {
        let (from, truncated) = (datagram.from, datagram.truncated());
        let bytes = datagram.bytes;
        let reply = if truncated {
            self.counts.malformed += 1;
            None
        } else {
            self.take(from, bytes, now_ns)
        };
        let length = server_reply(bytes, reply?, self.token.as_ref())?;
        bytes.get(..length)
    }

    fn take(&mut self, from: SocketAddr, bytes: &[u8], now_ns: i64) -> Option<ServerReply> {
        let packet = match Packet::open(bytes, self.token.as_ref()) {
            Ok(packet) => packet,
            Err(Refused::WrongToken) => {
                self.counts.wrong_token += 1;
                return None;
            }
            Err(Refused::Malformed(_)) => {
                self.counts.malformed += 1;
                return None;
            }
        };
        // After the token check, so that senders without the token cannot use up the rate of those with it.
        let now = now_ns.cast_unsigned();
        if self.limit.as_mut().is_some_and(|limit| !limit.passes(now)) {
            self.counts.too_fast += 1;
            return None;
        }
        if packet.kind() == wire::Kind::Hello {
            return Some(self.introduce(from, &packet, now_ns));
        }
        let Ok(batch) = Batch::read(&packet) else {
            self.counts.malformed += 1;
            return None;
        };
        self.enter(from, &batch, now_ns)
    }

    /// A sender with the right cookie receives at the address that it sends from.
    fn introduce(&mut self, from: SocketAddr, hello: &Packet<'_>, now_ns: i64) -> ServerReply {
        let cookie = self.cookies.of(DeviceKey::from(from), hello.run());
        if hello.stamp() != cookie {
            return ServerReply::Cookie(cookie);
        }
        match self.streams.welcome(from, hello.run(), now_ns) {
            true => ServerReply::Welcome,
            false => ServerReply::Refused,
        }
    }

    fn enter(&mut self, from: SocketAddr, batch: &Batch<'_>, now_ns: i64) -> Option<ServerReply> {
        let place = match self.streams.enter(from, batch, now_ns) {
            BatchOutcome::New(place) => place,
            // The answer to the first may have been lost.
            BatchOutcome::Again => return Some(ServerReply::Kept),
            BatchOutcome::Unusable => return None,
            BatchOutcome::Strange => {
                let cookie = self.cookies.of(DeviceKey::from(from), batch.run());
                return Some(ServerReply::Cookie(cookie));
            }
        };
        self.counts.batches += 1;
        for measured in batch.measurements() {
            if let Some(taken) = self.streams.take(place, &measured) {
                self.record(&taken);
            }
        }
        Some(ServerReply::Kept)
    }

    fn record(&mut self, taken: &MeasuredSample) {
        self.counts.measurements += 1;
        let [response, rtt] = &mut self.all;
        response.record(taken.response);
        rtt.record(taken.rtt);
        let Some(place) = taken.place else {
            self.counts.without_place += 1;
            return;
        };
        if taken.new {
            self.ask_for(place);
        }
        match self.each.get_mut(place) {
            Some(Some(recorder)) => recorder.record(taken.rtt),
            _ if self.waiting.len() < WAITING => self.waiting.push((place, taken.rtt)),
            _ => self.counts.without_place += 1,
        }
    }

    fn ask_for(&mut self, place: usize) {
        let name = self.streams.name(place);
        let request = Request {
            place,
            description: format!("round trip to {name} and back"),
            device: name.to_owned(),
        };
        // There is room for a request of each device.
        let _ = self.requests.try_send(request);
    }

    /// Takes the new series, and gives them their waiting values.
    fn welcome(&mut self) {
        while let Ok(DeviceSeries {
            place,
            mut recorder,
        }) = self.granted.try_recv()
        {
            self.waiting.retain(|(of, sample)| {
                if *of == place {
                    recorder.record(*sample);
                }
                *of != place
            });
            if let Some(slot) = self.each.get_mut(place) {
                *slot = Some(recorder);
            }
        }
    }

    /// At the end: every waiting value gets into its series.
    fn wait_for_series(&mut self, context: &LoopContext<'_>) {
        const TIMEOUT: Duration = Duration::from_secs(5);
        let until = context.clock.now() + TIMEOUT;
        while !self.waiting.is_empty() && context.clock.now() < until {
            std::thread::sleep(Duration::from_millis(1));
            self.welcome();
        }
        self.counts.without_place += self.waiting.len() as u64;
    }
}
