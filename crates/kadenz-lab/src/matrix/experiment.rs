//! The matrix as an experiment: round after round into one run.

use std::io;
use std::path::{Path, PathBuf};

use kadenz_record::run::folder::{
    AddPartError, CreateRunError, GrowingRun, OpenRunError, RunReader,
};
use kadenz_record::run::matrix::{Content, Load, labels_of, name_of};
use kadenz_record::run::model::{EndedBy, Host, Run, TuningMeasure};
use kadenz_record::run::tune::Tune;
use serde_json::Value;

use super::{Schedule, Visit};
use crate::lock::{FolderLock, LockError, clear, clear_earlier};
use crate::session::{self, SessionError, SessionPlan};
use crate::stop::Stop;

/// Name of the parameter that holds the measured load.
const LOAD_RATES: &str = "load_rates";
/// Folder in the matrix's folder into which a round is measured, with the number of this process appended: a process of
/// an earlier attempt that still runs has another name. It is removed when the round has been taken over.
const ROUND: &str = "round";

/// The cells, rounds and options of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixPlan {
    /// Which cells, under which loads, how often.
    pub schedule: Schedule,
    /// The requested tuning and loads, as the run keeps them.
    pub tune: Tune,
    /// The run folder and the parameters that make up the run.
    pub session: SessionPlan,
}

/// The operations that a matrix needs to measure a round.
pub trait Rounds {
    /// Puts the machine under a load, and removes the one before.
    ///
    /// # Errors
    /// The reason of the failure.
    fn load(&mut self, load: Load) -> io::Result<()>;

    /// Names of the two series of a round: lateness against the beat, and jitter of the period.
    fn series(&self) -> [&'static str; 2] {
        ["lateness", "jitter"]
    }

    /// Measures one round into the new run folder `out`: the two [`series`](Self::series).
    ///
    /// # Errors
    /// The reason of the failure; a missed deadline is not an error, and neither is a stop.
    fn measure(&mut self, visit: &Visit, out: &Path) -> io::Result<()>;

    /// Removes the load from the machine and returns the load that there was, as JSON; `null` if there was none.
    ///
    /// # Errors
    /// The reason of the failure.
    fn unload(&mut self) -> io::Result<Value>;

    /// Reports that a round has been taken over: `done` of all visits, and the matrix so far.
    fn taken(&mut self, visit: &Visit, done: usize, run: &Run);
}

