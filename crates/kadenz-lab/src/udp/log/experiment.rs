//! The logging server as an experiment: run folder in, completed run out.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::mpsc::{self, SyncSender};
use std::thread;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::{Kind, Run, Warning};
use kadenz_record::run::network::{LostHere, Network, RESPONSE, RTT};
use kadenz_rt::net::port::{PortOptions, UdpPort};
use kadenz_udp::device::{PerSecond, RateLimit};
use kadenz_udp::record::Cookies;
use kadenz_udp::wire::Token;

use super::streams::{Bounds, Streams};
use super::{LogServer, LogServerCounts, Responder};
use crate::measuring::{ExperimentError, Measuring, SeriesSketch};
use crate::measuring_threads::{self, Watch};
use crate::session;
use crate::stop::Stop;

/// Parameters of a logging server.
#[derive(Clone, Debug)]
pub struct LogPlan {
    /// The address, interface and other options of the socket.
    pub port: PortOptions,
    /// The token that controllers must know.
    pub token: Option<Token>,
    /// The maximum number of batches per second, of all controllers.
    pub limit: Option<PerSecond>,
    /// The most streams, a controller's run each.
    pub most_streams: usize,
    /// The most devices that get a series of their own.
    pub most_devices: usize,
    /// Ends when this many streams have announced their end; with `None` when stopped.
    pub until_ended: Option<usize>,
}

/// Takes measurements until a stop is requested; calls `ready` with the address when it listens.
///
/// # Errors
/// [`ExperimentError`]; where the port cannot be opened no run folder is made.
pub fn log(
    measuring: &Measuring,
    plan: &LogPlan,
    ready: impl FnOnce(std::net::SocketAddr),
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let port = UdpPort::open(&plan.port)?;
    let address = port.local_address();
    let mut run = session::begin(&measuring.session)?;
    let (requests, to_serve) = mpsc::sync_channel(plan.most_devices.max(1));
    let (grants, granted) = mpsc::sync_channel(plan.most_devices.max(1));
    let mut server = server(measuring, &mut run, plan, port, (requests, granted))?;
    let ongoing = measuring.start(run)?;
    let (result, results) = mpsc::sync_channel(1);
    let member = measuring.member(&[RESPONSE, RTT], move |context| {
        server.run(context);
        // The receiver is gone only if the main thread has failed. The rest of the server is dropped here, its sender of
        // requests among it, so that the registrar ends too.
        let Responder {
            streams, counts, ..
        } = server.responder;
        let _ = result.send((streams, counts, server.port));
    });
    ready(address);
    let ended_by = thread::scope(|scope| {
        let running = &ongoing.running;
        let raw = measuring.session.raw;
        scope.spawn(move || super::serve(running, &to_serve, &grants, raw));
        measuring_threads::work(&ongoing, vec![member], stop, watch)
    })?;
    let (streams, counts, mut port) = results
        .recv()
        .map_err(|_| measuring_threads::MeasuringThreadError::Lost)?;
    ongoing.running.add_warnings(warnings(&streams, &counts));
    let network = Network {
        flows: streams.flows(),
        here: Some(LostHere {
            socket: port.dropped().unwrap_or(0),
            ..LostHere::default()
        }),
        foreign: counts.malformed + counts.wrong_token + counts.too_fast,
        ..Network::default()
    };
    ongoing.running.update(|run| run.network = Some(network));
    Ok(ongoing.finish(ended_by)?)
}

fn server(
    measuring: &Measuring,
    run: &mut RunWriter,
    plan: &LogPlan,
    port: UdpPort,
    (requests, granted): (
        SyncSender<super::Request>,
        mpsc::Receiver<super::DeviceSeries>,
    ),
) -> Result<LogServer, ExperimentError> {
    let mut all = |name: &str, words: &str| {
        let sketch = SeriesSketch {
            deadline: measuring.deadline.filter(|_| name == RESPONSE),
            ..SeriesSketch::new(Kind::Latency, name, format!("{words}, of all devices"))
        };
        measuring.series(run, sketch)
    };
    let response = all(RESPONSE, "the answer was there, less the packet's beat")?;
    let rtt = all(RTT, "the answer was there, less the packet's handing over")?;
    let (inbox, waiting) = LogServer::rooms();
    Ok(LogServer {
        port,
        inbox,
        until_ended: plan.until_ended,
        responder: Responder {
            token: plan.token.clone(),
            cookies: Cookies::new(&random_key()),
            limit: plan.limit.map(RateLimit::new),
            streams: Streams::new(Bounds {
                streams: plan.most_streams,
                devices: plan.most_devices,
            }),
            all: [response, rtt],
            each: (0..plan.most_devices).map(|_| None).collect(),
            waiting,
            requests,
            granted,
            counts: LogServerCounts::default(),
        },
    })
}

/// 32 bytes that no other process knows: hashes by keys that the standard library draws from
/// the system's random numbers.
fn random_key() -> [u8; 32] {
    let mut random_key = [0; 32];
    for (number, part) in random_key.chunks_mut(8).enumerate() {
        part.copy_from_slice(&RandomState::new().hash_one(number).to_ne_bytes());
    }
    random_key
}

fn warnings(streams: &Streams, counts: &LogServerCounts) -> Vec<Warning> {
    let problems = [
        (
            "batches_lost",
            streams.lost_batches(),
            "batches of measurements never came: their packets count as lost here",
            "the controllers' own runs have them",
        ),
        (
            "crowded_out",
            streams.refused,
            "times a controller was refused, because there was no room for another one",
            "accept more with --max-controllers",
        ),
        (
            "strange",
            streams.strange,
            "batches were left out: their sender was not welcomed before (docs/udp-protocol.md)",
            "send them by this version of `kadenz udp send --log`, or with a handshake of your own",
        ),
        (
            "without_place",
            counts.without_place,
            "values stand in the series of all devices only: there was no room for one of their own",
            "accept more with --max-devices",
        ),
        (
            "refused",
            counts.malformed + counts.wrong_token,
            "datagrams were refused: of other programs, broken, or without the right token",
            "give controllers and server the same --token-file",
        ),
        (
            "too_fast",
            counts.too_fast,
            "batches came faster than the limit and were refused",
            "raise --limit",
        ),
    ];
    let warning = |(id, count, words, remedy): (&str, u64, &str, &str)| {
        Warning::new(id, format!("{count} {words}"), Some(remedy))
    };
    let problems = problems.into_iter().filter(|(_, count, _, _)| *count > 0);
    problems.map(warning).collect()
}
