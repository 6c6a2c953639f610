#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::time::Duration;

use kadenz_rt::beat::Interval;
use kadenz_udp::device::{Answer, Echo, Policy};
use kadenz_udp::wire::Probe;
use proptest::prelude::*;

use super::super::density::{Densities, Density};
use super::super::{Destination, SocketReceiving};
use super::*;

const RUN: RunId = RunId(0xCAFE);

fn device(number: u8) -> Device {
    Device {
        name: format!("d{number}"),
        address: SocketAddr::from(([10, 0, 0, number], 6176)),
    }
}

fn plan(devices: u8, warm_up: u32) -> ProbePlan {
    let interval = Interval::try_from(Duration::from_millis(10)).unwrap();
    ProbePlan {
        warm_up,
        timeout: Duration::from_millis(100),
        receiving: SocketReceiving::Blocking,
        device_stamps: true,
        device_resolution: Duration::from_nanos(1),
        ..ProbePlan::new((1..=devices).map(device).collect(), interval)
    }
}

/// The answer of a correct device to the packet of this number.
fn answer(sequence: u32, sent_ns: i64) -> Vec<u8> {
    let probe = Probe {
        run: RUN,
        sequence: Sequence(sequence),
        stamp: Stamp(sent_ns.cast_unsigned()),
        stamps: true,
        token: None,
    };
    let mut bytes = vec![0; 200];
    probe.write(&mut bytes).unwrap();
    let mut echo = Echo::new(Policy::default());
    assert_eq!(echo.on_datagram(5_000, &mut bytes), Answer::Reply(200));
    echo.stamp_departure(6_000, &mut bytes);
    bytes
}

#[test]
fn an_answer_is_measured_against_beat_and_departure() {
    let plan = plan(2, 0);
    let mut counts = PacketCounts::new(&plan, RUN);
    counts.leaving(0, 10_000_000, 10_004_000);
    let first = counts.answered(plan.devices[1].address, &answer(0, 10_004_000), 10_200_000);
    let first = first.unwrap();
    assert_eq!(
        (first.device, first.intended_ns, first.sent_ns),
        (1, 10_000_000, 10_004_000)
    );
    assert_eq!(first.device_stamps.unwrap().held_ns(), 1_000);
    assert!(!first.completes && !counts.is_complete(0));
    let second = counts.answered(plan.devices[0].address, &answer(0, 10_004_000), 10_202_000);
    assert!(second.unwrap().completes && counts.is_complete(0) && counts.is_settled());
}

#[test]
fn what_is_not_believed_is_foreign_and_changes_nothing() {
    let plan = plan(1, 0);
    let mut counts = PacketCounts::new(&plan, RUN);
    counts.leaving(0, 0, 4_000);
    let (known, stranger) = (plan.devices[0].address, device(9).address);
    let good = answer(0, 4_000);
    let mut question = good.clone();
    question[0] = 0xA1;
    let of_another_run = {
        let mut bytes = good.clone();
        bytes[5] ^= 1;
        bytes
    };
    for (from, bytes) in [
        (stranger, &good),
        (known, &question),
        (known, &of_another_run),
        (known, &answer(0, 4_001)),
        (known, &answer(1, 4_000)),
        (known, &b"GET /".to_vec()),
    ] {
        assert_eq!(counts.answered(from, bytes, 90_000), None);
    }
    assert_eq!(counts.foreign(), 6);
    assert!(counts.answered(known, &good, 90_000).is_some());
}

#[test]
fn packets_that_warm_up_are_not_lost() {
    let plan = plan(1, 2);
    let mut counts = PacketCounts::new(&plan, RUN);
    for sequence in 0..3 {
        counts.leaving(sequence, 0, i64::from(sequence));
    }
    let from = plan.devices[0].address;
    assert_eq!(counts.answered(from, &answer(1, 1), 90_000), None);
    assert!(counts.answered(from, &answer(2, 2), 90_000).is_some());
    let flow = &counts.close(&plan.devices)[0];
    assert_eq!((flow.sent, flow.answered, flow.lost), (1, 1, 0));
}

#[test]
fn an_answer_after_the_timeout_is_late_and_its_packet_lost() {
    let plan = plan(1, 0);
    let mut counts = PacketCounts::new(&plan, RUN);
    for sequence in 0..5 {
        counts.leaving(sequence, 0, 0);
        let bytes = answer(sequence, 0);
        let late = counts.answered(plan.devices[0].address, &bytes, 100_000_001);
        assert_eq!(late.unwrap().timing, Timing::Late);
    }
    let flow = &counts.close(&plan.devices)[0];
    assert_eq!(
        (flow.sent, flow.answered, flow.lost, flow.late),
        (5, 0, 5, 5)
    );
    assert_eq!(flow.longest_loss, 5, "what is late is lost in a row, too");
}

