//! Probes as the publisher and the subscribers of a measurement.

use std::io;
use std::time::{Duration, Instant};

use kadenz_record::run::messages::Subscriber;
use kadenz_record::run::model::{TuningMeasure, Warning};
use kadenz_rt::clock::MonotonicTime;

use super::LatencyPlan;
use crate::probes::program::{
    END, ProbeCommand, ProbeEvent, ProbeFailed, ProbeProgram, Wanted, noted,
};
use crate::probes::protocol::{Line, Order, ProbeRole, Settings};
use crate::pubsub::MessagesError;
use crate::pubsub::arrivals::{ArrivalCounts, ArrivalKind};
use crate::pubsub::latency_probe::LatencyProbe;
use crate::pubsub::publisher::Published;
use crate::pubsub::publisher::Source;
use crate::pubsub::series::SubscriberRecorders;
use crate::stop::Stop;

/// The settings for one side.
fn settings(role: ProbeRole, plan: &LatencyPlan) -> Settings {
    let publish = &plan.publish;
    Settings::new(role)
        .with("url", &plan.url)
        .with("channel", &plan.channel)
        .with("queue", plan.queue)
        .with("run", publish.run)
        .with("interval_ns", publish.interval.as_duration().as_nanos())
        .with("warm_up", publish.warm_up)
        .with("count", publish.count)
        .with("bytes", publish.message_bytes)
}

/// Lines that are taken at once, at most.
const MAX_AT_ONCE: u32 = 1000;
/// After its last beat, a publisher has this time to hand over what its library holds, and to end.
const AFTER_THE_LAST: Duration = Duration::from_secs(10);

/// A probe as the publisher of a measurement.
pub struct ProgramPublisher {
    program: ProbeProgram,
    total: Duration,
    /// How many messages it must publish.
    count: u64,
    /// Whether it received the order to end before it had published them.
    was_ordered_to_end: bool,
    /// When it must have ended.
    until: Option<Instant>,
    published: Option<Published>,
    /// The reason for its end, unless in order.
    ended: Option<Option<String>>,
    notes: Vec<String>,
}

impl ProgramPublisher {
    /// Starts the probe, and waits until it has opened what it needs.
    ///
    /// # Errors
    /// [`ProbeFailed`].
    pub fn start(command: &ProbeCommand, plan: &LatencyPlan) -> Result<Self, ProbeFailed> {
        let settings = settings(ProbeRole::Publisher, plan);
        Ok(Self {
            program: ProbeProgram::start(command, &settings)?,
            total: plan.publish.total(),
            count: plan.publish.count,
            was_ordered_to_end: false,
            until: None,
            published: None,
            ended: None,
            notes: Vec::new(),
        })
    }

    fn take_all(&mut self, timeout: Duration) {
        // The limit lets the measurement check the clock during a flood of lines.
        for _ in 0..MAX_AT_ONCE {
            if self.ended.is_some() {
                return;
            }
            match self.program.next(timeout) {
                Some(ProbeEvent::Line(Line::Published { published, refused })) => {
                    self.published = Some(Published {
                        published,
                        refused,
                        not_run: 0,
                    });
                }
                Some(ProbeEvent::Line(Line::Note(text))) => self.notes.push(text),
                Some(ProbeEvent::Line(_)) => {}
                Some(ProbeEvent::Ended(why)) => self.ended = Some(why),
                None => return,
            }
        }
    }
}

impl Source for ProgramPublisher {
    fn begin(&mut self) -> io::Result<()> {
        self.program.send(Order::Begin);
        self.until = Some(Instant::now() + self.total + AFTER_THE_LAST);
        Ok(())
    }

    fn has_ended(&mut self) -> bool {
        self.take_all(Duration::ZERO);
        if self.until.is_some_and(|until| Instant::now() > until) {
            self.program.kill();
        }
        self.ended.is_some()
    }

    fn end(&mut self) {
        self.was_ordered_to_end = true;
        self.program.end();
        let soon = Instant::now() + END;
        self.until = Some(self.until.map_or(soon, |until| until.min(soon)));
    }

    fn finish(mut self: Box<Self>) -> Result<(Published, Vec<TuningMeasure>), String> {
        self.take_all(Duration::ZERO);
        self.was_ordered_to_end |= self.ended.is_none();
        self.program.end();
        self.take_all(END);
        let failed = |why: String| Err(self.program.failed(why).to_string());
        match (self.published, self.ended) {
            (_, Some(Some(why))) => failed(why),
            (Some(it), _) if it.published < self.count && !self.was_ordered_to_end => {
                failed(format!(
                    "ended early, after {} of {} messages",
                    it.published, self.count
                ))
            }
            (Some(published), _) => Ok((published, self.program.measures.clone())),
            (None, Some(None)) => failed("ended without `published COUNT REFUSED`".to_owned()),
            (None, None) => failed("does not end".to_owned()),
        }
    }

