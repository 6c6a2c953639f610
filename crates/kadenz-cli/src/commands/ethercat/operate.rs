//! Bringing devices to a state, and exchanging process data with those in OP.

use std::time::Duration;

use anyhow::Context as _;
use kadenz::ethercat::main_device::acyclic::AcyclicQueue;
use kadenz::ethercat::main_device::configure::{self, ConfigureError};
use kadenz::ethercat::main_device::cycle::{BESIDES, Cycle, Outcome};
use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::main_device::exchange::{BlockingExchange, Exchange as _, Registers};
use kadenz::ethercat::main_device::from_esi::Matched;
use kadenz::ethercat::main_device::layout::{Demand, Layout, room};
use kadenz::ethercat::main_device::states::{self, StateError};
use kadenz::ethercat::main_device::survey::SurveyedDevice;
use kadenz::ethercat::wire::register::{AL_CONTROL, AL_STATUS_CODE};
use kadenz::ethercat::wire::{AlControl, AlStatusCode, State};

use super::device::label_of;
use super::segment::Segment;

/// Interval of process data in commands without a beat of their own.
pub(super) const INTERVAL: Duration = Duration::from_millis(1);
/// Timeout of a frame: a busy machine is late, and nothing here is real time.
const LATEST: Duration = Duration::from_millis(20);
/// Cycles before the request for OP: a device first has to receive its outputs.
const BEFORE_OP: u32 = 5;

/// Brings a device to PREOP from any state. In INIT, it configures the mailboxes of the device's ESI file, if there
/// is one. Returns whether that changed anything.
pub(super) fn to_pre_op(
    registers: &mut Registers<'_>,
    met: &mut SurveyedDevice,
    matched: &Matched,
) -> anyhow::Result<bool> {
    if met.status.state() == Some(State::Init) {
        matched.prepare(&mut met.device);
    }
    let device = &met.device;
    let to = |it: Result<(), ConfigureError>| it.with_context(|| label_of(device));
    match met.status.state() {
        Some(State::PreOp) if !met.status.error() => return Ok(false),
        Some(State::PreOp | State::SafeOp | State::Op) => {
            to(states::reach(registers, device.target(), State::PreOp).map_err(Into::into))?;
        }
        state => {
            if state != Some(State::Init) || met.status.error() {
                to(states::reach(registers, device.target(), State::Init).map_err(Into::into))?;
            }
            to(configure::to_pre_op(registers, device))?;
        }
    }
    met.status = states::read(registers, device.target())?;
    Ok(true)
}

/// Brings devices to SAFEOP with the layout of their process data; other devices are left out.
pub(super) fn to_safe_op(
    registers: &mut Registers<'_>,
    met: &mut [SurveyedDevice],
    chosen: &[usize],
    matched: &Matched,
) -> anyhow::Result<Cycle> {
    for place in chosen {
        to_pre_op(registers, &mut met[*place], matched)?;
        let device = &mut met[*place].device;
        learn(registers, device, matched).with_context(|| label_of(device))?;
    }
    let layout = layout(met, chosen)?;
    for place in chosen {
        let device = &mut met[*place].device;
        let configured = configure::to_safe_op(registers, device, &layout.shares[*place]);
        configured.with_context(|| label_of(device))?;
    }
    Ok(Cycle::new(layout, None)?)
}

/// Configures a device in PREOP by its ESI file, where it has one, and reads its process data.
pub(super) fn learn(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
    matched: &Matched,
) -> Result<(), ConfigureError> {
    matched.set_up(registers, device)?;
    configure::read_process_data(registers, device)?;
    matched.correct(device);
    Ok(())
}

/// The layout of the selected devices' process data; the others have none.
pub(super) fn layout(met: &[SurveyedDevice], chosen: &[usize]) -> anyhow::Result<Layout> {
    let demand = |place: usize| match chosen.contains(&place) {
        true => met[place].device.process_data.demand(),
        false => Demand::default(),
    };
    let demands: Vec<Demand> = (0..met.len()).map(demand).collect();
    Ok(Layout::of(&demands, room(BESIDES))?)
}

/// Runs one cycle, and waits for the rest of its interval.
pub(super) fn cycle_once(segment: &mut Segment, cycle: &mut Cycle) -> Outcome {
    let beat = segment.link.now() + INTERVAL;
    let latest = segment.link.now() + LATEST;
    let outcome = cycle.exchange(&mut segment.link, &AcyclicQueue::default(), latest);
    let rest = beat.remaining(segment.link.now());
    BlockingExchange {
        link: &mut segment.link,
        retry: kadenz::ethercat::main_device::exchange::RetryPolicy::default(),
    }
    .pause(rest);
    outcome
}

/// Brings devices that are in SAFEOP to OP while process data is exchanged.
pub(super) fn to_op(
    segment: &mut Segment,
    cycle: &mut Cycle,
    devices: &[&SubDevice],
) -> anyhow::Result<()> {
    for _ in 0..BEFORE_OP {
        cycle_once(segment, cycle);
    }
    for device in devices {
        let request = AlControl::request(State::Op).0;
        segment.ask(|it| it.write(device.target(), AL_CONTROL, &request.to_le_bytes()))?;
        cycle_once(segment, cycle);
    }
    let end = segment.link.now() + states::longest(State::Op);
    for device in devices {
        loop {
            let status = segment.ask(|it| states::read(it, device.target()))?;
            if status.state() == Some(State::Op) && !status.error() {
                break;
            }
            let wanted = State::Op;
            if status.error() {
                let code = segment.ask(|it| it.get_u16(device.target(), AL_STATUS_CODE))?;
                let code = AlStatusCode(code);
                let refused = StateError::Refused {
                    wanted,
                    status,
                    code,
                };
                return Err(refused).with_context(|| label_of(device));
            }
            if segment.link.now() >= end {
                let span = states::longest(wanted);
                let slow = StateError::TooSlow {
                    wanted,
                    status,
                    span,
                };
                return Err(slow).with_context(|| label_of(device));
            }
            cycle_once(segment, cycle);
        }
    }
    Ok(())
}
