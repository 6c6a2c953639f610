//! How old are messages that carry the time at which they were made?
//!
//! Many messages do: those of LCM by custom in a member `utime`. On one host, or on hosts with synchronised clocks, the
//! time from that stamp until the message arrives is a latency of programs that know nothing of Kadenz.
//!
//! | series | value |
//! |---|---|
//! | `latency` | from the stamp in the message until this program had it |
//! | `to-kernel` | from the stamp until the kernel's own stamp, where the bus has it |
//!
//! A wall clock can be set. It is compared with the sleep clock ten times a second. Messages that came while it was
//! set, or afterwards, and messages stamped in the future give no latency and are not recorded.

mod filter;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kadenz_msg::bus::{Aggregator, Raw, RecvError};
use kadenz_record::numbers;
use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::run::model::{Kind, Run, Warning};
use kadenz_record::samples::Sample;
use kadenz_rt::clock::{self, ClockPair, MonotonicTime, WallTime};

pub use filter::StampedCounts;
use filter::{Latency, LatencyFilter, Pending};

use crate::measuring::{ExperimentError, Measuring, SeriesSketch};
use crate::measuring_threads::{self, LoopContext, Watch};
use crate::session;
use crate::stop::Stop;

/// Reads the stamp of a message; `None` where it has no readable one.
pub type ReadStamp = Box<dyn FnMut(&Raw<'_>) -> Option<WallTime> + Send>;

/// Which messages are recorded, and for how long.
pub struct StampedPlan {
    /// The receiver of the messages.
    pub messages: Aggregator,
    /// Reads the time of publishing out of a message.
    pub read: ReadStamp,
    /// Ends after that time.
    pub duration: Option<Duration>,
    /// Ends after this many messages.
    pub count: Option<u64>,
}

/// Time between two comparisons of the clocks.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Readings tried for one comparison.
const TRIES: u32 = 9;

/// Records how old messages are, and returns the counts of messages that were not recorded. Warnings of the run name
/// them, too.
///
/// # Errors
/// [`ExperimentError`]; rights that are missing are not an error but a warning in the run.
pub fn stamped(
    measuring: &Measuring,
    plan: StampedPlan,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<(Run, StampedCounts), ExperimentError> {
    let mut run = session::begin(&measuring.session)?;
    let mut series = |name: &str, words: &str, deadline| {
        let sketch = SeriesSketch::new(Kind::Latency, name, words);
        measuring.series(&mut run, SeriesSketch { deadline, ..sketch })
    };
    let recorders = StampedRecorders {
        latency: series(
            "latency",
            "from the stamp in the message until the program had it",
            measuring.deadline,
        )?,
        to_kernel: series(
            "to-kernel",
            "from the stamp in the message until the kernel's own stamp",
            None,
        )?,
        sequence: 0,
    };
    let ongoing = measuring.start(run)?;
    let counts = Arc::new(Mutex::new(StampedCounts::default()));
    let shared = Arc::clone(&counts);
    let work = move |context: &mut LoopContext<'_>| {
        let counted = listen(plan, recorders, context);
        if let Ok(mut counts) = shared.lock() {
            *counts = counted;
        }
    };
    let members = vec![measuring.member(&["latency", "to-kernel"], work)];
    let ended_by = measuring_threads::work(&ongoing, members, stop, watch)?;
    let counts = counts.lock().map(|it| *it).unwrap_or_default();
    ongoing.running.add_warnings(warnings(&counts));
    ongoing.running.update(|run| note(run, &counts));
    Ok((ongoing.finish(ended_by)?, counts))
}

/// The series of stamped messages.
struct StampedRecorders {
    latency: SeriesRecorder,
    to_kernel: SeriesRecorder,
    sequence: u64,
}

impl StampedRecorders {
    fn record(&mut self, origin: MonotonicTime, latency: Latency) {
        let taken_ns = latency.taken.since(origin);
        let sample = |value_ns: i64, actual_ns: i64| Sample {
            sequence: self.sequence,
            intended_ns: actual_ns.saturating_sub(value_ns),
            actual_ns,
            value_ns,
        };
        let of_program = sample(latency.to_program_ns, taken_ns);
        if let Some(ns) = latency.to_kernel_ns {
            let here_ns = taken_ns.saturating_sub(latency.to_program_ns.saturating_sub(ns));
            let of_kernel = sample(ns, here_ns);
            self.to_kernel.record(of_kernel);
        }
        self.latency.record(of_program);
        self.sequence += 1;
    }
}

fn listen(
    mut plan: StampedPlan,
    mut recorders: StampedRecorders,
    context: &LoopContext<'_>,
) -> StampedCounts {
    let mut filter = LatencyFilter::new(&ClockPair::read(TRIES));
    let end = plan.duration.map(|duration| context.start + duration);
    let mut look = clock::now() + POLL_INTERVAL;
    let mut goes_on = true;
    while goes_on {
        let now = clock::now();
        let is_over = context.stop.requested() || end.is_some_and(|end| now >= end);
        let is_enough = plan
            .count
            .is_some_and(|count| filter.counts.received >= count);
        goes_on = !is_over && !is_enough;
        if now >= look || filter.is_full() || !goes_on {
            look = now + POLL_INTERVAL;
            let record = |latency| recorders.record(context.origin, latency);
            goes_on &= filter.look(&ClockPair::read(TRIES), record);
        }
        if goes_on {
            let until = end.map_or(look, |end| end.min(look));
            goes_on = take(&mut plan, &mut filter, until.remaining(now));
        }
    }
    filter.counts
}

/// Waits for a message and notes it; returns whether more may come.
fn take(plan: &mut StampedPlan, filter: &mut LatencyFilter, wait: Duration) -> bool {
    match plan.messages.next_message(wait) {
        Ok(None) => true,
        Ok(Some(raw)) => {
            let stamps = raw.stamps();
            let read = (plan.read)(&raw);
            filter.note(read.map(|stamp| Pending {
                stamp,
                taken: raw.delivery.dequeued,
                kernel: stamps.kernel,
            }));
            true
        }
        Err(RecvError::Ended) => false,
        Err(_) => {
            std::thread::sleep(wait.min(POLL_INTERVAL));
            true
        }
    }
}

fn note(run: &mut Run, counts: &StampedCounts) {
    run.insert_found("clock_reading_error_ns", counts.error_ns);
    run.insert_found("messages_received", counts.received);
    run.insert_found("messages_unreadable", counts.unreadable);
    run.insert_found("messages_from_the_future", counts.from_the_future);
    run.insert_found("messages_around_a_step", counts.around_step);
}

fn warnings(counts: &StampedCounts) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |id: &str, text: String, remedy: &str| {
        warnings.push(Warning::new(id, text, Some(remedy)));
    };
    let seconds = |ns: i64| ns as f64 / 1e9;
    if let Some(by_ns) = counts.stepped_by_ns {
        warn(
            "clock_stepped",
            format!(
                "the wall clock was set by {:+.6} s meanwhile: {} messages around that, and all \
                 after it, are not latencies and not recorded",
                seconds(by_ns),
                counts.around_step
            ),
            "measure again once the clock is synchronised (chrony, ptp4l and phc2sys), or by `kadenz msg latency`",
        );
    }
    if counts.from_the_future > 0 {
        warn(
            "stamps_from_the_future",
            format!(
                "{} messages are stamped later than they came, by up to {:.6} s: the sender's clock \
                 is ahead, so that all latencies here are too short by as much; these are not recorded",
                counts.from_the_future,
                seconds(counts.most_ahead_ns)
            ),
            "keep the clocks of both hosts together (chrony, ptp4l and phc2sys)",
        );
    }
    if let Some(stamp) = counts.an_absurd_stamp_ns {
        warn(
            "stamps_absurd",
            format!(
                "{} messages carry a stamp that is an hour or more away, as {:.6} s after 1970: \
                 they are not recorded",
                counts.absurd,
                seconds(stamp)
            ),
            "state the unit of the stamp with `--unit`: s, ms, us or ns",
        );
    }
    if counts.unreadable > 0 {
        warn(
            "stamps_unreadable",
            format!(
                "{} without a stamp that can be read",
                numbers::counted(counts.unreadable, "message")
            ),
            "name the member that holds it with `--field`, and describe all types with `--types`",
        );
    }
    warnings
}

