//! `kadenz testbed model`.

use std::collections::BTreeMap;

use clap::Args;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use kadenz_lab::testbed::fabric::LaneCounts;
use kadenz_lab::testbed::model::{self, Asking, Cast, Modelled, RoundTrip};
use kadenz_lab::testbed::topology::Topology;
use kadenz_lab::testbed::wire::Payload;
use kadenz_lab::testbed::{ByteSize, Picos};
use kadenz_report::numbers;
use kadenz_rt::beat::Rate;
use serde::Serialize;

use super::named;
use super::round_trips::Figures;
use crate::options::{Span, complete, waiting};
use crate::output::{self, Outcome};

/// Compute every round trip in a topology, exactly, in virtual time
///
/// Ideal hosts on links that take the time they take, and switches that store and forward: what is
/// left of a measured round trip beyond this, hosts have added. The controller asks on a beat, the
/// devices answer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz testbed model baseline --size 200B --rate 100Hz
  kadenz testbed model forty-devices --broadcast            when the last of 40 answers has come
  kadenz testbed model cut-cable --duration 10s             what a pulled cable costs
  kadenz testbed model arm.toml --each --json | jq '.round_trips[0]'")]
pub(crate) struct Options {
    /// One that is built in (`kadenz testbed list`), or a file
    #[arg(value_name = "TOPOLOGY", value_parser = complete::<String>(named::built_in()), hide_possible_values = true)]
    topology: String,

    /// Bytes that question and answer carry
    #[arg(long = "size", value_name = "SIZE", default_value = "200B")]
    payload: ByteSize,

    /// How often the controller asks
    #[arg(long, value_name = "RATE", default_value = "100Hz")]
    rate: Rate,

    /// How long, in virtual time
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    duration: Span,

    /// Ask all devices by one broadcast, not one after the other
    #[arg(long)]
    broadcast: bool,

    /// With --json: every single round trip, too
    #[arg(long, help_heading = "Output")]
    each: bool,
}

/// The JSON that other programs read; described in docs/testbed.md.
#[derive(Serialize)]
struct Told {
    version: u32,
    topology: String,
    payload_bytes: u32,
    interval_ns: f64,
    beats: u32,
    all: Figures,
    devices: Vec<ToldDevice>,
    lanes: Vec<ToldLane>,
    traffic_delivered: u64,
    round_trips: Option<Vec<ToldRoundTrip>>,
}

#[derive(Serialize)]
struct ToldDevice {
    device: String,
    round_trip: Figures,
}

#[derive(Serialize)]
struct ToldLane {
    from: String,
    to: String,
    begun: u64,
    delivered: u64,
    overflowed: u64,
    cut: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
}

#[derive(Serialize)]
struct ToldRoundTrip {
    sequence: u32,
    device: String,
    sent_ns: f64,
    round_trip_ns: Option<f64>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        output::is_json() || !options.each,
        "`--each` lists round trips as JSON: add `--json`"
    );
    let topology = named::topology(&options.topology)?;
    let (numerator_ns, denominator) = options.rate.interval().as_fraction();
    let interval = u128::from(numerator_ns) * 1000 / u128::from(denominator);
    let interval = Picos::from_ps(u64::try_from(interval).unwrap_or(u64::MAX));
    let duration = Picos::from_ns(options.duration.as_ns()).as_ps();
    let beats = duration.div_ceil(interval.as_ps().max(1)).max(1);
    let asking = Asking {
        payload: Payload::new(options.payload.0)?,
        interval,
        count: u32::try_from(beats).unwrap_or(u32::MAX),
        cast: if options.broadcast {
            Cast::Broadcast
        } else {
            Cast::Each
        },
    };
    let modelled = waiting("modelling", || model::run(&topology, &asking))?;
    let told = told(&topology, &asking, &modelled, options.each);
    if output::is_json() {
        output::json(&told)?;
    } else {
        output::say(&words(&told));
    }
    Ok(Outcome::Kept)
}

fn told(topology: &Topology, asking: &Asking, modelled: &Modelled, each: bool) -> Told {
    let mut devices: BTreeMap<usize, Vec<&RoundTrip>> = BTreeMap::new();
    for trip in &modelled.round_trips {
        devices.entry(trip.device).or_default().push(trip);
    }
    let device = |(at, trips): (&usize, &Vec<&RoundTrip>)| ToldDevice {
        device: topology.hosts[*at].name.clone(),
        round_trip: Figures::of(trips.iter().copied()),
    };
    let trip = |trip: &RoundTrip| ToldRoundTrip {
        sequence: trip.sequence,
        device: topology.hosts[trip.device].name.clone(),
        sent_ns: trip.sent.as_ns_f64(),
        round_trip_ns: trip.time().map(Picos::as_ns_f64),
    };
    Told {
        version: 1,
        topology: topology.name.clone(),
        payload_bytes: asking.payload.bytes(),
        interval_ns: asking.interval.as_ns_f64(),
        beats: asking.count,
        all: Figures::of(modelled.round_trips.iter()),
        devices: devices.iter().map(device).collect(),
        lanes: lanes(topology, &modelled.lanes),
        traffic_delivered: modelled.traffic,
        round_trips: each.then(|| modelled.round_trips.iter().map(trip).collect()),
    }
}

fn lanes(topology: &Topology, counts: &[LaneCounts]) -> Vec<ToldLane> {
    let ends = topology.links.iter().flat_map(|link| {
        let [a, b] = link.ends.map(|end| topology.name_of(end).to_owned());
        [(a.clone(), b.clone()), (b, a)]
    });
    let lane = |((from, to), counts): ((String, String), &LaneCounts)| ToldLane {
        from,
        to,
        begun: counts.begun,
        delivered: counts.delivered,
        overflowed: counts.overflowed,
        cut: counts.cut,
        lost: counts.lost,
        duplicated: counts.duplicated,
        reordered: counts.reordered,
    };
    ends.zip(counts).map(lane).collect()
}

/// A row a device, and what became of frames that did not come.
fn words(told: &Told) -> String {
    let mut table = Table::new();
    let style = match table.is_tty() {
        true => presets::UTF8_FULL_CONDENSED,
        false => presets::ASCII_MARKDOWN,
    };
    table
        .load_style(style)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header([
            "round trips",
            "asked",
            "lost",
            "min",
            "p50",
            "p99",
            "p99.9",
            "max",
        ]);
    let rows = told
        .devices
        .iter()
        .map(|it| (it.device.as_str(), &it.round_trip));
    for (name, figures) in rows.chain([("all", &told.all)]) {
        table.add_row(row(name, figures));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = format!("{table}");
    for lane in &told.lanes {
        let gone = [
            (lane.overflowed, "found the port's buffer full"),
            (lane.cut, "met a cut"),
            (lane.lost, "were lost on purpose"),
        ];
        for (count, what) in gone.into_iter().filter(|(count, _)| *count > 0) {
            let count = numbers::thousands(count);
            text.push_str(&format!(
                "\n{} to {}: {count} frames {what}",
                lane.from, lane.to
            ));
        }
    }
    text
}

fn row(name: &str, figures: &Figures) -> Vec<String> {
    let value = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), numbers::value);
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
