//! The logging server: measurements of many controllers in one run.
//!
//! One thread receives and records; it allocates nothing, takes no lock and waits for no disk. What
//! must wait is done by others: the run's writer thread persists, and a registrar makes the files of
//! a device that is heard for the first time. Until it has, the device's own values wait in a bounded
//! place; the series of all devices have them at once.
//!
//! A controller is welcomed when it has shown that it receives at the address that it sends from. Until then
//! nothing of it is kept and no file is made for it ([`kadenz_udp::record::Introduction`]).
//!
//! Memory is bounded whatever comes: so many streams, so many devices, so many waiting values. What
//! finds no place is counted.

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
use streams::{Entered, MeasuredSample, Streams};

pub use experiment::{LogPlan, log};

// Makes the series of a device that is heard for the first time: a thread that may wait.

/// A device was heard that has no series yet.
#[derive(Debug)]
struct Request {
    /// Where it stands among the server's devices.
    place: usize,
    /// Its name.
    device: String,
    /// What its values are, in words.
    description: String,
}

/// The series of a device.
#[derive(Debug)]
struct DeviceSeries {
    place: usize,
    recorder: SeriesRecorder,
}

/// Serves requests until nobody can make any.
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
/// The longest batch that is taken; what is longer is of no sender of ours.
const MAX_BATCH: usize = 9_000;
/// Values of new devices that may wait for their series.
const WAITING: usize = 1 << 15;
/// It is looked this often whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What the server took, and what it refused and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogServerCounts {
    /// Batches that were taken.
    batches: u64,
    /// Measurements that were taken.
    measurements: u64,
    /// Datagrams of other programs, truncated or broken ones.
    malformed: u64,
    /// Datagrams of who does not know the token.
    wrong_token: u64,
    /// Datagrams beyond the rate limit.
    too_fast: u64,
    /// Values that stand in the series of all devices only: no room for their own.
    without_place: u64,
}

/// The receiving side.
struct LogServer {
    port: UdpPort,
    inbox: Inbox,
    responder: Responder,
    /// Ends when so many streams have told their end.
    until_ended: Option<usize>,
}

/// What takes datagrams apart and records what they hold.
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
    /// An inbox that holds any batch, and an empty waiting place.
    fn rooms() -> (Inbox, Vec<(usize, Sample)>) {
        (Inbox::new(SLOTS, MAX_BATCH), Vec::with_capacity(WAITING))
    }

    /// Receives until somebody stops it, or all streams that are waited for have ended.
    ///
    /// # Real-time safety
    /// Waits for no disk and takes no lock. It allocates for a device or a stream that is heard for
    /// the first time, and for nothing else.
    fn run(&mut self, context: &mut LoopContext<'_>) {
        while !context.stop.requested() && !self.is_done() {
            let until = context.clock.now() + POLL_INTERVAL;
            // What the network says of an earlier datagram concerns no later one.
            let _ = self.port.receive_batch(&mut self.inbox, Wait::Until(until));
            self.responder.welcome();
            let now_ns = context.clock.now().since(context.origin);
            for datagram in self.inbox.datagrams() {
                // A full inbox of the largest batches takes longer than somebody should wait who stops it.
                if context.stop.requested() {
                    break;
                }
                let from = datagram.from;
                if let Some(answer) = self.responder.answer(datagram, now_ns) {
                    // A controller takes a lost answer as it takes any other loss.
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
    /// Takes what a datagram holds, and makes the answer to it in its bytes: one at most, and never longer.
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
        // After the token: who does not know it cannot use up the rate of those who do.
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

    /// Whoever says the right cookie receives at the address that it sends from.
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
            Entered::New(place) => place,
            // The answer to the first may have been lost.
            Entered::Again => return Some(ServerReply::Kept),
            Entered::Unfit => return None,
            Entered::Strange => {
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

    /// Takes the series that were made meanwhile, and gives them what waited for them.
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

    /// At the end: what waits for its series shall have it.
    fn wait_for_series(&mut self, context: &LoopContext<'_>) {
        const PATIENCE: Duration = Duration::from_secs(5);
        let until = context.clock.now() + PATIENCE;
        while !self.waiting.is_empty() && context.clock.now() < until {
            std::thread::sleep(Duration::from_millis(1));
            self.welcome();
        }
        self.counts.without_place += self.waiting.len() as u64;
    }
}
