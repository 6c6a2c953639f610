//! `kadenz msg spy`: all messages of a bus, live.

mod fields;
mod screen;
mod view;

use std::io::IsTerminal as _;
use std::time::Duration;

use clap::Args;
use kadenz::msg::bus::Raw;
use kadenz::msg::loss::SenderTally;
use kadenz::msg::service::types_on_wire::KnownTypes;
use kadenz::msg::watch::{Throttle, WatchOptions, Watcher};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::clock::{self, MonotonicTime};
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::{BusEvent, BusOption, BusReceiver};
use super::shown;
use super::table::{self, HeardChannel};
use super::types::{self, TypesOption};
use crate::options::Span;
use crate::output::{self, Outcome, Printed};
use fields::Fields;
use screen::Screen;
use view::{Action, View};

/// Show all messages of a bus, live.
///
/// Shows a row for each channel: type, messages, rate, jitter against the median interval, bandwidth, loss by the
/// senders' own numbers, and a graph of the last seconds. On a terminal the arrow keys choose a channel and Enter
/// shows its fields; elsewhere it prints a table a second.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg spy                                 LCM's default bus, or that of LCM_DEFAULT_URL
  kadenz msg spy --types lcmtypes                with names of types, and fields behind Enter
  kadenz msg spy --once --duration 3s            one table, for a report
  kadenz msg spy --json | jq .channels[0]        a JSON object each second, for a script

Keys: up and down choose, Enter shows fields, Escape goes back, q quits.")]
pub(crate) struct Options {
    #[command(flatten)]
    bus: BusOption,

    #[command(flatten)]
    types: TypesOption,

    /// Only channels of this name, or that this regular expression matches whole
    #[arg(long = "channel", value_name = "PATTERN", default_value = ".*")]
    channels: String,

    /// How long [default: until q or Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Length of the period that rates and jitter cover
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    window: Span,

    /// Print one table at the end; after 3s unless `--duration` says otherwise
    #[arg(long)]
    once: bool,
}

/// How long `--once` listens without `--duration`.
const ONCE: Span = Span(Duration::from_secs(3));
/// Interval between two screens on a terminal.
const FRAME: Duration = Duration::from_millis(250);
/// Interval at which the keys are polled.
const KEYS: Duration = Duration::from_millis(30);
/// Longer messages are decoded only ten times a second, to check that they can be.
const LONG: usize = 64 << 10;

/// Statistics of a bus, a line a second, or one object with --once.
#[derive(JsonSchema, Serialize)]
pub(super) struct BusStatistics {
    version: Version<1>,
    /// Time, since 1970.
    wall_ns: i64,
    url: String,
    channels: Vec<HeardChannel>,
    /// Loss that no single channel can be assigned to, for people.
    #[serde(skip)]
    across_channels: Option<String>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let duration = match (options.once, options.duration) {
        (true, None) => Some(ONCE),
        (_, given) => given,
    };
    let receiver = BusReceiver::open(&options.bus, &options.channels, duration)?;
    let known = options.types.read_and_request(&receiver.bus)?;
    let watcher = Watcher::new(WatchOptions {
        window: options.window.0,
        ..WatchOptions::default()
    });
    let url = options.bus.url();
    let heard = Heard::new(known, watcher);
    let mut spy = Spy {
        receiver,
        url,
        heard,
    };
    let terminal = output::is_shown_now() && std::io::stdin().is_terminal();
    match terminal && !options.once && output::is_for_people() {
        true => spy.live()?,
        false => spy.plainly(options)?,
    }
    spy.receiver
        .notes_of_missing()
        .iter()
        .for_each(|it| output::note(it));
    Ok(Outcome::Kept)
}

impl Answer for BusStatistics {
    fn document(&self) -> Document {
        let table = table::of_channels(&view::COLUMNS, &self.channels);
        Document::new()
            .table(table)
            .sentences(&self.across_channels)
    }
}

struct Spy {
    receiver: BusReceiver,
    url: String,
    heard: Heard,
}

/// Statistics of all channels.
struct Heard {
    known: KnownTypes,
    watcher: Watcher,
    long: Throttle,
}

impl Heard {
    fn new(known: KnownTypes, watcher: Watcher) -> Self {
        let long = Throttle::new(Duration::from_millis(100), 1000);
        Self {
            known,
            watcher,
            long,
        }
    }

    /// Counts a message, and takes in its fields where its channel is on the screen.
    fn add(&mut self, raw: &Raw<'_>, fields: Option<&mut Fields>) {
        let Self {
            known,
            watcher,
            long,
        } = self;
        if known.is_about_types(raw.channel) {
            return;
        }
        watcher.add(&raw.into());
        known.request(raw.fingerprint());
        let is_message = raw.payload.len() >= 8;
        // Without any known type, a message that is not decoded is not an error.
        if let Some(fields) = fields.filter(|it| it.is_of(raw.channel)) {
            let decoded = types::decoded(known, raw.payload);
            if !is_message || known.any() && decoded.is_err() {
                watcher.undecodable(raw.channel);
            }
            fields.note(raw, decoded);
            return;
        }
        let is_looked_at = raw.payload.len() <= LONG || long.passes(raw.channel, clock::now());
        let fails = || known.any() && is_looked_at && known.decode(raw.payload).is_err();
        if !is_message || fails() {
            watcher.undecodable(raw.channel);
        }
    }
}

