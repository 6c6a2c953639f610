//! Objects of devices, asked for and set beside the loop.

use super::question::Answer;
use super::server::ServerContext;
use crate::main_device::acyclic::AcyclicClient;
use crate::main_device::exchange::RetryPolicy;
use crate::wire::coe::Address;

/// What an entry is.
pub(super) fn describe(
    context: &ServerContext<'_>,
    device: usize,
    address: Address,
) -> Result<Answer, String> {
    let described = context
        .device_table
        .describe_entry(&mut way(context), device, address);
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
    context: &ServerContext<'_>,
    device: usize,
    address: Address,
) -> Result<Answer, String> {
    let device_table = context.device_table;
    let unit = device_table.unit_of_entry(&mut way(context), device, address);
    let unit = unit.map_err(|it| it.to_string())?;
    Ok(Answer::Unit(unit.map(|it| it.to_string())))
}

/// Its value.
pub(super) fn read(
    context: &ServerContext<'_>,
    device: usize,
    address: Address,
) -> Result<Answer, String> {
    let device_table = context.device_table;
    let read = device_table.read_object(&mut way(context), device, address);
    Ok(Answer::Bytes(read.map_err(|it| it.to_string())?))
}

/// Sets it.
pub(super) fn write(
    context: &ServerContext<'_>,
    device: usize,
    address: Address,
    value: &[u8],
) -> Result<Answer, String> {
    let device_table = context.device_table;
    let written = device_table.write_object(&mut way(context), device, address, value);
    written.map_err(|it| it.to_string())?;
    Ok(Answer::Done)
}

/// The way to the devices: by the loop, a frame a cycle.
pub(super) fn way<'c>(context: &ServerContext<'c>) -> AcyclicClient<'c> {
    AcyclicClient::of(context.queue, RetryPolicy::default())
}
