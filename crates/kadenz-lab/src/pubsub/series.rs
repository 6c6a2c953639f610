//! The series of a measurement.

use kadenz_msg::bus::Delivery;
use kadenz_record::run::folder::{RunWriter, SeriesRecorder};
use kadenz_record::run::labels::{Labels, SUBSCRIBER, VALUE, labels};
use kadenz_record::run::messages::{
    DECODE, KERNEL_TO_INLET, ONE_WAY, ONE_WAY_FROM_SEND, PUBLISH, PUBLISH_LATENESS, QUEUE,
    Subscriber,
};
use kadenz_record::run::model::Kind;
use kadenz_record::samples::Sample;
use kadenz_rt::clock::MonotonicTime;

use super::LatencyPlan;
use super::latency_probe::LatencyProbe;
use crate::measuring::{ExperimentError, Measuring, SeriesMaker};

/// The recorders of one subscriber.
#[derive(Debug)]
pub(super) struct SubscriberRecorders {
    one_way: SeriesRecorder,
    from_send: SeriesRecorder,
    stages: Option<StageRecorders>,
    /// Times of the publishing that the message carries; only the first subscriber records them.
    publishing: Option<[SeriesRecorder; 2]>,
}

/// The stages of a message's way on the receiving side that a subscriber can distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stages {
    /// None: it is a probe.
    None,
    /// Its queue and decoding.
    FromInlet,
    /// From the kernel's stamp on.
    FromKernel,
}

#[derive(Debug)]
struct StageRecorders {
    kernel_to_inlet: Option<SeriesRecorder>,
    queue: SeriesRecorder,
    decode: SeriesRecorder,
}

/// Names of the publisher's series.
pub(super) const OF_PUBLISHER: [&str; 2] = [PUBLISH_LATENESS, PUBLISH];

/// The name of a subscriber, counted from 0.
pub(super) fn name(subscriber: usize) -> String {
    format!("subscriber-{}", subscriber + 1)
}

/// Makes a subscriber's series in the run; returns their names, too.
pub(super) fn create(
    measuring: &Measuring,
    run: &mut RunWriter,
    plan: &LatencyPlan,
    subscriber: usize,
    stages: Stages,
) -> Result<(SubscriberRecorders, Vec<String>), ExperimentError> {
    let mut maker = SeriesMaker {
        measuring,
        run,
        interval: plan.publish.interval.as_duration(),
        made: Vec::new(),
    };
    let of = Subscriber {
        name: name(subscriber),
        ..Subscriber::default()
    };
    let mut received = |value: &str, words: &str| {
        let mut labels = labels([(VALUE, value)]);
        if plan.subscribers > 1 {
            labels.insert(SUBSCRIBER.to_owned(), of.name.clone());
        }
        let name = of.series(value, plan.subscribers);
        maker.series((&name, labels), words, Kind::Latency, value == ONE_WAY)
    };
    let one_way = received(ONE_WAY, "the message was there, decoded, less its beat")?;
    let words = "the message was there, decoded, less its publishing";
    let from_send = received(ONE_WAY_FROM_SEND, words)?;
    let stages = stage_recorders(stages, &mut received)?;
    let received = std::mem::take(&mut maker.made);
    let publishing = (subscriber == 0).then(|| publishing(&mut maker));
    let publishing = publishing.transpose()?;
    let recorders = SubscriberRecorders {
        one_way,
        from_send,
        stages,
        publishing,
    };
    Ok((recorders, received))
}

impl SubscriberRecorders {
    /// Records a counted message.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, lock or system call.
    pub(super) fn record(
        &mut self,
        probe: &LatencyProbe,
        delivery: &Delivery,
        origin: MonotonicTime,
    ) {
        let there_ns = delivery.decoded.as_ns().cast_signed();
        let sent = self.times(probe, there_ns, origin);
        let Some(stages) = &mut self.stages else {
            return;
        };
        let hops = delivery.hops();
        let hop = |value_ns: i64| Sample { value_ns, ..sent };
        if let Some((recorder, ns)) = stages.kernel_to_inlet.as_mut().zip(hops.kernel_to_inlet_ns) {
            recorder.record(hop(ns));
        }
        stages.queue.record(hop(hops.queue_ns));
        stages.decode.record(hop(hops.decode_ns));
    }

    /// Records the times that the message carries, and when it was decoded; returns the sample of its latency since it
    /// was published.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, lock or system call.
    pub(super) fn times(
        &mut self,
        probe: &LatencyProbe,
        there_ns: i64,
        origin: MonotonicTime,
    ) -> Sample {
        let origin_ns = origin.as_ns().cast_signed();
        let there_ns = there_ns.saturating_sub(origin_ns);
        // The times in the message may be any values: any program on the bus may have written it.
        let sample = |since_ns: i64| {
            let intended_ns = since_ns.saturating_sub(origin_ns);
            Sample {
                sequence: probe.sequence.cast_unsigned(),
                intended_ns,
                actual_ns: there_ns,
                value_ns: there_ns.saturating_sub(intended_ns),
            }
        };
        let (beat, sent) = (sample(probe.intended_ns), sample(probe.sent_ns));
        self.one_way.record(beat);
        self.from_send.record(sent);
        if let Some([lateness, publish]) = &mut self.publishing {
            lateness.record(Sample {
                actual_ns: sent.intended_ns,
                value_ns: probe.sent_ns.saturating_sub(probe.intended_ns),
                ..beat
            });
            if probe.sequence > 0 && probe.before_ns >= 0 {
                publish.record(Sample {
                    sequence: sent.sequence - 1,
                    value_ns: probe.before_ns,
                    ..sent
                });
            }
        }
        sent
    }
}

fn stage_recorders(
    stages: Stages,
    received: &mut impl FnMut(&str, &str) -> Result<SeriesRecorder, ExperimentError>,
) -> Result<Option<StageRecorders>, ExperimentError> {
    if stages == Stages::None {
        return Ok(None);
    }
    let words = "from the kernel's stamp until the message was there whole";
    let kernel_to_inlet = (stages == Stages::FromKernel)
        .then(|| received(KERNEL_TO_INLET, words))
        .transpose()?;
    let words = "from the message being there until its thread took it out of the queue";
    Ok(Some(StageRecorders {
        kernel_to_inlet,
        queue: received(QUEUE, words)?,
        decode: received(DECODE, "decoding the message")?,
    }))
}

fn publishing(maker: &mut SeriesMaker<'_>) -> Result<[SeriesRecorder; 2], ExperimentError> {
    let words = "the message was published, less its beat";
    let named = (PUBLISH_LATENESS, Labels::new());
    let lateness = maker.series(named, words, Kind::Lateness, false)?;
    let words = "duration of the publish call, carried by the next message";
    Ok([lateness, maker.latency(PUBLISH, words)?])
}