impl Spy {
    /// Prints a table a second, or one at the end.
    fn plainly(&mut self, options: &Options) -> anyhow::Result<()> {
        let mut due = clock::now() + Duration::from_secs(1);
        loop {
            match self.receiver.next(Some(due)) {
                BusEvent::Message(raw) => self.heard.add(&raw, None),
                BusEvent::Nothing => {}
                BusEvent::End => break,
            }
            let now = clock::now();
            if now < due {
                continue;
            }
            due = due.max(now) + Duration::from_secs(1);
            if !options.once && !self.print(now)? {
                return Ok(());
            }
        }
        if options.once {
            let _ = self.print(clock::now())?;
        }
        Ok(())
    }

    /// Prints a table; returns whether a reader still takes the output.
    fn print(&self, now: MonotonicTime) -> anyhow::Result<bool> {
        let losses = self.receiver.bus.losses();
        let printed = output::next_answer(&BusStatistics {
            version: Version,
            wall_ns: shown::wall_ns(now),
            url: self.url.clone(),
            channels: self.channels(&losses, now),
            across_channels: table::loss_across_channels(&losses, &self.url),
        })?;
        Ok(printed != Printed::Unread && output::live(""))
    }

    fn channels(&self, losses: &[SenderTally], now: MonotonicTime) -> Vec<HeardChannel> {
        let Heard { known, watcher, .. } = &self.heard;
        let figures = watcher.figures_with(now, losses);
        let mut channels = HeardChannel::all(&figures, known, &self.url);
        for it in &mut channels {
            it.sparkline = view::last_of(watcher.sparkline(it.channel.as_str(), now).as_ref());
        }
        channels
    }

    /// Shows the screen on a terminal until the user quits.
    fn live(&mut self) -> anyhow::Result<()> {
        let mut screen = Screen::open()?;
        let mut view = View::default();
        let mut fields: Option<Fields> = None;
        // The channels at the time of the pause.
        let mut channels = Vec::new();
        let (mut frame, mut keys) = (clock::now(), clock::now());
        loop {
            let before = frame.min(keys);
            match self.receiver.next(Some(before)) {
                BusEvent::Message(raw) => {
                    let fields = fields.as_mut().filter(|_| !view.is_paused());
                    self.heard.add(&raw, fields);
                }
                BusEvent::Nothing => {}
                BusEvent::End => return Ok(()),
            }
            let now = clock::now();
            if now >= keys {
                keys = now + KEYS;
                while let Some(key) = screen.key()? {
                    frame = now;
                    if view.press(key) == Action::Quit {
                        return Ok(());
                    }
                }
                let looked_at = view.looked_at();
                if fields.as_ref().map(Fields::channel) != looked_at {
                    fields = looked_at.map(Fields::new);
                }
            }
            if now >= frame {
                frame = now + FRAME;
                let losses = self.receiver.bus.losses();
                if !view.is_paused() {
                    channels = self.channels(&losses, now);
                }
                let shown = view.arrange(&mut channels);
                let across = table::loss_across_channels(&losses, &self.url);
                let lines = match &fields {
                    Some(fields) => view.draw_fields(fields, &self.url, screen.size()),
                    None => {
                        let head = format!("kadenz msg spy {}", self.url);
                        let text = view::table_of(shown, screen.size().0);
                        view.draw_table(shown, &text, &head, across, screen.size())
                    }
                };
                screen.draw(&lines)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kadenz::msg::arrival::MessageInfo;
    use kadenz::msg::bus::Delivery;
    use kadenz::msg::channel::Channel;

    use super::*;

    #[test]
    fn without_types_only_what_is_too_short_is_undecodable_also_where_fields_are_shown() {
        let (now, channel) = (MonotonicTime::from_ns(1), Channel::new("A").unwrap());
        let undecodable = |payload: &[u8], fields: Option<&mut Fields>| {
            let watcher = Watcher::new(WatchOptions::default());
            let mut heard = Heard::new(KnownTypes::default(), watcher);
            let delivery = Delivery {
                channel,
                info: MessageInfo::default(),
                dequeued: now,
                decoded: now,
            };
            let raw = Raw {
                channel,
                payload,
                delivery,
            };
            heard.add(&raw, fields);
            heard.watcher.figures(now)[0].undecodable
        };
        for (payload, count) in [(&[0; 16][..], 0), (&[0; 4][..], 1)] {
            assert_eq!(undecodable(payload, None), count);
            let mut fields = Fields::new(channel);
            assert_eq!(undecodable(payload, Some(&mut fields)), count);
        }
    }
}
