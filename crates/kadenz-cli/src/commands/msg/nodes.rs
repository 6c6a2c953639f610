//! `kadenz msg nodes`: lists running programs.

use std::time::Duration;

use clap::Args;
use kadenz::msg::service::heartbeat::{Event, HeartbeatOptions, Liveness, Node};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::clock;
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::BusOption;
use crate::commands::interrupt;
use crate::options::Span;
use crate::output::{self, Reply};

/// Show which programs run, are late, are dead, or have restarted
///
/// Receives the heartbeats of programs, prints each event as it happens, and at the end the state of each program. A
/// program without heartbeats does not appear.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg nodes                 programs with a heartbeat within three seconds
  kadenz msg nodes --duration 1h   events within an hour; Ctrl-C ends it
  kadenz msg nodes --json")]
pub(crate) struct Options {
    #[command(flatten)]
    bus: BusOption,

    /// How long to listen
    #[arg(long, value_name = "SPAN", default_value = "3s")]
    duration: Span,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct LiveNodes {
    version: Version<1>,
    nodes: Vec<LiveNode>,
    /// The bus, for people.
    #[serde(skip)]
    url: String,
}

#[derive(JsonSchema, Serialize)]
struct LiveNode {
    name: String,
    #[schemars(extend("enum" = ["alive", "late", "dead"]))]
    life: &'static str,
    state: String,
    interval_ms: f64,
    missed: u64,
    restarts: u64,
    /// Whether two programs have this name.
    doubled: bool,
    /// Start of the program, since 1970.
    started_us: i64,
    #[serde(skip)]
    interval: Duration,
}

/// Interval at which a stop is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let bus = options.bus.open()?;
    let mut nodes = bus.watch_nodes(&HeartbeatOptions::default())?;
    let until = clock::now() + options.duration.0;
    while !stop.requested() && clock::now() < until {
        let wait = until.remaining(clock::now()).min(POLL_INTERVAL);
        if let Some(happened) = nodes.next_event(wait)? {
            let name = output::name(&happened.name);
            output::note(&format!("{name} {}", words(happened.event)));
        }
    }
    let untracked = nodes.watch().untracked_beats();
    let untracked = (untracked > 0 && !output::is_json())
        .then(|| format!("{untracked} beats of further nodes"));
    let live = LiveNodes {
        version: Version,
        nodes: nodes.watch().nodes().map(LiveNode::of).collect(),
        url: options.bus.url(),
    };
    Ok(Reply::from(live).notes(untracked))
}

fn words(event: Event) -> &'static str {
    match event {
        Event::Appeared => "beats",
        Event::Late => "is late",
        Event::Died => "is dead",
        Event::Recovered => "beats again",
        Event::Restarted => "was started again",
        Event::Doubled => "is two programs of one name",
    }
}

fn life(life: Liveness) -> &'static str {
    match life {
        Liveness::Alive => "alive",
        Liveness::Late => "late",
        Liveness::Dead => "dead",
    }
}

impl Answer for LiveNodes {
    fn document(&self) -> Document {
        if self.nodes.is_empty() {
            return format!("no heartbeats received on {}", self.url).into();
        }
        Document::new().sentences(self.nodes.iter().map(LiveNode::line))
    }
}

impl LiveNode {
    fn line(&self) -> String {
        let mut line = format!(
            "{}  {}, every {:?}, {} missed, {} restarts",
            output::name(&self.name),
            self.life,
            self.interval,
            self.missed,
            self.restarts,
        );
        if self.doubled {
            line.push_str(", two programs of one name");
        }
        if !self.state.is_empty() {
            line.push_str(&format!(": {}", output::name(&self.state)));
        }
        line
    }

    fn of(node: &Node) -> Self {
        Self {
            name: node.name.clone(),
            life: life(node.life),
            state: node.state.clone(),
            interval_ms: node.interval.as_secs_f64() * 1e3,
            missed: node.missed,
            restarts: node.restarts,
            doubled: node.doubled,
            started_us: node.started_us,
            interval: node.interval,
        }
    }
}
