//! Objects of devices, asked for and set beside the loop.

use super::question::Answer;
use super::server::Counter;
use crate::main_device::exchange::Patience;
use crate::main_device::postbox::Correspondent;
use crate::wire::coe::Address;

/// What an entry is.
pub(super) fn describe(
    counter: &Counter<'_>,
    device: usize,
    address: Address,
) -> Result<Answer, String> {
    let described = counter
        .roster
        .describe_entry(&mut way(counter), device, address);
    let entry = described.map_err(|it| it.to_string())?;
    Ok(Answer::Entry {
        name: entry.name,
        data_type: entry.data_type.0,
        bits: entry.bits,
        access: entry.access.0,
    })
}

/// Its unit.
pub(super) fn unit(
    counter: &Counter<'_>,
    device: usize,
    address: Address,
) -> Result<Answer, String> {
    let roster = counter.roster;
    let unit = roster.unit_of_entry(&mut way(counter), device, address);
    let unit = unit.map_err(|it| it.to_string())?;
    Ok(Answer::Unit(unit.map(|it| it.to_string())))
}

/// Its value.
pub(super) fn read(
    counter: &Counter<'_>,
    device: usize,
    address: Address,
) -> Result<Answer, String> {
    let roster = counter.roster;
    let read = roster.read_object(&mut way(counter), device, address);
    Ok(Answer::Bytes(read.map_err(|it| it.to_string())?))
}

/// Sets it.
pub(super) fn write(
    counter: &Counter<'_>,
    device: usize,
    address: Address,
    value: &[u8],
) -> Result<Answer, String> {
    let roster = counter.roster;
    let written = roster.write_object(&mut way(counter), device, address, value);
    written.map_err(|it| it.to_string())?;
    Ok(Answer::Done)
}

/// The way to the devices: by the loop, a frame a cycle.
pub(super) fn way<'c>(counter: &Counter<'c>) -> Correspondent<'c> {
    Correspondent::of(counter.postbox, Patience::default())
}
