//! `kadenz load`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use indicatif::ProgressBar;
use kadenz::lab::load::{
    self, ForeignLoad, ForeignProgram, LoadKind, LoadOptions, LoadRates, Rate, RunningLoad,
};
use kadenz::lab::stop::Stop;
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use kadenz::rt::clock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::options::{Size, Span, StdinOption, bar, complete};
use crate::output::{self, Outcome, Reply};

/// Keep the machine busy with real work while something else is measured.
///
/// Each kind is a workload with bounded memory and disk space that counts its work: cpu (busy threads), disk (one
/// large file, written again and again), processes (hackbench's groups of senders and receivers, and short-lived
/// processes), network (a flood of datagrams on the loopback), files (the metadata of a whole file tree), memory
/// (copies and page faults), timer (short sleeps and wake-ups from CPU to CPU). heavy is disk, processes, network and
/// files together: the stress of [Yoon2009] (docs/bibliography.md). It runs at ordinary priority, until its
/// time has passed or Ctrl-C ends it, and leaves nothing behind, however it ends.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz load heavy --duration 10min               the stress of [Yoon2009] for a measurement
  kadenz load cpu memory --duration 60s            two kinds at once
  kadenz load disk --fsync --dir /data --size 4GiB  on the disk that the robot logs to
  kadenz load processes --groups 20                the `hackbench 20` of [Yoon2009]
  kadenz load cpu disk --with stress-ng --duration 60s  the same kinds, made by stress-ng

Ctrl-C ends it as well, and prints what was measured until then. What each kind does, and the \
published line it stands for, is in docs/load.md.")]
pub(crate) struct Options {
    /// Kinds of load
    #[arg(required = true, value_name = "KIND", value_parser = complete::<LoadKind>(LoadKind::ALL))]
    kinds: Vec<LoadKind>,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Threads of each kind except processes [default: one per CPU; one for disk, network and files]
    #[arg(long, value_name = "N", help_heading = "How much")]
    threads: Option<usize>,

    /// Groups of 20 senders and 20 receivers, for processes [default: five per CPU, at most 20]
    #[arg(long, value_name = "N", help_heading = "How much")]
    groups: Option<usize>,

    /// Folder for the disk load's file [default: the first of /var/tmp, the folder for temporary files and this
    /// folder that is not in memory]
    #[arg(long, value_name = "DIR", help_heading = "How much")]
    dir: Option<PathBuf>,

    /// Size of the disk load's file [default: 1024 blocks of 1024000 bytes, or half of the free space]
    #[arg(long, value_name = "SIZE", help_heading = "How much")]
    size: Option<Size>,

    /// Flush the file to the disk each time it is full, for disk
    #[arg(long, help_heading = "How much")]
    fsync: bool,

    /// Tree of the files load, whose metadata it reads
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/",
        help_heading = "How much"
    )]
    tree: PathBuf,

    /// Let another program make the load, and report its own figures: stress-ng, or hackbench for processes
    #[arg(long, value_name = "PROGRAM", value_parser = complete::<ForeignProgram>(ForeignProgram::ALL))]
    with: Option<ForeignProgram>,

    #[command(flatten)]
    ends: StdinOption,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let stop = options.ends.stop()?;
    let duration = options.duration.map(|span| span.0);
    anyhow::ensure!(
        duration.is_none_or(|duration| !duration.is_zero()),
        "`--duration 0s` is not a valid load; write a span like 60s"
    );
    let mut work = Work::start(options.with, &options.kinds, &options.load())?;
    until_the_end(&mut work, duration, &stop);
    Ok(reply(work.stop()?))
}

impl Options {
    fn load(&self) -> LoadOptions {
        LoadOptions {
            threads: self.threads,
            groups: self.groups,
            dir: self.dir.clone(),
            size: self.size.map(|size| size.0),
            fsync: self.fsync,
            tree: Some(self.tree.clone()),
        }
    }
}

/// Load that continues until it is dropped.
enum Work {
    /// Threads of this program.
    Own(RunningLoad),
    /// Another program.
    Foreign(ForeignLoad),
}

impl Work {
    fn start(
        with: Option<ForeignProgram>,
        kinds: &[LoadKind],
        options: &LoadOptions,
    ) -> anyhow::Result<Self> {
        Ok(match with {
            None => Self::Own(load::start(kinds, options)?),
            Some(program) => Self::Foreign(ForeignLoad::start(program, kinds, options)?),
        })
    }

    /// The requested loads, a line each.
    fn asked(&self) -> String {
        let line = |kind: LoadKind, asked: &str| format!("{kind}: {asked}");
        let lines: Vec<String> = match self {
            Self::Own(load) => {
                let loads = load.rates().into_iter();
                loads.map(|load| line(load.kind, &load.asked)).collect()
            }
            Self::Foreign(load) => load
                .asked()
                .map(|(kind, asked)| line(kind, asked))
                .collect(),
        };
        lines.join("\n")
    }

