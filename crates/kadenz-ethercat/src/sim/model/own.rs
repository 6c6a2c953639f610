//! Common properties of Kadenz's own devices.

use crate::description::{Coe, Description, Hardware, Object};
use crate::wire::sii::Identity;

/// Vendor of Kadenz's own virtual devices: the letters KADZ. The ETG has not assigned this number.
pub const VENDOR: u32 = 0x4B41_445A;
/// Bytes of its SII memory: 32 KiBit.
const SII_KIBIT: u16 = 32;

/// The description of a device; `kind` is also its group.
pub(super) fn describe(
    (product, order): (u32, &str),
    (name, serial): (&str, u32),
    kind: &str,
) -> Description {
    let identity = Identity {
        vendor: VENDOR,
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

/// Its CoE settings, with the profile that it follows, 0 for none.
pub(super) fn coe(device_type: u32, objects: Vec<Object>) -> Coe {
    Coe {
        device_type,
        hardware_version: "1".to_owned(),
        software_version: env!("CARGO_PKG_VERSION").to_owned(),
        objects,
    }
}
