//! `kadenz testbed up`.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::lab::testbed::live::{Status, Testbed, address};
use kadenz::lab::testbed::topology::Topology;
use kadenz::record::run::model::EndedBy;
use kadenz::report::document::{Answer, Document};
use kadenz::rt::net::claim::{self, Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::{interrupt, outcome, testbed};
use crate::options::{Span, complete, folder_or_now};
use crate::output::{self, Outcome, Reply};

/// Build a testbed and keep it until Ctrl-C
///
/// Each host is a network namespace with one interface; a thread at FIFO 90 simulates all links and switches. The
/// hosts' programs start at FIFO 50. A run folder records the lateness of each frame against the topology's ideal:
/// the testbed's own error. However it ends, it leaves nothing behind.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo kadenz testbed up baseline              then, elsewhere: sudo kadenz testbed exec controller -- bash
  sudo kadenz testbed up forty-devices --detach
  sudo kadenz testbed up arm.toml --duration 10min --out arm")]
pub(crate) struct Options {
    /// A built-in topology (`kadenz testbed list`), or a file
    #[arg(value_name = "TOPOLOGY", value_parser = complete::<String>(testbed::built_in()), hide_possible_values = true)]
    topology: String,

    /// Return once the testbed runs; `kadenz testbed down` ends it
    #[arg(long)]
    detach: bool,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Run folder [default: kadenz-testbed-<TIME> in this folder]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
}

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Result of a testbed, at its end.
#[derive(JsonSchema, Serialize)]
pub(crate) struct EndedTestbed {
    #[serde(flatten)]
    status: Status,
    /// Path of the run folder.
    run: PathBuf,
}

impl Answer for EndedTestbed {
    fn document(&self) -> Document {
        Document::new().sentences(super::standing::lines(&self.status))
    }
}

/// A running testbed of another process.
#[derive(JsonSchema, Serialize)]
pub(crate) struct DetachedTestbed {
    #[serde(flatten)]
    testbed: Record,
    /// The run folder, for people.
    #[serde(skip)]
    run: PathBuf,
}

impl Answer for DetachedTestbed {
    fn document(&self) -> Document {
        let Record { topology, pid, .. } = &self.testbed;
        let stands =
            format!("{topology} stands (process {pid}); `sudo kadenz testbed down` ends it");
        Document::from(stands).sentence(format!("run: {}", self.run.display()))
    }
}

pub(in super::super) fn run(options: &Options) -> anyhow::Result<Reply> {
    let (text, topology) = testbed::topology_with_text(&options.topology)?;
    let out = folder_or_now(options.out.as_deref(), "testbed");
    if options.detach {
        return detach(options, &out);
    }
    let stop = interrupt::stop_on_interrupt()?;
    let testbed = super::build(&topology, &text, &out)?;
    output::note(&words(&topology));
    let ended_by = keep(&testbed, options.duration, &stop);
    let (_, status) = testbed.end(ended_by)?;
    super::keep_status(&out, &status)?;
    let run = out.clone();
    let reply = Reply::from(EndedTestbed { status, run });
    Ok(outcome::with_notes_of_run(reply, &out))
}

/// Waits for the end, and meanwhile publishes the testbed's status.
fn keep(testbed: &Testbed, duration: Option<Span>, stop: &Stop) -> EndedBy {
    let mut elapsed = Duration::ZERO;
    let mut troubles = 0;
    while testbed.stands() && !stop.requested() {
        if duration.is_some_and(|duration| elapsed >= duration.0) {
            return EndedBy::Finished;
        }
        super::note_troubles(testbed, &mut troubles);
        if let Err(error) = testbed.publish_status() {
            output::note(&format!("`kadenz testbed status` gets no status: {error}"));
        }
        std::thread::sleep(POLL_INTERVAL);
        elapsed += POLL_INTERVAL;
    }
    EndedBy::Interrupted
}

fn words(topology: &Topology) -> String {
    let hosts = topology.hosts.iter().enumerate();
    let lines: Vec<String> = hosts
        .map(|(at, host)| format!("  {:<16}{}", host.name, address(topology, at)))
        .collect();
    let first = topology.hosts.first().map_or("", |host| host.name.as_str());
    format!(
        "{} stands:\n{}\nsudo kadenz testbed exec {first} -- PROGRAM enters it; Ctrl-C ends it",
        topology.name,
        lines.join("\n")
    )
}

/// Starts the same command without `--detach`, and returns once the testbed runs.
fn detach(options: &Options, out: &Path) -> anyhow::Result<Reply> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(["testbed", "up", "--json", "--out"]).arg(out);
    if let Some(duration) = options.duration {
        command.args(["--duration", &duration.to_string()]);
    }
    // A name may begin with a dash.
    command.arg("--").arg(&options.topology);
    // Ctrl-C at this terminal does not reach it.
    command.process_group(0);
    // Programs on hosts inherit its standard error, which must outlast this process: a pipe would not. The file has a
    // name, so that users can read it, and empty it where a program says much.
    let path = PathBuf::from(format!("{}.log", out.display()));
    let notes = File::options()
        .read(true)
        .append(true)
        .create(true)
        .open(&path);
    let notes = notes.with_context(|| format!("cannot write {}", path.display()))?;
    let earlier = notes.metadata()?.len();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(notes.try_clone()?)
        .spawn()
        .context("cannot start this program again")?;
    let testbed = loop {
        if let Some(status) = child.try_wait()? {
            return refused(notes, earlier, status.code()).map(Reply::from);
        }
        let found = claim::find().ok().flatten().and_then(|found| found.record);
        if let Some(record) = found.filter(|it| it.pid == child.id() && it.ready) {
            break record;
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    output::note(&format!(
        "messages of its programs go to {}",
        path.display()
    ));
    let detached = DetachedTestbed {
        testbed,
        run: out.to_owned(),
    };
    Ok(detached.into())
}

/// Handles a process that ended before its testbed ran, after it printed the reason.
fn refused(mut notes: File, earlier: u64, code: Option<i32>) -> anyhow::Result<Outcome> {
    let mut said = String::new();
    notes.seek(SeekFrom::Start(earlier))?;
    notes.read_to_string(&mut said)?;
    output::note(said.trim_end());
    anyhow::ensure!(code.is_some(), "the testbed was killed before it stood");
    Ok(Outcome::Incomplete)
}
