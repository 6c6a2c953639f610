//! `kadenz msg echo`: prints the messages of a channel.

use clap::Args;
use kadenz::msg::bus::Raw;
use kadenz::msg::channel::{Channel, Pattern};
use kadenz::msg::message::Fingerprint;
use kadenz::msg::service::types_on_wire::KnownTypes;
use kadenz::msg::types::{Path, PathError, Value};
use kadenz::report::document::{Answer, Document};
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::{BusEvent, BusOption, BusReceiver};
use super::shown;
use super::types::{self, TypesOption};
use crate::options::Span;
use crate::output::{self, Outcome, Printed};

/// Print the messages of a channel.
///
/// Prints each message with its time, sender and number: decoded where its type is known, else as hexadecimal bytes.
/// With `--json` it prints a line for each message.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg echo POSE --types lcmtypes                      every message, one member per line
  kadenz msg echo 'ARM_(LEFT|RIGHT)' --types lcmtypes --json  one JSON object per line, for scripts
  kadenz msg echo POSE --types lcmtypes --field position[2]  one number per line, for a plot
  kadenz msg echo '.*' --raw --count 1 --duration 5s         is there any message at all?

Exit codes: 0 done, 1 fewer messages than `--count` came in the time of `--duration`, 2 the command failed.")]
pub(crate) struct Options {
    /// Channel, or a regular expression that matches whole names
    #[arg(value_name = "CHANNEL")]
    channel: String,

    #[command(flatten)]
    bus: BusOption,

    #[command(flatten)]
    types: TypesOption,

    /// End after this many messages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End after this time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Only this member of each message, as pose.position[2]
    #[arg(long, value_name = "PATH", conflicts_with = "raw")]
    field: Option<Path>,

    /// Do not decode: all bytes of the payload in hexadecimal
    #[arg(long)]
    raw: bool,
}

/// A message of a channel, one per line. Exactly one of message, field and hex is set; the others are null.
#[derive(JsonSchema, Serialize)]
pub(super) struct Echoed {
    channel: Channel,
    /// Time of reception, since 1970.
    wall_ns: i64,
    /// The same on the monotonic clock.
    monotonic_ns: u64,
    sender: String,
    /// Sequence number, on a bus that has numbers.
    sequence: Option<u32>,
    /// Full name of its type, where a description is available.
    r#type: Option<String>,
    fingerprint: Option<Fingerprint>,
    bytes: usize,
    /// The decoded message; null where it could not be decoded.
    message: Option<serde_json::Value>,
    /// The member of --field.
    field: Option<serde_json::Value>,
    hex: Option<String>,
    /// Why it is not decoded, and the remedy.
    hint: Option<String>,
    /// The same, for people.
    #[serde(skip)]
    said: EchoedMessage,
}

/// Printed form of a message.
enum EchoedMessage {
    Whole(Value),
    Field(Value),
    /// There is no value at the path in this message, with the reason.
    NoField(String),
    /// No message of its type has such a member, with the reason.
    NoMember(String),
    /// Its bytes, as requested.
    Bytes,
    Undecoded(String),
}

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut known = options.types.read()?;
    let mut receiver = BusReceiver::open(&options.bus, &options.channel, options.duration)?;
    if !options.raw {
        known = options.types.read_and_request(&receiver.bus)?;
    }
    let url = options.bus.url();
    let mut left = options.count;
    let mut hinted = false;
    let is_one_channel = Pattern::new(&options.channel)?.exactly().is_some();
    while left != Some(0) {
        let raw = match receiver.next(None) {
            BusEvent::Message(raw) => raw,
            BusEvent::Nothing => continue,
            BusEvent::End => break,
        };
        if known.is_about_types(raw.channel) {
            continue;
        }
        known.request_and_wait(raw.fingerprint());
        let echoed = Echoed::of(&raw, options.say(&raw, &known), &known, &url);
        let name = || output::name(echoed.channel.as_str());
        match &echoed.said {
            // Of several channels another may have the member.
            EchoedMessage::NoMember(hint) if is_one_channel => anyhow::bail!("{}: {hint}", name()),
            EchoedMessage::NoField(hint) | EchoedMessage::NoMember(hint)
                if !std::mem::replace(&mut hinted, true) =>
            {
                output::note(&format!("{}: {hint}", name()));
            }
            _ => {}
        }
        match output::next_answer(&echoed)? {
            Printed::Something => left = left.map(|left| left - 1),
            Printed::Nothing => {}
            Printed::Unread => break,
        }
    }
    receiver
        .notes_of_missing()
        .iter()
        .for_each(|it| output::note(it));
    let is_short = left.is_some_and(|left| left > 0);
    Ok(Outcome::missed_if(is_short && !receiver.stop.requested()))
}

