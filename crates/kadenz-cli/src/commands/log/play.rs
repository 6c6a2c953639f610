//! `kadenz log play`.

use std::path::PathBuf;

use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::msg::log::play::{PlayOptions, Player, SleepClock, Timing as _, play};
use kadenz::msg::playing::{LogPublisher, PublishedMessages};
use kadenz::record::histogram::SignedHistogram;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use super::LimitOptions;
use super::copying;
use super::cut::SelectionOptions;
use crate::commands::interrupt;
use crate::commands::msg::bus;
use crate::options::Span;
use crate::output::{self, Outcome, Reply};

/// Play a log onto a bus, at its recorded times.
///
/// Each message has a due time of its own, so that delays do not add up; at the end the command prints how late
/// messages were.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz log play drive.mcap                            onto LCM's default bus
  kadenz log play drive.mcap --speed 0.25               four times slower
  kadenz log play drive.mcap --speed 0 --url memq://          as fast as it goes
  kadenz log play drive.mcap --from 90s --until 100s --loop
  kadenz log play drive.mcap --channel 'CAMERA.*' --invert
  kadenz log play drive.mcap --jitter 2ms --loss 0.01 --seed 7    a bad network, the same each time
  kadenz log play drive.mcap --step                     Enter plays the next message, q ends

Exit code 1: the part that was read is damaged; what could be read is played. Exit code 2: the bus refused messages.")]
pub(crate) struct Options {
    /// The log, or a folder of ROS 2
    #[arg(value_name = "LOG")]
    log: PathBuf,

    #[command(flatten)]
    bus: bus::BusOptionOrUrl,

    /// How much faster than recorded; 0 for as fast as possible
    #[arg(short, long, value_name = "FACTOR", default_value_t = 1.0)]
    speed: f64,

    #[command(flatten)]
    part: SelectionOptions,

    /// Repeat from the start at the end, until Ctrl-C
    #[arg(long = "loop")]
    looped: bool,

    /// Do not answer requests for message types, where the log describes them
    #[arg(long, alias = "no-tell")]
    no_announce_types: bool,

    /// Play the next message at each Enter
    #[arg(long, conflicts_with_all = ["speed", "looped", "jitter"])]
    step: bool,

    /// Delay messages by up to this, uniformly
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "0ns",
        help_heading = "A bad network"
    )]
    jitter: Span,

    /// Drop this share of the messages
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.0,
        help_heading = "A bad network"
    )]
    loss: f64,

    /// The same seed gives the same jitter and loss
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        help_heading = "A bad network"
    )]
    seed: u64,

    #[command(flatten)]
    limits: LimitOptions,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct PlayedLog {
    version: Version<1>,
    messages: u64,
    /// Messages that the bus did not accept.
    refused: u64,
    /// Messages dropped on purpose, by --loss.
    left_out: u64,
    lateness_ns: PlayedLateness,
}

