//! What is inside a device: its dictionary, its memory, and its controller's registers.

use super::objects::way;
use super::question::{Answer, Question};
use super::server::ServerContext;
use crate::main_device::exchange::{Registers, Target};
use crate::wire::Configured;
use crate::wire::register::{Writing, writing};

/// Most bytes of registers at once: they go beside the loop's own frames, in one of their own.
const MAX: usize = 1024;

/// Answers what is asked of it.
pub(super) fn answer(context: &ServerContext<'_>, question: &Question) -> Result<Answer, String> {
    match question {
        Question::SdoList { device } => list(context, *device),
        Question::SdoObject { device, index } => object(context, *device, *index),
        Question::Sii { device } => memory(context, *device),
        Question::RegisterRead {
            device,
            address,
            length,
        } => read(context, *device, *address, usize::from(*length)),
        Question::RegisterWrite {
            device,
            address,
            value,
            force,
        } => write(context, *device, *address, value, *force),
        _ => Err("this is not asked of the inside of a device".to_owned()),
    }
}

fn list(context: &ServerContext<'_>, device: usize) -> Result<Answer, String> {
    let listed = context.device_table.list_objects(&mut way(context), device);
    Ok(Answer::Indices(listed.map_err(|it| it.to_string())?))
}

fn object(context: &ServerContext<'_>, device: usize, index: u16) -> Result<Answer, String> {
    let device_table = context.device_table;
    let described = device_table.describe_object(&mut way(context), device, index);
    let object = described.map_err(|it| it.to_string())?;
    Ok(Answer::Object {
        name: object.name,
        code: object.code.number(),
        data_type: object.data_type.0,
        highest_sub: object.highest_sub,
    })
}

fn memory(context: &ServerContext<'_>, device: usize) -> Result<Answer, String> {
    let sii = context.device_table.with(device, |it| it.sii.clone());
    Ok(Answer::Bytes(sii.map_err(|it| it.to_string())?))
}

fn read(
    context: &ServerContext<'_>,
    device: usize,
    address: u16,
    length: usize,
) -> Result<Answer, String> {
    check(length)?;
    let whose = whose(context, device)?;
    let mut bytes = vec![0; length];
    let mut way = way(context);
    let read = Registers::by(&mut way).count_reading(whose, address, &mut bytes);
    match read.map_err(|it| it.to_string())? {
        0 => Ok(Answer::Bytes(Vec::new())),
        _ => Ok(Answer::Bytes(bytes)),
    }
}

fn write(
    context: &ServerContext<'_>,
    device: usize,
    address: u16,
    value: &[u8],
    force: bool,
) -> Result<Answer, String> {
    check(value.len())?;
    if let (Writing::Perilous(why), false) = (writing(address, value.len()), force) {
        return Err(format!(
            "0x{address:04X} is not written in passing: {why}; `force` writes it all the same"
        ));
    }
    let whose = whose(context, device)?;
    let mut way = way(context);
    let written = Registers::by(&mut way).count_writing(whose, address, value);
    match written.map_err(|it| it.to_string())? {
        0 => Err(format!(
            "it does not take what is written to 0x{address:04X}: it is gone, has no such register, or lets nobody \
             write it"
        )),
        _ => Ok(Answer::Done),
    }
}

fn check(length: usize) -> Result<(), String> {
    match length {
        1..=MAX => Ok(()),
        _ => Err(format!(
            "{length} bytes of registers at once cannot be asked for; take 1 to {MAX}"
        )),
    }
}

/// How the device is asked, without waiting for whoever has its mailbox.
fn whose(context: &ServerContext<'_>, device: usize) -> Result<Target, String> {
    let status = context
        .device_table
        .status(device)
        .map_err(|it| it.to_string())?;
    Ok(Target::Of(Configured(status.station)))
}
