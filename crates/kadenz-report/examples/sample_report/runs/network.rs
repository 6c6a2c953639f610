//! Twelve seconds of round trips at 1 kHz to one of a robot's actuators.

use kadenz_record::run::model::{Kind, Series, TuningMeasure};
use kadenz_record::run::network::{
    Flow, Interface, LATENESS, LostHere, Network, RECEIVE_STACK, RESPONSE, RTT, SEND_STACK, ToldBy,
    WIRE_AND_DEVICE, WirePath,
};
use kadenz_report::summary::{SeriesSummary, Summary};

use super::finished;
use crate::tally::{Chance, Tally};

const PERIOD_NS: u64 = 1_000_000;
const PACKETS: u64 = 12_000;
const DEADLINE_NS: u64 = 400_000;
const NAMES: [&str; 6] = [
    RESPONSE,
    LATENESS,
    RTT,
    SEND_STACK,
    WIRE_AND_DEVICE,
    RECEIVE_STACK,
];

/// The run; it has no folder.
pub(crate) fn round_trips() -> Summary {
    let mut run = finished(
        "udp-send",
        "2026-05-09T08:02:11.004Z",
        PACKETS * PERIOD_NS,
        "kadenz udp send --to 10.0.0.5 --rate 1kHz --deadline 400us",
    );
    run.network = Some(network());
    Summary {
        folder: "round-trips-2026-05-09".into(),
        run,
        series: series(),
        ..Summary::default()
    }
}

fn network() -> Network {
    let flow = Flow {
        device: "left-knee".into(),
        address: "10.0.0.5:6176".into(),
        sent: PACKETS,
        answered: PACKETS,
        ..Flow::default()
    };
    Network {
        payload_bytes: 200,
        flows: vec![flow],
        interface: Some(Interface {
            name: "eth0".into(),
            kind: Some("wired".into()),
            driver: Some("igb".into()),
            speed_mbit_s: Some(100),
            mtu_bytes: Some(1500),
        }),
        here: Some(LostHere::default()),
        path: Some(WirePath {
            links_bit_s: vec![100_000_000, 100_000_000],
            told_by: ToldBy::User,
            round_trip_ns: 81_280,
        }),
        ..Network::default()
    }
}

fn series() -> Vec<SeriesSummary> {
    let mut chance = Chance(11);
    let mut tallies = NAMES.map(|name| Tally::new((name == RESPONSE).then_some(DEADLINE_NS)));
    for packet in 0..PACKETS {
        let values = values(&mut chance);
        for (tally, value) in tallies.iter_mut().zip(values) {
            if packet % 1000 == 0 {
                tally.interval(packet as f64 / 1000.0, 1.0);
            }
            tally.record(value, 1);
        }
    }
    let summary =
        |(tally, name): (Tally, &str)| tally.summary(described(name), PACKETS * PERIOD_NS);
    tallies.into_iter().zip(NAMES).map(summary).collect()
}

/// One packet's values, in the order of the names.
fn values(chance: &mut Chance) -> [f64; 6] {
    let busy = chance.happens(0.003);
    let wake_up = chance.bell(6_400.0, 700.0).max(3_100.0) + chance.tail(500.0);
    let send = chance.bell(11_000.0, 900.0).max(7_000.0) + chance.tail(700.0);
    let wire = chance.bell(194_000.0, 600.0) + if busy { chance.tail(60_000.0) } else { 0.0 };
    let receive = chance.bell(14_000.0, 1_500.0).max(8_000.0) + chance.tail(1_200.0);
    let rtt = send + wire + receive;
    [wake_up + rtt, wake_up, rtt, send, wire, receive]
}

fn described(name: &str) -> Series {
    let kind = if name == LATENESS {
        Kind::Lateness
    } else {
        Kind::Latency
    };
    Series {
        expected_interval_ns: Some(PERIOD_NS),
        tuning: vec![TuningMeasure::granted("policy", "SCHED_FIFO 80")],
        ..super::series(name, kind)
    }
}
