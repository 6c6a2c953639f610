//! The two timer suites of \[Sticha2014\], for every sleeper.
//!
//! Source: sections 4.1 (one-shot timer) and 4.2 (cyclic timer).

mod cyclic;
mod oneshot;
mod probe;

use std::time::Duration;

use kadenz_record::run::folder::{RunWriter, SeriesRecorder};
use kadenz_record::run::labels::{Labels, SLEEPER, VALUE, labels};
use kadenz_record::run::model::{EndedBy, Kind, Run};
use kadenz_rt::beat::Overrun;
use kadenz_rt::sleep::SleeperKind;

use crate::load::{self, LoadKind, LoadOptions, RunningLoad as Load, StartLoadError};
use crate::measuring::{ExperimentError, Measuring, SeriesSketch, lasting};
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::session;
use crate::stop::Stop;

pub(crate) use cyclic::CyclicMeter;
pub use cyclic::{CyclicPlan, cyclic};
pub(crate) use oneshot::OneShotMeter;
pub use oneshot::{OneShotPlan, OneShotRecorders, oneshot};
pub use probe::{TimerProbe, cyclic_probe, oneshot_probe};

/// Error of a loop that stops at its first late wake-up, which measures no lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` ends a loop at the first late wake-up, which is what is measured; write catch-up, skip or relative",
    Overrun::Stop
)]
pub struct StopsError;

impl From<StopsError> for ExperimentError {
    fn from(error: StopsError) -> Self {
        Self::Timer(Box::new(error))
    }
}

/// Returns the policy, if a loop continues under it.
///
/// # Errors
/// [`StopsError`] for [`Overrun::Stop`].
pub fn going_on(policy: Overrun) -> Result<Overrun, StopsError> {
    match policy {
        Overrun::Stop => Err(StopsError),
        policy => Ok(policy),
    }
}

/// Common parameters of both suites.
#[derive(Clone, Debug)]
pub struct SuitePlan {
    /// The sleepers to try, one after the other.
    pub sleepers: Vec<SleeperKind>,
    /// Whether every CPU is kept busy meanwhile.
    pub busy: bool,
    /// How to measure; its sleeper is replaced by each of `sleepers` in turn.
    pub measuring: Measuring,
}

impl SuitePlan {
    /// How long `repetitions` of `interval` take for all sleepers together, if none is late.
    #[must_use]
    pub fn total(&self, interval: Duration, repetitions: u64) -> Duration {
        let sleepers = self.sleepers.len() as u64;
        lasting(interval, repetitions.saturating_mul(sleepers))
    }

    /// `lateness`, or `spin.lateness` where several sleepers share the run.
    fn name(&self, sleeper: SleeperKind, value: &str) -> String {
        if self.sleepers.len() == 1 {
            value.to_owned()
        } else {
            format!("{sleeper}.{value}")
        }
    }

    fn labels(&self, sleeper: SleeperKind, value: &str) -> Labels {
        let mut labels = labels([(VALUE, value)]);
        if self.sleepers.len() > 1 {
            labels.insert(SLEEPER.to_owned(), sleeper.to_string());
        }
        labels
    }

    fn measuring_with(&self, sleeper: SleeperKind) -> Measuring {
        Measuring {
            sleeper,
            ..self.measuring.clone()
        }
    }

    /// Keeps the CPUs busy until it is dropped, where the plan requests that.
    fn load(&self) -> Result<Option<Load>, StartLoadError> {
        let busy = || load::start(&[LoadKind::Cpu], &LoadOptions::default());
        self.busy.then(busy).transpose()
    }

    /// Runs the members one after the other.
    fn run(
        &self,
        run: RunWriter,
        members: Vec<Member>,
        stop: &Stop,
        watch: &mut dyn Watch,
    ) -> Result<Run, ExperimentError> {
        let _load = self.load()?;
        let ongoing = self.measuring.start(run)?;
        let mut ended_by = EndedBy::Finished;
        for member in members {
            ended_by = measuring_threads::work(&ongoing, vec![member], stop, watch)?;
            if ended_by != EndedBy::Finished {
                break;
            }
        }
        Ok(ongoing.finish(ended_by)?)
    }
}

/// Runs the cyclic timer suite (\[Sticha2014\], section 4.2).
///
/// # Errors
/// [`ExperimentError`], also for [`Overrun::Stop`]; missing rights are not an error
/// but a warning in the run.
pub fn cyclic_suite(
    suite: &SuitePlan,
    plan: &CyclicPlan,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    going_on(plan.pace)?;
    let mut run = session::begin(&suite.measuring.session)?;
    let members = suite
        .sleepers
        .iter()
        .map(|&sleeper| cyclic_member(suite, plan, sleeper, &mut run))
        .collect::<Result<Vec<_>, _>>()?;
    suite.run(run, members, stop, watch)
}

