//! From round trips to series.

use jiff::Timestamp;
use kadenz_record::run::model::Kind;
use kadenz_record::samples::Sample;

use super::model::{Config, Delay, Lost, RoundTrip, Stats, Version};
use crate::import::source::{series, set_start};
use crate::import::{ReadError, Sink, StoreError};

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

/// What was read so far.
pub(super) struct Reading<'a> {
    sink: &'a mut dyn Sink,
    /// Indices of the series, each opened with its first value.
    open: [Option<usize>; 3],
    start_ns: Option<i64>,
    interval_ns: Option<u64>,
    pub(super) version: Version,
    pub(super) stats: Stats,
    sent: u64,
    lost: u64,
    lost_up: u64,
    lost_down: u64,
    /// The sink's own error; serde has no room for it.
    pub(super) refused: Option<StoreError>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            open: [None; 3],
            start_ns: None,
            interval_ns: None,
            version: Version::default(),
            stats: Stats::default(),
            sent: 0,
            lost: 0,
            lost_up: 0,
            lost_down: 0,
            refused: None,
        }
    }

    pub(super) fn config(&mut self, config: &Config) {
        let Some(parameters) = &config.params else {
            return;
        };
        self.interval_ns = parameters.interval;
        if let Some(length) = parameters.length {
            self.sink.parameter("message_bytes", length);
        }
    }

    pub(super) fn take(&mut self, trip: &RoundTrip) -> Result<(), StoreError> {
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
        self.value(0, trip.seqno, rtt, sent, received)?;
        self.value(
            1,
            trip.seqno,
            send,
            sent,
            sent.saturating_add(send.unwrap_or(0)),
        )?;
        self.value(
            2,
            trip.seqno,
            receive,
            received.saturating_sub(receive.unwrap_or(0)),
            received,
        )
    }

    fn value(
        &mut self,
        which: usize,
        sequence: u64,
        value_ns: Option<i64>,
        intended_ns: i64,
        actual_ns: i64,
    ) -> Result<(), StoreError> {
        let Some(value_ns) = value_ns else {
            return Ok(());
        };
        let index = match self.open[which] {
            Some(index) => index,
            None => {
                let (name, description) = SERIES[which];
                self.sink
                    .open(series(name, description, Kind::Latency), true)?
            }
        };
        self.open[which] = Some(index);
        self.sink.sample(
            index,
            Sample {
                sequence,
                intended_ns,
                actual_ns,
                value_ns,
            },
        )
    }

    pub(super) fn finish(mut self) -> Result<(), ReadError> {
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
        let counted = [
            ("packets_sent", self.sent),
            ("packets_lost", lost),
            ("packets_lost_to_server", self.lost_up),
            ("packets_lost_from_server", self.lost_down),
            ("packets_duplicate", duplicates),
            ("packets_late", late),
        ];
        for (name, count) in counted {
            self.sink.parameter(name, count);
        }
        if lost > 0 {
            let text = format!(
                "{lost} of {} round trips were lost and have no value: {} on the way to the \
                 server, {} on the way back, {} unknown",
                self.sent, self.lost_up, self.lost_down, self.lost
            );
            self.sink.warn("lost", text, None);
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
