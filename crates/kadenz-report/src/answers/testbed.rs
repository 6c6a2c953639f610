//! The parts of a round trip in a testbed: the network of the topology, the testbed's own error, and the hosts.

use kadenz_record::run::network::RTT;
use kadenz_record::run::testbed::{Modelled, Testbed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::figures::plural;
use crate::numbers::{span, thousands};
use crate::statistics::Percent;
use crate::summary::{Summary, TestbedError};

/// A row of the table of measurement, model and error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Beside {
    /// Its name in words.
    #[serde(skip)]
    pub name: &'static str,
    /// Number of round trips or frames that arrived; the figures are of these.
    pub count: u64,
    /// Number of those that did not, where known.
    #[serde(skip)]
    pub lost: Option<u64>,
    /// Median, in nanoseconds.
    pub p50_ns: Option<i64>,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: Option<i64>,
    /// The largest, in nanoseconds.
    pub max_ns: Option<i64>,
}

/// The round trips as measured, as modelled, and the testbed's own error, as far as each is known; empty for a run
/// outside of a testbed.
#[must_use]
pub(crate) fn side_by_side(summary: &Summary) -> Vec<Beside> {
    let Some(testbed) = of(summary) else {
        return Vec::new();
    };
    let measured = summary.named(RTT).map(|rtt| Beside {
        name: "round trips as measured",
        count: rtt.count,
        lost: None,
        p50_ns: rtt.percentile(Percent::P50),
        p99_ns: rtt.percentile(Percent::P99),
        max_ns: rtt.max_ns,
    });
    let model = testbed.model.as_ref().map(by_model);
    let error = summary.testbed_error.as_ref().map(own_error);
    [measured, model, error].into_iter().flatten().collect()
}

pub(crate) fn by_model(model: &Modelled) -> Beside {
    let signed = |ns| Some(i64::try_from(ns).unwrap_or(i64::MAX));
    Beside {
        name: "by the model, with ideal hosts",
        count: model.round_trips.saturating_sub(model.lost),
        lost: Some(model.lost),
        p50_ns: signed(model.p50_ns),
        p99_ns: signed(model.p99_ns),
        max_ns: signed(model.max_ns),
    }
}

fn own_error(error: &TestbedError) -> Beside {
    Beside {
        name: if error.complete {
            "the testbed's own error, a frame"
        } else {
            "the testbed's own error, a frame so far"
        },
        count: error.frames,
        lost: None,
        p50_ns: error.p50_ns,
        p99_ns: error.p99_ns,
        max_ns: error.max_ns,
    }
}

/// The testbed of a run.
#[must_use]
pub(crate) fn of(summary: &Summary) -> Option<&Testbed> {
    summary.run.network.as_ref()?.testbed.as_ref()
}

/// Testbed, model and error in a few sentences; absent outside of a testbed.
#[must_use]
pub(crate) fn words(summary: &Summary) -> Option<String> {
    let testbed = of(summary)?;
    let mut text = format!(
        "Measured on {} of the testbed {} ({}, {}, {}).",
        testbed.host,
        testbed.topology,
        plural(testbed.hosts.len() as u64, "host", "hosts"),
        plural(testbed.switches.len() as u64, "switch", "switches"),
        plural(testbed.links.len() as u64, "link", "links"),
    );
    let median = summary
        .named(RTT)
        .and_then(|rtt| rtt.percentile(Percent::P50));
    if let Some(model) = testbed.model {
        text += &format!(
            " With ideal hosts a round trip takes {} there by the model",
            span(model.p50_ns as f64)
        );
        if model.lost > 0 {
            text += &format!(
                ", and {} of {} are lost",
                thousands(model.lost),
                thousands(model.round_trips)
            );
        }
        text += &median.map_or_else(
            || ".".to_owned(),
            |ns| format!("; measured were {} in the median.", span(ns as f64)),
        );
    }
    text += &match &summary.testbed_error {
        Some(error) => delivered(error),
        None => format!(
            " How late the testbed itself was stands in its run, {}, which is not beside this one.",
            testbed.run
        ),
    };
    Some(text)
}

