//! `kadenz msg pub`: publishes messages on a channel.

use std::io::BufRead as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::msg::channel::Channel;
use kadenz::msg::provider::{Discovery, Outlet, Provider};
use kadenz::msg::service::types_on_wire::TypeAnnouncer;
use kadenz::msg::types::Types;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::beat::{Beat, Rate};
use kadenz::rt::clock::{self, MonotonicTime};
use kadenz::rt::sleep::{self, Sleeper, SleeperKind, SleeperOptions};
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::{self, BusOption};
use super::shown;
use super::types::TypesOption;
use crate::commands::interrupt;
use crate::options::Span;
use crate::output::{self, Outcome, Reply};

/// Publish a message on a channel, once or on every beat.
///
/// The message is written as JSON and encoded by its description; a missing member is an error. With a rate each
/// message is sent at its own time, start + n * interval: a stall delays messages and drops none. The command answers
/// questions for the type, so that other programs decode the messages without files; for that, it stays up to 0.3 s
/// after a single message.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg pub GOAL robot.goal_t '{\"x\": 1.5, \"y\": -2}' --types lcmtypes
  kadenz msg pub GOAL robot.goal_t '{\"x\": 1.5, \"y\": -2}' --types lcmtypes --rate 10Hz --count 100
  jq -c .goals[] plan.json | kadenz msg pub GOAL robot.goal_t - --types lcmtypes --rate 1Hz
  kadenz msg pub STOP --hex 0123456789abcdef                       bytes, as they go over the wire
  kadenz msg pub GOAL robot.goal_t --types lcmtypes --default      a template of a message")]
pub(crate) struct Options {
    /// Channel to publish to
    #[arg(value_name = "CHANNEL")]
    channel: Channel,

    /// Full name of the type, as package.type
    #[arg(value_name = "TYPE", required_unless_present = "hex")]
    r#type: Option<String>,

    /// The message as JSON; `-` reads one from each line of standard input
    #[arg(value_name = "JSON", required_unless_present_any = ["hex", "default"])]
    json_text: Option<String>,

    #[command(flatten)]
    bus: BusOption,

    #[command(flatten)]
    types: TypesOption,

    /// The whole payload in hexadecimal instead
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["type", "json_text", "default"])]
    hex: Option<String>,

    /// Answer no requests for the type, and do not stay for them
    #[arg(long, alias = "no-tell")]
    no_announce_types: bool,

    /// Print the JSON of a message of zeros as a template, and publish nothing
    #[arg(long, conflicts_with = "json_text")]
    default: bool,

    /// Publish on every beat [default: once]
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,

    /// How many messages [default: one, with a rate until Ctrl-C, from standard input all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Time for peers to find each other before the first message [default: 0s over multicast, else
    /// 200ms]
    #[arg(long, value_name = "SPAN")]
    settle: Option<Span>,
}

/// Counts of published messages.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(super) struct PublishCounts {
    version: Version<1>,
    published: u64,
    refused: u64,
    bytes: u64,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    if options.default {
        return print_default(options).map(Reply::from);
    }
    let mut source = PayloadSource::open(options)?;
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let url = options.bus.url();
    let provider = bus::open(&url)?;
    let mut outlet = provider.outlet().context("the bus cannot be used")?;
    let mut announcer = options.announcer(&url, &provider, &source);
    stop.wait(options.settle(provider.guarantees().discovery));
    let mut pacer = options.rate.map(Pacer::new).transpose()?;
    let mut published = PublishCounts::default();
    let most = options.count.unwrap_or(source.most(options.rate.is_some()));
    while published.published + published.refused < most && !stop.requested() {
        let Some(payload) = source.next()? else {
            break;
        };
        if pacer.as_mut().is_some_and(|pacer| !pacer.wait(&stop)) {
            break;
        }
        publish(&mut *outlet, &options.channel, payload, &mut published);
        if let Some(announcer) = &mut announcer {
            announcer.published();
        }
    }
    if let Some(announcer) = announcer {
        announcer.finish(&stop.flag());
    }
    let outcome = Outcome::Kept.or_incomplete(published.refused > 0);
    Ok(Reply::as_note(published).with(outcome))
}

impl Options {
    fn announcer(
        &self,
        url: &str,
        provider: &Arc<dyn Provider>,
        source: &PayloadSource,
    ) -> Option<TypeAnnouncer> {
        let (types, name) = source
            .described
            .as_ref()
            .filter(|_| !self.no_announce_types)?;
        let mut announcer = bus::type_announcer(url, provider)?;
        if let Err(error) = announcer.add(types, name) {
            bus::note_unannounced(&error);
        }
        Some(announcer)
    }

    fn settle(&self, discovery: Discovery) -> Duration {
        let peers_must_meet = !matches!(
            discovery,
            Discovery::Multicast | Discovery::Process | Discovery::File
        );
        let default = Duration::from_millis(if peers_must_meet { 200 } else { 0 });
        self.settle.map_or(default, |span| span.0)
    }