/// Lateness of the messages that the bus accepted, in nanoseconds; null where there are too few messages.
#[derive(JsonSchema, Serialize)]
struct PlayedLateness {
    count: u64,
    p50: Option<i64>,
    p99: Option<i64>,
    max: Option<i64>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    anyhow::ensure!(
        options.speed.is_finite() && options.speed >= 0.0,
        "--speed is a factor: 1, 0.25, or 0 for as fast as possible"
    );
    anyhow::ensure!(
        (0.0..=1.0).contains(&options.loss),
        "--loss is a share between 0 and 1; one message in a hundred is 0.01"
    );
    let mut reader = options.limits.open(&options.log)?;
    let how = PlayOptions {
        speed: options.speed,
        looped: options.looped,
        jitter: options.jitter.0,
        loss: options.loss,
        seed: options.seed,
        ..options.part.of(reader.as_mut())?
    };
    let outline = reader.outline();
    let mut player = Player::new(reader, how)?;
    let url = options.bus.url();
    let provider = bus::open(&url)?;
    let outlet = provider.outlet()?;
    let stop = interrupt::stop_on_interrupt()?;
    let announcer = (!options.no_announce_types).then(|| bus::type_announcer(&url, &provider));
    let mut publisher = LogPublisher::new(outlet, announcer.flatten(), bus::note_unannounced);
    publisher.announce(&outline);
    let mut lateness = SignedHistogram::new();
    let mut has_any = false;
    if options.step {
        has_any = step(&mut player, &mut publisher, &stop)?;
    } else {
        output::note(&format!("playing onto {url}; Ctrl-C ends it"));
        let mut clock = SleepClock::open()?;
        // As fast as possible no message is late.
        let is_timed = options.speed > 0.0;
        let mut stopped = || stop.requested();
        play(&mut player, &mut clock, &mut stopped, &mut |played| {
            if publisher.publish(played.entry) && is_timed {
                lateness.record(played.lateness_ns);
            }
        })?;
    }
    let published = publisher.finish(&stop.flag());
    let played = PlayedLog::of(&published, player.lost(), &lateness);
    let damage = player.damage();
    let notes = played.notes(&published, has_any);
    let outcome = Outcome::missed_if(!damage.is_none()).or_incomplete(published.refused > 0);
    let reply = Reply::from(played).notes(notes);
    Ok(reply.notes(copying::note_of_damage(damage)).with(outcome))
}

/// Plays a message at each line of standard input; returns whether there was a message.
fn step(
    player: &mut Player,
    publisher: &mut LogPublisher<'_>,
    stop: &Stop,
) -> anyhow::Result<bool> {
    let now = SleepClock::open()?.now();
    let mut has_any = false;
    while let Some(due) = player.next_due(now)? {
        let Some(entry) = player.take() else {
            break;
        };
        has_any = true;
        let at = numbers::span(due.since(now) as f64);
        output::note(&format!(
            "{at}: {} ({}); Enter plays it, q ends",
            entry.channel.name,
            numbers::counted(entry.payload.len() as u64, "byte")
        ));
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line)?;
        if read == 0 {
            output::note("standard input ended; the rest is not played");
        }
        if read == 0 || line.trim() == "q" || stop.requested() {
            break;
        }
        publisher.publish(entry);
    }
    Ok(has_any)
}

impl PlayedLog {
    fn of(published: &PublishedMessages, left_out: u64, late: &SignedHistogram) -> Self {
        // A percentile needs samples beyond it: ten, or it is the maximum under another name.
        let at = |quantile: f64, least: u64| {
            (late.count() >= least).then(|| late.value_at_quantile(quantile))
        };
        Self {
            version: Version,
            messages: published.messages,
            refused: published.refused,
            left_out,
            lateness_ns: PlayedLateness {
                count: late.count(),
                p50: at(0.5, 20),
                p99: at(0.99, 1000),
                max: (!late.is_empty()).then(|| late.max()),
            },
        }
    }

    /// Notes on what was not played, and why.
    fn notes(&self, published: &PublishedMessages, has_any: bool) -> Vec<String> {
        let mut all = Vec::new();
        if !has_any && self.messages + self.refused + self.left_out == 0 {
            all.push(
                "the log, or the requested part of it, holds no message; `kadenz log info` shows what there is"
                    .to_owned(),
            );
        }
        if self.left_out > 0 {
            all.push(format!("{} left out on purpose", self.left_out));
        }
        let messages = numbers::counted(self.refused, "message");
        let refused = published.reason.iter();
        all.extend(refused.map(|it| format!("{messages} refused, the first because: {it}")));
        all
    }
}

impl Answer for PlayedLog {
    fn document(&self) -> Document {
        let late = &self.lateness_ns;
        let named = [("p50", late.p50), ("p99", late.p99), ("max", late.max)];
        let shown = named.into_iter().filter_map(|(name, ns)| {
            let span = numbers::span(ns? as f64);
            Some(format!("{name} {span}"))
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let played = format!("{} played", numbers::counted(self.messages, "message"));
        match shown.is_empty() {
            true => played.into(),
            false => format!("{played}; lateness {shown}").into(),
        }
    }
}