fn delivered(error: &TestbedError) -> String {
    let shown = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), |ns| span(ns as f64));
    let (subject, rest) = if error.complete {
        ("The testbed", "")
    } else {
        (
            "Until its run was last written the testbed",
            " Its run is not complete: it still stands, or was killed.",
        )
    };
    format!(
        " {subject} delivered {} frames, in the median {}, in 99 % {}, at most {} later than its \
         topology says; a round trip has two of them.{rest}",
        thousands(error.frames),
        shown(error.p50_ns),
        shown(error.p99_ns),
        shown(error.max_ns),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use kadenz_record::run::model::Kind;
    use kadenz_record::run::network::Network;
    use kadenz_record::run::testbed::{TestbedLink, TestbedSwitch};

    use super::*;
    use crate::testing::{named, run_of, series_of};

    fn link(a: &str, b: &str, megabits: u64) -> TestbedLink {
        TestbedLink {
            between: [a.to_owned(), b.to_owned()],
            bit_s: megabits * 1_000_000,
        }
    }

    /// A run in a testbed of a controller and this many devices on one switch.
    pub(crate) fn in_a_testbed(devices: u32) -> Summary {
        let names = (1..=devices).map(|n| format!("joint-{n}"));
        let links = names.clone().map(|name| link(&name, "s1", 100));
        let rtt = series_of(named(RTT, Kind::Latency), &[(174_000, 1000)]);
        let mut run = run_of("runs/one", vec![rtt]);
        let testbed = Testbed {
            topology: "arm".into(),
            run: "bed".into(),
            host: "controller".into(),
            hosts: std::iter::once("controller".into())
                .chain(names.clone())
                .collect(),
            switches: vec![TestbedSwitch {
                name: "s1".into(),
                forwarding_ns: 4000,
            }],
            links: std::iter::once(link("controller", "s1", 1000))
                .chain(links)
                .collect(),
            model: Some(Modelled {
                round_trips: 1000,
                lost: 0,
                p50_ns: 89_320,
                p99_ns: 89_320,
                max_ns: 89_320,
            }),
        };
        run.run.network = Some(Network {
            testbed: Some(testbed),
            ..Network::default()
        });
        run.testbed_error = Some(TestbedError {
            complete: true,
            frames: 2000,
            p50_ns: Some(1800),
            p99_ns: Some(11_400),
            max_ns: Some(90_000),
        });
        run
    }

    #[test]
    fn the_words_separate_network_hosts_and_error() {
        assert_eq!(
            words(&in_a_testbed(1)).unwrap_or_default(),
            "Measured on controller of the testbed arm (2 hosts, 1 switch, 2 links). With ideal \
             hosts a round trip takes 89.3 us there by the model; measured were 174 us in the median. \
             The testbed delivered 2,000 frames, in the median 1.8 us, in 99 % 11.4 us, at most 90 us \
             later than its topology says; a round trip has two of them."
        );
    }

    #[test]
    fn a_testbed_that_still_stands_has_no_final_counts() {
        let mut standing = in_a_testbed(1);
        standing.testbed_error.as_mut().unwrap().complete = false;
        let text = words(&standing).unwrap_or_default();
        assert!(
            text.contains(" Until its run was last written the testbed delivered 2,000 frames"),
            "{text}"
        );
        assert!(text.ends_with("it still stands, or was killed."), "{text}");
        assert!(side_by_side(&standing)[2].name.ends_with("so far"));
    }

    #[test]
    fn what_the_model_loses_is_reported_and_is_no_round_trip() {
        let mut lossy = in_a_testbed(1);
        let network = lossy.run.network.as_mut().unwrap();
        network
            .testbed
            .as_mut()
            .unwrap()
            .model
            .as_mut()
            .unwrap()
            .lost = 3;
        let text = words(&lossy).unwrap_or_default();
        assert!(
            text.contains("89.3 us there by the model, and 3 of 1,000 are lost; measured"),
            "{text}"
        );
        let model = side_by_side(&lossy)[1];
        assert_eq!((model.count, model.lost), (997, Some(3)));
    }

    #[test]
    fn an_error_that_is_not_there_is_not_nothing() {
        let mut alone = in_a_testbed(1);
        alone.testbed_error = None;
        let text = words(&alone).unwrap_or_default();
        assert!(
            text.contains("in its run, bed, which is not beside"),
            "{text}"
        );
        assert_eq!(side_by_side(&alone).len(), 2);
    }

    #[test]
    fn outside_of_a_testbed_nothing_is_said() {
        let outside = Summary::default();
        assert_eq!(words(&outside), None);
        assert_eq!(side_by_side(&outside), []);
    }
}
