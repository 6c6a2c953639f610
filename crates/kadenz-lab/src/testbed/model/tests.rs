//! The model against cases computed by hand, to the nanosecond.

use super::*;
use crate::testbed::topology::{Share, ready};

const HOP_100M: u64 = 20_320;
const HOP_1G: u64 = 2_032;

fn asking(count: u32, receivers: Receivers) -> Asking {
    Asking {
        payload: Payload::new(200).unwrap(),
        interval: Picoseconds::from_ns(10_000_000),
        count,
        receivers,
    }
}

fn built_in(name: &str) -> Topology {
    Topology::parse(ready(name).unwrap()).unwrap()
}

/// Round trips in nanoseconds, which are whole here; `None` for those without an answer.
fn times_ns(modelled: &Modelled) -> Vec<Option<u64>> {
    let times = modelled.round_trips.iter().map(RoundTrip::time);
    times
        .map(|time| {
            time.map(|time| {
                assert!(time.as_ps().is_multiple_of(1000), "{time}");
                time.as_ns()
            })
        })
        .collect()
}

fn times_of(name: &str) -> u64 {
    let modelled = run(&built_in(name), &asking(5, Receivers::Each)).unwrap();
    let times = times_ns(&modelled);
    assert_eq!(times.len(), 5);
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
    times[0].unwrap()
}

/// Each way: hops, 10 ns of cable each, and what each switch takes.
#[test]
fn the_switches_of_the_post() {
    assert_eq!(times_of("baseline"), 2 * (2 * HOP_100M + 2 * 10 + 4_000));
    assert_eq!(
        times_of("extra-ksz8863"),
        2 * (3 * HOP_100M + 3 * 10 + 4_000 + 1_450)
    );
    assert_eq!(
        times_of("extra-rb750"),
        2 * (2 * HOP_100M + HOP_1G + 3 * 10 + 4_000 + 1_800)
    );
}

#[test]
fn forty_answers_queue_at_the_controller() {
    let modelled = run(&built_in("forty-devices"), &asking(2, Receivers::Broadcast)).unwrap();
    let times = times_ns(&modelled);
    let first = 2 * (HOP_1G + HOP_100M + 2 * 10 + 4_000);
    let expected: Vec<_> = (0..40).map(|n| Some(first + n * 2_128)).collect();
    assert_eq!(times[..40], expected);
    assert_eq!(times[40..], expected);
}

#[test]
fn forty_questions_wait_for_each_other_at_the_controller() {
    let modelled = run(&built_in("forty-devices"), &asking(2, Receivers::Each)).unwrap();
    let alone = 2 * (HOP_1G + HOP_100M + 2 * 10 + 4_000);
    // In the second beat the switch knows all addresses; each packet leaves 2.128 us after the last.
    let expected: Vec<_> = (0..40).map(|n| Some(alone + n * 2_128)).collect();
    assert_eq!(times_ns(&modelled)[40..], expected);
}

#[test]
fn a_small_buffer_loses_the_last_answers() {
    let mut topology = built_in("forty-devices");
    topology.switches[0].buffer = crate::testbed::ByteSize(10 * 246);
    let modelled = run(&topology, &asking(1, Receivers::Broadcast)).unwrap();
    let came = times_ns(&modelled).iter().flatten().count();
    assert_eq!(came, 10);
    let dropped: u64 = modelled.lanes.iter().map(|lane| lane.overflowed).sum();
    assert_eq!(dropped, 30);
}

#[test]
fn a_device_takes_its_time_to_answer() {
    let mut topology = built_in("baseline");
    topology.hosts[1].answer = "30us".parse().unwrap();
    let modelled = run(&topology, &asking(1, Receivers::Each)).unwrap();
    assert_eq!(times_ns(&modelled), [Some(89_320 + 30_000)]);
}

