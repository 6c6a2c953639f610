//! Publishes on the beat.

use std::time::Duration;

use kadenz_msg::bus::Publisher;
use kadenz_rt::beat::{Beat, Interval};
use kadenz_rt::clock;

use super::latency_probe::LatencyProbe;
use crate::measuring_threads::{GRACE, LoopContext};

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
