//! `irtt client -o`: round trips over UDP, with the server's clock where the file has it.
//!
//! Sources: `result.go`, `recorder.go` and `time.go` of irtt 0.9.2, its `doc/irtt-client.md` (JSON format 1), and
//! recordings of irtt 0.9.0 (Debian 12) in `conformance/import`. All numbers are nanoseconds. `delay.rtt` is measured
//! on the client's monotonic clock, without the time in the server; `delay.send` and `delay.receive` are differences
//! between the wall clocks of the two, and may be negative. Zero times are left out. `lost` is `false`, `true`,
//! `true_up` or `true_down` as a string, a plain boolean in the documentation. `late` says that a packet overtook it:
//! per packet since 0.9.2, else in `stats` alone. Slots that the sender missed have no entry; `stats.timer_misses` is their
//! number.
//!
//! The file is read as a stream: a day of round trips takes no more memory than a second.

use std::fmt;
use std::io::BufRead;

use jiff::Timestamp;
use kadenz_record::run::model::Kind;
use kadenz_record::samples::Sample;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Importer, LOST, ReadError, Sink, source};
use crate::import::StoreError;
use crate::import::source::{series, set_start};

/// Reads `irtt client -o`.
pub(super) struct Irtt;

impl Importer for Irtt {
    fn recognises(&self, head: &str) -> bool {
        source::has_json_keys(head, &["irtt", "json_format"])
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let mut reading = IrttReader::new(sink);
        let mut json = serde_json::Deserializer::from_reader(source);
        let read = json
            .deserialize_map(IrttVisitor(&mut reading))
            .and_then(|()| json.end());
        if let Some(refused) = reading.refused {
            return Err(refused.into());
        }
        read.map_err(source::json_error)?;
        reading.finish()
    }
}

/// Reads the outermost object.
struct IrttVisitor<'r, 'a>(&'r mut IrttReader<'a>);

impl<'de> Visitor<'de> for IrttVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON object of irtt")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let reading = self.0;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "version" => reading.version = map.next_value()?,
                "config" => reading.config(&map.next_value()?),
                "stats" => reading.stats = map.next_value()?,
                "round_trips" => map.next_value_seed(RoundTrips(reading))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if reading.version.json_format > 1 {
                let format = reading.version.json_format;
                return Err(M::Error::custom(format!(
                    "JSON format {format} is newer than 1"
                )));
            }
        }
        Ok(())
    }
}

/// The array of round trips, taken one by one.
struct RoundTrips<'r, 'a>(&'r mut IrttReader<'a>);

impl<'de> DeserializeSeed<'de> for RoundTrips<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RoundTrips<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of round trips")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut trips: S) -> Result<(), S::Error> {
        while let Some(trip) = trips.next_element::<RoundTripEntry>()? {
            if let Err(refused) = self.0.take(&trip) {
                self.0.refused = Some(refused);
                return Err(S::Error::custom("not kept"));
            }
        }
        Ok(())
    }
}

/// The object `version`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct VersionSection {
    irtt: String,
    json_format: u64,
}

#[derive(Deserialize)]
struct Config {
    params: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    interval: Option<u64>,
    length: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Stats {
    duplicates: u64,
    late_packets: u64,
    /// Packets that the sender left out, by irtt's own count from its first packet to its last.
    timer_misses: u64,
}

/// An element of `round_trips`.
#[derive(Deserialize)]
struct RoundTripEntry {
    seqno: u64,
    #[serde(default)]
    lost: Lost,
    timestamps: Timestamps,
    delay: Delay,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lost {
    Plain(bool),
    Way(String),
}

impl Default for Lost {
    fn default() -> Self {
        Self::Plain(false)
    }
}

#[derive(Deserialize)]
struct Timestamps {
    client: Ends,
}

#[derive(Deserialize)]
struct Ends {
    #[serde(default)]
    receive: Time,
    #[serde(default)]
    send: Time,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Time {
    wall: i64,
    monotonic: i64,
}

impl Time {
    /// The monotonic time, or the wall time if the clock was chosen so.
    fn ns(self) -> i64 {
        if self.monotonic == 0 {
            self.wall
        } else {
            self.monotonic
        }
    }
}

#[derive(Deserialize)]
struct Delay {
    rtt: Option<i64>,
    send: Option<i64>,
    receive: Option<i64>,
}

/// The series of the file, in order.
const SERIES: [(&str, &str); 3] = [
    ("rtt", "round trip less the time in the server"),
    (
        "send-delay",
        "from the client to the server, between their wall clocks",
    ),
    (
        "receive-delay",
        "from the server to the client, between their wall clocks",
    ),
];

/// Reads the values of a file, and keeps what was read so far.
struct IrttReader<'a> {
    sink: &'a mut dyn Sink,
    /// Indices of the series, each opened with its first value.
    open: [Option<usize>; 3],
    start_ns: Option<i64>,
    interval_ns: Option<u64>,
    version: VersionSection,
    stats: Stats,
    sent: u64,
    lost: u64,
    lost_up: u64,
    lost_down: u64,
    /// The sink's own error; serde has no room for it.
    refused: Option<StoreError>,
}

impl<'a> IrttReader<'a> {
    fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            open: [None; 3],
            start_ns: None,
            interval_ns: None,
            version: VersionSection::default(),
            stats: Stats::default(),
            sent: 0,
            lost: 0,
            lost_up: 0,
            lost_down: 0,
            refused: None,
        }
    }