    fn type_name(&self, types: &Types) -> anyhow::Result<String> {
        let name = self.r#type.clone().unwrap_or_default();
        if types.get(&name).is_some() {
            return Ok(name);
        }
        let names: Vec<String> = types.iter().map(|it| it.name().to_string()).collect();
        let short = |it: &&String| it.rsplit('.').next() == name.rsplit('.').next();
        match names.iter().find(short) {
            Some(other) => anyhow::bail!("no description of {name}; there is {other}"),
            None => anyhow::bail!(
                "no description of {name}; `--types` describes {}",
                first_of(&names)
            ),
        }
    }
}

/// The first few of many names.
fn first_of(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = names.len().saturating_sub(SHOWN);
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn print_default(options: &Options) -> anyhow::Result<Outcome> {
    let known = options.types.need()?;
    let name = options.type_name(known.types())?;
    let value = known.types().default_value(&name)?;
    output::say(&serde_json::to_string(&value.to_json())?);
    Ok(Outcome::Kept)
}

/// Source of the payloads.
struct PayloadSource {
    /// The given types, and the name of the published one.
    described: Option<(Types, String)>,
    /// Number of lines read from standard input; `None` where the same message is repeated.
    line: Option<u64>,
    payload: Vec<u8>,
}

impl PayloadSource {
    fn open(options: &Options) -> anyhow::Result<Self> {
        if let Some(hex) = &options.hex {
            return Ok(Self {
                described: None,
                line: None,
                payload: shown::from_hex(hex)?,
            });
        }
        let known = options.types.need()?;
        let name = options.type_name(known.types())?;
        let text = options.json_text.as_deref().unwrap_or_default();
        let (line, payload) = match text {
            "-" => (Some(0), Vec::new()),
            _ => (None, encode(known.types(), &name, text)?),
        };
        Ok(Self {
            described: Some((known.types().clone(), name)),
            line,
            payload,
        })
    }

    fn most(&self, has_rate: bool) -> u64 {
        if self.line.is_none() && !has_rate {
            1
        } else {
            u64::MAX
        }
    }

    fn next(&mut self) -> anyhow::Result<Option<&[u8]>> {
        if let (Some(line), Some((types, name))) = (&mut self.line, &self.described) {
            let Some(text) = next_line(line)? else {
                return Ok(None);
            };
            let encoded = encode(types, name, &text);
            self.payload = encoded.with_context(|| format!("line {line} of standard input"))?;
        }
        Ok(Some(&self.payload))
    }
}

/// The next line of standard input that is not empty; `line` counts all lines.
fn next_line(line: &mut u64) -> anyhow::Result<Option<String>> {
    let mut text = String::new();
    while text.trim().is_empty() {
        text.clear();
        *line += 1;
        let read = std::io::stdin().lock().read_line(&mut text);
        if read.context("standard input cannot be read")? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(text))
}

fn encode(types: &Types, name: &str, text: &str) -> anyhow::Result<Vec<u8>> {
    let json: serde_json::Value =
        serde_json::from_str(text).context("the message is not valid JSON; see `--default`")?;
    let value = types.value_from_json(name, &json);
    let value = value.with_context(|| format!("the message is not a valid {name}"))?;
    Ok(types.encode(&value)?)
}

/// Waits for each beat.
struct Pacer {
    rate: Rate,
    /// The beat begins with the first message.
    beat: Option<Beat>,
    sleeper: Box<dyn Sleeper>,
}

/// Interval at which a stop is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Pacer {
    fn new(rate: Rate) -> anyhow::Result<Self> {
        let sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default())?;
        Ok(Self {
            rate,
            beat: None,
            sleeper,
        })
    }

    /// Waits until the next message is due; returns whether there is one.
    fn wait(&mut self, stop: &Stop) -> bool {
        let due = match &mut self.beat {
            Some(beat) => beat.next(),
            None => {
                let now = clock::now();
                self.beat = Some(Beat::at(now, self.rate.interval()));
                now
            }
        };
        self.sleep_until(due, stop)
    }

    fn sleep_until(&mut self, due: MonotonicTime, stop: &Stop) -> bool {
        loop {
            if stop.requested() {
                return false;
            }
            let now = clock::now();
            if due.remaining(now) <= POLL_INTERVAL {
                self.sleeper.sleep_until(due);
                return true;
            }
            self.sleeper.sleep_until(now + POLL_INTERVAL);
        }
    }
}

fn publish(
    outlet: &mut dyn Outlet,
    channel: &Channel,
    payload: &[u8],
    published: &mut PublishCounts,
) {
    match outlet.publish(channel, payload) {
        Ok(()) => {
            published.published += 1;
            published.bytes += payload.len() as u64;
        }
        Err(error) => {
            if published.refused == 0 {
                output::note(&format!("{error}"));
            }
            published.refused += 1;
        }
    }
}

impl Answer for PublishCounts {
    fn document(&self) -> Document {
        match (self.published, self.refused) {
            (1, 0) => Document::new(),
            (published, 0) => format!("{published} published").into(),
            (published, refused) => format!("{published} published, {refused} refused").into(),
        }
    }
}
