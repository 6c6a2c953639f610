//! Devices, ready to be added to a segment.
//!
//! - [`terminal`]: Beckhoff's EK1100, EK1914, EL2828, EL2889 and EL3004, with the descriptions of real ones.
//! - [`drive`]: a CiA 402 drive on a motor with friction, load and an encoder.
//! - [`sensor`]: inertial measurement units, force and torque sensors, with noise.
//! - [`stamp`]: a device that reports the times of events and commands, to measure latencies.
//!
//! A [`Description`] gives a device's SII and objects; a [`Behaviour`] gives its function; [`Device`] puts both
//! behind a controller.

mod device;
pub mod drive;
mod objects;
pub mod sensor;
pub mod stamp;
pub mod terminal;

pub use device::{Behaviour, Device, Idle, Moment};

use crate::description::{Coe, Description, Hardware, Object};
use crate::wire::sii::Identity;

// Common properties of Kadenz's own devices.

/// Bytes of the SII memory: 32 KiBit.
const SII_KIBIT: u16 = 32;

/// The description of a device of Kadenz's own; `kind` is also its group.
fn own_description(
    (product, order): (u32, &str),
    (name, serial): (&str, u32),
    kind: &str,
) -> Description {
    let identity = Identity {
        vendor: drive::VENDOR,
        product,
        revision: 1,
        serial,
    };
    let mut description = Description::new(Hardware::et1100(), identity, order, name);
    description.fixed.size = SII_KIBIT - 1;
    description.group = kind.to_owned();
    description.group_name = format!("{kind}s");
    description.general.ports = 0x0011;
    description
}

/// The CoE settings of a device of Kadenz's own, with the profile that it follows, 0 for none.
fn own_coe(device_type: u32, objects: Vec<Object>) -> Coe {
    Coe {
        device_type,
        hardware_version: "1".to_owned(),
        software_version: env!("CARGO_PKG_VERSION").to_owned(),
        objects,
    }
}

#[cfg(test)]
mod tests;
