//! The folder of a campaign: its plan, its runs, and what failed.
//!
//! A run is measured into a folder of another name, with the number of this process in it, and renamed once it is
//! complete. A process that outlives a killed campaign by a moment thus writes into no run that counts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kadenz_record::run::folder::RunReader;
use kadenz_record::run::model::EndedBy;
use serde::{Deserialize, Serialize};

use super::limits;
use super::plan::{Plan, PlannedRun};
use crate::file_error::FileError;
use crate::lock::{FolderLock, LockError, clear, clear_earlier};

const PLAN: &str = "plan.toml";
const RECORD: &str = "campaign.json";
/// Version of `campaign.json`.
const VERSION: u32 = 1;
/// Separates the number of a run from the number of the process that measures it.
const RUNNING: &str = ".running-";
/// Digits of a run's number, at least.
const DIGITS: usize = 4;

/// Why a folder cannot serve a campaign.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The plan is wrong.
    #[error(transparent)]
    Plan(FileError),
    /// The plan in the folder is wrong.
    #[error("{}: {source}", path.display())]
    Kept {
        /// The path of the file in the campaign's folder.
        path: PathBuf,
        /// What is wrong with it.
        source: FileError,
    },
    /// Another process measures into the folder.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folder holds something else.
    #[error("the folder {} is not empty and holds no campaign: name another one with `--out`", .0.display())]
    Foreign(PathBuf),
    /// There is no campaign to continue.
    #[error("{} holds no campaign: name the folder that `kadenz campaign PLAN` made", .0.display())]
    Absent(PathBuf),
    /// The folder holds a campaign of another plan.
    #[error("cannot go on with {}: {difference}; name another folder with `--out`", folder.display())]
    Other {
        /// The folder with the other campaign.
        folder: PathBuf,
        /// What differs between the two plans, in words.
        difference: String,
    },
    /// A later program wrote the folder.
    #[error("{} has version {version}, which this program does not know: take the Kadenz that wrote it", path.display())]
    Version {
        /// The path of the file in the campaign's folder.
        path: PathBuf,
        /// The version of the file's format.
        version: u32,
    },
    /// Something cannot be read or written.
    #[error("cannot {what} {}: {source}; check its permissions and the room on its disk", path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A campaign that only this process measures.
#[derive(Debug)]
pub struct Campaign {
    folder: PathBuf,
    plan: Plan,
    /// Reasons, by the run's number.
    failed: BTreeMap<usize, String>,
    _lock: FolderLock,
}

/// Content of `campaign.json`. The run folders say which runs are done.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record<'a> {
    /// 1. A reader refuses other versions.
    version: u32,
    /// Name in the plan.
    name: &'a str,
    /// Words of the command that all runs have.
    command: &'a [String],
    /// How often each combination is measured.
    rounds: u32,
    /// In the order in which they are measured.
    runs: Vec<RecordedRun<'a>>,
}

/// A run of the plan, as the campaign's file records it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RecordedRun<'a> {
    /// Its number in the order of measuring, from 1.
    number: usize,
    /// Its folder, once it is done.
    folder: String,
    /// The round that it belongs to, from 1.
    round: u32,
    /// Values by the name of the option.
    values: BTreeMap<&'a str, String>,
    /// Why it could not be measured.
    failed: Option<&'a str>,
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Campaign {
    /// Begins a campaign, or goes on with the one that has the same plan.
    ///
    /// # Errors
    /// [`CampaignError`]; a folder that holds something else stays unchanged.
    pub fn begin(folder: &Path, text: &str) -> Result<Self, CampaignError> {
        let plan = Plan::parse(text).map_err(CampaignError::Plan)?;
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
        ensure_own_folder(folder)?;
        let lock = FolderLock::take(folder)?;
        match kept_plan(folder)? {
            Some(kept) => {
                if let Some(difference) = kept.difference(&plan) {
                    return Err(CampaignError::Other {
                        folder: folder.to_owned(),
                        difference,
                    });
                }
            }
            None => write_whole(&folder.join(PLAN), text.as_bytes())?,
        }
        Self::open(folder, plan, lock)
    }

    /// Goes on with the campaign of a folder.
    ///
    /// # Errors
    /// [`CampaignError`], also where there is no campaign.
    pub fn resume(folder: &Path) -> Result<Self, CampaignError> {
        if !folder.join(PLAN).is_file() {
            return Err(CampaignError::Absent(folder.to_owned()));
        }
        let lock = FolderLock::take(folder)?;
        let plan = kept_plan(folder)?.ok_or_else(|| CampaignError::Absent(folder.to_owned()))?;
        Self::open(folder, plan, lock)
    }

    fn open(folder: &Path, plan: Plan, lock: FolderLock) -> Result<Self, CampaignError> {
        check_version(&folder.join(RECORD))?;
        clear_earlier(folder, is_working);
        let campaign = Self {
            folder: folder.to_owned(),
            plan,
            failed: BTreeMap::new(),
            _lock: lock,
        };
        campaign.record()?;
        Ok(campaign)
    }

    /// The plan that the campaign measures.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The campaign's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a run that is done.
    #[must_use]
    pub fn run_folder(&self, run: &PlannedRun) -> PathBuf {
        self.folder.join(name_of(&self.plan, run))
    }

    /// Whether a run has been measured to its end.
    #[must_use]
    pub fn is_done(&self, run: &PlannedRun) -> bool {
        is_finished(&self.run_folder(run))
    }

    /// Returns the path of a new folder to measure a run into.
    ///
    /// # Errors
    /// A remaining folder of that name cannot be removed.
    pub fn working_folder(&self, run: &PlannedRun) -> Result<PathBuf, CampaignError> {
        let name = format!(
            "{}{RUNNING}{}",
            name_of(&self.plan, run),
            std::process::id()
        );
        let working = self.folder.join(name);
        clear(&working).map_err(failed("remove", &working))?;
        Ok(working)
    }

    /// Counts the working folder as the run, if it was measured to its end. Returns whether it was.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn take_over(&mut self, run: &PlannedRun, working: &Path) -> Result<bool, CampaignError> {
        let is_done = is_finished(working);
        if is_done {
            let done = self.run_folder(run);
            clear(&done).map_err(failed("remove", &done))?;
            fs::rename(working, &done).map_err(failed("rename", working))?;
        }
        Ok(is_done)
    }

    /// Removes the folder of a run that does not count.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn discard(&self, working: &Path) -> Result<(), CampaignError> {
        clear(working).map_err(failed("remove", working))
    }

    /// Notes that a run could not be measured. It is tried again when the campaign goes on.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note_failure(&mut self, run: &PlannedRun, reason: String) -> Result<(), CampaignError> {
        self.failed.insert(run.number, reason);
        self.record()
    }

    /// How many runs could not be measured.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.failed.len()
    }

    fn record(&self) -> Result<(), CampaignError> {
        let runs = self.plan.runs().map(|run| {
            let keys = self.plan.parameters.iter().map(|it| it.key.as_str());
            let values = self.plan.values(run.combination).into_iter();
            RecordedRun {
                number: run.number,
                folder: name_of(&self.plan, &run),
                round: run.round,
                values: keys.zip(values.map(ToString::to_string)).collect(),
                failed: self.failed.get(&run.number).map(String::as_str),
            }
        });
        let record = Record {
            version: VERSION,
            name: &self.plan.name,
            command: &self.plan.command,
            rounds: self.plan.rounds,
            runs: runs.collect(),
        };
        let path = self.folder.join(RECORD);
        let text = serde_json::to_vec_pretty(&record).map_err(io::Error::other);
        write_whole(&path, &text.map_err(failed("write", &path))?)
    }
}

