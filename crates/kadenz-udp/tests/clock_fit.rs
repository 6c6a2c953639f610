//! The true offset lies within the bounds, whatever the network does, and the bounds are narrow.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use kadenz_udp::clock_fit::sim::{Clock, TrueTimes, TrueValue};
use kadenz_udp::clock_fit::{
    ClockFit, Exchange, FitSlot, Implausible, MAX_DRIFT_PPB, NoFit, Options,
};
use kadenz_udp::wire::DeviceStamps;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// A device's clock, and the assumptions about it.
#[derive(Clone, Debug)]
struct World {
    start_ns: u64,
    offset_ns: i64,
    drifts_ppb: Vec<i64>,
    options: Options,
}

impl World {
    fn clock(&self) -> Clock<'_> {
        Clock {
            start_ns: self.start_ns,
            offset_ns: self.offset_ns,
            drifts_ppb: &self.drifts_ppb,
            resolution_ns: self.options.device_resolution_ns,
        }
    }

    fn exchange(&self, trip: &TrueTimes) -> Exchange {
        let resolution = self.options.controller_resolution_ns;
        self.clock().exchange(trip, resolution)
    }
}

fn of(span_ns: u64) -> TrueValue {
    TrueValue::of(i64::try_from(span_ns).unwrap())
}

prop_compose! {
    /// Clocks of all kinds: boards that started a while ago or later, crystal and RC oscillators.
    fn world()(
        start_ns in 30 * SECOND..1_000_000 * SECOND,
        offset_ns in -20_000_000_000_i64..1_000_000_000_000,
        drift in prop_oneof![8 => -100_000..100_000_i64, 1 => -15_000_000..15_000_000_i64],
        strays in prop::collection::vec(-1000_i64..=1000, 12),
        wander_ppb in prop_oneof![Just(0_u32), Just(50), Just(1000)],
        controller_resolution_ns in prop_oneof![Just(1_u64), 2..100_u64],
        device_resolution_ns in prop_oneof![Just(1_u64), Just(40), Just(250), 2..1000_u64],
    ) -> World {
        let stray = |share: i64| drift + share * i64::from(wander_ppb) / 1000;
        let drifts_ppb = strays.into_iter().map(stray).collect();
        let window_ns = SECOND / 4;
        let options = Options { window_ns, controller_resolution_ns, device_resolution_ns, wander_ppb };
        World { start_ns, offset_ns, drifts_ppb, options }
    }
}

/// Ways of different durations with queues of all lengths, on either way alone or on both; and ways that take no
/// time at all, where each nanosecond of the bounds is needed.
fn trips() -> impl Strategy<Value = Vec<TrueTimes>> {
    let queue = || prop_oneof![3 => Just(0_u64), 3 => 0..500_u64, 3 => 0..100_000_u64, 1 => 0..20_000_000_u64];
    let trip = (0..SECOND / 5, queue(), 0..300_000_u64, queue());
    let least = || prop_oneof![Just(0_u64), 1..200_000_u64];
    let queues = prop_oneof![2 => Just(1_u64), 1 => Just(0_u64)];
    (least(), least(), queues, prop::collection::vec(trip, 1..60)).prop_map(
        |(least_there, least_back, queues, trips)| {
            let mut at = 0;
            let one = |(pause, there, held_ns, back)| {
                at += pause;
                TrueTimes {
                    sent_ns: at,
                    there_ns: least_there + there * queues,
                    held_ns,
                    back_ns: least_back + back * queues,
                }
            };
            trips.into_iter().map(one).collect()
        },
    )
}

