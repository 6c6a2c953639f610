//! `kadenz ethercat axes`, `stop` and `reset`.

use std::time::{Duration, Instant};

use clap::Args;
use kadenz_ethercat::control::desk::{Answer, Question};
use kadenz_ethercat::motion::{AxisStatus, StageName, Status};
use kadenz_report::numbers;
use serde::Serialize;

use super::asked::{Desk, nonsense};
use crate::commands::interrupt;
use crate::commands::msg::table::table;
use crate::output::{self, Outcome};

/// How are the axes of a running loop, and what stopped them?
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat axes                   of the one loop that runs
  kadenz ethercat axes --loop robot --json | jq '.axes[] | select(.state == \"fault\")'

Exit codes: 0 the axes are not stopped, 1 they are, 2 they could not be asked.")]
pub(crate) struct Tell {
    #[command(flatten)]
    how: How,
}

/// Stop all axes of a running loop
///
/// By a quick stop of every drive, in the loop's next cycle; the loop goes on, and so does all else on the
/// bus. The axes stay at rest until `kadenz ethercat reset`. This is no emergency stop: it needs this
/// computer, the loop and the bus.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat stop --loop robot")]
pub(crate) struct Stop {
    #[command(flatten)]
    how: How,
}

/// Let the axes of a running loop go on after a stop
///
/// Faults of drives are reset, once each; then all are enabled, brought to where their moves begin, and
/// move. Waits until they do, or until something stops them again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat reset --loop robot

Exit codes: 0 the axes move or, after 30 s and with Ctrl-C, are still being enabled; 1 they were stopped again; 2 there was \
nothing to reset, or nobody to ask.")]
pub(crate) struct Reset {
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
struct How {
    /// Name of the loop, as `run --name` gave it [default: the one that runs]
    #[arg(long = "loop", value_name = "NAME")]
    running: Option<String>,

    /// Print it as JSON on standard output (schema: docs/schema/ethercat.schema.json)
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// How long all drives may take until they are enabled.
const ENABLING: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

#[derive(Serialize)]
struct Told<'a> {
    version: u32,
    name: &'a str,
    pid: u32,
    #[serde(flatten)]
    status: &'a Status,
}

pub(crate) fn tell(options: &Tell) -> anyhow::Result<Outcome> {
    let mut desk = Desk::of(options.how.running.as_deref())?;
    let status = ask(&mut desk, &Question::Axes {})?;
    show(&desk, &status, options.how.json)?;
    Ok(outcome(&status))
}

pub(crate) fn stop(options: &Stop) -> anyhow::Result<Outcome> {
    let mut desk = Desk::of(options.how.running.as_deref())?;
    let by = format!("`kadenz ethercat stop`, process {}", std::process::id());
    let status = ask(&mut desk, &Question::Stop { by: Some(by) })?;
    show(&desk, &status, options.how.json)?;
    Ok(Outcome::Kept)
}

pub(crate) fn reset(options: &Reset) -> anyhow::Result<Outcome> {
    let mut desk = Desk::of(options.how.running.as_deref())?;
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let mut status = ask(&mut desk, &Question::Reset {})?;
    let end = Instant::now() + ENABLING;
    while status.stage == StageName::Enabling && !stop.requested() && Instant::now() < end {
        std::thread::sleep(LOOK);
        status = ask(&mut desk, &Question::Axes {})?;
    }
    show(&desk, &status, options.how.json)?;
    Ok(outcome(&status))
}

fn ask(desk: &mut Desk, question: &Question) -> anyhow::Result<Status> {
    match desk.client.ask(question)? {
        Answer::Axes(status) => Ok(*status),
        _ => Err(nonsense(&desk.name)),
    }
}

const fn outcome(status: &Status) -> Outcome {
    match status.stopped {
        Some(_) => Outcome::Missed,
        None => Outcome::Kept,
    }
}

fn show(desk: &Desk, status: &Status, json: bool) -> anyhow::Result<()> {
    if json {
        return output::json(&Told {
            version: 1,
            name: &desk.name,
            pid: desk.pid,
            status,
        });
    }
    output::say(&words(status));
    Ok(())
}

fn words(status: &Status) -> String {
    let rows = status.axes.iter().map(row).collect();
    let head = [
        "axis", "device", "name", "state", "error", "position", "target",
    ];
    let mut text = table(&head, 4, rows);
    text.push_str(&format!(
        "\n\n{} for {:.1} s; stopped {}",
        status.stage,
        status.seconds,
        numbers::counted(status.stops, "time")
    ));
    if let Some(stopped) = &status.stopped {
        let by = stopped.by.as_ref().map(|by| format!(", by {by}"));
        text.push_str(&format!(
            "\nstopped in cycle {}, {:.1} s ago: {}{}",
            stopped.cycle,
            stopped.ago_s,
            stopped.why,
            by.unwrap_or_default()
        ));
    }
    text
}

fn row(axis: &AxisStatus) -> Vec<String> {
    let unit = match axis.control.as_str() {
        "velocity" => "rad/s",
        "torque" => "N m",
        _ => "rad",
    };
    let code = axis.error_code.filter(|it| *it != 0);
    let state = match axis.out {
        true => format!("{}, out", axis.state),
        false => axis.state.clone(),
    };
    vec![
        axis.axis.to_string(),
        axis.device.to_string(),
        axis.name.clone(),
        state,
        code.map_or_else(|| "-".to_owned(), |it| format!("0x{it:04X}")),
        format!("{:.4} rad", axis.position_rad),
        format!("{:.4} {unit}", axis.target),
    ]
}
