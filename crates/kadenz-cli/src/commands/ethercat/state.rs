//! `kadenz ethercat state`.

use clap::{Args, ValueEnum};
use kadenz::ethercat::main_device::from_esi::Matched;
use kadenz::ethercat::main_device::states;
use kadenz::ethercat::main_device::survey::SurveyedDevice;
use kadenz::ethercat::wire::register::AL_STATUS_CODE;
use kadenz::ethercat::wire::{AlStatus, AlStatusCode, State};
use kadenz::report::document::{Answer, Document, Table, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::access::DeviceAccess;
use super::device::{Device, DeviceSelector};
use super::esi::DevicesOptions;
#[cfg(target_os = "linux")]
use super::running_loop::RunningLoop;
use super::scan::state_shown;
use super::segment::{Segment, labelled};
use crate::commands::interrupt;
use crate::options::Span;
use crate::output::{self, Reply};

/// Show or change the state of each device, with the reason of a refusal
///
/// Without a state, the command reads only. With one, it brings the devices there through all states between, and
/// configures what each state needs: mailboxes for PREOP, process data as the device maps it for SAFEOP, a cycle of 1
/// ms for OP. OP lasts as long as a MainDevice exchanges process data: with `--duration`, this command does.
///
/// Refused where another MainDevice exchanges frames on the interface. With `--loop` the running loop's supervisor
/// brings devices there and keeps them there; a device's position is then the one at the loop's begin.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat state --interface eth1                   every device's, with the reason of a failure
  kadenz ethercat state --interface eth1 PREOP             all of them
  kadenz ethercat state --sim 59 --device 8 SAFEOP         one, by its position
  kadenz ethercat state --sim 59 --device 'left knee' OP --duration 5s
  kadenz ethercat state SAFEOP --interface eth1 --esi vendors/   configured by the vendors' ESI files
  kadenz ethercat state PREOP --loop robot --device 8      through a running loop")]
pub(crate) struct Options {
    /// State to reach
    #[arg(value_name = "STATE", ignore_case = true)]
    state: Option<RequestedState>,

    #[command(flatten)]
    devices: DevicesOptions,

    /// Which devices: a position from 0, a name, alias:N, or all
    #[arg(long, value_name = "DEVICE", default_value = "all")]
    device: DeviceSelector,

    /// How long to exchange process data once OP is reached [default: not at all]
    #[arg(
        long,
        value_name = "SPAN",
        requires = "state",
        conflicts_with = "running"
    )]
    duration: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RequestedState {
    /// Registers only
    #[value(name = "INIT")]
    Init,
    /// Mailboxes too
    #[value(name = "PREOP")]
    PreOp,
    /// Inputs too
    #[value(name = "SAFEOP")]
    SafeOp,
    /// Outputs too
    #[value(name = "OP")]
    Op,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct States {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    #[schemars(extend("enum" = ["INIT", "PREOP", "SAFEOP", "OP", null]))]
    wanted: Option<&'static str>,
    /// Why a device did not reach it.
    refused: Option<String>,
    devices: Vec<DeviceState>,
}

#[derive(JsonSchema, Serialize)]
struct DeviceState {
    #[serde(flatten)]
    device: Device,
    /// null for an unknown state.
    #[schemars(extend("enum" = ["INIT", "PREOP", "BOOT", "SAFEOP", "OP", null]))]
    state: Option<&'static str>,
    error: bool,
    al_status_code: u16,
    /// Why the device left or refused a state; `gone` for a loop's device that does not answer.
    reason: Option<String>,
    /// The state with its error, for people.
    #[serde(skip)]
    shown: String,
}

/// Why not all devices are in the requested state, and the state of each.
type ReachedStates = (Option<anyhow::Error>, Vec<DeviceState>);

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut access = options.devices.open()?;
    let (refused, devices) = match &mut access {
        DeviceAccess::Segment(segment) => on_segment(options, segment)?,
        #[cfg(target_os = "linux")]
        DeviceAccess::Loop(running) => in_loop(options, running)?,
    };
    let reply = Reply::from(States {
        version: Version,
        segment: access.name(),
        wanted: options.state.map(|it| it.state().name()),
        refused: refused.as_ref().map(|it| format!("{it:#}")),
        devices,
    });
    Ok(match refused {
        None => reply,
        Some(error) => reply.and_error(error),
    })
}

fn on_segment(options: &Options, segment: &mut Segment) -> anyhow::Result<ReachedStates> {
    let descriptions = options.devices.esi.read()?;
    if options.state.is_some() {
        segment.ensure_alone()?;
    }
    let mut met = match options.state {
        None => segment.survey()?,
        Some(_) => segment.adopt()?,
    };
    let chosen = options.device.among(&met)?;
    let mut refused = None;
    if let Some(wanted) = options.state {
        let devices: Vec<_> = met.iter().map(|it| &it.device).collect();
        let matched = options.devices.esi.matched(&descriptions, &devices)?;
        let how = (wanted, &matched, options.duration);
        refused = bring(segment, &mut met, &chosen, how).err();
        look_again(segment, &mut met, &chosen)?;
    }
    let states = chosen.iter().map(|place| {
        let met = &met[*place];
        DeviceState::of(Device::from(met), Some(met.status), met.code)
    });
    Ok((refused, states.collect()))
}

