//! Plan from the options: cells, loads, rounds, and the total time.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Context as _;
use kadenz::lab::load::ForeignProgram;
use kadenz::lab::matrix::{MatrixPlan, Schedule};
use kadenz::lab::session::SessionPlan;
use kadenz::record::run::matrix::{Combination, Load, Measure};
use kadenz::record::run::tune::Tune;
use kadenz::report::numbers;
use kadenz::report::verdict::Plan;
use kadenz::rt::doctor::Machine;
use kadenz::rt::host::Root;
use kadenz::rt::tuning::CpuSet;

use super::rights::{self, Refused};
use super::{LoadChoice, Options};
use crate::options::{Span, session_plan};
use crate::output;

/// How long a round runs before its first counted beat: the first wake-ups of a process fault pages in, which a
/// robot's loop does at its start only.
pub(super) const WARM_UP: Duration = Duration::from_millis(200);
/// Shorter rounds would consist of their start only.
const MIN_ROUND: Duration = Duration::from_millis(100);
/// Overhead of a round besides measuring: starting a process and adding its run to the matrix.
const BESIDE: Duration = Duration::from_millis(400);

/// A matrix with the settings of its rounds.
pub(super) struct TunePlan {
    pub(super) matrix: MatrixPlan,
    /// The CPUs of C, if there is one to spare.
    pub(super) shield: Option<CpuSet>,
    /// Beats of a round, without warm-up.
    pub(super) beats: u64,
    /// Whether some requested combinations are unavailable.
    pub(super) cells_left_out: bool,
}

/// Refuses a load that could not be made, before anything is measured without it.
fn ensure_load_can_be_made(options: &Options) -> anyhow::Result<()> {
    if options.load == LoadChoice::None {
        return Ok(());
    }
    options.with.map_or(Ok(()), ForeignProgram::find)?;
    let missing = options.load_dir.as_ref().filter(|it| !it.is_dir());
    missing.map_or(Ok(()), |dir| {
        anyhow::bail!(
            "{} is not a folder; name one with --load-dir",
            dir.display()
        )
    })
}

/// Makes the plan of these options on this machine.
pub(super) fn of(options: &Options) -> anyhow::Result<TunePlan> {
    ensure_load_can_be_made(options)?;
    if let Some(bus) = &options.bus {
        bus.check(options.rate.interval().as_duration())?;
    }
    let shield = options.shield.clone().or_else(cpu_to_give_away);
    let asked = match options.cells.as_slice() {
        [] => [&Combination::YOON2009[..], &Combination::IDLE].concat(),
        cells => distinct(cells),
    };
    let refused = rights::refused(options.priority, shield.as_ref(), &asked);
    let cells = left(&asked, &refused);
    let moot = refused.iter().any(|it| it.moot);
    let cells_left_out = lacks(&asked, &cells, moot);
    let per_cell = per_cell(options)?;
    anyhow::ensure!(
        options.round.0 >= MIN_ROUND,
        "`--round {}` is too short: a round takes 100ms at least",
        options.round
    );
    let (rounds, beats) = turns(options, per_cell)?;
    let interval = options.rate.interval().as_duration();
    let round = interval.saturating_mul(u32::try_from(beats)?);
    let loads = match options.load {
        LoadChoice::None => vec![Load::Unloaded],
        LoadChoice::Heavy => vec![Load::Heavy],
        LoadChoice::Both => vec![Load::Unloaded, Load::Heavy],
    };
    let schedule = Schedule {
        loads,
        cells,
        rounds,
    };
    announce(&schedule, options, per_cell, round);
    let mut session = session_plan("tune", options.out.as_deref());
    set_parameters(&mut session, options, &schedule, round);
    session.set("cells_asked", list(&asked));
    if let Some(cpus) = &shield {
        session.set("shield", cpus.to_string());
    }
    if !refused.is_empty() {
        let words: Vec<String> = refused.iter().map(Refused::words).collect();
        session.set("not_granted", words);
    }
    let tune = Tune {
        claim_percent: options.confidence,
        loads: schedule.loads.clone(),
        cells: asked,
        priority: options.priority,
        shield: shield
            .iter()
            .flat_map(CpuSet::iter)
            .filter_map(|cpu| cpu.try_into().ok())
            .collect(),
        not_granted: refused.iter().map(Refused::noted).collect(),
    };
    Ok(TunePlan {
        matrix: MatrixPlan {
            schedule,
            tune,
            session,
        },
        cells_left_out,
        shield,
        beats,
    })
}

/// The CPU for the loop, on a machine with one to spare.
fn cpu_to_give_away() -> Option<CpuSet> {
    Machine::read(&Root::system()).loop_cpus()?.parse().ok()
}

