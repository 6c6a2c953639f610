//! Who publishes, and who looks after it while the subscribers receive.

use std::time::Duration;

use kadenz_record::run::folder::Progress;
use kadenz_record::run::model::{TuningMeasure, Warning};
use kadenz_rt::clock::{self, MonotonicTime};

use super::publisher::Published;
use crate::measuring_threads::Watch;
use crate::stop::Stop;

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
pub(super) struct Attendant<'a> {
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

impl Attendant<'_> {
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

impl Watch for Attendant<'_> {
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
