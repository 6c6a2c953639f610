//! Can this machine keep the robot's beat?
//!
//! Two threads keep the same beat for the same minute, half a period apart: one with the real-time
//! tuning that was asked for, one as an ordinary thread. So both meet the same machine, and the
//! difference is the tuning's. Before them the machine's floor is probed.

use std::time::Duration;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::{EndedBy, Kind, Run};
use kadenz_rt::beat::Interval;
use kadenz_rt::sleep::SleeperKind;
use kadenz_rt::tuning::{Policy, Tuning};

use crate::crew::{self, Member, Watch};
use crate::floor::{FloorPlan, floor};
use crate::measuring::{ExperimentError, Measuring, SeriesSketch};
use crate::session;
use crate::stop::Stop;
use crate::timer::{CyclicPlan, Pace, cyclic};

/// Name of the series under the tuning that was asked for.
pub const REALTIME: &str = "realtime";
/// Name of the series of the ordinary thread.
pub const ORDINARY: &str = "ordinary";
/// Name of the series of the machine's floor.
pub const FLOOR: &str = "floor";

/// What is checked.
#[derive(Clone, Debug)]
pub struct CheckPlan {
    /// Time between two beats.
    pub interval: Interval,
    /// How long the beat is kept.
    pub duration: Duration,
    /// How the floor is probed.
    pub floor: FloorPlan,
    /// How to measure; its deadline is the one that is checked.
    pub measuring: Measuring,
}

impl CheckPlan {
    /// Beats that fit into the duration, at least one.
    pub fn cycles(&self) -> u64 {
        let cycles = self.duration.as_nanos() / self.interval.as_duration().as_nanos().max(1);
        u64::try_from(cycles).unwrap_or(u64::MAX).max(1)
    }
}

/// Runs the check and returns the completed run.
///
/// # Errors
/// [`ExperimentError`]; rights that are missing are no error but a warning in the run.
pub fn check(plan: &CheckPlan, stop: &Stop, watch: &mut dyn Watch) -> Result<Run, ExperimentError> {
    let mut run = session::begin(&plan.measuring.session)?;
    let realtime = beat_keeper(plan, &mut run, REALTIME, &plan.measuring.tuning, 0)?;
    let mut ordinary = beat_keeper(plan, &mut run, ORDINARY, &Tuning::default(), 1)?;
    // It is one of those that the shield keeps off.
    ordinary.shielded = false;
    let floor = floor_probe(plan, &mut run)?;
    let ongoing = plan.measuring.start(run)?;
    let mut ended_by = crew::work(&ongoing, vec![floor], stop, watch)?;
    if ended_by == EndedBy::Finished {
        ended_by = crew::work(&ongoing, vec![realtime, ordinary], stop, watch)?;
    }
    Ok(ongoing.finish(ended_by)?)
}

/// A thread that keeps the beat under `tuning`, `half_periods` behind the common start.
fn beat_keeper(
    plan: &CheckPlan,
    run: &mut RunWriter,
    name: &str,
    tuning: &Tuning,
    half_periods: u32,
) -> Result<Member, ExperimentError> {
    let mut lateness = plan.measuring.series(
        run,
        SeriesSketch {
            name,
            description: format!("lateness of a beat kept as {}", words(tuning)),
            kind: Kind::Lateness,
            interval: Some(plan.interval.as_duration()),
            deadline: plan.measuring.deadline,
            raw: true,
        },
    )?;
    let cyclic_plan = CyclicPlan {
        interval: plan.interval,
        pace: Pace::CatchUp,
        warm_up: 0,
        cycles: Some(plan.cycles()),
        phase: plan.interval.as_duration() / 2 * half_periods,
    };
    let work = Box::new(move |station: &mut crew::Station<'_>| {
        cyclic(&cyclic_plan, station, &mut lateness, None);
    });
    Ok(Member {
        tuning: tuning.clone(),
        ..plan.measuring.member(&[name], work)
    })
}

fn floor_probe(plan: &CheckPlan, run: &mut RunWriter) -> Result<Member, ExperimentError> {
    let mut gaps = plan.measuring.series(
        run,
        SeriesSketch {
            name: FLOOR,
            description: format!(
                "longest gap between two clock readings in each {} us of a thread that never sleeps",
                plan.floor.window.as_micros()
            ),
            kind: Kind::Floor,
            interval: Some(plan.floor.window),
            deadline: None,
            raw: true,
        },
    )?;
    let floor_plan = plan.floor;
    let work = Box::new(move |station: &mut crew::Station<'_>| {
        floor(&floor_plan, station, &mut gaps);
    });
    Ok(Member {
        sleeper: SleeperKind::recommended(),
        ..plan.measuring.member(&[FLOOR], work)
    })
}

/// The tuning as a person says it.
fn words(tuning: &Tuning) -> String {
    match tuning.policy {
        Policy::Other => "an ordinary thread".to_owned(),
        policy => policy.to_string(),
    }
}
