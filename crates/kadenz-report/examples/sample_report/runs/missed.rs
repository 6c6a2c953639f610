//! A check on a virtual machine that missed its deadline: wake-ups, round trips and messages, and the
//! tunings that were tried after it.

use std::error::Error;
use std::path::Path;

use kadenz_record::run::messages::{
    DECODE, KERNEL_TO_INLET, Messages, ONE_WAY, ONE_WAY_FROM_SEND, PUBLISH, PUBLISH_LATENESS,
    QUEUE, Subscriber,
};
use kadenz_record::run::model::{Kind, Series, TuningMeasure, Warning};
use kadenz_report::summary::{SeriesSummary, Summary};

use super::check::{self, Lateness};
use super::{network, tune};
use crate::tally::{Chance, Tally};

const MESSAGES: u64 = 6000;

/// Names of the series of messages, and about how long each takes.
const OF_MESSAGES: [(&str, f64); 7] = [
    (ONE_WAY, 94_000.0),
    (ONE_WAY_FROM_SEND, 88_000.0),
    (PUBLISH_LATENESS, 28_000.0),
    (PUBLISH, 21_000.0),
    (KERNEL_TO_INLET, 38_000.0),
    (QUEUE, 17_000.0),
    (DECODE, 1_800.0),
];

/// The run; the tunings lie in its folder below `out`.
pub(crate) fn missed(out: &Path) -> Result<Summary, Box<dyn Error>> {
    tune::tried(out)?;
    let realtime: Lateness = |chance, cycle| 2.5 * check::ordinary(chance, cycle);
    let ordinary: Lateness = |chance, cycle| 4.0 * check::ordinary(chance, cycle);
    let mut summary = check::summary("missed-2026-05-09", 3, ordinary);
    let about = "a beat kept at SCHED_FIFO 80";
    summary.series[0] = check::series("realtime", about, Vec::new(), 5, realtime);
    let round_trips = network::round_trips();
    summary.run.network = round_trips.run.network;
    summary.series.extend(round_trips.series);
    summary.run.messages = Some(messages());
    summary.series.extend(OF_MESSAGES.map(of_messages));
    for series in &mut summary.series {
        if !["realtime", "ordinary"].contains(&series.series.name.as_str()) {
            series.verdict = None;
        }
        if series.series.name != "ordinary" {
            series.series.tuning = throttled();
        }
    }
    summary.folder = out.join("runs/missed-2026-05-09");
    summary.run.host.cpu = Some("AMD EPYC".into());
    summary.run.host.virtualisation = Some("kvm, docker".into());
    summary.warnings = vec![Warning::new(
        "virtualisation",
        "this is a virtual machine (kvm): the host preempts this machine at any time, invisibly \
         to the guest; measurements here do not carry over to bare metal (seen: CPUID leaf \
         0x40000000: KVMKVMKVM)",
        Some(
            "measure on bare metal; else give the machine whole CPUs (virsh vcpupin, no overcommitment)",
        ),
    )];
    Ok(summary)
}

fn messages() -> Messages {
    Messages {
        url: "udpm://239.255.76.67:7667?ttl=0".into(),
        published: MESSAGES,
        subscribers: vec![Subscriber {
            name: "loopback".into(),
            received: MESSAGES,
            ..Subscriber::default()
        }],
        ..Messages::default()
    }
}

fn of_messages((name, about_ns): (&str, f64)) -> SeriesSummary {
    let mut chance = Chance(about_ns as u64);
    let mut tally = Tally::new(None);
    tally.record_at_1_khz(MESSAGES, |_| {
        let value = chance.bell(about_ns, about_ns / 12.0) + chance.tail(about_ns / 9.0);
        value.max(100.0)
    });
    let series = Series {
        expected_interval_ns: Some(1_000_000),
        ..super::series(name, Kind::Latency)
    };
    tally.summary(series, MESSAGES * 1_000_000)
}

/// Granted, but with a reason to read.
fn throttled() -> Vec<TuningMeasure> {
    let reason = "the RT throttle is on: real-time threads that leave ordinary ones no time are \
                  stopped for 50 ms in every 1000 ms (kernel.sched_rt_runtime_us = 950000)";
    vec![
        TuningMeasure {
            reason: Some(reason.into()),
            remedy: Some(
                "sleep in every cycle; or sudo sysctl -w kernel.sched_rt_runtime_us=-1, after which a \
                 runaway real-time thread can hang the machine"
                    .into(),
            ),
            ..TuningMeasure::granted("policy", "SCHED_FIFO 80")
        },
        TuningMeasure::granted("memory_lock", "all pages"),
        TuningMeasure::granted("sleeper", "nanosleep"),
    ]
}
