//! Tables of channels.

use kadenz::msg::channel::Channel;
use kadenz::msg::loss::{SenderTally, Tally};
use kadenz::msg::message::Fingerprint;
use kadenz::msg::service::types_on_wire::KnownTypes;
use kadenz::msg::watch::{ChannelFigures, SenderFigures};
use kadenz::report::document::Table;
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use super::shown;
use super::types;
use crate::output::{self, Column};

/// Mark for an unknown value, or one that a sample does not support.
const NOTHING: &str = "-";

/// A rate with four significant digits.
pub(super) fn hertz(rate: Option<f64>) -> String {
    match rate {
        None => NOTHING.to_owned(),
        Some(rate) if rate >= 1000.0 => format!("{rate:.0}"),
        Some(rate) if rate >= 100.0 => format!("{rate:.1}"),
        Some(rate) if rate >= 0.1 => format!("{rate:.2}"),
        Some(rate) => format!("{rate:.3}"),
    }
}

/// Bytes per second.
pub(super) fn bandwidth(rate: Option<f64>) -> String {
    rate.map_or_else(|| NOTHING.to_owned(), |rate| format!("{}/s", size(rate)))
}

/// A number of bytes with three significant digits.
pub(super) fn size(bytes: f64) -> String {
    let (scale, unit) = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]
        .into_iter()
        .find(|(scale, _)| bytes >= *scale)
        .unwrap_or((1.0, "B"));
    format!("{} {unit}", numbers::three_digits(bytes / scale))
}

/// A span of nanoseconds.
pub(super) fn span(ns: Option<u64>) -> String {
    ns.map_or_else(|| NOTHING.to_owned(), |ns| numbers::value(ns as f64))
}

/// The lost messages, with their share of all sent messages.
pub(super) fn lost(loss: Option<Tally>) -> String {
    match loss {
        None => NOTHING.to_owned(),
        Some(tally) if tally.lost == 0 => "0".to_owned(),
        Some(tally) => format!(
            "{} ({})",
            numbers::thousands(tally.lost),
            numbers::percentage(tally.lost_part())
        ),
    }
}

/// Statistics of a channel.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct HeardChannel {
    pub(super) channel: Channel,
    /// Full name of its type, where a description is available.
    r#type: Option<String>,
    fingerprint: Option<Fingerprint>,
    /// How often the type changed from one message to the next.
    type_changes: u64,
    pub(super) messages: u64,
    bytes: u64,
    last_bytes: usize,
    pub(super) rate_hz: Option<f64>,
    /// Mean interval between two messages.
    interval_ns: Option<f64>,
    expected_interval_ns: Option<u64>,
    jitter_p50_ns: Option<u64>,
    /// Available from 100 intervals on.
    jitter_p99_ns: Option<u64>,
    jitter_max_ns: Option<u64>,
    /// Number of intervals in these figures.
    intervals: usize,
    pub(super) bytes_per_s: Option<f64>,
    /// Messages of unknown type, or damaged ones.
    undecodable: u64,
    /// Loss by the numbers that senders put into messages; null where these do not count each channel.
    pub(super) lost: Option<u64>,
    duplicated: Option<u64>,
    reordered: Option<u64>,
    senders: Vec<HeardSender>,
    /// All known loss, for people.
    #[serde(skip)]
    loss: Option<Tally>,
    /// Graph of the last seconds, for people.
    #[serde(skip)]
    pub(super) sparkline: String,
}

/// Statistics of one sender on a channel.
#[derive(Debug, JsonSchema, Serialize)]
struct HeardSender {
    sender: String,
    messages: u64,
    lost: Option<u64>,
    duplicated: Option<u64>,
    reordered: Option<u64>,
    restarted: Option<u64>,
}

impl HeardChannel {
    /// Statistics of each channel.
    pub(super) fn all(all: &[ChannelFigures], known: &KnownTypes, url: &str) -> Vec<Self> {
        all.iter().map(|it| Self::of(it, known, url)).collect()
    }

