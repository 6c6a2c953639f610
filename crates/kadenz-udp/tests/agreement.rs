//! A true claim is never refuted, and never makes a way less precise; a claim that a round trip contradicts is
//! refuted.

use kadenz_udp::clock_fit::{Agreement, ClockFit, Exchange, FitSlot, OneWay, Options, Span};
use kadenz_udp::wire::DeviceStamps;
use proptest::prelude::*;

/// Far from both ends of the clocks.
const START_NS: u64 = 1 << 60;

fn exchange(ahead_ns: i64, [there, held, back]: [u64; 3]) -> Exchange {
    let device = |at: u64| at.wrapping_add_signed(ahead_ns);
    Exchange {
        sent_ns: START_NS,
        device: DeviceStamps {
            received_ns: device(START_NS + there),
            transmitted_ns: device(START_NS + there + held),
        },
        received_ns: START_NS + there + held + back,
    }
}

fn claim(lowest: i64, highest: i64) -> Agreement {
    let offset = Span {
        lowest: lowest.into(),
        highest: highest.into(),
    };
    Agreement::new(offset, Options::default())
}

/// Whether both ways are within the estimates' errors of these durations.
fn is_true(ways: &OneWay, there: u64, back: u64) -> bool {
    let near = |value_ns: i64, truth: u64, error_ns: u64| {
        value_ns.abs_diff(i64::try_from(truth).unwrap_or(i64::MAX)) <= error_ns
    };
    near(ways.there.value_ns, there, ways.there.error_ns)
        && near(ways.back.value_ns, back, ways.back.error_ns)
}

fn trips() -> impl Strategy<Value = [u64; 3]> {
    [0_u64..2_000_000, 0_u64..50_000, 0_u64..2_000_000]
}

proptest! {
    #[test]
    fn a_true_claim_holds(
        ahead_ns in -1_000_000_000_i64..1_000_000_000,
        below in 0_i64..3_000_000,
        above in 0_i64..3_000_000,
        trip in trips(),
        others in prop::collection::vec(trips(), 0..10),
    ) {
        let said = claim(ahead_ns - below, ahead_ns + above);
        let asked = exchange(ahead_ns, trip);
        let alone = said.one_way(&asked, None);
        let alone = alone.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(is_true(&alone, trip[0], trip[2]), "{alone:?}");
        let most = (below + above) / 2 + 3;
        prop_assert!(alone.there.error_ns <= most.unsigned_abs(), "{alone:?}");

        let mut fit = ClockFit::over([FitSlot::default(); 4], Options::default());
        for trip in others.iter().chain([&trip]) {
            let observed = fit.observe(&exchange(ahead_ns, *trip));
            prop_assert!(observed.is_ok());
        }
        let bounds = fit.bounds_at(START_NS);
        let bounds = bounds.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let both = said.one_way(&asked, Some(&bounds));
        let both = both.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(is_true(&both, trip[0], trip[2]), "{both:?}");
        let fitted = bounds.one_way(&asked);
        prop_assert!(both.there.error_ns <= fitted.there.error_ns.min(alone.there.error_ns));
    }

    #[test]
    fn a_claim_beyond_the_round_trip_is_refuted(
        ahead_ns in -1_000_000_000_i64..1_000_000_000,
        beyond in 2_i64..1_000_000_000,
        apart in 0_i64..1_000_000,
        trip in trips(),
    ) {
        let [there, _, back] = trip.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
        let asked = exchange(ahead_ns, trip);
        // By this exchange the device is ahead by ahead - back to ahead + there, and a nanosecond or so.
        for middle in [ahead_ns + there + apart + beyond, ahead_ns - back - apart - beyond] {
            let refuted = claim(middle - apart, middle + apart).one_way(&asked, None);
            let apart_ns = refuted.map_or_else(|it| it.apart_ns, |_| 0);
            prop_assert_eq!(apart_ns, beyond.unsigned_abs() - 1);
        }
    }
}
