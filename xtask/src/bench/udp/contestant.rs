//! The contestants: server and client of each tool, with the same load.

use std::path::Path;

use anyhow::{Context, Result};

use super::namespaces::{Cable, DEVICE};
use super::table::{self, Percentiles};
use crate::bench::absent;
use crate::process;
use crate::repository::Repository;

/// Packets a second: Enner's rate.
pub(crate) const RATE: u32 = 100;
/// UDP payload: an actuator's feedback in Enner.
const BYTES: &str = "200";
/// Packets that are left out of the result; sockperf leaves its first 400 ms out.
const WARM_UP: u32 = 40;

/// A contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundTripContestant {
    /// One thread that waits for the answer in the kernel and spins until the next beat.
    Sockperf,
    /// As `Sockperf`, but polls the socket, on both sides.
    SockperfNonblocked,
    /// Open loop, on Go's scheduler.
    Irtt,
    /// As sockperf does it: one thread, spinning until the beat, no stamps.
    ClosedSpin,
    /// As sockperf does it with `--nonblocked`.
    ClosedBusy,
    /// `--loop closed`, and otherwise the defaults.
    Closed,
    /// As `Closed`, with all options: `--rehearse`, and on the device `--anticipate`.
    ClosedRehearsed,
    /// The defaults.
    Open,
    /// As `Open`, with all options.
    OpenRehearsed,
}

/// The scheduling of all contestants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheduling {
    /// As ordinary processes.
    Ordinary,
    /// `SCHED_FIFO`: controller 50, device 80.
    Fifo,
}

/// The common setting of the measurements.
pub(crate) struct RoundTripBench<'a> {
    /// The repository, in which commands run.
    pub(crate) repository: &'a Repository,
    /// The program of the release build.
    pub(crate) program: &'a str,
    /// The folder for logs.
    pub(crate) folder: &'a Path,
    /// The network between client and server.
    pub(crate) cable: &'a Cable,
    /// The scheduling of all contestants.
    pub(crate) scheduling: Scheduling,
    /// Length of each measurement.
    pub(crate) seconds: u32,
}

impl RoundTripContestant {
    /// All contestants, in the order of the first round.
    pub(crate) const ALL: [Self; 9] = [
        Self::Sockperf,
        Self::ClosedSpin,
        Self::Closed,
        Self::ClosedRehearsed,
        Self::Irtt,
        Self::Open,
        Self::OpenRehearsed,
        Self::SockperfNonblocked,
        Self::ClosedBusy,
    ];

    /// Its name in the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sockperf => "sockperf",
            Self::SockperfNonblocked => "sockperf nonblocked",
            Self::Irtt => "irtt",
            Self::ClosedSpin => "closed like sockperf",
            Self::ClosedBusy => "busy",
            Self::Closed => "closed",
            Self::ClosedRehearsed => "closed rehearsed",
            Self::OpenRehearsed => "open rehearsed",
            Self::Open => "open",
        }
    }

    /// Kadenz's options.
    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::ClosedSpin => &[
                "--loop",
                "closed",
                "--receive",
                "block",
                "--stamps",
                "off",
                "--sleeper",
                "spin",
                "--spin-margin",
                "10ms",
            ],
            Self::ClosedBusy => &[
                "--loop",
                "closed",
                "--stamps",
                "off",
                "--sleeper",
                "spin",
                "--spin-margin",
                "10ms",
                "--busy-poll",
            ],
            Self::Closed => &["--loop", "closed"],
            Self::ClosedRehearsed => &["--loop", "closed", "--rehearse"],
            Self::OpenRehearsed => &["--rehearse"],
            Self::Sockperf | Self::SockperfNonblocked | Self::Irtt | Self::Open => &[],
        }
    }

    /// Runs one measurement.
    pub(crate) fn measure(self, bench: &RoundTripBench<'_>) -> Result<Percentiles> {
        let round_trips = match self {
            Self::Sockperf => sockperf(bench, &[]),
            Self::SockperfNonblocked => sockperf(bench, &["--nonblocked"]),
            Self::Irtt => irtt(bench),
            _ => ours(bench, self.options()),
        };
        let percentiles = round_trips.and_then(Percentiles::of);
        percentiles.with_context(|| format!("{} could not measure", self.name()))
    }
}