#[test]
fn a_datagram_of_several_frames_counts_when_its_last_has_come() {
    let topology = built_in("baseline");
    let asking = Asking {
        payload: Payload::new(1473).unwrap(),
        ..asking(1, Receivers::Each)
    };
    // As wire::Chain computes it, with forwarding and cable.
    let bits = |bytes: u64| bytes * 80;
    let wire = bits(8 + 1518) + bits(8 + 1518 + 12) + bits(8 + 64);
    let modelled = run(&topology, &asking).unwrap();
    assert_eq!(times_ns(&modelled), [Some(2 * (wire + 2 * 10 + 4_000))]);
}

#[test]
fn a_frame_that_comes_twice_counts_once() {
    let mut topology = built_in("baseline");
    let asking = Asking {
        payload: Payload::new(20_000).unwrap(),
        ..asking(1, Receivers::Each)
    };
    let without = times_ns(&run(&topology, &asking).unwrap())[0];
    // The device's link alone: behind a switch, the second frames would delay all that follow.
    let link = topology.links.last_mut().unwrap();
    link.faults.duplicate = Share::new(1.0).unwrap();
    assert!(times_ns(&run(&topology, &asking).unwrap())[0] >= without);
}

#[test]
fn a_pulled_cable_costs_what_is_asked_meanwhile() {
    let modelled = run(&built_in("cut-cable"), &asking(800, Receivers::Each)).unwrap();
    let lost: Vec<usize> = times_ns(&modelled)
        .iter()
        .enumerate()
        .filter_map(|(at, time)| time.is_none().then_some(at))
        .collect();
    // Cut from 5 to 7 s; a packet that is sent on the beat at 7 s finds it restored.
    assert_eq!(lost, (500..700).collect::<Vec<_>>());
}

#[test]
fn a_redundant_path_costs_what_is_asked_until_it_is_found() {
    let modelled = run(&built_in("redundant-path"), &asking(800, Receivers::Each)).unwrap();
    let times = times_ns(&modelled);
    let direct = 2 * (3 * HOP_100M + 3 * 10 + 2 * 4_000);
    let around = 2 * (4 * HOP_100M + 4 * 10 + 3 * 4_000);
    assert_eq!(times[499], Some(direct));
    let lost = times.iter().filter(|time| time.is_none()).count();
    assert_eq!(lost, 5, "50 ms until it is seen");
    assert_eq!(times[505], Some(around));
    // Restored at 7 s, noticed 50 ms later.
    assert_eq!((times[704], times[705]), (Some(around), Some(direct)));
}

/// 43 frames of 1446 bytes come to s1 at 1 Gbit/s and leave it at 100 Mbit/s. A packet on the same beat meets the first
/// of them on its way.
#[test]
fn a_question_waits_behind_video() {
    let topology = built_in("cross-traffic");
    let asking = Asking {
        interval: topology.traffic[0].interval,
        ..asking(1, Receivers::Each)
    };
    let modelled = run(&topology, &asking).unwrap();
    let bits = |bytes: u64| bytes * 80;
    // s1 has the first video frame, of 1446 bytes, after 11.632 us, and one each 11.728 us after it; the packet after
    // 20.32 us. It is the second to be sent on; nothing waits on the way back.
    let video = bits(8 + 1446) / 10 + bits(8 + 1446 + 12);
    let there = video + 4_000 + 10 + HOP_100M + 10 + 4_000 + HOP_100M + 10;
    let back = 3 * HOP_100M + 2 * 4_000 + 3 * 10;
    assert_eq!(times_ns(&modelled), [Some(there + back)]);
    assert_eq!(
        modelled.traffic,
        2 * 43,
        "a beat's burst, and the one on the next"
    );
}

#[test]
fn a_controller_and_a_device_are_required() {
    let mut topology = built_in("baseline");
    topology.hosts[1].role = Role::Bystander;
    let error = run(&topology, &asking(1, Receivers::Each)).unwrap_err();
    assert!(error.to_string().contains("role = \"device\""), "{error}");
    topology.hosts[0].role = Role::Device;
    let error = run(&topology, &asking(1, Receivers::Each)).unwrap_err();
    assert!(
        error.to_string().contains("role = \"controller\""),
        "{error}"
    );
    let error = run(&built_in("baseline"), &asking(u32::MAX, Receivers::Each)).unwrap_err();
    assert!(error.to_string().contains("shorter"), "{error}");
}
