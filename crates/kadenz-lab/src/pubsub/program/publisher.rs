//! A probe that publishes.

use std::io;
use std::time::{Duration, Instant};

use kadenz_record::run::model::{TuningMeasure, Warning};

use crate::probes::program::{END, Event, ProbeCommand, ProbeFailed, ProbeProgram, noted};
use crate::probes::protocol::{Line, Order, Role};
use crate::pubsub::LatencyPlan;
use crate::pubsub::publisher::Published;
use crate::pubsub::source::Source;

/// So many lines are taken at once.
const MAX_AT_ONCE: u32 = 1000;
/// After its last beat, a publisher hands over what lies in its library, and ends.
const AFTER_THE_LAST: Duration = Duration::from_secs(10);

/// A probe as the publisher of a measurement.
pub struct ProgramPublisher {
    program: ProbeProgram,
    total: Duration,
    /// When it is to have ended.
    until: Option<Instant>,
    published: Option<Published>,
    /// Why it ended, unless in order.
    ended: Option<Option<String>>,
    notes: Vec<String>,
}

impl ProgramPublisher {
    /// Starts it, and waits until it has opened what it needs.
    ///
    /// # Errors
    /// [`ProbeFailed`].
    pub fn start(command: &ProbeCommand, plan: &LatencyPlan) -> Result<Self, ProbeFailed> {
        let settings = super::settings(Role::Publisher, plan);
        Ok(Self {
            program: ProbeProgram::start(command, &settings)?,
            total: plan.publish.total(),
            until: None,
            published: None,
            ended: None,
            notes: Vec::new(),
        })
    }

    fn take_all(&mut self, timeout: Duration) {
        // A flood of lines does not keep the measurement from looking at the clock.
        for _ in 0..MAX_AT_ONCE {
            if self.ended.is_some() {
                return;
            }
            match self.program.next(timeout) {
                Some(Event::Line(Line::Published { published, refused })) => {
                    self.published = Some(Published { published, refused });
                }
                Some(Event::Line(Line::Note(text))) => self.notes.push(text),
                Some(Event::Line(_)) => {}
                Some(Event::Ended(why)) => self.ended = Some(why),
                None => return,
            }
        }
    }
}

impl Source for ProgramPublisher {
    fn begin(&mut self) -> io::Result<()> {
        self.program.tell(Order::Begin);
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
        self.program.end();
        let soon = Instant::now() + END;
        self.until = Some(self.until.map_or(soon, |until| until.min(soon)));
    }

    fn finish(mut self: Box<Self>) -> Result<(Published, Vec<TuningMeasure>), String> {
        self.program.end();
        self.take_all(END);
        let failed = |program: &ProbeProgram, why: &str| program.failed(why.to_owned()).to_string();
        match (self.published, self.ended) {
            (_, Some(Some(why))) => Err(failed(&self.program, &why)),
            (Some(published), _) => Ok((published, self.program.measures.clone())),
            (None, Some(None)) => Err(failed(
                &self.program,
                "ended without `published COUNT REFUSED`",
            )),
            (None, None) => Err(failed(&self.program, "does not end")),
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
