//! A probe that receives.

use std::time::Duration;

use kadenz_record::run::messages::Subscriber;
use kadenz_record::run::model::{TuningMeasure, Warning};
use kadenz_rt::clock::MonotonicTime;

use crate::probes::program::{Event, ProbeCommand, ProbeFailed, ProbeProgram, Wanted, noted};
use crate::probes::protocol::{Line, ProbeRole};
use crate::pubsub::arrivals::{ArrivalCounts, Heard};
use crate::pubsub::latency_probe::LatencyProbe;
use crate::pubsub::series::Recorders;
use crate::pubsub::{LatencyPlan, MessagesError};
use crate::stop::Stop;

/// A probe as a subscriber of a measurement.
pub(in crate::pubsub) struct ProgramListener {
    program: ProbeProgram,
    pub(in crate::pubsub) name: String,
    /// Why it ended before it was told to.
    failed: Option<ProbeFailed>,
    told: Told,
}

/// What it told.
struct Told {
    /// The number that each of its messages carries.
    run: i64,
    arrivals: ArrivalCounts,
    notes: Vec<String>,
}

impl ProgramListener {
    /// Starts it, and waits until it has subscribed.
    pub(in crate::pubsub) fn start(
        command: &ProbeCommand,
        plan: &LatencyPlan,
        name: String,
    ) -> Result<Self, ProbeFailed> {
        let settings = super::settings(ProbeRole::Subscriber, plan);
        Ok(Self {
            program: ProbeProgram::start(command, &settings)?,
            name,
            failed: None,
            told: Told {
                run: plan.publish.run,
                arrivals: ArrivalCounts::new(plan.publish.run, plan.publish.count),
                notes: Vec::new(),
            },
        })
    }

    /// What it receives with: the middleware and its version.
    pub(in crate::pubsub) fn middleware(&self) -> &str {
        &self.program.middleware
    }

    /// What it asked of the machine and got.
    pub(in crate::pubsub) fn measures(&self) -> &[TuningMeasure] {
        &self.program.measures
    }

    /// Whether a greeting came to it, within that time.
    pub(in crate::pubsub) fn has_heard(
        &mut self,
        timeout: Duration,
    ) -> Result<bool, MessagesError> {
        match self.program.next(timeout) {
            Some(Event::Line(Line::Heard)) => Ok(true),
            Some(Event::Line(Line::Note(text))) => {
                self.told.notes.push(text);
                Ok(false)
            }
            Some(Event::Ended(why)) => {
                let why = why.unwrap_or_else(|| "ended before a message came".to_owned());
                Err(self.program.failed(why).into())
            }
            Some(Event::Line(_)) | None => Ok(false),
        }
    }

    /// Takes what it tells until every message has come, or nothing more will.
    pub(in crate::pubsub) fn run(
        &mut self,
        recorders: &mut Recorders,
        quit: &Stop,
        origin: MonotonicTime,
    ) {
        let told = &mut self.told;
        let attended = self.program.attend(None, |line| {
            if let Some(line) = line {
                told.take(line, recorders, origin);
            }
            match quit.requested() || told.arrivals.is_complete() {
                true => Wanted::Nothing,
                false => Wanted::More,
            }
        });
        let early = || {
            self.program
                .failed("ended before it was told to".to_owned())
        };
        let is_early = !attended.was_told;
        self.failed = attended.failed.or_else(|| is_early.then(early));
    }

    /// Whether it ended before it was told to.
    pub(in crate::pubsub) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// What belongs into the run as warnings.
    pub(in crate::pubsub) fn warnings(&self) -> Vec<Warning> {
        let failed = self.failed.iter().map(|failed| Warning {
            id: "subscriber_failed".to_owned(),
            text: format!(
                "{}: {failed}: what it did not receive is counted as lost",
                self.name
            ),
            remedy: None,
            ..Warning::default()
        });
        failed.chain(noted(&self.name, &self.told.notes)).collect()
    }

    /// What became of the first `published` messages.
    pub(in crate::pubsub) fn close(self, published: u64) -> Subscriber {
        self.told.arrivals.close(&self.name, published)
    }
}

impl Told {
    fn take(&mut self, line: Line, recorders: &mut Recorders, origin: MonotonicTime) {
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
                if self.arrivals.heard(&probe) == Heard::First {
                    recorders.times(&probe, times.received_ns, origin);
                }
            }
            Line::Foreign => self.arrivals.heard_a_stranger(),
            Line::Note(text) => self.notes.push(text),
            // What a subscriber has no use for is no failure of the measurement.
            _ => {}
        }
    }
}