impl Options {
    fn say(&self, raw: &Raw<'_>, known: &KnownTypes) -> EchoedMessage {
        if self.raw {
            return EchoedMessage::Bytes;
        }
        match (types::decoded(known, raw.payload), &self.field) {
            (Ok(value), None) => EchoedMessage::Whole(value),
            (Ok(value), Some(path)) => match value.at(path) {
                Ok(value) => EchoedMessage::Field(value),
                Err(error @ PathError::NoMember { .. }) => {
                    EchoedMessage::NoMember(error.to_string())
                }
                Err(error) => EchoedMessage::NoField(error.to_string()),
            },
            (Err(hint), None) => EchoedMessage::Undecoded(hint),
            (Err(hint), Some(_)) => EchoedMessage::NoField(hint),
        }
    }
}

impl Echoed {
    fn of(raw: &Raw<'_>, said: EchoedMessage, known: &KnownTypes, url: &str) -> Self {
        let came = shown::came(&raw.delivery);
        let fingerprint = raw.fingerprint();
        let (mut message, mut field, mut hint) = (None, None, None);
        match &said {
            EchoedMessage::Whole(value) => message = Some(value.to_json()),
            EchoedMessage::Field(value) => field = Some(value.to_json()),
            EchoedMessage::NoField(why)
            | EchoedMessage::NoMember(why)
            | EchoedMessage::Undecoded(why) => hint = Some(why.clone()),
            EchoedMessage::Bytes => {}
        }
        let is_decoded = message.is_some() || field.is_some();
        Self {
            channel: raw.channel,
            wall_ns: shown::wall_ns(came),
            monotonic_ns: came.as_ns(),
            sender: shown::sender(url, raw.delivery.info.source.sender),
            sequence: raw.delivery.info.source.sequence.map(|it| it.number),
            r#type: known.name(fingerprint),
            fingerprint,
            bytes: raw.payload.len(),
            message,
            field,
            hex: (!is_decoded).then(|| shown::hex(raw.payload)),
            hint,
            said,
        }
    }

    fn head(&self) -> String {
        let number = self.sequence.map(|number| format!(" no. {number}"));
        format!(
            "{}  {}  {}  {} B  from {}{}",
            output::name(self.channel.as_str()),
            shown::time_of_day(self.wall_ns),
            types::called(self.r#type.as_deref(), self.fingerprint),
            self.bytes,
            self.sender,
            number.unwrap_or_default(),
        )
    }
}

impl Answer for Echoed {
    fn document(&self) -> Document {
        let hex = self.hex.as_deref().unwrap_or_default();
        let text = match &self.said {
            EchoedMessage::NoField(_) | EchoedMessage::NoMember(_) => return Document::new(),
            EchoedMessage::Field(value @ Value::Struct(_)) => shown::lines(value, 0),
            EchoedMessage::Field(value) => shown::word(value),
            EchoedMessage::Whole(value) => format!("{}\n{}", self.head(), shown::lines(value, 2)),
            EchoedMessage::Bytes => format!("{}\n  {hex}", self.head()),
            EchoedMessage::Undecoded(hint) => {
                format!("{}\n  {}\n  ({hint})", self.head(), shown::first_of(hex))
            }
        };
        Document::new().listing(text.trim_end())
    }
}
