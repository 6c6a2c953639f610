//! `kadenz ethercat axes`, `stop` and `reset`.

use std::time::{Duration, Instant};

use clap::Args;
use kadenz::ethercat::control::supervisor::DeviceStatus;
use kadenz::ethercat::motion::{AxisStatus, StageName, Status};
use kadenz::ethercat::wire::AlStatus;
use kadenz::ethercat::wire::cia402::DriveState;
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use super::device::Device;
use super::running_loop::{LoopName, RunningLoop};
use crate::commands::interrupt;
use crate::options::Span;
use crate::output::{Outcome, Reply};

/// Show the axes of a running loop, and what stopped them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat axes                   of the only running loop
  kadenz ethercat axes --loop robot --json | jq '.axes[] | select(.state == \"fault\")'

Exit codes: 0 the axes are not stopped, 1 they are, 2 the loop gave no answer.")]
pub(crate) struct AxesOptions {
    #[command(flatten)]
    running: LoopName,
}

/// Stop all axes of a running loop
///
/// Requests a quick stop of every drive in the loop's next cycle; the loop and all other devices on the bus continue.
/// The axes stay at rest until `kadenz ethercat reset`. During bring-up, before the loop exists, it ends the bring-up
/// and so the run. This is not an emergency stop: it needs this computer, the loop and the bus.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat stop --loop robot")]
pub(crate) struct Stop {
    #[command(flatten)]
    running: LoopName,
}

/// Let the axes of a running loop continue after a stop
///
/// Resets the faults of drives, once each; then enables all drives, brings them to the start of their moves, and
/// moves them. Waits until they move, or until something stops them again. It waits for a drive that is gone: the
/// axes may then begin to move at any time, until `kadenz ethercat stop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat reset --loop robot

Exit codes: 0 the axes move; 1 they were stopped again; 2 they do not move yet, and the reason is printed, or \
there was nothing to reset, or no loop runs.")]
pub(crate) struct Reset {
    #[command(flatten)]
    running: LoopName,

    /// How long to wait until all axes are enabled
    #[arg(long, value_name = "SPAN", default_value = "30s")]
    within: Span,
}

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How many of the awaited devices and axes a text names.
const NAMED: usize = 5;

#[derive(JsonSchema, Serialize)]
pub(super) struct Axes {
    version: Version<1>,
    name: String,
    pid: u32,
    #[serde(flatten)]
    status: Status,
}

pub(crate) fn status(options: &AxesOptions) -> anyhow::Result<Reply> {
    let mut running = options.running.open()?;
    let status = running.client.axes()?;
    let outcome = Outcome::missed_if(status.stopped.is_some());
    Ok(Reply::from(Axes::of(&running, status)).with(outcome))
}

pub(crate) fn stop(options: &Stop) -> anyhow::Result<Axes> {
    let mut running = options.running.open()?;
    let by = format!("`kadenz ethercat stop`, process {}", std::process::id());
    let status = running.client.stop(Some(by))?;
    Ok(Axes::of(&running, status))
}

pub(crate) fn reset(options: &Reset) -> anyhow::Result<Reply> {
    let mut running = options.running.open()?;
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let mut status = running.client.reset()?;
    let end = Instant::now() + options.within.0;
    while status.stage == StageName::Enabling && !stop.requested() && Instant::now() < end {
        std::thread::sleep(POLL_INTERVAL);
        status = running.client.axes()?;
    }
    let reply = Reply::from(Axes::of(&running, status.clone()));
    Ok(match status.stage {
        StageName::Approaching | StageName::Playing => reply,
        StageName::Stopped => reply.with(Outcome::Missed),
        StageName::BringingUp => reply.and_error(anyhow::anyhow!(
            "the axes do not move: the segment of `{}` is brought up",
            running.name
        )),
        StageName::Ending => reply.and_error(anyhow::anyhow!(
            "the axes do not move: the loop `{}` is ending, and brings them to rest",
            running.name
        )),
        StageName::Enabling => {
            let waited = match stop.requested() {
                true => "so far".to_owned(),
                false => format!("within {}", options.within),
            };
            // Where the control socket has no room to report devices, the text names axes only.
            let devices = running.client.devices().unwrap_or_default();
            reply.and_error(anyhow::anyhow!(
                "the axes are reset and do not move {waited}: {}; they will as soon as that is over, unless `kadenz \
                 ethercat stop --loop {}` stops them",
                few(&hindrances(&status, &devices)),
                running.name
            ))
        }
    })
}