proptest! {
    #[test]
    fn the_truth_is_within_the_bounds(world in world(), trips in trips(), slots in 1_usize..40, look in 0..12 * SECOND) {
        let mut fit = ClockFit::over(vec![FitSlot::default(); slots], world.options);
        let trips = trips.into_iter().map(|it| TrueTimes { sent_ns: it.sent_ns + world.start_ns, ..it });
        let trips: Vec<TrueTimes> = trips.collect();
        for trip in &trips {
            prop_assert_eq!(fit.observe(&world.exchange(trip)), Ok(()));
        }
        let last = trips.last().unwrap().sent_ns;
        for around in [trips[0].sent_ns, (trips[0].sent_ns + last) / 2, last, world.start_ns + look] {
            let bounds = fit.bounds_at(around).unwrap();
            for at in [around, trips[0].sent_ns, last, last + 3 * SECOND, world.start_ns + look] {
                let offset = bounds.offset_at(at);
                prop_assert!(world.clock().offset_at(at).is_within(offset), "{offset:?} around {around} at {at}");
            }
            for trip in &trips {
                let ways = bounds.one_way(&world.exchange(trip));
                prop_assert!(of(trip.there_ns).is_within(ways.there), "{ways:?} of {trip:?}");
                prop_assert!(of(trip.back_ns).is_within(ways.back), "{ways:?} of {trip:?}");
                prop_assert!(ways.there.value_ns >= 0 && ways.back.value_ns >= 0);
            }
            if world.options.wander_ppb == 0 {
                prop_assert!(TrueValue::of(world.drifts_ppb[0]).is_within(bounds.drift_ppb()));
            }
        }
    }

    #[test]
    fn the_error_is_at_most_what_the_shortest_round_trip_says(world in world(), trips in trips()) {
        let mut fit = ClockFit::over([FitSlot::default(); 60], world.options);
        let trips = trips.into_iter().map(|it| TrueTimes { sent_ns: it.sent_ns + world.start_ns, ..it });
        let exchanges: Vec<Exchange> = trips.map(|it| world.exchange(&it)).collect();
        for exchange in &exchanges {
            fit.observe(exchange).unwrap();
        }
        let resolutions = world.options.controller_resolution_ns + world.options.device_resolution_ns;
        let on_the_way = |it: &Exchange| it.on_the_way_ns(resolutions).unwrap();
        let best = exchanges.iter().min_by_key(|it| on_the_way(it)).unwrap();
        let round_trip = best.received_ns - best.sent_ns;
        let drift_meanwhile = round_trip * u64::from(MAX_DRIFT_PPB) / SECOND;
        let stated = on_the_way(best) / 2 + drift_meanwhile + resolutions + 2;
        let bounds = fit.bounds_at(best.sent_ns).unwrap();
        let error = bounds.offset_at(best.sent_ns).error_ns;
        prop_assert!(error <= stated, "{error} of {stated}");
    }

    #[test]
    fn no_stamps_make_it_panic(
        times in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 1..20),
        at in any::<u64>(),
        wander_ppb in any::<u32>(),
        window_ns in prop_oneof![Just(0_u64), any::<u64>()],
        resolution in prop_oneof![Just(u64::MAX), any::<u64>()],
    ) {
        let options = Options {
            window_ns,
            wander_ppb,
            controller_resolution_ns: resolution,
            device_resolution_ns: resolution,
        };
        for options in [options, Options { wander_ppb, ..Options::default() }] {
            let mut fit = ClockFit::over([FitSlot::default(); 8], options);
            for (sent_ns, received_ns, transmitted_ns, back_ns) in &times {
                let device = DeviceStamps { received_ns: *received_ns, transmitted_ns: *transmitted_ns };
                let _ = fit.observe(&Exchange { sent_ns: *sent_ns, device, received_ns: *back_ns });
            }
            if let Ok(bounds) = fit.bounds_at(at) {
                for at in [0, at, u64::MAX] {
                    let _ = bounds.offset_at(at);
                }
                let device = DeviceStamps { received_ns: at, transmitted_ns: 0 };
                let _ = bounds.one_way(&Exchange { sent_ns: at, device, received_ns: 0 });
                let _ = bounds.drift_ppb();
            }
        }
    }
}

fn steady(offset_ns: i64, drift_ppb: i64) -> World {
    World {
        start_ns: 100 * SECOND,
        offset_ns,
        drifts_ppb: vec![drift_ppb],
        options: Options::default(),
    }
}

fn trip(sent_ns: u64, there_ns: u64, back_ns: u64) -> TrueTimes {
    TrueTimes {
        sent_ns,
        there_ns,
        held_ns: 20_000,
        back_ns,
    }
}

#[test]
fn a_quiet_network_shows_the_drift_of_a_minute_to_a_few_ppb() {
    let world = steady(-5_000_000_000, 23_456);
    let mut fit = ClockFit::over(
        [FitSlot::default(); 64],
        Options {
            wander_ppb: 0,
            ..world.options
        },
    );
    for second in 0..60 {
        let trip = trip(world.start_ns + second * SECOND, 80_000, 95_000);
        fit.observe(&world.exchange(&trip)).unwrap();
    }
    let drift = fit.bounds_at(world.start_ns).unwrap().drift_ppb();
    assert!(TrueValue::of(23_456).is_within(drift), "{drift:?}");
    // Twice the half round trip, over a minute.
    assert!(drift.error_ns <= 175_000 / 59 + 2, "{drift:?}");
}