impl Scheduling {
    /// The command before another tool's client.
    const fn controller(self) -> &'static [&'static str] {
        match self {
            Self::Ordinary => &[],
            Self::Fifo => &["chrt", "--fifo", "50"],
        }
    }

    /// The command before another tool's server.
    const fn device(self) -> &'static [&'static str] {
        match self {
            Self::Ordinary => &[],
            Self::Fifo => &["chrt", "--fifo", "80"],
        }
    }

    /// The scheduling options of Kadenz's client.
    const fn our_controller(self) -> &'static [&'static str] {
        match self {
            Self::Ordinary => &[],
            Self::Fifo => &["--policy", "fifo:50"],
        }
    }

    /// The scheduling options of Kadenz's server.
    const fn our_device(self) -> &'static [&'static str] {
        match self {
            Self::Ordinary => &[],
            Self::Fifo => &["--policy", "fifo:80"],
        }
    }
}

fn sockperf(bench: &RoundTripBench<'_>, more: &[&str]) -> Result<Vec<u64>> {
    let &RoundTripBench {
        repository, cable, ..
    } = bench;
    let server = ["sockperf", "server", "--ip", DEVICE];
    let server = [bench.scheduling.device(), &server, more].concat();
    let _server = cable.device.serve(repository, &server)?;
    let log = bench.folder.join("sockperf.csv");
    let seconds = bench.seconds.to_string();
    let pace = format!("--mps={RATE}");
    let client = [
        "sockperf",
        "ping-pong",
        "--ip",
        DEVICE,
        "--msg-size",
        BYTES,
        "--time",
        &seconds,
        &pace,
        "--full-rtt",
        "--full-log",
    ];
    let mut client = cable.controller.command(
        repository,
        &[bench.scheduling.controller(), &client].concat(),
    );
    process::output(client.arg(&log).args(more))?;
    table::of_sockperf(&read(&log)?)
}

fn irtt(bench: &RoundTripBench<'_>) -> Result<Vec<u64>> {
    let &RoundTripBench {
        repository, cable, ..
    } = bench;
    let server = ["irtt", "server", "-i", "0", "-b", DEVICE];
    let server = [bench.scheduling.device(), &server].concat();
    let _server = cable.device.serve(repository, &server)?;
    let log = bench.folder.join("irtt.json");
    let interval = format!("{}us", 1_000_000 / RATE);
    let packets = RATE * bench.seconds + WARM_UP;
    let length = format!("{}ms", packets * 1000 / RATE);
    let client = [
        "irtt", "client", "-Q", "-i", &interval, "-d", &length, "-l", BYTES, "-o",
    ];
    let mut client = cable.controller.command(
        repository,
        &[bench.scheduling.controller(), &client].concat(),
    );
    process::output(client.arg(&log).arg(DEVICE))?;
    table::of_irtt(&read(&log)?, WARM_UP as usize)
}

fn ours(bench: &RoundTripBench<'_>, options: &[&str]) -> Result<Vec<u64>> {
    let &RoundTripBench {
        repository, cable, ..
    } = bench;
    let listening = device_options(options);
    let server = [bench.program, "udp", "echo", "--bind", DEVICE];
    let server = [&server, bench.scheduling.our_device(), listening].concat();
    let _server = cable.device.serve(repository, &server)?;
    let run = absent(&bench.folder.join("run"))?;
    let (rate, payload) = (format!("{RATE}Hz"), format!("{BYTES}B"));
    let (count, warm_up) = ((RATE * bench.seconds).to_string(), WARM_UP.to_string());
    let client = [
        bench.program,
        "udp",
        "send",
        "--to",
        DEVICE,
        "--rate",
        &rate,
        "--size",
        &payload,
        "--count",
        &count,
        "--warm-up",
        &warm_up,
        "--json",
        "--out",
    ];
    let mut client = cable.controller.command(repository, &client);
    client
        .arg(&run)
        .args(options)
        .args(bench.scheduling.our_controller());
    process::output(&mut client)?;
    let csv = bench.folder.join("rtt.csv");
    let mut export = repository.command(bench.program);
    export.arg("export").arg(&run);
    export.args(["--series", "rtt", "--format", "csv", "--out"]);
    process::output(export.arg(&csv))?;
    table::of_ours(&read(&csv)?)
}

/// The device receives in the same way as its controller.
fn device_options(controller: &[&str]) -> &'static [&'static str] {
    if controller.contains(&"--busy-poll") {
        &["--busy-poll"]
    } else if controller.contains(&"--rehearse") {
        &["--anticipate"]
    } else {
        &[]
    }
}

fn read(log: &Path) -> Result<String> {
    std::fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))
}