/// Lets the loop's supervisor bring devices to a state, one after the other until one fails to reach it.
#[cfg(target_os = "linux")]
fn in_loop(options: &Options, running: &mut RunningLoop) -> anyhow::Result<ReachedStates> {
    let chosen = options.device.among(running.devices()?)?;
    let mut bring = |wanted: RequestedState| {
        let mut numbers = chosen.iter();
        numbers.try_for_each(|it| running.client.bring(*it, wanted.state()).map(drop))
    };
    let refused = options.state.and_then(|wanted| bring(wanted).err());
    let all = running.client.devices()?;
    let states = all.iter().filter(|it| chosen.contains(&it.device));
    let states = states.map(|it| {
        let status = it.position.map(|_| AlStatus(it.status));
        DeviceState::of(Device::from(it), status, AlStatusCode(it.code))
    });
    Ok((refused.map(Into::into), states.collect()))
}

impl RequestedState {
    const fn state(self) -> State {
        match self {
            Self::Init => State::Init,
            Self::PreOp => State::PreOp,
            Self::SafeOp => State::SafeOp,
            Self::Op => State::Op,
        }
    }
}

fn bring(
    segment: &mut Segment,
    met: &mut [SurveyedDevice],
    chosen: &[usize],
    (wanted, matched, duration): (RequestedState, &Matched, Option<Span>),
) -> anyhow::Result<()> {
    match wanted {
        RequestedState::Init => segment.ask(|registers| {
            for place in chosen {
                let device = &met[*place].device;
                states::reach(registers, device.target(), State::Init)?;
            }
            Ok(())
        }),
        RequestedState::PreOp => {
            for place in chosen {
                let brought = segment.to_pre_op(&mut met[*place], matched);
                brought.map_err(labelled)?;
            }
            Ok(())
        }
        RequestedState::SafeOp => {
            let brought = segment.to_safe_op(met, chosen, matched);
            brought.map(drop).map_err(labelled)
        }
        RequestedState::Op => keep_in_op(segment, met, chosen, (matched, duration)),
    }
}

fn keep_in_op(
    segment: &mut Segment,
    met: &mut [SurveyedDevice],
    chosen: &[usize],
    (matched, duration): (&Matched, Option<Span>),
) -> anyhow::Result<()> {
    let cycle = segment.to_safe_op(met, chosen, matched);
    let mut cycle = cycle.map_err(labelled)?;
    let brought = segment.to_op(&mut cycle, met, chosen);
    brought.map_err(labelled)?;
    let Some(duration) = duration else {
        output::note(
            "in OP; no process data is exchanged from now on, so devices with outputs fall back \
             (`--duration SPAN` keeps them there, `kadenz ethercat run` with a beat)",
        );
        return Ok(());
    };
    let stop = interrupt::quietly_stop_on_interrupt()?;
    output::note(&format!("in OP for {duration}; Ctrl-C ends"));
    let end = segment.now() + duration.0;
    while segment.now() < end && !stop.requested() {
        segment.exchange(&mut cycle);
    }
    Ok(())
}

/// Reads the states again, and nothing else: the watchdogs of devices without process data expire soon.
fn look_again(
    segment: &mut Segment,
    met: &mut [SurveyedDevice],
    chosen: &[usize],
) -> anyhow::Result<()> {
    segment.ask(|registers| {
        for place in chosen {
            let target = met[*place].device.target();
            met[*place].status = states::read(registers, target)?;
            met[*place].code = AlStatusCode(registers.get_u16(target, AL_STATUS_CODE)?);
        }
        Ok(())
    })
}

impl DeviceState {
    /// A device without a status is gone.
    fn of(device: Device, status: Option<AlStatus>, code: AlStatusCode) -> Self {
        let error = status.is_some_and(AlStatus::error);
        Self {
            device,
            state: status.and_then(|it| it.state()).map(|it| it.name()),
            error,
            al_status_code: code.0,
            reason: match (status, error) {
                (None, _) => Some("gone".to_owned()),
                (Some(_), true) => Some(code.to_string()),
                (Some(_), false) => None,
            },
            shown: state_shown(status, code),
        }
    }
}

impl Answer for States {
    fn document(&self) -> Document {
        let rows = self.devices.iter().map(|it| {
            vec![
                it.device.position.to_string(),
                it.device.called().to_owned(),
                it.shown.clone(),
            ]
        });
        let table = Table::new(&["pos", "device", "state"], 3, rows.collect());
        Document::new().table(table)
    }
}
