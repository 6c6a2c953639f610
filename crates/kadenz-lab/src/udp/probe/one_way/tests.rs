#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use kadenz_record::run::folder::{RunReader, RunWriter, SeriesSpec};
use kadenz_record::run::model::{EndedBy, Kind, Run, Series};
use kadenz_rt::clock::{MonotonicTime, WallTime};
use kadenz_udp::controller::Timing;

use super::*;

/// An exchange of 30 us there and 50 us back, plus up to 40 us of queueing, with a device whose
/// clock is `ahead_ns` ahead and runs 20 ppm fast.
fn reply(sequence: u32, ahead_ns: u64) -> ProbeReply {
    let sent_ns = u64::from(sequence) * 10_000_000;
    let queued = u64::from(sequence.wrapping_mul(2_654_435_761) >> 16) % 40_000;
    let there = 30_000 + queued;
    let device = |at: u64| at + at / 50_000 + ahead_ns;
    let received_ns = sent_ns + there + 5_000 + 50_000;
    ProbeReply {
        device: 0,
        sequence,
        intended_ns: sent_ns.cast_signed(),
        sent_ns: sent_ns.cast_signed(),
        received_ns: received_ns.cast_signed(),
        timing: Timing::InTime,
        device_stamps: Some(DeviceStamps {
            received_ns: device(sent_ns + there),
            transmitted_ns: device(sent_ns + there + 5_000),
        }),
        place: Some(0),
        completes: true,
    }
}

/// The wall clock of the controller is this far ahead of the run's time.
const LEAD_NS: u64 = 1_700_000_000_000_000_000;

/// The same with a device whose wall clock is `ahead_ns` ahead of the controller's, which both keep.
fn synchronised_reply(sequence: u32, ahead_ns: i64) -> ProbeReply {
    let mut reply = reply(sequence, 0);
    let sent_ns = reply.sent_ns.cast_unsigned();
    let device = |at: u64| (at + LEAD_NS).wrapping_add_signed(ahead_ns);
    let arrived = reply.received_ns.cast_unsigned() - 55_000;
    assert!(arrived > sent_ns);
    reply.device_stamps = Some(DeviceStamps {
        received_ns: device(arrived),
        transmitted_ns: device(arrived + 5_000),
    });
    reply
}

/// The claim that wall clocks agree within this; this machine's is read within 40 ns, and is never set.
fn claim(apart_ns: u64) -> Synchronised {
    let pair = |at: u64| {
        let time = MonotonicTime::from_ns;
        let wall = WallTime::from_unix_ns((at + 20 + LEAD_NS).cast_signed());
        ClockPair::from_readings(time(at), wall, time(at + 40))
    };
    let mut at = 0;
    Synchronised {
        apart_ns,
        offset: WallClockOffset::starting_with(MonotonicTime::from_ns(0), pair(0)),
        read: Box::new(move || {
            at += 1_000_000_000;
            pair(at)
        }),
    }
}

/// Plays these replies; returns the estimator's results, and the recorded ways there and back.
fn played(replies: impl Iterator<Item = ProbeReply>) -> (OneWayFacts, [Vec<i64>; 2]) {
    played_with(None, replies)
}

