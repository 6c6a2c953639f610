use proptest::prelude::*;

use super::*;

fn exchange(sent_ns: i64, received_ns: i64, answered_ns: i64, returned_ns: i64) -> Exchange {
    Exchange {
        sent_ns,
        received_ns,
        answered_ns,
        returned_ns,
    }
}

#[test]
fn an_exchange_bounds_the_offset_by_its_round_trip() {
    let mut fit = OffsetFit::new(0);
    assert_eq!(fit.at(0), None);
    fit.add(exchange(1000, 5600, 5700, 2100)).unwrap();
    // Between 5700 - 2100 and 5600 - 1000, and a tick.
    let estimate = fit.at(2100).unwrap();
    assert!(estimate.least_ns() <= 3599 && estimate.least_ns() >= 3597);
    assert!(estimate.most_ns() >= 4601 && estimate.most_ns() <= 4603);
}

#[test]
fn the_shortest_round_trip_decides_and_a_long_one_takes_nothing_away() {
    let mut fit = OffsetFit::new(0);
    fit.add(exchange(0, 10_050, 10_050, 100)).unwrap();
    let before = fit.at(1_000_000).unwrap();
    let added = fit.add(exchange(1000, 61_000, 61_000, 101_000)).unwrap();
    assert_eq!(added, FitOutcome::Kept);
    let after = fit.at(1_000_000).unwrap();
    assert!(after.error_ns <= before.error_ns + 2);
    let narrow = fit.add(exchange(2000, 12_010, 12_010, 2020)).unwrap();
    assert_eq!(narrow, FitOutcome::Narrowed);
    assert!(fit.at(2020).unwrap().error_ns <= 13);
}

#[test]
fn what_is_known_grows_older_by_the_drift() {
    let mut fit = OffsetFit::new(100);
    fit.add(exchange(0, 50, 50, 100)).unwrap();
    let now = fit.at(100).unwrap().error_ns;
    let later = fit.at(1_000_000_100).unwrap().error_ns;
    assert!((100_000..=100_002).contains(&(later - now)), "{later}");
}

#[test]
fn a_clock_that_was_set_is_found_by_the_next_exchange() {
    let mut fit = OffsetFit::new(100);
    fit.add(exchange(0, 50, 50, 100)).unwrap();
    let stepped = 1_000_000_000;
    let next = exchange(1000, 1050 + stepped, 1050 + stepped, 1100);
    assert_eq!(fit.add(next), Ok(FitOutcome::Restarted));
    assert_eq!(fit.restarts(), 1);
    let estimate = fit.at(1100).unwrap();
    assert!(estimate.least_ns() <= stepped && stepped <= estimate.most_ns());
}

#[test]
fn stamps_that_cannot_be_are_refused_and_change_nothing() {
    let mut fit = OffsetFit::new(100);
    fit.add(exchange(0, 50, 50, 100)).unwrap();
    let before = fit.at(200);
    for impossible in [
        exchange(200, 250, 250, 100),
        exchange(200, 250, 240, 300),
        exchange(200, 250, 2000, 300),
        exchange(i64::MIN, i64::MAX, i64::MAX, i64::MAX),
        exchange(0, i64::MIN, i64::MAX, 1),
    ] {
        assert!(fit.add(impossible).is_err(), "{impossible:?}");
    }
    assert_eq!(fit.at(200), before);
}

#[test]
fn a_one_way_latency_has_a_stated_error() {
    let mut fit = OffsetFit::new(0);
    fit.add(exchange(0, 5_010, 5_010, 20)).unwrap();
    let way = fit.one_way(6_000, 1_300).unwrap();
    assert!(way.latency_ns.abs_diff(300) <= way.error_ns, "{way:?}");
    assert!(way.error_ns <= 13);
}

/// A clock that runs at changing speeds, as a function of this one.
#[derive(Debug, Clone)]
struct Clock {
    offset: i64,
    /// The speeds with their ends, in parts per million more than this clock's.
    speeds: Vec<(u32, i32)>,
}

impl Clock {
    /// Returns its reading at a time of this clock, in thousandths of a nanosecond less the rounding.
    fn exactly(&self, ours: i64) -> f64 {
        let (mut at, mut ahead) = (0_i64, 0.0);
        for (span, ppm) in &self.speeds {
            let end = at + i64::from(*span);
            ahead += (ours.clamp(at, end) - at) as f64 * f64::from(*ppm) * 1e-6;
            at = end;
        }
        ahead
    }

    fn shows(&self, ours: i64) -> i64 {
        ours + self.offset + self.exactly(ours).floor() as i64
    }

    fn offset_at(&self, ours: i64) -> f64 {
        self.offset as f64 + self.exactly(ours)
    }
}

const DRIFT: i32 = 200;

fn clock() -> impl Strategy<Value = Clock> {
    let speeds = prop::collection::vec((0..500_000_000_u32, -DRIFT..=DRIFT), 0..20);
    (-1_000_000_000_000..1_000_000_000_000_i64, speeds)
        .prop_map(|(offset, speeds)| Clock { offset, speeds })
}

/// A pause, the way there, the time there, the way back.
fn legs() -> impl Strategy<Value = Vec<(u32, u32, u32, u32)>> {
    let way = || prop_oneof![0..100_u32, 0..200_000_u32, 0..50_000_000_u32];
    let leg = (0..500_000_000_u32, way(), way(), way());
    prop::collection::vec(leg, 1..40)
}

proptest! {
    /// Whatever the ways took, and however the clock drifts within the allowance.
    #[test]
    fn the_true_offset_always_lies_within_the_bound(clock in clock(), legs in legs(), late in 0..2_000_000_000_u32) {
        let mut fit = OffsetFit::new(DRIFT as u32);
        let mut now = 0_i64;
        for (pause, there, dwell, back) in legs {
            let sent = now + i64::from(pause);
            let received = sent + i64::from(there);
            let answered = received + i64::from(dwell);
            let returned = answered + i64::from(back);
            let added = fit.add(exchange(sent, clock.shows(received), clock.shows(answered), returned));
            prop_assert!(matches!(added, Ok(FitOutcome::Narrowed | FitOutcome::Kept)), "{added:?}");
            now = returned;
            for at in [now, now + i64::from(late)] {
                let estimate = fit.at(at).unwrap();
                let truth = clock.offset_at(at);
                prop_assert!(estimate.least_ns() as f64 <= truth + 0.01, "{estimate:?} {truth}");
                prop_assert!(truth <= estimate.most_ns() as f64 + 0.01, "{estimate:?} {truth}");
            }
            // A message that was under way meanwhile.
            let way = fit.one_way(clock.shows(answered), returned).unwrap();
            prop_assert!(way.latency_ns.abs_diff(i64::from(back)) <= way.error_ns + 1);
        }
    }

    #[test]
    fn no_stamps_whatever_make_it_panic(stamps in prop::collection::vec(any::<[i64; 4]>(), 0..20), at: i64) {
        let mut fit = OffsetFit::new(u32::MAX);
        for [sent, received, answered, returned] in stamps {
            let _ = fit.add(exchange(sent, received, answered, returned));
            let _ = fit.at(at);
            let _ = fit.one_way(received, at);
        }
    }
}
