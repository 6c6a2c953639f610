//! The message layer of a check: messages at the check's rate, with the check's tuning.

use std::time::Duration;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::{EndedBy, Warning};
use kadenz_rt::beat::Interval;

use super::MIN_BEATS;
use crate::measuring::{ExperimentError, Measuring};
use crate::measuring_threads::Watch;
use crate::pubsub::{
    self, CHANNEL, LatencyPlan, LatencySetup, MessagesError, PublishPlan, Receiving, run_number,
};
use crate::session::Ongoing;
use crate::stop::Stop;

/// Reciprocal of the share of a check's time in which messages are measured.
const SHARE: u32 = 10;
/// Messages before the first that is measured.
const WARM_UP: u32 = 20;
/// How long the publisher and the subscriber wait for the first message.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How a check measures messages.
#[derive(Clone, Debug)]
pub struct MessagesPlan {
    /// The URL of the bus.
    pub url: String,
    /// How long an encoded message is, in bytes.
    pub message_bytes: usize,
    /// Whether the user named the bus: a failure to measure it is then an error, otherwise a warning.
    pub asked_for: bool,
}

impl MessagesPlan {
    /// How many messages are measured in a check of `duration`: a tenth of its beats. None where that is too few for
    /// p99.9, except over a bus that the user named.
    pub(super) fn beats(&self, interval: Interval, duration: Duration) -> Option<u64> {
        super::beats_of_share(interval, duration, SHARE, self.asked_for)
    }
}

/// Publisher and subscriber, two threads with a socket each, which have heard each other.
pub(super) struct MessageEndpoints(pubsub::PubSubConnection<'static>);

impl MessageEndpoints {
    pub(super) fn open(
        plan: &MessagesPlan,
        interval: Interval,
        beats: u64,
        stop: &Stop,
    ) -> Result<Self, MessagesError> {
        let plan = LatencyPlan {
            url: plan.url.clone(),
            channel: CHANNEL.to_owned(),
            publish: PublishPlan {
                run: run_number(),
                interval,
                warm_up: WARM_UP,
                count: beats,
                message_bytes: plan.message_bytes,
            },
            subscribers: 1,
            subscriber: None,
            receiving: Receiving::Blocking,
            queue: 30,
            timeout: TIMEOUT,
        };
        Ok(Self(pubsub::PubSubConnection::open(&plan, None, stop)?))
    }

    /// Makes the series in the run. The deadline does not apply to them: communication within one host is not the
    /// robot's network.
    pub(super) fn prepare(
        self,
        measuring: &Measuring,
        run: &mut RunWriter,
    ) -> Result<MessageRound, ExperimentError> {
        let measuring = Measuring {
            deadline: None,
            ..measuring.clone()
        };
        let prepared = self.0.prepare(&measuring, run)?;
        Ok(MessageRound {
            measuring,
            prepared,
        })
    }
}

/// The messages of a check, with their series in the run.
pub(super) struct MessageRound {
    measuring: Measuring,
    prepared: LatencySetup<'static>,
}

impl MessageRound {
    /// Measures them in a run that has begun.
    pub(super) fn measure(
        self,
        ongoing: &Ongoing,
        stop: &Stop,
        watch: &mut dyn Watch,
    ) -> Result<EndedBy, ExperimentError> {
        self.prepared.measure(&self.measuring, ongoing, stop, watch)
    }
}

/// The warning that the check is too short to measure messages.
pub(super) fn too_short(interval: Interval) -> Warning {
    let text = format!(
        "messages were not measured: a tenth of this check is fewer than {MIN_BEATS} messages, which 99.9 % \
         needs"
    );
    let remedy = super::command_with_enough_time(interval, SHARE);
    Warning::new("no_messages", text, Some(&remedy))
}

/// The warning that messages over the default bus could not be measured.
pub(super) fn refused(error: &MessagesError) -> Warning {
    let text = format!("messages were not measured: {error}");
    Warning::new(
        "no_messages",
        text,
        Some("kadenz check --no-messages leaves them out"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_get_a_tenth_that_carries_99_9_percent_or_nothing() {
        let interval = Interval::try_from(Duration::from_millis(1)).expect("not zero");
        let beats = |asked_for: bool, ms: u64| {
            let plan = MessagesPlan {
                url: "memq://".to_owned(),
                message_bytes: 200,
                asked_for,
            };
            plan.beats(interval, Duration::from_millis(ms))
        };
        assert_eq!(beats(false, 60_000), Some(6000));
        assert_eq!(beats(false, 10_000), Some(1000));
        assert_eq!(beats(false, 9999), None);
        assert_eq!(beats(true, 500), Some(50));
        assert_eq!(beats(true, 1), Some(1));
    }

    #[test]
    fn the_remedy_of_a_short_check_is_long_enough() {
        let interval = Interval::from_fraction(2_500_000, 1).expect("not zero");
        let remedy = too_short(interval).remedy;
        assert_eq!(remedy.as_deref(), Some("kadenz check --duration 25s"));
    }
}
