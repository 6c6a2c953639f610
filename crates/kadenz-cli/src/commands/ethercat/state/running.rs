//! States of a running loop's devices.

use kadenz_ethercat::control::control_socket::Question;
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::wire::{AlStatus, AlStatusCode};

use super::{Options, Told, ToldState, Wanted, outcome};
use crate::commands::ethercat::asked::{ControlClient, called, known};
use crate::commands::ethercat::device::ToldDevice;
use crate::commands::ethercat::scan::state_name;
use crate::commands::msg::table::table;
use crate::output::{self, Outcome};

pub(super) fn run(options: &Options, mut control: ControlClient) -> anyhow::Result<Outcome> {
    let chosen = options.device.among_known(&known(&control.devices()?))?;
    let refused = options
        .state
        .and_then(|wanted| bring(&mut control, &chosen, wanted).err());
    let mut devices = control.devices()?;
    devices.retain(|it| chosen.contains(&it.device));
    if output::is_json() {
        output::json(&Told {
            version: 1,
            segment: control.segment(),
            wanted: options.state.map(|it| it.state().name()),
            refused: refused.as_ref().map(|it| format!("{it:#}")),
            devices: devices.iter().map(ToldState::asked).collect(),
        })?;
    } else {
        output::say(&rows(&devices));
    }
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

impl ToldState {
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
        }
    }
}

fn rows(devices: &[DeviceStatus]) -> String {
    let rows = devices.iter().map(|it| {
        let status = AlStatus(it.status);
        let state = match (it.position, status.error()) {
            (None, _) => "gone".to_owned(),
            (_, true) => format!("{}+ERROR ({})", state_name(status), AlStatusCode(it.code)),
            (_, false) => state_name(status),
        };
        vec![it.device.to_string(), called(it).to_owned(), state]
    });
    table(&["pos", "device", "state"], 3, rows.collect())
}