fn cyclic_member(
    suite: &SuitePlan,
    plan: &CyclicPlan,
    sleeper: SleeperKind,
    run: &mut RunWriter,
) -> Result<Member, ExperimentError> {
    let measuring = suite.measuring_with(sleeper);
    let names = ["lateness", "jitter"].map(|value| suite.name(sleeper, value));
    let labels = ["lateness", "jitter"].map(|value| suite.labels(sleeper, value));
    let by = format!("sleeper {sleeper}");
    let [mut lateness, mut jitter] = cyclic_series(&measuring, plan, &names, labels, &by, run)?;
    let plan = *plan;
    let work = move |context: &mut LoopContext<'_>| {
        cyclic(&plan, context, &mut lateness, Some(&mut jitter));
    };
    Ok(measuring.member(&[&names[0], &names[1]], work))
}

/// Lateness and jitter of a cyclic timer.
fn cyclic_series(
    measuring: &Measuring,
    plan: &CyclicPlan,
    [late, jittered]: &[String; 2],
    [of_late, of_jittered]: [Labels; 2],
    by: &str,
    run: &mut RunWriter,
) -> Result<[SeriesRecorder; 2], ExperimentError> {
    let sketch = |name, labels, description: &str, kind, deadline| SeriesSketch {
        labels,
        interval: Some(plan.interval.as_duration()),
        deadline,
        ..SeriesSketch::new(kind, name, format!("{description}, {by}"))
    };
    let words = "wake-up against the beat";
    let lateness = sketch(late, of_late, words, Kind::Lateness, measuring.deadline);
    let lateness = measuring.series(run, lateness)?;
    let words = "interval between two wake-ups less the expected one";
    let jitter = sketch(jittered, of_jittered, words, Kind::Jitter, None);
    Ok([lateness, measuring.series(run, jitter)?])
}

/// Runs the one-shot timer suite (\[Sticha2014\], section 4.1).
///
/// # Errors
/// [`ExperimentError`]; missing rights are not an error but a warning in the run.
pub fn oneshot_suite(
    suite: &SuitePlan,
    plan: &OneShotPlan,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let mut run = session::begin(&suite.measuring.session)?;
    let members = suite
        .sleepers
        .iter()
        .map(|&sleeper| oneshot_member(suite, plan, sleeper, &mut run))
        .collect::<Result<Vec<_>, _>>()?;
    suite.run(run, members, stop, watch)
}

/// The values of a one-shot timer.
const VALUES: [&str; 3] = ["measured", "reported", "difference"];

fn oneshot_member(
    suite: &SuitePlan,
    plan: &OneShotPlan,
    sleeper: SleeperKind,
    run: &mut RunWriter,
) -> Result<Member, ExperimentError> {
    let measuring = suite.measuring_with(sleeper);
    let names = VALUES.map(|value| suite.name(sleeper, value));
    let labels = VALUES.map(|value| suite.labels(sleeper, value));
    let by = format!("sleeper {sleeper}");
    let mut recorders = oneshot_series(&measuring, plan, &names, labels, &by, run)?;
    let plan = *plan;
    let work = move |context: &mut LoopContext<'_>| {
        oneshot(&plan, context, &mut recorders);
    };
    Ok(measuring.member(&[&names[0], &names[1], &names[2]], work))
}

/// The three series of a one-shot timer.
fn oneshot_series(
    measuring: &Measuring,
    plan: &OneShotPlan,
    names: &[String; 3],
    labels: [Labels; 3],
    by: &str,
    run: &mut RunWriter,
) -> Result<OneShotRecorders, ExperimentError> {
    let mut labels = labels.into_iter();
    let mut series = |place: usize, words: &str, deadline: Option<Duration>| {
        let sketch = SeriesSketch {
            labels: labels.next().unwrap_or_default(),
            interval: Some(plan.timeout),
            deadline,
            ..SeriesSketch::new(Kind::Lateness, &names[place], format!("{words}, {by}"))
        };
        measuring.series(run, sketch)
    };
    let deadline = measuring.deadline;
    Ok(OneShotRecorders {
        measured: series(0, "end - timeout - start, as the caller sees it", deadline)?,
        reported: series(1, "lateness as the timer itself reports it", None)?,
        difference: series(2, "measured less reported lateness", None)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_stops_is_refused_with_those_that_go_on() {
        let refused = going_on(Overrun::Stop).unwrap_err().to_string();
        for policy in Overrun::GOING_ON {
            assert_eq!(going_on(policy), Ok(policy));
            assert!(refused.contains(&policy.to_string()), "{refused}");
        }
    }
}
