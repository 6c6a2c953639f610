//! Records of a network and a testbed: one with every field, and arbitrary ones.

use kadenz_record::run::network::{
    Broadcasts, Flow, Interface, LostHere, MaxLoss, Network, Places, ToldBy, WirePath,
};
use kadenz_record::run::testbed::{Modelled, Testbed, TestbedLink, TestbedSwitch};
use proptest::option::of;
use proptest::prelude::*;

use crate::text;

/// A network with every field.
pub(crate) fn network() -> Network {
    let text = || "x".to_owned();
    Network {
        payload_bytes: 200,
        flows: vec![Flow {
            device: text(),
            address: text(),
            sent: u64::MAX,
            places: Some(Places::default()),
            ..Flow::default()
        }],
        interface: Some(Interface {
            name: text(),
            kind: Some(text()),
            driver: Some(text()),
            speed_mbit_s: Some(1000),
            mtu_bytes: Some(1500),
        }),
        here: Some(LostHere::default()),
        path: Some(WirePath {
            links_bit_s: vec![u64::MAX],
            told_by: ToldBy::Testbed,
            round_trip_ns: 1,
        }),
        testbed: Some(Testbed {
            topology: text(),
            run: text(),
            host: text(),
            hosts: vec![text()],
            switches: vec![TestbedSwitch {
                name: text(),
                forwarding_ns: u64::MAX,
            }],
            links: vec![TestbedLink {
                between: [text(), text()],
                bit_s: u64::MAX,
            }],
            model: Some(Modelled::default()),
        }),
        foreign: 1,
        broadcasts: Some(Broadcasts {
            concordance: Some(0.5),
            ..Broadcasts::default()
        }),
        max_loss: Some(MaxLoss::Percent(0.5)),
    }
}

/// Arbitrary networks.
pub(crate) fn networks() -> impl Strategy<Value = Network> {
    let places = any::<(u64, u64, u32)>().prop_map(|(answers, sum, lowest)| Places {
        answers,
        sum,
        lowest,
        ..Places::default()
    });
    let flow = (text(), text(), any::<[u64; 7]>(), of(places));
    let flow = flow.prop_map(|(device, address, counts, places)| Flow {
        device,
        address,
        sent: counts[0],
        answered: counts[1],
        lost: counts[2],
        duplicates: counts[3],
        reordered: counts[4],
        late: counts[5],
        longest_loss: counts[6],
        places,
    });
    let facts = (of(text()), of(any::<u32>()), of(any::<u32>()));
    let interface = (text(), facts).prop_map(|(name, (kind, speed_mbit_s, mtu_bytes))| Interface {
        name,
        driver: kind.clone(),
        kind,
        speed_mbit_s,
        mtu_bytes,
    });
    let here = any::<[u64; 3]>().prop_map(|[socket, interface, unsent]| LostHere {
        socket,
        interface,
        unsent,
    });
    let flows = prop::collection::vec(flow, 0..3);
    let around = (of(interface), of(here), of(paths()), of(testbeds()));
    let counts = any::<(u32, u64)>();
    let together = (of(broadcasts()), of(max_losses()));
    (counts, flows, around, together).prop_map(
        |((payload_bytes, foreign), flows, (interface, here, path, testbed), together)| Network {
            payload_bytes,
            flows,
            interface,
            here,
            path,
            testbed,
            foreign,
            broadcasts: together.0,
            max_loss: together.1,
        },
    )
}

fn max_losses() -> impl Strategy<Value = MaxLoss> {
    let percent = (0.0..=100.0).prop_map(MaxLoss::Percent);
    prop_oneof![any::<u64>().prop_map(MaxLoss::Packets), percent]
}

fn broadcasts() -> impl Strategy<Value = Broadcasts> {
    (any::<[u64; 3]>(), of(crate::number()), any::<u32>()).prop_map(
        |([sent, complete, most_at_once], concordance, answer_bytes)| Broadcasts {
            sent,
            complete,
            concordance,
            most_at_once,
            answer_bytes,
        },
    )
}

fn paths() -> impl Strategy<Value = WirePath> {
    let told_by = prop::sample::select(vec![
        ToldBy::User,
        ToldBy::Testbed,
        ToldBy::Interface,
        ToldBy::Loopback,
    ]);
    let links = prop::collection::vec(any::<u64>(), 0..4);
    (links, told_by, any::<u64>()).prop_map(|(links_bit_s, told_by, round_trip_ns)| WirePath {
        links_bit_s,
        told_by,
        round_trip_ns,
    })
}

fn testbeds() -> impl Strategy<Value = Testbed> {
    let switch = (text(), any::<u64>()).prop_map(|(name, forwarding_ns)| TestbedSwitch {
        name,
        forwarding_ns,
    });
    let link = (text(), text(), any::<u64>()).prop_map(|(a, b, bit_s)| TestbedLink {
        between: [a, b],
        bit_s,
    });
    let model =
        any::<[u64; 5]>().prop_map(|[round_trips, lost, p50_ns, p99_ns, max_ns]| Modelled {
            round_trips,
            lost,
            p50_ns,
            p99_ns,
            max_ns,
        });
    let names = (text(), text(), text(), prop::collection::vec(text(), 0..3));
    let parts = (
        prop::collection::vec(switch, 0..2),
        prop::collection::vec(link, 0..3),
    );
    (names, parts, of(model)).prop_map(
        |((topology, run, host, hosts), (switches, links), model)| Testbed {
            topology,
            run,
            host,
            hosts,
            switches,
            links,
            model,
        },
    )
}

/// The request of a matrix, with every field.
pub(crate) const TUNE: &str = r#"{"claim_percent": 99.9, "loads": ["heavy"], "cells": ["PM"], "priority": 80,
    "shield": [1], "not_granted": [{"measure": "I", "sentence": "no right"}]}"#;
