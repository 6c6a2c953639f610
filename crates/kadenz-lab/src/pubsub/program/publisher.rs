//! A probe that publishes.

use std::io;
use std::time::{Duration, Instant};

use kadenz_record::run::model::{TuningMeasure, Warning};

use crate::probes::program::{END, Event, ProbeCommand, ProbeFailed, ProbeProgram, noted};
use crate::probes::protocol::{Line, Order, ProbeRole};
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
    /// How many messages it is to publish.
    count: u64,
    /// Whether it was told to end before it had published them.
    was_told: bool,
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
        let settings = super::settings(ProbeRole::Publisher, plan);
        Ok(Self {
            program: ProbeProgram::start(command, &settings)?,
            total: plan.publish.total(),
            count: plan.publish.count,
            was_told: false,
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
                    self.published = Some(Published {
                        published,
                        refused,
                        not_run: 0,
                    });
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
        self.was_told = true;
        self.program.end();
        let soon = Instant::now() + END;
        self.until = Some(self.until.map_or(soon, |until| until.min(soon)));
    }

    fn finish(mut self: Box<Self>) -> Result<(Published, Vec<TuningMeasure>), String> {
        self.take_all(Duration::ZERO);
        self.was_told |= self.ended.is_none();
        self.program.end();
        self.take_all(END);
        let failed = |why: String| Err(self.program.failed(why).to_string());
        match (self.published, self.ended) {
            (_, Some(Some(why))) => failed(why),
            (Some(it), _) if it.published < self.count && !self.was_told => failed(format!(
                "ended early, after {} of {} messages",
                it.published, self.count
            )),
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
