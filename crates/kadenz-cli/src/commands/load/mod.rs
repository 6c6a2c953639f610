//! `kadenz load`.

pub(super) mod report;
mod watch;
mod work;

use std::path::PathBuf;

use clap::Args;
use kadenz::lab::load::{ForeignProgram, LoadKind, LoadOptions};

use self::work::Work;
use crate::options::{Size, Span, StdinOption, complete};
use crate::output::Outcome;

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

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let stop = options.ends.stop()?;
    let duration = options.duration.map(|span| span.0);
    anyhow::ensure!(
        duration.is_none_or(|duration| !duration.is_zero()),
        "`--duration 0s` is not a valid load; write a span like 60s"
    );
    let mut work = Work::start(options.with, &options.kinds, &options.load())?;
    watch::until_the_end(&mut work, duration, &stop);
    report::print_result(&work.stop()?)
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