fn played_with(
    synchronised: Option<Synchronised>,
    replies: impl Iterator<Item = ProbeReply>,
) -> (OneWayFacts, [Vec<i64>; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut run = RunWriter::create(&out, Run::default()).unwrap();
    let mut series = |name: &str| {
        let series = Series {
            name: name.to_owned(),
            kind: Kind::Latency,
            ..Series::default()
        };
        run.series(SeriesSpec { series, raw: true }).unwrap()
    };
    let recorders = [series("there"), series("back")];
    let running = run.start(Duration::from_millis(50)).unwrap();
    let (mut exchanges, mut estimator) = one_way(1, 1, recorders);
    if let Some(synchronised) = synchronised {
        estimator.believe(synchronised);
    }
    replies.for_each(|reply| exchanges.push(&reply));
    drop(exchanges);
    let facts = estimator.run();
    running.finish(EndedBy::Finished).unwrap();
    let reader = RunReader::open(&out).unwrap();
    let values = ["there", "back"].map(|name| {
        let mut values: Vec<i64> = Vec::new();
        let mut samples = reader.samples(name).unwrap();
        let take = |some: &[i64]| values.extend_from_slice(some);
        samples.for_each_value(take).unwrap();
        values
    });
    (facts, values)
}

#[test]
fn both_ways_are_true_within_the_stated_error() {
    let (facts, [there, back]) = played((1..3000).map(|n| reply(n, 5_000_000_000)));
    assert_eq!((facts.settled, facts.unsettled), (2999, 0));
    // Half of the shortest way there and back, and the unknown part of the drift.
    assert!((40_000..80_000).contains(&facts.error_ns), "{facts:?}");
    for (at, value) in there.iter().enumerate() {
        let sequence = at as u32 + 1;
        let queued = i64::from(sequence.wrapping_mul(2_654_435_761) >> 16) % 40_000;
        assert!(
            value.abs_diff(30_000 + queued) <= facts.error_ns,
            "{at}: {value}"
        );
    }
    assert!(back.iter().all(|it| it.abs_diff(50_000) <= facts.error_ns));
}

#[test]
fn a_clock_that_steps_is_not_averaged_over() {
    let stepping = (1..2000).map(|n| reply(n, if n < 1000 { 0 } else { 3_000_000_000 }));
    let (facts, [there, _]) = played(stepping);
    assert_eq!(facts.settled + facts.unsettled, 1999);
    assert!(facts.unsettled > 0, "{facts:?}");
    assert_eq!(there.len() as u64, facts.settled);
}

#[test]
fn synchronised_clocks_give_each_way_as_well_as_they_agree() {
    let replies = (1..3000).map(|n| synchronised_reply(n, 700));
    let (facts, [there, back]) = played_with(Some(claim(1_000)), replies);
    assert_eq!(
        (facts.settled, facts.by_claim, facts.refuted),
        (2999, 2999, 0)
    );
    // The claim, this machine's reading of its clocks, and both resolutions.
    assert!((1_000..1_050).contains(&facts.error_ns), "{facts:?}");
    for (at, value) in there.iter().enumerate() {
        let sequence = at as u32 + 1;
        let queued = i64::from(sequence.wrapping_mul(2_654_435_761) >> 16) % 40_000;
        assert!(value.abs_diff(30_000 + queued) <= facts.error_ns, "{value}");
    }
    assert!(back.iter().all(|it| it.abs_diff(50_000) <= facts.error_ns));
}

#[test]
fn what_exchanges_prove_narrows_a_claim() {
    let replies = || (1..3000).map(|n| synchronised_reply(n, 700));
    let (claimed, _) = played_with(Some(claim(10_000_000)), replies());
    let (fitted, _) = played(replies());
    assert_eq!((claimed.by_claim, claimed.refuted), (2999, 0));
    assert!(
        claimed.error_ns <= fitted.error_ns,
        "{claimed:?} {fitted:?}"
    );
}

#[test]
fn a_claim_that_cannot_be_true_is_refuted_and_the_clock_fitted() {
    // Three milliseconds ahead or behind: one of the ways would take less than no time.
    for ahead_ns in [3_000_000, -3_000_000] {
        let replies = (1..3000).map(|n| synchronised_reply(n, ahead_ns));
        let (facts, [_, back]) = played_with(Some(claim(1_000)), replies);
        assert_eq!((facts.settled, facts.by_claim), (2999, 0));
        assert_eq!(facts.refuted, 1);
        assert!(
            (2_900_000..3_000_000).contains(&facts.beyond_ns),
            "{facts:?}"
        );
        assert!((30_000..80_000).contains(&facts.error_ns), "{facts:?}");
        assert!(back.iter().all(|it| it.abs_diff(50_000) <= facts.error_ns));
    }
}

#[test]
fn a_device_that_stamps_with_another_clock_is_refuted() {
    let replies = (1..500).map(|n| reply(n, 5_000_000_000));
    let (facts, _) = played_with(Some(claim(1_000)), replies);
    assert_eq!((facts.settled, facts.by_claim, facts.refuted), (499, 0, 1));
    assert!(facts.beyond_ns > LEAD_NS / 2, "{facts:?}");
}

#[test]
fn across_a_step_of_this_machine_s_wall_clock_nothing_is_claimed() {
    let mut stepping = claim(1_000);
    let mut steady = claim(1_000);
    stepping.read = Box::new(move || {
        let pair = (steady.read)();
        let wall = WallTime::from_unix_ns(pair.wall().as_unix_ns() + 50_000_000);
        ClockPair::from_readings(pair.monotonic(), wall, pair.monotonic())
    });
    // All of them within the second before the first reading after the step.
    let replies = (1..90).map(|n| synchronised_reply(n, 0));
    let (facts, _) = played_with(Some(stepping), replies);
    assert_eq!((facts.settled, facts.by_claim, facts.refuted), (89, 0, 0));
}