fn distinct(cells: &[Combination]) -> Vec<Combination> {
    let mut seen = HashSet::new();
    let cells = cells.iter().copied();
    cells.filter(|it| seen.insert(*it)).collect()
}

/// The cells whose measures are all available. The others would only repeat other cells.
fn left(asked: &[Combination], refused: &[Refused]) -> Vec<Combination> {
    for refusal in refused {
        output::note(&refusal.words());
    }
    let possible = |cell: &Combination| !refused.iter().any(|it| it.concerns(*cell));
    let mut cells: Vec<Combination> = asked.iter().copied().filter(possible).collect();
    if cells.is_empty() {
        cells.push(Combination::NONE);
        output::note("no requested combination is available: measuring `none` only");
    }
    cells
}

/// Whether a requested cell is not measured. Where there are no idle states to hold off (`moot`), PMI equals PM.
fn lacks(asked: &[Combination], cells: &[Combination], moot: bool) -> bool {
    let is_measured =
        |it: &Combination| cells.contains(it) || moot && cells.contains(&it.without(Measure::Idle));
    !asked.iter().all(is_measured)
}

/// How long to measure each cell under each load.
fn per_cell(options: &Options) -> anyhow::Result<Duration> {
    let interval = options.rate.interval().as_duration();
    let per_cell = match options.duration {
        Some(span) => span.0,
        None => {
            let claim = Plan::new(options.confidence, 0);
            let interval_ns = u64::try_from(interval.as_nanos())?;
            output::note(&claim.sentence(Some(interval_ns)));
            let beats = u32::try_from(claim.samples)
                .with_context(|| format!("`--confidence {}` needs years", options.confidence))?;
            interval.saturating_mul(beats)
        }
    };
    anyhow::ensure!(
        per_cell >= interval,
        "the duration is shorter than one beat of {}",
        options.rate
    );
    Ok(per_cell)
}

/// The number of rounds, and the beats of each.
fn turns(options: &Options, per_cell: Duration) -> anyhow::Result<(u32, u64)> {
    let interval_ns = options.rate.interval().as_duration().as_nanos().max(1);
    let all = u64::try_from(per_cell.as_nanos().div_ceil(interval_ns))?;
    let in_a_round = u64::try_from(options.round.0.as_nanos() / interval_ns)?.max(1);
    let rounds = u32::try_from(all.div_ceil(in_a_round))
        .with_context(|| format!("`--round {}` makes too many rounds", options.round))?;
    Ok((rounds, all.div_ceil(u64::from(rounds))))
}

fn announce(schedule: &Schedule, options: &Options, per_cell: Duration, round: Duration) {
    let loads: Vec<String> = schedule
        .loads
        .iter()
        .map(|load| load.name().to_owned())
        .collect();
    let visits = schedule.visits().count();
    let total =
        (round + WARM_UP + BESIDE).saturating_mul(u32::try_from(visits).unwrap_or(u32::MAX));
    let span = |span: Duration| numbers::span(span.as_nanos() as f64);
    output::note(&format!(
        "{}, {} each ({} in turns of {}), at {}: about {}",
        numbers::counted(schedule.cells.len() as u64, "combination"),
        span(per_cell),
        loads.join(" and "),
        span(round),
        options.rate,
        span(total),
    ));
}

fn list(words: &[impl ToString]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    words.join(",")
}

fn set_parameters(
    session: &mut SessionPlan,
    options: &Options,
    schedule: &Schedule,
    round: Duration,
) {
    let loads = schedule.loads.iter().map(|load| load.name());
    session.set("rate", format!("{:#}", options.rate));
    session.set("deadline", options.deadline.to_string());
    session.set("cells", list(&schedule.cells));
    session.set("loads", list(&loads.collect::<Vec<_>>()));
    session.set("pace", options.pace.to_string());
    session.set("round", Span(round).to_string());
    session.set("rounds", schedule.rounds);
    session.set("warm_up", Span(WARM_UP).to_string());
    session.set("confidence", options.confidence.to_string());
    session.set("priority", options.priority);
    session.set("spin_margin", options.spin_margin.to_string());
    if let Some(bus) = &options.bus {
        session.set("bus", bus.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_idle_states_lacks_nothing_of_the_default() {
        let asked = [&Combination::YOON2009[..], &Combination::IDLE].concat();
        assert!(!lacks(&asked, &Combination::YOON2009, true));
        assert!(
            lacks(&asked, &Combination::YOON2009, false),
            "a right is missing"
        );
        let alone = [Combination::NONE
            .with(Measure::Priority)
            .with(Measure::Idle)];
        assert!(
            lacks(&alone, &[Combination::NONE], true),
            "P was never measured"
        );
    }
}
