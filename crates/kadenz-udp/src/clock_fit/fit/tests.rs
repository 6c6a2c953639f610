//! The solution against the definition of the problem.

use proptest::prelude::*;

use super::*;

struct Both {
    ceilings: Vec<Limit>,
    floors: Vec<Limit>,
}

impl Limits for Both {
    fn ceilings(&self) -> impl Iterator<Item = Limit> {
        self.ceilings.iter().copied()
    }

    fn floors(&self) -> impl Iterator<Item = Limit> {
        self.floors.iter().copied()
    }
}

/// One nanosecond in a nanosecond, so that small numbers are exact.
const MAX_SLOPE: i128 = SLOPE_UNIT;

impl Both {
    /// The slopes, as fractions with a positive denominator, that a line of the value `y` may have.
    fn slopes(&self, y: i128) -> Option<[(i128, i128); 2]> {
        let (mut low, mut high) = ((-1, 1), (1, 1));
        let ceilings = self.ceilings.iter().map(|it| (it, 1));
        for (limit, sign) in ceilings.chain(self.floors.iter().map(|it| (it, -1))) {
            // sign * (y + s d) <= sign * value
            let (room, by) = (sign * (limit.value - y), sign * limit.distance);
            match by.signum() {
                0 if room < 0 => return None,
                0 => {}
                1 => high = least(high, (room, by)),
                _ => low = greatest(low, (-room, -by)),
            }
        }
        (low.0 * high.1 <= high.0 * low.1).then_some([low, high])
    }
}

fn least(a: (i128, i128), b: (i128, i128)) -> (i128, i128) {
    if a.0 * b.1 <= b.0 * a.1 { a } else { b }
}

fn greatest(a: (i128, i128), b: (i128, i128)) -> (i128, i128) {
    if a.0 * b.1 >= b.0 * a.1 { a } else { b }
}

fn limits() -> impl Strategy<Value = Vec<Limit>> {
    let limit = (-9_i128..9, -20_i128..20).prop_map(|(distance, value)| Limit { distance, value });
    prop::collection::vec(limit, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_highest_line_is_found_and_no_higher_one_exists(ceilings in limits(), floors in limits(), up in 0_i128..25) {
        let raised = ceilings.iter().map(|it| Limit { value: it.value + up, ..*it }).collect();
        let both = Both { ceilings: raised, floors };
        let highest = highest_value(&both, MAX_SLOPE).unwrap();
        let lowest = -highest_value(&Mirrored(&both), MAX_SLOPE).unwrap();
        let possible: Vec<i128> = (-100..100).filter(|y| both.slopes(*y).is_some()).collect();
        if let (Some(first), Some(last)) = (possible.first(), possible.last()) {
            prop_assert!(!contradict(&both));
            prop_assert!((lowest..=lowest + 1).contains(first), "{lowest} {first}");
            prop_assert!((highest - 1..=highest).contains(last), "{highest} {last}");
        } else {
            // Between two whole numbers there may be a line yet.
            prop_assert!(highest < lowest || contradict(&both) || highest - lowest <= 1);
        }
    }

    #[test]
    fn no_line_is_steeper_than_the_highest_slope(ceilings in limits(), floors in limits(), up in 0_i128..25) {
        let raised = ceilings.iter().map(|it| Limit { value: it.value + up, ..*it }).collect();
        let both = Both { ceilings: raised, floors };
        let highest = highest_slope(&both, MAX_SLOPE);
        let lowest = -highest_slope(&Mirrored(&both), MAX_SLOPE);
        for [low, high] in (-100..100).filter_map(|y| both.slopes(y)) {
            prop_assert!(high.0 * SLOPE_UNIT <= highest * high.1);
            prop_assert!(low.0 * SLOPE_UNIT >= lowest * low.1);
        }
    }
}
