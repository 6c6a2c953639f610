//! From one log to another, with progress, until the end or Ctrl-C.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use kadenz::lab::stop::Stop;
use kadenz::msg::log::copy::{self, Copied, Decision};
use kadenz::msg::log::{Damage, Entry, LogReader, LogWriter};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use super::LimitOptions;
use super::output_file::LogOutputOptions;
use crate::commands::interrupt;
use crate::options::bar;
use crate::output::{self, Outcome, Reply};

/// Result of cut, merge, convert and recover.
#[derive(JsonSchema, Serialize)]
pub(crate) struct CopiedLog {
    version: Version<1>,
    #[serde(flatten)]
    copied: Copied,
    /// The new log, for people.
    #[serde(skip)]
    out: PathBuf,
}

/// Writes the messages that `judge` keeps into a new log.
pub(crate) fn into_log(
    reader: &mut dyn LogReader,
    inputs: &[&Path],
    output: &LogOutputOptions,
    limits: LimitOptions,
    judge: &mut dyn FnMut(&mut Entry) -> Decision,
) -> anyhow::Result<CopiedLog> {
    let stop = interrupt::stop_on_interrupt()?;
    let writer = output.create(inputs)?;
    Ok(CopiedLog {
        version: Version,
        copied: copy(reader, writer, limits, &stop, judge)?,
        out: output.out.clone(),
    })
}

impl CopiedLog {
    /// Whether nothing interrupted it.
    pub(crate) fn is_complete(&self) -> bool {
        self.copied.complete
    }

    /// Whether it lacks messages that were to be copied.
    pub(crate) fn leaves_out(&self) -> bool {
        self.copied.left_out > 0
    }

    /// The reply of a command that takes a whole log.
    pub(crate) fn reply(self) -> Reply {
        let (notes, outcome) = (notes(&self.copied), outcome(&self.copied));
        let is_complete = self.copied.complete;
        let reply = Reply::from(self).notes(notes).with(outcome);
        match is_complete {
            true => reply,
            false => reply.complain("interrupted; the copied part is a whole log"),
        }
    }
}

/// Copies the messages that `judge` keeps, with progress, until the end or a stop.
pub(crate) fn copy(
    reader: &mut dyn LogReader,
    writer: Box<dyn LogWriter>,
    limits: LimitOptions,
    stop: &Stop,
    judge: &mut dyn FnMut(&mut Entry) -> Decision,
) -> anyhow::Result<Copied> {
    let mut progress = WorkProgress::new("copying");
    let mut goes_on = |reader: &dyn LogReader| {
        progress.tick(|| reader.progress());
        !stop.requested()
    };
    Ok(copy::copy(
        reader,
        writer,
        limits.limits(),
        &mut goes_on,
        judge,
    )?)
}

impl Answer for CopiedLog {
    fn document(&self) -> Document {
        let messages = numbers::counted(self.copied.messages, "message");
        format!("{}: {messages}", self.out.display()).into()
    }
}

/// Notes on what is missing, and why.
pub(crate) fn notes(copied: &Copied) -> Vec<String> {
    let left_out = copied.reason.as_ref().map(|reason| {
        format!(
            "{} left out, the first because: {reason}",
            numbers::counted(copied.left_out, "message")
        )
    });
    left_out
        .into_iter()
        .chain(note_of_damage(copied.damage()))
        .collect()
}

/// The outcome of a command that takes a whole log: damage is a defect, also where the rest was written, and a log
/// that was interrupted is incomplete.
pub(crate) fn outcome(copied: &Copied) -> Outcome {
    Outcome::missed_if(!copied.damage().is_none()).or_incomplete(!copied.complete)
}

/// A note on the parts of a log that could not be read.
pub(crate) fn note_of_damage(damage: Damage) -> Option<String> {
    (!damage.is_none()).then(|| {
        format!(
            "the log was damaged at {}; {} passed over",
            numbers::counted(damage.places, "place"),
            numbers::counted(damage.skipped_bytes, "byte")
        )
    })
}

/// Progress bar on a terminal for work of more than two seconds; elsewhere a line at intervals.
pub(crate) struct WorkProgress {
    words: &'static str,
    begun: Instant,
    ticks: u32,
    bar: Option<ProgressBar>,
    lines: u64,
}

const QUIET: Duration = Duration::from_secs(2);
const LINE_EVERY_S: u64 = 15;

impl WorkProgress {
    pub(crate) fn new(words: &'static str) -> Self {
        Self {
            words,
            begun: Instant::now(),
            ticks: 0,
            bar: None,
            lines: 0,
        }
    }

    /// Reads the clock at intervals, and the progress at longer ones.
    pub(crate) fn tick(&mut self, done: impl FnOnce() -> (u64, u64)) {
        self.ticks = self.ticks.wrapping_add(1);
        if !self.ticks.is_multiple_of(256) {
            return;
        }
        let elapsed = self.begun.elapsed();
        if elapsed < QUIET {
            return;
        }
        let (done, all) = done();
        if output::draws_progress() {
            let bar = self.bar.get_or_insert_with(|| {
                let template = "{spinner} {prefix} [{bar:30}] {percent}%, {eta} left";
                bar(true, Some(0), template).with_prefix(self.words)
            });
            bar.set_length(all);
            bar.set_position(done);
        } else if elapsed.as_secs() / LINE_EVERY_S > self.lines {
            self.lines = elapsed.as_secs() / LINE_EVERY_S;
            let percent = (done * 100).checked_div(all).unwrap_or(0);
            output::note(&format!("{} {percent} % ...", self.words));
        }
    }
}
