//! Tables of measured and modelled values, and of those of [Enner2016b], in the words of the source.

use std::time::Duration;

use kadenz::lab::testbed::Picoseconds;
use kadenz::lab::testbed::model::{self, Asking, Receivers};
use kadenz::lab::testbed::topology::{Topology, ready};
use kadenz::lab::testbed::wire::Payload;
use kadenz::record::run::network::{FIRST_REPLY, Flow, LAST_REPLY};
use kadenz::report::numbers;
use kadenz::report::statistics::Percent;
use kadenz::report::summary::{SeriesSummary, Summary};
use kadenz::report::verdict::packets;
use kadenz::report::verdict::wire::RoundTrip;

use super::super::{Row, StepRun, table, value, whole};
use super::{ExperimentPart, NetworkMeasurement};
use kadenz::report::document::Document;

/// [Enner2016b], "Switching Cost": the measurement here; switch, connection, 90 % round trip, overhead that is not on
/// the wire.
const SWITCHES: [(&str, [&str; 4]); 4] = [
    (
        "none",
        ["Baseline", "2x 100 MBit/s", "193.8 us", "112.6 us"],
    ),
    (
        "ksz8863",
        ["MICREL KSZ8863", "100 Mbit/s", "+43.5 us", "2.9 us"],
    ),
    (
        "gs105",
        ["NETGEAR ProSAFE GS105", "1 Gbit/s", "+51.0 us", "47 us"],
    ),
    (
        "rb750",
        ["MikroTik RB750Gr2", "1 Gbit/s", "+7.7 us", "3.6 us"],
    ),
];

/// [Enner2016b], "Baseline" and "Micro-bursting", in words.
const BASELINE: &str = "\
[Enner2016b], boards of 168 MHz with 100 Mbit/s, 100 Hz, 24 h: 8.5 million packets, none lost, none out \
of order; 90 % of round trips below 194 us, of which some 80 us on the wire; 99 % of the sends \
within 250 ns of the beat, all within 6 us.";

/// [Enner2016b], "Micro-bursting", in words.
const DEVICES: &str = "\
[Enner2016b], 40 boards on a GS748T and a computer with Linux RT at 1 Gbit/s, 100 Hz, 90 min: more than \
20 million packets, none lost, none out of order from any device; the first answer after about \
180 us at best and mostly above 300 us, the last some 100 us later; at 1 kHz the same.";

/// Tables of every measured part.
pub(super) fn tables(runs: &[StepRun<'_>]) -> Document {
    let sections = [
        baseline(runs),
        switches(runs),
        speeds(runs),
        devices(runs),
        senders(runs),
        traffic(runs),
        cut(runs),
    ];
    sections
        .into_iter()
        .flatten()
        .fold(Document::new(), Document::and)
}

/// All rounds of one measurement.
struct MeasurementRounds<'a> {
    measurement: &'static NetworkMeasurement,
    runs: Vec<&'a Summary>,
}

