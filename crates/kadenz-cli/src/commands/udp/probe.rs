//! `kadenz udp send` and `kadenz udp burst`: the controller's side.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kadenz::lab::measuring::Measuring;
use kadenz::lab::testbed::inside::PacketSchedule;
use kadenz::lab::testbed::model::Receivers;
use kadenz::lab::udp::discover::{DiscoverPlan, address_as_name, discover, name_apart};
use kadenz::lab::udp::probe::{
    Clocks, Destination, Device, Loop, ProbePlan, SocketReceiving, probe,
};
use kadenz::lab::udp::{ECHO_PORT, LOG_PORT, any_like};
use kadenz::record::run::network::MaxLoss;
use kadenz::rt::beat::Rate;
use kadenz::rt::net::port::PortOptions;

use super::address::{self, PathOption};
use super::socket::{DISCOVERY, SocketOptions, Stamps, TokenOption, wall_clock};
use crate::commands::outcome::{self, OutcomeOptions};
use crate::options::{Defaults, MeasureOptions, Size, Span, beats, word};
use crate::output::{self, Reply};

/// Measure how long a packet to a device and back takes, and how many are lost
///
/// Sends a packet on every beat, to each device its own, and records when the kernel took it against its beat (series
/// `lateness`), when its answer had arrived against the beat (`response`, which the deadline applies to) and against
/// the sending (`rtt`), and, with stamps, the parts of the time. A late beat is sent late and measured against its
/// own time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz udp send --to 127.0.0.1                                     this machine's own stack
  kadenz udp send --to 10.0.0.5 --rate 100Hz --size 200B --duration 24h      the baseline of [Enner2016b]
  kadenz udp send --to 10.0.0.5,10.0.0.6 --rate 1kHz --deadline 1ms  a packet to each of two devices
  kadenz udp send --to 10.0.0.5 --policy fifo:80 --sleeper spin --busy-poll   the least jitter
  kadenz udp send --to 10.0.0.5 --loop closed                        ping-pong, on one thread

On the device runs `kadenz udp echo --bind 0.0.0.0`, or firmware (docs/udp-protocol.md).

Exit codes: 0 every deadline was kept and the loss was within its limit; 1 a deadline was missed \
or more packets were lost (with --deadline, any; with --max-loss, more than so many); 2 no packet was \
answered, or the measurement could not be done.")]
pub(crate) struct Send {
    /// Devices, with a port or without, separated by commas
    #[arg(long, value_name = "ADDRESS", required = true, value_delimiter = ',')]
    to: Vec<String>,

    #[command(flatten)]
    probe: ProbeOptions,
}

/// Measure how long a whole robot takes to answer one broadcast
///
/// Discovers the devices first, then sends one broadcast on every beat that all of them answer: the microburst of
/// [Enner2016b]. Records the series of `kadenz udp send`, for each device as well, when the first and the last answer
/// had arrived (`first-reply`, `last-reply`), and how close together the answers were (`reply-spread`,
/// `densest-half`); prints the order in which devices answer, and how constant it is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz udp burst --to 10.0.0.255 --devices 40 --rate 100Hz --duration 90min   the robot of [Enner2016b]
  kadenz udp burst --to 10.0.0.255 --rate 1kHz --no-samples    all devices that answer, histograms only")]
pub(crate) struct Burst {
    /// Broadcast address of the robot's network, with a port or without
    #[arg(long, value_name = "ADDRESS")]
    to: String,

    /// Required number of devices [default: all that answer]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    devices: Option<u16>,

    #[command(flatten)]
    probe: ProbeOptions,
}

/// Options of both commands.
#[derive(Debug, Args)]
struct ProbeOptions {
    /// Rate of the beat
    #[arg(long, value_name = "RATE", default_value = "100Hz")]
    rate: Rate,

    /// UDP payload of a packet, 18B to 65507B; 200B is an actuator's feedback
    #[arg(long = "size", value_name = "SIZE", default_value = "200B")]
    payload: Size,

    /// How long to measure [default: 10s]
    #[arg(long, value_name = "SPAN", conflicts_with = "count")]
    duration: Option<Span>,

    /// How many beats, instead of a duration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// An answer that takes longer, and longer than the deadline, is late: its packet counts as lost
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    timeout: Span,

    /// The most lost packets, as a share or a number: 0.1%, 5 [default: none where a deadline is stated, else any
    /// number below all]
    #[arg(long, value_name = "SHARE|N")]
    max_loss: Option<MaxLoss>,

    /// Beats before the first measured one: the first packet waits for ARP
    #[arg(long, value_name = "N", default_value_t = 5)]
    warm_up: u32,

    /// Whether the next packet waits for the last answer
    #[arg(long = "loop", value_name = "LOOP", default_value = "open")]
    looping: LoopOption,

    /// How to wait for an answer [default: spin for one device, block for several]
    #[arg(long, value_name = "HOW", conflicts_with = "busy_poll")]
    receive: Option<UdpReceiveOption>,