// The wall clock's lead over the sleep clock, and whether the wall clock was set.

/// The bounds of the wall clock's lead over the sleep clock, from all pairs of readings since the beginning. NTP's
/// slewing moves both clocks alike on Linux, so that the lead stays the same until the wall clock is set (see
/// [`kadenz_rt::clock::WallBridge`], which is for recent stamps; here a stamp may be of any age).
#[derive(Debug, Clone, Copy)]
struct OffsetBounds {
    low: i128,
    high: i128,
}

/// The wall clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClockStep {
    /// By about this much, in nanoseconds; positive when it was put forward.
    by_ns: i64,
}

impl OffsetBounds {
    fn of(pair: &ClockPair) -> Self {
        let (low, high) = pair.lead_ns();
        Self { low, high }
    }

    /// Takes another pair and narrows the bounds.
    fn observe(&mut self, pair: &ClockPair) -> Result<(), ClockStep> {
        let (low, high) = pair.lead_ns();
        if high < self.low || self.high < low {
            let by = (low + high - self.low - self.high) / 2;
            return Err(ClockStep { by_ns: narrow(by) });
        }
        self.low = self.low.max(low);
        self.high = self.high.min(high);
        Ok(())
    }

    /// Time from a stamp of the wall clock until a moment of the sleep clock, in nanoseconds.
    fn between(&self, stamp: WallTime, moment: MonotonicTime) -> i64 {
        let lead = (self.low + self.high) / 2;
        narrow(i128::from(moment.as_ns()) + lead - i128::from(stamp.as_unix_ns()))
    }

    /// Error of that time, either way.
    fn error_ns(&self) -> i64 {
        narrow((self.high - self.low + 1) / 2)
    }
}

fn narrow(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAD: i64 = 1_000_000_000_000;

    fn pair(at: u64, width: u64, lead: i64) -> ClockPair {
        let wall = WallTime::from_unix_ns(at as i64 + lead);
        let before = MonotonicTime::from_ns(at - width / 2);
        ClockPair::from_readings(before, wall, MonotonicTime::from_ns(at + width / 2))
    }

    #[test]
    fn a_stamp_of_any_age_is_held_against_the_sleep_clock() {
        let mut lead = OffsetBounds::of(&pair(1_000_000, 200, LEAD));
        lead.observe(&pair(5_000_000, 100, LEAD)).unwrap();
        let stamp = WallTime::from_unix_ns(LEAD + 2_000_000);
        assert_eq!(
            lead.between(stamp, MonotonicTime::from_ns(9_000_000)),
            7_000_000
        );
        assert_eq!(lead.error_ns(), 50);
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_by_more_than_the_pairs_are_wide() {
        let mut lead = OffsetBounds::of(&pair(1_000_000, 200, LEAD));
        assert_eq!(lead.observe(&pair(2_000_000, 200, LEAD + 150)), Ok(()));
        let stepped = lead.observe(&pair(3_000_000, 200, LEAD - 5_000));
        assert!(stepped.is_err_and(|it| (-5_200..-4_900).contains(&it.by_ns)));
    }
}
