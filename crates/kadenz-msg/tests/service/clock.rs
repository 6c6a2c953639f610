use kadenz_msg::service::clock_offset::{ClockClient, ClockError};
use kadenz_msg::service::messages::{ClockQuery, ClockStamps};
use kadenz_rt::tuning::Tuning;

use crate::{LONG, SHORT, bus};

#[test]
fn a_host_s_own_clock_has_no_offset_within_the_bound_which_narrows() {
    let bus = bus();
    let _server = bus.serve_clock("arm-pc", Tuning::default()).unwrap();
    let mut clocks = ClockClient::new(&bus, "arm-pc").unwrap();
    let mut smallest = u64::MAX;
    for _ in 0..50 {
        let offsets = clocks.measure(LONG).unwrap();
        for estimate in [offsets.monotonic, offsets.wall] {
            assert!(
                estimate.least_ns() <= 0 && 0 <= estimate.most_ns(),
                "{offsets:?}"
            );
        }
        assert!(!offsets.restarted);
        smallest = smallest.min(offsets.round_trip_ns);
        // Half of the shortest round trip, and 700 ppm of the time of 50 exchanges under 10 s each.
        assert!(offsets.monotonic.error_ns <= smallest / 2 + 350_000_000);
    }
}

#[test]
fn another_server_of_the_name_has_another_clock() {
    let bus = bus();
    let first = bus.serve_clock("arm-pc", Tuning::default()).unwrap();
    let mut clocks = ClockClient::new(&bus, "arm-pc").unwrap();
    clocks.measure(LONG).unwrap();
    drop(first);
    let hour = 3_600_000_000_000;
    let _second = bus
        .serve(
            "KADENZ/CLOCK/arm-pc",
            Tuning::default(),
            move |query: &ClockQuery| {
                let now = query.sent_ns + hour;
                Ok(ClockStamps {
                    received_monotonic_ns: now,
                    sent_monotonic_ns: now,
                    ..ClockStamps::default()
                })
            },
        )
        .unwrap();
    let offsets = clocks.measure(LONG).unwrap();
    assert!(offsets.restarted);
    let (least, most) = (offsets.monotonic.least_ns(), offsets.monotonic.most_ns());
    assert!(least <= hour && hour <= most, "{offsets:?}");
}

#[test]
fn stamps_that_cannot_be_and_silence_are_errors_and_what_is_known_stays() {
    let bus = bus();
    let mut clocks = ClockClient::new(&bus, "arm-pc").unwrap();
    assert!(matches!(clocks.measure(SHORT), Err(ClockError::Call(_))));
    let _server = bus
        .serve(
            "KADENZ/CLOCK/arm-pc",
            Tuning::default(),
            |_: &ClockQuery| {
                Ok(ClockStamps {
                    received_monotonic_ns: 2,
                    sent_monotonic_ns: 1,
                    ..ClockStamps::default()
                })
            },
        )
        .unwrap();
    let error = clocks.measure(LONG).unwrap_err();
    assert!(matches!(error, ClockError::Impossible(_)), "{error}");
    assert!(clocks.monotonic().at(0).is_none());
    assert_eq!(clocks.wall().restarts(), 0);
}

#[test]
fn impossible_stamps_of_another_server_make_nothing_forgotten() {
    let bus = bus();
    let honest = bus.serve_clock("arm-pc", Tuning::default()).unwrap();
    let mut clocks = ClockClient::new(&bus, "arm-pc").unwrap();
    clocks.measure(LONG).unwrap();
    let known = clocks.monotonic().at(0);
    drop(honest);
    // The server's monotonic stamps are possible, and its wall clock runs backwards.
    let impossible = bus
        .serve(
            "KADENZ/CLOCK/arm-pc",
            Tuning::default(),
            |query: &ClockQuery| {
                Ok(ClockStamps {
                    received_monotonic_ns: query.sent_ns,
                    sent_monotonic_ns: query.sent_ns,
                    received_wall_ns: 2,
                    sent_wall_ns: 1,
                })
            },
        )
        .unwrap();
    let error = clocks.measure(LONG).unwrap_err();
    assert!(matches!(error, ClockError::Impossible(_)), "{error}");
    assert_eq!(clocks.monotonic().at(0), known);
    drop(impossible);
    let _other = bus.serve_clock("arm-pc", Tuning::default()).unwrap();
    let offsets = clocks.measure(LONG).unwrap();
    assert!(offsets.restarted, "another server is reported as a restart");
}