#[test]
fn a_clock_that_strays_at_the_worst_time_stays_within_the_bounds() {
    // Around a drift of 1000 ppb it strays by 1000 downwards while it is seen, and upwards later.
    let mut world = steady(0, 0);
    world.drifts_ppb = vec![0, 0, 0, 0, 2000];
    world.options.wander_ppb = 1000;
    let mut fit = ClockFit::over([FitSlot::default(); 64], world.options);
    for second in 0..=4 {
        let seen = trip(world.start_ns + second * SECOND, 0, 0);
        fit.observe(&world.exchange(&seen)).unwrap();
    }
    let last = world.start_ns + 4 * SECOND;
    let bounds = fit.bounds_at(last).unwrap();
    for later in 0..60 {
        let at = last + later * SECOND;
        let offset = bounds.offset_at(at);
        assert!(
            world.clock().offset_at(at).is_within(offset),
            "{offset:?} after {later} s"
        );
    }
}

#[test]
fn a_step_of_the_clock_is_noticed_and_can_be_forgotten() {
    let before = steady(0, 0);
    let after = steady(10_000_000, 0);
    let mut fit = ClockFit::over([FitSlot::default(); 64], Options::default());
    assert_eq!(fit.bounds_at(0).err(), Some(NoFit::Nothing));
    for second in 0..10 {
        let world = if second < 5 { &before } else { &after };
        let trip = trip(world.start_ns + second * SECOND / 100, 80_000, 80_000);
        // The same window twice would keep one of them only.
        let trip = TrueTimes {
            sent_ns: trip.sent_ns + second * SECOND,
            ..trip
        };
        fit.observe(&world.exchange(&trip)).unwrap();
    }
    // 10 ms in a second are 1 %, which an RC oscillator might do; but not within one second only.
    assert_eq!(
        fit.bounds_at(before.start_ns).err(),
        Some(NoFit::Inconsistent)
    );
    fit.forget();
    let trip = trip(after.start_ns + 11 * SECOND, 80_000, 80_000);
    fit.observe(&after.exchange(&trip)).unwrap();
    let offset = fit.bounds_at(trip.sent_ns).unwrap().offset_at(trip.sent_ns);
    assert!(TrueValue::of(10_000_000).is_within(offset));
}

#[test]
fn what_left_the_ring_counts_no_more() {
    let mut fit = ClockFit::over([FitSlot::default(); 4], Options::default());
    let before = steady(0, 0);
    let after = steady(10_000_000, 0);
    fit.observe(&before.exchange(&trip(before.start_ns, 80_000, 80_000)))
        .unwrap();
    let late = trip(after.start_ns + 5 * SECOND, 80_000, 80_000);
    fit.observe(&after.exchange(&late)).unwrap();
    let offset = fit.bounds_at(late.sent_ns).unwrap().offset_at(late.sent_ns);
    assert!(TrueValue::of(10_000_000).is_within(offset), "{offset:?}");
}

#[test]
fn a_window_keeps_its_shortest_round_trip() {
    let world = steady(7_000, 0);
    let mut fit = ClockFit::over([FitSlot::default(); 4], world.options);
    let error = |fit: &ClockFit<[FitSlot; 4]>| {
        let bounds = fit.bounds_at(world.start_ns).unwrap();
        bounds.offset_at(world.start_ns).error_ns
    };
    let mut errors = Vec::new();
    for (at, way) in [(0, 90_000), (1_000_000, 400_000), (2_000_000, 40_000)] {
        fit.observe(&world.exchange(&trip(world.start_ns + at, way, way)))
            .unwrap();
        errors.push(error(&fit));
    }
    assert_eq!(errors[0], errors[1], "a longer one changes nothing");
    assert!(errors[2] < errors[1]);
}

#[test]
fn times_that_contradict_each_other_are_refused() {
    let mut fit = ClockFit::over([FitSlot::default(); 4], Options::default());
    let exchange = |sent_ns, received, transmitted, received_ns| Exchange {
        sent_ns,
        device: DeviceStamps {
            received_ns: received,
            transmitted_ns: transmitted,
        },
        received_ns,
    };
    let refused = [
        exchange(1000, 50, 60, 999),
        exchange(1000, 60, 50, 2000),
        exchange(1000, 50, 2000, 2000),
    ];
    for wrong in refused {
        assert_eq!(fit.observe(&wrong), Err(Implausible), "{wrong:?}");
    }
    fit.observe(&exchange(1000, 50, 1050, 2000)).unwrap();
    assert_eq!(
        fit.observe(&exchange(1000, 1 << 61, 1 << 61, 2000)),
        Err(Implausible)
    );
}
