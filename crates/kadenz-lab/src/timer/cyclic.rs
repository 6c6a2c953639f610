//! The cyclic timer: is every wake-up on the beat, and does the timer keep the rate?

use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::Sample;
use kadenz_rt::beat::{Beat, Interval, Overrun};
use kadenz_rt::clock::MonotonicTime;

use crate::measuring_threads::LoopContext;

/// Parameters of a cyclic timer.
#[derive(Clone, Copy, Debug)]
pub struct CyclicPlan {
    /// Time between two beats.
    pub interval: Interval,
    /// The policy after a late wake-up. A beat that is left out is recorded as late as it would have been served, so
    /// that no stall is hidden; intervals are between real wake-ups. [`Overrun::Stop`] ends the measurement at the
    /// first such wake-up, and a suite refuses it.
    pub pace: Overrun,
    /// Beats before the first that is recorded.
    pub warm_up: u64,
    /// Number of beats, missed ones included; `None` means until stopped. The [`Overrun::Relative`] loop runs for as
    /// long as the ideal signal takes for them.
    pub cycles: Option<u64>,
    /// Time from the common start to the first beat, so that two threads on one machine do not wake up on the same
    /// beats.
    pub phase: Duration,
    /// How long after the last beat the loop still serves owed beats; see [`GRACE`](crate::measuring_threads::GRACE).
    /// Not less than the deadline, so that each beat that is then given up has missed it.
    pub grace: Duration,
}

/// Samples of one wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CyclicSamples {
    /// Actual less intended time.
    pub lateness: Sample,
    /// Interval since the wake-up before, less the expected interval; none at the first.
    pub jitter: Option<Sample>,
}

/// Turns wake-up times into lateness and jitter. Sans-IO: the caller passes every time.
///
/// Lateness is against the beat, whatever happened before: after a stall of three seconds every beat of these seconds
/// is recorded with its lateness. Jitter is Sticha's `timestamp[i] - timestamp[i-1] - 1/frequency` (section 4.2.1).
#[derive(Clone, Debug)]
pub(crate) struct CyclicMeter {
    origin: MonotonicTime,
    interval_ns: i64,
    previous: Option<MonotonicTime>,
    sequence: u64,
}

impl CyclicMeter {
    /// A meter for beats `interval` apart; sample times count from `origin`.
    pub(crate) fn new(origin: MonotonicTime, interval: Duration) -> Self {
        Self {
            origin,
            interval_ns: i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX),
            previous: None,
            sequence: 0,
        }
    }

    /// Takes one wake-up: it was meant for `intended` and came at `actual`.
    ///
    /// # Real-time safety
    /// No allocation, lock or system call.
    pub(crate) fn woke(&mut self, intended: MonotonicTime, actual: MonotonicTime) -> CyclicSamples {
        let sequence = self.sequence;
        let intended_ns = intended.since(self.origin);
        let actual_ns = actual.since(self.origin);
        let sample = |intended_ns: i64| Sample {
            sequence,
            intended_ns,
            actual_ns,
            value_ns: actual_ns - intended_ns,
        };
        let jitter = self
            .previous
            .map(|previous| sample(previous.since(self.origin) + self.interval_ns));
        self.previous = Some(actual);
        self.sequence += 1;
        CyclicSamples {
            lateness: sample(intended_ns),
            jitter,
        }
    }

    /// Takes beats without a wake-up: they were meant for `first` to `last`, and were found missed at `actual`. Each is
    /// as late as if it had been served then. Returns the samples of the first and the last.
    ///
    /// # Real-time safety
    /// No allocation, lock or system call.
    pub(crate) fn missed(
        &mut self,
        [first, last]: [MonotonicTime; 2],
        count: u64,
        actual: MonotonicTime,
    ) -> [Sample; 2] {
        let actual_ns = actual.since(self.origin);
        let sample = |intended: MonotonicTime, sequence| Sample {
            sequence,
            intended_ns: intended.since(self.origin),
            actual_ns,
            value_ns: actual.since(intended),
        };
        let samples = [
            sample(first, self.sequence),
            sample(last, self.sequence + count.saturating_sub(1)),
        ];
        self.sequence += count;
        samples
    }
}

