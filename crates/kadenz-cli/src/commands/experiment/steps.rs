//! The steps of an experiment: commands of this program, each in a process of its own, as a user would type them.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use kadenz::lab::stop::Stop;
use kadenz::record::run::folder::RunReader;

use kadenz::report::text::shell_quoted;

use crate::commands::child::{self, Notes, Running};
use crate::output;

/// One command and its run folder.
pub(super) struct Step {
    /// What it measures; several steps that repeat one measurement share it.
    name: String,
    folder: String,
    arguments: Vec<String>,
    /// Whether the experiment continues if the step fails.
    may_fail: bool,
    /// Whether a whole run is a result even if the command answers nothing from it (exit code 2).
    accepts_no_answer: bool,
}

impl Step {
    /// Creates a step; spaces separate the words of `command`, without `--out`, which is added at its end. `{out}` in
    /// it is the folder of the experiment.
    pub(super) fn new(folder: impl Into<String>, command: &str) -> Self {
        let folder = folder.into();
        Self {
            name: folder.clone(),
            folder,
            arguments: command.split_whitespace().map(str::to_owned).collect(),
            may_fail: false,
            accepts_no_answer: false,
        }
    }

    /// The same by another name than its folder's.
    pub(super) fn named(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// The same with one more word, which may hold blanks.
    pub(super) fn and_word(mut self, word: impl Into<String>) -> Self {
        self.arguments.push(word.into());
        self
    }

    /// Lets the experiment report a failure of this step, and continue.
    pub(super) fn may_fail(self) -> Self {
        Self {
            may_fail: true,
            ..self
        }
    }

    /// Accepts a whole run from which the command draws no conclusion.
    pub(super) fn accepts_no_answer(self) -> Self {
        Self {
            accepts_no_answer: true,
            ..self
        }
    }

    /// What it measures.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The run folder, in the folder of the experiment.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// Whether its run was ended as planned.
    fn is_whole(&self, inside: &Path) -> bool {
        RunReader::open(inside.join(&self.folder)).is_ok_and(|it| it.complete())
    }

    fn start(&self, inside: &Path, shows_notes: bool) -> anyhow::Result<Running> {
        let out = inside.join(&self.folder).display().to_string();
        let inside = inside.display().to_string();
        let words = self.arguments.iter();
        let mut arguments: Vec<String> = words.map(|it| it.replace("{out}", &inside)).collect();
        arguments.extend(["--out".to_owned(), out]);
        let words: Vec<_> = arguments.iter().map(|it| shell_quoted(it)).collect();
        output::note(&format!("$ kadenz {}", words.join(" ")));
        // Two progress bars on one terminal would overwrite each other.
        let notes = if shows_notes {
            Notes::Shown
        } else {
            Notes::Dropped
        };
        child::start(&arguments, Stdio::null(), notes)
    }
}

/// Runs the steps of a group at the same time, until all have ended, early if a stop is requested. A missed deadline
/// is a result and no failure.
pub(super) fn run(group: &[Step], inside: &Path, stop: &Stop) -> anyhow::Result<()> {
    let mut started = Vec::new();
    let mut failure = None;
    for (index, step) in group.iter().enumerate() {
        match step.start(inside, index == 0) {
            Ok(child) => started.push((step, child)),
            Err(error) => failure = Some(error),
        }
    }
    // Waits for all steps, whatever the result of the others.
    for (step, mut child) in started {
        let status = child
            .wait(stop)
            .with_context(|| format!("cannot wait for step {}", step.folder))?;
        let is_result = match status.code() {
            Some(0 | 1) => true,
            Some(2) => step.accepts_no_answer && step.is_whole(inside),
            _ => false,
        };
        if !is_result {
            let words = child.words();
            let what = match step.is_whole(inside) {
                true => "gave no answer, though its run is whole",
                false => "could not do its work",
            };
            let why = format!("`{words}` {what} ({status}); type it with another --out to see why");
            match step.may_fail {
                true => output::note(&why),
                false => failure = Some(anyhow::anyhow!(why)),
            }
        }
    }
    failure.map_or(Ok(()), Err)
}