impl Drop for Campaign {
    fn drop(&mut self) {
        // The process of a killed campaign may have made its folder after this one began.
        clear_earlier(&self.folder, is_working);
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CampaignError {
    let path = path.to_owned();
    move |source| CampaignError::File { what, path, source }
}

/// `0007`, with as many digits as the last one needs.
fn name_of(plan: &Plan, run: &PlannedRun) -> String {
    let digits = plan.count().to_string().len().max(DIGITS);
    format!("{:0digits$}", run.number)
}

fn is_finished(folder: &Path) -> bool {
    let reader = RunReader::open(folder).ok();
    reader.is_some_and(|it| it.complete() && it.run().ended_by == Some(EndedBy::Finished))
}

/// Accepts a folder with a plan, or an empty one. A campaign killed at its very beginning may leave files without a
/// plan.
fn ensure_own_folder(folder: &Path) -> Result<(), CampaignError> {
    let entries = fs::read_dir(folder).map_err(failed("look into", folder))?;
    let names: Vec<String> = entries
        .flatten()
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect();
    let part = part_of(Path::new(PLAN)).display().to_string();
    let is_ours = |it: &String| *it == part || *it == crate::lock::NAME;
    if names.iter().any(|it| it == PLAN) || names.iter().all(is_ours) {
        return Ok(());
    }
    Err(CampaignError::Foreign(folder.to_owned()))
}

fn kept_plan(folder: &Path) -> Result<Option<Plan>, CampaignError> {
    let path = folder.join(PLAN);
    match fs::metadata(&path) {
        Ok(facts) if facts.len() > limits::FILE as u64 => {
            return Err(CampaignError::Foreign(folder.to_owned()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let text = fs::read_to_string(&path).map_err(failed("read", &path))?;
    let plan = Plan::parse(&text);
    plan.map(Some)
        .map_err(|source| CampaignError::Kept { path, source })
}

/// Checks the version only: the rest of an earlier `campaign.json` follows from the plan, and failed runs are tried
/// again.
fn check_version(path: &Path) -> Result<(), CampaignError> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(failed("read", path))?,
    };
    match serde_json::from_slice::<Versioned>(&text) {
        Ok(it) if it.version != VERSION => Err(CampaignError::Version {
            path: path.to_owned(),
            version: it.version,
        }),
        _ => Ok(()),
    }
}

/// Whether a folder of this name is one that a campaign measures into: `0007.running-4711`.
fn is_working(name: &str) -> bool {
    let are_digits =
        |it: &str, least| it.len() >= least && it.bytes().all(|it| it.is_ascii_digit());
    name.split_once(RUNNING)
        .is_some_and(|(run, process)| are_digits(run, DIGITS) && are_digits(process, 1))
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// Writes a file completely or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CampaignError> {
    let part = part_of(path);
    // Removes the part file of an earlier attempt. If another user has taken the name, the file is neither followed nor
    // written.
    let _ = fs::remove_file(&part);
    let written = fs::File::create_new(&part)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&part, path));
    written.map_err(|source| {
        let _ = fs::remove_file(&part);
        failed("write", path)(source)
    })
}

#[cfg(test)]
mod tests;