/// Runs a cyclic timer from `start` on, until the plan is done or a stop is requested. Beats still owed when the plan's
/// grace is over are recorded with their lateness at that time, and counted in [`LoopContext::owed`].
///
/// The beat is kept on `CLOCK_MONOTONIC`, and the context's clock must be that one.
///
/// # Real-time safety
/// After the call it allocates nothing and takes no lock; its only system call is the sleeper's.
pub fn cyclic(
    plan: &CyclicPlan,
    context: &mut LoopContext<'_>,
    lateness: &mut SeriesRecorder,
    mut jitter: Option<&mut SeriesRecorder>,
) {
    let mut signal = Signal::new(plan, context.start);
    let mut meter = CyclicMeter::new(context.origin, plan.interval.as_duration());
    while let Some(intended) = signal.next() {
        context.sleeper.sleep_until(intended);
        let actual = context.clock.now();
        if signal.counts(actual) {
            let samples = meter.woke(intended, actual);
            lateness.record(samples.lateness);
            if let (Some(recorder), Some(sample)) = (jitter.as_deref_mut(), samples.jitter) {
                recorder.record(sample);
            }
        }
        let left_out = signal.woke(actual);
        if left_out.count > 0 {
            let [first, last] = meter.missed(left_out.intended, left_out.count, actual);
            lateness.record_left_out(first, last, left_out.count);
            context.owed += if signal.gave_up { left_out.count } else { 0 };
        }
        if context.stop.requested() {
            break;
        }
    }
}

/// The intended times of a loop, according to its pace. Sans-IO.
struct Signal {
    beat: Beat,
    pace: Overrun,
    /// The next intended time.
    intended: MonotonicTime,
    /// The last of all beats.
    last: u64,
    /// The last beat that is not recorded.
    warm_up: u64,
    /// When the ideal signal has that beat, the one after it, and the last one.
    warm: MonotonicTime,
    first: MonotonicTime,
    end: MonotonicTime,
    /// When the loop gives up on owed beats.
    give_up_at: MonotonicTime,
    /// Whether it gave up.
    gave_up: bool,
    /// Whether a late wake-up ended the loop.
    stopped: bool,
}

/// Beats without a wake-up.
#[derive(Clone, Copy, Debug)]
struct LeftOut {
    /// Intended times of the first and the last.
    intended: [MonotonicTime; 2],
    count: u64,
}

impl Signal {
    fn new(plan: &CyclicPlan, start: MonotonicTime) -> Self {
        let mut beat = Beat::at(start + plan.phase, plan.interval);
        let last = plan
            .cycles
            .map_or(u64::MAX, |cycles| plan.warm_up.saturating_add(cycles));
        let end = beat.intended(last);
        Self {
            end,
            give_up_at: end + plan.grace,
            gave_up: false,
            stopped: false,
            intended: beat.next(),
            pace: plan.pace,
            warm_up: plan.warm_up,
            warm: beat.intended(plan.warm_up),
            first: beat.intended(plan.warm_up.saturating_add(1)),
            last,
            beat,
        }
    }

    /// The next intended time; none when the signal is over.
    fn next(&self) -> Option<MonotonicTime> {
        let goes_on = match self.pace {
            Overrun::Relative => self.intended <= self.end,
            Overrun::CatchUp | Overrun::Skip | Overrun::Stop => self.beat.index() <= self.last,
        };
        let goes_on = goes_on && !self.stopped;
        goes_on.then_some(self.intended)
    }

    /// Whether to record the beat of [`Self::next`] for which the loop woke at `actual`. It is recorded, too, when a
    /// stall that began during the warm-up lasts into the recorded time: a relative loop has no later beat that shows
    /// this stall.
    fn counts(&self, actual: MonotonicTime) -> bool {
        let stalls = self.pace == Overrun::Relative && actual > self.first;
        self.intended > self.warm || stalls
    }

