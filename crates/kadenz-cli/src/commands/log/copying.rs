//! From one log to another, with progress, until the end or Ctrl-C.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use kadenz::lab::stop::Stop;
use kadenz::msg::log::play::PlayOptions;
use kadenz::msg::log::{Damage, Entry, Limits, LogError, LogReader, LogWriter};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use super::LimitOptions;
use super::output_file::LogOutputOptions;
use crate::commands::interrupt;
use crate::options::bar;
use crate::output::{self, Outcome};

/// Counts of a copy.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Copied {
    version: Version<1>,
    /// Messages in the new log, or rows in all tables.
    pub(crate) messages: u64,
    /// Messages that the new format cannot hold, or that could not be converted.
    pub(crate) left_out: u64,
    /// The first reason for one of those.
    pub(crate) reason: Option<String>,
    /// Damaged places of the old log.
    damaged_places: u64,
    /// Bytes skipped at damaged places.
    skipped_bytes: u64,
    /// Whether the copy reached the end.
    pub(crate) complete: bool,
}

/// Result of cut, merge, convert and recover.
#[derive(JsonSchema, Serialize)]
pub(crate) struct CopiedLog<'a> {
    #[serde(flatten)]
    copied: &'a Copied,
    /// The new log, for people.
    #[serde(skip)]
    out: &'a Path,
}

/// Decision about a message.
pub(crate) enum Fate {
    Keep,
    /// The message is outside the request.
    Pass,
    /// The message was requested but cannot be converted, with the reason.
    LeaveOut(String),
    /// The end of the request.
    End,
}

/// Writes the messages that `judge` keeps into a new log, and reports the result.
pub(crate) fn into_log(
    reader: &mut dyn LogReader,
    inputs: &[&Path],
    output: &LogOutputOptions,
    limits: LimitOptions,
    judge: &mut dyn FnMut(&mut Entry) -> Fate,
) -> anyhow::Result<Copied> {
    let stop = interrupt::stop_on_interrupt()?;
    let writer = output.create(inputs)?;
    let copied = copy(reader, writer, limits.limits(), &stop, judge)?;
    output::answer(&CopiedLog {
        copied: &copied,
        out: &output.out,
    })?;
    copied.note();
    if !copied.complete {
        output::note("interrupted; the copied part is a whole log");
    }
    Ok(copied)
}

/// Decides about a message where a part of the log is wanted; `judge` decides within that part.
pub(crate) fn within(
    part: &PlayOptions,
    entry: &mut Entry,
    judge: impl FnOnce(&mut Entry) -> Fate,
) -> Fate {
    if part.until.is_some_and(|until| entry.log_time >= until) {
        Fate::End
    } else if part.wants(&entry.channel.name) {
        judge(entry)
    } else {
        Fate::Pass
    }
}

/// Copies the messages that `judge` keeps, and may change. Finishes the new log even after an interruption.
pub(crate) fn copy(
    reader: &mut dyn LogReader,
    mut writer: Box<dyn LogWriter>,
    limits: Limits,
    stop: &Stop,
    judge: &mut dyn FnMut(&mut Entry) -> Fate,
) -> anyhow::Result<Copied> {
    let mut tally = Tally::default();
    let length = reader.outline().bytes;
    let check = |written: u64| limits.check(written, length);
    let mut progress = Working::new("copying");
    let result = work(
        reader,
        writer.as_mut(),
        stop,
        &check,
        judge,
        &mut tally,
        &mut progress,
    );
    drop(progress);
    let given_up = writer.finish()?;
    let complete = result?;
    let Damage {
        places,
        skipped_bytes,
    } = reader.damage();
    anyhow::ensure!(
        given_up == 0,
        "the disk is full: {} in the new log, {given_up} given up",
        numbers::counted(tally.messages - given_up, "message")
    );
    Ok(Copied {
        version: Version,
        messages: tally.messages,
        left_out: tally.left_out,
        reason: tally.reason,
        damaged_places: places,
        skipped_bytes,
        complete,
    })
}

#[derive(Default)]
struct Tally {
    messages: u64,
    left_out: u64,
    reason: Option<String>,
}

impl Tally {
    fn leave_out(&mut self, reason: String) {
        self.left_out += 1;
        self.reason.get_or_insert(reason);
    }
}

fn work(
    reader: &mut dyn LogReader,
    writer: &mut dyn LogWriter,
    stop: &Stop,
    check: &dyn Fn(u64) -> Result<(), LogError>,
    judge: &mut dyn FnMut(&mut Entry) -> Fate,
    tally: &mut Tally,
    progress: &mut Working,
) -> Result<bool, LogError> {
    let mut entry = Entry::default();
    while !stop.requested() {
        if !reader.read(&mut entry)? {
            return Ok(true);
        }
        progress.tick(|| reader.progress());
        let fate = judge(&mut entry);
        check(writer.length() + longest(&entry))?;
        match fate {
            Fate::Keep => match writer.write(&entry) {
                Ok(()) => tally.messages += 1,
                Err(error @ (LogError::Unfit { .. } | LogError::Undecodable(_))) => {
                    tally.leave_out(error.to_string());
                }
                Err(error) => return Err(error),
            },
            Fate::Pass => {}
            Fate::LeaveOut(reason) => tally.leave_out(reason),
            Fate::End => return Ok(true),
        }
    }
    Ok(false)
}

/// The most bytes of a message in any format, uncompressed.
fn longest(entry: &Entry) -> u64 {
    const HEAD: usize = 32;
    (HEAD + entry.channel.name.len() + entry.payload.len()) as u64
}

impl Answer for CopiedLog<'_> {
    fn document(&self) -> Document {
        let messages = numbers::counted(self.copied.messages, "message");
        format!("{}: {messages}", self.out.display()).into()
    }
}

impl Copied {
    /// Notes what is missing, and why.
    pub(crate) fn note(&self) {
        if let Some(reason) = &self.reason {
            output::note(&format!(
                "{} left out, the first because: {reason}",
                numbers::counted(self.left_out, "message")
            ));
        }
        note_damage(Damage {
            places: self.damaged_places,
            skipped_bytes: self.skipped_bytes,
        });
    }

    /// The outcome of a command that takes a whole log: damage is a defect, also where the rest was written.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::missed_if(self.damaged_places > 0 || self.skipped_bytes > 0)
    }
}

/// Notes the parts of a log that could not be read.
pub(crate) fn note_damage(damage: Damage) {
    if !damage.is_none() {
        output::note(&format!(
            "the log was damaged at {}; {} passed over",
            numbers::counted(damage.places, "place"),
            numbers::counted(damage.skipped_bytes, "byte")
        ));
    }
}

/// Progress bar on a terminal for work of more than two seconds; elsewhere a line at intervals.
pub(crate) struct Working {
    words: &'static str,
    begun: Instant,
    ticks: u32,
    bar: Option<ProgressBar>,
    lines: u64,
}

const QUIET: Duration = Duration::from_secs(2);
const LINE_EVERY_S: u64 = 15;

impl Working {
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
        if output::is_read_now() {
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

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