/// Why a matrix could not be measured, or not to its end. What was measured is kept.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// It could not begin.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The run folder could not be made.
    #[error(transparent)]
    Create(#[from] CreateRunError),
    /// The run to go on with cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// Another process measures into it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The run to go on with is another experiment, or was measured with other parameters or on another machine.
    #[error("cannot go on with {}: {reason}; begin a new run with another `--out`", path.display())]
    Other {
        /// The path of the run folder.
        path: PathBuf,
        /// What differs from the run in the folder, in words.
        reason: String,
    },
    /// A load could not be put on the machine, or removed from it.
    #[error("cannot put the machine under load: {0}")]
    Load(io::Error),
    /// A round could not be measured.
    #[error("cannot measure {cell} ({load}, round {round}): {source}", cell = visit.cell, load = visit.load.words(), round = visit.round + 1)]
    Round {
        /// The cell and the round that could not be measured.
        visit: Visit,
        /// Why the round could not be measured.
        source: io::Error,
    },
    /// A round could not be taken over.
    #[error(transparent)]
    Part(#[from] AddPartError),
    /// The run could not be completed.
    #[error("cannot complete the run: {0}; what was measured stays readable")]
    Finish(io::Error),
}

/// The names of a cell's two series, lateness and jitter.
#[must_use]
pub fn series_names(visit: &Visit) -> [String; 2] {
    Content::ALL.map(|content| name_of(visit.load, visit.cell, content))
}

/// Measures what is left of the matrix. With `resume`, the folder holds what an earlier attempt
/// measured under the same parameters, on this machine and its present kernel.
///
/// When `stop` is requested the round that is being measured is not counted; the run is completed
/// as interrupted and can be resumed.
///
/// # Errors
/// [`MatrixError`]; missing rights are not an error but a warning in the run.
pub fn measure(
    plan: &MatrixPlan,
    resume: bool,
    rounds: &mut dyn Rounds,
    stop: &Stop,
) -> Result<Run, MatrixError> {
    let fresh = Run {
        tune: Some(plan.tune.clone()),
        ..session::describe(&plan.session)?
    };
    let (whole, _lock) = if resume {
        let lock = FolderLock::take(&plan.session.out)?;
        let whole = reopened(plan, &fresh.host)?;
        // A process that was killed with its matrix may still be ending its own run there.
        let is_round = |name: &str| name == ROUND || name.starts_with(&format!("{ROUND}-"));
        clear_earlier(&plan.session.out, is_round);
        (whole, lock)
    } else {
        let whole = GrowingRun::create(&plan.session.out, fresh)?;
        (whole, FolderLock::take(&plan.session.out)?)
    };
    let meanwhile = session::CpuUsage::begin();
    let mut matrix = Matrix { whole };
    let mut ended = matrix.visit_all(plan, rounds, stop);
    match rounds.unload() {
        Ok(rates) => matrix.note_rates(rates),
        Err(error) => ended = ended.and(Err(MatrixError::Load(error))),
    }
    let ended_by = match &ended {
        Ok(true) => EndedBy::Finished,
        Ok(false) => EndedBy::Interrupted,
        Err(_) => EndedBy::Failed,
    };
    let run = matrix.whole.run_mut();
    run.warnings.extend(meanwhile.stolen());
    let run = matrix.whole.finish(ended_by).map_err(MatrixError::Finish)?;
    ended.map(|_| run)
}

/// Opens the run that is to be continued, if it is this plan's and was measured on `host`.
fn reopened(plan: &MatrixPlan, host: &Host) -> Result<GrowingRun, MatrixError> {
    let folder = &plan.session.out;
    let other = |reason: String| MatrixError::Other {
        path: folder.clone(),
        reason,
    };
    let reader = RunReader::open(folder)?;
    let run = reader.run();
    if run.experiment != plan.session.experiment {
        return Err(other(format!("it is a run of `{}`", run.experiment)));
    }
    if let Some(change) = changed(&run.host, host) {
        return Err(other(change));
    }
    for (name, value) in &plan.session.parameters {
        if run.parameters.get(name) != Some(value) {
            let then = run.parameters.get(name).unwrap_or(&Value::Null);
            return Err(other(format!("`{name}` was {then} and is {value} now")));
        }
    }
    Ok(GrowingRun::reopen(folder)?)
}

/// The first difference between two machines that makes them measure differently.
fn changed(then: &Host, now: &Host) -> Option<String> {
    let facts = |host: &Host| {
        let known = |it: &Option<String>| it.clone().unwrap_or_else(|| "unknown".to_owned());
        [
            ("kernel", known(&host.kernel)),
            ("CPU model", known(&host.cpu)),
            ("number of CPUs", host.cpus.to_string()),
        ]
    };
    let mut pairs = facts(then).into_iter().zip(facts(now));
    let changed = pairs.find(|(then, now)| then != now);
    changed.map(|((name, then), (_, now))| format!("the {name} was {then} and is {now} now"))
}

struct Matrix {
    whole: GrowingRun,
}

impl Matrix {
    /// Makes all remaining visits; false when it was stopped before the last.
    fn visit_all(
        &mut self,
        plan: &MatrixPlan,
        rounds: &mut dyn Rounds,
        stop: &Stop,
    ) -> Result<bool, MatrixError> {
        let mut under = None;
        for (index, visit) in plan.schedule.visits().enumerate() {
            if self.has(&visit) {
                continue;
            }
            if stop.requested() {
                return Ok(false);
            }
            if under != Some(visit.load) {
                self.change_load(rounds, visit.load)?;
                under = Some(visit.load);
            }
            if !self.visit(&visit, rounds, stop)? {
                return Ok(false);
            }
            rounds.taken(&visit, index + 1, self.whole.run());
        }
        Ok(true)
    }

    /// Whether all its series have its round.
    fn has(&self, visit: &Visit) -> bool {
        let all = &self.whole.run().series;
        let rounds = |name: String| all.iter().find(|it| it.name == name)?.files.hlog_parts;
        let has = |name| rounds(name).is_some_and(|it| it > visit.round);
        series_names(visit).into_iter().all(has)
    }

    fn change_load(&mut self, rounds: &mut dyn Rounds, load: Load) -> Result<(), MatrixError> {
        let rates = rounds.unload().map_err(MatrixError::Load)?;
        self.note_rates(rates);
        rounds.load(load).map_err(MatrixError::Load)
    }

    /// Measures one round and takes it over; false when it was stopped meanwhile.
    fn visit(
        &mut self,
        visit: &Visit,
        rounds: &mut dyn Rounds,
        stop: &Stop,
    ) -> Result<bool, MatrixError> {
        let failed = |source| MatrixError::Round {
            visit: *visit,
            source,
        };
        let out = self.whole.dir().join(round_folder());
        clear(&out).map_err(failed)?;
        rounds.measure(visit, &out).map_err(failed)?;
        if stop.requested() {
            // A round that was stopped early would count as a whole one.
            clear(&out).map_err(failed)?;
            return Ok(false);
        }
        self.take_over(visit, &RunReader::open(&out)?, rounds.series())?;
        clear(&out).map_err(failed)?;
        Ok(true)
    }

    fn take_over(
        &mut self,
        visit: &Visit,
        part: &RunReader,
        [its_lateness, its_jitter]: [&str; 2],
    ) -> Result<(), MatrixError> {
        let [lateness, jitter] = series_names(visit);
        for series in &part.run().series {
            self.note_refusals(visit, &series.tuning);
        }
        let names = [
            (its_lateness, lateness.as_str()),
            (its_jitter, jitter.as_str()),
        ];
        for (content, name) in Content::ALL.into_iter().zip([&lateness, &jitter]) {
            let labels = labels_of(visit.load, visit.cell, content);
            self.whole.label(name, labels);
        }
        Ok(self.whole.add(part, &names)?)
    }

    /// Adds a refusal to the run once, not once a round.
    fn note_refusals(&mut self, visit: &Visit, measures: &[TuningMeasure]) {
        let warnings = &mut self.whole.run_mut().warnings;
        for mut refusal in measures.iter().filter_map(TuningMeasure::refusal) {
            if !warnings.iter().any(|known| known.id == refusal.id) {
                refusal.text = format!("{}: {}", visit.cell, refusal.text);
                warnings.push(refusal);
            }
        }
    }

    fn note_rates(&mut self, rates: Value) {
        if rates.is_null() {
            return;
        }
        let run = self.whole.run_mut();
        let mut all = match run.parameters.remove(LOAD_RATES) {
            Some(Value::Array(all)) => all,
            _ => Vec::new(),
        };
        all.push(rates);
        run.insert_found(LOAD_RATES, all);
    }
}

fn round_folder() -> String {
    format!("{ROUND}-{}", std::process::id())
}

#[cfg(test)]
mod tests;
