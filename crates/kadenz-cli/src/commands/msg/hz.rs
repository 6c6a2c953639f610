//! `kadenz msg hz`: rate and jitter of messages.

use std::time::Duration;

use clap::Args;
use kadenz::msg::loss::SenderTally;
use kadenz::msg::watch::{ChannelFigures, WatchOptions, Watcher};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use kadenz::rt::clock::{self, MonotonicTime};
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::{BusEvent, BusOption, BusReceiver};
use super::table::{
    self, BANDWIDTH, CHANNEL, HeardChannel, INTERVAL, JITTER_MAX, JITTER_P50, JITTER_P99, LOST,
    MESSAGES, RATE, TYPE,
};
use super::types::TypesOption;
use crate::options::{Span, waiting};
use crate::output::{self, Outcome, Reply};

/// Measure how often messages come, how evenly, and how many are lost
///
/// Prints a line a second for each channel, over the last seconds, and at the end a table of all messages. Jitter is
/// the deviation of intervals from the expected one: that of the stated rate, or their median. Times are the kernel's
/// stamps where the bus has them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg hz FEEDBACK                                     until Ctrl-C
  kadenz msg hz 'ARM_.*' --duration 10s --json               for a script, every channel that matches
  kadenz msg hz FEEDBACK --expect 1kHz --duration 1min       jitter against a stated rate
  kadenz msg hz FEEDBACK --at-least 990Hz --duration 10s     exit code 1 where it is slower

Exit codes: 0 kept, 1 slower than `--at-least` or lost more than `--lost`, 2 the command failed.")]
pub(crate) struct Options {
    /// Channel, or a regular expression that matches whole names
    #[arg(value_name = "CHANNEL")]
    channel: String,

    #[command(flatten)]
    bus: BusOption,

    #[command(flatten)]
    types: TypesOption,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Length of the period that each line covers
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    window: Span,

    /// The rate that jitter refers to [default: the median interval]
    #[arg(long, value_name = "RATE")]
    expect: Option<Rate>,

    /// The limit: a channel with a lower rate, or without messages, is a miss
    #[arg(long, value_name = "RATE")]
    at_least: Option<Rate>,

    /// The limit: more lost messages of a channel, or of a sender that numbers several channels together, are a miss
    #[arg(long, value_name = "N")]
    lost: Option<u64>,
}

/// Latest messages of a channel that the table at the end covers.
const MAX_MESSAGES: usize = 200_000;
/// The most channels that are counted one by one.
const MAX_CHANNELS: usize = 200;

#[derive(JsonSchema, Serialize)]
pub(super) struct Rates {
    version: Version<1>,
    url: String,
    for_s: f64,
    channels: Vec<HeardChannel>,
    /// The requested channel, for people.
    #[serde(skip)]
    asked: String,
    /// Loss that no single channel can be assigned to, for people.
    #[serde(skip)]
    across_channels: Option<String>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut receiver = BusReceiver::open(&options.bus, &options.channel, options.duration)?;
    let mut known = options.types.read_and_request(&receiver.bus)?;
    let mut recent = options.watcher(options.window.0, 4096);
    let mut whole = options.watcher(Duration::MAX, MAX_MESSAGES);
    let began = clock::now();
    let mut due = began + Duration::from_secs(1);
    let mut listen = || loop {
        match receiver.next(Some(due)) {
            BusEvent::Message(raw) if known.is_about_types(raw.channel) => {}
            BusEvent::Message(raw) => {
                known.request(raw.fingerprint());
                recent.add(&(&raw).into());
                whole.add(&(&raw).into());
            }
            BusEvent::Nothing => {}
            BusEvent::End => break clock::now(),
        }
        let now = clock::now();
        if now >= due {
            due = due.max(now) + Duration::from_secs(1);
            let losses = receiver.bus.losses();
            if !lines(&recent.figures_with(now, &losses), now) {
                break now;
            }
        }
    };
    // People see a line a second while messages arrive.
    let ended = match output::is_for_people() {
        true => listen(),
        false => waiting(&format!("listening on {}", options.bus.url()), listen),
    };
    let losses = receiver.bus.losses();
    let figures = whole.figures_with(ended, &losses);
    let url = options.bus.url();
    let rates = Rates {
        version: Version,
        for_s: ended.since(began) as f64 / 1e9,
        channels: HeardChannel::all(&figures, &known, &url),
        asked: options.channel.clone(),
        across_channels: table::loss_across_channels(&losses, &url),
        url,
    };
    if !rates.channels.is_empty() {
        let _ = output::live("");
    }
    let across = rates.across_channels.clone();
    let outcome = options.judge(&rates.channels, &losses);
    let reply = Reply::from(rates).with(outcome);
    let reply = reply.notes(receiver.notes_of_missing());
    Ok(reply.notes(across.filter(|_| output::is_json())))
}

impl Options {
    fn watcher(&self, window: Duration, most_messages: usize) -> Watcher {
        Watcher::new(WatchOptions {
            window,
            most_messages,
            most_channels: MAX_CHANNELS,
            expected: self.expect.map(|rate| rate.interval().as_duration()),
            ..WatchOptions::default()
        })
    }

    fn judge(&self, channels: &[HeardChannel], losses: &[SenderTally]) -> Outcome {
        let too_slow = self.at_least.is_some_and(|least| {
            let slower = |it: &HeardChannel| it.rate_hz.is_none_or(|it| it < least.as_hz_f64());
            channels.is_empty() || channels.iter().any(slower)
        });
        let too_lossy = self.lost.is_some_and(|most| {
            let of_channels = channels.iter().filter_map(|it| it.lost);
            // A sender that numbers several channels together: a loss may be one of these channels'.
            let of_several = losses.iter().filter(|it| it.channel.is_none());
            let mut lost = of_channels.chain(of_several.map(|it| it.tally.lost));
            lost.any(|lost| lost > most)
        });
        Outcome::missed_if(too_slow || too_lossy)
    }
}

impl Answer for Rates {
    fn document(&self) -> Document {
        if self.channels.is_empty() {
            return format!("no messages received on {}", self.asked).into();
        }
        let columns = [
            CHANNEL, TYPE, MESSAGES, RATE, INTERVAL, JITTER_P50, JITTER_P99, JITTER_MAX, BANDWIDTH,
            LOST,
        ];
        let table = table::of_channels(&columns, &self.channels);
        Document::new()
            .table(table)
            .sentences(&self.across_channels)
    }
}

/// Prints a line for each channel; returns whether a reader still takes the output.
fn lines(figures: &[ChannelFigures], now: MonotonicTime) -> bool {
    figures.iter().all(|it| {
        let name = output::name(it.channel.as_str());
        let Some(pace) = it.pace else {
            return output::live(&format!("{name}  {} message", it.messages));
        };
        let silent = now.since(it.last_at) as f64;
        let overdue = match silent > 3e9 / pace.rate_hz && silent > 1e9 {
            true => format!("  silent for {}", numbers::span(silent)),
            false => String::new(),
        };
        let jitter = pace.jitter;
        output::live(&format!(
            "{name}  {} Hz  jitter p50 {}  p99 {}  max {}  {}  lost {}{overdue}",
            table::hertz(Some(pace.rate_hz)),
            table::span(jitter.and_then(|it| it.p50_ns)),
            table::span(jitter.and_then(|it| it.p99_ns)),
            table::span(jitter.map(|it| it.max_ns)),
            table::bandwidth(Some(pace.bytes_per_s)),
            table::lost(it.loss),
        ))
    })
}
