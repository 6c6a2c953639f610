//! Round trips of several runs in the manner of \[Enner2016b\], which compares switches and hosts: the 90 % round trip,
//! its wire part, and the rest.

use kadenz_record::run::network::{Network, RTT, WirePath};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::statistics::Percent;
use crate::summary::Summary;
use crate::verdict::packets;
use crate::verdict::wire::{PathOutput, RoundTrip};

/// The percentile that Enner compares.
pub(crate) const COMPARED: Percent = Percent::P90;

/// One run's round trips in a comparison: 90 %, the wire part, and the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NetworkRow {
    /// Which run, by its place in the comparison; 0 is the baseline.
    #[serde(skip)]
    pub run: usize,
    /// Folder of the run.
    #[serde(rename = "run")]
    pub folder: String,
    /// The links to the devices; `None` where they are not known.
    #[serde(serialize_with = "with_connection")]
    #[schemars(with = "Option<PathOutput<'static>>")]
    pub path: Option<WirePath>,
    /// The round trip that 90 % of the answered packets keep.
    #[serde(rename = "p90")]
    pub round_trip: RoundTrip,
    /// The same less the baseline's; `None` for the baseline itself.
    pub beyond_baseline: Option<RoundTrip>,
    /// Packets sent, answered or not.
    #[serde(rename = "sent")]
    pub packets: u64,
    /// Packets without an answer in time.
    pub lost: u64,
    /// Answers that came after the answer to a later packet.
    pub reordered: u64,
    /// The controller's machine.
    pub host: NetworkHost,
}

fn with_connection<S: Serializer>(path: &Option<WirePath>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(PathOutput::new).serialize(to)
}

/// The controller's machine, and its network interface. Unknown facts are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NetworkHost {
    /// CPU model name.
    pub machine: Option<String>,
    /// Kernel release, `uname -r`.
    pub kernel: Option<String>,
    /// The interface's name.
    pub interface: Option<String>,
    /// Driver of the interface.
    pub driver: Option<String>,
    /// Its speed in Mbit/s.
    pub speed_mbit_s: Option<u32>,
}

/// A row for each run that sent packets; none where the first did not, or no other did.
pub(crate) fn rows<'a>(runs: impl IntoIterator<Item = &'a Summary>) -> Vec<NetworkRow> {
    let networks = runs
        .into_iter()
        .enumerate()
        .filter_map(|(place, run)| Some((place, run, run.run.network.as_ref()?)));
    let mut rows: Vec<NetworkRow> = networks
        .map(|(place, run, network)| NetworkRow::new(place, run, network))
        .collect();
    let Some(baseline) = rows.first().filter(|row| row.run == 0 && rows.len() > 1) else {
        return Vec::new();
    };
    let baseline = baseline.round_trip;
    for row in rows.iter_mut().skip(1) {
        row.beyond_baseline = Some(row.round_trip.beyond(baseline));
    }
    rows
}

impl NetworkRow {
    fn new(run: usize, summary: &Summary, network: &Network) -> Self {
        let total = packets::total(network);
        let measured_ns = summary
            .named(RTT)
            .and_then(|series| series.percentile(COMPARED));
        Self {
            run,
            folder: summary.shown().display().to_string(),
            round_trip: RoundTrip::new(measured_ns, network.path.as_ref()),
            path: network.path.clone(),
            beyond_baseline: None,
            packets: total.sent,
            lost: total.lost,
            reordered: total.reordered,
            host: NetworkHost::new(summary, network),
        }
    }
}

impl NetworkHost {
    fn new(summary: &Summary, network: &Network) -> Self {
        let interface = network.interface.as_ref();
        Self {
            machine: summary.run.host.cpu.clone(),
            kernel: summary.run.host.kernel.clone(),
            interface: interface.map(|it| it.name.clone()),
            driver: interface.and_then(|it| it.driver.clone()),
            speed_mbit_s: interface.and_then(|it| it.speed_mbit_s),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use kadenz_record::run::model::Kind;
    use kadenz_record::run::network::{Flow, Interface, ToldBy};

    use super::*;
    use crate::testing::{named, run_of, series_of};

    /// A run whose round trips all take as long, over these links.
    pub(crate) fn round_trips(folder: &str, rtt_ns: i64, path: Option<WirePath>) -> Summary {
        let mut run = run_of(
            folder,
            vec![series_of(named(RTT, Kind::Latency), &[(rtt_ns, 1000)])],
        );
        run.run.network = Some(Network {
            payload_bytes: 200,
            flows: vec![Flow {
                sent: 1001,
                answered: 1000,
                lost: 1,
                ..Flow::default()
            }],
            interface: Some(Interface {
                name: "eth0".into(),
                driver: Some("r8169".into()),
                speed_mbit_s: Some(1000),
                ..Interface::default()
            }),
            path,
            ..Network::default()
        });
        run
    }

    pub(crate) fn path(links: &[u64], round_trip_ns: u64) -> WirePath {
        WirePath {
            links_bit_s: links.iter().map(|megabits| megabits * 1_000_000).collect(),
            told_by: ToldBy::User,
            round_trip_ns,
        }
    }

    /// Enner's baseline and two of its switches.
    pub(crate) fn post() -> [Summary; 3] {
        [
            round_trips("baseline", 193_800, Some(path(&[100, 100], 81_280))),
            round_trips("ksz8863", 237_300, Some(path(&[100, 100, 100], 121_920))),
            round_trips("gs105", 244_800, Some(path(&[100, 1000, 100], 85_344))),
        ]
    }

    #[test]
    fn the_post_s_table_comes_out() {
        let rows = rows(&post());
        let near = |ns: Option<i64>, post_us: f64| {
            let us = ns.unwrap_or(0) as f64 / 1000.0;
            assert!((us - post_us).abs() < 0.3, "{us} is not Enner's {post_us}");
        };
        near(rows[0].round_trip.measured_ns, 193.8);
        near(rows[0].round_trip.not_on_wire_ns(), 112.6);
        for (row, (rtt, overhead)) in rows[1..].iter().zip([(43.5, 2.9), (51.0, 47.0)]) {
            let added = row.beyond_baseline.unwrap_or_default();
            near(added.measured_ns, rtt);
            near(added.not_on_wire_ns(), overhead);
        }
        assert_eq!((rows[2].packets, rows[2].lost), (1001, 1));
        assert_eq!(rows[0].host.driver.as_deref(), Some("r8169"));
        assert_eq!(rows[0].beyond_baseline, None);
    }

    #[test]
    fn runs_without_packets_have_no_row() {
        let silent = || run_of("silent", Vec::new());
        let [baseline, other, _] = post();
        assert_eq!(rows(&[baseline.clone(), silent()]), []);
        assert_eq!(rows(&[silent(), baseline.clone(), other.clone()]), []);
        let with = rows(&[baseline, silent(), other]);
        let places: Vec<usize> = with.iter().map(|row| row.run).collect();
        assert_eq!(places, [0, 2]);
    }
}
