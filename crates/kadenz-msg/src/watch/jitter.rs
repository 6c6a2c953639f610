//! How evenly messages come.

use std::time::Duration;

/// How far intervals were from the expected one, either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jitter {
    /// The interval that was expected: as stated, or the median of all.
    pub expected_ns: u64,
    /// How many intervals this rests on.
    pub intervals: usize,
    /// Half of all intervals were no farther off.
    pub p50_ns: Option<u64>,
    /// 99 of 100 were no farther off; `None` for fewer than 100 intervals, where it would be the
    /// largest under another name.
    pub p99_ns: Option<u64>,
    /// The farthest.
    pub max_ns: u64,
}

impl Jitter {
    /// Of these intervals, in nanoseconds; `None` for fewer than two, which have nothing to differ
    /// from, unless an interval is stated.
    pub(super) fn of(mut intervals: Vec<u64>, expected: Option<Duration>) -> Option<Self> {
        let count = intervals.len();
        let least = if expected.is_some() { 1 } else { 2 };
        if count < least {
            return None;
        }
        intervals.sort_unstable();
        let stated = expected.map(|it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX));
        let expected_ns = stated.unwrap_or(intervals[(count - 1) / 2]);
        for interval in &mut intervals {
            *interval = interval.abs_diff(expected_ns);
        }
        intervals.sort_unstable();
        Some(Self {
            expected_ns,
            intervals: count,
            p50_ns: percentile(&intervals, 50),
            p99_ns: percentile(&intervals, 99),
            max_ns: intervals[count - 1],
        })
    }
}

/// The smallest value that so many of a hundred do not exceed; `None` where not one whole value lies
/// beyond it.
fn percentile(ascending: &[u64], percent: usize) -> Option<u64> {
    let count = ascending.len();
    let carried = count * (100 - percent) >= 100;
    let rank = (count * percent).div_ceil(100).max(1);
    carried.then(|| ascending[rank - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_against_the_median_interval() {
        let jitter = Jitter::of(vec![10, 10, 13, 9, 10], None).unwrap();
        assert_eq!((jitter.expected_ns, jitter.max_ns), (10, 3));
        assert_eq!((jitter.p50_ns, jitter.p99_ns), (Some(0), None));
        assert_eq!(Jitter::of(vec![10], None), None);
    }

    #[test]
    fn an_interval_that_is_stated_is_what_counts() {
        let expected = Some(Duration::from_nanos(8));
        let jitter = Jitter::of(vec![10, 10, 10], expected).unwrap();
        assert_eq!((jitter.expected_ns, jitter.p50_ns), (8, Some(2)));
        let one = Jitter::of(vec![10], expected).unwrap();
        assert_eq!((one.max_ns, one.p50_ns), (2, None));
    }

    #[test]
    fn a_percentile_that_the_intervals_cannot_carry_is_not_said() {
        let of = |count: u64| Jitter::of((0..count).map(|it| 1000 + it).collect(), None).unwrap();
        assert_eq!(of(99).p99_ns, None);
        assert!(of(100).p99_ns.is_some_and(|p99| p99 < of(100).max_ns));
    }
}
