//! Publishes on the beat, and looks after whoever publishes while the subscribers receive.

use std::time::Duration;

use kadenz_msg::bus::Publisher;
use kadenz_record::run::folder::Progress;
use kadenz_record::run::model::{TuningMeasure, Warning};
use kadenz_rt::beat::{Beat, Interval};
use kadenz_rt::clock::{self, MonotonicTime};

use super::latency_probe::LatencyProbe;
use crate::measuring_threads::{GRACE, LoopContext, Watch};
use crate::stop::Stop;

/// What is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishPlan {
    /// A number that no other measurement has.
    pub run: i64,
    /// Time between two messages.
    pub interval: Interval,
    /// Messages that are not measured, before those that are.
    pub warm_up: u32,
    /// Messages that are measured.
    pub count: u64,
    /// How long an encoded message is, in bytes; at least [`MIN`](super::MIN).
    pub message_bytes: usize,
}

/// What became of messages before they left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Published {
    /// Messages that were to be published, without those for warming up.
    pub published: u64,
    /// Of these, messages that the provider did not take.
    pub refused: u64,
    /// Of these, messages that were never handed to it: the publisher was so far behind that it gave up.
    pub not_run: u64,
}

impl PublishPlan {
    fn probe(&self) -> LatencyProbe {
        LatencyProbe {
            run: self.run,
            before_ns: -1,
            padding: LatencyProbe::padding_of(self.message_bytes).unwrap_or(0),
            ..LatencyProbe::default()
        }
    }

    /// How long publishing all of them takes.
    #[must_use]
    pub fn total(&self) -> Duration {
        let all = self.count.saturating_add(self.warm_up.into());
        let nanoseconds = self.interval.as_duration().as_nanos() * u128::from(all);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// Publishes a message that only shows that the way is open. Not for a loop.
///
/// # Errors
/// Where the provider does not take it.
pub fn greet(
    plan: &PublishPlan,
    publisher: &mut Publisher<LatencyProbe>,
) -> Result<(), kadenz_msg::bus::SendError> {
    let now = clock::now().as_ns().cast_signed();
    publisher.publish(&LatencyProbe {
        sequence: -1,
        intended_ns: now,
        sent_ns: now,
        ..plan.probe()
    })
}

/// Publishes a message on every beat from the context's start on, until the plan is done or somebody
/// stops it. A beat that comes late is published late, with its own intended time; those that are owed still when the
/// [`GRACE`] is over count as messages that were to be published.
///
/// # Real-time safety
/// As [`Publisher::publish`]; beside it the sleeper's system call and two readings of the clock.
pub fn publish_on_beat(
    plan: &PublishPlan,
    publisher: &mut Publisher<LatencyProbe>,
    context: &mut LoopContext<'_>,
) -> Published {
    let mut beat = Beat::at(context.start, plan.interval);
    let all = plan.count.saturating_add(plan.warm_up.into());
    let patience = beat.intended(all) + GRACE;
    let mut probe = plan.probe();
    let mut told = Published::default();
    let count = plan.count.cast_signed();
    for sequence in -i64::from(plan.warm_up)..count {
        let intended = beat.next();
        context.sleeper.sleep_until(intended);
        let sent = clock::now();
        probe.sequence = sequence;
        probe.intended_ns = intended.as_ns().cast_signed();
        probe.sent_ns = sent.as_ns().cast_signed();
        let taken = publisher.publish(&probe).is_ok();
        probe.before_ns = clock::now().since(sent);
        if sequence >= 0 {
            told.published += 1;
            told.refused += u64::from(!taken);
        }
        if context.stop.requested() {
            break;
        }
        if sent > patience {
            context.owed += all - beat.index();
            told.not_run = plan.count - told.published;
            told.published = plan.count;
            break;
        }
    }
    told
}

/// A publisher outside of this process.
///
/// It greets every few milliseconds until it is told to begin, then keeps the beat.
pub trait Source {
    /// Every subscriber has heard a greeting, and receives.
    ///
    /// # Errors
    /// Where it cannot be told.
    fn begin(&mut self) -> std::io::Result<()>;

    /// Whether it publishes no more.
    fn has_ended(&mut self) -> bool;

    /// Asks it to end early.
    fn end(&mut self);

    /// What it published, and what its thread asked of the machine and got, once it has ended.
    ///
    /// # Errors
    /// Where it failed; in words.
    fn finish(self: Box<Self>) -> Result<(Published, Vec<TuningMeasure>), String>;

    /// What it publishes with, where it is a probe: the middleware and its version.
    fn middleware(&self) -> Option<&str> {
        None
    }

    /// What it noted so far and belongs into the run as warnings; each once.
    fn notes(&mut self) -> Vec<Warning> {
        Vec::new()
    }
}

/// How long messages may be on their way after the last was published.
const ON_THE_WAY: Duration = Duration::from_millis(300);

/// Tells the source to begin and the subscribers when nothing more will come.
pub(super) struct PublishingControl<'a> {
    pub(super) watch: &'a mut dyn Watch,
    pub(super) source: Option<&'a mut dyn Source>,
    /// The user's.
    pub(super) stop: &'a Stop,
    /// Requested by a publisher that is a thread of this process.
    pub(super) thread_ended: &'a Stop,
    /// The subscribers'.
    pub(super) quit: &'a Stop,
    pub(super) begun: bool,
    pub(super) ended_at: Option<MonotonicTime>,
}

impl PublishingControl<'_> {
    fn publisher_has_ended(&mut self) -> bool {
        let Some(source) = &mut self.source else {
            return self.thread_ended.requested();
        };
        if !std::mem::replace(&mut self.begun, true) && source.begin().is_err() {
            // It has gone, and says why when it is asked what it published.
            source.end();
        }
        if self.stop.requested() {
            source.end();
        }
        source.has_ended()
    }
}

impl Watch for PublishingControl<'_> {
    fn tick(&mut self, progress: &Progress) {
        if self.publisher_has_ended() {
            let now = clock::now();
            let ended_at = *self.ended_at.get_or_insert(now);
            if now >= ended_at + ON_THE_WAY {
                self.quit.request();
            }
        }
        self.watch.tick(progress);
    }

    fn tuned(&mut self, series: &[String], measures: &[TuningMeasure]) {
        self.watch.tuned(series, measures);
    }
}
