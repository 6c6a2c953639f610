#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use kadenz_udp::record::{Batcher, Position};
use kadenz_udp::wire::{Packet, Stamp};

use super::*;

const FROM: &str = "10.0.0.1:4000";

fn measured(device: u8, sequence: u32) -> Measurement {
    let sent_ns = 10_000_000 + u64::from(sequence) * 1_000_000;
    Measurement {
        device: SocketAddr::from(([10, 0, 0, device], 6176)).into(),
        sequence: Sequence(sequence),
        intended_ns: sent_ns - 4_000,
        sent_ns,
        outcome: Outcome::Answered {
            received_ns: sent_ns + 200_000,
            device: None,
        },
    }
}

const NOW_NS: i64 = 7_000_000;

/// Feeds the only batch, of these measurements, of a welcomed stream; returns what was taken of it.
fn feed(
    streams: &mut Streams,
    batcher: &mut Batcher<Vec<u8>>,
    all: &[Measurement],
) -> Vec<MeasuredSample> {
    feed_at(streams, batcher, all, Position::Last)
}

fn feed_at(
    streams: &mut Streams,
    batcher: &mut Batcher<Vec<u8>>,
    all: &[Measurement],
    position: Position,
) -> Vec<MeasuredSample> {
    for one in all {
        batcher.push(one).unwrap();
    }
    let bytes = batcher.finish(Stamp(5_000_000), position).to_vec();
    let packet = Packet::parse(&bytes).unwrap();
    let batch = Batch::read(&packet).unwrap();
    streams.welcome(FROM.parse().unwrap(), batch.run(), NOW_NS);
    match streams.enter(FROM.parse().unwrap(), &batch, NOW_NS) {
        BatchOutcome::New(place) => {
            let all = batch.measurements();
            all.filter_map(|it| streams.take(place, &it)).collect()
        }
        BatchOutcome::Strange | BatchOutcome::Again | BatchOutcome::Unusable => Vec::new(),
    }
}

