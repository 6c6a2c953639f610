//! When the next question comes, if questions keep a beat. Sans-IO.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

/// Questions that must have kept the beat before the next is expected.
const CONVINCING: u32 = 4;
/// A question may be off its beat by this share of the interval, either way.
const OFF_BEAT: u64 = 4;
/// Who expects a question is awake for it this share of the interval before, and after,
const SHARE: u64 = 5;
/// but no longer than this: wake-ups that are later are rare, and cost what waiting costs.
const MAX: Duration = Duration::from_micros(500);

/// The beat of the questions.
///
/// Real-time safe: some integers, no clock read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Anticipation {
    last: Option<MonotonicTime>,
    interval_ns: u64,
    kept: u32,
}

/// When somebody should be awake for a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
}

impl Anticipation {
    /// A question came.
    pub(super) fn came(&mut self, at: MonotonicTime) {
        let Some(last) = self.last.replace(at) else {
            return;
        };
        let since_ns = u64::try_from(at.since(last)).unwrap_or(0);
        if since_ns.abs_diff(self.interval_ns) <= self.interval_ns / OFF_BEAT {
            self.kept = self.kept.saturating_add(1);
            // A mean that follows slowly: a late question is followed by one that seems early.
            self.interval_ns = (7 * self.interval_ns + since_ns) / 8;
        } else {
            self.kept = 0;
            self.interval_ns = since_ns;
        }
    }

    /// When to be awake for the next, if questions have kept a beat and it is not past that already.
    pub(super) fn next(&self, now: MonotonicTime) -> Option<Expected> {
        let last = self.last.filter(|_| self.kept >= CONVINCING)?;
        let due = last + Duration::from_nanos(self.interval_ns);
        let awake = MAX.min(Duration::from_nanos(self.interval_ns / SHARE));
        let awake_ns = i64::try_from(awake.as_nanos()).unwrap_or(0);
        let until = due + awake;
        (now < until).then_some(Expected {
            from: due.offset_by_ns(-awake_ns),
            until,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> MonotonicTime {
        MonotonicTime::from_ns(us * 1000)
    }

    fn after(questions_us: impl IntoIterator<Item = u64>) -> Anticipation {
        let mut anticipation = Anticipation::default();
        questions_us
            .into_iter()
            .for_each(|us| anticipation.came(at(us)));
        anticipation
    }

    #[test]
    fn a_beat_is_expected_once_it_has_been_kept() {
        let few = after((0..5).map(|beat| beat * 10_000));
        assert_eq!(few.next(at(40_100)), None);
        let enough = after((0..6).map(|beat| beat * 10_000));
        let expected = Expected {
            from: at(59_500),
            until: at(60_500),
        };
        assert_eq!(enough.next(at(50_100)), Some(expected));
        assert_eq!(enough.next(at(60_500)), None, "it did not come");
    }

    #[test]
    fn a_fast_beat_leaves_most_of_the_time_to_others() {
        let fast = after((0..10).map(|beat| beat * 1_000));
        let expected = Expected {
            from: at(9_800),
            until: at(10_200),
        };
        assert_eq!(fast.next(at(9_100)), Some(expected));
    }

    #[test]
    fn a_late_question_does_not_unsettle_the_beat_and_a_lost_one_does() {
        let late = after([0, 1_000, 2_000, 3_000, 4_000, 5_200, 6_000, 7_000]);
        assert!(late.next(at(7_100)).is_some());
        let lost = after([0, 1_000, 2_000, 3_000, 4_000, 6_000]);
        assert_eq!(lost.next(at(6_100)), None);
    }

    #[test]
    fn what_keeps_no_beat_is_not_expected() {
        let two_controllers = (0..20).flat_map(|beat| [beat * 1_000, beat * 1_000 + 90]);
        assert_eq!(after(two_controllers).next(at(19_100)), None);
        assert_eq!(after([7; 20]).next(at(8)), None, "a burst is no beat");
        assert_eq!(Anticipation::default().next(at(0)), None);
    }
}