    fn of(figures: &ChannelFigures, known: &KnownTypes, url: &str) -> Self {
        let (pace, loss) = (figures.pace, figures.loss);
        let jitter = pace.and_then(|pace| pace.jitter);
        let senders = figures.senders.iter();
        Self {
            channel: figures.channel,
            r#type: known.name(figures.fingerprint),
            fingerprint: figures.fingerprint,
            type_changes: figures.type_changes,
            messages: figures.messages,
            bytes: figures.bytes,
            last_bytes: figures.last_bytes,
            rate_hz: pace.map(|it| it.rate_hz),
            interval_ns: pace.map(|it| 1e9 / it.rate_hz),
            expected_interval_ns: jitter.map(|it| it.expected_ns),
            jitter_p50_ns: jitter.and_then(|it| it.p50_ns),
            jitter_p99_ns: jitter.and_then(|it| it.p99_ns),
            jitter_max_ns: jitter.map(|it| it.max_ns),
            intervals: jitter.map_or(0, |it| it.intervals),
            bytes_per_s: pace.map(|it| it.bytes_per_s),
            undecodable: figures.undecodable,
            lost: loss.map(|it| it.lost),
            duplicated: loss.map(|it| it.duplicated),
            reordered: loss.map(|it| it.reordered),
            senders: senders.map(|it| HeardSender::of(it, url)).collect(),
            loss,
            sparkline: String::new(),
        }
    }
}

impl HeardSender {
    fn of(figures: &SenderFigures, url: &str) -> Self {
        let loss = figures.loss;
        Self {
            sender: shown::sender(url, figures.sender),
            messages: figures.messages,
            lost: loss.map(|it| it.lost),
            duplicated: loss.map(|it| it.duplicated),
            reordered: loss.map(|it| it.reordered),
            restarted: loss.map(|it| it.restarted),
        }
    }
}

pub(super) const CHANNEL: Column<HeardChannel> = ("Channel", |it| it.channel.to_string());
pub(super) const TYPE: Column<HeardChannel> = ("Type", |it| {
    types::called(it.r#type.as_deref(), it.fingerprint)
});
pub(super) const MESSAGES: Column<HeardChannel> =
    ("Messages", |it| numbers::thousands(it.messages));
pub(super) const RATE: Column<HeardChannel> = ("Hz", |it| hertz(it.rate_hz));
pub(super) const INTERVAL: Column<HeardChannel> = ("1/Hz", |it| {
    it.interval_ns
        .map_or_else(|| NOTHING.to_owned(), numbers::value)
});
pub(super) const JITTER_P50: Column<HeardChannel> = ("Jitter p50", |it| span(it.jitter_p50_ns));
pub(super) const JITTER_P99: Column<HeardChannel> = ("p99", |it| span(it.jitter_p99_ns));
pub(super) const JITTER_MAX: Column<HeardChannel> = ("max", |it| span(it.jitter_max_ns));
pub(super) const BANDWIDTH: Column<HeardChannel> = ("Bandwidth", |it| bandwidth(it.bytes_per_s));
pub(super) const LOST: Column<HeardChannel> = ("Lost", |it| lost(it.loss));
pub(super) const UNDECODABLE: Column<HeardChannel> = ("Undec.", |it| it.undecodable.to_string());
pub(super) const SENDERS: Column<HeardChannel> = ("Senders", |it| it.senders.len().to_string());
pub(super) const LAST_SECONDS: Column<HeardChannel> = ("Last s", |it| it.sparkline.clone());

/// A row for each channel.
pub(super) fn of_channels(columns: &[Column<HeardChannel>], channels: &[HeardChannel]) -> Table {
    let words = columns
        .iter()
        .filter(|it| [CHANNEL.0, TYPE.0].contains(&it.0));
    output::table(columns, words.count(), channels)
}

/// Loss of senders that count several channels with one counter, as LCM's programs do: the lost messages cannot be
/// assigned to a channel. `None` where no message was lost so.
pub(super) fn loss_across_channels(losses: &[SenderTally], url: &str) -> Option<String> {
    let of_several = losses.iter().filter(|it| it.channel.is_none());
    let lossy: Vec<String> = of_several
        .filter(|it| it.tally.lost + it.tally.duplicated + it.tally.reordered > 0)
        .take(4)
        .map(|it| {
            let tally = it.tally;
            format!(
                "{}: {} lost, {} doubled, {} out of order",
                shown::sender(url, it.sender),
                lost(Some(tally)),
                tally.duplicated,
                tally.reordered
            )
        })
        .collect();
    (!lossy.is_empty()).then(|| {
        format!(
            "of senders that number several channels together: {}",
            lossy.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_matter() {
        assert_eq!(hertz(Some(1000.4)), "1000");
        assert_eq!(hertz(Some(99.99)), "99.99");
        assert_eq!(hertz(Some(0.0123)), "0.012");
        assert_eq!(bandwidth(Some(19_234.0)), "19.2 kB/s");
        assert_eq!(span(None), "-");
        let tally = Tally {
            received: 99,
            lost: 1,
            ..Tally::default()
        };
        assert_eq!(lost(Some(tally)), "1 (1 %)");
    }
}