/// Enters an empty batch from a port at a time.
fn enter(streams: &mut Streams, port: u16, position: Position, now_ns: i64) -> BatchOutcome {
    let bytes = batcher(1).finish(Stamp(0), position).to_vec();
    let packet = Packet::parse(&bytes).unwrap();
    streams.enter(at(port), &Batch::read(&packet).unwrap(), now_ns)
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn batcher(run: u32) -> Batcher<Vec<u8>> {
    Batcher::over(vec![0; 1400], RunId(run), None).unwrap()
}

fn streams(streams: usize, devices: usize) -> Streams {
    Streams::new(Bounds { streams, devices })
}

#[test]
fn values_are_the_sender_s_and_times_the_server_s() {
    let mut streams = streams(4, 4);
    let taken = feed(
        &mut streams,
        &mut batcher(1),
        &[measured(5, 1), measured(5, 2)],
    );
    assert_eq!((taken[0].new, taken[1].new), (true, false));
    assert_eq!(taken[0].rtt.value_ns, 200_000);
    assert_eq!(taken[0].response.value_ns, 204_000);
    // The server's clock was 2 ms ahead when the first batch came.
    assert_eq!(taken[0].rtt.actual_ns, 11_200_000 + 2_000_000);
    assert_eq!(streams.name(0), "10.0.0.5");
}

#[test]
fn what_was_not_heard_of_is_lost() {
    let mut streams = streams(4, 4);
    feed(
        &mut streams,
        &mut batcher(1),
        &[measured(5, 1), measured(5, 4), measured(5, 2)],
    );
    let flow = &streams.flows()[0];
    assert_eq!(
        (flow.sent, flow.answered, flow.lost, flow.reordered),
        (4, 3, 1, 1)
    );
}

#[test]
fn what_is_reported_lost_is_lost_also_of_a_device_that_never_answered() {
    let lost = |device: u8, sequence: u32| Measurement {
        outcome: Outcome::Lost,
        ..measured(device, sequence)
    };
    let mut streams = streams(4, 4);
    let all = [measured(5, 0), lost(5, 1), lost(5, 2), lost(6, 0)];
    let taken = feed(&mut streams, &mut batcher(1), &all);
    assert_eq!(taken.len(), 1);
    let counts = |flow: &Flow| (flow.sent, flow.answered, flow.lost, flow.longest_loss);
    let flows = streams.flows();
    assert_eq!(
        flows.iter().map(counts).collect::<Vec<_>>(),
        [(3, 1, 2, 2), (1, 0, 1, 1)]
    );
    // The device's first answer makes its series, although its losses were known before.
    let mut batcher = batcher(2);
    assert!(feed(&mut streams, &mut batcher, &[lost(7, 0), measured(7, 1)])[0].new);
}

#[test]
fn no_stream_can_take_more_than_there_is() {
    let mut streams = streams(2, 3);
    let all: Vec<Measurement> = (1..=9).map(|device| measured(device, 1)).collect();
    let mut taken = 0;
    for run in 0..50 {
        taken += feed(&mut streams, &mut batcher(run), &all).len();
    }
    assert_eq!(
        taken, 18,
        "values of two streams, of devices with and without a place"
    );
    assert_eq!((streams.streams.len(), streams.flows().len()), (2, 3));
    assert_eq!((streams.refused, streams.strange), (48, 48));
    let again = feed(&mut streams, &mut batcher(0), &all);
    assert!(again.is_empty(), "a batch of this number came before");
}

#[test]
fn a_batch_of_an_unwelcomed_stream_leaves_nothing() {
    let mut streams = streams(2, 2);
    for port in 1..500 {
        let entered = enter(&mut streams, port, Position::Last, 0);
        assert!(matches!(entered, BatchOutcome::Strange));
    }
    assert_eq!(
        (streams.streams.len(), streams.ended(), streams.strange),
        (0, 0, 499)
    );
}

#[test]
fn a_gap_is_counted_at_once_and_only_as_far_as_it_can_be_true() {
    let mut streams = streams(4, 4);
    // The first is accepted; then come 30 numbers that are a million apart, at once.
    let far: Vec<Measurement> = (0..30).map(|n| measured(5, (n << 20) + 1)).collect();
    assert_eq!(feed(&mut streams, &mut batcher(1), &far).len(), 30);
    let flow = &streams.flows()[0];
    assert_eq!((flow.sent, flow.answered, flow.lost), (30, 30, 0));
    // As many as can have been sent in the time were lost.
    let near = [measured(6, 1), measured(6, 5001)];
    feed(&mut streams, &mut batcher(2), &near);
    let flow = &streams.flows()[1];
    assert_eq!((flow.sent, flow.answered, flow.lost), (5001, 2, 4999));
}

#[test]
fn a_silent_stream_makes_room_and_an_active_one_stays() {
    let mut streams = streams(2, 2);
    let run = RunId(1);
    let later_ns = i64::try_from(SILENCE.as_nanos()).unwrap();
    assert!(streams.welcome(at(1), run, 0) && streams.welcome(at(2), run, 0));
    assert!(
        !streams.welcome(at(3), run, later_ns - 1),
        "both spoke lately"
    );
    assert!(
        streams.welcome(at(1), run, later_ns - 1),
        "it is there already"
    );
    enter(&mut streams, 2, Position::Within, later_ns - 1);
    assert!(streams.welcome(at(3), run, later_ns));
    let entered = |streams: &mut Streams, port| enter(streams, port, Position::Within, later_ns);
    assert!(matches!(entered(&mut streams, 1), BatchOutcome::Strange));
    assert!(matches!(entered(&mut streams, 3), BatchOutcome::New(_)));
    assert!(matches!(entered(&mut streams, 2), BatchOutcome::Again));
    assert_eq!(streams.refused, 1);
}

#[test]
fn a_stream_that_ended_makes_room_first_and_stays_counted() {
    let mut streams = streams(2, 2);
    let later_ns = 2 * i64::try_from(SILENCE.as_nanos()).unwrap();
    assert!(streams.welcome(at(1), RunId(1), 0) && streams.welcome(at(2), RunId(1), 0));
    enter(&mut streams, 1, Position::Within, 0);
    enter(&mut streams, 2, Position::Last, 1);
    assert!(streams.welcome(at(3), RunId(1), later_ns));
    let ended = enter(&mut streams, 2, Position::Last, later_ns);
    assert!(matches!(ended, BatchOutcome::Strange));
    assert_eq!(streams.ended(), 1);
}

#[test]
fn a_stream_that_comes_back_finds_its_devices() {
    let mut streams = streams(1, 4);
    let later_ns = i64::try_from(SILENCE.as_nanos()).unwrap();
    let mut batcher = batcher(1);
    let mut feed = |streams: &mut Streams, all: &[Measurement]| {
        feed_at(streams, &mut batcher, all, Position::Within);
    };
    feed(&mut streams, &[measured(5, 1)]);
    assert!(streams.welcome(at(9), RunId(1), NOW_NS + later_ns));
    assert!(streams.welcome(FROM.parse().unwrap(), RunId(1), NOW_NS + 2 * later_ns));
    feed(&mut streams, &[measured(5, 2), measured(6, 1)]);
    let names: Vec<String> = streams.flows().into_iter().map(|it| it.device).collect();
    assert_eq!(names, ["10.0.0.5", "10.0.0.6"]);
}

/// Enters the batch of that number from a port, as the last one or not; returns false where it was not new.
fn enter_number(streams: &mut Streams, port: u16, number: u32, last: bool, now_ns: i64) -> bool {
    let mut batcher = batcher(1);
    for _ in 0..number {
        batcher.finish(Stamp(0), Position::Within);
    }
    let position = if last {
        Position::Last
    } else {
        Position::Within
    };
    let bytes = batcher.finish(Stamp(0), position).to_vec();
    let packet = Packet::parse(&bytes).unwrap();
    let entered = streams.enter(at(port), &Batch::read(&packet).unwrap(), now_ns);
    matches!(entered, BatchOutcome::New(_))
}

/// Welcomes new streams, each so long after the last one that it takes the place of another one.
fn crowd_out(streams: &mut Streams, ports: std::ops::Range<u16>, now_ns: &mut i64) {
    for port in ports {
        *now_ns += i64::try_from(SILENCE.as_nanos()).unwrap();
        assert!(streams.welcome(at(port), RunId(1), *now_ns));
    }
}

#[test]
fn a_stream_that_comes_back_has_lost_what_it_lost_and_nothing_else() {
    let mut streams = streams(1, 4);
    let mut now_ns = 0;
    assert!(streams.welcome(at(1), RunId(1), now_ns));
    for number in [0, 1, 2, 4] {
        assert!(enter_number(&mut streams, 1, number, false, now_ns));
    }
    assert_eq!(streams.lost_batches(), 1);
    crowd_out(&mut streams, 2..4, &mut now_ns);
    assert_eq!(streams.lost_batches(), 1, "also while it is away");
    crowd_out(&mut streams, 1..2, &mut now_ns);
    assert!(enter_number(&mut streams, 1, 5, false, now_ns));
    assert!(
        !enter_number(&mut streams, 1, 4, false, now_ns),
        "it came before"
    );
    assert!(enter_number(&mut streams, 1, 7, true, now_ns));
    assert_eq!(streams.lost_batches(), 2);
    // Its end is counted once, whichever stream takes its place.
    crowd_out(&mut streams, 2..3, &mut now_ns);
    crowd_out(&mut streams, 1..2, &mut now_ns);
    enter_number(&mut streams, 1, 7, true, now_ns);
    assert_eq!((streams.ended(), streams.lost_batches()), (1, 2));
}

#[test]
fn of_streams_that_made_room_a_bounded_number_is_kept_and_no_loss_is_invented() {
    let mut streams = streams(1, 4);
    let mut now_ns = 0;
    assert!(streams.welcome(at(1), RunId(1), now_ns));
    for number in [0, 2] {
        assert!(enter_number(&mut streams, 1, number, false, now_ns));
    }
    crowd_out(&mut streams, 2..100, &mut now_ns);
    assert_eq!(streams.set_aside.len(), KEPT_STREAMS_FACTOR);
    assert_eq!(streams.lost_batches(), 1, "also of a forgotten stream");
    crowd_out(&mut streams, 1..2, &mut now_ns);
    assert!(enter_number(&mut streams, 1, 300, false, now_ns));
    assert_eq!(streams.lost_batches(), 1);
}
