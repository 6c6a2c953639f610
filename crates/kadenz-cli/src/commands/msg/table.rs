//! Tables of channels.

use kadenz::msg::loss::{Counted, Tally};
use kadenz::msg::watch::{ChannelFigures, Pace};
use kadenz_report::document::{Document, Table};
use kadenz_report::numbers;
use serde::Serialize;

use super::stamp;
use super::types::Known;

/// What stands where nothing is known, or a sample cannot carry it.
const NOTHING: &str = "-";

/// A table under a head; the first so many columns are words.
pub(in crate::commands) fn table(head: &[&str], words: usize, rows: Vec<Vec<String>>) -> String {
    let table = Table::new(head, words, rows);
    Document::new().table(table).terminal().to_string()
}

/// A rate with four digits.
pub(super) fn hertz(rate: Option<f64>) -> String {
    match rate {
        None => NOTHING.to_owned(),
        Some(rate) if rate >= 1000.0 => format!("{rate:.0}"),
        Some(rate) if rate >= 100.0 => format!("{rate:.1}"),
        Some(rate) if rate >= 0.1 => format!("{rate:.2}"),
        Some(rate) => format!("{rate:.3}"),
    }
}

/// The mean interval of a rate.
pub(super) fn interval(pace: Option<Pace>) -> String {
    pace.map_or_else(|| NOTHING.to_owned(), |it| numbers::value(1e9 / it.rate_hz))
}

/// Bytes a second.
pub(super) fn bandwidth(rate: Option<f64>) -> String {
    rate.map_or_else(|| NOTHING.to_owned(), |rate| format!("{}/s", size(rate)))
}

/// A number of bytes with three digits.
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

/// What was lost, with the part of all that was sent.
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

/// What channels do, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct ChannelOutput {
    channel: String,
    /// Name of the type, where it is known.
    r#type: Option<String>,
    fingerprint: Option<String>,
    type_changes: u64,
    messages: u64,
    bytes: u64,
    last_bytes: usize,
    rate_hz: Option<f64>,
    interval_ns: Option<f64>,
    expected_interval_ns: Option<u64>,
    jitter_p50_ns: Option<u64>,
    jitter_p99_ns: Option<u64>,
    jitter_max_ns: Option<u64>,
    /// On how many intervals they rest.
    intervals: usize,
    bytes_per_s: Option<f64>,
    undecodable: u64,
    lost: Option<u64>,
    duplicated: Option<u64>,
    reordered: Option<u64>,
    senders: Vec<SenderOutput>,
}

#[derive(Debug, Serialize)]
struct SenderOutput {
    sender: String,
    messages: u64,
    lost: Option<u64>,
    duplicated: Option<u64>,
    reordered: Option<u64>,
    restarted: Option<u64>,
}

impl ChannelOutput {
    pub(super) fn of(figures: &ChannelFigures, known: &Known, url: &str) -> Self {
        let (pace, loss) = (figures.pace, figures.loss);
        let jitter = pace.and_then(|pace| pace.jitter);
        Self {
            channel: figures.channel.to_string(),
            r#type: known.name(figures.fingerprint),
            fingerprint: figures.fingerprint.map(|it| it.to_string()),
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
            senders: figures
                .senders
                .iter()
                .map(|it| SenderOutput {
                    sender: stamp::sender(url, it.sender),
                    messages: it.messages,
                    lost: it.loss.map(|it| it.lost),
                    duplicated: it.loss.map(|it| it.duplicated),
                    reordered: it.loss.map(|it| it.reordered),
                    restarted: it.loss.map(|it| it.restarted),
                })
                .collect(),
        }
    }
}

/// Loss of senders that count several channels with one counter, as LCM's programs do: nobody can say
/// on which of them. `None` where nothing was lost so.
pub(super) fn loss_across_channels(losses: &[Counted], url: &str) -> Option<String> {
    let of_several = losses.iter().filter(|it| it.channel.is_none());
    let lossy: Vec<String> = of_several
        .filter(|it| it.tally.lost + it.tally.duplicated + it.tally.reordered > 0)
        .take(4)
        .map(|it| {
            let tally = it.tally;
            format!(
                "{}: {} lost, {} doubled, {} out of order",
                stamp::sender(url, it.sender),
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