    /// Send a packet over the loopback shortly before each beat, so that the measured packet finds warm caches
    #[arg(long)]
    rehearse: bool,

    /// Layer that stamps packets on their way
    #[arg(
        long,
        value_name = "LAYER",
        default_value = "software",
        help_heading = "Socket"
    )]
    stamps: Stamps,

    /// Request the devices' own stamps: series `device`, how long they held the packet, and `to-device` and
    /// `from-device`, how long each way took, with a bound on the error
    #[arg(long)]
    device_stamps: bool,

    /// Coarsest step of the devices' clocks; the error of one-way times grows with it
    #[arg(long, value_name = "SPAN", default_value = "1us")]
    device_resolution: Span,

    /// Clocks that give the time of each way
    #[arg(
        long,
        value_name = "CLOCKS",
        default_value = "fitted",
        requires_if("synchronised", "device_stamps")
    )]
    clocks: ClocksOption,

    /// With `--clocks synchronised`: the largest difference between this wall clock and a device's, as the
    /// synchronisation service reports it
    #[arg(long, value_name = "SPAN", requires = "device_stamps")]
    clock_error: Option<Span>,

    /// Logging server for every measurement, with a port or without
    #[arg(long, value_name = "ADDRESS")]
    log: Option<String>,

    #[command(flatten)]
    path: PathOption,

    #[command(flatten)]
    token: TokenOption,

    #[command(flatten)]
    socket: SocketOptions,

    #[command(flatten)]
    measure: MeasureOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LoopOption {
    /// Packets leave on the beat, whatever happens to the answers
    Open,
    /// The next packet waits for the last answer, until its beat is due
    Closed,
}

/// How the controller receives answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UdpReceiveOption {
    /// The sending thread polls for a fifth of the interval, 1 ms at most; then the kernel wakes it
    Spin,
    /// The kernel wakes the thread; in the open loop a thread of its own receives
    Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClocksOption {
    /// Each device's clock is fitted to this one's by the round trips
    Fitted,
    /// Wall clocks that PTP or NTP keeps together; devices stamp with theirs (`--stamps wall`)
    Synchronised,
}

pub(crate) fn send(options: &Send) -> anyhow::Result<Reply> {
    let addresses = options.to.iter().map(|to| address::resolve(to, ECHO_PORT));
    let addresses = addresses.collect::<anyhow::Result<Vec<SocketAddr>>>()?;
    let mut devices: Vec<Device> = addresses
        .iter()
        .map(|&address| Device {
            name: address_as_name(address),
            address,
        })
        .collect();
    devices.sort_by_key(|device| device.address);
    devices.dedup_by_key(|device| device.address);
    anyhow::ensure!(
        devices.len() == addresses.len(),
        "`--to` names a device twice; name each once"
    );
    name_apart(&mut devices);
    anyhow::ensure!(
        addresses
            .iter()
            .all(|it| it.is_ipv4() == addresses[0].is_ipv4()),
        "`--to` mixes IPv4 and IPv6; name devices of one family"
    );
    let to = addresses[0];
    let plan = options.probe.plan(devices, Destination::Each, to)?;
    measure("udp-send", &plan, &options.probe)
}

pub(crate) fn burst(options: &Burst) -> anyhow::Result<Reply> {
    let to = address::resolve(&options.to, ECHO_PORT)?;
    let devices = find(options, to)?;
    let broadcast = Destination::Broadcast(to);
    let mut plan = options.probe.plan(devices, broadcast, to)?;
    plan.port.broadcast = true;
    measure("udp-burst", &plan, &options.probe)
}

/// Discovers the devices.
fn find(options: &Burst, to: SocketAddr) -> anyhow::Result<Vec<Device>> {
    let stop = kadenz::lab::stop::Stop::default();
    let found = discover(
        &DiscoverPlan {
            to,
            wait: DISCOVERY,
            most: usize::from(options.devices.unwrap_or(1024)),
            token: options.probe.token.token()?,
            port: PortOptions {
                broadcast: true,
                ..options.probe.socket.port(any_like(to))
            },
        },
        &stop,
    )?;
    let wanted = options.devices.map_or(1, usize::from);
    anyhow::ensure!(
        found.len() >= wanted,
        "{} of {wanted} devices answered on {to}; on each must run `kadenz udp echo --bind 0.0.0.0`, \
         see `kadenz udp discover --to {to}`",
        found.len()
    );
    output::note(&match found.len() {
        1 => format!("1 device answers on {to}"),
        many => format!("{many} devices answer on {to}"),
    });
    Ok(found)
}

fn measure(
    experiment: &'static str,
    plan: &ProbePlan,
    options: &ProbeOptions,
) -> anyhow::Result<Reply> {
    let measuring = options.measuring(experiment, plan)?;
    let folder = measuring.session.out.clone();
    let stop = options.measure.stop()?;
    outcome::measured("sending", plan.total(), &folder, |progress| {
        probe(&measuring, plan, &stop, progress)
    })?;
    outcome::report_run(OutcomeOptions::of(&folder, &options.measure))
}

