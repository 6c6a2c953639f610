//! The contestants: server and client of each tool, with the same load.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::namespaces::{Cable, DEVICE, Server};
use super::table::{self, Percentiles};
use crate::files;
use crate::process;
use crate::repository::Repository;

/// Packets a second: Enner's rate.
pub(crate) const RATE: u32 = 100;
/// UDP payload: an actuator's feedback in Enner.
const BYTES: u32 = 200;
/// Packets that are left out of the result; sockperf leaves its first 400 ms out.
const WARM_UP: u32 = 40;

/// A client and a server that measure round trips, with their options.
pub(crate) struct RoundTripContestant {
    /// Its name in the table.
    pub(crate) name: &'static str,
    tool: Tool,
    /// The options of its client, with spaces between.
    options: &'static str,
    /// The options of its server, which receives in the same way.
    of_server: &'static str,
}

#[derive(Clone, Copy)]
enum Tool {
    Sockperf,
    Irtt,
    Kadenz,
}

const fn contestant(
    name: &'static str,
    tool: Tool,
    options: &'static str,
    of_server: &'static str,
) -> RoundTripContestant {
    RoundTripContestant {
        name,
        tool,
        options,
        of_server,
    }
}

/// All contestants, in the order of the first round.
pub(crate) const ALL: [RoundTripContestant; 9] = [
    // One thread that waits for the answer in the kernel and spins until the next beat.
    contestant("sockperf", Tool::Sockperf, "", ""),
    // As sockperf does it: one thread, spinning until the beat, no stamps.
    contestant(
        "closed like sockperf",
        Tool::Kadenz,
        "--loop closed --receive block --stamps off --sleeper spin --spin-margin 10ms",
        "",
    ),
    contestant("closed", Tool::Kadenz, "--loop closed", ""),
    // As `closed`, with all options.
    contestant(
        "closed rehearsed",
        Tool::Kadenz,
        "--loop closed --rehearse",
        "--anticipate",
    ),
    // Open loop, on Go's scheduler.
    contestant("irtt", Tool::Irtt, "", ""),
    // The defaults.
    contestant("open", Tool::Kadenz, "", ""),
    contestant("open rehearsed", Tool::Kadenz, "--rehearse", "--anticipate"),
    // As `sockperf`, but polls the socket, on both sides.
    contestant(
        "sockperf nonblocked",
        Tool::Sockperf,
        "--nonblocked",
        "--nonblocked",
    ),
    // As sockperf does it with `--nonblocked`.
    contestant(
        "busy",
        Tool::Kadenz,
        "--loop closed --stamps off --sleeper spin --spin-margin 10ms --busy-poll",
        "--busy-poll",
    ),
];

/// The scheduling of all contestants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheduling {
    /// As ordinary processes.
    Ordinary,
    /// `SCHED_FIFO`: controller 50, device 80.
    Fifo,
}

impl Scheduling {
    /// These words, where it is `SCHED_FIFO`.
    const fn when_fifo(self, words: &'static str) -> &'static str {
        match self {
            Self::Ordinary => "",
            Self::Fifo => words,
        }
    }
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
    /// Runs one measurement.
    pub(crate) fn measure(&self, bench: &RoundTripBench<'_>) -> Result<Percentiles> {
        let round_trips = match self.tool {
            Tool::Sockperf => self.sockperf(bench),
            Tool::Irtt => irtt(bench),
            Tool::Kadenz => self.ours(bench),
        };
        let percentiles = round_trips.and_then(Percentiles::of);
        percentiles.with_context(|| format!("{} could not measure", self.name))
    }

    fn sockperf(&self, bench: &RoundTripBench<'_>) -> Result<Vec<u64>> {
        let seconds = bench.seconds;
        let _server = bench.serve(&format!("sockperf server --ip {DEVICE} {}", self.of_server))?;
        let log = bench.folder.join("sockperf.csv");
        let mut client = bench.client(&format!(
            "sockperf ping-pong --ip {DEVICE} --msg-size {BYTES} --time {seconds} --mps={RATE} --full-rtt --full-log"
        ));
        process::output(client.arg(&log).args(words(self.options)))?;
        table::of_sockperf(&files::read(&log)?)
    }

    fn ours(&self, bench: &RoundTripBench<'_>) -> Result<Vec<u64>> {
        let &RoundTripBench {
            repository,
            cable,
            scheduling,
            ..
        } = bench;
        let policy = scheduling.when_fifo("--policy fifo:80");
        let listen = format!("udp echo --bind {DEVICE} {policy} {}", self.of_server);
        let server = [&[bench.program], &*words(&listen)].concat();
        let _server = cable.device.serve(repository, &server)?;
        let run = files::absent(&bench.folder.join("run"))?;
        let count = RATE * bench.seconds;
        let send = format!(
            "udp send --to {DEVICE} --rate {RATE}Hz --size {BYTES}B --count {count} --warm-up {WARM_UP} --json --out"
        );
        let client = [&[bench.program], &*words(&send)].concat();
        let mut client = cable.controller.command(repository, &client);
        client.arg(&run).args(words(self.options));
        process::output(client.args(words(scheduling.when_fifo("--policy fifo:50"))))?;
        let csv = bench.folder.join("rtt.csv");
        let mut export = repository.command(bench.program);
        export.arg("export").arg(&run);
        export.args(words("--series rtt --format csv --out"));
        process::output(export.arg(&csv))?;
        table::of_ours(&files::read(&csv)?)
    }
}

fn irtt(bench: &RoundTripBench<'_>) -> Result<Vec<u64>> {
    let _server = bench.serve(&format!("irtt server -i 0 -b {DEVICE}"))?;
    let log = bench.folder.join("irtt.json");
    let interval_us = 1_000_000 / RATE;
    let length_ms = (RATE * bench.seconds + WARM_UP) * 1000 / RATE;
    let mut client = bench.client(&format!(
        "irtt client -Q -i {interval_us}us -d {length_ms}ms -l {BYTES} -o"
    ));
    process::output(client.arg(&log).arg(DEVICE))?;
    table::of_irtt(&files::read(&log)?, WARM_UP as usize)
}

impl RoundTripBench<'_> {
    /// Starts another tool's server.
    fn serve(&self, command: &str) -> Result<Server> {
        let scheduled = self.scheduling.when_fifo("chrt --fifo 80");
        let words = [words(scheduled), words(command)].concat();
        self.cable.device.serve(self.repository, &words)
    }

    /// The command of another tool's client.
    fn client(&self, command: &str) -> Command {
        let scheduled = self.scheduling.when_fifo("chrt --fifo 50");
        let words = [words(scheduled), words(command)].concat();
        self.cable.controller.command(self.repository, &words)
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}
