//! Load made by other programs, where they are installed: `stress-ng`, and `hackbench`.
//!
//! The program runs below a shell that waits for two things: the program's end, and the end of its
//! own standard input, which closes when [`ForeignLoad`] is dropped and also when this process is
//! killed. Either way the shell ends the program with all its processes and removes its files, so
//! nothing outlives who asked for it.

mod hackbench;
mod program;
mod stress_ng;
mod watched;

pub use program::{ForeignProgram, ParseForeignProgramError};

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::place::Place;
use super::{LoadKind, LoadOptions, LoadRates, StartLoadError, kind};
use watched::Watched;

/// Another program's load that goes on until this is dropped.
pub struct ForeignLoad {
    task: Task,
    watched: Watched,
}

/// What a program is told, and how its answer is read.
struct Task {
    /// The kinds, each with the words that ask for it.
    asked: Vec<(LoadKind, String)>,
    command: Vec<String>,
    /// The file in the program's folder that its result is read from.
    result: &'static str,
    read: fn(&Task, &str) -> Vec<LoadRates>,
}

impl ForeignLoad {
    /// Starts `program` with load of these kinds.
    ///
    /// # Errors
    /// [`StartLoadError`], also where the program is not installed or has no such load; nothing has
    /// been started then.
    pub fn start(
        program: ForeignProgram,
        kinds: &[LoadKind],
        options: &LoadOptions,
    ) -> Result<Self, StartLoadError> {
        options.check()?;
        let kinds = kind::parts_of(kinds);
        if kinds.is_empty() {
            return Err(StartLoadError::Nothing);
        }
        program.find()?;
        let place = Place::choose(options, options.threads.unwrap_or(1) as u64)?;
        let folder = folder_in(&place.dir)?;
        let task = match program {
            ForeignProgram::StressNg => stress_ng::task(&kinds, options, &place, folder.path()),
            ForeignProgram::Hackbench => hackbench::task(&kinds, options)?,
        };
        let watched = Watched::start(folder, &task.command, task.result);
        let watched = watched.map_err(|error| StartLoadError::Program { program, error })?;
        Ok(Self { task, watched })
    }

    /// What was asked for, of each kind.
    pub fn asked(&self) -> impl Iterator<Item = (LoadKind, &str)> {
        let asked = self.task.asked.iter();
        asked.map(|(kind, words)| (*kind, words.as_str()))
    }

    /// Whether the program has ended by itself. Does not block.
    pub fn has_ended(&mut self) -> bool {
        self.watched.has_ended()
    }

    /// Ends the program and tells what it measured itself.
    ///
    /// Blocks until it has ended, ten seconds at most.
    ///
    /// # Errors
    /// When its answer cannot be read.
    pub fn stop(self) -> io::Result<Vec<LoadRates>> {
        let answer = self.watched.end()?;
        let mut rates = (self.task.read)(&self.task, &answer.result);
        if rates.iter().all(|load| load.rates.is_empty()) {
            let trouble = match answer.words.trim() {
                "" => "it told no figures and left no word".to_owned(),
                words => format!("it told no figures; its last words: {words}"),
            };
            for load in &mut rates {
                load.trouble = Some(trouble.clone());
            }
        }
        Ok(rates)
    }
}

impl fmt::Debug for ForeignLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignLoad({})", self.task.command.join(" "))
    }
}

/// A folder for the program's files, which goes with it.
fn folder_in(dir: &Path) -> Result<tempfile::TempDir, StartLoadError> {
    let made = tempfile::Builder::new()
        .prefix("kadenz-load-")
        .tempdir_in(dir);
    made.map_err(|error| StartLoadError::Folder {
        dir: dir.to_owned(),
        error,
    })
}

/// Looks for a program as a shell does.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(|place| place.is_file())
}