impl ProbeOptions {
    fn plan(
        &self,
        devices: Vec<Device>,
        destination: Destination,
        to: SocketAddr,
    ) -> anyhow::Result<ProbePlan> {
        let duration = self.duration.map_or(Duration::from_secs(10), |span| span.0);
        let log = self.log.as_ref();
        let log = log.map(|log| address::resolve(log, LOG_PORT)).transpose()?;
        let stamping = self.stamps.into();
        let receiving = self.receiving(devices.len());
        let wiring = self.path.wiring(&PacketSchedule {
            devices: devices.iter().map(|device| device.address.ip()).collect(),
            payload_bytes: self.payload.0,
            interval: self.rate.interval().as_duration(),
            receivers: match destination {
                Destination::Each => Receivers::Each,
                Destination::Broadcast(_) => Receivers::Broadcast,
            },
        })?;
        Ok(ProbePlan {
            devices,
            destination,
            interval: self.rate.interval(),
            count: Some(beats(self.rate, self.count, duration)?),
            warm_up: self.warm_up,
            payload_bytes: usize::try_from(self.payload.0)?,
            timeout: self.timeout.0,
            looping: match self.looping {
                LoopOption::Open => Loop::Open,
                LoopOption::Closed => Loop::Closed,
            },
            receiving,
            rehearses: self.rehearse,
            device_stamps: self.device_stamps,
            device_resolution: self.device_resolution.0,
            clocks: self.clocks()?,
            token: self.token.token()?,
            port: PortOptions {
                receive_stamps: stamping,
                transmit_stamps: stamping,
                ..self.socket.port(any_like(to))
            },
            wiring,
            log,
            max_loss: self.max_loss,
        })
    }

    fn receiving(&self, devices: usize) -> SocketReceiving {
        match self.receive {
            _ if self.socket.busy_poll => SocketReceiving::BusyPoll,
            Some(UdpReceiveOption::Spin) => SocketReceiving::Spinning,
            Some(UdpReceiveOption::Block) => SocketReceiving::Blocking,
            None if devices == 1 => SocketReceiving::Spinning,
            None => SocketReceiving::Blocking,
        }
    }

    fn clocks(&self) -> anyhow::Result<Clocks> {
        match (self.clocks, self.clock_error) {
            (ClocksOption::Fitted, None) => Ok(Clocks::Fitted),
            (ClocksOption::Fitted, Some(_)) => anyhow::bail!(
                "`--clock-error` is of synchronised clocks; say `--clocks synchronised` as well"
            ),
            (ClocksOption::Synchronised, Some(apart)) => {
                Ok(Clocks::Synchronised { apart: apart.0 })
            }
            (ClocksOption::Synchronised, None) => anyhow::bail!(
                "`--clocks synchronised` needs `--clock-error`: the maximum offset between this \
                 wall clock and the devices': {}, and `kadenz udp echo --stamps wall` reports the \
                 device's; add both, or give what ptp4l and phc2sys report",
                wall_clock()
            ),
        }
    }

    fn measuring(&self, experiment: &'static str, plan: &ProbePlan) -> anyhow::Result<Measuring> {
        let mut measuring = self.measure.measuring(&Defaults::of(experiment))?;
        // The effective timeout, not the option's: a repetition of the run must wait as long.
        let timeout = Span(plan.timeout_with(measuring.deadline));
        let session = &mut measuring.session;
        let to: Vec<String> = match plan.destination {
            Destination::Broadcast(to) => vec![to.to_string()],
            Destination::Each => plan
                .devices
                .iter()
                .map(|it| it.address.to_string())
                .collect(),
        };
        session.set("to", to.join(","));
        session.set("devices", plan.devices.len());
        session.set("rate", format!("{:#}", self.rate));
        session.set("payload", self.payload.to_string());
        session.set("count", plan.count);
        session.set("warm_up", plan.warm_up);
        session.set("timeout", timeout.to_string());
        if let Some(limit) = self.max_loss {
            session.set("max_loss", limit.to_string());
        }
        session.set("loop", word(&self.looping));
        let receiving = match plan.receiving {
            SocketReceiving::Blocking => "block",
            SocketReceiving::Spinning => "spin",
            SocketReceiving::BusyPoll => "busy-poll",
        };
        session.set("receive", receiving);
        session.set("rehearse", plan.rehearses);
        session.set("stamps", word(&self.stamps));
        session.set("device_stamps", plan.device_stamps);
        if let Clocks::Synchronised { apart } = plan.clocks {
            session.set("clocks", "synchronised");
            session.set("clock_error", Span(apart).to_string());
        }
        if let Some(file) = self.token.file() {
            session.set("token_file", file);
        }
        if let Some(path) = self.path.named() {
            session.set("path", path);
        }
        if let Some(log) = plan.log {
            session.set("log", log.to_string());
        }
        Ok(measuring)
    }
}
