//! `kadenz msg bridge`: carries the messages of one bus to another.

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::msg::bridge::{Bridge, BridgeError, BridgeNotice, BridgeOptions, Carried};
use kadenz::msg::bus::Bus;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use schemars::JsonSchema;
use serde::Serialize;

use super::bus;
use crate::commands::interrupt;
use crate::options::Span;
use crate::output::{self, Column, Outcome, Reply};

/// Carry the messages of one bus to another.
///
/// Carries the messages of one bus to another, with `--both` also back: between networks, or between transports. It
/// never carries its own messages back: it recognises them by its own sender, and on a bus that does not distinguish
/// senders, by their content. It refuses two buses that are one, or that another bridge joins already; it detects
/// that by a message on the channel KADENZ_BRIDGE. Messages that the other bus does not accept are counted and
/// reported at the end.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg bridge udpm://239.255.76.67:7667 tcpq://10.0.0.5:7700 --both     two networks
  kadenz msg bridge udpm://239.255.76.67:7667 udpm://239.255.76.68:7668 --channel 'ARM_.*'
  kadenz msg bridge shm://robot udpm://239.255.76.67:7667?ttl=1 --rate-limit 10Hz   for a laptop
  kadenz msg bridge file://run.lcm udpm://239.255.76.67:7667                  a log, played

Exit codes: 0 every message was carried or held back, 1 some were refused or missed, 2 the command failed.")]
pub(crate) struct Options {
    /// The source bus
    #[arg(value_name = "URL_A")]
    from: String,

    /// The target bus
    #[arg(value_name = "URL_B")]
    to: String,

    /// Only channels of this name, or that this regular expression matches whole
    #[arg(long = "channel", value_name = "PATTERN", default_value = ".*")]
    channels: String,

    /// Carry messages of the second bus to the first, too
    #[arg(long)]
    both: bool,

    /// The most messages per second of each channel; the bridge drops further ones and counts them as held
    /// back
    #[arg(long, value_name = "RATE")]
    rate_limit: Option<Rate>,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Bridged {
    version: Version<1>,
    ways: Vec<Carried>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    let (from, to) = (&options.from, &options.to);
    anyhow::ensure!(from != to, "both URLs are {from}; a bridge joins two buses");
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let buses = [open(from)?, open(to)?];
    let bridge = Bridge::join(&buses[0], &buses[1], &options.bridge(&stop));
    let mut bridge = bridge.map_err(unusable)?;
    let sources = if options.both {
        &buses[..]
    } else {
        &buses[..1]
    };
    sources.iter().for_each(bus::note_refused);
    output::note(&format!(
        "carrying {} from {from} to {to}{}; Ctrl-C ends it",
        options.channels,
        if options.both { " and back" } else { "" }
    ));
    let ways = bridge.carry(&|notice| {
        output::note(&match notice {
            BridgeNotice::Silence(url) => bus::words_of_silence(url, &options.channels),
            BridgeNotice::Trouble(error) => bus::words_of_trouble(&error),
            BridgeNotice::Refused(error) => format!("{error}; more are counted only"),
        });
    });
    let lossy = ways.iter().any(Carried::is_lossy);
    let version = Version;
    Ok(Reply::from(Bridged { version, ways }).with(Outcome::missed_if(lossy)))
}

fn open(url: &str) -> anyhow::Result<Bus> {
    let provider = bus::open(url).with_context(|| format!("cannot bridge {url}"))?;
    Ok(Bus::over(url, provider))
}

fn unusable(error: BridgeError) -> anyhow::Error {
    match error {
        BridgeError::Subscribe { source, .. } => bus::unusable(source),
        error => error.into(),
    }
}

impl Options {
    fn bridge(&self, stop: &Stop) -> BridgeOptions {
        BridgeOptions {
            channels: self.channels.clone(),
            both: self.both,
            interval: self.rate_limit.map(|rate| rate.interval().as_duration()),
            duration: self.duration.map(|span| span.0),
            stop: stop.flag(),
        }
    }
}

const COLUMNS: [Column<Carried>; 9] = [
    ("From", |it| it.from.clone()),
    ("To", |it| it.to.clone()),
    ("Received", |it| numbers::thousands(it.received)),
    ("Carried", |it| numbers::thousands(it.carried)),
    ("Bytes", |it| numbers::thousands(it.bytes)),
    ("Own", |it| numbers::thousands(it.own)),
    ("Held back", |it| numbers::thousands(it.held_back)),
    ("Refused", |it| numbers::thousands(it.refused)),
    ("Missed", |it| numbers::thousands(it.missed)),
];

impl Answer for Bridged {
    fn document(&self) -> Document {
        Document::new().table(output::table(&COLUMNS, 2, &self.ways))
    }
}
