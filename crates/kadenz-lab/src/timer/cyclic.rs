//! The cyclic timer: is every wake-up on the beat, and is the rate kept?

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::Sample;
use kadenz_rt::beat::{Beat, Interval};
use kadenz_rt::clock::MonotonicTime;

use crate::crew::Station;

/// What a loop does after a wake-up that came late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Serves every beat it missed at once, until it is on the beat again: what the thesis's timers
    /// do. The rate is kept, and after a stall intervals are next to nothing.
    #[default]
    CatchUp,
    /// Leaves the missed beats out and goes on with the next one: what a control loop does that must
    /// not send the same command thrice. A missed beat is recorded as late as it would have been
    /// served, so that no stall is hidden; intervals are between real wake-ups.
    Skip,
    /// Counts each period from the last wake-up: the loop of H. Yoon, J. Song and J. Lee,
    /// "Real-Time Performance Analysis in Linux-Based Robotic Systems" (2009), figure 4. No period
    /// is ever too short, every delay adds to all that follow, and a stall is one long period.
    Relative,
}

impl Pace {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::CatchUp, Self::Skip, Self::Relative];
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CatchUp => "catch-up",
            Self::Skip => "skip",
            Self::Relative => "relative",
        })
    }
}

/// A word that names no pace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no pace; write catch-up, skip or relative")]
pub struct ParsePaceError(String);

impl FromStr for Pace {
    type Err = ParsePaceError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let named = |pace: &Self| pace.to_string() == word;
        let pace = Self::ALL.into_iter().find(named);
        pace.ok_or_else(|| ParsePaceError(word.to_owned()))
    }
}

/// How long a cyclic timer is watched.
#[derive(Clone, Copy, Debug)]
pub struct CyclicPlan {
    /// Time between two beats.
    pub interval: Interval,
    /// What is done after a late wake-up.
    pub pace: Pace,
    /// Beats before the first that is recorded.
    pub warm_up: u64,
    /// Beats to watch, the missed ones included; with `None` until stopped. The
    /// [`Pace::Relative`] loop is watched for as long as the ideal signal takes for them.
    pub cycles: Option<u64>,
    /// How far the first beat lies behind the common start, so that two threads on one machine do
    /// not meet on every beat.
    pub phase: Duration,
}

/// What one wake-up gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CyclicSamples {
    /// Actual less intended time.
    pub lateness: Sample,
    /// Interval since the wake-up before, less the expected interval; none at the first.
    pub jitter: Option<Sample>,
}

/// Turns wake-up times into lateness and jitter. Sans-IO: it is handed every time it knows.
///
/// Lateness is against the beat, whatever happened before: after a stall of three seconds every
/// beat of these seconds is recorded as late as it was. Jitter is the thesis's
/// `timestamp[i] - timestamp[i-1] - 1/frequency` (section 4.2.1).
#[derive(Clone, Debug)]
pub struct CyclicMeter {
    origin: MonotonicTime,
    interval_ns: i64,
    previous: Option<MonotonicTime>,
    sequence: u64,
}

impl CyclicMeter {
    /// A meter for beats `interval` apart; sample times count from `origin`.
    pub fn new(origin: MonotonicTime, interval: Duration) -> Self {
        Self {
            origin,
            interval_ns: i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX),
            previous: None,
            sequence: 0,
        }
    }

    /// Takes one wake-up: it was meant for `intended` and came at `actual`.
    ///
    /// Real-time safety: no allocation, lock or system call.
    pub fn woke(&mut self, intended: MonotonicTime, actual: MonotonicTime) -> CyclicSamples {
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

    /// Takes a beat that nobody woke up for: it was meant for `intended`, and was found missed at
    /// `actual`. It is as late as it would have been if it had been served then.
    ///
    /// Real-time safety: no allocation, lock or system call.
    pub fn missed(&mut self, intended: MonotonicTime, actual: MonotonicTime) -> Sample {
        let sequence = self.sequence;
        self.sequence += 1;
        let (intended_ns, actual_ns) = (intended.since(self.origin), actual.since(self.origin));
        Sample {
            sequence,
            intended_ns,
            actual_ns,
            value_ns: actual_ns - intended_ns,
        }
    }
}

/// Watches a cyclic timer from `start` on, until the plan is done or somebody stops it.
///
/// The beat is kept on `CLOCK_MONOTONIC`, and the station's clock must be that one.
///
/// Real-time safety: after the call it allocates nothing and takes no lock; its only system call
/// is the sleeper's.
pub fn cyclic(
    plan: &CyclicPlan,
    station: &mut Station<'_>,
    lateness: &mut SeriesRecorder,
    mut jitter: Option<&mut SeriesRecorder>,
) {
    let mut signal = Signal::new(plan, station.start);
    let mut meter = CyclicMeter::new(station.origin, plan.interval.as_duration());
    while let Some(intended) = signal.next() {
        station.sleeper.sleep_until(intended);
        let actual = station.clock.now();
        if signal.counts() {
            let samples = meter.woke(intended, actual);
            lateness.record(samples.lateness);
            if let (Some(recorder), Some(sample)) = (jitter.as_deref_mut(), samples.jitter) {
                recorder.record(sample);
            }
        }
        signal.woke(actual, |missed| {
            lateness.record(meter.missed(missed, actual));
        });
        if station.stop.requested() {
            break;
        }
    }
}

/// The intended times of a loop, as its pace has them. Sans-IO.
struct Signal {
    beat: Beat,
    pace: Pace,
    interval: Duration,
    /// The next intended time.
    intended: MonotonicTime,
    /// The last of all beats.
    last: u64,
    /// When the ideal signal has its last beat that is not recorded, and its last of all.
    warm: MonotonicTime,
    end: MonotonicTime,
}

