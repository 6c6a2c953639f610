//! `kadenz ethercat stats`.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use kadenz_ethercat::control::control_socket::{self, Answer, Heard, Question};
use kadenz_ethercat::control::health::Vitals;
use kadenz_ethercat::control::notice::Notice;
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::wire::{AlStatus, AlStatusCode};
use serde::Serialize;
use serde_json::Value;

use super::asked::ControlClient;
use super::scan::state_name;
use crate::commands::interrupt;
use crate::commands::msg::table::table;
use crate::options::Span;
use crate::output::{self, Outcome};

/// How is a running loop, and what happens on its segment?
///
/// Asks a `kadenz ethercat run`, or any program that opened a control socket, over its socket: the loop itself is not
/// touched by that. Without a name, the one loop of this user that runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat stats                         periods, wake-ups, exchange, frames
  kadenz ethercat stats robot --watch 1s        again each second
  kadenz ethercat stats robot --devices         who is in which state, and was lost how often
  kadenz ethercat stats robot --notices --json  what happens to devices from now on, a line each")]
pub(crate) struct Options {
    /// Name of the loop, as `run --name` gave it
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Show how every device is
    #[arg(long, conflicts_with = "notices")]
    devices: bool,

    /// Show what happens to devices, until Ctrl-C
    #[arg(long)]
    notices: bool,

    /// Again and again, so far apart
    #[arg(long, value_name = "SPAN", conflicts_with = "notices")]
    watch: Option<Span>,

    /// End after so long [default: until Ctrl-C, with --notices or --watch]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,
}

#[derive(Serialize)]
struct ToldStats {
    version: u32,
    name: String,
    pid: u32,
    stats: Value,
    health: Vitals,
}

#[derive(Serialize)]
struct ToldDevices {
    version: u32,
    name: String,
    pid: u32,
    devices: Vec<DeviceStatus>,
}

#[derive(Serialize)]
struct ToldNotice {
    version: u32,
    /// Notices that were lost up to now, since they were not read in time.
    lost: u64,
    notice: Option<Notice>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut control = ControlClient::of(options.name.as_deref())?;
    let end = options.duration.map(|span| Instant::now() + span.0);
    if options.notices {
        return listen(control, end);
    }
    let Some(pause) = options.watch else {
        tell(&mut control, options)?;
        return Ok(Outcome::Kept);
    };
    let stop = interrupt::quietly_stop_on_interrupt()?;
    while !stop.requested() && end.is_none_or(|end| Instant::now() < end) {
        if !tell(&mut control, options)? {
            break;
        }
        let next = Instant::now() + pause.0;
        let next = end.map_or(next, |end| next.min(end));
        while !stop.requested() && Instant::now() < next {
            let left = next.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
    Ok(Outcome::Kept)
}

/// Tells once; whether somebody still reads.
fn tell(control: &mut ControlClient, options: &Options) -> anyhow::Result<bool> {
    if options.devices {
        let told = ToldDevices {
            version: 1,
            name: control.name.clone(),
            pid: control.pid,
            devices: control.devices()?,
        };
        return match output::is_json() {
            true => print(&told, options),
            false => Ok(output::tell(&rows(&told.devices))),
        };
    }
    if !output::is_json() {
        let Answer::Text(text) = control.client.ask(&Question::StatsText {})? else {
            anyhow::bail!("the control socket has no statistics");
        };
        return Ok(output::tell(&text));
    }
    let stats = control.client.ask(&Question::Stats {})?;
    let health = control.client.ask(&Question::Health {})?;
    let (Answer::Stats(stats), Answer::Health(health)) = (stats, health) else {
        anyhow::bail!("the control socket has no statistics");
    };
    let told = ToldStats {
        version: 1,
        name: control.name.clone(),
        pid: control.pid,
        stats,
        health,
    };
    print(&told, options)
}

/// One document, or a line of many.
fn print(told: &impl Serialize, options: &Options) -> anyhow::Result<bool> {
    if options.watch.is_some() {
        return output::json_line(told);
    }
    output::json(told)?;
    Ok(true)
}

fn rows(devices: &[DeviceStatus]) -> String {
    let rows = devices.iter().map(|it| {
        let status = AlStatus(it.status);
        let error = match status.error() {
            true => format!("+ERROR ({})", AlStatusCode(it.code)),
            false => String::new(),
        };
        let state = match it.position {
            Some(_) => format!("{}{error}", state_name(status)),
            None => "gone".to_owned(),
        };
        vec![
            it.device.to_string(),
            it.name.clone(),
            format!("0x{:04X}", it.station),
            state,
            it.position
                .map_or_else(|| "-".to_owned(), |it| it.to_string()),
            it.losses.to_string(),
            it.recoveries.to_string(),
            it.emergencies.to_string(),
        ]
    });
    let head = [
        "dev",
        "name",
        "station",
        "state",
        "pos",
        "lost",
        "brought back",
        "emergencies",
    ];
    table(&head, 4, rows.collect())
}

fn listen(control: ControlClient, end: Option<Instant>) -> anyhow::Result<Outcome> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let ControlClient { client, name, .. } = control;
    let mut hearing = client
        .listen()
        .context("the control socket tells no notices")?;
    output::note(&format!("listening to {name}; Ctrl-C ends"));
    let mut lost = 0;
    while !stop.requested() && end.is_none_or(|end| Instant::now() < end) {
        let notice = match hearing.next_within(Duration::from_millis(100)) {
            Ok(None) => continue,
            Ok(Some(Heard::Notice(notice))) => Some(notice),
            Ok(Some(Heard::Lost(count))) => {
                lost = count;
                None
            }
            Err(control_socket::ClientError::Ended) => {
                output::note("the loop has ended");
                break;
            }
            Err(error) => return Err(error.into()),
        };
        let reads = match (&notice, output::is_json()) {
            (_, true) => output::json_line(&ToldNotice {
                version: 1,
                lost,
                notice,
            })?,
            (Some(notice), false) => output::tell(&notice.to_string()),
            (None, false) => {
                output::tell(&format!("{lost} notices lost: they were not read in time"))
            }
        };
        if !reads {
            break;
        }
    }
    Ok(Outcome::Kept)
}
