//! `kadenz log play`.

use std::path::PathBuf;

use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::msg::channel::Channel;
use kadenz::msg::log::play::{PlayOptions, Played, Player, SleepClock, Timing as _, play};
use kadenz::msg::log::{Entry, LCM_ENCODING, LoggedChannel};
use kadenz::msg::provider::Outlet;
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
use crate::commands::msg::type_announcer::TypeAnnouncer;
use crate::options::Span;
use crate::output::{self, Outcome};

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

/// Lateness of messages, in nanoseconds; null where there are too few messages.
#[derive(JsonSchema, Serialize)]
struct PlayedLateness {
    count: u64,
    p50: Option<i64>,
    p99: Option<i64>,
    max: Option<i64>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        options.speed.is_finite() && options.speed >= 0.0,
        "--speed is a factor: 1, 0.25, or 0 for as fast as possible"
    );
    anyhow::ensure!(
        (0.0..=1.0).contains(&options.loss),
        "--loss is a share between 0 and 1; one message in a hundred is 0.01"
    );
    let mut reader = options.limits.open(&options.log)?;
    let play = PlayOptions {
        speed: options.speed,
        looped: options.looped,
        jitter: options.jitter.0,
        loss: options.loss,
        seed: options.seed,
        ..options.part.of(reader.as_mut())?
    };
    let outline = reader.outline();
    let mut player = Player::new(reader, play)?;
    let url = options.bus.url();
    let provider = bus::open(&url)?;
    let outlet = provider.outlet()?;
    let stop = interrupt::stop_on_interrupt()?;
    let announcer = (!options.no_announce_types).then(|| TypeAnnouncer::begin(&url, &provider));
    let mut stage = Stage::before(outlet, announcer.flatten());
    stage.is_timed = options.speed > 0.0;
    for known in &outline.channels {
        stage.announce_type(&known.channel);
    }
    if options.step {
        stage.step(&mut player, &stop)?;
    } else {
        output::note(&format!("playing onto {url}; Ctrl-C ends it"));
        let mut clock = SleepClock::open()?;
        let mut stopped = || stop.requested();
        play_all(&mut player, &mut clock, &mut stopped, &mut stage)?;
    }
    if let Some(announcer) = stage.announcer.take() {
        announcer.end(&stop);
    }
    stage.print_result(player.lost())?;
    let damage = player.damage();
    copying::note_damage(damage);
    Ok(Outcome::missed_if(!damage.is_none()).or_incomplete(stage.refused > 0))
}

fn play_all(
    player: &mut Player,
    clock: &mut SleepClock,
    stop: &mut dyn FnMut() -> bool,
    stage: &mut Stage,
) -> anyhow::Result<()> {
    play(player, clock, stop, &mut |played| stage.publish(&played))?;
    Ok(())
}

/// Publishes messages, and counts them.
struct Stage {
    outlet: Box<dyn Outlet>,
    announcer: Option<TypeAnnouncer>,
    /// Whether messages wait for their times; as fast as possible none is late.
    is_timed: bool,
    /// Whether the requested part of the log holds a message.
    has_any: bool,
    messages: u64,
    refused: u64,
    reason: Option<String>,
    lateness: SignedHistogram,
}

impl Stage {
    fn before(outlet: Box<dyn Outlet>, announcer: Option<TypeAnnouncer>) -> Self {
        Self {
            outlet,
            announcer,
            is_timed: true,
            has_any: false,
            messages: 0,
            refused: 0,
            reason: None,
            lateness: SignedHistogram::new(),
        }
    }

    fn publish(&mut self, played: &Played<'_>) {
        if self.is_timed {
            self.lateness.record(played.lateness_ns);
        }
        self.send(played.entry);
    }

    fn send(&mut self, entry: &Entry) {
        let name = &entry.channel.name;
        self.announce_type(&entry.channel);
        let result = match Channel::new(name) {
            Ok(channel) => self
                .outlet
                .publish(&channel, &entry.payload)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match result {
            Ok(()) => {
                self.messages += 1;
                if let Some(announcer) = &mut self.announcer {
                    announcer.published();
                }
            }
            Err(reason) => {
                self.refused += 1;
                self.reason.get_or_insert(reason);
            }
        }
    }

    /// Called before the first message of a type, so that a program that asks for it at once gets an answer.
    fn announce_type(&mut self, channel: &LoggedChannel) {
        let (Some(announcer), Some(schema)) = (&mut self.announcer, &channel.schema) else {
            return;
        };
        if schema.encoding == LCM_ENCODING && announcer.is_new(&schema.name) {
            announcer.add_text(&schema.data, &schema.name);
        }
    }

    /// Plays a message at each line of standard input.
    fn step(&mut self, player: &mut Player, stop: &Stop) -> anyhow::Result<()> {
        let now = SleepClock::open()?.now();
        while let Some(due) = player.next_due(now)? {
            let Some(entry) = player.take() else {
                break;
            };
            self.has_any = true;
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
            self.send(entry);
        }
        Ok(())
    }

    fn print_result(&self, left_out: u64) -> anyhow::Result<()> {
        let late = &self.lateness;
        // A percentile needs samples beyond it: ten, or it is the maximum under another name.
        let at = |quantile: f64, least: u64| {
            (late.count() >= least).then(|| late.value_at_quantile(quantile))
        };
        output::answer(&PlayedLog {
            version: Version,
            messages: self.messages,
            refused: self.refused,
            left_out,
            lateness_ns: PlayedLateness {
                count: late.count(),
                p50: at(0.5, 20),
                p99: at(0.99, 1000),
                max: (!late.is_empty()).then(|| late.max()),
            },
        })?;
        if !self.has_any && self.messages + self.refused + left_out == 0 {
            output::note(
                "the log, or the requested part of it, holds no message; `kadenz log info` shows what there is",
            );
        }
        if left_out > 0 {
            output::note(&format!("{left_out} left out on purpose"));
        }
        if let Some(reason) = &self.reason {
            output::note(&format!(
                "{} refused, the first because: {reason}",
                numbers::counted(self.refused, "message")
            ));
        }
        Ok(())
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