impl Signal {
    fn new(plan: &CyclicPlan, start: MonotonicTime) -> Self {
        let mut beat = Beat::at(start + plan.phase, plan.interval);
        let last = plan
            .cycles
            .map_or(u64::MAX, |cycles| plan.warm_up.saturating_add(cycles));
        Self {
            end: beat.intended(last),
            intended: beat.next(),
            interval: plan.interval.as_duration(),
            pace: plan.pace,
            warm: beat.intended(plan.warm_up),
            last,
            beat,
        }
    }

    /// The next intended time; none when the signal is over.
    fn next(&self) -> Option<MonotonicTime> {
        let goes_on = match self.pace {
            Pace::Relative => self.intended <= self.end,
            Pace::CatchUp | Pace::Skip => self.beat.index() <= self.last,
        };
        goes_on.then_some(self.intended)
    }

    /// Whether the beat that [`Self::next`] gave is recorded.
    fn counts(&self) -> bool {
        self.intended > self.warm
    }

    /// Moves on from a wake-up at `actual`, and tells the beats that are left out.
    fn woke(&mut self, actual: MonotonicTime, mut missed: impl FnMut(MonotonicTime)) {
        self.intended = self.beat.next();
        match self.pace {
            Pace::CatchUp => {}
            Pace::Relative => self.intended = actual + self.interval,
            Pace::Skip => {
                while self.intended <= actual && self.beat.index() <= self.last {
                    if self.counts() {
                        missed(self.intended);
                    }
                    self.intended = self.beat.next();
                }
            }
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

    fn plan(pace: Pace, warm_up: u64, cycles: u64) -> CyclicPlan {
        CyclicPlan {
            interval: Interval::try_from(Duration::from_millis(1)).unwrap(),
            pace,
            warm_up,
            cycles: Some(cycles),
            phase: Duration::ZERO,
        }
    }

    /// Plays a loop whose wake-ups are late by `delays` in turn, and by nothing afterwards. Gives
    /// intended and actual times of the beats that were served, and the beats that were left out.
    fn play(plan: &CyclicPlan, delays: &[u64]) -> (Vec<(u64, u64)>, Vec<u64>) {
        let mut signal = Signal::new(plan, at(0));
        let (mut now, mut served, mut left_out) = (0, Vec::new(), Vec::new());
        let mut delays = delays.iter();
        while let Some(intended) = signal.next() {
            now = now.max(intended.as_ns()) + delays.next().copied().unwrap_or(0);
            if signal.counts() {
                served.push((intended.as_ns(), now));
            }
            signal.woke(at(now), |missed| left_out.push(missed.as_ns()));
        }
        (served, left_out)
    }

    #[test]
    fn catching_up_serves_every_beat() {
        let (served, left_out) = play(&plan(Pace::CatchUp, 0, 5), &[0, 2 * MS + 1]);
        let late: Vec<u64> = served
            .iter()
            .map(|(intended, now)| now - intended)
            .collect();
        assert_eq!(late, [0, 2 * MS + 1, MS + 1, 1, 0]);
        assert!(left_out.is_empty());
    }

    #[test]
    fn skipping_leaves_missed_beats_out_and_tells_them() {
        let (served, left_out) = play(&plan(Pace::Skip, 0, 6), &[0, 2 * MS + 1]);
        let intended: Vec<u64> = served.iter().map(|it| it.0 / MS).collect();
        assert_eq!(intended, [1, 2, 5, 6]);
        assert_eq!(left_out, [3 * MS, 4 * MS]);
    }

    #[test]
    fn a_stall_over_the_end_misses_the_beats_that_are_left_and_no_more() {
        let (served, left_out) = play(&plan(Pace::Skip, 0, 4), &[0, 100 * MS]);
        assert_eq!(served.len(), 2);
        assert_eq!(left_out, [3 * MS, 4 * MS]);
    }

    #[test]
    fn relative_periods_count_from_the_last_wake_up() {
        let (served, left_out) = play(&plan(Pace::Relative, 0, 11), &[10, 10, 5 * MS, 10]);
        let periods: Vec<u64> = served.windows(2).map(|it| it[1].1 - it[0].1).collect();
        assert_eq!(periods, [MS + 10, 6 * MS, MS + 10, MS]);
        assert!(left_out.is_empty(), "what never was intended is not missed");
    }

    #[test]
    fn warming_up_is_not_recorded() {
        for pace in Pace::ALL {
            let (served, left_out) = play(&plan(pace, 3, 4), &[0, 0]);
            assert_eq!(served.len(), 4, "{pace}");
            assert_eq!(served[0].0, 4 * MS, "{pace}");
            assert!(left_out.is_empty());
        }
        // A slow machine warms up no longer than a fast one.
        let (served, _) = play(&plan(Pace::Relative, 3, 4), &[0, 2 * MS, MS, 0]);
        assert_eq!(served.len(), 2);
        // A stall that begins while warming up is seen by the beats that count.
        let (served, left_out) = play(&plan(Pace::Skip, 3, 4), &[0, 4 * MS]);
        assert_eq!((served.len(), left_out), (1, vec![4 * MS, 5 * MS, 6 * MS]));
    }

    #[test]
    fn a_pace_is_read_as_it_is_shown() {
        for pace in Pace::ALL {
            assert_eq!(pace.to_string().parse(), Ok(pace));
        }
        assert!("slow".parse::<Pace>().is_err());
    }
}
