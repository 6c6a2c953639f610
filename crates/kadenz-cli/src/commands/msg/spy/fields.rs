//! Fields of the messages of one channel.

use kadenz::msg::arrival::SenderId;
use kadenz::msg::bus::Raw;
use kadenz::msg::channel::Channel;
use kadenz::msg::types::Value;
use kadenz::msg::watch::Traces;
use kadenz::rt::clock::MonotonicTime;

use crate::commands::msg::shown;
use crate::output;

/// The most fields that are shown and remembered.
const MAX_FIELDS: usize = 512;
/// The most remembered values of each.
const MAX_VALUES: usize = 40;

/// The last message of a channel, and the last values of its numbers.
pub(super) struct Fields {
    channel: Channel,
    traces: Traces,
    last: Option<Last>,
}

/// The last message.
struct Last {
    came: MonotonicTime,
    sender: SenderId,
    bytes: usize,
    decoded: Result<Value, String>,
    hex: String,
}

/// A row of the field view.
pub(super) struct Field {
    pub(super) path: String,
    pub(super) value: String,
    /// Graph of the last values, where it is a number.
    pub(super) sparkline: String,
}

impl Fields {
    pub(super) fn new(channel: Channel) -> Self {
        Self {
            channel,
            traces: Traces::new(MAX_VALUES, MAX_FIELDS),
            last: None,
        }
    }

    pub(super) fn channel(&self) -> Channel {
        self.channel
    }

    pub(super) fn is_of(&self, channel: Channel) -> bool {
        self.channel == channel
    }

    pub(super) fn note(&mut self, raw: &Raw<'_>, decoded: Result<Value, String>) {
        if let Ok(value) = &decoded {
            self.traces.note(value.numbers(MAX_FIELDS));
        }
        self.last = Some(Last {
            came: shown::came(&raw.delivery),
            sender: raw.delivery.info.source.sender,
            bytes: raw.payload.len(),
            hex: shown::first_bytes(raw.payload),
            decoded,
        });
    }

    /// Heading with the data about the last message.
    pub(super) fn head(&self, url: &str) -> String {
        let name = output::name(self.channel.as_str());
        match &self.last {
            None => format!("{name}: waiting for a message"),
            Some(last) => format!(
                "{name}  {}  {}  {} B  from {}",
                match &last.decoded {
                    Ok(value) => value.kind(),
                    Err(_) => "not decoded".to_owned(),
                },
                shown::time_of_day(shown::wall_ns(last.came)),
                last.bytes,
                shown::sender(url, last.sender),
            ),
        }
    }

    /// A row for each field.
    pub(super) fn rows(&self) -> Vec<Field> {
        let Some(last) = &self.last else {
            return Vec::new();
        };
        let value = match &last.decoded {
            Ok(value) => value,
            Err(hint) => {
                let plain = |value: &str| Field {
                    path: String::new(),
                    value: value.to_owned(),
                    sparkline: String::new(),
                };
                return vec![plain(&last.hex), plain(hint)];
            }
        };
        let leaves = shown::leaves(value, MAX_FIELDS).into_iter();
        leaves
            .map(|(path, value)| Field {
                sparkline: self
                    .traces
                    .get(&path)
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                path,
                value,
            })
            .collect()
    }
}
