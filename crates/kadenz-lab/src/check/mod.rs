//! Can this machine keep the robot's beat?
//!
//! Two threads keep the same beat for the same minute, half a period apart: one with the requested real-time tuning,
//! one as an ordinary thread. So both run on the same machine under the same load, and the tuning alone makes the
//! difference. Before them the check probes the machine's floor. In a fifth of the time it measures round trips over
//! the network, to an echo of this process or to a device; in the last tenth it measures messages from one thread to
//! another over a bus.

mod messages;
mod network;

use std::time::Duration;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::{EndedBy, Kind, Run, Warning};
use kadenz_rt::beat::{Interval, Overrun};
use kadenz_rt::sleep::SleeperKind;
use kadenz_rt::tuning::{Policy, Tuning};

use crate::floor::{FloorPlan, floor};
use crate::measuring::{ExperimentError, Measuring, SeriesSketch};
use crate::measuring_threads::{self, GRACE, LoopContext, Member, Watch};
use crate::session;
use crate::stop::Stop;
use crate::timer::{CyclicPlan, cyclic};

pub use kadenz_record::run::check::{ORDINARY, REALTIME};
pub use messages::MessagesPlan;
pub use network::{Answering, NetworkPlan, TIMEOUT};

/// Name of the series of the machine's floor.
pub(crate) const FLOOR: &str = "floor";

/// What a check measures, and for how long.
#[derive(Clone, Debug)]
pub struct CheckPlan {
    /// Time between two beats.
    pub interval: Interval,
    /// How long is measured after the noise floor: the two threads' beats, and the round trips.
    pub duration: Duration,
    /// How the noise floor is probed.
    pub floor: FloorPlan,
    /// How round trips are measured in a fifth of the duration, if at all.
    pub network: Option<NetworkPlan>,
    /// How messages are measured in a tenth of the duration, if at all.
    pub messages: Option<MessagesPlan>,
    /// How to measure; its deadline is the one that is checked.
    pub measuring: Measuring,
}

/// Beats that fit into a duration.
fn beats(interval: Interval, duration: Duration) -> u64 {
    let beats = duration.as_nanos() / interval.as_duration().as_nanos().max(1);
    u64::try_from(beats).unwrap_or(u64::MAX)
}

/// The budget needs p99.9; fewer round trips or messages than this do not support it.
const MIN_BEATS: u64 = 1000;

/// The beats in the `share`-th part of a check; none where that is too few for p99.9, unless the user requested the
/// measurement.
fn beats_of_share(
    interval: Interval,
    duration: Duration,
    share: u32,
    asked_for: bool,
) -> Option<u64> {
    let beats = beats(interval, duration / share);
    match asked_for {
        true => Some(beats.max(1)),
        false => (beats >= MIN_BEATS).then_some(beats),
    }
}

/// A command whose check is long enough for this share.
fn command_with_enough_time(interval: Interval, share: u32) -> String {
    let beats = u32::try_from(MIN_BEATS).unwrap_or(u32::MAX);
    let needed = interval.as_duration().saturating_mul(beats * share);
    format!("kadenz check --duration {}s", needed.as_secs_f64().ceil())
}

/// Runs the check and returns the completed run.
///
/// # Errors
/// [`ExperimentError`]. Missing rights are not an error but a warning in the run, and so is a loopback that cannot be
/// measured.
pub fn check(plan: &CheckPlan, stop: &Stop, watch: &mut dyn Watch) -> Result<Run, ExperimentError> {
    let (network, no_network) = open_network(plan)?;
    let (messages, no_messages) = open_messages(plan, stop)?;
    let mut run = session::begin(&plan.measuring.session)?;
    let all = beats(plan.interval, plan.duration);
    let round_trips = network.as_ref().map_or(0, |(_, beats)| *beats);
    let sent = messages.as_ref().map_or(0, |(_, beats)| *beats);
    let cycles = all.saturating_sub(round_trips + sent).max(1);
    let realtime = beat_keeper(plan, &mut run, REALTIME, &plan.measuring.tuning, cycles)?;
    let mut ordinary = beat_keeper(plan, &mut run, ORDINARY, &Tuning::default(), cycles)?;
    // The shield keeps this thread off its CPUs, too.
    ordinary.shielded = false;
    let floor = floor_probe(plan, &mut run)?;
    let network = network.map(|(ready, _)| ready.prepare(&plan.measuring, &mut run));
    let network = network.transpose()?;
    let messages = messages.map(|(ready, _)| ready.prepare(&plan.measuring, &mut run));
    let messages = messages.transpose()?;
    let ongoing = plan.measuring.start(run)?;
    ongoing
        .running
        .add_warnings(no_network.into_iter().chain(no_messages));
    let mut ended_by = measuring_threads::work(&ongoing, vec![floor], stop, watch)?;
    if ended_by == EndedBy::Finished {
        ended_by = measuring_threads::work(&ongoing, vec![realtime, ordinary], stop, watch)?;
    }
    if let Some(network) = network.filter(|_| ended_by == EndedBy::Finished) {
        ended_by = network.measure(&ongoing, stop, watch)?;
    }
    if let Some(messages) = messages.filter(|_| ended_by == EndedBy::Finished) {
        ended_by = messages.measure(&ongoing, stop, watch)?;
    }
    Ok(ongoing.finish(ended_by)?)
}