    fn config(&mut self, config: &Config) {
        let Some(parameters) = &config.params else {
            return;
        };
        self.interval_ns = parameters.interval;
        if let Some(length) = parameters.length {
            self.sink.parameter("message_bytes", length);
        }
    }

    fn take(&mut self, trip: &RoundTripEntry) -> Result<(), StoreError> {
        self.sent += 1;
        match &trip.lost {
            Lost::Plain(lost) => self.lost += u64::from(*lost),
            Lost::Way(way) => match way.as_str() {
                "true_up" => self.lost_up += 1,
                "true_down" => self.lost_down += 1,
                "true" => self.lost += 1,
                _ => {}
            },
        }
        let client = &trip.timestamps.client;
        if self.start_ns.is_none() {
            self.start_ns = Some(client.send.ns());
            if let Ok(start) = Timestamp::from_nanosecond(client.send.wall.into())
                && client.send.wall != 0
            {
                set_start(self.sink.run(), start);
            }
        }
        let start_ns = self.start_ns.unwrap_or(0);
        let sent = client.send.ns().wrapping_sub(start_ns);
        let received = client.receive.ns().wrapping_sub(start_ns);
        let Delay { rtt, send, receive } = trip.delay;
        let arrived = sent.saturating_add(send.unwrap_or(0));
        let left = received.saturating_sub(receive.unwrap_or(0));
        let values = [
            (rtt, sent, received),
            (send, sent, arrived),
            (receive, left, received),
        ];
        for (which, (value_ns, intended_ns, actual_ns)) in values.into_iter().enumerate() {
            if let Some(value_ns) = value_ns {
                let sample = Sample {
                    sequence: trip.seqno,
                    intended_ns,
                    actual_ns,
                    value_ns,
                };
                self.value(which, sample)?;
            }
        }
        Ok(())
    }

    fn value(&mut self, which: usize, sample: Sample) -> Result<(), StoreError> {
        let index = match self.open[which] {
            Some(index) => index,
            None => {
                let (name, description) = SERIES[which];
                self.sink
                    .open(series(name, description, Kind::Latency), true)?
            }
        };
        self.open[which] = Some(index);
        self.sink.sample(index, sample)
    }

    fn finish(mut self) -> Result<(), ReadError> {
        if self.open.iter().all(Option::is_none) {
            return Err(ReadError::Lacks {
                what: "round trip with a reply",
                remedy: "check that the server was reached, and measure again",
            });
        }
        for index in self.open.into_iter().flatten() {
            self.sink.run().series[index].expected_interval_ns = self.interval_ns;
        }
        let program = format!("irtt {}", self.version.irtt);
        self.sink.parameter("source_program", program.trim_end());
        self.say_what_was_lost();
        let one_way: Vec<usize> = self.open[1..].iter().flatten().copied().collect();
        if !one_way.is_empty() {
            let early: u64 = one_way
                .iter()
                .map(|&index| self.sink.counts(index).early)
                .sum();
            let mut text = "send-delay and receive-delay are differences between two wall clocks: \
                            they are as wrong as those were apart"
                .to_owned();
            if early > 0 {
                text += &format!("; {early} are negative, which no delay is");
            }
            let remedy = "synchronise both clocks (PTP, chrony) and measure again";
            self.sink.warn("one_way_clocks", text, Some(remedy));
        }
        Ok(())
    }

    fn say_what_was_lost(&mut self) {
        let lost = self.lost + self.lost_up + self.lost_down;
        let (duplicates, late) = (self.stats.duplicates, self.stats.late_packets);
        let unsent = self.stats.timer_misses;
        let counted = [
            ("packets_sent", self.sent),
            ("packets_lost", lost),
            ("packets_lost_to_server", self.lost_up),
            ("packets_lost_from_server", self.lost_down),
            ("packets_duplicate", duplicates),
            ("packets_late", late),
            ("packets_unsent", unsent),
        ];
        for (name, count) in counted {
            self.sink.found(name, count);
        }
        if lost > 0 {
            let text = format!(
                "{lost} of {} round trips were lost and have no value: {} on the way to the \
                 server, {} on the way back, {} unknown",
                self.sent, self.lost_up, self.lost_down, self.lost
            );
            self.sink.warn(LOST, text, None);
        }
        if unsent > 0 {
            let text = format!(
                "{unsent} packets were not sent, because the sender missed their time: these \
                 moments have no value"
            );
            self.sink.warn("unsent", text, None);
        }
        if duplicates > 0 {
            let text = format!("{duplicates} replies came more than once; the first one counts");
            self.sink.warn("duplicates", text, None);
        }
        if late > 0 {
            let text = format!("{late} replies came after the reply to a later packet");
            self.sink.warn("late", text, None);
        }
    }
}