/// A plan with a broadcast for all devices.
fn broadcasting(devices: u8) -> ProbePlan {
    ProbePlan {
        destination: Destination::Broadcast(device(255).address),
        ..plan(devices, 0)
    }
}

#[test]
fn answers_to_a_broadcast_have_places() {
    let plan = broadcasting(3);
    let mut counts = PacketCounts::new(&plan, RUN);
    let from = |number: usize| plan.devices[number].address;
    for sequence in 0..5 {
        counts.leaving(sequence, 0, 0);
        let bytes = answer(sequence, 0);
        for (place, device) in [2, 0].into_iter().enumerate() {
            let reply = counts.answered(from(device), &bytes, 9_000).unwrap();
            assert_eq!((reply.place, reply.completes), (Some(place), false));
        }
        assert_eq!(counts.answered(from(0), &bytes, 9_000), None, "a duplicate");
    }
    // The device 1 answers only the last one, and late.
    let late = counts
        .answered(from(1), &answer(4, 0), 200_000_000)
        .unwrap();
    assert_eq!((late.place, late.completes), (Some(2), true));
    assert_eq!(late.timing, Timing::Late);
    let broadcasts = counts.broadcasts().unwrap();
    assert_eq!(
        (broadcasts.sent, broadcasts.complete, broadcasts.concordance),
        (5, 1, None)
    );
    let flows = counts.close(&plan.devices);
    let places = flows.iter().map(|flow| flow.places.unwrap());
    let places: Vec<_> = places.map(|it| (it.answers, it.first, it.last)).collect();
    assert_eq!(places, [(5, 0, 0), (1, 0, 1), (5, 5, 0)]);
}

#[test]
fn packets_of_their_own_have_no_places_among_others() {
    let plan = plan(2, 0);
    let mut counts = PacketCounts::new(&plan, RUN);
    counts.leaving(0, 0, 0);
    counts.answered(plan.devices[0].address, &answer(0, 0), 9_000);
    assert_eq!(counts.broadcasts(), None);
    let flows = counts.close(&plan.devices);
    assert!(flows.iter().all(|flow| flow.places.is_none()));
}

#[test]
fn finding_the_order_and_the_density_of_answers_allocates_nothing() {
    let plan = broadcasting(40);
    let mut counts = PacketCounts::new(&plan, RUN);
    let mut densities = Densities::new(40);
    let answers: Vec<Vec<u8>> = (0..200).map(|sequence| answer(sequence, 0)).collect();
    let mut last: Option<Density> = None;
    let counted = allocation_counter::measure(|| {
        for (sequence, bytes) in (0..).zip(&answers) {
            counts.leaving(sequence, 0, 0);
            // Every tenth lacks an answer, and is given up.
            let all = plan.devices.iter().rev();
            for device in all.skip(usize::from(sequence % 10 == 0)) {
                let reply = counts.answered(device.address, bytes, 9_000);
                let density =
                    reply.and_then(|it| densities.came(&it, it.place.map(|at| at as i64)));
                last = density.or(last);
            }
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(
        last.unwrap(),
        Density {
            spread_ns: 39,
            half_ns: 19
        }
    );
    let broadcasts = counts.broadcasts().unwrap();
    assert_eq!((broadcasts.sent, broadcasts.complete), (200, 180));
}

proptest! {
    /// Whatever is lost, doubled or reordered: every packet is counted once, in the right category.
    #[test]
    fn every_packet_is_counted_once(
        copies in proptest::collection::vec(0_usize..3, 1..200),
        shuffle in any::<u64>(),
    ) {
        let plan = plan(1, 0);
        let mut counts = PacketCounts::new(&plan, RUN);
        let mut answers: Vec<u32> = Vec::new();
        for (sequence, copies) in copies.iter().enumerate() {
            counts.leaving(sequence as u32, 0, 0);
            answers.extend(std::iter::repeat_n(sequence as u32, *copies));
        }
        let mixed = |at: &u32| (u64::from(*at) ^ shuffle).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        answers.sort_by_key(mixed);
        let (mut answered, mut reordered, mut highest) = (0, 0, None);
        let mut seen = std::collections::BTreeSet::new();
        for sequence in &answers {
            let reply = counts.answered(plan.devices[0].address, &answer(*sequence, 0), 1000);
            let new = seen.insert(*sequence);
            prop_assert_eq!(reply.is_some(), new);
            answered += u64::from(new);
            let behind = highest.is_some_and(|it| *sequence < it);
            reordered += u64::from(new && behind);
            highest = highest.max(Some(*sequence));
        }
        let flow = &counts.close(&plan.devices)[0];
        prop_assert_eq!(flow.sent, copies.len() as u64);
        prop_assert_eq!(flow.answered, answered);
        prop_assert_eq!(flow.lost, flow.sent - answered);
        prop_assert_eq!(flow.duplicates, answers.len() as u64 - answered);
        prop_assert_eq!(flow.reordered, reordered);
    }
}