    /// Moves on from a wake-up at `actual`, and returns the recorded beats that are left out.
    fn woke(&mut self, actual: MonotonicTime) -> LeftOut {
        self.gave_up = self.pace == Overrun::CatchUp && actual > self.give_up_at;
        let pace = match self.gave_up {
            true => Overrun::Skip,
            false => self.pace,
        };
        let before = self.beat.index();
        // No beat after the last is left out.
        let now = actual.min(self.end.offset_by_ns(1));
        let skipped = match self.beat.step(pace, Some(actual), now) {
            Some(step) => {
                self.intended = step.intended;
                step.skipped
            }
            None => {
                self.stopped = true;
                0
            }
        };
        if skipped == 0 {
            return LeftOut {
                intended: [self.intended; 2],
                count: 0,
            };
        }
        let first = (before + 1).max(self.warm_up + 1);
        let last = before + skipped;
        LeftOut {
            intended: [first, last].map(|it| self.beat.intended(it)),
            count: (last + 1).saturating_sub(first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ns)
    }

    #[test]
    fn lateness_is_against_the_beat_and_jitter_against_the_wake_up_before() {
        let mut meter = CyclicMeter::new(at(1_000_000), Duration::from_millis(1));
        let first = meter.woke(at(2_000_000), at(2_000_050));
        assert_eq!(first.lateness.value_ns, 50);
        assert_eq!(first.lateness.intended_ns, 1_000_000);
        assert_eq!(first.jitter, None);
        let second = meter.woke(at(3_000_000), at(3_000_020));
        assert_eq!(second.lateness.value_ns, 20);
        assert_eq!(second.jitter.unwrap().value_ns, -30);
        assert_eq!(second.lateness.sequence, 1);
    }

    #[test]
    fn a_stall_is_seen_by_every_beat_it_covers() {
        let interval = Duration::from_millis(1);
        let mut meter = CyclicMeter::new(at(0), interval);
        let woken = at(3_000_000_000);
        let late: Vec<i64> = (1..=3000u64)
            .map(|n| meter.woke(at(n * 1_000_000), woken).lateness.value_ns)
            .collect();
        assert_eq!(late[0], 2_999_000_000);
        assert_eq!(late[1], 2_998_000_000);
        assert_eq!(late[2999], 0);
    }

    #[test]
    fn an_early_wake_up_is_negative() {
        let mut meter = CyclicMeter::new(at(0), Duration::from_millis(1));
        assert_eq!(
            meter.woke(at(1_000_000), at(100_000)).lateness.value_ns,
            -900_000
        );
    }

    const MS: u64 = 1_000_000;

    fn plan(pace: Overrun, warm_up: u64, cycles: u64) -> CyclicPlan {
        CyclicPlan {
            interval: Interval::try_from(Duration::from_millis(1)).unwrap(),
            pace,
            warm_up,
            cycles: Some(cycles),
            phase: Duration::ZERO,
            grace: Duration::from_secs(1),
        }
    }

    /// Simulates a loop whose wake-ups are late by `delays` in turn, and on time afterwards. Returns intended and
    /// actual times of the served beats, and the beats left out.
    fn play(plan: &CyclicPlan, delays: &[u64]) -> (Vec<(u64, u64)>, Vec<u64>) {
        let mut signal = Signal::new(plan, at(0));
        let (mut now, mut served, mut left_out) = (0, Vec::new(), Vec::new());
        let mut delays = delays.iter();
        while let Some(intended) = signal.next() {
            now = now.max(intended.as_ns()) + delays.next().copied().unwrap_or(0);
            if signal.counts(at(now)) {
                served.push((intended.as_ns(), now));
            }
            let missed = signal.woke(at(now));
            let [first, _] = missed.intended.map(MonotonicTime::as_ns);
            left_out.extend((0..missed.count).map(|n| first + n * MS));
            let last = left_out.last().filter(|_| missed.count > 0);
            assert!(last.is_none_or(|&last| last == missed.intended[1].as_ns()));
        }
        (served, left_out)
    }

    #[test]
    fn catching_up_serves_every_beat() {
        let (served, left_out) = play(&plan(Overrun::CatchUp, 0, 5), &[0, 2 * MS + 1]);
        let late: Vec<u64> = served
            .iter()
            .map(|(intended, now)| now - intended)
            .collect();
        assert_eq!(late, [0, 2 * MS + 1, MS + 1, 1, 0]);
        assert!(left_out.is_empty());
    }

    #[test]
    fn skipping_leaves_missed_beats_out_and_reports_them() {
        let (served, left_out) = play(&plan(Overrun::Skip, 0, 6), &[0, 2 * MS + 1]);
        let intended: Vec<u64> = served.iter().map(|it| it.0 / MS).collect();
        assert_eq!(intended, [1, 2, 5, 6]);
        assert_eq!(left_out, [3 * MS, 4 * MS]);
    }

    #[test]
    fn a_stall_over_the_end_misses_the_beats_that_are_left_and_no_more() {
        let (served, left_out) = play(&plan(Overrun::Skip, 0, 4), &[0, 100 * MS]);
        assert_eq!(served.len(), 2);
        assert_eq!(left_out, [3 * MS, 4 * MS]);
    }

    #[test]
    fn a_beat_that_cannot_be_kept_ends_after_its_grace_and_leaves_no_beat_unreported() {
        // Each beat of 1 ms takes 20 ms: of 1,000 the loop serves those of two seconds.
        let (served, left_out) = play(&plan(Overrun::CatchUp, 3, 1000), &[20 * MS; 1003]);
        assert_eq!(served.len(), 98);
        assert_eq!(served.len() + left_out.len(), 1000);
        assert_eq!(left_out.last(), Some(&(1003 * MS)));
        let (_, gave_up_at) = served[97];
        assert_eq!(gave_up_at, 2021 * MS, "one wake-up after the grace");
    }

    /// A clock on which each wake-up takes 10 us; it is also the sleeper.
    struct Slow(std::sync::Arc<std::sync::atomic::AtomicU64>);

    impl kadenz_rt::clock::Clock for Slow {
        fn now(&self) -> MonotonicTime {
            at(self.0.load(std::sync::atomic::Ordering::Relaxed))
        }

        fn name(&self) -> &'static str {
            "virtual"
        }
    }

