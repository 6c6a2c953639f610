use std::time::Duration;

use super::*;

const MS: f64 = 1e6;

fn stamp(events: u16, event_ns: u64, command: u16, command_ns: u64) -> StampOutput {
    StampOutput {
        events,
        event_ns,
        command,
        command_ns,
    }
}

#[test]
fn an_event_is_counted_when_it_is_seen_and_when_it_is_acted_on() {
    let mut latencies = Latencies::with_room(1_000, 8);
    latencies.cycle(10_000, stamp(4, 7_300, 4, 9_000));
    assert_eq!(
        latencies.sensor.values(),
        [0; 0],
        "the time of that event is unknown"
    );
    latencies.cycle(11_000, stamp(5, 9_100, 4, 9_000));
    assert_eq!(latencies.sensor.values(), [1_900]);
    latencies.cycle(12_000, stamp(5, 9_100, 4, 9_000));
    latencies.cycle(13_000, stamp(5, 9_100, 5, 12_500));
    latencies.cycle(14_000, stamp(5, 9_100, 5, 12_500));
    assert_eq!(latencies.command.values(), [1_500]);
    assert_eq!(latencies.reaction.values(), [3_400]);
    let summary = latencies.command.summary().unwrap();
    assert_eq!((summary.count, summary.min, summary.p99), (1, 1.5, None));
}

#[test]
fn events_too_close_to_distinguish_are_counted_as_missed() {
    let mut latencies = Latencies::with_room(1_000, 1);
    latencies.cycle(1_000, stamp(65_534, 0, 0, 0));
    latencies.cycle(2_000, stamp(1, 1_500, 0, 0));
    assert_eq!((latencies.missed, latencies.sensor.values().len()), (2, 1));
    latencies.cycle(3_000, stamp(2, 2_500, 0, 0));
    assert_eq!(latencies.sensor.left_out(), 1);
    assert_eq!(latencies.sensor.values(), [500]);
}

#[test]
fn a_percentile_that_few_values_cannot_carry_is_not_given() {
    let mut latency = Latency::with_room(1, 2_000);
    (0..999).for_each(|it| latency.add(it));
    assert_eq!(latency.summary().unwrap().p99, None);
    latency.add(999);
    let summary = latency.summary().unwrap();
    assert_eq!(
        (summary.p50, summary.p99, summary.max),
        (500.0, Some(990.0), 999.0)
    );
    assert_eq!(Latency::with_room(1, 1).summary(), None);
}

#[test]
fn stamps_are_read_from_as_many_bytes_as_the_device_has() {
    use crate::sim::model::stamp::INPUTS;
    assert_eq!(
        StampOutput::read(&[0; INPUTS]),
        Some(StampOutput::default())
    );
    assert_eq!(StampOutput::read(&[0; INPUTS - 1]), None);
}

/// Smallest and largest value of the three, in cycles.
fn spans(experiment: &Experiment) -> [(f64, f64); 3] {
    let measured = measure(experiment).unwrap();
    assert_eq!(measured.missed, 0);
    [&measured.sensor, &measured.command, &measured.reaction].map(|it| {
        let summary = it.summary().unwrap();
        assert!(summary.count > 150, "{summary:?}");
        (summary.min, summary.max)
    })
}

fn short(experiment: Experiment) -> Experiment {
    Experiment {
        cycles: 4_000,
        ..experiment
    }
}

#[track_caller]
fn near(got: (f64, f64), wanted: (f64, f64), tolerance: f64) {
    let apart = (got.0 - wanted.0).abs().max((got.1 - wanted.1).abs());
    assert!(apart < tolerance, "{got:?}, should be {wanted:?}");
}

#[test]
fn the_papers_robot_has_the_papers_latencies() {
    let [sensor, command, reaction] = spans(&short(Experiment::yoon2009()));
    // Some hundred events by chance come within a twentieth of the ends.
    near(sensor, yoon2009::SENSOR, 0.05);
    near(command, yoon2009::COMMAND, 0.01);
    near(reaction, yoon2009::REACTION, 0.05);
}

/// An experiment with SYNC0, where the moment at which devices act and sample is known: `d` behind the beat.
fn with_moment(d: f64) -> Experiment {
    Experiment {
        devices: 12,
        work: Duration::ZERO,
        sync0: Some(Duration::from_nanos((d * MS) as u64)),
        ..short(Experiment::yoon2009())
    }
}

#[test]
fn latencies_follow_from_the_devices_moment_as_the_table_says() {
    for d in [0.3, 0.5, 0.8] {
        let published = with_moment(d);
        let [sensor, command, reaction] = spans(&published);
        near(sensor, (2.0 - d, 3.0 - d), 0.05);
        near(command, (1.0 + d, 1.0 + d), 0.003);
        near(reaction, (3.0, 4.0), 0.05);

        let at_once = Experiment {
            sends: Sends::AtOnce,
            ..published
        };
        let [sensor, command, reaction] = spans(&at_once);
        near(sensor, (2.0 - d, 3.0 - d), 0.05);
        near(command, (d, d), 0.003);
        near(reaction, (2.0, 3.0), 0.05);
    }
}

#[test]
fn waiting_for_the_answers_is_a_cycle_ahead_of_the_paper() {
    let d = 0.6;
    let synchronous = Experiment {
        mode: LoopMode::Synchronous {
            wait: Duration::from_micros(900),
        },
        sends: Sends::AtOnce,
        ..with_moment(d)
    };
    let [sensor, command, reaction] = spans(&synchronous);
    // The time of the frame there and back.
    let w = 1.0 + d - command.0;
    assert!((0.02..0.3).contains(&w), "{w}");
    near(sensor, (1.0 - d + w, 2.0 - d + w), 0.05);
    near(command, (1.0 + d - w, 1.0 + d - w), 0.003);
    near(reaction, (2.0, 3.0), 0.05);
}
