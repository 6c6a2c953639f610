//! States of a running loop's devices.

use kadenz_ethercat::control::control_socket::Question;
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::wire::{AlStatus, AlStatusCode};
use kadenz_report::document::Version;

use super::{DeviceState, Options, States, Wanted, outcome};
use crate::commands::ethercat::asked::{ControlClient, known};
use crate::commands::ethercat::device::ToldDevice;
use crate::commands::ethercat::scan::state_name;
use crate::output::{self, Outcome};

pub(super) fn run(options: &Options, mut control: ControlClient) -> anyhow::Result<Outcome> {
    let chosen = options.device.among_known(&known(&control.devices()?))?;
    let refused = options
        .state
        .and_then(|wanted| bring(&mut control, &chosen, wanted).err());
    let mut devices = control.devices()?;
    devices.retain(|it| chosen.contains(&it.device));
    output::answer(&States {
        version: Version,
        segment: control.segment(),
        wanted: options.state.map(|it| it.state().name()),
        refused: refused.as_ref().map(|it| format!("{it:#}")),
        devices: devices.iter().map(DeviceState::asked).collect(),
    })?;
    Ok(outcome(refused))
}

/// One after the other, until one does not come.
fn bring(control: &mut ControlClient, chosen: &[usize], wanted: Wanted) -> anyhow::Result<()> {
    for device in chosen {
        control.client.ask(&Question::State {
            device: *device,
            state: Some(wanted.state().name().to_owned()),
        })?;
    }
    Ok(())
}

impl DeviceState {
    /// One that is gone is in no state.
    fn asked(device: &DeviceStatus) -> Self {
        let there = device.position.is_some();
        let status = AlStatus(device.status);
        let error = there && status.error();
        Self {
            device: ToldDevice::asked(device),
            state: status.state().filter(|_| there).map(|it| it.name()),
            error,
            al_status_code: device.code,
            reason: match (there, error) {
                (false, _) => Some("gone".to_owned()),
                (true, true) => Some(AlStatusCode(device.code).to_string()),
                (true, false) => None,
            },
            shown: match (there, error) {
                (false, _) => "gone".to_owned(),
                (true, true) => {
                    format!(
                        "{}+ERROR ({})",
                        state_name(status),
                        AlStatusCode(device.code)
                    )
                }
                (true, false) => state_name(status),
            },
        }
    }
}
