//! `kadenz testbed model`, and the statistics of its round trips.

use std::collections::BTreeMap;

use clap::Args;
use kadenz::lab::testbed::fabric::{LaneStatus, lanes_of};
use kadenz::lab::testbed::model::{self, Asking, Modelled, Receivers, RoundTrip};
use kadenz::lab::testbed::topology::Topology;
use kadenz::lab::testbed::wire::Payload;
use kadenz::lab::testbed::{ByteSize, Picoseconds};
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use schemars::JsonSchema;
use serde::Serialize;

use crate::options::{Span, complete, waiting};

/// Compute every round trip in a topology, exactly, in virtual time
///
/// Hosts are ideal, links take their exact time, and switches store and forward: the excess of a measured round trip
/// over this is the hosts' share. The controller asks on a beat, the devices answer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz testbed model baseline --size 200B --rate 100Hz
  kadenz testbed model forty-devices --broadcast            when the last of 40 answers has come
  kadenz testbed model cut-cable --duration 10s             what a pulled cable costs
  kadenz testbed model arm.toml --each --json | jq '.round_trips[0]'")]
pub(crate) struct Options {
    /// A built-in topology (`kadenz testbed list`), or a file
    #[arg(value_name = "TOPOLOGY", value_parser = complete::<String>(super::built_in()), hide_possible_values = true)]
    topology: String,

    /// Bytes in question and answer
    #[arg(long = "size", value_name = "SIZE", default_value = "200B")]
    payload: ByteSize,

    /// Rate of the controller's questions
    #[arg(long, value_name = "RATE", default_value = "100Hz")]
    rate: Rate,

    /// Duration, in virtual time
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    duration: Span,

    /// Ask all devices by one broadcast, instead of one after the other
    #[arg(long)]
    broadcast: bool,

    /// Print every single round trip, too
    #[arg(long, help_heading = "Output")]
    each: bool,
}

/// Round trips of ideal hosts over a topology, exact. Times are in nanoseconds.
#[derive(JsonSchema, Serialize)]
pub(crate) struct ModelledTimes {
    version: Version<1>,
    topology: String,
    payload_bytes: u32,
    #[schemars(range(min = 0.0))]
    interval_ns: f64,
    beats: u32,
    all: Figures,
    devices: Vec<DeviceTimes>,
    lanes: Vec<LaneStatus>,
    traffic_delivered: u64,
    /// All round trips, with --each.
    round_trips: Option<Vec<OneRoundTrip>>,
}

#[derive(JsonSchema, Serialize)]
struct DeviceTimes {
    device: String,
    round_trip: Figures,
}

#[derive(JsonSchema, Serialize)]
struct OneRoundTrip {
    sequence: u32,
    device: String,
    #[schemars(range(min = 0.0))]
    sent_ns: f64,
    /// null if no answer came.
    #[schemars(range(min = 0.0))]
    round_trip_ns: Option<f64>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<ModelledTimes> {
    let topology = super::topology(&options.topology)?;
    let (numerator_ns, denominator) = options.rate.interval().as_fraction();
    let interval = u128::from(numerator_ns) * 1000 / u128::from(denominator);
    let interval = Picoseconds::from_ps(u64::try_from(interval).unwrap_or(u64::MAX));
    let duration = Picoseconds::from_ns(options.duration.as_ns()).as_ps();
    let beats = duration.div_ceil(interval.as_ps().max(1)).max(1);
    let asking = Asking {
        payload: Payload::new(options.payload.0)?,
        interval,
        count: u32::try_from(beats).unwrap_or(u32::MAX),
        receivers: if options.broadcast {
            Receivers::Broadcast
        } else {
            Receivers::Each
        },
    };
    let modelled = waiting("modelling", || model::run(&topology, &asking))?;
    Ok(times(&topology, &asking, &modelled, options.each))
}

fn times(topology: &Topology, asking: &Asking, modelled: &Modelled, each: bool) -> ModelledTimes {
    let mut devices: BTreeMap<usize, Vec<&RoundTrip>> = BTreeMap::new();
    for trip in &modelled.round_trips {
        devices.entry(trip.device).or_default().push(trip);
    }
    let device = |(at, trips): (&usize, &Vec<&RoundTrip>)| DeviceTimes {
        device: topology.hosts[*at].name.clone(),
        round_trip: Figures::of(trips.iter().copied()),
    };
    let trip = |trip: &RoundTrip| OneRoundTrip {
        sequence: trip.sequence,
        device: topology.hosts[trip.device].name.clone(),
        sent_ns: trip.sent.as_ns_f64(),
        round_trip_ns: trip.time().map(Picoseconds::as_ns_f64),
    };
    ModelledTimes {
        version: Version,
        topology: topology.name.clone(),
        payload_bytes: asking.payload.bytes(),
        interval_ns: asking.interval.as_ns_f64(),
        beats: asking.count,
        all: Figures::of(modelled.round_trips.iter()),
        devices: devices.iter().map(device).collect(),
        lanes: lanes_of(topology, &modelled.lanes),
        traffic_delivered: modelled.traffic,
        round_trips: each.then(|| modelled.round_trips.iter().map(trip).collect()),
    }
}

/// A row for each device, the counts of lost frames, and a row for each round trip.
impl Answer for ModelledTimes {
    fn document(&self) -> Document {
        let head = [
            "round trips",
            "sent",
            "lost",
            "min",
            "p50",
            "p99",
            "p99.9",
            "max",
        ];
        let devices = self.devices.iter();
        let rows = devices.map(|it| row(&it.device, &it.round_trip));
        let rows = rows.chain([row("all", &self.all)]).collect();
        let mut document = Document::new().table(Table::new(&head, 1, rows));
        for lane in &self.lanes {
            let gone = [
                (lane.counts.overflowed, "found the port's buffer full"),
                (lane.counts.cut, "met a cut"),
                (lane.counts.lost, "were lost on purpose"),
            ];
            for (count, what) in gone.into_iter().filter(|(count, _)| *count > 0) {
                let count = numbers::thousands(count);
                let (from, to) = (&lane.from, &lane.to);
                document = document.sentence(format!("{from} to {to}: {count} frames {what}"));
            }
        }
        let Some(trips) = &self.round_trips else {
            return document;
        };
        let rows = trips.iter().map(|it| {
            vec![
                it.device.clone(),
                it.sequence.to_string(),
                numbers::value(it.sent_ns),
                value(it.round_trip_ns),
            ]
        });
        let head = ["device", "sequence", "sent", "round trip"];
        document.table(Table::new(&head, 1, rows.collect()))
    }
}

fn value(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), numbers::value)
}