    fn middleware(&self) -> Option<&str> {
        Some(&self.program.middleware)
    }

    fn notes(&mut self) -> Vec<Warning> {
        let notes = std::mem::take(&mut self.notes);
        noted("publisher", &notes).collect()
    }
}

/// A probe as a subscriber of a measurement.
pub(in crate::pubsub) struct ProgramListener {
    program: ProbeProgram,
    pub(in crate::pubsub) name: String,
    /// The reason for an end before the order to end.
    failed: Option<ProbeFailed>,
    report: SubscriberReport,
}

/// Reports of a subscriber in a program of its own.
struct SubscriberReport {
    /// The number that each of its messages carries.
    run: i64,
    arrivals: ArrivalCounts,
    notes: Vec<String>,
}

impl ProgramListener {
    /// Starts the probe, and waits until it has subscribed.
    pub(in crate::pubsub) fn start(
        command: &ProbeCommand,
        plan: &LatencyPlan,
        name: String,
    ) -> Result<Self, ProbeFailed> {
        let settings = settings(ProbeRole::Subscriber, plan);
        Ok(Self {
            program: ProbeProgram::start(command, &settings)?,
            name,
            failed: None,
            report: SubscriberReport {
                run: plan.publish.run,
                arrivals: ArrivalCounts::new(plan.publish.run, plan.publish.count),
                notes: Vec::new(),
            },
        })
    }

    /// The middleware that it receives with, and its version.
    pub(in crate::pubsub) fn middleware(&self) -> &str {
        &self.program.middleware
    }

    /// The measures that it requested of the machine, and what it got.
    pub(in crate::pubsub) fn measures(&self) -> &[TuningMeasure] {
        &self.program.measures
    }

    /// Whether a greeting came to it within that time.
    pub(in crate::pubsub) fn has_heard(
        &mut self,
        timeout: Duration,
    ) -> Result<bool, MessagesError> {
        match self.program.next(timeout) {
            Some(ProbeEvent::Line(Line::Heard)) => Ok(true),
            Some(ProbeEvent::Line(Line::Note(text))) => {
                self.report.notes.push(text);
                Ok(false)
            }
            Some(ProbeEvent::Ended(why)) => {
                let why = why.unwrap_or_else(|| "ended before a message came".to_owned());
                Err(self.program.failed(why).into())
            }
            Some(ProbeEvent::Line(_)) | None => Ok(false),
        }
    }

    /// Takes its lines until every message has come, or no more will come.
    pub(in crate::pubsub) fn run(
        &mut self,
        recorders: &mut SubscriberRecorders,
        quit: &Stop,
        origin: MonotonicTime,
    ) {
        let report = &mut self.report;
        let end = self.program.read_to_end(None, |line| {
            if let Some(line) = line {
                report.take(line, recorders, origin);
            }
            match quit.requested() || report.arrivals.is_complete() {
                true => Wanted::Nothing,
                false => Wanted::More,
            }
        });
        let early = || {
            self.program
                .failed("ended before it was told to".to_owned())
        };
        let is_early = !end.was_ordered_to_end;
        self.failed = end.failed.or_else(|| is_early.then(early));
    }

    /// Whether it ended before the order to end.
    pub(in crate::pubsub) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Warnings for the run.
    pub(in crate::pubsub) fn warnings(&self) -> Vec<Warning> {
        let failed = self.failed.iter().map(|failed| {
            Warning::new(
                "subscriber_failed",
                format!(
                    "{}: {failed}: what it did not receive is counted as lost",
                    self.name
                ),
                None,
            )
        });
        failed
            .chain(noted(&self.name, &self.report.notes))
            .collect()
    }

    /// Counts what became of the first `published` messages.
    pub(in crate::pubsub) fn close(self, published: u64) -> Subscriber {
        self.report.arrivals.close(&self.name, published)
    }
}

impl SubscriberReport {
    fn take(&mut self, line: Line, recorders: &mut SubscriberRecorders, origin: MonotonicTime) {
        match line {
            Line::Message(times) => {
                let probe = LatencyProbe {
                    run: self.run,
                    sequence: times.sequence,
                    intended_ns: times.intended_ns,
                    sent_ns: times.sent_ns,
                    before_ns: times.before_ns,
                    padding: 0,
                    damaged: times.damaged,
                };
                if self.arrivals.count(&probe) == ArrivalKind::First {
                    recorders.times(&probe, times.received_ns, origin);
                }
            }
            Line::Foreign => self.arrivals.count_foreign(),
            Line::Note(text) => self.notes.push(text),
            // A line that a subscriber has no use for is not a failure of the measurement.
            _ => {}
        }
    }
}
