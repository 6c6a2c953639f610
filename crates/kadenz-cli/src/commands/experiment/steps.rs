//! The steps of an experiment: commands of this program, each in a process of its own, as a user
//! would type them.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{io, thread};

use anyhow::Context as _;
use kadenz_lab::stop::Stop;

use crate::output;

/// One command and the run folder that it makes.
pub(super) struct Step {
    folder: String,
    arguments: Vec<String>,
}

impl Step {
    /// `command` in words parted by spaces, without `--out`.
    pub(super) fn new(folder: impl Into<String>, command: &str) -> Self {
        Self {
            folder: folder.into(),
            arguments: command.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// The run folder, in the folder of the experiment.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    fn start(&self, inside: &Path, told: bool) -> anyhow::Result<Child> {
        let out = inside.join(&self.folder);
        let words = self.arguments.join(" ");
        output::note(&format!("$ kadenz {words} --out {}", out.display()));
        let program = std::env::current_exe().context("cannot find this program itself")?;
        Command::new(program)
            .args(&self.arguments)
            .arg("--out")
            .arg(out)
            // However this process ends, the step ends too, and keeps what it has.
            .arg("--until-stdin-closes")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Two progress bars on one terminal would overwrite each other.
            .stderr(if told {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .spawn()
            .with_context(|| format!("cannot start kadenz {words}"))
    }
}

/// How often it is looked whether a step has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs the steps of a group at the same time, until all have ended, early if `stop` is requested.
/// A missed deadline is a result and no failure.
pub(super) fn run(group: &[Step], inside: &Path, stop: &Stop) -> anyhow::Result<()> {
    let mut started = Vec::new();
    let mut failure = None;
    for (index, step) in group.iter().enumerate() {
        match step.start(inside, index == 0) {
            Ok(child) => started.push((step, child)),
            Err(error) => failure = Some(error),
        }
    }
    // All are waited for, whatever became of the others.
    for (step, mut child) in started {
        let status = wait(&mut child, stop)
            .with_context(|| format!("cannot wait for step {}", step.folder))?;
        if !matches!(status.code(), Some(0 | 1)) {
            let words = step.arguments.join(" ");
            failure = Some(anyhow::anyhow!(
                "`kadenz {words}` could not do its work ({status}); type it to see why"
            ));
        }
    }
    failure.map_or(Ok(()), Err)
}

fn wait(child: &mut Child, stop: &Stop) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.requested() {
            drop(child.stdin.take());
        }
        thread::sleep(LOOK_EVERY);
    }
}
