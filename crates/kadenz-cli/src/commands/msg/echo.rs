//! `kadenz msg echo`: what is said on a channel.

use clap::Args;
use kadenz::msg::bus::Raw;
use kadenz::msg::types::{Path, Value};
use serde::Serialize;

use super::bus::{BusOption, Came, Ears};
use super::types::{Known, TypesOption};
use super::{shown, stamp};
use crate::options::Span;
use crate::output::{self, Outcome};

/// What is said on a channel?
///
/// Prints each message with its time, sender and number: decoded where its type is known, else as
/// hexadecimal bytes. With `--json` a line for each message.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg echo POSE --types lcmtypes                      every message, a member a line
  kadenz msg echo 'ARM_(LEFT|RIGHT)' --types lcmtypes --json  a JSON object a line, for scripts
  kadenz msg echo POSE --types lcmtypes --field position[2]  one number a line, for a plot
  kadenz msg echo '.*' --raw --count 1 --duration 5s         is anything said at all?

Exit codes: 0 as asked, 1 fewer messages than `--count` came in the time of `--duration`, 2 cannot.")]
pub(crate) struct Options {
    /// Channel, or a regular expression that matches whole names
    #[arg(value_name = "CHANNEL")]
    channel: String,

    #[command(flatten)]
    bus: BusOption,

    #[command(flatten)]
    types: TypesOption,

    /// End after so many messages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End after that time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Only this member of each message, as pose.position[2]
    #[arg(long, value_name = "PATH", conflicts_with = "raw")]
    field: Option<Path>,

    /// Do not decode: all bytes of the payload in hexadecimal
    #[arg(long)]
    raw: bool,
}

/// A message as JSON.
#[derive(Serialize)]
struct MessageOutput<'a> {
    channel: &'a str,
    /// When it came, in nanoseconds since 1970.
    wall_ns: i64,
    /// The same on the clock that is never set.
    monotonic_ns: u64,
    sender: String,
    sequence: Option<u32>,
    r#type: Option<String>,
    fingerprint: Option<String>,
    bytes: usize,
    message: Option<serde_json::Value>,
    field: Option<serde_json::Value>,
    hex: Option<String>,
    /// Why it is not decoded, and what helps.
    hint: Option<String>,
}

/// What is to be said of a message.
enum Said {
    Whole(Value),
    Field(Value),
    Undecoded(Option<String>),
}

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut known = options.types.read()?;
    let mut ears = Ears::open(&options.bus, &options.channel, options.duration)?;
    if !options.raw {
        known = options.types.read_and_ask(&ears.bus)?;
    }
    let url = options.bus.url();
    let mut left = options.count;
    let mut hinted = false;
    while left != Some(0) {
        let raw = match ears.next(None) {
            Came::Message(raw) => raw,
            Came::Nothing => continue,
            Came::End => break,
        };
        if known.is_about_types(raw.channel) {
            continue;
        }
        known.ask_and_wait(raw.fingerprint());
        let said = options.say(&raw, &known);
        if options.field.is_some()
            && let Said::Undecoded(Some(hint)) = &said
            && !output::is_json()
        {
            // Where numbers go to a plot, what is no number goes aside, once.
            if !std::mem::replace(&mut hinted, true) {
                let name = output::name(raw.channel.as_str());
                output::note(&format!("{name}: {hint}"));
            }
            continue;
        }
        left = left.map(|left| left - 1);
        let is_read = match output::is_json() {
            true => output::json_line(&told(&raw, said, &known, &url))?,
            false => output::tell(&words(&raw, &said, &known, options, &url)),
        };
        if !is_read {
            break;
        }
    }
    ears.tell_missing();
    Ok(match left {
        Some(left) if left > 0 && !ears.stop.requested() => Outcome::Missed,
        _ => Outcome::Kept,
    })
}

impl Options {
    fn say(&self, raw: &Raw<'_>, known: &Known) -> Said {
        if self.raw {
            return Said::Undecoded(None);
        }
        let value = match known.decode(raw.payload) {
            Ok(value) => value,
            Err(hint) => return Said::Undecoded(Some(hint)),
        };
        match &self.field {
            None => Said::Whole(value),
            Some(path) => match value.at(path) {
                Ok(value) => Said::Field(value),
                Err(error) => Said::Undecoded(Some(error.to_string())),
            },
        }
    }
}

fn told<'a>(raw: &'a Raw<'_>, said: Said, known: &Known, url: &str) -> MessageOutput<'a> {
    let came = stamp::came(&raw.delivery);
    let fingerprint = raw.fingerprint();
    let mut output = MessageOutput {
        channel: raw.channel.as_str(),
        wall_ns: stamp::wall_ns(came),
        monotonic_ns: came.as_ns(),
        sender: stamp::sender(url, raw.delivery.sender),
        sequence: raw.delivery.sequence.map(|it| it.number),
        r#type: known.name(fingerprint),
        fingerprint: fingerprint.map(|it| it.to_string()),
        bytes: raw.payload.len(),
        message: None,
        field: None,
        hex: None,
        hint: None,
    };
    match said {
        Said::Whole(value) => output.message = Some(value.to_json()),
        Said::Field(value) => output.field = Some(value.to_json()),
        Said::Undecoded(hint) => {
            output.hex = Some(shown::hex(raw.payload, true));
            output.hint = hint;
        }
    }
    output
}

fn words(raw: &Raw<'_>, said: &Said, known: &Known, options: &Options, url: &str) -> String {
    if let Said::Field(value) = said {
        return match value {
            Value::Struct(_) => shown::lines(value, 0).trim_end().to_owned(),
            _ => shown::word(value),
        };
    }
    let number = raw
        .delivery
        .sequence
        .map(|it| format!(" no. {}", it.number));
    let mut text = format!(
        "{}  {}  {}  {} B  from {}{}\n",
        output::name(raw.channel.as_str()),
        stamp::time_of_day(stamp::wall_ns(stamp::came(&raw.delivery))),
        known.called(raw.fingerprint()),
        raw.payload.len(),
        stamp::sender(url, raw.delivery.sender),
        number.unwrap_or_default(),
    );
    match said {
        Said::Whole(value) | Said::Field(value) => text.push_str(&shown::lines(value, 2)),
        Said::Undecoded(hint) => {
            text.push_str("  ");
            text.push_str(&shown::hex(raw.payload, options.raw));
            text.push('\n');
            if let Some(hint) = hint {
                text.push_str(&format!("  ({hint})\n"));
            }
        }
    }
    text.trim_end().to_owned()
}
