//! `kadenz ethercat stats`.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::control::health::HealthSnapshot;
use kadenz::ethercat::control::notice::Notice;
use kadenz::ethercat::control::supervisor::DeviceStatus;
use kadenz::ethercat::control::timing::Snapshot;
use kadenz::ethercat::running_loop::control_socket::{ClientError, ReceivedNotice};
use kadenz::ethercat::wire::{AlStatus, AlStatusCode};
use kadenz::lab::stop::Stop;
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::running_loop::RunningLoop;
use super::scan::state_shown;
use crate::commands::interrupt;
use crate::options::Span;
use crate::output::{self, Column, Outcome, Reply};

/// Show the statistics of a running loop, and the events on its segment.
///
/// Reads them from the control socket of a `kadenz ethercat run`, or of any program that opened one; that does not
/// disturb the loop. Without a name, it reads those of the only running loop of this user.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat stats                         periods, wake-ups, exchange, frames
  kadenz ethercat stats robot --watch 1s        again each second
  kadenz ethercat stats robot --devices         the state of each, and its losses
  kadenz ethercat stats robot --notices --json  events of devices from now on, a line each")]
pub(crate) struct Options {
    /// Name of the loop, as given to `run --name`
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Show the state of every device
    #[arg(long, conflicts_with = "notices")]
    devices: bool,

    /// Show the events of devices, until Ctrl-C
    #[arg(long)]
    notices: bool,

    /// Repeat at this interval
    #[arg(long, value_name = "SPAN", conflicts_with = "notices")]
    watch: Option<Span>,

    /// End after this time [default: until Ctrl-C, with --notices or --watch]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,
}

/// Statistics of a loop; one JSON line per repetition with `--watch`.
#[derive(JsonSchema, Serialize)]
pub(super) struct Stats {
    version: Version<1>,
    name: String,
    pid: u32,
    /// Statistics since the loop began.
    stats: Snapshot,
    /// The last cycle, and counts since the loop began.
    health: HealthSnapshot,
}

/// The devices of a loop, with `--devices`.
#[derive(JsonSchema, Serialize)]
pub(super) struct DeviceStats {
    version: Version<1>,
    name: String,
    pid: u32,
    devices: Vec<DeviceStatus>,
}

/// Event of a device, with `--notices`, one per line.
#[derive(JsonSchema, Serialize)]
pub(super) struct NoticeLine {
    version: Version<1>,
    /// Notices lost up to now, since this command read too late.
    lost: u64,
    notice: Option<Notice>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut running = RunningLoop::open(options.name.as_deref())?;
    let end = options.duration.map(|span| Instant::now() + span.0);
    if options.notices {
        return listen(running, end).map(Reply::from);
    }
    let Some(pause) = options.watch else {
        return match options.devices {
            true => devices(&mut running).map(Reply::from),
            false => stats(&mut running).map(Reply::from),
        };
    };
    let stop = interrupt::quietly_stop_on_interrupt()?;
    while goes_on(&stop, end) {
        let is_read = match options.devices {
            true => output::next_answer(&devices(&mut running)?)?.is_read(),
            false => output::next_answer(&stats(&mut running)?)?.is_read(),
        };
        if !is_read {
            break;
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        stop.wait(left.map_or(pause.0, |left| left.min(pause.0)));
    }
    Ok(Outcome::Kept.into())
}

fn goes_on(stop: &Stop, end: Option<Instant>) -> bool {
    !stop.requested() && end.is_none_or(|end| Instant::now() < end)
}

fn stats(running: &mut RunningLoop) -> anyhow::Result<Stats> {
    Ok(Stats {
        version: Version,
        name: running.name.clone(),
        pid: running.pid,
        stats: running.client.statistics()?,
        health: running.client.health()?,
    })
}

fn devices(running: &mut RunningLoop) -> anyhow::Result<DeviceStats> {
    Ok(DeviceStats {
        version: Version,
        name: running.name.clone(),
        pid: running.pid,
        devices: running.client.devices()?,
    })
}

impl Answer for Stats {
    fn document(&self) -> Document {
        Document::new().listing(self.stats.to_string())
    }
}

const COLUMNS: [Column<DeviceStatus>; 8] = [
    ("dev", |it| it.device.to_string()),
    ("name", |it| it.name.clone()),
    ("station", |it| format!("0x{:04X}", it.station)),
    ("state", |it| {
        let status = it.position.map(|_| AlStatus(it.status));
        state_shown(status, AlStatusCode(it.code))
    }),
    ("pos", |it| {
        it.position
            .map_or_else(|| "-".to_owned(), |it| it.to_string())
    }),
    ("lost", |it| it.losses.to_string()),
    ("brought back", |it| it.recoveries.to_string()),
    ("emergencies", |it| it.emergencies.to_string()),
];

impl Answer for DeviceStats {
    fn document(&self) -> Document {
        Document::new().table(output::table(&COLUMNS, 4, &self.devices))
    }
}

impl Answer for NoticeLine {
    fn document(&self) -> Document {
        match &self.notice {
            Some(notice) => notice.to_string(),
            None => format!("{} notices lost: they were not read in time", self.lost),
        }
        .into()
    }
}

fn listen(running: RunningLoop, end: Option<Instant>) -> anyhow::Result<Outcome> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let RunningLoop { client, name, .. } = running;
    let hearing = client.listen();
    let mut hearing = hearing.with_context(|| format!("the loop {name} sends no notices"))?;
    output::note(&format!("listening to {name}; Ctrl-C ends"));
    let mut lost = 0;
    while goes_on(&stop, end) {
        let notice = match hearing.next_within(Duration::from_millis(100)) {
            Ok(None) => continue,
            Ok(Some(ReceivedNotice::Notice(notice))) => Some(notice),
            Ok(Some(ReceivedNotice::Lost(count))) => {
                lost = count;
                None
            }
            Err(ClientError::Ended) => {
                output::note("the loop has ended");
                break;
            }
            Err(error) => return Err(error.into()),
        };
        let line = NoticeLine {
            version: Version,
            lost,
            notice,
        };
        if !output::next_answer(&line)?.is_read() {
            break;
        }
    }
    Ok(Outcome::Kept)
}
