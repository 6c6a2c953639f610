//! Devices of a loop that runs, as a scan shows them.

use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::layout::Demand;
use kadenz_ethercat::main_device::survey::{self, Surveyed};
use kadenz_ethercat::wire::{AlStatus, AlStatusCode};

use crate::commands::ethercat::asked::ControlClient;

/// Everybody whom the loop knows. Of one that is gone what was known when the loop began.
pub(super) fn survey(control: &mut ControlClient) -> anyhow::Result<Vec<Surveyed>> {
    let mut all = Vec::new();
    for status in control.devices()? {
        let device = control.known_device(&status)?;
        let met = status.position.and_then(|_| {
            let looked = control.ask(&device, |it| survey::look_at_known(it, device.clone()));
            looked.ok()
        });
        all.push(met.unwrap_or_else(|| gone(device)));
    }
    Ok(all)
}

fn gone(device: SubDevice) -> Surveyed {
    Surveyed {
        device,
        status: AlStatus(0),
        code: AlStatusCode(0),
        demand: Demand::default(),
    }
}
