//! `kadenz msg hz`: how often, and how evenly.

use std::time::Duration;

use clap::Args;
use kadenz::msg::loss::Counted;
use kadenz::msg::watch::{ChannelFigures, WatchOptions, Watcher};
use kadenz_report::numbers;
use kadenz_rt::beat::Rate;
use kadenz_rt::clock::{self, MonotonicTime};
use serde::Serialize;

use super::bus::{BusOption, Came, Ears};
use super::table::{self, ChannelOutput};
use super::types::{Known, TypesOption};
use crate::options::Span;
use crate::output::{self, Outcome};

/// How often do messages come, how evenly, and how many are lost?
///
/// Prints a line a second for each channel, of the messages within the last seconds, and at the end a
/// table of all. Jitter is how far intervals are from the expected one: the rate that is stated, or
/// their median. Times are the kernel's stamps where the bus has them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg hz FEEDBACK                                     until Ctrl-C
  kadenz msg hz 'ARM_.*' --duration 10s --json               for a script, every channel that matches
  kadenz msg hz FEEDBACK --expect 1kHz --duration 1min       jitter against a stated rate
  kadenz msg hz FEEDBACK --at-least 990Hz --duration 10s     exit code 1 where it is slower

Exit codes: 0 kept, 1 slower than `--at-least` or lost more than `--lost`, 2 cannot.")]
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

    /// Of how far back each line is
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    window: Span,

    /// The rate that jitter is held against [default: the median interval]
    #[arg(long, value_name = "RATE")]
    expect: Option<Rate>,

    /// The limit: a channel that is slower, or silent, is a miss
    #[arg(long, value_name = "RATE")]
    at_least: Option<Rate>,

    /// The limit: a channel of which more messages are lost is a miss
    #[arg(long, value_name = "N")]
    lost: Option<u64>,
}

/// Messages of a channel that the table at the end rests on, the last ones.
const MAX_MESSAGES: usize = 200_000;
/// Channels that are told apart.
const MAX_CHANNELS: usize = 200;

#[derive(Serialize)]
struct HzOutput {
    version: u32,
    url: String,
    for_s: f64,
    channels: Vec<ChannelOutput>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut ears = Ears::open(&options.bus, &options.channel, options.duration)?;
    let mut known = options.types.read_and_ask(&ears.bus)?;
    let mut recent = options.watcher(options.window.0, 4096);
    let mut whole = options.watcher(Duration::MAX, MAX_MESSAGES);
    let began = clock::now();
    let mut due = began + Duration::from_secs(1);
    let ended = loop {
        match ears.next(Some(due)) {
            Came::Message(raw) if known.is_about_types(raw.channel) => {}
            Came::Message(raw) => {
                known.ask(raw.fingerprint());
                recent.hear(&(&raw).into());
                whole.hear(&(&raw).into());
            }
            Came::Nothing => {}
            Came::End => break clock::now(),
        }
        let now = clock::now();
        if now >= due {
            due = due.max(now) + Duration::from_secs(1);
            let losses = ears.bus.losses();
            if !output::is_json() && !lines(&recent.figures_with(now, &losses), now) {
                break now;
            }
        }
    };
    let losses = ears.bus.losses();
    let figures = whole.figures_with(ended, &losses);
    options.tell(&figures, &known, ended.since(began) as f64 / 1e9, &losses)?;
    ears.tell_missing();
    Ok(options.judge(&figures))
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

    fn tell(
        &self,
        figures: &[ChannelFigures],
        known: &Known,
        for_s: f64,
        losses: &[Counted],
    ) -> anyhow::Result<()> {
        let url = self.bus.url();
        if output::is_json() {
            let channels = figures.iter().map(|it| ChannelOutput::of(it, known, &url));
            return output::json(&HzOutput {
                version: 1,
                channels: channels.collect(),
                url,
                for_s,
            });
        }
        if figures.is_empty() {
            output::say(&format!("nothing was heard on {}", self.channel));
            return Ok(());
        }
        let head = [
            "Channel",
            "Type",
            "Messages",
            "Hz",
            "1/Hz",
            "Jitter p50",
            "p99",
            "max",
            "Bandwidth",
            "Lost",
        ];
        let rows = figures.iter().map(|it| row(it, known)).collect();
        output::say(&format!("\n{}", table::table(&head, 2, rows)));
        if let Some(words) = table::loss_across_channels(losses, &url) {
            output::say(&words);
        }
        Ok(())
    }

    fn judge(&self, figures: &[ChannelFigures]) -> Outcome {
        let slower = |it: &ChannelFigures, least: Rate| {
            it.pace.is_none_or(|pace| pace.rate_hz < least.as_hz_f64())
        };
        let too_slow = self
            .at_least
            .is_some_and(|least| figures.is_empty() || figures.iter().any(|it| slower(it, least)));
        let too_lossy = self.lost.is_some_and(|most| {
            figures
                .iter()
                .any(|it| it.loss.is_some_and(|loss| loss.lost > most))
        });
        match too_slow || too_lossy {
            true => Outcome::Missed,
            false => Outcome::Kept,
        }
    }
}

/// A line for each channel; whether somebody still reads.
fn lines(figures: &[ChannelFigures], now: MonotonicTime) -> bool {
    figures.iter().all(|it| {
        let name = output::name(it.channel.as_str());
        let Some(pace) = it.pace else {
            return output::tell(&format!("{name}  {} message", it.messages));
        };
        let silent = now.since(it.last_at) as f64;
        let overdue = match silent > 3e9 / pace.rate_hz && silent > 1e9 {
            true => format!("  silent for {}", numbers::span(silent)),
            false => String::new(),
        };
        let jitter = pace.jitter;
        output::tell(&format!(
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

fn row(figures: &ChannelFigures, known: &Known) -> Vec<String> {
    let pace = figures.pace;
    let jitter = pace.and_then(|it| it.jitter);
    vec![
        figures.channel.as_str().to_owned(),
        known.called(figures.fingerprint),
        numbers::thousands(figures.messages),
        table::hertz(pace.map(|it| it.rate_hz)),
        table::interval(pace),
        table::span(jitter.and_then(|it| it.p50_ns)),
        table::span(jitter.and_then(|it| it.p99_ns)),
        table::span(jitter.map(|it| it.max_ns)),
        table::bandwidth(pace.map(|it| it.bytes_per_s)),
        table::lost(figures.loss),
    ]
}