    impl kadenz_rt::sleep::Sleeper for Slow {
        fn sleep_until(&mut self, deadline: MonotonicTime) {
            let now = self.0.load(std::sync::atomic::Ordering::Relaxed);
            let woken = deadline.as_ns().max(now) + 10_000;
            self.0.store(woken, std::sync::atomic::Ordering::Relaxed);
        }

        fn name(&self) -> &'static str {
            "virtual"
        }

        fn early_returns(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_rate_of_1_mhz_that_is_out_of_reach_is_recorded_in_full_and_owed() {
        use kadenz_record::run::folder::{RunWriter, SeriesSpec};
        use kadenz_record::run::model::{EndedBy, Run, Series};

        let folder = tempfile::tempdir().expect("a folder");
        let mut writer =
            RunWriter::create(&folder.path().join("run"), Run::default()).expect("a run");
        let series = Series {
            name: "lateness".to_owned(),
            deadline_ns: Some(400_000),
            ..Series::default()
        };
        let spec = SeriesSpec { series, raw: true };
        let mut lateness = writer.series(spec).expect("a series");
        let running = writer.start(Duration::from_secs(1)).expect("it starts");
        let time = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let (clock, mut sleeper) = (Slow(time.clone()), Slow(time.clone()));
        let mut context = LoopContext {
            start: at(0),
            origin: at(0),
            clock: &clock,
            sleeper: &mut sleeper,
            stop: &crate::stop::Stop::default(),
            owed: 0,
        };
        let plan = CyclicPlan {
            interval: Interval::from_fraction(1000, 1).expect("an interval"),
            ..plan(Overrun::CatchUp, 0, 1_000_000)
        };
        cyclic(&plan, &mut context, &mut lateness, None);
        let served = 1_000_000 - context.owed;
        assert_eq!(served, 200_000, "one every 10 us for 1 s and 1 s of grace");
        let run = running.finish(EndedBy::Finished).expect("it finishes");
        let counts = run.series[0].counts;
        assert_eq!(counts.recorded, 1_000_000);
        assert!(counts.misses >= context.owed, "{counts:?}");
        assert!(counts.dropped >= context.owed, "{counts:?}");
    }

    #[test]
    fn relative_periods_count_from_the_last_wake_up() {
        let (served, left_out) = play(&plan(Overrun::Relative, 0, 11), &[10, 10, 5 * MS, 10]);
        let periods: Vec<u64> = served.windows(2).map(|it| it[1].1 - it[0].1).collect();
        assert_eq!(periods, [MS + 10, 6 * MS, MS + 10, MS]);
        assert!(left_out.is_empty(), "what never was intended is not missed");
    }

    #[test]
    fn warming_up_is_not_recorded() {
        for pace in Overrun::GOING_ON {
            let (served, left_out) = play(&plan(pace, 3, 4), &[0, 0]);
            assert_eq!(served.len(), 4, "{pace}");
            assert_eq!(served[0].0, 4 * MS, "{pace}");
            assert!(left_out.is_empty());
        }
        // A slow machine's warm-up takes no longer than a fast one's.
        let (served, _) = play(&plan(Overrun::Relative, 3, 4), &[0, 2 * MS, MS, 0]);
        assert_eq!(served.len(), 2);
        // Nor does it hide a stall from there to the end.
        let (served, _) = play(&plan(Overrun::Relative, 3, 4), &[0, 400 * MS]);
        assert_eq!(served, [(2 * MS, 402 * MS)]);
        // The recorded beats show a stall that begins during the warm-up.
        let (served, left_out) = play(&plan(Overrun::Skip, 3, 4), &[0, 4 * MS + 1]);
        assert_eq!((served.len(), left_out), (1, vec![4 * MS, 5 * MS, 6 * MS]));
        // The beat at which it ends is on time.
        let (served, left_out) = play(&plan(Overrun::Skip, 3, 4), &[0, 4 * MS]);
        assert_eq!(served[0], (6 * MS, 6 * MS));
        assert_eq!((served.len(), left_out), (2, vec![4 * MS, 5 * MS]));
    }
}