/// The network's sockets and how many round trips there is time for, or why there are none.
type Opened = (Option<(network::NetworkEndpoints, u64)>, Option<Warning>);

fn open_network(plan: &CheckPlan) -> Result<Opened, ExperimentError> {
    let Some(network) = &plan.network else {
        return Ok((None, None));
    };
    let Some(beats) = network.beats(plan.interval, plan.duration) else {
        return Ok((None, Some(network::too_short(plan.interval))));
    };
    match network::NetworkEndpoints::open(network, plan.interval, beats) {
        Ok(ready) => Ok((Some((ready, beats)), None)),
        Err(ExperimentError::Port(error)) if network.answering == Answering::Loopback => {
            Ok((None, Some(network::refused(&error))))
        }
        Err(error) => Err(error),
    }
}

/// The bus and how many messages there is time for, or why there are none.
type Subscribed = (Option<(messages::MessageEndpoints, u64)>, Option<Warning>);

fn open_messages(plan: &CheckPlan, stop: &Stop) -> Result<Subscribed, ExperimentError> {
    let Some(messages) = &plan.messages else {
        return Ok((None, None));
    };
    let Some(beats) = messages.beats(plan.interval, plan.duration) else {
        return Ok((None, Some(messages::too_short(plan.interval))));
    };
    match messages::MessageEndpoints::open(messages, plan.interval, beats, stop) {
        Ok(ready) => Ok((Some((ready, beats)), None)),
        Err(error) if !messages.asked_for => Ok((None, Some(messages::refused(&error)))),
        Err(error) => Err(error.into()),
    }
}

/// A thread that keeps the beat under `tuning`; the ordinary one half a period behind the other.
fn beat_keeper(
    plan: &CheckPlan,
    run: &mut RunWriter,
    name: &str,
    tuning: &Tuning,
    cycles: u64,
) -> Result<Member, ExperimentError> {
    let policy = words(tuning);
    let description = format!("wake-up lateness, requested policy {policy}");
    let sketch = SeriesSketch {
        interval: Some(plan.interval.as_duration()),
        deadline: plan.measuring.deadline,
        ..SeriesSketch::new(Kind::Lateness, name, description)
    };
    let mut lateness = plan.measuring.series(run, sketch)?;
    let cyclic_plan = CyclicPlan {
        interval: plan.interval,
        pace: Overrun::CatchUp,
        warm_up: 0,
        cycles: Some(cycles),
        phase: plan.interval.as_duration() / 2 * u32::from(name == ORDINARY),
        grace: GRACE.max(plan.measuring.deadline.unwrap_or_default()),
    };
    let work = move |context: &mut LoopContext<'_>| {
        cyclic(&cyclic_plan, context, &mut lateness, None);
    };
    Ok(Member {
        tuning: tuning.clone(),
        ..plan.measuring.member(&[name], work)
    })
}

fn floor_probe(plan: &CheckPlan, run: &mut RunWriter) -> Result<Member, ExperimentError> {
    let description = format!(
        "longest gap between two clock readings in each {} us of a thread that never sleeps",
        plan.floor.window.as_micros()
    );
    let sketch = SeriesSketch {
        interval: Some(plan.floor.window),
        ..SeriesSketch::new(Kind::Floor, FLOOR, description)
    };
    let mut gaps = plan.measuring.series(run, sketch)?;
    let floor_plan = plan.floor;
    let work = move |context: &mut LoopContext<'_>| {
        floor(&floor_plan, context, &mut gaps);
    };
    Ok(Member {
        sleeper: SleeperKind::recommended(),
        ..plan.measuring.member(&[FLOOR], work)
    })
}

/// The tuning in words.
fn words(tuning: &Tuning) -> String {
    match tuning.policy {
        Policy::Other => "an ordinary thread".to_owned(),
        policy => policy.to_string(),
    }
}