    /// The work measured so far; another program reports only at its end.
    fn rates(&self) -> Vec<LoadRates> {
        match self {
            Self::Own(load) => load.rates(),
            Self::Foreign(_) => Vec::new(),
        }
    }

    /// Whether it has ended by itself.
    fn has_ended(&mut self) -> bool {
        match self {
            Self::Own(_) => false,
            Self::Foreign(load) => load.has_ended(),
        }
    }

    fn stop(self) -> anyhow::Result<Vec<LoadRates>> {
        match self {
            Self::Own(load) => Ok(load.stop()),
            Self::Foreign(load) => load.stop().context("cannot read what it measured"),
        }
    }
}

/// Interval at which a stop is polled.
const TICK: Duration = Duration::from_millis(50);
/// Seconds between two lines where there is no terminal.
const LINE_EVERY_S: u64 = 10;

/// Waits for the end, and meanwhile shows progress.
fn until_the_end(work: &mut Work, duration: Option<Duration>, stop: &Stop) {
    output::note(&work.asked());
    let start = clock::now();
    let end = duration.map(|duration| start + duration);
    let mut line = LoadProgress::new();
    while !stop.requested() && !work.has_ended() {
        let now = clock::now();
        let left = end.map_or(TICK, |end| end.remaining(now));
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(TICK));
        let elapsed_ns = u64::try_from(clock::now().since(start)).unwrap_or(0);
        line.show(elapsed_ns / 1_000_000_000, work);
    }
}

/// One line that is renewed each second on a terminal; else a line now and then.
struct LoadProgress {
    bar: ProgressBar,
    every_s: u64,
    shown_s: u64,
}

impl LoadProgress {
    fn new() -> Self {
        let terminal = output::draws_progress();
        Self {
            bar: bar(terminal, None, "{spinner} {elapsed}  {wide_msg}"),
            every_s: if terminal { 1 } else { LINE_EVERY_S },
            shown_s: 0,
        }
    }

    fn show(&mut self, elapsed_s: u64, work: &Work) {
        if elapsed_s < self.shown_s + self.every_s {
            return;
        }
        self.shown_s = elapsed_s;
        let words: Vec<String> = work.rates().iter().map(latest).collect();
        let words = words.join("; ");
        if self.bar.is_hidden() {
            output::note(&format!("{elapsed_s} s: {words}"));
        } else {
            self.bar.set_message(words);
            self.bar.tick();
        }
    }
}

/// `disk 612 MB/s written`.
fn latest(load: &LoadRates) -> String {
    let rates = load.rates.iter();
    let rates: Vec<String> = rates
        .map(|rate| format!("{} {} {}", number(rate.last), rate.unit, rate.name))
        .collect();
    format!("{} {}", load.kind, rates.join(", "))
}

/// Each load as requested and as measured; docs/load.md explains it.
#[derive(Serialize, JsonSchema)]
pub(super) struct LoadReport {
    /// A reader must refuse an unknown version.
    version: Version<1>,
    /// The loads, in the order of the request.
    loads: Vec<LoadRates>,
}

/// The report; the outcome is whether every load worked throughout.
fn reply(loads: Vec<LoadRates>) -> Reply {
    let trouble = |load: &LoadRates| Some(format!("{}: {}", load.kind, load.trouble.as_ref()?));
    let troubles: Vec<String> = loads.iter().filter_map(trouble).collect();
    let outcome = Outcome::Kept.or_incomplete(!troubles.is_empty());
    let version = Version;
    Reply::from(LoadReport { version, loads })
        .notes(troubles)
        .with(outcome)
}

impl Answer for LoadReport {
    /// The requested loads, a line each, and the measured work as a table.
    fn document(&self) -> Document {
        let loads = self.loads.iter();
        let asked = loads.map(|load| format!("{}: {}", load.kind, load.asked));
        let rows = self.loads.iter().flat_map(|load| {
            let rates = load.rates.iter();
            rates.map(|rate| row(load, rate))
        });
        let head = ["load", "measured", "unit", "min", "mean", "max", "seconds"];
        let table = Table::new(&head, 3, rows.collect());
        Document::new().sentences(asked).table(table)
    }
}

fn row(load: &LoadRates, rate: &Rate) -> Vec<String> {
    let unknown = || "-".to_owned();
    vec![
        load.kind.to_string(),
        rate.name.clone(),
        rate.unit.clone(),
        rate.min.map_or_else(unknown, number),
        number(rate.mean),
        rate.max.map_or_else(unknown, number),
        rate.seconds.to_string(),
    ]
}

/// Three significant digits, with separated thousands: `0.98`, `612`, `48,213`.
fn number(value: f64) -> String {
    if value >= 999.5 {
        numbers::thousands(value.round() as u64)
    } else {
        numbers::three_digits(value)
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_as_long_as_they_say_something() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(1.984), "1.98");
        assert_eq!(number(612.4), "612");
        assert_eq!(number(999.7), "1,000");
        assert_eq!(number(1_048_576.2), "1,048,576");
    }
}