/// Describes what keeps axes from moving.
fn hindrances(status: &Status, devices: &[DeviceStatus]) -> Vec<String> {
    let enabled = DriveState::OperationEnabled.to_string();
    let mut all = Vec::new();
    for axis in status.axes.iter().filter(|it| !it.out) {
        let device = devices.iter().find(|it| it.device == axis.device);
        match device.and_then(fault) {
            Some(fault) => all.push(format!("{} (device {}) {fault}", axis.name, axis.device)),
            None if axis.state != enabled => {
                all.push(format!(
                    "{} (device {}) is in {}",
                    axis.name, axis.device, axis.state
                ));
            }
            None => {}
        }
    }
    let is_axis = |it: &DeviceStatus| status.axes.iter().any(|axis| axis.device == it.device);
    for device in devices.iter().filter(|it| !is_axis(it)) {
        all.extend(fault(device).map(|it| format!("{} {it}", Device::from(device).label())));
    }
    all
}

/// Describes what is wrong with a device.
fn fault(device: &DeviceStatus) -> Option<String> {
    if device.is_well() {
        return None;
    }
    Some(match device.position {
        None => "does not answer".to_owned(),
        Some(_) => format!("is in {}, not where it should be", AlStatus(device.status)),
    })
}

/// Joins the first few.
fn few(all: &[String]) -> String {
    if all.is_empty() {
        return "a frame returns incomplete".to_owned();
    }
    let mut words = all[..all.len().min(NAMED)].join(", ");
    if all.len() > NAMED {
        words.push_str(&format!(" and {} more", all.len() - NAMED));
    }
    words
}

impl Axes {
    fn of(running: &RunningLoop, status: Status) -> Self {
        Self {
            version: Version,
            name: running.name.clone(),
            pid: running.pid,
            status,
        }
    }
}

impl Answer for Axes {
    fn document(&self) -> Document {
        let status = &self.status;
        let stage = format!("{} for {:.1} s", status.stage, status.seconds);
        if status.axes.is_empty() {
            // During bring-up there is no loop yet.
            return format!("{stage}; no axes yet").into();
        }
        let rows = status.axes.iter().map(row).collect();
        let head = [
            "axis", "device", "name", "state", "error", "position", "target",
        ];
        let stops = numbers::counted(status.stops, "time");
        let document = Document::new()
            .table(Table::new(&head, 4, rows))
            .sentence(format!("{stage}; stopped {stops}"));
        let Some(stopped) = &status.stopped else {
            return document;
        };
        let by = stopped.by.as_ref().map(|by| format!(", by {by}"));
        document.sentence(format!(
            "stopped in cycle {}, {:.1} s ago: {}{}",
            stopped.cycle,
            stopped.ago_s,
            stopped.why,
            by.unwrap_or_default()
        ))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(number: usize, state: &str) -> AxisStatus {
        AxisStatus {
            axis: number,
            device: number + 4,
            name: format!("joint {number}"),
            control: "position".to_owned(),
            state: state.to_owned(),
            statusword: 0,
            error_code: None,
            position_rad: 0.0,
            target: 0.0,
            out: state == "fault",
        }
    }

    fn device(number: usize, position: Option<u16>, status: u16) -> DeviceStatus {
        DeviceStatus {
            device: number,
            name: "KZ".to_owned(),
            description: String::new(),
            station: 0,
            alias: 0,
            identity: [0; 4],
            position,
            status,
            code: 0,
            links: 0,
            wanted: 8,
            losses: 0,
            recoveries: 0,
            emergencies: 0,
        }
    }

    #[test]
    fn what_keeps_axes_from_moving_is_named_with_its_state() {
        let states = [
            "operation enabled",
            "switched on",
            "operation enabled",
            "fault",
        ];
        let axes = states.iter().enumerate();
        let status = Status {
            cycle: 1,
            stage: StageName::Enabling,
            seconds: 1.0,
            stops: 1,
            stopped: None,
            axes: axes.map(|(number, state)| axis(number, state)).collect(),
        };
        let devices = [
            device(3, Some(3), 0x14),
            device(4, Some(4), 8),
            device(5, Some(5), 8),
            device(6, None, 8),
            device(7, Some(7), 8),
        ];
        assert_eq!(
            hindrances(&status, &devices),
            [
                "joint 1 (device 5) is in switched on",
                "joint 2 (device 6) does not answer",
                "device 3 (KZ) is in SAFEOP with an error, not where it should be",
            ]
        );
        assert_eq!(hindrances(&status, &[]).len(), 1);
        let many: Vec<_> = (0..7).map(|it| it.to_string()).collect();
        assert_eq!(few(&many), "0, 1, 2, 3, 4 and 2 more");
        assert!(few(&[]).contains("frame"));
    }
}
