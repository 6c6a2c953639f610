use proptest::prelude::*;

use super::*;

/// The wall clock's lead at the start: some moment of 2025.
const LEAD_NS: i64 = 1_760_000_000_000_000_000;

/// The sandwich around `at`, `width` wide, of a wall clock that leads by `lead`; the wall clock is read
/// `offset` after the first reading.
fn pair(at: u64, width: u64, offset: u64, lead: i64) -> ClockPair {
    ClockPair::from_readings(
        MonotonicTime::from_ns(at),
        wall(at + offset, lead),
        MonotonicTime::from_ns(at + width),
    )
}

fn wall(at: u64, lead: i64) -> WallTime {
    WallTime::from_unix_ns(at as i64 + lead)
}

#[test]
fn a_pair_states_half_of_its_width() {
    let pair = pair(1000, 61, 7, LEAD_NS);
    assert_eq!(pair.monotonic().as_ns(), 1030);
    assert_eq!(pair.error_ns(), 31);
    let swapped = ClockPair::from_readings(
        MonotonicTime::from_ns(1061),
        pair.wall(),
        MonotonicTime::from_ns(1000),
    );
    assert_eq!(swapped, pair);
}

#[test]
fn a_real_pair_is_ordered() {
    let before = crate::clock::now();
    let pair = ClockPair::read(0);
    let after = crate::clock::now();
    assert!(before <= pair.monotonic() && pair.monotonic() <= after);
}

#[test]
fn a_stamp_before_the_first_and_after_the_last_observation_is_refused() {
    let mut bridge = WallBridge::starting_with(pair(1_000, 60, 30, LEAD_NS));
    assert_eq!(bridge.look_up(wall(1_500, LEAD_NS)), None);
    bridge.observe_pair(pair(2_000, 60, 30, LEAD_NS));
    let bridged = bridge.look_up(wall(1_500, LEAD_NS)).unwrap();
    assert_eq!(bridged.at.as_ns(), 1_500);
    assert_eq!(bridged.error_ns, 30);
    assert_eq!(bridge.look_up(wall(500, LEAD_NS)), None);
    assert_eq!(bridge.look_up(wall(2_500, LEAD_NS)), None);
}

#[test]
fn an_observation_of_the_past_is_ignored() {
    let mut bridge = WallBridge::starting_with(pair(2_000, 60, 30, LEAD_NS));
    let observation = bridge.observe_pair(pair(1_000, 60, 30, LEAD_NS + 1_000_000));
    assert_eq!(observation, Observation::Steady);
    assert_eq!(bridge.steps(), 0);
}

#[test]
fn no_stamp_crosses_a_step() {
    for step in [5_000, -5_000, 3_600_000_000_000, -3_600_000_000_000] {
        let mut bridge = WallBridge::starting_with(pair(100_000, 60, 30, LEAD_NS));
        bridge.observe_pair(pair(200_000, 60, 30, LEAD_NS));
        let stepped = bridge.observe_pair(pair(300_000, 60, 30, LEAD_NS + step));
        assert_eq!(stepped, Observation::Stepped { by_ns: step });
        bridge.observe_pair(pair(400_000, 60, 30, LEAD_NS + step));
        // Well before and well after the step.
        let before = bridge.look_up(wall(150_000, LEAD_NS)).unwrap();
        assert_eq!(before.at.as_ns(), 150_000);
        let after = bridge.look_up(wall(350_000, LEAD_NS + step)).unwrap();
        assert_eq!(after.at.as_ns(), 350_000);
        // Around the step the bridge has no answer.
        assert_eq!(bridge.look_up(wall(250_000, LEAD_NS)), None);
        assert_eq!(bridge.look_up(wall(250_000, LEAD_NS + step)), None);
        assert_eq!(bridge.steps(), 1);
    }
}

#[test]
fn a_time_that_came_twice_is_refused() {
    let step = -100_000;
    let mut bridge = WallBridge::starting_with(pair(100_000, 60, 30, LEAD_NS));
    bridge.observe_pair(pair(200_000, 60, 30, LEAD_NS));
    bridge.observe_pair(pair(210_000, 60, 30, LEAD_NS + step));
    bridge.observe_pair(pair(400_000, 60, 30, LEAD_NS + step));
    // The clock showed this at 150,000 and again at 250,000.
    assert_eq!(bridge.look_up(wall(150_000, LEAD_NS)), None);
    // And this once.
    let once = bridge.look_up(wall(350_000, LEAD_NS + step)).unwrap();
    assert_eq!(once.at.as_ns(), 350_000);
}