fn row(name: &str, figures: &Figures) -> Vec<String> {
    let percent = |wanted: &str| value(figures.percentiles.get(wanted).copied().flatten());
    vec![
        name.to_owned(),
        numbers::thousands(figures.asked),
        numbers::thousands(figures.lost),
        value(figures.min_ns),
        percent("50"),
        percent("99"),
        percent("99.9"),
        value(figures.max_ns),
    ]
}

/// Percentiles, printed where the sample supports them.
const PERCENTS: [(&str, f64); 5] = [
    ("50", 50.0),
    ("90", 90.0),
    ("99", 99.0),
    ("99.9", 99.9),
    ("99.99", 99.99),
];

/// Statistics of round trips, in nanoseconds, exact.
#[derive(Debug, JsonSchema, Serialize)]
struct Figures {
    asked: u64,
    lost: u64,
    #[schemars(range(min = 0.0))]
    min_ns: Option<f64>,
    #[schemars(range(min = 0.0))]
    max_ns: Option<f64>,
    /// Nearest rank; null where no value lies beyond it.
    #[schemars(extend("required" = ["50", "90", "99", "99.9", "99.99"]))]
    percentiles: BTreeMap<&'static str, Option<f64>>,
}

impl Figures {
    fn of<'a>(all: impl Iterator<Item = &'a RoundTrip> + Clone) -> Self {
        let mut times: Vec<Picoseconds> = all.clone().filter_map(RoundTrip::time).collect();
        times.sort();
        let asked = all.count() as u64;
        Self {
            asked,
            lost: asked - times.len() as u64,
            min_ns: times.first().map(|time| time.as_ns_f64()),
            max_ns: times.last().map(|time| time.as_ns_f64()),
            percentiles: PERCENTS
                .iter()
                .map(|(percent, value)| (*percent, percentile(&times, *value)))
                .collect(),
        }
    }
}

/// The nearest rank, of a sample that has at least one value beyond it.
fn percentile(sorted: &[Picoseconds], percent: f64) -> Option<f64> {
    let count = sorted.len() as f64;
    if count * (1.0 - percent / 100.0) < 1.0 - 1e-9 {
        return None;
    }
    let rank = (count * percent / 100.0 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank - 1).map(|time| time.as_ns_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_appears_where_a_value_lies_beyond_it() {
        let sample: Vec<Picoseconds> = (1..=100).map(Picoseconds::from_ns).collect();
        assert_eq!(percentile(&sample, 50.0), Some(50.0));
        assert_eq!(percentile(&sample, 99.0), Some(99.0));
        assert_eq!(percentile(&sample, 99.9), None);
        assert_eq!(percentile(&[], 50.0), None);
    }
}
