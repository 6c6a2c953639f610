//! `sockperf --full-log`.
//!
//! Sources: `client_statistics` and `dumpFullLog` in `src/client.cpp` of sockperf
//! 3.10, and recordings of 3.7 (Debian 12) in `conformance/import`. Text of several kinds stands in
//! one file: the statistics that the terminal showed, colours included, for each server; then the
//! rows `packet, txTime(sec), rxTime(sec), latency(usec)` between lines of dashes. Times count
//! monotonic seconds and are stamped when a packet is sent, late or not. The last column is half the
//! round trip, under the name `latency`, or with `--full-rtt` all of it, under `rtt`. Warm-up, lost
//! and reordered packets are left out and the rest is renumbered.

use std::io::BufRead;

use kadenz_record::run::model::Kind;
use kadenz_record::samples::Sample;

use super::source::{Lines, number_after, quoted, series};
use super::{Importer, LOST, ReadError, Sink};

/// Reads `sockperf --full-log`.
pub(super) struct Sockperf;

const COLUMNS: &str = "packet, txTime(sec), rxTime(sec), ";

impl Importer for Sockperf {
    fn recognises(&self, head: &str) -> bool {
        head.lines()
            .any(|line| line.starts_with("sockperf: ") || line.starts_with(COLUMNS))
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let mut reading = SockperfReader::new(sink);
        let mut lines = Lines::new(source);
        while let Some((number, line)) = lines.next()? {
            let row = reading.take(number, line);
            if !lines.ended() && reading.rows.is_some() {
                // The last value may be cut off.
                break;
            }
            if let Some(row) = row? {
                reading.store(&row)?;
            }
        }
        reading.finish()
    }
}

/// Reads the lines of a file, and keeps what was read so far.
struct SockperfReader<'a> {
    sink: &'a mut dyn Sink,
    server: u64,
    /// The series whose rows are being read.
    rows: Option<usize>,
    /// When the first packet was sent.
    start_ns: Option<i64>,
    interval_ns: Option<u64>,
    any: bool,
}

impl<'a> SockperfReader<'a> {
    fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            server: 0,
            rows: None,
            start_ns: None,
            interval_ns: None,
            any: false,
        }
    }

    /// Takes a line, and returns it if it is the row of a packet.
    fn take(&mut self, number: u64, line: &str) -> Result<Option<SockperfRow>, ReadError> {
        if line.starts_with("-----") {
            self.rows = None;
        } else if self.rows.is_some() {
            let row = SockperfRow::parse(line).map_err(|cause| ReadError::line(number, cause))?;
            return Ok(Some(row));
        } else if let Some(column) = line.strip_prefix(COLUMNS) {
            self.open(number, column.trim())?;
        } else {
            self.statistics(&without_colours(line));
        }
        Ok(None)
    }

    fn store(&mut self, row: &SockperfRow) -> Result<(), ReadError> {
        let Some(index) = self.rows else {
            return Ok(());
        };
        let start_ns = *self.start_ns.get_or_insert(row.sent_ns);
        let sample = Sample {
            sequence: row.packet,
            intended_ns: row.sent_ns.saturating_sub(start_ns),
            actual_ns: row.received_ns.saturating_sub(start_ns),
            value_ns: row.value_ns,
        };
        self.any = true;
        Ok(self.sink.sample(index, sample)?)
    }

    fn open(&mut self, number: u64, column: &str) -> Result<(), ReadError> {
        let (name, description) = match column {
            "latency(usec)" => ("latency", "half of the round trip to server"),
            "rtt(usec)" => ("rtt", "round trip to server"),
            other => {
                let cause = format!("the last column is {other:?}, not latency(usec) or rtt(usec)");
                return Err(ReadError::line(number, cause));
            }
        };
        let server = self.server;
        let full = if server == 0 {
            name.to_owned()
        } else {
            format!("{name}-{server}")
        };
        let mut series = series(full, format!("{description} {server}"), Kind::Latency);
        series.expected_interval_ns = self.interval_ns;
        if name == "latency" && server == 0 {
            let text = "latency is half of each round trip: sockperf takes both ways to be equally \
                        long, and did not measure it";
            self.sink.warn(
                "half_round_trip",
                text.to_owned(),
                Some("sockperf --full-rtt"),
            );
        }
        self.rows = Some(self.sink.open(series, true)?);
        Ok(())
    }

    fn statistics(&mut self, line: &str) {
        if let Some(parameters) = line.split_once("using the following parameters: ") {
            self.sink.parameter("source_program", "sockperf");
            self.sink.parameter("source_options", parameters.1);
            self.interval_ns = interval_ns(parameters.1);
        } else if let Some(server) = line.split_once("statistics for Server No: ") {
            self.server = server.1.trim().parse().unwrap_or(self.server);
        } else if line.contains("# dropped messages = ") {
            self.say_what_was_lost(line);
        }
    }

    fn say_what_was_lost(&mut self, line: &str) {
        let kinds = [
            ("dropped", LOST, "were sent and never answered"),
            ("duplicated", "duplicates", "were answered more than once"),
            ("out-of-order", "late", "were answered out of order"),
        ];
        for (kind, id, what) in kinds {
            let mark = format!("# {kind} messages = ");
            let count = number_after(line, &mark).unwrap_or(0);
            self.sink.found(&format!("packets_{id}"), count);
            if count > 0 {
                let text = format!(
                    "server {}: {count} messages {what}; they have no value",
                    self.server
                );
                self.sink.warn(id, text, None);
            }
        }
    }

    fn finish(self) -> Result<(), ReadError> {
        if !self.any {
            return Err(ReadError::Lacks {
                what: "row of packet times",
                remedy: "sockperf leaves out 400 ms of warm-up: measure longer, with --full-log",
            });
        }
        if self.rows.is_some() {
            self.sink
                .cut_off("no line of dashes ends the rows: the file is cut off");
        }
        Ok(())
    }
}

