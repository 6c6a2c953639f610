//! What the supervisor does with drives that come back without what they were told.

use std::time::Duration;

use super::axis::{CommissionError, DriveSetup};
use super::axis_runner::AxisRunner;
use super::plan::PlanError;
use crate::control::supervisor::Setup;
use crate::main_device::clocks::{ClockError, Clocks};
use crate::main_device::configure::ConfigureError;
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::Registers;
use crate::main_device::mailbox::MailError;
use crate::main_device::sdo::SdoError;

/// How the drives of all axes were commissioned, for [`as_commissioned`]: after
/// [`Plan::commission`](super::Plan::commission), before the loop runs. Waits, allocates.
///
/// # Errors
/// [`PlanError::Commission`]: the first that does not tell.
pub fn setups(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    runners: &[AxisRunner],
    cycle: Duration,
) -> Result<Vec<DriveSetup>, PlanError> {
    let mut all = Vec::new();
    for runner in runners {
        let device = &mut devices[runner.axis().device()];
        let kept = DriveSetup::of(registers, device, runner.axis(), cycle);
        all.push(kept.map_err(|source| PlanError::Commission {
            position: device.position.0,
            name: device.called(),
            source,
        })?);
    }
    Ok(all)
}

/// For [`SegmentSupervisor::with_setup`](crate::control::supervisor::SegmentSupervisor::with_setup): a drive on its way up gets
/// again what it was commissioned with, and any device its clock's settings where clocks were aligned, and
/// its pulses where they were [started](Clocks::pulse). A
/// drive that comes back with another mapping or other units is not taken into OP.
#[must_use]
pub fn as_commissioned(drives: Vec<DriveSetup>, clocks: Option<Clocks>) -> Setup {
    Box::new(move |device, registers| {
        if let Some(drive) = drives.iter().find(|it| it.station() == device.station) {
            drive.restore(registers, device).map_err(plainly)?;
        }
        let Some(clocks) = &clocks else {
            return Ok(());
        };
        let mut all = clocks.devices().iter();
        let Some(clock) = all.find(|it| it.station == device.station) else {
            return Ok(());
        };
        let set = clocks.set_again(registers, clock.position);
        set.map_err(|error| match error {
            ClockError::Exchange(error) => error.into(),
            other => ConfigureError::Setup(other.into()),
        })
    })
}

fn plainly(error: CommissionError) -> ConfigureError {
    match error {
        // That the loop has ended is to be seen as such.
        CommissionError::Sdo(SdoError::Mail(MailError::Exchange(error))) => error.into(),
        CommissionError::Sdo(error) => error.into(),
        CommissionError::Configure(error) => error,
        other => ConfigureError::Setup(other.into()),
    }
}
