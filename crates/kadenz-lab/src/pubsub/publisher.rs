//! Publishes on the beat, and controls the publisher while the subscribers receive.

use std::time::Duration;

use kadenz_msg::bus::Publisher;
use kadenz_record::run::folder::Progress;
use kadenz_record::run::model::{TuningMeasure, Warning};
use kadenz_rt::beat::{Beat, Interval};
use kadenz_rt::clock::{self, MonotonicTime};

use super::latency_probe::LatencyProbe;
use crate::measuring_threads::{GRACE, LoopContext, Watch};
use crate::stop::Stop;

/// The messages to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishPlan {
    /// A number that no other measurement has.
    pub run: i64,
    /// Time between two messages.
    pub interval: Interval,
    /// Messages for warming up, before the measured ones.
    pub warm_up: u32,
    /// Number of measured messages.
    pub count: u64,
    /// How long an encoded message is, in bytes; at least [`MIN`](super::MIN).
    pub message_bytes: usize,
}

/// Counts of the messages before they left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Published {
    /// Messages that were due, refused and not run ones included, without those for warming up; after a stop only those
    /// until then.
    pub published: u64,
    /// Of these, messages that the provider refused.
    pub refused: u64,
    /// Of these, messages that the provider never got: the publisher was so late that it gave up.
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

/// Publishes a message that only shows that the connection works. Not for a loop.
///
/// # Errors
/// The provider refuses the message.
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

/// Publishes a message on every beat from the context's start on, until the plan is done or a stop is requested. The
/// message of a late beat is published late, with its own intended time; the messages still owed when the [`GRACE`] is
/// over count as not run.
///
/// # Real-time safety
/// As [`Publisher::publish`], plus the sleeper's system call and two readings of the clock.
pub fn publish_on_beat(
    plan: &PublishPlan,
    publisher: &mut Publisher<LatencyProbe>,
    context: &mut LoopContext<'_>,
) -> Published {
    let mut beat = Beat::at(context.start, plan.interval);
    let all = plan.count.saturating_add(plan.warm_up.into());
    let give_up_at = beat.intended(all) + GRACE;
    let mut probe = plan.probe();
    let mut published = Published::default();
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
            published.published += 1;
            published.refused += u64::from(!taken);
        }
        if context.stop.requested() {
            break;
        }
        if sent > give_up_at {
            context.owed += all - beat.index();
            published.not_run = plan.count - published.published;
            published.published = plan.count;
            break;
        }
    }
    published
}

/// A publisher outside of this process.
///
/// It publishes a greeting every few milliseconds until it receives the order to begin, then keeps the beat.
pub trait Source {
    /// Orders it to begin: every subscriber has received a greeting, and receives.
    ///
    /// # Errors
    /// The order cannot be delivered.
    fn begin(&mut self) -> std::io::Result<()>;

    /// Whether it has stopped publishing.
    fn has_ended(&mut self) -> bool;

    /// Orders it to end early.
    fn end(&mut self);

    /// Returns its counts, and the measures that its thread requested and got, once it has ended.
    ///
    /// # Errors
    /// The reason of a failure, in words.
    fn finish(self: Box<Self>) -> Result<(Published, Vec<TuningMeasure>), String>;

    /// The middleware that it publishes with, and its version, where it is a probe.
    fn middleware(&self) -> Option<&str> {
        None
    }

    /// Its notes so far, as warnings for the run; each once.
    fn notes(&mut self) -> Vec<Warning> {
        Vec::new()
    }
}

/// How long after the last message the subscribers still receive.
const ON_THE_WAY: Duration = Duration::from_millis(300);

/// Orders the source to begin, and the subscribers to end once no more messages will come.
pub(super) struct PublishingControl<'a> {
    pub(super) watch: &'a mut dyn Watch,
    pub(super) source: Option<&'a mut dyn Source>,
    /// The user's stop request.
    pub(super) stop: &'a Stop,
    /// Requested by a publisher that is a thread of this process.
    pub(super) thread_ended: &'a Stop,
    /// The subscribers' stop request.
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
            // The source has ended; `finish` returns the reason.
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