/// One packet.
struct SockperfRow {
    packet: u64,
    sent_ns: i64,
    received_ns: i64,
    value_ns: i64,
}

impl SockperfRow {
    fn parse(line: &str) -> Result<Self, String> {
        let mut fields = line.split(',').map(str::trim);
        let mut field = |name: &str| {
            fields
                .next()
                .ok_or_else(|| format!("{name} is missing: a row is {COLUMNS}..."))
        };
        let packet = field("packet")?;
        let (sent, received) = (field("txTime(sec)")?, field("rxTime(sec)")?);
        let value = field("the latency")?;
        if let Some(more) = fields.next() {
            return Err(format!("{more:?} is a fifth field: a row has four"));
        }
        Ok(Self {
            packet: packet
                .parse()
                .map_err(|_| format!("packet {packet:?} is not a whole number"))?,
            sent_ns: decimal(sent, 9).ok_or_else(|| no_number("txTime", sent))?,
            received_ns: decimal(received, 9).ok_or_else(|| no_number("rxTime", received))?,
            value_ns: decimal(value, 3).ok_or_else(|| no_number("the latency", value))?,
        })
    }
}

fn no_number(name: &str, word: &str) -> String {
    format!("{name} {} is not a number", quoted(word))
}

/// A decimal number times 10^`digits`, exactly; further digits are cut off.
fn decimal(word: &str, digits: usize) -> Option<i64> {
    let (sign, magnitude) = match word.strip_prefix('-') {
        Some(magnitude) => (-1, magnitude),
        None => (1, word),
    };
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let fraction = fraction.bytes().chain(std::iter::repeat(b'0')).take(digits);
    let value = whole
        .bytes()
        .chain(fraction)
        .try_fold(0_i64, |value, digit| {
            value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
        })?;
    Some(sign * value)
}

/// The interval between two answered packets, where packets are sent one at a time.
fn interval_ns(options: &str) -> Option<u64> {
    let option = |name: &str| number_after(options, name);
    let (rate, burst) = (option("--mps=")?, option("--burst=")?);
    let every = option("--reply-every=").unwrap_or(1);
    (rate > 0 && burst == 1).then(|| 1_000_000_000_u64.saturating_mul(every) / rate)
}

/// Removes the terminal's colour codes.
fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut parts = line.split("\u{1b}[");
    plain += parts.next().unwrap_or("");
    for part in parts {
        plain += part.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let cases = [
            ("2.412703930", 9, Some(2_412_703_930)),
            ("32.096", 3, Some(32_096)),
            ("5", 3, Some(5_000)),
            ("-0.5", 3, Some(-500)),
            ("1.23456", 3, Some(1_234)),
            ("", 3, None),
            (".5", 3, None),
            ("1e9", 3, None),
            ("nan", 3, None),
            ("99999999999999999999", 3, None),
        ];
        for (word, digits, value) in cases {
            assert_eq!(decimal(word, digits), value, "{word}");
        }
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(without_colours("\u{1b}[2;35ma\u{1b}[0m b\u{1b}["), "a b");
    }

    #[test]
    fn the_interval_counts_answered_packets() {
        assert_eq!(
            interval_ns("--mps=200 --burst=1 --reply-every=2"),
            Some(10_000_000)
        );
        assert_eq!(interval_ns("--burst=1 --msg-size=14"), None);
        assert_eq!(interval_ns("--mps=0 --burst=1"), None);
    }
}