#[test]
fn a_step_is_remembered_as_long_as_what_was_before_it() {
    let step = -10_000_000;
    let mut bridge = WallBridge::starting_with(pair(0, 60, 30, LEAD_NS));
    bridge.observe_pair(pair(20_000_000, 60, 30, LEAD_NS));
    // Many looks within little time.
    for look in 0..5_000 {
        bridge.observe_pair(pair(20_001_000 + look * 2_000, 60, 30, LEAD_NS + step));
    }
    // At 15 ms, and again at 25 ms.
    assert_eq!(bridge.look_up(wall(15_000_000, LEAD_NS)), None);
    for beat in 0..200 {
        let at = 31_000_000 + beat * 1_000_000;
        bridge.observe_pair(pair(at, 60, 30, LEAD_NS + step));
        let known = bridge.look_up(wall(at - 400_000, LEAD_NS + step)).unwrap();
        assert_eq!(known.at.as_ns(), at - 400_000);
    }
}

#[test]
fn what_is_no_longer_remembered_is_refused() {
    let mut bridge = WallBridge::starting_with(pair(0, 60, 30, LEAD_NS));
    for beat in 1..=100 {
        bridge.observe_pair(pair(beat * 1_000_000, 60, 30, LEAD_NS));
    }
    assert_eq!(bridge.look_up(wall(30_500_000, LEAD_NS)), None);
    assert!(bridge.look_up(wall(40_500_000, LEAD_NS)).is_some());
    assert!(bridge.look_up(wall(99_500_000, LEAD_NS)).is_some());
}

#[test]
fn a_thousand_looks_in_a_beat_push_no_beat_out() {
    let mut bridge = WallBridge::starting_with(pair(0, 60, 30, LEAD_NS));
    for look in 1..=10_000 {
        bridge.observe_pair(pair(look * 1_000, 60, 30, LEAD_NS));
    }
    // 10,000 observations in 10 ms: the first beat is still known.
    for at in [500, 1_000_000, 5_432_100, 9_999_500] {
        let bridged = bridge.look_up(wall(at, LEAD_NS)).unwrap();
        assert!(bridged.at.as_ns().abs_diff(at) <= bridged.error_ns);
        assert!(bridged.error_ns <= 60);
    }
}

#[test]
fn a_newer_stamp_is_observed_first() {
    let mut bridge = WallBridge::new();
    for _ in 0..200 {
        let before = crate::clock::now();
        let stamp = WallTime::now();
        let after = crate::clock::now();
        let Some(bridged) = bridge.translate(stamp) else {
            // Another program has stepped this machine's clock.
            assert!(bridge.steps() > 0);
            continue;
        };
        let error_ns = bridged.error_ns as i64;
        assert!(bridged.at.since(before) >= -error_ns);
        assert!(after.since(bridged.at) >= -error_ns);
    }
}

#[test]
fn times_at_the_ends_of_the_clocks_do_no_harm() {
    let ends = [i64::MIN, -1, 0, 1, i64::MAX].map(WallTime::from_unix_ns);
    let moments = [0, 1, u64::MAX - 1, u64::MAX].map(MonotonicTime::from_ns);
    for wall in ends {
        for before in moments {
            for after in moments {
                let pair = ClockPair::from_readings(before, wall, after);
                let mut bridge = WallBridge::starting_with(pair);
                for next in ends {
                    bridge.observe_pair(ClockPair::from_readings(after, next, after));
                    let _ = bridge.look_up(next);
                }
            }
        }
    }
}

/// Within a millisecond and beyond.
fn gaps() -> impl Strategy<Value = u64> {
    prop_oneof![
        100_u64..5_000,
        100_000_u64..600_000,
        1_000_000_u64..3_000_000
    ]
}

proptest! {
    /// Whatever the widths of the sandwiches and the moments in them, the true time lies within the
    /// stated error, also if the clock is stepped, at any moment between two readings and by less than
    /// can be seen.
    #[test]
    fn the_truth_lies_within_the_stated_error(
        sandwiches in prop::collection::vec((gaps(), 0_u64..2_000, 0.0..=1.0), 3..40),
        step_at in 1_usize..40,
        step in -4_000_i64..4_000,
        within in 0.0..1.0,
    ) {
        let mut at = 1_000_000;
        // With each pair, when the wall clock was read and by how much it led.
        let mut pairs: Vec<(ClockPair, u64, i64)> = Vec::new();
        for (number, (gap, width, place)) in sandwiches.iter().enumerate() {
            let lead = if number >= step_at { LEAD_NS + step } else { LEAD_NS };
            let offset = (*width as f64 * place) as u64;
            pairs.push((pair(at, *width, offset, lead), at + offset, lead));
            at += width + gap;
        }
        let mut bridge = WallBridge::starting_with(pairs[0].0);
        for (pair, ..) in &pairs[1..] {
            bridge.observe_pair(*pair);
        }
        for both in pairs.windows(2) {
            let ((_, from, lead), (_, to, later_lead)) = (both[0], both[1]);
            let truth = from + ((to - from) as f64 * within) as u64;
            for lead in [lead, later_lead] {
                if let Some(bridged) = bridge.look_up(wall(truth, lead)) {
                    let off = bridged.at.as_ns().abs_diff(truth);
                    prop_assert!(off <= bridged.error_ns, "{off} > {}", bridged.error_ns);
                }
            }
        }
    }
}