impl<'a> MeasurementRounds<'a> {
    /// The finished measurements of a part.
    fn of(part: ExperimentPart, runs: &[StepRun<'a>]) -> Vec<Self> {
        let measurements = super::measurements(part).iter();
        let measured = measurements.map(|measurement| {
            let name = super::name(part, measurement);
            let runs = runs.iter().filter(|it| it.name == name);
            let runs = runs.map(|it| it.run).collect();
            Self { measurement, runs }
        });
        measured.filter(|it| !it.runs.is_empty()).collect()
    }

    /// All rounds of a series, merged.
    fn series(&self, name: &str) -> Option<SeriesSummary> {
        let all = self.runs.iter().filter_map(|run| run.named(name));
        SeriesSummary::together(all)
    }

    /// Packet counts of all rounds and devices.
    fn packets(&self) -> Flow {
        let networks = self.runs.iter().filter_map(|run| run.run.network.as_ref());
        networks.fold(Flow::default(), |sum, network| {
            let total = packets::total(network);
            Flow {
                sent: sum.sent + total.sent,
                answered: sum.answered + total.answered,
                lost: sum.lost + total.lost,
                duplicates: sum.duplicates + total.duplicates,
                reordered: sum.reordered + total.reordered,
                longest_loss: sum.longest_loss.max(total.longest_loss),
                ..sum
            }
        })
    }

    /// Packets that this machine itself lost, all rounds together.
    fn lost_here(&self) -> u64 {
        let here = self
            .runs
            .iter()
            .filter_map(|run| run.run.network.as_ref()?.here);
        here.map(|here| here.socket + here.unsent).sum()
    }

    /// The 90 % quantile of its round trips, with the links of its runs.
    fn round_trip(&self) -> RoundTrip {
        let rtt = self.series("rtt");
        let measured = rtt.and_then(|rtt| rtt.percentile(Percent::P90));
        let networks = self.runs.iter().filter_map(|run| run.run.network.as_ref());
        let path = networks.filter_map(|network| network.path.as_ref()).next();
        RoundTrip::new(measured, path)
    }

    /// The concordance of the order of answers to broadcasts, for each round.
    fn concordances(&self) -> String {
        let networks = self.runs.iter().filter_map(|run| run.run.network.as_ref());
        let of = networks.filter_map(|network| network.broadcasts?.concordance);
        let of: Vec<String> = of.map(|it| format!("{it:.2}")).collect();
        of.join(", ")
    }

    /// Packet counts as columns of a row.
    fn counted(&self) -> [(&'static str, String); 3] {
        let packets = self.packets();
        [
            ("packets", packets.sent),
            ("lost", packets.lost),
            ("out of order", packets.reordered),
        ]
        .map(|(head, number)| (head, numbers::thousands(number)))
    }
}

fn at(series: Option<&SeriesSummary>, percent: Percent) -> Option<f64> {
    series?.percentile(percent).map(|ns| ns as f64)
}

fn shown(series: Option<&SeriesSummary>, percent: Percent) -> String {
    value(at(series, percent))
}

fn largest(series: Option<&SeriesSummary>) -> String {
    whole(series.and_then(|series| series.max_ns))
}

/// Round trips of a built-in topology by the model: the longest of ten seconds.
fn modelled(topology: &str, receivers: Receivers) -> Option<Vec<f64>> {
    let topology = Topology::parse(ready(topology)?).ok()?;
    let asking = Asking {
        payload: Payload::new(200).ok()?,
        interval: Picoseconds::from_ns(10_000_000),
        count: 1000,
        receivers,
    };
    let modelled = model::run(&topology, &asking).ok()?;
    let times = modelled
        .round_trips
        .iter()
        .filter_map(model::RoundTrip::time);
    let mut times: Vec<f64> = times.map(|time| time.as_ps() as f64 / 1000.0).collect();
    times.sort_by(f64::total_cmp);
    Some(times)
}

fn model_of(topology: &str) -> Option<f64> {
    let times = modelled(topology, Receivers::Each)?;
    times.get(times.len() / 2).copied()
}

/// A section: a title, a table, and its conclusion.
fn section(title: &str, rows: impl IntoIterator<Item = Row>, words: String) -> Document {
    Document::new()
        .heading(title)
        .table(table(rows))
        .sentence(words)
}

fn baseline(runs: &[StepRun<'_>]) -> Option<Document> {
    let measured = MeasurementRounds::of(ExperimentPart::Baseline, runs);
    let one = measured.first()?;
    let (lateness, rtt) = (one.series("lateness"), one.series("rtt"));
    let round_trip = one.round_trip();
    let row = |name: &str, series: Option<&SeriesSummary>| -> Row {
        vec![
            ("baseline", name.to_owned()),
            ("p50", shown(series, Percent::P50)),
            ("p90", shown(series, Percent::P90)),
            ("p99", shown(series, Percent::P99)),
            ("p99.9", shown(series, Percent::P99_9)),
            ("max", largest(series)),
        ]
    };
    let rows = [
        row("send less its beat", lateness.as_ref()),
        row("round trip", rtt.as_ref()),
    ];
    let packets = one.packets();
    let words = format!(
        "{} packets, {} lost, {} out of order; on the wire {}, by the model of this testbed with ideal hosts {}; \
         90 % less the wire {}. {}",
        numbers::thousands(packets.sent),
        numbers::thousands(packets.lost),
        numbers::thousands(packets.reordered),
        whole(round_trip.wire_ns),
        value(model_of("baseline")),
        whole(round_trip.not_on_wire_ns()),
        wire_error(&measured),
    );
    let document = section("Baseline: one device on one switch", rows, words);
    Some(document.sentence(BASELINE))
}

/// Lateness of the testbed itself.
fn wire_error(measured: &[MeasurementRounds<'_>]) -> String {
    let runs = measured.iter().flat_map(|it| &it.runs);
    let testbeds = runs.filter_map(|run| {
        let folder = run.folder.file_name()?.to_str()?;
        Summary::of_run(run.folder.with_file_name(super::testbed_folder(folder))).ok()
    });
    let testbeds: Vec<Summary> = testbeds.collect();
    let errors = testbeds.iter().filter_map(|run| run.series.first());
    let error = SeriesSummary::together(errors);
    let error = error.as_ref();
    format!(
        "The testbed delivered {} frames, p50 {}, p99 {}, at most {} later than its topology says.",
        numbers::thousands(error.map_or(0, |error| error.count)),
        shown(error, Percent::P50),
        shown(error, Percent::P99),
        largest(error)
    )
}

fn switches(runs: &[StepRun<'_>]) -> Option<Document> {
    let measured = MeasurementRounds::of(ExperimentPart::Switches, runs);
    let first = measured.iter().find(|it| it.measurement.name == "none")?;
    let base = first.round_trip();
    let base_median = at(first.series("rtt").as_ref(), Percent::P50);
    let base_model = model_of("baseline");
    let rows = measured.iter().map(|it| {
        let rtt = it.series("rtt");
        let median = at(rtt.as_ref(), Percent::P50);
        let is_base = it.measurement.name == "none";
        let round_trip = match is_base {
            true => it.round_trip(),
            false => it.round_trip().beyond(base),
        };
        let less = |value: Option<f64>, base: Option<f64>| match is_base {
            true => value,
            false => value.zip(base).map(|(value, base)| value - base),
        };
        let signed = |value: Option<f64>| match value {
            Some(more) if !is_base && more >= 0.0 => format!("+{}", numbers::value(more)),
            other => self::value(other),
        };
        let model = less(model_of(it.measurement.topology), base_model);
        let p90 = round_trip.measured_ns.map(|ns| ns as f64);
        let mut switches = SWITCHES.iter();
        let published = switches.find(|(name, _)| *name == it.measurement.name);
        let [switch, connection, post_p90, post_rest] =
            published.unwrap_or(&SWITCHES[0]).1.map(str::to_owned);
        let mut row = vec![
            ("switch", switch),
            ("connection", connection),
            ("round trip p50", signed(less(median, base_median))),
            ("p90", signed(p90)),
            ("of it on the wire", whole(round_trip.wire_ns)),
            ("p90 not on the wire", whole(round_trip.not_on_wire_ns())),
            ("by the model", signed(model)),
            ("Enner2016b: 90 %", post_p90),
            ("Enner2016b: not on the wire", post_rest),
        ];
        row.extend(it.counted());
        row
    });
    let words = wire_error(&measured);
    Some(section("Switches added to the baseline", rows, words))
}

fn speeds(runs: &[StepRun<'_>]) -> Option<Document> {
    let measured = MeasurementRounds::of(ExperimentPart::Speeds, runs);
    let of = |name: &str| measured.iter().find(|it| it.measurement.name == name);
    let (slow, fast) = (of("100M")?, of("1G")?);
    let (slow_rtt, fast_rtt) = (slow.series("rtt"), fast.series("rtt"));
    let here = |percent| {
        let pair = at(slow_rtt.as_ref(), percent).zip(at(fast_rtt.as_ref(), percent));
        pair.map(|(slow, fast)| slow - fast)
    };
    let model = model_of("baseline").zip(model_of("baseline-gigabit"));
    let model = model.map(|(slow, fast)| slow - fast);
    let row = |name: &str, of: &dyn Fn(Percent) -> Option<f64>, model| -> Row {
        vec![
            ("round trip", name.to_owned()),
            ("p50", value(of(Percent::P50))),
            ("p90", value(of(Percent::P90))),
            ("p99", value(of(Percent::P99))),
            ("by the model", value(model)),
        ]
    };
    let measured_row = |name, rounds: &MeasurementRounds<'_>, rtt: &Option<SeriesSummary>| {
        let mut row = row(
            name,
            &|p| at(rtt.as_ref(), p),
            model_of(rounds.measurement.topology),
        );
        row.extend(rounds.counted());
        row
    };
    let mut difference = row("difference", &here, model);
    difference.extend(slow.counted().map(|(head, _)| (head, String::new())));
    let rows = [
        measured_row("100 Mbit/s", slow, &slow_rtt),
        measured_row("1 Gbit/s", fast, &fast_rtt),
        difference,
    ];
    let off = here(Percent::P50).zip(model);
    let off = off.map_or_else(String::new, |(here, model)| {
        let percent = 100.0 * (here - model) / model;
        format!("The difference of the medians is {percent:+.1} % off the model's. ")
    });
    let words = format!("{off}{}", wire_error(&measured));
    Some(section("100 Mbit/s against 1 Gbit/s", rows, words))
}

fn devices(runs: &[StepRun<'_>]) -> Option<Document> {
    let measured = MeasurementRounds::of(ExperimentPart::Devices, runs);
    measured.first()?;
    let model = modelled("forty-devices", Receivers::Broadcast);
    let ends = |times: &Vec<f64>| times.first().copied().zip(times.last().copied());
    let model = model.as_ref().and_then(ends);
    let rows = measured.iter().map(|it| {
        let series = ["rtt", FIRST_REPLY, LAST_REPLY].map(|name| it.series(name));
        let [rtt, first, last] = series.each_ref().map(Option::as_ref);
        let mut row = vec![("40 devices", it.measurement.name.to_owned())];
        row.extend(it.counted());
        row.extend([
            ("lost by this machine", numbers::thousands(it.lost_here())),
            (
                "first answer, soonest",
                whole(rtt.and_then(|rtt| rtt.min_ns)),
            ),
            ("first answer p50", shown(first, Percent::P50)),
            ("answer p50", shown(rtt, Percent::P50)),
            ("answer p99", shown(rtt, Percent::P99)),
            ("last answer p50", shown(last, Percent::P50)),
            ("last answer p99", shown(last, Percent::P99)),
            ("last answer p99.9", shown(last, Percent::P99_9)),
            ("last answer max", largest(last)),
            ("Kendall's W", it.concordances()),
        ]);
        row
    });
    let by_model = model.map_or_else(String::new, |(first, last)| {
        format!(
            "By the model, with ideal hosts, the first answer comes after {} and the last after {}. ",
            value(Some(first)),
            value(Some(last))
        )
    });
    let words = format!("{by_model}{}", wire_error(&measured));
    let document = section("40 devices answer one broadcast", rows, words);
    Some(document.sentence(DEVICES))
}

fn senders(runs: &[StepRun<'_>]) -> Option<Document> {
    let measured = MeasurementRounds::of(ExperimentPart::Senders, runs);
    measured.first()?;
    let rows = measured.iter().map(|it| {
        let series = ["lateness", "rtt", "response"].map(|name| it.series(name));
        let [lateness, rtt, response] = series.each_ref().map(Option::as_ref);
        let mut row = vec![
            ("sender, 1 kHz", it.measurement.name.to_owned()),
            ("late p50", shown(lateness, Percent::P50)),
            ("late p99", shown(lateness, Percent::P99)),
            ("round trip p50", shown(rtt, Percent::P50)),
            ("p99", shown(rtt, Percent::P99)),
            ("response p50", shown(response, Percent::P50)),
            ("p99", shown(response, Percent::P99)),
            ("max", largest(response)),
        ];
        row.extend(it.counted());
        row
    });
    Some(section("Senders", rows, wire_error(&measured)))
}

fn traffic(runs: &[StepRun<'_>]) -> Option<Document> {
    let measured = MeasurementRounds::of(ExperimentPart::Traffic, runs);
    measured.first()?;
    let rows = measured.iter().map(|it| {
        let rtt = it.series("rtt");
        let rtt = rtt.as_ref();
        let model = modelled(it.measurement.topology, Receivers::Each).unwrap_or_default();
        let of_model = |share: f64| {
            let place = (share * model.len() as f64) as usize;
            value(model.get(place.min(model.len().saturating_sub(1))).copied())
        };
        let mut row = vec![
            ("29 Mbit/s of video", it.measurement.name.to_owned()),
            ("p50", shown(rtt, Percent::P50)),
            ("p90", shown(rtt, Percent::P90)),
            ("p99", shown(rtt, Percent::P99)),
            ("max", largest(rtt)),
            ("model p50", of_model(0.5)),
            ("model p90", of_model(0.9)),
            ("model max", of_model(1.0)),
        ];
        row.extend(it.counted());
        row
    });
    let title = "Video on the same wire: an open question of [Enner2016b]";
    Some(section(title, rows, wire_error(&measured)))
}

fn cut(runs: &[StepRun<'_>]) -> Option<Document> {
    let measured = MeasurementRounds::of(ExperimentPart::Cut, runs);
    measured.first()?;
    let rows = measured.iter().map(|it| {
        let rtt = it.series("rtt");
        let packets = it.packets();
        let out = Duration::from_millis(10 * packets.longest_loss);
        let mut row = vec![("a cable pulled for 2 s", it.measurement.name.to_owned())];
        row.extend(it.counted());
        row.extend([
            ("most in a row", numbers::thousands(packets.longest_loss)),
            ("without answers for", value(Some(out.as_nanos() as f64))),
            ("round trip p50", shown(rtt.as_ref(), Percent::P50)),
            ("max", largest(rtt.as_ref())),
        ]);
        row
    });
    let title = "A cable pulled and put back: an open question of [Enner2016b]";
    let words = "With two ways the switches go the other one once they have seen the cut, 50 ms here, and back \
                 once the cable is in again.";
    Some(section(title, rows, words.to_owned()))
}
