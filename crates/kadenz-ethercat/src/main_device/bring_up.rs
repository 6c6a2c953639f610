//! From a wire with power on it to a segment in SAFEOP, ready for its first cycle.
//!
//! ```
//! use kadenz_ethercat::main_device::bring_up::{find, prepare};
//! use kadenz_ethercat::main_device::exchange::{Patience, Registers, Waiting};
//! use kadenz_ethercat::main_device::link::Link;
//! use kadenz_ethercat::port::WirePort;
//! use kadenz_ethercat::sim::humanoid::humanoid;
//!
//! let mut link = Link::new(WirePort::new(humanoid(59).build()?), 1);
//! let mut way = Waiting { link: &mut link, patience: Patience::default() };
//! let mut registers = Registers::by(&mut way);
//! let mut devices = find(&mut registers)?;
//! let cycle = prepare(&mut registers, &mut devices, None)?;
//! assert_eq!(cycle.layout().shares.len(), 59);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::configure::{self, ConfigureError};
use super::cycle::{BESIDES, Cycle};
use super::device::SubDevice;
use super::discover::{self, DiscoverError};
use super::exchange::Registers;
use super::layout::{Layout, LayoutError, room};
use crate::wire::{Configured, OverflowError};

/// Why a segment is not ready.
#[derive(Debug, thiserror::Error)]
pub enum BringUpError {
    /// Who is there is not known.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// One of them was not configured.
    #[error("SubDevice {position} ({name}): {source}")]
    Configure {
        /// Where it is.
        position: u16,
        /// Its name.
        name: String,
        /// Why.
        source: ConfigureError,
    },
    /// Their process data has no room.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A frame of the cycle has no room.
    #[error(transparent)]
    Overflow(#[from] OverflowError),
}

/// Finds all SubDevices, brings them to PREOP and learns what process data each has. Waits, allocates.
///
/// # Errors
/// [`BringUpError`]: the first SubDevice that did not come ends it.
pub fn find(registers: &mut Registers<'_>) -> Result<Vec<SubDevice>, BringUpError> {
    let mut devices = discover::discover(registers)?;
    for device in &mut devices {
        configure::to_pre_op(registers, device).map_err(because(device))?;
        configure::learn_process_data(registers, device)
            .map_err(|source| because(device)(source))?;
    }
    Ok(devices)
}

/// Lays out the process data of all and brings them to SAFEOP. `reference` is the SubDevice whose clock
/// the others follow. Waits, allocates.
///
/// # Errors
/// [`BringUpError`]: the first SubDevice that did not come ends it.
pub fn prepare(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    reference: Option<Configured>,
) -> Result<Cycle, BringUpError> {
    let demands: Vec<_> = devices.iter().map(|it| it.process_data.demand()).collect();
    let layout = Layout::of(&demands, room(BESIDES))?;
    for (device, share) in devices.iter_mut().zip(&layout.shares) {
        configure::to_safe_op(registers, device, share)
            .map_err(|source| because(device)(source))?;
    }
    Ok(Cycle::new(layout, reference)?)
}

fn because(device: &SubDevice) -> impl FnOnce(ConfigureError) -> BringUpError {
    let (position, name) = (device.position.0, device.name.clone());
    move |source| BringUpError::Configure {
        position,
        name,
        source,
    }
}
